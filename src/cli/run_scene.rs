//! `scene.toml` in the folder of a run. Its first line marks a run through the flow of another one.

use std::path::Path;

use crate::foreign;
use crate::scene::{Scene, SceneError};

/// First line of the scene of a run of `updraft detail`.
const GIVEN_FLOW: &str = "# Smoke in the flow of another run, by `updraft detail`\n";

/// Returns whether the smoke of a run moved through the flow of another, by the first line of its scene at
/// `path`.
pub fn has_given_flow(path: &Path) -> bool {
    foreign::text(path, foreign::TEXT).is_ok_and(|text| text.starts_with(GIVEN_FLOW))
}

/// Returns the names of the probes of the scene at `path`, also of a scene that this program would refuse.
pub fn probes(path: &Path) -> Vec<String> {
    let text = foreign::text(path, foreign::TEXT).unwrap_or_default();
    let Ok(table) = text.parse::<toml::Table>() else { return Vec::new() };
    let probes = table.get("probe").and_then(toml::Value::as_array).into_iter().flatten();
    let is_plain = |name: &&str| !name.contains(['/', '\\']);
    probes.filter_map(|probe| probe.get("name")?.as_str()).filter(is_plain).map(str::to_owned).collect()
}

/// Returns the text of `scene.toml` for a run of `scene`; `has_given_flow` if it moves through the flow of
/// another run.
pub fn text(scene: &Scene, has_given_flow: bool) -> Result<String, SceneError> {
    let text = scene.text()?;
    let text = text.strip_prefix(GIVEN_FLOW).unwrap_or(&text);
    Ok(if has_given_flow { [GIVEN_FLOW, text].concat() } else { text.to_owned() })
}
