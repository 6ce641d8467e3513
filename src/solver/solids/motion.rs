//! Motion between keyframes.

/// Motion of a solid between keyframes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Motion {
    /// Straight on: the velocity jumps at the keyframes.
    #[default]
    Linear,
    /// Along the monotone cubic of Fritsch & Butland ("A method for constructing local monotone piecewise cubic
    /// interpolants", 1984), at rest at both ends: the velocity is continuous, and no coordinate leaves the range of the two
    /// keyframes around it.
    Smooth,
}

/// An instant \[s\] and a position \[m\].
type Key = (f32, [f32; 3]);

/// The position \[m\] at the share `t` of the way in time from keyframe `at` to the next one.
pub fn between(keys: &[Key], at: usize, t: f32) -> [f32; 3] {
    let span = keys[at + 1].0 - keys[at].0;
    let (a, b) = (keys[at].1, keys[at + 1].1);
    // Hermite's weights of the first position, the last, and the slopes there.
    let rise = t * t * (3.0 - 2.0 * t);
    let (start, stop) = (t * (1.0 - t) * (1.0 - t), t * t * (t - 1.0));
    [0, 1, 2].map(|axis| {
        let [from, to] = [at, at + 1].map(|key| span * slope(keys, key, axis));
        a[axis] + rise * (b[axis] - a[axis]) + start * from + stop * to
    })
}

/// The velocity along an axis at a keyframe \[m/s\]: the harmonic mean of the mean velocities before and after it, the shorter
/// span weighing more; zero where they turn, and at the ends.
fn slope(keys: &[Key], at: usize, axis: usize) -> f32 {
    if at == 0 || at + 1 == keys.len() {
        return 0.0;
    }
    let span = |at: usize| keys[at + 1].0 - keys[at].0;
    let mean = |at: usize| (keys[at + 1].1[axis] - keys[at].1[axis]) / span(at);
    let (before, after) = (mean(at - 1), mean(at));
    if before * after <= 0.0 {
        return 0.0;
    }
    let weights = [2.0 * span(at) + span(at - 1), span(at) + 2.0 * span(at - 1)];
    (weights[0] + weights[1]) / (weights[0] / before + weights[1] / after)
}

#[cfg(test)]
mod tests {
    use super::super::{Shape, Solid};
    use super::*;

    #[test]
    fn a_smooth_path_has_a_continuous_velocity_and_no_overshoot() {
        let keyframes =
            vec![(0.0, [0.0; 3]), (1.0, [1.0, 0.2, 0.0]), (1.5, [3.0, 0.1, 0.0]), (4.0, [3.5, 0.1, 0.0])];
        let solid = Solid {
            keyframes: keyframes.clone(),
            motion: Motion::Smooth,
            ..Solid::new(Shape::Sphere { radius: 1.0 }, [9.0; 3])
        };
        for (time, place) in &keyframes {
            assert_eq!(solid.position_at(f64::from(*time)), *place);
        }
        let places: Vec<[f32; 3]> = (-100..=4100).map(|n| solid.position_at(f64::from(n) / 1000.0)).collect();
        let speeds: Vec<f32> = places.windows(2).map(|pair| (pair[1][0] - pair[0][0]) * 1000.0).collect();
        let jump = speeds.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f32::max);
        assert!(jump < 0.05, "the velocity jumps by {jump} m/s in a millisecond");
        assert!(speeds.iter().all(|speed| *speed > -1e-3), "it never goes back");
        assert!(speeds[1100..1600].iter().any(|speed| *speed > 3.0), "fastest where keyframes lie apart");
        assert!(places[1100..1600].iter().all(|place| (0.1 - 1e-6..=0.2 + 1e-6).contains(&place[1])));
        let linear = Solid { motion: Motion::Linear, ..solid };
        assert_eq!(linear.position_at(1.25), [2.0, 0.15, 0.0]);
    }
}
