//! The box around strained cells: where it is, how it divides a step, and that nothing is lost.

use super::super::kept_air::keeps_its_air;
use super::super::strain::{LEAST_BEFORE, NEARLY_EMPTY};
use super::super::{Flow, Sweeps};
use super::*;
use crate::grid::{Faces, Layout};
use crate::solver::{Advection, BoundaryCondition, Config, Integrator, Params, Smoke, Solver, TimeControl};

const CELLS: [usize; 3] = [96, 80, 88];

fn config() -> Config {
    Config::new(Dims::new(CELLS).unwrap(), 1.0)
}

/// Air that hardly moves but in a ball of a few cells, where it is stretched by its extent in a step and moves two cells at most.
fn shaken(config: Config, scalars: impl Fn([f32; 3]) -> [f32; 4] + Send + Sync) -> Solver {
    blown(config, 0.1, scalars)
}

/// As [`shaken`], in air that moves with a `speed` everywhere.
fn blown(config: Config, speed: f32, scalars: impl Fn([f32; 3]) -> [f32; 4] + Send + Sync) -> Solver {
    let time = TimeControl { cfl: f32::MAX, max_substeps: 1 };
    let advection = Advection::Conservative;
    let still = Smoke { buoyancy: 0.0, dissipation: 0.0, diffusion: 0.0 };
    let params =
        Params { heat_buoyancy: 0.0, cooling: 0.0, vorticity: 0.0, smoke: [still; 3], ..Params::default() };
    let mut solver = Solver::new(Config { time, advection, ..config }, params, vec![]).unwrap();
    let shake = |c: usize, at: [f32; 3]| {
        let [x, y, z] = [at[0] - 40.0, at[1] - 41.0, at[2] - 45.0];
        let strength = (-(x * x + y * y + z * z) / 30.0).exp();
        strength * [(0.8 * x).sin() * (0.8 * y).cos(), -(0.8 * x).cos() * (0.8 * y).sin(), 0.0][c]
    };
    solver.fill(|c, at| shake(c, at) + speed * (0.2 * at[(c + 1) % 3]).sin(), scalars);
    solver
}

fn step(solver: &mut Solver) {
    solver.step(2.0 / solver.stats().max_speed).unwrap();
    let strained = &solver.fields.sweeps.as_ref().unwrap().strained;
    assert!(strained.rounds > 1, "{:?}", solver.stats());
}

