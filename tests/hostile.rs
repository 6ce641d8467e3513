//! Hostile input and failing systems, as users see them: one clear line, an exit code, no partial files.
//!
//! Every case here once panicked, hung, took gigabytes, or broke a promise. RELIABILITY.md lists them.

#![cfg(unix)]

#[path = "common/command.rs"]
mod command;

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use command::{
    command, done, files, folder, program, refused, signal, start, stderr, stdout, succeeded, updraft,
    wait_for, words,
};

const SMALL: &[&str] = &["--set", "domain.cells=[12, 18, 12]", "--set", "domain.voxel=0.08"];

const UPDRAFT: &str = env!("CARGO_BIN_EXE_updraft");

/// Runs `script` in a shell, where `$U` is the command.
fn shell(folder: &Path, script: &str) -> Output {
    program("bash", folder).args(["-c", script]).env("U", UPDRAFT).output().expect("a shell")
}

fn seed(name: &str) -> String {
    format!("{}/tests/seeds/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn errors_far_to_the_right_are_shown() {
    let dir = folder();
    let far = format!("source=[{}x]", " ".repeat(70_000));
    refused(&updraft(dir.path(), &["check", "plume", "--set", &far]), "--set source=[");
    refused(&updraft(dir.path(), &["check", &seed("scene/long-line.toml")]), "1:70011");
}

#[test]
fn quoted_text_is_shortened_and_escaped() {
    let dir = folder();
    refused(
        &updraft(dir.path(), &["check", &seed("scene/escapes.toml")]),
        "unknown key `\\u{1b}[31m\\u{7}vorticty`",
    );
    let deep = format!("a={}", "[".repeat(60_000));
    refused(&updraft(dir.path(), &["check", "plume", "--set", &deep]), "--set a=[[[");
    let name = format!("\u{1b}[31m{}", "x".repeat(100_000));
    refused(&updraft(dir.path(), &["check", &name]), "\\u{1b}[31mxxx");
}

#[test]
fn a_stderr_that_goes_away_ends_no_run() {
    let dir = folder();
    let small = "--set domain.cells=[12,18,12] --set domain.voxel=0.08 -v";
    for (n, away) in ["2>/dev/full", "2> >(true)", "2>&-", "2> >(head -c 1 >/dev/null)"].iter().enumerate() {
        let output =
            shell(dir.path(), &format!("\"$U\" simulate plume --frames 20 --out run{n} {small} {away}"));
        assert_eq!(output.status.code(), Some(0), "{away}: {}", stderr(&output));
        assert!(dir.path().join(format!("run{n}/stats.csv")).exists());
    }
    let both = shell(
        dir.path(),
        &format!(
            "\"$U\" simulate plume --frames 20 --out run {small} 2>&1 | head -n 1; exit ${{PIPESTATUS[0]}}"
        ),
    );
    assert_eq!(both.status.code(), Some(0));
    let wrong = shell(dir.path(), "\"$U\" check plum 2>/dev/full");
    assert_eq!(wrong.status.code(), Some(2));
    let full = shell(dir.path(), "\"$U\" check plume >/dev/full");
    assert_eq!(full.status.code(), Some(1), "a result that cannot be told is an error");
    assert!(stderr(&full).contains("cannot write to standard output"), "{}", stderr(&full));
}

#[test]
fn hostile_npz_files_are_refused_at_once() {
    let dir = folder();
    let cases = [
        ("brackets", "its npy header cannot be read"),
        ("header-length", "claims 4294967280 bytes; at most 65536"),
        ("record", "has values of type `record`"),
    ];
    for (name, wanted) in cases {
        let set = format!("initial.fields='{}'", seed(&format!("npz/{name}.npz")));
        let args = words("check plume --set domain.cells=[2,2,2] --set domain.voxel=0.5 --set source=[]");
        let began = Instant::now();
        refused(&updraft(dir.path(), &[&args[..], &["--set", &set]].concat()), wanted);
        assert!(began.elapsed() < Duration::from_secs(10), "{name}");
    }
}

#[test]
fn vast_pictures_texts_and_numbers_of_threads_are_refused_before_they_are_made() {
    let dir = folder();
    let vast = format!(
        "source=[{{ shape = {{ image = {{ file = '{}', center = [0.4, 0.4, 0.4], width = 0.3, depth = 0.2 }} }} }}]",
        seed("png/vast.png")
    );
    refused(
        &updraft(dir.path(), &["check", "plume", "--set", &vast]),
        "100000 x 100000 pixels, over the limit of 67108864",
    );
    let letters = format!("text = \"{}\"", "a".repeat(100_000)).replace("text", "string");
    let scene = format!(
        "[[source]]\nshape = {{ text = {{ center = [0.4, 0.4, 0.4], height = 0.1, depth = 0.1, {letters} }} }}\n"
    );
    fs::write(dir.path().join("letters.toml"), scene).unwrap();
    refused(&updraft(dir.path(), &["check", "letters.toml"]), "100000 characters, over the limit of 10000");
    let large = ["check", "plume", "--set", "render.size=[16384, 16384]", "--set", "solver.memory_limit=4"];
    refused(
        &updraft(dir.path(), &large),
        "render.size: a picture of 16384 x 16384 pixels needs about 16.0 GiB",
    );
    let set = "render plume --size 16384x16384 --frames 0 --out a.png --set solver.memory_limit=4";
    refused(&updraft(dir.path(), &words(set)), "render.size");
    let many = shell(dir.path(), "ulimit -v 1000000; \"$U\" check plume --threads 1024");
    refused(&many, "1024 threads need about");
    assert_eq!(files(dir.path()), ["letters.toml"]);
}

/// Opening a named pipe waits for a writer, perhaps forever.
#[test]
fn named_pipes_and_devices_are_refused_and_standard_input_is_read() {
    let dir = folder();
    let made = Command::new("mkfifo").arg(dir.path().join("pipe.toml")).status().expect("mkfifo");
    assert!(made.success());
    for script in [
        "\"$U\" check ./pipe.toml",
        "\"$U\" check /dev/zero",
        "\"$U\" check plume --set render.environment.file=pipe.toml",
        "\"$U\" check plume --set initial.fields=pipe.toml",
        "\"$U\" check /dev/tty",
    ] {
        let began = Instant::now();
        let output = shell(dir.path(), script);
        assert_eq!(output.status.code(), Some(2), "{script}: {}", stderr(&output));
        assert!(began.elapsed() < Duration::from_secs(20), "{script}");
    }
    refused(&shell(dir.path(), "\"$U\" check ./pipe.toml"), "it is a device or a named pipe");
    for script in ["echo '[fluid]' | \"$U\" check /dev/stdin", "\"$U\" check <(echo '[fluid]')"] {
        let output = shell(dir.path(), script);
        assert!(output.status.success(), "{script}: {}", stderr(&output));
    }
}

#[test]
fn pictures_and_fonts_are_refused_in_our_own_words() {
    let dir = folder();
    fs::write(dir.path().join("bad.ttf"), "no font").unwrap();
    let png = fs::read(seed("png/rgb.png")).unwrap();
    fs::write(dir.path().join("short.png"), &png[..png.len() / 2]).unwrap();
    let check = |shape: &str| {
        let set = format!("source=[{{ shape = {{ {shape}, center = [0.4, 0.4, 0.4], depth = 0.2 }} }} }}]");
        updraft(dir.path(), &["check", "plume", "--set", &set])
    };
    refused(&check("image = { file = 'short.png', width = 0.3"), "short.png: it is cut short");
    refused(
        &check("text = { string = 'a', height = 0.3, font = 'bad.ttf'"),
        "the font cannot be used: it is no TrueType or OpenType file, or damaged",
    );
}

/// Tries a text with the greatest number of letters, and sources whose weights together exceed the limit.
#[test]
fn shapes_take_little_memory_and_are_counted() {
    let dir = folder();
    let letters = |height: f32| {
        format!(
            "[[source]]\nshape = {{ text = {{ string = \"{}\", center = [0.4, 0.4, 0.4], height = {height}, depth = 0.1 }} }}\n",
            "a".repeat(9_999)
        )
    };
    fs::write(dir.path().join("letters.toml"), letters(0.22)).unwrap();
    succeeded(&shell(
        dir.path(),
        "ulimit -v 600000; \"$U\" simulate letters.toml --threads 2 --frames 0 --out run",
    ));
    let block = "[[source]]\nshape = { box = { center = [0.48, 0.72, 0.48], size = [0.9, 1.4, 0.9] } }\n";
    fs::write(dir.path().join("boxes.toml"), block.repeat(100)).unwrap();
    let few = updraft(dir.path(), &["check", "boxes.toml", "--set", "solver.memory_limit=0.3"]);
    refused(&few, "source.shape: the shape needs about 4.");
    assert!(stderr(&few).contains("over the limit of 307 MiB"), "{}", stderr(&few));
}

/// Tries limits on the address space from far too little to enough. Each run succeeds, or ends with one line
/// and exit code 1 or 2.
#[test]
fn running_out_of_memory_is_a_line_and_no_abort() {
    let dir = folder();
    for kib in [90_000, 130_000, 170_000, 256_000, 400_000] {
        let script =
            format!("ulimit -v {kib}; \"$U\" simulate plume --frames 1 --out run{kib} --threads 2 --quiet");
        let output = shell(dir.path(), &script);
        let text = stderr(&output);
        assert!(matches!(output.status.code(), Some(0..=2)), "{kib}: {:?} {text}", output.status);
        assert!(output.status.success() || text.starts_with("updraft: "), "{kib}: {text}");
    }
}

#[test]
fn meshes_are_read_or_refused_in_our_own_words() {
    let dir = folder();
    let check = |name: &str| {
        let set = format!("solid=[{{ shape = {{ mesh = '{}' }}, scale = 0.2 }}]", seed(name));
        updraft(dir.path(), &["check", "plume", "--set", &set])
    };
    succeeded(&check("obj/byte-order-mark.obj"));
    refused(&check("stl/truncated.stl"), "it is cut short: its 4 triangles take 284 bytes, and it has 150");
    refused(&check("stl/claims.stl"), "its 4294967295 triangles take");
}

#[test]
fn a_table_replaces_a_link_as_a_picture_does() {
    let dir = folder();
    let mine = dir.path().join("mine");
    fs::write(&mine, "mine").unwrap();
    fs::create_dir(dir.path().join("run")).unwrap();
    let table = dir.path().join("run/stats.csv");
    symlink(&mine, &table).unwrap();
    let args = [&["simulate", "plume", "--frames", "1", "--out", "run", "--quiet"], SMALL].concat();
    refused(&updraft(dir.path(), &args), "run/stats.csv exists already");
    done(dir.path(), &[&args[..], &["--force"]].concat());
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine", "nothing was written through the link");
    assert!(fs::symlink_metadata(&table).unwrap().is_file());
    fs::set_permissions(&table, fs::Permissions::from_mode(0o444)).unwrap();
    done(dir.path(), &[&args[..], &["--force"]].concat());
    assert_eq!(fs::metadata(&table).unwrap().permissions().mode() & 0o777, 0o444);
    assert!(fs::read_to_string(&table).unwrap().lines().count() > 1);
}

/// Starts a run of 400 frames in a folder where another program creates `name` after the first. None if the
/// run was faster.
fn overtaken(name: &str) -> Option<(tempfile::TempDir, Child)> {
    let dir = folder();
    let args =
        [&["render", "plume", "--frames", "1-400", "--size", "64x48", "--cpu", "--out", "a.####.png"], SMALL]
            .concat();
    let mut child = start(dir.path(), &args);
    while !dir.path().join("a.0001.png").exists() {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(2));
    }
    let taken = fs::File::create_new(dir.path().join(name)).and_then(|mut file| file.write_all(b"theirs"));
    if taken.is_err() {
        child.kill().unwrap();
        child.wait().unwrap();
        return None;
    }
    Some((dir, child))
}

