//! Checkpoints: the state of a run after a step, in one file. A run resumed from it has the same bits.
//!
//! The file has a line of magic, the version of the format (u32), the length of a JSON head (u32), the head,
//! the state of the solver, the sums of means over time, and the CRC-32 of all these. The head identifies the
//! scene by a hash of each part, and lists the finished frames and steps, the lengths of the tables, and the
//! means.
//!
//! Several ranks write the file at the same time, each the planes of its slab, and read it in the same way:
//! no rank passes on the fields of another. The bytes are those of one process.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Write as _};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::CliError;
use super::means::Mean;
use crate::comm::{Comm, of_all};
use crate::foreign;
use crate::output::OutputError;
use crate::output::part_file::{self, End, Part, PartFile};
use crate::output::whole::{self, Aside};
use crate::scene::Scene;
use crate::solver::{Config, Params, Solver, StateError};

const MAGIC: &[u8] = b"updraft checkpoint\n";

/// Version of the format, raised with each change of the state of a solver and of the parts of a scene.
const VERSION: u32 = 5;

/// Longest valid head \[bytes\].
const LONGEST: u32 = 1 << 20;

/// Bytes of one read of the check, and of one write of means.
const CHUNK: usize = 1 << 20;

/// Bytes of a sum.
const SUM: u64 = 8;

/// A rank's file, its parts, and the ends that the first rank has to write for it.
type Written = (File, Vec<Part>, Vec<End>);

/// Progress of a run, and hashes of its scene.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Version of the program.
    pub program: String,
    /// A hash of each part of the scene that affects the numbers.
    pub scene: BTreeMap<String, String>,
    /// Last finished frame.
    pub frame: u32,
    /// Steps after that frame.
    pub step: u32,
    /// Whether smoke moves through the flow of another run, as in `updraft detail`.
    #[serde(default)]
    pub has_given_flow: bool,
    /// Options of its output, as [`RunOptions`](super::run_options::RunOptions) reads it.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Length of each table \[bytes\].
    pub tables: BTreeMap<String, u64>,
    /// Means over time, and the number of sums of each.
    pub means: Vec<(String, u64)>,
}

/// An intact checkpoint.
pub struct Checkpoint {
    /// Head of the file.
    pub head: Head,
    path: PathBuf,
    /// The file, positioned at the state of the solver.
    state: BufReader<File>,
}

impl Head {
    /// Makes the head for a run of `scene`, without means.
    pub fn new(scene: &Scene, frame: u32, step: u32, tables: BTreeMap<String, u64>) -> Self {
        let program = env!("CARGO_PKG_VERSION").into();
        let (has_given_flow, options) = (false, BTreeMap::new());
        Self { program, scene: hashes(scene), frame, step, has_given_flow, options, tables, means: vec![] }
    }
}

/// Writes a checkpoint. It replaces the last one only after all of it is on the disk, so that a loss of power
/// leaves one of them intact. Each of several ranks writes its own parts into the file that the first makes.
/// An error of any rank is returned on all.
pub fn write(
    path: &Path,
    head: &Head,
    solver: &mut Solver,
    means: &mut [&mut Mean],
) -> Result<(), OutputError> {
    write_parts(path, head, solver, means)
        .map_err(|source| OutputError::Write { path: path.to_owned(), source })
        .and_then(|written| written.map_or(Ok(()), Aside::keep_durably))
}

