//! `[[probe]]`: checked regions and names.

use toml::Spanned;

use super::document;
use super::scene_error::{Problem, six_digits};
use super::scene_text::Text;
use super::value::{Number, Vector, Word};
use crate::field::Field;
use crate::probe::{Every, Probe, ProbePlace, ProbeQuantity};
use crate::solver::{BoundaryCondition, Config, Solid};

/// Resolves the probes of a scene with `config` and `solids`.
pub fn resolve(
    list: &[document::Probe],
    text: &Text,
    config: &Config,
    solids: &[Solid],
) -> Result<Vec<Probe>, Box<Problem>> {
    let region = Region::of(config);
    let mut probes: Vec<Probe> = Vec::with_capacity(list.len());
    for read in list {
        let wrong = |span, message: String| text.problem(span, format!("probe.{message}"));
        let mut others = probes.iter().map(|probe| probe.name.as_str());
        let taken = others.find(|other| other.eq_ignore_ascii_case(read.name.get_ref()));
        check_name(read.name.get_ref(), taken).map_err(|message| wrong(read.name.span(), message))?;
        if read.fields.get_ref().is_empty() {
            return Err(wrong(read.fields.span(), "fields: name at least one field".into()));
        }
        let place =
            place(&read.at, &region, solids.len()).map_err(|message| wrong(read.at.span(), message))?;
        let quantities: Vec<ProbeQuantity> =
            read.fields.get_ref().iter().map(|read| read.0.clone()).collect();
        if let Some(message) = quantities.iter().find_map(|quantity| problem(quantity, place, config, solids))
        {
            return Err(wrong(read.fields.span(), format!("fields: {message}")));
        }
        let every = match read.every {
            None => Every::usual(place),
            Some(document::Every::Steps(count)) => Every::Steps(count.get() as u32),
            Some(document::Every::Seconds(span)) => Every::Seconds(span.get()),
        };
        let (name, mean_from) = (read.name.get_ref().clone(), read.mean_from.map(Number::get));
        probes.push(Probe { name, quantities, place, every, mean_from });
    }
    Ok(probes)
}

/// Greatest length of a name: file systems take 255 characters, and a prefix and an extension are added.
const LONGEST_NAME: usize = 100;

/// Checks a name, which becomes part of a file name. `taken` is the name of another probe, if it is the same but for the case of letters.
fn check_name(name: &str, taken: Option<&str>) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if let Some(other) = taken.filter(|other| *other != name) {
        return Err(format!(
            "name: another probe is called `{other}`, and where file names do not tell `A` from `a` it has the same files; give one another name"
        ));
    }
    match name {
        _ if taken == Some(name) => Err(format!("name: another probe is called `{name}` already")),
        "" => Err("name: a probe needs a name".into()),
        name if name.len() > LONGEST_NAME => Err(format!(
            "name: it has {} characters and becomes part of a file name; at most {LONGEST_NAME} are allowed",
            name.len()
        )),
        name if name.chars().all(plain) => Ok(()),
        _ => Err(format!("name: `{name}` becomes part of a file name; use letters, digits, - and _")),
    }
}

/// Returns the reason that a quantity cannot be measured at a place, if it cannot.
fn problem(quantity: &ProbeQuantity, place: ProbePlace, config: &Config, solids: &[Solid]) -> Option<String> {
    let side = match place {
        ProbePlace::Side { axis, end } => Some((config.sides[axis][end], config.held[axis][end].is_some())),
        _ => None,
    };
    let message = match (quantity, place, side) {
        (ProbeQuantity::Force, ProbePlace::Solid(_), _) => return None,
        (ProbeQuantity::Force, ..) => "`force` acts on a solid; write at = { solid = 0 }",
        (ProbeQuantity::Product(fields), ProbePlace::Solid(_), _) => {
            let name = fields.first().map_or("field", |field| field.name());
            return Some(format!("a solid has no `{name}`; write [\"force\"] or [\"heat_flow\"]"));
        }
        (ProbeQuantity::HeatFlow, ProbePlace::Solid(solid), _) if solids[solid].temperature.is_some() => {
            return None;
        }
        (ProbeQuantity::HeatFlow, ProbePlace::Solid(_), _) => {
            "`heat_flow` comes from a solid that holds a temperature"
        }
        (ProbeQuantity::HeatFlow, ..) => "`heat_flow` comes from a solid; write at = { solid = 0 }",
        (_, ProbePlace::Solid(_), _) => {
            "of a solid there are the force and its heat alone; write [\"force\"] or [\"heat_flow\"]"
        }
        (ProbeQuantity::Product(fields), ..) if config.frozen && fields.contains(&Field::Pressure) => {
            "a frozen flow has no `pressure`"
        }
        (ProbeQuantity::Product(_), ..) | (ProbeQuantity::Flow, ProbePlace::Plane { .. }, _) => return None,
        (ProbeQuantity::Flow, ..) => "`flow` goes through a plane; write at = { plane = { x = 0.5 } }",
        (ProbeQuantity::HeatFlux, _, Some((_, true))) => return None,
        (ProbeQuantity::HeatFlux, _, Some(_)) => "`heat_flux` comes from a wall that holds a temperature",
        (ProbeQuantity::Shear, _, Some((BoundaryCondition::NoSlip(_), _))) => return None,
        (ProbeQuantity::Shear, _, Some(_)) => "`shear` acts on a no-slip wall",
        (ProbeQuantity::HeatFlux | ProbeQuantity::Shear, ..) => {
            "`heat_flux` and `shear` are those of a wall; write at = { side = \"y_min\" }"
        }
    };
    Some(message.into())
}

