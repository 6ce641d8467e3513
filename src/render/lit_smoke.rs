//! The smoke of a snapshot and its light, for all renderers.

use super::Quality;
use super::floor::FloorLight;
use super::light::LightVolume;
use super::medium::Medium;
use super::preshaded::Cells;
use crate::look::Look;
use crate::snapshot::Part;

/// Smoke, its light, and the light on the floor.
#[derive(Default)]
pub(super) struct LitSmoke {
    pub cells: Cells,
    /// The sharpened `cells` for splines, if `has_sharpened`.
    sharpened: Cells,
    has_sharpened: bool,
    pub light: LightVolume,
    pub floor: FloorLight,
    /// Parts of the look that light and floor depend on; `None` if the smoke has changed since.
    lit_for: Option<Look>,
}

impl LitSmoke {
    /// Takes over the smoke of a snapshot or of a part of it.
    pub fn gather(&mut self, part: &Part, quality: Quality) {
        self.cells.gather_part(part);
        self.light.set_fine(quality.fine_light);
        self.light.gather_part(part);
        (self.has_sharpened, self.lit_for) = (false, None);
    }

    /// Updates the light for a look. Returns whether it changed.
    pub fn illuminate(&mut self, look: &Look) -> bool {
        self.illuminate_beside(look, |_| ())
    }

    /// As [`LitSmoke::illuminate`]. If the light changes, `beside` works on the cells at the same time.
    pub fn illuminate_beside(&mut self, look: &Look, beside: impl FnOnce(&Cells) + Send) -> bool {
        let key = lighting(look);
        if self.lit_for.as_ref() == Some(&key) {
            return false;
        }
        let Self { cells, light, floor, .. } = self;
        light.cast_beside(look, cells, None, || beside(cells));
        floor.cast(light, &Medium::of(look, light.extent()));
        self.lit_for = Some(key);
        true
    }

    /// Updates the light for the part of one rank; that on the floor only with `floor`.
    pub fn illuminate_part(&mut self, look: &Look, part: &Part, floor: bool) {
        self.light.cast(look, &self.cells, Some(part));
        if floor {
            self.floor.cast(&self.light, &Medium::of(look, self.light.extent()));
        }
    }

    /// Sharpens the smoke if pictures of a quality need that.
    pub fn sharpen(&mut self, quality: Quality) {
        if quality.splines && !self.has_sharpened {
            self.sharpened.sharpen(&self.cells);
            self.has_sharpened = true;
        }
    }

    /// Returns the cells for pictures of a quality. For splines [`LitSmoke::sharpen`] must have run.
    pub fn shown(&self, quality: Quality) -> &Cells {
        if quality.splines { &self.sharpened } else { &self.cells }
    }
}

/// Resets the parts of a look that do not change the light to their defaults.
fn lighting(look: &Look) -> Look {
    let plain = Look::default();
    Look {
        paths: plain.paths,
        noise: plain.noise,
        exposure: plain.exposure,
        tone: plain.tone,
        background: plain.background,
        outline: plain.outline,
        samples: plain.samples,
        light_scale: plain.light_scale,
        ..look.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::render::procedural::uniform;

    /// Smoke that fades at the sides hides less of the sun. A look that changes only that lights the same smoke anew.
    #[test]
    fn another_fade_lights_the_smoke_anew() {
        let snapshot = uniform(Dims::new([16; 3]).unwrap(), 0.05, [1.0, 0.0, 0.0, 0.0]);
        let look = Look { fade: 0.0, ..Look::default() };
        let mut lit = LitSmoke::default();
        lit.gather(&Part::of(&snapshot), Quality::INTERACTIVE);
        assert!(lit.illuminate(&look) && !lit.illuminate(&look));
        let depth = |lit: &LitSmoke| lit.light.depth_to_sun([0.4; 3]);
        let whole = depth(&lit);
        assert!(lit.illuminate(&Look { fade: 0.3, ..look.clone() }));
        assert!(depth(&lit) < 0.9 * whole, "{} of {whole}", depth(&lit));
        assert!(lit.illuminate(&look));
        assert!((depth(&lit) / whole - 1.0).abs() < 1e-6);
    }
}