/// Writes the whole file under a temporary name, and returns that on the first rank.
fn write_parts(
    path: &Path,
    head: &Head,
    solver: &mut Solver,
    means: &mut [&mut Mean],
) -> io::Result<Option<Aside>> {
    // Each checkpoint has another temporary name: machines may have cached the file that had the name of the
    // last one.
    let step = (!solver.is_alone()).then(|| solver.stats().step);
    let begun = match solver.is_first_rank() {
        true => {
            let aside = step.map_or_else(|| Aside::of(path), |step| Aside::numbered(path, step));
            begin(&aside, head, means).map(|file| Some((aside, file)))
        }
        false => Ok(None),
    };
    let mut begun = agree(solver, begun)?;
    let place = begun.as_mut().map_or(Ok(0), |(_, file)| file.stream_position())?;
    let of_first = solver.list_of_first(&[std::process::id().into(), place]);
    let (aside, file) = match begun {
        Some((aside, file)) => (Some(aside), Ok(file)),
        None => {
            let meanwhile = whole::numbered_of(path, of_first[0] as u32, step.unwrap_or(0));
            let file = File::options().write(true).open(meanwhile).map_err(unshared);
            (None, file.map(|file| PartFile::new(file, false)))
        }
    };
    let written = file.and_then(|file| write_own(file, of_first[1], solver, means));
    let joined = join(written, solver);
    let joined = agree(solver, joined)?;
    let ended = match &aside {
        Some(_) => end(joined),
        None => Ok(()),
    };
    agree(solver, ended)?;
    Ok(aside)
}

/// Creates the file with all that is before the state of the solver.
fn begin(aside: &Aside, head: &Head, means: &mut [&mut Mean]) -> io::Result<PartFile> {
    let head = &Head { means: means.iter_mut().map(describe).collect(), ..head.clone() };
    let head = serde_json::to_vec(head)?;
    let mut file = PartFile::new(File::create(aside.meanwhile())?, true);
    file.write_all(MAGIC)?;
    file.write_all(&VERSION.to_le_bytes())?;
    file.write_all(&(head.len() as u32).to_le_bytes())?;
    file.write_all(&head)?;
    Ok(file)
}

/// Writes the parts of this rank of the state, which begins at `place`, and of the means.
fn write_own(
    mut file: PartFile,
    place: u64,
    solver: &mut Solver,
    means: &mut [&mut Mean],
) -> io::Result<Written> {
    file.seek(SeekFrom::Start(place))?;
    solver.save(&mut file).map_err(|error| match error {
        StateError::Io(error) => error,
        other => io::Error::other(other),
    })?;
    let mut at = file.stream_position()?;
    for mean in means.iter_mut() {
        for (start, sums) in mean.own() {
            file.seek(SeekFrom::Start(at + SUM * start as u64))?;
            for sums in sums.chunks(CHUNK / SUM as usize) {
                file.write_all(&sums.iter().flat_map(|sum| sum.to_le_bytes()).collect::<Vec<u8>>())?;
            }
        }
        at += SUM * mean.len() as u64;
    }
    file.finish()
}

/// Writes the ends that other ranks have sent to the first, and waits until the parts are on the disk.
/// Returns the parts of all ranks on the first. It exchanges messages even after an error, because the other
/// ranks wait for them.
fn join(written: io::Result<Written>, solver: &Solver) -> io::Result<(File, Vec<Part>)> {
    let (file, parts, ends) = match written {
        Ok((file, parts, ends)) => (Ok(file), parts, ends),
        Err(error) => (Err(error), Vec::new(), Vec::new()),
    };
    let parts = solver.lists_to_first(&parts);
    let places: Vec<[u64; 3]> =
        ends.iter().map(|end| [solver.rank() as u64, end.start, end.bytes.len() as u64]).collect();
    let places = solver.lists_to_first(&places);
    ends.iter().for_each(|end| solver.send_to_first(&end.bytes));
    let file = places.into_iter().fold(file, |file, [rank, start, length]| {
        let mut bytes = vec![0; length as usize];
        solver.receive(rank as usize, &mut bytes);
        let mut file = file?;
        file.seek(SeekFrom::Start(start))?;
        file.write_all(&bytes)?;
        Ok(file)
    })?;
    file.sync_all()?;
    Ok((file, parts))
}

/// Adds the checksum of all `parts` at the end of the file.
fn end((mut file, parts): (File, Vec<Part>)) -> io::Result<()> {
    let (length, sum) = part_file::checksum(parts)?;
    file.seek(SeekFrom::Start(length))?;
    file.write_all(&sum.to_le_bytes())?;
    file.sync_all()
}

