//! Checks that a solver whose state was written and read continues with the same bits, for every configuration.

use std::io::Cursor;

use updraft::field::Field;
use updraft::scene::Scene;
use updraft::solver::Solver;

const SCENE: &str = "
    [domain]
    cells = [14, 18, 12]
    voxel = 0.05
    walls = { y_max = 'open', z = 'periodic' }
    [fluid]
    viscosity = 0.001
    conduction = 0.001
    [[source]]
    shape = { sphere = { center = [0.35, 0.15, 0.3], radius = 0.12 } }
    emit = { red = 6.0, blue = 3.0, heat = 300.0 }
    velocity = [0.1, 1.5, 0.2]
    noise = { strength = 0.8, scale = 0.1, speed = 3.0 }
    [[force]]
    wind = { velocity = [0.4, 0.0, 0.1], rate = 2.0 }
";

const SOLIDS: [&str; 4] = [
    "",
    "[[solid]]
    shape = { sphere = { radius = 0.12 } }
    keyframes = [[0.0, [0.2, 0.5, 0.3]], [1.0, [0.6, 0.6, 0.3]]]
    slip = 'none'
    temperature = 40.0",
    "[[solid]]
    shape = { box = { size = [0.4, 0.08, 0.1] } }
    position = [0.35, 0.5, 0.3]
    spin = [0.0, 0.0, 400.0]",
    "[[solid]]
    shape = { box = { size = [0.2, 0.2, 0.2] } }
    position = [0.35, 0.5, 0.3]",
];

fn scene(advection: &str, integrator: &str, solids: &str, more: &[&str]) -> Scene {
    let mut overrides =
        vec![format!("solver.advection={advection}"), format!("solver.integrator={integrator}")];
    overrides.extend(more.iter().map(|&set| set.to_owned()));
    Scene::parse_with("resume", &format!("{SCENE}{solids}"), &overrides).expect("a scene")
}

fn run(solver: &mut Solver, steps: usize) {
    (0..steps).for_each(|_| {
        solver.step(0.04).expect("a step");
    });
}

/// Returns all results of a solver.
fn results(solver: &Solver) -> (Vec<Vec<u32>>, String) {
    let bits = |field: Field| field.array(solver).unwrap().values.iter().map(|x| x.to_bits()).collect();
    let mut stats = solver.stats().clone();
    stats.stages = Default::default();
    let statistics = format!("{stats:?} {:?} {:?}", solver.solid_forces(), solver.solid_pressures());
    (Field::STORED.map(bits).to_vec(), statistics)
}

#[track_caller]
fn assert_continues(mut scene: Scene, what: &str) {
    scene.config.threads = 1;
    let mut uninterrupted = scene.solver().expect("a solver");
    run(&mut uninterrupted, 2);
    let mut state = Vec::new();
    uninterrupted.save(Cursor::new(&mut state)).expect("memory");
    let saved = results(&uninterrupted);
    run(&mut uninterrupted, 3);
    scene.config.threads = 2;
    let mut resumed = scene.solver().expect("a solver");
    resumed.load(Cursor::new(&state)).expect("a state");
    assert!(results(&resumed) == saved, "{what}: the state is another one at once");
    run(&mut resumed, 3);
    assert!(results(&resumed) == results(&uninterrupted), "{what}: the run went on another way");
}

#[test]
fn every_solver_goes_on_with_the_same_bits() {
    for advection in ["semi-lagrangian", "monotone", "maccormack", "cubic", "lagrange", "conservative"] {
        for integrator in ["projection", "reflection"] {
            for (n, solids) in SOLIDS.into_iter().enumerate() {
                assert_continues(
                    scene(advection, integrator, solids, &[]),
                    &format!("{advection}, {integrator}, solids {n}"),
                );
            }
        }
    }
}

/// The width of the band of cells around a solid whose backtraces avoid it follows the present speed of the
/// air, not an earlier one.
#[test]
fn air_that_has_slowed_beside_a_solid_goes_on_with_the_same_bits() {
    let gust = "
    [[source]]
    shape = { sphere = { center = [0.35, 0.5, 0.3], radius = 0.3 } }
    emit = { red = 6.0 }
    velocity = [1.0, 6.0, 2.0]
    stop = 0.04";
    for advection in ["semi-lagrangian", "maccormack", "lagrange"] {
        let solids = format!("{}{gust}", SOLIDS[3]);
        assert_continues(scene(advection, "trapezoid", &solids, &["fluid.friction=25"]), advection);
    }
}

#[test]
fn every_projection_and_side_goes_on_with_the_same_bits() {
    let cases: [&[&str]; 5] = [
        &["solver.projection=multigrid"],
        &["solver.projection='gauss-seidel'"],
        &["domain.walls=closed", "fluid.ambient=mean"],
        &["domain.walls={ x = { no-slip = { velocity = [0, 1, 0] } }, y = 'open', z = 'closed' }"],
        &[
            "domain.walls={ x = 'open', y_min = { inflow = { velocity = [0, 1, 0] } }, y_max = 'open', z = 'open' }",
        ],
    ];
    for more in cases {
        for integrator in ["projection", "reflection"] {
            assert_continues(scene("cubic", integrator, "", more), &format!("{more:?}, {integrator}"));
        }
    }
    for (advection, solids) in
        [("conservative", SOLIDS[1]), ("conservative", SOLIDS[0]), ("maccormack", SOLIDS[1])]
    {
        assert_continues(
            scene(advection, "trapezoid", solids, &["domain.detail=2"]),
            &format!("detail 2, {advection}"),
        );
    }
    // The box is sealed around a moving body, so the solver compensates its losses.
    let more = ["domain.walls=closed", "fluid.viscosity=0"];
    assert_continues(scene("conservative", "projection", SOLIDS[1], &more), "sealed");
}

#[test]
fn the_state_of_another_solver_is_refused() {
    let mut ball = scene("cubic", "projection", SOLIDS[1], &[]).solver().expect("a solver");
    let mut state = Vec::new();
    ball.save(Cursor::new(&mut state)).expect("memory");
    let mut empty = scene("cubic", "projection", "", &[]).solver().expect("a solver");
    let refused = empty.load(Cursor::new(&state)).expect_err("no pressure is kept").to_string();
    assert!(refused.contains("red pressure"), "{refused}");
    let mut large =
        scene("cubic", "projection", SOLIDS[1], &["domain.cells=[16, 18, 12]"]).solver().expect("a solver");
    let refused = large.load(Cursor::new(&state)).expect_err("another size").to_string();
    assert!(refused.contains("another configuration"), "{refused}");
    for cut in [0, 5, state.len() / 2, state.len() - 1] {
        assert!(ball.load(Cursor::new(&state[..cut])).is_err(), "cut at {cut}");
    }
}
