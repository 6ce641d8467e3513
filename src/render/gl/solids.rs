//! The solids on the graphics card: a table with a row for each, and one volume with the distances of all
//! meshes, stacked.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use glium::Rect;
use glium::backend::Context;
use glium::texture::{ClientFormat, RawImage2d, Texture2d, UncompressedFloatFormat};
use glium::uniforms::UniformValue;
use half::f16;

use super::inputs::Inputs;
use super::targets::new_texture;
use super::volume_texture::Volume;
use crate::grid::Dims;
use crate::look::Look;
use crate::render::RenderError;
use crate::render::distance::DistanceField;
use crate::render::solid::{Shape, Solid};

/// Texels of a row: those of [`Solid::packed`] and the albedo.
const TEXELS: u32 = 6;

/// The solids to render.
pub(super) struct Solids {
    gl: Rc<Context>,
    all: Vec<Solid>,
    /// The fields in the volume, each with its first layer.
    fields: Vec<(Arc<DistanceField>, usize)>,
    distances: Volume,
    table: Texture2d,
}

impl Solids {
    /// Makes an empty set.
    pub fn new(gl: &Rc<Context>) -> Result<Self, RenderError> {
        Ok(Self {
            gl: gl.clone(),
            all: Vec::new(),
            fields: Vec::new(),
            distances: Volume::new(gl, Dims { nx: 1, ny: 1, nz: 1 })?,
            table: new_texture(gl, UncompressedFloatFormat::F32F32F32F32, [TEXELS, 1])?,
        })
    }

    /// Takes over the solids.
    pub fn set(&mut self, solids: &[Solid]) -> Result<(), RenderError> {
        if self.all == solids {
            return Ok(());
        }
        self.all = solids.to_vec();
        let rows = self.all.len().max(1) as u32;
        if self.table.height() != rows {
            self.table = new_texture(&self.gl, UncompressedFloatFormat::F32F32F32F32, [TEXELS, rows])?;
        }
        self.fill_distances()
    }

    /// Uploads the distance fields of all meshes, unless they are uploaded already.
    fn fill_distances(&mut self) -> Result<(), RenderError> {
        let mut wanted: Vec<Arc<DistanceField>> = Vec::new();
        for solid in &self.all {
            if let Shape::Mesh { field, .. } = &solid.shape
                && !wanted.iter().any(|known| Arc::ptr_eq(known, field))
            {
                wanted.push(field.clone());
            }
        }
        let same = |(known, wanted): (&(Arc<DistanceField>, usize), &Arc<DistanceField>)| {
            Arc::ptr_eq(&known.0, wanted)
        };
        if wanted.len() == self.fields.len() && self.fields.iter().zip(&wanted).all(same) {
            return Ok(());
        }
        let (dims, layers, texels) = stacked(&wanted);
        self.distances.fill(dims, &texels)?;
        self.fields = wanted.into_iter().zip(layers).collect();
        Ok(())
    }

    /// Returns whether there are no solids.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds the inputs of `solid.glsl`, with the colours of `look`.
    pub fn inputs<'t>(&'t self, inputs: Inputs<'t>, look: &Look) -> Inputs<'t> {
        if !self.all.is_empty() {
            self.write_table(look);
        }
        inputs
            .picture("solid_table", &self.table)
            .volume("distances", self.distances.texture())
            .with("solids", UniformValue::SignedInt(self.all.len() as i32))
    }

    fn write_table(&self, look: &Look) {
        let mut rows: Vec<f32> = Vec::with_capacity(self.all.len() * 4 * TEXELS as usize);
        for (n, solid) in self.all.iter().enumerate() {
            let [r, g, b] = look.solid(n);
            rows.extend(solid.packed(self.layer(solid)).iter().flatten());
            rows.extend([r, g, b, look.roughness(n)]);
        }
        let (width, height) = (TEXELS, self.all.len() as u32);
        let image = RawImage2d { data: Cow::Owned(rows), width, height, format: ClientFormat::F32F32F32F32 };
        self.table.write(Rect { left: 0, bottom: 0, width, height }, image);
    }

    /// Returns the first layer of a mesh's field; 0 for other shapes.
    fn layer(&self, solid: &Solid) -> usize {
        let Shape::Mesh { field, .. } = &solid.shape else { return 0 };
        self.fields.iter().find(|(known, _)| Arc::ptr_eq(known, field)).map_or(0, |(_, layer)| *layer)
    }
}

/// Stacks fields along z. Returns the shape of the stack, the first layer of each field, and the texels.
fn stacked(fields: &[Arc<DistanceField>]) -> (Dims, Vec<usize>, Vec<[f16; 4]>) {
    let largest = |axis: usize| fields.iter().map(|field| field.dims.array()[axis]).max().unwrap_or(1);
    let depth = fields.iter().map(|field| field.dims.nz).sum::<usize>().max(1);
    let dims = Dims { nx: largest(0), ny: largest(1), nz: depth };
    let mut texels = vec![[f16::ZERO; 4]; dims.cells()];
    let (mut layers, mut first) = (Vec::new(), 0);
    for field in fields {
        layers.push(first);
        for (n, row) in field.nodes.chunks_exact(field.dims.nx).enumerate() {
            let start = dims.index(0, n % field.dims.ny, first + n / field.dims.ny);
            texels[start..][..row.len()].copy_from_slice(row);
        }
        first += field.dims.nz;
    }
    (dims, layers, texels)
}
