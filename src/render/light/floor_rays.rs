//! Light of smoke and solids on the floor below a low sun, along many rays from each place.
//!
//! Five of the fourteen ordinates lead down: a cloud that the sun lights from the side, and that hardly any sunlight passes on its way to the
//! floor, would light it in five blotches (ray effects). Here the light that the cubes send after the last solution is followed along rays whose
//! directions differ from place to place, so that only grain is left, which a blur takes off.

use rayon::prelude::*;

use super::ordinates::{MediumCubes, Outside, Sent, Sources};
use crate::grid::Dims;
use crate::render::camera::{Ray, box_span};
use crate::render::exp::exp;

/// Fractional parts of the powers of the plastic number's reciprocal, whose multiples fill a square evenly.
pub(in crate::render) const EVENLY: [f32; 2] = [0.754_877_7, 0.569_840_3];
/// Transmittance below which a ray ends.
const OPAQUE: f32 = 1e-3;

/// A cube of medium and the light that it sends, for three colours.
#[derive(Clone, Copy, Default)]
struct Cube {
    /// Extinction without the forward peak \[1/m\].
    extinction: [f32; 3],
    even: [f32; 3],
    along: [[f32; 3]; 3],
    /// Sunlight that it scatters once, as the mean over all directions.
    sun: [f32; 3],
}

/// Cubes around the floor.
pub(super) struct FloorRays<'a> {
    dims: Dims,
    h: f32,
    cubes: Vec<Cube>,
    /// Box around the medium \[m\].
    filled: [[f32; 3]; 2],
    outside: &'a Outside,
    /// Unit vector away from the sun.
    from_sun: [f32; 3],
    three_g: f32,
}

