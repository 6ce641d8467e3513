//! A periodic tile of a random vector potential, made of bands of wavelet noise (Cook & DeRose, "Wavelet Noise", SIGGRAPH 2005).
//!
//! Each band is a lattice of random numbers without what a lattice half as fine can hold, interpolated by quadratic B-splines. Its
//! wavelengths are two to four lattice spacings. The curl of the potential is the velocity of the swirls (Bridson, Houriham &
//! Nordenstam, "Curl-Noise for Procedural Fluid Flow", SIGGRAPH 2007), so each band is scaled by the speed of its curl:
//!
//! ```text
//!     E(k) ∝ k^−p,   so the speed of a band is 2^((1−p)/2) times that of the band twice as long
//! ```
//!
//! Summed into one tile, the bands cost as much as one.

use fearless_simd::prelude::*;
use fearless_simd::{f32x4, i32x4};
use rayon::prelude::*;

use crate::simd::Simd;
use crate::simd::vectors::f32x8;

/// Weights that halve the resolution: the dual of the quadratic B-spline.
const DOWN: [f32; 32] = [
    0.000334, -0.001528, 0.000410, 0.003545, -0.000938, -0.008233, 0.002172, 0.019120, -0.005040, -0.044412,
    0.011655, 0.103311, -0.025936, -0.243780, 0.033979, 0.655340, 0.655340, 0.033979, -0.243780, -0.025936,
    0.103311, 0.011655, -0.044412, -0.005040, 0.019120, 0.002172, -0.008233, -0.000938, 0.003545, 0.000410,
    -0.001528, 0.000334,
];

/// Least number of lattice points along an axis.
const FEWEST: usize = 4;

/// The parameters of a tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// Cells along each axis, powers of two.
    pub cells: [usize; 3],
    /// Lattice spacing of the first band \[cells\]; its longest waves are four times as long.
    pub spacing: f32,
    /// Number of bands; those whose lattice would be finer than the cells are left out.
    pub octaves: u32,
    /// Root mean square of the speed of the first band.
    pub speed: f32,
    /// Exponent p of the energy spectrum.
    pub exponent: f32,
    pub seed: u32,
    /// Components of the potential; the others are 0.
    pub components: [bool; 3],
}

/// A periodic vector potential, in units of speed times cells.
pub struct Tile {
    pub recipe: Recipe,
    /// With one more layer at the end of each axis, equal to the first.
    values: Vec<[f32; 4]>,
    strides: [usize; 2],
    masks: [i32; 3],
    /// Largest component of the curl.
    pub peak: f32,
    /// Most by which a component of the curl changes from face to face along its axis, or two of them together.
    pub strain: f32,
}

impl Tile {
    /// Makes the tile of a recipe.
    pub fn new(recipe: Recipe) -> Self {
        let cells = recipe.cells;
        let mut sum = [0, 1, 2].map(|_| vec![0.0f32; cells.iter().product()]);
        for octave in 0..recipe.octaves {
            let spacing = recipe.spacing / 2.0f32.powi(octave as i32);
            if spacing < 0.99 {
                break;
            }
            let mut band = [0, 1, 2].map(|c| (c, vec![]));
            band.par_iter_mut().filter(|(c, _)| recipe.components[*c]).for_each(|(c, values)| {
                *values = component(&recipe, octave, *c, spacing);
            });
            let mut band = band.map(|(_, values)| values);
            band.iter_mut().filter(|values| values.is_empty()).for_each(|v| v.resize(sum[0].len(), 0.0));
            let [speed, ..] = curl(cells, &band);
            let wanted = recipe.speed * 2.0f32.powf(0.5 * (1.0 - recipe.exponent) * octave as f32);
            let scale = if speed > 0.0 { wanted / speed } else { 0.0 };
            for (sum, band) in sum.iter_mut().zip(&band) {
                sum.iter_mut().zip(band).for_each(|(sum, band)| *sum += scale * band);
            }
        }
        let [_, peak, strain] = curl(cells, &sum);
        let strides = [cells[0] + 1, (cells[0] + 1) * (cells[1] + 1)];
        let values = (0..strides[1] * (cells[2] + 1))
            .map(|at| {
                let [i, j, k] = [at % strides[0], at % strides[1] / strides[0], at / strides[1]];
                let from = i % cells[0] + cells[0] * (j % cells[1] + cells[1] * (k % cells[2]));
                [sum[0][from], sum[1][from], sum[2][from], 0.0]
            })
            .collect();
        Self { recipe, values, strides, masks: cells.map(|n| n as i32 - 1), peak, strain }
    }

