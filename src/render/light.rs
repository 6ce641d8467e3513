//! The light volume: how much medium lies between a point and the sun, the sky and the ground.
//!
//! It does not depend on the camera: one bake serves every picture of a snapshot, and every
//! renderer reads the same numbers. It is a grid of **nodes**, the first and last on the sides of the
//! box, so that depths are right up to the boundary: interpolated linearly, a uniform box has the
//! exact depth everywhere.
//!
//! Depths grow node by node away from the light, each from the layer of nodes before it:
//!
//! ```text
//! τ(x) = τ(x + s l) + l (σ(x) + σ(x + s l)) / 2        l = distance to that layer along s
//! ```
//!
//! with bilinear interpolation in the layer, which blurs shadows a little with distance, as a sun
//! of finite size does. The sky takes twelve directions, the edges of a cube, at half the
//! resolution; what arrives of the sky and of the ground is stored as a depth, −ln of the share that
//! arrives, so the octaves of multiple scattering can scale it.
//!
//! Cost: one pass over the smoke, one sweep of the nodes and twelve of an eighth of them.

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use crate::grid::Dims;
use crate::look::Look;
use crate::snapshot::{BRICK, Snapshot};

/// Depths larger than this are as dark.
const OPAQUE: f32 = 1000.0;

/// Optical depths at the nodes, for one snapshot under one look.
#[derive(Clone, Debug)]
pub struct LightVolume {
    /// Nodes along each axis.
    pub nodes: Dims,
    /// Distance between nodes \[m\].
    pub spacing: [f32; 3],
    /// At each node, x fastest: optical depth towards the sun, effective depth towards the sky and
    /// towards the ground, and 0.
    pub texels: Vec<[f16; 4]>,
    scale: f32,
    scratch: Scratch,
}

/// Memory kept from bake to bake.
#[derive(Clone, Debug, Default)]
struct Scratch {
    planes: Vec<f32>,
    density: Vec<f32>,
    sun: Vec<f32>,
    coarse: Vec<f32>,
    beams: Vec<Vec<f32>>,
    ambient: Vec<[f32; 2]>,
}

/// A scalar field on nodes.
#[derive(Clone, Copy)]
struct Nodes<'a> {
    dims: Dims,
    spacing: [f32; 3],
    values: &'a [f32],
}

impl Default for LightVolume {
    fn default() -> Self {
        Self {
            nodes: Dims { nx: 1, ny: 1, nz: 1 },
            spacing: [1.0; 3],
            texels: vec![[f16::ZERO; 4]],
            scale: Look::default().light_scale,
            scratch: Scratch::default(),
        }
    }
}

impl LightVolume {
    /// Recomputes all depths. Runs on the rayon pool of the caller; the same bits for any number
    /// of threads.
    pub fn bake(&mut self, snapshot: &Snapshot, look: &Look) {
        self.scale = look.light_scale;
        self.gather(snapshot);
        self.cast(look);
    }

    /// The first half of [`LightVolume::bake`]: the densities of a snapshot at the nodes, as many as the last
    /// look asked for.
    pub fn gather(&mut self, snapshot: &Snapshot) {
        let extent = snapshot.extent();
        let scale = self.scale.clamp(1.0 / 16.0, 1.0);
        let cells = snapshot.dims.array().map(|n| ((n as f32 * scale).round() as usize).clamp(1, n));
        self.nodes = node_dims(cells);
        self.spacing = std::array::from_fn(|a| extent[a] / cells[a] as f32);
        gather_density(snapshot, self.nodes, &mut self.scratch.planes, &mut self.scratch.density);
    }

    /// The second half: the depths under a look, from the densities gathered last.
    pub fn cast(&mut self, look: &Look) {
        let s = &mut self.scratch;
        let fine = Nodes { dims: self.nodes, spacing: self.spacing, values: &s.density };
        sweep(fine, look.extinction, unit(look.sun_direction), &mut s.sun);
        let cells = self.nodes.array().map(|n| n - 1);
        let coarse_cells = cells.map(|n| n.div_ceil(2));
        let coarse_dims = node_dims(coarse_cells);
        coarsen(fine, coarse_dims, &mut s.coarse);
        let spacing = std::array::from_fn(|a| self.spacing[a] * cells[a] as f32 / coarse_cells[a] as f32);
        let coarse = Nodes { dims: coarse_dims, spacing, values: &s.coarse };
        gather_ambient(coarse, look.extinction, &mut s.beams, &mut s.ambient);
        write_texels(self.nodes, &s.sun, coarse_dims, &s.ambient, &mut self.texels);
    }

