//! Ranks: the processes that share one simulation, and the bytes they send each other.
//!
//! Every rank runs the same program on its own part of the box. [`Comm`] is all that the solver needs of them, a single kind of
//! transfer; exchanges of planes, sums and transpositions are made of it (`solver/storage/ranks.rs`). [`ThreadRanks`] are threads of one
//! process, for tests and trials; [`Metered`] counts and times the transfers of others. With the feature `mpi`, `MpiRanks` are the processes that `mpirun` starts.

mod metered;
#[cfg(feature = "mpi")]
mod mpi_ranks;
mod thread_ranks;

use std::fmt::Debug;

use bytemuck::{Pod, cast_slice, cast_slice_mut};

pub use metered::{Metered, Transfers};
#[cfg(feature = "mpi")]
pub use mpi_ranks::{MpiRanks, Session};
pub use thread_ranks::ThreadRanks;

/// The messages between a rank and the others.
///
/// All ranks make the same calls in the same order. A rank that ends before the others ends them too: a transfer with it never
/// returns.
pub trait Comm: Debug + Send + Sync {
    /// Number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn size(&self) -> usize;

    /// Sends and receives messages, each with the rank at its other end, and returns when all have arrived. Between two ranks the
    /// messages arrive in the order of their list, and both name the same number of bytes. No rank sends to itself.
    fn transfer(&self, sends: &[(usize, &[u8])], receives: &mut [(usize, &mut [u8])]);

    /// Told by the solver at the end of each stage of a step: the transfers since the last such call belong to it.
    fn end_stage(&self, _stage: usize) {}

    /// Ends all ranks at once, with this exit code.
    fn abort(&self, code: i32) -> !;
}

/// Returns the value of every rank.
pub fn of_all<T: Pod>(comm: &dyn Comm, mine: T) -> Vec<T> {
    let (mut found, own) = (vec![mine; comm.size()], [mine]);
    let others = (0..comm.size()).filter(|&rank| rank != comm.rank());
    let sends: Vec<_> = others.map(|rank| (rank, cast_slice(&own))).collect();
    let pieces = found.iter_mut().enumerate().filter(|(rank, _)| *rank != comm.rank());
    let mut receives: Vec<_> =
        pieces.map(|(rank, piece)| (rank, cast_slice_mut(std::slice::from_mut(piece)))).collect();
    comm.transfer(&sends, &mut receives);
    drop(receives);
    found
}
