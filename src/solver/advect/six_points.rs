//! Lagrange interpolation through six points along each axis, for the velocity beside finer smoke.
//!
//! A cubic through four points lets swirls of a few cells fade: half a cell away, a wave of five cells keeps 0.95 of its amplitude, here
//! 0.985. Everett's formula (Hildebrand 1974, §4.7) for a fraction t, with s = 1 − t, continues Lagrange's cubic by fourth differences:
//!
//! ```text
//! f(t) = cubic + E(s) δ⁴f₀ + E(t) δ⁴f₁        E(t) = t (t² − 1)(t² − 4) / 120
//! ```
//!
//! Along each axis these are taken from the linear interpolation across the other two, so that a stencil has 64 + 24 values and not 6³.

use fearless_simd::prelude::*;
use fearless_simd::u32x8;

use super::stencil_lines::StencilLines;
use crate::grid::GHOST;
use crate::simd::Simd;
use crate::simd::vectors::f32x8;
use crate::solver::sides::SampleBounds;

/// Lanes of departure points of component `c` whose six points along each axis lie inside the box. `indices` are those of the values
/// below the points, counted from the first ghost.
#[inline(always)]
pub fn inside<S: Simd>(
    s: S,
    bounds: &SampleBounds,
    c: usize,
    indices: [u32x8<S>; 3],
) -> <f32x8<S> as SimdBase<S>>::Mask {
    let mut all = s.splat_f32x8(0.0).simd_eq(0.0);
    for axis in 0..3 {
        // There is one more face than cells along its own axis.
        let values = bounds.last[axis] as u32 + 1 + u32::from(axis == c);
        let index = indices[axis];
        let least = GHOST as u32 + 2;
        all =
            all & index.simd_ge(least) & index.simd_lt((GHOST as u32 + values).saturating_sub(3).max(least));
    }
    all
}

/// Returns, for as many neighbours as there are lanes, the terms with fourth differences. The value below the departure point of the
/// first is at position `at`; `fractions` are those above.
///
/// # Panics
/// Panics if a value of the stencils lies outside of the field.
#[inline(always)]
pub fn fourth_differences<S: Simd, V: SimdFloat<S, Element = f32>, const LINE: usize>(
    s: S,
    values: &[[f32; 1]],
    at: usize,
    bounds: &SampleBounds,
    fractions: [V; 3],
) -> V {
    let first = at - 2 * (1 + bounds.row + bounds.plane);
    let lines = StencilLines::<_, 6, LINE>::from(values, first, bounds).expect("six points inside the box");
    let one = V::splat(s, 1.0);
    let [x, y, z] = fractions.map(|t| [one - t, t]);
    let mut sum = V::splat(s, 0.0);
    let (along, across) = (six_weights(s, x), products(y, z));
    for i in 0..6 {
        sum = along[i].mul_add(four(s, lines, across, [[i, 2, 2], [i, 2, 3], [i, 3, 2], [i, 3, 3]]), sum);
    }
    let (along, across) = (six_weights(s, y), products(x, z));
    for j in 0..6 {
        sum = along[j].mul_add(four(s, lines, across, [[2, j, 2], [2, j, 3], [3, j, 2], [3, j, 3]]), sum);
    }
    let (along, across) = (six_weights(s, z), products(x, y));
    for k in 0..6 {
        sum = along[k].mul_add(four(s, lines, across, [[2, 2, k], [2, 3, k], [3, 2, k], [3, 3, k]]), sum);
    }
    sum
}

/// Sum of four weighted values of the stencils.
#[inline(always)]
fn four<S: Simd, V: SimdFloat<S, Element = f32>, const LINE: usize>(
    s: S,
    lines: StencilLines<[f32; 1], 6, LINE>,
    [a, b, c, d]: [V; 4],
    at: [[usize; 3]; 4],
) -> V {
    let near = b.mul_add(value::<S, V, LINE>(s, lines, at[1]), a * value::<S, V, LINE>(s, lines, at[0]));
    let far = d.mul_add(value::<S, V, LINE>(s, lines, at[3]), c * value::<S, V, LINE>(s, lines, at[2]));
    near + far
}

#[inline(always)]
fn value<S: Simd, V: SimdFloat<S, Element = f32>, const LINE: usize>(
    s: S,
    lines: StencilLines<[f32; 1], 6, LINE>,
    [i, j, k]: [usize; 3],
) -> V {
    V::from_slice(s, &lines.line(j, k).as_flattened()[i..][..V::LEN])
}

/// Products of the linear weights along two axes.
#[inline(always)]
fn products<S: Simd, V: SimdFloat<S, Element = f32>>(a: [V; 2], b: [V; 2]) -> [V; 4] {
    [a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]]
}

/// Weights of six values in E(s) δ⁴f₀ + E(t) δ⁴f₁. The differences have the coefficients 1, −4, 6, −4, 1.
#[inline(always)]
fn six_weights<S: Simd, V: SimdFloat<S, Element = f32>>(s: S, t: [V; 2]) -> [V; 6] {
    let [a, b] = [everett(t[0]), everett(t[1])];
    let (four, six) = (V::splat(s, -4.0), V::splat(s, 6.0));
    [a, four.mul_add(a, b), six.mul_add(a, four * b), six.mul_add(b, four * a), four.mul_add(b, a), b]
}

