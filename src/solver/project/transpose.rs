//! Sixteen rows side by side in lanes, and back.

use super::fft::Lane;
use crate::solver::simd::LANES;

/// `lanes[i][l]` = value i of row l of sixteen, rows `pitch` apart. Rows are as long as the lanes, rounded up to sixteen.
pub fn lanes_of_rows(rows: &[f32], pitch: usize, lanes: &mut [Lane]) {
    for (square, lanes) in lanes.chunks_mut(LANES).enumerate() {
        let mut block = [[0.0; LANES]; LANES];
        for (l, row) in block.iter_mut().enumerate() {
            *row = *rows[l * pitch + square * LANES..].first_chunk().expect("rows are padded");
        }
        transpose(&mut block);
        lanes.copy_from_slice(&block[..lanes.len()]);
    }
}

/// The inverse of [`lanes_of_rows`]; what lies between the lanes' length and the next sixteen is overwritten.
pub fn rows_of_lanes(lanes: &[Lane], pitch: usize, rows: &mut [f32]) {
    for (square, lanes) in lanes.chunks(LANES).enumerate() {
        let mut block = [[0.0; LANES]; LANES];
        block[..lanes.len()].copy_from_slice(lanes);
        transpose(&mut block);
        for (l, row) in block.iter().enumerate() {
            rows[l * pitch + square * LANES..][..LANES].copy_from_slice(row);
        }
    }
}

/// Transposes a square.
fn transpose(block: &mut [Lane; LANES]) {
    #[cfg(target_arch = "x86_64")]
    if crate::solver::simd::level() == crate::solver::simd::Level::Avx512 {
        avx512::transpose(block);
        return;
    }
    for i in 1..LANES {
        for j in 0..i {
            (block[i][j], block[j][i]) = (block[j][i], block[i][j]);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    #![allow(unsafe_code)]

    use std::arch::x86_64::*;

    use super::{LANES, Lane};

    /// On machines with AVX-512 only.
    pub fn transpose(block: &mut [Lane; LANES]) {
        // SAFETY: the one caller has asked for the instructions.
        unsafe { in_registers(block) }
    }

    /// Pairs of values, pairs of pairs, then quarters of registers change places.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn in_registers(block: &mut [Lane; LANES]) {
        // SAFETY: sixteen values are there.
        let r: [__m512; 16] = std::array::from_fn(|i| unsafe { _mm512_loadu_ps(block[i].as_ptr()) });
        let mut t = r;
        for i in (0..16).step_by(2) {
            t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
            t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
        }
        let pair = |a: __m512, b: __m512| {
            let (a, b) = (_mm512_castps_pd(a), _mm512_castps_pd(b));
            let (low, high) = (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
            [_mm512_castpd_ps(low), _mm512_castpd_ps(high)]
        };
        let mut q = t;
        for i in (0..16).step_by(4) {
            [q[i], q[i + 1]] = pair(t[i], t[i + 2]);
            [q[i + 2], q[i + 3]] = pair(t[i + 1], t[i + 3]);
        }
        let mut h = q;
        for i in 0..4 {
            for half in [0, 8] {
                h[half + i] = _mm512_shuffle_f32x4::<0x88>(q[half + i], q[half + 4 + i]);
                h[half + 4 + i] = _mm512_shuffle_f32x4::<0xdd>(q[half + i], q[half + 4 + i]);
            }
        }
        for i in 0..8 {
            let low = _mm512_shuffle_f32x4::<0x88>(h[i], h[8 + i]);
            let high = _mm512_shuffle_f32x4::<0xdd>(h[i], h[8 + i]);
            // SAFETY: sixteen values are there.
            unsafe {
                _mm512_storeu_ps(block[i].as_mut_ptr(), low);
                _mm512_storeu_ps(block[8 + i].as_mut_ptr(), high);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_lanes_and_come_back() {
        let (n, pitch) = (21, 32);
        let rows: Vec<f32> = (0..LANES * pitch).map(|at| at as f32).collect();
        let mut lanes = vec![[0.0; LANES]; n];
        lanes_of_rows(&rows, pitch, &mut lanes);
        for (i, lane) in lanes.iter().enumerate() {
            assert_eq!(*lane, std::array::from_fn(|l| rows[l * pitch + i]), "{i}");
        }
        let mut back = vec![-1.0; rows.len()];
        rows_of_lanes(&lanes, pitch, &mut back);
        for (row, want) in back.chunks(pitch).zip(rows.chunks(pitch)) {
            assert_eq!(row[..n], want[..n]);
            assert!(row[n..].iter().all(|&x| x == 0.0 || x == -1.0));
        }
    }
}
