//! Runs a scene of `validation/` and measures it.

use updraft::field::Field;
use updraft::scene::Scene;
use updraft::solver::Solver;

/// A scene and its solver.
pub struct Case {
    pub scene: Scene,
    pub solver: Solver,
}

/// Returns overrides that set the grid to `cells` of edge `h` \[m\].
pub fn grid(cells: [usize; 3], h: f64) -> Vec<String> {
    vec![format!("domain.cells={cells:?}"), format!("domain.voxel={h}")]
}

/// Reads a table of `tests/data`: its rows, without the header, as words.
pub fn table(name: &str) -> Vec<Vec<String>> {
    let path = format!("{}/tests/data/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

impl Case {
    /// Loads the scene `validation/NAME.toml` at its start.
    pub fn new(name: &str, set: &[&str], grid: Vec<String>) -> Self {
        let path = format!("{}/validation/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let set = grid.into_iter().chain(set.iter().map(|s| (*s).to_owned())).collect::<Vec<_>>();
        let scene = Scene::load(&path, &set).unwrap();
        let solver = scene.solver().unwrap();
        Self { scene, solver }
    }

    /// Advances by `count` frames and calls `look` after each.
    pub fn watch(&mut self, count: u32, mut look: impl FnMut(&Self)) {
        let (steps, dt) = self.scene.time.steps_per_frame();
        for _ in 0..count {
            for _ in 0..steps {
                self.solver.step(dt).unwrap();
            }
            look(self);
        }
    }

    /// Advances by `count` frames.
    pub fn run(mut self, count: u32) -> Self {
        self.watch(count, |_| {});
        self
    }

    pub fn time(&self) -> f64 {
        self.solver.stats().time
    }

    /// Returns the mean of ½u² over the box \[m²/s²\].
    pub fn energy(&self) -> f64 {
        let volume: f64 = self.scene.extent().map(f64::from).iter().product();
        self.solver.stats().kinetic_energy / volume
    }

    /// Returns the first field of the line probe `name`: coordinates along `axis` \[m\], and values.
    pub fn line(&self, name: &str, axis: usize) -> (Vec<f64>, Vec<f64>) {
        let probe = self.scene.probes.iter().find(|probe| probe.name == name).expect("a probe");
        let readings = probe.measure(&self.solver).unwrap();
        let at = |r: &updraft::probe::Reading| f64::from(r.at.expect("a line")[axis]);
        readings.iter().map(|r| (at(r), f64::from(r.values[0]))).unzip()
    }

    /// Returns all values of a field, x fastest.
    pub fn field(&self, field: Field) -> Vec<f64> {
        field.array(&self.solver).unwrap().values.into_iter().map(f64::from).collect()
    }
}

/// Returns the value of a sampled line at `x`, linear between samples.
pub fn at((xs, values): &(Vec<f64>, Vec<f64>), x: f64) -> f64 {
    let above = xs.iter().position(|s| *s >= x).expect("a point of the line").max(1);
    let part = (x - xs[above - 1]) / (xs[above] - xs[above - 1]);
    values[above - 1] * (1.0 - part) + values[above] * part
}

/// Returns the position and height of the maximum of a sampled line, by the parabola through its highest
/// values.
pub fn peak((xs, values): &(Vec<f64>, Vec<f64>)) -> (f64, f64) {
    let top = (1..values.len() - 1).max_by(|a, b| values[*a].total_cmp(&values[*b])).expect("a line");
    let [low, here, high] = [values[top - 1], values[top], values[top + 1]];
    let curvature = 2.0 * here - low - high;
    let part = if curvature > 0.0 { 0.5 * (high - low) / curvature } else { 0.0 };
    (xs[top] + part * (xs[1] - xs[0]), here + 0.25 * part * (high - low))
}

/// Returns the maximum between equidistant samples, by the quartic through the greatest and the two on either
/// side of it.
pub fn crest(values: &[f64]) -> f64 {
    let top = (2..values.len() - 2).max_by(|a, b| values[*a].total_cmp(&values[*b])).expect("five values");
    let weight = |j: i32, t: f64| {
        (-2..=2).filter(|&m| m != j).map(|m| (t - f64::from(m)) / f64::from(j - m)).product::<f64>()
    };
    let quartic = |t: f64| (-2..=2).zip(&values[top - 2..]).map(|(j, v)| v * weight(j, t)).sum::<f64>();
    (-100..=100).map(|t| quartic(0.01 * f64::from(t))).fold(f64::NEG_INFINITY, f64::max)
}

/// Returns the slope of the straight line fitted to the points.
pub fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let covariance: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    covariance / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>()
}

/// Returns the amplitude of the first Fourier mode of equidistant values around a period. The last value
/// repeats the first.
pub fn first_mode(values: &[f64]) -> f64 {
    let n = values.len() - 1;
    let angle = |i: usize| 2.0 * std::f64::consts::PI * i as f64 / n as f64;
    let sum = |f: fn(f64) -> f64| values[..n].iter().enumerate().map(|(i, v)| v * f(angle(i))).sum::<f64>();
    2.0 / n as f64 * sum(f64::cos).hypot(sum(f64::sin))
}

/// Returns the growth rate of an amplitude, fitted between `from` and `to` times its first value, or `None`
/// if it never reaches them.
pub fn growth(history: &[(f64, f64)], from: f64, to: f64) -> Option<f64> {
    let first = history.first()?.1;
    let within = |p: &&(f64, f64)| p.1 > from * first && p.1 < to * first;
    let points: Vec<(f64, f64)> = history.iter().filter(within).map(|p| (p.0, p.1.ln())).collect();
    let reached = history.iter().any(|p| p.1 >= to * first);
    (reached && points.len() > 2).then(|| slope(&points))
}
