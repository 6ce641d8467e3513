//! The pre-shaded volume of the ray packets, with the bricks they skip.

use half::f16;

use super::lanes::Texels;
use super::march::{Medium, Volume};
use super::picture::Contents;
use crate::grid::Dims;
use crate::look::Look;
use crate::render::preshaded::Written;
use crate::render::{Quality, bricks, medium};
use crate::snapshot::{BRICK, Bricks};

/// Smoke shaded for an eye.
#[derive(Default)]
pub(super) struct ShadedSmoke {
    dims: Option<Dims>,
    texels: Vec<[f16; 4]>,
    written: Written,
    /// Look and eye of the texels; `None` if the smoke or its light has changed since.
    shaded_for: Option<(Look, [f32; 3])>,
    bricks: Option<OccupiedBricks>,
}

/// Bricks of a volume.
pub(super) struct OccupiedBricks {
    /// Whether empty ones are skipped, and whether interpolation is wider than one cell.
    kind: [bool; 2],
    /// 1 for each brick that is occupied, else 0.
    occupied: Vec<f32>,
    dims: [usize; 3],
    /// Edge of a brick \[m\].
    edge: f32,
    bounds: [[f32; 3]; 2],
}

impl ShadedSmoke {
    /// Marks the smoke as changed.
    pub fn forget(&mut self) {
        (self.shaded_for, self.bricks) = (None, None);
    }

    /// Marks the light as changed.
    #[cfg(feature = "viewer")]
    pub fn forget_light(&mut self) {
        self.shaded_for = None;
    }

    /// Shades `contents` for an eye, unless that is done already.
    pub fn shade(&mut self, contents: &Contents, look: &Look, eye: [f32; 3], quality: Quality) {
        if self.dims != Some(contents.dims) {
            self.texels = vec![[f16::ZERO; 4]; contents.dims.cells()];
            self.written = Written::default();
            self.dims = Some(contents.dims);
            self.forget();
        }
        let kind = [quality.bricks, quality.cubic];
        if self.bricks.as_ref().is_none_or(|bricks| bricks.kind != kind) {
            self.bricks = Some(OccupiedBricks::of(contents, kind));
        }
        if self.shaded_for.as_ref().is_none_or(|(of, from)| of != look || *from != eye) {
            let medium = medium::Medium::of(look, contents.extent());
            contents.cells.shade(contents.light, &medium, eye, &mut self.texels, &mut self.written);
            self.shaded_for = Some((look.clone(), eye));
        }
    }

    /// The volume; [`ShadedSmoke::shade`] must have filled it. `padding` is memory for boxes of a single
    /// cell.
    pub fn volume<'a>(
        &'a self,
        contents: &Contents,
        extinction: f32,
        dt: f32,
        padding: &'a mut Vec<[f16; 4]>,
    ) -> Volume<'a> {
        let bricks = self.bricks.as_ref().expect("shaded before");
        let medium = Medium::Smoke { extinction, cubic: bricks.kind[1] };
        bricks.volume(contents, at_least_two(contents.dims, &self.texels, padding), medium, dt)
    }
}

impl OccupiedBricks {
    fn of(contents: &Contents, kind @ [skip, cubic]: [bool; 2]) -> Self {
        if !skip {
            return Self { kind, ..Self::one(contents) };
        }
        let wide = cubic.then(|| bricks::widened(contents.bricks));
        let bricks: &Bricks = wide.as_ref().unwrap_or(contents.bricks);
        let occupied = bricks.max.iter().map(|max| f32::from(u8::from(!bricks::empty(max))));
        Self {
            kind,
            occupied: occupied.collect(),
            dims: bricks.dims.array(),
            edge: BRICK as f32 * contents.h,
            bounds: bricks::occupied(bricks, contents.h),
        }
    }

    /// One brick as large as the box.
    pub fn one(contents: &Contents) -> Self {
        let extent = contents.extent();
        let edge = extent.into_iter().fold(0.0, f32::max);
        Self { kind: [false; 2], occupied: vec![1.0], dims: [1; 3], edge, bounds: [[0.0; 3], extent] }
    }

    /// A volume with these bricks.
    pub fn volume<'a>(
        &'a self,
        contents: &Contents,
        texels: Texels<'a>,
        medium: Medium,
        dt: f32,
    ) -> Volume<'a> {
        Volume {
            texels,
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

/// Doubles each axis of a single cell, which does not change interpolated values.
pub(super) fn at_least_two<'a>(
    dims: Dims,
    values: &'a [[f16; 4]],
    padding: &'a mut Vec<[f16; 4]>,
) -> Texels<'a> {
    let size = dims.array().map(|n| n.max(2));
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
