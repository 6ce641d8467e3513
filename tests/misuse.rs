//! A program that uses the library gets a typed error, or the documented effect, for each call that makes no sense.

use std::io::Cursor;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use updraft::solver::{Dab, Force, ForceField, Solid, SolverError, StateError};
use updraft::worker::Status;
use updraft::{Command, Config, Dims, Params, Region, Solver, Source, Worker};

fn config(cells: [usize; 3]) -> Config {
    Config { threads: 2, ..Config::new(Dims::new(cells).unwrap(), 0.1) }
}

fn solver(config: Config) -> Solver {
    Solver::new(config, Params::default(), vec![]).unwrap()
}

/// The documented place of a cell, with any detail.
#[test]
fn an_edited_cell_of_finer_smoke_is_the_one_at_smoke_layout() {
    for detail in [1, 2, 3] {
        let mut solver = solver(Config { detail, ..config([6, 5, 4]) });
        let (layout, h) = (solver.smoke_layout(), f64::from(solver.config().smoke_h()));
        for cell in [[0, 0, 0], [5, 4, 3], [6 * detail - 1, 5 * detail - 1, 4 * detail - 1]] {
            solver.clear();
            let [i, j, k] = cell.map(|n| n as isize);
            solver.edit_scalars(|scalars| scalars[layout.at(i, j, k)] = [1.0; 4]).unwrap();
            let mass = solver.stats().mass[0];
            assert!((mass / h.powi(3) - 1.0).abs() < 1e-5, "detail {detail}, {cell:?}: {mass}");
        }
    }
}

/// Programs copy what they read: none of the pages shows smoke in the layout of the velocity.
#[test]
fn pages_and_examples_index_smoke_by_its_own_layout() {
    let pages = [
        include_str!("../src/lib.rs"),
        include_str!("../docs/book/embedding.md"),
        include_str!("../examples/embed.rs"),
        include_str!("../examples/custom.rs"),
    ];
    for page in pages {
        for line in page.lines().filter(|line| line.contains("scalars()[") || line.contains("layout =")) {
            assert!(!line.contains("solver.layout()"), "{line}");
        }
        assert!(page.contains("smoke_layout()"));
    }
}

/// Fails unless `done` is an error whose text has `part`.
#[track_caller]
fn refused<T, E: std::fmt::Display>(done: Result<T, E>, part: &str) {
    let error = done.map(drop).map_err(|error| error.to_string()).expect_err("it was accepted");
    assert!(error.contains(part), "{error}");
}

/// The status of a worker once `holds`.
fn status(worker: &mut Worker, woken: &mpsc::Receiver<()>, holds: impl Fn(&Status) -> bool) -> Status {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        worker.latest();
        let status = worker.status().clone();
        if holds(&status) {
            return status;
        }
        assert!(Instant::now() < end, "{status:?}");
        let _ = woken.recv_timeout(Duration::from_millis(50));
    }
}

