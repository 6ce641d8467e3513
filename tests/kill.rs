//! A run that is killed at random moments and resumed each time ends with the files of an unbroken run.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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

fn start(folder: &Path, out: &str, threads: &str, more: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_updraft"))
        .current_dir(folder)
        .args("simulate ball.toml --frames 0-24 --format vdb,vti,npz --quiet".split(' '))
        .args(["--checkpoint-every", "3", "--threads", threads, "--out", out])
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

fn finish(child: Child) {
    let output = child.wait_with_output().expect("the command ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Files of a run by name, without the parts that may differ: stage times in stats.csv, the checkpoint, which has the
/// length of stats.csv, and `scene.toml`, which has the number of threads.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let mut files: BTreeMap<_, _> = entries
        .map(|entry| {
            let bytes = std::fs::read(entry.path()).expect("a file");
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    assert!(files.remove("checkpoint").is_some() && files.remove("scene.toml").is_some());
    let stats = String::from_utf8(files["stats.csv"].clone()).expect("text");
    let columns =
        stats.lines().next().expect("a header").split(',').take_while(|name| !name.starts_with("ms_"));
    let count = columns.count();
    let numbers = stats.lines().map(|line| line.split(',').take(count).collect::<Vec<_>>().join(","));
    files.insert("stats.csv".into(), numbers.collect::<Vec<_>>().join("\n").into());
    files
}

#[track_caller]
fn same(folder: &Path, whole: &BTreeMap<String, Vec<u8>>) {
    let ours = files(folder);
    assert_eq!(ours.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>(), "the same files");
    for (name, bytes) in whole {
        assert!(ours[name] == *bytes, "{name} has other bytes than that of the unbroken run");
    }
}

fn kill_often(wanted: u32) {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("ball.toml"), SCENE).expect("a scene");
    finish(start(dir.path(), "whole", "1", &[]));
    let whole = files(&dir.path().join("whole"));
    assert_eq!(whole.len(), 3 * 25 + 1 + 4, "{:?}", whole.keys());
    let (mut kills, mut asked, mut runs, mut state) = (0, 0, 0, 12345u32);
    while kills + asked < wanted {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let out = format!("run{runs}");
        let threads = if state >> 20 & 1 == 0 { "1" } else { "2" };
        let mut child = start(dir.path(), &out, threads, &["--resume", "--force"]);
        std::thread::sleep(Duration::from_micros(u64::from(state >> 8) % 90_000));
        match child.try_wait().expect("a status") {
            Some(_) => {
                finish(child);
                same(&dir.path().join(&out), &whole);
                runs += 1;
            }
            None if state >> 21 & 3 == 0 => {
                let id = child.id().to_string();
                assert!(
                    Command::new("sh")
                        .args(["-c", &format!("kill -TERM {id}")])
                        .status()
                        .expect("kill")
                        .success()
                );
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
    finish(start(dir.path(), &out, "2", &["--resume", "--force"]));
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
        let mut command = Command::new(env!("CARGO_BIN_EXE_updraft"));
        command.current_dir(dir.path()).args(["simulate", "--frames", "0-60", "--out", out]).args(more);
        command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the command starts")
    };
    finish(simulate("whole", &["ball.toml", "--format", "npz"]));
    let child = simulate("run", &["ball.toml", "--format", "npz"]);
    for _ in 0..5000 {
        if dir.path().join("run/fields.0005.npz").exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let id = child.id().to_string();
    assert!(Command::new("sh").args(["-c", &format!("kill -INT {id}")]).status().expect("kill").success());
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
    assert!(text.contains("another scene, which differs in fluid and smoke"), "{text}");
    finish(simulate("run", &["--resume"]));
    assert!(!dir.path().join("run/checkpoint").exists(), "a run that is over keeps none unasked");
    for out in ["run", "whole"] {
        std::fs::write(dir.path().join(out).join("checkpoint"), "").expect("a file");
    }
    same(&dir.path().join("run"), &files(&dir.path().join("whole")));
}
