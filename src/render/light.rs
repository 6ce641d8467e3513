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

use super::distance::Fields;
use super::solid::Solid;

/// Depths larger than this are as dark.
const OPAQUE: f32 = 1000.0;

/// Optical depths at the nodes, for one snapshot under one look.
#[derive(Debug)]
pub struct LightVolume {
    /// Nodes along each axis.
    pub nodes: Dims,
    /// Distance between nodes \[m\].
    pub spacing: [f32; 3],
    /// At each node, x fastest: optical depth towards the sun, effective depth towards the sky and
    /// towards the ground, and 0.
    pub texels: Vec<[f16; 4]>,
    scale: f32,
    solids: Vec<Solid>,
    fields: Fields,
    scratch: Scratch,
}

/// Memory kept from bake to bake.
#[derive(Clone, Debug, Default)]
struct Scratch {
    planes: Vec<f32>,
    density: Vec<f32>,
    dense: Vec<f32>,
    sun: Vec<f32>,
    discs: Vec<Vec<f32>>,
    pass: [Vec<f32>; 2],
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
            solids: Vec::new(),
            fields: Fields::default(),
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
        self.solids = Solid::all(&snapshot.solids, &mut self.fields);
        gather_density(snapshot, self.nodes, &mut self.scratch.planes, &mut self.scratch.density);
    }

    /// The second half: the depths under a look, from the densities gathered last.
    pub fn cast(&mut self, look: &Look) {
        let (dims, spacing) = (self.nodes, self.spacing);
        let Scratch { density, dense, .. } = &mut self.scratch;
        stand(&self.solids, dims, spacing, look.extinction, density, dense);
        let Scratch { dense, sun, discs, pass, coarse, beams, ambient, .. } = &mut self.scratch;
        let fine = Nodes { dims, spacing, values: dense };
        let half = node_dims(dims.array().map(|n| (n - 1).div_ceil(2)));
        let cast_sun = || gather_sun(fine, look, discs, sun);
        let cast_ambient = || {
            coarsen(fine, half, pass, coarse);
            let ratio = |a: usize| (dims.array()[a] - 1) as f32 / (half.array()[a] - 1) as f32;
            let spacing = std::array::from_fn(|a| spacing[a] * ratio(a));
            gather_ambient(Nodes { dims: half, spacing, values: coarse }, look.extinction, beams, ambient);
        };
        rayon::join(cast_sun, cast_ambient);
        write_texels(dims, &self.scratch.sun, half, &self.scratch.ambient, &mut self.texels);
    }

    /// What stands in the smoke that was gathered last.
    pub(super) fn solids(&self) -> &[Solid] {
        &self.solids
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
pub(in crate::render) fn trilinear<const N: usize>(
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
        Tent::new(first, (first..last).map(weight))
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
        tent.mean_of_rows(planes, out);
    });
}

impl Tent {
    fn new(first: usize, weights: impl Iterator<Item = f32>) -> Self {
        let weights: Vec<f32> = weights.collect();
        let sum: f32 = weights.iter().sum();
        Self { first, weights: weights.iter().map(|w| w / sum).collect() }
    }

    fn mean(&self, row: &[f32]) -> f32 {
        self.weights.iter().zip(&row[self.first..]).map(|(w, x)| w * x).sum()
    }

