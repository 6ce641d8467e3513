//! Compares pictures with closed forms of radiative transfer, and the two renderers with each other.
//!
//! Tests that need OpenGL print a line and pass where there is none.

use std::sync::Arc;

use updraft::grid::Dims;
use updraft::look::{Camera, CameraProjection, Look, Scattering};
#[cfg(feature = "viewer")]
use updraft::look::{Emitter, Light};
use updraft::render::CpuRenderer;
use updraft::render::procedural::{Tint, plume, uniform};
use updraft::render::{Image, LinearImage, Mode, Quality, View};
use updraft::snapshot::{Mesh, Snapshot, SolidShape};
use updraft::solver::Solid;

const SIZE: [u32; 2] = [48, 36];

/// Returns a look of sun and smoke alone, as in the closed forms.
fn bare() -> Look {
    Look {
        colors: [[1.0; 3]; 3],
        scattering: Scattering::Single,
        sun: [0.0; 3],
        sky: [0.0; 3],
        ground: [0.0; 3],
        background: [[0.0; 3]; 2],
        floor: None,
        outline: false,
        fade: 0.0,
        ..Look::default()
    }
}

/// Returns a camera so far away that its rays are parallel, which looks along −z at the middle of a box of 1 m.
fn far_camera() -> Camera {
    Camera::at([0.5, 0.5, 100.0], [0.5; 3], 4.0 / 7.0)
}

fn view<'a>(look: &'a Look, camera: &'a Camera) -> View<'a> {
    View { look, camera, cursor: None, mode: Mode::Smoke }
}

fn on_cpu(snapshot: &Snapshot, look: &Look, camera: &Camera) -> LinearImage {
    CpuRenderer::new().render_linear(snapshot, &view(look, camera), SIZE, &|_| ()).unwrap()
}

/// Renders pictures by ray packets, by the plain reference and, where available, by OpenGL.
fn by_all(snapshot: &Snapshot, look: &Look, camera: &Camera) -> Vec<(&'static str, LinearImage)> {
    let (mut all, mut cpu) = (Vec::new(), CpuRenderer::new());
    for (name, reference) in [("packets", false), ("reference", true)] {
        cpu.set_reference(reference);
        all.push((name, cpu.render_linear(snapshot, &view(look, camera), SIZE, &|_| ()).unwrap()));
    }
    #[cfg(feature = "viewer")]
    if let Some(mut gl) = gl::offscreen(SIZE) {
        all.push(("GL", gl.render_linear(snapshot, &view(look, camera)).unwrap()));
    }
    all
}

/// Calls `check` with the pixel and the point where its ray meets the plane z = 0.5, for all pixels whose ray
/// passes well within the box's x and y.
fn inside(image: &LinearImage, mut check: impl FnMut([f32; 4], [f32; 2])) {
    // The height on the plane of the square of about 1 m that the far camera shows.
    let height = 2.0 * 99.5 * (far_camera().fov.to_radians() * 0.5).tan();
    let mut checked = 0;
    for (n, pixel) in image.rgba.iter().enumerate() {
        let (x, y) = (n as u32 % image.width, n as u32 / image.width);
        let scale = height / image.height as f32;
        let at = [
            0.5 + (x as f32 + 0.5 - 0.5 * image.width as f32) * scale,
            0.5 - (y as f32 + 0.5 - 0.5 * image.height as f32) * scale,
        ];
        if at.iter().all(|c| (0.01..0.99).contains(c)) {
            check(*pixel, at);
            checked += 1;
        }
    }
    assert!(checked > 1000, "only {checked} rays meet the box");
}

