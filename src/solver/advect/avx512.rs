//! The windows of [`super::together`] in AVX-512: 4 cells × 4 values of a line in one register.
//!
//! Sixteen places at a time. First their feet and weights, axis by axis with the places side by side in the lanes; then their
//! windows, one after the other, whose weights come back from memory spread over the lanes of a line: lane 4x + c is
//! component c of the line's value x. The loads that spread them cost nothing beside the arithmetic, where shuffles would.
//!
//! Two functions enable the instructions, and all else is inlined into them: a call would pass its registers through
//! memory. Hence no closures, and functions that are unsafe to call where the instructions are not enabled.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use std::arch::x86_64::*;

use super::Row;
use super::together::Staggered;
use crate::solver::avx512::{apart, load_cells, load_four, locate, number, places};
use crate::solver::sides::Reach;
use crate::solver::simd::LANES;

/// One register in memory.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([f32; LANES]);

const EMPTY: Line = Line([0.0; LANES]);

/// The four weights of a place along one axis, a register for each node.
type Nodes = [__m512; 4];

#[inline(always)]
unsafe fn store(line: &mut Line, value: __m512) {
    _mm512_store_ps(line.0.as_mut_ptr(), value);
}

#[inline(always)]
unsafe fn load(line: &Line) -> __m512 {
    _mm512_load_ps(line.0.as_ptr())
}

/// Four values of a line, over all four cells.
#[inline(always)]
unsafe fn spread(line: &Line, from: usize) -> __m512 {
    let four: &[f32; 4] = line.0[from..].first_chunk().expect("four values");
    _mm512_broadcast_f32x4(_mm_loadu_ps(four.as_ptr()))
}

/// Registers of pairs: the low and the high halves of what each four lanes of `a` and `b` hold.
#[inline(always)]
unsafe fn pairs(a: __m512, b: __m512) -> [__m512; 2] {
    let (a, b) = (_mm512_castps_pd(a), _mm512_castps_pd(b));
    [_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b))]
}

/// Transposes each 4 × 4 square of a, b, c and d: register n of the result holds lane 4i + n of each at 4i.
#[inline(always)]
unsafe fn squares([a, b, c, d]: Nodes) -> Nodes {
    let [ac, bd] = [_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)];
    let [ec, fd] = [_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d)];
    let ([zero, one], [two, three]) = (pairs(ac, ec), pairs(bd, fd));
    [zero, one, two, three]
}

/// Catmull–Rom weights, as in [`super::cubic::catmull_rom`].
#[inline(always)]
unsafe fn catmull_rom(t: __m512) -> Nodes {
    let half = _mm512_mul_ps(number(0.5), t);
    let square = _mm512_mul_ps(half, t);
    [
        _mm512_mul_ps(half, _mm512_fmadd_ps(_mm512_sub_ps(number(2.0), t), t, number(-1.0))),
        _mm512_fmadd_ps(square, _mm512_fmadd_ps(number(3.0), t, number(-5.0)), number(1.0)),
        _mm512_mul_ps(half, _mm512_fmadd_ps(_mm512_fmadd_ps(number(-3.0), t, number(4.0)), t, number(1.0))),
        _mm512_mul_ps(square, _mm512_sub_ps(t, number(1.0))),
    ]
}

/// Weights of the lines of a window, along y and z.
struct Weights {
    y: Nodes,
    z: Nodes,
}

/// What the lines of a window come to: their sum, and the least and greatest of those around the foot.
#[derive(Clone, Copy)]
struct Sum {
    value: __m512,
    low: __m512,
    high: __m512,
}

/// Four lines weighted along y, the first at `line` and each `next` values after the one before; and the two inner ones.
///
/// All sixteen values of each must be there.
#[inline(always)]
unsafe fn slice(line: *const f32, next: usize, y: &Nodes) -> (__m512, __m512, __m512) {
    let (a, b) = (_mm512_loadu_ps(line), _mm512_loadu_ps(line.add(next)));
    let (c, d) = (_mm512_loadu_ps(line.add(2 * next)), _mm512_loadu_ps(line.add(3 * next)));
    let sum = _mm512_fmadd_ps(y[1], b, _mm512_mul_ps(y[0], a));
    (_mm512_fmadd_ps(y[3], d, _mm512_fmadd_ps(y[2], c, sum)), b, c)
}

