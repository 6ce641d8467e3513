//! Limits of values that a slider, a typed number or a program may give to a running simulation. They are the
//! hard ranges of [`crate::parameter`], so any value valid in a scene passes unchanged. Values beyond a limit
//! are clamped, and NaN keeps the old value: no combination of inputs yields NaN. A list with an invalid place, size or time is refused
//! as a whole: what was there stays.

use crate::parameter::{self, Holder, Parameter, Value};
use crate::solver::{Dab, Force, InvalidValue, Params, Solid, Source};

/// Largest speed that one dab may add, per component \[m/s\]. It is the product of the brush's force and the
/// motion of the hand.
pub const DAB_SPEED: f32 = 50.0;

/// Clamps `new` to the limits; NaN becomes the value of `old`.
pub fn params(new: &Params, old: &Params) -> Params {
    let mut safe = new.clone();
    for parameter in parameter::all() {
        let Some(field) = parameter.field() else { continue };
        if let (Some(new), Some(old)) = (new.value(field), old.value(field)) {
            safe.set_value(field, limited(parameter, new, old));
        }
    }
    safe
}

fn limited(parameter: &Parameter, new: Value, old: Value) -> Value {
    match (new, old) {
        (Value::Number(new), Value::Number(old)) => Value::Number(parameter.limit(new, old)),
        (Value::Number(new), _) => Value::Number(parameter.limit(new, 0.0)),
        (Value::Triple(new), Value::Triple(old)) => {
            Value::Triple(std::array::from_fn(|axis| parameter.limit(new[axis], old[axis])))
        }
        (Value::Whole(new), _) => Value::Whole(parameter.limit(new as f32, 0.0) as u32),
        (new, _) => new,
    }
}

/// Clamps a dab to the limits; none if its position is not finite.
pub fn dab(dab: Dab) -> Option<Dab> {
    let [red, green, blue, heat] = dab.add;
    let density = |x| number("brush.density", x);
    let speed = |v: f32| if v.is_nan() { 0.0 } else { v.clamp(-DAB_SPEED, DAB_SPEED) };
    is_ball(dab.center, dab.radius).then(|| Dab {
        add: [density(red), density(green), density(blue), number("brush.heat", heat)],
        push: dab.push.map(speed),
        erase: if dab.erase.is_nan() { 0.0 } else { dab.erase.clamp(0.0, 1.0) },
        ..dab
    })
}

/// Rates of a source, in their order.
const EMIT: [&str; 4] =
    ["source.#.emit.red", "source.#.emit.green", "source.#.emit.blue", "source.#.emit.heat"];

/// Clamps rates and velocities of sources to the limits.
///
/// # Errors
/// If another value of one of them is invalid.
pub fn sources(sources: Vec<Source>) -> Result<Vec<Source>, InvalidValue> {
    let within = |s: Source| Source {
        rate: std::array::from_fn(|n| number(EMIT[n], s.rate[n])),
        velocity: s.velocity.map(|v| v.map(|x| number("source.#.velocity", x))),
        ..s
    };
    all_valid(sources.into_iter().map(within).collect(), Source::problem)
}

/// Returns `forces`.
///
/// # Errors
/// If one of them is invalid.
pub fn forces(forces: Vec<Force>) -> Result<Vec<Force>, InvalidValue> {
    all_valid(forces, Force::problem)
}

/// Returns `solids`.
///
/// # Errors
/// If one of them is invalid.
pub fn solids(solids: Vec<Solid>) -> Result<Vec<Solid>, InvalidValue> {
    all_valid(solids, Solid::problem)
}

fn all_valid<T>(list: Vec<T>, problem: impl Fn(&T) -> Option<InvalidValue>) -> Result<Vec<T>, InvalidValue> {
    list.iter().find_map(problem).map_or(Ok(list), Err)
}

/// Clamps the length of a step to the limits; NaN becomes the old length.
pub fn step(new: f32, old: f32) -> f32 {
    parameter::of("time.step").limit(new, old)
}

fn is_ball(center: [f32; 3], radius: f32) -> bool {
    center.iter().all(|x| x.is_finite()) && radius.is_finite() && radius > 0.0
}

