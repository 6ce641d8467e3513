//! The flow as lines: arrows on a lattice, and streamlines.

use half::f16;
use nalgebra::Vector3;

use super::camera::Axes;
use super::colormap;
use super::lines::Line;
use super::{Mode, Quantity, Ranges};
use crate::grid::Dims;

/// Least distance between arrows on the screen \[pixels\], and greatest number of arrows.
const ARROW_PIXELS: f32 = 22.0;
const MOST_ARROWS: f32 = 4000.0;
/// Number of streamlines, and greatest number of steps of each to either side.
const STREAMLINES: usize = 160;
const STREAM_STEPS: usize = 70;
/// Share of the greatest speed below which there are no arrows and no lines.
const STILL: f32 = 0.02;

/// The velocity of a snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow<'a> {
    dims: Dims,
    h: f32,
    extent: [f32; 3],
    /// u, v, w and |ω| of each cell; empty if the snapshot has no velocity.
    velocity: &'a [[f16; 4]],
    top_speed: f32,
}

/// Returns the lines of a mode in the order of painting.
pub(super) fn lines(flow: &Flow, mode: Mode, axes: &Axes, size: [u32; 2]) -> Vec<Line> {
    match mode {
        Mode::Velocity => flow.arrows(axes, size),
        Mode::Streamlines => flow.streamlines(),
        _ => Vec::new(),
    }
}

impl<'a> Flow<'a> {
    /// Wraps the velocity of the cells of a grid, with its range.
    pub fn new(dims: Dims, h: f32, velocity: &'a [[f16; 4]], ranges: &Ranges) -> Self {
        let [_, top_speed] = ranges.range(Quantity::Speed);
        Self { dims, h, extent: dims.array().map(|n| n as f32 * h), velocity, top_speed }
    }

    /// Returns the velocity at a point \[m/s\], or `None` outside the box.
    fn at(&self, p: Vector3<f32>) -> Option<Vector3<f32>> {
        if self.velocity.is_empty() || (0..3).any(|a| p[a] < 0.0 || p[a] > self.extent[a]) {
            return None;
        }
        let at = std::array::from_fn(|a| p[a] / self.h - 0.5);
        let [u, v, w, _] = super::trilinear::trilinear(self.dims, at, |n| self.velocity[n].map(f32::from));
        Some(Vector3::new(u, v, w))
    }

    fn tint(&self, speed: f32) -> [f32; 4] {
        let x = (speed / self.top_speed.max(1e-9)).clamp(0.0, 1.0);
        // The dark end of the colours is invisible before a dark background.
        let [r, g, b] = colormap::linear(0.25 + 0.75 * x);
        [r, g, b, 0.35 + 0.65 * x]
    }

    /// Returns arrows from far to near. Their length is proportional to the speed; the longest is twice the
    /// distance between arrows. They are denser when the camera is nearer.
    fn arrows(&self, axes: &Axes, size: [u32; 2]) -> Vec<Line> {
        let spacing = self.arrow_spacing(axes, size);
        let count = self.extent.map(|length| ((length / spacing).round() as usize).max(1));
        let place = |n: usize| {
            let at = [n % count[0], n / count[0] % count[1], n / (count[0] * count[1])];
            Vector3::from(std::array::from_fn::<f32, 3, _>(|a| {
                (at[a] as f32 + 0.5) * self.extent[a] / count[a] as f32
            }))
        };
        let mut arrows: Vec<(f32, [Line; 3])> = (0..count.iter().product())
            .filter_map(|n| {
                let middle = place(n);
                let away = (middle - axes.eye.coords).norm_squared();
                self.arrow(middle, spacing, axes).map(|arrow| (away, arrow))
            })
            .collect();
        arrows.sort_by(|a, b| b.0.total_cmp(&a.0));
        arrows.into_iter().flat_map(|(_, arrow)| arrow).collect()
    }

    fn arrow_spacing(&self, axes: &Axes, size: [u32; 2]) -> f32 {
        let middle = Vector3::from(self.extent) * 0.5;
        let least = if axes.parallel { 0.0 } else { 0.2 * middle.norm() * axes.up.norm() };
        let on_screen = ARROW_PIXELS * 2.0 * axes.half_height_at(middle.into()).max(least) / size[1] as f32;
        let volume: f32 = self.extent.iter().product();
        on_screen.max((volume / MOST_ARROWS).cbrt())
    }

    /// Returns a shaft and two barbs around `middle`, facing the eye.
    fn arrow(&self, middle: Vector3<f32>, longest: f32, axes: &Axes) -> Option<[Line; 3]> {
        let velocity = self.at(middle)?;
        let speed = velocity.norm();
        if speed <= STILL * self.top_speed || speed <= 0.0 {
            return None;
        }
        let along = velocity * (2.0 * longest / self.top_speed);
        let (tail, tip) = (middle - along * 0.5, middle + along * 0.5);
        let aside = along.cross(&(middle - axes.eye.coords)).try_normalize(1e-12)? * (0.16 * along.norm());
        let tint = self.tint(speed);
        let line = |a: Vector3<f32>, b: Vector3<f32>| Line::plain(a.into(), b.into(), tint);
        let neck = tip - along * 0.32;
        Some([line(tail, tip), line(neck + aside, tip), line(neck - aside, tip)])
    }

