//! The pre-shaded volume: the radiance that the smoke of each cell scatters towards one eye, computed once
//! for all rays.
//!
//! Shading is most of the cost of a march, and rays read each cell many times. Here it is done at the cells
//! instead: a texel holds ρ J and ρ, where ρ is the density and J the in-scattered radiance per unit of
//! extinction ([`crate::render`]). Both are interpolated between cells, so J is the density-weighted mean of
//! the cells around a point, and a march reads one volume once a step. The phase function depends on the eye,
//! so a new eye needs new texels; only occupied bricks are visited.

mod shade;

use std::ops::Range;

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use super::bricks;
use super::light::LightVolume;
use super::medium::Medium;
use crate::grid::Dims;
use crate::snapshot::{BRICK, Snapshot};

use shade::{CHUNK, Strip, shade};

/// Cells of the occupied bricks of a snapshot.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    dims: Dims,
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
    /// Index of its first row in the cells of the layer; rows follow in y, then z.
    start: usize,
}

/// Texels of a whole grid that hold values of the last write.
#[derive(Clone, Debug, Default)]
pub(super) struct Written(Vec<Vec<Run>>);

impl Default for Cells {
    fn default() -> Self {
        Self { dims: Dims { nx: 1, ny: 1, nz: 1 }, h: 1.0, layers: Vec::new() }
    }
}

impl Cells {
    /// Takes over the cells of `snapshot`.
    pub fn gather(&mut self, snapshot: &Snapshot) {
        (self.dims, self.h) = (snapshot.dims, snapshot.h);
        self.layers.resize_with(snapshot.bricks.dims.nz, Layer::default);
        self.layers.par_iter_mut().enumerate().for_each(|(k, layer)| layer.gather(snapshot, k));
    }

    /// Fills `texels`, those of the whole grid, with the densities and [`Medium::emission`].
    pub fn write_emission(&self, medium: &Medium, texels: &mut [[f16; 4]]) {
        self.texel_layers(texels).zip(&self.layers).for_each(|(texels, layer)| {
            texels.fill([f16::ZERO; 4]);
            let Layer { runs, cells } = layer;
            let mut cells = cells.iter();
            for run in runs {
                for plane in texels.chunks_exact_mut(self.dims.nx * self.dims.ny) {
                    for row in plane.chunks_exact_mut(self.dims.nx).skip(run.y.start).take(run.y.len()) {
                        for (texel, cell) in row[run.x.clone()].iter_mut().zip(&mut cells) {
                            let emission = medium.emission(cell.map(f32::from));
                            *texel = [cell[0], cell[1], cell[2], f16::from_f32(emission)];
                        }
                    }
                }
            }
        });
    }

    /// Fills `texels`, those of the whole grid, for an eye at a point \[m\], under an updated light volume.
    /// All texels must be zero except those `written`. Runs on the rayon pool of the caller; the bits are the
    /// same for any number of threads.
    pub fn shade(
        &self,
        light: &LightVolume,
        medium: &Medium,
        eye: [f32; 3],
        texels: &mut [[f16; 4]],
        written: &mut Written,
    ) {
        let sight = Sight::new(self, light, medium, eye);
        written.0.resize(self.layers.len(), Vec::new());
        let layers = self.texel_layers(texels).zip(&self.layers).zip(&mut written.0).enumerate();
        layers.for_each(|(k, ((texels, layer), before))| {
            if *before != layer.runs {
                before.drain(..).for_each(|run| clear(&run, self.dims, texels));
                before.extend_from_slice(&layer.runs);
            }
            let mut nodes = Vec::new();
            for run in &layer.runs {
                sight.shade_run(run, &layer.cells, k * BRICK, texels, &mut nodes);
            }
        });
    }

    /// The texels of a grid in layers of bricks.
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

/// Ranges of occupied bricks.
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

/// Everything that the shading of a row depends on, precomputed.
struct Sight<'a> {
    dims: Dims,
    h: f32,
    light: &'a LightVolume,
    medium: &'a Medium,
    eye: [f32; 3],
    /// For each cell along each axis: the light volume's node before it, and the distance to the next.
    between: [Vec<(usize, f32)>; 3],
    /// Share of the smoke that the sides leave, for each cell along each axis.
    shown: [Vec<f32>; 3],
}

