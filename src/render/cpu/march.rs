//! Front-to-back march through a volume, a packet of rays at a time. It takes the same steps as
//! `shaders/march.frag` for smoke and `shaders/field.frag` for the flow.

use std::ops::Range;

use fearless_simd::prelude::*;

use super::packets::Packets;
use super::texels::Texels;
use crate::render::camera::Axes;
use crate::render::colormap;
use crate::render::noise;
use crate::simd::{Token, vectorize};

/// Rays of the longest packet. Rows are marched in whole packets of this length.
pub(super) const PACKET: usize = 16;
/// Transmittance below which a ray ends.
pub(in crate::render) const LEAST: f32 = 1.0 / 512.0;

/// A volume on the cells of a grid, with bricks of 8³ cells; empty ones are skipped.
pub(super) struct Volume<'a> {
    pub texels: Texels<'a>,
    /// Plane of cells of the first texels.
    pub first: f32,
    pub medium: Medium<'a>,
    /// 1 for each occupied brick, else 0.
    pub occupied: &'a [f32],
    /// Bricks along each axis.
    pub bricks: [usize; 3],
    /// Edge of a brick \[m\].
    pub brick: f32,
    /// Size of the box \[m\].
    pub extent: [f32; 3],
    /// Bounding box of the occupied bricks \[m\].
    pub bounds: [[f32; 3]; 2],
    /// Edge of a cell \[m\].
    pub h: f32,
    /// Distance between samples \[m\].
    pub dt: f32,
}

/// The meaning of a volume's four numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Medium<'a> {
    /// ρ ω and ρ ([`crate::render::preshaded`]).
    Smoke {
        /// Extinction per unit of density \[1/m\].
        extinction: f32,
        /// Quadratic B-splines of smoke and light instead of trilinear interpolation.
        splines: bool,
        /// Light in the smoke.
        light: Lit<'a>,
    },
    /// u, v, w and |ω|; the magnitude emits light.
    Flow {
        /// Whether to show |ω| instead of |u|.
        vorticity: bool,
        /// Value at the upper end of the colour scale.
        top: f32,
        /// Extinction at that value \[1/m\].
        thickness: f32,
    },
}

/// The light volume towards an eye, as a march reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lit<'a> {
    /// In-scattered radiance and the square root of the optical depth towards the sun
    /// ([`crate::render::light`]).
    pub texels: Texels<'a>,
    /// Conversion of a position from cells, counted from the middle of the first, to texels: factor and
    /// summand.
    pub scale: [f32; 3],
    pub first: [f32; 3],
    /// Whether its points lie at least two steps apart: pairs of steps then share the light at their middle.
    pub coarse: bool,
    /// ρ times the radiance of opaque smoke at the cells, if it glows.
    pub glow: Option<Texels<'a>>,
    pub sun: [f32; 3],
    pub sun_direction: [f32; 3],
    pub lobes: [f32; 2],
    pub second_share: f32,
}

/// A part of a row of rays.
pub(super) struct Row<'a> {
    pub axes: &'a Axes,
    /// Rays across and up the picture.
    pub size: [u32; 2],
    /// Index of the row, from the bottom.
    pub y: u32,
    /// The rays of the part, which begins at a whole packet.
    pub x: Range<u32>,
    /// Offsets of the row's rays from the tile of noise, before the frame's shift.
    pub noise: &'a [f32; noise::TILE],
    /// Shift of the frame.
    pub shift: f32,
    /// Length of each ray up to a surface \[m\], in whole packets.
    pub t_max: &'a [f32],
}

/// Converts a window in 0..1 to rays: its lower left, at a whole packet, and its upper right.
pub(super) fn in_rays([lo, hi]: [[f32; 2]; 2], rays: [u32; 2]) -> [[usize; 2]; 2] {
    let down = |a: usize| ((lo[a] * rays[a] as f32) as usize).saturating_sub(2);
    let up = |a: usize| ((hi[a] * rays[a] as f32).ceil() as usize + 2).min(rays[a] as usize);
    [[down(0) / PACKET * PACKET, down(1)], [up(0), up(1)]]
}

/// Computes radiance and transmittance along the rays, with the instructions of `token`. `out` holds whole packets.
pub(super) fn march(token: Token, volume: &Volume, row: &Row, out: &mut [[f32; 4]]) {
    vectorize!(token, march_row(volume, row, out));
}

