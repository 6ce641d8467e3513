//! `updraft doctor`: the properties of this machine and this build, the choices that follow, and their reasons.
//!
//! Each line of the report is a property with the words for people and the values for programs (`--json`).
//! Exit code 2 means that a setting asks for something that cannot work here: `UPDRAFT_SIMD`, `UPDRAFT_LOG`,
//! the configuration or `--threads`. A missing graphics driver is no error: the CPU renders.

use std::process::Command;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{CliError, Common, defaults, json_text, log_filter, machine, say};
use crate::foreign::{on_one_line, shortened};
use crate::grid::Dims;
use crate::output::child::{self, Patience};
use crate::output::video;
use crate::room;
use crate::scene::{Scene, builtin, memory};
use crate::simd;
use crate::solver::Config;

/// Longest time for `mpirun` to report its version.
const LAUNCHER: Duration = Duration::from_secs(5);

/// Report what this machine and this build have.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A line of the report.
struct Line {
    name: &'static str,
    words: String,
    value: Value,
    /// Fault of a setting that cannot work.
    problem: Option<String>,
}

impl Line {
    fn new(name: &'static str, words: impl Into<String>, value: Value) -> Self {
        Self { name, words: words.into(), value, problem: None }
    }

    /// Makes the line of a setting that cannot work.
    fn failed(name: &'static str, problem: String) -> Self {
        let (words, value) = (format!("cannot work: {problem}"), json!({ "error": problem }));
        Self { name, words, value, problem: Some(problem) }
    }
}

/// Runs the command.
pub fn run(args: &DoctorArgs, common: &Common) -> Result<(), CliError> {
    let mut common = common.clone();
    let configuration = configuration(&mut common);
    let gl = offscreen();
    let lines = [
        build(),
        processor(),
        instructions(),
        threads(&common),
        ram(&common),
        opengl(&gl),
        pictures(&common, &gl),
        window(),
        ffmpeg(),
        mpi(),
        configuration,
        scenes(&common),
        log(&common),
    ];
    let problems: Vec<&str> = lines.iter().filter_map(|line| line.problem.as_deref()).collect();
    say(&if args.json { as_json(&lines, &problems) } else { as_text(&lines) })?;
    match problems.as_slice() {
        [] => Ok(()),
        problems => {
            Err(CliError::Request(format!("settings that cannot work here: {}", problems.join("; "))))
        }
    }
}

fn as_text(lines: &[Line]) -> String {
    let width = lines.iter().map(|line| line.name.len()).max().unwrap_or(0);
    lines.iter().map(|Line { name, words, .. }| format!("{name:width$}  {}\n", on_one_line(words))).collect()
}

fn as_json(lines: &[Line], problems: &[&str]) -> String {
    let mut report: Map<String, Value> =
        lines.iter().map(|line| (line.name.to_owned(), line.value.clone())).collect();
    report.insert("problems".into(), json!(problems));
    json_text(&Value::Object(report))
}

fn build() -> Line {
    let features: Vec<&str> = [
        ("viewer", cfg!(feature = "viewer")),
        ("cli", cfg!(feature = "cli")),
        ("scene", cfg!(feature = "scene")),
        ("files", cfg!(feature = "files")),
        ("text", cfg!(feature = "text")),
        ("mpi", cfg!(feature = "mpi")),
    ]
    .into_iter()
    .filter_map(|(name, is_in)| is_in.then_some(name))
    .collect();
    let version = env!("CARGO_PKG_VERSION");
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let kind = if cfg!(debug_assertions) { "a debug build, many times slower" } else { "release build" };
    Line::new(
        "updraft",
        format!("{version} for {os} on {arch}, {kind}, with {}", features.join(", ")),
        json!({
            "version": version, "os": os, "arch": arch, "features": features,
            "debug_assertions": cfg!(debug_assertions),
        }),
    )
}

fn processor() -> Line {
    let (cpu, count) = (machine::cpu(), machine::processors());
    let name = cpu.clone().unwrap_or_else(|| "unnamed".into());
    Line::new("processor", format!("{name}, {count} threads"), json!({ "name": cpu, "threads": count }))
}

/// Reports the instruction sets that kernels look for, and the level that they run at.
fn instructions() -> Line {
    let level = match simd::level_name() {
        Ok(level) => level,
        Err(error) => return Line::failed("kernels", error.to_string()),
    };
    let sets = simd::instruction_sets();
    let names = |wanted: bool| -> Vec<&str> {
        sets.iter().filter(|(_, is_there)| *is_there == wanted).map(|(name, _)| *name).collect()
    };
    let (found, missing) = (names(true), names(false));
    let chosen = match std::env::var_os("UPDRAFT_SIMD") {
        Some(_) => format!("{level}, as UPDRAFT_SIMD says"),
        None => format!("{level}, the best of this machine"),
    };
    let listed = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(" ") };
    Line::new(
        "kernels",
        format!("{chosen}; found: {}; missing: {}", listed(&found), listed(&missing)),
        json!({ "level": level, "found": found, "missing": missing }),
    )
}

