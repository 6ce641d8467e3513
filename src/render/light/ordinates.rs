//! Light scattered any number of times, by discrete ordinates (Chandrasekhar 1950; Lathrop and Carlson 1965).
//!
//! The radiance L of the equation of transfer
//!
//! ```text
//! Ω·∇L = σ (S − L)        S = ω (∫ p(Ω·Ω′) L(Ω′) dΩ′ + E T p(Ω·Ω_sun)) + emission
//! ```
//!
//! is solved in fourteen directions, to the six faces and the eight corners of a cell, with weights 1/15 and 3/40, which
//! integrate polynomials up to the fifth degree exactly. A step along any of them ends in the middle of a cell, so nothing
//! is interpolated. S is taken from the mean radiance φ and the net flux J, both over 4π, and is updated from sweep to
//! sweep. Light scattered forward within a few degrees counts as not scattered (delta-Eddington: Joseph,
//! Wiscombe and Weinman 1976): a share f, its second moment, is taken off the extinction. An eye reads the radiance of all directions,
//! weighted with the phase function (`ordinates/phase.rs`).
//!
//! S is linear within a cube and radiance is its mean over the cube, so that cubes of more than a mean free path keep the energy
//! (`ordinates/sweep.rs`). In files of smoke that glows S is even within a cube, and radiance is that in the middle.
//!
//! Smooth errors fade slowly from sweep to sweep, so a solution begins on coarse grids, and where S is linear a Chebyshev iteration
//! extrapolates it (`ordinates/levels/acceleration.rs`). Radiance passes empty cubes
//! unchanged, so only their last sweep counts: all others leave their moments out.

mod levels;
pub(super) mod phase;
mod sweep;

use rayon::prelude::*;

use crate::grid::Dims;
use crate::render::medium::Phase;
use crate::render::surround::Surround;
use levels::{Color, Grid, Half};
pub(super) use levels::{THICK, through};
pub(super) use sweep::LinearStep;
use sweep::{sweep_half, sweep_half_linear};

/// Directions: to the faces, then to the corners.
pub(super) const DIRECTIONS: usize = 14;
/// Sweeps after which the acceleration of their convergence begins again: over many, errors that it does not expect would grow.
const CYCLE: usize = 12;
/// Weight of a direction to a face and to a corner.
const FACE: f32 = 1.0 / 15.0;
const CORNER: f32 = 0.075;

/// Cubes of medium.
#[derive(Clone, Debug)]
pub(super) struct MediumCubes {
    pub dims: Dims,
    /// Edge of a cube \[m\].
    pub h: f32,
    /// Number of lowest layers whose light is always wanted: the floor reads it, with medium nearby or not.
    pub above_floor: usize,
    /// Extinction of smoke and solids \[1/m\].
    pub extinction: Vec<f32>,
    /// Single-scattering albedo of the smoke in red, green and blue.
    pub albedo: [Vec<f32>; 3],
    /// Share of the extinction that solids have; empty without solids.
    pub solid: Vec<f32>,
    /// Phase function without its forward peak.
    pub phase: Phase,
    /// Surfaces of solids.
    pub walls: Vec<Wall>,
    /// Whether sources are linear within cubes, and radiance is the mean over a cube and not that in its middle.
    pub linear: bool,
}

/// Sources of light in the cubes, for red, green and blue.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    /// The sun's irradiance that arrives, not scattered or only forward; empty without a sun.
    pub sun: [Vec<f32>; 3],
    /// Radiance of opaque smoke by itself, and of solids by direct light; empty without any.
    pub emission: [Vec<f32>; 3],
    /// Irradiance of further lights that arrives, and its sums times the three components of the direction it goes in; empty
    /// without such lights.
    pub lamps: [[Vec<f32>; 4]; 3],
}

/// The surface of a solid in a cube. It reflects what arrives before it as a Lambertian surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wall {
    pub cube: usize,
    /// Its share of the extinction of the cube.
    pub share: f32,
    /// Whether the surface passes through the cube.
    pub cuts: bool,
    /// A place of the surface \[cubes\], and its normal.
    pub place: [f32; 3],
    pub normal: [f32; 3],
    pub albedo: [f32; 3],
}

impl MediumCubes {
    /// Albedo of a cube; solids scatter nothing.
    pub fn scattered(&self, channel: usize, n: usize) -> f32 {
        self.albedo[channel][n].min(1.0) * (1.0 - self.solid.get(n).copied().unwrap_or(0.0))
    }

