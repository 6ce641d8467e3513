//! Open sides in air without end.
//!
//! On an open side p = 0. This attracts sources near the side: it acts as a mirror of the opposite sign. The
//! sides of a box that follows its smoke are near its sources. So they get the value that the potential φ of
//! the projection would have there if the air around the box were endless:
//!
//! ```text
//! φ(x) = −1/4π Σ D(y) / |x − y|          D: the undivided divergence of a cell at y, lengths in cells
//! ```
//!
//! Air outside counts as free of divergence. The sum runs over bricks of 8³ cells, each with its monopole and
//! dipole, and over their mirror images behind walls and inflows. It is evaluated at every eighth cell of a
//! side and interpolated in between.
//!
//! The projection itself solves for φ = 0 on open sides. A value f on a side adds 2 f to the drop across the
//! half cell before it, so the velocity on the side is changed by this much beforehand. James ("The solution
//! of Poisson's equation for isolated source distributions", 1977) corrects the sides in the same way, by
//! surface charges.
//!
//! With several ranks, each sums the bricks of its slab and gets the moments of all bricks. Then it evaluates
//! φ on its part of the sides.

use rayon::prelude::*;

use crate::grid::{Faces, GHOST, Layout, next_axes};
use crate::simd::{Simd, each_level};
use crate::solver::storage::ranks::Ranks;
use crate::solver::{BoundaryCondition, Config, Projection};

/// Cells along an edge of a brick, and between points of a side.
const BRICK: usize = 8;
/// Bricks with less than this share of the greatest moment are left out.
const LEAST: f32 = 3e-5;
/// Length that softens the potential of a brick next to a point \[cells\].
const SOFT: f32 = 4.0;
/// Sources summed side by side.
const LANES: usize = 16;

/// Sources of [`LANES`] bricks: positions, monopoles and dipoles.
type Sources = [[f32; LANES]; 7];

/// The open sides of a box.
pub struct FreeSides {
    layout: Layout,
    ranks: Ranks,
    /// Whether the low and the high side of each axis mirrors, as walls and inflows do.
    walls: [[bool; 2]; 3],
    sides: Vec<Side>,
    /// Moments of each brick, about its middle.
    moments: Vec<[f32; 4]>,
    sources: Vec<Sources>,
}

/// An open side.
struct Side {
    axis: usize,
    end: usize,
    /// φ at every eighth cell along both other axes, and at the last ones.
    points: Vec<f32>,
    /// φ, and the pressure of the step before, at the middles of faces.
    values: Vec<[f32; 2]>,
}

impl FreeSides {
    /// The sides of the box of `config`; `None` if p = 0 on them. Every axis needs an open side, because two
    /// walls facing each other have mirror images without end.
    pub fn new(config: &Config, layout: Layout, ranks: &Ranks) -> Option<Box<Self>> {
        if !Self::are_in(config) {
            return None;
        }
        let is_open = config.sides.map(|pair| pair.map(|side| side == BoundaryCondition::Open));
        let n = layout.dims.array();
        let places = (0..3).flat_map(|axis| [(axis, 0), (axis, 1)]).filter(|&(axis, end)| is_open[axis][end]);
        let side = |(axis, end): (usize, usize)| {
            let [b, c] = next_axes(axis);
            let points = (points_along(n[b])) * points_along(n[c]);
            Side { axis, end, points: vec![0.0; points], values: vec![[0.0; 2]; n[b] * n[c]] }
        };
        let bricks = n.map(|n| n.div_ceil(BRICK)).iter().product();
        Some(Box::new(Self {
            layout,
            ranks: ranks.clone(),
            walls: is_open.map(|pair| pair.map(|open| !open)),
            sides: places.map(side).collect(),
            moments: vec![[0.0; 4]; bricks],
            sources: vec![],
        }))
    }

    /// Whether the box of `config` has such sides.
    pub fn are_in(config: &Config) -> bool {
        // Sweeps leave long waves of divergence. φ would count them anew at each step, and grow without end.
        let is_exact = !matches!(config.projection, Projection::GaussSeidel { .. });
        let applies = config.follow.on && config.follow.free && !config.frozen && is_exact;
        applies
            && config.sides.iter().all(|pair| pair.contains(&BoundaryCondition::Open))
            && !config.dims.array().contains(&1)
    }

    /// Changes the velocity on open sides so that the projection that follows takes φ there into account.
    /// `pressure` is that of the step before, if it is kept.
    pub fn apply_potential(&mut self, velocity: &mut Faces, pressure: Option<&[f32]>) {
        self.gather(velocity);
        let Self { layout, sides, sources, .. } = self;
        let (n, strides) = (layout.dims.array(), layout.strides());
        for side in sides {
            let [b, c] = next_axes(side.axis);
            let count = points_along(n[b]);
            let at_side = side.end as f32 * n[side.axis] as f32;
            let own = side.own_faces(*layout);
            let near = own.map(|[from, to]| from / BRICK..to.div_ceil(BRICK) + 1);
            side.points.par_iter_mut().enumerate().for_each(|(point, value)| {
                let [p, q] = [point % count, point / count];
                if near[0].contains(&p) && near[1].contains(&q) {
                    let mut at = [at_side; 3];
                    at[b] = point_coordinate(p, n[b]);
                    at[c] = point_coordinate(q, n[c]);
                    *value = potential(at, sources);
                }
            });
            let (low, inside) = side.positions(*layout);
            let field = &mut velocity[side.axis];
            for [p, q] in faces(own) {
                let value = &mut side.values[p + q * n[b]];
                let at = p * strides[b] + q * strides[c];
                value[0] = interpolate(&side.points, count, [(p, n[b]), (q, n[c])]);
                value[1] = pressure.map_or(0.0, |field| 0.5 * (field[low.0 + at] + field[inside + at]));
                field[low.1 + at] += [2.0, -2.0][side.end] * value[0];
            }
        }
    }

