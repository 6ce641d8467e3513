//! Files of several ranks against those of one process.

use std::io::Cursor;
use std::sync::Arc;

use super::*;
use crate::comm::{Comm, ThreadRanks};
use crate::solver::{BoundaryCondition, Config, Params};

/// Returns a box with smoke here and there after a step, and its files on the first of `size` ranks: both
/// kinds of volume with either axis up.
fn files(config: &Config, size: usize) -> Vec<Vec<u8>> {
    let write = |comm: Option<Arc<dyn Comm>>| {
        let config = Config { threads: 1, ..config.clone() };
        let corner = config.corner();
        let mut solver = Solver::on_ranks(config, Params::default(), vec![], comm).unwrap();
        solver.keep_pressure();
        solver.fill(
            |c, [x, y, z]| [(3.0 * y + 5.0 * z).sin(), (4.0 * z - x).cos(), (2.0 * x + 3.0 * y).sin()][c],
            |p| {
                let [x, y, z] = [0, 1, 2].map(|a| p[a] - corner[a]);
                [
                    (7.0 * z + x).sin().max(0.0),
                    (5.0 * z - y).cos().min(0.0).abs(),
                    0.0,
                    30.0 * (2.0 * z).sin(),
                ]
            },
        );
        solver.step(0.02).unwrap();
        solver.exchange_leaves();
        let frame = Frame { number: 3, rate: 24.0 };
        let mut found = Vec::new();
        for (up, half, flame) in [(Up::Y, false, None), (Up::Z, true, Some(600.0))] {
            let mut file = Cursor::new(Vec::new());
            write_vdb(&mut file, &solver, &Field::ALL, frame, VdbOptions { up, half, flame }).unwrap();
            found.push(file.into_inner());
        }
        // Only where there is no smoke of these colours is a file without active voxels.
        let mut file = Cursor::new(Vec::new());
        let options = VdbOptions { up: Up::Y, half: true, flame: None };
        write_vdb(&mut file, &solver, &[Field::Blue], frame, options).unwrap();
        found.push(file.into_inner());
        let mut file = Vec::new();
        write_vti(&mut file, &solver, &Field::ALL).unwrap();
        found.push(file);
        found
    };
    if size == 1 {
        return write(None);
    }
    ThreadRanks::run(size, |comm| write(Some(comm))).swap_remove(0)
}

#[test]
fn volumes_of_several_ranks_have_the_bytes_of_one_process() {
    let open = [BoundaryCondition::Open; 2];
    let periodic = [BoundaryCondition::Periodic; 2];
    // Uneven slabs that end within leaves; slabs thinner than a leaf; a box with two lower nodes along z; a box that has moved.
    let cases = [
        ([9, 6, 45], 1, [0, 0, 0], [open; 3]),
        ([6, 9, 17], 1, [0, 0, 0], [open, open, periodic]),
        ([5, 4, 141], 1, [-8, 8, -24], [open; 3]),
        ([5, 7, 18], 3, [-5, 0, 3], [open; 3]),
    ];
    for (cells, detail, origin, sides) in cases {
        let dims = Dims::new(cells).unwrap();
        let config = Config { detail, origin, sides, ..Config::new(dims, 0.1) };
        let whole = files(&config, 1);
        assert!(whole[0].len() > 10_000 && whole[3].len() > 10_000, "nothing is in them");
        for size in [2, 3, 4] {
            let parts = files(&config, size);
            for (n, (found, want)) in parts.iter().zip(&whole).enumerate() {
                let place = found.iter().zip(want).position(|(a, b)| a != b);
                assert!(found == want, "{cells:?}, file {n} of {size} ranks differs at byte {place:?}");
            }
        }
    }
}
