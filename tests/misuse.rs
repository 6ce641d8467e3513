//! A program that uses the library gets a typed error, or the documented effect, for each invalid call.

use std::io::Cursor;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use updraft::render::{CpuRenderer, Mode, Quality, RenderError, View};
use updraft::snapshot::InvalidSnapshot;
use updraft::solver::{
    Cloud, Dab, Force, ForceField, Form, Inflow, InvalidValue, Profile, SideValues, SolverError, StateError,
};
use updraft::worker::Status;
use updraft::{
    BoundaryCondition, Camera, Command, Config, Dims, Look, Params, Region, Shape, Snapshot, Solid, Solver,
    Source, Worker,
};

fn config(cells: [usize; 3]) -> Config {
    Config { threads: 2, ..Config::new(Dims::new(cells).unwrap(), 0.1) }
}

fn solver(config: Config) -> Solver {
    Solver::new(config, Params::default(), vec![]).unwrap()
}

/// An edited cell is at its documented place for any detail.
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

/// Programs copy from the pages, so none of them indexes smoke by the layout of the velocity.
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

/// Asserts that `done` is an error whose text contains `part`.
#[track_caller]
fn refused<T, E: std::fmt::Display>(done: Result<T, E>, part: &str) {
    let error = done.map(drop).map_err(|error| error.to_string()).expect_err("it was accepted");
    assert!(error.contains(part), "{error}");
}

/// Returns the status of a worker once `holds` is true for it.
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

#[test]
fn a_fill_clamps_and_reports_what_is_not_finite() {
    use updraft::solver::{SCALAR_LIMIT, SPEED_LIMIT};
    let mut solver = solver(Config { frozen: true, ..config([8; 3]) });
    solver.fill(|_, _| -1e38, |_| [1e38, -1e38, 0.0, 0.0]);
    let at = solver.layout().at(4, 4, 4);
    assert_eq!(solver.scalars()[at], [SCALAR_LIMIT, -SCALAR_LIMIT, 0.0, 0.0]);
    assert_eq!(solver.velocity()[0][at], -SPEED_LIMIT * 0.1);
    assert!(solver.stats().mass[0].is_finite());
    solver.fill(|_, _| 0.0, |_| [f32::NAN; 4]);
    assert!(matches!(solver.step(0.01), Err(SolverError::NotFinite { field: "red", .. })));
}

#[test]
fn a_failed_solver_goes_on_once_all_values_are_finite_again() {
    for both in [false, true] {
        let mut solver = solver(config([8; 3]));
        let at = solver.layout().at(4, 4, 4);
        let bad = if both { f32::NAN } else { 0.0 };
        solver.fill(|_, _| bad, |_| [f32::NAN; 4]);
        assert!(solver.step(0.01).is_err());
        let repaired = solver.edit_scalars(|scalars| scalars[at] = [1.0; 4]);
        assert!(matches!(repaired, Err(SolverError::EditNotFinite { .. })));
        if both {
            assert!(solver.step(0.01).is_err(), "the velocity is NaN still");
            assert!(solver.edit_velocity(|_| ()).is_err());
        }
        for _ in 0..3 {
            solver.step(0.01).unwrap();
        }
        assert!(solver.stats().mass[0] > 0.0);
    }
}

#[test]
fn a_box_that_no_flow_can_satisfy_is_refused() {
    let inflow = |x: f32| BoundaryCondition::Inflow(Inflow { velocity: [x, 0.0, 0.0], scalars: [0.0; 4] });
    let sides = |low, high| {
        let mut config = config([8, 6, 4]);
        config.sides[0] = [low, high];
        config
    };
    let make = |config| Solver::new(config, Params::default(), vec![]);
    let closed = BoundaryCondition::Closed;
    let wrong = make(sides(inflow(1.0), closed)).map(drop).unwrap_err();
    assert!(matches!(wrong, SolverError::Invalid(InvalidValue::NoExit { .. })), "{wrong}");
    refused(make(sides(inflow(1.0), inflow(0.5))), "without an open side");
    refused(
        make(sides(BoundaryCondition::NoSlip([0.5, 1.0, 0.0]), closed)),
        "wall x_min cannot move across itself",
    );
    for config in [
        sides(inflow(1.0), inflow(1.0)),
        sides(inflow(1.0), BoundaryCondition::Open),
        sides(BoundaryCondition::NoSlip([0.0, 1.0, -2.0]), closed),
        Config { frozen: true, ..sides(inflow(1.0), closed) },
    ] {
        let mut solver = make(config).unwrap();
        solver.step(0.01).unwrap();
        assert_eq!(solver.stats().warning(), None);
    }
}

/// A uniform velocity or temperature.
#[derive(Debug)]
struct Even(usize, f32);

