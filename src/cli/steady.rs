//! Detection of a steady flow, which ends a run.

use crate::solver::StepStats;

/// Detects a steady flow.
pub(super) struct Steady {
    /// Relative change of the kinetic energy below which the flow is steady \[1/s\].
    share: f64,
    /// Time \[s\] and energy of the last frame.
    last: Option<(f64, f64)>,
    /// Start of the present time without a change of the energy \[s\].
    since: Option<f64>,
}

impl Steady {
    pub fn new(share: f64) -> Self {
        Self { share, last: None, since: None }
    }

    /// Returns whether the energy has changed less than that for a second. Air at rest does not count: the
    /// flow has not begun yet.
    pub fn reached(&mut self, stats: &StepStats) -> bool {
        let (time, energy) = (stats.time, stats.kinetic_energy);
        let Some((before, was)) = self.last.replace((time, energy)) else { return false };
        if energy > 0.0 && (energy - was).abs() < self.share * energy * (time - before) {
            time - *self.since.get_or_insert(before) >= 1.0
        } else {
            self.since = None;
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_steady_after_a_second_without_change() {
        let mut steady = Steady::new(0.01);
        let ends: Vec<bool> = (0..40)
            .map(|frame| {
                let time = 0.125 * f64::from(frame);
                // Grows until 1.5 s.
                let kinetic_energy = time.min(1.5);
                steady.reached(&StepStats { time, kinetic_energy, ..StepStats::default() })
            })
            .collect();
        assert_eq!(ends.iter().position(|&end| end), Some(20), "{ends:?}");
        let mut still = Steady::new(0.01);
        assert!((0..40).all(|n| !still.reached(&StepStats { time: f64::from(n), ..StepStats::default() })));
    }
}
