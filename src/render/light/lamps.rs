//! Further lights in the light volume.
//!
//! For each of them the depth of the smoke between it and every point, along straight rays. Its light that is scattered once is
//! added to what a march reads, with the phase function at each point instead of each ray; from then on it is scattered by the
//! ordinates as that of the sun, but from a direction of its own in each cube.

use rayon::prelude::*;

use super::forward_peak::Spread;
use super::spline_rays::SplineField;
use super::sunlit_cubes::spread;
use super::wide_sun::{depth_to_sun, extrapolate, within};
use super::{LightVolume, Points, root, squared};
#[cfg(feature = "viewer")]
use crate::grid::Dims;
use crate::look::Look;
use crate::render::camera::{Ray, box_span, unit};
use crate::render::exp::exp;
use crate::render::glossy::Facet;
use crate::render::lamp::{Arriving, Lamp};
use crate::render::medium::Medium;
use crate::render::trilinear::trilinear;

/// Distance between the shadows of neighbouring points of a light, in spacings.
const APART: f32 = 2.0;
/// Least and greatest number of points of a wide light close by.
const FEWEST_POINTS: usize = 4;
const MOST_POINTS: usize = 24;
/// Shift of points of a light that lie in the middle of their parts.
pub(in crate::render) const MIDDLES: [f32; 2] = [0.5, 0.0];

/// A light, and what lies between it and each point.
#[derive(Clone, Debug)]
pub(in crate::render) struct Lit {
    pub lamp: Lamp,
    /// Depth of the smoke, and what solids hide adds to it; empty without solids.
    depth: Vec<f32>,
    shade: Vec<f32>,
}

impl LightVolume {
    /// Takes over the lights of a look, and suns of its environment.
    pub(super) fn gather_lamps(&mut self, look: &Look, medium: &Medium, spline: Option<&SplineField>) {
        let suns = medium.around.iter().flat_map(|around| around.suns());
        let lit = Lamp::all(look).into_iter().chain(suns.map(|sun| Lamp::of(&sun))).map(|lamp| {
            let depth = self.depth_to(&lamp, medium, spline);
            let shade = self.shade_of(&lamp, Vec::new());
            Lit { lamp, depth, shade }
        });
        self.lamps = lit.collect();
    }

    /// The sun.
    pub(in crate::render) fn sun(&self) -> &Lamp {
        &self.sun
    }

    /// Further lights.
    pub(in crate::render) fn lamps(&self) -> &[Lit] {
        &self.lamps
    }

    /// Number of points of a further light for the depth of smoke, at its points or on the floor: the shadows that these throw lie a few
    /// spacings apart.
    pub(in crate::render) fn lamp_points(&self, lamp: &Lamp, on_floor: bool) -> usize {
        if lamp.is_far() {
            return self.directions_to(lamp);
        }
        let [lo, hi] = self.smoke;
        let extent = lamp.half_extent(0.0);
        if extent <= 0.0 || lo[0] > hi[0] {
            return 1;
        }
        let across = (0..3).map(|a| (hi[a] - lo[a]).powi(2)).sum::<f32>().sqrt();
        let from = lamp.drawn(lo, lamp.middle());
        let place: [f32; 3] = std::array::from_fn(|a| lo[a] + from.direction[a] * from.distance);
        let away = (0..3).map(|a| (place[a] - place[a].clamp(lo[a], hi[a])).powi(2)).sum::<f32>().sqrt();
        let way = if on_floor { across + lo[1] } else { across };
        let penumbra = 2.0 * extent * way / away.max(0.5 * extent).max(self.spacing);
        let apart = (penumbra / (APART * self.spacing)).ceil() as usize;
        if apart > 1 { apart.clamp(FEWEST_POINTS, MOST_POINTS) } else { 1 }
    }

    /// Depth of the smoke towards a light at each point whose light is read.
    fn depth_to(&self, lamp: &Lamp, medium: &Medium, spline: Option<&SplineField>) -> Vec<f32> {
        let (points, spacing) = (self.points, self.spacing);
        let count = self.lamp_points(lamp, false);
        let mut depth = vec![0.0; points.cells()];
        if lamp.is_far() {
            let field = Points { dims: points, spacing, values: &self.density };
            let mut discs = Default::default();
            depth_to_sun((field, spline), medium.extinction, (lamp, count), &mut discs, &mut depth);
            return depth;
        }
        // Surfaces read the light everywhere.
        let everywhere = !self.solids.is_empty();
        depth.par_chunks_mut(points.nx).enumerate().with_min_len(8).for_each(|(row, depths)| {
            let span = if everywhere { 0..points.nx } else { self.spans[row].clone() };
            let place = |a: usize, n: usize| ((n as f32 - 0.5) * spacing).clamp(0.0, self.extent[a]);
            let (y, z) = (place(1, row % points.ny), place(2, row / points.ny));
            for i in span {
                depths[i] = self.depth_between_lamp([place(0, i), y, z], lamp, (count, MIDDLES), medium);
            }
        });
        extrapolate(points, &mut depth);
        depth
    }

