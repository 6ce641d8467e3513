//! Solids with the smoke's shadow on them, the extent of the floor, and the background. `shaders/scene.frag`
//! has the same formulas.

use super::camera::{Axes, FAR, Ray};
use super::glossy::Facet;
use super::light::LightVolume;
use super::lines::smoothstep;
use super::medium::Medium;
use super::noise;
use super::solid::{Meeting, Solid};
use super::stage::Stage;
use crate::look::Look;

/// The lit solids of a box.
pub(super) struct Scenery<'a> {
    pub light: &'a LightVolume,
    pub medium: &'a Medium,
    pub look: &'a Look,
    pub solids: &'a [Solid],
    /// Number of the frame, whose offsets rotate the sample points of wide lights.
    pub frame: u32,
    /// Whether light is interpolated by splines.
    pub splines: bool,
}

/// Distances from the middle at which the floor begins to fade and at which it ends, in units of the longer horizontal side
/// of the box at the start.
pub(super) const FLOOR_ENDS: [f32; 2] = [0.8, 3.0];

/// Returns whether an environment is the background.
pub(super) fn shows_environment(look: &Look) -> bool {
    look.environment.shown && look.environment.sphere.is_some()
}

/// Returns the background at a height of 0..1 in the picture.
pub(super) fn background(look: &Look, v: f32) -> [f32; 3] {
    let [top, bottom] = look.background;
    std::array::from_fn(|c| bottom[c] + (top[c] - bottom[c]) * v)
}

impl Scenery<'_> {
    /// Shades the surface of a solid: by the sun with the shadows of solids and smoke, and by all other
    /// light, read just outside the surface.
    fn solid(&self, ray: &Ray, meeting: &Meeting, turn: f32) -> [f32; 3] {
        let (m, n) = (self.medium, meeting.normal);
        let facet = Facet::new(ray, n, self.look.roughness(meeting.solid));
        let p: [f32; 3] = ray.at(meeting.t).coords.into();
        let out = |by: f32| -> [f32; 3] { std::array::from_fn(|a| p[a] + by * n[a]) };
        let (outside, the_sun) = (out(1e-3 * self.light.spacing), self.light.sun());
        let cosine = the_sun.mean_cosine(outside, n);
        let seen = if cosine > 0.0 { the_sun.seen(outside, n, self.solids, turn) } else { 0.0 };
        let through = if seen > 0.0 { self.light.sun_through(p) } else { [0.0; 3] };
        let sunny = through.map(|through| seen * through);
        let other = self.light.diffuse(p, n, self.splines);
        let [lamps, glossy] = self.light.lamps_on_facet(outside, &facet, turn);
        let (albedo, base) = (self.look.solid(meeting.solid), facet.base());
        let matte: [f32; 3] = std::array::from_fn(|c| {
            let direct = m.sun[c] * sunny[c] * cosine;
            base * albedo[c] * ((direct + lamps[c]) / std::f32::consts::PI + other[c]).max(0.0)
        });
        let Some(coat) = facet.coat else { return matte };
        let sun = facet.glossy(m.sun_direction.into(), the_sun.angular_radius(FAR));
        let mirrored = self.light.mirrored(p, n, facet.mirrored().into(), coat.focus(), self.splines);
        std::array::from_fn(|c| matte[c] + m.sun[c] * sunny[c] * sun + glossy[c] + (1.0 - base) * mirrored[c])
    }

    /// Renders the solids over a row of pixels of a picture of `size`.
    pub fn row_of_solids(
        &self,
        axes: &Axes,
        size: [u32; 2],
        y: u32,
        pixels: &mut [[f32; 4]],
        t_max: &mut [f32],
    ) {
        let v = (y as f32 + 0.5) / size[1] as f32;
        for (n, solid) in self.solids.iter().enumerate() {
            let (lo, hi) = (
                solid.center.map(|x| x - solid.bounding_radius()),
                solid.center.map(|x| x + solid.bounding_radius()),
            );
            let Some([lo, hi]) = axes.window(lo, hi).filter(|[lo, hi]| lo[1] - 0.01 < v && v < hi[1] + 0.01)
            else {
                continue;
            };
            let (first, end) = (lo[0] * size[0] as f32 - 1.0, (hi[0] * size[0] as f32 + 1.0) as usize);
            for x in first.max(0.0) as usize..end.min(pixels.len()) {
                let ray = axes.ray_through_pixel(size, [x as u32, y]);
                if let Some(meeting) = solid.meet(&ray, n).filter(|meeting| meeting.t < t_max[x]) {
                    let [r, g, b] = self.solid(&ray, &meeting, noise::offset(x as u32, y, self.frame));
                    (pixels[x], t_max[x]) = ([r, g, b, 0.0], meeting.t);
                }
            }
        }
    }
}

/// Returns the opacity of the floor at x and z: it fades out before the horizon.
pub(super) fn floor_shown(p: [f32; 2], stage: &Stage) -> f32 {
    let ([x, z], side) = (stage.middle(), stage.side());
    let out = [(p[0] - x) / side, (p[1] - z) / side];
    1.0 - smoothstep(FLOOR_ENDS[0], FLOOR_ENDS[1], out[0].hypot(out[1]))
}
