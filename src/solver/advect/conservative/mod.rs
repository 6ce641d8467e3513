//! Conservative advection of the scalars: flux-form sweeps along one axis after another.
//!
//! A sweep moves the contents of the air that crosses each face. Piecewise parabolas give these contents (`parabola.rs`; Colella &
//! Woodward 1984). The volume of air V in each cell moves along: it is 1 before the first sweep and, in a flow without divergence,
//! 1 again after the last. Between two sweeps a cell may hold more air or less (Leonard, Lock & MacVean 1996; Lin & Rood 1996). With
//! contents m = V q of a cell of value q, volumes F that cross its faces and the mean values f of these,
//!
//! ```text
//!     V' = V − ΔF,   m' = m − Δ(F f),   q' = m'/V'
//! ```
//!
//! so a uniform q stays uniform. Between two sweeps m is stored. A sweep computes V from the velocity along the axis before it. The
//! last sweep computes V from its own axis alone, because it makes V 1 again. After it q = m: sums change by rounding only, whatever
//! divergence the projection has left.
//!
//! - **Order.** x, y, z and z, y, x alternate.
//! - **Fast flow.** A flux gathers as many cells upstream as it needs. While the volumes are positive, two faces never take the same
//!   air. The step is divided into rounds where a cell would nearly run empty between two sweeps, or where the flow crosses more than
//!   four cells (`strain.rs`). If few cells are so strained, only a box around them takes several rounds (`strained_box.rs`). A step that
//!   needs more than a thousand moves the scalars only a share of the way.
//! - **Solids.** A cut face passes its open part, a closed face nothing. A cell beside a solid counts as whole, as for the pressure.
//!   Parabolas read no value across a closed face.
//! - **Sides.** Walls pass nothing. Air that enters through an open side is clean; that of an inflow has the scalars of the inflow. The
//!   fluxes through the sides are counted.
//!
//! Each thread interleaves [`ACROSS`] lines in scratch memory, so one kernel serves all axes. Empty lines are skipped, and scalars that
//! are 0 along all of them.

use rayon::prelude::*;

pub use self::coarse_strain::Prolonged;
use self::interleave::{Found, LineLayout};
use self::next_lines::NextLines;
use self::parabola::{ACROSS, BEYOND, HALO, LineSweep, Lines, MOST_UPSTREAM};
use self::round_decay::RoundDecay;
use self::strain::{EMPTIEST, LEAST_BEFORE, Rounds, Strain};
use self::strained_box::{Part, StrainedBox};
use super::scale_row;
use crate::grid::{Faces, GHOST, Layout};
use crate::solver::BoundaryCondition;
use crate::solver::config::SCALAR_LIMIT;
use crate::solver::sides::GhostRules;
use crate::solver::sides::entering::StepDecay;
use crate::solver::storage::active_bricks::Bricks;
use crate::solver::storage::halt::Halt;
use crate::solver::storage::row_passes::{self, PerThread, Shared};

mod coarse_strain;
mod interleave;
mod kept_air;
mod loading;
mod next_lines;
mod parabola;
mod round_decay;
mod strain;
mod strained_box;

/// Scalars that cross the sides of the box outwards, as sums over cells: as the sweeps move them, all before the decay of the step, and as
/// they cross, each with the decay until then.
pub type Outflow = [[f64; 4]; 2];

/// Memory of the scheme.
pub struct Sweeps {
    threads: PerThread<Lines>,
    /// Strain and speed of each plane.
    strain: Vec<Strain>,
    /// Greatest loss of air of a cell in each plane of a box around strained cells, over its limit.
    losses: Vec<f32>,
    /// Net outflow through the sides \[cells\]: of each plane for the sweeps along x and y, of each row for those along z.
    left: [Vec<Outflow>; 2],
    /// With several ranks the outflow through the lower and the upper z side \[cells\], of each bundle of lines along z.
    through_ends: [Vec<Outflow>; 2],
    /// Whether the next round ends with x.
    pub backwards: bool,
    /// Cells along each edge of a cell of the velocity.
    finer: usize,
    /// Result of [`plan`](Self::plan).
    rounds: Rounds,
    strained: StrainedBox,
}

