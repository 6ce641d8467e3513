//! Light from within the box that arrives at a place, summed up over blocks of sources.

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
