//! The floor behind the smoke, a row of pixels at a time. `shaders/scene.frag` has the same formulas.

use crate::render::camera::{Axes, FAR};
use crate::render::floor::FloorLight;
use crate::render::lamp::Lamp;
use crate::render::light::{LightVolume, Lit};
use crate::render::noise;
use crate::render::scene::FLOOR_ENDS;
use crate::render::stage::Stage;
use crate::render::tone::whole;
use crate::simd::{Simd, each_level, greatest, least};

/// Pixels processed at a time.
const CHUNK: usize = 32;
type Strip = [f32; CHUNK];

/// A lit floor.
pub(super) struct Floor<'a> {
    light: &'a FloorLight,
    /// The sun, further lights, and the solids that hide them.
    volume: &'a LightVolume,
    albedo: [f32; 3],
    /// Radiance of the floor in unshadowed sunlight.
    direct: [f32; 3],
    sun: Lamp,
    sun_direction: [f32; 3],
    /// Number of the frame, whose offsets rotate the sample points of wide lights.
    frame: u32,
    /// Middle of the floor, and the longer of the sides of the box at the start \[m\].
    middle: [f32; 2],
    side: f32,
}

impl<'a> Floor<'a> {
    pub fn new(
        light: &'a FloorLight,
        sun: Lamp,
        albedo: [f32; 3],
        stage: &Stage,
        (volume, frame): (&'a LightVolume, u32),
    ) -> Self {
        let irradiance = sun.unhidden([0.0; 3], [0.0, 1.0, 0.0]);
        Self {
            light,
            volume,
            albedo,
            direct: sun.color.map(|x| x * irradiance / std::f32::consts::PI),
            sun_direction: sun.drawn([0.0; 3], [0.0; 2]).direction,
            sun,
            frame,
            middle: stage.middle(),
            side: stage.side(),
        }
    }

    /// Computes radiance and visible share of the background for the pixels of row `y`, and the lengths of
    /// their rays up to the floor \[m\].
    pub fn row(&self, axes: &Axes, size: [u32; 2], y: u32, out: &mut [[f32; 4]], t_max: &mut [f32]) {
        let along = RowRays::new(axes, size, y);
        let (mut hits, mut pixels) = (FloorHits::default(), [[0.0; 4]; CHUNK]);
        for (n, (out, t_max)) in out.chunks_mut(CHUNK).zip(t_max.chunks_mut(CHUNK)).enumerate() {
            intersect(&along, self, (n * CHUNK) as f32, &mut hits);
            t_max.copy_from_slice(&hits.t_max[..t_max.len()]);
            if hits.shown == [0.0; CHUNK] {
                out.fill([0.0, 0.0, 0.0, 1.0]);
            } else {
                let first = [n * CHUNK, y as usize];
                if !self.volume.solids().is_empty() {
                    self.shadow(&mut hits, first);
                }
                shade(self, &hits, &mut pixels);
                if !self.volume.lamps().is_empty() {
                    self.light_by_lamps(&hits, first, &mut pixels);
                }
                out.copy_from_slice(&pixels[..out.len()]);
            }
        }
    }
}

impl Floor<'_> {
    /// Computes the shadows of solids in the sunlight. `first` is the first pixel of the strip.
    fn shadow(&self, hits: &mut FloorHits, first: [usize; 2]) {
        hits.sun_visibility = [1.0; CHUNK];
        let [sx, sy, sz] = self.sun_direction;
        if self.direct == [0.0; 3] {
            return;
        }
        let (sun, solids) = (&self.sun, self.volume.solids());
        let slope = sun.half_extent(1.0);
        let mut near = [false; CHUNK];
        for solid in solids {
            let (radius, [x, y, z]) = (solid.bounding_radius(), solid.center);
            // The shadow of a ball is an ellipse around this point, no longer than radius over the sine of
            // the sun's height. The disc of the sun widens it, without limit if the disc touches the horizon.
            let spread = 2.0 * slope * (y + radius).max(0.0) / (sy * sy);
            let long = if sy > 2.0 * slope { radius / sy + spread } else { f32::INFINITY };
            let (x, z) = (x - sx * y / sy, z - sz * y / sy);
            for (i, near) in near.iter_mut().enumerate() {
                let [px, _, pz] = self.place(hits, i);
                *near |= (px - x).powi(2) + (pz - z).powi(2) < long * long;
            }
        }
        for i in (0..CHUNK).filter(|&i| near[i] && hits.shown[i] > 0.0) {
            let turn = self.turn(first, i);
            hits.sun_visibility[i] = sun.seen(self.place(hits, i), [0.0, 1.0, 0.0], solids, turn);
        }
    }

