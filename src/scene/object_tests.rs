//! Solids, sources, forces and fills of a scene.

use super::tests::with;
use super::*;

#[test]
fn solids_are_read() {
    use crate::solver::{Projection, Shape, Slip, Solid};
    let scene = with(
        "[fluid]\nconduction = 1e-5\n[solver]\nprojection = 'gauss-seidel'\ntolerance = 1e-3\n\
         [[solid]]\nshape = { box = { size = [0.1, 0.2, 0.3] } }\nrotation = [0, 90, 0]\nslip = 'none'\ncolor = [0.1, 0.2, 0.3]\n\
         temperature = 40\n[[solid]]\nshape = { cylinder = { radius = 0.1, height = 0.4 } }\nscale = 2\n\
         keyframes = [[0, [0.1, 0.2, 0.3]], [1.5, [0.4, 0.2, 0.3]]]\nspin = [0, 180, 0]",
        &[],
    );
    assert_eq!(scene.config.projection, Projection::GaussSeidel { sweeps: 20 });
    assert_eq!(scene.config.tolerance, 1e-3);
    let [block, drum] = scene.solids.as_slice() else { panic!("{:?}", scene.solids) };
    assert_eq!(block.shape, Shape::Box { size: [0.1, 0.2, 0.3] });
    assert_eq!((block.rotation, block.slip), (Solid::turn([0.0, 90.0, 0.0]), Slip::None));
    assert_eq!(block.position, scene.extent().map(|x| 0.5 * x));
    assert_eq!((drum.scale, drum.keyframes.len()), (2.0, 2));
    assert_eq!(drum.spin, [0.0, std::f32::consts::PI, 0.0]);
    assert_eq!((block.temperature, drum.temperature), (Some(40.0), None));
    assert_eq!(scene.look.solids, [[0.1, 0.2, 0.3], crate::look::Look::SOLID]);
    assert!(scene.memory() > with("", &[]).memory(), "multigrid takes memory");
    assert_eq!(scene.solver().unwrap().poses().len(), 2);
}

#[test]
fn sources_forces_and_fills_are_read() {
    use crate::solver::{ActsOn, Drive, ForceField, Form, Noise, Region, Shape, Solid};
    let scene = with(
        "[[source]]\nshape = { box = { center = [0.3, 0.3, 0.3], size = [0.1, 0.2, 0.3], rotation = [0, 90, 0] } }\n\
         noise = { scale = 0.1, strength = 0.5, speed = 3, seed = 7 }\n\
         [[force]]\nwind = { velocity = [1, 0, 0] }\nstart = 1\n\
         [[force]]\npoint = { center = [0.4, 0.4, 0.4], radius = 0.2, acceleration = -3, falloff = 2 }\n\
         [[force]]\nvortex = { center = [0, 0, 0], axis = [0, 0, 4], radius = 0.2, acceleration = 3 }\n\
         acts_on = 'smoke'\nwithin = { sphere = { center = [0.5, 0.5, 0.5], radius = 0.3 } }\n\
         [[initial.smoke]]\nshape = { disc = { center = [0.4, 0.4, 0.4], radius = 0.2 } }\nblue = 2\n",
        &[],
    );
    let [source] = scene.sources.as_slice() else { panic!() };
    assert_eq!(source.region.form, Form::Body(Shape::Box { size: [0.1, 0.2, 0.3] }));
    assert_eq!(source.region.rotation, Solid::turn([0.0, 90.0, 0.0]));
    assert_eq!(source.noise, Some(Noise { strength: 0.5, scale: 0.1, speed: 3.0, seed: 7 }));
    let [wind, point, vortex] = scene.forces.as_slice() else { panic!() };
    assert_eq!(
        (&wind.field, wind.drive),
        (&ForceField::Wind([1.0, 0.0, 0.0]), Drive::Approach { rate: 1.0 })
    );
    assert_eq!((wind.acts_on, wind.start, wind.stop), (ActsOn::Air, 1.0, f32::INFINITY));
    let field = ForceField::Point { center: [0.4; 3], radius: 0.2, falloff: 2, strength: -3.0 };
    assert_eq!((&point.field, point.acts_on), (&field, ActsOn::Smoke));
    let field = ForceField::Vortex { center: [0.0; 3], axis: [0.0, 0.0, 1.0], radius: 0.2, strength: 3.0 };
    assert_eq!((&vortex.field, vortex.drive, vortex.acts_on), (&field, Drive::Accelerate, ActsOn::Smoke));
    assert_eq!(vortex.within, Some(Region::sphere([0.5; 3], 0.3)));
    assert_eq!(scene.fills[0].scalars, [None, None, Some(2.0), None]);
    assert_eq!(scene.fills[0].region, Region::disc([0.4; 3], 0.2, [0.0, 1.0, 0.0], 0.01));
    let solver = scene.solver().unwrap();
    assert_eq!(solver.forces(), scene.forces);
    let volume = std::f64::consts::PI * 0.04 * 0.01;
    assert!((solver.stats().mass[2] / (2.0 * volume) - 1.0).abs() < 0.02, "{:?}", solver.stats().mass);
}

