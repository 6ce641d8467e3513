//! Light paths, the truth that all other modes approximate: delta tracking (Woodcock et al. 1965) through the smoke,
//! each collision lit by the sun and followed on in a direction drawn from the phase function until the
//! path leaves the box for the sky.
//!
//! Free flights are sampled brick by brick with the extinction of the brick's maximum, so thin parts are
//! cheap. Shadows use ratio tracking (Novák, Selle and Jarosz 2014). Unbiased except for half-float smoke.

use std::ops::Range;

use nalgebra::Vector3;

use super::reference::Smoke;
use crate::look::Look;
use crate::render::camera::{Ray, away_from_zero, box_span};
use crate::render::solid::{self, Meeting, Solid};
use crate::snapshot::BRICK;

/// Number of collisions after which Russian roulette begins.
const ROULETTE: u32 = 12;

pub(super) struct Tracer<'a> {
    smoke: &'a Smoke<'a>,
    solids: &'a [Solid],
    look: &'a Look,
    /// Largest extinction in each brick \[1/m\].
    majorants: Vec<f32>,
    extent: [f32; 3],
    /// Cosine of the sun's angular radius.
    sun_cosine: f32,
    /// Scatterings after which a path ends.
    orders: u32,
}

/// An interaction of a path.
enum Event {
    /// In the smoke.
    Smoke(Hit),
    /// With a solid, at a point slightly off its surface.
    Solid([f32; 3], Meeting),
}

/// A collision in the smoke.
struct Hit {
    place: [f32; 3],
    albedo: [f32; 3],
    /// Emission of the smoke there.
    glow: [f32; 3],
}

impl<'a> Tracer<'a> {
    pub fn new(smoke: &'a Smoke<'a>, solids: &'a [Solid], look: &'a Look, orders: u32) -> Self {
        let sun_cosine = (0.5 * look.sun_size.clamp(0.0, 90.0)).to_radians().cos();
        let extinction = smoke.medium.extinction;
        let bricks = &smoke.snapshot.bricks.max;
        // The maxima of the colours may lie apart; their sum bounds the sum.
        let bound =
            |max: &[half::f16; 4]| extinction * max[..3].iter().map(|x| x.to_f32().max(0.0)).sum::<f32>();
        Self {
            smoke,
            solids,
            look,
            majorants: bricks.iter().map(bound).collect(),
            extent: smoke.snapshot.extent(),
            sun_cosine,
            orders,
        }
    }

    /// Mean radiance and transmittance along the ray of a pixel, over the paths with these numbers.
    pub fn mean(&self, [x, y]: [u32; 2], ray: &Ray, reach: f32, paths: Range<u32>) -> [f32; 4] {
        let weight = 1.0 / paths.len() as f32;
        let mut mean = [0.0; 4];
        for n in paths {
            let path = self.sample(ray, reach, &mut Random::new([x, y, n]));
            (0..4).for_each(|c| mean[c] += weight * path[c]);
        }
        mean
    }

    /// Radiance of one path, and 1 if it passed all smoke, otherwise 0.
    fn sample(&self, ray: &Ray, reach: f32, random: &mut Random) -> [f32; 4] {
        let mut out = [0.0; 4];
        let Some(first) = self.collide(ray, reach, random) else { return [0.0, 0.0, 0.0, 1.0] };
        let (mut event, mut weight, mut direction) = (Event::Smoke(first), [1.0; 3], ray.direction);
        for turn in 1.. {
            let place;
            (place, direction) = self.turn(&event, direction, &mut weight, &mut out, random);
            if turn > ROULETTE && !survives(&mut weight, random) {
                return out;
            }
            match self.next_event(&Ray { origin: place.into(), direction }, random) {
                Some(_) if turn >= self.orders => return out,
                Some(next) => event = next,
                None => break,
            }
        }
        let sky = self.sky(direction);
        (0..3).for_each(|c| out[c] += weight[c] * sky[c]);
        out
    }

    /// Light that an interaction adds to the path, by emission and from the sun. Returns the direction of the
    /// path after it, and its weight.
    fn turn(
        &self,
        event: &Event,
        along: Vector3<f32>,
        weight: &mut [f32; 3],
        out: &mut [f32; 4],
        random: &mut Random,
    ) -> ([f32; 3], Vector3<f32>) {
        let sun = self.towards_sun(random);
        let (place, albedo, share, onward) = match event {
            Event::Smoke(hit) => {
                (0..3).for_each(|c| out[c] += weight[c] * hit.glow[c]);
                let phase = self.smoke.medium.phase_function(1.0, along.dot(&sun));
                (hit.place, hit.albedo, phase, self.scatter(along, random))
            }
            Event::Solid(place, meeting) => {
                let normal = Vector3::from(meeting.normal);
                let share = normal.dot(&sun).max(0.0) / std::f32::consts::PI;
                // A cosine-weighted direction: the square root of a uniform number.
                let onward = turned(normal, random.next().sqrt(), random.next());
                (*place, self.look.solid(meeting.solid), share, onward)
            }
        };
        *weight = std::array::from_fn(|c| weight[c] * albedo[c]);
        if share > 0.0 {
            let arrives = share * self.transmittance(&Ray { origin: place.into(), direction: sun }, random);
            (0..3).for_each(|c| out[c] += weight[c] * self.smoke.medium.sun[c] * arrives);
        }
        (place, onward)
    }

