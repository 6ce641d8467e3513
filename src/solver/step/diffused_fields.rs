//! Diffusion of the fields of a box: walls, solids and varying sides give the ends of its lines.

use super::fields::{Fields, SmokeFields};
use super::measure;
use crate::solver::Params;
use crate::solver::diffuse::Varying;
use crate::solver::storage::halt::Halt;

impl Fields {
    /// Diffuses the scalars in the `part` of a step from a share of it to another; `per_area` is Δt/h² of the velocity's cells. What diffuses through sides and surfaces
    /// counts as having left.
    pub fn diffuse_scalars(&mut self, params: &Params, per_area: f32, part: [f32; 2], halt: &Halt) {
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
        self.diffuse_lines(number, part, halt);
        if let Some(before) = before {
            let after = self.contents();
            for c in (0..4).filter(|&c| number[c] > 0.0) {
                self.budget.left[c] += before[c] - after[c];
            }
        }
    }

    /// Sums over all cells of red, green, blue and temperature.
    fn contents(&mut self) -> [f64; 4] {
        let SmokeFields { layout, walls, scalars, sums, .. } = self.smoke();
        measure::contents(layout, walls.ranks(), scalars, sums)
    }

    /// Diffuses the scalars along each axis. `number` is κ Δt/h² of each, with the edge h of a cell of smoke.
    fn diffuse_lines(&mut self, number: [f32; 4], part: [f32; 2], halt: &Halt) {
        self.bricks.forget();
        if let Some(detail) = &mut self.detail {
            detail.set_crossed_sides(self.layout, &self.walls, &mut self.velocity);
        }
        let SmokeFields { layout, walls, velocity, scalars, diffusion, obstacles, .. } = self.smoke();
        diffusion.begin([[false; 2]; 3]);
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
                diffusion.vary(axis, inside, varies, part, |end, out| {
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
    }

    /// Diffuses the advected velocity in the `part` of a step from a share of it to another; `number` is ν Δt/h².
    pub fn diffuse_velocity(&mut self, number: f32, part: [f32; 2], halt: &Halt) {
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
            diffusion.begin(walls.halved_faces(component));
            for axis in (0..3).take_while(|_| !halt.is_raised()) {
                let links = drag.as_mut().map(|(drag, ..)| &mut drag.velocity[component][axis]);
                let (ends, varies) =
                    (walls.component_ends(component, axis), walls.varies(Some(component), axis));
                if varies != [false; 2] {
                    walls.fill_component(component, field);
                    diffusion.vary(axis, ranges[component], varies, part, |end, out| {
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
