//! Tests of covers: the covered volume is that of the shape, in any position and rotation.

use std::f64::consts::PI;
use std::sync::Arc;

use super::*;
use crate::grid::{Dims, Layout};
use crate::solver::{Mesh, Shape, Solid};

const H: f32 = 0.1;

fn grid(periodic: [bool; 3]) -> Grid {
    Grid {
        layout: Layout::new(Dims::new([40, 36, 44]).unwrap()),
        origin: [0; 3],
        h: H,
        periodic,
        walls: periodic.map(|periodic| [!periodic; 2]),
    }
}

/// Volume that a region covers \[m³\].
fn volume(region: &Region) -> f64 {
    Cover::cells(&grid([false; 3]), region).total() * f64::from(H).powi(3)
}

/// Positions off the grid; not rotated, rotated a little and a lot.
const PLACES: [([f32; 3], [f32; 3]); 3] = [
    ([2.0, 1.8, 2.2], [0.0; 3]),
    ([1.937, 1.771, 2.213], [17.0, 0.0, 0.0]),
    ([2.051, 1.846, 2.029], [33.0, -58.0, 71.0]),
];

#[track_caller]
fn has_volume(form: &Form, expected: f64, tolerance: f64) {
    for (position, degrees) in PLACES {
        let region = Region { rotation: Solid::turn(degrees), ..Region::new(form.clone(), position) };
        let got = volume(&region);
        assert!(
            (got / expected - 1.0).abs() < tolerance,
            "at {position:?}, {degrees:?}: {got} for {expected}"
        );
        let faces = Cover::faces(&grid([false; 3]), &region);
        for face in faces {
            let got = face.total() * f64::from(H).powi(3);
            assert!((got / expected - 1.0).abs() < tolerance, "faces: {got} for {expected}");
        }
    }
}

#[test]
fn bodies_cover_their_volume() {
    for radius in [0.15f32, 0.43, 1.1] {
        let ball = 4.0 / 3.0 * PI * f64::from(radius).powi(3);
        has_volume(&Form::Body(Shape::Sphere { radius }), ball, 0.02);
    }
    has_volume(&Form::Body(Shape::Box { size: [0.53, 0.87, 1.21] }), 0.53 * 0.87 * 1.21, 0.02);
    // Less than a cell thick.
    has_volume(&Form::Body(Shape::Box { size: [1.5, 0.04, 1.1] }), 1.5 * 0.04 * 1.1, 0.03);
    has_volume(&Form::Body(Shape::Cylinder { radius: 0.8, height: 0.05 }), PI * 0.64 * 0.05, 0.03);
    has_volume(&Form::Body(Shape::Cylinder { radius: 0.3, height: 1.2 }), PI * 0.09 * 1.2, 0.02);
}

/// Plates along planes of cubes, and balls of a few cells, too.
#[test]
fn forms_within_the_box_emit_their_volume_exactly() {
    for axis in [[0.0, 1.0, 0.0], [1.0, 0.3, 0.2], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]] {
        for thickness in [0.1f32, 0.02, 0.006] {
            let disc = Region::disc([2.0, 1.93, 2.0], 0.4, axis, thickness);
            let exact = PI * 0.16 * f64::from(thickness);
            let got = volume(&disc);
            assert!((got / exact - 1.0).abs() < 1e-3, "{axis:?}, {thickness}: {got} for {exact}");
        }
    }
    for radius in [0.06f32, 0.1, 0.25] {
        let exact = 4.0 / 3.0 * PI * f64::from(radius).powi(3);
        let got = volume(&Region::sphere([2.013, 1.907, 2.04], radius));
        assert!((got / exact - 1.0).abs() < 1e-5, "{radius}: {got} for {exact}");
    }
}

/// An octahedron with corners at ±r on the axes.
fn octahedron(r: f32) -> Mesh {
    let vertices = [[r, 0., 0.], [-r, 0., 0.], [0., r, 0.], [0., -r, 0.], [0., 0., r], [0., 0., -r]];
    let corners = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    Mesh::new(vertices.to_vec(), corners.to_vec()).unwrap()
}

#[test]
fn meshes_cover_their_volume_at_any_scale() {
    let form = Form::Body(Shape::Mesh(Arc::new(octahedron(0.5))));
    has_volume(&form, 4.0 / 3.0 * 0.125, 0.03);
    for (position, degrees) in PLACES {
        let region =
            Region { rotation: Solid::turn(degrees), scale: 2.0, ..Region::new(form.clone(), position) };
        let ratio = volume(&region) / (4.0 / 3.0);
        assert!((ratio - 1.0).abs() < 0.03, "{ratio}");
    }
}

