//! Reads and writes the header of an npy array: some fields of a Python dictionary, read within limits.
//!
//! Layout (NumPy's `format.py`, versions 1 to 3): `\x93NUMPY`, two bytes of version, the length of the text
//! (two bytes, four from version 2 on), the text, then the values. The text is `{'descr': '<f4',
//! 'fortran_order': True, 'shape': (3, 4, 5), }`, padded with spaces and ended by a newline. The reader scans
//! it once from left to right and never recurses: the cost of brackets is linear in their number.

use std::io::{self, Read, Write};

/// Longest header that is read \[bytes\].
const LONGEST: usize = 1 << 16;

/// Most axes of an array, NumPy's limit.
const AXES: usize = 32;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Description of the values after a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// NumPy's name for the type of an element, such as `<f4`; `record` if an element has several fields.
    pub kind: String,
    /// Whether the first index runs fastest.
    pub fortran_order: bool,
    /// Counts along each axis.
    pub shape: Vec<u64>,
}

impl Header {
    /// Reads a header and leaves `from` at the first value.
    ///
    /// # Errors
    /// If there is none, or it is longer than 65536 bytes.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut start = [0; 8];
        from.read_exact(&mut start).map_err(|_| invalid("it ends before its header"))?;
        if &start[..6] != MAGIC {
            return Err(invalid("it is no npy array"));
        }
        let length = match start[6] {
            1 => u32::from(u16::from_le_bytes(bytes(from)?)),
            2 | 3 => u32::from_le_bytes(bytes(from)?),
            version => return Err(invalid(format!("its npy version {version} is unknown"))),
        } as usize;
        if length > LONGEST {
            return Err(invalid(format!("its header claims {length} bytes; at most {LONGEST} are read")));
        }
        let mut text = vec![0; length];
        from.read_exact(&mut text).map_err(|_| invalid("it ends within its header"))?;
        Cursor { text: &text, at: 0 }.dictionary().ok_or_else(|| invalid("its npy header cannot be read"))
    }

    /// Writes the header of version 1, padded so that the values begin at a multiple of 64 bytes.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let order = if self.fortran_order { "True" } else { "False" };
        let shape: String = self.shape.iter().map(|n| format!("{n}, ")).collect();
        let mut text =
            format!("{{'descr': '{}', 'fortran_order': {order}, 'shape': ({shape}), }}", self.kind)
                .into_bytes();
        text.resize((text.len() + 11).next_multiple_of(64) - 11, b' ');
        text.push(b'\n');
        let length = u16::try_from(text.len()).map_err(|_| invalid("the header is too long"))?;
        to.write_all(MAGIC)?;
        to.write_all(&[1, 0])?;
        to.write_all(&length.to_le_bytes())?;
        to.write_all(&text)
    }
}

fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

fn bytes<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).map_err(|_| invalid("it ends within its header"))?;
    Ok(bytes)
}

/// A position in the text of a header.
struct Cursor<'t> {
    text: &'t [u8],
    at: usize,
}

