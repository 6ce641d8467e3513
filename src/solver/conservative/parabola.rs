//! Lines of cells advected along themselves: the piecewise parabolic method (Colella & Woodward 1984) in flux form.
//!
//! Values of several lines lie side by side: `stride` numbers for each cell of the lines, cell after cell. All that is done is
//! done to flat arrays, with neighbours `stride` apart, so that it vectorises alike along x and across it.

use crate::solver::simd::{dispatch, fma, greatest, least};

/// Cells beyond each end of a line whose values are known.
pub const BEYOND: usize = 3;

/// Numbers that are read as none where something is divided by them.
const TINY: f32 = 1e-30;

/// Memory for lines of cells side by side.
pub struct Lines {
    /// Values at the cells, [`BEYOND`] ghosts at both ends.
    pub values: Vec<f32>,
    /// Volume of air in each cell, in cells; one ghost at both ends.
    pub volume: Vec<f32>,
    /// Volume of air that crosses each face, in cells.
    pub courant: Vec<f32>,
    /// 1 at open faces, 0 at closed ones; [`BEYOND`] faces more at both ends.
    pub open: Vec<f32>,
    /// What crosses each face.
    pub flux: Vec<f32>,
    edges: Vec<f32>,
    /// Of the parabola of each cell its values at the faces below and above, one ghost at both ends.
    low: Vec<f32>,
    high: Vec<f32>,
}

impl Lines {
    /// For as many cells along and across as make `size` numbers, ghosts included.
    pub fn new(size: usize) -> Self {
        let new = || vec![0.0; size];
        Self {
            values: new(),
            volume: new(),
            courant: new(),
            open: new(),
            flux: new(),
            edges: new(),
            low: new(),
            high: new(),
        }
    }

    /// Finds the parabolas of `n` cells from `first` on, and from them what crosses their faces, `part` of the courant numbers.
    pub fn cross(&mut self, first: usize, n: usize, stride: usize, part: f32, walled: bool) {
        let Self { values, volume, courant, open, flux, edges, low, high } = self;
        let faces = (n + 1) * stride;
        let around = &values[first * stride..][..(n + 2 * BEYOND) * stride];
        let open = &open[first * stride..][..(n + 1 + 2 * BEYOND) * stride];
        if walled {
            walled_edges(around, open, stride, &mut edges[..faces]);
            walled_limits(around, &edges[..faces], open, stride, [&mut low[stride..], &mut high[stride..]]);
        } else {
            find_edges(around, stride, &mut edges[..faces]);
            limit(around, &edges[..faces], stride, &mut low[stride..], &mut high[stride..]);
        }
        for (ghost, cell) in [(0, BEYOND - 1), (n + 1, BEYOND + n)] {
            let from = &around[cell * stride..][..stride];
            low[ghost * stride..][..stride].copy_from_slice(from);
            high[ghost * stride..][..stride].copy_from_slice(from);
        }
        let around = &around[(BEYOND - 1) * stride..][..(n + 2) * stride];
        let volume = &volume[first * stride..][..(n + 2) * stride];
        let sides = [&low[..(n + 2) * stride], &high[..(n + 2) * stride]];
        let courant = &courant[first * stride..][..faces];
        find_flux(around, sides, volume, courant, part, stride, &mut flux[first * stride..][..faces]);
    }

    /// Moves what crosses the faces; the volumes afterwards are taken for 1 if that `ends` a step.
    pub fn update(&mut self, first: usize, n: usize, stride: usize, part: f32, ends: bool) {
        let Self { values, volume, courant, flux, .. } = self;
        let count = n * stride;
        let values = &mut values[(first + BEYOND) * stride..][..count];
        let volume = &mut volume[(first + 1) * stride..][..count];
        let (courant, flux) =
            (&courant[first * stride..][..count + stride], &flux[first * stride..][..count + stride]);
        if ends {
            add_flux(flux, volume, stride, values);
        } else {
            exchange(flux, courant, part, stride, volume, values);
        }
    }
}

dispatch! { fn find_edges(values: &[f32], s: usize, out: &mut [f32]) = edges_kernel; }

