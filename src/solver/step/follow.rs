//! A box whose open sides follow the smoke.
//!
//! Before each step the box is compared with what it must hold: smoke and heat, the sources at work and the solids that move or
//! hold a temperature, with [`Follow::margin`] cells of air around them. If contents stick out, or a quarter of the box is empty, its open sides move to whole
//! bricks around the contents, with a reserve where contents stick out, so that the next move is some steps away (`move_box.rs`).
//! Walls, inflows and periodic sides stay. No side sinks below y = 0, where pictures have their floor.
//!
//! A warm floor and a smoky inflow grow with the box and feed all of it, so their own smoke and heat would
//! let the box grow at every step without end. Along their edges the scalars never exceed the value of the
//! side. So only scalars above that value count as contents there. If the value varies, the greatest one near the edge counts.
//!
//! With several ranks, each finds the contents of its slab, and all decide by the contents of the whole box.
//! A box that would become too thin for the ranks ends the run.

use rayon::prelude::*;

use super::Solver;
use super::distribution::refuse_thin_box;
use crate::grid::Dims;
use crate::room;
use crate::simd::{Simd, each_level, greatest};
use crate::solver::sides::profile::{FIRST_SCALAR, Profile};
use crate::solver::sources::region::FARTHEST;
use crate::solver::storage::active_bricks::EDGE;
use crate::solver::{BoundaryCondition, Config, Follow, Solid, SolverError};

/// Share of the greatest temperature excess below which heat counts as none, as a factor on [`Follow::threshold`].
const COOLEST: f32 = 10.0;

/// Relative overshoot of the advection: scalars that come from a side may exceed its value by this share.
const OVERSHOOT: f32 = 0.01;

/// Cells of a brick, by which sides move.
const BRICK: i32 = EDGE as i32;

/// State of a box that follows its smoke.
pub struct Following {
    /// The box at the start: its first cell, and its cells along each axis.
    start: ([i32; 3], Dims),
    /// Whether the box should have moved before the last step, but had no memory for it.
    full: bool,
    /// Greatest red, green, blue and temperature excess of each brick; scratch.
    greatest: Vec<[f32; 4]>,
}

impl Following {
    /// Of the box of `config`.
    pub fn new(config: &Config) -> Self {
        Self { start: (config.origin, config.dims), full: false, greatest: vec![] }
    }
}

/// Refuses a configuration whose box cannot follow.
pub fn check(config: &Config) -> Result<(), SolverError> {
    let moves = |axis: usize| config.moves(axis, 0) || config.moves(axis, 1);
    if config.follow.on && !(0..3).any(moves) {
        return Err(SolverError::NoSideFollows);
    }
    Ok(())
}

/// Instants at which a profile is evaluated.
const INSTANTS: usize = 32;

/// Distance between cells at which a profile is evaluated.
const STRIDE: usize = 3;

/// Factor on the greatest value of a profile that is found: it may be greater between these instants and cells.
const BETWEEN: f32 = 1.05;

/// The time for which air stays in the box, as a multiple of that at the speed of the inflow.
const SLOWER: f64 = 2.0;

/// For growth at the low and the high side of each axis, the greatest red, green, blue and temperature excess that sides across the other
/// axes give to all air beside them. A profile counts with its values near the side that would move, now and while the air of the box
/// came in.
fn given(config: &Config, conduction: f32, profiles: &[Profile], time: f64) -> [[[f32; 4]; 2]; 3] {
    let mut given = [[[0.0f32; 4]; 2]; 3];
    for (axis, end) in (0..3).flat_map(|axis| [(axis, 0), (axis, 1)]) {
        let from_side = match (config.sides[axis][end], config.held[axis][end]) {
            (BoundaryCondition::Inflow(inflow), _) => inflow.scalars,
            (_, Some(temperature)) if conduction > 0.0 => [0.0, 0.0, 0.0, temperature],
            _ => [0.0; 4],
        };
        for other in (0..3).filter(|&other| other != axis) {
            for given in &mut given[other] {
                (0..4).for_each(|c| given[c] = given[c].max(from_side[c].abs()));
            }
        }
    }
    for (profile, c) in profiles.iter().flat_map(|profile| (0..4).map(move |c| (profile, c))) {
        let side = &config.sides[profile.axis][profile.end];
        let acts = matches!(side, BoundaryCondition::Inflow(_)) || conduction > 0.0;
        if !acts || !profile.values.gives(FIRST_SCALAR + c) {
            continue;
        }
        for (other, end) in (0..3).flat_map(|other| [(other, 0), (other, 1)]) {
            if other != profile.axis && config.sides[other][end] == BoundaryCondition::Open {
                let most = greatest_given(config, (profile, FIRST_SCALAR + c), (other, end), time);
                given[other][end][c] = given[other][end][c].max(most);
            }
        }
    }
    given
}

