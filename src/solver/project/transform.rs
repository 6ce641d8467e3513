//! Real transforms that diagonalise the second difference along one axis, on 32 lines at once.
//!
//! The two sides of the axis fix the values just outside, and so the transform (Strang, "The Discrete Cosine
//! Transform", SIAM Review 1999):
//!
//! | sides            | outside                  | basis                          | 2 − 2 cos θ_k    |
//! |------------------|--------------------------|--------------------------------|------------------|
//! | closed, closed   | even, even               | cos(π k (i+½)/N), DCT-II       | θ = π k/N        |
//! | open, open       | odd, odd                 | sin(π (k+1)(i+½)/N), DST-II    | θ = π (k+1)/N    |
//! | closed, open     | even, odd                | cos(π (k+½)(i+½)/N), DCT-IV    | θ = π (k+½)/N    |
//! | open, closed     | odd, even                | the same, read backwards       | θ = π (k+½)/N    |
//! | periodic         | repeated                 | cos + sin (2π k i/N), Hartley  | θ = 2π k/N       |
//!
//! All are linear over the complex numbers: two real lines form one complex line and separate again without
//! extra work. DCT-II uses Makhoul's permutation (1980) and one Fourier transform of length N.

use std::f64::consts::PI;

use super::boundary::AxisBoundary;
use super::boundary::PressureBoundary::{Dirichlet, Neumann, Periodic};
use super::fft::{Fft, Lane, Pair};
use fearless_simd::prelude::*;

use crate::simd::vectors::{f32x16, load, store};
use crate::simd::{LANES, Simd, each_level, sixteen};

/// 2 − 2 cos θ_k for k < n, the eigenvalues of the negative second difference between `ends`.
pub fn eigenvalues(ends: AxisBoundary, n: usize) -> Vec<f32> {
    let theta = |k: f64| match ends {
        [Neumann, Neumann] => PI * k / n as f64,
        [Dirichlet, Dirichlet] => PI * (k + 1.0) / n as f64,
        [Periodic, _] => 2.0 * PI * k / n as f64,
        [Neumann | Dirichlet, _] => PI * (k + 0.5) / n as f64,
    };
    // 4 sin²(θ/2) keeps its digits where 2 − 2 cos θ cancels.
    (0..n).map(|k| 4.0 * (0.5 * theta(k as f64)).sin().powi(2)).map(|x| x as f32).collect()
}

/// Forward and inverse transform along an axis of one length: [`read_values`](Self::read_values),
/// [`transform`](Self::transform), [`write_coefficients`](Self::write_coefficients), and back in the same
/// way.
///
/// Values and coefficients of 32 lines are interleaved; consecutive indices are `pitch` apart. [`Work`] holds
/// the input until the output is written, so both may share memory.
#[derive(Clone, Debug)]
pub struct Transform {
    ends: AxisBoundary,
    n: usize,
    fft: Fft,
    /// cos and sin of the rotations.
    twiddles: Vec<[f32; 2]>,
    /// The second rotation of the even quarter-wave transform, π k/N.
    twiddles_out: Vec<[f32; 2]>,
}

/// Lines during a transform.
pub struct Work {
    data: Vec<Pair>,
    other: Vec<Pair>,
}

impl Work {
    /// Makes memory for transforms of up to this [`block_len`](Transform::block_len).
    pub fn new(len: usize) -> Self {
        let block = || vec![[[0.0; LANES]; 2]; len];
        Self { data: block(), other: block() }
    }
}

/// Lines transformed together: two groups of lanes make one complex line of each lane.
pub const PAIR: usize = 2 * LANES;

fn rotations(count: usize, angle: impl Fn(f64) -> f64) -> Vec<[f32; 2]> {
    (0..count).map(|k| angle(k as f64)).map(|a| [a.cos() as f32, a.sin() as f32]).collect()
}

impl Transform {
    /// Plans the transform of `n` ≥ 1 cells between `ends`.
    pub fn new(ends: AxisBoundary, n: usize) -> Self {
        let quarter = ends[0] != ends[1];
        let inverse_n = 1.0 / n as f64;
        let (length, twiddles) = match (quarter, n % 2) {
            (false, _) => (n, rotations(n, |k| 0.5 * PI * k * inverse_n)),
            (true, 0) => (n / 2, rotations(n / 2, |k| PI * (k + 0.25) * inverse_n)),
            (true, _) => (2 * n, rotations(2 * n, |k| 0.5 * PI * (k + 0.5) * inverse_n)),
        };
        let twiddles_out = rotations(n.div_ceil(2), |k| PI * k * inverse_n);
        Self { ends, n, fft: Fft::new(length), twiddles, twiddles_out }
    }

