//! Front to back through smoke that knows what it sends, a packet of rays side by side. `shaders/march.frag` with
//! CELLS is the same, step for step.

use std::ops::Range;

use super::lanes::{Lanes, Texels};
use crate::render::camera::Axes;
use crate::render::march::LEAST;
use crate::render::noise;
use crate::solver::simd::{Level, level};

/// The longest packet: rows are marched in whole ones.
pub(super) const PACKET: usize = 16;

/// Smoke that knows what it sends to the eye.
pub(super) struct Smoke<'a> {
    /// ρ J and ρ at the cells ([`crate::render::cells`]).
    pub texels: Texels<'a>,
    /// 1 for each brick that holds something, else 0.
    pub filled: &'a [f32],
    /// Bricks along each axis.
    pub bricks: [usize; 3],
    /// Edge of a brick \[m\].
    pub brick: f32,
    /// Size of the box \[m\].
    pub extent: [f32; 3],
    /// Around all that is filled \[m\].
    pub bounds: [[f32; 3]; 2],
    /// Edge of a cell \[m\].
    pub h: f32,
    /// Between readings \[m\].
    pub dt: f32,
    /// For each unit of density \[1/m\].
    pub extinction: f32,
}

/// A part of a row of rays.
pub(super) struct Row<'a> {
    pub axes: &'a Axes,
    /// Rays across and up the picture.
    pub size: [u32; 2],
    /// Which row, from the bottom.
    pub y: u32,
    /// Which rays of it; starts with a whole packet.
    pub x: Range<u32>,
    /// Offsets of the row's rays from the tile of noise, before the frame's shift.
    pub noise: &'a [f32; noise::TILE],
    /// The frame's.
    pub shift: f32,
    /// How far each ray of the part is free \[m\]; whole packets of them.
    pub reach: &'a [f32],
}

/// Whether this machine has what packets need.
pub(in crate::render) fn able() -> bool {
    level() != Level::Baseline
}