impl<'a> Sight<'a> {
    fn new(cells: &Cells, light: &'a LightVolume, medium: &'a Medium, eye: [f32; 3]) -> Self {
        let (dims, h) = (cells.dims.array(), cells.h);
        let place = |n: usize| (n as f32 + 0.5) * h;
        let between = std::array::from_fn(|a| {
            let last = light.nodes.array()[a].saturating_sub(2);
            let node = |n| {
                let at = place(n) / light.spacing[a];
                let lo = (at as usize).min(last);
                (lo, (at - lo as f32).clamp(0.0, 1.0))
            };
            (0..dims[a]).map(node).collect()
        });
        let extent = dims.map(|n| n as f32 * h);
        let shown = std::array::from_fn(|a| {
            (0..dims[a]).map(|n| medium.shown_along(a, place(n), extent[a])).collect()
        });
        Self { dims: cells.dims, h, light, medium, eye, between, shown }
    }

    /// The rows of a run of a layer whose first plane is `first`.
    fn shade_run(
        &self,
        run: &Run,
        cells: &[[f16; 4]],
        first: usize,
        texels: &mut [[f16; 4]],
        nodes: &mut Vec<[f32; 4]>,
    ) {
        let mut rows = cells[run.start..].chunks_exact(run.x.len());
        let plane = self.dims.nx * self.dims.ny;
        for z in 0..texels.len() / plane {
            for (y, from) in run.y.clone().zip(&mut rows) {
                let start = z * plane + y * self.dims.nx + run.x.start;
                self.light_row(&run.x, [y, first + z], nodes);
                self.shade_row(from, run.x.start, [y, first + z], nodes, &mut texels[start..][..from.len()]);
            }
        }
    }

