//! Meaning of mouse drags in the view. Plain data, no window.

/// A button of the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Button {
    /// The left one.
    Left,
    /// The wheel, pressed.
    Middle,
    /// The right one.
    Right,
}

/// Keys held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Shift.
    pub shift: bool,
    /// Control.
    pub ctrl: bool,
    /// Alt.
    pub alt: bool,
}

/// Effect of a drag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gesture {
    /// Paint with the brush.
    Paint,
    /// Move an object by its handle.
    Move,
    /// Turn about the target.
    Orbit,
    /// Move across the picture.
    Pan,
    /// Change the distance.
    Zoom,
}

impl Gesture {
    /// Returns the effect of a drag that begins with this button. With Alt as in Maya and Houdini; without it
    /// the left button paints.
    pub fn of(button: Button, held: Held) -> Self {
        match (button, held) {
            (Button::Left, Held { alt: true, .. }) => Self::Orbit,
            (Button::Middle, Held { alt: true, .. }) => Self::Pan,
            (Button::Right, Held { alt: true, .. }) => Self::Zoom,
            (_, Held { shift: true, .. }) => Self::Pan,
            (Button::Left, _) => Self::Paint,
            (_, Held { ctrl: true, .. }) => Self::Zoom,
            _ => Self::Orbit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drags_are_as_the_help_says() {
        let none = Held::default();
        let alt = Held { alt: true, ..none };
        let shift = Held { shift: true, ..none };
        let all = |held| [Button::Left, Button::Middle, Button::Right].map(|b| Gesture::of(b, held));
        assert_eq!(all(none), [Gesture::Paint, Gesture::Orbit, Gesture::Orbit]);
        assert_eq!(all(alt), [Gesture::Orbit, Gesture::Pan, Gesture::Zoom]);
        assert_eq!(all(shift), [Gesture::Pan; 3]);
    }
}
