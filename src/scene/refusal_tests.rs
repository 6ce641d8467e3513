//! Invalid scenes: each is refused by one line that names the place and the remedy.

use super::tests::{error, load_error};
use super::*;

#[test]
fn an_error_has_line_column_key_and_advice() {
    let text = "[fluid]\ncooling = 0.1\nvorticty = 0.5\n";
    assert_eq!(error(text), "s.toml:3:1: unknown key `vorticty`; did you mean `vorticity`?");
    assert_eq!(
        error("[domain]\nvoxel = -0.01\n"),
        "s.toml:2:9: domain.voxel: -0.01 is out of range: 1e-6 to 1e6 [m]"
    );
    assert!(error("[domain]\nvoxel = \"1 cm\"\n").contains("s.toml:2:9: domain.voxel: invalid type: string"));
    assert!(error("[domain\nvoxel = 1\n").starts_with("s.toml:1:8: "));
    assert!(error("[solver]\nadvection = \"macormack\"").contains("unknown value `macormack`; did you mean"));
}

/// Each table may take milliseconds, and quadratic checks would take minutes.
#[test]
fn more_than_1024_tables_of_a_kind_are_refused() {
    let tables = [
        ("source", "emit = { red = 1 }\n"),
        ("force", "wind = { acceleration = [1, 0, 0] }\n"),
        ("solid", "shape = { sphere = { radius = 0.1 } }\n"),
        ("probe", "name = 'a'\nfields = ['u']\nat = { point = [0.1, 0.1, 0.1] }\n"),
        ("initial.smoke", "shape = { sphere = { center = [0.4, 0.4, 0.4], radius = 0.1 } }\nred = 1\n"),
    ];
    for (name, body) in tables {
        let message = error(&format!("[[{name}]]\n{body}").repeat(20_000));
        assert!(message.ends_with(&format!("{name}: there are 20000, and 1024 is the most")), "{message}");
        let line = 1 + 1024 * (1 + body.lines().count());
        assert!(message.starts_with(&format!("s.toml:{line}:1: ")), "{message}");
    }
    let sources = "[domain]\ncells = [6, 6, 6]\nvoxel = 0.1\n".to_owned() + &"[[source]]\n".repeat(1024);
    assert_eq!(Scene::parse("s.toml", &sources).unwrap().sources.len(), 1024);
}

