//! Back-traces in AVX-512: sixteen cells at a time, with the bits of the plain code.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use std::arch::x86_64::*;

use super::{FacesOfRow, Row};
use crate::grid::GHOST;
use crate::simd::LANES;
use crate::simd::avx512::{
    Cells, adjacent_lanes, interleave_three, load_cells, load_values, number, over_run, sample_points,
    squares, store_cells, stream_cells, whole_lines, whole_runs,
};
use crate::solver::sides::SampleBounds;

/// Positions below the departure points at coordinates `x`, and the fractions above, as `trace::locate` finds
/// them. Without `AROUND` no axis is periodic.
#[inline(always)]
pub unsafe fn locate<const AROUND: bool>(bounds: &SampleBounds, x: [__m512; 3]) -> (__m512i, [__m512; 3]) {
    let strides = [1, bounds.row as i32, bounds.plane as i32];
    let mut at = _mm512_set1_epi32(GHOST as i32 * strides.iter().sum::<i32>());
    let mut fraction = x;
    for axis in 0..3 {
        let (low, mut x) = (number(bounds.low[axis]), x[axis]);
        if AROUND {
            let turns = _mm512_mul_ps(_mm512_sub_ps(x, low), number(bounds.per_period[axis]));
            let turns = _mm512_roundscale_ps::<0x09>(turns);
            x = _mm512_sub_ps(x, _mm512_mul_ps(number(bounds.period[axis]), turns));
        }
        let x = _mm512_min_ps(_mm512_max_ps(x, low), number(bounds.high[axis]));
        let below = _mm512_cvt_roundps_epi32::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(x);
        let below = _mm512_min_epi32(below, _mm512_set1_epi32(bounds.last[axis] as i32));
        fraction[axis] = _mm512_sub_ps(x, _mm512_cvtepi32_ps(below));
        at = _mm512_add_epi32(at, _mm512_mullo_epi32(below, _mm512_set1_epi32(strides[axis])));
    }
    (at, fraction)
}

/// See [`super::centers`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
pub fn center_row(faces: FacesOfRow, out: &mut [[f32; 4]]) {
    let (first, whole) = whole_lines(out);
    // The ends of the row, which do not fill a cache line.
    for i in (0..first).chain(whole..out.len()) {
        out[i] = faces.center(i);
    }
    let FacesOfRow { u, v, w } = faces;
    for (i, out) in (first..whole).step_by(LANES).zip(out[first..whole].chunks_exact_mut(LANES)) {
        // SAFETY: the caller has checked that the machine has the instructions; the chunk begins at a cache
        // line.
        unsafe {
            let x = _mm512_add_ps(load_values(u, i), load_values(u, i + 1));
            let y = _mm512_add_ps(load_values(v[0], i), load_values(v[1], i));
            let z = _mm512_add_ps(load_values(w[0], i), load_values(w[1], i));
            let half = number(0.5);
            stream_cells(
                out.first_chunk_mut().expect("whole lines"),
                interleave_three([_mm512_mul_ps(half, x), _mm512_mul_ps(half, y), _mm512_mul_ps(half, z)]),
            );
        }
    }
}

