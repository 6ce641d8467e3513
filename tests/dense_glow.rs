//! Compares floor, smoke and solids in the light of dense smoke that glows with path tracing.
//!
//! `cargo test --release --test dense_glow -- --ignored --nocapture` prints the table of `docs/light.md`. With `GLOW_TRUTHS` set to a folder,
//! traced pictures are kept there and read again. `GLOW_CASES` chooses cases by parts of their names, separated by commas.

use std::path::PathBuf;

use updraft::grid::Dims;
use updraft::look::{Camera, Look, Scattering};
use updraft::render::{CpuRenderer, Mode, Quality, View};
use updraft::snapshot::{Snapshot, SolidShape};
use updraft::solver::Solid;

const SIZE: [u32; 2] = [96, 72];
/// Extinctions [1/m], albedos and anisotropies.
const EXTINCTIONS: [f32; 3] = [25.0, 100.0, 230.0];
const ALBEDOS: [f32; 2] = [0.3, 0.9];
const ANISOTROPIES: [f32; 2] = [0.0, 0.6];

type Picture = Vec<[f32; 4]>;

/// Returns a ball that glows all over, its edge two cells wide and colder, in a box of 1 m and 64³ cells.
fn hot_ball() -> Snapshot {
    let (dims, h) = (Dims::new([64; 3]).unwrap(), 1.0 / 64.0);
    Snapshot::from_fn(dims, h, |p| {
        let away = p.iter().map(|x| (x - 0.5).powi(2)).sum::<f32>().sqrt();
        let inside = (0.5 - (away - 0.2) / (2.0 * h)).clamp(0.0, 1.0);
        [inside, 0.0, 0.0, 100.0 * inside]
    })
}

/// Returns a small hot core in cooler smoke, on 128³ cells.
fn hot_core() -> Snapshot {
    let (dims, h) = (Dims::new([128; 3]).unwrap(), 1.0 / 128.0);
    Snapshot::from_fn(dims, h, |p| {
        let away = p.iter().map(|x| (x - 0.5).powi(2)).sum::<f32>().sqrt() / 0.08;
        let inside = (0.5 - (away - 1.0) * 0.08 / (2.0 * h)).clamp(0.0, 1.0);
        [inside, 0.0, 0.0, 100.0 * inside * (-away * away).exp()]
    })
}

fn look(extinction: f32, albedo: f32, anisotropy: f32) -> Look {
    Look {
        colors: [[albedo; 3]; 3],
        glow: 4.0,
        glow_heat: 100.0,
        extinction,
        anisotropy,
        fade: 0.0,
        outline: false,
        sun: [0.0; 3],
        sky: [0.0; 3],
        ground: [0.0; 3],
        background: [[0.0; 3]; 2],
        ..Look::default()
    }
}

fn render(snapshot: &Snapshot, look: &Look, camera: &Camera, files: bool) -> Picture {
    let view = View { look, camera, cursor: None, mode: Mode::Smoke };
    let mut renderer = CpuRenderer::new();
    renderer.set_quality(Quality { fine_light: files, splines: files, ..Quality::FINAL });
    renderer.render_linear(snapshot, &view, SIZE, &|_| ()).unwrap().rgba
}

/// Traces a picture, or reads it from the folder `GLOW_TRUTHS` if it was traced before.
fn traced(name: &str, paths: u32, snapshot: &Snapshot, look: &Look, camera: &Camera) -> Picture {
    let folder = std::env::var_os("GLOW_TRUTHS").map(PathBuf::from);
    let file = folder.map(|folder| folder.join(name));
    if let Some(bytes) = file.as_ref().and_then(|file| std::fs::read(file).ok()) {
        let values: Vec<f32> = bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        return values.as_chunks().0.to_vec();
    }
    let look = Look { scattering: Scattering::Traced, paths, ..look.clone() };
    let picture = render(snapshot, &look, camera, true);
    if let Some(file) = file {
        let bytes: Vec<u8> = picture.as_flattened().iter().flat_map(|value| value.to_le_bytes()).collect();
        std::fs::write(file, bytes).unwrap();
    }
    picture
}

