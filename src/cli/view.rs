//! `updraft view`, the default: the window, or pictures without a display.

#[cfg(feature = "viewer")]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
#[cfg(feature = "viewer")]
use std::sync::atomic::Ordering;
#[cfg(feature = "viewer")]
use std::time::Duration;

use super::frames::Frames;
#[cfg(feature = "viewer")]
use super::interrupt;
use super::render_job::{Job, Supply};
use super::{CliError, Common, render};
#[cfg(feature = "viewer")]
use crate::room::freed_memory;
use crate::scene::Scene;

/// Frames rendered if no window can be opened: three seconds of the default scene.
const FRAMES: Frames = Frames { first: 1, last: 72, step: 1 };

/// Open the window.
#[derive(Debug, clap::Args)]
pub struct ViewArgs {
    /// A built-in scene or a scene file [default: plume]
    #[arg(value_name = "SCENE")]
    scene: Option<String>,
    /// Memory for the recorded frames of the window, such as 4GiB [default: an eighth of the machine's, 8GiB at most]
    #[arg(long, value_name = "SIZE", value_parser = size, allow_hyphen_values = true)]
    record_memory: Option<u64>,
    /// Room on the disk for the recorded frames that no longer fit into memory, such as 50GiB [default: none]
    #[arg(long, value_name = "SIZE", value_parser = size, allow_hyphen_values = true)]
    record_disk: Option<u64>,
}

/// Interval at which freed memory is returned to the system.
#[cfg(feature = "viewer")]
const RETURN_MEMORY: Duration = Duration::from_secs(10);

/// Longest time from a signal to the end of the window.
#[cfg(feature = "viewer")]
const LEAVING: Duration = Duration::from_secs(3);

/// Units of sizes; all are powers of 1024.
const UNITS: [(&str, u32); 6] = [("MiB", 20), ("GiB", 30), ("TiB", 40), ("M", 20), ("G", 30), ("T", 40)];

/// Reads a size in bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let bytes = UNITS.iter().find_map(|(unit, power)| {
        let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        (1.0..1e6).contains(&number).then(|| (number * f64::from(*power).exp2()) as u64)
    });
    bytes.ok_or_else(|| "a size is a number from 1 on and a unit, MiB, GiB or TiB: 4GiB".into())
}

impl ViewArgs {
    /// Fails if there is a scene or an option of the window before the name of another command.
    pub fn refuse(&self) -> Result<(), CliError> {
        match (&self.scene, self.record_memory.or(self.record_disk)) {
            (Some(scene), _) => Err(CliError::Request(format!("write `{scene}` after the command"))),
            (None, Some(_)) => {
                Err(CliError::Request("only the window records: `--record-…` serves no other command".into()))
            }
            (None, None) => Ok(()),
        }
    }
}

/// Opens the window. If that is impossible, reports the reason and renders the scene.
pub fn run(args: &ViewArgs, common: &Common) -> Result<(), CliError> {
    let scene = common.scene(args.scene.as_deref().unwrap_or(common.default_scene()), &[])?;
    match window(&scene, args, common)? {
        None => Ok(()),
        Some(why) => without_window(&scene, &why, args, common),
    }
}

/// Shows the window until it is closed. Returns the reason if it cannot be opened.
#[cfg(feature = "viewer")]
fn window(scene: &Scene, args: &ViewArgs, common: &Common) -> Result<Option<String>, CliError> {
    use crate::app::{self, AppError};
    // Window systems panic when their display disappears. All panics are caught here and replaced by one line.
    std::panic::set_hook(Box::new(|info| tracing::debug!("{info}")));
    let options = app::Options {
        record_memory: args.record_memory.or(common.record_memory),
        record_disk: args.record_disk.or(common.record_disk),
        on_signal: Some(leave_at_signal),
        ..app::Options::default()
    };
    if let Err(error) = freed_memory::return_every(RETURN_MEMORY) {
        tracing::warn!("freed memory is not returned to the system: {error}");
    }
    let ended = catch_unwind(AssertUnwindSafe(|| app::run(scene.clone(), options)));
    drop(std::panic::take_hook());
    interrupt::call_at_first(None);
    match ended {
        Ok(Ok(())) if interrupt::flag().load(Ordering::Relaxed) => Err(CliError::Stopped(format!(
            "{}; unsaved changes, if any, are in the next window",
            interrupt::by()
        ))),
        Ok(Ok(())) => Ok(None),
        Ok(Err(AppError::NoDisplay(why))) => Ok(Some(format!("no window here ({})", without_place(&why)))),
        Ok(Err(error)) => Err(error.into()),
        Err(panic) => Err(CliError::Window(message(panic.as_ref()))),
    }
}

/// Lets the first signal close the window, which copies its unsaved changes. If the window waits for its
/// display or for the end of a step, the process ends after [`LEAVING`].
#[cfg(feature = "viewer")]
fn leave_at_signal(leave: crate::app::Leave) {
    interrupt::call_at_first(Some(Box::new(move || {
        leave();
        std::thread::spawn(|| {
            std::thread::sleep(LEAVING);
            super::tell(&format!("updraft: stopped: {}", interrupt::by()));
            std::process::exit(1);
        });
    })));
}

/// Returns the text of a panic.
#[cfg(feature = "viewer")]
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a word".into())
}

/// Removes the source line at the start of messages of winit: it does not help users.
#[cfg(feature = "viewer")]
fn without_place(why: &str) -> &str {
    let what = why.strip_prefix("os error at ").and_then(|rest| rest.split_once(": "));
    what.map_or(why, |(_, what)| what).trim_end_matches('.')
}

/// Returns the reason that there is no window in this build.
#[cfg(not(feature = "viewer"))]
fn window(_scene: &Scene, _args: &ViewArgs, _common: &Common) -> Result<Option<String>, CliError> {
    Ok(Some("no window here (built without the feature `viewer`)".into()))
}

fn without_window(scene: &Scene, why: &str, args: &ViewArgs, common: &Common) -> Result<(), CliError> {
    let folder = free_folder("updraft-frames", common.force);
    if !common.quiet {
        let (count, name) = (FRAMES.count(), &scene.name);
        super::tell(&format!("updraft: {why}; rendering {count} frames of {name} to {folder}"));
        if args.record_memory.or(args.record_disk).is_some() {
            super::tell("updraft: --record-memory and --record-disk have no effect: only the window records");
        }
    }
    let out = render::in_folder(&folder, &scene.name)?;
    Job { frames: FRAMES, out, supply: Supply::Live, cpu: false, skip: false, layers: false }
        .run(scene, common)
}

/// Returns `name`, or `name-2` and so on if it exists: a second run must neither fail nor overwrite.
fn free_folder(name: &str, force: bool) -> String {
    let mut numbered = (2..).map(|n| format!("{name}-{n}"));
    let mut folder = name.to_owned();
    while !force && Path::new(&folder).exists() {
        folder = numbered.next().expect("an endless list");
    }
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!(size("4GiB"), Ok(4 << 30));
        assert_eq!(size("1.5 TiB"), Ok(3 << 39));
        assert_eq!(size("300M"), Ok(300 << 20));
        for wrong in ["", "4", "GiB", "0.5GiB", "-1GiB", "NaNGiB", "infGiB", "4 PiB", "9999999TiB"] {
            assert!(size(wrong).is_err_and(|why| why.contains("4GiB")), "{wrong}");
        }
    }
}
