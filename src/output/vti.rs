//! Writes VTK images (`.vti`) and the list of a time series (`.pvd`), for ParaView.

use std::io::{self, Write};

/// An array at the cell centres.
pub struct Array<'a> {
    /// Name in the file.
    pub name: &'a str,
    /// Components: 1, or 3 for a vector.
    pub components: usize,
}

/// Writes an image of `cells` of width `h` with its lower corner at `corner`, at the instant `time` \[s\]. Single
/// floats follow the XML as raw bytes: `fill` passes on the values of the array with a number, x fastest, in pieces of any length.
///
/// # Errors
/// Those of `file` and of `fill`, and [`InvalidInput`](io::ErrorKind::InvalidInput) for arrays that `fill` gives too few or too many
/// values, or that are too large; `file` is no image then.
pub fn write(
    mut file: impl Write,
    (cells, h, corner): ([usize; 3], f64, [f64; 3]),
    time: f64,
    arrays: &[Array],
    mut fill: impl FnMut(usize, &mut dyn FnMut(&[f32]) -> io::Result<()>) -> io::Result<()>,
) -> io::Result<()> {
    let ([nx, ny, nz], [x, y, z]) = (cells, corner);
    let extent = format!("0 {nx} 0 {ny} 0 {nz}");
    let first = |components: usize| arrays.iter().find(|array| array.components == components);
    let attribute = |what: &str, components: usize| {
        first(components).map(|array| format!(" {what}=\"{}\"", array.name)).unwrap_or_default()
    };
    writeln!(file, "<?xml version=\"1.0\"?>")?;
    writeln!(
        file,
        "<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">"
    )?;
    writeln!(file, "<ImageData WholeExtent=\"{extent}\" Origin=\"{x} {y} {z}\" Spacing=\"{h} {h} {h}\">")?;
    writeln!(
        file,
        "<FieldData><DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">{time:?}\
         </DataArray></FieldData>"
    )?;
    writeln!(file, "<Piece Extent=\"{extent}\">")?;
    writeln!(file, "<CellData{}{}>", attribute("Scalars", 1), attribute("Vectors", 3))?;
    let wanted = |array: &Array| nx.checked_mul(ny)?.checked_mul(nz)?.checked_mul(array.components);
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
    let limit = usize::MAX / size_of::<f32>() / arrays.len().max(1);
    if let Some(array) = arrays.iter().find(|array| wanted(array).is_none_or(|values| values >= limit)) {
        return Err(invalid(format!("`{}` of {cells:?} cells is too large; give fewer cells", array.name)));
    }
    let bytes = |array: &Array| (nx * ny * nz * array.components * size_of::<f32>()) as u64;
    let mut offset = 0;
    for array in arrays {
        writeln!(
            file,
            "<DataArray type=\"Float32\" Name=\"{}\" NumberOfComponents=\"{}\" format=\"appended\" offset=\"{offset}\"/>",
            array.name, array.components
        )?;
        offset += bytes(array) + size_of::<u64>() as u64;
    }
    write!(file, "</CellData>\n</Piece>\n</ImageData>\n<AppendedData encoding=\"raw\">\n_")?;
    let mut raw = Vec::new();
    for (n, array) in arrays.iter().enumerate() {
        file.write_all(&bytes(array).to_le_bytes())?;
        let mut count = 0;
        fill(n, &mut |values| {
            count += values.len();
            raw.clear();
            raw.extend(values.iter().flat_map(|x| x.to_le_bytes()));
            file.write_all(&raw)
        })?;
        if Some(count) != wanted(array) {
            let (name, components) = (array.name, array.components);
            return Err(invalid(format!(
                "`{name}` has {count} values; {cells:?} cells with {components} each need {}",
                nx * ny * nz * components
            )));
        }
    }
    writeln!(file, "\n</AppendedData>\n</VTKFile>")
}

/// Writes the list of a time series: an instant \[s\] and a file name for each frame.
pub fn write_series(mut file: impl Write, frames: impl IntoIterator<Item = (f64, String)>) -> io::Result<()> {
    writeln!(file, "<?xml version=\"1.0\"?>")?;
    writeln!(
        file,
        "<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n<Collection>"
    )?;
    for (time, name) in frames {
        writeln!(file, "<DataSet timestep=\"{time}\" part=\"0\" file=\"{name}\"/>")?;
    }
    writeln!(file, "</Collection>\n</VTKFile>")
}
