//! A box that follows its smoke, compared with one that is large from the start.

mod common;

use std::io::Cursor;
use std::sync::Arc;

use common::bits;
use updraft::grid::Dims;
use updraft::solver::{
    Advection, BoundaryCondition, Cloud, Config, Dab, Follow, Form, Inflow, Integrator, Params, Profile,
    Projection, Region, Shape, SideValues, Slip, Solid, Solver, SolverError, Source, Turbulence,
};

const H: f32 = 1.0 / 20.0;

/// Makes a box of `cells` over a floor, open at all other sides.
fn config(cells: [usize; 3], origin: [i32; 3], follow: bool) -> Config {
    let mut config = Config::new(Dims::new(cells).unwrap(), H);
    config.sides = [[BoundaryCondition::Open; 2]; 3];
    config.sides[1][0] = BoundaryCondition::Closed;
    config.origin = origin;
    config.threads = 2;
    config.follow = Follow { on: follow, ..Follow::default() };
    config
}

/// Makes a source of hot smoke, a disc above the middle of the floor of the first 32 cells, until `stop`.
fn source(stop: f32) -> Source {
    let region = Region::disc([16.0 * H, 0.2, 16.0 * H], 0.2, [0.0, 1.0, 0.0], 0.1);
    Source { stop, ..Source::new(region, [3.0, 1.0, 0.0, 400.0]) }
}

fn params() -> Params {
    let mut params = Params { cooling: 0.1, vorticity: 0.2, ..Params::default() };
    params.smoke.iter_mut().for_each(|smoke| smoke.dissipation = 0.0);
    params
}

fn solver(config: Config, stop: f32) -> Solver {
    Solver::new(config, params(), vec![source(stop)]).unwrap()
}

fn advance(solver: &mut Solver, steps: usize) {
    (0..steps).for_each(|_| solver.step(0.04).map(drop).unwrap());
}

/// Centroid, upper edge and standard deviation along x of the red smoke \[m\].
#[derive(Debug)]
struct Spread {
    centroid: [f64; 3],
    top: f64,
    width: f64,
}

fn red(solver: &Solver) -> Spread {
    let (layout, corner, h) = (solver.layout(), solver.config().corner(), f64::from(H));
    let [nx, ny, nz] = layout.dims.array();
    let (mut sums, mut top) = ([0.0; 5], 0.0f64);
    for (j, k) in (0..nz).flat_map(|k| (0..ny).map(move |j| (j, k))) {
        for (i, cell) in solver.scalars()[layout.start(j, k)..][..nx].iter().enumerate() {
            let place: [f64; 3] =
                std::array::from_fn(|a| f64::from(corner[a]) + h * ([i, j, k][a] as f64 + 0.5));
            let red = f64::from(cell[0]);
            let terms = [1.0, place[0], place[1], place[2], place[0] * place[0]];
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += red * term);
            if red > 0.02 {
                top = top.max(place[1] + 0.5 * h);
            }
        }
    }
    let [mass, x, y, z, xx] = sums;
    let centroid = [x / mass, y / mass, z / mass];
    Spread { centroid, top, width: (xx / mass - centroid[0] * centroid[0]).sqrt() }
}

#[test]
fn a_box_that_needs_not_move_has_the_bits_of_one_that_cannot() {
    let [mut still, mut follows] = [false, true].map(|on| {
        let mut config = config([72, 56, 72], [-20, 0, -20], on);
        // Free sides have another pressure than those of a box that does not move.
        config.follow.free = false;
        solver(config, 9.0)
    });
    [&mut still, &mut follows].into_iter().for_each(|solver| advance(solver, 12));
    assert_eq!(follows.config().dims.array(), [72, 56, 72], "it has moved");
    assert!(bits(&still) == bits(&follows));
}

/// Makes a box around the source, as large as its margins require at the start.
fn small(follow: bool) -> Config {
    config([40, 24, 40], [-4, 0, -4], follow)
}

/// Makes a box as [`small`] does, with little air around the smoke.
fn tight() -> Config {
    let mut config = config([32, 16, 32], [0; 3], true);
    config.follow.margin = 6;
    config
}

