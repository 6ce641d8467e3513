//! The pre-shaded smoke and the light of ray packets, with the bricks that they skip.

use half::f16;

use super::contents::Contents;
use super::march::{Lit, Medium, Volume};
use super::texels::Texels;
use crate::grid::Dims;
use crate::look::Look;
use crate::render::preshaded::{Cells, Written};
use crate::render::{Quality, bricks, medium};
use crate::snapshot::BRICK;

/// Smoke in the colours of a look, and its light towards an eye.
#[derive(Default)]
pub(super) struct ShadedSmoke {
    dims: Option<Dims>,
    texels: Vec<[f16; 4]>,
    /// ρ times the radiance of opaque smoke; empty if the smoke does not glow.
    glow: Vec<[f16; 4]>,
    written: Written,
    /// Look of the texels, and whether they are for splines; `None` if the smoke has changed since.
    shaded_for: Option<(Look, bool)>,
    /// The light volume.
    light: Vec<[f16; 4]>,
    /// Look and eye of the light volume, and whether it is for splines; `None` if the light has changed since.
    lit_for: Option<(Look, [f32; 3], bool)>,
    bricks: Option<OccupiedBricks>,
}

/// Bricks of a volume.
pub(super) struct OccupiedBricks {
    /// Whether empty ones are skipped.
    skip: bool,
    /// 1 for each occupied brick, else 0.
    occupied: Vec<f32>,
    dims: [usize; 3],
    /// Edge of a brick \[m\].
    edge: f32,
    bounds: [[f32; 3]; 2],
}

impl ShadedSmoke {
    /// Marks the smoke as changed.
    pub fn invalidate(&mut self) {
        (self.shaded_for, self.lit_for, self.bricks) = (None, None, None);
    }

    /// Marks the light as changed.
    #[cfg(feature = "viewer")]
    pub fn invalidate_light(&mut self) {
        self.lit_for = None;
    }

    /// Updates smoke and light for a look and an eye.
    pub fn shade(&mut self, contents: &Contents, look: &Look, eye: [f32; 3], quality: Quality) {
        self.shade_cells(contents.cells, contents.dims_at_hand(), look, quality.splines);
        if self.bricks.as_ref().is_none_or(|bricks| bricks.skip != quality.bricks) {
            self.bricks = Some(OccupiedBricks::of(contents, quality.bricks));
        }
        let for_it = |(of, from, splines): &(Look, [f32; 3], bool)| {
            of == look && *from == eye && *splines == quality.splines
        };
        if !self.lit_for.as_ref().is_some_and(for_it) {
            let medium = medium::Medium::of(look, contents.extent());
            contents.light.towards(eye, &medium, quality.splines, &mut self.light);
            self.lit_for = Some((look.clone(), eye, quality.splines));
        }
    }

    /// Updates the smoke for a look: `cells` of `dims`, sharpened for splines or not.
    pub fn shade_cells(&mut self, cells: &Cells, dims: Dims, look: &Look, splines: bool) {
        if self.dims != Some(dims) {
            self.texels = vec![[f16::ZERO; 4]; dims.cells()];
            self.written = Written::default();
            self.dims = Some(dims);
            self.invalidate();
        }
        if self.shaded_for.as_ref().is_some_and(|(of, for_splines)| of == look && *for_splines == splines) {
            return;
        }

        let extent = cells.dims_of_box().array().map(|n| n as f32 * cells.edge());
        let medium = medium::Medium::of(look, extent);
        let glowing = if medium.glow[0] > 0.0 { dims.cells() } else { 0 };
        self.glow.resize(glowing, [f16::ZERO; 4]);
        cells.shade(&medium, &mut self.texels, &mut self.glow, &mut self.written);
        self.shaded_for = Some((look.clone(), splines));
    }

    /// Returns the volume that [`ShadedSmoke::shade`] has filled. `padding` is memory for boxes of few cells.
    pub fn volume<'a>(
        &'a self,
        contents: &Contents,
        extinction: f32,
        dt: f32,
        padding: &'a mut [Vec<[f16; 4]>; 3],
    ) -> Volume<'a> {
        let bricks = self.bricks.as_ref().expect("shaded before");
        let ((_, splines), (look, ..)) =
            (self.shaded_for.as_ref().expect("shaded before"), self.lit_for.as_ref().expect("shaded before"));
        let of_look = medium::Medium::of(look, contents.extent());
        let ([padding, glow_padding, light_padding], dims) = (padding, contents.dims_at_hand());
        let scale = [contents.h / contents.light.spacing; 3];
        let light = Lit {
            texels: at_least_four(contents.light.points, &self.light, light_padding),
            scale,
            first: scale.map(|scale| 0.5 * scale + 0.5),
            coarse: contents.light.spacing > 1.99 * dt.max(contents.h),
            glow: (!self.glow.is_empty()).then(|| at_least_four(dims, &self.glow, glow_padding)),
            sun: of_look.sun,
            sun_direction: of_look.sun_direction,
            lobes: of_look.lobes,
            second_share: of_look.second_share,
        };
        let medium = Medium::Smoke { extinction, splines: *splines, light };
        bricks.volume(contents, at_least_four(dims, &self.texels, padding), medium, dt)
    }
}

impl OccupiedBricks {
    fn of(contents: &Contents, skip: bool) -> Self {
        if !skip {
            return Self::one(contents);
        }
        let bricks = contents.bricks;
        let occupied = bricks.max.iter().map(|max| f32::from(u8::from(!bricks::empty(max))));
        Self {
            skip,
            occupied: occupied.collect(),
            dims: bricks.dims.array(),
            edge: BRICK as f32 * contents.h,
            bounds: bricks::occupied(bricks, contents.h),
        }
    }

    /// Makes one brick as large as the box.
    pub fn one(contents: &Contents) -> Self {
        let extent = contents.extent();
        let edge = extent.into_iter().fold(0.0, f32::max);
        Self { skip: false, occupied: vec![1.0], dims: [1; 3], edge, bounds: [[0.0; 3], extent] }
    }

    /// Makes a volume with these bricks.
    pub fn volume<'a>(
        &'a self,
        contents: &Contents,
        texels: Texels<'a>,
        medium: Medium<'a>,
        dt: f32,
    ) -> Volume<'a> {
        Volume {
            texels,
            first: contents.planes[0] as f32,
            medium,
            occupied: &self.occupied,
            bricks: self.dims,
            brick: self.edge,
            extent: contents.extent(),
            bounds: self.bounds,
            h: contents.h,
            dt,
        }
    }
}

/// Repeats the last texels of axes with fewer than four, which does not change interpolated values.
pub(super) fn at_least_four<'a>(
    dims: Dims,
    values: &'a [[f16; 4]],
    padding: &'a mut Vec<[f16; 4]>,
) -> Texels<'a> {
    let size = dims.array().map(|n| n.max(4));
    if size == dims.array() {
        return Texels::new(size, values);
    }
    let last = dims.array().map(|n| n - 1);
    padding.clear();
    padding.extend((0..size.iter().product()).map(|n| {
        let at = [n % size[0], n / size[0] % size[1], n / (size[0] * size[1])];
        values[dims.index(at[0].min(last[0]), at[1].min(last[1]), at[2].min(last[2]))]
    }));
    Texels::new(size, padding)
}
