//! The command as users see it: exit codes, messages, files.

#[path = "cli/benches.rs"]
mod benches;
#[path = "common/command.rs"]
mod command;
#[path = "cli/finer_smoke.rs"]
mod finer_smoke;
#[path = "cli/pictures.rs"]
mod pictures;

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use command::{
    command, done, files, folder, refused, signal, start, stderr, stdout, succeeded, updraft, wait_for, words,
};
use pictures::pixels;
use updraft::scene::{Scene, builtin};

/// A small scene that renders quickly.
const SMALL: &[&str] = &["--set", "domain.cells=[24, 36, 24]", "--set", "domain.voxel=0.04"];

/// Renders `frames` of the small plume to `out`, with OpenGL if it is available, otherwise on the CPU.
fn render(folder: &Path, frames: &str, out: &str, more: &[&str]) -> Output {
    let mut args = vec!["render", "plume", "--frames", frames, "--out", out];
    if !more.contains(&"--size") {
        args.extend(["--size", "160x120"]);
    }
    updraft(folder, &[&args, SMALL, more].concat())
}

#[test]
fn a_bad_scene_exits_2_with_the_line() {
    let dir = folder();
    std::fs::write(dir.path().join("s.toml"), "[fluid]\nvorticty = 0.5\n").unwrap();
    let output = updraft(dir.path(), &["check", "s.toml"]);
    refused(&output, "s.toml:2:1: unknown key `vorticty`; did you mean `vorticity`?");
    assert!(stderr(&output).contains("2 | vorticty = 0.5"), "the line is shown: {}", stderr(&output));
    refused(&updraft(dir.path(), &["s.toml"]), "s.toml:2:1: ");
    refused(&updraft(dir.path(), &["render", "s.toml"]), "s.toml:2:1: ");
    refused(&updraft(dir.path(), &["bench", "--scene", "s.toml"]), "s.toml:2:1: ");
    assert_eq!(files(dir.path()), ["s.toml"], "nothing is left behind");
}

/// A box too large for one machine was once refused for any number of ranks.
#[test]
fn check_of_ranks_takes_boxes_beyond_this_machine() {
    let dir = folder();
    let check = |cells: &str, ranks: &str, more: &[&str]| {
        let cells = format!("domain.cells={cells}");
        updraft(dir.path(), &[&["check", "plume", "--set", &cells, "--ranks", ranks][..], more].concat())
    };
    for cells in ["[512, 512, 1024]", "[1024, 1024, 1024]"] {
        let text = stdout(&check(cells, "64", &[]));
        let line = text.lines().find(|line| line.starts_with("ranks ")).unwrap_or_default();
        assert!(line.contains("64 with 16 planes: about") && line.contains("more for pictures"), "{text}");
    }
    let small = ["--set", "solver.memory_limit=8"];
    refused(
        &check("[1024, 1024, 1024]", "4", &small),
        "on each of 4 ranks, over the limit of 8.0 GiB; use more ranks",
    );
    succeeded(&check("[1024, 1024, 1024]", "64", &small));
}

