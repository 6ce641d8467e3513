//! Lines on the graphics card: two triangles each, widened by `line.vert`.

use std::rc::Rc;

use glium::backend::Context;
use glium::index::PrimitiveType;
use glium::{IndexBuffer, VertexBuffer, implement_vertex};

use super::refused;
use crate::render::RenderError;
use crate::render::lines::Line;

#[derive(Clone, Copy)]
pub(super) struct Vertex {
    position: [f32; 3],
    other: [f32; 3],
    side: f32,
    edge: f32,
    tint: [f32; 4],
}

implement_vertex!(Vertex, position, other, side, edge, tint);

/// Lines to render.
pub(super) struct LineMesh {
    pub vertices: VertexBuffer<Vertex>,
    pub indices: IndexBuffer<u32>,
}

impl LineMesh {
    pub fn new(gl: &Rc<Context>, lines: &[Line]) -> Result<Self, RenderError> {
        let corners: Vec<Vertex> = lines.iter().flat_map(vertices).collect();
        let indices: Vec<u32> =
            (0..lines.len() as u32).flat_map(|n| [0, 1, 2, 2, 1, 3].map(|corner| 4 * n + corner)).collect();
        Ok(Self {
            vertices: VertexBuffer::new(gl, &corners).map_err(|e| refused("a vertex buffer", e))?,
            indices: IndexBuffer::new(gl, PrimitiveType::TrianglesList, &indices)
                .map_err(|e| refused("an index buffer", e))?,
        })
    }
}

fn vertices(line: &Line) -> [Vertex; 4] {
    let vertex = |end: usize, side: f32| Vertex {
        position: line.ends[end],
        other: line.ends[1 - end],
        side,
        // From the other end left and right are swapped.
        edge: if end == 0 { side } else { -side },
        tint: line.tints[end],
    };
    [vertex(0, -1.0), vertex(0, 1.0), vertex(1, 1.0), vertex(1, -1.0)]
}
