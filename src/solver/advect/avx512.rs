//! The stencils of [`super::interleaved_cubic`] in AVX-512: 4 cells × 4 values of a line in one register.
//!
//! The kernels take sixteen cells at a time, in the order of fours of [`sample_points`]. First they find
//! departure points and weights, axis by axis, one cell in each lane. Then they interpolate runs of four
//! cells.
//!
//! Departure points of a run are mostly neighbours, as their cells are. Then lane 4i + c holds value c of
//! cell i, and one load at each node serves all four cells. Otherwise each cell has a separate stencil: lane
//! 4x + c is value c of the line's node x. Its weights come back from memory spread over the lanes of a line,
//! because loads cost less than shuffles there. Both paths do the same operations in the same order.
//!
//! Two functions enable the instructions, and all others are inlined into them: a call would pass its
//! registers through memory. Hence there are no closures, and the functions are unsafe to call where the
//! instructions are not enabled.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use std::arch::x86_64::*;

use super::staggered::Staggered;
use super::{Curve, NEGLIGIBLE, Row};
use crate::simd::LANES;
use crate::simd::avx512::{
    adjacent_lanes, interleave_three, load_cells, load_four, load_values, number, over_run, quarters,
    sample_points, squares, squares_of_three, stream_cells, whole_lines, whole_runs,
};
use crate::solver::advect::trace::locate_sixteen;
use crate::solver::sides::SampleBounds;

/// One register in memory.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([f32; LANES]);

const EMPTY: Line = Line([0.0; LANES]);

/// The four weights of a cell along one axis, a register for each node.
type Nodes = [__m512; 4];

#[inline(always)]
unsafe fn store(line: &mut Line, value: __m512) {
    _mm512_store_ps(line.0.as_mut_ptr(), value);
}

#[inline(always)]
unsafe fn load(line: &Line) -> __m512 {
    _mm512_load_ps(line.0.as_ptr())
}

#[inline(always)]
unsafe fn load_nodes([a, b, c, d]: &[Line; 4]) -> Nodes {
    [load(a), load(b), load(c), load(d)]
}

/// Spreads four values of a line over all four nodes.
#[inline(always)]
unsafe fn spread(line: &Line, from: usize) -> __m512 {
    let four: &[f32; 4] = line.0[from..].first_chunk().expect("four values");
    _mm512_broadcast_f32x4(_mm_loadu_ps(four.as_ptr()))
}

/// [`Curve::weights`] of each lane.
#[inline(always)]
unsafe fn weights(curve: Curve, t: __m512) -> Nodes {
    let s = _mm512_sub_ps(number(1.0), t);
    let product = _mm512_mul_ps(t, s);
    let (level, slope) = (number(curve.level), number(curve.slope));
    let first = _mm512_mul_ps(product, _mm512_fmadd_ps(slope, s, level));
    let last = _mm512_mul_ps(product, _mm512_fmadd_ps(slope, t, level));
    let twice = number(-2.0);
    [
        first,
        _mm512_add_ps(_mm512_fmadd_ps(twice, first, s), last),
        _mm512_add_ps(_mm512_fmadd_ps(twice, last, t), first),
        last,
    ]
}

/// Weights of the lines of a stencil, along y and z.
struct Weights {
    y: Nodes,
    z: Nodes,
}

/// Sum over the lines of a stencil, and the least and greatest of the lines around the departure point.
#[derive(Clone, Copy)]
struct Sum {
    value: __m512,
    low: __m512,
    high: __m512,
}

/// Returns four lines weighted along y, and the two inner ones. The first is at `line` and each `next` values
/// after the one before.
///
/// All sixteen values of each must exist.
#[inline(always)]
unsafe fn slice(line: *const f32, next: usize, y: &Nodes) -> (__m512, __m512, __m512) {
    let (a, b) = (_mm512_loadu_ps(line), _mm512_loadu_ps(line.add(next)));
    let (c, d) = (_mm512_loadu_ps(line.add(2 * next)), _mm512_loadu_ps(line.add(3 * next)));
    let sum = _mm512_fmadd_ps(y[1], b, _mm512_mul_ps(y[0], a));
    (_mm512_fmadd_ps(y[3], d, _mm512_fmadd_ps(y[2], c, sum)), b, c)
}

