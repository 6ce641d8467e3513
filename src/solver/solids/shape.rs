//! Shapes as signed distances: negative inside.

use std::sync::Arc;

use super::triangle_mesh::Mesh;
use crate::solver::invalid_value::InvalidValue;

/// Shape of a solid around its own origin, unscaled.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// A ball.
    Sphere {
        /// Radius \[m\].
        radius: f32,
    },
    /// A box with edges along the axes.
    Box {
        /// Edge lengths \[m\].
        size: [f32; 3],
    },
    /// A capped cylinder around y.
    Cylinder {
        /// Radius \[m\].
        radius: f32,
        /// Height \[m\].
        height: f32,
    },
    /// A closed surface of triangles.
    Mesh(Arc<Mesh>),
}

impl Shape {
    /// Volume of a shape that has a formula for it \[m³\].
    pub(in crate::solver) fn volume(&self) -> Option<f64> {
        match self {
            Self::Sphere { radius } => Some(4.0 / 3.0 * std::f64::consts::PI * f64::from(*radius).powi(3)),
            Self::Box { size } => Some(size.iter().map(|x| f64::from(*x)).product()),
            Self::Cylinder { radius, height } => {
                Some(std::f64::consts::PI * f64::from(*radius).powi(2) * f64::from(*height))
            }
            Self::Mesh(_) => None,
        }
    }

    /// Signed distance of a point from the surface \[m\], exact.
    pub fn distance(&self, p: [f32; 3]) -> f32 {
        match self {
            Self::Sphere { radius } => length(&p) - radius,
            Self::Box { size } => outside([0, 1, 2].map(|a| p[a].abs() - 0.5 * size[a])),
            Self::Cylinder { radius, height } => {
                outside([length(&[p[0], p[2]]) - radius, p[1].abs() - 0.5 * height])
            }
            Self::Mesh(mesh) => mesh.distance(p),
        }
    }

    /// Radius of the bounding ball around the origin \[m\].
    pub fn bounding_radius(&self) -> f32 {
        match self {
            Self::Sphere { radius } => *radius,
            Self::Box { size } => 0.5 * length(size),
            Self::Cylinder { radius, height } => length(&[*radius, 0.5 * height]),
            Self::Mesh(mesh) => mesh.bounding_radius(),
        }
    }

    /// Lowest and highest coordinates \[m\].
    pub fn bounds(&self) -> [[f32; 3]; 2] {
        let half = match self {
            Self::Sphere { radius } => [*radius; 3],
            Self::Box { size } => size.map(|edge| 0.5 * edge),
            Self::Cylinder { radius, height } => [*radius, 0.5 * height, *radius],
            Self::Mesh(mesh) => return mesh.bounds(),
        };
        [half.map(|x| -x), half]
    }

    /// The first invalid measure, if any.
    pub(super) fn problem(&self) -> Option<InvalidValue> {
        let bad = |what, x| InvalidValue::unless_positive("solid", what, x, " m");
        match self {
            Self::Sphere { radius } => bad("radius", *radius),
            Self::Box { size } => size.iter().find_map(|&edge| bad("edge", edge)),
            Self::Cylinder { radius, height } => bad("radius", *radius).or_else(|| bad("height", *height)),
            Self::Mesh(_) => None,
        }
    }
}

/// Distance from a corner-shaped region, from the excess of the point over each of its bounds.
fn outside<const N: usize>(beyond: [f32; N]) -> f32 {
    let nearest = beyond.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b));
    if nearest < 0.0 { nearest } else { length(&beyond.map(|x| x.max(0.0))) }
}

fn length<const N: usize>(v: &[f32; N]) -> f32 {
    v.iter().map(|x| x * x).sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_nearest_surface_point() {
        let ball = Shape::Sphere { radius: 2.0 };
        assert_eq!(ball.distance([0.0, 5.0, 0.0]), 3.0);
        assert_eq!(ball.distance([0.0; 3]), -2.0);
        let block = Shape::Box { size: [2.0, 4.0, 6.0] };
        assert_eq!(block.distance([0.0, 0.0, 0.0]), -1.0);
        assert_eq!(block.distance([4.0, 6.0, 0.0]), 5.0);
        let drum = Shape::Cylinder { radius: 1.0, height: 2.0 };
        assert_eq!(drum.distance([4.0, 5.0, 0.0]), 5.0);
        assert_eq!(drum.distance([0.5, 0.0, 0.0]), -0.5);
        assert!((block.bounding_radius() - 14.0f32.sqrt()).abs() < 1e-6);
    }
}
