//! A box that follows its smoke, beside one that is large from the start.

use updraft::grid::Dims;
use updraft::solver::{BoundaryCondition, Config, Follow, Params, Region, Solver, Source};

const H: f32 = 1.0 / 32.0;

/// A box of `cells` over a floor, open at all other sides.
fn config(cells: [usize; 3], origin: [i32; 3], follow: bool) -> Config {
    let mut config = Config::new(Dims::new(cells).unwrap(), H);
    config.sides = [[BoundaryCondition::Open; 2]; 3];
    config.sides[1][0] = BoundaryCondition::Closed;
    config.origin = origin;
    config.threads = 2;
    config.follow = Follow { on: follow, ..Follow::default() };
    config
}

/// Hot smoke from a disc above the middle of the floor of the first 48 cells, until `stop`.
fn source(stop: f32) -> Source {
    let region = Region::disc([24.0 * H, 0.2, 24.0 * H], 0.2, [0.0, 1.0, 0.0], 0.1);
    Source { stop, ..Source::new(region, [3.0, 1.0, 0.0, 400.0]) }
}

fn params() -> Params {
    let mut params = Params { cooling: 0.1, vorticity: 0.2, ..Params::default() };
    params.smoke.iter_mut().for_each(|smoke| smoke.dissipation = 0.0);
    params
}

fn solver(config: Config, stop: f32) -> Solver {
    Solver::new(config, params(), vec![source(stop)]).unwrap()
}

fn advance(solver: &mut Solver, steps: usize) {
    (0..steps).for_each(|_| drop(solver.step(0.04).unwrap()));
}

/// All values inside the box as bits.
fn bits(solver: &Solver) -> Vec<u32> {
    let fields = solver.velocity().iter().flatten().chain(solver.scalars().as_flattened());
    fields.map(|x| x.to_bits()).collect()
}

/// Centroid, upper edge and standard deviation along x of the red smoke \[m\].
#[derive(Debug)]
struct Spread {
    centroid: [f64; 3],
    top: f64,
    width: f64,
}

fn red(solver: &Solver) -> Spread {
    let (layout, corner, h) = (solver.layout(), solver.config().corner(), f64::from(H));
    let [nx, ny, nz] = layout.dims.array();
    let (mut sums, mut top) = ([0.0; 5], 0.0f64);
    for (j, k) in (0..nz).flat_map(|k| (0..ny).map(move |j| (j, k))) {
        for (i, cell) in solver.scalars()[layout.start(j, k)..][..nx].iter().enumerate() {
            let place: [f64; 3] = std::array::from_fn(|a| f64::from(corner[a]) + h * ([i, j, k][a] as f64 + 0.5));
            let red = f64::from(cell[0]);
            let terms = [1.0, place[0], place[1], place[2], place[0] * place[0]];
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += red * term);
            if red > 0.02 {
                top = top.max(place[1] + 0.5 * h);
            }
        }
    }
    let [mass, x, y, z, xx] = sums;
    let centroid = [x / mass, y / mass, z / mass];
    Spread { centroid, top, width: (xx / mass - centroid[0] * centroid[0]).sqrt() }
}

#[test]
fn a_box_that_needs_not_move_has_the_bits_of_one_that_cannot() {
    let [mut still, mut follows] = [false, true].map(|on| solver(config([64, 72, 64], [-8, 0, -8], on), 9.0));
    [&mut still, &mut follows].into_iter().for_each(|solver| advance(solver, 12));
    assert_eq!(follows.config().dims.array(), [64, 72, 64], "it has moved");
    assert!(bits(&still) == bits(&follows));
}

#[test]
fn a_plume_rises_as_in_a_large_box() {
    let mut large = solver(config([96, 128, 96], [-24, 0, -24], false), 1.0);
    let mut follows = solver(config([48, 48, 48], [0; 3], true), 1.0);
    let mut moves = 0;
    for step in 0..100 {
        let before = follows.config().clone();
        advance(&mut large, 1);
        advance(&mut follows, 1);
        let after = follows.config();
        moves += u32::from((before.dims, before.origin) != (after.dims, after.origin));
        if step % 10 == 9 {
            let [a, b] = [red(&large), red(&follows)];
            println!(
                "{step}: {:?}+{:?} top {:.3} {:.3} centroid {:.3} {:.3} width {:.3} {:.3} mass {:.5} {:.5} {:?}",
                after.origin, after.dims.array(), a.top, b.top, a.centroid[1], b.centroid[1], a.width, b.width,
                large.stats().mass[0], follows.stats().mass[0], follows.stats().left.map(|l| l[0]),
            );
        }
    }
    println!("{moves} moves");
    let [a, b] = [red(&large), red(&follows)];
    assert!(moves > 1 && follows.config().dims.cells() < large.config().dims.cells(), "{:?}", follows.config());
    assert!((a.top - b.top).abs() < 0.03 * a.top, "{a:?}, {b:?}");
    assert!((a.centroid[1] - b.centroid[1]).abs() < 0.03 * a.centroid[1], "{a:?}, {b:?}");
    let mass = [&large, &follows].map(|solver| solver.stats().mass[0]);
    assert!((mass[0] - mass[1]).abs() < 1e-3 * mass[0], "{mass:?}");
}
