//! Timings of steps and pictures.

use super::command::{done, folder, refused, stdout, succeeded, updraft, words};

#[test]
fn bench_reports_every_case_and_writes_json() {
    let dir = folder();
    let args = ["bench", "--cells", "16,20", "--threads", "1,2", "--steps", "3", "--json", "b.json"];
    let output = done(dir.path(), &args);
    let table = stdout(&output);
    assert_eq!(table.lines().take_while(|line| !line.is_empty()).count(), 5, "{table}");
    let floor = table.split("memory copies at").nth(1).expect("the distance to the floor");
    assert!(
        ["advect velocity", "advect scalars", "forces", "project"].iter().all(|stage| floor.contains(stage))
    );
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("b.json")).unwrap()).unwrap();
    let runs = report["runs"].as_array().unwrap();
    let cases: Vec<_> = runs.iter().map(|r| (r["cells"].as_u64(), r["threads"].as_u64())).collect();
    let expected = [(16, 1), (16, 2), (20, 1), (20, 2)].map(|(c, t)| (Some(c), Some(t)));
    assert_eq!(cases, expected);
    for run in runs {
        assert!(run["ns_per_cell_and_step"]["median"].as_f64().is_some_and(f64::is_finite), "{run}");
        assert!(run["ns_per_cell_and_step_by_stage"]["project"]["median"].is_number(), "{run}");
        assert!(
            run["ns_per_cell_at_copy_bandwidth_by_stage"]["forces"].as_f64().is_some_and(|ns| ns > 0.01),
            "{run}"
        );
        assert!(run["bytes_per_cell"].as_f64().is_some_and(|bytes| bytes > 40.0), "{run}");
        assert!(run["divergence_left"].as_f64().is_some_and(|d| (0.0..1e-3).contains(&d)), "{run}");
    }
    assert!(report["machine"]["processors"].is_u64() && report["build"]["version"].is_string());
    refused(&updraft(dir.path(), &args), "b.json exists already");
}

#[test]
fn bench_compares_with_an_earlier_one() {
    let dir = folder();
    let args = ["bench", "--cells", "16", "--threads", "1", "--steps", "3", "--quiet"];
    updraft(dir.path(), &[&args[..], &["--json", "b.json"]].concat());
    let table = stdout(&updraft(dir.path(), &[&args[..], &["--compare", "b.json"]].concat()));
    assert!(table.lines().nth(1).is_some_and(|row| row.ends_with('x')), "{table}");
}

/// `--render` once ignored every override, also of unknown keys, and a list of threads.
#[test]
fn bench_refuses_overrides_without_an_effect() {
    let dir = folder();
    let bench = |args: &str, set: &str| {
        updraft(
            dir.path(),
            &[&words("bench --cells 8 --steps 1 -q")[..], &words(args), &["--set", set]].concat(),
        )
    };
    for (set, wanted) in [
        (
            "render.floor=false",
            "`render.floor` has no effect here: it changes pictures, and steps are timed; leave it out, or add",
        ),
        ("solver.threads=1", "`solver.threads` has no effect here: --threads says"),
        ("domain.cells=[8, 8, 8]", "`domain.cells` has no effect here: --cells says how many"),
        ("time.max_substeps=2", "a timed step is one substep"),
        ("render.flor=false", "did you mean `floor`?"),
    ] {
        refused(&bench("--threads 1", set), wanted);
    }
    succeeded(&bench("--threads 1", "fluid.vorticity=0.5"));
}

#[cfg(feature = "viewer")]
#[test]
fn bench_of_pictures_refuses_overrides_without_an_effect() {
    let dir = folder();
    let bench = |args: &str, set: &str| {
        let small = words("bench --render --cells 8 --steps 1 --size 16x16 -q");
        updraft(dir.path(), &[&small[..], &words(args), &["--set", set]].concat())
    };
    for (set, wanted) in [
        ("render.medium.extinctoin=90", "unknown key `extinctoin`; did you mean `extinction`?"),
        ("render.medium.extinction=-1", "render.medium.extinction: -1 is out of range"),
        (
            "fluid.vorticity=1",
            "`fluid.vorticity` has no effect here: --render times pictures of smoke that is always the same",
        ),
        ("render.size=[32, 32]", "`render.size` has no effect here: --size says it"),
        (
            "render.medium.paths=9",
            "`render.medium.paths` has no effect here: pictures of the window are timed",
        ),
        ("render.medium.scattering=traced", "render.medium.scattering: pictures of the window are timed"),
        ("solid=[{color='#fff'}]", "`solid.0.color` has no effect here: the timed smoke has no solids"),
    ] {
        refused(&bench("", set), wanted);
    }
    refused(&bench("--threads 1,2", "render.exposure=1"), "--threads takes one number with --render");
}
