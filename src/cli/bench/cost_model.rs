//! A model of the time of a step on many ranks, fitted to measured steps.
//!
//! ```text
//! t = c C + α M + B / b
//! ```
//!
//! C are the cells of a slab, M the messages that its rank sends in a step, and B their bytes. c is the time
//! for a cell, α the latency of a message and b the bandwidth of a rank. M and B follow from the algorithm.
//! c, α and b are fitted by least squares of the relative errors.

use serde_json::{Value, json};

/// A measured step on a rank.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Cells of the slab.
    pub cells: f64,
    /// Messages and bytes that the rank sends.
    pub messages: f64,
    pub bytes: f64,
    /// Time of computing and of transfers \[s\].
    pub work: f64,
    pub wait: f64,
}

/// Costs of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Time for a cell \[s\].
    pub cell: f64,
    /// Latency of a message \[s\].
    pub message: f64,
    /// Time for a byte \[s\], the inverse of the bandwidth.
    pub byte: f64,
}

impl Costs {
    /// Fits the costs to samples. Those on one rank have no messages; without any other sample the result is
    /// `None`.
    pub fn fit(samples: &[Sample]) -> Option<Self> {
        let (mut cells, mut squares) = (0.0, 0.0);
        for sample in samples.iter().filter(|sample| sample.work > 0.0) {
            let x = sample.cells / sample.work;
            (cells, squares) = (cells + x, squares + x * x);
        }
        let shared = samples.iter().filter(|sample| sample.messages > 0.0 && sample.wait > 0.0);
        let relative: Vec<[f64; 2]> =
            shared.map(|sample| [sample.messages / sample.wait, sample.bytes / sample.wait]).collect();
        if relative.is_empty() || squares == 0.0 {
            return None;
        }
        let [message, byte] = least_squares(&relative);
        Some(Self { cell: cells / squares, message, byte })
    }

    /// Returns the time of computing and of transfers of a step \[s\].
    pub fn step(&self, cells: f64, messages: f64, bytes: f64) -> [f64; 2] {
        [self.cell * cells, self.message * messages + self.byte * bytes]
    }

    /// Returns the JSON for programs.
    pub fn json(&self) -> Value {
        json!({
            "seconds_per_cell": self.cell,
            "seconds_per_message": self.message,
            "bytes_per_second": (self.byte > 0.0).then(|| 1.0 / self.byte),
        })
    }
}

/// Solves rows · x ≈ 1 by least squares for x ≥ 0.
fn least_squares(rows: &[[f64; 2]]) -> [f64; 2] {
    let sum = |f: &dyn Fn(&[f64; 2]) -> f64| rows.iter().map(f).sum::<f64>();
    let square = [sum(&|row| row[0] * row[0]), sum(&|row| row[1] * row[1])];
    let (both, ones) = (sum(&|row| row[0] * row[1]), [sum(&|row| row[0]), sum(&|row| row[1])]);
    let alone = |a: usize| if square[a] > 0.0 { ones[a] / square[a] } else { 0.0 };
    let determinant = square[0] * square[1] - both * both;
    let factors = [
        (ones[0] * square[1] - ones[1] * both) / determinant,
        (ones[1] * square[0] - ones[0] * both) / determinant,
    ];
    // Rows that are multiples of each other do not determine both factors.
    if determinant > 1e-9 * square[0] * square[1] && factors.iter().all(|&x| x >= 0.0) {
        return factors;
    }
    let error = |[a, b]: [f64; 2]| sum(&|row| (a * row[0] + b * row[1] - 1.0).powi(2));
    let [first, second] = [[alone(0), 0.0], [0.0, alone(1)]];
    if error(first) <= error(second) { first } else { second }
}

/// Messages that a rank sends in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Messages {
    /// To the ranks beside it.
    pub beside: f64,
    /// To each other rank.
    pub each: f64,
    /// To each other rank for each plane.
    pub planes: f64,
}

impl Messages {
    /// Determines the counts from the messages of a rank with two neighbours, as (ranks, planes of each,
    /// messages): on three ranks, on five with as many planes, and on three with more planes.
    pub fn of([few, many, thick]: [(f64, f64, f64); 3]) -> Self {
        let planes = (thick.2 - few.2) / ((thick.1 - few.1) * (few.0 - 1.0));
        let rest = |(ranks, of_each, messages): (f64, f64, f64)| messages - planes * of_each * (ranks - 1.0);
        let each = (rest(many) - rest(few)) / (many.0 - few.0);
        Self { beside: rest(few) - each * (few.0 - 1.0), each, planes }
    }

    /// Returns the messages of a rank with two neighbours.
    pub fn count(&self, ranks: f64, planes: f64) -> f64 {
        if ranks <= 1.0 { 0.0 } else { self.beside + (ranks - 1.0) * (self.each + self.planes * planes) }
    }

    /// Returns the JSON for programs.
    pub fn json(&self) -> Value {
        json!({ "beside": self.beside, "to_each_rank": self.each, "to_each_rank_and_plane": self.planes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { cell: 3e-8, message: 2e-6, byte: 1.0 / 5e9 };

    /// Steps of a machine with these costs.
    fn samples(costs: Costs) -> Vec<Sample> {
        let cases = [
            (262_144.0, 0.0, 0.0),
            (131_072.0, 150.0, 2e6),
            (65_536.0, 420.0, 1.4e6),
            (32_768.0, 900.0, 9e5),
        ];
        let sample = |(cells, messages, bytes)| {
            let [work, wait] = costs.step(cells, messages, bytes);
            Sample { cells, messages, bytes, work, wait }
        };
        cases.into_iter().map(sample).collect()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs()
    }

    #[test]
    fn costs_of_a_known_machine_are_found() {
        for costs in [COSTS, Costs { message: 0.0, ..COSTS }, Costs { byte: 0.0, ..COSTS }] {
            let found = Costs::fit(&samples(costs)).unwrap();
            assert!(
                close(found.cell, costs.cell) && (found.message - costs.message).abs() < 1e-15,
                "{found:?}"
            );
            assert!((found.byte - costs.byte).abs() < 1e-18, "{found:?}");
        }
    }

    #[test]
    fn costs_are_never_negative() {
        // Fewer bytes take longer: only messages explain it.
        let mut samples = samples(COSTS);
        for sample in &mut samples {
            sample.wait = 1e-6 * sample.messages.powi(2) / 100.0;
        }
        let found = Costs::fit(&samples).unwrap();
        assert!(found.byte == 0.0 && found.message > 0.0, "{found:?}");
    }

    #[test]
    fn one_shared_step_gives_one_of_latency_and_bandwidth() {
        let found = Costs::fit(&samples(COSTS)[..2]).unwrap();
        let [_, wait] = found.step(1.0, 150.0, 2e6);
        assert!(close(wait, samples(COSTS)[1].wait), "{found:?}");
        assert_eq!(Costs::fit(&samples(COSTS)[..1]), None);
    }

    #[test]
    fn messages_are_told_apart_by_their_receivers() {
        let known = Messages { beside: 46.0, each: 9.0, planes: 2.0 };
        let count = |ranks: f64, planes: f64| (ranks, planes, known.count(ranks, planes));
        assert_eq!(Messages::of([count(3.0, 8.0), count(5.0, 8.0), count(3.0, 16.0)]), known);
        assert_eq!(known.count(1.0, 64.0), 0.0);
        assert_eq!(known.count(4.0, 16.0), 46.0 + 3.0 * (9.0 + 32.0));
    }
}
