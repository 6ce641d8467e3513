//! Real transforms that diagonalise the second difference along one axis, on 32 lines at once.
//!
//! Which one depends on the two sides of the axis, since it fixes the values just outside
//! (Strang, "The Discrete Cosine Transform", SIAM Review 1999):
//!
//! | sides            | outside                  | basis                          | 2 − 2 cos θ_k    |
//! |------------------|--------------------------|--------------------------------|------------------|
//! | closed, closed   | even, even               | cos(π k (i+½)/N), DCT-II       | θ = π k/N        |
//! | open, open       | odd, odd                 | sin(π (k+1)(i+½)/N), DST-II    | θ = π (k+1)/N    |
//! | closed, open     | even, odd                | cos(π (k+½)(i+½)/N), DCT-IV    | θ = π (k+½)/N    |
//! | open, closed     | odd, even                | the same, read backwards       | θ = π (k+½)/N    |
//! | periodic         | repeated                 | cos + sin (2π k i/N), Hartley  | θ = 2π k/N       |
//!
//! All are linear over the complex numbers, so two real lines travel as one complex line and come apart by
//! themselves. DCT-II by Makhoul's permutation (1980) and one Fourier transform of length N.

use std::f64::consts::PI;

use super::fft::{Block, Fft, Lane};
use crate::solver::lanes::Simd;
use crate::solver::simd::{LANES, dispatch, each_level, fma};

/// What the two sides of an axis do to the pressure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Walls at both ends: no gradient there.
    Closed,
    /// Rest pressure at both ends.
    Open,
    /// A wall where the index is least, rest pressure at the other end.
    ClosedOpen,
    /// Rest pressure where the index is least, a wall at the other end.
    OpenClosed,
    /// The last cell is the first one's neighbour.
    Periodic,
}

impl Ends {
    /// 2 − 2 cos θ_k for k < n, the eigenvalues of the negative second difference.
    pub fn eigenvalues(self, n: usize) -> Vec<f32> {
        let theta = |k: f64| match self {
            Self::Closed => PI * k / n as f64,
            Self::Open => PI * (k + 1.0) / n as f64,
            Self::ClosedOpen | Self::OpenClosed => PI * (k + 0.5) / n as f64,
            Self::Periodic => 2.0 * PI * k / n as f64,
        };
        // 4 sin²(θ/2) keeps its digits where 2 − 2 cos θ cancels.
        (0..n).map(|k| 4.0 * (0.5 * theta(k as f64)).sin().powi(2)).map(|x| x as f32).collect()
    }

    /// Whether a constant is annihilated: the axis alone does not fix the level of the pressure.
    pub fn has_null(self) -> bool {
        matches!(self, Self::Closed | Self::Periodic)
    }
}

/// Forward and inverse transform along an axis of one length.
#[derive(Clone, Debug)]
pub struct Transform {
    ends: Ends,
    n: usize,
    fft: Fft,
    /// cos and sin of the rotations.
    twist: Vec<[f32; 2]>,
    /// The second rotation of the even quarter-wave transform, π k/N.
    twist_out: Vec<[f32; 2]>,
}

fn rotations(count: usize, angle: impl Fn(f64) -> f64) -> Vec<[f32; 2]> {
    (0..count).map(|k| angle(k as f64)).map(|a| [a.cos() as f32, a.sin() as f32]).collect()
}

impl Transform {
    /// For `n` ≥ 1 cells between `ends`.
    pub fn new(ends: Ends, n: usize) -> Self {
        let quarter = matches!(ends, Ends::ClosedOpen | Ends::OpenClosed);
        let inverse_n = 1.0 / n as f64;
        let (length, twist) = match (quarter, n % 2) {
            (false, _) => (n, rotations(n, |k| 0.5 * PI * k * inverse_n)),
            (true, 0) => (n / 2, rotations(n / 2, |k| PI * (k + 0.25) * inverse_n)),
            (true, _) => (2 * n, rotations(2 * n, |k| 0.5 * PI * (k + 0.5) * inverse_n)),
        };
        let twist_out = rotations(n.div_ceil(2), |k| PI * k * inverse_n);
        Self { ends, n, fft: Fft::new(length), twist, twist_out }
    }

    /// Length of the blocks the transforms work in: `n`, or twice that where an odd axis needs it.
    pub fn block_len(&self) -> usize {
        if self.odd_quarter() { 2 * self.n } else { self.n }
    }

    /// What inverse(forward(x)) must be multiplied with to give x.
    pub fn scale(&self) -> f64 {
        match self.ends {
            Ends::ClosedOpen | Ends::OpenClosed => 2.0 / self.n as f64,
            _ => 1.0 / self.n as f64,
        }
    }

    fn odd_quarter(&self) -> bool {
        matches!(self.ends, Ends::ClosedOpen | Ends::OpenClosed) && !self.n.is_multiple_of(2)
    }

