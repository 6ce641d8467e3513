use std::io::Cursor;

use super::*;
use crate::comm::ThreadRanks;
use crate::grid::{Dims, Layout};
use crate::solver::{
    ActsOn, Advection, Ambient, BoundaryCondition, Drive, Force, ForceField, Form, Inflow, Integrator,
    Params, Projection, Region, Shape, Slip, Solid, Solver, Source, StepStats, TimeControl, TraceOrder,
    Turbulence,
};

pub(super) const CLOSED: [BoundaryCondition; 2] = [BoundaryCondition::Closed; 2];
pub(super) const OPEN: [BoundaryCondition; 2] = [BoundaryCondition::Open; 2];
pub(super) const PERIODIC: [BoundaryCondition; 2] = [BoundaryCondition::Periodic; 2];

pub(super) fn inflow(velocity: [f32; 3]) -> BoundaryCondition {
    BoundaryCondition::Inflow(Inflow { velocity, scalars: [0.2, 0.0, 0.1, 5.0] })
}

pub(super) fn params() -> Params {
    Params { vorticity: 2.0, friction: 0.1, ..Params::default() }
}

/// A box with a source across several slabs, and stirred air.
pub(super) fn scene(cells: [usize; 3], sides: [[BoundaryCondition; 2]; 3]) -> Config {
    Config { sides, ..Config::new(Dims::new(cells).unwrap(), 0.1) }
}

/// Results that all ranks have alike: statistics, the forces and torques on solids, their heat, and the heat and shear of sides.
type Known = (StepStats, [Vec<[f64; 3]>; 3], Vec<f64>, OfSides);

/// Heat and shear of sides.
type OfSides = (Option<[[f64; 2]; 3]>, Option<[[[f64; 3]; 2]; 3]>);

/// Runs `steps` steps on `size` ranks. Returns the planes of each field that each rank has computed, in order, and what it knows.
fn run(
    config: &Config,
    params: &Params,
    size: usize,
    steps: usize,
    prepare: &(impl Fn(&mut Solver) + Sync),
) -> Vec<(Vec<f32>, Known)> {
    let solve = |comm: Option<Arc<dyn Comm>>, threads: usize| {
        let config = Config { threads, ..config.clone() };
        let length = |axis: usize| 0.1 * config.dims.array()[axis] as f32;
        let middle = [0.5 * length(0), 0.2 * length(1), 0.45 * length(2)];
        let ball = Region::new(Form::Body(Shape::Sphere { radius: 0.3 * length(2).min(length(0)) }), middle);
        let other = Region::new(Form::Body(Shape::Sphere { radius: 0.25 }), [0.3, 0.5 * length(1), 0.15]);
        let sources = vec![
            Source::new(ball, [3.0, 0.0, 1.0, 400.0]),
            Source { velocity: Some([1.0, 0.5, 2.0]), ..Source::new(other, [0.0, 2.0, 0.0, -50.0]) },
        ];
        let mut solver = Solver::on_ranks(config, params.clone(), sources, comm).unwrap();
        prepare(&mut solver);
        for _ in 0..steps {
            solver.step(0.08).unwrap();
        }
        let own = solver.layout().own();
        let mut fields: Vec<f32> = Vec::new();
        for field in solver.velocity().iter().map(Vec::as_slice).chain(solver.pressure()) {
            fields.extend(&field[own.clone()]);
        }
        fields.extend(solver.scalars()[solver.smoke_layout().own()].as_flattened());
        let forces = [solver.solid_forces(), solver.solid_torques(), solver.solid_pressures()];
        let stats = StepStats { stages: Default::default(), ..solver.stats().clone() };
        let sides = (solver.side_heat(), solver.side_shear());
        (fields, (stats, forces, solver.solid_heat(), sides))
    };
    if size == 1 {
        return vec![solve(None, 2)];
    }
    ThreadRanks::run(size, |comm| solve(Some(comm), 1))
}

