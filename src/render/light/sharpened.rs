//! Values at points, sharpened for splines: roots of the depth towards the sun, densities, radiance.
//!
//! A quadratic B-spline blurs by half a spacing. Roots are bent where light enters smoke, so blurred ones let too much of it in: they are
//! sharpened as the densities of cells are (`preshaded/sharpen.rs`). Light that falls off within a cell is sharpened twice.

use rayon::prelude::*;

use super::{LightVolume, root};
use crate::grid::Dims;
use crate::render::medium::Medium;
use crate::render::preshaded::{MIDDLE, SIDE};
use crate::simd::{Simd, each_level, greatest, least};

/// Values at each point, and what splines read of them.
pub(super) struct Sharpened {
    points: Dims,
    /// Empty where nothing is sharpened.
    all: Vec<f32>,
    /// The same sharpened once, to be sharpened further; empty before.
    once: Vec<f32>,
}

/// Scratch memory: sums and bounds over nine points, across a row.
#[derive(Default)]
pub(super) struct Across([Vec<f32>; 3]);

impl LightVolume {
    /// The [`root`] of the depth of smoke and solids at each point, to be read by splines or linearly.
    pub(super) fn roots(&self, medium: &Medium, splines: bool) -> Sharpened {
        let mut all = Vec::new();
        if splines {
            all.par_extend(
                self.depth
                    .par_iter()
                    .with_min_len(self.points.nx)
                    .enumerate()
                    .map(|(n, depth)| root(depth + self.shade.get(n).copied().unwrap_or(0.0))),
            );
            self.entering(medium).replace_beyond(&mut all, true);
        }
        Sharpened::new(self.points, all)
    }
}

impl Sharpened {
    pub fn new(points: Dims, all: Vec<f32>) -> Self {
        Self { points, all, once: Vec::new() }
    }

    /// Sharpens what the first pass leaves of the blur: c + f − B c of its values c, within the same bounds.
    pub fn again(self) -> Self {
        let once = self.whole();
        Self { once, ..self }
    }

    /// Returns all sharpened values.
    pub fn whole(&self) -> Vec<f32> {
        let points = self.points;
        let mut whole = vec![0.0; points.cells()];
        let rows = whole.par_chunks_mut(points.nx).enumerate().with_min_len(64);
        rows.for_each_init(Default::default, |(across, row): &mut (Across, Vec<f32>), (n, out)| {
            self.row([0, points.nx], [n % points.ny, n / points.ny], across, row);
            out.copy_from_slice(row);
        });
        whole
    }

    /// Writes the sharpened values of points `first` to `end` in a row, by its place along y and z; none if they are read linearly.
    pub fn row(&self, [first, end]: [usize; 2], place: [usize; 2], across: &mut Across, out: &mut Vec<f32>) {
        out.clear();
        if self.all.is_empty() {
            return;
        }
        let points = self.points;
        // One more on either side, at the ends of the row the same as the one beside it.
        let (before, after) = (first.saturating_sub(1), (end + 1).min(points.nx));
        let Across(across) = across;
        for values in across.iter_mut() {
            values.clear();
            values.resize(after - before, 0.0);
        }
        let [blurred, low, high] = across;
        sum_across(self.rows(&self.all, place).map(|row| &row[before..after]), [blurred, low, high]);
        if !self.once.is_empty() {
            blurred.fill(0.0);
            blur_across(self.rows(&self.once, place).map(|row| &row[before..after]), blurred);
        }
        for values in across.iter_mut() {
            if first == 0 {
                values.insert(0, values[0]);
            }
            if end == points.nx {
                values.push(values[values.len() - 1]);
            }
        }
        out.resize(end - first, 0.0);
        let once = if self.once.is_empty() { &self.all } else { &self.once };
        let middle = [&self.all, once].map(|all| &self.rows(all, place)[4][first..end]);
        sharpen(out, middle, [&across[0], &across[1], &across[2]]);
    }

    /// The row of a place, fifth, and the eight around it.
    fn rows<'a>(&self, all: &'a [f32], [j, k]: [usize; 2]) -> [&'a [f32]; 9] {
        let points = self.points;
        std::array::from_fn(|n| {
            let [j, k] = [(j + n % 3).saturating_sub(1), (k + n / 3).saturating_sub(1)];
            &all[points.index(0, j.min(points.ny - 1), k.min(points.nz - 1))..][..points.nx]
        })
    }
}

each_level! {
    /// Sums of nine rows with the weights of a spline, and the least and greatest of their values.
    fn sum_across(rows: [&[f32]; 9], out: [&mut [f32]; 3]) = sum_across_kernel;
}