    /// Returns the point of the floor in a pixel of the strip \[m\].
    fn place(&self, hits: &FloorHits, i: usize) -> [f32; 3] {
        let (lo, spacing) = (self.light.lo, self.light.spacing);
        [lo[0] + hits.x[i] * spacing[0], 0.0, lo[1] + hits.z[i] * spacing[1]]
    }

    /// Returns the rotation of the sample points of wide lights at a pixel of the strip that begins at `first`.
    fn turn(&self, [x, y]: [usize; 2], i: usize) -> f32 {
        noise::offset((x + i) as u32, y as u32, self.frame)
    }
}

impl Floor<'_> {
    /// Adds the light of further lamps. `first` is the first pixel of the strip.
    fn light_by_lamps(&self, hits: &FloorHits, first: [usize; 2], out: &mut [[f32; 4]; CHUNK]) {
        for i in (0..CHUNK).filter(|&i| hits.shown[i] > 0.0) {
            let (p, turn) = (self.place(hits, i), self.turn(first, i));
            for (n, Lit { lamp, .. }) in self.volume.lamps().iter().enumerate() {
                let direct = lamp.at_surface(p, [0.0, 1.0, 0.0], self.volume.solids(), turn);
                if direct > 0.0 {
                    let passes = self.light.of_lamp(n, hits.x[i], hits.z[i]);
                    let share = hits.shown[i] * direct * passes / std::f32::consts::PI;
                    (0..3).for_each(|c| out[i][c] += share * self.albedo[c] * lamp.color[c]);
                }
            }
        }
    }
}

/// The rays of a row: origin and direction of the ray through the left edge, and their change from one pixel
/// to the next.
struct RowRays {
    eye: [f32; 3],
    eye_step: [f32; 3],
    first: [f32; 3],
    step: [f32; 3],
}

impl RowRays {
    fn new(axes: &Axes, [width, height]: [u32; 2], y: u32) -> Self {
        let v = 2.0 * (y as f32 + 0.5) / height as f32 - 1.0;
        let (left, step) = (axes.up * v - axes.right, axes.right * (2.0 / width as f32));
        let still = [0.0; 3];
        match axes.parallel {
            true => Self {
                eye: (axes.eye + left).into(),
                eye_step: step.into(),
                first: axes.forward.into(),
                step: still,
            },
            false => Self {
                eye: axes.eye.into(),
                eye_step: still,
                first: (axes.forward + left).into(),
                step: step.into(),
            },
        }
    }
}

/// Intersections of rays with the floor.
struct FloorHits {
    /// Opacity of the floor at the intersection.
    shown: Strip,
    /// Position in nodes of the floor's light map.
    x: Strip,
    z: Strip,
    t_max: Strip,
    /// Share of the sun's disc that no solid hides.
    sun_visibility: Strip,
}

impl Default for FloorHits {
    fn default() -> Self {
        let zeros = [0.0; CHUNK];
        Self { shown: zeros, x: zeros, z: zeros, t_max: zeros, sun_visibility: [1.0; CHUNK] }
    }
}

each_level! {
    /// Intersects the rays from the `x`th pixel on with the floor.
    fn intersect(along: &RowRays, floor: &Floor, x: f32, hits: &mut FloorHits) = intersect_kernel;
}

#[inline(always)]
fn intersect_kernel<S: Simd>(_: S, along: &RowRays, floor: &Floor, x: f32, hits: &mut FloorHits) {
    let RowRays { eye, eye_step, first, step } = along;
    let (lo, spacing) = (floor.light.lo, floor.light.spacing);
    let [across, deep] = [1.0 / spacing[0], 1.0 / spacing[1]];
    let per_side = 1.0 / floor.side;
    for i in 0..CHUNK {
        let at = x + i as f32 + 0.5;
        let d = [first[0] + step[0] * at, first[1] + step[1] * at, first[2] + step[2] * at];
        let eye = [eye[0] + eye_step[0] * at, eye[1] + eye_step[1] * at, eye[2] + eye_step[2] * at];
        let down = least(d[1], -1e-9);
        let t = -eye[1] / down;
        let (px, pz) = (eye[0] + d[0] * t, eye[2] + d[2] * t);
        let (off_x, off_z) = ((px - floor.middle[0]) * per_side, (pz - floor.middle[1]) * per_side);
        let away = (off_x * off_x + off_z * off_z).sqrt();
        let [start, end] = FLOOR_ENDS;
        let share = least(greatest((away - start) / (end - start), 0.0), 1.0);
        let below = d[1] < 0.0 && eye[1] > 0.0;
        hits.shown[i] = if below { 1.0 - share * share * (3.0 - 2.0 * share) } else { 0.0 };
        let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
        hits.t_max[i] = if below { least(t * length, FAR) } else { FAR };
        hits.x[i] = (px - lo[0]) * across;
        hits.z[i] = (pz - lo[1]) * deep;
    }
}

