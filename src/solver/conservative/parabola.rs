//! Lines of cells advected along themselves: the piecewise parabolic method (Colella & Woodward 1984) in flux form.
//!
//! [`ACROSS`] lines lie side by side, cell after cell, each of the four scalars for itself, so that what depends on the flow alone
//! is found once for all of them. All that is done is done to flat arrays, with neighbours `ACROSS` apart, so that it vectorises
//! alike along x and across it. Indices count from [`HALO`] cells before the first of a line.

use crate::solver::simd::{dispatch, fma, greatest, least};

/// Lines that are done together: a brick.
pub const ACROSS: usize = 8;

/// Cells beyond each end of a line from which an edge is interpolated.
pub const BEYOND: usize = 3;

/// Cells beyond each end of a line that there is room for: more than the air crosses in one sweep.
pub const HALO: usize = 12;

/// Numbers that are read as none where something is divided by them.
const TINY: f32 = 1e-30;

/// Volumes are read as no less than this where something is divided by them.
const LEAST_VOLUME: f32 = 1e-3;

/// Memory for lines of cells side by side.
pub struct Lines {
    /// The scalars at the cells.
    pub values: [Vec<f32>; 4],
    /// Volume of air in each cell, in cells.
    pub volume: Vec<f32>,
    /// Volume of air that crosses the face below each cell, in cells.
    pub courant: Vec<f32>,
    /// 1 at open faces below cells, 0 at closed ones.
    pub open: Vec<f32>,
    /// What crosses the face below each cell.
    pub flux: Vec<f32>,
    /// What of the volume that crosses a face comes from the cell beside it, and which part of the volume there that is.
    near: Vec<f32>,
    share: Vec<f32>,
    /// One by the volume afterwards.
    inverse: Vec<f32>,
    pub edges: Vec<f32>,
    /// Of the parabola of each cell its values at the faces below and above.
    low: Vec<f32>,
    high: Vec<f32>,
}

/// The values that belong to cells `from..to` of lines.
fn part(values: &[f32], [from, to]: [usize; 2]) -> &[f32] {
    &values[from * ACROSS..to * ACROSS]
}

fn part_mut(values: &mut [f32], [from, to]: [usize; 2]) -> &mut [f32] {
    &mut values[from * ACROSS..to * ACROSS]
}

impl Lines {
    /// For lines of up to `n` cells.
    pub fn new(n: usize) -> Self {
        let new = || vec![0.0; ACROSS * (n + 2 * HALO + 1)];
        Self {
            values: [new(), new(), new(), new()],
            volume: new(),
            courant: new(),
            open: new(),
            flux: new(),
            near: new(),
            share: new(),
            inverse: new(),
            edges: new(),
            low: new(),
            high: new(),
        }
    }

    /// Finds from the volumes and what crosses the faces of cells `first..end` what all scalars need; whether any air comes from
    /// further than the next cell.
    pub fn weigh(&mut self, [first, end]: [usize; 2]) -> bool {
        let Self { volume, courant, near, share, inverse, .. } = self;
        let faces = [first, end + 1];
        let mut most = 0.0;
        find_shares(
            part(courant, faces),
            [part(volume, [first - 1, end]), part(volume, faces)],
            [part_mut(near, faces), part_mut(share, faces)],
            &mut most,
        );
        let cells = [first, end];
        let courant = [part(courant, cells), part(courant, [first + 1, end + 1])];
        invert(courant, part(volume, cells), part_mut(inverse, cells));
        most > 0.0
    }

    /// Finds the parabolas of scalar `c` in cells `first..end`.
    pub fn fit(&mut self, c: usize, [first, end]: [usize; 2], walled: bool) {
        let Self { values, open, edges, low, high, .. } = self;
        let (faces, cells) = ([first, end + 1], [first, end]);
        let around = part(&values[c], [first - BEYOND, end + BEYOND]);
        let sides = [part_mut(low, cells), part_mut(high, cells)];
        let edges = part_mut(edges, faces);
        if walled {
            let open = part(open, [first - BEYOND, end + 1 + BEYOND]);
            walled_edges(around, open, edges);
            walled_limits(around, edges, open, sides);
        } else {
            find_edges(around, edges);
            limit(around, edges, sides);
        }
    }

