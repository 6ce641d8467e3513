//! Compares pictures of the OpenGL renderer with those of the CPU's.

use super::*;
use updraft::render::{Cursor, Offscreen, Quantity, RenderError, Slice};

/// Makes an OpenGL context. Prints a line if there is none.
pub fn offscreen([width, height]: [u32; 2]) -> Option<Offscreen> {
    match Offscreen::new(width, height) {
        Ok(gl) => Some(gl),
        Err(RenderError::NoGl(why)) => {
            eprintln!("skipped what needs OpenGL: {why}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

/// Returns scenes that both renderers must render alike.
fn scenes() -> Vec<(&'static str, Snapshot, Look, Option<Cursor>, Mode)> {
    let dims = Dims::new([40, 56, 36]).unwrap();
    let (even, tinted) = (plume(dims, 0.02, Tint::Even), plume(dims, 0.02, Tint::Sectors));
    let against = Look { sun_direction: [-0.5, 0.35, -0.8], anisotropy: 0.6, ..Look::default() };
    let fine = Look {
        samples: 2.0,
        light_scale: 1.0,
        scattering: Scattering::Single,
        outline: false,
        ..Look::default()
    };
    let hot =
        Look { glow: 3.0, second_lobe: [-0.4, 0.3], sun_size: 8.0, colors: [[0.3; 3]; 3], ..Look::default() };
    let target = [0.4, 0.4, 0.4];
    let spot = Emitter::Spot { position: [1.2, 1.3, 1.0], target, angle: 30.0, softness: 0.3, radius: 0.03 };
    let lights = [
        Emitter::Sun { direction: [-0.7, 0.5, -0.5], size: 6.0 },
        Emitter::Point { position: [0.1, 0.4, 0.9], radius: 0.02 },
        spot,
        Emitter::Area { position: [0.4, 1.3, 0.4], target, size: [0.4, 0.2] },
        Emitter::Point { position: [0.5, 0.5, 0.4], radius: 0.05 },
    ];
    let light = |emitter| Light { emitter, color: [1.0, 0.8, 0.4], strength: 1.5 };
    let lit = Look { sun: [1.0; 3], lights: lights.map(light).to_vec(), ..Look::default() };
    let slice = Slice { axis: 2, position: 0.5, quantity: Quantity::VelocityX, range: None };
    let ball = Cursor { center: [0.5, 0.6, 0.5], radius: 0.15, color: [0.9, 0.4, 0.1] };
    vec![
        ("colours", tinted, Look::default(), None, Mode::Smoke),
        ("against the light", even.clone(), against, None, Mode::Smoke),
        ("single, fine, no floor", even.clone(), Look { floor: None, ..fine }, None, Mode::Smoke),
        ("further lights", even.clone(), lit, None, Mode::Smoke),
        ("glow, two lobes, a large sun", even.clone(), hot, None, Mode::Smoke),
        ("cursor", even.clone(), Look::default(), Some(ball), Mode::Smoke),
        ("speed", even.clone(), Look::default(), None, Mode::Speed),
        ("arrows", even.clone(), Look::default(), None, Mode::Velocity),
        ("streamlines", even.clone(), Look::default(), None, Mode::Streamlines),
        ("slice", even, Look::default(), None, Mode::Slice(slice)),
    ]
}

/// Returns the CPU's renderer: of packets, or of the plain reference if `reference` is set.
fn cpu_renderer(reference: bool, quality: Quality) -> CpuRenderer {
    let mut cpu = CpuRenderer::new();
    cpu.set_reference(reference);
    cpu.set_quality(quality);
    cpu
}

/// Renders pictures by packets and in OpenGL.
fn by_both(
    gl: &mut Offscreen,
    quality: Quality,
    snapshot: &Snapshot,
    view: &View,
    size: [u32; 2],
) -> [Image; 2] {
    gl.set_quality(quality);
    let on_cpu = cpu_renderer(false, quality).render(snapshot, view, size, &|_| ()).unwrap();
    [on_cpu, gl.render(snapshot, view).unwrap()]
}

#[test]
fn both_renderers_draw_the_same() {
    let size = [160, 120];
    let Some(mut gl) = offscreen(size) else { return };
    for (name, snapshot, look, cursor, mode) in scenes() {
        let camera = Camera::framing(snapshot.extent());
        let view = View { look: &look, camera: &camera, cursor, mode };
        let on_gl = gl.render(&snapshot, &view).unwrap();
        // The reference shades along the rays as shaders do, packets at the cells.
        for (reference, within) in [(true, 12), (false, 80)] {
            let on_cpu =
                cpu_renderer(reference, Quality::FINAL).render(&snapshot, &view, size, &|_| ()).unwrap();
            let (mean, worst) = difference(&on_gl, &on_cpu);
            eprintln!("{name}, reference {reference}: mean {mean:.3}, worst {worst} of 255");
            // The largest differences are at the ends of lines and on the edges of planes.
            let far_off = on_gl.rgba.iter().zip(&on_cpu.rgba).filter(|(a, b)| a.abs_diff(**b) > 16).count();
            assert!(mean < 0.15, "{name}: mean {mean}, worst {worst} of 255");
            let lines = mode != Mode::Smoke || cursor.is_some();
            assert!(lines || worst <= within, "{name}, reference {reference}: worst {worst} of 255");
            assert!(far_off * 500 < on_gl.rgba.len(), "{name}: {far_off} bytes are far off");
        }
    }
}

/// Two readings of the smoke shared their light in OpenGL although points of light were as fine: dense smoke was up to 5 % brighter.
#[test]
fn both_renderers_draw_the_same_dense_smoke_in_fine_light() {
    let size = [160, 120];
    let Some(mut gl) = offscreen(size) else { return };
    let snapshot = plume(Dims::new([40, 56, 36]).unwrap(), 0.02, Tint::Even);
    let camera = Camera::framing(snapshot.extent());
    let quality = Quality { splines: true, fine_light: true, ..Quality::FINAL };
    for extinction in [40.0, 400.0] {
        let look = Look { extinction, outline: false, ..Look::default() };
        let view = View { look: &look, camera: &camera, cursor: None, mode: Mode::Smoke };
        let [on_cpu, on_gl] = by_both(&mut gl, quality, &snapshot, &view, size);
        let (mean, worst) = difference(&on_gl, &on_cpu);
        eprintln!("{extinction} 1/m: mean {mean:.3}, worst {worst} of 255");
        assert!(mean < 0.1 && worst <= 24, "{extinction} 1/m: mean {mean}, worst {worst} of 255");
    }
}

#[test]
fn both_renderers_draw_the_same_solids() {
    let size = [160, 120];
    let Some(mut gl) = offscreen(size) else { return };
    let mut snapshot = plume(Dims::new([40, 56, 36]).unwrap(), 0.02, Tint::Even);
    let lights = scenes().into_iter().find(|scene| scene.0 == "further lights").unwrap().2.lights;
    let (look, camera) = (
        Look {
            solids: vec![[0.6, 0.3, 0.2]],
            roughness: vec![0.2, 1.0, 0.4, 0.3, 0.9],
            lights,
            ..Look::default()
        },
        Camera::framing(snapshot.extent()),
    );
    let empty = snapshot.clone();
    let shapes = [
        (SolidShape::Sphere { radius: 0.12 }, [0.6, 0.5, 0.4], 1.0),
        (SolidShape::Box { size: [0.2, 0.1, 0.4] }, [0.15, 0.2, 0.3], 1.0),
        (SolidShape::Cylinder { radius: 0.03, height: 0.2 }, [0.6, 0.9, 0.6], 2.0),
        (SolidShape::Mesh(pyramid()), [0.2, 0.7, 0.4], 0.5),
        (SolidShape::Mesh(pyramid()), [0.5, 0.15, 0.6], 0.25),
    ];
    for (shape, at, scale) in shapes {
        let solid = updraft::solver::Solid {
            rotation: Solid::turn([20.0, 10.0, 30.0]),
            scale,
            ..Solid::new(shape, at)
        };
        snapshot.solids.push(solid.pose(0.0, 0.0));
    }
    let soft = Look { sun_size: 8.0, ..look.clone() };
    // Their middles lie below the horizon of many facets.
    let wide = [
        Emitter::Sun { direction: [-0.7, 0.1, -0.5], size: 80.0 },
        Emitter::Point { position: [0.4, 0.9, 0.9], radius: 0.4 },
        Emitter::Area { position: [0.4, 1.0, 0.4], target: [0.4, 0.5, 0.4], size: [1.0, 0.5] },
    ];
    let wide = wide.map(|emitter| Light { emitter, color: [1.0, 0.8, 0.4], strength: 1.5 });
    let wide = Look { sun_size: 70.0, lights: wide.to_vec(), ..look.clone() };
    for look in [&look, &soft, &wide] {
        let (view, sun) = (view(look, &camera), look.sun_size);
        let without = gl.render(&empty, &view).unwrap();
        let on_gl = gl.render(&snapshot, &view).unwrap();
        for reference in [true, false] {
            let on_cpu =
                cpu_renderer(reference, Quality::FINAL).render(&snapshot, &view, size, &|_| ()).unwrap();
            let (mean, worst) = difference(&on_gl, &on_cpu);
            eprintln!("solids, reference {reference}, sun of {sun}: mean {mean:.3}, worst {worst} of 255");
            assert!(mean < 0.2, "reference {reference}, sun of {sun}: mean {mean}, worst {worst} of 255");
        }
        assert!(difference(&on_gl, &without).0 > 1.0, "the solids are seen");
    }
}

/// Edges of solids are jagged in one frame and smooth in a mean of several, the same in both renderers.
#[test]
fn edges_of_solids_are_smooth_in_both_renderers() {
    let Some(mut gl) = offscreen([96, 72]) else { return };
    let mut snapshot = plume(Dims::new([20, 28, 18]).unwrap(), 0.04, Tint::Even);
    let ball = Solid::new(SolidShape::Sphere { radius: 0.25 }, [0.4, 0.6, 0.4]);
    snapshot.solids = vec![ball.pose(0.0, 0.0)];
    let look = Look { extinction: 1e-3, outline: false, floor: None, ..Look::default() };
    let camera = Camera::framing(snapshot.extent());
    let view = view(&look, &camera);
    let partial = |image: &LinearImage| image.rgba.iter().filter(|p| p[3] > 0.05 && p[3] < 0.95).count();
    for (quality, least, most) in [(Quality::FINAL, 0, 0), (Quality::SMOOTH, 50, 400)] {
        gl.set_quality(quality);
        let on_gl = gl.render_linear(&snapshot, &view).unwrap();
        for reference in [true, false] {
            let on_cpu =
                cpu_renderer(reference, quality).render_linear(&snapshot, &view, [96, 72], &|_| ()).unwrap();
            for (name, image) in [("GL", &on_gl), ("CPU", &on_cpu)] {
                let count = partial(image);
                assert!((least..=most).contains(&count), "{name}: {count} pixels are partly covered");
            }
            let pairs = on_gl.rgba.iter().zip(&on_cpu.rgba);
            let far_off = pairs.filter(|(a, b)| (a[3] - b[3]).abs() > 0.02).count();
            assert!(far_off < 12, "reference {reference}: {far_off} pixels differ");
        }
    }
}

/// A still picture in a window gets smooth edges over time, and overlays do not restart that.
#[test]
fn edges_get_smooth_while_nothing_moves() {
    let Some(mut gl) = offscreen([96, 72]) else { return };
    let mut snapshot = plume(Dims::new([20, 28, 18]).unwrap(), 0.04, Tint::Even);
    let ball = Solid::new(SolidShape::Sphere { radius: 0.25 }, [0.4, 0.6, 0.4]);
    snapshot.solids = vec![ball.pose(0.0, 0.0)];
    let look = Look { extinction: 1e-3, outline: false, ..Look::default() };
    let camera = Camera::framing(snapshot.extent());
    let (plain, cursor) =
        (view(&look, &camera), Cursor { center: [0.4, 1.0, 0.4], radius: 0.05, color: [1.0; 3] });
    let with_cursor = View { cursor: Some(cursor), ..plain };
    for divide in [1, 2] {
        gl.set_quality(Quality::SMOOTH);
        let smooth = gl.render(&snapshot, &plain).unwrap();
        gl.set_quality(Quality { divide, ..Quality::FINAL });
        gl.renderer().upload(&snapshot, Mode::Smoke).unwrap();
        let mut after = |pictures: u32, view: &View| {
            (0..pictures).for_each(|_| gl.draw(view).unwrap());
            difference(&gl.read(), &smooth).0
        };
        let (one, over, many) = (after(1, &plain), after(31, &with_cursor), after(1, &plain));
        eprintln!("1/{divide}: off by {one} at once, {many} after a while");
        assert!(many < 0.5 * one, "1/{divide}: off by {one} at once, {many} after a while");
        assert!(over > many, "the cursor is seen");
    }
}

#[test]
fn both_renderers_read_the_same_splines() {
    let Some(mut gl) = offscreen(SIZE) else { return };
    let snapshot = plume(Dims::new([20, 28, 18]).unwrap(), 0.04, Tint::Sectors);
    let camera = Camera::framing(snapshot.extent());
    for (scattering, fine_light) in [(Scattering::Multiple, false), (Scattering::Single, true)] {
        let look = Look { scattering, ..Look::default() };
        let view = view(&look, &camera);
        gl.set_quality(Quality::FINAL);
        let linear = gl.render(&snapshot, &view).unwrap();
        let quality = Quality { splines: true, fine_light, ..Quality::FINAL };
        gl.set_quality(quality);
        let on_gl = gl.render(&snapshot, &view).unwrap();
        let [rays, packets] = [true, false].map(|reference| {
            cpu_renderer(reference, quality).render(&snapshot, &view, SIZE, &|_| ()).unwrap()
        });
        let (mean, worst) = difference(&on_gl, &rays);
        assert!(mean < 0.15 && worst < 60, "{scattering:?}: mean {mean}, worst {worst} of 255");
        let (mean, worst) = difference(&packets, &rays);
        assert!(mean < 0.4 && worst < 20, "{scattering:?} at the cells: mean {mean}, worst {worst} of 255");
        assert!(difference(&on_gl, &linear).0 > 0.2, "splines change something");
    }
}

/// A march at half or a quarter of the resolution shows the same smoke, less sharp.
#[test]
fn a_divided_march_shows_the_same() {
    let size = [320, 240];
    let Some(mut gl) = offscreen(size) else { return };
    let snapshot = plume(Dims::new([40, 56, 36]).unwrap(), 0.02, Tint::Sectors);
    let (look, camera) = (Look::default(), Camera::framing(snapshot.extent()));
    let view = view(&look, &camera);
    let mut at = |divide| by_both(&mut gl, Quality { divide, ..Quality::FINAL }, &snapshot, &view, size);
    let full = at(1);
    for (divide, within) in [(2, 0.6), (4, 1.5)] {
        for (divided, full) in at(divide).iter().zip(&full) {
            let (mean, _) = difference(divided, full);
            assert!(mean < within, "1/{divide}: mean difference {mean} of 255");
        }
    }
}

/// Beside a solid a divided march shows the smoke behind it, not the smoke before the solid.
#[test]
fn a_divided_march_keeps_the_smoke_beside_a_solid() {
    let size = [439, 380];
    let Some(mut gl) = offscreen(size) else { return };
    let mut snapshot = plume(Dims::new([40, 56, 36]).unwrap(), 0.02, Tint::Even);
    let ball = Solid::new(SolidShape::Sphere { radius: 0.13 }, [0.4, 0.5, 0.5]);
    snapshot.solids = vec![ball.pose(0.0, 0.0)];
    let look = Look { solids: vec![[0.6, 0.3, 0.2]], outline: false, ..Look::default() };
    let camera = Camera::framing(snapshot.extent());
    let view = view(&look, &camera);
    let mut at = |divide| by_both(&mut gl, Quality { divide, ..Quality::FINAL }, &snapshot, &view, size);
    let full = at(1);
    for divide in [2, 4] {
        let worst = at(divide).iter().zip(&full).map(|(a, b)| difference(a, b).1).max();
        assert!(worst < Some(50), "1/{divide}: {worst:?} of 255");
    }
}

/// A still picture gets smoother: sixteen passes are closer to many passes than one is.
#[test]
fn passes_average_out_the_grain() {
    let Some(mut gl) = offscreen(SIZE) else { return };
    let snapshot = plume(Dims::new([40, 56, 36]).unwrap(), 0.02, Tint::Even);
    let look = Look { samples: 0.3, outline: false, floor: None, ..Look::default() };
    let camera = Camera::framing(snapshot.extent());
    let view = view(&look, &camera);
    for by_packets in [true, false] {
        let mut linear = |passes| {
            let quality = Quality { passes, ..Quality::FINAL };
            gl.set_quality(quality);
            match by_packets {
                true => cpu_renderer(false, quality).render_linear(&snapshot, &view, SIZE, &|_| ()).unwrap(),
                false => gl.render_linear(&snapshot, &view).unwrap(),
            }
        };
        let (one, sixteen, all) = (linear(1), linear(16), linear(32));
        let off = |a: &LinearImage| -> f32 {
            a.rgba.iter().flatten().zip(all.rgba.iter().flatten()).map(|(a, b)| (a - b).abs()).sum()
        };
        assert!(off(&sixteen) < 0.4 * off(&one), "{} against {}", off(&sixteen), off(&one));
    }
}

/// A picture rendered into part of a target is complete and does not change the remaining pixels.
#[test]
fn odd_sizes_and_bad_sizes() {
    let Some(mut gl) = offscreen([33, 17]) else { return };
    let snapshot = plume(Dims::new([9, 7, 5]).unwrap(), 0.1, Tint::Even);
    let (look, camera) = (Look::default(), Camera::framing(snapshot.extent()));
    let image = gl.render(&snapshot, &view(&look, &camera)).unwrap();
    assert_eq!(image.rgba.len(), 4 * 33 * 17);
    assert!(matches!(gl.resize(0, 10), Err(RenderError::Size(0, 10, _))));
    assert!(matches!(Offscreen::new(4, 1 << 20), Err(RenderError::Size(..))));
}
