//! The constants of the shaders, written as GLSL, so that each number is declared once, in Rust.

use std::fmt::Write;

use crate::look::srgb;
use crate::render::cpu::{FEW_WEIGHTS, LEAST};
use crate::render::{
    camera, colormap, cursor, distance, glossy, irradiance, lamp, lines, medium, noise, scene, slice, tone,
};

/// Declares all constants that shaders share with the processor's renderer.
pub(super) fn declarations() -> String {
    let mut all = Declarations(String::new());
    all.number("LEAST", LEAST);
    all.number("FEW_WEIGHTS", FEW_WEIGHTS);
    all.whole("NOISE_MASK", noise::TILE - 1);
    all.number("PI", std::f32::consts::PI);
    all.number("FAR", camera::FAR);
    all.vector("FLOOR_ENDS", scene::FLOOR_ENDS);
    all.number("COAT_FADES", glossy::FADES);
    all.number("COAT_NORMAL", glossy::NORMAL);
    all.number("COAT_LEAST", glossy::LEAST);
    all.vectors("COLORMAP", &transposed(&colormap::COEFFICIENTS));
    all.number("COLORMAP_GAMMA", colormap::GAMMA);
    all.vector("WIEN", medium::WIEN);
    all.vector("AT_2000_K", medium::AT_2000_K);
    all.whole("MESH_STEPS", distance::STEPS);
    all.whole("SHADOWS", lamp::SHADOWS);
    all.number("POINT_SUN", lamp::POINT_SUN);
    all.number("POINT_BALL", lamp::POINT_BALL);
    all.number("POINT_AREA", lamp::POINT_AREA);
    all.number("NARROW_CONE", irradiance::NARROW);
    all.number("MESH_NEAR", distance::NEAR);
    all.number("MESH_STEP", distance::STEP);
    all.number("LINE_NEAR", lines::NEAR);
    all.number("LINE_AHEAD", lines::AHEAD);
    all.vector("SLICE_COVER", slice::COVER);
    all.vector("BALL_ALPHA", cursor::BALL_ALPHA);
    all.vector("BALL_GLINT", cursor::BALL_GLINT);
    all.vector("BALL_POWERS", cursor::BALL_POWERS.map(|n| n as f32));
    all.number("BALL_LEAST", cursor::BALL_LEAST);
    all.number("RING_WIDTH", cursor::RING_WIDTH);
    all.number("RING_PARALLEL", cursor::RING_PARALLEL);
    all.number("RING_ALPHA", cursor::RING_ALPHA);
    all.number("RING_BEHIND", cursor::RING_BEHIND);
    all.vector("LUMINANCE", srgb::LUMINANCE);
    all.vector("STOPS", tone::STOPS);
    all.number("SATURATION", tone::SATURATION);
    all.numbers("CURVE", &tone::CURVE);
    all.matrix("INSET", tone::INSET);
    all.matrix("OUTSET", tone::OUTSET);
    all.matrix("FILM", tone::FILM);
    all.matrix("SCREEN", tone::SCREEN);
    all.number("FILM_SCALE", tone::FILM_SCALE);
    all.vector("FILM_OVER", tone::FILM_OVER);
    all.vector("FILM_UNDER", tone::FILM_UNDER);
    all.number("MOST_RADIANCE", tone::MOST_RADIANCE);
    all.0
}

struct Declarations(String);

impl Declarations {
    fn declare(&mut self, kind: &str, name: &str, value: &str) {
        writeln!(self.0, "const {kind} {name} = {value};").expect("room for a line");
    }

    fn whole(&mut self, name: &str, value: usize) {
        self.declare("int", name, &value.to_string());
    }

    fn number(&mut self, name: &str, value: f32) {
        self.declare("float", name, &format!("{value:?}"));
    }

    fn vector<const N: usize>(&mut self, name: &str, value: [f32; N]) {
        self.declare(&format!("vec{N}"), name, &of_type(&format!("vec{N}"), &value));
    }

    fn numbers(&mut self, name: &str, values: &[f32]) {
        let kind = format!("float[{}]", values.len());
        self.declare(&kind, name, &of_type(&kind, values));
    }

    fn vectors(&mut self, name: &str, values: &[[f32; 3]]) {
        let kind = format!("vec3[{}]", values.len());
        let all: Vec<String> = values.iter().map(|value| of_type("vec3", value)).collect();
        self.declare(&kind, name, &format!("{kind}({})", all.join(", ")));
    }

    /// Declares a matrix given by rows.
    fn matrix(&mut self, name: &str, rows: [[f32; 3]; 3]) {
        self.declare("mat3", name, &of_type("mat3", transposed(&rows).as_flattened()));
    }
}

fn of_type(kind: &str, values: &[f32]) -> String {
    let all: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("{kind}({})", all.join(", "))
}

fn transposed<const N: usize>(rows: &[[f32; N]; 3]) -> [[f32; 3]; N] {
    std::array::from_fn(|n| rows.map(|row| row[n]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_written_by_columns_and_floats_exactly() {
        let mut all = Declarations(String::new());
        all.matrix("M", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 0.1]]);
        all.numbers("N", &[1e-10, 1e6]);
        assert_eq!(
            all.0,
            "const mat3 M = mat3(1.0, 4.0, 7.0, 2.0, 5.0, 8.0, 3.0, 6.0, 0.1);\n\
             const float[2] N = float[2](1e-10, 1000000.0);\n"
        );
    }

    #[test]
    fn every_constant_is_used_by_a_shader() {
        let shaders = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
        let files = std::fs::read_dir(shaders).unwrap().map(|file| file.unwrap().path());
        let text: String = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
        let declarations = declarations();
        let names = declarations.lines().map(|line| line.split(' ').nth(2).unwrap());
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let unused: Vec<&str> = names.filter(|name| !words.contains(name)).collect();
        assert!(unused.is_empty(), "{unused:?}");
        assert!(!text.contains("const float "), "a shader declares a constant that Rust should declare");
    }
}
