//! Glow traced from the smoke (light tracing, Dutré, Lafortune and Willems 1993). Particles of similar power leave the
//! smoke where it glows and are scattered by smoke and surfaces. Paths from the eye seldom meet a small ember, and those
//! that do are bright specks; particles leave none.
//!
//! The light of a flight of a particle is found in one of three ways:
//! - The beginnings of long flights are lights for the paths from the eye ([`virtual_lights`](super::virtual_lights)).
//! - Short flights from smoke and all flights from a coat, to what the eye sees, add to the pixel that shows it,
//!   f T Φ / (r² Ω), with the power Φ of the particle, the phase function or matte reflection f, and transmittance T, distance r
//!   and solid angle Ω of the pixel.
//! - Paths from the eye find the rest by themselves: what the eye sees directly or in a coat, short flights from matte
//!   surfaces or to later interactions, and what is scattered near the eye, where one particle would add much to one pixel.

use std::f32::consts::PI;

use nalgebra::{Point3, Vector3};
use rayon::prelude::*;

use super::glow::GlowingBricks;
use super::row_means::FAINT;
use super::virtual_lights::{Sender, Sent, VirtualLights};
use super::{Event, ROULETTE, Random, Stream, Surface, Tracer, luminance, survives, turned};
use crate::render::camera::{Axes, Ray, Seen};
use crate::render::glossy::Facet;

/// Particles for each path from the eye.
const SHARE: f32 = 0.25;
/// Distance of the eye within which paths from the eye find scattered glow, and length from which a flight is long, as shares
/// of the longest side of the box.
const NEAR: f32 = 0.25;
const LONG: f32 = 0.07;
/// Particles of one task, the least number of tasks, and tasks between two looks at the noise.
const TASK: u32 = 1024;
const LEAST_TASKS: u32 = 8;
const TASKS: u32 = 32;
/// Number of flights from which no more become lights, so that they take about 100 MB at most.
const FLIGHTS: usize = 1 << 20;
/// Share of the lit pixels that must reach the noise limit.
const MOST: f32 = 0.95;

/// Light that reaches a pixel.
type Splat = (usize, [f32; 3]);

/// The glow of a frame, scattered at least once.
pub(in crate::render::cpu) struct TracedGlow {
    /// Light of the ends of short flights in each pixel, rows from the bottom.
    pub splats: Vec<[f32; 3]>,
    /// Beginnings of long flights.
    pub(super) lights: VirtualLights,
}

/// The pixels of a frame.
#[derive(Clone, Copy)]
struct Film<'a> {
    axes: &'a Axes,
    size: [u32; 2],
    /// Number of the frame.
    frame: u32,
}

/// A particle at the beginning of a flight.
struct Particle {
    ray: Ray,
    /// Power after the flight's beginning, of which `weight` is left.
    power: [f32; 3],
    weight: [f32; 3],
    from: Beginning,
}

/// The beginning of a flight.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Beginning {
    Smoke,
    MatteSurface,
    Coat,
}

/// Results of a task.
#[derive(Default)]
struct Traces {
    splats: Vec<Splat>,
    sent: Vec<Sent>,
}

