//! Every key of a scene and every slider of the window, declared once.
//!
//! A [`Parameter`] holds a key's path, unit, default, ranges, effect and description. Everything else reads it here:
//!
//! | reader | takes |
//! |---|---|
//! | `scene::field_values` | type, words and hard range; `--set` goes the same way |
//! | `worker::limits` | hard range |
//! | `scene::save` | the values that differ from the file |
//! | `app::panel` | label, soft range, scale, unit, description |
//! | `docs/scene.md` | all of it, as tables (`UPDATE_DOCS=1 cargo test --lib reference`) |
//!
//! **To add a key**, add one entry to `declarations`. An entry with a field (`.of(params!(…))`, `look!`, `config!`) is
//! read, checked, saved and documented with no other code; with `.slider(…)` it has a row in the panel. The default is
//! that of the field's type, such as `Params::default()`. An entry without a field declares only range and reference: the
//! key is then read by a struct of `scene`, whose fields have the plain types of `scene::value`. A test fails for a
//! key that a struct reads but no entry declares.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

mod constructors;
mod declarations;
mod field_access;
#[cfg(test)]
mod scene_reference;
mod words;

pub use field_access::{FieldAccess, Holder, Value, normalized};
pub use words::{
    FluxKind, ForceKind, IntervalKind, LightKind, MEAN, PlaceKind, RegionKind, SideKind, SideName, SolidKind,
    Worded, Words,
};

/// Type of a key's value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// A number.
    Number,
    /// A number, or this word.
    NumberOr(&'static str),
    /// A whole number.
    Whole,
    /// A list of this many whole numbers.
    Wholes(usize),
    /// Two numbers.
    Pair,
    /// Three numbers.
    Vector,
    /// Three numbers, not all 0; only their direction matters.
    Direction,
    /// `[r, g, b]` in linear light or `"#rrggbb"` in sRGB.
    Color,
    /// A colour, or `false` for none.
    ColorOrNone,
    /// `true` or `false`.
    Flag,
    /// One of a few words, each with its meaning.
    Word(Words),
    /// A table with one key, each with its meaning.
    Table(Words),
    /// One of a few words, or a table with one of them as its key.
    WordOrTable(Words),
    /// A list of words of any of these lists.
    Words(&'static [Words]),
    /// A file name or other text.
    Text,
    /// A formula in x, y and z, or a number.
    Formula,
    /// A list in a format that the description gives.
    List,
}

impl Kind {
    /// Returns the words of its values with their meanings.
    pub fn words(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let (one, lists): (Words, &[Words]) = match self {
            Self::Word(words) | Self::Table(words) | Self::WordOrTable(words) => (words, &[]),
            Self::Words(lists) => (&[], lists),
            _ => (&[], &[]),
        };
        lists.iter().copied().chain([one]).flatten().copied()
    }

    /// Returns whether its values are or contain numbers, which have a range.
    fn has_numbers(self) -> bool {
        !matches!(
            self,
            Self::Word(_) | Self::Table(_) | Self::WordOrTable(_) | Self::Words(_) | Self::Text | Self::Flag
        )
    }
}

/// Spacing of a slider's range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps.
    #[default]
    Linear,
    /// Equal ratios: small values get as much room as large ones.
    Logarithmic,
}

/// Effect of a change on a running simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// It acts at once on the present smoke.
    ActsNow,
    /// It needs a new simulation.
    Restarts,
    /// It changes the picture, not the flow.
    LookOnly,
}

impl Effect {
    /// Returns the effect in two words.
    pub fn name(self) -> &'static str {
        match self {
            Self::ActsNow => "acts now",
            Self::Restarts => "restarts",
            Self::LookOnly => "look only",
        }
    }

    /// Returns the effect in a sentence.
    pub fn help(self) -> &'static str {
        match self {
            Self::ActsNow => "Changes act at once on the smoke already there.",
            Self::Restarts => "Changes take effect when the scene starts over.",
            Self::LookOnly => "Changes the picture, not the flow.",
        }
    }
}

/// Part of a run or of its pictures that a parameter acts upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// The velocity.
    Air,
    /// Smoke and heat, advected by a given velocity.
    Smoke,
    /// Pictures of stored smoke.
    Picture,
    /// The machine: threads and memory.
    Machine,
}

