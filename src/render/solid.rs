//! Solids in the smoke: intersections of rays, signed distances and clearances. `shaders/solid.glsl` has the
//! same formulas.

use std::sync::Arc;

use nalgebra::{Quaternion, UnitQuaternion, Vector3};

use super::camera::{Ray, away_from_zero};
use super::distance::{DistanceField, Fields};
use crate::snapshot::{SolidPose, SolidShape};

/// A body with its pose.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Solid {
    /// Shape around its own origin.
    pub shape: Shape,
    /// Position of its origin \[m\].
    pub center: [f32; 3],
    /// Rotation: a quaternion i, j, k, w of any length but 0.
    pub rotation: [f32; 4],
}

/// Shape of a body.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A ball.
    Sphere {
        /// Radius \[m\].
        radius: f32,
    },
    /// A box along the axes.
    Box {
        /// Half of each edge \[m\].
        half: [f32; 3],
    },
    /// An upright cylinder, closed at both ends.
    Cylinder {
        /// Radius \[m\].
        radius: f32,
        /// Half of the height \[m\].
        half_height: f32,
    },
    /// A mesh.
    Mesh {
        /// Its distance field.
        field: Arc<DistanceField>,
        /// Scale factor of the field.
        scale: f32,
    },
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Sphere { radius: a }, Self::Sphere { radius: b }) => a == b,
            (Self::Box { half: a }, Self::Box { half: b }) => a == b,
            (Self::Cylinder { radius: a, half_height: c }, Self::Cylinder { radius: b, half_height: d }) => {
                (a, c) == (b, d)
            }
            (Self::Mesh { field: a, scale: c }, Self::Mesh { field: b, scale: d }) => {
                Arc::ptr_eq(a, b) && c == d
            }
            _ => false,
        }
    }
}

/// Intersection of a ray with a solid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Meeting {
    pub t: f32,
    pub normal: [f32; 3],
    /// Index of the solid.
    pub solid: usize,
}

impl Solid {
    /// Returns all solids of a snapshot with their poses.
    pub fn all(poses: &[SolidPose], fields: &mut Fields) -> Vec<Self> {
        let all = poses.iter().map(|pose| Self::of(pose, fields)).collect();
        fields.forget_unused();
        all
    }

    fn of(pose: &SolidPose, fields: &mut Fields) -> Self {
        let scale = pose.scale;
        let shape = match &*pose.shape {
            SolidShape::Sphere { radius } => Shape::Sphere { radius: scale * radius },
            SolidShape::Box { size } => Shape::Box { half: size.map(|x| 0.5 * scale * x) },
            SolidShape::Cylinder { radius, height } => {
                Shape::Cylinder { radius: scale * radius, half_height: 0.5 * scale * height }
            }
            SolidShape::Mesh(mesh) => Shape::Mesh { field: fields.of(mesh), scale },
        };
        Self { shape, center: pose.position, rotation: pose.rotation }
    }

    fn turn(&self) -> UnitQuaternion<f32> {
        let [i, j, k, w] = self.rotation;
        UnitQuaternion::try_new(Quaternion::new(w, i, j, k), 1e-9).unwrap_or_else(UnitQuaternion::identity)
    }

    /// Returns the signed distance of a point from the surface, negative inside \[m\].
    pub fn distance(&self, p: [f32; 3]) -> f32 {
        let p = self.turn().inverse() * (Vector3::from(p) - Vector3::from(self.center));
        match &self.shape {
            Shape::Sphere { radius } => p.norm() - radius,
            Shape::Box { half } => {
                let q = p.abs() - Vector3::from(*half);
                q.sup(&Vector3::zeros()).norm() + q.max().min(0.0)
            }
            Shape::Cylinder { radius, half_height } => {
                let q = [p.x.hypot(p.z) - radius, p.y.abs() - half_height];
                q[0].max(0.0).hypot(q[1].max(0.0)) + q[0].max(q[1]).min(0.0)
            }
            Shape::Mesh { field, scale } => scale * field.distance((p / *scale).into()),
        }
    }

