//! Holds one instant of the smoke as half floats at cell centres, small enough to copy every step and ready
//! to be a texture.

mod invalid_snapshot;
mod snapshot_slab;

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use crate::grid::Dims;
use crate::solver::{Config, Solver, StepStats};

pub use invalid_snapshot::InvalidSnapshot;
pub use snapshot_slab::{Motion, Part, SnapshotSlab, above_ground};

pub use crate::solver::{Mesh, Shape as SolidShape, SolidPose};

/// Edge of the bricks whose maxima a snapshot contains \[cells\].
pub const BRICK: usize = 8;

/// One instant of the simulation.
///
/// The box spans from its [corner](Snapshot::corner) over `h · dims` in metres, y up. All arrays are dense over the cells, x fastest,
/// then y, then z. Solids and the box at the start are in coordinates from the corner.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Shape of the box.
    pub dims: Dims,
    /// Edge of a cell \[m\].
    pub h: f32,
    /// First cell, counted from the origin of the scene's coordinates. A box that has moved up begins at y = 0 here, where the floor
    /// is.
    pub origin: [i32; 3],
    /// Lower and upper corner of the box at the start \[m\].
    pub start: [[f32; 3]; 2],
    /// Simulated time \[s\].
    pub time: f64,
    /// Number that grows with each new snapshot, also after edits while paused.
    pub serial: u64,
    /// Number of the load that its simulation came from, from 1; 0 for the first simulation.
    pub load: u64,
    /// At cell centres: the densities red, green, blue \[-\] and the temperature excess \[K\]. A program that writes them must
    /// [update](Bricks::update) `bricks` afterwards: renderers skip what these call empty.
    pub smoke: Vec<[f16; 4]>,
    /// At cell centres: u, v, w \[m/s\] and the vorticity magnitude |ω| \[1/s\]. Empty unless requested.
    pub velocity: Vec<[f16; 4]>,
    /// Largest values near each brick, for skipping empty space. They must bound `smoke`: call `bricks.update(dims, &smoke)` after writing it.
    pub bricks: Bricks,
    /// Poses of the solids.
    pub solids: Vec<SolidPose>,
    /// Statistics of the last step.
    pub stats: StepStats,
    /// The same instant of the other simulation, while two are compared.
    pub beside: Option<Box<Snapshot>>,
}

/// Maxima of `smoke` over bricks of [`BRICK`]³ cells, and its lowest temperature. Each maximum is taken over the brick and one cell
/// around it, so it bounds any trilinear sample inside the brick.
#[derive(Clone, Debug)]
pub struct Bricks {
    /// Bricks along each axis: cells / BRICK, rounded up.
    pub dims: Dims,
    /// Largest red, green, blue and temperature near each brick, x fastest.
    pub max: Vec<[f16; 4]>,
    /// Lowest temperature excess in the box \[K\], 0 at most.
    pub coldest: f16,
}

/// Returns the greatest speed of some cells \[m/s\].
pub(crate) fn fastest(velocity: &[[f16; 4]]) -> f32 {
    greatest(velocity, |[u, v, w, _]| u * u + v * v + w * w).sqrt()
}

/// Returns the largest value of all cells, 0 at least. Whole runs of cells are converted at once: one by one
/// they would take longer than the march of a small picture.
pub(crate) fn greatest(cells: &[[f16; 4]], value: impl Fn([f32; 4]) -> f32 + Sync) -> f32 {
    const RUN: usize = 256;
    let runs = cells.par_chunks(RUN).with_min_len(16);
    let tops = runs.map_init(
        || [[0.0; 4]; RUN],
        |floats, run| {
            let floats = &mut floats[..run.len()];
            run.as_flattened().convert_to_f32_slice(floats.as_flattened_mut());
            floats.iter().fold(0.0, |top: f32, &cell| top.max(value(cell)))
        },
    );
    tops.reduce(|| 0.0, f32::max)
}

impl Bricks {
    /// Computes the maxima of `smoke`, a dense field of shape `dims`.
    pub fn of(dims: Dims, smoke: &[[f16; 4]]) -> Self {
        let mut bricks = Self::empty(dims);
        bricks.update(dims, smoke);
        bricks
    }

    /// Makes the bricks of an empty box of shape `dims`.
    pub fn empty(dims: Dims) -> Self {
        let bricks = Self::brick_dims(dims);
        Self { dims: bricks, max: vec![[f16::ZERO; 4]; bricks.cells()], coldest: f16::ZERO }
    }

    /// Bricks along each axis of a box of shape `dims`.
    fn brick_dims(dims: Dims) -> Dims {
        let [nx, ny, nz] = dims.array().map(|n| n.div_ceil(BRICK));
        Dims { nx, ny, nz }
    }

