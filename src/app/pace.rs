//! Quality of pictures: coarse while the user moves something, so that the window stays fast, and fine when
//! nothing moves. Also counts pictures per second.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::render::Quality;

/// Time for which the picture stays coarse after a movement, so that short pauses cause no stutter.
const CALM: Duration = Duration::from_millis(180);
/// Time above which a moving picture is rendered coarser \[ms\].
const TOO_SLOW: f32 = 45.0;
/// Expected time up to which a moving picture is rendered finer \[ms\].
const QUICK: f32 = 30.0;
/// Time without a movement after which a still picture by splines may take long.
const STILL: Duration = Duration::from_secs(1);
/// Greatest expected time of a still picture by splines \[ms\].
const LONGEST: f32 = 5000.0;
/// Greatest cost of splines, relative to the finest picture without them.
const SPLINES_COST: f32 = 8.0;
/// Greatest cost of the next finer level, relative to the present one.
const STEP: f32 = 2.5;

/// Interval of snapshots, in times of a fine picture, above which running smoke starts to be rendered finely.
const AMPLE: f32 = 1.8;
/// Interval of snapshots, in times of a fine picture, below which fine rendering stops; less than [`AMPLE`],
/// so that the quality does not alternate.
const SCANT: f32 = 1.2;
/// Decay of a measured time, so that a level that was slow is tried again after a while.
const FORGET: f32 = 0.995;

/// Quality of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Divisor of the size of the whole view, which is then stretched.
    pub shrink: u32,
    /// Further divisor of the size for the march through the smoke.
    pub divide: u32,
    /// Whether smoke and light are interpolated by splines, as in files.
    pub splines: bool,
}

impl Level {
    /// Full size.
    pub const FINEST: Self = Self { shrink: 1, divide: 1, splines: false };

    /// Settings of the renderer.
    pub fn quality(self) -> Quality {
        match self {
            Self { divide: 1, splines, .. } => Quality { splines, ..Quality::FINAL },
            // Strongly stretched grain is visible: fewer rays, but finer steps.
            Self { divide: 4, .. } => Quality { divide: 4, ..Quality::FINAL },
            Self { divide, .. } => Quality { divide, ..Quality::INTERACTIVE },
        }
    }
}

/// Coarsest to finest.
const LEVELS: [Level; 6] = [
    Level { shrink: 2, divide: 2, splines: false },
    Level { shrink: 1, divide: 4, splines: false },
    Level { shrink: 1, divide: 2, splines: false },
    Level { shrink: 1, divide: 2, splines: true },
    Level::FINEST,
    SPLINES,
];

const FINEST: Level = Level::FINEST;
/// For still pictures, and for others where there is time.
const SPLINES: Level = Level { splines: true, ..FINEST };

/// Chooses the quality from the times of the last pictures.
#[derive(Clone, Debug)]
pub struct Pace {
    level: usize,
    /// Level of running smoke, FINEST or SPLINES, if there is time for it.
    fine: Option<Level>,
    /// Measured or assumed time of the finest picture without splines \[ms\].
    finest_ms: f32,
    /// Measured or assumed time of splines, relative to it.
    splines_cost: f32,
    moved: Option<Instant>,
    /// Start of the present rest: nothing has moved since.
    still: Option<Instant>,
    hurries: bool,
    drawn: VecDeque<Instant>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            level: 2,
            fine: None,
            finest_ms: 100.0,
            splines_cost: STEP,
            moved: None,
            still: None,
            hurries: false,
            drawn: VecDeque::new(),
        }
    }
}

impl Pace {
    /// Records that the user moves something: the camera, the ball, a slider.
    pub fn moves(&mut self, now: Instant) {
        self.moved = Some(now);
    }

    /// Returns the time to render again finely, if the picture is coarse because of a movement.
    pub fn calm_at(&self) -> Option<Instant> {
        self.moved.map(|moved| moved + CALM)
    }

