//! Reads volumes by other programs: OpenVDB by its own library, VTK images by VTK, npz by NumPy.

#[path = "common/chance.rs"]
mod chance;
#[path = "common/command.rs"]
mod command;

use std::path::{Path, PathBuf};
use std::process::Command;

use chance::Chance;
use command::{done, words};
use serde_json::{Value, json};
use updraft::npz;
use updraft::vdb::{self, Grid, Meta, Topology, Values};

/// The interpreter of Debian's modules.
const PYTHON: &str = "/usr/bin/python3";

/// Returns whether one of these modules is installed.
fn has_module(modules: &[&str]) -> bool {
    let there = |module: &&str| {
        let tried = Command::new(PYTHON).args(["-c", &format!("import {module}")]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    modules.iter().any(there)
}

/// Asserts that one of these modules is installed. The README names its package.
#[track_caller]
fn require_module(modules: &[&str], package: &str) {
    assert!(
        has_module(modules),
        "{PYTHON} has no module {}: install it with `apt-get install {package}`, and run the test again",
        modules.join(" or ")
    );
}

/// Asserts that OpenVDB's library and NumPy are installed.
#[track_caller]
fn require_openvdb() {
    require_module(&["numpy"], "python3-numpy");
    require_module(&["openvdb", "pyopenvdb"], "python3-openvdb");
}

fn python(script: &str, argument: &Path) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracles").join(script);
    let output = Command::new(PYTHON).arg(script).arg(argument).output().expect("Python starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Runs the command with a small box, which `args` may change.
#[track_caller]
fn updraft(folder: &Path, args: &[&str]) {
    let small = words("--quiet --set domain.cells=[20,30,16] --set domain.voxel=0.05 --set domain.detail=1");
    done(folder, &[&args[..1], &small, &args[1..]].concat());
}

fn write_floats(path: PathBuf, values: &[f32]) {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    std::fs::write(path, bytes).expect("a file");
}

/// The boxes are random and at random positions, also full, empty and across node borders at negative
/// coordinates, in each precision, with and without ZIP.
#[test]
fn openvdb_reads_the_voxels_that_were_written() {
    require_openvdb();
    let dir = tempfile::tempdir().expect("a folder");
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut cases = Vec::new();
    for n in 0..24usize {
        let size = [0; 3].map(|_| 1 + chance.below(28));
        let origin = match n % 4 {
            0 => [0; 3],
            1 => [0; 3].map(|_| -(chance.below(40) as i32)),
            2 => [-4100, 4090, -8200],
            _ => [0; 3].map(|_| chance.below(300_000) as i32 - 150_000),
        };
        // Empty, full, and in between.
        let share = [0, 100, 3, 50][n / 2 % 4];
        let count = size.iter().product();
        let mut values: Vec<f32> = vec![0.0; count];
        for (at, value) in values.iter_mut().enumerate() {
            if chance.below(100) < share {
                // All values differ, so none can be exchanged unnoticed.
                *value = 1.0 + at as f32 / 7.0;
            }
        }
        let place = |p: [i32; 3]| {
            let [i, j, k] = [0, 1, 2].map(|a| (p[a] - origin[a]) as usize);
            i + size[0] * (j + size[1] * k)
        };
        let at = |p: [i32; 3]| values[place(p)];
        let vector = |p: [i32; 3]| [at(p), -0.5 * at(p), 0.25 + at(p)];
        let topology =
            Topology::of_box(origin, size, |[i, j, k]| values[i + size[0] * (j + size[1] * k)] != 0.0);
        let (half, zip) = (n & 1 == 1, n & 2 == 2);
        let voxel = 0.125;
        let grids = [("density", Values::Scalar(&at)), ("vel", Values::Vector(&vector))];
        let encoded = grids
            .map(|(name, values)| Grid { half, zip, ..Grid::new(name, voxel, &topology, values) }.encode());
        let file = format!("{n}.vdb");
        let mut bytes = Vec::new();
        vdb::write(&mut bytes, &[("creator", "a test".into()), ("frame", Meta::Int(n as i32))], &encoded)
            .expect("memory");
        std::fs::write(dir.path().join(&file), bytes).expect("a file");
        let mut expected = values.clone();
        write_floats(dir.path().join(format!("{n}.density")), &expected);
        expected.clear();
        for c in 0..3 {
            expected.extend(values.iter().map(|&x| match c {
                _ if x == 0.0 => 0.0,
                0 => x,
                1 => -0.5 * x,
                _ => 0.25 + x,
            }));
        }
        write_floats(dir.path().join(format!("{n}.vel")), &expected);
        let tolerance = if half { 1.0 / 2048.0 } else { 0.0 };
        let grid = |name: &str, components: usize| {
            json!({
                "name": name, "components": components, "size": size, "origin": origin,
                "values": format!("{n}.{name}"), "tolerance": tolerance, "active": topology.count(),
                "bounds": topology.bounds(), "voxel": voxel,
            })
        };
        let metadata = json!({ "creator": "a test", "frame": n });
        cases.push(
            json!({ "file": file, "metadata": metadata, "grids": [grid("density", 1), grid("vel", 3)] }),
        );
    }
    let manifest = dir.path().join("manifest.json");
    std::fs::write(&manifest, Value::from(cases).to_string()).expect("a file");
    assert_eq!(python("vdb.py", &manifest).matches("voxels agree").count(), 48);
}

/// OpenVDB's library compresses with Blosc. The files have smooth, equal and random values, half floats,
/// tiles and vectors.
#[test]
fn files_that_the_library_compressed_with_blosc_are_read() {
    require_openvdb();
    let dir = tempfile::tempdir().expect("a folder");
    python("write_vdb.py", dir.path());
    let (origin, size) = ([-3, -5, -2], [20, 30, 16]);
    let names = ["smooth", "steps", "noise", "half", "half-steps", "tiles", "vectors"];
    for name in names {
        let file = std::fs::read(dir.path().join(format!("{name}.vdb"))).expect("a file");
        let reader = vdb::Reader::new(&file).expect("a header");
        let grid = reader.grid(name).unwrap_or_else(|error| panic!("{error}"));
        let values = grid.dense(origin, size).unwrap_or_else(|error| panic!("{name}: {error}")).concat();
        let expected = std::fs::read(dir.path().join(format!("{name}.f32"))).expect("values");
        let expected: Vec<f32> = bytemuck::pod_collect_to_vec(&expected);
        assert!(values == expected, "{name} differs");
        assert!(values.iter().any(|x| *x != values[0]), "{name} is uniform");
    }
}

/// The OpenVDB output of `simulate` has the numbers of its npz, with y up and with z up.
#[test]
fn openvdb_reads_the_plume_with_either_axis_up() {
    require_openvdb();
    let dir = tempfile::tempdir().expect("a folder");
    let mut cases = Vec::new();
    let [nx, ny, nz] = [20usize, 30, 16];
    for up in ["y", "z"] {
        let args = ["simulate", "colors", "--frames", "12", "--format", "npz,vdb", "--precision", "full"];
        let glow = ["--set", "render.medium.glow=3", "--set", "render.medium.glow_heat=50"];
        updraft(dir.path(), &[&args[..], &["--up", up, "--out", up], &glow].concat());
        let mut fields = npz::Reader::open(&dir.path().join(up).join("fields.0012.npz")).expect("an npz");
        let mut scalar = |name| fields.array(name, [nx, ny, nz]).expect("an array").values;
        let (red, green, blue) = (scalar("red"), scalar("green"), scalar("blue"));
        let temperature = scalar("temperature");
        let active: Vec<bool> = (0..red.len())
            .map(|n| {
                [red[n], green[n], blue[n]].iter().any(|d| d.abs() > 1e-4) || temperature[n].abs() > 1e-2
            })
            .collect();
        let sum: Vec<f32> = (0..red.len()).map(|n| red[n] + green[n] + blue[n]).collect();
        let mut face = |name, axis: usize| {
            let mut shape = [nx, ny, nz];
            shape[axis] += 1;
            let values = fields.array(name, shape).expect("an array").values;
            let mut centers = Vec::new();
            for k in 0..nz {
                for j in 0..ny {
                    for i in 0..nx {
                        let at = |d: usize| {
                            let [i, j, k] = [0, 1, 2].map(|a| [i, j, k][a] + if a == axis { d } else { 0 });
                            values[i + shape[0] * (j + shape[1] * k)]
                        };
                        centers.push(0.5 * (at(0) + at(1)));
                    }
                }
            }
            centers
        };
        let [u, v, w] = [face("u", 0), face("v", 1), face("w", 2)];
        // The values are along the axes of the file, x fastest.
        let (origin, size) =
            if up == "y" { ([0; 3], [nx, ny, nz]) } else { ([0, -(nz as i32), 0], [nx, nz, ny]) };
        let turned = |values: &[f32], sign: f32| -> Vec<f32> {
            let mut out = Vec::new();
            for c in 0..size[2] {
                for b in 0..size[1] {
                    for a in 0..size[0] {
                        let [i, j, k] = if up == "y" { [a, b, c] } else { [a, c, nz - 1 - b] };
                        let n = i + nx * (j + ny * k);
                        out.push(if active[n] { sign * values[n] } else { 0.0 });
                    }
                }
            }
            out
        };
        let vel = match up {
            "y" => [turned(&u, 1.0), turned(&v, 1.0), turned(&w, 1.0)],
            _ => [turned(&u, 1.0), turned(&w, -1.0), turned(&v, 1.0)],
        };
        let mask = turned(&vec![1.0; red.len()], 1.0);
        let inside = |a: usize| {
            let at = |n: usize| {
                [n % size[0], n / size[0] % size[1], n / (size[0] * size[1])][a] as i32 + origin[a]
            };
            let on = (0..mask.len()).filter(|&n| mask[n] > 0.0).map(at);
            [on.clone().min().expect("smoke"), on.max().expect("smoke")]
        };
        let bounds = [0, 1].map(|end| [0, 1, 2].map(|a| inside(a)[end]));
        let count = active.iter().filter(|on| **on).count();
        assert!(count > 100 && count < active.len(), "{count} voxels: sparse, and not empty");
        let arrays = [
            ("density", turned(&sum, 1.0)),
            ("density_r", turned(&red, 1.0)),
            ("density_g", turned(&green, 1.0)),
            ("density_b", turned(&blue, 1.0)),
            ("temperature", turned(&temperature, 1.0)),
            ("flame", turned(&temperature.iter().map(|x| (x / 50.0).max(0.0)).collect::<Vec<_>>(), 1.0)),
            ("vel", vel.concat()),
        ];
        let grids: Vec<Value> = arrays
            .iter()
            .map(|(name, values)| {
                write_floats(dir.path().join(format!("{up}.{name}")), values);
                json!({
                    "name": name, "components": if *name == "vel" { 3 } else { 1 }, "size": size, "origin": origin,
                    "values": format!("{up}.{name}"), "tolerance": 1e-6, "active": count, "bounds": bounds,
                    "voxel": 0.05,
                })
            })
            .collect();
        let metadata = json!({ "frame": 12, "fps": 24.0, "up_axis": up, "unit": "m" });
        cases.push(json!({ "file": format!("{up}/fields.0012.vdb"), "metadata": metadata, "grids": grids }));
    }
    let manifest = dir.path().join("manifest.json");
    std::fs::write(&manifest, Value::from(cases).to_string()).expect("a file");
    assert_eq!(python("vdb.py", &manifest).matches("voxels agree").count(), 14);
}

/// A run that starts from another program's OpenVDB file has its smoke, with either up axis.
#[test]
fn a_run_starts_from_an_openvdb_file() {
    let dir = tempfile::tempdir().expect("a folder");
    for up in ["y", "z"] {
        let args = ["simulate", "colors", "--frames", "8", "--format", "npz,vdb", "--precision", "full"];
        updraft(dir.path(), &[&args[..], &["--up", up, "--out", up]].concat());
        let start = format!("initial.fields={up}/fields.0008.vdb");
        let out = format!("{up}-rest");
        let args = ["simulate", "colors", "--frames", "0", "--format", "npz", "--set", &start, "--out", &out];
        updraft(dir.path(), &args);
        let open = |name: &str, frame: &str| {
            npz::Reader::open(&dir.path().join(name).join(format!("fields.{frame}.npz"))).expect("an npz")
        };
        for name in ["red", "green", "blue", "temperature"] {
            let was = open(up, "0008").array(name, [20, 30, 16]).expect("an array").values;
            let is = open(&out, "0000").array(name, [20, 30, 16]).expect("an array").values;
            assert!(name != "red" || was.iter().any(|x| x.abs() > 0.1));
            let most = was.iter().zip(&is).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(most <= 1e-2, "{name} differs by {most}");
        }
        let mean = |values: Vec<f32>| values.iter().map(|v| v.abs()).sum::<f32>();
        let was = mean(open(up, "0008").array("v", [20, 31, 16]).expect("an array").values);
        let is = mean(open(&out, "0000").array("v", [20, 31, 16]).expect("an array").values);
        assert!(is > 0.3 * was, "the smoke rises as it did: {is} of {was}");
    }
}

/// With smoke twice as fine as the velocity, each array has its own shape, each grid its own voxels, an image
/// those of the smoke, and a resumed run the bytes of an uninterrupted one. A run starts from either kind of
/// file.
#[test]
fn finer_smoke_goes_to_files_at_its_own_voxels_and_back() {
    let dir = tempfile::tempdir().expect("a folder");
    let detail = ["--set", "domain.detail=2"];
    let args = words("simulate colors --frames 0-6 --out run --format npz,vdb,vti --precision full");
    updraft(dir.path(), &[&args[..], &detail].concat());
    let path = |run: &str, name: &str| dir.path().join(run).join(name);
    let open = |run: &str, name: &str| npz::Reader::open(&path(run, name)).expect("an npz");
    let mut npz = open("run", "fields.0006.npz");
    let (voxel, smoke_voxel) = (npz.number("voxel"), npz.number("smoke_voxel"));
    assert!((voxel.expect("a number") / smoke_voxel.expect("a number") - 2.0).abs() < 1e-6);
    let red = npz.array("red", [40, 60, 32]).expect("an array").values;
    let v = npz.array("v", [20, 31, 16]).expect("an array").values;
    let bytes = std::fs::read(path("run", "fields.0006.vdb")).expect("a file");
    let reader = vdb::Reader::new(&bytes).expect("a volume");
    let at = |i: usize, j: usize, k: usize| i + 40 * (j + 60 * k);
    let dense = reader.grid("density_r").and_then(|grid| grid.dense([0; 3], [40, 60, 32])).expect("voxels");
    let apart = red.iter().zip(&dense[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart < 2e-3 && red[at(20, 6, 16)] != red[at(21, 6, 16)], "{apart}");
    let vel = reader.grid("vel").and_then(|grid| grid.dense([0; 3], [20, 30, 16])).expect("voxels");
    let (place, want) =
        (10 + 20 * (3 + 30 * 8), 0.5 * (v[10 + 20 * (3 + 31 * 8)] + v[10 + 20 * (4 + 31 * 8)]));
    assert!((vel[1][place] - want).abs() < 1e-5 && want != 0.0, "{} is not {want}", vel[1][place]);
    let image = std::fs::read(path("run", "fields.0006.vti")).expect("a file");
    let head = String::from_utf8_lossy(&image[..400]).into_owned();
    assert!(head.contains("WholeExtent=\"0 40 0 60 0 32\"") && head.contains("Spacing=\"0.025"), "{head}");
    for name in ["fields.0006.npz", "fields.0006.vdb"] {
        let start = format!("initial.fields=run/{name}");
        let args = words("simulate colors --frames 0 --format npz --out on --force --set");
        updraft(dir.path(), &[&args[..], &[&start], &detail].concat());
        let is = open("on", "fields.0000.npz").array("red", [40, 60, 32]).expect("an array").values;
        let most = red.iter().zip(&is).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(most <= 1e-2, "{name}: red differs by {most}");
    }
}

/// A file is the shape of a fill and of a source. Its density, at most 1, scales their values.
#[test]
fn a_volume_is_the_shape_of_smoke_and_of_a_source() {
    let dir = tempfile::tempdir().expect("a folder");
    let args =
        ["simulate", "colors", "--frames", "8", "--format", "npz,vdb", "--precision", "full", "--out", "run"];
    updraft(dir.path(), &args);
    let open = |name: &str| npz::Reader::open(&dir.path().join(name)).expect("an npz");
    let array = |name: &str, field: &str| open(name).array(field, [20, 30, 16]).expect("an array").values;
    let colors = ["red", "green", "blue"].map(|name| array("run/fields.0008.npz", name));
    let density: Vec<f32> = (0..colors[0].len())
        .map(|n| colors.iter().map(|color| color[n]).sum::<f32>().clamp(0.0, 1.0))
        .collect();
    assert!(density.iter().any(|x| *x > 0.5), "there is smoke");
    let shape = "shape={volume={file='run/fields.0008.vdb'}}";
    let fill = format!("initial.smoke=[{{{shape}, red=2.0}}]");
    let source = format!("source=[{{{shape}, emit={{green=3.0}}}}]");
    let args = ["simulate", "colors", "--frames", "0-1", "--format", "npz", "--out", "again"];
    let still = words("--set fluid.heat_buoyancy=0 --set smoke.red.buoyancy=0 --set smoke.green.buoyancy=0");
    updraft(
        dir.path(),
        &[&args[..], &["--set", &fill, "--set", &source, "--set", "solver.flow='frozen'"], &still].concat(),
    );
    let red = array("again/fields.0000.npz", "red");
    let most = red.iter().zip(&density).map(|(is, share)| (is - 2.0 * share).abs()).fold(0.0, f32::max);
    // Voxels below 1e-4 are not in the file.
    assert!(most < 3e-4, "the fill differs by {most}");
    let green = array("again/fields.0001.npz", "green");
    let most =
        green.iter().zip(&density).map(|(is, share)| (is - 3.0 / 24.0 * share).abs()).fold(0.0, f32::max);
    assert!(most < 1e-3, "the source differs by {most}");
}

/// VTK reads the instants and cells of the series, and in each array the numbers of the npz.
#[test]
fn vtk_reads_the_time_series() {
    if !has_module(&["vtkmodules.vtkIOXML"]) {
        // The README does not install VTK, which is large. `.ci/run` does.
        eprintln!("SKIPPED: {PYTHON} has no VTK; `apt-get install python3-vtk9` brings it");
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    updraft(dir.path(), &["simulate", "colors", "--frames", "5-6", "--format", "npz,vti", "--out", "run"]);
    let frames: Value =
        serde_json::from_str(&python("vti.py", &dir.path().join("run/fields.pvd"))).expect("JSON");
    assert_eq!(frames.as_array().map(Vec::len), Some(2));
    for (n, frame) in [(5, &frames[0]), (6, &frames[1])] {
        let seconds = f64::from(n) / 24.0;
        assert!((frame["timestep"].as_f64().expect("a number") - seconds).abs() < 1e-9);
        assert!((frame["time"].as_f64().expect("a number") - seconds).abs() < 1e-6);
        assert_eq!(frame["cells"], json!([20, 30, 16]));
        assert_eq!(frame["vectors"], "velocity");
        let path = dir.path().join(format!("run/fields.000{n}.npz"));
        let mut npz = npz::Reader::open(&path).expect("an npz");
        let close = |got: &Value, want: f64, what: &str| {
            let got = got.as_f64().expect("a number");
            assert!((got - want).abs() <= 1e-4 * want.abs().max(1.0), "{what}: {got}, not {want}");
        };
        let mut total = 0.0;
        for name in ["red", "green", "blue", "temperature"] {
            let values = npz.array(name, [20, 30, 16]).expect("an array").values;
            let sum = values.iter().copied().map(f64::from).sum::<f64>();
            total += if name == "temperature" { 0.0 } else { sum };
            let array = &frame["arrays"][name];
            close(&array["sums"][0], sum, name);
            let place = array["place"].as_u64().expect("a place") as usize;
            close(&array["there"][0], values[place].into(), name);
        }
        close(&frame["arrays"]["density"]["sums"][0], total, "density");
        for (c, (name, shape)) in
            [("u", [21, 30, 16]), ("v", [20, 31, 16]), ("w", [20, 30, 17])].into_iter().enumerate()
        {
            let values = npz.array(name, shape).expect("an array").values;
            // Each face counts half for each of the two cells beside it.
            let weight = |n: usize| {
                let index = [n % shape[0], n / shape[0] % shape[1], n / (shape[0] * shape[1])][c];
                if index == 0 || index + 1 == shape[c] { 0.5 } else { 1.0 }
            };
            let sum = values.iter().enumerate().map(|(n, v)| weight(n) * f64::from(*v)).sum::<f64>();
            close(&frame["arrays"]["velocity"]["sums"][c], sum, name);
        }
    }
}

/// NumPy reads the description beside the arrays.
#[test]
fn numpy_reads_the_description_of_the_arrays() {
    require_module(&["numpy"], "python3-numpy");
    let dir = tempfile::tempdir().expect("a folder");
    updraft(dir.path(), &["simulate", "colors", "--frames", "2", "--format", "npz", "--out", "run"]);
    let script = "import json, sys, numpy as np
f = np.load(sys.argv[1])
about = json.loads(str(f['about']))
assert about['program'].startswith('updraft ') and about['fields']['u']['at'] == 'x faces', about
assert about['fields']['temperature'] == {'unit': 'K', 'at': 'centres', 'first_value_in_voxels': [0.5, 0.5, 0.5]}
assert f['u'].shape == (21, 30, 16) and f['red'].shape == (20, 30, 16)
assert int(f['frame']) == 2 and abs(float(f['time']) - 2 / 24) < 1e-6 and float(f['frame_rate']) == 24";
    let output = Command::new(PYTHON)
        .args(["-c", script])
        .arg(dir.path().join("run/fields.0002.npz"))
        .output()
        .expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
