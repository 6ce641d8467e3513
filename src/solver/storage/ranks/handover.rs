//! What ranks hand to each other besides planes beside their slabs: pieces of a file.

use super::Ranks;

impl Ranks {
    /// The rank whose slab has plane `k` of cells.
    pub fn owner(&self, k: usize) -> usize {
        let team = self.0.as_ref();
        team.map_or(0, |team| team.bounds[1..].partition_point(|&end| end <= k).min(team.size() - 1))
    }

    /// Sends bytes to the first rank, which [receives](Self::receive) them.
    pub fn send_to_first(&self, bytes: &[u8]) {
        if let Some(team) = &self.0 {
            team.comm.transfer(&[(0, bytes)], &mut []);
        }
    }

    /// Receives on the first rank as many bytes as `rank` sends.
    pub fn receive(&self, rank: usize, bytes: &mut [u8]) {
        if let Some(team) = &self.0 {
            team.comm.transfer(&[], &mut [(rank, bytes)]);
        }
    }
}
