//! Metadata: values with a name and a type.

/// A value in the metadata of a file or a grid.
#[derive(Clone, Debug, PartialEq)]
pub enum Meta {
    /// Text.
    String(String),
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i32),
    /// A large whole number.
    Long(i64),
    /// A number in single precision.
    Float(f32),
    /// A number in double precision.
    Double(f64),
    /// Three whole numbers.
    Vec3i([i32; 3]),
}

impl From<&str> for Meta {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl Meta {
    /// Returns the name of its type in the format.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::String(_) => "string",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int32",
            Self::Long(_) => "int64",
            Self::Float(_) => "float",
            Self::Double(_) => "double",
            Self::Vec3i(_) => "vec3i",
        }
    }

    /// Returns its bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::String(text) => text.as_bytes().to_vec(),
            Self::Bool(is) => vec![u8::from(*is)],
            Self::Int(n) => n.to_le_bytes().to_vec(),
            Self::Long(n) => n.to_le_bytes().to_vec(),
            Self::Float(x) => x.to_le_bytes().to_vec(),
            Self::Double(x) => x.to_le_bytes().to_vec(),
            Self::Vec3i(n) => n.iter().flat_map(|n| n.to_le_bytes()).collect(),
        }
    }

    /// Parses `bytes` as a value of type `kind`. None for unknown types and wrong lengths.
    pub(super) fn parse(kind: &str, bytes: &[u8]) -> Option<Self> {
        Some(match kind {
            "string" => Self::String(String::from_utf8_lossy(bytes).into_owned()),
            "bool" => Self::Bool(*bytes.first()? != 0),
            "int32" => Self::Int(i32::from_le_bytes(bytes.try_into().ok()?)),
            "int64" => Self::Long(i64::from_le_bytes(bytes.try_into().ok()?)),
            "float" => Self::Float(f32::from_le_bytes(bytes.try_into().ok()?)),
            "double" => Self::Double(f64::from_le_bytes(bytes.try_into().ok()?)),
            "vec3i" => {
                let bytes: &[u8; 12] = bytes.try_into().ok()?;
                let part = |n: usize| i32::from_le_bytes(std::array::from_fn(|b| bytes[4 * n + b]));
                Self::Vec3i([part(0), part(1), part(2)])
            }
            _ => return None,
        })
    }
}
