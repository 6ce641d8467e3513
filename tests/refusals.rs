//! Values that no flow can have are refused at the call that sets them, with a reason, and nothing changes.

use updraft::half;
use updraft::look::{Emitter, Light};
use updraft::render::{CpuRenderer, Cursor, Image, Mode, RenderError, Slice, View};
use updraft::solver::{Ambient, Dab, Drive, Fill, ForceField, Inflow, MOST_THREADS, Noise, Projection};
use updraft::{
    BoundaryCondition, Camera, Config, Dims, Force, Look, Params, Region, Snapshot, Solver, SolverError,
    Source,
};

const NO_NUMBERS: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];

/// A function that sets a value.
type Set<T> = fn(&mut T, f32);

fn config() -> Config {
    let mut config = Config { threads: 1, ..Config::new(Dims::new([8, 8, 8]).unwrap(), 0.05) };
    config.sides[1][1] = BoundaryCondition::Open;
    config
}

fn source() -> Source {
    let noise = Some(Noise { strength: 0.5, scale: 0.1, speed: 1.0, seed: 0 });
    let ball = Region::sphere([0.2, 0.1, 0.2], 0.08);
    Source { velocity: Some([0.0; 3]), noise, ..Source::new(ball, [5.0, 0.0, 0.0, 100.0]) }
}

fn build(config: Config, params: Params, source: Source) -> Result<Solver, SolverError> {
    Solver::new(config, params, vec![source])
}

fn is_invalid<T>(refused: Result<T, SolverError>, what: &str) {
    match refused.map(drop) {
        Err(SolverError::Invalid(reason)) => {
            let reason = reason.to_string();
            assert!(reason.contains(" must "), "{what}: {reason}");
        }
        other => panic!("{what}: {other:?}"),
    }
}

/// Values of the model, each with a finite value that is out of range, if there is one.
const MODEL: [(&str, Set<Params>, Option<f32>); 15] = [
    ("up", |p, x| p.up[2] = x, None),
    ("heat_buoyancy", |p, x| p.heat_buoyancy = x, None),
    ("cooling", |p, x| p.cooling = x, None),
    ("vorticity", |p, x| p.vorticity = x, None),
    ("friction", |p, x| p.friction = x, None),
    ("viscosity", |p, x| p.viscosity = x, Some(-1e-5)),
    ("conduction", |p, x| p.conduction = x, Some(-1e-5)),
    ("ambient", |p, x| p.ambient = Ambient::Fixed(x), None),
    ("buoyancy", |p, x| p.smoke[0].buoyancy = x, None),
    ("dissipation", |p, x| p.smoke[1].dissipation = x, None),
    ("diffusion", |p, x| p.smoke[2].diffusion = x, Some(-1e-5)),
    ("strength", |p, x| p.turbulence.strength = x, Some(-1.0)),
    ("size", |p, x| p.turbulence.size = x, Some(0.0)),
    ("spectrum", |p, x| p.turbulence.spectrum = x, Some(-1e6)),
    ("stretch", |p, x| p.turbulence.stretch = x, Some(0.0)),
];

#[test]
fn parameters_that_are_no_numbers_and_negative_diffusion_are_refused() {
    for (name, set, wrong) in MODEL {
        for x in NO_NUMBERS.into_iter().chain(wrong) {
            let mut params = Params::default();
            set(&mut params, x);
            is_invalid(build(config(), params.clone(), source()), &format!("{name} = {x}"));
            let mut solver = build(config(), Params::default(), source()).unwrap();
            is_invalid(solver.set_params(params), &format!("{name} = {x}"));
            assert_eq!(*solver.params(), Params::default(), "{name} = {x}");
        }
    }
}