    /// Depth of the smoke between a point and a light, the effective one over `count` points of the light, shifted as
    /// [`Lamp::shifted`] says.
    pub(in crate::render) fn depth_between_lamp(
        &self,
        p: [f32; 3],
        lamp: &Lamp,
        (count, shift): (usize, [f32; 2]),
        medium: &Medium,
    ) -> f32 {
        let (mut all, mut passes, mut depth) = (0.0, 0.0, 0.0);
        for n in 0..count {
            let Arriving { direction, distance, share, .. } =
                lamp.drawn_by_angle(p, Lamp::shifted(n, count, shift));
            if share > 0.0 {
                let ray = Ray { origin: p.into(), direction: direction.into() };
                depth = medium.extinction * self.density_along(&ray, distance);
                (all, passes) = (all + share, passes + share * exp(-depth));
            }
        }
        if count == 1 || all == 0.0 { depth } else { -(passes / all).max(1e-30).ln() }
    }

    /// The integral of the density along a ray up to a distance \[m\], by the midpoint rule with steps of about a spacing.
    fn density_along(&self, ray: &Ray, far: f32) -> f32 {
        let (points, spacing) = (self.points, self.spacing);
        let around = |by: f32| -> [f32; 3] {
            let [lo, hi] = self.smoke;
            std::array::from_fn(|a| {
                let side = if by < 0.0 { lo[a] } else { hi[a] };
                (side + by * spacing).clamp(0.0, self.extent[a])
            })
        };
        if self.smoke[0][0] > self.smoke[1][0] {
            return 0.0;
        }
        let [enter, leave] = box_span(ray, around(-1.0), around(1.0));
        let (enter, leave) = (enter.max(0.0), leave.min(far));
        if leave <= enter {
            return 0.0;
        }
        let steps = ((leave - enter) / spacing).ceil().clamp(1.0, 512.0);
        let step = (leave - enter) / steps;
        let (mut at, mut by) = ([0.0; 3], [0.0; 3]);
        for a in 0..3 {
            let first = ray.origin[a] + ray.direction[a] * (enter + 0.5 * step);
            at[a] = first / spacing + 0.5;
            by[a] = ray.direction[a] * step / spacing;
        }
        let mut sum = 0.0;
        for n in 0..steps as usize {
            let here = std::array::from_fn(|a| at[a] + n as f32 * by[a]);
            let [density] = trilinear(points, here, |n| [self.density[n]]);
            sum += density;
        }
        sum * step
    }

    /// Optical depth of the shadow of solids at each point, without any if there are none. Over a spacing and the penumbra light
    /// falls off evenly, so that the edge of a shadow lies where it is between points.
    pub(super) fn shade_of(&self, lamp: &Lamp, mut shade: Vec<f32>) -> Vec<f32> {
        let (points, spacing) = (self.points, self.spacing);
        shade.clear();
        if self.solids.is_empty() {
            return shade;
        }
        shade.resize(points.cells(), 0.0);
        shade.par_chunks_mut(points.nx).enumerate().with_min_len(64).for_each(|(row, depths)| {
            let place = |n: usize| (n as f32 - 0.5) * spacing;
            let (y, z) = (place(row % points.ny), place(row / points.ny));
            for (i, depth) in depths.iter_mut().enumerate() {
                for solid in &self.solids {
                    let clear = lamp.clear_of(solid, [place(i), y, z], spacing);
                    if clear < 1.0 {
                        *depth = (*depth - clear.max(super::DARK).ln()).min(-super::DARK.ln());
                    }
                }
            }
        });
        shade
    }

    /// Irradiance of further lights, those far away or those close by, on a surface, as far as neither solids nor smoke hide it.
    pub(super) fn lamps_on(&self, p: [f32; 3], normal: [f32; 3], far: bool) -> [f32; 3] {
        self.chosen_on_facet(p, &Facet::matte(normal), 0.0, |lamp| lamp.is_far() == far)[0]
    }

