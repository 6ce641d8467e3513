//! Compares iterative projections with the direct one, and checks their properties around solids.

use super::PressureBoundary::{Dirichlet, Neumann, Periodic};
use super::boundary::is_periodic;
use super::cuts::{cell_of, is_inside};
use super::iterative::Iterative;
use super::pcg::Residual;
use super::spectral::Spectral;
use super::*;
use crate::grid::Dims;

/// A pseudo-random number in −1..1.
fn noise(seed: usize) -> f32 {
    let mut x = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for _ in 0..3 {
        x ^= x >> 29;
        x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x ^= x >> 32;
    }
    (x >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}

fn is_wall(ends: AxisBoundary, high: bool) -> bool {
    ends[usize::from(high)] == Neumann
}

/// Calls `f(component, [i, j, k], position)` for each face in the box.
fn for_faces(layout: Layout, mut f: impl FnMut(usize, [usize; 3], usize)) {
    for component in 0..3 {
        for at in 0..layout.size() as u32 {
            let low = [
                at as usize % layout.row,
                at as usize % layout.plane / layout.row,
                at as usize / layout.plane,
            ];
            if low.iter().all(|&x| x >= crate::grid::GHOST)
                && is_inside(layout.dims, component, cell_of(layout, at))
            {
                f(component, cell_of(layout, at), at as usize);
            }
        }
    }
}

/// Noise and a smooth wind. Nothing crosses walls; periodic axes repeat.
fn flow(layout: Layout, ends: [AxisBoundary; 3]) -> Faces {
    let n = layout.dims.array();
    let mut velocity = [0, 1, 2].map(|_| vec![0.0; layout.size()]);
    for_faces(layout, |component, at, position| {
        let x = at[component];
        let wall =
            x == 0 && is_wall(ends[component], false) || x == n[component] && is_wall(ends[component], true);
        let mut source = at;
        if is_periodic(ends[component]) {
            source[component] %= n[component];
        }
        let wave =
            (0..3).map(|a| (source[a] as f32 / n[a] as f32 * 6.0 + component as f32).sin()).sum::<f32>();
        let seed = component + 3 * (source[0] + 1000 * (source[1] + 1000 * source[2]));
        velocity[component][position] = if wall { 0.0 } else { wave + 0.3 * noise(seed) };
    });
    velocity
}

/// Open fractions from `open(component, face)`. Sides of the box are not changed. Solids move with `speed`.
fn cuts(layout: Layout, speed: [f32; 3], open: impl Fn(usize, [usize; 3]) -> f32) -> Cuts {
    let mut faces = [vec![], vec![], vec![]];
    for_faces(layout, |component, at, position| {
        let open = open(component, at);
        if open < 1.0 {
            faces[component].push(Cut { at: position as u32, open, velocity: speed[component] });
        }
    });
    Cuts::new(faces)
}

/// A ball of radius 0.2 n in the middle, fractions by 4×4 samples of each face.
fn ball(layout: Layout) -> impl Fn(usize, [usize; 3]) -> f32 {
    let n = layout.dims.array().map(|n| n as f32);
    let radius = 0.2 * n[0].min(n[1]).min(n[2]);
    move |component, at| {
        let mut outside = 0;
        for s in 0..16 {
            let across = [(s % 4) as f32 / 4.0 + 0.125, (s / 4) as f32 / 4.0 + 0.125];
            let mut place = at.map(|x| x as f32);
            place[(component + 1) % 3] += across[0];
            place[(component + 2) % 3] += across[1];
            let r2: f32 = (0..3).map(|a| (place[a] - 0.5 * n[a]).powi(2)).sum();
            outside += usize::from(r2 > radius * radius);
        }
        let open = outside as f32 / 16.0;
        if open < 0.05 { 0.0 } else { open }
    }
}

/// Largest divergence of the flow through open parts of faces, over the largest velocity.
fn divergence_left(layout: Layout, velocity: &mut Faces, cuts: &mut Cuts) -> f32 {
    let speed = velocity.iter().flatten().fold(0.0f32, |a, b| a.max(b.abs()));
    let [nx, ny, nz] = layout.dims.array().map(|n| n as isize);
    cuts.exchange(velocity);
    let mut worst = 0.0f32;
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                let at = layout.at(i, j, k);
                let sum: f32 = layout.strides().iter().zip(&*velocity).map(|(s, f)| f[at + s] - f[at]).sum();
                worst = worst.max(sum.abs());
            }
        }
    }
    cuts.restore(velocity);
    worst / speed
}

