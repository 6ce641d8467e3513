//! Closed triangle meshes: reading, checking, and their signed distance.
//!
//! The distance is that of the nearest triangle, found in a tree of boxes. A point is inside if the surface
//! winds around it: a ray from it leaves the surface more often than it enters, or less often if the
//! triangles face inwards. Overlapping parts thus form one body, and a part that faces inwards is a hollow.
//! Three rays vote, because one may graze an edge.

use std::collections::HashMap;

use thiserror::Error;

#[cfg(feature = "files")]
use crate::foreign;

#[cfg(feature = "files")]
mod mesh_files;

/// A mesh that cannot be a solid.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum MeshError {
    /// The file could not be read.
    #[error("cannot read the mesh {0}: {1}")]
    Unreadable(String, String),
    /// The file is neither OBJ nor STL.
    #[error("the mesh {0} is neither .obj nor .stl")]
    Unknown(String),
    /// The mesh has no triangles.
    #[error("the mesh has no triangles")]
    Empty,
    /// A vertex is not a finite number.
    #[error("vertex {0} of the mesh is not finite")]
    NotFinite(usize),
    /// A triangle names a vertex that does not exist.
    #[error("triangle {0} of the mesh has a vertex that does not exist")]
    NoVertex(usize),
    /// The mesh has holes, or triangles that face the wrong way.
    #[error(
        "the mesh is open: {open} of its edges are not shared by two triangles that face the same way; \
         close the holes (in Blender: Mesh > Clean Up > Fill Holes, then Recalculate Normals)"
    )]
    Open {
        /// Number of edges not shared by two triangles of the same orientation.
        open: usize,
    },
}

/// A closed surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    vertices: Vec<[f32; 3]>,
    /// Vertices of each triangle, in the order of the tree.
    triangles: Vec<[u32; 3]>,
    /// Nodes, root first; the children of a node are consecutive.
    nodes: Vec<Node>,
    /// Radius of the bounding ball around the origin \[m\].
    radius: f32,
}

/// A box of the tree: `count` triangles from `first` on, or, if `count` is 0, the two child nodes from
/// `first` on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Node {
    low: [f32; 3],
    high: [f32; 3],
    first: u32,
    count: u32,
}

/// Most triangles of a leaf.
const LEAF: usize = 4;

impl Mesh {
    /// Reads an OBJ or STL file, according to the ending of its name.
    ///
    /// # Errors
    /// If the file cannot be read, or holds no closed surface.
    #[cfg(feature = "files")]
    pub fn load(path: &std::path::Path) -> Result<Self, MeshError> {
        let name = path.display().to_string();
        let fail = |e: String| MeshError::Unreadable(name.clone(), e);
        let ending = path.extension().and_then(|e| e.to_str()).map(str::to_lowercase);
        match ending.as_deref() {
            Some("obj") => {
                let text = foreign::text(path, foreign::MESH).map_err(|e| fail(e.to_string()))?;
                Self::from_obj(&name, &text)
            }
            Some("stl") => {
                let bytes = foreign::read(path, foreign::MESH).map_err(|e| fail(e.to_string()))?;
                Self::from_stl(&name, &bytes)
            }
            _ => Err(MeshError::Unknown(name)),
        }
    }

    /// Reads the text of an OBJ file; errors call it `name`.
    ///
    /// # Errors
    /// If the text is no OBJ file, or holds no closed surface.
    #[cfg(feature = "files")]
    pub fn from_obj(name: &str, text: &str) -> Result<Self, MeshError> {
        let (vertices, triangles) =
            mesh_files::obj(text).map_err(|e| MeshError::Unreadable(name.into(), e))?;
        Self::new(vertices, triangles)
    }

