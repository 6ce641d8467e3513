//! Complex discrete Fourier transforms of any length, on 16 lines at once.
//!
//! Stockham's self-sorting form: each pass takes apart one factor of the length, radix 4 and 2 by hand and 3, 5
//! and other primes by the plain sum. The lines lie side by side in the lanes of [`Lane`], so that every
//! operation is a vector operation and no data is ever shuffled.

use std::f64::consts::TAU;

pub use crate::solver::lanes::Lane;
use crate::solver::lanes::Simd;
use crate::solver::simd::{LANES, each_level};

/// Complex lines: `re[n][lane] + i im[n][lane]`.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Real parts.
    pub re: Vec<Lane>,
    /// Imaginary parts.
    pub im: Vec<Lane>,
}

impl Block {
    /// Lines of length `n`, all zero.
    pub fn new(n: usize) -> Self {
        Self { re: vec![[0.0; LANES]; n], im: vec![[0.0; LANES]; n] }
    }
}

/// One pass: `m` butterflies of `radix`, each over `stride` neighbours.
#[derive(Clone, Debug)]
struct Pass {
    radix: usize,
    m: usize,
    stride: usize,
    /// e^(−2πi p q / (radix m)) for p < m, q < radix, at p · radix + q.
    twiddles: Vec<[f32; 2]>,
    /// e^(−2πi q r / radix) at q · radix + r, for radices without a butterfly of their own.
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
    /// A plan for lines of length `n` ≥ 1.
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

    /// X_k = Σ_n x_n e^(−2πi nk/N), in place; `other` is scratch of the same length.
    pub fn forward(&self, data: &mut Block, other: &mut Block) {
        let first = [&mut data.re[..], &mut data.im[..]];
        if self.forward_slices(first, [&mut other.re, &mut other.im]) {
            std::mem::swap(data, other);
        }
    }

    /// As [`forward`](Self::forward) on the first n of `[re, im]` slices; true if the result lies in `other`.
    pub fn forward_slices(&self, data: [&mut [Lane]; 2], other: [&mut [Lane]; 2]) -> bool {
        let (mut from, mut to) = (data.map(|x| &mut x[..self.n]), other.map(|x| &mut x[..self.n]));
        for pass in &self.passes {
            let x = [&*from[0], &*from[1]];
            match pass.radix {
                4 => radix4(pass, x, &mut to),
                2 => radix2(pass, x, &mut to),
                _ => any_radix(pass, x, &mut to),
            }
            std::mem::swap(&mut from, &mut to);
        }
        !self.passes.len().is_multiple_of(2)
    }

    /// x_n = Σ_k X_k e^(+2πi nk/N), in place, without the factor 1/N.
    pub fn inverse(&self, data: &mut Block, other: &mut Block) {
        // Exchanging the real and imaginary parts before and after conjugates the transform.
        std::mem::swap(&mut data.re, &mut data.im);
        self.forward(data, other);
        std::mem::swap(&mut data.re, &mut data.im);
    }
}

/// A complex value of each line, in registers.
type Complex<S> = (<S as Simd>::Values, <S as Simd>::Values);

#[inline(always)]
fn load<S: Simd>(s: S, re: &Lane, im: &Lane) -> Complex<S> {
    (s.load(re), s.load(im))
}

#[inline(always)]
fn store<S: Simd>(s: S, (re, im): Complex<S>, to: (&mut Lane, &mut Lane)) {
    s.store(re, to.0);
    s.store(im, to.1);
}

#[inline(always)]
fn plus<S: Simd>(s: S, a: Complex<S>, b: Complex<S>) -> Complex<S> {
    (s.add(a.0, b.0), s.add(a.1, b.1))
}

#[inline(always)]
fn minus<S: Simd>(s: S, a: Complex<S>, b: Complex<S>) -> Complex<S> {
    (s.sub(a.0, b.0), s.sub(a.1, b.1))
}

/// a + i b.
#[inline(always)]
fn plus_i<S: Simd>(s: S, a: Complex<S>, b: Complex<S>) -> Complex<S> {
    (s.sub(a.0, b.1), s.add(a.1, b.0))
}

/// a − i b.
#[inline(always)]
fn minus_i<S: Simd>(s: S, a: Complex<S>, b: Complex<S>) -> Complex<S> {
    (s.add(a.0, b.1), s.sub(a.1, b.0))
}

/// x · w.
#[inline(always)]
fn turn<S: Simd>(s: S, (re, im): Complex<S>, [cos, sin]: [f32; 2]) -> Complex<S> {
    let (cos, sin) = (s.splat(cos), s.splat(sin));
    (s.mul_sub(re, cos, s.mul(im, sin)), s.mul_add(re, sin, s.mul(im, cos)))
}

each_level! { fn radix2(pass: &Pass, x: [&[Lane]; 2], y: &mut [&mut [Lane]; 2]) = radix2_kernel; }
each_level! { fn radix4(pass: &Pass, x: [&[Lane]; 2], y: &mut [&mut [Lane]; 2]) = radix4_kernel; }
each_level! { fn any_radix(pass: &Pass, x: [&[Lane]; 2], y: &mut [&mut [Lane]; 2]) = any_radix_kernel; }

