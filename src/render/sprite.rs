//! Pictures for games: smoke without a background, in straight alpha, and its motion in the picture.
//!
//! A game puts such a picture on a plane. It interpolates texels, also those at the edge of the smoke, so pixels
//! without smoke get the colour of the nearest smoke; without that, edges would turn dark.

use half::f16;
use rayon::prelude::*;

use super::LinearImage;
use super::camera::{Axes, box_span};
use super::sampled_volume::Volume;
use super::tone::{self, Tone};
use crate::look::{Camera, Look};
use crate::snapshot::Snapshot;

/// Opacity from which a pixel's own colour counts alone.
const SURE: f32 = 0.02;

/// Divides `values`, which are premultiplied by `weights`, by them. `size` is the width and height of both. Values with
/// little or no weight are those of the surroundings, from a pyramid of sums.
pub fn straight<const N: usize>(values: &[[f32; N]], weights: &[f32], size: [u32; 2]) -> Vec<[f32; N]> {
    let [width, height] = size.map(|n| n as usize);
    assert!(values.len() == width * height && weights.len() == values.len(), "a value for each pixel");
    let own = |value: &[f32; N], weight: f32| value.map(|x| x / weight);
    if width * height <= 1 {
        let one =
            |(value, &weight): (&[f32; N], &f32)| if weight > 0.0 { own(value, weight) } else { [0.0; N] };
        return values.iter().zip(weights).map(one).collect();
    }
    let half = size.map(|n| n.div_ceil(2));
    let [columns, rows] = half.map(|n| n as usize);
    let (mut sums, mut total) = (vec![[0.0; N]; columns * rows], vec![0.0; columns * rows]);
    for n in 0..values.len() {
        let to = n / width / 2 * columns + n % width / 2;
        for c in 0..N {
            sums[to][c] += values[n][c];
        }
        total[to] += weights[n];
    }
    let around = straight(&sums, &total, half);
    let one = |n: usize| {
        let near = around[n / width / 2 * columns + n % width / 2];
        let share = (weights[n] / SURE).min(1.0);
        if share <= 0.0 {
            return near;
        }
        let own = own(&values[n], weights[n]);
        std::array::from_fn(|c| near[c] + share * (own[c] - near[c]))
    };
    (0..values.len()).map(one).collect()
}

impl LinearImage {
    /// Opacity of each pixel.
    pub fn opacities(&self) -> Vec<f32> {
        self.rgba.iter().map(|pixel| pixel[3].clamp(0.0, 1.0)).collect()
    }

    /// Radiance of each pixel in straight alpha; where there is no smoke, that of the nearest.
    pub fn straight_radiance(&self) -> Vec<[f32; 3]> {
        let radiance: Vec<[f32; 3]> = self.rgba.iter().map(|&[r, g, b, _]| [r, g, b]).collect();
        straight(&radiance, &self.opacities(), [self.width, self.height])
    }

    /// The picture after the exposure and tone map of a look: sRGB bytes with straight alpha.
    pub fn sprite(&self, look: &Look) -> Vec<[u8; 4]> {
        let pixels: Vec<[f32; 4]> =
            self.straight_radiance().into_iter().map(|[r, g, b]| [r, g, b, 0.0]).collect();
        let mut bytes = vec![[0; 4]; pixels.len()];
        // Rounds to the nearest: a dither of each frame would flicker.
        let (map, exposure) = (look.tone, look.exposure.exp2());
        let tone = Tone { map, background: [0.0; 3], exposure, noise: &[0.5; 64] };
        tone::row(&tone, &pixels, &mut bytes);
        for (pixel, alpha) in bytes.iter_mut().zip(self.opacities()) {
            pixel[3] = (alpha * 255.0).round() as u8;
        }
        bytes
    }
}