    /// Beyond both ends of cells `first..end`, takes the values for the parabolas, or repeats those of the other end.
    pub fn fit_beyond(&mut self, c: usize, [first, end]: [usize; 2], count: usize, periodic: bool) {
        let Self { values, low, high, .. } = self;
        let n = end - first;
        for depth in 0..count {
            for (to, from) in [(first - 1 - depth, end - 1 - depth % n), (end + depth, first + depth % n)] {
                for side in [&mut *low, &mut *high] {
                    if periodic {
                        side.copy_within(from * ACROSS..(from + 1) * ACROSS, to * ACROSS);
                    } else {
                        let beyond = part(&values[c], [to, to + 1]);
                        part_mut(side, [to, to + 1]).copy_from_slice(beyond);
                    }
                }
            }
        }
    }

    /// Finds what of scalar `c` crosses the faces of cells `first..end`.
    pub fn cross(&mut self, c: usize, [first, end]: [usize; 2], deep: bool) {
        let Self { values, volume, courant, flux, near, share, low, high, .. } = self;
        let (faces, before) = ([first, end + 1], [first - 1, end]);
        let values = &values[c];
        find_flux(
            [part(values, before), part(values, faces)],
            [part(low, before), part(low, faces)],
            [part(high, before), part(high, faces)],
            [part(near, faces), part(share, faces)],
            part_mut(flux, faces),
        );
        if deep {
            add_further([values, low, high, volume], courant, faces, flux);
        }
    }

    /// Moves what crosses the faces; the volumes afterwards are taken for 1 if that `ends` a step.
    pub fn update(&mut self, c: usize, [first, end]: [usize; 2], ends: bool) {
        let Self { values, volume, flux, inverse, .. } = self;
        let cells = [first, end];
        let flux = [part(flux, cells), part(flux, [first + 1, end + 1])];
        let values = part_mut(&mut values[c], cells);
        if ends {
            add_flux(flux, part(volume, cells), values);
        } else {
            exchange(flux, part(volume, cells), part(inverse, cells), values);
        }
    }
}

dispatch! { fn find_edges(values: &[f32], out: &mut [f32]) = edges_kernel; }

/// Values at faces by the polynomial through the means of six cells, held between the two beside it.
#[inline(always)]
fn edges_kernel<const FMA: bool>(values: &[f32], out: &mut [f32]) {
    let n = out.len();
    let [a, b, c] = [0, 1, 2].map(|d| &values[d * ACROSS..][..n]);
    let [d, e, f] = [3, 4, 5].map(|d| &values[d * ACROSS..][..n]);
    for i in 0..n {
        out[i] = edge::<FMA>([a[i], b[i], c[i], d[i], e[i], f[i]]);
    }
}

#[inline(always)]
fn edge<const FMA: bool>([a, b, c, d, e, f]: [f32; 6]) -> f32 {
    const NEAR: f32 = 37.0 / 60.0;
    const NEXT: f32 = -8.0 / 60.0;
    const FAR: f32 = 1.0 / 60.0;
    let at = fma::<FMA>(NEAR, c + d, fma::<FMA>(NEXT, b + e, FAR * (a + f)));
    least(greatest(at, least(c, d)), greatest(c, d))
}

dispatch! { fn walled_edges(values: &[f32], open: &[f32], out: &mut [f32]) = walled_edges_kernel; }

