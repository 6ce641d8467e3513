//! Solids in the flow: shape, motion, and effect on the grid.
//!
//! A solid is a signed distance. The open fractions of faces follow from it (Batty, Bertails & Bridson, "A
//! fast variational framework for accurate solid-fluid coupling", 2007), see [`faces`] and [`voxels`].
//! Back-traces near a solid do not pass through it, see [`near`]. Viscosity and conduction meet its surface,
//! see [`drag`].

mod drag;
mod faces;
mod frame;
mod momentum;
mod motion;
mod near;
mod obstacles;
mod shape;
mod triangle_mesh;
mod uncovered;
mod voxels;

use std::sync::Arc;

use nalgebra::{Quaternion, UnitQuaternion, Vector3};

use super::invalid_value::InvalidValue;

pub use faces::{Found, Scene};
pub use motion::Motion;
pub use obstacles::{Obstacles, Standing};
pub use shape::Shape;
pub use triangle_mesh::{Mesh, MeshError};
pub use voxels::{CLOSED, CutFaces, SOLID, Voxels};

/// Boundary condition of the velocity along a solid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Slip {
    /// Free slip: the air glides, and only the velocity across the surface is fixed.
    #[default]
    Free,
    /// No slip: the air at the solid moves with it.
    None,
}

/// A body that air cannot enter.
#[derive(Clone, Debug, PartialEq)]
pub struct Solid {
    /// Shape around its own origin.
    pub shape: Shape,
    /// Position of its origin \[m\], unless keyframes give one.
    pub position: [f32; 3],
    /// Rotation as a unit quaternion x, y, z, w; see [`Solid::turn`].
    pub rotation: [f32; 4],
    /// Scale factor of the shape \[-\].
    pub scale: f32,
    /// Instants \[s\], rising, and the positions \[m\] it passes through. Before the first and after the last it rests.
    pub keyframes: Vec<(f32, [f32; 3])>,
    /// Motion between keyframes.
    pub motion: Motion,
    /// Angular velocity around x, y and z through its origin \[rad/s\].
    pub spin: [f32; 3],
    /// Velocity condition at its surface.
    pub slip: Slip,
    /// Temperature excess at its surface, seen by conduction \[K\]. None: insulated.
    pub temperature: Option<f32>,
}

impl Solid {
    /// Makes a still solid of `shape` at `position`.
    pub fn new(shape: Shape, position: [f32; 3]) -> Self {
        Self {
            shape,
            position,
            rotation: [0.0, 0.0, 0.0, 1.0],
            scale: 1.0,
            keyframes: vec![],
            motion: Motion::Linear,
            spin: [0.0; 3],
            slip: Slip::Free,
            temperature: None,
        }
    }

    /// Returns the rotation by these angles \[degrees\] around x, then y, then z.
    pub fn turn(degrees: [f32; 3]) -> [f32; 4] {
        let [x, y, z] = degrees.map(f32::to_radians);
        let q = UnitQuaternion::from_euler_angles(x, y, z);
        [q.i, q.j, q.k, q.w]
    }

    /// Whether it stands still for ever.
    pub fn is_still(&self) -> bool {
        self.spin == [0.0; 3] && self.keyframes.windows(2).all(|keys| keys[0].1 == keys[1].1)
    }

    /// Position of its origin at `time` \[m\].
    pub fn position_at(&self, time: f64) -> [f32; 3] {
        let after = self.keyframes.partition_point(|key| f64::from(key.0) <= time);
        match (after.checked_sub(1).map(|at| self.keyframes[at]), self.keyframes.get(after)) {
            (None, None) => self.position,
            (Some((_, p)), None) | (None, Some(&(_, p))) => p,
            (Some((t0, a)), Some(&(t1, b))) => {
                let t = ((time - f64::from(t0)) / f64::from(t1 - t0)) as f32;
                match self.motion {
                    Motion::Linear => [0, 1, 2].map(|axis| a[axis] + t * (b[axis] - a[axis])),
                    Motion::Smooth => motion::between(&self.keyframes, after - 1, t),
                }
            }
        }
    }

    /// Mean velocity in the `dt` after `time` \[m/s\].
    pub fn velocity_at(&self, time: f64, dt: f32) -> [f32; 3] {
        let position = self.position_at(time);
        let next = self.position_at(time + f64::from(dt));
        if dt > 0.0 { [0, 1, 2].map(|a| (next[a] - position[a]) / dt) } else { [0.0; 3] }
    }

