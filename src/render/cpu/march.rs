//! Front-to-back march through a volume, a packet of rays at a time. It takes the same steps as
//! `shaders/march.frag` for smoke and `shaders/field.frag` for the flow.

use std::ops::Range;

use super::lanes::{Lanes, Texels};
use super::portable::Portable;
use crate::render::camera::Axes;
use crate::render::colormap;
use crate::render::noise;
use crate::simd::Level;

/// Rays of the longest packet: rows are marched in whole ones.
pub(super) const PACKET: usize = 16;
/// Rays of a packet of plain arrays.
const PLAIN: usize = 8;
/// Transmittance below which a ray ends.
pub(super) const LEAST: f32 = 1.0 / 512.0;

/// A volume on the cells of a grid, with bricks of 8³ cells; empty ones are skipped.
pub(super) struct Volume<'a> {
    pub texels: Texels<'a>,
    pub medium: Medium<'a>,
    /// 1 for each brick that is occupied, else 0.
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
        /// The cubic B-spline between cells instead of trilinear interpolation.
        cubic: bool,
        /// The light in it.
        light: Lit<'a>,
    },
    /// u, v, w and |ω|; the magnitude emits light.
    Flow {
        /// |ω| instead of |u|.
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
    /// Scattered light and the depth towards the sun ([`crate::render::light`]).
    pub texels: Texels<'a>,
    /// A place counted in cells from the middle of the first, counted in texels: factor and sum.
    pub scale: [f32; 3],
    pub first: [f32; 3],
    /// Whether its points lie at least two steps apart: pairs of steps share the light between them.
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
    /// Number of the row, from the bottom.
    pub y: u32,
    /// The rays of the part; it starts with a whole packet.
    pub x: Range<u32>,
    /// Offsets of the row's rays from the tile of noise, before the frame's shift.
    pub noise: &'a [f32; noise::TILE],
    /// Shift of the frame.
    pub shift: f32,
    /// Free length of each ray \[m\]; whole packets of them.
    pub reach: &'a [f32],
}

/// Computes radiance and transmittance along the rays, with the instructions of `level`, which this machine
/// must have. `out` holds whole packets.
#[allow(unsafe_code)]
pub(super) fn march(level: Level, volume: &Volume, row: &Row, out: &mut [[f32; 4]]) {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2,f16c")]
            fn march(volume: &Volume, row: &Row, out: &mut [[f32; 4]]) {
                // SAFETY: this function enables the instructions.
                unsafe { march_row::<super::avx512::Sixteen>(volume, row, out) }
            }
            // SAFETY: the level was detected; every machine with AVX2 has `f16c`.
            unsafe { march(volume, row, out) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            #[target_feature(enable = "avx2,fma,bmi2,f16c")]
            fn march(volume: &Volume, row: &Row, out: &mut [[f32; 4]]) {
                // SAFETY: this function enables the instructions.
                unsafe { march_row::<super::avx2::Eight>(volume, row, out) }
            }
            // SAFETY: as above.
            unsafe { march(volume, row, out) }
        }
        // SAFETY: plain arrays need no instructions beyond the target's.
        _ => unsafe { march_row::<Portable<PLAIN>>(volume, row, out) },
    }
}

#[allow(unsafe_code)]
#[inline(always)]
unsafe fn march_row<L: Lanes>(volume: &Volume, row: &Row, out: &mut [[f32; 4]]) {
    // SAFETY: the caller has enabled the instructions.
    unsafe {
        match volume.medium {
            Medium::Smoke { extinction, cubic: false, light } => {
                march_through::<L, _>(volume, &Smoke::<false> { extinction, light }, row, out);
            }
            Medium::Smoke { extinction, cubic: true, light } => {
                march_through::<L, _>(volume, &Smoke::<true> { extinction, light }, row, out);
            }
            Medium::Flow { vorticity, top, thickness } => {
                let flow = Flow { vorticity, top, thickness, colors: colormap::table() };
                march_through::<L, _>(volume, &flow, row, out);
            }
        }
    }
}

