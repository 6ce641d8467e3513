//! Actions of keys and buttons: one table for the keyboard, the labels beside the buttons and the help.

use super::orbit::Standpoint;
use super::settings::{Ink, Side};

/// An action that one key or one click requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Run or pause. If already pausing, cancel the present step.
    RunPause,
    /// Pause and take one step.
    Step,
    /// Empty the box.
    Clear,
    /// Show the density or the velocity.
    SwitchView,
    /// Select this ink.
    Pick(Ink),
    /// Frame the whole domain.
    Frame,
    /// Switch between perspective and parallel view.
    Parallel,
    /// Switch the brush between adding and erasing.
    Erase,
    /// Delete the selected object.
    Delete,
    /// Copy the selected object.
    Duplicate,
    /// Choose a file and add an object of it, of a kind of [`objects::FILES`](super::objects::FILES).
    AddOfFile(&'static str),
    /// Look along an axis.
    Stand(Standpoint),
    /// Undo the last change.
    Undo,
    /// Redo the last undone change.
    Redo,
    /// Show or hide the panel.
    TogglePanel,
    /// Show or hide the help.
    ToggleHelp,
    /// Save a picture.
    Picture,
    /// Cancel the innermost thing: dialog, help, drag, playback, export, edits, search, selection; otherwise
    /// close the window.
    Exit,
    /// Close the window, after a question if anything would be lost.
    Leave,
    /// Close the window and lose unsaved changes.
    Discard,
    /// Accept the open dialog.
    Accept,
    /// Choose the file of the open dialog in the desktop's file chooser.
    Browse,
    /// Play the recorded frames, or stop.
    Play,
    /// Show the present again.
    Present,
    /// Show the frame this many frames later.
    Turn(i8),
    /// Restart the scene with the present settings.
    Restart,
    /// Switch to a built-in scene.
    Open(&'static str),
    /// Switch to a recent scene file.
    Recent(usize),
    /// Open the section of the export.
    ShowExport,
    /// Export the recorded frames.
    Export,
    /// Pause or continue the export.
    HoldExport,
    /// Cancel the export.
    CancelExport,
    /// Compare two settings side by side, or end the comparison and keep the edited side.
    Compare,
    /// Edit the other of two compared sides.
    OtherSide,
    /// Edit this one of two compared sides.
    EditSide(Side),
    /// Copy this side to the other one.
    CopySide(Side),
    /// End the comparison and keep this side.
    KeepSide(Side),
    /// Choose a scene file and switch to it.
    OpenFile,
    /// Save the scene to its file; without one, choose a file.
    Save,
    /// Choose a file and save the scene to it.
    SaveAs,
}

/// A key and its action.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Label on the key, letters in capitals.
    pub key: &'static str,
    /// With the control key held.
    pub ctrl: bool,
    /// With the shift key held.
    pub shift: bool,
    /// Action.
    pub action: Action,
    /// Description of the action.
    pub help: &'static str,
}

const fn ctrl(key: &'static str, shift: bool, action: Action, help: &'static str) -> Binding {
    Binding { key, ctrl: true, shift, action, help }
}

const fn plain(key: &'static str, action: Action, help: &'static str) -> Binding {
    Binding { key, ctrl: false, shift: false, action, help }
}

/// All keys, in the order the help shows them.
pub const BINDINGS: [Binding; 33] = [
    plain("Space", Action::RunPause, "run, pause"),
    plain(".", Action::Step, "one step"),
    plain("Home", Action::Restart, "start over"),
    plain("C", Action::Clear, "clear the box"),
    plain("P", Action::Play, "play the recorded frames"),
    plain("⬅", Action::Turn(-1), "one recorded frame back"),
    plain("➡", Action::Turn(1), "one recorded frame on"),
    plain("V", Action::SwitchView, "density or velocity"),
    plain("R", Action::Pick(Ink::Red), "red smoke"),
    plain("G", Action::Pick(Ink::Green), "green smoke"),
    plain("B", Action::Pick(Ink::Blue), "blue smoke"),
    plain("W", Action::Pick(Ink::White), "white: all three"),
    plain("E", Action::Erase, "erase with the brush"),
    plain("F", Action::Frame, "frame the smoke, then the box"),
    plain("1", Action::Stand(Standpoint::Front), "front view"),
    plain("3", Action::Stand(Standpoint::Right), "right view"),
    plain("7", Action::Stand(Standpoint::Top), "top view"),
    plain("5", Action::Parallel, "orthographic or perspective view"),
    plain("K", Action::Compare, "compare two settings side by side, end"),
    plain("X", Action::OtherSide, "edit the other of the two"),
    plain("Del", Action::Delete, "delete the selected object"),
    ctrl("D", false, Action::Duplicate, "copy the selected object"),
    ctrl("Z", false, Action::Undo, "undo"),
    ctrl("Y", false, Action::Redo, "redo"),
    ctrl("Z", true, Action::Redo, "redo"),
    ctrl("O", false, Action::OpenFile, "open a scene file"),
    ctrl("S", false, Action::Save, "save the scene"),
    ctrl("S", true, Action::SaveAs, "save it as another file"),
    ctrl("E", false, Action::ShowExport, "export the recorded frames"),
    plain("Tab", Action::TogglePanel, "show or hide the panel"),
    plain("F1", Action::ToggleHelp, "this help"),
    plain("F12", Action::Picture, "save a picture"),
    plain("Esc", Action::Exit, "cancel the innermost thing, leave"),
];

