//! The trapezoidal rule for the pressure, with one advection and one projection a step.
//!
//! ```text
//! u* = A(uⁿ + gⁿ) + Δt f        A: advection by u at n + ½, extrapolated from the last two steps
//! uⁿ⁺¹ = P u*                   r = uⁿ⁺¹ − u*, the change by the projection
//! gⁿ⁺¹ = ½ (gⁿ + r)             half the pressure gradient of a step, −½ Δt ∇p
//! ```
//!
//! A plain projection applies the pressure at the end of the step only, and removes ½ |Δt ∇p|² of energy with every step:
//! turning air is first thrown off its circle. Here air feels half of the gradient at its departure point and half at its
//! arrival. With g = r the step would be the reflection of Zehnder, Narain & Thomaszewski (2018) about one projection, but
//! then a jump of the pressure would oscillate for ever with a period of two steps. The mean damps that at once, and loses
//! hardly any energy. An energy-preserving advection gives
//!
//! ```text
//! |uⁿ⁺¹|² + 2 |gⁿ⁺¹|² = |uⁿ|² + 2 |gⁿ|² − 2 |gⁿ⁺¹ − gⁿ|²
//! ```
//!
//! because r is orthogonal to uⁿ⁺¹ and g to uⁿ. So the rule is stable for any step, and the loss is of the order of
//! (Δt² ∂p/∂t)².

use rayon::prelude::*;

use super::archive::{Archive, Saved, StateError};
use super::fields::Fields;
use super::simd::{dispatch, greatest};
use super::{Config, Integrator};
use crate::grid::{Faces, Layout};

/// Limit of the extrapolation: a step longer than the last one by more than this factor extrapolates as if by
/// this factor.
const LONGEST: f32 = 2.0;

/// State of the trapezoidal rule from the last step.
pub struct Past {
    /// Velocity at the beginning of the last step, free of divergence \[m/s\]. Within a step, scratch.
    pub velocity: Faces,
    /// Half of the last step's pressure gradient, g \[m/s\].
    pub pressure: Faces,
    /// Length of the last step \[s\]; 0 if there is none.
    pub dt: f32,
    /// Length of this step over that of the last.
    ratio: f32,
}

impl Past {
    /// Floats for each value of the layout.
    pub const FLOATS: usize = 6;

    /// Makes an empty state. `None` for integrators without one.
    pub fn new(config: &Config, layout: Layout) -> Option<Box<Self>> {
        let faces = || [0, 1, 2].map(|_| vec![0.0f32; layout.size()]);
        (config.integrator == Integrator::Trapezoid && !config.frozen)
            .then(|| Box::new(Self { velocity: faces(), pressure: faces(), dt: 0.0, ratio: 0.0 }))
    }
}

impl Saved for Past {
    fn state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError> {
        // Each step sets the ratio again.
        let Self { velocity, pressure, dt, ratio: _ } = self;
        for field in velocity.iter_mut().chain(pressure) {
            archive.values("past", field)?;
        }
        archive.value("past_dt", dt)
    }
}

impl Fields {
    /// Forgets the last step, because the velocity was changed from outside.
    pub fn forget_past(&mut self) {
        if let Some(past) = &mut self.past {
            past.dt = 0.0;
        }
    }

    /// Writes the extrapolated velocity in the middle of a step of `dt` into `past.velocity`. Returns its
    /// largest component \[m/s\].
    pub fn extrapolate(&mut self, dt: f32) -> f32 {
        let past = self.past.as_mut().expect("the trapezoidal rule keeps it");
        past.ratio = if past.dt > 0.0 { (dt / past.dt).min(LONGEST) } else { 0.0 };
        let half = 0.5 * past.ratio;
        let plane = self.layout.plane;
        let fields = past.velocity.iter_mut().zip(&self.velocity);
        fields
            .map(|(before, now)| {
                let planes = before.par_chunks_mut(plane).zip(now.par_chunks(plane));
                let fastest = |(before, now): (&mut [f32], &[f32])| {
                    let mut fastest = 0.0;
                    extrapolate_row(half, now, before, &mut fastest);
                    fastest
                };
                planes.map(fastest).reduce(|| 0.0, f32::max)
            })
            .fold(0.0, f32::max)
    }

