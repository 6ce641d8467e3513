//! Blocks compressed by Blosc 1, as OpenVDB's library writes them by default: LZ4 or zlib, with shuffled bytes.
//!
//! A frame is a header of 16 bytes (version, version of the codec, flags, size of a value; bytes in all, bytes of
//! a block and bytes of the frame as u32), the position of each block (u32), and the blocks. A block is one
//! stream, or one for each byte of a value, each after its length (u32); a stream as long as its result is stored. The
//! bytes of a block are shuffled: first the first byte of each value, then the second.

use flate2::{Decompress, FlushDecompress};

const HEADER: usize = 16;
/// Values in a block below which its bytes share one stream.
const FEW: usize = 128;
/// Bytes of a value above which they share one stream.
const WIDE: usize = 16;

/// Codec of the streams.
#[derive(Clone, Copy)]
enum Codec {
    Lz4,
    Zlib,
}

/// Decompresses a frame of `size` bytes. Errors say what is wrong with it.
pub fn decompress(frame: &[u8], size: usize) -> Result<Vec<u8>, &'static str> {
    const CUT: &str = "a block of Blosc ends too early";
    const DAMAGED: &str = "a block of Blosc is damaged";
    let number = |at: usize| -> Result<usize, &'static str> {
        let bytes = frame.get(at..at + 4).ok_or(CUT)?;
        Ok(u32::from_le_bytes(std::array::from_fn(|n| bytes[n])) as usize)
    };
    let header = frame.get(..HEADER).ok_or(CUT)?;
    let (version, flags, width) = (header[0], header[2], usize::from(header[3]));
    if !(1..=2).contains(&version) {
        return Err("a block of Blosc has an unknown version");
    }
    let (all, block) = (number(4)?, number(8)?);
    if all != size || number(12)? != frame.len() || width == 0 {
        return Err(DAMAGED);
    }
    if flags & 2 != 0 {
        return Ok(frame.get(HEADER..HEADER + size).ok_or(CUT)?.to_vec());
    }
    if size == 0 {
        return Ok(vec![]);
    }
    if flags & 4 != 0 {
        return Err("a block of Blosc has shuffled bits; save it with ZIP or without compression");
    }
    let codec = match flags >> 5 {
        1 => Codec::Lz4,
        3 => Codec::Zlib,
        _ => {
            return Err(
                "a block of Blosc has a codec that is not read; save it with ZIP or without compression",
            );
        }
    };
    if block == 0 || block > size {
        return Err(DAMAGED);
    }
    let mut out = vec![0; size];
    let mut shuffled = Vec::new();
    for (n, out) in out.chunks_mut(block).enumerate() {
        let is_split = flags & 16 == 0 && width <= WIDE && block / width >= FEW && out.len() == block;
        let streams = if is_split { width } else { 1 };
        let mut at = number(HEADER + 4 * n)?;
        shuffled.clear();
        shuffled.resize(out.len(), 0);
        // Blocks that are split have a whole number of values.
        if out.len() % streams != 0 {
            return Err(DAMAGED);
        }
        for part in shuffled.chunks_mut(out.len() / streams) {
            let length = number(at)?;
            let stream = at.checked_add(4 + length).and_then(|end| frame.get(at + 4..end)).ok_or(CUT)?;
            at += 4 + length;
            let is_whole = match codec {
                _ if length == part.len() => {
                    part.copy_from_slice(stream);
                    true
                }
                Codec::Lz4 => lz4(stream, part).is_some(),
                Codec::Zlib => {
                    let mut zlib = Decompress::new(true);
                    let end = zlib.decompress(stream, part, FlushDecompress::Finish);
                    matches!(end, Ok(flate2::Status::StreamEnd)) && zlib.total_out() == part.len() as u64
                }
            };
            if !is_whole {
                return Err(DAMAGED);
            }
        }
        if flags & 1 != 0 && width > 1 {
            unshuffle(width, &shuffled, out);
        } else {
            out.copy_from_slice(&shuffled);
        }
    }
    Ok(out)
}

/// Brings the bytes of each value together. Bytes after the last whole value are in their places.
fn unshuffle(width: usize, from: &[u8], to: &mut [u8]) {
    let count = from.len() / width;
    let (whole, rest) = to.split_at_mut(count * width);
    for (n, value) in whole.chunks_exact_mut(width).enumerate() {
        for (byte, out) in value.iter_mut().enumerate() {
            *out = from[byte * count + n];
        }
    }
    rest.copy_from_slice(&from[count * width..]);
}