fn repeat(layout: Layout, ends: [AxisBoundary; 3], velocity: &mut Faces) {
    let n = layout.dims.array();
    let stride = layout.strides();
    for axis in (0..3).filter(|&axis| is_periodic(ends[axis])) {
        for at in 0..layout.size() - n[axis] * stride[axis] {
            let index = [at % layout.row, at % layout.plane / layout.row, at / layout.plane];
            if index[axis] == crate::grid::GHOST {
                velocity[axis][at + n[axis] * stride[axis]] = velocity[axis][at];
            }
        }
    }
}

fn to(tolerance: f64) -> impl Fn(Residual) -> bool {
    move |r| r.norm <= tolerance
}

const ENDS: [AxisBoundary; 5] =
    [[Neumann; 2], [Dirichlet; 2], [Neumann, Dirichlet], [Dirichlet, Neumann], [Periodic; 2]];

#[test]
fn without_solids_multigrid_agrees_with_the_direct_solve() {
    let mixes = (0..125).map(|m| [ENDS[m % 5], ENDS[m / 5 % 5], ENDS[m / 25]]);
    for (m, ends) in mixes.enumerate() {
        let sizes = [[8, 8, 8], [7, 10, 5], [1, 9, 12], [6, 1, 1], [13, 4, 3], [2, 3, 1]];
        let layout = Layout::new(Dims::new(sizes[m % sizes.len()]).unwrap());
        let start = flow(layout, ends);
        let (mut direct, mut iterated) = (start.clone(), start);
        let mut spectrum = vec![0.0; Spectral::spectrum_size(layout.dims)];
        Spectral::new(layout, ends, 16).project(&mut direct, &mut spectrum, None, &Halt::never());
        repeat(layout, ends, &mut direct);
        let solve = Iterative::new(layout, ends, 16, &Ranks::default()).project(
            &mut iterated,
            &mut Cuts::default(),
            None,
            60,
            |r| r.max < 1e-6,
            &Halt::never(),
        );
        repeat(layout, ends, &mut iterated);
        let mut worst = 0.0f32;
        for_faces(layout, |c, _, at| worst = worst.max((direct[c][at] - iterated[c][at]).abs()));
        assert!(worst < 3e-5, "{:?} {ends:?}: differ by {worst} after {solve:?}", layout.dims);
    }
}

fn iterations(
    layout: Layout,
    ends: [AxisBoundary; 3],
    open: impl Fn(usize, [usize; 3]) -> f32,
) -> (u32, f32) {
    let mut velocity = flow(layout, ends);
    let mut cuts = cuts(layout, [0.3, -0.2, 0.1], open);
    cuts.close(&mut velocity);
    let mut solver = Iterative::new(layout, ends, 16, &Ranks::default());
    solver.set_cuts(&cuts);
    let norm = solver.project(&mut velocity.clone(), &mut cuts, None, 0, |_| false, &Halt::never()).rhs.norm;
    let solve = solver.project(&mut velocity, &mut cuts, None, 30, to(1e-5 * norm), &Halt::never());
    repeat(layout, ends, &mut velocity);
    cuts.close(&mut velocity);
    (solve.iterations, divergence_left(layout, &mut velocity, &mut cuts))
}