    /// Fills the ghosts of the pressure beyond open sides, after a projection that has set p ← `keep` · p +
    /// `add` · φ.
    pub fn fill_ghosts(&self, [keep, add]: [f32; 2], pressure: &mut [f32]) {
        let (n, strides) = (self.layout.dims.array(), self.layout.strides());
        for side in &self.sides {
            let [b, c] = next_axes(side.axis);
            let ((ghost, _), inside) = side.positions(self.layout);
            for [p, q] in faces(side.own_faces(self.layout)) {
                let [value, before] = side.values[p + q * n[b]];
                let at = p * strides[b] + q * strides[c];
                pressure[ghost + at] = 2.0 * (keep * before + add * value) - pressure[inside + at];
            }
        }
    }

    /// Computes the moments of the bricks and lists them with their images.
    fn gather(&mut self, [u, v, w]: &mut Faces) {
        let Self { layout, ranks, walls, moments, sources, .. } = self;
        let (layout, n) = (*layout, layout.dims.array());
        ranks.exchange(layout, [&mut *w], [0, 1]);
        let (u, v, w) = (&*u, &*v, &*w);
        let count = n.map(|n| n.div_ceil(BRICK));
        let range = |a: usize, brick: usize| brick * BRICK..((brick + 1) * BRICK).min(n[a]);
        let index =
            |brick: usize| [brick % count[0], brick / count[0] % count[1], brick / (count[0] * count[1])];
        let middle = |brick: usize| {
            let index = index(brick);
            [0, 1, 2].map(|a| {
                let range = range(a, index[a]);
                0.5 * (range.start + range.end) as f32
            })
        };
        let [low, high] = layout.cell_planes();
        let add = |brick: usize, sum: &mut [f32; 4]| {
            let (index, middle) = (index(brick), middle(brick));
            let planes = range(2, index[2]);
            for k in planes.start.max(low)..planes.end.min(high) {
                for j in range(1, index[1]) {
                    let (xs, at) = (range(0, index[0]), layout.start(j, k));
                    for i in xs {
                        let at = at + i;
                        let flux =
                            u[at + 1] - u[at] + v[at + layout.row] - v[at] + w[at + layout.plane] - w[at];
                        let from = [i, j, k];
                        sum[3] += flux;
                        (0..3).for_each(|a| sum[a] += flux * (from[a] as f32 + 0.5 - middle[a]));
                    }
                }
            }
        };
        moments.fill([0.0; 4]);
        let in_layer = count[0] * count[1];
        ranks.add_layers(moments, [n[2], BRICK], |layers, moments| {
            let first = layers.start * in_layer;
            moments.par_iter_mut().enumerate().for_each(|(brick, moment)| {
                let mut sum = *moment;
                add(first + brick, &mut sum);
                *moment = sum;
            });
        });
        let size = |m: &[f32; 4]| m[3].abs() + (m[0].abs() + m[1].abs() + m[2].abs()) / BRICK as f32;
        let least = LEAST * moments.iter().map(size).fold(0.0, f32::max);
        sources.clear();
        let mut filled = LANES;
        for (brick, moment) in moments.iter().enumerate().filter(|(_, moment)| size(moment) > least) {
            let middle = middle(brick);
            for image in 0..8 {
                let is_mirrored = |a: usize| image >> a & 1 == 1;
                if (0..3).any(|a| is_mirrored(a) && walls[a] == [false; 2]) {
                    continue;
                }
                if filled == LANES {
                    sources.push([[0.0; LANES]; 7]);
                    filled = 0;
                }
                let last = sources.last_mut().expect("one was just added");
                for a in 0..3 {
                    let wall = if walls[a][0] { 0.0 } else { n[a] as f32 };
                    let (at, dipole) = match is_mirrored(a) {
                        true => (2.0 * wall - middle[a], -moment[a]),
                        false => (middle[a], moment[a]),
                    };
                    (last[a][filled], last[3 + a][filled]) = (at, dipole);
                }
                last[6][filled] = moment[3];
                filled += 1;
            }
        }
    }
}

impl Side {
    /// The faces of the side that this rank computes, as ranges along the two other axes.
    fn own_faces(&self, layout: Layout) -> [[usize; 2]; 2] {
        let (n, [low, high]) = (layout.dims.array(), layout.cell_planes());
        if self.axis == 2 && [low != 0, high != n[2]][self.end] {
            return [[0; 2]; 2];
        }
        next_axes(self.axis).map(|a| if a == 2 { [low, high] } else { [0, n[a]] })
    }

