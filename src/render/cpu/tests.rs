//! Ray packets at every level of the machine against the scalar reference.

use half::f16;

use super::reference::{Lattice, plain};
use super::*;
use crate::grid::Dims;
use crate::look::{Camera, CameraProjection, Look};
use crate::render::camera::Ray;
use crate::render::light::LightVolume;
use crate::render::medium::Medium;
use crate::render::preshaded::{Cells, Written};
use crate::render::procedural::{Tint, plume};
use crate::render::quantity::{Quantity, THICKNESS};
use crate::render::{Cursor, Mode, Slice};
use crate::simd::levels;
use crate::snapshot::SolidShape;
use crate::solver::Solid;

const SIZE: [u32; 2] = [100, 75];

fn view<'a>(look: &'a Look, camera: &'a Camera, mode: Mode) -> View<'a> {
    View { look, camera, cursor: None, mode }
}

/// Returns a look of smoke alone, the content of the march.
fn bare() -> Look {
    Look { floor: None, outline: false, ..Look::default() }
}

/// Renders one ray after the other: radiance and alpha of each pixel, rows from the top.
fn ray_by_ray(camera: &Camera, one: impl Fn(&Ray, f32) -> [f32; 4]) -> Vec<[f32; 4]> {
    let axes = Axes::of(camera, SIZE[0] as f32 / SIZE[1] as f32);
    let rows = (0..SIZE[1]).rev().flat_map(|y| (0..SIZE[0]).map(move |x| [x, y]));
    rows.map(|pixel| {
        let [r, g, b, clear] =
            one(&axes.ray_through_pixel(SIZE, pixel), noise::offset(pixel[0], pixel[1], 0));
        [r, g, b, 1.0 - clear]
    })
    .collect()
}

/// Returns the largest and the mean difference of two pictures.
fn difference(a: &[[f32; 4]], b: &[[f32; 4]]) -> [f32; 2] {
    assert_eq!(a.len(), b.len());
    let off = || a.as_flattened().iter().zip(b.as_flattened()).map(|(a, b)| (a - b).abs());
    [off().fold(0.0, f32::max), off().sum::<f32>() / (4 * a.len()) as f32]
}

/// Renders with the packets of each level and compares with `want`.
fn each_level(
    what: &str,
    snapshot: &Snapshot,
    view: &View,
    quality: Quality,
    want: &[[f32; 4]],
    within: [f32; 2],
) {
    let seen = want.iter().filter(|pixel| pixel[3] > 0.1).count();
    assert!(seen > SIZE[0] as usize * SIZE[1] as usize / 20, "{what}: only {seen} pixels show anything");
    for level in levels() {
        let mut cpu = CpuRenderer::with_token(level.token());
        cpu.set_quality(quality);
        let got = cpu.render_linear(snapshot, view, SIZE, &|_| ()).unwrap();
        let [worst, mean] = difference(&got.rgba, want);
        eprintln!("{what}, {level:?}: worst {worst:.2e}, mean {mean:.2e}");
        assert!(worst < within[0] && mean < within[1], "{what}, {level:?}: worst {worst}, mean {mean}");
    }
}