#[test]
fn a_wrong_request_exits_2_and_says_what_to_change() {
    let dir = folder();
    let cases: &[(&[&str], &str)] = &[
        (&["check", "plume", "--set", "domain.voxel=-1"], "--set domain.voxel=-1"),
        (&["check", "plume", "--set", "domain.voxl=1"], "did you mean `voxel`?"),
        (&["check", "plum"], "did you mean `plume`?"),
        (&["scenes", "plum"], "did you mean `plume`?"),
        (&["rendr"], "did you mean `render`?"),
        (&["plume", "check", "plume"], "write `plume` after the command"),
        (&["render", "plume", "--frames", "9-1"], "the first frame is after the last"),
        (&["render", "plume", "--size", "0x5"], "write a size as 1280x720"),
        (&["render", "plume", "--out", "a.png"], "a.####.png"),
        (&["render", "plume", "--out", "a.####.jpg"], "pictures are written as .png or .exr, moving ones as"),
        (&["render", "plume", "--out", "##/a.##.png"], "in its file name"),
        (&["render", "plume", "--out", "a.####.mp4"], "leave the number out"),
        (&["render", "--from", "nowhere"], "nowhere: cannot be read"),
        (&["simulate", "plume", "--fields", "q"], "invalid value 'q'"),
        (&["bench", "--compare", "nothing.json"], "cannot compare with nothing.json"),
        (&["render", "plume", "--threads", "1,2"], "--threads takes one number"),
        (&["check", "plume", "--set", "domain.cells=[1200, 1200, 1200]"], "over the limit"),
        (&["bench", "--cells", "2"], "2 is not in 8..=4096"),
        (
            &["check", "text", "--set", "initial.smoke.0.shape.text.string=a\u{2603}"],
            "the font has no glyph for `\u{2603}` (U+2603)",
        ),
        (&["check", "fog", "--set", "source.0.shape.box.center=[0, 99, 0]"], "lies outside the box"),
        (&["check", "fog", "--set", "force.0.wind.velocty=[1, 0, 0]"], "did you mean `velocity`?"),
        (
            &[
                "check",
                "plume",
                "--set",
                "source=[{ shape = { image = { file = 'no.png', center = [0, 0, 0], width = 1, depth = 1 } } }]",
            ],
            "cannot read no.png",
        ),
        (&["bench", "--size", "64x48"], "required arguments were not provided"),
        (
            &["simulate", "plume", "--format", "npz", "--up", "z"],
            "--up has no effect here: it is for vdb files",
        ),
        (
            &["simulate", "plume", "--precision", "full"],
            "--precision has no effect here: it is for vdb files",
        ),
        (
            &["render", "plume", "--denoise"],
            "--denoise has no effect here: only traced pictures have noise; add --samples",
        ),
        (
            &["scenes", "plume", "--set", "fluid.vorticity=1"],
            "--set fluid.vorticity=1: it has no effect here; scenes are printed as",
        ),
        (
            &["check", "plume", "--threads", "1", "--set", "solver.threads=2"],
            "`solver.threads` has no effect here: --threads says it",
        ),
        (
            &["render", "plume", "--size", "9x9", "--set", "render.size=[8, 8]"],
            "--size says it; leave one of the two out",
        ),
        (&["render", "plume", "--samples", "4", "--set", "render.medium.paths=9"], "--samples says it"),
        (
            &["render", "plume", "--noise", "0.1", "--set", "render.medium.scattering=single"],
            "--noise says it",
        ),
        (
            &["bench", "--json", "-", "--compare", "a.json"],
            "--compare has no effect here: it is a column of the table",
        ),
        (&["completions", "bash", "--set", "a=1"], "--set a=1: it has no effect here; leave it out"),
        (&["check", "plume", "--force"], "--force has no effect here: no file is written; leave it out"),
        (&["scenes", "--force"], "--force has no effect here"),
        (&["doctor", "--force"], "--force has no effect here"),
        (&["completions", "bash", "--force"], "--force has no effect here"),
        (&["man", "--force"], "--force has no effect here: no file is written; name a folder"),
        (&["bench", "--force"], "--force has no effect here: no file is written; add --json FILE"),
        (&["bench", "--json", "-", "--force"], "--force has no effect here"),
        (
            &["simulate", "plume", "--frames", "1-240:10"],
            "--frames: the step of 10 has no effect here: it chooses frames whose fields are written, and none are",
        ),
        (
            &["simulate", "plume", "--frames", "12", "--format", "npz", "--mean-from", "0.5"],
            "--mean-from 0.5: the run ends at 0.5 s, with frame 12; begin earlier",
        ),
        (
            &["flipbook", "sphere", "--set", "solid.0.color=#fff"],
            "`solid.0.color` has no effect here: a frame",
        ),
    ];
    for (args, wanted) in cases {
        refused(&updraft(dir.path(), args), wanted);
    }
    let impatient = command(dir.path(), &["check", "plume"]).env("UPDRAFT_PATIENCE", "2m").output().unwrap();
    refused(&impatient, "UPDRAFT_PATIENCE=2m is not a number of seconds; write one such as 120");
    assert!(files(dir.path()).is_empty(), "nothing is left behind");
}

/// Such overrides were once ignored, because the run continues from its checkpoint with its scene.
#[test]
fn a_resumed_run_refuses_overrides_of_its_start_and_its_pictures() {
    let dir = folder();
    let run = words("simulate plume --frames 1 --checkpoint-every 1 --out run -q");
    done(dir.path(), &[&run[..], SMALL].concat());
    let resume = |set: &str| {
        updraft(dir.path(), &["simulate", "--resume", "--frames", "1-2", "--out", "run", "-q", "--set", set])
    };
    refused(&resume("initial.red=1"), "`initial.red` has no effect here: the run has begun; leave it out");
    refused(
        &resume("render.exposure=1"),
        "scene.toml of the run stays as it is; leave it out, and give it to",
    );
    refused(
        &resume("fluid.vorticity=2"),
        "differs in fluid; leave --set out, in the configuration too, to continue the run as it began",
    );
    succeeded(&resume("solver.memory_limit=2"));
}