/// The greatest magnitude of a `quantity` of a profile in the cells near the side at `end` of the axis `along`.
fn greatest_given(
    config: &Config,
    (profile, quantity): (&Profile, usize),
    (along, end): (usize, usize),
    time: f64,
) -> f32 {
    let (n, h, corner) = (config.dims.array(), config.h, config.corner());
    let speed = match &config.sides[profile.axis][profile.end] {
        // A profile of the velocity leaves it 0.
        BoundaryCondition::Inflow(air) => air.velocity[profile.axis].abs(),
        _ => 0.0,
    };
    let length = f64::from(n[profile.axis] as f32 * h);
    // Infinite at rest.
    let since = (time - SLOWER * length / f64::from(speed)).max(0.0);
    let deep = (config.follow.margin + 2 * EDGE).min(n[along]);
    let near = if end == 0 { 0..deep } else { n[along] - deep..n[along] };
    let across = 3 - along - profile.axis;
    let middle = |axis: usize, cell: usize| corner[axis] + (cell as f32 + 0.5) * h;
    let lines: Vec<usize> = near.step_by(STRIDE).collect();
    let of_line = |&line: &usize| {
        let mut at = [corner[profile.axis] + (profile.end * n[profile.axis]) as f32 * h; 3];
        at[along] = middle(along, line);
        let points: Vec<[f32; 3]> = (0..n[across])
            .step_by(STRIDE)
            .map(|cell| {
                at[across] = middle(across, cell);
                at
            })
            .collect();
        let mut values = vec![0.0; points.len()];
        (0..INSTANTS).fold(0.0f32, |most, n| {
            let instant = time + (since - time) * n as f64 / (INSTANTS - 1) as f64;
            profile.values.fill(quantity, instant, &points, &mut values);
            values.iter().fold(most, |most, value| most.max(value.abs()))
        })
    };
    BETWEEN * lines.par_iter().map(of_line).reduce(|| 0.0, f32::max)
}

/// First cell along each axis, and the one after the last, counted from the origin of the coordinates. Along an axis without contents
/// the first exceeds the last.
pub type Sides = [[i32; 2]; 3];

/// Sides of the box of `config`.
pub fn sides(config: &Config) -> Sides {
    let n = config.dims.array();
    [0, 1, 2].map(|a| [config.origin[a], config.origin[a] + n[a] as i32])
}

/// Number of cells between `sides` along each axis.
pub fn lengths(sides: Sides) -> [usize; 3] {
    sides.map(|[low, high]| (i64::from(high) - i64::from(low)).max(0) as usize)
}

fn volume(sides: Sides) -> f64 {
    lengths(sides).iter().map(|n| *n as f64).product()
}

/// Sides around nothing.
const EMPTY: Sides = [[i32::MAX, i32::MIN]; 3];

/// The smallest sides around both.
fn around(a: Sides, b: Sides) -> Sides {
    [0, 1, 2].map(|axis| [a[axis][0].min(b[axis][0]), a[axis][1].max(b[axis][1])])
}

/// Contents along an axis. If they count at one side only, the other side of the box stays.
fn only_one_end([low, high]: [i32; 2], now: [i32; 2], margin: i32) -> [i32; 2] {
    match [low == i32::MAX, high == i32::MIN] {
        [false, true] => [low, low.max(now[1] - margin)],
        [true, false] => [high.min(now[0] + margin), high],
        _ => [low, high],
    }
}

/// Change of the box before a step.
#[derive(Debug, PartialEq)]
enum Next {
    /// It stays.
    Stay,
    /// It moves to these sides.
    Move(Sides),
    /// It should move, but has no memory for it.
    Full,
}

/// Sides that move, and the air around the contents.
struct Rule {
    /// Whether the low and the high side of each axis moves.
    moves: [[bool; 2]; 3],
    /// Cells around the contents.
    margin: i32,
}

impl Rule {
    fn new(config: &Config) -> Self {
        let moves = [0, 1, 2].map(|axis| [0, 1].map(|end| config.moves(axis, end)));
        Self { moves, margin: config.follow.margin as i32 }
    }