#[test]
fn sources_that_are_no_numbers_are_refused() {
    let sources: [(&str, Set<Source>, &[f32]); 9] = [
        ("rate", |s, x| s.rate[3] = x, &NO_NUMBERS),
        ("velocity", |s, x| s.velocity = Some([0.0, x, 0.0]), &NO_NUMBERS),
        ("start", |s, x| s.start = x, &[f32::NAN]),
        ("stop", |s, x| s.stop = x, &[f32::NAN]),
        ("position", |s, x| s.region.position[1] = x, &NO_NUMBERS),
        ("scale", |s, x| s.region.scale = x, &[f32::NAN, 0.0, -1.0]),
        ("strength", |s, x| s.noise.as_mut().unwrap().strength = x, &[f32::NAN, 2.0, -1.0]),
        ("noise", |s, x| s.noise.as_mut().unwrap().scale = x, &[f32::NAN, 0.0, -1.0]),
        ("speed", |s, x| s.noise.as_mut().unwrap().speed = x, &[f32::NAN, f32::INFINITY, -1.0]),
    ];
    for (name, set, wrong) in sources {
        for &x in wrong {
            let mut bad = source();
            set(&mut bad, x);
            is_invalid(build(config(), Params::default(), bad.clone()), &format!("{name} = {x}"));
            let mut solver = build(config(), Params::default(), source()).unwrap();
            is_invalid(solver.set_sources(vec![source(), bad]), &format!("{name} = {x}"));
            assert_eq!(solver.sources(), [source()], "{name} = {x}");
        }
    }
}

#[test]
fn a_configuration_that_is_no_number_is_refused() {
    let configs: [(&str, Set<Config>, &[f32]); 9] = [
        ("tolerance", |c, x| c.tolerance = x, &[f32::NAN, f32::INFINITY, 0.0, -1.0]),
        ("cfl", |c, x| c.time.cfl = x, &[f32::NAN, f32::INFINITY, 0.0, -1.0]),
        ("max_substeps", |c, x| c.time.max_substeps = x as u32, &[0.0]),
        ("sweeps", |c, x| c.projection = Projection::GaussSeidel { sweeps: x as u32 }, &[0.0]),
        ("held", |c, x| c.held[0][0] = Some(x), &NO_NUMBERS),
        ("wall", |c, x| c.sides[0][0] = BoundaryCondition::NoSlip([0.0, x, 0.0]), &NO_NUMBERS),
        ("inflow", |c, x| c.sides[0][0] = inflow(x, 0.0), &NO_NUMBERS),
        ("contents", |c, x| c.sides[0][0] = inflow(1.0, x), &NO_NUMBERS),
        ("threshold", |c, x| c.follow.threshold = x, &[f32::NAN, f32::INFINITY, -1.0]),
    ];
    for (name, set, wrong) in configs {
        for &x in wrong {
            let mut bad = config();
            set(&mut bad, x);
            is_invalid(build(bad, Params::default(), source()), &format!("{name} = {x}"));
        }
    }
}

fn inflow(velocity: f32, smoke: f32) -> BoundaryCondition {
    BoundaryCondition::Inflow(Inflow { velocity: [velocity, 0.0, 0.0], scalars: [smoke; 4] })
}

#[test]
fn forces_that_no_air_can_feel_are_refused() {
    let wind = || Force::new(ForceField::Wind([1.0, 0.0, 0.0]));
    let point = |radius, falloff| ForceField::Point { center: [0.2; 3], radius, falloff, strength: 1.0 };
    let vortex = |axis| ForceField::Vortex { center: [0.2; 3], axis, radius: 0.1, strength: 1.0 };
    let within = |radius| Some(Region::sphere([0.2; 3], radius));
    let bad = [
        Force::new(ForceField::Wind([0.0, f32::NAN, 0.0])),
        Force::new(point(f32::INFINITY, 1)),
        Force::new(point(-1.0, 1)),
        Force::new(point(0.1, u32::MAX)),
        Force::new(vortex([0.0, 2.0, 0.0])),
        Force::new(vortex([0.0; 3])),
        Force { drive: Drive::Approach { rate: -1.0 }, ..wind() },
        Force { within: within(-1.0), ..wind() },
        Force { start: f32::NAN, ..wind() },
        Force { stop: f32::NAN, ..wind() },
    ];
    for force in bad {
        let mut solver = build(config(), Params::default(), source()).unwrap();
        solver.set_forces(vec![wind()]).unwrap();
        is_invalid(solver.set_forces(vec![force.clone()]), &format!("{force:?}"));
        assert_eq!(solver.forces(), [wind()], "{force:?}");
    }
}

