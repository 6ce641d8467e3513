//! The light volume: the optical depth between a point and the sun, and the light that has been scattered or comes from the
//! sky, the ground and what glows.
//!
//! It does not depend on the camera: one bake serves every picture of a snapshot, and every renderer reads the same
//! numbers. It has two grids.
//!
//! - **Points**, as fine as the look asks for, hold the depth τ towards the sun, each along one straight ray (`light/sun.rs`, `light/spline_rays.rs`). They
//!   lie in the middle of cells, with one more layer around the box, so that what is interpolated is right up to the sides.
//! - **Cubes**, at most 32 along an axis, 64 with fine light, hold the radiance of all other light in fourteen directions, for eyes, and its
//!   mean φ and net flux J, for surfaces (`light/ordinates.rs`).
//!
//! Cubes hold the mean of the smoke that eyes read (`light/read_cells.rs`), but not in files of smoke that glows. In files the light of
//! the sun that first collides in them is what enters a cell less what leaves it (`light/first_collisions.rs`).
//!
//! Wide suns have an effective depth (`light/wide_sun.rs`). Further lights have a depth each, and a direction in each cube
//! (`light/lamps.rs`). Glowing smoke lights the rest along straight rays (`light/glow_blocks.rs`), smoke around a lamp by a sweep in many directions (`light/last_flight.rs`).
//! Where smoke that glows is thick, eyes read its light on smaller cubes (`light/nested_glow.rs`).
//!
//! Beside the box the floor sees the light that leaves through its sides where smoke reaches them (`light/sent_sideways.rs`).
//!
//! Files that scatter light once read light from outside along straight rays from many directions (`light/outside_rays.rs`).
//!
//! `LightVolume::towards` makes of both what a march reads: for an eye, the scattered light and the root of the depth at each point.

mod before_walls;
mod cube_samples;
mod extinction;
mod faded;
mod first_collisions;
mod floor_columns;
mod floor_rays;
mod forward_peak;
mod gather;
mod gathered;
mod glow_blocks;
mod intensities;
mod lamps;
mod last_flight;
mod light_chunk;
mod lit_sides;
mod mixture;
mod nested_glow;
mod ordinates;
mod outside_rays;
mod read_cells;
mod received;
mod seen_blocks;
mod sent_sideways;
mod sharpened;
mod spline_rays;
mod sun;
mod sunlit_cubes;
mod surfaces;
mod towards;
mod wide_sun;
mod within;

use std::mem::take;
use std::ops::Range;

#[cfg(feature = "viewer")]
use half::f16;
use rayon::prelude::*;

use crate::grid::Dims;
use crate::look::light_points::{cells_between, points};
use crate::look::{Look, Scattering};
use crate::snapshot::{Part, Snapshot};

use super::bricks;
use super::distance::Fields;
use super::exp::exp;
use super::lamp::Lamp;
use super::medium::{Medium, Phase};
use super::preshaded::Cells;
use super::solid::Solid;
use super::trilinear::trilinear;
use faded::Unfaded;
pub(super) use floor_columns::{AROUND, FloorColumns};
pub(super) use floor_rays::EVENLY;
use gather::gather;
pub(super) use lamps::{Lit, MIDDLES};
use mixture::Mixture;
use ordinates::phase::cut_phase;
use ordinates::{Moments, Outside, Sources};
use outside_rays::OutsideRays;
#[cfg(feature = "viewer")]
pub(super) use received::OFF;
pub(super) use sent_sideways::SmokySides;
use spline_rays::SplineField;
pub(super) use sun::{root, squared};
use wide_sun::depth_to_sun;
use within::Within;

/// The share of the sun that is left in the shadow of a solid; none would spread the shadow over the points around it.
const DARK: f32 = 1e-3;
/// Lowest layers of cubes, of those that surfaces read, from which the floor takes its light.
const ABOVE_FLOOR: usize = 3;
/// Cubes before a solid, of those that surfaces read, whose light is read on it.
const BEFORE_SURFACES: usize = 3;
/// Accelerated sweeps on the cubes, on cubes of twice the edge, and so on. The last follows a step of the acceleration.
const SWEEPS: [usize; 3] = [4, 7, 19];
/// The same with fine light, whose smaller cubes need more sweeps.
const FINE_SWEEPS: [usize; 3] = [12, 24, 60];