    /// The trilinear value at `p` \[cells\]; its fourth number is not read. The eight values around a place are four loads.
    #[inline(always)]
    pub fn sample<S: Simd>(&self, s: S, p: f32x4<S>) -> f32x4<S> {
        let low = p.floor();
        let f: [f32; 4] = (p - low).into();
        let cell: [i32; 4] = low.to_int::<i32x4<S>>().into();
        let cell: [usize; 3] = std::array::from_fn(|a| (cell[a] & self.masks[a]) as usize);
        let [row, plane] = self.strides;
        let at = cell[0] + cell[1] * row + cell[2] * plane;
        let [a, b, c, d] = [at, at + row, at + plane, at + plane + row].map(
            #[inline(always)]
            |at| self.pair(s, at),
        );
        let [y, z] = [f[1], f[2]].map(
            #[inline(always)]
            |f| f32x8::splat(s, f),
        );
        let low = y.mul_add(b - a, a);
        let high = y.mul_add(d - c, c);
        let (near, far) = z.mul_add(high - low, low).split();
        f32x4::splat(s, f[0]).mul_add(far - near, near)
    }

    /// The values of two neighbours along x.
    #[inline(always)]
    fn pair<S: Simd>(&self, s: S, at: usize) -> f32x8<S> {
        let values = self.values[at..at + 2].as_flattened().first_chunk().expect("two cells");
        f32x8::load_array_ref(s, values)
    }

    /// As [`sample`](Self::sample), in plain numbers.
    #[cfg(test)]
    fn value(&self, p: [f32; 4]) -> [f32; 4] {
        let low = p.map(f32::floor);
        let f = [p[0] - low[0], p[1] - low[1], p[2] - low[2]];
        let cell = [0, 1, 2].map(|a| (low[a] as i32 & self.masks[a]) as usize);
        let [row, plane] = self.strides;
        let at = cell[0] + cell[1] * row + cell[2] * plane;
        let lerp = |a: f32, b: f32, f: f32| f.mul_add(b - a, a);
        std::array::from_fn(|c| {
            let of = |at: usize| self.values[at][c];
            let side = |at: usize| {
                let low = lerp(of(at), of(at + row), f[1]);
                lerp(low, lerp(of(at + plane), of(at + plane + row), f[1]), f[2])
            };
            lerp(side(at), side(at + 1), f[0])
        })
    }
}

/// One component of a band, on the cells of the tile.
fn component(recipe: &Recipe, octave: u32, c: usize, spacing: f32) -> Vec<f32> {
    let points = recipe.cells.map(|n| (2 * (0.5 * n as f32 / spacing).round() as usize).max(FEWEST));
    let mut state = u64::from(recipe.seed) << 16 | u64::from(octave) << 8 | c as u64;
    let random: Vec<f32> = (0..points.iter().product()).map(|_| random(&mut state)).collect();
    let mut coarse = random.clone();
    for axis in 0..3 {
        coarse = along(&coarse, points, axis, points[axis], smoothed);
    }
    let mut values: Vec<f32> = random.iter().zip(&coarse).map(|(all, coarse)| all - coarse).collect();
    let mut shape = points;
    for axis in 0..3 {
        values = along(&values, shape, axis, recipe.cells[axis], spline);
        shape[axis] = recipe.cells[axis];
    }
    values
}

/// The next pseudo-random number, with mean 0 and variance 1 (the sum of four numbers of SplitMix64).
fn random(state: &mut u64) -> f32 {
    let mut sum = 0.0;
    for _ in 0..2 {
        let bits = split_mix(state);
        for half in [bits >> 40, bits << 32 >> 40] {
            sum += half as f32 / (1 << 23) as f32 - 1.0;
        }
    }
    sum * 0.75f32.sqrt()
}

