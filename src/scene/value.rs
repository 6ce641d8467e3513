//! Types of values in a scene. [`crate::parameter`] has their ranges, which are checked first.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::StrDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

use crate::look::{Look, srgb};
use crate::parameter::Worded;

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(f32);

impl From<Number> for f32 {
    fn from(number: Number) -> Self {
        number.0
    }
}

impl Number {
    /// Returns the plain value.
    pub fn get(self) -> f32 {
        self.0
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E: Error>(self, x: f64) -> Result<Number, E> {
        Ok(Number(x as f32))
    }

    fn visit_i64<E: Error>(self, x: i64) -> Result<Number, E> {
        self.visit_f64(x as f64)
    }

    fn visit_u64<E: Error>(self, x: u64) -> Result<Number, E> {
        self.visit_f64(x as f64)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_f64(NumberVisitor)
    }
}

/// A whole number from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole(u64);

impl Whole {
    /// Returns the plain value.
    pub fn get(self) -> u64 {
        self.0
    }
}

struct WholeVisitor;

impl Visitor<'_> for WholeVisitor {
    type Value = Whole;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_i64<E: Error>(self, x: i64) -> Result<Whole, E> {
        u64::try_from(x).map(Whole).map_err(|_| E::custom(format_args!("{x} is less than 0")))
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_i64(WholeVisitor)
    }
}

/// A list of exactly `N` values. (The plain array of serde silently accepts a longer list.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct List<T, const N: usize>(pub [T; N]);

impl<const N: usize> List<Number, N> {
    /// Returns the plain values.
    pub fn get(self) -> [f32; N] {
        self.0.map(Number::get)
    }
}

struct ListVisitor<T, const N: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for ListVisitor<T, N> {
    type Value = List<T, N>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a list of {N} values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::with_capacity(N);
        while items.len() < N {
            match seq.next_element()? {
                Some(item) => items.push(item),
                None => return Err(wrong_length(items.len(), N)),
            }
        }
        let mut length = N;
        while seq.next_element::<IgnoredAny>()?.is_some() {
            length += 1;
        }
        let exact = (length == N).then(|| items.try_into().ok()).flatten();
        exact.map(List).ok_or_else(|| wrong_length(length, N))
    }
}

fn wrong_length<E: Error>(length: usize, wanted: usize) -> E {
    E::custom(format_args!("a list of {wanted} values is needed, this one has {length}"))
}

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for List<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

/// A list of exactly two values of different kinds. (The tuple of serde silently accepts a longer list.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair<A, B>(pub A, pub B);

struct PairVisitor<A, B>(PhantomData<(A, B)>);

impl<'de, A: Deserialize<'de>, B: Deserialize<'de>> Visitor<'de> for PairVisitor<A, B> {
    type Value = Pair<A, B>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of 2 values")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Self::Value, S::Error> {
        let first = seq.next_element()?.ok_or_else(|| wrong_length(0, 2))?;
        let second = seq.next_element()?.ok_or_else(|| wrong_length(1, 2))?;
        let mut length = 2;
        while seq.next_element::<IgnoredAny>()?.is_some() {
            length += 1;
        }
        if length == 2 { Ok(Pair(first, second)) } else { Err(wrong_length(length, 2)) }
    }
}

impl<'de, A: Deserialize<'de>, B: Deserialize<'de>> Deserialize<'de> for Pair<A, B> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(PairVisitor(PhantomData))
    }
}

/// One of the words of `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<T>(pub T);

struct WordVisitor<T>(PhantomData<T>);

impl<T: Worded> Visitor<'_> for WordVisitor<T> {
    type Value = Word<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "one of \"{}\"", T::NAMES.join("\", \""))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Word<T>, E> {
        T::from_word(word).map(Word).ok_or_else(|| E::unknown_variant(word, T::NAMES))
    }
}

impl<'de, T: Worded> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(WordVisitor(PhantomData))
    }
}

/// Declares an enum of tables, each named by a word of `$kind`: `{ sphere = { … } }`. A kind without its
/// table does not compile.
macro_rules! tables {
    ($($(#[$about:meta])* pub enum $name:ident: $kind:ident { $($variant:ident($content:ty),)* })*) => {$(
        $(#[$about])*
        pub enum $name {
            $($variant($content),)*
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                struct Tables;

                impl<'de> serde::de::Visitor<'de> for Tables {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                        let names = <$kind as crate::parameter::Worded>::NAMES;
                        write!(f, "a table with one of {}", names.join(", "))
                    }

                    fn visit_enum<A: serde::de::EnumAccess<'de>>(
                        self,
                        data: A,
                    ) -> std::result::Result<$name, A::Error> {
                        let (crate::scene::value::Word(kind), content) = data.variant()?;
                        match kind {
                            $($kind::$variant => serde::de::VariantAccess::newtype_variant(content).map($name::$variant),)*
                        }
                    }
                }

                let names = <$kind as crate::parameter::Worded>::NAMES;
                deserializer.deserialize_enum(stringify!($name), names, Tables)
            }
        }
    )*};
}
pub(super) use tables;

/// A position, direction or velocity.
pub type Vector = List<Number, 3>;

/// A colour: `[r, g, b]` in linear light or `"#rrggbb"` in sRGB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Color(pub [f32; 3]);

struct ColorVisitor;

