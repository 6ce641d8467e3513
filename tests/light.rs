//! Compares the light of ray marching with path tracing: thin to dense smoke, with and without forward
//! scattering, dark and bright, under suns from side, back and front and under a sky alone, in three shapes.
//! `docs/light.md` has the table.
//!
//! `cargo test --release --test light -- --ignored --nocapture` prints the table for pictures of files. With
//! `LIGHT_LINEAR` set, smoke and light are interpolated linearly, as in moving pictures. With `LIGHT_TRUTH`
//! set to a folder, traced pictures are kept there and read again. `LIGHT_CASES` chooses cases by parts of
//! their names, such as "ball back 25", separated by commas. With `LIGHT_ONCE` only single scattering is
//! measured.

use std::path::PathBuf;

use updraft::grid::Dims;
use updraft::look::{Camera, CameraProjection, Emitter, Environment, Lens, Light, Look, Scattering, Sphere};
use updraft::render::procedural::{Tint, plume};
use updraft::render::{CpuRenderer, Mode, Quality, View};
use updraft::snapshot::Snapshot;

const CELLS: usize = 64;
const SIZE: u32 = 64;
/// Edge of the blocks over which local errors are taken \[pixels\].
const BLOCK: u32 = 4;
/// Albedo of the smoke in red, green and blue: three cases in one picture. Blue absorbs nothing.
const ALBEDO: [f32; 3] = [0.9, 0.99, 1.0];

const SHAPES: [&str; 3] = ["ball", "plume", "slab"];
const LIGHTS: [&str; 4] = ["side", "back", "front", "sky"];

/// A picture to compare.
#[derive(Clone, Copy, Debug)]
struct Case {
    shape: &'static str,
    light: &'static str,
    extinction: f32,
    g: f32,
}

/// The mean of a picture over that of the reference, and the RMS of the difference of blocks over the mean of
/// the reference.
#[derive(Clone, Copy, Debug)]
struct Deviation {
    mean: f32,
    local: f32,
}

impl Deviation {
    /// Asserts bounds of the mean's distance from 1 and of the local errors.
    #[track_caller]
    fn within(self, what: &str, mean: f32, local: f32) {
        println!("{what}: {:.3}, {:.3}", self.mean, self.local);
        assert!((self.mean - 1.0).abs() < mean && self.local < local, "{what}: {self:?}");
    }
}

