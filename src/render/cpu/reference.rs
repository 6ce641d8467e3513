//! The reference march: one ray at a time in scalar code, with the steps of `shaders/march.frag` but without
//! pre-shading. It provides the medium of the path tracer, and tests compare ray packets and shaders with it
//! ([`CpuRenderer::set_reference`](crate::render::CpuRenderer::set_reference)).

use nalgebra::Vector3;

use super::march::LEAST;
use crate::render::camera::{Ray, away_from_zero, box_span};
use crate::render::exp::exp;
use crate::render::light::squared;
use crate::render::medium::Medium;
use crate::render::preshaded::Cells;
use crate::render::sampled_volume::Volume;
use crate::render::trilinear::trilinear;
use crate::render::{Quality, View, bricks};
use crate::snapshot::{BRICK, Bricks, Snapshot};

/// A snapshot ready for marching.
pub(super) struct Smoke<'a> {
    pub snapshot: &'a Snapshot,
    pub medium: Medium,
    /// Densities and [`Medium::emission`].
    values: Volume,
    light: &'a Volume,
    /// Extinction along the ray per unit of density \[1/m\].
    extinction: f32,
    /// Distance between samples of the smoke \[m\].
    pub dt: f32,
    /// Whether two samples share the light at their middle.
    halves: bool,
    /// Maxima of `values` over bricks.
    pub bricks: Bricks,
    /// Whether empty bricks are skipped.
    skip: bool,
    /// Whether smoke and light are B-splines.
    pub splines: bool,
}

/// Returns whether two samples of the smoke share their light, for this number of samples per cell of edge `h` and points of light with a
/// spacing. With larger distances a brick that is skipped at their middle might contain one of them; finer light varies between them.
pub(in crate::render) fn halves(samples: f32, h: f32, spacing: f32) -> bool {
    samples >= 1.0 && spacing > 1.99 * h
}

/// Lattice of steps along a ray: step n begins at t0 + n dt and is clipped to the span.
pub(super) struct Lattice {
    pub t0: f32,
    pub span: [f32; 2],
    pub dt: f32,
}

impl Lattice {
    /// Makes the steps over the part of `ray` in the box, up to `t_max`; the first is `offset` of a step long.
    pub fn new(ray: &Ray, extent: [f32; 3], t_max: f32, offset: f32, dt: f32) -> Self {
        let [enter, leave] = box_span(ray, [0.0; 3], extent);
        let span = [enter.max(0.0), leave.min(t_max)];
        Self { t0: span[0] - (1.0 - offset) * dt, span, dt }
    }

    /// Returns start and end of step `n`, or `None` beyond the span.
    pub fn step(&self, n: f32) -> Option<[f32; 2]> {
        let start = self.t0 + n * self.dt;
        (start.max(self.span[0]) < self.span[1])
            .then(|| [start.max(self.span[0]), (self.t0 + (n + 1.0) * self.dt).min(self.span[1])])
    }
}

impl<'a> Smoke<'a> {
    /// Prepares the smoke of a snapshot in the light of a volume. `cells` are those of the snapshot,
    /// sharpened for splines.
    pub fn new(
        snapshot: &'a Snapshot,
        cells: &Cells,
        light: &'a Volume,
        view: &View,
        quality: &Quality,
    ) -> Self {
        let medium = Medium::of(view.look, snapshot.extent());
        let mut texels = vec![[half::f16::ZERO; 4]; snapshot.dims.cells()];
        cells.write_shown(&medium, &mut texels);
        let bricks = Bricks::of(snapshot.dims, &texels);
        let samples = quality.samples(view.look, snapshot.dims, snapshot.h);
        Self {
            snapshot,
            values: Volume::at_centres(snapshot, &texels),
            light,
            extinction: view.mode.smoke_share() * medium.extinction,
            medium,
            dt: snapshot.h / samples,
            halves: halves(samples, snapshot.h, light.spacing()),
            bricks,
            skip: quality.bricks,
            splines: quality.splines,
        }
    }