/// Parallel rays show the picture of a camera far away, from any start, with solids, floor, edges and cursor.
#[test]
fn an_orthographic_picture_is_that_of_a_far_camera() {
    let mut snapshot = plume(Dims::new([24, 36, 20]).unwrap(), 0.04, Tint::Sectors);
    let ball = Solid::new(SolidShape::Sphere { radius: 0.1 }, [0.7, 0.3, 0.5]);
    snapshot.solids = vec![ball.pose(0.0, 0.0)];
    let (look, target) = (Look::default(), [0.48, 0.7, 0.4]);
    let at = |distance: f32| [0.48, 0.36, 0.8].map(|x| x * distance);
    let position = |distance: f32| std::array::from_fn(|a| target[a] + at(distance)[a]);
    let fov = |distance: f32| 2.0 * (0.9 / distance).atan().to_degrees();
    let far = Camera { position: position(400.0), target, fov: fov(400.0), ..far_camera() };
    // The near camera is inside the box.
    let near = Camera { position: position(0.3), fov: fov(0.3), ..far };
    let flat = Camera { projection: CameraProjection::Orthographic, ..near };
    let perspective = on_cpu(&snapshot, &look, &near);
    let all = by_all(&snapshot, &look, &far).into_iter().zip(by_all(&snapshot, &look, &flat));
    for ((name, far), (_, flat)) in all {
        let off = |other: &LinearImage| {
            let pairs = other.rgba.as_flattened().iter().zip(far.rgba.as_flattened());
            pairs.map(|(a, b)| (a - b).abs()).sum::<f32>() / far.rgba.len() as f32
        };
        assert!(off(&flat) < 0.01, "{name}: {}", off(&flat));
        assert!(off(&perspective) > 0.1, "the near camera sees something else: {}", off(&perspective));
        // Depth counts from the camera, not from the start of its rays.
        let middle = flat.depth[flat.depth.len() / 2 + flat.width as usize / 2];
        assert!(middle < 3.0, "{name}: {middle} m");
    }
}

fn cube(cells: usize) -> Snapshot {
    uniform(Dims::new([cells; 3]).unwrap(), 1.0 / cells as f32, [0.5, 0.25, 0.25, 0.0])
}

fn near(what: &str, got: f32, want: f32, within: f32) {
    assert!((got - want).abs() <= within * want.abs(), "{what}: {got}, not {want}");
}

/// A uniform slab has the transmittance e^(−σd), at any step size.
#[test]
fn a_slab_dims_by_beer_and_lambert() {
    for samples in [0.05, 0.3, 1.0, 3.0] {
        let look = Look { extinction: 3.0, samples, ..bare() };
        for (name, image) in by_all(&cube(16), &look, &far_camera()) {
            inside(&image, |pixel, at| {
                near(
                    &format!("{name}, {samples} samples, at {at:?}"),
                    1.0 - pixel[3],
                    (-3.0_f32).exp(),
                    2e-3,
                );
            });
        }
    }
}

/// A density that grows linearly along the ray has the optical depth a l + b l²/2.
#[test]
fn a_ramp_dims_by_its_integral() {
    let dims = Dims::new([8, 8, 32]).unwrap();
    let mut snapshot = Snapshot::empty(dims, 1.0 / 32.0);
    for (n, cell) in snapshot.smoke.iter_mut().enumerate() {
        let z = (n / 64) as f32 + 0.5;
        cell[1] = half::f16::from_f32(0.5 + 2.0 * z / 32.0);
    }
    snapshot.bricks.update(dims, &snapshot.smoke);
    // The camera shows a quarter of the cube's height and width.
    let camera = Camera { position: [0.125, 0.125, 100.0], target: [0.125, 0.125, 0.5], ..far_camera() };
    let look = Look { extinction: 1.3, ..bare() };
    for (name, image) in by_all(&snapshot, &look, &camera) {
        let middle = image.rgba[(image.rgba.len() + image.width as usize) / 2];
        near(name, 1.0 - middle[3], (-1.3_f32 * 1.5).exp(), 2e-3);
    }
}

/// Light across the ray at depth d gives L = σ p E e^(−σ d) (1 − e^(−σ l)) / σ, pixel by pixel.
#[test]
fn a_cube_lit_from_the_side_matches_the_closed_form() {
    let (sigma, g, irradiance) = (2.0, 0.4, [3.0, 2.0, 1.0]);
    let phase = (1.0 - g * g) / (4.0 * std::f32::consts::PI * (1.0_f32 + g * g).powf(1.5));
    for sun_direction in [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]] {
        let look = Look { extinction: sigma, anisotropy: g, sun: irradiance, sun_direction, ..bare() };
        for (name, image) in by_all(&cube(32), &look, &far_camera()) {
            inside(&image, |pixel, at| {
                let way = |c: usize| if sun_direction[c] > 0.0 { 1.0 - at[c] } else { at[c] };
                let d = way(usize::from(sun_direction[0] == 0.0));
                let want = phase * (-sigma * d).exp() * (1.0 - (-sigma).exp());
                for c in 0..3 {
                    near(
                        &format!("{name}, sun {sun_direction:?}, at {at:?}"),
                        pixel[c],
                        irradiance[c] * want,
                        0.01,
                    );
                }
            });
        }
    }
}

