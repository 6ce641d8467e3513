//! Rounding of meshes for pictures. The triangles of a smooth body no longer show, neither in its outline nor
//! at the edge of its shadow.
//!
//! Triangles are split into four until they are no larger than a node of the distance field. The middle of an
//! edge moves halfway to the tangent planes at its ends (Boubekeur and Alexa, "Phong tessellation", 2008,
//! with the factor that is exact for circles). Edges that bend by more than [`CREASE`] stay straight and
//! sharp.

use std::collections::HashMap;

use nalgebra::Vector3;

use crate::snapshot::Mesh;

/// Cosine of the least angle between the faces of a sharp edge: 42°.
const CREASE: f32 = 0.74;
/// Factor of Phong tessellation.
const ROUND: f32 = 0.5;
/// Greatest number of triangles, and of splits.
const MOST: usize = 200_000;
const SPLITS: usize = 3;

type Point = Vector3<f32>;

/// Two vertices, the lower first.
type Edge = [u32; 2];

/// Rounds `mesh` until its edges are as short as `spacing` \[m\]; `None` if they are already.
pub(super) fn rounded(mesh: &Mesh, spacing: f32) -> Option<Mesh> {
    let mut vertices: Vec<Point> = mesh.vertices().iter().map(|&v| v.into()).collect();
    let mut triangles = mesh.triangles().to_vec();
    let mut sharp = sharp_edges(&vertices, &triangles);
    for _ in 0..SPLITS {
        let edges = triangles.iter().flat_map(|&t| edges_of(t));
        let length = edges.map(|[a, b]| (vertices[a as usize] - vertices[b as usize]).norm()).sum::<f32>();
        if 4 * triangles.len() > MOST || length / (3.0 * triangles.len() as f32) < spacing {
            break;
        }
        (triangles, sharp) = split(&mut vertices, &triangles, &sharp);
    }
    let changed = triangles.len() > mesh.triangles().len();
    // A mesh whose pieces touch may no longer be closed once vertices at the same place are merged.
    changed.then(|| Mesh::new(vertices.into_iter().map(Into::into).collect(), triangles).ok()).flatten()
}

fn edges_of([a, b, c]: [u32; 3]) -> [Edge; 3] {
    [[a, b], [b, c], [c, a]].map(|[a, b]| [a.min(b), a.max(b)])
}

/// Returns the normal of a triangle, with twice its area as length.
fn normal(vertices: &[Point], t: [u32; 3]) -> Point {
    let [a, b, c] = t.map(|v| vertices[v as usize]);
    (b - a).cross(&(c - a))
}

/// Returns whether each edge is sharp: its faces differ much in direction, or more than two faces share it.
fn sharp_edges(vertices: &[Point], triangles: &[[u32; 3]]) -> HashMap<Edge, bool> {
    let mut faces: HashMap<Edge, Vec<Point>> = HashMap::new();
    for &t in triangles {
        let normal = normal(vertices, t).try_normalize(0.0).unwrap_or_default();
        edges_of(t).into_iter().for_each(|edge| faces.entry(edge).or_default().push(normal));
    }
    let is_sharp = |normals: Vec<Point>| !matches!(normals[..], [a, b] if a.dot(&b) > CREASE);
    faces.into_iter().map(|(edge, normals)| (edge, is_sharp(normals))).collect()
}

