//! A scene to files: every fourth frame as a PNG, and the fields of the last one as npz for NumPy.
//!
//!     cargo run --release --no-default-features --features scene --example frames

use updraft::field::{Field, NoPressure};
use updraft::output::png;
use updraft::output::whole::{self, Existing};
use updraft::render::CpuRenderer;
use updraft::render::{Mode, View};
use updraft::{Scene, Snapshot, npz};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scene = Scene::load("plume", &["domain.cells=[40, 60, 40]".into(), "domain.voxel=0.016".into()])?;
    let folder = std::env::temp_dir().join("updraft-frames");
    std::fs::create_dir_all(&folder)?;
    let mut solver = scene.solver()?;
    let mut snapshot = Snapshot::empty(scene.config.smoke_dims(), scene.config.smoke_h());
    let mut renderer = CpuRenderer::new();
    let (steps, dt) = scene.time.steps_per_frame();
    for frame in 1..=12 {
        for _ in 0..steps {
            solver.step(dt)?;
        }
        if frame % 4 == 0 {
            snapshot.capture(&solver, false);
            let view = View { look: &scene.look, camera: &scene.camera, cursor: None, mode: Mode::Smoke };
            let path = folder.join(format!("plume.{frame:04}.png"));
            png::write(&path, Existing::Replace, &renderer.render(&snapshot, &view, [240, 320], &|_| ())?)?;
            println!("{}", path.display());
        }
    }
    let fields = folder.join("fields.npz");
    let arrays = Field::STORED.into_iter().map(|field| Ok((field.name(), field.array(&solver)?)));
    let arrays = arrays.collect::<Result<Vec<_>, NoPressure>>()?;
    whole::write(&fields, |file| npz::write(file, &[("time", solver.stats().time)], arrays))?;
    println!("{}", fields.display());
    Ok(())
}
