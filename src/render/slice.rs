//! A plane through the box that shows one quantity in colours, and the legend beside it.
//! `shaders/slice.frag` is the same.

use super::camera::{Ray, away_from_zero};
use super::colormap;
use super::field;
use super::lines::{Line, smoothstep};
use super::volume::Volume;
use crate::snapshot::Snapshot;

/// A plane and what it shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// The axis across the plane: 0 is x, 1 is y, 2 is z.
    pub axis: usize,
    /// Where the plane stands, 0 on one side of the box and 1 on the other.
    pub position: f32,
    /// What is shown.
    pub quantity: Quantity,
    /// Values at both ends of the colours; `None` takes [`Ranges::of`].
    pub range: Option<[f32; 2]>,
}

impl Default for Slice {
    /// The density in the middle, across z.
    fn default() -> Self {
        Self { axis: 2, position: 0.5, quantity: Quantity::Density, range: None }
    }
}

/// What a slice can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Sum of the three colours \[-\].
    Density,
    /// Red smoke \[-\].
    Red,
    /// Green smoke \[-\].
    Green,
    /// Blue smoke \[-\].
    Blue,
    /// Temperature excess \[K\].
    Temperature,
    /// |u| \[m/s\].
    Speed,
    /// u \[m/s\].
    VelocityX,
    /// v \[m/s\].
    VelocityY,
    /// w \[m/s\].
    VelocityZ,
    /// |ω| \[1/s\].
    Vorticity,
}

impl Quantity {
    /// All, in the order of a menu.
    pub const ALL: [Self; 10] = [
        Self::Density,
        Self::Red,
        Self::Green,
        Self::Blue,
        Self::Temperature,
        Self::Speed,
        Self::VelocityX,
        Self::VelocityY,
        Self::VelocityZ,
        Self::Vorticity,
    ];

    /// A name for menus.
    pub fn name(self) -> &'static str {
        match self {
            Self::Density => "density",
            Self::Red => "red",
            Self::Green => "green",
            Self::Blue => "blue",
            Self::Temperature => "temperature",
            Self::Speed => "speed",
            Self::VelocityX => "velocity x",
            Self::VelocityY => "velocity y",
            Self::VelocityZ => "velocity z",
            Self::Vorticity => "vorticity",
        }
    }

    /// Its unit, empty for none.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Density | Self::Red | Self::Green | Self::Blue => "",
            Self::Temperature => "K",
            Self::Speed | Self::VelocityX | Self::VelocityY | Self::VelocityZ => "m/s",
            Self::Vorticity => "1/s",
        }
    }

    /// Whether it needs a snapshot with velocity.
    pub fn needs_velocity(self) -> bool {
        self.of_flow() != [0.0; 4] || self == Self::Speed
    }

    /// Factors of red, green, blue and temperature.
    pub(super) fn of_smoke(self) -> [f32; 4] {
        match self {
            Self::Density => [1.0, 1.0, 1.0, 0.0],
            Self::Red => [1.0, 0.0, 0.0, 0.0],
            Self::Green => [0.0, 1.0, 0.0, 0.0],
            Self::Blue => [0.0, 0.0, 1.0, 0.0],
            Self::Temperature => [0.0, 0.0, 0.0, 1.0],
            _ => [0.0; 4],
        }
    }

    /// Factors of u, v, w and vorticity; the speed is not linear in them.
    pub(super) fn of_flow(self) -> [f32; 4] {
        match self {
            Self::VelocityX => [1.0, 0.0, 0.0, 0.0],
            Self::VelocityY => [0.0, 1.0, 0.0, 0.0],
            Self::VelocityZ => [0.0, 0.0, 1.0, 0.0],
            Self::Vorticity => [0.0, 0.0, 0.0, 1.0],
            _ => [0.0; 4],
        }
    }
}

/// The largest values of a snapshot, for the ends of the colours.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ranges {
    smoke: [f32; 4],
    speed: f32,
    vorticity: f32,
}

impl Ranges {
    /// Of `snapshot`.
    pub fn of(snapshot: &Snapshot) -> Self {
        let mut smoke = [0.0_f32; 4];
        for max in &snapshot.bricks.max {
            (0..4).for_each(|c| smoke[c] = smoke[c].max(max[c].to_f32()));
        }
        let [speed, vorticity] = field::tops(snapshot);
        Self { smoke, speed, vorticity }
    }

