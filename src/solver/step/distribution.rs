//! Limits of a box on several ranks, and its fields brought together.

use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use super::Solver;
use super::fields::Fields;
use crate::comm::Comm;
use crate::grid::GHOST;
use crate::solver::storage::active_bricks::EDGE;
use crate::solver::storage::archive::{Archive, Loader, Saver, StateError, header_length};
use crate::solver::storage::ranks::{FEWEST_PLANES, Ranks};
use crate::solver::{BoundaryCondition, Config, SolverError};

/// Fails if a box of `config` cannot be shared by so many ranks.
///
/// # Errors
/// [`SolverError::Ranks`] with how many ranks there may be.
pub fn refuse_on_ranks(config: &Config, ranks: usize) -> Result<(), SolverError> {
    let nz = config.dims.nz;
    if ranks > 1 && nz / ranks < FEWEST_PLANES {
        Err(SolverError::Ranks(format!(
            "{ranks} ranks are too many for {nz} cells along z: each needs {FEWEST_PLANES}, so {} at most",
            (nz / FEWEST_PLANES).max(1)
        )))
    } else {
        Ok(())
    }
}

/// Fails if a box that follows its smoke has too few planes now for so many ranks.
///
/// # Errors
/// [`SolverError::Ranks`] with how many ranks there may be.
pub fn refuse_thin_box(nz: usize, ranks: usize) -> Result<(), SolverError> {
    if ranks <= 1 || nz / ranks >= FEWEST_PLANES {
        return Ok(());
    }
    Err(SolverError::Ranks(format!(
        "domain.follow: the box becomes {nz} cells deep along z, too few for {ranks} ranks; continue on {} at most",
        (nz / FEWEST_PLANES).max(1)
    )))
}

/// The ranks of `comm`, each with a slab of a box of `config`.
pub fn ranks(config: &Config, comm: Arc<dyn Comm>) -> Result<Ranks, SolverError> {
    refuse_on_ranks(config, comm.size())?;
    Ok(Ranks::new(comm, config.dims.nz, config.sides[2][0] == BoundaryCondition::Periodic))
}

impl Solver {
    /// The ranks that share the box.
    pub(crate) fn ranks(&self) -> &Ranks {
        self.fields.walls.ranks()
    }

    /// The ranks that share the cells of smoke.
    pub(crate) fn smoke_ranks(&self) -> &Ranks {
        self.fields.detail.as_ref().map_or(self.ranks(), |detail| detail.walls.ranks())
    }

    /// Whether `mine` is true on any rank.
    pub fn any_rank(&self, mine: bool) -> bool {
        self.ranks().any(mine)
    }

    /// Whether this rank is the first, or the only one.
    pub fn is_first_rank(&self) -> bool {
        self.fields.layout.planes()[0] < 0
    }

    /// Brings to each rank the planes that leaves of a volume read beside its slab: a leaf of 8 planes may begin in one slab and end in
    /// the next.
    pub fn exchange_leaves(&mut self) {
        const BESIDE: usize = EDGE - 1;
        let (smoke, finer) = (self.smoke_layout(), self.fields.finer());
        let ranks = [self.ranks().clone(), self.smoke_ranks().clone()];
        let Fields { layout, velocity, scalars, pressure, .. } = &mut self.fields;
        ranks[1].exchange(smoke, [scalars], [0, finer * BESIDE]);
        let [u, v, w] = velocity;
        // Vorticity reads the faces around a cell and its neighbours.
        ranks[0].exchange(*layout, [u, v, w], [GHOST, BESIDE + GHOST]);
        if let Some(pressure) = pressure {
            ranks[0].exchange(*layout, [pressure], [0, BESIDE]);
        }
    }

    /// Brings all fields of the planes `ks`, −GHOST ≤ k < nz + GHOST, to the first rank. It then has the memory of these planes too.
    pub fn bring(&mut self, ks: [isize; 2]) {
        let smoke = (self.smoke_layout(), self.smoke_ranks().clone());
        let Self { fields, .. } = self;
        let layout = fields.layout;
        let ranks = fields.walls.ranks().clone();
        if let Some(obstacles) = &mut fields.obstacles {
            obstacles.bring_cuts(ks);
        }
        let pressure = fields.pressure.as_mut();
        for field in fields.velocity.iter_mut().chain(pressure) {
            ranks.bring(layout, field, ks);
        }
        let (nz, finer) = (layout.dims.nz as isize, fields.finer() as isize);
        let ks = ks.map(|k| finer * k.clamp(0, nz) + k.min(0) + (k - nz).max(0));
        smoke.1.bring(smoke.0, &mut fields.scalars, ks);
    }
}

/// Messages with which several ranks write one file.
#[cfg(feature = "files")]
impl Solver {
    /// Whether there is one rank only.
    pub(crate) fn is_alone(&self) -> bool {
        self.ranks().is_alone()
    }

