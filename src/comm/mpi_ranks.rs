//! Ranks as the processes that a launcher of MPI has started.

use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::request::scope;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};

use super::Comm;

/// Longest message; longer ones are divided. MPI counts in 32 bits.
const LONGEST: usize = 1 << 30;

/// Bytes of the text that says where a rank runs.
const PLACE: usize = 128;

/// This process among those of MPI.
#[derive(Debug)]
pub struct MpiRanks {
    rank: usize,
    size: usize,
    /// Ranks on this machine that may use the same processors.
    sharing: usize,
    /// Ranks on this machine.
    here: usize,
    /// Whether ranks of one machine, here or elsewhere, are in different user namespaces.
    is_divided: bool,
    /// Machine of each rank, and the processors that it may use there.
    places: Vec<String>,
}

/// MPI as long as it lives; it ends MPI when it is dropped.
pub struct Session {
    _universe: Universe,
}

impl Drop for Session {
    fn drop(&mut self) {
        // MPI ends when all ranks end it. After a panic the others may wait for a message that never comes.
        if std::thread::panicking() {
            SimpleCommunicator::world().abort(PANICKED);
        }
    }
}

/// Exit code of a program that panics.
const PANICKED: i32 = 101;

impl MpiRanks {
    /// Starts MPI. Call it once, on the main thread.
    ///
    /// # Errors
    /// In words, if MPI was started before or allows no calls from threads.
    pub fn start() -> Result<(Self, Session), String> {
        let (universe, threading) = mpi::initialize_with_threading(Threading::Serialized)
            .ok_or("MPI was started twice in one process")?;
        if threading < Threading::Serialized {
            return Err(format!("this MPI allows calls from one thread only ({threading:?})"));
        }
        let world = universe.world();
        let beside = world.split_shared(world.rank());
        let processors = processors();
        let mine = [hash(processors.as_bytes()), user_namespace()];
        let mut theirs = vec![0; 2 * beside.size() as usize];
        beside.all_gather_into(&mine[..], &mut theirs[..]);
        let count = |n: usize| theirs.iter().skip(n).step_by(2).filter(|of| **of == mine[n]).count();
        let (here, sharing) = (theirs.len() / 2, count(0));
        let mut is_divided = false;
        world.all_reduce_into(&(count(1) < here), &mut is_divided, SystemOperation::logical_or());
        let [rank, size] = [world.rank(), world.size()].map(|n| n as usize);
        let machine = mpi::environment::processor_name().unwrap_or_default();
        let mut place = [0; PLACE];
        let words = format!("{machine}, processors {processors}");
        place.iter_mut().zip(words.bytes()).for_each(|(to, byte)| *to = byte);
        let mut all = vec![0; PLACE * size];
        world.all_gather_into(&place[..], &mut all[..]);
        let text = |place: &[u8]| String::from_utf8_lossy(place).trim_end_matches('\0').to_owned();
        let places = all.chunks(PLACE).map(text).collect();
        Ok((Self { rank, size, sharing, here, is_divided, places }, Session { _universe: universe }))
    }

    /// Number of ranks on this machine, this one included, that may use the same processors.
    pub fn sharing(&self) -> usize {
        self.sharing
    }

    /// Number of ranks on this machine, this one included.
    pub fn here(&self) -> usize {
        self.here
    }

    /// Whether ranks of one machine are in different user namespaces, as containers are that do not share one.
    pub fn is_divided(&self) -> bool {
        self.is_divided
    }

    /// The machine of each rank, and the processors that it may use there.
    pub fn places(&self) -> &[String] {
        &self.places
    }
}

/// The processors that this process may use, as `0-3,8`; where the system does not say, `unknown`.
fn processors() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    allowed.map_or("unknown", str::trim).to_owned()
}

/// A hash of the user namespace of this process; where the system has none, the same for all.
fn user_namespace() -> u64 {
    let namespace = std::fs::read_link("/proc/self/ns/user").unwrap_or_default();
    hash(namespace.as_os_str().as_encoded_bytes())
}

/// The FNV-1a hash of `bytes`.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

impl Comm for MpiRanks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn transfer(&self, sends: &[(usize, &[u8])], receives: &mut [(usize, &mut [u8])]) {
        let world = SimpleCommunicator::world();
        scope(|scope| {
            // First all receives, so that messages go directly to their place.
            let receives: Vec<_> = receives
                .iter_mut()
                .flat_map(|(rank, bytes)| bytes.chunks_mut(LONGEST).map(|part| (*rank, part)))
                .map(|(rank, part)| world.process_at_rank(rank as i32).immediate_receive_into(scope, part))
                .collect();
            let sends: Vec<_> = sends
                .iter()
                .flat_map(|(rank, bytes)| bytes.chunks(LONGEST).map(|part| (*rank, part)))
                .map(|(rank, part)| world.process_at_rank(rank as i32).immediate_send(scope, part))
                .collect();
            receives.into_iter().for_each(|receive| receive.wait_without_status());
            sends.into_iter().for_each(|send| send.wait_without_status());
        });
    }

    fn abort(&self, code: i32) -> ! {
        SimpleCommunicator::world().abort(code)
    }
}
