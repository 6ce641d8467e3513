//! Tests `updraft doctor`, the configuration, log filters, colours, completions and manual pages.

#[path = "common/command.rs"]
mod command;

use std::path::Path;
use std::process::Command;

use command::{command, done, folder, stderr, stdout, succeeded, updraft, words};

/// Writes the configuration that `command` reads.
fn configure(folder: &Path, text: &str) {
    std::fs::create_dir_all(folder.join("updraft")).unwrap();
    std::fs::write(folder.join("updraft/config.toml"), text).unwrap();
}

#[test]
fn doctor_reports_what_will_be_used() {
    let dir = folder();
    let output = done(dir.path(), &["doctor"]);
    let text = stdout(&output);
    let names: Vec<&str> = text.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    let wanted =
        "updraft processor kernels threads memory opengl pictures window ffmpeg mpi config scenes log";
    assert_eq!(names, words(wanted));
    assert!(
        text.contains("config.toml does not exist") && text.contains("renders to files instead"),
        "{text}"
    );
    let json: serde_json::Value =
        serde_json::from_slice(&updraft(dir.path(), &["doctor", "--json"]).stdout).unwrap();
    assert_eq!(json["updraft"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["problems"], serde_json::json!([]));
    assert!(json["memory"]["largest_cube"].as_u64().unwrap() > 50, "{json}");
    assert!(["opengl", "cpu"].contains(&json["pictures"]["renderer"].as_str().unwrap()));
}

#[test]
fn doctor_without_a_driver_names_the_cpu_and_succeeds() {
    let dir = folder();
    let output = command(dir.path(), &["doctor", "--json"])
        .env("__EGL_VENDOR_LIBRARY_FILENAMES", "/nonexistent")
        .env("PATH", "")
        .output()
        .unwrap();
    succeeded(&output);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["pictures"]["renderer"], "cpu");
    assert!(json["opengl"]["error"].is_string() && json["ffmpeg"].is_null(), "{json}");
    assert!(json["mpi"]["mpirun"].is_null() && json["mpi"]["built_in"] == cfg!(feature = "mpi"), "{json}");
}