/// Returns sixteen lines weighted along y and z, the first at `first`.
///
/// All sixteen values of each must exist.
#[inline(always)]
unsafe fn lines(first: *const f32, bounds: &SampleBounds, weights: &Weights) -> Sum {
    let (next, plane) = (4 * bounds.row, 4 * bounds.plane);
    let slices = [first, first.add(plane), first.add(2 * plane), first.add(3 * plane)];
    let (first, ..) = slice(slices[0], next, &weights.y);
    let (second, a, b) = slice(slices[1], next, &weights.y);
    let (third, c, d) = slice(slices[2], next, &weights.y);
    let (fourth, ..) = slice(slices[3], next, &weights.y);
    let sum = _mm512_fmadd_ps(weights.z[1], second, _mm512_mul_ps(weights.z[0], first));
    let sum = _mm512_fmadd_ps(weights.z[3], fourth, _mm512_fmadd_ps(weights.z[2], third, sum));
    Sum {
        value: sum,
        low: _mm512_min_ps(d, _mm512_min_ps(c, _mm512_min_ps(b, a))),
        high: _mm512_max_ps(d, _mm512_max_ps(c, _mm512_max_ps(b, a))),
    }
}

/// Returns the beginning of the stencils of `count` neighbours. The second value of the first stencil is at
/// `at`.
#[inline(always)]
unsafe fn first_of(field: &[[f32; 4]], at: usize, bounds: &SampleBounds, count: usize) -> *const f32 {
    let before = 1 + bounds.row + bounds.plane;
    // Each of the sixteen lines is as long as four nodes and the neighbours after the first.
    assert!(at >= before && at + 2 * before + count - 1 < field.len(), "a stencil outside the field");
    field[at - before..].as_ptr().cast()
}

/// Sums the stencil whose second value is at `at`.
#[inline(always)]
unsafe fn stencil(field: &[[f32; 4]], at: usize, bounds: &SampleBounds, weights: &Weights) -> Sum {
    lines(first_of(field, at, bounds, 1), bounds, weights)
}

/// Returns the limited values of four neighbours. Weights lie in the four lanes of each; `x` holds those
/// along x of each node.
#[inline(always)]
unsafe fn neighbours(
    field: &[[f32; 4]],
    at: usize,
    bounds: &SampleBounds,
    x: Nodes,
    weights: &Weights,
) -> __m512 {
    let first = first_of(field, at, bounds, 4);
    let a = lines(first, bounds, weights);
    let b = lines(first.add(4), bounds, weights);
    let c = lines(first.add(8), bounds, weights);
    let d = lines(first.add(12), bounds, weights);
    let range = [_mm512_min_ps(c.low, b.low), _mm512_max_ps(c.high, b.high)];
    combined([a.value, b.value, c.value, d.value], x, range)
}

/// Returns the sum along x, clamped to `[low, high]`.
#[inline(always)]
unsafe fn combined(nodes: Nodes, x: Nodes, [low, high]: [__m512; 2]) -> __m512 {
    let even = _mm512_add_ps(_mm512_mul_ps(x[0], nodes[0]), _mm512_mul_ps(x[2], nodes[2]));
    let odd = _mm512_add_ps(_mm512_mul_ps(x[1], nodes[1]), _mm512_mul_ps(x[3], nodes[3]));
    _mm512_min_ps(_mm512_max_ps(_mm512_add_ps(even, odd), low), high)
}

/// Returns `a`, with the given `lanes` taken from `b`.
#[inline(always)]
unsafe fn blend_lanes(lanes: __mmask16, a: Sum, b: Sum) -> Sum {
    Sum {
        value: _mm512_mask_blend_ps(lanes, a.value, b.value),
        low: _mm512_mask_blend_ps(lanes, a.low, b.low),
        high: _mm512_mask_blend_ps(lanes, a.high, b.high),
    }
}

/// The two inner cells of each line.
#[inline(always)]
unsafe fn inner([a, b, c, d]: Nodes) -> [__m512; 2] {
    let ab = _mm512_shuffle_f32x4::<0b10_01_10_01>(a, b);
    let cd = _mm512_shuffle_f32x4::<0b10_01_10_01>(c, d);
    [_mm512_shuffle_f32x4::<0b10_00_10_00>(ab, cd), _mm512_shuffle_f32x4::<0b11_01_11_01>(ab, cd)]
}

/// Returns the limited values of four stencils, interleaved. `x` holds the weights along x of each node.
#[inline(always)]
unsafe fn limited([a, b, c, d]: [Sum; 4], x: Nodes) -> __m512 {
    let nodes = quarters([a.value, b.value, c.value, d.value]);
    let [left, right] = inner([a.low, b.low, c.low, d.low]);
    let low = _mm512_min_ps(right, left);
    let [left, right] = inner([a.high, b.high, c.high, d.high]);
    combined(nodes, x, [low, _mm512_max_ps(right, left)])
}

