//! Smoke, heat and motion put into the box: sources over time, fills at the start, dabs of the cursor.
//!
//! A source works in a [`Region`]. The covered share of each cell is computed when the sources are set (see
//! [`cover`]); a step only adds along its rows.

mod card;
mod cloud;
mod cover;
mod dab;
mod fill;
mod region;
mod source_noise;
#[cfg(feature = "text")]
mod text_card;

pub use card::{Card, CardError};
pub use cloud::Cloud;
pub use cover::{Cover, Grid};
pub use dab::dab;
pub use fill::{Fill, fill};
pub use region::{Form, Region};
pub use source_noise::{Noise, Pattern};

use super::invalid_value::InvalidValue;
use super::storage::active_bricks::Bricks;
use super::storage::ranks::Ranks;
use super::storage::row_passes;
use crate::grid::{Faces, GHOST};

/// Cells of one batch, whose noise is computed first.
const RUN: usize = 256;

/// A region that emits smoke and heat.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Region in which it works.
    pub region: Region,
    /// Rates of red, green, blue \[1/s\] and temperature \[K/s\].
    pub rate: [f32; 4],
    /// Velocity that it gives to the air inside \[m/s\], if any.
    pub velocity: Option<[f32; 3]>,
    /// Noise on the emission; even if absent.
    pub noise: Option<Noise>,
    /// First instant at which it works \[s\].
    pub start: f32,
    /// Last instant at which it works \[s\]; infinite: for ever.
    pub stop: f32,
}

impl Source {
    /// Makes a source that works for ever and evenly, and does not move the air.
    pub fn new(region: Region, rate: [f32; 4]) -> Self {
        Self { region, rate, velocity: None, noise: None, start: 0.0, stop: f32::INFINITY }
    }

    /// The first invalid value, if any.
    pub fn problem(&self) -> Option<InvalidValue> {
        let finite = |what, values: &[f32]| InvalidValue::unless_finite("source", what, values);
        self.region
            .problem()
            .or_else(|| self.noise.and_then(|noise| noise.problem()))
            .or_else(|| finite("rate", &self.rate))
            .or_else(|| finite("velocity", &self.velocity.unwrap_or_default()))
            .or_else(|| InvalidValue::unless_interval("source", self.start, self.stop))
    }
}

/// The part of `time..time + dt` between `start` and `stop`: its beginning and length \[s\].
pub fn working(start: f32, stop: f32, time: f64, dt: f32) -> (f64, f32) {
    let from = f64::from(start).max(time);
    let to = f64::from(stop).min(time + f64::from(dt));
    (from, (to - from).max(0.0) as f32)
}

/// ∫ exp(−k t) dt from 0 to `time` \[s\]: the rest of a steady supply of 1/s that decays with `rate` k meanwhile.
pub fn decayed_time(rate: f64, time: f64) -> f64 {
    if rate == 0.0 { time } else { -(-rate * time).exp_m1() / rate }
}

/// An interval of time in which sources emit, and emissions decay.
pub struct Span {
    /// Its beginning \[s\].
    pub time: f64,
    /// Its length \[s\].
    pub dt: f32,
    /// Decay rates of red, green, blue and temperature \[1/s\].
    pub rates: [f32; 4],
}

impl Span {
    /// Computes the rest at the end of an emission of 1/s for the time `works` from `from` on: ∫ exp(−k (end − t)) dt.
    fn left(&self, from: f64, works: f32) -> [f64; 4] {
        let works = f64::from(works);
        let rest = (self.time + f64::from(self.dt) - from - works).max(0.0);
        self.rates.map(|rate| {
            let rate = f64::from(rate);
            // Finite, and not 0: the emission is in proportion to it.
            ((-rate * rest).exp() * decayed_time(rate, works)).clamp(1e-30 * works, 1e30)
        })
    }
}

/// Sums over the cells of red, green, blue and temperature in a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Emission {
    /// Added by sources.
    pub emitted: [f64; 4],
    /// The part of it that has decayed.
    pub faded: [f64; 4],
}

/// A source with its covered cells.
struct CoveredSource {
    source: Source,
    cells: Cover,
    /// Covered faces, for sources that move the air.
    faces: Option<[Cover; 3]>,
    pattern: Option<Pattern>,
}

impl CoveredSource {
    /// Prepares `source` on the grids of smoke and of air. Reuses the cover of an `old` one of the same region.
    fn new([smoke, air]: &[Grid; 2], source: Source, old: Option<Self>) -> Self {
        let (cells, faces) = old.map_or((None, None), |old| (Some(old.cells), old.faces));
        let region = &source.region;
        Self {
            cells: cells.unwrap_or_else(|| Cover::cells(smoke, region)),
            faces: source.velocity.map(|_| faces.unwrap_or_else(|| Cover::faces(air, region))),
            pattern: source.noise.map(|noise| Pattern::new(noise, smoke)),
            source,
        }
    }
}

/// All sources of a box.
pub struct Sources {
    /// Grids of smoke and of air.
    grids: [Grid; 2],
    list: Vec<Source>,
    covered: Vec<CoveredSource>,
}

impl Sources {
    /// Makes the sources of `list` on the grids of smoke and of air.
    pub fn new(grids: [Grid; 2], list: Vec<Source>) -> Self {
        let mut sources = Self { grids, list: vec![], covered: vec![] };
        sources.set(list);
        sources
    }

    /// The sources.
    pub fn list(&self) -> &[Source] {
        &self.list
    }