fn shape(name: &str) -> Snapshot {
    let (dims, h) = (Dims::new([CELLS; 3]).unwrap(), 1.0 / CELLS as f32);
    // Density falls to 0 over the width of a cell.
    let inside = |distance: f32| (0.5 - distance / h).clamp(0.0, 1.0);
    let solid = |distance: &(dyn Fn([f32; 3]) -> f32 + Sync)| {
        Snapshot::from_fn(dims, h, |p| {
            let density = inside(distance(p.map(|x| x - 0.5))) / 3.0;
            [density, density, density, 0.0]
        })
    };
    match name {
        "ball" => solid(&|p| (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt() - 0.3),
        "slab" => solid(&|p| (p[0].abs() - 0.35).max(p[1].abs() - 0.15).max(p[2].abs() - 0.25)),
        _ => plume(dims, h, Tint::Even),
    }
}

fn look(case: Case) -> Look {
    let black = Look {
        colors: [ALBEDO; 3],
        extinction: case.extinction,
        anisotropy: case.g,
        fade: 0.0,
        sun: [3.0; 3],
        sky: [0.0; 3],
        ground: [0.0; 3],
        floor: None,
        outline: false,
        paths: 32,
        ..Look::default()
    };
    match case.light {
        "side" => Look { sun_direction: [0.9, 0.3, 0.3], ..black },
        "back" => Look { sun_direction: [0.1, 0.2, -1.0], ..black },
        "front" => Look { sun_direction: [0.2, 0.3, 1.0], ..black },
        "sky" => Look { sun: [0.0; 3], sky: [1.0; 3], ground: [0.3; 3], ..black },
        _ => Look { sun: [0.0; 3], sky: [1.0; 3], ground: [1.0; 3], ..black },
    }
}

fn camera() -> Camera {
    Camera {
        position: [0.5, 0.7, 3.5],
        target: [0.5, 0.5, 0.5],
        up: [0.0, 1.0, 0.0],
        fov: 17.0,
        projection: CameraProjection::Perspective,
        lens: Lens::default(),
    }
}

/// Renders a picture: the radiance of each pixel, and alpha.
fn picture(renderer: &mut CpuRenderer, snapshot: &Snapshot, look: &Look) -> Vec<[f32; 4]> {
    let camera = camera();
    let view = View { look, camera: &camera, cursor: None, mode: Mode::Smoke };
    renderer.render_linear(snapshot, &view, [SIZE; 2], &|_| ()).unwrap().rgba
}

/// Returns a renderer that interpolates smoke and light by splines, as for files, or linearly.
fn renderer(splines: bool) -> CpuRenderer {
    let mut renderer = CpuRenderer::new();
    renderer.set_quality(Quality { splines, fine_light: splines, ..Quality::FINAL });
    renderer
}

/// Returns two traced pictures with independent noise. The halves of a picture twice as wide would share
/// their seeds, so the second one is of the next frame.
fn truth(snapshot: &Snapshot, case: Case, splines: bool, orders: u32, paths: u32) -> [Vec<[f32; 4]>; 2] {
    let Case { shape, light, extinction, g } = case;
    let name = format!("{shape}-{light}-{extinction}-{g}-{splines}-{orders}-{paths}");
    let kept = std::env::var_os("LIGHT_TRUTH").map(|folder| PathBuf::from(folder).join(name));
    if let Some(bytes) = kept.as_ref().and_then(|path| std::fs::read(path).ok()) {
        let floats = bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap()));
        let all: Vec<[f32; 4]> = floats.collect::<Vec<_>>().as_chunks::<4>().0.to_vec();
        let (one, other) = all.split_at(all.len() / 2);
        return [one.to_vec(), other.to_vec()];
    }
    let mut renderer = renderer(splines);
    renderer.set_orders(orders);
    let [one, other] = two_traced(&mut renderer, snapshot, &look(case), paths);
    if let Some(path) = kept {
        let all = [one.as_slice(), &other].concat();
        std::fs::write(path, bytemuck::cast_slice::<[f32; 4], u8>(&all)).unwrap();
    }
    [one, other]
}

fn two_traced(
    renderer: &mut CpuRenderer,
    snapshot: &Snapshot,
    look: &Look,
    paths: u32,
) -> [Vec<[f32; 4]>; 2] {
    let traced = |paths| Look { scattering: Scattering::Traced, paths, ..look.clone() };
    // A picture of 2 n paths begins with the n paths of the first one.
    let one = picture(renderer, snapshot, &traced(paths));
    let both = picture(renderer, snapshot, &traced(2 * paths));
    let other =
        one.iter().zip(&both).map(|(one, both)| std::array::from_fn(|c| 2.0 * both[c] - one[c])).collect();
    [one, other]
}

/// Compares one channel of a picture with two independent estimates of the truth. The product of the two differences
/// has no noise in the mean.
fn compare(marched: &[[f32; 4]], [one, other]: &[Vec<[f32; 4]>; 2], channel: usize) -> Deviation {
    let blocks = |image: &[[f32; 4]]| -> Vec<f64> {
        let across = SIZE / BLOCK;
        let mut sums = vec![0.0; (across * across) as usize];
        for (n, pixel) in image.iter().enumerate() {
            let [x, y] = [n as u32 % SIZE / BLOCK, n as u32 / SIZE / BLOCK];
            sums[(x + across * y) as usize] += f64::from(pixel[channel]);
        }
        sums
    };
    let covered = blocks_with_smoke(one);
    let [marched, one, other] = [marched, one, other].map(blocks);
    let (mut sum, mut true_sum, mut squares) = (0.0, 0.0, 0.0);
    for n in covered.iter().copied() {
        sum += marched[n];
        true_sum += 0.5 * (one[n] + other[n]);
        squares += (marched[n] - one[n]) * (marched[n] - other[n]);
    }
    let mean = true_sum / covered.len() as f64;
    Deviation {
        mean: (sum / true_sum) as f32,
        local: ((squares / covered.len() as f64).max(0.0).sqrt() / mean) as f32,
    }
}