/// Departure points of the faces of sixteen cells in the order of fours, and their weights:
/// `weights[axis][n][node]` holds u, v, w of cell 4n + i at 4i.
struct StaggeredDepartures {
    at: [[u32; LANES]; 3],
    weights: [[[Line; 4]; 4]; 3],
    /// One bit for each run: whether the departure points of all its components are neighbours.
    runs: u32,
}

/// See [`super::interleaved_cubic::velocity`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
pub fn velocity_row(
    field: &Staggered,
    at: usize,
    jk: [isize; 2],
    bounds: &[SampleBounds; 3],
    [u, v, w]: [&mut [f32]; 3],
) {
    let around = bounds.iter().any(|bounds| bounds.period != [0.0; 3]);
    let mut departures = StaggeredDepartures { at: [[0; LANES]; 3], weights: [[[EMPTY; 4]; 4]; 3], runs: 0 };
    for from in (0..u.len()).step_by(LANES) {
        let (n, origin) = (LANES.min(u.len() - from), [from as f32, jk[0] as f32, jk[1] as f32]);
        let faces = [&mut u[from..][..n], &mut v[from..][..n], &mut w[from..][..n]];
        // SAFETY: the caller has checked that the machine has the instructions.
        unsafe {
            if around {
                find_departures::<true>(field, at + from, origin, bounds, &mut departures);
            } else {
                find_departures::<false>(field, at + from, origin, bounds, &mut departures);
            }
            staggered_block(field.interleaved, &bounds[0], &departures, faces);
        }
    }
}

/// Interpolates the faces of up to sixteen cells at known departure points.
#[inline(always)]
unsafe fn staggered_block(
    interleaved: &[[f32; 4]],
    bounds: &SampleBounds,
    departures: &StaggeredDepartures,
    [u, v, w]: [&mut [f32]; 3],
) {
    if u.len() < LANES {
        for t in 0..u.len() {
            let (n, i) = (t / 4, t % 4);
            let x = staggered_nodes(&departures.weights[0][n], i);
            let face = limited([staggered_sum(interleaved, bounds, departures, n, i); 4], x);
            (u[t], v[t], w[t]) = (lane::<0>(face), lane::<1>(face), lane::<2>(face));
        }
        return;
    }
    let mut fours = [_mm512_setzero_ps(); 4];
    for (n, four) in fours.iter_mut().enumerate() {
        let x = load_nodes(&departures.weights[0][n]);
        *four = if departures.runs >> n & 1 != 0 {
            let weights = Weights {
                y: load_nodes(&departures.weights[1][n]),
                z: load_nodes(&departures.weights[2][n]),
            };
            neighbours(interleaved, departures.at[0][n] as usize, bounds, x, &weights)
        } else {
            let sums = [
                staggered_sum(interleaved, bounds, departures, n, 0),
                staggered_sum(interleaved, bounds, departures, n, 1),
                staggered_sum(interleaved, bounds, departures, n, 2),
                staggered_sum(interleaved, bounds, departures, n, 3),
            ];
            limited(sums, x)
        };
    }
    let [of_u, of_v, of_w, _] = squares(fours);
    put_in_order(u, of_u);
    put_in_order(v, of_v);
    put_in_order(w, of_w);
}

/// Stores sixteen values that are in the order of fours.
#[inline(always)]
unsafe fn put_in_order(out: &mut [f32], values: __m512) {
    let along = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_ps(out[..LANES].as_mut_ptr(), _mm512_permutexvar_ps(along, values));
}

#[inline(always)]
unsafe fn lane<const N: i32>(x: __m512) -> f32 {
    f32::from_bits(_mm_extract_ps::<N>(_mm512_castps512_ps128(x)) as u32)
}

