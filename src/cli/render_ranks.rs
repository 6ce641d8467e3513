//! `updraft render` on several ranks: each renders the smoke of its slab, and the first writes the pictures.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::mpirun::holds_on_first;
use super::painter::{quality, view};
use super::render_job::{Feed, Job, Report};
use super::sink::Target;
use super::{CliError, Common, interrupt, say};
use crate::comm::Comm;
use crate::look::Scattering;
use crate::render::CpuRenderer;
use crate::room;
use crate::scene::{Scene, memory};
use crate::snapshot::SnapshotSlab;

/// Renders `scene` as `job` says.
pub fn run(job: Job, scene: &Scene, common: &Common, comm: &Arc<dyn Comm>) -> Result<(), CliError> {
    refuse(&job, scene)?;
    let Job { frames, out, supply, skip, .. } = job;
    let is_first = comm.rank() == 0;
    let target = Target::new(&out, frames, common.quiet || !is_first)?;
    let mut wanted = Vec::new();
    for frame in frames.iter() {
        if !holds_on_first(&**comm, skip && target.has(frame)) {
            wanted.push(frame);
        }
    }
    if wanted.is_empty() {
        return say(&format!("{}\n", target.summary()));
    }
    let mut feed = Feed::new(scene, supply, frames, Some(comm.clone()), interrupt::flag())?;
    let stop = interrupt::catch();
    room::probe(memory::picture(scene.size), "a picture of this size")?;
    let mut output = match is_first {
        true => {
            let lock = target.lock(skip)?;
            Some((target.open(scene.size, scene.time.frame_rate, common.force || skip)?, lock))
        }
        false => None,
    };
    let mut report = Report::new(feed.total(frames), frames.count(), common.quiet || !is_first);
    let mut renderer = CpuRenderer::new();
    let mut slab = SnapshotSlab::new(comm.clone());
    let mut shown = scene.clone();
    let dims = scene.config.smoke_dims();
    if let Some(points) = renderer.fewer_points_on_ranks(&scene.look, dims) {
        tracing::warn!(
            "the light volume has {points:?} points on several ranks, where one process has more; \
             a lower render.light.resolution gives both the same"
        );
    }
    for frame in wanted {
        match &mut feed {
            Feed::Live(run) => {
                while run.frame() < frame {
                    let finished = run.step()?;
                    if run.solver().any_rank(stop.load(Ordering::Relaxed)) {
                        return Err(report.stopped());
                    }
                    if finished {
                        report.show(run.frame(), &format!("{:.0} ms/step", run.ms_per_step()));
                    }
                }
                let beside = renderer.beside(&scene.look, run.solver().config().smoke_dims());
                slab.capture(run.solver(), beside);
            }
            Feed::Stored(folder) => {
                if holds_on_first(&**comm, stop.load(Ordering::Relaxed)) {
                    return Err(report.stopped());
                }
                folder.load_slab(frame, scene, &mut slab, |dims| renderer.beside(&scene.look, dims))?;
                report.show(report.pictures, "");
            }
        }
        let began = Instant::now();
        renderer.set_quality(quality(slab.whole(), scene));
        shown.camera = scene.camera_at(frame as f32 / scene.time.frame_rate);
        if target.is_linear() {
            let image = renderer.render_slabs_linear(&slab, &view(&shown), scene.size);
            if let (Some((sink, _)), Some(image)) = (&mut output, image) {
                sink.put_linear(frame, &image, &[])?;
            }
        } else {
            let image = renderer.render_slabs(&slab, &view(&shown), scene.size);
            if let (Some((sink, _)), Some(image)) = (&mut output, image) {
                sink.put(frame, &image)?;
            }
        }
        report.finished(began.elapsed());
    }
    if let Some((sink, _)) = output {
        sink.finish()?;
    }
    drop(report);
    say(&format!("{}\n", target.summary()))
}

/// Refuses what works on one rank only.
fn refuse(job: &Job, scene: &Scene) -> Result<(), CliError> {
    let what = match job {
        Job { layers: true, .. } => "--layers",
        _ if scene.look.scattering == Scattering::Traced => "path tracing",
        _ if scene.camera.lens.shutter > 0.0 => "render.camera.shutter",
        _ => return Ok(()),
    };
    Err(CliError::Request(format!("{what} works on one rank only; run this without mpirun")))
}