fn blocks_with_smoke(image: &[[f32; 4]]) -> Vec<usize> {
    let across = SIZE / BLOCK;
    let shows = |n: &usize| {
        let [x, y] = [*n as u32 % across, *n as u32 / across];
        (0..BLOCK * BLOCK)
            .any(|m| image[((y * BLOCK + m / BLOCK) * SIZE + x * BLOCK + m % BLOCK) as usize][3] > 0.0)
    };
    (0..(across * across) as usize).filter(shows).collect()
}

/// Smoke that absorbs nothing, in light that is the same from everywhere, scatters as much light as it hides.
#[test]
fn a_white_furnace_keeps_its_light() {
    for (name, extinction, g) in ["ball", "plume"]
        .into_iter()
        .flat_map(|name| [(name, 6.0, 0.0), (name, 25.0, 0.6), (name, 100.0, 0.0)])
    {
        let case = Case { shape: name, light: "white", extinction, g };
        let image = picture(&mut CpuRenderer::new(), &shape(name), &look(case));
        let [sent, hidden] = [2, 3].map(|channel| image.iter().map(|pixel| pixel[channel]).sum::<f32>());
        println!("{name}, {extinction} 1/m, g {g}: {:.3}", sent / hidden);
        assert!((sent / hidden - 1.0).abs() < 0.03, "{case:?}: {}", sent / hidden);
    }
}

/// A few cases of the table, with the bounds of the whole table.
#[test]
fn smoke_is_as_bright_as_traced() {
    for (light, g) in [("side", 0.0), ("front", 0.6), ("sky", 0.6)] {
        let case = Case { shape: "plume", light, extinction: 25.0, g };
        let (snapshot, mut renderer) = (shape(case.shape), CpuRenderer::new());
        let many = picture(&mut renderer, &snapshot, &look(case));
        let traced = truth(&snapshot, case, false, u32::MAX, 8);
        for channel in [0, 1] {
            let what = format!("{case:?}, albedo {}", ALBEDO[channel]);
            compare(&many, &traced, channel).within(&what, 0.05, 0.12);
        }
    }
}

/// A narrow phase function in pictures of files: the means are 0.99 to 1.05, and 1.01 from behind. They were
/// once 1.12 to 1.14, with mean radiance and net flux in place of the ordinates towards the camera and one
/// smooth lobe for single scattering of the sun, and 1.07 from behind with light that did not spread when it
/// was scattered forward. The ball was once 4.0, with an acceleration of the sweeps that made errors grow.
#[test]
fn smoke_that_scatters_forward_is_as_bright_as_traced() {
    for (name, light, extinction) in [
        ("ball", "side", 6.0),
        ("slab", "side", 6.0),
        ("plume", "side", 25.0),
        ("plume", "back", 25.0),
        ("ball", "front", 25.0),
    ] {
        let case = Case { shape: name, light, extinction, g: 0.8 };
        let snapshot = shape(name);
        let many = picture(&mut renderer(true), &snapshot, &look(case));
        let traced = truth(&snapshot, case, true, u32::MAX, 128);
        for channel in [0, 1] {
            let what = format!("{case:?}, albedo {}", ALBEDO[channel]);
            compare(&many, &traced, channel).within(&what, 0.06, 0.09);
        }
    }
}

