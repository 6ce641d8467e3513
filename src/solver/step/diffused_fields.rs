//! Diffusion of the fields of a box: walls, solids and varying sides give the ends of its lines.

use super::fields::{Fields, SmokeFields};
use super::measure;
use super::side_gains::HEAT;
use crate::solver::Params;
use crate::solver::diffuse::Varying;

use crate::solver::storage::halt::Halt;

/// Largest κ Δt/h² of one pass and of two. The method is stable beyond, but from 4 on a layer as thin as a cell leaves negative values: the
/// first of several passes smooths it. Two passes at 2 take the error of such a layer from 0.6 of its height to 0.03, three at 10 from 1.4
/// to 0.06.
const LARGEST: [f32; 2] = [1.0, 4.0];

/// Divides the `part` of a step into equal ones for a `number` κ Δt/h² of the whole of it. Returns their count too.
fn divided([from, to]: [f32; 2], number: f32) -> (f32, impl Iterator<Item = [f32; 2]>) {
    let count = 1 + LARGEST.iter().filter(|&&largest| number > largest).count();
    let at = move |n: usize| if n == count { to } else { from + (to - from) * n as f32 / count as f32 };
    (count as f32, (0..count).map(move |n| [at(n), at(n + 1)]))
}

impl Fields {
    /// Diffuses the scalars in the `part` of a step from a share of it to another; `per_area` is Δt/h² of the velocity's cells. What diffuses through sides and surfaces
    /// counts as having left. They have decayed by the factors `decay` in this step.
    pub fn diffuse_scalars(
        &mut self,
        params: &Params,
        per_area: f32,
        (part, decay): ([f32; 2], [f32; 4]),
        halt: &Halt,
    ) {
        let per_area = per_area * self.finer().pow(2) as f32;
        let [r, g, b] = params.smoke.map(|s| s.diffusion);
        let number = [r, g, b, params.conduction].map(|kappa| kappa * per_area);
        if number == [0.0; 4] {
            return;
        }
        let held = self.budget.held.take();
        let exchange = self.walls.hold_scalars()
            || self.obstacles.as_ref().is_some_and(|obstacles| obstacles.hold_temperature());
        // Only the sweeps keep a budget.
        let before = (exchange && self.sweeps.is_some()).then(|| held.unwrap_or_else(|| self.contents()));
        let given = self.heat_given();
        let mut entered = [0.0; 4];
        let (count, parts) = divided(part, number.into_iter().fold(0.0, f32::max));
        for part in parts {
            let gains = self.diffuse_lines(number.map(|number| number / count), (part, decay), halt);
            (0..4).for_each(|c| entered[c] += gains[c]);
        }
        entered[HEAT] += self.heat_given() - given;
        if let Some(before) = before {
            let after = self.contents();
            for c in (0..4).filter(|&c| number[c] > 0.0) {
                let gained = after[c] - before[c];
                // Where nothing decays, the sums over all cells are more exact than those over the lines.
                let entered = if decay[c] == 1.0 { gained } else { entered[c] };
                self.budget.left[c] -= entered;
                self.budget.faded[c] += entered - gained;
            }
        }
    }

    /// Sums over all cells of red, green, blue and temperature.
    fn contents(&mut self) -> [f64; 4] {
        let SmokeFields { layout, walls, scalars, sums, .. } = self.smoke();
        measure::contents(layout, walls.ranks(), scalars, sums)
    }

    /// Heat that all solids have given to the air \[K cells\].
    fn heat_given(&self) -> f64 {
        self.obstacles.as_ref().map_or(0.0, |obstacles| obstacles.heat().iter().sum())
    }