/// A key of the scene file or a slider of the window.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Dotted key, as after `--set`. `#` stands for an index. The prefixes `shape.`, `noise.` and `side.`
    /// stand for all keys that contain such a table (see [`declared_path`]).
    pub path: String,
    /// Label in the panel; empty without a row there.
    pub label: &'static str,
    /// Unit; `-` if dimensionless.
    pub unit: &'static str,
    /// Type of its value.
    pub kind: Kind,
    /// Hard range: smallest and largest accepted number, for each number in it.
    pub hard: RangeInclusive<f32>,
    /// Soft range: that of the slider.
    pub soft: RangeInclusive<f32>,
    /// Spacing of the slider's range.
    pub scale: Scale,
    /// Effect of a change.
    pub effect: Effect,
    /// Description in a sentence or two.
    pub description: &'static str,
    /// Default of a key without a field, as TOML; empty if an absent key has another meaning.
    literal: &'static str,
    field: Option<FieldAccess>,
    /// Subjects, if they are not those of the effect.
    subjects: Option<&'static [Subject]>,
}

static ALL: LazyLock<Vec<Parameter>> = LazyLock::new(declarations::all);

static BY_PATH: LazyLock<BTreeMap<&'static str, &'static Parameter>> =
    LazyLock::new(|| ALL.iter().map(|parameter| (parameter.path.as_str(), parameter)).collect());

/// Yields all parameters, in the order of the reference and of the panel.
pub fn all() -> impl Iterator<Item = &'static Parameter> {
    ALL.iter()
}

/// Returns the parameter at `path`, if there is one.
pub fn find(path: &str) -> Option<&'static Parameter> {
    BY_PATH.get(path).copied()
}

/// Returns the parameter at `path`.
///
/// # Panics
/// If no parameter is declared there.
pub fn of(path: &str) -> &'static Parameter {
    find(path).unwrap_or_else(|| panic!("no parameter is declared at `{path}`"))
}

/// Returns the path at which a key with these parts is declared: an index becomes `#`, a side of the box
/// begins with `side`, a shape with `shape`, and noise with `noise`, at any depth.
pub fn declared_path(parts: &[&str]) -> String {
    let index = |part: &&str| part.parse::<usize>().is_ok();
    let mut path: Vec<&str> = parts.iter().map(|part| if index(part) { "#" } else { part }).collect();
    let heads: [(&[&str], &str); 7] = [
        (&["source", "#", "shape"], "shape"),
        (&["initial", "smoke", "#", "shape"], "shape"),
        (&["force", "#", "within"], "shape"),
        (&["source", "#", "noise"], "noise"),
        (&["initial", "smoke", "#", "noise"], "noise"),
        (&["domain", "walls"], "side"),
        (&["solid", "#", "shape"], "solid.#.shape"),
    ];
    if let Some((head, name)) =
        heads.iter().find(|(head, _)| path.len() > head.len() && path.starts_with(head))
    {
        // The keys of a side follow `walls`.
        let sides = usize::from(*name == "side");
        path.splice(..head.len() + sides, [*name]);
    }
    path.join(".")
}

impl Parameter {
    /// Returns the error message for a number outside the hard range; none for one inside.
    pub fn complaint(&self, x: f64) -> Option<String> {
        let inside = !self.kind.has_numbers() || self.hard.contains(&(x as f32));
        (!inside).then(|| format!("{x} is out of range: {} [{}]", self.range(), self.unit))
    }

    /// Clamps `x` to the hard range; returns `old` if `x` is NaN.
    pub fn limit(&self, x: f32, old: f32) -> f32 {
        let wanted = if x.is_nan() { old } else { x };
        wanted.clamp(*self.hard.start(), *self.hard.end())
    }

    /// Returns the hard range in words.
    pub fn range(&self) -> String {
        format!("{} to {}", figure(*self.hard.start()), figure(*self.hard.end()))
    }

    /// Returns the limit that `x` exceeds, in a few words for the panel: "0 m²/s is the least".
    pub fn limit_said(&self, x: f64) -> Option<String> {
        let (least, most) = (*self.hard.start(), *self.hard.end());
        let unit = self.short_unit();
        let space = if unit.is_empty() || unit == "°" { "" } else { " " };
        match x {
            x if x < f64::from(least) => Some(format!("{}{space}{unit} is the least", figure(least))),
            x if x > f64::from(most) => Some(format!("{}{space}{unit} is the most", figure(most))),
            _ => None,
        }
    }