/// Dense smoke in fine light, at one albedo each. With radiance in the middles of cubes, which held the smoke
/// of the cells themselves, the slab from the front was 1.32 of traced, the slab from the side 0.80 and the ball
/// from behind 0.80 with local errors of 51 %; now they are 0.98 to 1.01 and 1 to 5 %.
#[test]
fn fine_light_in_dense_smoke_is_as_bright_as_traced() {
    for (name, light, g, channel) in [
        ("slab", "front", 0.0, 2),
        ("slab", "side", 0.0, 0),
        ("ball", "back", 0.0, 0),
        ("slab", "front", 0.8, 1),
        ("ball", "sky", 0.0, 0),
    ] {
        let case = Case { shape: name, light, extinction: 100.0, g };
        let snapshot = shape(name);
        let marched = picture(&mut renderer(true), &snapshot, &look(case));
        let traced = truth(&snapshot, case, true, u32::MAX, 32);
        let what = format!("{case:?}, albedo {}", ALBEDO[channel]);
        compare(&marched, &traced, channel).within(&what, 0.06, 0.10);
    }
}

/// The same in moving pictures, whose cubes are of 3.1 optical depths here. With radiance in the middles of cubes
/// the first four were once 1.52 (local errors of 68 %), 1.20 (23 %), 1.30 (36 %) and 0.96 (8 %). The last was 0.90 with the light of a
/// step in its middle, which eyes see less of than of what is nearer.
#[test]
fn moving_light_in_dense_smoke_is_as_bright_as_traced() {
    for (name, light, g, channel, mean) in [
        ("plume", "back", 0.0, 1, 0.12),
        ("slab", "front", 0.6, 1, 0.12),
        ("slab", "side", 0.8, 2, 0.12),
        ("ball", "sky", 0.0, 1, 0.12),
        ("slab", "side", 0.0, 0, 0.07),
    ] {
        let case = Case { shape: name, light, extinction: 100.0, g };
        let snapshot = shape(name);
        let marched = picture(&mut renderer(false), &snapshot, &look(case));
        let traced = truth(&snapshot, case, false, u32::MAX, 32);
        let what = format!("{case:?}, albedo {}", ALBEDO[channel]);
        compare(&marched, &traced, channel).within(&what, mean, 0.15);
    }
}

/// Single scattering, compared with paths that end after one scattering.
#[test]
fn light_scattered_once_is_as_bright_as_traced() {
    for (name, light, extinction) in [("plume", "side", 25.0), ("ball", "back", 6.0)] {
        let case = Case { shape: name, light, extinction, g: 0.6 };
        let (snapshot, mut renderer) = (shape(name), CpuRenderer::new());
        let look = Look { scattering: Scattering::Single, ..look(case) };
        let marched = picture(&mut renderer, &snapshot, &look);
        compare(&marched, &truth(&snapshot, case, false, 1, 32), 2).within(&format!("{case:?}"), 0.02, 0.05);
    }
}

/// Single scattering from suns and from a sky and a ground, in pictures of files. With fourteen directions
/// the ball and the slab under a sky were once 1.15 and 1.04 of traced. Without further directions ahead the
/// dense slab was 0.92. With depths along columns the ball
/// and the plume before the sun were 1.05 and 1.07.
#[test]
fn light_scattered_once_in_files_is_as_bright_as_traced() {
    for (name, light, extinction, g, local) in [
        ("ball", "sky", 25.0, 0.8, 0.06),
        ("slab", "sky", 25.0, 0.6, 0.05),
        ("slab", "sky", 100.0, 0.8, 0.08),
        ("ball", "back", 25.0, 0.6, 0.03),
        ("plume", "back", 100.0, 0.0, 0.05),
    ] {
        let case = Case { shape: name, light, extinction, g };
        let snapshot = shape(name);
        let look = Look { scattering: Scattering::Single, ..look(case) };
        let marched = picture(&mut renderer(true), &snapshot, &look);
        compare(&marched, &truth(&snapshot, case, true, 1, 64), 2).within(&format!("{case:?}"), 0.02, local);
    }
}

