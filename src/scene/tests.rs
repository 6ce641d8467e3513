//! Behaviour of the scene reader.

use super::*;
use crate::probe::{Every, ProbePlace};
use crate::solver::{Advection, BoundaryCondition};

pub(super) fn error(text: &str) -> String {
    Scene::parse("s.toml", text).unwrap_err().to_string()
}

pub(super) fn load_error(text: &str, set: &[&str]) -> String {
    let overrides: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    Scene::parse_with("s.toml", text, &overrides).unwrap_err().to_string()
}

pub(super) fn with(text: &str, set: &[&str]) -> Scene {
    let overrides: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    Scene::parse_with("s.toml", text, &overrides).unwrap()
}

/// Returns the reference. It is read at run time, so that an edit of the page does not recompile the tests.
pub(super) fn reference() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scene.md")).unwrap()
}

/// Returns the TOML blocks of the reference.
fn documented() -> Vec<String> {
    reference().split("```").filter_map(|block| block.strip_prefix("toml\n")).map(String::from).collect()
}

#[test]
fn the_empty_file_is_a_plume() {
    let scene = Scene::parse("empty", "").unwrap();
    assert_eq!(scene.config.dims.array(), [96, 144, 96]);
    assert_eq!(scene.config.sides[1], [BoundaryCondition::Closed, BoundaryCondition::Open]);
    assert_eq!(scene.sources.len(), 1);
    assert!(scene.sources[0].rate[0] > 0.0 && scene.sources[0].rate[3] > 0.0);
    assert!(scene.solver().is_ok());
}

#[test]
fn forces_without_an_effect_are_named() {
    let wind = "force=[{ wind = { acceleration = [1, 0, 0] } }]";
    let told = |set: &[&str]| with("", set).idle_forces().concat();
    assert_eq!(told(&[wind]), "");
    assert!(told(&[wind, "solver.flow=frozen"]).contains("[[force]]: solver.flow is \"frozen\""));
    assert!(told(&["fluid.up=[0, 0, 0]"]).contains("fluid.up is 0"));
    assert_eq!(told(&["fluid.up=[0, 0, 0]", "fluid.heat_buoyancy=0"]), "");
}

#[test]
fn documented_defaults_are_the_defaults() {
    assert!(documented()[0].lines().count() > 60);
    let documented = Scene::parse("empty", &documented()[0]).unwrap();
    assert_eq!(documented, Scene::parse("empty", "").unwrap());
}

#[test]
fn documented_options_act() {
    let scene = Scene::parse("s", &documented()[2].replace("[initial]\nfields", "[initial]\n#")).unwrap();
    assert_eq!(scene.time.step, Some(0.01));
    assert_eq!(scene.config.time.max_substeps, 1);
    assert_eq!(scene.sources[0].velocity, Some([0.0, 0.4, 0.0]));
    assert_eq!(scene.camera.position, [1.5, 1.0, 3.0]);
    assert_eq!((scene.sources.len(), scene.forces.len(), scene.fills.len()), (4, 3, 1));
    assert_eq!(scene.probes.len(), 6);
    assert_eq!((scene.probes[4].every, scene.probes[4].mean_from), (Every::Seconds(0.1), Some(2.0)));
    assert_eq!(scene.probes[3].place, ProbePlace::Solid(0));
    assert_eq!(scene.probes[2].place, ProbePlace::Plane { axis: 1, at: 1.44 });
    assert!(error(&documented()[2]).contains("initial.fields: cannot read start.npz"));
    assert_eq!(Scene::parse("s", &documented()[3]).unwrap().side_formulas.len(), 2);
}

