//! `[domain] walls`: boundary conditions of the six sides, as constants and as formulas of place and time.

use std::ops::RangeInclusive;
use std::sync::Arc;

use toml::Spanned;

use super::document::{self, Walls};
use super::formula::{self, Formula, Scratch, WIDTH, Wide};
use super::initial::within;
use super::scene_error::Problem;
use super::scene_text::Text;
use crate::parameter::{self, SideName, Worded};
use crate::solver::{BoundaryCondition, Config, Inflow, Profile, SideValues};

type Result<T> = std::result::Result<T, Box<Problem>>;

/// Boundary conditions of the sides.
pub struct Sides {
    /// `[axis][lower, upper]`.
    pub conditions: [[BoundaryCondition; 2]; 3],
    /// Temperatures of the walls \[K\].
    pub held: [[Option<f32>; 2]; 3],
    /// Quantities that vary in place or time.
    pub formulas: Vec<SideFormulas>,
}

/// Formulas of one side: of u, v, w, red, green, blue and temperature, by their numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct SideFormulas {
    axis: usize,
    end: usize,
    formulas: Vec<(usize, Formula)>,
}

impl SideFormulas {
    /// Returns whether these are of the lower (0) or upper (1) side along `axis`.
    pub fn is_of(&self, axis: usize, end: usize) -> bool {
        (self.axis, self.end) == (axis, end)
    }

    /// Returns the formulas as a profile of the solver.
    pub fn profile(&self) -> Profile {
        Profile { axis: self.axis, end: self.end, values: Arc::new(self.clone()) }
    }
}

impl SideValues for SideFormulas {
    fn gives(&self, quantity: usize) -> bool {
        self.formulas.iter().any(|(of, _)| *of == quantity)
    }

    fn fill(&self, quantity: usize, time: f64, at: &[[f32; 3]], out: &mut [f32]) {
        let Some((_, formula)) = self.formulas.iter().find(|(of, _)| *of == quantity) else { return };
        let mut scratch = Scratch::default();
        for (at, out) in at.chunks(WIDTH).zip(out.chunks_mut(WIDTH)) {
            let wide: [Wide; 3] =
                std::array::from_fn(|a| std::array::from_fn(|l| f64::from(at[l.min(at.len() - 1)][a])));
            let values = formula.evaluate_in_time(wide.each_ref(), time, &mut scratch);
            out.iter_mut().zip(values).for_each(|(out, value)| *out = *value as f32);
        }
    }

    fn range(&self, quantity: usize) -> RangeInclusive<f32> {
        range(quantity)
    }
}

/// Resolves the sides of `walls`. By default the top is open and all other sides are closed.
pub fn resolve(walls: Option<&Spanned<Walls>>, text: &Text) -> Result<Sides> {
    let closed = [BoundaryCondition::Closed; 2];
    let mut sides = Sides {
        conditions: [closed, [BoundaryCondition::Closed, BoundaryCondition::Open], closed],
        held: [[None; 2]; 3],
        formulas: vec![],
    };
    let wrong = |message| text.problem(walls.map_or(0..0, Spanned::span), format!("domain.walls: {message}"));
    for side in 0..6 {
        let (axis, end) = (side / 2, side % 2);
        if let Some(read) = walls.and_then(|walls| walls.get_ref().sides[axis][end].as_ref()) {
            let mut values = Values { axis, end, formulas: vec![] };
            (sides.conditions[axis][end], sides.held[axis][end]) = values.side(read, text)?;
            let Values { formulas, .. } = values;
            sides.formulas.extend((!formulas.is_empty()).then_some(SideFormulas { axis, end, formulas }));
        }
    }
    check(&sides).map_err(wrong)?;
    Ok(sides)
}

/// A value out of the range of its quantity.
pub struct WrongValue<'a> {
    side: &'a SideFormulas,
    quantity: usize,
    /// Position, instant, value and range, in words.
    pub message: String,
}

/// Returns the first value out of its range that formulas give at an instant \[s\], at some points of the
/// sides of a box.
pub fn wrong_value<'a>(sides: &'a [SideFormulas], config: &Config, time: f64) -> Option<WrongValue<'a>> {
    let extent = config.dims.array().map(|n| n as f32 * config.h);
    let share = |n: usize| n as f32 / 8.0;
    sides.iter().find_map(|side| {
        let others = [(side.axis + 1) % 3, (side.axis + 2) % 3];
        let point = |n: usize| {
            let mut at = [side.end as f32 * extent[side.axis]; 3];
            others.into_iter().zip([n % 9, n / 9]).for_each(|(a, part)| at[a] = share(part) * extent[a]);
            at
        };
        let points: Vec<[f32; 3]> = (0..81).map(point).collect();
        let mut values = vec![0.0; points.len()];
        side.formulas.iter().find_map(|&(quantity, _)| {
            side.fill(quantity, time, &points, &mut values);
            let range = range(quantity);
            let at = values.iter().position(|value| !range.contains(value))?;
            let message = format!(
                "domain.walls: {}: the formula of {} gives {:?} at {:?} m and {time} s; it may be {} to {}",
                name(side.axis, side.end),
                NAMES[quantity],
                values[at],
                points[at],
                range.start(),
                range.end()
            );
            Some(WrongValue { side, quantity, message })
        })
    })
}

