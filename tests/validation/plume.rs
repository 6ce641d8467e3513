//! Compares a turbulent plume with the similarity laws of its mean flow (Morton, Taylor & Turner 1956).

use crate::case::{Case, grid, slope};

/// Heights of the probes \[m\].
const HEIGHTS: [f64; 5] = [0.5, 0.8, 1.1, 1.4, 1.7];

/// Returns the growth of the width with the height, and the exponent of the decay of the axial velocity with
/// the height, of the mean flow between 8 s and frame `frames`, on 2n³ cells of 1/n m.
fn plume(n: usize, frames: u32) -> [f64; 2] {
    let mut case = Case::new("plume", &[], grid([n, 2 * n, n], 1.0 / n as f64));
    let mut across = HEIGHTS.map(|_| vec![0.0; 65]);
    let mut axis = vec![];
    case.watch(frames, |case| {
        if case.time() <= 8.0 {
            return;
        }
        for (height, sum) in HEIGHTS.iter().zip(&mut across) {
            for (name, along) in [("x", 0), ("z", 2)] {
                let (_, v) = case.line(&format!("{name}-{:.0}", 100.0 * height), along);
                sum.iter_mut().zip(&v).for_each(|(sum, v)| *sum += v);
            }
        }
        let (height, v) = case.line("axis", 1);
        axis.resize(v.len(), (0.0, 0.0));
        axis.iter_mut().zip(height.iter().zip(&v)).for_each(|(sum, (y, v))| *sum = (*y, sum.1 + v));
    });
    let widths: Vec<_> = HEIGHTS.into_iter().zip(across.iter().map(|v| width(v, 1.0 / 64.0))).collect();
    let grows = slope(&widths);
    let origin = widths.iter().map(|(height, width)| height - width / grows).sum::<f64>() / 5.0;
    let falls: Vec<_> = axis
        .iter()
        .filter(|(height, _)| (0.5..1.7).contains(height))
        .map(|(height, v)| ((height - origin).ln(), v.ln()))
        .collect();
    println!("{n}: width / height {grows:.4}, from {origin:.3} m; on the axis ~ height^{:.3}", slope(&falls));
    [grows, slope(&falls)]
}

/// Returns the distance in which the Gaussian through the core of a profile falls to 1/e.
fn width(values: &[f64], step: f64) -> f64 {
    let greatest = values.iter().copied().fold(0.0, f64::max);
    let core: Vec<_> = values
        .iter()
        .enumerate()
        .filter(|(_, v)| **v > 0.25 * greatest)
        .map(|(i, v)| (i as f64 * step, *v))
        .collect();
    let middle = core.iter().map(|(x, v)| x * v).sum::<f64>() / core.iter().map(|(_, v)| v).sum::<f64>();
    let bend = slope(&core.iter().map(|(x, v)| ((x - middle).powi(2), v.ln())).collect::<Vec<_>>());
    (-1.0 / bend).sqrt()
}

#[test]
fn a_coarse_plume_opens_as_it_should() {
    let [grows, falls] = plume(32, 240);
    // The mean is over twelve seconds, which is short: nine runs with a heat of 140 to 160 K/s gave 0.081 to
    // 0.113 and −0.26 to −0.05.
    assert!((0.07..0.135).contains(&grows), "{grows}");
    assert!((-0.45..0.0).contains(&falls), "{falls}");
}

#[test]
#[ignore = "slow: 3 minutes"]
fn a_plume_opens_and_slows_down_as_published() {
    // Published: width / height of 0.10 to 0.12 (Papanicolaou & List 1988; Shabbir & George 1994), and
    // height^(−1/3).
    let [grows, falls] = plume(64, 360);
    // The mean over 22 s scatters between runs: seven with a heat of 147 to 153 K/s gave 0.1045 to 0.1150, and −0.355 to −0.249 with a
    // mean of −0.298.
    assert!((0.10..0.13).contains(&grows), "{grows}");
    assert!((-0.40..-0.22).contains(&falls), "{falls}");
}