/// Returns the mean of green over the pixels that `of` chooses by column and row.
fn mean(picture: &[[f32; 4]], of: impl Fn(u32, u32) -> bool) -> f32 {
    let chosen = (0..picture.len()).filter(|&n| of(n as u32 % SIZE[0], n as u32 / SIZE[0]));
    let (sum, count) = chosen.fold((0.0, 0.0), |(sum, count), n| (sum + picture[n][1], count + 1.0));
    sum / count
}

/// Prints the ratios of files and of moving pictures.
fn print(name: &str, ratios: [Vec<f32>; 2]) {
    println!("{name}: files {:.2?}, moving {:.2?}", ratios[0], ratios[1]);
}

/// Returns the brightness of the floor before the ball, and of the ball, over that of another picture.
fn floor_and_smoke(picture: &[[f32; 4]], other: &[[f32; 4]]) -> [f32; 2] {
    let below = |_: u32, y: u32| y > 51;
    let smoke = |x: u32, y: u32| x.abs_diff(48) < 12 && y.abs_diff(28) < 12;
    [mean(picture, below) / mean(other, below), mean(picture, smoke) / mean(other, smoke)]
}

/// Moving pictures of dense smoke that glows, and the floor below, are as bright as traced. With even sources in cubes of 3.1 optical depths
/// they were 1.26 and 1.31.
#[test]
fn moving_pictures_of_dense_glow_are_as_bright_as_traced() {
    let (ball, above) = (hot_ball(), Camera::at([0.5, 0.9, 4.0], [0.5, 0.3, 0.5], 26.0));
    let floor = Look { floor: Some([0.5; 3]), ..look(100.0, 0.9, 0.0) };
    let truth = traced("floor-of-moving", 64, &ball, &floor, &above);
    let ratios = floor_and_smoke(&render(&ball, &floor, &above, false), &truth);
    println!("floor, smoke: {ratios:.2?}");
    assert!(ratios.iter().all(|ratio| (0.85..1.18).contains(ratio)), "{ratios:?}");
}

/// Even smoke that glows and scatters is as bright as traced. Light from neighbouring cells once counted as that of points: 0.92 in files and
/// 0.90 in moving pictures.
#[test]
fn even_smoke_that_glows_is_as_bright_as_traced() {
    let (dims, h) = (Dims::new([64; 3]).unwrap(), 1.0 / 64.0);
    let even = Snapshot::from_fn(dims, h, |p| {
        let away = p.iter().map(|x| (x - 0.5).powi(2)).sum::<f32>().sqrt();
        [(0.5 - (away - 0.2) / (2.0 * h)).clamp(0.0, 1.0), 0.0, 0.0, 100.0]
    });
    let (look, front) = (look(25.0, 0.9, 0.0), Camera::at([0.5, 0.5, 4.0], [0.5; 3], 17.0));
    let truth = mean(&traced("even", 64, &even, &look, &front), |_, _| true);
    let ratios = [true, false].map(|files| mean(&render(&even, &look, &front, files), |_, _| true) / truth);
    println!("files, moving: {ratios:.3?}");
    assert!(ratios.iter().all(|ratio| (0.95..1.04).contains(ratio)), "{ratios:?}");
}