/// The window whose second value is at `at`.
#[inline(always)]
unsafe fn window(field: &[[f32; 4]], at: usize, reach: &Reach, weights: &Weights) -> Sum {
    let (row, plane) = (reach.row, reach.plane);
    let before = 1 + row + plane;
    assert!(at >= before && at + 2 * before < field.len(), "a window outside the field");
    // By this check all sixteen lines of four times four values lie in the field.
    let first = field[at - before..].as_ptr().cast::<f32>();
    let next = 4 * row;
    let slices = [first, first.add(4 * plane), first.add(8 * plane), first.add(12 * plane)];
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

/// `a`, but `b` in the lanes of one component.
#[inline(always)]
unsafe fn instead(lanes: __mmask16, a: Sum, b: Sum) -> Sum {
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

/// The limited values of four windows, side by side; `x` are the weights along x of each node.
#[inline(always)]
unsafe fn limited([a, b, c, d]: [Sum; 4], x: Nodes) -> __m512 {
    let nodes = quarters([a.value, b.value, c.value, d.value]);
    let even = _mm512_add_ps(_mm512_mul_ps(x[0], nodes[0]), _mm512_mul_ps(x[2], nodes[2]));
    let odd = _mm512_add_ps(_mm512_mul_ps(x[1], nodes[1]), _mm512_mul_ps(x[3], nodes[3]));
    let [left, right] = inner([a.low, b.low, c.low, d.low]);
    let low = _mm512_min_ps(right, left);
    let [left, right] = inner([a.high, b.high, c.high, d.high]);
    let high = _mm512_max_ps(right, left);
    _mm512_min_ps(_mm512_max_ps(_mm512_add_ps(even, odd), low), high)
}

/// Transposes the quarters of four registers: quarter i of each, side by side in register i.
#[inline(always)]
unsafe fn quarters([a, b, c, d]: Nodes) -> Nodes {
    let ab = [_mm512_shuffle_f32x4::<0b10_00_10_00>(a, b), _mm512_shuffle_f32x4::<0b11_01_11_01>(a, b)];
    let cd = [_mm512_shuffle_f32x4::<0b10_00_10_00>(c, d), _mm512_shuffle_f32x4::<0b11_01_11_01>(c, d)];
    [
        _mm512_shuffle_f32x4::<0b10_00_10_00>(ab[0], cd[0]),
        _mm512_shuffle_f32x4::<0b10_00_10_00>(ab[1], cd[1]),
        _mm512_shuffle_f32x4::<0b11_01_11_01>(ab[0], cd[0]),
        _mm512_shuffle_f32x4::<0b11_01_11_01>(ab[1], cd[1]),
    ]
}

/// Feet of the faces of sixteen cells, and weights: `of[axis][node][n]` holds u, v, w of cell 4i + n at 4i.
struct StaggeredFeet {
    at: [[u32; LANES]; 3],
    of: [[[Line; 4]; 4]; 3],
}

/// See [`super::together::velocity`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
pub fn velocity_row(
    field: &Staggered,
    at: usize,
    jk: [isize; 2],
    reaches: &[Reach; 3],
    [u, v, w]: [&mut [f32]; 3],
) {
    let around = reaches.iter().any(|reach| reach.period != [0.0; 3]);
    let mut feet = StaggeredFeet { at: [[0; LANES]; 3], of: [[[EMPTY; 4]; 4]; 3] };
    for from in (0..u.len()).step_by(LANES) {
        let (n, origin) = (LANES.min(u.len() - from), [from as f32, jk[0] as f32, jk[1] as f32]);
        let faces = [&mut u[from..][..n], &mut v[from..][..n], &mut w[from..][..n]];
        // SAFETY: the caller knows that the instructions are there.
        unsafe {
            if around {
                find_feet::<true>(field.back, at + from, origin, reaches, &mut feet);
            } else {
                find_feet::<false>(field.back, at + from, origin, reaches, &mut feet);
            }
            staggered_block(field.woven, &reaches[0], &feet, faces);
        }
    }
}

/// The faces of up to sixteen cells, whose feet are known.
#[inline(always)]
unsafe fn staggered_block(
    woven: &[[f32; 4]],
    reach: &Reach,
    feet: &StaggeredFeet,
    [u, v, w]: [&mut [f32]; 3],
) {
    if u.len() < LANES {
        for t in 0..u.len() {
            let (n, i) = (t % 4, t / 4);
            let face =
                limited([staggered_sum(woven, reach, feet, n, i); 4], staggered_nodes(&feet.of[0], n, i));
            (u[t], v[t], w[t]) = (lane::<0>(face), lane::<1>(face), lane::<2>(face));
        }
        return;
    }
    // Every fourth cell in turn.
    let mut fours = [_mm512_setzero_ps(); 4];
    for (n, four) in fours.iter_mut().enumerate() {
        let sums = [
            staggered_sum(woven, reach, feet, n, 0),
            staggered_sum(woven, reach, feet, n, 1),
            staggered_sum(woven, reach, feet, n, 2),
            staggered_sum(woven, reach, feet, n, 3),
        ];
        let [a, b, c, d] = &feet.of[0];
        *four = limited(sums, [load(&a[n]), load(&b[n]), load(&c[n]), load(&d[n])]);
    }
    let [of_u, of_v, of_w, _] = squares(fours);
    _mm512_storeu_ps(u[..LANES].as_mut_ptr(), of_u);
    _mm512_storeu_ps(v[..LANES].as_mut_ptr(), of_v);
    _mm512_storeu_ps(w[..LANES].as_mut_ptr(), of_w);
}

#[inline(always)]
unsafe fn lane<const N: i32>(x: __m512) -> f32 {
    f32::from_bits(_mm_extract_ps::<N>(_mm512_castps512_ps128(x)) as u32)
}

/// The feet of the three faces of each of sixteen cells from position `at` on; `origin` are the coordinates of the first.
#[inline(always)]
unsafe fn find_feet<const AROUND: bool>(
    back: &[[f32; 4]],
    at: usize,
    origin: [f32; 3],
    reaches: &[Reach; 3],
    feet: &mut StaggeredFeet,
) {
    let start = places(origin);
    let here = &back[at..][..LANES];
    let strides = [1, reaches[0].row, reaches[0].plane];
    let mut fractions = [start; 3];
    for (component, reach) in reaches.iter().enumerate() {
        let behind = &back[at - strides[component]..][..LANES];
        let [x, y, z] = apart([
            _mm512_add_ps(load_four(behind, 0), load_four(here, 0)),
            _mm512_add_ps(load_four(behind, 4), load_four(here, 4)),
            _mm512_add_ps(load_four(behind, 8), load_four(here, 8)),
            _mm512_add_ps(load_four(behind, 12), load_four(here, 12)),
        ]);
        let half = number(0.5);
        let foot = [
            _mm512_fnmadd_ps(half, x, start[0]),
            _mm512_fnmadd_ps(half, y, start[1]),
            _mm512_fnmadd_ps(half, z, start[2]),
        ];
        let (below, fraction) = locate::<AROUND>(reach, foot);
        _mm512_storeu_si512(feet.at[component].as_mut_ptr().cast(), below);
        fractions[component] = fraction;
    }
    for (axis, nodes) in feet.of.iter_mut().enumerate() {
        let u = catmull_rom(fractions[0][axis]);
        let v = catmull_rom(fractions[1][axis]);
        let w = catmull_rom(fractions[2][axis]);
        for (node, cells) in nodes.iter_mut().enumerate() {
            let together = squares([u[node], v[node], w[node], w[node]]);
            for (line, values) in cells.iter_mut().zip(together) {
                store(line, values);
            }
        }
    }
}

#[inline(always)]
unsafe fn staggered_nodes(of: &[[Line; 4]; 4], n: usize, i: usize) -> Nodes {
    [spread(&of[0][n], 4 * i), spread(&of[1][n], 4 * i), spread(&of[2][n], 4 * i), spread(&of[3][n], 4 * i)]
}

/// The faces of cell 4i + n of a block.
#[inline(always)]
unsafe fn staggered_sum(woven: &[[f32; 4]], reach: &Reach, feet: &StaggeredFeet, n: usize, i: usize) -> Sum {
    let weights = Weights { y: staggered_nodes(&feet.of[1], n, i), z: staggered_nodes(&feet.of[2], n, i) };
    let [u, v, w] = [feet.at[0][4 * i + n], feet.at[1][4 * i + n], feet.at[2][4 * i + n]];
    let mut sum = window(woven, u as usize, reach, &weights);
    if v != u {
        sum = instead(0x2222, sum, window(woven, v as usize, reach, &weights));
    }
    if w != u {
        sum = instead(0x4444, sum, window(woven, w as usize, reach, &weights));
    }
    sum
}

/// Feet of sixteen cells, and weights: `of[axis][node]` holds that of each cell.
struct CellFeet {
    at: [u32; LANES],
    of: [[Line; 4]; 3],
}

/// See [`super::together::cubic_row`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
pub fn scalar_row(row: Row, reach: &Reach, field: &[[f32; 4]], out: &mut [[f32; 4]]) {
    let back = &row.back[..out.len()];
    let [x, y, z] = row.origin;
    let blocks = out.chunks_mut(LANES).zip(back.chunks(LANES)).enumerate();
    for (block, (out, back)) in blocks {
        let origin = [x + (block * LANES) as f32, y, z];
        match (out.first_chunk_mut(), back.first_chunk()) {
            // SAFETY: the caller knows that the instructions are there.
            (Some(out), Some(back)) => unsafe { scalar_block(origin, back, reach, field, out) },
            _ => {
                let (mut whole, mut filled) = ([[0.0; 4]; LANES], [[0.0; 4]; LANES]);
                filled[..back.len()].copy_from_slice(back);
                // SAFETY: as above.
                unsafe { scalar_block(origin, &filled, reach, field, &mut whole) };
                out.copy_from_slice(&whole[..out.len()]);
            }
        }
    }
}

#[inline(always)]
unsafe fn scalar_block(
    origin: [f32; 3],
    back: &[[f32; 4]; LANES],
    reach: &Reach,
    field: &[[f32; 4]],
    out: &mut [[f32; 4]; LANES],
) {
    let start = places(origin);
    let way = apart(load_cells(back));
    let x =
        [_mm512_sub_ps(start[0], way[0]), _mm512_sub_ps(start[1], way[1]), _mm512_sub_ps(start[2], way[2])];
    let (below, fraction) =
        if reach.period == [0.0; 3] { locate::<false>(reach, x) } else { locate::<true>(reach, x) };
    let mut feet = CellFeet { at: [0; LANES], of: [[EMPTY; 4]; 3] };
    _mm512_storeu_si512(feet.at.as_mut_ptr().cast(), below);
    let [x, y, z] = [catmull_rom(fraction[0]), catmull_rom(fraction[1]), catmull_rom(fraction[2])];
    for (lines, weights) in feet.of.iter_mut().zip([x, y, z]) {
        for (line, weights) in lines.iter_mut().zip(weights) {
            store(line, weights);
        }
    }
    for (four, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let first = 4 * four;
        let sums = [
            cell_sum(field, reach, &feet, first),
            cell_sum(field, reach, &feet, first + 1),
            cell_sum(field, reach, &feet, first + 2),
            cell_sum(field, reach, &feet, first + 3),
        ];
        let by_four = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
        let [a, b, c, d] = &feet.of[0];
        let x = [spread(a, first), spread(b, first), spread(c, first), spread(d, first)];
        let x = [
            _mm512_permutevar_ps(x[0], by_four),
            _mm512_permutevar_ps(x[1], by_four),
            _mm512_permutevar_ps(x[2], by_four),
            _mm512_permutevar_ps(x[3], by_four),
        ];
        let values = limited(sums, x);
        _mm512_storeu_ps(out.as_mut_ptr().cast(), values);
    }
}

/// The four values of cell `t` of a block.
#[inline(always)]
unsafe fn cell_sum(field: &[[f32; 4]], reach: &Reach, feet: &CellFeet, t: usize) -> Sum {
    let weights = Weights { y: cell_nodes(&feet.of[1], t), z: cell_nodes(&feet.of[2], t) };
    window(field, feet.at[t] as usize, reach, &weights)
}

#[inline(always)]
unsafe fn cell_nodes(of: &[Line; 4], t: usize) -> Nodes {
    [number(of[0].0[t]), number(of[1].0[t]), number(of[2].0[t]), number(of[3].0[t])]
}
