//! The pre-shaded smoke: scattering and extinction at each cell, in the colours of a look.
//!
//! A texel holds ρ ω for red, green and blue, and ρ, with the density ρ and the albedo ω. It depends on
//! neither light nor eye. Empty bricks are skipped.

mod shade;
mod sharpen;
pub(super) use sharpen::{MIDDLE, SIDE};

use std::ops::Range;

use half::f16;
use rayon::prelude::*;

use super::bricks;
use super::medium::Medium;
use crate::grid::Dims;
use crate::simd::halves::{narrow, widen};
use crate::snapshot::{BRICK, Part, Snapshot};

use shade::{CHUNK, Lane, Strip};

/// Cells of the occupied bricks of a snapshot.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    /// Cells of the available planes, the first of these planes, and the planes of the box.
    dims: Dims,
    first: usize,
    of_box: usize,
    h: f32,
    layers: Vec<Layer>,
}

/// Bricks at the same height in z.
#[derive(Clone, Debug, Default)]
struct Layer {
    runs: Vec<Run>,
    cells: Vec<[f16; 4]>,
}

/// Adjacent bricks along x.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    x: Range<usize>,
    y: Range<usize>,
    /// Index of the first row in the cells of the layer; rows follow along y, then z.
    start: usize,
}

/// Texels of a whole grid with values of the last write.
#[derive(Clone, Debug, Default)]
pub(super) struct Written(Vec<Vec<Run>>);

impl Default for Cells {
    fn default() -> Self {
        Self { dims: Dims { nx: 1, ny: 1, nz: 1 }, first: 0, of_box: 1, h: 1.0, layers: Vec::new() }
    }
}

impl Cells {
    /// Takes over the cells of `snapshot`.
    pub fn gather(&mut self, snapshot: &Snapshot) {
        self.gather_part(&Part::of(snapshot));
    }

    /// Takes over the cells of a part of a snapshot.
    pub fn gather_part(&mut self, part: &Part) {
        let snapshot = part.planes;
        (self.dims, self.h) = (snapshot.dims, snapshot.h);
        (self.first, self.of_box) = (part.first, part.whole.dims.nz);
        self.layers.resize_with(snapshot.bricks.dims.nz, Layer::default);
        self.layers.par_iter_mut().enumerate().for_each(|(k, layer)| layer.gather(snapshot, k));
    }

    /// Returns the cells of the whole box.
    pub fn dims_of_box(&self) -> Dims {
        Dims { nz: self.of_box, ..self.dims }
    }

    /// Returns the edge of a cell \[m\].
    pub fn edge(&self) -> f32 {
        self.h
    }

    /// Calls `visit` with the rows of cells of a plane of the box that may hold smoke: index along x of the
    /// first cell, index along y, and the cells.
    pub fn rows(&self, k: usize, mut visit: impl FnMut(usize, usize, &[[f16; 4]])) {
        let Some(k) = k.checked_sub(self.first).filter(|&k| k < self.dims.nz) else { return };
        let Some(Layer { runs, cells }) = self.layers.get(k / BRICK) else { return };
        for run in runs {
            let first = run.start + k % BRICK * run.y.len() * run.x.len();
            let rows = cells[first..].chunks_exact(run.x.len());
            run.y.clone().zip(rows).for_each(|(j, row)| visit(run.x.start, j, row));
        }
    }

    /// Fills `texels`, those of the whole grid, with the densities and, if the medium glows, [`Medium::emission`].
    pub fn write_shown(&self, medium: &Medium, texels: &mut [[f16; 4]]) {
        let glows = medium.glow[0] > 0.0;
        self.texel_layers(texels).zip(&self.layers).for_each(|(texels, layer)| {
            texels.fill([f16::ZERO; 4]);
            let Layer { runs, cells } = layer;
            let mut cells = cells.iter();
            for run in runs {
                for plane in texels.chunks_exact_mut(self.dims.nx * self.dims.ny) {
                    for row in plane.chunks_exact_mut(self.dims.nx).skip(run.y.start).take(run.y.len()) {
                        for (texel, cell) in row[run.x.clone()].iter_mut().zip(&mut cells) {
                            *texel = *cell;
                            if glows {
                                texel[3] = f16::from_f32(medium.emission(cell.map(f32::from)));
                            }
                        }
                    }
                }
            }
        });
    }