    /// Irradiance of all further lights on a surface, as far as neither solids nor smoke hide it, and the radiance that the coat of the
    /// surface sends to the eye. `turn` as for [`Lamp::at_surface`].
    pub(in crate::render) fn lamps_on_facet(&self, p: [f32; 3], facet: &Facet, turn: f32) -> [[f32; 3]; 2] {
        self.chosen_on_facet(p, facet, turn, |_| true)
    }

    fn chosen_on_facet(
        &self,
        p: [f32; 3],
        facet: &Facet,
        turn: f32,
        of: impl Fn(&Lamp) -> bool,
    ) -> [[f32; 3]; 2] {
        let mut sums = [[0.0; 3]; 2];
        for lit in self.lamps.iter().filter(|lit| of(&lit.lamp)) {
            let direct = lit.lamp.at_facet(p, facet, &self.solids, turn);
            if direct[0] > 0.0 {
                let passes = exp(-self.depth_at(&lit.depth, p));
                for (sum, direct) in sums.iter_mut().zip(direct) {
                    (0..3).for_each(|c| sum[c] += lit.lamp.color[c] * direct * passes);
                }
            }
        }
        sums
    }

    /// Irradiance of further suns on a floor that nothing hides.
    pub(super) fn suns_on_floor(&self) -> [f32; 3] {
        let mut sum = [0.0; 3];
        for lit in &self.lamps {
            if lit.lamp.is_far() {
                let direct = lit.lamp.unhidden([0.0; 3], [0.0, 1.0, 0.0]);
                (0..3).for_each(|c| sum[c] += lit.lamp.color[c] * direct);
            }
        }
        sum
    }

    /// The light in each cube that further lights, those far away or those close by, send directly: its sum, and the sum of each times the
    /// direction it goes in; the means over places in it, weighted with their density. Empty without such lights.
    pub(super) fn lamps_in_cubes(&self, medium: &Medium, far: bool) -> [[Vec<f32>; 4]; 3] {
        let lamps: Vec<&Lit> = self.lamps.iter().filter(|lit| lit.lamp.is_far() == far).collect();
        if lamps.is_empty() {
            return Default::default();
        }
        let (samples, dims) = (self.cube_samples(), self.mixture.dims);
        let points = samples.dims;
        let cube = |a: usize, n: usize| samples.cube(n, self.mixture.h, dims.array()[a]);
        let half = 0.5 * medium.extinction * samples.spacing;
        let plane = dims.nx * dims.ny;
        let mut sums = vec![Direct::default(); dims.cells()];
        let (density, spans) = (self.densities_in_cubes(&samples), samples.spans(&self.spans));
        let depths = |depths| samples.depths(self.on_points(depths), None);
        let lamps: Vec<_> =
            lamps.iter().map(|lit| (&lit.lamp, depths(&lit.depth), depths(&lit.shade))).collect();
        let albedo = &self.cubes.albedo;
        sums.par_chunks_mut(plane).enumerate().for_each(|(slab, sums)| {
            for k in (1..points.nz - 1).filter(|&k| cube(2, k) == slab) {
                for j in 1..points.ny - 1 {
                    let row = points.index(0, j, k);
                    let span = spans[j + k * points.ny].clone();
                    let inner = span.start.max(1)..span.end.min(points.nx - 1);
                    for i in inner.filter(|&i| density[row + i] > 0.0) {
                        let at = cube(1, j) * dims.nx + cube(0, i);
                        let p = [i, j, k];
                        let p = p.map(|n: usize| (n as f32 - 0.5) * samples.spacing);
                        let here = density[row + i];
                        sums[at].density += here;
                        for (lamp, depth, shade) in &lamps {
                            let scale: [f32; 3] = std::array::from_fn(|c| {
                                1.0 - albedo[c][slab * plane + at] * self.cubes.phase.forward
                            });
                            let hidden = shade.get(row + i).map_or(1.0, |shade| exp(-shade));
                            let arrives: [f32; 3] = std::array::from_fn(|c| {
                                let passes = exp(-scale[c] * depth[row + i]) * spread(half * scale[c] * here);
                                here * hidden * lamp.color[c] * passes
                            });
                            lamp.arriving(p).for_each(|from| sums[at].add(&from, arrives));
                        }
                    }
                }
            }
        });
        let cell = |c: usize, moment: usize| -> Vec<f32> {
            sums.iter().map(|sum| sum.sent[c][moment] / sum.density.max(1e-20)).collect()
        };
        std::array::from_fn(|c| std::array::from_fn(|moment| cell(c, moment)))
    }