/// Motion of the smoke in a picture of `size` by `camera`, within `dt` \[s\]: to the right and up, as shares of the
/// picture's width and height, rows from the top. It is the mean along the ray, weighted by what is seen.
///
/// # Panics
/// If the snapshot has no velocity.
pub fn motion(snapshot: &Snapshot, look: &Look, camera: &Camera, size: [u32; 2], dt: f32) -> Vec<[f32; 2]> {
    assert_eq!(snapshot.velocity.len(), snapshot.smoke.len(), "the snapshot has no velocity");
    let [width, height] = size;
    let axes = Axes::of(camera, width as f32 / height.max(1) as f32);
    let [across, upwards] = [axes.right, axes.up].map(|axis| axis / axis.norm_squared());
    // Density, and the velocity times the density, along the camera's axes.
    let cells: Vec<[f16; 4]> = (&snapshot.smoke, &snapshot.velocity)
        .into_par_iter()
        .map(|(smoke, velocity)| {
            let density: f32 = smoke[..3].iter().map(|x| x.to_f32().max(0.0)).sum();
            let velocity = [0, 1, 2].map(|a| velocity[a].to_f32());
            let along = [across, upwards, axes.forward]
                .map(|axis| density * (0..3).map(|a| axis[a] * velocity[a]).sum::<f32>());
            [density, along[0], along[1], along[2]].map(f16::from_f32)
        })
        .collect();
    let volume = Volume::at_centres(snapshot, &cells);
    let (extent, step) = (snapshot.extent(), snapshot.h);
    let rays: Vec<([f32; 2], f32)> = (0..width * height)
        .into_par_iter()
        .map(|n| {
            let ray = axes.ray_through_pixel(size, [n % width, height - 1 - n / width]);
            let [near, far] = box_span(&ray, [0.0; 3], extent);
            let (mut sum, mut weight, mut visible) = ([0.0; 2], 0.0, 1.0_f32);
            let mut t = near.max(0.0) + 0.5 * step;
            while t < far && visible > 0.01 {
                let p = ray.at(t);
                let [density, right, up, into] = volume.sample(p.into());
                if density > 1e-4 {
                    let seen = visible * (1.0 - (-look.extinction * density * step).exp());
                    visible -= seen;
                    let to = p - axes.eye;
                    let (depth, into) = match axes.parallel {
                        true => (1.0, 0.0),
                        false => (to.dot(&axes.forward).max(1e-3), into),
                    };
                    let [x, y] = [across, upwards].map(|axis| to.dot(&axis) / depth);
                    // Derivatives of x and y, which are -1..1 over the picture.
                    sum[0] += seen / density * (right - x * into) / depth;
                    sum[1] += seen / density * (up - y * into) / depth;
                    weight += seen;
                }
                t += step;
            }
            (sum.map(|x| 0.5 * dt * x), weight)
        })
        .collect();
    let (values, weights): (Vec<_>, Vec<_>) = rays.into_iter().unzip();
    straight(&values, &weights, size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;

    #[test]
    fn empty_pixels_have_the_colour_of_the_nearest_smoke() {
        let (mut values, mut weights) = (vec![[0.0; 1]; 64], vec![0.0; 64]);
        // Red at the left edge, with little and with full opacity, and blue at the right.
        for (n, color, weight) in [(0, 1.0, 1.0), (8, 1.0, 0.5), (7, 3.0, 0.25)] {
            (values[n], weights[n]) = ([color * weight], weight);
        }
        let straight = straight(&values, &weights, [8, 8]);
        assert_eq!((straight[0], straight[8], straight[7]), ([1.0], [1.0], [3.0]));
        assert_eq!((straight[9], straight[15]), ([1.0], [3.0]), "neighbours");
        assert!(straight.iter().all(|[x]| (1.0..=3.0).contains(x)), "no pixel is darker than the smoke");
        assert!(super::straight(&[[0.0; 2]; 12], &[0.0; 12], [4, 3]).iter().all(|x| *x == [0.0; 2]));
    }

    #[test]
    fn a_sprite_has_straight_alpha() {
        let pixel = |alpha: f32| [0.5 * alpha, 0.25 * alpha, 0.125 * alpha, alpha];
        let rgba = [1.0, 0.5, 0.1, 0.0].map(pixel).to_vec();
        let image = LinearImage { width: 4, height: 1, rgba, depth: vec![1e6; 4] };
        let bytes = image.sprite(&Look::default());
        assert_eq!(bytes.iter().map(|pixel| pixel[3]).collect::<Vec<_>>(), [255, 128, 26, 0]);
        assert!(bytes.iter().all(|pixel| pixel[..3] == bytes[0][..3]), "{bytes:?}");
    }

    /// A block of smoke that moves as a whole: seen from the front by a distant camera it moves by v dt over the height
    /// of the picture.
    #[test]
    fn motion_is_the_displacement_in_the_picture() {
        let mut snapshot = Snapshot::from_fn(Dims::new([16; 3]).unwrap(), 0.0625, |p| {
            if (0..3).all(|a| (p[a] - 0.5).abs() < 0.25) { [1.0, 0.0, 0.0, 0.0] } else { [0.0; 4] }
        });
        snapshot.velocity = vec![[0.2, -0.4, 3.0, 0.0].map(f16::from_f32); snapshot.smoke.len()];
        let camera = Camera {
            position: [0.5, 0.5, 200.0],
            target: [0.5; 3],
            up: [0.0, 1.0, 0.0],
            fov: 0.5,
            projection: crate::look::CameraProjection::Perspective,
            lens: crate::look::Lens::default(),
        };
        let height = 2.0 * 199.5 * 0.25_f32.to_radians().tan();
        let motion = motion(&snapshot, &Look::default(), &camera, [32, 16], 0.1);
        let [x, y] = motion[8 * 32 + 16];
        assert!((x - 0.02 / (2.0 * height)).abs() < 2e-4, "{x}: right, over the width of two heights");
        assert!((y + 0.04 / height).abs() < 4e-4, "{y}: down");
        assert!(motion.iter().all(|m| (m[0] - x).abs() < 1e-3 && (m[1] - y).abs() < 1e-3), "everywhere");
    }
}