#[test]
fn uniform_fields_stay_uniform_and_sums_are_kept() {
    let [closed, open, around] =
        [BoundaryCondition::Closed, BoundaryCondition::Open, BoundaryCondition::Periodic]
            .map(|side| [side; 2]);
    for sides in [[closed; 3], [around, closed, around], [closed, closed, [open[0], closed[0]]]] {
        let stripes = |[x, y, z]: [f32; 3]| (x + 2.0 * y + 3.0 * z).sin().powi(4);
        let mut solver = shaken(Config { sides, ..config() }, |at| [1.0, stripes(at), 0.0, -20.0]);
        let before = solver.stats().clone();
        for _ in 0..3 {
            step(&mut solver);
        }
        let (layout, after) = (solver.layout(), solver.stats());
        let left = after.left.unwrap();
        for (c, was, is) in [(0, before.mass[0], after.mass[0]), (1, before.mass[1], after.mass[1])] {
            let change = (is + left[c] - was) / was;
            assert!(change.abs() < 2e-6, "{sides:?}: colour {c} changed by {change:e}");
        }
        for k in 0..88 {
            // Clean air comes in through an open side.
            for cell in &solver.scalars()[layout.at(0, 40, k)..layout.at(96, 40, k)] {
                let off = (cell[0] - 1.0).abs().max((cell[3] + 20.0).abs() / 20.0);
                assert!(off < 2e-5 || sides[2] == [open[0], closed[0]] && k < 8, "{sides:?} {k}: {cell:?}");
                assert!(cell[1] > -1e-6 && cell[1] < 1.02, "{sides:?} {k}: {cell:?}");
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let run = |threads: usize| {
        let mut solver = shaken(Config { threads, ..config() }, |[x, y, z]| [(x + y).sin(), z, 0.0, y]);
        (0..2).for_each(|_| step(&mut solver));
        solver.scalars().as_flattened().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    assert!(run(1) == run(3));
}

/// Strain of cells `from..to` along each axis of a box of `CELLS`.
fn strain(from: [usize; 3], to: [usize; 3]) -> Strain {
    Strain {
        forwards: [1.2, 0.9],
        speed: 1.9,
        strained: [Extent {
            from_low: to.map(|n| n as u32),
            from_high: [0, 1, 2].map(|a| (CELLS[a] - from[a]) as u32),
        }; 2],
        ..Strain::default()
    }
}

fn surrounded(strain: Strain, bricks: &Bricks, periodic: [bool; 3]) -> StrainedBox {
    let dims = Dims::new(CELLS).unwrap();
    let mut strained = StrainedBox::new(dims);
    strained.surround(&strain, bricks, (1, periodic), |_| false);
    strained
}

#[test]
fn the_box_has_full_weight_on_strained_cells_and_falls_over_a_ramp() {
    let bricks = Bricks::new(Layout::new(Dims::new(CELLS).unwrap()));
    let (from, to) = ([40, 30, 50], [43, 31, 56]);
    let strained = surrounded(strain(from, to), &bricks, [false, false, true]);
    // 1.2 of the air would leave: 0.6 in each round.
    assert_eq!(strained.rounds, 2);
    // 2 · 1.9 cells · ½ / 0.25, and no part of a cell.
    let ramp = 8;
    assert_eq!(strained.support, [[40 - ramp, 43 + ramp], [30 - ramp, 31 + ramp], [0, 88]]);
    for axis in 0..3 {
        let (cells, faces) = (&strained.cells[axis], &strained.faces[axis]);
        for i in from[axis]..to[axis] {
            assert!(cells[i] == 1.0 && faces[i] == 1.0 && faces[i + 1] == 1.0, "cell {i} along {axis}");
        }
        let slope = 1.0 / ramp as f32 + 1e-6;
        assert!(faces.windows(2).all(|pair| (pair[0] - pair[1]).abs() <= slope), "along {axis}");
        for i in 0..CELLS[axis] {
            let is_in = (strained.support[axis][0]..strained.support[axis][1]).contains(&i);
            assert_eq!(is_in, faces[i] > 0.0 || faces[i + 1] > 0.0, "cell {i} along {axis}");
        }
    }
}

#[test]
fn all_rounds_together_move_each_flux_once() {
    let bricks = Bricks::new(Layout::new(Dims::new(CELLS).unwrap()));
    for lost in [1.2, 1.9, 2.7] {
        let strain = Strain { forwards: [lost, 0.1], ..strain([40, 30, 50], [43, 31, 56]) };
        let strained = surrounded(strain, &bricks, [false; 3]);
        assert_eq!(strained.rounds, (lost / EMPTIEST).ceil() as u32);
        for weight in [0.0, 0.25, 1.0] {
            let (mut sum, mut local) = (0.0, 0);
            for round in 0..strained.rounds {
                let part = strained.part(round);
                assert!((part.moved * weight - sum).abs() < 1e-6, "round {round} begins with {sum}");
                sum += part.base + part.slope * weight;
                local += u32::from(part.is_local());
            }
            assert!((sum - 1.0).abs() < 1e-6, "{sum} of a flux with weight {weight}");
            assert_eq!(local, strained.rounds - 1);
        }
    }
}

#[test]
fn there_is_no_box_where_it_would_not_help() {
    let layout = Layout::new(Dims::new(CELLS).unwrap());
    let bricks = Bricks::new(layout);
    let small = strain([40, 30, 50], [43, 31, 56]);
    let rounds = |strain: Strain| surrounded(strain, &bricks, [false; 3]).rounds;
    assert_eq!(rounds(small), 2);
    assert_eq!(rounds(Strain { speed: 4.1, ..small }), 0, "too fast");
    assert_eq!(rounds(Strain { all: 0.011, ..small }), 0, "divergent");
    assert_eq!(rounds(Strain { strained: Default::default(), ..small }), 0, "no cell is strained");
    assert_eq!(rounds(strain([8, 8, 8], [88, 72, 80])), 0, "nearly all bricks lie in it");
}

#[test]
fn the_ramp_is_the_shortest_that_keeps_the_air() {
    let bricks = Bricks::new(Layout::new(Dims::new(CELLS).unwrap()));
    let inner = [[40, 43], [30, 31], [50, 56]];
    let strain = Strain { speed: 4.0, ..strain(inner.map(|[first, _]| first), inner.map(|[_, end]| end)) };
    for (shortest, ramp) in [(8, 8), (9, 12), (16, 16), (17, 16)] {
        let mut strained = StrainedBox::new(Dims::new(CELLS).unwrap());
        strained.surround(&strain, &bricks, (1, [false; 3]), |around| around.support[0][0] + shortest <= 40);
        // 2 · 4 cells · ½ / 0.25 is the longest.
        assert_eq!(strained.support, inner.map(|[first, end]| [first - ramp, end + ramp]), "{shortest}");
    }
}

/// The fluxes of a step over which air crosses this many cells at most, with no sources.
fn air(solver: &mut Solver, cells: f32) -> (Layout, Faces) {
    solver.settle();
    let velocity = solver.velocity().clone();
    let (dt, h) = (cells / solver.stats().max_speed, solver.config().h);
    solver.step(dt).unwrap();
    (solver.layout(), velocity.map(|field| field.iter().map(|u| u * dt / h).collect()))
}

/// Volumes by the definition, cell by cell.
#[derive(Debug)]
struct Volumes {
    /// Least volume after the first two sweeps of a round, in either order of axes, in the box and its ramp, and outside.
    left: [f32; 2],
    /// Greatest change of a volume before the first sweep of a round.
    begun: f32,
    /// Strained cells; all have full weight.
    strained: usize,
}

fn volumes(strained: &StrainedBox, layout: Layout, fluxes: &Faces) -> Volumes {
    let weight = |axis: usize, at: [usize; 3], side: usize| {
        let factor =
            |a: usize| if a == axis { strained.faces[a][at[a] + side] } else { strained.cells[a][at[a]] };
        factor(0) * factor(1) * factor(2)
    };
    let mut found = Volumes { left: [1.0; 2], begun: 0.0, strained: 0 };
    for at in (0..layout.dims.cells()).map(|n| layout.dims.place(n)) {
        let here = layout.at(at[0] as isize, at[1] as isize, at[2] as isize);
        let drained = |of: &dyn Fn(usize, usize) -> f32, axis: usize| {
            let flux = |side: usize| fluxes[axis][here + side * layout.strides()[axis]];
            of(axis, 1) * flux(1) - of(axis, 0) * flux(0)
        };
        let phi = |axis: usize, side: usize| weight(axis, at, side);
        let all = |wanted: f32| (0..3).all(|a| phi(a, 0) == wanted && phi(a, 1) == wanted);
        let [x, y, z] = [0, 1, 2].map(|axis| drained(&|_, _| 1.0, axis));
        if [x, x + y, z, z + y].into_iter().any(|lost| lost > NEARLY_EMPTY + 1e-4) {
            assert!(all(1.0), "{at:?} is strained and has less than full weight");
            found.strained += 1;
        }
        for round in 0..strained.rounds {
            let part = strained.part(round);
            let begun = part.moved * (0..3).map(|axis| drained(&phi, axis)).sum::<f32>();
            found.begun = found.begun.max(begun.abs());
            for order in [[0, 1, 2], [2, 1, 0]] {
                let mut volume = 1.0 - begun;
                for axis in &order[..2] {
                    volume -= drained(&|a, side| part.base + part.slope * phi(a, side), *axis);
                    let left = &mut found.left[usize::from(all(0.0))];
                    *left = left.min(volume);
                }
            }
        }
    }
    found
}

/// Cells that a step of one round would strain have full weight, those outside the box keep the air that such a step leaves them, and
/// in the box and its ramp at least 1 − [`EMPTIEST`] is left before each sweep of each round, and before the first one [`LEAST_BEFORE`].
#[test]
fn no_cell_is_emptied_in_any_round() {
    for (speed, cells) in [(0.1, 2.0), (0.5, 3.2)] {
        let config = Config { integrator: Integrator::Projection, ..config() };
        let mut solver = blown(config, speed, |_| [1.0, 0.0, 0.0, 0.0]);
        let (layout, fluxes) = air(&mut solver, cells);
        let strained = &solver.fields.sweeps.as_ref().unwrap().strained;
        assert!(strained.rounds > 1, "{speed}: {:?}", solver.stats());
        let found = volumes(strained, layout, &fluxes);
        let [within, beside] = found.left;
        assert!(within >= 1.0 - EMPTIEST - 1e-3 && beside >= 1.0 - NEARLY_EMPTY - 1e-3, "{found:?}");
        assert!(found.strained > 10 && found.begun <= 1.0 - LEAST_BEFORE + 1e-3, "{found:?}");
    }
}

/// Steep ramps around strained cells empty cells of the ramp.
#[test]
fn ramps_that_empty_cells_are_told_from_those_that_do_not() {
    let config = Config { integrator: Integrator::Projection, ..config() };
    let mut solver = blown(config, 0.5, |_| [1.0, 0.0, 0.0, 0.0]);
    let (layout, fluxes) = air(&mut solver, 3.2);
    let bricks = Bricks::new(layout);
    let flow = Flow {
        layout,
        walls: &solver.fields.walls,
        velocity: &fluxes,
        flags: None,
        prolonged: None,
        steps: 1.0,
    };
    let strain = Sweeps::new(layout, 1, 1).strain(&flow, &bricks);
    let mut around = StrainedBox::new(layout.dims);
    around.rounds = (strain.greatest() / EMPTIEST).ceil() as u32;
    let mut answers = vec![];
    for ramp in [2.0, 3.0, 4.0, 6.0, 8.0, 16.0] {
        around.lay(strain.strained[1], [false; 3], ramp);
        let found = volumes(&around, layout, &fluxes);
        let least = found.left[0].min(found.left[1]);
        let keeps = least >= 1.0 - EMPTIEST && found.begun <= 1.0 - LEAST_BEFORE;
        let answer = keeps_its_air(&around, &mut vec![0.0; layout.dims.nz], &flow, &bricks);
        // In local rounds the answer bounds what is left from below.
        assert!(!answer || keeps, "{ramp}: {found:?}");
        assert!(answer || !keeps || least < 1.3 - EMPTIEST, "{ramp}: {found:?}");
        answers.push(answer);
    }
    assert!(!answers[0] && answers[5] && answers.is_sorted(), "{answers:?}");
}

/// The order of axes alternates from step to step, also where a step has an even number of rounds.
#[test]
fn the_next_step_begins_with_the_other_end_of_the_axes() {
    let mut solver = shaken(config(), |_| [1.0, 0.0, 0.0, 0.0]);
    let mut is_even = false;
    for cells in [2.0, 1.7, 1.4, 1.2] {
        let before = solver.fields.sweeps.as_ref().unwrap().backwards;
        solver.step(cells / solver.stats().max_speed).unwrap();
        let sweeps = solver.fields.sweeps.as_ref().unwrap();
        assert!(sweeps.backwards != before, "after {} rounds", sweeps.strained.rounds);
        is_even |= sweeps.strained.rounds > 1 && sweeps.strained.rounds.is_multiple_of(2);
    }
    assert!(is_even, "no step had an even number of rounds");
}
