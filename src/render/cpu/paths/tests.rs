//! Glow traced from the smoke against paths from the eye alone, which find it by chance.

use rayon::prelude::*;

use super::*;
use crate::grid::Dims;
use crate::look::{Camera, CameraProjection, Lens};
use crate::render::camera::Axes;
use crate::render::light::LightVolume;
use crate::render::preshaded::Cells;
use crate::render::{Mode, Quality, View};
use crate::snapshot::{Snapshot, SolidShape};

const SIZE: [u32; 2] = [24, 18];

/// Returns a ball that glows, under scattering smoke and beside a ball with a coat.
fn scene(radius: f32) -> Snapshot {
    let h = 1.0 / 24.0;
    let mut snapshot = Snapshot::from_fn(Dims::new([24; 3]).unwrap(), h, |p| {
        let ball = |middle: [f32; 3], radius: f32| {
            let away = (0..3).map(|a| (p[a] - middle[a]).powi(2)).sum::<f32>().sqrt();
            (0.5 - (away - radius) / (2.0 * h)).clamp(0.0, 1.0)
        };
        let hot = ball([0.4, 0.3, 0.5], radius);
        [hot, 0.6 * ball([0.45, 0.7, 0.5], 0.2), 0.0, 100.0 * hot]
    });
    let ball = crate::solver::Solid::new(SolidShape::Sphere { radius: 0.12 }, [0.8, 0.15, 0.5]);
    snapshot.solids = vec![ball.pose(0.0, 0.0)];
    snapshot
}

fn dark() -> Look {
    Look {
        sun: [0.0; 3],
        sky: [0.0; 3],
        ground: [0.0; 3],
        floor: Some([0.5; 3]),
        colors: [[0.6, 0.5, 0.4], [0.9; 3], [0.0; 3]],
        glow: 4.0,
        glow_heat: 100.0,
        extinction: 20.0,
        anisotropy: 0.4,
        solids: vec![[0.7, 0.4, 0.4]],
        roughness: vec![0.4],
        ..Look::default()
    }
}

fn camera() -> Camera {
    Camera { position: [0.5, 0.9, 2.6], target: [0.5, 0.4, 0.5], fov: 40.0, ..Camera::framing([1.0; 3]) }
}

/// A way to see the scene.
struct Case {
    camera: Camera,
    splines: bool,
    orders: u32,
}

impl Case {
    /// Calls `use_it` with a tracer.
    fn with_tracer<T>(&self, snapshot: &Snapshot, look: &Look, use_it: impl FnOnce(&Tracer) -> T) -> T {
        let (mut light, mut cells) = (LightVolume::default(), Cells::default());
        light.bake(snapshot, look);
        cells.gather(snapshot);
        let medium = crate::render::medium::Medium::of(look, snapshot.extent());
        let (mut texels, eye) = (Vec::new(), Axes::of(&self.camera, 1.0).eye.into());
        light.towards(eye, &medium, self.splines, &mut texels);
        let volume = crate::render::sampled_volume::Volume::of_light(&light, &texels);
        let view = View { look, camera: &self.camera, cursor: None, mode: Mode::Smoke };
        let quality = Quality { splines: self.splines, ..Quality::FINAL };
        let smoke = Smoke::new(snapshot, &cells, &volume, &view, &quality);
        use_it(&Tracer::new(&smoke, light.solids(), look, self.orders, 0.0))
    }

    /// Returns the picture of a number of paths, the `number`th of several with independent noise. The glow is traced
    /// from the smoke or left to the paths.
    fn picture(&self, tracer: &Tracer, number: u32, paths: u32, traces: bool) -> Vec<[f32; 3]> {
        let axes = Axes::of(&self.camera, SIZE[0] as f32 / SIZE[1] as f32).through_lens(&self.camera, number);
        let glow = traces.then(|| tracer.trace_glow(&axes, SIZE, number, paths).unwrap());
        let path = |pixel: [u32; 2], n: u32| {
            // Particles are weighed by a box over the pixel, so the rays are spread over it.
            let aside = crate::render::noise::spread(n % 1024);
            let ray = axes.ray([0, 1].map(|a| (pixel[a] as f32 + 0.5 + aside[a]) / SIZE[a] as f32));
            let first = tracer.surface(&ray);
            let (t_max, shown) = first.map_or((FAR, 0.0), |(t, _, shown)| (t, shown));
            let smoke = tracer.smoke_path(pixel, &ray, t_max, glow.as_ref(), n);
            let surface = tracer.first_surface(&ray);
            let behind = surface
                .map_or([0.0; 3], |surface| tracer.surface_path(pixel, (&ray, surface), glow.as_ref(), n));
            Vector3::from_fn(|c, _| smoke[c] + smoke[3] * shown * behind[c])
        };
        let pixel = |n: u32| {
            let range = number * paths..(number + 1) * paths;
            let sum: Vector3<f32> =
                range.map(|path_number| path([n % SIZE[0], n / SIZE[0]], path_number)).sum();
            let splats = glow.as_ref().map_or([0.0; 3], |glow| glow.splats[n as usize]);
            std::array::from_fn(|c| sum[c] / paths as f32 + splats[c])
        };
        (0..SIZE[0] * SIZE[1]).into_par_iter().map(pixel).collect()
    }

