//! Changes everything all the time: parameters, sides, sources, forces and solids jump over their whole
//! range.
//!
//! For all input through the worker's interface, the fields of a solver stay finite and its energy bounded.
//! The smoke and heat in the box, outside of it and decayed are equal to those that sources emitted.

#[path = "common/chance.rs"]
mod chance;

use chance::Chance;
use updraft::grid::Dims;
use updraft::parameter;
use updraft::solver::{
    ActsOn, Advection, Ambient, BoundaryCondition, Config, Dab, Drive, Follow, Force, ForceField, Form,
    Inflow, Integrator, Params, Projection, Region, SCALAR_LIMIT, SPEED_LIMIT, Shape, Slip, Smoke, Solid,
    Solver, Source, StepStats, TraceOrder, Turbulence,
};
use updraft::worker::limits;

impl Chance {
    /// Draws a number from −1 to 1, often an end, a zero or a tiny one.
    fn unit(&mut self) -> f32 {
        match self.below(8) {
            0 => -1.0,
            1 => 1.0,
            2 => 0.0,
            3 => 1e-30,
            _ => (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0,
        }
    }

    /// Draws a number for the parameter at `path`, in or out of its range, or NaN. The limits correct it.
    fn any(&mut self, path: &str) -> f32 {
        let range = &parameter::of(path).hard;
        let (low, high) = (*range.start(), *range.end());
        match self.below(12) {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => -1e30,
            _ => low + (0.5 + 0.5 * self.unit()) * (high - low),
        }
    }

    fn vector(&mut self, by: f32) -> [f32; 3] {
        [0; 3].map(|_| by * self.unit())
    }

    fn inside(&mut self, extent: f32) -> [f32; 3] {
        [0; 3].map(|_| (0.5 + 0.6 * self.unit()) * extent)
    }
}

fn params(chance: &mut Chance) -> Params {
    let smoke = |chance: &mut Chance| Smoke {
        buoyancy: chance.any("smoke.red.buoyancy"),
        dissipation: chance.any("fluid.cooling"),
        diffusion: chance.any("fluid.viscosity"),
    };
    Params {
        heat_buoyancy: chance.any("fluid.heat_buoyancy"),
        cooling: chance.any("fluid.cooling"),
        vorticity: chance.any("fluid.vorticity"),
        friction: chance.any("fluid.friction"),
        viscosity: chance.any("fluid.viscosity"),
        conduction: chance.any("fluid.viscosity"),
        ambient: if chance.below(2) == 0 { Ambient::Mean } else { Ambient::Fixed(chance.any("brush.heat")) },
        smoke: [smoke(chance), smoke(chance), smoke(chance)],
        up: chance.vector(1.0),
        turbulence: Turbulence {
            strength: chance.any("turbulence.strength"),
            size: chance.any("turbulence.size"),
            octaves: chance.below(8) as u32,
            spectrum: chance.any("turbulence.spectrum"),
            stretch: chance.any("turbulence.stretch"),
            seed: chance.below(1000) as u32,
        },
    }
}

fn region(chance: &mut Chance, extent: f32) -> Region {
    let center = chance.inside(extent);
    let size = (0.02 + 0.3 * chance.unit().abs()) * extent;
    match chance.below(3) {
        0 => Region::sphere(center, size),
        1 => {
            let form = Form::Body(Shape::Box { size: [size, 2.0 * size, 0.5 * size] });
            Region { rotation: Solid::turn(chance.vector(180.0)), ..Region::new(form, center) }
        }
        _ => {
            let axis = [chance.unit(), 1.0, chance.unit()];
            Region::disc(center, size, axis, 0.05 * extent)
        }
    }
}

fn sources(chance: &mut Chance, extent: f32) -> Vec<Source> {
    (0..chance.below(4))
        .map(|_| {
            let (density, heat) = ("source.#.emit.red", "source.#.emit.heat");
            let rate = [chance.any(density), chance.any(density), chance.any(density), chance.any(heat)];
            let mut source = Source::new(region(chance, extent), rate);
            source.velocity =
                (chance.below(2) == 0).then(|| chance.vector(*parameter::of("source.#.velocity").hard.end()));
            source
        })
        .collect()
}

fn forces(chance: &mut Chance, extent: f32) -> Vec<Force> {
    (0..chance.below(4))
        .map(|_| {
            let radius = (0.02 + chance.unit().abs()) * extent;
            let field = match chance.below(3) {
                0 => ForceField::Wind(chance.vector(1e3)),
                1 => ForceField::Point {
                    center: chance.inside(extent),
                    radius,
                    falloff: chance.below(4) as u32,
                    strength: 1e3 * chance.unit(),
                },
                _ => ForceField::Vortex {
                    center: chance.inside(extent),
                    axis: [0.0, 0.6, 0.8],
                    radius,
                    strength: 1e3 * chance.unit(),
                },
            };
            let mut force = Force::new(field);
            force.acts_on = [ActsOn::Air, ActsOn::Smoke][chance.below(2)];
            if chance.below(2) == 0 {
                force.drive = Drive::Approach { rate: 1e3 * chance.unit().abs() };
            }
            force.within = (chance.below(2) == 0).then(|| region(chance, extent));
            force
        })
        .collect()
}

fn solids(chance: &mut Chance, extent: f32) -> Vec<Solid> {
    (0..chance.below(3))
        .map(|_| {
            let size = (0.05 + 0.3 * chance.unit().abs()) * extent;
            let shape = match chance.below(3) {
                0 => Shape::Sphere { radius: size },
                1 => Shape::Box { size: [size, 0.5 * size, 2.0 * size] },
                _ => Shape::Cylinder { radius: 0.5 * size, height: size },
            };
            let mut solid = Solid::new(shape, chance.inside(extent));
            solid.spin = chance.vector(20.0);
            solid.slip = [Slip::Free, Slip::None][chance.below(2)];
            solid.temperature = (chance.below(2) == 0).then(|| chance.any("solid.#.temperature"));
            if chance.below(2) == 0 {
                solid.keyframes = (0..3).map(|n| (0.2 * n as f32, chance.inside(extent))).collect();
            }
            solid
        })
        .collect()
}

fn side(chance: &mut Chance, axis: usize) -> BoundaryCondition {
    match chance.below(4) {
        0 => BoundaryCondition::Closed,
        1 => BoundaryCondition::Open,
        2 => {
            let mut velocity = chance.vector(50.0);
            velocity[axis] = 0.0;
            BoundaryCondition::NoSlip(velocity)
        }
        _ => {
            let scalars = [10.0 * chance.unit().abs(), 0.0, 1.0, 100.0 * chance.unit()];
            BoundaryCondition::Inflow(Inflow { velocity: chance.vector(50.0), scalars })
        }
    }
}

fn config(chance: &mut Chance, cells: usize) -> Config {
    let mut config = Config::new(Dims::new([cells; 3]).unwrap(), [0.001, 0.03, 1.0][chance.below(3)]);
    for axis in 0..3 {
        config.sides[axis] = match chance.below(4) {
            0 => [BoundaryCondition::Periodic; 2],
            _ => [side(chance, axis), side(chance, axis)],
        };
    }
    for (sides, held) in config.sides.iter().zip(&mut config.held) {
        for (side, held) in sides.iter().zip(held) {
            if matches!(side, BoundaryCondition::Closed | BoundaryCondition::NoSlip(_))
                && chance.below(3) == 0
            {
                *held = Some(100.0 * chance.unit());
            }
        }
    }
    // More air may enter than leaves, which no incompressible flow allows.
    if config.problem().is_some() {
        (config.sides[0], config.held[0]) = ([BoundaryCondition::Open; 2], [None; 2]);
    }
    config.advection = Advection::ALL[chance.below(6)];
    config.integrator =
        [Integrator::Projection, Integrator::Reflection, Integrator::Trapezoid][chance.below(3)];
    config.trace = [TraceOrder::Second, TraceOrder::Third][chance.below(2)];
    config.projection = [Projection::Auto, Projection::Multigrid][chance.below(2)];
    config.time.max_substeps = 1 + chance.below(2) as u32;
    config.threads = 1 + chance.below(2);
    // A long run at 32³ has no time for finer smoke, the short one has.
    config.detail = [1, 1, 2, 3][chance.below(4)].min((48 / cells).max(1));
    let follows = config.sides.as_flattened().contains(&BoundaryCondition::Open) && chance.below(2) == 0;
    // The limit lets the box grow, and stops it in some runs.
    let limit = 4e-4 * (cells * config.detail).pow(3) as f32;
    config.follow = Follow { on: follows, margin: 4 + chance.below(12), limit, ..Follow::default() };
    config.follow.free = chance.below(2) == 0;
    config
}

/// Returns red, green, blue and heat that sources did not emit: those in the box, left and faded, less the
/// emitted, or `None` if the scheme does not measure them.
fn unaccounted(stats: &StepStats) -> Option<[f64; 4]> {
    let (left, faded) = (stats.left?, stats.faded?);
    let [red, green, blue] = stats.mass;
    let held = [red, green, blue, stats.heat];
    Some(std::array::from_fn(|c| held[c] + left[c] + faded[c] - stats.emitted[c]))
}

/// The most cells that air may cross in a substep for its smoke to be accounted for. Beyond it, single
/// precision does not resolve the place in a cell, and the flux through a side is not the loss of the cells.
const FASTEST: f32 = 1e4;

/// Returns whether a colour, or the heat, grows so fast that the limit of a value may cut some of it off,
/// which no statistics report.
fn outgrows(params: &Params, channel: usize, dt: f32) -> bool {
    let rate = params.smoke.get(channel).map_or(params.cooling, |smoke| smoke.dissipation);
    -rate * dt > 1.0
}

/// Returns the scales of rounding: the smoke and heat in the box, the amounts that moved, and those emitted.
fn gross(solver: &Solver) -> [f64; 4] {
    let (stats, volume) = (solver.stats(), f64::from(solver.config().smoke_h()).powi(3));
    let mut sums = [0.0; 4];
    for cell in solver.scalars() {
        (0..4).for_each(|c| sums[c] += f64::from(cell[c].abs()) * volume);
    }
    let [left, faded] = [stats.left, stats.faded].map(Option::unwrap_or_default);
    std::array::from_fn(|c| sums[c] + left[c].abs() + faded[c].abs() + stats.emitted[c].abs())
}

/// Runs 100 steps at `cells`³ in each of `boxes`, with a new change each step. Each box has its own seed.
fn torture(boxes: std::ops::Range<u64>, cells: usize) {
    for number in boxes {
        let mut chance = Chance((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut done = 0;
        let config = config(&mut chance, cells);
        let (h, extent) = (config.h, config.h * cells as f32);
        let mut solver = Solver::new(config.clone(), Params::default(), Vec::new()).unwrap();
        let mut dt = 0.04;
        for _ in 0..100 {
            let before = (unaccounted(solver.stats()), gross(&solver));
            let mut is_touched = config.follow.on || !solver.solids().is_empty();
            match chance.below(7) {
                0 => solver.set_params(limits::params(&params(&mut chance), solver.params())).unwrap(),
                1 => limits::sources(sources(&mut chance, extent))
                    .map_or((), |list| solver.set_sources(list).unwrap()),
                2 => limits::forces(forces(&mut chance, extent))
                    .map_or((), |list| solver.set_forces(list).unwrap()),
                3 => {
                    if let Ok(list) = limits::solids(solids(&mut chance, extent)) {
                        solver.set_solids(list).unwrap();
                    }
                    is_touched = true;
                }
                4 => dt = limits::step(chance.any("time.step"), dt),
                5 => {
                    is_touched = true;
                    let dab = Dab {
                        center: chance.inside(extent),
                        radius: 0.3 * extent,
                        add: [chance.any("brush.density"), 0.0, 1.0, chance.any("brush.heat")],
                        push: chance.vector(1e4),
                        erase: 0.0,
                    };
                    limits::dab(dab).iter().for_each(|dab| solver.dab(dab).unwrap());
                }
                _ => {}
            }
            done += 1;
            if let Err(error) = solver.step(dt) {
                panic!("box {number}, step {done}: {error}\n{config:?}\n{:?}", solver.params());
            }
            let stats = solver.stats();
            is_touched |= stats.cfl > FASTEST;
            if let ((Some(old), before), Some(new), false) = (before, unaccounted(stats), is_touched) {
                let after = gross(&solver);
                for c in (0..4).filter(|&c| !outgrows(solver.params(), c, dt)) {
                    let (lost, whole) = (new[c] - old[c], before[c] + after[c]);
                    assert!(
                        lost.abs() <= 1e-4 * whole,
                        "box {number}, step {done}: {lost:e} of {whole:e} appears in {c}: {stats:?}\n{config:?}\n{:?}\n{:?}",
                        solver.params(),
                        solver.sources()
                    );
                }
            }
            let volume = f64::from(h).powi(3) * solver.config().dims.cells() as f64;
            let most = 1.5 * f64::from(SPEED_LIMIT * h).powi(2) * volume;
            assert!(
                stats.kinetic_energy >= 0.0 && stats.kinetic_energy <= 2.0 * most,
                "box {number}, step {done}: {stats:?}"
            );
            let full = f64::from(SCALAR_LIMIT) * volume * 1.001;
            assert!(stats.mass.iter().all(|mass| mass.abs() <= full), "box {number}, step {done}: {stats:?}");
            let scalars = solver.scalars().as_flattened();
            assert!(
                scalars.iter().all(|x| x.is_finite()),
                "box {number}, step {done}: a scalar is not finite"
            );
            let faces = solver.velocity().iter().flatten();
            assert!(
                faces.into_iter().all(|x| x.is_finite()),
                "box {number}, step {done}: a velocity is not finite"
            );
        }
    }
}

#[test]
fn random_input_never_breaks_the_solver_in_one_box() {
    torture(0..1, 12);
}

/// Runs those of the first boxes that take seconds, since very fine smoke in fast air takes minutes.
#[test]
#[ignore = "takes a minute on a busy machine"]
fn random_input_never_breaks_the_solver() {
    std::thread::scope(|scope| {
        for number in [2, 3, 5, 6, 9, 10, 12, 13, 14, 21, 22] {
            scope.spawn(move || torture(number..number + 1, 12));
        }
    });
}

/// Runs 10,000 steps, in hours of processor time. `TORTURE_BOXES=20..40` runs the boxes with these numbers,
/// so that several processes share the work.
#[test]
#[ignore = "10,000 steps at 32³: by hand, see RELIABILITY.md"]
fn random_input_never_breaks_the_solver_in_a_long_run() {
    let boxes = match std::env::var("TORTURE_BOXES") {
        Ok(boxes) => {
            let (first, end) = boxes.split_once("..").expect("TORTURE_BOXES reads FIRST..END");
            first.parse().unwrap()..end.parse().unwrap()
        }
        Err(_) => 0..100,
    };
    for number in boxes {
        torture(number..number + 1, 32);
        println!("box {number}: 100 steps");
    }
}