/// Another program creates the file of a later frame during the run.
#[test]
fn a_file_that_appears_during_the_run_is_not_overwritten() {
    // On a busy machine the run may have passed that frame already, so it is tried again.
    let (dir, child) = (0..10).find_map(|_| overtaken("a.0300.png")).expect("a run that was overtaken");
    let taken = dir.path().join("a.0300.png");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("a.0300.png exists already"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&taken).unwrap(), "theirs");
    assert!(!files(dir.path()).iter().any(|name| name.starts_with('.')));
}

#[test]
fn a_run_says_which_signal_stopped_it() {
    for (name, said) in [("TERM", "by SIGTERM"), ("INT", "by Ctrl-C"), ("HUP", "by SIGHUP")] {
        let dir = folder();
        let args = [&["simulate", "plume", "--frames", "1-100000", "--out", "run"], SMALL].concat();
        let child = start(dir.path(), &args);
        wait_for("its table", || dir.path().join("run/stats.csv").exists());
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("stopped: {said}")), "{}", stderr(&output));
    }
}

#[test]
fn help_has_no_marks_of_its_source_and_numbers_below_zero_are_explained() {
    let dir = folder();
    for name in ["view", "render", "simulate", "bench", "scenes", "check"] {
        let help = String::from_utf8(updraft(dir.path(), &[name, "--help"]).stdout).unwrap();
        assert!(!help.contains('\\') && help.len() > 200, "{help}");
    }
    let args = |name: &'static str| updraft(dir.path(), &[name, "plume", "--frames", "-5"]);
    for output in [args("render"), args("simulate")] {
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("write frames as 1-240"), "{}", stderr(&output));
    }
}