#[allow(unsafe_code)]
#[inline(always)]
unsafe fn march_through<L: Lanes, S: Step>(volume: &Volume, medium: &S, row: &Row, out: &mut [[f32; 4]]) {
    for (n, (out, reach)) in out.chunks_exact_mut(L::COUNT).zip(row.reach.chunks_exact(L::COUNT)).enumerate()
    {
        let x = row.x.start + (n * L::COUNT) as u32;
        if x >= row.x.end {
            return;
        }
        // SAFETY: the caller has enabled the instructions.
        unsafe {
            let rays = Packet::<L>::new(volume, row, x, reach);
            L::store(rays.march(volume, medium), out);
        }
    }
}

/// Contribution of a medium to rays that pass a part of it.
#[allow(unsafe_code)]
trait Step {
    /// A number for each ray that does not change along it, from its direction.
    unsafe fn of_ray<L: Lanes>(&self, direction: [L; 3]) -> L;
    /// A step of some length around a place in cells from the first's middle; `out` is radiance and transmittance.
    unsafe fn take<L: Lanes>(&self, texels: &Texels, at: [L; 3], length: L, of_ray: L, out: &mut [L; 4]);

    /// Two steps, which may share what lies between them.
    #[inline(always)]
    unsafe fn take_two<L: Lanes>(
        &self,
        texels: &Texels,
        at: [[L; 3]; 2],
        length: [L; 2],
        of_ray: L,
        out: &mut [L; 4],
    ) {
        // SAFETY: the caller has enabled the instructions.
        unsafe { self.take_each(texels, at, length, of_ray, out) }
    }

    /// Two steps, one after the other.
    #[inline(always)]
    unsafe fn take_each<L: Lanes>(
        &self,
        texels: &Texels,
        at: [[L; 3]; 2],
        length: [L; 2],
        of_ray: L,
        out: &mut [L; 4],
    ) {
        // SAFETY: the caller has enabled the instructions.
        unsafe {
            self.take(texels, at[0], length[0], of_ray, out);
            self.take(texels, at[1], length[1], of_ray, out);
        }
    }
}

/// Smoke with its extinction for each unit of density, cubic or not.
struct Smoke<'a, const CUBIC: bool> {
    extinction: f32,
    light: Lit<'a>,
}

#[allow(unsafe_code)]
impl<const CUBIC: bool> Step for Smoke<'_, CUBIC> {
    /// The phase function.
    #[inline(always)]
    unsafe fn of_ray<L: Lanes>(&self, d: [L; 3]) -> L {
        // SAFETY: the caller has enabled the instructions.
        unsafe {
            let [x, y, z] = self.light.sun_direction;
            let cosine = d[0].times(L::all(x), d[1].times(L::all(y), d[2] * L::all(z)));
            let first = henyey_greenstein(self.light.lobes[0], cosine);
            let second = henyey_greenstein(self.light.lobes[1], cosine);
            (second - first).times(L::all(self.light.second_share), first)
        }
    }

    #[inline(always)]
    unsafe fn take<L: Lanes>(&self, texels: &Texels, at: [L; 3], length: L, phase: L, out: &mut [L; 4]) {
        // SAFETY: the caller has enabled the instructions.
        unsafe {
            let smoke = self.smoke(texels, at);
            if L::any(L::all(0.0).less(smoke[3] * length)) {
                self.add(smoke, self.arriving(at, phase), at, length, out);
            }
        }
    }

    #[inline(always)]
    unsafe fn take_two<L: Lanes>(
        &self,
        texels: &Texels,
        at: [[L; 3]; 2],
        length: [L; 2],
        phase: L,
        out: &mut [L; 4],
    ) {
        // SAFETY: the caller has enabled the instructions.
        unsafe {
            if !self.light.coarse {
                return self.take_each(texels, at, length, phase, out);
            }
            let (first, second) = (self.smoke(texels, at[0]), self.smoke(texels, at[1]));
            if !L::any(L::all(0.0).less(first[3].times(length[0], second[3] * length[1]))) {
                return;
            }
            let mut middle = at[0];
            for a in 0..3 {
                middle[a] = L::all(0.5) * (at[0][a] + at[1][a]);
            }
            let arriving = self.arriving(middle, phase);
            self.add(first, arriving, at[0], length[0], out);
            self.add(second, arriving, at[1], length[1], out);
        }
    }
}

