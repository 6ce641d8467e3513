//! Light from within the box that arrives at a place, summed up over blocks of sources, and the smoke and solids that hide it.

use super::extinction::Extinction;
use super::ordinates::MediumCubes;

/// The light at a place, for three colours.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gathered {
    /// φ and J.
    pub moments: [[f32; 4]; 3],
    /// Irradiance / π of a surface with a given normal.
    pub on_surface: [f32; 3],
}

impl Gathered {
    /// Adds light of one colour that goes in a direction, by φ and |J|. `cosine` is the direction's to the surface.
    #[inline(always)]
    pub fn add(&mut self, channel: usize, [mean, flux]: [f32; 2], unit: [f32; 3], cosine: f32) {
        let moments = &mut self.moments[channel];
        moments[0] += mean;
        moments[1] += flux * unit[0];
        moments[2] += flux * unit[1];
        moments[3] += flux * unit[2];
        self.on_surface[channel] += 4.0 * flux * cosine;
    }
}

/// A surface that gathers light.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facing {
    pub normal: [f32; 3],
    /// Distance within which solids cast no shadow \[m\]: the surface lies within cubes that its own solid fills in part.
    pub clear: f32,
}

impl Facing {
    pub const FLOOR: Self = Self { normal: [0.0, 1.0, 0.0], clear: 0.0 };
}

/// The solids in the cubes; empty without any.
#[derive(Debug, Default)]
pub(super) struct SolidCubes(Extinction<1>);

impl SolidCubes {
    pub fn update(&mut self, medium: &MediumCubes) {
        self.0 = Extinction::default();
        if !medium.solid.is_empty() {
            self.0 = Extinction::new(medium.dims, medium.h, |n| [medium.solid[n] * medium.extinction[n]]);
        }
    }

    /// Optical depth along a direction between two distances from a place \[m\].
    #[inline(always)]
    pub fn depth(&self, place: [f32; 3], unit: [f32; 3], ends: [f32; 2]) -> f32 {
        let [depth] = self.0.depth(place, unit, ends, 1.0);
        depth
    }
}