#[test]
fn invalid_scenes_are_refused_at_their_line() {
    let cases = [
        ("[domain]\ncells = [0, 8, 8]", "s.toml:2:10: domain.cells: 0 is out of range: 1 to 65536"),
        ("[domain]\ncells = [8, 8]", "a list of 3 values is needed, this one has 2"),
        (
            "[[force]]\nwind = { acceleration = [1, 0, 0] }\nstop = 9223372036854775808",
            "s.toml:3:8: whole numbers are at most 9223372036854775807; write a larger one as 1e20",
        ),
        (
            "[[solid]]\nshape = { sphere = { radius = 0.1 } }\nkeyframes = [[0, [0.4, 0.4, 0.4], 5]]",
            "a list of 2 values is needed, this one has 3",
        ),
        (
            "[domain]\nfollow = true\n[solver]\nmemory_limit = 0.5",
            "domain.follow_limit: the box may grow to 4.0 GiB, over the limit of memory of 512 MiB; set it to 512 or less",
        ),
        ("[source]\nred = 1", "s.toml:1:1: source: there may be several, so write [[source]]"),
        ("[initial.smoke]\nred = 1", "initial.smoke: there may be several, so write [[initial.smoke]]"),
        (
            "[[solid]]\nshape = {}",
            "s.toml:2:9: solid.0.shape: it is exactly one of sphere, box, cylinder, mesh, and none are there",
        ),
        (
            "[[source]]\nshape = { sphere = { center = [0, 0, 0], radius = 1 }, text = {} }",
            "source.0.shape: it is exactly one of sphere, box, disc, mesh, text, image, volume, and several are there",
        ),
        ("[domain]\ncells = [8, 8, 8, 8]", "this one has 4"),
        ("[domain]\nvoxel = nan", "s.toml:2:9: domain.voxel: NaN is out of range"),
        ("[domain]\nvoxel = inf", "domain.voxel: inf is out of range"),
        ("[domain]\nwalls = { q = \"open\" }", "s.toml:2:11: unknown key `q`"),
        ("[domain]\nwalls = \"opn\"", "unknown value `opn`; did you mean `open`?"),
        ("[domain]\ncells = [65536, 65536, 65536]", "s.toml:2:9: domain.cells: "),
        ("[domain]\ncells = [512, 512, 512]\n[solver]\nmemory_limit = 0.5", "over the limit of 512 MiB"),
        (
            "[turbulence]\nstrength = 1",
            "s.toml:2:12: turbulence.strength: turbulence needs smoke on finer cells than the velocity's; set domain.detail",
        ),
        (
            "[domain]\ndetail = 2\n[solver]\nadvection = \"cubic\"\n[turbulence]\nstrength = 1",
            "s.toml:6:12: turbulence.strength: turbulence needs conservative advection",
        ),
        ("[turbulence]\nstretch = 1", "turbulence.stretch: 1 is out of range"),
        (
            "[domain]\nfollow = true\nwalls = 'closed'",
            "s.toml:2:10: domain.follow: no side is open, so none can follow",
        ),
        (
            "[domain]\nfollow = true\nfollow_limit = 9",
            "s.toml:3:16: domain.follow_limit: the box at the start needs",
        ),
        ("[domain]\nfollow_margin = 3", "domain.follow_margin: 3 is out of range: 4 to 512"),
        ("[time]\nmax_substeps = 0", "s.toml:2:16: time.max_substeps: 0 is out of range: 1 to 1000"),
        ("[time]\nframe_rate = 0", "time.frame_rate: 0 is out of range"),
        ("[time]\nstep = 1.0", "s.toml:2:8: time.step: 1 s is longer than a frame"),
        ("[time]\nstep = 0.01\ncfl = 1.0", "s.toml:3:7: time.cfl: a fixed time.step is never divided"),
        (
            "[[source]]\nshape = { sphere = { center = [5, 0, 0], radius = 0.1 } }",
            "s.toml:2:31: source.shape",
        ),
        (
            "[[source]]\nshape = { sphere = { center = [0.5, 0.5, 0.5], radius = -1 } }",
            "shape.sphere.radius: -1 is out of range: 1e-6 to 1e6 [m]",
        ),
        (
            "[[source]]\nshape = { sphere = { center = [0.5, 0.5, 0.5], radius = 0.002 } }",
            "s.toml:2:31: source.shape.sphere.center: the shape covers only 0.0",
        ),
        ("[[source]]\nshape = { sphere = { center = [0.5, 0.5, 0.5] } }", "missing field `radius`"),
        ("[[source]]\nshape = { ball = {} }", "unknown value `ball`; known here: sphere, box, disc"),
        ("[[source]]\nstart = 2\nstop = 1", "s.toml:3:8: source.stop: 1 s is before the start"),
        ("[render]\ncamera = { fov = 0 }", "render.camera.fov: 0 is out of range: 1 to 170 [degrees]"),
        ("[render]\ncamera = { position = [1, 1, 1], target = [1, 1, 1] }", "are both"),
        ("[render]\ncamera = { position = [0, 0, 3], target = [0, 0, 0], up = [0, 0, 1] }", "along the view"),
        (
            "[render]\ncamera = { keyframes = [{ time = 1, fov = 30 }, { time = 1, fov = 40 }] }",
            "s.toml:2:24: render.camera.keyframes: 1 s comes after 1 s; times must rise",
        ),
        (
            "[render]\ncamera = { target = [1, 1, 1], keyframes = [{ time = 1, position = [1, 1, 1] }] }",
            "render.camera.keyframes: at 1 s: position and target are both",
        ),
        (
            "[render.environment]\nfile = \"none.hdr\"",
            "s.toml:2:8: render.environment.file: cannot read none.hdr",
        ),
        ("[render.environment]\nstrength = -1", "render.environment.strength: -1 is out of range"),
        ("[[light]]\nstrength = 1", "s.toml:1:1: light: it is one of sun = { … }, point = { … }, spot"),
        ("[[light]]\nlamp = {}", "s.toml:2:1: unknown key `lamp`; known here: sun, point, spot, area"),
        (
            "[[light]]\nstrength = -1\npoint = { position = [0, 0, 0] }",
            "s.toml:2:12: light.0.strength: -1 is out of range: 0 to 1e6 [irradiance]",
        ),
        ("[[light]]\npoint = { position = [0, nan, 0] }", "light.0.point.position: NaN is out of range"),
        (
            "[[light]]\nspot = { position = [1, 1, 1], target = [1, 1, 1] }",
            "light.spot.target: it is at the position",
        ),
        (
            "[[light]]\nsun = { direction = [0, 0, 0] }",
            "s.toml:2:21: light.sun.direction: [0, 0, 0] has no direction",
        ),
        (
            "light = [{sun={direction=[1,0,0]}},{sun={direction=[1,0,0]}},{sun={direction=[1,0,0]}},\
             {sun={direction=[1,0,0]}},{sun={direction=[1,0,0]}},{sun={direction=[1,0,0]}},\
             {sun={direction=[1,0,0]}},{sun={direction=[1,0,0]}},{sun={direction=[1,0,0]}}]",
            "light: there are 9, and 8 is the most",
        ),
        ("[render]\nlight = { direction = [0, 0, 0] }", "has no direction"),
        ("[render]\nsize = [0, 10]", "0 is out of range: 1 to 16384 [px]"),
        ("[render]\nfloor = true", "give the floor a colour"),
        (
            "[domain]\nwalls = { x_min = 'periodic' }",
            "s.toml:2:9: domain.walls: x_min is periodic and x_max is not",
        ),
        (
            "[domain]\nwalls = { x = { no-slip = { velocity = [1, 0, 0] } } }",
            "x_min cannot move across itself",
        ),
        ("[domain]\nwalls = { x = { open = { temperature = 1 } } }", "unknown key `temperature`"),
        ("[domain]\nwalls = { x = { closed = { red = 1 } } }", "unknown key `red`; known here: temperature"),
        ("[domain]\nwalls = { x = 'inflow' }", "an inflow needs its velocity"),
        (
            "[domain]\nwalls = { x_min = { inflow = { velocity = ['q * t', 0, 0] } } }",
            "s.toml:2:45: domain.walls: x_min: `q * t`: unknown name `q`",
        ),
        (
            "[domain]\nwalls = { y = { no-slip = { velocity = [0, 't', 0] } } }",
            "y_min cannot move across itself",
        ),
        (
            "[domain]\nwalls = { y_min = { closed = { temperature = '1 / t' } } }",
            "y_min: the formula of temperature gives inf at [0.0, 0.0, 0.0] m and 0 s",
        ),
        ("[domain]\nwalls = { x_min = { inflow = { velocity = ['nan', 0, 0] } } }", "unknown name `nan`"),
        ("[domain]\nwalls = { x_min = { inflow = { velocity = ['1e30', 0, 0] } } }", "gives 1e30"),
        ("[fluid]\nambient = 'men'", "\"men\" is neither a number nor"),
        ("[fluid]\nambient = nan", "fluid.ambient: NaN is out of range"),
        ("[initial]\nfields = 'none.npz'", "s.toml:2:10: initial.fields: cannot read none.npz"),
        (
            "probe = [{ name = 'a', fields = ['u'], at = { point = [0, 0, 0] } }, { name = 'A', fields = ['u'], at = { point = [0, 0, 0] } }]",
            "probe.name: another probe is called `a`, and",
        ),
        (
            "[[probe]]\nname = 'a/b'\nfields = ['u']\nat = { point = [0, 0, 0] }",
            "s.toml:2:8: probe.name: `a/b`",
        ),
        (
            "[[probe]]\nname = 'a'\nfields = ['q']\nat = { point = [0, 0, 0] }",
            "unknown value `q`; known here: u, v, w",
        ),
        ("[[probe]]\nname = 'a'\nfields = []\nat = { point = [0, 0, 0] }", "name at least one field"),
        (
            "[[probe]]\nname = 'a'\nfields = ['u']\nat = { point = [9, 0, 0] }",
            "s.toml:4:6: probe.at: [9.0, 0.0, 0.0] is outside",
        ),
        ("[[probe]]\nname = 'a'\nfields = ['u']\nat = { plane = { x = 0, y = 0 } }", "one of them"),
        ("[[probe]]\nname = 'a'\nfields = ['u']\nat = { plane = { x = 9 } }", "misses the box"),
        (
            "[domain]\nfollow = true\nwalls = 'open'\n[[probe]]\nname = 'a'\nfields = ['u']\nat = { point = [9, -1, 0] }",
            "s.toml:7:6: probe.at: [9.0, -1.0, 0.0] is outside",
        ),
        (
            "[[probe]]\nname = 'a'\nfields = ['force']\nat = { solid = 0 }",
            "s.toml:4:6: probe.at: there is no solid 0; the scene has 0",
        ),
        (
            "[[probe]]\nname = 'a'\nfields = ['force']\nat = { point = [0, 0, 0] }",
            "s.toml:3:10: probe.fields: `force` acts on a solid",
        ),
        (
            "[[probe]]\nname = 'a'\nfields = ['flow']\nat = { point = [0, 0, 0] }",
            "s.toml:3:10: probe.fields: `flow` goes through a plane",
        ),
        (
            "[[probe]]\nname = 'a'\nfields = ['u', 'v*tempature']\nat = { point = [0, 0, 0] }",
            "unknown value `tempature`; did you mean `temperature`?",
        ),
        (
            "[[probe]]\nname = 'a'\nfields = ['heat_flux']\nat = { side = 'y_max' }",
            "s.toml:3:10: probe.fields: `heat_flux` comes from a wall that holds a temperature",
        ),
        (
            "[[probe]]\nname = 'a'\nfields = ['heat_flow']\nat = { side = 'y_max' }",
            "s.toml:3:10: probe.fields: `heat_flow` comes from a solid",
        ),
        (
            "[[probe]]\nname = 'a'\nfields = ['heat_flow']\nat = { solid = 0 }\n[[solid]]\nshape = { sphere = { radius = 0.1 } }",
            "s.toml:3:10: probe.fields: `heat_flow` comes from a solid that holds a temperature",
        ),
        (
            "[[probe]]\nname = 'a'\nfields = ['shear']\nat = { side = 'x_min' }",
            "s.toml:3:10: probe.fields: `shear` acts on a no-slip wall",
        ),
        (
            "[[probe]]\nname = 'a'\nfields = ['u']\nat = { box = { center = [9, 0, 0], size = [1, 1, 1] } }",
            "s.toml:4:6: probe.at: the box from",
        ),
        (
            "[solver]\nflow = 'frozen'\n[[probe]]\nname = 'a'\nfields = ['pressure']\nat = { point = [0, 0, 0] }",
            "s.toml:5:10: probe.fields: a frozen flow has no `pressure`",
        ),
        (
            "[[probe]]\nname = 'a'\nfields = ['u']\nat = { point = [0, 0, 0] }\nevery = { steps = 0 }",
            "s.toml:5:19: probe.0.every.steps: 0 is out of range",
        ),
        (
            "[[solid]]\nshape = { sphere = { radius = 0.1 } }\n[[probe]]\nname = 'a'\nfields = ['u']\nat = { solid = 0 }",
            "probe.fields: a solid has no `u`",
        ),
        ("[[solid]]\nposition = [0, 0, 0]", "missing field `shape`"),
        ("[[solid]]\nshape = { sphere = { radius = 0 } }", "s.toml:2:31: "),
        ("[[solid]]\nshape = { ball = { radius = 1 } }", "unknown value `ball`"),
        (
            "[[solid]]\nshape = { sphere = { radius = 0.1 } }\nposition = [9, 0, 0]",
            "s.toml:2:9: solid: it stays outside",
        ),
        (
            "[[solid]]\nshape = { sphere = { radius = 0.1 } }\nkeyframes = [[1, [0, 0, 0]], [1, [1, 0, 0]]]",
            "s.toml:3:13: solid.keyframes: 1 s comes after 1 s",
        ),
        (
            "[[solid]]\nshape = { mesh = 'gone.obj' }",
            "s.toml:2:18: solid.shape.mesh: cannot read the mesh gone.obj",
        ),
        (
            "[solver]\nprojection = 'direct'\n[[solid]]\nshape = { sphere = { radius = 0.1 } }",
            "s.toml:2:14: solver.projection: `direct` supports no solids",
        ),
        ("[solver]\nflow = 'still'", "unknown value `still`; known here: solved, frozen"),
        (
            "[solver]\nflow = 'frozen'\n[[solid]]\nshape = { sphere = { radius = 0.1 } }",
            "s.toml:2:8: solver.flow: a frozen flow ignores solids",
        ),
        (
            "[initial]\nu = 'sin(x) * sqr(y)'",
            "s.toml:2:15: initial.u: unknown function `sqr`; did you mean `sqrt`?",
        ),
        ("[initial]\nred = \"\"\"x +\"\"\"", "s.toml:2:13: initial.red: a value is missing at the end"),
        ("[initial]\nu = \"\\u0078 § y\"", "s.toml:2:5: initial.u: `§` means nothing"),
        (
            "[initial]\nu = [1]",
            "s.toml:2:5: initial.u: invalid type: sequence, expected a formula in x, y and z",
        ),
        ("[initial]\nu = 'a'\nlet = { a = '2 * b' }", "s.toml:3:18: initial.let.a: unknown name `b`"),
        ("[initial]\nlet = { x = 1 }", "s.toml:2:9: initial.let: `x` means something already"),
        ("[initial]\nlet = { 'a b' = 1 }", "initial.let: `a b` cannot be used in a formula"),
        (
            "[initial]\nv = 'ln(x - 0.1)'",
            "s.toml:2:5: initial.v: it is NaN at [0.015, 0.02, 0.015] m; it must lie within ±1e6",
        ),
        ("[initial]\nred = '7e4 * y'", "s.toml:2:7: initial.red: it is 6"),
        ("[smoke.red]\ncolor = [2, 0, 0]", "2 is out of range: 0 to 1"),
    ];
    for (text, wanted) in cases {
        let message = error(text);
        assert!(message.contains(wanted), "{text:?}\n gave {message}\n not {wanted}");
        assert!(!message.contains('\n'), "{message:?} is more than one line");
    }
}

