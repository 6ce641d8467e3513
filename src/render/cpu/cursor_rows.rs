//! The 3D cursor over rows of a picture, dimmed by the smoke in front of it.

use nalgebra::Vector3;

use super::line_pixels::paint;
use super::march::{PACKET, Row, Volume, in_rays, march};
use crate::render::camera::Axes;
use crate::render::stage::Stage;
use crate::render::{Cursor, cursor, noise};
use crate::simd::Token;

/// The cursor in a picture.
pub(super) struct CursorRows<'a> {
    pub cursor: Cursor,
    pub axes: &'a Axes,
    pub size: [u32; 2],
    pub smoke: Volume<'a>,
    pub stage: &'a Stage,
    /// Whether there is a floor.
    pub floor: bool,
    pub token: Token,
}

/// A part of the cursor.
#[derive(Clone, Copy)]
enum Part {
    Ring,
    Ball,
}

impl CursorRows<'_> {
    /// Returns a row of pixels with the cursor over it, first its ring, then the ball; `None` if it does not
    /// touch the row.
    pub fn over(&self, y: u32, pixels: &[[f32; 4]], t_max: &[f32]) -> Option<Vec<[f32; 4]>> {
        let window = self.columns(y)?;
        let soft = cursor::softness(&self.cursor, self.axes, self.size);
        let mut painted = pixels.to_vec();
        for part in [Part::Ring, Part::Ball] {
            let mut fronts = vec![0.0; pixels.len().next_multiple_of(PACKET)];
            let mut tints = vec![None; pixels.len()];
            for x in window.clone() {
                let ray = self.axes.ray_through_pixel(self.size, [x as u32, y]);
                tints[x] = match part {
                    Part::Ball => cursor::ball(&self.cursor, &ray, soft, t_max[x]),
                    Part::Ring if self.floor => {
                        cursor::ring(&self.cursor, self.axes, &ray, t_max[x], self.stage)
                    }
                    Part::Ring => None,
                };
                fronts[x] = tints[x].map_or(0.0, |tint: cursor::Tint| tint.distance);
            }
            if tints.iter().any(Option::is_some) {
                let clear = self.transmittance(y, window.clone(), &fronts);
                for (n, tint) in tints.iter().enumerate().filter_map(|(n, tint)| Some((n, tint.as_ref()?))) {
                    paint(&mut painted[n], tint.through(clear[n][3]));
                }
            }
        }
        Some(painted)
    }

    /// Returns the columns that the bounding boxes of ball and ring cover.
    fn columns(&self, y: u32) -> Option<std::ops::Range<usize>> {
        let around = |r: f32| Vector3::repeat(r * 1.1);
        let (center, radius) = (Vector3::from(self.cursor.center), self.cursor.radius);
        let mut all: Option<std::ops::Range<usize>> = None;
        let ring = (center - around(radius), center + around(radius));
        let ring = ([ring.0.x, -0.01 * radius, ring.0.z], [ring.1.x, 0.01 * radius, ring.1.z]);
        let ball = ((center - around(radius)).into(), (center + around(radius)).into());
        for (lo, hi) in [ball, ring] {
            let Some([lo, hi]) = self.axes.window(lo, hi).map(|window| in_rays(window, self.size)) else {
                continue;
            };
            if (lo[1]..hi[1]).contains(&(y as usize)) {
                let span = lo[0]..hi[0];
                all = Some(all.map_or(span.clone(), |all| all.start.min(span.start)..all.end.max(span.end)));
            }
        }
        all
    }

    /// Computes the transmittance of the smoke from the eye to the cursor, along the rays of a row.
    fn transmittance(&self, y: u32, window: std::ops::Range<usize>, fronts: &[f32]) -> Vec<[f32; 4]> {
        const EVEN: [f32; noise::TILE] = [0.5; noise::TILE];
        let start = window.start / PACKET * PACKET;
        let mut out = vec![[1.0; 4]; fronts.len()];
        let row = Row {
            axes: self.axes,
            size: self.size,
            y,
            x: start as u32..window.end as u32,
            noise: &EVEN,
            shift: 0.0,
            t_max: &fronts[start..],
        };
        march(self.token, &self.smoke, &row, &mut out[start..]);
        out
    }
}
