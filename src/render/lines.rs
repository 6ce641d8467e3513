//! Lines of constant width on the screen: the edges of the domain, arrows, streamlines.

use nalgebra::{Matrix4, Point3, Vector4};

/// Width of a line \[pixels\]; its soft edge adds half a pixel on either side.
pub(super) const WIDTH: f32 = 1.2;
/// Distance below which parts of a line are not rendered \[m\].
pub(super) const NEAR: f32 = 1e-3;
/// Factor on the distance of a line in comparisons with a surface, so that lines on the floor are visible
/// despite rounding.
pub(super) const AHEAD: f32 = 1.0 - 2e-3;

/// A straight line between two points, in a linear colour with alpha at each end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    pub ends: [[f32; 3]; 2],
    pub tints: [[f32; 4]; 2],
}

impl Line {
    pub fn plain(a: [f32; 3], b: [f32; 3], tint: [f32; 4]) -> Self {
        Self { ends: [a, b], tints: [tint; 2] }
    }

    /// Projects the ends to a screen of `size` pixels, x to the right and y up, with depth / w and 1 / w,
    /// which are linear on the screen. `None` if the whole line is behind the eye.
    fn on_screen(&self, clip_from_world: &Matrix4<f32>, size: [f32; 2]) -> Option<[[f32; 4]; 2]> {
        let clip = self.ends.map(|end| clip_from_world * Point3::from(end).to_homogeneous());
        let [a, b] = [in_front(clip[0], clip[1])?, in_front(clip[1], clip[0])?];
        let at = |p: &Vector4<f32>, axis: usize| (p[axis] / p.w * 0.5 + 0.5) * size[axis];
        Some([a, b].map(|p| [at(&p, 0), at(&p, 1), p.z / p.w, 1.0 / p.w]))
    }

    /// Calls `paint` with each pixel of the line, rows counted from the bottom, its colour with alpha scaled
    /// by the pixel's coverage, and its depth. `line.vert` and `line.frag` do the same.
    pub fn trace(
        &self,
        clip_from_world: &Matrix4<f32>,
        width: f32,
        size: [u32; 2],
        mut paint: impl FnMut([u32; 2], [f32; 4], f32),
    ) {
        let Some([a, b]) = self.on_screen(clip_from_world, size.map(|n| n as f32)) else { return };
        let half_width = 0.5 * (width + 1.0);
        let along = [b[0] - a[0], b[1] - a[1]];
        let squared = (along[0] * along[0] + along[1] * along[1]).max(1e-12);
        let range = |axis: usize| {
            let (lo, hi) = (a[axis].min(b[axis]) - half_width, a[axis].max(b[axis]) + half_width);
            lo.clamp(0.0, size[axis] as f32) as u32..hi.ceil().clamp(0.0, size[axis] as f32) as u32
        };
        // The pixels of a row lie near its crossing with the line, to either side by the half width over the
        // sine of the line's slope.
        let aside = half_width * squared.sqrt() / along[1].abs().max(1e-6) + 1.0;
        let columns = range(0);
        for y in range(1) {
            let crossing =
                a[0] + (y as f32 + 0.5 - a[1]) * along[0] / along[1].abs().max(1e-6).copysign(along[1]);
            let first = (crossing - aside).max(columns.start as f32) as u32;
            let end = (crossing + aside).ceil().clamp(0.0, columns.end as f32) as u32;
            for x in first..end {
                let to = [x as f32 + 0.5 - a[0], y as f32 + 0.5 - a[1]];
                let share = (to[0] * along[0] + to[1] * along[1]) / squared;
                let off = (to[0] * along[1] - to[1] * along[0]).abs() / squared.sqrt() / half_width;
                if (0.0..1.0).contains(&share) && off < 1.0 {
                    let tint: [f32; 4] = std::array::from_fn(|c| {
                        self.tints[0][c] + (self.tints[1][c] - self.tints[0][c]) * share
                    });
                    let edge = 1.0 - smoothstep((width - 1.0) / (width + 1.0), 1.0, off);
                    let [depth, per_w] = [2, 3].map(|n| a[n] + (b[n] - a[n]) * share);
                    let depth = depth / per_w;
                    paint([x, y], [tint[0], tint[1], tint[2], tint[3] * edge], depth);
                }
            }
        }
    }
}

/// Returns `a`, or the point where the segment to `b` comes in front of the eye.
fn in_front(a: Vector4<f32>, b: Vector4<f32>) -> Option<Vector4<f32>> {
    if a.w >= NEAR {
        return Some(a);
    }
    (b.w >= NEAR).then(|| a + (b - a) * ((NEAR - a.w) / (b.w - a.w)))
}

pub(super) fn smoothstep(lo: f32, hi: f32, x: f32) -> f32 {
    let t = ((x - lo) / (hi - lo)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Returns whether a part of a line at a distance is visible along a ray up to `t_max` \[m\].
pub(super) fn is_visible(distance: f32, t_max: f32) -> bool {
    distance * AHEAD < t_max
}

/// Colour and alpha of the domain's edges.
pub(super) const OUTLINE: [f32; 4] = [0.75, 0.80, 0.88, 0.22];

/// Returns the edges of the box in two lists: those behind the smoke for an eye at `eye`, and those in front
/// of it.
pub(super) fn box_edges(extent: [f32; 3], eye: [f32; 3], tint: [f32; 4]) -> [Vec<Line>; 2] {
    let corner = |n: usize| std::array::from_fn(|a| if n >> a & 1 == 1 { extent[a] } else { 0.0 });
    let mut edges = [Vec::new(), Vec::new()];
    for axis in 0..3 {
        for n in (0..8).filter(|n| n >> axis & 1 == 0) {
            // An edge belongs to two faces. It is in front of the smoke if the eye is outside of one of them.
            let seen = (0..3)
                .filter(|&a| a != axis)
                .any(|a| if n >> a & 1 == 1 { eye[a] > extent[a] } else { eye[a] < 0.0 });
            edges[usize::from(seen)].push(Line::plain(corner(n), corner(n | 1 << axis), tint));
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_edges_of_a_box_face_an_eye_off_a_corner() {
        let [behind, before] = box_edges([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [1.0; 4]);
        assert_eq!((behind.len(), before.len()), (3, 9));
        assert!(behind.iter().all(|line| line.ends[0] == [0.0; 3] || line.ends[1] == [0.0; 3]));
        let [behind, before] = box_edges([1.0; 3], [0.5; 3], [1.0; 4]);
        assert_eq!((behind.len(), before.len()), (12, 0));
    }
}