    /// Rotation at `time` as a unit quaternion x, y, z, w. A body of revolution about its spin axis keeps its
    /// initial rotation.
    pub fn rotation_at(&self, time: f64) -> [f32; 4] {
        if self.spins_about_its_symmetry_axis() {
            return self.rotation;
        }
        let spin = Vector3::from(self.spin.map(f64::from));
        let angle = (spin.norm() * time).rem_euclid(std::f64::consts::TAU);
        let turned = UnitQuaternion::from_scaled_axis((spin.normalize() * angle).cast::<f32>());
        let q = turned * unit(self.rotation);
        [q.i, q.j, q.k, q.w]
    }

    /// Whether the spin changes nothing visible: a body of revolution about its spin axis.
    fn spins_about_its_symmetry_axis(&self) -> bool {
        let spin = Vector3::from(self.spin);
        match &self.shape {
            _ if self.spin == [0.0; 3] => true,
            Shape::Sphere { .. } => true,
            Shape::Cylinder { .. } => {
                let axis = unit(self.rotation) * Vector3::y();
                axis.cross(&spin).norm() < 1e-6 * spin.norm()
            }
            Shape::Box { .. } | Shape::Mesh(_) => false,
        }
    }

    /// Largest velocity component of any of its points in the `dt` after `time` \[m/s\].
    pub fn fastest(&self, time: f64, dt: f32) -> f32 {
        let along = self.velocity_at(time, dt).iter().fold(0.0f32, |a, b| a.max(b.abs()));
        along + Vector3::from(self.spin).norm() * self.scale * self.shape.bounding_radius()
    }

    /// Pose at `time`, with the mean velocity in the `dt` after it.
    pub fn pose(&self, time: f64, dt: f32) -> SolidPose {
        let still = [0.0; 3];
        let [spin, surface_velocity] =
            if self.spins_about_its_symmetry_axis() { [still, self.spin] } else { [self.spin, still] };
        SolidPose {
            shape: Arc::new(self.shape.clone()),
            position: self.position_at(time),
            rotation: self.rotation_at(time),
            scale: self.scale,
            velocity: self.velocity_at(time, dt),
            spin,
            surface_velocity,
            slip: self.slip,
            temperature: self.temperature,
        }
    }

    /// Pose at `time`, with the mean velocity from `before` to `after` it \[s\].
    pub fn pose_around(&self, time: f64, [before, after]: [f32; 2]) -> SolidPose {
        let velocity = self.velocity_at(time - f64::from(before), before + after);
        SolidPose { velocity, ..self.pose(time, 0.0) }
    }

    /// Pose at `time`, with the shape of an earlier pose and the mean velocity from `before` to `after` it
    /// \[s\].
    fn stand(&self, earlier: &SolidPose, time: f64, [before, after]: [f32; 2]) -> SolidPose {
        SolidPose {
            shape: earlier.shape.clone(),
            position: self.position_at(time),
            rotation: self.rotation_at(time),
            velocity: self.velocity_at(time - f64::from(before), before + after),
            ..*earlier
        }
    }

    /// Extent along each axis, down and up, from its position \[m\], in its rotation or in any that its spin
    /// may reach.
    pub fn extent(&self) -> [[f32; 3]; 2] {
        if !self.spins_about_its_symmetry_axis() {
            let radius = self.scale * self.shape.bounding_radius();
            return [[-radius; 3], [radius; 3]];
        }
        let [low, high] = self.shape.bounds();
        let turn = unit(self.rotation);
        let corner = |n: usize| [0, 1, 2].map(|a| if n >> a & 1 == 0 { low[a] } else { high[a] });
        let corners: [[f32; 3]; 8] =
            std::array::from_fn(|n| (turn * Vector3::from(corner(n)) * self.scale).into());
        let along =
            |a: usize, pick: fn(f32, f32) -> f32| corners.iter().map(|c| c[a]).reduce(pick).unwrap_or(0.0);
        [[0, 1, 2].map(|a| along(a, f32::min)), [0, 1, 2].map(|a| along(a, f32::max))]
    }

    /// Whether it is the same body as `other`, in any position.
    pub fn is_body_of(&self, other: &Self) -> bool {
        let same = match (&self.shape, &other.shape) {
            (Shape::Mesh(a), Shape::Mesh(b)) if Arc::ptr_eq(a, b) => true,
            (a, b) => a == b,
        };
        same && (self.scale, self.spin, self.slip, self.temperature)
            == (other.scale, other.spin, other.slip, other.temperature)
    }

