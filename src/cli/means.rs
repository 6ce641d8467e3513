//! Means over time of the values of a run, weighted by the length of each step.

use std::ops::Range;

use rayon::prelude::*;

use crate::field::Field;
use crate::solver::Solver;

/// The mean of some values over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Mean {
    /// Name of the averaged quantity, for messages and checkpoints.
    pub name: String,
    /// Start of the mean \[s\].
    from: f64,
    /// Length of the mean \[s\], and the integral of each value over it.
    sums: Vec<f64>,
    /// Ranges of the sums that this rank adds up, ascending; the other sums are unused.
    own: Vec<Range<usize>>,
}

impl Mean {
    /// Makes a mean of `count` values from the instant `from` \[s\] on, of which this rank adds up all or none.
    pub fn new(name: String, from: f64, count: usize, is_own: bool) -> Self {
        let own = if is_own { 0..count + 1 } else { 0..0 };
        Self { name, from, sums: vec![0.0; count + 1], own: vec![own] }
    }

    /// Returns the weight of the last step of `solver` \[s\].
    fn weight(&self, solver: &Solver) -> f64 {
        let stats = solver.stats();
        f64::from(stats.dt).min(stats.time - self.from).max(0.0)
    }

    /// Adds the values after a step; `measure` is called only if the step counts.
    pub fn add<I: IntoIterator<Item = f32>>(&mut self, solver: &Solver, measure: impl FnOnce() -> I) {
        let weight = self.weight(solver);
        if weight > 0.0 {
            let (time, sums) = self.sums.split_first_mut().expect("the time comes first");
            *time += weight;
            sums.iter_mut().zip(measure()).for_each(|(sum, value)| *sum += weight * f64::from(value));
        }
    }

    /// Adds the planes of this rank of `fields`, one field after the other.
    fn add_fields(&mut self, solver: &Solver, fields: &[Field]) {
        let weight = self.weight(solver);
        if weight == 0.0 {
            return;
        }
        let (time, mut sums) = self.sums.split_first_mut().expect("the time comes first");
        *time += weight;
        for &field in fields {
            let layout = field.layout(solver);
            let shape = field.shape(layout.dims);
            let (of_field, rest) = sums.split_at_mut(shape.iter().product());
            let [from, to] = layout.within([0, shape[2] as isize]).map(|k| k as usize * shape[1]);
            let rows = of_field[from * shape[0]..to * shape[0]].par_chunks_mut(shape[0]);
            rows.enumerate().for_each(|(row, sums)| {
                let row = from + row;
                let start = layout.start(row % shape[1], row / shape[1]);
                for (i, sum) in sums.iter_mut().enumerate() {
                    *sum += weight * f64::from(field.at(solver, start + i));
                }
            });
            sums = rest;
        }
    }

    /// Returns the means; `None` before the first step that counts.
    pub fn values(&self) -> Option<impl Iterator<Item = f32>> {
        let time = self.sums[0];
        (time > 0.0).then(|| self.sums[1..].iter().map(move |sum| (sum / time) as f32))
    }

    /// Returns the number of sums, for a checkpoint.
    pub fn len(&self) -> usize {
        self.sums.len()
    }

    /// Returns the sums that this rank adds up, each range with its start among all sums.
    pub fn own(&self) -> impl Iterator<Item = (usize, &[f64])> {
        self.own.iter().map(|part| (part.start, &self.sums[part.clone()]))
    }

    /// Calls `read` to replace the sums that this rank adds up, and the length of the mean, which all ranks
    /// know.
    ///
    /// # Errors
    /// The first error of `read`.
    pub fn replace<E>(&mut self, mut read: impl FnMut(usize, &mut [f64]) -> Result<(), E>) -> Result<(), E> {
        // The length of the mean.
        read(0, &mut self.sums[..1])?;
        self.own.iter().try_for_each(|part| read(part.start, &mut self.sums[part.clone()]))
    }
}

