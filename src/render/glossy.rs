//! The glossy coat of solids: microfacets with the distribution GGX (Walter et al. 2007) of a material of refractive index 1.5, over
//! the matte base. `shaders/glossy.glsl` has the same formulas.
//!
//! ```text
//! D(h) = α² / (π (cos²θ (α² − 1) + 1)²)      G₁(v) = 2 / (1 + √(1 + α² tan²θ))      f cos = D F G₁ G₁ / (4 n·o)
//! ```
//!
//! with α the square of the roughness. Towards roughness 1 the coat fades out, and the solid is matte. The
//! base gets the share of light to the eye that the coat does not reflect.

use std::f32::consts::{PI, TAU};

use nalgebra::Vector3;

use super::camera::Ray;

/// Reflectance at normal incidence.
pub(super) const NORMAL: f32 = 0.04;
/// Least roughness: a smoother coat would mirror lights as points.
pub(super) const LEAST: f32 = 0.05;
/// Roughness above which the coat fades out.
pub(super) const FADES: f32 = 0.8;

/// The coat of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Coat {
    roughness: f32,
    alpha: f32,
    /// Share of the coat, less than 1 where it fades out.
    share: f32,
}

/// A point of a surface, seen from an eye.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facet {
    pub normal: Vector3<f32>,
    /// Unit vector towards the eye.
    pub to_eye: Vector3<f32>,
    /// Coat; `None` if the surface is matte.
    pub coat: Option<Coat>,
}

impl Coat {
    /// Returns the coat of a roughness; `None` if that is 1.
    pub fn of(roughness: f32) -> Option<Self> {
        let roughness = roughness.clamp(LEAST, 1.0);
        let share = ((1.0 - roughness) / (1.0 - FADES)).min(1.0);
        (share > 0.0).then_some(Self { roughness, alpha: roughness * roughness, share })
    }

    /// Returns the reflectance of uniform light from all around, for an eye under a cosine (Karis's fit, 2014).
    pub fn reflectance(&self, cosine: f32) -> f32 {
        let r = self.roughness;
        let [x, y, z, w] = [1.0 - r, 0.0425 - 0.0275 * r, 1.04 - 0.572 * r, 0.022 * r - 0.04];
        let a = (x * x).min((-9.28 * cosine.max(0.0)).exp2()) * x + y;
        self.share * (NORMAL * (z - 1.04 * a) + w + 1.04 * a)
    }

    /// Returns the mean cosine between the reflected light and the mirror direction.
    pub fn focus(&self) -> f32 {
        1.0 - self.alpha / 3.0
    }

    /// Returns a coat that reflects a point light as this one does a light of an angular radius \[rad\].
    fn widened(&self, radius: f32) -> Self {
        Self { alpha: (self.alpha + radius / 3.0).min(1.0), ..*self }
    }

    /// Returns the probability density of [`Coat::sample`] \[1/sr\]: D G₁ / (4 n·o).
    pub fn density(&self, facet: &Facet, towards: Vector3<f32>) -> f32 {
        let (normal, to_eye) = (facet.normal, facet.to_eye);
        let [light, eye] = [normal.dot(&towards), normal.dot(&to_eye)];
        if light <= 0.0 || eye <= 0.0 {
            return 0.0;
        }
        let half = normal.dot(&(towards + to_eye).normalize());
        let square = self.alpha * self.alpha;
        let d = half * half * (square - 1.0) + 1.0;
        square / (PI * d * d) * self.masking(eye) / (4.0 * eye)
    }

    /// Returns the reflected share of light from a direction, over [`Coat::density`]: F G₁.
    pub fn factor(&self, facet: &Facet, towards: Vector3<f32>) -> f32 {
        let light = facet.normal.dot(&towards);
        if light <= 0.0 {
            return 0.0;
        }
        let cosine = (towards + facet.to_eye).normalize().dot(&towards).clamp(0.0, 1.0);
        let fresnel = NORMAL + (1.0 - NORMAL) * (1.0 - cosine).powi(5);
        self.share * fresnel * self.masking(light)
    }

    /// Returns the share of facets that are visible under a cosine, G₁.
    fn masking(&self, cosine: f32) -> f32 {
        let tangent = (1.0 - cosine * cosine).max(0.0) / (cosine * cosine);
        2.0 / (1.0 + (1.0 + self.alpha * self.alpha * tangent).sqrt())
    }

    /// Samples a direction of reflected light by two uniform numbers. Facets are chosen by their area visible
    /// to the eye (Dupuy and Benyoub 2023). Directions below the surface carry no light.
    pub fn sample(&self, facet: &Facet, u: [f32; 2]) -> Vector3<f32> {
        let n = facet.normal;
        let aside = if n.x.abs() < 0.7 { Vector3::x() } else { Vector3::y() };
        let a = n.cross(&aside).normalize();
        let b = n.cross(&a);
        let eye = facet.to_eye;
        let stretched =
            Vector3::new(self.alpha * eye.dot(&a), self.alpha * eye.dot(&b), eye.dot(&n)).normalize();
        let z = (1.0 - u[0]) * (1.0 + stretched.z) - stretched.z;
        let (sin, cos) = (u[1] * TAU).sin_cos();
        let across = (1.0 - z * z).max(0.0).sqrt();
        let cap = Vector3::new(across * cos, across * sin, z) + stretched;
        let half = (a * (self.alpha * cap.x) + b * (self.alpha * cap.y) + n * cap.z.max(1e-9)).normalize();
        half * (2.0 * eye.dot(&half)) - eye
    }
}

