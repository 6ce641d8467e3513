//! Complex discrete Fourier transforms of any length, on 16 lines at once.
//!
//! Stockham's self-sorting form: each pass splits off one factor of the length. Radices 4 and 2 are written
//! by hand; 3, 5 and other primes use the plain sum. The 16 lines lie in the lanes of [`Lane`], so every
//! operation is a vector operation and no data is shuffled.

use std::f64::consts::TAU;

use fearless_simd::prelude::*;

pub use crate::simd::vectors::Lane;
use crate::simd::vectors::{self, f32x16};
use crate::simd::{Simd, each_level};

/// A complex value of each of the lines: real parts, imaginary parts.
pub type Pair = [Lane; 2];

/// One pass: `m` butterflies of `radix`, each over `stride` neighbours.
#[derive(Clone, Debug)]
struct Pass {
    radix: usize,
    m: usize,
    stride: usize,
    /// e^(−2πi p q / (radix m)) for p < m, q < radix, at p · radix + q.
    twiddles: Vec<[f32; 2]>,
    /// e^(−2πi q r / radix) at q · radix + r, for radices without a hand-written butterfly.
    roots: Vec<[f32; 2]>,
}

/// A plan for one length.
#[derive(Clone, Debug)]
pub struct Fft {
    n: usize,
    passes: Vec<Pass>,
}

fn root(numerator: usize, denominator: usize) -> [f32; 2] {
    let angle = -TAU * (numerator % denominator) as f64 / denominator as f64;
    [angle.cos() as f32, angle.sin() as f32]
}

fn factors(mut n: usize) -> Vec<usize> {
    let mut out = Vec::new();
    for radix in [4, 2, 3, 5] {
        while n.is_multiple_of(radix) {
            out.push(radix);
            n /= radix;
        }
    }
    let mut p = 7;
    while n > 1 {
        while n.is_multiple_of(p) {
            out.push(p);
            n /= p;
        }
        p += 2;
    }
    out
}

impl Fft {
    /// Makes a plan for lines of length `n` ≥ 1.
    pub fn new(n: usize) -> Self {
        let (mut left, mut stride) = (n, 1);
        let mut passes = Vec::new();
        for radix in factors(n) {
            let m = left / radix;
            let twiddles = (0..left).map(|i| root((i / radix) * (i % radix), left)).collect();
            let roots = (0..radix * radix).map(|i| root((i / radix) * (i % radix), radix)).collect();
            passes.push(Pass { radix, m, stride, twiddles, roots });
            left = m;
            stride *= radix;
        }
        Self { n, passes }
    }

    /// X_k = Σ_n x_n e^(−2πi nk/N) of the first N values of `data`, in place; `other` is scratch of the same
    /// length.
    ///
    /// With real and imaginary parts exchanged before and after it is the inverse transform, without the
    /// factor 1/N.
    pub fn forward(&self, data: &mut [Pair], other: &mut [Pair]) {
        let (mut from, mut to) = (&mut data[..self.n], &mut other[..self.n]);
        for pass in &self.passes {
            match pass.radix {
                4 => radix4(pass, from, to),
                2 => radix2(pass, from, to),
                _ => any_radix(pass, from, to),
            }
            std::mem::swap(&mut from, &mut to);
        }
        if !self.passes.len().is_multiple_of(2) {
            to.copy_from_slice(from);
        }
    }
}

/// A complex value of each line, in registers.
type Complex<S> = (f32x16<S>, f32x16<S>);

#[inline(always)]
fn load<S: Simd>(s: S, [re, im]: &Pair) -> Complex<S> {
    (vectors::load(s, re), vectors::load(s, im))
}

#[inline(always)]
fn store<S: Simd>((re, im): Complex<S>, to: &mut Pair) {
    vectors::store(re, &mut to[0]);
    vectors::store(im, &mut to[1]);
}

#[inline(always)]
fn plus<S: Simd>(a: Complex<S>, b: Complex<S>) -> Complex<S> {
    (a.0 + b.0, a.1 + b.1)
}

#[inline(always)]
fn minus<S: Simd>(a: Complex<S>, b: Complex<S>) -> Complex<S> {
    (a.0 - b.0, a.1 - b.1)
}

/// a + i b.
#[inline(always)]
fn plus_i<S: Simd>(a: Complex<S>, b: Complex<S>) -> Complex<S> {
    (a.0 - b.1, a.1 + b.0)
}

/// a − i b.
#[inline(always)]
fn minus_i<S: Simd>(a: Complex<S>, b: Complex<S>) -> Complex<S> {
    (a.0 + b.1, a.1 - b.0)
}

/// x · w.
#[inline(always)]
fn turn<S: Simd>(s: S, (re, im): Complex<S>, [cos, sin]: [f32; 2]) -> Complex<S> {
    let (cos, sin) = (s.splat_f32x16(cos), s.splat_f32x16(sin));
    (re.mul_sub(cos, im * sin), re.mul_add(sin, im * cos))
}

