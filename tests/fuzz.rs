//! Hostile input in bulk: seeds from `tests/seeds`, mutated at random, must be accepted or refused, without
//! other effects.
//!
//! Each target runs for `UPDRAFT_FUZZ_SECONDS` (2 by default) from the seed `UPDRAFT_FUZZ_SEED` (1). An input
//! fails the test if it panics, takes longer than [`LONGEST`], or allocates [`LARGEST`] bytes at once. The
//! test leaves it in the folder for temporary files and prints its path. After the fix the input becomes a
//! seed; all seeds run first, unchanged.

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use updraft::npz::Reader;
use updraft::scene::Scene;
use updraft::solver::{Card, Mesh};

/// Longest time for one input: long enough for a busy machine, shorter than a hang.
const LONGEST: Duration = Duration::from_secs(20);

/// Largest single allocation \[bytes\]: a picture with the most pixels, and some more.
const LARGEST: usize = 600 << 20;

/// Largest request since the start \[bytes\].
static ASKED: AtomicUsize = AtomicUsize::new(0);

struct Watched;

// SAFETY: every request goes to the system's allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Xorshift64*, good enough for choices.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n.max(1)
    }

    fn one<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.below(of.len())]
    }
}

/// Words that are likely to cause errors.
const WORDS: &[&[u8]] = &[
    b"nan",
    b"inf",
    b"-inf",
    b"1e308",
    b"-1e308",
    b"1e-308",
    b"-0.0",
    b"0",
    b"-1",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"18446744073709551616",
    b"4294967295",
    b"[",
    b"]",
    b"{",
    b"}",
    b"(",
    b")",
    b"\"",
    b"'",
    b"=",
    b".",
    b",",
    b"\n",
    b"\0",
    b"\x1b[31m",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0",
    b"\xef\xbb\xbf",
    b"\\u0007",
    b"^",
    b"if(",
];

/// Returns `seed` changed in one to eight places.
fn mutated(seed: &[u8], others: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=chance.below(8) {
        let at = chance.below(bytes.len() + 1);
        let end = (at + 1 + chance.below(16)).min(bytes.len());
        match chance.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
            1 if at < bytes.len() => bytes[at] = chance.next() as u8,
            2 => drop(bytes.splice(at..at, chance.one(WORDS).iter().copied())),
            3 => drop(bytes.drain(at..end.max(at))),
            4 => {
                let part = bytes[at..end.max(at)].to_vec();
                let times = 1 + chance.below(40);
                drop(bytes.splice(at..at, part.repeat(times)));
            }
            5 => {
                let other = &others[chance.below(others.len())];
                let from = chance.below(other.len() + 1);
                let to = (from + chance.below(64)).min(other.len());
                drop(bytes.splice(at..at, other[from..to].iter().copied()));
            }
            6 => drop(bytes.splice(at..end.max(at), chance.one(WORDS).iter().copied())),
            7 => bytes.truncate(at),
            _ => {
                // Replaces a number by another.
                if let Some(digit) = bytes[at..].iter().position(u8::is_ascii_digit) {
                    let from = at + digit;
                    let length =
                        bytes[from..].iter().take_while(|c| c.is_ascii_digit() || **c == b'.').count();
                    drop(bytes.splice(from..from + length, chance.one(&WORDS[..13]).iter().copied()));
                }
            }
        }
        // Endless growth would only test patience.
        bytes.truncate(200_000);
    }
    bytes
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/seeds").join(target);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("seeds").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a seed")).collect()
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Runs `eat` on the seeds of `target` and on their mutations.
fn fuzz(target: &str, eat: impl Fn(&[u8])) {
    let seeds = seeds(target);
    assert!(!seeds.is_empty());
    let mut chance = Chance(number("UPDRAFT_FUZZ_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let until = Instant::now() + Duration::from_secs(number("UPDRAFT_FUZZ_SECONDS", 2));
    let mut count = 0;
    for input in &seeds {
        feed(target, input, &eat);
        count += 1;
    }
    while Instant::now() < until {
        let seed = &seeds[chance.below(seeds.len())];
        feed(target, &mutated(seed, &seeds, &mut chance), &eat);
        count += 1;
    }
    eprintln!("{target}: {count} inputs");
}

fn feed(target: &str, input: &[u8], eat: &impl Fn(&[u8])) {
    let began = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| eat(input)));
    let (took, asked) = (began.elapsed(), ASKED.load(Ordering::Relaxed));
    if result.is_err() || took > LONGEST || asked > LARGEST {
        let path = std::env::temp_dir().join(format!("updraft-{target}-{}", std::process::id()));
        std::fs::write(&path, input).expect("a place for the input");
        let what = if result.is_err() { "panics" } else { "takes too much" };
        panic!("{target}: {} {what}: {took:?}, {asked} bytes at once", path.display());
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Errors must be short, without control characters.
fn sober<T>(result: Result<T, updraft::scene::SceneError>) {
    if let Err(error) = result {
        assert!(error.to_string().chars().count() < 1500, "a long echo");
    }
}

/// A small grid: the reader is tested, not the solver.
const SMALL: &str = "[domain]\ncells = [6, 6, 6]\nvoxel = 0.1\n[solver]\nmemory_limit = 0.5\n";

#[test]
fn scene_texts_are_taken_or_refused() {
    fuzz("scene", |input| {
        sober(Scene::parse_with("fuzz", &text(input), &["solver.memory_limit=0.25".into()]))
    });
}

#[test]
fn formulas_are_taken_or_refused() {
    fuzz("formula", |input| {
        let formula = toml::Value::String(text(input));
        sober(Scene::parse(
            "fuzz",
            &format!("{SMALL}[initial]\nred = {formula}\nlet = {{ a = 'x + b', b = 'y' }}\n"),
        ));
    });
}

#[test]
fn overrides_are_taken_or_refused() {
    fuzz("set", |input| {
        sober(Scene::parse_with("fuzz", SMALL, &[text(input), "solver.memory_limit=0.25".into()]));
    });
}

#[test]
fn npz_files_are_taken_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.npz");
    fuzz("npz", |input| {
        std::fs::write(&path, input).expect("a file");
        let Ok(mut npz) = Reader::open(&path) else { return };
        for name in npz.names().into_iter().take(8) {
            let _ = npz.check(&name, [2, 2, 2]);
            if let Ok(array) = npz.array(&name, [2, 2, 2]) {
                assert!(array.values.len() == 8 && array.values.iter().all(|x| x.is_finite()));
            }
            let _ = npz.number(&name);
        }
    });
}

#[test]
fn pngs_are_taken_or_refused() {
    fuzz("png", |input| {
        if let Ok(card) = Card::from_png("fuzz.png", input, 1.0, 0.1) {
            assert!(card.size().iter().all(|x| x.is_finite()));
        }
    });
}

#[test]
fn objs_are_taken_or_refused() {
    fuzz("obj", |input| {
        if let Ok(mesh) = Mesh::from_obj("fuzz.obj", &text(input)) {
            assert!(!mesh.distance([0.3; 3]).is_nan());
        }
    });
}

#[test]
fn stls_are_taken_or_refused() {
    fuzz("stl", |input| {
        if let Ok(mesh) = Mesh::from_stl("fuzz.stl", input) {
            assert!(!mesh.distance([0.3; 3]).is_nan());
        }
    });
}
