//! Fields of four half floats in less memory, bit for bit: how frames are recorded.
//!
//! Neighbouring cells differ little. So each channel is stored by itself, as differences of neighbours along
//! x, in groups of 16 with as many bits as the largest difference of a group needs: the frame of reference
//! of Goldstein, Ramakrishnan & Shaft (1998), *Compressing relations and indexes*. A run of 64 zeros takes
//! one bit, so empty space and colours without smoke cost nothing.

use std::io::{self, Read};

use half::f16;
use rayon::prelude::*;

/// Values whose differences have the same number of bits.
const GROUP: usize = 16;

/// Values in a run.
const RUN: usize = 64;

/// Cells in a block: one run for each bit of its masks.
const BLOCK: usize = RUN * u64::BITS as usize;

/// Bytes of a block on disk before its groups: the masks, and the size of the groups.
const HEAD: usize = 4 * 8 + 4;

/// A field of four half floats a cell.
#[derive(Clone, Debug)]
pub(super) struct PackedCells {
    blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
struct Block {
    /// For each channel the runs that are not all zeros; −0 is not zero.
    filled: [u64; 4],
    /// The groups of these runs, channel by channel: the number of bits, then 16 differences.
    groups: Box<[u8]>,
}

impl PackedCells {
    /// Packs a field, in parallel.
    pub fn of(cells: &[[f16; 4]]) -> Self {
        Self { blocks: cells.par_chunks(BLOCK).map(Block::of).collect() }
    }

    /// Unpacks into a field of the same length, in parallel.
    pub fn unpack(&self, cells: &mut [[f16; 4]]) {
        cells.par_chunks_mut(BLOCK).zip(&self.blocks).for_each(|(cells, block)| block.unpack(cells));
    }

    /// Size \[bytes\].
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| size_of::<Block>() + block.groups.len()).sum()
    }

    /// Appends the field as bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        for Block { filled, groups } in &self.blocks {
            filled.iter().for_each(|mask| out.extend(mask.to_le_bytes()));
            out.extend((groups.len() as u32).to_le_bytes());
            out.extend_from_slice(groups);
        }
    }

    /// Reads a field of so many `cells` from the front of `bytes`.
    ///
    /// # Errors
    /// The bytes end too early.
    pub fn read(mut bytes: &[u8], cells: usize) -> io::Result<Self> {
        let block = |_| {
            let mut head = [0; HEAD];
            bytes.read_exact(&mut head)?;
            let mask = |c: usize| u64::from_le_bytes(head[8 * c..8 * c + 8].try_into().expect("8 bytes"));
            let size = u32::from_le_bytes(head[32..].try_into().expect("4 bytes")) as usize;
            let (groups, rest) = bytes.split_at_checked(size).ok_or(io::ErrorKind::UnexpectedEof)?;
            bytes = rest;
            Ok(Block { filled: [0, 1, 2, 3].map(mask), groups: groups.into() })
        };
        Ok(Self { blocks: (0..cells.div_ceil(BLOCK)).map(block).collect::<io::Result<_>>()? })
    }
}

impl Block {
    fn of(cells: &[[f16; 4]]) -> Self {
        let (mut filled, mut groups) = ([0; 4], Vec::new());
        for (c, filled) in filled.iter_mut().enumerate() {
            let mut before = ordered(0);
            for (n, cells) in cells.chunks(RUN).enumerate() {
                let mut run = [0; RUN];
                run.iter_mut().zip(cells).for_each(|(bits, cell)| *bits = cell[c].to_bits());
                if run.iter().fold(0, |all, bits| all | bits) == 0 {
                    before = ordered(0);
                    continue;
                }
                *filled |= 1 << n;
                for group in run.as_chunks::<GROUP>().0 {
                    pack_group(&group.map(ordered), before, &mut groups);
                    before = ordered(group[GROUP - 1]);
                }
            }
        }
        Self { filled, groups: groups.into() }
    }

    fn unpack(&self, cells: &mut [[f16; 4]]) {
        let mut groups = &self.groups[..];
        for (c, filled) in self.filled.iter().enumerate() {
            let mut before = ordered(0);
            for (n, cells) in cells.chunks_mut(RUN).enumerate() {
                let mut run = [0; RUN];
                if filled >> n & 1 == 0 {
                    before = ordered(0);
                } else {
                    for group in run.as_chunks_mut::<GROUP>().0 {
                        *group = unpack_group(&mut groups, before);
                        before = group[GROUP - 1];
                    }
                    run = run.map(bits);
                }
                cells.iter_mut().zip(run).for_each(|(cell, bits)| cell[c] = f16::from_bits(bits));
            }
        }
    }
}

