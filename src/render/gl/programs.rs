//! The passes as linked programs.

use std::rc::Rc;

use glium::Program;
use glium::backend::Context;
use glium::program::ProgramCreationInput;

use crate::render::RenderError;

/// Files that passes include, by name.
const INCLUDES: [(&str, &str); 5] = [
    ("common.glsl", include_str!("../../../shaders/common.glsl")),
    ("colormap.glsl", include_str!("../../../shaders/colormap.glsl")),
    ("light.glsl", include_str!("../../../shaders/light.glsl")),
    ("medium.glsl", include_str!("../../../shaders/medium.glsl")),
    ("tone.glsl", include_str!("../../../shaders/tone.glsl")),
];

const SCREEN: &str = include_str!("../../../shaders/screen.vert");

/// One program a pass, in the order they run.
pub(super) struct Programs {
    pub scene: Program,
    pub line: Program,
    pub march: Program,
    pub field: Program,
    pub composite: Program,
    pub overlay: Program,
    pub cursor: Program,
    pub present: Program,
}

impl Programs {
    pub fn new(gl: &Rc<Context>) -> Result<Self, RenderError> {
        let screen = |name, fragment| link(gl, name, SCREEN, fragment);
        Ok(Self {
            scene: screen("scene", include_str!("../../../shaders/scene.frag"))?,
            line: link(
                gl,
                "line",
                include_str!("../../../shaders/line.vert"),
                include_str!("../../../shaders/line.frag"),
            )?,
            march: screen("march", include_str!("../../../shaders/march.frag"))?,
            field: screen("field", include_str!("../../../shaders/field.frag"))?,
            composite: screen("composite", include_str!("../../../shaders/composite.frag"))?,
            overlay: screen("overlay", include_str!("../../../shaders/overlay.frag"))?,
            cursor: screen("cursor", include_str!("../../../shaders/cursor.frag"))?,
            present: screen("present", include_str!("../../../shaders/present.frag"))?,
        })
    }
}

fn link(gl: &Rc<Context>, name: &'static str, vertex: &str, fragment: &str) -> Result<Program, RenderError> {
    let (vertex, fragment) = (expand(vertex), expand(fragment));
    let source = ProgramCreationInput::SourceCode {
        vertex_shader: &vertex,
        fragment_shader: &fragment,
        geometry_shader: None,
        tessellation_control_shader: None,
        tessellation_evaluation_shader: None,
        transform_feedback_varyings: None,
        // Bytes are encoded by the present pass; glium must not encode them again.
        outputs_srgb: true,
        uses_point_size: false,
    };
    Program::new(gl, source).map_err(|e| RenderError::Gl(name, e.to_string()))
}

/// Replaces each line `#include "name"` by that file.
fn expand(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for line in source.lines() {
        match line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"')) {
            Some(name) => out.push_str(included(name)),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

fn included(name: &str) -> &'static str {
    let found = INCLUDES.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no shader file {name} to include")).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_put_in_place() {
        let text = expand("#version 330\n#include \"tone.glsl\"\nvoid main() {}");
        assert!(
            text.starts_with("#version 330\n//") && text.contains("vec3 tone(") && text.ends_with("{}\n")
        );
    }
}
