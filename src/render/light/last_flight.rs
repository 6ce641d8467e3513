//! The last flight of light: φ and J in all cubes of what these send.
//!
//! One sweep is enough for light that is known when it is sent, so there can be many directions: 216 in a grid of at most 36 cubes along an axis,
//! 384 in a larger one. Along fourteen, something small and bright would light the rest in beams. A ray that arrives in the middle of a cube
//! comes from the layer of cubes before, and is interpolated between middles there (short characteristics: Kunasz and Auer 1988), by
//! quadratic B-splines. These widen it as it goes by the same for all slopes, which closes the gaps between directions. Linear interpolation
//! widens nothing along axes and diagonals, and gathers light there.
//!
//! The directions lead to the middles of squares on the faces of a cube, which the tangent makes about equally wide: after any number of layers
//! the rays of a source stand in rows and columns, and splines add up to an even light.

use fearless_simd::prelude::*;
use rayon::prelude::*;

use super::ordinates::{LinearStep, MediumCubes, Moments, Sent, THICK, through};
use crate::grid::Dims;
use crate::simd::each_level;
use crate::simd::vectors::{EIGHT, Simd, f32x8, strips, strips_mut};

/// Squares from the middle of a face to its edge, and the same in a grid longer than [`SHORT`] \[cubes\].
const SQUARES: usize = 3;
const MORE_SQUARES: usize = 4;
const SHORT: usize = 36;
/// Directions of an [`Orbit`] that go the same way through the layers.
const TOGETHER: usize = 8;
/// Cubes around a layer that its splines may read.
const BORDER: usize = 2;
/// For layers across x, y and z: the axes along a row, across the rows, and across the layers. Up is across the rows if it can be.
const AXES: [[usize; 3]; 3] = [[2, 1, 0], [0, 2, 1], [0, 1, 2]];

/// Memory for the three colours, reused from flight to flight.
#[derive(Debug, Default)]
pub(super) struct LastFlight {
    /// Whether sources are linear within cubes, and light is the mean over a cube and not that in its middle.
    pub linear: bool,
    colors: [Layers; 3],
}

impl LastFlight {
    /// Sets `out` to the light of all cubes. `columns` is the radiance of the floor below each column of cubes, x fastest;
    /// empty without one. Of `walls` none is sent in a direction that is more than twice the even part.
    pub fn arrive(
        &mut self,
        medium: &MediumCubes,
        sent: &[Sent; 3],
        columns: &[[f32; 3]],
        walls: bool,
        out: &mut [Moments; 3],
    ) {
        let linear = self.linear;
        self.colors.par_iter_mut().zip(sent).zip(out).enumerate().for_each(
            |(channel, ((layers, sent), out))| {
                for values in out.all_mut() {
                    values.clear();
                    values.resize(medium.dims.cells(), 0.0);
                }
                for axes in AXES {
                    layers.linear = linear;
                    layers.load(medium, sent, channel, axes);
                    layers.load_floor(medium.dims, columns, channel);
                    layers.cross(walls);
                    layers.add_to(medium.dims, out);
                }
            },
        );
    }
}

/// The cubes in layers across one axis; rows are padded to whole strips of eight with empty cubes.
#[derive(Debug, Default)]
struct Layers {
    axes: [usize; 3],
    /// Edge of a cube \[m\].
    h: f32,
    /// Cubes along a row without padding, and with it; rows; layers.
    count: usize,
    width: usize,
    rows: usize,
    layers: usize,
    extinction: Vec<f32>,
    even: Vec<f32>,
    /// Along a row, across the rows, and across the layers.
    along: [Vec<f32>; 3],
    /// [`LastFlight::linear`].
    linear: bool,
    /// Transmittance of a step in the directions of an orbit, and its mean over the step, or that of half a step.
    passes: Vec<f32>,
    means: Vec<f32>,
    /// Whether strips of cubes have any that is deeper than [`THICK`], and the change of `even` over a cube as [`Layers::along`].
    thick: Vec<bool>,
    changes: [Vec<f32>; 3],
    /// Radiance of the floor: below each row if the layers are upright, below each cube of the lowest layer otherwise.
    floor: Vec<f32>,
    /// The light of directions up through the layers, and down.
    halves: [Half; 2],
}