    /// The mean of whole rows, as long as `out`, of `rows`.
    fn mean_of_rows(&self, rows: &[f32], out: &mut [f32]) {
        for (n, weight) in self.weights.iter().enumerate() {
            let row = &rows[(self.first + n) * out.len()..][..out.len()];
            out.iter_mut().zip(row).for_each(|(out, x)| *out += weight * x);
        }
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

/// `dims` nodes in place of those of `fine`, each the mean of the nodes around it. One axis at a time.
fn coarsen(fine: Nodes, dims: Dims, pass: &mut [Vec<f32>; 2], out: &mut Vec<f32>) {
    let from = fine.dims;
    let [xs, ys, zs] = std::array::from_fn(|a| node_tents(dims.array()[a], from.array()[a]));
    let [in_x, in_xy] = pass;
    in_x.clear();
    in_x.extend(fine.values.chunks_exact(from.nx).flat_map(|row| xs.iter().map(|tent| tent.mean(row))));
    in_xy.clear();
    in_xy.resize(dims.nx * dims.ny * from.nz, 0.0);
    for (plane, out) in in_x.chunks_exact(dims.nx * from.ny).zip(in_xy.chunks_exact_mut(dims.nx * dims.ny)) {
        ys.iter().zip(out.chunks_exact_mut(dims.nx)).for_each(|(tent, out)| tent.mean_of_rows(plane, out));
    }
    out.clear();
    out.resize(dims.cells(), 0.0);
    zs.iter()
        .zip(out.chunks_exact_mut(dims.nx * dims.ny))
        .for_each(|(tent, out)| tent.mean_of_rows(in_xy, out));
}

/// Tents that make `coarse` nodes of `fine` ones; the first and the last stay where they are.
fn node_tents(coarse: usize, fine: usize) -> Vec<Tent> {
    let spacing = (fine - 1) as f32 / (coarse - 1) as f32;
    let tent = |node: usize| {
        let middle = node as f32 * spacing;
        let first = (middle - spacing).ceil().max(0.0) as usize;
        let last = ((middle + spacing).floor() as usize).min(fine - 1);
        Tent::new(first, (first..=last).map(|n| (1.0 - (n as f32 - middle).abs() / spacing).max(0.0)))
    };
    (0..coarse).map(tent).collect()
}

/// Optical depth from every node towards `s`, a unit vector.
fn sweep(field: Nodes, extinction: f32, s: [f32; 3], out: &mut Vec<f32>) {
    out.clear();
    out.resize(field.dims.cells(), 0.0);
    let sweep = Sweep::new(field, extinction, s);
    let mut layers = Layers::new(sweep.size[0] * sweep.size[1]);
    sweep.load(0, &mut layers.density_before);
    for n in 1..field.dims.array()[sweep.axis] {
        sweep.load(n, &mut layers.density);
        sweep.cross(&mut layers);
        sweep.store(n, &layers.depth, out);
        std::mem::swap(&mut layers.depth_before, &mut layers.depth);
        std::mem::swap(&mut layers.density_before, &mut layers.density);
    }
}

/// One direction's layers and the taps between them. `axis` is the one along which `s` is longest; layers are
/// stored with `u`, the other axis that varies faster in memory, running fastest.
struct Sweep<'a> {
    field: Nodes<'a>,
    axis: usize,
    /// Whether the light comes from the side where the coordinate is greatest.
    from_top: bool,
    /// Optical depth between layers along s for each unit of density.
    length: f32,
    /// Where s meets the layer before, in nodes along u and v from the node it left.
    offset: [f32; 2],
    /// Nodes along u and v, and how far apart they are in memory.
    size: [usize; 2],
    stride: [usize; 2],
}

/// A layer of nodes and the one before it.
struct Layers {
    density: Vec<f32>,
    density_before: Vec<f32>,
    depth: Vec<f32>,
    depth_before: Vec<f32>,
    arriving: Vec<f32>,
}

impl Layers {
    fn new(nodes: usize) -> Self {
        let zeros = || vec![0.0; nodes];
        Self {
            density: zeros(),
            density_before: zeros(),
            depth: zeros(),
            depth_before: zeros(),
            arriving: zeros(),
        }
    }
}

impl<'a> Sweep<'a> {
    fn new(field: Nodes<'a>, extinction: f32, s: [f32; 3]) -> Self {
        // In nodes, not metres: layers must be crossed before columns are. On a tie the later axis, whose
        // layers lie closer together in memory.
        let in_nodes = |a: usize| (s[a] / field.spacing[a]).abs() * (1.0 + 1e-5 * a as f32);
        let axis = (0..3).max_by(|&a, &b| in_nodes(a).total_cmp(&in_nodes(b))).expect("three axes");
        let across = [[1, 2], [0, 2], [0, 1]][axis];
        let length = field.spacing[axis] / s[axis].abs();
        Self {
            field,
            axis,
            from_top: s[axis] > 0.0,
            length: length * extinction,
            offset: across.map(|a| s[a] * length / field.spacing[a]),
            size: across.map(|a| field.dims.array()[a]),
            stride: across.map(|a| stride(field.dims, a)),
        }
    }

    /// Where the `n`th layer from the light starts in memory.
    fn start(&self, n: usize) -> usize {
        let last = self.field.dims.array()[self.axis] - 1;
        (if self.from_top { last - n } else { n }) * stride(self.field.dims, self.axis)
    }

    fn load(&self, n: usize, layer: &mut [f32]) {
        for (v, row) in layer.chunks_exact_mut(self.size[0]).enumerate() {
            let from = self.field.values[self.start(n) + v * self.stride[1]..].iter();
            row.iter_mut().zip(from.step_by(self.stride[0])).for_each(|(to, x)| *to = *x);
        }
    }

    fn store(&self, n: usize, layer: &[f32], out: &mut [f32]) {
        for (v, row) in layer.chunks_exact(self.size[0]).enumerate() {
            let to = out[self.start(n) + v * self.stride[1]..].iter_mut();
            to.step_by(self.stride[0]).zip(row).for_each(|(to, x)| *to = *x);
        }
    }

