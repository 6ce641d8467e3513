//! Values in registers: what kernels need beyond the vectors of [`fearless_simd`].
//!
//! A kernel is generic over a token [`Simd`], the proof that the machine has an instruction set, and works on [`f32x8`] or
//! [`f32x16`]. [`each_level`](super::each_level) compiles it for each instruction set. All levels round the same, except that the
//! baseline of x86-64 has no fused multiply-add.

use fearless_simd::f32x4;
use fearless_simd::prelude::*;
pub use fearless_simd::{f32x8, f32x16};

use super::LANES;

/// An instruction set's token, with what kernels need beyond vectors.
pub trait Simd: fearless_simd::Simd {
    /// Whether a multiply-add is one instruction, which rounds once.
    const FUSED: bool;

    /// a·b + c, rounded once if [`FUSED`](Self::FUSED).
    #[inline(always)]
    fn fma(self, a: f32, b: f32, c: f32) -> f32 {
        if Self::FUSED { a.mul_add(b, c) } else { a * b + c }
    }

    /// Transposes the 4×4 blocks in both halves.
    fn transpose_blocks(self, rows: [f32x8<Self>; 4]) -> [f32x8<Self>; 4];

    /// Stores eight cells of four values, given one vector for each value. The inverse of [`deinterleave`].
    #[inline(always)]
    fn interleave(self, values: [f32x8<Self>; 4], cells: [&mut [f32; 4]; EIGHT]) {
        let turned = self.transpose_blocks(values);
        for l in 0..4 {
            let (low, high) = turned[l].split();
            low.store_array(&mut *cells[l]);
            high.store_array(&mut *cells[l + 4]);
        }
    }
}

/// Transposes block by block.
#[inline(always)]
fn transpose_halves<S: Simd>(rows: [f32x8<S>; 4]) -> [f32x8<S>; 4] {
    let [(a, e), (b, f), (c, g), (d, h)] = rows.map(|row| row.split());
    let (low, high) = (transpose_block([a, b, c, d]), transpose_block([e, f, g, h]));
    [low[0].combine(high[0]), low[1].combine(high[1]), low[2].combine(high[2]), low[3].combine(high[3])]
}