/// Returns the first error of any rank on all ranks.
fn agree<T>(solver: &Solver, mine: io::Result<T>) -> io::Result<T> {
    if solver.is_alone() {
        return mine;
    }
    let of_rank = if solver.is_first_rank() { String::new() } else { format!("on rank {}: ", solver.rank()) };
    let text = mine.as_ref().err().map(|error| format!("{of_rank}{error}\n"));
    let mut texts = text.unwrap_or_default().into_bytes();
    solver.join_lists(&mut texts);
    match String::from_utf8_lossy(&texts).lines().next() {
        Some(text) => Err(io::Error::other(text)),
        None => mine,
    }
}

/// Explains why a rank cannot open the file that the first one has made.
fn unshared(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::NotFound => io::Error::other(
            "the file of the first rank is not there; write to a folder that all machines share",
        ),
        _ => error,
    }
}

/// Returns the name of a mean, and its number of sums.
fn describe(mean: &mut &mut Mean) -> (String, u64) {
    (mean.name.clone(), mean.len() as u64)
}

impl Checkpoint {
    /// Opens the checkpoint at `path`, if it exists. Reads all of it once to verify the checksum, each of
    /// several ranks a share.
    pub fn open(path: &Path, comm: Option<&dyn Comm>) -> Result<Option<Self>, CliError> {
        let file = match foreign::open(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(refusal(path, &format!("cannot be read: {error}"))),
        };
        let length = |file: &File| Some(file.metadata().ok()?.len());
        let found = file.as_ref().map_or(u64::MAX, |file| length(file).unwrap_or(0));
        if comm.is_some_and(|comm| of_all(comm, found).into_iter().any(|other| other != found)) {
            return Err(refusal(
                path,
                "is not the same file for all ranks; use a folder that all machines share",
            ));
        }
        file.map(|file| Self::read(path, file, comm)).transpose().map_err(|what| refusal(path, &what))
    }