#[test]
fn a_bad_override_names_itself() {
    let cases = [
        ("fluid.vorticty=1", "--set fluid.vorticty=1:1:7: unknown key `vorticty`; did you mean `vorticity`?"),
        (
            "fluid.vorticity=-1",
            "--set fluid.vorticity=-1:1:17: fluid.vorticity: -1 is out of range: 0 to 100 [1/s]",
        ),
        (
            "domain.walls.x_min.inflow.velocity=['t +', 0, 0]",
            "--set domain.walls.x_min.inflow.velocity=['t +', 0, 0]:1:41: domain.walls: x_min: `t +`: ",
        ),
        (
            "domain.walls.x_min.inflow.velocity=['1e30', 0, 0]",
            "--set domain.walls.x_min.inflow.velocity=['1e30', 0, 0]:1:37: domain.walls: x_min: the formula",
        ),
        ("fluid.vorticity", "an override is written key=value"),
        ("=3", "--set =3:1:1: "),
        (
            "source.5.emit.red=1",
            "`source` is a list of 1: `5` is not an index from 0 to 1, of which the last appends",
        ),
        ("source.x=1", "`x` is not an index"),
        ("fluid.cooling.x=1", "`cooling` is a value, not a table"),
        ("source.0.shape.sphere={ center = [9, 9, 9], radius = 0.1 }", "--set source.0"),
    ];
    for (set, wanted) in cases {
        let message = load_error("[fluid]\ncooling = 0.1\n[[source]]\n", &["time.frame_rate=30", set]);
        assert!(message.contains(wanted), "{set}\n gave {message}\n not {wanted}");
    }
}