#[inline(always)]
fn sum_across_kernel<S: Simd>(_: S, rows: [&[f32]; 9], [blurred, low, high]: [&mut [f32]; 3]) {
    let count = blurred.len();
    let (low, high) = (&mut low[..count], &mut high[..count]);
    low.fill(f32::MAX);
    high.fill(f32::MIN);
    for n in 0..9 {
        let weight = [SIDE, MIDDLE, SIDE][n % 3] * [SIDE, MIDDLE, SIDE][n / 3];
        let row = &rows[n][..count];
        for i in 0..count {
            blurred[i] += weight * row[i];
            low[i] = least(row[i], low[i]);
            high[i] = greatest(row[i], high[i]);
        }
    }
}

each_level! {
    /// Adds nine rows with the weights of a spline.
    fn blur_across(rows: [&[f32]; 9], blurred: &mut [f32]) = blur_across_kernel;
}

#[inline(always)]
fn blur_across_kernel<S: Simd>(_: S, rows: [&[f32]; 9], blurred: &mut [f32]) {
    let count = blurred.len();
    for n in 0..9 {
        let weight = [SIDE, MIDDLE, SIDE][n % 3] * [SIDE, MIDDLE, SIDE][n / 3];
        let row = &rows[n][..count];
        for i in 0..count {
            blurred[i] += weight * row[i];
        }
    }
}

each_level! {
    /// c + f − B c of the middle row, from f and c, within the bounds of the values around.
    fn sharpen(out: &mut [f32], middle: [&[f32]; 2], across: [&[f32]; 3]) = sharpen_kernel;
}

#[inline(always)]
fn sharpen_kernel<S: Simd>(_: S, out: &mut [f32], [middle, once]: [&[f32]; 2], across: [&[f32]; 3]) {
    let count = out.len();
    let (middle, once) = (&middle[..count], &once[..count]);
    let [blurred, low, high] = [&across[0][..count + 2], &across[1][..count + 2], &across[2][..count + 2]];
    for i in 0..count {
        let sum = SIDE * (blurred[i] + blurred[i + 2]) + MIDDLE * blurred[i + 1];
        let least_of_all = least(least(low[i], low[i + 1]), low[i + 2]);
        let greatest_of_all = greatest(greatest(high[i], high[i + 1]), high[i + 2]);
        out[i] = greatest(least(middle[i] + once[i] - sum, greatest_of_all), least_of_all);
    }
}

#[cfg(test)]
mod tests {
    use crate::grid::Dims;
    use crate::look::Look;
    use crate::render::light::{LightVolume, squared};
    use crate::render::medium::Medium;
    use crate::render::trilinear::spline;
    use crate::snapshot::Snapshot;

    /// Below the flat top of dense smoke, splines of sharpened roots come closer to the depth that straight rays have.
    #[test]
    fn splines_of_sharpened_roots_come_closer_to_the_depth() {
        let (dims, h) = (Dims::new([9, 33, 11]).unwrap(), 0.02);
        let edge = 0.4;
        let snapshot =
            Snapshot::from_fn(dims, h, |p| [((edge - p[1]) / h + 0.5).clamp(0.0, 1.0), 0.0, 0.0, 0.0]);
        let look = Look { sun_direction: [0.0, 1.0, 0.0], extinction: 80.0, ..Look::default() };
        let mut light = LightVolume::default();
        light.bake(&snapshot, &look);
        let error = |splines: bool| -> f32 {
            let roots = light.roots(&Medium::of(&look, snapshot.extent()), splines);
            let (mut row, mut all) = (Vec::new(), Vec::new());
            for n in 0..light.points.ny * light.points.nz {
                let place = [n % light.points.ny, n / light.points.ny];
                roots.row([0, light.points.nx], place, &mut Default::default(), &mut row);
                all.extend_from_slice(&row);
            }
            if all.is_empty() {
                all = light.depth.iter().map(|&x| super::root(x)).collect();
            }
            (0..30)
                .map(|n| {
                    let y = edge - h * (0.2 + 0.1 * n as f32);
                    let at = [0.09, y, 0.11].map(|x| x / h + 0.5);
                    let [read] = spline(light.points, at, |n| [all[n]]);
                    let depth = 80.0 * (edge - y - 0.5 * h).max(0.0);
                    let ramp = 0.5 * 80.0 * h * ((edge - y) / h + 0.5).min(1.0).powi(2);
                    let want = if edge - y < 0.5 * h { ramp } else { depth + 0.5 * 80.0 * h };
                    ((-squared(read)).exp() - (-want).exp()).abs()
                })
                .sum()
        };
        let [plain, sharp] = [error(false), error(true)];
        println!("{plain}, {sharp}");
        assert!(sharp < 0.7 * plain, "{sharp} and {plain}");
    }
}