#[inline(always)]
fn march_row<S: Packets>(s: S, volume: &Volume, row: &Row, out: &mut [[f32; 4]]) {
    match volume.medium {
        Medium::Smoke { extinction, splines: false, light } => {
            march_through(s, volume, &Smoke::<false> { extinction, first: volume.first, light }, row, out);
        }
        Medium::Smoke { extinction, splines: true, light } => {
            march_through(s, volume, &Smoke::<true> { extinction, first: volume.first, light }, row, out);
        }
        Medium::Flow { vorticity, top, thickness } => {
            let flow = Flow { vorticity, top, thickness, colors: colormap::table() };
            march_through(s, volume, &flow, row, out);
        }
    }
}

#[inline(always)]
fn march_through<S: Packets, M: Step>(s: S, volume: &Volume, medium: &M, row: &Row, out: &mut [[f32; 4]]) {
    let packets = out.chunks_exact_mut(S::COUNT).zip(row.t_max.chunks_exact(S::COUNT));
    for (n, (out, t_max)) in packets.enumerate() {
        let x = row.x.start + (n * S::COUNT) as u32;
        if x >= row.x.end {
            return;
        }
        s.store(Packet::new(s, volume, row, x, t_max).march(volume, medium), out);
    }
}

/// The part of rays in the slab of one rank, of those towards greater or of those towards smaller z.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlabSegment {
    pub upwards: bool,
    /// First plane of cells, and the end.
    pub planes: [f32; 2],
}

/// States of rays between slabs, as many as the longest packet has: red, green, blue, transmittance, and the
/// next step.
pub(super) type RayStates = [[f32; PACKET]; 5];

/// States of rays before their first step.
pub(super) const INITIAL_STATES: RayStates =
    [[0.0; PACKET], [0.0; PACKET], [0.0; PACKET], [1.0; PACKET], [0.0; PACKET]];

/// Marches the rays of a part of a row through the smoke of a slab, with the instructions of `token`. Rays
/// take the steps of [`march`].
pub(super) fn march_segment(
    token: Token,
    volume: &Volume,
    row: &Row,
    segment: &SlabSegment,
    rays: &mut [RayStates],
) {
    vectorize!(token, march_segment_row(volume, row, segment, rays));
}

#[inline(always)]
fn march_segment_row<S: Packets>(
    s: S,
    volume: &Volume,
    row: &Row,
    segment: &SlabSegment,
    rays: &mut [RayStates],
) {
    match volume.medium {
        Medium::Smoke { extinction, splines: false, light } => {
            let medium = Smoke::<false> { extinction, first: volume.first, light };
            march_segment_rays(s, volume, &medium, row, segment, rays);
        }
        Medium::Smoke { extinction, splines: true, light } => {
            let medium = Smoke::<true> { extinction, first: volume.first, light };
            march_segment_rays(s, volume, &medium, row, segment, rays);
        }
        Medium::Flow { .. } => unreachable!("slabs of smoke"),
    }
}

#[inline(always)]
fn march_segment_rays<S: Packets, M: Step>(
    s: S,
    volume: &Volume,
    medium: &M,
    row: &Row,
    segment: &SlabSegment,
    rays: &mut [RayStates],
) {
    for (n, rays) in rays.iter_mut().enumerate() {
        for start in (0..PACKET).step_by(S::COUNT) {
            let x = row.x.start + (n * PACKET + start) as u32;
            if x >= row.x.end {
                return;
            }
            let packet = Packet::new(s, volume, row, x, &row.t_max[n * PACKET + start..]);
            let mut out = [0, 1, 2, 3].map(|c| s.load(&rays[c][start..]));
            let mut next = s.load(&rays[4][start..]).max(packet.first);
            packet.walk::<_, true>(volume, medium, segment, &mut next, &mut out);
            let [red, green, blue, clear] = out;
            for (to, values) in rays.iter_mut().zip([red, green, blue, clear, next]) {
                to[start..start + S::COUNT].copy_from_slice(values.as_slice());
            }
        }
    }
}

/// Contribution of a medium to rays that pass a part of it.
trait Step {
    /// Returns a number for each ray that depends on its direction alone.
    fn of_ray<S: Packets>(&self, s: S, direction: [S::Rays; 3]) -> S::Rays;