#[test]
fn a_second_key_of_a_choice_is_marked_in_the_override_that_adds_it() {
    let text = "[[probe]]\nname = 'a'\nfields = ['u']\nat = { point = [0, 0, 0] }\n";
    let message = load_error(text, &["probe.0.at.solid=0"]);
    assert!(
        message.starts_with("--set probe.0.at.solid=0:1:12: probe.0.at: it is exactly one of"),
        "{message}"
    );
}

#[test]
fn an_error_of_the_file_stays_in_the_file_when_there_are_overrides() {
    let message = load_error("[fluid]\nvorticty = 1\n", &["domain.voxel=0.02", "fluid.cooling=1"]);
    assert!(message.starts_with("s.toml:2:1: "), "{message}");
}

/// A run that ends before that was once refused.
#[test]
fn a_formula_that_leaves_its_range_is_refused_for_runs_that_get_there() {
    let walls =
        "walls = { x_min = { inflow = { velocity = [1, 0, 0], red = 'sin(4 * t)' } }, x_max = 'open' }";
    let scene = Scene::parse("s.toml", &format!("[domain]\n{walls}\n")).unwrap();
    assert_eq!(scene.check_sides_until(0.3), Ok(()));
    let wrong = scene.check_sides_until(0.9).unwrap_err();
    assert!(wrong.starts_with("domain.walls: x_min: the formula of red gives -0.44"), "{wrong}");
    assert!(wrong.ends_with("and 0.9 s; it may be 0 to 10000"), "{wrong}");
}

