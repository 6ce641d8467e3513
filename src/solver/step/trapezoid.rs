//! The trapezoidal rule for the pressure, with one advection and one projection a step.
//!
//! ```text
//! u* = A(uⁿ + gⁿ + ½ Δt bⁿ) + ½ Δt bⁿ⁺¹ + Δt f    A: advection by u at n + ½, extrapolated from the last two steps;
//!                               b: buoyancy and accelerations of the scene, f: confinement, and what damps: friction, winds with a target
//! uⁿ⁺¹ = P u* = u* − ∇φ         φ: the potential of the projection
//! pⁿ⁺¹ = ½ pⁿ + φ/Δt            the pressure of the step; gⁿ = −½ Δt ∇pⁿ is half of its action
//! ```
//!
//! A plain projection applies the pressure only at the end of the step, and removes ½ |Δt ∇p|² of energy with every step: rotating air
//! first leaves its circle. Here half of the gradient acts at the departure point and half at the arrival. With pⁿ⁺¹ = 2 φ/Δt the step
//! would be the reflection of Zehnder, Narain & Thomaszewski (2018) about one projection, but then a jump of the pressure would
//! oscillate for ever with a period of two steps. The mean damps that at once and loses little: an advection that conserves energy
//! gives, with r = −∇φ and 2 gⁿ⁺¹ = gⁿ + r,
//!
//! ```text
//! |uⁿ⁺¹|² + 2 |gⁿ⁺¹|² = |uⁿ|² + 2 |gⁿ|² − 2 |gⁿ⁺¹ − gⁿ|²
//! ```
//!
//! since r is orthogonal to uⁿ⁺¹ and g to uⁿ. So a step of any length is stable, and the loss is of the order of (Δt² ∂p/∂t)².
//! Buoyancy and the accelerations of the scene are divided as the pressure is, which balances most of them. Viscosity acts between the halves: if
//! all of a force came after it, air would slip along walls by half of what a step adds, which is first order in time (Nu of the heated
//! cavity at Ra 10⁶ and 64²: 2.2 % too large, now 1.4 %).
//!
//! Only the pressure is stored, not its gradient. It is also the field that probes and files show (`project/pressure.rs`).

use rayon::prelude::*;

use super::fields::Fields;
use crate::grid::GHOST;
use crate::simd::{Simd, each_level, greatest};

/// Limit of the extrapolation: a step longer than the last one by more than this factor extrapolates as if by
/// this factor.
const LONGEST: f32 = 2.0;

impl Fields {
    /// Forgets the last step, because the velocity was changed from outside.
    pub fn forget_past(&mut self) {
        if let Some(past) = &mut self.past {
            past.dt = 0.0;
        }
    }

    /// Extrapolates `advected`, the velocity at the beginning of the last step, to the middle of a step of `dt`. Returns the largest
    /// component \[m/s\].
    pub fn extrapolate(&mut self, dt: f32) -> f32 {
        let Self { layout, walls, velocity, advected, past, .. } = self;
        let past = past.as_mut().expect("the trapezoidal rule keeps it");
        let ratio = if past.dt > 0.0 { (dt / past.dt).min(LONGEST) } else { 0.0 };
        past.ahead = 0.5 * ratio * past.dt;
        let (half, plane, own) = (0.5 * ratio, layout.plane, layout.own());
        let first = own.start / plane;
        let fields = advected.iter_mut().zip(&*velocity);
        let fastest = fields
            .enumerate()
            .map(|(component, (before, now))| {
                // Ghosts beyond a lid are faster than any air.
                let [nx, ny, nz] = layout.dims.array();
                let end = |axis: usize, n: usize| GHOST + n + usize::from(axis == component);
                let (end_x, rows, levels) = (end(0, nx), GHOST..end(1, ny), GHOST..end(2, nz));
                let planes =
                    before[own.clone()].par_chunks_mut(plane).zip(now[own.clone()].par_chunks(plane));
                let fastest = planes.enumerate().map(|(k, (before, now))| {
                    let is_inside = levels.contains(&(first + k));
                    let [mut fastest, mut beyond] = [0.0; 2];
                    for (j, from) in (0..plane).step_by(layout.row).enumerate() {
                        let is_inside = is_inside && rows.contains(&j);
                        let [low, high] = [from + GHOST, from + end_x];
                        let parts = [from..low, low..high, high..from + layout.row];
                        for (part, is_inside) in parts.into_iter().zip([false, is_inside, false]) {
                            let fastest = if is_inside { &mut fastest } else { &mut beyond };
                            extrapolate_row(half, &now[part.clone()], &mut before[part], fastest);
                        }
                    }
                    fastest
                });
                fastest.reduce(|| 0.0, f32::max)
            })
            .fold(0.0, f32::max);
        walls.ranks().most(fastest)
    }

    /// Time for which the last step's pressure acts before the advection \[s\], 0 without such a step.
    pub fn ahead(&self) -> f32 {
        self.past.as_ref().map_or(0.0, |past| past.ahead)
    }

    /// Exchanges the velocity and `advected`.
    pub fn swap_advected(&mut self) {
        std::mem::swap(&mut self.velocity, &mut self.advected);
    }

    /// Returns the factors \[keep, add\] with which the last step's pressure and the φ of the projection make
    /// up the pressure, after a step of `dt` over cells of `h`. The next step goes on from here.
    pub fn pressure_share(&mut self, dt: f32, h: f32) -> [f32; 2] {
        let past = self.past.as_mut().expect("as above");
        past.dt = dt;
        [past.ahead / dt, h / dt]
    }
}

each_level! { fn extrapolate_row(half: f32, now: &[f32], before: &mut [f32], fastest: &mut f32) = extrapolate_row_kernel; }

/// before = now + half (now − before); `fastest` rises to the largest of the absolute values of `before`.
#[inline(always)]
fn extrapolate_row_kernel<S: Simd>(_: S, half: f32, now: &[f32], before: &mut [f32], fastest: &mut f32) {
    let mut most = [0.0f32; 16];
    let (now, last_now) = now.as_chunks::<16>();
    let (before, last_before) = before.as_chunks_mut::<16>();
    for (before, now) in before.iter_mut().zip(now) {
        for l in 0..16 {
            before[l] = now[l] + half * (now[l] - before[l]);
            most[l] = greatest(before[l].abs(), most[l]);
        }
    }
    for ((before, now), most) in last_before.iter_mut().zip(last_now).zip(&mut most) {
        *before = now + half * (now - *before);
        *most = greatest(before.abs(), *most);
    }
    *fastest = most.into_iter().fold(*fastest, f32::max);
}
