//! Runs side by side: locks, shared folders, and sweeps in any order.

#[path = "common/command.rs"]
mod command;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command};

use command::{contents, done, program, refused, signal, start, stderr, succeeded, updraft, wait_for, words};

const SMALL: &[&str] =
    &["--set", "domain.cells=[16, 24, 16]", "--set", "domain.voxel=0.06", "--threads", "1"];

/// Returns all files of a run except its checkpoint, which has wall times.
fn results(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = contents(folder);
    files.remove("checkpoint");
    files
}

/// Starts a long run in `folder`/run, and waits until it has begun.
fn long_run(folder: &Path) -> Child {
    let args = ["simulate", "plume", "--frames", "1-100000", "--format", "npz", "--out", "run", "--quiet"];
    let child = start(folder, &[&args[..], SMALL].concat());
    wait_for("its first frame", || folder.join("run/fields.0001.npz").exists());
    child
}

#[test]
fn a_second_run_into_a_folder_is_refused_and_a_killed_one_does_not_block_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = long_run(dir.path());
    let again = ["simulate", "plume", "--frames", "2", "--out", "run", "--force", "--quiet"];
    for more in [&[][..], &["--resume"], &["--skip-existing"]] {
        let output = updraft(dir.path(), &[&again[..], SMALL, more].concat());
        let text = stderr(&output);
        let wanted = format!("run is being written by another updraft (process {})", first.id());
        assert!(output.status.code() == Some(2) && text.contains(&wanted), "{more:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    // On Unix this is SIGKILL, after which the run cannot clean up.
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(dir.path().join("run/.updraft.lock").exists(), "the killed run leaves its file");
    // A partial frame in each format, of a process with the greatest possible id, which does not run.
    for end in ["npz", "vdb", "vti"] {
        std::fs::write(dir.path().join(format!("run/.4294967295.part.fields.0021.{end}")), "half").unwrap();
    }
    done(dir.path(), &[&again[..], SMALL].concat());
    let hidden: Vec<String> =
        results(&dir.path().join("run")).into_keys().filter(|name| name.starts_with('.')).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

/// Sends a signal as Ctrl-C does, and returns what the run says at its end.
#[cfg(unix)]
fn interrupted(child: Child) -> String {
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    stderr(&output)
}

/// Returns the frame of a run that was stopped with the message `said`.
fn frame_of(said: &str) -> u32 {
    let number = said.split("up to frame ").nth(1).and_then(|rest| rest.split(',').next());
    number.and_then(|number| number.parse().ok()).expect(said)
}

#[cfg(unix)]
#[test]
fn resume_takes_frames_and_formats_from_the_run_and_loses_no_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let said = interrupted(long_run(dir.path()));
    assert!(said.contains("continue with `updraft simulate --resume --out run`"), "{said}");
    let (resume, frame) = (["simulate", "--resume", "--out", "run"], frame_of(&said));
    for (more, wanted) in [
        (
            &["--frames", "1"][..],
            format!("run/checkpoint is at frame {frame}, and --frames 1-1 end before it"),
        ),
        (&["--format", "vdb"], "is of a run with --format npz, not with --format vdb".into()),
        (&["--format", "npz", "--fields", "u"], "not with --fields u".into()),
        (&["--up", "z"], "is of a run with --up y, not with --up z".into()),
        (&["--mean-from", "0.5", "--format", "npz"], "with no --mean-from, not with --mean-from 0.5".into()),
    ] {
        let output = updraft(dir.path(), &[&resume[..], more].concat());
        refused(&output, &wanted);
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
        assert!(dir.path().join("run/checkpoint").exists(), "{more:?}");
    }
    let child = start(dir.path(), &resume);
    let next = dir.path().join(format!("run/fields.{:04}.npz", frame + 2));
    wait_for("a later frame", || next.exists());
    assert!(frame_of(&interrupted(child)) > frame);
}

#[test]
fn a_run_killed_before_its_first_checkpoint_begins_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = long_run(dir.path());
    child.kill().unwrap();
    child.wait().unwrap();
    let again = ["simulate", "--frames", "2", "--format", "npz", "--out", "run", "--resume"];
    let small = |more: &[&str]| updraft(dir.path(), &[&again[..], SMALL, more].concat());
    refused(&small(&["plume", "--set", "fluid.vorticity=0.9"]), "it differs in fluid; choose another --out");
    for more in [&[][..], &["--force"]] {
        let before = std::fs::read(dir.path().join("run/scene.toml")).unwrap();
        let output = small(more);
        assert!(output.status.success(), "{more:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("its run begins anew, over its own files"), "{}", stderr(&output));
        assert!(before == std::fs::read(dir.path().join("run/scene.toml")).unwrap());
        // The run has ended without a checkpoint: only --force overwrites its frames.
        let whole = contents(&dir.path().join("run"));
        for more in [&[][..], &["plume"]] {
            refused(&small(more), "run has a run that has ended, and no checkpoint to continue it from");
        }
        assert!(whole == contents(&dir.path().join("run")));
    }
    std::fs::remove_file(dir.path().join("run/scene.toml")).unwrap();
    refused(&small(&["--force"]), "run has no run to continue: neither checkpoint nor scene.toml");
}

/// A resumed run once lost its checkpoint, and the next such command began it anew, over its files.
#[test]
fn a_resumed_run_keeps_its_checkpoints_and_a_repeated_command_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let first = words("simulate plume --frames 1-6 --format npz --out run --checkpoint-every 2");
    done(dir.path(), &[&first[..], SMALL].concat());
    done(dir.path(), &words("simulate --resume --out run --frames 1-9"));
    let ended = contents(&dir.path().join("run"));
    assert!(ended.contains_key("checkpoint") && ended.contains_key("fields.0009.npz"), "{:?}", ended.keys());
    for again in ["simulate --resume --out run", "simulate --resume --out run --frames 1-9"] {
        let output = done(dir.path(), &words(again));
        assert!(stderr(&output).contains("run is complete at frame 9"), "{again}: {}", stderr(&output));
        assert!(ended == contents(&dir.path().join("run")), "{again}");
    }
    // The run began with every second frame.
    let mut child = start(dir.path(), &words("simulate --resume --out run --frames 1-100000"));
    wait_for("a later frame", || dir.path().join("run/fields.0013.npz").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let output = updraft(dir.path(), &words("simulate --resume --out run --frames 1-10"));
    refused(&output, "run/checkpoint is at frame 1");
    let whole = words("simulate plume --frames 1-9 --format npz --out whole");
    done(dir.path(), &[&whole[..], SMALL].concat());
    let whole = results(&dir.path().join("whole"));
    assert!((1..10).map(|n| format!("fields.{n:04}.npz")).all(|name| whole[&name] == ended[&name]));
}

#[test]
fn a_run_that_became_steady_is_complete() {
    let dir = tempfile::tempdir().unwrap();
    let steady = words("simulate plume --frames 1-60 --out run --checkpoint-every 20 --steady 1e6");
    done(dir.path(), &[&steady[..], SMALL].concat());
    let ended = contents(&dir.path().join("run"));
    for again in [&words("simulate --resume --out run")[..], &[&steady[..], SMALL, &["--resume"]].concat()] {
        let output = done(dir.path(), again);
        assert!(stderr(&output).contains("run is complete at frame"), "{}", stderr(&output));
        assert!(ended == contents(&dir.path().join("run")), "{again:?}");
    }
    let lines =
        |files: &BTreeMap<String, Vec<u8>>| files["stats.csv"].iter().filter(|b| **b == b'\n').count();
    done(dir.path(), &words("simulate --resume --out run --frames 1-61"));
    assert!(lines(&contents(&dir.path().join("run"))) > lines(&ended), "other frames are asked for");
}

#[test]
fn force_leaves_no_file_of_the_run_before() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let probe = "probe=[{ name = 'x', fields = ['v'], at = { point = [0.4, 0.4, 0.4] } }]";
    let first =
        words("simulate plume --frames 1-6 --format npz,vti --out run --mean-from 0.1 --checkpoint-every 2");
    done(dir.path(), &[&first[..], SMALL, &["--set", probe]].concat());
    for name in ["notes.txt", "probe-mine.csv", "fields.7.npz", "fields.0007.npz.bak"] {
        std::fs::write(run.join(name), "mine").unwrap();
    }
    let whole = contents(&run);
    let again = words("simulate plume --frames 0-2 --format npz --out run --force");
    // A refused request removes no file.
    refused(&updraft(dir.path(), &[&again[..], SMALL, &["--mean-from", "9"]].concat()), "--mean-from 9");
    assert!(whole == contents(&run));
    done(dir.path(), &[&again[..], SMALL].concat());
    let names: Vec<String> = contents(&run).into_keys().collect();
    assert_eq!(
        names,
        [
            "fields.0000.npz",
            "fields.0001.npz",
            "fields.0002.npz",
            "fields.0007.npz.bak",
            "fields.7.npz",
            "notes.txt",
            "probe-mine.csv",
            "scene.toml",
            "stats.csv"
        ]
    );
    // The frame that the run starts from stays.
    let set = format!("initial.fields={:?}", run.join("fields.0002.npz"));
    let from = words("simulate plume --frames 0-1 --format npz --out run --force --set");
    done(dir.path(), &[&from[..], &[&set], SMALL].concat());
    let names: Vec<String> = contents(&run).into_keys().take(3).collect();
    assert_eq!(names, ["fields.0000.npz", "fields.0001.npz", "fields.0002.npz"]);
}

