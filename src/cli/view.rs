//! `updraft view`, the default: the window, or pictures where there is no display.

use std::path::Path;

use super::frames::Frames;
use super::{CliError, Common, render};
use crate::scene::Scene;

/// Frames that are rendered where no window can be opened: three seconds of the default scene.
const FRAMES: Frames = Frames { first: 1, last: 72 };

/// Open the window.
#[derive(Debug, clap::Args)]
pub struct ViewArgs {
    /// A built-in scene or a scene file [default: plume]
    #[arg(value_name = "SCENE")]
    scene: Option<String>,
}

impl ViewArgs {
    /// A scene before the name of another command is a mistake.
    pub fn refuse(&self) -> Result<(), CliError> {
        match &self.scene {
            Some(scene) => Err(CliError::Request(format!("write `{scene}` after the command"))),
            None => Ok(()),
        }
    }
}

/// Opens the window, or says why there is none and renders the scene.
pub fn run(args: &ViewArgs, common: &Common) -> Result<(), CliError> {
    let scene = common.scene(args.scene.as_deref().unwrap_or("plume"), &[])?;
    match window(&scene)? {
        Shown::Window => Ok(()),
        Shown::Nothing(why) => without_window(&scene, &why, common),
    }
}

enum Shown {
    /// The window was there, and was closed.
    Window,
    /// There can be no window, and why.
    Nothing(String),
}

#[cfg(feature = "viewer")]
fn window(scene: &Scene) -> Result<Shown, CliError> {
    use crate::app::{self, AppError};

    let displays = ["DISPLAY", "WAYLAND_DISPLAY"];
    let display = displays.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if cfg!(all(unix, not(target_os = "macos"))) && !display {
        return Ok(Shown::Nothing("no display here".into()));
    }
    match app::run(scene.clone(), app::Options::default()) {
        Ok(()) => Ok(Shown::Window),
        Err(AppError::NoDisplay(why)) => Ok(Shown::Nothing(why)),
        Err(AppError::Solver(error)) => Err(CliError::Solver(error)),
        Err(AppError::Render(error)) => Err(CliError::Render(error)),
        Err(error) => Err(CliError::Window(error.to_string())),
    }
}

#[cfg(not(feature = "viewer"))]
fn window(_scene: &Scene) -> Result<Shown, CliError> {
    Ok(Shown::Nothing("this build has no window (feature `viewer`)".into()))
}

fn without_window(scene: &Scene, why: &str, common: &Common) -> Result<(), CliError> {
    let folder = free_folder("updraft-frames", common.force);
    if !common.quiet {
        eprintln!("updraft: {why}; rendering {} frames of {} to {folder}", FRAMES.count(), scene.name);
    }
    render::render(scene, FRAMES, &render::in_folder(&folder, &scene.name)?, common)
}

/// `name`, or `name-2` and so on where that is taken: a second run must neither fail nor overwrite.
fn free_folder(name: &str, force: bool) -> String {
    let mut numbered = (2..).map(|n| format!("{name}-{n}"));
    let mut folder = name.to_owned();
    while !force && Path::new(&folder).exists() {
        folder = numbered.next().expect("an endless list");
    }
    folder
}
