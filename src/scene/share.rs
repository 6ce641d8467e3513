//! Memory of a rank, if several share a run.

use super::memory;
use crate::grid::GHOST;
use crate::look::{Look, light_points};
use crate::solver::{
    Advection, BoundaryCondition, Config, Integrator, Params, Projection, Solver, TraceOrder,
};

/// The number of ranks that share a run, and of those that share the memory of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Number of ranks; each has a slab of the box.
    pub ranks: usize,
    /// Number of them on this machine. `None` if the run is on other machines: the memory of this one does
    /// not limit it.
    pub here: Option<usize>,
    /// Whether they render pictures, for which each holds the light volume of the whole box.
    pub renders: bool,
}

impl Default for Share {
    /// Returns the share of one process on this machine.
    fn default() -> Self {
        Self { ranks: 1, here: Some(1), renders: false }
    }
}

impl Share {
    /// Returns the share of ranks on other machines.
    pub fn elsewhere(ranks: usize) -> Self {
        Self { ranks, here: None, renders: false }
    }

    /// Estimates the memory of the rank with the thickest slab \[bytes\]: its part of all fields, and the
    /// planes beside it.
    pub fn memory(&self, config: &Config, solids: bool, params: &Params) -> u64 {
        let all = memory::estimate_on(config, solids, self.ranks)
            + Solver::turbulence_memory(config, &params.turbulence);
        if self.ranks == 1 {
            return all;
        }
        let nz = config.dims.nz;
        let part = nz.div_ceil(self.ranks) as f64 / nz as f64;
        (all as f64 * part) as u64 + 2 * halo_bytes(config, solids, params) / 3
    }

    /// Estimates the memory of a picture of `look` on each rank, in addition to the fields \[bytes\]. The
    /// light volume is counted only with several ranks.
    pub fn picture(&self, config: &Config, look: &Look, size: [u32; 2]) -> u64 {
        let light = if self.ranks > 1 && self.renders { light(config, look) } else { 0 };
        memory::picture(size) + light
    }

    /// Fails if the ranks on one machine, with `bytes` each, exceed `limit` together. The error states their
    /// need.
    pub fn check(&self, bytes: u64, limit: Option<u64>) -> Result<(), String> {
        let together = bytes.saturating_mul(self.here.unwrap_or(1) as u64);
        let Some(limit) = limit.filter(|limit| together > *limit) else { return Ok(()) };
        let need = memory::human(bytes);
        let need = match (self.ranks, self.here) {
            (1, _) => need,
            (ranks, None | Some(1)) => format!("{need} on each of {ranks} ranks"),
            (ranks, Some(here)) => {
                let together = memory::human(together);
                format!("{need} on each of {ranks} ranks, {together} for the {here} on this machine")
            }
        };
        Err(format!("{need}, over the limit of {}", memory::human(limit)))
    }

    /// Returns advice on reducing the memory, as the first half of a sentence.
    pub fn advice(&self) -> &'static str {
        match (self.ranks, self.here) {
            (1, _) => "use fewer cells",
            (_, Some(here)) if here > 1 => "use more ranks on more machines, fewer cells,",
            _ => "use more ranks, fewer cells,",
        }
    }
}

/// Bytes of a point of the light volume, and additional bytes for each further light.
const POINT: u64 = 16;
const LIGHT: u64 = 4;

/// Returns the memory of the light volume of the whole box \[bytes\].
pub fn light(config: &Config, look: &Look) -> u64 {
    let cells = config.smoke_dims().array();
    let points = light_points::points(cells, light_points::cells_between(look.light_scale, cells, false));
    points.iter().map(|&n| n as u64).product::<u64>() * (POINT + LIGHT * look.lights.len() as u64)
}

/// Bytes of an iteration of the pressure solve for each cell of a plane, and iterations of a substep with
/// solids.
const ITERATION: u64 = 80;
const ITERATIONS: u64 = 6;

/// Returns whether the projection iterates.
pub fn iterates(config: &Config, solids: bool) -> bool {
    match config.projection {
        Projection::Auto => solids,
        other => other != Projection::Direct,
    }
}

/// Returns the bytes of halo planes that a rank between two others receives in a substep. It sends as many.
pub fn halo_bytes(config: &Config, solids: bool, params: &Params) -> u64 {
    let plane = (config.dims.nx + 2 * GHOST) * (config.dims.ny + 2 * GHOST);
    plane as u64 * halo_bytes_of_cell(config, solids, params)
}

/// Returns these bytes for each cell of a plane, in the order of the passes that read them.
fn halo_bytes_of_cell(config: &Config, solids: bool, params: &Params) -> u64 {
    // Cells that the air crosses in a substep.
    let crossed = config.time.cfl.min(config.dims.nz as f32);
    let share = if config.trace == TraceOrder::Third { 0.75 } else { 0.5 };
    let [departure, cells] = [share * crossed, crossed].map(|cells| cells.ceil() as u64);
    let (one, velocity, scalars) = (4, 12, 16);
    let trace = (2 * (departure + 1) + 1) * velocity + scalars;
    // Planes of finer cells of smoke have more cells, and the air crosses more of them.
    let finer = config.detail as u64;
    let fine = finer * cells;
    let smoke = match config.advection {
        Advection::Conservative => 2 * (fine + 6) * one + 2 * (fine + 5) * scalars,
        _ => 2 * (fine + 3) * scalars,
    };
    let smoke = finer * finer * smoke + if finer > 1 { 2 * 2 * velocity } else { 0 };
    let interpolation = 2 * (cells + 3) * velocity;
    let forces = scalars + if params.vorticity == 0.0 { 0 } else { 5 * velocity };
    let pressure = if config.integrator == Integrator::Trapezoid { one } else { 0 };
    let twice = if config.integrator == Integrator::Reflection { 2 } else { 1 };
    // Backflow through open sides is found three times a substep.
    let is_open = config.sides[..2].as_flattened().contains(&BoundaryCondition::Open);
    let open = if is_open { 3 * 2 * one } else { 0 };
    let last = 4 * velocity + one + open;
    let projection = if iterates(config, solids) { ITERATIONS * ITERATION } else { 0 };
    twice * (trace + interpolation + forces + projection) + smoke + pressure + last
}