    /// Depths at the nodes along a row of cells.
    fn light_row(&self, x: &Range<usize>, [y, z]: [usize; 2], nodes: &mut Vec<[f32; 4]>) {
        let ((j, fy), (k, fz)) = (self.between[1][y], self.between[2][z]);
        let (first, last) = (self.between[0][x.start].0, self.between[0][x.end - 1].0 + 2);
        let dims = self.light.nodes;
        let (first, last) = (first, last.min(dims.nx));
        nodes.clear();
        nodes.resize(last - first, [0.0; 4]);
        let mut wide = [[0.0_f32; 4]; CHUNK];
        for (dj, dk) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let weight = (if dj == 1 { fy } else { 1.0 - fy }) * (if dk == 1 { fz } else { 1.0 - fz });
            let row = dims.index(first, (j + dj).min(dims.ny - 1), (k + dk).min(dims.nz - 1));
            let halves = &self.light.texels[row..][..last - first];
            for (halves, nodes) in halves.chunks(CHUNK).zip(nodes.chunks_mut(CHUNK)) {
                let wide = &mut wide[..halves.len()];
                halves.as_flattened().convert_to_f32_slice(wide.as_flattened_mut());
                for (node, depth) in nodes.as_flattened_mut().iter_mut().zip(wide.as_flattened()) {
                    *node += weight * depth;
                }
            }
        }
    }

    fn shade_row(
        &self,
        from: &[[f16; 4]],
        first: usize,
        [y, z]: [usize; 2],
        nodes: &[[f32; 4]],
        texels: &mut [[f16; 4]],
    ) {
        let at = |n: usize| (n as f32 + 0.5) * self.h;
        let node = self.between[0][first].0;
        let across = self.shown[1][y] * self.shown[2][z];
        let (mut strip, mut out) = (Strip::default(), [[0.0; CHUNK]; 4]);
        let mut wide = [[0.0; 4]; CHUNK];
        for (n, (from, texels)) in from.chunks(CHUNK).zip(texels.chunks_mut(CHUNK)).enumerate() {
            if from.iter().all(|cell| cell[..3] == [f16::ZERO; 3]) {
                texels.fill([f16::ZERO; 4]);
                continue;
            }
            let (count, start) = (from.len(), first + n * CHUNK);
            from.as_flattened().convert_to_f32_slice(wide[..count].as_flattened_mut());
            for i in 0..count {
                let (lo, f) = self.between[0][start + i];
                let (a, b) = (&nodes[lo - node], &nodes[(lo + 1 - node).min(nodes.len() - 1)]);
                for c in 0..3 {
                    strip.depth[c][i] = a[c] + f * (b[c] - a[c]);
                }
                strip.shown[i] = across * self.shown[0][start + i];
            }
            for i in 0..count {
                for c in 0..4 {
                    strip.smoke[c][i] = wide[i][c];
                }
            }
            strip.from_eye = [at(start) - self.eye[0], at(y) - self.eye[1], at(z) - self.eye[2]];
            strip.h = self.h;
            shade(&strip, self.medium, &mut out);
            for i in 0..count {
                wide[i] = [out[0][i], out[1][i], out[2][i], out[3][i]];
            }
            texels.as_flattened_mut().convert_from_f32_slice(wide[..count].as_flattened());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::Look;
    use crate::render::procedural::{Tint, plume};

    fn shaded(look: &Look, eye: [f32; 3]) -> (Snapshot, LightVolume, Vec<[f16; 4]>) {
        let snapshot = plume(Dims::new([21, 40, 19]).unwrap(), 0.02, Tint::Sectors);
        let (mut light, mut cells) = (LightVolume::default(), Cells::default());
        light.bake(&snapshot, look);
        cells.gather(&snapshot);
        let mut texels = vec![[f16::ZERO; 4]; snapshot.dims.cells()];
        let medium = Medium::of(look, snapshot.extent());
        cells.shade(&light, &medium, eye, &mut texels, &mut Written::default());
        (snapshot, light, texels)
    }

    /// A texel equals the shading of a march at that cell.
    #[test]
    fn texels_are_density_and_what_it_sends() {
        let look = Look { glow: 2.0, second_lobe: [-0.4, 0.3], ..Look::default() };
        let eye = [0.9, 0.5, 1.4];
        let (snapshot, light, texels) = shaded(&look, eye);
        let medium = Medium::of(&look, snapshot.extent());
        let sun = nalgebra::Vector3::from(medium.sun_direction);
        let mut most = 0.0_f32;
        for (n, (texel, cell)) in texels.iter().zip(&snapshot.smoke).enumerate() {
            let at = [n % 21, n / 21 % 40, n / 840].map(|n| (n as f32 + 0.5) * 0.02);
            let [r, g, b, heat] = cell.map(f32::from);
            let density = (r + g + b) * medium.shown(at, snapshot.extent());
            let way = nalgebra::Vector3::from(at) - nalgebra::Vector3::from(eye);
            let depths = light.sample(at);
            let phase = medium.phase(way.normalize().dot(&sun));
            let sent = medium.scattered(medium.albedo([r, g, b]), [depths[0], depths[1], depths[2]], phase);
            let glow = medium.glowing(heat);
            for c in 0..3 {
                let want = density * (sent[c] + glow[c]);
                assert!(
                    (texel[c].to_f32() - want).abs() <= 2e-3 * want + 1e-5,
                    "{at:?}: {texel:?}, not {want}"
                );
                most = most.max(want);
            }
            assert!((texel[3].to_f32() - density).abs() <= 1e-3 * density + 1e-5);
        }
        assert!(most > 0.5, "there is something to see");
    }

    #[test]
    fn texels_of_an_earlier_snapshot_are_cleared() {
        let look = Look::default();
        let (snapshot, light, mut texels) = shaded(&look, [1.0; 3]);
        let (mut cells, mut written) = (Cells::default(), Written::default());
        cells.gather(&snapshot);
        let medium = Medium::of(&look, snapshot.extent());
        cells.shade(&light, &medium, [1.0; 3], &mut texels, &mut written);
        assert!(texels.iter().any(|texel| texel[3] > f16::ZERO));
        cells.gather(&Snapshot::empty(snapshot.dims, snapshot.h));
        cells.shade(&light, &medium, [1.0; 3], &mut texels, &mut written);
        assert!(texels.iter().all(|texel| *texel == [f16::ZERO; 4]));
    }
}