    /// Length of the blocks of a transform: `n`, or twice that where an odd axis needs it.
    pub fn block_len(&self) -> usize {
        if self.odd_quarter() { 2 * self.n } else { self.n }
    }

    /// Factor with which inverse(forward(x)) must be multiplied to give x.
    pub fn scale(&self) -> f64 {
        if self.ends[0] != self.ends[1] { 2.0 / self.n as f64 } else { 1.0 / self.n as f64 }
    }

    fn odd_quarter(&self) -> bool {
        self.ends[0] != self.ends[1] && !self.n.is_multiple_of(2)
    }

    /// Reads values.
    pub fn read_values(&self, from: &[f32], pitch: usize, work: &mut Work) {
        let rows = Rows { n: self.n, pitch, reversed: self.ends == [Dirichlet, Neumann] };
        match self.ends {
            [Neumann, Neumann] => take_in_order(rows, false, from, &mut work.data),
            [Dirichlet, Dirichlet] => take_in_order(rows, true, from, &mut work.data),
            [Neumann | Dirichlet, _] => self.read_quarter(rows, from, work),
            [Periodic, _] => take(rows, from, &mut work.data),
        }
    }

    /// Writes coefficients.
    pub fn write_coefficients(&self, work: &mut Work, to: &mut [f32], pitch: usize) {
        let rows = Rows { n: self.n, pitch, reversed: self.ends == [Dirichlet, Dirichlet] };
        match self.ends {
            [Neumann, Neumann] | [Dirichlet, Dirichlet] => dct2_rotate(rows, &self.twiddles, &work.data, to),
            [Neumann | Dirichlet, _] => self.write_quarter(rows, work, to),
            [Periodic, _] => hartley_combine(rows, &work.data, to),
        }
    }

    /// Reads coefficients.
    pub fn read_coefficients(&self, from: &[f32], pitch: usize, work: &mut Work) {
        let rows = Rows { n: self.n, pitch, reversed: self.ends == [Dirichlet, Dirichlet] };
        match self.ends {
            [Neumann, Neumann] | [Dirichlet, Dirichlet] => {
                dct3_rotate(rows, &self.twiddles, from, &mut work.data)
            }
            [Neumann | Dirichlet, _] => self.read_quarter(rows, from, work),
            [Periodic, _] => take(rows, from, &mut work.data),
        }
    }

    /// Writes values, times 1/[`scale`](Self::scale).
    pub fn write_values(&self, work: &mut Work, to: &mut [f32], pitch: usize) {
        let rows = Rows { n: self.n, pitch, reversed: self.ends == [Dirichlet, Neumann] };
        match self.ends {
            [Neumann, Neumann] => put_in_order(rows, false, &work.data, to),
            [Dirichlet, Dirichlet] => put_in_order(rows, true, &work.data, to),
            [Neumann | Dirichlet, _] => self.write_quarter(rows, work, to),
            [Periodic, _] => hartley_combine(rows, &work.data, to),
        }
    }

    /// Transforms the lines that were read, forwards or backwards.
    pub fn transform(&self, work: &mut Work) {
        let Work { data, other } = work;
        self.fft.forward(data, other);
        if self.even_quarter() {
            // The second half of the lines is transformed separately.
            self.fft.forward(&mut data[self.n / 2..], other);
        }
    }

    fn even_quarter(&self) -> bool {
        self.ends[0] != self.ends[1] && !self.odd_quarter()
    }

    /// Reads for the quarter-wave transform, which is its own inverse up to a factor.
    fn read_quarter(&self, rows: Rows, from: &[f32], work: &mut Work) {
        if self.odd_quarter() {
            self.read_odd_quarter(rows, from, work);
        } else {
            // Real line by real line: pairs of its values are the complex values of a half-length transform.
            dct4_pack(rows, &self.twiddles, from, &mut work.data);
        }
    }

    fn write_quarter(&self, rows: Rows, work: &mut Work, to: &mut [f32]) {
        if self.odd_quarter() {
            self.write_odd_quarter(rows, work, to);
        } else {
            dct4_unpack(rows, &self.twiddles_out, &work.data, to);
        }
    }

