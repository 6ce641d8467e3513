//! Momentum that solids gain from the air.

use super::SolidPose;
use super::frame::Frame;
use crate::solver::project::cell_of;
use crate::solver::storage::ranks::Ranks;

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
    /// The ranks that share it.
    pub ranks: &'a Ranks,
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

    /// Lets one rank after another add to the momentum, and to `forces` if given: sums are added in the order of planes.
    pub fn add_in_turn(
        &mut self,
        ranks: &Ranks,
        forces: Option<&mut [[f64; 3]]>,
        add: impl FnOnce(&mut Self, &mut [[f64; 3]]),
    ) {
        let forces = forces.unwrap_or_default();
        if ranks.is_alone() {
            return add(self, forces);
        }
        let mut all = self.with(forces);
        ranks.each_in_turn(&mut all, |all| {
            self.take(all, forces);
            add(self, forces);
            all.copy_from_slice(&self.with(forces));
        });
        self.take(&all, forces);
    }

    /// All sums in one list.
    fn with(&self, forces: &[[f64; 3]]) -> Vec<[f64; 3]> {
        [&self.linear[..], &self.angular, forces].concat()
    }

    /// Takes over the sums of such a list.
    fn take(&mut self, all: &[[f64; 3]], forces: &mut [[f64; 3]]) {
        let (linear, rest) = all.split_at(self.linear.len());
        let (angular, others) = rest.split_at(self.angular.len());
        self.linear.copy_from_slice(linear);
        self.angular.copy_from_slice(angular);
        forces.copy_from_slice(others);
    }

    /// Adds to `solid` its gain along `component` at the face at a position \[m/s\].
    pub fn add(&mut self, arms: Arms, solid: u16, component: usize, face: u32, gained: f64) {
        let solid = usize::from(solid);
        self.linear[solid][component] += gained;
        let arm = arms.arm(solid, component, face);
        let [next, last] = [(component + 1) % 3, (component + 2) % 3];
        // r × e: along the next axis it is that of the one after it.
        self.angular[solid][next] += arm[last] * gained;
        self.angular[solid][last] -= arm[next] * gained;
    }
}

impl Arms<'_> {
    /// From the position of a solid to a face of `component` \[m\]; around a periodic axis the shorter way.
    fn arm(self, solid: usize, component: usize, face: u32) -> [f64; 3] {
        let Frame { layout, h, periodic, .. } = self.frame;
        let (at, n, position) = (cell_of(layout, face), layout.dims.array(), self.poses[solid].position);
        [0, 1, 2].map(|a| {
            let place = at[a] as f64 + if a == component { 0.0 } else { 0.5 };
            let (arm, length) = (place * f64::from(h) - f64::from(position[a]), n[a] as f64 * f64::from(h));
            if periodic[a] { arm - length * (arm / length).round() } else { arm }
        })
    }
}
