//! The smoke of a snapshot in textures: as it is, and with the light it sends to the eye.

use std::rc::Rc;

use glium::backend::Context;

use super::volume::Volume;
use crate::grid::Dims;
use crate::look::Look;
use crate::render::cells::{Cells, Region};
use crate::render::light::LightVolume;
use crate::render::medium::Medium;
use crate::render::{Mode, Quality, RenderError, Shading, bricks};
use crate::snapshot::{Bricks, Snapshot};

/// Textures of one snapshot. Each is filled only when something reads it.
pub(super) struct Smoke {
    /// Densities and temperature.
    raw: Volume,
    /// What `raw` holds of this snapshot.
    holds: Option<Fourth>,
    /// Density and what it sends, by [`Cells`].
    shaded: Volume,
    shaded_for: Option<(Look, [f32; 3], Region)>,
    cells: Cells,
    dims: Dims,
    h: f32,
    /// Maxima of the bricks, and which of them the textures hold.
    maxima: Bricks,
    bricks: Volume,
    bounds: [[f32; 3]; 2],
    widened: Option<bool>,
    /// Whether the driver draws on the processor.
    on_processor: bool,
}

/// What stands beside the three densities.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fourth {
    Temperature,
    /// [`Medium::embers`] for a temperature excess of 2000 K \[K\].
    Embers(f32),
}

impl Smoke {
    pub fn new(gl: &Rc<Context>) -> Result<Self, RenderError> {
        let one = Dims { nx: 1, ny: 1, nz: 1 };
        Ok(Self {
            raw: Volume::new(gl, one)?,
            holds: None,
            shaded: Volume::new(gl, one)?,
            shaded_for: None,
            cells: Cells::default(),
            dims: one,
            h: 1.0,
            maxima: Bricks::empty(one),
            bricks: Volume::new(gl, one)?,
            bounds: [[f32::MAX; 3], [f32::MIN; 3]],
            widened: None,
            on_processor: draws_on_processor(gl.get_opengl_renderer_string()),
        })
    }

    /// Where the light is worked out.
    pub fn shading(&self, quality: Quality) -> Shading {
        match quality.shading {
            Shading::Fastest if self.on_processor => Shading::Cells,
            Shading::Fastest => Shading::Rays,
            chosen => chosen,
        }
    }

    /// Whether pictures in `mode` read the smoke as it is.
    fn reads_raw(&self, mode: Mode, quality: Quality) -> bool {
        matches!(mode, Mode::Slice(_)) || self.shading(quality) == Shading::Rays
    }

    /// Whether something is missing for pictures in `mode`.
    pub fn lacks(&self, mode: Mode, quality: Quality) -> bool {
        let fits = match mode {
            Mode::Slice(_) => self.holds == Some(Fourth::Temperature),
            _ => self.holds.is_some(),
        };
        self.reads_raw(mode, quality) && !fits
    }

    /// Takes over a snapshot, for pictures in `mode`.
    pub fn take(&mut self, snapshot: &Snapshot, mode: Mode, quality: Quality) -> Result<(), RenderError> {
        (self.dims, self.h) = (snapshot.dims, snapshot.h);
        self.holds = self.reads_raw(mode, quality).then_some(Fourth::Temperature);
        if self.holds.is_some() {
            self.raw.fill(snapshot.dims, &snapshot.smoke)?;
        }
        self.cells.gather(snapshot);
        self.maxima.clone_from(&snapshot.bricks);
        (self.widened, self.shaded_for) = (None, None);
        Ok(())
    }

    /// The light has changed.
    pub fn forget_light(&mut self) {
        self.shaded_for = None;
    }

    /// Brings the bricks up to date.
    pub fn sort(&mut self, quality: Quality) -> Result<(), RenderError> {
        if self.widened == Some(quality.cubic) {
            return Ok(());
        }
        let wide = quality.cubic.then(|| bricks::widened(&self.maxima));
        let maxima = wide.as_ref().unwrap_or(&self.maxima);
        self.bounds = bricks::occupied(maxima, self.h);
        self.widened = Some(quality.cubic);
        self.bricks.fill(maxima.dims, &maxima.max)
    }

    /// The box outside of which no smoke is \[m\]; upside down where there is none at all.
    pub fn bounds(&self, quality: Quality) -> [[f32; 3]; 2] {
        if quality.bricks { self.bounds } else { [[0.0; 3], self.dims.array().map(|n| n as f32 * self.h)] }
    }

    /// Puts embers in place of the temperature, if a march is to read them.
    pub fn smoulder(&mut self, look: &Look, quality: Quality) -> Result<(), RenderError> {
        let medium = Medium::of(look, self.dims.array().map(|n| n as f32 * self.h));
        let wanted = Fourth::Embers(medium.glow[1]);
        if self.shading(quality) != Shading::Rays || medium.glow[0] <= 0.0 || self.holds == Some(wanted) {
            return Ok(());
        }
        let cells = &self.cells;
        self.raw.write(self.dims, Region::all(self.dims), |texels| cells.smoulder(&medium, texels))?;
        self.holds = Some(wanted);
        Ok(())
    }

    /// Brings up to date what the smoke sends to an eye.
    pub fn shade(
        &mut self,
        light: &LightVolume,
        look: &Look,
        eye: [f32; 3],
        quality: Quality,
    ) -> Result<(), RenderError> {
        // The last step may be half outside, and interpolation reads beyond that.
        let step = (0.5 / quality.samples(look)).ceil() as usize;
        let margin = step + if quality.cubic { 2 } else { 1 };
        let Some(region) = Region::around(self.bounds(quality), margin, self.dims, self.h) else {
            return Ok(());
        };
        let same =
            |(of, from, over): &(Look, [f32; 3], Region)| of == look && *from == eye && *over == region;
        if self.shading(quality) == Shading::Rays || self.shaded_for.as_ref().is_some_and(same) {
            return Ok(());
        }
        let medium = Medium::of(look, self.dims.array().map(|n| n as f32 * self.h));
        let cells = &self.cells;
        self.shaded.write(self.dims, region, |texels| cells.shade(light, &medium, eye, region, texels))?;
        self.shaded_for = Some((look.clone(), eye, region));
        Ok(())
    }

    /// The cells that hold smoke.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Densities and temperature.
    pub fn raw(&self) -> &Volume {
        &self.raw
    }

    /// What a march reads.
    pub fn marched(&self, quality: Quality) -> &Volume {
        if self.shading(quality) == Shading::Rays { &self.raw } else { &self.shaded }
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
