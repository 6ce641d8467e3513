//! A step allocates nothing: every buffer is there from the start. What the thread pool needs to hand out work, a few
//! hundred bytes now and then, is let pass.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{advance, all, config};
use updraft::solver::{Advection, Config, Integrator, Params, Side, Smoke, Solver, Source};

/// Allocations of this size or more are counted.
const LARGE: usize = 1024;

static COUNTED: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: passes everything on to the system's allocator.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LARGE {
            COUNTED.fetch_add(1, Ordering::Relaxed);
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

#[test]
fn a_step_allocates_nothing_after_the_first() {
    let smoke = Smoke { buoyancy: 0.1, dissipation: 0.1, diffusion: 1e-4 };
    let params =
        Params { viscosity: 1e-4, conduction: 1e-4, friction: 0.1, smoke: [smoke; 3], ..Params::default() };
    let source = Source {
        center: [0.5, 0.2, 0.5],
        radius: 0.1,
        rate: [3.0, 2.0, 1.0, 100.0],
        velocity: Some([0.0, 1.0, 0.0]),
        start: 0.0,
        stop: f32::INFINITY,
    };
    let schemes = [
        Advection::SemiLagrangian,
        Advection::Monotone,
        Advection::MacCormack,
        Advection::Cubic,
        Advection::Conservative,
    ];
    for (advection, integrator) in
        schemes.into_iter().zip([Integrator::Projection, Integrator::Reflection].into_iter().cycle())
    {
        let config =
            Config { integrator, threads: 2, ..config([96, 40, 36], 0.02, all(Side::Closed), advection) };
        let mut solver = Solver::new(config, params.clone(), vec![source.clone()]).unwrap();
        advance(&mut solver, 0.02, 1);
        let before = COUNTED.load(Ordering::Relaxed);
        advance(&mut solver, 0.02, 5);
        assert_eq!(COUNTED.load(Ordering::Relaxed) - before, 0, "{advection:?} {integrator:?}");
    }
}