/// Single scattering in cells of 1.6 optical depths, in pictures of files: means of 0.99 and 1.00. They were
/// once 0.57 and 0.68, with the sun's depths interpolated linearly.
#[test]
fn light_turns_within_dense_cells() {
    for (name, light, mean, local) in [("ball", "back", 0.04, 0.10), ("slab", "side", 0.04, 0.10)] {
        let case = Case { shape: name, light, extinction: 100.0, g: 0.6 };
        let snapshot = shape(name);
        let look = Look { scattering: Scattering::Single, ..look(case) };
        let marched = picture(&mut renderer(true), &snapshot, &look);
        compare(&marched, &truth(&snapshot, case, true, 1, 32), 2).within(&format!("{case:?}"), mean, local);
    }
}

/// A ball is as bright in a larger box and with fewer points of light. It was once 0.83 to 1.09 in files,
/// with fractions of a cell between points, and 0.40 with cubes of light that held no point.
#[test]
fn a_ball_in_a_larger_box_is_as_bright() {
    let h = 0.03;
    let ball = |cells: [usize; 3]| {
        Snapshot::from_fn(Dims::new(cells).unwrap(), h, |p| {
            let r = ((p[0] - 0.5).powi(2) + (p[1] - 0.45).powi(2) + (p[2] - 0.6).powi(2)).sqrt();
            [f32::from(u8::from(r < 0.173)), 0.0, 0.0, 0.0]
        })
    };
    let camera = Camera { position: [0.5, 0.5, 3.5], target: [0.5, 0.45, 0.6], fov: 12.0, ..camera() };
    let bright = |cells: [usize; 3], light_scale: f32, fine: bool| -> f32 {
        let look =
            Look { light_scale, ..look(Case { shape: "ball", light: "side", extinction: 30.0, g: 0.3 }) };
        let view = View { look: &look, camera: &camera, cursor: None, mode: Mode::Smoke };
        let image = renderer(fine).render_linear(&ball(cells), &view, [SIZE; 2], &|_| ());
        image.unwrap().rgba.iter().map(|pixel| pixel[1]).sum()
    };
    let small = bright([48, 32, 40], 1.0, true);
    for (cells, scale, fine, bound) in [
        ([65, 32, 40], 1.0, true, 0.03),
        ([100, 32, 40], 1.0, true, 0.03),
        ([48, 32, 40], 0.5, true, 0.12),
        ([127, 32, 40], 0.5, true, 0.12),
        ([48, 32, 40], 1.0, false, 0.12),
        ([96, 72, 80], 1.0, false, 0.12),
    ] {
        let share = bright(cells, scale, fine) / small;
        println!("{cells:?}, {scale}, {fine}: {share:.3}");
        assert!((share - 1.0).abs() < bound, "{cells:?}, {scale}, {fine}: {share}");
    }
}

/// The mirror image of a scene has the mirrored picture, for any number of cubes along x. Columns of the
/// floor beside the box once repeated the last one within it, in the shadow of the smoke: parts of the ball
/// were 0.89 of their mirror image.
#[test]
fn a_mirrored_scene_has_a_mirrored_picture() {
    for cells in [33, 40] {
        let h = 1.0 / cells as f32;
        let ball = |x: f32| {
            Snapshot::from_fn(Dims::new([cells; 3]).unwrap(), h, |p| {
                let r = ((p[0] - x).powi(2) + (p[1] - 0.3).powi(2) + (p[2] - 0.5).powi(2)).sqrt();
                [(0.5 - (r - 0.2) / h).clamp(0.0, 1.0), 0.0, 0.0, 0.0]
            })
        };
        let seen = |x: f32, sun: f32| {
            let case = Case { shape: "ball", light: "side", extinction: 25.0, g: 0.3 };
            let look = Look { sun_direction: [sun, 0.6, 0.2], floor: Some([0.8; 3]), ..look(case) };
            picture(&mut renderer(true), &ball(x), &look)
        };
        let [one, other] = [seen(0.35, 0.8), seen(0.65, -0.8)];
        let size = SIZE as usize;
        let mirrored: Vec<_> =
            (0..size * size).map(|n| other[n / size * size + size - 1 - n % size]).collect();
        let off = compare(&one, &[mirrored.clone(), mirrored], 1);
        off.within(&format!("{cells} cells"), 0.002, 0.004);
    }
}