#[test]
fn a_worker_says_what_it_refuses_and_keeps_what_was_there() {
    let ball = Source::new(Region::sphere([0.4; 3], 0.2), [1.0, 0.0, 0.0, 0.0]);
    let solid = Solid::new(updraft::solver::Shape::Sphere { radius: 0.1 }, [0.4; 3]);
    let mut first = solver(config([8; 3]));
    first.set_sources(vec![ball.clone()]).unwrap();
    first.set_solids(vec![solid.clone()]).unwrap();
    let (wake, woken) = mpsc::channel();
    let mut worker = Worker::spawn(first, 0.02, move || wake.send(()).unwrap_or_default());
    let nowhere = Source::new(Region::sphere([f32::NAN; 3], 0.1), [1.0; 4]);
    let back = Solid { keyframes: vec![(1.0, [0.4; 3]), (1.0, [0.5; 3])], ..solid };
    let dab = Dab { center: [f32::NAN; 3], radius: 0.1, add: [1.0; 4], push: [0.0; 3], erase: 0.0 };
    let wrong = [
        (Command::SetSources(vec![ball.clone(), nowhere]), "The old settings stay: a region's position"),
        (
            Command::SetForces(vec![Force::new(ForceField::Wind([f32::NAN; 3]))]),
            "The old settings stay: a force",
        ),
        (Command::SetSolids(vec![back]), "The solids stay as they are: a solid's keyframes"),
        (Command::Dab(dab), "Nothing is added: a dab's center"),
        (Command::Restore(77), "no state is stored under 77"),
    ];
    for (command, why) in wrong {
        worker.send(command);
        let told = status(&mut worker, &woken, |status| status.trouble.is_some());
        let trouble = told.trouble.unwrap();
        assert!(trouble.contains(why) && trouble.lines().count() == 1, "{trouble}");
        worker.send(Command::SetParams(Params::default()));
        status(&mut worker, &woken, |status| status.trouble.is_none());
    }
    worker.send(Command::Step);
    status(&mut worker, &woken, |status| status.simulated > 0.0);
    worker.latest();
    assert_eq!(worker.shown().solids.len(), 1);
    assert!(worker.shown().stats.emitted[0] > 0.0, "the source still works");
}

fn saved(solver: &mut Solver) -> Vec<u8> {
    let mut state = Cursor::new(vec![]);
    solver.save(&mut state).unwrap();
    state.into_inner()
}

#[test]
fn a_state_of_another_box_is_refused_before_anything_is_read() {
    let mut first = solver(config([8; 3]));
    first.fill(|_, _| 0.0, |_| [1.0; 4]);
    let state = saved(&mut first);
    for other in
        [Config { h: 0.2, ..config([8; 3]) }, Config { detail: 2, ..config([8; 3]) }, config([8, 8, 4])]
    {
        let mut other = solver(other);
        assert!(matches!(other.load(Cursor::new(&state)), Err(StateError::OtherConfig)));
        other.step(0.01).unwrap();
    }
    let mut threads = solver(Config { threads: 1, ..config([8; 3]) });
    threads.load(Cursor::new(&state)).unwrap();
}

#[test]
fn a_solver_stops_after_half_a_load_until_its_fields_are_whole() {
    let mut first = solver(config([8; 3]));
    first.fill(|_, _| 0.0, |_| [1.0; 4]);
    first.step(0.01).unwrap();
    let (state, captured) = (saved(&mut first), first.capture());
    let cures: [fn(&mut Solver, &[u8], &updraft::solver::State); 4] = [
        |solver, _, _| solver.clear(),
        |solver, _, _| solver.fill(|_, _| 0.0, |_| [0.0; 4]),
        |solver, state, _| solver.load(Cursor::new(state)).unwrap(),
        |solver, _, captured| solver.restore(captured).unwrap(),
    ];
    for cure in cures {
        let mut solver = solver(config([8; 3]));
        let cut = &state[..state.len() * 6 / 10];
        assert!(matches!(solver.load(Cursor::new(cut)), Err(StateError::Io(_))));
        assert_eq!(solver.step(0.01).map(drop), Err(SolverError::Incomplete));
        cure(&mut solver, &state, &captured);
        solver.step(0.01).unwrap();
    }
}

