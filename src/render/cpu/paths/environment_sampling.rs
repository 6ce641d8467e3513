//! An environment as a light: each interaction is lit from a direction chosen by its radiance, and paths that leave for it
//! count the rest (balance heuristic, Veach and Guibas 1995).

use nalgebra::Vector3;

use super::{Random, Tracer, Walk};
use crate::render::camera::{FAR, Ray};

impl Tracer<'_> {
    /// Adds the light that an interaction with a `density` of directions \[1/sr\], and a `factor` on the light from each, sends along
    /// the path. `aim`: the path turns towards glowing smoke too.
    pub(super) fn light_by_environment(
        &self,
        place: [f32; 3],
        (density, factor): (impl Fn(Vector3<f32>) -> f32 + Copy, impl Fn(Vector3<f32>) -> f32),
        aim: bool,
        walk: &mut Walk,
        random: &mut Random,
    ) {
        let Some(around) = &self.smoke.medium.around else { return };
        let direction = around.sample([random.next(), random.next(), random.next()]);
        let (chosen, share) = (around.density(direction), density(direction.into()));
        if chosen <= 0.0 || share <= 0.0 {
            return;
        }
        let ray = Ray { origin: place.into(), direction: direction.into() };
        // A floor that fades hides a part, a solid all.
        let hidden = self.surface(&ray).map_or(0.0, |(.., shown)| shown);
        if hidden >= 1.0 {
            return;
        }
        let turned = self.density_of_turn(place, direction.into(), density, aim);
        let arrives = share * factor(direction.into()) / (chosen + turned)
            * (1.0 - hidden)
            * self.transmittance(&ray, FAR, random);
        let radiance = around.texel_radiance(direction);
        (0..3).for_each(|c| walk.sum[c] += walk.weight[c] * radiance[c] * arrives);
    }

    /// Probability density of a direction as [`Tracer::turn`] chooses it; only asked for with an environment.
    pub(super) fn density_of_turn(
        &self,
        place: [f32; 3],
        direction: Vector3<f32>,
        density: impl Fn(Vector3<f32>) -> f32,
        aim: bool,
    ) -> f32 {
        if self.smoke.medium.around.is_none() {
            return 0.0;
        }
        let own = density(direction);
        if !aim {
            return own;
        }
        0.5 * (own + self.density_towards_glow(&Ray { origin: place.into(), direction }))
    }

    /// Radiance from outside the box at the end of a path, as far as [`Tracer::light_by_environment`] leaves it.
    pub(super) fn sky_at_end(&self, walk: &Walk) -> [f32; 3] {
        let sky = self.sky(walk.direction);
        let Some(around) = &self.smoke.medium.around else { return sky };
        let share = walk.density / (walk.density + around.density(walk.direction.into())).max(1e-30);
        sky.map(|x| share * x)
    }
}
