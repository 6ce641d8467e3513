//! How a pass is drawn: blending, the triangle that covers the viewport, and how long it takes.

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

/// Has the driver time the passes, if it can and is asked to.
pub(super) struct Timers {
    gl: Rc<Context>,
    on: bool,
    running: RefCell<Vec<(&'static str, TimeElapsedQuery)>>,
    /// Of passes that the driver had no part in \[ms\].
    others: Vec<(&'static str, f64)>,
}

impl Timers {
    /// Timers that stand still.
    pub fn new(gl: &Rc<Context>) -> Self {
        Self { gl: gl.clone(), on: false, running: RefCell::default(), others: Vec::new() }
    }

    /// Times every pass from now on.
    pub fn run(&mut self) {
        self.on = true;
    }

    /// What each pass has taken since the last call \[ms\], by name; waits for them. Empty if nothing was timed.
    pub fn take(&mut self) -> BTreeMap<&'static str, f64> {
        let mut sums = BTreeMap::new();
        for (name, took) in self.others.drain(..) {
            *sums.entry(name).or_default() += took;
        }
        for (name, timer) in self.running.take() {
            *sums.entry(name).or_default() += f64::from(timer.get()) * 1e-6;
        }
        sums
    }

    /// Takes note of passes that were timed elsewhere \[ms\].
    pub fn add(&mut self, took: Vec<(&'static str, f64)>) {
        if self.on {
            self.others.extend(took);
        }
    }

    /// Runs `draw`, which hands the timer to the driver, and keeps it.
    fn time<R>(&self, name: &'static str, draw: impl FnOnce(Option<&TimeElapsedQuery>) -> R) -> R {
        // A driver without timers just draws.
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

/// A colour with alpha over what is there, whose alpha is the share of the background still seen.
pub(super) fn paint() -> Blend {
    let factors = |source, destination| BlendingFunction::Addition { source, destination };
    Blend {
        alpha: factors(LinearBlendingFactor::Zero, LinearBlendingFactor::OneMinusSourceAlpha),
        ..blend(factors(LinearBlendingFactor::SourceAlpha, LinearBlendingFactor::OneMinusSourceAlpha))
    }
}

/// The new picture gets `weight`, what is there the rest.
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