/// With light from behind every path is as long as the cube: L = σ p(0) E l e^(−σ l).
#[test]
fn a_cube_lit_from_behind_matches_the_closed_form() {
    let (sigma, g) = (2.5_f32, 0.3_f32);
    let phase = (1.0 - g * g) / (4.0 * std::f32::consts::PI * (1.0 - g).powi(3));
    let look =
        Look { extinction: sigma, anisotropy: g, sun: [1.0; 3], sun_direction: [0.0, 0.0, -1.0], ..bare() };
    for (name, image) in by_all(&cube(32), &look, &far_camera()) {
        inside(&image, |pixel, at| {
            near(&format!("{name} at {at:?}"), pixel[0], sigma * phase * (-sigma).exp(), 0.01);
        });
    }
}

/// Hot opaque smoke emits as a black body: orange, with the given luminance, and less when cooler.
#[test]
fn heat_glows() {
    let hot = |heat| uniform(Dims::new([16; 3]).unwrap(), 1.0 / 16.0, [0.5, 0.25, 0.25, heat]);
    // The smoke is black, since white smoke would also scatter its own glow.
    let look = Look { colors: [[0.0; 3]; 3], extinction: 3.0, glow: 2.0, glow_heat: 100.0, ..bare() };
    let full = by_all(&hot(100.0), &look, &far_camera());
    let cool = by_all(&hot(60.0), &look, &far_camera());
    for ((name, full), (_, cool)) in full.iter().zip(&cool) {
        let middle = (full.rgba.len() + full.width as usize) / 2;
        let ([r, g, b, _], [cool, ..]) = (full.rgba[middle], cool.rgba[middle]);
        near(name, 0.2126 * r + 0.7152 * g + 0.0722 * b, 2.0 * (1.0 - (-3.0_f32).exp()), 0.01);
        assert!(r > 1.5 * g && g > 3.0 * b, "{name}: {r} {g} {b}");
        near(name, cool / r, (-23_587.0_f32 * (1.0 / 1200.0 - 1.0 / 2000.0)).exp(), 0.02);
    }
}

/// The shadow of a large sun has a softer edge than that of a small one.
#[test]
fn a_large_sun_casts_soft_shadows() {
    let dims = Dims::new([64; 3]).unwrap();
    let mut snapshot = Snapshot::empty(dims, 1.0 / 64.0);
    for (n, cell) in snapshot.smoke.iter_mut().enumerate() {
        let (x, y) = (n % 64, n / 64 % 64);
        cell[0] = half::f16::from_f32(if x < 32 && y >= 56 { 100.0 } else { 0.0 });
    }
    snapshot.bricks.update(dims, &snapshot.smoke);
    let lit = |sun_size| {
        let look =
            Look { extinction: 1.0, sun_direction: [0.0, 1.0, 0.0], sun_size, light_scale: 1.0, ..bare() };
        let mut light = updraft::render::light::LightVolume::default();
        light.bake(&snapshot, &look);
        move |x: f32| (-light.depth_to_sun([x, 0.1, 0.5])).exp()
    };
    let (small, large) = (lit(0.5), lit(20.0));
    assert!(small(0.46) < 0.05 && small(0.54) > 0.95, "{} {}", small(0.46), small(0.54));
    assert!(large(0.46) > 0.1 && large(0.54) < 0.9, "{} {}", large(0.46), large(0.54));
    assert!(large(0.2) < 0.01 && large(0.8) > 0.99);
}

/// Smoke that absorbs nothing, in uniform light from everywhere, is invisible: each light path carries
/// exactly this light.
#[test]
fn a_white_furnace_stays_uniform() {
    let snapshot = plume(Dims::new([24, 32, 24]).unwrap(), 0.03, Tint::Sectors);
    let look = Look {
        scattering: Scattering::Traced,
        paths: 4,
        anisotropy: 0.5,
        sky: [0.7; 3],
        ground: [0.7; 3],
        ..bare()
    };
    let image = on_cpu(&snapshot, &look, &Camera::framing(snapshot.extent()));
    assert!(image.rgba.iter().any(|p| p[3] > 0.9), "there is smoke in the picture");
    for [r, g, b, alpha] in image.rgba {
        for x in [r, g, b] {
            assert!((x - 0.7 * alpha).abs() < 1e-4, "{x} is not 0.7 × {alpha}");
        }
    }
}