    /// S_k = Σ z_i e^(−iπ(i+½)(k+½)/N) by a transform of length 2N; C_k = ½ (S_k − S_(2N−1−k)).
    fn read_odd_quarter(&self, rows: Rows, from: &[f32], work: &mut Work) {
        take(rows, from, &mut work.data);
        work.data[self.n..].fill([[0.0; LANES]; 2]);
        for (i, [re, im]) in work.data.iter_mut().enumerate().take(self.n) {
            let angle = PI * i as f64 / (2 * self.n) as f64;
            let [c, s] = [angle.cos() as f32, angle.sin() as f32];
            for l in 0..LANES {
                let (x, y) = (re[l], im[l]);
                (re[l], im[l]) = (x * c + y * s, y * c - x * s);
            }
        }
    }

    fn write_odd_quarter(&self, rows: Rows, work: &Work, to: &mut [f32]) {
        let turned = |k: usize, l: usize| {
            let ([c, s], [re, im]) = (self.twiddles[k], &work.data[k]);
            [re[l] * c + im[l] * s, im[l] * c - re[l] * s]
        };
        for k in 0..self.n {
            let row = rows.row_mut(to, k);
            for l in 0..LANES {
                let (here, mirror) = (turned(k, l), turned(2 * self.n - 1 - k, l));
                (row[l], row[LANES + l]) = (0.5 * (here[0] - mirror[0]), 0.5 * (here[1] - mirror[1]));
            }
        }
    }
}

/// Rows of values or coefficients.
#[derive(Clone, Copy)]
struct Rows {
    n: usize,
    pitch: usize,
    /// The last index comes first.
    reversed: bool,
}

impl Rows {
    #[inline(always)]
    fn at(self, i: usize) -> usize {
        self.pitch * if self.reversed { self.n - 1 - i } else { i }
    }

    /// The real and the imaginary parts of index i.
    #[inline(always)]
    fn row(self, all: &[f32], i: usize) -> [&Lane; 2] {
        let row: &[f32; PAIR] = all[self.at(i)..].first_chunk().expect("lines are padded");
        [sixteen(row, 0), sixteen(row, LANES)]
    }

    #[inline(always)]
    fn row_mut(self, all: &mut [f32], i: usize) -> &mut [f32; PAIR] {
        all[self.at(i)..].first_chunk_mut().expect("lines are padded")
    }

    #[inline(always)]
    fn store<S: Simd>(self, all: &mut [f32], i: usize, re: f32x16<S>, im: f32x16<S>) {
        let parts = self.row_mut(all, i).as_chunks_mut::<LANES>().0;
        store(re, &mut parts[0]);
        store(im, &mut parts[1]);
    }
}

/// Makhoul's order of n values: even indices upwards, then odd ones downwards.
#[inline(always)]
fn makhoul(n: usize, i: usize) -> usize {
    if i.is_multiple_of(2) { i / 2 } else { n - 1 - i / 2 }
}

each_level! { fn take(rows: Rows, from: &[f32], data: &mut [Pair]) = take_kernel; }

#[inline(always)]
fn take_kernel<S: Simd>(s: S, rows: Rows, from: &[f32], data: &mut [Pair]) {
    for (i, to) in data.iter_mut().enumerate().take(rows.n) {
        let [re, im] = rows.row(from, i);
        store(load(s, re), &mut to[0]);
        store(load(s, im), &mut to[1]);
    }
}

each_level! {
    /// Reads in Makhoul's order. `alternate` flips the sign of every other value.
    fn take_in_order(rows: Rows, alternate: bool, from: &[f32], data: &mut [Pair]) = take_in_order_kernel;
}

#[inline(always)]
fn take_in_order_kernel<S: Simd>(s: S, rows: Rows, alternate: bool, from: &[f32], data: &mut [Pair]) {
    let signs = [s.splat_f32x16(1.0), s.splat_f32x16(if alternate { -1.0 } else { 1.0 })];
    for i in 0..rows.n {
        let ([re, im], to) = (rows.row(from, i), &mut data[makhoul(rows.n, i)]);
        store(load(s, re) * signs[i % 2], &mut to[0]);
        store(load(s, im) * signs[i % 2], &mut to[1]);
    }
}

each_level! {
    /// Writes from Makhoul's order, and exchanges real and imaginary parts back.
    fn put_in_order(rows: Rows, alternate: bool, data: &[Pair], to: &mut [f32]) = put_in_order_kernel;
}