    fn read(path: &Path, file: File, comm: Option<&dyn Comm>) -> Result<Self, String> {
        let io = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => "is cut off".to_owned(),
            _ => format!("cannot be read: {error}"),
        };
        let length = file.metadata().map_err(io)?.len();
        let mut file = BufReader::new(file);
        let mut magic = [0; MAGIC.len()];
        let is_ours = file.read_exact(&mut magic).is_ok() && magic == *MAGIC;
        if !is_ours {
            return Err("is no checkpoint of updraft".into());
        }
        let mut number = || -> io::Result<u32> {
            let mut bytes = [0; 4];
            file.read_exact(&mut bytes)?;
            Ok(u32::from_le_bytes(bytes))
        };
        let version = number().map_err(io)?;
        if version != VERSION {
            return Err(format!(
                "has version {version} of the format and this program reads version {VERSION}; continue with the program that \
                 wrote it, or begin again"
            ));
        }
        let count = number().map_err(io)?;
        if count > LONGEST {
            return Err("is damaged".into());
        }
        check_sum(file.get_mut(), length, comm).map_err(io)?.then_some(()).ok_or("is damaged or cut off")?;
        let begin = (MAGIC.len() + 8) as u64;
        io::Seek::seek(&mut file, io::SeekFrom::Start(begin)).map_err(io)?;
        let mut head = vec![0; count as usize];
        file.read_exact(&mut head).map_err(io)?;
        let head: Head = serde_json::from_slice(&head).map_err(|_| "is damaged")?;
        let program = env!("CARGO_PKG_VERSION");
        if head.program != program {
            return Err(format!(
                "was written by updraft {} and this is {program}; continue with that version, or begin the run anew",
                head.program
            ));
        }
        Ok(Self { head, path: path.to_owned(), state: file })
    }

    /// Fails if the checkpoint is of another scene than `scene`; the message ends with the `remedy`.
    /// `initial` tells whether the initial fields must match too.
    pub fn check(&self, scene: &Scene, initial: bool, remedy: &str) -> Result<(), CliError> {
        let wanted = hashes(scene);
        let differs = |part: &&String| {
            self.head.scene.get(*part) != wanted.get(*part) && (initial || *part != "initial")
        };
        let parts: Vec<&str> = wanted.keys().filter(differs).map(String::as_str).collect();
        if parts.is_empty() {
            return Ok(());
        }
        Err(refusal(
            &self.path,
            &format!("is of another scene, which differs in {}; {remedy}", parts.join(", ")),
        ))
    }

    /// Restores the state of the solver.
    pub fn restore(&mut self, solver: &mut Solver) -> Result<(), CliError> {
        solver.load(&mut self.state).map_err(|error| refusal(&self.path, &format!("does not fit: {error}")))
    }

    /// Restores the sums of `means`, which must be the same ones. Call it after [`restore`](Self::restore).
    pub fn restore_means(&mut self, means: &mut [&mut Mean]) -> Result<(), CliError> {
        let wanted: Vec<(String, u64)> = means.iter_mut().map(describe).collect();
        if wanted != self.head.means {
            let say = |means: &[(String, u64)]| match means {
                [] => "none".to_owned(),
                means => means.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" and "),
            };
            let (held, wanted) = (say(&self.head.means), say(&wanted));
            return Err(refusal(
                &self.path,
                &format!("holds other means over time ({held}) than are asked for ({wanted})"),
            ));
        }
        self.read_sums(means).map_err(|error| refusal(&self.path, &format!("cannot be read: {error}")))
    }

    fn read_sums(&mut self, means: &mut [&mut Mean]) -> io::Result<()> {
        let state = &mut self.state;
        let mut at = state.stream_position()?;
        for mean in means {
            mean.replace(|start, sums| {
                state.seek(SeekFrom::Start(at + SUM * start as u64))?;
                for sum in sums {
                    let mut bytes = [0; SUM as usize];
                    state.read_exact(&mut bytes)?;
                    *sum = f64::from_le_bytes(bytes);
                }
                Ok::<_, io::Error>(())
            })?;
            at += SUM * mean.len() as u64;
        }
        Ok(())
    }
}

fn refusal(path: &Path, what: &str) -> CliError {
    CliError::Request(format!("{} {what}", path.display()))
}

/// Returns whether a file of `length` bytes ends with the CRC-32 of everything before it. Each of several
/// ranks reads a share.
fn check_sum(file: &mut File, length: u64, comm: Option<&dyn Comm>) -> io::Result<bool> {
    let Some(length) = length.checked_sub(4) else { return Ok(false) };
    let [rank, size] = comm.map_or([0, 1], |comm| [comm.rank(), comm.size()].map(|n| n as u128));
    let [start, end] = [rank, rank + 1].map(|n| (u128::from(length) * n / size) as u64);
    let mine = sum_of(file, start, end);
    // The other ranks wait for this share, even after an error.
    let part =
        mine.as_ref().map_or(Part::default(), |&sum| Part { start, length: end - start, sum: sum.into() });
    let parts = comm.map_or_else(|| vec![part], |comm| of_all(comm, part));
    mine?;
    let mut written = [0; 4];
    file.seek(SeekFrom::Start(length))?;
    file.read_exact(&mut written)?;
    Ok(part_file::checksum(parts)? == (length, u32::from_le_bytes(written)))
}

/// Returns the CRC-32 of the bytes `start..end` of a file.
fn sum_of(file: &mut File, start: u64, end: u64) -> io::Result<u32> {
    file.seek(SeekFrom::Start(start))?;
    let (mut left, mut sum, mut chunk) = (end - start, crc32fast::Hasher::new(), vec![0; CHUNK]);
    while left > 0 {
        let part = &mut chunk[..left.min(CHUNK as u64) as usize];
        file.read_exact(part)?;
        sum.update(part);
        left -= part.len() as u64;
    }
    Ok(sum.finalize())
}

