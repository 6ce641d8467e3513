//! Projection by iteration, with or without solids: conjugate gradients preconditioned by multigrid, or
//! Gauss–Seidel relaxation alone.

use rayon::prelude::*;

use super::boundary::{AxisBoundary, is_periodic};
use super::cuts::{Cuts, cell_of, is_inside};
use super::multigrid::Multigrid;
use super::pcg::{Residual, Solve, System};
use super::red_black::Halves;
use super::spectral::{divergence, gradient_xy, gradient_z, padded};
use crate::grid::{Dims, Faces, Layout};
use crate::solver::project::pressure::{Blend, blend_plane};
use crate::solver::storage::archive::{Archive, Saved, StateError};
use crate::solver::storage::halt::Halt;
use crate::solver::storage::ranks::Ranks;
use crate::solver::storage::row_passes::{PerThread, planes_per_task};

impl Saved for Iterative {
    fn state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError> {
        // The weights follow from the solids. Each solve starts from the last pressure.
        let Self { layout, ends: _, system, planes: _, ranks: _ } = self;
        for (name, half) in ["red pressure", "black pressure"].into_iter().zip(&mut system.phi) {
            archive.planes(name, bytemuck::cast_slice_mut(half), [layout.dims.nz, 1])?;
        }
        Ok(())
    }
}

/// Most planes whose gradient one task subtracts. Each task merges one extra plane of pressure.
const SLAB: usize = 16;

/// The pressure system of one box.
pub struct Iterative {
    layout: Layout,
    ends: [AxisBoundary; 3],
    system: System,
    /// Scratch for each thread: two dense planes.
    planes: PerThread<[Vec<f32>; 2]>,
    ranks: Ranks,
}

impl Iterative {
    /// Makes the system for fields of `layout` without solids, for a pool of `threads` on each of the `ranks`.
    pub fn new(layout: Layout, ends: [AxisBoundary; 3], threads: usize, ranks: &Ranks) -> Self {
        let system = System::new(Multigrid::new(layout.dims.array(), ends, threads, ranks));
        let plane = || vec![0.0; padded(layout.dims.nx) * layout.dims.ny];
        let planes = PerThread::new(threads, || [plane(), plane()]);
        Self { layout, ends, system, planes, ranks: ranks.clone() }
    }

    /// Starts the next solve from zero pressure.
    #[cfg(test)]
    pub fn forget(&mut self) {
        self.system.phi.iter_mut().for_each(|half| half.fill(0.0));
    }

    /// The last pressure times Δt/h.
    pub fn last(&self) -> &Halves {
        &self.system.phi
    }

    /// The last pressure times Δt/h, to be replaced.
    pub fn last_mut(&mut self) -> &mut Halves {
        &mut self.system.phi
    }

    /// Approximate memory for a box of `dims` \[bytes\].
    pub fn memory(dims: Dims) -> usize {
        // φ, rhs, direction, other, three weights and the diagonal; a seventh of six fields for all coarser
        // grids.
        dims.cells() * (8 * size_of::<f32>() + 4)
    }

    /// Takes over the faces that solids cut.
    pub fn set_cuts(&mut self, cuts: &Cuts) {
        let layout = self.layout;
        self.system.rebuild(|level| {
            for (axis, faces) in cuts.faces.iter().enumerate() {
                for cut in faces {
                    let at = cell_of(layout, cut.at);
                    let twin = level.is_periodic(axis) && at[axis] == layout.dims.array()[axis];
                    if !twin && is_inside(layout.dims, axis, at) {
                        level.set(axis, at, cut.open * level.weight(axis, at));
                    }
                }
            }
        });
    }

    /// Runs conjugate gradients until `done` accepts the residual, which is the undivided divergence left in
    /// the cells, for at most `most` iterations.
    pub fn project(
        &mut self,
        velocity: &mut Faces,
        cuts: &mut Cuts,
        blend: Option<Blend>,
        most: u32,
        done: impl Fn(Residual) -> bool,
        halt: &Halt,
    ) -> Solve {
        self.project_by(velocity, cuts, blend, halt, |system| system.solve(most, done, halt))
    }

    /// `sweeps` red-black Gauss–Seidel sweeps from zero pressure (Stam 2003 takes 20).
    pub fn relax(
        &mut self,
        velocity: &mut Faces,
        cuts: &mut Cuts,
        blend: Option<Blend>,
        sweeps: u32,
        halt: &Halt,
    ) -> Solve {
        self.project_by(velocity, cuts, blend, halt, |system| system.relax(sweeps, halt))
    }

    /// Subtracts the gradient of the pressure that `solve` finds, unless it was halted.
    fn project_by(
        &mut self,
        velocity: &mut Faces,
        cuts: &mut Cuts,
        blend: Option<Blend>,
        halt: &Halt,
        solve: impl FnOnce(&mut System) -> Solve,
    ) -> Solve {
        self.load(velocity, cuts);
        let solve = solve(&mut self.system);
        if halt.is_raised() {
            return solve;
        }
        self.subtract_gradient(velocity);
        blend.into_iter().for_each(|blend| self.keep(blend));
        cuts.close(velocity);
        solve
    }