impl<'de> Visitor<'de> for ColorVisitor {
    type Value = Color;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a colour: [r, g, b] in linear light or \"#rrggbb\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let color = from_hex(text)
            .ok_or_else(|| E::custom(format_args!("\"{text}\" is not a colour like \"#ff8800\"")))?;
        Ok(Color(color))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        let list: List<Number, 3> = ListVisitor(PhantomData).visit_seq(seq)?;
        Ok(Color(list.get()))
    }
}

impl<'de> Deserialize<'de> for Color {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ColorVisitor)
    }
}

/// Albedo of a surface: `[r, g, b]`, or `"#rrggbb"` for the albedo that shows this colour facing the default
/// sun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface(pub [f32; 3]);

struct SurfaceVisitor;

impl<'de> Visitor<'de> for SurfaceVisitor {
    type Value = Surface;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        ColorVisitor.expecting(f)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Surface(Look::albedo_shown(ColorVisitor.visit_str(text)?.0)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Ok(Surface(ColorVisitor.visit_seq(seq)?.0))
    }
}

impl<'de> Deserialize<'de> for Surface {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SurfaceVisitor)
    }
}

/// The floor at y = 0: a colour, or `false` for none.
#[derive(Clone, Copy)]
pub struct Floor(pub Option<[f32; 3]>);

struct FloorVisitor;

impl<'de> Visitor<'de> for FloorVisitor {
    type Value = Floor;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a colour ([r, g, b] in linear light or \"#rrggbb\"), or false for no floor")
    }

    fn visit_bool<E: serde::de::Error>(self, shown: bool) -> Result<Floor, E> {
        match shown {
            false => Ok(Floor(None)),
            true => Err(E::custom("give the floor a colour, or false for no floor")),
        }
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Floor, E> {
        Surface::deserialize(StrDeserializer::new(text)).map(|c| Floor(Some(c.0)))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, seq: A) -> Result<Floor, A::Error> {
        let deserializer = serde::de::value::SeqAccessDeserializer::new(seq);
        Color::deserialize(deserializer).map(|c| Floor(Some(c.0)))
    }
}

impl<'de> Deserialize<'de> for Floor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FloorVisitor)
    }
}

/// Converts `#rrggbb` to linear R, G, B.
fn from_hex(text: &str) -> Option<[f32; 3]> {
    let digits = text.strip_prefix('#').filter(|d| d.len() == 6 && d.is_ascii())?;
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    Some([byte(0)?, byte(2)?, byte(4)?].map(|byte| srgb::decode(f32::from(byte) / 255.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Doc<T> {
        v: T,
    }

    fn read<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T, String> {
        toml::from_str::<Doc<T>>(text).map(|d| d.v).map_err(|e| e.message().to_owned())
    }

    #[test]
    fn numbers_are_read_from_integers_and_floats() {
        assert_eq!(read::<Number>("v = 2").unwrap().get(), 2.0);
        assert_eq!(read::<Number>("v = -0.5").unwrap().get(), -0.5);
        assert_eq!(read::<Number>("v = inf").unwrap().get(), f32::INFINITY);
        assert!(read::<Number>("v = '2'").unwrap_err().contains("expected a number"));
    }

    #[test]
    fn lists_have_the_length_they_say() {
        assert_eq!(read::<List<Number, 3>>("v = [1, 2.5, -3]").unwrap().get(), [1.0, 2.5, -3.0]);
        assert!(read::<List<Number, 3>>("v = [1, 2]").unwrap_err().contains("this one has 2"));
        assert!(read::<List<Number, 3>>("v = [1, 2, 3, 4, 5]").unwrap_err().contains("has 5"));
        assert!(read::<Whole>("v = -1").is_err());
        assert!(read::<Whole>("v = 2.5").is_err());
    }

    #[test]
    fn colours_are_linear_lists_or_srgb_digits() {
        assert_eq!(read::<Color>("v = [0.5, 0, 1]").unwrap().0, [0.5, 0.0, 1.0]);
        let hex = read::<Color>("v = '#ff8000'").unwrap().0;
        assert_eq!([hex[0], hex[2]], [1.0, 0.0]);
        assert!((hex[1] - 0.21586).abs() < 1e-4, "{hex:?}");
        for bad in ["v = '#ff80'", "v = 'orange'", "v = '#éé00'", "v = [2, 0]"] {
            assert!(read::<Color>(bad).is_err(), "{bad}");
        }
    }

    /// Pale colours of surfaces keep their hues: each of them asks for more than a surface can reflect.
    #[test]
    fn pale_surfaces_keep_their_hue() {
        let albedo = |typed: &str| read::<Surface>(&format!("v = '{typed}'")).unwrap().0;
        let pink = albedo("#ffe0e0");
        let typed = read::<Color>("v = '#ffe0e0'").unwrap().0;
        assert!((pink[1] / pink[0] - typed[1] / typed[0]).abs() < 1e-5, "{pink:?}");
        for pale in ["#ffe0e0", "#e8f4ff", "#f0f0f0", "#ffffff"] {
            let greatest = albedo(pale).into_iter().fold(0.0, f32::max);
            assert!((greatest - 0.9).abs() < 1e-5, "{pale}: {greatest}");
        }
        assert!(albedo("#808080")[0] < 0.5);
    }
}
