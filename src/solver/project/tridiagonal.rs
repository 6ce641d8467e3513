//! Tridiagonal systems along z, many columns at once.
//!
//! Each column solves −φ_(k−1) + (λ + 2) φ_k − φ_(k+1) = d_k. The ends depend on the boundary: 1 less on the
//! diagonal at a wall (even), 1 more where p = 0 (odd), a corner entry where the axis is periodic.

use super::boundary::{AxisBoundary, PressureBoundary, is_periodic};
use crate::simd::{Simd, each_level, greatest};
use crate::solver::storage::row_passes::Shared;

/// Columns solved together: enough to hide the latency of the divisions.
pub const WIDTH: usize = 64;

type Wide = [f32; WIDTH];

/// Working memory of one thread.
pub struct Scratch {
    /// 1 / pivot at each k.
    pivots: Vec<Wide>,
    /// The right-hand side, then the solution.
    values: Vec<Wide>,
    /// Response to the corner entries of a periodic axis.
    corner: Vec<Wide>,
    /// The singular column, in double precision.
    null: Vec<f64>,
}

impl Scratch {
    /// Makes memory for columns of `nz` cells.
    pub fn new(nz: usize) -> Self {
        let wide = || vec![[0.0; WIDTH]; nz];
        Self { pivots: wide(), values: wide(), corner: wide(), null: vec![0.0; nz] }
    }
}

/// The columns of a stack of planes. Each thread takes different ones.
pub struct Columns<'a> {
    data: Shared<'a, f32>,
    plane: usize,
    nz: usize,
}

impl<'a> Columns<'a> {
    /// Makes the columns of `nz` planes, `plane` values apart.
    pub fn new(data: &'a mut [f32], plane: usize, nz: usize) -> Self {
        assert!(data.len() >= plane * nz, "{} values are not {nz} planes of {plane}", data.len());
        Self { data: Shared::new(data), plane, nz }
    }

    /// Solves the columns `at..at + lambda.len()` in place. With `null` the first one is singular: λ = 0, and
    /// no end fixes its constant. Its mean is subtracted from the right-hand side and its last value set to
    /// 0.
    ///
    /// # Safety
    /// No two threads may solve the same column at once.
    #[allow(unsafe_code)]
    pub unsafe fn solve(
        &self,
        at: usize,
        lambda: &[f32],
        ends: AxisBoundary,
        null: bool,
        scratch: &mut Scratch,
    ) {
        assert!(at + lambda.len() <= self.plane && lambda.len() <= WIDTH, "columns outside the plane");
        let count = lambda.len();
        for (k, values) in scratch.values.iter_mut().enumerate().take(self.nz) {
            // SAFETY: the caller keeps other threads from these columns; this part ends with the copy.
            copy_wide(unsafe { self.part(k, at, count) }, &mut values[..count]);
        }
        if null {
            for (sum, values) in scratch.null.iter_mut().zip(&scratch.values) {
                *sum = f64::from(values[0]);
            }
        }
        let mut wide = [1.0; WIDTH];
        wide[..count].copy_from_slice(lambda);
        if is_periodic(ends) {
            cyclic(&wide, scratch);
        } else {
            let [low, high] = ends.map(|end| if end == PressureBoundary::Dirichlet { 1.0 } else { -1.0 });
            thomas(&wide, &[low; WIDTH], &[high; WIDTH], &mut scratch.pivots, &mut scratch.values);
        }
        if null {
            free_level(&mut scratch.null, is_periodic(ends));
            for (values, phi) in scratch.values.iter_mut().zip(&scratch.null) {
                values[0] = *phi as f32;
            }
        }
        for (k, values) in scratch.values.iter().enumerate().take(self.nz) {
            // SAFETY: as above.
            copy_wide(&values[..count], unsafe { self.part(k, at, count) });
        }
    }

    /// Returns the values of plane `k` in `count` columns from `at` on.
    ///
    /// # Safety
    /// No two parts that are alive at once may overlap, on this thread or another.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    unsafe fn part(&self, k: usize, at: usize, count: usize) -> &mut [f32] {
        assert!(k < self.nz && at + count <= self.plane, "columns outside the stack");
        // SAFETY: by the contract of this function no other part overlaps: planes and columns are apart.
        unsafe { self.data.part(k * self.plane + at, count) }
    }
}

each_level! { fn copy_wide(from: &[f32], to: &mut [f32]) = copy_wide_kernel; }