/// Radiance and transmittance along the rays; `out` has room for whole packets.
#[allow(unsafe_code)]
pub(super) fn march(smoke: &Smoke, row: &Row, out: &mut [[f32; 4]]) {
    #[cfg(target_arch = "x86_64")]
    match level() {
        // SAFETY: `level` has found the instructions; those of `f16c` come with all that has AVX2.
        Level::Avx512 => unsafe { march_512(smoke, row, out) },
        // SAFETY: as above.
        Level::Avx2 => unsafe { march_256(smoke, row, out) },
        Level::Baseline => unreachable!("`able` was not asked"),
    }
    #[cfg(not(target_arch = "x86_64"))]
    unreachable!("`able` was not asked: {:p} {:p} {:p}", smoke, row, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2,f16c")]
#[allow(unsafe_code)]
fn march_512(smoke: &Smoke, row: &Row, out: &mut [[f32; 4]]) {
    // SAFETY: this function enables the instructions.
    unsafe { march_row::<super::avx512::Sixteen>(smoke, row, out) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2,f16c")]
#[allow(unsafe_code)]
fn march_256(smoke: &Smoke, row: &Row, out: &mut [[f32; 4]]) {
    // SAFETY: this function enables the instructions.
    unsafe { march_row::<super::avx2::Eight>(smoke, row, out) }
}

#[allow(unsafe_code)]
#[inline(always)]
unsafe fn march_row<L: Lanes>(smoke: &Smoke, row: &Row, out: &mut [[f32; 4]]) {
    for (n, (out, reach)) in out.chunks_exact_mut(L::COUNT).zip(row.reach.chunks_exact(L::COUNT)).enumerate()
    {
        let x = row.x.start + (n * L::COUNT) as u32;
        if x >= row.x.end {
            return;
        }
        // SAFETY: the caller has enabled the instructions.
        unsafe {
            let rays = Packet::<L>::new(smoke, row, x, reach);
            L::store(rays.march(smoke), out);
        }
    }
}

/// Rays side by side.
struct Packet<L: Lanes> {
    direction: [L; 3],
    /// In cells: where the rays start, from the middle of the first, and what they go by in a metre.
    eye_cells: [f32; 3],
    /// The box along each ray.
    span: [L; 2],
    /// Where the lattice of steps starts, and the first step and the one after the last that may meet smoke.
    t0: L,
    first: L,
    last: L,
}

#[allow(unsafe_code)]
impl<L: Lanes> Packet<L> {
    #[inline(always)]
    unsafe fn new(smoke: &Smoke, row: &Row, x: u32, reach: &[f32]) -> Self {
        unsafe {
            let eye: [f32; 3] = row.axes.eye.into();
            let direction = directions::<L>(row, x);
            let [enter, leave] = box_span(eye, direction, [[0.0; 3], smoke.extent]);
            let span = [enter.greatest(L::all(0.0)), leave.least(L::load(reach))];
            let [near, far] = box_span(eye, direction, smoke.bounds);
            let noise = L::load(&row.noise[x as usize % noise::TILE..]) + L::all(row.shift);
            let offset = noise - noise.floor();
            let (dt, per_dt) = (L::all(smoke.dt), L::all(1.0 / smoke.dt));
            let t0 = span[0] - (L::all(1.0) - offset) * dt;
            Self {
                direction,
                eye_cells: eye.map(|x| x / smoke.h - 0.5),
                span,
                t0,
                first: ((near - t0) * per_dt).floor().greatest(L::all(0.0)),
                last: ((span[1].least(far) - t0) * per_dt).ceil(),
            }
        }
    }

    /// Red, green and blue, and what is let through.
    #[inline(always)]
    unsafe fn march(&self, smoke: &Smoke) -> [L; 4] {
        unsafe {
            let (one, least) = (L::all(1.0), L::all(LEAST));
            let mut out = [L::all(0.0), L::all(0.0), L::all(0.0), one];
            let mut n = self.first;
            loop {
                let active = L::both(n.less(self.last), least.less(out[3]));
                if !L::any(active) {
                    return out;
                }
                let [a, b] = self.step(smoke, n);
                let (filled, until) = self.brick(smoke, L::all(0.5) * (a + b), n);
                let empty = L::both(active, filled.less(L::all(0.5)));
                if L::any(empty) {
                    n = L::select(empty, until, n);
                    continue;
                }
                self.take(smoke, [a, L::select(active, b, a)], &mut out);
                n = n + one;
                // A second, maybe into the next brick.
                let active = L::both(n.less(self.last), least.less(out[3]));
                let [a, b] = self.step(smoke, n);
                self.take(smoke, [a, L::select(active, b, a)], &mut out);
                n = n + one;
            }
        }
    }

    /// Start and end of the `n`th step.
    #[inline(always)]
    unsafe fn step(&self, smoke: &Smoke, n: L) -> [L; 2] {
        unsafe {
            let dt = L::all(smoke.dt);
            let start = n.times(dt, self.t0);
            [start.greatest(self.span[0]), (start + dt).least(self.span[1])]
        }
    }

    /// Whether there is something in the brick at `t`, and the first step that is not in it.
    #[inline(always)]
    unsafe fn brick(&self, smoke: &Smoke, t: L, n: L) -> (L, L) {
        unsafe {
            let mut leave = L::all(f32::MAX);
            let mut at = L::all(0.0);
            let per_brick = 1.0 / smoke.brick;
            for a in [2, 1, 0] {
                let d = self.direction[a];
                let eye = (self.eye_cells[a] + 0.5) * smoke.h * per_brick;
                let inside = (t * d).times(L::all(per_brick), L::all(eye)).floor();
                let inside = inside.least(L::all((smoke.bricks[a] - 1) as f32)).greatest(L::all(0.0));
                at = at.times(L::all(smoke.bricks[a] as f32), inside);
                let ahead = L::select(L::all(0.0).less(d), L::all(1.0), L::all(0.0));
                leave = leave.least((inside + ahead - L::all(eye)) * L::all(smoke.brick) / d);
            }
            let until = ((leave - self.t0) * L::all(1.0 / smoke.dt)).floor();
            (L::look_up(smoke.filled, at), until.greatest(n + L::all(1.0)))
        }
    }

    /// A step from a to b.
    #[inline(always)]
    unsafe fn take(&self, smoke: &Smoke, [a, b]: [L; 2], out: &mut [L; 4]) {
        unsafe {
            let (t, per_cell) = (L::all(0.5) * (a + b), 1.0 / smoke.h);
            let mut at = [t; 3];
            for c in 0..3 {
                at[c] = (t * L::all(per_cell)).times(self.direction[c], L::all(self.eye_cells[c]));
            }
            let [red, green, blue, density] = L::read(&smoke.texels, at);
            let passes = (density * (b - a) * L::all(-smoke.extinction)).exp();
            let share = out[3] * (L::all(1.0) - passes) / density.greatest(L::all(1e-8));
            for (out, sent) in out.iter_mut().zip([red, green, blue]) {
                *out = share.times(sent, *out);
            }
            out[3] = out[3] * passes;
        }
    }
}

/// Unit vectors along a packet of rays.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn directions<L: Lanes>(row: &Row, x: u32) -> [L; 3] {
    const ACROSS: [f32; PACKET] =
        [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15.5];
    let v = 2.0 * (row.y as f32 + 0.5) / row.size[1] as f32 - 1.0;
    unsafe {
        let u = (L::load(&ACROSS) + L::all(x as f32)) * L::all(2.0 / row.size[0] as f32) - L::all(1.0);
        let mut d = [u; 3];
        for a in 0..3 {
            let middle = row.axes.forward[a] + row.axes.up[a] * v;
            d[a] = u.times(L::all(row.axes.right[a]), L::all(middle));
        }
        let norm = d[0].times(d[0], d[1].times(d[1], d[2] * d[2])).root();
        for x in &mut d {
            // As in the shaders: nothing may be so small that dividing by it gives infinities.
            let unit = *x / norm;
            *x = L::select(unit.magnitude().less(L::all(1e-7)), L::all(1e-7), unit);
        }
        d
    }
}

/// Distances at which rays from `eye` enter and leave a box.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn box_span<L: Lanes>(eye: [f32; 3], d: [L; 3], [lo, hi]: [[f32; 3]; 2]) -> [L; 2] {
    unsafe {
        let mut span = [L::all(f32::MIN), L::all(f32::MAX)];
        for a in 0..3 {
            let (near, far) = (L::all(lo[a] - eye[a]) / d[a], L::all(hi[a] - eye[a]) / d[a]);
            span = [span[0].greatest(near.least(far)), span[1].least(near.greatest(far))];
        }
        span
    }
}
