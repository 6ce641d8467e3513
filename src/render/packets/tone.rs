//! The background and the tone map, a row of pixels at a time. `shaders/present.frag` is the same.

use crate::render::tone::{CURVE, INSET, OUTSET, SATURATION, STOPS};
use crate::solver::simd::{dispatch, greatest, least};

/// Pixels that are worked on at a time.
const CHUNK: usize = 32;
type Strip = [f32; CHUNK];

/// What becomes of linear radiance.
pub(super) struct Tone<'a> {
    /// The background of the row.
    pub background: [f32; 3],
    /// What radiance is multiplied by.
    pub exposure: f32,
    /// Decides for each pixel of the row which way a value between two bytes goes; starts over at its end.
    pub noise: &'a [f32],
}

/// Bytes for a row of pixels: radiance, and the share of the background that is seen.
pub(super) fn row(tone: &Tone, pixels: &[[f32; 4]], out: &mut [[u8; 4]]) {
    for (n, (pixels, out)) in pixels.chunks(CHUNK).zip(out.chunks_mut(CHUNK)).enumerate() {
        let noise = tone.noise[n * CHUNK % tone.noise.len()..].first_chunk().expect("whole strips of noise");
        match (pixels.first_chunk(), out.first_chunk_mut()) {
            (Some(pixels), Some(out)) => map(pixels, tone, noise, out),
            _ => {
                let (mut whole, mut bytes) = ([[0.0; 4]; CHUNK], [[0; 4]; CHUNK]);
                whole[..pixels.len()].copy_from_slice(pixels);
                map(&whole, tone, noise, &mut bytes);
                out.copy_from_slice(&bytes[..out.len()]);
            }
        }
    }
}

dispatch! {
    /// A strip of [`row`].
    fn map(pixels: &[[f32; 4]; CHUNK], tone: &Tone, noise: &Strip, out: &mut [[u8; 4]; CHUNK]) = map_kernel;
}

#[inline(always)]
fn map_kernel<const FMA: bool>(
    pixels: &[[f32; 4]; CHUNK],
    tone: &Tone,
    noise: &Strip,
    out: &mut [[u8; 4]; CHUNK],
) {
    let (mut radiance, mut curve) = ([[0.0; CHUNK]; 3], [[0.0; CHUNK]; 3]);
    for i in 0..CHUNK {
        for c in 0..3 {
            let all = pixels[i][c] + pixels[i][3] * tone.background[c];
            radiance[c][i] = greatest(all, 0.0) * tone.exposure;
        }
    }
    for c in 0..3 {
        for i in 0..CHUNK {
            let x =
                INSET[c][0] * radiance[0][i] + INSET[c][1] * radiance[1][i] + INSET[c][2] * radiance[2][i];
            let stops = least(greatest(log2(greatest(x, 1e-10)), STOPS[0]), STOPS[1]);
            let x = (stops - STOPS[0]) * (1.0 / (STOPS[1] - STOPS[0]));
            let mut y = CURVE[0];
            for n in 1..CURVE.len() {
                y = y * x + CURVE[n];
            }
            curve[c][i] = y;
        }
    }
    let mut bytes = [[0_u32; CHUNK]; 3];
    for i in 0..CHUNK {
        let luma = 0.2126 * curve[0][i] + 0.7152 * curve[1][i] + 0.0722 * curve[2][i];
        let [r, g, b] = [
            luma + SATURATION * (curve[0][i] - luma),
            luma + SATURATION * (curve[1][i] - luma),
            luma + SATURATION * (curve[2][i] - luma),
        ];
        for c in 0..3 {
            let x = OUTSET[c][0] * r + OUTSET[c][1] * g + OUTSET[c][2] * b;
            bytes[c][i] = whole(least(greatest(x, 0.0), 1.0) * 255.0 + noise[i]);
        }
    }
    for i in 0..CHUNK {
        let all = bytes[0][i] | bytes[1][i] << 8 | bytes[2][i] << 16 | 255 << 24;
        out[i] = all.to_le_bytes();
    }
}

/// The whole part of a number in 0..2²³. A cast looks for numbers out of range, one by one; a whole number added to 2²³ stands
/// in the last bits of the sum.
#[inline(always)]
pub(super) fn whole(x: f32) -> u32 {
    const SHIFT: f32 = 8_388_608.0;
    (x.floor() + SHIFT).to_bits() - SHIFT.to_bits()
}

/// The logarithm of a normal positive number within 4·10⁻⁶.
#[inline(always)]
fn log2(x: f32) -> f32 {
    let bits = x.to_bits();
    let exponent = (bits >> 23) as i32 - 127;
    let f = f32::from_bits(bits & 0x007F_FFFF | 0x3F80_0000) - 1.0;
    let p = 0.020_233_915 * f - 0.094_877_98;
    let p = (((p * f + 0.213_662_6) * f - 0.337_834_95) * f + 0.477_224_17) * f - 0.721_095_5;
    exponent as f32 + f * (p * f + 1.442_690_8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::tone;

    #[test]
    fn logarithms_are_right() {
        for n in -900..900 {
            let x = (n as f32 * 0.037).exp2();
            assert!((log2(x) - x.log2()).abs() < 6e-6, "{x}: {} {}", log2(x), x.log2());
        }
    }

    #[test]
    fn bytes_are_those_of_the_plain_code() {
        let pixels: Vec<[f32; 4]> = (0..100)
            .map(|n| {
                let x = (n as f32 * 0.2 - 14.0).exp2();
                [x, 0.3 * x, 1.0 - 0.01 * n as f32, 0.01 * n as f32]
            })
            .collect();
        let (background, noise) = ([0.1, 0.2, 0.3], vec![0.4; 64]);
        let mut out = vec![[0; 4]; pixels.len()];
        row(&Tone { background, exposure: 1.7_f32.exp2(), noise: &noise }, &pixels, &mut out);
        for (pixel, got) in pixels.iter().zip(&out) {
            let radiance = std::array::from_fn(|c| pixel[c] + pixel[3] * background[c]);
            let want = tone::to_bytes(radiance, 1.7, 0.4);
            assert!((0..3).all(|c| got[c].abs_diff(want[c]) <= 1), "{pixel:?}: {got:?}, not {want:?}");
        }
        assert!(out[0] != out[99]);
    }
}
