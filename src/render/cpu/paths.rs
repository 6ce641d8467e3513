//! Path tracing, the reference that all other modes approximate. Paths are sampled by delta tracking
//! (Woodcock et al. 1965). Each collision with the smoke is lit by the sun, and the path continues in a
//! direction sampled from the phase function, until it leaves the box for the sky. Floor and solids are
//! surfaces of the same paths, lit by the sun directly. They are Lambertian; solids may have a coat
//! (`glossy.rs`), which is chosen at random. Glowing smoke is a light too: its scattered light is traced from the smoke
//! ([`light_tracing`]), and paths that must find it are directed towards it ([`glow`]). Each interaction samples one of
//! the further lights ([`lamp_sampling`]).
//!
//! Free flights are sampled brick by brick with the extinction of the brick's maximum, so thin parts are
//! cheap. Shadows use ratio tracking (Novák, Selle and Jarosz 2014). Unbiased except for half-float smoke.

mod environment_sampling;
mod glow;
mod lamp_sampling;
mod light_tracing;
mod row_means;
mod virtual_lights;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use nalgebra::{Point3, Vector3};

use super::reference::Smoke;
use crate::look::Look;
use crate::render::camera::{FAR, Ray, away_from_zero, box_span};
use crate::render::denoise::brightness;
use crate::render::glossy::{Coat, Facet};
use crate::render::lamp::Lamp;
use crate::render::scene::floor_shown;
use crate::render::solid::{self, Solid};
use crate::render::stage::Stage;
use crate::snapshot::BRICK;
use glow::GlowingBricks;
pub(super) use light_tracing::TracedGlow;
use row_means::Limits;
use virtual_lights::VirtualLights;

/// Number of collisions after which Russian roulette begins.
const ROULETTE: u32 = 12;

pub(super) struct Tracer<'a> {
    smoke: &'a Smoke<'a>,
    solids: &'a [Solid],
    look: &'a Look,
    /// Largest extinction in each brick \[1/m\].
    majorants: Vec<f32>,
    glowing: Option<GlowingBricks>,
    /// Further lights.
    lamps: Vec<Lamp>,
    extent: [f32; 3],
    stage: Stage,
    sun: Lamp,
    /// Number of scatterings after which a path ends.
    orders: u32,
    /// Standard error, as a share of the mean, at which a mean is done; 0 for no such limit.
    noise: f32,
    /// Flag that ends all means.
    cancel: Option<&'a AtomicBool>,
}

/// An interaction of a path.
enum Event {
    /// A collision in the smoke.
    Smoke(Hit),
    /// A point on the floor or a solid.
    Surface(Surface),
}

impl Event {
    fn place(&self) -> [f32; 3] {
        match self {
            Self::Smoke(hit) => hit.place,
            Self::Surface(surface) => surface.place,
        }
    }
}

/// A collision in the smoke.
struct Hit {
    place: [f32; 3],
    albedo: [f32; 3],
    /// Emission of the smoke at the collision.
    glow: [f32; 3],
}

/// A point slightly off a surface.
#[derive(Clone, Copy)]
pub(super) struct Surface {
    place: [f32; 3],
    facet: Facet,
    albedo: [f32; 3],
}

/// The state of a path between two interactions.
struct Walk {
    place: [f32; 3],
    direction: Vector3<f32>,
    /// Throughput: the share of light from the rest of the path that reaches the eye.
    weight: [f32; 3],
    /// Radiance found so far.
    sum: [f32; 3],
    /// Probability density of the direction \[1/sr\].
    density: f32,
    /// Whether glow counts that smoke or a matte surface at the next interaction sends, and that a coat sends there. If not, lights
    /// or particles stand for it.
    glow: bool,
    coat: bool,
    /// Length of a flight from which lights stand for the glow of its end \[m\].
    range: f32,
}

impl<'a> Tracer<'a> {
    /// Makes a tracer. Its means end at a standard error of `noise`, as a share of the mean, or at their last
    /// path.
    pub fn new(smoke: &'a Smoke<'a>, solids: &'a [Solid], look: &'a Look, orders: u32, noise: f32) -> Self {
        let extinction = smoke.medium.extinction;
        // The maxima of the colours may lie in different cells; their sum is an upper bound.
        let bound =
            |max: &[half::f16; 4]| extinction * max[..3].iter().map(|x| x.to_f32().max(0.0)).sum::<f32>();
        Self {
            smoke,
            solids,
            look,
            majorants: smoke.bricks.max.iter().map(bound).collect(),
            glowing: GlowingBricks::of(smoke),
            lamps: Lamp::all(look),
            extent: smoke.snapshot.extent(),
            stage: Stage::of(smoke.snapshot),
            sun: Lamp::sun(look),
            orders,
            noise,
            cancel: None,
        }
    }