    /// Reads the bytes of an STL file; errors call it `name`.
    ///
    /// # Errors
    /// If the bytes are no STL file, or hold no closed surface.
    #[cfg(feature = "files")]
    pub fn from_stl(name: &str, bytes: &[u8]) -> Result<Self, MeshError> {
        let (vertices, triangles) =
            mesh_files::stl(bytes).map_err(|e| MeshError::Unreadable(name.into(), e))?;
        Self::new(vertices, triangles)
    }

    /// Makes a mesh from vertices \[m\] and triangles, counter-clockwise seen from outside. Vertices at the
    /// same place are merged.
    ///
    /// # Errors
    /// If the surface is empty or not closed.
    pub fn new(vertices: Vec<[f32; 3]>, triangles: Vec<[u32; 3]>) -> Result<Self, MeshError> {
        if let Some(at) = vertices.iter().position(|v| v.iter().any(|x| !x.is_finite())) {
            return Err(MeshError::NotFinite(at));
        }
        if let Some(at) = triangles.iter().position(|t| t.iter().any(|&v| v as usize >= vertices.len())) {
            return Err(MeshError::NoVertex(at));
        }
        let (vertices, triangles) = weld(&vertices, &triangles);
        if triangles.is_empty() {
            return Err(MeshError::Empty);
        }
        match open_edges(&triangles) {
            0 => Ok(Self::with_tree(vertices, triangles)),
            open => Err(MeshError::Open { open }),
        }
    }

    fn with_tree(vertices: Vec<[f32; 3]>, triangles: Vec<[u32; 3]>) -> Self {
        let radius = vertices.iter().map(|v| dot(*v, *v)).fold(0.0, f32::max).sqrt();
        let mut mesh = Self { vertices, triangles, nodes: Vec::new(), radius };
        let count = mesh.triangles.len();
        mesh.nodes.push(mesh.leaf(0, count));
        mesh.split(0);
        mesh
    }

    fn leaf(&self, first: usize, count: usize) -> Node {
        let corners = self.triangles[first..first + count].iter().flat_map(|t| self.corners(*t));
        let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        for corner in corners {
            for axis in 0..3 {
                low[axis] = low[axis].min(corner[axis]);
                high[axis] = high[axis].max(corner[axis]);
            }
        }
        Node { low, high, first: first as u32, count: count as u32 }
    }

    /// Splits a node recursively at the median of its longest axis.
    fn split(&mut self, at: usize) {
        let Node { low, high, first, count } = self.nodes[at];
        let (first, count) = (first as usize, count as usize);
        if count <= LEAF {
            return;
        }
        let size = sub(high, low);
        let axis = (0..3).max_by(|&a, &b| size[a].total_cmp(&size[b])).unwrap_or(0);
        let vertices = &self.vertices;
        let middle = |t: &[u32; 3]| t.iter().map(|&v| vertices[v as usize][axis]).sum::<f32>();
        self.triangles[first..first + count]
            .select_nth_unstable_by(count / 2, |a, b| middle(a).total_cmp(&middle(b)));
        let children = self.nodes.len();
        let halves = [(first, count / 2), (first + count / 2, count - count / 2)];
        for (first, count) in halves {
            let leaf = self.leaf(first, count);
            self.nodes.push(leaf);
        }
        self.nodes[at] = Node { first: children as u32, count: 0, ..self.nodes[at] };
        self.split(children);
        self.split(children + 1);
    }

    fn corners(&self, triangle: [u32; 3]) -> [[f32; 3]; 3] {
        triangle.map(|v| self.vertices[v as usize])
    }

    /// Vertices \[m\].
    pub fn vertices(&self) -> &[[f32; 3]] {
        &self.vertices
    }

    /// Triangles: three vertices each, counter-clockwise seen from outside.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Radius of the bounding ball around the origin \[m\].
    pub fn bounding_radius(&self) -> f32 {
        self.radius
    }

    /// Lowest and highest coordinates \[m\].
    pub fn bounds(&self) -> [[f32; 3]; 2] {
        [self.nodes[0].low, self.nodes[0].high]
    }