    /// Adds two steps to `out`, radiance and transmittance. `places` are their middles, in cells from the middle
    /// of the first, and the cells that a ray passes for each metre; `length` are their lengths. The two may share the light between them.
    fn take_two<S: Packets>(
        &self,
        s: S,
        texels: &Texels,
        places: ([[S::Rays; 3]; 2], [S::Rays; 3]),
        length: [S::Rays; 2],
        of_ray: S::Rays,
        out: &mut [S::Rays; 4],
    );
}

/// Smoke with its extinction per unit of density, interpolated by splines or trilinearly.
struct Smoke<'a, const SPLINES: bool> {
    extinction: f32,
    /// Plane of cells of the first texels.
    first: f32,
    light: Lit<'a>,
}

impl<const SPLINES: bool> Step for Smoke<'_, SPLINES> {
    /// Returns the phase function.
    #[inline(always)]
    fn of_ray<S: Packets>(&self, s: S, d: [S::Rays; 3]) -> S::Rays {
        let [x, y, z] = self.light.sun_direction;
        let cosine = d[0].mul_add(x, d[1].mul_add(y, d[2] * z));
        let first = henyey_greenstein(s, self.light.lobes[0], cosine);
        let second = henyey_greenstein(s, self.light.lobes[1], cosine);
        (second - first).mul_add(self.light.second_share, first)
    }

    #[inline(always)]
    fn take_two<S: Packets>(
        &self,
        s: S,
        texels: &Texels,
        (at, way): ([[S::Rays; 3]; 2], [S::Rays; 3]),
        length: [S::Rays; 2],
        phase: S::Rays,
        out: &mut [S::Rays; 4],
    ) {
        let mut middle = at[0];
        for a in 0..3 {
            middle[a] = (at[0][a] + at[1][a]) * 0.5;
        }
        let both = length[0] + length[1];
        let coarse = self.light.coarse;
        // Without splines the march is an eighth faster if the two steps are unrolled.
        if coarse && !SPLINES {
            let (first, second) = (self.smoke(s, texels, at[0]), self.smoke(s, texels, at[1]));
            let passed = first[3].mul_add(length[0], second[3] * length[1]);
            if passed.simd_gt(0.0).any_true() {
                let in_scattered = self.in_scattered(s, self.seen::<S>(middle, way, both, passed), phase);
                self.add(s, first, in_scattered, at[0], length[0], out);
                self.add(s, second, in_scattered, at[1], length[1], out);
            }
            return;
        }
        // Loops compile each sample once. Unrolled, the marches took a fifth of the compile time of solver
        // and renderer.
        let mut smoke = [[s.splat(0.0); 4]; 2];
        for n in 0..2 {
            smoke[n] = self.smoke(s, texels, at[n]);
        }
        let passed = [smoke[0][3] * length[0], smoke[1][3] * length[1]];
        let mut in_scattered = None;
        for n in 0..2 {
            if passed[n].simd_gt(0.0).any_true() {
                let lit = match in_scattered {
                    Some(lit) if coarse => lit,
                    _ => {
                        let seen = if coarse {
                            self.seen::<S>(middle, way, both, passed[0] + passed[1])
                        } else {
                            self.seen::<S>(at[n], way, length[n], passed[n])
                        };
                        self.in_scattered(s, seen, phase)
                    }
                };
                in_scattered = Some(lit);
                self.add(s, smoke[n], lit, at[n], length[n], out);
            }
        }
    }
}