/// The light in one snapshot under one look.
#[derive(Debug)]
pub struct LightVolume {
    /// Points along each axis, with one before and one after the box.
    pub points: Dims,
    /// Distance between points, whole cells \[m\]; the second lies half of it within the box.
    pub spacing: f32,
    scale: f32,
    /// [`Quality::fine_light`](super::Quality::fine_light).
    fine: bool,
    solids: Vec<Solid>,
    fields: Fields,
    /// Bounding box of the occupied bricks \[m\]; inverted if all are empty.
    smoke: [[f32; 3]; 2],
    extent: [f32; 3],
    density: Vec<f32>,
    /// Means over cells of smoke as eyes read it, and over cubes; empty where cubes have the smoke of the cells themselves.
    means_as_read: Vec<f32>,
    smoke_in_cubes: Vec<f32>,
    unfaded: Unfaded,
    /// For each row of points those that smoke may be read from: all between its first and last, and the ones around, as far as
    /// a spline reads.
    spans: Vec<Range<usize>>,
    /// Depth of the smoke towards the sun at each point, and what solids hide adds to it; empty without solids.
    depth: Vec<f32>,
    shade: Vec<f32>,
    sun: Lamp,
    /// Share of the depth that dims the sun on surfaces: light that smoke scatters in its forward peak arrives with the sun.
    sun_scale: [f32; 3],
    /// Further lights.
    lamps: Vec<Lit>,
    mixture: Mixture,
    /// The cubes, their light from outside, and φ and J in them, of all light in the end; the solver has the radiance of light
    /// from outside.
    cubes: ordinates::MediumCubes,
    sources: Sources,
    light: [Moments; 3],
    within: Within,
    /// φ and J of fine light on cubes of twice the edge, for surfaces: on small cubes the light of a bright spot arrives in beams along the
    /// ordinates. Last that which smoke sends of light from within.
    halved: (Dims, [Moments; 3], [Moments; 3]),
    solver: ordinates::Solver,
    /// Light from outside on the floor.
    floor_columns: FloorColumns,
    /// Share of each cube that solids fill; empty without solids.
    filled: Vec<f32>,
    /// Light from outside that smoke scatters once, if eyes read it along straight rays and not from the cubes.
    outside_rays: Option<OutsideRays>,
    scratch: Scratch,
}

/// Scratch memory, reused from bake to bake.
#[derive(Clone, Debug, Default)]
struct Scratch {
    planes: gather::Planes,
    discs: wide_sun::Depths,
    /// Sums over the points in each cube.
    sums: Vec<[f32; 4]>,
}

/// A scalar field on points.
#[derive(Clone, Copy)]
struct Points<'a> {
    dims: Dims,
    spacing: f32,
    values: &'a [f32],
}

impl Default for LightVolume {
    fn default() -> Self {
        let one = Dims { nx: 1, ny: 1, nz: 1 };
        Self {
            points: Dims { nx: 3, ny: 3, nz: 3 },
            spacing: 1.0,
            scale: Look::default().light_scale,
            fine: false,
            solids: Vec::new(),
            fields: Fields::default(),
            smoke: [[f32::MAX; 3], [f32::MIN; 3]],
            extent: [1.0; 3],
            density: vec![0.0; 27],
            means_as_read: Vec::new(),
            smoke_in_cubes: Vec::new(),
            unfaded: Unfaded::default(),
            spans: vec![0..0; 9],
            depth: vec![0.0; 27],
            shade: Vec::new(),
            sun: Lamp::sun(&Look::default()),
            sun_scale: [1.0; 3],
            lamps: Vec::new(),
            mixture: Mixture { dims: one, edge: 1, h: 1.0, smoke: vec![[0.0; 3]] },
            cubes: ordinates::MediumCubes::default(),
            sources: Sources::default(),
            within: Within::default(),
            light: std::array::from_fn(|_| Moments {
                mean: vec![0.0],
                flux: std::array::from_fn(|_| vec![0.0]),
            }),
            halved: (one, Default::default(), Default::default()),
            solver: ordinates::Solver::default(),
            floor_columns: FloorColumns::default(),
            filled: Vec::new(),
            outside_rays: None,
            scratch: Scratch::default(),
        }
    }
}