/// Returns a pyramid around the origin, 0.4 m high on a base of 0.4 m.
fn pyramid() -> Arc<Mesh> {
    let corners =
        vec![[-0.2, -0.2, -0.2], [0.2, -0.2, -0.2], [0.2, -0.2, 0.2], [-0.2, -0.2, 0.2], [0.0, 0.2, 0.0]];
    let triangles = vec![[0, 1, 2], [0, 2, 3], [0, 4, 1], [1, 4, 2], [2, 4, 3], [3, 4, 0]];
    Arc::new(Mesh::new(corners, triangles).unwrap())
}

/// A mesh is rendered in its position. Seen over an edge the pyramid is a triangle, dark on the side that the
/// sun does not reach.
#[test]
fn a_mesh_is_seen_where_it_stands() {
    let mut snapshot = Snapshot::empty(Dims::new([16; 3]).unwrap(), 1.0 / 16.0);
    let solid = Solid {
        rotation: Solid::turn([0.0, 45.0, 0.0]),
        ..Solid::new(SolidShape::Mesh(pyramid()), [0.5; 3])
    };
    snapshot.solids = vec![solid.pose(0.0, 0.0)];
    let look = Look { sun: [3.0; 3], sun_direction: [1.0, 0.0, 0.0], light_scale: 1.0, ..bare() };
    for (name, image) in by_all(&snapshot, &look, &far_camera()) {
        inside(&image, |[light, .., alpha], [x, y]| {
            // The distance within the outline, which the nodes round off by less than a centimetre.
            let within = 0.5 * 2.0_f32.sqrt() * (0.7 - y) - (x - 0.5).abs();
            let within = within.min(y - 0.3);
            if within.abs() > 0.02 {
                assert_eq!(alpha, f32::from(within > 0.0), "{name} at {x}, {y}");
            }
            assert!(x > 0.48 || light < 0.02, "{name}: the side away from the sun is lit at {x}, {y}");
            assert!(
                within < 0.03 || x < 0.52 || light > 0.05,
                "{name}: the side to the sun is dark at {x}, {y}"
            );
        });
    }
}

/// A white ball and a white floor in the same furnace reflect its light unchanged.
#[test]
fn a_white_furnace_with_a_ball_stays_uniform() {
    let mut snapshot = plume(Dims::new([24, 32, 24]).unwrap(), 0.03, Tint::Even);
    let look = Look { scattering: Scattering::Traced, paths: 4, sky: [0.7; 3], ground: [0.7; 3], ..bare() };
    let look = Look { solids: vec![[1.0; 3]], floor: Some([1.0; 3]), ..look };
    let mut cpu = CpuRenderer::new();
    let ball = Solid::new(SolidShape::Sphere { radius: 0.2 }, [0.36, 0.5, 0.36]);
    snapshot.solids = vec![ball.pose(0.0, 0.0)];
    let camera = Camera { position: [0.36, 0.5, 9.0], target: [0.36, 0.5, 0.0], ..far_camera() };
    let camera = Camera { fov: 4.0, ..camera };
    let image = cpu.render_linear(&snapshot, &view(&look, &camera), SIZE, &|_| ()).unwrap();
    for [r, _, _, alpha] in &image.rgba {
        assert!((r - 0.7 * alpha).abs() < 1e-4, "{r} is not 0.7 × {alpha}");
    }
    assert!(image.depth.iter().any(|d| *d < 1e5) && image.depth.iter().any(|d| *d > 1e5));
}

/// Path tracing and ray marching agree on single scattering. In thin smoke that scatters a tenth, higher
/// orders are negligible.
#[test]
fn paths_and_march_agree_where_light_scatters_once() {
    let snapshot = plume(Dims::new([24, 32, 24]).unwrap(), 0.03, Tint::Even);
    let look = Look {
        colors: [[0.1; 3]; 3],
        extinction: 6.0,
        sun: [9.0; 3],
        sky: [0.4; 3],
        ground: [0.1; 3],
        light_scale: 1.0,
        paths: 256,
        ..bare()
    };
    let camera = Camera::framing(snapshot.extent());
    let mean = |scattering| {
        let image = on_cpu(&snapshot, &Look { scattering, ..look.clone() }, &camera);
        image.rgba.iter().map(|p| p[0]).sum::<f32>() / image.rgba.len() as f32
    };
    let (traced, marched) = (mean(Scattering::Traced), mean(Scattering::Single));
    // Double scattering adds about 3 %.
    near("mean radiance", marched, traced, 0.05);
}

