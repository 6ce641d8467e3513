//! Blue noise: a tile of thresholds in which every level is spread evenly. Offsets of neighbouring rays
//! differ, so the error of the steps shows as fine grain instead of bands.
//!
//! Void and cluster (Ulichney 1993), on a torus.

use std::sync::OnceLock;

/// Edge of the tile in pixels.
pub const TILE: usize = 64;

const CELLS: usize = TILE * TILE;
/// Width of the Gaussian that measures crowding \[pixels\]; 1.5 is Ulichney's choice.
const SIGMA: f32 = 1.5;
const KERNEL_RADIUS: isize = 6;

/// Returns the tile: values in 0..1, each of the 4096 levels once, in rows of [`TILE`].
pub fn tile() -> &'static [f32; CELLS] {
    static NOISE: OnceLock<Box<[f32; CELLS]>> = OnceLock::new();
    NOISE.get_or_init(void_and_cluster)
}

/// Returns the row of the tile for row `y` of a picture.
pub(super) fn row(y: usize) -> &'static [f32; TILE] {
    tile()[y % TILE * TILE..].first_chunk().expect("a row of the tile")
}

/// Returns the offset of a ray in units of a step, for pixel (`x`, `y`) counted from the lower left. From
/// frame to frame it moves by the golden ratio, so a pixel's offsets fill 0..1 evenly.
pub fn offset(x: u32, y: u32, frame: u32) -> f32 {
    let at = |n: u32| n as usize % TILE;
    (tile()[at(x) + TILE * at(y)] + frame_shift(frame)).fract()
}

/// Returns the shift of [`offset`] in a frame, in 0..1.
pub fn frame_shift(frame: u32) -> f32 {
    // In f64: a window left open for a week still gets new offsets.
    (f64::from(frame) * 0.618_033_988_749_894_8).fract() as f32
}

/// Returns the position within the pixel of the `n`th of `count` frames, from its middle \[pixels\]: spread
/// evenly (Halton, bases 2 and 3) around the middle, which is that of the first.
pub fn sub_pixel(n: u32, count: u32) -> [f32; 2] {
    if n == 0 || count < 2 {
        return [0.0; 2];
    }
    let sum = (1..count).map(spread).fold([0.0; 2], |sum, at| [sum[0] + at[0], sum[1] + at[1]]);
    let at = spread(n);
    [0, 1].map(|a| at[a] - sum[a] / (count - 1) as f32)
}

/// Returns the position within the pixel of the `n`th of an unlimited number of frames, 0 in the corner.
pub fn spread(n: u32) -> [f32; 2] {
    [2, 3].map(|base| {
        let (mut left, mut share, mut x) = (n, 1.0, 0.0);
        while left > 0 {
            share /= base as f32;
            x += share * (left % base) as f32;
            left /= base;
        }
        x - 0.5
    })
}

/// Returns a point of the unit disc for the `n`th of an unlimited number of frames, spread evenly (Roberts'
/// R2 sequence); the first is the middle.
pub fn in_disc(n: u32) -> [f32; 2] {
    // In f64: a window left open for a week still gets new points.
    let [radius, turn] = [0.754_877_666_246_692_8, 0.569_840_290_998_053_2]
        .map(|step: f64| (f64::from(n) * step).fract() as f32);
    let (sin, cos) = (std::f32::consts::TAU * turn).sin_cos();
    [cos, sin].map(|x| x * radius.sqrt())
}

/// Cells that are set, and the crowding of each cell by them.
struct Pattern {
    set: Vec<bool>,
    crowding: Vec<f32>,
    kernel: Vec<(isize, isize, f32)>,
}

impl Pattern {
    fn new() -> Self {
        let span = -KERNEL_RADIUS..=KERNEL_RADIUS;
        let kernel = span.clone().flat_map(|dy| span.clone().map(move |dx| (dx, dy)));
        let weigh = |(dx, dy): (isize, isize)| {
            (dx, dy, (-((dx * dx + dy * dy) as f32) / (2.0 * SIGMA * SIGMA)).exp())
        };
        Self { set: vec![false; CELLS], crowding: vec![0.0; CELLS], kernel: kernel.map(weigh).collect() }
    }

    fn toggle(&mut self, cell: usize) {
        self.set[cell] = !self.set[cell];
        let sign = if self.set[cell] { 1.0 } else { -1.0 };
        let (x, y) = ((cell % TILE) as isize, (cell / TILE) as isize);
        let wrap = |n: isize| n.rem_euclid(TILE as isize) as usize;
        for &(dx, dy, weight) in &self.kernel {
            self.crowding[wrap(x + dx) + TILE * wrap(y + dy)] += sign * weight;
        }
    }