impl LightVolume {
    /// Recomputes all light. Runs on the rayon pool of the caller; the same bits for any number of threads.
    pub fn bake(&mut self, snapshot: &Snapshot, look: &Look) {
        self.scale = look.light_scale;
        let mut cells = Cells::default();
        if look.glow > 0.0 {
            cells.gather(snapshot);
        }
        self.gather(snapshot);
        self.cast(look, &cells, None);
    }

    /// The first half of [`LightVolume::bake`]: the smoke of a snapshot at points, as many as the last look asked for, and
    /// in cubes.
    pub fn gather(&mut self, snapshot: &Snapshot) {
        self.gather_part(&Part::of(snapshot));
    }

    /// As [`LightVolume::gather`], of a part of a snapshot. Each of several ranks gets the densities of all points; a slab needs
    /// [`LightVolume::cells_above`] it.
    pub(super) fn gather_part(&mut self, part: &Part) {
        let snapshot = part.whole;
        self.extent = snapshot.extent();
        let between = self.cells_between(snapshot.dims);
        let [nx, ny, nz] = points(snapshot.dims.array(), between).map(|n| n + 2);
        self.points = Dims { nx, ny, nz };
        self.spacing = between as f32 * snapshot.h;
        self.solids = Solid::all(&snapshot.solids, &mut self.fields);
        self.smoke = bricks::occupied(&snapshot.bricks, snapshot.h);
        self.mixture.fit(snapshot, self.fine);
        let Self { points, scratch, mixture, density, .. } = self;
        gather(part, mixture, (*points, between), &mut scratch.planes, density);
        self.unfaded.clear();
        self.spans = spans(self.points, &self.density);
    }

    /// Planes of cells above a slab of `dims` that [`LightVolume::gather_part`] reads.
    pub(super) fn cells_above(&self, dims: Dims) -> usize {
        self.cells_between(dims) + 2
    }

    fn cells_between(&self, dims: Dims) -> usize {
        cells_between(self.scale, dims.array(), !self.fine)
    }

    /// The second half: the light under a look, in the smoke gathered last. `cells` are those of the same snapshot; only
    /// smoke that glows needs them. `part` is that of this rank.
    pub(super) fn cast(&mut self, look: &Look, cells: &Cells, part: Option<&Part>) {
        self.cast_beside(look, cells, part, || ());
    }

