//! The objects of a scene in the window: their names, handles, and keys in the scene's text. Plain data, no
//! window.

use std::path::Path;

use crate::look::Emitter;
use crate::parameter::{self, ForceKind, LightKind, Worded};
use crate::scene::Scene;
use crate::scene::edits::{Change, Entry, List};
use crate::solver::{ForceField, Form, Shape};

/// A selectable part of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selected {
    /// An object of a list.
    Object(List, usize),
    /// The camera.
    Camera,
    /// The sun.
    Sun,
}

/// Box and solver after the next restart: keys that differ from the scene.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// Cells along the longest side; the size of the box is unchanged.
    pub resolution: Option<u32>,
    /// Cells along each axis and the edge of a cell \[m\] instead: another box. Objects stay where they are.
    pub grid: Option<([usize; 3], f32)>,
    /// Values by key.
    pub values: Vec<(String, Entry)>,
}

impl Draft {
    /// Returns the value set for `key`, if any.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.values.iter().find(|(set, _)| set == key).map(|(_, value)| value)
    }

    /// Sets a value.
    pub fn set(&mut self, key: &str, value: Entry) {
        self.unset(key);
        self.values.push((key.to_owned(), value));
    }

    /// Removes the value of `key`: the scene's value applies again.
    pub fn unset(&mut self, key: &str) {
        self.values.retain(|(set, _)| set != key);
    }

    /// Returns the resulting cells and edge of a cell \[m\] of `scene`.
    pub fn cells(&self, scene: &Scene) -> ([usize; 3], f32) {
        let (dims, h) = (scene.config.dims.array(), scene.config.h);
        match (self.grid, self.resolution) {
            (Some(grid), _) => grid,
            (None, None) => (dims, h),
            (None, Some(most)) => with_resolution(dims, h, most as usize),
        }
    }

    /// Returns the resulting changes of the scene's text. In a box of another size, default sources are
    /// written out, so that they stay where they are.
    pub fn changes(&self, scene: &Scene) -> Vec<Change> {
        let mut changes: Vec<Change> =
            self.values.iter().map(|(key, value)| Change::Set(key.clone(), Some(value.clone()))).collect();
        if self.resolution.is_some() || self.grid.is_some() {
            let (cells, h) = self.cells(scene);
            changes.extend(keep_default_sources(scene, cells, h));
            let cells = Entry::Wholes(cells.map(|n| n as i64).to_vec());
            changes.push(Change::Set("domain.cells".into(), Some(cells)));
            changes.push(Change::Set("domain.voxel".into(), Some(Entry::of(h))));
        }
        changes
    }
}

/// Returns changes that keep the place and size of default sources in a box of `cells` of edge `h` \[m\]. A
/// ball that would stand out of the box is moved in, and one smaller than a cell grows to it. Across an axis
/// of one cell it is a disc in the middle. There are no changes if the size of the box is the same. A ball
/// that does not fit keeps its default.
fn keep_default_sources(scene: &Scene, cells: [usize; 3], h: f32) -> Vec<Change> {
    let (old, dims, new) = (scene.extent(), scene.config.dims.array(), cells.map(|n| n as f32 * h));
    // A new resolution keeps the size to half a cell, but an axis of one cell becomes thinner or thicker, and
    // the default ball with it.
    let is_kept = |a: usize| {
        let tolerance = if (cells[a], dims[a]) == (1, 1) { 1e-3 } else { 0.501 };
        (new[a] - old[a]).abs() < tolerance * h.max(scene.config.h)
    };
    if (0..3).all(is_kept) {
        return Vec::new();
    }
    let keep = |n: usize| {
        let region = &scene.sources[n].region;
        let Form::Body(Shape::Sphere { radius }) = region.form else { return Vec::new() };
        let radius = radius.max(h);
        let fits = (0..3).all(|a| cells[a] == 1 || 2.0 * radius <= new[a]);
        if !fits {
            return Vec::new();
        }
        let center = [0, 1, 2].map(|a| {
            if cells[a] == 1 || dims[a] == 1 {
                return 0.5 * new[a];
            }
            let from_side = radius.min(0.5 * new[a]);
            region.position[a].clamp(from_side, from_side.max(new[a] - from_side))
        });
        let set = |key: &str, entry| Change::Set(format!("source.{n}.shape.sphere.{key}"), Some(entry));
        vec![set("center", Entry::of_all(center)), set("radius", Entry::of(radius))]
    };
    scene.sources_of_default_shape().into_iter().flat_map(keep).collect()
}