    /// Number of this rank.
    pub(crate) fn rank(&self) -> usize {
        self.ranks().owner(self.fields.layout.cell_planes()[0])
    }

    /// The rank whose slab has plane `k` of the cells of smoke, or of the velocity.
    pub(crate) fn owner_of_plane(&self, is_of_smoke: bool, k: usize) -> usize {
        if is_of_smoke { self.smoke_ranks().owner(k) } else { self.ranks().owner(k) }
    }

    /// The lists of all ranks, in their order, on the first; others get an empty one.
    pub(crate) fn lists_to_first<T: bytemuck::Pod>(&self, list: &[T]) -> Vec<T> {
        self.ranks().all_to_all(|rank| if rank == 0 { list } else { &[] })
    }

    /// The lists of all ranks, in their order, on each.
    #[cfg(feature = "cli")]
    pub(crate) fn join_lists<T: bytemuck::Pod>(&self, list: &mut Vec<T>) {
        self.ranks().join_lists(list);
    }

    /// The list of the first rank, on each.
    #[cfg(feature = "cli")]
    pub(crate) fn list_of_first<T: bytemuck::Pod>(&self, list: &[T]) -> Vec<T> {
        self.ranks().all_to_all(|_| if self.is_first_rank() { list } else { &[] })
    }

    /// Sends bytes to the first rank.
    pub(crate) fn send_to_first(&self, bytes: &[u8]) {
        self.ranks().send_to_first(bytes);
    }

    /// Receives on the first rank as many bytes as `rank` sends.
    pub(crate) fn receive(&self, rank: usize, bytes: &mut [u8]) {
        self.ranks().receive(rank, bytes);
    }
}

/// Saves the values of all ranks in one file, in the format and with the bytes of [`Saver`]. Each rank writes
/// its own planes of fields; the first also writes all other values. Each value has a place in the file,
/// which follows from the lengths of those before it.
pub struct PartSaver<'a, W> {
    pub saver: Saver<W>,
    /// Place of the next value.
    pub at: u64,
    pub ranks: &'a Ranks,
    /// Planes of cells of the velocity.
    pub nz: usize,
}

impl<W: Write + Seek> Archive for PartSaver<'_, W> {
    fn bytes(&mut self, name: &'static str, bytes: &mut [u8]) -> Result<(), StateError> {
        if self.ranks.is_first() {
            self.saver.0.seek(SeekFrom::Start(self.at))?;
            self.saver.bytes(name, bytes)?;
        }
        self.at += header_length(name) + bytes.len() as u64;
        Ok(())
    }

    fn planes(
        &mut self,
        name: &'static str,
        bytes: &mut [u8],
        [nz, ghosts]: [usize; 2],
    ) -> Result<(), StateError> {
        let Self { saver, at, ranks, nz: coarse } = self;
        if ranks.is_first() {
            saver.0.seek(SeekFrom::Start(*at))?;
            saver.header(name, bytes.len())?;
        }
        let (plane, own) = (bytes.len() / (nz + 2 * ghosts), ranks.finer(nz / *coarse).stacked(nz, ghosts));
        let start = *at + header_length(name);
        saver.0.seek(SeekFrom::Start(start + (own.start * plane) as u64))?;
        saver.raw(&bytes[own.start * plane..own.end * plane])?;
        *at = start + bytes.len() as u64;
        Ok(())
    }
}

/// Reads what [`Saver`] wrote. Of fields it reads the planes of this rank alone.
pub struct PartLoader<'a, R> {
    pub loader: Loader<R>,
    pub ranks: &'a Ranks,
    /// Planes of cells of the velocity.
    pub nz: usize,
}

impl<R: Read + Seek> Archive for PartLoader<'_, R> {
    fn bytes(&mut self, name: &'static str, bytes: &mut [u8]) -> Result<(), StateError> {
        self.loader.bytes(name, bytes)
    }

    fn planes(
        &mut self,
        name: &'static str,
        bytes: &mut [u8],
        [nz, ghosts]: [usize; 2],
    ) -> Result<(), StateError> {
        let Self { loader, ranks, nz: coarse } = self;
        loader.header(name, bytes.len())?;
        let (plane, own) = (bytes.len() / (nz + 2 * ghosts), ranks.finer(nz / *coarse).stacked(nz, ghosts));
        let [from, to] = [own.start, own.end].map(|k| k * plane);
        loader.0.seek(SeekFrom::Current(from as i64))?;
        loader.raw(&mut bytes[from..to])?;
        loader.0.seek(SeekFrom::Current((bytes.len() - to) as i64))?;
        Ok(())
    }
}

#[cfg(test)]
mod follow_tests;
#[cfg(test)]
mod tall_tests;
#[cfg(test)]
pub(super) mod tests;
