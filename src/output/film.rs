//! Checks that a video file is complete.
//!
//! ffmpeg can report success on a full disk and leave an MP4 without its index, which no player opens. So the
//! outermost structure of its output is checked: it must extend exactly to the end of the file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Checks the video at `path`. Its extension tells MP4, WebM or GIF.
///
/// # Errors
/// If it is incomplete, or the system cannot bring it to the disk.
pub fn check(path: &Path) -> io::Result<()> {
    let file = File::options().read(true).write(true).open(path);
    let mut file = file.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::other("ffmpeg reported success and left no film"),
        _ => error,
    })?;
    // Some systems report a full disk only now.
    file.sync_all()?;
    let length = file.metadata()?.len();
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let is_whole = match extension.as_str() {
        "mp4" => mp4(&mut file, length),
        "webm" => webm(&mut file, length),
        "gif" => gif(&mut file, length),
        _ => Ok(length > 0),
    };
    // A file that ends too early is incomplete too.
    match is_whole {
        Ok(true) => Ok(()),
        _ => Err(io::Error::other(format!(
            "ffmpeg left a film without its end ({length} bytes); is the disk full?"
        ))),
    }
}

/// Checks for boxes from beginning to end, with the pictures and their index among them (ISO/IEC 14496-12,
/// 4.2).
fn mp4(file: &mut File, length: u64) -> io::Result<bool> {
    let (mut at, mut index, mut pictures) = (0, false, false);
    while at < length {
        file.seek(SeekFrom::Start(at))?;
        let mut head = [0; 8];
        file.read_exact(&mut head)?;
        let (size, kind) = head.split_at(4);
        let size = match u32::from_be_bytes([size[0], size[1], size[2], size[3]]) {
            1 => {
                let mut long = [0; 8];
                file.read_exact(&mut long)?;
                u64::from_be_bytes(long)
            }
            0 => length - at,
            size => u64::from(size),
        };
        index |= kind == b"moov";
        pictures |= kind == b"mdat";
        match at.checked_add(size) {
            Some(next) if size >= 8 && next <= length => at = next,
            _ => return Ok(false),
        }
    }
    Ok(index && pictures)
}

/// Checks for an EBML header and a segment whose size was filled in at the end (RFC 8794, 6.2 and 11.2).
fn webm(file: &mut File, length: u64) -> io::Result<bool> {
    let mut identifier = [0; 4];
    file.read_exact(&mut identifier)?;
    let Some(header) = ebml_size(file)? else { return Ok(false) };
    let Ok(header) = i64::try_from(header) else { return Ok(false) };
    file.seek(SeekFrom::Current(header))?;
    let mut segment = [0; 4];
    file.read_exact(&mut segment)?;
    let size = ebml_size(file)?;
    let begins = file.stream_position()?;
    let reaches = size.and_then(|size| begins.checked_add(size));
    Ok(identifier == [0x1a, 0x45, 0xdf, 0xa3]
        && segment == [0x18, 0x53, 0x80, 0x67]
        && reaches == Some(length))
}

/// Reads a size of variable length, if it is known.
fn ebml_size(file: &mut File) -> io::Result<Option<u64>> {
    let mut byte = [0];
    file.read_exact(&mut byte)?;
    let more = byte[0].leading_zeros();
    if more > 7 {
        return Ok(None);
    }
    let mut size = u64::from(byte[0]) & ((1 << (7 - more)) - 1);
    for _ in 0..more {
        file.read_exact(&mut byte)?;
        size = size << 8 | u64::from(byte[0]);
    }
    let unknown = (1 << (7 * (more + 1))) - 1;
    Ok((size != unknown).then_some(size))
}

/// Checks for the header, and the trailer as the last byte (GIF89a, 17 and 27).
fn gif(file: &mut File, length: u64) -> io::Result<bool> {
    let mut header = [0; 6];
    file.read_exact(&mut header)?;
    file.seek(SeekFrom::Start(length.saturating_sub(1)))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(&header == b"GIF89a" && last == [0x3b])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(kinds: &[(&[u8; 4], u32)]) -> Vec<u8> {
        let one = |&(kind, body): &(&[u8; 4], u32)| {
            [&(body + 8).to_be_bytes()[..], kind, &vec![0; body as usize]].concat()
        };
        kinds.iter().flat_map(one).collect()
    }

    fn is_whole(name: &str, bytes: &[u8]) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        check(&path).is_ok()
    }

    #[test]
    fn an_mp4_without_its_index_is_not_whole() {
        let whole = boxes(&[(b"ftyp", 16), (b"moov", 40), (b"mdat", 100)]);
        assert!(is_whole("a.mp4", &whole));
        assert!(!is_whole("a.mp4", &whole[..whole.len() - 1]), "cut");
        assert!(!is_whole("a.mp4", &boxes(&[(b"ftyp", 16), (b"mdat", 100)])), "no index");
        assert!(!is_whole("a.mp4", b""));
        assert!(!is_whole("a.mp4", &[0xff; 20]));
    }

    #[test]
    fn a_webm_ends_where_its_segment_does() {
        let header = [&[0x1a, 0x45, 0xdf, 0xa3, 0x82, 0, 0][..], &[0x18, 0x53, 0x80, 0x67]].concat();
        let known = [&header[..], &[0x40, 5, 1, 2, 3, 4, 5]].concat();
        assert!(is_whole("a.webm", &known));
        assert!(!is_whole("a.webm", &known[..known.len() - 1]));
        let unknown = [&header[..], &[0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2]].concat();
        assert!(!is_whole("a.webm", &unknown), "the size was never filled in");
    }

    #[test]
    fn a_gif_ends_with_its_trailer() {
        assert!(is_whole("a.gif", b"GIF89a...;"));
        assert!(!is_whole("a.gif", b"GIF89a...."));
        assert!(!is_whole("a.gif", b"GIF"));
    }
}