/// As [`edges_kernel`], where what lies beyond a closed face is taken for what lies before it.
#[inline(always)]
fn walled_edges_kernel<const FMA: bool>(values: &[f32], open: &[f32], out: &mut [f32]) {
    let n = out.len();
    let [a, b, c] = [0, 1, 2].map(|d| &values[d * ACROSS..][..n]);
    let [d, e, f] = [3, 4, 5].map(|d| &values[d * ACROSS..][..n]);
    let [o0, o1] = [1, 2].map(|d| &open[d * ACROSS..][..n]);
    let [o3, o4] = [4, 5].map(|d| &open[d * ACROSS..][..n]);
    for i in 0..n {
        let ([a, b, c], [d, e, f]) = ([a[i], b[i], c[i]], [d[i], e[i], f[i]]);
        let (near, far) = ([o1[i], o3[i]], [o1[i] * o0[i], o3[i] * o4[i]]);
        let b = if near[0] > 0.0 { b } else { c };
        let a = if far[0] > 0.0 { a } else { b };
        let e = if near[1] > 0.0 { e } else { d };
        let f = if far[1] > 0.0 { f } else { e };
        out[i] = edge::<FMA>([a, b, c, d, e, f]);
    }
}

dispatch! { fn limit(values: &[f32], edges: &[f32], out: [&mut [f32]; 2]) = limit_kernel; }

/// Scales the parabola of each cell about its mean so far that it stays between the values of the cell and its neighbours.
#[inline(always)]
fn limit_kernel<const FMA: bool>(values: &[f32], edges: &[f32], [low, high]: [&mut [f32]; 2]) {
    let n = edges.len() - ACROSS;
    let [a, c, b] = [2, 3, 4].map(|d| &values[d * ACROSS..][..n]);
    let [p, r] = [&edges[..n], &edges[ACROSS..][..n]];
    let (low, high) = (&mut low[..n], &mut high[..n]);
    for i in 0..n {
        [low[i], high[i]] = limited::<FMA>([a[i], c[i], b[i]], [p[i], r[i]]);
    }
}

/// With p and r the deviations of both edges from the mean, that of the extremum between them is −(p² + pr + r²)/(3(p + r)).
#[inline(always)]
fn limited<const FMA: bool>([a, c, b]: [f32; 3], [low, high]: [f32; 2]) -> [f32; 2] {
    let (p, r) = (low - c, high - c);
    let sum = 3.0 * (p + r);
    let room = if sum > 0.0 { c - least(least(a, b), c) } else { greatest(greatest(a, b), c) - c };
    let square = fma::<FMA>(p, p, fma::<FMA>(p, r, r * r)) + TINY;
    let turns = (r - p).abs() < sum.abs();
    let factor = least(room * sum.abs() / square, 1.0);
    let factor = if turns { factor } else { 1.0 };
    [fma::<FMA>(factor, p, c), fma::<FMA>(factor, r, c)]
}

dispatch! {
    fn walled_limits(values: &[f32], edges: &[f32], open: &[f32], out: [&mut [f32]; 2]) = walled_limits_kernel;
}

#[inline(always)]
fn walled_limits_kernel<const FMA: bool>(
    values: &[f32],
    edges: &[f32],
    open: &[f32],
    [low, high]: [&mut [f32]; 2],
) {
    let n = edges.len() - ACROSS;
    let [a, c, b] = [2, 3, 4].map(|d| &values[d * ACROSS..][..n]);
    let [p, r] = [&edges[..n], &edges[ACROSS..][..n]];
    let [below, above] = [3, 4].map(|d| &open[d * ACROSS..][..n]);
    let (low, high) = (&mut low[..n], &mut high[..n]);
    for i in 0..n {
        let ([a, c, b], [p, r]) = ([a[i], c[i], b[i]], [p[i], r[i]]);
        let (is_open, opens) = (below[i] > 0.0, above[i] > 0.0);
        let (a, p) = (if is_open { a } else { c }, if is_open { p } else { c });
        let (b, r) = (if opens { b } else { c }, if opens { r } else { c });
        [low[i], high[i]] = limited::<FMA>([a, c, b], [p, r]);
    }
}

