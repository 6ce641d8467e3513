//! Constructors of parameters, for `declarations`.

use std::ops::RangeInclusive;

use super::field_access::FieldAccess;
use super::words::Worded;
use super::{Effect, Kind, Parameter, Scale, Subject};

pub fn plain(
    path: &str,
    kind: Kind,
    unit: &'static str,
    hard: RangeInclusive<f32>,
    effect: Effect,
) -> Parameter {
    Parameter {
        path: path.to_owned(),
        label: "",
        unit,
        kind,
        soft: hard.clone(),
        hard,
        scale: Scale::Linear,
        effect,
        description: "",
        literal: "",
        field: None,
        subjects: None,
    }
}

pub fn number(path: &str, unit: &'static str, hard: RangeInclusive<f32>, effect: Effect) -> Parameter {
    plain(path, Kind::Number, unit, hard, effect)
}

pub fn vector(path: &str, unit: &'static str, hard: RangeInclusive<f32>, effect: Effect) -> Parameter {
    plain(path, Kind::Vector, unit, hard, effect)
}

pub fn color(path: &str, unit: &'static str, hard: RangeInclusive<f32>, effect: Effect) -> Parameter {
    plain(path, Kind::Color, unit, hard, effect)
}

pub fn whole(path: &str, hard: RangeInclusive<f32>, effect: Effect) -> Parameter {
    plain(path, Kind::Whole, "-", hard, effect)
}

/// Makes a key whose value is one of the words of `T`.
pub fn word<T: Worded>(path: &str, effect: Effect) -> Parameter {
    plain(path, Kind::Word(T::WORDS), "", 0.0..=1.0, effect)
}

/// Makes a key whose value is a table that a word of `T` names.
pub fn table<T: Worded>(path: &str, effect: Effect) -> Parameter {
    plain(path, Kind::Table(T::WORDS), "", 0.0..=1.0, effect)
}

pub fn text(path: &str, effect: Effect) -> Parameter {
    plain(path, Kind::Text, "", 0.0..=1.0, effect)
}

impl Parameter {
    /// Sets the field of the parameter.
    pub(super) fn of(self, field: FieldAccess) -> Self {
        Self { field: Some(field), ..self }
    }

    /// Sets the field of the parameter for the `n`th smoke.
    pub(super) fn at(self, n: usize) -> Self {
        let field = self.field.map(|field| match field {
            FieldAccess::Params(access, _) => FieldAccess::Params(access, n),
            FieldAccess::Look(access, _) => FieldAccess::Look(access, n),
            FieldAccess::Config(access, _) => FieldAccess::Config(access, n),
        });
        Self { field, ..self }
    }

    /// Adds a row in the panel, with a slider over `soft`.
    pub(super) fn slider(self, label: &'static str, soft: RangeInclusive<f32>) -> Self {
        Self { label, soft, ..self }
    }

    /// Adds a switch in the panel.
    pub(super) fn labelled(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    pub(super) fn logarithmic(self) -> Self {
        Self { scale: Scale::Logarithmic, ..self }
    }

    /// Sets the default of a key without a field, as TOML.
    pub(super) fn default(self, literal: &'static str) -> Self {
        Self { literal, ..self }
    }

    /// Sets the subjects, if they are not those of the effect.
    pub(super) fn upon(self, subjects: &'static [Subject]) -> Self {
        Self { subjects: Some(subjects), ..self }
    }

    pub(super) fn says(self, description: &'static str) -> Self {
        Self { description, ..self }
    }
}