/// Returns the look of the ball in the light of an environment.
fn in_environment(extinction: f32, of: impl Fn([f32; 3]) -> f32) -> Look {
    let (width, height) = (256, 128);
    let plain = Sphere::new(width, height, vec![[0.0; 3]; width * height]).unwrap();
    let texels = (0..width * height).map(|n| [of(plain.direction(n % width, n / width)); 3]).collect();
    let sphere = Sphere::new(width, height, texels).map(std::sync::Arc::new);
    let environment = Environment { sphere, rotation: 30.0, shown: false, ..Environment::default() };
    let case = Case { shape: "ball", light: "none", extinction, g: 0.3 };
    Look { sun: [0.0; 3], environment, ..look(case) }
}

/// A white environment is a white furnace for ray marching and for path tracing.
#[test]
fn a_white_environment_keeps_its_light() {
    let snapshot = shape("ball");
    let white = in_environment(25.0, |_| 1.0);
    for scattering in [Scattering::Multiple, Scattering::Traced] {
        let image =
            picture(&mut CpuRenderer::new(), &snapshot, &Look { scattering, paths: 16, ..white.clone() });
        let [sent, hidden] = [2, 3].map(|channel| image.iter().map(|pixel| pixel[channel]).sum::<f32>());
        println!("{scattering:?}: {:.3}", sent / hidden);
        assert!((sent / hidden - 1.0).abs() < 0.02, "{scattering:?}: {}", sent / hidden);
    }
}

/// An environment with a wide bright part on one side: the mean is within 8 % of traced.
#[test]
fn an_environment_lights_smoke_as_traced() {
    let snapshot = shape("ball");
    let bright = in_environment(25.0, |d| if d[0] > 0.5 { 4.0 } else { 0.2 });
    let mut renderer = CpuRenderer::new();
    let marched = picture(&mut renderer, &snapshot, &bright);
    compare(&marched, &two_traced(&mut renderer, &snapshot, &bright, 16), 1).within("environment", 0.08, 0.2);
}

/// A small sun in an environment casts a shadow. It was once spread over harmonics that cast none.
#[test]
fn a_sun_in_an_environment_lights_as_traced_and_casts_a_shadow() {
    let snapshot = shape("ball");
    let toward = |d: [f32; 3]| 0.64 * d[0] + 0.6 * d[1] + 0.48 * d[2];
    // 6° across.
    let lit = in_environment(25.0, |d| if toward(d) > 0.9986 { 800.0 } else { 0.2 });
    let lit = Look { floor: Some([0.4; 3]), ..lit };
    let mut renderer = CpuRenderer::new();
    let marched = picture(&mut renderer, &snapshot, &lit);
    compare(&marched, &two_traced(&mut renderer, &snapshot, &lit, 32), 1).within("sun", 0.05, 0.12);
}