/// Lists the parts of two scenes whose differences change the numbers of a run.
pub fn differences(one: &Scene, other: &Scene) -> Vec<String> {
    let [one, other] = [one, other].map(hashes);
    one.into_iter().filter(|(part, hash)| other.get(part) != Some(hash)).map(|(part, _)| part).collect()
}

/// Hashes each part of `scene` that affects the numbers of a run, by the table that holds it. Threads, look and pictures do
/// not.
fn hashes(scene: &Scene) -> BTreeMap<String, String> {
    // A field of the solver that is not listed here is an error of the compiler.
    let Config {
        dims,
        origin,
        follow,
        h,
        detail,
        sides,
        held,
        advection,
        integrator,
        trace,
        projection,
        tolerance,
        time,
        is_step_fixed,
        frozen,
        threads: _,
    } = &scene.config;
    let Params {
        up,
        heat_buoyancy,
        cooling,
        vorticity,
        friction,
        viscosity,
        conduction,
        ambient,
        smoke,
        turbulence,
    } = &scene.params;
    let parts: [(&str, &dyn Debug); 12] = [
        ("domain", &(dims, origin, follow, h, detail)),
        ("domain.walls", &(sides, held, &scene.side_formulas)),
        ("solver", &(advection, integrator, trace, projection, tolerance, frozen)),
        ("time", &(&scene.time, time, is_step_fixed)),
        ("fluid", &(up, heat_buoyancy, cooling, vorticity, friction, viscosity, conduction, ambient)),
        ("smoke", smoke),
        ("turbulence", turbulence),
        ("source", &scene.sources),
        ("force", &scene.forces),
        ("solid", &scene.solids),
        ("probe", &scene.probes),
        ("initial", &(&scene.initial, &scene.fills)),
    ];
    parts.into_iter().map(|(name, part)| (name.to_owned(), hash(part))).collect()
}

/// Returns the FNV-1a hash of the debug format of a value, which has every digit of its numbers.
fn hash(value: &dyn Debug) -> String {
    struct Hash(u64);
    impl fmt::Write for Hash {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for byte in text.bytes() {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            Ok(())
        }
    }
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    // Writing to a hash cannot fail.
    let _ = write!(hash, "{value:?}");
    format!("{:016x}", hash.0)
}