each_level! { fn radix2(pass: &Pass, x: &[Pair], y: &mut [Pair]) = radix2_kernel; }
each_level! { fn radix4(pass: &Pass, x: &[Pair], y: &mut [Pair]) = radix4_kernel; }
each_level! { fn any_radix(pass: &Pass, x: &[Pair], y: &mut [Pair]) = any_radix_kernel; }

#[inline(always)]
fn radix2_kernel<S: Simd>(simd: S, pass: &Pass, x: &[Pair], y: &mut [Pair]) {
    let (s, m) = (pass.stride, pass.m);
    for (p, y) in y.chunks_exact_mut(2 * s).enumerate() {
        let w = pass.twiddles[2 * p + 1];
        let (a, b) = (&x[s * p..][..s], &x[s * (p + m)..][..s]);
        let (y0, y1) = y.split_at_mut(s);
        for q in 0..s {
            let (a, b) = (load(simd, &a[q]), load(simd, &b[q]));
            store(plus(a, b), &mut y0[q]);
            store(turn(simd, minus(a, b), w), &mut y1[q]);
        }
    }
}

#[inline(always)]
fn radix4_kernel<S: Simd>(simd: S, pass: &Pass, x: &[Pair], y: &mut [Pair]) {
    let (s, m) = (pass.stride, pass.m);
    let twiddles = pass.twiddles.as_chunks::<4>().0;
    for ((p, y), [_, w1, w2, w3]) in y.chunks_exact_mut(4 * s).enumerate().zip(twiddles) {
        let (a, b) = (&x[s * p..][..s], &x[s * (p + m)..][..s]);
        let (c, d) = (&x[s * (p + 2 * m)..][..s], &x[s * (p + 3 * m)..][..s]);
        let (y01, y23) = y.split_at_mut(2 * s);
        let ((y0, y1), (y2, y3)) = (y01.split_at_mut(s), y23.split_at_mut(s));
        for q in 0..s {
            let (a, b, c, d) = (load(simd, &a[q]), load(simd, &b[q]), load(simd, &c[q]), load(simd, &d[q]));
            let (even, even_odd) = (plus(a, c), minus(a, c));
            let (odd, odd_odd) = (plus(b, d), minus(b, d));
            store(plus(even, odd), &mut y0[q]);
            store(turn(simd, minus_i(even_odd, odd_odd), *w1), &mut y1[q]);
            store(turn(simd, minus(even, odd), *w2), &mut y2[q]);
            store(turn(simd, plus_i(even_odd, odd_odd), *w3), &mut y3[q]);
        }
    }
}

#[inline(always)]
fn any_radix_kernel<S: Simd>(simd: S, pass: &Pass, x: &[Pair], y: &mut [Pair]) {
    let (r, s, m) = (pass.radix, pass.stride, pass.m);
    for p in 0..m {
        for out in 0..r {
            for q in 0..s {
                let mut sum = (simd.splat_f32x16(0.0), simd.splat_f32x16(0.0));
                for j in 0..r {
                    let x = load(simd, &x[s * (p + m * j) + q]);
                    sum = plus(sum, turn(simd, x, pass.roots[out * r + j]));
                }
                store(turn(simd, sum, pass.twiddles[r * p + out]), &mut y[s * (r * p + out) + q]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_plain_sum_for_any_length() {
        for n in [1usize, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 16, 25, 30, 49, 60, 64, 77, 127, 128, 144] {
            let value =
                |i: usize, l: usize| [((i * 7 + l * 3) % 11) as f32 - 5.0, ((i * 5 + l) % 13) as f32 - 6.0];
            let mut data: Vec<Pair> =
                (0..n).map(|i| [0, 1].map(|part| std::array::from_fn(|l| value(i, l)[part]))).collect();
            let input = data.clone();
            let plan = Fft::new(n);
            let mut other = data.clone();
            plan.forward(&mut data, &mut other);
            for k in 0..n {
                let (mut re, mut im) = (0.0f64, 0.0f64);
                for i in 0..n {
                    let angle = -TAU * ((i * k) % n) as f64 / n as f64;
                    let (x, y) = (f64::from(input[i][0][3]), f64::from(input[i][1][3]));
                    re += x * angle.cos() - y * angle.sin();
                    im += x * angle.sin() + y * angle.cos();
                }
                let tolerance = 1e-5 * 8.0 * (n as f64).sqrt() + 1e-5 * n as f64;
                assert!((re - f64::from(data[k][0][3])).abs() < tolerance, "n {n} k {k}");
                assert!((im - f64::from(data[k][1][3])).abs() < tolerance, "n {n} k {k}");
            }
            data.iter_mut().for_each(|parts| parts.reverse());
            plan.forward(&mut data, &mut other);
            for i in 0..n {
                let back = data[i][1][5] / n as f32;
                assert!((back - input[i][0][5]).abs() < 1e-4, "n {n} i {i}: {back} for {}", input[i][0][5]);
            }
        }
    }
}
