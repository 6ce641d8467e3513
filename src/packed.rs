//! Packs fields without their zeros, bit for bit, so that states and recorded frames take no memory for empty
//! space.

use rayon::prelude::*;

/// Words in a run. A run of zeros takes one bit.
const RUN: usize = 64;

/// Words in a block: one run for each bit of its mask.
const BLOCK: usize = RUN * u64::BITS as usize;

/// A field as words of 32 bits; runs of 64 zero words are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed {
    blocks: Vec<Block>,
}

#[derive(Clone, Debug, Default)]
struct Block {
    /// Mask of the runs that are not all zeros; −0 is not zero.
    filled: u64,
    words: Vec<u32>,
}

impl Packed {
    /// Packs a field, in parallel.
    #[cfg(test)]
    pub fn of<T: bytemuck::Pod>(field: &[T]) -> Self {
        Self::default().over(field)
    }

    /// Packs a field, in parallel, in the memory of this one: fresh memory takes several times as long.
    pub fn over<T: bytemuck::Pod>(mut self, field: &[T]) -> Self {
        let words: &[u32] = bytemuck::cast_slice(field);
        self.blocks.resize_with(words.len().div_ceil(BLOCK), Block::default);
        self.blocks.par_iter_mut().zip(words.par_chunks(BLOCK)).for_each(|(block, words)| block.pack(words));
        self
    }

    /// Unpacks into a field of the same length.
    pub fn unpack<T: bytemuck::Pod>(&self, field: &mut [T]) {
        let words: &mut [u32] = bytemuck::cast_slice_mut(field);
        words.par_chunks_mut(BLOCK).zip(&self.blocks).for_each(|(words, block)| block.unpack(words));
    }

    /// Returns the size \[bytes\].
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| size_of::<Block>() + size_of_val(&block.words[..])).sum()
    }
}

impl Block {
    fn pack(&mut self, field: &[u32]) {
        let is_zero = |run: &[u32]| run.iter().fold(0, |bits, word| bits | word) == 0;
        let runs = || field.chunks(RUN).enumerate();
        let filled = runs().filter(|(_, run)| !is_zero(run)).fold(0u64, |mask, (n, _)| mask | 1 << n);
        let Self { filled: mask, words } = self;
        words.clear();
        words.reserve_exact((filled.count_ones() as usize * RUN).min(field.len()));
        runs().filter(|(n, _)| filled >> n & 1 == 1).for_each(|(_, run)| words.extend_from_slice(run));
        *mask = filled;
    }

    fn unpack(&self, field: &mut [u32]) {
        let mut words = &self.words[..];
        for (n, run) in field.chunks_mut(RUN).enumerate() {
            if self.filled >> n & 1 == 0 {
                run.fill(0);
            } else {
                let (these, rest) = words.split_at(run.len());
                run.copy_from_slice(these);
                words = rest;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_runs_take_no_memory_and_signed_zeros_come_back() {
        let mut field = vec![0.0f32; 3 * BLOCK + 100];
        assert!(Packed::of(&field).bytes() < 4 * 64);
        field[5] = -0.0;
        field[2 * BLOCK - 1] = f32::from_bits(0x7fc0_1234);
        field[3 * BLOCK + 99] = 4.0;
        let full = Packed::of(&vec![1.0f32; 5 * BLOCK]);
        let packed = full.over(&field);
        assert_eq!(packed.blocks.len(), 4);
        let mut back = vec![7.0f32; field.len()];
        packed.unpack(&mut back);
        let bits = |field: &[f32]| field.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&field), bits(&back));
    }
}