    /// Values to coefficients, in place in the first `n` entries of `data`; `other` is scratch.
    pub fn forward(&self, data: &mut Block, other: &mut Block) {
        match self.ends {
            Ends::Closed => self.dct2(data, other),
            Ends::Open => {
                self.alternate(data);
                self.dct2(data, other);
                self.reverse(data);
            }
            Ends::ClosedOpen => self.dct4(data, other),
            Ends::OpenClosed => {
                self.reverse(data);
                self.dct4(data, other);
            }
            Ends::Periodic => self.hartley(data, other),
        }
    }

    /// Coefficients to values times 1/[`scale`](Self::scale), in place.
    pub fn inverse(&self, data: &mut Block, other: &mut Block) {
        match self.ends {
            Ends::Closed => self.dct3(data, other),
            Ends::Open => {
                self.reverse(data);
                self.dct3(data, other);
                self.alternate(data);
            }
            Ends::ClosedOpen => self.dct4(data, other),
            Ends::OpenClosed => {
                self.dct4(data, other);
                self.reverse(data);
            }
            Ends::Periodic => self.hartley(data, other),
        }
    }

    fn reverse(&self, data: &mut Block) {
        data.re[..self.n].reverse();
        data.im[..self.n].reverse();
    }

    fn alternate(&self, data: &mut Block) {
        let odd = |x: &mut [Lane]| x.iter_mut().skip(1).step_by(2).for_each(|v| *v = v.map(|x| -x));
        odd(&mut data.re[..self.n]);
        odd(&mut data.im[..self.n]);
    }

    fn dct2(&self, data: &mut Block, other: &mut Block) {
        into_makhoul(self.n, data, other);
        self.fft.forward(other, data);
        // C_k = ½ (e^(−iθ) V_k + e^(iθ) V_(N−k)), θ = π k / 2N.
        dct2_rotate(&self.twist, other, data);
    }

    fn dct3(&self, data: &mut Block, other: &mut Block) {
        // V_k = e^(iθ) (C_k − i C_(N−k)), C_N = 0.
        dct3_rotate(&self.twist, data, other);
        self.fft.inverse(other, data);
        out_of_makhoul(self.n, other, data);
    }

    fn hartley(&self, data: &mut Block, other: &mut Block) {
        let n = self.n;
        self.fft.forward(data, other);
        std::mem::swap(data, other);
        // H_k = ½ ((1 + i) Z_k + (1 − i) Z_(N−k)).
        hartley_combine(other, data, n);
    }

    fn dct4(&self, data: &mut Block, other: &mut Block) {
        if self.odd_quarter() {
            self.dct4_odd(data, other);
        } else {
            // Real line by real line: pairs of its values are the complex values of a half-length transform.
            let Block { re, im } = data;
            self.dct4_even(&mut re[..self.n], other);
            self.dct4_even(&mut im[..self.n], other);
        }
    }

    fn dct4_even(&self, x: &mut [Lane], work: &mut Block) {
        let half = self.n / 2;
        let mut t = Block { re: std::mem::take(&mut work.re), im: std::mem::take(&mut work.im) };
        let (tr, tr2) = t.re.split_at_mut(half);
        let (ti, ti2) = t.im.split_at_mut(half);
        dct4_pack(&self.twist, x, tr, ti);
        let in_second = self.fft.forward_slices([tr, ti], [tr2, ti2]);
        let (zr, zi) = if in_second { (tr2, ti2) } else { (tr, ti) };
        dct4_unpack(&self.twist_out, zr, zi, x);
        *work = t;
    }

    fn dct4_odd(&self, data: &mut Block, other: &mut Block) {
        let n = self.n;
        // S_k = Σ z_i e^(−iπ(i+½)(k+½)/N) by a transform of length 2N; C_k = ½ (S_k − S_(2N−1−k)).
        for i in 0..2 * n {
            let (zr, zi) = if i < n { (data.re[i], data.im[i]) } else { ([0.0; LANES], [0.0; LANES]) };
            let [c, s] = self.twist_at(i);
            for l in 0..LANES {
                other.re[i][l] = fma::<false>(zr[l], c, zi[l] * s);
                other.im[i][l] = fma::<false>(zi[l], c, -(zr[l] * s));
            }
        }
        self.fft.forward(other, data);
        for k in 0..n {
            let ([c, s], [cm, sm]) = (self.twist[k], self.twist[2 * n - 1 - k]);
            let (ar, ai) = (&other.re[k], &other.im[k]);
            let (br, bi) = (&other.re[2 * n - 1 - k], &other.im[2 * n - 1 - k]);
            for l in 0..LANES {
                let (s_r, s_i) = (fma::<false>(ar[l], c, ai[l] * s), fma::<false>(ai[l], c, -(ar[l] * s)));
                let (m_r, m_i) =
                    (fma::<false>(br[l], cm, bi[l] * sm), fma::<false>(bi[l], cm, -(br[l] * sm)));
                data.re[k][l] = 0.5 * (s_r - m_r);
                data.im[k][l] = 0.5 * (s_i - m_i);
            }
        }
    }