    /// From 0 to the largest; the components of the velocity as far to either side as the largest speed.
    pub fn range(&self, quantity: Quantity) -> [f32; 2] {
        let factors = quantity.of_smoke();
        let smoke: f32 = (0..4).map(|c| factors[c] * self.smoke[c]).sum();
        let [lo, hi] = match quantity {
            Quantity::Speed => [0.0, self.speed],
            Quantity::Vorticity => [0.0, self.vorticity],
            q if q.needs_velocity() => [-self.speed, self.speed],
            _ => [0.0, smoke],
        };
        [lo, hi.max(lo + 1e-6)]
    }
}

/// How much of what is behind it a slice lets through.
pub(super) const CLEAR: f32 = 0.06;

/// How much a slice hides where it has a value: half as much where there is nothing, so that it is not a black wall.
fn cover(value: f32, range: [f32; 2]) -> f32 {
    let strength = value.abs() / range[0].abs().max(range[1].abs()).max(1e-20);
    0.5 + 0.5 * smoothstep(0.0, 0.15, strength)
}

/// A slice ready to be drawn on the CPU.
pub(super) struct Plane<'a> {
    pub slice: Slice,
    pub range: [f32; 2],
    pub extent: [f32; 3],
    pub smoke: &'a Volume,
    pub flow: Option<&'a Volume>,
}

impl Plane<'_> {
    /// Colour and alpha along a ray that is free up to `reach`.
    pub fn tint(&self, ray: &Ray, reach: f32) -> Option<[f32; 4]> {
        let axis = self.slice.axis.min(2);
        let at = self.slice.position.clamp(0.0, 1.0) * self.extent[axis];
        let t = (at - ray.origin[axis]) / away_from_zero(ray.direction[axis]);
        let p: [f32; 3] = ray.at(t).coords.into();
        let outside = (0..3).any(|a| a != axis && (p[a] < 0.0 || p[a] > self.extent[a]));
        if t <= 0.0 || t > reach || outside {
            return None;
        }
        let dot = |a: [f32; 4], b: [f32; 4]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let quantity = self.slice.quantity;
        let mut value = dot(self.smoke.sample(p), quantity.of_smoke());
        if let Some(flow) = self.flow {
            let v = flow.sample(p);
            value += dot(v, quantity.of_flow());
            if quantity == Quantity::Speed {
                value += (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
            }
        }
        let [r, g, b] = colormap::linear((value - self.range[0]) / (self.range[1] - self.range[0]));
        Some([r, g, b, (1.0 - CLEAR) * cover(value, self.range)])
    }
}

/// Width of the legend's bar \[pixels\].
pub(super) const BAR: f32 = 14.0;

/// The legend: the bar, to be drawn [`BAR`] wide, and its numbers, both in the screen's −1..1.
pub(super) fn legend(range: [f32; 2], unit: &str, size: [u32; 2]) -> [Vec<Line>; 2] {
    const PARTS: usize = 24;
    let [width, height] = size.map(|n| n as f32);
    let at = |x: f32, y: f32| [x / width * 2.0 - 1.0, y / height * 2.0 - 1.0, 0.0];
    let (x, foot, tall) = (width - 84.0, 0.16 * height, 0.6 * height);
    let y = |share: f32| foot + share * tall;
    let tint = |share: f32| {
        let [r, g, b] = colormap::linear(share);
        [r, g, b, 1.0]
    };
    let part = |n: usize| {
        let shares = [n, n + 1].map(|n| n as f32 / PARTS as f32);
        Line { ends: shares.map(|s| at(x, y(s))), tints: shares.map(tint) }
    };
    let mut marks = Vec::new();
    for n in 0..=4 {
        let share = n as f32 / 4.0;
        let value = range[0] + share * (range[1] - range[0]);
        marks.push(Line::plain(at(x + 0.5 * BAR, y(share)), at(x + 0.5 * BAR + 4.0, y(share)), INK));
        write(&short(value, range), [x + 0.5 * BAR + 8.0, y(share) - 4.0], &at, &mut marks);
    }
    write(unit, [x - 0.5 * BAR, y(1.0) + 12.0], &at, &mut marks);
    [(0..PARTS).map(part).collect(), marks]
}

