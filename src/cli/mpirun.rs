//! Ranks of a command: the processes that a launcher of MPI has started. Only the first writes lines and files.

use std::sync::Arc;
use std::time::Duration;

use super::{CliError, console};
use crate::comm::Comm;
use crate::scene::Share;

/// Time for which other ranks wait before they report an error, so that the first reports one that all have
/// \[s\].
const PATIENCE: u64 = 3;

/// Variables of launchers with the number of processes and that of this one: Open MPI, MPICH and its
/// derivatives, Slurm.
const LAUNCHERS: [[&str; 2]; 3] = [
    ["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"],
    ["PMI_SIZE", "PMI_RANK"],
    ["SLURM_STEP_NUM_TASKS", "PMIX_RANK"],
];

/// MPI, if a launcher has started this process.
#[derive(Default)]
pub struct Launch {
    comm: Option<Arc<dyn Comm>>,
    threads: Option<usize>,
    here: Option<usize>,
    /// Whether Open MPI may wait forever for messages between containers.
    may_hang: bool,
    /// Machine and processors of each rank.
    places: Vec<String>,
    #[cfg(feature = "mpi")]
    _session: Option<crate::comm::Session>,
}

/// Returns the number of processes and that of this one, as set by a launcher.
fn launched() -> Option<[usize; 2]> {
    let of = |name: &str| std::env::var(name).ok()?.parse().ok();
    LAUNCHERS.iter().find_map(|[size, rank]| Some([of(size)?, of(rank)?]))
}

/// Joins the other processes of a launcher, if there is one; `shares` tells whether the command can share its
/// work.
///
/// # Errors
/// If there are several and the command or this program cannot share the work: each would do all of it.
pub fn join(shares: bool) -> Result<Launch, CliError> {
    let Some([size, rank]) = launched() else { return Ok(Launch::default()) };
    console::silence(rank > 0);
    if size > 1 && !shares {
        let text = format!(
            "{size} processes were started, and only `simulate`, `detail`, `render` and `bench` share their work among them"
        );
        return Err(CliError::Request(text));
    }
    if shares { start(size) } else { Ok(Launch::default()) }
}

#[cfg(feature = "mpi")]
fn start(_: usize) -> Result<Launch, CliError> {
    let (ranks, session) = crate::comm::MpiRanks::start().map_err(CliError::Request)?;
    console::silence(ranks.rank() > 0);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = Some((processors / ranks.sharing()).max(1));
    let (here, places) = (Some(ranks.here()), ranks.places().to_vec());
    let may_hang = ranks.is_divided() && copies_directly();
    Ok(Launch { comm: Some(Arc::new(ranks)), threads, here, may_hang, places, _session: Some(session) })
}

/// Returns whether this is Open MPI, and no option forbids it to copy messages from the memory of another
/// process.
#[cfg(feature = "mpi")]
fn copies_directly() -> bool {
    std::env::var_os("OMPI_COMM_WORLD_SIZE").is_some()
        && std::env::var_os("OMPI_MCA_btl_vader_single_copy_mechanism").is_none_or(|by| by != "none")
}

#[cfg(not(feature = "mpi"))]
fn start(size: usize) -> Result<Launch, CliError> {
    if size == 1 {
        return Ok(Launch::default());
    }
    Err(CliError::Request(format!(
        "{size} processes were started, and this program cannot share a run: build it with --features mpi"
    )))
}

impl Launch {
    /// Returns the ranks.
    pub fn comm(&self) -> Option<Arc<dyn Comm>> {
        self.comm.clone()
    }

    /// Returns the default threads of this rank: its share of the processors that it may use.
    pub fn threads(&self) -> Option<usize> {
        self.threads
    }

    /// Returns the division of the run and of this machine among the ranks; `renders` if it is for pictures.
    pub fn share(&self, renders: bool) -> Share {
        match (&self.comm, self.here) {
            (Some(comm), Some(_)) => Share { ranks: comm.size(), here: self.here, renders },
            _ => Share::default(),
        }
    }

    /// Reports the machine of each rank, with `-v`, and warns if Open MPI may hang.
    pub fn tell_places(&self) {
        if self.may_hang {
            tracing::warn!(
                "ranks of one machine are in different user namespaces, where Open MPI may wait forever for a message; share one by \
                 `ch-run --join` or `apptainer run --sharens`, or give `--mca btl_vader_single_copy_mechanism none` to mpirun"
            );
        }
        for (rank, place) in self.places.iter().enumerate() {
            tracing::info!("rank {rank} of {} on {place}", self.places.len());
        }
    }

    /// Ends the command with `result`. An error is reported once and ends all ranks, because others may wait
    /// for a message of this one.
    pub fn end(self, result: Result<(), CliError>) -> Result<(), CliError> {
        match (result, &self.comm) {
            // All ranks have agreed to stop.
            (Err(error), Some(comm)) if comm.size() > 1 && !matches!(error, CliError::Stopped(_)) => {
                if comm.rank() > 0 {
                    std::thread::sleep(Duration::from_secs(PATIENCE));
                    console::silence(false);
                    console::tell(&format!("updraft: on rank {}:", comm.rank()));
                }
                console::report(&error);
                comm.abort(error.code().into())
            }
            (result, _) => result,
        }
    }
}