/// Makes a ball in the plume, and one that flies past it.
fn solids() -> Vec<Solid> {
    let still = Solid { slip: Slip::None, ..Solid::new(Shape::Sphere { radius: 0.2 }, [0.8, 1.1, 0.9]) };
    let keyframes = vec![(0.0, [0.3, 0.4, 0.2]), (1.0, [0.3, 2.4, 0.2])];
    vec![still, Solid { keyframes, ..Solid::new(Shape::Sphere { radius: 0.15 }, [0.0; 3]) }]
}

/// Takes a step. Returns whether it has moved the box.
fn moves(solver: &mut Solver) -> bool {
    let place = |solver: &Solver| (solver.config().dims, solver.config().origin);
    let before = place(solver);
    advance(solver, 1);
    place(solver) != before
}

#[test]
fn a_plume_rises_as_in_a_large_box() {
    let mut large = solver(config([80, 100, 80], [-24, 0, -24], false), 1.0);
    let mut follows = solver(small(true), 1.0);
    advance(&mut large, 70);
    let moved = (0..70).filter(|_| moves(&mut follows)).count();
    let [a, b] = [red(&large), red(&follows)];
    assert!((2..12).contains(&moved), "{moved} moves");
    assert!(follows.config().dims.cells() < large.config().dims.cells(), "{:?}", follows.config().dims);
    for (name, a, b) in
        [("top", a.top, b.top), ("y", a.centroid[1], b.centroid[1]), ("width", a.width, b.width)]
    {
        assert!((a - b).abs() < 0.03 * a, "{name}: {a} in the large box, {b} in the other");
    }
    let [a, b] = [&large, &follows].map(|solver| (solver.stats().mass[0], solver.stats().kinetic_energy));
    assert!((a.0 - b.0).abs() < 1e-5 * a.0 && (a.1 - b.1).abs() < 0.06 * a.1, "{a:?}, {b:?}");
}

/// With heat on its side, all sides move, and a box that has been left behind by its smoke shrinks.
#[test]
fn the_smoke_is_accounted_for_in_every_move() {
    let quick = Params { heat_buoyancy: 0.1, cooling: 0.5, ..params() };
    for (detail, solids) in [(1, vec![]), (2, vec![]), (1, solids())] {
        let config = Config { detail, advection: Advection::Conservative, ..tight() };
        let mut solver = Solver::new(config, quick.clone(), vec![source(0.8)]).unwrap();
        solver.set_solids(solids.clone()).unwrap();
        let mut moved = 0;
        for step in 0..40 {
            moved += u32::from(moves(&mut solver));
            let stats = solver.stats();
            let (left, faded) = (stats.left.unwrap(), stats.faded.unwrap());
            for c in 0..2 {
                let rest = stats.emitted[c] - left[c] - faded[c];
                assert!(
                    (stats.mass[c] - rest).abs() < 1e-6 * stats.emitted[c],
                    "detail {detail}, {} solids, step {step}: {} of {rest}",
                    solids.len(),
                    stats.mass[c]
                );
                assert!(left[c] < 1e-3 * stats.emitted[c], "{} has left", left[c]);
            }
            assert!(stats.divergence_after < 2e-4, "{}", stats.divergence_after);
        }
        assert!(moved >= 2, "{moved} moves");
    }
}

