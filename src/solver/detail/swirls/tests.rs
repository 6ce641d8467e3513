//! Turbulence: free of divergence, at rest on walls and solids, the same bits however it is computed.

use super::*;
use crate::grid::Dims;
use crate::solver::detail::potential::{Curl, Memory};
use crate::solver::detail::prolong::{Prolong, Weights};
use crate::solver::detail::tests::{bits, config as closed, hot_ball};
use crate::solver::solids::SOLID;
use crate::solver::storage::active_bricks::Bricks;
use crate::solver::storage::halt::Halt;
use crate::solver::{
    BoundaryCondition, BoundaryConditions, Config, Integrator, Params, Shape, Smoke, Solid, Solver,
};

const OPEN: BoundaryCondition = BoundaryCondition::Open;
const CLOSED: BoundaryCondition = BoundaryCondition::Closed;
const PERIODIC: BoundaryCondition = BoundaryCondition::Periodic;

fn config(detail: usize) -> Config {
    Config { threads: 2, sides: [[CLOSED; 2], [CLOSED, OPEN], [CLOSED; 2]], ..closed(detail) }
}

fn params(strength: f32) -> Params {
    Params { turbulence: Turbulence { strength, ..Turbulence::default() }, ..Params::default() }
}

/// A hot ball of smoke above the floor, after `steps`.
fn plume(config: Config, strength: f32, steps: usize) -> Solver {
    let source = hot_ball(&config);
    let mut solver = Solver::new(config, params(strength), vec![source]).unwrap();
    advance(&mut solver, steps);
    solver
}

fn advance(solver: &mut Solver, steps: usize) {
    (0..steps).for_each(|_| assert!(solver.step(0.04).is_ok()));
}

/// The turbulent velocity alone, on all faces.
fn turbulence(solver: &Solver) -> (Layout, Faces) {
    let fields = solver.fields();
    let detail = fields.detail.as_ref().unwrap();
    let (coarse, fine, finer) = (fields.layout, detail.layout, detail.finer);
    let weights = Weights::new(finer);
    let prolong = Prolong { finer, weights: &weights, coarse, fine, velocity: &fields.velocity };
    let curl = Curl { swirls: detail.swirls.as_ref().unwrap(), prolong, walls: &detail.walls };
    let mut out = [0, 1, 2].map(|_| vec![0.0; fine.size()]);
    let pool = solver.pool().clone();
    pool.install(|| {
        curl.add(&Bricks::new(fine), &mut out, &mut Memory::new(coarse, fine, 2), &Halt::never())
    });
    (fine, out)
}

fn cells(layout: Layout) -> impl Iterator<Item = [usize; 3]> {
    (0..layout.dims.cells()).map(move |n| layout.dims.place(n))
}

fn at(layout: Layout, cell: [usize; 3]) -> usize {
    let [i, j, k] = cell.map(|x| x as isize);
    layout.at(i, j, k)
}

#[test]
fn each_finer_cell_is_free_of_divergence_and_no_wall_is_crossed() {
    let sides: [BoundaryConditions; 3] = [
        [[CLOSED; 2], [CLOSED, OPEN], [CLOSED; 2]],
        [[PERIODIC; 2], [CLOSED, OPEN], [OPEN; 2]],
        [[PERIODIC; 2], [PERIODIC; 2], [PERIODIC; 2]],
    ];
    for (detail, sides) in [2, 3, 4].into_iter().zip(sides) {
        let solver = plume(Config { sides, ..config(detail) }, 2.0, 6);
        let (layout, out) = turbulence(&solver);
        let (n, strides) = (layout.dims.array(), layout.strides());
        let most = out.iter().flatten().fold(0.0f32, |most, x| most.max(x.abs()));
        assert!(most > 0.02, "detail {detail}: {most} m/s");
        for cell in cells(layout) {
            let here = at(layout, cell);
            let sum: f32 = (0..3).map(|a| out[a][here + strides[a]] - out[a][here]).sum();
            assert!(sum.abs() < 2e-6 * most, "detail {detail}: {sum} in {cell:?}, up to {most} m/s");
            for axis in 0..3 {
                let (mut first, mut last) = (cell, cell);
                (first[axis], last[axis]) = (0, n[axis]);
                let ends = [at(layout, first), at(layout, last)].map(|at| out[axis][at]);
                for (end, side) in ends.into_iter().zip(sides[axis]) {
                    assert!(side != CLOSED || end == 0.0, "detail {detail}: {end} through a wall");
                }
                assert!(sides[axis][0] != PERIODIC || ends[0] == ends[1], "detail {detail}: {ends:?}");
            }
        }
    }
}

