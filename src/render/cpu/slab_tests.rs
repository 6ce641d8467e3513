//! Pictures of several ranks against those of one process.

use std::sync::Arc;

use super::*;
use crate::comm::{Comm, ThreadRanks};
use crate::look::{Camera, CameraProjection, Emitter, Light};
use crate::render::exposure::{exposed, exposed_slab, reach};
use crate::render::procedural::{Tint, plume};
use crate::render::sprite::{motion, motion_of_slabs};
use crate::snapshot::{SolidShape, fastest};
use crate::solver::{
    BoundaryCondition, Config, Fill, Form, Integrator, Params, Region, Solid, Solver, Source,
};

const SIZE: [u32; 2] = [100, 75];

/// Returns the picture of one process, and that of `size` ranks with a thread or two each.
fn pictures(snapshot: &Snapshot, view: &View, quality: Quality, size: usize) -> [LinearImage; 2] {
    let renderer = || {
        let mut cpu = CpuRenderer::new();
        cpu.set_quality(quality);
        cpu
    };
    let whole = renderer().render_linear(snapshot, view, SIZE, &|_| ()).unwrap();
    let slab = |comm: Arc<dyn Comm>| {
        let (nz, rank) = (snapshot.dims.nz, comm.rank());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1 + rank % 2).build().unwrap();
        let mut cpu = renderer();
        let halo = cpu.halo(view.look, snapshot.dims);
        let own = [nz * rank / size, nz * (rank + 1) / size];
        pool.install(|| {
            let slab = SnapshotSlab::cut(comm, snapshot, own, halo);
            cpu.render_slabs_linear(&slab, view, SIZE).unwrap()
        })
    };
    let mut found: Vec<_> = ThreadRanks::run(size, slab).into_iter().flatten().collect();
    assert_eq!(found.len(), 1, "the first rank has the picture");
    [whole, found.remove(0)]
}

/// Asserts that pictures of two, three and five ranks have the bytes of one process.
fn check(what: &str, snapshot: &Snapshot, look: &Look, camera: &Camera, quality: Quality) {
    let view = View { look, camera, cursor: None, mode: Mode::Smoke };
    for size in [2, 3, 5] {
        let [whole, shared] = pictures(snapshot, &view, quality, size);
        let seen = whole.rgba.iter().filter(|pixel| pixel[3] > 0.1).count();
        assert!(seen > 100, "{what}: {seen} pixels of smoke");
        let differs =
            whole.rgba.iter().zip(&shared.rgba).position(|(a, b)| a.map(f32::to_bits) != b.map(f32::to_bits));
        if let Some(n) = differs {
            let count = whole.rgba.iter().zip(&shared.rgba).filter(|(a, b)| a != b).count();
            let at = [n % SIZE[0] as usize, n / SIZE[0] as usize];
            panic!(
                "{what}, {size} ranks: {count} pixels, the first at {at:?}: {:?}, not {:?}",
                shared.rgba[n], whole.rgba[n]
            );
        }
        assert!(whole.depth == shared.depth, "{what}, {size} ranks: another depth");
    }
}

fn smoke() -> Snapshot {
    plume(Dims::new([40, 56, 37]).unwrap(), 0.02, Tint::Sectors)
}

#[test]
fn eyes_at_all_sides_of_the_slabs_see_the_bytes_of_one_process() {
    let (snapshot, look) = (smoke(), Look::default());
    let [x, y, z] = snapshot.extent();
    let framing = Camera::framing(snapshot.extent());
    let eyes = [
        ("before the first slab", [0.3 * x, 0.6 * y, -1.2], [0.5 * x, 0.5 * y, 0.5 * z]),
        ("behind the last slab", [1.4 * x, 0.4 * y, z + 0.9], [0.5 * x, 0.5 * y, 0.5 * z]),
        ("beside all slabs", [x + 0.8, 0.5 * y, 0.47 * z], [0.5 * x, 0.5 * y, 0.5 * z]),
        ("in a slab", [0.15 * x, 0.3 * y, 0.52 * z], [0.7 * x, 0.5 * y, 0.45 * z]),
    ];
    for (what, position, target) in eyes {
        let camera = Camera { position, target, ..framing };
        check(what, &snapshot, &look, &camera, Quality { passes: 2, ..Quality::SMOOTH });
    }
    for (position, target) in [
        ([0.5 * x, 0.5 * y, -2.0], [0.5 * x, 0.5 * y, 0.0]),
        ([x + 2.0, 0.5 * y, 0.5 * z], [0.5 * x, 0.5 * y, 0.5 * z]),
    ] {
        let camera = Camera { position, target, projection: CameraProjection::Orthographic, ..framing };
        check("parallel rays", &snapshot, &look, &camera, Quality::FINAL);
    }
}