impl Tracer<'_> {
    /// Returns the distance of the eye within which paths from the eye find scattered glow \[m\].
    pub(super) fn near(&self) -> f32 {
        NEAR * self.extent.into_iter().fold(0.0, f32::max)
    }

    /// Returns the length from which a flight is long \[m\].
    pub(super) fn long(&self) -> f32 {
        LONG * self.extent.into_iter().fold(0.0, f32::max)
    }

    /// Traces the glow of a frame, with a number of particles that belongs to `paths` paths for each pixel, or fewer if
    /// the noise limit is reached. `None` if no smoke glows, or if cancelled.
    pub fn trace_glow(&self, axes: &Axes, size: [u32; 2], frame: u32, paths: u32) -> Option<TracedGlow> {
        let glowing = self.glowing.as_ref()?;
        let mut sum = vec![[0.0_f32; 3]; size[0] as usize * size[1] as usize];
        let mut squares = vec![0.0_f32; if self.noise > 0.0 { sum.len() } else { 0 }];
        let film = Film { axes, size, frame };
        let tasks = ((SHARE * paths as f32 * sum.len() as f32) as u32).div_ceil(TASK).max(LEAST_TASKS);
        let (mut done, mut shining, mut sent) = (0, 0, Vec::new());
        while done < tasks {
            let (end, shines) = ((done + TASKS).min(tasks), sent.len() < FLIGHTS);
            let trace = |task| self.particles(glowing, film, task, shines);
            let traces: Vec<Traces> = (done..end).into_par_iter().map(trace).collect();
            if self.is_cancelled() {
                return None;
            }
            for traces in traces {
                for (pixel, light) in traces.splats {
                    (0..3).for_each(|c| sum[pixel][c] += light[c]);
                    if let Some(square) = squares.get_mut(pixel) {
                        *square += luminance(light).powi(2);
                    }
                }
                sent.extend(traces.sent);
            }
            done = end;
            shining = if shines { end } else { shining };
            if self.noise > 0.0 && self.is_quiet(&sum, &squares, done) {
                break;
            }
        }
        let scale = 1.0 / (done as f32 * TASK as f32);
        sum.iter_mut().flatten().for_each(|light| *light *= scale);
        let particles = shining as f32 * TASK as f32;
        let random = &mut self.random([frame, 0, 0], Stream::Lights);
        let lights = VirtualLights::of(&sent, particles, self.smoke.snapshot, random);
        Some(TracedGlow { splats: sum, lights })
    }

    /// Returns whether the noise limit is reached after a number of tasks. The sum of independent splats has the sum
    /// of their squares as its variance.
    fn is_quiet(&self, sum: &[[f32; 3]], squares: &[f32], tasks: u32) -> bool {
        let faint = FAINT * tasks as f32 * TASK as f32;
        let lit = || sum.iter().zip(squares).filter(|(_, square)| **square > 0.0);
        let is_quiet =
            |(sum, square): &(&[f32; 3], &f32)| square.sqrt() < self.noise * (luminance(**sum) + faint);
        lit().filter(is_quiet).count() as f32 >= MOST * lit().count() as f32
    }

    /// Traces the particles of a task. If they `shine`, their flights may become lights.
    fn particles(&self, glowing: &GlowingBricks, film: Film, task: u32, shine: bool) -> Traces {
        let mut traces = Traces::default();
        for n in 0..TASK {
            if self.is_cancelled() {
                break;
            }
            let random = &mut self.random([film.frame, task, n], Stream::Particles);
            if let Some(particle) = self.particle(glowing, random) {
                self.follow_particle(particle, film, shine, random, &mut traces);
            }
        }
        traces
    }

    /// Samples a particle that leaves the smoke; `None` if it would start outside the box or in a solid.
    fn particle(&self, glowing: &GlowingBricks, random: &mut Random) -> Option<Particle> {
        let smoke = self.smoke;
        let at = glowing.sample_linear(smoke, random)?;
        let [r, g, b, emission] = smoke.sample_linear(at);
        let density = r + g + b;
        // As in `medium_at`, smoke of splines is the mean of shifted linear smoke.
        let h = smoke.snapshot.h;
        let place = if smoke.splines { at.map(|x| x + (random.next() - 0.5) * h) } else { at };
        let is_inside = (0..3).all(|a| (0.0..self.extent[a]).contains(&place[a]));
        if density <= 0.0 || !is_inside || self.solids.iter().any(|solid| solid.distance(place) <= 0.0) {
            return None;
        }
        let chance = smoke.emission_at(at) / glowing.whole();
        let share = 4.0 * PI * smoke.medium.extinction * density / chance.max(1e-30);
        let direction = turned(Vector3::y(), 1.0 - 2.0 * random.next(), random.next());
        let power = smoke.glow(emission / density.max(1e-8)).map(|glow| share * glow);
        Some(Particle {
            ray: Ray { origin: place.into(), direction },
            power,
            weight: [1.0; 3],
            from: Beginning::Smoke,
        })
    }

    /// Follows a particle from interaction to interaction. If it `shines`, they may become lights.
    fn follow_particle(
        &self,
        mut particle: Particle,
        film: Film,
        shines: bool,
        random: &mut Random,
        traces: &mut Traces,
    ) {
        // The last interaction of a path only scatters, so glow has one scattering less than other light.
        let flights = 1..self.orders;
        if shines && !flights.is_empty() {
            traces.sent.push(Sent::new(particle.ray.origin, Sender::Glow, particle.power, 0));
        }
        for flight in flights.clone() {
            let event = self.next_event(&particle.ray, random);
            let length = |event: &Event| (Point3::from(event.place()) - particle.ray.origin).norm();
            let is_long = event.as_ref().is_none_or(|event| length(event) >= self.long());
            if let Some(sent) = traces.sent.last_mut().filter(|_| shines) {
                sent.flies_far = Some(is_long);
            }
            let Some(event) = event else { return };
            if particle.from == Beginning::Coat || !is_long && particle.from == Beginning::Smoke {
                traces.splats.extend(self.splat(&event, &particle, film, random));
            }
            let along = particle.ray.direction;
            let (sender, direction, share, kept) = match &event {
                Event::Smoke(hit) => {
                    particle.from = Beginning::Smoke;
                    (Sender::Smoke(along), self.scatter(along, random), hit.albedo, hit.albedo)
                }
                Event::Surface(surface) => {
                    let (direction, kept, from) = surface.reflect(random);
                    particle.from = from;
                    (Sender::Surface(surface.facet), direction, surface.albedo, kept)
                }
            };
            particle.ray = Ray { origin: event.place().into(), direction };
            if shines && flight + 1 < flights.end {
                let power = std::array::from_fn(|c| particle.power[c] * particle.weight[c] * share[c]);
                traces.sent.push(Sent::new(particle.ray.origin, sender, power, flight));
            }
            (0..3).for_each(|c| particle.weight[c] *= kept[c]);
            let is_late = flight > ROULETTE;
            if particle.weight == [0.0; 3] || is_late && !survives(&mut particle.weight, random) {
                return;
            }
        }
    }

    /// Returns the light that the end of a flight sends to the eye; `None` if it is out of sight or paths from the eye find it.
    fn splat(&self, event: &Event, particle: &Particle, film: Film, random: &mut Random) -> Option<Splat> {
        let place = event.place();
        let Seen { pixel, to_eye, distance, weight } = film.axes.seen(Point3::from(place), film.size)?;
        if distance < self.near() {
            return None;
        }
        let (share, albedo) = match event {
            Event::Smoke(hit) => {
                let cosine = particle.ray.direction.dot(&to_eye);
                (self.smoke.medium.phase_function(1.0, cosine), hit.albedo)
            }
            Event::Surface(surface) => (surface.facet.matte_towards(to_eye), surface.albedo),
        };
        if share <= 0.0 {
            return None;
        }
        let passes = self.transmittance(&Ray { origin: place.into(), direction: to_eye }, distance, random);
        let scale = share * weight * passes;
        let light = |c: usize| scale * particle.power[c] * particle.weight[c] * albedo[c];
        (passes > 0.0).then(|| (pixel, std::array::from_fn(light)))
    }
}

