//! A box that follows its smoke, on several ranks.

use std::io::Cursor;
use std::sync::Arc;

use super::tests::*;
use crate::comm::{Comm, ThreadRanks};
use crate::solver::{
    BoundaryCondition, Config, Follow, Form, Integrator, Params, Region, Shape, Solid, Solver, Source,
    StepStats, Turbulence,
};

/// A box with a floor that is small for what rises in it and blows along z.
fn following(config: Config) -> Config {
    let follow = Follow { on: true, margin: 4, ..Follow::default() };
    let mut sides = [OPEN; 3];
    sides[1][0] = BoundaryCondition::Closed;
    Config { follow, ..Config { sides, ..config } }
}

/// A run of some steps from the state `from`. Returns its state, its statistics and the boxes that it has had.
type Found = (Vec<u8>, StepStats, Vec<([i32; 3], [usize; 3])>);

fn run(
    config: &Config,
    solids: &[Solid],
    steps: usize,
    from: Option<&[u8]>,
    comm: Option<Arc<dyn Comm>>,
) -> Found {
    let config = Config { threads: 1, ..config.clone() };
    let source = Region::new(Form::Body(Shape::Sphere { radius: 0.25 }), [0.8, 0.4, 0.9]);
    let sources =
        vec![Source { velocity: Some([0.5, 1.0, 3.0]), ..Source::new(source, [3.0, 0.0, 1.0, 300.0]) }];
    let turbulence = Turbulence { strength: 1.0, ..Turbulence::default() };
    let params = Params { turbulence, ..params() };
    let mut solver = Solver::on_ranks(config, params, sources, comm).unwrap();
    solver.set_solids(solids.to_vec()).unwrap();
    if let Some(from) = from {
        solver.load(Cursor::new(from)).unwrap();
    }
    let mut boxes = vec![(solver.config().origin, solver.config().dims.array())];
    for _ in 0..steps {
        solver.step(0.06).unwrap();
        boxes.push((solver.config().origin, solver.config().dims.array()));
    }
    boxes.dedup();
    let mut file = Cursor::new(Vec::new());
    solver.save(&mut file).unwrap();
    (file.into_inner(), StepStats { stages: Default::default(), ..solver.stats().clone() }, boxes)
}

fn on_ranks(config: &Config, solids: &[Solid], steps: usize, from: Option<&[u8]>, size: usize) -> Found {
    let mut found = ThreadRanks::run(size, |comm| run(config, solids, steps, from, Some(comm)));
    let file = together(found.iter_mut().map(|found| std::mem::take(&mut found.0)));
    let first = found.swap_remove(0);
    for other in found {
        assert_eq!((&other.1, &other.2), (&first.1, &first.2), "ranks know different things");
    }
    (file, first.1, first.2)
}

/// Asserts that a box that moves along z and grows has the bytes of one process on any number of ranks, also when it resumes.
fn check(name: &str, config: &Config, solids: &[Solid]) {
    let config = following(config.clone());
    let whole = run(&config, solids, 6, None, None);
    let ends: Vec<[i32; 2]> = whole.2.iter().map(|(first, n)| [first[2], first[2] + n[2] as i32]).collect();
    assert!(
        ends.len() > 1 && ends.windows(2).any(|pair| pair[0][1] < pair[1][1]),
        "{name}: it stays at {ends:?}"
    );
    let half = run(&config, solids, 3, None, None);
    assert!(half.2.len() > 1, "{name}: nothing has moved before the checkpoint");
    for size in [2, 3, 4] {
        let found = on_ranks(&config, solids, 6, None, size);
        assert_eq!((&found.1, &found.2), (&whole.1, &whole.2), "{name}, {size} ranks");
        assert!(found.0 == whole.0, "{name}: the state of {size} ranks differs from that of one");
        let resumed = on_ranks(&config, solids, 3, Some(&half.0), size);
        assert!(resumed.0 == whole.0, "{name}: {size} ranks go on in another way");
    }
}

#[test]
fn a_box_that_moves_has_the_bytes_of_one_process() {
    check("free sides", &scene([16, 16, 19], [OPEN; 3]), &[]);
    let config = Config { integrator: Integrator::Trapezoid, ..scene([16, 17, 21], [OPEN; 3]) };
    check("trapezoidal rule", &config, &[]);
}

#[test]
fn a_box_that_moves_with_finer_smoke_and_solids_has_the_bytes_of_one_process() {
    check("finer", &Config { detail: 2, ..scene([13, 15, 18], [OPEN; 3]) }, &[]);
    let keyframes = vec![(0.0, [0.8, 0.9, 0.6]), (0.3, [0.9, 1.0, 1.6])];
    let ball = Solid { keyframes, ..Solid::new(Shape::Sphere { radius: 0.2 }, [0.0; 3]) };
    check("moving ball", &scene([16, 16, 20], [OPEN; 3]), &[ball]);
}

#[test]
fn a_box_that_becomes_too_thin_for_its_ranks_ends_the_run_in_a_sentence() {
    // All of the box but its middle is empty.
    let config = following(scene([56, 40, 120], [OPEN; 3]));
    let found = ThreadRanks::run(20, |comm| {
        let config = Config { threads: 1, ..config.clone() };
        let source = Region::new(Form::Body(Shape::Sphere { radius: 0.2 }), [2.8, 0.4, 6.0]);
        let sources = vec![Source::new(source, [1.0, 0.0, 0.0, 0.0])];
        let mut solver = Solver::on_ranks(config, Params::default(), sources, Some(comm)).unwrap();
        solver.step(0.01).map(|_| ()).unwrap_err().to_string()
    });
    for text in found {
        assert!(text.contains("domain.follow") && text.contains("20 ranks"), "{text}");
    }
}
