//! Front to back through the three densities, on the CPU. `shaders/march.frag` is the same, step for step.

use nalgebra::Vector3;

use super::camera::{Ray, away_from_zero, box_span};
use super::exp::exp;
use super::medium::Medium;
use super::volume::Volume;
use crate::snapshot::{BRICK, Bricks, Snapshot};

/// Less light than this is not followed.
pub(super) const LEAST: f32 = 1.0 / 512.0;

/// What the smoke along a ray sends to the eye, and the share it lets through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Marched {
    pub radiance: [f32; 3],
    pub through: f32,
}

/// A snapshot ready to be marched through.
pub(super) struct Smoke<'a> {
    pub snapshot: &'a Snapshot,
    /// Densities, and the temperature or, where it glows, [`Medium::embers`].
    pub smoke: &'a Volume,
    pub light: &'a Volume,
    /// The smoke with the light it sends ([`super::cells`]), if that was worked out before.
    pub shaded: Option<&'a Volume>,
    pub medium: &'a Medium,
    /// Extinction along the ray for each unit of density \[1/m\].
    pub extinction: f32,
    /// Between readings of the smoke \[m\].
    pub dt: f32,
    /// Two readings share the light in their middle, where it is worked out along the ray.
    pub halves: bool,
    /// Step over bricks in which nothing is.
    pub bricks: Option<&'a Bricks>,
    /// The cubic B-spline between cells instead of trilinear interpolation.
    pub cubic: bool,
}

/// Whether two readings of the smoke share their light, at so many to a cell. Further apart, a brick that is stepped
/// over by the middle of the two might hold one of them.
pub(super) fn halves(samples: f32) -> bool {
    samples >= 1.0
}

/// The lattice of steps along a ray: step n covers t0 + n dt on, clipped to the span.
pub(super) struct Lattice {
    pub t0: f32,
    pub span: [f32; 2],
    pub dt: f32,
}

impl Lattice {
    /// Steps over the part of `ray` in the box, up to `reach`; the first is `offset` of a step long.
    pub fn new(ray: &Ray, extent: [f32; 3], reach: f32, offset: f32, dt: f32) -> Self {
        let [enter, leave] = box_span(ray, [0.0; 3], extent);
        let span = [enter.max(0.0), leave.min(reach)];
        Self { t0: span[0] - (1.0 - offset) * dt, span, dt }
    }

    /// Start and end of step `n`, or `None` beyond the span.
    pub fn step(&self, n: f32) -> Option<[f32; 2]> {
        let start = self.t0 + n * self.dt;
        (start < self.span[1])
            .then(|| [start.max(self.span[0]), (self.t0 + (n + 1.0) * self.dt).min(self.span[1])])
    }
}

