//! Checks in long runs of the built-in scenes that their energy input and losses balance.

use updraft::scene::{Scene, builtin};

use crate::case::{Case, grid};

const FRAMES: u32 = 600;
const COARSER: usize = 4;

/// Returns the built-in scene `name` with cells [`COARSER`] times as large.
fn coarse(name: &str) -> Case {
    let scene = Scene::load(name, &[]).unwrap();
    let cells = scene.config.dims.array().map(|n| n.div_ceil(COARSER));
    let scene = Scene::load(name, &grid(cells, f64::from(scene.config.h) * COARSER as f64)).unwrap();
    let solver = scene.solver().unwrap();
    Case { scene, solver }
}

#[test]
#[ignore = "slow: 2 minutes"]
fn no_builtin_scene_gains_energy_without_end() {
    let mut growing = vec![];
    for name in builtin::NAMES {
        let mut case = coarse(name);
        let mut energies = vec![];
        case.watch(FRAMES, |case| energies.push(case.energy()));
        let mean = |quarter: usize| {
            let part = &energies[quarter * energies.len() / 4..(quarter + 1) * energies.len() / 4];
            part.iter().sum::<f64>() / part.len() as f64
        };
        let quarters = [0, 1, 2, 3].map(mean);
        println!("{name:14} {:?} energy by quarter {quarters:.4?} m²/s²", case.scene.config.dims.array());
        // The energy of plumes varies by a third, that of an instability grows many times over.
        let most = quarters[..3].iter().copied().fold(0.0, f64::max);
        if quarters[3].is_nan() || quarters[3] > 1.5 * most {
            growing.push((*name, quarters));
        }
    }
    assert!(growing.is_empty(), "{growing:?}");
}
