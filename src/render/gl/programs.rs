//! The passes as linked programs.

use std::cell::OnceCell;
use std::rc::Rc;

use glium::Program;
use glium::backend::Context;
use glium::program::ProgramCreationInput;

use super::constants;
use crate::render::RenderError;

/// Files that passes include, by name.
const INCLUDES: [(&str, &str); 11] = [
    ("common.glsl", include_str!("../../../shaders/common.glsl")),
    ("colormap.glsl", include_str!("../../../shaders/colormap.glsl")),
    ("glossy.glsl", include_str!("../../../shaders/glossy.glsl")),
    ("irradiance.glsl", include_str!("../../../shaders/irradiance.glsl")),
    ("lamp.glsl", include_str!("../../../shaders/lamp.glsl")),
    ("light.glsl", include_str!("../../../shaders/light.glsl")),
    ("medium.glsl", include_str!("../../../shaders/medium.glsl")),
    ("t_max.glsl", include_str!("../../../shaders/t_max.glsl")),
    ("spline.glsl", include_str!("../../../shaders/spline.glsl")),
    ("solid.glsl", include_str!("../../../shaders/solid.glsl")),
    ("tone.glsl", include_str!("../../../shaders/tone.glsl")),
];

const MARCH: &str = include_str!("../../../shaders/march.frag");
const SCREEN: &str = include_str!("../../../shaders/screen.vert");

/// One program per pass, in the order of execution.
pub(super) struct Programs {
    scene: [OnceCell<Program>; 8],
    pub line: Program,
    march: [OnceCell<Program>; 8],
    pub field: Program,
    pub slice: Program,
    pub composite: Program,
    pub smooth: Program,
    pub overlay: Program,
    pub cursor: Program,
    pub present: Program,
}

impl Programs {
    pub fn new(gl: &Rc<Context>) -> Result<Self, RenderError> {
        let screen = |name, fragment| link(gl, name, SCREEN, fragment, &[]);
        Ok(Self {
            scene: Default::default(),
            line: link(
                gl,
                "line",
                include_str!("../../../shaders/line.vert"),
                include_str!("../../../shaders/line.frag"),
                &[],
            )?,
            march: Default::default(),
            field: screen("field", include_str!("../../../shaders/field.frag"))?,
            slice: screen("slice", include_str!("../../../shaders/slice.frag"))?,
            composite: screen("composite", include_str!("../../../shaders/composite.frag"))?,
            smooth: screen("composite", include_str!("../../../shaders/smooth.frag"))?,
            overlay: screen("overlay", include_str!("../../../shaders/overlay.frag"))?,
            cursor: screen("cursor", include_str!("../../../shaders/cursor.frag"))?,
            present: screen("present", include_str!("../../../shaders/present.frag"))?,
        })
    }
}

impl Programs {
    /// Returns the scene pass, with or without solids, further lights and splines: on a CPU driver even an
    /// empty loop takes time.
    pub fn scene(
        &self,
        gl: &Rc<Context>,
        [solids, lamps, splines]: [bool; 3],
    ) -> Result<&Program, RenderError> {
        let source = include_str!("../../../shaders/scene.frag");
        let with = [("SOLIDS", solids), ("LAMPS", lamps), ("SPLINES", splines)];
        variant(gl, &self.scene, ("scene", source), &with)
    }

    /// Returns the march, with or without emission, splines, and light shared by the halves of a step.
    pub fn march(
        &self,
        gl: &Rc<Context>,
        [glow, splines, halves]: [bool; 3],
    ) -> Result<&Program, RenderError> {
        let with = [("GLOW", glow), ("SPLINES", splines), ("HALVES", halves)];
        variant(gl, &self.march, ("march", MARCH), &with)
    }
}

/// Returns the program of a fragment shader with the selected names defined; linked on first use.
fn variant<'p>(
    gl: &Rc<Context>,
    linked: &'p [OnceCell<Program>],
    (name, source): (&'static str, &str),
    with: &[(&'static str, bool)],
) -> Result<&'p Program, RenderError> {
    let number: usize = with.iter().enumerate().map(|(n, (_, on))| usize::from(*on) << n).sum();
    let place = &linked[number];
    if let Some(program) = place.get() {
        return Ok(program);
    }
    let defines: Vec<&str> = with.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    let program = link(gl, name, SCREEN, source, &defines)?;
    Ok(place.get_or_init(|| program))
}

fn link(
    gl: &Rc<Context>,
    name: &'static str,
    vertex: &str,
    fragment: &str,
    defines: &[&str],
) -> Result<Program, RenderError> {
    let (vertex, fragment) = (expand(vertex, &[]), expand(fragment, defines));
    let source = ProgramCreationInput::SourceCode {
        vertex_shader: &vertex,
        fragment_shader: &fragment,
        geometry_shader: None,
        tessellation_control_shader: None,
        tessellation_evaluation_shader: None,
        transform_feedback_varyings: None,
        // The present pass encodes the bytes; glium must not encode them again.
        outputs_srgb: true,
        uses_point_size: false,
    };
    Program::new(gl, source).map_err(|e| RenderError::Gl(name, e.to_string()))
}

/// Replaces each line `#include "name"` by that file, and declares names and [constants] after the version line.
fn expand(source: &str, defines: &[&str]) -> String {
    let mut out = String::with_capacity(source.len());
    for (n, line) in source.lines().enumerate() {
        if n == 1 {
            defines.iter().for_each(|name| out.push_str(&format!("#define {name}\n")));
            out.push_str(&constants::declarations());
        }
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
        let text = expand("#version 330\n#include \"tone.glsl\"\nvoid main() {}", &["GLOW"]);
        assert!(
            text.starts_with("#version 330\n#define GLOW\nconst ")
                && text.contains("vec3 tone(")
                && text.ends_with("{}\n")
        );
    }
}
