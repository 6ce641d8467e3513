//! Objects of the scene: selecting and moving them in the view, and editing the scene's text.

use std::path::Path;
use std::sync::Arc;

use nalgebra::{Vector2, Vector3};

use super::{LoadCause, Session};
use crate::app::file;
use crate::app::objects::{self, Selected};
use crate::app::settings::{self, Settings};
use crate::scene::edits::{Change, List};
use crate::scene::{Scene, SceneError};
use crate::solver::Mesh;

/// Distance at which a handle can be grabbed \[pt\].
const GRAB: f32 = 13.0;

/// Length of the arrows of a selected object, relative to the height of the view.
pub const ARROW: f32 = 0.11;

/// An object during a drag.
pub(super) struct Move {
    list: List,
    index: usize,
    /// The scene before the drag.
    before: Arc<Scene>,
    /// Position of the handle before the drag \[m\].
    from: Vector3<f32>,
    /// Vector from the mouse to the handle when it was grabbed \[m\].
    grab_offset: Vector3<f32>,
    /// Vector from the object's position in the scene to its position in the shown frame \[m\].
    frame_offset: Vector3<f32>,
    /// Axis of the drag, if it is restricted to one.
    axis: Option<usize>,
    by: [f32; 3],
    /// Position of the press on a recorded frame \[pt\], until the mouse moves further than [`JITTER`].
    pressed_at: Option<Vector2<f32>>,
    /// The recorded frame from which the drag goes on, if later ones were dropped for it.
    since: Option<u64>,
}

/// Motion of the mouse from which on a press on a recorded frame is a drag \[pt\].
const JITTER: f32 = 3.0;

impl Session {
    /// Returns whether the handles of objects are shown: while their section is open in the panel.
    pub fn shows_handles(&self) -> bool {
        self.model.panel && !self.model.closed.contains("Objects") && !self.is_loading()
    }

    /// Objects with a handle in the view, and the handles' positions \[m\].
    pub fn handles(&self) -> Vec<(List, usize, Vector3<f32>)> {
        let scene = &self.model.settings.scene;
        let of = |list: List| {
            (0..objects::count(scene, list)).filter_map(move |n| Some((list, n, self.handle(list, n)?)))
        };
        List::ALL.into_iter().flat_map(of).collect()
    }

    /// Returns the position of an object's handle \[m\]. On a recorded frame the handle of a solid is where
    /// the frame has it.
    fn handle(&self, list: List, n: usize) -> Option<Vector3<f32>> {
        let scene = &self.model.settings.scene;
        let place = objects::anchor(scene, list, n, self.readout.shown)?;
        if list != List::Solid || self.past.1.is_none() || self.model.playback.at.is_none() {
            return Some(place.into());
        }
        let frame = self.shown_of(self.side());
        let alike = frame.solids.len() == scene.solids.len() && scene.solids[n].keyframes.is_empty();
        let pose = frame.solids.get(n).filter(|_| alike);
        Some(pose.map_or(place.into(), |pose| Vector3::from(pose.position) + Vector3::from(frame.corner())))
    }

    /// Positions of the handles in the view \[pt\].
    pub fn seen_handles(&self) -> Vec<[f32; 2]> {
        let handles = if self.shows_handles() { self.handles() } else { Vec::new() };
        handles.into_iter().filter_map(|(.., p)| Some(self.orbit.seen(p, self.view)?.0.into())).collect()
    }