    /// Fills `depth` from the layer before.
    fn cross(&self, layers: &mut Layers) {
        let half = 0.5 * self.length;
        let Layers { density, density_before, depth, depth_before, arriving } = layers;
        for ((sum, depth), density) in arriving.iter_mut().zip(&*depth_before).zip(&*density_before) {
            *sum = depth + half * density;
        }
        let [taps_u, taps_v] = [self.taps(0), self.taps(1)];
        let width = self.size[0];
        for (v, row) in depth.chunks_exact_mut(width).enumerate() {
            let density = &density[v * width..][..width];
            if let Some(first) = taps_v.base(v, self.size[1]) {
                let near = &arriving[first * width..][..width];
                let far = &arriving[taps_v.next(first, self.size[1]) * width..][..width];
                self.cross_row(row, density, [near, far], &taps_u, taps_v.fraction);
            }
            self.cross_border(row, density, v, &taps_u, taps_v.base(v, self.size[1]).is_some());
        }
    }

    /// The nodes of a row whose ray to the layer before stays in the box.
    fn cross_row(&self, out: &mut [f32], density: &[f32], [near, far]: [&[f32]; 2], u: &Taps, v: f32) {
        let half = 0.5 * self.length;
        let (range, width) = (u.range(out.len()), out.len());
        let first = (range.start as isize + u.whole) as usize;
        let second = first + usize::from(first + 1 < width && u.fraction > 0.0);
        let count = range.len();
        let (near, near_next) = (&near[first..], &near[second..]);
        let (far, far_next) = (&far[first..], &far[second..]);
        let (out, density) = (&mut out[range.clone()], &density[range]);
        let (a, b) = ((1.0 - u.fraction) * (1.0 - v), u.fraction * (1.0 - v));
        let (c, d) = ((1.0 - u.fraction) * v, u.fraction * v);
        let (near, near_next) = (&near[..count], &near_next[..count]);
        let (far, far_next) = (&far[..count], &far_next[..count]);
        for i in 0..count {
            let arrives = a * near[i] + b * near_next[i] + c * far[i] + d * far_next[i];
            out[i] = (arrives + half * density[i]).min(OPAQUE);
        }
    }

    /// The nodes of a row whose ray leaves the box before it meets the layer: what is left of its way,
    /// through medium like the node's.
    fn cross_border(&self, out: &mut [f32], density: &[f32], v: usize, u: &Taps, row_inside: bool) {
        let inside = if row_inside { u.range(out.len()) } else { 0..0 };
        let share_v = share_inside(v, self.offset[1], self.size[1]);
        for i in (0..out.len()).filter(|i| !inside.contains(i)) {
            let share = share_v.min(share_inside(i, self.offset[0], self.size[0]));
            out[i] = (self.length * share * density[i]).min(OPAQUE);
        }
    }

    fn taps(&self, a: usize) -> Taps {
        // Rounding must not push a beam along the border, or from node to node, off its nodes.
        let nearest = self.offset[a].round();
        let offset = if (self.offset[a] - nearest).abs() < 1e-4 { nearest } else { self.offset[a] };
        Taps { whole: offset.floor() as isize, fraction: offset - offset.floor() }
    }
}

/// Which nodes of the layer before lie around a ray, along one axis.
struct Taps {
    whole: isize,
    fraction: f32,
}

impl Taps {
    /// The first of the two nodes, or `None` if the ray is outside.
    fn base(&self, at: usize, size: usize) -> Option<usize> {
        self.range(size).contains(&at).then(|| (at as isize + self.whole) as usize)
    }

    fn next(&self, base: usize, size: usize) -> usize {
        if self.fraction > 0.0 { (base + 1).min(size - 1) } else { base }
    }

