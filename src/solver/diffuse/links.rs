//! Lines that solids cut.
//!
//! A link joins a point to the next one on its line. Its strength is 1, or 0 where a solid lies between them.
//! A point beside a surface with a fixed value feels that value at a distance of θ cells: (q_wall − q)/θ
//! replaces q_next − q (Gibou, Fedkiw, Cheng & Kang, "A second-order-accurate symmetric discretization of the
//! Poisson equation on irregular domains", 2002). The matrix stays symmetric and positive, so each line is
//! stable for any coefficient and any θ, and what one side of a link loses the other gains.
//!
//! The two slopes beside such a point lie half way to the neighbour and half way to the surface: (1 + θ)/2
//! apart, not 1. So the point's row belongs to a piece of the line of that width, and its value gets that
//! weight. Divided by it the row is the second difference with unequal distances, weights 2/(θ(1 + θ)) and
//! 2/(1 + θ), exact for parabolas. Without the weight a driven or unsteady flow beside the surface is wrong
//! by ½ θ(1 − θ) h² ∂²q/∂n².

use super::line_groups::Lines;
use super::system::{Edge, System};
use super::{Adds, STAGES, WIDTH, Wide, own_range};
use crate::grid::{GHOST, Layout};
use crate::simd::vectors::Lane;
use crate::simd::{LANES, Simd, each_level};
use crate::solver::storage::ranks::Ranks;
use crate::solver::storage::row_passes::{Shared, refill};

/// A point of a line with a solid beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link<const N: usize> {
    /// Strength of the links to the points below and above, 0..1, for each of N values.
    pub strength: [[f32; N]; 2],
    /// Σ 1/θ over the surfaces beside it that hold a value, for each of N values.
    pub wall: [f32; N],
    /// Σ (that value)/θ.
    pub value: [f32; N],
    /// Σ (1 − θ)/2: the deficit of its piece of the line against a cell's width.
    pub deficit: [f32; N],
    /// Solid that holds the value.
    pub owner: u16,
}

impl<const N: usize> Link<N> {
    /// A point without solids beside it.
    pub const FREE: Self =
        Self { strength: [[1.0; N]; 2], wall: [0.0; N], value: [0.0; N], deficit: [0.0; N], owner: 0 };

    /// Adds, for value `c`, a surface of the solid `owner` with the fixed `value` on one side (1: above),
    /// `theta` cells away.
    pub fn hold(&mut self, c: usize, side: usize, theta: f32, value: f32, owner: u16) {
        self.strength[side][c] = 0.0;
        self.wall[c] += 1.0 / theta;
        self.value[c] += value / theta;
        self.deficit[c] += 0.5 * (1.0 - theta);
        self.owner = owner;
    }
}

/// The points of a field's lines along one axis that have solids beside them.
pub struct Links<const N: usize> {
    /// Index along the line and first lane of each, ordered by group, index and lane.
    entries: Vec<(u32, u32, Link<N>)>,
    /// First entry of each group, and the number of entries at the end.
    groups: Vec<u32>,
    /// Flux from each point to the walls beside it in the last pass, as if it were as wide as a cell; summed over its
    /// N values.
    wall_flux: Vec<f32>,
    /// Position of each in the layout.
    places: Vec<u32>,
    /// The entries with their groups and positions, while they are put in order.
    placed: Vec<([usize; 3], u32, Link<N>)>,
}

impl<const N: usize> Default for Links<N> {
    fn default() -> Self {
        Self { entries: vec![], groups: vec![], wall_flux: vec![], places: vec![], placed: vec![] }
    }
}

impl<const N: usize> Links<N> {
    /// Takes over points within `range`, each given once. Of several ranks each gives those of its planes, and gets those of the lines
    /// that it solves.
    pub fn set(
        &mut self,
        layout: Layout,
        ranks: &Ranks,
        axis: usize,
        range: [[isize; 2]; 3],
        points: impl Iterator<Item = ([isize; 3], Link<N>)>,
    ) {
        let range = own_range(layout, ranks, axis, range);
        if axis == 2 && !ranks.is_alone() {
            let [from, to] = layout.planes();
            let points = points.filter(|(at, _)| (from..to).contains(&at[2]));
            return self.place(layout, axis, range, redistribute(layout, ranks, points).into_iter());
        }
        self.place(layout, axis, range, points);
    }