    /// As [`LightVolume::cast`], with other work beside the ordinates, whose three colours leave the second of two threads idle.
    pub(super) fn cast_beside(
        &mut self,
        look: &Look,
        cells: &Cells,
        part: Option<&Part>,
        beside: impl FnOnce() + Send,
    ) {
        let medium = Medium::of(look, self.extent);
        self.fade(&medium);
        let single = look.scattering == Scattering::Single;
        self.sun = Lamp::sun(look);
        let field = self.on_points(&self.density);
        // In files the cubes are cells, or nearly so, and glow is that of the cells themselves.
        let as_read = !single && (!self.fine || look.glow == 0.0 && self.cells_are_points());
        let spline = (self.fine && (as_read || single)).then(|| SplineField::new(field));
        let sun = (&self.sun, self.sun_directions());
        let (mut means, mut discs, mut depth) =
            (take(&mut self.means_as_read), take(&mut self.scratch.discs), take(&mut self.depth));
        means.clear();
        rayon::join(
            || depth_to_sun((field, spline.as_ref()), medium.extinction, sun, &mut discs, &mut depth),
            || as_read.then(|| self.fill_means_as_read(&mut means)),
        );
        (self.means_as_read, self.scratch.discs, self.depth) = (means, discs, depth);
        self.cubes.linear = as_read;
        let shade = take(&mut self.shade);
        self.shade = self.shade_of(&self.sun, shade);
        self.gather_lamps(look, &medium, spline.as_ref());
        let mut phase = medium.scaled_phase();
        if single {
            phase = Phase { forward: 0.0, g: 0.0 };
        }
        self.cubes.phase = phase;
        let albedo = medium.albedo(self.mixture.all());
        self.sun_scale = albedo.map(|albedo| 1.0 - albedo * phase.forward);
        self.fill_cubes(&medium, look);
        let outside = Outside {
            sun_phase: cut_phase(&medium, medium.sun_direction.map(|x| -x)),
            sky: medium.sky,
            around: medium.around.clone(),
            ground: medium.ground,
            floor: look.floor.map(|albedo| self.floor_below(&medium, albedo)),
        };
        // Solids hide light from outside and reflect it: there the cubes have it.
        let spline = spline.filter(|_| single && self.solids.is_empty());
        self.outside_rays = spline.and_then(|spline| OutsideRays::new(&outside, spline));
        let sweeps: &[usize] = match (single, self.fine) {
            (true, _) => &[1],
            (false, false) => &SWEEPS,
            (false, true) => &FINE_SWEEPS,
        };
        self.within.take_glow(&medium, cells, &self.cubes, part, (sweeps, self.fine));
        let everywhere = !self.solids.is_empty();
        let Self { solver, cubes, sources, light, .. } = self;
        rayon::join(|| solver.solve(cubes, sources, &outside, sweeps, everywhere, light), beside);
        if self.within.shines {
            let read = self.cubes_read();
            let thinned = self.within.glow.thinned(&self.cubes, self.mixture.edge);
            let cubes = thinned.as_ref().unwrap_or(&self.cubes);
            self.within.solve(cubes, look.floor, sweeps, |n| read[n]);
        }
        self.extend_into_solids(&outside);
        self.halve_if_fine();
        self.floor_columns = self.on_floor(&medium, &outside, single);
        if self.within.shines {
            let walls = self.within.of_walls.iter().flat_map(Moments::all);
            for (all, walls) in self.light.iter_mut().flat_map(Moments::all_mut).zip(walls) {
                all.iter_mut().zip(walls).for_each(|(all, walls)| *all += walls);
            }
            self.halve_if_fine();
        }
        self.correct_before_walls();
    }