/// Values at faces by the polynomial through the means of six cells, held between the two beside it.
#[inline(always)]
fn edges_kernel<const FMA: bool>(values: &[f32], s: usize, out: &mut [f32]) {
    let n = out.len();
    let [a, b, c] = [0, 1, 2].map(|d| &values[d * s..][..n]);
    let [d, e, f] = [3, 4, 5].map(|d| &values[d * s..][..n]);
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

dispatch! { fn walled_edges(values: &[f32], open: &[f32], s: usize, out: &mut [f32]) = walled_edges_kernel; }

/// As [`edges_kernel`], where what lies beyond a closed face is taken for what lies before it.
#[inline(always)]
fn walled_edges_kernel<const FMA: bool>(values: &[f32], open: &[f32], s: usize, out: &mut [f32]) {
    let n = out.len();
    let [a, b, c] = [0, 1, 2].map(|d| &values[d * s..][..n]);
    let [d, e, f] = [3, 4, 5].map(|d| &values[d * s..][..n]);
    let [o0, o1] = [1, 2].map(|d| &open[d * s..][..n]);
    let [o3, o4] = [4, 5].map(|d| &open[d * s..][..n]);
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

dispatch! { fn limit(values: &[f32], edges: &[f32], s: usize, low: &mut [f32], high: &mut [f32]) = limit_kernel; }

/// Scales the parabola of each cell about its mean so far that it stays between the values of the cell and its neighbours.
#[inline(always)]
fn limit_kernel<const FMA: bool>(values: &[f32], edges: &[f32], s: usize, low: &mut [f32], high: &mut [f32]) {
    let n = edges.len() - s;
    let [a, c, b] = [2, 3, 4].map(|d| &values[d * s..][..n]);
    let [p, r] = [&edges[..n], &edges[s..][..n]];
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
    fn walled_limits(values: &[f32], edges: &[f32], open: &[f32], s: usize, out: [&mut [f32]; 2]) = walled_limits_kernel;
}

#[inline(always)]
fn walled_limits_kernel<const FMA: bool>(
    values: &[f32],
    edges: &[f32],
    open: &[f32],
    s: usize,
    [low, high]: [&mut [f32]; 2],
) {
    let n = edges.len() - s;
    let [a, c, b] = [2, 3, 4].map(|d| &values[d * s..][..n]);
    let [p, r] = [&edges[..n], &edges[s..][..n]];
    let [below, above] = [3, 4].map(|d| &open[d * s..][..n]);
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
    fn find_flux(
        values: &[f32], sides: [&[f32]; 2], volume: &[f32], courant: &[f32], part: f32, s: usize, out: &mut [f32],
    ) = flux_kernel;
}

/// The volume that crosses each face times the mean of the parabola over it (Colella & Woodward 1984, eq. 1.12).
#[inline(always)]
fn flux_kernel<const FMA: bool>(
    values: &[f32],
    [low, high]: [&[f32]; 2],
    volume: &[f32],
    courant: &[f32],
    part: f32,
    s: usize,
    out: &mut [f32],
) {
    let n = out.len();
    let courant = &courant[..n];
    let [c0, c1] = [&values[..n], &values[s..][..n]];
    let [v0, v1] = [&volume[..n], &volume[s..][..n]];
    let ([l0, l1], [h0, h1]) = ([&low[..n], &low[s..][..n]], [&high[..n], &high[s..][..n]]);
    for i in 0..n {
        let x = part * courant[i];
        let up = x > 0.0;
        let near = if up { h0[i] } else { l1[i] };
        let far = if up { l0[i] } else { h1[i] };
        let mean = if up { c0[i] } else { c1[i] };
        let holds = if up { v0[i] } else { v1[i] };
        let share = x.abs() / holds;
        let curve = fma::<FMA>(6.0, mean, -3.0 * (near + far));
        let slope = fma::<FMA>(-curve, fma::<FMA>(-2.0 / 3.0, share, 1.0), near - far);
        out[i] = x * fma::<FMA>(-0.5 * share, slope, near);
    }
}

dispatch! {
    fn exchange(flux: &[f32], courant: &[f32], part: f32, s: usize, volume: &mut [f32], values: &mut [f32])
        = exchange_kernel;
}

#[inline(always)]
fn exchange_kernel<const FMA: bool>(
    flux: &[f32],
    courant: &[f32],
    part: f32,
    s: usize,
    volume: &mut [f32],
    values: &mut [f32],
) {
    let n = values.len();
    let ([f0, f1], [c0, c1]) = ([&flux[..n], &flux[s..][..n]], [&courant[..n], &courant[s..][..n]]);
    let volume = &mut volume[..n];
    for i in 0..n {
        let holds = fma::<FMA>(values[i], volume[i], f0[i] - f1[i]);
        volume[i] = fma::<FMA>(part, c0[i] - c1[i], volume[i]);
        values[i] = holds / volume[i];
    }
}

dispatch! { fn add_flux(flux: &[f32], volume: &[f32], s: usize, values: &mut [f32]) = add_flux_kernel; }

#[inline(always)]
fn add_flux_kernel<const FMA: bool>(flux: &[f32], volume: &[f32], s: usize, values: &mut [f32]) {
    let n = values.len();
    let [f0, f1] = [&flux[..n], &flux[s..][..n]];
    let volume = &volume[..n];
    for i in 0..n {
        values[i] = fma::<FMA>(values[i], volume[i], f0[i] - f1[i]);
    }
}

dispatch! { pub fn spread(scale: f32, from: &[f32], out: &mut [f32]) = spread_kernel; }

/// Each value `scale` times, four times side by side.
#[inline(always)]
fn spread_kernel<const FMA: bool>(scale: f32, from: &[f32], out: &mut [f32]) {
    let (fours, _) = out.as_chunks_mut::<4>();
    for (four, from) in fours.iter_mut().zip(from) {
        *four = [scale * from; 4];
    }
}

dispatch! { pub fn add_volume(scale: f32, faces: [&[f32]; 2], out: &mut [f32]) = add_volume_kernel; }

/// Adds `scale` times what comes in through both faces of each cell, four times side by side.
#[inline(always)]
fn add_volume_kernel<const FMA: bool>(scale: f32, [low, high]: [&[f32]; 2], out: &mut [f32]) {
    let (fours, _) = out.as_chunks_mut::<4>();
    for (i, four) in fours.iter_mut().enumerate() {
        let more = scale * (low[i] - high[i]);
        for x in four {
            *x += more;
        }
    }
}

dispatch! { fn excess(courant: &[f32], volume: &[f32], s: usize, out: &mut [f32; 2]) = excess_kernel; }

/// The most that a cell gives through one face beyond what it holds at the beginning or the end, and the most that any gives in
/// relation to that.
#[inline(always)]
fn excess_kernel<const FMA: bool>(courant: &[f32], volume: &[f32], s: usize, out: &mut [f32; 2]) {
    const LANES: usize = 8;
    let n = volume.len();
    let (below, above) = (&courant[..n], &courant[s..][..n]);
    let mut most = [f32::NEG_INFINITY; LANES];
    let [eights, of_below, of_above] = [volume, below, above].map(|x| x.as_chunks::<LANES>().0);
    for ((v, a), b) in eights.iter().zip(of_below).zip(of_above) {
        for l in 0..LANES {
            let holds = least(v[l], v[l] + (a[l] - b[l]));
            most[l] = greatest(greatest(b[l], -a[l]) - holds, most[l]);
        }
    }
    let rest = n - n % LANES;
    for i in rest..n {
        let holds = least(volume[i], volume[i] + (below[i] - above[i]));
        most[0] = greatest(greatest(above[i], -below[i]) - holds, most[0]);
    }
    out[0] = most.into_iter().fold(f32::NEG_INFINITY, f32::max);
    out[1] = 0.0;
    if out[0] <= 0.0 {
        return;
    }
    let mut most = [0.0f32; LANES];
    for ((v, a), b) in eights.iter().zip(of_below).zip(of_above) {
        for l in 0..LANES {
            let holds = least(v[l], v[l] + (a[l] - b[l]));
            most[l] = greatest(greatest(b[l], -a[l]) / holds, most[l]);
        }
    }
    for i in rest..n {
        let holds = least(volume[i], volume[i] + (below[i] - above[i]));
        most[0] = greatest(greatest(above[i], -below[i]) / holds, most[0]);
    }
    out[1] = most.into_iter().fold(0.0, f32::max);
}

impl Lines {
    /// Parts into which the motion of `n` cells must be cut so that no cell gives more than it holds.
    pub fn parts(&self, n: usize, stride: usize) -> u32 {
        let mut most = [0.0; 2];
        let volume = &self.volume[stride..][..n * stride];
        excess(&self.courant[..(n + 1) * stride], volume, stride, &mut most);
        if most[0] <= 0.0 { 1 } else { (most[1].ceil() as u32).clamp(2, MOST_PARTS) }
    }
}

/// Most parts of a sweep.
const MOST_PARTS: u32 = 64;