/// A run may be killed between its last checkpoint and its end.
#[test]
fn a_complete_run_stays_as_it_is_and_gets_the_mean_it_lacks() {
    let dir = tempfile::tempdir().unwrap();
    let frames = ["--frames", "1-4", "--format", "npz", "--mean-from", "0.05", "--checkpoint-every", "3"];
    done(dir.path(), &[&["simulate", "plume", "--out", "run"], &frames[..], SMALL].concat());
    let whole = results(&dir.path().join("run"));
    for lacks_mean in [true, false] {
        if lacks_mean {
            std::fs::remove_file(dir.path().join("run/mean.npz")).unwrap();
        }
        let output = done(dir.path(), &["simulate", "--resume", "--out", "run"]);
        assert!(stderr(&output).contains("run is complete at frame 4"), "{}", stderr(&output));
        assert!(whole == results(&dir.path().join("run")), "{lacks_mean}");
        assert!(dir.path().join("run/checkpoint").exists());
    }
}

#[test]
fn a_list_of_frames_names_only_files_that_exist() {
    let dir = tempfile::tempdir().unwrap();
    let args = words("simulate plume --format vti --fields red --out run --checkpoint-every 2");
    let simulate = |frames: &[&str]| updraft(dir.path(), &[&args[..], SMALL, frames].concat());
    succeeded(&simulate(&["--frames", "2-4"]));
    let resumed = simulate(&["--frames", "0-6", "--resume", "--quiet"]);
    succeeded(&resumed);
    assert!(stderr(&resumed).contains("2 frames from 0 on are missing in run"), "{}", stderr(&resumed));
    let list = std::fs::read_to_string(dir.path().join("run/fields.pvd")).unwrap();
    let named: Vec<&str> = list.split("file=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(named.len(), 5, "{list}");
    assert!(named.iter().all(|name| dir.path().join("run").join(name).exists()), "{list}");
}

#[test]
fn a_run_replaces_neither_its_own_scene_nor_half_of_another_run() {
    let dir = tempfile::tempdir().unwrap();
    let simulate = |more: &[&str]| {
        let args = ["simulate", "--frames", "1-2", "--format", "npz", "--out", "run", "--quiet"];
        updraft(dir.path(), &[&args[..], more].concat())
    };
    succeeded(&simulate(&[&["plume", "--checkpoint-every", "1"], SMALL].concat()));
    let kept = results(&dir.path().join("run"));
    for more in [&["--force"][..], &["--skip-existing"], &[]] {
        refused(&simulate(&[&["run/scene.toml"], more].concat()), "run/scene.toml is the scene itself");
    }
    let other = [&["plume", "--skip-existing", "--set", "fluid.vorticity=0.9"], SMALL].concat();
    refused(&simulate(&other), "run/scene.toml is another scene than the one asked for: it differs in fluid");
    assert!(kept == results(&dir.path().join("run")) && dir.path().join("run/checkpoint").exists());
    succeeded(&simulate(&[&["plume", "--skip-existing"], SMALL].concat()));
}

#[test]
fn workers_share_the_frames_of_a_finished_run() {
    let dir = tempfile::tempdir().unwrap();
    let simulate = ["simulate", "plume", "--frames", "1-8", "--format", "npz", "--out", "run", "--quiet"];
    done(dir.path(), &[&simulate[..], SMALL].concat());
    let render = |frames: &str, out: &str| {
        let args = ["render", "--from", "run", "--cpu", "--quiet", "--size", "48x64", "--skip-existing"];
        let args = [&args[..], &["--threads", "1", "--frames", frames, "--out", out]].concat();
        start(dir.path(), &args)
    };
    // Two ranges that overlap, at the same time.
    let workers = [render("1-5", "two/a.####.png"), render("4-8", "two/a.####.png")];
    for worker in workers {
        let output = worker.wait_with_output().unwrap();
        succeeded(&output);
    }
    assert!(render("1-8", "one/a.####.png").wait().unwrap().success());
    assert_eq!(results(&dir.path().join("one")).len(), 8);
    assert!(results(&dir.path().join("one")) == results(&dir.path().join("two")));
    // An empty file is no picture, and the command says how many it kept.
    let empty = dir.path().join("one/a.0002.png");
    std::fs::write(&empty, "").unwrap();
    let args = ["render", "--from", "run", "--cpu", "--size", "48x64", "--skip-existing", "--threads", "1"];
    let args = [&args[..], &["--out", "one/a.####.png"]].concat();
    let again = || String::from_utf8(done(dir.path(), &args).stdout).unwrap();
    let said = again();
    assert!(said.ends_with("one/a.0008.png, 7 of them kept as they were\n"), "{said}");
    assert!(results(&dir.path().join("one")) == results(&dir.path().join("two")));
    assert!(again().ends_with(", all of them kept as they were\n"));
}

/// The four values of a sweep, two processes at a time, against the same runs one after the other.
#[test]
fn a_sweep_in_parallel_equals_the_serial_runs_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let values = ["0", "0.5", "1", "2"];
    let run = |value: &str, out: &str| {
        let (set, out) = (format!("fluid.vorticity={value}"), format!("{out}-{value}"));
        let args = ["simulate", "plume", "--frames", "1-6", "--format", "npz,vdb", "--quiet"];
        start(dir.path(), &[&args[..], SMALL, &["--set", &set, "--out", &out]].concat())
    };
    for pair in values.chunks(2) {
        let mut both: Vec<Child> = pair.iter().map(|value| run(value, "parallel")).collect();
        assert!(both.iter_mut().all(|child| child.wait().unwrap().success()));
    }
    for value in values {
        assert!(run(value, "serial").wait().unwrap().success());
        let [parallel, serial] =
            ["parallel", "serial"].map(|out| results(&dir.path().join(format!("{out}-{value}"))));
        assert!(serial.len() == 14 && parallel == serial, "vorticity {value}");
    }
    let last = |value: &str| results(&dir.path().join(format!("serial-{value}"))).remove("fields.0006.npz");
    assert!(last("0") != last("2"), "the value matters");
}

