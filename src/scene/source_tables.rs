//! `[[source]]` and `[[initial.smoke]]`: sources, and regions filled at the start.

use serde::Deserialize;
use toml::Spanned;

use super::scene_error::Problem;
use super::scene_text::Text;
use super::shapes::{self, Noise, SceneContext, Shape};
use super::value::{Number, Vector};
use crate::solver::{self, Config, Region};

type Result<T> = std::result::Result<T, Box<Problem>>;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Source {
    pub shape: Option<Spanned<Shape>>,
    pub emit: Option<Emit>,
    pub velocity: Option<Vector>,
    pub noise: Option<Noise>,
    pub start: Option<Number>,
    pub stop: Option<Spanned<Number>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Emit {
    pub red: Option<Number>,
    pub green: Option<Number>,
    pub blue: Option<Number>,
    pub heat: Option<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    pub shape: Spanned<Shape>,
    pub red: Option<Number>,
    pub green: Option<Number>,
    pub blue: Option<Number>,
    pub temperature: Option<Number>,
    pub velocity: Option<Vector>,
    pub noise: Option<Noise>,
}

/// Resolves the sources of the file. Default: a hot ball near the floor.
pub fn resolve(list: Option<&[Source]>, context: SceneContext) -> Result<Vec<solver::Source>> {
    match list {
        None => Ok(vec![default_source(context.config)]),
        Some(list) => list.iter().map(|read| source(read, context)).collect(),
    }
}

fn default_source(config: &Config) -> solver::Source {
    let [width, height, depth] = config.dims.array().map(|n| n as f32 * config.h);
    let radius = (0.1 * width.min(depth)).max(config.h);
    let center = [0.5 * width, (1.5 * radius).min(0.5 * height), 0.5 * depth];
    solver::Source::new(Region::sphere(center, radius), [4.0, 0.0, 0.0, 60.0])
}

fn source(read: &Source, context: SceneContext) -> Result<solver::Source> {
    let mut source = default_source(context.config);
    if let Some(shape) = &read.shape {
        source.region = context.region(shape, "source.shape", read.velocity.is_some())?;
    }
    if let Some(emit) = &read.emit {
        source.rate = [emit.red, emit.green, emit.blue, emit.heat].map(|rate| rate.map_or(0.0, Number::get));
    }
    source.velocity = read.velocity.map(Vector::get);
    source.noise = read.noise.as_ref().map(shapes::noise);
    [source.start, source.stop] = times(read.start, read.stop.as_ref(), context.text, "source")?;
    Ok(source)
}

/// Returns the first and the last instant of the object at `key`.
pub fn times(
    start: Option<Number>,
    stop: Option<&Spanned<Number>>,
    text: &Text,
    key: &str,
) -> Result<[f32; 2]> {
    let start = start.map_or(0.0, Number::get);
    match stop.map(|stop| (stop.get_ref().get(), stop.span())) {
        None => Ok([start, f32::INFINITY]),
        Some((stop, span)) if stop < start => {
            Err(text.problem(span, format!("{key}.stop: {stop} s is before the start at {start} s")))
        }
        Some((stop, _)) => Ok([start, stop]),
    }
}

/// Resolves the fills of the file.
pub fn fills(list: &[Fill], context: SceneContext) -> Result<Vec<solver::Fill>> {
    list.iter().map(|read| fill(read, context)).collect()
}

fn fill(read: &Fill, context: SceneContext) -> Result<solver::Fill> {
    let smoke = [read.red, read.green, read.blue].map(|value| value.map(Number::get));
    let fill = solver::Fill {
        region: context.region_at_start(&read.shape, "initial.smoke.shape", read.velocity.is_some())?,
        scalars: [smoke[0], smoke[1], smoke[2], read.temperature.map(Number::get)],
        velocity: read.velocity.map(Vector::get),
        noise: read.noise.as_ref().map(shapes::noise),
    };
    if fill.scalars == [None; 4] && fill.velocity.is_none() {
        let message = "initial.smoke: it has no contents; give red, green, blue, temperature or velocity";
        return Err(context.text.problem(read.shape.span(), message));
    }
    Ok(fill)
}