/// Multiple scattering by discrete ordinates is close to path tracing.
#[test]
fn many_scatterings_come_near_light_paths() {
    let snapshot = plume(Dims::new([32, 48, 32]).unwrap(), 0.02, Tint::Even);
    let camera = Camera::framing(snapshot.extent());
    for (extinction, within) in [(4.0, 0.03), (12.0, 0.03), (24.0, 0.03), (40.0, 0.05)] {
        let mean = |scattering| {
            let look = Look {
                colors: [[0.9; 3]; 3],
                floor: None,
                outline: false,
                extinction,
                scattering,
                paths: 48,
                ..Look::default()
            };
            let image = on_cpu(&snapshot, &look, &camera);
            image.rgba.iter().map(|p| p[1]).sum::<f32>()
        };
        let (multiple, traced) = (mean(Scattering::Multiple), mean(Scattering::Traced));
        eprintln!("extinction {extinction}: {} of the truth", multiple / traced);
        near(&format!("extinction {extinction}"), multiple, traced, within);
        assert!(mean(Scattering::Single) < 0.95 * traced, "most light is scattered more than once");
    }
}

/// Skipping empty bricks changes the picture only by the light that two steps share: after a skipped step
/// other steps form the pairs.
#[test]
fn skipping_empty_bricks_changes_no_pixel() {
    let snapshot = plume(Dims::new([40, 56, 33]).unwrap(), 0.02, Tint::Sectors);
    let (look, camera) = (Look::default(), Camera::framing(snapshot.extent()));
    let with = |bricks| {
        let mut cpu = CpuRenderer::new();
        cpu.set_quality(Quality { bricks, ..Quality::FINAL });
        cpu.render_linear(&snapshot, &view(&look, &camera), SIZE, &|_| ()).unwrap()
    };
    let (on, off) = (with(true), with(false));
    let worst = on.rgba.iter().flatten().zip(off.rgba.iter().flatten()).map(|(a, b)| (a - b).abs());
    let worst = worst.fold(0.0, f32::max);
    assert!(worst < 1e-3, "off by {worst}");
}

/// Packets of rays through the shaded volume and single rays give the same picture.
#[test]
fn packets_and_the_reference_agree() {
    let snapshot = plume(Dims::new([40, 56, 36]).unwrap(), 0.02, Tint::Sectors);
    let camera = Camera::framing(snapshot.extent());
    let (hot, soft) = (Look { glow: 3.0, ..Look::default() }, Look { extinction: 12.0, ..Look::default() });
    for (name, look) in [("default", Look::default()), ("hot", hot), ("soft", soft)] {
        let draw = |reference| {
            let mut cpu = CpuRenderer::new();
            cpu.set_reference(reference);
            cpu.render(&snapshot, &view(&look, &camera), [160, 120], &|_| ()).unwrap()
        };
        let (mean, worst) = difference(&draw(false), &draw(true));
        eprintln!("{name}: mean {mean:.3}, worst {worst} of 255");
        let within = if look.glow > 0.0 { 80 } else { 12 };
        assert!(mean < 0.4 && worst < within, "{name}: mean {mean}, worst {worst} of 255");
    }
}

/// Halving the step hardly changes the picture of a plume.
#[test]
fn halving_the_step_hardly_changes_the_picture() {
    let snapshot = plume(Dims::new([32, 48, 32]).unwrap(), 0.02, Tint::Even);
    let camera = Camera::framing(snapshot.extent());
    let at = |samples| {
        let look = Look { samples, ..Look::default() };
        CpuRenderer::new().render(&snapshot, &view(&look, &camera), SIZE, &|_| ()).unwrap()
    };
    let (mean, _) = difference(&at(1.0), &at(4.0));
    assert!(mean < 0.5, "mean difference {mean} of 255");
}

/// Returns the mean and largest difference of two pictures in bytes.
fn difference(a: &Image, b: &Image) -> (f32, u8) {
    assert_eq!((a.width, a.height), (b.width, b.height));
    let all = || a.rgba.iter().zip(&b.rgba).map(|(a, b)| a.abs_diff(*b));
    (all().map(f32::from).sum::<f32>() / a.rgba.len() as f32, all().max().unwrap_or(0))
}

#[cfg(feature = "viewer")]
#[path = "picture/in_opengl.rs"]
mod gl;