fn threads(common: &Common) -> Line {
    let counts: Vec<usize> = common.threads.iter().map(|&n| usize::from(n)).collect();
    let used = match counts.as_slice() {
        [n] if *n > 0 => *n,
        _ => machine::processors(),
    };
    match memory::check_threads(used) {
        Ok(()) => Line::new("threads", format!("{used} by default"), json!(used)),
        Err(problem) => Line::failed("threads", format!("--threads: {problem}")),
    }
}

/// Reports memory, and the largest cube of cells that a scene may have.
fn ram(common: &Common) -> Line {
    let (total, available, limit) = (memory::machine(), memory::available(), memory::default_limit());
    let threads = common.threads.first().map_or_else(machine::processors, |&n| usize::from(n));
    let edge = largest_cube(limit, threads);
    let now = available.map(|bytes| largest_cube(bytes, threads));
    let words = match (total, available) {
        (Some(total), Some(available)) => {
            format!("{} available of {}", memory::human(available), memory::human(total))
        }
        (Some(total), None) => format!("{} in all", memory::human(total)),
        _ => "the system does not tell".into(),
    };
    let narrower = room::limit().filter(|&limit| Some(limit) < total);
    let narrower = narrower.map(|limit| format!(" ({} for this process)", memory::human(limit)));
    let fits = now.filter(|&now| now < edge).map(|now| format!("; {now}^3 cells without swapping now"));
    Line::new(
        "memory",
        format!(
            "{words}{}; a scene may take {}: up to {edge}^3 cells{}",
            narrower.unwrap_or_default(),
            memory::human(limit),
            fits.unwrap_or_default(),
        ),
        json!({
            "total_bytes": total, "available_bytes": available, "process_bytes": room::limit(),
            "scene_limit_bytes": limit, "largest_cube": edge, "largest_cube_now": now,
        }),
    )
}

