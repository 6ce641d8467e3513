//! A mesh as a grid of signed distances and normals. Rays are traced through it (Hart, "Sphere tracing",
//! 1996) in both renderers with the same numbers, and the light volume reads it.
//!
//! Distances are interpolated between nodes, so edges sharper than a node are rounded. Parts that are thinner than [`THINNEST`], such as
//! sheets of metal, would have holes and no normals: they are drawn as thick as that.

use std::sync::Arc;

use half::f16;
use nalgebra::{Point3, Vector3};
use rayon::prelude::*;

use super::camera::{Ray, box_span};
use super::smooth_mesh;
use super::trilinear::trilinear;
use crate::grid::Dims;
use crate::snapshot::Mesh;

/// Node spacings along the longest side of a mesh.
const ALONG: usize = 72;
/// Node spacings around a mesh, so that the surface never touches the border.
const AROUND: usize = 3;
/// Fine nodes between the coarse ones that locate the surface.
const COARSE: usize = 4;
/// Least thickness of a part of a mesh \[spacings\].
const THINNEST: f32 = 1.6;
/// Distance from a thin part up to which it is made thicker, and over which that fades out \[spacings\].
const THICKER: [f32; 2] = [2.0, 3.0];
/// Depths at which the thickness is measured \[spacings\]: up to that in which the edges of a cube are as deep as half of [`THINNEST`].
const DEPTHS: [f32; 7] = [0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5];
/// Distance at which a ray counts as on the surface \[spacings\].
pub(super) const NEAR: f32 = 0.02;
/// Least step of a ray \[spacings\].
pub(super) const STEP: f32 = 0.05;
/// Greatest number of steps of a ray.
pub(super) const STEPS: usize = 160;

/// Signed distances from the surface of a mesh, in its own frame.
#[derive(Debug)]
pub struct DistanceField {
    /// Nodes along each axis.
    pub(super) dims: Dims,
    /// The first node \[m\].
    pub(super) low: [f32; 3],
    /// Distance between nodes \[m\].
    pub(super) spacing: f32,
    /// Normal and distance \[m\] at each node, x fastest.
    pub(super) nodes: Vec<[f16; 4]>,
}

impl DistanceField {
    /// Computes the distances of `mesh`, rounded between its vertices ([`super::smooth_mesh`]).
    pub fn of(mesh: &Mesh) -> Self {
        let [low, high] = mesh.bounds();
        let size = (0..3).map(|a| high[a] - low[a]).fold(1e-6, f32::max);
        let smooth = smooth_mesh::rounded(mesh, size / ALONG as f32);
        let mesh = smooth.as_ref().unwrap_or(mesh);
        let corner = |pick: fn(f32, f32) -> f32, start: f32| {
            mesh.vertices().iter().fold([start; 3], |a, v| std::array::from_fn(|n| pick(a[n], v[n])))
        };
        let (low, high) = (corner(f32::min, f32::INFINITY), corner(f32::max, f32::NEG_INFINITY));
        Self::new(low, high, &|p| mesh.distance(p), &|p| mesh.closest(p))
    }

    /// Samples `distance` for a body that spans from `low` to `high`, and makes its thin parts thicker; `closest` is the point of its surface
    /// that is nearest to a point.
    fn new(
        low: [f32; 3],
        high: [f32; 3],
        distance: &(impl Fn([f32; 3]) -> f32 + Sync),
        closest: &(impl Fn([f32; 3]) -> [f32; 3] + Sync),
    ) -> Self {
        let size: [f32; 3] = std::array::from_fn(|a| high[a] - low[a]);
        let spacing = size.into_iter().fold(1e-6, f32::max) / ALONG as f32;
        // A whole number of coarse cells.
        let nodes = |a: usize| {
            let cells = (size[a] / spacing).ceil() as usize + 2 * AROUND;
            cells.div_ceil(COARSE) * COARSE + 1
        };
        let dims = Dims { nx: nodes(0), ny: nodes(1), nz: nodes(2) };
        let low = low.map(|x| x - AROUND as f32 * spacing);
        let lattice = Lattice { dims, low, spacing };
        let mut distances = lattice.distances(distance);
        lattice.thicken(&mut distances, distance, closest);
        let nodes = (0..dims.cells()).into_par_iter().map(|n| with_normal((dims, spacing), &distances, n));
        Self { dims, low, spacing, nodes: nodes.collect() }
    }