    fn on_points<'a>(&self, values: &'a [f32]) -> Points<'a> {
        Points { dims: self.points, spacing: self.spacing, values }
    }

    /// Whether a point lies in each cell.
    fn cells_are_points(&self) -> bool {
        let cell = self.mixture.cell();
        (self.spacing - cell).abs() < 1e-3 * cell
    }

    fn halve_if_fine(&mut self) {
        if self.mixture.per_surface_cube() > 1 {
            self.halve();
        }
    }

    /// Whether light from within is read in each cube: in and beside smoke, and before surfaces.
    fn cubes_read(&self) -> Vec<bool> {
        let dims = self.mixture.dims;
        let mut read: Vec<bool> = self.mixture.smoke.iter().map(|smoke| *smoke != [0.0; 3]).collect();
        spread(dims, &mut read);
        if !self.filled.is_empty() {
            let mut marks: Vec<bool> = self.filled.iter().map(|&filled| filled > 0.0).collect();
            for _ in 0..BEFORE_SURFACES * self.mixture.per_surface_cube() {
                spread(dims, &mut marks);
            }
            read.iter_mut().zip(marks).for_each(|(read, near)| *read |= near);
            read.iter_mut().zip(&self.filled).for_each(|(read, &filled)| *read &= filled == 0.0);
        }
        read
    }

    /// Extinction, albedo and sources of the cubes. Light that is scattered once never meets an albedo.
    fn fill_cubes(&mut self, medium: &Medium, look: &Look) {
        let single = look.scattering == Scattering::Single;
        let Mixture { dims, h, .. } = self.mixture;
        let cubes = &mut self.cubes;
        (cubes.dims, cubes.h) = (dims, h);
        cubes.above_floor = ABOVE_FLOOR * self.mixture.per_surface_cube();
        self.smoke_in_cubes.clear();
        if !self.means_as_read.is_empty() {
            self.add_up_in_cubes();
        }
        let (cubes, smoke) = (&mut self.cubes, &self.mixture.smoke);
        cubes.extinction.clear();
        if self.smoke_in_cubes.is_empty() {
            cubes.extinction.extend(smoke.iter().map(|c| c.iter().sum::<f32>() * medium.extinction));
        } else {
            cubes.extinction.extend(self.smoke_in_cubes.iter().map(|density| density * medium.extinction));
        }
        // Empty cubes have the albedo of all smoke, for what is interpolated next to them.
        let of_all = if single { [0.0; 3] } else { medium.albedo(self.mixture.all()) };
        let [red, green, blue] = &mut cubes.albedo;
        for albedo in [&mut *red, &mut *green, &mut *blue] {
            albedo.resize(dims.cells(), 0.0);
        }
        let albedos = red.par_iter_mut().zip(green).zip(blue).zip(smoke).with_min_len(1 << 12);
        albedos.for_each(|(((red, green), blue), &smoke)| {
            let is_empty = smoke == [0.0; 3] || single;
            [*red, *green, *blue] = if is_empty { of_all } else { medium.albedo(smoke) };
        });
        for sources in [&mut self.sources, &mut self.within.sources] {
            sources.emission.iter_mut().for_each(Vec::clear);
            sources.sun.iter_mut().for_each(Vec::clear);
        }
        self.stand(medium, look);
        (self.sources.lamps, self.within.sources.lamps) = Default::default();
        if !single {
            self.light_cubes(medium);
            self.sources.lamps = self.lamps_in_cubes(medium, true);
            self.within.sources.lamps = self.lamps_in_cubes(medium, false);
        }
    }

    /// Size of the box \[m\].
    pub(super) fn extent(&self) -> [f32; 3] {
        self.extent
    }

    /// Optical depth of the smoke from a place in the box \[m\] to the sun; beyond the box, that of the nearest place.
    pub fn depth_to_sun(&self, p: [f32; 3]) -> f32 {
        self.depth_at(&self.depth, p)
    }

    /// Share of the sun that the smoke lets through to a surface in the box \[m\], with what it scatters in the forward peak.
    pub fn sun_through(&self, p: [f32; 3]) -> [f32; 3] {
        let depth = self.depth_to_sun(p);
        self.sun_scale.map(|scale| exp(-scale * depth))
    }

    #[cfg(feature = "viewer")]
    pub(super) fn sun_scale(&self) -> [f32; 3] {
        self.sun_scale
    }

    /// The part of [`LightVolume::sun_through`] that is scattered, where a share `clear` is not.
    pub(super) fn sun_scattered_ahead(&self, clear: f32) -> [f32; 3] {
        let depth = clear.max(f32::MIN_POSITIVE).ln();
        self.sun_scale.map(|scale| exp(scale * depth) - clear)
    }

    fn depth_at(&self, depth: &[f32], p: [f32; 3]) -> f32 {
        let at = std::array::from_fn(|a| p[a].clamp(0.0, self.extent[a]) / self.spacing + 0.5);
        let [depth] = trilinear(self.points, at, |n| [depth[n]]);
        depth
    }

    /// Edge of the cubes \[m\].
    pub(super) fn cube_edge(&self) -> f32 {
        self.mixture.h
    }

    /// Whether anything glows, or scatters lights close by.
    pub(super) fn shines_within(&self) -> bool {
        self.within.shines
    }

    /// Radiance that a white floor sends of glow that nothing has scattered.
    pub(super) fn glow_on_floor(&self, p: [f32; 3]) -> [f32; 3] {
        self.within.glow_on_floor(p)
    }

    /// The same of light that smoke scatters, of glow and of lamps close by.
    pub(super) fn scattered_on_floor(&self, p: [f32; 3]) -> [f32; 3] {
        self.within.scattered_on_floor(p)
    }

    /// The depth of the smoke towards the sun at each point.
    #[cfg(feature = "viewer")]
    pub(super) fn depths(&self) -> Vec<[f16; 4]> {
        self.depth.iter().map(|&depth| [f16::from_f32(depth), f16::ZERO, f16::ZERO, f16::ZERO]).collect()
    }

    /// The cubes that surfaces read: how many along each axis, and their edge \[m\].
    pub(super) fn surface_cubes(&self) -> (Dims, f32) {
        let Mixture { dims, h, .. } = self.mixture;
        if self.mixture.per_surface_cube() > 1 { (self.halved.0, 2.0 * h) } else { (dims, h) }
    }

    /// φ and J of one colour in the cubes that surfaces read, and of what smoke sends of light from within; one dark cube if
    /// there is none.
    #[cfg(feature = "viewer")]
    pub(super) fn moments(&self, channel: usize) -> [(Dims, Vec<[f16; 4]>); 2] {
        let texels = |moments: &Moments| {
            let Moments { mean, flux: [x, y, z] } = moments;
            let half = |value: f32| f16::from_f32(value.clamp(-super::medium::MOST, super::medium::MOST));
            let texel = |n: usize| [mean[n], x[n], y[n], z[n]].map(half);
            (self.surface_cubes().0, (0..mean.len()).map(texel).collect())
        };
        let smoke = if self.within.shines {
            texels(self.surface_moments_of_smoke()[channel])
        } else {
            (Dims { nx: 1, ny: 1, nz: 1 }, vec![[f16::ZERO; 4]])
        };
        [texels(self.surface_moments()[channel]), smoke]
    }

    /// Bounding box of everything that may cast a shadow \[m\]; `None` if empty.
    pub(super) fn occupied(&self) -> Option<[[f32; 3]; 2]> {
        if !self.solids.is_empty() {
            return Some([[0.0; 3], self.extent()]);
        }
        self.smoke()
    }

    /// Bounding box of the smoke \[m\]; `None` without any.
    pub(super) fn smoke(&self) -> Option<[[f32; 3]; 2]> {
        (self.smoke[0][0] < self.smoke[1][0]).then_some(self.smoke)
    }

    /// Solids of the last gathered snapshot.
    pub(super) fn solids(&self) -> &[Solid] {
        &self.solids
    }

    /// Points per cell and axis from the next [`LightVolume::gather`] on.
    pub fn set_scale(&mut self, scale: f32) {
        self.scale = scale;
    }

    /// Fine light from the next [`LightVolume::gather`] on, or not: [`Quality::fine_light`](super::Quality::fine_light).
    pub fn set_fine(&mut self, fine: bool) {
        self.fine = fine;
    }

    #[cfg(feature = "viewer")]
    pub(super) fn is_fine(&self) -> bool {
        self.fine
    }
}

