//! Boxes of few columns and many planes: what a rank reads beside its slab is far less than the box, so a missing exchange shows.

use super::tests::*;
use crate::solver::{
    Advection, BoundaryCondition, Config, Params, Projection, Shape, Slip, Solid, TimeControl,
};

/// Air that blows along z in both directions, up to `speed`, through smoke in all planes.
fn blown(speed: f32) -> impl Fn(&mut crate::solver::Solver) + Sync {
    move |solver| {
        solver.fill(
            move |c, [x, y, z]| match c {
                0 => 0.3 * speed * (3.0 * z + y).sin(),
                1 => 0.3 * speed * (2.0 * z - x).cos(),
                _ => speed * (4.0 * x + 0.5).sin() * (3.0 * y).cos(),
            },
            |[x, y, z]| {
                [0.5 + 0.5 * (9.0 * z).sin(), (4.0 * z + x).cos().max(0.0), 0.0, 30.0 * (5.0 * z + y).sin()]
            },
        );
    }
}

/// Plates across z at several heights, each with room at its sides, and a thick no-slip bar along z.
fn plates() -> Vec<Solid> {
    let plate = |n: usize| {
        let at = [0.3 + 0.1 * (n % 3) as f32, 0.4, 0.35 + 0.5 * n as f32];
        Solid { temperature: Some(20.0), ..Solid::new(Shape::Box { size: [0.45, 0.5, 0.05] }, at) }
    };
    let bar =
        Solid { slip: Slip::None, ..Solid::new(Shape::Box { size: [0.13, 0.14, 3.3] }, [0.7, 0.2, 2.05]) };
    (0..8).map(plate).chain([bar]).collect()
}

fn among(solids: Vec<Solid>, speed: f32) -> impl Fn(&mut crate::solver::Solver) + Sync {
    move |solver| {
        blown(speed)(solver);
        solver.set_solids(solids.clone()).unwrap();
    }
}

/// A rank finds the closed faces up to five planes beside its slab, and sweeps of fast air read as far. Small plates lie there.
#[test]
fn fast_sweeps_past_plates_have_the_bytes_of_one_process() {
    let plates: Vec<Solid> = [5, 8, 15, 18, 22, 25, 32, 35]
        .into_iter()
        .flat_map(|face| [0, 1, 2].map(|n| (face, (face + n) % 3, n)))
        .map(|(face, i, n)| {
            let at = [0.25 + 0.2 * i as f32, 0.15 + 0.25 * n as f32, 0.1 * face as f32];
            Solid::new(Shape::Box { size: [0.13, 0.13, 0.05] }, at)
        })
        .collect();
    let time = TimeControl { cfl: 1.0, max_substeps: 1 };
    for speed in [4.0, -4.0, 30.0, -30.0] {
        let blows = inflow([0.0, 0.0, speed]);
        let ends =
            if speed > 0.0 { [blows, BoundaryCondition::Open] } else { [BoundaryCondition::Open, blows] };
        for ends in [ends, PERIODIC] {
            let config = Config { time, ..scene([9, 8, 41], [CLOSED, CLOSED, ends]) };
            check(&format!("fast past plates, {speed}"), &config, &params(), |solver| {
                solver.fill(
                    |c, [x, y, _]| if c == 2 { speed * (1.0 + 0.1 * (5.0 * x + 3.0 * y).sin()) } else { 0.0 },
                    |[x, y, z]| {
                        [
                            0.5 + 0.5 * (19.0 * z + x).sin(),
                            (11.0 * z).cos().max(0.0),
                            0.0,
                            9.0 * (15.0 * z + y).sin(),
                        ]
                    },
                );
                solver.set_solids(plates.clone()).unwrap();
            });
        }
    }
}

/// A plate along z divides the box into two closed regions through all slabs; viscosity meets plates across z.
#[test]
fn closed_regions_and_links_through_all_slabs_have_the_bytes_of_one_process() {
    let wall = Solid::new(Shape::Box { size: [0.05, 3.0, 9.0] }, [0.47, 0.4, 2.0]);
    let thick = Params { viscosity: 0.05, conduction: 0.03, ..params() };
    let solids: Vec<Solid> = plates().into_iter().chain([wall]).collect();
    for sides in [[CLOSED; 3], [CLOSED, OPEN, PERIODIC]] {
        check("divided", &scene([9, 8, 43], sides), &thick, among(solids.clone(), 1.5));
    }
}

#[test]
fn interpolated_finer_smoke_has_the_bytes_of_one_process() {
    for (n, advection) in [Advection::Cubic, Advection::MacCormack].into_iter().enumerate() {
        let sides = [CLOSED, [BoundaryCondition::Closed, BoundaryCondition::Open], [PERIODIC, OPEN][n]];
        let config = Config { detail: 2, advection, ..scene([7, 8, 41], sides) };
        check(&format!("finer, {advection:?}"), &config, &params(), blown(4.0));
    }
}

/// Cells of one colour are neighbours around odd periodic axes.
#[test]
fn relaxation_around_odd_periodic_axes_has_the_bytes_of_one_process() {
    let sides = [PERIODIC, CLOSED, PERIODIC];
    for projection in [Projection::GaussSeidel { sweeps: 9 }, Projection::Multigrid] {
        for cells in [[7, 8, 41], [8, 7, 42]] {
            let config = Config { projection, ..scene(cells, sides) };
            check(&format!("{projection:?} {cells:?}"), &config, &params(), blown(1.5));
        }
    }
    let config =
        Config { projection: Projection::GaussSeidel { sweeps: 9 }, ..scene([9, 8, 40], [CLOSED; 3]) };
    check("sweeps between walls", &config, &params(), blown(1.5));
}

/// Large enough that the first coarse grid has slabs too: it needs weights farther beside them than a rank finds solids. Every second
/// solid moves, so rows of weights change there.
#[test]
fn coarse_grids_among_solids_in_all_planes_have_the_bytes_of_one_process() {
    let solid = |n: usize| {
        let at = [0.3 + 0.37 * (n % 4) as f32, 0.35 + 0.29 * (n % 5) as f32, 0.15 + 0.16 * n as f32];
        let to = [at[0] + 0.2, at[1], (at[2] + 0.3).min(4.2)];
        let ball = Solid::new(Shape::Sphere { radius: 0.17 }, at);
        match n % 2 {
            0 => Solid { keyframes: vec![(0.0, at), (0.3, to)], ..ball },
            _ => Solid::new(Shape::Box { size: [0.5, 0.3, 0.04] }, at),
        }
    };
    let solids: Vec<Solid> = (0..26).map(solid).collect();
    check("coarse grids", &scene([20, 21, 43], [CLOSED; 3]), &params(), among(solids, 1.5));
}
