//! Hostile input in bulk: seeds from `tests/seeds`, mutated at random, must be accepted or refused, without
//! other effects.
//!
//! Each target runs for `UPDRAFT_FUZZ_SECONDS` (2 by default) from the seed `UPDRAFT_FUZZ_SEED` (1). An input
//! fails the test if it panics, takes longer than [`LONGEST`], or allocates [`LARGEST`] bytes at once. The
//! test leaves it in the folder for temporary files and prints its path. After the fix the input becomes a
//! seed; all seeds run first, unchanged.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[path = "common/mutate.rs"]
mod mutate;

use mutate::{Chance, mutated};
use updraft::field::Field;
use updraft::grid::Dims;
use updraft::npz::Reader;
use updraft::scene::Scene;
use updraft::solver::{Card, Mesh};
use updraft::volume::Volume;

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
    fuzz_seeds(target, seeds(target), eat);
}

/// Runs `eat` on `seeds` and on their mutations.
fn fuzz_seeds(target: &str, seeds: Vec<Vec<u8>>, eat: impl Fn(&[u8])) {
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
fn volumes_are_taken_or_refused() {
    let dims = Dims::new([6, 8, 6]).expect("a box");
    fuzz("vdb", |input| {
        let Ok(volume) = Volume::read(input) else { return };
        for field in Field::STORED.into_iter().filter(|field| volume.holds(*field)) {
            if let Ok(array) = volume.array(field, dims, 0.125) {
                assert!(array.values.iter().all(|x| x.is_finite()));
            }
        }
    });
}

/// States of a solver, without the checksum around them in a checkpoint; `src/cli/checkpoint.rs` has whole checkpoints.
#[test]
fn states_are_taken_or_refused() {
    let scene = "[domain]\ncells = [4, 4, 4]\nvoxel = 0.25\n[solver]\nthreads = 1\n[[solid]]\nposition = [0.5, 0.5, 0.5]\n\
                 shape = { sphere = { radius = 0.2 } }\n";
    let scene = Scene::parse("fuzz", scene).expect("a scene");
    let mut first = scene.solver().expect("a solver");
    first.step(0.04).expect("a step");
    let mut state = Cursor::new(Vec::new());
    first.save(&mut state).expect("a state");
    let solver = std::cell::RefCell::new(scene.solver().expect("a solver"));
    fuzz_seeds("state", vec![state.into_inner()], |input| drop(solver.borrow_mut().load(Cursor::new(input))));
}

#[test]
fn pngs_are_taken_or_refused() {
    fuzz("png", |input| {
        if let Ok(card) = Card::from_png("fuzz.png", input, 1.0, 0.1) {
            assert!(card.size().iter().all(|x| x.is_finite()));
        }
    });
}

/// Reads Radiance HDR and OpenEXR as a scene does.
#[test]
fn environments_are_taken_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a");
    let set = [format!("render.environment.file='{}'", path.display()), "source=[]".into()];
    fuzz("environment", |input| {
        std::fs::write(&path, input).expect("a file");
        if let Ok(scene) = Scene::parse_with("fuzz", SMALL, &set) {
            let sphere = scene.look.environment.sphere.expect("a picture");
            assert!(sphere.texels().iter().flatten().all(|x| x.is_finite()));
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
