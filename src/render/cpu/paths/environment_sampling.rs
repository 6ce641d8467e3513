//! An environment map as a light. Each interaction is lit from a direction sampled by radiance, and combined
//! with paths that leave the box by multiple importance sampling (balance heuristic, Veach and Guibas 1995).

use nalgebra::Vector3;

use super::{Random, Tracer, Walk};
use crate::render::camera::{FAR, Ray};

impl Tracer<'_> {
    /// Adds the light of the environment that an interaction sends along the path. `density` is that of its
    /// directions \[1/sr\], `factor` the share of light from each. With `aim` the path is directed towards
    /// glowing smoke too.
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
        // A fading floor hides a part of the light, a solid all of it.
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

    /// Returns the probability density of a direction as [`Tracer::turn`] samples it; only used with an
    /// environment.
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

    /// Returns the radiance from outside the box at the end of a path, weighted against
    /// [`Tracer::light_by_environment`].
    pub(super) fn sky_at_end(&self, walk: &Walk) -> [f32; 3] {
        let sky = self.sky(walk.direction);
        let Some(around) = &self.smoke.medium.around else { return sky };
        let share = walk.density / (walk.density + around.density(walk.direction.into())).max(1e-30);
        sky.map(|x| share * x)
    }
}