    /// Returns the means over blocks of pixels of several pictures.
    fn blocks(&self, tracer: &Tracer, paths: u32, traces: bool) -> Vec<Vec<f32>> {
        const EDGE: u32 = 6;
        let across = SIZE[0] / EDGE;
        let means = |picture: Vec<[f32; 3]>| {
            let mut sums = vec![0.0; (across * SIZE[1] / EDGE) as usize];
            for (n, pixel) in picture.iter().enumerate() {
                let [x, y] = [n as u32 % SIZE[0] / EDGE, n as u32 / SIZE[0] / EDGE];
                sums[(x + across * y) as usize] += pixel.iter().sum::<f32>() / (3 * EDGE * EDGE) as f32;
            }
            sums
        };
        (0..8).map(|number| means(self.picture(tracer, number, paths, traces))).collect()
    }
}

/// Returns mean and standard error of one block over pictures.
fn of_block(pictures: &[Vec<f32>], block: usize) -> [f32; 2] {
    let count = pictures.len() as f32;
    let mean = pictures.iter().map(|picture| picture[block]).sum::<f32>() / count;
    let squares: f32 = pictures.iter().map(|picture| (picture[block] - mean).powi(2)).sum();
    [mean, (squares / (count * (count - 1.0))).sqrt()]
}

/// Rounding once undid the step into the next brick, without end.
#[test]
fn paths_of_an_eye_far_away_end() {
    let eye = [2000.0, 1500.0, 1800.0];
    let case = Case { camera: Camera { position: eye, fov: 1.0, ..camera() }, splines: false, orders: 3 };
    let snapshot = scene(0.16);
    let picture = case.with_tracer(&snapshot, &dark(), |tracer| case.picture(tracer, 0, 16, false));
    assert_eq!(picture.len() as u32, SIZE[0] * SIZE[1]);
}

/// Particles, lights and paths from the eye together find all glow once.
#[test]
fn traced_glow_is_that_of_paths_from_the_eye() {
    let cases = [
        (
            "splines behind a lens",
            Case {
                camera: Camera { lens: Lens { aperture: 0.2, ..camera().lens }, ..camera() },
                splines: true,
                orders: u32::MAX,
            },
        ),
        (
            "few scatterings, orthographic",
            Case {
                camera: Camera { projection: CameraProjection::Orthographic, ..camera() },
                splines: false,
                orders: 3,
            },
        ),
        (
            "an eye inside",
            Case {
                camera: Camera { position: [0.9, 0.6, 0.9], fov: 70.0, ..camera() },
                splines: false,
                orders: u32::MAX,
            },
        ),
    ];
    let snapshot = scene(0.16);
    for (name, case) in cases {
        let [paths, traced] = case.with_tracer(&snapshot, &dark(), |tracer| {
            [false, true].map(|traces| case.blocks(tracer, 256, traces))
        });
        let (mut all, mut errors) = ([0.0; 2], [0.0; 2]);
        for block in 0..paths[0].len() {
            let [a, b] = [&paths, &traced].map(|pictures| of_block(pictures, block));
            let allowed = 5.0 * (a[1] + b[1]) + 0.01 * a[0];
            println!("{name}, block {block}: {:.5} ± {:.5}, traced {:.5} ± {:.5}", a[0], a[1], b[0], b[1]);
            assert!((a[0] - b[0]).abs() <= allowed, "{name}, block {block}: {a:?}, traced {b:?}");
            (all[0], all[1]) = (all[0] + a[0], all[1] + b[0]);
            (errors[0], errors[1]) = (errors[0] + a[1].powi(2), errors[1] + b[1].powi(2));
        }
        let apart = all[1] / all[0] - 1.0;
        let error = (errors[0] + errors[1]).sqrt() / all[0];
        println!("{name}: {apart:.4} apart, standard error {error:.4}");
        assert!(error < 0.02 && apart.abs() < 4.0 * error + 0.005, "{name}: {apart} ± {error} apart");
    }
}