/// Returns lights around a ball of smoke, by name.
fn lights() -> [(&'static str, Emitter); 5] {
    let target = [0.5; 3];
    [
        ("sun", Emitter::Sun { direction: [0.9, 0.3, 0.3], size: 0.0 }),
        ("point", Emitter::Point { position: [1.1, 0.6, 0.7], radius: 0.02 }),
        ("point within", Emitter::Point { position: [0.5, 0.5, 0.7], radius: 0.05 }),
        (
            "spot",
            Emitter::Spot { position: [-0.4, 1.1, 0.9], target, angle: 24.0, softness: 0.3, radius: 0.02 },
        ),
        ("area", Emitter::Area { position: [0.5, 1.2, 0.5], target, size: [0.6, 0.4] }),
    ]
}

/// Each further light alone, at albedo 0.99: the mean is within 6 % of traced and local errors within 18 %,
/// for a light in the smoke within 20 and 36 %.
#[test]
fn further_lights_are_as_bright_as_traced() {
    let snapshot = shape("ball");
    for (name, emitter) in lights() {
        for (extinction, g) in [(6.0, 0.0), (25.0, 0.6)] {
            let light = Light { emitter, color: [1.0; 3], strength: 3.0 };
            let case = Case { shape: "ball", light: "none", extinction, g };
            let dark = Look { sun: [0.0; 3], sky: [0.0; 3], ground: [0.0; 3], ..look(case) };
            let of = Look { lights: vec![light], ..dark };
            let mut renderer = CpuRenderer::new();
            let marched = picture(&mut renderer, &snapshot, &of);
            let traced = two_traced(&mut renderer, &snapshot, &of, 16);
            // A light within dense smoke is not a point in the light volume, and light scattered forward
            // close to it is left out.
            let [mean, local] = if name == "point within" { [0.2, 0.36] } else { [0.06, 0.18] };
            compare(&marched, &traced, 1).within(&format!("{name}, {extinction} 1/m, g {g}"), mean, local);
        }
    }
}

/// A further sun gives the same light as the sun.
#[test]
fn a_further_sun_is_a_sun() {
    let case = Case { shape: "plume", light: "side", extinction: 25.0, g: 0.3 };
    let (snapshot, mut renderer) = (shape(case.shape), CpuRenderer::new());
    let one = Look { sun_size: 0.0, floor: Some([0.4; 3]), ..look(case) };
    let light = Light {
        emitter: Emitter::Sun { direction: one.sun_direction, size: 0.0 },
        color: one.sun,
        strength: 1.0,
    };
    let other = Look { sun: [0.0; 3], lights: vec![light], ..one.clone() };
    let [one, other] = [one, other].map(|look| picture(&mut renderer, &snapshot, &look));
    let sum = |image: &[[f32; 4]]| image.iter().map(|pixel| pixel[1]).sum::<f32>();
    let off = one.iter().zip(&other).map(|(a, b)| (a[1] - b[1]).abs()).sum::<f32>() / sum(&one);
    println!("{:.4}, off by {off:.4}", sum(&other) / sum(&one));
    assert!((sum(&other) / sum(&one) - 1.0).abs() < 0.02 && off < 0.03, "{off}");
}

/// The whole table: single scattering, then all orders at three albedos.
#[test]
#[ignore = "minutes: a table, not a check"]
fn table_of_all_cases() {
    let splines = std::env::var_os("LIGHT_LINEAR").is_none();
    println!("| shape | light | 1/m | g | once | 0.9 | 0.99 | 1 |\n|---|---|---|---|---|---|---|---|");
    let mut worst = [[0.0_f32; 2]; 4];
    for name in SHAPES {
        let snapshot = shape(name);
        for (light, extinction, g) in LIGHTS.into_iter().flat_map(|light| {
            [6.0, 25.0, 100.0].into_iter().flat_map(move |e| [0.0, 0.6, 0.8].map(|g| (light, e, g)))
        }) {
            let case = Case { shape: name, light, extinction, g };
            let words = format!("{name} {light} {extinction} {g}");
            let chosen = |wanted: &str| wanted.split(',').any(|part| words.contains(part));
            if std::env::var("LIGHT_CASES").is_ok_and(|wanted| !chosen(&wanted)) {
                continue;
            }
            let mut renderer = renderer(splines);
            let single = Look { scattering: Scattering::Single, ..look(case) };
            let once = picture(&mut renderer, &snapshot, &single);
            let mut all = vec![compare(&once, &truth(&snapshot, case, splines, 1, 128), 2)];
            if std::env::var_os("LIGHT_ONCE").is_none() {
                let many = picture(&mut renderer, &snapshot, &look(case));
                let traced = truth(&snapshot, case, splines, u32::MAX, 256);
                all.extend((0..3).map(|channel| compare(&many, &traced, channel)));
            }
            let words: Vec<String> =
                all.iter().map(|off| format!("{:.2} {:.0} %", off.mean, 100.0 * off.local)).collect();
            println!("| {name} | {light} | {extinction} | {g} | {} |", words.join(" | "));
            for (worst, off) in worst.iter_mut().zip(&all) {
                worst[0] = worst[0].max((off.mean - 1.0).abs());
                worst[1] = worst[1].max(off.local);
            }
        }
    }
    println!("worst: {worst:.2?}");
}