#[test]
fn dabs_and_fills_that_are_no_numbers_are_refused_and_leave_no_trace() {
    let dab = Dab { center: [0.2; 3], radius: 0.1, add: [1.0; 4], push: [0.0; 3], erase: 0.0 };
    let dabs = [
        Dab { center: [0.2, f32::NAN, 0.2], ..dab },
        Dab { radius: f32::INFINITY, ..dab },
        Dab { radius: 0.0, ..dab },
        Dab { add: [f32::NAN, 0.0, 0.0, 0.0], ..dab },
        Dab { push: [0.0, f32::INFINITY, 0.0], ..dab },
        Dab { erase: f32::NAN, ..dab },
        Dab { erase: 2.0, ..dab },
    ];
    let fill = Fill {
        region: Region::sphere([0.2; 3], 0.1),
        scalars: [Some(1.0), None, None, None],
        velocity: None,
        noise: None,
    };
    let fills = [
        Fill { scalars: [None, None, None, Some(f32::NAN)], ..fill.clone() },
        Fill { velocity: Some([f32::INFINITY, 0.0, 0.0]), ..fill.clone() },
        Fill { region: Region::sphere([0.2; 3], f32::NAN), ..fill.clone() },
        Fill { noise: Some(Noise { strength: 0.5, scale: 0.0, speed: 0.0, seed: 0 }), ..fill.clone() },
    ];
    let mut solver = build(config(), Params::default(), source()).unwrap();
    for dab in &dabs {
        is_invalid(solver.dab(dab), &format!("{dab:?}"));
    }
    for bad in fills {
        is_invalid(solver.fill_regions(&[fill.clone(), bad.clone()]), &format!("{bad:?}"));
    }
    assert!(
        solver.scalars().as_flattened().iter().chain(solver.velocity().iter().flatten()).all(|x| *x == 0.0)
    );
    solver.dab(&dab).unwrap();
    solver.fill_regions(&[fill]).unwrap();
    assert!(solver.stats().mass[0] > 0.0);
}

#[test]
fn the_greatest_numbers_and_growth_are_values() {
    let growing = Params { cooling: -0.5, friction: -0.5, vorticity: -0.5, ..Params::default() };
    build(config(), growing, source()).unwrap().step(0.01).unwrap();
    let params = Params { viscosity: f32::MAX, conduction: f32::MAX, cooling: f32::MAX, ..Params::default() };
    let for_ever = Source { start: f32::NEG_INFINITY, stop: f32::INFINITY, ..source() };
    let mut config = Config { held: [[None; 2], [Some(-20.0), None], [None; 2]], ..config() };
    (config.time.cfl, config.follow.limit) = (f32::MAX, f32::INFINITY);
    build(config, params, for_ever).unwrap().step(0.01).unwrap();
}

/// Such a temperature was once ignored.
#[test]
fn a_temperature_held_by_a_side_that_is_no_wall_is_refused() {
    let periodic = [BoundaryCondition::Periodic; 2];
    for (axis, sides) in [
        (1, [BoundaryCondition::Closed, BoundaryCondition::Open]),
        (0, [BoundaryCondition::Closed, inflow(1.0, 0.0)]),
        (2, periodic),
    ] {
        let mut bad = config();
        (bad.sides[axis], bad.held[axis][1]) = (sides, Some(20.0));
        let refused = build(bad, Params::default(), source());
        let said = refused.as_ref().map(drop).map_err(ToString::to_string).unwrap_err();
        assert!(said.contains(["x_max", "y_max", "z_max"][axis]), "{said}");
        is_invalid(refused, "held");
    }
}

/// The system would take minutes to start so many threads, or refuse some of them.
#[test]
fn an_immense_number_of_threads_is_refused_before_any_is_started() {
    let began = std::time::Instant::now();
    for threads in [MOST_THREADS + 1, 100_000, usize::MAX] {
        is_invalid(build(Config { threads, ..config() }, Params::default(), source()), "threads");
    }
    assert!(began.elapsed().as_secs() < 5, "threads were started");
    // A given pool has its own number of threads.
    let pool = std::sync::Arc::new(updraft::rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap());
    Solver::with_pool(Config { threads: 100_000, ..config() }, Params::default(), vec![], pool).unwrap();
}

