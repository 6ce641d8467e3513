//! Air that enters through open sides.
//!
//! Beyond an open side the pressure is that of rest. Where air leaves, what is inside goes on outside. Where it enters, it
//! must come from somewhere: if it brought the very velocity it enters with, a jet inwards would feed itself, since nothing
//! resists it (the backflow instability; Esmaily Moghadam et al. 2011, Comput. Mech. 48). So it comes from air that moves as
//! the side does on the whole: with the mean velocity over the side if that points inwards, so that an even wind
//! blows through, and else at rest. On a face, (u·∇)u with that velocity one cell outside is taken implicitly, which is stable
//! for steps of any length.

use super::sides::Walls;
use crate::grid::{Faces, GHOST, Layout};

/// One open side.
struct Opening {
    axis: usize,
    /// +1 if the coordinate grows inwards.
    inwards: f32,
    /// Index along the axis of the face on the side, of the cell inside, and of the two ghosts of cells outside.
    face: isize,
    inside: isize,
    outside: [isize; 2],
}

impl Walls {
    /// Lets the ghosts of the velocity along open sides show air that comes from outside, where it enters.
    pub fn let_in(&self, velocity: &mut Faces) {
        let layout = self.layout();
        for opening in self.openings() {
            for component in (0..3).filter(|&c| c != opening.axis) {
                let mean = self.mean(&opening, velocity, component);
                let (normal, field) = two(velocity, opening.axis, component);
                let n = layout.dims.array()[component];
                let along = usize::from(others(opening.axis)[1] == component);
                self.each_place(opening.axis, Some(component), |place| {
                    // A face lies between two of the faces on the side.
                    let beside = |at: usize| {
                        let mut place = place;
                        place[along] = at;
                        normal[position(layout, opening.axis, opening.face, place)]
                    };
                    let at = place[along];
                    if opening.inwards * (beside(at.saturating_sub(1)) + beside(at.min(n - 1))) > 0.0 {
                        for at in opening.outside {
                            field[position(layout, opening.axis, at, place)] = mean;
                        }
                    }
                });
            }
        }
    }

    /// Holds air that enters back to what comes from outside; `steps` is Δt/h.
    pub fn resist(&self, velocity: &mut Faces, steps: f32) {
        for opening in self.openings() {
            let layout = self.layout();
            let mean = opening.inwards * self.mean(&opening, velocity, opening.axis);
            let outside = mean.max(0.0);
            let field = &mut velocity[opening.axis];
            self.each_place(opening.axis, None, |place| {
                let value = &mut field[position(layout, opening.axis, opening.face, place)];
                let entering = opening.inwards * *value;
                if entering > 0.0 {
                    let crossed = steps * entering;
                    *value = opening.inwards * (entering + crossed * outside) / (1.0 + crossed);
                }
            });
        }
    }

    fn openings(&self) -> impl Iterator<Item = Opening> {
        let n = self.layout().dims.array().map(|n| n as isize);
        let open = self.breathing();
        (0..6).filter(move |side| open[side / 2][side % 2]).map(move |side| {
            let axis = side / 2;
            if side % 2 == 0 {
                Opening { axis, inwards: 1.0, face: 0, inside: 0, outside: [-1, -2] }
            } else {
                let n = n[axis];
                Opening { axis, inwards: -1.0, face: n, inside: n - 1, outside: [n, n + 1] }
            }
        })
    }

    /// The mean of a component over a side, summed in the order of places.
    fn mean(&self, opening: &Opening, velocity: &Faces, component: usize) -> f32 {
        let layer = if component == opening.axis { opening.face } else { opening.inside };
        let (mut sum, mut count) = (0.0, 0.0);
        self.each_place(opening.axis, Some(component).filter(|&c| c != opening.axis), |place| {
            sum += f64::from(velocity[component][position(self.layout(), opening.axis, layer, place)]);
            count += 1.0;
        });
        (sum / count) as f32
    }

    /// Calls `f` for each cell of a layer across `axis`, or each face across `component` in it, as indices along the other
    /// two axes.
    fn each_place(&self, axis: usize, component: Option<usize>, mut f: impl FnMut([usize; 2])) {
        let n = self.layout().dims.array();
        let [a, b] = others(axis).map(|along| n[along] + usize::from(component == Some(along)));
        for j in 0..b {
            for i in 0..a {
                f([i, j]);
            }
        }
    }
}

fn others(axis: usize) -> [usize; 2] {
    [[1, 2], [0, 2], [0, 1]][axis]
}

fn position(layout: Layout, axis: usize, layer: isize, [i, j]: [usize; 2]) -> usize {
    let strides = layout.strides();
    let [a, b] = others(axis);
    (layer + GHOST as isize) as usize * strides[axis] + (i + GHOST) * strides[a] + (j + GHOST) * strides[b]
}

/// One component to read, another to change.
fn two(velocity: &mut Faces, read: usize, change: usize) -> (&[f32], &mut [f32]) {
    let [u, v, w] = velocity;
    match (read, change) {
        (0, 1) => (u, v),
        (0, _) => (u, w),
        (1, 0) => (v, u),
        (1, _) => (v, w),
        (_, 0) => (w, u),
        _ => (w, v),
    }
}
