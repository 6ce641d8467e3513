//! Heat and momentum that the sides of the box give to the air within a step.

use crate::grid::{Faces, Layout, other_axes};
use crate::solver::BoundaryCondition;
use crate::solver::diffuse::{Gains, LineBoundary, Varying};
use crate::solver::sides::GhostRules;

/// Index of the temperature among the scalars.
pub(super) const HEAT: usize = 3;

/// Gains of the air through the sides since the step began, each the mean over the side, in units of a cell.
#[derive(Default)]
pub struct SideGains {
    /// For each axis and end \[K\]; none if nothing has diffused.
    heat: Option<[[f64; 2]; 3]>,
    /// For each axis, end and component \[m/s\].
    momentum: Option<[[[f64; 3]; 2]; 3]>,
    /// Scratch for one row of faces: their gains, and values beyond the side.
    row: Vec<f64>,
    beyond: Vec<[f32; 1]>,
}

impl SideGains {
    /// Mean gain of heat through each side \[K\]; none if nothing has diffused.
    pub fn heat(&self) -> Option<[[f64; 2]; 3]> {
        self.heat
    }

    /// Mean gain of momentum through each side \[m/s\]; none if nothing has diffused.
    pub fn momentum(&self) -> Option<[[[f64; 3]; 2]; 3]> {
        self.momentum
    }

    /// Begins anew.
    pub fn forget(&mut self) {
        (self.heat, self.momentum) = (None, None);
    }

    /// Adds `gains` of the scalars on cells of `layout`.
    pub fn add_heat(&mut self, layout: Layout, gains: &Gains) {
        let heat = self.heat.get_or_insert_default();
        for axis in 0..3 {
            let cells = cells_on_side(layout, axis);
            (0..2).for_each(|end| heat[axis][end] += gains[axis][end][HEAT] / cells);
        }
    }

    /// Adds `gains` of `component` of the velocity.
    pub fn add_momentum(&mut self, layout: Layout, component: usize, gains: &Gains) {
        let momentum = self.momentum.get_or_insert_default();
        for axis in other_axes(component) {
            let cells = cells_on_side(layout, axis);
            (0..2).for_each(|end| momentum[axis][end][component] += gains[axis][end][0] / cells);
        }
    }

    /// Adds the gain of faces on inflows, half of which belongs to the box. Lines do not diffuse the velocity
    /// there, because it is given. `number` is ν Δt/h².
    pub fn add_given_faces(&mut self, walls: &GhostRules, velocity: &Faces, number: f32) {
        let n = walls.layout().dims.array();
        for (component, field) in velocity.iter().enumerate() {
            for face in [0, n[component]] {
                let end = usize::from(face > 0);
                if matches!(walls.sides()[component][end], BoundaryCondition::Inflow(_)) {
                    for axis in other_axes(component) {
                        let face = [face as isize, face as isize + 1];
                        self.add_row_of_faces(walls, (component, field), face, axis, number);
                    }
                }
            }
        }
    }

    /// Adds half of the gain, through the sides along `axis`, of the row of faces on an inflow.
    fn add_row_of_faces(
        &mut self,
        walls: &GhostRules,
        (component, field): (usize, &[f32]),
        face: [isize; 2],
        axis: usize,
        number: f32,
    ) {
        let LineBoundary::Line(ends) = walls.component_ends(component, axis) else { return };
        let layout = walls.layout();
        let mut range = layout.dims.array().map(|n| [0, n as isize]);
        range[component] = face;
        let along = 3 - component - axis;
        for (end, beyond) in ends.into_iter().enumerate().filter(|(_, beyond)| beyond.sign != [1.0]) {
            let edge = if end == 0 { 0 } else { range[axis][1] - 1 };
            self.beyond.clear();
            self.beyond.resize((range[along][1] - range[along][0]) as usize, [beyond.add[0]]);
            walls.add_varying(component, [axis, end], range, Varying::Value, &mut self.beyond);
            let mut own = range;
            own[axis] = [edge, edge + 1];
            own[2] = layout.within(own[2]);
            let holds = |a: usize| own[a][0] < own[a][1];
            self.row.clear();
            if holds(axis) && holds(component) {
                for m in own[along][0]..own[along][1] {
                    let mut at = [face[0]; 3];
                    (at[axis], at[along]) = (edge, m);
                    let value = field[layout.at(at[0], at[1], at[2])];
                    let beyond = beyond.sign[0] * value + self.beyond[(m - range[along][0]) as usize][0];
                    self.row.push(0.5 * f64::from(number * (beyond - value)));
                }
            }
            walls.ranks().join_lists(&mut self.row);
            let gain: f64 = self.row.iter().sum();
            self.momentum.get_or_insert_default()[axis][end][component] += gain / cells_on_side(layout, axis);
        }
    }
}

/// Number of cells on a side across an axis.
fn cells_on_side(layout: Layout, axis: usize) -> f64 {
    other_axes(axis).map(|other| layout.dims.array()[other] as f64).iter().product()
}