/// Prints brightness over that of path tracing, in files and in moving pictures.
#[test]
#[ignore = "a measurement of minutes"]
fn dense_glow_beside_traced() {
    let ball = hot_ball();
    let around: Vec<[f32; 3]> = (0..8)
        .map(|n| {
            let (sin, cos) = (n as f32 / 8.0 * std::f32::consts::TAU).sin_cos();
            [0.5 + 0.36 * cos, 0.5 + 0.36 * sin, 0.5]
        })
        .collect();
    let mut with_solids = hot_ball();
    let solid = |&at: &[f32; 3]| Solid::new(SolidShape::Sphere { radius: 0.07 }, at).pose(0.0, 0.0);
    with_solids.solids = around.iter().map(solid).collect();
    let core = hot_core();
    let above = Camera::at([0.5, 0.9, 4.0], [0.5, 0.3, 0.5], 26.0);
    let front = Camera::at([0.5, 0.5, 4.0], [0.5; 3], 17.0);
    let near = Camera::at([0.5, 0.9, 3.4], [0.5, 0.5, 0.5], 3.0);
    for extinction in EXTINCTIONS {
        for (albedo, g) in ALBEDOS.into_iter().flat_map(|a| ANISOTROPIES.map(|g| (a, g))) {
            let of = look(extinction, albedo, g);
            let name = format!("{extinction} 1/m, albedo {albedo}, g {g}");
            if std::env::var("GLOW_CASES")
                .is_ok_and(|wanted| !wanted.split(',').any(|part| name.contains(part)))
            {
                continue;
            }
            let floor = Look { floor: Some([0.5; 3]), ..of.clone() };
            let truth = traced(&format!("floor-{name}").replace("1/m", "m"), 256, &ball, &floor, &above);
            let ratios = [true, false].map(|files| {
                let fast = render(&ball, &floor, &above, files);
                floor_and_smoke(&fast, &truth).to_vec()
            });
            print(&format!("{name}: floor, smoke"), ratios);
            let solids = Look { floor: None, solids: vec![[0.5; 3]; around.len()], ..of };
            let name = format!("solids-{name}").replace("1/m", "m");
            let truth = traced(&name, 256, &with_solids, &solids, &front);
            let scale = 36.0 / (3.5 * 8.5_f32.to_radians().tan());
            // The four along the axes and the four between them are alike: together they have less noise.
            let of_solids = |picture: &Picture, first: usize| {
                let of = |at: &[f32; 3]| {
                    let middle = [47.5 + scale * (at[0] - 0.5), 35.5 - scale * (at[1] - 0.5)];
                    let inside =
                        |x: u32, y: u32| (x as f32 - middle[0]).hypot(y as f32 - middle[1]) < 0.065 * scale;
                    mean(picture, inside)
                };
                around.iter().skip(first).step_by(2).map(of).sum::<f32>()
            };
            let ratios = [true, false].map(|files| {
                let fast = render(&with_solids, &solids, &front, files);
                [0, 1].map(|first| of_solids(&fast, first) / of_solids(&truth, first)).to_vec()
            });
            print("    solids", ratios);
        }
    }
    for (extinction, albedo) in [(140.0, 0.7), (140.0, 0.9), (35.0, 0.7)] {
        let core_look = look(extinction, albedo, 0.0);
        let name = format!("core-{extinction}-{albedo}");
        let truth = traced(&name, 256, &core, &core_look, &near);
        let ratios = [true, false].map(|files| {
            let fast = render(&core, &core_look, &near, files);
            let ratio = |around: u32| {
                let of = |x: u32, y: u32| x.abs_diff(48) < around && y.abs_diff(36) < around;
                mean(&fast, of) / mean(&truth, of)
            };
            vec![ratio(7), ratio(30)]
        });
        print(&format!("core {extinction} 1/m, albedo {albedo}: middle, all"), ratios);
    }
}

/// Solids around smoke that scatters evenly, under the default light: in files the accelerated sweeps once did not converge, and pictures
/// were thousands of times too bright.
#[test]
fn solids_in_smoke_that_scatters_evenly_are_as_bright_as_in_moving_pictures() {
    let mut snapshot = hot_ball();
    let solid = |&at: &[f32; 3]| Solid::new(SolidShape::Sphere { radius: 0.07 }, at).pose(0.0, 0.0);
    snapshot.solids = [[0.86, 0.5, 0.5], [0.5, 0.86, 0.5], [0.3, 0.3, 0.8]].iter().map(solid).collect();
    let front = Camera::at([0.5, 0.5, 4.0], [0.5; 3], 17.0);
    for extinction in [25.0, 100.0] {
        let look = Look {
            extinction,
            colors: [[0.9; 3]; 3],
            anisotropy: 0.0,
            solids: vec![[0.5; 3]; 3],
            fade: 0.0,
            outline: false,
            ..Look::default()
        };
        let [files, moving] =
            [true, false].map(|files| mean(&render(&snapshot, &look, &front, files), |_, _| true));
        println!("{extinction} 1/m: {}", files / moving);
        assert!((files / moving - 1.0).abs() < 0.1, "{extinction} 1/m: {files}, {moving}");
    }
}