/// Clamps `x` to the limits of the parameter at `path`; NaN becomes 0.
fn number(path: &str, x: f32) -> f32 {
    parameter::of(path).limit(x, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_leaves_the_old_value_and_infinity_is_limited() {
        let old = Params { cooling: 0.4, ..Params::default() };
        let mut new = Params { cooling: f32::NAN, vorticity: f32::INFINITY, ..Params::default() };
        new.smoke[1].buoyancy = f32::NEG_INFINITY;
        new.turbulence.octaves = 1000;
        let safe = params(&new, &old);
        assert_eq!(safe.cooling, 0.4);
        assert_eq!(safe.vorticity, *parameter::of("fluid.vorticity").hard.end());
        assert_eq!(safe.smoke[1].buoyancy, *parameter::of("smoke.green.buoyancy").hard.start());
        assert_eq!(safe.turbulence.octaves, 6);
    }

    /// Both ends of every range: a value valid in a scene is valid in the window.
    #[cfg(feature = "scene")]
    #[test]
    fn a_value_that_a_scene_accepts_passes_unchanged() {
        use crate::scene::Scene;
        let numbers = parameter::all().filter(|p| Params::default().value_of(p).is_some());
        let mut checked = 0;
        for parameter in numbers {
            for end in [*parameter.hard.start(), *parameter.hard.end()] {
                let (text, value) = match Params::default().value_of(parameter) {
                    Some(Value::Triple(_)) => {
                        (format!("[{end:?}, {end:?}, {end:?}]"), Value::Triple([end; 3]))
                    }
                    Some(Value::Whole(_)) => (format!("{end}"), Value::Whole(end as u32)),
                    _ => (format!("{end:?}"), Value::Number(end)),
                };
                let set = format!("{}={text}", parameter.path);
                let scene = Scene::parse_with("s", "domain.detail = 2", &[set]).unwrap();
                assert_eq!(scene.params.value_of(parameter), Some(value), "{}", parameter.path);
                assert_eq!(params(&scene.params, &Params::default()), scene.params, "{}", parameter.path);
                checked += 1;
            }
        }
        assert!(checked >= 32, "{checked}");
        for (set, dt) in [("time.frame_rate=0.001", 1e3), ("time.frame_rate=100000", 1e-5)] {
            let scene = Scene::parse_with("s", "", &[set.into()]).unwrap();
            let asked = scene.time.steps_per_frame().1;
            assert!((asked / dt - 1.0).abs() < 1e-5 && step(asked, 1.0) == asked, "{set}: {asked}");
        }
    }

    #[test]
    fn valid_values_pass_unchanged() {
        let sound = Params { friction: 3.0, ..Params::default() };
        assert_eq!(params(&sound, &Params::default()), sound);
        let ball = Dab {
            center: [0.5; 3],
            radius: 0.1,
            add: [1.0, 0.0, 0.5, 40.0],
            push: [0.0, 2.0, 0.0],
            erase: 0.0,
        };
        assert_eq!(dab(ball), Some(ball));
    }

    #[test]
    fn rates_are_clamped_and_invalid_lists_are_refused() {
        use crate::solver::{ForceField, Noise, Region};
        let source = Source::new(Region::sphere([0.5; 3], 0.1), [f32::INFINITY, 0.0, 0.0, f32::NAN]);
        let noisy = |scale: f32| Source {
            noise: Some(Noise { strength: 1.0, scale, speed: 0.0, seed: 0 }),
            ..source.clone()
        };
        let nowhere = Source::new(Region::sphere([f32::NAN; 3], 0.1), [1.0; 4]);
        assert!(sources(vec![noisy(0.1), nowhere]).is_err());
        assert!(sources(vec![noisy(f32::NAN)]).is_err());
        let safe = sources(vec![noisy(0.1)]).unwrap();
        assert_eq!(safe[0].rate, [*parameter::of(EMIT[0]).hard.end(), 0.0, 0.0, 0.0]);
        let wind = |x: f32| Force::new(ForceField::Wind([x, 0.0, 0.0]));
        assert!(forces(vec![wind(f32::NAN), wind(1.0)]).is_err());
        assert_eq!(forces(vec![wind(1.0)]), Ok(vec![wind(1.0)]));
    }

    #[test]
    fn a_ball_without_a_place_or_a_size_is_refused() {
        let ball = Dab { center: [0.5; 3], radius: 0.1, add: [f32::NAN; 4], push: [1e9; 3], erase: 0.0 };
        assert_eq!(dab(ball).unwrap().add, [0.0; 4]);
        assert_eq!(dab(ball).unwrap().push, [DAB_SPEED; 3]);
        assert_eq!(dab(Dab { radius: 0.0, ..ball }), None);
        assert_eq!(dab(Dab { center: [0.0, f32::INFINITY, 0.0], ..ball }), None);
    }
}