#[test]
fn numbers_out_of_range_are_refused_with_their_argument() {
    let dir = folder();
    for (command, option, values) in [
        ("simulate", "--steady", &["nan", "-1", "0"][..]),
        ("simulate", "--mean-from", &["nan", "-1", "inf"]),
        ("render", "--samples", &["-1", "0"]),
        ("render", "--noise", &["-1", "nan", "2"]),
        ("detail", "--strength", &["-1", "nan"]),
        ("simulate", "--threads", &["-1", "2000"]),
        ("check", "--ranks", &["-1", "0"]),
        ("view", "--record-memory", &["-4GiB"]),
        ("bench", "--cells", &["7"]),
    ] {
        for value in values {
            let format: &[&str] = if option == "--mean-from" { &["--format", "npz"] } else { &[] };
            let output = updraft(dir.path(), &[&[command, option, value], format].concat());
            refused(&output, &format!("invalid value '{value}' for '{option}"));
            assert!(!stderr(&output).contains("tip:"), "{}", stderr(&output));
        }
    }
    assert!(files(dir.path()).is_empty());
}

#[test]
fn formats_and_fields_named_twice_are_written_once() {
    let dir = folder();
    let twice = ["--format", "npz,npz", "--fields", "u,red,u", "--out", "run"];
    done(dir.path(), &[&["simulate", "plume", "--frames", "1"], &twice[..], SMALL].concat());
    assert_eq!(files(&dir.path().join("run")), ["fields.0001.npz", "scene.toml", "stats.csv"]);
}