    /// Sets a flag that ends means early; they are then 0.
    pub fn with_cancel(self, cancel: Option<&'a AtomicBool>) -> Self {
        Self { cancel, ..self }
    }

    /// Numbers for a path. Each instant has others, so that grain does not stand still in moving pictures.
    fn random(&self, path: [u32; 3], stream: Stream) -> Random {
        Random::new(path, stream, self.smoke.snapshot.time)
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    /// Returns means of paths over the pixels of a row.
    pub fn row_means(
        &self,
        paths: Range<u32>,
        width: usize,
        shown: impl Fn(usize) -> bool,
        path: impl Fn(usize, u32) -> [f32; 4] + Sync,
    ) -> Vec<[f32; 4]> {
        let limits = Limits { noise: self.noise, cancel: self.cancel };
        row_means::row_means(limits, paths, width, shown, path)
    }

    /// Returns radiance and transmittance of the smoke along the ray of a pixel, for the `n`th path.
    pub fn smoke_path(
        &self,
        [x, y]: [u32; 2],
        ray: &Ray,
        t_max: f32,
        glow: Option<&TracedGlow>,
        n: u32,
    ) -> [f32; 4] {
        self.through_smoke(ray, t_max, glow, &mut self.random([x, y, n], Stream::Smoke))
    }

    /// Returns the first surface along a ray. The floor counts as opaque, also where it fades out.
    pub fn first_surface(&self, ray: &Ray) -> Option<Surface> {
        self.surface(ray).map(|(_, surface, _)| surface)
    }

    /// Returns the radiance of a surface along the ray of a pixel, without the smoke before it, for the `n`th path.
    pub fn surface_path(
        &self,
        [x, y]: [u32; 2],
        (ray, surface): (&Ray, Surface),
        glow: Option<&TracedGlow>,
        n: u32,
    ) -> [f32; 3] {
        let random = &mut self.random([x, y, n], Stream::Surfaces);
        self.follow(Walk::along(ray, surface.place), Event::Surface(surface), (ray, glow), random)
    }

    /// Returns the radiance of one path that begins in smoke, and 1 if it passed all smoke, otherwise 0.
    fn through_smoke(
        &self,
        ray: &Ray,
        t_max: f32,
        glow: Option<&TracedGlow>,
        random: &mut Random,
    ) -> [f32; 4] {
        let Some(first) = self.collide(ray, t_max, random) else { return [0.0, 0.0, 0.0, 1.0] };
        let walk = Walk::along(ray, first.place);
        let [r, g, b] = self.follow(walk, Event::Smoke(first), (ray, glow), random);
        [r, g, b, 0.0]
    }

    /// Follows a path from its first interaction, along a ray from the eye, on. Returns its radiance.
    fn follow(
        &self,
        mut walk: Walk,
        mut event: Event,
        (ray, glow): (&Ray, Option<&TracedGlow>),
        random: &mut Random,
    ) -> [f32; 3] {
        let is_near = (Point3::from(walk.place) - ray.origin).norm() < self.near();
        for turn in 1.. {
            // Paths that are scattered again in dense smoke stay in the glow by themselves.
            let aim = turn == 1 || matches!(event, Event::Surface(_));
            self.turn(&event, &mut walk, aim, glow.map(|glow| (&glow.lights, turn)), random);
            if walk.weight == [0.0; 3] || turn > ROULETTE && !survives(&mut walk.weight, random) {
                return walk.sum;
            }
            match self.next_event(&Ray { origin: walk.place.into(), direction: walk.direction }, random) {
                Some(_) if turn >= self.orders => return walk.sum,
                Some(next) => {
                    let length = (Point3::from(next.place()) - Point3::from(walk.place)).norm();
                    // Particles bring what smoke and coats send to what the eye sees.
                    let is_splat = turn == 1 && !is_near && walk.range.is_finite();
                    walk.coat = walk.glow && !is_splat;
                    walk.glow &= length < walk.range && !(is_splat && matches!(next, Event::Smoke(_)));
                    event = next;
                }
                None => break,
            }
        }
        let sky = self.sky_at_end(&walk);
        std::array::from_fn(|c| walk.sum[c] + walk.weight[c] * sky[c])
    }

    /// Adds the light that an interaction sends along the path: its emission and the lights. Then samples a
    /// new direction; if `aim`, also directions towards glowing smoke. Lights of the glow come with the number of the
    /// interaction; with them the path finds glow of short flights only, and what a coat mirrors.
    fn turn(
        &self,
        event: &Event,
        walk: &mut Walk,
        aim: bool,
        glow: Option<(&VirtualLights, u32)>,
        random: &mut Random,
    ) {
        let along = walk.direction;
        if let (Event::Smoke(hit), true) = (event, walk.glow) {
            (0..3).for_each(|c| walk.sum[c] += walk.weight[c] * hit.glow[c]);
        }
        let sun = self.towards_sun(random);
        let mut coat = None;
        let (place, albedo, onward) = match event {
            Event::Smoke(hit) => (hit.place, hit.albedo, self.scatter(along, random)),
            Event::Surface(surface) => {
                let (chosen, share) = surface.choose(random);
                coat = chosen;
                let onward = match coat {
                    Some(coat) => coat.sample(&surface.facet, [random.next(), random.next()]),
                    // The cosine of a cosine-weighted direction is the square root of a uniform number.
                    None => turned(surface.facet.normal, random.next().sqrt(), random.next()),
                };
                (surface.place, share, onward)
            }
        };
        let density = |towards: Vector3<f32>| match (event, coat) {
            (Event::Smoke(_), _) => self.smoke.medium.phase_function(1.0, along.dot(&towards)),
            (Event::Surface(surface), None) => {
                surface.facet.normal.dot(&towards).max(0.0) / std::f32::consts::PI
            }
            (Event::Surface(surface), Some(coat)) => coat.density(&surface.facet, towards),
        };
        // The reflected share of the light from a direction, over the density.
        let factor = |towards: Vector3<f32>| match (event, coat) {
            (Event::Surface(surface), Some(coat)) => coat.factor(&surface.facet, towards),
            _ => 1.0,
        };
        walk.weight = std::array::from_fn(|c| walk.weight[c] * albedo[c]);
        let share = density(sun) * factor(sun);
        if share > 0.0 {
            let arrives =
                share * self.transmittance(&Ray { origin: place.into(), direction: sun }, FAR, random);
            (0..3).for_each(|c| walk.sum[c] += walk.weight[c] * self.smoke.medium.sun[c] * arrives);
        }
        self.light_by_lamps(place, |towards| density(towards) * factor(towards), walk, random);
        let mirrors = coat.is_some();
        walk.range = if glow.is_none() || mirrors { f32::INFINITY } else { self.long() };
        if let Some((lights, turn)) = glow.filter(|_| walk.glow && !mirrors) {
            self.light_by_glow(place, density, (lights, turn), walk, random);
        }
        walk.glow = if mirrors { walk.coat } else { walk.glow };
        let aim = aim && walk.range.is_infinite() && self.glowing.is_some();
        self.light_by_environment(place, (density, factor), aim, walk, random);
        (walk.place, walk.direction) = (place, onward);
        if aim {
            let weight;
            (walk.direction, weight) = self.turned_to_glow(place, onward, density, random);
            walk.weight = walk.weight.map(|old| weight * old);
        }
        let weight = factor(walk.direction);
        walk.weight = walk.weight.map(|old| weight * old);
        walk.density = self.density_of_turn(place, walk.direction, density, aim);
    }

    /// Returns the first interaction of the ray, with smoke or a surface; `None` if it leaves the box for the
    /// sky.
    fn next_event(&self, ray: &Ray, random: &mut Random) -> Option<Event> {
        // A fading floor lets paths pass in proportion to the visible background.
        let surface = self.surface(ray).filter(|(_, _, shown)| *shown >= 1.0 || random.next() < *shown);
        let t_max = surface.as_ref().map_or(f32::INFINITY, |(t, ..)| *t);
        if let Some(hit) = self.collide(ray, t_max, random) {
            return Some(Event::Smoke(hit));
        }
        surface.map(|(_, surface, _)| Event::Surface(surface))
    }

    /// Returns the first surface along a ray: its distance \[m\], a point of it, and its opacity.
    fn surface(&self, ray: &Ray) -> Option<(f32, Surface, f32)> {
        let hair = 1e-3 * self.smoke.snapshot.h;
        let off = |t: f32, normal: Vector3<f32>| -> [f32; 3] { (ray.at(t) + normal * hair).coords.into() };
        let solid = solid::nearest(self.solids, ray).map(|meeting| {
            let place = off(meeting.t, meeting.normal.into());
            let facet = Facet::new(ray, meeting.normal, self.look.roughness(meeting.solid));
            (meeting.t, Surface { place, facet, albedo: self.look.solid(meeting.solid) }, 1.0)
        });
        let t = -ray.origin.y / ray.direction.y;
        let floor = self.look.floor.filter(|_| ray.origin.y > 0.0 && ray.direction.y < 0.0 && t < FAR);
        let floor = floor.filter(|_| solid.as_ref().is_none_or(|(nearer, ..)| t < *nearer)).map(|albedo| {
            let [x, _, z] = off(t, Vector3::y());
            let shown = floor_shown([x, z], &self.stage);
            (t, Surface { place: [x, hair, z], facet: Facet::matte([0.0, 1.0, 0.0]), albedo }, shown)
        });
        floor.filter(|(_, _, shown)| *shown > 0.0).or(solid)
    }

    /// Returns the radiance from outside the box: linear in the sine of elevation.
    fn sky(&self, direction: Vector3<f32>) -> [f32; 3] {
        let medium = &self.smoke.medium;
        if let Some(around) = &medium.around {
            return around.texel_radiance(direction.into());
        }
        let up = 0.5 + 0.5 * direction.y;
        std::array::from_fn(|c| medium.ground[c] + (medium.sky[c] - medium.ground[c]) * up)
    }

    /// Samples a direction from the phase function (the inverse of Henyey–Greenstein's distribution).
    fn scatter(&self, along: Vector3<f32>, random: &mut Random) -> Vector3<f32> {
        let medium = &self.smoke.medium;
        let g = medium.lobes[usize::from(random.next() < medium.second_share)];
        let u = random.next();
        let cosine = if g.abs() < 1e-3 {
            1.0 - 2.0 * u
        } else {
            let s = (1.0 - g * g) / (1.0 - g + 2.0 * g * u);
            ((1.0 + g * g - s * s) / (2.0 * g)).clamp(-1.0, 1.0)
        };
        turned(along, cosine, random.next())
    }

    /// Samples a direction to the sun's disc.
    fn towards_sun(&self, random: &mut Random) -> Vector3<f32> {
        self.sun.drawn([0.0; 3], [random.next(), random.next()]).direction.into()
    }

    /// Samples the next collision of the ray with smoke before `t_max`.
    fn collide(&self, ray: &Ray, t_max: f32, random: &mut Random) -> Option<Hit> {
        let mut hit = None;
        self.over_bricks(ray, t_max, |from, to, majorant| {
            let mut t = from;
            loop {
                t -= (1.0 - random.next()).ln() / majorant;
                if t >= to {
                    return true;
                }
                let place: [f32; 3] = ray.at(t).coords.into();
                let (extinction, albedo, emission) = self.medium_at(place, random);
                if random.next() * majorant < extinction {
                    hit = Some(Hit { place, albedo, glow: self.smoke.glow(emission) });
                    return false;
                }
            }
        });
        hit
    }

    /// Estimates the transmittance along the ray up to a distance.
    fn transmittance(&self, ray: &Ray, t_max: f32, random: &mut Random) -> f32 {
        if solid::nearest(self.solids, ray).is_some_and(|meeting| meeting.t < t_max) {
            return 0.0;
        }
        let mut passes = 1.0;
        self.over_bricks(ray, t_max, |from, to, majorant| {
            let mut t = from;
            loop {
                t -= (1.0 - random.next()).ln() / majorant;
                if t >= to {
                    return passes > 1e-6;
                }
                let (extinction, ..) = self.medium_at(ray.at(t).coords.into(), random);
                passes *= 1.0 - extinction / majorant;
            }
        });
        passes
    }

    /// Calls `visit` with the start, end and largest extinction of each occupied segment, until it returns
    /// false.
    fn over_bricks(&self, ray: &Ray, t_max: f32, mut visit: impl FnMut(f32, f32, f32) -> bool) {
        let [enter, leave] = box_span(ray, [0.0; 3], self.extent);
        let (mut t, end) = (enter.max(0.0), leave.min(t_max));
        let edge = BRICK as f32 * self.smoke.snapshot.h;
        while t < end {
            // A point slightly beyond the border lies in the next brick. Far from the ray's origin rounding must not undo the step.
            let ahead = t + (1e-4 * edge).max(4.0 * f32::EPSILON * t);
            let (brick, next) = self.brick(ray, ahead, edge);
            let (majorant, next) = (self.majorants[brick], next.max(ahead).min(end));
            if majorant > 0.0 && !visit(t, next, majorant) {
                return;
            }
            t = next;
        }
    }

    /// Returns the index of the brick at `t`, and the distance at which the ray leaves it.
    fn brick(&self, ray: &Ray, t: f32, edge: f32) -> (usize, f32) {
        let dims = self.smoke.snapshot.bricks.dims;
        let place = ray.at(t);
        let at: [usize; 3] = std::array::from_fn(|a| ((place[a] / edge) as usize).min(dims.array()[a] - 1));
        let way = |a: usize| {
            let d = away_from_zero(ray.direction[a]);
            ((at[a] + usize::from(d > 0.0)) as f32 * edge - ray.origin[a]) / d
        };
        (dims.index(at[0], at[1], at[2]), way(0).min(way(1)).min(way(2)))
    }

    /// Returns extinction, albedo, and emission per unit of density at a point. With splines these are those
    /// of a randomly shifted trilinear sample, whose mean is the spline: the quadratic B-spline is the linear
    /// one convolved with a box.
    fn medium_at(&self, p: [f32; 3], random: &mut Random) -> (f32, [f32; 3], f32) {
        let [r, g, b, emission] = if self.smoke.splines {
            self.smoke.sample_linear(p.map(|x| x + (random.next() - 0.5) * self.smoke.snapshot.h))
        } else {
            self.smoke.sample_linear(p)
        };
        let (density, medium) = (r + g + b, &self.smoke.medium);
        (medium.extinction * density, medium.albedo([r, g, b]), emission / density.max(1e-8))
    }
}

impl Walk {
    /// Begins a path at a place along a ray from the eye.
    fn along(ray: &Ray, place: [f32; 3]) -> Self {
        Self {
            place,
            direction: ray.direction,
            weight: [1.0; 3],
            sum: [0.0; 3],
            density: 0.0,
            glow: true,
            coat: true,
            range: f32::INFINITY,
        }
    }
}

impl Surface {
    /// Chooses the coat or the matte base (`None`), in proportion to their reflectance of uniform light. Also
    /// returns the reflected share of light over the probability and, for the coat, over [`Coat::factor`].
    fn choose(&self, random: &mut Random) -> (Option<Coat>, [f32; 3]) {
        let Some(coat) = self.facet.coat else { return (None, self.albedo) };
        let base = self.facet.base();
        let matte = base * self.albedo.iter().sum::<f32>() / 3.0;
        let chance = ((1.0 - base) / (1.0 - base + matte).max(1e-6)).clamp(0.05, 0.95);
        if random.next() < chance {
            return (Some(coat), [1.0 / chance; 3]);
        }
        (None, self.albedo.map(|albedo| base * albedo / (1.0 - chance)))
    }
}

/// Rotates `along` by an angle with the given cosine, at the share `around` of a full turn about `along`.
fn turned(along: Vector3<f32>, cosine: f32, around: f32) -> Vector3<f32> {
    let sine = (1.0 - cosine * cosine).max(0.0).sqrt();
    let (sin, cos) = (around * std::f32::consts::TAU).sin_cos();
    let aside = if along.x.abs() < 0.7 { Vector3::x() } else { Vector3::y() };
    let u = along.cross(&aside).normalize();
    let v = along.cross(&u);
    (along * cosine + (u * cos + v * sin) * sine).normalize()
}

/// Plays Russian roulette: ends a path with a probability that grows as its weight falls. The weight of a
/// surviving path compensates for it.
fn survives(weight: &mut [f32; 3], random: &mut Random) -> bool {
    let chance = weight.iter().copied().fold(0.0, f32::max).min(1.0);
    if random.next() >= chance {
        return false;
    }
    weight.iter_mut().for_each(|w| *w /= chance);
    true
}

/// Returns the brightness of light, as noise is measured.
fn luminance([r, g, b]: [f32; 3]) -> f32 {
    brightness([r, g, b, 0.0])
}

/// Purposes of random numbers. Paths of different purposes have independent streams.
#[derive(Clone, Copy)]
enum Stream {
    Smoke,
    Surfaces,
    Particles,
    Lights,
}

/// A stream of random numbers for one path (PCG, O'Neill 2014), the same on every thread.
struct Random(u64);

impl Random {
    fn new([x, y, n]: [u32; 3], stream: Stream, time: f64) -> Self {
        let seed = (stream as u64) << 62 ^ u64::from(x) << 40 ^ u64::from(y) << 20 ^ u64::from(n);
        Self(mixed(seed ^ time.to_bits().wrapping_mul(0xD6E8_FEB8_6659_FD93)))
    }

    /// Returns a uniform number in 0..1, never 1.
    fn next(&mut self) -> f32 {
        let old = self.0;
        self.0 = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let shifted = ((old >> 18 ^ old) >> 27) as u32;
        let bits = shifted.rotate_right((old >> 59) as u32);
        (bits >> 8) as f32 / (1 << 24) as f32
    }
}

/// SplitMix64's finaliser: neighbouring seeds give unrelated streams.
fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

#[cfg(test)]
mod tests;