/// Returns cells and their edge with `most` cells along the longest side, for a box of `dims` cells of edge
/// `h` \[m\]. The size of the box is unchanged to half a cell. An axis of one cell keeps its cell.
pub fn with_resolution(dims: [usize; 3], h: f32, most: usize) -> ([usize; 3], f32) {
    let longest = dims.into_iter().max().unwrap_or(1).max(1);
    let most = most.max(1);
    let new = tidy(h * longest as f32 / most as f32, h * longest as f32 / most as f32 * 1e-4);
    let cells = dims.map(|n| match n {
        1 => 1,
        n if n == longest => most,
        n => ((n as f32 * h / new).round() as usize).max(1),
    });
    (cells, new)
}

/// Rounds `x` to a round decimal no coarser than `step`.
pub fn tidy(x: f32, step: f32) -> f32 {
    let unit = 10f64.powf(f64::from(step.max(1e-9)).log10().floor());
    let rounded = (f64::from(x) / unit).round() * unit;
    let digits = (-unit.log10()).max(0.0).round() as usize;
    format!("{rounded:.digits$}").parse().unwrap_or(x)
}

/// Returns the number of objects in a list.
pub fn count(scene: &Scene, list: List) -> usize {
    match list {
        List::Source => scene.sources.len(),
        List::Solid => scene.solids.len(),
        List::Force => scene.forces.len(),
        List::Light => scene.look.lights.len(),
    }
}

/// Returns the kind of an object in a word: "ball", "wind".
pub fn kind(scene: &Scene, list: List, index: usize) -> &'static str {
    let shape = |shape: &Shape| match shape {
        Shape::Sphere { .. } => "ball",
        Shape::Box { .. } => "box",
        Shape::Cylinder { .. } => "cylinder",
        Shape::Mesh(_) => "mesh",
    };
    match list {
        List::Source => scene.sources.get(index).map_or("", |source| match &source.region.form {
            Form::Body(Shape::Cylinder { .. }) => "disc",
            Form::Body(body) => shape(body),
            Form::Card(_) => "card",
            Form::Cloud(_) => "volume",
        }),
        List::Solid => scene.solids.get(index).map_or("", |solid| shape(&solid.shape)),
        List::Force => scene
            .forces
            .get(index)
            .map_or("", |force| ForceKind::of(&force.field).map_or("custom", ForceKind::word)),
        List::Light => scene.look.lights.get(index).map_or("", |light| LightKind::of(&light.emitter).word()),
    }
}

/// Returns the position of an object's handle at `time` \[m\]; none for objects without a place.
pub fn anchor(scene: &Scene, list: List, index: usize, time: f64) -> Option<[f32; 3]> {
    match list {
        List::Source => scene.sources.get(index).map(|source| source.region.position),
        List::Solid => scene.solids.get(index).map(|solid| solid.position_at(time)),
        List::Force => match scene.forces.get(index)?.field {
            ForceField::Point { center, .. } | ForceField::Vortex { center, .. } => Some(center),
            _ => None,
        },
        List::Light => scene.look.lights.get(index)?.position(),
    }
}

/// Returns the scene with an object moved by `by` \[m\], for display during a drag; its text is unchanged.
pub fn moved(scene: &Scene, list: List, index: usize, by: [f32; 3]) -> Scene {
    let mut scene = scene.clone();
    let shift = |p: &mut [f32; 3]| (0..3).for_each(|a| p[a] += by[a]);
    match list {
        List::Source => scene.sources.get_mut(index).into_iter().for_each(|s| shift(&mut s.region.position)),
        List::Solid => {
            if let Some(solid) = scene.solids.get_mut(index) {
                shift(&mut solid.position);
                solid.keyframes.iter_mut().for_each(|(_, p)| shift(p));
            }
        }
        List::Force => {
            let field = scene.forces.get_mut(index).map(|force| &mut force.field);
            if let Some(ForceField::Point { center, .. } | ForceField::Vortex { center, .. }) = field {
                shift(center);
            }
        }
        List::Light => {
            let emitter = scene.look.lights.get_mut(index).map(|light| &mut light.emitter);
            if let Some(
                Emitter::Point { position, .. }
                | Emitter::Spot { position, .. }
                | Emitter::Area { position, .. },
            ) = emitter
            {
                shift(position);
            }
        }
    }
    scene
}