#[test]
fn a_resumed_run_and_a_restored_state_go_on_across_moves_with_the_same_bits() {
    for (detail, integrator, solids) in [
        (1, Integrator::Trapezoid, solids()),
        (2, Integrator::Trapezoid, vec![]),
        (1, Integrator::Reflection, vec![]),
        (1, Integrator::Projection, vec![]),
    ] {
        let make = |threads: usize| {
            let config = Config { detail, integrator, threads, ..tight() };
            let mut solver = solver(config, 1.0);
            solver.set_params(Params { heat_buoyancy: 0.1, ..params() }).unwrap();
            solver.set_solids(solids.clone()).unwrap();
            solver
        };
        let (mut unbroken, mut saved, mut states) = (make(2), vec![], vec![]);
        let mut places = vec![];
        for step in 0..24 {
            if step == 10 {
                let mut file = vec![];
                unbroken.save(Cursor::new(&mut file)).unwrap();
                saved.push((step, file));
            }
            if step == 8 {
                states.push((step, unbroken.capture()));
            }
            advance(&mut unbroken, 1);
            places.push((unbroken.config().origin, unbroken.config().dims));
        }
        assert!(
            places[9..].windows(2).any(|pair| pair[0] != pair[1]),
            "it does not move after it is saved: {places:?}"
        );
        let end = bits(&unbroken);
        let ended = unbroken.stats().clone();
        for (step, file) in saved {
            // Neither the number of threads matters, nor the place of the box that gets the state.
            let mut resumed = make(1);
            resumed.load(Cursor::new(&file)).unwrap();
            advance(&mut resumed, 24 - step);
            assert!(bits(&resumed) == end, "{integrator:?}, detail {detail}, resumed at step {step}");
            assert_eq!((resumed.stats().mass, resumed.stats().left), (ended.mass, ended.left));
        }
        for (step, state) in states {
            unbroken.restore(&state).unwrap();
            advance(&mut unbroken, 24 - step);
            assert!(bits(&unbroken) == end, "{integrator:?}, detail {detail}, restored at step {step}");
        }
        if !solids.is_empty() {
            continue;
        }
        unbroken.clear();
        assert_eq!((unbroken.config().origin, unbroken.config().dims), (tight().origin, tight().dims));
        advance(&mut unbroken, 14);
        let mut fresh = make(2);
        advance(&mut fresh, 14);
        let end = bits(&fresh);
        assert!(bits(&unbroken) == end, "{integrator:?}, detail {detail}, cleared");
    }
}

#[test]
fn a_box_at_its_limit_says_so_and_lets_smoke_leave() {
    let mut config = tight();
    let mib = Solver::memory(&config, false) as f32 / f32::from(1024_u16).powi(2);
    config.follow.limit = 1.01 * mib;
    let mut solver = solver(config.clone(), 9.0);
    advance(&mut solver, 40);
    assert!(solver.is_full());
    assert_eq!(solver.config().dims, config.dims);
    assert!(solver.stats().left.unwrap()[0] > 0.0);
    config.sides = Default::default();
    assert_eq!(Solver::new(config, params(), vec![]).map(drop), Err(SolverError::NoSideFollows));
}

#[test]
fn dabs_and_fills_lie_where_the_scene_has_them() {
    let mut config = config([24, 32, 24], [40, 0, -24], false);
    config.h = 0.1;
    let mut solver = Solver::new(config, params(), vec![]).unwrap();
    let center = [5.15, 1.25, -1.15];
    let dab = Dab { center, radius: 0.3, add: [1.0, 0.0, 0.0, 0.0], push: [0.0; 3], erase: 0.0 };
    solver.dab(&dab).unwrap();
    let at = solver.layout().at(11, 12, 12);
    assert!(solver.scalars()[at][0] > 0.9, "{:?}", solver.scalars()[at]);
    solver.fill(|_, _| 0.0, |p| [p[0], p[1], p[2], 0.0]);
    let [x, y, z, _] = solver.scalars()[at];
    assert!((0..3).all(|a| ([x, y, z][a] - center[a]).abs() < 1e-5), "{x} {y} {z}");
    solver.set_solids(vec![Solid::new(Shape::Sphere { radius: 0.4 }, center)]).unwrap();
    assert_eq!(solver.poses()[0].position, center);
    assert_eq!(solver.scalars()[at], [0.0; 4], "the solid is there");
}

/// A frozen flow is the initial velocity; new air has that of the nearest old air.
#[test]
fn a_frozen_wind_carries_smoke_as_far_as_in_a_large_box() {
    let drift = |cells: [usize; 3], follow: bool| {
        let mut config = config(cells, [0; 3], follow);
        config.sides[1][0] = BoundaryCondition::Open;
        config.frozen = true;
        let mut solver = Solver::new(config, params(), vec![]).unwrap();
        let ball = |p: [f32; 3]| (0..3).map(|a| (p[a] - 0.6).powi(2)).sum::<f32>() < 0.04;
        solver.fill(|c, _| if c == 0 { 1.0 } else { 0.0 }, |p| [f32::from(u8::from(ball(p))), 0.0, 0.0, 0.0]);
        advance(&mut solver, 50);
        red(&solver).centroid
    };
    let (following, large) = (drift([32, 24, 24], true), drift([96, 24, 24], false));
    assert!((large[0] - 2.6).abs() < 0.01, "{large:?}");
    assert!((0..3).all(|a| (following[a] - large[a]).abs() < 0.01), "{following:?}, not {large:?}");
}

