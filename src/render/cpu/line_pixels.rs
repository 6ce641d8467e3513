//! Pixels of lines, sorted by row.

use nalgebra::Matrix4;

use crate::render::camera::Axes;
use crate::render::lines::{self, Line};

/// One pixel of a line.
#[derive(Clone, Copy)]
struct Mark {
    at: [u32; 2],
    tint: [f32; 4],
    /// Distance along the ray \[m\].
    distance: f32,
}

/// The pixels of several lines.
#[derive(Default)]
pub(super) struct LinePixels {
    marks: Vec<Mark>,
    /// First mark of each row; the last entry is the number of marks.
    rows: Vec<usize>,
}

impl LinePixels {
    /// Traces lines in the world and, in front of them, lines on the screen with their width, which are never
    /// hidden.
    pub fn trace(world: &[Line], screen: &[(Vec<Line>, f32)], axes: &Axes, size: [u32; 2]) -> Self {
        let mut marks = Vec::new();
        for (all, width) in screen {
            for line in all {
                line.trace(&Matrix4::identity(), *width, size, |at, tint, _| {
                    marks.push(Mark { at, tint, distance: 0.0 });
                });
            }
        }
        let clip = axes.clip_from_world();
        for line in world {
            line.trace(&clip, lines::WIDTH, size, |at, tint, depth| {
                let uv = [0, 1].map(|a| (at[a] as f32 + 0.5) / size[a] as f32);
                marks.push(Mark { at, tint, distance: depth * axes.slant(uv) });
            });
        }
        // The sort is stable: lines keep their order where they cross.
        marks.sort_by_key(|mark| mark.at[1]);
        let rows = (0..=size[1]).map(|y| marks.partition_point(|mark| mark.at[1] < y)).collect();
        Self { marks, rows }
    }

    /// Paints the marks of row `y`, unless a nearer surface hides them.
    pub fn paint(&self, y: usize, pixels: &mut [[f32; 4]], t_max: &[f32]) {
        let Some(&[start, end]) = self.rows.get(y..y + 2) else { return };
        for mark in &self.marks[start..end] {
            let x = mark.at[0] as usize;
            if lines::is_visible(mark.distance, t_max[x]) {
                paint(&mut pixels[x], mark.tint);
            }
        }
    }
}

/// Blends a colour with alpha over a pixel.
pub(super) fn paint(pixel: &mut [f32; 4], [r, g, b, alpha]: [f32; 4]) {
    let [pr, pg, pb, clear] = *pixel;
    *pixel = [pr + (r - pr) * alpha, pg + (g - pg) * alpha, pb + (b - pb) * alpha, clear * (1.0 - alpha)];
}