impl SideValues for Even {
    fn gives(&self, quantity: usize) -> bool {
        quantity == self.0
    }

    fn fill(&self, _: usize, _: f64, _: &[[f32; 3]], out: &mut [f32]) {
        out.fill(self.1);
    }
}

#[test]
fn a_profile_of_a_side_that_cannot_take_it_is_refused() {
    let profile = |axis, end, quantity, value| Profile { axis, end, values: Arc::new(Even(quantity, value)) };
    let mut config = config([8, 6, 4]);
    config.sides[1] = [BoundaryCondition::NoSlip([0.0; 3]), BoundaryCondition::Closed];
    config.held[1] = [Some(0.0), None];
    config.sides[2] = [BoundaryCondition::Inflow(Inflow::default()); 2];
    let mut solver = solver(config);
    refused(solver.set_profiles(vec![profile(5, 0, 0, 1.0)]), "axis 5 and end 0");
    refused(solver.set_profiles(vec![profile(0, 2, 0, 1.0)]), "axis 0 and end 2");
    refused(solver.set_profiles(vec![profile(0, 0, 0, 1.0)]), "velocity along x has no effect at x_min");
    refused(solver.set_profiles(vec![profile(1, 1, 6, 1.0)]), "temperature has no effect at y_max");
    solver.set_profiles(vec![profile(1, 0, 0, 1.0), profile(1, 0, 6, 20.0)]).unwrap();
    solver.set_profiles(vec![profile(2, 0, 2, 1.0), profile(2, 1, 2, 1.0)]).unwrap();
    solver.step(0.01).unwrap();
    assert_eq!(solver.stats().warning(), None);
    solver.set_profiles(vec![profile(2, 0, 2, 1.0), profile(2, 1, 2, 0.5)]).unwrap();
    solver.step(0.01).unwrap();
    assert!(solver.stats().warning().unwrap().contains("do not balance: 33 %"));
}

#[test]
fn a_step_whose_inverse_overflows_is_refused() {
    let mut solver = solver(config([8; 3]));
    solver.fill(|_, _| 0.0, |p| [p[0], 0.0, 0.0, 50.0 * p[1]]);
    for dt in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-45, 1e-42, 1e-40, 1e-38] {
        assert!(matches!(solver.step(dt), Err(SolverError::StepLength(_))), "{dt}");
    }
    for dt in [1e-30, 0.01] {
        solver.step(dt).unwrap();
    }
}

#[test]
fn values_beyond_the_speed_limit_and_places_beyond_all_cells_are_refused() {
    let make = |change: fn(&mut Config)| {
        let mut config = config([8; 3]);
        config.sides[0][1] = BoundaryCondition::Open;
        change(&mut config);
        Solver::new(config, Params::default(), vec![])
    };
    let fast = Inflow { velocity: [1e30, 0.0, 0.0], scalars: [0.0; 4] };
    let dense = Inflow { velocity: [1.0, 0.0, 0.0], scalars: [1e30; 4] };
    refused(
        Solver::new(
            Config {
                sides: [[BoundaryCondition::Inflow(fast), BoundaryCondition::Open]; 3],
                ..config([8; 3])
            },
            Params::default(),
            vec![],
        ),
        "velocity of an inflow",
    );
    refused(
        Solver::new(
            Config {
                sides: [[BoundaryCondition::Inflow(dense), BoundaryCondition::Open]; 3],
                ..config([8; 3])
            },
            Params::default(),
            vec![],
        ),
        "contents of an inflow",
    );
    refused(
        make(|config| config.sides[1][1] = BoundaryCondition::NoSlip([1e30, 0.0, 0.0])),
        "velocity of a wall",
    );
    refused(make(|config| config.origin = [i32::MAX; 3]), "origin of 2147483600");
    refused(make(|config| (config.origin, config.detail) = ([i32::MIN; 3], 2)), "origin");
    make(|config| config.origin = [1 << 20; 3]).unwrap();
    let mut solver = make(|_| ()).unwrap();
    let spinning =
        |spin| Solid { spin: [spin, 0.0, 0.0], ..Solid::new(Shape::Box { size: [0.3, 0.1, 0.1] }, [0.4; 3]) };
    refused(solver.set_solids(vec![spinning(1e38)]), "surface speed by its spin");
    solver.set_solids(vec![spinning(1e3)]).unwrap();
    refused(solver.guide_solids(vec![spinning(1e38)]), "surface speed by its spin");
}

