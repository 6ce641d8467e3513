//! What stands in, behind and beneath the smoke: solids and the floor, with the smoke's shadow on them, and the
//! background.
//! `shaders/scene.frag` is the same.

use super::Cursor;
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
    pub cursor: Option<Cursor>,
    pub solids: &'a [Solid],
    /// Distance between the nodes of the light volume \[m\].
    pub spacing: [f32; 3],
}

const FAR: f32 = 1e6;

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

    fn floor(&self, ray: &Ray) -> Behind {
        let nothing = Behind { radiance: [0.0; 3], clear: 1.0, reach: FAR };
        let Some(albedo) = self.look.floor else { return nothing };
        let t = -ray.origin.y / away_from_zero(ray.direction.y);
        if t <= 0.0 || ray.origin.y <= 0.0 {
            return nothing;
        }
        let p = [ray.at(t).x, 0.0, ray.at(t).z];
        let shown = self.shown(p);
        let mut lit = self.radiance(albedo, p);
        if let Some(cursor) = self.cursor {
            let ring = 0.6 * cursor_ring(&cursor, p, t);
            lit = std::array::from_fn(|c| lit[c] + (cursor.color[c] - lit[c]) * ring);
        }
        Behind { radiance: lit.map(|x| x * shown), clear: 1.0 - shown, reach: t }
    }

    /// The floor ends softly: there is no horizon.
    fn shown(&self, p: [f32; 3]) -> f32 {
        let out = [0, 2].map(|a| (p[a] - 0.5 * self.extent[a]) / self.extent[0].max(self.extent[2]));
        1.0 - smoothstep(0.8, 3.0, out[0].hypot(out[1]))
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

/// A thin ring below the cursor shows where it is.
fn cursor_ring(cursor: &Cursor, p: [f32; 3], t: f32) -> f32 {
    let width = 0.003 * t;
    let off = ((p[0] - cursor.center[0]).hypot(p[2] - cursor.center[2]) - cursor.radius).abs();
    1.0 - smoothstep(width * 0.5, width, off)
}