/// The next 64 bits of SplitMix64.
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Applies `f(line, out)` to all lines along an axis; `out` has `count` values.
fn along(from: &[f32], shape: [usize; 3], axis: usize, count: usize, f: fn(&[f32], &mut [f32])) -> Vec<f32> {
    let stride: usize = shape[..axis].iter().product();
    let n = shape[axis];
    let mut to = vec![0.0; from.len() / n * count];
    let (mut line, mut out) = (vec![0.0; n], vec![0.0; count]);
    for index in 0..from.len() / n {
        let (inner, outer) = (index % stride, index / stride);
        line.iter_mut().enumerate().for_each(|(i, x)| *x = from[inner + stride * (i + n * outer)]);
        f(&line, &mut out);
        out.iter().enumerate().for_each(|(i, x)| to[inner + stride * (i + count * outer)] = *x);
    }
    to
}

/// The part of a periodic line that a lattice of half the resolution can represent.
fn smoothed(line: &[f32], out: &mut [f32]) {
    let n = line.len();
    let wrapped = |at: isize| line[at.rem_euclid(n as isize) as usize];
    let half: Vec<f32> = (0..n as isize / 2)
        .map(|i| DOWN.iter().enumerate().map(|(t, a)| a * wrapped(2 * i + t as isize - 16)).sum())
        .collect();
    for (i, out) in out.iter_mut().enumerate() {
        let [near, far] = if i % 2 == 0 { [0.75, 0.25] } else { [0.25, 0.75] };
        *out = near * half[i / 2] + far * half[(i / 2 + 1) % half.len()];
    }
}

/// The quadratic B-spline with the coefficients of a periodic line, at evenly spaced points.
fn spline(line: &[f32], out: &mut [f32]) {
    let n = line.len();
    let scale = n as f32 / out.len() as f32;
    for (i, out) in out.iter_mut().enumerate() {
        let p = i as f32 * scale - 0.5;
        let middle = p.ceil();
        let t = middle - p;
        let middle = (middle as isize).rem_euclid(n as isize) as usize;
        let [below, above] = [0.5 * t * t, 0.5 * (1.0 - t) * (1.0 - t)];
        *out = below * line[(middle + n - 1) % n]
            + (1.0 - below - above) * line[middle]
            + above * line[(middle + 1) % n];
    }
}