/// E(t).
#[inline(always)]
fn everett<S: Simd, V: SimdFloat<S, Element = f32>>(t: V) -> V {
    let square = t * t;
    t * (square - 1.0) * (square - 4.0) * (1.0 / 120.0)
}

#[cfg(test)]
mod tests {
    use crate::grid::{Dims, Layout};
    use crate::solver::BoundaryCondition;
    use crate::solver::advect::face_runs::{six_point_row, velocity_row};
    use crate::solver::advect::{Curve, Staggered};
    use crate::solver::sides::GhostRules;

    const CELLS: [usize; 3] = [29, 11, 12];
    /// The way back from all cells \[cells\]: departure points of neighbours are neighbours.
    const BACK: [f32; 3] = [0.37, -0.71, 0.5];

    /// Of the fifth degree along each axis, linear along the others, and larger upwards along all of them, so no value is limited.
    fn polynomial([x, y, z]: [f64; 3]) -> f64 {
        let [x, y, z] = [x / 29.0, y / 11.0, z / 12.0];
        x.powi(5) * (1.0 + y) * (1.0 + 0.5 * z)
            + y.powi(5) * (1.0 + 2.0 * x * z)
            + (z + z.powi(4)) * (2.0 + x + y)
    }

    /// Returns a row of each component, through six points and through four.
    fn rows(back: &[[f32; 4]], j: isize, k: isize) -> [[[f32; CELLS[0]]; 3]; 2] {
        let layout = Layout::new(Dims::new(CELLS).unwrap());
        let walls = GhostRules::new(layout, [[BoundaryCondition::Closed; 2]; 3], Default::default());
        let mut faces = [0, 1, 2].map(|_| vec![0.0; layout.size()]);
        for (k, j, i) in
            (-2..14).flat_map(|k| (-2..13).flat_map(move |j| (-2..31isize).map(move |i| (k, j, i))))
        {
            let value = polynomial([i, j, k].map(|n| n as f64)) as f32;
            faces.iter_mut().for_each(|face| face[layout.at(i, j, k)] = value);
        }
        let field = Staggered { interleaved: &[], faces: &faces, back, curve: Curve::LAGRANGE };
        let bounds = [0, 1, 2].map(|c| walls.sample_bounds(Some(c)));
        let mut out = [[[0.0; CELLS[0]]; 3]; 2];
        let [six, four] = &mut out;
        let at = layout.at(0, j, k);
        six_point_row(&field, at, [j, k], &bounds, six.each_mut().map(|row| &mut row[..]));
        velocity_row(&field, at, [j, k], &bounds, four.each_mut().map(|row| &mut row[..]));
        out
    }

    #[test]
    fn polynomials_of_the_fifth_degree_are_exact_inside_and_cubic_at_the_sides() {
        let size = Layout::new(Dims::new(CELLS).unwrap()).size();
        let [[six, four], [sixth, fourth], [side_of_six, side_of_four]] =
            [[5, 6], [4, 7], [8, 6]].map(|[j, k]| rows(&vec![[BACK[0], BACK[1], BACK[2], 0.0]; size], j, k));
        for (j, k, six, four) in [(5, 6, six, four), (4, 7, sixth, fourth)] {
            for c in 0..3 {
                for i in 0..CELLS[0] {
                    let base = i as f32 - BACK[0];
                    // The last of the six points is three above: face 29 of u, and cell 28 of v and w.
                    let last = if c == 0 { 29.0 } else { 28.0 };
                    if base.floor() < 2.0 || base.floor() + 3.0 > last {
                        assert_eq!(six[c][i].to_bits(), four[c][i].to_bits(), "{c} {i}");
                        continue;
                    }
                    let departure = [i as f64, f64::from(j), f64::from(k)];
                    let departure = [0, 1, 2].map(|a| departure[a] - f64::from(BACK[a]));
                    let exact = polynomial(departure);
                    let [new, old] = [six, four].map(|rows| (f64::from(rows[c][i]) - exact).abs());
                    assert!(new < 1e-6 * exact.max(1.0), "{c} {i}: {new}");
                    assert!(old > 20.0 * new.max(1e-7), "{c} {i}: {old} by four points, {new} by six");
                }
            }
        }
        // The last point of v is its last face; u and w have none there.
        assert_eq!([side_of_six[0], side_of_six[2]], [side_of_four[0], side_of_four[2]]);
        assert_ne!(side_of_six[1], side_of_four[1]);
    }

    #[test]
    fn a_face_does_not_depend_on_its_neighbours() {
        let layout = Layout::new(Dims::new(CELLS).unwrap());
        let mut back = vec![[BACK[0], BACK[1], BACK[2], 0.0]; layout.size()];
        let [even, _] = rows(&back, 5, 6);
        // A few faces of each run come from elsewhere.
        for i in (1..29isize).step_by(3) {
            back[layout.at(i, 5, 6)] = [-1.2, 0.6, -1.4, 0.0];
        }
        let [split, _] = rows(&back, 5, 6);
        // v takes the mean over cells of this row and of those before and after it.
        for i in [2, 3, 6, 12, 21, 23] {
            assert_eq!(even[1][i].to_bits(), split[1][i].to_bits(), "{i}");
        }
    }
}
