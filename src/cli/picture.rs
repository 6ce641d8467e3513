//! Pictures without a window.

use crate::render::{Image, Mode, RenderError, View};
use crate::scene::Scene;
use crate::snapshot::Snapshot;

/// Takes pictures of one size.
pub struct Painter {}

impl Painter {
    /// A renderer for pictures of `scene`'s size.
    pub fn new(_scene: &Scene) -> Result<Self, RenderError> {
        Err(RenderError::NoGl("not merged".into()))
    }

    /// A picture of `snapshot` as `scene` wants it seen.
    pub fn paint(&mut self, snapshot: &Snapshot, scene: &Scene) -> Result<Image, RenderError> {
        let _view = View { look: &scene.look, camera: &scene.camera, cursor: None, mode: Mode::Smoke };
        let _ = snapshot;
        Err(RenderError::NoGl("not merged".into()))
    }
}