/// Meshes, pictures and fonts are found beside the scene file.
#[test]
fn shapes_are_read_from_files_beside_the_scene() {
    let dir = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(dir.path().join("flag.png")).unwrap();
    let mut encoder = png::Encoder::new(file, 2, 1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(&[255, 0, 0, 0, 0, 255]).unwrap();
    let corner = "v 0 0 0\nv 0.3 0 0\nv 0 0.3 0\nv 0 0 0.3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    std::fs::write(dir.path().join("corner.obj"), corner).unwrap();
    let text = "[[initial.smoke]]\nshape = { image = { file = 'flag.png', center = [0.48, 0.5, 0.48], width = 0.4, depth = 0.1 } }\n\
                red = 1\nblue = 2\n\
                [[initial.smoke]]\nshape = { mesh = { file = 'corner.obj', position = [0.1, 1.0, 0.1], scale = 2 } }\ngreen = 1\n";
    let path = dir.path().join("s.toml");
    std::fs::write(&path, text).unwrap();
    let solver = Scene::load(&path.display().to_string(), &[]).unwrap().solver().unwrap();
    let [red, green, blue] = solver.stats().mass;
    for (got, expected) in
        [(red, 0.2 * 0.2 * 0.1), (blue, 2.0 * 0.2 * 0.2 * 0.1), (green, 0.6f64.powi(3) / 6.0)]
    {
        assert!((got / expected - 1.0).abs() < 0.05, "{got} for {expected}");
    }
    // Red on the left, blue on the right.
    let at = |x: f32| solver.scalars()[solver.layout().at((x / 0.01) as isize, 50, 48)];
    assert!((at(0.34)[0] - 1.0).abs() < 1e-3 && at(0.34)[2] < 1e-3, "{:?}", at(0.34));
    assert!((at(0.62)[2] - 2.0).abs() < 1e-3 && at(0.62)[0] < 1e-3, "{:?}", at(0.62));
}

#[test]
fn a_warm_solid_needs_conduction() {
    let text = "[[solid]]\nshape = { sphere = { radius = 0.1 } }\ntemperature = 40\n";
    let error = Scene::parse("s", text).unwrap_err().to_string();
    assert!(error.contains("fluid.conduction"), "{error}");
    assert!(Scene::parse("s", &format!("[fluid]\nconduction = 1e-5\n{text}")).is_ok());
}

/// A source in a solid at rest emits nothing; one in a moving solid emits after the solid has left.
#[test]
fn shapes_inside_solids_are_named() {
    let named = |solid: &str, source: &str| {
        let text = format!(
            "[[source]]\nshape = {{ sphere = {{ center = {source}, radius = 0.1 }} }}\n\
             [[initial.smoke]]\nshape = {{ sphere = {{ center = [0.4, 0.4, 0.4], radius = 0.05 }} }}\nred = 1\n\
             [[solid]]\nshape = {{ box = {{ size = [0.3, 0.3, 0.3] }} }}\n{solid}"
        );
        Scene::parse("s.toml", &text).unwrap().buried_shapes()
    };
    let still = "position = [0.4, 0.4, 0.4]";
    assert_eq!(named(still, "[0.4, 0.4, 0.4]"), ["source.0", "initial.smoke.0"]);
    assert_eq!(named(still, "[0.4, 0.5, 0.4]"), ["initial.smoke.0"]);
    let moving = "keyframes = [[0, [0.4, 0.4, 0.4]], [1, [0.8, 0.4, 0.4]]]";
    assert!(named(moving, "[0.4, 0.4, 0.4]").is_empty());
}