    /// Replaces the velocity u by u + g. The old u goes to `past.velocity`.
    pub fn add_past_pressure(&mut self) {
        let Self { layout, walls, velocity, obstacles, past, .. } = self;
        let Past { velocity: corrected, pressure, ratio, .. } = &mut **past.as_mut().expect("as above");
        for ((corrected, pressure), now) in corrected.iter_mut().zip(pressure).zip(&*velocity) {
            let planes = corrected.par_chunks_mut(layout.plane).zip(pressure.par_chunks(layout.plane));
            let planes = planes.zip(now.par_chunks(layout.plane));
            planes
                .for_each(|((corrected, pressure), now)| add_pressure_row(*ratio, now, pressure, corrected));
        }
        std::mem::swap(velocity, corrected);
        walls.fill_velocity(velocity);
        if let Some(obstacles) = obstacles {
            obstacles.extend(velocity);
        }
    }

    /// Exchanges the velocity and `past.velocity`.
    pub fn swap_past(&mut self) {
        let past = self.past.as_mut().expect("as above");
        std::mem::swap(&mut self.velocity, &mut past.velocity);
    }

    /// Updates g from the projected velocity and the velocity before the projection, in `advected`.
    pub fn store_pressure(&mut self, dt: f32) {
        let Self { layout, velocity, advected, obstacles, projector, past, .. } = self;
        let past = past.as_mut().expect("as above");
        let ratio = past.ratio;
        for ((pressure, before), after) in past.pressure.iter_mut().zip(&*advected).zip(&*velocity) {
            let planes = pressure.par_chunks_mut(layout.plane).zip(before.par_chunks(layout.plane));
            let planes = planes.zip(after.par_chunks(layout.plane));
            planes.for_each(|((pressure, before), after)| pressure_row(ratio, before, after, pressure));
        }
        if let Some(obstacles) = obstacles {
            obstacles.voxels.cuts.rest(&mut past.pressure);
            if ratio > 0.0 {
                // The projection solves for the remaining half of the pressure.
                obstacles.add_pressure_forces(|component, face| projector.drop_across(component, face));
                obstacles.count_change(advected, velocity);
            }
        }
        past.dt = dt;
    }
}

dispatch! { fn extrapolate_row(half: f32, now: &[f32], before: &mut [f32], fastest: &mut f32) = extrapolate_row_kernel; }

/// before = now + half (now − before). `fastest` becomes the largest absolute value.
#[inline(always)]
fn extrapolate_row_kernel<const FMA: bool>(half: f32, now: &[f32], before: &mut [f32], fastest: &mut f32) {
    let mut most = [0.0f32; 16];
    let (afters, last) = now.as_chunks::<16>();
    let (befores, rest) = before.as_chunks_mut::<16>();
    for (before, now) in befores.iter_mut().zip(afters) {
        for l in 0..16 {
            before[l] = now[l] + half * (now[l] - before[l]);
            most[l] = greatest(before[l].abs(), most[l]);
        }
    }
    for ((before, now), most) in rest.iter_mut().zip(last).zip(&mut most) {
        *before = now + half * (now - *before);
        *most = greatest(before.abs(), *most);
    }
    *fastest = most.into_iter().fold(0.0, f32::max);
}

dispatch! { fn add_pressure_row(ratio: f32, now: &[f32], pressure: &[f32], corrected: &mut [f32]) = add_pressure_row_kernel; }

#[inline(always)]
fn add_pressure_row_kernel<const FMA: bool>(
    ratio: f32,
    now: &[f32],
    pressure: &[f32],
    corrected: &mut [f32],
) {
    for ((corrected, pressure), now) in corrected.iter_mut().zip(pressure).zip(now) {
        *corrected = now + ratio * pressure;
    }
}

dispatch! { fn pressure_row(ratio: f32, before: &[f32], after: &[f32], pressure: &mut [f32]) = pressure_row_kernel; }

#[inline(always)]
fn pressure_row_kernel<const FMA: bool>(ratio: f32, before: &[f32], after: &[f32], pressure: &mut [f32]) {
    for ((pressure, before), after) in pressure.iter_mut().zip(before).zip(after) {
        *pressure = 0.5 * (ratio * *pressure + (after - before));
    }
}