/// Runs the sweep of docs/farms.md through GNU parallel, where that is installed.
#[test]
fn gnu_parallel_runs_the_sweep_of_the_documentation() {
    let installed = Command::new("parallel").arg("--version").output();
    let is_gnu = installed.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains("GNU parallel"));
    if !is_gnu {
        eprintln!("skipped: no GNU parallel here");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let page = include_str!("../docs/farms.md");
    let line = page.lines().find(|line| line.starts_with("parallel -j2 ")).expect("the sweep");
    // GNU parallel hands its line to a shell again: no blanks within a value.
    let small = " --set 'domain.cells=[16,24,16]' --set domain.voxel=0.06";
    let line = line.replacen("updraft simulate plume", &format!("updraft simulate plume{small} --quiet"), 1);
    let line = line.replace("1-120", "1-4");
    let bin = Path::new(env!("CARGO_BIN_EXE_updraft")).parent().unwrap().to_owned();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = program("sh", dir.path());
    let output = shell.args(["-c", &line]).env("PATH", path).env("HOME", dir.path()).output().unwrap();
    assert!(output.status.success(), "{line}\n{}", stderr(&output));
    for value in ["0", "0.5", "1", "2"] {
        let serial = format!("serial-{value}");
        let args = ["simulate", "plume", "--frames", "1-4", "--format", "vdb", "--quiet", "--out", &serial];
        let set = format!("fluid.vorticity={value}");
        done(dir.path(), &[&args[..], SMALL, &["--set", &set]].concat());
        let parallel = results(&dir.path().join(format!("vorticity-{value}")));
        assert!(parallel.len() == 6 && parallel == results(&dir.path().join(serial)), "{value}");
    }
}
