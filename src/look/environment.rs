//! Light from all around, as a picture of the whole sphere.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::texel_grid::TexelGrid;
use super::{Light, environment_suns};

/// Light from all around, in place of sky and ground.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// The picture; none: sky and ground as the look has them.
    pub sphere: Option<Arc<Sphere>>,
    /// Turn around the vertical, seen from above counter-clockwise \[degrees\].
    pub rotation: f32,
    /// Factor on its radiance.
    pub strength: f32,
    /// Whether it is seen as the background.
    pub shown: bool,
}

impl Default for Environment {
    fn default() -> Self {
        Self { sphere: None, rotation: 0.0, strength: 1.0, shown: true }
    }
}

/// A picture of the whole sphere: longitude across, latitude down, straight up in its first row. Its middle is seen along −z.
#[derive(Clone, Debug)]
pub struct Sphere {
    width: usize,
    height: usize,
    /// Linear radiance, rows from the top.
    texels: Vec<[f32; 3]>,
    /// Stands for the contents in comparisons.
    stamp: u64,
    suns: Vec<Light>,
    moments: [Moments; 3],
    /// The same with the upper half mirrored into the lower one, and the mean of a white floor's radiance in its light.
    moments_above: [Moments; 3],
    on_floor: [f32; 3],
    /// Sums of radiance times solid angle: of all rows up to each, and of the texels of each row up to each.
    rows: Vec<f32>,
    columns: Vec<f32>,
}

/// Means over the sphere of one colour: of its radiance L, of L Ω, and of L Ω Ωᵀ as xx, yy, zz, xy, xz, yz.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// M₀.
    pub mean: f32,
    /// M₁.
    pub first: [f32; 3],
    /// M₂.
    pub second: [f32; 6],
}

impl Moments {
    /// Returns those of the same light that comes from either side of y = 0 alike.
    fn even_along_y(self) -> Self {
        let ([x, _, z], [xx, yy, zz, _, xz, _]) = (self.first, self.second);
        Self { first: [x, 0.0, z], second: [xx, yy, zz, 0.0, xz, 0.0], ..self }
    }
}

impl PartialEq for Sphere {
    fn eq(&self, other: &Self) -> bool {
        (self.width, self.height, self.stamp) == (other.width, other.height, other.stamp)
    }
}

impl Sphere {
    /// Most texels across; larger pictures are reduced by taking means.
    pub const WIDEST: usize = 2048;
    /// Texels across for the means over the sphere; those of smaller pictures are divided.
    const FEWEST_FOR_MEANS: usize = 64;
    /// Largest radiance: brighter texels are taken down to it.
    pub const BRIGHTEST: f32 = 1e6;

    /// Makes a sphere of a picture, rows from the top. None unless it has `width` × `height` texels. Negative radiance and NaN
    /// become 0.
    pub fn new(width: usize, height: usize, texels: Vec<[f32; 3]>) -> Option<Self> {
        if width == 0 || height == 0 || width.checked_mul(height) != Some(texels.len()) {
            return None;
        }
        let clean = |x: f32| if x > 0.0 { x.min(Self::BRIGHTEST) } else { 0.0 };
        let mut sphere = Self {
            width,
            height,
            texels,
            stamp: 0,
            suns: Vec::new(),
            moments: Default::default(),
            moments_above: Default::default(),
            on_floor: [0.0; 3],
            rows: Vec::new(),
            columns: Vec::new(),
        };
        sphere.texels.iter_mut().for_each(|texel| *texel = texel.map(clean));
        while sphere.width > Self::WIDEST && sphere.height > 1 {
            sphere.halve();
        }
        let mut hasher = DefaultHasher::new();
        for texel in &sphere.texels {
            texel.map(f32::to_bits).hash(&mut hasher);
        }
        sphere.stamp = hasher.finish();
        let mut rest = sphere.texels.clone();
        sphere.suns = environment_suns::separate(sphere.grid(), &mut rest);
        sphere.moments = sphere.project(&rest, |radiance, _| radiance);
        // Each direction above the horizon stands for its mirror image too.
        let above = |radiance: f32, [_, y, _]: [f32; 3]| if y > 0.0 { 2.0 * radiance } else { 0.0 };
        sphere.moments_above = sphere.project(&rest, above).map(Moments::even_along_y);
        let falls = sphere.project(&rest, |radiance, [_, y, _]| 4.0 * radiance * y.max(0.0));
        sphere.on_floor = falls.map(|moments| moments.mean);
        sphere.accumulate();
        Some(sphere)
    }

