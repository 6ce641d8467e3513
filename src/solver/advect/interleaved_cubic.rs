//! Limited cubic interpolation of four values, or of the three components of the velocity, in one stencil.
//!
//! u, v and w of one index lie half a cell apart, and so do their departure points. In the index coordinates
//! of each component, all three departure points mostly lie in the same cell. With AVX-512 the 4×4×4
//! interleaved values around it are read once, with separate weights for each component. If the departure
//! point of v or w lies in another cell than that of u, its stencil is read separately. So the result has the
//! bits of [`super::component`]. Other instruction sets interpolate one component after the other
//! ([`face_runs`]).

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::staggered::Staggered;
use super::{Curve, Row, cell_pairs, face_runs};
use crate::grid::{Faces, GHOST, Layout};
#[cfg(target_arch = "x86_64")]
use crate::simd::Level;
use crate::simd::{Simd, each_level, level};
use crate::solver::sides::SampleBounds;
use crate::solver::storage::row_passes;

/// Interleaves the components of the velocity, ghosts included.
pub fn interleave(layout: Layout, [u, v, w]: &Faces, out: &mut [[f32; 4]]) {
    let g = GHOST as isize;
    let [ny, nz] = [layout.dims.ny as isize + g, layout.dims.nz as isize + g];
    row_passes::rows(layout, out, [[-g, ny], [-g, nz]], |j, k, row| {
        let (at, n) = (layout.at(-g, j, k), row.len());
        interleave_row([&u[at..][..n], &v[at..][..n], &w[at..][..n]], row);
    });
}

/// Interleaves a row, or a part of one. [`fence`](crate::simd::fence) before it is read: it may use streaming stores.
#[allow(unsafe_code)]
pub fn interleave_row(faces: [&[f32]; 3], out: &mut [[f32; 4]]) {
    match level() {
        // SAFETY: `level` has found these instructions on this machine.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512::interleave_row(faces, out) },
        _ => interleave_cells(faces, out),
    }
}

each_level! { fn interleave_cells(faces: [&[f32]; 3], out: &mut [[f32; 4]]) = interleave_cells_kernel; }

#[inline(always)]
fn interleave_cells_kernel<S: Simd>(_: S, faces: [&[f32]; 3], out: &mut [[f32; 4]]) {
    let n = out.len();
    let [u, v, w] = faces.map(|f| &f[..n]);
    for i in 0..n {
        out[i] = [u[i], v[i], w[i], 0.0];
    }
}

/// Advects one row of faces of each component. The row begins at position `at`; `jk` is its index in the
/// grid.
#[allow(unsafe_code)]
pub fn velocity(
    field: &Staggered,
    at: usize,
    jk: [isize; 2],
    bounds: &[SampleBounds; 3],
    out: [&mut [f32]; 3],
) {
    match level() {
        // SAFETY: `level` has found these instructions on this machine.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512::velocity_row(field, at, jk, bounds, out) },
        _ => face_runs::velocity_row(field, at, jk, bounds, out),
    }
}