/// Asserts that ranks of any number have the bytes of one.
pub(super) fn check(name: &str, config: &Config, params: &Params, prepare: impl Fn(&mut Solver) + Sync) {
    let whole = &run(config, params, 1, 4, &prepare)[0];
    let stats = &whole.1.0;
    assert!(stats.max_speed > 0.1 && stats.mass[0] > 0.0, "{name}: nothing happens");
    let (air, smoke) = (Layout::new(config.dims), Layout::new(config.smoke_dims()));
    let of_air = (whole.0.len() - 4 * smoke.size()) / air.size();
    for size in [2, 3, 4] {
        for (rank, (fields, known)) in run(config, params, size, 4, &prepare).into_iter().enumerate() {
            let bounds = [config.dims.nz * rank / size, config.dims.nz * (rank + 1) / size];
            // Each field of one value, then the scalars of four.
            let (mut from, mut at) = (0, 0);
            for field in 0..=of_air {
                let (layout, values, finer) =
                    if field < of_air { (air, 1, 1) } else { (smoke, 4, config.detail) };
                let own = layout.slab(bounds.map(|k| k * finer)).own();
                let want = &whole.0[from + values * own.start..][..values * own.len()];
                let found = &fields[at..][..values * own.len()];
                let differs = found.iter().zip(want).position(|(a, b)| a.to_bits() != b.to_bits());
                if let Some(n) = differs {
                    let place = own.start + n / values;
                    let [x, y, z] =
                        [place % layout.row, place % layout.plane / layout.row, place / layout.plane]
                            .map(|i| i as isize - 2);
                    panic!(
                        "{name}: field {field} of rank {rank} of {size} ({bounds:?}) at {:?}: {} instead of {}",
                        [x, y, z],
                        found[n],
                        want[n]
                    );
                }
                from += values * layout.size();
                at += values * own.len();
            }
            assert_eq!(known, whole.1, "{name}, rank {rank} of {size}");
        }
    }
}

fn stirred(solver: &mut Solver) {
    solver.fill(
        |c, [x, y, z]| [(3.0 * y + 5.0 * z).sin(), (4.0 * z - x).cos(), 1.5 * (2.0 * x + 3.0 * y).sin()][c],
        |[x, y, z]| [0.3 * (x * y).sin().max(0.0), 0.0, (z - 1.0).max(0.0), 20.0 * x],
    );
}

#[test]
fn ranks_have_the_bytes_of_one_process_between_walls() {
    check("walls", &scene([21, 26, 19], [CLOSED; 3]), &params(), stirred);
    check("still", &scene([16, 24, 33], [CLOSED; 3]), &params(), |_| ());
}

#[test]
fn ranks_have_the_bytes_of_one_process_between_open_and_periodic_sides() {
    check("open", &scene([20, 18, 22], [OPEN; 3]), &params(), stirred);
    check("periodic", &scene([20, 18, 23], [PERIODIC; 3]), &params(), stirred);
    let lid = BoundaryCondition::NoSlip([0.7, 0.0, -0.4]);
    let mixed =
        [[inflow([1.0, 0.0, 0.3]), BoundaryCondition::Open], [lid, BoundaryCondition::Open], PERIODIC];
    check("mixed", &scene([20, 18, 21], mixed), &params(), stirred);
    let lid = BoundaryCondition::NoSlip([0.0, 0.7, -0.4]);
    let across = [[BoundaryCondition::Open, lid], OPEN, [BoundaryCondition::Open, inflow([0.0, 0.2, -0.8])]];
    check("across", &scene([20, 18, 21], across), &params(), stirred);
}

#[test]
fn every_scheme_and_integrator_has_the_bytes_of_one_process() {
    let sides =
        [[CLOSED, OPEN, PERIODIC], [OPEN, CLOSED, [BoundaryCondition::Open, BoundaryCondition::Closed]]];
    for (n, advection) in Advection::ALL.into_iter().enumerate() {
        for integrator in [Integrator::Projection, Integrator::Reflection, Integrator::Trapezoid] {
            let trace = if n % 2 == 0 { TraceOrder::Third } else { TraceOrder::Second };
            let config = Config { advection, integrator, trace, ..scene([14, 13, 18], sides[n % 2]) };
            check(&format!("{advection:?} {integrator:?}"), &config, &params(), stirred);
        }
    }
    for advection in [Advection::Conservative, Advection::MacCormack] {
        let config = Config { advection, frozen: true, ..scene([14, 13, 18], [CLOSED; 3]) };
        check(&format!("frozen, {advection:?}"), &config, &params(), stirred);
    }
}