#[derive(Debug, Default)]
struct Half {
    /// φ, and J as [`Layers::along`].
    moments: [Vec<f32>; 4],
    /// Radiance that leaves the cubes of the layer before and of this one, with a border.
    before: [Vec<f32>; TOGETHER],
    after: [Vec<f32>; TOGETHER],
    /// That of the layer before, interpolated across the rows, for one row.
    blended: [Vec<f32>; TOGETHER],
}

/// A direction, and all that turn into it if axes change places or signs.
struct Orbit {
    /// Components, the largest first.
    components: [f32; 3],
    /// Weight of each direction; all together have 1.
    weight: f32,
}

impl Orbit {
    /// Those of all squares, with the solid angle of each as its weight.
    fn all(squares: usize) -> Vec<Self> {
        let slope = |n: usize| (std::f32::consts::FRAC_PI_4 * (n as f32 + 0.5) / squares as f32).tan();
        let mut all = Vec::new();
        let mut sum = 0.0;
        for (i, j) in (0..squares).flat_map(|i| (0..=i).map(move |j| (i, j))) {
            let [u, v] = [i, j].map(slope);
            let length = (1.0 + u * u + v * v).sqrt();
            let weight = (1.0 + u * u) * (1.0 + v * v) / length.powi(3);
            sum += weight * if i == j { 24.0 } else { 48.0 };
            all.push(Self { components: [1.0, u, v].map(|x| x / length), weight });
        }
        all.iter_mut().for_each(|orbit| orbit.weight /= sum);
        all
    }
}

/// Directions that are followed together: all of an orbit that lead the same way through the layers.
struct Directions {
    /// Components of the first four along a row and across the rows. Of the others they change places; if they are equal there are no
    /// others.
    components: [[f32; 2]; 2],
    pairs: usize,
    across: f32,
    weight: f32,
    up: bool,
}

impl Layers {
    fn load(&mut self, medium: &MediumCubes, sent: &Sent, channel: usize, axes: [usize; 3]) {
        let size = medium.dims.array();
        let [count, rows, layers] = axes.map(|a| size[a]);
        let width = count.next_multiple_of(EIGHT);
        (self.axes, self.h) = (axes, medium.h);
        (self.count, self.width, self.rows, self.layers) = (count, width, rows, layers);
        let own = [&mut self.extinction, &mut self.even, &mut self.passes, &mut self.means];
        let moments = self.halves.iter_mut().flat_map(|half| &mut half.moments);
        for values in own.into_iter().chain(&mut self.along).chain(moments) {
            values.clear();
            values.resize(width * rows * layers, 0.0);
        }
        let strides = [1, medium.dims.nx, medium.dims.nx * medium.dims.ny];
        let [by, by_row, by_layer] = axes.map(|a| strides[a]);
        let mut sent_by_smoke = vec![false; width * rows * layers];
        for layer in 0..layers {
            for row in 0..rows {
                let (from, to) = (layer * by_layer + row * by_row, (layer * rows + row) * width);
                for i in 0..count {
                    let n = from + i * by;
                    if medium.extinction[n] > 0.0 {
                        sent_by_smoke[to + i] = medium.solid.get(n).is_none_or(|&solid| solid <= 0.5);
                        self.extinction[to + i] = medium.extinction[n] * medium.unpeaked(channel, n);
                        self.even[to + i] = sent.even[n];
                        for (along, a) in self.along.iter_mut().zip(axes) {
                            along[to + i] = sent.along[a][n];
                        }
                    }
                }
            }
        }
        self.find_changes(&sent_by_smoke);
    }

    /// Finds the strips that are thick, and the change of what their cubes send.
    fn find_changes(&mut self, sends: &[bool]) {
        let least = THICK / self.h;
        let Self { linear, extinction, even, thick, changes, width, rows, .. } = self;
        thick.clear();
        thick.extend(extinction.chunks_exact(EIGHT).map(|strip| *linear && strip.iter().any(|&x| x > least)));
        for values in changes.iter_mut() {
            values.resize(extinction.len(), 0.0);
        }
        for strip in (0..thick.len()).filter(|&strip| thick[strip]) {
            for n in (strip * EIGHT..(strip + 1) * EIGHT).filter(|&n| sends[n]) {
                let at = [n % *width, n / *width % *rows, n / (*width * *rows)];
                let size = [*width, *rows, extinction.len() / (*width * *rows)];
                for (a, by) in [1, *width, *width * *rows].into_iter().enumerate() {
                    let below = at[a] > 0 && sends[n - by];
                    let above = at[a] + 1 < size[a] && sends[n + by];
                    let mut sum = 0.0;
                    if below {
                        sum += even[n] - even[n - by];
                    }
                    if above {
                        sum += even[n + by] - even[n];
                    }
                    changes[a][n] = if below && above { 0.5 * sum } else { sum };
                }
            }
        }
    }

