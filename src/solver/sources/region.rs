//! Regions of space for sources, fills and forces.

use std::sync::Arc;

use nalgebra::{Quaternion, UnitQuaternion, Vector3};

use super::card::Card;
use super::cloud::Cloud;
use crate::grid::Dims;
use crate::solver::invalid_value::InvalidValue;
use crate::solver::{Config, Shape};

/// Largest coordinate of a box that follows its smoke \[cells\].
pub(in crate::solver) const FARTHEST: f32 = 1e6;

/// Form of a region around its own origin, unscaled.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Form {
    /// The inside of a closed surface.
    Body(Shape),
    /// A picture or a text in the plane z = 0, extruded along z.
    Card(Arc<Card>),
    /// Densities on a grid.
    Cloud(Arc<Cloud>),
}

/// A form with position, rotation and scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// Form around its own origin.
    pub form: Form,
    /// Position of its origin \[m\].
    pub position: [f32; 3],
    /// Rotation as a unit quaternion x, y, z, w; see [`Solid::turn`](crate::solver::Solid::turn).
    pub rotation: [f32; 4],
    /// Scale factor of the form \[-\].
    pub scale: f32,
}

impl Region {
    /// Places `form` with its origin at `position`, neither rotated nor scaled.
    pub fn new(form: Form, position: [f32; 3]) -> Self {
        Self { form, position, rotation: [0.0, 0.0, 0.0, 1.0], scale: 1.0 }
    }

    /// Makes a ball.
    pub fn sphere(center: [f32; 3], radius: f32) -> Self {
        Self::new(Form::Body(Shape::Sphere { radius }), center)
    }

    /// Makes a round plate across `axis`, which may have any length but zero. Without a direction the region is
    /// [invalid](Self::problem).
    pub fn disc(center: [f32; 3], radius: f32, axis: [f32; 3], thickness: f32) -> Self {
        // Opposite directions have no shortest rotation, and need none.
        let form = Form::Body(Shape::Cylinder { radius, height: thickness });
        // Squares of very long and very short axes would overflow.
        let most = axis.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        if !(axis.iter().all(|x| x.is_finite()) && most > 0.0) {
            return Self { rotation: [f32::NAN; 4], ..Self::new(form, center) };
        }
        let axis = Vector3::from(axis.map(|x| x / most));
        let turn = UnitQuaternion::rotation_between(&Vector3::y(), &axis).unwrap_or_default();
        Self { rotation: [turn.i, turn.j, turn.k, turn.w], ..Self::new(form, center) }
    }

    /// The first invalid value, if any.
    pub fn problem(&self) -> Option<InvalidValue> {
        let sizes = match &self.form {
            Form::Body(Shape::Sphere { radius }) => vec![*radius],
            Form::Body(Shape::Box { size }) => size.to_vec(),
            Form::Body(Shape::Cylinder { radius, height }) => vec![*radius, *height],
            Form::Body(Shape::Mesh(_)) => vec![],
            Form::Card(card) => card.size().to_vec(),
            Form::Cloud(cloud) => cloud.size().to_vec(),
        };
        let size = |x: f32| InvalidValue::unless_positive("region", "size", x, " m");
        sizes
            .into_iter()
            .find_map(size)
            .or_else(|| InvalidValue::unless_positive("region", "scale", self.scale, ""))
            .or_else(|| InvalidValue::unless_finite("region", "position", &self.position))
            .or_else(|| {
                let is_lost = self.rotation.iter().any(|x| x.is_nan());
                is_lost.then_some(InvalidValue::NoDirection { of: "region" })
            })
            .or_else(|| InvalidValue::unless_unit("region", self.rotation))
    }

    /// Its three axes in the world: the rows of the matrix that rotates world coordinates into its own.
    pub(super) fn axes(&self) -> [[f32; 3]; 3] {
        let [x, y, z, w] = self.rotation;
        let turn = UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z));
        [Vector3::x(), Vector3::y(), Vector3::z()].map(|axis| (turn * axis).into())
    }

    /// Half the edges of its bounding box along its own axes \[m\].
    pub(super) fn half(&self) -> [f32; 3] {
        let half = match &self.form {
            Form::Body(Shape::Box { size }) => size.map(|x| 0.5 * x),
            Form::Body(Shape::Cylinder { radius, height }) => [*radius, 0.5 * height, *radius],
            Form::Body(shape) => [shape.bounding_radius(); 3],
            Form::Card(card) => card.size().map(|x| 0.5 * x),
            Form::Cloud(cloud) => cloud.size().map(|x| 0.5 * x),
        };
        half.map(|x| x * self.scale)
    }

    /// Half the edges of its bounding box along the world's axes \[m\].
    pub(in crate::solver) fn half_extent(&self) -> [f32; 3] {
        let (axes, half) = (self.axes(), self.half());
        [0, 1, 2].map(|a| (0..3).map(|own| axes[own][a].abs() * half[own]).sum())
    }

    /// Lowest and highest corner of the box around what it fills, along the world's axes from its position \[m\].
    pub(in crate::solver) fn filled(&self) -> [[f32; 3]; 2] {
        let [low, high] = match &self.form {
            Form::Cloud(cloud) => cloud.filled().map(|corner| corner.map(|x| x * self.scale)),
            _ => [self.half().map(|x| -x), self.half()],
        };
        let axes = self.axes();
        let bound = |a: usize, most: fn(f32, f32) -> f32| {
            (0..3).map(|own| most(axes[own][a] * low[own], axes[own][a] * high[own])).sum::<f32>()
        };
        [[0, 1, 2].map(|a| bound(a, f32::min)), [0, 1, 2].map(|a| bound(a, f32::max))]
    }

    /// The box of `config`; if it follows its smoke, as large as it must become to hold the region.
    pub fn box_around(&self, config: &Config) -> Config {
        let (n, origin, [low, high]) = (config.dims.array(), config.origin, self.filled());
        let sides: [[i32; 2]; 3] = [0, 1, 2].map(|a| {
            let cell = |x: f32| (x / config.h).clamp(-FARTHEST, FARTHEST);
            let least = cell(self.position[a] + low[a]).floor() as i32;
            let most = cell(self.position[a] + high[a]).ceil() as i32;
            // No side sinks below y = 0.
            let least = if a == 1 { least.max(0) } else { least };
            let now = [origin[a], origin[a] + n[a] as i32];
            [
                if config.moves(a, 0) { now[0].min(least) } else { now[0] },
                if config.moves(a, 1) { now[1].max(most) } else { now[1] },
            ]
        });
        let [nx, ny, nz] = sides.map(|[low, high]| (high - low) as usize);
        Config { dims: Dims { nx, ny, nz }, origin: sides.map(|[low, _]| low), ..config.clone() }
    }

    /// Whether red, green and blue fill it differently.
    pub(super) fn is_colored(&self) -> bool {
        matches!(&self.form, Form::Card(card) if card.is_colored())
    }
}