impl Surface {
    /// Samples a direction into which the surface sends light that arrives from where its facet's eye is. Returns it with
    /// the reflected share over its probability, and what reflects it.
    fn reflect(&self, random: &mut Random) -> (Vector3<f32>, [f32; 3], Beginning) {
        let Facet { normal, to_eye: from, coat } = self.facet;
        let chance = if coat.is_some() { 0.5 } else { 1.0 };
        let Some(coat) = coat.filter(|_| random.next() < 0.5) else {
            let onward = turned(normal, random.next().sqrt(), random.next());
            let base = Facet { to_eye: onward, ..self.facet }.base();
            return (onward, self.albedo.map(|albedo| albedo * base / chance), Beginning::MatteSurface);
        };
        let onward = coat.sample(&self.facet, [random.next(), random.next()]);
        let [arrives, leaves] = [from, onward].map(|d| normal.dot(&d));
        if arrives <= 0.0 || leaves <= 0.0 {
            return (onward, [0.0; 3], Beginning::Coat);
        }
        let seen = Facet { to_eye: onward, ..self.facet };
        let reflected = coat.density(&seen, from) * coat.factor(&seen, from) * leaves / arrives;
        (onward, [reflected / (chance * coat.density(&self.facet, onward)); 3], Beginning::Coat)
    }
}