#[test]
fn turbulence_rests_around_solids_and_smoke_stays_out_of_them() {
    let mut solver = plume(config(2), 3.0, 0);
    let keyframes = vec![(0.0, [0.3, 0.7, 0.35]), (1.0, [0.5, 0.7, 0.35])];
    let ball = Solid { keyframes, ..Solid::new(Shape::Sphere { radius: 0.12 }, [0.0; 3]) };
    solver.set_solids(vec![ball]).unwrap();
    advance(&mut solver, 10);
    let (layout, out) = turbulence(&solver);
    let detail = solver.fields().detail.as_ref().unwrap();
    let voxels = &detail.obstacles.as_ref().unwrap().voxels;
    let cut = (0..3).flat_map(|c| voxels.cuts.faces[c].iter().map(move |cut| (c, cut.at as usize)));
    assert!(cut.clone().count() > 100);
    assert!(cut.into_iter().all(|(c, at)| out[c][at] == 0.0));
    assert!(out.iter().flatten().any(|x| x.abs() > 0.02));
    for cell in cells(layout) {
        let here = at(layout, cell);
        assert!(voxels.flags[here] & SOLID == 0 || solver.scalars()[here][0] == 0.0, "smoke in {cell:?}");
    }
    let budget =
        solver.stats().emitted[0] - solver.stats().faded.unwrap()[0] - solver.stats().left.unwrap()[0];
    let held = solver.stats().mass[0];
    assert!((held / budget - 1.0).abs() < 1e-5, "{held} of {budget}");
}

#[test]
fn a_flat_box_stays_flat() {
    let dims = Dims::new([24, 24, 1]).unwrap();
    let config = Config { dims, ..config(2) };
    let mut solver = Solver::new(config, params(2.0), vec![]).unwrap();
    let swirl = |c: usize, p: [f32; 3]| {
        if c == 0 { (9.0 * p[1]).sin() } else { (20.0 * p[0]).sin() * (1.0 - c as f32 / 2.0).ceil() }
    };
    solver.fill(swirl, |p| [p[0], 0.0, 0.0, 0.0]);
    advance(&mut solver, 4);
    let (layout, out) = turbulence(&solver);
    assert!(out[0].iter().any(|x| x.abs() > 1e-3), "there is turbulence");
    assert!(out[2].iter().all(|x| *x == 0.0), "none across the plane");
    for cell in cells(layout).filter(|cell| cell[2] == 0) {
        let here = at(layout, cell);
        assert_eq!(solver.scalars()[here], solver.scalars()[here + layout.plane], "{cell:?}");
    }
}

#[test]
fn uniform_smoke_stays_uniform_and_contents_are_kept() {
    for detail in [2, 4] {
        let smoke = Smoke { dissipation: 0.0, ..params(0.0).smoke[0] };
        let params = Params { cooling: 0.0, smoke: [smoke; 3], ..params(2.0) };
        let sides = [[CLOSED; 2], [CLOSED; 2], [PERIODIC; 2]];
        let mut solver = Solver::new(Config { sides, ..config(detail) }, params, vec![]).unwrap();
        let heat = |p: [f32; 3]| if (p[0] - 0.3).hypot(p[1] - 0.3) < 0.2 { 200.0 } else { 0.0 };
        solver.fill(|_, _| 0.0, |p| [1.0, p[0], 0.0, heat(p)]);
        let before = solver.stats().clone();
        advance(&mut solver, 15);
        let (layout, out) = turbulence(&solver);
        assert!(out.iter().flatten().any(|x| x.abs() > 0.1), "it moves");
        for cell in cells(layout) {
            let red = solver.scalars()[at(layout, cell)][0];
            assert!((red - 1.0).abs() < 1e-4, "detail {detail}: {red} in {cell:?}");
        }
        let stats = solver.stats();
        for (now, then) in [(stats.mass[1], before.mass[1]), (stats.heat, before.heat)] {
            assert!((now / then - 1.0).abs() < 1e-6, "detail {detail}: {now} of {then}");
        }
    }
}

