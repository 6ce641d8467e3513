//! `updraft detail`: finer smoke through the flow of a finished run.

use std::path::Path;

use super::command::{done, files, folder, refused, stderr, succeeded, updraft, words};
use updraft::npz::Array;

/// Compares finer smoke through the flow in `dir`/run in one run and in two, from frames that begin with 0
/// and with 1.
fn resumed_finer_smoke_has_the_bytes_of_an_unbroken_run(dir: &Path) {
    let detail = |more: &[&str]| updraft(dir, &[&["detail", "run", "-q", "--frames"], more].concat());
    succeeded(&detail(&["1-6", "--out", "whole"]));
    succeeded(&detail(&["1-4", "--out", "parts", "--checkpoint-every", "2"]));
    refused(
        &updraft(dir, &["simulate", "--resume", "--frames", "1-6", "--out", "parts", "-q"]),
        "continue with `updraft detail RUN --resume`",
    );
    refused(
        &detail(&["1-6", "--out", "parts", "--resume", "--strength", "2"]),
        "differs in turbulence; give --up, --strength and --set as the run began, or choose another --out",
    );
    succeeded(&detail(&["1-6", "--out", "parts", "--resume"]));
    assert!(dir.join("parts/checkpoint").exists(), "every second frame, as the run began");
    let again = updraft(dir, &["detail", "run", "--resume", "--out", "parts"]);
    assert!(stderr(&again).contains("parts is complete at frame 6"), "{}", stderr(&again));
    for frame in 1..7 {
        let [whole, parts] =
            ["whole", "parts"].map(|out| std::fs::read(dir.join(out).join(format!("fields.{frame:04}.npz"))));
        assert!(whole.unwrap() == parts.unwrap(), "frame {frame}");
    }
    let lines = |out: &str| std::fs::read_to_string(dir.join(out).join("stats.csv")).unwrap().lines().count();
    assert_eq!(lines("whole"), lines("parts"));
    // No frame has the velocity of the start.
    std::fs::remove_file(dir.join("run/fields.0000.npz")).unwrap();
    succeeded(&detail(&["0-0", "--out", "start", "--checkpoint-every", "1"]));
    succeeded(&detail(&["6-6", "--out", "start", "--resume"]));
    let [whole, parts] = ["whole", "start"].map(|out| std::fs::read(dir.join(out).join("fields.0006.npz")));
    assert!(whole.unwrap() == parts.unwrap(), "resumed from the start");
    let simulate = ["simulate", "plume", "--frames", "1-2", "--checkpoint-every", "1", "--out", "own", "-q"];
    let tiny = ["--set", "domain.cells=[12, 8, 12]", "--set", "domain.voxel=0.06"];
    done(dir, &[&simulate[..], &tiny].concat());
    refused(&detail(&["1-6", "--out", "own", "--resume"]), "continue with `updraft simulate --resume`");
}

