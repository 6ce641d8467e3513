//! Pictures without a window.

use crate::render::{Image, Mode, RenderError, View};
use crate::scene::Scene;
use crate::snapshot::Snapshot;

/// Takes pictures of one size.
pub struct Painter {
    #[cfg(feature = "viewer")]
    offscreen: crate::render::Offscreen,
}

impl Painter {
    /// A renderer for pictures of `scene`'s size.
    #[cfg(feature = "viewer")]
    pub fn new(scene: &Scene) -> Result<Self, RenderError> {
        let [width, height] = scene.size;
        let offscreen = crate::render::Offscreen::new(width, height)?;
        tracing::info!("rendering with {}", offscreen.driver());
        Ok(Self { offscreen })
    }

    /// A renderer for pictures of `scene`'s size.
    #[cfg(not(feature = "viewer"))]
    pub fn new(_scene: &Scene) -> Result<Self, RenderError> {
        Err(RenderError::NoGl("this build has no renderer (feature `viewer`)".into()))
    }

    /// A picture of `snapshot` as `scene` wants it seen.
    #[cfg(feature = "viewer")]
    pub fn paint(&mut self, snapshot: &Snapshot, scene: &Scene) -> Result<Image, RenderError> {
        self.offscreen.render(snapshot, &view(scene))
    }

    /// A picture of `snapshot` as `scene` wants it seen.
    #[cfg(not(feature = "viewer"))]
    pub fn paint(&mut self, _snapshot: &Snapshot, scene: &Scene) -> Result<Image, RenderError> {
        let _ = view(scene);
        Err(RenderError::NoGl("this build has no renderer (feature `viewer`)".into()))
    }
}

fn view(scene: &Scene) -> View<'_> {
    View { look: &scene.look, camera: &scene.camera, cursor: None, mode: Mode::Smoke }
}