/// The camera passes its keyframes at their instants.
#[test]
fn a_camera_follows_its_keyframes() {
    let keys =
        "keyframes = [{ time = 0, position = [0, 1, 4] }, { time = 2, position = [4, 1, 0], fov = 50 }]";
    let scene = with(&format!("[render]\ncamera = {{ fov = 30, {keys} }}"), &[]);
    assert_eq!(scene.camera_at(0.0).position, [0.0, 1.0, 4.0]);
    assert_eq!(scene.camera_at(2.0).position, [4.0, 1.0, 0.0]);
    assert_eq!((scene.camera_at(1.0).fov, scene.camera_at(1.0).target), (50.0, scene.camera.target));
    assert!(with("", &[]).camera_path.is_empty());
}

/// Gives every table an unknown key, and checks the list of known keys in the error.
#[test]
fn every_key_is_declared() {
    use crate::parameter::{all, declared_path, find};
    let tables = "domain domain.walls domain.walls.x.closed domain.walls.x.no-slip domain.walls.x.inflow time fluid smoke \
                  smoke.red solver initial render render.background render.medium render.medium.second_lobe render.light \
                  render.camera source.0 source.0.emit source.0.noise source.0.shape.sphere source.0.shape.box \
                  source.0.shape.disc source.0.shape.mesh source.0.shape.text source.0.shape.image force.0 force.0.wind \
                  force.0.point force.0.vortex initial.smoke.0 solid.0 solid.0.shape.sphere solid.0.shape.box \
                  solid.0.shape.cylinder probe.0 probe.0.at.line probe.0.at.plane probe.0.at.box";
    for table in tables.split_whitespace() {
        // A fill without its shape fails first; with a shape the unknown key does.
        let scene = match table.split_once('.').map_or(table, |(head, _)| head) {
            "initial" if table != "initial" => "initial = { smoke = [{}] }",
            "solid" => "solid = [{}]",
            "probe" => "probe = [{}]",
            _ => "source = [{}]\nforce = [{}]",
        };
        let message = load_error(scene, &[&format!("{table}.\"?\"=1")]);
        let known = message.split("known here: ").nth(1).unwrap_or_else(|| panic!("{table}: {message}"));
        for key in known.split(", ") {
            let mut parts: Vec<&str> = table.split('.').chain([key]).collect();
            let declared = find(&declared_path(&parts)).is_some();
            parts.push("");
            let head = declared_path(&parts);
            assert!(declared || all().any(|p| p.path.starts_with(&head)), "{table}.{key} is not declared");
        }
    }
}

/// Numbers of [`crate::parameter`] are refused one step beyond their ranges, in a scene as in an override.
#[test]
fn a_number_beyond_the_hard_range_is_refused_with_the_range_and_the_unit() {
    let message = "fluid.vorticity: 150 is out of range: 0 to 100 [1/s]";
    assert_eq!(error("[fluid]\nvorticity = 150"), format!("s.toml:2:13: {message}"));
    let message = format!("--set fluid.vorticity=150:1:17: {message}");
    assert_eq!(load_error("", &["fluid.vorticity=150"]), message);
    let mut checked = 0;
    for parameter in crate::parameter::all().filter(|p| p.field().is_some()) {
        use crate::parameter::Kind;
        let beyond = 2.0 * f64::from(*parameter.hard.end()) + 1.0;
        let value = match parameter.kind {
            Kind::Number | Kind::NumberOr(_) | Kind::Whole => format!("{beyond}"),
            Kind::Vector | Kind::Direction | Kind::Color | Kind::ColorOrNone => format!("[0, {beyond}, 0]"),
            _ => continue,
        };
        let message = load_error("", &[&format!("{}={value}", parameter.path)]);
        assert!(message.contains(&parameter.range()) && message.contains(parameter.unit), "{message}");
        checked += 1;
    }
    assert!(checked > 40, "{checked}");
}

