//! Checkpoints: the state of a run after a step, in one file. A run resumed from it has the same bits.
//!
//! A line of magic, the version of the format (u32), the length of a JSON head (u32) and the head, the state of the solver, the
//! sums of means over time, and the CRC-32 of all that. The head says which scene it is, by a hash for each part of it, how far
//! the run is, how long its tables are, and what means there are.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Write as _};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::CliError;
use super::means::Mean;
use crate::output::{OutputError, whole};
use crate::scene::Scene;
use crate::solver::{Solver, StateError};

const MAGIC: &[u8] = b"updraft checkpoint\n";

/// The format of checkpoints; another for each change of what a solver keeps.
const VERSION: u32 = 2;

/// Longest valid head \[bytes\].
const LONGEST: u32 = 1 << 20;

/// Bytes of one read of the check.
const CHUNK: usize = 1 << 20;

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
    /// Whether smoke moved through the flow of another run, as `updraft detail` lets it.
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
    /// Its head.
    pub head: Head,
    path: PathBuf,
    /// Positioned at the state of the solver.
    state: BufReader<File>,
}

impl Head {
    /// Of a run of `scene` that takes no means yet.
    pub fn new(scene: &Scene, frame: u32, step: u32, tables: BTreeMap<String, u64>) -> Self {
        let program = env!("CARGO_PKG_VERSION").into();
        let (has_given_flow, options) = (false, BTreeMap::new());
        Self { program, scene: hashes(scene), frame, step, has_given_flow, options, tables, means: vec![] }
    }
}

/// Writes a checkpoint that survives the loss of power: in place of the last one only when all of it is on the disk.
pub fn write(
    path: &Path,
    head: &Head,
    solver: &mut Solver,
    means: &mut [&mut Mean],
) -> Result<(), OutputError> {
    let described = means.iter_mut().map(describe).collect();
    let head = &Head { means: described, ..head.clone() };
    whole::write_durably(path, |file| {
        let mut file = Summed { file, sum: crc32fast::Hasher::new() };
        let head = serde_json::to_vec(head)?;
        file.write_all(MAGIC)?;
        file.write_all(&VERSION.to_le_bytes())?;
        file.write_all(&(head.len() as u32).to_le_bytes())?;
        file.write_all(&head)?;
        solver.save(&mut file).map_err(|error| match error {
            StateError::Io(error) => error,
            other => io::Error::other(other),
        })?;
        for mean in means.iter_mut() {
            for sum in mean.sums() {
                file.write_all(&sum.to_le_bytes())?;
            }
        }
        let sum = file.sum.finalize();
        file.file.write_all(&sum.to_le_bytes())
    })
}

/// Name of a mean, and its number of sums.
fn describe(mean: &mut &mut Mean) -> (String, u64) {
    (mean.name.clone(), mean.sums().len() as u64)
}

/// Adds up what passes.
struct Summed<'a> {
    file: &'a mut BufWriter<File>,
    sum: crc32fast::Hasher,
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Checkpoint {
    /// Opens the checkpoint at `path`, if it exists, and reads all of it once to verify the checksum.
    pub fn open(path: &Path) -> Result<Option<Self>, CliError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refusal(path, &format!("cannot be read: {error}"))),
        };
        Self::read(path, file).map(Some).map_err(|what| refusal(path, &what))
    }

    fn read(path: &Path, file: File) -> Result<Self, String> {
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
        check_sum(file.get_mut(), length).map_err(io)?.then_some(()).ok_or("is damaged or cut off")?;
        let begin = (MAGIC.len() + 8) as u64;
        io::Seek::seek(&mut file, io::SeekFrom::Start(begin)).map_err(io)?;
        let mut head = vec![0; count as usize];
        file.read_exact(&mut head).map_err(io)?;
        let head: Head = serde_json::from_slice(&head).map_err(|_| "is damaged")?;
        let program = env!("CARGO_PKG_VERSION");
        if head.program != program {
            return Err(format!(
                "was written by updraft {} and this is {program}: the rest would not be the same run",
                head.program
            ));
        }
        Ok(Self { head, path: path.to_owned(), state: file })
    }

    /// Refuses a checkpoint of a scene other than `scene`. `initial` says whether the initial fields must
    /// match too.
    pub fn check(&self, scene: &Scene, initial: bool) -> Result<(), CliError> {
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
            &format!(
                "is of another scene, which differs in {}; omit the scene to continue with that of the run",
                parts.join(", ")
            ),
        ))
    }

    /// Restores its state into `solver`.
    pub fn restore(&mut self, solver: &mut Solver) -> Result<(), CliError> {
        solver.load(&mut self.state).map_err(|error| refusal(&self.path, &format!("does not fit: {error}")))
    }

    /// After that: puts its sums into `means`, which must be the same ones.
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
        for sum in means.iter_mut().flat_map(|mean| mean.sums()) {
            let mut bytes = [0; 8];
            self.state
                .read_exact(&mut bytes)
                .map_err(|error| refusal(&self.path, &format!("cannot be read: {error}")))?;
            *sum = f64::from_le_bytes(bytes);
        }
        Ok(())
    }
}