#[allow(unsafe_code)]
impl<const CUBIC: bool> Smoke<'_, CUBIC> {
    /// ρ ω and ρ.
    #[inline(always)]
    unsafe fn smoke<L: Lanes>(&self, texels: &Texels, at: [L; 3]) -> [L; 4] {
        // SAFETY: the caller has enabled the instructions.
        unsafe { if CUBIC { L::read_cubic(texels, at) } else { L::read(texels, at) } }
    }

    /// Radiance scattered towards the eye for an albedo of 1.
    #[inline(always)]
    unsafe fn arriving<L: Lanes>(&self, at: [L; 3], phase: L) -> [L; 3] {
        // SAFETY: the caller has enabled the instructions.
        unsafe {
            let light = &self.light;
            let mut at_light = at;
            for a in 0..3 {
                at_light[a] = at[a].times(L::all(light.scale[a]), L::all(light.first[a]));
            }
            let [red, green, blue, depth] = L::read(&light.texels, at_light);
            let direct = phase * (L::all(0.0) - depth.greatest(L::all(0.0))).exp();
            let [sun_red, sun_green, sun_blue] = light.sun;
            [
                direct.times(L::all(sun_red), red),
                direct.times(L::all(sun_green), green),
                direct.times(L::all(sun_blue), blue),
            ]
        }
    }

    /// Adds a step through smoke in some light.
    #[inline(always)]
    unsafe fn add<L: Lanes>(
        &self,
        [red, green, blue, density]: [L; 4],
        arriving: [L; 3],
        at: [L; 3],
        length: L,
        out: &mut [L; 4],
    ) {
        // SAFETY: the caller has enabled the instructions.
        unsafe {
            let passes = (density * length * L::all(-self.extinction)).exp();
            let share = out[3] * (L::all(1.0) - passes) / density.greatest(L::all(1e-8));
            out[0] = (share * red).times(arriving[0], out[0]);
            out[1] = (share * green).times(arriving[1], out[1]);
            out[2] = (share * blue).times(arriving[2], out[2]);
            if let Some(glow) = &self.light.glow {
                let [red, green, blue, _] = if CUBIC { L::read_cubic(glow, at) } else { L::read(glow, at) };
                out[0] = share.times(red, out[0]);
                out[1] = share.times(green, out[1]);
                out[2] = share.times(blue, out[2]);
            }
            out[3] = out[3] * passes;
        }
    }
}

/// The phase function of Henyey and Greenstein \[1/sr\].
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn henyey_greenstein<L: Lanes>(g: f32, cosine: L) -> L {
    // SAFETY: the caller has enabled the instructions.
    unsafe {
        let d = cosine.times(L::all(-2.0 * g), L::all(1.0 + g * g));
        L::all((1.0 - g * g) / (4.0 * std::f32::consts::PI)) / (d * d.root())
    }
}

/// [`Medium::Flow`].
struct Flow<'a> {
    vorticity: bool,
    top: f32,
    thickness: f32,
    colors: &'a [[f32; colormap::ENTRIES]; 3],
}

