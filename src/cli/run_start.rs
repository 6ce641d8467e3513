//! The scene that a run begins with, and the check that it does not replace other files in its folder.

use std::path::Path;

use super::checkpoint::{Checkpoint, differences};
use super::folder::RunFolder;
use super::simulate_args::SimulateArgs;
use super::{CliError, Common};
use crate::parameter::{Parameter, Subject};
use crate::scene::{Scene, SceneError, Share};

/// Loads the requested scene, or that of the resumed run.
pub(super) fn scene(
    args: &SimulateArgs,
    common: &Common,
    folder: &RunFolder,
    saved: Option<&Checkpoint>,
) -> Result<Scene, CliError> {
    let out = args.out.display();
    let own = folder.scene();
    match (&args.scene, saved) {
        (Some(name), Some(saved)) => {
            let scene = common.scene(name, &[])?;
            saved.check(&scene, true, "omit the scene and its --set to continue with those of the run")?;
            Ok(scene)
        }
        (Some(name), None) => common.scene(name, &[]),
        (None, Some(_)) if !own.exists() => Err(CliError::Request(format!(
            "{out} has a checkpoint but no scene.toml; name the scene of its run"
        ))),
        (None, Some(saved)) => {
            common.refuse_idle(|parameter| {
                let has_begun = "the run has begun; leave it out, or begin a run in another --out";
                let is_of_picture =
                    parameter.subjects() == [Subject::Picture] && !is_of_flame(parameter);
                let stays = "scene.toml of the run stays as it is; leave it out, and give it to `updraft render --from`";
                match parameter.path.starts_with("initial.") {
                    true => Some(has_begun.into()),
                    false => is_of_picture.then(|| stays.into()),
                }
            })?;
            // The initial fields no longer matter.
            let scene = common.scene(&own.display().to_string(), &["initial={}".into()])?;
            // The scene is read from the folder of the run.
            let remedy = match common.set.is_empty() {
                true => {
                    "a file that it names, such as a mesh or a picture, is not what it was; restore it, or begin a run in another --out"
                }
                false => "leave --set out, in the configuration too, to continue the run as it began",
            };
            saved.check(&scene, false, remedy)?;
            Ok(scene)
        }
        (None, None) if !args.resume => common.scene("plume", &[]),
        (None, None) if own.exists() => common.scene(&own.display().to_string(), &[]),
        (None, None) => Err(CliError::Request(format!(
            "{out} has no run to continue: neither checkpoint nor scene.toml; name a scene to begin one"
        ))),
    }
}

/// Returns whether a parameter of pictures changes the grid `flame` of volumes.
fn is_of_flame(parameter: &Parameter) -> bool {
    ["render.medium.glow", "render.medium.glow_heat"].contains(&parameter.path.as_str())
}

/// Returns whether a run of `scene` without a checkpoint replaces a run of the same scene, with `--resume`:
/// one that was killed before its first checkpoint. `input` is the file of the scene.
///
/// # Errors
/// If the run would replace its own input, or put files of two scenes into one folder.
pub(super) fn restarts(
    args: &SimulateArgs,
    common: &Common,
    scene: &Scene,
    input: Option<&Path>,
    folder: &RunFolder,
) -> Result<bool, CliError> {
    let path = folder.scene();
    if !path.exists() {
        return Ok(false);
    }
    let name = path.display();
    let is_input = input.is_some_and(|input| is_same(input, &path));
    if args.resume || args.skip_existing {
        let own = Scene::load_shared(&name.to_string(), &[], common.share)?;
        let parts = differences(&alone(&own, common.share)?, &alone(scene, common.share)?);
        if !parts.is_empty() && (args.skip_existing || is_input || !common.force) {
            return Err(CliError::Request(format!(
                "{name} is another scene than the one asked for: it differs in {}; choose another --out",
                parts.join(", ")
            )));
        }
        if parts.is_empty() && args.resume {
            return match folder.has_ended() && !common.force {
                true => Err(CliError::Request(format!(
                    "{} has a run that has ended, and no checkpoint to continue it from; --force begins it anew, over its files",
                    args.out.display()
                ))),
                false => Ok(true),
            };
        }
    }
    if is_input {
        return Err(CliError::Request(format!(
            "{name} is the scene itself, and the run would replace it by a copy with the overrides; choose another --out"
        )));
    }
    Ok(false)
}

/// Returns the scene as a run writes it: overrides are part of its text, and file names are absolute.
fn alone(scene: &Scene, share: Share) -> Result<Scene, SceneError> {
    Scene::parse_shared(&scene.name, &scene.text()?, &[], share)
}

/// Returns whether two paths lead to one file.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
