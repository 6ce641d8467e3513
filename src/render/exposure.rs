//! Motion blur: a picture is the mean of several instants while the shutter is open. For each instant the
//! smoke is advected from the frame along straight lines by its velocity, and solids continue with their
//! velocity and spin.

use half::f16;
use nalgebra::{Quaternion, UnitQuaternion, Vector3};
use rayon::prelude::*;

use super::background::Background;
use super::sampled_volume::Volume;
use super::{Image, LinearImage, Quality, View};
use crate::look::Camera;
use crate::snapshot::{Bricks, Motion, Part, Snapshot, SnapshotSlab, SolidPose, fastest};

/// Greatest number of instants of a picture.
const MOST: usize = 33;

/// Least number of instants of a picture whose camera moves: with fewer, edges show as copies.
const OF_MOVING_CAMERA: usize = 25;

/// Returns the instants whose mean is a picture of `snapshot`, relative to its time \[s\], exposed for
/// `exposure` seconds around it. Smoke and solids move by about a cell from one to the next, or more if that
/// takes over 33 instants. Their number is odd: one is the snapshot's own.
pub fn instants(snapshot: &Snapshot, exposure: f32, camera_moves: bool) -> Vec<f32> {
    instants_of(snapshot, fastest(&snapshot.velocity), exposure, camera_moves)
}

/// Returns the [`instants`] for smoke with the greatest speed `fastest`.
fn instants_of(snapshot: &Snapshot, fastest: f32, exposure: f32, camera_moves: bool) -> Vec<f32> {
    let solids = snapshot.solids.iter().map(|solid| {
        let [along, around] = [solid.velocity, solid.spin].map(|v| Vector3::from(v).norm());
        along + around * solid.scale * solid.shape.bounding_radius()
    });
    let crossed = solids.fold(fastest, f32::max) * exposure / snapshot.h;
    let least = if camera_moves { OF_MOVING_CAMERA } else { 1 };
    let count = (crossed.ceil() as usize).clamp(least, MOST) | 1;
    (0..count).map(|n| ((n as f32 + 0.5) / count as f32 - 0.5) * exposure).collect()
}

/// Returns a picture of `snapshot` exposed for `exposure` seconds around its time: the mean of those of
/// several instants, which `paint` renders by the camera of each. Fails with the first error of `paint`.
pub fn exposed<E>(
    snapshot: &Snapshot,
    exposure: f32,
    quality: Quality,
    camera_at: impl Fn(f32) -> Camera,
    mut paint: impl FnMut(&Snapshot, &Camera, Quality) -> Result<LinearImage, E>,
) -> Result<LinearImage, E> {
    let fastest = fastest(&snapshot.velocity);
    exposed_at(snapshot, fastest, exposure, quality, camera_at, |later, camera, quality| {
        paint(&moved(snapshot, later), camera, quality)
    })
}

/// Returns the cameras of the instants of a picture that [`exposed`] returns, one if the camera stands still.
pub fn cameras(snapshot: &Snapshot, exposure: f32, camera_at: impl Fn(f32) -> Camera) -> Vec<Camera> {
    let time = snapshot.time as f32;
    if !moves(&camera_at, time, exposure) {
        return vec![camera_at(time)];
    }
    instants(snapshot, exposure, true).into_iter().map(|later| camera_at(time + later)).collect()
}

/// Returns whether a camera moves while the shutter is open around an instant.
fn moves(camera_at: &impl Fn(f32) -> Camera, time: f32, exposure: f32) -> bool {
    camera_at(time - 0.5 * exposure) != camera_at(time + 0.5 * exposure)
}

/// Returns a picture as [`exposed`] does, of the smoke of several ranks, each of which calls this with its
/// slab. `halo` are the planes of [`CpuRenderer::halo`](super::CpuRenderer::halo). The slab must have at
/// least [`reach`] planes on either side.
pub fn exposed_slab<E>(
    slab: &SnapshotSlab,
    exposure: f32,
    quality: Quality,
    halo: [usize; 2],
    camera_at: impl Fn(f32) -> Camera,
    mut paint: impl FnMut(&SnapshotSlab, &Camera, Quality) -> Result<LinearImage, E>,
) -> Result<LinearImage, E> {
    let fastest = slab.motion().map_or(0.0, Motion::fastest);
    let mut later = SnapshotSlab::new(slab.shared_comm());
    exposed_at(slab.whole(), fastest, exposure, quality, camera_at, |seconds, camera, quality| {
        move_slab(slab, seconds, halo, &mut later);
        paint(&later, camera, quality)
    })
}