#[allow(unsafe_code)]
impl Step for Flow<'_> {
    #[inline(always)]
    unsafe fn of_ray<L: Lanes>(&self, _direction: [L; 3]) -> L {
        // SAFETY: the caller has enabled the instructions.
        unsafe { L::all(0.0) }
    }

    #[inline(always)]
    unsafe fn take<L: Lanes>(&self, texels: &Texels, at: [L; 3], length: L, _of_ray: L, out: &mut [L; 4]) {
        // SAFETY: the caller has enabled the instructions.
        unsafe {
            let [u, v, w, vorticity] = L::read(texels, at);
            let value = if self.vorticity { vorticity } else { u.times(u, v.times(v, w * w)).root() };
            let x = value * L::all(1.0 / self.top);
            let passes = (x * x * length * L::all(-self.thickness)).exp();
            let share = out[3] * (L::all(1.0) - passes);
            let entry = x.times(L::all((colormap::ENTRIES - 1) as f32), L::all(0.5)).floor();
            for (out, color) in out.iter_mut().zip(self.colors) {
                *out = share.times(L::look_up(color, entry), *out);
            }
            out[3] = out[3] * passes;
        }
    }
}

/// Neighbouring rays of a row.
struct Packet<L: Lanes> {
    direction: [L; 3],
    /// Origins in cells, from the centre of the first.
    eye_cells: [L; 3],
    /// Distances at which each ray enters and leaves the box.
    span: [L; 2],
    /// Start of the lattice of steps; the first step that may be occupied, and the one after the last.
    t0: L,
    first: L,
    last: L,
}

#[allow(unsafe_code)]
impl<L: Lanes> Packet<L> {
    #[inline(always)]
    unsafe fn new(volume: &Volume, row: &Row, x: u32, reach: &[f32]) -> Self {
        // SAFETY: the caller has enabled the instructions.
        unsafe {
            let (eye, direction) = rays::<L>(row, x);
            let [enter, leave] = box_span(eye, direction, [[0.0; 3], volume.extent]);
            let span = [enter.greatest(L::all(0.0)), leave.least(L::load(reach))];
            let [near, far] = box_span(eye, direction, volume.bounds);
            let noise = L::load(&row.noise[x as usize % noise::TILE..]) + L::all(row.shift);
            let offset = noise - noise.floor();
            let (dt, per_dt) = (L::all(volume.dt), L::all(1.0 / volume.dt));
            let t0 = span[0] - (L::all(1.0) - offset) * dt;
            Self {
                direction,
                eye_cells: eye.map(|x| x.times(L::all(1.0 / volume.h), L::all(-0.5))),
                span,
                t0,
                first: ((near - t0) * per_dt).floor().greatest(L::all(0.0)),
                last: ((span[1].least(far) - t0) * per_dt).ceil(),
            }
        }
    }

    /// Marches the packet: red, green and blue, and transmittance.
    #[inline(always)]
    unsafe fn march<S: Step>(&self, volume: &Volume, medium: &S) -> [L; 4] {
        // SAFETY: the caller has enabled the instructions.
        unsafe {
            let (one, least) = (L::all(1.0), L::all(LEAST));
            let mut out = [L::all(0.0), L::all(0.0), L::all(0.0), one];
            let of_ray = medium.of_ray(self.direction);
            let mut n = self.first;
            loop {
                let active = L::both(n.less(self.last), least.less(out[3]));
                if !L::any(active) {
                    return out;
                }
                let [a, b] = self.step(volume, n);
                let (occupied, until) = self.brick(volume, L::all(0.5) * (a + b), n);
                let empty = L::both(active, occupied.less(L::all(0.5)));
                if L::any(empty) {
                    n = L::select(empty, until, n);
                    continue;
                }
                // A second step, maybe into the next brick.
                let [c, d] = self.step(volume, n + one);
                let also = L::both(active, (n + one).less(self.last));
                let (b, d) = (L::select(active, b, a), L::select(also, d, c));
                let at = [self.at(volume, a, b), self.at(volume, c, d)];
                // A ray that misses the box has a span that ends before it starts.
                let length = [(b - a).greatest(L::all(0.0)), (d - c).greatest(L::all(0.0))];
                medium.take_two(&volume.texels, at, length, of_ray, &mut out);
                n = n + one + one;
            }
        }
    }

    /// Start and end of the `n`th step.
    #[inline(always)]
    unsafe fn step(&self, volume: &Volume, n: L) -> [L; 2] {
        // SAFETY: the caller has enabled the instructions.
        unsafe {
            let dt = L::all(volume.dt);
            let start = n.times(dt, self.t0);
            [start.greatest(self.span[0]), (start + dt).least(self.span[1])]
        }
    }