    /// Diffuses the scalars along each axis. Returns what has entered through the sides, without its decay \[cells\]. `number` is κ Δt/h² of each, with the edge h of a cell of smoke.
    fn diffuse_lines(
        &mut self,
        number: [f32; 4],
        (part, decay): ([f32; 2], [f32; 4]),
        halt: &Halt,
    ) -> [f64; 4] {
        self.bricks.forget();
        if let Some(detail) = &mut self.detail {
            detail.set_crossed_sides(self.layout, &self.walls, &mut self.velocity);
        }
        let SmokeFields { layout, walls, velocity, scalars, diffusion, obstacles, .. } = self.smoke();
        diffusion.begin([[false; 2]; 3], part, decay);
        let inside = layout.dims.array().map(|n| [0, n as isize]);
        let mut drag = obstacles.as_mut().map(|obstacles| obstacles.warmth());
        if let Some((drag, frame, ranks, heat)) = &mut drag {
            drag.warm(scalars, frame, ranks, heat);
        }
        for axis in (0..3).take_while(|_| !halt.is_raised()) {
            let links = drag.as_mut().map(|(drag, ..)| &mut drag.scalars[axis]);
            let (ends, varies) = (walls.scalar_ends(axis), walls.varies(None, axis));
            if varies != [false; 2] {
                walls.fill_scalars(scalars, velocity);
                diffusion.vary(axis, inside, varies, |end, out| {
                    walls.add_varying_scalars([axis, end], inside, Varying::Change, out);
                });
            }
            diffusion.along(
                layout,
                walls.ranks(),
                scalars,
                axis,
                inside,
                number,
                (&ends, varies),
                links,
                halt,
            );
        }
        if let Some((drag, _, ranks, heat)) = &mut drag {
            drag.collect_heat(ranks, heat);
        }
        if drag.is_none() && !halt.is_raised() {
            let ends = [0, 1, 2].map(|axis| walls.scalar_ends(axis));
            diffusion.average_orders(layout, scalars, inside, number, &ends, |axis, end, varying, out| {
                walls.add_varying_scalars([axis, end], inside, varying, out);
            });
        }
        let gains = diffusion.gains();
        self.side_gains.add_heat(layout, &gains);
        [0, 1, 2, 3].map(|c| gains.as_flattened().iter().map(|gain| gain[c]).sum())
    }

    /// Diffuses the advected velocity in the `part` of a step from a share of it to another; `number` is ν Δt/h².
    pub fn diffuse_velocity(&mut self, number: f32, part: [f32; 2], halt: &Halt) {
        let (count, parts) = divided(part, number);
        for part in parts {
            self.diffuse_velocity_once(number / count, part, halt);
        }
    }

    fn diffuse_velocity_once(&mut self, number: f32, part: [f32; 2], halt: &Halt) {
        if number == 0.0 || halt.is_raised() {
            return;
        }
        let Self { layout, walls, advected, diffusion, obstacles, side_gains, .. } = self;
        let ranges = [0, 1, 2].map(|component| walls.face_ranges(component));
        let mut drag = obstacles.as_mut().map(|obstacles| obstacles.drag());
        if let Some((drag, arms, momentum)) = &mut drag {
            drag.begin(advected, *arms, momentum);
        }
        for (component, field) in advected.iter_mut().enumerate() {
            diffusion.begin(walls.halved_faces(component), part, [1.0]);
            for axis in (0..3).take_while(|_| !halt.is_raised()) {
                let links = drag.as_mut().map(|(drag, ..)| &mut drag.velocity[component][axis]);
                let (ends, varies) =
                    (walls.component_ends(component, axis), walls.varies(Some(component), axis));
                if varies != [false; 2] {
                    walls.fill_component(component, field);
                    diffusion.vary(axis, ranges[component], varies, |end, out| {
                        walls.add_varying(component, [axis, end], ranges[component], Varying::Change, out);
                    });
                }
                let field = bytemuck::cast_slice_mut(field);
                let range = ranges[component];
                let ends = (&ends, varies);
                diffusion.along(*layout, walls.ranks(), field, axis, range, [number], ends, links, halt);
            }
            if drag.is_none() && !halt.is_raised() {
                let ends = [0, 1, 2].map(|axis| walls.component_ends(component, axis));
                let (field, range) = (bytemuck::cast_slice_mut(field), ranges[component]);
                diffusion.average_orders(
                    *layout,
                    field,
                    range,
                    [number],
                    &ends,
                    |axis, end, varying, out| {
                        walls.add_varying(component, [axis, end], range, varying, out);
                    },
                );
            }
            side_gains.add_momentum(*layout, component, &diffusion.gains());
        }
        if let Some((drag, arms, momentum)) = &mut drag {
            drag.collect(advected, number, *arms, momentum);
        }
        walls.fill_velocity(advected);
        side_gains.add_given_faces(walls, advected, number);
    }
}