/// Simulates two frames of a small plume into `dir`/run.
fn run(dir: &Path, more: &[&str]) {
    let tiny = ["--set", "domain.cells=[12, 18, 12]", "--set", "domain.voxel=0.08", "-q"];
    let simulate = ["simulate", "plume", "--frames", "0-2", "--format", "npz", "--out", "run"];
    let output = updraft(dir, &[&simulate[..], &tiny, more].concat());
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Returns the contents of all files of a folder.
fn contents(folder: &Path) -> Vec<Vec<u8>> {
    files(folder).iter().map(|name| std::fs::read(folder.join(name)).unwrap()).collect()
}

/// Replaces a frame of that run by an npz of `numbers` and of air at `speed` along x.
fn replace(dir: &Path, frame: u32, numbers: &[(&str, f64)], speed: f32) {
    let shapes = [("u", [13, 18, 12]), ("v", [12, 19, 12]), ("w", [12, 18, 13])];
    let arrays = shapes.map(|(name, shape)| {
        let value = if name == "u" { speed } else { 0.0 };
        (name, Array { shape, values: vec![value; shape.into_iter().product()] })
    });
    let path = dir.join(format!("run/fields.{frame:04}.npz"));
    updraft::npz::write(std::fs::File::create(path).unwrap(), numbers, arrays).unwrap();
}

/// Such a run was once refused only after scene, statistics and a frame were written, so that a second try
/// found them.
#[test]
fn a_run_without_the_velocity_of_its_box_is_refused_before_any_file() {
    let dir = folder();
    let detail = || updraft(dir.path(), &["detail", "run", "-q"]);
    run(dir.path(), &["--fields", "red"]);
    (0..2).for_each(|_| refused(&detail(), "run/fields.0000.npz has no `u`"));
    run(dir.path(), &["--set", "domain.cells=[12, 18, 14]", "--force"]);
    let frame = std::fs::read(dir.path().join("run/fields.0000.npz")).unwrap();
    run(dir.path(), &["--force"]);
    std::fs::write(dir.path().join("run/fields.0000.npz"), frame).unwrap();
    refused(&detail(), "`u` has the shape [13, 18, 14]; this scene needs [13, 18, 12]");
    assert_eq!(files(dir.path()), ["run"]);
}

/// Such overrides once contradicted the stored air silently; `domain.detail` of 2 with `--up 2` became 4 or 2.
#[test]
fn overrides_that_change_the_air_are_refused() {
    let dir = folder();
    run(dir.path(), &[]);
    let detail = |set: &str| updraft(dir.path(), &["detail", "run", "-q", "--set", set]);
    for (set, wanted) in [
        ("domain.detail=3", "domain.detail: --up 2 makes it 2 here; leave it out, and change --up"),
        ("domain.voxel=0.04", "domain.voxel: the air in the frames of run has another; leave it out"),
        ("domain.cells=[12, 18, 14]", "domain.cells: the air in the frames of run has another"),
        ("domain.walls='open'", "domain.walls: the air"),
        ("domain.follow=true", "domain.follow: the air"),
        ("time.frame_rate=30", "time.frame_rate: the air"),
        ("solid=[{ shape = { sphere = { radius = 0.1 } }, position = [0.5, 0.5, 0.5] }]", "solid: the air"),
        (
            "force=[{ wind = { velocity = [1, 0, 0] } }]",
            "`force.0.wind.velocity` has no effect here: it acts on the air",
        ),
    ] {
        refused(&detail(set), wanted);
    }
    assert_eq!(files(dir.path()), ["run"]);
    for set in ["domain.voxel=0.08", "domain.detail=2", "turbulence.seed=3", "turbulence.strength=0.5"] {
        let output = updraft(dir.path(), &["detail", "run", "-q", "--force", "--set", set]);
        assert!(output.status.success(), "{set}: {}", stderr(&output));
    }
    let scene = std::fs::read_to_string(dir.path().join("run-detail/scene.toml")).unwrap();
    assert!(scene.contains("detail = 2") && scene.contains("strength = 0.5"), "{scene}");
    // A strength of 0 once counted as none given, and became the usual one.
    done(dir.path(), &["detail", "run", "-q", "--force", "--set", "turbulence.strength=0"]);
    let still = std::fs::read(dir.path().join("run-detail/fields.0001.npz")).unwrap();
    done(dir.path(), &["detail", "run", "-q", "--force", "--strength", "0"]);
    assert!(still == std::fs::read(dir.path().join("run-detail/fields.0001.npz")).unwrap());
    done(dir.path(), &["detail", "run", "-q", "--force"]);
    assert!(still != std::fs::read(dir.path().join("run-detail/fields.0001.npz")).unwrap(), "swirls");
}

/// Such overrides were once taken and written to the scene of the finer run, although they changed no byte of
/// the smoke.
#[test]
fn overrides_that_act_on_the_air_alone_are_refused() {
    let dir = folder();
    run(dir.path(), &[]);
    let detail = |set: &str| updraft(dir.path(), &["detail", "run", "-q", "--set", set]);
    for set in [
        "fluid.vorticity=2",
        "fluid.up=[1, 0, 0]",
        "fluid={viscosity=0.01}",
        "smoke.red.buoyancy=3",
        "solver.integrator=reflection",
        "source.0.velocity=[0, 1, 0]",
        "initial.v=1",
    ] {
        let output = detail(set);
        refused(
            &output,
            "has no effect here: it acts on the air alone, which is in the frames of run; leave it out, or",
        );
        assert!(stderr(&output).contains(&format!("--set {set}: ")), "{}", stderr(&output));
    }
    refused(
        &detail("domain.follow_margin=8"),
        "`domain.follow_margin` has no effect here: the box is that of the frames of run",
    );
    refused(&detail("fluid.vorticty=2"), "unknown key `vorticty`; did you mean `vorticity`?");
    assert_eq!(files(dir.path()), ["run"]);
    succeeded(&detail("fluid.cooling=3"));
}

#[test]
fn a_frame_of_another_run_is_refused() {
    let dir = folder();
    run(dir.path(), &[]);
    let detail = || updraft(dir.path(), &["detail", "run", "-q", "--force"]);
    for (name, value, wanted) in [
        ("voxel", 0.04, "`voxel` is 0.04, and by scene.toml it is 0.08; it is a frame of another run"),
        ("time", 3.0, "`time` is 3.0, and by scene.toml it is 0.0"),
        ("time", f64::NAN, "`time` is NaN"),
        ("frame_rate", 30.0, "`frame_rate` is 30.0, and by scene.toml it is 24.0"),
    ] {
        replace(dir.path(), 0, &[(name, value)], 0.1);
        refused(&detail(), &format!("run/fields.0000.npz: its {wanted}"));
    }
    assert_eq!(files(dir.path()), ["run"]);
    replace(dir.path(), 0, &[("voxel", 0.08), ("time", 0.0), ("frame_rate", 24.0)], 0.1);
    replace(dir.path(), 2, &[("time", 3.0 / 24.0)], 0.1);
    refused(&detail(), "run/fields.0002.npz: its `time` is 0.125, and by scene.toml it is 0.083333336");
    assert_eq!(files(dir.path()), ["run"], "before any file");
}

/// Once only npz frames were checked, and the air of another run moved the smoke silently.
#[test]
fn a_volume_of_another_run_is_refused() {
    let dir = folder();
    let simulate = |out: &str, set: &str| {
        let args = words("simulate plume --frames 0-2 --format vdb --set domain.cells=[12,18,12] -q --out");
        done(dir.path(), &[&args[..], &[out, "--set", set]].concat());
    };
    simulate("run", "domain.voxel=0.08");
    simulate("small", "domain.voxel=0.07");
    let set = ["--set", "domain.voxel=0.08", "--set", "time.frame_rate=30"];
    let fast = words("simulate plume --frames 0-2 --format vdb --set domain.cells=[12,18,12] -q --out fast");
    done(dir.path(), &[&fast[..], &set].concat());
    let frame = |run: &str, n: u32| dir.path().join(run).join(format!("fields.{n:04}.vdb"));
    let own = std::fs::read(frame("run", 2)).unwrap();
    let detail = || updraft(dir.path(), &["detail", "run", "-q"]);
    for (run, n, wanted) in [
        (
            "small",
            2,
            "`voxel` is 0.07, and by scene.toml it is 0.08; it is a frame of another run, so simulate anew",
        ),
        ("fast", 2, "`frame_rate` is 30.0, and by scene.toml it is 24.0"),
        ("run", 1, "`time` is 0.041666668, and by scene.toml it is 0.083333336"),
    ] {
        std::fs::copy(frame(run, n), frame("run", 2)).unwrap();
        refused(&detail(), &format!("run/fields.0002.vdb: its {wanted}"));
        assert!(!dir.path().join("run-detail").exists(), "before any file");
    }
    std::fs::write(frame("run", 2), own).unwrap();
    succeeded(&detail());
}

/// Without smoke the air of such a run once silently counted as at rest.
#[test]
fn volumes_without_the_velocity_of_clear_air_are_warned_of() {
    let dir = folder();
    for (format, fields, warns) in
        [("vdb", "u,v,w,red", true), ("vdb", "u,v,w", false), ("npz", "u,v,w,red", false)]
    {
        let run = words(
            "simulate plume --frames 0-2 --set domain.cells=[12,18,12] --set domain.voxel=0.08 --out run --force",
        );
        done(dir.path(), &[&run[..], &["--format", format, "--fields", fields]].concat());
        let output = updraft(dir.path(), &["detail", "run", "--out", "finer", "--force"]);
        succeeded(&output);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            told.contains("have the velocity only where there was smoke or heat"),
            warns,
            "{format} {fields}: {told}"
        );
    }
}