/// See [`super::trace_kernel`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
pub fn trace_row<const ORDER: usize>(row: Row, bounds: &SampleBounds, out: &mut [[f32; 4]]) {
    for (block, out) in out.chunks_mut(LANES).enumerate() {
        let from = block * LANES;
        let origin = [from as f32, row.jk[0], row.jk[1]];
        let mut whole = [[0.0; 4]; LANES];
        // SAFETY: the caller has checked that the machine has the instructions.
        unsafe {
            let first = load_cells(&row.centers[row.at + from..][..LANES]);
            let cells = if bounds.period == [0.0; 3] {
                displacements::<ORDER, false>(row, bounds, origin, first)
            } else {
                displacements::<ORDER, true>(row, bounds, origin, first)
            };
            match out.first_chunk_mut() {
                Some(out) => store_cells(out, cells),
                None => {
                    store_cells(&mut whole, cells);
                    out.copy_from_slice(&whole[..out.len()]);
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn displacements<const ORDER: usize, const AROUND: bool>(
    Row { centers, steps, .. }: Row,
    bounds: &SampleBounds,
    origin: [f32; 3],
    first: Cells,
) -> Cells {
    let mut velocity = sample_back::<AROUND>(centers, bounds, origin, first, 0.5 * steps);
    if ORDER == 3 {
        let third = sample_back::<AROUND>(centers, bounds, origin, velocity, 0.75 * steps);
        for n in 0..4 {
            let (first, second) =
                (_mm512_mul_ps(number(2.0), first[n]), _mm512_mul_ps(number(3.0), velocity[n]));
            let sum = _mm512_add_ps(_mm512_add_ps(first, second), _mm512_mul_ps(number(4.0), third[n]));
            velocity[n] = _mm512_mul_ps(sum, number(1.0 / 9.0));
        }
    }
    for four in &mut velocity {
        *four = _mm512_mul_ps(number(steps), *four);
    }
    velocity
}

/// See [`super::sample_back`].
#[inline(always)]
unsafe fn sample_back<const AROUND: bool>(
    centers: &[[f32; 4]],
    bounds: &SampleBounds,
    origin: [f32; 3],
    velocity: Cells,
    steps: f32,
) -> Cells {
    let ([x, y, z, _], start) = (squares(velocity), sample_points(origin));
    let steps = number(steps);
    let departure = [
        _mm512_sub_ps(start[0], _mm512_mul_ps(steps, x)),
        _mm512_sub_ps(start[1], _mm512_mul_ps(steps, y)),
        _mm512_sub_ps(start[2], _mm512_mul_ps(steps, z)),
    ];
    let (below, fraction) = locate::<AROUND>(bounds, departure);
    let mut at = [0u32; LANES];
    _mm512_storeu_si512(at.as_mut_ptr().cast(), below);
    let runs = whole_runs(adjacent_lanes(below));
    [
        four_departures(centers, &at, bounds, fraction, 0, runs),
        four_departures(centers, &at, bounds, fraction, 1, runs),
        four_departures(centers, &at, bounds, fraction, 2, runs),
        four_departures(centers, &at, bounds, fraction, 3, runs),
    ]
}

/// Trilinear samples at the four departure points of run `n`. In `runs` whose departure points are adjacent,
/// each load serves all four.
#[inline(always)]
unsafe fn four_departures(
    field: &[[f32; 4]],
    at: &[u32; LANES],
    bounds: &SampleBounds,
    [x, y, z]: [__m512; 3],
    n: usize,
    runs: u32,
) -> __m512 {
    let [x, y, z] = [over_run(x, n), over_run(y, n), over_run(z, n)];
    if runs >> n & 1 != 0 {
        let first = corner(field, at[n], bounds, 4);
        let low = edge(first, bounds, y, z);
        return lerp(x, low, edge(first.add(4), bounds, y, z));
    }
    let [ab, cd] =
        [two_edges(field, [at[n], at[4 + n]], bounds), two_edges(field, [at[8 + n], at[12 + n]], bounds)];
    let [y0, y1] = [twice::<0b01_01_00_00>(y), twice::<0b11_11_10_10>(y)];
    let [z0, z1] = [twice::<0b01_01_00_00>(z), twice::<0b11_11_10_10>(z)];
    let ab = lerp(y0, lerp(z0, ab[0], ab[1]), lerp(z0, ab[2], ab[3]));
    let cd = lerp(y1, lerp(z1, cd[0], cd[1]), lerp(z1, cd[2], cd[3]));
    let low = _mm512_shuffle_f32x4::<0b10_00_10_00>(ab, cd);
    lerp(x, low, _mm512_shuffle_f32x4::<0b11_01_11_01>(ab, cd))
}

/// Returns quarters of a register, two of them twice.
#[inline(always)]
unsafe fn twice<const QUARTERS: i32>(values: __m512) -> __m512 {
    _mm512_shuffle_f32x4::<QUARTERS>(values, values)
}

/// Returns four consecutive values, interpolated along z and y.
#[inline(always)]
unsafe fn edge(first: *const f32, bounds: &SampleBounds, y: __m512, z: __m512) -> __m512 {
    let (row, plane) = (4 * bounds.row, 4 * bounds.plane);
    let near = lerp(z, _mm512_loadu_ps(first), _mm512_loadu_ps(first.add(plane)));
    let far = lerp(z, _mm512_loadu_ps(first.add(row)), _mm512_loadu_ps(first.add(row + plane)));
    lerp(y, near, far)
}

/// Loads the edges along x around two departure points: near, above it along z, far along y, and above that.
#[inline(always)]
unsafe fn two_edges(field: &[[f32; 4]], at: [u32; 2], bounds: &SampleBounds) -> [__m512; 4] {
    let (row, plane) = (4 * bounds.row, 4 * bounds.plane);
    let [a, b] = [corner(field, at[0], bounds, 1), corner(field, at[1], bounds, 1)];
    [
        edges(a, b),
        edges(a.add(plane), b.add(plane)),
        edges(a.add(row), b.add(row)),
        edges(a.add(row + plane), b.add(row + plane)),
    ]
}

/// Returns the first of the values around the departure points of `count` neighbours, all of which lie in the
/// field.
#[inline(always)]
unsafe fn corner(field: &[[f32; 4]], at: u32, bounds: &SampleBounds, count: usize) -> *const f32 {
    let at = at as usize;
    assert!(at + 1 + count + bounds.row + bounds.plane <= field.len(), "a departure outside the field");
    field[at..].as_ptr().cast()
}

/// Loads two values at `a`, and two at `b`.
#[inline(always)]
unsafe fn edges(a: *const f32, b: *const f32) -> __m512 {
    _mm512_insertf32x8::<1>(_mm512_castps256_ps512(_mm256_loadu_ps(a)), _mm256_loadu_ps(b))
}

#[inline(always)]
unsafe fn lerp(t: __m512, low: __m512, high: __m512) -> __m512 {
    _mm512_fmadd_ps(t, _mm512_sub_ps(high, low), low)
}
