//! Rendering of a pass: blending, the triangle that covers the viewport, and timing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use glium::backend::Context;
use glium::draw_parameters::{Blend, BlendingFunction, LinearBlendingFactor, TimeElapsedQuery};
use glium::index::{NoIndices, PrimitiveType};
use glium::vertex::EmptyVertexAttributes;
use glium::{DrawParameters, Program, Surface};

use super::inputs::Inputs;
use crate::render::RenderError;

/// Timers of the passes by the driver, if supported and requested.
pub(super) struct Timers {
    gl: Rc<Context>,
    on: bool,
    running: RefCell<Vec<(&'static str, TimeElapsedQuery)>>,
}

impl Timers {
    /// Makes inactive timers.
    pub fn new(gl: &Rc<Context>) -> Self {
        Self { gl: gl.clone(), on: false, running: RefCell::default() }
    }

    /// Times every pass from now on.
    pub fn run(&mut self) {
        self.on = true;
    }

    /// Returns the times of each pass since the last call \[ms\], by name; waits for them. Empty without
    /// timers.
    pub fn take(&mut self) -> BTreeMap<&'static str, f64> {
        let mut sums = BTreeMap::new();
        for (name, timer) in self.running.take() {
            *sums.entry(name).or_default() += f64::from(timer.get()) * 1e-6;
        }
        sums
    }

    /// Runs `draw` with a timer of the driver, and keeps the timer.
    fn time<R>(&self, name: &'static str, draw: impl FnOnce(Option<&TimeElapsedQuery>) -> R) -> R {
        // A driver without timers runs the pass untimed.
        let timer = if self.on { TimeElapsedQuery::new(&self.gl).ok() } else { None };
        let result = draw(timer.as_ref());
        self.running.borrow_mut().extend(timer.map(|timer| (name, timer)));
        result
    }

    /// Runs `program` over every pixel of the viewport.
    pub fn screen_pass(
        &self,
        surface: &mut impl Surface,
        program: &Program,
        inputs: &Inputs,
        parameters: &DrawParameters,
        name: &'static str,
    ) -> Result<(), RenderError> {
        let triangle = EmptyVertexAttributes { len: 3 };
        self.time(name, |time_elapsed_query| {
            let parameters = DrawParameters { time_elapsed_query, ..parameters.clone() };
            surface
                .draw(triangle, NoIndices(PrimitiveType::TrianglesList), program, inputs, &parameters)
                .map_err(|e| refused(name, e))
        })
    }
}

pub(super) fn blend(function: BlendingFunction) -> Blend {
    Blend { color: function, alpha: function, constant_value: (0.0, 0.0, 0.0, 0.0) }
}

/// Returns the blending of a colour with alpha over the target, whose alpha is the visible share of the
/// background.
pub(super) fn paint() -> Blend {
    let factors = |source, destination| BlendingFunction::Addition { source, destination };
    Blend {
        alpha: factors(LinearBlendingFactor::Zero, LinearBlendingFactor::OneMinusSourceAlpha),
        ..blend(factors(LinearBlendingFactor::SourceAlpha, LinearBlendingFactor::OneMinusSourceAlpha))
    }
}

/// Returns the blending of a new picture with `weight`, and the target with the rest of 1.
pub(super) fn averaging(weight: f32) -> Blend {
    if weight >= 1.0 {
        return blend(BlendingFunction::AlwaysReplace);
    }
    let function = BlendingFunction::Addition {
        source: LinearBlendingFactor::ConstantAlpha,
        destination: LinearBlendingFactor::OneMinusConstantAlpha,
    };
    Blend { constant_value: (weight, weight, weight, weight), ..blend(function) }
}

pub(super) fn refused(what: &'static str, error: impl std::fmt::Display) -> RenderError {
    RenderError::Gl(what, error.to_string())
}