/// The messages name arguments of the command. Once they named keys that the user had not written.
#[test]
fn finer_smoke_that_has_no_turbulence_says_which_argument_to_change() {
    let dir = folder();
    run(dir.path(), &["--set", "solver.advection=cubic"]);
    let detail = |more: &[&str]| updraft(dir.path(), &[&["detail", "run", "-q"], more].concat());
    let wanted =
        "turbulence needs conservative advection, and solver.advection is \"cubic\"; add `--strength 0`";
    refused(&detail(&[]), wanted);
    refused(&detail(&["--strength", "2"]), wanted);
    refused(
        &detail(&["--up", "1", "--strength", "1"]),
        "--up 1 --strength 1: turbulence needs smoke on finer",
    );
    assert_eq!(files(dir.path()), ["run"]);
    let output = detail(&["--strength", "0"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let render = ["flipbook", "--from", "run-detail", "--frames", "0-2", "--grid", "2x2", "--sheet", "64x64"];
    let output = updraft(dir.path(), &[&render[..], &["--cpu", "-q", "--out", "a.png"]].concat());
    refused(&output, "fields.0000.npz has no `u`; write it by `updraft detail RUN --fields temperature,red");
}

/// Air at 1e30 m/s once took hours, and its statistics were not finite.
#[test]
fn a_velocity_that_no_scene_could_begin_with_is_refused() {
    let dir = folder();
    run(dir.path(), &[]);
    replace(dir.path(), 2, &[], 1e30);
    let output = updraft(dir.path(), &["detail", "run", "-q"]);
    refused(&output, "run/fields.0002.npz: `u` is 1e30 m/s in cell [0, 0, 0]; it must lie within ±1e6");
}

/// Neither folder has a checkpoint, and both have the same scene.
#[test]
fn a_finished_run_is_continued_only_by_the_command_that_made_it() {
    let dir = folder();
    run(dir.path(), &[]);
    let detail = |more: &[&str]| updraft(dir.path(), &[&["detail", "run", "-q"], more].concat());
    let simulate = |more: &[&str]| updraft(dir.path(), &[&["simulate", "-q"], more].concat());
    assert!(detail(&[]).status.success());
    let finer = contents(&dir.path().join("run-detail"));
    let own = simulate(&["run-detail/scene.toml", "--frames", "1-2", "--format", "npz", "--out", "own"]);
    assert!(own.status.success(), "{}", stderr(&own));
    for more in [&["--resume"][..], &["own/scene.toml", "--skip-existing"]] {
        let output = simulate(&[more, &["--format", "npz", "--out", "run-detail"]].concat());
        refused(&output, "run-detail: its smoke moves through the flow of another run");
        assert!(stderr(&output).contains("continue with `updraft detail RUN --resume`"), "{more:?}");
    }
    assert!(contents(&dir.path().join("run-detail")) == finer, "nothing is overwritten");
    let before = contents(&dir.path().join("own"));
    for more in ["--resume", "--skip-existing"] {
        refused(
            &detail(&["--out", "own", more]),
            "own: its run computed its own flow; continue with `updraft simulate --resume`",
        );
    }
    assert!(contents(&dir.path().join("own")) == before, "nothing is overwritten");
    let again = ["--resume", "--frames", "1-2", "--format", "npz", "--out", "own"];
    refused(&simulate(&again), "own has a run that has ended, and no checkpoint to continue it from");
    refused(&detail(&["--resume"]), "run-detail has a run that has ended, and no checkpoint");
    assert!(contents(&dir.path().join("run-detail")) == finer, "nothing is overwritten");
    succeeded(&simulate(&[&again[..], &["--force"]].concat()));
    succeeded(&detail(&["--resume", "--force"]));
}

/// A box that moves leaves frames of several boxes.
#[test]
fn finer_smoke_in_a_run_whose_box_followed_it_is_refused() {
    let dir = folder();
    let tiny = "--set domain.cells=[16,16,16] --set domain.voxel=0.06 --set domain.follow=true -q";
    let simulate = "simulate plume --frames 0-1 --format npz --out run";
    done(dir.path(), &[words(simulate), words(tiny)].concat());
    refused(&updraft(dir.path(), &["detail", "run", "-q"]), "its box followed the smoke");
    assert!(!dir.path().join("run-detail").exists());
}

/// A run of 12 × 18 × 12 cells, and finer smoke in its flow.
#[test]
fn finer_smoke_follows_a_finished_run() {
    let dir = folder();
    let tiny = ["--set", "domain.cells=[12, 18, 12]", "--set", "domain.voxel=0.08", "-q"];
    let simulate = ["simulate", "plume", "--frames", "0-6", "--format", "npz,vdb", "--out", "run"];
    done(dir.path(), &[&simulate[..], &tiny].concat());
    let detail = |more: &[&str]| updraft(dir.path(), &[&["detail", "run", "-q"], more].concat());
    succeeded(&detail(&["--up", "3", "--frames", "2-6:2", "--fields", "red"]));
    let finer = dir.path().join("run-detail");
    let frames = [2, 4, 6].map(|frame| ["npz", "vdb"].map(|format| format!("fields.000{frame}.{format}")));
    assert_eq!(files(&finer), [frames.as_flattened(), &["scene.toml".into(), "stats.csv".into()]].concat());
    let scene = std::fs::read_to_string(finer.join("scene.toml")).unwrap();
    assert!(scene.contains("detail = 3") && scene.contains("strength = 1.0"), "{scene}");
    let mut npz = zip::ZipArchive::new(std::fs::File::open(finer.join("fields.0006.npz")).unwrap()).unwrap();
    let size = npz.by_name("red.npy").unwrap().size();
    assert!((27 * 4 * 12 * 18 * 12..).contains(&size), "{size} bytes of red smoke");
    assert!(npz.by_name("u.npy").is_err());
    refused(&detail(&[]), "run-detail");
    let before = std::fs::read(finer.join("fields.0002.npz")).unwrap();
    succeeded(&detail(&["--up", "3", "--frames", "2-6:2", "--fields", "red", "--skip-existing"]));
    succeeded(&detail(&["--up", "3", "--frames", "2-2", "--fields", "red", "--force"]));
    assert!(std::fs::read(finer.join("fields.0002.npz")).unwrap() == before, "the same bytes again");
    refused(&detail(&["--frames", "2-9", "--force"]), "frame 9 is after the last frame of the run, 6");
    refused(
        &updraft(dir.path(), &["detail", "run-detail", "-q"]),
        "--up 2: the run has a domain.detail of 3, and 6 is over the limit of 4",
    );
    resumed_finer_smoke_has_the_bytes_of_an_unbroken_run(dir.path());
    std::fs::remove_file(dir.path().join("run/fields.0003.npz")).unwrap();
    refused(&detail(&["--force"]), "the run has no frame 3 between 2 and 4");
    for frame in 0..7 {
        let _ = std::fs::remove_file(dir.path().join(format!("run/fields.{frame:04}.npz")));
    }
    succeeded(&detail(&["--out", "of-vdb", "--frames", "3-3"]));
    assert_eq!(files(&dir.path().join("of-vdb")), ["fields.0003.vdb", "scene.toml", "stats.csv"]);
    refused(
        &detail(&["--set", "solver.advection=cubic", "--force"]),
        "turbulence needs conservative advection",
    );
    refused(&updraft(dir.path(), &["detail", "nowhere"]), "nowhere");
}

#[test]
fn finer_frames_have_all_formats_of_their_run_unless_others_are_asked_for() {
    let dir = folder();
    run(dir.path(), &["--format", "vdb,vti"]);
    let formats = |out: &str| -> Vec<String> {
        let frames = files(&dir.path().join(out)).into_iter().filter(|name| name.starts_with("fields.0001."));
        frames.map(|name| name.rsplit('.').next().unwrap().to_owned()).collect()
    };
    for (more, out, wanted) in [
        (&[][..], "run-detail", &["npz", "vdb", "vti"][..]),
        (&["--format", "vdb", "--out", "one"], "one", &["vdb"]),
    ] {
        succeeded(&updraft(dir.path(), &[&["detail", "run", "--frames", "1-1", "-q"], more].concat()));
        let mut found = formats(out);
        found.sort();
        assert_eq!(found, wanted, "{out}");
    }
}