    /// Nodes per cell and axis from the next [`LightVolume::gather`] on.
    pub fn set_scale(&mut self, scale: f32) {
        self.scale = scale;
    }

    /// The texel at a place in the box \[m\], interpolated; beyond the box, that of the nearest place.
    pub fn sample(&self, p: [f32; 3]) -> [f32; 4] {
        trilinear(self.nodes, std::array::from_fn(|a| p[a] / self.spacing[a]), |n| {
            self.texels[n].map(f32::from)
        })
    }
}

fn node_dims(cells: [usize; 3]) -> Dims {
    Dims { nx: cells[0] + 1, ny: cells[1] + 1, nz: cells[2] + 1 }
}

pub(super) fn unit(v: [f32; 3]) -> [f32; 3] {
    let norm = v.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 1e-6 { v.map(|x| x / norm) } else { [0.0, 1.0, 0.0] }
}

/// The value at `at`, in units of the spacing from the first value, held at the border.
pub(super) fn trilinear<const N: usize>(
    dims: Dims,
    at: [f32; 3],
    value: impl Fn(usize) -> [f32; N],
) -> [f32; N] {
    let size = dims.array();
    let (mut lo, mut f, mut hi) = ([0; 3], [0.0; 3], [0; 3]);
    for a in 0..3 {
        let x = at[a].clamp(0.0, (size[a] - 1) as f32);
        lo[a] = x as usize;
        hi[a] = (lo[a] + 1).min(size[a] - 1);
        f[a] = x - lo[a] as f32;
    }
    let row = |j: usize, k: usize| {
        let (a, b) = (value(dims.index(lo[0], j, k)), value(dims.index(hi[0], j, k)));
        lerp(a, b, f[0])
    };
    let plane = |k: usize| lerp(row(lo[1], k), row(hi[1], k), f[1]);
    lerp(plane(lo[2]), plane(hi[2]), f[2])
}

fn lerp<const N: usize>(a: [f32; N], b: [f32; N], t: f32) -> [f32; N] {
    std::array::from_fn(|n| a[n] + (b[n] - a[n]) * t)
}

/// Which values a node is the mean of, along one axis: first value and weights of a tent as wide
/// as the node spacing either way.
struct Tent {
    first: usize,
    weights: Vec<f32>,
}

/// Tents for `nodes` nodes spread from the first to the last border of `cells` cells.
fn tents(nodes: usize, cells: usize) -> Vec<Tent> {
    let spacing = cells as f32 / (nodes - 1) as f32;
    let tent = |node: usize| {
        let middle = node as f32 * spacing;
        let first = (middle - spacing).floor().max(0.0) as usize;
        let last = ((middle + spacing).ceil() as usize).min(cells);
        let weight = |cell: usize| (1.0 - (cell as f32 + 0.5 - middle).abs() / spacing).max(0.0);
        let weights: Vec<f32> = (first..last).map(weight).collect();
        let sum: f32 = weights.iter().sum();
        Tent { first, weights: weights.iter().map(|w| w / sum).collect() }
    };
    (0..nodes).map(tent).collect()
}

