//! Ranks whose transfers are counted and timed.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Comm;

/// The first of some ranks, with what they send and how long they wait in each stage of the solver.
#[derive(Debug)]
pub struct Metered {
    comm: Arc<dyn Comm>,
    size: usize,
    meter: Mutex<Meter>,
}

/// Bytes and messages that a rank has sent, and the time of its transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Time from the start to the end of all transfers: waiting for other ranks, and the transfer of the
    /// messages.
    pub time: Duration,
    /// Bytes sent.
    pub bytes: u64,
    /// Messages sent.
    pub messages: u64,
}

#[derive(Debug, Default)]
struct Meter {
    /// Transfers since the end of the last stage.
    now: Transfers,
    /// Transfers of each stage.
    stages: Vec<Transfers>,
}

impl Metered {
    /// The first `size` ranks of `comm`, of which this must be one.
    pub fn new(comm: Arc<dyn Comm>, size: usize) -> Self {
        assert!(comm.rank() < size && size <= comm.size(), "rank {} of {size}", comm.rank());
        Self { comm, size, meter: Mutex::default() }
    }

    /// The transfers of each stage since the last call, by the number of the stage.
    pub fn take(&self) -> Vec<Transfers> {
        let mut meter = self.meter.lock().expect("no panic while it is held");
        meter.now = Transfers::default();
        std::mem::take(&mut meter.stages)
    }
}

impl Transfers {
    fn add(&mut self, other: Self) {
        self.time += other.time;
        self.bytes += other.bytes;
        self.messages += other.messages;
    }
}

impl Comm for Metered {
    fn rank(&self) -> usize {
        self.comm.rank()
    }

    fn size(&self) -> usize {
        self.size
    }

    fn transfer(&self, sends: &[(usize, &[u8])], receives: &mut [(usize, &mut [u8])]) {
        let began = Instant::now();
        self.comm.transfer(sends, receives);
        let bytes = sends.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        let transfers = Transfers { time: began.elapsed(), bytes, messages: sends.len() as u64 };
        self.meter.lock().expect("no panic while it is held").now.add(transfers);
    }

    fn end_stage(&self, stage: usize) {
        let mut meter = self.meter.lock().expect("no panic while it is held");
        let now = std::mem::take(&mut meter.now);
        if meter.stages.len() <= stage {
            meter.stages.resize(stage + 1, Transfers::default());
        }
        meter.stages[stage].add(now);
    }

    fn abort(&self, code: i32) -> ! {
        self.comm.abort(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::ThreadRanks;

    #[test]
    fn transfers_are_counted_by_stage() {
        let mut ranks = ThreadRanks::new(3);
        ranks.truncate(2);
        std::thread::scope(|scope| {
            for comm in ranks.drain(..) {
                scope.spawn(move || {
                    let ranks = Metered::new(Arc::new(comm), 2);
                    let other = 1 - ranks.rank();
                    let exchange = |bytes: usize| {
                        let mut found = vec![0; bytes];
                        ranks.transfer(&[(other, &vec![7; bytes])], &mut [(other, &mut found)]);
                        assert!(found.iter().all(|&byte| byte == 7));
                    };
                    exchange(5);
                    exchange(3);
                    ranks.end_stage(2);
                    exchange(1);
                    ranks.end_stage(0);
                    // It belongs to no stage.
                    exchange(9);
                    let counts: Vec<_> = ranks.take().iter().map(|t| (t.bytes, t.messages)).collect();
                    assert_eq!(counts, [(1, 1), (0, 0), (8, 2)]);
                    assert_eq!((ranks.size(), ranks.take().len()), (2, 0));
                });
            }
        });
    }
}
