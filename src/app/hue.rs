//! Names of colours: a smoke is named after its visible colour, not after its channel.

use crate::look::srgb;

/// Returns the everyday name of a colour in linear light.
pub fn name(color: [f32; 3]) -> &'static str {
    let [r, g, b] = color.map(srgb::encode);
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    let (range, saturation) = (most - least, (most - least) / most.max(1e-6));
    if !range.is_finite() || most < 0.15 {
        return "black";
    }
    let sixth = match most {
        m if m == r => (g - b) / range.max(1e-6),
        m if m == g => (b - r) / range.max(1e-6) + 2.0,
        _ => (r - g) / range.max(1e-6) + 4.0,
    };
    let degrees = (60.0 * sixth).rem_euclid(360.0);
    let is_warm = (15.0..75.0).contains(&degrees);
    match (saturation, most) {
        (s, m) if s < 0.1 && m > 0.85 => return if s > 0.02 && is_warm { "cream" } else { "white" },
        (s, _) if s < 0.1 => return "grey",
        (s, m) if s < 0.3 && m > 0.8 && is_warm => return "cream",
        _ => {}
    }
    match degrees {
        d if !(15.0..345.0).contains(&d) => "red",
        d if d < 45.0 && most < 0.6 => "brown",
        d if d < 45.0 => "orange",
        d if d < 70.0 => "yellow",
        d if d < 160.0 => "green",
        d if d < 200.0 => "cyan",
        d if d < 255.0 => "blue",
        d if d < 290.0 => "violet",
        _ => "pink",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::Look;
    use crate::scene::Scene;

    #[test]
    fn colours_are_called_what_they_look_like() {
        for (color, called) in [
            ([1.0, 0.0, 0.0], "red"),
            ([0.0, 1.0, 0.0], "green"),
            ([0.0, 0.0, 1.0], "blue"),
            ([1.0, 1.0, 1.0], "white"),
            ([0.2, 0.2, 0.2], "grey"),
            ([0.0, 0.0, 0.0], "black"),
            ([1.0, 0.3, 0.0], "orange"),
            ([0.9, 0.85, 0.75], "cream"),
            ([f32::NAN, 0.0, 0.0], "black"),
        ] {
            assert_eq!(name(color), called, "{color:?}");
        }
        let plume = Scene::load("plume", &[]).unwrap().look;
        assert_eq!(name(plume.colors[0]), "grey", "{:?}", plume.colors[0]);
        assert!(Look::default().colors.iter().all(|color| !name(*color).is_empty()));
    }
}
