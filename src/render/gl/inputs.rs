//! Inputs of a pass: names and values.

use std::borrow::Cow;

use glium::texture::{Texture2d, Texture3d};
use glium::uniforms::{
    MagnifySamplerFilter, MinifySamplerFilter, SamplerBehavior, SamplerWrapFunction, UniformValue, Uniforms,
};

/// Names and values of a pass; names a program does not use are ignored.
#[derive(Clone, Default)]
pub(super) struct Inputs<'t> {
    values: Vec<(Cow<'static, str>, UniformValue<'t>)>,
}

impl<'t> Inputs<'t> {
    /// Adds a value.
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: UniformValue<'t>) -> Self {
        self.values.push((name.into(), value));
        self
    }

    pub fn float(self, name: &'static str, x: f32) -> Self {
        self.with(name, UniformValue::Float(x))
    }

    pub fn vec2(self, name: &'static str, x: [f32; 2]) -> Self {
        self.with(name, UniformValue::Vec2(x))
    }

    pub fn vec3(self, name: &'static str, x: [f32; 3]) -> Self {
        self.with(name, UniformValue::Vec3(x))
    }

    pub fn vec4(self, name: &'static str, x: [f32; 4]) -> Self {
        self.with(name, UniformValue::Vec4(x))
    }

    /// Adds a volume with linear interpolation, clamped at the border.
    pub fn volume(self, name: &'static str, texture: &'t Texture3d) -> Self {
        self.with(name, UniformValue::Texture3d(texture, Some(sampler(true))))
    }

    /// Adds a picture without interpolation, clamped at the border.
    pub fn picture(self, name: &'static str, texture: &'t Texture2d) -> Self {
        self.with(name, UniformValue::Texture2d(texture, Some(sampler(false))))
    }

    /// Adds a picture with linear interpolation, clamped at the border.
    pub fn smooth_picture(self, name: &'static str, texture: &'t Texture2d) -> Self {
        self.with(name, UniformValue::Texture2d(texture, Some(sampler(true))))
    }
}

impl Uniforms for Inputs<'_> {
    fn visit_values<'a, F: FnMut(&str, UniformValue<'a>)>(&'a self, mut visit: F) {
        for (name, value) in &self.values {
            visit(name, *value);
        }
    }
}

fn sampler(linear: bool) -> SamplerBehavior {
    let (minify_filter, magnify_filter) = if linear {
        (MinifySamplerFilter::Linear, MagnifySamplerFilter::Linear)
    } else {
        (MinifySamplerFilter::Nearest, MagnifySamplerFilter::Nearest)
    };
    let clamp = SamplerWrapFunction::Clamp;
    SamplerBehavior {
        wrap_function: (clamp, clamp, clamp),
        minify_filter,
        magnify_filter,
        ..Default::default()
    }
}
