//! From the text of a scene to its document.

use serde::Deserialize;
use serde::de::value::StrDeserializer;
use toml::de::Deserializer;

use super::document::{Document, SolidShape};
use super::given::{Given, check_counts, check_ranges};
use super::scene_error::Problem;
use super::scene_text::Text;
use super::shapes::Shape;

/// Reads the parameters that have a field, and the rest as a document, with overrides applied.
///
/// # Errors
/// Invalid TOML, an unknown key, a value of another type, or a number outside the hard range of its key.
pub fn document(text: &Text) -> Result<(Document, Given), Box<Problem>> {
    let padded = text.padded_parts();
    let mut root = text.root(&padded)?;
    let problem = |(span, message)| text.problem(span, message);
    check_counts(root.get_ref()).map_err(problem)?;
    check_ranges(root.get_ref()).map_err(problem)?;
    let given = Given::take(root.get_mut()).map_err(problem)?;
    let document = Document::deserialize(Deserializer::from(root.clone()));
    Ok((document.map_err(|e| text.explain(&e, root.get_ref(), kinds_at))?, given))
}

/// The shapes among which the table at `key` chooses one; empty for other keys.
fn kinds_at(key: &str) -> Vec<String> {
    match key.rsplit('.').next() {
        Some("shape") if key.starts_with("solid.") => kinds::<SolidShape>(),
        Some("shape") => kinds::<Shape>(),
        _ => vec![],
    }
}

/// Names of the variants of an enum, as serde lists them in its refusal of another name.
fn kinds<'de, T: Deserialize<'de>>() -> Vec<String> {
    let refusal = T::deserialize(StrDeserializer::<serde::de::value::Error>::new("?")).err();
    let text = refusal.map(|error| error.to_string()).unwrap_or_default();
    text.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}
