//! A saved scene reads back as intended, and the rest of its text is unchanged.

use proptest::prelude::*;

use super::*;
use crate::look::{CameraProjection, Lens, Scattering, ToneMap};
use crate::scene::builtin;
use crate::solver::Ambient;

/// Returns `scene` written and read again.
fn again(scene: &Scene) -> Scene {
    parse(&scene.name, &scene.write(Path::new("")).unwrap(), &[], Path::new("")).unwrap()
}

fn read(text: &str) -> Scene {
    parse("s", text, &[], Path::new("")).unwrap()
}

#[test]
fn an_unchanged_scene_is_its_own_text() {
    for name in builtin::NAMES {
        let text = builtin::text(name).unwrap();
        assert_eq!(Scene::parse(name, text).unwrap().write(Path::new("")).unwrap(), text, "{name}");
    }
}

#[test]
fn lights_stay_when_something_else_changes() {
    let text = "[[light]] # rim\nspot = { position = [1, 2, 3], target = [0.5, 0.5, 0.5], angle = 30 }\n\
                color = \"#4080ff\"\nstrength = 3 # like noon\n";
    let mut scene = read(text);
    assert_eq!(scene.look.lights.len(), 1);
    scene.look.exposure = 0.5;
    assert_eq!(again(&scene), scene);
    assert!(scene.write(Path::new("")).unwrap().starts_with(text));
}

#[test]
fn comments_and_order_stay() {
    let text =
        "# A plume.\n\n[render]\nexposure = 0.5   # stops\noutline = false\n\n[fluid]\nvorticity = 0.3 # -\n";
    let mut scene = read(text);
    scene.look.exposure = -1.25;
    scene.params.cooling = 0.7;
    let want = "# A plume.\n\n[render]\nexposure = -1.25   # stops\noutline = false\n\n\
                [fluid]\nvorticity = 0.3 # -\ncooling = 0.7\n";
    assert_eq!(scene.write(Path::new("")).unwrap(), want);
}

#[test]
fn every_way_of_writing_tables_takes_a_change() {
    let texts = [
        "",
        "render.exposure = 1\nsmoke.red.color = \"#ff8800\"",
        "render = { medium = { extinction = 3 }, camera = { fov = 50 } }\nsmoke = { red = {} }",
        "[smoke.red]\ncolor = [0.1, 0.2, 0.3] # ash\n[render.medium]\n[[solid]]\nshape = { sphere = { radius = 0.1 } }",
        "solid = [{ shape = { sphere = { radius = 0.1 } }, color = \"#808080\" }]\n[render.light]\nsize = 2",
    ];
    for text in texts {
        let mut scene = read(text);
        scene.look.colors[0] = [0.25, 0.5, 1.0 / 3.0];
        scene.look.exposure = 0.1;
        scene.look.second_lobe = [0.3, 0.2];
        scene.look.sun_size = 7.0;
        scene.camera.target[1] += 0.1;
        scene.look.solids.iter_mut().for_each(|color| *color = [0.9, 0.1, 0.2]);
        scene.look.roughness.iter_mut().for_each(|roughness| *roughness = 0.3);
        assert_eq!(again(&scene), scene, "{text}");
    }
}

#[test]
fn a_number_has_the_digits_it_needs() {
    for (x, text) in [(0.1f32, "0.1"), (24.0, "24.0"), (-1.0 / 3.0, "-0.33333334"), (1e-5, "0.00001")] {
        assert_eq!(Value::from(number(x)).to_string(), text);
    }
}

