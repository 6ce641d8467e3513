//! Keys without an effect, because another key switches their feature off.

use crate::look::Scattering;
use crate::parameter::{self, FieldAccess, Holder, Parameter, Subject};
use crate::scene::Scene;
use crate::solver::{Motion, Projection};

/// Lists each key without an effect, with the reason. Keys with their default value are left out.
pub fn keys(scene: &Scene) -> Vec<String> {
    let mut keys: Vec<String> = parameter::all()
        .filter(|parameter| is_set(scene, parameter))
        .filter_map(|parameter| Some(format!("{}: {}", parameter.path, why(scene, parameter)?)))
        .collect();
    let lens = scene.camera.lens;
    if lens.focus != 0.0 && lens.aperture == 0.0 {
        keys.push("render.camera.focus: render.camera.aperture is 0".into());
    }
    keys.extend(scene.idle_walls());
    keys.extend(scene.idle_forces());
    keys.extend(sources(scene));
    keys.extend(patches(scene));
    keys.extend(solids(scene));
    keys.extend(
        scene.origin.unused_names.iter().map(|name| format!("initial.let.{name}: no formula uses it")),
    );
    keys
}

/// Returns whether a parameter with a field has another value than its default.
fn is_set(scene: &Scene, parameter: &Parameter) -> bool {
    let value = scene.params.value_of(parameter).or_else(|| scene.look.value_of(parameter));
    let value = value.or_else(|| scene.config.value_of(parameter));
    // The look holds a unit vector, and the declared default has another length.
    value != parameter.field().map(FieldAccess::default_value) && parameter.path != "render.light.direction"
}

/// Returns the reason that a parameter has no effect, if it has none.
fn why(scene: &Scene, parameter: &Parameter) -> Option<&'static str> {
    let (config, look, path) = (&scene.config, &scene.look, parameter.path.as_str());
    let is_direct = match config.projection {
        Projection::Auto => scene.solids.is_empty(),
        Projection::Direct | Projection::GaussSeidel { .. } => true,
        Projection::Multigrid => false,
    };
    let has_environment = look.environment.sphere.is_some();
    let reasons = [
        (path.starts_with("domain.follow_") && !config.follow.on, "domain.follow is off"),
        (
            path.starts_with("turbulence.") && scene.params.turbulence.strength == 0.0,
            "turbulence.strength is 0",
        ),
        (config.frozen && parameter.subjects() == [Subject::Air], "solver.flow is \"frozen\""),
        (path == "solver.tolerance" && is_direct, "only multigrid has a tolerance"),
        (
            path == "render.medium.second_lobe.anisotropy" && look.second_lobe[1] == 0.0,
            "render.medium.second_lobe.share is 0",
        ),
        (
            ["render.medium.paths", "render.medium.noise", "render.medium.denoise"].contains(&path)
                && look.scattering != Scattering::Traced,
            "render.medium.scattering is not \"traced\"",
        ),
        (path.starts_with("render.environment.") && !has_environment, "render.environment.file is absent"),
        (
            ["render.light.sky", "render.light.ground"].contains(&path) && has_environment,
            "render.environment.file takes its place",
        ),
    ];
    reasons.into_iter().find(|(is_idle, _)| *is_idle).map(|(_, why)| why)
}

/// Lists sources that emit nothing.
fn sources(scene: &Scene) -> impl Iterator<Item = String> {
    let is_idle = |source: &crate::solver::Source| source.rate == [0.0; 4] && source.velocity.is_none();
    let idle = scene.sources.iter().enumerate().filter(move |(_, source)| is_idle(source));
    idle.map(|(n, _)| format!("source.{n}: it emits nothing and has no velocity"))
}

/// Lists noise of strength 0, and speeds of noise that is used at one instant only.
fn patches(scene: &Scene) -> impl Iterator<Item = String> {
    let sources = scene.sources.iter().map(|source| (source.noise, "source", true));
    let fills = scene.fills.iter().map(|fill| (fill.noise, "initial.smoke", false));
    let (sources, fills) = (sources.enumerate(), fills.enumerate());
    sources.chain(fills).filter_map(|(n, (noise, list, lasts))| {
        let noise = noise?;
        match () {
            () if noise.strength == 0.0 => Some(format!("{list}.{n}.noise: its strength is 0")),
            // The default is 1.
            () if !lasts && noise.speed != 1.0 => {
                Some(format!("{list}.{n}.noise.speed: it is filled once, at the start"))
            }
            () => None,
        }
    })
}

