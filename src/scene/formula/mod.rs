//! Formulas of a scene in x, y and z, and on sides in the time t. They are compiled once, then evaluated for
//! 64 points at a time.
//!
//! The notation is that of mathematics: `-x^2` is −(x²), `2^3^2` is 2^(3²), and a comparison is 1 if it holds
//! and 0 otherwise. There are no branches, so a row of points takes plain loops; `if(c, a, b)` computes both
//! values and selects one. Errors name the faulty characters.

mod lex;
mod parse;

use std::ops::Range;

pub use parse::{Definitions, check_name, parse, parse_in_time};

/// Points evaluated together.
pub const WIDTH: usize = 64;

/// One number for each of the points.
pub type Wide = [f64; WIDTH];

/// Coordinates: the first slots of a program.
const AXES: usize = 3;

/// The slot of the time, after which those of definitions begin.
const TIME: usize = AXES;

/// An error in a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Name of the faulty definition; `None` for the formula itself.
    pub definition: Option<String>,
    /// Faulty bytes, in the text of the formula or of that definition.
    pub at: Range<usize>,
    /// The fault and its remedy, in words.
    pub message: String,
}

/// A compiled formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    code: Vec<Op>,
    /// Number of stored values, with the coordinates.
    slots: usize,
    /// Greatest depth of the stack.
    depth: usize,
    /// Whether it depends on x, y, z.
    uses: [bool; AXES],
}

/// An instruction for a machine with a stack and numbered slots.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Number(f64),
    /// Pushes the value of a slot.
    Load(usize),
    /// Copies the top of the stack to a slot.
    Keep(usize),
    /// Replaces the top by a function of [`UNARY`].
    One(usize),
    /// Replaces the top two by a function of [`BINARY`].
    Two(usize),
    /// Replaces condition, value and alternative by the selected one.
    Pick,
}

/// A function of one number, by name.
type Unary = (&'static str, fn(f64) -> f64);
/// A function of two numbers, by name.
type Binary = (&'static str, fn(f64, f64) -> f64);

/// The functions of one number.
const UNARY: &[Unary] = &[
    ("-", |a| -a),
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tan", f64::tan),
    ("asin", f64::asin),
    ("acos", f64::acos),
    ("atan", f64::atan),
    ("sinh", f64::sinh),
    ("cosh", f64::cosh),
    ("tanh", f64::tanh),
    ("exp", f64::exp),
    ("ln", f64::ln),
    ("sqrt", f64::sqrt),
    ("abs", f64::abs),
    ("floor", f64::floor),
];

/// Functions and operators of two numbers.
const BINARY: &[Binary] = &[
    ("+", |a, b| a + b),
    ("-", |a, b| a - b),
    ("*", |a, b| a * b),
    ("/", |a, b| a / b),
    ("^", f64::powf),
    ("<", |a, b| f64::from(a < b)),
    ("<=", |a, b| f64::from(a <= b)),
    (">", |a, b| f64::from(a > b)),
    (">=", |a, b| f64::from(a >= b)),
    ("min", f64::min),
    ("max", f64::max),
    ("atan2", f64::atan2),
    ("mod", f64::rem_euclid),
];

/// Named constants.
const CONSTANTS: &[(&str, f64)] = &[("pi", std::f64::consts::PI), ("e", std::f64::consts::E)];

/// Scratch memory of one thread that evaluates formulas.
#[derive(Default)]
pub struct Scratch {
    slots: Vec<Wide>,
    stack: Vec<Wide>,
}

impl Formula {
    /// Returns the number of instructions.
    pub fn length(&self) -> usize {
        self.code.len()
    }

    /// Returns whether it depends on x, y, z.
    pub fn uses(&self) -> [bool; AXES] {
        self.uses
    }

    /// Returns the values at 64 points with these x, y and z \[m\].
    pub fn evaluate<'s>(&self, at: [&Wide; AXES], scratch: &'s mut Scratch) -> &'s Wide {
        self.evaluate_in_time(at, 0.0, scratch)
    }

    /// Returns the values at the instant `time` \[s\].
    pub fn evaluate_in_time<'s>(&self, at: [&Wide; AXES], time: f64, scratch: &'s mut Scratch) -> &'s Wide {
        let Scratch { slots, stack } = scratch;
        slots.resize(slots.len().max(self.slots), [0.0; WIDTH]);
        stack.resize(stack.len().max(self.depth), [0.0; WIDTH]);
        for (slot, at) in slots.iter_mut().zip(at) {
            *slot = *at;
        }
        slots[TIME] = [time; WIDTH];
        let mut top = 0;
        for op in &self.code {
            top = op.run(slots, stack, top);
        }
        &stack[0]
    }
}

impl Op {
    /// Runs the instruction with `top` values on the stack. Returns the new number of values.
    fn run(self, slots: &mut [Wide], stack: &mut [Wide], top: usize) -> usize {
        let (below, above) = stack.split_at_mut(top);
        match self {
            Self::Number(x) => above[0] = [x; WIDTH],
            Self::Load(slot) => above[0] = slots[slot],
            Self::Keep(slot) => slots[slot] = below[top - 1],
            Self::One(f) => below[top - 1] = below[top - 1].map(UNARY[f].1),
            Self::Two(f) => {
                let [.., a, b] = below else { unreachable!("two operands") };
                a.iter_mut().zip(b).for_each(|(a, b)| *a = BINARY[f].1(*a, *b));
            }
            Self::Pick => {
                let [.., c, a, b] = below else { unreachable!("a condition and two values") };
                c.iter_mut()
                    .zip(a.iter().zip(b))
                    .for_each(|(c, (a, b))| *c = if *c != 0.0 { *a } else { *b });
            }
        }
        top.strict_add_signed(self.growth())
    }

    /// Returns the change of the stack's height.
    fn growth(self) -> isize {
        match self {
            Self::Number(_) | Self::Load(_) => 1,
            Self::Keep(_) | Self::One(_) => 0,
            Self::Two(_) => -1,
            Self::Pick => -2,
        }
    }
}

#[cfg(test)]
mod tests;
