//! Pictures for games: smoke without a background, in straight alpha, and its motion in the picture.
//!
//! A game puts such a picture on a plane and interpolates its texels, also at the edge of the smoke. So
//! pixels without smoke get the colour of the nearest smoke; otherwise edges would turn dark.

use bytemuck::{cast_slice, cast_slice_mut};
use half::f16;
use nalgebra::Vector3;
use rayon::prelude::*;

use super::LinearImage;
use super::camera::{Axes, box_span};
use super::sampled_volume::Volume;
use super::stage::Stage;
use super::tone::{self, Tone};
use crate::look::{Camera, Look};
use crate::snapshot::{Snapshot, SnapshotSlab};

/// Opacity above which a pixel has its own colour alone.
const SURE: f32 = 0.02;

/// Divides `values`, which are premultiplied by `weights`, by these. `size` is the width and height of both.
/// Values with little or no weight are replaced by those of their surroundings, from a pyramid of sums.
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
    /// Returns the opacity of each pixel.
    pub fn opacities(&self) -> Vec<f32> {
        self.rgba.iter().map(|pixel| pixel[3].clamp(0.0, 1.0)).collect()
    }

    /// Returns the radiance of each pixel in straight alpha; pixels without smoke get that of the nearest
    /// smoke.
    pub fn straight_radiance(&self) -> Vec<[f32; 3]> {
        let radiance: Vec<[f32; 3]> = self.rgba.iter().map(|&[r, g, b, _]| [r, g, b]).collect();
        straight(&radiance, &self.opacities(), [self.width, self.height])
    }

    /// Returns the picture after the exposure and tone map of a look: sRGB bytes with straight alpha.
    pub fn sprite(&self, look: &Look) -> Vec<[u8; 4]> {
        let pixels: Vec<[f32; 4]> =
            self.straight_radiance().into_iter().map(|[r, g, b]| [r, g, b, 0.0]).collect();
        let mut bytes = vec![[0; 4]; pixels.len()];
        // Values are rounded to nearest: dither that differs between frames would flicker.
        let (map, exposure) = (look.tone, look.exposure.exp2());
        let tone = Tone { map, background: [0.0; 3], exposure, noise: &[0.5; 64] };
        tone::row(&tone, &pixels, &mut bytes);
        for (pixel, alpha) in bytes.iter_mut().zip(self.opacities()) {
            pixel[3] = (alpha * 255.0).round() as u8;
        }
        bytes
    }
}

/// Returns the motion of the smoke in a picture of `size` by `camera`, within `dt` \[s\]: to the right and
/// up, as shares of the picture's width and height, rows from the top. It is the mean along the ray, weighted
/// by the visible opacity.
///
/// # Panics
/// If the snapshot has no velocity.
pub fn motion(snapshot: &Snapshot, look: &Look, camera: &Camera, size: [u32; 2], dt: f32) -> Vec<[f32; 2]> {
    assert_eq!(snapshot.velocity.len(), snapshot.smoke.len(), "the snapshot has no velocity");
    let flow = SeenFlow::new(snapshot, look, camera, size, (0, &snapshot.smoke, &snapshot.velocity));
    let mut rays = vec![AT_START; size[0] as usize * size[1] as usize];
    flow.walk(0, &mut rays, |_| true, |_| true);
    flow.means(&rays, dt)
}

/// Returns the motion as [`motion`] does, of the smoke of several ranks, each of which calls this with its
/// slab and its velocity. Rays pass from rank to rank; the first gets the picture, with the bytes of one
/// process.
///
/// # Panics
/// If the slab has no velocity.
pub fn motion_of_slabs(
    slab: &SnapshotSlab,
    look: &Look,
    camera: &Camera,
    size: [u32; 2],
    dt: f32,
) -> Option<Vec<[f32; 2]>> {
    let (comm, part) = (slab.comm(), slab.part());
    let ([from, to], velocity) = slab.motion().expect("the velocity of the slab").cells();
    let plane = part.whole.dims.nx * part.whole.dims.ny;
    let smoke = &part.planes.smoke[(from - part.first) * plane..(to - part.first) * plane];
    let flow = SeenFlow::new(part.whole, look, camera, size, (from, smoke, velocity));
    let ([low, high], [me, count]) = (slab.own(), [comm.rank(), comm.size()]);
    let is_own = |z: f32| (low..high).contains(&flow.volume.plane_at(z));
    let band = size[0] as usize * BAND;
    let mut all = vec![AT_START; size[0] as usize * size[1] as usize];
    for upwards in [true, false] {
        let place = if upwards { me } else { count - 1 - me };
        let rank_at = |place: usize| if upwards { place } else { count - 1 - place };
        let mut rays = vec![AT_START; all.len()];
        for (n, rays) in rays.chunks_mut(band).enumerate() {
            if place > 0 {
                comm.transfer(&[], &mut [(rank_at(place - 1), cast_slice_mut(rays))]);
            }
            flow.walk(n * band, rays, |direction| (direction.z >= 0.0) == upwards, is_own);
            if place + 1 < count {
                comm.transfer(&[(rank_at(place + 1), cast_slice(rays))], &mut []);
            }
        }
        let last = rank_at(count - 1);
        if last != 0 && me == last {
            comm.transfer(&[(0, cast_slice(&rays))], &mut []);
        }
        if last != 0 && me == 0 {
            comm.transfer(&[], &mut [(last, cast_slice_mut(&mut rays))]);
        }
        // Rays of the other direction have their initial state.
        all.iter_mut().zip(rays).filter(|(_, ray)| *ray != AT_START).for_each(|(to, ray)| *to = ray);
    }
    (me == 0).then(|| flow.means(&all, dt))
}