#[inline(always)]
fn put_in_order_kernel<S: Simd>(s: S, rows: Rows, alternate: bool, data: &[Pair], to: &mut [f32]) {
    let signs = [s.splat_f32x16(1.0), s.splat_f32x16(if alternate { -1.0 } else { 1.0 })];
    for i in 0..rows.n {
        let [im, re] = &data[makhoul(rows.n, i)];
        rows.store(to, i, load(s, re) * signs[i % 2], load(s, im) * signs[i % 2]);
    }
}

each_level! {
    /// C_k = ½ (e^(−iθ) V_k + e^(iθ) V_(N−k)), θ = π k / 2N.
    fn dct2_rotate(rows: Rows, twiddles: &[[f32; 2]], data: &[Pair], to: &mut [f32]) = dct2_rotate_kernel;
}

#[inline(always)]
fn dct2_rotate_kernel<S: Simd>(s: S, rows: Rows, twiddles: &[[f32; 2]], data: &[Pair], to: &mut [f32]) {
    let data = &data[..rows.n];
    for (k, &[cos, sin]) in twiddles.iter().enumerate().take(rows.n) {
        let ([vr, vi], [mr, mi]) = (&data[k], &data[if k == 0 { 0 } else { rows.n - k }]);
        let (vr, vi, mr, mi) = (load(s, vr), load(s, vi), load(s, mr), load(s, mi));
        let (cos, sin, half) = (s.splat_f32x16(cos), s.splat_f32x16(sin), s.splat_f32x16(0.5));
        let x = cos.mul_add(vr + mr, sin * (vi - mi));
        let y = cos.mul_add(vi + mi, sin * (mr - vr));
        rows.store(to, k, half * x, half * y);
    }
}

each_level! {
    /// V_k = e^(iθ) (C_k − i C_(N−k)), C_N = 0, with real and imaginary parts exchanged.
    fn dct3_rotate(rows: Rows, twiddles: &[[f32; 2]], from: &[f32], data: &mut [Pair]) = dct3_rotate_kernel;
}

#[inline(always)]
fn dct3_rotate_kernel<S: Simd>(s: S, rows: Rows, twiddles: &[[f32; 2]], from: &[f32], data: &mut [Pair]) {
    let [re, im] = rows.row(from, 0);
    data[0] = [*im, *re];
    for ((k, &[cos, sin]), to) in twiddles.iter().enumerate().zip(data).skip(1) {
        let ([cr, ci], [er, ei]) = (rows.row(from, k), rows.row(from, rows.n - k));
        let (x, y) = (load(s, cr) + load(s, ei), load(s, ci) - load(s, er));
        let (cos, sin) = (s.splat_f32x16(cos), s.splat_f32x16(sin));
        store(cos.mul_sub(x, sin * y), &mut to[1]);
        store(cos.mul_add(y, sin * x), &mut to[0]);
    }
}

each_level! {
    /// H_k = ½ ((1 + i) Z_k + (1 − i) Z_(N−k)).
    fn hartley_combine(rows: Rows, data: &[Pair], to: &mut [f32]) = hartley_combine_kernel;
}

#[inline(always)]
fn hartley_combine_kernel<S: Simd>(s: S, rows: Rows, data: &[Pair], to: &mut [f32]) {
    for k in 0..rows.n {
        let ([zr, zi], [mr, mi]) = (&data[k], &data[if k == 0 { 0 } else { rows.n - k }]);
        let (zr, zi, mr, mi) = (load(s, zr), load(s, zi), load(s, mr), load(s, mi));
        let (half, x) = (s.splat_f32x16(0.5), (zr + mr) + (mi - zi));
        let y = (zi + mi) + (zr - mr);
        rows.store(to, k, half * x, half * y);
    }
}

each_level! {
    /// Packs the first sixteen lines into the first half of `data`, the others into the second.
    fn dct4_pack(rows: Rows, twiddles: &[[f32; 2]], from: &[f32], data: &mut [Pair]) = dct4_pack_kernel;
}

