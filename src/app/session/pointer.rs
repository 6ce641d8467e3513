//! The mouse over the view: effects of drags and wheel on camera, brush and smoke.

use std::time::Instant;

use nalgebra::{Vector2, Vector3};

use super::Session;
use crate::app::action::Action;
use crate::app::gesture::{Button, Gesture, Held};
use crate::app::model::Under;
use crate::app::orbit::Orbit;
use crate::app::settings::Side;
use crate::render;
use crate::worker::Command;

/// Longest pause in a stroke that counts as painting \[s\].
const LONGEST_STROKE: f32 = 0.25;

/// Names of strokes for undo.
const STROKE: &str = "stroke";
const ERASING: &str = "erasing";

/// Linear colour of an erasing ball.
const ERASER: [f32; 3] = [0.9, 0.9, 0.9];

/// Brightness of a ball outside of the box, which paints nothing.
const OUTSIDE: f32 = 0.25;

/// Notches of the wheel per point of a zooming drag.
const NOTCHES_PER_POINT: f32 = 0.04;

/// The mouse over the view.
#[derive(Default)]
pub(super) struct Pointer {
    /// Position from the top left of the view \[pt\]; `None` while elsewhere.
    pub(super) at: Option<Vector2<f32>>,
    pub(super) drag: Option<Drag>,
    /// The half of the view under the mouse, during a comparison.
    pub(super) side: Side,
}

pub(super) struct Drag {
    gesture: Gesture,
    button: Button,
    last: Vector2<f32>,
    /// End of the stroke so far, and its time.
    stroke: (Vector3<f32>, Instant),
    /// Camera before the drag.
    before: Orbit,
}

impl Session {
    /// Returns the ball to render, while the mouse is over the view.
    pub fn ball(&self) -> Option<render::Cursor> {
        let painting = match self.gesture() {
            None => {
                self.hovered_handle().is_none() && !self.pointer.at.is_some_and(|at| self.is_on_compass(at))
            }
            Some(gesture) => gesture == Gesture::Paint,
        };
        let brush = &self.model.settings.brush;
        let color = if brush.erases { ERASER } else { brush.color(brush.ink, &self.model.settings.look) };
        let dim = if self.ball_depth() < -self.cursor.radius { OUTSIDE } else { 1.0 };
        (self.pointer.at.is_some() && painting).then(|| render::Cursor {
            center: self.cursor.center.into(),
            radius: self.cursor.radius,
            color: color.map(|x| x * dim),
        })
    }

    /// Returns the distance of the middle of the ball from the nearest side of the box \[m\]; negative outside.
    pub fn ball_depth(&self) -> f32 {
        let [low, high] = self.box_shown();
        let p = self.cursor.center;
        (0..3).map(|a| (p[a] - low[a]).min(high[a] - p[a])).fold(f32::INFINITY, f32::min)
    }

    /// Values of the cell at the centre of the ball.
    pub(super) fn under(&self) -> Option<Under> {
        self.pointer.at?;
        let snapshot = self.shown_of(self.side());
        let at = (self.cursor.center - Vector3::from(snapshot.corner())) / snapshot.h;
        let dims = snapshot.dims.array();
        let inside = (0..3).all(|a| at[a] >= 0.0 && at[a] < dims[a] as f32);
        let cell = inside.then(|| snapshot.dims.index(at.x as usize, at.y as usize, at.z as usize))?;
        let values = |field: &[[half::f16; 4]]| field.get(cell).map(|values| values.map(f32::from));
        Some(Under { smoke: values(&snapshot.smoke)?, flow: values(&snapshot.velocity) })
    }

    /// Sets the half of the view that the mouse is over.
    pub fn point_to(&mut self, side: Side) {
        self.pointer.side = side;
    }

    /// Returns the present drag.
    pub fn gesture(&self) -> Option<Gesture> {
        self.pointer.drag.as_ref().map(|d| d.gesture)
    }

    /// Handles a button pressed at a point of the view.
    pub fn press(&mut self, button: Button, held: Held, at: Vector2<f32>, now: Instant) {
        if self.pointer.drag.is_some() || self.model.dialog.is_some() {
            return;
        }
        self.hover(at, now);
        let gesture = match Gesture::of(button, held) {
            Gesture::Paint if self.grab_sun(at) || self.grab(at) => Gesture::Move,
            gesture => gesture,
        };
        if gesture == Gesture::Paint {
            let paint = self.model.settings.brush.paint();
            if self.is_loading() || self.is_broken() || paint.is_nothing() {
                return;
            }
            self.model.hint = false;
            self.go_on_from_here();
            self.before(if paint.erase > 0.0 { ERASING } else { STROKE });
            self.painted.stroke();
        }
        let (stroke, before) = ((self.cursor.center, now), self.orbit);
        self.pointer.drag = Some(Drag { gesture, button, last: at, stroke, before });
    }