#[test]
fn every_number_acts() {
    let base = Scene::parse("s", "source = [{}]").unwrap();
    let changes = [
        "domain.cells=[64, 96, 64]",
        "domain.voxel=0.02",
        "domain.walls=open",
        "time.frame_rate=30",
        "time.cfl=1",
        "time.max_substeps=3",
        "time.step=0.01",
        "fluid.heat_buoyancy=0.5",
        "fluid.cooling=1",
        "fluid.vorticity=1",
        "fluid.friction=1",
        "fluid.viscosity=1",
        "fluid.conduction=1",
        "fluid.ambient=5",
        "fluid.ambient=mean",
        "smoke.red.diffusion=1",
        "domain.walls=no-slip",
        "domain.walls=periodic",
        "domain.walls.x_min={ closed = { temperature = 5 } }",
        "domain.walls.x_min={ no-slip = { velocity = [0, 1, 0], temperature = 5 } }",
        "domain.walls.x_min={ inflow = { velocity = [1, 0, 0], green = 1 } }",
        "render.medium.paths=8",
        "render.medium.fade=0.1",
        "render.medium.second_lobe={ anisotropy = -0.3, share = 0.2 }",
        "render.medium.glow_heat=50",
        "render.light.size=3",
        "render.medium.scattering=traced",
        "smoke.red.buoyancy=-1",
        "smoke.green.dissipation=1",
        "smoke.blue.color=#ffffff",
        "source.0.emit.green=2",
        "source.0.velocity=[1, 0, 0]",
        "source.0.start=1",
        "source.0.stop=2",
        "source.0.shape.sphere={ center=[0.3, 0.3, 0.3], radius=0.1 }",
        "source.0.shape.box={ center=[0.3, 0.3, 0.3], size=[0.1, 0.1, 0.1] }",
        "source.0.shape.disc={ center=[0.3, 0.3, 0.3], radius=0.1 }",
        "source.0.shape.text={ string='a', center=[0.3, 0.3, 0.3], height=0.1, depth=0.1 }",
        "source.0.noise={ scale=0.1 }",
        "force=[{ wind = { acceleration = [1, 0, 0] } }]",
        "initial.smoke=[{ shape = { sphere = { center=[0.3, 0.3, 0.3], radius=0.1 } }, red = 1 }]",
        "solver.advection=semi-lagrangian",
        "solver.threads=1",
        "solver.flow=frozen",
        "initial.u=sin(x)",
        "initial.red=0.5",
        "render.size=[320, 240]",
        "render.samples=2",
        "render.exposure=1",
        "render.outline=false",
        "render.floor=false",
        "render.background.top=#ffffff",
        "render.background.bottom=#ffffff",
        "render.medium.extinction=10",
        "render.medium.anisotropy=0",
        "render.medium.scattering=single",
        "render.medium.glow=1",
        "probe=[{ name = 'a', fields = ['u'], at = { plane = { x = 0.1 } } }]",
        "probe=[{ name = 'a', fields = ['u*red', 'pressure'], at = { box = { center = [0, 0, 0], size = [1, 1, 1] } }, \
         every = { seconds = 0.5 }, mean_from = 1 }]",
        "probe=[{ name = 'a', fields = ['u'], at = { side = 'x_min' }, every = { steps = 3 } }]",
        "render.light.direction=[0, 1, 0]",
        "render.light.sun=[1, 1, 1]",
        "render.light.sky=[1, 1, 1]",
        "render.light.ground=[1, 1, 1]",
        "render.light.resolution=1",
        "render.camera.position=[0, 0, 3]",
        "render.camera.target=[0, 0, 0]",
        "render.camera.up=[1, 0, 0]",
        "render.camera.fov=50",
        "render.camera.aperture=0.05",
        "render.camera.focus=2",
        "render.camera.shutter=0.5",
    ];
    for change in changes {
        assert_ne!(with("source = [{}]", &[change]), base, "{change} does nothing");
    }
}