    fn place(
        &mut self,
        layout: Layout,
        axis: usize,
        range: [[isize; 2]; 3],
        points: impl Iterator<Item = ([isize; 3], Link<N>)>,
    ) {
        let Self { entries, groups, wall_flux, places, placed } = self;
        let lines = Lines::<N>::new(layout, axis, range);
        let position = |at: [isize; 3]| layout.at(at[0], at[1], at[2]) as u32;
        let point = |(at, link)| lines.place(at).map(|place| (place, position(at), link));
        refill(placed, points.filter_map(point));
        placed.sort_unstable_by_key(|(place, ..)| *place);
        let first = |group: usize| placed.partition_point(|(place, ..)| place[0] < group) as u32;
        refill(groups, (0..=lines.groups()).map(first));
        refill(entries, placed.iter().map(|&([_, i, lane], _, link)| (i as u32, lane as u32, link)));
        refill(places, placed.iter().map(|&(_, position, _)| position));
        refill(wall_flux, std::iter::repeat_n(0.0, placed.len()));
    }

    /// The solid beside each point, the point's position, and what it has given to the solid in the last pass.
    pub fn wall_flux(&self) -> impl Iterator<Item = (u16, u32, f32)> {
        let flux = self.places.iter().zip(&self.wall_flux);
        self.entries.iter().zip(flux).map(|((_, _, link), (place, flux))| (link.owner, *place, *flux))
    }

    /// Shares the links between threads.
    pub(super) fn share(&mut self) -> SharedLinks<'_, N> {
        SharedLinks {
            entries: &self.entries,
            groups: &self.groups,
            wall_flux: Shared::new(&mut self.wall_flux),
        }
    }
}

/// Brings points of lines along z to the ranks that solve these lines.
fn redistribute<const N: usize>(
    layout: Layout,
    ranks: &Ranks,
    points: impl Iterator<Item = ([isize; 3], Link<N>)>,
) -> Vec<([isize; 3], Link<N>)> {
    let g = GHOST as isize;
    let mut lists = vec![Vec::new(); ranks.size()];
    for (at, link) in points {
        let list: &mut Vec<u32> =
            &mut lists[ranks.owner_of_column((at[1] + g) as usize, layout.plane / layout.row)];
        list.extend(at.map(|x| (x + g) as u32));
        list.push(link.owner.into());
        let Link { strength: [below, above], wall, value, deficit, owner: _ } = link;
        let all = [below, above, wall, value, deficit];
        list.extend(all.iter().flatten().map(|x| x.to_bits()));
    }
    let received = ranks.all_to_all(|rank| &lists[rank]);
    let point = |words: &[u32]| {
        let at = [0, 1, 2].map(|a| words[a] as isize - g);
        let [below, above, wall, value, deficit] =
            std::array::from_fn(|part| std::array::from_fn(|c| f32::from_bits(words[4 + part * N + c])));
        let owner = words[3] as u16;
        (at, Link { strength: [below, above], wall, value, deficit, owner })
    };
    received.chunks_exact(4 + 5 * N).map(point).collect()
}

/// [`Links`] while a pass runs.
pub(super) struct SharedLinks<'a, const N: usize> {
    entries: &'a [(u32, u32, Link<N>)],
    groups: &'a [u32],
    wall_flux: Shared<'a, f32>,
}