/// Comments, inline tables, order and spacing are kept, and no override is saved.
#[test]
fn a_save_after_overrides_writes_only_the_changes() {
    let text = "# A plume.   \n\nfluid = { vorticity = 0.3, cooling = 0.1 }   # inline\n\n\
                [smoke.red]\ncolor = \"#ff8800\"\nbuoyancy=0.1# tight\n\n\
                [[source]] # below\nemit = { red = 4.0, heat = 60 }\nshape = { sphere = { center = [ 0.4, 0.2,0.4 ], radius = 0.1 } }\n\n\
                # The end.\n[domain]\nvoxel = 0.01\ncells = [ 96,\n  144, 96 ]\n";
    let overrides =
        ["fluid.vorticity=1", "domain.cells=[48, 72, 48]", "domain.voxel=0.02", "source.0.emit.red=9"];
    let overrides = overrides.map(str::to_owned);
    let load = || parse("s", text, &overrides, Path::new("")).unwrap();
    assert_eq!(load().write(Path::new("")).unwrap(), text, "nothing was changed");
    let mut scene = load();
    scene.params.cooling = 0.9;
    scene.params.smoke[0].buoyancy = 0.5;
    scene.look.exposure = 1.0;
    let want = text.replace("cooling = 0.1", "cooling = 0.9").replace("buoyancy=0.1#", "buoyancy=0.5#");
    let written = scene.write(Path::new("")).unwrap();
    assert_eq!(written, format!("{want}\n[render]\nexposure = 1.0\n"));
    // A value that was overridden and then changed in the window is a deliberate change.
    scene.params.vorticity = 0.7;
    assert!(scene.write(Path::new("")).unwrap().contains("vorticity = 0.7, cooling = 0.9"));
}

#[test]
fn ends_of_lines_and_the_byte_order_mark_stay() {
    let windows = "# A plume.\r\n[fluid]\r\nvorticity = 0.3 # -\r\ncooling = 0.1\r\n";
    let mixed = "# A plume.\n[fluid]\r\nvorticity = 0.3 # -\ncooling = 0.1\n\r\n# The end.\r\n";
    let marked = "\u{feff}[fluid]\ncooling = 0.1";
    for text in [windows, mixed, marked] {
        let mut scene = read(text);
        assert_eq!(scene.write(Path::new("")).unwrap(), text);
        scene.params.cooling = 0.9;
        assert_eq!(scene.write(Path::new("")).unwrap(), text.replace("0.1", "0.9"));
    }
}

#[test]
fn a_file_that_needs_its_overrides_can_be_saved() {
    let text = "[domain]\nvoxel = 0 # to be set\n[fluid]\ncooling = 0.1\n";
    let mut scene = parse("s", text, &["domain.voxel=0.02".into()], Path::new("")).unwrap();
    scene.params.cooling = 0.9;
    assert_eq!(scene.write(Path::new("")).unwrap(), text.replace("0.1", "0.9"));
}

#[test]
fn files_are_found_from_the_new_place() {
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(old.path().join("body.obj"), builtin::mesh("knot").unwrap()).unwrap();
    let text = "[[solid]]\nshape = { mesh = \"body.obj\" } # twisted\n\
                [[solid]]\nshape = { mesh = \"knot\" }\nposition = [0.2, 0.2, 0.2]\n";
    let scene = parse("s", text, &[], old.path()).unwrap();
    assert_eq!(scene.write(old.path()).unwrap(), text);
    let moved = scene.write(new.path()).unwrap();
    assert_eq!(parse("s", &moved, &[], new.path()).unwrap(), scene);
    assert!(moved.contains("# twisted") && moved.contains("\"knot\""), "{moved}");
}

#[test]
fn scenes_that_would_not_read_back_are_not_saved() {
    let mut scene = read("[time]\nstep = 0.01");
    scene.config.h = 0.03;
    let error = scene.write(Path::new("")).unwrap_err().to_string();
    assert!(error.contains("`s`") && error.contains("more has changed"), "{error}");
    let mut scene = read("[time]\nframe_rate = 24\nstep = 0.01");
    scene.time.step = Some(1.0);
    assert!(scene.write(Path::new("")).unwrap_err().to_string().contains("longer than a frame"));
    let mut scene = read("");
    scene.look.exposure = f32::NAN;
    assert!(scene.write(Path::new("")).is_err());
}

/// A change of a scene, given numbers between 0 and 1.
type Change = fn(&mut Scene, &[f32]);