    /// Returns the time at which a still picture is rendered by splines, if these take long and nothing moves
    /// until then.
    pub fn fine_at(&self) -> Option<Instant> {
        let is_slow = self.finest_ms > QUICK && SPLINES_COST * self.finest_ms <= LONGEST;
        self.still.filter(|_| is_slow).map(|still| still + STILL)
    }

    /// Sets whether no picture may take long: while the ball follows the mouse, or where pictures cannot be
    /// interrupted.
    pub fn hurries(&mut self, hurries: bool) {
        self.still = self.still.filter(|_| !hurries);
        self.hurries = hurries;
    }

    /// Returns the level of the next picture. While the smoke runs, `interval` is the wall time between its
    /// snapshots: all of them are rendered finely if there is time for it, else none, so that the picture
    /// does not pulse.
    pub fn level(&mut self, now: Instant, interval: Option<Duration>) -> Level {
        if self.calm_at().is_some_and(|calm| now >= calm) {
            self.moved = None;
        }
        let is_ample = |interval: Duration, level: Level| {
            let cost = if level.splines { self.splines_cost } else { 1.0 };
            let is_as_fine = self.fine.is_some_and(|fine| fine == level || fine == SPLINES);
            let needed = if is_as_fine { SCANT } else { AMPLE };
            interval.as_secs_f32() * 1e3 > needed * cost * self.finest_ms
        };
        self.fine = interval.and_then(|i| [SPLINES, FINEST].into_iter().find(|&level| is_ample(i, level)));
        let is_still = self.moved.is_none() && interval.is_none() && !self.hurries;
        self.still = is_still.then(|| self.still.unwrap_or(now));
        let is_due = self.fine_at().is_some_and(|at| now >= at);
        match (self.moved, interval) {
            (None, None) if self.finest_ms <= QUICK || is_due => SPLINES,
            (None, None) => FINEST,
            (None, Some(_)) => self.fine.unwrap_or(LEVELS[self.level]),
            (Some(_), _) => LEVELS[self.level],
        }
    }

    /// Records a picture at `level` that took `ms`.
    pub fn drew(&mut self, level: Level, ms: f32, now: Instant) {
        self.drawn.push_back(now);
        while self.drawn.front().is_some_and(|&t| now - t > Duration::from_secs(1)) {
            self.drawn.pop_front();
        }
        if level == SPLINES {
            self.finest_ms = self.finest_ms.min(ms).max(ms / SPLINES_COST);
            self.splines_cost += 0.5 * (ms / self.finest_ms - self.splines_cost);
        } else if level == FINEST {
            self.finest_ms += 0.5 * (ms - self.finest_ms);
            self.splines_cost = STEP + FORGET * (self.splines_cost - STEP);
        } else {
            self.finest_ms *= FORGET;
        }
        let coarser = ms > TOO_SLOW && self.level > 0;
        let finer = ms * STEP < QUICK && self.level + 1 < LEVELS.len();
        if level == LEVELS[self.level] {
            self.level = self.level + usize::from(finer) - usize::from(coarser);
        }
    }

    /// Pictures in the last second; 0 if there were too few.
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

    fn draws(pace: &mut Pace, count: usize, ms: f32, now: Instant, interval: Option<Duration>) {
        for _ in 0..count {
            let level = pace.level(now, interval);
            pace.drew(level, ms, now);
        }
    }