/// With a velocity that faded to rest in new cells, the first of these winds lost an eighth of its speed at every move.
#[test]
fn a_wind_blows_as_in_a_large_box() {
    let drift = |cells: [usize; 3], follow: bool, lids: BoundaryCondition, wind: fn(f32) -> f32| {
        let mut config = config(cells, [0; 3], follow);
        (config.sides[1], config.sides[2]) = ([BoundaryCondition::Closed, lids], [lids; 2]);
        let params = Params { vorticity: 0.0, ..params() };
        let mut solver = Solver::new(config, params, vec![]).unwrap();
        let ball = |p: [f32; 3]| (0..3).map(|a| (p[a] - 0.6).powi(2)).sum::<f32>() < 0.04;
        let velocity = |c: usize, p: [f32; 3]| if c == 0 { wind(p[1]) } else { 0.0 };
        solver.fill(velocity, |p| [f32::from(u8::from(ball(p))), 0.0, 0.0, 0.0]);
        advance(&mut solver, 50);
        (red(&solver), solver.config().dims.nx, solver.config().origin[0])
    };
    for lids in [BoundaryCondition::Closed, BoundaryCondition::Open] {
        let (following, nx, first) = drift([32, 24, 24], true, lids, |_| 1.0);
        let (large, ..) = drift([96, 24, 24], false, lids, |_| 1.0);
        assert!(nx > 32 || first >= 8, "its sides have not moved: {nx} cells from {first} on");
        let off = (following.centroid[0] - large.centroid[0]).abs();
        assert!(off < 0.02, "{lids:?}: {following:?}, not {large:?}");
        assert!((following.width - large.width).abs() < 0.02, "{lids:?}: {following:?}, not {large:?}");
    }
    // Each layer keeps its speed. (In the large box the open sides lift the smoke by 7 cm.)
    let (Spread { centroid: [x, y, _], .. }, ..) =
        drift([32, 24, 24], true, BoundaryCondition::Closed, |y| 0.4 + y);
    assert!((x - 2.6).abs() < 0.06 && (y - 0.6).abs() < 0.01, "at {x}, {y} m");
}

/// Sweeps leave divergence, whose potential on free sides grew at every step: the air reached 65 km/s after ten.
#[test]
fn the_air_of_a_box_with_sweeps_stays_slow() {
    let mut config = Config { projection: Projection::GaussSeidel { sweeps: 20 }, ..small(true) };
    config.dims = Dims::new([32, 24, 32]).unwrap();
    config.origin = [0; 3];
    let mut solver = solver(config, 1.0);
    advance(&mut solver, 12);
    assert!(solver.stats().max_speed < 2.0, "{} m/s", solver.stats().max_speed);
}

#[test]
fn an_axis_of_one_cell_keeps_it() {
    let mut config = config([24, 24, 1], [0; 3], true);
    config.sides[2] = [BoundaryCondition::Open; 2];
    let region = Region::sphere([0.6, 0.3, 0.025], 0.2);
    let mut solver =
        Solver::new(config, params(), vec![Source::new(region, [3.0, 0.0, 0.0, 400.0])]).unwrap();
    advance(&mut solver, 10);
    assert!(solver.config().dims.nx > 24, "it follows along the others: {:?}", solver.config().dims);
    assert_eq!((solver.config().dims.nz, solver.config().origin[2]), (1, 0));
    let flat = [[BoundaryCondition::Closed; 2], [BoundaryCondition::Closed; 2], [BoundaryCondition::Open; 2]];
    let none = Solver::new(Config { sides: flat, ..solver.config().clone() }, params(), vec![]);
    assert!(matches!(none, Err(SolverError::NoSideFollows)));
}