impl<const N: usize> SharedLinks<'_, N> {
    /// Returns the entries of a group, if it has any.
    ///
    /// # Safety
    /// The previous result for a group must be dropped before the next call for it, on this thread or
    /// another.
    #[allow(unsafe_code)]
    pub unsafe fn of_group(&self, group: usize) -> Option<Cut<'_, N>> {
        let [from, to] = [self.groups[group], self.groups[group + 1]].map(|at| at as usize);
        (from < to).then(|| Cut {
            entries: &self.entries[from..to],
            // SAFETY: groups share no entries, and the caller has this one alone.
            wall_flux: unsafe { self.wall_flux.part(from, to - from) },
        })
    }
}

/// The entries of one group of lines.
pub(super) struct Cut<'a, const N: usize> {
    entries: &'a [(u32, u32, Link<N>)],
    wall_flux: &'a mut [f32],
}

/// The rows of the system of one group, for the changes δ of the values q:
/// `weight`_i δ_i + Lδ_i = `add`_i − Lq_i with
/// L q_i = `hold`_i q_i + `lower`_i (q_i − q_(i−1)) + `lower`_(i+1) (q_i − q_(i+1)).
pub struct Rows {
    /// weight_i + hold_i + lower_i + lower_(i+1).
    diagonal: Vec<Wide>,
    weight: Vec<Wide>,
    hold: Vec<Wide>,
    /// Zero at both ends, or equal for a ring.
    lower: Vec<Wide>,
    add: Vec<Wide>,
    /// Strength of the links to what lies beyond the two ends.
    ends: [Wide; 2],
    /// Pivots of Thomas' algorithm.
    pivots: Vec<Wide>,
    /// Solution for the corners of a ring's matrix.
    corner: Vec<Wide>,
}

impl Rows {
    /// Makes memory for lines of at most `n` values.
    pub fn new(n: usize) -> Self {
        let wide = |n: usize| vec![[0.0; WIDTH]; n];
        let [diagonal, weight, hold, add, pivots, corner] = std::array::from_fn(|_| wide(n));
        let ends = [[0.0; WIDTH]; 2];
        Self { diagonal, weight, hold, lower: wide(n + 1), add, ends, pivots, corner }
    }
}

impl<const N: usize> Cut<'_, N> {
    /// Both stages, in place; `adds` of each is added at the ends, `rows` and `change` are working memory. Returns what the lines have
    /// gained through each end, without the decay from then on, by the factors `fades`.
    pub fn solve(
        mut self,
        system: &System,
        (adds, fades): (&Adds, &[Lane; 2]),
        rows: &mut Rows,
        values: &mut [Wide],
        change: &mut [Wide],
    ) -> [Wide; 2] {
        self.fill(system, values.len(), rows);
        let is_ring = system.ends.is_none();
        let mut gains = [[0.0; WIDTH]; 2];
        self.wall_flux.fill(0.0);
        for (stage, part) in STAGES.into_iter().enumerate() {
            let fades = [stage.checked_sub(1).map_or([0.0; LANES], |before| fades[before]), fades[stage]];
            self.add_at_walls(&system.a, fades, rows);
            rows.add_at_ends(values.len(), adds, stage);
            rows.right_hand_side(values, change);
            rows.solve(is_ring, change);
            self.give(part, (&system.a, &fades[1]), values, change);
            if let Some(ends) = &system.ends {
                rows.gain_at_ends((part, &fades[1]), ends, &adds[stage], values, change, &mut gains);
            }
            add(part, change, values);
        }
        gains
    }

    fn fill(&self, system: &System, n: usize, rows: &mut Rows) {
        let a: &Wide = &std::array::from_fn(|l| system.a[l % LANES]);
        rows.lower[..=n].fill(*a);
        for zero in [&mut rows.add, &mut rows.hold] {
            zero[..n].fill([0.0; WIDTH]);
        }
        rows.weight[..n].fill([1.0; WIDTH]);
        for (i, lane, link) in self.entries {
            let (i, lane) = (*i as usize, *lane as usize);
            for c in 0..N {
                let (at, a) = (lane + c, a[lane + c]);
                rows.lower[i][at] = rows.lower[i][at].min(a * link.strength[0][c]);
                rows.lower[i + 1][at] = rows.lower[i + 1][at].min(a * link.strength[1][c]);
                rows.hold[i][at] += a * link.wall[c];
                rows.weight[i][at] -= link.deficit[c];
            }
        }
        match &system.ends {
            Some(ends) => rows.close(n, ends),
            None => rows.join(n),
        }
        rows.sum_diagonal(n);
    }

    /// Replaces the additions of walls that hold a value, from those with the factors `before` to those with `now`.
    fn add_at_walls(&self, a: &Lane, [before, now]: [Lane; 2], rows: &mut Rows) {
        for (i, lane, link) in self.entries {
            for c in 0..N {
                let (at, l) = (*lane as usize + c, (*lane as usize + c) % LANES);
                rows.add[*i as usize][at] += a[l] * link.value[c] * (now[l] - before[l]);
            }
        }
    }

    /// Adds the amount that a stage gives to the walls, times `part`. A whole step gives κ Δt/h² ((1 − γ) of
    /// the first stage and γ of the second); `a` holds the γ. Losses of points count as if their pieces of
    /// the line were as wide as cells. `fades` are the factors of the decay from then on.
    fn give(&mut self, part: f32, (a, fades): (&Lane, &Lane), values: &[Wide], change: &[Wide]) {
        for ((i, lane, link), wall_flux) in self.entries.iter().zip(&mut *self.wall_flux) {
            for c in 0..N {
                let (i, lane) = (*i as usize, *lane as usize + c);
                let (value, change) = (values[i][lane], change[i][lane]);
                let (a, left) = (a[lane % LANES], fades[lane % LANES]);
                let to_walls = a * (link.wall[c] * (value + change) - left * link.value[c]);
                *wall_flux += part * (to_walls - link.deficit[c] * change) / left;
            }
        }
    }
}

