//! Reads and writes named arrays in NumPy's npz format, for output and for the initial fields of a run.
//!
//! An array of the box is indexed `a[x, y, z]`. It is written in Fortran order, which has the bytes in the
//! order of the solver, x fastest. The reader accepts both orders, and floats, integers and booleans of any
//! size.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use half::f16;
use thiserror::Error;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

pub use crate::field::Array;
use crate::{foreign, room};

mod npy;
mod once;

use npy::Header;
use once::Once;

/// Reason why an npz could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NpzError {
    /// The file is missing, damaged, or not an npz.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's or the archive's error.
        source: io::Error,
    },
    /// An array has the wrong shape, type or values.
    #[error("{}: `{array}` {what}", path.display())]
    Array {
        /// The file.
        path: PathBuf,
        /// Name of the array.
        array: String,
        /// The fault, in words.
        what: String,
    },
}

/// Writes `arrays` and single `numbers` as an npz. Equal values give equal bytes.
///
/// # Errors
/// Those of `file`, and [`InvalidInput`](io::ErrorKind::InvalidInput) for an array whose values do not fill its shape and for a name
/// that comes twice. `file` is no npz then.
pub fn write(
    file: impl Write + Seek,
    numbers: &[(&str, f64)],
    arrays: impl IntoIterator<Item = (&'static str, Array)>,
) -> io::Result<()> {
    write_with(file, numbers, "", arrays)
}

/// Writes as [`write()`] does, with a text `about` unless it is empty.
pub fn write_with(
    file: impl Write + Seek,
    numbers: &[(&str, f64)],
    about: &str,
    arrays: impl IntoIterator<Item = (&'static str, Array)>,
) -> io::Result<()> {
    let mut zip = begin(file, numbers, about)?;
    for (name, array) in arrays {
        let write = |put: &mut dyn FnMut(&[f32]) -> io::Result<()>| put(&array.values);
        write_array(&mut zip, name, array.shape, write)?;
    }
    zip.finish()?;
    Ok(())
}

/// Begins a file with the text `about`, unless it is empty, and `numbers`.
fn begin<W: Write + Seek>(file: W, numbers: &[(&str, f64)], about: &str) -> io::Result<ZipWriter<Once<W>>> {
    let mut zip = ZipWriter::new(Once::new(file));
    if !about.is_empty() {
        start(&mut zip, "about")?;
        write_text(&mut zip, about)?;
    }
    for (name, number) in numbers {
        start(&mut zip, name)?;
        Header { kind: "<f8".into(), fortran_order: false, shape: vec![] }.write(&mut zip)?;
        zip.write_all(&number.to_le_bytes())?;
    }
    Ok(zip)
}

/// Writes as [`write_with`] does, with `arrays` whose values come piece by piece: `values(put)`, called for
/// one array after another, calls `put` with its values, x fastest.
///
/// # Errors
/// Those of [`write()`]; an array that is given no values is one of them.
pub fn write_pieces(
    file: impl Write + Seek,
    numbers: &[(&str, f64)],
    about: &str,
    arrays: &[(&'static str, [usize; 3])],
    mut values: impl FnMut(&mut dyn FnMut(&[f32]) -> io::Result<()>) -> io::Result<()>,
) -> io::Result<()> {
    let mut zip = begin(file, numbers, about)?;
    for &(name, shape) in arrays {
        write_array(&mut zip, name, shape, &mut values)?;
    }
    zip.finish()?;
    Ok(())
}

/// Writes an array of `shape`, whose `values` call their argument with one piece after another.
fn write_array<W: Write + Seek>(
    zip: &mut ZipWriter<W>,
    name: &str,
    shape: [usize; 3],
    values: impl FnOnce(&mut dyn FnMut(&[f32]) -> io::Result<()>) -> io::Result<()>,
) -> io::Result<()> {
    let wanted = shape.iter().try_fold(1, |product: usize, n| product.checked_mul(*n));
    let mut count = 0;
    start(zip, name)?;
    let header = shape.map(|n| n as u64).to_vec();
    Header { kind: "<f4".into(), fortran_order: true, shape: header }.write(zip)?;
    // Pieces are written in chunks of one size, because the compression may depend on it.
    let mut bytes = Vec::with_capacity(CHUNK);
    values(&mut |piece| {
        count += piece.len();
        let mut rest = piece;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min((CHUNK - bytes.len()) / size_of::<f32>()));
            bytes.extend(now.iter().flat_map(|value| value.to_le_bytes()));
            if bytes.len() == CHUNK {
                zip.write_all(&bytes)?;
                bytes.clear();
            }
            rest = later;
        }
        Ok(())
    })?;
    if Some(count) != wanted {
        let what = format!(
            "`{name}` has {count} values and the shape {shape:?}; give as many values as the shape has"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    zip.write_all(&bytes)
}

/// Bytes encoded or decoded together.
const CHUNK: usize = 1 << 16;

/// Writes the header and the characters of a text in NumPy's format: a single value of four bytes for each
/// character.
fn write_text(to: &mut impl Write, text: &str) -> io::Result<()> {
    let kind = format!("<U{}", text.chars().count());
    Header { kind, fortran_order: false, shape: vec![] }.write(to)?;
    to.write_all(&text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect::<Vec<u8>>())
}

fn start<W: Write + Seek>(zip: &mut ZipWriter<W>, name: &str) -> io::Result<()> {
    // Level 1 is enough, since smoke is mostly zeros and other values hardly shrink at any level.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(1))
        .large_file(true);
    zip.start_file(format!("{name}.npy"), options).map_err(|error| match error {
        ZipError::Io(error) => error,
        // The archive is new, so its error means that a name came twice.
        _ => io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("an npz cannot hold `{name}` twice; give each array and number a name of its own"),
        ),
    })
}

/// An npz being read.
pub struct Reader {
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
}

impl Reader {
    /// Opens `path` and reads its directory.
    pub fn open(path: &Path) -> Result<Self, NpzError> {
        let failed = |source| NpzError::Read { path: path.to_owned(), source };
        let file = foreign::open(path).map_err(failed)?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|error| {
            failed(match error {
                ZipError::Io(error) => error,
                _ => io::Error::new(
                    io::ErrorKind::InvalidData,
                    "it is no npz file, or is cut short; write it again",
                ),
            })
        })?;
        Ok(Self { path: path.to_owned(), zip })
    }

    /// Returns the names of the arrays.
    pub fn names(&self) -> Vec<String> {
        let names = self.zip.file_names().filter_map(Result::ok);
        names.filter_map(|file| file.strip_suffix(".npy").map(str::to_owned)).collect()
    }

    /// Opens the array `name`.
    fn entry(&mut self, name: &str) -> Result<impl Read + use<'_>, NpzError> {
        let missing =
            format!("is missing; the file has {}", foreign::shortened(&self.names().join(", "), 200));
        let (path, file) = (self.path.clone(), format!("{name}.npy"));
        self.zip.by_name(&file).map_err(|error| match error {
            ZipError::FileNotFound => NpzError::Array { path, array: name.to_owned(), what: missing },
            error => NpzError::Read { path, source: error.into() },
        })
    }

    /// Checks that the array `name` exists with `shape` and a supported type, without reading values.
    pub fn check(&mut self, name: &str, shape: [usize; 3]) -> Result<(), NpzError> {
        let path = self.path.clone();
        let failed = |source| NpzError::Read { path: path.clone(), source };
        let mut entry = self.entry(name)?;
        let header = Header::read(&mut entry).map_err(failed)?;
        expected(&header, shape).map(drop).map_err(|what| NpzError::Array {
            path,
            array: name.to_owned(),
            what,
        })
    }

    /// Reads the array `name`, which must have `shape` and finite values. Reads no more bytes than that shape
    /// needs.
    pub fn array(&mut self, name: &str, shape: [usize; 3]) -> Result<Array, NpzError> {
        let path = self.path.clone();
        let failed = |source| NpzError::Read { path: path.clone(), source };
        let wrong = |what: String| NpzError::Array { path: path.clone(), array: name.to_owned(), what };
        let mut entry = self.entry(name)?;
        let header = Header::read(&mut entry).map_err(failed)?;
        let reading = expected(&header, shape).map_err(wrong)?;
        let count = shape.iter().product::<usize>();
        let mut values = room::vec(count, name).map_err(|error| wrong(error.to_string()))?;
        decode(&mut entry, reading, count, &mut values).map_err(failed)?;
        let bytes = values.len() * reading.1;
        // The reader compares the checksum at the end of the entry.
        let is_more = values.len() == count && entry.read(&mut [0; 1]).map_err(failed)? != 0;
        if values.len() != count || is_more {
            let amount = if is_more { "more".to_owned() } else { bytes.to_string() };
            return Err(wrong(format!("has {amount} bytes of values, which do not fill its shape")));
        }
        if !values.iter().all(|x| x.is_finite()) {
            return Err(wrong("has values that are not finite numbers".into()));
        }
        match header.fortran_order {
            true => Ok(Array { shape, values }),
            false => {
                let turned = x_fastest(&values, shape).map_err(|error| wrong(error.to_string()))?;
                Ok(Array { shape, values: turned })
            }
        }
    }

    /// Reads the single number `name`, if it exists.
    pub fn number(&mut self, name: &str) -> Option<f64> {
        let mut entry = self.zip.by_name(&format!("{name}.npy")).ok()?;
        let header = Header::read(&mut entry).ok()?;
        let mut bytes = [0; 8];
        entry.read_exact(&mut bytes).ok()?;
        match header.kind.as_str() {
            "<f8" => Some(f64::from_le_bytes(bytes)),
            ">f8" => Some(f64::from_be_bytes(bytes)),
            _ => None,
        }
    }
}

/// Returns the encoding of the values after `header`, if they form an array of the shape `wanted`.
fn expected(header: &Header, wanted: [usize; 3]) -> Result<Encoding, String> {
    if header.shape != wanted.map(|n| n as u64) {
        let found = foreign::shortened(&format!("{:?}", header.shape), 80);
        return Err(format!("has the shape {found}; this scene needs {wanted:?}"));
    }
    let kind = foreign::shortened(&header.kind, 40);
    reading(&header.kind).ok_or_else(|| format!("has values of type `{kind}`; save it `.astype(\"f4\")`"))
}

/// Converts the bytes of an element, lowest first, to a number.
type Reading = fn([u8; 8]) -> f32;

/// Whether elements are big-endian, their size in bytes, and their conversion.
type Encoding = (bool, usize, Reading);

/// Returns the conversion for a type, or none if elements are not single numbers.
fn reading(kind: &str) -> Option<Encoding> {
    let (size, read): (usize, Reading) = match kind.trim_start_matches(['<', '>', '=', '|']) {
        "f2" => (2, |b| f16::from_bits(u64::from_le_bytes(b) as u16).to_f32()),
        "f4" => (4, |b| f32::from_bits(u64::from_le_bytes(b) as u32)),
        "f8" => (8, |b| f64::from_le_bytes(b) as f32),
        "i1" => (1, |b| f32::from(b[0] as i8)),
        "i2" => (2, |b| f32::from(u64::from_le_bytes(b) as i16)),
        "i4" => (4, |b| u64::from_le_bytes(b) as i32 as f32),
        "i8" => (8, |b| i64::from_le_bytes(b) as f32),
        "b1" | "u1" => (1, |b| f32::from(b[0])),
        "u2" => (2, |b| u64::from_le_bytes(b) as f32),
        "u4" => (4, |b| u64::from_le_bytes(b) as f32),
        "u8" => (8, |b| u64::from_le_bytes(b) as f32),
        _ => return None,
    };
    Some((kind.starts_with('>'), size, read))
}

/// Appends `count` values in the order of the file, fewer if it ends early.
fn decode(
    from: &mut impl Read,
    (is_big, size, read): Encoding,
    count: usize,
    values: &mut Vec<f32>,
) -> io::Result<()> {
    let element = |bytes: &[u8]| {
        let mut low = [0; 8];
        low[..size].copy_from_slice(bytes);
        if is_big {
            low[..size].reverse();
        }
        read(low)
    };
    let mut bytes = Vec::with_capacity(CHUNK);
    while values.len() < count {
        let wanted = (count - values.len()).min(CHUNK / size) * size;
        bytes.clear();
        from.by_ref().take(wanted as u64).read_to_end(&mut bytes)?;
        values.extend(bytes.chunks_exact(size).map(element));
        if bytes.len() < wanted {
            break;
        }
    }
    Ok(())
}

/// Reorders from z fastest to x fastest.
fn x_fastest(values: &[f32], [nx, ny, nz]: [usize; 3]) -> Result<Vec<f32>, room::NoRoom> {
    let at = |n: usize| (n % nx, n / nx % ny, n / (nx * ny));
    let mut turned = room::vec(values.len(), "the array")?;
    turned.extend((0..values.len()).map(at).map(|(x, y, z)| values[z + nz * (y + ny * x)]));
    Ok(turned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(shape: [usize; 3]) -> Array {
        Array { shape, values: (0..shape.iter().product()).map(|n| n as f32).collect() }
    }

    #[test]
    fn arrays_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npz");
        let (u, t) = (counting([3, 4, 5]), counting([2, 4, 5]));
        let arrays = [("u", u.clone()), ("temperature", t.clone())];
        write(File::create(&path).unwrap(), &[("time", 1.5)], arrays.clone()).unwrap();
        let mut npz = Reader::open(&path).unwrap();
        let mut names = npz.names();
        names.sort();
        assert_eq!(names, ["temperature", "time", "u"]);
        assert_eq!(npz.array("u", [3, 4, 5]).unwrap(), u);
        assert_eq!(npz.array("temperature", [2, 4, 5]).unwrap(), t);
        assert_eq!(npz.number("time"), Some(1.5));
        let other = dir.path().join("b.npz");
        write(File::create(&other).unwrap(), &[("time", 1.5)], arrays).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), std::fs::read(other).unwrap());
    }

    #[test]
    fn c_order_and_double_precision_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.npz");
        // a[x, y, z] = 100 x + 10 y + z, z fastest.
        let value = |x: usize, y: usize, z: usize| (100 * x + 10 * y + z) as f64;
        let z_fastest = (0..12).map(|n| value(n / 6, n / 3 % 2, n % 3));
        let bytes: Vec<u8> = z_fastest.flat_map(f64::to_le_bytes).collect();
        raw(&path, "<f8", [2, 2, 3], &bytes);
        let read = Reader::open(&path).unwrap().array("red", [2, 2, 3]).unwrap();
        let expected: Vec<f32> = (0..12).map(|n| value(n % 2, n / 2 % 2, n / 4) as f32).collect();
        assert_eq!(read.values, expected);
    }

    /// Writes an npz of one array of this type.
    fn raw(path: &Path, kind: &str, shape: [usize; 3], bytes: &[u8]) {
        let mut zip = ZipWriter::new(File::create(path).unwrap());
        start(&mut zip, "red").unwrap();
        let [x, y, z] = shape;
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({x}, {y}, {z}), }}");
        let header = format!("{header:<117}\n");
        zip.write_all(b"\x93NUMPY\x01\x00").unwrap();
        zip.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
        zip.write_all(header.as_bytes()).unwrap();
        zip.write_all(bytes).unwrap();
        zip.finish().unwrap();
    }

    #[test]
    fn every_plain_type_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npz");
        let cases: [(&str, &[u8], [f32; 2]); 11] = [
            ("<f2", &[0x00, 0x3e, 0x00, 0xc0], [1.5, -2.0]),
            ("<f4", &[0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0], [1.5, -2.0]),
            (">f4", &[0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0], [1.5, -2.0]),
            ("|i1", &[3, 0xff], [3.0, -1.0]),
            ("<i2", &[3, 1, 0xff, 0xff], [259.0, -1.0]),
            ("<i4", &[3, 0, 0, 0, 0xff, 0xff, 0xff, 0xff], [3.0, -1.0]),
            (">i8", &[0, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], [3.0, -1.0]),
            ("|b1", &[1, 0], [1.0, 0.0]),
            ("|u1", &[200, 7], [200.0, 7.0]),
            (">u2", &[1, 0, 0, 9], [256.0, 9.0]),
            ("<u4", &[0, 0, 1, 0, 9, 0, 0, 0], [65536.0, 9.0]),
        ];
        for (kind, bytes, values) in cases {
            raw(&path, kind, [1, 1, 2], bytes);
            assert_eq!(
                Reader::open(&path).unwrap().array("red", [1, 1, 2]).unwrap().values,
                values,
                "{kind}"
            );
        }
        raw(&path, "<c8", [1, 1, 2], &[0; 16]);
        let refused = Reader::open(&path).unwrap().array("red", [1, 1, 2]).unwrap_err().to_string();
        assert!(refused.contains("`<c8`"), "{refused}");
        raw(&path, "<f4", [1, 1, 2], &[0; 12]);
        let refused = Reader::open(&path).unwrap().array("red", [1, 1, 2]).unwrap_err().to_string();
        assert!(refused.contains("more bytes"), "{refused}");
    }

    #[test]
    fn missing_arrays_and_cut_files_are_refused_in_our_own_words() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npz");
        write(File::create(&path).unwrap(), &[], [("u", counting([2, 2, 2]))]).unwrap();
        let mut npz = Reader::open(&path).unwrap();
        let missing = "`red` is missing; the file has u";
        assert!(npz.array("red", [2, 2, 2]).unwrap_err().to_string().contains(missing));
        assert!(npz.check("red", [2, 2, 2]).unwrap_err().to_string().contains(missing));
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let message = Reader::open(&path).err().unwrap().to_string();
        assert!(message.contains("a.npz: it is no npz file, or is cut short"), "{message}");
    }

    #[test]
    fn a_flipped_bit_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npz");
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        zip.start_file("u.npy", stored).unwrap();
        Header { kind: "<f4".into(), fortran_order: true, shape: vec![4; 3] }.write(&mut zip).unwrap();
        counting([4; 3]).values.iter().for_each(|value| zip.write_all(&value.to_le_bytes()).unwrap());
        zip.finish().unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[300] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert!(Reader::open(&path).unwrap().array("u", [4, 4, 4]).is_err());
    }

    /// The file has 256 MiB of zeros in 260 kB, for a scene that expects 8 values.
    #[test]
    fn a_bomb_is_refused_after_the_bytes_that_were_expected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npz");
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        start(&mut zip, "u").unwrap();
        Header { kind: "<f4".into(), fortran_order: true, shape: vec![2; 3] }.write(&mut zip).unwrap();
        let zeros = vec![0; 1 << 20];
        (0..256).for_each(|_| zip.write_all(&zeros).unwrap());
        zip.finish().unwrap();
        let message = Reader::open(&path).unwrap().array("u", [2; 3]).unwrap_err().to_string();
        assert!(message.contains("has more bytes of values"), "{message}");
    }

    #[test]
    fn a_failed_write_is_reported_once() {
        struct Full(usize);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        impl io::Seek for Full {
            fn seek(&mut self, _: io::SeekFrom) -> io::Result<u64> {
                Ok(0)
            }
        }
        for room in [0, 10, 100, 200, 300] {
            let error = write(Full(room), &[("time", 1.0)], [("u", counting([9; 3]))]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{room}: {error}");
        }
    }

    #[test]
    fn arrays_of_another_shape_or_type_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npz");
        let mut bad = counting([2, 2, 2]);
        bad.values[3] = f32::NAN;
        write(File::create(&path).unwrap(), &[], [("u", counting([2, 2, 2])), ("v", bad)]).unwrap();
        let mut npz = Reader::open(&path).unwrap();
        let message = npz.array("u", [3, 2, 2]).unwrap_err().to_string();
        assert!(message.contains("`u` has the shape [2, 2, 2]; this scene needs [3, 2, 2]"), "{message}");
        assert!(npz.array("v", [2, 2, 2]).unwrap_err().to_string().contains("not finite"));
        assert!(npz.array("w", [2, 2, 2]).is_err());
        let bytes = std::fs::read(&path).unwrap();
        for cut in [0, 10, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let broken = Reader::open(&path).and_then(|mut npz| npz.array("u", [2, 2, 2]));
            assert!(broken.is_err(), "cut at {cut}");
        }
    }
}
