//! Backflow through open sides.
//!
//! Beyond an open side p = 0. Where air leaves, the inner values continue outside. Where air enters, it needs
//! a velocity from outside. If it entered with its own velocity, an inward jet would feed itself, because
//! nothing resists it (the backflow instability; Esmaily Moghadam et al. 2011, Comput. Mech. 48). So entering
//! air gets the mean velocity over the side if that points inwards, which lets an even wind blow through;
//! otherwise it is at rest.
//!
//! On a face of the side, (u·∇)u with that velocity one cell outside is taken implicitly, which is stable for
//! steps of any length. This comes before the advection: in a long step air from outside arrives at several
//! faces behind the side, and all of it must have been slowed. If it came after the advection, on the face of
//! the side alone, a wind out of a box of 16 cells would draw air in at twice its speed at CFL 2, and without
//! limit at CFL 4.

use std::iter::StepBy;
use std::slice::IterMut;

use rayon::prelude::*;

use super::GhostRules;
use crate::grid::{Faces, GHOST, Layout, other_axes};

/// One open side.
struct Opening {
    axis: usize,
    /// +1 if the coordinate grows inwards.
    inwards: f32,
    /// Index along the axis of the face on the side, of the cell inside, and of the two ghost cells outside.
    face: isize,
    inside: isize,
    outside: [isize; 2],
}

impl GhostRules {
    /// Fills the ghosts of the velocity along open sides with outside air where air enters.
    pub fn let_in(&self, velocity: &mut Faces) {
        let layout = self.layout();
        if self.open_sides()[..2].as_flattened().contains(&true) {
            // A face across z lies between the air that crosses an open side in its plane and in the one below.
            let [u, v, _] = &mut *velocity;
            self.ranks().exchange(layout, [u, v], [1, 0]);
        }
        for opening in self.openings() {
            for component in (0..3).filter(|&c| c != opening.axis) {
                let mean = self.mean(&opening, velocity, component);
                let (normal, field) = two(velocity, opening.axis, component);
                let last = layout.dims.array()[component] - 1;
                let side = Layer { layout, axis: opening.axis, at: opening.face };
                let is_along = other_axes(opening.axis)[0] == component;
                let entering = |at: [usize; 2]| opening.inwards * (normal[at[0]] + normal[at[1]]) > 0.0;
                for at in opening.outside {
                    Layer { at, ..side }.each_line(Some(component), field, |j, line| {
                        // A face lies between two faces of the side.
                        let around = |at: usize| [at.saturating_sub(1), at.min(last)];
                        let lines = if is_along { [j; 2] } else { around(j) }.map(|j| side.line(j));
                        for (i, ghost) in line.enumerate() {
                            let [a, b] = if is_along { around(i) } else { [i; 2] };
                            if entering([lines[0] + a * side.stride(), lines[1] + b * side.stride()]) {
                                *ghost = mean;
                            }
                        }
                    });
                }
            }
        }
    }

    /// Slows entering air towards the velocity of outside air. Stores the velocities that the air had across
    /// the open sides in `before`. `steps` is Δt/h.
    pub fn slow_backflow(&self, velocity: &mut Faces, steps: f32, before: &mut Vec<f32>) {
        before.clear();
        for opening in self.openings() {
            let mean = opening.inwards * self.mean(&opening, velocity, opening.axis);
            let outside = mean.max(0.0);
            let side = Layer { layout: self.layout(), axis: opening.axis, at: opening.face };
            let field = &mut velocity[opening.axis];
            before.extend(side.values(field));
            side.each_line(None, field, |_, line| {
                for value in line {
                    let entering = opening.inwards * *value;
                    if entering > 0.0 {
                        let crossed = steps * entering;
                        *value = opening.inwards * (entering + crossed * outside) / (1.0 + crossed);
                    }
                }
            });
        }
    }

    /// Undoes [`slow_backflow`](Self::slow_backflow).
    pub fn restore_backflow(&self, mut before: &[f32], velocity: &mut Faces) {
        for opening in self.openings() {
            let side = Layer { layout: self.layout(), axis: opening.axis, at: opening.face };
            let [width, count] = side.size(None);
            let [first, end] = side.lines(count);
            let values;
            (values, before) = before.split_at(width * (end - first));
            side.each_line(None, &mut velocity[opening.axis], |j, line| {
                line.zip(&values[(j - first) * width..]).for_each(|(value, before)| *value = *before);
            });
        }
    }