#[test]
fn a_resumed_run_names_the_file_that_has_changed_and_the_format_that_it_lacks() {
    let dir = folder();
    let tip = |height: f32| {
        let faces = "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
        let text = format!("v 0 0 0\nv 1 0 0\nv 0 0 1\nv 0 {height} 0\n{faces}");
        std::fs::write(dir.path().join("tip.obj"), text).unwrap();
    };
    tip(1.0);
    let scene = "[domain]\ncells = [12, 12, 12]\n[[solid]]\nshape = { mesh = 'tip.obj' }\nscale = 0.05\nposition = [0.05, 0.05, 0.05]\n";
    std::fs::write(dir.path().join("s.toml"), scene).unwrap();
    done(dir.path(), &words("simulate s.toml --frames 1 --checkpoint-every 1 --out run -q"));
    let resume = |more: &str| updraft(dir.path(), &words(&format!("simulate --resume --out run -q {more}")));
    refused(&resume("--fields u"), "--fields has no effect here: no fields are written; add --format");
    refused(&resume("--mean-from 0"), "--mean-from has no effect here: no fields are written; add --format");
    refused(&updraft(dir.path(), &words("simulate s.toml --out other --mean-from 0")), "add --format");
    tip(2.0);
    refused(
        &resume(""),
        "differs in solid; a file that it names, such as a mesh or a picture, is not what it was",
    );
}

/// Products in single precision have seven significant digits.
#[test]
fn check_rounds_lengths_to_their_digits() {
    let dir = folder();
    std::fs::write(dir.path().join("s.toml"), "[domain]\ncells = [24, 32, 24]\nvoxel = 0.03\n").unwrap();
    let text = stdout(&done(dir.path(), &["check", "s.toml", "--json"]));
    assert!(text.contains("0.72,") && text.contains("0.108,") && !text.contains("9999"), "{text}");
    let tiny = ["check", "s.toml", "--set", "domain.voxel=1e-5"];
    assert!(stdout(&done(dir.path(), &tiny)).contains("0.00024 x 0.00032 x 0.00024 m"));
}

#[test]
fn built_in_scenes_are_listed_printed_and_valid_as_files() {
    let dir = folder();
    let list = stdout(&updraft(dir.path(), &["scenes"]));
    for name in list.lines().filter_map(|line| line.split_whitespace().next()) {
        let text = updraft(dir.path(), &["scenes", name]).stdout;
        std::fs::write(dir.path().join("copy.toml"), text).unwrap();
        let check = updraft(dir.path(), &["check", "copy.toml"]);
        assert!(check.status.success(), "{name}: {}", stderr(&check));
    }
    assert!(list.contains("plume ") && list.contains("colors "), "{list}");
}

#[test]
fn check_reports_the_consequences_of_choices() {
    let dir = folder();
    let text = stdout(&updraft(dir.path(), &["check", "fog"]));
    assert!(text.contains("forces     wind"), "{text}");
    let args = ["check", "plume", "--set", "solver.advection=semi-lagrangian", "--set", "domain.walls=open"];
    let text = stdout(&updraft(dir.path(), &[&args[..], &["--threads", "3"]].concat()));
    for wanted in ["168 x 104 x 80 cells", "semi-Lagrangian", "open: x, y, z\n", "MiB", "3 threads"] {
        assert!(text.contains(wanted), "{wanted:?} is not in\n{text}");
    }
    let walls = "domain.walls={x_min={inflow={velocity=['sin(t)', 0, 1]}}, x_max='open', y_min={no-slip={velocity=['x', 0, 0], temperature='x'}}}";
    let text = stdout(&updraft(dir.path(), &["check", "plume", "--set", walls]));
    for wanted in [
        "inflow at [formula, 0.0, 1.0] m/s: x_min",
        "moving at [formula, 0.0, 0.0] m/s, held at a formula: y_min",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is not in\n{text}");
    }
    let sealed = "domain.walls={x='closed', y='closed', z_min={inflow={velocity=[0, 0, 1]}}, z_max='closed'}";
    let text = stdout(&updraft(dir.path(), &["check", "plume", "--set", sealed]));
    assert!(text.contains("more air enters than leaves, and no side is open"), "{text}");
    let balanced = sealed.replace("z_max='closed'", "z_max={inflow={velocity=[0, 0, 1]}}");
    let text = stdout(&updraft(dir.path(), &["check", "plume", "--set", &balanced]));
    assert!(!text.contains("more air"), "{text}");
}

