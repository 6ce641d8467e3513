//! `[[force]]`: wind, points that attract or repel, vortices.

use serde::Deserialize;
use toml::Spanned;

use super::scene_error::{Problem, one_of};
use super::shapes::{SceneContext, Shape};
use super::source_tables;
use super::value::{Number, Vector, Whole, Word};
use crate::parameter::ForceKind;
use crate::solver::{self, Drive, ForceField, Region};

type Result<T> = std::result::Result<T, Box<Problem>>;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Force {
    wind: Option<Spanned<Wind>>,
    point: Option<Spanned<Point>>,
    vortex: Option<Spanned<Vortex>>,
    acts_on: Option<Word<solver::ActsOn>>,
    within: Option<Spanned<Shape>>,
    start: Option<Number>,
    stop: Option<Spanned<Number>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wind {
    acceleration: Option<Vector>,
    velocity: Option<Vector>,
    rate: Option<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    center: Spanned<Vector>,
    radius: Number,
    acceleration: Number,
    falloff: Option<Whole>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vortex {
    center: Vector,
    axis: Option<Spanned<Vector>>,
    radius: Number,
    acceleration: Option<Number>,
    speed: Option<Number>,
    rate: Option<Number>,
}

/// Default rate at which the air approaches a target velocity \[1/s\].
const RATE: f32 = 1.0;

/// Resolves the forces of the file.
pub fn resolve(list: &[Spanned<Force>], context: SceneContext) -> Result<Vec<solver::Force>> {
    list.iter().map(|read| force(read, context)).collect()
}

fn force(read: &Spanned<Force>, context: SceneContext) -> Result<solver::Force> {
    let force = read.get_ref();
    let (field, drive, acts_on) = match (&force.wind, &force.point, &force.vortex) {
        (Some(read), None, None) => wind(read, context)?,
        (None, Some(read), None) => point(read, context)?,
        (None, None, Some(read)) => vortex(read, context)?,
        _ => {
            let message = format!("force: it is {}", one_of::<ForceKind>());
            return Err(context.text.problem(read.span(), message));
        }
    };
    let [start, stop] = source_tables::times(force.start, force.stop.as_ref(), context.text, "force")?;
    let within =
        force.within.as_ref().map(|shape| context.region(shape, "force.within", true)).transpose()?;
    let acts_on = force.acts_on.map_or(acts_on, |Word(acts_on)| acts_on);
    Ok(solver::Force { field, drive, acts_on, within, start, stop })
}

/// A force without its region and time.
type Kind = (ForceField, Drive, solver::ActsOn);

fn wind(read: &Spanned<Wind>, context: SceneContext) -> Result<Kind> {
    let wind = read.get_ref();
    let (vector, drive) = drive(wind.acceleration, wind.velocity, wind.rate, "velocity")
        .map_err(|message| context.text.problem(read.span(), format!("force.wind: {message}")))?;
    Ok((ForceField::Wind(vector.get()), drive, solver::ActsOn::Air))
}

fn vortex(read: &Spanned<Vortex>, context: SceneContext) -> Result<Kind> {
    let vortex = read.get_ref();
    let (strength, drive) = drive(vortex.acceleration, vortex.speed, vortex.rate, "speed")
        .map_err(|message| context.text.problem(read.span(), format!("force.vortex: {message}")))?;
    let axis = vortex.axis.as_ref().map_or([0.0, 1.0, 0.0], |axis| axis.get_ref().get());
    let length = axis.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length == 0.0 {
        let span = vortex.axis.as_ref().map_or(0..0, Spanned::span);
        return Err(context.text.problem(span, "force.vortex.axis: [0, 0, 0] has no direction"));
    }
    let field = ForceField::Vortex {
        center: vortex.center.get(),
        axis: axis.map(|x| x / length),
        radius: vortex.radius.get(),
        strength: strength.get(),
    };
    Ok((field, drive, solver::ActsOn::Air))
}

/// Combines an optional acceleration and an optional velocity, whose key is `name`.
fn drive<T: Copy>(
    acceleration: Option<T>,
    velocity: Option<T>,
    rate: Option<Number>,
    name: &str,
) -> std::result::Result<(T, Drive), String> {
    match (acceleration, velocity, rate) {
        (Some(vector), None, None) => Ok((vector, Drive::Accelerate)),
        (None, Some(vector), rate) => Ok((vector, Drive::Approach { rate: rate.map_or(RATE, Number::get) })),
        (Some(_), None, Some(_)) => Err(format!("a rate belongs to a {name}; an acceleration has none")),
        _ => Err(format!("give it an acceleration, or a {name} and a rate")),
    }
}

/// Resolves a point force. Its default target is the smoke, because a uniform acceleration of all air moves
/// nothing in a closed box.
fn point(read: &Spanned<Point>, context: SceneContext) -> Result<Kind> {
    let point = read.get_ref();
    let (center, radius) = (point.center.get_ref().get(), point.radius.get());
    context.check(&Region::sphere(center, radius)).map_err(|message| {
        let message = message.replace("the shape", "its sphere");
        context.text.problem(point.center.span(), format!("force.point.center: {message}"))
    })?;
    let falloff = point.falloff.map_or(1, |n| n.get() as u32);
    let field = ForceField::Point { center, radius, falloff, strength: point.acceleration.get() };
    Ok((field, Drive::Accelerate, solver::ActsOn::Smoke))
}