dispatch! {
    fn find_shares(courant: &[f32], volume: [&[f32]; 2], out: [&mut [f32]; 2], most: &mut f32) = shares_kernel;
}

/// Of what crosses each face, what comes from the next cell upstream and its share of that; and the most that comes from further.
#[inline(always)]
fn shares_kernel<const FMA: bool>(
    courant: &[f32],
    [below, above]: [&[f32]; 2],
    [near, share]: [&mut [f32]; 2],
    most: &mut f32,
) {
    let mut further = [0.0f32; ACROSS];
    let [below, above] = [below, above].map(|x| x.as_chunks::<ACROSS>().0);
    let [near, share] = [near, share].map(|x| x.as_chunks_mut::<ACROSS>().0);
    let all = courant.as_chunks::<ACROSS>().0.iter().zip(below).zip(above).zip(near).zip(share);
    for ((((x, below), above), near), share) in all {
        for l in 0..ACROSS {
            let holds = greatest(if x[l] > 0.0 { below[l] } else { above[l] }, LEAST_VOLUME);
            let takes = least(x[l].abs(), holds);
            near[l] = takes.copysign(x[l]);
            share[l] = takes / holds;
            further[l] = greatest(x[l].abs() - holds, further[l]);
        }
    }
    *most = further.into_iter().fold(0.0, f32::max);
}

dispatch! { fn invert(courant: [&[f32]; 2], volume: &[f32], out: &mut [f32]) = invert_kernel; }

/// One by the volume after what crosses both faces has moved.
#[inline(always)]
fn invert_kernel<const FMA: bool>([below, above]: [&[f32]; 2], volume: &[f32], out: &mut [f32]) {
    let n = out.len();
    let (below, above, volume) = (&below[..n], &above[..n], &volume[..n]);
    for i in 0..n {
        out[i] = 1.0 / greatest(volume[i] + (below[i] - above[i]), LEAST_VOLUME);
    }
}

dispatch! {
    fn find_flux(
        values: [&[f32]; 2], low: [&[f32]; 2], high: [&[f32]; 2], crossing: [&[f32]; 2], out: &mut [f32],
    ) = flux_kernel;
}

/// The volume that crosses each face from the cell beside it times the mean of the parabola over it.
#[inline(always)]
fn flux_kernel<const FMA: bool>(
    values: [&[f32]; 2],
    low: [&[f32]; 2],
    high: [&[f32]; 2],
    crossing: [&[f32]; 2],
    out: &mut [f32],
) {
    let n = out.len();
    let [c0, c1] = values.map(|x| &x[..n]);
    let ([l0, l1], [h0, h1]) = (low.map(|x| &x[..n]), high.map(|x| &x[..n]));
    let [takes, share] = crossing.map(|x| &x[..n]);
    for i in 0..n {
        let up = takes[i] > 0.0;
        let near = if up { h0[i] } else { l1[i] };
        let far = if up { l0[i] } else { h1[i] };
        let mean = if up { c0[i] } else { c1[i] };
        out[i] = takes[i] * over::<FMA>([near, far], mean, share[i]);
    }
}

/// The mean of a parabola over a share of a cell (Colella & Woodward 1984, eq. 1.12).
#[inline(always)]
fn over<const FMA: bool>([near, far]: [f32; 2], mean: f32, share: f32) -> f32 {
    let curve = fma::<FMA>(6.0, mean, -3.0 * (near + far));
    let slope = fma::<FMA>(-curve, fma::<FMA>(-2.0 / 3.0, share, 1.0), near - far);
    fma::<FMA>(-0.5 * share, slope, near)
}

dispatch! {
    fn add_further(cells: [&[f32]; 4], courant: &[f32], faces: [usize; 2], flux: &mut [f32]) = further_kernel;
}