    /// Fills `texels`, those of the whole grid, in the colours of a medium. If the medium glows, fills
    /// `glow`, of the same shape, with ρ times the radiance of opaque smoke. Both must be zero except for
    /// those `written`. Runs on the rayon pool of the caller, with the same bits for any number of threads.
    pub fn shade(
        &self,
        medium: &Medium,
        texels: &mut [[f16; 4]],
        glow: &mut [[f16; 4]],
        written: &mut Written,
    ) {
        let sides = Sides::new(self, medium);
        written.0.resize(self.layers.len(), Vec::new());
        if !glow.is_empty() {
            let layers = self.texel_layers(glow).zip(&self.layers).enumerate();
            layers.for_each(|(k, (texels, layer))| {
                texels.fill([f16::ZERO; 4]);
                for run in &layer.runs {
                    sides.run(run, &layer.cells, k * BRICK, texels, shade::glow);
                }
            });
        }
        let layers = self.texel_layers(texels).zip(&self.layers).zip(&mut written.0).enumerate();
        layers.for_each(|(k, ((texels, layer), before))| {
            if *before != layer.runs {
                before.drain(..).for_each(|run| clear(&run, self.dims, texels));
                before.extend_from_slice(&layer.runs);
            }
            for run in &layer.runs {
                sides.run(run, &layer.cells, k * BRICK, texels, shade::scattering);
            }
        });
    }

    /// Splits the texels of a grid into layers of bricks.
    fn texel_layers<'t>(
        &self,
        texels: &'t mut [[f16; 4]],
    ) -> impl IndexedParallelIterator<Item = &'t mut [[f16; 4]]> {
        assert_eq!(texels.len(), self.dims.cells(), "texels do not fill the grid");
        texels.par_chunks_mut(self.dims.nx * self.dims.ny * BRICK)
    }
}

/// Clears a run in a layer of whole planes.
fn clear(run: &Run, dims: Dims, texels: &mut [[f16; 4]]) {
    for plane in texels.chunks_exact_mut(dims.nx * dims.ny) {
        for row in plane.chunks_exact_mut(dims.nx).skip(run.y.start).take(run.y.len()) {
            row[run.x.clone()].fill([f16::ZERO; 4]);
        }
    }
}

impl Layer {
    fn gather(&mut self, snapshot: &Snapshot, k: usize) {
        self.runs.clear();
        self.cells.clear();
        let (dims, bricks) = (snapshot.dims, &snapshot.bricks);
        let planes = k * BRICK..((k + 1) * BRICK).min(dims.nz);
        for j in 0..bricks.dims.ny {
            let row = &bricks.max[bricks.dims.index(0, j, k)..][..bricks.dims.nx];
            for filled in runs(row) {
                let x = filled.start * BRICK..(filled.end * BRICK).min(dims.nx);
                let y = j * BRICK..((j + 1) * BRICK).min(dims.ny);
                self.runs.push(Run { x: x.clone(), y: y.clone(), start: self.cells.len() });
                for z in planes.clone() {
                    for y in y.clone() {
                        let from = dims.index(x.start, y, z);
                        self.cells.extend_from_slice(&snapshot.smoke[from..][..x.len()]);
                    }
                }
            }
        }
    }
}

/// Returns the ranges of occupied bricks.
fn runs(row: &[[f16; 4]]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for n in (0..row.len()).filter(|&n| !bricks::empty(&row[n])) {
        match runs.last_mut() {
            Some(last) if last.end == n => last.end = n + 1,
            _ => runs.push(n..n + 1),
        }
    }
    runs
}

/// Visible share of the smoke near the sides, for each cell along each axis.
struct Sides<'a> {
    dims: Dims,
    medium: &'a Medium,
    shown: [Vec<f32>; 3],
}

impl<'a> Sides<'a> {
    fn new(cells: &Cells, medium: &'a Medium) -> Self {
        let (dims, h) = (cells.dims.array(), cells.h);
        let extent = [dims[0], dims[1], cells.of_box].map(|n| n as f32 * h);
        let first = [0, 0, cells.first];
        let shown = std::array::from_fn(|a| {
            let place = |n: usize| ((first[a] + n) as f32 + 0.5) * h;
            (0..dims[a]).map(|n| medium.shown_along(a, place(n), extent[a])).collect()
        });
        Self { dims: cells.dims, medium, shown }
    }

