//! Small bright parts of an environment, such as the sun of a photographed sky.
//!
//! Harmonics of low degree spread them over half of the sphere. As lights of their own they cast shadows.

use std::ops::Range;

use super::texel_grid::TexelGrid;
use super::{Emitter, Light};

/// Most suns of an environment.
const MOST: usize = 4;
/// Width of a ring around the middle of a bright part \[radians\].
const RING: f32 = 0.25 * std::f32::consts::PI / 180.0;
/// Rings of the widest sun: 10° from its middle.
const RINGS: usize = 40;
/// Radiance of the ring around a sun, as a share of the mean radiance within.
const EDGE: f32 = 0.1;
/// Least irradiance of a sun, as a share of that of all light on a surface within the sphere.
const LEAST: f32 = 0.1;

/// Finds the suns of a picture of the whole sphere, and paints over them in its `texels` with the radiance around each. A sun has the rest.
pub(super) fn separate(grid: TexelGrid, texels: &mut [[f32; 3]]) -> Vec<Light> {
    let all = std::f32::consts::FRAC_PI_4 * grid.total(texels);
    std::iter::from_fn(|| separate_brightest(grid, texels, LEAST * all)).take(MOST).collect()
}

/// Separates the brightest part, if it is small enough for a sun and sends at least an irradiance, all
/// colours together.
fn separate_brightest(grid: TexelGrid, texels: &mut [[f32; 3]], least: f32) -> Option<Light> {
    let brightness = |texel: [f32; 3]| texel.iter().sum::<f32>();
    let place = |n: usize| grid.middle(n);
    let brightest =
        (0..texels.len()).max_by(|&a, &b| brightness(texels[a]).total_cmp(&brightness(texels[b])))?;
    // The brightest texel may lie at the edge of a disc.
    let bright = 0.5 * brightness(texels[brightest]);
    let widest = 2.0 * RINGS as f32 * RING;
    let is_of_disc =
        |n: &usize| brightness(texels[*n]) > bright && angle(place(brightest), place(*n)) < widest;
    let middle =
        unit(rows_near(grid, place(brightest), widest).filter(is_of_disc).fold([0.0; 3], |sum, n| {
            let share = grid.solid_angle(n / grid.width);
            [0, 1, 2].map(|a| sum[a] + share * place(n)[a])
        }));
    // Texels taller than a ring would leave some rings empty.
    let ring = RING.max(std::f32::consts::PI / grid.height as f32);
    let rings = RINGS.min((RINGS as f32 * RING / ring) as usize);
    let mut sums = vec![[0.0; 4]; rings + 2];
    let mut near = Vec::new();
    for n in rows_near(grid, middle, (rings + 2) as f32 * ring) {
        let of = (angle(middle, place(n)) / ring) as usize;
        if let Some(sum) = sums.get_mut(of) {
            near.push((of, n));
            let share = grid.solid_angle(n / grid.width);
            (0..3).for_each(|c| sum[c] += share * texels[n][c]);
            sum[3] += share;
        }
    }
    let mut within = [0.0; 4];
    let edge = (0..rings).find(|&of| {
        (0..4).for_each(|k| within[k] += sums[of][k]);
        let around = sums[of + 1];
        brightness([around[0], around[1], around[2]]) * within[3]
            < EDGE * brightness([within[0], within[1], within[2]]) * around[3]
    })?;
    // The ring at the edge may hold a part of the disc.
    let edge = edge + 1;
    (0..4).for_each(|k| within[k] += sums[edge][k]);
    let around = [0, 1, 2].map(|c| sums[edge + 1][c] / sums[edge + 1][3].max(f32::MIN_POSITIVE));
    let color = [0, 1, 2].map(|c| (within[c] - around[c] * within[3]).max(0.0));
    if brightness(color) < least || brightness(color) <= 0.0 {
        return None;
    }
    near.retain(|&(of, _)| of <= edge);
    let weigh = |n: usize, texels: &[[f32; 3]]| {
        (brightness(texels[n]) - brightness(around)) * grid.solid_angle(n / grid.width)
    };
    let mut sum = [0.0; 3];
    for &(_, n) in &near {
        (0..3).for_each(|a| sum[a] += weigh(n, texels) * place(n)[a]);
    }
    let direction = unit(sum);
    // The mean square of the angle over a disc is half of that of its radius.
    let squares: f32 = near.iter().map(|&(_, n)| weigh(n, texels) * angle(direction, place(n)).powi(2)).sum();
    let radius = (2.0 * (squares / brightness(color)).max(0.0)).sqrt();
    near.iter().for_each(|&(_, n)| texels[n] = around);
    Some(Light { emitter: Emitter::Sun { direction, size: 2.0 * radius.to_degrees() }, color, strength: 1.0 })
}

/// Texels of the rows that come within an angle of a direction.
fn rows_near(grid: TexelGrid, direction: [f32; 3], angle: f32) -> Range<usize> {
    let tilt = direction[1].clamp(-1.0, 1.0).acos();
    let row =
        |tilt: f32| ((tilt * std::f32::consts::FRAC_1_PI * grid.height as f32) as usize).min(grid.height - 1);
    row(tilt - angle) * grid.width..(row(tilt + angle) + 1) * grid.width
}

fn unit(v: [f32; 3]) -> [f32; 3] {
    let length = v.iter().map(|x| x * x).sum::<f32>().sqrt();
    v.map(|x| x / length)
}

/// Returns the angle between two unit vectors, exact for small ones too.
fn angle(a: [f32; 3], b: [f32; 3]) -> f32 {
    let half = (0..3).map(|c| (a[c] - b[c]).powi(2)).sum::<f32>().sqrt() * 0.5;
    2.0 * half.min(1.0).asin()
}