impl<const SPLINES: bool> Smoke<'_, SPLINES> {
    /// Samples ρ ω and ρ.
    #[inline(always)]
    fn smoke<S: Packets>(&self, s: S, texels: &Texels, [x, y, z]: [S::Rays; 3]) -> [S::Rays; 4] {
        if SPLINES {
            return s.sample_spline(texels, [x, y, z], self.first);
        }
        // The difference is exact: the sample lies above the first plane, or beyond a side of the box.
        s.sample(texels, [x, y, z - self.first])
    }

    /// Returns the position at which the light of a step is read, from its middle and the integral of the density over it.
    #[inline(always)]
    fn seen<S: Packets>(
        &self,
        at: [S::Rays; 3],
        way: [S::Rays; 3],
        length: S::Rays,
        passed: S::Rays,
    ) -> [S::Rays; 3] {
        let nearer = nearer::<S>(passed * self.extinction, length);
        let mut seen = at;
        for a in 0..3 {
            seen[a] = at[a] - nearer * way[a];
        }
        seen
    }

    /// Returns the radiance scattered towards the eye for an albedo of 1.
    #[inline(always)]
    fn in_scattered<S: Packets>(&self, s: S, at: [S::Rays; 3], phase: S::Rays) -> [S::Rays; 3] {
        let light = &self.light;
        let mut at_light = at;
        for a in 0..3 {
            at_light[a] = at[a].mul_add(light.scale[a], light.first[a]);
        }
        let [red, green, blue, root] = if SPLINES {
            s.sample_spline(&light.texels, at_light, 0.0)
        } else {
            s.sample(&light.texels, at_light)
        };
        let root = root.max(0.0);
        let direct = phase * s.exp(-(root * root));
        let [sun_red, sun_green, sun_blue] = light.sun;
        [direct.mul_add(sun_red, red), direct.mul_add(sun_green, green), direct.mul_add(sun_blue, blue)]
    }

    /// Adds a step through smoke with the radiance `in_scattered`.
    #[inline(always)]
    fn add<S: Packets>(
        &self,
        s: S,
        [red, green, blue, density]: [S::Rays; 4],
        in_scattered: [S::Rays; 3],
        at: [S::Rays; 3],
        length: S::Rays,
        out: &mut [S::Rays; 4],
    ) {
        let passes = s.exp(density * length * -self.extinction);
        let share = out[3] * (s.splat(1.0) - passes) / density.max(1e-8);
        out[0] = (share * red).mul_add(in_scattered[0], out[0]);
        out[1] = (share * green).mul_add(in_scattered[1], out[1]);
        out[2] = (share * blue).mul_add(in_scattered[2], out[2]);
        if let Some(glow) = &self.light.glow {
            let [red, green, blue, _] = self.smoke(s, glow, at);
            out[0] = share.mul_add(red, out[0]);
            out[1] = share.mul_add(green, out[1]);
            out[2] = share.mul_add(blue, out[2]);
        }
        out[3] *= passes;
    }
}

/// Offset towards the eye, from the middle of a step of optical depth τ, of the mean position weighted by transmittance: 1/2 − 1/τ + 1/(e^τ − 1)
/// of the length, within 0.01 up to τ = 3 and constant from there.
#[inline(always)]
fn nearer<S: Packets>(depth: S::Rays, length: S::Rays) -> S::Rays {
    let depth = depth.min(3.0);
    depth * depth.mul_add(-0.0025, 1.0 / 12.0) * length
}

/// Returns the phase function of Henyey and Greenstein \[1/sr\].
#[inline(always)]
fn henyey_greenstein<S: Packets>(s: S, g: f32, cosine: S::Rays) -> S::Rays {
    let d = cosine.mul_add(-2.0 * g, 1.0 + g * g);
    s.splat((1.0 - g * g) / (4.0 * std::f32::consts::PI)) / (d * d.sqrt())
}

/// [`Medium::Flow`].
struct Flow<'a> {
    vorticity: bool,
    top: f32,
    thickness: f32,
    colors: &'a [[f32; colormap::ENTRIES]; 3],
}

impl Step for Flow<'_> {
    #[inline(always)]
    fn of_ray<S: Packets>(&self, s: S, _direction: [S::Rays; 3]) -> S::Rays {
        s.splat(0.0)
    }

    #[inline(always)]
    fn take_two<S: Packets>(
        &self,
        s: S,
        texels: &Texels,
        (at, _way): ([[S::Rays; 3]; 2], [S::Rays; 3]),
        length: [S::Rays; 2],
        _of_ray: S::Rays,
        out: &mut [S::Rays; 4],
    ) {
        for n in 0..2 {
            let [u, v, w, vorticity] = s.sample(texels, at[n]);
            let value = if self.vorticity { vorticity } else { u.mul_add(u, v.mul_add(v, w * w)).sqrt() };
            let x = value * (1.0 / self.top);
            let passes = s.exp(x * x * length[n] * -self.thickness);
            let share = out[3] * (s.splat(1.0) - passes);
            let entry = s.floor(x.mul_add((colormap::ENTRIES - 1) as f32, 0.5));
            for (out, color) in out.iter_mut().zip(self.colors) {
                *out = share.mul_add(s.look_up(color, entry), *out);
            }
            out[3] *= passes;
        }
    }
}

