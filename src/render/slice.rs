//! A plane through the box that shows one quantity in colours, and its legend. `shaders/slice.frag` has the
//! same formulas.

use half::f16;

use super::camera::{Ray, away_from_zero};
use super::colormap;
use super::lines::{Line, smoothstep};
use super::quantity::Quantity;
use super::trilinear::trilinear;
use crate::grid::Dims;
use crate::look::InvalidLook;

/// A plane and its quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// The axis across the plane: 0 is x, 1 is y, 2 is z.
    pub axis: usize,
    /// Position of the plane: 0 at one side of the box, 1 at the other.
    pub position: f32,
    /// Shown quantity.
    pub quantity: Quantity,
    /// Values at both ends of the colour scale; `None` uses [`Ranges::of`](super::Ranges::of).
    pub range: Option<[f32; 2]>,
}

impl Slice {
    /// Returns the first invalid value, if any.
    pub fn problem(&self) -> Option<InvalidLook> {
        let within = |what, values: &[f32], range| InvalidLook::unless_within("slice", what, values, range);
        within("axis", &[self.axis as f32], [0.0, 2.0])
            .or_else(|| within("position", &[self.position], [0.0, 1.0]))
            .or_else(|| within("range", self.range.as_slice().as_flattened(), [f32::MIN, f32::MAX]))
    }
}

impl Default for Slice {
    /// Returns a slice of the density in the middle plane across z.
    fn default() -> Self {
        Self { axis: 2, position: 0.5, quantity: Quantity::Density, range: None }
    }
}

/// Transmittance of a slice for the background.
pub(super) const CLEAR: f32 = 0.06;

/// Opacity of a slice where the value is 0, so that empty parts are not black, and the share of the range at
/// which the opacity is 1.
pub(super) const COVER: [f32; 2] = [0.5, 0.15];

/// Returns the opacity of a slice.
fn cover(value: f32, range: [f32; 2]) -> f32 {
    let strength = value.abs() / range[0].abs().max(range[1].abs()).max(1e-20);
    COVER[0] + (1.0 - COVER[0]) * smoothstep(0.0, COVER[1], strength)
}

/// A slice ready to be rendered on the CPU.
pub(super) struct Plane<'a> {
    pub slice: Slice,
    pub range: [f32; 2],
    pub dims: Dims,
    /// Edge of a cell \[m\].
    pub h: f32,
    /// Densities and temperature of each cell.
    pub smoke: &'a [[f16; 4]],
    /// u, v, w and |ω| of each cell; may be empty if the quantity does not need them.
    pub velocity: &'a [[f16; 4]],
}

impl Plane<'_> {
    /// Returns colour and alpha along a ray up to `t_max`.
    pub fn tint(&self, ray: &Ray, t_max: f32) -> Option<[f32; 4]> {
        let axis = self.slice.axis.min(2);
        let extent = self.dims.array().map(|n| n as f32 * self.h);
        let at = self.slice.position.clamp(0.0, 1.0) * extent[axis];
        let t = (at - ray.origin[axis]) / away_from_zero(ray.direction[axis]);
        let p: [f32; 3] = ray.at(t).coords.into();
        let outside = (0..3).any(|a| a != axis && (p[a] < 0.0 || p[a] > extent[a]));
        if t <= 0.0 || t > t_max || outside {
            return None;
        }
        let dot = |a: [f32; 4], b: [f32; 4]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let quantity = self.slice.quantity;
        let sample = |field: &[[f16; 4]]| {
            trilinear(self.dims, p.map(|x| x / self.h - 0.5), |n| field[n].map(f32::from))
        };
        let value = if quantity.needs_velocity() {
            let v = sample(self.velocity);
            let speed =
                if quantity == Quantity::Speed { v[..3].iter().map(|x| x * x).sum() } else { 0.0_f32 };
            dot(v, quantity.of_flow()) + speed.sqrt()
        } else {
            dot(sample(self.smoke), quantity.of_smoke())
        };
        let [r, g, b] = colormap::linear((value - self.range[0]) / (self.range[1] - self.range[0]));
        Some([r, g, b, (1.0 - CLEAR) * cover(value, self.range)])
    }
}

/// Width of the legend's bar \[pixels\].
pub(super) const BAR: f32 = 14.0;

/// Returns the lines of the legend: its bar, [`BAR`] wide, and its numbers, both in the screen's −1..1.
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

/// Formats a value with three digits relative to the range.
fn short(value: f32, range: [f32; 2]) -> String {
    let size = range[0].abs().max(range[1].abs());
    match size {
        s if !(0.01..10_000.0).contains(&s) => format!("{value:.1e}"),
        s if s >= 100.0 => format!("{value:.0}"),
        s if s >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Writes text in strokes, 8 pixels high, from the lower left corner `from`.
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

/// Returns the strokes of a letter as pairs of digits, 0..4 across and 0..8 up, and its advance.
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
}
