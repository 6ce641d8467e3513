//! Means over time of what a run measures, each step weighing as much as it is long.

use rayon::prelude::*;

use crate::field::Field;
use crate::npz::Array;
use crate::solver::Solver;

/// Arrays with the names of their fields.
type NamedArrays = Vec<(&'static str, Array)>;

/// The mean of some values over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Mean {
    /// Name of the averaged quantity, for messages and checkpoints.
    pub name: String,
    /// The instant from which on it counts \[s\].
    from: f64,
    /// The time over which it is taken \[s\], and the integral of each value over it.
    sums: Vec<f64>,
}

impl Mean {
    /// The mean of `count` values from the instant `from` \[s\] on.
    pub fn new(name: String, from: f64, count: usize) -> Self {
        Self { name, from, sums: vec![0.0; count + 1] }
    }

    /// Weight of the last step of `solver` \[s\].
    fn weight(&self, solver: &Solver) -> f64 {
        let stats = solver.stats();
        f64::from(stats.dt).min(stats.time - self.from).max(0.0)
    }

    /// Adds what was measured after a step; `measure` is asked only when the step counts.
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

    /// Brings the sums of `fields` of all ranks to the first.
    fn bring_fields(&mut self, solver: &Solver, fields: &[Field]) {
        let mut sums = &mut self.sums[1..];
        for &field in fields {
            let [nx, ny, nz] = field.shape(field.layout(solver).dims);
            let (of_field, rest) = std::mem::take(&mut sums).split_at_mut(nx * ny * nz);
            for (k, plane) in of_field.chunks_exact_mut(nx * ny).enumerate() {
                field.take_plane(solver, k, plane, |_| (), |_| ());
            }
            sums = rest;
        }
    }

    /// The means; `None` before the first step that counts.
    pub fn values(&self) -> Option<impl Iterator<Item = f32>> {
        let time = self.sums[0];
        (time > 0.0).then(|| self.sums[1..].iter().map(move |sum| (sum / time) as f32))
    }

    /// All that it holds, for a checkpoint.
    pub fn sums(&mut self) -> &mut [f64] {
        &mut self.sums
    }
}

/// The means of whole fields.
pub struct FieldMeans {
    fields: Vec<Field>,
    mean: Mean,
}

impl FieldMeans {
    /// The means of `fields` of `solver` from the instant `from` \[s\] on.
    pub fn new(fields: &[Field], from: f64, solver: &Solver) -> Self {
        let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
        let count = |field: &Field| field.shape(field.layout(solver).dims).iter().product::<usize>();
        let name = format!("the mean of {} from {from} s on", names.join(", "));
        Self { fields: fields.to_vec(), mean: Mean::new(name, from, fields.iter().map(count).sum()) }
    }

    /// Adds the fields after a step.
    pub fn add(&mut self, solver: &Solver) {
        self.mean.add_fields(solver, &self.fields);
    }

    /// Brings the sums of all ranks to the first, before they are written.
    pub fn bring(&mut self, solver: &Solver) {
        self.mean.bring_fields(solver, &self.fields);
    }

    /// The sums, for a checkpoint.
    pub fn mean(&mut self) -> &mut Mean {
        &mut self.mean
    }

    /// The start and the length of the mean \[s\], and the fields by name; `None` before the first step that counts.
    pub fn arrays(&self, solver: &Solver) -> Option<([f64; 2], NamedArrays)> {
        let mut values = self.mean.values()?;
        let arrays = self.fields.iter().map(|field| {
            let shape = field.shape(field.layout(solver).dims);
            (field.name(), Array { shape, values: values.by_ref().take(shape.iter().product()).collect() })
        });
        Some(([self.mean.from, self.mean.sums[0]], arrays.collect()))
    }

    /// The fields.
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
        let mut mean = Mean::new("m".into(), 0.5, 1);
        for (dt, value) in [(0.375, 7.0), (0.25, 1.0), (0.5, 3.0)] {
            solver.step(dt).unwrap();
            mean.add(&solver, || [value]);
        }
        // 0.125 s of 1 and 0.5 s of 3.
        let means: Vec<f32> = mean.values().unwrap().collect();
        assert!(means.len() == 1 && (means[0] - 2.6).abs() < 1e-5, "{means:?}");
        let mut fields = FieldMeans::new(&[Field::V, Field::Red], 0.0, &solver);
        assert!(fields.arrays(&solver).is_none());
        fields.add(&solver);
        let ([from, time], arrays) = fields.arrays(&solver).unwrap();
        assert_eq!((from, time), (0.0, 0.5));
        assert_eq!(arrays[1].1, Field::Red.array(&solver));
        assert_eq!(arrays[0].1, Field::V.array(&solver));
    }
}