/// Copies a run whose length is mostly known at compile time: several times faster than for any length.
#[inline(always)]
fn copy_wide_kernel<S: Simd>(_: S, from: &[f32], to: &mut [f32]) {
    match (from.first_chunk::<WIDTH>(), to.first_chunk_mut::<WIDTH>()) {
        (Some(from), Some(to)) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}

each_level! { fn thomas(lambda: &Wide, low: &Wide, high: &Wide, pivots: &mut [Wide], values: &mut [Wide]) = thomas_kernel; }

/// Thomas' algorithm: elimination upwards, substitution downwards. `low` and `high` are added to the end
/// diagonals.
#[inline(always)]
fn thomas_kernel<S: Simd>(
    _: S,
    lambda: &Wide,
    low: &Wide,
    high: &Wide,
    pivots: &mut [Wide],
    values: &mut [Wide],
) {
    let nz = values.len();
    let pivots = &mut pivots[..nz];
    let (mut pivot, mut value) = ([0.0; WIDTH], [0.0; WIDTH]);
    for k in 0..nz {
        for l in 0..WIDTH {
            let end = if k == 0 { low[l] } else { 0.0 } + if k + 1 == nz { high[l] } else { 0.0 };
            // A singular column would divide by zero at its last pivot. Its values are replaced later.
            let diagonal = greatest(lambda[l] + (2.0 + end) - pivot[l], 1e-12);
            pivot[l] = 1.0 / diagonal;
            value[l] = (values[k][l] + value[l]) * pivot[l];
        }
        pivots[k] = pivot;
        values[k] = value;
    }
    for k in (0..nz - 1).rev() {
        for l in 0..WIDTH {
            value[l] = values[k][l] + pivots[k][l] * value[l];
        }
        values[k] = value;
    }
}

/// Solves a periodic axis by the Sherman–Morrison formula (Press et al., "Numerical Recipes", §2.7.2).
fn cyclic(lambda: &Wide, scratch: &mut Scratch) {
    let nz = scratch.values.len();
    if nz == 1 {
        // The cell is its own neighbour on both sides.
        for l in 0..WIDTH {
            scratch.values[0][l] /= lambda[l].max(1e-12);
        }
        return;
    }
    // The corners −1 are removed with γ = −b: the ends become b + b and b + 1/b.
    let b = lambda.map(|x| x + 2.0);
    scratch.corner.fill([0.0; WIDTH]);
    for l in 0..WIDTH {
        scratch.corner[0][l] = -b[l];
        scratch.corner[nz - 1][l] = -1.0;
    }
    let per_b = b.map(|b| 1.0 / b);
    thomas(lambda, &b, &per_b, &mut scratch.pivots, &mut scratch.values);
    thomas(lambda, &b, &per_b, &mut scratch.pivots, &mut scratch.corner);
    for l in 0..WIDTH {
        let dot = |x: &[Wide]| x[0][l] + x[nz - 1][l] / b[l];
        let factor = dot(&scratch.values) / (1.0 + dot(&scratch.corner));
        for k in 0..nz {
            scratch.values[k][l] -= factor * scratch.corner[k][l];
        }
    }
}

/// Solves the singular column: makes its right-hand side compatible and sets its last value to 0.
fn free_level(values: &mut [f64], periodic: bool) {
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    // The flux through the face above k is the sum of the sources below it. On a periodic axis a constant
    // flux is added, which brings φ back to its first value.
    let mut gathered = 0.0;
    let mut fluxes = 0.0;
    for value in values.iter_mut() {
        gathered -= *value - mean;
        *value = gathered;
        fluxes += gathered;
    }
    let through = if periodic { fluxes / n as f64 } else { 0.0 };
    // Here value_k is φ_(k+1) − φ_k − …; sum it downwards from φ_(n−1) = 0.
    let mut phi = 0.0;
    for k in (0..n).rev() {
        let step = if k + 1 < n { values[k] - through } else { 0.0 };
        phi -= step;
        values[k] = phi;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::project::boundary::PressureBoundary::{Dirichlet, Neumann, Periodic};
    use crate::solver::project::boundary::has_null_space;

    /// Applies the matrix and compares with the right-hand side.
    fn check(ends: AxisBoundary, nz: usize, lambda: f32, null: bool) {
        let plane = 100;
        let width = 37;
        let mut data: Vec<f32> = (0..plane * nz).map(|i| ((i * 31) % 23) as f32 / 11.0 - 1.0).collect();
        if null {
            for l in 0..1 {
                let mean = (0..nz).map(|k| data[k * plane + l]).sum::<f32>() / nz as f32;
                (0..nz).for_each(|k| data[k * plane + l] -= mean);
            }
        }
        let rhs = data.clone();
        let mut lambdas = [lambda.max(0.01); WIDTH];
        lambdas[0] = lambda;
        let mut scratch = Scratch::new(nz);
        // SAFETY: there is one thread.
        #[allow(unsafe_code)]
        unsafe {
            Columns::new(&mut data, plane, nz).solve(0, &lambdas[..width], ends, null, &mut scratch);
        }
        for l in 0..width {
            for k in 0..nz {
                let here = data[k * plane + l];
                let outside = |low: bool| match ends[usize::from(!low)] {
                    Periodic if low => data[(nz - 1) * plane + l],
                    Periodic => data[l],
                    Dirichlet => -here,
                    Neumann => here,
                };
                let lo = if k == 0 { outside(true) } else { data[(k - 1) * plane + l] };
                let hi = if k + 1 == nz { outside(false) } else { data[(k + 1) * plane + l] };
                let got = (lambdas[l] + 2.0) * here - lo - hi;
                let error = (got - rhs[k * plane + l]).abs();
                assert!(error < 2e-4, "{ends:?} nz {nz} λ {lambda} column {l} k {k}: off by {error}");
            }
        }
        assert_eq!(data[width..plane], rhs[width..plane], "columns beyond the width were touched");
    }

    #[test]
    fn solves_every_kind_of_column() {
        for ends in [[Neumann; 2], [Dirichlet; 2], [Neumann, Dirichlet], [Dirichlet, Neumann], [Periodic; 2]]
        {
            for nz in [1, 2, 3, 7, 16, 61] {
                check(ends, nz, 0.3, false);
                check(ends, nz, 4.0, false);
                if has_null_space(ends) {
                    check(ends, nz, 0.0, true);
                }
            }
        }
    }
}