/// The means of whole fields.
pub struct FieldMeans {
    fields: Vec<Field>,
    mean: Mean,
}

impl FieldMeans {
    /// Makes the means of `fields` of `solver` from the instant `from` \[s\] on.
    pub fn new(fields: &[Field], from: f64, solver: &Solver) -> Self {
        let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
        let count = |field: &Field| field.shape(field.layout(solver).dims).iter().product::<usize>();
        let name = format!("the mean of {} from {from} s on", names.join(", "));
        let mut mean = Mean::new(name, from, fields.iter().map(count).sum(), solver.is_first_rank());
        if !solver.is_alone() {
            let time = if solver.is_first_rank() { 0..1 } else { 0..0 };
            let mut start = 1;
            let of_fields = fields.iter().map(|field| {
                let layout = field.layout(solver);
                let [nx, ny, nz] = field.shape(layout.dims);
                let [from, to] = layout.within([0, nz as isize]).map(|k| start + k as usize * nx * ny);
                start += nx * ny * nz;
                from..to
            });
            mean.own = std::iter::once(time).chain(of_fields).collect();
        }
        Self { fields: fields.to_vec(), mean }
    }

    /// Adds the fields after a step.
    pub fn add(&mut self, solver: &Solver) {
        self.mean.add_fields(solver, &self.fields);
    }

    /// Returns the sums, for a checkpoint.
    pub fn mean(&mut self) -> &mut Mean {
        &mut self.mean
    }

    /// Returns the start and the length of the mean \[s\]; `None` before the first step that counts.
    pub fn span(&self) -> Option<[f64; 2]> {
        let time = self.mean.sums[0];
        (time > 0.0).then_some([self.mean.from, time])
    }

    /// Calls `take` on the first rank with the mean of the field of index `n`, plane by plane.
    ///
    /// # Errors
    /// The first error of `take`.
    pub fn planes<E>(
        &self,
        n: usize,
        solver: &Solver,
        take: impl FnMut(&[f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let count = |field: &Field| field.shape(field.layout(solver).dims).iter().product::<usize>();
        let start = 1 + self.fields[..n].iter().map(count).sum::<usize>();
        let time = self.mean.sums[0];
        let make = |k: usize, plane: &mut [f32]| {
            let sums = &self.mean.sums[start + k * plane.len()..];
            plane.iter_mut().zip(sums).for_each(|(mean, sum)| *mean = (sum / time) as f32);
        };
        self.fields[n].made_planes(solver, make, take)
    }

    /// Returns the fields.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    #[test]
    fn a_mean_weighs_steps_by_their_length_and_begins_within_one() {
        let overrides = ["domain.cells=[16, 24, 16]", "domain.voxel=0.06"].map(str::to_owned);
        let mut solver = Scene::load("plume", &overrides).unwrap().solver().unwrap();
        let mut mean = Mean::new("m".into(), 0.5, 1, true);
        for (dt, value) in [(0.375, 7.0), (0.25, 1.0), (0.5, 3.0)] {
            solver.step(dt).unwrap();
            mean.add(&solver, || [value]);
        }
        // 0.125 s of 1 and 0.5 s of 3.
        let means: Vec<f32> = mean.values().unwrap().collect();
        assert!(means.len() == 1 && (means[0] - 2.6).abs() < 1e-5, "{means:?}");
        let mut fields = FieldMeans::new(&[Field::V, Field::Red], 0.0, &solver);
        assert!(fields.span().is_none());
        fields.add(&solver);
        assert_eq!(fields.span(), Some([0.0, 0.5]));
        for (n, field) in [Field::V, Field::Red].into_iter().enumerate() {
            let mut values = Vec::new();
            let take = |plane: &[f32]| -> Result<(), ()> {
                values.extend_from_slice(plane);
                Ok(())
            };
            fields.planes(n, &solver, take).unwrap();
            assert!(values == field.array(&solver).unwrap().values, "{field}");
        }
    }
}