/// Changes of the text that move an object by `by` \[m\].
pub fn move_changes(scene: &Scene, list: List, index: usize, by: [f32; 3]) -> Vec<Change> {
    let step = 0.5 * scene.config.h;
    let place = |p: [f32; 3]| [0, 1, 2].map(|a| tidy(p[a] + by[a], step));
    let head = format!("{}.{index}", list.key());
    let set = |key: String, entry| Change::Set(format!("{head}.{key}"), Some(entry));
    let entries = scene.entries(list, index);
    if list == List::Solid && !scene.solids[index].keyframes.is_empty() {
        let key = |(t, p): &(f32, [f32; 3])| format!("[{t:?}, {:?}]", place(*p));
        let keys: Vec<String> = scene.solids[index].keyframes.iter().map(key).collect();
        return vec![set("keyframes".into(), Entry::Other(format!("[{}]", keys.join(", "))))];
    }
    let Some(now) = anchor(scene, list, index, 0.0) else { return Vec::new() };
    let is_place = |key: &str| {
        let last = key.rsplit('.').next().unwrap_or(key);
        matches!(last, "center" | "position") && !key.starts_with("within.")
    };
    let key = entries.iter().map(|(key, _)| key).find(|key| is_place(key));
    match (key, list) {
        (Some(key), _) => vec![set(key.clone(), Entry::of_all(place(now)))],
        (None, List::Source) => match &scene.sources[index].region.form {
            Form::Body(Shape::Sphere { radius }) => vec![
                set("shape.sphere.center".into(), Entry::of_all(place(now))),
                set("shape.sphere.radius".into(), Entry::of(*radius)),
            ],
            Form::Cloud(_) => vec![set("shape.volume.center".into(), Entry::of_all(place(now)))],
            _ => Vec::new(),
        },
        (None, _) => vec![set("position".into(), Entry::of_all(place(now)))],
    }
}

/// Keys of a new object in the middle of the box, as TOML; `kind` as in [`KINDS`].
pub fn template(scene: &Scene, kind: &str) -> String {
    let (extent, h) = (scene.extent(), scene.config.h);
    let least = extent.into_iter().fold(f32::INFINITY, f32::min);
    let size = |share: f32| tidy((share * least).max(2.0 * h), 0.1 * h);
    let middle = extent.map(|x| tidy(0.5 * x, 0.5 * h));
    let (x, y, z) = (middle[0], middle[1], middle[2]);
    let r = size(0.1);
    // As bright as a sun at the distance of the box.
    let intensity = tidy(5.0 * (0.5 * least).powi(2), 0.01 * least * least);
    match kind {
        "source.ball" => format!(
            "shape = {{ sphere = {{ center = [{x:?}, {y:?}, {z:?}], radius = {r:?} }} }}\nemit = {{ green = 3.0, heat = 30.0 }}\n"
        ),
        "source.box" => format!(
            "shape = {{ box = {{ center = [{x:?}, {y:?}, {z:?}], size = [{r:?}, {r:?}, {r:?}] }} }}\nemit = {{ blue = 3.0, heat = 30.0 }}\n"
        ),
        "source.disc" => format!(
            "shape = {{ disc = {{ center = [{x:?}, {y:?}, {z:?}], radius = {r:?}, thickness = {:?} }} }}\nemit = {{ red = 3.0, heat = 30.0 }}\n",
            size(0.03)
        ),
        "source.text" => format!(
            "shape = {{ text = {{ string = \"smoke\", center = [{x:?}, {y:?}, {z:?}], height = {:?}, depth = {:?} }} }}\nemit = {{ red = 3.0, heat = 30.0 }}\n",
            size(0.15),
            size(0.05)
        ),
        "solid.knot" => format!(
            "shape = {{ mesh = \"knot\" }}\nposition = [{x:?}, {y:?}, {z:?}]\nscale = {:?}\n",
            size(0.5)
        ),
        "solid.ball" => format!(
            "shape = {{ sphere = {{ radius = {:?} }} }}\nposition = [{x:?}, {y:?}, {z:?}]\n",
            size(0.14)
        ),
        "solid.box" => {
            let s = size(0.25);
            format!(
                "shape = {{ box = {{ size = [{s:?}, {s:?}, {s:?}] }} }}\nposition = [{x:?}, {y:?}, {z:?}]\n"
            )
        }
        "solid.cylinder" => format!(
            "shape = {{ cylinder = {{ radius = {:?}, height = {:?} }} }}\nposition = [{x:?}, {y:?}, {z:?}]\n",
            size(0.1),
            size(0.3)
        ),
        "force.point" => format!(
            "point = {{ center = [{x:?}, {y:?}, {z:?}], radius = {:?}, acceleration = 5.0 }}\n",
            size(0.3)
        ),
        "force.vortex" => {
            format!("vortex = {{ center = [{x:?}, {y:?}, {z:?}], radius = {:?}, speed = 1.0 }}\n", size(0.2))
        }
        "light.sun" => "sun = { direction = [-1.0, 0.4, -0.6] }\nstrength = 5.0\n".into(),
        "light.point" => {
            let at = [tidy(0.9 * extent[0], h), tidy(0.7 * extent[1], h), tidy(0.8 * extent[2], h)];
            format!(
                "point = {{ position = {at:?}, radius = {:?} }}\nstrength = {:?}\n",
                size(0.03),
                intensity
            )
        }
        "light.spot" => {
            let at = [tidy(-0.2 * extent[0], h), extent[1], tidy(1.2 * extent[2], h)];
            let target = [x, y, z];
            format!("spot = {{ position = {at:?}, target = {target:?} }}\nstrength = {:?}\n", 2.0 * intensity)
        }
        "light.area" => {
            let at = [x, tidy(1.2 * extent[1], h), z];
            let (target, edge) = ([x, y, z], size(0.5));
            format!(
                "area = {{ position = {at:?}, target = {target:?}, size = [{edge:?}, {edge:?}] }}\nstrength = {intensity:?}\n"
            )
        }
        _ => "wind = { velocity = [0.5, 0.0, 0.0], rate = 1.0 }\n".into(),
    }
}