    /// Share of the extinction that is left without the forward peak.
    pub fn unpeaked(&self, channel: usize, n: usize) -> f32 {
        1.0 - self.scattered(channel, n) * self.phase.forward
    }
}

impl Sources {
    /// Makes first collisions of light of one colour, given as φ and J, like those of the light of lamps.
    pub fn collide(&mut self, channel: usize, light: &Moments) {
        for (lamps, light) in self.lamps[channel].iter_mut().zip(light.all()) {
            lamps.clear();
            lamps.extend(light.iter().map(|x| 4.0 * std::f32::consts::PI * x));
        }
    }

    /// Adds the radiance of walls on which an irradiance / π arrives.
    pub fn reflect(&mut self, medium: &MediumCubes, mut arriving: impl FnMut(&Wall) -> [f32; 3]) {
        for wall in &medium.walls {
            let arrives = arriving(wall);
            for c in 0..3 {
                let emission = &mut self.emission[c];
                emission.resize(medium.dims.cells(), 0.0);
                let left = medium.unpeaked(c, wall.cube);
                emission[wall.cube] += wall.share * left * wall.albedo[c] * arrives[c];
            }
        }
    }
}

/// Radiance that the cubes send in one colour: the part that is the same in all directions, and what is added along each axis.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    pub even: Vec<f32>,
    pub along: [Vec<f32>; 3],
}

impl Sent {
    /// Nothing, in a number of cubes.
    pub fn reset(&mut self, cubes: usize) {
        for values in std::iter::once(&mut self.even).chain(&mut self.along) {
            values.clear();
            values.resize(cubes, 0.0);
        }
    }
}

impl Default for MediumCubes {
    fn default() -> Self {
        Self {
            dims: Dims { nx: 1, ny: 1, nz: 1 },
            h: 1.0,
            above_floor: 1,
            extinction: Vec::new(),
            albedo: Default::default(),
            solid: Vec::new(),
            phase: Phase { forward: 0.0, g: 0.0 },
            walls: Vec::new(),
            linear: false,
        }
    }
}

/// Light from outside.
#[derive(Clone, Debug, Default)]
pub(super) struct Outside {
    /// Share of the sun's light scattered into each direction, but not in the forward peak, over an even one.
    pub sun_phase: [f32; DIRECTIONS],
    /// Radiance of the sky straight up and of the ground straight down, linear in the sine of elevation between.
    pub sky: [f32; 3],
    pub ground: [f32; 3],
    /// Light from all around in place of both.
    pub around: Option<Surround>,
    /// The floor below the box, if there is one.
    pub floor: Option<FloorBelow>,
}

impl Outside {
    /// Radiance of one colour from a direction.
    pub fn radiance(&self, channel: usize, from: [f32; 3]) -> f32 {
        if let Some(floor) = self.floor.as_ref().filter(|_| from[1] < 0.0) {
            return floor.open[channel];
        }
        if let Some(around) = &self.around {
            return around.smooth(channel, from);
        }
        self.ground[channel] + (self.sky[channel] - self.ground[channel]) * (0.5 + 0.5 * from[1])
    }

    /// Radiance of one colour that comes in along each direction.
    pub fn inflow(&self, channel: usize) -> [f32; DIRECTIONS] {
        directions().map(|(step, _)| {
            if let Some(floor) = self.floor.as_ref().filter(|_| step[1] > 0) {
                return floor.open[channel];
            }
            let direction = unit(step);
            if let Some(around) = &self.around {
                return around.smooth(channel, direction.map(|x| -x));
            }
            // Light that goes down comes from above.
            let up = 0.5 - 0.5 * direction[1];
            self.ground[channel] + (self.sky[channel] - self.ground[channel]) * up
        })
    }

    /// φ and J of one colour where nothing takes light.
    pub fn moments(&self, channel: usize) -> [f32; 4] {
        let mut moments = [0.0; 4];
        for ((step, weight), radiance) in directions().into_iter().zip(self.inflow(channel)) {
            let [x, y, z] = unit(step);
            let light = weight * radiance;
            moments.iter_mut().zip([1.0, x, y, z]).for_each(|(moment, along)| *moment += light * along);
        }
        moments
    }
}