#[test]
fn cards_cover_their_pixels() {
    #[cfg(feature = "text")]
    for (height, depth) in [(0.8, 0.3), (1.2, 0.05)] {
        let card = Card::text("Rg", height, depth, None, 0.25 * H).unwrap();
        let shown = card.volume()[3];
        has_volume(&Form::Card(Arc::new(card)), shown, 0.02);
    }
    // Many pixels in a cell, of several colours.
    let colors: Vec<[u8; 4]> = (0..200 * 100)
        .map(
            |n| if n % 200 < 100 { [255, 0, 0, 85] } else { [0, if n % 7 == 0 { 255 } else { 0 }, 128, 128] },
        )
        .collect();
    let card = Card::new([200, 100], 0.01, 0.25, colors).unwrap();
    let shown = card.volume();
    assert!(card.is_colored());
    for (position, degrees) in PLACES {
        let form = Form::Card(Arc::new(card.clone()));
        let region = Region { rotation: Solid::turn(degrees), ..Region::new(form, position) };
        let grid = grid([false; 3]);
        let mut scalars = vec![[0.0; 4]; grid.layout.size()];
        let cover = Cover::cells(&grid, &region);
        for_cells(&grid, &cover, None, &mut scalars, |cell, shares, _| *cell = shares);
        for c in 0..4 {
            let sum: f64 = scalars.iter().map(|s| f64::from(s[c])).sum::<f64>() * f64::from(H).powi(3);
            assert!((sum / shown[c] - 1.0).abs() < 0.02, "channel {c}: {sum} for {}", shown[c]);
        }
    }
}

#[test]
fn regions_outside_the_box_cover_no_cell_and_regions_across_a_side_a_part() {
    let ball = |x: f32| Region::sphere([x, 1.8, 2.2], 0.5);
    assert_eq!(volume(&ball(-0.6)), 0.0);
    assert_eq!(volume(&ball(4.6)), 0.0);
    let whole = 4.0 / 3.0 * PI * 0.125;
    assert!((volume(&ball(0.0)) / whole - 0.5).abs() < 0.01);
    assert!((volume(&ball(4.0)) / whole - 0.5).abs() < 0.01);
    let around = Cover::cells(&grid([true, false, false]), &ball(-0.1)).total() * f64::from(H).powi(3);
    assert!((around / whole - 1.0).abs() < 0.01, "across a periodic side it is seen whole: {around}");
    assert_eq!(
        Cover::cells(&grid([true; 3]), &Region::sphere([1e6, 0.0, -1e6], 1e5)).total(),
        40. * 36. * 44.
    );
}

/// The faces on the two ends of a periodic axis are the same ones.
#[test]
fn faces_on_both_ends_of_a_periodic_axis_have_equal_weights() {
    let grid = grid([true, false, false]);
    for x in [-0.53, 0.47, 0.53, 3.47, 3.52, 4.53] {
        let [cover, ..] = Cover::faces(&grid, &Region::sphere([x, 1.8, 2.2], 0.5));
        let weight = |i: usize, j, k| {
            let run = cover.row(j, k);
            i.checked_sub(run.first).and_then(|n| run.weights.get(n)).copied().unwrap_or(0.0)
        };
        let mut most = 0.0f32;
        for (j, k) in (cover.ks[0]..cover.ks[1]).flat_map(|k| (cover.js[0]..cover.js[1]).map(move |j| (j, k)))
        {
            assert_eq!(weight(0, j, k), weight(40, j, k), "a ball at {x}, row {j} {k}");
            most = most.max(weight(0, j, k));
        }
        assert!(most > 0.0, "a ball at {x} covers the faces");
    }
}

/// The sum of the weights of the faces of `component` in the layer `index` across its axis.
fn layer(cover: &Cover, component: usize, index: usize) -> f64 {
    let mut sum = 0.0;
    cover.each_row(|xs, j, k| {
        let run = cover.row(j as isize, k as isize);
        let of_layer = xs.clone().zip(run.weights).filter(|(i, _)| [*i, j, k][component] == index);
        sum += of_layer.map(|(_, weight)| f64::from(*weight)).sum::<f64>();
    });
    sum
}

