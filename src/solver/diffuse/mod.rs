//! Viscosity and diffusion, stable for any coefficient and any step.
//!
//! ∂q/∂t = κ ∇²q is solved one axis after the other (locally one-dimensional splitting: in a box the axes'
//! operators commute, so the splitting costs no accuracy, and the values at sides are added evenly, see `axis_order.rs`). Each axis uses the two-stage, second-order,
//! L-stable SDIRK method with γ = 1 − 1/√2 (Alexander 1977): stiff modes decay at once instead of ringing. A
//! stage is one tridiagonal system for each line, solved by Thomas' algorithm on 64 lines at once. Its
//! unknowns are the changes of the values: the rounding of a pivot is the same at each step, and must scale
//! with the changes, not with the values.
//!
//! Values that decay as exp(−k t) have done so for the whole step before they diffuse. That is exact for what the box holds: decay and
//! diffusion commute. But a value that comes from an end or a surface at a part τ of the step decays for the rest of it only, so each
//! stage takes the values beyond the ends times exp(−k (1 − τ) Δt), see [`Diffusion::begin`]. Without this, layers beside held walls were
//! half a step's decay too strong in each step, which is of first order.
//!
//! Solids cut lines apart, see [`links`]. There the axes no longer commute, and the splitting is first order
//! in time.

use rayon::prelude::*;

use super::storage::halt::Halt;
use super::storage::ranks::{Ranks, Stack};
use super::storage::row_passes::{PerThread, Shared};
use crate::grid::{GHOST, Layout};
use crate::simd::LANES;
use crate::simd::vectors::Lane;

mod axis_order;
mod end_gains;
mod line_groups;
mod links;
mod system;

use axis_order::Share;
use end_gains::EndGains;
pub use end_gains::Gains;
use line_groups::Lines;
pub use links::{Link, Links};
use system::System;

/// Lines solved together.
const WIDTH: usize = 64;

/// One index along the lines of a group: interleaved points of N values each.
type Wide = [f32; WIDTH];

/// Additions beyond both ends of the lines of a group, in each stage.
type Adds = [[Wide; 2]; 2];

/// Largest κ Δt/h² used. Beyond it any box that fits in memory is almost uniform after a few steps, and the 1
/// of 1 + 2a would be lost to rounding.
const LARGEST: f32 = 1e4;

/// Least part that a step's decay leaves: less than what a picture shows.
const LEAST_LEFT: f32 = 1e-13;

/// Greatest growth of a step that counts. Scalars beyond their limit are clamped as they move.
const MOST_GROWN: f32 = 1e4;

/// γ of the method.
const GAMMA: f32 = 1.0 - std::f32::consts::FRAC_1_SQRT_2;

/// Parts of the changes that the two stages add: the second stage begins with (1 − γ)/γ of the first one's.
const STAGES: [f32; 2] = [(1.0 - GAMMA) / GAMMA, 1.0];

/// Share of a step at which each stage takes the values beyond the ends.
const INSTANTS: [f32; 2] = [GAMMA, 1.0];

/// Value beyond an end of a line: `sign` times the last one inside, plus `add`, for each of N values. A sign
/// of −1 is a wall half way between the two with the value ½ `add`.
#[derive(Clone, Copy, Debug)]
pub struct End<const N: usize> {
    /// Factor of the value inside.
    pub sign: [f32; N],
    /// Added value.
    pub add: [f32; N],
}

/// Part of a value beyond an end that varies in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Varying {
    /// The value at the end of a step.
    Value,
    /// Its change during the step.
    Change,
}

/// Boundary conditions of the lines along an axis.
#[derive(Clone, Copy, Debug)]
pub enum LineBoundary<const N: usize> {
    /// One condition at each end.
    Line([End<N>; 2]),
    /// The line is periodic.
    Ring,
}

/// Scratch of one thread, for lines up to a length.
struct Scratch {
    values: Vec<Wide>,
    change: Vec<Wide>,
    /// For lines that solids cut: see [`links`].
    rows: links::Rows,
}

