//! Starts of scenes: initial fields from formulas and files.

use super::*;

/// Fields with a different value at every point are set at their points.
#[test]
fn initial_fields_are_set_at_their_points() {
    let dir = tempfile::tempdir().unwrap();
    let small = "[domain]\ncells = [5, 6, 7]\nwalls = 'open'\n[initial]\nfields = 'start.npz'\n";
    std::fs::write(dir.path().join("s.toml"), small).unwrap();
    let shape = [5, 6, 7];
    let values: Vec<f32> = (0..210).map(|n| n as f32).collect();
    let red = crate::npz::Array { shape, values };
    let file = std::fs::File::create(dir.path().join("start.npz")).unwrap();
    crate::npz::write(file, &[("time", 3.0)], [("red", red.clone())]).unwrap();
    let path = dir.path().join("s.toml").display().to_string();
    let solver = Scene::load(&path, &[]).unwrap().solver().unwrap();
    assert_eq!(crate::field::Field::Red.array(&solver).unwrap(), red);
    let wrong = Scene::load(&path, &["domain.cells=[5, 6, 8]".into()]).unwrap_err().to_string();
    assert!(wrong.contains("s.toml:5:10: initial.fields: "), "{wrong}");
    assert!(wrong.contains("`red` has the shape [5, 6, 7]; this scene needs [5, 6, 8]"), "{wrong}");
}

/// Such a frame also has the place of its box. A box that has grown is refused by its shape.
#[test]
fn a_frame_of_a_box_that_followed_its_smoke_is_an_initial_field() {
    let dir = tempfile::tempdir().unwrap();
    let small = "[domain]\ncells = [2, 3, 4]\nwalls = 'open'\n[initial]\nfields = 'start.npz'\n";
    std::fs::write(dir.path().join("s.toml"), small).unwrap();
    let file = std::fs::File::create(dir.path().join("start.npz")).unwrap();
    let numbers = ["cells_x", "cells_y", "cells_z", "first_x", "first_y", "first_z"].map(|name| (name, 2.0));
    let red = crate::npz::Array { shape: [2, 3, 4], values: vec![0.5; 24] };
    crate::npz::write(file, &numbers, [("red", red.clone())]).unwrap();
    let path = dir.path().join("s.toml").display().to_string();
    let solver = Scene::load(&path, &[]).unwrap().solver().unwrap();
    assert_eq!(crate::field::Field::Red.array(&solver).unwrap(), red);
    let grown = Scene::load(&path, &["domain.cells=[2, 3, 5]".into()]).unwrap_err().to_string();
    assert!(grown.contains("`red` has the shape [2, 3, 4]; this scene needs [2, 3, 5]"), "{grown}");
}

#[test]
fn formulas_are_sampled_at_the_points_of_their_field() {
    use crate::field::Field;
    let text = "[domain]\ncells = [5, 6, 7]\nvoxel = 0.5\nwalls = 'open'\n[solver]\nflow = 'frozen'\n\
                [initial]\nu = 'x + 10 * y'\nv = 'y + 10 * z'\nw = 'z + 10 * x'\ntemperature = 'a * y + z'\n\
                blue = 3\nlet = { a = '2 * x' }";
    let solver = Scene::parse("s", text).unwrap().solver().unwrap();
    let at = |field: Field, i: usize, j: usize, k: usize| {
        let array = field.array(&solver).unwrap();
        array.values[i + array.shape[0] * (j + array.shape[1] * k)]
    };
    assert_eq!(at(Field::U, 2, 3, 4), 1.0 + 17.5, "x face: (1, 1.75, 2.25)");
    assert_eq!(at(Field::V, 2, 3, 4), 1.5 + 22.5, "y face: (1.25, 1.5, 2.25)");
    assert_eq!(at(Field::W, 2, 3, 4), 2.0 + 12.5, "z face: (1.25, 1.75, 2)");
    assert_eq!(at(Field::Temperature, 2, 3, 4), 2.0 * 1.25 * 1.75 + 2.25);
    assert_eq!(at(Field::Blue, 0, 0, 0), 3.0);
    assert_eq!(at(Field::Red, 0, 0, 0), 0.0);
}

#[test]
fn a_cell_that_an_edge_cuts_starts_with_its_share() {
    use crate::field::Field;
    let red = |cells: &str, formula: &str| {
        let text = format!("[domain]\ncells = {cells}\nvoxel = 1\n[initial]\nred = '{formula}'\ngreen = 'x'");
        Field::Red.array(&Scene::parse("s", &text).unwrap().solver().unwrap()).unwrap().values
    };
    assert_eq!(red("[3, 1, 1]", "x < 1.25"), [1.0, 0.25, 0.0]);
    assert_eq!(red("[1, 3, 2]", "y < 1.75"), [1.0, 0.75, 0.0, 1.0, 0.75, 0.0]);
    // A quarter of the first cell's corner; in three dimensions a 64th.
    assert_eq!(red("[2, 2, 1]", "(x < 0.5) * (y < 0.5)"), [0.25, 0.0, 0.0, 0.0]);
    assert_eq!(red("[2, 2, 2]", "max(x, max(y, z)) < 0.25")[0], 1.0 / 64.0);
}

