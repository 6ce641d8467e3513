//! Tests reports for programs (`--json`) and the refusals of `check`.

#[path = "common/command.rs"]
mod command;

use std::process::Output;

use command::{done, folder, refused, stderr, stdout, succeeded, updraft};

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stdout(output)))
}

#[test]
fn check_lists_solids_and_estimates_files() {
    let dir = folder();
    let text = stdout(&updraft(dir.path(), &["check", "sphere", "--frames", "1-10"]));
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(line("solids").contains("1: ball of radius"), "{text}");
    assert!(line("disk").contains("for 10 frames: png "), "{text}");
    assert!(line("picture").contains("MiB of memory"), "{text}");
    let text = stdout(&updraft(dir.path(), &["check", "plume"]));
    assert!(text.contains("solids     none\n") && text.contains("for 120 frames: png"), "{text}");
    let text = stdout(&updraft(dir.path(), &["check", "plume", "--set", "domain.follow=true"]));
    assert!(text.contains("for 120 frames of the box at the start, which may grow: png"), "{text}");
}

/// The keys are stable: a program may rely on each.
#[test]
fn check_prints_json_with_the_promised_keys() {
    let dir = folder();
    let args = ["check", "sphere", "--json", "--set", "fluid.vorticity=0.75", "--frames", "1-20:2"];
    let report = json(&updraft(dir.path(), &args));
    let keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    let promised = "box disk_bytes fills forces frames memory_bytes parameters picture probes said scene sides solids sources \
                    threads time valid";
    assert_eq!(keys.join(" "), promised);
    assert_eq!((&report["scene"], &report["valid"]), (&"sphere".into(), &true.into()));
    assert_eq!(report["parameters"]["fluid.vorticity"], 0.75);
    assert_eq!(report["parameters"]["solver.advection"], "conservative");
    assert_eq!(report["solids"][0]["shape"], "sphere");
    assert!(report["solids"][0]["is_moving"].is_boolean());
    assert_eq!(report["frames"]["count"], 10);
    for format in ["png", "exr", "mp4", "npz", "vti", "vdb"] {
        let [one, all] =
            ["per_frame", "all_frames"].map(|of| report["disk_bytes"][of][format].as_u64().unwrap());
        assert!(one > 0 && all == 10 * one, "{format}: {one}, {all}");
    }
    assert!(report["memory_bytes"]["simulation"].as_u64().unwrap() > 1 << 20);
    assert!(report["sides"]["y_max"]["kind"].is_string() && report["time"]["frame_rate"].is_number());
}

/// A wind given by a formula was once reported as 0 m/s.
#[test]
fn json_names_the_values_of_a_side_that_are_formulas() {
    let dir = folder();
    let walls = "domain.walls={x_min={inflow={velocity=['sin(t)', 0, 0], red='t'}}, x_max='open'}";
    let report = json(&updraft(dir.path(), &["check", "plume", "--json", "--set", walls]));
    let formulas = |side: &str| report["sides"][side]["formulas"].clone();
    assert_eq!(formulas("x_min"), serde_json::json!(["u", "red"]));
    assert_eq!(formulas("x_max"), serde_json::json!([]));
}

/// Estimates are compared with files of a run that fills a good part of its box.
#[test]
fn estimates_of_files_are_of_the_right_size() {
    let dir = folder();
    let box_size = ["--set", "domain.cells=[32, 48, 32]", "--set", "domain.voxel=0.03"];
    let args = ["simulate", "plume", "--frames", "24", "--format", "npz,vti,vdb", "--checkpoint-every", "24"];
    let args = [&args[..], &["--out", "run", "--quiet"], &box_size].concat();
    done(dir.path(), &args);
    let report = json(&updraft(dir.path(), &[&["check", "plume", "--json"][..], &box_size].concat()));
    let size = |name: &str| dir.path().join("run").join(name).metadata().unwrap().len() as f64;
    let disk = &report["disk_bytes"];
    for (estimate, file, least, most) in [
        (&disk["per_frame"]["npz"], "fields.0024.npz", 0.25, 1.05),
        (&disk["per_frame"]["vti"], "fields.0024.vti", 0.95, 1.05),
        (&disk["vdb_per_frame_when_full"], "fields.0024.vdb", 0.05, 1.05),
        (&disk["checkpoint"], "checkpoint", 0.95, 1.1),
    ] {
        let ratio = size(file) / estimate.as_f64().unwrap();
        assert!((least..most).contains(&ratio), "{file}: {ratio} of the estimate");
    }
}