/// The directions that lead down onto a floor, with their shares of its irradiance.
pub(super) struct OnFloor {
    shares: [(usize, f32); 5],
    all: f32,
}

impl OnFloor {
    pub fn new() -> Self {
        let down = directions().into_iter().enumerate().filter(|(_, (step, _))| step[1] < 0);
        let mut down = down.map(|(n, (step, weight))| (n, -weight * unit(step)[1]));
        let shares = std::array::from_fn(|_| down.next().expect("five of them"));
        Self { shares, all: shares.iter().map(|(_, share)| share).sum() }
    }

    /// Irradiance / π from the radiance in each direction, 1 for 1 from everywhere.
    pub fn irradiance(&self, radiance: impl Fn(usize) -> f32) -> f32 {
        self.shares.iter().map(|&(n, share)| share * radiance(n)).sum::<f32>() / self.all
    }
}

/// Radiance of a floor, the same in all directions.
#[derive(Clone, Debug)]
pub(super) struct FloorBelow {
    /// Beside the box.
    pub open: [f32; 3],
    /// Below each column of cubes, x fastest.
    pub columns: Vec<[f32; 3]>,
}

/// Moments of the radiance of one colour.
#[derive(Clone, Debug, Default)]
pub(super) struct Moments {
    /// φ, the mean over all directions.
    pub mean: Vec<f32>,
    /// J, the mean of radiance times direction.
    pub flux: [Vec<f32>; 3],
}

impl Moments {
    /// φ and the components of J.
    pub fn all(&self) -> [&[f32]; 4] {
        let [x, y, z] = &self.flux;
        [&self.mean, x, y, z]
    }

    pub fn all_mut(&mut self) -> [&mut Vec<f32>; 4] {
        let [x, y, z] = &mut self.flux;
        [&mut self.mean, x, y, z]
    }

    /// Adds those of other light.
    pub fn add(&mut self, other: &Self) {
        for (to, from) in self.all_mut().into_iter().zip(other.all()) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
    }
}

/// Sweeps on each level of grids, the finest first; further levels take as many as the last.
pub(super) type Sweeps<'a> = &'a [usize];

/// Grids from fine to coarse, with the memory of a solution, reused from one to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Solver {
    grids: Vec<Grid>,
    /// For each colour the levels, the finest first.
    colors: [Vec<Color>; 3],
}

impl Solver {
    /// Solves for the light of `sources` and from `outside` in `medium`, without the sun's own: in all cubes, or only in those near
    /// the medium and the floor. `out` has the moments of a clear sky elsewhere.
    pub fn solve(
        &mut self,
        medium: &MediumCubes,
        sources: &Sources,
        outside: &Outside,
        sweeps: Sweeps,
        everywhere: bool,
        out: &mut [Moments; 3],
    ) {
        let count = levels::resize(&mut self.grids, medium, everywhere);
        let grids = &self.grids[..count];
        self.colors.par_iter_mut().zip(out).enumerate().for_each(|(channel, (levels, out))| {
            levels.resize_with(levels.len().max(count), Color::default);
            let levels = &mut levels[..count];
            for (n, grid) in grids.iter().enumerate() {
                let (before, level) = levels.split_at_mut(n);
                match before.last() {
                    Some(fine) => level[0].coarsen(fine, &grids[n - 1], grid),
                    None => level[0].load(medium, sources, channel, grid),
                }
                level[0].linear = medium.linear;
                level[0].prepare(grid, medium.phase, outside, channel);
                if n == 0 {
                    level[0].scatter_lamps();
                    level[0].keep_radiance(grid);
                }
                level[0].floor.clear();
                if let Some(floor) = &outside.floor {
                    level[0].floor.extend(floor.rows(medium.dims, grid.dims, n, channel));
                }
            }
            levels[count - 1].open(outside, channel);
            for n in (0..count).rev() {
                levels[n].iterate(&grids[n], sweeps[n.min(sweeps.len() - 1)]);
                if n > 0 {
                    let (fine, coarse) = levels.split_at_mut(n);
                    coarse[0].gather_halves();
                    fine[n - 1].refine(&coarse[0], &grids[n], &grids[n - 1]);
                }
            }
            levels[0].store(&grids[0], outside, channel, out);
        });
    }
}

impl Solver {
    /// Whether the last solution holds the light of a cube, the i-th of a row: of all near the medium.
    pub fn wanted(&self, i: usize, row: usize) -> bool {
        self.grids.first().is_some_and(|grid| grid.wants(i, row))
    }