#[test]
fn diffusion_forces_and_profiles_have_the_bytes_of_one_process() {
    let thick = Params {
        viscosity: 0.02,
        conduction: 0.01,
        smoke: params().smoke.map(|smoke| crate::solver::Smoke { diffusion: 0.005, buoyancy: 0.3, ..smoke }),
        ambient: Ambient::Mean,
        ..params()
    };
    let [lid, floor] = [[0.0, 0.7, -0.4], [0.7, -0.4, 0.0]].map(BoundaryCondition::NoSlip);
    for sides in [[CLOSED, OPEN, PERIODIC], [[lid; 2], CLOSED, [floor, BoundaryCondition::Open]]] {
        let config = Config { held: [[Some(3.0), None], [None; 2], [None; 2]], ..scene([14, 13, 18], sides) };
        check("thick", &config, &thick, |solver| {
            stirred(solver);
            let force = |field| Force::new(field);
            solver
                .set_forces(vec![
                    Force { acts_on: ActsOn::Smoke, ..force(ForceField::Wind([1.0, 0.0, 2.0])) },
                    force(ForceField::Vortex {
                        center: [0.5, 0.5, 0.9],
                        axis: [0.0, 0.0, 1.0],
                        radius: 0.4,
                        strength: 2.0,
                    }),
                ])
                .unwrap();
        });
    }
}

/// Smoke that decays from the instant on at which it enters, the mean temperature beside solids, and winds with a target in a region.
#[test]
fn decay_at_inflows_and_forces_with_a_target_have_the_bytes_of_one_process() {
    let params = Params {
        ambient: Ambient::Mean,
        cooling: 3.0,
        smoke: params().smoke.map(|smoke| crate::solver::Smoke { dissipation: 2.0, ..smoke }),
        ..params()
    };
    let prepare = |solver: &mut Solver| {
        stirred(solver);
        let drive = Drive::Approach { rate: 2.0 };
        let within = Some(Region::sphere([0.7, 0.6, 0.9], 0.6));
        let wind = Force { drive, ..Force::new(ForceField::Wind([1.0, 0.0, 2.0])) };
        solver.set_forces(vec![Force { within, ..wind.clone() }, Force { start: 0.1, ..wind }]).unwrap();
        solver.set_solids(still_solids()).unwrap();
    };
    let [low, high] = [inflow([3.0, 0.0, 0.3]), inflow([0.0, 0.2, -2.8])];
    let sides = [[low, BoundaryCondition::Open], PERIODIC, [BoundaryCondition::Open, high]];
    let schemes = [Advection::Conservative, Advection::Lagrange, Advection::MacCormack];
    for ((advection, integrator), detail) in schemes
        .into_iter()
        .zip([Integrator::Trapezoid, Integrator::Reflection, Integrator::Projection])
        .zip([1, 2, 1])
    {
        let time = TimeControl { cfl: 40.0, max_substeps: 1 };
        let config = Config { advection, integrator, detail, time, ..scene([16, 13, 18], sides) };
        check(&format!("{advection:?} {integrator:?}, detail {detail}"), &config, &params, prepare);
    }
}

#[test]
fn buoyancy_across_slabs_has_the_bytes_of_one_process() {
    let params = Params { up: [0.3, 0.0, 1.0], ..params() };
    for integrator in [Integrator::Projection, Integrator::Reflection, Integrator::Trapezoid] {
        for detail in [1, 2] {
            let config = Config { integrator, detail, ..scene([14, 13, 18], [CLOSED, OPEN, CLOSED]) };
            check(&format!("{integrator:?}, detail {detail}"), &config, &params, stirred);
        }
    }
}

