//! The scene file as it is written: every key, each optional, and nothing else accepted. What the keys
//! mean is in `docs/scene.md`; what an absent key stands for is decided in [`super::resolve`].

use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserializer, MapAccess, Visitor};
use toml::Spanned;

use super::value::{
    AboveZero, Angle, Any, Color, Cosine, Courant, FromZero, Instant, List, Number, Sampling, Share, Stops,
    Whole,
};

/// A position, direction or velocity.
pub type Vector = List<Number<Any>, 3>;
/// Albedo of a surface or a smoke.
pub type Albedo = Color<Share>;
/// Radiance or irradiance.
pub type Light = Color<FromZero>;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Document {
    pub domain: Domain,
    pub time: Time,
    pub fluid: Fluid,
    pub smoke: Smokes,
    pub source: Option<Vec<Source>>,
    pub solver: SolverTable,
    pub render: Render,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Domain {
    pub cells: Option<Spanned<List<Whole<1, 65536>, 3>>>,
    pub voxel: Option<Number<AboveZero>>,
    pub walls: Walls,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Time {
    pub frame_rate: Option<Number<AboveZero>>,
    pub step: Option<Spanned<Number<AboveZero>>>,
    pub cfl: Option<Spanned<Number<Courant>>>,
    pub max_substeps: Option<Spanned<Whole<1, 1000>>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fluid {
    pub heat_buoyancy: Option<Number<Any>>,
    pub cooling: Option<Number<FromZero>>,
    pub vorticity: Option<Number<FromZero>>,
    pub friction: Option<Number<FromZero>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Smokes {
    pub red: Smoke,
    pub green: Smoke,
    pub blue: Smoke,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Smoke {
    pub buoyancy: Option<Number<Any>>,
    pub dissipation: Option<Number<Any>>,
    pub color: Option<Albedo>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Source {
    pub shape: Option<Spanned<Shape>>,
    pub emit: Option<Emit>,
    pub velocity: Option<Vector>,
    pub start: Option<Number<FromZero>>,
    pub stop: Option<Spanned<Number<Instant>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    Sphere(Sphere),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sphere {
    pub center: Spanned<Vector>,
    pub radius: Spanned<Number<AboveZero>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Emit {
    pub red: Option<Number<Any>>,
    pub green: Option<Number<Any>>,
    pub blue: Option<Number<Any>>,
    pub heat: Option<Number<Any>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SolverTable {
    pub advection: Option<Advection>,
    pub threads: Option<Whole<0, 1024>>,
    pub memory_limit: Option<Number<AboveZero>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advection {
    SemiLagrangian,
    Maccormack,
    Cubic,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Render {
    pub size: Option<List<Whole<1, 16384>, 2>>,
    pub samples: Option<Number<Sampling>>,
    pub exposure: Option<Number<Stops>>,
    pub background: Background,
    pub floor: Option<Floor>,
    pub outline: Option<bool>,
    pub medium: Medium,
    pub light: Lights,
    pub camera: Camera,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Background {
    pub top: Option<Light>,
    pub bottom: Option<Light>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Medium {
    pub extinction: Option<Number<FromZero>>,
    pub anisotropy: Option<Number<Cosine>>,
    pub scattering: Option<Scattering>,
    pub glow: Option<Number<FromZero>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scattering {
    Single,
    Octaves,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lights {
    pub direction: Option<Spanned<Vector>>,
    pub sun: Option<Light>,
    pub sky: Option<Light>,
    pub ground: Option<Light>,
    pub resolution: Option<Number<Share>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Camera {
    pub position: Option<Spanned<Vector>>,
    pub target: Option<Spanned<Vector>>,
    pub up: Option<Spanned<Vector>>,
    pub fov: Option<Number<Angle>>,
}

/// What one side does.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    Closed,
    Open,
}

/// The six sides: one word for all, or a table by axis (`x`) and by side (`x_min`), the latter winning.
#[derive(Clone, Copy, Default)]
pub struct Walls {
    /// `[axis][lower, upper]`.
    pub sides: [[Option<Side>; 2]; 3],
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WallTable {
    x: Option<Side>,
    x_min: Option<Side>,
    x_max: Option<Side>,
    y: Option<Side>,
    y_min: Option<Side>,
    y_max: Option<Side>,
    z: Option<Side>,
    z_min: Option<Side>,
    z_max: Option<Side>,
}

impl From<WallTable> for Walls {
    fn from(t: WallTable) -> Self {
        Self {
            sides: [
                [t.x_min.or(t.x), t.x_max.or(t.x)],
                [t.y_min.or(t.y), t.y_max.or(t.y)],
                [t.z_min.or(t.z), t.z_max.or(t.z)],
            ],
        }
    }
}

struct WallsVisitor;

impl<'de> Visitor<'de> for WallsVisitor {
    type Value = Walls;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("\"closed\", \"open\", or a table such as { y_max = \"open\" }")
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Walls, E> {
        let side = Side::deserialize(StrDeserializer::new(word))?;
        Ok(Walls { sides: [[Some(side); 2]; 3] })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Walls, A::Error> {
        WallTable::deserialize(MapAccessDeserializer::new(map)).map(Walls::from)
    }
}

impl<'de> Deserialize<'de> for Walls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WallsVisitor)
    }
}

/// The floor at y = 0: a colour, or `false` for none.
#[derive(Clone, Copy)]
pub struct Floor(pub Option<[f32; 3]>);

struct FloorVisitor;

impl<'de> Visitor<'de> for FloorVisitor {
    type Value = Floor;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a colour ([r, g, b] in linear light or \"#rrggbb\"), or false for no floor")
    }

    fn visit_bool<E: serde::de::Error>(self, shown: bool) -> Result<Floor, E> {
        match shown {
            false => Ok(Floor(None)),
            true => Err(E::custom("give the floor a colour, or false for no floor")),
        }
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Floor, E> {
        Albedo::deserialize(StrDeserializer::new(text)).map(|c| Floor(Some(c.0)))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, seq: A) -> Result<Floor, A::Error> {
        let deserializer = serde::de::value::SeqAccessDeserializer::new(seq);
        Albedo::deserialize(deserializer).map(|c| Floor(Some(c.0)))
    }
}

impl<'de> Deserialize<'de> for Floor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FloorVisitor)
    }
}