    /// Returns the next sides of a box with the sides `now`, which must hold the sides `wanted`. `fits` says whether there is memory for a box.
    fn next(&self, now: Sides, wanted: Sides, fits: impl Fn(Sides) -> bool) -> Next {
        let (mut tight, mut roomy, mut wide, mut sticks_out) = (now, now, now, false);
        let has_contents = |axis: usize| wanted[axis][0] <= wanted[axis][1];
        let moves = |(a, e): &(usize, usize)| self.moves[*a][*e] && has_contents(*a);
        for (axis, end) in (0..3).flat_map(|axis| [(axis, 0), (axis, 1)]).filter(moves) {
            let outwards = [-1, 1][end];
            let edge = wanted[axis][end] + outwards * self.margin;
            let brick = if end == 0 { edge.div_euclid(BRICK) } else { -(-edge).div_euclid(BRICK) };
            let above_ground = |cell: i32| if (axis, end) == (1, 0) { cell.max(0) } else { cell };
            tight[axis][end] = above_ground(BRICK * brick);
            let grows = outwards * (tight[axis][end] - now[axis][end]) > 0;
            let reserve = reserve(lengths(now)[axis]);
            let spare = if grows { reserve } else { BRICK };
            roomy[axis][end] = above_ground(BRICK * brick + outwards * spare);
            wide[axis][end] = above_ground(BRICK * brick + outwards * reserve);
            sticks_out |= grows;
        }
        let axes = (0..3).filter(|&axis| has_contents(axis));
        axes.for_each(|axis| roomy[axis] = widened(roomy[axis], self.moves[axis]));
        // With a reserve at all sides, or a box that has just grown would shrink again.
        if !sticks_out && volume(wide) > 0.75 * volume(now) {
            return Next::Stay;
        }
        match [roomy, tight].into_iter().find(|sides| fits(*sides)) {
            Some(sides) if sides != now => Next::Move(sides),
            Some(_) => Next::Stay,
            None => Next::Full,
        }
    }
}

/// Cells between the margin and a side that smoke has moved outwards.
fn reserve(length: usize) -> i32 {
    (length as i32 / (8 * BRICK)).max(2) * BRICK
}

/// Widens an axis to a length with small factors, for the transforms of the projection.
fn widened([low, high]: [i32; 2], moves: [bool; 2]) -> [i32; 2] {
    let bricks = (high - low) / BRICK;
    if moves == [false; 2] || (high - low) % BRICK != 0 || bricks <= 0 {
        return [low, high];
    }
    let is_smooth = |mut n: i32| {
        [2, 3, 5, 7].into_iter().for_each(|factor| {
            while n % factor == 0 {
                n /= factor;
            }
        });
        n == 1
    };
    let more = BRICK * ((bricks..).find(|&n| is_smooth(n)).unwrap_or(bricks) - bricks);
    if moves[1] { [low, high + more] } else { [low - more, high] }
}

impl Solver {
    /// Whether the box should have grown before the last step, but would need more memory than [`Follow::limit`] or than there is.
    /// Its sides stay then, and smoke leaves through them.
    pub fn is_full(&self) -> bool {
        self.following.full
    }

    /// Cells of the box at the start, and its first cell; see [`Config::follow`].
    pub fn start(&self) -> ([i32; 3], Dims) {
        self.following.start
    }

    /// Sets whether the box is [full](Self::is_full).
    pub(super) fn set_full(&mut self, full: bool) {
        self.following.full = full;
    }

    /// Lets the box follow what it must hold in a step of `dt`.
    ///
    /// # Errors
    /// If it becomes too thin for the ranks that share it.
    pub(super) fn follow(&mut self, dt: f32) -> Result<(), SolverError> {
        if !self.config.follow.on {
            return Ok(());
        }
        let pool = self.pool.clone();
        let Some(wanted) = pool.install(|| self.wanted(dt)) else { return Ok(()) };
        let next = Rule::new(&self.config).next(sides(&self.config), wanted, |sides| self.fits(sides));
        self.following.full = match next {
            Next::Stay => false,
            Next::Full => true,
            Next::Move(to) => {
                refuse_thin_box(lengths(to)[2], self.ranks().size())?;
                self.move_box(to).is_err()
            }
        };
        Ok(())
    }

