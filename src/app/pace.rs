//! How finely pictures are drawn, so that the window stays quick under the hand and gets fine when nothing
//! moves; and how many there are a second.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// After a movement the picture stays coarse this long, so that a hand that hesitates does not stutter.
const CALM: Duration = Duration::from_millis(180);
/// A moving picture that takes longer is drawn coarser \[ms\].
const TOO_SLOW: f32 = 45.0;
/// A moving picture is drawn finer if that is expected to take no longer than this \[ms\].
const QUICK: f32 = 30.0;
/// How much longer the next finer level takes, at most.
const STEP: f32 = 2.5;

/// How finely a picture is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The whole view is drawn at its size divided by this, and stretched.
    pub shrink: u32,
    /// The march through the smoke runs at that size divided by this.
    pub divide: u32,
}

/// Coarsest to finest. The last is the only one for pictures that stand still.
const LEVELS: [Level; 4] =
    [Level { shrink: 2, divide: 2 }, Level { shrink: 1, divide: 4 }, Level { shrink: 1, divide: 2 }, FINEST];

const FINEST: Level = Level { shrink: 1, divide: 1 };

/// Chooses the quality from what the last pictures took.
#[derive(Clone, Debug)]
pub struct Pace {
    level: usize,
    moved: Option<Instant>,
    drawn: VecDeque<Instant>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { level: 2, moved: None, drawn: VecDeque::new() }
    }
}

impl Pace {
    /// Something moves: the smoke, the camera or the hand.
    pub fn moves(&mut self, now: Instant) {
        self.moved = Some(now);
    }

    /// When the picture is to be drawn again, finely, if it is coarse now.
    pub fn calm_at(&self) -> Option<Instant> {
        self.moved.map(|moved| moved + CALM)
    }

    /// How to draw now.
    pub fn level(&mut self, now: Instant) -> Level {
        if self.calm_at().is_some_and(|calm| now >= calm) {
            self.moved = None;
        }
        if self.moved.is_some() { LEVELS[self.level] } else { FINEST }
    }

    /// Takes note of a picture that took `ms`; only moving ones tell how coarse they should be.
    pub fn drew(&mut self, ms: f32, now: Instant) {
        self.drawn.push_back(now);
        while self.drawn.front().is_some_and(|&t| now - t > Duration::from_secs(1)) {
            self.drawn.pop_front();
        }
        if self.moved.is_none() {
            return;
        }
        if ms > TOO_SLOW && self.level > 0 {
            self.level -= 1;
        } else if ms * STEP < QUICK && self.level + 1 < LEVELS.len() {
            self.level += 1;
        }
    }

    /// Pictures in the last second; 0 when there were too few to tell.
    pub fn fps(&self) -> f32 {
        let (Some(&first), Some(&last)) = (self.drawn.front(), self.drawn.back()) else {
            return 0.0;
        };
        let span = (last - first).as_secs_f32();
        if span > 0.2 { (self.drawn.len() - 1) as f32 / span } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_still_is_drawn_finely_after_a_moment() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        assert_eq!(pace.level(now), FINEST);
        pace.moves(now);
        assert_ne!(pace.level(now), FINEST);
        assert_ne!(pace.level(now + CALM / 2), FINEST);
        assert_eq!(pace.level(now + CALM), FINEST);
        assert_eq!(pace.calm_at(), None);
    }

    #[test]
    fn a_slow_machine_gets_coarser_pictures_and_a_quick_one_finer() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        pace.moves(now);
        (0..9).for_each(|_| pace.drew(80.0, now));
        assert_eq!(pace.level(now), LEVELS[0]);
        (0..9).for_each(|_| pace.drew(20.0, now));
        assert_eq!(pace.level(now), LEVELS[0], "a finer one would take 50 ms");
        (0..9).for_each(|_| pace.drew(1.5, now));
        assert_eq!(pace.level(now), FINEST);
    }

    #[test]
    fn pictures_are_counted_over_a_second() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        (0..200).for_each(|n| pace.drew(1.0, start + Duration::from_millis(20 * n)));
        assert!((pace.fps() - 50.0).abs() < 1.0, "{}", pace.fps());
    }
}
