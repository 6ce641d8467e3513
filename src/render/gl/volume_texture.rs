//! 3D textures of half floats that are refilled in place.
//!
//! glium's `Texture3d` has no `write`; a pixel buffer avoids a new texture each time.

use std::rc::Rc;

use bytemuck::{Pod, Zeroable};
use glium::CapabilitiesSource;
use glium::backend::Context;
use glium::buffer::{Buffer, BufferMode, BufferType};
use glium::texture::{ClientFormat, MipmapsOption, PixelValue, Texture3d, UncompressedFloatFormat};
use half::f16;

use crate::grid::Dims;
use crate::render::RenderError;

/// Four half floats in the driver's layout.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct Texel([f16; 4]);

// SAFETY: the type is four consecutive half floats without padding, as the format says.
#[allow(unsafe_code)]
unsafe impl PixelValue for Texel {
    fn get_format() -> ClientFormat {
        ClientFormat::F16F16F16F16
    }
}

/// An RGBA16F volume of any shape.
pub(super) struct Volume {
    gl: Rc<Context>,
    texture: Texture3d,
    buffer: Buffer<[Texel]>,
    dims: Dims,
}

impl Volume {
    pub fn new(gl: &Rc<Context>, dims: Dims) -> Result<Self, RenderError> {
        let [w, h, d] = dims.array();
        let limit = (gl.get_capabilities().max_texture_size as usize).min(2048);
        if w.max(h).max(d) > limit {
            return Err(RenderError::TooLarge([w, h, d], limit));
        }
        let texture = Texture3d::empty_with_format(
            gl,
            UncompressedFloatFormat::F16F16F16F16,
            MipmapsOption::NoMipmap,
            w as u32,
            h as u32,
            d as u32,
        )
        .map_err(|e| RenderError::Gl("a 3D texture", e.to_string()))?;
        let buffer =
            Buffer::empty_array(gl, BufferType::PixelUnpackBuffer, dims.cells(), BufferMode::Dynamic)
                .map_err(|e| RenderError::Gl("an upload buffer", e.to_string()))?;
        Ok(Self { gl: gl.clone(), texture, buffer, dims })
    }

    /// Replaces the contents; a new shape makes a new texture.
    pub fn fill(&mut self, dims: Dims, texels: &[[f16; 4]]) -> Result<(), RenderError> {
        assert_eq!(texels.len(), dims.cells(), "texels do not fill the volume");
        if dims != self.dims {
            *self = Self::new(&self.gl, dims)?;
        }
        self.buffer.write(bytemuck::cast_slice::<[f16; 4], Texel>(texels));
        self.upload();
        Ok(())
    }

    /// Calls `write` to fill all texels, in the driver's own memory.
    pub fn write(&mut self, dims: Dims, write: impl FnOnce(&mut [[f16; 4]])) -> Result<(), RenderError> {
        if dims != self.dims {
            *self = Self::new(&self.gl, dims)?;
        }
        let mut mapped = self.buffer.map();
        write(bytemuck::cast_slice_mut::<Texel, [f16; 4]>(&mut mapped));
        drop(mapped);
        self.upload();
        Ok(())
    }

    /// Copies the buffer to the texture.
    fn upload(&self) {
        let [w, h, d] = self.dims.array().map(|n| n as u32);
        self.texture.main_level().raw_upload_from_pixel_buffer(self.buffer.as_slice(), 0..w, 0..h, 0..d);
    }

    pub fn texture(&self) -> &Texture3d {
        &self.texture
    }

    pub fn dims(&self) -> Dims {
        self.dims
    }
}
