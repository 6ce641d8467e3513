//! Tone map from linear radiance to the bytes of a picture.
//!
//! The curve is AgX (Troy Sobotka), in the polynomial fit of Benjamin Wrensch ("Minimal AgX implementation",
//! 2023): colours are slightly mixed before a logarithmic S-curve, so bright coloured smoke turns pale
//! instead of clipping to a primary. Saturation and contrast after it restore some punch. `shaders/tone.glsl`
//! has the same formulas.

use std::sync::OnceLock;

use crate::look::ToneMap;
use crate::look::srgb::{self, LUMINANCE};
use crate::simd::{Simd, each_level, greatest, least};

/// Greatest input of the other curves, so that they stay finite.
pub(super) const MOST_RADIANCE: f32 = 1e6;
/// Darkest and brightest radiance that the curve resolves \[stops around 1\].
pub(super) const STOPS: [f32; 2] = [-12.473_93, 4.026_069];
/// Contrast and saturation after the curve; 1 and 1 are plain AgX. These lie between that and AgX's own
/// "punchy" look (1.35, 1.4). The contrast is part of the curve.
#[cfg(test)]
const CONTRAST: f32 = 1.18;
pub(super) const SATURATION: f32 = 1.25;
/// The curve with the contrast, highest order first.
pub(super) const CURVE: [f32; 8] = [
    7.804_280_3,
    -5.778_77,
    -22.702_112,
    30.655_49,
    -10.491_944,
    1.551_680_5,
    -0.040_298_995,
    3.866_258_6e-4,
];

#[rustfmt::skip]
pub(super) const INSET: [[f32; 3]; 3] = [
    [0.842_479_06, 0.078_433_6, 0.079_223_75],
    [0.042_328_24, 0.878_468_64, 0.079_166_13],
    [0.042_375_65, 0.078_433_6, 0.879_143],
];

#[rustfmt::skip]
pub(super) const OUTSET: [[f32; 3]; 3] = [
    [1.196_879, -0.098_020_88, -0.099_029_74],
    [-0.052_896_85, 1.151_903_1, -0.098_961_18],
    [-0.052_971_64, -0.098_043_45, 1.151_073_7],
];

/// Pixels processed at a time.
const CHUNK: usize = 32;
type Strip = [f32; CHUNK];

/// Tone map of a row.
pub(super) struct Tone<'a> {
    /// The curve.
    pub map: ToneMap,
    /// Background of the row.
    pub background: [f32; 3],
    /// Factor on the radiance.
    pub exposure: f32,
    /// Dither, which rounds each pixel of the row up or down; repeated along the row.
    pub noise: &'a [f32],
}