    /// Brings the box back to where it was at the start, empty.
    pub(super) fn return_to_start(&mut self) {
        let (origin, dims) = self.following.start;
        self.following.full = false;
        if self.config.follow.on && (origin, dims) != (self.config.origin, self.config.dims) {
            let n = dims.array();
            self.remake([0, 1, 2].map(|a| [origin[a], origin[a] + n[a] as i32]));
        }
    }

    /// Whether there is memory for a box between `sides`.
    fn fits(&self, sides: Sides) -> bool {
        let Ok(dims) = Dims::new(lengths(sides)) else { return false };
        let Follow { limit, .. } = self.config.follow;
        let bytes = self.memory_of(&Config { dims, ..self.config.clone() });
        let grows = dims.cells() > self.config.dims.cells();
        bytes as f64 <= f64::from(limit) * f64::from(1 << 20) && (!grows || self.has_room(bytes))
    }

    /// Whether each rank has memory for its share of a box of so many bytes.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        let ranks = self.ranks();
        !ranks.any(room::probe(bytes / ranks.size() as u64, "the solver").is_err())
    }

    /// Sides of what the box must hold in a step of `dt`: smoke and heat, sources at work, solids that move or hold a temperature. `None`
    /// if there is nothing.
    fn wanted(&mut self, dt: f32) -> Option<Sides> {
        let (time, h) = (self.stats.time, self.config.h);
        let of_ball = |position: [f32; 3], low: [f32; 3], high: [f32; 3]| -> Sides {
            [0, 1, 2].map(|a| {
                let cell = |x: f32| (x / h).clamp(-FARTHEST, FARTHEST);
                [cell(position[a] + low[a]).floor() as i32, cell(position[a] + high[a]).ceil() as i32]
            })
        };
        let works = |start: f32, stop: f32| f64::from(start) < time + f64::from(dt) && f64::from(stop) > time;
        let sources = self.sources().iter().filter(|source| works(source.start, source.stop)).map(|source| {
            let [low, high] = source.region.filled();
            of_ball(source.region.position, low, high)
        });
        let heats = |solid: &&Solid| solid.temperature.is_some() && self.params.conduction > 0.0;
        let acts = |solid: &&Solid| solid.fastest(time, dt) > 0.0 || heats(solid);
        let acting = self.solids.iter().filter(acts).map(|solid| {
            let [low, high] = solid.extent();
            of_ball(solid.position_at(time), low, high)
        });
        let outside = sources.chain(acting).reduce(around);
        [self.contents(), outside].into_iter().flatten().reduce(around)
    }

    /// Sides of the bricks with smoke or heat.
    fn contents(&mut self) -> Option<Sides> {
        let ranks = self.ranks().clone();
        let given = given(&self.config, self.params.conduction, &self.profiles, self.stats.time);
        let Self { fields, following, config, .. } = self;
        let layout = fields.smoke_layout();
        let [low, high] = layout.cell_planes();
        let count = layout.dims.array().map(|n| n.div_ceil(EDGE));
        following.greatest.clear();
        following.greatest.resize(count.iter().product(), [0.0; 4]);
        let (bricks, scalars) = (&fields.bricks, &fields.scalars);
        following.greatest.par_chunks_mut(count[0] * count[1]).enumerate().for_each(|(layer, greatest)| {
            for k in (layer * EDGE).max(low)..((layer + 1) * EDGE).min(high) {
                for j in 0..layout.dims.ny {
                    let span = bricks.span(j, k);
                    let cells = &scalars[layout.start(j, k) + span.start..][..span.len()];
                    greatest_row(cells, &mut greatest[j / EDGE * count[0] + span.start / EDGE..]);
                }
            }
        });
        let most = following.greatest.iter().fold([0.0f32; 4], |a, b| [0, 1, 2, 3].map(|c| a[c].max(b[c])));
        let most = [most[0].max(most[1]).max(most[2]), most[3]].map(|most| ranks.most(most));
        let least = config.follow.threshold.max(0.0);
        let [smoke, heat] =
            [least * most[0], COOLEST * least * most[1]].map(|least| least.max(f32::MIN_POSITIVE));
        let least = [smoke, smoke, smoke, heat];
        // At each side.
        let least = given
            .map(|ends| ends.map(|given| [0, 1, 2, 3].map(|c| least[c].max((1.0 + OVERSHOOT) * given[c]))));
        let finer = config.detail as i32;
        // A brick between two slabs is occupied if either part of it is.
        let sides = following.greatest.iter().enumerate().map(|(n, greatest)| {
            let brick = [n % count[0], n / count[0] % count[1], n / (count[0] * count[1])];
            [0, 1, 2].map(|a| {
                let low = brick[a] as i32 * BRICK;
                let high = (low + BRICK).min(layout.dims.array()[a] as i32);
                let ends = [
                    config.origin[a] + low.div_euclid(finer),
                    config.origin[a] + (high + finer - 1).div_euclid(finer),
                ];
                let is_empty = |end: usize| (0..4).all(|c| greatest[c] <= least[a][end][c]);
                [0, 1].map(|end| if is_empty(end) { EMPTY[a][end] } else { ends[end] })
            })
        });
        let sides = sides.fold(EMPTY, around);
        let now = super::follow::sides(config);
        let margin = config.follow.margin as i32;
        let found = ranks.around((sides != EMPTY).then_some(sides));
        found.map(|found| [0, 1, 2].map(|a| only_one_end(found[a], now[a], margin)))
    }
}

