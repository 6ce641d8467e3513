//! `[[light]]`: lights in addition to the sun and the sky of `[render.light]`.

use serde::Deserialize;
use toml::Spanned;

use super::scene_error::{Problem, one_of};
use super::scene_text::Text;
use super::value::{Color, List, Number, Vector};
use crate::look::{self, Emitter};
use crate::parameter::{LightKind, normalized};

type Result<T> = std::result::Result<T, Box<Problem>>;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Light {
    sun: Option<Sun>,
    point: Option<Point>,
    spot: Option<Spot>,
    area: Option<Area>,
    color: Option<Color>,
    strength: Option<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sun {
    direction: Spanned<Vector>,
    size: Option<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    position: Vector,
    radius: Option<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spot {
    position: Vector,
    target: Spanned<Vector>,
    angle: Option<Number>,
    softness: Option<Number>,
    radius: Option<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Area {
    position: Vector,
    target: Spanned<Vector>,
    size: List<Number, 2>,
}

/// Default strength of a light.
const STRENGTH: f32 = 5.0;
/// Default angular diameter of a sun \[degrees\].
const SIZE: f32 = 0.5;
/// Default radius of a ball \[m\].
const RADIUS: f32 = 0.02;
/// Default angle of a cone \[degrees\], and the share of it that is soft.
const ANGLE: f32 = 40.0;
const SOFTNESS: f32 = 0.2;

/// Resolves the lights of the file.
pub fn resolve(list: &[Spanned<Light>], text: &Text) -> Result<Vec<look::Light>> {
    if let Some(extra) = list.get(look::Light::MOST) {
        let message = format!("light: there are {}, and {} is the most", list.len(), look::Light::MOST);
        return Err(text.problem(extra.span(), message));
    }
    list.iter().map(|read| light(read, text)).collect()
}

fn light(read: &Spanned<Light>, text: &Text) -> Result<look::Light> {
    let light = read.get_ref();
    let or = |number: Option<Number>, default| number.map_or(default, Number::get);
    let emitter = match (&light.sun, &light.point, &light.spot, &light.area) {
        (Some(sun), None, None, None) => {
            let direction = normalized(sun.direction.get_ref().get()).ok_or_else(|| {
                text.problem(sun.direction.span(), "light.sun.direction: [0, 0, 0] has no direction")
            })?;
            Emitter::Sun { direction, size: or(sun.size, SIZE) }
        }
        (None, Some(point), None, None) => {
            Emitter::Point { position: point.position.get(), radius: or(point.radius, RADIUS) }
        }
        (None, None, Some(spot), None) => Emitter::Spot {
            position: spot.position.get(),
            target: target(spot.position, &spot.target, "spot", text)?,
            angle: or(spot.angle, ANGLE),
            softness: or(spot.softness, SOFTNESS),
            radius: or(spot.radius, RADIUS),
        },
        (None, None, None, Some(area)) => Emitter::Area {
            position: area.position.get(),
            target: target(area.position, &area.target, "area", text)?,
            size: area.size.0.map(Number::get),
        },
        _ => {
            let message = format!("light: it is {}", one_of::<LightKind>());
            return Err(text.problem(read.span(), message));
        }
    };
    let color = light.color.map_or([1.0; 3], |color| color.0);
    Ok(look::Light { emitter, color, strength: or(light.strength, STRENGTH) })
}

/// Reads a target, which must differ from the position.
fn target(position: Vector, target: &Spanned<Vector>, key: &str, text: &Text) -> Result<[f32; 3]> {
    let (from, to) = (position.get(), target.get_ref().get());
    match normalized(std::array::from_fn(|a| to[a] - from[a])) {
        Some(_) => Ok(to),
        None => {
            let message = format!("light.{key}.target: it is at the position, {from:?}; move one of them");
            Err(text.problem(target.span(), message))
        }
    }
}