    /// Returns the handle at a point of the view, with the axis of an arrow.
    pub fn handle_at(&self, at: Vector2<f32>) -> Option<(List, usize, Option<usize>)> {
        if !self.shows_handles() || self.pointer.side != self.side() {
            return None;
        }
        let near = |p: Vector3<f32>| {
            let (seen, _) = self.orbit.seen(p, self.view)?;
            let distance = (seen - at).norm();
            (distance < GRAB).then_some(distance)
        };
        let handles = self.handles();
        if let Some(&(list, n, p)) =
            handles.iter().find(|(list, n, _)| self.model.selected == Some(Selected::Object(*list, *n)))
        {
            let tip = |axis: usize| near(p + self.arrow(p, axis)?);
            if let Some(axis) = (0..3).find(|&axis| tip(axis).is_some()) {
                return Some((list, n, Some(axis)));
            }
        }
        let found = handles.into_iter().filter_map(|(list, n, p)| Some((near(p)?, list, n)));
        found.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, list, n)| (list, n, None))
    }

    /// Returns the handle under the mouse, or being dragged.
    pub fn hovered_handle(&self) -> Option<(List, usize, Option<usize>)> {
        match &self.moving {
            Some(moving) => Some((moving.list, moving.index, moving.axis)),
            None if self.pointer.drag.is_some() => None,
            None => self.handle_at(self.pointer.at?),
        }
    }

    /// Returns the size of a metre at the depth of `p` in the view \[pt\].
    pub fn points_per_metre(&self, p: Vector3<f32>) -> f32 {
        self.view.y / self.orbit.height_at(p)
    }

    /// Returns the vector from the handle at `p` to the tip of its arrow along `axis` \[m\]; none for an
    /// arrow that points at the viewer. Its tip would cover the handle, and a free drag would follow the
    /// axis.
    pub fn arrow(&self, p: Vector3<f32>, axis: usize) -> Option<Vector3<f32>> {
        let arrow = Vector3::ith(axis, ARROW * self.orbit.height_at(p));
        let [(from, _), (to, _)] = [self.orbit.seen(p, self.view)?, self.orbit.seen(p + arrow, self.view)?];
        ((to - from).norm() > 2.0 * GRAB).then_some(arrow)
    }

    /// Grabs the handle at a point of the view, if there is one.
    pub(super) fn grab(&mut self, at: Vector2<f32>) -> bool {
        let Some((list, index, axis)) = self.handle_at(at) else { return false };
        self.model.selected = Some(Selected::Object(list, index));
        let scene = self.model.settings.scene.clone();
        let Some(from) = self.handle(list, index) else { return false };
        let Some(place) = objects::anchor(&scene, list, index, self.readout.shown) else { return false };
        let (grab_offset, frame_offset) =
            (self.drag_point(at, from, axis) - from, from - Vector3::from(place));
        let pressed_at = self.model.playback.at.map(|_| at);
        let by = [0.0; 3];
        self.moving = Some(Move {
            list,
            index,
            before: scene,
            from,
            grab_offset,
            frame_offset,
            axis,
            by,
            pressed_at,
            since: None,
        });
        true
    }

    /// Returns the point under the mouse at the depth of `p`, or the point on the axis through `p` nearest to
    /// the line of sight \[m\].
    fn drag_point(&self, at: Vector2<f32>, p: Vector3<f32>, axis: Option<usize>) -> Vector3<f32> {
        let [eye, ray] = self.orbit.sight(at, self.view);
        let depth = (p - eye).dot(&self.orbit.axes().forward);
        let flat = eye + ray * depth;
        let Some(axis) = axis else { return flat };
        let (along, ray) = (Vector3::ith(axis, 1.0), ray.normalize());
        let (across, between) = (along.dot(&ray), eye - p);
        let sin_squared = 1.0 - across * across;
        if sin_squared < 1e-3 {
            return p;
        }
        p + along * ((between.dot(&along) - across * between.dot(&ray)) / sin_squared)
    }

    /// Moves the grabbed object to the mouse, within the box.
    pub(super) fn drag_object(&mut self, at: Vector2<f32>) {
        let Some(moving) = &self.moving else { return };
        if moving.pressed_at.is_some_and(|pressed_at| (at - pressed_at).norm() < JITTER) {
            return;
        }
        self.move_on_from_here();
        let Some(moving) = &self.moving else { return };
        let (from, grab_offset, frame_offset, axis) =
            (moving.from, moving.grab_offset, moving.frame_offset, moving.axis);
        let to = self.drag_point(at, from, axis) - grab_offset;
        let extent = self.extent();
        // Lights may stand outside of the box.
        let margin = if moving.list == List::Light { 4.0 } else { 0.0 };
        let within = |a: usize| to[a].clamp(-margin * extent[a], (1.0 + margin) * extent[a]);
        let by = [0, 1, 2].map(|a| within(a) - from[a] + frame_offset[a]);
        let Some(moving) = &mut self.moving else { return };
        moving.by = by;
        let scene = objects::moved(&moving.before, moving.list, moving.index, by);
        self.model.settings.scene = Arc::new(scene);
        self.model.settings.take_objects_of_look();
    }

    /// Begins the drag of an object on a recorded frame: the simulation goes on from there, except for a light.
    fn move_on_from_here(&mut self) {
        let frame = self.model.playback.at;
        let Some(moving) = &mut self.moving else { return };
        moving.pressed_at = None;
        if moving.list == List::Light || frame.is_none() {
            return;
        }
        let drops_frames = frame < Some(self.model.playback.range[1]);
        moving.since = frame.filter(|_| drops_frames);
        self.go_on_from_here();
    }

    /// Returns whether the present drag has dropped recorded frames.
    pub(super) fn drag_dropped_frames(&self) -> bool {
        self.moving.as_ref().is_some_and(|moving| moving.since.is_some())
    }

    /// Ends the drag and writes the object's position into the scene's text.
    pub(super) fn drop_object(&mut self) {
        let Some(Move { list, index, before, by, since, .. }) = self.moving.take() else { return };
        self.model.settings.scene = before.clone();
        self.model.settings.take_objects_of_look();
        if by == [0.0; 3] {
            return;
        }
        let changes = objects::move_changes(&before, list, index, by);
        self.edit(&changes);
        if let Some(frame) = since {
            // One undo restores the frames and the position.
            let what = |a: &Settings, b: &Settings| format!("{} from frame {frame}", Settings::change(a, b));
            self.model.history.join(&self.model.settings, what);
        }
    }

    /// Cancels the drag: the object returns to its position before it.
    pub(super) fn put_object_back(&mut self) {
        if let Some(moving) = &mut self.moving {
            moving.by = [0.0; 3];
            self.drop_object();
        }
    }

    /// Applies the edits that the panel requests.
    pub(super) fn make_edits(&mut self) {
        let edits = std::mem::take(&mut self.model.edits);
        if edits.is_empty() || self.moving.is_some() {
            return;
        }
        let scene = self.model.settings.scene.clone();
        let is_draft = self.model.draft.as_ref().is_some_and(|draft| draft.changes(&scene) == edits);
        // A refused draft stays, to be changed.
        if self.edit(&edits) && is_draft && self.is_loading() {
            self.applied = self.model.draft.take();
        }
    }

    /// Changes the scene's text. The running solver takes over what it can; other changes restart the scene. Returns whether
    /// they are possible.
    pub fn edit(&mut self, changes: &[Change]) -> bool {
        if self.is_loading() {
            return false;
        }
        let scene = match self.model.settings.scene.edited(changes) {
            Ok(scene) => Arc::new(scene),
            Err(error) => {
                self.say(format!("Not changed: {}", fault(&error)));
                return false;
            }
        };
        self.keep_selection(changes);
        let mut settings = Settings { scene, ..self.model.settings.clone() };
        settings.take_objects_of_look();
        let is_picture =
            |change: &Change| matches!(change, Change::Set(key, _) if key == "render.environment.file");
        if changes.iter().any(is_picture) {
            settings.look.environment.sphere.clone_from(&settings.scene.look.environment.sphere);
        }
        if settings::needs_load(&self.model.settings.scene, &settings.scene) {
            let state = self.store();
            self.begin_load(settings, LoadCause::Opened(state, "box and solver".into()));
        } else {
            self.model.settings = settings;
        }
        true
    }

    /// Adds an object made of a file. A mesh is scaled to fit the box.
    pub(super) fn add_of_file(&mut self, kind: &str, typed: &str) -> Result<(), String> {
        let path =
            file::named(typed).and_then(|path| std::path::absolute(path).map_err(|e| e.to_string()))?;
        // Beside the scene's file it moves with it.
        let folder =
            self.file().and_then(|file| std::path::absolute(file).ok()?.parent().map(Path::to_owned));
        let near = folder.and_then(|folder| path.strip_prefix(folder).ok().map(Path::to_owned));
        let list =
            objects::FILES.iter().find(|(of, ..)| *of == kind).map_or(List::Source, |(_, list, ..)| *list);
        let scene = &self.model.settings.scene;
        // A mesh that cannot be read is refused below.
        let mesh = if kind.ends_with(".mesh") { Mesh::load(&path).ok() } else { None };
        let fit = mesh.map(|mesh| objects::fit(scene, mesh.bounds()));
        let change = |path: &Path| [Change::Add(list, objects::template_of_file(scene, kind, path, fit))];
        let beside = near.map(|near| change(&near)).filter(|changes| scene.edited(changes).is_ok());
        let changes = beside.unwrap_or_else(|| change(&path));
        scene.edited(&changes).map_err(|error| fault(&error))?;
        if self.edit(&changes)
            && let Some(fit) = fit
        {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            self.say(format!(
                "{name} has scale {}: it is {} m long",
                fit.scale,
                objects::tidy(fit.longest, 0.01 * fit.longest)
            ));
        }
        Ok(())
    }

    /// Selects an added or copied object, and deselects a deleted one.
    fn keep_selection(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Add(list, _) | Change::Duplicate(list, _) => {
                    let last = objects::count(&self.model.settings.scene, *list);
                    self.model.selected = Some(Selected::Object(*list, last));
                }
                Change::Delete(..) => self.model.selected = None,
                Change::Set(..) => {}
            }
        }
    }

    pub(super) fn delete_selected(&mut self) {
        if let Some(Selected::Object(list, n)) = self.model.selected {
            self.edit(&[Change::Delete(list, n)]);
        }
    }

    /// Copies the selected object with a small offset.
    pub(super) fn duplicate_selected(&mut self) {
        let Some(Selected::Object(list, n)) = self.model.selected else { return };
        let scene = &self.model.settings.scene;
        let (last, offset) = (objects::count(scene, list), 0.1 * scene.extent()[0]);
        let Ok(copied) = scene.edited(&[Change::Duplicate(list, n)]) else { return };
        let mut changes = vec![Change::Duplicate(list, n)];
        let shifts = [offset, -offset].map(|by| objects::move_changes(&copied, list, last, [by, 0.0, 0.0]));
        changes.extend(shifts.into_iter().find(|shift| copied.edited(shift).is_ok()).unwrap_or_default());
        self.edit(&changes);
    }

    /// Frames the smoke; or the whole box if there is no smoke, or if the smoke is framed already.
    pub(super) fn frame(&mut self) {
        let before = self.orbit;
        if let Some(bounds) = self.smoke_bounds() {
            self.orbit.frame_bounds(bounds, self.view.x / self.view.y);
        }
        let near = (self.orbit.target - before.target).norm() + (self.orbit.distance - before.distance).abs();
        if near < 0.02 * before.distance {
            self.frame_box();
        }
    }

    /// Frames the whole box.
    pub(super) fn frame_box(&mut self) {
        self.orbit.frame_bounds(self.box_shown().map(Vector3::from), self.view.x / self.view.y);
        self.framed = Some(self.orbit);
    }

    /// Returns the lower and upper corner of the visible smoke \[m\].
    fn smoke_bounds(&self) -> Option<[Vector3<f32>; 2]> {
        const SEEN: f32 = 0.02;
        let snapshot = self.shown_of(self.side());
        let h = snapshot.h;
        let [nx, ny, _] = snapshot.dims.array();
        let mut bounds: Option<[Vector3<f32>; 2]> = None;
        for (n, row) in snapshot.smoke.chunks_exact(nx).enumerate() {
            let is_seen = |cell: &[half::f16; 4]| cell[..3].iter().map(|x| x.to_f32()).sum::<f32>() > SEEN;
            let Some(first) = row.iter().position(is_seen) else { continue };
            let last = row.iter().rposition(is_seen).unwrap_or(first);
            let [j, k] = [n % ny, n / ny].map(|at| at as f32);
            let low = Vector3::new(first as f32, j, k) * h;
            let high = Vector3::new(last as f32 + 1.0, j + 1.0, k + 1.0) * h;
            bounds = Some(bounds.map_or([low, high], |[a, b]| [a.inf(&low), b.sup(&high)]));
        }
        let corner = Vector3::from(snapshot.corner());
        bounds.map(|ends| ends.map(|end| end + corner))
    }

    /// Returns whether the view is orthographic.
    pub fn is_parallel(&self) -> bool {
        self.orbit.parallel
    }
}

/// Formats the fault of an edit in one line. Omits its position, which is one in the edited text and in no
/// file, and the system's error number.
fn fault(error: &SceneError) -> String {
    let text = match error {
        SceneError::At(problem) => problem.message.clone(),
        other => other.to_string(),
    };
    let line = text.lines().next().unwrap_or_default();
    let (said, rest) = line.split_once(" (os error ").unwrap_or((line, ""));
    let rest = rest.split_once(')').map_or("", |(_, rest)| rest);
    format!("{said}{rest}")
}