    fn halve(&mut self) {
        let (width, height) = (self.width / 2, self.height / 2);
        let mean = |x: usize, y: usize| {
            let at = |i: usize, j: usize| self.texels[(2 * y + j) * self.width + 2 * x + i];
            let four = [at(0, 0), at(1, 0), at(0, 1), at(1, 1)];
            std::array::from_fn(|c| 0.25 * four.iter().map(|texel| texel[c]).sum::<f32>())
        };
        let texels = (0..width * height).map(|n| mean(n % width, n / width)).collect();
        (self.width, self.height, self.texels) = (width, height, texels);
    }

    /// Takes means over the sphere of what `of` makes of the radiance from a direction.
    fn project(&self, texels: &[[f32; 3]], of: impl Fn(f32, [f32; 3]) -> f32) -> [Moments; 3] {
        let mut sums = [[0.0_f64; 10]; 3];
        // A texel of a small picture spans directions that differ much: it counts as several.
        let finer = Self::FEWEST_FOR_MEANS.div_ceil(self.width.min(2 * self.height));
        let grid = TexelGrid { width: finer * self.width, height: finer * self.height };
        for y in 0..grid.height {
            let share = f64::from(grid.solid_angle(y)) / (4.0 * std::f64::consts::PI);
            for x in 0..grid.width {
                let [a, b, c] = grid.middle(y * grid.width + x);
                let terms = [1.0, a, b, c, a * a, b * b, c * c, a * b, a * c, b * c];
                for (sums, radiance) in sums.iter_mut().zip(texels[y / finer * self.width + x / finer]) {
                    let light = share * f64::from(of(radiance, [a, b, c]));
                    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += light * f64::from(term));
                }
            }
        }
        sums.map(|sums| {
            let [mean, x, y, z, second @ ..] = sums.map(|x| x as f32);
            Moments { mean, first: [x, y, z], second }
        })
    }

    fn grid(&self) -> TexelGrid {
        TexelGrid { width: self.width, height: self.height }
    }

    fn accumulate(&mut self) {
        let mut all = 0.0_f64;
        for y in 0..self.height {
            let (angle, mut row) = (f64::from(self.solid_angle(y)), 0.0_f64);
            for texel in &self.texels[y * self.width..][..self.width] {
                row += f64::from(texel.iter().sum::<f32>()) * angle;
                self.columns.push(row as f32);
            }
            all += row;
            self.rows.push(all as f32);
        }
    }

    /// Its small bright parts, as suns.
    pub fn suns(&self) -> &[Light] {
        &self.suns
    }

    /// Means over the sphere without its suns, for each colour.
    pub fn moments(&self) -> &[Moments; 3] {
        &self.moments
    }

    /// The same for light from above the horizon alone, which is mirrored into the lower half.
    pub fn moments_above(&self) -> &[Moments; 3] {
        &self.moments_above
    }

    /// Radiance of a white floor below the sphere without its suns, for each colour.
    pub fn on_floor(&self) -> [f32; 3] {
        self.on_floor
    }

    /// Returns a direction chosen by the radiance from there, by three uniform numbers.
    pub fn sample(&self, [row, column, aside]: [f32; 3]) -> [f32; 3] {
        let all = self.rows[self.height - 1];
        let y = self.rows.partition_point(|&sum| sum <= row * all).min(self.height - 1);
        let texels = &self.columns[y * self.width..][..self.width];
        let at = column * texels[self.width - 1];
        let x = texels.partition_point(|&sum| sum <= at).min(self.width - 1);
        // The share of the way through the row that the first number leaves is uniform too.
        let below = if y > 0 { self.rows[y - 1] } else { 0.0 };
        let v = ((row * all - below) / (self.rows[y] - below).max(1e-30)).clamp(0.0, 1.0);
        self.direction_at([(x as f32 + aside) / self.width as f32, (y as f32 + v) / self.height as f32])
    }

    /// Returns the texel in a direction, and its place down the picture.
    fn texel(&self, d: [f32; 3]) -> ([usize; 2], f32) {
        let [u, v] = Self::place(d);
        let x = ((u * self.width as f32) as usize).min(self.width - 1);
        ([x, ((v * self.height as f32) as usize).min(self.height - 1)], v)
    }

    /// Returns the radiance of the texel in a direction, which [`Sphere::density`] follows. Beside a sun that
    /// of [`Sphere::radiance`] is far above the density, and paths that meet it are specks.
    pub fn texel_radiance(&self, d: [f32; 3]) -> [f32; 3] {
        let ([x, y], _) = self.texel(d);
        self.texels[y * self.width + x]
    }

    /// Returns the probability density of a direction from [`Sphere::sample`] \[1/sr\]; 0 for all of a black
    /// picture.
    pub fn density(&self, d: [f32; 3]) -> f32 {
        let ([x, y], v) = self.texel(d);
        let all = self.rows[self.height - 1];
        if all <= 0.0 {
            return 0.0;
        }
        let texel = self.texels[y * self.width + x].iter().sum::<f32>() * self.solid_angle(y) / all;
        // Evenly over the texel's rectangle in the picture, whose parts have the solid angle sin θ dθ dφ.
        let sine = (v * std::f32::consts::PI).sin().max(1e-6);
        let area = std::f32::consts::PI * std::f32::consts::TAU / (self.width * self.height) as f32 * sine;
        texel / area
    }

    /// Returns the memory of its texels and sums \[bytes\].
    pub fn memory(&self) -> u64 {
        (size_of_val(&*self.texels) + size_of_val(&*self.rows) + size_of_val(&*self.columns)) as u64
    }

    /// Texels across and down.
    pub fn size(&self) -> [usize; 2] {
        [self.width, self.height]
    }

    /// Returns the linear radiance of all texels, rows from the top.
    pub fn texels(&self) -> &[[f32; 3]] {
        &self.texels
    }

    /// Returns the unit vector through the middle of a texel.
    pub fn direction(&self, x: usize, y: usize) -> [f32; 3] {
        self.grid().middle(y * self.width + x)
    }

    /// Returns the unit vector through a place of the picture, as shares of its width and height from the
    /// upper left.
    pub fn direction_at(&self, place: [f32; 2]) -> [f32; 3] {
        TexelGrid::direction_at(place)
    }

    /// Returns the place of the picture that a unit vector goes through, as shares.
    pub fn place(d: [f32; 3]) -> [f32; 2] {
        let u = 0.5 + d[0].atan2(-d[2]) / std::f32::consts::TAU;
        [u, d[1].clamp(-1.0, 1.0).acos() / std::f32::consts::PI]
    }

    /// Returns the solid angle of a texel of a row \[sr\].
    pub fn solid_angle(&self, y: usize) -> f32 {
        self.grid().solid_angle(y)
    }

    /// Returns the radiance from a direction, a unit vector; interpolated between texels.
    pub fn radiance(&self, d: [f32; 3]) -> [f32; 3] {
        let [u, v] = Self::place(d);
        let (x, y) = (u * self.width as f32 - 0.5, v * self.height as f32 - 0.5);
        let (fx, fy) = (x - x.floor(), y - y.floor());
        let column = |x: f32| (x.floor() as isize).rem_euclid(self.width as isize) as usize;
        let row = |y: f32| (y.floor().max(0.0) as usize).min(self.height - 1);
        let at = |x: f32, y: f32| self.texels[row(y) * self.width + column(x)];
        let (a, b, c, e) = (at(x, y), at(x + 1.0, y), at(x, y + 1.0), at(x + 1.0, y + 1.0));
        std::array::from_fn(|n| {
            let (top, bottom) = (a[n] + fx * (b[n] - a[n]), c[n] + fx * (e[n] - c[n]));
            top + fy * (bottom - top)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::Emitter;

    /// With the middles of texels alone, a white picture of one texel shone from one side.
    #[test]
    fn even_light_is_the_same_from_a_picture_of_any_size() {
        for (width, height) in [(1, 1), (2, 1), (1, 2), (4, 2), (300, 2), (64, 32)] {
            let sphere = Sphere::new(width, height, vec![[0.5, 1.0, 2.0]; width * height]).unwrap();
            assert!(sphere.suns().is_empty());
            for (moments, radiance) in sphere.moments().iter().zip([0.5, 1.0, 2.0]) {
                let close = |got: f32, wanted: f32| (got - wanted).abs() < 3e-3 * radiance;
                assert!(close(moments.mean, radiance), "{width} x {height}: {moments:?}");
                assert!(moments.first.into_iter().all(|x| close(x, 0.0)), "{width} x {height}: {moments:?}");
                let [xx, yy, zz, mixed @ ..] = moments.second;
                assert!(
                    [xx, yy, zz].into_iter().all(|x| close(x, radiance / 3.0)),
                    "{width} x {height}: {moments:?}"
                );
                assert!(mixed.into_iter().all(|x| close(x, 0.0)), "{width} x {height}: {moments:?}");
            }
        }
    }

    #[test]
    fn texels_lie_where_their_directions_point() {
        let (width, height) = (16, 8);
        let texels = (0..width * height).map(|n| [n as f32, 0.0, 1.0]).collect();
        let sphere = Sphere::new(width, height, texels).unwrap();
        for (x, y) in [(0, 1), (7, 3), (15, 6), (8, 4)] {
            let got = sphere.radiance(sphere.direction(x, y));
            assert!((got[0] - (y * width + x) as f32).abs() < 0.05, "{x}, {y}: {got:?}");
        }
        let all: f32 = (0..height).map(|y| sphere.solid_angle(y) * width as f32).sum();
        assert!((all - 4.0 * std::f32::consts::PI).abs() < 1e-4);
        let [u, v] = Sphere::place([0.0, 0.0, -1.0]);
        assert!((u - 0.5).abs() < 1e-6 && (v - 0.5).abs() < 1e-6);
    }

    #[test]
    fn large_pictures_are_reduced_and_bad_numbers_are_dark() {
        let texels = vec![[f32::NAN, -1.0, f32::INFINITY]; 4096 * 16];
        let sphere = Sphere::new(4096, 16, texels).unwrap();
        assert_eq!(sphere.size(), [2048, 8]);
        assert_eq!(sphere.texels()[5], [0.0, 0.0, Sphere::BRIGHTEST]);
        assert!(Sphere::new(4, 4, vec![[0.0; 3]; 15]).is_none());
    }

    fn angle(a: [f32; 3], b: [f32; 3]) -> f32 {
        (0..3).map(|c| a[c] * b[c]).sum::<f32>().min(1.0).acos()
    }

    /// Returns a sphere of radiance 0.2 with discs of radiance `bright`.
    fn sphere(discs: &[([f32; 3], f32)], bright: f32) -> Sphere {
        let (width, height) = (1024, 512);
        let plain = Sphere::new(width, height, vec![[0.0; 3]; width * height]).unwrap();
        let of = |d: [f32; 3]| {
            let is_bright =
                discs.iter().any(|&(middle, degrees)| angle(d, middle) < 0.5 * degrees.to_radians());
            [1.0, 0.8, 0.5].map(|x| x * if is_bright { bright } else { 0.2 })
        };
        Sphere::new(
            width,
            height,
            (0..width * height).map(|n| of(plain.direction(n % width, n / width))).collect(),
        )
        .unwrap()
    }

    #[test]
    fn small_discs_are_suns_wherever_they_stand() {
        for (direction, size) in [([0.6, 0.0, 0.8], 2.0), ([0.0, 1.0, 0.0], 4.0), ([-0.48, 0.6, 0.64], 12.0)]
        {
            let sphere = sphere(&[(direction, size)], 500.0);
            let [sun] = sphere.suns() else { panic!("{:?}", sphere.suns()) };
            let Emitter::Sun { direction: found, size: wide } = sun.emitter else { panic!() };
            assert!(angle(direction, found) < 0.002, "{found:?}");
            assert!((wide / size - 1.0).abs() < 0.1, "{wide} for {size}");
            let solid_angle = std::f32::consts::TAU * (1.0 - (0.5 * size.to_radians()).cos());
            assert!((sun.color[0] / (499.8 * solid_angle) - 1.0).abs() < 0.15, "{:?}", sun.color);
            // The rest is even.
            assert!((sphere.moments()[0].mean - 0.2).abs() < 1e-3);
            assert!(sphere.moments()[0].first.iter().all(|x| x.abs() < 1e-3));
        }
    }

    #[test]
    fn two_lamps_are_two_suns_and_a_window_is_none() {
        let lamps = [([1.0, 0.0, 0.0], 3.0), ([0.0, 0.6, -0.8], 3.0)];
        assert_eq!(sphere(&lamps, 300.0).suns().len(), 2);
        assert!(sphere(&[([1.0, 0.0, 0.0], 60.0)], 20.0).suns().is_empty(), "too wide");
        assert!(sphere(&[([1.0, 0.0, 0.0], 1.0)], 5.0).suns().is_empty(), "too weak");
        assert!(Sphere::new(8, 4, vec![[0.0; 3]; 32]).unwrap().suns().is_empty(), "black");
    }
}
