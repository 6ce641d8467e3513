//! The mouse in the window: hover, buttons and wheel.

use std::time::Instant;

use nalgebra::Vector2;
use winit::dpi::PhysicalPosition;
use winit::event::{ElementState, WindowEvent};

use super::Screen;
use crate::app::gesture::{Button, Held};
use crate::app::input_names::{known, notches};
use crate::app::settings::Side;

impl Screen {
    pub(super) fn mouse(&mut self, event: &WindowEvent, held: Held, now: Instant) {
        match event {
            WindowEvent::CursorMoved { position, .. } => self.moved(*position, now),
            WindowEvent::CursorLeft { .. } => self.session.leave(),
            WindowEvent::MouseInput { state, button, .. } => {
                let Some(button) = known(*button) else {
                    return;
                };
                match state {
                    ElementState::Pressed => self.pressed(button, held, now),
                    ElementState::Released => self.session.release(button, now),
                }
            }
            WindowEvent::MouseWheel { delta, .. } if self.over_view() => {
                self.session.wheel(notches(*delta), held, now);
                self.pace.moves(now);
            }
            WindowEvent::Focused(false) => self.let_go(now),
            _ => return,
        }
        self.window.request_redraw();
    }

    fn moved(&mut self, at: PhysicalPosition<f64>, now: Instant) {
        let scale = self.egui.egui_ctx().pixels_per_point();
        self.mouse = Vector2::new(at.x as f32 / scale, at.y as f32 / scale);
        if self.session.gesture().is_some() {
            self.pace.moves(now);
        }
        if self.session.gesture().is_none() {
            let halves = self.halves();
            let in_right = halves.get(1).is_some_and(|right| right.left() <= self.mouse.x);
            self.half = Side::BOTH[usize::from(in_right)];
            self.session.point_to(self.half);
        }
        if self.session.gesture().is_some() || self.over_view() {
            self.session.hover(self.in_view(), now);
            self.hovered = now;
        } else {
            self.session.leave();
        }
    }

    fn pressed(&mut self, button: Button, held: Held, now: Instant) {
        if self.over_view() {
            self.session.press(button, held, self.in_view(), now);
            self.pace.moves(now);
        }
    }

    pub(super) fn let_go(&mut self, now: Instant) {
        for button in [Button::Left, Button::Middle, Button::Right] {
            self.session.release(button, now);
        }
    }

    /// Returns whether the mouse is over the smoke, not over the panel, the help or a popup.
    pub(super) fn over_view(&self) -> bool {
        let at = egui::pos2(self.mouse.x, self.mouse.y);
        self.view.contains(at) && !self.egui.egui_ctx().wants_pointer_input()
    }

    pub(super) fn in_view(&self) -> Vector2<f32> {
        let halves = self.halves();
        let half = halves.get(self.half as usize).unwrap_or(&halves[0]);
        self.mouse - Vector2::new(half.min.x, half.min.y)
    }
}