/// A small ember lights floor and ball without specks, which paths from the eye alone leave.
#[test]
fn an_ember_leaves_no_specks() {
    let case = Case { camera: camera(), splines: false, orders: u32::MAX };
    let look = Look { glow: 400.0, extinction: 60.0, ..dark() };
    let specks = |traces: bool| {
        let picture = case.with_tracer(&scene(0.05), &look, |tracer| case.picture(tracer, 0, 48, traces));
        let bright = |x: u32, y: u32| picture[(y * SIZE[0] + x) as usize].iter().sum::<f32>();
        let is_speck = |x: u32, y: u32| {
            let mut around: Vec<f32> = (0..9).map(|n| bright(x + n % 3 - 1, y + n / 3 - 1)).collect();
            around.sort_by(f32::total_cmp);
            bright(x, y) > 5.0 * around[4]
        };
        // The floor before the ember, which is smooth.
        (1..6).flat_map(|y| (1..SIZE[0] - 1).map(move |x| (x, y))).filter(|&(x, y)| is_speck(x, y)).count()
    };
    let [paths, traced] = [false, true].map(specks);
    println!("{paths} specks of paths, {traced} of traced glow");
    assert!(paths > 10 && traced == 0, "{paths} specks of paths, {traced} of traced glow");
}

/// Lights and splats have the same bits whatever the number of threads.
#[test]
fn traced_glow_has_the_same_bits_on_any_number_of_threads() {
    let case = Case { camera: camera(), splines: true, orders: u32::MAX };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| case.with_tracer(&scene(0.1), &dark(), |tracer| case.picture(tracer, 1, 16, true)))
    };
    assert_eq!(on(1), on(3));
}

/// Grain once stood still over frames of the same smoke.
#[test]
fn each_instant_has_its_own_noise() {
    let mut snapshot = scene(0.1);
    let look = Look { scattering: crate::look::Scattering::Traced, paths: 4, ..dark() };
    let camera = camera();
    let mut picture = |time: f64| {
        snapshot.time = time;
        let view = View { look: &look, camera: &camera, cursor: None, mode: Mode::Smoke };
        crate::render::CpuRenderer::new().render_linear(&snapshot, &view, SIZE, &|_| ()).unwrap().rgba
    };
    let [first, again, later] = [0.5, 0.5, 0.6].map(&mut picture);
    assert!(first == again && first != later);
}

/// Depth was once that seen from the last point of the lens, 19 pixels aside.
#[test]
fn depth_through_a_lens_is_that_from_its_middle() {
    let snapshot = scene(0.0);
    let look = Look { floor: None, outline: false, ..dark() };
    let middle = |aperture: f32| {
        let mut camera = Camera::at([0.8, 0.15, 2.5], [0.8, 0.15, 0.5], 30.0);
        camera.lens = Lens { aperture, focus: 1.0, shutter: 0.0 };
        let view = View { look: &look, camera: &camera, cursor: None, mode: Mode::Smoke };
        let mut renderer = crate::render::CpuRenderer::new();
        renderer.set_quality(Quality::of_file(&camera));
        let depth = renderer.render_linear(&snapshot, &view, [48, 36], &|_| ()).unwrap().depth;
        let solid: Vec<usize> = (0..depth.len()).filter(|&n| depth[n] < 3.0).collect();
        assert!(solid.len() > 50);
        let mean =
            |of: fn(usize) -> usize| solid.iter().map(|&n| of(n)).sum::<usize>() as f32 / solid.len() as f32;
        [mean(|n| n % 48), mean(|n| n / 48)]
    };
    let [sharp, open] = [0.0, 0.1].map(middle);
    assert!((0..2).all(|a| (sharp[a] - open[a]).abs() < 0.05), "{sharp:?}, through the lens {open:?}");
}
