//! Smoke, heat and motion put into the box: sources over time, fills at the start, dabs of the cursor.
//!
//! A source works in a [`Region`]. The covered share of each cell is computed when the sources are set (see
//! [`cover`]); a step only adds along its rows.
//!
//! Emission is of second order in time: half of it is added before the smoke moves and half afterwards ([`Half`]), as the trapezoidal
//! rule weighs the ends of an interval. The first half is larger by its decay in the step, so that the sums are exact.

mod card;
mod cloud;
mod cover;
mod dab;
mod fill;
pub(super) mod region;
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

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::invalid_value::InvalidValue;
use super::solids::SOLID;
use super::storage::active_bricks::Bricks;
use super::storage::ranks::Ranks;
use super::storage::row_passes;
use crate::grid::{Faces, GHOST, Layout};

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

/// Time in which the air on a partly covered face takes on the covered share of a source's velocity \[s\]: a step at 24 steps a second.
const DRIVEN_IN: f32 = 1.0 / 24.0;

/// Largest decay or growth in a step, as its logarithm, up to which a part of the emission is added before it. Smoke that decays faster
/// is no older than half of a step anyway, and what comes before the decay would be large.
const MOST_DECAY: f64 = 2.0;

/// Nodes and weights of the quadrature by Gauss and Legendre between 0 and 1.
const QUADRATURE: [[f64; 2]; 4] = [
    [0.069_431_844_202_973_71, 0.173_927_422_568_726_93],
    [0.330_009_478_207_571_87, 0.326_072_577_431_273_07],
    [0.669_990_521_792_428_1, 0.326_072_577_431_273_07],
    [0.930_568_155_797_026_3, 0.173_927_422_568_726_93],
];

/// The parts of an emission, before and after the smoke moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Half {
    /// Before the advection, the diffusion and the decay of the step.
    First,
    /// After them.
    Second,
}