/// The message once advised to make it larger.
#[test]
fn a_volume_outside_the_box_at_the_origin_is_refused_with_its_file() {
    use crate::vdb::{self, Grid, Topology, Values};
    let dir = tempfile::tempdir().unwrap();
    let topology = Topology::of_box([100, 0, 0], [4; 3], |_| true);
    let one = |_: [i32; 3]| 1.0;
    let grid = Grid::new("density", 0.1, &topology, Values::Scalar(&one)).encode();
    vdb::write(std::fs::File::create(dir.path().join("far.vdb")).unwrap(), &[], &[grid]).unwrap();
    let text = "[domain]\ncells = [8, 8, 8]\nvoxel = 0.1\n[[source]]\nemit = { red = 1 }\n\
                shape = { volume = { file = 'far.vdb', center = [0.4, 0.4, 0.4] } }\n";
    let path = dir.path().join("s.toml").display().to_string();
    std::fs::write(&path, text).unwrap();
    let error = Scene::load(&path, &[]).unwrap_err().to_string();
    let wanted = "its `density` fills 0.00 cells of the box, [0, 0, 0] to [0.8, 0.8, 0.8] metres, before it";
    assert!(error.contains("volume.file: "), "{error}");
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn impossible_initial_fields_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.toml").display().to_string();
    std::fs::write(&path, "[domain]\ncells = [2, 1, 1]\n[initial]\nfields = 'start.npz'\n").unwrap();
    let store = |name, value| {
        let file = std::fs::File::create(dir.path().join("start.npz")).unwrap();
        let array = crate::npz::Array { shape: [2, 1, 1], values: vec![value; 2] };
        crate::npz::write(file, &[("time", 3.0)], [(name, array)]).unwrap();
    };
    store("speed", 1.0);
    let error = Scene::load(&path, &[]).unwrap_err().to_string();
    assert!(error.contains("holds none of u, v, w, temperature"), "{error}");
    store("red", 1e5);
    let error = Scene::load(&path, &[]).unwrap().solver().err().unwrap().to_string();
    assert_eq!(error, "initial.fields: `red` is 100000 somewhere; it must lie within ±6e4 everywhere");
}