/// A volume has as many cells as the box at the start, and most of them are empty.
#[test]
fn a_box_around_a_volume_is_as_large_as_its_smoke() {
    let volume = |of_cell: fn(usize) -> bool| {
        let dims = Dims::new([64, 64, 64]).unwrap();
        let is_in = |n: usize| dims.place(n).into_iter().all(of_cell);
        let shares = (0..dims.cells()).map(|n| f32::from(u8::from(is_in(n)))).collect();
        let cloud = Cloud::new(dims, H, shares).unwrap();
        let region = Region::new(Form::Cloud(Arc::new(cloud)), [32.0 * H; 3]);
        let mut config = config([64; 3], [0; 3], true);
        config.follow.margin = 4;
        let mut solver =
            Solver::new(config, params(), vec![Source::new(region, [3.0, 0.0, 0.0, 0.0])]).unwrap();
        advance(&mut solver, 2);
        (solver.config().dims.cells(), solver.stats().mass[0])
    };
    let (small, mass) = volume(|i| (24..32).contains(&i));
    let (large, _) = volume(|i| (8..56).contains(&i));
    assert!(mass > 0.0 && 3 * small < large, "{small} and {large} cells");
}

/// A solid with a temperature heats the air, so the box does not leave it.
#[test]
fn a_warm_solid_at_rest_stays_in_the_box() {
    let mut ball = Solid::new(Shape::Sphere { radius: 0.15 }, [3.0, 0.4, 0.4]);
    ball.temperature = Some(300.0);
    for (conduction, stays) in [(1e-3, true), (0.0, false)] {
        let params = Params { conduction, ..params() };
        let mut config = config([72, 16, 16], [0; 3], true);
        (config.sides[1], config.sides[2]) = ([BoundaryCondition::Closed; 2], [BoundaryCondition::Closed; 2]);
        let mut solver = Solver::new(config, params, vec![]).unwrap();
        solver.set_solids(vec![ball.clone()]).unwrap();
        let puff = |p: [f32; 3]| (0..3).map(|a| (p[a] - 0.4).powi(2)).sum::<f32>() < 0.02;
        solver.fill(|_, _| 0.0, |p| [f32::from(u8::from(puff(p))), 0.0, 0.0, 0.0]);
        advance(&mut solver, 10);
        let end = (solver.config().origin[0] + solver.config().dims.nx as i32) as f32 * H;
        assert_eq!(end > 3.15, stays, "the box ends at {end} m");
        assert_eq!(solver.stats().heat > 0.0, stays, "{} K m³", solver.stats().heat);
    }
}

/// Turbulence takes memory too: with it a box is full sooner.
#[test]
fn a_box_with_turbulence_is_full_at_the_same_memory() {
    let cells = |strength: f32| {
        let mut config = Config { detail: 2, ..config([16, 16, 16], [0; 3], true) };
        config.follow.limit = 30.0;
        let turbulence = Turbulence { strength, ..Turbulence::default() };
        let mut source = source(f32::INFINITY);
        (source.region.position, source.velocity) = ([0.4, 0.4, 0.4], Some([0.0, 3.0, 0.0]));
        let mut solver = Solver::new(config, Params { turbulence, ..params() }, vec![source]).unwrap();
        advance(&mut solver, 30);
        assert!(solver.is_full());
        let config = solver.config();
        let bytes = Solver::memory(config, false) + Solver::turbulence_memory(config, &turbulence);
        assert!(bytes <= 30 << 20, "{strength}: {bytes} bytes");
        config.dims.cells()
    };
    assert!(cells(1.0) < cells(0.0));
}

/// Runs a box for 12 steps. `side` is its x_min, `floor` the temperature of its floor [K].
fn beside(side: BoundaryCondition, floor: Option<f32>, sources: Vec<Source>) -> Solver {
    let mut config = config([16, 24, 16], [0; 3], true);
    config.sides[0][0] = side;
    config.held[1][0] = floor;
    config.follow.margin = 8;
    let params = Params { conduction: 1e-3, heat_buoyancy: 0.02, ..params() };
    let mut solver = Solver::new(config, params, sources).unwrap();
    advance(&mut solver, 12);
    solver
}