#[test]
fn regions_without_a_direction_and_clouds_with_nan_are_refused_or_cured() {
    let disc = |axis| Region::disc([0.4; 3], 0.2, axis, 0.1);
    for axis in [[0.0; 3], [f32::NAN, 0.0, 0.0], [f32::INFINITY, 0.0, 0.0]] {
        let wrong = disc(axis).problem().unwrap().to_string();
        assert!(wrong.contains("no direction"), "{wrong}");
    }
    for length in [1e-30, 1.0, 1e30] {
        let turned = disc([length, 0.0, 0.0]);
        assert_eq!((turned.problem(), turned.rotation), (None, disc([1.0, 0.0, 0.0]).rotation));
    }
    let cells = Dims::new([2; 3]).unwrap();
    assert!(Cloud::new(cells, 0.1, vec![f32::NAN; 8]).is_none(), "NaN counts as 0");
    let mut shares = vec![1.0; 8];
    shares[0] = f32::NAN;
    let cloud = Region::new(Form::Cloud(Arc::new(Cloud::new(cells, 0.2, shares).unwrap())), [0.4; 3]);
    let mut solver = solver(config([8; 3]));
    solver.set_sources(vec![Source::new(cloud, [1.0; 4])]).unwrap();
    solver.step(0.1).unwrap();
    assert!(solver.stats().mass[0] > 0.0);
}

#[test]
fn a_dab_takes_smoke_away_down_to_zero_and_heat_below() {
    let mut solver = solver(config([8; 3]));
    solver.fill(|_, _| 0.0, |_| [0.5, 2.0, 0.0, 10.0]);
    let dab =
        Dab { center: [0.45; 3], radius: 0.3, add: [-1.0, -1.0, -1.0, -30.0], push: [0.0; 3], erase: 0.0 };
    solver.dab(&dab).unwrap();
    assert_eq!(solver.scalars()[solver.smoke_layout().at(4, 4, 4)], [0.0, 1.0, 0.0, -20.0]);
}

#[test]
fn a_snapshot_says_what_no_renderer_can_show() {
    let sound = Snapshot::from_fn(Dims::new([20, 9, 8]).unwrap(), 0.1, |p| [p[0], p[1], p[2], -p[0]]);
    assert_eq!(sound.problem(), None);
    let mut hidden = Snapshot::empty(sound.dims, sound.h);
    hidden.smoke.copy_from_slice(&sound.smoke);
    assert_eq!(hidden.problem(), Some(InvalidSnapshot::Bricks));
    hidden.bricks.update(hidden.dims, &hidden.smoke);
    assert_eq!(hidden.problem(), None);
    let far = Snapshot { origin: [0, i32::MAX, 0], ..sound.clone() };
    assert!(matches!(far.problem(), Some(InvalidSnapshot::Origin(_))));
    let huge = Snapshot { dims: Dims { nx: usize::MAX, ny: 2, nz: 2 }, ..sound.clone() };
    assert!(matches!(huge.problem(), Some(InvalidSnapshot::Length { what: "smoke", .. })));
}

#[test]
fn a_picture_of_the_flow_needs_a_velocity_and_a_first_frame_may_have_any_number() {
    let snapshot = Snapshot::from_fn(Dims::new([4; 3]).unwrap(), 0.1, |_| [1.0; 4]);
    let (look, camera) = (Look::default(), Camera::framing(snapshot.extent()));
    let render = |mode, quality| {
        let mut renderer = CpuRenderer::new();
        renderer.set_quality(quality);
        renderer.render(
            &snapshot,
            &View { look: &look, camera: &camera, cursor: None, mode },
            [8, 8],
            &|_| (),
        )
    };
    for mode in [Mode::Velocity, Mode::Speed, Mode::Streamlines, Mode::Vorticity] {
        assert!(matches!(render(mode, Quality::FINAL), Err(RenderError::NoVelocity)), "{mode:?}");
    }
    render(Mode::Smoke, Quality { first: u32::MAX, passes: 2, ..Quality::FINAL }).unwrap();
}

#[test]
fn errors_of_the_library_name_no_option_and_write_plain_numbers() {
    let exists = updraft::output::OutputError::Exists("a.png".into()).to_string();
    assert!(!exists.contains("--"), "{exists}");
    let wrong = make_threads(5000).unwrap_err().to_string();
    assert!(wrong.ends_with("between 0 and 1024"), "{wrong}");
}

fn make_threads(threads: usize) -> Result<(), SolverError> {
    Solver::new(Config { threads, ..config([4; 3]) }, Params::default(), vec![]).map(drop)
}

mod files {
    use super::*;
    use updraft::npz::{self, Array};
    use updraft::output::exr::{self, Extra};
    use updraft::output::vti;
    use updraft::output::whole::Existing;
    use updraft::render::LinearImage;
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
        refused(image([2; 3], 0), "`x` has 0 values");
        let none = |_: &mut dyn FnMut(&[f32]) -> std::io::Result<()>| Ok(());
        let pieces = npz::write_pieces(Cursor::new(vec![]), &[], "", &[("x", [2; 3])], none);
        refused(pieces, "`x` has 0 values");
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