/// The estimate once left out finer smoke and the turbulence that moves it.
#[test]
fn the_estimate_of_a_checkpoint_counts_turbulence() {
    let dir = folder();
    for strength in ["0", "1"] {
        let strength = format!("turbulence.strength={strength}");
        let scene = [
            "plume",
            "--set",
            "domain.cells=[24, 24, 24]",
            "--set",
            "domain.voxel=0.04",
            "--set",
            "domain.detail=2",
            "--set",
            &strength,
        ];
        let more = ["--frames", "1", "--checkpoint-every", "1", "--out", "run", "--quiet", "--force"];
        let output = updraft(dir.path(), &[&["simulate"], &scene[..], &more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let report = json(&updraft(dir.path(), &[&["check"], &scene[..], &["--json"]].concat()));
        let size = dir.path().join("run/checkpoint").metadata().unwrap().len() as f64;
        let ratio = size / report["disk_bytes"]["checkpoint"].as_f64().unwrap();
        assert!((0.999..1.01).contains(&ratio), "{strength}: {ratio} of the estimate");
    }
}

#[test]
fn an_invalid_scene_is_json_with_its_place() {
    let dir = folder();
    std::fs::write(dir.path().join("a.toml"), "[fluid]\nvorticty = 1\n").unwrap();
    let output = updraft(dir.path(), &["check", "a.toml", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let report = json(&output);
    assert_eq!((&report["valid"], &report["error"]["line"]), (&false.into(), &2.into()));
    assert!(report["error"]["message"].as_str().unwrap().contains("vorticity"), "{report}");
    assert!(stderr(&output).contains("a.toml:2:"), "{}", stderr(&output));
    let report = json(&updraft(dir.path(), &["check", "plum", "--json"]));
    assert!(report["valid"] == false && report["error"]["line"].is_null(), "{report}");
}

#[test]
fn scenes_are_listed_as_json() {
    let dir = folder();
    let report = json(&updraft(dir.path(), &["scenes", "--json"]));
    let scenes = report["scenes"].as_array().unwrap();
    assert!(scenes.len() >= 12);
    for scene in scenes {
        let text = |key: &str| scene[key].as_str().unwrap_or_default().len();
        assert!(text("name") > 2 && text("summary") > 10 && text("text") > 50, "{scene}");
        assert!(scene["cells"].as_array().unwrap().len() == 3 && scene["memory_bytes"].is_u64(), "{scene}");
    }
    assert_eq!(json(&updraft(dir.path(), &["scenes", "fog", "--json"]))["name"], "fog");
}

/// `check` reports faults that would end a run at its start or later.
#[test]
fn check_refuses_what_a_run_would_fail_on() {
    let dir = folder();
    let write = |name: &str, value: f32, kind: &str| {
        let header = format!("{{'descr': '{kind}', 'fortran_order': True, 'shape': (4, 4, 4), }}");
        let mut npy = b"\x93NUMPY\x01\x00".to_vec();
        npy.extend((header.len() as u16).to_le_bytes());
        npy.extend(header.as_bytes());
        (0..64).for_each(|n| npy.extend(if n == 40 { value } else { 0.5_f32 }.to_le_bytes()));
        let mut zip = zip::ZipWriter::new(std::fs::File::create(dir.path().join(name)).unwrap());
        zip.start_file("red.npy", zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut zip, &npy).unwrap();
        zip.finish().unwrap();
    };
    let check = |set: &str| {
        let small = ["--set", "domain.cells=[4, 4, 4]", "--set", "domain.voxel=0.2", "--set", "source=[]"];
        updraft(dir.path(), &[&["check", "plume", "--set", set][..], &small].concat())
    };
    write("good.npz", 0.5, "<f4");
    succeeded(&check("initial.fields='good.npz'"));
    write("nan.npz", f32::NAN, "<f4");
    refused(&check("initial.fields='nan.npz'"), "not finite");
    write("vast.npz", 1e9, "<f4");
    refused(&check("initial.fields='vast.npz'"), "must lie within");
    write("type.npz", 0.5, "<c4");
    refused(&check("initial.fields='type.npz'"), "type.npz");
    let name = "a".repeat(101);
    let probe = format!("probe=[{{name='{name}', at={{point=[0.1, 0.1, 0.1]}}, fields=['red']}}]");
    refused(&check(&probe), "101 characters");
    let out = format!("{}.####.png", "b".repeat(240));
    refused(&updraft(dir.path(), &["render", "plume", "--frames", "1", "--out", &out]), "its name has");
}

#[test]
fn bench_prints_json_instead_of_its_table() {
    let dir = folder();
    let args = ["bench", "--cells", "12", "--threads", "1", "--steps", "2", "--quiet", "--json", "-"];
    let report = json(&updraft(dir.path(), &args));
    let keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["build", "full", "machine", "runs", "scene"]);
    assert_eq!((&report["runs"][0]["cells"], report["runs"].as_array().unwrap().len()), (&12.into(), 1));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "no file");
}

/// Only `check` once gave this warning.
#[test]
fn a_run_warns_of_a_wall_whose_temperature_stays_in_it() {
    let dir = folder();
    let small = ["--set", "domain.cells=[12, 18, 12]", "--set", "domain.voxel=0.08"];
    let wall = ["--set", "domain.walls.x_min={closed={temperature=9}}", "--set"];
    let run = |command: &[&str], conduction: &str| {
        let conduction = format!("fluid.conduction={conduction}");
        let output = updraft(dir.path(), &[command, &small, &wall, &[conduction.as_str()]].concat());
        succeeded(&output);
        stdout(&output) + &stderr(&output)
    };
    let simulate = ["simulate", "plume", "--frames", "1-1", "--force"];
    let said = "domain.walls.x_min: fluid.conduction is 0, so its temperature stays in the wall";
    for command in [&["check", "plume"][..], &simulate] {
        let text = run(command, "0");
        assert!(text.contains(said), "{command:?}: {text}");
        let text = run(command, "0.01");
        assert!(!text.contains(said), "{command:?}: {text}");
    }
    let open = ["check", "plume", "--set", "domain.walls.y_max={open={temperature=9}}"];
    refused(&updraft(dir.path(), &open), "unknown key `temperature`");
}

/// Names with line ends and codes of a terminal were printed as they are: a file could clear the screen.
#[cfg(unix)]
#[test]
fn names_are_printed_on_one_line_with_what_acts_on_a_terminal_escaped() {
    let dir = folder();
    let (name, shown) = ("a\n\u{1b}[31mb", r"a\u{a}\u{1b}[31mb");
    let small = ["--set", "domain.cells=[12, 18, 12]", "--set", "domain.voxel=0.08"];
    let run = |args: &[&str]| updraft(dir.path(), &[args, &small].concat());
    let picture = |out: &str| {
        run(&["render", "plume", "--frames", "1", "--size", "16x16", "--cpu", "-q", "--out", out])
    };
    let png = format!("{name}.png");
    assert_eq!(stdout(&picture(&png)), format!("{shown}.png\n"));
    let simulate = run(&["simulate", "plume", "--frames", "1", "-q", "--out", name]);
    assert_eq!(stdout(&simulate), format!("{shown}\n"));
    for output in [
        picture(&png),
        picture(&format!("{name}.bmp")),
        picture(&format!("{name}.##.##.png")),
        run(&["simulate", "plume", "--frames", name]),
        run(&["simulate", "plume", "--out", name]),
        run(&["simulate", "plume", "--out", name, "--resume"]),
        run(&["detail", name]),
        run(&[&format!("{name}.toml")]),
    ] {
        refused(&output, shown);
    }
    let scene = std::fs::read(dir.path().join(name).join("scene.toml")).unwrap();
    std::fs::write(dir.path().join(format!("{name}.toml")), scene).unwrap();
    let check = stdout(&updraft(dir.path(), &["check", &format!("{name}.toml")]));
    assert!(check.starts_with(&format!("scene      {shown}: valid\n")), "{check}");
}