    /// Recomputes the extremes in place.
    pub fn update(&mut self, dims: Dims, smoke: &[[f16; 4]]) {
        self.update_where(dims, smoke, |_| true);
    }

    /// Recomputes as [`update`](Self::update) does, where only bricks for whose indices `holds` is true have
    /// smoke or heat.
    pub fn update_where(
        &mut self,
        dims: Dims,
        smoke: &[[f16; 4]],
        holds: impl Fn([usize; 3]) -> bool + Sync,
    ) {
        assert_eq!(smoke.len(), dims.cells(), "smoke does not fill the box");
        self.update_planes(dims, [0, dims.nz], smoke, holds);
    }

    /// As [`update_where`](Self::update_where), of the smoke in the planes `own` alone. Bricks that reach none of them have the least
    /// half float.
    fn update_planes(
        &mut self,
        dims: Dims,
        own: [usize; 2],
        smoke: &[[f16; 4]],
        holds: impl Fn([usize; 3]) -> bool + Sync,
    ) {
        let per_brick = self.dims;
        let coldest = self.max.par_iter_mut().enumerate().map(|(b, out)| {
            let at = [b % per_brick.nx, b / per_brick.nx % per_brick.ny, b / (per_brick.nx * per_brick.ny)];
            let near = |axis: usize| at[axis].saturating_sub(1)..(at[axis] + 2).min(per_brick.array()[axis]);
            if !near(2).any(|k| near(1).any(|j| near(0).any(|i| holds([i, j, k])))) {
                *out = [f16::ZERO; 4];
                return f16::ZERO;
            }
            let range = |axis: usize| {
                let lo = (at[axis] * BRICK).saturating_sub(1);
                lo..((at[axis] + 1) * BRICK + 1).min(dims.array()[axis])
            };
            let (mut max, mut coldest) = ([f32::NEG_INFINITY; 4], 0.0_f32);
            let mut row = [[0.0; 4]; BRICK + 2];
            let row = &mut row[..range(0).len()];
            for k in range(2).start.max(own[0])..range(2).end.min(own[1]) {
                for j in range(1) {
                    let halves = &smoke[dims.index(range(0).start, j, k - own[0])..][..row.len()];
                    halves.as_flattened().convert_to_f32_slice(row.as_flattened_mut());
                    for cell in &*row {
                        max = std::array::from_fn(|c| max[c].max(cell[c]));
                        coldest = coldest.min(cell[3]);
                    }
                }
            }
            *out = max.map(f16::from_f32);
            f16::from_f32(coldest)
        });
        self.coldest = coldest.reduce(|| f16::ZERO, f16::min);
    }
}

impl Snapshot {
    /// Makes an empty box. If `smoke` is written afterwards, `bricks` must be [updated](Bricks::update), as [`from_fn`](Self::from_fn) does:
    /// otherwise it stays invisible.
    pub fn empty(dims: Dims, h: f32) -> Self {
        Self {
            dims,
            h,
            origin: [0; 3],
            start: [[0.0; 3], dims.array().map(|n| n as f32 * h)],
            time: 0.0,
            serial: 0,
            load: 0,
            smoke: vec![[f16::ZERO; 4]; dims.cells()],
            velocity: Vec::new(),
            bricks: Bricks::empty(dims),
            solids: Vec::new(),
            stats: StepStats::default(),
            beside: None,
        }
    }

    /// Makes a box with the smoke \[-\] and temperature excess \[K\] of `scalars` at each centre \[m\]: red,
    /// green, blue, temperature.
    pub fn from_fn(dims: Dims, h: f32, scalars: impl Fn([f32; 3]) -> [f32; 4] + Sync) -> Self {
        let mut snapshot = Self::empty(dims, h);
        snapshot.smoke.par_iter_mut().enumerate().for_each(|(n, cell)| {
            *cell = scalars(dims.place(n).map(|i| (i as f32 + 0.5) * h)).map(f16::from_f32);
        });
        snapshot.bricks.update(dims, &snapshot.smoke);
        snapshot
    }

    /// Returns the size of the box \[m\].
    pub fn extent(&self) -> [f32; 3] {
        self.dims.array().map(|n| n as f32 * self.h)
    }

    /// Returns the position of the lower corner of the box in the scene's coordinates \[m\].
    pub fn corner(&self) -> [f32; 3] {
        self.origin.map(|cells| cells as f32 * self.h)
    }

    /// Returns whether the box is that of the start.
    pub fn is_at_start(&self) -> bool {
        self.start == [[0.0; 3], self.extent()]
    }

    /// Sets shape and position of the box to those of the present box of `config`, without its contents. The
    /// last argument is the first cell of the box at the start, and its cells of the velocity.
    pub fn place(&mut self, config: &Config, (first, cells): ([i32; 3], Dims)) {
        (self.dims, self.h) = (config.smoke_dims(), config.smoke_h());
        self.origin = config.origin.map(|cell| cell * config.detail as i32);
        let cells = cells.array();
        self.start = [0, 1].map(|end| {
            [0, 1, 2].map(|a| (first[a] + [0, cells[a] as i32][end] - config.origin[a]) as f32 * config.h)
        });
    }

