//! The command: one file for each subcommand, and shared code.
//!
//! Progress goes to stderr and results to stdout. Exit codes: 0 done, 1 the run failed or was stopped, 2 the
//! request was wrong.

use clap::{CommandFactory, Parser, Subcommand};

use crate::foreign;
use crate::output::child::Patience;
use crate::scene::memory;
use crate::solver::SolverError;

#[cfg(test)]
mod arguments_page_tests;
mod bench;
mod check;
mod checkpoint;
mod cli_error;
mod common;
mod console;
mod defaults;
mod doctor;
mod excerpt;
mod flipbook;
mod folder;
mod frames;
mod interrupt;
mod log_lines;
mod machine;
mod means;
mod mpirun;
mod painter;
mod progress;
mod refine;
mod render;
mod render_job;
mod render_ranks;
mod run_flow;
mod run_options;
mod run_scene;
mod run_start;
mod run_tables;
mod scenes;
mod shell_files;
mod simulate;
mod simulate_args;
mod simulation;
mod sink;
mod steady;
mod stored_frame;
mod traffic;
mod view;

pub use cli_error::CliError;
use common::{Common, MOST_THREADS};
pub use console::report;
use console::{is_coloured, json_text, say, say_json, say_line, tell};
use log_lines::{log_filter, log_to_stderr};

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

#[derive(Debug, Subcommand)]
enum Command {
    /// Open the window (the default)
    View(view::ViewArgs),
    /// Render a scene to pictures
    Render(render::RenderArgs),
    /// Render a scene to sheets of frames for games
    Flipbook(flipbook::FlipbookArgs),
    /// Simulate a scene to numbers: statistics, probes, fields
    Simulate(simulate_args::SimulateArgs),
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

impl Command {
    /// Returns the advice to leave out `--set`, for a command that reads no scene.
    fn instead_of_sets(&self) -> Option<&'static str> {
        match self {
            Self::Scenes(_) => {
                Some("scenes are printed as they are; `updraft check SCENE --set …` says what one becomes")
            }
            Self::Completions(_) | Self::Man(_) => Some("leave it out"),
            _ => None,
        }
    }

    /// Returns the advice to leave out `--force`, for a command that writes no file.
    fn instead_of_force(&self) -> Option<&'static str> {
        match self {
            Self::Scenes(_) | Self::Check(_) | Self::Doctor(_) | Self::Completions(_) => Some("leave it out"),
            Self::Bench(bench) if !bench.writes_file() => Some("add --json FILE, or leave it out"),
            Self::Man(man) if !man.writes_files() => Some("name a folder for the pages, or leave it out"),
            _ => None,
        }
    }
}

/// Parses the arguments of the process. Ends it with a message if they are wrong, or ask for help.
pub fn arguments() -> Args {
    Args::try_parse().unwrap_or_else(|error| {
        // clap quotes arguments as they are, also those of our own errors. The escaped ones are as wrong.
        let escaped = std::env::args_os().map(|argument| foreign::on_one_line(&argument.to_string_lossy()));
        Args::try_parse_from(escaped).err().unwrap_or(error).exit()
    })
}

/// Runs the command that `args` name.
pub fn run(args: &Args) -> Result<(), CliError> {
    interrupt::survive_file_limits();
    if args.command.is_some() {
        args.view.refuse()?;
    }
    if let Some(instead) = args.command.as_ref().and_then(Command::instead_of_force) {
        args.common.refuse_force(instead)?;
    }
    // `doctor` reports faulty settings, so they must not stop it.
    if let Some(Command::Doctor(doctor)) = &args.command {
        return doctor::run(doctor, &args.common);
    }
    crate::simd::check().map_err(|error| CliError::Request(error.to_string()))?;
    Patience::check().map_err(CliError::Request)?;
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

/// Runs the command with the common arguments.
fn run_command(args: &Args, mut common: Common, launch: &mpirun::Launch) -> Result<(), CliError> {
    defaults::load()?.complete(&mut common);
    if let Some(instead) = args.command.as_ref().and_then(Command::instead_of_sets) {
        common.refuse_sets(instead)?;
    }
    if !common.threads.is_empty() {
        common.refuse_conflicts("--threads", &["solver.threads"])?;
    }
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
        Some(Command::Completions(shell)) => shell_files::completions(shell, Args::command()),
        Some(Command::Man(man)) => shell_files::man(man, common, Args::command()),
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
        // An error of the system has a source. The other kind is that of a second call, as in tests.
        Err(error) if std::error::Error::source(&error).is_some() => {
            Err(CliError::Solver(SolverError::Threads(error.to_string())))
        }
        _ => Ok(()),
    }
}

/// Returns the number of threads in `RAYON_NUM_THREADS`; 0 without one.
fn threads_of_environment() -> Result<usize, CliError> {
    const NAME: &str = "RAYON_NUM_THREADS";
    let text = std::env::var(NAME).unwrap_or_default();
    // As in rayon, a text that is not a number counts as none.
    match text.parse::<usize>() {
        Ok(threads) if threads > usize::from(MOST_THREADS) => Err(CliError::Request(format!(
            "{NAME} is {threads}; at most {MOST_THREADS} threads are possible"
        ))),
        Ok(threads) => Ok(threads),
        Err(_) => Ok(0),
    }
}
