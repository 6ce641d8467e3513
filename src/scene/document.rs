//! The scene file as it is written, without the parameters that have a field: [`super::field_values`] takes those
//! first. Every key is optional, and no other is accepted. A table that holds only such parameters is empty
//! here, and refuses all other keys. [`crate::parameter`] describes the keys; [`super::resolve`] decides the
//! defaults.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use toml::Spanned;

use super::force_tables::Force;
use super::light_tables::Light;
use super::scene_error::unknown;
use super::source_tables::{Fill, Source};
use super::value::{List, Number, Pair, Surface, Vector, Whole, Word, tables};
use crate::field::Field;
use crate::look::CameraProjection;
use crate::parameter::{FluxKind, IntervalKind, PlaceKind, SideKind, SideName, SolidKind, Worded};
use crate::probe;
use crate::solver::{Motion, Slip};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Document {
    pub domain: Domain,
    pub time: Time,
    fluid: Fluid,
    smoke: Smokes,
    turbulence: Turbulence,
    pub source: Option<Vec<Source>>,
    pub force: Vec<Spanned<Force>>,
    pub solid: Vec<Solid>,
    pub light: Vec<Spanned<Light>>,
    pub solver: SolverTable,
    pub initial: Initial,
    pub probe: Vec<Probe>,
    pub render: Render,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Domain {
    pub cells: Option<Spanned<List<Whole, 3>>>,
    pub voxel: Option<Number>,
    pub walls: Option<Spanned<Walls>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Time {
    pub frame_rate: Option<Number>,
    pub step: Option<Spanned<Number>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fluid {}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Turbulence {}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Smokes {
    red: Smoke,
    green: Smoke,
    blue: Smoke,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Smoke {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Solid {
    pub shape: Spanned<SolidShape>,
    pub position: Option<Vector>,
    pub rotation: Option<Vector>,
    pub scale: Option<Number>,
    pub keyframes: Option<Spanned<Vec<Keyframe>>>,
    pub motion: Option<Word<Motion>>,
    pub spin: Option<Vector>,
    pub slip: Option<Word<Slip>>,
    pub temperature: Option<Spanned<Number>>,
    pub color: Option<Surface>,
    pub roughness: Option<Number>,
}

/// An instant \[s\] and a position \[m\].
pub type Keyframe = Pair<Number, Vector>;

tables! {
    pub enum SolidShape: SolidKind {
        Sphere(Ball),
        Box(Block),
        Cylinder(Drum),
        Mesh(Spanned<String>),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ball {
    pub radius: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    pub size: List<Number, 3>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drum {
    pub radius: Number,
    pub height: Number,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SolverTable {
    pub memory_limit: Option<Number>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Initial {
    pub fields: Option<Spanned<String>>,
    pub u: Option<Spanned<Expression>>,
    pub v: Option<Spanned<Expression>>,
    pub w: Option<Spanned<Expression>>,
    pub temperature: Option<Spanned<Expression>>,
    pub red: Option<Spanned<Expression>>,
    pub green: Option<Spanned<Expression>>,
    pub blue: Option<Spanned<Expression>>,
    #[serde(rename = "let")]
    pub definitions: BTreeMap<Spanned<String>, Spanned<Expression>>,
    pub smoke: Vec<Fill>,
}

/// The text of a formula in x, y, z, or a plain number.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression(pub String);

struct ExpressionVisitor;

impl Visitor<'_> for ExpressionVisitor {
    type Value = Expression;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a formula in x, y and z, such as \"sin(x) * cos(y)\", or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Expression, E> {
        Ok(Expression(text.to_owned()))
    }

    fn visit_f64<E: Error>(self, x: f64) -> Result<Expression, E> {
        match x.is_finite() {
            true => Ok(Expression(format!("{x:?}"))),
            false => Err(E::custom(format_args!("{x} is no value for a field"))),
        }
    }

    fn visit_i64<E: Error>(self, x: i64) -> Result<Expression, E> {
        self.visit_f64(x as f64)
    }
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExpressionVisitor)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    pub name: Spanned<String>,
    pub fields: Spanned<Vec<Quantity>>,
    pub at: Spanned<ProbePlace>,
    pub every: Option<Every>,
    pub mean_from: Option<Number>,
}

/// Quantity that a probe measures.
pub struct Quantity(pub probe::ProbeQuantity);

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let field = |name: &str| {
            let word = name.trim();
            // A product is one of fields.
            let fluxes = if word == text { FluxKind::NAMES } else { &[] };
            let known = || Field::NAMES.iter().chain(fluxes).copied();
            Field::from_word(word).ok_or_else(|| D::Error::custom(unknown("value", word, known())))
        };
        Ok(Self(match FluxKind::from_word(&text) {
            Some(FluxKind::Force) => probe::ProbeQuantity::Force,
            Some(FluxKind::Flow) => probe::ProbeQuantity::Flow,
            Some(FluxKind::HeatFlux) => probe::ProbeQuantity::HeatFlux,
            Some(FluxKind::HeatFlow) => probe::ProbeQuantity::HeatFlow,
            Some(FluxKind::Shear) => probe::ProbeQuantity::Shear,
            None => probe::ProbeQuantity::Product(text.split('*').map(field).collect::<Result<_, _>>()?),
        }))
    }
}

tables! {
    /// Interval at which a probe measures.
    pub enum Every: IntervalKind {
        Steps(Whole),
        Seconds(Number),
    }

    /// Place at which a probe measures.
    pub enum ProbePlace: PlaceKind {
        Point(Vector),
        Line(Line),
        Plane(Plane),
        Box(Span),
        Side(Word<SideName>),
        Solid(Whole),
    }

    /// Condition of one side: a word, or a table with its values, as `{ inflow = { velocity = [1, 0, 0] } }`.
    /// Velocities, smoke and temperatures may be formulas in x, y, z and t.
    #[derive(Clone)]
    pub enum BoundaryCondition: SideKind {
        Closed(Insulated),
        NoSlip(Plate),
        Open(Nothing),
        Periodic(Nothing),
        Inflow(Air),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    pub center: Vector,
    pub size: Vector,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    pub from: Vector,
    pub to: Vector,
    pub points: Whole,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plane {
    pub x: Option<Number>,
    pub y: Option<Number>,
    pub z: Option<Number>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Render {
    pub size: Option<Spanned<List<Whole, 2>>>,
    background: Background,
    medium: Medium,
    light: Lights,
    pub environment: Environment,
    pub camera: Camera,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Background {}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Medium {
    second_lobe: Lobe,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lobe {}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lights {}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Environment {
    pub file: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Camera {
    pub position: Option<Spanned<Vector>>,
    pub target: Option<Spanned<Vector>>,
    pub up: Option<Spanned<Vector>>,
    pub fov: Option<Number>,
    pub projection: Option<Word<CameraProjection>>,
    pub aperture: Option<Number>,
    pub focus: Option<Number>,
    pub shutter: Option<Number>,
    pub keyframes: Option<Spanned<Vec<CameraKeyframe>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CameraKeyframe {
    pub time: Number,
    pub position: Option<Vector>,
    pub target: Option<Vector>,
    pub fov: Option<Number>,
}

/// Table of a side without values.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Nothing {}

/// A free-slip wall.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Insulated {
    pub temperature: Option<Spanned<Expression>>,
}

/// A no-slip wall.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plate {
    pub velocity: Option<List<Spanned<Expression>, 3>>,
    pub temperature: Option<Spanned<Expression>>,
}

/// The air of an inflow.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Air {
    pub velocity: Option<List<Spanned<Expression>, 3>>,
    pub red: Option<Spanned<Expression>>,
    pub green: Option<Spanned<Expression>>,
    pub blue: Option<Spanned<Expression>>,
    pub temperature: Option<Spanned<Expression>>,
}

impl BoundaryCondition {
    /// Returns the number or formula of quantity 0 to 6: u, v, w, red, green, blue, temperature.
    pub fn written(&self, quantity: usize) -> Option<&Spanned<Expression>> {
        let none = (&None, [&None; 3], &None);
        let (velocity, colors, temperature) = match self {
            Self::Closed(wall) => (&None, [&None; 3], &wall.temperature),
            Self::NoSlip(wall) => (&wall.velocity, [&None; 3], &wall.temperature),
            Self::Open(_) | Self::Periodic(_) => none,
            Self::Inflow(air) => (&air.velocity, [&air.red, &air.green, &air.blue], &air.temperature),
        };
        match quantity {
            0..3 => velocity.as_ref().map(|list| &list.0[quantity]),
            3..6 => colors[quantity - 3].as_ref(),
            _ => temperature.as_ref(),
        }
    }
}

/// Reads a side; a bare word stands for a table without keys.
fn side<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BoundaryCondition>, D::Error> {
    deserializer.deserialize_any(SideVisitor).map(Some)
}

/// Returns the conditions that need no table, in quotes.
fn bare_words() -> String {
    let bare = SideKind::NAMES.iter().filter(|word| **word != SideKind::Inflow.word());
    bare.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}

struct SideVisitor;

impl<'de> Visitor<'de> for SideVisitor {
    type Value = BoundaryCondition;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}, or a table such as {{ inflow = {{ velocity = [1, 0, 0] }} }}", bare_words())
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<BoundaryCondition, E> {
        match SideKind::from_word(word) {
            Some(SideKind::Closed) => Ok(BoundaryCondition::Closed(Insulated::default())),
            Some(SideKind::NoSlip) => Ok(BoundaryCondition::NoSlip(Plate::default())),
            Some(SideKind::Open) => Ok(BoundaryCondition::Open(Nothing {})),
            Some(SideKind::Periodic) => Ok(BoundaryCondition::Periodic(Nothing {})),
            Some(SideKind::Inflow) => {
                Err(E::custom("an inflow needs its velocity: { inflow = { velocity = [1, 0, 0] } }"))
            }
            None => Err(E::unknown_variant(word, SideKind::NAMES)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<BoundaryCondition, A::Error> {
        BoundaryCondition::deserialize(MapAccessDeserializer::new(map))
    }
}

/// The six sides: one word for all, or a table by axis (`x`) and by side (`x_min`). A side takes precedence
/// over its axis.
#[derive(Clone, Default)]
pub struct Walls {
    /// `[axis][lower, upper]`.
    pub sides: [[Option<BoundaryCondition>; 2]; 3],
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WallTable {
    #[serde(deserialize_with = "side")]
    x: Option<BoundaryCondition>,
    #[serde(deserialize_with = "side")]
    x_min: Option<BoundaryCondition>,
    #[serde(deserialize_with = "side")]
    x_max: Option<BoundaryCondition>,
    #[serde(deserialize_with = "side")]
    y: Option<BoundaryCondition>,
    #[serde(deserialize_with = "side")]
    y_min: Option<BoundaryCondition>,
    #[serde(deserialize_with = "side")]
    y_max: Option<BoundaryCondition>,
    #[serde(deserialize_with = "side")]
    z: Option<BoundaryCondition>,
    #[serde(deserialize_with = "side")]
    z_min: Option<BoundaryCondition>,
    #[serde(deserialize_with = "side")]
    z_max: Option<BoundaryCondition>,
}

impl From<WallTable> for Walls {
    fn from(t: WallTable) -> Self {
        Self {
            sides: [
                [t.x_min.or(t.x.clone()), t.x_max.or(t.x)],
                [t.y_min.or(t.y.clone()), t.y_max.or(t.y)],
                [t.z_min.or(t.z.clone()), t.z_max.or(t.z)],
            ],
        }
    }
}

struct WallsVisitor;

impl<'de> Visitor<'de> for WallsVisitor {
    type Value = Walls;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}, or a table such as {{ y_max = \"open\" }}", bare_words())
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Walls, E> {
        let side = SideVisitor.visit_str(word)?;
        Ok(Walls { sides: std::array::from_fn(|_| std::array::from_fn(|_| Some(side.clone()))) })
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
