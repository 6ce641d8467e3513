//! Number of points of the light volume of a box.
//!
//! Points are whole cells apart, so that each has equally many. With fractions of a cell between them the radiance of a ball of 180 1/m and
//! 6 cells radius was 0.14 to 0.33, by the size of the box around it.

/// Most points, of 16 bytes each.
const MOST: usize = 1 << 25;
/// Cells of a box above which moving pictures have a point for each 8 of them.
const MANY: usize = 1 << 19;

/// Cells from one point to the next, for so many points per cell and axis as a look asks for.
pub fn cells_between(asked: f32, cells: [usize; 3], moving: bool) -> usize {
    let asked = (1.0 / asked.clamp(1.0 / 16.0, 1.0)).round() as usize;
    let least = if moving && count(cells, 1) > MANY { 2 } else { 1 };
    (asked.max(least)..).find(|&between| count(cells, between) <= MOST).expect("one point in the end")
}

/// Points in the box along each axis; the last may stand for cells beyond its side.
pub fn points(cells: [usize; 3], between: usize) -> [usize; 3] {
    cells.map(|n| n.div_ceil(between))
}

fn count(cells: [usize; 3], between: usize) -> usize {
    points(cells, between).into_iter().fold(1, usize::saturating_mul)
}