/// Scale and position \[m\] of a mesh in a box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Scale of the mesh: 1, 2 or 5 times a power of ten.
    pub scale: f32,
    /// Position of the mesh's origin \[m\] that puts the mesh in the middle of the box.
    pub position: [f32; 3],
    /// Longest side of the scaled mesh \[m\].
    pub longest: f32,
}

/// Fits a mesh between `low` and `high` to about a third of the box, because files of meshes have any unit
/// and any origin.
pub fn fit(scene: &Scene, [low, high]: [[f32; 3]; 2]) -> Fit {
    let (extent, cells) = (scene.extent(), scene.config.dims.array());
    let size = [0, 1, 2].map(|a| high[a] - low[a]);
    // An axis of one cell does not limit the size of a mesh.
    let thirds = (0..3).filter(|a| size[*a] > 0.0 && cells[*a] > 1).map(|a| extent[a] / (3.0 * size[a]));
    let third = thirds.fold(f32::INFINITY, f32::min);
    let range = &parameter::of("solid.#.scale").hard;
    let scale = if third.is_finite() { round(third).clamp(*range.start(), *range.end()) } else { 1.0 };
    let position = [0, 1, 2].map(|a| {
        let middle = scale * (0.5 * low[a] + 0.5 * high[a]);
        tidy(0.5 * extent[a] - middle, 0.1 * scene.config.h)
    });
    Fit { scale, position, longest: scale * size.into_iter().fold(0.0, f32::max) }
}

/// Returns the number nearest to `x` > 0, by ratio, that is 1, 2 or 5 times a power of ten.
fn round(x: f32) -> f32 {
    let exponent = x.log10().floor() as i32;
    let rounds = [(1, 0), (2, 0), (5, 0), (1, 1)].map(|(digit, more)| format!("{digit}e{}", exponent + more));
    let off = |round: &f32| (round / x).ln().abs();
    let rounds = rounds.iter().filter_map(|text| text.parse().ok());
    rounds.min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(x)
}

/// Keys of a new object of a file, as TOML; `kind` as in [`FILES`]. A mesh needs its `fit`.
pub fn template_of_file(scene: &Scene, kind: &str, path: &Path, fit: Option<Fit>) -> String {
    let (extent, h) = (scene.extent(), scene.config.h);
    let least = extent.into_iter().fold(f32::INFINITY, f32::min);
    let middle = extent.map(|x| tidy(0.5 * x, 0.5 * h));
    let (width, depth) = (tidy(0.5 * least, h), tidy((0.05 * least).max(2.0 * h), 0.1 * h));
    let file = toml::Value::from(path.to_string_lossy().into_owned());
    let emits = "emit = { red = 3.0, green = 3.0, blue = 3.0, heat = 30.0 }\n";
    let (position, scale) = fit.map_or((middle, 1.0), |fit| (fit.position, fit.scale));
    match kind {
        "source.image" => format!(
            "shape = {{ image = {{ file = {file}, center = {middle:?}, width = {width:?}, depth = {depth:?} }} }}\n{emits}"
        ),
        "source.mesh" => format!(
            "shape = {{ mesh = {{ file = {file}, position = {position:?}, scale = {scale:?} }} }}\n{emits}"
        ),
        "source.volume" => format!("shape = {{ volume = {{ file = {file} }} }}\n{emits}"),
        _ => format!("shape = {{ mesh = {file} }}\nposition = {position:?}\nscale = {scale:?}\n"),
    }
}

