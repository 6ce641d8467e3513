//! Places from which glow is sent as lights of the paths from the eye (instant radiosity, Keller 1997): the beginnings of the
//! flights of particles. Each path connects its first interaction with one of them; short connections are left to particles
//! ([`super::light_tracing`]), so none is a bright speck.
//!
//! Most light of dense smoke is sent where it cannot leave. So the lights are a sample of all places, by their power and by
//! the share of flights that got far from the cells around them.

use nalgebra::{Point3, Vector3};

use super::{Random, Tracer, Walk, luminance};
use crate::render::camera::Ray;
use crate::render::glossy::Facet;
use crate::snapshot::Snapshot;

/// Number of lights, at most.
const LIGHTS: usize = 1 << 16;
/// Edge of the blocks whose flights are counted together \[cells\].
const BLOCK: usize = 2;
/// Connections of a path.
const CONNECTIONS: usize = 2;
/// Flights of the mean over all blocks that are counted with those of each block, and the least share of flights that counts.
const PRIOR: f32 = 0.5;
const LEAST: f32 = 0.01;

/// A place that sends glow.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    place: Point3<f32>,
    sender: Sender,
    /// Power \[W\] that it sends, of a surface the part for a matte base.
    power: [f32; 3],
    /// Whether the flight from it was a long one; `None` if the particle ended.
    pub flies_far: Option<bool>,
}

/// The distribution of directions.
#[derive(Clone, Copy)]
pub(super) enum Sender {
    /// Emission in all directions.
    Glow,
    /// Smoke, with the direction of the light before.
    Smoke(Vector3<f32>),
    /// A surface.
    Surface(Facet),
}

/// Lights of equal probability.
pub(super) struct VirtualLights {
    /// Their powers are over the number of particles and the expected number of times that each was chosen.
    lights: Vec<Sent>,
}

impl Sent {
    /// Makes a place that sends a power \[W\].
    pub fn new(place: Point3<f32>, sender: Sender, power: [f32; 3]) -> Self {
        Self { place, sender, power, flies_far: None }
    }
}

impl VirtualLights {
    /// Samples the lights from the places of a number of particles.
    pub fn of(sent: &[Sent], particles: f32, snapshot: &Snapshot, random: &mut Random) -> Self {
        let blocks = Blocks::of(sent, snapshot);
        let weight = |sent: &Sent| f64::from(luminance(sent.power) * blocks.share(sent.place));
        let all: f64 = sent.iter().map(weight).sum();
        let count = sent.len().min(LIGHTS);
        if all <= 0.0 || count == 0 {
            return Self { lights: Vec::new() };
        }
        let step = all / count as f64;
        let mut next = step * f64::from(random.next());
        let mut lights = Vec::with_capacity(count);
        let mut sum = 0.0;
        for sent in sent {
            let weight = weight(sent);
            sum += weight;
            while next < sum {
                let scale = (step / weight) as f32 / particles;
                lights.push(Sent { power: sent.power.map(|power| scale * power), ..*sent });
                next += step;
            }
        }
        Self { lights }
    }
}

/// Shares of long flights from blocks of cells.
struct Blocks {
    edge: f32,
    count: [usize; 3],
    /// All flights and the long ones of each block.
    flights: Vec<[f32; 2]>,
    /// Share of long flights of all.
    mean: f32,
}

impl Blocks {
    /// Counts the flights.
    fn of(sent: &[Sent], snapshot: &Snapshot) -> Self {
        let count = snapshot.dims.array().map(|n| n.div_ceil(BLOCK));
        let edge = BLOCK as f32 * snapshot.h;
        let mut blocks = Self { edge, count, flights: vec![[0.0; 2]; count.iter().product()], mean: 1.0 };
        let mut all = [0.0_f64; 2];
        for sent in sent {
            let Some(flies_far) = sent.flies_far else { continue };
            let block = blocks.at(sent.place);
            let counted = [1.0, if flies_far { 1.0 } else { 0.0 }];
            (0..2).for_each(|n| blocks.flights[block][n] += counted[n]);
            (0..2).for_each(|n| all[n] += f64::from(counted[n]));
        }
        blocks.mean = (all[1] / all[0].max(1.0)) as f32;
        blocks
    }

    /// Number of the block of a place.
    fn at(&self, place: Point3<f32>) -> usize {
        let [i, j, k] =
            std::array::from_fn(|a| ((place[a] / self.edge).max(0.0) as usize).min(self.count[a] - 1));
        i + self.count[0] * (j + self.count[1] * k)
    }

    /// Returns the estimated share of long flights from a place.
    fn share(&self, place: Point3<f32>) -> f32 {
        let [all, long] = self.flights[self.at(place)];
        ((long + PRIOR * self.mean) / (all + PRIOR)).max(LEAST)
    }
}

impl Tracer<'_> {
    /// Adds the light that an interaction with a `density` of directions \[1/sr\] sends along the path, of glow that
    /// comes from far.
    pub(super) fn light_by_glow(
        &self,
        place: [f32; 3],
        density: impl Fn(Vector3<f32>) -> f32,
        VirtualLights { lights }: &VirtualLights,
        walk: &mut Walk,
        random: &mut Random,
    ) {
        if lights.is_empty() {
            return;
        }
        for _ in 0..CONNECTIONS {
            let light = &lights[((random.next() * lights.len() as f32) as usize).min(lights.len() - 1)];
            let way = light.place - Point3::from(place);
            let distance = way.norm();
            if distance < self.long() {
                continue;
            }
            let towards = way / distance;
            let sent = match light.sender {
                Sender::Glow => 0.25 / std::f32::consts::PI,
                Sender::Smoke(along) => self.smoke.medium.phase_function(1.0, -along.dot(&towards)),
                Sender::Surface(facet) => facet.matte_towards(-towards),
            };
            let share = density(towards) * sent / (distance * distance);
            if share > 0.0 {
                let ray = Ray { origin: place.into(), direction: towards };
                let passes = self.transmittance(&ray, distance, random);
                let arrives = share * passes * (lights.len() as f32 / CONNECTIONS as f32);
                (0..3).for_each(|c| walk.sum[c] += walk.weight[c] * light.power[c] * arrives);
            }
        }
    }
}