/// Region where there may be air at some time.
struct Region {
    /// Size of the box at the start \[m\].
    extent: [f32; 3],
    /// Lowest and highest coordinates \[m\]: those of the box, infinite where an open side follows the smoke.
    limits: [[f32; 2]; 3],
}

impl Region {
    fn of(config: &Config) -> Self {
        let extent = config.dims.array().map(|n| n as f32 * config.h);
        Self { extent, limits: config.reach().map(|[low, high]| [low, high * 1.0001]) }
    }

    /// Returns whether it overlaps the range between two coordinates along an axis.
    fn meets(&self, axis: usize, [from, to]: [f32; 2]) -> bool {
        let [low, high] = self.limits[axis];
        to >= low && from <= high
    }
}

fn place(read: &Spanned<document::ProbePlace>, region: &Region, solids: usize) -> Result<ProbePlace, String> {
    match read.get_ref() {
        document::ProbePlace::Point(p) => inside(*p, region).map(ProbePlace::Point),
        document::ProbePlace::Line(line) => Ok(ProbePlace::Line {
            from: inside(line.from, region)?,
            to: inside(line.to, region)?,
            points: line.points.get() as u32,
        }),
        document::ProbePlace::Plane(plane) => across(plane, region),
        document::ProbePlace::Box(span) => {
            let (center, size) = (span.center.get(), span.size.get());
            let [low, high] = [-0.5, 0.5].map(|half| [0, 1, 2].map(|a| center[a] + half * size[a]));
            let misses = (0..3).any(|a| !region.meets(a, [low[a], high[a]]));
            match misses {
                true => Err(format!(
                    "at: the box from {:?} to {:?} misses the domain, [0, 0, 0] to {:?} metres",
                    low.map(six_digits),
                    high.map(six_digits),
                    region.extent.map(six_digits)
                )),
                false => Ok(ProbePlace::Box { low, high }),
            }
        }
        document::ProbePlace::Side(Word(side)) => {
            let [axis, end] = side.axis_and_end();
            Ok(ProbePlace::Side { axis, end })
        }
        document::ProbePlace::Solid(solid) => {
            let solid = solid.get() as usize;
            let known = format!("at: there is no solid {solid}; the scene has {solids}, counted from 0");
            if solid < solids { Ok(ProbePlace::Solid(solid)) } else { Err(known) }
        }
    }
}

fn inside(p: Vector, region: &Region) -> Result<[f32; 3], String> {
    let p = p.get();
    let holds = (0..3).all(|a| region.meets(a, [p[a]; 2]));
    let extent = region.extent.map(six_digits);
    holds.then_some(p).ok_or_else(|| format!("at: {p:?} is outside the box, [0, 0, 0] to {extent:?} metres"))
}

fn across(plane: &document::Plane, region: &Region) -> Result<ProbePlace, String> {
    let given = [plane.x, plane.y, plane.z].map(|at| at.map(Number::get));
    let mut axes = (0..3).filter_map(|axis| given[axis].map(|at| (axis, at)));
    match (axes.next(), axes.next()) {
        (Some((axis, at)), None) if region.meets(axis, [at; 2]) => Ok(ProbePlace::Plane { axis, at }),
        (Some((axis, at)), None) => Err(format!(
            "at: a plane at {at} m misses the box, which is {} m long along that axis",
            six_digits(region.extent[axis])
        )),
        _ => Err("at: a plane is { x = … }, { y = … } or { z = … }, one of them".into()),
    }
}
