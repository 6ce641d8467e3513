//! The command: one file for each subcommand, and shared code.
//!
//! Progress goes to stderr and results to stdout. Exit codes: 0 done, 1 the run failed or was stopped, 2 the
//! request was wrong.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use clap::{Parser, Subcommand};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use crate::comm::Comm;
use crate::foreign;
use crate::scene::{Scene, SceneError, Share, memory};
use crate::solver::SolverError;

#[cfg(test)]
mod arguments_page;
mod bench;
mod check;
mod checkpoint;
mod cli_error;
mod defaults;
mod doctor;
mod excerpt;
mod flipbook;
mod folder;
mod frames;
mod interrupt;
mod machine;
mod means;
mod mpirun;
mod painter;
mod progress;
mod refine;
mod render;
mod render_ranks;
mod run_flow;
mod run_options;
mod run_start;
mod run_tables;
mod scenes;
mod shell_files;
mod simulate;
mod simulation;
mod sink;
mod steady;
mod stored_frame;
mod traffic;
mod view;

pub use cli_error::CliError;

/// Real-time 3D smoke: simulated on the CPU, shown as a volume with OpenGL.
///
/// Without a command it opens the window on SCENE, by default the built-in `plume`; where there is no
/// display it renders the scene to pictures instead.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    view: view::ViewArgs,
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  updraft                                   the window on a rising plume
  updraft colors --set fluid.vorticity=1    the window on another scene, changed
  updraft render plume --frames 1-120 --size 1280x720 --out 'plume.####.png'
  updraft simulate plume --frames 1-120 --format npz --out run
  updraft scenes plume > mine.toml          a scene to start from
  updraft check mine.toml                   what it says, and what it will cost
  updraft bench --cells 64,128 --threads 1,2
  updraft doctor                            what this machine has, and what will be used";

/// Arguments of every command, and the defaults of [`defaults::Defaults`] that are no arguments.
#[derive(Clone, Debug, Default, clap::Args)]
struct Common {
    /// Override a key of the scene, for example --set fluid.vorticity=0.5 or --set source.0.emit.red=8
    #[arg(long, global = true, value_name = "KEY=VALUE", help_heading = "Everywhere")]
    set: Vec<String>,
    /// Number of solver threads; 0: one for each processor. `bench` takes a list
    #[arg(long, global = true, value_name = "N", value_delimiter = ',', help_heading = "Everywhere")]
    #[arg(value_parser = clap::value_parser!(u16).range(0..=i64::from(MOST_THREADS)), allow_negative_numbers = true)]
    threads: Vec<u16>,
    /// Overwrite existing files
    #[arg(long, global = true, help_heading = "Everywhere")]
    force: bool,
    /// No progress; errors only
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Everywhere")]
    quiet: bool,
    /// Print more; give it twice for details
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Everywhere")]
    verbose: u8,
    /// The file of the defaults.
    #[arg(skip)]
    config: Option<std::path::PathBuf>,
    /// How many of the overrides come from it; they are the first.
    #[arg(skip)]
    sets_of_config: usize,
    /// Scene of the window and of `render` if none is named.
    #[arg(skip)]
    scene: Option<String>,
    /// Whether files are always rendered on the CPU.
    #[arg(skip)]
    cpu: bool,
    /// Filter of log lines.
    #[arg(skip)]
    log: Option<String>,
    /// Memory for the recorded frames of the window \[bytes\].
    #[arg(skip)]
    record_memory: Option<u64>,
    /// Room on the disk for recorded frames \[bytes\].
    #[arg(skip)]
    record_disk: Option<u64>,
    /// The ranks that share the run.
    #[arg(skip)]
    comm: Option<Arc<dyn Comm>>,
    /// Threads of each rank, unless the scene or `--threads` says how many.
    #[arg(skip)]
    threads_of_rank: Option<usize>,
    /// How they share the run, and the memory of this machine.
    #[arg(skip)]
    share: Share,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Open the window (the default)
    View(view::ViewArgs),
    /// Render a scene to pictures
    Render(render::RenderArgs),
    /// Render a scene to sheets of frames for games
    Flipbook(flipbook::FlipbookArgs),
    /// Simulate a scene to numbers: statistics, probes, fields
    Simulate(simulate::SimulateArgs),
    /// Move finer smoke through the flow of a finished run, with turbulence
    Detail(refine::DetailArgs),
    /// Time the solver, stage by stage
    Bench(bench::BenchArgs),
    /// List the built-in scenes, or print one
    Scenes(scenes::ScenesArgs),
    /// Check a scene and report the consequences of its choices
    Check(check::CheckArgs),
    /// Report what this machine and this build have, and what will be used
    Doctor(doctor::DoctorArgs),
    /// Print the completions of a shell
    #[command(hide = true)]
    Completions(shell_files::CompletionsArgs),
    /// Print the manual page, or write those of all commands
    #[command(hide = true)]
    Man(shell_files::ManArgs),
}

