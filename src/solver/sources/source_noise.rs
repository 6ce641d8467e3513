//! Noise that modulates a source in space and time.
//!
//! Gradient noise in four dimensions (Perlin, "Improving Noise", 2002), two octaves, contrast raised by an
//! odd curve, which keeps the mean. Along a row of cells the noise between two columns of its lattice is a
//! blend of two straight lines. So the sixteen corners are evaluated once for each column instead of each
//! cell.

use super::cover::Grid;
use crate::solver::invalid_value::InvalidValue;

/// Noise on the emission of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Variation of the emission around its mean: 0 is even; at 1 it varies from zero to double.
    pub strength: f32,
    /// Distance over which it varies \[m\]. Along a periodic axis it is adjusted so that the pattern closes.
    pub scale: f32,
    /// Rate at which the pattern changes \[1/s\]; 0 stands still.
    pub speed: f32,
    /// Seed of the pattern.
    pub seed: u32,
}

impl Noise {
    /// The first invalid value, if any.
    pub fn problem(&self) -> Option<InvalidValue> {
        let within = |what, value, range| InvalidValue::unless_within("noise", what, value, range);
        within("strength", self.strength, [0.0, 1.0])
            .or_else(|| within("scale", self.scale, [1e-6, 1e6]))
            .or_else(|| within("speed", self.speed, [0.0, 1e6]))
    }
}

/// Factor of the sum of the octaves: brings the standard deviation to about half the strength.
const GAIN: f32 = 2.0;

/// Weight of the second octave, relative to the first.
const SECOND: f32 = 0.5;

/// Noise on the cells of a grid.
#[derive(Clone, Debug)]
pub struct Pattern {
    noise: Noise,
    /// Edge of a cell in units of the lattice, along each axis.
    step: [f32; 3],
    /// First cell, counted from the origin of the coordinates.
    origin: [i32; 3],
    /// Columns of the lattice after which it repeats; 0: never.
    period: [i32; 3],
}

impl Pattern {
    /// Prepares `noise` on the cells of `grid`.
    pub fn new(noise: Noise, grid: &Grid) -> Self {
        let n = grid.layout.dims.array();
        let length = [0, 1, 2].map(|a| n[a] as f32 * grid.h);
        let columns = length.map(|length| (length / noise.scale).round().clamp(1.0, 1e6));
        let wraps = |a: usize| grid.periodic[a];
        Self {
            noise,
            origin: grid.origin,
            step: [0, 1, 2].map(|a| if wraps(a) { columns[a] / n[a] as f32 } else { grid.h / noise.scale }),
            period: [0, 1, 2].map(|a| if wraps(a) { columns[a] as i32 } else { 0 }),
        }
    }

    /// Writes the factors of the cells from `first` = (i, j, k) on along x, at `time` \[s\].
    pub fn fill(&self, first: [isize; 3], time: f64, out: &mut [f32]) {
        out.fill(0.0);
        for (octave, amplitude) in [(0u32, 1.0), (1, SECOND)] {
            let finer = (1 << octave) as f32;
            let t = time * f64::from(self.noise.speed * finer);
            let line = Line::new(self, octave, first, t);
            line.add(amplitude / (1.0 + SECOND), out);
        }
        for factor in out {
            let x = (GAIN * *factor).clamp(-1.0, 1.0);
            *factor = 1.0 + self.noise.strength * x * (1.5 - 0.5 * x * x);
        }
    }
}

/// One corner of the lattice cell around a row, in the y, z, t plane.
#[derive(Clone, Copy, Default)]
struct Corner {
    at: [i32; 3],
    weight: f32,
    /// From the corner to the row.
    from: [f32; 3],
}

/// One octave along a row of cells.
struct Line {
    corners: [Corner; 8],
    start: f32,
    step: f32,
    period: i32,
    seed: u32,
}

impl Line {
    fn new(pattern: &Pattern, octave: u32, first: [isize; 3], t: f64) -> Self {
        let finer = (1 << octave) as f32;
        let at = [0, 1, 2]
            .map(|a| ((first[a] + pattern.origin[a] as isize) as f32 + 0.5) * pattern.step[a] * finer);
        let period = pattern.period.map(|period| period << octave);
        let t_low = t.floor();
        let (y, z, t) = (split(at[1]), split(at[2]), (t_low as i64 as i32, (t - t_low) as f32));
        let corners = std::array::from_fn(|n| {
            let high = [n & 1, n >> 1 & 1, n >> 2].map(|bit| bit as i32);
            let part = [y.1, z.1, t.1];
            let along = |a: usize| if high[a] == 1 { fade(part[a]) } else { 1.0 - fade(part[a]) };
            Corner {
                at: [
                    wrap(y.0.wrapping_add(high[0]), period[1]),
                    wrap(z.0.wrapping_add(high[1]), period[2]),
                    t.0.wrapping_add(high[2]),
                ],
                weight: along(0) * along(1) * along(2),
                from: [0, 1, 2].map(|a| part[a] - high[a] as f32),
            }
        });
        let seed = pattern.noise.seed.wrapping_add(octave.wrapping_mul(0x9E37_79B9));
        Self { corners, start: at[0], step: pattern.step[0] * finer, period: period[0], seed }
    }

    fn add(&self, amplitude: f32, out: &mut [f32]) {
        let (mut column, mut ends) = (None, [[0.0; 2]; 2]);
        for (n, out) in out.iter_mut().enumerate() {
            let (x, part) = split(self.start + n as f32 * self.step);
            if column != Some(x) {
                (column, ends) = (Some(x), [self.column(x), self.column(x.wrapping_add(1))]);
            }
            let low = ends[0][0] + ends[0][1] * part;
            let high = ends[1][0] + ends[1][1] * (part - 1.0);
            *out += amplitude * (low + fade(part) * (high - low));
        }
    }

    /// Value and slope along x of the line through a column of the lattice, blended over its corners.
    fn column(&self, x: i32) -> [f32; 2] {
        let x = wrap(x, self.period);
        let (mut value, mut slope) = (0.0, 0.0);
        for Corner { at, weight, from } in &self.corners {
            let [gx, gy, gz, gt] = gradient(hash([x, at[0], at[1], at[2]], self.seed));
            value += weight * (gy * from[0] + gz * from[1] + gt * from[2]);
            slope += weight * gx;
        }
        [value, slope]
    }
}

/// Splits a number into whole part and fraction.
fn split(x: f32) -> (i32, f32) {
    let low = x.floor();
    (low as i32, x - low)
}

fn wrap(x: i32, period: i32) -> i32 {
    if period > 0 { x.rem_euclid(period) } else { x }
}

/// 6t⁵ − 15t⁴ + 10t³: flat to the second order at both ends.
fn fade(t: f32) -> f32 {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

/// Mixes four whole numbers and the seed.
fn hash(at: [i32; 4], seed: u32) -> u32 {
    at.into_iter().fold(seed ^ 0x5bd1_e995, |state, x| {
        let mixed = (state ^ x as u32).wrapping_mul(0x85EB_CA6B);
        let mixed = (mixed ^ mixed >> 15).wrapping_mul(0xC2B2_AE35);
        mixed ^ mixed >> 13
    })
}

/// One of the 32 vectors to the middles of the edges of a tesseract: one part 0, the others ±1.
fn gradient(hash: u32) -> [f32; 4] {
    let sign = |bit: u32| if hash >> bit & 1 == 0 { 1.0 } else { -1.0 };
    let mut vector = [sign(2), sign(3), sign(4), sign(5)];
    vector[(hash & 3) as usize] = 0.0;
    vector
}
