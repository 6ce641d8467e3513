//! Glowing smoke as a light of the floor, in blocks of cubes.

use std::collections::BTreeMap;

use super::{LightVolume, Mixture};
use crate::render::exp::exp;

/// Most cubes, or blocks of cubes, that light the floor by their glow.
const GLOWING: usize = 192;
/// A block of glowing smoke.
#[derive(Clone, Copy, Debug)]
pub(in crate::render) struct GlowingBlock {
    /// Middle of its power \[m\].
    pub middle: [f32; 3],
    /// Edge \[m\].
    pub edge: f32,
    /// Power that it sends through a square metre at a metre, for each colour.
    pub power: [f32; 3],
}

impl LightVolume {
    /// Smoke that glows, in cubes or in blocks of them if there are many.
    pub(in crate::render) fn glowing(&self) -> Vec<GlowingBlock> {
        let Mixture { dims, h, .. } = self.mixture;
        let cubes = &self.cubes;
        // Extinction, and radiance sent for each unit of it: its own, and what of it is scattered, in opaque smoke the sum of
        // all orders, 1 / (1 − ω).
        let glows = |n: &usize| {
            cubes.emission[0][*n] > 0.0 && self.filled.get(*n).is_none_or(|filled| *filled == 0.0)
        };
        let count = dims.cells().min(cubes.extinction.len());
        let all: Vec<([usize; 3], f32, [f32; 3])> = (0..count)
            .filter(glows)
            .map(|n| {
                let sent = std::array::from_fn(|c| {
                    let (own, albedo) = (cubes.emission[c][n], cubes.albedo[c][n].min(1.0));
                    own + albedo * self.light[c].mean[n].min(own / (1.0 - albedo).max(1e-3))
                });
                let at = [n % dims.nx, n / dims.nx % dims.ny, n / (dims.nx * dims.ny)];
                (at, cubes.extinction[n], sent)
            })
            .collect();
        let mut edge = 1;
        loop {
            let mut blocks: BTreeMap<[usize; 3], BlockSums> = BTreeMap::new();
            for &(at, extinction, sent) in &all {
                blocks.entry(at.map(|i| i / edge)).or_default().add(at, extinction, sent);
            }
            if blocks.len() <= GLOWING {
                return blocks.into_values().map(|sums| sums.block(edge, h)).collect();
            }
            edge *= 2;
        }
    }
}

/// Sums over the cubes of a block.
#[derive(Default)]
struct BlockSums {
    extinction: f32,
    sent: [f32; 3],
    places: [f32; 3],
}

impl BlockSums {
    fn add(&mut self, at: [usize; 3], extinction: f32, sent: [f32; 3]) {
        self.extinction += extinction;
        for n in 0..3 {
            self.sent[n] += extinction * sent[n];
            self.places[n] += extinction * sent[0] * (at[n] as f32 + 0.5);
        }
    }

    /// The block, whose edge counts cubes of some edge \[m\]. It hides a part of itself: seen from outside, a row of blocks
    /// is as bright as opaque smoke.
    fn block(&self, edge: usize, h: f32) -> GlowingBlock {
        let whole = edge as f32 * h;
        let depth = self.extinction / (edge * edge * edge) as f32 * whole;
        let area = (1.0 - exp(-depth)) * whole * whole;
        GlowingBlock {
            middle: self.places.map(|x| x * h / self.sent[0].max(1e-20)),
            edge: whole,
            power: self.sent.map(|sent| area * sent / self.extinction.max(1e-20)),
        }
    }
}