#[test]
fn solids_lights_and_glow_across_slabs_are_those_of_one_process() {
    let mut snapshot = smoke();
    let [x, y, z] = snapshot.extent();
    snapshot.solids =
        vec![Solid::new(SolidShape::Sphere { radius: 0.12 }, [0.6 * x, 0.5 * y, 0.5 * z]).pose(0.0, 0.0)];
    let emitter = Emitter::Point { position: [1.2 * x, 0.8 * y, 0.2 * z], radius: 0.05 };
    let lights = vec![Light { emitter, color: [1.0, 0.5, 0.2], strength: 4.0 }];
    let look = Look { glow: 2.0, lights, outline: true, ..Look::default() };
    let camera = Camera::framing(snapshot.extent());
    check("everything", &snapshot, &look, &camera, Quality { passes: 2, ..Quality::SMOOTH });
}

#[test]
fn coarse_steps_and_coarse_light_reach_beyond_thin_slabs() {
    let snapshot = smoke();
    let camera = Camera::framing(snapshot.extent());
    let look = Look { light_scale: 0.15, samples: 0.3, ..Look::default() };
    check("coarse", &snapshot, &look, &camera, Quality { divide: 2, ..Quality::FINAL });
    let fine = Look { light_scale: 1.0, samples: 2.0, ..Look::default() };
    check("fine", &snapshot, &fine, &camera, Quality::FINAL);
}

#[test]
fn a_box_without_smoke_is_shown_too() {
    let dims = Dims::new([16, 16, 16]).unwrap();
    let snapshot = Snapshot::empty(dims, 0.1);
    let (look, camera) = (Look::default(), Camera::framing(snapshot.extent()));
    let view = View { look: &look, camera: &camera, cursor: None, mode: Mode::Smoke };
    let [whole, shared] = pictures(&snapshot, &view, Quality::FINAL, 3);
    assert!(whole == shared);
}

/// A ball in finer smoke, simulated and rendered by ranks.
#[test]
fn the_picture_of_a_shared_run_is_that_of_one_process() {
    let solve = |comm: Option<Arc<dyn Comm>>| {
        let mut config = Config::new(Dims::new([14, 18, 17]).unwrap(), 0.05);
        (config.threads, config.detail) = (1, 2);
        let ball = Region::new(Form::Body(SolidShape::Sphere { radius: 0.2 }), [0.35, 0.25, 0.4]);
        let sources = vec![Source::new(ball, [6.0, 2.0, 0.0, 300.0])];
        let mut solver = Solver::on_ranks(config, Params::default(), sources, comm).unwrap();
        let obstacle = Solid::new(SolidShape::Sphere { radius: 0.1 }, [0.35, 0.6, 0.45]);
        solver.set_solids(vec![obstacle]).unwrap();
        for _ in 0..4 {
            solver.step(0.05).unwrap();
        }
        solver
    };
    let mut snapshot = Snapshot::empty(Dims::new([1; 3]).unwrap(), 1.0);
    snapshot.capture(&solve(None), false);
    let (look, camera) = (Look::default(), Camera::framing(snapshot.extent()));
    let view = View { look: &look, camera: &camera, cursor: None, mode: Mode::Smoke };
    let whole = CpuRenderer::new().render(&snapshot, &view, SIZE, &|_| ()).unwrap();
    ThreadRanks::run(3, |comm| {
        let solver = solve(Some(comm.clone()));
        let (mut cpu, mut slab) = (CpuRenderer::new(), SnapshotSlab::new(comm.clone()));
        let halo = cpu.halo(view.look, snapshot.dims);
        slab.capture(&solver, |_, _| halo);
        assert!(slab.whole().bricks.max == snapshot.bricks.max);
        let image = cpu.render_slabs(&slab, &view, SIZE).unwrap();
        assert_eq!(image.is_some(), comm.rank() == 0);
        assert!(image.is_none_or(|image| image == whole), "other bytes");
    });
}