    /// 1 if the brick at `t` is occupied, otherwise 0, and the first step outside it.
    #[inline(always)]
    unsafe fn brick(&self, volume: &Volume, t: L, n: L) -> (L, L) {
        // SAFETY: the caller has enabled the instructions.
        unsafe {
            let mut leave = L::all(f32::MAX);
            let mut at = L::all(0.0);
            let per_brick = 1.0 / volume.brick;
            for a in [2, 1, 0] {
                let d = self.direction[a];
                let eye = (self.eye_cells[a] + L::all(0.5)) * L::all(volume.h * per_brick);
                let inside = (t * d).times(L::all(per_brick), eye).floor();
                let inside = inside.least(L::all((volume.bricks[a] - 1) as f32)).greatest(L::all(0.0));
                at = at.times(L::all(volume.bricks[a] as f32), inside);
                let ahead = L::select(L::all(0.0).less(d), L::all(1.0), L::all(0.0));
                leave = leave.least((inside + ahead - eye) * L::all(volume.brick) / d);
            }
            let until = ((leave - self.t0) * L::all(1.0 / volume.dt)).floor();
            (L::look_up(volume.occupied, at), until.greatest(n + L::all(1.0)))
        }
    }

    /// The middle of a step from a to b, in cells from the middle of the first.
    #[inline(always)]
    unsafe fn at(&self, volume: &Volume, a: L, b: L) -> [L; 3] {
        // SAFETY: the caller has enabled the instructions.
        unsafe {
            let (t, per_cell) = (L::all(0.5) * (a + b), 1.0 / volume.h);
            let mut at = [t; 3];
            for c in 0..3 {
                at[c] = (t * L::all(per_cell)).times(self.direction[c], self.eye_cells[c]);
            }
            at
        }
    }
}

/// Origins of a packet of rays \[m\], and unit vectors along them.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn rays<L: Lanes>(row: &Row, x: u32) -> ([L; 3], [L; 3]) {
    const ACROSS: [f32; PACKET] =
        [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15.5];
    let v = 2.0 * (row.y as f32 + 0.5) / row.size[1] as f32 - 1.0;
    // SAFETY: the caller has enabled the instructions.
    unsafe {
        let u = (L::load(&ACROSS) + L::all(x as f32)) * L::all(2.0 / row.size[0] as f32) - L::all(1.0);
        let Axes { forward, right, up, parallel, .. } = row.axes;
        let (mut d, mut eye) = ([u; 3], [u; 3]);
        for a in 0..3 {
            let (origin, ahead) = (row.axes.eye[a], forward[a]);
            let aside = |from: f32| u.times(L::all(right[a]), L::all(from + up[a] * v));
            (eye[a], d[a]) = match parallel {
                true => (aside(origin), L::all(ahead)),
                false => (L::all(origin), aside(ahead)),
            };
        }
        let norm = d[0].times(d[0], d[1].times(d[1], d[2] * d[2])).root();
        for x in &mut d {
            // As in the shaders: no component may be so small that its inverse is infinite.
            let unit = *x / norm;
            *x = L::select(unit.magnitude().less(L::all(1e-7)), L::all(1e-7), unit);
        }
        (eye, d)
    }
}

/// Distances at which rays with their origins in `eye` enter and leave a box.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn box_span<L: Lanes>(eye: [L; 3], d: [L; 3], [lo, hi]: [[f32; 3]; 2]) -> [L; 2] {
    // SAFETY: the caller has enabled the instructions.
    unsafe {
        let mut span = [L::all(f32::MIN), L::all(f32::MAX)];
        for a in 0..3 {
            let (near, far) = ((L::all(lo[a]) - eye[a]) / d[a], (L::all(hi[a]) - eye[a]) / d[a]);
            span = [span[0].greatest(near.least(far)), span[1].least(near.greatest(far))];
        }
        span
    }
}
