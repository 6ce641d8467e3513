//! Transposition of sixteen rows to interleaved lanes, and back.

use super::LANES;
#[cfg(target_arch = "x86_64")]
use super::{Level, level};

/// Interleaves the first `n` values of sixteen rows, which are `pitch` apart: value i of row l goes to `next`
/// i + l. Rows are as long as n, rounded up to sixteen.
pub fn lanes_of_rows(rows: &[f32], pitch: usize, n: usize, next: usize, lanes: &mut [f32]) {
    let full = n - n % LANES;
    for from in (0..full).step_by(LANES) {
        transpose(&rows[from..], pitch, &mut lanes[from * next..], next);
    }
    if full < n {
        let mut rest = [[0.0; LANES]; LANES];
        transpose(&rows[full..], pitch, rest.as_flattened_mut(), LANES);
        for (i, values) in (full..n).zip(rest) {
            lanes[i * next..][..LANES].copy_from_slice(&values);
        }
    }
}

/// The inverse of [`lanes_of_rows`]. Values between n and the next sixteen are overwritten.
pub fn rows_of_lanes(lanes: &[f32], next: usize, n: usize, pitch: usize, rows: &mut [f32]) {
    let full = n - n % LANES;
    for from in (0..full).step_by(LANES) {
        transpose(&lanes[from * next..], next, &mut rows[from..], pitch);
    }
    if full < n {
        let mut rest = [[0.0; LANES]; LANES];
        for (i, values) in (full..n).zip(&mut rest) {
            values.copy_from_slice(&lanes[i * next..][..LANES]);
        }
        transpose(rest.as_flattened(), LANES, &mut rows[full..], pitch);
    }
}

/// Transposes a square of sixteen by sixteen values, from rows `from_pitch` apart to rows `to_pitch` apart.
#[allow(unsafe_code)]
pub fn transpose(from: &[f32], from_pitch: usize, to: &mut [f32], to_pitch: usize) {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        // SAFETY: `level` has found these instructions on this machine.
        unsafe { avx512::transpose(from, from_pitch, to, to_pitch) };
        return;
    }
    for i in 0..LANES {
        for j in 0..LANES {
            to[j * to_pitch + i] = from[i * from_pitch + j];
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    #![allow(unsafe_code)]

    use std::arch::x86_64::*;

    use super::LANES;

    #[target_feature(enable = "avx512f,avx512dq")]
    fn pair(a: __m512, b: __m512) -> [__m512; 2] {
        let (a, b) = (_mm512_castps_pd(a), _mm512_castps_pd(b));
        let (low, high) = (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
        [_mm512_castpd_ps(low), _mm512_castpd_ps(high)]
    }

    /// Swaps pairs of values, pairs of pairs, then quarters of registers.
    #[target_feature(enable = "avx512f,avx512dq")]
    pub fn transpose(from: &[f32], from_pitch: usize, to: &mut [f32], to_pitch: usize) {
        let mut r = [_mm512_setzero_ps(); LANES];
        for (i, r) in r.iter_mut().enumerate() {
            let row: &[f32; LANES] = from[i * from_pitch..].first_chunk().expect("sixteen values");
            // SAFETY: the row holds sixteen values.
            *r = unsafe { _mm512_loadu_ps(row.as_ptr()) };
        }
        let mut t = r;
        for i in (0..LANES).step_by(2) {
            t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
            t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
        }
        let mut q = t;
        for i in (0..LANES).step_by(4) {
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
            for (row, values) in [(i, low), (8 + i, high)] {
                let row: &mut [f32; LANES] = to[row * to_pitch..].first_chunk_mut().expect("sixteen values");
                // SAFETY: the row holds sixteen values.
                unsafe { _mm512_storeu_ps(row.as_mut_ptr(), values) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_lanes_and_come_back() {
        let (n, pitch, next) = (21, 32, 40);
        let rows: Vec<f32> = (0..LANES * pitch).map(|at| at as f32).collect();
        let mut lanes = vec![0.0; n * next];
        lanes_of_rows(&rows, pitch, n, next, &mut lanes);
        for (i, lane) in lanes.chunks(next).enumerate() {
            assert_eq!(lane[..LANES], std::array::from_fn::<_, LANES, _>(|l| rows[l * pitch + i]), "{i}");
        }
        let mut back = vec![-1.0; rows.len()];
        rows_of_lanes(&lanes, next, n, pitch, &mut back);
        for (row, want) in back.chunks(pitch).zip(rows.chunks(pitch)) {
            assert_eq!(row[..n], want[..n]);
            assert!(row[n..].iter().all(|&x| x == 0.0 || x == -1.0));
        }
    }
}
