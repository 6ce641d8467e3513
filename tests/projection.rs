//! Checks that the projection leaves no divergence, for all sides and shapes of the box.

mod common;

use common::{all, config, inert, noise};
use updraft::solver::{Advection, BoundaryCondition, BoundaryConditions, Solver};

fn projected(cells: [usize; 3], sides: BoundaryConditions) -> Solver {
    let mut solver =
        Solver::new(config(cells, 0.1, sides, Advection::SemiLagrangian), inert(), vec![]).unwrap();
    solver.fill(noise, |_| [0.0; 4]);
    solver
}

/// Returns every mix of closed and open sides: 2⁶.
fn mixes() -> impl Iterator<Item = BoundaryConditions> {
    (0..64u32).map(|bits| {
        let side =
            |n: u32| if bits >> n & 1 == 1 { BoundaryCondition::Open } else { BoundaryCondition::Closed };
        [[side(0), side(1)], [side(2), side(3)], [side(4), side(5)]]
    })
}

#[test]
fn no_divergence_is_left_for_any_mix_of_sides_and_awkward_sizes() {
    for cells in [[7, 11, 16], [1, 5, 3], [33, 2, 31], [16, 37, 1], [40, 13, 9]] {
        for sides in mixes() {
            let left = projected(cells, sides).stats().divergence_after;
            assert!(left < 2e-5, "{cells:?} {sides:?}: {left}");
        }
    }
}

#[test]
fn larger_boxes_stay_at_rounding_level() {
    for (cells, bound) in [([64, 64, 64], 6e-5), ([96, 144, 96], 1e-4), ([127, 61, 128], 1e-4)] {
        for sides in [
            all(BoundaryCondition::Closed),
            all(BoundaryCondition::Open),
            [
                [BoundaryCondition::Closed; 2],
                [BoundaryCondition::Closed, BoundaryCondition::Open],
                [BoundaryCondition::Closed; 2],
            ],
        ] {
            let left = projected(cells, sides).stats().divergence_after;
            assert!(left < bound, "{cells:?} {sides:?}: {left}");
        }
    }
}

#[test]
fn air_crosses_open_sides_only() {
    let sides = [
        [BoundaryCondition::Closed, BoundaryCondition::Open],
        [BoundaryCondition::Open, BoundaryCondition::Closed],
        [BoundaryCondition::Closed; 2],
    ];
    let solver = projected([8, 9, 10], sides);
    let layout = solver.layout();
    let n = layout.dims.array().map(|n| n as isize);
    for axis in 0..3 {
        for high in [false, true] {
            let mut most = 0.0f32;
            for a in 0..n[(axis + 1) % 3] {
                for b in 0..n[(axis + 2) % 3] {
                    let mut at = [0; 3];
                    at[axis] = if high { n[axis] } else { 0 };
                    (at[(axis + 1) % 3], at[(axis + 2) % 3]) = (a, b);
                    most = most.max(solver.velocity()[axis][layout.at(at[0], at[1], at[2])].abs());
                }
            }
            let open = sides[axis][usize::from(high)] == BoundaryCondition::Open;
            assert_eq!(most > 0.0, open, "axis {axis} high {high}: fastest {most}");
        }
    }
}

#[test]
fn a_flow_without_divergence_is_left_as_it_is() {
    // A rigid rotation about y inside an open box: u = −(z − c), w = x − c.
    let sides = all(BoundaryCondition::Open);
    let mut solver =
        Solver::new(config([20, 6, 20], 0.1, sides, Advection::SemiLagrangian), inert(), vec![]).unwrap();
    let flow = |component: usize, [x, _, z]: [f32; 3]| match component {
        0 => -(z - 1.0),
        1 => 0.0,
        _ => x - 1.0,
    };
    solver.fill(flow, |_| [0.0; 4]);
    let layout = solver.layout();
    for k in 0..20 {
        for j in 0..6 {
            for i in 0..=20 {
                let got = solver.velocity()[0][layout.at(i, j, k)];
                let want = -((k as f32 + 0.5) * 0.1 - 1.0);
                assert!((got - want).abs() < 2e-5, "u at {i} {j} {k}: {got} for {want}");
            }
        }
    }
}

/// Returns every pair of an axis' sides that the direct solver handles, with periodic sides and inflows.
fn pairs() -> Vec<[BoundaryCondition; 2]> {
    let inflow = BoundaryCondition::Inflow(updraft::solver::Inflow {
        velocity: [0.3, 0.3, 0.3],
        ..Default::default()
    });
    vec![
        [BoundaryCondition::Closed; 2],
        [BoundaryCondition::Closed, BoundaryCondition::Open],
        [BoundaryCondition::Open, BoundaryCondition::NoSlip([0.0; 3])],
        [BoundaryCondition::Open; 2],
        [BoundaryCondition::Periodic; 2],
        [inflow, BoundaryCondition::Open],
        [BoundaryCondition::Open, inflow],
    ]
}

#[test]
fn periodic_and_inflow_sides_mix_with_all_others() {
    for cells in [[9, 12, 7], [1, 8, 33], [16, 1, 5], [5, 6, 1]] {
        for x in pairs() {
            for y in pairs() {
                for z in pairs() {
                    let left = projected(cells, [x, y, z]).stats().divergence_after;
                    assert!(left < 2e-5, "{cells:?} {x:?} {y:?} {z:?}: {left}");
                }
            }
        }
    }
}
