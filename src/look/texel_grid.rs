//! Directions of the texels of a picture of the whole sphere.

/// Texels of a picture: longitude across, latitude down, straight up in its first row. Its middle is seen along −z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TexelGrid {
    pub width: usize,
    pub height: usize,
}

impl TexelGrid {
    /// Returns the unit vector through the middle of the `n`th texel.
    pub fn middle(self, n: usize) -> [f32; 3] {
        let [x, y] = [n % self.width, n / self.width];
        Self::direction_at([(x as f32 + 0.5) / self.width as f32, (y as f32 + 0.5) / self.height as f32])
    }

    /// Returns the unit vector through a place of the picture, as shares of its width and height from the
    /// upper left.
    pub fn direction_at([u, v]: [f32; 2]) -> [f32; 3] {
        let (sin, cos) = (v * std::f32::consts::PI).sin_cos();
        let (east, north) = ((u - 0.5) * std::f32::consts::TAU).sin_cos();
        [sin * east, cos, -sin * north]
    }

    /// Returns the solid angle of a texel of a row \[sr\].
    pub fn solid_angle(self, y: usize) -> f32 {
        let edge = |y: usize| (y as f32 / self.height as f32 * std::f32::consts::PI).cos();
        (edge(y) - edge(y + 1)) * std::f32::consts::TAU / self.width as f32
    }

    /// Returns the radiance of `texels` over the sphere, all colours together.
    pub fn total(self, texels: &[[f32; 3]]) -> f32 {
        let row = |y: usize| {
            let texels = &texels[y * self.width..][..self.width];
            texels.as_flattened().iter().map(|&x| f64::from(x)).sum::<f64>() * f64::from(self.solid_angle(y))
        };
        (0..self.height).map(row).sum::<f64>() as f32
    }
}