    /// Positions of the first ghost, of the first face on the side and of the first cell inside.
    fn positions(&self, layout: Layout) -> ((usize, usize), usize) {
        let (n, strides) = (layout.dims.array()[self.axis], layout.strides());
        let first = layout.start(0, 0) - GHOST * strides[self.axis];
        let layer = |index: usize| first + index * strides[self.axis];
        match self.end {
            0 => ((layer(GHOST - 1), layer(GHOST)), layer(GHOST)),
            _ => ((layer(GHOST + n), layer(GHOST + n)), layer(GHOST + n - 1)),
        }
    }
}

/// The faces in a part of a side, the first axis fastest.
fn faces([ps, qs]: [[usize; 2]; 2]) -> impl Iterator<Item = [usize; 2]> {
    (qs[0]..qs[1]).flat_map(move |q| (ps[0]..ps[1]).map(move |p| [p, q]))
}

/// Points along an edge of `n` cells.
fn points_along(n: usize) -> usize {
    n.div_ceil(BRICK) + 1
}

/// Coordinate of a point \[cells\].
fn point_coordinate(point: usize, n: usize) -> f32 {
    (point * BRICK).min(n) as f32
}

/// Interpolates between the points around the middle of a face. Each index comes with the number of cells
/// along its axis.
fn interpolate(points: &[f32], count: usize, [p, q]: [(usize, usize); 2]) -> f32 {
    let near = |(index, n): (usize, usize)| {
        let low = index / BRICK;
        let (a, b) = (point_coordinate(low, n), point_coordinate(low + 1, n));
        (low, (index as f32 + 0.5 - a) / (b - a))
    };
    let ((i, x), (j, y)) = (near(p), near(q));
    let row = |j: usize| points[i + j * count] + x * (points[i + 1 + j * count] - points[i + j * count]);
    row(j) + y * (row(j + 1) - row(j))
}

/// φ at a point \[cells\].
fn potential(at: [f32; 3], sources: &[Sources]) -> f32 {
    let mut sum = [0.0];
    add_up(&at, sources, &mut sum);
    -sum[0] / (4.0 * std::f32::consts::PI)
}

each_level! { fn add_up(at: &[f32; 3], sources: &[Sources], out: &mut [f32; 1]) = add_up_kernel; }

#[inline(always)]
fn add_up_kernel<S: Simd>(_: S, at: &[f32; 3], sources: &[Sources], out: &mut [f32; 1]) {
    let mut sums = [0.0f32; LANES];
    for [x, y, z, dx, dy, dz, q] in sources {
        for l in 0..LANES {
            let [rx, ry, rz] = [at[0] - x[l], at[1] - y[l], at[2] - z[l]];
            let squared = rx * rx + ry * ry + rz * rz + SOFT * SOFT;
            let inverse = 1.0 / squared.sqrt();
            let along = dx[l] * rx + dy[l] * ry + dz[l] * rz;
            sums[l] += inverse * (q[l] + along * inverse * inverse);
        }
    }
    out[0] = sums.iter().sum();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::solver::{Params, Solver};

    /// The velocity that a push of some air in the middle leaves after its projection, at a place of the scene.
    fn speed(cells: usize, free: bool, floor: bool) -> Vec<f32> {
        let mut config = Config::new(Dims::new([cells; 3]).unwrap(), 1.0);
        config.sides = [[BoundaryCondition::Open; 2]; 3];
        if floor {
            config.sides[1][0] = BoundaryCondition::Closed;
        }
        let low = -(cells as i32) / 2;
        config.origin = [low, if floor { 0 } else { low }, low];
        (config.follow.on, config.follow.free, config.threads) = (true, free, 2);
        let mut solver = Solver::new(config, Params::default(), vec![]).unwrap();
        let middle = if floor { 10.0 } else { 0.0 };
        let ball = |[x, y, z]: [f32; 3]| x * x + (y - middle) * (y - middle) + z * z < 36.0;
        solver.fill(|component, p| if component == 1 && ball(p) { 1.0 } else { 0.0 }, |_| [0.0; 4]);
        let at = |x: isize, y: isize| {
            let [i, j, k] = [x - low as isize, y - solver.config().origin[1] as isize, -(low as isize)];
            solver.velocity()[1][solver.layout().at(i, j, k)]
        };
        vec![at(0, middle as isize), at(0, middle as isize + 9), at(9, middle as isize)]
    }

    #[test]
    fn air_between_free_sides_moves_as_in_a_box_four_times_as_large() {
        for floor in [false, true] {
            let (truth, free, zero) =
                (speed(128, false, floor), speed(32, true, floor), speed(32, false, floor));
            for n in 0..3 {
                let off = |got: &[f32]| (got[n] - truth[n]).abs();
                assert!(off(&free) < 0.004, "floor {floor}: {free:?} for {truth:?}");
                assert!(off(&free) < 0.3 * off(&zero), "floor {floor}: {free:?} and {zero:?} for {truth:?}");
            }
        }
    }
}