/// Rows of pixels whose rays are sent together.
const BAND: usize = 16;

/// State of a ray: the motion along x and y weighted by visible opacity, the sum of these weights, and the
/// transmittance.
type SeenMotion = [f32; 4];

/// State of a ray before its first step.
const AT_START: SeenMotion = [0.0, 0.0, 0.0, 1.0];

/// Smoke and its velocity along the axes of a camera.
struct SeenFlow {
    axes: Axes,
    across: Vector3<f32>,
    upwards: Vector3<f32>,
    volume: Volume,
    extent: [f32; 3],
    step: f32,
    extinction: f32,
    size: [u32; 2],
}

impl SeenFlow {
    /// Makes the flow of the planes of smoke and velocity from `first` on.
    fn new(
        whole: &Snapshot,
        look: &Look,
        camera: &Camera,
        size: [u32; 2],
        (first, smoke, velocity): (usize, &[[f16; 4]], &[[f16; 4]]),
    ) -> Self {
        let camera = Stage::of(whole).local_camera(camera);
        let axes = Axes::of(&camera, size[0] as f32 / size[1].max(1) as f32);
        let [across, upwards] = [axes.right, axes.up].map(|axis| axis / axis.norm_squared());
        // Density, and the velocity times the density, along the camera's axes.
        let cells: Vec<[f16; 4]> = (smoke, velocity)
            .into_par_iter()
            .map(|(smoke, velocity)| {
                let density: f32 = smoke[..3].iter().map(|x| x.to_f32().max(0.0)).sum();
                let velocity = [0, 1, 2].map(|a| velocity[a].to_f32());
                let along = [across, upwards, axes.forward]
                    .map(|axis| density * (0..3).map(|a| axis[a] * velocity[a]).sum::<f32>());
                [density, along[0], along[1], along[2]].map(f16::from_f32)
            })
            .collect();
        let volume = Volume::of_planes(whole, first, &cells);
        let (extent, step, extinction) = (whole.extent(), whole.h, look.extinction);
        Self { axes, across, upwards, volume, extent, step, extinction, size }
    }

    /// Marches the rays of the pixels from `first` on, rows from the top: those whose direction `goes`
    /// accepts, through the steps whose z `is_own` accepts.
    fn walk(
        &self,
        first: usize,
        rays: &mut [SeenMotion],
        goes: impl Fn(&Vector3<f32>) -> bool + Sync,
        is_own: impl Fn(f32) -> bool + Sync,
    ) {
        let Self { axes, across, upwards, step, .. } = *self;
        let [width, height] = self.size;
        rays.par_iter_mut().enumerate().for_each(|(n, state)| {
            let n = (first + n) as u32;
            let ray = axes.ray_through_pixel(self.size, [n % width, height - 1 - n / width]);
            if !goes(&ray.direction) {
                return;
            }
            let [near, far] = box_span(&ray, [0.0; 3], self.extent);
            let [mut x_sum, mut y_sum, mut weight, mut visible] = *state;
            let mut t = near.max(0.0) + 0.5 * step;
            while t < far && visible > 0.01 {
                let p = ray.at(t);
                t += step;
                if !is_own(p.z) {
                    continue;
                }
                let [density, right, up, into] = self.volume.sample(p.into());
                if density > 1e-4 {
                    let seen = visible * (1.0 - (-self.extinction * density * step).exp());
                    visible -= seen;
                    let to = p - axes.eye;
                    let (depth, into) = match axes.parallel {
                        true => (1.0, 0.0),
                        false => (to.dot(&axes.forward).max(1e-3), into),
                    };
                    let [x, y] = [across, upwards].map(|axis| to.dot(&axis) / depth);
                    // Derivatives of x and y, which are −1..1 over the picture.
                    x_sum += seen / density * (right - x * into) / depth;
                    y_sum += seen / density * (up - y * into) / depth;
                    weight += seen;
                }
            }
            *state = [x_sum, y_sum, weight, visible];
        });
    }

    /// Returns the mean motion of the rays within `dt`, with pixels without smoke filled in.
    fn means(&self, rays: &[SeenMotion], dt: f32) -> Vec<[f32; 2]> {
        let values: Vec<_> = rays.iter().map(|[x, y, ..]| [0.5 * dt * x, 0.5 * dt * y]).collect();
        let weights: Vec<_> = rays.iter().map(|ray| ray[2]).collect();
        straight(&values, &weights, self.size)
    }
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
        let camera = Camera::at([0.5, 0.5, 200.0], [0.5; 3], 0.5);
        let height = 2.0 * 199.5 * 0.25_f32.to_radians().tan();
        let motion = motion(&snapshot, &Look::default(), &camera, [32, 16], 0.1);
        let [x, y] = motion[8 * 32 + 16];
        assert!((x - 0.02 / (2.0 * height)).abs() < 2e-4, "{x}: right, over the width of two heights");
        assert!((y + 0.04 / height).abs() < 4e-4, "{y}: down");
        assert!(motion.iter().all(|m| (m[0] - x).abs() < 1e-3 && (m[1] - y).abs() < 1e-3), "everywhere");
    }
}