#[test]
fn fast_air_and_thin_slabs_have_the_bytes_of_one_process() {
    for sides in [[CLOSED; 3], [CLOSED, OPEN, PERIODIC]] {
        let mut config = scene([11, 12, 16], sides);
        config.time = TimeControl { cfl: 40.0, max_substeps: 1 };
        check("fast", &config, &params(), |solver| {
            let wild =
                |c, [x, y, z]: [f32; 3]| [20.0 * y.sin(), 9.0 * (4.0 * z).cos(), 25.0 * (x + y).sin()][c];
            solver.fill(wild, |[_, y, z]| [y * z, 0.0, 0.0, 0.0]);
        });
    }
}

#[test]
fn a_box_around_strained_air_has_the_bytes_of_one_process() {
    for sides in [[CLOSED; 3], [CLOSED, OPEN, PERIODIC]] {
        let mut config = scene([80, 64, 72], sides);
        config.time = TimeControl { cfl: 40.0, max_substeps: 1 };
        let shaken = |solver: &mut Solver| {
            let shake = |c: usize, [x, y, z]: [f32; 3]| {
                let [x, y, z] = [x - 4.0, y - 3.2, z - 3.4];
                let strength = 3.0 * (-(x * x + y * y + z * z) / 0.3).exp();
                strength * [(8.0 * x).sin() * (8.0 * y).cos(), -(8.0 * x).cos() * (8.0 * y).sin(), 0.0][c]
            };
            solver.fill(shake, |[x, ..]| [x; 4]);
        };
        check("strained", &config, &params(), shaken);
        let mut solver = Solver::new(config, params(), vec![]).unwrap();
        shaken(&mut solver);
        solver.step(0.08).unwrap();
        assert!(solver.fields.sweeps.as_ref().unwrap().has_strained_box(), "{:?}", solver.stats());
    }
}

#[test]
fn iterative_projections_have_the_bytes_of_one_process() {
    let mixed = [CLOSED, OPEN, [BoundaryCondition::Open, BoundaryCondition::Closed]];
    for (n, sides) in [mixed, [CLOSED, OPEN, PERIODIC], [PERIODIC; 3]].into_iter().enumerate() {
        // Coarse grids of several sizes; odd numbers of cells around periodic axes have seams.
        for cells in [[15, 13, 17], [32, 30, 41 - n]] {
            let config = Config { projection: Projection::Multigrid, ..scene(cells, sides) };
            check(&format!("multigrid {cells:?} {n}"), &config, &params(), stirred);
        }
        let config =
            Config { projection: Projection::GaussSeidel { sweeps: 7 }, ..scene([15, 13, 17], sides) };
        check(&format!("sweeps {n}"), &config, &params(), stirred);
    }
}

/// A ball, a thin plate at an angle, a warm no-slip box across several slabs, and a spinning no-slip disc.
fn still_solids() -> Vec<Solid> {
    let ball = Solid::new(Shape::Sphere { radius: 0.31 }, [0.52, 0.9, 0.8]);
    let plate = Solid {
        rotation: Solid::turn([20.0, 0.0, 15.0]),
        ..Solid::new(Shape::Box { size: [1.1, 0.03, 1.3] }, [0.9, 1.35, 0.9])
    };
    let bar = Solid {
        slip: Slip::None,
        temperature: Some(40.0),
        ..Solid::new(Shape::Box { size: [0.23, 0.37, 1.21] }, [1.2, 0.5, 1.0])
    };
    let disc = Solid {
        spin: [0.0, 0.0, 3.0],
        slip: Slip::None,
        ..Solid::new(Shape::Sphere { radius: 0.22 }, [0.35, 0.35, 1.3])
    };
    vec![ball, plate, bar, disc]
}

/// A ball that crosses slabs, a spinning no-slip plank, and a turning mesh.
fn moving_solids() -> Vec<Solid> {
    let keyframes = vec![(0.0, [0.5, 0.9, 0.5]), (0.3, [0.8, 1.0, 1.2])];
    let ball = Solid { keyframes, ..Solid::new(Shape::Sphere { radius: 0.27 }, [0.0; 3]) };
    let plank = Solid {
        spin: [2.0, 1.0, 0.0],
        slip: Slip::None,
        temperature: Some(-20.0),
        ..Solid::new(Shape::Box { size: [0.2, 0.15, 0.9] }, [1.2, 0.5, 0.8])
    };
    let corners = vec![[0.0, 0.0, 0.0], [0.5, 0.0, 0.1], [0.1, 0.6, 0.0], [0.1, 0.1, 0.7]];
    let faces = vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
    let mesh = Shape::Mesh(crate::solver::Mesh::new(corners, faces).unwrap().into());
    let mesh = Solid { spin: [0.0, 3.0, 0.0], ..Solid::new(mesh, [0.4, 1.4, 1.0]) };
    vec![ball, plank, mesh]
}