#[test]
fn sides_are_read_with_their_values() {
    use crate::solver::Inflow;
    let scene = with(
        "[domain]\nwalls = { x = 'periodic', y_min = { no-slip = { temperature = 5 } }, y_max = \
         { no-slip = { velocity = [1, 0, 2] } }, z_min = { inflow = { velocity = [0, 0, 3], \
         blue = 0.5, temperature = 7 } } }",
        &[],
    );
    let inflow = Inflow { velocity: [0.0, 0.0, 3.0], scalars: [0.0, 0.0, 0.5, 7.0] };
    let expected = [
        [BoundaryCondition::Periodic; 2],
        [BoundaryCondition::NoSlip([0.0; 3]), BoundaryCondition::NoSlip([1.0, 0.0, 2.0])],
        [BoundaryCondition::Inflow(inflow), BoundaryCondition::Closed],
    ];
    assert_eq!(scene.config.sides, expected);
    assert_eq!(scene.config.held, [[None; 2], [Some(5.0), None], [None; 2]]);
}

#[test]
fn overrides_reach_every_kind_of_key() {
    let text = "[fluid]\nvorticity = 0.1\n[[source]]\n[[source]]\nemit = { red = 1 }\n";
    let scene = with(
        text,
        &[
            "fluid.vorticity=0.7",
            "domain.cells=[32, 32, 32]",
            "domain.walls.x_min=open",
            "solver.advection=semi-lagrangian",
            "smoke.red.color=#ff0000",
            "source.1.emit.red=3",
            "source.2.emit.blue=5",
            "fluid.vorticity = 0.8",
        ],
    );
    assert_eq!(scene.params.vorticity, 0.8, "the last override wins");
    assert_eq!(scene.config.dims.array(), [32; 3]);
    assert_eq!(scene.config.sides[0], [BoundaryCondition::Open, BoundaryCondition::Closed]);
    assert_eq!(scene.config.advection, Advection::SemiLagrangian);
    assert_eq!(scene.look.colors[0], [1.0, 0.0, 0.0]);
    assert_eq!(scene.sources.len(), 3);
    assert_eq!([scene.sources[1].rate[0], scene.sources[2].rate[2]], [3.0, 5.0]);
}

/// The word for all sides applies to those that are not set.
#[test]
fn one_side_can_be_set_where_a_word_stands_for_all() {
    let sides = |changes: &[&str]| with("[domain]\nwalls = 'no-slip'", changes).config.sides;
    let drags = BoundaryCondition::NoSlip([0.0; 3]);
    let wanted = [[drags; 2], [drags, BoundaryCondition::Open], [drags; 2]];
    assert_eq!(sides(&["domain.walls.y_max=open"]), wanted);
    assert_eq!(sides(&["domain.walls=closed", "domain.walls.y_max=open"])[1][1], BoundaryCondition::Open);
    let message = load_error("[domain]\nwalls = 'periodic'", &["domain.walls.y_max=open"]);
    assert!(message.contains("y_min is periodic and y_max is not"), "{message}");
}

/// A parabolic inflow grows with time; a wall is warmer towards one corner.
#[test]
fn sides_follow_formulas_of_place_and_time() {
    let text = "[domain]\ncells = [8, 6, 5]\nvoxel = 0.1\n\
        walls = { x_min = { inflow = { velocity = ['y * (0.6 - y) * t', 0, 0], red = 'z' } }, x_max = 'open', \
        y_max = { no-slip = { temperature = '10 * x * t', velocity = ['sin(t)', 0, 0.5] } } }";
    let mut solver = Scene::parse("s", text).unwrap().solver().unwrap();
    for _ in 0..4 {
        solver.step(0.25).unwrap();
    }
    let (layout, time) = (solver.layout(), solver.stats().time as f32);
    assert_eq!(time, 1.0);
    for (j, k) in [(0, 0), (2, 3), (5, 4)] {
        let (y, z) = (0.1 * (j as f32 + 0.5), 0.1 * (k as f32 + 0.5));
        let u = solver.velocity()[0][layout.at(0, j, k)];
        assert!((u - y * (0.6 - y)).abs() < 1e-6, "{u} at {y} m");
        assert!((solver.scalars()[layout.at(-1, j, k)][0] - z).abs() < 1e-6);
    }
    for i in [1, 6] {
        let wall = |field: Field, offset: f32| {
            let [inside, beyond] = [5, 6].map(|j| field.at(&solver, layout.at(i, j, 2)));
            (0.5 * (inside + beyond), 0.1 * (i as f32 + offset))
        };
        let (temperature, x) = wall(Field::Temperature, 0.5);
        assert!((temperature - 10.0 * x).abs() < 1e-4, "{temperature} K at {x} m");
        assert!((wall(Field::U, 0.0).0 - 1f32.sin()).abs() < 1e-5);
        assert!((wall(Field::W, 0.5).0 - 0.5).abs() < 1e-5);
    }
}

