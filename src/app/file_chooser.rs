//! The file chooser of the system, on a separate thread, so that the window continues meanwhile.
//!
//! On Linux it is the chooser of the desktop (xdg-desktop-portal over D-Bus, looked up when needed); without
//! one, zenity.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::{Duration, Instant};

use rfd::{AsyncFileDialog, FileHandle};
use winit::window::Window;

use super::model::Purpose;
use super::objects;

/// Result of the chooser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// A chosen file.
    Chosen(PathBuf),
    /// The chooser was closed without a choice.
    Nothing,
    /// There is no chooser.
    NoChooser,
}

/// Pending choice.
type Choice = Pin<Box<dyn Future<Output = Option<FileHandle>> + Send>>;

/// A chooser that ends sooner than this was never shown: no person closes one so quickly.
const SOONEST: Duration = Duration::from_millis(250);

/// Opens the chooser at `suggestion`; calls `then` from another thread.
pub(super) fn ask(
    purpose: Purpose,
    window: &Window,
    suggestion: &Path,
    then: impl FnOnce(Answer) + Send + 'static,
) {
    let dialog = AsyncFileDialog::new().set_parent(window);
    let mut dialog = match purpose {
        Purpose::Add(kind) => {
            let endings =
                objects::FILES.iter().find(|(of, ..)| *of == kind).map_or(&[][..], |(.., all)| *all);
            dialog.add_filter("Files", endings)
        }
        Purpose::Open | Purpose::Save => dialog.add_filter("Scenes", &["toml"]),
    };
    if let Some(folder) = std::path::absolute(suggestion).ok().as_deref().and_then(Path::parent) {
        dialog = dialog.set_directory(folder);
    }
    let name = suggestion.file_name().unwrap_or_default().to_string_lossy();
    // Some systems require that choosers are made on this thread.
    let choice: Choice = match purpose {
        Purpose::Add(_) => Box::pin(dialog.set_title("Add an object of a file").pick_file()),
        Purpose::Open => Box::pin(dialog.set_title("Open a scene").pick_file()),
        Purpose::Save => Box::pin(dialog.set_title("Save the scene").set_file_name(name).save_file()),
    };
    std::thread::spawn(move || {
        let began = Instant::now();
        let chosen = pollster::block_on(choice).map(|file| file.path().to_owned());
        then(answer(chosen, began.elapsed()));
    });
}

fn answer(chosen: Option<PathBuf>, after: Duration) -> Answer {
    match chosen {
        Some(path) => Answer::Chosen(path),
        None if after < SOONEST => Answer::NoChooser,
        None => Answer::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_chooser_is_distinguished_from_a_closed_one() {
        assert_eq!(answer(None, Duration::from_millis(20)), Answer::NoChooser);
        assert_eq!(answer(None, Duration::from_secs(2)), Answer::Nothing);
        let path = PathBuf::from("a.toml");
        assert_eq!(answer(Some(path.clone()), Duration::ZERO), Answer::Chosen(path));
    }
}
