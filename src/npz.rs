//! Arrays by name in NumPy's npz: fields go out this way, and come back as the start of another run.
//!
//! An array of the box is indexed `a[x, y, z]`: it is written in Fortran order, which has the bytes in the order
//! of the solver, x fastest. Reading takes both orders, and floats, integers and truth values of any size.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use half::f16;
use npyz::{DType, NpyFile, NpyHeader, Order, WriterBuilder};
use thiserror::Error;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

pub use crate::field::Array;

/// Why an npz could not be read.
#[derive(Debug, Error)]
pub enum NpzError {
    /// Not there, not an npz, or damaged.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
    /// An array that is not what was wanted.
    #[error("{}: `{array}` {what}", path.display())]
    Array {
        /// The file.
        path: PathBuf,
        /// The name of the array.
        array: String,
        /// What is wrong with it.
        what: String,
    },
}

/// Writes `arrays` and single `numbers` as an npz. The same values give the same bytes.
pub fn write(
    file: impl Write + Seek,
    numbers: &[(&str, f64)],
    arrays: impl IntoIterator<Item = (&'static str, Array)>,
) -> io::Result<()> {
    write_with(file, numbers, "", arrays)
}

/// The same with a text, `about`, unless it is empty.
pub fn write_with(
    file: impl Write + Seek,
    numbers: &[(&str, f64)],
    about: &str,
    arrays: impl IntoIterator<Item = (&'static str, Array)>,
) -> io::Result<()> {
    let mut zip = ZipWriter::new(file);
    if !about.is_empty() {
        start(&mut zip, "about")?;
        zip.write_all(&npy_text(about))?;
    }
    for (name, number) in numbers {
        start(&mut zip, name)?;
        let writer = npyz::WriteOptions::new().default_dtype().shape(&[]).writer(&mut zip);
        let mut writer = writer.begin_nd()?;
        writer.push(number)?;
        writer.finish()?;
    }
    for (name, array) in arrays {
        start(&mut zip, name)?;
        let shape = array.shape.map(|n| n as u64);
        let options = npyz::WriteOptions::new().default_dtype().shape(&shape).order(Order::Fortran);
        let mut writer = options.writer(&mut zip).begin_nd()?;
        writer.extend(array.values)?;
        writer.finish()?;
    }
    zip.finish()?;
    Ok(())
}

/// A text as NumPy stores it: a single value of four bytes a character.
fn npy_text(text: &str) -> Vec<u8> {
    let count = text.chars().count();
    let header = format!("{{'descr': '<U{count}', 'fortran_order': False, 'shape': (), }}");
    // All of it is a multiple of 64 bytes.
    let padded = (header.len() + 11).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((padded as u16).to_le_bytes());
    bytes.extend(format!("{header:<width$}\n", width = padded - 1).bytes());
    bytes.extend(text.chars().flat_map(|c| u32::from(c).to_le_bytes()));
    bytes
}

fn start<W: Write + Seek>(zip: &mut ZipWriter<W>, name: &str) -> io::Result<()> {
    // Level 1: smoke is mostly zeros, and what is not zero hardly shrinks at any level.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(1))
        .large_file(true);
    Ok(zip.start_file(format!("{name}.npy"), options)?)
}

/// An npz that is being read.
pub struct Reader {
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
}

impl Reader {
    /// Opens `path` and reads its directory.
    pub fn open(path: &Path) -> Result<Self, NpzError> {
        let failed = |source| NpzError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|e| failed(e.into()))?;
        Ok(Self { path: path.to_owned(), zip })
    }

    /// The names of its arrays.
    pub fn names(&self) -> Vec<String> {
        let names = self.zip.file_names().filter_map(Result::ok);
        names.filter_map(|file| file.strip_suffix(".npy").map(str::to_owned)).collect()
    }

    /// Whether the array `name` is there and of `shape`; no value is read.
    pub fn check(&mut self, name: &str, shape: [usize; 3]) -> Result<(), NpzError> {
        let path = self.path.clone();
        let failed = |source| NpzError::Read { path: path.clone(), source };
        let entry = self.zip.by_name(&format!("{name}.npy")).map_err(|e| failed(e.into()))?;
        let found = NpyFile::new(entry).map_err(failed)?.shape().to_vec();
        match found == shape.map(|n| n as u64) {
            true => Ok(()),
            false => Err(wrong_shape(&path, name, &found, shape)),
        }
    }

    /// The array `name`, which must be of `shape`, its values finite.
    pub fn array(&mut self, name: &str, shape: [usize; 3]) -> Result<Array, NpzError> {
        let path = self.path.clone();
        let failed = |source| NpzError::Read { path: path.clone(), source };
        let wrong = |what: String| NpzError::Array { path: path.clone(), array: name.to_owned(), what };
        let mut entry = self.zip.by_name(&format!("{name}.npy")).map_err(|e| failed(e.into()))?;
        let npy = NpyHeader::from_reader(&mut entry).map_err(failed)?;
        if npy.shape() != shape.map(|n| n as u64) {
            return Err(wrong_shape(&path, name, npy.shape(), shape));
        }
        let (order, kind) = (npy.order(), kind(&npy.dtype()));
        let of_type = || wrong(format!("has values of type `{kind}`; save it `.astype(\"f4\")`"));
        let (is_big, size, read) = reading(&kind).ok_or_else(of_type)?;
        // To the end, where the checksum is compared.
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() != size * shape.iter().product::<usize>() {
            return Err(wrong(format!("has {} bytes of values, which do not fill its shape", bytes.len())));
        }
        let values = decode(&bytes, is_big, size, read);
        if !values.iter().all(|x| x.is_finite()) {
            return Err(wrong("has values that are not finite numbers".into()));
        }
        match order {
            Order::Fortran => Ok(Array { shape, values }),
            Order::C => Ok(Array { shape, values: x_fastest(&values, shape) }),
        }
    }

    /// The single number `name`, if it is there.
    pub fn number(&mut self, name: &str) -> Option<f64> {
        let entry = self.zip.by_name(&format!("{name}.npy")).ok()?;
        NpyFile::new(entry).ok()?.into_vec::<f64>().ok()?.first().copied()
    }
}

fn wrong_shape(path: &Path, array: &str, found: &[u64], wanted: [usize; 3]) -> NpzError {
    let what = format!("has the shape {found:?}; this scene needs {wanted:?}");
    NpzError::Array { path: path.to_owned(), array: array.to_owned(), what }
}

/// What NumPy calls the type of an element, such as `<f4`.
fn kind(dtype: &DType) -> String {
    match dtype {
        DType::Plain(kind) => kind.to_string(),
        _ => "record".into(),
    }
}

/// The bytes of an element, the lowest first, as a number.
type Reading = fn([u8; 8]) -> f32;

/// How elements of a type are read: whether the highest byte comes first, how many there are, and what number they are;
/// nothing if they are no single numbers.
fn reading(kind: &str) -> Option<(bool, usize, Reading)> {
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

/// The values in the order of the file.
fn decode(bytes: &[u8], is_big: bool, size: usize, read: Reading) -> Vec<f32> {
    let element = |bytes: &[u8]| {
        let mut low = [0; 8];
        low[..size].copy_from_slice(bytes);
        if is_big {
            low[..size].reverse();
        }
        read(low)
    };
    bytes.chunks_exact(size).map(element).collect()
}

/// From z fastest to x fastest.
fn x_fastest(values: &[f32], [nx, ny, nz]: [usize; 3]) -> Vec<f32> {
    let at = |n: usize| (n % nx, n / nx % ny, n / (nx * ny));
    (0..values.len()).map(at).map(|(x, y, z)| values[z + nz * (y + ny * x)]).collect()
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
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        start(&mut zip, "u").unwrap();
        let options = npyz::WriteOptions::new().default_dtype().shape(&[2, 2, 3]).order(Order::C);
        let mut writer = options.writer(&mut zip).begin_nd().unwrap();
        // a[x, y, z] = 100 x + 10 y + z, z fastest.
        let value = |x: usize, y: usize, z: usize| (100 * x + 10 * y + z) as f64;
        let z_fastest = (0..12).map(|n| value(n / 6, n / 3 % 2, n % 3));
        writer.extend(z_fastest).unwrap();
        writer.finish().unwrap();
        zip.finish().unwrap();
        let read = Reader::open(&path).unwrap().array("u", [2, 2, 3]).unwrap();
        let expected: Vec<f32> = (0..12).map(|n| value(n % 2, n / 2 % 2, n / 4) as f32).collect();
        assert_eq!(read.values, expected);
    }

    /// An npz of one array of this type.
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
        assert!(refused.contains("12 bytes"), "{refused}");
    }

    #[test]
    fn a_flipped_bit_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npz");
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        zip.start_file("u.npy", stored).unwrap();
        let options = npyz::WriteOptions::new().default_dtype().shape(&[4, 4, 4]);
        let mut writer = options.writer(&mut zip).begin_nd().unwrap();
        writer.extend((0..64).map(|n| n as f32)).unwrap();
        writer.finish().unwrap();
        zip.finish().unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[300] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert!(Reader::open(&path).unwrap().array("u", [4, 4, 4]).is_err());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
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