/// The bits of a half float as a whole number that grows with it, so that neighbours across zero are near.
fn ordered(bits: u16) -> u16 {
    if bits >> 15 == 1 { !bits } else { bits | 0x8000 }
}

/// The inverse of [`ordered`].
fn bits(ordered: u16) -> u16 {
    if ordered >> 15 == 1 { ordered & 0x7fff } else { !ordered }
}

/// Appends the number of bits and the differences of a group.
fn pack_group(group: &[u16; GROUP], before: u16, out: &mut Vec<u8>) {
    let mut differences = [0; GROUP];
    for n in 0..GROUP {
        let difference = group[n].wrapping_sub(if n == 0 { before } else { group[n - 1] }) as i16;
        // Small ones of both signs have few bits.
        differences[n] = ((difference << 1) ^ (difference >> 15)) as u16;
    }
    let width = u16::BITS - differences.iter().fold(0, |all, d| all | d).leading_zeros();
    out.push(width as u8);
    for half in differences.as_chunks::<8>().0 {
        let all = half.iter().rev().fold(0u128, |all, d| all << width | u128::from(*d));
        out.extend_from_slice(&all.to_le_bytes()[..width as usize]);
    }
}

/// Takes a group from the front of `bytes`.
fn unpack_group(bytes: &mut &[u8], before: u16) -> [u16; GROUP] {
    let (mut group, mut value) = ([0; GROUP], before);
    let Some((&width, rest)) = bytes.split_first() else { return group };
    let width = width.min(16);
    *bytes = rest;
    for half in group.as_chunks_mut::<8>().0 {
        let (these, rest) = bytes.split_at(bytes.len().min(width.into()));
        *bytes = rest;
        let mut all = [0; 16];
        all[..these.len()].copy_from_slice(these);
        let mut all = u128::from_le_bytes(all);
        for ordered in half {
            let folded = all as u16 & ((1u32 << width) - 1) as u16;
            value = value.wrapping_add((folded >> 1) ^ (folded & 1).wrapping_neg());
            (*ordered, all) = (value, all >> width);
        }
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(cells: &[[f16; 4]], packed: &PackedCells) -> Vec<[f16; 4]> {
        let mut back = vec![[f16::ONE; 4]; cells.len()];
        packed.unpack(&mut back);
        back
    }

    fn same(a: &[[f16; 4]], b: &[[f16; 4]]) -> bool {
        let bits = |cells: &[[f16; 4]]| cells.iter().map(|cell| cell.map(f16::to_bits)).collect::<Vec<_>>();
        bits(a) == bits(b)
    }

    #[test]
    fn every_bit_pattern_comes_back_also_from_bytes() {
        // All half floats beside random ones, so that all widths occur; the last run is cut.
        let mut random = 1u32;
        let mut next = |n: usize| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f16::from_bits((random >> 16) as u16 >> (n % 17).min(15))
        };
        let cells: Vec<_> =
            (0..0x10000 + 37).map(|n| [f16::from_bits(n as u16), next(n), next(n / 16), f16::ZERO]).collect();
        let packed = PackedCells::of(&cells);
        assert!(same(&cells, &back(&cells, &packed)));
        let mut bytes = Vec::new();
        packed.write(&mut bytes);
        assert!(same(&cells, &back(&cells, &PackedCells::read(&bytes, cells.len()).unwrap())));
        assert!(PackedCells::read(&bytes[..bytes.len() - 1], cells.len()).is_err());
    }

    #[test]
    fn empty_space_and_missing_colours_cost_nothing_and_smooth_smoke_half() {
        let mut cells = vec![[f16::ZERO; 4]; 8 * BLOCK];
        assert!(PackedCells::of(&cells).bytes() < 8 * 64);
        for (n, cell) in cells.iter_mut().enumerate() {
            cell[0] = f16::from_f32(1.0 + (n as f32 * 0.05).sin());
        }
        let bytes = PackedCells::of(&cells).bytes();
        assert!(bytes < 8 * BLOCK * 2 * 11 / 16, "{bytes} of {} bytes", 8 * BLOCK * 2);
    }
}
