//! Further lights: each interaction is lit by a point of one of them, chosen in proportion to the light of
//! their middles.

use nalgebra::Vector3;

use super::{Random, Tracer, Walk};
use crate::render::camera::Ray;
use crate::render::lamp::Arriving;

impl Tracer<'_> {
    /// Adds the light that an interaction with a `density` of directions \[1/sr\] sends along the path.
    pub(super) fn light_by_lamps(
        &self,
        place: [f32; 3],
        density: impl Fn(Vector3<f32>) -> f32,
        walk: &mut Walk,
        random: &mut Random,
    ) {
        let weigh = |n: usize| {
            let lamp = &self.lamps[n];
            let shares = lamp.arriving(place).map(|from| from.share).sum::<f32>();
            shares * lamp.color.iter().sum::<f32>()
        };
        let all: f32 = (0..self.lamps.len()).map(weigh).sum();
        if all <= 0.0 {
            return;
        }
        let mut left = random.next() * all;
        let mut chosen = None;
        for n in 0..self.lamps.len() {
            let weight = weigh(n);
            if weight > 0.0 {
                chosen = Some((n, weight));
                left -= weight;
                if left < 0.0 {
                    break;
                }
            }
        }
        let Some((n, weight)) = chosen else { return };
        let lamp = &self.lamps[n];
        let Arriving { direction, distance, share, .. } =
            lamp.drawn_by_angle(place, [random.next(), random.next()]);
        let share = share * density(direction.into()) * all / weight;
        if share > 0.0 {
            let ray = Ray { origin: place.into(), direction: direction.into() };
            let arrives = share * self.transmittance(&ray, distance, random);
            (0..3).for_each(|c| walk.sum[c] += walk.weight[c] * lamp.color[c] * arrives);
        }
    }
}