    /// The first invalid value, if any.
    pub fn problem(&self) -> Option<InvalidValue> {
        let finite = |what, values: &[f32]| InvalidValue::unless_finite("solid", what, values);
        let rising = self.keyframes.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let keys = |(t, [x, y, z]): &(f32, [f32; 3])| finite("keyframes", &[*t, *x, *y, *z]);
        self.shape
            .problem()
            .or_else(|| finite("position", &self.position))
            .or_else(|| finite("temperature", self.temperature.as_slice()))
            .or_else(|| finite("spin", &self.spin))
            .or_else(|| self.keyframes.iter().find_map(keys))
            .or_else(|| (!rising).then_some(InvalidValue::KeyframesNotRising))
            .or_else(|| InvalidValue::unless_unit("solid", self.rotation))
            .or_else(|| InvalidValue::unless_positive("solid", "scale", self.scale, ""))
    }
}

fn unit([x, y, z, w]: [f32; 4]) -> UnitQuaternion<f32> {
    UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z))
}

/// A solid at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct SolidPose {
    /// Shape around its own origin.
    pub shape: Arc<Shape>,
    /// Position of its origin \[m\].
    pub position: [f32; 3],
    /// Rotation as a unit quaternion x, y, z, w.
    pub rotation: [f32; 4],
    /// Scale factor of the shape \[-\].
    pub scale: f32,
    /// Velocity of its origin \[m/s\].
    pub velocity: [f32; 3],
    /// Angular velocity around its origin \[rad/s\].
    pub spin: [f32; 3],
    /// Angular velocity of the surface of a body of revolution about its spin axis \[rad/s\]. Only no-slip
    /// air feels it. The motion is tangential, so no air crosses the surface. It is kept apart from `spin`
    /// because the surface is a polygon on the grid, which would push air.
    pub surface_velocity: [f32; 3],
    /// Velocity condition at its surface.
    pub slip: Slip,
    /// Temperature excess at its surface \[K\].
    pub temperature: Option<f32>,
}

impl SolidPose {
    /// Signed distance of a point in world coordinates from the surface \[m\].
    pub fn distance(&self, p: [f32; 3]) -> f32 {
        self.scale * self.shape.distance(self.local(p))
    }

    /// Velocity with which one of its points pushes the air \[m/s\].
    pub fn velocity_at(&self, p: [f32; 3]) -> [f32; 3] {
        self.moves(p, self.spin)
    }

    /// Velocity of no-slip air at one of its points \[m/s\].
    pub fn surface_velocity_at(&self, p: [f32; 3]) -> [f32; 3] {
        self.moves(p, [0, 1, 2].map(|a| self.spin[a] + self.surface_velocity[a]))
    }

    fn moves(&self, p: [f32; 3], turning: [f32; 3]) -> [f32; 3] {
        if turning == [0.0; 3] {
            return self.velocity;
        }
        let from = Vector3::from([0, 1, 2].map(|a| p[a] - self.position[a]));
        (Vector3::from(self.velocity) + Vector3::from(turning).cross(&from)).into()
    }

    /// Whether it spins, as a body of revolution or not.
    fn turns(&self) -> bool {
        self.spin != [0.0; 3] || self.surface_velocity != [0.0; 3]
    }

    /// Rotation from its present orientation back to that of `before`. None if it has not turned.
    fn turned_since(&self, before: [f32; 4]) -> Option<UnitQuaternion<f32>> {
        (self.rotation != before).then(|| unit(before) * unit(self.rotation).inverse())
    }

    /// Whether it has the values of `other`. Compares the addresses of shapes: a mesh is large.
    fn is_same(&self, other: &Self) -> bool {
        let Self { shape, position, rotation, scale, velocity, spin, surface_velocity, slip, temperature } =
            self;
        Arc::ptr_eq(shape, &other.shape)
            && (position, rotation, scale, velocity)
                == (&other.position, &other.rotation, &other.scale, &other.velocity)
            && (spin, surface_velocity, slip, temperature)
                == (&other.spin, &other.surface_velocity, &other.slip, &other.temperature)
    }

    /// Radius of the bounding ball around its position \[m\].
    pub fn bounding_radius(&self) -> f32 {
        self.scale * self.shape.bounding_radius()
    }