#[test]
fn an_absurd_number_of_threads_in_the_environment_is_refused() {
    let dir = folder();
    let mut command = command(dir.path(), &["check", "plume"]);
    let output = command.env("RAYON_NUM_THREADS", "60000").output().unwrap();
    refused(&output, "RAYON_NUM_THREADS is 60000; at most 1024 threads are possible");
}

#[test]
fn results_of_a_benchmark_into_a_folder_are_refused_before_it() {
    let dir = folder();
    for more in [&[][..], &["--force"]] {
        let output = updraft(dir.path(), &[&["bench", "--cells", "8", "--json", "."], more].concat());
        refused(&output, "is a folder and no file");
    }
}

#[test]
fn a_limit_of_file_sizes_is_an_error_in_a_line() {
    let dir = folder();
    let script = "ulimit -f 4; \"$U\" simulate plume --frames 1 --format npz --out run --threads 1 --quiet";
    let output = shell(dir.path(), script);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).starts_with("updraft: cannot write run/"), "{}", stderr(&output));
    let names = files(&dir.path().join("run"));
    assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
}

#[test]
fn a_flow_that_outruns_its_steps_is_reported() {
    let dir = folder();
    let flow = ["--set", "initial.u=4e5", "--set", "domain.walls=periodic", "--set", "time.max_substeps=1"];
    let args = [&["simulate", "plume", "--frames", "3", "--out", "run"], SMALL, &flow].concat();
    let output = done(dir.path(), &args);
    assert_eq!(
        stderr(&output).matches("the flow has outrun its time step").count(),
        1,
        "{}",
        stderr(&output)
    );
}