/// Splits each triangle into four.
fn split(
    vertices: &mut Vec<Point>,
    triangles: &[[u32; 3]],
    sharp: &HashMap<Edge, bool>,
) -> (Vec<[u32; 3]>, HashMap<Edge, bool>) {
    let mut at_vertex = vec![Point::zeros(); vertices.len()];
    let mut at_edge: HashMap<Edge, Point> = HashMap::new();
    for &t in triangles {
        let normal = normal(vertices, t);
        let unit = normal.try_normalize(0.0).unwrap_or_default();
        for n in 0..3 {
            let [a, b, c] = [0, 1, 2].map(|i| vertices[t[(n + i) % 3] as usize]);
            at_vertex[t[n] as usize] += unit * (b - a).angle(&(c - a));
        }
        edges_of(t).into_iter().for_each(|edge| *at_edge.entry(edge).or_default() += unit);
    }
    // At a sharp edge the mean normal over all faces of a vertex is not that of any of them.
    let mut cornered = vec![false; vertices.len()];
    for (edge, _) in sharp.iter().filter(|(_, sharp)| **sharp) {
        edge.iter().for_each(|&v| cornered[v as usize] = true);
    }
    let mut middles: HashMap<Edge, u32> = HashMap::new();
    let (mut fine, mut fine_sharp) = (Vec::with_capacity(4 * triangles.len()), HashMap::new());
    for &t in triangles {
        let mid = edges_of(t).map(|edge| {
            *middles.entry(edge).or_insert_with(|| {
                let [a, b] = edge.map(|v| vertices[v as usize]);
                let mut middle = 0.5 * (a + b);
                if !sharp[&edge] {
                    let towards = |v: u32, place: Point| {
                        let sum = if cornered[v as usize] { at_edge[&edge] } else { at_vertex[v as usize] };
                        let normal = sum.try_normalize(0.0).unwrap_or_default();
                        normal * normal.dot(&(place - middle))
                    };
                    middle += 0.5 * ROUND * (towards(edge[0], a) + towards(edge[1], b));
                }
                vertices.push(middle);
                vertices.len() as u32 - 1
            })
        });
        let ([a, b, c], [ab, bc, ca]) = (t, mid);
        fine.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        for (edge, middle) in edges_of(t).into_iter().zip(mid) {
            edge.iter().for_each(|&v| {
                fine_sharp.insert([v.min(middle), v.max(middle)], sharp[&edge]);
            });
        }
        for edge in edges_of([ab, bc, ca]) {
            fine_sharp.insert(edge, false);
        }
    }
    (fine, fine_sharp)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a ball of eight triangles, each split into four and moved out to the sphere `times` times.
    fn ball(times: usize) -> Mesh {
        let mut vertices: Vec<Point> = [
            [1.0, 0.0, 0.0],
            [-1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.0, -1.0, 0.0],
            [0.0, 0.0, 1.0],
            [0.0, 0.0, -1.0],
        ]
        .map(Point::from)
        .to_vec();
        let mut triangles =
            vec![[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
        for _ in 0..times {
            let sharp = triangles.iter().flat_map(|&t| edges_of(t)).map(|edge| (edge, true)).collect();
            (triangles, _) = split(&mut vertices, &triangles, &sharp);
            vertices.iter_mut().for_each(|v| *v = v.normalize());
        }
        Mesh::new(vertices.into_iter().map(Into::into).collect(), triangles).unwrap()
    }

    /// The surface comes nearer to the ball, and bends less from face to face.
    #[test]
    fn a_ball_of_triangles_is_rounded() {
        let coarse = ball(2);
        let fine = rounded(&coarse, 0.01).expect("its edges are long");
        assert_eq!(fine.triangles().len(), 64 * coarse.triangles().len());
        let vertices = |mesh: &Mesh| -> Vec<Point> { mesh.vertices().iter().map(|&v| v.into()).collect() };
        let off = |mesh: &Mesh| {
            let vertices = vertices(mesh);
            let middle = |t: &[u32; 3]| t.iter().map(|&v| vertices[v as usize]).sum::<Point>() / 3.0;
            mesh.triangles().iter().map(|t| (middle(t).norm() - 1.0).abs()).fold(0.0, f32::max)
        };
        let bend = |mesh: &Mesh| {
            let (vertices, mut at_edge) = (vertices(mesh), HashMap::<Edge, Point>::new());
            let mut least = 1.0_f32;
            for &t in mesh.triangles() {
                let normal = normal(&vertices, t).normalize();
                for edge in edges_of(t) {
                    if let Some(other) = at_edge.insert(edge, normal) {
                        least = least.min(other.dot(&normal));
                    }
                }
            }
            least.acos().to_degrees()
        };
        println!("{} m to {} m off, {}° to {}°", off(&coarse), off(&fine), bend(&coarse), bend(&fine));
        assert!(off(&fine) < 0.2 * off(&coarse) && bend(&fine) < 0.3 * bend(&coarse));
    }

    #[test]
    fn a_cube_stays_a_cube() {
        let vertices = (0..8).map(|n| [0, 1, 2].map(|a| (n >> a & 1) as f32)).collect();
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
        let fine = rounded(&Mesh::new(vertices, triangles).unwrap(), 0.1).expect("its edges are long");
        for v in fine.vertices() {
            let away = v.iter().map(|x| (x - 0.5).abs()).fold(0.0, f32::max);
            assert!((away - 0.5).abs() < 1e-6, "{v:?}");
        }
    }

    #[test]
    fn fine_meshes_are_left_alone() {
        assert!(rounded(&ball(2), 1.0).is_none());
    }
}
