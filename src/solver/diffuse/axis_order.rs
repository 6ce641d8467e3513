//! Independence of the order of axes.
//!
//! The axes' operators commute in a box, but not what fixed values at sides add. Lines along axis a take a field q to E_a q + p_a, where
//! p_a comes from the values at the ends. One axis after the other gives E_z E_y p_x + E_z p_y + p_z, which favours the last axis in
//! edges between sides of different values. The mean over the six orders has instead
//!
//! ```text
//!     w(E_y, E_z) p_x + w(E_x, E_z) p_y + w(E_x, E_y) p_z,     w(s, t) = ⅓ (1 + ½ (s + t) + s t).
//! ```
//!
//! Without solids all lines along an axis are alike, so p_a and the result e_a of E_a for a uniform 1 are functions of one index, and the
//! difference of both sums is a product of such functions.

use rayon::prelude::*;

use super::{Diffusion, LineBoundary, Scratch, WIDTH};
use crate::grid::{GHOST, Layout};

/// Results of lines along an axis for a field of 0 and for one of 1, by index along the lines, for up to four values.
#[derive(Default)]
pub(super) struct Response {
    /// p: the addition of the ends to 0.
    added: Vec<[f32; 4]>,
    /// e: the rest of 1, without the addition of the ends.
    kept: Vec<[f32; 4]>,
}

impl Response {
    pub(super) fn new(n: usize) -> Self {
        Self { added: vec![[0.0; 4]; n], kept: vec![[1.0; 4]; n] }
    }
}

impl Diffusion {
    /// Adds what the mean over all orders of the axes has more than the order x, y, z, after [`along`](Self::along) all three axes with
    /// these arguments. For lines that neither solids cut nor values at the ends make different.
    pub fn average_orders<const N: usize>(
        &mut self,
        layout: Layout,
        field: &mut [[f32; N]],
        range: [[isize; 2]; 3],
        number: [f32; N],
        ends: &[LineBoundary<N>; 3],
    ) {
        let length = range.map(|[first, end]| (end - first).max(0) as usize);
        if length.contains(&0) {
            return;
        }
        self.respond(length, number, ends);
        let [x, y, z] = &self.responses;
        let all = [x, y, z];
        let adds = |axis: usize| all[axis].added[..length[axis]].iter().any(|added| *added != [0.0; 4]);
        let loses = |axis: usize| all[axis].kept[..length[axis]].iter().any(|kept| *kept != [1.0; 4]);
        if !(0..3).any(|a| adds(a) && (0..3).any(|b| b != a && loses(b))) {
            return;
        }
        let [low, high] = layout.within(range[2]);
        let start = (range[0][0] + GHOST as isize) as usize;
        let planes = field[layout.span([low, high])].par_chunks_mut(layout.plane);
        planes.zip(low..high).for_each(|(plane, k)| {
            let k = (k - range[2][0]) as usize;
            for j in 0..length[1] {
                let at = (j as isize + range[1][0] + GHOST as isize) as usize * layout.row + start;
                let row = &mut plane[at..][..length[0]];
                for c in 0..N {
                    let ([py, ey], [pz, ez]) = ([y.added[j][c], y.kept[j][c]], [z.added[k][c], z.kept[k][c]]);
                    // w(s, t) is linear in both.
                    let of_added = (1.0 + 0.5 * (ey + ez) + ey * ez) / 3.0 - ey * ez;
                    let of_kept = (py * (0.5 + ez) + pz * (0.5 + ey)) / 3.0;
                    let rest = py * ((1.0 + 0.5 * ez) / 3.0 - ez) + pz * ((1.0 + 0.5 * ey) / 3.0 - 1.0);
                    if [of_added, of_kept, rest] != [0.0; 3] {
                        for ((value, added), kept) in row.iter_mut().zip(&x.added).zip(&x.kept) {
                            value[c] += added[c] * of_added + kept[c] * of_kept + rest;
                        }
                    }
                }
            }
        });
    }

    /// Computes the responses of lines of these lengths.
    fn respond<const N: usize>(&mut self, length: [usize; 3], number: [f32; N], ends: &[LineBoundary<N>; 3]) {
        let Self { threads, system, responses } = self;
        let Scratch { values, change, .. } = &mut *threads.mine();
        for (axis, Response { added, kept }) in responses.iter_mut().enumerate() {
            let n = length[axis];
            let (values, change) = (&mut values[..n], &mut change[..n]);
            system.set(number, &ends[axis], n);
            let adds = system.adds();
            values.fill([0.0; WIDTH]);
            system.solve(&adds, values, change);
            for (added, values) in added.iter_mut().zip(&*values) {
                (0..N).for_each(|c| added[c] = values[c]);
            }
            values.fill([1.0; WIDTH]);
            system.solve(&adds, values, change);
            for ((kept, added), values) in kept.iter_mut().zip(&*added).zip(&*values) {
                (0..N).for_each(|c| kept[c] = values[c] - added[c]);
                kept[N..].fill(1.0);
            }
            added.iter_mut().for_each(|added| added[N..].fill(0.0));
        }
    }
}