    /// Returns the least distance between the solid and a ray from `p` along a unit vector, of length `far`
    /// \[m\]: negative if they intersect, a lower bound if the ray passes outside the bounding ball.
    pub fn clearance(&self, p: [f32; 3], along: [f32; 3], far: f32) -> f32 {
        let (p, along) = (Vector3::from(p), Vector3::from(along));
        let to = Vector3::from(self.center) - p;
        let nearest = to.dot(&along).clamp(0.0, far);
        let (radius, by) = (self.bounding_radius(), (to - along * nearest).norm());
        if by > radius {
            return by - radius;
        }
        if let Shape::Sphere { radius } = &self.shape {
            return by - radius;
        }
        // The least distance on the part of the ray within the ball that holds the solid.
        let half = (radius * radius - by * by).sqrt();
        let (mut t, end) = ((nearest - half).max(0.0), (nearest + half).min(far));
        let mut least = f32::INFINITY;
        while t < end {
            let distance = self.distance((p + along * t).into());
            least = least.min(distance);
            t += distance.abs().max(0.02 * radius);
        }
        least
    }

    /// Returns the radius of the bounding ball around its origin \[m\].
    pub fn bounding_radius(&self) -> f32 {
        match &self.shape {
            Shape::Sphere { radius } => *radius,
            Shape::Box { half } => Vector3::from(*half).norm(),
            Shape::Cylinder { radius, half_height } => radius.hypot(*half_height),
            Shape::Mesh { field, scale } => scale * field.bounding_radius(),
        }
    }

    /// Returns the first intersection of `ray` with the solid, in front of the ray's origin; `solid` is its
    /// index.
    pub fn meet(&self, ray: &Ray, solid: usize) -> Option<Meeting> {
        let turn = self.turn();
        let o = turn.inverse() * (ray.origin.coords - Vector3::from(self.center));
        let d = turn.inverse() * ray.direction;
        let (t, normal) = match &self.shape {
            Shape::Sphere { radius } => meet_sphere(o, d, *radius),
            Shape::Box { half } => meet_box(o, d, Vector3::from(*half)),
            Shape::Cylinder { radius, half_height } => meet_cylinder(o, d, *radius, *half_height),
            Shape::Mesh { field, scale } => field.meet(o / *scale, d).map(|(t, normal)| (t * scale, normal)),
        }?;
        (t > 0.0).then(|| Meeting { t, normal: (turn * normal).into(), solid })
    }

    /// Returns the data for the shader: position and kind, size, rotation, and for a mesh its first node and
    /// spacing, and its nodes and first layer. `layer` is that of the mesh's field in the volume of all
    /// fields.
    #[cfg(feature = "viewer")]
    pub fn packed(&self, layer: usize) -> [[f32; 4]; 5] {
        let [x, y, z] = self.center;
        let (kind, [width, height, depth]) = match &self.shape {
            Shape::Sphere { radius } => (0.0, [*radius; 3]),
            Shape::Box { half } => (1.0, *half),
            Shape::Cylinder { radius, half_height } => (2.0, [*radius, *half_height, *radius]),
            Shape::Mesh { scale, .. } => (3.0, [*scale; 3]),
        };
        let (low, nodes) = match &self.shape {
            Shape::Mesh { field, .. } => {
                let ([x, y, z], [nx, ny, nz]) = (field.low, field.dims.array().map(|n| n as f32));
                ([x, y, z, field.spacing], [nx, ny, nz, layer as f32])
            }
            _ => ([0.0; 4], [0.0; 4]),
        };
        [
            [x, y, z, kind],
            [width, height, depth, self.bounding_radius()],
            self.turn().coords.into(),
            low,
            nodes,
        ]
    }
}

/// Returns the nearest of all intersections.
pub(super) fn nearest(solids: &[Solid], ray: &Ray) -> Option<Meeting> {
    let meetings = solids.iter().enumerate().filter_map(|(n, solid)| solid.meet(ray, n));
    meetings.min_by(|a, b| a.t.total_cmp(&b.t))
}

type Local = Option<(f32, Vector3<f32>)>;