#[test]
fn lengths_in_messages_have_six_digits() {
    // 36 × 0.01 is 0.35999998 in single precision.
    let cases = [
        ("[[source]]\nshape = { sphere = { center = [9, 9, 9], radius = 1 } }", "to [0.24, 0.36, 0.24]"),
        (
            "[[solid]]\nshape = { sphere = { radius = 0.1 } }\nposition = [9, 9, 9]",
            "spans [0.24, 0.36, 0.24] m",
        ),
        ("[[probe]]\nname = \"p\"\nfields = [\"u\"]\nat = { point = [9, 9, 9] }", "to [0.24, 0.36, 0.24]"),
        ("[[probe]]\nname = \"p\"\nfields = [\"u\"]\nat = { plane = { y = 9 } }", "0.36 m long"),
    ];
    for (text, wanted) in cases {
        let error = error(&format!("[domain]\ncells = [24, 36, 24]\nvoxel = 0.01\n{text}\n"));
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

/// The open sides of a box that follows its smoke come to all that is at work, but none comes to initial smoke.
#[test]
fn a_box_that_follows_its_smoke_may_have_contents_outside_of_it() {
    let scene = |body: &str| {
        format!(
            "[domain]\ncells = [16, 16, 16]\nvoxel = 0.1\nfollow = true\n\
             walls = {{ x = 'open', y_max = 'open', z_max = 'open' }}\n{body}\n"
        )
    };
    let outside = |place: &str| {
        let ball = format!("{{ sphere = {{ center = {place}, radius = 0.2 }} }}");
        [
            format!("[[source]]\nshape = {ball}"),
            format!("[[force]]\nwind = {{ velocity = [1, 0, 0] }}\nwithin = {ball}"),
            format!("[[force]]\npoint = {{ center = {place}, radius = 0.2, acceleration = 1 }}"),
            format!("[[solid]]\nshape = {{ sphere = {{ radius = 0.2 }} }}\nposition = {place}"),
        ]
    };
    for place in ["[-3, 0.5, 0.5]", "[0.5, 9, 0.5]", "[4, 4, 4]"] {
        for body in outside(place) {
            let read = Scene::parse("s.toml", &scene(&body)).unwrap_or_else(|error| panic!("{error}"));
            assert!(read.buried_shapes().is_empty(), "{body}");
        }
    }
    for place in ["[0.5, 0.5, -0.5]", "[0.5, -1, 0.5]"] {
        for body in outside(place) {
            let error = error(&scene(&body));
            assert!(error.contains("outside the box"), "{body}: {error}");
        }
    }
    let fill = "[[initial.smoke]]\nshape = { sphere = { center = [-3, 0.5, 0.5], radius = 0.2 } }\nred = 1";
    assert!(
        error(&scene(fill)).contains("initial.smoke.shape.sphere.center: the shape lies outside the box")
    );
}

#[test]
fn invalid_shapes_and_forces_are_refused_at_their_line() {
    let source = |shape: &str| format!("[[source]]\nshape = {shape}\n");
    let force = |force: &str| format!("[[force]]\n{force}\n");
    let cases = [
        (
            source("{ box = { center = [9, 0, 0], size = [1, 1, 1] } }"),
            "s.toml:2:28: source.shape.box.center: the shape lies outside the box",
        ),
        (
            source("{ disc = { center = [0, -1, 0], radius = 1 } }"),
            "source.shape.disc.center: the shape lies outside",
        ),
        (
            source("{ disc = { center = [0.4, 0.4, 0.4], radius = 1, axis = [0, 0, 0] } }"),
            "source.shape.disc.axis: [0, 0, 0] has no direction",
        ),
        (
            source("{ mesh = { file = 'gone.obj', position = [0, 0, 0] } }"),
            "s.toml:2:27: source.shape.mesh.file: cannot read the mesh gone.obj",
        ),
        (
            source("{ image = { file = 'gone.png', center = [0, 0, 0], width = 1, depth = 1 } }"),
            "s.toml:2:28: source.shape.image.file: cannot read gone.png",
        ),
        (
            source("{ image = { file = 'Cargo.toml', center = [0, 0, 0], width = 1, depth = 1 } }"),
            "source.shape.image.file: cannot read Cargo.toml: ",
        ),
        (
            source("{ text = { string = 'a☃', center = [0.4, 0.4, 0.4], height = 0.1, depth = 0.1 } }"),
            "s.toml:2:29: source.shape.text.string: the font has no glyph for `☃` (U+2603)",
        ),
        (
            source("{ text = { string = ' ', center = [0.4, 0.4, 0.4], height = 0.1, depth = 0.1 } }"),
            "it is empty: no pixel is set",
        ),
        (
            source("{ text = { string = 'a', center = [7, 0.4, 0.4], height = 0.1, depth = 0.1 } }"),
            "source.shape.text.center: the shape lies outside the box",
        ),
        (
            source(
                "{ text = { string = 'a', center = [0.4, 0.4, 0.4], height = 0.1, depth = 0.1, font = 'gone.ttf' } }",
            ),
            "source.shape.text.font: cannot read gone.ttf",
        ),
        (
            source(
                "{ text = { string = 'a', center = [0.4, 0.4, 0.4], height = 0.1, depth = 0.1, font = 'Cargo.toml' } }",
            ),
            "source.shape.text.font: the font cannot be used",
        ),
        (source("{ box = { center = [0.4, 0.4, 0.4] } }"), "missing field `size`"),
        ("[[source]]\nnoise = { strength = 0.5 }\n".into(), "missing field `scale`"),
        (
            "[[source]]\nnoise = { scale = 1, strength = 2 }\n".into(),
            "source.0.noise.strength: 2 is out of range: 0 to 1",
        ),
        (force("start = 1"), "force: it is one of wind = { … }, point = { … } and vortex = { … }"),
        (force("wind = {}"), "s.toml:2:8: force.wind: give it an acceleration, or a velocity and a rate"),
        (force("wind = { acceleration = [1, 0, 0], rate = 2 }"), "a rate belongs to a velocity"),
        (
            force("vortex = { center = [0, 0, 0], radius = 1, speed = 1, acceleration = 1 }"),
            "force.vortex: give it an acceleration, or a speed and a rate",
        ),
        (
            force("vortex = { center = [0, 0, 0], radius = 1, speed = 1, axis = [0, 0, 0] }"),
            "has no direction",
        ),
        (
            force("point = { center = [9, 9, 9], radius = 1, acceleration = 1 }"),
            "force.point.center: its sphere lies outside the box",
        ),
        (
            force("wind = { velocity = [1, 0, 0] }\nstart = 2\nstop = 1"),
            "force.stop: 1 s is before the start",
        ),
        (
            force(
                "wind = { velocity = [1, 0, 0] }\nwithin = { sphere = { center = [9, 9, 9], radius = 1 } }",
            ),
            "force.within.sphere.center: the shape lies outside",
        ),
        (force("wnd = { velocity = [1, 0, 0] }"), "unknown key `wnd`; did you mean `wind`?"),
        (
            "[[initial.smoke]]\nshape = { sphere = { center = [0.4, 0.4, 0.4], radius = 0.1 } }\n".into(),
            "initial.smoke: it has no contents",
        ),
        ("[[initial.smoke]]\nred = 1\n".into(), "missing field `shape`"),
    ];
    for (text, wanted) in cases {
        let message = error(&text);
        assert!(message.contains(wanted), "{text:?}\n gave {message}\n not {wanted}");
        assert!(!message.contains('\n'), "{message:?} is more than one line");
    }
}

/// A line end in the name of a file once began another line of the message.
#[test]
fn a_line_end_in_a_name_is_escaped_in_messages() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("a\nb");
    let unreadable = folder.path().join("c\nd");
    std::fs::create_dir(&unreadable).unwrap();
    let faulty = folder.path().join("e\nf.toml");
    std::fs::write(&faulty, "[fluid]\nvorticity = 'much'\n").unwrap();
    for path in [missing, unreadable, faulty] {
        let message = Scene::load(&path.to_string_lossy(), &[]).unwrap_err().to_string();
        assert!(!message.contains('\n') && message.contains("\\u{a}"), "{message}");
    }
    let sound = folder.path().join("g\nh.toml");
    std::fs::write(&sound, "").unwrap();
    assert_eq!(Scene::load(&sound.to_string_lossy(), &[]).unwrap().name, "g\\u{a}h");
}