each_level! {
    /// Computes the radiance of the floor at the intersections.
    fn shade(floor: &Floor, hits: &FloorHits, out: &mut [[f32; 4]; CHUNK]) = shade_kernel;
}

#[inline(always)]
fn shade_kernel<S: Simd>(_: S, floor: &Floor, hits: &FloorHits, out: &mut [[f32; 4]; CHUNK]) {
    let FloorLight { size: [width, depth], texels, .. } = floor.light;
    let top = [(width - 1) as f32, (depth - 1) as f32];
    let (mut first, mut aside, mut behind) = ([0_u32; CHUNK], [0_u32; CHUNK], [0_u32; CHUNK]);
    let (mut across, mut deep) = ([0.0; CHUNK], [0.0; CHUNK]);
    for i in 0..CHUNK {
        let (x, z) = (least(greatest(hits.x[i], 0.0), top[0]), least(greatest(hits.z[i], 0.0), top[1]));
        let (low_x, low_z) = (x.floor(), z.floor());
        (across[i], deep[i]) = (x - low_x, z - low_z);
        first[i] = whole(low_z) * *width as u32 + whole(low_x);
        aside[i] = if low_x < top[0] { 1 } else { 0 };
        behind[i] = if low_z < top[1] { *width as u32 } else { 0 };
    }
    for i in 0..CHUNK {
        let (at, aside, behind) = (first[i] as usize, aside[i] as usize, behind[i] as usize);
        let (a, b) = (texels[at], texels[at + aside]);
        let (p, q) = (texels[at + behind], texels[at + behind + aside]);
        let (f, g, shown) = (across[i], deep[i], hits.shown[i]);
        let mut arrives = [0.0; 4];
        for c in 0..4 {
            let (near, far) = (a[c] + f * (b[c] - a[c]), p[c] + f * (q[c] - p[c]));
            arrives[c] = near + g * (far - near);
        }
        let sun = arrives[0] * hits.sun_visibility[i];
        for c in 0..3 {
            out[i][c] = shown * floor.albedo[c] * (floor.direct[c] * sun + arrives[c + 1]);
        }
        out[i][3] = 1.0 - shown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::look::{Camera, Look};
    use crate::render::camera::away_from_zero;
    use crate::render::medium::Medium;
    use crate::render::procedural::{Tint, plume};
    use crate::render::scene::floor_shown;

    #[test]
    fn a_row_is_what_each_ray_meets() {
        let look = Look { sun_direction: [-0.5, 0.6, -0.4], ..Look::default() };
        let snapshot = plume(Dims::new([24, 36, 20]).unwrap(), 0.04, Tint::Even);
        let (extent, size) = (snapshot.extent(), [75, 50]);
        let medium = Medium::of(&look, extent);
        let (mut light, mut floor_light) = (LightVolume::default(), FloorLight::default());
        light.bake(&snapshot, &look);
        floor_light.cast(&light, &medium);
        let axes = Axes::of(&Camera::framing(extent), 1.5);
        let stage = Stage::of(&snapshot);
        let floor = Floor::new(&floor_light, Lamp::sun(&look), [0.3, 0.2, 0.1], &stage, (&light, 0));
        let (mut met, mut missed) = (0, 0);
        for y in 0..size[1] {
            let (mut pixels, mut t_max) = ([[0.0; 4]; 75], [0.0; 75]);
            floor.row(&axes, size, y, &mut pixels, &mut t_max);
            for x in 0..75 {
                let ray = axes.ray_through_pixel(size, [x as u32, y]);
                let t = -ray.origin.y / away_from_zero(ray.direction.y);
                if t <= 0.0 {
                    assert!(pixels[x] == [0.0, 0.0, 0.0, 1.0] && t_max[x] == FAR);
                    missed += 1;
                    continue;
                }
                let p = ray.at(t);
                let [direct, other @ ..] = floor_light.sample(p.x, p.z);
                let shown = floor_shown([p.x, p.z], &stage);
                met += i32::from(shown > 0.0);
                assert!((t_max[x] - t).abs() < 1e-3 * t && (pixels[x][3] - (1.0 - shown)).abs() < 1e-3);
                for c in 0..3 {
                    let sun = medium.sun[c] * medium.sun_direction[1] / std::f32::consts::PI;
                    let want = shown * [0.3, 0.2, 0.1][c] * (sun * direct + other[c]);
                    assert!((pixels[x][c] - want).abs() < 2e-3 * want.max(1e-2), "{x}, {y}: {:?}", pixels[x]);
                }
            }
        }
        assert!(met > 1000 && missed > 100, "{met} {missed}");
    }
}