    /// Signed distance of a point \[m\], negative inside.
    pub fn distance(&self, p: [f32; 3]) -> f32 {
        let distance = self.nearest(p).0.sqrt();
        if self.is_inside(p) { -distance } else { distance }
    }

    /// The point of the surface that is nearest to a point \[m\].
    pub fn closest(&self, p: [f32; 3]) -> [f32; 3] {
        self.nearest(p).1
    }

    /// Square of the distance from the nearest triangle \[m²\], and the point of it.
    fn nearest(&self, p: [f32; 3]) -> (f32, [f32; 3]) {
        let mut best = (f32::INFINITY, p);
        let mut stack = [0u32; 64];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let node = self.nodes[stack[depth] as usize];
            if node.squared_distance(p) >= best.0 {
                continue;
            }
            if node.count == 0 {
                let children = [node.first, node.first + 1];
                let [a, b] = children.map(|c| self.nodes[c as usize].squared_distance(p));
                let order = if a < b { [children[1], children[0]] } else { children };
                stack[depth..depth + 2].copy_from_slice(&order);
                depth += 2;
            } else {
                for &t in &self.triangles[node.first as usize..][..node.count as usize] {
                    let at = closest(p, self.corners(t));
                    let d = sub(p, at);
                    if dot(d, d) < best.0 {
                        best = (dot(d, d), at);
                    }
                }
            }
        }
        best
    }

    fn is_inside(&self, p: [f32; 3]) -> bool {
        let root = self.nodes[0];
        if (0..3).any(|a| p[a] < root.low[a] || p[a] > root.high[a]) {
            return false;
        }
        // Directions that no mesh's edges have.
        let rays = [[1.0, 0.0131, 0.0273], [0.0197, 1.0, 0.0113], [0.0157, 0.0239, 1.0]];
        rays.iter().filter(|ray| self.winding(p, **ray) != 0).count() >= 2
    }

    /// Number of triangles through which a ray leaves the mesh, less those through which it enters.
    fn winding(&self, p: [f32; 3], ray: [f32; 3]) -> i32 {
        let inverse = ray.map(|x| 1.0 / x);
        let mut stack = [0u32; 64];
        let (mut depth, mut count) = (1, 0);
        while depth > 0 {
            depth -= 1;
            let node = self.nodes[stack[depth] as usize];
            if !node.is_hit(p, inverse) {
                continue;
            }
            if node.count == 0 {
                stack[depth..depth + 2].copy_from_slice(&[node.first, node.first + 1]);
                depth += 2;
            } else {
                let triangles = &self.triangles[node.first as usize..][..node.count as usize];
                count += triangles.iter().map(|t| crossing(p, ray, self.corners(*t))).sum::<i32>();
            }
        }
        count
    }
}

impl Node {
    fn squared_distance(&self, p: [f32; 3]) -> f32 {
        (0..3).map(|a| (self.low[a] - p[a]).max(p[a] - self.high[a]).max(0.0).powi(2)).sum()
    }

    fn is_hit(&self, p: [f32; 3], inverse: [f32; 3]) -> bool {
        let (mut enter, mut leave) = (0.0f32, f32::INFINITY);
        for a in 0..3 {
            let (t0, t1) = ((self.low[a] - p[a]) * inverse[a], (self.high[a] - p[a]) * inverse[a]);
            enter = enter.max(t0.min(t1));
            leave = leave.min(t0.max(t1));
        }
        // A little slack: rounding must not lose a flat box.
        enter <= leave * (1.0 + 1e-5)
    }
}

/// Merges vertices at the same place. Drops triangles that thereby lose their area.
fn weld(vertices: &[[f32; 3]], triangles: &[[u32; 3]]) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let mut numbers = HashMap::new();
    let mut kept = Vec::new();
    let number = vertices.iter().map(|v| {
        // −0 and 0 are the same place.
        let key = v.map(|x| (x + 0.0).to_bits());
        *numbers.entry(key).or_insert_with(|| {
            kept.push(*v);
            kept.len() as u32 - 1
        })
    });
    let number: Vec<u32> = number.collect();
    let welded = triangles.iter().map(|t| t.map(|v| number[v as usize]));
    let whole = welded.filter(|[a, b, c]| a != b && b != c && c != a).collect();
    (kept, whole)
}