fn among(solids: Vec<Solid>) -> impl Fn(&mut Solver) + Sync {
    move |solver| {
        stirred(solver);
        solver.set_solids(solids.clone()).unwrap();
    }
}

#[test]
fn solids_have_the_bytes_of_one_process() {
    let thick = Params { viscosity: 0.01, conduction: 0.01, ..params() };
    let sides = [CLOSED, [BoundaryCondition::Closed, BoundaryCondition::Open], PERIODIC];
    let config = scene([16, 19, 19], sides);
    check("thick air among solids", &config, &thick, among(still_solids()));
    check("thin air among moving solids", &config, &params(), among(moving_solids()));
}

#[test]
#[ignore = "a minute"]
fn still_solids_between_all_sides_have_the_bytes_of_one_process() {
    let thick = Params { viscosity: 0.01, conduction: 0.01, ..params() };
    let mixed = [CLOSED, [BoundaryCondition::Closed, BoundaryCondition::Open], OPEN];
    for (n, sides) in [[CLOSED; 3], mixed, [CLOSED, OPEN, PERIODIC], [PERIODIC; 3]].into_iter().enumerate() {
        let config = scene([16, 19, 18 + n], sides);
        check(&format!("thin air among solids, {n}"), &config, &params(), among(still_solids()));
        let config = Config { advection: Advection::MacCormack, ..config };
        check(&format!("thick air among solids, {n}"), &config, &thick, among(still_solids()));
    }
}

#[test]
#[ignore = "a minute"]
fn moving_solids_between_all_sides_have_the_bytes_of_one_process() {
    let thick = Params { viscosity: 0.01, conduction: 0.01, ..params() };
    let mixed = [OPEN, [BoundaryCondition::Closed, BoundaryCondition::Open], CLOSED];
    for (n, sides) in [[CLOSED; 3], mixed, [CLOSED, OPEN, PERIODIC], [PERIODIC; 3]].into_iter().enumerate() {
        let config = scene([16, 19, 18 + n], sides);
        check(&format!("thin air among moving solids, {n}"), &config, &params(), among(moving_solids()));
        let integrator = [Integrator::Trapezoid, Integrator::Reflection][n % 2];
        let config = Config { advection: Advection::ALL[n], integrator, ..config };
        check(&format!("thick air among moving solids, {n}"), &config, &thick, among(moving_solids()));
    }
}

#[test]
#[ignore = "a minute"]
fn fast_air_among_solids_has_the_bytes_of_one_process() {
    let mut config = scene([16, 19, 24], [CLOSED, OPEN, PERIODIC]);
    config.time = TimeControl { cfl: 40.0, max_substeps: 1 };
    for advection in [Advection::Conservative, Advection::Cubic] {
        for solids in [still_solids(), moving_solids()] {
            check("fast", &Config { advection, ..config.clone() }, &params(), |solver| {
                let wild =
                    |c, [x, y, z]: [f32; 3]| [12.0 * y.sin(), 9.0 * (4.0 * z).cos(), 15.0 * (x + y).sin()][c];
                solver.fill(wild, |[_, y, z]| [y * z, 0.0, 0.0, 0.0]);
                solver.set_solids(solids.clone()).unwrap();
            });
        }
    }
}

fn turbulent() -> Params {
    Params { turbulence: Turbulence { strength: 1.0, ..Turbulence::default() }, ..params() }
}

#[test]
fn finer_smoke_has_the_bytes_of_one_process() {
    let sides = [CLOSED, [BoundaryCondition::Closed, BoundaryCondition::Open], PERIODIC];
    let config = Config { detail: 2, ..scene([13, 16, 17], sides) };
    check("turbulence", &config, &turbulent(), stirred);
    check("turbulence among solids", &config, &turbulent(), among(moving_solids()));
}