#[test]
fn no_strength_has_the_bits_of_no_turbulence() {
    let run = |strength: f32, seed: u32| {
        let mut solver = plume(config(2), 0.0, 0);
        let mut params = params(strength);
        params.turbulence = Turbulence { seed, octaves: 1 + seed, ..params.turbulence };
        solver.set_params(params).unwrap();
        advance(&mut solver, 5);
        assert_eq!(solver.fields().detail.as_ref().unwrap().swirls.is_some(), strength > 0.0);
        bits(&solver)
    };
    assert!(run(0.0, 0) == run(0.0, 3));
    assert!(run(0.0, 0) != run(1.0, 0) && run(1.0, 0) != run(1.0, 3));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let run = |threads: usize| bits(&plume(Config { threads, ..config(2) }, 1.0, 6));
    assert!(run(1) == run(3));
}

#[test]
fn a_restored_state_and_a_loaded_file_have_the_same_future() {
    for integrator in [Integrator::Projection, Integrator::Reflection, Integrator::Trapezoid] {
        let config = Config { integrator, ..config(2) };
        let mut unbroken = plume(config.clone(), 1.0, 5);
        let (state, mut file) = (unbroken.capture(), std::io::Cursor::new(vec![]));
        unbroken.save(&mut file).unwrap();
        advance(&mut unbroken, 4);
        let (mut restored, mut loaded) = (plume(config.clone(), 1.0, 2), plume(config.clone(), 1.0, 0));
        restored.restore(&state).unwrap();
        file.set_position(0);
        loaded.load(&mut file).unwrap();
        for (solver, what) in [(&mut restored, "restored"), (&mut loaded, "loaded")] {
            advance(solver, 4);
            assert!(bits(solver) == bits(&unbroken), "{what}, {integrator:?}");
        }
    }
}

#[test]
fn a_frozen_flow_has_turbulence_too() {
    let mut solver = Solver::new(Config { frozen: true, ..config(2) }, params(1.0), vec![]).unwrap();
    let swirl = |c: usize, p: [f32; 3]| [(18.0 * p[1]).sin(), (22.0 * p[2]).sin(), (20.0 * p[0]).sin()][c];
    solver.fill(swirl, |p| [p[0], 0.0, 0.0, 0.0]);
    advance(&mut solver, 3);
    let (_, out) = turbulence(&solver);
    assert!(out.iter().flatten().any(|x| x.abs() > 1e-3));
    let moved = solver.fields().detail.as_ref().unwrap().swirls.as_ref().unwrap().moved[0].iter();
    assert!(moved.into_iter().any(|d| d[0].abs() > 0.1), "coordinates move");
}