    /// Returns radiance and transmittance along a ray.
    pub fn march(&self, ray: &Ray, t_max: f32, offset: f32) -> [f32; 4] {
        let stride = if self.halves { 2.0 * self.dt } else { self.dt };
        let lattice = Lattice::new(ray, self.snapshot.extent(), t_max, offset, stride);
        let cosine = ray.direction.dot(&Vector3::from(self.medium.sun_direction));
        let phase = self.medium.phase_function(1.0, cosine);
        let mut out = [0.0, 0.0, 0.0, 1.0];
        let mut n = 0.0;
        while let Some([a, b]) = lattice.step(n).filter(|_| out[3] > LEAST) {
            match self.leave_if_empty(ray, ray.at(0.5 * (a + b)).coords.into()) {
                Some(leave) => n = ((leave - lattice.t0) / stride).floor().max(n + 1.0),
                None => {
                    self.step(&mut out, ray, [a, b], phase);
                    n += 1.0;
                }
            }
        }
        out
    }

    /// Returns densities and [`Medium::emission`] at a point in the box, clamped to 0 from below.
    fn sample(&self, p: [f32; 3]) -> [f32; 4] {
        let sampled = if self.splines { self.values.sample_spline(p) } else { self.values.sample(p) };
        let shown = self.medium.shown(p, self.snapshot.extent());
        sampled.map(|x| x.max(0.0) * shown)
    }

    /// Samples as [`Smoke::sample`] does, but always linearly.
    pub fn sample_linear(&self, p: [f32; 3]) -> [f32; 4] {
        let shown = self.medium.shown(p, self.snapshot.extent());
        self.values.sample(p).map(|x| x.max(0.0) * shown)
    }

    /// Returns the [`Medium::emission`] of a cell, at least 0.
    pub fn emission_of(&self, cell: usize) -> f32 {
        self.values.value(cell)[3].max(0.0)
    }

    /// Interpolates [`Smoke::emission_of`] linearly, beyond the centres at the border as at these.
    pub fn emission_at(&self, p: [f32; 3]) -> f32 {
        let at = p.map(|x| x / self.snapshot.h - 0.5);
        let [emission] = trilinear(self.snapshot.dims, at, |n| [self.emission_of(n)]);
        emission
    }

    /// Adds the step from `a` to `b`.
    fn step(&self, out: &mut [f32; 4], ray: &Ray, [a, b]: [f32; 2], phase: f32) {
        let (middle, length) = (ray.at(0.5 * (a + b)), b - a);
        let (passes, [r, g, b, emission], depth) = if self.halves {
            let aside = ray.direction * (0.25 * length);
            let [first, second] =
                [-aside, aside].map(|by| self.part((middle + by).coords.into(), 0.5 * length));
            let passes = first.0 * second.0;
            let share = (1.0 - first.0) / (1.0 - passes).max(1e-20);
            let mixed = std::array::from_fn(|n| second.1[n] + (first.1[n] - second.1[n]) * share);
            (passes, mixed, first.2 + second.2)
        } else {
            self.part(middle.coords.into(), length)
        };
        if passes >= 1.0 {
            return;
        }
        let seen = (middle - ray.direction * nearer(depth, length)).coords.into();
        let mut sent = if self.splines { self.light.sample_spline(seen) } else { self.light.sample(seen) };
        sent[3] = squared(sent[3]);
        let light = self.medium.scattered(self.medium.albedo([r, g, b]), sent, phase);
        let glow = self.glow(emission);
        for c in 0..3 {
            out[c] += out[3] * (1.0 - passes) * (light[c] + glow[c]);
        }
        out[3] *= passes;
    }

    /// Returns the radiance of heat, from the emission per unit of density.
    pub fn glow(&self, emission: f32) -> [f32; 3] {
        if self.medium.glow[0] > 0.0 { self.medium.glowing_emission(emission) } else { [0.0; 3] }
    }