impl Cursor<'_> {
    /// Parses the whole text: the three fields, in any order.
    fn dictionary(mut self) -> Option<Header> {
        let (mut kind, mut fortran_order, mut shape) = (None, None, None);
        self.sign(b'{')?;
        while !self.is_next(b'}') {
            let key = self.string()?;
            self.sign(b':')?;
            match key.as_str() {
                "descr" => kind = Some(self.kind()?),
                "fortran_order" => fortran_order = Some(self.truth()?),
                "shape" => shape = Some(self.counts()?),
                _ => return None,
            }
            if !self.is_next(b',') && self.text.get(self.at) != Some(&b'}') {
                return None;
            }
        }
        self.spaces();
        (self.at == self.text.len()).then_some(())?;
        Some(Header { kind: kind?, fortran_order: fortran_order?, shape: shape? })
    }

    fn spaces(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Skips `sign` if it comes next. Returns whether it did.
    fn is_next(&mut self, sign: u8) -> bool {
        self.spaces();
        let found = self.text.get(self.at) == Some(&sign);
        self.at += usize::from(found);
        if found {
            self.spaces();
        }
        found
    }

    fn sign(&mut self, sign: u8) -> Option<()> {
        self.is_next(sign).then_some(())
    }

    /// Parses text in quotes, without escapes.
    fn string(&mut self) -> Option<String> {
        self.spaces();
        let quote = *self.text.get(self.at).filter(|c| matches!(c, b'\'' | b'"'))?;
        let inner = &self.text[self.at + 1..];
        let length = inner.iter().position(|&c| c == quote)?;
        self.at += length + 2;
        let word = inner[..length]
            .iter()
            .all(|&c| c.is_ascii_graphic() && c != b'\\')
            .then_some(&inner[..length])?;
        String::from_utf8(word.to_vec()).ok()
    }

    /// Parses the type of an element; a list of fields is skipped.
    fn kind(&mut self) -> Option<String> {
        self.spaces();
        if self.text.get(self.at) != Some(&b'[') {
            return self.string();
        }
        let mut depth = 0usize;
        while let Some(&c) = self.text.get(self.at) {
            match c {
                b'\'' | b'"' => {
                    self.string()?;
                    continue;
                }
                b'[' | b'(' => depth += 1,
                b']' | b')' => depth = depth.checked_sub(1)?,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some("record".into());
            }
        }
        None
    }

    fn truth(&mut self) -> Option<bool> {
        self.spaces();
        let (word, truth) = [("True", true), ("False", false)]
            .into_iter()
            .find(|(word, _)| self.text[self.at..].starts_with(word.as_bytes()))?;
        self.at += word.len();
        Some(truth)
    }

    /// Parses a tuple of counts.
    fn counts(&mut self) -> Option<Vec<u64>> {
        self.sign(b'(')?;
        let mut counts = Vec::new();
        while !self.is_next(b')') {
            let digits = self.text[self.at..].iter().take_while(|c| c.is_ascii_digit()).count();
            let word = std::str::from_utf8(&self.text[self.at..self.at + digits]).ok()?;
            counts.push(word.parse().ok()?);
            self.at += digits;
            // Python 2 wrote long numbers with this suffix.
            self.is_next(b'L');
            if counts.len() > AXES || !(self.is_next(b',') || self.text.get(self.at) == Some(&b')')) {
                return None;
            }
        }
        Some(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(version: u8, text: &str) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((text.len() as u16).to_le_bytes()),
            _ => bytes.extend((text.len() as u32).to_le_bytes()),
        }
        bytes.extend(text.as_bytes());
        bytes
    }

    fn read(text: &str) -> io::Result<Header> {
        Header::read(&mut npy(2, text).as_slice())
    }

    #[test]
    fn headers_come_back() {
        for shape in [vec![], vec![7], vec![25, 36, 24], vec![1 << 40; 9]] {
            let header = Header { kind: "<f4".into(), fortran_order: true, shape };
            let mut bytes = Vec::new();
            header.write(&mut bytes).unwrap();
            assert_eq!(bytes.len() % 64, 0);
            assert_eq!(Header::read(&mut bytes.as_slice()).unwrap(), header);
        }
    }

    #[test]
    fn python_s_ways_of_writing_are_read() {
        let ways = [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4, 5), }\n",
            "{\"shape\":(3,4,5),\"fortran_order\":False,\"descr\":\"<f4\"}",
            " { 'shape' : ( 3L , 4L, 5L ) , 'descr' : '<f4', 'fortran_order' : False } ",
        ];
        for way in ways {
            let header = read(way).unwrap();
            assert_eq!((header.kind.as_str(), header.fortran_order), ("<f4", false), "{way}");
            assert_eq!(header.shape, [3, 4, 5], "{way}");
        }
        let record =
            read("{'descr': [('a', '<f4', (2,)), ('b', '|S3')], 'fortran_order': True, 'shape': (2,)}");
        assert_eq!(record.unwrap().kind, "record");
    }

    #[test]
    fn foreign_headers_are_refused_in_linear_time() {
        let field = |value: &str| format!("{{'descr': {value}, 'fortran_order': False, 'shape': (1,)}}");
        for bad in ["", "{", "{}", "{'descr': '<f4'}", "{'a': 1}", "{'shape': (1 2)}", "{'shape': (-1,)}"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        for signs in ["[", "(", "[(", "{", "[["] {
            let began = std::time::Instant::now();
            assert!(read(&field(&signs.repeat(20_000))).is_err(), "{signs}");
            assert!(began.elapsed().as_secs_f32() < 20.0, "{signs}");
        }
        assert!(read(&field("'a\\'")).is_err());
        let many = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({})}}", "1,".repeat(33));
        assert!(read(&many).is_err());
    }

    #[test]
    fn a_claimed_length_is_not_believed() {
        for claimed in [0xffff_fff0_u32, LONGEST as u32 + 1] {
            let mut bytes = MAGIC.to_vec();
            bytes.extend([2, 0]);
            bytes.extend(claimed.to_le_bytes());
            let message = Header::read(&mut bytes.as_slice()).unwrap_err().to_string();
            assert!(message.contains(&format!("claims {claimed} bytes; at most 65536")), "{message}");
        }
        assert!(Header::read(&mut &npy(1, "{'descr'")[..12]).is_err());
        assert!(Header::read(&mut &npy(9, "{}")[..]).is_err());
    }
}