/// The input of a step.
pub struct Flow<'a> {
    pub layout: Layout,
    pub walls: &'a GhostRules,
    /// Mean normal velocity of each face \[m/s\], 0 where it is closed.
    pub velocity: &'a Faces,
    /// Flags of closed faces, if there are solids.
    pub flags: Option<&'a [u8]>,
    /// The velocity of which `velocity` is the prolongation, if it is no more than that, over two cells along each edge.
    pub prolonged: Option<Prolonged<'a>>,
    /// Δt/h.
    pub steps: f32,
}

/// Upper bound of the number of cells that scalars cross at a CFL number of the air.
pub fn farthest(cfl: f32) -> f32 {
    cfl / (1.0 - EMPTIEST)
}

/// Upper bound of the number of cells that scalars cross in the first and the last sweep of a round at a CFL number of the air.
/// In the box around strained cells the first sweep begins with at least this part of the air.
fn fullest(cfl: f32) -> f32 {
    cfl / LEAST_BEFORE
}

/// Planes beside a slab that a sweep along z reads at a CFL number of the air.
///
/// The volumes of n cells upstream of a face hold n less what crosses the face behind them, so as many cells as the CFL number says
/// hold what crosses the face; rounding may ask for one more. The parabola of the last reads [`BEYOND`] cells.
pub fn halo(cfl: f32) -> usize {
    (fullest(cfl).ceil().min(MOST_UPSTREAM as f32) as usize) + 2 + BEYOND
}

impl Flow<'_> {
    /// Returns true if the box has one cell along this axis between walls.
    fn is_still(&self, axis: usize) -> bool {
        self.layout.dims.array()[axis] == 1 && self.walls.is_shut(axis)
    }

    fn rows(&self) -> [[isize; 2]; 2] {
        let dims = self.layout.dims;
        [[0, dims.ny as isize], [0, dims.nz as isize]]
    }
}

impl Sweeps {
    /// For fields of `layout`, whose velocity is known on cells this many times as large.
    pub fn new(layout: Layout, finer: usize, threads: usize) -> Self {
        let [nx, ny, nz] = layout.dims.array();
        Self {
            threads: PerThread::new(threads, || Lines::new(nx.max(ny).max(nz))),
            strain: vec![Strain::default(); nz],
            losses: vec![0.0; nz],
            left: [vec![Outflow::default(); nz], vec![Outflow::default(); ny]],
            through_ends: [Vec::new(), Vec::new()],
            backwards: false,
            finer,
            rounds: Rounds { count: 1.0, share: 1.0, ends: 0.0, middle: 0.0 },
            strained: StrainedBox::new(layout.dims),
        }
    }

    /// Whether the last step took more rounds in a part of the box.
    #[cfg(test)]
    pub fn has_strained_box(&self) -> bool {
        self.strained.rounds > 0
    }

    /// Makes x the first axis of the next step.
    pub fn restart(&mut self) {
        self.backwards = false;
    }

    /// Divides a step into rounds. Returns true if [`advance`](Self::advance) will read all components of the velocity [`halo`] planes
    /// beside a slab, and not only that along z. `cfl` is the CFL number of the air.
    pub fn plan(&mut self, flow: &Flow, bricks: &mut Bricks, cfl: f32) -> bool {
        // The strain counts only where scalars may arrive.
        bricks.dilate(flow.walls.surroundings(), farthest(cfl));
        let strain = self.strain(flow, bricks);
        self.rounds = strain.rounds(self.backwards, self.finer, farthest(cfl));
        self.strained.rounds = 0;
        if self.rounds.count > 1.0 {
            let Self { strained, losses, finer, .. } = self;
            let keeps_its_air = |around: &_| kept_air::keeps_its_air(around, losses, flow, bricks);
            strained.surround(&strain, bricks, (*finer, flow.walls.periodic()), keeps_its_air);
        }
        if self.strained.rounds > 0 {
            let [ends, middle] = [fullest(strain.speed), farthest(strain.speed)];
            self.rounds = Rounds { count: 1.0, share: 1.0, ends, middle };
        }
        self.strained.rounds > 0
    }

