//! Pixels that the edges of the box touch, found once for a camera.

use crate::render::camera::Axes;
use crate::render::lines;

/// One pixel of a line.
#[derive(Clone, Copy)]
struct Mark {
    at: [u32; 2],
    tint: [f32; 4],
    /// Distance along the ray \[m\].
    away: f32,
}

/// The marks of all edges, those behind the smoke and those before it, by rows.
#[derive(Default)]
pub(super) struct Marks {
    of: Option<(Axes, [f32; 3], [u32; 2])>,
    sides: [Side; 2],
}

#[derive(Default)]
struct Side {
    marks: Vec<Mark>,
    /// The first mark of each row, and the end of the last.
    rows: Vec<usize>,
}

impl Marks {
    /// Follows the camera.
    pub fn update(&mut self, axes: &Axes, outline: bool, extent: [f32; 3], size: [u32; 2]) {
        if !outline {
            return *self = Self::default();
        }
        if self.of.as_ref() == Some(&(*axes, extent, size)) {
            return;
        }
        let clip = axes.clip_from_world(1e-3);
        self.sides = lines::box_edges(extent, axes.eye.into(), lines::OUTLINE).map(|lines| {
            let mut marks = Vec::new();
            for line in &lines {
                line.trace(&clip, lines::WIDTH, size, |at, tint, depth| {
                    let uv = [0, 1].map(|a| (at[a] as f32 + 0.5) / size[a] as f32);
                    marks.push(Mark { at, tint, away: depth * axes.slant(uv) });
                });
            }
            Side::new(marks, size[1])
        });
        self.of = Some((*axes, extent, size));
    }

    /// Paints those behind the smoke on row `y`.
    pub fn behind(&self, y: usize, pixels: &mut [[f32; 4]], reach: &[f32]) {
        self.sides[0].paint(y, pixels, reach);
    }

    /// Paints those before it.
    pub fn before(&self, y: usize, pixels: &mut [[f32; 4]], reach: &[f32]) {
        self.sides[1].paint(y, pixels, reach);
    }
}

impl Side {
    fn new(mut marks: Vec<Mark>, height: u32) -> Self {
        // Stable: lines stay in their order where they cross.
        marks.sort_by_key(|mark| mark.at[1]);
        let rows = (0..=height).map(|y| marks.partition_point(|mark| mark.at[1] < y)).collect();
        Self { marks, rows }
    }

    fn paint(&self, y: usize, pixels: &mut [[f32; 4]], reach: &[f32]) {
        let Some(&[start, end]) = self.rows.get(y..y + 2) else { return };
        for mark in &self.marks[start..end] {
            let x = mark.at[0] as usize;
            if lines::seen(mark.away, reach[x]) {
                paint(&mut pixels[x], mark.tint);
            }
        }
    }
}

/// Puts a colour with alpha over a pixel.
pub(super) fn paint(pixel: &mut [f32; 4], [r, g, b, alpha]: [f32; 4]) {
    let [pr, pg, pb, clear] = *pixel;
    *pixel = [pr + (r - pr) * alpha, pg + (g - pg) * alpha, pb + (b - pb) * alpha, clear * (1.0 - alpha)];
}