/// The sum of the three colours at the nodes. `planes` holds, for each layer of
/// cells in z, the nodes of its x and y.
fn gather_density(snapshot: &Snapshot, nodes: Dims, planes: &mut Vec<f32>, out: &mut Vec<f32>) {
    let cells = snapshot.dims;
    let plane = nodes.nx * nodes.ny;
    let (in_x, in_y) = (tents(nodes.nx, cells.nx), tents(nodes.ny, cells.ny));
    planes.clear();
    planes.resize(plane * cells.nz, 0.0);
    planes.par_chunks_mut(plane).enumerate().for_each(|(k, plane)| {
        let mut rows = RowSums::new(cells.nx);
        for j in 0..cells.ny {
            let Some(row) = rows.of(snapshot, j, k) else { continue };
            let narrowed: Vec<f32> = in_x.iter().map(|tent| tent.mean(row)).collect();
            for (node_j, tent) in in_y.iter().enumerate() {
                let Some(weight) = j.checked_sub(tent.first).and_then(|n| tent.weights.get(n)) else {
                    continue;
                };
                let out = &mut plane[node_j * nodes.nx..][..nodes.nx];
                out.iter_mut().zip(&narrowed).for_each(|(out, x)| *out += weight * x);
            }
        }
    });
    let in_z = tents(nodes.nz, cells.nz);
    out.clear();
    out.resize(nodes.cells(), 0.0);
    out.par_chunks_mut(plane).zip(&in_z).for_each(|(out, tent)| {
        for (n, weight) in tent.weights.iter().enumerate() {
            let from = &planes[(tent.first + n) * plane..][..plane];
            out.iter_mut().zip(from).for_each(|(out, x)| *out += weight * x);
        }
    });
}

impl Tent {
    fn mean(&self, row: &[f32]) -> f32 {
        self.weights.iter().zip(&row[self.first..]).map(|(w, x)| w * x).sum()
    }
}

/// Turns rows of half floats into rows of total density.
struct RowSums {
    floats: Vec<f32>,
    sums: Vec<f32>,
}

impl RowSums {
    fn new(nx: usize) -> Self {
        Self { floats: vec![0.0; 4 * nx], sums: vec![0.0; nx] }
    }

    /// The row, or `None` where the bricks say that nothing is in it.
    fn of(&mut self, snapshot: &Snapshot, j: usize, k: usize) -> Option<&[f32]> {
        let bricks = &snapshot.bricks;
        let first = bricks.dims.index(0, j / BRICK, k / BRICK);
        let empty = |max: &[f16; 4]| max[..3].iter().all(|&x| x <= f16::ZERO);
        if bricks.max[first..][..bricks.dims.nx].iter().all(empty) {
            return None;
        }
        let row = &snapshot.smoke[snapshot.dims.index(0, j, k)..][..snapshot.dims.nx];
        let halves: &[f16] = bytemuck::cast_slice(row);
        halves.convert_to_f32_slice(&mut self.floats);
        for (sum, cell) in self.sums.iter_mut().zip(self.floats.chunks_exact(4)) {
            *sum = (cell[0] + cell[1] + cell[2]).max(0.0);
        }
        Some(&self.sums)
    }
}

/// Every second node, each averaged with its neighbours.
fn coarsen(fine: Nodes, dims: Dims, out: &mut Vec<f32>) {
    let size = fine.dims.array();
    let per_axis = |a: usize| (size[a] - 1) as f32 / (dims.array()[a] - 1) as f32;
    let ratio: [f32; 3] = std::array::from_fn(per_axis);
    let value = |n: usize| [fine.values[n]];
    out.clear();
    out.resize(dims.cells(), 0.0);
    out.par_chunks_mut(dims.nx).enumerate().for_each(|(row, out)| {
        for (i, out) in out.iter_mut().enumerate() {
            let middle =
                [i as f32 * ratio[0], (row % dims.ny) as f32 * ratio[1], (row / dims.ny) as f32 * ratio[2]];
            // Eight taps a quarter of a coarse cell away weigh the 27 nodes around it.
            let tap = |n: usize| {
                let at = std::array::from_fn(|a| {
                    middle[a] + (if n >> a & 1 == 1 { 0.25 } else { -0.25 }) * ratio[a]
                });
                trilinear(fine.dims, at, value)[0]
            };
            *out = (0..8).map(tap).sum::<f32>() * 0.125;
        }
    });
}

/// Optical depth from every node towards `s`, a unit vector.
fn sweep(field: Nodes, extinction: f32, s: [f32; 3], out: &mut Vec<f32>) {
    out.clear();
    out.resize(field.dims.cells(), 0.0);
    let march = Sweep::new(field, extinction, s);
    let layers = field.dims.array()[march.axis];
    for n in 1..layers {
        march.layer(n, out);
    }
}

/// One direction's layers and the taps between them. `axis` is the one along which `s` is longest;
/// `u` and `v` are the others, `u` the one that varies faster in memory.
struct Sweep<'a> {
    field: Nodes<'a>,
    axis: usize,
    u: usize,
    v: usize,
    /// Whether the light comes from the side where the coordinate is greatest.
    from_top: bool,
    /// Optical depth between layers along s for each unit of density.
    length: f32,
    /// Where s meets the layer before, in nodes along u and v from the node it left.
    offset: [f32; 2],
    stride: [usize; 3],
}