impl<'a> FloorRays<'a> {
    /// Takes over cubes and the light that they send. Returns `None` without medium.
    pub fn new(
        medium: &MediumCubes,
        sources: &Sources,
        sent: &[Sent; 3],
        (outside, from_sun): (&'a Outside, [f32; 3]),
    ) -> Option<Self> {
        let (dims, h) = (medium.dims, medium.h);
        let (mut low, mut high) = ([usize::MAX; 3], [0; 3]);
        let mut cubes = vec![Cube::default(); dims.cells()];
        for (n, cube) in cubes.iter_mut().enumerate().filter(|(n, _)| medium.extinction[*n] > 0.0) {
            let at = dims.place(n);
            for a in 0..3 {
                low[a] = low[a].min(at[a]);
                high[a] = high[a].max(at[a] + 1);
            }
            for (c, sent) in sent.iter().enumerate() {
                let left = medium.unpeaked(c, n);
                cube.extinction[c] = medium.extinction[n] * left;
                cube.even[c] = sent.even[n];
                (0..3).for_each(|a| cube.along[a][c] = sent.along[a][n]);
                let scattered = (1.0 - medium.phase.forward) * medium.scattered(c, n) / left;
                let arrives = sources.sun[c].get(n).copied().unwrap_or(0.0);
                cube.sun[c] = scattered * arrives * (0.25 * std::f32::consts::FRAC_1_PI);
            }
        }
        let filled = [low, high].map(|side| side.map(|n| n as f32 * h));
        let three_g = 3.0 * medium.phase.g;
        (low[0] != usize::MAX).then_some(Self { dims, h, cubes, filled, outside, from_sun, three_g })
    }

    /// Changes of the radiance of a white floor by the medium, at the nodes of a grid of a `size` along x and z, from a number of rays each.
    /// `place` returns x and z of a node \[m\].
    pub fn changes(
        &self,
        size: [usize; 2],
        place: impl Fn([usize; 2]) -> [f32; 2] + Sync,
        rays: usize,
    ) -> Vec<[f32; 3]> {
        let node = |n: usize| {
            let at = [n % size[0], n / size[0]];
            let turn = EVENLY.map(|by| (n as f32 * by).fract());
            self.change_at(place(at), turn, rays)
        };
        (0..size[0] * size[1]).into_par_iter().with_min_len(16).map(node).collect()
    }

    fn change_at(&self, [x, z]: [f32; 2], turn: [f32; 2], rays: usize) -> [f32; 3] {
        let mut sum = [0.0; 3];
        for n in 0..rays {
            let square = (n as f32 + turn[0]) / rays as f32;
            let angle = std::f32::consts::TAU * (n as f32 * 0.618_034 + turn[1]);
            let (sin, cos) = angle.sin_cos();
            let (aside, up) = (square.sqrt(), (1.0 - square).sqrt());
            let ray = Ray { origin: [x, 0.0, z].into(), direction: [aside * cos, up, aside * sin].into() };
            let [enter, leave] = box_span(&ray, self.filled[0], self.filled[1]);
            if leave > enter.max(0.0) {
                let change = self.along(&ray, [enter.max(0.0), leave]);
                (0..3).for_each(|c| sum[c] += change[c]);
            }
        }
        sum.map(|x| x / rays as f32)
    }

    /// The radiance that comes along a ray, without the one that would come through no medium.
    fn along(&self, ray: &Ray, [enter, leave]: [f32; 2]) -> [f32; 3] {
        let light = ray.direction.map(|x| -x);
        let cosine: f32 = (0..3).map(|a| light[a] * self.from_sun[a]).sum();
        let of_sun = (1.0 + self.three_g * cosine).max(0.0);
        let size = self.dims.array();
        let (mut at, mut next, mut apart) = ([0_usize; 3], [0.0; 3], [0.0; 3]);
        for a in 0..3 {
            let (from, along) = (ray.origin[a] + enter * ray.direction[a], ray.direction[a]);
            at[a] = ((from / self.h).max(0.0) as usize).min(size[a] - 1);
            apart[a] = self.h / along.abs().max(1e-9);
            let side = (at[a] + usize::from(along > 0.0)) as f32 * self.h;
            next[a] = if along.abs() > 1e-9 { (side - ray.origin[a]) / along } else { f32::MAX };
        }
        let (mut t, mut passes, mut arrives) = (enter, [1.0_f32; 3], [0.0; 3]);
        loop {
            let a = if next[0] < next[1].min(next[2]) {
                0
            } else if next[1] < next[2] {
                1
            } else {
                2
            };
            let end = next[a].min(leave);
            let cube = &self.cubes[self.dims.index(at[0], at[1], at[2])];
            let way = end - t;
            if way > 0.0 && cube.extinction[0] > 0.0 {
                for c in 0..3 {
                    let through = exp(-cube.extinction[c] * way);
                    let scattered = (0..3).fold(cube.even[c], |sum, a| sum + cube.along[a][c] * light[a]);
                    let sent = scattered.max(0.0) + of_sun * cube.sun[c];
                    arrives[c] += passes[c] * (1.0 - through) * sent;
                    passes[c] *= through;
                }
                if passes.iter().all(|&passes| passes < OPAQUE) {
                    break;
                }
            }
            if end >= leave {
                break;
            }
            (t, next[a]) = (end, next[a] + apart[a]);
            let ahead = if ray.direction[a] > 0.0 { at[a] + 1 } else { at[a].wrapping_sub(1) };
            if ahead >= size[a] {
                break;
            }
            at[a] = ahead;
        }
        std::array::from_fn(|c| {
            arrives[c] - (1.0 - passes[c]) * self.outside.radiance(c, ray.direction.into())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slab above the floor, dense or thin, that glows, that hides an even sky, and that is as bright as it.
    #[test]
    fn the_floor_gets_what_cubes_send_and_loses_what_they_hide() {
        let (dims, h) = (Dims { nx: 8, ny: 8, nz: 8 }, 0.125);
        let sources = Sources::default();
        for (depth, sends, sky) in [(50.0, 2.0, 0.0), (50.0, 0.0, 0.7), (0.4, 2.0, 0.0), (0.4, 0.3, 0.3)] {
            let filled = |n: usize| dims.place(n)[1] >= 4;
            let extinction =
                (0..dims.cells()).map(|n| if filled(n) { depth / (4.0 * h) } else { 0.0 }).collect();
            let albedo = std::array::from_fn(|_| vec![0.0; dims.cells()]);
            let medium = MediumCubes { dims, h, extinction, albedo, ..MediumCubes::default() };
            let mut sent: [Sent; 3] = Default::default();
            sent.iter_mut().for_each(|sent| {
                sent.reset(dims.cells());
                sent.even.fill(sends);
            });
            let outside = Outside { sky: [sky; 3], ground: [sky; 3], ..Outside::default() };
            let rays = FloorRays::new(&medium, &sources, &sent, (&outside, [0.0, -1.0, 0.0])).unwrap();
            let got = rays.changes([1, 1], |_| [0.5; 2], 4096)[0];
            // Sum over directions in polar coordinates: those to the lower face pass through at most the whole slab.
            let (count, mut want) = (400, 0.0);
            for (i, j) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))) {
                let [square, turn] = [i, j].map(|n| (n as f32 + 0.5) / count as f32);
                let (sin, cos) = (std::f32::consts::TAU * turn).sin_cos();
                let (aside, up) = (square.sqrt(), (1.0 - square).sqrt());
                let direction = [aside * cos, up, aside * sin];
                let leaves = (0..3).map(|a| if a == 1 { 1.0 / up } else { 0.5 / direction[a].abs() });
                let way = (leaves.fold(f32::MAX, f32::min) - 0.5 / up).max(0.0);
                want += (1.0 - (-depth / (4.0 * h) * way).exp()) * (sends - sky);
            }
            want /= (count * count) as f32;
            assert!(
                got.iter().all(|got| (got - want).abs() < 0.01 * want.abs() + 1e-4),
                "{got:?}, not {want}"
            );
        }
    }
}