    /// Radiance of one colour in each direction, in the wanted cubes of a row.
    pub fn radiance(&self, channel: usize, row: usize) -> [&[f32]; DIRECTIONS] {
        let grid = &self.grids[0];
        let halves = &self.colors[channel][0].halves;
        std::array::from_fn(|direction| {
            let (half, kept) = levels::kept(grid, direction, row);
            &halves[half].radiance[kept][row * grid.dims.nx..][..grid.dims.nx]
        })
    }

    /// Radiance of one colour that comes in along each direction, apart from that of the floor.
    pub fn inflow(&self, channel: usize) -> &[f32; DIRECTIONS] {
        &self.colors[channel][0].inflow
    }

    /// Radiance of one colour of the floor below each cube of a row along x, the k-th along z; `None` without a floor.
    pub fn floor_below(&self, channel: usize, k: usize) -> Option<&[f32]> {
        let width = self.grids[0].dims.nx + 2;
        Some(&self.colors[channel][0].floor.get(k * width..(k + 1) * width)?[1..])
    }

    /// Computes the radiance that the cubes send by themselves.
    pub fn send(&mut self, medium: &MediumCubes, sources: &Sources, outside: &Outside, out: &mut [Sent; 3]) {
        levels::resize(&mut self.grids, medium, false);
        for (channel, (levels, out)) in self.colors.iter_mut().zip(out.iter_mut()).enumerate() {
            levels.resize_with(levels.len().max(1), Color::default);
            let (grid, color) = (&self.grids[0], &mut levels[0]);
            color.load(medium, sources, channel, grid);
            color.linear = medium.linear;
            color.prepare(grid, medium.phase, outside, channel);
            color.scatter_lamps();
            color.halves.iter_mut().for_each(Half::clear);
            out.even.clear();
            out.along.iter_mut().for_each(Vec::clear);
        }
        self.add_sent(out);
    }

    /// Adds the radiance that the cubes send after the last solution.
    pub fn add_sent(&mut self, out: &mut [Sent; 3]) {
        let grid = &self.grids[0];
        for (levels, out) in self.colors.iter_mut().zip(out) {
            let color = &mut levels[0];
            color.scatter(grid);
            let all = [&color.even, &color.along[0], &color.along[1], &color.along[2]];
            for (from, to) in all.into_iter().zip(std::iter::once(&mut out.even).chain(&mut out.along)) {
                grid.add_unpadded(from, to);
            }
        }
    }

    /// Sets the radiance of a cube to the mean of others; each is given as its number in a row, and its row.
    pub fn take_mean(&mut self, [i, row]: [usize; 2], others: &[[usize; 2]]) {
        let grid = &self.grids[0];
        let share = 1.0 / others.len() as f32;
        for halves in self.colors.iter_mut().map(|levels| &mut levels[0].halves) {
            for direction in 0..DIRECTIONS {
                let mut sum = 0.0;
                for &[i, row] in others {
                    let (half, kept) = levels::kept(grid, direction, row);
                    sum += halves[half].radiance[kept][row * grid.dims.nx + i];
                }
                let (half, kept) = levels::kept(grid, direction, row);
                halves[half].radiance[kept][row * grid.dims.nx + i] = share * sum;
            }
        }
    }
}

impl Color {
    /// Sweeps a number of times.
    fn iterate(&mut self, grid: &Grid, count: usize) {
        let mut weight = 1.0;
        for n in 0..count {
            let last = n + 1 == count;
            if self.linear && n % CYCLE == 0 {
                self.begin(grid);
            }
            self.scatter(grid);
            let mut halves = std::mem::take(&mut self.halves);
            let [up, down] = &mut halves;
            let level = &*self;
            // Small grids are not worth a second thread, and few threads have the three colours to share.
            let sweep = if level.linear { sweep_half_linear } else { sweep_half };
            if grid.dims.cells() < 1 << 11 || rayon::current_num_threads() < 4 {
                sweep(level, grid, up, true, last);
                sweep(level, grid, down, false, last);
            } else {
                rayon::join(|| sweep(level, grid, up, true, last), || sweep(level, grid, down, false, last));
            }
            self.halves = halves;
            let stride = self.stride();
            if self.linear && !last && (n + 1) % stride == 0 {
                weight = self.weight(n % CYCLE / stride, weight);
                self.accelerate(grid, weight);
            }
        }
    }
}