    /// Adds the light of further lights that is scattered once, or forward before as `spread` says, to a run of points from `first` on.
    /// Points beyond a side get the radiance that interpolates to the right one on the side.
    pub(super) fn add_lamps(
        &self,
        [first, j, k]: [usize; 3],
        eye: [f32; 3],
        (medium, spread): (&Medium, Option<Spread>),
        scale: &[[f32; super::light_chunk::CHUNK]; 3],
        sent: &mut [[f32; super::light_chunk::CHUNK]; 3],
        count: usize,
    ) {
        for i in 0..count {
            let at = [first + i, j, k];
            let [n, inner] = [self.points.index(first + i, j, k), within(self.points, at)];
            let p = at.map(|n| (n as f32 - 0.5) * self.spacing);
            let to_eye = unit(std::array::from_fn(|a| eye[a] - p[a]));
            let scale = [0, 1, 2].map(|c| scale[c][i]);
            for lit in &self.lamps {
                let shade = lit.shade.get(n).copied().unwrap_or(0.0);
                let light = |depth: f32| {
                    scattered_once(&lit.lamp, p, to_eye, (medium, spread), (depth + shade, scale))
                };
                let light = if inner == n {
                    light(lit.depth[n])
                } else {
                    let [beyond, depth] = [n, inner].map(|n| lit.depth[n]);
                    let on_side = squared(0.5 * (root(beyond) + root(depth))).max(0.0);
                    let [on_side, depth] = [on_side, depth].map(light);
                    std::array::from_fn(|c| 2.0 * on_side[c] - depth[c])
                };
                for c in 0..3 {
                    sent[c][i] += light[c].max(0.0);
                }
            }
        }
    }

    /// Depths of the smoke towards further lights at each point, four lights to a texel, one block of planes behind the other;
    /// and the blocks.
    #[cfg(feature = "viewer")]
    pub(in crate::render) fn lamp_depths(&self) -> (Dims, Vec<[half::f16; 4]>) {
        let blocks = self.lamps.len().div_ceil(4).max(1);
        let cells = self.points.cells();
        let value = |block: usize, n: usize, of: usize| {
            self.lamps.get(4 * block + of).map_or(0.0, |lit| lit.depth[n])
        };
        let texel =
            |at: usize| std::array::from_fn(|of| half::f16::from_f32(value(at / cells, at % cells, of)));
        let dims = Dims { nz: blocks * self.points.nz, ..self.points };
        (dims, (0..blocks * cells).map(texel).collect())
    }
}

/// Returns the radiance along a unit vector that a place scatters of a lamp's light, once or forward before. The optical depth is that between
/// lamp and place; its share `scale` attenuates light that is scattered forward.
fn scattered_once(
    lamp: &Lamp,
    p: [f32; 3],
    to_eye: [f32; 3],
    (medium, spread): (&Medium, Option<Spread>),
    (depth, scale): (f32, [f32; 3]),
) -> [f32; 3] {
    let mut parts = lamp.arriving(p).filter(|from| from.share > 0.0).peekable();
    if parts.peek().is_none() {
        return [0.0; 3];
    }
    let clear = exp(-depth);
    let spread = spread.map(|spread| (spread, scale.map(|scale| spread.ahead([depth, clear, scale]))));
    let mut sum = [0.0; 3];
    for Arriving { direction, share, parallel, .. } in parts {
        let cosine = -(0..3).map(|a| to_eye[a] * direction[a]).sum::<f32>();
        let once = clear * medium.phase_function(parallel, cosine);
        for c in 0..3 {
            // No higher moments of the other share: only the fourteen directions add some to sunlight.
            let towards = [0.0, parallel * cosine];
            let forward = spread.as_ref().map_or(0.0, |(spread, ahead)| spread.radiance(&ahead[c], towards));
            sum[c] += share * (once + forward);
        }
    }
    std::array::from_fn(|c| lamp.color[c] * sum[c].max(0.0))
}

/// Direct light in a cube: for each colour the sum, and the sum times its direction.
#[derive(Clone, Copy, Default)]
struct Direct {
    density: f32,
    sent: [[f32; 4]; 3],
}

impl Direct {
    fn add(&mut self, from: &Arriving, arrives: [f32; 3]) {
        for c in 0..3 {
            let light = from.share * arrives[c];
            self.sent[c][0] += light;
            (0..3).for_each(|a| self.sent[c][a + 1] -= light * from.parallel * from.direction[a]);
        }
    }
}