fn refusal(path: &Path, what: &str) -> CliError {
    CliError::Request(format!("{} {what}", path.display()))
}

/// Whether a file of `length` bytes ends with the CRC-32 of everything before it.
fn check_sum(file: &mut File, length: u64) -> io::Result<bool> {
    let Some(mut left) = length.checked_sub(4) else { return Ok(false) };
    io::Seek::rewind(file)?;
    let (mut sum, mut chunk) = (crc32fast::Hasher::new(), vec![0; CHUNK]);
    while left > 0 {
        let part = &mut chunk[..left.min(CHUNK as u64) as usize];
        file.read_exact(part)?;
        sum.update(part);
        left -= part.len() as u64;
    }
    let mut end = [0; 4];
    file.read_exact(&mut end)?;
    Ok(u32::from_le_bytes(end) == sum.finalize())
}

/// The parts in which two scenes give a run other numbers.
pub fn differences(one: &Scene, other: &Scene) -> Vec<String> {
    let [one, other] = [one, other].map(hashes);
    one.into_iter().filter(|(part, hash)| other.get(part) != Some(hash)).map(|(part, _)| part).collect()
}

/// Hashes each part of `scene` that affects the numbers of a run. Threads, look and pictures do not.
fn hashes(scene: &Scene) -> BTreeMap<String, String> {
    let mut config = scene.config.clone();
    config.threads = 0;
    let parts: [(&str, &dyn Debug); 9] = [
        ("domain and solver", &config),
        ("domain.walls", &scene.side_formulas),
        ("fluid and smoke", &scene.params),
        ("source", &scene.sources),
        ("force", &scene.forces),
        ("solid", &scene.solids),
        ("time", &scene.time),
        ("probe", &scene.probes),
        ("initial", &(&scene.initial, &scene.fills)),
    ];
    parts.into_iter().map(|(name, part)| (name.to_owned(), hash(part))).collect()
}

/// FNV-1a of the debug format of a value, which has every digit of its numbers.
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
    use super::*;

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
        assert!(Checkpoint::open(&path).unwrap().is_none());
        let plume = scene(&[]);
        let tables = BTreeMap::from([("stats.csv".to_owned(), 10)]);
        let head = Head::new(&plume, 3, 0, tables);
        write(&path, &head, &mut plume.solver().unwrap(), &mut []).unwrap();
        let read = Checkpoint::open(&path).unwrap().unwrap();
        assert_eq!(read.head, head);
        let bytes = std::fs::read(&path).unwrap();
        for cut in [0, 10, 21, 30, 100, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let text = message(Checkpoint::open(&path));
            assert!(["cut off", "no checkpoint"].iter().any(|what| text.contains(what)), "{cut}: {text}");
        }
        for place in [30, 500, bytes.len() / 2, bytes.len() - 2] {
            let mut bytes = bytes.clone();
            bytes[place] ^= 4;
            std::fs::write(&path, bytes).unwrap();
            assert!(message(Checkpoint::open(&path)).contains("damaged"), "{place}");
        }
        std::fs::write(&path, "some text that is longer than the magic is").unwrap();
        assert!(message(Checkpoint::open(&path)).contains("no checkpoint of updraft"));
        let mut older = bytes.clone();
        older[MAGIC.len()] = 0;
        std::fs::write(&path, older).unwrap();
        assert!(message(Checkpoint::open(&path)).contains("version 0 of the format"));
        let head = Head { program: "0.0.9".into(), ..head };
        write(&path, &head, &mut plume.solver().unwrap(), &mut []).unwrap();
        assert!(message(Checkpoint::open(&path)).contains("written by updraft 0.0.9"));
    }

    /// Runs for `UPDRAFT_FUZZ_SECONDS` (1 by default). Every second input gets a valid checksum, so that what is
    /// behind it is reached.
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
            if let Ok(Some(mut read)) = Checkpoint::open(&path) {
                opened += 1;
                let _ = read.check(&tiny, true);
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
        let read = Checkpoint::open(&path).unwrap().unwrap();
        read.check(&scene(&["solver.threads=3", "render.floor=false"]), true).unwrap();
        let cases = [
            ("domain.voxel=0.05", "domain and solver"),
            ("fluid.vorticity=0.9", "fluid and smoke"),
            ("source.0.emit.red=1", "source"),
            ("time.frame_rate=30", "time"),
            ("initial.red=1", "initial"),
        ];
        for (set, part) in cases {
            let text = read.check(&scene(&[set]), true).unwrap_err().to_string();
            assert!(text.contains(&format!("differs in {part}")), "{set}: {text}");
        }
        read.check(&scene(&["initial.red=1"]), false).unwrap();
    }
}