#[test]
fn formulas_win_over_the_file_and_come_from_overrides() {
    use crate::field::Field;
    let dir = tempfile::tempdir().unwrap();
    let small = "[domain]\ncells = [2, 1, 1]\n[initial]\nfields = 'start.npz'\ngreen = 5\n";
    let path = dir.path().join("s.toml");
    std::fs::write(&path, small).unwrap();
    let array = |value| crate::npz::Array { shape: [2, 1, 1], values: vec![value; 2] };
    let file = std::fs::File::create(dir.path().join("start.npz")).unwrap();
    crate::npz::write(file, &[], [("red", array(1.0)), ("green", array(2.0)), ("blue", array(3.0))]).unwrap();
    let load = |set: &str| Scene::load(&path.display().to_string(), &[set.into()]);
    let solver = load("initial.blue=k * 7 * (x >= 0)").map_err(|e| e.to_string());
    assert!(
        solver
            .unwrap_err()
            .contains("--set initial.blue=k * 7 * (x >= 0):1:15: initial.blue: unknown name `k`")
    );
    let solver = load("initial.blue=7 * (x > 0)").unwrap().solver().unwrap();
    let first = |field: Field| field.array(&solver).unwrap().values[0];
    assert_eq!([Field::Red, Field::Green, Field::Blue].map(first), [1.0, 5.0, 7.0]);
}

#[test]
fn a_singular_point_between_the_trials_is_reported_when_the_box_is_filled() {
    let text = "[domain]\ncells = [128, 1, 1]\nvoxel = 1\n[initial]\nu = '1 / (x - 64)'";
    let scene = Scene::parse("s", text).unwrap();
    let error = scene.solver().err().unwrap().to_string();
    assert_eq!(error, "initial.u: it is inf at [64.0, 0.5, 0.5] m; it must lie within ±1e6 everywhere");
}

/// An initial field of zeros changes no bit of the flow.
#[test]
fn a_scene_starts_alike_with_and_without_initial_fields() {
    let inflow = "walls = { x_min = { inflow = { velocity = [0.5, 0, 0], red = 2 } }, x_max = 'open' }";
    let open = "walls = { x = 'open' }";
    let piston = "[[solid]]\nshape = { box = { size = [0.2, 1, 1] } }\n\
                  keyframes = [[0, [0.4, 0.2, 0.2]], [0.5, [0.6, 0.2, 0.2]]]\n";
    for (walls, solids) in [(inflow, ""), (open, piston)] {
        let text =
            format!("source = []\n[domain]\ncells = [20, 8, 8]\nvoxel = 0.05\n{walls}\n{solids}[initial]\n");
        let mut runs = ["", "blue = '0'"].map(|initial| {
            let scene = Scene::parse("s.toml", &format!("{text}{initial}")).unwrap();
            let solver = scene.solver().unwrap();
            assert_eq!(solver.stats().left, Some([0.0; 4]), "the first row has all columns");
            solver
        });
        for step in 0..3 {
            let [without, with] = &mut runs;
            assert_eq!(without.velocity(), with.velocity(), "{walls}, step {step}");
            assert_eq!(without.scalars(), with.scalars(), "{walls}, step {step}");
            assert_eq!(without.solid_forces(), with.solid_forces(), "{walls}, step {step}");
            runs.iter_mut().for_each(|solver| solver.step(0.04).map(drop).unwrap());
        }
        let pushed = runs[0].solid_forces().first().map_or(-1.0, |force| force[0]);
        assert!(pushed < 0.0, "the first step pushes the piston back");
    }
}

/// An inflow brings its smoke from the first instant on, with steps of any length.
#[test]
fn an_inflow_brings_its_smoke_from_the_start() {
    let text = "source = []\n[domain]\ncells = [20, 8, 8]\nvoxel = 0.05\n\
                walls = { x_min = { inflow = { velocity = [0.5, 0, 0], red = 2 } }, x_max = 'open', y = 'closed', z = 'periodic' }\n\
                [smoke.red]\ndissipation = 0\n";
    let scene = Scene::parse("s.toml", text).unwrap();
    for steps in [3, 12] {
        let from_scene = scene.solver().unwrap();
        let built = Solver::new(scene.config.clone(), scene.params.clone(), vec![]).unwrap();
        for mut solver in [from_scene, built] {
            (0..steps).for_each(|_| solver.step(0.5 / steps as f32).map(drop).unwrap());
            assert!(
                (solver.stats().mass[0] / 0.08 - 1.0).abs() < 1e-5,
                "{steps} steps: {:?}",
                solver.stats().mass
            );
        }
    }
}