    /// Loads the right-hand side: minus the undivided divergence of the mean velocities over whole faces.
    fn load(&mut self, velocity: &mut Faces, cuts: &mut Cuts) {
        let Self { layout, system, planes, ranks, .. } = self;
        ranks.exchange(*layout, [&mut velocity[2]], [0, 1]);
        cuts.exchange(velocity);
        let board = system.board();
        let pitch = padded(layout.dims.nx);
        let [low, high] = layout.cell_planes();
        let inside = board.inside([low, high]);
        let mean = &*velocity;
        let [red, black] = &mut system.rhs;
        let halves = red[inside.clone()]
            .par_chunks_mut(board.plane)
            .zip(black[inside].par_chunks_mut(board.plane))
            .enumerate();
        halves.for_each(|(k, (red, black))| {
            let (k, mut mine) = (low + k, planes.mine());
            divergence(*layout, mean, k, -1.0, &mut mine[0]);
            for (j, row) in mine[0].chunks_exact(pitch).enumerate() {
                let at = board.row(j as isize, -1);
                let colors = [&mut red[at..][..board.slots], &mut black[at..][..board.slots]];
                board.split(row, j as isize, k as isize, colors);
            }
        });
        cuts.restore(velocity);
    }

    /// Writes plane k of the pressure as dense rows.
    fn pressure(&self, k: usize, out: &mut [f32]) {
        let board = self.system.board();
        for (j, row) in out.chunks_exact_mut(padded(board.n[0])).enumerate() {
            let (j, k) = (j as isize, k as isize);
            let at = board.row(j, k);
            board.merge(self.system.phi.each_ref().map(|half| &half[at..][..board.slots]), j, k, row);
        }
    }

    /// Returns the drop of the last pressure, times Δt/h, from the cell below a face to the cell above it
    /// \[m/s\]. Outside an open side the pressure is 0. A face on a periodic side has a twin; the twin at the
    /// high end returns 0.
    pub fn drop_across(&self, component: usize, face: u32) -> f32 {
        let above = cell_of(self.layout, face).map(|x| x as isize);
        let n = self.layout.dims.array()[component] as isize;
        let periodic = is_periodic(self.ends[component]);
        if periodic && above[component] == n {
            return 0.0;
        }
        let mut below = above;
        below[component] -= 1;
        if periodic {
            below[component] = below[component].rem_euclid(n);
        }
        let value = |at: [isize; 3]| {
            if !(0..n).contains(&at[component]) {
                return 0.0;
            }
            let (color, place) = self.system.board().at(at[0], at[1], at[2]);
            self.system.phi[color][place]
        };
        value(below) - value(above)
    }

    /// Adds the pressure of all cells to the pressure field of the solver.
    fn keep(&self, Blend { field, keep, add }: Blend) {
        let layout = self.layout;
        let [low, high] = layout.cell_planes();
        let inside = &mut field[layout.span([low as isize, high as isize])];
        inside.par_chunks_mut(layout.plane).enumerate().for_each(|(k, kept)| {
            let (k, mut mine) = (low + k, self.planes.mine());
            self.pressure(k, &mut mine[0]);
            blend_plane(layout, &mine[0], padded(layout.dims.nx), [keep, add], kept);
        });
    }

    fn subtract_gradient(&mut self, velocity: &mut Faces) {
        let [red, black] = &mut self.system.phi;
        self.ranks.exchange(self.system.grids.finest().board.planes(), [red, black], [1, 0]);
        let (layout, ends, nz) = (self.layout, &self.ends, self.layout.dims.nz);
        let [low, high] = layout.cell_planes();
        // The last slab has the faces on the upper side too.
        let inside = layout.span([low as isize, (if high == nz { nz + 1 } else { high }) as isize]);
        let [u, v, w] = velocity.each_mut().map(|field| &mut field[inside.clone()]);
        let in_task = planes_per_task(inside.len() / layout.plane, SLAB);
        let chunk = in_task * layout.plane;
        let tasks = u.par_chunks_mut(chunk).zip(v.par_chunks_mut(chunk)).zip(w.par_chunks_mut(chunk));
        tasks.enumerate().for_each(|(task, ((u, v), w))| {
            let mut mine = self.planes.mine();
            let [values, below] = &mut *mine;
            let k0 = low + task * in_task;
            if k0 > 0 {
                self.pressure(k0 - 1, below);
            } else if is_periodic(ends[2]) {
                self.pressure(nz - 1, below);
            }
            let planes =
                u.chunks_mut(layout.plane).zip(v.chunks_mut(layout.plane)).zip(w.chunks_mut(layout.plane));
            for (k, ((u, v), w)) in (k0..).zip(planes) {
                if k < nz {
                    self.pressure(k, values);
                    gradient_xy(layout, values, ends, u, v);
                }
                gradient_z(layout, values, below, k, ends[2], w);
                std::mem::swap(values, below);
            }
        });
    }
}