    /// Returns normal and distance at a point in the mesh's frame; beyond the nodes those of the nearest node.
    fn sample(&self, p: [f32; 3]) -> [f32; 4] {
        let at = std::array::from_fn(|a| (p[a] - self.low[a]) / self.spacing);
        trilinear(self.dims, at, |n| self.nodes[n].map(f32::from))
    }

    fn high(&self) -> [f32; 3] {
        let size = self.dims.array();
        std::array::from_fn(|a| self.low[a] + (size[a] - 1) as f32 * self.spacing)
    }

    /// Returns the signed distance of a point from the surface \[m\]; outside the nodes a lower bound.
    pub(super) fn distance(&self, p: [f32; 3]) -> f32 {
        let high = self.high();
        let inside: [f32; 3] = std::array::from_fn(|a| p[a].clamp(self.low[a], high[a]));
        let away = (0..3).map(|a| (p[a] - inside[a]).powi(2)).sum::<f32>().sqrt();
        self.sample(inside)[3].max(if away > 0.0 { 0.0 } else { f32::NEG_INFINITY }) + away
    }

    /// Returns the radius of the bounding ball of all nodes around the mesh's origin \[m\].
    pub(super) fn bounding_radius(&self) -> f32 {
        let high = self.high();
        (0..3).map(|a| self.low[a].abs().max(high[a].abs()).powi(2)).sum::<f32>().sqrt()
    }

    /// Returns the first intersection of a ray in the mesh's frame with the surface: distance and normal. A
    /// ray that begins on the surface leaves it first. `meet_mesh` of `shaders/solid.glsl` has the same
    /// formulas.
    pub(super) fn meet(&self, origin: Vector3<f32>, direction: Vector3<f32>) -> Option<(f32, Vector3<f32>)> {
        let ray = Ray { origin: Point3::from(origin), direction };
        let [enter, leave] = box_span(&ray, self.low, self.high());
        let near = NEAR * self.spacing;
        let (mut t, mut away, mut last) = (enter.max(0.0), false, (0.0, 0.0));
        for _ in 0..STEPS {
            if t >= leave {
                return None;
            }
            let distance = self.sample(ray.at(t).coords.into())[3];
            away |= distance >= near;
            if distance < if away { near } else { -near } {
                // Steps have a least length, so the surface lies between the last two points.
                let share = (last.1 - 0.5 * near) / (last.1 - distance).max(1e-12);
                let t = if away { last.0 + (t - last.0) * share.clamp(0.0, 1.0) } else { t };
                let [x, y, z, _] = self.sample(ray.at(t).coords.into());
                return Some((t, Vector3::new(x, y, z).try_normalize(1e-9).unwrap_or(-direction)));
            }
            last = (t, distance);
            t += distance.max(STEP * self.spacing);
        }
        None
    }
}

/// Positions of the nodes.
struct Lattice {
    dims: Dims,
    low: [f32; 3],
    spacing: f32,
}

impl Lattice {
    fn place(&self, [i, j, k]: [usize; 3]) -> [f32; 3] {
        let at = [i, j, k];
        std::array::from_fn(|a| self.low[a] + at[a] as f32 * self.spacing)
    }

    /// Returns the distances at all nodes: exact within a coarse cell of the surface, interpolated elsewhere,
    /// where no ray stops.
    fn distances(&self, distance: &(impl Fn([f32; 3]) -> f32 + Sync)) -> Vec<f32> {
        let coarse = self.dims.array().map(|n| (n - 1) / COARSE + 1);
        let coarse = Dims { nx: coarse[0], ny: coarse[1], nz: coarse[2] };
        let at_coarse: Vec<f32> = (0..coarse.cells())
            .into_par_iter()
            .map(|n| distance(self.place(coarse.place(n).map(|i| i * COARSE))))
            .collect();
        let far = 2.0 * COARSE as f32 * self.spacing;
        let value = |n: usize| {
            let at = self.dims.place(n);
            let [about] = trilinear(coarse, at.map(|i| i as f32 / COARSE as f32), |n| [at_coarse[n]]);
            if about.abs() > far { about } else { distance(self.place(at)) }
        };
        (0..self.dims.cells()).into_par_iter().with_min_len(64).map(value).collect()
    }
}

