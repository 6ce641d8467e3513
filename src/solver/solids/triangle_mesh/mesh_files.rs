//! Triangles of OBJ and STL files.
//!
//! From an OBJ only `v` and `f` are read: polygons become fans, and negative indices count from the end. Both
//! kinds of STL are read. The length of the file tells which, because binary files may begin with `solid`
//! too.

use crate::foreign::shortened;

/// Vertices, and triangles as indices into them.
pub type Soup = (Vec<[f32; 3]>, Vec<[u32; 3]>);

/// Most corners of one polygon.
const CORNERS: usize = 10_000;

/// Reads the triangles of the OBJ `text`.
///
/// # Errors
/// The line that cannot be read.
pub fn obj(text: &str) -> Result<Soup, String> {
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    let mut corners = Vec::new();
    let mut lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let wrong = |what: &str| format!("line {}: {what}: {}", number + 1, shortened(line.trim(), 60));
        let mut joined;
        let mut line = line.split('#').next().unwrap_or("").trim_end();
        // A backslash at the end of a line continues it on the next one.
        if line.ends_with('\\') {
            joined = line.to_owned();
            while joined.ends_with('\\') {
                joined.pop();
                joined.push(' ');
                joined.push_str(lines.next().map_or("", |(_, next)| next.trim_end()));
            }
            line = joined.split('#').next().unwrap_or("").trim_end();
        }
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("v") => {
                let vertex = three(&mut words).ok_or_else(|| wrong("a vertex has three numbers"))?;
                vertices.push(vertex);
            }
            Some("f") => {
                corners.clear();
                for word in words {
                    let corner = corner(word, vertices.len());
                    corners.push(corner.ok_or_else(|| wrong("a face names vertices that are not there"))?);
                }
                if !(3..=CORNERS).contains(&corners.len()) {
                    return Err(wrong("a face has 3 to 10000 corners"));
                }
                triangles.extend(corners.windows(2).skip(1).map(|pair| [corners[0], pair[0], pair[1]]));
            }
            _ => {}
        }
    }
    Ok(used(vertices, triangles))
}

/// Reads three numbers.
fn three<'t>(words: &mut impl Iterator<Item = &'t str>) -> Option<[f32; 3]> {
    let mut next = || words.next()?.parse().ok();
    Some([next()?, next()?, next()?])
}

/// Resolves `12`, `12/3`, `12//4` or `-1` to a vertex, of `count` read so far.
fn corner(word: &str, count: usize) -> Option<u32> {
    let index: i64 = word.split('/').next()?.parse().ok()?;
    let count = i64::try_from(count).ok()?;
    let at = if index < 0 { count.checked_add(index)? } else { index - 1 };
    (0..count).contains(&at).then(|| u32::try_from(at).ok()).flatten()
}

/// Removes vertices that no triangle uses.
fn used(vertices: Vec<[f32; 3]>, mut triangles: Vec<[u32; 3]>) -> Soup {
    let mut numbers = vec![u32::MAX; vertices.len()];
    let mut kept = Vec::new();
    for vertex in triangles.as_flattened_mut() {
        let number = &mut numbers[*vertex as usize];
        if *number == u32::MAX {
            *number = kept.len() as u32;
            kept.push(vertices[*vertex as usize]);
        }
        *vertex = *number;
    }
    (kept, triangles)
}

/// Bytes of a binary STL before its triangles, and of each.
const HEADER: usize = 84;
const TRIANGLE: usize = 50;

/// Reads the triangles of the STL `bytes`.
///
/// # Errors
/// If it ends early or is no STL.
pub fn stl(bytes: &[u8]) -> Result<Soup, String> {
    let claimed =
        bytes.get(80..HEADER).map(|count| u32::from_le_bytes([count[0], count[1], count[2], count[3]]));
    let length = claimed.map(|count| HEADER as u64 + TRIANGLE as u64 * u64::from(count));
    let is_text = bytes.trim_ascii_start().starts_with(b"solid") && length != Some(bytes.len() as u64);
    if is_text && let Ok(text) = std::str::from_utf8(bytes) {
        return ascii(text);
    }
    match (claimed, length) {
        (Some(_), Some(length)) if length <= bytes.len() as u64 => {
            Ok(binary(&bytes[HEADER..length as usize]))
        }
        (Some(count), Some(length)) => Err(format!(
            "it is cut short: its {count} triangles take {length} bytes, and it has {}",
            bytes.len()
        )),
        _ => Err(format!("it is no STL: {} bytes are too few for one", bytes.len())),
    }
}

/// Makes a soup from corners, three for each triangle.
fn soup(vertices: Vec<[f32; 3]>) -> Soup {
    let triangles = (0..vertices.len() as u32 / 3).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    (vertices, triangles)
}

