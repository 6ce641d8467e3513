//! Number of points of the light volume of a box.

/// A light volume has as many points along its longest axis, if the grid has as many cells.
const POINTS: f32 = 64.0;
/// Most points of a light volume that several ranks share: each has all of them, 16 bytes for each.
const MOST_POINTS: f64 = (1_u32 << 25) as f64;

/// Points in the box along each axis, for so many per cell.
pub fn points(cells: [usize; 3], scale: f32) -> [usize; 3] {
    cells.map(|n| ((n as f32 * scale).round() as usize).clamp(1, n))
}

/// Points per cell along an axis of a grid, of those that a look asks for.
pub fn scale_of_points(asked: f32, cells: [usize; 3]) -> f32 {
    let longest = cells.into_iter().max().unwrap_or(1) as f32;
    asked.clamp(1.0 / 16.0, 1.0).max((POINTS / longest).min(1.0))
}

/// As [`scale_of_points`], where each rank has all points: at most 2²⁵ of them.
pub fn scale_on_ranks(asked: f32, cells: [usize; 3]) -> f32 {
    let all: f64 = cells.iter().map(|&n| n as f64).product();
    scale_of_points(asked, cells).min((MOST_POINTS / all).cbrt() as f32)
}
