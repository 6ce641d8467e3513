//! The transfer curve of sRGB (IEC 61966-2-1) and the luminance of its primaries (Rec. 709).

/// Weights of linear red, green and blue in luminance.
pub const LUMINANCE: [f32; 3] = [0.2126, 0.7152, 0.0722];

/// Returns the luminance of a colour in linear light.
pub fn luminance([r, g, b]: [f32; 3]) -> f32 {
    LUMINANCE[0] * r + LUMINANCE[1] * g + LUMINANCE[2] * b
}

/// Encodes linear light, from 0 to 1, as a value of a screen, from 0 to 1.
pub fn encode(x: f32) -> f32 {
    if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 }
}

/// Decodes a value of a screen, from 0 to 1, to linear light, from 0 to 1.
#[cfg(any(test, feature = "scene"))]
pub fn decode(s: f32) -> f32 {
    if s <= 0.04045 { s / 12.92 } else { ((s + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_inverts_encoding() {
        assert!((0..=255).map(|n| n as f32 / 255.0).all(|s| (encode(decode(s)) - s).abs() < 1e-6));
        // Middle grey of a screen reflects about a fifth of the light.
        assert!((decode(0.5) - 0.214).abs() < 1e-3);
    }
}