#[test]
fn an_empty_box_is_not_said_to_be_too_large() {
    let config = Config { dims: Dims { nx: 0, ny: 8, nz: 8 }, ..config() };
    let refused = build(config, Params::default(), source()).map(drop).unwrap_err().to_string();
    assert!(refused.contains("is empty") && !refused.contains("too many"), "{refused}");
}

/// Values of a camera, each with some that no picture can have.
const CAMERA: [(&str, Set<Camera>, &[f32]); 7] = [
    ("position", |c, x| c.position[1] = x, &NO_NUMBERS),
    ("target", |c, x| c.target[2] = x, &NO_NUMBERS),
    ("up", |c, x| c.up = [0.0, x, 0.0], &[f32::NAN, f32::INFINITY, 0.0]),
    ("field of view", |c, x| c.fov = x, &[f32::NAN, f32::INFINITY, 0.0, -30.0, 180.0]),
    ("aperture", |c, x| c.lens.aperture = x, &[f32::NAN, f32::INFINITY, -0.1]),
    ("focus", |c, x| c.lens.focus = x, &[f32::NAN, f32::INFINITY, -1.0]),
    ("shutter", |c, x| c.lens.shutter = x, &[f32::NAN, f32::INFINITY, -0.5, 1.5]),
];

/// Values of a look, each with some that no picture can have.
const LOOK: [(&str, Set<Look>, &[f32]); 25] = [
    ("colours", |l, x| l.colors[2][1] = x, &[f32::NAN, -0.1, 1.5]),
    ("colours of solids", |l, x| l.solids = vec![[x; 3]], &[f32::NAN, -0.1, 1.5]),
    ("roughness", |l, x| l.roughness = vec![0.5, x], &[f32::NAN, -0.1, 1.5]),
    ("extinction", |l, x| l.extinction = x, &[f32::NAN, f32::INFINITY, -40.0]),
    ("fade", |l, x| l.fade = x, &[f32::NAN, f32::INFINITY, -0.1]),
    ("anisotropy", |l, x| l.anisotropy = x, &[f32::NAN, 1.0, -2.0]),
    ("second lobe", |l, x| l.second_lobe[0] = x, &[f32::NAN, 1.0, -2.0]),
    ("second lobe", |l, x| l.second_lobe[1] = x, &[f32::NAN, 1.5, -0.1]),
    ("paths", |l, x| l.paths = x as u32, &[0.0]),
    ("noise", |l, x| l.noise = x, &[f32::NAN, f32::INFINITY, -0.1]),
    ("sun direction", |l, x| l.sun_direction = [x, 0.0, 0.0], &[f32::NAN, f32::INFINITY, 0.0]),
    ("sun size", |l, x| l.sun_size = x, &[f32::NAN, f32::INFINITY, -0.5]),
    ("sun", |l, x| l.sun[0] = x, &[f32::NAN, f32::INFINITY, -1.0]),
    ("sky", |l, x| l.sky[1] = x, &[f32::NAN, f32::INFINITY, -1.0]),
    ("ground", |l, x| l.ground[2] = x, &[f32::NAN, f32::INFINITY, -1.0]),
    ("environment", |l, x| l.environment.rotation = x, &NO_NUMBERS),
    ("environment", |l, x| l.environment.strength = x, &[f32::NAN, f32::INFINITY, -1.0]),
    ("glow", |l, x| l.glow = x, &[f32::NAN, f32::INFINITY, -1.0]),
    ("glow_heat", |l, x| l.glow_heat = x, &[f32::NAN, f32::INFINITY, 0.0]),
    ("exposure", |l, x| l.exposure = x, &[f32::NAN, f32::INFINITY, -1e3]),
    ("background", |l, x| l.background[1][0] = x, &[f32::NAN, f32::INFINITY, -1.0]),
    ("floor", |l, x| l.floor = Some([x; 3]), &[f32::NAN, f32::INFINITY, -0.1]),
    ("samples", |l, x| l.samples = x, &[f32::NAN, f32::INFINITY, 0.0, -1.0]),
    ("light scale", |l, x| l.light_scale = x, &[f32::NAN, f32::INFINITY, -0.5]),
    ("lights", |l, x| l.lights = vec![point(1.0); x as usize], &[9.0]),
];