each_level! {
    /// Raises, for each brick of a row of cells, its greatest red, green, blue and temperature excess.
    fn greatest_row(row: &[[f32; 4]], bricks: &mut [[f32; 4]]) = greatest_row_kernel;
}

#[inline(always)]
fn greatest_row_kernel<S: Simd>(_: S, row: &[[f32; 4]], bricks: &mut [[f32; 4]]) {
    for (cells, brick) in row.chunks(EDGE).zip(bricks) {
        let mut most = *brick;
        for cell in cells {
            for c in 0..4 {
                most[c] = greatest(cell[c].abs(), most[c]);
            }
        }
        *brick = most;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [[bool; 2]; 3] = [[true; 2]; 3];

    fn next(now: Sides, wanted: Sides, moves: [[bool; 2]; 3]) -> Next {
        Rule { moves, margin: 8 }.next(now, wanted, |_| true)
    }

    #[test]
    fn sides_move_by_bricks_to_where_smoke_needs_air() {
        let now = [[0, 64]; 3];
        assert_eq!(next(now, [[20, 40], [12, 50], [8, 56]], ALL), Next::Stay);
        let Next::Move(to) = next(now, [[20, 40], [12, 57], [20, 40]], ALL) else { panic!("it sticks out") };
        assert!(to[1][1] >= 57 + 8 + 16 && to.as_flattened().iter().all(|x| x % BRICK == 0), "{to:?}");
        assert_eq!(next(to, [[20, 40], [12, 60], [20, 40]], ALL), Next::Stay);
        // Walls stay, and no side sinks below the ground.
        let floor = [[false; 2], [false, true], [true, false]];
        let Next::Move(to) = next(now, [[0, 64], [0, 64], [-9, 40]], floor) else { panic!("it sticks out") };
        assert_eq!((to[0], to[1][0], to[2][1]), ([0, 64], 0, 64));
        assert!(to[1][1] >= 88 && to[2][0] <= -32, "{to:?}");
        assert_eq!(next(now, [[20, 44], [-9, 44], [20, 44]], ALL), Next::Stay);
        let Next::Move(to) = next(now, [[20, 60], [-9, 40], [20, 40]], ALL) else { panic!("it sticks out") };
        assert_eq!(to[1][0], 0);
    }

    #[test]
    fn a_box_that_is_mostly_empty_shrinks_once() {
        let Next::Move(to) = next([[0, 128]; 3], [[40, 60]; 3], ALL) else { panic!("it is mostly empty") };
        assert!(lengths(to).iter().all(|n| *n < 90), "{to:?}");
        assert_eq!(next(to, [[40, 60]; 3], ALL), Next::Stay);
    }

    #[test]
    fn a_box_that_has_just_grown_stays() {
        let wanted = [[4, 28]; 3];
        let Next::Move(to) = next([[0, 32]; 3], wanted, ALL) else { panic!("it sticks out") };
        assert_eq!(next(to, wanted, ALL), Next::Stay);
    }

    #[test]
    fn a_box_without_memory_to_grow_stays() {
        let rule = Rule { moves: ALL, margin: 8 };
        let at_most = |cells: f64| move |sides| volume(sides) <= cells;
        let (now, wanted) = ([[0, 64]; 3], [[20, 40], [20, 60], [20, 40]]);
        assert_eq!(rule.next(now, wanted, at_most(1e4)), Next::Full);
        let Next::Move(tight) = rule.next(now, wanted, at_most(1.1e5)) else { panic!("it fits tightly") };
        assert_eq!(tight, [[8, 48], [8, 72], [8, 48]]);
    }
}