/// Neighbouring rays of a row.
struct Packet<S: Packets> {
    s: S,
    direction: [S::Rays; 3],
    /// Origins in cells, from the centre of the first.
    eye_cells: [S::Rays; 3],
    /// Distances at which each ray enters and leaves the box.
    span: [S::Rays; 2],
    /// Start of the lattice of steps, the first step that may be occupied, and the one after the last.
    t0: S::Rays,
    first: S::Rays,
    last: S::Rays,
}

impl<S: Packets> Packet<S> {
    #[inline(always)]
    fn new(s: S, volume: &Volume, row: &Row, x: u32, t_max: &[f32]) -> Self {
        let [eye, direction] = rays(s, row, x);
        let [enter, leave] = box_span(s, eye, direction, [[0.0; 3], volume.extent]);
        let span = [enter.max(0.0), leave.min(s.load(t_max))];
        let [near, far] = box_span(s, eye, direction, volume.bounds);
        let noise = s.load(&row.noise[x as usize % noise::TILE..]) + row.shift;
        let offset = noise - s.floor(noise);
        let per_dt = 1.0 / volume.dt;
        let t0 = span[0] - (s.splat(1.0) - offset) * volume.dt;
        Self {
            s,
            direction,
            eye_cells: eye.map(|x| x.mul_add(s.splat(1.0 / volume.h), s.splat(-0.5))),
            span,
            t0,
            first: s.floor((near - t0) * per_dt).max(0.0),
            last: s.ceil((span[1].min(far) - t0) * per_dt),
        }
    }

    /// Marches the packet. Returns red, green, blue and transmittance.
    #[inline(always)]
    fn march<M: Step>(&self, volume: &Volume, medium: &M) -> [S::Rays; 4] {
        let s = self.s;
        let mut out = [s.splat(0.0), s.splat(0.0), s.splat(0.0), s.splat(1.0)];
        let mut n = self.first;
        self.walk::<M, false>(volume, medium, &SlabSegment::default(), &mut n, &mut out);
        out
    }

    /// Marches on from the step `n`. With `PART` only the rays of a segment march, as long as the middles of
    /// their steps lie in its planes.
    #[inline(always)]
    fn walk<M: Step, const PART: bool>(
        &self,
        volume: &Volume,
        medium: &M,
        segment: &SlabSegment,
        n: &mut S::Rays,
        out: &mut [S::Rays; 4],
    ) {
        let of_ray = medium.of_ray(self.s, self.direction);
        let way = self.direction.map(|x| x * (1.0 / volume.h));
        loop {
            let mut active = n.simd_lt(self.last) & out[3].simd_gt(LEAST);
            if !active.any_true() {
                return;
            }
            let [a, b] = self.step(volume, *n);
            if PART {
                active &= self.is_within(volume, segment, (a + b) * 0.5);
                if !active.any_true() {
                    return;
                }
            }
            let (occupied, until) = self.brick(volume, (a + b) * 0.5, *n);
            let empty = active & occupied.simd_lt(0.5);
            if empty.any_true() {
                *n = empty.select(until, *n);
                continue;
            }
            // The second step may lie in the next brick.
            let [c, d] = self.step(volume, *n + 1.0);
            let also = active & (*n + 1.0).simd_lt(self.last);
            let (b, d) = (active.select(b, a), also.select(d, c));
            let at = [self.at(volume, a, b), self.at(volume, c, d)];
            // A ray that misses the box has a span that ends before it starts.
            let length = [(b - a).max(0.0), (d - c).max(0.0)];
            medium.take_two(self.s, &volume.texels, (at, way), length, of_ray, out);
            let next = *n + 1.0 + 1.0;
            *n = if PART { active.select(next, *n) } else { next };
        }
    }