/// Objects of a file that can be added: the name for [`template_of_file`], its list, its label in the menu, and the kinds of
/// files.
pub const FILES: [(&str, List, &str, &[&str]); 4] = [
    ("source.image", List::Source, "Source: picture", &["png"]),
    ("source.mesh", List::Source, "Source: mesh", &["obj", "stl"]),
    ("source.volume", List::Source, "Source: volume", &["vdb"]),
    ("solid.mesh", List::Solid, "Solid: mesh", &["obj", "stl"]),
];

/// Objects that can be added: the name for [`template`], its list, and its label in the menu.
pub const KINDS: [(&str, List, &str); 15] = [
    ("source.ball", List::Source, "Source: ball"),
    ("source.box", List::Source, "Source: box"),
    ("source.disc", List::Source, "Source: disc"),
    ("source.text", List::Source, "Source: text"),
    ("solid.ball", List::Solid, "Solid: ball"),
    ("solid.box", List::Solid, "Solid: box"),
    ("solid.cylinder", List::Solid, "Solid: cylinder"),
    ("solid.knot", List::Solid, "Solid: knot"),
    ("force.wind", List::Force, "Force: wind"),
    ("force.point", List::Force, "Force: attraction"),
    ("force.vortex", List::Force, "Force: vortex"),
    ("light.sun", List::Light, "Light: sun"),
    ("light.point", List::Light, "Light: point"),
    ("light.spot", List::Light, "Light: spot"),
    ("light.area", List::Light, "Light: area"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolution_keeps_the_size_of_the_box() {
        let (cells, h) = with_resolution([96, 144, 96], 0.01, 72);
        assert_eq!((cells, h), ([48, 72, 48], 0.02));
        let (cells, h) = with_resolution([96, 144, 1], 0.01, 200);
        assert_eq!((cells[1], cells[2]), (200, 1));
        assert!((cells[0] as f32 * h - 0.96).abs() < h && (200.0 * h - 1.44).abs() < h, "{cells:?} {h}");
    }

    #[test]
    fn scales_are_one_two_or_five_times_a_power_of_ten() {
        for (x, round_x) in
            [(0.001, 0.001), (0.3, 0.2), (0.4, 0.5), (8.0, 10.0), (1.3, 1.0), (3e-5, 2e-5), (4.0, 5.0)]
        {
            assert_eq!(round(x), round_x, "{x}");
        }
    }

    #[test]
    fn numbers_are_as_a_person_would_write_them() {
        assert_eq!(tidy(0.123_456, 0.005), 0.123);
        assert_eq!(tidy(12.345, 0.5), 12.3);
        assert_eq!(tidy(1234.5, 30.0), 1230.0);
    }

    #[test]
    fn every_kind_of_object_can_be_added_copied_moved_and_deleted() {
        for name in ["", "[domain]\ncells = [40, 30, 20]\nvoxel = 0.1\nwalls = \"closed\"\n"] {
            let mut scene = Scene::parse("s", name).unwrap();
            for (kind, list, _) in KINDS {
                let at = count(&scene, list);
                scene = scene.edited(&[Change::Add(list, template(&scene, kind))]).unwrap();
                assert_eq!(count(&scene, list), at + 1, "{kind}");
                if let Some(before) = anchor(&scene, list, at, 0.0) {
                    let by = [3.0 * scene.config.h, -2.0 * scene.config.h, 0.0];
                    let after = scene.edited(&move_changes(&scene, list, at, by)).unwrap();
                    let now = anchor(&after, list, at, 0.0).unwrap();
                    let far = (0..3).map(|a| (now[a] - before[a] - by[a]).abs()).fold(0.0, f32::max);
                    assert!(far <= 0.5 * scene.config.h, "{kind}: {before:?} {now:?}");
                    assert_eq!(
                        anchor(&moved(&scene, list, at, by), list, at, 0.0)
                            .map(|p| p.map(|x| (x * 1e4).round())),
                        Some([0, 1, 2].map(|a| ((before[a] + by[a]) * 1e4).round()))
                    );
                }
                let copied = scene.edited(&[Change::Duplicate(list, at)]).unwrap();
                assert_eq!(count(&copied, list), at + 2);
                assert_eq!(count(&copied.edited(&[Change::Delete(list, at)]).unwrap(), list), at + 1);
            }
        }
    }
}
