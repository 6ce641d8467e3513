//! The memory of a box that follows its smoke, while it moves. The test has its own process, because all
//! allocations are counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use updraft::grid::Dims;
use updraft::solver::{
    BoundaryCondition, Config, Follow, Params, Region, Shape, Solid, Solver, Source, Turbulence,
};

/// Bytes in use, and the most since [`begin`].
static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Returns whether a block is a probe of the solver for available memory, which is never written to.
fn is_question(layout: Layout) -> bool {
    layout.align() == 1 && layout.size() >= 1 << 20
}

struct Counting;

// SAFETY: passes everything on to the system's allocator.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_question(layout) {
            let now = IN_USE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
            MOST.fetch_max(now, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if !is_question(layout) {
            IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Starts to count the peak. Returns the bytes in use.
fn begin() -> usize {
    let now = IN_USE.load(Ordering::Relaxed);
    MOST.store(now, Ordering::Relaxed);
    now
}

fn most_since(before: usize) -> usize {
    MOST.load(Ordering::Relaxed) - before
}

const LIMIT: usize = 32 << 20;

/// Memory beside the limit: scratch of threads, sources, and the lists of cells and faces at solids.
const REST: usize = 3 << 20;

/// Checks a plume in a box that grows to its limit.
fn check(name: &str, detail: usize, turbulence: f32, solids: Vec<Solid>) {
    let mut config = Config::new(Dims::new([32, 24, 32]).unwrap(), 0.05);
    config.sides = [[BoundaryCondition::Open; 2]; 3];
    config.sides[1][0] = BoundaryCondition::Closed;
    (config.threads, config.detail) = (2, detail);
    config.follow = Follow { on: true, limit: (LIMIT >> 20) as f32, ..Follow::default() };
    let turbulence = Turbulence { strength: turbulence, ..Turbulence::default() };
    let mut params = Params { cooling: 0.1, turbulence, ..Params::default() };
    params.smoke.iter_mut().for_each(|smoke| smoke.dissipation = 0.0);
    let region = Region::disc([0.8, 0.3, 0.8], 0.3, [0.0, 1.0, 0.0], 0.2);
    let source = Source { velocity: Some([0.0, 3.0, 0.0]), ..Source::new(region, [3.0, 1.0, 0.0, 400.0]) };
    let before = begin();
    let mut solver = Solver::new(config, params, vec![source]).unwrap();
    solver.set_solids(solids).unwrap();
    let (mut moves, mut cells) = (0, solver.config().dims);
    for _ in 0..300 {
        solver.step(0.04).unwrap();
        moves += usize::from(solver.config().dims != cells);
        cells = solver.config().dims;
        if solver.is_full() {
            break;
        }
    }
    let most = most_since(before);
    println!("{name}: {moves} moves to {cells:?}, {} KiB at most", most >> 10);
    assert!(solver.is_full() && moves > 0, "{name}: {moves} moves to {cells:?}");
    assert!(most < LIMIT + REST, "{name}: {} MiB", most >> 20);
}

/// Old fields were once kept while all new ones were made: 73 MiB with a limit of 64.
#[test]
fn a_box_that_grows_to_its_limit_never_takes_more() {
    let still = Solid::new(Shape::Sphere { radius: 0.2 }, [0.8, 1.1, 0.9]);
    check("a plume", 1, 0.0, vec![]);
    check("around a ball", 1, 0.0, vec![still]);
    check("finer smoke", 2, 0.0, vec![]);
    check("turbulence", 2, 1.0, vec![]);
}