impl Rows {
    /// Applies the boundary conditions at the ends of lines of n values.
    fn close(&mut self, n: usize, ends: &[Edge; 2]) {
        for (number, (at, link, end)) in [(0, 0, &ends[0]), (n - 1, n, &ends[1])].into_iter().enumerate() {
            for l in 0..WIDTH {
                let (a, c) = (std::mem::take(&mut self.lower[link][l]), l % LANES);
                // A solid before the wall takes its share.
                self.weight[at][l] -= if a > 0.0 { end.deficit[c] } else { 0.0 };
                self.hold[at][l] += a * (1.0 - end.sign[c]);
                self.ends[number][l] = a;
            }
        }
    }

    /// Replaces the additions at the ends in the stage before by those in `stage`.
    fn add_at_ends(&mut self, n: usize, adds: &Adds, stage: usize) {
        for (end, at) in [0, n - 1].into_iter().enumerate() {
            for l in 0..WIDTH {
                let before = if stage == 0 { 0.0 } else { adds[stage - 1][end][l] };
                self.add[at][l] += self.ends[end][l] * (adds[stage][end][l] - before);
            }
        }
    }

    /// Adds to `gains` what a stage brings through the ends of the lines, times `part`, without the decay from then on.
    fn gain_at_ends(
        &self,
        (part, fades): (f32, &Lane),
        ends: &[Edge; 2],
        adds: &[Wide; 2],
        values: &[Wide],
        change: &[Wide],
        gains: &mut [Wide; 2],
    ) {
        for (end, at) in [0, values.len() - 1].into_iter().enumerate() {
            for l in 0..WIDTH {
                let (a, c) = (self.ends[end][l], l % LANES);
                let after = values[at][l] + change[at][l];
                let gain = a * ((ends[end].sign[c] * after + adds[end][l]) - after);
                let deficit = if a > 0.0 { ends[end].deficit[c] } else { 0.0 };
                gains[end][l] += part * (gain + deficit * change[at][l]) / fades[c];
            }
        }
    }

    /// Makes the links at both ends of a ring the same one.
    fn join(&mut self, n: usize) {
        self.ends = [[0.0; WIDTH]; 2];
        for l in 0..WIDTH {
            // A single point is its own neighbour: there is no diffusion.
            let both = if n == 1 { 0.0 } else { self.lower[0][l].min(self.lower[n][l]) };
            (self.lower[0][l], self.lower[n][l]) = (both, both);
        }
    }

