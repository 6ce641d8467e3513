//! The built-in scenes, each a file of the folder `scenes`.

/// Calls a macro with the names of the built-in scenes.
macro_rules! for_each_scene {
    ($call:ident) => {
        $call! {
            "plume", "colors", "text", "sphere", "mesh", "fog", "wind-tunnel", "convection", "shear", "rings",
            "taylor-green", "cavity"
        }
    };
}
#[cfg(feature = "viewer")]
pub(crate) use for_each_scene;

macro_rules! scenes {
    ($($name:literal),*) => {
        /// The names of the built-in scenes; the first is the default.
        pub const NAMES: &[&str] = &[$($name),*];

        const TEXTS: &[&str] = &[$(include_str!(concat!("../../scenes/", $name, ".toml"))),*];
    };
}

for_each_scene!(scenes);

/// Names of the built-in meshes.
pub const MESHES: &[&str] = &["knot"];

/// Returns the mesh `name` as an OBJ.
pub fn mesh(name: &str) -> Option<&'static str> {
    (name == "knot").then_some(include_str!("../../scenes/knot.obj"))
}

/// Returns the text of the built-in scene `name`.
pub fn text(name: &str) -> Option<&'static str> {
    let at = NAMES.iter().position(|known| *known == name)?;
    Some(TEXTS[at])
}

/// Returns a one-line description of the built-in scene `name`: the first line of its file.
pub fn summary(name: &str) -> Option<&'static str> {
    text(name)?.lines().next().map(|line| line.trim_start_matches('#').trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mesh_is_closed() {
        for name in MESHES {
            let mesh = crate::solver::Mesh::from_obj(name, mesh(name).unwrap()).unwrap();
            assert!(mesh.triangles().len() > 100 && (0.4..0.8).contains(&mesh.bounding_radius()), "{name}");
        }
        assert!(mesh("plume").is_none());
    }

    #[test]
    fn every_scene_is_valid_and_has_a_summary() {
        for name in NAMES {
            let scene = crate::scene::Scene::parse(name, text(name).unwrap()).unwrap();
            assert_eq!(scene.name, *name);
            assert!(summary(name).is_some_and(|line| line.len() > 10), "{name} has no summary");
        }
    }

    /// Runs with half the cells along each axis.
    #[test]
    fn every_scene_runs_and_moves() {
        for name in NAMES {
            let scene = crate::scene::Scene::parse(name, text(name).unwrap()).unwrap();
            let cells = scene.config.dims.array().map(|n| n / 2);
            let set = [format!("domain.cells={cells:?}"), format!("domain.voxel={}", 2.0 * scene.config.h)];
            let scene = crate::scene::Scene::load(name, &set).unwrap();
            let mut solver = scene.solver().unwrap();
            for _ in 0..3 {
                solver.step(scene.time.steps_per_frame().1).unwrap();
            }
            let stats = solver.stats();
            assert!(stats.max_speed > 1e-3 && stats.divergence_after < 1e-3, "{name}: {stats:?}");
            assert!(stats.mass.iter().sum::<f64>() > 0.0, "{name}: there is no smoke to see");
        }
    }
}