#[test]
fn the_text_is_the_scene_with_its_overrides() {
    let overrides = ["fluid.vorticity=0.7".to_owned(), "source.0.emit.green=2".into()];
    let scene = Scene::load("plume", &overrides).unwrap();
    assert_eq!(Scene::parse("plume", &scene.text().unwrap()).unwrap(), scene);
    assert_eq!(Scene::load("plume", &[]).unwrap().text().unwrap(), builtin::text("plume").unwrap());
}

#[test]
fn the_text_has_absolute_file_names() {
    let dir = tempfile::tempdir().unwrap();
    let array = crate::npz::Array { shape: [2, 1, 1], values: vec![0.5; 2] };
    let file = std::fs::File::create(dir.path().join("start.npz")).unwrap();
    crate::npz::write(file, &[], [("red", array)]).unwrap();
    let path = dir.path().join("s.toml").display().to_string();
    std::fs::write(&path, "[domain]\ncells = [2, 1, 1]\n[initial]\nfields = 'start.npz' # here\n").unwrap();
    let text = Scene::load(&path, &[]).unwrap().text().unwrap();
    let there = dir.path().canonicalize().unwrap().join("start.npz");
    assert!(text.contains(&format!("{} # here", toml::Value::from(there.display().to_string()))), "{text}");
    // File names in overrides are relative to the working directory.
    let from_here = "initial.fields=Cargo.toml";
    let text = scene_text::Text::new("s", "[initial]\n", &[from_here.into()]).merged().unwrap();
    assert!(text.contains(&std::env::current_dir().unwrap().display().to_string()), "{text}");
}

#[test]
fn an_override_begins_a_list_that_is_not_there() {
    let overrides = ["solid.0.shape.sphere.radius=0.1", "solid.1.shape.sphere.radius=0.2"].map(str::to_owned);
    let scene = Scene::parse_with("s", "", &overrides).unwrap();
    assert_eq!(scene.solids.len(), 2);
}

#[test]
fn a_missing_scene_lists_the_known_ones() {
    let message = Scene::load("plum", &[]).unwrap_err().to_string();
    let known = format!("built-in scenes are {}; did you mean `plume`?", builtin::NAMES.join(", "));
    assert!(message.contains(&known), "{message}");
}

#[test]
fn a_fixed_step_divides_the_frame() {
    let time = |step| Time { frame_rate: 25.0, step };
    assert_eq!(time(None).steps_per_frame(), (1, 0.04));
    assert_eq!(time(Some(0.01)).steps_per_frame(), (4, 0.01));
    assert_eq!(time(Some(0.011)).steps_per_frame(), (4, 0.01));
}

proptest::proptest! {
    /// Reading any text ends with a scene or an error.
    #[test]
    fn no_text_makes_the_reader_panic(text in "[\\[\\]a-z_=\\.\"{}0-9, \n#-]{0,80}", set in "[a-z0-9.=\\[\\]\"# -]{0,24}") {
        let _ = Scene::parse_with("s", &text, std::slice::from_ref(&set));
        let _ = Scene::parse_with("s", include_str!("../../scenes/plume.toml"), &[set]);
    }
}

