//! A plume at rest made of noise, for benchmarks, tests and documentation without a simulation.

use half::f16;
use rayon::prelude::*;

use super::lines::smoothstep;
use crate::grid::Dims;
use crate::snapshot::{Bricks, Snapshot};

/// Colouring of the plume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    /// Equal parts of all three colours.
    Even,
    /// One colour in each third of the circumference.
    Sectors,
}

/// Returns a turbulent column that rises from the middle of the floor and widens, about a tenth of the box.
pub fn plume(dims: Dims, h: f32, tint: Tint) -> Snapshot {
    let mut snapshot = Snapshot::empty(dims, h);
    snapshot.smoke.par_iter_mut().enumerate().for_each(|(n, cell)| {
        *cell = plume_cell(unit(dims, dims.place(n)), tint).map(f16::from_f32);
    });
    snapshot.bricks = Bricks::of(dims, &snapshot.smoke);
    snapshot.velocity = swirl(dims, h);
    snapshot.serial = 1;
    snapshot
}

/// Returns a box full of uniform smoke, for which closed forms exist.
pub fn uniform(dims: Dims, h: f32, smoke: [f32; 4]) -> Snapshot {
    let mut snapshot = Snapshot::empty(dims, h);
    snapshot.smoke.fill(smoke.map(f16::from_f32));
    snapshot.bricks = Bricks::of(dims, &snapshot.smoke);
    snapshot.serial = 1;
    snapshot
}

/// Returns a cell centre with the height of the box as unit and the axis of the plume at x = z = 0.
fn unit(dims: Dims, cell: [usize; 3]) -> [f32; 3] {
    let scale = 1.0 / dims.ny as f32;
    let centred = |axis: usize| (cell[axis] as f32 + 0.5 - dims.array()[axis] as f32 * 0.5) * scale;
    [centred(0), (cell[1] as f32 + 0.5) * scale, centred(2)]
}

/// Returns red, green, blue and temperature excess at a point in [`unit`]s.
fn plume_cell(p: [f32; 3], tint: Tint) -> [f32; 4] {
    let y = p[1];
    let radius = 0.035 + 0.24 * y.powf(1.15) * smoothstep(1.0, 0.72, y).sqrt();
    let rough = p[0].hypot(p[2]);
    if rough > radius * 2.2 || y > 0.97 {
        return [0.0; 4];
    }
    // The axis sways more with height.
    let sway = 0.16 * y * y.sqrt();
    let axis = [sway * (noise([0.0, y * 2.6, 3.7]) - 0.5), sway * (noise([9.1, y * 2.6, 0.0]) - 0.5)];
    let (x, z) = (p[0] - 2.0 * axis[0], p[2] - 2.0 * axis[1]);
    let swell = 1.0 + 0.95 * (billows([x, y * 0.8, z]) - 0.42);
    let inside = (radius * swell - x.hypot(z)) / (0.012 + 0.05 * y);
    let veil = 0.35 + 0.65 * noise([x * 23.0, y * 18.0, z * 23.0 + 5.0]);
    let density = smoothstep(0.0, 1.0, inside) * veil * (1.15 - 0.75 * y) * smoothstep(0.0, 0.02, y);
    let shares = match tint {
        Tint::Even => [1.0 / 3.0; 3],
        Tint::Sectors => sectors(z.atan2(x) + 5.0 * y),
    };
    let heat = 220.0 * density * (1.0 - y).powi(3);
    [density * shares[0], density * shares[1], density * shares[2], heat]
}

/// Returns the shares of the three colours around the axis, blended.
fn sectors(angle: f32) -> [f32; 3] {
    let lobe = |c: usize| (angle - c as f32 * std::f32::consts::TAU / 3.0).cos().max(-0.4) + 0.4;
    let all = [lobe(0), lobe(1), lobe(2)];
    all.map(|share| share / all.iter().sum::<f32>())
}

/// Returns five octaves of round bumps with creases between, 0..1, displaced by a coarser noise.
fn billows(p: [f32; 3]) -> f32 {
    let warp = |shift: f32| 0.09 * (noise(p.map(|x| x * 6.0 + shift)) - 0.5);
    let p = [p[0] + warp(1.3), p[1] + warp(17.9), p[2] + warp(31.1)];
    let (mut sum, mut weight, mut scale) = (0.0, 0.5, 7.0);
    for octave in 0..5 {
        let n = noise(p.map(|x| x * scale + 7.7 * octave as f32));
        sum += weight * (1.0 - (2.0 * n - 1.0).abs());
        weight *= 0.52;
        scale *= 2.03;
    }
    sum
}

/// Returns an upward flow that turns about the axis, with its vorticity magnitude. It is not divergence-free.
fn swirl(dims: Dims, h: f32) -> Vec<[f16; 4]> {
    let height = dims.ny as f32 * h;
    let cell = |n: usize| {
        let p = unit(dims, dims.place(n));
        let fall = (-(p[0] * p[0] + p[2] * p[2]) / (0.01 + 0.06 * p[1])).exp();
        let turn = 4.0 * fall;
        [-turn * p[2] * height, 1.2 * fall * height, turn * p[0] * height, 2.0 * turn].map(f16::from_f32)
    };
    (0..dims.cells()).into_par_iter().map(cell).collect()
}

/// Returns smooth value noise, 0..1, with lattice spacing 1.
fn noise(p: [f32; 3]) -> f32 {
    let base = p.map(f32::floor);
    let f: [f32; 3] = std::array::from_fn(|a| smoothstep(0.0, 1.0, p[a] - base[a]));
    let corner = |n: i32| lattice(std::array::from_fn(|a| base[a] as i32 + (n >> a & 1)));
    let lerp = |a: f32, b: f32, t: f32| a + (b - a) * t;
    let along_x = |n: i32| lerp(corner(n), corner(n + 1), f[0]);
    let along_y = |n: i32| lerp(along_x(n), along_x(n + 2), f[1]);
    lerp(along_y(0), along_y(4), f[2])
}

/// Returns a random number in 0..1 for each point of the lattice.
fn lattice(p: [i32; 3]) -> f32 {
    let mixed = p[0].wrapping_mul(0x8DA6_B343_u32 as i32)
        ^ p[1].wrapping_mul(0xD816_3841_u32 as i32)
        ^ p[2].wrapping_mul(0xCB1A_B31F_u32 as i32);
    let mut n = mixed as u32;
    n = (n ^ (n >> 15)).wrapping_mul(0x2C1B_3C6D);
    n = (n ^ (n >> 12)).wrapping_mul(0x297A_2D39);
    (n ^ (n >> 15)) as f32 / u32::MAX as f32
}