    /// Applies a kernel to the rows of a run of a layer whose first plane is `first`.
    fn run(
        &self,
        run: &Run,
        cells: &[[f16; 4]],
        first: usize,
        texels: &mut [[f16; 4]],
        kernel: impl Fn(&Strip, &Medium, &mut [Lane; 4]),
    ) {
        let mut rows = cells[run.start..].chunks_exact(run.x.len());
        let plane = self.dims.nx * self.dims.ny;
        for z in 0..texels.len() / plane {
            for (y, from) in run.y.clone().zip(&mut rows) {
                let start = z * plane + y * self.dims.nx + run.x.start;
                let across = self.shown[1][y] * self.shown[2][first + z];
                let shown = &self.shown[0][run.x.clone()];
                self.row(from, shown, across, &mut texels[start..][..from.len()], &kernel);
            }
        }
    }

    fn row(
        &self,
        from: &[[f16; 4]],
        shown: &[f32],
        across: f32,
        texels: &mut [[f16; 4]],
        kernel: &impl Fn(&Strip, &Medium, &mut [Lane; 4]),
    ) {
        let (mut strip, mut out) = (Strip::default(), [[0.0; CHUNK]; 4]);
        let mut wide = [[0.0; 4]; CHUNK];
        let rows = from.chunks(CHUNK).zip(shown.chunks(CHUNK)).zip(texels.chunks_mut(CHUNK));
        for ((from, shown), texels) in rows {
            if from.iter().all(|cell| cell[..3] == [f16::ZERO; 3]) {
                texels.fill([f16::ZERO; 4]);
                continue;
            }
            let count = from.len();
            widen(from.as_flattened(), wide[..count].as_flattened_mut());
            for i in 0..count {
                strip.shown[i] = across * shown[i];
                for c in 0..4 {
                    strip.smoke[c][i] = wide[i][c];
                }
            }
            kernel(&strip, self.medium, &mut out);
            for i in 0..count {
                wide[i] = [out[0][i], out[1][i], out[2][i], out[3][i]];
            }
            narrow(wide[..count].as_flattened(), texels.as_flattened_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::Look;
    use crate::render::procedural::{Tint, plume};

    fn shaded(look: &Look) -> (Snapshot, [Vec<[f16; 4]>; 2]) {
        let snapshot = plume(Dims::new([21, 40, 19]).unwrap(), 0.02, Tint::Sectors);
        let mut cells = Cells::default();
        cells.gather(&snapshot);
        let mut texels = vec![[f16::ZERO; 4]; snapshot.dims.cells()];
        let mut glow = texels.clone();
        let medium = Medium::of(look, snapshot.extent());
        cells.shade(&medium, &mut texels, &mut glow, &mut Written::default());
        (snapshot, [texels, glow])
    }

    #[test]
    fn texels_are_scattering_extinction_and_glow() {
        let look = Look { glow: 2.0, ..Look::default() };
        let (snapshot, [texels, glows]) = shaded(&look);
        let medium = Medium::of(&look, snapshot.extent());
        let mut most = 0.0_f32;
        for (n, cell) in snapshot.smoke.iter().enumerate() {
            let at = [n % 21, n / 21 % 40, n / 840].map(|n| (n as f32 + 0.5) * 0.02);
            let [r, g, b, heat] = cell.map(f32::from);
            let density = (r + g + b) * medium.shown(at, snapshot.extent());
            let (albedo, glow) = (medium.albedo([r, g, b]), medium.glowing(heat));
            for c in 0..3 {
                for (got, want) in [(texels[n][c], density * albedo[c]), (glows[n][c], density * glow[c])] {
                    assert!((got.to_f32() - want).abs() <= 2e-3 * want + 1e-5, "{at:?}: {got}, not {want}");
                    most = most.max(want);
                }
            }
            assert!((texels[n][3].to_f32() - density).abs() <= 1e-3 * density + 1e-5);
        }
        assert!(most > 0.5, "there is something to see");
    }

    #[test]
    fn texels_of_an_earlier_snapshot_are_cleared() {
        let look = Look::default();
        let (snapshot, [mut texels, _]) = shaded(&look);
        let (mut cells, mut written) = (Cells::default(), Written::default());
        cells.gather(&snapshot);
        let medium = Medium::of(&look, snapshot.extent());
        cells.shade(&medium, &mut texels, &mut [], &mut written);
        assert!(texels.iter().any(|texel| texel[3] > f16::ZERO));
        cells.gather(&Snapshot::empty(snapshot.dims, snapshot.h));
        cells.shade(&medium, &mut texels, &mut [], &mut written);
        assert!(texels.iter().all(|texel| *texel == [f16::ZERO; 4]));
    }
}
