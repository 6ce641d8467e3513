//! The field behind a parameter, read and set as a [`Value`].

use super::Parameter;
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
    /// A switch; `false` also stands for no colour.
    Flag(bool),
    /// A word.
    Word(&'static str),
}

/// How a field of `T` is read and set.
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
    /// `set` ignores a value of a type that the field cannot hold.
    pub(super) const fn new(get: fn(&T, usize) -> Value, set: fn(&mut T, usize, Value)) -> Self {
        Self { get, set }
    }
}

/// The field that holds a parameter, by the type that has it; the number is the smoke's, 0 to 2.
#[derive(Clone, Copy, Debug)]
pub enum Field {
    /// A constant of the model.
    Params(Access<Params>, usize),
    /// Part of the look.
    Look(Access<Look>, usize),
    /// A choice for which a solver is built.
    Config(Access<Config>, usize),
}

/// What holds the fields.
pub trait Holder {
    /// The value of `field`, if it is here.
    fn value(&self, field: &Field) -> Option<Value>;
    /// Sets `field`, if it is here.
    fn set_value(&mut self, field: &Field, value: Value);

    /// The value of a parameter, if its field is here.
    fn value_of(&self, parameter: &Parameter) -> Option<Value> {
        parameter.field().and_then(|field| self.value(field))
    }
}

macro_rules! holders {
    ($($holder:ident),*) => {$(
        impl Holder for $holder {
            fn value(&self, field: &Field) -> Option<Value> {
                match field {
                    Field::$holder(access, index) => Some((access.get)(self, *index)),
                    _ => None,
                }
            }

            fn set_value(&mut self, field: &Field, value: Value) {
                if let Field::$holder(access, index) = field {
                    (access.set)(self, *index, value);
                }
            }
        }
    )*};
}

holders!(Params, Look, Config);

impl Field {
    /// Its value in a scene that does not name it.
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
            Self::Mean => Value::Word("mean"),
        }
    }

    fn unwrap(value: Value) -> Option<Self> {
        match value {
            Value::Number(excess) => Some(Self::Fixed(excess)),
            Value::Word("mean") => Some(Self::Mean),
            _ => None,
        }
    }
}

/// A number of samples.
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

/// `v` at length 1, or none if it is zero. A vector that has length 1 already keeps its bits, so that it comes back from a
/// file as it was written.
pub fn normalized(v: [f32; 3]) -> Option<[f32; 3]> {
    let length = v.iter().map(|x| x * x).sum::<f32>().sqrt();
    if (length - 1.0).abs() < 1e-6 {
        return Some(v);
    }
    (length > 1e-12).then(|| v.map(|x| x / length))
}