const INK: [f32; 4] = [0.8, 0.8, 0.8, 0.95];

/// Three digits, for numbers of the size of a range.
fn short(value: f32, range: [f32; 2]) -> String {
    let size = range[0].abs().max(range[1].abs());
    match size {
        s if !(0.01..10_000.0).contains(&s) => format!("{value:.1e}"),
        s if s >= 100.0 => format!("{value:.0}"),
        s if s >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Text in strokes, 8 pixels high, from the lower left corner `from`.
fn write(text: &str, from: [f32; 2], at: &impl Fn(f32, f32) -> [f32; 3], out: &mut Vec<Line>) {
    let mut x = from[0];
    for letter in text.chars() {
        let (strokes, wide) = glyph(letter);
        for stroke in strokes {
            let points: Vec<[f32; 3]> = stroke
                .as_bytes()
                .chunks_exact(2)
                .map(|c| at(x + f32::from(c[0] - b'0') * 1.25, from[1] + f32::from(c[1] - b'0')))
                .collect();
            out.extend(points.windows(2).map(|w| Line::plain(w[0], w[1], INK)));
        }
        x += wide;
    }
}

/// Strokes of a letter as pairs of digits, 0..4 across and 0..8 up, and how far the next one is.
fn glyph(letter: char) -> (&'static [&'static str], f32) {
    match letter {
        '0' => (&["103041473818070110"], 8.0),
        '1' => (&["06282020", "1030"], 8.0),
        '2' => (&["07183847450040"], 8.0),
        '3' => (&["07183847453424", "344341301001"], 8.0),
        '4' => (&["30380343"], 8.0),
        '5' => (&["480805354441301001"], 8.0),
        '6' => (&["473818070110304143341403"], 8.0),
        '7' => (&["084810"], 8.0),
        '8' => (&["14344547381807051403011030414334"], 8.0),
        '9' => (&["011030414738180705143445"], 8.0),
        '-' => (&["0444"], 8.0),
        '+' => (&["0444", "2226"], 8.0),
        '.' => (&["0001"], 4.0),
        'e' => (&["034344351504011040"], 8.0),
        'm' => (&["0005", "04152420", "24354440"], 9.0),
        's' => (&["4515041332413000"], 8.0),
        'K' => (&["0008", "480340"], 8.0),
        '/' => (&["0048"], 7.0),
        _ => (&[], 6.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use half::f16;

    #[test]
    fn numbers_are_short_and_have_strokes() {
        for (value, top, text) in
            [(0.25, 1.0, "0.25"), (12.0, 20.0, "12.0"), (150.0, 300.0, "150"), (1e-4, 1e-3, "1.0e-4")]
        {
            assert_eq!(short(value, [0.0, top]), text);
            assert!(text.chars().all(|c| !glyph(c).0.is_empty()));
        }
        for quantity in Quantity::ALL {
            assert!(quantity.unit().chars().all(|c| !glyph(c).0.is_empty()));
        }
    }

    #[test]
    fn the_colours_span_what_is_there() {
        let mut snapshot = Snapshot::empty(Dims::new([9, 3, 2]).unwrap(), 1.0);
        snapshot.smoke[5] = [1.0, 2.0, 0.5, 30.0].map(f16::from_f32);
        snapshot.bricks.update(snapshot.dims, &snapshot.smoke);
        snapshot.velocity = vec![[3.0, 4.0, 0.0, 7.0].map(f16::from_f32); 54];
        let ranges = Ranges::of(&snapshot);
        assert_eq!(ranges.range(Quantity::Density), [0.0, 3.5]);
        assert_eq!(ranges.range(Quantity::Temperature), [0.0, 30.0]);
        assert_eq!(ranges.range(Quantity::Speed), [0.0, 5.0]);
        assert_eq!(ranges.range(Quantity::VelocityY), [-5.0, 5.0]);
        assert_eq!(ranges.range(Quantity::Vorticity), [0.0, 7.0]);
    }
}
