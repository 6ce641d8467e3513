//! Solids in the flow: what they are, where they stand, and what they do to the grid.
//!
//! A solid is a signed distance. From it come the open fractions of the faces (Batty, Bertails & Bridson, "A fast
//! variational framework for accurate solid-fluid coupling", 2007), see [`faces`] and [`voxels`]; values near a solid are
//! carried by traces that do not pass through it, see [`near`]; viscosity and conduction feel its surface, see [`drag`].

mod drag;
mod faces;
mod mesh;
mod near;
mod obstacles;
mod shape;
mod voxels;

use std::sync::Arc;

use nalgebra::{Quaternion, UnitQuaternion, Vector3};

pub use mesh::{Mesh, MeshError};
pub use obstacles::Obstacles;
pub use shape::Shape;

/// How the air moves along a solid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slip {
    /// It glides: only what crosses the surface is stopped.
    #[default]
    Free,
    /// It sticks: the air next to the solid moves with it.
    None,
}

/// A body that air cannot enter.
#[derive(Clone, Debug, PartialEq)]
pub struct Solid {
    /// What it looks like.
    pub shape: Shape,
    /// Where its origin stands \[m\], if no keyframes say so.
    pub position: [f32; 3],
    /// Its turn as a unit quaternion x, y, z, w; see [`Solid::turn`].
    pub rotation: [f32; 4],
    /// How much larger than its shape it is \[-\].
    pub scale: f32,
    /// Instants \[s\], rising, and the positions \[m\] it passes through on straight lines between them. Before the first
    /// and after the last it rests.
    pub keyframes: Vec<(f32, [f32; 3])>,
    /// How the air moves along it.
    pub slip: Slip,
    /// Temperature excess that conduction feels at its surface \[K\]; none: it is insulated.
    pub temperature: Option<f32>,
}

impl Solid {
    /// A still solid of `shape` at `position`.
    pub fn new(shape: Shape, position: [f32; 3]) -> Self {
        Self {
            shape,
            position,
            rotation: [0.0, 0.0, 0.0, 1.0],
            scale: 1.0,
            keyframes: vec![],
            slip: Slip::Free,
            temperature: None,
        }
    }

    /// The rotation by these angles \[degrees\] around x, then y, then z.
    pub fn turn(degrees: [f32; 3]) -> [f32; 4] {
        let [x, y, z] = degrees.map(f32::to_radians);
        let q = UnitQuaternion::from_euler_angles(x, y, z);
        [q.i, q.j, q.k, q.w]
    }

    /// Where its origin is at `time` \[m\].
    pub fn position_at(&self, time: f64) -> [f32; 3] {
        let after = self.keyframes.partition_point(|key| f64::from(key.0) <= time);
        match (after.checked_sub(1).map(|at| self.keyframes[at]), self.keyframes.get(after)) {
            (None, None) => self.position,
            (Some((_, p)), None) | (None, Some(&(_, p))) => p,
            (Some((t0, a)), Some(&(t1, b))) => {
                let t = ((time - f64::from(t0)) / f64::from(t1 - t0)) as f32;
                [0, 1, 2].map(|axis| a[axis] + t * (b[axis] - a[axis]))
            }
        }
    }

    /// The mean velocity at which it moves in the `dt` after `time` \[m/s\].
    pub fn velocity_at(&self, time: f64, dt: f32) -> [f32; 3] {
        let position = self.position_at(time);
        let next = self.position_at(time + f64::from(dt));
        if dt > 0.0 { [0, 1, 2].map(|a| (next[a] - position[a]) / dt) } else { [0.0; 3] }
    }

    /// How it stands at `time`, and the mean velocity at which it moves in the `dt` after that.
    pub fn pose(&self, time: f64, dt: f32) -> SolidPose {
        SolidPose {
            shape: Arc::new(self.shape.clone()),
            position: self.position_at(time),
            rotation: self.rotation,
            scale: self.scale,
            velocity: self.velocity_at(time, dt),
            slip: self.slip,
            temperature: self.temperature,
        }
    }