/// Once each rank counted the whole box, so several ranks were refused every box that one process was refused.
#[test]
fn ranks_may_share_a_box_that_one_process_refuses() {
    let text = "[domain]\ncells = [512, 512, 512]\n[solver]\nmemory_limit = 4\n";
    let on = |ranks, here, renders| {
        let scene = Scene::parse_shared("s", text, &[], Share { ranks, here, renders });
        scene.map(drop).map_err(|error| error.to_string())
    };
    let refused = |ranks, here, renders, why: &str| {
        let error = on(ranks, here, renders).unwrap_err();
        assert!(error.contains(why) && !error.contains('\n'), "{error}");
    };
    refused(1, Some(1), false, "over the limit of 4.0 GiB; use fewer cells or raise solver.memory_limit");
    assert_eq!(on(4, Some(1), false), Ok(()));
    assert_eq!(on(4, None, false), Ok(()));
    refused(2, None, false, "on each of 2 ranks, over the limit of 4.0 GiB; use more ranks, fewer cells,");
    refused(
        4,
        Some(4),
        false,
        "for the 4 on this machine, over the limit of 4.0 GiB; use more ranks on more",
    );
    // Each rank of a rendering has the light volume of the whole box: 16 bytes for each eight cells.
    assert_eq!(on(16, Some(2), true), Ok(()));
    assert_eq!(on(32, Some(6), false), Ok(()));
    refused(32, Some(6), true, "beside the fields, with them");
}

#[test]
fn a_run_elsewhere_is_not_limited_by_this_machine() {
    let text = "[domain]\ncells = [1280, 1280, 1280]\n";
    assert!(Scene::parse_shared("s", text, &[], Share::elsewhere(64)).is_ok());
}

/// Probes beyond the box were once refused, although the box would follow the smoke there.
#[test]
fn probes_may_lie_where_a_box_follows_its_smoke_to() {
    let text = |at: &str| {
        format!(
            "[domain]\nfollow = true\nwalls = {{ x = 'open', y_max = 'open' }}\n[[probe]]\nname = 'a'\nfields = ['u']\nat = {at}"
        )
    };
    for at in [
        "{ point = [-9, 9, 0] }",
        "{ plane = { y = 9 } }",
        "{ line = { from = [0, 0, 0], to = [0, 9, 0], points = 3 } }",
        "{ box = { center = [9, 9, 0], size = [1, 1, 1] } }",
    ] {
        Scene::parse("s", &text(at)).unwrap_or_else(|error| panic!("{at}: {error}"));
    }
    for at in ["{ point = [0, -9, 0] }", "{ point = [0, 0, 9] }", "{ plane = { z = 9 } }"] {
        assert!(Scene::parse("s", &text(at)).is_err(), "{at}");
    }
}

/// Both ends of every range: the renderers take each look and camera of a scene.
#[test]
fn a_look_that_a_scene_accepts_is_valid() {
    use crate::parameter::{self, Holder, Value};
    let mut checked = 0;
    let mut check = |set: String| {
        let scene = Scene::parse_with("s", "", std::slice::from_ref(&set)).unwrap();
        assert_eq!((scene.look.problem(), scene.camera.problem()), (None, None), "{set}");
        checked += 1;
    };
    for parameter in parameter::all() {
        for end in [*parameter.hard.start(), *parameter.hard.end()] {
            match scene_look_value(parameter) {
                Some(Value::Triple(_)) => check(format!("{}=[{end:?}, {end:?}, {end:?}]", parameter.path)),
                Some(Value::Whole(_)) => check(format!("{}={end}", parameter.path)),
                Some(Value::Number(_)) => check(format!("{}={end:?}", parameter.path)),
                _ => {}
            }
        }
    }
    for key in ["fov", "aperture", "focus", "shutter"] {
        let path = format!("render.camera.{key}");
        let hard = &parameter::of(&path).hard;
        [hard.start(), hard.end()].into_iter().for_each(|end| check(format!("{path}={end:?}")));
    }
    // The camera sees a whole box of the largest cells.
    check("domain.voxel=1e6".into());
    assert!(checked > 50, "{checked}");

    fn scene_look_value(parameter: &parameter::Parameter) -> Option<Value> {
        crate::look::Look::default().value_of(parameter)
    }
}
