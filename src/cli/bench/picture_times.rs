//! `updraft bench --render`: the cost of a picture by pass.

use super::{BenchArgs, CliError, Common};
#[cfg(feature = "viewer")]
use crate::{parameter::Subject, scene::Scene};

/// Runs the command.
#[cfg(feature = "viewer")]
pub fn run(args: &BenchArgs, common: &Common) -> Result<(), CliError> {
    use serde_json::json;

    use super::write_report;
    use crate::cli::machine;
    use crate::cli::progress::Progress;
    use crate::output::whole::Existing;
    use crate::render::Timing;

    let scene = scene(args, common)?;
    args.say(&header())?;
    let mut progress = Progress::new(args.cells.len() as u32, common.quiet);
    let (mut driver, mut all) = (String::new(), Vec::<Timing>::new());
    for (n, &cells) in args.cells.iter().enumerate() {
        progress.update(n as u32, &format!("{cells}^3"));
        let (name, timings) =
            crate::render::measure(cells as usize, args.size.0, args.steps, (&scene.look, &scene.camera))?;
        for timing in &timings {
            args.say(&row(timing))?;
        }
        driver = name;
        all.extend(timings);
    }
    drop(progress);
    args.say(&format!("{driver}\n"))?;
    match &args.json {
        Some(path) => write_report(
            path,
            Existing::forced(common.force),
            &json!({
                "build": machine::build(),
                "machine": machine::machine(),
                "driver": driver,
                "pictures": all,
            }),
        ),
        None => Ok(()),
    }
}

/// Returns the reason that an override has no effect on the timed pictures, if it has none.
#[cfg(feature = "viewer")]
fn idle(parameter: &crate::parameter::Parameter) -> Option<String> {
    let why = match parameter.path.as_str() {
        "render.size" => "--size says it; leave it out",
        "render.camera.shutter" => "the timed smoke is still; leave it out",
        "render.medium.paths" | "render.medium.noise" | "render.medium.denoise" => TRACED,
        path if path.starts_with("render.camera.keyframes") => "the timed smoke is still; leave it out",
        path if path.starts_with("solid.") => "the timed smoke has no solids; leave it out",
        _ if !parameter.acts_on(&[Subject::Picture]) => {
            "--render times pictures of smoke that is always the same; leave it out, or time steps without --render"
        }
        _ => return None,
    };
    Some(why.into())
}

/// Refusal of traced pictures.
#[cfg(feature = "viewer")]
const TRACED: &str = "pictures of the window are timed, which are never traced; leave it out";

/// Returns a box of one metre, like that of the timed smoke, with the look and the camera of the overrides.
/// Overrides of the configuration hold for every command; those without an effect on pictures are left out.
#[cfg(feature = "viewer")]
fn scene(args: &BenchArgs, common: &Common) -> Result<Scene, CliError> {
    use crate::look::Scattering;
    use crate::scene::override_keys;

    if common.threads.len() > 1 {
        return Err(CliError::Request(
            "--threads takes one number with --render; a list is for steps".into(),
        ));
    }
    common.refuse_idle(idle)?;
    let has_effect = |set: &&String| {
        override_keys(set).iter().all(|key| key.parameters.iter().all(|parameter| idle(parameter).is_none()))
    };
    let (of_config, own) = common.set.split_at(common.set.len() - common.own_sets().len());
    let mut overrides: Vec<String> = of_config.iter().filter(has_effect).chain(own).cloned().collect();
    let [width, height] = args.size.0;
    overrides.push(format!("render.size=[{width}, {height}]"));
    overrides.extend(["domain.cells=[8, 8, 8]".into(), "domain.voxel=0.125".into()]);
    let scene = Scene::parse_shared("still plume", "", &overrides, common.share)?;
    match scene.look.scattering {
        Scattering::Traced => Err(CliError::Request(format!("render.medium.scattering: {TRACED}"))),
        _ => Ok(scene),
    }
}

/// Fails: without OpenGL there are no passes to time.
#[cfg(not(feature = "viewer"))]
pub fn run(_args: &BenchArgs, _common: &Common) -> Result<(), CliError> {
    Err(CliError::Request(
        "--render needs OpenGL; this updraft was built without the feature `viewer`".into(),
    ))
}

/// Passes of every picture.
#[cfg(feature = "viewer")]
const PASSES: [&str; 4] = ["scene", "march", "composite", "present"];

#[cfg(feature = "viewer")]
fn header() -> String {
    let mut header = format!(
        "{:>6}  {:>9}  {:>5}  {:>6}  {:>6}  {:>6}  {:>6} [ms]",
        "cells", "size", "march", "upload", "light", "draw", "all"
    );
    PASSES.iter().for_each(|name| header += &format!("  {name:>9}"));
    header + "\n"
}

#[cfg(feature = "viewer")]
fn row(timing: &crate::render::Timing) -> String {
    let [width, height] = timing.size;
    let mut row = format!(
        "{:>6}  {:>9}  {:>5}  {:>6.2}  {:>6.2}  {:>6.2}  {:>6.2}     ",
        format!("{}^3", timing.cells),
        format!("{width}x{height}"),
        if timing.divide == 1 { "1".into() } else { format!("1/{}", timing.divide) },
        timing.upload,
        timing.light,
        timing.draw,
        timing.all
    );
    for name in PASSES {
        row += &timing.passes.get(name).map_or_else(|| format!("  {:>9}", "-"), |ms| format!("  {ms:>9.2}"));
    }
    row + "\n"
}

#[cfg(all(test, feature = "viewer"))]
mod tests {
    use super::*;
    use crate::cli::frames::Size;
    use crate::look::{Camera, Look};

    fn timed(set: &[&str], sets_of_config: usize) -> Scene {
        let args = BenchArgs {
            scene: None,
            cells: vec![8],
            steps: 1,
            full: false,
            render: true,
            size: Size([64, 48]),
            json: None,
            compare: None,
        };
        let set = set.iter().map(|&set| set.to_owned()).collect();
        scene(&args, &Common { set, sets_of_config, ..Common::default() }).unwrap()
    }

    /// Overrides of the configuration hold for all commands, so those of the flow are ignored here.
    #[test]
    fn timed_pictures_have_the_look_and_the_camera_of_the_overrides() {
        let plain = timed(&[], 0);
        let default = Look::default();
        assert_eq!(plain.look, Look { sun_direction: plain.look.sun_direction, ..default });
        assert_eq!(plain.camera, Camera::framing([1.0; 3]));
        let changed = timed(
            &[
                "source.0.emit.red=8",
                "render.exposure=1",
                "render.medium.extinction=9",
                "render.camera.fov=20",
            ],
            2,
        );
        assert_eq!((changed.look.exposure, changed.look.extinction, changed.camera.fov), (1.0, 9.0, 20.0));
        assert_eq!(changed.sources, plain.sources);
    }
}