    fn load_floor(&mut self, dims: Dims, columns: &[[f32; 3]], channel: usize) {
        self.floor.clear();
        if columns.is_empty() {
            return;
        }
        // Rows lie along x or z, and layers or rows follow each other along the other.
        let (x, z) = if self.axes[0] == 0 { (1, dims.nx) } else { (dims.nx, 1) };
        let other = if self.axes[2] == 1 { self.rows } else { self.layers };
        self.floor.resize(self.width * other, 0.0);
        for n in 0..other {
            for i in 0..self.count {
                self.floor[n * self.width + i] = columns[i * x + n * z][channel];
            }
        }
    }

    /// Follows all directions that are steepest across the layers.
    fn cross(&mut self, walls: bool) {
        let stride = self.width + 2 * BORDER;
        // Rows are read in whole strips, the last beyond its end.
        let plane = stride * (self.rows + 2 * BORDER) + EIGHT;
        let longest = self.count.max(self.rows).max(self.layers);
        for orbit in Orbit::all(if longest > SHORT { MORE_SQUARES } else { SQUARES }) {
            let Orbit { components: [across, aside, least], weight } = orbit;
            let pairs = if aside == least { 1 } else { 2 };
            let step = self.h / across;
            let Self { passes, means, extinction, linear, .. } = self;
            let linear = *linear;
            for ((passes, mean), extinction) in passes.iter_mut().zip(means).zip(&*extinction) {
                [*passes, *mean] = through(step * extinction);
                if !linear {
                    *mean = passes.sqrt();
                }
            }
            let mut halves = std::mem::take(&mut self.halves);
            let layers = &*self;
            let follow = |half: &mut Half, up: bool| {
                for values in half.before.iter_mut().chain(&mut half.after) {
                    values.clear();
                    values.resize(plane, 0.0);
                }
                half.blended.iter_mut().for_each(|row| row.resize(self.width + EIGHT, 0.0));
                let components = [[aside, least], [least, aside]];
                let directions = Directions { components, pairs, across, weight, up };
                match walls {
                    true => cross_walls(layers, &directions, half),
                    false => cross(layers, &directions, half),
                }
            };
            let [up, down] = &mut halves;
            rayon::join(|| follow(up, true), || follow(down, false));
            self.halves = halves;
        }
    }

    /// Adds the moments to those of cubes in the order of the grid.
    fn add_to(&self, dims: Dims, out: &mut Moments) {
        let strides = [1, dims.nx, dims.nx * dims.ny];
        let [by, by_row, by_layer] = self.axes.map(|a| strides[a]);
        let [x, y, z] = self.axes;
        let all = out.all_mut();
        for (n, to) in [0, x + 1, y + 1, z + 1].into_iter().enumerate() {
            let [up, down] = [0, 1].map(|half| &self.halves[half].moments[n]);
            for layer in 0..self.layers {
                for row in 0..self.rows {
                    let (from, to_first) =
                        ((layer * self.rows + row) * self.width, layer * by_layer + row * by_row);
                    for i in 0..self.count {
                        all[to][to_first + i * by] += up[from + i] + down[from + i];
                    }
                }
            }
        }
    }
}

each_level! {
    /// Follows directions through all layers.
    fn cross(layers: &Layers, directions: &Directions, half: &mut Half) = cross_kernel;
}

each_level! {
    /// The same with no radiance above twice the even part.
    fn cross_walls(layers: &Layers, directions: &Directions, half: &mut Half) = cross_walls_kernel;
}

#[inline(always)]
fn cross_kernel<S: Simd>(s: S, layers: &Layers, directions: &Directions, half: &mut Half) {
    cross_layers::<S, false>(s, layers, directions, half);
}

#[inline(always)]
fn cross_walls_kernel<S: Simd>(s: S, layers: &Layers, directions: &Directions, half: &mut Half) {
    cross_layers::<S, true>(s, layers, directions, half);
}