    /// Returns whether rays belong to a segment and are in its planes at `t`.
    #[inline(always)]
    fn is_within(
        &self,
        volume: &Volume,
        segment: &SlabSegment,
        t: S::Rays,
    ) -> <S::Rays as SimdBase<S>>::Mask {
        let z = self.at(volume, t, t)[2];
        let goes =
            if segment.upwards { self.direction[2].simd_gt(0.0) } else { self.direction[2].simd_lt(0.0) };
        goes & z.simd_ge(segment.planes[0] - 0.5) & z.simd_lt(segment.planes[1] - 0.5)
    }

    /// Returns start and end of the `n`th step.
    #[inline(always)]
    fn step(&self, volume: &Volume, n: S::Rays) -> [S::Rays; 2] {
        let start = n.mul_add(volume.dt, self.t0);
        [start.max(self.span[0]), (start + volume.dt).min(self.span[1])]
    }

    /// Returns 1 if the brick at `t` is occupied, otherwise 0, and the first step outside it.
    #[inline(always)]
    fn brick(&self, volume: &Volume, t: S::Rays, n: S::Rays) -> (S::Rays, S::Rays) {
        let s = self.s;
        let (mut leave, mut at) = (s.splat(f32::MAX), s.splat(0.0));
        let per_brick = 1.0 / volume.brick;
        for a in [2, 1, 0] {
            let d = self.direction[a];
            let eye = (self.eye_cells[a] + 0.5) * (volume.h * per_brick);
            let inside = s.floor((t * d).mul_add(per_brick, eye));
            let inside = inside.min((volume.bricks[a] - 1) as f32).max(0.0);
            at = at.mul_add(volume.bricks[a] as f32, inside);
            let ahead = d.simd_gt(0.0).select(s.splat(1.0), s.splat(0.0));
            leave = leave.min((inside + ahead - eye) * volume.brick / d);
        }
        let until = s.floor((leave - self.t0) * (1.0 / volume.dt));
        (s.look_up(volume.occupied, at), until.max(n + 1.0))
    }

    /// Returns the middle of a step from a to b, in cells from the middle of the first.
    #[inline(always)]
    fn at(&self, volume: &Volume, a: S::Rays, b: S::Rays) -> [S::Rays; 3] {
        let (t, per_cell) = ((a + b) * 0.5, 1.0 / volume.h);
        let mut at = [t; 3];
        for c in 0..3 {
            at[c] = (t * per_cell).mul_add(self.direction[c], self.eye_cells[c]);
        }
        at
    }
}

/// Returns the origins of a packet of rays \[m\], and unit vectors along them.
#[inline(always)]
fn rays<S: Packets>(s: S, row: &Row, x: u32) -> [[S::Rays; 3]; 2] {
    const ACROSS: [f32; PACKET] =
        [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15.5];
    let v = 2.0 * (row.y as f32 + 0.5) / row.size[1] as f32 - 1.0;
    let u = (s.load(&ACROSS) + x as f32) * (2.0 / row.size[0] as f32) - 1.0;
    let Axes { forward, right, up, parallel, .. } = row.axes;
    let (mut d, mut eye) = ([u; 3], [u; 3]);
    for a in 0..3 {
        let (origin, ahead) = (row.axes.eye[a], forward[a]);
        (eye[a], d[a]) = match parallel {
            true => (u.mul_add(right[a], origin + up[a] * v), s.splat(ahead)),
            false => (s.splat(origin), u.mul_add(right[a], ahead + up[a] * v)),
        };
    }
    let norm = d[0].mul_add(d[0], d[1].mul_add(d[1], d[2] * d[2])).sqrt();
    for x in &mut d {
        // As in the shaders, no component may be so small that its inverse is infinite.
        let unit = *x / norm;
        *x = unit.abs().simd_lt(1e-7).select(s.splat(1e-7), unit);
    }
    [eye, d]
}

/// Returns the distances at which rays with their origins in `eye` enter and leave a box.
#[inline(always)]
fn box_span<S: Packets>(s: S, eye: [S::Rays; 3], d: [S::Rays; 3], [lo, hi]: [[f32; 3]; 2]) -> [S::Rays; 2] {
    let mut span = [s.splat(f32::MIN), s.splat(f32::MAX)];
    for a in 0..3 {
        let (near, far) = ((s.splat(lo[a]) - eye[a]) / d[a], (s.splat(hi[a]) - eye[a]) / d[a]);
        span = [span[0].max(near.min(far)), span[1].min(near.max(far))];
    }
    span
}