fn meet_sphere(o: Vector3<f32>, d: Vector3<f32>, radius: f32) -> Local {
    let b = o.dot(&d);
    // The distance from the axis of the ray. The form o² − b² would cancel catastrophically for a distant eye.
    let miss = (o - d * b).norm_squared();
    let root = radius * radius - miss;
    let t = -b - root.max(0.0).sqrt();
    (root > 0.0).then(|| (t, (o + d * t) / radius))
}

fn meet_box(o: Vector3<f32>, d: Vector3<f32>, half: Vector3<f32>) -> Local {
    let inv = d.map(|x| 1.0 / away_from_zero(x));
    let near = -o.component_mul(&inv) - inv.abs().component_mul(&half);
    let far = -o.component_mul(&inv) + inv.abs().component_mul(&half);
    let axis = near.imax();
    let mut normal = Vector3::zeros();
    normal[axis] = -d[axis].signum();
    (near[axis] < far.min()).then_some((near[axis], normal))
}

fn meet_cylinder(o: Vector3<f32>, d: Vector3<f32>, radius: f32, half_height: f32) -> Local {
    let inv = 1.0 / away_from_zero(d.y);
    let caps = [-o.y * inv - inv.abs() * half_height, -o.y * inv + inv.abs() * half_height];
    let a = (d.x * d.x + d.z * d.z).max(1e-12);
    let b = (o.x * d.x + o.z * d.z) / a;
    let miss = (o.x - d.x * b).powi(2) + (o.z - d.z * b).powi(2);
    let root = (radius * radius - miss) / a;
    if root <= 0.0 {
        return None;
    }
    let side = [-b - root.sqrt(), -b + root.sqrt()];
    let t = side[0].max(caps[0]);
    if t >= side[1].min(caps[1]) {
        return None;
    }
    let p = o + d * t;
    let on_side = Vector3::new(p.x, 0.0, p.z) / radius;
    let on_cap = Vector3::new(0.0, -d.y.signum(), 0.0);
    Some((t, if side[0] > caps[0] { on_side } else { on_cap }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solids() -> [Solid; 3] {
        let turned = |shape| Solid { rotation: [0.2, 0.5, -0.3, 0.8], shape, center: [0.3, 0.2, -0.1] };
        [
            turned(Shape::Sphere { radius: 0.4 }),
            turned(Shape::Box { half: [0.3, 0.1, 0.5] }),
            turned(Shape::Cylinder { radius: 0.2, half_height: 0.5 }),
        ]
    }

    /// At an intersection the signed distance is 0 and increases along the normal.
    #[test]
    fn rays_meet_the_surface() {
        let mut met = 0;
        for solid in solids() {
            for n in 0..200 {
                let angle = n as f32 * 2.4;
                let from = Vector3::new(3.0 * angle.cos(), (n as f32 * 0.017 - 1.7) * 1.5, 3.0 * angle.sin());
                let aim = Vector3::from(solid.center) + Vector3::new(0.2 * (n as f32).sin(), 0.1, 0.0);
                let ray = Ray { origin: from.into(), direction: (aim - from).normalize() };
                let Some(meeting) = solid.meet(&ray, 0) else { continue };
                let p = ray.at(meeting.t).coords;
                assert!(solid.distance(p.into()).abs() < 1e-4, "{:?}", solid.shape);
                let out = p + Vector3::from(meeting.normal) * 1e-2;
                assert!((solid.distance(out.into()) - 1e-2).abs() < 1e-3, "{:?}", solid.shape);
                met += 1;
            }
        }
        assert!(met > 300, "only {met} rays met anything");
    }

    #[test]
    fn rays_past_a_solid_miss_it() {
        for solid in solids() {
            let ray = Ray { origin: [5.0, 0.0, 0.0].into(), direction: Vector3::x() };
            assert_eq!(solid.meet(&ray, 0), None);
            let ray = Ray { origin: [-5.0, 2.0, 0.0].into(), direction: Vector3::x() };
            assert_eq!(solid.meet(&ray, 0), None);
        }
    }
}