    /// Advects `scalars` in the planned rounds and multiplies them by `decay`. Returns the net outflow through the sides \[cells\].
    /// `cfl` is the CFL number of the air.
    pub fn advance(
        &mut self,
        flow: &Flow,
        decay: &[f32; 4],
        scalars: &mut [[f32; 4]],
        bricks: &mut Bricks,
        (cfl, halt): (f32, &Halt),
    ) -> Outflow {
        let Rounds { count, share, ends, middle } = self.rounds;
        bricks.dilate(flow.walls.surroundings(), ends.max(middle));
        self.left.iter_mut().flatten().for_each(|left| *left = Outflow::default());
        let bounds = [ends, middle].map(|cells| (cells / count).ceil().min(1e9) as usize + 1);
        let most = [flow.steps, cfl].map(|x| x * share / count);
        let last = (count as u32).max(self.strained.rounds) - 1;
        // Rounds of a box alternate too, and the last one alternates from step to step.
        self.backwards ^= self.strained.rounds > 0 && last % 2 == 1;
        for round in 0..=last {
            let factors = if round == last { *decay } else { [1.0; 4] };
            // Beside a box around strained cells the last round moves all air at once.
            let parts = if self.strained.rounds > 0 { [0.0, 1.0] } else { [round, round + 1].map(f64::from) };
            let of_round =
                RoundDecay::new(factors, StepDecay::new(decay), parts.map(|part| part / f64::from(count)));
            self.round(flow, most, bounds, (&of_round, round), scalars, (bricks, halt));
        }
        flow.walls.ranks().gather(&mut self.left[0], 1);
        flow.walls.ranks().last_to_all(&mut self.left[1]);
        let mut sum = Outflow::default();
        self.left.iter().flatten().for_each(|left| add(&mut sum, left));
        sum
    }

    /// Sweeps once along each axis over `steps` = Δt/h, where `cfl` is the CFL number of the air, and scalars cross fewer cells than
    /// `bounds` in the sweeps at the ends and in the one between them.
    fn round(
        &mut self,
        flow: &Flow,
        [steps, cfl]: [f32; 2],
        bounds: [usize; 2],
        (decay, round): (&RoundDecay, u32),
        scalars: &mut [[f32; 4]],
        (bricks, halt): (&Bricks, &Halt),
    ) {
        let mut order =
            if self.backwards { [2, 1, 0] } else { [0, 1, 2] }.into_iter().filter(|&a| !flow.is_still(a));
        let Some(first) = order.next() else {
            return row_passes::rows(flow.layout, scalars, flow.rows(), |_, _, row| {
                scale_row(&decay.factors, SCALAR_LIMIT, &mut row[GHOST..GHOST + flow.layout.dims.nx]);
            });
        };
        let ends = [first, order.next_back().unwrap_or(first)];
        let most_upstream = MOST_UPSTREAM * self.finer;
        let backwards = self.backwards;
        let part = (self.strained.rounds > 0).then(|| self.strained.part(round));
        let pass = Pass { flow, steps, bounds, most_upstream, decay, ends, bricks, backwards, part, halt };
        let Self { threads, left: [of_planes, of_rows], through_ends, .. } = self;
        let mut along_z = |scalars: &mut [[f32; 4]]| {
            if flow.walls.ranks().is_alone() {
                pass.along_z(threads, of_rows, scalars);
            } else if !flow.is_still(2) {
                pass.along_z_in_slab(threads, of_rows, through_ends, scalars, halo(cfl));
            }
        };
        if self.backwards {
            along_z(scalars);
            pass.in_planes(threads, of_planes, scalars);
        } else {
            pass.in_planes(threads, of_planes, scalars);
            along_z(scalars);
        }
        self.backwards = !self.backwards;
    }
}

