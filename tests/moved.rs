//! Compares files and probes of a box that has moved with those of a fixed one. Both give each value its
//! place in the scene.

use std::io::Cursor;

use updraft::field::Field;
use updraft::grid::Dims;
use updraft::probe::{Probe, ProbePlace};
use updraft::solver::{BoundaryCondition, Config, Follow, Params, Solver};
use updraft::vdb::Reader;
use updraft::volume::{Frame, Up, VdbOptions, write_vdb, write_vti};

const H: f32 = 0.05;
/// Cells along each axis of the fixed box, which begins at cell (0, 0, 0).
const STAYS: usize = 80;

/// Returns a solver with a ball of smoke and heat in the upper corner of a box, in a prescribed flow that
/// hardly moves it.
fn ball(follow: bool, detail: usize) -> Solver {
    let mut config = Config::new(Dims::new([STAYS; 3]).unwrap(), H);
    config.sides = [[BoundaryCondition::Open; 2]; 3];
    (config.detail, config.frozen, config.threads) = (detail, true, 2);
    config.follow = Follow { on: follow, margin: 4, ..Follow::default() };
    let mut solver = Solver::new(config, Params::default(), vec![]).unwrap();
    let flow = |c: usize, [x, y, z]: [f32; 3]| [1.0 + 0.3 * y, -1.0 + 0.2 * z, 0.5 + 0.1 * x][c];
    solver.fill(flow, |[x, y, z]| {
        let off = (x - 2.2).powi(2) + (y - 1.9).powi(2) + (z - 2.1).powi(2);
        if off < 0.04 { [1.0 + x, 0.5 * y, z, 100.0 * (x + 2.0 * y)] } else { [0.0; 4] }
    });
    solver.step(1e-6).unwrap();
    solver
}

/// Returns the fixed box and the one that has moved.
fn both(detail: usize) -> [Solver; 2] {
    let solvers = [false, true].map(|follow| ball(follow, detail));
    let origin = solvers[1].config().origin;
    assert!(origin.iter().all(|cell| *cell >= 8), "it has not moved along each axis: {origin:?}");
    assert!(solvers[1].config().dims.cells() < STAYS.pow(3));
    solvers
}

fn is_near(a: f32, b: f32) -> bool {
    (a - b).abs() <= 1e-4 * (1.0 + a.abs().max(b.abs()))
}

#[test]
fn a_vdb_file_of_a_box_that_has_moved_has_its_voxels_in_place() {
    for (detail, up) in [(1, Up::Y), (2, Up::Y), (1, Up::Z)] {
        let files = both(detail).map(|solver| {
            let mut file = Cursor::new(Vec::new());
            let options = VdbOptions { up, half: false, flame: None };
            write_vdb(&mut file, &solver, &Field::STORED, Frame { number: 1, rate: 24.0 }, options).unwrap();
            file.into_inner()
        });
        let readers = files.each_ref().map(|file| Reader::new(file).unwrap());
        let names: Vec<&str> = readers[0].names().collect();
        assert!(names.len() >= 3 && readers[1].names().eq(names.iter().copied()), "{names:?}");
        for name in names {
            let grids = readers.each_ref().map(|reader| reader.grid(name).unwrap());
            assert_eq!(grids[0].scale, grids[1].scale, "{name}");
            assert_eq!(grids[0].translation, grids[1].translation, "{name}");
            // With z up, y counts downwards.
            let n = (detail * STAYS) as i32;
            let first = if up == Up::Z { [0, -n, 0] } else { [0; 3] };
            let [stays, moved] = grids.map(|grid| grid.dense(first, [n as usize; 3]).unwrap());
            let held = stays[0].iter().filter(|x| **x != 0.0).count();
            assert!(held > 200, "{name}: {held} voxels");
            for (stays, moved) in stays.iter().zip(&moved) {
                let off = stays.iter().zip(moved).position(|(a, b)| !is_near(*a, *b));
                assert_eq!(off, None, "{name}, detail {detail}, {up:?}");
            }
        }
    }
}