impl Scratch {
    /// Makes scratch for lines of at most `n` values.
    fn new(n: usize) -> Self {
        let wide = || vec![[0.0; WIDTH]; n];
        Self { values: wide(), change: wide(), rows: links::Rows::new(n) }
    }
}

/// Diffuses fields; owns the scratch memory.
pub struct Diffusion {
    threads: PerThread<Scratch>,
    system: System,
    /// For each axis and end, of the values at the end of a step and of their changes; see [`axis_order`].
    shares: [[[Share; 2]; 2]; 3],
    /// For each end that varies, the changes of the values beyond it during a step, N for each line.
    changes: [Vec<f32>; 2],
    /// Shares of a step from the instants of the stages to its end.
    lags: [f32; 2],
    /// Parts that decay leaves, from the instants of the stages to the end of the step.
    fades: [Lane; 2],
    /// Gains of the lines through their ends.
    gains: EndGains,
}

impl Diffusion {
    /// Makes scratch for this many threads, and lines of at most `n` values.
    pub fn new(threads: usize, n: usize) -> Self {
        Self {
            threads: PerThread::new(threads, || Scratch::new(n)),
            system: System::new(n),
            shares: Default::default(),
            changes: Default::default(),
            lags: [0.0; 2],
            fades: [[1.0; LANES]; 2],
            gains: EndGains::default(),
        }
    }

    /// Begins the pass of a field over the part `[from, to]` of a step, of which the values have decayed by the factors `decay`. `halves`
    /// says along which axes the first and the last line count half: those on open sides.
    pub fn begin<const N: usize>(&mut self, halves: [[bool; 2]; 3], [from, to]: [f32; 2], decay: [f32; N]) {
        self.gains.begin(halves);
        self.lags = INSTANTS.map(|instant| 1.0 - (from + instant * (to - from)));
        let decay: Lane = std::array::from_fn(|l| decay[l % N].clamp(LEAST_LEFT, MOST_GROWN));
        self.fades =
            self.lags.map(|lag| decay.map(|factor| if factor == 1.0 { 1.0 } else { factor.powf(lag) }));
    }

    /// Sets the changes of the values beyond the ends that vary, for [`along`](Self::along).
    /// `add(end, out)` adds the changes during the whole step to `out`: N values for each line within `range`, those of the lower of the
    /// other two axes beside each other. Each stage takes the values at its instant, so unsteady walls are of second order in time.
    pub fn vary<const N: usize>(
        &mut self,
        axis: usize,
        range: [[isize; 2]; 3],
        varies: [bool; 2],
        add: impl Fn(usize, &mut [[f32; N]]),
    ) {
        let count = range.map(|[first, end]| (end - first).max(0) as usize);
        for end in (0..2).filter(|&end| varies[end]) {
            let changes = &mut self.changes[end];
            changes.clear();
            changes.resize(axis_order::across::<N>(axis, count), 0.0);
            add(end, changes.as_chunks_mut().0);
        }
    }

    /// Diffuses `field` of all `ranks` along `axis` within `range` (half-open, along x, y, z). `number` is κ Δt/h² of each value. At an end that
    /// varies from line to line, the field holds the values beyond it at the end of the step, and [`vary`](Self::vary) has set their
    /// changes. `links` says where solids cut the lines, of this range and axis.
    #[allow(clippy::too_many_arguments)]
    pub fn along<const N: usize>(
        &mut self,
        layout: Layout,
        ranks: &Ranks,
        field: &mut [[f32; N]],
        axis: usize,
        range: [[isize; 2]; 3],
        number: [f32; N],
        (ends, varies): (&LineBoundary<N>, [bool; 2]),
        links: Option<&mut Links<N>>,
        halt: &Halt,
    ) {
        // Lines along z cross all slabs: each rank takes some rows of all planes.
        let (width, unit) = (layout.plane * N, layout.row * N);
        let stack = Stack { plane: width, width, unit, ghosts: GHOST };
        if axis == 2 {
            ranks.to_columns(field.as_flattened_mut(), stack);
        }
        let own = own_range(layout, ranks, axis, range);
        self.gains.prepare::<N>(axis, range, ends);
        self.solve(layout, field, axis, [own, range], number, (ends, varies), links, halt);
        self.gains.collect::<N>(ranks, axis, [own, range]);
        if axis == 2 {
            ranks.to_planes(field.as_flattened_mut(), stack, false);
        }
    }