/// Counts the edges not used equally often in both directions.
fn open_edges(triangles: &[[u32; 3]]) -> usize {
    let mut walked: HashMap<[u32; 2], [u32; 2]> = HashMap::new();
    for &[a, b, c] in triangles {
        for [from, to] in [[a, b], [b, c], [c, a]] {
            walked.entry([from.min(to), from.max(to)]).or_default()[usize::from(from > to)] += 1;
        }
    }
    walked.values().filter(|[there, back]| there != back).count()
}

fn sub(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The point of a triangle nearest to p (Ericson, "Real-Time Collision Detection", 5.1.5).
fn closest(p: [f32; 3], [a, b, c]: [[f32; 3]; 3]) -> [f32; 3] {
    let along = |from: [f32; 3], by: [f32; 3], t: f32| [0, 1, 2].map(|i| from[i] + t * by[i]);
    let (ab, ac, ap) = (sub(b, a), sub(c, a), sub(p, a));
    let (d1, d2) = (dot(ab, ap), dot(ac, ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return a;
    }
    let bp = sub(p, b);
    let (d3, d4) = (dot(ab, bp), dot(ac, bp));
    if d3 >= 0.0 && d4 <= d3 {
        return b;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return along(a, ab, d1 / (d1 - d3));
    }
    let cp = sub(p, c);
    let (d5, d6) = (dot(ab, cp), dot(ac, cp));
    if d6 >= 0.0 && d5 <= d6 {
        return c;
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return along(a, ac, d2 / (d2 - d6));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        return along(b, sub(c, b), (d4 - d3) / ((d4 - d3) + (d5 - d6)));
    }
    let scale = 1.0 / (va + vb + vc);
    along(along(a, ab, vb * scale), ac, vc * scale)
}

/// 1 if a ray crosses a triangle from back to front, −1 from front to back, 0 if it misses it (Möller &
/// Trumbore 1997), in double precision.
fn crossing(p: [f32; 3], ray: [f32; 3], triangle: [[f32; 3]; 3]) -> i32 {
    let wide = |v: [f32; 3]| v.map(f64::from);
    let less = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let (p, ray, [a, b, c]) = (wide(p), wide(ray), triangle.map(wide));
    let (ab, ac) = (less(b, a), less(c, a));
    let normal = cross(ray, ac);
    let area = dot(ab, normal);
    if area == 0.0 {
        return 0;
    }
    let from = less(p, a);
    let u = dot(from, normal) / area;
    let q = cross(from, ab);
    let v = dot(ray, q) / area;
    let hits = u >= 0.0 && v >= 0.0 && u + v <= 1.0 && dot(ac, q) / area > 0.0;
    match (hits, area < 0.0) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => -1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube() -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
        let vertices = (0..8).map(|v| [v & 1, v >> 1 & 1, v >> 2].map(|x| x as f32 - 0.5)).collect();
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
        (vertices, triangles)
    }

    #[test]
    fn a_cube_has_the_distance_of_a_box() {
        let (vertices, triangles) = cube();
        let mesh = Mesh::new(vertices, triangles).unwrap();
        let block = super::super::Shape::Box { size: [1.0; 3] };
        for s in 0..2000u32 {
            let p = [0, 1, 2].map(|a| {
                (s.wrapping_mul(2654435761u32.wrapping_add(a * 40503)) >> 8) as f32 / 8388608.0 - 1.0
            });
            let (got, want) = (mesh.distance(p), block.distance(p));
            assert!((got - want).abs() < 1e-5, "at {p:?}: {got} for {want}");
        }
    }

    /// Overlapping parts form one body. A part that faces inwards is a hollow.
    #[test]
    fn a_mesh_may_have_many_parts() {
        let (vertices, triangles) = cube();
        let and = |scale: f32, by: [f32; 3], turned: bool| {
            let more = vertices.iter().map(|v| [0, 1, 2].map(|a| scale * v[a] + by[a]));
            let part = triangles.iter().map(|t| t.map(|v| v + 8));
            let part = part.map(|[a, b, c]| if turned { [a, c, b] } else { [a, b, c] });
            let all = (vertices.iter().copied().chain(more), triangles.iter().copied().chain(part));
            Mesh::new(all.0.collect(), all.1.collect()).unwrap()
        };
        let overlapping = and(1.0, [0.3, 0.2, 0.1], false);
        for (p, inside) in
            [([-0.4; 3], true), ([0.1; 3], true), ([0.7, 0.6, 0.5], true), ([0.7, 0.0, -0.45], false)]
        {
            assert_eq!(overlapping.distance(p) < 0.0, inside, "{p:?}");
        }
        assert!(and(0.5, [0.0; 3], false).distance([0.0; 3]) < 0.0, "one inside the other");
        assert!(and(0.5, [0.0; 3], true).distance([0.0; 3]) > 0.0, "a hollow");
        let beside = and(1.0, [1.0, 1.0, 0.0], false);
        assert!(
            beside.distance([0.4, 0.4, 0.0]) < 0.0 && beside.distance([0.6, 0.6, 0.0]) < 0.0,
            "an edge in common"
        );
        assert!(beside.distance([0.6, 0.4, 0.0]) > 0.0);
        assert_eq!(beside.bounds(), [[-0.5; 3], [1.5, 1.5, 0.5]]);
    }

    #[test]
    fn holes_are_counted() {
        let (vertices, mut triangles) = cube();
        triangles.pop();
        assert_eq!(Mesh::new(vertices.clone(), triangles).unwrap_err(), MeshError::Open { open: 3 });
        let (_, mut flipped) = cube();
        flipped[0].swap(0, 1);
        assert_eq!(Mesh::new(vertices, flipped).unwrap_err(), MeshError::Open { open: 3 });
    }

    #[cfg(feature = "files")]
    #[test]
    fn files_are_read_by_their_ending() {
        let folder = tempfile::tempdir().unwrap();
        let (vertices, triangles) = cube();
        let obj = folder.path().join("cube.obj");
        let mut text = String::new();
        vertices.iter().for_each(|v| text += &format!("v {} {} {}\n", v[0], v[1], v[2]));
        triangles.iter().for_each(|t| text += &format!("f {} {} {}\n", t[0] + 1, t[1] + 1, t[2] + 1));
        std::fs::write(&obj, text).unwrap();
        let stl = folder.path().join("cube.STL");
        let mut bytes = vec![0; 80];
        bytes.extend((triangles.len() as u32).to_le_bytes());
        for triangle in &triangles {
            let corners = triangle.map(|v| vertices[v as usize]);
            let numbers = [[0.0; 3]].into_iter().chain(corners).flatten();
            bytes.extend(numbers.flat_map(f32::to_le_bytes));
            bytes.extend([0, 0]);
        }
        std::fs::write(&stl, bytes).unwrap();
        for path in [&obj, &stl] {
            let mesh = Mesh::load(path).unwrap();
            assert_eq!((mesh.vertices().len(), mesh.triangles().len()), (8, 12));
            assert!((mesh.distance([0.75, 0.0, 0.0]) - 0.25).abs() < 1e-6);
        }
        assert!(matches!(Mesh::load(&folder.path().join("cube.fbx")), Err(MeshError::Unknown(_))));
        assert!(matches!(Mesh::load(&folder.path().join("gone.obj")), Err(MeshError::Unreadable(..))));
    }
}