/// Returns the number of planes beside a slab from which smoke is advected into it while the shutter is open,
/// with cells of edge `h`.
pub fn reach(fastest: f32, exposure: f32, h: f32) -> usize {
    (0.5 * exposure * fastest / h).ceil() as usize + 2
}

/// Returns the mean of pictures of several instants around the snapshot. The smoke has the greatest speed
/// `fastest`.
fn exposed_at<E>(
    snapshot: &Snapshot,
    fastest: f32,
    exposure: f32,
    quality: Quality,
    camera_at: impl Fn(f32) -> Camera,
    mut paint: impl FnMut(f32, &Camera, Quality) -> Result<LinearImage, E>,
) -> Result<LinearImage, E> {
    let time = snapshot.time as f32;
    let instants = instants_of(snapshot, fastest, exposure, moves(&camera_at, time, exposure));
    // The offsets of the frames continue from instant to instant, from the middle one on, whose depth is that of the picture.
    let count = instants.len() as u32;
    let passes = quality.passes.div_ceil(count);
    let pictures = instants.iter().enumerate().map(|(n, &later)| {
        let after_middle = (n as u32 + count - count / 2) % count;
        let quality = Quality { passes, first: after_middle * passes, all: count * passes, ..quality };
        paint(later, &camera_at(time + later), quality)
    });
    LinearImage::mean(pictures)
}

/// Returns the smoke and the solids of `snapshot` some seconds later, without its velocity. Each cell gets
/// the smoke of its departure point, upstream along a straight line. Without velocity the smoke does not
/// move.
pub fn moved(snapshot: &Snapshot, seconds: f32) -> Snapshot {
    let smoke = match snapshot.velocity.as_slice() {
        [] => snapshot.smoke.clone(),
        velocity => {
            let mut smoke = vec![[f16::ZERO; 4]; velocity.len()];
            advected(&Part::of(snapshot), ([0, snapshot.dims.nz], velocity), seconds, &mut smoke);
            smoke
        }
    };
    Snapshot { bricks: Bricks::of(snapshot.dims, &smoke), smoke, ..without_smoke(snapshot, seconds) }
}

/// Moves a slab as [`moved`] does.
fn move_slab(slab: &SnapshotSlab, seconds: f32, halo: [usize; 2], later: &mut SnapshotSlab) {
    let (part, [from, to]) = (slab.part(), slab.own());
    let plane = part.whole.dims.nx * part.whole.dims.ny;
    let own = |cells: [usize; 2], first: usize| cells.map(|k| (k - first) * plane);
    later.load(without_smoke(part.whole, seconds), [from, to], halo, |_, smoke| match slab.motion() {
        None => {
            let [start, end] = own([from, to], part.first);
            smoke.copy_from_slice(&part.planes.smoke[start..end]);
        }
        Some(motion) => {
            let (planes, velocity) = motion.cells();
            let [start, end] = own([from, to], planes[0]);
            advected(&part, ([from, to], &velocity[start..end]), seconds, smoke);
        }
    });
}

/// Returns the box and the solids of `snapshot` some seconds later.
fn without_smoke(snapshot: &Snapshot, seconds: f32) -> Snapshot {
    let turned = |solid: &SolidPose| {
        let turn = UnitQuaternion::from_scaled_axis(Vector3::from(solid.spin) * seconds);
        let [x, y, z, w] = solid.rotation;
        let turned = turn * UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z));
        let position = [0, 1, 2].map(|a| solid.position[a] + seconds * solid.velocity[a]);
        SolidPose { position, rotation: turned.coords.into(), ..solid.clone() }
    };
    Snapshot {
        time: snapshot.time + f64::from(seconds),
        bricks: Bricks::empty(snapshot.dims),
        smoke: Vec::new(),
        velocity: Vec::new(),
        solids: snapshot.solids.iter().map(turned).collect(),
        stats: snapshot.stats.clone(),
        beside: None,
        ..*snapshot
    }
}