/// Values of lights, each with some that no picture can have.
const LIGHTS: [(&str, Set<Light>, &[f32]); 12] = [
    ("colour", |l, x| l.color[0] = x, &[f32::NAN, f32::INFINITY, -1.0]),
    ("strength", |l, x| l.strength = x, &[f32::NAN, f32::INFINITY, -1.0]),
    ("radius", |l, x| *l = point(x), &[f32::NAN, f32::INFINITY, -0.1]),
    ("position", |l, x| l.emitter = Emitter::Point { position: [x; 3], radius: 0.1 }, &NO_NUMBERS),
    ("direction", |l, x| l.emitter = Emitter::Sun { direction: [x; 3], size: 1.0 }, &[f32::NAN, 0.0]),
    ("size", |l, x| l.emitter = Emitter::Sun { direction: [1.0; 3], size: x }, &[f32::NAN, -1.0]),
    ("angle", |l, x| l.emitter = spot(0.0, x, 0.2), &[f32::NAN, 0.0, -40.0, 360.0]),
    ("softness", |l, x| l.emitter = spot(0.0, 40.0, x), &[f32::NAN, -0.1, 1.5]),
    ("target", |l, x| l.emitter = spot(x, 40.0, 0.2), &NO_NUMBERS),
    ("target", |l, x| l.emitter = area([x; 3], 1.0), &NO_NUMBERS),
    ("size", |l, x| l.emitter = area([0.0; 3], x), &[f32::NAN, f32::INFINITY, -1.0]),
    ("radius", |l, x| l.emitter = Emitter::Point { position: [0.0; 3], radius: x }, &[f32::NAN, -1.0]),
];

fn point(radius: f32) -> Light {
    Light { emitter: Emitter::Point { position: [1.0; 3], radius }, color: [1.0; 3], strength: 1.0 }
}

fn spot(target: f32, angle: f32, softness: f32) -> Emitter {
    Emitter::Spot { position: [1.0; 3], target: [target; 3], angle, softness, radius: 0.1 }
}

fn area(target: [f32; 3], width: f32) -> Emitter {
    Emitter::Area { position: [1.0; 3], target, size: [width, 1.0] }
}

/// Renders on the CPU, without and with path tracing.
fn picture(
    snapshot: &Snapshot,
    look: &Look,
    camera: &Camera,
    mode: Mode,
    cursor: Option<Cursor>,
    size: [u32; 2],
) -> Result<Image, RenderError> {
    let mut cpu = CpuRenderer::new();
    let view = View { look, camera, cursor, mode };
    let linear = cpu.render_linear(snapshot, &view, size, &|_| ()).map(drop);
    let image = cpu.render(snapshot, &view, size, &|_| ());
    // The errors are compared as text, since NaN is not equal to itself.
    let said = [linear.err(), image.as_ref().err().cloned()].map(|error| format!("{error:?}"));
    assert_eq!(said[0], said[1], "both refuse alike");
    image
}

fn smoke() -> Snapshot {
    Snapshot::from_fn(Dims::new([4, 6, 4]).unwrap(), 0.1, |_| [1.0; 4])
}

/// Asserts that `change` of a view is refused with a sentence that names `what`.
fn is_refused(what: &str, change: impl FnOnce(&mut Look, &mut Camera)) {
    let (mut look, mut camera) = (Look::default(), Camera::framing(smoke().extent()));
    change(&mut look, &mut camera);
    match picture(&smoke(), &look, &camera, Mode::Smoke, None, [8, 6]) {
        Err(RenderError::Look(reason)) => {
            let said = reason.to_string();
            assert!(said.contains(what) && said.contains(" must "), "{what}: {said}");
        }
        other => panic!("{what}: {:?}", other.map(drop)),
    }
}