/// Effects of the mouse in the view, for the help.
pub const MOUSE: [(&str, &str); 9] = [
    ("Left drag", "paint with the ball"),
    ("Left drag on a handle", "move an object"),
    ("Left drag on the compass", "turn the sun"),
    ("Ctrl + wheel", "move the ball in depth"),
    ("Right or middle drag", "orbit"),
    ("Shift + right drag", "pan"),
    ("Wheel", "zoom"),
    ("Alt + left, middle, right", "orbit, pan, zoom"),
    ("Double-click a label", "back to its default"),
];

/// Names of the recent scenes in tests.
const RECENT_NAMES: [&str; 8] =
    ["recent.0", "recent.1", "recent.2", "recent.3", "recent.4", "recent.5", "recent.6", "recent.7"];

/// Returns the action of a key.
pub fn of_key(key: &str, ctrl: bool, shift: bool) -> Option<Action> {
    let fits =
        |b: &&Binding| b.key.eq_ignore_ascii_case(key) && b.ctrl == ctrl && (b.shift == shift || !ctrl);
    BINDINGS.iter().find(fits).map(|b| b.action)
}

impl Binding {
    /// Returns the label beside a button.
    pub fn label(&self) -> String {
        let ctrl = if self.ctrl { "Ctrl " } else { "" };
        let shift = if self.shift { "Shift " } else { "" };
        format!("{ctrl}{shift}{}", self.key)
    }
}

impl Action {
    /// Returns the key of the action, as shown beside a button.
    pub fn key(self) -> String {
        BINDINGS.iter().find(|b| b.action == self).map(Binding::label).unwrap_or_default()
    }

    /// Returns the short description.
    pub fn help(self) -> &'static str {
        let own = match self {
            Self::CopySide(_) => "Copies settings and smoke. Undo brings the old ones back.",
            Self::KeepSide(_) => "Ends the comparison with this side. Undo brings both back.",
            _ => "",
        };
        BINDINGS.iter().find(|b| b.action == self).map_or(own, |b| b.help)
    }

    /// Returns the name of its button in tests.
    pub fn name(self) -> &'static str {
        match self {
            Self::RunPause => "run",
            Self::Step => "step",
            Self::Clear => "clear",
            Self::SwitchView => "view",
            Self::Pick(_) => "pick",
            Self::Frame => "frame",
            Self::Stand(_) => "stand",
            Self::Parallel => "parallel",
            Self::Erase => "erase",
            Self::Delete => "delete",
            Self::Duplicate => "duplicate",
            Self::AddOfFile(kind) => kind,
            Self::Recent(at) => RECENT_NAMES[at.min(RECENT_NAMES.len() - 1)],
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::TogglePanel => "panel",
            Self::ToggleHelp => "help",
            Self::Picture => "picture",
            Self::Exit => "cancel",
            Self::Play => "timeline.play",
            Self::Present => "timeline.present",
            Self::Turn(_) => "timeline.turn",
            Self::Leave => "leave",
            Self::Discard => "discard",
            Self::Accept => "accept",
            Self::Browse => "browse",
            Self::Restart => "restart",
            Self::Open(name) => name,
            Self::ShowExport => "timeline.export",
            Self::Export => "export",
            Self::HoldExport => "export.hold",
            Self::CancelExport => "export.cancel",
            Self::Compare => "compare",
            Self::OtherSide => "other-side",
            Self::EditSide(side) => ["edit.a", "edit.b"][side as usize],
            Self::CopySide(side) => ["copy.a", "copy.b"][side as usize],
            Self::KeepSide(side) => ["keep.a", "keep.b"][side as usize],
            Self::OpenFile => "open",
            Self::Save => "save",
            Self::SaveAs => "save-as",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_find_their_actions() {
        assert_eq!(of_key("space", false, false), Some(Action::RunPause));
        assert_eq!(of_key("v", false, true), Some(Action::SwitchView), "caps lock or shift do not matter");
        assert_eq!(of_key("z", true, false), Some(Action::Undo));
        assert_eq!(of_key("Z", true, true), Some(Action::Redo));
        assert_eq!(of_key("z", false, false), None);
        assert_eq!(of_key("c", true, false), None, "a copy is not a clear");
    }

    #[test]
    fn no_key_means_two_things() {
        for (n, a) in BINDINGS.iter().enumerate() {
            let same = |b: &Binding| (a.key, a.ctrl, a.shift) == (b.key, b.ctrl, b.shift);
            assert!(!BINDINGS[n + 1..].iter().any(same), "{} is bound twice", a.label());
        }
    }

    #[test]
    fn labels_are_as_on_the_keyboard() {
        assert_eq!(Action::Redo.key(), "Ctrl Y");
        assert_eq!(Action::Step.key(), ".");
    }
}
