//! The smoke of a snapshot in textures.

use std::rc::Rc;

use glium::backend::Context;

use super::volume_texture::Volume;
use crate::grid::Dims;
use crate::look::Look;
use crate::render::lit_smoke::LitSmoke;
use crate::render::medium::Medium;
use crate::render::{Mode, Quality, RenderError, bricks};
use crate::snapshot::{Bricks, Snapshot};

/// Smoke of one snapshot.
pub(super) struct Smoke {
    texture: Volume,
    /// Contents of `texture`, if they belong to this snapshot.
    holds: Option<Texels>,
    dims: Dims,
    h: f32,
    /// Maxima of the bricks, and whether their texture is up to date.
    maxima: Bricks,
    bricks: Volume,
    has_bricks: bool,
    bounds: [[f32; 3]; 2],
}

/// Contents of a texture.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Texels {
    /// The three densities and the temperature, everywhere.
    Captured,
    /// The densities, and [`Medium::emission`] if the smoke glows, for this temperature excess of 2000 K \[K\].
    Shown { sharpened: bool, glow_heat: Option<f32> },
}

impl Smoke {
    pub fn new(gl: &Rc<Context>) -> Result<Self, RenderError> {
        let one = Dims { nx: 1, ny: 1, nz: 1 };
        Ok(Self {
            texture: Volume::new(gl, one)?,
            holds: None,
            dims: one,
            h: 1.0,
            maxima: Bricks::empty(one),
            bricks: Volume::new(gl, one)?,
            has_bricks: false,
            bounds: [[f32::MAX; 3], [f32::MIN; 3]],
        })
    }

    /// Returns whether [`Smoke::upload`] must run again for pictures in `mode`.
    pub fn needs_upload(&self, mode: Mode) -> bool {
        matches!(mode, Mode::Slice(_)) && self.holds != Some(Texels::Captured)
    }

    /// Takes over a snapshot, for pictures in `mode`.
    pub fn upload(&mut self, snapshot: &Snapshot, mode: Mode) -> Result<(), RenderError> {
        (self.dims, self.h) = (snapshot.dims, snapshot.h);
        self.maxima.clone_from(&snapshot.bricks);
        self.bounds = bricks::occupied(&snapshot.bricks, snapshot.h);
        (self.holds, self.has_bricks) = (None, false);
        if let Mode::Slice(_) = mode {
            self.texture.fill(snapshot.dims, &snapshot.smoke)?;
            self.holds = Some(Texels::Captured);
        }
        Ok(())
    }

    /// Returns the bounding box of the smoke \[m\]; inverted if there is none.
    pub fn bounds(&self, quality: Quality) -> [[f32; 3]; 2] {
        if quality.bricks { self.bounds } else { [[0.0; 3], self.dims.array().map(|n| n as f32 * self.h)] }
    }

    /// Uploads the smoke of a picture and the maxima of its bricks.
    pub fn upload_shown(
        &mut self,
        lit: &mut LitSmoke,
        look: &Look,
        quality: Quality,
    ) -> Result<(), RenderError> {
        if !self.has_bricks {
            self.bricks.fill(self.maxima.dims, &self.maxima.max)?;
            self.has_bricks = true;
        }
        let medium = Medium::of(look, self.dims.array().map(|n| n as f32 * self.h));
        let glow_heat = (medium.glow[0] > 0.0).then_some(medium.glow[1]);
        let wanted = Texels::Shown { sharpened: quality.splines, glow_heat };
        if self.holds == Some(wanted) {
            return Ok(());
        }
        lit.sharpen(quality);
        self.texture.write(self.dims, |texels| lit.shown(quality).write_shown(&medium, texels))?;
        self.holds = Some(wanted);
        Ok(())
    }

    /// Returns the densities, and temperature or emission.
    pub fn texture(&self) -> &Volume {
        &self.texture
    }

    /// Returns the maxima of the bricks.
    pub fn bricks(&self) -> &Volume {
        &self.bricks
    }
}

/// Returns whether a driver of this name has no graphics processor.
pub(super) fn draws_on_processor(renderer: &str) -> bool {
    const NAMES: [&str; 5] = ["llvmpipe", "softpipe", "swrast", "SwiftShader", "Software"];
    NAMES.iter().any(|name| renderer.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_without_a_graphics_processor_are_known_by_name() {
        assert!(draws_on_processor("llvmpipe (LLVM 15.0.6, 256 bits)"));
        assert!(draws_on_processor("Google SwiftShader"));
        assert!(!draws_on_processor("NVIDIA GeForce RTX 3060/PCIe/SSE2"));
        assert!(!draws_on_processor("Mesa Intel(R) UHD Graphics 620 (KBL GT2)"));
    }
}
