//! Depths, cubes and threads of the light volume.

use super::*;
use crate::render::procedural;

fn baked(dims: [usize; 3], sun_direction: [f32; 3]) -> LightVolume {
    let snapshot = procedural::uniform(Dims::new(dims).unwrap(), 0.05, [0.5, 0.25, 0.25, 0.0]);
    let look = Look { extinction: 3.0, sun_direction, fade: 0.0, ..Look::default() };
    let mut light = LightVolume::default();
    light.bake(&snapshot, &look);
    light
}

/// In a uniform box the depth is σ times the distance to the side, for a sun along each axis and side.
#[test]
fn depth_of_a_uniform_box() {
    for axis in 0..3 {
        for sign in [-1.0, 1.0] {
            let mut sun = [0.0; 3];
            sun[axis] = sign;
            let light = baked([16, 12, 20], sun);
            let extent = [0.8, 0.6, 1.0];
            for p in [[0.4, 0.3, 0.5], [0.0, 0.0, 0.0], [0.11, 0.57, 0.93], [0.8, 0.6, 1.0]] {
                let way = if sign > 0.0 { extent[axis] - p[axis] } else { p[axis] };
                let depth = light.depth_to_sun(p);
                assert!((depth - 3.0 * way).abs() < 4e-3, "sun {sun:?} at {p:?}: {depth}, not {}", 3.0 * way);
            }
        }
    }
}

/// An oblique sun in the middle of a wide slab: the path is height over cosine.
#[test]
fn depth_under_an_oblique_sun() {
    let light = baked([64, 8, 64], [0.48, 0.64, 0.6]);
    let depth = light.depth_to_sun([1.6, 0.1, 1.6]);
    let way = 0.3 / 0.64;
    assert!((depth - 3.0 * way).abs() < 0.01 * 3.0 * way, "{depth}");
}

/// All that an opaque slab takes of an oblique sun collides in its cubes. With one depth for each cell more than 3 % are missing.
#[test]
fn first_collisions_take_what_the_sun_loses() {
    let (n, h) = (24, 0.02);
    let inside = |x: f32, half: f32| f32::from(u8::from((x - 0.24).abs() < half));
    let snapshot = Snapshot::from_fn(Dims::new([n; 3]).unwrap(), h, |p| {
        [inside(p[0], 0.14) * inside(p[1], 0.08) * inside(p[2], 0.12), 0.0, 0.0, 0.0]
    });
    let sun_direction = [0.9, 0.3, 0.3];
    let look = Look { extinction: 80.0, sun_direction, fade: 0.0, sun: [1.0; 3], ..Look::default() };
    let mut light = LightVolume::default();
    light.set_fine(true);
    light.bake(&snapshot, &look);
    let collided: f32 = (0..light.cubes.extinction.len())
        .map(|n| light.cubes.extinction[n] * light.cubes.unpeaked(0, n) * light.sources.sun[0][n])
        .sum();
    let direction = crate::render::camera::unit(sun_direction);
    let [x, y, z] = [0.28, 0.16, 0.24];
    let across = y * z * direction[0] + x * z * direction[1] + x * y * direction[2];
    let share = collided * h * h * h / across;
    println!("{share}");
    assert!((share - 1.0).abs() < 0.03, "{share}");
}

/// The cubes of moving pictures hold all smoke, and an eighth of a cell's beyond a flat side.
#[test]
fn cubes_hold_the_smoke_that_eyes_read() {
    let (n, h) = (64, 0.02);
    let snapshot = Snapshot::from_fn(Dims::new([n; 3]).unwrap(), h, |p| {
        let filled = p[0] > 20.0 * h && p[0] < 40.0 * h;
        [f32::from(u8::from(filled)), 0.0, 0.0, 0.0]
    });
    let mut light = LightVolume::default();
    let look = Look { extinction: 2.0, fade: 0.0, ..Look::default() };
    light.bake(&snapshot, &look);
    let row = |i: usize| light.cubes.extinction[light.mixture.dims.index(i, 7, 9)] / 2.0;
    for (i, want) in [(8, 0.0), (9, 0.0625), (10, 0.9375), (11, 1.0), (19, 0.9375), (20, 0.0625)] {
        assert!((row(i) - want).abs() < 1e-5, "{i}: {}, not {want}", row(i));
    }
}

#[test]
fn clear_air_hides_nothing() {
    let snapshot = Snapshot::empty(Dims::new([5, 1, 9]).unwrap(), 0.1);
    let mut light = LightVolume::default();
    light.bake(&snapshot, &Look::default());
    assert!(light.depth.iter().all(|x| x.abs() < 1e-3));
}

#[test]
fn same_bits_on_any_number_of_threads() {
    let snapshot = procedural::plume(Dims::new([24, 32, 20]).unwrap(), 0.02, procedural::Tint::Even);
    let bake = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut light = LightVolume::default();
        pool.install(|| light.bake(&snapshot, &Look::default()));
        let mut texels = Vec::new();
        let medium = Medium::of(&Look::default(), snapshot.extent());
        light.towards([0.2, 0.3, 2.0], &medium, true, &mut texels);
        texels
    };
    assert!(bake(1) == bake(3));
}
