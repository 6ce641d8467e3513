//! Transfer between a grid and one half as fine: sums down, copies up.

use rayon::prelude::*;

use super::isolated_cells::IsolatedCell;
use super::kernels::{Row, apply_row};
use super::{Level, children};
use crate::simd::{Simd, each_level};
use crate::solver::project::red_black::{Board, Halves};

/// Fine planes beside a slab that the restriction of the residual to its coarse cells reads.
const RESTRICTED: [usize; 2] = [1, 2];
/// The same, if isolated cells may belong to those coarse cells.
const RESTRICTED_ISOLATED: [usize; 2] = [3, 4];

/// Coarse planes beside a slab to which a cell of the slab may belong.
const PROLONGED: [usize; 2] = [2; 2];

impl Level {
    /// Restricts the residual: sums over 2³ cells of the red residuals. The black ones, relaxed last, are 0.
    pub fn restrict_red(&self, rhs: &Halves, phi: &mut Halves, coarse: &Self, out: &mut Halves) {
        if !self.relax_ranks.is_alone() {
            self.surround(0, phi, self.restricted());
        }
        self.surround(1, phi, self.restricted());
        let phi = &*phi;
        let to = coarse.board;
        let part = coarse.setup_planes();
        let [red, black] = &mut *out;
        let (red, black) = (&mut red[to.inside(part)], &mut black[to.inside(part)]);
        let each = |(k, (red, black)): (usize, (&mut [f32], &mut [f32]))| {
            restrict_plane(self, to, part[0] + k, &rhs[0], [&phi[0], &phi[1]], red, black);
        };
        if self.in_parallel() {
            red.par_chunks_mut(to.plane).zip(black.par_chunks_mut(to.plane)).enumerate().for_each(each);
        } else {
            red.chunks_mut(to.plane).zip(black.chunks_mut(to.plane)).enumerate().for_each(each);
        }
        self.assign_isolated_cells(&rhs[0], phi, coarse, out);
        self.restrict_periodic_seams(rhs, phi, coarse, out);
        if coarse.relax_ranks.is_alone() {
            coarse.share(out, [0; 2]);
        }
    }

    /// Brings the right-hand side of the planes beside the slab whose residual is restricted to the slab.
    pub fn share_right_hand_side(&self, rhs: &mut Halves) {
        let [red, black] = rhs;
        self.relax_ranks.exchange(self.board.planes(), [red, black], self.restricted());
    }

    /// Planes beside the slab that the residual reads.
    fn restricted(&self) -> [usize; 2] {
        if self.isolated_cells.is_empty() { RESTRICTED } else { RESTRICTED_ISOLATED }
    }

    /// Prolongs the coarse solution to the red cells. The black ones are relaxed next, which overwrites them.
    pub fn prolong_to_red(&self, coarse: &Self, correction: &mut Halves, phi: &mut Halves) {
        let from = coarse.board;
        let [red, black] = &mut *correction;
        coarse.relax_ranks.exchange(from.planes(), [red, black], PROLONGED);
        self.planes(&mut phi[0], |k, out| {
            prolong_plane(self, from, k, [&correction[0], &correction[1]], out);
        });
        self.prolong_periodic_seams(coarse, correction, phi);
    }
}

each_level! {
    fn restrict_plane(
        fine: &Level, to: Board, k: usize, rhs: &[f32], phi: [&[f32]; 2], red: &mut [f32], black: &mut [f32],
    ) = restrict_plane_kernel;
}

#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn restrict_plane_kernel<S: Simd>(
    s: S,
    fine: &Level,
    to: Board,
    k: usize,
    rhs: &[f32],
    phi: [&[f32]; 2],
    red: &mut [f32],
    black: &mut [f32],
) {
    let from = fine.board;
    let mut mine = fine.rows.mine();
    let [sum, left] = mine.each_mut().map(|row| row.as_mut_slice());
    for j in 0..to.n[1] {
        sum.fill(0.0);
        for fine_k in children(k, from.n[2]) {
            for fine_j in children(j, from.n[1]) {
                let row = Row::new(fine, 0, [fine_j, fine_k], phi[1]);
                apply_row(s, &row, fine.span([fine_j, fine_k]), phi[0], left);
                let rhs = &rhs[row.at..][..from.slots];
                for ((left, rhs), sum) in left.iter_mut().zip(rhs).zip(&mut *sum) {
                    *left = rhs - *left;
                    *sum += *left;
                }
                for isolated_cell in fine.isolated_cells.of_row(fine_j + from.n[1] * fine_k) {
                    sum[isolated_cell.slot as usize] -= left[isolated_cell.slot as usize];
                }
            }
        }
        let at = to.row(j as isize, -1);
        let colors = [&mut red[at..][..to.slots], &mut black[at..][..to.slots]];
        to.split(sum, j as isize, k as isize, colors);
    }
}

each_level! {
    fn prolong_plane(fine: &Level, from: Board, k: usize, coarse: [&[f32]; 2], out: &mut [f32]) =
        prolong_plane_kernel;
}

#[inline(always)]
fn prolong_plane_kernel<S: Simd>(
    _: S,
    fine: &Level,
    from: Board,
    k: usize,
    coarse: [&[f32]; 2],
    out: &mut [f32],
) {
    let board = fine.board;
    let mut mine = fine.rows.mine();
    let row = &mut mine[0];
    for j in 0..board.n[1] {
        let (coarse_j, coarse_k) = ((j / 2) as isize, (k / 2) as isize);
        let at = from.row(coarse_j, coarse_k);
        if j % 2 == 0 {
            from.merge(coarse.map(|c| &c[at..][..from.slots]), coarse_j, coarse_k, row);
        }
        let out = &mut out[board.row(j as isize, -1)..][..board.slots];
        for (out, row) in out.iter_mut().zip(&*row) {
            *out += row;
        }
        for &IsolatedCell { slot, parent } in fine.isolated_cells.of_row(j + board.n[1] * k) {
            out[slot as usize] += parent.map_or(0.0, |(color, at)| coarse[color][at]) - row[slot as usize];
        }
    }
}