#[inline(always)]
fn dct4_pack_kernel<S: Simd>(s: S, rows: Rows, twiddles: &[[f32; 2]], from: &[f32], data: &mut [Pair]) {
    let half = rows.n / 2;
    for (j, &[cos, sin]) in twiddles.iter().enumerate().take(half) {
        let (a, b) = (rows.row(from, 2 * j), rows.row(from, rows.n - 1 - 2 * j));
        let (cos, sin) = (s.splat_f32x16(cos), s.splat_f32x16(sin));
        for part in 0..2 {
            let (a, b, to) = (load(s, a[part]), load(s, b[part]), &mut data[part * half + j]);
            store(a.mul_add(cos, b * sin), &mut to[0]);
            store(b.mul_sub(cos, a * sin), &mut to[1]);
        }
    }
}

each_level! { fn dct4_unpack(rows: Rows, twiddles: &[[f32; 2]], data: &[Pair], to: &mut [f32]) = dct4_unpack_kernel; }

#[inline(always)]
fn dct4_unpack_kernel<S: Simd>(s: S, rows: Rows, twiddles: &[[f32; 2]], data: &[Pair], to: &mut [f32]) {
    let half = rows.n / 2;
    for (k, &[cos, sin]) in twiddles.iter().enumerate().take(half) {
        let ([ar, ai], [br, bi]) = (&data[k], &data[half + k]);
        let (ar, ai, br, bi) = (load(s, ar), load(s, ai), load(s, br), load(s, bi));
        let (cos, sin) = (s.splat_f32x16(cos), s.splat_f32x16(sin));
        let (a, b) = (ar.mul_add(cos, ai * sin), br.mul_add(cos, bi * sin));
        rows.store(to, 2 * k, a, b);
        let (a, b) = (ar.mul_sub(sin, ai * cos), br.mul_sub(sin, bi * cos));
        rows.store(to, rows.n - 1 - 2 * k, a, b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [AxisBoundary; 5] =
        [[Neumann; 2], [Dirichlet; 2], [Neumann, Dirichlet], [Dirichlet, Neumann], [Periodic; 2]];

    /// Values of 32 lines.
    fn sample(n: usize) -> Vec<f32> {
        let value = |i: usize, l: usize| match l.checked_sub(LANES) {
            None => ((i * i * 7 + l * 3) % 17) as f32 / 8.0 - 1.0,
            Some(l) => ((i * 5 + l * l) % 13) as f32 / 6.0 - 1.0,
        };
        (0..n * PAIR).map(|at| value(at / PAIR, at % PAIR)).collect()
    }

    /// Negative second difference of line `l`, with the values outside that `ends` implies.
    fn second_difference(ends: AxisBoundary, x: &[f32], l: usize) -> Vec<f32> {
        let n = x.len() / PAIR;
        let x = |i: usize| x[i * PAIR + l];
        let outside = |low: bool| {
            let (edge, far) = if low { (x(0), x(n - 1)) } else { (x(n - 1), x(0)) };
            match ends[usize::from(!low)] {
                Neumann => edge,
                Dirichlet => -edge,
                Periodic => far,
            }
        };
        let at = |i: usize| {
            let lo = if i == 0 { outside(true) } else { x(i - 1) };
            let hi = if i + 1 == n { outside(false) } else { x(i + 1) };
            2.0 * x(i) - lo - hi
        };
        (0..n).map(at).collect()
    }

    #[test]
    fn diagonalises_the_second_difference_and_inverts() {
        for ends in ALL {
            for n in [1usize, 2, 3, 4, 5, 7, 8, 11, 12, 16, 31, 48, 96, 128] {
                let plan = Transform::new(ends, n);
                let (mut data, mut work) = (sample(n), Work::new(plan.block_len()));
                let wants: Vec<Vec<f32>> = (0..PAIR).map(|l| second_difference(ends, &data, l)).collect();
                plan.read_values(&data, PAIR, &mut work);
                plan.transform(&mut work);
                plan.write_coefficients(&mut work, &mut data, PAIR);
                let lambda = eigenvalues(ends, n);
                let scale = plan.scale() as f32;
                for (at, x) in data.iter_mut().enumerate() {
                    *x *= lambda[at / PAIR] * scale;
                }
                plan.read_coefficients(&data, PAIR, &mut work);
                plan.transform(&mut work);
                plan.write_values(&mut work, &mut data, PAIR);
                for (at, x) in data.iter().enumerate() {
                    let (i, l) = (at / PAIR, at % PAIR);
                    let error = (x - wants[l][i]).abs();
                    assert!(error < 1e-4, "{ends:?} n {n} i {i} line {l}: off by {error}");
                }
            }
        }
    }
}
