//! Motion of solids that are dragged by hand: over several steps they move to the target, as fast as the
//! solver can follow, so that the air feels their velocity.

use crate::solver::Solid;

/// Most cells that a solid moves in one step; the rest follows in the next ones.
const FASTEST: f32 = 8.0;

/// Target poses of the solids.
pub(super) struct Drag {
    pub solids: Vec<Solid>,
}

impl Drag {
    /// Makes a drag to the poses of `solids`.
    pub fn to(solids: Vec<Solid>) -> Self {
        Self { solids }
    }

    /// Keyframes of the `present` solids for the `dt` after `time`, and whether they rest: they have arrived before. None
    /// if the target has other bodies, or if a body has keyframes already. `h` is the edge of a cell \[m\].
    ///
    /// The keyframes go on beyond the step, since solids move with their mean velocity around its end. So a solid that arrives is stopped
    /// by the next call.
    pub fn next(&self, present: &[Solid], time: f64, dt: f32, h: f32) -> Option<(Vec<Solid>, bool)> {
        let same = |(now, goal): (&Solid, &Solid)| {
            now.is_body_of(goal) && now.rotation == goal.rotation && goal.keyframes.is_empty()
        };
        if present.len() != self.solids.len() || !present.iter().zip(&self.solids).all(same) {
            return None;
        }
        let mut rests = true;
        let solids = present.iter().zip(&self.solids).map(|(now, goal)| {
            let from = now.position_at(time);
            let by = [0, 1, 2].map(|a| goal.position[a] - from[a]);
            let far = by.iter().map(|x| x * x).sum::<f32>().sqrt();
            let share = (FASTEST * h / far.max(1e-9)).min(1.0);
            let to = if share == 1.0 { goal.position } else { [0, 1, 2].map(|a| from[a] + share * by[a]) };
            let (begin, end) = (time as f32, (time + f64::from(dt)) as f32);
            let moves = far > 0.0 && end > begin;
            rests &= !moves;
            let beyond = [0, 1, 2].map(|a| to[a] + (to[a] - from[a]));
            let keyframes =
                if moves { vec![(begin, from), (end, to), (end + (end - begin), beyond)] } else { vec![] };
            Solid { position: to, keyframes, ..goal.clone() }
        });
        Some((solids.collect(), rests))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::Shape;

    fn ball(x: f32) -> Solid {
        Solid::new(Shape::Sphere { radius: 0.1 }, [x, 0.5, 0.5])
    }

    #[test]
    fn a_short_drag_takes_one_step_and_a_long_one_the_greatest_speed() {
        let drag = Drag::to(vec![ball(0.52)]);
        let (solids, rests) = drag.next(&[ball(0.5)], 2.0, 0.04, 0.01).unwrap();
        assert!(!rests);
        assert_eq!(solids[0].position_at(2.04), [0.52, 0.5, 0.5]);
        assert!((solids[0].velocity_at(2.0, 0.04)[0] - 0.5).abs() < 1e-2);
        // The mean around the end of the step was half of that.
        assert!((solids[0].velocity_at(2.0, 0.08)[0] - 0.5).abs() < 1e-2);
        let (solids, rests) = drag.next(&solids, 2.04, 0.04, 0.01).unwrap();
        assert!(rests && solids[0].position_at(2.08) == [0.52, 0.5, 0.5]);
        let (solids, rests) = Drag::to(vec![ball(0.9)]).next(&[ball(0.5)], 2.0, 0.04, 0.01).unwrap();
        assert!(!rests && (solids[0].position[0] - 0.58).abs() < 1e-6);
    }

    #[test]
    fn other_bodies_and_those_with_keyframes_are_not_guided() {
        let other = Solid::new(Shape::Sphere { radius: 0.2 }, [0.5; 3]);
        assert!(Drag::to(vec![other]).next(&[ball(0.5)], 0.0, 0.04, 0.01).is_none());
        let mut keyframed = ball(0.5);
        keyframed.keyframes = vec![(0.0, [0.5; 3]), (1.0, [0.6; 3])];
        assert!(Drag::to(vec![keyframed]).next(&[ball(0.5)], 0.0, 0.04, 0.01).is_none());
        assert!(Drag::to(vec![]).next(&[ball(0.5)], 0.0, 0.04, 0.01).is_none());
    }
}