impl Facet {
    /// Makes the facet of a surface with a normal, at the end of a ray.
    pub fn new(ray: &Ray, normal: [f32; 3], roughness: f32) -> Self {
        Self { normal: normal.into(), to_eye: -ray.direction, coat: Coat::of(roughness) }
    }

    /// Makes a matte facet.
    pub fn matte(normal: [f32; 3]) -> Self {
        Self { normal: normal.into(), to_eye: normal.into(), coat: None }
    }

    /// Returns the share of light that reaches the matte base.
    pub fn base(&self) -> f32 {
        self.coat.map_or(1.0, |coat| 1.0 - coat.reflectance(self.normal.dot(&self.to_eye)))
    }

    /// Returns the radiant intensity that a white matte base sends in a direction, over the power that arrives \[1/sr\].
    pub fn matte_towards(&self, direction: Vector3<f32>) -> f32 {
        let cosine = self.normal.dot(&direction).max(0.0);
        cosine / PI * Self { to_eye: direction, ..*self }.base()
    }

    /// Returns the radiance that the coat reflects to the eye, of a light of an angular radius \[rad\] with
    /// an irradiance of 1 on a surface that faces it.
    pub fn glossy(&self, towards: Vector3<f32>, radius: f32) -> f32 {
        let Some(coat) = self.coat.map(|coat| coat.widened(radius)) else { return 0.0 };
        coat.density(self, towards) * coat.factor(self, towards)
    }

    /// Returns the unit vector along which a mirror would reflect the view.
    pub fn mirrored(&self) -> Vector3<f32> {
        let n = self.normal;
        n * (2.0 * n.dot(&self.to_eye)) - self.to_eye
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facet(roughness: f32, cosine: f32) -> Facet {
        let to_eye = Vector3::new((1.0 - cosine * cosine).sqrt(), 0.0, cosine);
        Facet { normal: Vector3::z(), to_eye, coat: Coat::of(roughness) }
    }

    /// Directions spread over the sphere.
    fn directions(count: usize) -> impl Iterator<Item = Vector3<f32>> {
        (0..count).map(move |n| {
            let z = 1.0 - (2 * n + 1) as f32 / count as f32;
            let (sin, cos) = (n as f32 * 2.399_963_2).sin_cos();
            let across = (1.0 - z * z).sqrt();
            Vector3::new(across * cos, across * sin, z)
        })
    }

    #[test]
    fn samples_have_their_density() {
        for (roughness, cosine) in [(0.4, 0.9), (0.6, 0.5), (0.75, 0.3)] {
            let facet = facet(roughness, cosine);
            let coat = facet.coat.unwrap();
            let sphere = 400_000;
            // Means of a smooth function by samples and by the density. Samples below the surface count nothing.
            let seen = |d: Vector3<f32>| if d.z > 0.0 { d.z * (1.0 + d.x + 0.5 * d.y * d.y) } else { 0.0 };
            let share = 2.0 * TAU / sphere as f32;
            let by_density: f32 = directions(sphere).map(|d| share * coat.density(&facet, d) * seen(d)).sum();
            let count = 60_000;
            let by_samples = (0..count)
                .map(|n| {
                    let u = [(n as f32 + 0.5) / count as f32, (n as f32 * 0.618_034).fract()];
                    seen(coat.sample(&facet, u)) / count as f32
                })
                .sum::<f32>();
            assert!(
                (by_density / by_samples - 1.0).abs() < 0.01,
                "{roughness}, {cosine}: {by_density} {by_samples}"
            );
        }
    }

    /// The base loses the share of uniform light that the coat reflects.
    #[test]
    fn the_coat_takes_from_the_base_what_it_reflects() {
        for (roughness, cosine) in [(0.3, 0.9), (0.5, 0.6), (0.7, 0.35)] {
            let facet = facet(roughness, cosine);
            let share = 2.0 * TAU / 400_000.0;
            let reflected: f32 = directions(400_000).map(|d| share * facet.glossy(d, 0.0)).sum();
            let taken = 1.0 - facet.base();
            assert!((reflected - taken).abs() < 0.015, "{roughness}, {cosine}: {reflected}, not {taken}");
        }
    }

    #[test]
    fn the_coat_fades_out_towards_matte() {
        assert_eq!(Coat::of(1.0), None);
        let of = |roughness: f32| 1.0 - facet(roughness, 0.7).base();
        assert!(of(0.99) < 0.1 * of(0.8) && of(0.99) > 0.0 && facet(1.0, 0.7).base() == 1.0);
    }
}
