//! Costs of a run for each of several ranks: memory, and bytes sent and received.

use serde_json::{Value, json};

use crate::grid::Dims;
use crate::scene::share::{self, Share};
use crate::scene::{Scene, memory};
use crate::solver::Config;

/// A run on several ranks.
pub struct Slabs {
    /// Number of ranks.
    ranks: u16,
    /// Planes of the thinnest and the thickest slab.
    planes: [usize; 2],
    /// Memory of the thickest slab \[bytes\].
    memory: u64,
    /// Memory that pictures take besides \[bytes\].
    pictures: u64,
    /// Bytes that a rank between two others sends in a substep: for the transposition of all planes to
    /// columns and back, and for planes beside the slab. It receives as many.
    columns: u64,
    beside: u64,
}

impl Slabs {
    /// Estimates `scene` on `ranks`. The error says why it cannot be run on them.
    pub fn of(scene: &Scene, ranks: u16) -> Result<Self, String> {
        scene.refuse_on_ranks(usize::from(ranks)).map_err(|error| error.to_string())?;
        let nz = scene.config.dims.nz;
        let count = usize::from(ranks);
        let planes = [nz / count, nz.div_ceil(count)];
        let [columns, beside, _] = sent(scene, scene.config.dims, count);
        let share = Share { renders: true, ..Share::elsewhere(count) };
        let memory = share.memory(&scene.config, !scene.solids.is_empty(), &scene.params);
        let pictures = share.picture(&scene.config, &scene.look, scene.size);
        Ok(Self { ranks, planes, memory, pictures, columns, beside })
    }

    /// Formats the costs in one line.
    pub fn line(&self) -> String {
        let Self { ranks, planes: [thin, thick], memory, pictures, columns, beside } = self;
        let planes = if thin == thick { thin.to_string() } else { format!("{thin} or {thick}") };
        let all = memory::human(columns + beside);
        let human = memory::human;
        format!(
            "{ranks} with {planes} planes: about {} each, {} more for pictures; \
             a substep sends {all}, {} for columns and {} beside the slab",
            human(*memory),
            human(*pictures),
            human(*columns),
            human(*beside)
        )
    }

    /// Returns the costs for programs.
    pub fn json(&self) -> Value {
        json!({
            "count": self.ranks,
            "planes": { "least": self.planes[0], "most": self.planes[1] },
            "memory_bytes": self.memory,
            "pictures_bytes": self.pictures,
            "sent_bytes_per_substep": { "columns": self.columns, "beside": self.beside },
        })
    }
}

/// Returns the bytes that a rank between two others sends in a substep of `scene` in a box of `dims`: for the
/// transposition, for planes beside its slab, and for sums of planes and active bricks, which all ranks get.
pub fn sent(scene: &Scene, dims: Dims, ranks: usize) -> [u64; 3] {
    if ranks == 1 {
        return [0; 3];
    }
    let (planes, others) = (dims.nz.div_ceil(ranks), ranks as u64 - 1);
    let slab = (dims.nx * dims.ny * planes) as u64;
    let config = Config { dims, ..scene.config.clone() };
    // 4 bytes for each cell, there and back, except for the share that stays on the rank.
    let solids = !scene.solids.is_empty();
    let columns = if share::iterates(&scene.config, solids) { 0 } else { 8 * slab * others / ranks as u64 };
    [columns, share::halo_bytes(&config, solids, &scene.params), others * (48 * planes as u64 + slab / 64)]
}
