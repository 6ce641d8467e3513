//! Decay of scalars that enter or leave the box in one round of a step.

use crate::solver::sides::entering::StepDecay;

/// Decay of a round.
pub(super) struct RoundDecay {
    /// Factors at its end: those of the step, in the last round.
    pub factors: [f32; 4],
    pub of_step: StepDecay,
    /// Parts of the step between which the round moves air, beside a box around strained cells if there is one.
    pub span: [f64; 2],
    /// Means over them, as of [`StepDecay::of_entering`] and [`StepDecay::of_leaving`].
    entering: [f64; 4],
    leaving: [f64; 4],
}

impl RoundDecay {
    pub fn new(factors: [f32; 4], of_step: StepDecay, span: [f64; 2]) -> Self {
        let entering = [0, 1, 2, 3].map(|c| of_step.of_entering(c, span));
        let leaving = [0, 1, 2, 3].map(|c| of_step.of_leaving(c, span));
        Self { factors, of_step, span, entering, leaving }
    }

    /// The parts of the step between which the air of an inflow's ghost cell at some depth enters, where `courant` cells of air enter in the
    /// round, or in the parts `span` of the step. The last cell from which air comes gives those of the air that does enter, and cells
    /// beyond it the same.
    pub fn parts_of_entering(&self, span: Option<[f64; 2]>, [depth, courant]: [f32; 2]) -> [f64; 2] {
        let span = span.unwrap_or(self.span);
        if courant <= 1.0 {
            return span;
        }
        let from = depth.min(courant.ceil() - 1.0);
        let part = |cells: f32| span[0] + (span[1] - span[0]) * f64::from(cells / courant);
        [part(from), part(courant.min(from + 1.0))]
    }

    /// Factor of scalar `c` in what enters between two `parts` of the step.
    pub fn of_entering(&self, c: usize, parts: [f64; 2]) -> f32 {
        (if parts == self.span { self.entering[c] } else { self.of_step.of_entering(c, parts) }) as f32
    }

    /// Factor of scalar `c` in what leaves in the round, or in the parts `span` of the step.
    pub fn of_leaving(&self, c: usize, span: Option<[f64; 2]>) -> f64 {
        span.map_or(self.leaving[c], |span| self.of_step.of_leaving(c, span))
    }
}
