//! What a box on several ranks supports, and its fields brought together.

use std::io::{Read, Write};
use std::sync::Arc;

use crate::comm::Comm;
use crate::grid::{GHOST, Layout};
use crate::solver::storage::archive::{Archive, Loader, Saver, StateError};
use crate::solver::storage::ranks::{FEWEST_PLANES, Ranks};
use crate::solver::{Config, Projection, SolverError};

/// The ranks of `comm`, each with a slab of a box of `config`.
pub fn ranks(config: &Config, comm: Arc<dyn Comm>) -> Result<Ranks, SolverError> {
    let (size, nz) = (comm.size(), config.dims.nz);
    if size == 1 {
        return Ok(Ranks::default());
    }
    let refused = if config.detail > 1 {
        "solver.detail above 1"
    } else if !matches!(config.projection, Projection::Auto | Projection::Direct) {
        "a projection other than auto or direct"
    } else {
        let periodic = config.sides[2][0] == crate::solver::BoundaryCondition::Periodic;
        return Ranks::new(comm, nz, periodic).ok_or_else(|| {
            SolverError::Ranks(format!(
                "{size} ranks are too many for {nz} cells along z: each needs {FEWEST_PLANES}, so {} at most",
                nz / FEWEST_PLANES
            ))
        });
    };
    Err(one_rank_only(refused))
}

/// The refusal of something that works on one rank only.
pub fn one_rank_only(what: &str) -> SolverError {
    SolverError::Ranks(format!("{what} works on one rank only; run this scene without mpirun"))
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