    /// Transforms a point from world coordinates to those of the shape.
    fn local(&self, p: [f32; 3]) -> [f32; 3] {
        let from: Vector3<f32> = Vector3::from([0, 1, 2].map(|a| p[a] - self.position[a]));
        let [x, y, z, w] = self.rotation;
        // The conjugate rotates back: v + 2 q × (q × v + w v) with q negated.
        let q = Vector3::new(-x, -y, -z);
        let turned = from + 2.0 * q.cross(&(q.cross(&from) + w * from));
        turned.map(|x| x / self.scale).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyframes_are_joined_by_lines() {
        let keyframes = vec![(1.0, [0.0; 3]), (3.0, [4.0, 0.0, 0.0])];
        let solid = Solid { keyframes, ..Solid::new(Shape::Sphere { radius: 1.0 }, [9.0; 3]) };
        assert_eq!(solid.position_at(0.0), [0.0; 3]);
        assert_eq!(solid.position_at(2.0), [2.0, 0.0, 0.0]);
        assert_eq!(solid.position_at(5.0), [4.0, 0.0, 0.0]);
        assert_eq!(solid.pose(1.5, 0.5).velocity, [2.0, 0.0, 0.0]);
        assert_eq!(solid.pose(3.0, 0.5).velocity, [0.0; 3]);
    }

    #[test]
    fn spinning_solids_turn_except_bodies_of_revolution() {
        let spin = [0.0, 0.0, std::f32::consts::FRAC_PI_2];
        let plank = Solid { spin, ..Solid::new(Shape::Box { size: [4.0, 1.0, 1.0] }, [1.0; 3]) };
        let pose = plank.pose(1.0, 0.1);
        assert!((pose.distance([1.0, 4.0, 1.0]) - 1.0).abs() < 1e-5, "{}", pose.distance([1.0, 4.0, 1.0]));
        assert!((pose.velocity_at([1.0, 3.0, 1.0])[0] + std::f32::consts::PI).abs() < 1e-5);
        // After a thousand turns it has its initial orientation.
        assert!((plank.pose(4000.0, 0.1).distance([4.0, 1.0, 1.0]) - 1.0).abs() < 1e-3);
        let [low, high] = plank.extent();
        assert!((high[1] - low[1] - 18.0f32.sqrt()).abs() < 1e-5, "as it may stand: {low:?}, {high:?}");
        let drum = Shape::Cylinder { radius: 2.0, height: 1.0 };
        let rolling = Solid { spin, rotation: Solid::turn([90.0, 0.0, 0.0]), ..Solid::new(drum, [0.0; 3]) };
        let pose = rolling.pose(1.0, 0.1);
        assert_eq!(pose.rotation, rolling.rotation);
        assert_eq!(pose.velocity_at([2.0, 0.0, 0.0]), [0.0; 3], "nothing crosses its surface");
        assert!((pose.surface_velocity_at([2.0, 0.0, 0.0])[1] - std::f32::consts::PI).abs() < 1e-5);
        let tumbling = Solid { rotation: [0.0, 0.0, 0.0, 1.0], ..rolling };
        assert!(tumbling.pose(1.0, 0.1).distance([0.0, 2.0, 0.0]) < 1e-5, "around its side it turns");
    }

    #[test]
    fn a_turned_and_scaled_box_has_the_right_distance() {
        let shape = Shape::Box { size: [2.0, 1.0, 1.0] };
        let solid =
            Solid { rotation: Solid::turn([0.0, 0.0, 90.0]), scale: 2.0, ..Solid::new(shape, [1.0; 3]) };
        let pose = solid.pose(0.0, 0.0);
        assert!((pose.distance([1.0, 4.0, 1.0]) - 1.0).abs() < 1e-5, "{}", pose.distance([1.0, 4.0, 1.0]));
        assert!((pose.distance([4.0, 1.0, 1.0]) - 2.0).abs() < 1e-5);
    }

    #[test]
    fn invalid_solids_are_reported() {
        let ball = Solid::new(Shape::Sphere { radius: -1.0 }, [0.0; 3]);
        assert!(ball.problem().unwrap().to_string().contains("radius"));
        let keys = vec![(1.0, [0.0; 3]), (1.0, [0.0; 3])];
        let late = Solid { keyframes: keys, ..Solid::new(Shape::Sphere { radius: 1.0 }, [0.0; 3]) };
        assert!(late.problem() == Some(InvalidValue::KeyframesNotRising));
    }
}