    /// Diffuses the lines of this rank: those within `range`, a part of `all`.
    #[allow(clippy::too_many_arguments)]
    fn solve<const N: usize>(
        &mut self,
        layout: Layout,
        field: &mut [[f32; N]],
        axis: usize,
        [range, all]: [[[isize; 2]; 3]; 2],
        number: [f32; N],
        (ends, varies): (&LineBoundary<N>, [bool; 2]),
        links: Option<&mut Links<N>>,
        halt: &Halt,
    ) {
        let Self { threads, system, changes, lags, fades, gains, .. } = self;
        let lines = Lines::<N>::new(layout, axis, range);
        if lines.length == 0 {
            return;
        }
        system.set(number, ends, lines.length);
        let (field, system, fades) = (Shared::new(field.as_flattened_mut()), &*system, &*fades);
        let gains = gains.share();
        let links = links.map(Links::share);
        (0..lines.groups()).into_par_iter().for_each(|group| {
            if halt.is_raised() {
                return;
            }
            let Scratch { values, change, rows } = &mut *threads.mine();
            let (values, change) = (&mut values[..lines.length], &mut change[..lines.length]);
            // SAFETY: each group comes once, and only this closure has the field.
            #[allow(unsafe_code)]
            unsafe {
                lines.read(group, &field, values);
            }
            // SAFETY: each group comes once.
            #[allow(unsafe_code)]
            let cut = links.as_ref().and_then(|links| unsafe { links.of_group(group) });
            let mut adds = [system.adds(); 2];
            for end in (0..2).filter(|&end| varies[end]) {
                let mut beyond = [0.0; WIDTH];
                // SAFETY: as for `read`.
                #[allow(unsafe_code)]
                unsafe {
                    lines.read_beyond(group, &field, end, &mut beyond);
                }
                let add = system.add_of(end, &beyond, &values[if end == 0 { 0 } else { lines.length - 1 }]);
                let mut change = [0.0; WIDTH];
                lines.read_across(group, &changes[end], all, &mut change);
                for (adds, lag) in adds.iter_mut().zip(&*lags) {
                    adds[end] = std::array::from_fn(|l| add[l] - lag * change[l]);
                }
            }
            fade(fades, &mut adds);
            let gained = match cut {
                Some(cut) => cut.solve(system, (&adds, fades), rows, values, change),
                None => system.solve((&adds, fades), values, change),
            };
            for (gains, gained) in gains.iter().zip(&gained) {
                if let Some(gains) = gains {
                    // SAFETY: each group comes once.
                    #[allow(unsafe_code)]
                    unsafe {
                        lines.write_across(group, gains, all, gained);
                    }
                }
            }
            // SAFETY: as for `read`.
            #[allow(unsafe_code)]
            unsafe {
                lines.write(group, &field, values);
            }
        });
    }
}

/// Lets what the stages add decay until the end of the step.
fn fade(fades: &[Lane; 2], adds: &mut Adds) {
    for (adds, fades) in adds.iter_mut().zip(fades) {
        for adds in adds {
            adds.iter_mut().enumerate().for_each(|(l, add)| *add *= fades[l % LANES]);
        }
    }
}