#[test]
#[ignore = "a minute"]
fn finer_smoke_between_all_sides_has_the_bytes_of_one_process() {
    let thick = Params { viscosity: 0.01, conduction: 0.01, ..turbulent() };
    let mixed = [OPEN, [BoundaryCondition::Closed, BoundaryCondition::Open], CLOSED];
    for (n, sides) in [[CLOSED; 3], mixed, [CLOSED, OPEN, PERIODIC], [PERIODIC; 3]].into_iter().enumerate() {
        let config = Config { detail: 2 + n % 3, ..scene([13, 16, 16 + n], sides) };
        check(&format!("finer, {n}"), &config, &turbulent(), stirred);
        let config = Config { detail: 2 + n % 2, ..config };
        check(&format!("finer among solids, {n}"), &config, &thick, among(still_solids()));
        let integrator = [Integrator::Trapezoid, Integrator::Reflection][n % 2];
        let config = Config { integrator, detail: 2, ..config };
        check(&format!("finer among moving solids, {n}"), &config, &turbulent(), among(moving_solids()));
        let config = Config { advection: Advection::ALL[n], ..config };
        check(&format!("interpolated among moving solids, {n}"), &config, &params(), among(moving_solids()));
    }
}

#[test]
fn a_run_resumes_on_another_number_of_ranks() {
    for integrator in [Integrator::Projection, Integrator::Trapezoid] {
        let config = Config { integrator, ..scene([12, 13, 17], [OPEN, CLOSED, PERIODIC]) };
        resumes(&config, &[]);
        let walls = Config { sides: [OPEN, CLOSED, CLOSED], ..config };
        resumes(&walls, &moving_solids());
        resumes(&Config { detail: 2, ..walls }, &moving_solids());
    }
}

/// The file that several ranks have written, each its own parts: other bytes are 0.
pub(in crate::solver::step) fn together(parts: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut whole = Vec::new();
    for part in parts {
        whole.resize(whole.len().max(part.len()), 0);
        for (whole, byte) in whole.iter_mut().zip(part) {
            assert!(*whole == 0 || byte == 0, "two ranks write the same byte");
            *whole |= byte;
        }
    }
    whole
}

/// Asserts that a run of one rank goes on with three, and a run of two with one.
fn resumes(config: &Config, solids: &[Solid]) {
    let saved = |comm: Option<Arc<dyn Comm>>, from: Option<&[u8]>| {
        let config = Config { threads: 1, ..config.clone() };
        let source = Region::new(Form::Body(Shape::Sphere { radius: 0.3 }), [0.6, 0.3, 0.9]);
        let sources = vec![Source::new(source, [3.0, 0.0, 1.0, 400.0])];
        let params = Params { viscosity: 0.01, ..turbulent() };
        let mut solver = Solver::on_ranks(config, params, sources, comm).unwrap();
        solver.set_solids(solids.to_vec()).unwrap();
        if let Some(from) = from {
            solver.load(Cursor::new(from)).unwrap();
        }
        for _ in 0..3 {
            solver.step(0.06).unwrap();
        }
        let mut file = Cursor::new(Vec::new());
        solver.save(&mut file).unwrap();
        file.into_inner()
    };
    let on = |size: usize, from: Option<&[u8]>| {
        together(ThreadRanks::run(size, |comm| saved(Some(comm), from)).into_iter())
    };
    let one = saved(None, None);
    let two = on(2, None);
    assert!(one == two, "a state saved by two ranks differs from that of one");
    assert!(saved(None, Some(&two)) == on(3, Some(&one)), "three ranks go on in another way");
}

#[test]
fn a_box_too_thin_for_its_ranks_is_refused() {
    let comms = || ThreadRanks::new(2).swap_remove(0);
    let refusal = |config: Config| {
        let built = Solver::on_ranks(config, params(), vec![], Some(Arc::new(comms())));
        built.map(|_| ()).unwrap_err().to_string()
    };
    let thin = refusal(scene([8, 8, 7], [CLOSED; 3]));
    assert!(thin.contains("7 cells along z") && thin.contains("1 at most"), "{thin}");
}
