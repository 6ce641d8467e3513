//! Complex discrete Fourier transforms of any length, on 16 lines at once.
//!
//! Stockham's self-sorting form: each pass takes apart one factor of the length, radix 4 and 2 by hand and 3, 5
//! and other primes by the plain sum. The lines lie side by side in the lanes of [`Lane`], so that every
//! operation is a vector operation and no data is ever shuffled.

use std::f64::consts::TAU;

use crate::solver::simd::{LANES, dispatch, fma};

/// One value of each of the lines.
pub type Lane = [f32; LANES];

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

/// The lane whose values are `$value` for each `$l`. A macro, since a closure would be compiled for the baseline
/// instruction set wherever it is not inlined.
macro_rules! each {
    ($l:ident => $value:expr) => {{
        let mut out = [0.0f32; LANES];
        for $l in 0..LANES {
            out[$l] = $value;
        }
        out
    }};
}

/// (re, im) · w, as two lanes.
#[inline(always)]
fn turn<const FMA: bool>(re: Lane, im: Lane, [c, s]: [f32; 2]) -> (Lane, Lane) {
    (each!(l => fma::<FMA>(re[l], c, -(im[l] * s))), each!(l => fma::<FMA>(re[l], s, im[l] * c)))
}

dispatch! { fn radix2(pass: &Pass, x: [&[Lane]; 2], y: &mut [&mut [Lane]; 2]) = radix2_kernel; }
dispatch! { fn radix4(pass: &Pass, x: [&[Lane]; 2], y: &mut [&mut [Lane]; 2]) = radix4_kernel; }
dispatch! { fn any_radix(pass: &Pass, x: [&[Lane]; 2], y: &mut [&mut [Lane]; 2]) = any_radix_kernel; }

#[inline(always)]
fn radix2_kernel<const FMA: bool>(pass: &Pass, [xr, xi]: [&[Lane]; 2], [yr, yi]: &mut [&mut [Lane]; 2]) {
    let (s, m) = (pass.stride, pass.m);
    let ys = yr.chunks_exact_mut(2 * s).zip(yi.chunks_exact_mut(2 * s));
    for (p, (yr, yi)) in ys.enumerate() {
        let w = pass.twiddles[2 * p + 1];
        let (ar, ai) = (&xr[s * p..][..s], &xi[s * p..][..s]);
        let (br, bi) = (&xr[s * (p + m)..][..s], &xi[s * (p + m)..][..s]);
        let (y0r, y1r) = yr.split_at_mut(s);
        let (y0i, y1i) = yi.split_at_mut(s);
        for q in 0..s {
            y0r[q] = each!(l => ar[q][l] + br[q][l]);
            y0i[q] = each!(l => ai[q][l] + bi[q][l]);
            let dr = each!(l => ar[q][l] - br[q][l]);
            let di = each!(l => ai[q][l] - bi[q][l]);
            (y1r[q], y1i[q]) = turn::<FMA>(dr, di, w);
        }
    }
}

#[inline(always)]
fn radix4_kernel<const FMA: bool>(pass: &Pass, [xr, xi]: [&[Lane]; 2], [yr, yi]: &mut [&mut [Lane]; 2]) {
    let (s, m) = (pass.stride, pass.m);
    let ys = yr.chunks_exact_mut(4 * s).zip(yi.chunks_exact_mut(4 * s));
    for (p, (yr, yi)) in ys.enumerate() {
        let w: [[f32; 2]; 4] = std::array::from_fn(|q| pass.twiddles[4 * p + q]);
        let br4: [&[Lane]; 4] = std::array::from_fn(|j| &xr[s * (p + m * j)..][..s]);
        let bi4: [&[Lane]; 4] = std::array::from_fn(|j| &xi[s * (p + m * j)..][..s]);
        let (y01r, y23r) = yr.split_at_mut(2 * s);
        let (y01i, y23i) = yi.split_at_mut(2 * s);
        let ((y0r, y1r), (y2r, y3r)) = (y01r.split_at_mut(s), y23r.split_at_mut(s));
        let ((y0i, y1i), (y2i, y3i)) = (y01i.split_at_mut(s), y23i.split_at_mut(s));
        for q in 0..s {
            let (ar, br, cr, dr) = (&br4[0][q], &br4[1][q], &br4[2][q], &br4[3][q]);
            let (ai, bi, ci, di) = (&bi4[0][q], &bi4[1][q], &bi4[2][q], &bi4[3][q]);
            let (apc_r, apc_i) = (each!(l => ar[l] + cr[l]), each!(l => ai[l] + ci[l]));
            let (amc_r, amc_i) = (each!(l => ar[l] - cr[l]), each!(l => ai[l] - ci[l]));
            let (bpd_r, bpd_i) = (each!(l => br[l] + dr[l]), each!(l => bi[l] + di[l]));
            let (bmd_r, bmd_i) = (each!(l => br[l] - dr[l]), each!(l => bi[l] - di[l]));
            y0r[q] = each!(l => apc_r[l] + bpd_r[l]);
            y0i[q] = each!(l => apc_i[l] + bpd_i[l]);
            // −i (b − d) = (bmd_i, −bmd_r)
            let one = (each!(l => amc_r[l] + bmd_i[l]), each!(l => amc_i[l] - bmd_r[l]));
            let two = (each!(l => apc_r[l] - bpd_r[l]), each!(l => apc_i[l] - bpd_i[l]));
            let three = (each!(l => amc_r[l] - bmd_i[l]), each!(l => amc_i[l] + bmd_r[l]));
            (y1r[q], y1i[q]) = turn::<FMA>(one.0, one.1, w[1]);
            (y2r[q], y2i[q]) = turn::<FMA>(two.0, two.1, w[2]);
            (y3r[q], y3i[q]) = turn::<FMA>(three.0, three.1, w[3]);
        }
    }
}

#[inline(always)]
fn any_radix_kernel<const FMA: bool>(pass: &Pass, [xr, xi]: [&[Lane]; 2], [yr, yi]: &mut [&mut [Lane]; 2]) {
    let (r, s, m) = (pass.radix, pass.stride, pass.m);
    for p in 0..m {
        for out in 0..r {
            for q in 0..s {
                let (mut re, mut im) = ([0.0; LANES], [0.0; LANES]);
                for j in 0..r {
                    let at = s * (p + m * j) + q;
                    let (tr, ti) = turn::<FMA>(xr[at], xi[at], pass.roots[out * r + j]);
                    re = each!(l => re[l] + tr[l]);
                    im = each!(l => im[l] + ti[l]);
                }
                let at = s * (r * p + out) + q;
                (yr[at], yi[at]) = turn::<FMA>(re, im, pass.twiddles[r * p + out]);
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