impl<'a> Sweep<'a> {
    fn new(field: Nodes<'a>, extinction: f32, s: [f32; 3]) -> Self {
        // In nodes, not metres: layers must be crossed before columns are.
        let in_nodes: [f32; 3] = std::array::from_fn(|a| (s[a] / field.spacing[a]).abs());
        let axis = (0..3)
            .max_by(|&a, &b| (in_nodes[a] + a as f32 * 1e-6).total_cmp(&(in_nodes[b] + b as f32 * 1e-6)));
        let axis = axis.expect("three axes");
        let (u, v) = [(1, 2), (0, 2), (0, 1)][axis];
        let length = field.spacing[axis] / s[axis].abs();
        let offset = [u, v].map(|a| s[a] * length / field.spacing[a]);
        let length = length * extinction;
        let stride = [1, field.dims.nx, field.dims.nx * field.dims.ny];
        Self { field, axis, u, v, from_top: s[axis] > 0.0, length, offset, stride }
    }

    /// Fills the `n`th layer from the light, given the one before.
    fn layer(&self, n: usize, out: &mut [f32]) {
        let size = self.field.dims.array();
        let place = |n: usize| if self.from_top { size[self.axis] - 1 - n } else { n };
        let (here, before) = (place(n) * self.stride[self.axis], place(n - 1) * self.stride[self.axis]);
        for v in 0..size[self.v] {
            for u in 0..size[self.u] {
                let node = here + u * self.stride[self.u] + v * self.stride[self.v];
                out[node] = self.depth(node, before, [u, v], out);
            }
        }
    }

    fn depth(&self, node: usize, before: usize, at: [usize; 2], depths: &[f32]) -> f32 {
        let size = [self.field.dims.array()[self.u], self.field.dims.array()[self.v]];
        let density = self.field.values[node];
        let mut inside = 1.0_f32;
        let (mut lo, mut f) = ([0; 2], [0.0; 2]);
        for a in 0..2 {
            let (x, last) = (at[a] as f32 + self.offset[a], (size[a] - 1) as f32);
            // Rounding must not push a beam along the border out of the box.
            let beyond = (x - last).max(-x).max(0.0);
            if beyond > 1e-4 {
                inside = inside.min(1.0 - beyond / self.offset[a].abs());
            }
            let x = x.clamp(0.0, last);
            lo[a] = (x as usize).min(size[a].saturating_sub(2));
            f[a] = x - lo[a] as f32;
        }
        if inside < 1.0 {
            return self.length * inside.max(0.0) * density;
        }
        let base = before + lo[0] * self.stride[self.u] + lo[1] * self.stride[self.v];
        let (du, dv) = (
            if size[0] > 1 { self.stride[self.u] } else { 0 },
            if size[1] > 1 { self.stride[self.v] } else { 0 },
        );
        let tap = |values: &[f32]| {
            let near = values[base] + (values[base + du] - values[base]) * f[0];
            let far = values[base + dv] + (values[base + dv + du] - values[base + dv]) * f[0];
            near + (far - near) * f[1]
        };
        (tap(depths) + self.length * 0.5 * (density + tap(self.field.values))).min(OPAQUE)
    }
}

/// The edges of a cube: directions in which the sky is looked at.
fn beams() -> [[f32; 3]; 12] {
    let r = std::f32::consts::FRAC_1_SQRT_2;
    std::array::from_fn(|n| {
        let (pair, signs) = (n / 4, n % 4);
        let mut d = [0.0; 3];
        d[pair] = if signs & 1 == 0 { r } else { -r };
        d[(pair + 1) % 3] = if signs & 2 == 0 { r } else { -r };
        d
    })
}

