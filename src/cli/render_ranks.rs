//! `updraft render` on several ranks: each renders the smoke of its slab, and the first writes the pictures.

use std::sync::Arc;
use std::time::Instant;

use super::painter::{clear, layer_of_motion, layers_of_lights, quality, transmittance, view};
use super::render_job::{Feed, Job, Report};
use super::sink::Target;
use super::{CliError, Common, interrupt, say_line};
use crate::comm::{Comm, of_all};
use crate::look::Scattering;
use crate::output::exr::Extra;
use crate::render::{CpuRenderer, LinearImage, Quality, RenderError, exposure, sprite};
use crate::room;
use crate::scene::{Scene, memory};
use crate::snapshot::{Motion, Snapshot, SnapshotSlab};

/// Renders the pictures of `job` on all ranks.
pub fn run(job: Job, scene: &Scene, common: &Common, comm: &Arc<dyn Comm>) -> Result<(), CliError> {
    if scene.look.scattering == Scattering::Traced {
        return Err(CliError::Request(
            "path tracing needs the smoke of the whole box on one rank: simulate with --format npz or vdb, and render the frames by \
             `updraft render --from` without mpirun"
                .into(),
        ));
    }
    let Job { frames, out, supply, skip, layers, .. } = job;
    let is_first = comm.rank() == 0;
    let target = Target::new(&out, frames, is_first)?.with_layers(layers)?;
    let mut wanted = Vec::new();
    for frame in frames.iter() {
        // The first rank decides which files exist.
        let found = of_all(&**comm, u8::from(skip && target.has(frame)));
        if found[0] == 0 {
            wanted.push(frame);
        }
    }
    if wanted.is_empty() {
        return say_line(&target.summary(frames.count()));
    }
    let kept = frames.count() - wanted.len() as u32;
    let mut feed = Feed::new(scene, supply, frames, Some(comm.clone()), interrupt::flag())?;
    interrupt::catch();
    room::probe(memory::picture(scene.size), "a picture of this size")?;
    let mut output = match is_first {
        true => {
            let lock = target.lock(skip)?;
            Some((target.open(scene.size, scene.time.frame_rate, common.force || skip)?, lock))
        }
        false => None,
    };
    let mut report = Report::new(feed.total(frames), frames.count(), common.quiet || !is_first);
    let mut painter = SlabPainter { renderer: CpuRenderer::new(), halo: [0; 2] };
    let mut slab = SnapshotSlab::new(comm.clone());
    let mut shown = scene.clone();
    let moves = layers || scene.camera.lens.shutter > 0.0;
    for frame in wanted {
        match &mut feed {
            Feed::Live(run) => {
                while run.frame() < frame {
                    let finished = run.step()?;
                    if let Some(by) = interrupt::by_any(Some(&**comm)) {
                        return Err(report.stopped_by(&by));
                    }
                    if finished {
                        report.show(run.frame(), &format!("{:.0} ms/step", run.ms_per_step()));
                    }
                }
                if moves {
                    slab.capture_motion(run.solver());
                }
                slab.capture(run.solver(), |whole, motion| painter.planes(scene, whole, motion));
            }
            Feed::Stored(folder) => {
                if let Some(by) = interrupt::by_any(Some(&**comm)) {
                    return Err(report.stopped_by(&by));
                }
                folder.load_slab(frame, scene, &mut slab, moves, |whole, motion| {
                    painter.planes(scene, whole, motion)
                })?;
                report.show(report.pictures, "");
            }
        }
        let began = Instant::now();
        shown.camera = scene.camera_at(frame as f32 / scene.time.frame_rate);
        if target.is_linear() {
            let image = painter.paint_linear(&slab, &shown)?;
            let extra = if layers { painter.paint_layers(&mut slab, &shown)? } else { Vec::new() };
            if let Some((sink, _)) = &mut output {
                sink.put_linear(frame, &image, &extra)?;
            }
        } else if shown.camera.lens.shutter > 0.0 {
            let image = painter.paint_linear(&slab, &shown)?;
            if let Some((sink, _)) = &mut output {
                sink.put(frame, &image.present(&view(&shown)))?;
            }
        } else {
            painter.renderer.set_quality(quality(slab.whole(), &shown));
            let image = painter.renderer.render_slabs(&slab, &view(&shown), shown.size)?;
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
    say_line(&target.summary(kept))
}

/// Renders the slabs of several ranks. All ranks call the same functions; the first gets pictures, the others
/// empty ones.
struct SlabPainter {
    renderer: CpuRenderer,
    /// Planes below and above the slab that a picture reads.
    halo: [usize; 2],
}

impl SlabPainter {
    /// Returns the planes below and above this rank's slab that a picture of a box with this `motion` reads.
    fn planes(&mut self, scene: &Scene, whole: &Snapshot, motion: Option<&Motion>) -> [usize; 2] {
        self.renderer.set_quality(quality(whole, scene));
        self.halo = self.renderer.halo(&scene.look, whole.dims);
        let exposure = scene.camera.lens.shutter / scene.time.frame_rate;
        // Smoke crosses up to `reach` planes while the shutter is open.
        let reach = motion.map_or(0, |motion| exposure::reach(motion.fastest(), exposure, whole.h));
        self.halo.map(|planes| planes.max(reach).min(whole.dims.nz))
    }

    /// Renders as [`Painter::paint_linear`](super::painter::Painter::paint_linear) does.
    fn paint_linear(&mut self, slab: &SnapshotSlab, scene: &Scene) -> Result<LinearImage, RenderError> {
        let quality = quality(slab.whole(), scene);
        let exposure = scene.camera.lens.shutter / scene.time.frame_rate;
        if exposure <= 0.0 {
            return self.paint_instant(slab, scene, quality);
        }
        let (camera_at, halo) = (|time: f32| scene.camera_at(time), self.halo);
        let paint = |slab: &SnapshotSlab, camera: &_, quality| {
            self.paint_instant(slab, &Scene { camera: *camera, ..scene.clone() }, quality)
        };
        exposure::exposed_slab(slab, exposure, quality, halo, camera_at, paint)
    }

    /// Renders as [`Painter::paint_layers`](super::painter::Painter::paint_layers) does, of a slab with its
    /// velocity.
    fn paint_layers(&mut self, slab: &mut SnapshotSlab, scene: &Scene) -> Result<Vec<Extra>, RenderError> {
        let mut layers = layers_of_lights(scene, |shown| self.paint_linear(slab, shown))?;
        let mut solids = Vec::new();
        slab.swap_solids(&mut solids);
        let bare = self.paint_linear(slab, &clear(scene));
        slab.swap_solids(&mut solids);
        layers.push(transmittance(&bare?));
        let interval = 1.0 / scene.time.frame_rate;
        let motion = sprite::motion_of_slabs(slab, &scene.look, &scene.camera, scene.size, interval);
        layers.push(layer_of_motion(&motion.unwrap_or_default(), scene.size));
        Ok(layers)
    }

    fn paint_instant(
        &mut self,
        slab: &SnapshotSlab,
        scene: &Scene,
        quality: Quality,
    ) -> Result<LinearImage, RenderError> {
        self.renderer.set_quality(quality);
        let image = self.renderer.render_slabs_linear(slab, &view(scene), scene.size)?;
        let none = || LinearImage { width: 0, height: 0, rgba: Vec::new(), depth: Vec::new() };
        Ok(image.unwrap_or_else(none))
    }
}