    fn openings(&self) -> impl Iterator<Item = Opening> {
        let n = self.layout().dims.array().map(|n| n as isize);
        let open = self.open_sides();
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

    /// Mean of a component over a side. On a side across z it is known to the rank beside it only.
    fn mean(&self, opening: &Opening, velocity: &Faces, component: usize) -> f32 {
        let at = if component == opening.axis { opening.face } else { opening.inside };
        let layer = Layer { layout: self.layout(), axis: opening.axis, at };
        let [a, b] = layer.size(Some(component).filter(|&c| c != opening.axis));
        let field = &velocity[component];
        if !self.ranks().is_alone() && opening.axis < 2 {
            return self.mean_over_ranks(layer, [a, b], field);
        }
        if !layer.is_own() {
            return 0.0;
        }
        // The parts are fixed by the grid: the sum is the same for any number of threads.
        let mut parts = [0.0; PARTS];
        parts.par_iter_mut().enumerate().for_each(|(part, sum)| {
            for j in b * part / PARTS..b * (part + 1) / PARTS {
                let line = field[layer.line(j)..].iter().step_by(layer.stride()).take(a);
                *sum += line.map(|value| f64::from(*value)).sum::<f64>();
            }
        });
        (parts.iter().sum::<f64>() / (a * b) as f64) as f32
    }
}

impl GhostRules {
    /// As [`mean`](Self::mean), over lines of all ranks, added in the same order.
    fn mean_over_ranks(&self, layer: Layer, [a, b]: [usize; 2], field: &[f32]) -> f32 {
        let mut lines = vec![0.0f64; b];
        let [from, to] = layer.lines(b);
        for (j, sum) in (from..to).zip(&mut lines[from..to]) {
            let line = field[layer.line(j)..].iter().step_by(layer.stride()).take(a);
            *sum = line.map(|value| f64::from(*value)).sum::<f64>();
        }
        self.ranks().gather(&mut lines, 1);
        let part = |part: usize| {
            lines[b * part / PARTS..b * (part + 1) / PARTS].iter().fold(0.0, |sum, line| sum + line)
        };
        ((0..PARTS).map(part).sum::<f64>() / (a * b) as f64) as f32
    }
}

/// Number of parts whose sums are taken in parallel.
const PARTS: usize = 16;

/// The points of a field with one index along `axis`, in lines along the first of the other two axes.
#[derive(Clone, Copy)]
struct Layer {
    layout: Layout,
    axis: usize,
    at: isize,
}

impl Layer {
    /// Cells along the other two axes, or faces across `component`.
    fn size(self, component: Option<usize>) -> [usize; 2] {
        let n = self.layout.dims.array();
        other_axes(self.axis).map(|along| n[along] + usize::from(component == Some(along)))
    }

    /// The lines that this rank computes, of `count` in all: those of its planes, or all of one of them.
    fn lines(self, count: usize) -> [usize; 2] {
        match self.axis {
            2 => [0, if self.is_own() { count } else { 0 }],
            _ => self.layout.within([0, count as isize]).map(|j| j as usize),
        }
    }

    /// Whether this rank computes points of the layer.
    fn is_own(self) -> bool {
        self.axis < 2 || super::owns(self.layout, self.at)
    }

    /// Distance between the points of a line.
    #[inline]
    fn stride(self) -> usize {
        if self.axis == 0 { self.layout.row } else { 1 }
    }

    /// Position of the first point of line `j`.
    fn line(self, j: usize) -> usize {
        let (strides, [a, b]) = (self.layout.strides(), other_axes(self.axis));
        shift(self.at) * strides[self.axis] + GHOST * strides[a] + (j + GHOST) * strides[b]
    }

    /// The values of the lines that this rank computes.
    fn values(self, field: &[f32]) -> impl Iterator<Item = f32> {
        let [a, b] = self.size(None);
        let [from, to] = self.lines(b);
        (from..to).flat_map(move |j| field[self.line(j)..].iter().step_by(self.stride()).take(a).copied())
    }

    /// Calls `f(j, values of line j)` for each line, in parallel.
    fn each_line(
        self,
        component: Option<usize>,
        field: &mut [f32],
        f: impl Fn(usize, StepBy<IterMut<f32>>) + Sync,
    ) {
        let Layout { row, plane, .. } = self.layout;
        let [a, b] = self.size(component);
        let at = shift(self.at);
        // Lines of the last axis lie in one plane, those of the other axes in separate planes.
        let (field, chunk, first) = match self.axis {
            0 => (field, plane, at + GHOST * row),
            1 => (field, plane, at * row + GHOST),
            _ => (&mut field[at * plane..][..plane], row, GHOST),
        };
        let stride = self.stride();
        let [from, to] = self.lines(b);
        // Sliced beforehand: `skip` of rayon allocates.
        let lines = &mut field[(GHOST + from) * chunk..(GHOST + to) * chunk];
        lines.par_chunks_mut(chunk).enumerate().for_each(|(j, chunk)| {
            f(from + j, chunk[first..][..(a - 1) * stride + 1].iter_mut().step_by(stride));
        });
    }
}

fn shift(i: isize) -> usize {
    (i + GHOST as isize) as usize
}

/// Borrows one component to read, another to change.
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