    /// e^(iπ i/2N), the factor of the input of the odd quarter-wave transform.
    fn twist_at(&self, i: usize) -> [f32; 2] {
        let angle = PI * i as f64 / (2 * self.n) as f64;
        [angle.cos() as f32, angle.sin() as f32]
    }
}

/// Makhoul's order of n values: even indices upwards, then odd ones downwards.
#[inline(always)]
fn makhoul(n: usize, i: usize) -> usize {
    if i.is_multiple_of(2) { i / 2 } else { n - 1 - i / 2 }
}

dispatch! { fn into_makhoul(n: usize, from: &Block, to: &mut Block) = into_makhoul_kernel; }

#[inline(always)]
fn into_makhoul_kernel<const FMA: bool>(n: usize, from: &Block, to: &mut Block) {
    for i in 0..n {
        let at = makhoul(n, i);
        (to.re[at], to.im[at]) = (from.re[i], from.im[i]);
    }
}

dispatch! { fn out_of_makhoul(n: usize, from: &Block, to: &mut Block) = out_of_makhoul_kernel; }

#[inline(always)]
fn out_of_makhoul_kernel<const FMA: bool>(n: usize, from: &Block, to: &mut Block) {
    for i in 0..n {
        let at = makhoul(n, i);
        (to.re[i], to.im[i]) = (from.re[at], from.im[at]);
    }
}

each_level! { fn dct2_rotate(twist: &[[f32; 2]], other: &Block, data: &mut Block) = dct2_rotate_kernel; }

#[inline(always)]
fn dct2_rotate_kernel<S: Simd>(s: S, twist: &[[f32; 2]], other: &Block, data: &mut Block) {
    let n = twist.len();
    let (re, im) = (&other.re[..n], &other.im[..n]);
    let out = data.re.iter_mut().zip(&mut data.im);
    for ((k, &[cos, sin]), (to_re, to_im)) in twist.iter().enumerate().zip(out) {
        let mirror = if k == 0 { 0 } else { n - k };
        let (vr, vi, mr, mi) = (s.load(&re[k]), s.load(&im[k]), s.load(&re[mirror]), s.load(&im[mirror]));
        let (cos, sin, half) = (s.splat(cos), s.splat(sin), s.splat(0.5));
        let x = s.mul_add(cos, s.add(vr, mr), s.mul(sin, s.sub(vi, mi)));
        let y = s.mul_add(cos, s.add(vi, mi), s.mul(sin, s.sub(mr, vr)));
        s.store(s.mul(half, x), to_re);
        s.store(s.mul(half, y), to_im);
    }
}

each_level! { fn dct3_rotate(twist: &[[f32; 2]], data: &Block, other: &mut Block) = dct3_rotate_kernel; }

#[inline(always)]
fn dct3_rotate_kernel<S: Simd>(s: S, twist: &[[f32; 2]], data: &Block, other: &mut Block) {
    let n = twist.len();
    let (re, im) = (&data.re[..n], &data.im[..n]);
    (other.re[0], other.im[0]) = (re[0], im[0]);
    let out = other.re.iter_mut().zip(&mut other.im);
    for ((k, &[cos, sin]), (to_re, to_im)) in twist.iter().enumerate().zip(out).skip(1) {
        let (cr, ci, er, ei) = (s.load(&re[k]), s.load(&im[k]), s.load(&re[n - k]), s.load(&im[n - k]));
        let (cos, sin) = (s.splat(cos), s.splat(sin));
        let (x, y) = (s.add(cr, ei), s.sub(ci, er));
        s.store(s.mul_sub(cos, x, s.mul(sin, y)), to_re);
        s.store(s.mul_add(cos, y, s.mul(sin, x)), to_im);
    }
}

each_level! { fn hartley_combine(other: &Block, data: &mut Block, n: usize) = hartley_combine_kernel; }

#[inline(always)]
fn hartley_combine_kernel<S: Simd>(s: S, other: &Block, data: &mut Block, n: usize) {
    let (re, im) = (&other.re[..n], &other.im[..n]);
    for (k, (to_re, to_im)) in data.re.iter_mut().zip(&mut data.im).enumerate().take(n) {
        let mirror = if k == 0 { 0 } else { n - k };
        let (zr, zi, mr, mi) = (s.load(&re[k]), s.load(&im[k]), s.load(&re[mirror]), s.load(&im[mirror]));
        let half = s.splat(0.5);
        s.store(s.mul(half, s.add(s.add(zr, mr), s.sub(mi, zi))), to_re);
        s.store(s.mul(half, s.add(s.add(zi, mi), s.sub(zr, mr))), to_im);
    }
}