#[test]
fn packets_march_through_shaded_smoke_as_single_rays_do() {
    use CameraProjection::{Orthographic, Perspective};
    let cases = [
        ([40, 56, 36], 0.02, Perspective),
        ([33, 17, 1], 0.05, Perspective),
        ([1, 30, 23], 0.04, Perspective),
        ([33, 30, 20], 0.03, Orthographic),
    ];
    for (dims, h, projection) in cases {
        let snapshot = plume(Dims::new(dims).unwrap(), h, Tint::Sectors);
        let camera = Camera { projection, ..Camera::framing(snapshot.extent()) };
        let look = Look { glow: 1.0, ..bare() };
        let (mut light, mut cells) = (LightVolume::default(), Cells::default());
        light.bake(&snapshot, &look);
        cells.gather(&snapshot);
        let medium = Medium::of(&look, snapshot.extent());
        for (splines, bricks, samples) in [(false, true, 1.0), (false, false, 2.0), (true, true, 0.7)] {
            let quality = Quality { splines, bricks, samples, ..Quality::FINAL };
            if splines {
                let plain = std::mem::take(&mut cells);
                cells.sharpen(&plain);
            }
            let mut towards = Vec::new();
            light.towards(Axes::of(&camera, 1.0).eye.into(), &medium, splines, &mut towards);
            let towards = Volume::of_light(&light, &towards);
            let mut texels = vec![[f16::ZERO; 4]; snapshot.dims.cells()];
            let mut glow = texels.clone();
            cells.shade(&medium, &mut texels, &mut glow, &mut Written::default());
            let [shaded, glow] = [&texels, &glow].map(|texels| Volume::at_centres(&snapshot, texels));
            let dt = snapshot.h / quality.samples(&look, snapshot.dims, snapshot.h);
            let want = ray_by_ray(&camera, |ray, offset| {
                let lattice = Lattice::new(ray, snapshot.extent(), f32::MAX, offset, dt);
                plain::through_shaded([&shaded, &glow, &towards], splines, &lattice, ray, &medium)
            });
            let view = view(&look, &camera, Mode::Smoke);
            let what = format!("{dims:?}, {projection:?}, {quality:?}");
            // Parallel rays start far away, so that rounding in f32 may put a step on the other side of a
            // brick.
            let within = if projection == Perspective { [4e-3, 1e-5] } else { [3e-2, 2e-5] };
            each_level(&what, &snapshot, &view, quality, &want, within);
        }
    }
}

/// Pairs of steps share coarse light, and the picture hardly changes.
#[test]
fn packets_that_share_light_match_single_rays() {
    let snapshot = plume(Dims::new([24, 128, 24]).unwrap(), 0.01, Tint::Sectors);
    let look = Look { light_scale: 0.5, ..bare() };
    let camera = Camera::framing(snapshot.extent());
    let (mut light, mut cells) = (LightVolume::default(), Cells::default());
    light.bake(&snapshot, &look);
    cells.gather(&snapshot);
    let (mut texels, mut towards) = (vec![[f16::ZERO; 4]; snapshot.dims.cells()], Vec::new());
    let medium = Medium::of(&look, snapshot.extent());
    cells.shade(&medium, &mut texels, &mut [], &mut Written::default());
    light.towards(camera.position, &medium, false, &mut towards);
    let glow = vec![[f16::ZERO; 4]; snapshot.dims.cells()];
    let [shaded, glow] = [&texels, &glow].map(|texels| Volume::at_centres(&snapshot, texels));
    let towards = Volume::of_light(&light, &towards);
    let dt = snapshot.h / Quality::FINAL.samples(&look, snapshot.dims, snapshot.h);
    assert!(light.spacing > 1.99 * dt, "light is coarse");
    let want = ray_by_ray(&camera, |ray, offset| {
        let lattice = Lattice::new(ray, snapshot.extent(), f32::MAX, offset, dt);
        plain::through_shaded([&shaded, &glow, &towards], false, &lattice, ray, &medium)
    });
    let view = view(&look, &camera, Mode::Smoke);
    each_level("shared light", &snapshot, &view, Quality::FINAL, &want, [3e-2, 1e-3]);
}