/// Doctor limits its wait for programs that answer, that answer without an end, and that never answer.
#[cfg(unix)]
#[test]
fn doctor_waits_for_programs_with_a_limit() {
    use std::os::unix::fs::PermissionsExt;
    let dir = folder();
    let install = |name: &str, script: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let report = || -> serde_json::Value {
        let output = command(dir.path(), &["doctor", "--json"])
            .env("PATH", format!("{}:/usr/bin:/bin", dir.path().display()))
            .env("UPDRAFT_PATIENCE", "1")
            .output()
            .unwrap();
        succeeded(&output);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    install("ffmpeg", "echo ffmpeg version 7.1 Copyright");
    install("mpirun", "echo 'mpirun (Open MPI) 4.1.4'; yes | head -c 1000000");
    let json = report();
    assert_eq!(json["ffmpeg"], "7.1");
    assert_eq!(json["mpi"]["mpirun"], "Open MPI 4.1.4");
    for name in ["ffmpeg", "mpirun"] {
        install(name, "exec sleep 60");
    }
    let started = std::time::Instant::now();
    let json = report();
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    for error in [&json["ffmpeg"]["error"], &json["mpi"]["error"]] {
        assert!(error.as_str().is_some_and(|text| text.contains("did not answer")), "{json}");
    }
}

/// The `HOME` of a service is often a device, and that of a container may be unreadable.
#[cfg(unix)]
#[test]
fn a_home_that_holds_no_configuration_has_no_defaults() {
    let dir = folder();
    let check = |more: &[(&str, &str)]| {
        let mut command = command(dir.path(), &["check", "plume"]);
        command.env_remove("XDG_CONFIG_HOME").env("HOME", "/dev/null").envs(more.iter().copied());
        command.output().unwrap()
    };
    succeeded(&check(&[]));
    let named = check(&[("UPDRAFT_CONFIG", "/dev/null/config.toml")]);
    assert_eq!(named.status.code(), Some(2), "{}", stderr(&named));
}

#[test]
fn faults_of_the_configuration_name_its_file() {
    let dir = folder();
    for (text, wanted) in [
        ("set = [\"fluid.vorticty=1\"]\n", "unknown key `vorticty`"),
        ("scene = \"nowhere.toml\"\n", "nowhere.toml"),
    ] {
        configure(dir.path(), text);
        let rendered = updraft(dir.path(), &["render", "--frames", "1", "--cpu", "--size", "32x24"]);
        let message = stderr(&rendered);
        assert_eq!(rendered.status.code(), Some(2), "{message}");
        assert!(message.contains("updraft/config.toml: ") && message.contains(wanted), "{message}");
        let output = updraft(dir.path(), &["doctor"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(wanted), "{}", stderr(&output));
    }
    // An error of the command line is not reported as one of the configuration.
    configure(dir.path(), "set = [\"fluid.vorticity=1\"]\n");
    let output = updraft(dir.path(), &["check", "plume", "--set", "fluid.vorticty=1"]);
    assert!(!stderr(&output).contains("config.toml"), "{}", stderr(&output));
}

#[test]
fn doctor_exits_2_for_settings_that_cannot_work() {
    let dir = folder();
    configure(dir.path(), "thread = 2\n");
    let output = command(dir.path(), &["doctor", "--json"])
        .env("UPDRAFT_SIMD", "none")
        .env("UPDRAFT_LOG", "updraft=loud")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems: Vec<&str> =
        json["problems"].as_array().unwrap().iter().map(|problem| problem.as_str().unwrap()).collect();
    for wanted in ["UPDRAFT_SIMD=none", "did you mean `threads`?", "UPDRAFT_LOG: `updraft=loud`"] {
        assert!(problems.iter().any(|problem| problem.contains(wanted)), "{wanted}: {problems:?}");
    }
    assert_eq!(problems.len(), 3, "{problems:?}");
}

#[test]
fn the_configuration_gives_defaults_and_a_wrong_one_stops_every_command() {
    let dir = folder();
    let cost = |args: &[&str]| stdout(&updraft(dir.path(), args)).lines().last().unwrap().to_owned();
    configure(dir.path(), "threads = 3\nset = [\"domain.cells=[24, 36, 25]\", \"domain.voxel=0.04\"]\n");
    assert!(cost(&["check", "plume"]).ends_with("3 threads"), "{}", cost(&["check", "plume"]));
    assert!(cost(&["check", "plume", "--threads", "1"]).ends_with("1 threads"));
    let text = stdout(&updraft(dir.path(), &["check", "plume"]));
    assert!(text.contains("24 x 36 x 25 cells"), "{text}");
    let text = stdout(&updraft(dir.path(), &["check", "plume", "--set", "domain.cells=[25, 36, 24]"]));
    assert!(text.contains("25 x 36 x 24 cells"), "{text}");
    configure(dir.path(), "set = [\n  1,\n]\n");
    let output = updraft(dir.path(), &["check", "plume"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("config.toml:2:3: "), "{}", stderr(&output));
    let output = command(dir.path(), &["check", "plume"]).env("UPDRAFT_CONFIG", "").output().unwrap();
    assert!(output.status.success(), "an empty UPDRAFT_CONFIG means none: {}", stderr(&output));
    let output = command(dir.path(), &["check", "plume"]).env("UPDRAFT_CONFIG", "no.toml").output().unwrap();
    assert!(stderr(&output).starts_with("updraft: cannot read no.toml: "), "{}", stderr(&output));
}

#[test]
fn log_lines_are_filtered_by_the_environment_and_arguments_win() {
    let dir = folder();
    let small = "--set domain.cells=[24,36,24] --set domain.voxel=0.04";
    let args = [words("render plume --frames 1 --size 16x12 --force"), words(small)].concat();
    let told = |name: &str, filter: &str, more: &[&str]| {
        let output = command(dir.path(), &[&args[..], more].concat()).env(name, filter).output().unwrap();
        succeeded(&output);
        stderr(&output).contains("INFO") || stderr(&output).contains("DEBUG")
    };
    let is_gl = {
        let output = updraft(dir.path(), &["doctor", "--json"]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        json["pictures"]["renderer"] == "opengl"
    };
    // The driver is told at the level `info`.
    assert_eq!(told("UPDRAFT_LOG", "info", &[]), is_gl);
    assert_eq!(told("RUST_LOG", "updraft=info", &[]), is_gl);
    assert!(!told("UPDRAFT_LOG", "updraft=warn", &[]));
    assert!(!told("UPDRAFT_LOG", "info", &["--quiet"]));
    let output = command(dir.path(), &["check", "plume"]).env("RUST_LOG", "updraft=loud").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("RUST_LOG: `updraft=loud` is no filter"), "{}", stderr(&output));
}

/// `script` of bsdutils gives the command a terminal.
#[cfg(target_os = "linux")]
#[test]
fn no_color_holds_on_a_terminal() {
    let dir = folder();
    std::fs::write(dir.path().join("s.toml"), "[fluid]\nvorticty = 0.5\n").unwrap();
    let seen = |line: &str, no_color: &str| {
        let mut command = Command::new("script");
        let line = format!("'{}' {line}", env!("CARGO_BIN_EXE_updraft"));
        command.args(["-qec", &line, "/dev/null"]).current_dir(dir.path());
        let output =
            command.env("NO_COLOR", no_color).env("TERM", "xterm").env("UPDRAFT_CONFIG", "").output();
        String::from_utf8_lossy(&output.expect("`script`, which Debian always has").stdout).into_owned()
    };
    // Colours and attributes of text end with `m`; movements of the cursor do not.
    let coloured = |text: &str| {
        text.split("\u{1b}[")
            .skip(1)
            .any(|code| code.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
    };
    let render = "render plume --frames 1-2 --size 16x12 --set 'domain.cells=[24, 36, 24]' --set domain.voxel=0.04 --force";
    for line in ["check s.toml", "--help", "check", render, "doctor"] {
        let text = seen(line, "1");
        assert!(!text.is_empty() && !coloured(&text), "{line}: {text:?}");
    }
    assert!(coloured(&seen("check s.toml", "")), "an empty NO_COLOR forbids nothing");
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let dir = folder();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = done(dir.path(), &["completions", shell]);
        for name in ["simulate", "--checkpoint-every", "doctor"] {
            let wanted = if shell == "fish" { name.trim_start_matches('-') } else { name };
            assert!(stdout(&output).contains(wanted), "{shell} lacks {name}");
        }
    }
    done(dir.path(), &["man", "pages"]);
    for name in ["view", "render", "flipbook", "simulate", "bench", "scenes", "check", "doctor"] {
        let path = dir.path().join(format!("pages/updraft-{name}.1"));
        let page = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(page.contains(&format!("updraft\\-{name}")), "{page}");
    }
    assert!(std::fs::read_to_string(dir.path().join("pages/updraft.1")).unwrap().contains(".TH updraft 1"));
    assert_eq!(updraft(dir.path(), &["man", "pages"]).status.code(), Some(2), "nothing is overwritten");
}

/// A frame of the run was once read with the box of the configuration.
#[test]
fn pictures_of_a_finished_run_have_its_box_whatever_the_configuration_says() {
    let dir = folder();
    let run = words("simulate plume --frames 1 --format npz --set domain.cells=[12,18,12] --out run -q");
    done(dir.path(), &[&run[..], &["--set", "domain.voxel=0.08"]].concat());
    let render = |out: &str| {
        let args = words("render --from run --size 16x12 --cpu -q --out");
        done(dir.path(), &[&args[..], &[out]].concat());
        std::fs::read(dir.path().join(out)).unwrap()
    };
    let own = render("a.png");
    configure(dir.path(), "set = ['domain.cells=[16, 16, 16]', 'domain.voxel=0.1', 'fluid.cooling=1']");
    assert!(render("b.png") == own, "the same picture");
    configure(dir.path(), "set = ['render.exposure=2']");
    assert!(render("c.png") != own, "those of pictures still hold");
    configure(dir.path(), "set = ['fluid.colling=1']");
    let args = words("render --from run --cpu -q --out d.png");
    let output = updraft(dir.path(), &args);
    assert!(stderr(&output).contains("unknown key `colling`"), "{}", stderr(&output));
}