fn binary(triangles: &[u8]) -> Soup {
    let number = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let corner = |bytes: &[u8]| [number(bytes), number(&bytes[4..]), number(&bytes[8..])];
    let of_triangle = |bytes: &[u8]| [corner(&bytes[12..]), corner(&bytes[24..]), corner(&bytes[36..])];
    soup(triangles.chunks_exact(TRIANGLE).flat_map(of_triangle).collect())
}

fn ascii(text: &str) -> Result<Soup, String> {
    let mut vertices = Vec::new();
    let mut ended = false;
    for (number, line) in text.lines().enumerate() {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("vertex") => {
                let vertex = three(&mut words);
                let wrong = || {
                    format!("line {}: a vertex has three numbers: {}", number + 1, shortened(line.trim(), 60))
                };
                vertices.push(vertex.ok_or_else(wrong)?);
            }
            Some("endsolid") => ended = true,
            _ => {}
        }
    }
    match ended && vertices.len().is_multiple_of(3) {
        true => Ok(soup(vertices)),
        false => Err(format!("it is cut short: after {} corners there is no `endsolid`", vertices.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TETRAHEDRON: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

    #[test]
    fn a_byte_order_mark_comments_and_long_lines_are_no_obstacle() {
        let plain = obj(TETRAHEDRON).unwrap();
        let dressed = format!(
            "\u{feff}# by hand\no tip\n{}",
            TETRAHEDRON.replace("f 1 3 2", "f 1/1/1 \\\n3//1 2 # here")
        );
        assert_eq!(obj(&dressed).unwrap(), plain);
        assert_eq!(obj(&TETRAHEDRON.replace("f 2 3 4", "f -3 -2 -1")).unwrap(), plain);
    }

    #[test]
    fn polygons_are_fans_and_unused_vertices_are_dropped() {
        let (vertices, triangles) = obj("v 9 9 9\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 2 3 4 5\n").unwrap();
        assert_eq!(triangles, [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(vertices.len(), 4);
    }

    #[test]
    fn an_error_in_an_obj_names_its_line() {
        let cases = [
            ("v 0 0\n", "line 1: a vertex has three numbers: v 0 0"),
            ("v 0 0 zero\n", "line 1"),
            ("v 0 0 0\nf 1 2 3\n", "line 2: a face names vertices that are not there"),
            ("v 0 0 0\nf 0 1 1\n", "line 2"),
            ("v 0 0 0\nf -2 1 1\n", "line 2"),
            ("v 0 0 0\nf -9223372036854775808 1 1\n", "line 2"),
            ("v 0 0 0\nf 99999999999999999999 1 1\n", "line 2"),
            ("v 0 0 0\nf 1 1\n", "line 2: a face has 3 to 10000 corners"),
        ];
        for (text, wanted) in cases {
            let message = obj(text).unwrap_err();
            assert!(message.contains(wanted), "{text:?}: {message}");
        }
        let long = format!("v {}\n", "9".repeat(100_000));
        assert!(obj(&long).unwrap_err().len() < 200);
    }

    /// Returns the bytes of a binary STL with these triangles and a header that claims `count`.
    fn binary_file(count: u32, triangles: usize) -> Vec<u8> {
        let mut bytes = b"solid, though binary".to_vec();
        bytes.resize(80, b' ');
        bytes.extend(count.to_le_bytes());
        for _ in 0..triangles {
            let numbers = [0.0f32, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
            bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
            bytes.extend([0, 0]);
        }
        bytes
    }

    const TEXT: &str = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n\
                        endloop\nendfacet\nendsolid a\n";

    #[test]
    fn both_kinds_of_stl_are_read() {
        let corners = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        assert_eq!(stl(&binary_file(1, 1)).unwrap(), (corners.clone(), vec![[0, 1, 2]]));
        assert_eq!(stl(TEXT.as_bytes()).unwrap(), (corners, vec![[0, 1, 2]]));
    }

    #[test]
    fn a_truncated_stl_is_reported() {
        let message = stl(&binary_file(3, 1)).unwrap_err();
        assert_eq!(message, "it is cut short: its 3 triangles take 234 bytes, and it has 134");
        let mut plain = binary_file(3, 1);
        plain[..5].copy_from_slice(b"plain");
        let message = stl(&plain).unwrap_err();
        assert_eq!(message, "it is cut short: its 3 triangles take 234 bytes, and it has 134");
        plain[80..84].fill(0xff);
        assert!(stl(&plain).unwrap_err().contains("4294967295 triangles"));
        for cut in [0, 10, 83] {
            assert!(stl(&plain[..cut]).unwrap_err().contains("too few"), "{cut}");
        }
        assert!(stl(&TEXT.as_bytes()[..51]).unwrap_err().contains("cut short"));
    }
}
