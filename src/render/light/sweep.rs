//! Optical depths of one direction: layer by layer away from the light, each from the layer before it.

use super::{Nodes, OPAQUE};
use crate::grid::Dims;
use crate::solver::simd::{dispatch, least};

/// Optical depth from every node towards `s`, a unit vector.
pub(super) fn sweep(field: Nodes, extinction: f32, s: [f32; 3], out: &mut Vec<f32>) {
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

/// The layers of one direction and the taps between them. `axis` is that of the largest component of `s`.
/// Layers are stored with `u` fastest, the other axis that varies faster in memory.
struct Sweep<'a> {
    field: Nodes<'a>,
    axis: usize,
    /// Whether the light comes from the side with the greatest coordinate.
    from_top: bool,
    /// Optical depth between layers along s per unit of density.
    length: f32,
    /// Offset in nodes along u and v at which s meets the layer before.
    offset: [f32; 2],
    /// Number of nodes along u and v, and their strides.
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

    /// Index in memory of the `n`th layer from the light.
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

    /// Computes `depth` from the layer before.
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

    /// Nodes of a row whose ray stays in the box up to the layer before.
    fn cross_row(&self, out: &mut [f32], density: &[f32], [near, far]: [&[f32]; 2], u: &Taps, v: f32) {
        let half = 0.5 * self.length;
        let (range, width) = (u.range(out.len()), out.len());
        let first = (range.start as isize + u.whole) as usize;
        let second = first + usize::from(first + 1 < width && u.fraction > 0.0);
        let count = range.len();
        let (near, near_next) = (&near[first..], &near[second..]);
        let (far, far_next) = (&far[first..], &far[second..]);
        let weights =
            [(1.0 - u.fraction) * (1.0 - v), u.fraction * (1.0 - v), (1.0 - u.fraction) * v, u.fraction * v];
        let taps = [&near[..count], &near_next[..count], &far[..count], &far_next[..count]];
        grow(&mut out[range.clone()], taps, weights, &density[range], half);
    }

    /// Nodes of a row whose ray leaves the box before it meets the layer: the remaining distance through the
    /// node's own medium.
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

dispatch! {
    /// Depths from those at four taps, plus half a step through the nodes' own medium.
    fn grow(out: &mut [f32], taps: [&[f32]; 4], weights: [f32; 4], density: &[f32], half: f32) = grow_kernel;
}

#[inline(always)]
fn grow_kernel<const FMA: bool>(
    out: &mut [f32],
    [near, near_next, far, far_next]: [&[f32]; 4],
    [a, b, c, d]: [f32; 4],
    density: &[f32],
    half: f32,
) {
    let count = out.len();
    let (near, near_next, density) = (&near[..count], &near_next[..count], &density[..count]);
    let (far, far_next) = (&far[..count], &far_next[..count]);
    for i in 0..count {
        let arrives = a * near[i] + b * near_next[i] + c * far[i] + d * far_next[i];
        out[i] = least(arrives + half * density[i], OPAQUE);
    }
}

/// Nodes of the layer before around a ray, along one axis.
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

    /// Nodes whose rays are inside.
    fn range(&self, size: usize) -> std::ops::Range<usize> {
        let last = size as isize - 1 - isize::from(self.fraction > 0.0);
        let clamp = |n: isize| n.clamp(0, size as isize) as usize;
        let (start, end) = (clamp(-self.whole), clamp(last - self.whole + 1));
        start.min(end)..end
    }
}

/// Share of the segment from node `at` to `at + offset` within the `size` nodes.
fn share_inside(at: usize, offset: f32, size: usize) -> f32 {
    let to = at as f32 + offset;
    let beyond = (to - (size - 1) as f32).max(-to).max(0.0);
    if beyond > 0.0 { (1.0 - beyond / offset.abs()).max(0.0) } else { 1.0 }
}

fn stride(dims: Dims, axis: usize) -> usize {
    [1, dims.nx, dims.nx * dims.ny][axis]
}
