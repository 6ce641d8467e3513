//! The light that arrives at nodes of the floor from the sun and from outside, row by row.

use super::camera::away_from_zero;
use super::exp::exp;
use super::floor_grid::FloorGrid;
use super::light::{AROUND, FloorColumns, LightVolume, MIDDLES, SmokySides};
use super::medium::Medium;
use super::trilinear::lerp;

/// Radiance of a white floor in light from outside.
struct Columns(FloorColumns);

/// Light of one light volume at nodes of the floor.
pub(super) struct FloorNodes<'a> {
    light: &'a LightVolume,
    medium: &'a Medium,
    columns: Columns,
    /// Sides of the box that smoke reaches, and the radiance of a white floor that sees them; `None` without any.
    beside: Option<(SmokySides, FloorGrid)>,
    /// Bounding box of what may cast a shadow \[m\].
    pub clouds: [[f32; 3]; 2],
    extent: [f32; 3],
    /// Radiance of a white floor under an open sky.
    open: [f32; 3],
    /// Reciprocals of the components of the direction to the sun.
    inverse: [f32; 3],
}

/// A row of nodes along x.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// x of the first node, and the distance between nodes \[m\].
    pub first: f32,
    pub spacing: f32,
    /// z of all nodes \[m\].
    pub z: f32,
}

impl<'a> FloorNodes<'a> {
    pub fn new(light: &'a LightVolume, medium: &'a Medium) -> Self {
        let columns = Columns::new(light, medium);
        let (_, edge) = light.surface_cubes();
        let extent = light.extent();
        let beside = light.smoky_sides().map(|sides| {
            let reach = AROUND * extent[0].max(extent[2]);
            let (lo, hi) = ([-reach; 2], [extent[0] + reach, extent[2] + reach]);
            let open = open_sky(medium);
            let seen = |p: [f32; 3]| {
                let change = sides.on_floor(p);
                std::array::from_fn(|c| open[c] + change[c])
            };
            let grid = FloorGrid::cast(&seen, lo, hi, [edge; 2]);
            (sides, grid)
        });
        Self {
            light,
            medium,
            columns,
            beside,
            clouds: clouds(light),
            extent,
            open: open_sky(medium),
            inverse: medium.sun_direction.map(|x| 1.0 / away_from_zero(x)),
        }
    }

    /// Sets each texel of a row to the transmittance of the smoke towards the sun, and the radiance of a white floor in all other light. Rays
    /// from nodes beside the box count where they pass through it. Smoke changes the other light only near the box.
    pub fn fill(&self, row: Row, texels: &mut [[f32; 4]]) {
        let extent = self.extent;
        let longest = extent[0].max(extent[2]);
        let nearest_z = row.z.clamp(0.0, extent[2]);
        let away_z = (row.z - nearest_z).powi(2);
        // Along y and z the rays of a row pass through both boxes alike.
        let [clouds, whole] = [self.clouds, [[0.0; 3], extent]].map(|sides| {
            let [y, z] = [self.span(sides, 1, 0.0), self.span(sides, 2, row.z)];
            (sides, [y[0].max(z[0]), y[1].min(z[1])])
        });
        let is_wide = self.light.sun().is_wide();
        let goes_on = self.columns.0.is_change;
        let sky = self.columns.row(if goes_on { row.z } else { nearest_z });
        for (i, texel) in texels.iter_mut().enumerate() {
            let x = row.first + i as f32 * row.spacing;
            let nearest_x = x.clamp(0.0, extent[0]);
            let away = ((x - nearest_x).powi(2) + away_z).sqrt() / longest;
            let changed = if goes_on {
                (2.0 - 2.0 * away / AROUND).clamp(0.0, 1.0)
            } else {
                (1.0 - away / AROUND).max(0.0).powi(2)
            };
            let mut other = self.open;
            if changed > 0.0 {
                let near = sky.at(if goes_on { x } else { nearest_x });
                (0..3).for_each(|c| other[c] += (near[c] - other[c]) * changed);
                if let Some((sides, grid)) =
                    self.beside.as_ref().filter(|(sides, _)| !sides.contain(x, row.z))
                {
                    let takes = sides.takes(x, row.z);
                    let kept = (2.0 - 2.0 * away / AROUND).min(1.0);
                    let seen = lerp(self.open, grid.sample(x, row.z), kept).map(|x| x.max(0.0));
                    other = lerp(other, seen, takes);
                }
            }
            let p = [x, 0.0, row.z];
            let [near, far] = self.within(clouds, x);
            let [enter, leave] = self.within(whole, x);
            let sun = if is_wide && away > 0.0 {
                // Rays to a wide sun enter the box at many points.
                let count = self.light.sun_directions();
                exp(-self.light.depth_between_lamp(p, self.light.sun(), (count, MIDDLES), self.medium))
            } else if leave > enter.max(0.0) && far > near.max(0.0) {
                let way = enter.max(0.0);
                let enters = std::array::from_fn(|a| p[a] + self.medium.sun_direction[a] * way);
                exp(-self.light.depth_to_sun(enters))
            } else {
                1.0
            };
            *texel = [sun, other[0], other[1], other[2]];
        }
    }