/// Adds what crosses faces from further than the next cell: of `cells` = values, both sides of the parabolas, volumes.
#[inline(always)]
fn further_kernel<const FMA: bool>(cells: [&[f32]; 4], courant: &[f32], faces: [usize; 2], flux: &mut [f32]) {
    let [values, low, high, volume] = cells.map(|x| x.as_chunks::<ACROSS>().0);
    let (courant, flux) = (courant.as_chunks::<ACROSS>().0, flux.as_chunks_mut::<ACROSS>().0);
    for face in faces[0]..faces[1] {
        let courant = &courant[face];
        let mut rest = [0.0f32; ACROSS];
        for l in 0..ACROSS {
            let holds = if courant[l] > 0.0 { volume[face - 1][l] } else { volume[face][l] };
            rest[l] = courant[l].abs() - greatest(holds, LEAST_VOLUME);
        }
        let mut sum = [0.0f32; ACROSS];
        for depth in 1..HALO {
            if rest.iter().fold(0.0, |a: f32, &b| greatest(b, a)) <= 0.0 {
                break;
            }
            let (below, above) = (face - 1 - depth, face + depth);
            for l in 0..ACROSS {
                let up = courant[l] > 0.0;
                let holds = greatest(if up { volume[below][l] } else { volume[above][l] }, LEAST_VOLUME);
                let near = if up { high[below][l] } else { low[above][l] };
                let far = if up { low[below][l] } else { high[above][l] };
                let mean = if up { values[below][l] } else { values[above][l] };
                let takes = greatest(least(rest[l], holds), 0.0);
                sum[l] = fma::<FMA>(takes, over::<FMA>([near, far], mean, takes / holds), sum[l]);
                rest[l] -= holds;
            }
        }
        for l in 0..ACROSS {
            flux[face][l] += if courant[l] > 0.0 { sum[l] } else { -sum[l] };
        }
    }
}

dispatch! { fn exchange(flux: [&[f32]; 2], volume: &[f32], inverse: &[f32], values: &mut [f32]) = exchange_kernel; }

#[inline(always)]
fn exchange_kernel<const FMA: bool>(
    [below, above]: [&[f32]; 2],
    volume: &[f32],
    inverse: &[f32],
    values: &mut [f32],
) {
    let n = values.len();
    let (below, above, volume, inverse) = (&below[..n], &above[..n], &volume[..n], &inverse[..n]);
    for i in 0..n {
        values[i] = fma::<FMA>(values[i], volume[i], below[i] - above[i]) * inverse[i];
    }
}

dispatch! { fn add_flux(flux: [&[f32]; 2], volume: &[f32], values: &mut [f32]) = add_flux_kernel; }

#[inline(always)]
fn add_flux_kernel<const FMA: bool>([below, above]: [&[f32]; 2], volume: &[f32], values: &mut [f32]) {
    let n = values.len();
    let (below, above, volume) = (&below[..n], &above[..n], &volume[..n]);
    for i in 0..n {
        values[i] = fma::<FMA>(values[i], volume[i], below[i] - above[i]);
    }
}

dispatch! { pub fn scale(factor: f32, from: &[f32], out: &mut [f32]) = scale_kernel; }

#[inline(always)]
fn scale_kernel<const FMA: bool>(factor: f32, from: &[f32], out: &mut [f32]) {
    for (out, from) in out.iter_mut().zip(from) {
        *out = factor * from;
    }
}

dispatch! { pub fn add_volume(scale: f32, faces: [&[f32]; 2], out: &mut [f32]) = add_volume_kernel; }

/// Adds `scale` times what comes in through both faces of each cell.
#[inline(always)]
fn add_volume_kernel<const FMA: bool>(scale: f32, [low, high]: [&[f32]; 2], out: &mut [f32]) {
    for ((out, low), high) in out.iter_mut().zip(low).zip(high) {
        *out += scale * (low - high);
    }
}