/// Finds the departure points of the three faces of each of sixteen cells from position `at` on. `origin` are
/// the coordinates of the first.
#[inline(always)]
unsafe fn find_departures<const AROUND: bool>(
    &Staggered { back, curve, .. }: &Staggered,
    at: usize,
    origin: [f32; 3],
    bounds: &[SampleBounds; 3],
    departures: &mut StaggeredDepartures,
) {
    let start = sample_points(origin);
    let here = &back[at..][..LANES];
    let strides = [1, bounds[0].row, bounds[0].plane];
    let (mut below, mut fractions) = ([_mm512_setzero_si512(); 3], [start; 3]);
    for (component, bounds) in bounds.iter().enumerate() {
        let behind = &back[at - strides[component]..][..LANES];
        let [x, y, z, _] = squares([
            _mm512_add_ps(load_four(behind, 0), load_four(here, 0)),
            _mm512_add_ps(load_four(behind, 4), load_four(here, 4)),
            _mm512_add_ps(load_four(behind, 8), load_four(here, 8)),
            _mm512_add_ps(load_four(behind, 12), load_four(here, 12)),
        ]);
        let half = number(0.5);
        let departure = [
            _mm512_fnmadd_ps(half, x, start[0]),
            _mm512_fnmadd_ps(half, y, start[1]),
            _mm512_fnmadd_ps(half, z, start[2]),
        ];
        (below[component], fractions[component]) = locate_sixteen::<AROUND>(bounds, departure);
        _mm512_storeu_si512(departures.at[component].as_mut_ptr().cast(), below[component]);
    }
    let [of_u, of_v, of_w] = below;
    let same = _mm512_cmpeq_epi32_mask(of_v, of_u) & _mm512_cmpeq_epi32_mask(of_w, of_u);
    departures.runs = whole_runs(same & adjacent_lanes(of_u));
    for (axis, runs) in departures.weights.iter_mut().enumerate() {
        let u = weights(curve, fractions[0][axis]);
        let v = weights(curve, fractions[1][axis]);
        let w = weights(curve, fractions[2][axis]);
        for node in 0..4 {
            let together = squares_of_three([u[node], v[node], w[node]]);
            for (nodes, values) in runs.iter_mut().zip(together) {
                store(&mut nodes[node], values);
            }
        }
    }
}

/// Returns the weights of cell i of a run.
#[inline(always)]
unsafe fn staggered_nodes([a, b, c, d]: &[Line; 4], i: usize) -> Nodes {
    [spread(a, 4 * i), spread(b, 4 * i), spread(c, 4 * i), spread(d, 4 * i)]
}

/// Sums the stencils of the faces of cell 4n + i of a block.
#[inline(always)]
unsafe fn staggered_sum(
    interleaved: &[[f32; 4]],
    bounds: &SampleBounds,
    departures: &StaggeredDepartures,
    n: usize,
    i: usize,
) -> Sum {
    let weights = Weights {
        y: staggered_nodes(&departures.weights[1][n], i),
        z: staggered_nodes(&departures.weights[2][n], i),
    };
    let [u, v, w] = [departures.at[0][4 * i + n], departures.at[1][4 * i + n], departures.at[2][4 * i + n]];
    let mut sum = stencil(interleaved, u as usize, bounds, &weights);
    if v != u {
        sum = blend_lanes(0x2222, sum, stencil(interleaved, v as usize, bounds, &weights));
    }
    if w != u {
        sum = blend_lanes(0x4444, sum, stencil(interleaved, w as usize, bounds, &weights));
    }
    sum
}

/// Departure points of sixteen cells in the order of fours, and their weights: `weights[axis][node]` holds
/// the weight of each cell.
struct CellDepartures {
    at: [u32; LANES],
    weights: [[Line; 4]; 3],
}

/// See [`super::interleaved_cubic::cubic_row`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
pub fn scalar_row(curve: Curve, row: Row, bounds: &SampleBounds, field: &[[f32; 4]], out: &mut [[f32; 4]]) {
    let back = &row.back[..out.len()];
    let [x, y, z] = row.origin;
    let blocks = out.chunks_mut(LANES).zip(back.chunks(LANES)).enumerate();
    for (block, (out, back)) in blocks {
        let origin = [x + (block * LANES) as f32, y, z];
        match (out.first_chunk_mut(), back.first_chunk()) {
            // SAFETY: the caller has checked that the machine has the instructions.
            (Some(out), Some(back)) => unsafe { scalar_block(curve, origin, back, bounds, field, out) },
            _ => {
                let (mut whole, mut filled) = ([[0.0; 4]; LANES], [[0.0; 4]; LANES]);
                filled[..back.len()].copy_from_slice(back);
                // SAFETY: as above.
                unsafe { scalar_block(curve, origin, &filled, bounds, field, &mut whole) };
                out.copy_from_slice(&whole[..out.len()]);
            }
        }
    }
}

