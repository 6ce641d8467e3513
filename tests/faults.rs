//! Full disks and sudden ends, for everything that writes files.
//!
//! The full disk is a small tmpfs: mounting one needs root on Linux, elsewhere those tests are skipped.
#![cfg(unix)]

#[path = "common/chance.rs"]
mod chance;
#[path = "common/command.rs"]
mod command;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use chance::Chance;
use command::{command, signal, start, stderr, succeeded, updraft, wait_for, words};

const SMALL: &[&str] =
    &["--set", "domain.cells=[24, 36, 24]", "--set", "domain.voxel=0.04", "--threads", "1"];

/// Returns all files in and below `folder`, also hidden ones.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// A file system of a few pages.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new(kib: u32) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a folder");
        let size = format!("size={kib}k");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "none"]).arg(dir.path()).output();
        let is_mounted = mounted.is_ok_and(|output| output.status.success());
        if !is_mounted {
            eprintln!("skipped: no file system can be mounted here");
        }
        is_mounted.then(|| Self(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

/// Returns whether a file with its final name is whole, by another program or by our own reader.
fn is_whole(path: &Path) -> bool {
    let bytes = std::fs::read(path).expect("a file");
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let ends = |end: &[u8]| bytes.ends_with(end);
    match path.extension().and_then(|extension| extension.to_str()).unwrap_or("") {
        "png" | "apng" => ends(b"IEND\xaeB`\x82"),
        "exr" => exr::prelude::read_first_flat_layer_from_file(path).is_ok(),
        "npz" => updraft::npz::Reader::open(path).is_ok_and(|mut npz| npz.check("red", [24, 36, 24]).is_ok()),
        "vdb" => updraft::vdb::Reader::new(&bytes).is_ok_and(|reader| reader.names().count() > 3),
        "vti" => ends(b"</VTKFile>\n") || ends(b"</VTKFile>"),
        "pvd" => ends(b"</VTKFile>\n") || ends(b"</VTKFile>"),
        "csv" => bytes.is_empty() || ends(b"\n"),
        "json" => serde_json::from_slice::<serde_json::Value>(&bytes).is_ok(),
        "toml" => String::from_utf8(bytes).is_ok_and(|text| text.parse::<toml::Table>().is_ok()),
        "gif" => ends(b";"),
        "mp4" | "webm" => {
            let probe = Command::new("ffprobe").args(["-v", "error"]).arg(path).output();
            probe.is_ok_and(|output| output.status.success() && output.stderr.is_empty())
        }
        _ => name == "checkpoint",
    }
}

/// Runs `args` on disks of growing size until it succeeds. Every run before that prints one line and leaves
/// only whole files.
fn fills_disks(name: &str, args: &[&str]) {
    let sizes = [8, 16, 32, 64, 96, 160, 256, 400, 640, 1000, 1600, 2600, 4000, 10_000, 40_000, 100_000];
    for (failed, kib) in sizes.into_iter().enumerate() {
        let Some(disk) = SmallDisk::new(kib) else { return };
        let output = updraft(disk.path(), &[args, SMALL, &["--quiet"]].concat());
        let text = stderr(&output);
        let left = files(disk.path());
        let hidden =
            |path: &&PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        assert_eq!(left.iter().find(hidden), None, "{name} on {kib} KiB leaves a hidden file");
        let broken = left.iter().find(|path| !is_whole(path));
        assert_eq!(broken, None, "{name} on {kib} KiB leaves a broken file: {text}");
        if output.status.success() {
            assert!(failed > 0, "{name}: the smallest disk was not full");
            eprintln!("{name}: {failed} full disks, {kib} KiB are enough");
            return;
        }
        // The exit code is 2 if there is no room for the first empty file.
        assert!(matches!(output.status.code(), Some(1 | 2)), "{name} on {kib} KiB: {text}");
        assert_eq!(text.lines().count(), 1, "{name} on {kib} KiB: {text}");
        let says = ["No space left", "cannot write", "ffmpeg failed"].iter().any(|what| text.contains(what));
        assert!(says, "{name} on {kib} KiB: {text}");
    }
    panic!("{name} never succeeds");
}

#[test]
fn a_full_disk_leaves_whole_tables_and_fields() {
    for format in ["npz", "vdb", "vti"] {
        let args = ["simulate", "plume", "--frames", "1-3", "--format", format, "--out", "run"];
        fills_disks(format, &args);
    }
    let args = ["simulate", "plume", "--frames", "1-3", "--checkpoint-every", "1", "--out", "run"];
    fills_disks("checkpoint", &args);
}

#[test]
fn a_full_disk_leaves_whole_pictures() {
    for name in ["a.####.png", "a.####.exr", "a.apng"] {
        let args = ["render", "plume", "--frames", "1-4", "--size", "160x120", "--cpu", "--out", name];
        fills_disks(name, &args);
    }
    let sheet = ["flipbook", "plume", "--grid", "2x2", "--sheet", "256x256", "--cpu", "--out", "a.png"];
    fills_disks("flipbook", &[&sheet[..], &["--maps", "color,motion,six-way"]].concat());
}

#[test]
fn a_full_disk_leaves_whole_films() {
    if Command::new("ffmpeg").arg("-version").output().is_err() {
        eprintln!("skipped: no ffmpeg here");
        return;
    }
    for name in ["a.mp4", "a.webm", "a.gif"] {
        let args = ["render", "plume", "--frames", "1-24", "--size", "480x360", "--cpu", "--out", name];
        fills_disks(name, &args);
    }
}

/// With `--force` the old film and the old picture stay if the new one does not fit.
#[test]
fn a_full_disk_keeps_the_old_file() {
    let Some(disk) = SmallDisk::new(12) else { return };
    for (name, frames) in [("a.mp4", "1-24"), ("a.png", "20"), ("a.apng", "20")] {
        std::fs::write(disk.path().join(name), "old").unwrap();
        let args =
            ["render", "plume", "--frames", frames, "--size", "480x360", "--cpu", "--force", "--out", name];
        let output = updraft(disk.path(), &[&args[..], SMALL, &["--quiet"]].concat());
        assert_eq!(output.status.code(), Some(1), "{name}: {}", stderr(&output));
        assert_eq!(std::fs::read(disk.path().join(name)).unwrap(), b"old", "{name}");
    }
    assert_eq!(files(disk.path()).len(), 3);
}

/// Sheets and description of a flipbook belong together. New sheets once replaced old ones beside others that did not fit.
#[test]
fn a_full_disk_keeps_all_files_of_the_last_flipbook() {
    let args =
        ["flipbook", "plume", "--grid", "2x2", "--sheet", "256x256", "--cpu", "--force", "--out", "a.png"];
    let args = [&args[..], &["--maps", "color,motion,six-way", "--quiet"], SMALL].concat();
    for (failed, kib) in (12..400).step_by(4).enumerate() {
        let Some(disk) = SmallDisk::new(kib) else { return };
        let names = ["a.json", "a.motion.png", "a.png"];
        names.iter().for_each(|name| std::fs::write(disk.path().join(name), "old").unwrap());
        let output = updraft(disk.path(), &args);
        if output.status.success() {
            assert!(failed > 2, "{failed} disks were full");
            return;
        }
        let text = stderr(&output);
        assert!(text.lines().count() == 1 && text.contains("cannot write"), "{kib} KiB: {text}");
        assert_eq!(files(disk.path()), names.map(|name| disk.path().join(name)), "{kib} KiB");
        for name in names {
            assert_eq!(std::fs::read(disk.path().join(name)).unwrap(), b"old", "{name} on {kib} KiB");
        }
    }
    panic!("it never succeeds");
}

/// The folder vanishes while the run is suspended. The run ends with one line, and writes to no other place.
#[test]
fn a_folder_that_vanishes_ends_a_run_with_a_line() {
    let picture = ["render", "plume", "--size", "96x96", "--cpu", "--out"];
    let mut cases = vec![
        ("stats.csv", ["simulate", "plume", "--out", "out/run"].to_vec()),
        ("fields.0002.npz", ["simulate", "plume", "--out", "out/run", "--format", "npz"].to_vec()),
        ("checkpoint", ["simulate", "plume", "--out", "out/run", "--checkpoint-every", "2"].to_vec()),
        ("a.0001.png", [&picture[..], &["out/a.####.png"]].concat()),
        ("a.apng", [&picture[..], &["out/a.apng"]].concat()),
    ];
    if Command::new("ffmpeg").arg("-version").output().is_ok() {
        cases.push(("a.mp4", [&picture[..], &["out/a.mp4"]].concat()));
    }
    for (awaited, case) in cases {
        let dir = tempfile::tempdir().expect("a folder");
        let out = dir.path().join("out");
        std::fs::create_dir(&out).unwrap();
        let args = [&case[..], SMALL, &["--frames", "1-200", "--quiet"]].concat();
        let mut child = start(dir.path(), &args);
        // Films are written under a hidden name that ends with theirs.
        let begun = |path: &PathBuf| path.to_string_lossy().ends_with(awaited);
        while !files(&out).iter().any(begun) {
            assert!(child.try_wait().expect("a status").is_none(), "{case:?} ended early");
            std::thread::sleep(Duration::from_millis(2));
        }
        signal(&child, "STOP");
        std::fs::remove_dir_all(&out).unwrap();
        signal(&child, "CONT");
        let output = child.wait_with_output().expect("an end");
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{case:?}: {text}");
        assert!(text.lines().count() == 1 && text.contains("out/"), "{case:?}: {text}");
        assert_eq!(files(dir.path()), Vec::<PathBuf>::new(), "{case:?}");
    }
}

/// Runs scene, solver and a picture of a tiny box with an allocator whose n-th request fails, alone or with
/// all later ones. Each run must succeed, or end with one line and exit code 1 or 2.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn memory_ends_at(tries: u64) {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common/failing_malloc.c");
    let library = at("malloc.so");
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]).status();
    if !compiled.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no allocator fails, as there is no C compiler here");
        return;
    }
    let scene = "[domain]\ncells = [6, 8, 6]\nvoxel = 0.1\n[solver]\nthreads = 1\n[initial]\nred = \"x*y\"\n\
                 [[solid]]\nposition = [0.3, 0.5, 0.3]\nshape = { sphere = { radius = 0.1 } }\n\
                 [[source]]\nshape = { text = { string = \"a\", center = [0.3, 0.3, 0.3], height = 0.2, depth = 0.2 } }\n";
    std::fs::write(at("a.toml"), scene).unwrap();
    let args = words("render a.toml --frames 2 --size 16x16 --cpu --force --quiet --out a.png");
    let run = |more: &[(&str, String)]| {
        let mut command = command(dir.path(), &args);
        command.env("LD_PRELOAD", &library).envs(more.iter().cloned());
        command.output().expect("the command starts")
    };
    succeeded(&run(&[("UPDRAFT_TEST_COUNT", at("count").display().to_string())]));
    let count: u64 = std::fs::read_to_string(at("count")).unwrap().parse().unwrap();
    let mut ended = 0;
    for n in 0..tries {
        // Evenly over all requests.
        let number = (1 + n * count / tries + n % 7).to_string();
        for all in [false, true] {
            let mut more = vec![("UPDRAFT_TEST_FAILS", number.clone())];
            more.extend(all.then(|| ("UPDRAFT_TEST_ALL", String::new())));
            let output = run(&more);
            let text = stderr(&output);
            let place =
                format!("request {number} of {count}, all after it: {all}: {:?}: {text}", output.status);
            // The C library ends a process whose thread cannot register its destructors, with its own message. The standard
            // library does so where it makes the handle of a thread, 48 bytes that it requests from the C library itself.
            let passed_by = ["Fatal glibc error: ", "memory allocation of 48 bytes failed"];
            if passed_by.iter().any(|end| text.contains(end)) {
                continue;
            }
            assert!(matches!(output.status.code(), Some(0..=2)), "{place}");
            // A refusal shows the place in the scene, too.
            let is_told =
                text.starts_with("updraft: ") && (text.lines().count() == 1 || text.contains("a.toml:"));
            assert!(output.status.success() || is_told, "{place}");
            ended += u64::from(!output.status.success());
        }
    }
    eprintln!("{ended} of {} runs ended, of {count} requests", 2 * tries);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn memory_that_ends_at_any_request_is_a_line_and_no_abort() {
    memory_ends_at(60);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
#[ignore = "takes minutes"]
fn memory_that_ends_at_each_of_two_thousand_requests_is_a_line_and_no_abort() {
    memory_ends_at(2000);
}

/// Starts `args` over and over and kills each at a random moment. Files with final names are whole at any moment, and the
/// next start removes what was left aside.
fn kills(name: &str, args: &[&str], count: u32) {
    let dir = tempfile::tempdir().expect("a folder");
    let args = [args, SMALL, &["--quiet", "--force"]].concat();
    let start = || -> Child {
        let mut command = command(dir.path(), &args);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a start")
    };
    let began = std::time::Instant::now();
    assert!(start().wait().expect("an end").success(), "{name}");
    let whole = began.elapsed().as_micros() as usize;
    let (mut killed, mut chance) = (0, Chance(0x9e37_79b9_7f4a_7c15));
    while killed < count {
        let mut child = start();
        std::thread::sleep(Duration::from_micros(chance.below(whole) as u64));
        killed += u32::from(child.try_wait().expect("a status").is_none());
        child.kill().expect("a process");
        child.wait().expect("an end");
        for path in files(dir.path()) {
            let is_aside = path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
            assert!(is_aside || is_whole(&path), "{name}: {} is broken", path.display());
        }
    }
    // An encoder whose updraft was killed ends by itself, a moment later.
    std::thread::sleep(Duration::from_millis(500));
    assert!(start().wait().expect("an end").success(), "{name}");
    let hidden = |path: &&PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
    assert_eq!(files(dir.path()).iter().find(hidden), None, "{name} leaves a hidden file");
    eprintln!("{name}: {killed} killed");
}

fn kill_each(count: u32) {
    let picture = ["--frames", "1-4", "--size", "96x96", "--cpu", "--out"];
    kills("pictures", &[&["render", "plume"][..], &picture, &["a.####.png"]].concat(), count);
    kills("apng", &[&["render", "plume"][..], &picture, &["a.apng"]].concat(), count);
    if Command::new("ffmpeg").arg("-version").output().is_ok() {
        kills("film", &[&["render", "plume"][..], &picture, &["a.mp4"]].concat(), count);
    }
    let sheet = ["flipbook", "plume", "--grid", "2x2", "--sheet", "128x128", "--cpu", "--out", "a.png"];
    kills("flipbook", &sheet, count);
}

#[test]
fn killed_renders_leave_whole_files() {
    kill_each(5);
}

#[test]
#[ignore = "takes minutes"]
fn renders_killed_a_hundred_times_leave_whole_files() {
    kill_each(100);
}

/// The process that the next test kills: it saves a scene over and over.
#[test]
#[ignore = "started by the test below"]
fn saves_over_and_over() {
    let Some(path) = std::env::var_os("UPDRAFT_TEST_SAVES") else { return };
    let text = updraft::scene::Scene::load("fog", &[]).unwrap().text().unwrap();
    loop {
        let write = |file: &mut std::io::BufWriter<std::fs::File>| {
            // Written in many parts, so that a kill falls between two.
            text.bytes().try_for_each(|byte| {
                std::io::Write::write_all(file, &[byte]).and_then(|()| std::io::Write::flush(file))
            })
        };
        updraft::output::whole::write(Path::new(&path), write).unwrap();
    }
}

#[test]
fn a_save_killed_a_hundred_times_leaves_a_whole_scene() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.toml");
    let wanted = updraft::scene::Scene::load("fog", &[]).unwrap().text().unwrap();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for n in 0..100 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "saves_over_and_over", "--ignored"])
            .env("UPDRAFT_TEST_SAVES", &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        if n == 0 {
            wait_for("the first scene", || path.exists());
        }
        std::thread::sleep(Duration::from_micros(5000 + chance.below(20_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), wanted, "kill {n}");
    }
}
