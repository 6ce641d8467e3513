//! Pictures without a window: by OpenGL if it is available, otherwise on the CPU.

use crate::look::Scattering;
use crate::render::CpuRenderer;
use crate::render::{Image, LinearImage, Mode, Quality, RenderError, View};
use crate::scene::Scene;
use crate::snapshot::Snapshot;

/// Renders pictures of one size.
pub enum Painter {
    /// With OpenGL.
    #[cfg(feature = "viewer")]
    Gl(Box<crate::render::Offscreen>),
    /// On the CPU.
    Cpu(Box<CpuRenderer>),
}

impl Painter {
    /// Makes a renderer for pictures of `scene`. `cpu` forces the CPU renderer. Any other reason for it is
    /// reported on stderr unless `quiet`.
    pub fn new(scene: &Scene, cpu: bool, quiet: bool) -> Result<Self, RenderError> {
        if cpu || scene.look.scattering == Scattering::Traced {
            return Ok(Self::on_cpu());
        }
        match Self::with_gl(scene) {
            Err(RenderError::NoGl(why)) => {
                if !quiet {
                    super::tell(&format!("updraft: no OpenGL here ({why}); rendering on the CPU"));
                }
                Ok(Self::on_cpu())
            }
            other => other,
        }
    }

    fn on_cpu() -> Self {
        Self::Cpu(Box::new(CpuRenderer::new()))
    }

    #[cfg(feature = "viewer")]
    fn with_gl(scene: &Scene) -> Result<Self, RenderError> {
        let [width, height] = scene.size;
        let offscreen = crate::render::Offscreen::new(width, height)?;
        tracing::info!("drawing with {}", offscreen.driver());
        Ok(Self::Gl(Box::new(offscreen)))
    }

    #[cfg(not(feature = "viewer"))]
    fn with_gl(_scene: &Scene) -> Result<Self, RenderError> {
        Ok(Self::on_cpu())
    }

    fn set_quality(&mut self, quality: Quality) {
        match self {
            #[cfg(feature = "viewer")]
            Self::Gl(offscreen) => offscreen.set_quality(quality),
            Self::Cpu(cpu) => cpu.set_quality(quality),
        }
    }

    /// Renders `snapshot` with the look and camera of `scene`.
    pub fn paint(&mut self, snapshot: &Snapshot, scene: &Scene) -> Result<Image, RenderError> {
        self.set_quality(quality(snapshot));
        match self {
            #[cfg(feature = "viewer")]
            Self::Gl(offscreen) => offscreen.render(snapshot, &view(scene)),
            Self::Cpu(cpu) => Ok(cpu.render(snapshot, &view(scene), scene.size, &|_| ())),
        }
    }

    /// Renders a picture before background and tone map.
    pub fn paint_linear(&mut self, snapshot: &Snapshot, scene: &Scene) -> Result<LinearImage, RenderError> {
        self.set_quality(quality(snapshot));
        match self {
            #[cfg(feature = "viewer")]
            Self::Gl(offscreen) => offscreen.render_linear(snapshot, &view(scene)),
            Self::Cpu(cpu) => Ok(cpu.render_linear(snapshot, &view(scene), scene.size, &|_| ())),
        }
    }
}

/// Chooses the quality: smoke alone has few hard edges to smooth, those of the box.
fn quality(snapshot: &Snapshot) -> Quality {
    if snapshot.solids.is_empty() { Quality { passes: 4, ..Quality::SMOOTH } } else { Quality::SMOOTH }
}

fn view(scene: &Scene) -> View<'_> {
    View { look: &scene.look, camera: &scene.camera, cursor: None, mode: Mode::Smoke }
}