    /// First interaction of the ray, with smoke or a solid; `None` if it leaves the box.
    fn next_event(&self, ray: &Ray, random: &mut Random) -> Option<Event> {
        let solid = solid::nearest(self.solids, ray);
        let reach = solid.map_or(f32::INFINITY, |meeting| meeting.t);
        if let Some(hit) = self.collide(ray, reach, random) {
            return Some(Event::Smoke(hit));
        }
        solid.map(|meeting| {
            let off = Vector3::from(meeting.normal) * (1e-3 * self.smoke.snapshot.h);
            Event::Solid((ray.at(meeting.t) + off).coords.into(), meeting)
        })
    }

    /// Radiance from outside the box: linear in the sine of elevation.
    fn sky(&self, direction: Vector3<f32>) -> [f32; 3] {
        let medium = &self.smoke.medium;
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
        let least = self.sun_cosine;
        turned(self.smoke.medium.sun_direction.into(), least + (1.0 - least) * random.next(), random.next())
    }

    /// Next collision of the ray with smoke before `reach`.
    fn collide(&self, ray: &Ray, reach: f32, random: &mut Random) -> Option<Hit> {
        let mut hit = None;
        self.over_bricks(ray, reach, |from, to, majorant| {
            let mut t = from;
            loop {
                t -= (1.0 - random.next()).ln() / majorant;
                if t >= to {
                    return true;
                }
                let place: [f32; 3] = ray.at(t).coords.into();
                let (extinction, albedo, emission) = self.medium_at(place);
                if random.next() * majorant < extinction {
                    hit = Some(Hit { place, albedo, glow: self.smoke.glow(emission) });
                    return false;
                }
            }
        });
        hit
    }

    /// Estimates the transmittance along the whole ray.
    fn transmittance(&self, ray: &Ray, random: &mut Random) -> f32 {
        if solid::nearest(self.solids, ray).is_some() {
            return 0.0;
        }
        let mut passes = 1.0;
        self.over_bricks(ray, f32::INFINITY, |from, to, majorant| {
            let mut t = from;
            loop {
                t -= (1.0 - random.next()).ln() / majorant;
                if t >= to {
                    return passes > 1e-6;
                }
                passes *= 1.0 - self.medium_at(ray.at(t).coords.into()).0 / majorant;
            }
        });
        passes
    }

    /// Calls `visit` with the start, end and largest extinction of each occupied segment, until it returns
    /// false.
    fn over_bricks(&self, ray: &Ray, reach: f32, mut visit: impl FnMut(f32, f32, f32) -> bool) {
        let [enter, leave] = box_span(ray, [0.0; 3], self.extent);
        let (mut t, end) = (enter.max(0.0), leave.min(reach));
        let edge = BRICK as f32 * self.smoke.snapshot.h;
        while t < end {
            // Slightly beyond the border, so that the brick is the one ahead.
            let ahead = t + 1e-4 * edge;
            let (majorant, next) = self.brick(ray, ahead, edge);
            let next = next.max(ahead).min(end);
            if majorant > 0.0 && !visit(t, next, majorant) {
                return;
            }
            t = next;
        }
    }

    /// Largest extinction of the brick at `t`, and the distance at which the ray leaves it.
    fn brick(&self, ray: &Ray, t: f32, edge: f32) -> (f32, f32) {
        let dims = self.smoke.snapshot.bricks.dims;
        let place = ray.at(t);
        let at: [usize; 3] = std::array::from_fn(|a| ((place[a] / edge) as usize).min(dims.array()[a] - 1));
        let way = |a: usize| {
            let d = away_from_zero(ray.direction[a]);
            ((at[a] + usize::from(d > 0.0)) as f32 * edge - ray.origin[a]) / d
        };
        (self.majorants[dims.index(at[0], at[1], at[2])], way(0).min(way(1)).min(way(2)))
    }

    /// Extinction, albedo, and emission per unit of density at a point.
    fn medium_at(&self, p: [f32; 3]) -> (f32, [f32; 3], f32) {
        let [r, g, b, emission] = self.smoke.sample(p);
        let (density, medium) = (r + g + b, &self.smoke.medium);
        (medium.extinction * density, medium.albedo([r, g, b]), emission / density.max(1e-8))
    }
}

/// Rotates `along` by an angle with the given cosine, and by the share `around` of a full turn about itself.
fn turned(along: Vector3<f32>, cosine: f32, around: f32) -> Vector3<f32> {
    let sine = (1.0 - cosine * cosine).max(0.0).sqrt();
    let (sin, cos) = (around * std::f32::consts::TAU).sin_cos();
    let aside = if along.x.abs() < 0.7 { Vector3::x() } else { Vector3::y() };
    let u = along.cross(&aside).normalize();
    let v = along.cross(&u);
    (along * cosine + (u * cos + v * sin) * sine).normalize()
}

/// Russian roulette: ends a path with a probability that grows as its weight falls. The weight of a surviving
/// path compensates for it.
fn survives(weight: &mut [f32; 3], random: &mut Random) -> bool {
    let chance = weight.iter().copied().fold(0.0, f32::max).min(1.0);
    if random.next() >= chance {
        return false;
    }
    weight.iter_mut().for_each(|w| *w /= chance);
    true
}

/// A stream of random numbers for one path (PCG, O'Neill 2014), the same on every thread.
struct Random(u64);

impl Random {
    fn new([x, y, n]: [u32; 3]) -> Self {
        let seed = u64::from(x) << 40 ^ u64::from(y) << 20 ^ u64::from(n);
        // SplitMix64's finaliser: neighbouring seeds give unrelated streams.
        let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self(z ^ z >> 31)
    }

    /// A uniform number in 0..1, never 1.
    fn next(&mut self) -> f32 {
        let old = self.0;
        self.0 = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let shifted = ((old >> 18 ^ old) >> 27) as u32;
        let bits = shifted.rotate_right((old >> 59) as u32);
        (bits >> 8) as f32 / (1 << 24) as f32
    }
}
