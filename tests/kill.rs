//! A run that is killed at random moments and resumed each time ends with the files of an unbroken run.
#![cfg(unix)]

#[path = "common/chance.rs"]
mod chance;
#[path = "common/command.rs"]
mod command;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use chance::Chance;
use command::{contents, signal, start, succeeded, wait_for, words};

const SCENE: &str = "
    [domain]
    cells = [12, 16, 12]
    voxel = 0.06
    [time]
    step = 0.02
    [[solid]]
    shape = { sphere = { radius = 0.12 } }
    keyframes = [[0.0, [0.2, 0.5, 0.3]], [1.0, [0.6, 0.6, 0.3]]]
    [[probe]]
    name = 'point'
    fields = ['v']
    at = { point = [0.3, 0.3, 0.3] }
    [[probe]]
    name = 'line'
    fields = ['v', 'red']
    at = { line = { from = [0.3, 0.0, 0.3], to = [0.3, 0.9, 0.3], points = 5 } }
    [[probe]]
    name = 'force'
    fields = ['force']
    at = { solid = 0 }
";

fn simulate(folder: &Path, out: &str, threads: &str, more: &[&str]) -> Child {
    let run = words("simulate ball.toml --frames 0-24 --format vdb,vti,npz --quiet --checkpoint-every 3");
    start(folder, &[&run[..], &["--threads", threads, "--out", out], more].concat())
}

fn finish(child: Child) {
    succeeded(&child.wait_with_output().expect("the command ends"));
}

/// Returns the files of a run by name, without those that may differ: the checkpoint, which has the length of
/// stats.csv, and `scene.toml`, which has the number of threads.
fn results(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = contents(folder);
    assert!(files.remove("checkpoint").is_some() && files.remove("scene.toml").is_some());
    files
}

#[track_caller]
fn same(folder: &Path, whole: &BTreeMap<String, Vec<u8>>) {
    let ours = results(folder);
    assert_eq!(ours.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>(), "the same files");
    for (name, bytes) in whole {
        assert!(ours[name] == *bytes, "{name} has other bytes than that of the unbroken run");
    }
}

fn kill_often(wanted: u32) {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("ball.toml"), SCENE).expect("a scene");
    finish(simulate(dir.path(), "whole", "1", &[]));
    let whole = results(&dir.path().join("whole"));
    assert_eq!(whole.len(), 3 * 25 + 1 + 4, "{:?}", whole.keys());
    let (mut kills, mut asked, mut runs) = (0, 0, 0);
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    while kills + asked < wanted {
        let out = format!("run{runs}");
        let threads = chance.one(&["1", "2"]);
        let mut child = simulate(dir.path(), &out, threads, &["--resume", "--force"]);
        std::thread::sleep(Duration::from_micros(chance.below(90_000) as u64));
        match child.try_wait().expect("a status") {
            Some(_) => {
                finish(child);
                same(&dir.path().join(&out), &whole);
                runs += 1;
            }
            None if chance.below(4) == 0 => {
                signal(&child, "TERM");
                // Until the signal is caught it ends the process as usual.
                child.wait().expect("it ends");
                asked += 1;
            }
            None => {
                child.kill().expect("it runs");
                child.wait().expect("it ends");
                kills += 1;
            }
        }
    }
    let out = format!("run{runs}");
    finish(simulate(dir.path(), &out, "2", &["--resume", "--force"]));
    same(&dir.path().join(&out), &whole);
    eprintln!("{kills} killed, {asked} asked to end, {} runs finished", runs + 1);
}

#[test]
fn a_run_killed_twenty_times_ends_with_the_same_bytes() {
    kill_often(20);
}

#[test]
#[ignore = "takes half a minute"]
fn a_run_killed_a_hundred_times_ends_with_the_same_bytes() {
    kill_often(100);
}

/// Ctrl-C leaves a run that can be resumed, also within a frame and without `--checkpoint-every`.
#[test]
fn ctrl_c_leaves_a_run_that_goes_on() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("ball.toml"), SCENE).expect("a scene");
    let simulate = |out: &str, more: &[&str]| {
        start(dir.path(), &[&["simulate", "--frames", "0-60", "--out", out], more].concat())
    };
    finish(simulate("whole", &["ball.toml", "--format", "npz"]));
    let child = simulate("run", &["ball.toml", "--format", "npz"]);
    wait_for("its fifth frame", || dir.path().join("run/fields.0005.npz").exists());
    signal(&child, "INT");
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("continue with `updraft simulate --resume --out run`"), "{text}");
    // Without --resume nothing is overwritten; another scene is refused; the scene of the run is accepted.
    let refused = simulate("run", &["ball.toml"]).wait_with_output().expect("it ends");
    assert_eq!(refused.status.code(), Some(2));
    let other = simulate("run", &["ball.toml", "--resume", "--set", "fluid.vorticity=0.1"]);
    let other = other.wait_with_output().expect("it ends");
    assert_eq!(other.status.code(), Some(2));
    let text = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(text.contains("another scene, which differs in fluid"), "{text}");
    // The command in its message is run twice; the second time the run is complete.
    for said in ["continuing after frame", "run is complete at frame 60"] {
        let output = start(dir.path(), &["simulate", "--resume", "--out", "run"]).wait_with_output();
        let output = output.expect("it ends");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && text.contains(said), "{text}");
    }
    assert!(!dir.path().join("whole/checkpoint").exists(), "a run in one go keeps none unasked");
    std::fs::write(dir.path().join("whole/checkpoint"), "").expect("a file");
    same(&dir.path().join("run"), &results(&dir.path().join("whole")));
}