#[test]
fn packets_march_through_a_flow_as_single_rays_do() {
    let snapshot = plume(Dims::new([40, 56, 36]).unwrap(), 0.02, Tint::Even);
    let (look, camera) = (bare(), Camera::framing(snapshot.extent()));
    let flow = Volume::at_centres(&snapshot, &snapshot.velocity);
    let longest = snapshot.extent().into_iter().fold(0.0, f32::max);
    for (mode, quantity) in [(Mode::Speed, Quantity::Speed), (Mode::Vorticity, Quantity::Vorticity)] {
        let [_, top] = Ranges::of(&snapshot).range(quantity);
        let dt = snapshot.h / Quality::FINAL.samples(&look, snapshot.dims, snapshot.h);
        let want = ray_by_ray(&camera, |ray, offset| {
            let lattice = Lattice::new(ray, snapshot.extent(), f32::MAX, offset, dt);
            plain::through_flow(&flow, mode == Mode::Vorticity, top, THICKNESS / longest, &lattice, ray)
        });
        assert!(want.iter().any(|pixel| pixel[3] > 0.3), "{mode:?} is seen");
        for level in levels() {
            let view = view(&look, &camera, mode);
            let got = CpuRenderer::with_token(level.token())
                .render_linear(&snapshot, &view, SIZE, &|_| ())
                .unwrap();
            // The legend lies over a sixth of so small a picture.
            let off = got.rgba.iter().zip(&want).map(|(a, b)| difference(&[*a], &[*b])[0]);
            let many = off.filter(|off| *off < 3e-3).count();
            assert!(many * 5 > 4 * want.len(), "{mode:?}, {level:?}: {many} pixels are right");
        }
    }
}

/// With all contents at once, all levels render the same bytes except for rounding.
#[test]
fn all_levels_render_the_same() {
    let mut snapshot = plume(Dims::new([40, 56, 36]).unwrap(), 0.02, Tint::Sectors);
    let (look, camera) = (Look::default(), Camera::framing(snapshot.extent()));
    let cursor = Cursor { center: [0.5, 0.6, 0.5], radius: 0.15, color: [0.9, 0.4, 0.1] };
    let slice = Slice { quantity: Quantity::VelocityX, ..Slice::default() };
    snapshot.solids = vec![Solid::new(SolidShape::Sphere { radius: 0.12 }, [0.6, 0.5, 0.4]).pose(0.0, 0.0)];
    for mode in [
        Mode::Smoke,
        Mode::Velocity,
        Mode::Streamlines,
        Mode::Speed,
        Mode::Vorticity,
        Mode::Slice(Slice::default()),
        Mode::Slice(slice),
    ] {
        for quality in [
            Quality { passes: 2, ..Quality::SMOOTH },
            Quality::INTERACTIVE,
            Quality { splines: true, bricks: false, ..Quality::FINAL },
        ] {
            let view = View { cursor: Some(cursor), ..view(&look, &camera, mode) };
            let images = levels().into_iter().map(|level| {
                let mut cpu = CpuRenderer::with_token(level.token());
                cpu.set_quality(quality);
                cpu.render(&snapshot, &view, SIZE, &|_| ()).unwrap()
            });
            let images: Vec<Image> = images.collect();
            for image in &images[1..] {
                let off = || image.rgba.iter().zip(&images[0].rgba).map(|(a, b)| a.abs_diff(*b));
                let few = off().filter(|off| *off > 1).count();
                assert!(few * 2000 < image.rgba.len(), "{mode:?}, {quality:?}: {few} bytes differ");
                assert!(off().max() < Some(24), "{mode:?}, {quality:?}: by {:?}", off().max());
            }
            assert!(images[0].rgba.iter().any(|byte| *byte != images[0].rgba[0]));
        }
    }
}

#[test]
fn a_snapshot_without_velocity_renders_as_smoke_and_slices_alone() {
    let mut snapshot = plume(Dims::new([12, 16, 9]).unwrap(), 0.05, Tint::Even);
    snapshot.velocity.clear();
    let (look, camera) = (Look::default(), Camera::framing(snapshot.extent()));
    let slice = Mode::Slice(Slice { quantity: Quantity::Speed, ..Slice::default() });
    for mode in [Mode::Velocity, Mode::Streamlines, Mode::Speed, Mode::Vorticity] {
        let refused = CpuRenderer::new().render(&snapshot, &view(&look, &camera, mode), SIZE, &|_| ());
        assert!(matches!(refused, Err(RenderError::NoVelocity)), "{mode:?}");
    }
    for mode in [Mode::Smoke, slice] {
        let image = CpuRenderer::new().render(&snapshot, &view(&look, &camera, mode), SIZE, &|_| ()).unwrap();
        assert_eq!(image.rgba.len(), 4 * 100 * 75);
    }
}