    /// The nodes whose rays are inside.
    fn range(&self, size: usize) -> std::ops::Range<usize> {
        let last = size as isize - 1 - isize::from(self.fraction > 0.0);
        let clamp = |n: isize| n.clamp(0, size as isize) as usize;
        let (start, end) = (clamp(-self.whole), clamp(last - self.whole + 1));
        start.min(end)..end
    }
}

/// The share of the way from node `at` to `at + offset` that is within the `size` nodes.
fn share_inside(at: usize, offset: f32, size: usize) -> f32 {
    let to = at as f32 + offset;
    let beyond = (to - (size - 1) as f32).max(-to).max(0.0);
    if beyond > 0.0 { (1.0 - beyond / offset.abs()).max(0.0) } else { 1.0 }
}

fn stride(dims: Dims, axis: usize) -> usize {
    [1, dims.nx, dims.nx * dims.ny][axis]
}

/// Depth towards the sun; of a large one, the effective depth over seven points of its disc.
fn gather_sun(field: Nodes, look: &Look, depths: &mut Vec<Vec<f32>>, out: &mut Vec<f32>) {
    let middle = unit(look.sun_direction);
    if look.sun_size < 1.0 {
        return sweep(field, look.extinction, middle, out);
    }
    let points = on_disc(middle, 0.5 * look.sun_size.min(90.0).to_radians());
    depths.resize(points.len(), Vec::new());
    depths.par_iter_mut().zip(&points).for_each(|(depth, &s)| sweep(field, look.extinction, s, depth));
    out.clear();
    let clear =
        |node: usize| depths.iter().map(|depth| (-depth[node]).exp()).sum::<f32>() / points.len() as f32;
    out.par_extend((0..field.dims.cells()).into_par_iter().map(|node| -clear(node).max(1e-30).ln()));
}

/// The middle of a disc and six points around it, each for a seventh of its area.
fn on_disc(middle: [f32; 3], half_angle: f32) -> [[f32; 3]; 7] {
    let m = nalgebra::Vector3::from(middle);
    let aside = if m.x.abs() < 0.7 { nalgebra::Vector3::x() } else { nalgebra::Vector3::y() };
    let u = m.cross(&aside).normalize();
    let v = m.cross(&u);
    std::array::from_fn(|n| {
        let (sin, cos) = (n as f32 * std::f32::consts::TAU / 6.0).sin_cos();
        // Mean radius of the ring that is left when the inner seventh is taken.
        let radius = if n == 0 { 0.0 } else { 0.756 * half_angle.tan() };
        (m + (u * cos + v * sin) * radius).normalize().into()
    })
}

/// The density with solids in it: opaque within a node or two, clear outside their surface.
fn stand(
    solids: &[Solid],
    dims: Dims,
    spacing: [f32; 3],
    extinction: f32,
    density: &[f32],
    out: &mut Vec<f32>,
) {
    /// Optical depth of a solid from one node to the next.
    const DEPTH: f32 = 12.0;
    out.clear();
    out.extend_from_slice(density);
    let edge = spacing.iter().sum::<f32>() / 3.0;
    let full = DEPTH / (edge * extinction.max(1e-6));
    for solid in solids {
        let [xs, ys, zs] = std::array::from_fn(|a| {
            let at = |x: f32| (x / spacing[a]).clamp(0.0, dims.array()[a] as f32) as usize;
            at(solid.center[a] - solid.reach())..at(solid.center[a] + solid.reach() + spacing[a])
        });
        out.par_chunks_mut(dims.nx).enumerate().with_min_len(64).for_each(|(row, out)| {
            let (j, k) = (row % dims.ny, row / dims.ny);
            if !ys.contains(&j) || !zs.contains(&k) {
                return;
            }
            let (y, z) = (j as f32 * spacing[1], k as f32 * spacing[2]);
            for (i, out) in out.iter_mut().enumerate().take(xs.end).skip(xs.start) {
                let inside = -solid.distance([i as f32 * spacing[0], y, z]) / edge;
                *out += full * inside.clamp(0.0, 1.0);
            }
        });
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
    let [xs, ys, zs] = std::array::from_fn(|a| between(nodes.array()[a], coarse.array()[a]));
    out.clear();
    out.resize(nodes.cells(), [f16::ZERO; 4]);
    out.par_chunks_mut(nodes.nx).enumerate().with_min_len(32).for_each(|(row, texels)| {
        let ((y, fy), (z, fz)) = (ys[row % nodes.ny], zs[row / nodes.ny]);
        let coarse_row = |j: usize, k: usize| &ambient[coarse.index(0, j, k)..][..coarse.nx];
        let rows = [coarse_row(y, z), coarse_row(y + 1, z), coarse_row(y, z + 1), coarse_row(y + 1, z + 1)];
        let column = |i: usize| lerp(lerp(rows[0][i], rows[1][i], fy), lerp(rows[2][i], rows[3][i], fy), fz);
        let narrow: Vec<[f32; 2]> = (0..coarse.nx).map(column).collect();
        let sun = &sun[row * nodes.nx..][..nodes.nx];
        let wide: Vec<[f32; 4]> = (xs.iter().zip(sun))
            .map(|(&(x, f), &sun)| {
                let [sky, ground] = lerp(narrow[x], narrow[x + 1], f);
                [sun, sky, ground, 0.0]
            })
            .collect();
        let halves: &mut [f16] = bytemuck::cast_slice_mut(texels);
        halves.convert_from_f32_slice(bytemuck::cast_slice(&wide));
    });
}

/// For each of `fine` nodes the coarse node before it and the share of the one after.
fn between(fine: usize, coarse: usize) -> Vec<(usize, f32)> {
    let at = |n: usize| {
        let x = n as f32 * (coarse - 1) as f32 / (fine - 1) as f32;
        let lo = (x as usize).min(coarse - 2);
        (lo, x - lo as f32)
    };
    (0..fine).map(at).collect()
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
