//! Costs of a run for each of several ranks: memory, and bytes sent and received.

use serde_json::{Value, json};

use crate::grid::{Dims, GHOST};
use crate::scene::{Scene, memory};
use crate::solver::{Advection, BoundaryCondition, Integrator, Projection, TraceOrder};

/// A run on several ranks.
pub struct Slabs {
    /// Number of ranks.
    ranks: u16,
    /// Planes of the thinnest and the thickest slab.
    planes: [usize; 2],
    /// Memory of the thickest \[bytes\].
    memory: u64,
    /// Bytes that a rank between two others sends in a substep, and as many it receives: for the transposition of all planes to
    /// columns and back, and for planes beside the slab.
    columns: u64,
    beside: u64,
}

impl Slabs {
    /// Estimates `scene` on `ranks`. In words, why it cannot be run so.
    pub fn of(scene: &Scene, ranks: u16) -> Result<Self, String> {
        scene.refuse_on_ranks(usize::from(ranks)).map_err(|error| error.to_string())?;
        let nz = scene.config.dims.nz;
        let count = usize::from(ranks);
        let planes = [nz / count, nz.div_ceil(count)];
        let [columns, beside, _] = sent(scene, scene.config.dims, count);
        let part = |bytes: u64| (bytes as f64 * planes[1] as f64 / nz as f64) as u64;
        Ok(Self { ranks, planes, memory: part(scene.memory()) + 2 * beside / 3, columns, beside })
    }

    /// One line.
    pub fn line(&self) -> String {
        let Self { ranks, planes: [thin, thick], memory, columns, beside } = self;
        let planes = if thin == thick { thin.to_string() } else { format!("{thin} or {thick}") };
        let all = memory::human(columns + beside);
        let human = memory::human;
        format!(
            "{ranks} with {planes} planes: about {} each; a substep sends {all}, {} for columns and {} beside the slab",
            human(*memory),
            human(*columns),
            human(*beside)
        )
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        json!({
            "count": self.ranks,
            "planes": { "least": self.planes[0], "most": self.planes[1] },
            "memory_bytes": self.memory,
            "sent_bytes_per_substep": { "columns": self.columns, "beside": self.beside },
        })
    }
}

/// Bytes of an iteration of the pressure for each cell of a plane, and iterations of a substep beside solids.
const ITERATION: u64 = 80;
const ITERATIONS: u64 = 6;

/// Whether the projection iterates.
fn iterates(scene: &Scene) -> bool {
    match scene.config.projection {
        Projection::Auto => !scene.solids.is_empty(),
        other => other != Projection::Direct,
    }
}

/// Bytes that a rank between two others sends in a substep of `scene` in a box of `dims`: for the transposition, for planes beside its
/// slab, and for what all ranks get, sums of planes and active bricks.
pub fn sent(scene: &Scene, dims: Dims, ranks: usize) -> [u64; 3] {
    if ranks == 1 {
        return [0; 3];
    }
    let (planes, others) = (dims.nz.div_ceil(ranks), ranks as u64 - 1);
    let slab = (dims.nx * dims.ny * planes) as u64;
    let whole = ((dims.nx + 2 * GHOST) * (dims.ny + 2 * GHOST)) as u64;
    // 4 bytes for each cell, there and back, without the share that stays.
    let columns = if iterates(scene) { 0 } else { 8 * slab * others / ranks as u64 };
    [columns, whole * bytes_beside(scene), others * (48 * planes as u64 + slab / 64)]
}

/// Bytes that a rank sends in a substep for each cell of a plane, in the order of the passes that read them.
fn bytes_beside(scene: &Scene) -> u64 {
    let config = &scene.config;
    // Cells that the air crosses in a substep.
    let crossed = config.time.cfl.min(config.dims.nz as f32);
    let share = if config.trace == TraceOrder::Third { 0.75 } else { 0.5 };
    let [far, cells] = [share * crossed, crossed].map(|cells| cells.ceil() as u64);
    let (one, velocity, scalars) = (4, 12, 16);
    let trace = (2 * (far + 1) + 1) * velocity + scalars;
    // Planes of finer cells of smoke have more cells, and the air crosses more of them.
    let finer = config.detail as u64;
    let fine = finer * cells;
    let smoke = match config.advection {
        Advection::Conservative => 2 * (fine + 6) * one + 2 * (fine + 5) * scalars,
        _ => 2 * (fine + 3) * scalars,
    };
    let smoke = finer * finer * smoke + if finer > 1 { 2 * 2 * velocity } else { 0 };
    let interpolation = 2 * (cells + 3) * velocity;
    let forces = scalars + if scene.params.vorticity == 0.0 { 0 } else { 5 * velocity };
    let pressure = if config.integrator == Integrator::Trapezoid { one } else { 0 };
    let twice = if config.integrator == Integrator::Reflection { 2 } else { 1 };
    // Three times a substep the air that enters through open sides is found.
    let is_open = config.sides[..2].as_flattened().contains(&BoundaryCondition::Open);
    let open = if is_open { 3 * 2 * one } else { 0 };
    let last = 4 * velocity + one + open;
    let projection = if iterates(scene) { ITERATIONS * ITERATION } else { 0 };
    twice * (trace + interpolation + forces + projection) + smoke + pressure + last
}
