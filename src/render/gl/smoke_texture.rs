//! The smoke of a snapshot: in textures for shaders, in memory for the CPU threads.

use std::rc::Rc;

use glium::backend::Context;
use half::f16;

use super::volume_texture::Volume;
use crate::grid::Dims;
use crate::look::Look;
use crate::render::medium::Medium;
use crate::render::preshaded::Cells;
use crate::render::{Mode, Quality, RenderError, bricks};
use crate::snapshot::{Bricks, Snapshot};

/// One snapshot. Textures are filled only for shaders.
pub(super) struct Smoke {
    texture: Volume,
    /// Contents of `texture`, if they belong to this snapshot.
    holds: Option<Fourth>,
    cells: Cells,
    /// All cells, if the CPU threads render slices.
    values: Vec<[f16; 4]>,
    dims: Dims,
    h: f32,
    /// Maxima of the bricks, and which of them the texture holds.
    maxima: Bricks,
    bricks: Volume,
    bounds: [[f32; 3]; 2],
    widened: Option<bool>,
}

/// The fourth value, beside the three densities.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fourth {
    Temperature,
    /// [`Medium::emission`] for a temperature excess of 2000 K \[K\].
    Emission(f32),
}

impl Smoke {
    pub fn new(gl: &Rc<Context>) -> Result<Self, RenderError> {
        let one = Dims { nx: 1, ny: 1, nz: 1 };
        Ok(Self {
            texture: Volume::new(gl, one)?,
            holds: None,
            cells: Cells::default(),
            values: Vec::new(),
            dims: one,
            h: 1.0,
            maxima: Bricks::empty(one),
            bricks: Volume::new(gl, one)?,
            bounds: [[f32::MAX; 3], [f32::MIN; 3]],
            widened: None,
        })
    }

    /// Whether [`Smoke::upload`] must run again for pictures in `mode`.
    pub fn needs_upload(&self, mode: Mode, by_threads: bool) -> bool {
        match (by_threads, mode) {
            (true, Mode::Slice(_)) => self.values.is_empty(),
            (true, _) => false,
            (false, Mode::Slice(_)) => self.holds != Some(Fourth::Temperature),
            (false, _) => self.holds.is_none(),
        }
    }

    /// Takes over a snapshot, for pictures in `mode`.
    pub fn upload(&mut self, snapshot: &Snapshot, mode: Mode, by_threads: bool) -> Result<(), RenderError> {
        (self.dims, self.h) = (snapshot.dims, snapshot.h);
        self.cells.gather(snapshot);
        self.maxima.clone_from(&snapshot.bricks);
        (self.widened, self.holds) = (None, None);
        self.values.clear();
        if !by_threads {
            self.texture.fill(snapshot.dims, &snapshot.smoke)?;
            self.holds = Some(Fourth::Temperature);
        } else if matches!(mode, Mode::Slice(_)) {
            self.values.extend_from_slice(&snapshot.smoke);
        }
        Ok(())
    }

    /// Updates the texture of the bricks.
    pub fn upload_bricks(&mut self, quality: Quality) -> Result<(), RenderError> {
        if self.widened == Some(quality.cubic) {
            return Ok(());
        }
        let wide = quality.cubic.then(|| bricks::widened(&self.maxima));
        let maxima = wide.as_ref().unwrap_or(&self.maxima);
        self.bounds = bricks::occupied(maxima, self.h);
        self.widened = Some(quality.cubic);
        self.bricks.fill(maxima.dims, &maxima.max)
    }

    /// Bounding box of the smoke \[m\]; inverted if there is none.
    pub fn bounds(&self, quality: Quality) -> [[f32; 3]; 2] {
        if quality.bricks { self.bounds } else { [[0.0; 3], self.dims.array().map(|n| n as f32 * self.h)] }
    }

    /// Replaces the temperature by emission, if the look has any.
    pub fn upload_emission(&mut self, look: &Look) -> Result<(), RenderError> {
        let medium = Medium::of(look, self.dims.array().map(|n| n as f32 * self.h));
        let wanted = Fourth::Emission(medium.glow[1]);
        if medium.glow[0] <= 0.0 || self.holds == Some(wanted) {
            return Ok(());
        }
        let cells = &self.cells;
        self.texture.write(self.dims, |texels| cells.write_emission(&medium, texels))?;
        self.holds = Some(wanted);
        Ok(())
    }

    /// The cells of occupied bricks.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// All cells, if the CPU threads render slices; otherwise empty.
    pub fn values(&self) -> &[[f16; 4]] {
        &self.values
    }

    pub fn maxima(&self) -> &Bricks {
        &self.maxima
    }

    /// Densities, and temperature or emission.
    pub fn texture(&self) -> &Volume {
        &self.texture
    }

    /// Maxima of the bricks.
    pub fn bricks(&self) -> &Volume {
        &self.bricks
    }
}

/// Whether a driver of this name has no graphics processor.
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