#[cfg(test)]
#[path = "../../tests/common/mutate.rs"]
mod mutate;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cli::means::FieldMeans;
    use crate::comm::ThreadRanks;
    use crate::field::Field;

    fn scene(overrides: &[&str]) -> Scene {
        let overrides: Vec<String> = overrides.iter().map(|&set| set.to_owned()).collect();
        Scene::load(
            "plume",
            &[&["domain.cells=[16, 24, 16]".to_owned(), "domain.voxel=0.06".to_owned()], &overrides[..]]
                .concat(),
        )
        .unwrap()
    }

    fn message(result: Result<Option<Checkpoint>, CliError>) -> String {
        result.err().expect("a refusal").to_string()
    }

    #[test]
    fn a_damaged_foreign_or_older_checkpoint_is_refused_in_a_sentence() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoint");
        assert!(Checkpoint::open(&path, None).unwrap().is_none());
        let plume = scene(&[]);
        let tables = BTreeMap::from([("stats.csv".to_owned(), 10)]);
        let head = Head::new(&plume, 3, 0, tables);
        write(&path, &head, &mut plume.solver().unwrap(), &mut []).unwrap();
        let read = Checkpoint::open(&path, None).unwrap().unwrap();
        assert_eq!(read.head, head);
        let bytes = std::fs::read(&path).unwrap();
        for cut in [0, 10, 21, 30, 100, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let text = message(Checkpoint::open(&path, None));
            assert!(["cut off", "no checkpoint"].iter().any(|what| text.contains(what)), "{cut}: {text}");
        }
        for place in [30, 500, bytes.len() / 2, bytes.len() - 2] {
            let mut bytes = bytes.clone();
            bytes[place] ^= 4;
            std::fs::write(&path, bytes).unwrap();
            assert!(message(Checkpoint::open(&path, None)).contains("damaged"), "{place}");
        }
        std::fs::write(&path, "some text that is longer than the magic is").unwrap();
        assert!(message(Checkpoint::open(&path, None)).contains("no checkpoint of updraft"));
        let mut older = bytes.clone();
        older[MAGIC.len()] = 0;
        std::fs::write(&path, older).unwrap();
        assert!(message(Checkpoint::open(&path, None)).contains("version 0 of the format"));
        let head = Head { program: "0.0.9".into(), ..head };
        write(&path, &head, &mut plume.solver().unwrap(), &mut []).unwrap();
        assert!(message(Checkpoint::open(&path, None)).contains("written by updraft 0.0.9"));
    }

    /// Begins a run with means over time of fields and of a probe. Its fields fill several blocks of a file.
    fn begin_run(comm: Option<Arc<dyn Comm>>) -> (Scene, Solver, FieldMeans, Mean) {
        let scene = scene(&["domain.cells=[40, 44, 41]", "domain.voxel=0.03", "solver.threads=1"]);
        let solver = scene.solver_on(comm).unwrap();
        let fields = FieldMeans::new(&[Field::W, Field::Red], 0.0, &solver);
        let probe = Mean::new("probe".into(), 0.0, 3, solver.is_first_rank());
        (scene, solver, fields, probe)
    }

    fn save_run(
        path: &Path,
        (scene, solver, fields, probe): &mut (Scene, Solver, FieldMeans, Mean),
    ) -> Result<(), OutputError> {
        let head = Head::new(scene, 3, 0, BTreeMap::from([("stats.csv".to_owned(), 10)]));
        write(path, &head, solver, &mut [fields.mean(), probe])
    }

    fn advance((_, solver, fields, probe): &mut (Scene, Solver, FieldMeans, Mean)) {
        for _ in 0..2 {
            solver.step(0.04).unwrap();
            fields.add(solver);
            if solver.is_first_rank() {
                probe.add(solver, || [1.0, 2.0, 3.0]);
            }
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn ranks_write_and_read_the_bytes_of_one_process() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let mut one = begin_run(None);
        advance(&mut one);
        save_run(&path("one"), &mut one).unwrap();
        advance(&mut one);
        save_run(&path("later"), &mut one).unwrap();
        let [whole, later] = ["one", "later"].map(|name| std::fs::read(path(name)).unwrap());
        for size in [2, 3] {
            ThreadRanks::run(size, |comm| {
                let mut run = begin_run(Some(comm));
                advance(&mut run);
                save_run(&path("shared"), &mut run).unwrap();
            });
            assert!(std::fs::read(path("shared")).unwrap() == whole, "{size} ranks write other bytes");
            ThreadRanks::run(5 - size, |comm| {
                let mut run = begin_run(Some(comm.clone()));
                let mut read = Checkpoint::open(&path("shared"), Some(&*comm)).unwrap().unwrap();
                read.check(&run.0, true, "").unwrap();
                read.restore(&mut run.1).unwrap();
                read.restore_means(&mut [run.2.mean(), &mut run.3]).unwrap();
                advance(&mut run);
                save_run(&path("resumed"), &mut run).unwrap();
            });
            assert!(
                std::fs::read(path("resumed")).unwrap() == later,
                "{} ranks go on in another way",
                5 - size
            );
        }
        assert_eq!(names(dir.path()).len(), 4, "nothing is left aside");
        let mut damaged = whole;
        let middle = damaged.len() / 2;
        damaged[middle] ^= 4;
        std::fs::write(path("shared"), damaged).unwrap();
        let refused = ThreadRanks::run(3, |comm| message(Checkpoint::open(&path("shared"), Some(&*comm))));
        assert!(refused.iter().all(|text| text.contains("damaged")), "{refused:?}");
    }

    /// The second rank writes to another folder than the first.
    #[test]
    fn an_error_of_one_rank_is_that_of_all_and_leaves_the_last_checkpoint() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let path = |rank: usize| dirs[usize::from(rank == 1)].path().join("checkpoint");
        std::fs::write(path(0), "the last one").unwrap();
        let errors = ThreadRanks::run(3, |comm| {
            let path = path(comm.rank());
            let mut run = begin_run(Some(comm));
            save_run(&path, &mut run).unwrap_err().to_string()
        });
        let says = |text: &String| text.contains("on rank 1: the file of the first rank is not there");
        assert!(errors.iter().all(says), "{errors:?}");
        assert_eq!(std::fs::read(path(0)).unwrap(), b"the last one");
        assert_eq!((names(dirs[0].path()).len(), names(dirs[1].path()).len()), (1, 0));
        let refused = ThreadRanks::run(2, |comm| message(Checkpoint::open(&path(comm.rank()), Some(&*comm))));
        assert!(refused.iter().all(|text| text.contains("not the same file for all ranks")), "{refused:?}");
    }

    /// Runs for `UPDRAFT_FUZZ_SECONDS` (1 by default). Every second input gets a valid checksum, so that the
    /// code after the check is reached.
    #[test]
    fn mutated_checkpoints_are_taken_or_refused() {
        use mutate::{Chance, mutated};
        let number = |name: &str, usual: u64| {
            std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoint");
        let tiny = scene(&["domain.cells=[4, 4, 4]", "domain.voxel=0.25", "source=[]", "solver.threads=1"]);
        let mut solver = tiny.solver().unwrap();
        write(&path, &Head::new(&tiny, 3, 0, BTreeMap::new()), &mut solver, &mut []).unwrap();
        let seeds = vec![std::fs::read(&path).unwrap()];
        let mut chance = Chance(number("UPDRAFT_FUZZ_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let until =
            std::time::Instant::now() + std::time::Duration::from_secs(number("UPDRAFT_FUZZ_SECONDS", 1));
        let (mut count, mut opened) = (0, 0);
        while std::time::Instant::now() < until {
            let mut bytes = mutated(&seeds[0], &seeds, &mut chance);
            if chance.below(2) == 0 && bytes.len() > 4 {
                let end = bytes.len() - 4;
                let sum = crc32fast::hash(&bytes[..end]);
                bytes[end..].copy_from_slice(&sum.to_le_bytes());
            }
            std::fs::write(&path, &bytes).unwrap();
            if let Ok(Some(mut read)) = Checkpoint::open(&path, None) {
                opened += 1;
                let _ = read.check(&tiny, true, "");
                let _ = read.restore(&mut solver).and_then(|()| read.restore_means(&mut []));
            }
            count += 1;
        }
        eprintln!("checkpoint: {count} inputs, {opened} of them whole");
        assert!(opened > 0);
    }

    #[test]
    fn a_checkpoint_of_another_scene_is_refused_with_the_part_that_differs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoint");
        let plume = scene(&[]);
        let head = Head::new(&plume, 3, 0, BTreeMap::new());
        write(&path, &head, &mut plume.solver().unwrap(), &mut []).unwrap();
        let read = Checkpoint::open(&path, None).unwrap().unwrap();
        read.check(&scene(&["solver.threads=3", "render.floor=false"]), true, "").unwrap();
        let cases = [
            ("domain.voxel=0.05", "domain"),
            ("domain.walls.y_max=closed", "domain.walls"),
            ("solver.tolerance=0.01", "solver"),
            ("fluid.vorticity=0.9", "fluid"),
            ("smoke.red.dissipation=0.9", "smoke"),
            ("turbulence.seed=4", "turbulence"),
            ("source.0.emit.red=1", "source"),
            ("time.frame_rate=30", "time"),
            ("time.cfl=1", "time"),
            ("initial.red=1", "initial"),
        ];
        for (set, part) in cases {
            let text = read.check(&scene(&[set]), true, "").unwrap_err().to_string();
            assert!(text.contains(&format!("differs in {part}; ")), "{set}: {text}");
        }
        read.check(&scene(&["initial.red=1"]), false, "").unwrap();
    }
}
