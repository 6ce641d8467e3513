//! Momentum that solids gain from the air.

use super::SolidPose;
use super::frame::Frame;
use crate::solver::project::cell_of;

/// Momentum and angular momentum that solids have gained, as if the air of one cell had brought it.
#[derive(Clone, Debug, PartialEq)]
pub struct Momentum {
    /// Of each solid \[m/s\].
    pub linear: Vec<[f64; 3]>,
    /// Of each about its position \[m²/s\].
    pub angular: Vec<[f64; 3]>,
}

/// Positions of solids, for the lever arms of forces on them.
#[derive(Clone, Copy)]
pub struct Arms<'a> {
    /// The box.
    pub frame: Frame,
    /// Poses of the solids.
    pub poses: &'a [SolidPose],
}

impl Momentum {
    /// Nothing, for this many solids.
    pub fn new(solids: usize) -> Self {
        Self { linear: vec![[0.0; 3]; solids], angular: vec![[0.0; 3]; solids] }
    }

    /// Starts anew.
    pub fn clear(&mut self) {
        self.linear.fill([0.0; 3]);
        self.angular.fill([0.0; 3]);
    }

    /// Adds to `solid` what it gains along `component` at the face at a position \[m/s\].
    pub fn add(&mut self, arms: Arms, solid: u16, component: usize, face: u32, gained: f64) {
        let solid = usize::from(solid);
        self.linear[solid][component] += gained;
        let arm = arms.of(solid, component, face);
        let [next, last] = [(component + 1) % 3, (component + 2) % 3];
        // r × e: along the next axis it is that of the one after it.
        self.angular[solid][next] += arm[last] * gained;
        self.angular[solid][last] -= arm[next] * gained;
    }
}

impl Arms<'_> {
    /// From the position of a solid to a face of `component` \[m\]; around a periodic axis the shorter way.
    fn of(self, solid: usize, component: usize, face: u32) -> [f64; 3] {
        let Frame { layout, h, periodic, .. } = self.frame;
        let (at, n, position) = (cell_of(layout, face), layout.dims.array(), self.poses[solid].position);
        [0, 1, 2].map(|a| {
            let place = at[a] as f64 + if a == component { 0.0 } else { 0.5 };
            let (arm, length) = (place * f64::from(h) - f64::from(position[a]), n[a] as f64 * f64::from(h));
            if periodic[a] { arm - length * (arm / length).round() } else { arm }
        })
    }
}