/// Makes a program called ffmpeg that runs `script`.
fn fake(folder: &Path, script: &str) -> String {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let path = bin.join("ffmpeg");
    let version = "if [ \"$1\" = -version ]; then VERSION; fi\nfor out; do :; done\nout=${out#file:}\n";
    let answer = match script {
        "hang" => "exec sleep 60",
        "broken" => "exit 127",
        _ => "exit 0",
    };
    let version = version.replace("VERSION", answer);
    fs::write(&path, format!("#!/bin/bash\n{version}{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

fn film(folder: &Path, script: &str, more: &[&str]) -> Output {
    let path = fake(folder, script);
    let args =
        ["render", "plume", "--frames", "1-6", "--size", "320x240", "--cpu", "--quiet", "--out", "a.mp4"];
    let mut command = command(folder, &[&args[..], SMALL, more].concat());
    // Only hanging programs may be killed, however busy the machine is.
    let patience = if script.contains("sleep") || script == "hang" { "3" } else { "120" };
    command.env("PATH", path).env("UPDRAFT_PATIENCE", patience).output().expect("the command starts")
}

#[test]
fn an_ffmpeg_that_misbehaves_neither_hangs_a_run_nor_takes_a_film() {
    let cases = [
        (
            "head -c 5000000 /dev/zero >&2; cat >/dev/null; echo 'No space left on device' >&2; exit 1",
            "No space left on device",
        ),
        ("exec sleep 60", "took no pictures for 3 s"),
        ("cat >/dev/null; exec sleep 60", "stood still for 3 s"),
        // On a full disk ffmpeg can report success for a film without its index.
        (
            "cat >/dev/null; printf '\\0\\0\\0\\20ftypisom\\0\\0\\0\\0' >\"$out\"; exit 0",
            "a film without its end",
        ),
        ("exit 0", "ended early"),
        ("cat >/dev/null", "ffmpeg reported success and left no film"),
    ];
    for (script, wanted) in cases {
        let dir = folder();
        fs::write(dir.path().join("a.mp4"), "the old film").unwrap();
        let began = Instant::now();
        let output = film(dir.path(), script, &["--force"]);
        assert_eq!(output.status.code(), Some(1), "{script}: {}", stderr(&output));
        assert!(stderr(&output).contains(wanted), "{script}: {}", stderr(&output));
        assert!(began.elapsed() < Duration::from_secs(60), "{script}");
        assert_eq!(fs::read_to_string(dir.path().join("a.mp4")).unwrap(), "the old film");
        assert_eq!(files(dir.path()), ["a.mp4", "bin"], "{script}");
    }
    let dir = folder();
    let output = film(dir.path(), "hang", &[]);
    succeeded(&output);
    assert!(
        stderr(&output).contains("ffmpeg cannot be used: -version: it did not answer"),
        "{}",
        stderr(&output)
    );
    assert!(dir.path().join("a.0006.png").exists(), "pictures instead");
    let output = film(dir.path(), "broken", &["--force"]);
    succeeded(&output);
    let wanted =
        "ffmpeg cannot be used: -version: it ended with an error; a.mp4 is not written; writing a.####.png";
    assert!(stderr(&output).contains(wanted), "{}", stderr(&output));
    let path = fake(dir.path(), "broken");
    let doctor = command(dir.path(), &["doctor"]).env("PATH", path).output().expect("the command starts");
    assert!(stdout(&doctor).contains("cannot be used: it ended with an error"), "{}", stdout(&doctor));
}

/// The name of a film is not a protocol.
#[test]
fn a_film_may_have_a_colon_in_its_name() {
    let dir = folder();
    let args =
        [&["render", "plume", "--frames", "1-3", "--size", "64x48", "--cpu", "--out", "a:b.mp4"], SMALL]
            .concat();
    let output = done(dir.path(), &args);
    if stderr(&output).contains("no ffmpeg here") {
        eprintln!("SKIPPED: {}", stderr(&output));
        return;
    }
    assert_eq!(files(dir.path()), ["a:b.mp4"]);
}