/// Solves around a moving ball and a moving plate, in boxes of n³ cells.
fn check_iterations(n: usize) {
    let layout = Layout::new(Dims::new([n, n, n]).unwrap());
    // An odd height: the plate runs between the two cells of every pair.
    let plate = |c: usize, at: [usize; 3]| {
        let within = at[0] > n / 4 && at[0] < 3 * n / 4 && at[2] > n / 4 && at[2] < 3 * n / 4;
        if c == 1 && at[1] == (n / 3) | 1 && within { 0.0 } else { 1.0 }
    };
    for ends in [
        [[Neumann; 2]; 3],
        [[Neumann; 2], [Neumann, Dirichlet], [Neumann; 2]],
        [[Dirichlet; 2]; 3],
        [[Periodic; 2], [Neumann; 2], [Neumann; 2]],
    ] {
        let found =
            [("ball", iterations(layout, ends, ball(layout))), ("plate", iterations(layout, ends, plate))];
        for (name, (count, left)) in found {
            println!("{name} {n} {ends:?}: {count} iterations to 1e-5, divergence {left:.1e}");
            assert!(count <= 10, "{name} {n} {ends:?}: {count} iterations");
            assert!(left < 2e-4, "{name} {n} {ends:?}: {left} left");
        }
    }
}

#[test]
fn iterations_do_not_grow_with_the_grid() {
    [32, 64, 96].into_iter().for_each(check_iterations);
}

#[test]
#[ignore = "minutes"]
fn iterations_do_not_grow_in_large_grids() {
    [128, 256].into_iter().for_each(check_iterations);
}

#[test]
fn the_operator_and_a_sweep_follow_their_formulas() {
    use super::level::Level;
    for n in [[4, 4, 4], [7, 5, 3], [18, 2, 3], [37, 3, 2]] {
        for beyond in [[[Neumann; 2]; 3], [[Dirichlet; 2]; 3], [[Periodic; 2]; 3]] {
            let mut level = Level::finest(n, beyond, 16, &Ranks::default());
            level.set(1, [n[0] / 2, 1, 1], 0.3);
            level.set(0, [n[0] / 2, 1, 1], 0.0);
            level.finish();
            let board = level.board;
            let cell = |at: [usize; 3]| board.at(at[0] as isize, at[1] as isize, at[2] as isize);
            let mut phi = board.field();
            let cells: Vec<[usize; 3]> =
                (0..n[0] * n[1] * n[2]).map(|c| [c % n[0], c / n[0] % n[1], c / (n[0] * n[1])]).collect();
            for (c, &at) in cells.iter().enumerate() {
                let (color, at) = cell(at);
                phi[color][at] = noise(c);
            }
            let plain = |phi: &super::red_black::Halves, at: [usize; 3]| {
                let (mut sum, mut diagonal) = (0.0, 0.0);
                let own = {
                    let (c, p) = cell(at);
                    phi[c][p]
                };
                for axis in 0..3 {
                    for high in [0, 1] {
                        let mut face = at;
                        face[axis] += high;
                        let w = level.weight(axis, face);
                        let mut next = at.map(|x| x as isize);
                        next[axis] += 2 * high as isize - 1;
                        let outside = next[axis] < 0 || next[axis] == n[axis] as isize;
                        let value = match beyond[0][0] {
                            _ if !outside => Some(next),
                            Periodic => {
                                next[axis] = next[axis].rem_euclid(n[axis] as isize);
                                Some(next)
                            }
                            _ => None,
                        };
                        let value = value.map_or(0.0, |x| {
                            let (c, p) = cell(x.map(|x| x as usize));
                            phi[c][p]
                        });
                        sum += w * value;
                        diagonal += w;
                    }
                }
                (diagonal * own - sum, sum, diagonal)
            };
            let mut out = board.field();
            level.apply(&mut phi, &mut out, &mut vec![0.0; n[2]]);
            for &at in &cells {
                let (color, place) = cell(at);
                let want = plain(&phi, at).0;
                assert!(
                    (out[color][place] - want).abs() < 1e-5,
                    "{n:?} {beyond:?} {at:?}: {} for {want}",
                    out[color][place]
                );
            }
            assert_eq!(
                out.iter().flatten().filter(|x| **x != 0.0).count(),
                cells.len(),
                "nothing beyond the box"
            );
            let rhs = board.field();
            for color in [0, 1] {
                let before = phi.clone();
                level.relax(color, &rhs, &mut phi);
                for &at in &cells {
                    let (of, place) = cell(at);
                    let (_, sum, diagonal) = plain(&before, at);
                    let want = if of == color { sum / diagonal } else { before[of][place] };
                    assert!((phi[of][place] - want).abs() < 1e-5, "{n:?} {beyond:?} {color} {at:?}");
                }
            }
        }
    }
}

