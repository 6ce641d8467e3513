//! Numbers as the panel shows them, with their units.

use crate::parameter::Parameter;

/// Returns the unit of a parameter, separated from its number.
pub(super) fn suffix(parameter: &Parameter) -> String {
    match parameter.short_unit() {
        unit @ ("" | "°") => unit.to_owned(),
        unit => format!(" {unit}"),
    }
}

/// Formats a number with this many decimals, or more if it is too small for them. From 10⁴ on it is rounded
/// to a whole number, and from 10⁵ on to three digits with a power of ten, so that it fits into its field.
pub(super) fn short(value: f64, decimals: usize) -> String {
    if value.abs() >= 99_999.5 {
        let text = format!("{value:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    if value.abs() >= 1e4 {
        return format!("{value:.0}");
    }
    if value == 0.0 && decimals > 2 {
        return "0".into();
    }
    let shown = format!("{value:.decimals$}");
    let lost = value != 0.0 && value.abs() < 0.5 * 10f64.powi(1 - decimals as i32);
    if lost { format!("{value:.*}", decimals + 2) } else { shown }
}

/// Returns a number with four significant digits.
pub(super) fn fine(value: f64) -> String {
    let digits = match value.abs() {
        x if x >= 1000.0 || x == 0.0 => 0,
        x => (3 - x.log10().floor() as i32).clamp(0, 8) as usize,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_do_not_read_as_zero() {
        assert_eq!(short(0.0, 2), "0.00");
        assert_eq!(short(0.02, 2), "0.0200");
        assert_eq!(short(-0.3, 2), "-0.30");
        assert_eq!(short(1234.5, 1), "1234.5");
    }

    #[test]
    fn large_numbers_have_few_digits() {
        assert_eq!(short(-12345.67, 2), "-12346");
        assert_eq!(short(99_999.9, 2), "1e5");
        assert_eq!(short(1e6, 2), "1e6");
        assert_eq!(short(-123_456.0, 2), "-1.23e5");
    }
}
