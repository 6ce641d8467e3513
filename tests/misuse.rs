//! A program that uses the library gets a typed error, or the documented effect, for each call that makes no sense.

use updraft::{Config, Dims, Params, Solver};

fn config(cells: [usize; 3]) -> Config {
    Config { threads: 2, ..Config::new(Dims::new(cells).unwrap(), 0.1) }
}

fn solver(config: Config) -> Solver {
    Solver::new(config, Params::default(), vec![]).unwrap()
}

/// The documented place of a cell, with any detail.
#[test]
fn an_edited_cell_of_finer_smoke_is_the_one_at_smoke_layout() {
    for detail in [1, 2, 3] {
        let mut solver = solver(Config { detail, ..config([6, 5, 4]) });
        let (layout, h) = (solver.smoke_layout(), f64::from(solver.config().smoke_h()));
        for cell in [[0, 0, 0], [5, 4, 3], [6 * detail - 1, 5 * detail - 1, 4 * detail - 1]] {
            solver.clear();
            let [i, j, k] = cell.map(|n| n as isize);
            solver.edit_scalars(|scalars| scalars[layout.at(i, j, k)] = [1.0; 4]).unwrap();
            let mass = solver.stats().mass[0];
            assert!((mass / h.powi(3) - 1.0).abs() < 1e-5, "detail {detail}, {cell:?}: {mass}");
        }
    }
}

/// Programs copy what they read: none of the pages shows smoke in the layout of the velocity.
#[test]
fn pages_and_examples_index_smoke_by_its_own_layout() {
    let pages = [
        include_str!("../src/lib.rs"),
        include_str!("../docs/book/embedding.md"),
        include_str!("../examples/embed.rs"),
        include_str!("../examples/custom.rs"),
    ];
    for page in pages {
        for line in page.lines().filter(|line| line.contains("scalars()[") || line.contains("layout =")) {
            assert!(!line.contains("solver.layout()"), "{line}");
        }
        assert!(page.contains("smoke_layout()"));
    }
}
