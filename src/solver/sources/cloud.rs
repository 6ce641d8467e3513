//! Clouds: densities on a regular grid as a form, for example from an OpenVDB file.

use crate::grid::Dims;

/// Shares from 0 to 1 at the centres of the cells of a box, which is centred at the origin. Outside they are 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Cloud {
    dims: Dims,
    /// Edge of a cell \[m\].
    h: f32,
    /// x fastest.
    shares: Vec<f32>,
    /// First cell that holds something along each axis, and the one after the last.
    filled: [[usize; 3]; 2],
}

impl Cloud {
    /// Makes a cloud of `shares` on `dims` cells of edge `h` \[m\], limited to 0..=1; NaN counts as 0. None if all are 0.
    ///
    /// # Panics
    /// If there is not one share for each cell.
    pub fn new(dims: Dims, h: f32, shares: Vec<f32>) -> Option<Self> {
        assert_eq!(shares.len(), dims.cells(), "a share for each cell");
        let shares: Vec<f32> =
            shares.into_iter().map(|x| if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) }).collect();
        let (mut low, mut high) = ([usize::MAX; 3], [0; 3]);
        for n in (0..shares.len()).filter(|&n| shares[n] > 0.0) {
            for (a, i) in dims.place(n).into_iter().enumerate() {
                (low[a], high[a]) = (low[a].min(i), high[a].max(i + 1));
            }
        }
        (high != [0; 3]).then_some(Self { dims, h, shares, filled: [low, high] })
    }

    /// Edges of its box \[m\].
    pub fn size(&self) -> [f32; 3] {
        self.dims.array().map(|n| n as f32 * self.h)
    }

    /// Lowest and highest corner of the box around its cells that hold something \[m\], with the half cell beyond, to which a share fades.
    pub(super) fn filled(&self) -> [[f32; 3]; 2] {
        let ([low, high], size) = (self.filled, self.size());
        let at = |a: usize, cell: f32| cell * self.h - 0.5 * size[a];
        [[0, 1, 2].map(|a| at(a, low[a] as f32 - 0.5)), [0, 1, 2].map(|a| at(a, high[a] as f32 + 0.5))]
    }

    /// Memory of its shares \[bytes\].
    pub(super) fn memory(&self) -> u64 {
        size_of_val(self.shares.as_slice()) as u64
    }

    /// The share at a point \[m\], linear between centres.
    pub(super) fn sample(&self, p: [f32; 3]) -> f32 {
        let (n, size) = (self.dims.array(), self.size());
        let at = [0, 1, 2].map(|a| (p[a] + 0.5 * size[a]) / self.h - 0.5);
        // Rounding in the position must not blur a cloud that lies on the cells.
        let at = at.map(|x| if (x - x.round()).abs() < 1e-3 { x.round() } else { x });
        let first = at.map(f32::floor);
        let mut sum = 0.0;
        for corner in 0..8 {
            let (mut weight, mut cell, mut is_inside) = (1.0, [0; 3], true);
            for a in 0..3 {
                let up = corner >> a & 1;
                let part = at[a] - first[a];
                weight *= if up == 1 { part } else { 1.0 - part };
                let index = first[a] + up as f32;
                is_inside &= index >= 0.0 && index < n[a] as f32;
                cell[a] = index as usize;
            }
            if is_inside && weight > 0.0 {
                sum += weight * self.shares[self.dims.index(cell[0], cell[1], cell[2])];
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cloud_is_exact_at_its_centres_and_linear_between_them() {
        let dims = Dims::new([2, 3, 1]).unwrap();
        let cloud = Cloud::new(dims, 0.5, vec![0.0, 1.0, 0.25, 0.5, 7.0, -1.0]).unwrap();
        assert_eq!(cloud.size(), [1.0, 1.5, 0.5]);
        assert_eq!(cloud.sample([0.25, -0.5, 0.0]), 1.0);
        assert_eq!(cloud.sample([-0.25, 0.5, 0.0]), 1.0, "limited to 1");
        assert_eq!(cloud.sample([0.0, -0.5, 0.0]), 0.5);
        assert_eq!(cloud.sample([3.0, 0.0, 0.0]), 0.0);
        assert_eq!(cloud.sample([-0.25, 0.0, 0.25]), 0.125, "half of the way out of the box");
        assert!(Cloud::new(dims, 0.5, vec![0.0; 6]).is_none());
    }

    #[test]
    fn a_cloud_fills_the_box_around_its_shares() {
        let dims = Dims::new([4, 3, 3]).unwrap();
        let mut shares = vec![0.0; 36];
        (shares[dims.index(1, 0, 2)], shares[dims.index(2, 1, 2)]) = (0.3, 1.0);
        let cloud = Cloud::new(dims, 0.5, shares).unwrap();
        assert_eq!(cloud.filled(), [[-0.75, -1.0, 0.0], [0.75, 0.5, 1.0]]);
        assert_eq!(cloud.sample([-0.75, -0.5, 0.5]), 0.0);
        assert!(cloud.sample([-0.7, -0.5, 0.5]) > 0.0);
    }
}