/// Effective depth towards the sky and the ground. The sky's radiance is taken to go linearly in the
/// sine of elevation from the ground's straight down to the sky's straight up; a beam's share of
/// each is its weight.
fn gather_ambient(field: Nodes, extinction: f32, depths: &mut Vec<Vec<f32>>, out: &mut Vec<[f32; 2]>) {
    let beams = beams();
    depths.resize(beams.len(), Vec::new());
    depths.par_iter_mut().zip(&beams).for_each(|(depth, &s)| sweep(field, extinction, s, depth));
    out.clear();
    out.resize(field.dims.cells(), [0.0; 2]);
    out.par_iter_mut().enumerate().with_min_len(1024).for_each(|(node, out)| {
        let mut arrives = [0.0; 2];
        for (depth, s) in depths.iter().zip(&beams) {
            let clear = (-depth[node]).exp() / beams.len() as f32;
            arrives[0] += (1.0 + s[1]) * clear;
            arrives[1] += (1.0 - s[1]) * clear;
        }
        *out = arrives.map(|share| -share.max(1e-20).ln());
    });
}

fn write_texels(nodes: Dims, sun: &[f32], coarse: Dims, ambient: &[[f32; 2]], out: &mut Vec<[f16; 4]>) {
    let ratio: [f32; 3] =
        std::array::from_fn(|a| (coarse.array()[a] - 1) as f32 / (nodes.array()[a] - 1) as f32);
    out.clear();
    out.resize(nodes.cells(), [f16::ZERO; 4]);
    out.par_chunks_mut(nodes.nx).enumerate().for_each(|(row, texels)| {
        let (j, k) = (row % nodes.ny, row / nodes.ny);
        for (i, texel) in texels.iter_mut().enumerate() {
            let at = [i as f32 * ratio[0], j as f32 * ratio[1], k as f32 * ratio[2]];
            let [sky, ground] = trilinear(coarse, at, |n| ambient[n]);
            *texel = [sun[i + nodes.nx * row], sky, ground, 0.0].map(f16::from_f32);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::procedural;

    fn baked(dims: [usize; 3], sun_direction: [f32; 3]) -> LightVolume {
        let snapshot = procedural::uniform(Dims::new(dims).unwrap(), 0.05, [0.5, 0.25, 0.25, 0.0]);
        let look = Look { extinction: 3.0, sun_direction, ..Look::default() };
        let mut light = LightVolume::default();
        light.bake(&snapshot, &look);
        light
    }

    /// In a uniform box the depth is σ times the way out, for a sun along each axis and side.
    #[test]
    fn depth_of_a_uniform_box() {
        for axis in 0..3 {
            for sign in [-1.0, 1.0] {
                let mut sun = [0.0; 3];
                sun[axis] = sign;
                let light = baked([16, 12, 20], sun);
                let extent = [0.8, 0.6, 1.0];
                for p in [[0.4, 0.3, 0.5], [0.0, 0.0, 0.0], [0.11, 0.57, 0.93], [0.8, 0.6, 1.0]] {
                    let way = if sign > 0.0 { extent[axis] - p[axis] } else { p[axis] };
                    let depth = light.sample(p)[0];
                    assert!(
                        (depth - 3.0 * way).abs() < 4e-3,
                        "sun {sun:?} at {p:?}: {depth}, not {}",
                        3.0 * way
                    );
                }
            }
        }
    }

    /// An oblique sun in the middle of a wide slab: the way out is height over cosine.
    #[test]
    fn depth_under_an_oblique_sun() {
        let light = baked([64, 8, 64], [0.48, 0.64, 0.6]);
        let depth = light.sample([1.6, 0.1, 1.6])[0];
        let way = 0.3 / 0.64;
        assert!((depth - 3.0 * way).abs() < 0.01 * 3.0 * way, "{depth}");
    }

    #[test]
    fn clear_air_hides_nothing() {
        let snapshot = Snapshot::empty(Dims::new([5, 1, 9]).unwrap(), 0.1);
        let mut light = LightVolume::default();
        light.bake(&snapshot, &Look::default());
        assert!(light.texels.iter().flatten().all(|x| x.to_f32().abs() < 1e-3));
    }

    #[test]
    fn same_bits_on_any_number_of_threads() {
        let snapshot = procedural::plume(Dims::new([24, 32, 20]).unwrap(), 0.02, procedural::Tint::Even);
        let bake = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut light = LightVolume::default();
            pool.install(|| light.bake(&snapshot, &Look::default()));
            light.texels
        };
        assert!(bake(1) == bake(3));
    }
}