    /// Returns the unit for display beside a number; empty if dimensionless.
    pub fn short_unit(&self) -> &'static str {
        match self.unit {
            "-" | "share of the box" | "radiance" | "irradiance" => "",
            "degrees" => "°",
            "degrees/s" => "°/s",
            "m/(s² K)" => "m/s²K",
            unit => unit,
        }
    }

    /// Returns the tooltip of the slider: description, unit and range.
    pub fn tooltip(&self) -> String {
        format!("{} [{}]\nRange: {}. {}", self.description, self.unit, self.range(), self.effect.help())
    }

    /// Returns its subjects. A command that works on none of these cannot use it.
    pub fn subjects(&self) -> &'static [Subject] {
        self.subjects.unwrap_or(match self.effect {
            Effect::LookOnly => &[Subject::Picture],
            Effect::ActsNow | Effect::Restarts => &[Subject::Air, Subject::Smoke],
        })
    }

    /// Returns whether it acts on one of these.
    pub fn acts_on(&self, subjects: &[Subject]) -> bool {
        self.subjects().iter().any(|subject| subjects.contains(subject))
    }

    /// Returns the access to its field; none for keys that a struct of the scene reads.
    pub fn field(&self) -> Option<&FieldAccess> {
        self.field.as_ref()
    }

    /// Returns the default as TOML; none if an absent key has another meaning.
    pub fn default_toml(&self) -> Option<String> {
        let number = |x: f32| format!("{x:?}");
        match self.field.as_ref().map(FieldAccess::default_value) {
            Some(Value::Number(x)) => Some(number(x)),
            Some(Value::Triple(values)) => Some(format!("[{}]", values.map(number).join(", "))),
            Some(Value::Whole(n)) => Some(n.to_string()),
            Some(Value::Flag(on)) => Some(on.to_string()),
            Some(Value::Word(word)) => Some(format!("\"{word}\"")),
            None => (!self.literal.is_empty()).then(|| self.literal.to_owned()),
        }
    }

    /// Returns the number of decimals that its slider resolves.
    pub fn decimals(&self) -> usize {
        match self.soft.end() - self.soft.start() {
            span if span >= 500.0 => 0,
            span if span >= 25.0 => 1,
            span if span >= 0.5 => 2,
            span if span >= 0.15 => 3,
            _ => 4,
        }
    }

    /// Returns the last part of the path.
    pub fn key(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or(&self.path)
    }

    /// Returns the path without its last part.
    pub fn table(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }
}

/// Formats a bound of a range with few digits.
fn figure(x: f32) -> String {
    let plain = x == 0.0 || !x.is_finite() || (1e-3..1e5).contains(&x.abs());
    if plain { format!("{x}") } else { format!("{x:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_consistent() {
        assert_eq!(BY_PATH.len(), ALL.len(), "a path is declared twice");
        for parameter in all() {
            let Parameter { path, hard, soft, description, .. } = parameter;
            assert!(hard.start() < hard.end(), "{path}");
            assert!(hard.start() <= soft.start() && soft.end() <= hard.end(), "{path}: {soft:?} in {hard:?}");
            assert!(description.ends_with('.') && !description.contains('|'), "{path}: {description}");
            let number =
                matches!(parameter.kind, Kind::Number | Kind::NumberOr(_) | Kind::Vector | Kind::Whole);
            assert!(!number || !parameter.unit.is_empty(), "{path} has no unit");
        }
    }

    #[test]
    fn defaults_lie_within_the_hard_range() {
        for parameter in all() {
            match parameter.field().map(FieldAccess::default_value) {
                Some(Value::Number(x)) => {
                    assert_eq!(parameter.complaint(x.into()), None, "{}", parameter.path)
                }
                Some(Value::Triple(x)) => {
                    assert!(x.iter().all(|&x| parameter.complaint(x.into()).is_none()), "{}", parameter.path);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn nested_keys_find_their_declaration() {
        for (key, declared) in [
            ("fluid.vorticity", "fluid.vorticity"),
            ("source.3.emit.red", "source.#.emit.red"),
            ("source.0.shape.sphere.radius", "shape.sphere.radius"),
            ("initial.smoke.1.noise.scale", "noise.scale"),
            ("domain.walls.x_min.inflow.velocity", "side.inflow.velocity"),
            ("domain.walls", "domain.walls"),
            ("solid.0.shape.box.size", "solid.#.shape.box.size"),
        ] {
            assert_eq!(declared_path(&key.split('.').collect::<Vec<_>>()), declared);
            assert!(find(declared).is_some(), "{declared}");
        }
    }

    #[test]
    fn a_complaint_names_the_range_and_the_unit() {
        let vorticity = of("fluid.vorticity");
        assert_eq!(vorticity.complaint(150.0).unwrap(), "150 is out of range: 0 to 100 [1/s]");
        assert_eq!(of("domain.voxel").complaint(0.0).unwrap(), "0 is out of range: 1e-6 to 1e6 [m]");
        assert!(vorticity.complaint(f64::NAN).is_some() && vorticity.complaint(100.0).is_none());
        assert_eq!((vorticity.limit(150.0, 1.0), vorticity.limit(f32::NAN, 1.0)), (100.0, 1.0));
        assert_eq!(vorticity.limit_said(150.0).unwrap(), "100 1/s is the most");
        assert_eq!(of("fluid.viscosity").limit_said(-5.0).unwrap(), "0 m²/s is the least");
        assert_eq!(vorticity.limit_said(7.0), None);
    }
}