    #[test]
    fn still_pictures_are_refined_after_a_moment() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        assert_eq!(pace.level(now, None), FINEST);
        pace.moves(now);
        assert_ne!(pace.level(now, None), FINEST);
        assert_ne!(pace.level(now + CALM / 2, None), FINEST);
        assert_eq!(pace.level(now + CALM, None), FINEST);
        assert_eq!(pace.calm_at(), None);
    }

    #[test]
    fn still_pictures_of_a_quick_machine_are_by_splines() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        draws(&mut pace, 9, 80.0, now, None);
        assert_eq!(pace.level(now, None), FINEST, "splines would take long");
        draws(&mut pace, 9, 10.0, now, None);
        assert_eq!(pace.level(now, None), SPLINES);
        draws(&mut pace, 9, 60.0, now, None);
        assert_eq!(pace.level(now, None), SPLINES, "the time of splines says nothing of the others");
        draws(&mut pace, 1, 400.0, now, None);
        assert_eq!(pace.level(now, None), FINEST, "splines take too long after all");
        pace.moves(now);
        assert!(!pace.level(now, None).splines);
    }

    #[test]
    fn a_slow_machine_draws_by_splines_after_a_second_without_movement() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        draws(&mut pace, 9, 300.0, now, None);
        assert_eq!(pace.level(now, None), FINEST);
        assert_eq!(pace.fine_at(), Some(now + STILL));
        assert_eq!(pace.level(now + STILL, None), SPLINES);
        pace.drew(SPLINES, 2400.0, now + STILL);
        assert_eq!(pace.level(now + STILL, None), SPLINES, "it stays");
        pace.hurries(true);
        assert_eq!(pace.level(now + STILL, None), FINEST, "the ball moves");
        pace.hurries(false);
        assert_eq!(pace.level(now + STILL, None), FINEST);
        assert_eq!(pace.level(now + 2 * STILL, None), SPLINES);
        assert_eq!(pace.level(now + 2 * STILL, Some(Duration::from_secs(1))), FINEST, "the smoke runs");
        draws(&mut pace, 9, 700.0, now, None);
        assert_eq!(pace.level(now + 3 * STILL, None), FINEST, "splines would take more than five seconds");
        assert_eq!(pace.fine_at(), None);
    }

    #[test]
    fn a_slow_machine_gets_coarser_pictures_and_a_quick_one_finer() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        pace.moves(now);
        draws(&mut pace, 9, 80.0, now, None);
        assert_eq!(pace.level(now, None), LEVELS[0]);
        draws(&mut pace, 9, 20.0, now, None);
        assert_eq!(pace.level(now, None), LEVELS[0], "a finer one would take 50 ms");
        draws(&mut pace, 9, 1.5, now, None);
        assert_eq!(pace.level(now, None), SPLINES, "the hand moves");
    }

    #[test]
    fn running_smoke_is_drawn_finely_only_if_there_is_ample_time() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        let frame = Some(Duration::from_millis(40));
        assert_ne!(pace.level(now, frame), FINEST, "nothing is known yet");
        assert_eq!(pace.level(now, Some(Duration::from_secs(1))), SPLINES, "the solver is slow anyway");
        draws(&mut pace, 20, 5.0, now, None);
        assert_eq!(pace.level(now, frame), SPLINES, "a quick machine");
        for _ in 0..20 {
            pace.level(now, None);
            pace.drew(FINEST, 200.0, now);
        }
        let levels: Vec<_> = (0..20).map(|_| pace.level(now, Some(Duration::from_millis(300)))).collect();
        assert!(levels.iter().all(|l| *l != FINEST), "and no change from picture to picture");
    }

    #[test]
    fn running_smoke_is_by_splines_only_if_there_is_time_for_them() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        for _ in 0..40 {
            pace.drew(FINEST, 20.0, now);
            pace.drew(SPLINES, 50.0, now);
        }
        let mut at = |ms| pace.level(now, Some(Duration::from_millis(ms)));
        assert_eq!(at(80), FINEST);
        assert_eq!(at(100), SPLINES);
        assert_eq!(at(70), SPLINES, "no change from picture to picture");
        assert_eq!(at(30), FINEST, "one level at a time");
        assert_eq!(at(20), LEVELS[2]);
        assert_eq!(at(30), LEVELS[2]);
    }

    #[test]
    fn pictures_are_counted_over_a_second() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        (0..200).for_each(|n| pace.drew(FINEST, 1.0, start + Duration::from_millis(20 * n)));
        assert!((pace.fps() - 50.0).abs() < 1.0, "{}", pace.fps());
    }
}