    /// Adds empty cells below, down to y = 0, where pictures have their floor. Returns their number along y.
    pub fn stand_on_ground(&mut self) -> usize {
        let below = self.origin[1].max(0) as usize;
        if below == 0 {
            return 0;
        }
        let dims = self.dims;
        self.dims.ny += below;
        self.origin[1] = 0;
        let up = below as f32 * self.h;
        self.start.iter_mut().chain(self.solids.iter_mut().map(|s| &mut s.position)).for_each(|p| p[1] += up);
        for cells in [&mut self.smoke, &mut self.velocity].into_iter().filter(|cells| !cells.is_empty()) {
            cells.resize(self.dims.cells(), [f16::ZERO; 4]);
            let plane = dims.nx * dims.ny;
            // Planes are moved from the last one on, so that none is overwritten before it is moved.
            for k in (0..dims.nz).rev() {
                let to = self.dims.index(0, below, k);
                cells.copy_within(k * plane..(k + 1) * plane, to);
                cells[to - below * dims.nx..to].fill([f16::ZERO; 4]);
            }
        }
        below
    }
}

impl Snapshot {
    /// Captures this instant of `solver`, reusing the memory. The velocity is captured only on request,
    /// otherwise left empty.
    pub fn capture(&mut self, solver: &Solver, with_velocity: bool) {
        self.note(solver);
        solver.write_smoke(&mut self.smoke);
        self.velocity.clear();
        if with_velocity {
            solver.write_velocity(&mut self.velocity);
        }
        let held_dims = Bricks::empty(self.dims).dims;
        let below = self.stand_on_ground();
        if self.bricks.dims != Bricks::empty(self.dims).dims {
            self.bricks = Bricks::empty(self.dims);
        }
        match solver.occupied_bricks().filter(|_| below.is_multiple_of(BRICK)) {
            Some(held) => {
                let holds = |[i, j, k]: [usize; 3]| {
                    j.checked_sub(below / BRICK).is_some_and(|j| held[held_dims.index(i, j, k)] != 0)
                };
                self.bricks.update_where(self.dims, &self.smoke, holds);
            }
            None => self.bricks.update(self.dims, &self.smoke),
        }
    }

    /// Copies all but the fields from `solver`.
    fn note(&mut self, solver: &Solver) {
        self.place(solver.config(), solver.start());
        self.time = solver.stats().time;
        self.serial += 1;
        self.stats.clone_from(solver.stats());
        self.solids.clear();
        let corner = self.corner();
        self.solids.extend(
            solver
                .poses()
                .into_iter()
                .map(|pose| SolidPose { position: [0, 1, 2].map(|a| pose.position[a] - corner[a]), ..pose }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::{BoundaryCondition, Params, Shape, Solid};

    /// Returns a solver of a box that has left the ground, and one of the same box with air down to the ground.
    fn solvers(detail: usize) -> [Solver; 2] {
        [16, 0].map(|low| {
            let mut config = Config::new(Dims::new([8, 40 - low, 8]).unwrap(), 0.1);
            config.sides = [[BoundaryCondition::Open; 2]; 3];
            (config.origin, config.detail, config.threads) = ([-8, low as i32, 16], detail, 1);
            let mut solver = Solver::new(config, Params::default(), vec![]).unwrap();
            solver.set_solids(vec![Solid::new(Shape::Sphere { radius: 0.2 }, [-0.4, 3.0, 2.0])]).unwrap();
            solver.fill(|_, _| 0.0, |p| if p[1] > 1.6 { [p[0].abs(), p[1], p[2], 0.0] } else { [0.0; 4] });
            solver
        })
    }

    #[test]
    fn a_box_above_the_ground_is_shown_with_empty_cells_below() {
        for detail in [1, 2] {
            let [high, whole] = solvers(detail).map(|solver| {
                let mut snapshot = Snapshot::empty(Dims::new([1; 3]).unwrap(), 1.0);
                snapshot.capture(&solver, false);
                snapshot
            });
            assert_eq!((high.dims, high.origin), (whole.dims, whole.origin));
            assert_eq!(high.origin[1], 0);
            assert!(high.smoke == whole.smoke && high.bricks.max == whole.bricks.max);
            let [a, b] = [&high, &whole].map(|snapshot| snapshot.solids[0].position);
            assert!((0..3).all(|n| (a[n] - b[n]).abs() < 1e-5), "{a:?} {b:?}");
            assert!((high.start[0][1] - 1.6).abs() < 1e-5 && whole.is_at_start(), "{:?}", high.start);
        }
    }
}