/// Adds an outflow to a sum.
fn add(sum: &mut Outflow, outflow: &Outflow) {
    sum.as_flattened_mut().iter_mut().zip(outflow.as_flattened()).for_each(|(sum, outflow)| *sum += outflow);
}

/// One round.
struct Pass<'a> {
    flow: &'a Flow<'a>,
    /// Δt/h of the round.
    steps: f32,
    /// Cells that the air crosses at most in the sweeps at the ends, and in the one between them.
    bounds: [usize; 2],
    /// Limit of the number of cells upstream that a face reads.
    most_upstream: usize,
    decay: &'a RoundDecay,
    /// The first axis that is swept, and the last.
    ends: [usize; 2],
    bricks: &'a Bricks,
    backwards: bool,
    /// With a box around strained cells.
    part: Option<Part<'a>>,
    halt: &'a Halt<'a>,
}

/// Interleaved lines along an axis, and the range of their cells that may be occupied after the sweep.
#[derive(Clone, Copy)]
struct Bundle {
    axis: usize,
    place: LineLayout,
    range: [usize; 2],
    /// The first cell of the first line.
    origin: [usize; 3],
}

impl Bundle {
    /// The axis across which the lines lie.
    fn lanes(&self) -> usize {
        usize::from(self.axis == 0)
    }
}

