//! How coarse the march must be for a frame rate.

use std::time::Duration;

use super::Quality;

/// Chooses the size of the march from how long the last frames took.
///
/// A frame over the budget makes the next march coarser at once; it gets finer again only when several
/// frames in a row leave room for the four times as many rays, so it does not flicker between two.
#[derive(Clone, Debug, PartialEq)]
pub struct Pacer {
    budget: Duration,
    divide: u32,
    roomy: u32,
}

/// Frames with room in a row before the march gets finer.
const PATIENCE: u32 = 12;
/// The coarsest march.
const COARSEST: u32 = 4;

impl Pacer {
    /// Aims at frames of `budget`; starts at half size.
    pub fn new(budget: Duration) -> Self {
        Self { budget, divide: 2, roomy: 0 }
    }

    /// Takes note of a frame that was drawn with [`Pacer::quality`].
    pub fn note(&mut self, took: Duration) {
        if took > self.budget {
            self.divide = (self.divide * 2).min(COARSEST);
            self.roomy = 0;
        } else if self.divide > 1 && took * 4 < self.budget {
            self.roomy += 1;
        } else {
            self.roomy = 0;
        }
        if self.roomy >= PATIENCE {
            self.divide /= 2;
            self.roomy = 0;
        }
    }

    /// For the next frame, while something moves.
    pub fn quality(&self) -> Quality {
        let samples = if self.divide == 1 { 1.0 } else { Quality::INTERACTIVE.samples };
        Quality { divide: self.divide, samples, ..Quality::FINAL }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Duration = Duration::from_millis(16);

    #[test]
    fn slow_frames_make_it_coarser_at_once() {
        let mut pacer = Pacer::new(BUDGET);
        pacer.note(2 * BUDGET);
        assert_eq!(pacer.quality().divide, 4);
        pacer.note(2 * BUDGET);
        assert_eq!(pacer.quality().divide, 4);
    }

    #[test]
    fn it_gets_finer_only_with_lasting_room() {
        let mut pacer = Pacer::new(BUDGET);
        for _ in 1..PATIENCE {
            pacer.note(BUDGET / 8);
        }
        assert_eq!(pacer.quality().divide, 2);
        pacer.note(BUDGET / 2);
        pacer.note(BUDGET / 8);
        assert_eq!(pacer.quality().divide, 2);
        (0..PATIENCE).for_each(|_| pacer.note(BUDGET / 8));
        assert_eq!(pacer.quality(), Quality::FINAL);
    }
}