#[test]
fn looks_and_cameras_that_no_picture_can_have_are_refused() {
    for (what, set, wrong) in CAMERA {
        wrong.iter().for_each(|&x| is_refused(what, |_, camera| set(camera, x)));
    }
    for (what, set, wrong) in LOOK {
        wrong.iter().for_each(|&x| is_refused(what, |look, _| set(look, x)));
    }
    for (what, set, wrong) in LIGHTS {
        for &x in wrong {
            let mut light = point(0.1);
            set(&mut light, x);
            is_refused(what, |look, _| look.lights = vec![point(0.1), light]);
        }
    }
}

#[test]
fn cursors_and_slices_that_no_picture_can_have_are_refused() {
    let (look, camera) = (Look::default(), Camera::framing(smoke().extent()));
    let cursor = Cursor { center: [0.2; 3], radius: 0.1, color: [1.0; 3] };
    let slice = Slice::default();
    let views = [
        (Mode::Smoke, Some(Cursor { radius: -1.0, ..cursor })),
        (Mode::Smoke, Some(Cursor { center: [f32::NAN; 3], ..cursor })),
        (Mode::Slice(Slice { axis: 3, ..slice }), None),
        (Mode::Slice(Slice { position: f32::NAN, ..slice }), None),
        (Mode::Slice(Slice { range: Some([0.0, f32::INFINITY]), ..slice }), None),
    ];
    for (mode, cursor) in views {
        let refused = picture(&smoke(), &look, &camera, mode, cursor, [8, 6]);
        assert!(matches!(refused, Err(RenderError::Look(_))), "{mode:?}, {cursor:?}");
    }
    picture(&smoke(), &look, &camera, Mode::Slice(slice), Some(cursor), [8, 6]).unwrap();
}

#[test]
fn pictures_without_pixels_and_immense_ones_are_refused() {
    let (look, camera) = (Look::default(), Camera::framing(smoke().extent()));
    for size in [[0, 6], [8, 0], [0, 0], [1 << 20, 6], [u32::MAX; 2]] {
        let refused = picture(&smoke(), &look, &camera, Mode::Smoke, None, size);
        assert!(matches!(refused, Err(RenderError::Size(..))), "{size:?}");
    }
    picture(&smoke(), &look, &camera, Mode::Smoke, None, [1, 1]).unwrap();
}

#[test]
fn snapshots_that_no_picture_can_show_are_refused() {
    let snapshots: [(&str, Set<Snapshot>, &[f32]); 9] = [
        ("edge of a cell", |s, x| s.h = x, &[f32::NAN, f32::INFINITY, 0.0, -0.1]),
        ("empty", |s, _| s.dims.ny = 0, &[0.0]),
        ("smoke", |s, _| s.dims.nz = 5, &[0.0]),
        ("smoke", |s, x| s.smoke[7][3] = half::f16::from_f32(x), &NO_NUMBERS),
        ("velocity", |s, _| s.velocity = vec![[half::f16::ZERO; 4]; 3], &[0.0]),
        ("velocity", |s, x| s.velocity = vec![[half::f16::from_f32(x); 4]; 96], &[f32::NAN]),
        ("bricks", |s, _| s.bricks.max.clear(), &[0.0]),
        ("bricks", |s, _| s.bricks.dims.nx = 2, &[0.0]),
        ("start", |s, x| s.start[1][0] = x, &NO_NUMBERS),
    ];
    let (look, camera) = (Look::default(), Camera::framing(smoke().extent()));
    for (what, set, wrong) in snapshots {
        for &x in wrong {
            let mut snapshot = smoke();
            set(&mut snapshot, x);
            match picture(&snapshot, &look, &camera, Mode::Smoke, None, [8, 6]) {
                Err(RenderError::Snapshot(reason)) => {
                    let said = reason.to_string();
                    assert!(said.contains(what), "{what}: {said}");
                }
                other => panic!("{what} = {x}: {:?}", other.map(drop)),
            }
        }
    }
}