#[test]
fn a_damaged_state_is_refused_and_quoted_in_one_readable_line() {
    let mut first = solver(config([8; 3]));
    first.fill(|_, _| 0.0, |_| [1.0; 4]);
    let mut state = saved(&mut first);
    let ones = state.windows(16).position(|bytes| bytes == [[0, 0, 128, 63]; 4].as_flattened()).unwrap();
    // In the middle of the smoke, so that no ghost is hit.
    let at = ones + (12 * 12 * 6 + 12 * 6 + 6) * 16 / 4 * 4;
    state[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let mut damaged = solver(config([8; 3]));
    let error = damaged.load(Cursor::new(&state)).unwrap_err();
    assert!(matches!(error, StateError::NotFinite { .. }), "{error}");
    assert_eq!(damaged.step(0.01).map(drop), Err(SolverError::Incomplete));
    let error = damaged.load(Cursor::new(vec![255; 1000])).unwrap_err().to_string();
    assert!(error.len() < 500 && error.chars().all(|c| !c.is_control()), "{error}");
}

mod files {
    use super::*;
    use updraft::npz::{self, Array};
    use updraft::output::exr::{self, Extra};
    use updraft::output::vti;
    use updraft::output::whole::Existing;
    use updraft::render::LinearImage;
    use updraft::snapshot::Snapshot;
    use updraft::volume::{Frame, Up, VdbOptions, write_vdb_snapshot};

    #[test]
    fn pictures_whose_arrays_do_not_fill_them_are_refused_and_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.exr");
        let image = LinearImage { width: 3, height: 2, rgba: vec![[0.5; 4]; 6], depth: vec![1.0; 6] };
        let write = |image: &LinearImage, extra: &[Extra]| exr::write(&path, Existing::Replace, image, extra);
        let short = LinearImage { rgba: vec![[0.0; 4]; 2], ..image.clone() };
        refused(write(&short, &[]), "rgba has 2 values and needs 6");
        let flat = LinearImage { depth: vec![], ..image.clone() };
        refused(write(&flat, &[]), "depth has 0 values and needs 6");
        let extra = [Extra { name: "motion", channels: vec![("X", vec![0.0; 3])] }];
        refused(write(&image, &extra), "motion.X has 3 values and needs 6");
        let empty = LinearImage { width: 0, height: 0, rgba: vec![], depth: vec![] };
        refused(write(&empty, &[]), "needs 1");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn arrays_that_do_not_fill_their_shape_are_refused() {
        let write = |arrays: Vec<(&'static str, [usize; 3], usize)>| {
            let arrays = arrays
                .into_iter()
                .map(|(name, shape, count)| (name, Array { shape, values: vec![0.0; count] }));
            npz::write(Cursor::new(vec![]), &[("time", 0.0)], arrays)
        };
        write(vec![("x", [4, 4, 4], 64)]).unwrap();
        refused(write(vec![("x", [4, 4, 4], 3)]), "`x` has 3 values and the shape [4, 4, 4]");
        refused(write(vec![("x", [1, 1, 1], 2)]), "`x` has 2 values");
        refused(write(vec![("x", [usize::MAX, 2, 2], 4)]), "`x` has 4 values");
        refused(write(vec![("x", [1; 3], 1), ("x", [1; 3], 1)]), "cannot hold `x` twice");
        refused(write(vec![("time", [1; 3], 1)]), "cannot hold `time` twice");
        let array = [vti::Array { name: "x", components: 1 }];
        let image = |cells, count| {
            vti::write(vec![], (cells, 0.1, [0.0; 3]), 0.0, &array, |_, put| put(&vec![0.0; count]))
        };
        image([2; 3], 8).unwrap();
        refused(image([2; 3], 3), "`x` has 3 values");
        refused(image([2; 3], 9), "`x` has 9 values");
        refused(image([usize::MAX, 2, 2], 8), "too large");
    }

    #[test]
    fn a_snapshot_that_does_not_fill_its_box_is_no_volume() {
        let frame = Frame { number: 1, rate: 24.0 };
        let write = |snapshot: &Snapshot| {
            let mut file = vec![];
            let options = VdbOptions { up: Up::Z, half: true, flame: None };
            write_vdb_snapshot(&mut file, snapshot, frame, options).map(|()| file.len())
        };
        let snapshot = Snapshot::from_fn(Dims::new([4, 5, 6]).unwrap(), 0.1, |_| [1.0; 4]);
        assert!(write(&snapshot).unwrap() > 0);
        let mut short = snapshot.clone();
        short.smoke.truncate(5);
        refused(write(&short), "smoke has 5 values");
    }
}
