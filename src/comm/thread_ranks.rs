//! Ranks as threads of one process, with a channel from each to each.

#[cfg(any(test, feature = "cli"))]
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::Comm;

/// One of several ranks in one process.
#[derive(Debug)]
pub struct ThreadRanks {
    rank: usize,
    /// To each rank.
    to: Vec<Sender<Vec<u8>>>,
    /// From each rank.
    from: Vec<Receiver<Vec<u8>>>,
}

impl ThreadRanks {
    /// Makes `size` ranks. Each belongs on a thread of its own, and its solver on a pool of its own.
    pub fn new(size: usize) -> Vec<Self> {
        let mut ranks: Vec<Self> =
            (0..size).map(|rank| Self { rank, to: Vec::new(), from: Vec::new() }).collect();
        for sender in 0..size {
            for receiver in 0..size {
                let (to, from) = unbounded();
                ranks[sender].to.push(to);
                // Receivers are visited once for each sender, in order.
                ranks[receiver].from.push(from);
            }
        }
        ranks
    }

    /// Calls `work` on each of `size` ranks, and returns the results in their order.
    #[cfg(any(test, feature = "cli"))]
    pub(crate) fn run<T: Send>(size: usize, work: impl Fn(Arc<dyn Comm>) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let work = &work;
            let ranks = Self::new(size).into_iter();
            let ranks: Vec<_> = ranks.map(|comm| scope.spawn(move || work(Arc::new(comm)))).collect();
            ranks.into_iter().map(|rank| rank.join().expect("no rank panics")).collect()
        })
    }
}

impl Comm for ThreadRanks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    /// # Panics
    /// If another rank has ended, or sends another number of bytes.
    fn transfer(&self, sends: &[(usize, &[u8])], receives: &mut [(usize, &mut [u8])]) {
        for &(rank, bytes) in sends {
            assert!(self.to[rank].send(bytes.to_vec()).is_ok(), "rank {rank} has ended");
        }
        for (rank, bytes) in receives {
            let Ok(message) = self.from[*rank].recv() else { panic!("rank {rank} has ended") };
            bytes.copy_from_slice(&message);
        }
    }

    /// # Panics
    /// Always: the other ranks end when they next wait for this one.
    fn abort(&self, code: i32) -> ! {
        panic!("rank {} ends with code {code}", self.rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_in_order() {
        ThreadRanks::run(3, |comm| {
            let others = || (0..3).filter(|&rank| rank != comm.rank());
            let mine = [[comm.rank() as u8, 1], [comm.rank() as u8, 2]];
            let sends: Vec<_> = others().flat_map(|to| mine.each_ref().map(|m| (to, &m[..]))).collect();
            let mut found = [[0; 2]; 4];
            let mut receives: Vec<_> = found
                .iter_mut()
                .zip(others().flat_map(|from| [from; 2]))
                .map(|(to, from)| (from, &mut to[..]))
                .collect();
            comm.transfer(&sends, &mut receives);
            let want: Vec<_> = others().flat_map(|from| [[from as u8, 1], [from as u8, 2]]).collect();
            assert_eq!(found.to_vec(), want);
        });
    }

    #[test]
    fn a_rank_that_ends_ends_those_that_wait_for_it() {
        let mut ranks = ThreadRanks::new(2);
        let (second, first) = (ranks.pop(), ranks.remove(0));
        drop(second);
        let waits = std::thread::spawn(move || first.transfer(&[], &mut [(1, &mut [0; 4])]));
        assert!(waits.join().is_err());
    }
}