/// Decompresses an LZ4 block that fills `out`; none if it does not.
///
/// A sequence is a token, literals, and a copy of bytes before them: the upper half of the token counts literals, the
/// lower half the bytes to copy beyond four. Either may go on in further bytes. The last sequence has only literals.
fn lz4(from: &[u8], out: &mut [u8]) -> Option<()> {
    let (mut from, mut at) = (from.iter(), 0usize);
    loop {
        let token = *from.next()?;
        let literals = length(token >> 4, &mut from)?;
        let (these, rest) = from.as_slice().split_at_checked(literals)?;
        out.get_mut(at..at.checked_add(literals)?)?.copy_from_slice(these);
        at += literals;
        from = rest.iter();
        let Some(low) = from.next() else {
            return (at == out.len()).then_some(());
        };
        let distance = usize::from(u16::from_le_bytes([*low, *from.next()?]));
        let count = length(token & 15, &mut from)?.checked_add(4)?;
        let start = at.checked_sub(distance).filter(|_| distance > 0)?;
        if count > out.len() - at {
            return None;
        }
        // The copy may overlap with its source: then it repeats it.
        for n in 0..count {
            out[at + n] = out[start + n];
        }
        at += count;
    }
}

/// A length: 15 goes on in bytes that are added up to the first below 255.
fn length(start: u8, from: &mut std::slice::Iter<u8>) -> Option<usize> {
    let mut sum = usize::from(start);
    if start == 15 {
        loop {
            let byte = *from.next()?;
            sum = sum.checked_add(usize::from(byte))?;
            if byte != 255 {
                break;
            }
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(flags: u8, width: u8, size: u32, block: u32, body: &[u8]) -> Vec<u8> {
        let length = (HEADER + body.len()) as u32;
        let mut frame = vec![2, 1, flags, width];
        [size, block, length].iter().for_each(|n| frame.extend(n.to_le_bytes()));
        frame.extend(body);
        frame
    }

    #[test]
    fn literals_and_overlapping_copies_are_expanded() {
        // "abc", then 9 bytes from 3 before, then "x".
        let mut out = [0; 13];
        assert!(lz4(&[0x35, b'a', b'b', b'c', 3, 0, 0x10, b'x'], &mut out).is_some());
        assert_eq!(&out, b"abcabcabcabcx");
        // Longer lengths: 15 + 255 + 2 literals.
        let long: Vec<u8> = [0xf0, 255, 2].into_iter().chain(std::iter::repeat_n(7, 272)).collect();
        let mut out = [0; 272];
        assert!(lz4(&long, &mut out).is_some() && out == [7; 272]);
    }

    #[test]
    fn streams_that_do_not_fit_are_refused() {
        for (stream, size) in [
            (&[0x35, b'a', b'b', b'c', 4, 0, 0x10, b'x'][..], 13), // from before the beginning
            (&[0x35, b'a', b'b', b'c', 0, 0, 0x10, b'x'][..], 13), // from no distance
            (&[0x35, b'a', b'b', b'c', 3, 0, 0x10, b'x'][..], 12), // too long
            (&[0x35, b'a', b'b', b'c', 3, 0, 0x10, b'x'][..], 14), // too short
            (&[0x35, b'a', b'b', b'c', 3][..], 12),
            (&[0xf0, 255][..], 300),
            (&[][..], 0),
        ] {
            assert!(lz4(stream, &mut vec![0; size]).is_none(), "{stream:?} into {size}");
        }
    }

    #[test]
    fn blocks_are_stored_compressed_and_shuffled() {
        let stored = frame(0b11_0011, 4, 5, 5, b"hello");
        assert_eq!(decompress(&stored, 5).unwrap(), b"hello");
        // Two values of two bytes, and one byte of a third, stored as one stream, shuffled.
        let body = [20, 0, 0, 0, 5, 0, 0, 0, 1, 3, 2, 4, 5];
        let shuffled = frame(0b11_0001, 2, 5, 5, &body);
        assert_eq!(decompress(&shuffled, 5).unwrap(), [1, 2, 3, 4, 5]);
        assert_eq!(decompress(&shuffled, 6), Err("a block of Blosc is damaged"));
        assert!(decompress(&shuffled[..20], 5).is_err());
        assert!(decompress(&frame(0b1001_0001, 2, 5, 5, &body), 5).unwrap_err().contains("codec"));
        assert!(decompress(&frame(0b11_0101, 2, 5, 5, &body), 5).unwrap_err().contains("bits"));
        let zlib = {
            let mut zlib = flate2::Compress::new(flate2::Compression::new(9), true);
            let mut small = Vec::with_capacity(64);
            zlib.compress_vec(&[9; 40], &mut small, flate2::FlushCompress::Finish).unwrap();
            small
        };
        let mut body = vec![20, 0, 0, 0];
        body.extend((zlib.len() as u32).to_le_bytes());
        body.extend(&zlib);
        assert_eq!(decompress(&frame(0b111_0001, 4, 40, 40, &body), 40).unwrap(), [9; 40]);
    }
}