/// Advects the smoke in the planes `from..to`: samples it at the departure point of each cell, some seconds
/// upstream.
fn advected(
    part: &Part,
    ([from, to], velocity): ([usize; 2], &[[f16; 4]]),
    seconds: f32,
    out: &mut [[f16; 4]],
) {
    let (smoke, dims, h) = (Volume::of_part(part, &part.planes.smoke), part.whole.dims, part.whole.h);
    assert_eq!(out.len(), dims.nx * dims.ny * (to - from), "no room for these planes");
    out.par_iter_mut().zip(velocity).enumerate().for_each(|(n, (out, velocity))| {
        let at = dims.place(n + from * dims.nx * dims.ny);
        let from = [0, 1, 2].map(|a| (at[a] as f32 + 0.5) * h - seconds * velocity[a].to_f32());
        *out = smoke.sample(from).map(f16::from_f32);
    });
}

impl LinearImage {
    /// Returns the mean of pictures of one size, or the first error. Depth is that of the middle one.
    ///
    /// # Panics
    /// If there are no pictures.
    pub fn mean<E>(pictures: impl ExactSizeIterator<Item = Result<Self, E>>) -> Result<Self, E> {
        let count = pictures.len();
        let mut mean: Option<Self> = None;
        for (n, picture) in pictures.enumerate() {
            let picture = picture?;
            let Some(mean) = &mut mean else {
                mean = Some(picture);
                continue;
            };
            let weight = 1.0 / (n + 1) as f32;
            let pixels = mean.rgba.as_flattened_mut().par_iter_mut().zip(picture.rgba.as_flattened());
            pixels.for_each(|(mean, x)| *mean += weight * (x - *mean));
            if n == count / 2 {
                mean.depth = picture.depth;
            }
        }
        Ok(mean.expect("at least one picture"))
    }

    /// Converts the picture to bytes, over the background of a view.
    pub fn present(&self, view: &View) -> Image {
        self.present_moved(view, &[*view.camera])
    }

