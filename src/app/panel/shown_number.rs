//! Numbers as the panel shows them, with their units.

use crate::parameter::Parameter;

/// The unit of a parameter, separated from its number.
pub(super) fn suffix(parameter: &Parameter) -> String {
    match parameter.short_unit() {
        unit @ ("" | "°") => unit.to_owned(),
        unit => format!(" {unit}"),
    }
}

/// Formats a number with this many decimals, or more if it is too small for them.
pub(super) fn short(value: f64, decimals: usize) -> String {
    if value == 0.0 && decimals > 2 {
        return "0".into();
    }
    let shown = format!("{value:.decimals$}");
    let lost = value != 0.0 && value.abs() < 0.5 * 10f64.powi(1 - decimals as i32);
    if lost { format!("{value:.*}", decimals + 2) } else { shown }
}

/// A number with four significant digits.
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
}