impl FloorBelow {
    /// One colour below the cubes of level `n`, with a border along x. The border, and cubes of the level beyond the last column, have the
    /// open floor.
    fn rows(&self, fine: Dims, level: Dims, n: usize, channel: usize) -> impl Iterator<Item = f32> {
        let below = move |i: usize, count: usize| (i << n).min(count)..((i + 1) << n).min(count);
        let width = level.nx + 2;
        (0..width * level.nz).map(move |at| {
            let x = (at % width).checked_sub(1).map_or(0..0, |i| below(i, fine.nx));
            let z = below(at / width, fine.nz);
            let count = x.len() * z.len();
            if count == 0 {
                return self.open[channel];
            }
            let columns = z.flat_map(|z| x.clone().map(move |x| x + z * fine.nx));
            columns.map(|column| self.columns[column][channel]).sum::<f32>() / count as f32
        })
    }
}

/// Directions as steps from cell to cell, with their weights: along x, y and z, each up and down, then the corners, with a
/// step back along x, y or z for each bit of their number.
fn directions() -> [([i32; 3], f32); DIRECTIONS] {
    std::array::from_fn(|n| match n {
        0..6 => {
            let mut d = [0; 3];
            d[n / 2] = if n % 2 == 0 { 1 } else { -1 };
            (d, FACE)
        }
        _ => (std::array::from_fn(|a| if (n - 6) >> a & 1 == 0 { 1 } else { -1 }), CORNER),
    })
}

