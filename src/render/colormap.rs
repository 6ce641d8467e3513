//! Inferno (Nathaniel Smith and Stéfan van der Walt, matplotlib): dark to bright, evenly in lightness.
//! A polynomial by Matt Zucker, public domain. `shaders/colormap.glsl` has the same formula.

use std::sync::OnceLock;

/// Returns the display-referred colour of `x` in 0..1.
pub fn display(x: f32) -> [f32; 3] {
    let x = x.clamp(0.0, 1.0);
    COEFFICIENTS.map(|c| c.iter().rev().fold(0.0, |sum, c| sum * x + c).clamp(0.0, 1.0))
}

/// Returns the linear colour of `x` in 0..1.
pub fn linear(x: f32) -> [f32; 3] {
    display(x).map(|c| c.powf(GAMMA))
}

/// Entries of [`table`].
pub(super) const ENTRIES: usize = 1024;

/// Returns [`linear`] at equal distances from 0 to 1, as separate red, green and blue arrays.
pub(super) fn table() -> &'static [[f32; ENTRIES]; 3] {
    static TABLE: OnceLock<[[f32; ENTRIES]; 3]> = OnceLock::new();
    TABLE.get_or_init(|| {
        std::array::from_fn(|c| std::array::from_fn(|n| linear(n as f32 / (ENTRIES - 1) as f32)[c]))
    })
}

/// Exponent from display-referred to linear.
pub(super) const GAMMA: f32 = 2.2;

/// Coefficients of red, green and blue, lowest order first.
#[rustfmt::skip]
pub(super) const COEFFICIENTS: [[f32; 7]; 3] = [
    [0.000_218_940_37, 0.106_513_42, 11.602_493, -41.703_995, 77.162_94, -71.319_43, 25.131_126],
    [0.001_651_004_6, 0.563_956_44, -3.972_854, 17.436_398, -33.402_36, 32.626_064, -12.242_669],
    [-0.019_480_899, 3.932_712_3, -15.942_394, 44.354_145, -81.807_31, 73.209_52, -23.070_325],
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::srgb::luminance;

    #[test]
    fn gets_brighter_all_the_way() {
        let luma = |x: f32| luminance(linear(x));
        assert!((1..=50).all(|n| luma(n as f32 / 50.0) > luma((n - 1) as f32 / 50.0)));
        assert!(luma(0.0) < 0.01 && luma(1.0) > 0.9);
    }
}
