//! Reading the document from the text of a scene.

use serde::Deserialize;
use toml::de::Deserializer;

use super::document::Document;
use super::field_values::{FieldValues, check_counts, check_ranges};
use super::scene_error::Problem;
use super::scene_text::Text;
use crate::parameter::{self, Kind};

/// Reads the parameters that have a field, and the rest as a document, with overrides applied.
///
/// # Errors
/// Invalid TOML, an unknown key, a value of another type, or a number outside the hard range of its key.
pub fn document(text: &Text) -> Result<(Document, FieldValues), Box<Problem>> {
    let padded = text.padded_parts();
    let mut root = text.root(&padded)?;
    let problem = |(span, message)| text.problem(span, message);
    check_counts(root.get_ref()).map_err(problem)?;
    check_ranges(root.get_ref()).map_err(problem)?;
    let values = FieldValues::take(root.get_mut()).map_err(problem)?;
    let document = Document::deserialize(Deserializer::from(root.clone()));
    Ok((document.map_err(|e| text.explain(&e, root.get_ref(), kinds_at))?, values))
}

/// Returns the keys of which the table at `key` must have one; empty for other keys.
fn kinds_at(key: &str) -> Vec<&'static str> {
    let path = parameter::declared_path(&key.split('.').collect::<Vec<_>>());
    match parameter::find(&path).map(|parameter| parameter.kind) {
        Some(kind @ Kind::Table(_)) => kind.words().map(|(word, _)| word).collect(),
        _ => vec![],
    }
}