/// The unit vector of a step.
fn unit(d: [i32; 3]) -> [f32; 3] {
    let length = (d.iter().map(|x| x * x).sum::<i32>() as f32).sqrt();
    d.map(|x| x as f32 / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cubes of an edge of 0.1 m with an extinction and an albedo, lit from above and below by 1, without a sun.
    fn solved(dims: Dims, extinction: impl Fn([usize; 3]) -> f32, albedo: f32, everywhere: bool) -> Moments {
        let outside = Outside {
            sun_phase: [1.0; DIRECTIONS],
            sky: [1.0; 3],
            ground: [1.0; 3],
            around: None,
            floor: None,
        };
        solved_by(dims, extinction, (albedo, 0.5), everywhere, &outside, &[4, 12, 40], false)
    }

    /// The same with light from outside, and a sun of 1 in all cubes if there is none; with linear sources or not.
    fn solved_by(
        dims: Dims,
        extinction: impl Fn([usize; 3]) -> f32,
        (albedo, g): (f32, f32),
        everywhere: bool,
        outside: &Outside,
        sweeps: Sweeps,
        linear: bool,
    ) -> Moments {
        let cells = dims.cells();
        let at = |n: usize| [n % dims.nx, n / dims.nx % dims.ny, n / (dims.nx * dims.ny)];
        let three = |x: f32| [vec![x; cells], vec![x; cells], vec![x; cells]];
        let medium = MediumCubes {
            dims,
            h: 0.1,
            above_floor: 3,
            extinction: (0..cells).map(|n| extinction(at(n))).collect(),
            albedo: three(albedo),
            phase: Phase { forward: 0.0, g },
            linear,
            ..MediumCubes::default()
        };
        let sun = if outside.sky == [0.0; 3] { 1.0 } else { 0.0 };
        let sources = Sources { sun: three(sun), emission: three(0.0), ..Sources::default() };
        let mut out = <[Moments; 3]>::default();
        Solver::default().solve(&medium, &sources, outside, sweeps, everywhere, &mut out);
        let [_, _, blue] = out;
        blue
    }

    const DIMS: Dims = Dims { nx: 19, ny: 17, nz: 21 };

    fn even_light(radiance: f32) -> Outside {
        let [sky, ground] = [[radiance; 3]; 2];
        Outside { sun_phase: [1.0; DIRECTIONS], sky, ground, around: None, floor: None }
    }

    /// Radiance 1 from everywhere stays 1 where nothing is absorbed.
    #[test]
    fn white_smoke_in_white_light_is_white() {
        let smoke = |[i, j, k]: [usize; 3]| ((i * 7 + j * 5 + k * 3) % 11) as f32;
        for (linear, bound) in [(false, 1e-5), (true, 1e-4)] {
            let moments = solved_by(DIMS, smoke, (1.0, 0.5), true, &even_light(1.0), &[4, 12, 40], linear);
            let [mean, x, y, z] = moments.all();
            assert!(mean.iter().all(|x| (x - 1.0).abs() < bound));
            assert!([x, y, z].iter().all(|flux| flux.iter().all(|x| x.abs() < bound)));
        }
    }

    /// A block of cells of 1.6 optical depths, lit evenly within, has the mean radiance of one with four cells in place of each, but for
    /// 3 %. From the middles of cubes it is 5 % too bright, since they send more than they take.
    #[test]
    fn linear_sources_in_thick_cubes_are_as_bright_as_in_thin_ones() {
        let mean = |per_cube: usize, linear: bool| -> f32 {
            let side = 8 * per_cube;
            let dims = Dims { nx: side, ny: side, nz: side };
            let extinction = 16.0 / per_cube as f32;
            let moments =
                solved_by(dims, |_| extinction, (1.0, 0.0), true, &even_light(0.0), &[240, 240, 240], linear);
            moments.mean.iter().sum::<f32>() / dims.cells() as f32
        };
        let [fine, linear, middles] = [mean(4, true), mean(1, true), mean(1, false)];
        println!("{fine}, linear {linear}, middles {middles}");
        assert!((linear / fine - 1.0).abs() < 0.04, "{linear} and {fine}");
    }

    /// The sweeps of files leave little error in smoke of 30 optical depths, for any phase function.
    #[test]
    fn sweeps_with_linear_sources_converge() {
        for g in [-0.5, 0.0, 0.1, 0.3, 0.45] {
            for extinction in [4.0, 16.0] {
                let of = |sweeps: Sweeps| {
                    solved_by(DIMS, |_| extinction, (0.98, g), true, &even_light(0.0), sweeps, true).mean
                };
                let (some, many) = (of(&[12, 24, 60]), of(&[120, 240, 240]));
                let (mut off, mut all) = (0.0, 0.0);
                for (some, many) in some.iter().zip(&many) {
                    (off, all) = (off + (some - many).abs(), all + many);
                }
                println!("g {g}, {extinction} 1/m: {}", off / all);
                assert!(off < 0.04 * all, "g {g}, {extinction} 1/m: {}", off / all);
            }
        }
    }

    /// Black smoke takes from each direction what lies between a cube and the side.
    #[test]
    fn black_smoke_takes_light_from_each_direction() {
        let moments = solved(DIMS, |_| 2.0, 0.0, true);
        let size = DIMS.array();
        for at in [[0, 0, 0], [9, 8, 10], [18, 3, 20], [5, 16, 2]] {
            let mut mean = 0.0;
            for (d, weight) in directions() {
                let cubes =
                    (0..3).filter(|&a| d[a] != 0).map(|a| if d[a] > 0 { at[a] } else { size[a] - 1 - at[a] });
                let way = (cubes.min().expect("a direction") as f32 + 0.5) * 0.1;
                let length = (d.iter().map(|x| x * x).sum::<i32>() as f32).sqrt();
                mean += weight * (-2.0 * way * length).exp();
            }
            let got = moments.mean[DIMS.index(at[0], at[1], at[2])];
            assert!((got - mean).abs() < 1e-5 * mean.max(0.1), "{at:?}: {got}, not {mean}");
        }
    }

    /// Light that is not wanted changes none of the rest.
    #[test]
    fn cubes_around_the_medium_have_the_same_light_as_in_a_full_solution() {
        let dims = Dims { nx: 40, ny: 24, nz: 30 };
        let away = |at: [usize; 3]| {
            at.iter().zip([22, 12, 9]).map(|(&i, middle)| i.abs_diff(middle)).max().unwrap_or(0)
        };
        let smoke = |at: [usize; 3]| if away(at) < 4 { 8.0 } else { 0.0 };
        let [full, part] = [true, false].map(|everywhere| solved(dims, smoke, 0.9, everywhere));
        let mut compared = 0;
        for (n, (full, part)) in full.mean.iter().zip(&part.mean).enumerate() {
            let at = [n % dims.nx, n / dims.nx % dims.ny, n / (dims.nx * dims.ny)];
            if away(at) < 6 || at[1] < 2 {
                assert!(full == part, "{at:?}: {part}, not {full}");
                compared += 1;
            }
        }
        assert!(compared > 1000 && part.mean.iter().any(|&x| x < 0.9));
    }
}
