//! Rows of half floats, converted a register at a time. The functions of the crate `half` call another function for every eight values.

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::{Token, token};

/// Converts half floats; both slices must have the same length.
pub fn widen(from: &[f16], to: &mut [f32]) {
    assert_eq!(from.len(), to.len(), "one value for each half float");
    match token() {
        #[cfg(target_arch = "x86_64")]
        Token::Avx512(token) => x86::widen_avx512(token, from, to),
        #[cfg(target_arch = "x86_64")]
        Token::Avx2(token) => x86::widen_avx2(token, from, to),
        Token::Baseline(_) => from.convert_to_f32_slice(to),
    }
}

/// Rounds to the nearest half floats; both slices must have the same length.
pub fn narrow(from: &[f32], to: &mut [f16]) {
    assert_eq!(from.len(), to.len(), "one half float for each value");
    match token() {
        #[cfg(target_arch = "x86_64")]
        Token::Avx512(token) => x86::narrow_avx512(token, from, to),
        #[cfg(target_arch = "x86_64")]
        Token::Avx2(token) => x86::narrow_avx2(token, from, to),
        Token::Baseline(_) => to.convert_from_f32_slice(from),
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use fearless_simd::prelude::*;
    use fearless_simd::x86::{Avx2, Avx512};
    use fearless_simd::{f32x8, f32x16, u16x8, u16x16};
    use half::f16;
    use half::slice::HalfFloatSliceExt;

    macro_rules! conversions {
        ($token:ident, $count:literal, $floats:ident, $halves:ident, $widen:ident = $to_float:expr, $narrow:ident = $to_half:expr) => {
            fearless_simd::kernel!(
                pub fn $widen(token: $token, from: &[f16], to: &mut [f32]) {
                    let ((from, from_rest), (to, to_rest)) =
                        (from.as_chunks::<$count>(), to.as_chunks_mut::<$count>());
                    for (from, to) in from.iter().zip(to) {
                        let halves = $halves::load_array_ref(token, bytemuck::cast_ref(from));
                        let floats: $floats<$token> = $to_float(halves.into()).simd_into(token);
                        floats.store_array(to);
                    }
                    from_rest.convert_to_f32_slice(to_rest);
                }
            );

            fearless_simd::kernel!(
                pub fn $narrow(token: $token, from: &[f32], to: &mut [f16]) {
                    let ((from, from_rest), (to, to_rest)) =
                        (from.as_chunks::<$count>(), to.as_chunks_mut::<$count>());
                    for (from, to) in from.iter().zip(to) {
                        let floats = $floats::load_array_ref(token, from);
                        let halves: $halves<$token> = $to_half(floats.into()).simd_into(token);
                        halves.store_array(bytemuck::cast_mut(to));
                    }
                    to_rest.convert_from_f32_slice(from_rest);
                }
            );
        };
    }
    conversions!(
        Avx512,
        16,
        f32x16,
        u16x16,
        widen_avx512 = _mm512_cvtph_ps,
        narrow_avx512 = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>
    );
    conversions!(
        Avx2,
        8,
        f32x8,
        u16x8,
        widen_avx2 = _mm256_cvtph_ps,
        narrow_avx2 = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_those_of_the_crate_half() {
        for count in [0, 1, 7, 16, 37, 64] {
            let values: Vec<f32> = (0..count).map(|n| (n as f32 * 0.37 - 3.0).powi(5)).collect();
            let (mut halves, mut wide) = (vec![f16::ZERO; count], vec![0.0; count]);
            narrow(&values, &mut halves);
            assert!(halves.iter().zip(&values).all(|(half, x)| *half == f16::from_f32(*x)));
            widen(&halves, &mut wide);
            assert!(wide.iter().zip(&halves).all(|(x, half)| *x == half.to_f32()));
        }
    }
}
