//! A step allocates nothing once all of its buffers have been used, including those that moving solids
//! refill. All allocations of the solver's threads are counted, to the last byte. Those of the calling
//! thread, which needs a block of the thread pool's queue now and then, are not.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{SCHEMES, advance, all, config};
use updraft::solver::{
    ActsOn, Advection, BoundaryCondition, BoundaryConditions, Config, Drive, Force, ForceField, Integrator,
    Mesh, Noise, Params, Projection, Region, Shape, Slip, Smoke, Solid, Solver, Source, TimeControl,
};

static COUNTED: AtomicUsize = AtomicUsize::new(0);

/// Size of the last counted allocation \[bytes\].
static LAST: AtomicUsize = AtomicUsize::new(0);

/// Number of the solver under test, from 1.
static SOLVER: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The solver whose thread this is; `None` for the calling thread, which is older than all solvers.
    static BORN_FOR: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Returns whether this thread works for the solver under test, not for a dropped one.
fn is_of_solver() -> bool {
    let now = SOLVER.load(Ordering::Relaxed);
    let born = BORN_FOR.get().unwrap_or(now);
    BORN_FOR.set(Some(born));
    born == now
}

struct Counting;

// SAFETY: passes everything on to the system's allocator.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_of_solver() {
            COUNTED.fetch_add(1, Ordering::Relaxed);
            LAST.store(layout.size(), Ordering::Relaxed);
        }
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns parameters with all effects at once, except solids.
fn params() -> Params {
    let smoke = Smoke { buoyancy: 0.1, dissipation: 0.1, diffusion: 1e-4 };
    Params { viscosity: 1e-4, conduction: 1e-4, friction: 0.1, smoke: [smoke; 3], ..Params::default() }
}

fn source() -> Source {
    Source {
        velocity: Some([0.0, 1.0, 0.0]),
        noise: Some(Noise { strength: 1.0, scale: 0.1, speed: 2.0, seed: 1 }),
        ..Source::new(Region::sphere([0.5, 0.2, 0.5], 0.1), [3.0, 2.0, 1.0, 100.0])
    }
}

fn forces() -> Vec<Force> {
    let center = [0.9, 0.4, 0.4];
    let pull = Force::new(ForceField::Point { center, radius: 0.4, falloff: 1, strength: 1.0 });
    let swirl = Force::new(ForceField::Vortex { center, axis: [0.0, 1.0, 0.0], radius: 0.2, strength: 1.0 });
    let breeze = Force::new(ForceField::Wind([1.0, 0.0, 0.0]));
    let within = Some(Region::sphere(center, 0.3));
    vec![
        Force { acts_on: ActsOn::Smoke, ..pull },
        swirl,
        Force { drive: Drive::Approach { rate: 1.0 }, within, ..breeze },
    ]
}

/// Makes a solid that crosses a cell in a step.
fn moving(shape: Shape) -> Solid {
    let keyframes = vec![(0.0, [0.5, 0.35, 0.4]), (1.0, [1.5, 0.45, 0.3])];
    Solid { keyframes, ..Solid::new(shape, [0.0; 3]) }
}

fn ball() -> Solid {
    Solid { slip: Slip::None, temperature: Some(50.0), ..moving(Shape::Sphere { radius: 0.12 }) }
}

/// Fails if a step after the first allocates.
fn check(name: &str, config: Config, solids: Vec<Solid>) {
    SOLVER.fetch_add(1, Ordering::Relaxed);
    let config = Config { time: TimeControl { cfl: 8.0, max_substeps: 1 }, ..config };
    let mut solver = Solver::new(config, params(), vec![source()]).unwrap();
    solver.set_forces(forces()).unwrap();
    solver.set_solids(solids).unwrap();
    advance(&mut solver, 0.03, 1);
    let before = COUNTED.load(Ordering::Relaxed);
    for step in 2..=12 {
        advance(&mut solver, 0.03, 1);
        let pushed = solver.solid_forces().len() + solver.solid_pressures().len();
        assert_eq!(pushed, 2 * solver.solids().len());
        let count = COUNTED.load(Ordering::Relaxed) - before;
        let last = LAST.load(Ordering::Relaxed);
        assert_eq!(count, 0, "{name}: allocations up to step {step}, the last of {last} bytes");
    }
}

/// There is only one test, because the allocations of all threads are counted.
#[test]
fn a_step_allocates_nothing_after_the_first() {
    let mixed: BoundaryConditions = [
        [BoundaryCondition::Open; 2],
        [BoundaryCondition::NoSlip([0.0; 3]), BoundaryCondition::Open],
        [BoundaryCondition::Periodic; 2],
    ];
    let knot = Mesh::load(Path::new("scenes/knot.obj")).unwrap();
    let knot = Solid { scale: 0.2, ..moving(Shape::Mesh(Arc::new(knot))) };
    let plate =
        Solid { rotation: Solid::turn([20.0, 0.0, 33.0]), ..moving(Shape::Box { size: [0.3, 0.01, 0.3] }) };
    for advection in SCHEMES {
        for integrator in [Integrator::Projection, Integrator::Reflection, Integrator::Trapezoid] {
            for (sides, solids) in [
                (all(BoundaryCondition::Closed), vec![]),
                (all(BoundaryCondition::Closed), vec![ball()]),
                (mixed, vec![ball(), plate.clone()]),
            ] {
                let config = Config { integrator, ..config([64, 28, 26], 0.03, sides, advection) };
                check(&format!("{advection:?} {integrator:?} {} solids", solids.len()), config, solids);
            }
        }
    }
    let closed = config([64, 28, 26], 0.03, all(BoundaryCondition::Closed), Advection::Cubic);
    check("a mesh", closed.clone(), vec![knot]);
    let sweeps = Projection::GaussSeidel { sweeps: 20 };
    check("Gauss–Seidel", Config { projection: sweeps, ..closed }, vec![ball()]);
}
