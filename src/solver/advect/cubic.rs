//! Limited cubic interpolation: Catmull–Rom along each axis, held between the eight values around the foot.

use crate::solver::sides::Reach;
use crate::solver::simd::{fma, greatest, least};

/// Catmull–Rom weights of the four values around a fraction t.
#[inline(always)]
pub fn catmull_rom<const FMA: bool>(t: f32) -> [f32; 4] {
    [
        0.5 * t * fma::<FMA>(2.0 - t, t, -1.0),
        fma::<FMA>(0.5 * t * t, fma::<FMA>(3.0, t, -5.0), 1.0),
        0.5 * t * fma::<FMA>(fma::<FMA>(-3.0, t, 4.0), t, 1.0),
        0.5 * t * t * (t - 1.0),
    ]
}

/// The limited value at `fraction` above the position `at`, N values side by side: first along y, then along z, last
/// along x, in the order in which the wide kernels add up.
#[inline(always)]
pub fn cubic<const FMA: bool, const N: usize>(
    field: &[[f32; N]],
    at: usize,
    reach: &Reach,
    fraction: [f32; 3],
) -> [f32; N] {
    let [x, y, z] = fraction;
    let (wx, wy, wz) = (catmull_rom::<FMA>(x), catmull_rom::<FMA>(y), catmull_rom::<FMA>(z));
    let window = &field[at - 1 - reach.row - reach.plane..];
    let mut lines = [[0.0; N]; 4];
    let (mut low, mut high) = ([f32::INFINITY; N], [f32::NEG_INFINITY; N]);
    for z in 0..4 {
        let mut slice = [[0.0; N]; 4];
        for y in 0..4 {
            let line: &[[f32; N]; 4] =
                window[z * reach.plane + y * reach.row..].first_chunk().expect("four values");
            for x in 0..4 {
                for c in 0..N {
                    slice[x][c] = fma::<FMA>(wy[y], line[x][c], slice[x][c]);
                }
            }
            if (1..3).contains(&z) && (1..3).contains(&y) {
                for c in 0..N {
                    low[c] = least(line[2][c], least(line[1][c], low[c]));
                    high[c] = greatest(line[2][c], greatest(line[1][c], high[c]));
                }
            }
        }
        for x in 0..4 {
            for c in 0..N {
                lines[x][c] = fma::<FMA>(wz[z], slice[x][c], lines[x][c]);
            }
        }
    }
    let mut out = [0.0; N];
    for c in 0..N {
        let value = (wx[0] * lines[0][c] + wx[2] * lines[2][c]) + (wx[1] * lines[1][c] + wx[3] * lines[3][c]);
        out[c] = least(greatest(value, low[c]), high[c]);
    }
    out
}