#[inline(always)]
fn cross_layers<S: Simd, const WALLS: bool>(s: S, layers: &Layers, directions: &Directions, half: &mut Half) {
    let Layers { axes, width, rows, layers: count, floor, .. } = layers;
    let (width, rows, count) = (*width, *rows, *count);
    let stride = width + 2 * BORDER;
    let (up, vertical) = (directions.up, axes[2] == 1);
    if vertical && up && !floor.is_empty() {
        for values in &mut half.before {
            for row in 0..rows {
                values[(row + BORDER) * stride + BORDER..][..width]
                    .copy_from_slice(&floor[row * width..][..width]);
            }
        }
    }
    for step in 0..count {
        let layer = if up { step } else { count - 1 - step };
        if !vertical && !floor.is_empty() {
            // Directions that lead up across the rows come from the floor to the lowest row.
            for n in [0, 1, 4, 5] {
                for row in 0..BORDER {
                    half.before[n][row * stride + BORDER..][..width]
                        .copy_from_slice(&floor[layer * width..][..width]);
                }
            }
        }
        for row in 0..rows {
            blend_rows(s, directions, half, row * stride, stride);
            let first = (layer * rows + row) * width;
            cross_row::<S, WALLS>(s, layers, directions, half, [first, (row + BORDER) * stride + BORDER]);
        }
        for n in 0..4 * directions.pairs {
            extend(&mut half.after[n], n, [width, rows]);
        }
        std::mem::swap(&mut half.before, &mut half.after);
    }
}

/// Extends a layer where the n-th direction leaves the box: what is beyond is as bright.
#[inline(always)]
fn extend(values: &mut [f32], n: usize, [width, rows]: [usize; 2]) {
    let stride = width + 2 * BORDER;
    let [from, to] = if n & 1 == 0 { [BORDER + width - 1, BORDER + width] } else { [BORDER, BORDER - 1] };
    for row in BORDER..BORDER + rows {
        values[row * stride + to] = values[row * stride + from];
    }
    let [from, to] = if n & 2 == 0 { [BORDER + rows - 1, BORDER + rows] } else { [BORDER, BORDER - 1] };
    values.copy_within(from * stride..(from + 1) * stride, to * stride);
}

/// Weights of a spline for a shift against the direction, and the whole shift nearest to it, which has the middle one \[cubes\].
#[inline(always)]
fn spline(shift: f32) -> ([f32; 3], usize) {
    let nearest = if shift < 0.5 { 0 } else { 1 };
    let x = shift - nearest as f32;
    ([0.5 * (0.5 - x) * (0.5 - x), 0.75 - x * x, 0.5 * (0.5 + x) * (0.5 + x)], nearest)
}

/// Places of the three values of a spline for a cube at `here`, from the one farthest ahead. Cubes lie `by` apart; `ahead` tells whether the
/// direction leads to higher places.
#[inline(always)]
fn places(here: usize, nearest: usize, by: usize, ahead: bool) -> [usize; 3] {
    if ahead {
        [here + by - nearest * by, here - nearest * by, here - nearest * by - by]
    } else {
        [here + nearest * by - by, here + nearest * by, here + nearest * by + by]
    }
}

/// Interpolates the layer before across the rows. Of its row without a border, the place in a plane is `start` and the rows of the border.
#[inline(always)]
fn blend_rows<S: Simd>(s: S, directions: &Directions, half: &mut Half, start: usize, stride: usize) {
    let Half { before, blended, .. } = half;
    for n in 0..4 * directions.pairs {
        let shift = directions.components[n / 4][1] / directions.across;
        let (weights, nearest) = spline(shift);
        let [p, q, r] = places(start + BORDER * stride, nearest, stride, n & 2 == 0);
        let row = blended[n].as_chunks_mut().0;
        let count = row.len();
        let (p, q, r) =
            (strips(&before[n], p, count), strips(&before[n], q, count), strips(&before[n], r, count));
        let (first, second, third) =
            (s.splat_f32x8(weights[0]), s.splat_f32x8(weights[1]), s.splat_f32x8(weights[2]));
        for i in 0..count {
            let mut sum = first * f32x8::load_array_ref(s, &p[i]);
            sum = second.mul_add(f32x8::load_array_ref(s, &q[i]), sum);
            sum = third.mul_add(f32x8::load_array_ref(s, &r[i]), sum);
            sum.store_array(&mut row[i]);
        }
    }
}