/// Runs the command that `args` name.
pub fn run(args: &Args) -> Result<(), CliError> {
    interrupt::survive_file_limits();
    if args.command.is_some() {
        args.view.refuse()?;
    }
    // The settings that this reports must not stop it.
    if let Some(Command::Doctor(doctor)) = &args.command {
        return doctor::run(doctor, &args.common);
    }
    crate::simd::check().map_err(|error| CliError::Request(error.to_string()))?;
    let shares = matches!(
        args.command,
        Some(Command::Simulate(_) | Command::Detail(_) | Command::Render(_) | Command::Bench(_))
    );
    let launch = mpirun::join(shares)?;
    let mut common = args.common.clone();
    common.comm = launch.comm();
    common.threads_of_rank = launch.threads();
    common.share = launch.share(matches!(args.command, Some(Command::Render(_))));
    let result = run_command(args, common, &launch);
    launch.end(result)
}

/// Runs the command with the arguments of every command.
fn run_command(args: &Args, mut common: Common, launch: &mpirun::Launch) -> Result<(), CliError> {
    defaults::load()?.complete(&mut common);
    let common = &common;
    log_to_stderr(common)?;
    launch.tell_places();
    use_threads(common)?;
    match &args.command {
        None => view::run(&args.view, common),
        Some(Command::View(view)) => view::run(view, common),
        Some(Command::Render(render)) => render::run(render, common),
        Some(Command::Flipbook(flipbook)) => flipbook::run(flipbook, common),
        Some(Command::Simulate(simulate)) => simulate::run(simulate, common),
        Some(Command::Detail(detail)) => refine::run(detail, common),
        Some(Command::Bench(bench)) => bench::run(bench, common),
        Some(Command::Scenes(scenes)) => scenes::run(scenes),
        Some(Command::Check(check)) => check::run(check, common),
        Some(Command::Doctor(doctor)) => doctor::run(doctor, common),
        Some(Command::Completions(shell)) => shell_files::completions(shell),
        Some(Command::Man(man)) => shell_files::man(man, common),
    }
}

/// Applies `--threads` to rendering and measuring outside the solver.
fn use_threads(common: &Common) -> Result<(), CliError> {
    let threads = match common.threads.as_slice() {
        [threads] if *threads > 0 => usize::from(*threads),
        _ => common.threads_of_rank.unwrap_or(0),
    };
    let threads = if threads == 0 { threads_of_environment()? } else { threads };
    memory::check_threads(threads).map_err(|message| CliError::Request(format!("--threads: {message}")))?;
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build_global() {
        // A refusal of the system has a source. The other error is a second call, as in tests.
        Err(error) if std::error::Error::source(&error).is_some() => {
            Err(CliError::Solver(SolverError::Threads(error.to_string())))
        }
        _ => Ok(()),
    }
}

/// Most threads of a command.
const MOST_THREADS: u16 = 1024;

/// The number of threads that `RAYON_NUM_THREADS` asks for; 0: none.
fn threads_of_environment() -> Result<usize, CliError> {
    const NAME: &str = "RAYON_NUM_THREADS";
    let text = std::env::var(NAME).unwrap_or_default();
    // As rayon does: what is no number counts as none.
    match text.parse::<usize>() {
        Ok(threads) if threads > usize::from(MOST_THREADS) => Err(CliError::Request(format!(
            "{NAME} is {threads}; at most {MOST_THREADS} threads are possible"
        ))),
        Ok(threads) => Ok(threads),
        Err(_) => Ok(0),
    }
}

/// Prints an error on stderr, with the lines of the scene around it if there are any.
pub fn report(error: &CliError) {
    tell(error.render(io::stderr().is_terminal(), is_coloured()).trim_end());
}