/// Returns smoke that moves in all directions, fast enough to cross slabs while the shutter is open.
fn moving_smoke() -> Snapshot {
    let mut snapshot = smoke();
    let dims = snapshot.dims;
    let speed = |n: usize| {
        let [x, y, z] = dims.place(n).map(|n| n as f32);
        [(0.3 * y).sin(), 0.5 + (0.2 * z).cos(), 2.5 * (0.15 * x + 0.2 * y).sin(), 0.0]
            .map(half::f16::from_f32)
    };
    snapshot.velocity = (0..snapshot.smoke.len()).map(speed).collect();
    let [x, y, z] = snapshot.extent();
    let mut ball =
        Solid::new(SolidShape::Sphere { radius: 0.08 }, [0.6 * x, 0.5 * y, 0.5 * z]).pose(0.0, 0.0);
    ball.velocity = [0.4, 0.0, 1.0];
    snapshot.solids = vec![ball];
    snapshot
}

/// Calls `work` on each of `size` ranks with a slab of `snapshot` and its halo planes.
fn on_slabs<T: Send>(
    snapshot: &Snapshot,
    size: usize,
    halo: [usize; 2],
    work: impl Fn(&SnapshotSlab) -> T + Sync,
) -> Vec<T> {
    ThreadRanks::run(size, |comm| {
        let own = SnapshotSlab::share(&*comm, snapshot.dims.nz);
        work(&SnapshotSlab::cut(comm, snapshot, own, halo))
    })
}

#[test]
fn motion_blur_of_slabs_has_the_bytes_of_one_process() {
    let (snapshot, look) = (moving_smoke(), Look::default());
    let (camera, exposure) = (Camera::framing(snapshot.extent()), 0.1);
    let view = View { look: &look, camera: &camera, cursor: None, mode: Mode::Smoke };
    let quality = Quality { passes: 2, ..Quality::SMOOTH };
    let mut cpu = CpuRenderer::new();
    let whole = exposed(
        &snapshot,
        exposure,
        quality,
        |_| camera,
        |snapshot, _, quality| {
            cpu.set_quality(quality);
            Ok::<_, ()>(cpu.render_linear(snapshot, &view, SIZE, &|_| ()).unwrap())
        },
    );
    let whole = whole.unwrap();
    cpu.set_quality(quality);
    let halo = cpu.halo(&look, snapshot.dims);
    let deep = reach(fastest(&snapshot.velocity), exposure, snapshot.h);
    assert!(deep > snapshot.dims.nz / 5, "smoke comes from beyond the next slab");
    for size in [2, 5] {
        let found = on_slabs(&snapshot, size, halo.map(|planes| planes.max(deep)), |slab| {
            let mut cpu = CpuRenderer::new();
            let paint = |slab: &SnapshotSlab, _: &Camera, quality| {
                cpu.set_quality(quality);
                let image = cpu.render_slabs_linear(slab, &view, SIZE).unwrap();
                Ok::<_, ()>(image.unwrap_or(LinearImage { width: 0, height: 0, rgba: vec![], depth: vec![] }))
            };
            exposed_slab(slab, exposure, quality, halo, |_| camera, paint).unwrap()
        });
        assert!(found[0] == whole, "{size} ranks");
    }
}

#[test]
fn motion_in_the_picture_of_slabs_has_the_bytes_of_one_process() {
    let (snapshot, look) = (moving_smoke(), Look::default());
    let framing = Camera::framing(snapshot.extent());
    let [x, y, z] = snapshot.extent();
    let inside = Camera { position: [0.1 * x, 0.3 * y, 0.5 * z], ..framing };
    let beyond = Camera { position: [0.5 * x, 0.5 * y, z + 2.0], ..framing };
    let flat = Camera {
        position: [x + 2.0, 0.5 * y, 0.5 * z],
        projection: CameraProjection::Orthographic,
        ..framing
    };
    for camera in [framing, inside, beyond, flat] {
        let whole = motion(&snapshot, &look, &camera, SIZE, 0.1);
        assert!(whole.iter().filter(|m| m[0].abs() > 1e-3).count() > 100, "it moves");
        for size in [2, 3, 5] {
            let found =
                on_slabs(&snapshot, size, [2, 2], |slab| motion_of_slabs(slab, &look, &camera, SIZE, 0.1));
            assert!(found[0].as_ref() == Some(&whole), "{size} ranks, {:?}", camera.position);
            assert!(found[1..].iter().all(Option::is_none));
        }
    }
}