/// Fails if formulas give a value out of range at the start.
pub fn check_values(
    walls: Option<&Spanned<Walls>>,
    sides: &[SideFormulas],
    config: &Config,
    text: &Text,
) -> Result<()> {
    let Some(WrongValue { side, quantity, message }) = wrong_value(sides, config, 0.0) else { return Ok(()) };
    let read = walls.and_then(|walls| walls.get_ref().sides[side.axis][side.end].as_ref());
    let span = read.and_then(|read| read.written(quantity)).map(Spanned::span).or(walls.map(Spanned::span));
    Err(text.problem(span.unwrap_or(0..0), message))
}

const NAMES: [&str; 7] =
    ["velocity along x", "velocity along y", "velocity along z", "red", "green", "blue", "temperature"];

/// Returns the valid range of a quantity.
fn range(quantity: usize) -> RangeInclusive<f32> {
    let path = match quantity {
        0..3 => "side.inflow.velocity",
        3..6 => "side.inflow.red",
        _ => "side.inflow.temperature",
    };
    parameter::find(path).map_or(-1e4..=1e4, |parameter| parameter.hard.clone())
}

/// Returns the name of a side, such as `x_min`.
fn name(axis: usize, end: usize) -> &'static str {
    SideName::ALL[axis][end].word()
}

/// Collects the formulas of one side while its constants are read.
struct Values {
    axis: usize,
    end: usize,
    formulas: Vec<(usize, Formula)>,
}

impl Values {
    fn side(
        &mut self,
        read: &document::BoundaryCondition,
        text: &Text,
    ) -> Result<(BoundaryCondition, Option<f32>)> {
        let mut held = [None; 7];
        for (quantity, held) in held.iter_mut().enumerate() {
            *held = self.held(quantity, read, text)?;
        }
        let [u, v, w, red, green, blue, temperature] = held.map(Option::unwrap_or_default);
        let velocity = [u, v, w];
        let condition = match read {
            document::BoundaryCondition::Closed(_) => BoundaryCondition::Closed,
            document::BoundaryCondition::NoSlip(_) => BoundaryCondition::NoSlip(velocity),
            document::BoundaryCondition::Open(_) => BoundaryCondition::Open,
            document::BoundaryCondition::Periodic(_) => BoundaryCondition::Periodic,
            document::BoundaryCondition::Inflow(_) => {
                let scalars = [red, green, blue, temperature];
                return Ok((BoundaryCondition::Inflow(Inflow { velocity, scalars }), None));
            }
        };
        Ok((condition, held[6]))
    }

    /// Returns the constant of a quantity, or 0 if it has a formula.
    fn held(
        &mut self,
        quantity: usize,
        read: &document::BoundaryCondition,
        text: &Text,
    ) -> Result<Option<f32>> {
        let Some(expression) = read.written(quantity) else { return Ok(None) };
        let written = &expression.get_ref().0;
        // Numbers have been checked against their ranges.
        if let Some(constant) = written.parse::<f32>().ok().filter(|x| range(quantity).contains(x)) {
            return Ok(Some(constant));
        }
        let formula = formula::parse_in_time(written).map_err(|fault| {
            let side = name(self.axis, self.end);
            let message = format!("domain.walls: {side}: `{written}`: {}", fault.message);
            text.problem(within(expression, &fault.at, text), message)
        })?;
        self.formulas.push((quantity, formula));
        Ok(Some(0.0))
    }
}

fn check(sides: &Sides) -> std::result::Result<(), String> {
    for axis in 0..3 {
        let axis_name = ["x", "y", "z"][axis];
        let [low, high] = sides.conditions[axis].map(|side| side == BoundaryCondition::Periodic);
        if low != high {
            let (is, not) = if low { (0, 1) } else { (1, 0) };
            return Err(format!(
                "{} is periodic and {} is not; write {axis_name} = \"periodic\"",
                name(axis, is),
                name(axis, not)
            ));
        }
        for end in 0..2 {
            let BoundaryCondition::NoSlip(velocity) = sides.conditions[axis][end] else { continue };
            let varies =
                sides.formulas.iter().any(|side| (side.axis, side.end) == (axis, end) && side.gives(axis));
            if velocity[axis] != 0.0 || varies {
                return Err(format!(
                    "{} cannot move across itself; its velocity along {axis_name} must be 0",
                    name(axis, end)
                ));
            }
        }
    }
    Ok(())
}
