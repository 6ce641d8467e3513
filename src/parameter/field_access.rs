//! The field behind a parameter, read and set as a [`Value`].

use super::Parameter;
use super::words::{MEAN, Worded};
use crate::grid::Dims;
use crate::look::Look;
use crate::solver::{Ambient, Config, Params, TraceOrder};

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f32),
    /// A colour, a vector or a direction.
    Triple([f32; 3]),
    /// A whole number.
    Whole(u32),
    /// A switch. `false` also means no colour.
    Flag(bool),
    /// A word.
    Word(&'static str),
}

/// Getter and setter of a field of `T`.
#[derive(Debug)]
pub struct Access<T> {
    get: fn(&T, usize) -> Value,
    set: fn(&mut T, usize, Value),
}

impl<T> Clone for Access<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Access<T> {}

impl<T> Access<T> {
    /// Makes an access; `set` must ignore a value of the wrong type.
    pub(super) const fn new(get: fn(&T, usize) -> Value, set: fn(&mut T, usize, Value)) -> Self {
        Self { get, set }
    }
}

/// The field behind a parameter, by the type that contains it. The number is that of the smoke, 0 to 2.
#[derive(Clone, Copy, Debug)]
pub enum FieldAccess {
    /// A parameter of the model.
    Params(Access<Params>, usize),
    /// A part of the look.
    Look(Access<Look>, usize),
    /// A setting that is fixed when the solver is built.
    Config(Access<Config>, usize),
}

/// A type with fields behind parameters.
pub trait Holder {
    /// Returns the value of `field`, if this type has it.
    fn value(&self, field: &FieldAccess) -> Option<Value>;
    /// Sets `field`, if this type has it.
    fn set_value(&mut self, field: &FieldAccess, value: Value);

    /// Returns the value of a parameter, if this type has its field.
    fn value_of(&self, parameter: &Parameter) -> Option<Value> {
        parameter.field().and_then(|field| self.value(field))
    }
}

macro_rules! holders {
    ($($holder:ident),*) => {$(
        impl Holder for $holder {
            fn value(&self, field: &FieldAccess) -> Option<Value> {
                match field {
                    FieldAccess::$holder(access, index) => Some((access.get)(self, *index)),
                    _ => None,
                }
            }

            fn set_value(&mut self, field: &FieldAccess, value: Value) {
                if let FieldAccess::$holder(access, index) = field {
                    (access.set)(self, *index, value);
                }
            }
        }
    )*};
}

holders!(Params, Look, Config);

impl FieldAccess {
    /// Returns the value in a scene without this key.
    pub fn default_value(&self) -> Value {
        match self {
            Self::Params(access, index) => (access.get)(&Params::default(), *index),
            Self::Look(access, index) => (access.get)(&Look::default(), *index),
            Self::Config(access, index) => {
                let dims = Dims::new([1; 3]).expect("one cell");
                (access.get)(&Config::new(dims, 1.0), *index)
            }
        }
    }
}

/// A type that a [`Value`] can hold.
pub(super) trait Plain: Copy {
    fn wrap(self) -> Value;
    fn unwrap(value: Value) -> Option<Self>;
}

macro_rules! plain {
    ($($type:ty: $variant:ident),*) => {$(
        impl Plain for $type {
            fn wrap(self) -> Value {
                Value::$variant(self)
            }

            fn unwrap(value: Value) -> Option<Self> {
                if let Value::$variant(x) = value { Some(x) } else { None }
            }
        }
    )*};
}

plain!(f32: Number, [f32; 3]: Triple, u32: Whole, bool: Flag);

/// A word.
impl<T: Worded> Plain for T {
    fn wrap(self) -> Value {
        Value::Word(self.word())
    }

    fn unwrap(value: Value) -> Option<Self> {
        if let Value::Word(word) = value { Self::from_word(word) } else { None }
    }
}

impl Plain for usize {
    fn wrap(self) -> Value {
        Value::Whole(self as u32)
    }

    fn unwrap(value: Value) -> Option<Self> {
        u32::unwrap(value).map(|n| n as usize)
    }
}

/// A colour, or none.
impl Plain for Option<[f32; 3]> {
    fn wrap(self) -> Value {
        self.map_or(Value::Flag(false), Value::Triple)
    }

    fn unwrap(value: Value) -> Option<Self> {
        match value {
            Value::Triple(color) => Some(Some(color)),
            Value::Flag(false) => Some(None),
            _ => None,
        }
    }
}

impl Plain for Ambient {
    fn wrap(self) -> Value {
        match self {
            Self::Fixed(excess) => Value::Number(excess),
            Self::Mean => Value::Word(MEAN),
        }
    }

    fn unwrap(value: Value) -> Option<Self> {
        match value {
            Value::Number(excess) => Some(Self::Fixed(excess)),
            Value::Word(MEAN) => Some(Self::Mean),
            _ => None,
        }
    }
}

/// The number of samples.
impl Plain for TraceOrder {
    fn wrap(self) -> Value {
        Value::Whole(match self {
            Self::Second => 2,
            Self::Third => 3,
        })
    }

    fn unwrap(value: Value) -> Option<Self> {
        match value {
            Value::Whole(2) => Some(Self::Second),
            Value::Whole(3) => Some(Self::Third),
            _ => None,
        }
    }
}

/// Returns `v` at length 1, or none if it is zero. A unit vector keeps its bits, so it reads back from a file
/// unchanged.
pub fn normalized(v: [f32; 3]) -> Option<[f32; 3]> {
    let length = v.iter().map(|x| x * x).sum::<f32>().sqrt();
    if (length - 1.0).abs() < 1e-6 {
        return Some(v);
    }
    (length > 1e-12).then(|| v.map(|x| x / length))
}
