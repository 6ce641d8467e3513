//! Regions of space: where a source works, what is filled at the start, where a force acts.

use std::sync::Arc;

use nalgebra::{Quaternion, UnitQuaternion, Vector3};

use super::card::Card;
use crate::solver::Shape;
use crate::solver::error::InvalidValue;

/// What a region looks like, around its own origin and unscaled.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// All that is inside a closed surface.
    Body(Shape),
    /// A picture or a text in the plane z = 0, extruded along z.
    Card(Arc<Card>),
}

/// A form at its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// What it looks like.
    pub form: Form,
    /// Where its origin is \[m\].
    pub position: [f32; 3],
    /// Its turn as a unit quaternion x, y, z, w; see [`Solid::turn`](crate::solver::Solid::turn).
    pub rotation: [f32; 4],
    /// How much larger than its form it is \[-\].
    pub scale: f32,
}

impl Region {
    /// `form` with its origin at `position`, neither turned nor scaled.
    pub fn new(form: Form, position: [f32; 3]) -> Self {
        Self { form, position, rotation: [0.0, 0.0, 0.0, 1.0], scale: 1.0 }
    }

    /// A ball.
    pub fn sphere(center: [f32; 3], radius: f32) -> Self {
        Self::new(Form::Body(Shape::Sphere { radius }), center)
    }

    /// A round plate across `axis`, of any length but zero.
    pub fn disc(center: [f32; 3], radius: f32, axis: [f32; 3], thickness: f32) -> Self {
        // Of two opposite directions there is no shortest turn, and none is needed.
        let turn = UnitQuaternion::rotation_between(&Vector3::y(), &Vector3::from(axis)).unwrap_or_default();
        let form = Form::Body(Shape::Cylinder { radius, height: thickness });
        Self { rotation: [turn.i, turn.j, turn.k, turn.w], ..Self::new(form, center) }
    }

    /// What makes it impossible, if anything.
    pub fn problem(&self) -> Option<InvalidValue> {
        let sizes = match &self.form {
            Form::Body(Shape::Sphere { radius }) => vec![*radius],
            Form::Body(Shape::Box { size }) => size.to_vec(),
            Form::Body(Shape::Cylinder { radius, height }) => vec![*radius, *height],
            Form::Body(Shape::Mesh(_)) => vec![],
            Form::Card(card) => card.size().to_vec(),
        };
        let size = |x: f32| InvalidValue::unless_positive("region", "size", x, " m");
        sizes
            .into_iter()
            .find_map(size)
            .or_else(|| InvalidValue::unless_positive("region", "scale", self.scale, ""))
            .or_else(|| InvalidValue::unless_finite("region", "position", &self.position))
            .or_else(|| InvalidValue::unless_unit("region", self.rotation))
    }

    /// Its own three axes in the world, which are the rows of the matrix that turns the world into its coordinates.
    pub(super) fn axes(&self) -> [[f32; 3]; 3] {
        let [x, y, z, w] = self.rotation;
        let turn = UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z));
        [Vector3::x(), Vector3::y(), Vector3::z()].map(|axis| (turn * axis).into())
    }

    /// Half the edges of the box around the origin that holds the form, along its own axes \[m\].
    pub(super) fn half(&self) -> [f32; 3] {
        let half = match &self.form {
            Form::Body(Shape::Box { size }) => size.map(|x| 0.5 * x),
            Form::Body(Shape::Cylinder { radius, height }) => [*radius, 0.5 * height, *radius],
            Form::Body(shape) => [shape.reach(); 3],
            Form::Card(card) => card.size().map(|x| 0.5 * x),
        };
        half.map(|x| x * self.scale)
    }

    /// Half the edges of the box with edges along the world's axes that holds the region \[m\].
    pub(super) fn reach(&self) -> [f32; 3] {
        let (axes, half) = (self.axes(), self.half());
        [0, 1, 2].map(|a| (0..3).map(|own| axes[own][a].abs() * half[own]).sum())
    }

    /// Whether red, green and blue fill it differently.
    pub(super) fn is_colored(&self) -> bool {
        matches!(&self.form, Form::Card(card) if card.is_colored())
    }
}
