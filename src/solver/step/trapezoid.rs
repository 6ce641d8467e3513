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

use super::fields::{Fields, lifting};
use crate::grid::GHOST;
use crate::simd::{Simd, each_level, greatest};
use crate::solver::forces::external::External;
use crate::solver::forces::{self, Forces};

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

    /// Puts into `past.velocity` what is expected in the middle of a step of `dt`, and u + g into `advected`. Returns the
    /// largest component expected \[m/s\].
    pub fn extrapolate(&mut self, dt: f32, h: f32) -> f32 {
        let Self { layout, walls, velocity, advected, past, pressure, .. } = self;
        let past = past.as_mut().expect("the trapezoidal rule keeps it");
        let pressure = pressure.as_mut().expect("as above");
        walls.ranks().exchange(*layout, [pressure], [1, 0]);
        let (pressure, own) = (&*pressure, layout.own());
        let first = own.start / layout.plane;
        let ratio = if past.dt > 0.0 { (dt / past.dt).min(LONGEST) } else { 0.0 };
        past.ahead = 0.5 * ratio * past.dt;
        let (half, scale, plane) = (0.5 * ratio, past.ahead / h, layout.plane);
        let fields = past.velocity.iter_mut().zip(advected.iter_mut()).zip(&*velocity).zip(layout.strides());
        let fastest = fields
            .enumerate()
            .map(|(component, (((before, corrected), now), stride))| {
                // Ghosts beyond a lid are faster than any air.
                let [nx, ny, nz] = layout.dims.array();
                let end = |axis: usize, n: usize| GHOST + n + usize::from(axis == component);
                let (end_x, rows, levels) = (end(0, nx), GHOST..end(1, ny), GHOST..end(2, nz));
                let planes = before[own.clone()].par_chunks_mut(plane);
                let planes = planes.zip(corrected[own.clone()].par_chunks_mut(plane));
                let planes = planes.zip(now[own.clone()].par_chunks(plane)).enumerate();
                let fastest = planes.map(|(k, ((before, corrected), now))| {
                    // The first plane consists of ghosts and has no plane below.
                    let at = ((first + k) * plane).max(stride);
                    let drop = [&pressure[at - stride..][..plane], &pressure[at..][..plane]];
                    let is_inside = levels.contains(&(first + k));
                    let [mut fastest, mut beyond] = [0.0; 2];
                    for (j, from) in (0..plane).step_by(layout.row).enumerate() {
                        let is_inside = is_inside && rows.contains(&j);
                        let [low, high] = [from + GHOST, from + end_x];
                        let parts = [from..low, low..high, high..from + layout.row];
                        for (part, is_inside) in parts.into_iter().zip([false, is_inside, false]) {
                            extrapolate_row(
                                [half, scale],
                                &now[part.clone()],
                                drop.map(|p| &p[part.clone()]),
                                &mut before[part.clone()],
                                &mut corrected[part],
                                if is_inside { &mut fastest } else { &mut beyond },
                            );
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

    /// Adds to `advected` the buoyancy over the time [`ahead`](Self::ahead), and `external` accelerations from the instant `time` on.
    pub fn force_ahead(&mut self, forces: &Forces, external: &External, time: f64) {
        let ahead = self.ahead();
        let lifts = forces.up.iter().any(|&up| up != 0.0) && forces.buoyancy != [0.0; 4];
        let pushes = external.accelerates();
        if ahead > 0.0 && (lifts || pushes) {
            // External forces read ghosts of the scalars.
            if pushes {
                self.scalars_of_air()
            } else {
                self.restrict_scalars()
            }
            if forces.up[2] != 0.0 || pushes {
                self.exchange_lifting();
            }
            let Self { layout, walls, advected, forces: scratch, .. } = self;
            let lifting = lifting(&self.detail, [&self.scalars, &self.scalars_next], &self.bricks);
            if lifts {
                forces::add_buoyancy(
                    *layout,
                    walls,
                    &Forces { dt: ahead, ..*forces },
                    lifting,
                    advected,
                    scratch,
                );
            }
            external.accelerate(time, ahead, [1.0, forces.limit], lifting.0, advected);
        }
        let Self { velocity, advected, obstacles, .. } = self;
        if let Some(obstacles) = obstacles {
            obstacles.voxels.cuts.close(advected);
            // Faces inside solids rest when they are advected: what they have gained is the solids'.
            obstacles.count_change(velocity, advected);
        }
    }

    /// Exchanges the velocity and `past.velocity`.
    pub fn swap_past(&mut self) {
        let past = self.past.as_mut().expect("as above");
        std::mem::swap(&mut self.velocity, &mut past.velocity);
    }

    /// Puts u + g from `advected` in the place of the velocity, with its ghosts.
    pub fn begin_advection(&mut self) {
        let Self { walls, velocity, advected, obstacles, .. } = self;
        std::mem::swap(velocity, advected);
        walls.fill_velocity(velocity);
        if let Some(obstacles) = obstacles {
            obstacles.extend(velocity);
        }
    }

    /// The shares of the last step's pressure and of what the projection finds, after a step of `dt` over cells of `h`, that
    /// make up the pressure; the next step goes on from here.
    pub fn pressure_share(&mut self, dt: f32, h: f32) -> [f32; 2] {
        let past = self.past.as_mut().expect("as above");
        past.dt = dt;
        [past.ahead / dt, h / dt]
    }
}

each_level! {
    fn extrapolate_row(
        scales: [f32; 2], now: &[f32], drop: [&[f32]; 2], before: &mut [f32], corrected: &mut [f32], fastest: &mut f32,
    ) = extrapolate_row_kernel;
}

/// before = now + half (now − before) and corrected = now + scale (p below − p above), [half, scale] being the scales;
/// `fastest` rises to the largest of the absolute values of `before`.
#[inline(always)]
fn extrapolate_row_kernel<S: Simd>(
    _: S,
    [half, scale]: [f32; 2],
    now: &[f32],
    [below, above]: [&[f32]; 2],
    before: &mut [f32],
    corrected: &mut [f32],
    fastest: &mut f32,
) {
    let mut most = [0.0f32; 16];
    let (now, last_now) = now.as_chunks::<16>();
    let (below, last_below) = below.as_chunks::<16>();
    let (above, last_above) = above.as_chunks::<16>();
    let (before, last_before) = before.as_chunks_mut::<16>();
    let (corrected, last_corrected) = corrected.as_chunks_mut::<16>();
    let blocks = before.iter_mut().zip(corrected).zip(now).zip(below.iter().zip(above));
    for (((before, corrected), now), (below, above)) in blocks {
        for l in 0..16 {
            before[l] = now[l] + half * (now[l] - before[l]);
            most[l] = greatest(before[l].abs(), most[l]);
            corrected[l] = now[l] + scale * (below[l] - above[l]);
        }
    }
    let rest =
        last_before.iter_mut().zip(last_corrected).zip(last_now).zip(last_below.iter().zip(last_above));
    for ((((before, corrected), now), (below, above)), most) in rest.zip(&mut most) {
        *before = now + half * (now - *before);
        *most = greatest(before.abs(), *most);
        *corrected = now + scale * (below - above);
    }
    *fastest = most.into_iter().fold(*fastest, f32::max);
}