    /// Returns lines along the flow, forwards and backwards, from points spread evenly over the box.
    fn streamlines(&self) -> Vec<Line> {
        // The R3 sequence (Roberts 2018) fills the box evenly for any number of points.
        const STEP: [f64; 3] = [0.819_172_513_396_164_5, 0.671_043_606_703_789_3, 0.549_700_477_901_970_2];
        let place = |n: usize| {
            let share = |a: usize| ((n as f64 + 1.0) * STEP[a]).fract() as f32;
            Vector3::new(share(0) * self.extent[0], share(1) * self.extent[1], share(2) * self.extent[2])
        };
        let moving = |p: &Vector3<f32>| self.at(*p).is_some_and(|u| u.norm() > 0.08 * self.top_speed);
        let starts = (0..40 * STREAMLINES).map(place).filter(moving).take(STREAMLINES);
        starts.flat_map(|p| [1.0, -1.0].map(|sign| self.streamline(p, sign))).flatten().collect()
    }

    /// Integrates one line by the classical Runge–Kutta method, in steps of a cell.
    fn streamline(&self, start: Vector3<f32>, sign: f32) -> Vec<Line> {
        let direction = |p: Vector3<f32>| -> Option<Vector3<f32>> {
            let u = self.at(p)?;
            (u.norm() > STILL * self.top_speed).then(|| u.normalize() * sign)
        };
        let step = |p: Vector3<f32>| {
            let a = direction(p)?;
            let b = direction(p + a * (0.5 * self.h))?;
            let c = direction(p + b * (0.5 * self.h))?;
            let d = direction(p + c * self.h)?;
            Some(p + (a + 2.0 * b + 2.0 * c + d) * (self.h / 6.0))
        };
        let points: Vec<_> = std::iter::successors(Some(start), |p| step(*p)).take(STREAM_STEPS).collect();
        let tint = |p: &Vector3<f32>| self.tint(self.at(*p).map_or(0.0, |u| u.norm()));
        points
            .windows(2)
            .map(|w| Line { ends: [w[0].into(), w[1].into()], tints: [tint(&w[0]), tint(&w[1])] })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::Camera;
    use crate::snapshot::Snapshot;

    fn of(snapshot: &Snapshot) -> Flow<'_> {
        Flow::new(snapshot.dims, snapshot.h, &snapshot.velocity, &Ranges::of(snapshot))
    }

    /// Returns a solid rotation about the middle of a box.
    fn turning() -> Snapshot {
        let dims = Dims::new([32, 8, 32]).unwrap();
        let mut snapshot = Snapshot::empty(dims, 0.1);
        let at = |n: usize| ((n % 32) as f32 - 15.5, (n / 256) as f32 - 15.5);
        snapshot.velocity =
            (0..dims.cells()).map(|n| [-at(n).1, 0.0, at(n).0, 0.2].map(f16::from_f32)).collect();
        snapshot
    }

    #[test]
    fn streamlines_of_a_turn_are_circles() {
        let snapshot = turning();
        let flow = of(&snapshot);
        let line = flow.streamline(Vector3::new(2.4, 0.4, 1.6), 1.0);
        assert!(line.len() > 40);
        for Line { ends: [_, p], .. } in line {
            let radius = (p[0] - 1.6).hypot(p[2] - 1.6);
            assert!((radius - 0.8).abs() < 1e-3, "{radius}");
        }
    }

    #[test]
    fn arrows_point_along_the_flow_and_thin_out_with_distance() {
        let snapshot = turning();
        let flow = of(&snapshot);
        let mut camera = Camera::framing(snapshot.extent());
        let near = flow.arrows(&Axes::of(&camera, 1.0), [480, 480]);
        for shaft in near.iter().step_by(3) {
            let [a, b] = shaft.ends.map(Vector3::from);
            let flow_here = flow.at((a + b) * 0.5).unwrap();
            assert!((b - a).normalize().dot(&flow_here.normalize()) > 0.999);
        }
        camera.position = camera.position.map(|x| 4.0 * x);
        let far = flow.arrows(&Axes::of(&camera, 1.0), [480, 480]);
        assert!(!far.is_empty() && far.len() < near.len() / 4, "{} and {}", far.len(), near.len());
    }

    #[test]
    fn a_snapshot_without_velocity_has_no_lines() {
        let snapshot = Snapshot::empty(Dims::new([4; 3]).unwrap(), 1.0);
        let flow = of(&snapshot);
        assert!(flow.streamlines().is_empty());
        assert!(flow.arrows(&Axes::of(&Camera::framing([4.0; 3]), 1.0), [64, 64]).is_empty());
    }
}
