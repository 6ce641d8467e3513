//! Pictures of a procedural plume: whole frames by size of grid and march, the light volume alone, and the
//! renderer without GL. The solver is idle; a software driver shares the processor's cores with these times.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use updraft::grid::Dims;
use updraft::look::{Camera, Look};
use updraft::render::CpuRenderer;
use updraft::render::light::LightVolume;
use updraft::render::procedural::{Tint, plume};
use updraft::render::{Mode, View};
use updraft::snapshot::Snapshot;

const SIZE: [u32; 2] = [640, 480];

fn snapshot(cells: usize) -> Snapshot {
    let mut snapshot = plume(Dims::new([cells; 3]).unwrap(), 1.0 / cells as f32, Tint::Sectors);
    snapshot.velocity.clear();
    snapshot
}

fn light(c: &mut Criterion) {
    let mut group = c.benchmark_group("light volume");
    for cells in [64, 128, 256] {
        let (snapshot, look) = (snapshot(cells), Look::default());
        let mut light = LightVolume::default();
        group.bench_function(BenchmarkId::from_parameter(cells), |b| b.iter(|| light.bake(&snapshot, &look)));
    }
    group.finish();
}

fn without_gl(c: &mut Criterion) {
    let (snapshot, look) = (snapshot(128), Look::default());
    let camera = Camera::framing(snapshot.extent());
    let view = View { look: &look, camera: &camera, cursor: None, mode: Mode::Smoke };
    let mut cpu = CpuRenderer::new();
    c.bench_function("without GL/128", |b| {
        b.iter(|| black_box(cpu.render(&snapshot, &view, SIZE, &|_| ()).unwrap()));
    });
}

#[cfg(feature = "viewer")]
fn frames(c: &mut Criterion) {
    use updraft::render::{Offscreen, Quality, RenderError};
    let mut gl = match Offscreen::new(SIZE[0], SIZE[1]) {
        Ok(gl) => gl,
        Err(RenderError::NoGl(why)) => return eprintln!("no frames to time: {why}"),
        Err(other) => panic!("{other}"),
    };
    let mut group = c.benchmark_group("frame");
    for cells in [64, 128] {
        let (snapshot, look) = (snapshot(cells), Look::default());
        let camera = Camera::framing(snapshot.extent());
        let view = View { look: &look, camera: &camera, cursor: None, mode: Mode::Smoke };
        for (name, quality) in [("full size", Quality::FINAL), ("half size", Quality::INTERACTIVE)] {
            gl.set_quality(quality);
            // Upload, light volume, all passes and the copy back to memory.
            group.bench_function(BenchmarkId::new(name, cells), |b| {
                b.iter(|| black_box(gl.render(&snapshot, &view).unwrap()));
            });
        }
    }
    group.finish();
}

#[cfg(not(feature = "viewer"))]
fn frames(_: &mut Criterion) {}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3));
    targets = light, without_gl, frames
}
criterion_main!(benches);