/// Compares the velocity of slabs of a run: in boxes with finer smoke, periodic along z, above the ground,
/// that follow their smoke, around a moving ball, and before the first step. It needs no messages: each step,
/// and each edit of the fields, leaves two halo planes beside the slab.
#[test]
fn slabs_of_a_run_have_the_cells_of_one_process() {
    type Changes = fn(&mut Config);
    let (open, closed, periodic) =
        (BoundaryCondition::Open, BoundaryCondition::Closed, BoundaryCondition::Periodic);
    let none: Changes = |_| ();
    let freeze: Changes = |config| config.frozen = true;
    let reflect: Changes = |config| config.integrator = Integrator::Reflection;
    let trapezoid: Changes = |config| config.integrator = Integrator::Trapezoid;
    let follow: Changes = |config| (config.follow.on, config.follow.margin) = (true, 3);
    for (detail, z, low, steps, has_ball, change) in [
        (1, open, 0, 4, true, none),
        (2, closed, 0, 4, false, none),
        (2, periodic, 0, 4, true, none),
        (1, periodic, 5, 4, false, none),
        (2, open, 8, 4, false, none),
        (3, open, 0, 2, true, reflect),
        (1, closed, 0, 2, false, trapezoid),
        (2, open, 0, 4, false, follow),
        (2, closed, 0, 2, false, freeze),
        (2, periodic, 0, 0, true, none),
        (1, open, 0, 0, false, freeze),
    ] {
        let solve = |comm: Option<Arc<dyn Comm>>| {
            let mut config = Config::new(Dims::new([14, 18, 17]).unwrap(), 0.05);
            (config.threads, config.detail, config.origin) = (1, detail, [0, low, 3]);
            config.sides = [[open; 2], [open; 2], [z; 2]];
            change(&mut config);
            let region = |z| {
                let sphere = Form::Body(SolidShape::Sphere { radius: 0.2 });
                Region::new(sphere, [0.35, 0.25 + 0.05 * low as f32, z])
            };
            let source = Source {
                velocity: Some([0.5, 1.0, 2.0]),
                ..Source::new(region(0.55), [6.0, 2.0, 0.0, 300.0])
            };
            let mut solver = Solver::on_ranks(config, Params::default(), vec![source], comm).unwrap();
            if has_ball {
                let keyframes = vec![(0.0, [0.2, 0.6, 0.4]), (0.2, [0.4, 0.7, 0.8])];
                let ball = Solid::new(SolidShape::Sphere { radius: 0.12 }, [0.0; 3]);
                solver.set_solids(vec![Solid { keyframes, ..ball }]).unwrap();
            }
            let (scalars, velocity) = ([Some(1.0), None, None, Some(100.0)], Some([0.5, 2.0, -1.0]));
            solver.fill_regions(&[Fill { region: region(0.5), scalars, velocity, noise: None }]).unwrap();
            for _ in 0..steps {
                solver.step(0.05).unwrap();
            }
            solver
        };
        let mut snapshot = Snapshot::empty(Dims::new([1; 3]).unwrap(), 1.0);
        snapshot.capture(&solve(None), true);
        let top = fastest(&snapshot.velocity);
        assert!(top > 0.3, "{top}");
        ThreadRanks::run(3, |comm| {
            let solver = solve(Some(comm.clone()));
            let mut slab = SnapshotSlab::new(comm.clone());
            slab.capture_motion(&solver);
            slab.capture(&solver, |whole, _| {
                assert_eq!((whole.dims, whole.start), (snapshot.dims, snapshot.start));
                [2, 2]
            });
            let what = format!("rank {}, detail {detail}, {z:?}, from {low}, {steps} steps", comm.rank());
            assert!(slab.whole().bricks.max == snapshot.bricks.max, "{what}: bricks");
            let plane = snapshot.dims.nx * snapshot.dims.ny;
            let part = slab.part();
            let ([from, to], velocity) = slab.motion().unwrap().cells();
            let own = slab.own();
            assert_eq!([from, to], [own[0].saturating_sub(1), (own[1] + 1).min(snapshot.dims.nz)]);
            let smoke = &part.planes.smoke[(from - part.first) * plane..][..(to - from) * plane];
            assert!(*smoke == snapshot.smoke[from * plane..to * plane], "{what}: smoke");
            for (n, (found, want)) in velocity.iter().zip(&snapshot.velocity[from * plane..]).enumerate() {
                let at = [n % snapshot.dims.nx, n / snapshot.dims.nx % snapshot.dims.ny, from + n / plane];
                assert_eq!(found[..3], want[..3], "{what} at {at:?}");
            }
            assert_eq!(slab.motion().unwrap().fastest(), top);
        });
    }
}
