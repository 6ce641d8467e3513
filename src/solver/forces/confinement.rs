//! Vorticity confinement: ω = ∇×u at the cells, and the force ε h (N × ω) with N = ∇|ω| / |∇|ω||.

use super::{Pass, ring};
use crate::grid::{Dims, Layout};
use crate::simd::{Simd, each_level};

/// Relative change of |ω| over two cells below which its gradient has no direction. Where the vorticity is
/// uniform the gradient is rounding, which confinement would amplify to full strength.
const FLAT: f32 = 1e-3;

impl Pass<'_> {
    /// Computes ω and |ω| of plane `k` into its slot of the ring. Does nothing without confinement.
    pub fn vorticity_plane(&self, k: isize, rings: &mut [[Vec<f32>; 4]; 3]) {
        if self.forces.vorticity == 0.0 {
            return;
        }
        let Layout { dims: Dims { nx, ny, .. }, row, plane, .. } = self.layout;
        let [x, y, z, size] = &mut rings[ring(k, 3)];
        let (pitch, [u, v, w]) = (self.pitch(), self.flow);
        for j in 0..ny {
            let at = self.layout.at(0, j as isize, self.inside(k));
            let to = (j + 1) * pitch + 1;
            let n = nx;
            curl_row(
                1.0 / (4.0 * self.forces.h),
                [
                    &w[at + row..][..n],
                    &w[at + row + plane..][..n],
                    &w[at - row..][..n],
                    &w[at - row + plane..][..n],
                ],
                [
                    &v[at + plane..][..n],
                    &v[at + plane + row..][..n],
                    &v[at - plane..][..n],
                    &v[at - plane + row..][..n],
                ],
                &mut x[to..][..n],
            );
            curl_row(
                1.0 / (4.0 * self.forces.h),
                [
                    &u[at + plane..][..n],
                    &u[at + plane + 1..][..n],
                    &u[at - plane..][..n],
                    &u[at - plane + 1..][..n],
                ],
                [&w[at + 1..][..n], &w[at + 1 + plane..][..n], &w[at - 1..][..n], &w[at - 1 + plane..][..n]],
                &mut y[to..][..n],
            );
            curl_row(
                1.0 / (4.0 * self.forces.h),
                [&v[at + 1..][..n], &v[at + 1 + row..][..n], &v[at - 1..][..n], &v[at - 1 + row..][..n]],
                [&u[at + row..][..n], &u[at + row + 1..][..n], &u[at - row..][..n], &u[at - row + 1..][..n]],
                &mut z[to..][..n],
            );
            let size = &mut size[to - 1..][..n + 2];
            magnitude_row([&x[to..][..n], &y[to..][..n], &z[to..][..n]], &mut size[1..=n]);
            self.close_row(size);
        }
        self.close_plane(size);
    }
}

each_level! { fn curl_row(scale: f32, plus: [&[f32]; 4], minus: [&[f32]; 4], out: &mut [f32]) = curl_row_kernel; }

/// scale · ((p0 + p1) − (p2 + p3) − (m0 + m1) + (m2 + m3)): one component of the curl, each derivative a difference of
/// means of two faces.
#[inline(always)]
fn curl_row_kernel<S: Simd>(_: S, scale: f32, plus: [&[f32]; 4], minus: [&[f32]; 4], out: &mut [f32]) {
    let n = out.len();
    let ([a, b, c, d], [e, f, g, h]) = (plus.map(|x| &x[..n]), minus.map(|x| &x[..n]));
    for i in 0..n {
        out[i] = scale * (((a[i] + b[i]) - (c[i] + d[i])) - ((e[i] + f[i]) - (g[i] + h[i])));
    }
}

each_level! { fn magnitude_row(xyz: [&[f32]; 3], out: &mut [f32]) = magnitude_row_kernel; }

#[inline(always)]
fn magnitude_row_kernel<S: Simd>(_: S, xyz: [&[f32]; 3], out: &mut [f32]) {
    let n = out.len();
    let [x, y, z] = xyz.map(|x| &x[..n]);
    for i in 0..n {
        out[i] = (x[i] * x[i] + y[i] * y[i] + z[i] * z[i]).sqrt();
    }
}

each_level! {
    pub fn confinement_row(
        strength: f32, vorticity: [&[f32]; 3], along: &[f32], beside: [&[f32]; 2], around: [&[f32]; 2],
        out: [&mut [f32]; 3],
    ) = confinement_row_kernel;
}

/// strength · N × ω; `along`, `beside`, `around` are |ω| along x (with both neighbours), y and z.
#[inline(always)]
fn confinement_row_kernel<S: Simd>(
    _: S,
    strength: f32,
    vorticity: [&[f32]; 3],
    along: &[f32],
    beside: [&[f32]; 2],
    around: [&[f32]; 2],
    [fx, fy, fz]: [&mut [f32]; 3],
) {
    let n = fx.len();
    let ([ox, oy, oz], along) = (vorticity.map(|o| &o[..n]), &along[..n + 2]);
    let (beside, around) = (beside.map(|s| &s[..n]), around.map(|s| &s[..n]));
    let (fy, fz) = (&mut fy[..n], &mut fz[..n]);
    for i in 0..n {
        let g = [along[i + 2] - along[i], beside[1][i] - beside[0][i], around[1][i] - around[0][i]];
        // A vanishing gradient has no direction: no force.
        let floor = FLAT * along[i + 1];
        let length = (floor * floor + (g[0] * g[0] + g[1] * g[1] + g[2] * g[2])).sqrt() + 1e-12;
        let s = strength / length;
        fx[i] = s * (g[1] * oz[i] - g[2] * oy[i]);
        fy[i] = s * (g[2] * ox[i] - g[0] * oz[i]);
        fz[i] = s * (g[0] * oy[i] - g[1] * ox[i]);
    }
}