    fn tightest_cluster(&self) -> usize {
        self.extreme(true, |new, best| new > best)
    }

    fn largest_void(&self) -> usize {
        self.extreme(false, |new, best| new < best)
    }

    fn extreme(&self, among: bool, better: impl Fn(f32, f32) -> bool) -> usize {
        let mut cells = (0..CELLS).filter(|&cell| self.set[cell] == among);
        let first = cells.next().expect("neither none nor all are set");
        cells.fold(
            first,
            |best, cell| {
                if better(self.crowding[cell], self.crowding[best]) { cell } else { best }
            },
        )
    }

    /// Moves cells from clusters to voids until nothing changes.
    fn spread(&mut self) {
        loop {
            let cluster = self.tightest_cluster();
            self.toggle(cluster);
            let void = self.largest_void();
            self.toggle(void);
            if void == cluster {
                return;
            }
        }
    }
}

/// Returns a tenth of the cells, chosen by a fixed generator (xorshift) and spread out.
fn first_pattern() -> Pattern {
    let mut pattern = Pattern::new();
    let mut state = 0x9E37_79B9_u32;
    let mut set = 0;
    while set < CELLS / 10 {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let cell = state as usize % CELLS;
        if !pattern.set[cell] {
            pattern.toggle(cell);
            set += 1;
        }
    }
    pattern.spread();
    pattern
}

fn void_and_cluster() -> Box<[f32; CELLS]> {
    let mut rank = vec![0usize; CELLS];
    let mut pattern = first_pattern();
    let start = pattern.set.clone();
    let first = start.iter().filter(|&&set| set).count();
    for n in (0..first).rev() {
        let cluster = pattern.tightest_cluster();
        rank[cluster] = n;
        pattern.toggle(cluster);
    }
    for cell in (0..CELLS).filter(|&cell| start[cell]) {
        pattern.toggle(cell);
    }
    for n in first..CELLS {
        let void = pattern.largest_void();
        rank[void] = n;
        pattern.toggle(void);
    }
    let values: Vec<f32> = rank.iter().map(|&n| (n as f32 + 0.5) / CELLS as f32).collect();
    values.into_boxed_slice().try_into().expect("one value a cell")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_a_pixel_are_spread_around_its_middle() {
        for count in [4, 9, 96] {
            let all: Vec<[f32; 2]> = (0..count).map(|n| sub_pixel(n, count)).collect();
            assert_eq!(all[0], [0.0; 2]);
            for a in 0..2 {
                let mean = all.iter().map(|p| p[a]).sum::<f32>() / count as f32;
                assert!(mean.abs() < 1e-6 && all.iter().all(|p| p[a].abs() < 0.55), "axis {a}: {mean}");
                assert!(all.iter().any(|p| p[a] < -0.2) && all.iter().any(|p| p[a] > 0.2));
            }
        }
    }

    #[test]
    fn every_level_once() {
        let mut sorted = tile().to_vec();
        sorted.sort_by(f32::total_cmp);
        for (n, value) in sorted.iter().enumerate() {
            assert_eq!(*value, (n as f32 + 0.5) / CELLS as f32);
        }
    }

    /// Blue noise averages out over a few neighbours. White noise keeps 1/16 of its variance over 4×4 pixels.
    #[test]
    fn averages_out_over_neighbours() {
        let mean = |bx: usize, by: usize| -> f32 {
            let sum: f32 = (0..16).map(|n| tile()[bx * 4 + n % 4 + TILE * (by * 4 + n / 4)]).sum();
            sum / 16.0
        };
        let variance: f32 = (0..256).map(|b| (mean(b % 16, b / 16) - 0.5).powi(2)).sum::<f32>() / 256.0;
        let white = 1.0 / 12.0 / 16.0;
        assert!(variance < white / 4.0, "{variance} is not far below {white}");
    }

    #[test]
    fn frames_fill_the_step_evenly() {
        let mut offsets: Vec<f32> = (0..16).map(|frame| offset(3, 5, frame)).collect();
        offsets.sort_by(f32::total_cmp);
        assert!(offsets.windows(2).all(|w| w[1] - w[0] < 2.0 / 16.0), "{offsets:?}");
    }
}