#[inline(always)]
unsafe fn scalar_block(
    curve: Curve,
    origin: [f32; 3],
    back: &[[f32; 4]; LANES],
    bounds: &SampleBounds,
    field: &[[f32; 4]],
    out: &mut [[f32; 4]; LANES],
) {
    let start = sample_points(origin);
    let way = squares(load_cells(back));
    let x =
        [_mm512_sub_ps(start[0], way[0]), _mm512_sub_ps(start[1], way[1]), _mm512_sub_ps(start[2], way[2])];
    let (below, fraction) = if bounds.period == [0.0; 3] {
        locate_sixteen::<false>(bounds, x)
    } else {
        locate_sixteen::<true>(bounds, x)
    };
    let runs = whole_runs(adjacent_lanes(below));
    let mut departures = CellDepartures { at: [0; LANES], weights: [[EMPTY; 4]; 3] };
    _mm512_storeu_si512(departures.at.as_mut_ptr().cast(), below);
    let [x, y, z] = [weights(curve, fraction[0]), weights(curve, fraction[1]), weights(curve, fraction[2])];
    for (lines, weights) in departures.weights.iter_mut().zip([x, y, z]) {
        for (line, weights) in lines.iter_mut().zip(weights) {
            store(line, weights);
        }
    }
    let [a, b, c, d] = out.as_chunks_mut::<4>().0 else { return };
    _mm512_storeu_ps(a.as_mut_ptr().cast(), four_cells(field, bounds, &departures, 0, runs));
    _mm512_storeu_ps(b.as_mut_ptr().cast(), four_cells(field, bounds, &departures, 1, runs));
    _mm512_storeu_ps(c.as_mut_ptr().cast(), four_cells(field, bounds, &departures, 2, runs));
    _mm512_storeu_ps(d.as_mut_ptr().cast(), four_cells(field, bounds, &departures, 3, runs));
}

/// Returns the four values of each cell of run `n`.
#[inline(always)]
unsafe fn four_cells(
    field: &[[f32; 4]],
    bounds: &SampleBounds,
    departures: &CellDepartures,
    n: usize,
    runs: u32,
) -> __m512 {
    let x = run_nodes(&departures.weights[0], n);
    if runs >> n & 1 != 0 {
        let weights =
            Weights { y: run_nodes(&departures.weights[1], n), z: run_nodes(&departures.weights[2], n) };
        return neighbours(field, departures.at[n] as usize, bounds, x, &weights);
    }
    let sums = [
        cell_sum(field, bounds, departures, n),
        cell_sum(field, bounds, departures, 4 + n),
        cell_sum(field, bounds, departures, 8 + n),
        cell_sum(field, bounds, departures, 12 + n),
    ];
    limited(sums, x)
}

#[inline(always)]
unsafe fn run_nodes([a, b, c, d]: &[Line; 4], n: usize) -> Nodes {
    [over_run(load(a), n), over_run(load(b), n), over_run(load(c), n), over_run(load(d), n)]
}

/// Sums the stencil of the cell in lane `t`.
#[inline(always)]
unsafe fn cell_sum(field: &[[f32; 4]], bounds: &SampleBounds, departures: &CellDepartures, t: usize) -> Sum {
    let weights =
        Weights { y: cell_nodes(&departures.weights[1], t), z: cell_nodes(&departures.weights[2], t) };
    stencil(field, departures.at[t] as usize, bounds, &weights)
}

#[inline(always)]
unsafe fn cell_nodes(weights: &[Line; 4], t: usize) -> Nodes {
    [number(weights[0].0[t]), number(weights[1].0[t]), number(weights[2].0[t]), number(weights[3].0[t])]
}

/// See [`super::scale_row`]. Four cells at a time: the compiler would split the loop into gathers.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
pub fn scale_row(decay: &[f32; 4], limit: f32, row: &mut [[[f32; 4]; 4]]) {
    for four in row {
        let values = four.as_flattened_mut().as_mut_ptr();
        // SAFETY: sixteen values exist; the caller has checked the instructions.
        unsafe {
            let decay = _mm512_broadcast_f32x4(_mm_loadu_ps(decay.as_ptr()));
            let scaled = _mm512_mul_ps(_mm512_loadu_ps(values), decay);
            let scaled = _mm512_min_ps(_mm512_max_ps(scaled, number(-limit)), number(limit));
            let visible = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(_mm512_abs_ps(scaled), number(NEGLIGIBLE));
            _mm512_storeu_ps(values, _mm512_maskz_mov_ps(visible, scaled));
        }
    }
}

/// See [`super::interleaved_cubic::interleave`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
pub fn interleave_row([u, v, w]: [&[f32]; 3], out: &mut [[f32; 4]]) {
    let (first, whole) = whole_lines(out);
    // The ends of the row, which do not fill a cache line.
    for i in (0..first).chain(whole..out.len()) {
        out[i] = [u[i], v[i], w[i], 0.0];
    }
    for (i, out) in (first..whole).step_by(LANES).zip(out[first..whole].chunks_exact_mut(LANES)) {
        // SAFETY: the caller has checked that the machine has the instructions; the chunk begins at a cache
        // line.
        unsafe {
            stream_cells(
                out.first_chunk_mut().expect("whole lines"),
                interleave_three([load_values(u, i), load_values(v, i), load_values(w, i)]),
            )
        };
    }
}
