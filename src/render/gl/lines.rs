//! Lines of constant width on the screen: the edges of the domain, arrows.

use std::rc::Rc;

use glium::backend::Context;
use glium::index::PrimitiveType;
use glium::{IndexBuffer, VertexBuffer, implement_vertex};

use crate::render::RenderError;

#[derive(Clone, Copy)]
pub(super) struct Vertex {
    position: [f32; 3],
    other: [f32; 3],
    side: f32,
    tint: [f32; 4],
}

implement_vertex!(Vertex, position, other, side, tint);

/// A straight line between two points, in a linear colour with alpha at each end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    pub ends: [[f32; 3]; 2],
    pub tints: [[f32; 4]; 2],
}

impl Line {
    pub fn plain(a: [f32; 3], b: [f32; 3], tint: [f32; 4]) -> Self {
        Self { ends: [a, b], tints: [tint; 2] }
    }

    fn vertices(&self) -> [Vertex; 4] {
        let vertex = |end: usize, side: f32| Vertex {
            position: self.ends[end],
            other: self.ends[1 - end],
            side,
            tint: self.tints[end],
        };
        // Seen from the other end, left and right are swapped.
        [vertex(0, -1.0), vertex(0, 1.0), vertex(1, 1.0), vertex(1, -1.0)]
    }
}

/// Lines on the graphics card.
pub(super) struct LineMesh {
    pub vertices: VertexBuffer<Vertex>,
    pub indices: IndexBuffer<u32>,
}

impl LineMesh {
    pub fn new(gl: &Rc<Context>, lines: &[Line]) -> Result<Self, RenderError> {
        let vertices: Vec<Vertex> = lines.iter().flat_map(Line::vertices).collect();
        let indices: Vec<u32> =
            (0..lines.len() as u32).flat_map(|n| [0, 1, 2, 2, 1, 3].map(|corner| 4 * n + corner)).collect();
        Ok(Self {
            vertices: VertexBuffer::new(gl, &vertices)
                .map_err(|e| RenderError::Gl("a vertex buffer", e.to_string()))?,
            indices: IndexBuffer::new(gl, PrimitiveType::TrianglesList, &indices)
                .map_err(|e| RenderError::Gl("an index buffer", e.to_string()))?,
        })
    }
}

/// The edges of the box, those behind the smoke as seen from `eye` and those before it.
pub(super) fn box_edges(extent: [f32; 3], eye: [f32; 3], tint: [f32; 4]) -> [Vec<Line>; 2] {
    let corner = |n: usize| std::array::from_fn(|a| if n >> a & 1 == 1 { extent[a] } else { 0.0 });
    let mut edges = [Vec::new(), Vec::new()];
    for axis in 0..3 {
        for n in (0..8).filter(|n| n >> axis & 1 == 0) {
            // An edge belongs to two faces; it is before the smoke if the eye sees one of them from outside.
            let seen = (0..3)
                .filter(|&a| a != axis)
                .any(|a| if n >> a & 1 == 1 { eye[a] > extent[a] } else { eye[a] < 0.0 });
            edges[usize::from(seen)].push(Line::plain(corner(n), corner(n | 1 << axis), tint));
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_edges_of_a_box_face_an_eye_off_a_corner() {
        let [behind, before] = box_edges([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [1.0; 4]);
        assert_eq!((behind.len(), before.len()), (3, 9));
        assert!(behind.iter().all(|line| line.ends[0] == [0.0; 3] || line.ends[1] == [0.0; 3]));
        let [behind, before] = box_edges([1.0; 3], [0.5; 3], [1.0; 4]);
        assert_eq!((behind.len(), before.len()), (12, 0));
    }
}
