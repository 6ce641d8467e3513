//! Values that check themselves while they are read, so that the reader's span points at the culprit.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

/// What a number must satisfy.
pub trait Rule {
    /// Completes the sentence "*x* is not …".
    const WANTED: &'static str;
    /// Whether `x` will do.
    fn holds(x: f32) -> bool;
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident: $wanted:literal, |$x:ident| $holds:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum $name {}
        impl Rule for $name {
            const WANTED: &'static str = $wanted;
            fn holds($x: f32) -> bool {
                $holds
            }
        }
    )*};
}

// The bounds of ±10⁶ are far beyond any flow in metres and seconds; they keep products of two values
// inside the range of f32.
rules! {
    /// Any finite number.
    Any: "a number between -1e6 and 1e6", |x| x.abs() <= 1e6;
    /// Above zero.
    AboveZero: "a number above 0 (and at most 1e6)", |x| x > 1e-6 && x <= 1e6;
    /// Zero or above.
    FromZero: "a number from 0 to 1e6", |x| (0.0..=1e6).contains(&x);
    /// A part of a whole.
    Share: "a number from 0 to 1", |x| (0.0..=1.0).contains(&x);
    /// At most a half.
    Half: "a number from 0 to 0.5", |x| (0.0..=0.5).contains(&x);
    /// An angle across the sun in degrees.
    Disc: "an angle from 0 to 90 degrees", |x| (0.0..=90.0).contains(&x);
    /// The mean cosine of a phase function.
    Cosine: "a number from -0.95 to 0.95", |x| x.abs() <= 0.95;
    /// A vertical field of view in degrees.
    Angle: "an angle from 1 to 170 degrees", |x| (1.0..=170.0).contains(&x);
    /// A change of exposure in stops.
    Stops: "a number of stops from -20 to 20", |x| x.abs() <= 20.0;
    /// An instant, which may be infinitely far.
    Instant: "a time of 0 or later, or inf", |x| x >= 0.0;
    /// Cells crossed in one substep.
    Courant: "a number from 0.1 to 100", |x| (0.1..=100.0).contains(&x);
    /// What an iteration may leave.
    Tolerance: "a number from 1e-6 to 0.1", |x| (1e-6..=0.1).contains(&x);
    /// Samples per cell edge.
    Sampling: "a number from 0.1 to 16", |x| (0.1..=16.0).contains(&x);
}

/// A number that satisfies `R`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number<R>(f32, PhantomData<R>);

impl<R> From<Number<R>> for f32 {
    fn from(number: Number<R>) -> Self {
        number.0
    }
}

impl<R> Number<R> {
    /// The plain value.
    pub fn get(self) -> f32 {
        self.0
    }
}

struct NumberVisitor<R>(PhantomData<R>);

impl<R: Rule> Visitor<'_> for NumberVisitor<R> {
    type Value = Number<R>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(R::WANTED)
    }

    fn visit_f64<E: Error>(self, x: f64) -> Result<Self::Value, E> {
        let single = x as f32;
        match R::holds(single) {
            true => Ok(Number(single, PhantomData)),
            false => Err(E::custom(format_args!("{x} is not {}", R::WANTED))),
        }
    }

    fn visit_i64<E: Error>(self, x: i64) -> Result<Self::Value, E> {
        self.visit_f64(x as f64)
    }

    fn visit_u64<E: Error>(self, x: u64) -> Result<Self::Value, E> {
        self.visit_f64(x as f64)
    }
}

impl<'de, R: Rule> Deserialize<'de> for Number<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_f64(NumberVisitor(PhantomData))
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    /// The plain value.
    pub fn get(self) -> u64 {
        self.0
    }
}

struct WholeVisitor<const MIN: u64, const MAX: u64>;

impl<const MIN: u64, const MAX: u64> Visitor<'_> for WholeVisitor<MIN, MAX> {
    type Value = Whole<MIN, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a whole number from {MIN} to {MAX}")
    }

    fn visit_i64<E: Error>(self, x: i64) -> Result<Self::Value, E> {
        match u64::try_from(x) {
            Ok(n) if (MIN..=MAX).contains(&n) => Ok(Whole(n)),
            _ => Err(E::custom(format_args!("{x} is not a whole number from {MIN} to {MAX}"))),
        }
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_i64(WholeVisitor)
    }
}