    /// Converts the picture to bytes, over the background that a camera sees as it moves: the mean over those of [`cameras`].
    pub fn present_moved(&self, view: &View, cameras: &[Camera]) -> Image {
        let size = [self.width, self.height];
        let passes = Quality::of_file(view.camera).passes.div_ceil(cameras.len().max(1) as u32);
        let frames = cameras
            .iter()
            .zip(0..)
            .flat_map(|(camera, n)| (0..passes).map(move |number| (*camera, n * passes + number)));
        let (width, background) = (self.width as usize, Background::of_frames(view, size, frames));
        let mut bytes = vec![[0; 4]; self.rgba.len()];
        let rows = bytes.par_chunks_mut(width).rev().zip(self.rgba.par_chunks(width).rev());
        rows.enumerate().for_each(|(y, (bytes, pixels))| {
            let pixels: Vec<[f32; 4]> =
                pixels.iter().map(|&[r, g, b, alpha]| [r, g, b, 1.0 - alpha]).collect();
            background.row(y, &pixels, bytes);
        });
        Image { width: self.width, height: self.height, rgba: bytes.into_flattened() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::grid::Dims;
    use crate::look::{Environment, Look, Sphere};
    use crate::render::{CpuRenderer, Mode};
    use crate::solver::{Shape, Solid};

    /// Makes a block of smoke that moves to the right.
    fn block(speed: f32) -> Snapshot {
        let mut snapshot = Snapshot::from_fn(Dims::new([32, 16, 16]).unwrap(), 0.1, |[x, y, z]| {
            let inside = (0.8..1.6).contains(&x) && (y - 0.8).abs() < 0.4 && (z - 0.8).abs() < 0.4;
            if inside { [2.0, 0.0, 0.0, 50.0] } else { [0.0; 4] }
        });
        snapshot.velocity = vec![[speed, 0.0, 0.0, 0.0].map(f16::from_f32); snapshot.smoke.len()];
        snapshot
    }

    /// Returns the distance of the smoke's centroid from the left side \[m\].
    fn centroid(snapshot: &Snapshot) -> f32 {
        let mut sums = [0.0; 2];
        for (n, cell) in snapshot.smoke.iter().enumerate() {
            let density = cell[0].to_f32();
            sums[0] += density;
            sums[1] += density * ((n % snapshot.dims.nx) as f32 + 0.5) * snapshot.h;
        }
        sums[1] / sums[0]
    }

    #[test]
    fn smoke_and_solids_are_where_they_will_be() {
        let mut snapshot = block(3.0);
        let mut solid = Solid::new(Shape::Box { size: [0.2, 0.1, 0.1] }, [1.0, 0.5, 0.5]).pose(0.0, 0.01);
        solid.velocity = [0.0, 2.0, 0.0];
        solid.spin = [0.0, 0.0, std::f32::consts::PI];
        snapshot.solids = vec![solid];
        let later = moved(&snapshot, 0.25);
        assert!((centroid(&later) - centroid(&snapshot) - 0.75).abs() < 1e-3, "{}", centroid(&later));
        assert_eq!(later.bricks.max, Bricks::of(later.dims, &later.smoke).max);
        let earlier = moved(&snapshot, -0.25);
        assert!((centroid(&earlier) - centroid(&snapshot) + 0.75).abs() < 1e-3);
        let [before, after] = [&snapshot, &later].map(|snapshot| &snapshot.solids[0]);
        assert_eq!(after.position, [1.0, 1.0, 0.5]);
        // An eighth of a turn, so that the long half of the box points up and to the right.
        let tip = |solid: &SolidPose, direction: [f32; 2]| {
            solid.distance(
                [0, 1, 2].map(|a| solid.position[a] + if a < 2 { 0.095 * direction[a] } else { 0.0 }),
            )
        };
        let half = std::f32::consts::FRAC_1_SQRT_2;
        assert!(tip(before, [1.0, 0.0]) < 0.0 && tip(before, [half, half]) > 0.0);
        assert!(tip(after, [half, half]) < 0.0 && tip(after, [1.0, 0.0]) > 0.0);
    }

    /// A lens and a moving camera once left an environment behind all sharp.
    #[test]
    fn an_environment_is_blurred_as_all_else() {
        let (width, height) = (64, 32);
        let mut texels = vec![[0.1; 3]; width * height];
        texels[16 * width + 32] = [1.0; 3];
        let sphere = Sphere::new(width, height, texels).map(Arc::new);
        let environment = Environment { sphere, ..Environment::default() };
        let look = Look { environment, outline: false, floor: None, ..Look::default() };
        let snapshot = Snapshot::empty(Dims::new([8; 3]).unwrap(), 0.1);
        let sharp = Camera::at([0.4, 0.4, 3.0], [0.4, 0.4, 0.4], 40.0);
        let mut open = sharp;
        (open.lens.aperture, open.lens.focus) = (0.5, 2.0);
        let brightest = |camera: Camera, cameras: &[Camera]| {
            let view = View { look: &look, camera: &camera, cursor: None, mode: Mode::Smoke };
            let mut renderer = CpuRenderer::new();
            renderer.set_quality(Quality::of_file(&camera));
            let file = renderer.render(&snapshot, &view, [48, 32], &|_| ()).unwrap().rgba;
            let linear = renderer.render_linear(&snapshot, &view, [48, 32], &|_| ()).unwrap();
            let moved = linear.present_moved(&view, cameras).rgba;
            [file, moved].map(|rgba| rgba.chunks(4).map(|pixel| pixel[1]).max().unwrap())
        };
        let turned = |n: usize| Camera { target: [0.4 + 0.1 * n as f32, 0.4, 0.4], ..sharp };
        let moving: Vec<Camera> = (0..25).map(turned).collect();
        let [[a, b], [blurred, also], [_, panned]] =
            [(sharp, &[sharp][..]), (open, &[open][..]), (sharp, &moving)]
                .map(|(one, all)| brightest(one, all));
        assert!(a == b && blurred.abs_diff(also) <= 1, "{a} {b} {blurred} {also}");
        assert!(blurred < a - 20 && panned < a - 20, "{a}, through the lens {blurred}, panned {panned}");
    }

    #[test]
    fn instants_lie_evenly_around_the_frame_and_are_a_cell_apart() {
        let all = instants(&block(3.0), 0.2, false);
        assert_eq!(all.len(), 7);
        assert!((all.iter().sum::<f32>()).abs() < 1e-6 && all.windows(2).all(|w| w[1] - w[0] < 0.0334));
        assert_eq!(instants(&block(0.0), 0.2, false), [0.0]);
        assert_eq!(instants(&block(0.0), 0.2, true).len(), OF_MOVING_CAMERA);
        assert_eq!(instants(&block(1e3), 0.2, false).len(), MOST);
    }
}