/// Returns the edge of the largest cube of cells, without solids, that fits into `limit` bytes.
fn largest_cube(limit: u64, threads: usize) -> usize {
    let fits = |edge: usize| {
        Dims::new([edge; 3]).is_ok_and(|dims| {
            memory::estimate(&Config { threads, ..Config::new(dims, 0.01) }, false) <= limit
        })
    };
    // Bisection: `low` fits, or is 0; `high` does not.
    let (mut low, mut high) = (0_usize, 4096);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

/// Properties of OpenGL.
struct OpenGl {
    driver: String,
    vendor: String,
    on_processor: bool,
}

/// Opens OpenGL without a window, as `updraft render` does. Renderers have kernels too, which panic without a
/// level.
#[cfg(feature = "viewer")]
fn offscreen() -> Result<OpenGl, String> {
    simd::check().map_err(|_| "not tried: the kernels cannot run".to_owned())?;
    let gl = crate::render::Offscreen::new(16, 16).map_err(|error| error.to_string())?;
    let (driver, vendor) = (gl.driver().to_string(), gl.vendor().to_string());
    Ok(OpenGl { driver, vendor, on_processor: gl.draws_on_processor() })
}

#[cfg(not(feature = "viewer"))]
fn offscreen() -> Result<OpenGl, String> {
    Err("built without the feature `viewer`".into())
}

fn opengl(gl: &Result<OpenGl, String>) -> Line {
    match gl {
        Ok(OpenGl { driver, vendor, on_processor }) => Line::new(
            "opengl",
            format!("{driver}, by {vendor}"),
            json!({ "driver": driver, "vendor": vendor, "on_processor": on_processor }),
        ),
        Err(why) => Line::new("opengl", why.clone(), json!({ "error": why })),
    }
}

/// Reports the renderer of files, and the reason for it.
fn pictures(common: &Common, gl: &Result<OpenGl, String>) -> Line {
    let (renderer, why) = match gl {
        _ if common.cpu => ("cpu", "the configuration says `cpu = true`"),
        Ok(gl) if gl.on_processor => ("cpu", "the driver of OpenGL has no graphics processor"),
        Ok(_) => ("opengl", "a graphics processor is there"),
        Err(why) => ("cpu", why.as_str()),
    };
    let what = if renderer == "cpu" { "on CPU threads" } else { "with OpenGL" };
    Line::new("pictures", format!("{what}: {why}"), json!({ "renderer": renderer, "why": why }))
}

/// Reports the display that a window would open on, as far as the environment tells.
fn window() -> Line {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let display = if cfg!(any(windows, target_vendor = "apple")) {
        Some("the desktop".to_owned())
    } else {
        set("WAYLAND_DISPLAY")
            .map(|name| format!("Wayland ({name})"))
            .or_else(|| set("DISPLAY").map(|name| format!("X11 ({name})")))
    };
    let (words, value) = match (&display, cfg!(feature = "viewer")) {
        (_, false) => ("none: built without the feature `viewer`".into(), Value::Null),
        (Some(display), true) => (format!("on {display}"), json!(display)),
        (None, true) => (
            "none: neither DISPLAY nor WAYLAND_DISPLAY is set; `updraft` renders to files instead".into(),
            Value::Null,
        ),
    };
    Line::new("window", words, value)
}

fn ffmpeg() -> Line {
    match video::ffmpeg_version() {
        Ok(Some(version)) => {
            Line::new("ffmpeg", format!("{version}: .mp4, .webm and .gif can be written"), json!(version))
        }
        Ok(None) => {
            let words = "not found: .mp4, .webm and .gif become PNGs; .apng needs no ffmpeg";
            Line::new("ffmpeg", words, Value::Null)
        }
        Err(error) => {
            Line::new("ffmpeg", format!("cannot be used: {error}"), json!({ "error": error.to_string() }))
        }
    }
}

/// Reports whether this build can share a run among processes, and the launcher found.
fn mpi() -> Line {
    let built_in = cfg!(feature = "mpi");
    let built = if built_in { "built in" } else { "built without the feature `mpi`: one process simulates" };
    let mut command = Command::new("mpirun");
    command.arg("--version");
    let (words, launcher, error) = match child::answer(command, Patience(LAUNCHER.min(Patience::usual().0))) {
        Ok(Some(text)) => {
            let version = launcher_version(&text);
            let usage = if built_in { "; `mpirun -n 4 updraft simulate` shares a run" } else { "" };
            (format!("mpirun is of {version}{usage}"), Some(version), None)
        }
        Ok(None) => ("mpirun is not found".to_owned(), None, None),
        Err(error) => (format!("mpirun does not answer: {error}"), None, Some(error.to_string())),
    };
    Line::new(
        "mpi",
        format!("{built}; {words}"),
        json!({ "built_in": built_in, "mpirun": launcher, "error": error }),
    )
}

/// Returns name and version of a launcher from its answer: Open MPI, Hydra (MPICH), or its first line.
fn launcher_version(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("an unnamed MPI");
    let hydra =
        first.starts_with("HYDRA").then(|| text.lines().find_map(|l| l.trim().strip_prefix("Version:")));
    match (first.strip_prefix("mpirun (Open MPI) "), hydra.flatten()) {
        (Some(version), _) => format!("Open MPI {}", shortened(version, 80)),
        (_, Some(version)) => format!("MPICH (Hydra) {}", shortened(version.trim(), 80)),
        _ => shortened(first, 80),
    }
}

/// Reads the configuration into `common` and reports it.
fn configuration(common: &mut Common) -> Line {
    let path = defaults::path();
    let place = path.as_deref().map(|path| path.display().to_string());
    match defaults::load() {
        Err(error) => Line::failed("config", error.to_string()),
        Ok(found) => {
            found.complete(common);
            let is_there = path.is_some_and(|path| path.exists());
            let words = match (&place, is_there) {
                (None, _) => "none is looked for".into(),
                (Some(place), true) => place.clone(),
                (Some(place), false) => format!("{place} does not exist"),
            };
            Line::new("config", words, json!({ "path": place, "exists": is_there }))
        }
    }
}

fn scenes(common: &Common) -> Line {
    let scene = common.default_scene();
    // Only the configuration is checked: its scene or overrides may be refused.
    if let Err(error) = Scene::load(scene, &common.set) {
        return Line::failed("scenes", error.to_string());
    }
    Line::new(
        "scenes",
        format!(
            "{} built in, {scene} by default; a path is one from the current folder",
            builtin::NAMES.len()
        ),
        json!({ "builtin": builtin::NAMES, "default": scene }),
    )
}

fn log(common: &Common) -> Line {
    match log_filter(common) {
        Ok(None) => Line::new("log", "warnings; UPDRAFT_LOG or -v tell more", Value::Null),
        Ok(Some(filter)) => Line::new("log", filter.to_string(), json!(filter.to_string())),
        Err(error) => Line::failed("log", error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_named_by_their_answers() {
        for (answer, name) in [
            ("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/\n", "Open MPI 4.1.4"),
            (
                "HYDRA build details:\n    Version:                 4.0.2\n    CC: gcc\n",
                "MPICH (Hydra) 4.0.2",
            ),
            ("HYDRA build details:\n", "HYDRA build details:"),
            ("\nAnother MPI, Version 7\n", "Another MPI, Version 7"),
            ("", "an unnamed MPI"),
        ] {
            assert_eq!(launcher_version(answer), name);
        }
        assert!(launcher_version(&"x".repeat(5000)).len() < 100);
    }

    #[test]
    fn the_largest_cube_fits_and_the_next_does_not() {
        let need = |edge: usize| {
            let config = Config { threads: 2, ..Config::new(Dims::new([edge; 3]).unwrap(), 0.01) };
            memory::estimate(&config, false)
        };
        for limit in [1 << 30, 16 << 30] {
            let edge = largest_cube(limit, 2);
            assert!(need(edge) <= limit && need(edge + 1) > limit, "{edge}");
        }
        assert!((500..700).contains(&largest_cube(16 << 30, 2)));
        assert_eq!(largest_cube(0, 2), 0);
    }
}