impl Lattice {
    /// Takes the lack of thickness of thin parts off the distances around them.
    fn thicken(
        &self,
        distances: &mut [f32],
        distance: &(impl Fn([f32; 3]) -> f32 + Sync),
        closest: &(impl Fn([f32; 3]) -> [f32; 3] + Sync),
    ) {
        let (half, [near, far]) = (0.5 * THINNEST * self.spacing, THICKER.map(|n| n * self.spacing));
        let lacks = |n: usize| {
            let value = distances[n];
            if value.abs() >= far {
                return 0.0;
            }
            let p = self.place(self.dims.place(n));
            let at = closest(p);
            let away = (Vector3::from(p) - Vector3::from(at)) * value.signum();
            // A node on the surface itself.
            let inwards = match away.try_normalize(1e-3 * self.spacing) {
                Some(away) => -away,
                None => self.inwards(p, distance),
            };
            let within = |depth: f32| Vector3::from(at) + inwards * (depth * self.spacing);
            let place = |p: Vector3<f32>| std::array::from_fn(|a| (p[a] - self.low[a]) / self.spacing);
            let [about] = trilinear(self.dims, place(within(1.0)), |n| [distances[n]]);
            if about <= -half {
                return 0.0;
            }
            let deepest = DEPTHS.iter().map(|&depth| -distance(within(depth).into())).fold(0.0, f32::max);
            let fades = ((far - value.abs()) / (far - near)).min(1.0);
            (half - deepest).max(0.0) * fades
        };
        let lacks: Vec<f32> = (0..distances.len()).into_par_iter().with_min_len(64).map(lacks).collect();
        distances.iter_mut().zip(lacks).for_each(|(distance, lacks)| *distance -= lacks);
    }

    /// The direction along an axis in which a body lies deepest around a point of its surface.
    fn inwards(&self, p: [f32; 3], distance: &impl Fn([f32; 3]) -> f32) -> Vector3<f32> {
        let axes = (0..6).map(|n| {
            let mut axis = Vector3::zeros();
            axis[n / 2] = if n % 2 == 0 { 1.0 } else { -1.0 };
            axis
        });
        let depth = |axis: &Vector3<f32>| distance((Vector3::from(p) + axis * (0.1 * self.spacing)).into());
        axes.min_by(|a, b| depth(a).total_cmp(&depth(b))).expect("six of them")
    }
}

/// Returns the distance of a node and its gradient by central differences, one-sided at the border. In the middle of a thin part the gradient
/// vanishes; it keeps its length there, so that normals between nodes are those of the sides.
fn with_normal((dims, spacing): (Dims, f32), distances: &[f32], node: usize) -> [f16; 4] {
    let (at, size) = (dims.place(node), dims.array());
    let slope = |a: usize| {
        let value = |i: usize| {
            let mut p = at;
            p[a] = i;
            distances[dims.index(p[0], p[1], p[2])]
        };
        let [above, below] = [(at[a] + 1).min(size[a] - 1), at[a].saturating_sub(1)];
        (value(above) - value(below)) / ((above - below) as f32 * spacing)
    };
    let gradient = Vector3::new(slope(0), slope(1), slope(2));
    let normal = gradient / gradient.norm().max(0.5);
    [normal.x, normal.y, normal.z, distances[node]].map(f16::from_f32)
}

/// Distance fields of the meshes so far.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<(Arc<Mesh>, Arc<DistanceField>)>);

impl Fields {
    /// Returns the field of `mesh`, computed the first time.
    pub fn of(&mut self, mesh: &Arc<Mesh>) -> Arc<DistanceField> {
        if let Some((_, field)) = self.0.iter().find(|(known, _)| Arc::ptr_eq(known, mesh)) {
            return field.clone();
        }
        let field = Arc::new(DistanceField::of(mesh));
        self.0.push((mesh.clone(), field.clone()));
        field
    }