/// The area of an inflow grows with the box, so the box must not grow with the smoke of the inflow.
#[test]
fn a_box_beside_a_smoky_inflow_grows_downstream_only() {
    let inflow = Inflow { velocity: [1.5, 0.0, 0.0], scalars: [1.0, 0.0, 0.0, 30.0] };
    let solver = beside(BoundaryCondition::Inflow(inflow), None, vec![]);
    let [nx, ny, nz] = solver.config().dims.array();
    assert!(nx > 16 && [ny, nz] == [24, 16], "{nx} × {ny} × {nz} cells");
}

/// The box follows the plume of a source as over a floor that is not warm.
#[test]
fn a_box_over_a_warm_floor_grows_with_other_smoke_only() {
    let ball = Region::sphere([0.4, 0.5, 0.4], 0.15);
    let source = Source { velocity: Some([2.0, 1.0, 0.0]), ..Source::new(ball, [4.0, 0.0, 0.0, 60.0]) };
    let [warm, cold] =
        [Some(20.0), None].map(|floor| beside(BoundaryCondition::Open, floor, vec![source.clone()]));
    let lengths = |solver: &Solver| solver.config().dims.array();
    assert!(lengths(&cold)[0] > 32, "{:?} cells: it does not grow", lengths(&cold));
    let [apart_x, apart_z] = [0, 2].map(|a| lengths(&warm)[a].abs_diff(lengths(&cold)[a]));
    assert!(apart_x.max(apart_z) <= 16, "{:?} cells, {:?} over a cold floor", lengths(&warm), lengths(&cold));
    let stats = warm.stats();
    assert!(
        stats.left.unwrap()[0] < 1e-3 * stats.emitted[0],
        "{:?} of {:?} has left",
        stats.left,
        stats.emitted
    );
    // Without a source no smoke counts, and no side moves.
    let still = beside(BoundaryCondition::Open, Some(20.0), vec![]);
    assert_eq!([lengths(&still)[0], lengths(&still)[2]], [16, 16]);
}

/// Red smoke of 0.5 that comes in everywhere, or in waves.
#[derive(Debug)]
struct Incoming {
    is_wave: bool,
}

impl SideValues for Incoming {
    fn gives(&self, quantity: usize) -> bool {
        quantity == 3
    }

    fn fill(&self, _: usize, time: f64, at: &[[f32; 3]], out: &mut [f32]) {
        for (out, [_, y, _]) in out.iter_mut().zip(at) {
            let wave = 0.25 + 0.125 * (8.0 * time as f32).sin() + 0.125 * (3.0 * y).cos();
            *out = if self.is_wave { wave } else { 0.5 };
        }
    }
}

/// Smoke that a formula gives along a whole inflow grows with the box: the box grew at every step, up to its limit.
#[test]
fn a_box_does_not_grow_after_the_smoke_that_a_profile_gives_to_all_air_beside_it() {
    let run = |incoming: Option<Incoming>| {
        let mut config = config([32, 24, 32], [0; 3], true);
        let red = if incoming.is_some() { 0.0 } else { 0.5 };
        let air = Inflow { velocity: [2.0, 0.0, 0.0], scalars: [red, 0.0, 0.0, 0.0] };
        config.sides[0][0] = BoundaryCondition::Inflow(air);
        config.follow.limit = 200.0;
        // Keeps the box open.
        let mut solver = Solver::new(config, params(), vec![source(9.0)]).unwrap();
        let profile = incoming.map(|values| Profile { axis: 0, end: 0, values: Arc::new(values) });
        solver.set_profiles(profile.into_iter().collect()).unwrap();
        advance(&mut solver, 24);
        assert!(!solver.is_full());
        solver.config().dims
    };
    let constant = run(None);
    for is_wave in [false, true] {
        let varying = run(Some(Incoming { is_wave }));
        println!("{constant:?} with a constant, {varying:?} with a profile, waves: {is_wave}");
        assert!(varying.cells() <= constant.cells() + constant.cells() / 2, "{varying:?} for {constant:?}");
    }
}