impl Pass<'_> {
    /// Cells that the air crosses at most in the sweep along `axis`.
    fn bound(&self, axis: usize) -> usize {
        self.bounds[usize::from(!self.ends.contains(&axis))]
    }

    /// Cells upstream that a face may read in the sweep along `axis`.
    fn upstream(&self, axis: usize) -> usize {
        self.bound(axis).clamp(BEYOND, self.most_upstream)
    }

    /// Sweeps along x and y, or y and x, plane by plane.
    fn in_planes(&self, threads: &PerThread<Lines>, left: &mut [Outflow], scalars: &mut [[f32; 4]]) {
        let layout = self.flow.layout;
        let scalars = Shared::new(scalars.as_flattened_mut());
        let [low, high] = layout.cell_planes();
        left[low..high].par_iter_mut().enumerate().for_each(|(k, left)| {
            let (k, lines) = (low + k, &mut *threads.mine());
            if self.halt.is_raised() {
                return;
            }
            for axis in if self.backwards { [1, 0] } else { [0, 1] } {
                let (across, end) =
                    if axis == 0 { (layout.row, layout.dims.ny) } else { (1, layout.dims.nx) };
                for from in (0..end).step_by(ACROSS) {
                    let count = ACROSS.min(end - from);
                    let range = if axis == 0 {
                        self.bricks.span(from, k)
                    } else {
                        self.bricks.span_along(1, [from, from + count], k)
                    };
                    let at = layout.start(0, k) + from * across;
                    let place = LineLayout { at, across, along: layout.strides()[axis], count };
                    let origin = if axis == 0 { [0, from, k] } else { [from, 0, k] };
                    let bundle = Bundle { axis, place, range: [range.start, range.end], origin };
                    // SAFETY: this task alone has plane k, and sweeps its lines one bundle after another.
                    #[allow(unsafe_code)]
                    unsafe {
                        self.sweep(lines, bundle, &scalars, left);
                    }
                }
            }
        });
    }

    fn along_z(&self, threads: &PerThread<Lines>, left: &mut [Outflow], scalars: &mut [[f32; 4]]) {
        let layout = self.flow.layout;
        let scalars = Shared::new(scalars.as_flattened_mut());
        left.par_iter_mut().enumerate().for_each(|(j, left)| {
            let lines = &mut *threads.mine();
            if self.halt.is_raised() {
                return;
            }
            for from in (0..layout.dims.nx).step_by(ACROSS) {
                let count = ACROSS.min(layout.dims.nx - from);
                let range = self.bricks.span_along(2, [from, from + count], j);
                let at = layout.start(j, 0) + from;
                let place = LineLayout { at, across: 1, along: layout.plane, count };
                let (range, origin) = ([range.start, range.end], [from, j, 0]);
                // SAFETY: this task alone has the lines along z of row j, and sweeps one bundle after another.
                #[allow(unsafe_code)]
                unsafe {
                    self.sweep(lines, Bundle { axis: 2, place, range, origin }, &scalars, left);
                }
            }
        });
    }

    /// As [`along_z`](Self::along_z), in a slab and `halo` planes beside it, of which the slab is kept. The last rank adds the outflow
    /// of all bundles to `left`, in the order of one rank.
    fn along_z_in_slab(
        &self,
        threads: &PerThread<Lines>,
        left: &mut [Outflow],
        through_ends: &mut [Vec<Outflow>; 2],
        scalars: &mut [[f32; 4]],
        halo: usize,
    ) {
        let (layout, walls) = (self.flow.layout, self.flow.walls);
        let (ranks, nx, nz) = (walls.ranks(), layout.dims.nx, layout.dims.nz);
        ranks.exchange(layout, [scalars], [halo; 2]);
        let [low, high] = layout.cell_planes();
        let around = walls.periodic()[2] && (low < halo || high + halo > nz);
        // Lines around a periodic axis are swept whole; cells beyond the window may hold anything.
        let window = if around { [0, nz] } else { [low.saturating_sub(halo), (high + halo).min(nz)] };
        let bundles = nx.div_ceil(ACROSS);
        let mine = &mut through_ends[usize::from(low > 0)];
        mine.resize(layout.dims.ny * bundles, Outflow::default());
        let scalars = Shared::new(scalars.as_flattened_mut());
        mine.par_chunks_mut(bundles).enumerate().for_each(|(j, row)| {
            let lines = &mut *threads.mine();
            for (from, through) in (0..nx).step_by(ACROSS).zip(row) {
                *through = Outflow::default();
                let count = ACROSS.min(nx - from);
                let span = self.bricks.span_along(2, [from, from + count], j);
                let range = [span.start.max(window[0]), span.end.min(window[1])];
                let place =
                    LineLayout { at: layout.start(j, 0) + from, across: 1, along: layout.plane, count };
                let bundle = Bundle { axis: 2, place, range, origin: [from, j, 0] };
                // SAFETY: as in `along_z`.
                #[allow(unsafe_code)]
                unsafe {
                    self.sweep(lines, bundle, &scalars, through);
                }
            }
        });
        let [below, above] = through_ends;
        below.resize(layout.dims.ny * bundles, Outflow::default());
        ranks.first_to_last(below);
        if high == nz {
            let rows = below.chunks(bundles).zip(above.chunks(bundles));
            for (left, (below, above)) in left.iter_mut().zip(rows) {
                for through in below.iter().zip(above).flat_map(|(below, above)| [below, above]) {
                    add(left, through);
                }
            }
        }
    }

    /// Sweeps one bundle of lines. Out of line: it has three callers, and copies of it are slower.
    ///
    /// # Safety
    /// No part of `scalars` that overlaps these lines may be alive, on this thread or another.
    #[inline(never)]
    #[allow(unsafe_code)]
    unsafe fn sweep(&self, lines: &mut Lines, bundle: Bundle, scalars: &Shared<f32>, left: &mut Outflow) {
        let part = self
            .part
            .filter(|part| part.meets(bundle.axis, bundle.lanes(), bundle.origin, bundle.place.count));
        let bundle = match self.part {
            Some(whole) if whole.is_local() => {
                if part.is_none() {
                    return;
                }
                let ([first, end], window) = (bundle.range, whole.window(bundle.axis));
                Bundle { range: [first.max(window[0]), end.min(window[1])], ..bundle }
            }
            _ => bundle,
        };
        let Bundle { axis, place, range: [first, end], .. } = bundle;
        let walls = self.flow.walls;
        if first >= end || self.flow.is_still(axis) {
            return;
        }
        let mut found = Found { range: [0; 2], holds: [false; 4] };
        // Dense lines are prefetched during the sweep, others during the load. The lines before serve as the prediction.
        let early = !lines.dense;
        let inside = |[first, end]: [usize; 2]| first + HALO..end + HALO;
        let [a, b, c, d] = &mut lines.values;
        let whole = inside([first, end]);
        let cells = [&mut a[whole.clone()], &mut b[whole.clone()], &mut c[whole.clone()], &mut d[whole]];
        // SAFETY: by the contract of this function.
        unsafe { interleave::load(scalars, place, [first, end], early, cells, &mut found) };
        let (range, holds) = self.moves(bundle, &found);
        let n = self.flow.layout.dims.array()[axis];
        lines.dense = range[1].saturating_sub(range[0]) > n - n / 8;
        if range[0] >= range[1] {
            return;
        }
        let bundle = Bundle { range, ..bundle };
        self.load_motion(lines, bundle, part);
        let walled = self.load_walls(lines, bundle);
        let cells = [range[0] + HALO, range[1] + HALO];
        let deep = lines.weigh(cells);
        let wraps = walls.periodic()[axis] && range == [0, n];
        let (is_whole, upstream) = (lines.whole, self.upstream(axis));
        if !is_whole {
            lines.invert(cells);
        }
        let decay = (self.ends[1] == axis).then_some(self.decay.factors);
        let sweep = LineSweep { cells, walled, wraps, deep, upstream, decay };
        let (mut held, mut count) = ([0; 4], 0);
        for c in (0..4).filter(|&c| holds[c]) {
            held[count] = c;
            count += 1;
        }
        let strides = [place.at, place.across, place.along];
        let next = NextLines::after(scalars, &self.flow.velocity[axis], strides, range[0]);
        for (pair, held) in held[..count].chunks(2).enumerate() {
            for &c in held {
                if !is_whole {
                    lines.divide(c, cells);
                }
                self.load_ghosts(lines, c, (bundle, part), if deep { upstream } else { BEYOND });
            }
            let halves = [pair == 0, pair == 1 || count <= 2].map(|half| half && !early);
            let next = next.only([halves[0], halves[1], pair == 0]);
            lines.advance(held, sweep, next);
            held.iter().for_each(|&c| self.count_sides(lines, c, (bundle, part), left));
        }
        let [low, high] = self.flow.layout.cell_planes();
        let range = if axis == 2 { [range[0].max(low), range[1].min(high)] } else { range };
        if range[0] < range[1] {
            let [a, b, c, d] = &lines.values;
            let cells = inside(range);
            let from = [&a[cells.clone()], &b[cells.clone()], &c[cells.clone()], &d[cells]];
            // SAFETY: by the contract of this function.
            unsafe { interleave::store(scalars, place, range, from) };
        }
    }

    /// Returns the range of cells that are occupied after the sweep, and the scalars that are present.
    fn moves(&self, Bundle { axis, range, .. }: Bundle, found: &Found) -> ([usize; 2], [bool; 4]) {
        let walls = self.flow.walls;
        let (mut holds, mut feeds) = (found.holds, false);
        for (end, side) in walls.sides()[axis].into_iter().enumerate() {
            if let BoundaryCondition::Inflow(air) = side {
                let enters =
                    [0, 1, 2, 3].map(|c| air.scalars[c] != 0.0 || walls.gives_scalar([axis, end], c));
                feeds |= enters != [false; 4];
                holds = [0, 1, 2, 3].map(|c| holds[c] || enters[c]);
            }
        }
        if feeds || walls.periodic()[axis] {
            let none = holds == [false; 4];
            return (if none { [0; 2] } else { range }, holds);
        }
        let [first, end] = found.range;
        if first >= end {
            return ([0; 2], holds);
        }
        let bound = self.bound(axis);
        ([first.saturating_sub(bound).max(range[0]), (end + bound).min(range[1])], holds)
    }
}