/// Reads the cells, origin and spacing of a vti file, and the values of its first array.
fn image(file: &[u8]) -> ([usize; 3], [f64; 4], Vec<f32>) {
    let raw = file.windows(3).position(|bytes| bytes == b">\n_").unwrap() + 3;
    let head = std::str::from_utf8(&file[..raw]).unwrap();
    let numbers = |name: &str| -> Vec<f64> {
        let text = &head[head.find(&format!(" {name}=\"")).unwrap() + name.len() + 3..];
        text[..text.find('"').unwrap()].split(' ').map(|number| number.parse().unwrap()).collect()
    };
    let [extent, origin, spacing] = ["WholeExtent", "Origin", "Spacing"].map(numbers);
    let cells = [1, 3, 5].map(|n| extent[n] as usize);
    let values = file[raw + 8..].as_chunks::<4>().0.iter().map(|x| f32::from_le_bytes(*x));
    let values = values.take(cells.iter().product()).collect();
    (cells, [origin[0], origin[1], origin[2], spacing[0]], values)
}

#[test]
fn a_vti_file_of_a_box_that_has_moved_has_its_cells_in_place() {
    for detail in [1, 2] {
        let [stays, moved] = both(detail).map(|solver| {
            let mut file = Vec::new();
            write_vti(&mut file, &solver, &[Field::Red, Field::U]).unwrap();
            image(&file)
        });
        let ([nx, ny, nz], [x, y, z, h], values) = moved;
        assert_eq!(h, stays.1[3]);
        let first = [(x, 0), (y, 1), (z, 2)].map(|(x, a)| {
            let cells = (x - stays.1[a]) / h;
            assert!((cells - cells.round()).abs() < 1e-3, "{cells} cells");
            cells.round() as usize
        });
        let n = stays.0;
        let mut held = 0;
        for (at, value) in values.iter().enumerate() {
            let [i, j, k] = [at % nx + first[0], at / nx % ny + first[1], at / (nx * ny) + first[2]];
            let want = stays.2[i + n[0] * (j + n[1] * k)];
            assert!(is_near(*value, want), "detail {detail}, {i} {j} {k}: {value} for {want}");
            held += usize::from(want > 0.0);
        }
        assert!(values.len() == nx * ny * nz);
        assert_eq!(held, stays.2.iter().filter(|x| **x > 0.0).count(), "the smoke is in both");
    }
}

#[test]
fn probes_of_a_box_that_has_moved_measure_in_the_same_places() {
    let fields = [Field::Red, Field::Temperature, Field::U, Field::W];
    for detail in [1, 2] {
        let solvers = both(detail);
        let read = |probe: &Probe| solvers.each_ref().map(|solver| probe.measure(solver).unwrap());
        let point = ProbePlace::Point([2.13, 1.98, 2.02]);
        let line = ProbePlace::Line { from: [1.7, 1.9, 2.1], to: [2.6, 1.8, 2.2], points: 19 };
        let block = ProbePlace::Box { low: [1.9, 1.8, 2.0], high: [2.3, 2.1, 2.4] };
        for place in [point, line, block] {
            let [stays, moved] = read(&Probe::new("probe", &fields, place));
            assert_eq!(stays.len(), moved.len());
            for (a, b) in stays.iter().zip(&moved) {
                assert_eq!(a.at, b.at);
                let is_same = a.values.iter().zip(&b.values).all(|(a, b)| is_near(*a, *b));
                assert!(is_same, "detail {detail}, {place:?}: {:?} and {:?}", a.values, b.values);
            }
            assert!(stays.iter().any(|reading| reading.values[0] > 1.0), "no smoke at {place:?}");
        }
        // A mean over a plane times its area does not depend on the extent of the box.
        for (axis, at) in [(0, 2.2), (1, 1.9), (2, 2.1)] {
            let means = read(&Probe::new("probe", &fields[..2], ProbePlace::Plane { axis, at }));
            let area =
                |solver: &Solver| (solver.config().dims.cells() / solver.config().dims.array()[axis]) as f32;
            let [a, b] = [0, 1].map(|n| means[n][0].values[0] * area(&solvers[n]));
            assert!(a > 10.0 && is_near(a, b), "detail {detail}, plane across {axis}: {a} and {b}");
        }
    }
}