    /// Handles a button released anywhere.
    pub fn release(&mut self, button: Button, now: Instant) {
        if self.pointer.drag.as_ref().is_some_and(|d| d.button == button) {
            self.paint(now);
            self.let_go();
        }
    }

    /// Ends a drag where it is.
    pub(super) fn let_go(&mut self) {
        self.pointer.drag = None;
        self.turning = None;
        self.drop_object();
    }

    /// Cancels a drag: object, sun, camera and smoke are as before it. Returns whether there was one.
    pub(super) fn cancel_drag(&mut self) -> bool {
        let Some(drag) = self.pointer.drag.take() else { return false };
        let dropped_frames = self.drag_dropped_frames();
        self.put_object_back();
        self.put_sun_back();
        match drag.gesture {
            Gesture::Orbit | Gesture::Pan | Gesture::Zoom => self.orbit = drag.before,
            Gesture::Paint if matches!(self.model.history.undoes(), Some(STROKE | ERASING)) => {
                self.act(Action::Undo);
            }
            Gesture::Move if dropped_frames => self.act(Action::Undo),
            Gesture::Paint | Gesture::Move => {}
        }
        true
    }

    /// Ends the drag of an object or a stroke before an action that would change them. An undo cancels the
    /// drag, and is done with that: then returns true.
    pub(super) fn end_drag_before(&mut self, action: Action) -> bool {
        if !matches!(self.gesture(), Some(Gesture::Move | Gesture::Paint)) {
            return false;
        }
        match action {
            Action::Undo => return self.cancel_drag(),
            Action::Delete if self.gesture() == Some(Gesture::Move) => drop(self.cancel_drag()),
            Action::Redo
            | Action::Duplicate
            | Action::Clear
            | Action::Restart
            | Action::Open(_)
            | Action::Recent(_)
            | Action::Save
            | Action::Compare
            | Action::OtherSide
            | Action::EditSide(_)
            | Action::CopySide(_)
            | Action::KeepSide(_) => self.let_go(),
            _ => {}
        }
        false
    }

    /// Handles the mouse at a point of the view, or dragged beyond its edge.
    pub fn hover(&mut self, at: Vector2<f32>, now: Instant) {
        self.pointer.at = Some(at);
        let moved = self.pointer.drag.as_mut().map(|d| at - std::mem::replace(&mut d.last, at));
        match (self.gesture(), moved) {
            (Some(Gesture::Move), _) if self.turning.is_some() => self.drag_sun(at),
            (Some(Gesture::Move), _) => self.drag_object(at),
            (Some(Gesture::Orbit), Some(by)) => self.orbit.turn(by),
            (Some(Gesture::Pan), Some(by)) => self.orbit.pan(by, self.view.y),
            (Some(Gesture::Zoom), Some(by)) => {
                self.orbit.zoom((by.x - by.y) * NOTCHES_PER_POINT, self.extent());
            }
            _ => self.cursor.point_at(at, self.view, &self.orbit, self.box_shown()),
        }
        self.paint(now);
    }

    /// Handles the mouse leaving the view.
    pub fn leave(&mut self) {
        if self.pointer.drag.is_none() {
            self.pointer.at = None;
        }
    }

    /// Handles the wheel; turned away from the user is positive.
    pub fn wheel(&mut self, notches: f32, held: Held, now: Instant) {
        if held.ctrl {
            self.cursor.push_away(notches, &self.orbit, self.box_shown());
        } else {
            self.orbit.zoom(notches, self.extent());
            if let Some(at) = self.pointer.at {
                self.cursor.point_at(at, self.view, &self.orbit, self.box_shown());
            }
        }
        self.paint(now);
    }

    /// Adds the dabs of the stroke since the last call.
    pub fn paint(&mut self, now: Instant) {
        if self.is_loading() {
            return;
        }
        let paint = self.model.settings.brush.paint();
        let Some(drag) = self.pointer.drag.as_mut().filter(|d| d.gesture == Gesture::Paint) else {
            return;
        };
        let (from, since) = std::mem::replace(&mut drag.stroke, (self.cursor.center, now));
        let dt = now.saturating_duration_since(since).as_secs_f32().min(LONGEST_STROKE);
        for dab in self.cursor.stroke(from, dt, &paint) {
            self.worker.send(Command::Dab(dab));
        }
    }
}
