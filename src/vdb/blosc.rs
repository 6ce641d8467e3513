//! Decoder of Blosc frames, as OpenVDB writes them: blocks of values, their bytes shuffled, compressed with
//! LZ4.
//!
//! A frame is a header of 16 bytes, the positions of its blocks, and the blocks. A block is one stream, or
//! one stream for each byte of a value. A stream is its length and its bytes, which stay uncompressed if
//! compression makes them no smaller (`README_CHUNK_FORMAT` of C-Blosc 1).

use super::read_error::{ReadError, Result, wrong};

/// Bits of the third byte of the header.
mod flag {
    pub const SHUFFLED: u8 = 0x01;
    pub const COPIED: u8 = 0x02;
    pub const BITS_SHUFFLED: u8 = 0x04;
    pub const NOT_SPLIT: u8 = 0x10;
}

const HEADER: usize = 16;
/// Greatest number of streams of a block.
const MOST_STREAMS: usize = 16;
/// Least number of values of a block that is split.
const FEWEST_TO_SPLIT: usize = 128;

/// Compression of the streams.
#[derive(Clone, Copy)]
enum Codec {
    Lz4,
    Zlib,
}

/// Unpacks a `frame` of `size` bytes.
pub fn unpack(frame: &[u8], size: usize) -> Result<Vec<u8>> {
    let flags = byte(frame, 2)?;
    let width = usize::from(byte(frame, 3)?).max(1);
    let [total, block, packed] = [number(frame, 4)?, number(frame, 8)?, number(frame, 12)?];
    if total != size || packed > frame.len() || flags & flag::BITS_SHUFFLED != 0 {
        return damaged();
    }
    if flags & flag::COPIED != 0 {
        return frame.get(HEADER..HEADER + size).map_or_else(damaged, |bytes| Ok(bytes.to_vec()));
    }
    let codec = match flags >> 5 {
        1 => Codec::Lz4,
        3 => Codec::Zlib,
        other => {
            let name = ["BloscLZ", "", "Snappy", "", "Zstandard"].get(usize::from(other)).unwrap_or(&"");
            return wrong(format!(
                "it is compressed by Blosc with {name}; save it with LZ4, with ZIP or without compression"
            ));
        }
    };
    if block == 0 || block > size.max(1) {
        return damaged();
    }
    let mut out = vec![0; size];
    let mut plain = vec![0; block];
    for (n, out) in out.chunks_mut(block).enumerate() {
        let plain = &mut plain[..out.len()];
        let is_split = flags & flag::NOT_SPLIT == 0
            && width <= MOST_STREAMS
            && block / width >= FEWEST_TO_SPLIT
            && out.len() == block;
        let mut at = number(frame, HEADER + 4 * n)?;
        for stream in plain.chunks_mut(out.len() / if is_split { width } else { 1 }) {
            let length = number(frame, at)?;
            let Some(from) = (at + 4).checked_add(length).and_then(|end| frame.get(at + 4..end)) else {
                return damaged();
            };
            if length == stream.len() {
                stream.copy_from_slice(from);
            } else {
                codec.expand(from, stream)?;
            }
            at += 4 + length;
        }
        if flags & flag::SHUFFLED != 0 && width > 1 {
            unshuffle(plain, width, out);
        } else {
            out.copy_from_slice(plain);
        }
    }
    Ok(out)
}

impl Codec {
    /// Fills `out` exactly.
    fn expand(self, from: &[u8], out: &mut [u8]) -> Result<()> {
        let count = match self {
            Self::Lz4 => lz4_flex::block::decompress_into(from, out).ok(),
            Self::Zlib => {
                let mut state = flate2::Decompress::new(true);
                let end = state.decompress(from, out, flate2::FlushDecompress::Finish);
                matches!(end, Ok(flate2::Status::StreamEnd)).then_some(state.total_out() as usize)
            }
        };
        if count == Some(out.len()) { Ok(()) } else { damaged() }
    }
}

/// Reverses the shuffle, in which the first bytes of all values come first, then the second bytes, and so on.
/// Bytes of an incomplete value stay at the end.
fn unshuffle(from: &[u8], width: usize, out: &mut [u8]) {
    let count = from.len() / width;
    for (n, value) in out.chunks_exact_mut(width).enumerate() {
        for (byte, out) in value.iter_mut().enumerate() {
            *out = from[byte * count + n];
        }
    }
    out[count * width..].copy_from_slice(&from[count * width..]);
}

fn byte(frame: &[u8], at: usize) -> Result<u8> {
    frame.get(at).map_or_else(damaged, |&byte| Ok(byte))
}

fn number(frame: &[u8], at: usize) -> Result<usize> {
    let bytes = frame.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or_else(damaged, |&bytes| Ok(u32::from_le_bytes(bytes) as usize))
}

fn damaged<T>() -> Result<T> {
    Err(ReadError::new("a block of values is damaged"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a frame of one block in one stream, its bytes shuffled.
    fn frame(values: &[f32]) -> Vec<u8> {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let shuffled: Vec<u8> = (0..4).flat_map(|b| bytes.iter().skip(b).step_by(4).copied()).collect();
        let packed = lz4_flex::block::compress(&shuffled);
        let size = bytes.len() as u32;
        let mut frame = vec![2, 1, 1 << 5 | flag::NOT_SPLIT | flag::SHUFFLED, 4];
        for n in [size, size, packed.len() as u32 + 24, 20, packed.len() as u32] {
            frame.extend(n.to_le_bytes());
        }
        frame.extend(packed);
        frame
    }

    #[test]
    fn a_shuffled_block_comes_back() {
        let values: Vec<f32> = (0..100).map(|n| (n / 7) as f32).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(unpack(&frame(&values), 400).unwrap(), bytes);
    }

    #[test]
    fn a_damaged_frame_is_an_error_and_no_panic() {
        let whole = frame(&[1.5; 100]);
        assert!(unpack(&whole, 404).is_err());
        for end in 0..whole.len() {
            assert!(unpack(&whole[..end], 400).is_err(), "{end}");
        }
        for at in 0..whole.len() {
            for value in [0, 1, 127, 255] {
                let mut bent = whole.clone();
                bent[at] = value;
                // Any answer but a panic: most bytes are values.
                let _ = unpack(&bent, 400);
            }
        }
    }

    #[test]
    fn another_codec_is_named() {
        let mut other = frame(&[1.0; 100]);
        other[2] |= 4 << 5;
        other[2] &= !(1 << 5);
        let error = unpack(&other, 400).unwrap_err().to_string();
        assert!(error.contains("Zstandard") && error.contains("LZ4"), "{error}");
    }
}
