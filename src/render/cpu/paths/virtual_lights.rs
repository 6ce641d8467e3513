//! Places from which glow is sent as lights of the paths from the eye (instant radiosity, Keller 1997): the beginnings of the
//! flights of particles. Each path connects its interactions with some of them. Short connections are left out
//! ([`super::light_tracing`] tells who finds that light), so none is a bright speck (Kollig and Keller 2004).
//!
//! Most light of dense smoke is sent where it cannot leave. So the lights are a sample of all places, by their power and by
//! the share of flights that got far from the cells around them.

use nalgebra::{Point3, Vector3};

use super::{Random, Tracer, Walk, luminance};
use crate::render::camera::Ray;
use crate::render::glossy::Facet;
use crate::snapshot::Snapshot;

/// Number of lights of a group, at most.
const LIGHTS: usize = 1 << 16;
/// Edge of the blocks whose flights are counted together \[cells\].
const BLOCK: usize = 2;
/// Connections of the first interaction of a path to lights in smoke.
const FIRST: usize = 2;
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
    /// Number of scatterings so far.
    scatterings: u32,
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

/// The lights in smoke, and those on surfaces, which light what the smoke does not. In each group all have equal
/// probability. Powers are over the number of particles and the expected number of times that a light was chosen.
pub(super) struct VirtualLights([Vec<Sent>; 2]);

impl Sent {
    /// Makes a place that sends a power \[W\] after a number of scatterings.
    pub fn new(place: Point3<f32>, sender: Sender, power: [f32; 3], scatterings: u32) -> Self {
        Self { place, sender, power, scatterings, flies_far: None }
    }
}

impl VirtualLights {
    /// Samples the lights from the places of a number of particles.
    pub fn of(sent: &[Sent], particles: f32, snapshot: &Snapshot, random: &mut Random) -> Self {
        let blocks = Blocks::of(sent, snapshot);
        Self([false, true].map(|on_surfaces| {
            let group = sent.iter().filter(|sent| matches!(sent.sender, Sender::Surface(_)) == on_surfaces);
            sampled(&group.collect::<Vec<_>>(), particles, &blocks, random)
        }))
    }
}

/// Samples lights of equal probability from places of a number of particles, by their power and by the share of long flights.
fn sampled(sent: &[&Sent], particles: f32, blocks: &Blocks, random: &mut Random) -> Vec<Sent> {
    let weight = |sent: &Sent| f64::from(luminance(sent.power) * blocks.share(sent.place));
    let all: f64 = sent.iter().map(|sent| weight(sent)).sum();
    let count = sent.len().min(LIGHTS);
    if all <= 0.0 || count == 0 {
        return Vec::new();
    }
    let step = all / count as f64;
    let mut next = step * f64::from(random.next());
    let (mut sum, mut lights) = (0.0, Vec::with_capacity(count));
    for &sent in sent {
        let weight = weight(sent);
        sum += weight;
        while next < sum {
            let scale = (step / weight) as f32 / particles;
            lights.push(Sent { power: sent.power.map(|power| scale * power), ..*sent });
            next += step;
        }
    }
    lights
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
    /// Adds the light that the `turn`th interaction of a path, with a `density` of directions \[1/sr\], sends along it, of glow
    /// that comes from far.
    pub(super) fn light_by_glow(
        &self,
        place: [f32; 3],
        density: impl Fn(Vector3<f32>) -> f32,
        (VirtualLights(groups), turn): (&VirtualLights, u32),
        walk: &mut Walk,
        random: &mut Random,
    ) {
        let in_smoke = if turn == 1 { FIRST } else { 1 };
        for (lights, connections) in groups.iter().zip([in_smoke, 1]).filter(|(lights, _)| !lights.is_empty())
        {
            for _ in 0..connections {
                let chosen = (random.next() * lights.len() as f32) as usize;
                let light = &lights[chosen.min(lights.len() - 1)];
                let share = lights.len() as f32 / connections as f32
                    * self.arriving(light, place, &density, turn, random);
                (0..3).for_each(|c| walk.sum[c] += walk.weight[c] * light.power[c] * share);
            }
        }
    }

    /// Returns the light that an interaction sends along its path, over the power of a light.
    fn arriving(
        &self,
        light: &Sent,
        place: [f32; 3],
        density: impl Fn(Vector3<f32>) -> f32,
        turn: u32,
        random: &mut Random,
    ) -> f32 {
        let way = light.place - Point3::from(place);
        let distance = way.norm();
        // The last interaction of a path only scatters, so glow has one scattering less than other light.
        if distance < self.long() || light.scatterings + turn >= self.orders {
            return 0.0;
        }
        let towards = way / distance;
        let sent = match light.sender {
            Sender::Glow => 0.25 / std::f32::consts::PI,
            Sender::Smoke(along) => self.smoke.medium.phase_function(1.0, -along.dot(&towards)),
            Sender::Surface(facet) => facet.matte_towards(-towards),
        };
        let share = density(towards) * sent / (distance * distance);
        if share <= 0.0 {
            return 0.0;
        }
        share * self.transmittance(&Ray { origin: place.into(), direction: towards }, distance, random)
    }
}