    fn sum_diagonal(&mut self, n: usize) {
        for i in 0..n {
            for l in 0..WIDTH {
                let links = self.lower[i][l] + self.lower[i + 1][l];
                self.diagonal[i][l] = self.weight[i][l] + self.hold[i][l] + links;
            }
        }
    }

    /// Computes add − L q. The first and last values are adjacent: their link is 0, or closes a ring.
    fn right_hand_side(&self, values: &[Wide], out: &mut [Wide]) {
        let n = values.len();
        for i in 0..n {
            let [before, after] = [(i + n - 1) % n, (i + 1) % n].map(|i| &values[i]);
            for l in 0..WIDTH {
                let here = values[i][l];
                let links = self.lower[i][l] * (before[l] - here) + self.lower[i + 1][l] * (after[l] - here);
                out[i][l] = (self.add[i][l] - self.hold[i][l] * here) + links;
            }
        }
    }

    fn solve(&mut self, is_ring: bool, values: &mut [Wide]) {
        let n = values.len();
        if is_ring {
            self.around(values);
        } else {
            thomas(&self.diagonal[..n], &self.lower[..n], &mut self.pivots, values);
        }
    }

    /// Solves a ring by the Sherman–Morrison formula (Press et al., "Numerical Recipes", §2.7.2) with γ =
    /// −diagonal_0.
    fn around(&mut self, values: &mut [Wide]) {
        let n = values.len();
        let corner = &mut self.corner[..n];
        let kept = [self.diagonal[0], self.diagonal[n - 1]];
        let across = self.lower[0];
        corner.fill([0.0; WIDTH]);
        for l in 0..WIDTH {
            let b = kept[0][l];
            corner[0][l] = -b;
            corner[n - 1][l] -= across[l];
            self.diagonal[0][l] += b;
            self.diagonal[n - 1][l] += across[l] * across[l] / b;
        }
        thomas(&self.diagonal[..n], &self.lower[..n], &mut self.pivots, values);
        thomas(&self.diagonal[..n], &self.lower[..n], &mut self.pivots, corner);
        for l in 0..WIDTH {
            let part = across[l] / kept[0][l];
            let factor =
                (values[0][l] + part * values[n - 1][l]) / (1.0 + corner[0][l] + part * corner[n - 1][l]);
            for (value, corner) in values.iter_mut().zip(&*corner) {
                value[l] -= factor * corner[l];
            }
        }
        (self.diagonal[0], self.diagonal[n - 1]) = (kept[0], kept[1]);
    }
}

each_level! {
    fn thomas(diagonal: &[Wide], lower: &[Wide], pivots: &mut [Wide], values: &mut [Wide]) = thomas_kernel;
}

#[inline(always)]
fn thomas_kernel<S: Simd>(_: S, diagonal: &[Wide], lower: &[Wide], pivots: &mut [Wide], values: &mut [Wide]) {
    let n = values.len();
    let (mut pivot, mut value) = ([0.0; WIDTH], [0.0; WIDTH]);
    for i in 0..n {
        for l in 0..WIDTH {
            // The first row has no row below it: its pivot and value before are 0.
            let a = lower[i][l];
            pivot[l] = 1.0 / (diagonal[i][l] - a * a * pivot[l]);
            value[l] = (values[i][l] + a * value[l]) * pivot[l];
        }
        pivots[i] = pivot;
        values[i] = value;
    }
    for i in (0..n - 1).rev() {
        for l in 0..WIDTH {
            value[l] = values[i][l] + lower[i + 1][l] * pivots[i][l] * value[l];
        }
        values[i] = value;
    }
}

/// values + part · change.
fn add(part: f32, change: &[Wide], values: &mut [Wide]) {
    for (value, change) in values.iter_mut().zip(change) {
        for l in 0..WIDTH {
            value[l] += part * change[l];
        }
    }
}