#[test]
fn a_solve_after_solids_have_moved_equals_that_of_a_new_system() {
    let layout = Layout::new(Dims::new([21, 18, 15]).unwrap());
    let ends = [[Neumann; 2], [Periodic; 2], [Dirichlet; 2]];
    let plate = |height: usize| {
        move |c: usize, at: [usize; 3]| if c == 1 && at[1] == height && at[0] < 13 { 0.0 } else { 1.0 }
    };
    let solve = |solver: &mut Iterative, height: usize| {
        let mut cuts = cuts(layout, [0.0; 3], plate(height));
        solver.set_cuts(&cuts);
        let mut velocity = flow(layout, ends);
        let solve = solver.project(&mut velocity, &mut cuts, None, 7, |_| false, &Halt::never());
        (solve.residual.norm.to_bits(), velocity)
    };
    let mut moved = Iterative::new(layout, ends, 16, &Ranks::default());
    for height in [3, 4, 9, 16] {
        moved.set_cuts(&cuts(layout, [0.0; 3], ball(layout)));
        moved.set_cuts(&cuts(layout, [0.0; 3], plate(height + 1)));
        let fresh = solve(&mut Iterative::new(layout, ends, 16, &Ranks::default()), height);
        moved.forget();
        assert!(solve(&mut moved, height) == fresh, "height {height}");
    }
}

#[test]
fn closed_regions_are_counted() {
    use super::enclosed_regions::EnclosedRegions;
    use super::level::Level;
    let n = [9, 8, 7];
    let (wall, rest) = ([[Neumann; 2]; 3], [[Neumann; 2], [Neumann, Dirichlet], [Neumann; 2]]);
    // A plate across y at 4, and a single enclosed cell.
    let shut = |level: &mut Level| {
        for (i, k) in (0..n[0]).flat_map(|i| (0..n[2]).map(move |k| (i, k))) {
            level.set(1, [i, 4, k], 0.0);
        }
        for face in [(0, [2, 2, 2]), (0, [3, 2, 2]), (1, [2, 2, 2]), (1, [2, 3, 2]), (2, [2, 2, 2])] {
            level.set(face.0, face.1, 0.0);
        }
    };
    let count = |beyond, change: &dyn Fn(&mut Level)| {
        let mut level = Level::finest(n, beyond, 16, &Ranks::default());
        change(&mut level);
        level.finish();
        let mut enclosed_regions = EnclosedRegions::default();
        enclosed_regions.find(&level);
        enclosed_regions.count()
    };
    assert_eq!(count(wall, &|_| ()), 1);
    assert_eq!(count(rest, &|_| ()), 0);
    assert_eq!(count(wall, &shut), 2);
    assert_eq!(count(rest, &shut), 1);
    let closed = |level: &mut Level| {
        shut(level);
        // The enclosed region of two cells below the plate.
        level.set(2, [2, 2, 3], 0.5);
        level.set(2, [2, 2, 4], 0.0);
        [(0, [2, 2, 3]), (0, [3, 2, 3]), (1, [2, 2, 3]), (1, [2, 3, 3])]
            .iter()
            .for_each(|f| level.set(f.0, f.1, 0.0));
    };
    assert_eq!(count(wall, &closed), 3);
    assert_eq!(count(rest, &closed), 2);
}