each_level! { fn dct4_pack(twist: &[[f32; 2]], x: &[Lane], tr: &mut [Lane], ti: &mut [Lane]) = dct4_pack_kernel; }

#[inline(always)]
fn dct4_pack_kernel<S: Simd>(s: S, twist: &[[f32; 2]], x: &[Lane], tr: &mut [Lane], ti: &mut [Lane]) {
    let n = x.len();
    for ((j, &[cos, sin]), (tr, ti)) in twist.iter().enumerate().zip(tr.iter_mut().zip(ti)).take(n / 2) {
        let (a, b) = (s.load(&x[2 * j]), s.load(&x[n - 1 - 2 * j]));
        let (cos, sin) = (s.splat(cos), s.splat(sin));
        s.store(s.mul_add(a, cos, s.mul(b, sin)), tr);
        s.store(s.mul_sub(b, cos, s.mul(a, sin)), ti);
    }
}

each_level! { fn dct4_unpack(twist: &[[f32; 2]], zr: &[Lane], zi: &[Lane], x: &mut [Lane]) = dct4_unpack_kernel; }

#[inline(always)]
fn dct4_unpack_kernel<S: Simd>(s: S, twist: &[[f32; 2]], zr: &[Lane], zi: &[Lane], x: &mut [Lane]) {
    let n = x.len();
    for ((k, &[cos, sin]), (zr, zi)) in twist.iter().enumerate().zip(zr.iter().zip(zi)).take(n / 2) {
        let (re, im, cos, sin) = (s.load(zr), s.load(zi), s.splat(cos), s.splat(sin));
        s.store(s.mul_add(re, cos, s.mul(im, sin)), &mut x[2 * k]);
        s.store(s.mul_sub(re, sin, s.mul(im, cos)), &mut x[n - 1 - 2 * k]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Ends; 5] = [Ends::Closed, Ends::Open, Ends::ClosedOpen, Ends::OpenClosed, Ends::Periodic];

    fn sample(n: usize, len: usize) -> Block {
        let mut data = Block::new(len);
        for i in 0..n {
            for l in 0..LANES {
                data.re[i][l] = ((i * i * 7 + l * 3) % 17) as f32 / 8.0 - 1.0;
                data.im[i][l] = ((i * 5 + l * l) % 13) as f32 / 6.0 - 1.0;
            }
        }
        data
    }

    /// The negative second difference with the values outside that `ends` implies.
    fn second_difference(ends: Ends, x: &[Lane]) -> Vec<Lane> {
        let n = x.len();
        let outside = |low: bool, l: usize| {
            let (edge, far) = if low { (x[0][l], x[n - 1][l]) } else { (x[n - 1][l], x[0][l]) };
            match (ends, low) {
                (Ends::Closed, _) | (Ends::ClosedOpen, true) | (Ends::OpenClosed, false) => edge,
                (Ends::Open, _) | (Ends::ClosedOpen, false) | (Ends::OpenClosed, true) => -edge,
                (Ends::Periodic, _) => far,
            }
        };
        let at = |i: usize, l: usize| {
            let lo = if i == 0 { outside(true, l) } else { x[i - 1][l] };
            let hi = if i + 1 == n { outside(false, l) } else { x[i + 1][l] };
            2.0 * x[i][l] - lo - hi
        };
        (0..n).map(|i| std::array::from_fn(|l| at(i, l))).collect()
    }

    #[test]
    fn diagonalises_the_second_difference_and_inverts() {
        for ends in ALL {
            for n in [1usize, 2, 3, 4, 5, 7, 8, 11, 12, 16, 31, 48, 96, 128] {
                let plan = Transform::new(ends, n);
                let len = plan.block_len();
                let (mut data, mut other) = (sample(n, len), Block::new(len));
                let input = data.clone();
                let want_re = second_difference(ends, &input.re[..n]);
                let want_im = second_difference(ends, &input.im[..n]);
                plan.forward(&mut data, &mut other);
                let lambda = ends.eigenvalues(n);
                let scale = plan.scale() as f32;
                for k in 0..n {
                    data.re[k] = data.re[k].map(|x| x * lambda[k] * scale);
                    data.im[k] = data.im[k].map(|x| x * lambda[k] * scale);
                }
                plan.inverse(&mut data, &mut other);
                for i in 0..n {
                    for l in 0..LANES {
                        let error =
                            (data.re[i][l] - want_re[i][l]).abs().max((data.im[i][l] - want_im[i][l]).abs());
                        assert!(error < 1e-4, "{ends:?} n {n} i {i} lane {l}: off by {error}");
                    }
                }
            }
        }
    }
}