    /// Drops the fields of meshes that are no longer in use.
    pub fn forget_unused(&mut self) {
        self.0.retain(|(_, field)| Arc::strong_count(field) > 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ball() -> DistanceField {
        let away = |p: [f32; 3]| Vector3::from(p).norm();
        DistanceField::new([-0.5; 3], [0.5; 3], &|p| away(p) - 0.5, &|p| {
            p.map(|x| 0.5 * x / away(p).max(1e-9))
        })
    }

    /// Rays meet the distance field of a ball at the ball, with its normal.
    #[test]
    fn rays_meet_the_surface_of_a_field() {
        let field = ball();
        for n in 0..300 {
            let angle = n as f32 * 2.4;
            let from = Vector3::new(2.0 * angle.cos(), n as f32 * 0.012 - 1.8, 2.0 * angle.sin());
            let aim = Vector3::new(0.3 * (n as f32).sin(), 0.2 * (n as f32).cos(), 0.1);
            let (t, normal) = field.meet(from, (aim - from).normalize()).expect("it aims at the ball");
            let p = from + (aim - from).normalize() * t;
            assert!((p.norm() - 0.5).abs() < 0.1 * field.spacing, "{} from the middle", p.norm());
            assert!(normal.dot(&p.normalize()) > 0.999, "{normal} at {p}");
        }
        assert_eq!(field.meet(Vector3::new(3.0, 0.6, 0.0), -Vector3::x()), None);
    }

    /// A ray from the surface outwards meets nothing, one inwards meets the surface at once: no false shadows.
    #[test]
    fn rays_leave_the_surface_they_begin_on() {
        let field = ball();
        for n in 0..300 {
            let angle = n as f32 * 2.4;
            let from = Vector3::new(2.0 * angle.cos(), n as f32 * 0.012 - 1.8, 2.0 * angle.sin());
            let along = -from.normalize();
            let (t, normal) = field.meet(from, along).expect("it aims at the ball");
            let p = from + along * t;
            for turn in 0..8 {
                let aside = normal.cross(&Vector3::new(0.3, 0.5, turn as f32 - 3.5)).normalize();
                assert_eq!(field.meet(p, (aside + normal * 0.1).normalize()), None, "{from} {turn}");
                assert!(field.meet(p, (aside - normal * 0.3).normalize()).is_some(), "{from} {turn}");
            }
        }
    }

    /// A plate of a hundredth of its length had holes and faces without a direction.
    #[test]
    fn rays_meet_thin_sheets() {
        for thickness in [1e-3, 4e-3, 8e-3, 0.013, 0.03] {
            let half = Vector3::new(0.5, 0.5 * thickness, 0.5);
            let closest = |p: [f32; 3]| -> [f32; 3] {
                let inside = (0..3).all(|a| p[a].abs() < half[a]);
                let clamped: [f32; 3] = std::array::from_fn(|a| p[a].clamp(-half[a], half[a]));
                let a = (0..3)
                    .min_by(|&a, &b| (half[a] - p[a].abs()).total_cmp(&(half[b] - p[b].abs())))
                    .unwrap();
                let mut out = clamped;
                if inside {
                    out[a] = half[a].copysign(p[a]);
                }
                out
            };
            let distance = |p: [f32; 3]| {
                let away = (Vector3::from(p) - Vector3::from(closest(p))).norm();
                if (0..3).all(|a| p[a].abs() < half[a]) { -away } else { away }
            };
            // Not aligned with the nodes.
            let field = DistanceField::new(
                [-0.503, -half.y - 1e-3, -0.501],
                [0.5, half.y + 2e-3, 0.505],
                &distance,
                &closest,
            );
            let wanted = half.y.max(0.5 * THINNEST * field.spacing);
            for n in 0..400 {
                let at = [n % 20, n / 20].map(|n| 0.045 * n as f32 - 0.43);
                for side in [-1.0, 1.0] {
                    let from = Vector3::new(at[0] + 0.3, side, at[1] - 0.2);
                    let along = (Vector3::new(at[0], 0.0, at[1]) - from).normalize();
                    let (t, normal) = field.meet(from, along).expect("the plate has no holes");
                    let y = (from + along * t).y * side;
                    assert!((y - wanted).abs() < 0.3 * field.spacing, "{thickness}: {y}, not {wanted}");
                    assert!(normal.y * side > 0.97, "{thickness} at {at:?}: {normal}");
                }
            }
        }
    }

    #[test]
    fn distances_go_on_beyond_the_nodes() {
        let field = ball();
        assert!((field.distance([2.0, 0.0, 0.0]) - 1.5).abs() < 0.02);
        assert!((field.distance([0.1, 0.0, 0.0]) + 0.4).abs() < 0.02);
        assert!(field.bounding_radius() > 0.86);
    }
}