impl Smoke<'_> {
    pub fn march(&self, ray: &Ray, reach: f32, offset: f32) -> Marched {
        let stride = if self.pairs() { 2.0 * self.dt } else { self.dt };
        let lattice = Lattice::new(ray, self.snapshot.extent(), reach, offset, stride);
        let cosine = ray.direction.dot(&Vector3::from(self.medium.sun_direction));
        let phase = self.medium.phase(cosine);
        let mut out = Marched { radiance: [0.0; 3], through: 1.0 };
        let mut n = 0.0;
        while let Some([a, b]) = lattice.step(n) {
            if out.through <= LEAST {
                break;
            }
            let p: [f32; 3] = ray.at(0.5 * (a + b)).coords.into();
            if let Some(leave) = self.leave_if_empty(ray, p) {
                n = ((leave - lattice.t0) / stride).floor().max(n + 1.0);
                continue;
            }
            match self.shaded {
                Some(shaded) => self.step_shaded(&mut out, shaded, ray, [a, b]),
                None => self.step(&mut out, ray, [a, b], phase),
            }
            n += 1.0;
        }
        out
    }

    /// Whether a step is two readings that share their light.
    fn pairs(&self) -> bool {
        self.halves && self.shaded.is_none()
    }

    /// Densities and [`Medium::embers`] at a place in the box, none of them negative.
    pub fn sample(&self, p: [f32; 3]) -> [f32; 4] {
        let sampled = self.read(self.smoke, p);
        let shown = self.medium.shown(p, self.snapshot.extent());
        sampled.map(|x| x.max(0.0) * shown)
    }

    fn read(&self, volume: &Volume, p: [f32; 3]) -> [f32; 4] {
        if self.cubic { volume.sample_cubic(p) } else { volume.sample(p) }
    }

    /// The step from `a` to `b` through smoke that knows what it sends.
    fn step_shaded(&self, out: &mut Marched, shaded: &Volume, ray: &Ray, [a, b]: [f32; 2]) {
        let [red, green, blue, density] = self.read(shaded, ray.at(0.5 * (a + b)).coords.into());
        let passes = exp(-self.extinction * density * (b - a));
        let share = out.through * (1.0 - passes) / density.max(1e-8);
        for (sum, sent) in out.radiance.iter_mut().zip([red, green, blue]) {
            *sum += share * sent;
        }
        out.through *= passes;
    }

    /// The step from `a` to `b`.
    fn step(&self, out: &mut Marched, ray: &Ray, [a, b]: [f32; 2], phase: [f32; super::medium::OCTAVES]) {
        let p: [f32; 3] = ray.at(0.5 * (a + b)).coords.into();
        let (passes, [r, g, b, embers]) = if self.pairs() {
            let aside = ray.direction * (0.25 * (b - a));
            let [first, second] = [-aside, aside]
                .map(|by| self.part((ray.at(0.5 * (a + b)) + by).coords.into(), 0.5 * (b - a)));
            let passes = first.0 * second.0;
            let share = (1.0 - first.0) / (1.0 - passes).max(1e-20);
            (passes, std::array::from_fn(|n| second.1[n] + (first.1[n] - second.1[n]) * share))
        } else {
            self.part(p, b - a)
        };
        if passes >= 1.0 {
            return;
        }
        let [sun, sky, ground, _] = self.light.sample(p);
        let light = self.medium.scattered(self.medium.albedo([r, g, b]), [sun, sky, ground], phase);
        let glow = self.glow(embers);
        for c in 0..3 {
            out.radiance[c] += out.through * (1.0 - passes) * (light[c] + glow[c]);
        }
        out.through *= passes;
    }

    /// Radiance of heat, for embers for each unit of density.
    pub fn glow(&self, embers: f32) -> [f32; 3] {
        if self.medium.glow[0] > 0.0 { self.medium.glowing_embers(embers) } else { [0.0; 3] }
    }

    /// What passes `length` of medium like that at `p`; the shares of its three colours, and its embers.
    fn part(&self, p: [f32; 3], length: f32) -> (f32, [f32; 4]) {
        let [r, g, b, embers] = self.sample(p);
        let density = r + g + b;
        let passes = exp(-self.extinction * density * length);
        (passes, [r, g, b, embers].map(|x| x / density.max(1e-8)))
    }

    /// The share of light that passes from the ray's start to `end`, in coarse steps.
    pub fn clear_to(&self, ray: &Ray, end: f32) -> f32 {
        let [enter, leave] = box_span(ray, [0.0; 3], self.snapshot.extent());
        let (a, b) = (enter.max(0.0), leave.min(end));
        let length = (2.0 * self.dt).max((b - a) / 128.0);
        let steps = ((b - a) / length - 0.5).ceil().max(0.0) as u32;
        let density = |n: u32| {
            let p = ray.at(a + (n as f32 + 0.5) * length).coords.into();
            match self.shaded {
                Some(shaded) => shaded.sample(p)[3],
                None => self.smoke.sample(p)[..3].iter().sum(),
            }
        };
        (-self.medium.extinction * length * (0..steps).map(density).sum::<f32>()).exp()
    }

    /// Where the ray leaves the brick around `p`, if nothing is in it.
    fn leave_if_empty(&self, ray: &Ray, p: [f32; 3]) -> Option<f32> {
        let bricks = self.bricks?;
        let edge = BRICK as f32 * self.snapshot.h;
        let last = bricks.dims.array().map(|n| n - 1);
        let at: [usize; 3] = std::array::from_fn(|a| ((p[a] / edge) as usize).min(last[a]));
        let max = bricks.max[bricks.dims.index(at[0], at[1], at[2])];
        if !super::bricks::empty(&max) {
            return None;
        }
        let way = |a: usize| {
            let d = away_from_zero(ray.direction[a]);
            let side = (at[a] + usize::from(d > 0.0)) as f32 * edge;
            (side - ray.origin[a]) / d
        };
        Some(way(0).min(way(1)).min(way(2)))
    }
}