/// Writes `text` and a line end to stderr. Errors are ignored: a full disk or a closed pipe there must not
/// end a run.
fn tell(text: &str) {
    if mpirun::is_silent() {
        return;
    }
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Whether stderr takes colours: on a terminal, unless `NO_COLOR` (no-color.org) says otherwise.
fn is_coloured() -> bool {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !forbidden && !is_dumb
}

/// Sends log lines to stderr: those that `-q` and `-v` choose, otherwise those of [`log_filter`].
fn log_to_stderr(common: &Common) -> Result<(), CliError> {
    let level = match (common.quiet, common.verbose) {
        _ if mpirun::is_silent() => LevelFilter::OFF,
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
    let named =
        if common.quiet || common.verbose > 0 || mpirun::is_silent() { None } else { log_filter(common)? };
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_target(false).without_time();
    // Otherwise a log line that cannot be written causes an error, and printing that a panic.
    let lines = lines.log_internal_errors(false);
    let lines = lines.with_ansi(is_coloured()).with_filter(named.unwrap_or(usual));
    // A second call, as in tests, keeps the first subscriber.
    let _ = tracing_subscriber::registry().with(lines).try_init();
    Ok(())
}

/// Filter that a person named: `UPDRAFT_LOG`, else `RUST_LOG`, else the key `log` of the configuration. It is a
/// list such as `updraft=debug,winit=warn`, or one level for all. Empty means none.
fn log_filter(common: &Common) -> Result<Option<Targets>, CliError> {
    let of = |name: &str| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
    let named = ["UPDRAFT_LOG", "RUST_LOG"].into_iter().find_map(|name| Some((name, of(name)?)));
    let Some((name, text)) = named.or_else(|| Some(("`log`", common.log.clone()?))) else { return Ok(None) };
    let filter = text.parse().map_err(|error| {
        let text = foreign::visible(&foreign::shortened(&text, 80));
        CliError::Request(format!("{name}: `{text}` is no filter such as `info` or `updraft=debug`: {error}"))
    });
    filter.map(Some)
}

/// Writes a result to stdout. A closed pipe (`| head`) is no error.
fn say(text: &str) -> Result<(), CliError> {
    if mpirun::is_silent() {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(CliError::Stdout(e)),
        _ => Ok(()),
    }
}

/// Writes a result to stdout as JSON.
fn say_json(value: &serde_json::Value) -> Result<(), CliError> {
    say(&json_text(value))
}

/// Formats JSON on several lines. Numbers that come from single precision get as many digits as they have there: 0.05, not
/// 0.05000000074505806.
fn json_text(value: &serde_json::Value) -> String {
    format!("{:#}\n", tidy(value.clone()))
}

fn tidy(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Array(list) => list.into_iter().map(tidy).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, tidy(value))).collect(),
        Value::Number(number) if number.is_f64() => {
            let exact = number.as_f64().unwrap_or(f64::NAN);
            let single = exact as f32;
            let is_single = f64::from(single) == exact;
            let short = if is_single { single.to_string().parse().unwrap_or(exact) } else { exact };
            serde_json::Number::from_f64(short).map_or(Value::Null, Value::Number)
        }
        other => other,
    }
}

impl Common {
    /// The scene that is used if none is named.
    fn default_scene(&self) -> &str {
        self.scene.as_deref().unwrap_or("plume")
    }

    /// Loads the scene `name` with the overrides of the command line, then `more`.
    fn scene(&self, name: &str, more: &[String]) -> Result<Scene, CliError> {
        let mut overrides = self.set.clone();
        match self.threads.as_slice() {
            [] => {}
            [threads] => overrides.push(format!("solver.threads={threads}")),
            _ => {
                return Err(CliError::Request("--threads takes one number here; a list is for bench".into()));
            }
        }
        overrides.extend_from_slice(more);
        let mut scene =
            Scene::load_shared(name, &overrides, self.share).map_err(|error| match &self.config {
                Some(path) if self.is_of_config(&error, name, &overrides) => {
                    CliError::Request(format!("{}: {error}", path.display()))
                }
                _ => suggest_command(error, name),
            })?;
        if let (0, Some(threads)) = (scene.config.threads, self.threads_of_rank) {
            scene.config.threads = threads;
        }
        Ok(scene)
    }
}

impl Common {
    /// Whether the fault of a scene lies in the configuration: it names the scene, or the scene is valid without its overrides.
    fn is_of_config(&self, error: &SceneError, name: &str, overrides: &[String]) -> bool {
        match error {
            SceneError::Missing { .. } => self.scene.as_deref() == Some(name),
            _ => {
                let own = &overrides[self.sets_of_config..];
                self.sets_of_config > 0 && Scene::load_shared(name, own, self.share).is_ok()
            }
        }
    }
}

/// Suggests a command, because a misspelt one looks like the name of a scene.
fn suggest_command(error: SceneError, name: &str) -> CliError {
    let commands = ["view", "render", "flipbook", "simulate", "detail", "bench", "scenes", "check", "doctor"];
    match (&error, crate::scene::closest(name, commands)) {
        (SceneError::Missing { hint, .. }, Some(command)) if hint.is_empty() => {
            CliError::Request(format!("`{name}` is neither a command nor a scene; did you mean `{command}`?"))
        }
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_of_single_precision_are_short() {
        let value = json!({ "a": [0.05_f32, 24, 1e-4_f32], "b": 0.1_f64, "c": 1.0 / 3.0, "d": null });
        let text = json_text(&value);
        assert!(text.contains("0.05,") && text.contains("0.0001\n") && text.contains("0.1,"), "{text}");
        assert!(text.contains("0.3333333333333333,") && text.contains("24,"), "{text}");
    }
}
