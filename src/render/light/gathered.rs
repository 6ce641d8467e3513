//! Light from within the box that arrives at a place, summed up over blocks of sources, and the smoke and solids that hide it.

use super::ordinates::MediumCubes;
use crate::grid::Dims;
use crate::render::exp::exp;

/// Most steps through smoke or solids to a block.
pub(super) const STEPS: f32 = 64.0;

/// The light at a place, for three colours.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gathered {
    /// φ and J of what smoke sends, and of what walls send.
    pub of_smoke: [[f32; 4]; 3],
    pub of_walls: [[f32; 4]; 3],
    /// Irradiance / π of a surface with a given normal.
    pub on_surface: [f32; 3],
}

impl Gathered {
    /// Adds light of one colour that goes in a direction, whose φ is that of smoke and that of walls. `cosine` is the direction's to
    /// the surface.
    pub fn add(&mut self, channel: usize, [smoke, walls]: [f32; 2], unit: [f32; 3], cosine: f32) {
        for (mean, moments) in [(smoke, &mut self.of_smoke[channel]), (walls, &mut self.of_walls[channel])] {
            moments[0] += mean;
            (0..3).for_each(|a| moments[a + 1] += mean * unit[a]);
        }
        self.on_surface[channel] += 4.0 * (smoke + walls) * cosine;
    }
}

/// Share of the light of even smoke that leaves it along a way of an optical depth.
pub(super) fn leaving(depth: f32) -> f32 {
    if depth < 1e-3 { 1.0 } else { (1.0 - exp(-depth)) / depth }
}

/// Extinction of the solids in the cubes \[1/m\]; empty without any.
#[derive(Debug)]
pub(super) struct SolidCubes {
    dims: Dims,
    h: f32,
    extinction: Vec<f32>,
}

impl Default for SolidCubes {
    fn default() -> Self {
        Self { dims: Dims { nx: 1, ny: 1, nz: 1 }, h: 1.0, extinction: Vec::new() }
    }
}

impl SolidCubes {
    pub fn update(&mut self, medium: &MediumCubes) {
        (self.dims, self.h) = (medium.dims, medium.h);
        self.extinction.clear();
        self.extinction.extend(medium.solid.iter().zip(&medium.extinction).map(|(solid, all)| solid * all));
    }

    /// Optical depth between two places \[m\].
    pub fn depth(&self, from: [f32; 3], to: [f32; 3]) -> f32 {
        if self.extinction.is_empty() {
            return 0.0;
        }
        let way: [f32; 3] = std::array::from_fn(|a| to[a] - from[a]);
        let length = way.iter().map(|x| x * x).sum::<f32>().sqrt();
        let steps = (length / self.h).ceil().clamp(1.0, STEPS);
        let size = self.dims.array();
        let mut sum = 0.0;
        for n in 0..steps as usize {
            let t = (n as f32 + 0.5) / steps;
            let at: [f32; 3] = std::array::from_fn(|a| (from[a] + t * way[a]) / self.h);
            if (0..3).all(|a| at[a] >= 0.0 && at[a] < size[a] as f32) {
                let [i, j, k] = at.map(|x| x as usize);
                sum += self.extinction[self.dims.index(i, j, k)];
            }
        }
        sum * length / steps
    }
}