/// Marks the cubes around those that are marked.
fn spread(dims: Dims, marks: &mut [bool]) {
    for (count, stride) in [(dims.nx, 1), (dims.ny, dims.nx), (dims.nz, dims.nx * dims.ny)] {
        let before = marks.to_vec();
        for (n, mark) in marks.iter_mut().enumerate() {
            let at = n / stride % count;
            *mark |= at > 0 && before[n - stride] || at + 1 < count && before[n + stride];
        }
    }
}

/// For each row of points the range that density may be interpolated from.
fn spans(points: Dims, density: &[f32]) -> Vec<Range<usize>> {
    let rows: Vec<Option<[usize; 2]>> = density
        .par_chunks(points.nx)
        .map(|row| Some([row.iter().position(|&x| x > 0.0)?, row.iter().rposition(|&x| x > 0.0)?]))
        .collect();
    let around = |n: usize, count: usize| n.saturating_sub(2)..(n + 3).min(count);
    let span = |row: usize| {
        let (j, k) = (row % points.ny, row / points.ny);
        let near = around(k, points.nz).flat_map(|k| around(j, points.ny).map(move |j| j + k * points.ny));
        let both = near.filter_map(|row| rows[row]).reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        both.map_or(0..0, |[first, last]| first.saturating_sub(2)..(last + 3).min(points.nx))
    };
    (0..rows.len()).into_par_iter().with_min_len(points.ny).map(span).collect()
}

#[cfg(test)]
mod light_tests;
