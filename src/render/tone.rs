//! From linear radiance to the bytes of a picture.
//!
//! The curve is AgX (Troy Sobotka), in the polynomial fit of Benjamin Wrensch ("Minimal AgX
//! implementation", 2023): colours are mixed a little into each other before a logarithmic
//! S-curve, so bright coloured smoke turns pale instead of clipping to a primary. After it a
//! saturation and a contrast give back some of the punch. `shaders/tone.glsl` is the same.

/// Darkest and brightest radiance the curve tells apart \[stops around 1\].
pub(super) const STOPS: [f32; 2] = [-12.473_93, 4.026_069];
/// Contrast and saturation after the curve; 1 and 1 are plain AgX. The pair stands between that and
/// AgX's own "punchy" look (1.35, 1.4). The contrast is in the curve.
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

/// Display-referred, sRGB-encoded 0..1 from linear radiance times 2^`exposure`.
pub fn map(radiance: [f32; 3], exposure: f32) -> [f32; 3] {
    let scale = exposure.exp2();
    let inset = mix(INSET, radiance.map(|x| x.max(0.0) * scale));
    let curve = inset.map(|x| {
        let stops = x.max(1e-10).log2().clamp(STOPS[0], STOPS[1]);
        sigmoid((stops - STOPS[0]) / (STOPS[1] - STOPS[0]))
    });
    mix(OUTSET, saturate(curve)).map(|x| x.clamp(0.0, 1.0))
}

/// As [`map`], to bytes; `dither` in 0..1 decides which way a value between two bytes goes.
pub fn to_bytes(radiance: [f32; 3], exposure: f32, dither: f32) -> [u8; 3] {
    map(radiance, exposure).map(|x| (x * 255.0 + dither) as u8)
}

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

fn mix(rows: [[f32; 3]; 3], x: [f32; 3]) -> [f32; 3] {
    rows.map(|row| row[0] * x[0] + row[1] * x[1] + row[2] * x[2])
}

/// AgX's default contrast, in the fit of sixth order, to the power of 1.18: a little more contrast. As one polynomial,
/// a tenth of a byte away from that at most.
fn sigmoid(x: f32) -> f32 {
    CURVE.iter().fold(0.0, |sum, c| sum * x + c)
}

fn saturate(x: [f32; 3]) -> [f32; 3] {
    let luma = 0.2126 * x[0] + 0.7152 * x[1] + 0.0722 * x[2];
    x.map(|x| luma + SATURATION * (x - luma))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grey_stays_grey_and_rises() {
        let mut last = -1.0;
        for stop in -10..4 {
            let [r, g, b] = map([(stop as f32).exp2(); 3], 0.0);
            assert!((r - g).abs() < 2e-3 && (b - g).abs() < 2e-3, "{r} {g} {b}");
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
            assert!((sigmoid(x) - want).abs() < 0.12 / 255.0, "{x}: {}, not {want}", sigmoid(x));
        }
    }

    /// The whole way in double precision, with the curve as Wrensch gives it.
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
            let off = (0..3).map(|c| (f64::from(got[c]) - want[c]).abs()).fold(0.0, f64::max);
            assert!(off < 0.4 / 255.0, "{radiance:?}: {got:?}, not {want:?}");
        }
    }

    #[test]
    fn exposure_is_a_factor() {
        assert_eq!(map([0.1, 0.2, 0.3], 1.0), map([0.2, 0.4, 0.6], 0.0));
    }

    #[test]
    fn bytes_reach_both_ends_and_no_further() {
        assert_eq!(to_bytes([0.0; 3], 0.0, 0.5), [0; 3]);
        assert_eq!(to_bytes([-1.0; 3], 0.0, 0.0), [0; 3]);
        assert!(to_bytes([1e6; 3], 0.0, 0.99).iter().all(|&b| b > 245));
    }
}