#[inline(always)]
fn transpose_block<S: Simd>([a, b, c, d]: [f32x4<S>; 4]) -> [f32x4<S>; 4] {
    let ((ac, ac_high), (bd, bd_high)) = (a.interleave(c), b.interleave(d));
    let ((zero, one), (two, three)) = (ac.interleave(bd), ac_high.interleave(bd_high));
    [zero, one, two, three]
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
impl Simd for fearless_simd::x86::Sse2 {
    const FUSED: bool = false;

    #[inline(always)]
    fn transpose_blocks(self, rows: [f32x8<Self>; 4]) -> [f32x8<Self>; 4] {
        transpose_halves(rows)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use fearless_simd::prelude::*;
    use fearless_simd::x86::{Avx2, Avx512};

    use fearless_simd::{f32x16, i32x16};

    use super::{EIGHT, Simd, f32x8};

    /// Both halves at once: half as many shuffles as for each alone.
    macro_rules! transpose_in_one_register {
        ($token:ident, $kernel:ident) => {
            fearless_simd::kernel!(
                #[inline(always)]
                fn $kernel(_token: $token, rows: [__m256; 4]) -> [__m256; 4] {
                    let [a, b, c, d] = rows;
                    let (p, q) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
                    let (r, t) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
                    // Each shuffle takes two values of either.
                    [
                        _mm256_shuffle_ps::<0x44>(p, r),
                        _mm256_shuffle_ps::<0xEE>(p, r),
                        _mm256_shuffle_ps::<0x44>(q, t),
                        _mm256_shuffle_ps::<0xEE>(q, t),
                    ]
                }
            );
        };
    }
    transpose_in_one_register!(Avx2, transpose_avx2);
    transpose_in_one_register!(Avx512, transpose_avx512);

    impl Simd for Avx2 {
        const FUSED: bool = true;

        #[inline(always)]
        fn transpose_blocks(self, [a, b, c, d]: [f32x8<Self>; 4]) -> [f32x8<Self>; 4] {
            let [a, b, c, d] = transpose_avx2(self, [a.into(), b.into(), c.into(), d.into()]);
            [a.simd_into(self), b.simd_into(self), c.simd_into(self), d.simd_into(self)]
        }
    }

    impl Simd for Avx512 {
        const FUSED: bool = true;

        #[inline(always)]
        fn transpose_blocks(self, [a, b, c, d]: [f32x8<Self>; 4]) -> [f32x8<Self>; 4] {
            let [a, b, c, d] = transpose_avx512(self, [a.into(), b.into(), c.into(), d.into()]);
            [a.simd_into(self), b.simd_into(self), c.simd_into(self), d.simd_into(self)]
        }

        #[inline(always)]
        fn interleave(self, [a, b, c, d]: [f32x8<Self>; 4], cells: [&mut [f32; 4]; EIGHT]) {
            let places = CELLS_OF_VALUES.each_ref().map(|places| i32x16::load_array_ref(self, places).into());
            let [low, high] = pick(self, [a.combine(b).into(), c.combine(d).into()], places);
            let [low, high]: [f32x16<Self>; 2] = [low.simd_into(self), high.simd_into(self)];
            let [(p, q), (r, t)] = [low.split(), high.split()];
            let fours = [p.split(), q.split(), r.split(), t.split()];
            for (l, (even, odd)) in fours.into_iter().enumerate() {
                even.store_array(&mut *cells[2 * l]);
                odd.store_array(&mut *cells[2 * l + 1]);
            }
        }
    }

    /// Places of the values of the first four cells among eight of each value, and of the other four.
    const CELLS_OF_VALUES: [[i32; 16]; 2] = [
        [0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27],
        [4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31],
    ];

    fearless_simd::kernel!(
        /// Picks the values of two registers by their places in two others.
        #[inline(always)]
        fn pick(_token: Avx512, from: [__m512; 2], places: [__m512i; 2]) -> [__m512; 2] {
            let ([a, b], [first, second]) = (from, places);
            [_mm512_permutex2var_ps(a, first, b), _mm512_permutex2var_ps(a, second, b)]
        }
    );
}

#[cfg(target_arch = "aarch64")]
impl Simd for fearless_simd::aarch64::Neon {
    const FUSED: bool = true;

    #[inline(always)]
    fn transpose_blocks(self, rows: [f32x8<Self>; 4]) -> [f32x8<Self>; 4] {
        transpose_halves(rows)
    }
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
impl Simd for fearless_simd::Fallback {
    const FUSED: bool = false;

    #[inline(always)]
    fn transpose_blocks(self, rows: [f32x8<Self>; 4]) -> [f32x8<Self>; 4] {
        transpose_halves(rows)
    }
}

/// Number of values in an [`Eight`].
pub const EIGHT: usize = 8;

/// `count` strips of eight values, beginning with value `first`. A loop over strips of the same count checks
/// no bounds.
#[inline(always)]
pub fn strips(values: &[f32], first: usize, count: usize) -> &[[f32; EIGHT]] {
    &values[first..][..count * EIGHT].as_chunks().0[..count]
}

/// The same to write to.
#[inline(always)]
pub fn strips_mut(values: &mut [f32], first: usize, count: usize) -> &mut [[f32; EIGHT]] {
    &mut values[first..][..count * EIGHT].as_chunks_mut().0[..count]
}

/// Eight values in memory, aligned for one register.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
pub struct Eight(pub [f32; EIGHT]);

impl Eight {
    /// Loads into registers.
    #[inline(always)]
    pub fn load<S: Simd>(&self, s: S) -> f32x8<S> {
        f32x8::load_array_ref(s, &self.0)
    }

    /// Stores from registers.
    #[inline(always)]
    pub fn store<S: Simd>(&mut self, values: f32x8<S>) {
        values.store_array(&mut self.0);
    }
}

/// Sixteen values in memory.
pub type Lane = [f32; LANES];

/// Loads sixteen values.
#[inline(always)]
pub fn load<S: Simd>(s: S, lane: &Lane) -> f32x16<S> {
    f32x16::load_array_ref(s, lane)
}

/// Stores sixteen values.
#[inline(always)]
pub fn store<S: Simd>(values: f32x16<S>, lane: &mut Lane) {
    values.store_array(lane);
}

/// A single-precision vector of any length.
pub trait Floats<S: Simd>: SimdFloat<S, Element = f32> {}

impl<S: Simd, V: SimdFloat<S, Element = f32>> Floats<S> for V {}

/// N groups of eight lanes in one vector.
pub trait Eights<S: Simd, const N: usize>: Floats<S> {
    /// Repeats eight values in each group.
    fn repeat(eight: f32x8<S>) -> Self;

    /// Broadcasts value n to group n.
    fn each(s: S, values: [f32; N]) -> Self;

    /// Loads element `i` of slice n into group n.
    fn load(s: S, from: &[&mut [Eight]; N], i: usize) -> Self;

    /// The inverse of [`load`](Self::load).
    fn store(self, to: &mut [&mut [Eight]; N], i: usize);
}

impl<S: Simd> Eights<S, 1> for f32x8<S> {
    #[inline(always)]
    fn repeat(eight: f32x8<S>) -> Self {
        eight
    }

    #[inline(always)]
    fn each(s: S, [value]: [f32; 1]) -> Self {
        Self::splat(s, value)
    }

    #[inline(always)]
    fn load(s: S, [from]: &[&mut [Eight]; 1], i: usize) -> Self {
        from[i].load(s)
    }

    #[inline(always)]
    fn store(self, [to]: &mut [&mut [Eight]; 1], i: usize) {
        to[i].store(self);
    }
}

impl<S: Simd> Eights<S, 2> for f32x16<S> {
    #[inline(always)]
    fn repeat(eight: f32x8<S>) -> Self {
        eight.combine(eight)
    }

    #[inline(always)]
    fn each(s: S, [low, high]: [f32; 2]) -> Self {
        f32x8::splat(s, low).combine(f32x8::splat(s, high))
    }

    #[inline(always)]
    fn load(s: S, [low, high]: &[&mut [Eight]; 2], i: usize) -> Self {
        low[i].load(s).combine(high[i].load(s))
    }

    #[inline(always)]
    fn store(self, [below, above]: &mut [&mut [Eight]; 2], i: usize) {
        let (low, high) = self.split();
        below[i].store(low);
        above[i].store(high);
    }
}

/// `a`, negated where the sign bit of `by` is set.
#[inline(always)]
pub fn flip<S: Simd, V: Floats<S>>(a: V, by: V) -> V {
    V::from_bits(a.to_bits() ^ (by.to_bits() & 0x8000_0000))
}

/// `negated` where the sign bit of `by` is set, otherwise `positive`.
#[inline(always)]
pub fn by_sign<S: Simd, V: Floats<S>>(by: V, positive: V, negated: V) -> V {
    by.is_sign_negative().select(negated, positive)
}

/// Bitwise or: a lane is ±0 only if it is in both.
#[inline(always)]
pub fn either<S: Simd>(a: f32x8<S>, b: f32x8<S>) -> f32x8<S> {
    f32x8::from_bits(a.to_bits() | b.to_bits())
}

/// Returns true if any value is not ±0.
#[inline(always)]
pub fn any<S: Simd>(a: f32x8<S>) -> bool {
    !a.simd_eq(0.0).all_true()
}

/// De-interleaves eight cells of four values: one vector for each value.
#[inline(always)]
pub fn deinterleave<S: Simd>(s: S, cells: [&[f32; 4]; EIGHT]) -> [f32x8<S>; 4] {
    let pair = |l: usize| f32x4::load_array_ref(s, cells[l]).combine(f32x4::load_array_ref(s, cells[l + 4]));
    s.transpose_blocks([pair(0), pair(1), pair(2), pair(3)])
}

/// Transposes eight rows.
#[inline(always)]
pub fn transposed<S: Simd>(s: S, [a, b, c, d, e, f, g, h]: [f32x8<S>; EIGHT]) -> [f32x8<S>; EIGHT] {
    let left = s.transpose_blocks([a, b, c, d]);
    let right = s.transpose_blocks([e, f, g, h]);
    let low = |n: usize| left[n].split().0.combine(right[n].split().0);
    let high = |n: usize| left[n].split().1.combine(right[n].split().1);
    [low(0), low(1), low(2), low(3), high(0), high(1), high(2), high(3)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::each_level;

    const A: [f32; EIGHT] = [1.0, -2.0, 0.5, -0.0, 3.0, 0.125, -7.0, 1e-3];
    const B: [f32; EIGHT] = [-1.0, 2.5, 0.25, 0.0, 3.0, 2.0, -8.0, -4.0];

    each_level! { fn signs(out: &mut [Eight; 3]) = signs_kernel; }

    #[inline(always)]
    fn signs_kernel<S: Simd>(s: S, out: &mut [Eight; 3]) {
        let (a, b) = (Eight(A).load(s), Eight(B).load(s));
        out[0].store(flip(a, b));
        out[1].store(by_sign(b, a, s.splat_f32x8(9.0)));
        out[2].store(either(a, b));
    }

    #[test]
    fn signs_choose_and_flip() {
        let mut out = [Eight([0.0; EIGHT]); 3];
        signs(&mut out);
        for l in 0..EIGHT {
            let minus = B[l].is_sign_negative();
            assert_eq!(out[0].0[l].to_bits(), if minus { -A[l] } else { A[l] }.to_bits());
            assert_eq!(out[1].0[l].to_bits(), if minus { 9.0 } else { A[l] }.to_bits());
            assert_eq!(out[2].0[l].to_bits(), A[l].to_bits() | B[l].to_bits());
        }
    }

    each_level! { fn found(out: &mut [bool; 4]) = found_kernel; }

    #[inline(always)]
    fn found_kernel<S: Simd>(s: S, out: &mut [bool; 4]) {
        *out = [-0.0, 0.0, 1e-40, f32::NAN].map(|x| {
            let mut values = Eight([-0.0; EIGHT]);
            values.0[5] = x;
            any(values.load(s))
        });
    }

    #[test]
    fn a_subnormal_value_and_nan_are_not_zero() {
        let mut out = [false; 4];
        found(&mut out);
        assert_eq!(out, [false, false, true, true]);
    }

    each_level! { fn shuffles(cells: &mut [[f32; 4]; EIGHT], apart: &mut [Eight; 4], rows: &mut [Eight; EIGHT]) = shuffles_kernel; }

    #[inline(always)]
    fn shuffles_kernel<S: Simd>(
        s: S,
        cells: &mut [[f32; 4]; EIGHT],
        apart: &mut [Eight; 4],
        rows: &mut [Eight; EIGHT],
    ) {
        let values = deinterleave(s, cells.each_ref());
        (0..4).for_each(|n| apart[n].store(values[n]));
        s.interleave([values[3], values[2], values[1], values[0]], cells.each_mut());
        let loaded = rows.each_ref().map(|row| row.load(s));
        rows.iter_mut().zip(transposed(s, loaded)).for_each(|(row, values)| row.store(values));
    }

    #[test]
    fn cells_are_deinterleaved_and_squares_transposed() {
        let at = |l: usize, n: usize| (10 * l + n) as f32;
        let mut cells: [[f32; 4]; EIGHT] = std::array::from_fn(|l| std::array::from_fn(|n| at(l, n)));
        let mut apart = [Eight([0.0; EIGHT]); 4];
        let mut rows: [Eight; EIGHT] = std::array::from_fn(|l| Eight(std::array::from_fn(|n| at(l, n))));
        shuffles(&mut cells, &mut apart, &mut rows);
        for l in 0..EIGHT {
            for n in 0..4 {
                assert_eq!(apart[n].0[l], at(l, n));
                assert_eq!(cells[l][3 - n], at(l, n));
            }
            for n in 0..EIGHT {
                assert_eq!(rows[n].0[l], at(l, n));
            }
        }
    }
}