/// The first free face before each wall has the moment about it of a plate half a cell thick. Without the
/// wall it has only the part of the plate in its cube.
#[test]
fn a_plate_thinner_than_a_cell_drives_the_first_face_before_a_wall() {
    let grid = grid([false; 3]);
    for component in 0..3 {
        let n = grid.layout.dims.array()[component];
        for (end, distance) in [0, 1].into_iter().flat_map(|end| [0.0, 0.1, 0.2].map(|d| (end, d))) {
            let mut size = [1.0; 3];
            size[component] = 0.5 * H;
            let mut position = [2.0, 1.8, 2.2];
            let middle = (distance + 0.25) * H;
            position[component] = if end == 0 { middle } else { n as f32 * H - middle };
            let plate = Region::new(Form::Body(Shape::Box { size }), position);
            let first = if end == 0 { 1 } else { n - 1 };
            let got = layer(&Cover::faces(&grid, &plate)[component], component, first);
            let want = 0.5 * f64::from(distance + 0.25) * 100.0;
            assert!((got / want - 1.0).abs() < 0.02, "{component}, {end}, {distance}: {got} for {want}");
            let open = Grid { walls: [[false; 2]; 3], ..grid };
            let got = layer(&Cover::faces(&open, &plate)[component], component, first);
            assert!((got - 100.0 * f64::from(distance)).abs() < 0.1, "without a wall: {got}");
        }
    }
}

/// A block on a wall that is at least a cell high has the weights that it has without the wall, to the bit.
#[test]
fn a_block_on_a_wall_keeps_its_weights() {
    let walls = grid([false; 3]);
    let open = Grid { walls: [[false; 2]; 3], ..walls };
    for height in [H, 1.3 * H, 6.0 * H] {
        let block = Form::Body(Shape::Box { size: [0.53, height, 0.71] });
        let disc = Form::Body(Shape::Cylinder { radius: 0.8, height });
        for form in [block, disc] {
            let region = Region::new(form, [2.013, 0.5 * height, 2.24]);
            let [a, b] = [&walls, &open].map(|grid| Cover::faces(grid, &region));
            for (a, b) in a.iter().zip(&b) {
                a.each_row(|_, j, k| {
                    let [a, b] = [a, b].map(|cover| cover.row(j as isize, k as isize));
                    assert!(a.first == b.first && a.weights == b.weights, "{region:?}, row {j} {k}");
                });
            }
        }
    }
    // A ball on the ground narrows upwards: a few of its lowest faces at the rim gain.
    let ball = Region::sphere([2.0, 0.0, 2.2], 4.0 * H);
    let [a, b] = [&walls, &open].map(|grid| Cover::faces(grid, &ball)[1].total());
    println!("a ball of four cells on the ground: {b} faces, {a} with those at the rim");
    assert!(a > b && a < 1.02 * b, "{a} for {b}");
}

/// Compares the weights of each row with a naive sum.
#[test]
fn runs_cover_the_cells_of_the_shape() {
    let region = Region::sphere([1.234, 1.5, 1.111], 0.37);
    let (grid, cover) = (grid([false; 3]), Cover::cells(&grid([false; 3]), &region));
    for k in cover.ks[0]..cover.ks[1] {
        for j in cover.js[0]..cover.js[1] {
            let run = cover.row(j, k);
            for i in 0..grid.layout.dims.nx {
                let weight =
                    i.checked_sub(run.first).and_then(|n| run.weights.get(n)).copied().unwrap_or(0.0);
                let p = [i as f32, j as f32, k as f32].map(|x| (x + 0.5) * H);
                let far = (0..3).map(|a| (p[a] - region.position[a]).powi(2)).sum::<f32>().sqrt() - 0.37;
                let fine = (far > 0.87 * H && weight == 0.0) || (far < -0.87 * H && weight == 1.0);
                assert!(fine || far.abs() <= 0.87 * H, "{i} {j} {k}: {weight} at {far}");
            }
        }
    }
}

#[test]
fn noise_keeps_the_mean_and_varies_with_its_strength() {
    let n = 96;
    let grid = Grid {
        layout: Layout::new(Dims::new([n; 3]).unwrap()),
        origin: [0; 3],
        h: 1.0 / n as f32,
        periodic: [false; 3],
        walls: [[true; 2]; 3],
    };
    for (strength, seed) in [(1.0, 0), (0.5, 7), (1.0, 99)] {
        let pattern = Pattern::new(Noise { strength, scale: 0.06, speed: 2.0, seed }, &grid);
        let (mut sum, mut square, mut least, mut most) = (0.0f64, 0.0f64, f32::INFINITY, 0.0f32);
        let mut row = vec![0.0; n];
        for time in [0.0, 0.3, 1.7] {
            for (j, k) in (0..n * n).map(|row| (row % n, row / n)) {
                pattern.fill([0, j as isize, k as isize], time, &mut row);
                for &x in &row {
                    sum += f64::from(x);
                    square += f64::from(x - 1.0).powi(2);
                    (least, most) = (least.min(x), most.max(x));
                }
            }
        }
        let count = (3 * n * n * n) as f64;
        let (mean, deviation) = (sum / count, (square / count).sqrt() / f64::from(strength));
        println!("mean {mean:.4}, deviation {deviation:.3}, {least:.3} to {most:.3}");
        assert!((mean - 1.0).abs() < 0.02, "mean {mean}");
        assert!((0.4..0.6).contains(&deviation), "deviation {deviation} of the strength");
        assert!(least >= 0.999 - strength && most <= 1.001 + strength, "{least} to {most}");
        assert!(least < 1.0 - 0.95 * strength && most > 1.0 + 0.95 * strength, "{least} to {most}");
    }
}