/// The part of `range` whose lines along `axis` this rank solves: those of its planes, or along z those of some rows of all planes.
fn own_range(layout: Layout, ranks: &Ranks, axis: usize, mut range: [[isize; 2]; 3]) -> [[isize; 2]; 3] {
    if axis == 2 {
        let rows = ranks.columns(layout.plane / layout.row);
        let [first, end] = [rows.start, rows.end].map(|row| row as isize - GHOST as isize);
        range[1] = [range[1][0].max(first), range[1][1].min(end)];
    } else {
        range[2] = layout.within(range[2]);
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;

    fn run(
        n: usize,
        number: f32,
        ends: LineBoundary<1>,
        steps: usize,
        start: impl Fn(usize) -> f32,
    ) -> Vec<f32> {
        let layout = Layout::new(Dims::new([3, n, 2]).unwrap());
        let mut field = vec![[0.0f32; 1]; layout.size()];
        for k in 0..2 {
            for j in 0..n {
                for i in 0..3 {
                    field[layout.at(i, j as isize, k)] = [start(j)];
                }
            }
        }
        let mut diffusion = Diffusion::new(1, n);
        let range = [[0, 3], [0, n as isize], [0, 2]];
        alone(|| {
            for _ in 0..steps {
                diffusion.along(
                    layout,
                    &Ranks::default(),
                    &mut field,
                    1,
                    range,
                    [number],
                    (&ends, [false; 2]),
                    None,
                    &Halt::never(),
                );
            }
        });
        (0..n).map(|j| field[layout.at(1, j as isize, 1)][0]).collect()
    }

    /// Runs on a pool of one thread.
    fn alone(work: impl FnOnce() + Send) {
        rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(work);
    }

    fn end(sign: f32, add: f32) -> End<1> {
        End { sign: [sign], add: [add] }
    }

    #[test]
    fn modes_decay_at_their_rate_to_second_order() {
        use std::f32::consts::PI;
        let n = 32;
        type Case<'a> = (LineBoundary<1>, &'a dyn Fn(usize) -> f32, f32);
        let cases: [Case; 3] = [
            (LineBoundary::Line([end(1.0, 0.0); 2]), &|j| (PI * (j as f32 + 0.5) / 32.0).cos(), PI / 32.0),
            (LineBoundary::Line([end(-1.0, 0.0); 2]), &|j| (PI * (j as f32 + 0.5) / 32.0).sin(), PI / 32.0),
            (LineBoundary::Ring, &|j| (2.0 * PI * j as f32 / 32.0).sin(), 2.0 * PI / 32.0),
        ];
        for (case, (ends, mode, theta)) in cases.into_iter().enumerate() {
            let lambda = 2.0 - 2.0 * theta.cos();
            let error = |steps: usize| {
                let total = 60.0;
                let got = run(n, total / steps as f32, ends, steps, mode);
                let want = (-lambda * total).exp();
                (0..n).map(|j| (got[j] - want * mode(j)).abs()).fold(0.0, f32::max)
            };
            let (coarse, fine) = (error(4), error(8));
            assert!(coarse < 0.02 && coarse / fine > 3.0, "case {case}: {coarse} then {fine}");
        }
    }

    /// A parabola that is 0 at the walls has the same second derivative everywhere, also in the cells beside
    /// a wall.
    #[test]
    fn a_wall_half_a_cell_away_bends_a_parabola_as_much_as_the_middle() {
        let (n, number) = (16, 0.01);
        let parabola = |j: usize| (j as f32 + 0.5) * (n as f32 - j as f32 - 0.5);
        let after = run(n, number, LineBoundary::Line([end(-1.0, 0.0); 2]), 1, parabola);
        for (j, after) in after.iter().enumerate() {
            let fall = (parabola(j) - after) / (2.0 * number);
            assert!((fall - 1.0).abs() < 0.02, "cell {j}: {fall} of what it should fall");
        }
    }

    /// Diffuses along `axis` a function of the index on the line and the two others.
    fn turned<const N: usize>(axis: usize, n: [usize; 3], ends: &LineBoundary<N>) -> Vec<[f32; N]> {
        let order = [axis, (axis + 1) % 3, (axis + 2) % 3];
        let mut dims = [0; 3];
        (0..3).for_each(|a| dims[order[a]] = n[a]);
        let layout = Layout::new(Dims::new(dims).unwrap());
        let places = (0..n[0]).flat_map(|i| (0..n[1]).flat_map(move |j| (0..n[2]).map(move |k| [i, j, k])));
        let at = |place: [usize; 3]| {
            let mut at = [0; 3];
            (0..3).for_each(|a| at[order[a]] = place[a] as isize);
            layout.at(at[0], at[1], at[2])
        };
        let mut field = vec![[-1.0; N]; layout.size()];
        for [i, j, k] in places.clone() {
            let value = |c: usize| ((i * i * 3 + j * 5 + k * 11 + c * 7) % 23) as f32;
            field[at([i, j, k])] = std::array::from_fn(value);
        }
        let range = dims.map(|n| [0, n as isize]);
        let mut diffusion = Diffusion::new(1, n[0]);
        alone(|| {
            diffusion.along(
                layout,
                &Ranks::default(),
                &mut field,
                axis,
                range,
                [0.7; N],
                (ends, [false; 2]),
                None,
                &Halt::never(),
            )
        });
        let beside = field.iter().filter(|values| **values == [-1.0; N]).count();
        assert_eq!(
            beside,
            layout.size() - dims.iter().product::<usize>(),
            "what is beside the lines has changed"
        );
        places.map(|place| field[at(place)]).collect()
    }

    #[test]
    fn lines_along_every_axis_are_the_same() {
        for n in [[70, 21, 37], [33, 130, 2], [5, 9, 40]] {
            for ends in [LineBoundary::Line([end(1.0, 0.0), end(-1.0, 3.0)]), LineBoundary::Ring] {
                let want = turned(1, n, &ends);
                assert_eq!(turned(0, n, &ends), want, "x, {n:?} {ends:?}");
                assert_eq!(turned(2, n, &ends), want, "z, {n:?} {ends:?}");
            }
            let end = |sign: f32| End { sign: [1.0, sign, -sign, 0.0], add: [0.0, 1.0, 2.0, 3.0] };
            let ends = LineBoundary::Line([end(1.0), end(-1.0)]);
            let want = turned(1, n, &ends);
            assert_eq!(turned(0, n, &ends), want, "x, {n:?}, four values");
            assert_eq!(turned(2, n, &ends), want, "z, {n:?}, four values");
        }
    }

    /// The rounding of a step must not repeat: 1000 steps would add it up.
    #[test]
    fn insulated_lines_keep_their_sum() {
        for ends in [LineBoundary::Line([end(1.0, 0.0); 2]), LineBoundary::Ring] {
            let start = |j: usize| 1.0 + (j * j % 7) as f32;
            let sum = |values: &[f32]| values.iter().map(|x| *x as f64).sum::<f64>();
            let before = sum(&(0..37).map(start).collect::<Vec<_>>());
            let after = sum(&run(37, 3.3, ends, 1000, start));
            assert!((after / before - 1.0).abs() < 1e-6, "{ends:?}: {before} became {after}");
        }
    }

    #[test]
    fn any_number_is_stable_and_reaches_the_steady_state() {
        let between =
            run(20, 1e6, LineBoundary::Line([end(-1.0, 0.0), end(-1.0, 2.0)]), 3, |j| (j % 2) as f32 * 50.0);
        for (j, value) in between.iter().enumerate() {
            let want = (j as f32 + 0.5) / 20.0;
            assert!((value - want).abs() < 2e-3, "{j}: {value} for {want}");
        }
        let insulated = run(20, 1e5, LineBoundary::Line([end(1.0, 0.0); 2]), 3, |j| j as f32);
        assert!(insulated.iter().all(|x| (x - 9.5).abs() < 0.05), "{insulated:?}");
        let ring = run(7, 1e4, LineBoundary::Ring, 3, |j| j as f32);
        assert!(ring.iter().all(|x| (x - 3.0).abs() < 0.02), "{ring:?}");
    }
}