const CHANGES: [Change; 40] = [
    |s, x| s.time.frame_rate = 1.0 + x[0],
    |s, x| s.time.step = s.time.step.map(|_| 0.01 + 0.1 * x[1]),
    |s, x| s.params.heat_buoyancy = -x[2],
    |s, x| s.params.cooling = x[3],
    |s, x| s.params.vorticity = 1e-5 * x[4],
    |s, x| s.params.friction = 1e3 * x[5],
    |s, x| s.params.viscosity = x[6],
    |s, x| s.params.conduction = 1e-3 + x[7],
    |s, x| s.params.ambient = if x[8] > 0.5 { Ambient::Mean } else { Ambient::Fixed(x[8]) },
    |s, x| s.params.smoke[0].buoyancy = x[9],
    |s, x| s.params.smoke[1].dissipation = -x[10],
    |s, x| s.params.smoke[2].diffusion = x[11],
    |s, x| s.look.colors = [three(x, 0), three(x, 3), three(x, 6)],
    |s, x| s.look.solids.iter_mut().for_each(|color| *color = three(x, 9)),
    |s, x| s.look.roughness.iter_mut().for_each(|roughness| *roughness = 0.05 + 0.9 * x[10]),
    |s, x| s.look.samples = 0.1 + x[12],
    |s, x| s.look.exposure = 40.0 * x[13] - 20.0,
    |s, x| s.look.background = [three(x, 1), three(x, 2)],
    |s, x| s.look.floor = (x[14] > 0.5).then(|| three(x, 4)),
    |s, _| s.look.outline ^= true,
    |s, x| s.look.extinction = 1e6 * x[15],
    |s, x| s.look.anisotropy = 1.9 * x[16] - 0.95,
    |s, x| s.look.scattering = [Scattering::Single, Scattering::Traced][usize::from(x[17] > 0.5)],
    |s, x| s.look.paths = 1 + (1e5 * x[18]) as u32,
    |s, x| s.look.noise = x[18],
    |s, _| s.look.denoise ^= true,
    |s, x| s.look.tone = [ToneMap::Aces, ToneMap::Plain][usize::from(x[2] > 0.5)],
    |s, x| (s.look.glow, s.look.glow_heat) = (x[0], 1.0 + x[1]),
    |s, x| s.look.fade = 0.5 * x[2],
    |s, x| s.look.second_lobe = [-0.9 * x[3], x[4]],
    |s, x| s.look.sun_direction = along(x),
    |s, x| s.look.sun_size = 90.0 * x[5],
    |s, x| (s.look.sun, s.look.sky, s.look.ground) = (three(x, 6), three(x, 7), three(x, 8)),
    |s, x| s.look.light_scale = 0.0625 + 0.9 * x[9],
    |s, x| s.size = [1 + (1e3 * x[10]) as u32, 480],
    |s, x| s.camera.position = [5.0 + x[11], x[12], -x[13]],
    |s, x| (s.camera.target, s.camera.up) = (three(x, 14), [0.1 * x[15], 1.0, 0.0]),
    |s, x| s.camera.fov = 1.0 + 169.0 * x[16],
    |s, x| s.camera.lens = Lens { aperture: x[4], focus: 5.0 * x[5], shutter: x[6] },
    |s, x| {
        s.camera.projection =
            [CameraProjection::Perspective, CameraProjection::Orthographic][usize::from(x[3] > 0.5)]
    },
];

fn three(x: &[f32], from: usize) -> [f32; 3] {
    [x[from], x[from + 1], x[from + 2]]
}

fn along(x: &[f32]) -> [f32; 3] {
    parameter::normalized([0.1 + x[3], x[4], -x[5]]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// From any scene, with any of its values changed.
    #[test]
    fn changes_survive_saving(
        name in proptest::sample::select(builtin::NAMES),
        bits in any::<u64>(),
        few in any::<u64>(),
        numbers in proptest::collection::vec(0.0f32..1.0, 19),
    ) {
        let mut scene = Scene::parse(name, builtin::text(name).unwrap()).unwrap();
        let chosen = CHANGES.iter().enumerate().filter(|(n, _)| (bits & few) >> n & 1 == 1);
        chosen.for_each(|(_, change)| change(&mut scene, &numbers));
        prop_assert_eq!(again(&scene), scene);
    }
}