/// Lists positions beside keyframes, and motions between fewer than two keyframes.
fn solids(scene: &Scene) -> impl Iterator<Item = String> {
    let middle = scene.extent().map(|x| 0.5 * x);
    scene.solids.iter().enumerate().flat_map(move |(n, solid)| {
        let has_path = !solid.keyframes.is_empty();
        let position = (has_path && solid.position != middle)
            .then(|| format!("solid.{n}.position: solid.{n}.keyframes say where it is"));
        let motion = (solid.motion != Motion::default() && solid.keyframes.len() < 2)
            .then(|| format!("solid.{n}.motion: it has no two keyframes to move between"));
        position.into_iter().chain(motion)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::builtin;

    #[test]
    fn no_key_of_a_built_in_scene_is_without_an_effect() {
        for name in builtin::NAMES {
            assert_eq!(keys(&Scene::load(name, &[]).unwrap()), [""; 0], "{name}");
        }
    }

    #[test]
    fn a_key_without_an_effect_is_named_with_the_key_that_switches_it_off() {
        for (set, wanted) in [
            ("domain.follow_margin=9", "domain.follow_margin: domain.follow is off"),
            ("turbulence.seed=4", "turbulence.seed: turbulence.strength is 0"),
            ("solver.tolerance=0.01", "solver.tolerance: only multigrid has a tolerance"),
            ("render.medium.noise=0.1", "render.medium.noise: render.medium.scattering is not \"traced\""),
            (
                "render.environment.strength=2",
                "render.environment.strength: render.environment.file is absent",
            ),
            ("render.camera.focus=2", "render.camera.focus: render.camera.aperture is 0"),
            (
                "domain.walls.x_min={closed={temperature=9}}",
                "domain.walls.x_min: fluid.conduction is 0, so its temperature stays in the wall",
            ),
            ("source.0={emit={}}", "source.0: it emits nothing and has no velocity"),
        ] {
            let scene = Scene::load("plume", &["fluid.conduction=0".into(), set.into()]).unwrap();
            assert_eq!(keys(&scene), [wanted], "{set}");
        }
        for (text, wanted) in [
            (
                "[initial]\nlet = { a = 1, b = 'a' }\nred = 'x'",
                "initial.let.a: no formula uses it; initial.let.b: no formula uses it",
            ),
            ("[initial]\nlet = { a = 1, b = 'a' }\nred = 'b * x'", ""),
            (
                "[[source]]\nnoise = { scale = 0.1, strength = 0, speed = 3 }",
                "source.0.noise: its strength is 0",
            ),
            ("[[source]]\nnoise = { scale = 0.1, speed = 3 }", ""),
            (
                "[[initial.smoke]]\nred = 1\nnoise = { scale = 0.1, speed = 3 }\nshape.sphere = { center = [0.4, 0.4, 0.4], radius = 0.1 }",
                "initial.smoke.0.noise.speed: it is filled once, at the start",
            ),
            (
                "[[solid]]\nshape.sphere.radius = 0.1\nmotion = 'smooth'",
                "solid.0.motion: it has no two keyframes to move between",
            ),
            (
                "[[solid]]\nshape.sphere.radius = 0.1\nposition = [0.2, 0.2, 0.2]\nkeyframes = [[0, [0.3, 0.3, 0.3]], [1, [0.4, 0.3, 0.3]]]",
                "solid.0.position: solid.0.keyframes say where it is",
            ),
        ] {
            assert_eq!(keys(&Scene::parse("s", text).unwrap()).join("; "), wanted, "{text}");
        }
        let frozen =
            Scene::load("plume", &["solver.flow=frozen".into(), "fluid.viscosity=1".into()]).unwrap();
        assert!(keys(&frozen).contains(&"fluid.viscosity: solver.flow is \"frozen\"".to_owned()));
    }
}