/// A shear flow, whose coordinates stretch for ever.
#[test]
fn coordinates_begin_anew_before_they_stretch_beyond_the_bound() {
    let sides = [[PERIODIC; 2], [CLOSED; 2], [PERIODIC; 2]];
    let mut solver = Solver::new(Config { sides, ..config(2) }, params(1.0), vec![]).unwrap();
    solver.fill(
        |c, p| if c == 0 { (5.2 * p[1]).cos() + 0.1 * (40.0 * (p[1] + p[2])).sin() } else { 0.0 },
        |_| [1.0, 0.0, 0.0, 0.0],
    );
    let mut births = 0;
    for _ in 0..60 {
        advance(&mut solver, 1);
        let swirls = solver.fields().detail.as_ref().unwrap().swirls.as_ref().unwrap();
        let layout = solver.layout();
        births = swirls.phase as usize;
        for generation in 0..GENERATIONS {
            let (moved, packed) = (&swirls.moved[generation], &swirls.packed[generation]);
            for cell in cells(layout) {
                let here = at(layout, cell);
                let slopes = layout.strides().map(|stride| {
                    [0, 1, 2].map(|c| 0.5 * (moved[here + stride][c] - moved[here - stride][c]))
                });
                let size: f32 =
                    (0..9).map(|n| (slopes[n / 3][n % 3] + f32::from(u8::from(n % 4 == 0))).powi(2)).sum();
                assert!(packed[here][3] == 0.0 || size - 2.0 <= 9.001, "{} in {cell:?}", (size - 2.0).sqrt());
            }
        }
        // The strongest generation is strong enough to be seen.
        let weights = |g: usize| swirls.packed[g].iter().map(|p| p[3]).fold(0.0, f32::max);
        assert!(weights(0).max(weights(1)) > 0.3 * swirls.strongest);
    }
    assert!(births >= 3, "{births} lives");
}

/// Waves of 4 to 16 cells with E(k) ∝ k^(−5/3). Swirls of 2 to 4 cells have the energy that the same spectrum has there.
#[test]
fn a_strength_of_one_continues_the_spectrum() {
    let (dims, h) = (Dims::new([32, 32, 32]).unwrap(), 0.05f32);
    let mut state = 11;
    let mut random = || (split_mix(&mut state) >> 40) as f32 / (1 << 24) as f32;
    let waves: Vec<([f32; 3], [f32; 3], f32)> = (0..120)
        .map(|_| {
            let mut direction = || loop {
                let v: [f32; 3] = std::array::from_fn(|_| 2.0 * random() - 1.0);
                let size = v.iter().map(|x| x * x).sum::<f32>();
                if (0.01..1.0).contains(&size) {
                    return v.map(|x| x / size.sqrt());
                }
            };
            let (k, v) = (direction(), direction());
            let size = std::f32::consts::TAU / h / 4.0f32.powf(1.0 + random());
            let along: f32 = (0..3).map(|a| k[a] * v[a]).sum();
            let across = std::array::from_fn(|a| (v[a] - along * k[a]) * size.powf(-1.0 / 3.0));
            (k.map(|x| x * size), across, std::f32::consts::TAU * random())
        })
        .collect();
    let velocity = |c: usize, p: [f32; 3]| {
        let of = |(k, v, phase): &([f32; 3], [f32; 3], f32)| {
            v[c] * (k[0] * p[0] + k[1] * p[1] + k[2] * p[2] + phase).cos()
        };
        waves.iter().map(of).sum::<f32>()
    };
    let sides = [[OPEN; 2]; 3];
    let config = Config { frozen: true, sides, detail: 2, threads: 2, ..Config::new(dims, h) };
    let one_band = Turbulence { strength: 1.0, size: 4.0, octaves: 1, ..Turbulence::default() };
    let mut solver =
        Solver::new(config, Params { turbulence: one_band, ..Params::default() }, vec![]).unwrap();
    solver.fill(velocity, |_| [1.0, 0.0, 0.0, 0.0]);
    solver.step(1e-4).unwrap();
    let energy = |layout: Layout, faces: &Faces| {
        let sum = |field: &Vec<f32>| {
            cells(layout).map(|cell| f64::from(field[at(layout, cell)]).powi(2)).sum::<f64>()
        };
        faces.iter().map(sum).sum::<f64>() / layout.dims.cells() as f64
    };
    let held = energy(solver.layout(), solver.velocity());
    let (layout, out) = turbulence(&solver);
    // ∫ k^(−5/3) over an octave, and over the two before it.
    let share = (1.0 - 2.0f64.powf(-2.0 / 3.0)) / (4.0f64.powf(2.0 / 3.0) - 1.0);
    let found = energy(layout, &out) / held / share;
    assert!((0.8..1.25).contains(&found), "{found} of what the spectrum predicts");
}