    /// Replaces the sources.
    pub fn set(&mut self, list: Vec<Source>) {
        let mut old = std::mem::take(&mut self.covered);
        for source in &list {
            let same = old.iter().position(|emitter| emitter.source.region == source.region);
            let same = same.map(|at| old.swap_remove(at));
            self.covered.push(CoveredSource::new(&self.grids, source.clone(), same));
        }
        self.list = list;
    }

    /// Greatest of the velocities that the sources give to the air \[m/s\].
    pub fn speed(&self) -> f32 {
        self.list.iter().filter_map(|s| s.velocity).flatten().fold(0.0, |a: f32, b| a.max(b.abs()))
    }

    /// Adds the rest of the emission at the end of `span`; no value exceeds `limit`. Additions to the cells `inside` solids do not count.
    pub fn emit(
        &self,
        span: &Span,
        limit: f32,
        scalars: &mut [[f32; 4]],
        (inside, bricks, ranks): (&[u32], &mut Bricks, &Ranks),
    ) -> Emission {
        let (mut total, grid) = (Emission::default(), &self.grids[0]);
        for CoveredSource { source, cells, pattern, .. } in &self.covered {
            let (from, works) = working(source.start, source.stop, span.time, span.dt);
            if works > 0.0 && source.rate != [0.0; 4] {
                let left = span.left(from, works);
                let amount = [0, 1, 2, 3].map(|c| source.rate[c] * left[c] as f32);
                let noise = pattern.as_ref().map(|pattern| (pattern, from + 0.5 * f64::from(works)));
                let mut added = [0.0; 4];
                let mut add_outside = |sign: f64, scalars: &[[f32; 4]]| {
                    add_held(grid, ranks, cells, sign, scalars, &mut added);
                    add_cells(ranks, inside, -sign, scalars, &mut added);
                };
                add_outside(-1.0, scalars);
                for_cells(grid, cells, noise, scalars, |cell, shares, factor| {
                    for c in 0..4 {
                        // A negative emission stops at no smoke.
                        let least = if c < 3 { cell[c].min(0.0) } else { -limit };
                        cell[c] = (cell[c] + factor * shares[c] * amount[c]).clamp(least.max(-limit), limit);
                    }
                });
                add_outside(1.0, scalars);
                for c in 0..4 {
                    let emitted = added[c] * (f64::from(works) / left[c]);
                    total.emitted[c] += emitted;
                    total.faded[c] += emitted - added[c];
                }
                cells.each_row(|xs, j, k| bricks.touch(xs, j, k));
            }
        }
        total
    }

    /// Gives the air inside the sources that work at `time` their velocities, of at most `limit` \[m/s\] along each axis.
    pub fn drive(&self, time: f64, limit: f32, velocity: &mut Faces) {
        for CoveredSource { source, faces, .. } in &self.covered {
            let works = (f64::from(source.start)..f64::from(source.stop)).contains(&time);
            if let (Some(target), Some(faces), true) = (source.velocity, faces, works) {
                drive(&self.grids[1], faces, target.map(|x| x.clamp(-limit, limit)), velocity);
            }
        }
    }
}

/// Adds `sign` times the contents of the covered cells to `sum`, plane after plane through all ranks.
fn add_held(grid: &Grid, ranks: &Ranks, cover: &Cover, sign: f64, scalars: &[[f32; 4]], sum: &mut [f64; 4]) {
    let [low, high] = grid.layout.cell_planes();
    ranks.in_turn(sum, |sum| {
        cover.each_row(|xs, j, k| {
            if (low..high).contains(&k) {
                for cell in &scalars[grid.layout.start(j, k)..][xs] {
                    (0..4).for_each(|c| sum[c] += sign * f64::from(cell[c]));
                }
            }
        });
    });
}

/// Adds `sign` times the contents of `cells` to `sum`, those of one rank after another.
fn add_cells(ranks: &Ranks, cells: &[u32], sign: f64, scalars: &[[f32; 4]], sum: &mut [f64; 4]) {
    ranks.in_turn(sum, |sum| {
        for &at in cells {
            (0..4).for_each(|c| sum[c] += sign * f64::from(scalars[at as usize][c]));
        }
    });
}

/// Calls `change(cell, shares, factor)` for each covered cell, with its covered shares and its noise factor
/// at an instant.
fn for_cells(
    grid: &Grid,
    cover: &Cover,
    noise: Option<(&Pattern, f64)>,
    scalars: &mut [[f32; 4]],
    change: impl Fn(&mut [f32; 4], [f32; 4], f32) + Sync,
) {
    row_passes::rows(grid.layout, scalars, [cover.js, cover.ks], |j, k, row| {
        let run = cover.row(j, k);
        let cells = &mut row[GHOST + run.first..][..run.weights.len()];
        let mut factors = [1.0; RUN];
        for (part, cells) in cells.chunks_mut(RUN).enumerate() {
            let from = part * RUN;
            if let Some((pattern, time)) = noise {
                let first = [(run.first + from) as isize, j, k];
                pattern.fill(first, time, &mut factors[..cells.len()]);
            }
            for (n, cell) in cells.iter_mut().enumerate() {
                change(cell, run.shares(from + n), factors[n]);
            }
        }
    });
}

/// Moves the velocity of the covered faces towards `target`.
fn drive(grid: &Grid, faces: &[Cover; 3], target: [f32; 3], velocity: &mut Faces) {
    for ((cover, field), target) in faces.iter().zip(velocity).zip(target) {
        row_passes::rows(grid.layout, field, [cover.js, cover.ks], |j, k, row| {
            let run = cover.row(j, k);
            for (value, weight) in row[GHOST + run.first..].iter_mut().zip(run.weights) {
                *value += weight * (target - *value);
            }
        });
    }
}

#[cfg(test)]
mod tests;