/// A cavity has no source, but its lid moves the air. In an empty box the air rests.
#[test]
fn check_reports_air_that_nothing_moves() {
    let dir = folder();
    let idle = "the air rests until someone paints";
    let check = |changes: &[&str]| {
        let changes: Vec<&str> = changes.iter().flat_map(|change| ["--set", *change]).collect();
        stdout(&updraft(
            dir.path(),
            &[&["check", "plume", "--set", "source=[]", "--set", "force=[]"][..], &changes].concat(),
        ))
    };
    assert!(check(&[]).contains(idle));
    for moving in [
        "domain.walls={y_max={no-slip={velocity=[1, 0, 0]}}}",
        "domain.walls={x_min={closed={temperature=20}}}",
        "initial.u='sin(x)'",
        "force=[{wind={acceleration=[1, 0, 0]}}]",
    ] {
        let text = check(&[moving]);
        assert!(text.contains("valid") && !text.contains(idle), "{moving}: {text}");
    }
    assert!(!stdout(&updraft(dir.path(), &["check", "cavity"])).contains(idle));
}

/// 0.03 s is more than half a frame of 1/24 s: two steps of 0.0208 s, not one of 0.0417.
#[test]
fn no_fixed_step_is_longer_than_asked_for() {
    let dir = folder();
    std::fs::write(dir.path().join("empty.toml"), "").unwrap();
    let text = stdout(&updraft(dir.path(), &["check", "empty.toml", "--set", "time.step=0.03"]));
    assert!(text.contains("2 fixed steps of 0.0208"), "{text}");
    let text = stdout(&updraft(dir.path(), &["check", "empty.toml", "--set", "time.step=0.0138888889"]));
    assert!(text.contains("3 fixed steps of 0.01388"), "{text}");
}

/// Substeps beyond max_substeps are counted and reported at the end.
#[test]
fn too_few_substeps_are_counted_and_warned_of() {
    let dir = folder();
    let run = |out: &str, most: &str| {
        let fast = ["--set", "initial.u='40'", "--set", "domain.walls='periodic'", "--set", "source=[]"];
        let args = ["simulate", "plume", "--frames", "2", "--out", out, "--set", most];
        updraft(dir.path(), &[&args, SMALL, &fast].concat())
    };
    let output = run("few", "time.max_substeps=2");
    assert!(stderr(&output).contains("raise time.max_substeps"), "{}", stderr(&output));
    let stats = columns(&dir.path().join("few/stats.csv"));
    assert!(stats["substeps"][1] == 2.0 && stats["substeps_missing"][1] > 2.0, "{stats:?}");
    // The scene asks for 3.
    assert!(stats["cfl"][1] > 3.001, "{stats:?}");
    let output = run("enough", "time.max_substeps=1000");
    assert!(!stderr(&output).contains("max_substeps"), "{}", stderr(&output));
    let stats = columns(&dir.path().join("enough/stats.csv"));
    assert!(stats["substeps_missing"].iter().all(|&n| n == 0.0), "{stats:?}");
    assert!(stats["cfl"].iter().all(|&cfl| cfl <= 3.001), "{stats:?}");
}

/// One substep is too few for fast air. A fixed step is one substep by definition, and `cfl` does not apply
/// to it.
#[test]
fn one_substep_at_most_is_warned_of_and_a_fixed_step_is_not() {
    let dir = folder();
    let scene =
        "domain = { cells = [16, 16, 16], voxel = 0.05, walls = 'periodic' }\ninitial = { u = '40' }\n";
    std::fs::write(dir.path().join("fast.toml"), scene).unwrap();
    let run = |out: &str, set: &str| {
        updraft(dir.path(), &["simulate", "fast.toml", "--frames", "2", "--out", out, "--set", set])
    };
    let output = run("one", "time.max_substeps=1");
    assert!(stderr(&output).contains("raise time.max_substeps"), "{}", stderr(&output));
    let stats = columns(&dir.path().join("one/stats.csv"));
    assert!(stats["cfl"][1] > 27.0 && stats["substeps_missing"][1] > 2.0, "{stats:?}");
    let output = run("fixed", "time.step=0.0416");
    assert!(!stderr(&output).contains("max_substeps"), "{}", stderr(&output));
    let stats = columns(&dir.path().join("fixed/stats.csv"));
    assert!(stats["cfl"][1] > 10.0 && stats["substeps_missing"].iter().all(|&n| n == 0.0), "{stats:?}");
}

