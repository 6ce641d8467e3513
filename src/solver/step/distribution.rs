//! What a box on several ranks supports, and its fields brought together.

use std::io::{Read, Write};
use std::sync::Arc;

use super::Solver;
use crate::comm::Comm;
use crate::grid::{GHOST, Layout};
use crate::solver::storage::archive::{Archive, Loader, Saver, StateError};
use crate::solver::storage::ranks::{FEWEST_PLANES, Ranks};
use crate::solver::{BoundaryCondition, Config, SolverError};

/// Fails if a box of `config`, with or without solids, cannot be shared by so many ranks.
///
/// # Errors
/// [`SolverError::Ranks`] with what works on one rank only, or how many ranks there may be.
pub fn refuse_on_ranks(config: &Config, solids: bool, ranks: usize) -> Result<(), SolverError> {
    let nz = config.dims.nz;
    if ranks <= 1 {
        return Ok(());
    }
    if solids {
        Err(one_rank_only("a scene with solids"))
    } else if config.follow.on {
        Err(one_rank_only("domain.follow"))
    } else if config.detail > 1 {
        Err(one_rank_only("domain.detail above 1"))
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
    refuse_on_ranks(config, false, comm.size())?;
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
        let Self { fields, .. } = self;
        let layout = fields.layout;
        let ranks = fields.walls.ranks().clone();
        let pressure = fields.pressure.as_mut();
        for field in fields.velocity.iter_mut().chain(pressure) {
            ranks.bring(layout, field, ks);
        }
        ranks.bring(layout, &mut fields.scalars, ks);
    }
}

/// Writes the values of all ranks, in the format and with the bytes of [`Saver`]; only the first rank's go to its file. Fields pass
/// through it plane by plane.
pub struct GatheringSaver<'a, W> {
    pub saver: Saver<W>,
    pub ranks: &'a Ranks,
    pub layout: Layout,
}

impl<W: Write> Archive for GatheringSaver<'_, W> {
    fn bytes(&mut self, name: &'static str, bytes: &mut [u8]) -> Result<(), StateError> {
        let Self { saver, ranks, layout } = self;
        let Some(plane) = plane_of(*layout, bytes) else { return saver.bytes(name, bytes) };
        let is_first = layout.planes()[0] < 0;
        // A file that fails must not leave the other ranks waiting.
        let mut result = Ok(());
        if is_first {
            result = saver.header(name, bytes.len());
        }
        ranks.planes_to_first(bytes, plane, |plane| {
            if result.is_ok() {
                result = saver.raw(plane);
            }
        });
        result
    }
}

/// Reads what [`Saver`] wrote. Of fields it keeps the planes of this rank.
pub struct PartLoader<R> {
    pub loader: Loader<R>,
    pub layout: Layout,
}

impl<R: Read> Archive for PartLoader<R> {
    fn bytes(&mut self, name: &'static str, bytes: &mut [u8]) -> Result<(), StateError> {
        let Self { loader, layout } = self;
        let Some(plane) = plane_of(*layout, bytes) else { return loader.bytes(name, bytes) };
        loader.header(name, bytes.len())?;
        let [from, to] = layout.planes().map(|k| (k + GHOST as isize) as usize);
        let mut other = vec![0; plane];
        for (k, plane) in bytes.chunks_mut(plane).enumerate() {
            let mine = (from..to).contains(&k);
            loader.raw(if mine { plane } else { &mut other })?;
        }
        Ok(())
    }
}

/// The size of a plane if `bytes` are a field of `layout`, of any number of values in each cell.
fn plane_of(layout: Layout, bytes: &[u8]) -> Option<usize> {
    let planes = layout.dims.nz + 2 * GHOST;
    (bytes.len() >= layout.size() && bytes.len().is_multiple_of(layout.size())).then(|| bytes.len() / planes)
}

#[cfg(test)]
mod tests;
