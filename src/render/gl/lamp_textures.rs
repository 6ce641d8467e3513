//! Further lights on the graphics card: a table with a row for each, and the transmittance of the smoke to
//! floor and solids.

use std::borrow::Cow;
use std::rc::Rc;

use glium::Rect;
use glium::backend::Context;
use glium::texture::{ClientFormat, RawImage2d, Texture2d, UncompressedFloatFormat};
use glium::uniforms::UniformValue;

use super::inputs::Inputs;
use super::targets::new_texture;
use super::volume_texture::Volume;
use crate::grid::Dims;
use crate::render::RenderError;
use crate::render::floor::FloorLight;
use crate::render::light::LightVolume;

/// Texels of a row of the table.
const TEXELS: u32 = 6;

/// The lights.
pub(super) struct Lamps {
    gl: Rc<Context>,
    count: usize,
    table: Texture2d,
    floor: Texture2d,
    /// Full transmittance, for invisible smoke.
    open: Texture2d,
    depths: Volume,
}

impl Lamps {
    /// Makes empty tables.
    pub fn new(gl: &Rc<Context>) -> Result<Self, RenderError> {
        let texture = |size| new_texture(gl, UncompressedFloatFormat::F32F32F32F32, size);
        let open = texture([1, 2])?;
        write(&open, [1, 2], vec![1.0; 8]);
        Ok(Self {
            gl: gl.clone(),
            count: 0,
            table: texture([TEXELS, 1])?,
            floor: texture([1, 1])?,
            open,
            depths: Volume::new(gl, Dims { nx: 1, ny: 1, nz: 1 })?,
        })
    }

    /// Uploads the lights of a light volume, their share on the floor and, if there are solids, the data for
    /// these.
    pub fn upload(
        &mut self,
        light: &LightVolume,
        floor: &FloorLight,
        solids: bool,
    ) -> Result<(), RenderError> {
        let lamps = light.lamps();
        self.count = lamps.len();
        if lamps.is_empty() {
            return Ok(());
        }
        let rows: Vec<f32> = lamps.iter().flat_map(|lit| lit.lamp.packed()).flatten().collect();
        self.fit([TEXELS, self.count as u32], |lamps| &mut lamps.table)?;
        write(&self.table, [TEXELS, self.count as u32], rows);
        let ([width, height], blocks) = (floor.size, self.count.div_ceil(4));
        let share = |n: usize, lamp: usize| floor.lamps.get(lamp).map_or(1.0, |values| values[n]);
        let texels: Vec<f32> = (0..blocks)
            .flat_map(|block| (0..width * height).map(move |n| (block, n)))
            .flat_map(|(block, n)| [0, 1, 2, 3].map(|of| share(n, 4 * block + of)))
            .collect();
        let size = [width as u32, (blocks * height) as u32];
        self.fit(size, |lamps| &mut lamps.floor)?;
        write(&self.floor, size, texels);
        if solids {
            let (dims, texels) = light.lamp_depths();
            self.depths.fill(dims, &texels)?;
        }
        Ok(())
    }

    fn fit(&mut self, size: [u32; 2], of: impl Fn(&mut Self) -> &mut Texture2d) -> Result<(), RenderError> {
        let texture = of(self);
        if [texture.width(), texture.height()] != size {
            *of(self) = new_texture(&self.gl, UncompressedFloatFormat::F32F32F32F32, size)?;
        }
        Ok(())
    }

    /// Returns whether there are no further lights.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds the inputs of `lamp.glsl`. Invisible smoke casts no shadow.
    pub fn inputs<'t>(&'t self, inputs: Inputs<'t>, shaded: bool) -> Inputs<'t> {
        inputs
            .with("lamps", UniformValue::SignedInt(self.count as i32))
            .picture("lamp_table", &self.table)
            .smooth_picture("lamp_floor", if shaded { &self.floor } else { &self.open })
            .volume("lamp_depths", self.depths.texture())
    }
}

fn write(texture: &Texture2d, [width, height]: [u32; 2], texels: Vec<f32>) {
    let image = RawImage2d { data: Cow::Owned(texels), width, height, format: ClientFormat::F32F32F32F32 };
    texture.write(Rect { left: 0, bottom: 0, width, height }, image);
}
