//! The door of the solver: what a slider, a typed number or a scene may hand to a running simulation.
//! Values beyond a limit are brought to it and values that are no number leave what was there before, so
//! that no combination of them yields NaN.

use std::ops::RangeInclusive;

use crate::solver::{Ambient, Dab, Force, Params, Smoke, Source};

/// Upward acceleration per unit of density \[m/s²\].
pub const BUOYANCY: RangeInclusive<f32> = -200.0..=200.0;
/// Rates of decay of smoke and heat \[1/s\]; negative grows.
pub const DECAY: RangeInclusive<f32> = -10.0..=1000.0;
/// Upward acceleration per kelvin \[m/(s² K)\].
pub const HEAT_BUOYANCY: RangeInclusive<f32> = -10.0..=10.0;
/// Vorticity confinement ε \[-\].
pub const VORTICITY: RangeInclusive<f32> = 0.0..=20.0;
/// Friction \[1/s\].
pub const FRICTION: RangeInclusive<f32> = 0.0..=1000.0;
/// Viscosity and diffusion coefficients \[m²/s\].
pub const DIFFUSION: RangeInclusive<f32> = 0.0..=100.0;
/// Density one dab or one second of a source may add \[-\].
pub const DENSITY: RangeInclusive<f32> = -1000.0..=1000.0;
/// Heat one dab or one second of a source may add \[K\].
pub const HEAT: RangeInclusive<f32> = -10_000.0..=10_000.0;
/// Speed one dab may add, component by component \[m/s\].
pub const SPEED: RangeInclusive<f32> = -50.0..=50.0;
/// Length of a step \[s\].
pub const STEP: RangeInclusive<f32> = 1e-4..=1.0;

/// `new` within the limits; where it is no number, the value of `old`.
pub fn params(new: &Params, old: &Params) -> Params {
    let smoke = |c: usize| Smoke {
        buoyancy: number(new.smoke[c].buoyancy, old.smoke[c].buoyancy, &BUOYANCY),
        dissipation: number(new.smoke[c].dissipation, old.smoke[c].dissipation, &DECAY),
        diffusion: number(new.smoke[c].diffusion, old.smoke[c].diffusion, &DIFFUSION),
    };
    Params {
        up: if new.up.iter().all(|x| x.is_finite()) { new.up } else { old.up },
        heat_buoyancy: number(new.heat_buoyancy, old.heat_buoyancy, &HEAT_BUOYANCY),
        cooling: number(new.cooling, old.cooling, &DECAY),
        vorticity: number(new.vorticity, old.vorticity, &VORTICITY),
        friction: number(new.friction, old.friction, &FRICTION),
        viscosity: number(new.viscosity, old.viscosity, &DIFFUSION),
        conduction: number(new.conduction, old.conduction, &DIFFUSION),
        ambient: ambient(new.ambient, old.ambient),
        smoke: [smoke(0), smoke(1), smoke(2)],
    }
}

fn ambient(new: Ambient, old: Ambient) -> Ambient {
    match (new, old) {
        (Ambient::Fixed(new), Ambient::Fixed(old)) => Ambient::Fixed(number(new, old, &HEAT)),
        (Ambient::Fixed(new), Ambient::Mean) => Ambient::Fixed(number(new, 0.0, &HEAT)),
        (Ambient::Mean, _) => Ambient::Mean,
    }
}

/// A dab within the limits; none where it has no place.
pub fn dab(dab: Dab) -> Option<Dab> {
    (is_ball(dab.center, dab.radius)).then(|| Dab {
        add: amounts(dab.add),
        push: dab.push.map(|v| number(v, 0.0, &SPEED)),
        ..dab
    })
}

/// Sources within the limits, without those that have no place.
pub fn sources(sources: Vec<Source>) -> Vec<Source> {
    let within = |s: Source| Source {
        rate: amounts(s.rate),
        velocity: s.velocity.map(|v| v.map(|x| number(x, 0.0, &SPEED))),
        ..s
    };
    sources.into_iter().filter(|s| s.problem().is_none()).map(within).collect()
}

/// Forces within the limits, without those that have no place.
pub fn forces(forces: Vec<Force>) -> Vec<Force> {
    forces.into_iter().filter(|force| force.problem().is_none()).collect()
}

/// A length of a step within the limits; the old one where it is no number.
pub fn step(new: f32, old: f32) -> f32 {
    number(new, old, &STEP)
}

fn is_ball(center: [f32; 3], radius: f32) -> bool {
    center.iter().all(|x| x.is_finite()) && radius.is_finite() && radius > 0.0
}

fn amounts(add: [f32; 4]) -> [f32; 4] {
    let [r, g, b, heat] = add;
    let density = |x| number(x, 0.0, &DENSITY);
    [density(r), density(g), density(b), number(heat, 0.0, &HEAT)]
}

fn number(new: f32, old: f32, limits: &RangeInclusive<f32>) -> f32 {
    let wanted = if new.is_nan() { old } else { new };
    wanted.clamp(*limits.start(), *limits.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_leaves_what_was_there() {
        let old = Params { cooling: 0.4, ..Params::default() };
        let mut new = Params { cooling: f32::NAN, vorticity: f32::INFINITY, ..Params::default() };
        new.smoke[1].buoyancy = f32::NEG_INFINITY;
        let safe = params(&new, &old);
        assert_eq!(safe.cooling, 0.4);
        assert_eq!(safe.vorticity, *VORTICITY.end());
        assert_eq!(safe.smoke[1].buoyancy, *BUOYANCY.start());
    }

    #[test]
    fn what_is_sound_passes_unchanged() {
        let sound = Params { friction: 3.0, ..Params::default() };
        assert_eq!(params(&sound, &Params::default()), sound);
        let ball = Dab { center: [0.5; 3], radius: 0.1, add: [1.0, 0.0, 0.5, 40.0], push: [0.0, 2.0, 0.0] };
        assert_eq!(dab(ball), Some(ball));
    }

    #[test]
    fn sources_and_forces_that_cannot_be_are_left_out() {
        use crate::solver::{ForceField, Noise, Region};
        let source = Source::new(Region::sphere([0.5; 3], 0.1), [f32::INFINITY, 0.0, 0.0, f32::NAN]);
        let noisy = |scale: f32| Source {
            noise: Some(Noise { strength: 1.0, scale, speed: 0.0, seed: 0 }),
            ..source.clone()
        };
        let nowhere = Source::new(Region::sphere([f32::NAN; 3], 0.1), [1.0; 4]);
        let safe = sources(vec![nowhere, noisy(f32::NAN), noisy(0.1)]);
        assert_eq!(safe.len(), 1);
        assert_eq!(safe[0].rate, [*DENSITY.end(), 0.0, 0.0, 0.0]);
        let wind = |x: f32| Force::new(ForceField::Wind([x, 0.0, 0.0]));
        assert_eq!(forces(vec![wind(f32::NAN), wind(1.0), wind(f32::INFINITY)]), [wind(1.0)]);
    }

    #[test]
    fn a_ball_without_a_place_or_a_size_is_refused() {
        let ball = Dab { center: [0.5; 3], radius: 0.1, add: [f32::NAN; 4], push: [1e9; 3] };
        assert_eq!(dab(ball).unwrap().add, [0.0; 4]);
        assert_eq!(dab(ball).unwrap().push, [*SPEED.end(); 3]);
        assert_eq!(dab(Dab { radius: 0.0, ..ball }), None);
        assert_eq!(dab(Dab { center: [0.0, f32::INFINITY, 0.0], ..ball }), None);
    }
}
