//! Pacing: simulated against wall time.

use std::time::{Duration, Instant};

/// Largest delay that is made up for by taking the next steps sooner. Any more is dropped, so that a solver
/// does not race after a slow phase.
const CATCH_UP: Duration = Duration::from_millis(100);

/// Weight of the newest step in the running mean of the speed: about the last eight steps count.
const NEWEST: f64 = 0.125;

/// Schedules steps so that simulated time keeps up with wall time, and measures the lag. No step is ever
/// skipped: a solver that is too slow runs without pause and falls behind.
///
/// The present time is always a parameter, never read here.
#[derive(Clone, Debug)]
pub struct Clock {
    dt: f64,
    due: Instant,
    given_up: Duration,
    last: Option<Instant>,
    speed: f64,
}

impl Clock {
    /// Makes a clock for steps of `dt` seconds, the first one due `now`.
    pub fn new(dt: f32, now: Instant) -> Self {
        Self { dt: f64::from(dt), due: now, given_up: Duration::ZERO, last: None, speed: 0.0 }
    }

    /// Length of a step \[s\].
    pub fn dt(&self) -> f32 {
        self.dt as f32
    }

    /// Changes the length of future steps.
    pub fn set_dt(&mut self, dt: f32) {
        self.dt = f64::from(dt);
    }

    /// Forgets the lag and restarts.
    pub fn reset(&mut self, now: Instant) {
        *self = Self::new(self.dt(), now);
    }

    /// Continues after a pause, which does not count.
    pub fn resume(&mut self, now: Instant) {
        self.due = now;
        self.last = None;
    }

    /// Time at which the next step begins.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Records the end of a step.
    pub fn stepped(&mut self, now: Instant) {
        self.measure_speed(now);
        self.due += Duration::from_secs_f64(self.dt);
        let late = now.saturating_duration_since(self.due);
        if late > CATCH_UP {
            self.given_up += late - CATCH_UP;
            self.due = now - CATCH_UP;
        }
    }

    fn measure_speed(&mut self, now: Instant) {
        if let Some(last) = self.last {
            let newest = self.dt / now.saturating_duration_since(last).as_secs_f64().max(1e-6);
            let first = self.speed == 0.0;
            self.speed = if first { newest } else { self.speed + NEWEST * (newest - self.speed) };
        }
        self.last = Some(now);
    }

    /// Lag of the simulated clock behind the wall clock, without pauses \[s\].
    pub fn lag(&self, now: Instant) -> f64 {
        (self.given_up + now.saturating_duration_since(self.due)).as_secs_f64()
    }

    /// Simulated seconds per wall second over the last steps; 0 before the second step.
    pub fn speed(&self) -> f64 {
        self.speed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn a_fast_solver_waits_for_the_wall_clock() {
        let start = Instant::now();
        let mut clock = Clock::new(0.04, start);
        for n in 1..=50 {
            let begin = clock.due();
            clock.stepped(begin + ms(10));
            let ahead = clock.due() - start;
            assert!(ahead.abs_diff(ms(40 * n)) < ms(1), "step {n} is due after {ahead:?}");
        }
        assert!(clock.lag(clock.due()) < 1e-9);
        assert!((clock.speed() - 1.0).abs() < 1e-3, "speed {}", clock.speed());
    }

    #[test]
    fn a_slow_solver_never_waits_and_reports_its_delay() {
        let start = Instant::now();
        let mut clock = Clock::new(0.04, start);
        let mut now = start;
        for _ in 0..100 {
            now += ms(100);
            clock.stepped(now);
            assert!(clock.due() <= now, "it must not wait while it is behind");
        }
        let behind = clock.lag(now);
        assert!((behind - 6.0).abs() < 1e-3, "10 s of wall time, 4 s simulated: behind by {behind}");
        assert!((clock.speed() - 0.4).abs() < 1e-3, "speed {}", clock.speed());
    }

    #[test]
    fn a_short_delay_is_caught_up_and_a_long_one_is_not() {
        let start = Instant::now();
        let mut clock = Clock::new(0.04, start);
        let due = |clock: &Clock, at: u64| clock.due().duration_since(start).abs_diff(ms(at)) < ms(1);
        clock.stepped(start + ms(90));
        assert!(due(&clock, 40), "50 ms late: the next one begins at once");
        clock.stepped(start + ms(92));
        clock.stepped(start + ms(94));
        assert!(due(&clock, 120), "caught up");

        clock.stepped(start + ms(5000));
        clock.stepped(start + ms(5002));
        clock.stepped(start + ms(5004));
        clock.stepped(start + ms(5006));
        assert!(clock.due() > start + ms(5006), "only the last {CATCH_UP:?} are raced for");
    }

    #[test]
    fn a_pause_is_no_delay() {
        let start = Instant::now();
        let mut clock = Clock::new(0.04, start);
        clock.stepped(start + ms(10));
        clock.resume(start + ms(60_000));
        assert_eq!(clock.due(), start + ms(60_000));
        assert!(clock.lag(start + ms(60_000)) < 1e-9);
    }

    #[test]
    fn a_reset_forgets_the_delay() {
        let start = Instant::now();
        let mut clock = Clock::new(0.04, start);
        clock.stepped(start + ms(9000));
        assert!(clock.lag(start + ms(9000)) > 8.0);
        clock.reset(start + ms(9000));
        assert!(clock.lag(start + ms(9000)) < 1e-9);
    }
}
