//! Log lines on stderr, and their filter.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use super::console::{LogLines, is_coloured, is_silent};
use super::{CliError, Common};
use crate::foreign;

/// Sends log lines to stderr: those that `-q` and `-v` choose, otherwise those of [`log_filter`].
pub fn log_to_stderr(common: &Common) -> Result<(), CliError> {
    let level = match (common.quiet, common.verbose) {
        _ if is_silent() => LevelFilter::OFF,
        (true, _) => LevelFilter::ERROR,
        (_, 0) => LevelFilter::WARN,
        (_, 1) => LevelFilter::INFO,
        (_, 2) => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    // Other crates' warnings, for example about a bare X server without settings, are hidden by default.
    let of_others = if common.verbose > 0 { level } else { LevelFilter::ERROR };
    let others = ["winit", "glutin", "glutin_winit"].map(|name| (name, of_others));
    let usual = others.into_iter().collect::<Targets>().with_default(level);
    let named = if common.quiet || common.verbose > 0 || is_silent() { None } else { log_filter(common)? };
    let lines = tracing_subscriber::fmt::layer().with_writer(|| LogLines).with_target(false).without_time();
    // Without this, a log line that cannot be written causes an error message, and printing that panics.
    let lines = lines.log_internal_errors(false);
    let lines = lines.with_ansi(is_coloured()).with_filter(named.unwrap_or(usual));
    // A second call, as in tests, keeps the first subscriber.
    let _ = tracing_subscriber::registry().with(lines).try_init();
    Ok(())
}

/// Returns the user's filter: `UPDRAFT_LOG`, else `RUST_LOG`, else the key `log` of the configuration. It is
/// a list such as `updraft=debug,winit=warn`, or one level for all. Empty means none.
pub fn log_filter(common: &Common) -> Result<Option<Targets>, CliError> {
    let of = |name: &str| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
    let named = ["UPDRAFT_LOG", "RUST_LOG"].into_iter().find_map(|name| Some((name, of(name)?)));
    let Some((name, text)) = named.or_else(|| Some(("`log`", common.log.clone()?))) else { return Ok(None) };
    let filter = text.parse().map_err(|error| {
        let text = foreign::visible(&foreign::shortened(&text, 80));
        CliError::Request(format!("{name}: `{text}` is no filter such as `info` or `updraft=debug`: {error}"))
    });
    filter.map(Some)
}