/// Returns true if [`velocity`] reads the interleaved components.
pub fn reads_interleaved() -> bool {
    #[cfg(target_arch = "x86_64")]
    // Estimates of memory call this even if `UPDRAFT_SIMD` is invalid; `level` would panic then.
    return crate::simd::check().is_ok() && level() == Level::Avx512;
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Advects one row of four interleaved values.
#[allow(unsafe_code)]
pub fn cubic_row(curve: Curve, row: Row, bounds: &SampleBounds, field: &[[f32; 4]], out: &mut [[f32; 4]]) {
    match level() {
        // SAFETY: `level` has found these instructions on this machine.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512::scalar_row(curve, row, bounds, field, out) },
        _ => cell_pairs::scalar_row(curve, row, bounds, field, out),
    }
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::simd::Aligned;
    use crate::solver::BoundaryCondition;
    use crate::solver::advect::Interpolation;
    use crate::solver::advect::trace::{RUN, mean_of_cells};
    use crate::solver::sides::{GhostRules, SampleBounds};

    const CURVES: [Curve; 2] = [Curve::CATMULL_ROM, Curve::LAGRANGE];

    /// As [`velocity`], face by face.
    fn one_by_one(
        field: &Staggered,
        at: usize,
        jk: [isize; 2],
        bounds: &[SampleBounds; 3],
        out: [&mut [f32]; 3],
    ) {
        let strides = [1, bounds[0].row, bounds[0].plane];
        for (component, out) in out.into_iter().enumerate() {
            for (run, out) in out.chunks_mut(RUN).enumerate() {
                let from = run * RUN;
                let back = mean_of_cells(field.back, at + from, strides[component], out.len());
                let origin = [from as f32, jk[0] as f32, jk[1] as f32];
                let row = Row { origin, back: &back[..out.len()] };
                let (kind, faces) = (Interpolation::Cubic(field.curve), &field.faces[component]);
                crate::solver::advect::component(kind, row, &bounds[component], faces, out);
            }
        }
    }

    /// Pseudo-random values in −1..1, the same each time.
    fn noise(at: usize) -> f32 {
        let x = (at as u32).wrapping_mul(2_654_435_761);
        ((x ^ x >> 15).wrapping_mul(2_246_822_519) >> 8) as f32 / 8_388_608.0 - 1.0
    }

    #[test]
    fn one_stencil_for_three_components_has_the_bits_of_three() {
        let layout = Layout::new(Dims::new([70, 5, 6]).unwrap());
        let sides = [
            [BoundaryCondition::Periodic; 2],
            [BoundaryCondition::Closed; 2],
            [BoundaryCondition::Open, BoundaryCondition::Closed],
        ];
        let walls = GhostRules::new(layout, sides, Default::default());
        let component = |c: usize| (0..layout.size()).map(|at| noise(3 * at + c)).collect::<Vec<_>>();
        let faces = [component(0), component(1), component(2)];
        let mut interleaved = vec![[0.0; 4]; layout.size()];
        interleave(layout, &faces, &mut interleaved);
        let bounds = [0, 1, 2].map(|c| walls.sample_bounds(Some(c)));
        // Departure points of neighbours: adjacent, in the same cell, apart, and far outside.
        let cases = [[1.5, 0.0], [1.5, 0.01], [0.0, 0.1], [0.0, 1.5], [0.0, 9.0]];
        for ([smooth, far], curve) in cases.into_iter().flat_map(|case| CURVES.map(|curve| (case, curve))) {
            let step = |at: usize| [0, 1, 2].map(|c| smooth + far * noise(3 * at + c + 7));
            let back: Vec<[f32; 4]> =
                (0..layout.size()).map(|at| [step(at)[0], step(at)[1], step(at)[2], 0.0]).collect();
            let field = Staggered { interleaved: &interleaved, faces: &faces, back: &back, curve };
            for [j, k] in [[0, 0], [3, 2], [5, 6]] {
                let mut rows = [[[0.0f32; 71]; 3]; 3];
                let at = layout.at(0, j, k);
                let [a, b, narrow] = &mut rows;
                face_runs::velocity_row(
                    &field,
                    at,
                    [j, k],
                    &bounds,
                    narrow.each_mut().map(|row| &mut row[..]),
                );
                velocity(&field, at, [j, k], &bounds, a.each_mut().map(|row| &mut row[..]));
                one_by_one(&field, at, [j, k], &bounds, b.each_mut().map(|row| &mut row[..]));
                let bits = rows.map(|rows| rows.map(|row| row.map(f32::to_bits)));
                assert!(bits[0] == bits[1] && bits[2] == bits[1], "{smooth} {far} {j} {k}");
            }
        }
    }

    #[test]
    fn four_scalars_in_wide_registers_have_the_bits_of_the_plain_code() {
        let layout = Layout::new(Dims::new([67, 4, 5]).unwrap());
        let walls = GhostRules::new(layout, [[BoundaryCondition::Closed; 2]; 3], Default::default());
        let field: Vec<[f32; 4]> =
            (0..layout.size()).map(|at| [0, 1, 2, 3].map(|c| noise(4 * at + c))).collect();
        // Far apart, and adjacent except for a few.
        let apart = |at: usize| [3.0 * noise(at), noise(at + 1), 2.0 * noise(at + 2), 0.0];
        let beside = |at: usize| [0.9 + 0.11 * noise(at), 0.3, -0.6, 0.0];
        for curve in CURVES {
            check_scalars(curve, &walls.sample_bounds(None), &field, &(0..67).map(apart).collect::<Vec<_>>());
            check_scalars(
                curve,
                &walls.sample_bounds(None),
                &field,
                &(0..67).map(beside).collect::<Vec<_>>(),
            );
        }
    }

    fn check_scalars(curve: Curve, bounds: &SampleBounds, field: &[[f32; 4]], back: &[[f32; 4]]) {
        let row = Row { origin: [0.0, 2.0, 3.0], back };
        let (mut wide, mut plain) = ([[0.0f32; 4]; 67], [[0.0f32; 4]; 67]);
        cubic_row(curve, row, bounds, field, &mut wide);
        crate::solver::advect::cubic_four(curve, row, bounds, field, &mut plain);
        let bits = |row: [[f32; 4]; 67]| row.map(|v| v.map(f32::to_bits));
        assert!(bits(wide) == bits(plain));
        let mut narrow = [[0.0f32; 4]; 67];
        cell_pairs::scalar_row(curve, row, bounds, field, &mut narrow);
        assert!(bits(narrow) == bits(plain));
    }

    #[test]
    fn interleaving_is_the_same_in_wide_registers() {
        let values: Vec<f32> = (0..300).map(noise).collect();
        let faces = [0, 1, 2].map(|c| &values[100 * c..][..75]);
        for from in 0..4 {
            let (mut wide, mut plain) = (Aligned([[7.0f32; 4]; 80]), Aligned([[7.0f32; 4]; 80]));
            interleave_row(faces, &mut wide.0[from..][..75]);
            interleave_cells(faces, &mut plain.0[from..][..75]);
            assert_eq!(wide.0, plain.0);
        }
    }

    #[test]
    fn rows_are_scaled_alike_in_wide_registers() {
        let odd = [f32::NAN, f32::INFINITY, -f32::INFINITY, 1e-21, -1e-21, 1e-20, -0.0, 7e4];
        let row: Vec<[f32; 4]> =
            (0..39).map(|at| [noise(at), odd[at % 8], 1e5 * noise(at + 5), -odd[at % 8]]).collect();
        let (mut wide, mut plain) = (row.clone(), row);
        let decay = [0.9, 1.0, 0.5, 1.1];
        crate::solver::advect::scale_row(&decay, 6e4, &mut wide);
        crate::solver::advect::scale_cells(&decay, 6e4, &mut plain);
        assert_eq!(wide.as_flattened().len(), 4 * 39);
        for (wide, plain) in wide.as_flattened().iter().zip(plain.as_flattened()) {
            assert_eq!(wide.to_bits(), plain.to_bits());
        }
    }
}
