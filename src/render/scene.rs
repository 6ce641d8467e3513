//! What stands in, behind and beneath the smoke: solids and the floor, with the smoke's shadow on them, and the
//! background.
//! `shaders/scene.frag` is the same.

#[cfg(feature = "viewer")]
use super::camera::Axes;
use super::camera::{Ray, away_from_zero};
use super::floor::FloorLight;
use super::lines::smoothstep;
use super::medium::Medium;
use super::volume::Volume;
use crate::look::Look;

use super::solid::{self, Meeting, Solid};

/// Where a ray ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Behind {
    /// Linear radiance without the background.
    pub radiance: [f32; 3],
    /// The share of the background that is seen past it.
    pub clear: f32,
    /// Distance at which the smoke ends \[m\].
    pub reach: f32,
}

/// The floor of a box and the solids in it, under a light.
pub(super) struct Scenery<'a> {
    pub extent: [f32; 3],
    pub light: &'a Volume,
    pub floor_light: &'a FloorLight,
    pub medium: &'a Medium,
    pub look: &'a Look,
    pub solids: &'a [Solid],
    /// Distance between the nodes of the light volume \[m\].
    pub spacing: [f32; 3],
}

/// What hides nothing is so far away \[m\].
pub(super) const FAR: f32 = 1e6;

/// The background at a height of 0..1 up the picture.
pub(super) fn background(look: &Look, v: f32) -> [f32; 3] {
    let [top, bottom] = look.background;
    std::array::from_fn(|c| bottom[c] + (top[c] - bottom[c]) * v)
}

impl Scenery<'_> {
    /// Where `ray` ends.
    pub fn behind(&self, ray: &Ray) -> Behind {
        let behind = self.floor(ray);
        match solid::nearest(self.solids, ray) {
            Some(meeting) if meeting.t < behind.reach => self.solid(ray, &meeting),
            _ => behind,
        }
    }

    /// A solid's surface, lit as if from just outside: the light volume is dark within.
    fn solid(&self, ray: &Ray, meeting: &Meeting) -> Behind {
        let (m, n) = (self.medium, meeting.normal);
        let p = ray.at(meeting.t);
        let outside = std::array::from_fn(|a| p[a] + 1.5 * n[a] * self.spacing[a]);
        let clear = self.light.sample(outside).map(|depth| (-depth).exp());
        let cosine = (0..3).map(|a| n[a] * m.sun_direction[a]).sum::<f32>().max(0.0);
        let up = 0.5 + n[1] / 3.0;
        let albedo = self.look.solid(meeting.solid);
        let radiance = std::array::from_fn(|c| {
            let direct = m.sun[c] * cosine * clear[0] / std::f32::consts::PI;
            albedo[c] * (direct + m.sky[c] * up * clear[1] + m.ground[c] * (1.0 - up) * clear[2])
        });
        Behind { radiance, clear: 0.0, reach: meeting.t }
    }

    /// Puts the solids before what is behind a row of pixels, of a picture of `size`.
    #[cfg(feature = "viewer")]
    pub fn row_of_solids(
        &self,
        axes: &Axes,
        size: [u32; 2],
        y: u32,
        pixels: &mut [[f32; 4]],
        reach: &mut [f32],
    ) {
        let v = (y as f32 + 0.5) / size[1] as f32;
        for (n, solid) in self.solids.iter().enumerate() {
            let (lo, hi) = (solid.center.map(|x| x - solid.reach()), solid.center.map(|x| x + solid.reach()));
            let Some([lo, hi]) = axes.window(lo, hi).filter(|[lo, hi]| lo[1] - 0.01 < v && v < hi[1] + 0.01)
            else {
                continue;
            };
            let (first, end) = (lo[0] * size[0] as f32 - 1.0, (hi[0] * size[0] as f32 + 1.0) as usize);
            for x in first.max(0.0) as usize..end.min(pixels.len()) {
                let ray = axes.ray([(x as f32 + 0.5) / size[0] as f32, v]);
                if let Some(meeting) = solid.meet(&ray, n).filter(|meeting| meeting.t < reach[x]) {
                    let Behind { radiance: [r, g, b], clear, reach: t } = self.solid(&ray, &meeting);
                    (pixels[x], reach[x]) = ([r, g, b, clear], t);
                }
            }
        }
    }

    fn floor(&self, ray: &Ray) -> Behind {
        let nothing = Behind { radiance: [0.0; 3], clear: 1.0, reach: FAR };
        let Some(albedo) = self.look.floor else { return nothing };
        let t = -ray.origin.y / away_from_zero(ray.direction.y);
        if t <= 0.0 || ray.origin.y <= 0.0 {
            return nothing;
        }
        let p = [ray.at(t).x, 0.0, ray.at(t).z];
        let shown = floor_shown([p[0], p[2]], self.extent);
        let lit = self.radiance(albedo, p);
        Behind { radiance: lit.map(|x| x * shown), clear: 1.0 - shown, reach: t }
    }

    fn radiance(&self, albedo: [f32; 3], p: [f32; 3]) -> [f32; 3] {
        let m = self.medium;
        let [direct, open] = self.floor_light.sample(p[0], p[2]);
        let cosine = m.sun_direction[1].max(0.0);
        std::array::from_fn(|c| {
            let ambient = m.ground[c] + (m.sky[c] - m.ground[c]) * (5.0 / 6.0);
            albedo[c] * (m.sun[c] * cosine * direct / std::f32::consts::PI + ambient * open)
        })
    }
}

/// How much of the floor is shown at x and z: it ends softly, there is no horizon.
pub(super) fn floor_shown(p: [f32; 2], extent: [f32; 3]) -> f32 {
    let side = extent[0].max(extent[2]);
    let out = [(p[0] - 0.5 * extent[0]) / side, (p[1] - 0.5 * extent[2]) / side];
    1.0 - smoothstep(0.8, 3.0, out[0].hypot(out[1]))
}