/// A row of cubes; `first` is its first in the layers, `here` that in planes with a border.
#[inline(always)]
fn cross_row<S: Simd, const WALLS: bool>(
    s: S,
    layers: &Layers,
    directions: &Directions,
    half: &mut Half,
    [first, here]: [usize; 2],
) {
    let Layers { width, even, along: [x, y, z], passes, means, .. } = layers;
    let [change_x, change_y, change_z] = &layers.changes;
    let thick = &layers.thick[first / EIGHT..][..width / EIGHT];
    let Half { moments: [mean, to_x, to_y, to_z], after, blended, .. } = half;
    let count = width / EIGHT;
    let Directions { components, pairs, across, weight, up } = *directions;
    let signed = if up { across } else { -across };
    let zero = s.splat_f32x8(0.0);
    // All slices are taken ahead of the loop, which then checks no bounds.
    let (even, passes) = (strips(even, first, count), strips(passes, first, count));
    let means = strips(means, first, count);
    let changes = [change_x, change_y, change_z].map(|values| strips(values, first, count));
    let (x, y, z) = (strips(x, first, count), strips(y, first, count), strips(z, first, count));
    let (mean, to_z) = (strips_mut(mean, first, count), strips_mut(to_z, first, count));
    let (to_x, to_y) = (strips_mut(to_x, first, count), strips_mut(to_y, first, count));
    let mut sources: [[&[[f32; EIGHT]]; 3]; TOGETHER] = [[&[]; 3]; TOGETHER];
    let mut weights = [[zero; 3]; 2];
    for n in 0..4 * pairs {
        let (spline, nearest) = spline(components[n / 4][0] / across);
        let [p, q, r] = places(BORDER, nearest, 1, n & 1 == 0);
        sources[n] =
            [strips(&blended[n], p, count), strips(&blended[n], q, count), strips(&blended[n], r, count)];
        weights[n / 4] = [s.splat_f32x8(spline[0]), s.splat_f32x8(spline[1]), s.splat_f32x8(spline[2])];
    }
    let [a, b, c, d, e, f, g, h] = after;
    let after = [
        strips_mut(a, here, count),
        strips_mut(b, here, count),
        strips_mut(c, here, count),
        strips_mut(d, here, count),
        strips_mut(e, here, count),
        strips_mut(f, here, count),
        strips_mut(g, here, count),
        strips_mut(h, here, count),
    ];
    for i in 0..count {
        let even = f32x8::load_array_ref(s, &even[i]);
        let passes = f32x8::load_array_ref(s, &passes[i]);
        let means = f32x8::load_array_ref(s, &means[i]);
        let is_linear = !WALLS && thick[i];
        let through = LinearStep::new(s, passes, means);
        let [change_x, change_y, change_z] = changes.map(|values| f32x8::load_array_ref(s, &values[i]));
        let change_z = if up { change_z } else { zero - change_z };
        let x = f32x8::load_array_ref(s, &x[i]);
        let y = f32x8::load_array_ref(s, &y[i]);
        let base = s.splat_f32x8(signed).mul_add(f32x8::load_array_ref(s, &z[i]), even);
        let most = even + even;
        let (mut all, mut by_x, mut by_y) = (zero, zero, zero);
        for pair in 0..pairs {
            let [aside, least] = components[pair];
            let [first, second, third] = weights[pair];
            let (u, v) = (s.splat_f32x8(aside) * x, s.splat_f32x8(least) * y);
            let change_u = s.splat_f32x8(aside / across) * change_x;
            let change_v = s.splat_f32x8(least / across) * change_y;
            let mut middles = [zero; 4];
            for n in 0..4 {
                let [p, q, r] = &sources[4 * pair + n];
                let mut radiance = first * f32x8::load_array_ref(s, &p[i]);
                radiance = second.mul_add(f32x8::load_array_ref(s, &q[i]), radiance);
                radiance = third.mul_add(f32x8::load_array_ref(s, &r[i]), radiance);
                let mut source = if n & 1 == 0 { base + u } else { base - u };
                source = if n & 2 == 0 { source + v } else { source - v };
                source = source.max(zero);
                if WALLS {
                    source = source.min(most);
                }
                let mut leaves = passes.mul_add(radiance - source, source);
                middles[n] = means.mul_add(radiance - source, source);
                if is_linear {
                    let mut change = if n & 1 == 0 { change_z + change_u } else { change_z - change_u };
                    change = if n & 2 == 0 { change + change_v } else { change - change_v };
                    [leaves, middles[n]] = through.through(radiance, through.sent(s, source, change));
                }
                leaves.store_array(&mut after[4 * pair + n][i]);
            }
            let (above, below) = (middles[0] + middles[1], middles[2] + middles[3]);
            all += above + below;
            let (ahead, back) = (middles[0] + middles[2], middles[1] + middles[3]);
            by_x = s.splat_f32x8(aside).mul_add(ahead - back, by_x);
            by_y = s.splat_f32x8(least).mul_add(above - below, by_y);
        }
        let weight = s.splat_f32x8(weight);
        weight.mul_add(all, f32x8::load_array_ref(s, &mean[i])).store_array(&mut mean[i]);
        weight.mul_add(by_x, f32x8::load_array_ref(s, &to_x[i])).store_array(&mut to_x[i]);
        weight.mul_add(by_y, f32x8::load_array_ref(s, &to_y[i])).store_array(&mut to_y[i]);
        let by_z = s.splat_f32x8(signed) * all;
        weight.mul_add(by_z, f32x8::load_array_ref(s, &to_z[i])).store_array(&mut to_z[i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::medium::Phase;

    fn medium(dims: Dims, extinction: f32) -> MediumCubes {
        let cells = dims.cells();
        MediumCubes {
            dims,
            h: 0.1,
            extinction: vec![extinction; cells],
            albedo: [vec![0.0; cells], vec![0.0; cells], vec![0.0; cells]],
            phase: Phase { forward: 0.0, g: 0.0 },
            ..MediumCubes::default()
        }
    }

    fn light(medium: &MediumCubes, sent: Sent) -> Moments {
        let mut out = <[Moments; 3]>::default();
        LastFlight::default().arrive(medium, &[sent.clone(), sent.clone(), sent], &[], false, &mut out);
        let [red, _, _] = out;
        red
    }

    const DIMS: Dims = Dims { nx: 21, ny: 19, nz: 17 };

    /// Deep within thick smoke that sends 1, it is 1; thin smoke sends as much as it hides.
    #[test]
    fn even_smoke_is_as_bright_as_it_sends() {
        let dark = || vec![0.0; DIMS.cells()];
        let sent = Sent { even: vec![1.0; DIMS.cells()], along: [dark(), dark(), dark()] };
        let thick = light(&medium(DIMS, 50.0), sent);
        let middle = DIMS.index(10, 9, 8);
        assert!((thick.mean[middle] - 1.0).abs() < 1e-4, "{}", thick.mean[middle]);
        for axis in 0..3 {
            assert!(thick.flux[axis][middle].abs() < 1e-4);
        }
        // On a plane half of all comes from within.
        let side = thick.mean[DIMS.index(0, 9, 8)];
        assert!(side > 0.5 && side < 1.0, "{side}");
    }

    /// A few cubes light all others as the square of the distance, in any direction, and no mirror image differs.
    #[test]
    fn a_few_cubes_light_all_directions() {
        let dims = Dims { nx: 25, ny: 25, nz: 25 };
        let mut medium = medium(dims, 0.0);
        let dark = || vec![0.0; dims.cells()];
        let mut sent = Sent { even: dark(), along: [dark(), dark(), dark()] };
        for n in 0..27 {
            let [i, j, k] = [n % 3, n / 3 % 3, n / 9].map(|i| 11 + i);
            medium.extinction[dims.index(i, j, k)] = 1e-3;
            sent.even[dims.index(i, j, k)] = 1.0;
        }
        let out = light(&medium, sent);
        let power = 27.0 * 1e-3 * 0.1_f32.powi(3) / (4.0 * std::f32::consts::PI);
        let (mut least, mut most) = (f32::MAX, 0.0_f32);
        for n in 0..dims.cells() {
            let at = dims.place(n).map(|i| i as f32 - 12.0);
            let away = at.iter().map(|x| x * x).sum::<f32>().sqrt();
            if !(4.0..12.0).contains(&away) {
                continue;
            }
            let ratio = out.mean[n] * (0.1 * away).powi(2) / power;
            (least, most) = (least.min(ratio), most.max(ratio));
            let [i, j, k] = at.map(|x| (12.0 - x) as usize);
            let other = out.mean[dims.index(i, j, k)];
            assert!((other - out.mean[n]).abs() <= 1e-5 * other, "{at:?}");
        }
        assert!(least > 0.9 && most < 1.2, "{least} to {most}");
    }
}