#[inline(always)]
fn radix2_kernel<S: Simd>(simd: S, pass: &Pass, [xr, xi]: [&[Lane]; 2], [yr, yi]: &mut [&mut [Lane]; 2]) {
    let (s, m) = (pass.stride, pass.m);
    let ys = yr.chunks_exact_mut(2 * s).zip(yi.chunks_exact_mut(2 * s));
    for (p, (yr, yi)) in ys.enumerate() {
        let w = pass.twiddles[2 * p + 1];
        let (ar, ai) = (&xr[s * p..][..s], &xi[s * p..][..s]);
        let (br, bi) = (&xr[s * (p + m)..][..s], &xi[s * (p + m)..][..s]);
        let (y0r, y1r) = yr.split_at_mut(s);
        let (y0i, y1i) = yi.split_at_mut(s);
        for q in 0..s {
            let (a, b) = (load(simd, &ar[q], &ai[q]), load(simd, &br[q], &bi[q]));
            store(simd, plus(simd, a, b), (&mut y0r[q], &mut y0i[q]));
            store(simd, turn(simd, minus(simd, a, b), w), (&mut y1r[q], &mut y1i[q]));
        }
    }
}

#[inline(always)]
fn radix4_kernel<S: Simd>(simd: S, pass: &Pass, [xr, xi]: [&[Lane]; 2], [yr, yi]: &mut [&mut [Lane]; 2]) {
    let (s, m) = (pass.stride, pass.m);
    let ys = yr.chunks_exact_mut(4 * s).zip(yi.chunks_exact_mut(4 * s));
    let twiddles = pass.twiddles.as_chunks::<4>().0;
    for ((p, (yr, yi)), [_, w1, w2, w3]) in ys.enumerate().zip(twiddles) {
        let (ar, ai) = (&xr[s * p..][..s], &xi[s * p..][..s]);
        let (br, bi) = (&xr[s * (p + m)..][..s], &xi[s * (p + m)..][..s]);
        let (cr, ci) = (&xr[s * (p + 2 * m)..][..s], &xi[s * (p + 2 * m)..][..s]);
        let (dr, di) = (&xr[s * (p + 3 * m)..][..s], &xi[s * (p + 3 * m)..][..s]);
        let (y01r, y23r) = yr.split_at_mut(2 * s);
        let (y01i, y23i) = yi.split_at_mut(2 * s);
        let ((y0r, y1r), (y2r, y3r)) = (y01r.split_at_mut(s), y23r.split_at_mut(s));
        let ((y0i, y1i), (y2i, y3i)) = (y01i.split_at_mut(s), y23i.split_at_mut(s));
        for q in 0..s {
            let (a, b) = (load(simd, &ar[q], &ai[q]), load(simd, &br[q], &bi[q]));
            let (c, d) = (load(simd, &cr[q], &ci[q]), load(simd, &dr[q], &di[q]));
            let (even, even_odd) = (plus(simd, a, c), minus(simd, a, c));
            let (odd, odd_odd) = (plus(simd, b, d), minus(simd, b, d));
            store(simd, plus(simd, even, odd), (&mut y0r[q], &mut y0i[q]));
            let [one, two] = [minus_i(simd, even_odd, odd_odd), minus(simd, even, odd)];
            store(simd, turn(simd, one, *w1), (&mut y1r[q], &mut y1i[q]));
            store(simd, turn(simd, two, *w2), (&mut y2r[q], &mut y2i[q]));
            let three = plus_i(simd, even_odd, odd_odd);
            store(simd, turn(simd, three, *w3), (&mut y3r[q], &mut y3i[q]));
        }
    }
}

#[inline(always)]
fn any_radix_kernel<S: Simd>(simd: S, pass: &Pass, [xr, xi]: [&[Lane]; 2], [yr, yi]: &mut [&mut [Lane]; 2]) {
    let (r, s, m) = (pass.radix, pass.stride, pass.m);
    for p in 0..m {
        for out in 0..r {
            for q in 0..s {
                let mut sum = (simd.splat(0.0), simd.splat(0.0));
                for j in 0..r {
                    let at = s * (p + m * j) + q;
                    let x = load(simd, &xr[at], &xi[at]);
                    sum = plus(simd, sum, turn(simd, x, pass.roots[out * r + j]));
                }
                let at = s * (r * p + out) + q;
                store(simd, turn(simd, sum, pass.twiddles[r * p + out]), (&mut yr[at], &mut yi[at]));
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
            let mut data = Block::new(n);
            for i in 0..n {
                for l in 0..LANES {
                    data.re[i][l] = ((i * 7 + l * 3) % 11) as f32 - 5.0;
                    data.im[i][l] = ((i * 5 + l) % 13) as f32 - 6.0;
                }
            }
            let input = data.clone();
            let plan = Fft::new(n);
            let mut other = Block::new(n);
            plan.forward(&mut data, &mut other);
            for k in 0..n {
                let (mut re, mut im) = (0.0f64, 0.0f64);
                for i in 0..n {
                    let angle = -TAU * ((i * k) % n) as f64 / n as f64;
                    let (x, y) = (f64::from(input.re[i][3]), f64::from(input.im[i][3]));
                    re += x * angle.cos() - y * angle.sin();
                    im += x * angle.sin() + y * angle.cos();
                }
                let tolerance = 1e-5 * 8.0 * (n as f64).sqrt() + 1e-5 * n as f64;
                assert!((re - f64::from(data.re[k][3])).abs() < tolerance, "n {n} k {k}");
                assert!((im - f64::from(data.im[k][3])).abs() < tolerance, "n {n} k {k}");
            }
            plan.inverse(&mut data, &mut other);
            for i in 0..n {
                let back = data.re[i][5] / n as f32;
                assert!((back - input.re[i][5]).abs() < 1e-4, "n {n} i {i}: {back} for {}", input.re[i][5]);
            }
        }
    }
}