/// A list of exactly `N` values. (The plain array of serde takes a longer list in silence.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct List<T, const N: usize>(pub [T; N]);

impl<R: Copy, const N: usize> List<Number<R>, N> {
    /// The plain values.
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

/// A colour: `[r, g, b]` in linear light, each satisfying `R`, or `"#rrggbb"` in sRGB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Color<R>(pub [f32; 3], PhantomData<R>);

struct ColorVisitor<R>(PhantomData<R>);

impl<'de, R: Rule + Copy> Visitor<'de> for ColorVisitor<R> {
    type Value = Color<R>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a colour: [r, g, b] in linear light or \"#rrggbb\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let color = from_hex(text)
            .ok_or_else(|| E::custom(format_args!("\"{text}\" is not a colour like \"#ff8800\"")))?;
        Ok(Color(color, PhantomData))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        let list: List<Number<R>, 3> = ListVisitor(PhantomData).visit_seq(seq)?;
        Ok(Color(list.get(), PhantomData))
    }
}

impl<'de, R: Rule + Copy> Deserialize<'de> for Color<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ColorVisitor(PhantomData))
    }
}

/// `#rrggbb` as linear R, G, B.
fn from_hex(text: &str) -> Option<[f32; 3]> {
    let digits = text.strip_prefix('#').filter(|d| d.len() == 6 && d.is_ascii())?;
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    Some([byte(0)?, byte(2)?, byte(4)?].map(linear_from_srgb))
}

/// The decoding curve of sRGB (IEC 61966-2-1).
fn linear_from_srgb(byte: u8) -> f32 {
    let s = f32::from(byte) / 255.0;
    if s <= 0.04045 { s / 12.92 } else { ((s + 0.055) / 1.055).powf(2.4) }
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
    fn numbers_obey_their_rule() {
        assert_eq!(read::<Number<AboveZero>>("v = 2").unwrap().get(), 2.0);
        for bad in ["v = 0", "v = -1.0", "v = nan", "v = inf", "v = 1e300", "v = 1e-60"] {
            let message = read::<Number<AboveZero>>(bad).unwrap_err();
            assert!(message.contains("is not a number above 0"), "{bad}: {message}");
        }
        assert_eq!(read::<Number<Instant>>("v = inf").unwrap().get(), f32::INFINITY);
        assert!(read::<Number<Instant>>("v = nan").is_err());
    }

    #[test]
    fn lists_have_the_length_they_say() {
        assert_eq!(read::<List<Number<Any>, 3>>("v = [1, 2.5, -3]").unwrap().get(), [1.0, 2.5, -3.0]);
        assert!(read::<List<Number<Any>, 3>>("v = [1, 2]").unwrap_err().contains("this one has 2"));
        assert!(read::<List<Number<Any>, 3>>("v = [1, 2, 3, 4, 5]").unwrap_err().contains("has 5"));
        assert!(read::<Whole<1, 9>>("v = 10").unwrap_err().contains("from 1 to 9"));
        assert!(read::<Whole<1, 9>>("v = 2.5").is_err());
    }

    #[test]
    fn colours_are_linear_lists_or_srgb_digits() {
        assert_eq!(read::<Color<Share>>("v = [0.5, 0, 1]").unwrap().0, [0.5, 0.0, 1.0]);
        let hex = read::<Color<Share>>("v = '#ff8000'").unwrap().0;
        assert_eq!([hex[0], hex[2]], [1.0, 0.0]);
        assert!((hex[1] - 0.21586).abs() < 1e-4, "{hex:?}");
        for bad in ["v = '#ff80'", "v = 'orange'", "v = '#éé00'", "v = [2, 0, 0]"] {
            assert!(read::<Color<Share>>(bad).is_err(), "{bad}");
        }
    }
}
