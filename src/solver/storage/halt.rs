//! The request to end a step early, as passes see it.

use std::sync::atomic::{AtomicBool, Ordering};

use super::ranks::Ranks;

/// Whether a step is to end now. Long passes check this for each row or plane, and then leave the rest of
/// their work undone. The step fails at the end of the stage, and no one reads the unfinished fields.
///
/// Once a pass has seen the flag of the other thread raised, it counts as raised for good. If it is lowered
/// again, no later pass computes from half of a field.
pub struct Halt<'a> {
    cancel: Option<&'a AtomicBool>,
    is_seen: AtomicBool,
    /// Whether passes may end early. Several ranks exchange planes within a stage, so they agree between stages.
    is_alone: bool,
    /// Number of times that passes asked.
    #[cfg(test)]
    asks: std::sync::atomic::AtomicU32,
}

impl<'a> Halt<'a> {
    /// Ends a step of these `ranks` once `cancel` is raised.
    pub fn on(cancel: &'a AtomicBool, ranks: &Ranks) -> Self {
        Self { cancel: Some(cancel), is_alone: ranks.is_alone(), ..Self::never() }
    }

    /// Never ends anything.
    pub const fn never() -> Self {
        Self {
            cancel: None,
            is_seen: AtomicBool::new(false),
            is_alone: true,
            #[cfg(test)]
            asks: std::sync::atomic::AtomicU32::new(0),
        }
    }

    /// Whether this pass is to leave the rest of its work undone.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.is_alone && self.is_asked()
    }

    /// Whether the step is to end, for all `ranks` or none.
    pub fn is_agreed(&self, ranks: &Ranks) -> bool {
        ranks.any(self.is_asked())
    }

    /// Returns the number of times that passes asked since the last call.
    #[cfg(test)]
    pub fn take_asks(&self) -> u32 {
        self.asks.swap(0, Ordering::Relaxed)
    }

    #[inline]
    fn is_asked(&self) -> bool {
        #[cfg(test)]
        self.asks.fetch_add(1, Ordering::Relaxed);
        let is_raised = self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed));
        if is_raised {
            self.is_seen.store(true, Ordering::Relaxed);
        }
        is_raised || self.is_seen.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_that_was_seen_stays_raised() {
        let flag = AtomicBool::new(false);
        let halt = Halt::on(&flag, &Ranks::default());
        assert!(!halt.is_raised());
        flag.store(true, Ordering::Relaxed);
        assert!(halt.is_raised());
        flag.store(false, Ordering::Relaxed);
        assert!(halt.is_raised() && halt.is_agreed(&Ranks::default()));
        assert!(!Halt::never().is_raised());
    }
}