/// `--set` cannot remove a key. So a fixed step in it replaces the substeps of the file, and the reverse.
#[test]
fn an_override_of_the_step_replaces_the_substeps_of_every_scene() {
    let load = |name: &str, sets: &[&str]| {
        Scene::load(name, &sets.iter().map(|set| set.to_string()).collect::<Vec<_>>())
    };
    for name in builtin::NAMES {
        let fixed = load(name, &["time.step=0.01"]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(fixed.time.step, Some(0.01), "{name}");
        // The text that a run keeps includes the overrides and reads as the same scene; a saved file lacks
        // them.
        let text = fixed.text().unwrap();
        assert_eq!(Scene::parse(name, &text).unwrap().time, fixed.time, "{name}");
        let mut faster = fixed.clone();
        faster.time.frame_rate = 30.0;
        let plain = load(name, &[]).unwrap();
        for (scene, rate) in [(&fixed, plain.time.frame_rate), (&faster, 30.0)] {
            let saved = Scene::parse(name, &scene.write(Path::new("")).unwrap()).unwrap();
            assert_eq!((saved.time.step, saved.time.frame_rate), (None, rate), "{name}");
            assert_eq!(saved.config.time, plain.config.time, "{name}");
        }
    }
    let dir = folder();
    let file = dir.path().join("fixed.toml").display().to_string();
    std::fs::write(&file, "[time]\nstep = 0.01\n").unwrap();
    for set in ["time.cfl=1", "time.max_substeps=3"] {
        let scene = load(&file, &[set]).unwrap();
        assert_eq!(scene.time.step, None, "{set}");
        let refusal = load("plume", &["time.step=0.01", set]).unwrap_err().to_string();
        assert!(refusal.contains("a fixed time.step is never divided"), "{refusal}");
    }
}

#[test]
fn files_are_not_overwritten_without_force() {
    let dir = folder();
    let taken = dir.path().join("a.0002.png");
    std::fs::write(&taken, "mine").unwrap();
    let output = render(dir.path(), "1-2", "a.####.png", &[]);
    refused(&output, "a.0002.png exists already; pass --force");
    assert_eq!(std::fs::read(&taken).unwrap(), b"mine");
    assert_eq!(files(dir.path()), ["a.0002.png"], "refused before anything was simulated");
    succeeded(&render(dir.path(), "1-2", "a.####.png", &["--force"]));
    assert_eq!(pixels(&taken).2, [160, 120]);
}

#[test]
fn a_folder_that_takes_no_files_is_refused_at_once() {
    let dir = folder();
    std::fs::write(dir.path().join("file"), "").unwrap();
    let output = render(dir.path(), "1", "file/a.png", &[]);
    refused(&output, "cannot write file");
}

#[test]
fn without_a_display_the_plain_command_renders_and_succeeds() {
    let dir = folder();
    let small = [SMALL, &["--set", "render.size=[64, 48]"]].concat();
    for folder in ["updraft-frames", "updraft-frames-2"] {
        let output = updraft(dir.path(), &small);
        let text = stderr(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.lines().any(|line| line.contains("; rendering 72 frames")), "{text}");
        assert_eq!(files(&dir.path().join(folder)).len(), 72);
    }
    let output = updraft(dir.path(), &[&small[..], &["--record-memory", "1GiB"]].concat());
    let idle = "updraft: --record-memory and --record-disk have no effect: only the window records\n";
    assert!(stderr(&output).contains(idle), "{}", stderr(&output));
}

/// Reads a number of a table; NaN for an empty field.
fn number(text: &str) -> f64 {
    if text.is_empty() { f64::NAN } else { text.parse().expect("a number") }
}

/// Reads the columns of a CSV by name.
fn columns(path: &Path) -> std::collections::HashMap<String, Vec<f64>> {
    let text = std::fs::read_to_string(path).expect("a table");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let rows: Vec<Vec<f64>> = lines.map(|line| line.split(',').map(number).collect()).collect();
    assert!(rows.iter().all(|row| row.len() == names.len()), "ragged rows in {text}");
    let column = |c: usize| rows.iter().map(|row| row[c]).collect();
    names.iter().enumerate().map(|(c, name)| ((*name).to_owned(), column(c))).collect()
}

const PROBES: &[&str] = &[
    "--set",
    "probe=[{ name = 'p', fields = ['v', 'red'], at = { point = [0.40, 0.02, 0.41] } }, \
      { name = 'l', fields = ['temperature'], at = { line = { from = [0, 0, 0], to = [0.96, 0, 0], points = 5 } } }, \
      { name = 'out', fields = ['v'], at = { plane = { y = 1.44 } } }]",
];

#[test]
fn simulate_writes_statistics_probes_and_fields() {
    let dir = folder();
    let args = ["simulate", "plume", "--frames", "3-4", "--out", "run", "--format", "npz"];
    // The disc is thick enough to contain faces of these large cells, which get the velocity of the source.
    let thick = &["--set", "source.0.shape.disc.thickness=0.1"];
    done(dir.path(), &[&args, SMALL, PROBES, thick].concat());
    let run = dir.path().join("run");
    let expected = [
        "fields.0003.npz",
        "fields.0004.npz",
        "probe-l.csv",
        "probe-out.csv",
        "probe-p.csv",
        "scene.toml",
        "stats.csv",
    ];
    assert_eq!(files(&run), expected);
    let stats = columns(&run.join("stats.csv"));
    assert_eq!(stats["step"], [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!([stats["time"][0], stats["kinetic_energy"][0], stats["mass_red"][0]], [0.0; 3]);
    assert!((stats["time"][4] - 4.0 / 24.0).abs() < 1e-6);
    assert!(stats["mass_red"].windows(2).all(|pair| pair[1] > pair[0]), "a source adds smoke");
    assert!(stats["kinetic_energy"][4] > 0.0 && stats["enstrophy"][4] > 0.0);
    assert!(stats["divergence_after"].iter().all(|&d| d < 1e-4), "{:?}", stats["divergence_after"]);
    let point = columns(&run.join("probe-p.csv"));
    assert_eq!(point["time"], stats["time"]);
    assert!(point["red"][4] > 0.1 && point["v"][4] > 0.0, "{point:?}");
    assert_eq!(columns(&run.join("probe-l.csv"))["x"].len(), 5 * 5, "5 points at frames 0 to 4");
    assert_eq!(columns(&run.join("probe-out.csv"))["v"].len(), 5);
    refused(&updraft(dir.path(), &[&args, SMALL].concat()), "run/scene.toml exists already");
}

/// Probes at intervals and means over time are the same in a run that is resumed from a checkpoint within them.
#[test]
fn means_over_time_and_probe_intervals_survive_a_break() {
    let dir = folder();
    let probes = [
        "--set",
        "probe=[{ name = 'mean', fields = ['v', 'v*red'], at = { point = [0.40, 0.02, 0.41] }, mean_from = 0.1 }, \
          { name = 'rare', fields = ['pressure'], at = { point = [0.40, 0.02, 0.41] }, every = { steps = 3 } }]",
    ];
    let simulate = |frames: &str, out: &str, more: &[&str]| {
        let args = ["simulate", "plume", "--frames", frames, "--format", "npz", "--fields", "v,red,pressure"];
        let means = ["--mean-from", "0.1", "--checkpoint-every", "4", "--out", out];
        updraft(dir.path(), &[&args[..], &means, SMALL, &probes, more].concat())
    };
    for (frames, out, more) in [("8", "whole", &[][..]), ("4", "rest", &[]), ("8", "rest", &["--resume"])] {
        succeeded(&simulate(frames, out, more));
    }
    for name in ["probe-mean.csv", "probe-rare.csv", "mean.npz", "fields.0008.npz"] {
        let [whole, rest] =
            ["whole", "rest"].map(|run| std::fs::read(dir.path().join(run).join(name)).unwrap());
        assert!(whole == rest, "{name}");
    }
    let run = dir.path().join("whole");
    let mean = columns(&run.join("probe-mean.csv"));
    assert_eq!(mean["time"].len(), 6, "frames 3 to 8: {mean:?}");
    let rare = columns(&run.join("probe-rare.csv"));
    assert_eq!(rare["time"].len(), 3, "steps 0, 3 and 6");
    assert!(rare["pressure"][0] == 0.0 && rare["pressure"][1..].iter().all(|p| *p != 0.0), "{rare:?}");
    let args = words("simulate plume --frames 9 --format npz --mean-from 0.2 --out rest --resume");
    let other = updraft(dir.path(), &[&args[..], SMALL, &probes].concat());
    refused(&other, "is of a run with --mean-from 0.1, not with --mean-from 0.2");
}

/// A run from a stored frame continues as the unbroken one does, except for one more projection, if its
/// sources do not change in time.
#[test]
fn a_stored_frame_starts_another_run() {
    let dir = folder();
    let simulate = |frames: &str, out: &str, more: &[&str]| {
        let args = ["simulate", "plume", "--frames", frames, "--format", "npz", "--out", out];
        let sets = (0..3).flat_map(|n| [("noise.speed", n), ("start", n)]);
        let still: Vec<String> = sets.map(|(key, n)| format!("--set=source.{n}.{key}=0")).collect();
        let still: Vec<&str> = still.iter().map(String::as_str).collect();
        done(dir.path(), &[&args[..], &still, SMALL, more].concat());
    };
    simulate("4-8", "whole", &[]);
    simulate("4", "rest", &["--set", "initial.fields=whole/fields.0004.npz"]);
    let mass = |run: &str| columns(&dir.path().join(run).join("stats.csv"))["mass_red"].last().copied();
    let (whole, rest) = (mass("whole").unwrap(), mass("rest").unwrap());
    assert!((whole - rest).abs() < 1e-4 * whole, "{whole} and {rest}");
}

#[test]
fn a_finished_run_is_drawn_without_simulating_it_again() {
    let dir = folder();
    let live = render(dir.path(), "5-6", "live.####.png", &[]);
    succeeded(&live);
    let args = ["simulate", "plume", "--frames", "5-6", "--format", "npz", "--out", "run"];
    done(dir.path(), &[&args, SMALL].concat());
    done(dir.path(), &["render", "--from", "run", "--size", "160x120", "--out", "stored.####.png"]);
    for frame in ["0005", "0006"] {
        let [live, stored] =
            ["live", "stored"].map(|name| pixels(&dir.path().join(format!("{name}.{frame}.png"))));
        assert_eq!(live, stored, "frame {frame}");
    }
    // The run at `.` has the name of its folder.
    done(&dir.path().join("run"), &["render", "--from", ".", "--frames", "5", "--size", "32x24", "--cpu"]);
    assert!(
        dir.path().join("run/updraft-frames/run.0005.png").exists(),
        "pictures are called as the folder is"
    );
    std::fs::remove_file(dir.path().join("run/fields.0005.npz")).unwrap();
    let missing = updraft(dir.path(), &["render", "--from", "run", "--frames", "5-6", "--out", "m.####.png"]);
    refused(&missing, "run/fields.0005.npz is missing");
}

/// Solids of stored frames once had no velocity, so an open shutter left them sharp.
#[test]
fn moving_solids_of_a_finished_run_are_blurred_as_they_are_live() {
    let dir = folder();
    let scene = "[domain]\ncells = [16, 16, 16]\nvoxel = 0.06\n\
                 [[source]]\nshape = { sphere = { center = [0.48, 0.1, 0.48], radius = 0.08 } }\n\
                 [[solid]]\nshape = { sphere = { radius = 0.1 } }\n\
                 keyframes = [[0, [0.2, 0.6, 0.48]], [0.25, [0.8, 0.6, 0.48]]]\n\
                 [render]\nsize = [80, 60]\ncamera = { shutter = 1.0 }\n";
    std::fs::write(dir.path().join("s.toml"), scene).unwrap();
    let render = |what: &[&str], shutter: &str, out: &str| {
        let set = format!("render.camera.shutter={shutter}");
        let rest = ["--frames", "3", "--cpu", "-q", "--out", out, "--set", &set];
        done(dir.path(), &[&["render"], what, &rest].concat());
        pixels(&dir.path().join(out))
    };
    done(dir.path(), &["simulate", "s.toml", "--frames", "3", "--format", "npz", "--out", "run", "-q"]);
    let live = render(&["s.toml"], "1", "live.png");
    assert_eq!(live, render(&["--from", "run"], "1", "stored.png"));
    assert_ne!(live, render(&["s.toml"], "0", "sharp.png"), "it moves");
}

#[test]
fn stored_frames_are_rendered_from_vdb_and_refused_without_what_is_shown() {
    let dir = folder();
    let simulate = |out: &str, more: &[&str]| {
        let args = ["simulate", "plume", "--frames", "5-6", "--out", out, "--quiet"];
        done(dir.path(), &[&args[..], SMALL, more].concat());
    };
    let render = |from: &str, out: &str| {
        updraft(dir.path(), &["render", "--from", from, "--size", "64x48", "--cpu", "--quiet", "--out", out])
    };
    simulate("npz", &["--format", "npz"]);
    simulate("vdb", &["--format", "vdb", "--precision", "full"]);
    for from in ["npz", "vdb"] {
        succeeded(&render(from, &format!("{from}.####.png")));
    }
    let [npz, vdb] = ["npz", "vdb"].map(|from| pixels(&dir.path().join(format!("{from}.0006.png"))).0);
    let most = npz.iter().zip(&vdb).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(most <= Some(4), "{most:?} of 255");
    simulate("air", &["--format", "npz", "--fields", "u,v,w"]);
    refused(
        &render("air", "a.####.png"),
        "air/fields.0005.npz has neither smoke nor temperature; simulate with --fields",
    );
    let blurred = ["--set", "render.camera.shutter=0.5"];
    simulate("smoke", &["--format", "npz", "--fields", "red"]);
    let args = ["render", "--from", "smoke", "--size", "64x48", "--cpu", "--quiet", "--out", "b.####.png"];
    refused(
        &updraft(dir.path(), &[&args[..], &blurred].concat()),
        "smoke/fields.0005.npz has no `u`; simulate with",
    );
    std::fs::remove_file(dir.path().join("npz/scene.toml")).unwrap();
    refused(&render("npz", "c.####.png"), "npz has no scene.toml");
}

/// A scene that names a file beside it can be rendered from the folder of its run, which is elsewhere.
#[test]
fn a_run_knows_the_files_of_its_scene() {
    let dir = folder();
    let cube = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    std::fs::create_dir(dir.path().join("scenes")).unwrap();
    std::fs::write(dir.path().join("scenes/tip.obj"), cube).unwrap();
    let scene = "[domain]\ncells = [12, 12, 12]\n[[solid]]\nshape = { mesh = 'tip.obj' }\nscale = 0.05\n";
    std::fs::write(dir.path().join("scenes/s.toml"), scene).unwrap();
    let args = ["simulate", "scenes/s.toml", "--frames", "1", "--format", "npz", "--out", "run"];
    done(dir.path(), &args);
    done(dir.path(), &["render", "--from", "run", "--size", "32x24", "--cpu", "--out", "p.####.png"]);
}

#[test]
fn fields_are_named_with_a_format() {
    let dir = folder();
    let args = ["simulate", "plume", "--frames", "1", "--fields", "u", "--out", "run"];
    let output = updraft(dir.path(), &[&args, SMALL].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--format"), "{}", stderr(&output));
}

/// Ctrl-C ends a long run quickly, with exit code 1, whole pictures and no partial files.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_cleanly() {
    let dir = folder();
    let args = ["render", "plume", "--frames", "1-100000", "--size", "64x48", "--out", "a.####.png"];
    let mut child = start(dir.path(), &[&args[..], SMALL].concat());
    let second = dir.path().join("a.0002.png");
    wait_for("the second picture", || second.exists() || child.try_wait().expect("a status").is_some());
    signal(&child, "INT");
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("stopped: by Ctrl-C"), "{}", stderr(&output));
    let names = files(dir.path());
    assert!(names.len() >= 2 && names.iter().all(|name| name.ends_with(".png")), "{names:?}");
    for name in names {
        assert!(!name.starts_with('.'), "{name} was left behind");
        assert_eq!(pixels(&dir.path().join(name)).2, [64, 48]);
    }
}

/// A traced picture that would take hours ends at once, and so does the evaluation of formulas.
#[cfg(unix)]
#[test]
fn signals_end_a_traced_picture_and_the_set_up() {
    let dir = folder();
    let traced =
        ["render", "plume", "--frames", "3", "--samples", "1000000", "--size", "320x240", "--out", "a.png"];
    let slow = format!("initial.temperature='0.001*({})'", ["sin(x*y)*cos(y*z)"; 60].join(" + "));
    let cells = ["--set", "domain.cells=[128, 128, 128]", "--set", "domain.voxel=0.01", "--threads", "1"];
    let formulas = [&["simulate", "plume", "--out", "run", "--set", &slow], &cells[..]].concat();
    // A background job of a shell ignores Ctrl-C until updraft catches it, which it does after the set-up.
    for (args, name, code) in [([&traced[..], SMALL].concat(), "INT", Some(1)), (formulas, "TERM", None)] {
        let mut child = start(dir.path(), &args);
        std::thread::sleep(Duration::from_secs(3));
        let is_running = child.try_wait().expect("a status").is_none();
        let began = Instant::now();
        signal(&child, name);
        let output = child.wait_with_output().expect("the command ends");
        assert!(began.elapsed() < Duration::from_secs(20), "{args:?}: {:?}", began.elapsed());
        assert_eq!(output.status.code(), code.filter(|_| is_running), "{args:?}: {}", stderr(&output));
    }
    let names = files(dir.path());
    assert!(names.iter().all(|name| name == "run"), "{names:?}");
}

/// A reader that stops early, as `head` does, causes no error.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_error() {
    let dir = folder();
    let mut command = command(dir.path(), &["scenes", "plume"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the command ends");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
}