/// A part of the emission of 1/s in a step \[s\].
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Duration of the emission that it represents.
    emitted: f64,
    /// Amount added: the same with its decay.
    added: f64,
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
    /// Divides an emission of 1/s for the time `works` from `from` on. Both halves leave ∫ exp(−k (end − t)) dt at the end: at the
    /// instant t the second one counts as t divides the interval, and the first one for the rest.
    fn part(&self, half: Half, from: f64, works: f32) -> [Part; 4] {
        let (dt, works) = (f64::from(self.dt), f64::from(works));
        let rest = (self.time + dt - from - works).max(0.0);
        self.rates.map(|rate| {
            let rate = f64::from(rate);
            // Finite, and not 0: the emission is in proportion to it.
            let left = ((-rate * rest).exp() * decayed_time(rate, works)).clamp(1e-30 * works, 1e30);
            if (rate * dt).abs() > MOST_DECAY {
                return match half {
                    Half::First => Part { emitted: 0.0, added: 0.0 },
                    Half::Second => Part { emitted: works, added: left },
                };
            }
            let share = |to_end: f64| (to_end / dt).clamp(0.0, 1.0);
            let first = |to_end: f64| share(to_end) * (-rate * to_end).exp();
            let second = |to_end: f64| (1.0 - share(to_end)) * (-rate * to_end).exp();
            let sum = |f: &dyn Fn(f64) -> f64| -> f64 {
                QUADRATURE.iter().map(|[node, weight]| weight * f(rest + node * works)).sum()
            };
            let [early, late] = [sum(&first), sum(&second)];
            let (before, left) = (share(rest + 0.5 * works), left / (early + late));
            match half {
                Half::First => Part { emitted: before * works, added: early * left * (rate * dt).exp() },
                Half::Second => Part { emitted: (1.0 - before) * works, added: late * left },
            }
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
    /// Noise of the last instant: both halves of an emission have the same.
    factors: Mutex<Factors>,
}

/// The noise of a source at an instant \[s\], for each plane of its cover; no planes without noise.
struct Factors {
    time: f64,
    planes: Vec<Vec<f32>>,
}

impl Factors {
    fn new(cells: &Cover) -> Self {
        let in_plane = |k| (cells.js[0]..cells.js[1]).map(|j| cells.row(j, k).weights.len()).sum();
        let planes = (cells.ks[0]..cells.ks[1]).map(|k| vec![1.0; in_plane(k)]);
        Self { time: f64::NAN, planes: planes.collect() }
    }

    /// Computes the noise of the planes of a slab.
    fn set_time(&mut self, layout: Layout, cells: &Cover, pattern: &Pattern, time: f64) {
        if self.time == time {
            return;
        }
        self.time = time;
        let [low, high] = layout.cell_planes().map(|k| k as isize);
        self.planes.par_iter_mut().enumerate().for_each(|(n, factors)| {
            let k = cells.ks[0] + n as isize;
            let mut at = 0;
            for j in (cells.js[0]..cells.js[1]).filter(|_| (low..high).contains(&k)) {
                let run = cells.row(j, k);
                let row = &mut factors[at..][..run.weights.len()];
                for (part, factors) in row.chunks_mut(RUN).enumerate() {
                    pattern.fill([(run.first + part * RUN) as isize, j, k], time, factors);
                }
                at += run.weights.len();
            }
        });
    }
}

impl CoveredSource {
    /// Prepares `source` on the grids of smoke and of air. Reuses the cover of an `old` one of the same region.
    fn new([smoke, air]: &[Grid; 2], source: Source, old: Option<Self>) -> Self {
        let (cells, faces) = old.map_or((None, None), |old| (Some(old.cells), old.faces));
        let region = &source.region;
        let cells = cells.unwrap_or_else(|| Cover::cells(smoke, region));
        let none = Factors { time: f64::NAN, planes: vec![] };
        let factors = source.noise.map_or(none, |_| Factors::new(&cells));
        Self {
            factors: Mutex::new(factors),
            cells,
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

    /// Whether a source emits in `span`.
    pub fn emit_in(&self, span: &Span) -> bool {
        self.list.iter().any(|source| {
            source.rate != [0.0; 4] && working(source.start, source.stop, span.time, span.dt).1 > 0.0
        })
    }

    /// Adds a `half` of the emission in `span`; no value exceeds `limit`. Cells inside solids, which have [`SOLID`] among their `flags`, get
    /// none. `partials` is scratch for each plane of cells.
    pub fn emit(
        &self,
        (span, half): (&Span, Half),
        limit: f32,
        (scalars, flags): (&mut [[f32; 4]], Option<&[u8]>),
        (bricks, ranks, partials): (&mut Bricks, &Ranks, &mut [[f64; 4]]),
    ) -> Emission {
        let (mut total, layout) = (Emission::default(), self.grids[0].layout);
        for CoveredSource { source, cells, pattern, factors, .. } in &self.covered {
            let (from, works) = working(source.start, source.stop, span.time, span.dt);
            if works > 0.0 && source.rate != [0.0; 4] {
                let part = span.part(half, from, works);
                let amount = [0, 1, 2, 3].map(|c| source.rate[c] * part[c].added as f32);
                let mut factors = factors.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(pattern) = pattern {
                    factors.set_time(layout, cells, pattern, from + 0.5 * f64::from(works));
                }
                let change = |cell: &mut [f32; 4], shares: [f32; 4], factor: f32, sum: &mut [f64; 4]| {
                    for c in 0..4 {
                        // A negative emission stops at no smoke.
                        let least = if c < 3 { cell[c].min(0.0) } else { -limit };
                        let after =
                            (cell[c] + factor * shares[c] * amount[c]).clamp(least.max(-limit), limit);
                        sum[c] += f64::from(after) - f64::from(cell[c]);
                        cell[c] = after;
                    }
                };
                add_to_cells(layout, (cells, &factors.planes), (scalars, flags), partials, change);
                ranks.gather(partials, 1);
                let added = partials.iter().fold([0.0; 4], |a, b| [0, 1, 2, 3].map(|c| a[c] + b[c]));
                for c in (0..4).filter(|&c| part[c].added > 0.0) {
                    let emitted = added[c] * (part[c].emitted / part[c].added);
                    total.emitted[c] += emitted;
                    total.faded[c] += emitted - added[c];
                }
                cells.each_row(|xs, j, k| bricks.touch(xs, j, k));
            }
        }
        total
    }

    /// Gives the air inside the sources that work between `time` and `time + dt` their velocities, of at most `limit` \[m/s\] along each
    /// axis. A face of which they cover the share s approaches them by s in [`DRIVEN_IN`].
    pub fn drive(&self, time: f64, dt: f32, limit: f32, velocity: &mut Faces) {
        for CoveredSource { source, faces, .. } in &self.covered {
            let (_, works) = working(source.start, source.stop, time, dt);
            if let (Some(target), Some(faces), true) = (source.velocity, faces, works > 0.0) {
                let target = target.map(|x| x.clamp(-limit, limit));
                drive(&self.grids[1], faces, (target, works / DRIVEN_IN), velocity);
            }
        }
    }
}

/// Calls `change(cell, shares, factor, sum)` for each covered cell outside solids, with one sum for each plane of cells. Without factors
/// they are 1.
fn add_to_cells(
    layout: Layout,
    (cover, factors): (&Cover, &[Vec<f32>]),
    (scalars, flags): (&mut [[f32; 4]], Option<&[u8]>),
    partials: &mut [[f64; 4]],
    change: impl Fn(&mut [f32; 4], [f32; 4], f32, &mut [f64; 4]) + Sync,
) {
    let [low, high] = layout.cell_planes();
    let planes = scalars[layout.span([low as isize, high as isize])].par_chunks_mut(layout.plane);
    planes.zip(&mut partials[low..high]).enumerate().for_each(|(n, (plane, sum))| {
        let k = (low + n) as isize;
        *sum = [0.0; 4];
        if !(cover.ks[0]..cover.ks[1]).contains(&k) {
            return;
        }
        let (factors, mut at) = (factors.get((k - cover.ks[0]) as usize), 0);
        for j in cover.js[0]..cover.js[1] {
            let run = cover.row(j, k);
            let first = layout.at(run.first as isize, j, k);
            let cells = &mut plane[first % layout.plane..][..run.weights.len()];
            let flags = flags.map(|flags| &flags[first..][..run.weights.len()]);
            let factors = factors.map(|factors| &factors[at..][..run.weights.len()]);
            at += run.weights.len();
            for (n, cell) in cells.iter_mut().enumerate() {
                let factor = factors.map_or(1.0, |factors| factors[n]);
                if flags.is_none_or(|flags| flags[n] & SOLID == 0) {
                    change(cell, run.shares(n), factor, sum);
                }
            }
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

/// Moves the velocity of the covered faces towards `target`, `times` times by the covered share.
fn drive(grid: &Grid, faces: &[Cover; 3], (target, times): ([f32; 3], f32), velocity: &mut Faces) {
    for ((cover, field), target) in faces.iter().zip(velocity).zip(target) {
        row_passes::rows(grid.layout, field, [cover.js, cover.ks], |j, k, row| {
            let run = cover.row(j, k);
            for (value, &weight) in row[GHOST + run.first..].iter_mut().zip(run.weights) {
                let by =
                    if times == 1.0 || weight >= 1.0 { weight } else { 1.0 - (1.0 - weight).powf(times) };
                *value += by * (target - *value);
            }
        });
    }
}

#[cfg(test)]
mod tests;