/// Of the curl of a periodic potential on edges: root mean square of its length, its largest component, and its largest strain.
fn curl(cells: [usize; 3], potential: &[Vec<f32>; 3]) -> [f32; 3] {
    let place = |at: usize| [at % cells[0], at / cells[0] % cells[1], at / (cells[0] * cells[1])];
    let next = |at: usize, axis: usize| {
        let mut place = place(at);
        place[axis] = (place[axis] + 1) % cells[axis];
        place[0] + cells[0] * (place[1] + cells[1] * place[2])
    };
    let speeds = [0, 1, 2].map(|axis| {
        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
        let change = |component: usize, axis: usize, at: usize| {
            potential[component][next(at, axis)] - potential[component][at]
        };
        (0..potential[0].len()).map(|at| change(c, b, at) - change(b, c, at)).collect::<Vec<f32>>()
    });
    let (mut sum, mut most, mut strain) = (0.0f64, 0.0f32, 0.0f32);
    for at in 0..potential[0].len() {
        let own = [0, 1, 2].map(|axis| speeds[axis][at]);
        sum += own.iter().map(|&speed| f64::from(speed * speed)).sum::<f64>();
        most = own.iter().fold(most, |most, speed| most.max(speed.abs()));
        // Two together are the third, as their sum is 0.
        strain = (0..3).fold(strain, |most, axis| most.max((speeds[axis][next(at, axis)] - own[axis]).abs()));
    }
    [(sum / potential[0].len() as f64).sqrt() as f32, most, strain]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe() -> Recipe {
        let cells = [32, 16, 32];
        Recipe { cells, spacing: 2.0, octaves: 1, speed: 1.0, exponent: 1.0, seed: 3, components: [true; 3] }
    }

    #[test]
    fn a_tile_repeats_and_has_unit_speed() {
        let tile = Tile::new(recipe());
        for p in [[0.3, 0.7, 31.5, 0.0], [31.9, 15.2, 4.0, 0.0], [7.25, 3.5, 9.75, 0.0]] {
            let beyond = [p[0] + 64.0, p[1] - 16.0, p[2] + 32.0, 0.0];
            for c in 0..3 {
                assert!((tile.value(p)[c] - tile.value(beyond)[c]).abs() < 1e-4);
            }
        }
        let potential = [0, 1, 2].map(|c| {
            let at = |n: usize| [n % 32, n / 32 % 16, n / 512, 0].map(|x| x as f32);
            (0..32 * 16 * 32).map(|n| tile.value(at(n))[c]).collect()
        });
        let [speed, peak, _] = curl([32, 16, 32], &potential);
        assert!((speed - 1.0).abs() < 1e-3 && (2.0..6.0).contains(&peak), "{speed} {peak}");
    }

    crate::simd::each_level! { fn read(tile: &Tile, p: [f32; 4], out: &mut [f32; 4]) = read_kernel; }

    #[inline(always)]
    fn read_kernel<S: Simd>(s: S, tile: &Tile, p: [f32; 4], out: &mut [f32; 4]) {
        *out = tile.sample(s, f32x4::load_array(s, p)).into();
    }

    #[test]
    fn values_read_in_registers_are_those_of_plain_numbers() {
        let tile = Tile::new(recipe());
        for n in 0..200 {
            let x = n as f32;
            let place = [37.3 * x.sin(), 90.1 * (1.7 * x).cos(), x - 99.5, 0.25];
            let mut got = [0.0; 4];
            read(&tile, place, &mut got);
            let wanted = tile.value(place);
            assert!((0..3).all(|c| (got[c] - wanted[c]).abs() < 1e-5), "{place:?}: {got:?} for {wanted:?}");
        }
    }

    /// Power of the waves with up to two periods in 32 cells along x or z, relative to that of white noise on
    /// the lattice.
    fn long_waves(values: &[f32]) -> f64 {
        let power: f64 = values.iter().map(|x| f64::from(x * x)).sum();
        let points = values.len() as f64 / 8.0;
        let of = |turns: f64, coordinate: fn(usize) -> usize| {
            let sum = values.iter().enumerate().fold([0.0, 0.0], |sum, (at, &x)| {
                let angle = std::f64::consts::TAU * turns * coordinate(at) as f64 / 32.0;
                [sum[0] + f64::from(x) * angle.cos(), sum[1] + f64::from(x) * angle.sin()]
            });
            (sum[0] * sum[0] + sum[1] * sum[1]) / values.len() as f64 / power * points
        };
        [1.0, 2.0].iter().map(|&turns| of(turns, |at| at % 32) + of(turns, |at| at / 512)).sum::<f64>() / 4.0
    }

    #[test]
    fn a_band_has_hardly_any_long_waves() {
        let cells = [32, 16, 32];
        let mut state = 1;
        let mut white: Vec<f32> = (0..16 * 8 * 16).map(|_| random(&mut state)).collect();
        let mut shape = [16, 8, 16];
        for axis in 0..3 {
            white = along(&white, shape, axis, cells[axis], spline);
            shape[axis] = cells[axis];
        }
        let band = component(&recipe(), 0, 0, 2.0);
        let [white, band] = [long_waves(&white), long_waves(&band)];
        assert!(white > 0.2 && band < 0.03 * white, "{band} beside {white}");
    }

    #[test]
    fn each_band_has_its_share_of_the_spectrum() {
        let of = |octaves, exponent| {
            let tile = Tile::new(Recipe { octaves, exponent, spacing: 4.0, ..recipe() });
            tile.peak
        };
        // Bands above the first add less when the spectrum is steep.
        assert!(of(2, 6.0) < 1.3 * of(1, 6.0), "{} {}", of(2, 6.0), of(1, 6.0));
        assert!(of(3, 1.0) > 1.3 * of(1, 1.0), "{} {}", of(3, 1.0), of(1, 1.0));
    }
}