/// Computes the bytes of a row of pixels from radiance and the visible share of the background.
pub(super) fn row(tone: &Tone, pixels: &[[f32; 4]], out: &mut [[u8; 4]]) {
    for (n, (pixels, out)) in pixels.chunks(CHUNK).zip(out.chunks_mut(CHUNK)).enumerate() {
        if tone.map != ToneMap::AgX {
            map_each(pixels, tone, &tone.noise[n * CHUNK % tone.noise.len()..], out);
            continue;
        }
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

each_level! {
    /// Computes a strip of [`row`].
    fn map(pixels: &[[f32; 4]; CHUNK], tone: &Tone, noise: &Strip, out: &mut [[u8; 4]; CHUNK]) = map_kernel;
}

#[inline(always)]
fn map_kernel<S: Simd>(
    _: S,
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
        let [red, green, blue] = LUMINANCE;
        let luma = red * curve[0][i] + green * curve[1][i] + blue * curve[2][i];
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

/// Matrices from radiance to the primaries of the film curve, and back (Stephen Hill, "ACES.hlsl", 2016).
pub(super) const FILM: [[f32; 3]; 3] =
    [[0.59719, 0.35458, 0.04823], [0.07600, 0.90834, 0.01566], [0.02840, 0.13383, 0.83777]];
pub(super) const SCREEN: [[f32; 3]; 3] =
    [[1.60475, -0.53108, -0.07367], [-0.10208, 1.10813, -0.00605], [-0.00327, -0.07276, 1.07602]];
/// Coefficients of the film curve in numerator and denominator, highest order first; the first of the
/// numerator is 1.
pub(super) const FILM_OVER: [f32; 2] = [0.024_578_6, -0.000_090_537];
pub(super) const FILM_UNDER: [f32; 3] = [0.983_729, 0.432_951, 0.238_081];
/// Divisor of the radiance that gives middle grey the value that it has with the other curves.
pub(super) const FILM_SCALE: f32 = 0.6;

fn mixed(rows: &[[f32; 3]; 3], x: [f32; 3]) -> [f32; 3] {
    rows.map(|row| row[0] * x[0] + row[1] * x[1] + row[2] * x[2])
}

/// Applies the film curve of ACES. Returns linear light of the screen.
fn film(radiance: [f32; 3]) -> [f32; 3] {
    let ([a, b], [c, d, e]) = (FILM_OVER, FILM_UNDER);
    let curve = |x: f32| (x * (x + a) + b) / (x * (c * x + d) + e);
    mixed(&SCREEN, mixed(&FILM, radiance.map(|x| x / FILM_SCALE)).map(curve))
}

/// Computes a strip of [`row`] by the other curves, one pixel at a time.
fn map_each(pixels: &[[f32; 4]], tone: &Tone, noise: &[f32], out: &mut [[u8; 4]]) {
    let table = encoding();
    for ((&[r, g, b, clear], out), noise) in pixels.iter().zip(out).zip(noise) {
        let mut c = 0;
        let radiance = [r, g, b].map(|x| {
            c += 1;
            ((x + clear * tone.background[c - 1]) * tone.exposure).clamp(0.0, MOST_RADIANCE)
        });
        let shown = if tone.map == ToneMap::Aces { film(radiance) } else { radiance };
        let byte = |x: f32| {
            let place = (x.clamp(0.0, 1.0).sqrt() * (TABLE - 1) as f32 + 0.5) as usize;
            (table[place] + noise) as u8
        };
        let [r, g, b] = shown.map(byte);
        *out = [r, g, b, 255];
    }
}

/// Entries of [`encoding`].
const TABLE: usize = 4096;

/// Returns the curve of sRGB times 255, at squares of equal distances from 0 to 1.
fn encoding() -> &'static [f32; TABLE] {
    static ENCODING: OnceLock<[f32; TABLE]> = OnceLock::new();
    ENCODING.get_or_init(|| {
        std::array::from_fn(|n| 255.0 * srgb::encode((n as f32 / (TABLE - 1) as f32).powi(2)))
    })
}

/// Returns the whole part of a number in 0..2²³. A conversion would check the range of each number; a whole
/// number added to 2²³ is in the last bits of the sum.
#[inline(always)]
pub(super) fn whole(x: f32) -> u32 {
    const SHIFT: f32 = 8_388_608.0;
    (x.floor() + SHIFT).to_bits() - SHIFT.to_bits()
}

/// Returns the base-2 logarithm of a normal positive number to within 4·10⁻⁶.
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

    /// Returns display-referred values times 255, as the mean over all dithers.
    fn map(radiance: [f32; 3], exposure: f32) -> [f64; 3] {
        let noise: [f32; 64] = std::array::from_fn(|n| (n as f32 + 0.5) / 64.0);
        let (mut out, [r, g, b]) = ([[0; 4]; 64], radiance);
        let tone = Tone { map: ToneMap::AgX, background: [0.0; 3], exposure: exposure.exp2(), noise: &noise };
        row(&tone, &[[r, g, b, 0.0]; 64], &mut out);
        std::array::from_fn(|c| out.iter().map(|pixel| f64::from(pixel[c])).sum::<f64>() / 64.0)
    }

    #[test]
    fn grey_stays_grey_and_rises() {
        let mut last = -1.0;
        for stop in -10..4 {
            let [r, g, b] = map([(stop as f32).exp2(); 3], 0.0);
            assert!((r - g).abs() < 0.5 && (b - g).abs() < 0.5, "{r} {g} {b}");
            assert!(g > last, "2^{stop} is not brighter than the stop below");
            last = g;
        }
    }

    #[test]
    fn the_curve_is_that_of_agx_with_contrast() {
        let plain = [15.5, -40.14, 31.96, -6.868, 0.4298, 0.1191, -0.00232];
        for n in 0..=1000 {
            let x = n as f32 / 1000.0;
            let want = plain.iter().fold(0.0, |sum: f32, c| sum * x + c).max(0.0).powf(CONTRAST);
            let got = CURVE.iter().fold(0.0, |sum, c| sum * x + c);
            assert!((got - want).abs() < 0.12 / 255.0, "{x}: {got}, not {want}");
        }
    }

    /// Computes the tone map in double precision, with the curve of Wrensch.
    fn agx(radiance: [f64; 3]) -> [f64; 3] {
        let mix = |rows: [[f32; 3]; 3], x: [f64; 3]| {
            rows.map(|row| (0..3).map(|c| f64::from(row[c]) * x[c]).sum::<f64>())
        };
        let curve = mix(INSET, radiance).map(|x| {
            let x = ((x.max(1e-10).log2() + 12.47393) / (4.026069 + 12.47393)).clamp(0.0, 1.0);
            let plain = [15.5, -40.14, 31.96, -6.868, 0.4298, 0.1191, -0.00232];
            plain.iter().fold(0.0, |sum: f64, c| sum * x + c).max(0.0).powf(1.18)
        });
        let luma = 0.2126 * curve[0] + 0.7152 * curve[1] + 0.0722 * curve[2];
        mix(OUTSET, curve.map(|x| luma + 1.25 * (x - luma))).map(|x| x.clamp(0.0, 1.0))
    }

    #[test]
    fn radiance_comes_out_as_agx_has_it() {
        for radiance in [[0.18; 3], [0.02; 3], [2.0; 3], [0.9, 0.3, 0.1], [0.05, 0.1, 0.3], [8.0, 4.0, 0.5]] {
            let (got, want) = (map(radiance, 0.0), agx(radiance.map(f64::from)));
            let off = (0..3).map(|c| (got[c] - 255.0 * want[c]).abs()).fold(0.0, f64::max);
            assert!(off < 0.4, "{radiance:?}: {got:?}, not {want:?} of 1");
        }
    }

    /// The plain map is the curve of sRGB. ACES is darker below and softer above. Both keep grey neutral.
    #[test]
    fn other_curves_are_theirs() {
        let shown = |tone: ToneMap, x: f32| {
            let (mut out, noise) = ([[0; 4]], [0.5]);
            let tone = Tone { map: tone, background: [0.0; 3], exposure: 1.0, noise: &noise };
            row(&tone, &[[x, x, x, 0.0]], &mut out);
            assert!(out[0][0].abs_diff(out[0][1]) <= 1 && out[0][1].abs_diff(out[0][2]) <= 1, "{out:?}");
            out[0][1]
        };
        let plain = [0.0, 0.002, 0.2140, 0.5, 1.0, 5.0].map(|x| shown(ToneMap::Plain, x));
        assert_eq!(plain, [0, 7, 127, 188, 255, 255]);
        let aces = [0.0, 0.18, 1.0, 5.0, f32::MAX].map(|x| shown(ToneMap::Aces, x));
        assert!(aces.is_sorted() && aces[0] == 0 && (115..140).contains(&aces[1]), "{aces:?}");
        assert!((215..240).contains(&aces[2]) && aces[3] > 240 && aces[4] == 255, "{aces:?}");
    }

    #[test]
    fn exposure_is_a_factor() {
        assert_eq!(map([0.1, 0.2, 0.3], 1.0), map([0.2, 0.4, 0.6], 0.0));
    }

    #[test]
    fn bytes_reach_both_ends_and_no_further() {
        // The fit of the curve is off by a tenth of a byte in black.
        assert!(map([0.0; 3], 0.0).iter().all(|&byte| byte < 0.2));
        assert_eq!(map([-1.0; 3], 0.0), map([0.0; 3], 0.0));
        assert!(map([1e6; 3], 0.0).iter().all(|&byte| byte > 245.0));
    }

    #[test]
    fn a_row_of_any_length_has_the_background_behind_it() {
        let noise = [0.5; 64];
        for length in [1, 31, 32, 33, 100] {
            let (mut seen, mut put) = (vec![[0; 4]; length], vec![[0; 4]; length]);
            let background = [0.1, 0.2, 0.3];
            let tone = Tone { map: ToneMap::AgX, background, exposure: 1.0, noise: &noise };
            row(&tone, &vec![[0.3, 0.2, 0.1, 0.5]; length], &mut seen);
            row(&Tone { background: [0.0; 3], ..tone }, &vec![[0.35, 0.3, 0.25, 0.0]; length], &mut put);
            assert!(seen == put && seen[0] == seen[length - 1] && seen[0][3] == 255);
        }
    }

    #[test]
    fn logarithms_are_right() {
        for n in -900..900 {
            let x = (n as f32 * 0.037).exp2();
            assert!((log2(x) - x.log2()).abs() < 6e-6, "{x}: {} {}", log2(x), x.log2());
        }
    }
}