    /// The part of a ray to the sun between the sides of a box along an axis, from a coordinate on.
    fn span(&self, [lo, hi]: [[f32; 3]; 2], axis: usize, from: f32) -> [f32; 2] {
        let [a, b] = [lo, hi].map(|side| (side[axis] - from) * self.inverse[axis]);
        [a.min(b), a.max(b)]
    }

    /// The part within a box of the ray from `x`, of which that along y and z is given.
    fn within(&self, (sides, of_row): ([[f32; 3]; 2], [f32; 2]), x: f32) -> [f32; 2] {
        let along_x = self.span(sides, 0, x);
        [along_x[0].max(of_row[0]), along_x[1].min(of_row[1])]
    }
}

/// Columns of cubes around a row of nodes.
struct ColumnRow<'a> {
    columns: &'a Columns,
    /// Rows of columns to either side, and the share of the second.
    rows: [&'a [[f32; 3]]; 2],
    share: f32,
}

impl Columns {
    fn new(light: &LightVolume, medium: &Medium) -> Self {
        let (open, by_ordinates) = (open_sky(medium), LightVolume::open_floor(medium));
        let mut columns = light.floor_columns().clone();
        for sent in &mut columns.radiance {
            for c in 0..3 {
                // Five directions sample an environment with a bright part too coarsely.
                match &medium.around {
                    _ if columns.is_change => sent[c] = (sent[c] + open[c]).max(0.0),
                    Some(_) => sent[c] *= open[c] / by_ordinates[c].max(1e-6),
                    None => sent[c] += open[c] - by_ordinates[c],
                }
            }
        }
        // Ordinates would show as streaks and patches, and directions of rays as grain.
        blur(columns.size, &mut columns.radiance, columns.blur);
        Self(columns)
    }

    fn row(&self, z: f32) -> ColumnRow<'_> {
        let Self(FloorColumns { size, radiance, .. }) = self;
        let (low, high, share) = self.near(z, size[1]);
        let rows = [low, high].map(|k| &radiance[k * size[0]..][..size[0]]);
        ColumnRow { columns: self, rows, share }
    }

    /// The columns to either side of a place \[m\], of so many, and the share of the second.
    fn near(&self, at: f32, count: usize) -> (usize, usize, f32) {
        let at = ((at - self.0.first) / self.0.apart).clamp(0.0, (count - 1) as f32);
        let low = at as usize;
        (low, (low + 1).min(count - 1), at - low as f32)
    }
}

impl ColumnRow<'_> {
    fn at(&self, x: f32) -> [f32; 3] {
        let (low, high, share) = self.columns.near(x, self.columns.0.size[0]);
        let [a, b] = self.rows.map(|row| lerp(row[low], row[high], share));
        lerp(a, b, self.share)
    }
}

/// Blurs values on a grid of `n` nodes in place, along each axis by passes of ¼, ½, ¼.
pub(super) fn blur<const N: usize>(n: [usize; 2], values: &mut [[f32; N]], passes: usize) {
    let mut line = Vec::new();
    for (axis, stride) in [1, n[0]].into_iter().enumerate() {
        for first in (0..n[1 - axis]).map(|other| other * n[0].pow(1 - axis as u32)) {
            for _ in 0..passes {
                line.clear();
                line.extend((0..n[axis]).map(|i| values[first + i * stride]));
                for i in 0..n[axis] {
                    let [below, above] = [line[i.saturating_sub(1)], line[(i + 1).min(n[axis] - 1)]];
                    values[first + i * stride] =
                        std::array::from_fn(|c| 0.25 * (below[c] + above[c]) + 0.5 * line[i][c]);
                }
            }
        }
    }
}

/// Returns the bounding box of everything that may cast a shadow \[m\]. The light volume blurs shadows by a
/// node or two.
fn clouds(light: &LightVolume) -> [[f32; 3]; 2] {
    let [lo, hi] = light.occupied().unwrap_or([[1.0; 3], [-1.0; 3]]);
    let blur = 3.0 * light.spacing;
    [std::array::from_fn(|a| lo[a] - blur), std::array::from_fn(|a| hi[a] + blur)]
}

/// Returns the radiance of a white floor under an open sky.
pub(super) fn open_sky(medium: &Medium) -> [f32; 3] {
    if let Some(around) = &medium.around {
        return around.on_white_floor();
    }
    std::array::from_fn(|c| medium.ground[c] + (medium.sky[c] - medium.ground[c]) * (5.0 / 6.0))
}
