//! What a box on several ranks supports, and its fields brought together.

use std::io::{Read, Write};
use std::sync::Arc;

use super::Solver;
use crate::comm::Comm;
use crate::solver::storage::archive::{Archive, Loader, Saver, StateError};
use crate::solver::storage::ranks::{FEWEST_PLANES, Planes, Ranks};
use crate::solver::{BoundaryCondition, Config, SolverError};

/// Fails if a box of `config` cannot be shared by so many ranks.
///
/// # Errors
/// [`SolverError::Ranks`] with what works on one rank only, or how many ranks there may be.
pub fn refuse_on_ranks(config: &Config, ranks: usize) -> Result<(), SolverError> {
    let nz = config.dims.nz;
    if ranks <= 1 {
        return Ok(());
    }
    if config.follow.on {
        Err(one_rank_only("domain.follow"))
    } else if nz / ranks < FEWEST_PLANES {
        Err(SolverError::Ranks(format!(
            "{ranks} ranks are too many for {nz} cells along z: each needs {FEWEST_PLANES}, so {} at most",
            (nz / FEWEST_PLANES).max(1)
        )))
    } else {
        Ok(())
    }
}

/// The ranks of `comm`, each with a slab of a box of `config`.
pub fn ranks(config: &Config, comm: Arc<dyn Comm>) -> Result<Ranks, SolverError> {
    refuse_on_ranks(config, comm.size())?;
    Ok(Ranks::new(comm, config.dims.nz, config.sides[2][0] == BoundaryCondition::Periodic))
}

/// The refusal of something that works on one rank only.
pub fn one_rank_only(what: &str) -> SolverError {
    SolverError::Ranks(format!("{what} works on one rank only; run this scene without mpirun"))
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

/// Writes the values of all ranks, in the format and with the bytes of [`Saver`]; only the first rank's go to its file. Fields pass
/// through it plane by plane.
pub struct GatheringSaver<'a, W> {
    pub saver: Saver<W>,
    pub ranks: &'a Ranks,
    /// Planes of cells of the velocity.
    pub nz: usize,
}

impl<W: Write> Archive for GatheringSaver<'_, W> {
    fn bytes(&mut self, name: &'static str, bytes: &mut [u8]) -> Result<(), StateError> {
        self.saver.bytes(name, bytes)
    }

    fn planes(
        &mut self,
        name: &'static str,
        bytes: &mut [u8],
        [nz, ghosts]: [usize; 2],
    ) -> Result<(), StateError> {
        let Self { saver, ranks, nz: coarse } = self;
        // A file that fails must not leave the other ranks waiting.
        let mut result = Ok(());
        if ranks.is_first() {
            result = saver.header(name, bytes.len());
        }
        let planes = Planes { plane: bytes.len() / (nz + 2 * ghosts), ghosts };
        ranks.finer(nz / *coarse).planes_to_first(bytes, planes, |plane| {
            if result.is_ok() {
                result = saver.raw(plane);
            }
        });
        result
    }
}

/// Reads what [`Saver`] wrote. Of fields it keeps the planes of this rank.
pub struct PartLoader<'a, R> {
    pub loader: Loader<R>,
    pub ranks: &'a Ranks,
    /// Planes of cells of the velocity.
    pub nz: usize,
}

impl<R: Read> Archive for PartLoader<'_, R> {
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
        let plane = bytes.len() / (nz + 2 * ghosts);
        let own = ranks.finer(nz / *coarse).stacked(nz, ghosts);
        let mut other = vec![0; plane];
        for (k, plane) in bytes.chunks_mut(plane).enumerate() {
            loader.raw(if own.contains(&k) { plane } else { &mut other })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tall_tests;
#[cfg(test)]
mod tests;