/// Neighbours differ little, at any beginning of the rows and across periodic sides. Other seeds and times
/// differ much.
#[test]
fn noise_is_smooth_and_closes() {
    let grid = grid([true, true, false]);
    let noise = Noise { strength: 1.0, scale: 0.7, speed: 1.0, seed: 3 };
    let at = |noise: Noise, i: isize, j: isize, k: isize, time: f64| {
        let mut one = [0.0];
        Pattern::new(noise, &grid).fill([i, j, k], time, &mut one);
        one[0]
    };
    let (mut worst, mut apart) = (0.0f32, [0.0f32; 2]);
    let mut row = [0.0; 40];
    for k in 0..44 {
        Pattern::new(noise, &grid).fill([0, 35, k], 0.4, &mut row);
        let here = |i: isize| at(noise, i, 35, k, 0.4);
        assert!((row[17] - here(17)).abs() < 1e-4);
        let close = [
            (row[39], row[0]),
            (row[3], at(noise, 3, 0, k, 0.4)),
            (row[20], at(noise, 20, 34, k, 0.4)),
            (row[20], at(noise, 20, 35, k, 0.401)),
        ];
        worst = close.iter().map(|(a, b)| (a - b).abs()).fold(worst, f32::max);
        apart[0] = apart[0].max((row[9] - at(Noise { seed: 4, ..noise }, 9, 35, k, 0.4)).abs());
        apart[1] = apart[1].max((row[9] - at(noise, 9, 35, k, 2.9)).abs());
    }
    assert!(worst < 0.65, "neighbours differ by {worst}");
    assert!(apart.iter().all(|d| *d > 0.8), "{apart:?}");
}

#[test]
fn invalid_sources_are_reported() {
    let fine = Region::sphere([0.0; 3], 1.0);
    assert_eq!(fine.problem(), None);
    assert!(Region::sphere([0.0; 3], -1.0).problem().unwrap().to_string().contains("-1"));
    assert!(Region::sphere([f32::NAN, 0.0, 0.0], 1.0).problem().is_some());
    assert!(Region { scale: f32::NAN, ..fine.clone() }.problem().is_some());
    assert!(Region { rotation: [f32::NAN; 4], ..fine }.problem().is_some());
}

#[test]
fn sources_of_the_same_region_reuse_their_cover() {
    let region = Region::sphere([2.0, 1.8, 2.2], 0.5);
    let mut sources = Sources::new([grid([false; 3]); 2], vec![Source::new(region.clone(), [1.0; 4])]);
    let before = sources.covered[0].cells.row(18, 22).weights.as_ptr();
    let driven = Source { velocity: Some([1.0; 3]), ..Source::new(region, [2.0; 4]) };
    sources.set(vec![Source::new(Region::sphere([1.0; 3], 0.2), [0.0; 4]), driven.clone()]);
    assert_eq!(sources.covered[1].cells.row(18, 22).weights.as_ptr(), before);
    assert!(sources.covered[1].faces.is_some() && sources.covered[0].faces.is_none());
    assert_eq!((sources.list()[1].clone(), sources.speed()), (driven, 1.0));
}

#[test]
fn a_dab_smaller_than_a_cell_paints_wherever_it_is() {
    use crate::solver::{Config, Dab, Params, Solver};
    let config = Config { threads: 1, ..Config::new(crate::grid::Dims::new([6; 3]).unwrap(), 0.1) };
    for center in [[0.3; 3], [0.25; 3], [0.3, 0.25, 0.3], [0.0; 3], [0.6, 0.0, 0.6]] {
        let mut solver = Solver::new(config.clone(), Params::default(), vec![]).unwrap();
        solver.dab(&Dab { center, radius: 0.01, add: [1.0; 4], push: [0.0; 3], erase: 0.0 }).unwrap();
        let sum: f32 = solver.scalars().iter().map(|cell| cell[0]).sum();
        assert!(sum > 0.01, "at {center:?}: {sum}");
    }
}
