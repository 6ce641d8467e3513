//! `updraft view`, the default: the window, or pictures without a display.

#[cfg(feature = "viewer")]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::frames::Frames;
use super::{CliError, Common, render};
use crate::scene::Scene;

/// Frames rendered if no window can be opened: three seconds of the default scene.
const FRAMES: Frames = Frames { first: 1, last: 72, step: 1 };

/// Open the window.
#[derive(Debug, clap::Args)]
pub struct ViewArgs {
    /// A built-in scene or a scene file [default: plume]
    #[arg(value_name = "SCENE")]
    scene: Option<String>,
}

impl ViewArgs {
    /// Refuses a scene before the name of another command: it is a mistake.
    pub fn refuse(&self) -> Result<(), CliError> {
        match &self.scene {
            Some(scene) => Err(CliError::Request(format!("write `{scene}` after the command"))),
            None => Ok(()),
        }
    }
}

/// Opens the window, or says why that is impossible and renders the scene.
pub fn run(args: &ViewArgs, common: &Common) -> Result<(), CliError> {
    let scene = common.scene(args.scene.as_deref().unwrap_or(common.default_scene()), &[])?;
    match window(&scene)? {
        None => Ok(()),
        Some(why) => without_window(&scene, &why, common),
    }
}

/// Shows the window until it is closed. Returns the reason if it cannot be opened.
#[cfg(feature = "viewer")]
fn window(scene: &Scene) -> Result<Option<String>, CliError> {
    use crate::app::{self, AppError};
    // Window systems panic when their display disappears. All panics are caught here and replaced by one line
    // of ours.
    std::panic::set_hook(Box::new(|info| tracing::debug!("{info}")));
    let ended = catch_unwind(AssertUnwindSafe(|| app::run(scene.clone(), app::Options::default())));
    drop(std::panic::take_hook());
    match ended {
        Ok(Ok(())) => Ok(None),
        Ok(Err(AppError::NoDisplay(why))) => Ok(Some(format!("no window here ({})", without_place(&why)))),
        Ok(Err(error)) => Err(error.into()),
        Err(panic) => Err(CliError::Window(message(panic.as_ref()))),
    }
}

/// Text of a panic.
#[cfg(feature = "viewer")]
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a word".into())
}

/// Removes the source line that winit puts first: it does not help users.
#[cfg(feature = "viewer")]
fn without_place(why: &str) -> &str {
    let what = why.strip_prefix("os error at ").and_then(|rest| rest.split_once(": "));
    what.map_or(why, |(_, what)| what).trim_end_matches('.')
}

/// Says why there is no window in this build.
#[cfg(not(feature = "viewer"))]
fn window(_scene: &Scene) -> Result<Option<String>, CliError> {
    Ok(Some("no window here (built without the feature `viewer`)".into()))
}

fn without_window(scene: &Scene, why: &str, common: &Common) -> Result<(), CliError> {
    let folder = free_folder("updraft-frames", common.force);
    if !common.quiet {
        let (count, name) = (FRAMES.count(), &scene.name);
        super::tell(&format!("updraft: {why}; rendering {count} frames of {name} to {folder}"));
    }
    let out = render::in_folder(&folder, &scene.name)?;
    render::Job { frames: FRAMES, out, supply: render::Supply::Live, cpu: false, skip: false, layers: false }
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