    /// How far it extends along each axis, down and up, from its position \[m\], as it stands.
    pub fn extent(&self) -> [[f32; 3]; 2] {
        let [low, high] = self.shape.bounds();
        let [x, y, z, w] = self.rotation;
        let turn = UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z));
        let corner = |n: usize| [0, 1, 2].map(|a| if n >> a & 1 == 0 { low[a] } else { high[a] });
        let corners: [[f32; 3]; 8] =
            std::array::from_fn(|n| (turn * Vector3::from(corner(n)) * self.scale).into());
        let along =
            |a: usize, pick: fn(f32, f32) -> f32| corners.iter().map(|c| c[a]).reduce(pick).unwrap_or(0.0);
        [[0, 1, 2].map(|a| along(a, f32::min)), [0, 1, 2].map(|a| along(a, f32::max))]
    }

    /// What makes it impossible, if anything.
    pub fn problem(&self) -> Option<String> {
        let finite = |what: &str, fine: bool| (!fine).then(|| format!("a solid's {what} must be finite"));
        let keys = self.keyframes.iter().all(|(t, p)| t.is_finite() && p.iter().all(|x| x.is_finite()));
        let rising = self.keyframes.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let turn: f32 = self.rotation.iter().map(|x| x * x).sum();
        self.shape
            .problem()
            .or_else(|| finite("position", self.position.iter().all(|x| x.is_finite())))
            .or_else(|| finite("temperature", self.temperature.is_none_or(f32::is_finite)))
            .or_else(|| finite("keyframes", keys))
            .or_else(|| (!rising).then(|| "a solid's keyframes must rise in time".into()))
            .or_else(|| {
                ((turn - 1.0).abs() > 1e-3).then(|| "a solid's rotation must be a unit quaternion".into())
            })
            .or_else(|| {
                let fine = self.scale.is_finite() && self.scale > 0.0;
                (!fine).then(|| format!("a solid's scale of {} cannot be; it must be positive", self.scale))
            })
    }
}

/// A solid at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct SolidPose {
    /// What it looks like.
    pub shape: Arc<Shape>,
    /// Where its origin is \[m\].
    pub position: [f32; 3],
    /// Its turn as a unit quaternion x, y, z, w.
    pub rotation: [f32; 4],
    /// How much larger than its shape it is \[-\].
    pub scale: f32,
    /// How fast it moves \[m/s\].
    pub velocity: [f32; 3],
    /// How the air moves along it.
    pub slip: Slip,
    /// Temperature excess that it holds at its surface \[K\].
    pub temperature: Option<f32>,
}

impl SolidPose {
    /// Signed distance of a point of the world from the surface \[m\].
    pub fn distance(&self, p: [f32; 3]) -> f32 {
        self.scale * self.shape.distance(self.local(p))
    }

    /// Radius of a ball around its position that holds it \[m\].
    pub fn reach(&self) -> f32 {
        self.scale * self.shape.reach()
    }

    /// A point of the world in the coordinates of the shape.
    fn local(&self, p: [f32; 3]) -> [f32; 3] {
        let from: Vector3<f32> = Vector3::from([0, 1, 2].map(|a| p[a] - self.position[a]));
        let [x, y, z, w] = self.rotation;
        // The conjugate turns back: v + 2 q × (q × v + w v) with q negated.
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
    fn a_turned_and_scaled_box_has_the_right_distance() {
        let shape = Shape::Box { size: [2.0, 1.0, 1.0] };
        let solid =
            Solid { rotation: Solid::turn([0.0, 0.0, 90.0]), scale: 2.0, ..Solid::new(shape, [1.0; 3]) };
        let pose = solid.pose(0.0, 0.0);
        assert!((pose.distance([1.0, 4.0, 1.0]) - 1.0).abs() < 1e-5, "{}", pose.distance([1.0, 4.0, 1.0]));
        assert!((pose.distance([4.0, 1.0, 1.0]) - 2.0).abs() < 1e-5);
    }

    #[test]
    fn impossible_solids_say_why() {
        let ball = Solid::new(Shape::Sphere { radius: -1.0 }, [0.0; 3]);
        assert!(ball.problem().unwrap().contains("radius"));
        let keys = vec![(1.0, [0.0; 3]), (1.0, [0.0; 3])];
        let late = Solid { keyframes: keys, ..Solid::new(Shape::Sphere { radius: 1.0 }, [0.0; 3]) };
        assert!(late.problem().unwrap().contains("keyframes"));
    }
}