    /// Returns the transmittance of `length` of the medium at `p`, the shares of its three colours and its emission, and the
    /// optical depth.
    fn part(&self, p: [f32; 3], length: f32) -> (f32, [f32; 4], f32) {
        let [r, g, b, emission] = self.sample(p);
        let density = r + g + b;
        let depth = self.extinction * density * length;
        (exp(-depth), [r, g, b, emission].map(|x| x / density.max(1e-8)), depth)
    }

    /// Returns the distance at which the ray leaves the brick around `p`, if that is empty.
    fn leave_if_empty(&self, ray: &Ray, p: [f32; 3]) -> Option<f32> {
        let bricks = self.skip.then_some(&self.bricks)?;
        let edge = BRICK as f32 * self.snapshot.h;
        let last = bricks.dims.array().map(|n| n - 1);
        let at: [usize; 3] = std::array::from_fn(|a| ((p[a] / edge) as usize).min(last[a]));
        let max = bricks.max[bricks.dims.index(at[0], at[1], at[2])];
        let way = |a: usize| {
            let d = away_from_zero(ray.direction[a]);
            let side = (at[a] + usize::from(d > 0.0)) as f32 * edge;
            (side - ray.origin[a]) / d
        };
        bricks::empty(&max).then(|| way(0).min(way(1)).min(way(2)))
    }
}

/// Offset towards the eye, from the middle of a step of optical depth τ, of the mean position weighted by transmittance: 1/2 − 1/τ + 1/(e^τ − 1)
/// of the length, within 0.01 up to τ = 3 and constant from there.
fn nearer(depth: f32, length: f32) -> f32 {
    let depth = depth.min(3.0);
    depth * (1.0 / 12.0 - 0.0025 * depth) * length
}

/// One ray through pre-shaded smoke and through a flow, for tests.
#[cfg(test)]
pub(super) mod plain {
    use super::*;
    use crate::render::colormap;

    /// Marches through [`super::super::march::Medium::Smoke`].
    pub fn through_shaded(
        [shaded, glow, light]: [&Volume; 3],
        splines: bool,
        lattice: &Lattice,
        ray: &Ray,
        medium: &Medium,
    ) -> [f32; 4] {
        let phase = medium.phase_function(1.0, ray.direction.dot(&Vector3::from(medium.sun_direction)));
        along(lattice, |t, length, out| {
            let p = ray.at(t).coords.into();
            let read = |volume: &Volume, p: [f32; 3]| {
                if splines { volume.sample_spline(p) } else { volume.sample(p) }
            };
            let ([scattering @ .., density], glow) = (read(shaded, p), read(glow, p));
            let depth = medium.extinction * density * length;
            let mut sent = read(light, ray.at(t - nearer(depth, length)).coords.into());
            sent[3] = squared(sent[3]);
            let passes = (-depth).exp();
            let sent = medium.scattered(scattering, sent, phase);
            let share = out * (1.0 - passes) / density.max(1e-8);
            (passes, std::array::from_fn(|c| share * (sent[c] + glow[c])))
        })
    }

    /// Marches through [`super::super::march::Medium::Flow`].
    pub fn through_flow(
        flow: &Volume,
        vorticity: bool,
        top: f32,
        thickness: f32,
        lattice: &Lattice,
        ray: &Ray,
    ) -> [f32; 4] {
        along(lattice, |t, length, out| {
            let v = flow.sample(ray.at(t).coords.into());
            let speed = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
            let x = if vorticity { v[3] } else { speed } / top;
            let passes = (-thickness * x * x * length).exp();
            (passes, colormap::linear(x).map(|x| out * (1.0 - passes) * x))
        })
    }

    fn along(lattice: &Lattice, step: impl Fn(f32, f32, f32) -> (f32, [f32; 3])) -> [f32; 4] {
        let (mut out, mut n) = ([0.0, 0.0, 0.0, 1.0], 0.0);
        while let Some([a, b]) = lattice.step(n).filter(|_| out[3] > LEAST) {
            let (passes, sent) = step(0.5 * (a + b), b - a, out[3]);
            (0..3).for_each(|c| out[c] += sent[c]);
            out[3] *= passes;
            n += 1.0;
        }
        out
    }
}
