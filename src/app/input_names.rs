//! Keys, buttons and wheel of winit in the terms of the session.

use winit::event::{MouseButton, MouseScrollDelta};
use winit::keyboard::{Key, NamedKey};

use super::gesture::Button;

/// Returns the name of a key in the table of bindings.
pub(super) fn name(key: &Key) -> Option<&str> {
    Some(match key {
        Key::Named(NamedKey::Space) => "Space",
        Key::Named(NamedKey::Tab) => "Tab",
        Key::Named(NamedKey::Escape) => "Esc",
        Key::Named(NamedKey::ArrowLeft) => "⬅",
        Key::Named(NamedKey::ArrowRight) => "➡",
        Key::Named(NamedKey::Home) => "Home",
        Key::Named(NamedKey::Delete) => "Del",
        Key::Named(NamedKey::F1) => "F1",
        Key::Named(NamedKey::F12) => "F12",
        Key::Character(text) => text,
        _ => return None,
    })
}

/// Returns the button for a button of the mouse, if the view handles it.
pub(super) fn known(button: MouseButton) -> Option<Button> {
    match button {
        MouseButton::Left => Some(Button::Left),
        MouseButton::Middle => Some(Button::Middle),
        MouseButton::Right => Some(Button::Right),
        _ => None,
    }
}

/// Notches of the wheel; a touchpad counts its pixels.
pub(super) fn notches(delta: MouseScrollDelta) -> f32 {
    match delta {
        MouseScrollDelta::LineDelta(_, y) => y,
        MouseScrollDelta::PixelDelta(by) => by.y as f32 / 50.0,
    }
}
