//! File choosers and pictures of the view, which may take long.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{Message, Outcome, Screen};
use crate::app::export::beside_each_other;
use crate::app::file_chooser::{self, Answer};
use crate::app::model::{Dialog, Purpose};
use crate::app::screenshot::{self, PictureError};
use crate::app::session::compare::of_side;
use crate::app::settings::Side;
use crate::app::view_pictures::Pictures;
use crate::render::{CpuRenderer, Image, Quality, RenderError, View};

/// Notice where no file can be chosen.
const NO_CHOOSER: &str = "This desktop has no file chooser (xdg-desktop-portal or zenity): type the path.";

impl Screen {
    /// Opens the desktop's chooser for the open dialog, one at a time.
    pub(super) fn browse(&mut self) {
        let Some(Dialog::Path(form)) = &self.session.model.dialog else {
            return;
        };
        if std::mem::replace(&mut self.asking, true) {
            return;
        }
        let (purpose, suggestion) = (form.purpose, PathBuf::from(form.text.clone()));
        let proxy = self.proxy.clone();
        // The loop ends only after the window.
        let then = move |answer| drop(proxy.send_event(Message::Answered(purpose, answer)));
        file_chooser::ask(purpose, &self.window, &suggestion, then);
    }

    /// Passes the chosen file to the dialog that requested it.
    pub(super) fn answered(&mut self, purpose: Purpose, answer: Answer) {
        self.asking = false;
        self.window.request_redraw();
        let Some(Dialog::Path(form)) = &mut self.session.model.dialog else {
            return;
        };
        match answer {
            Answer::Chosen(path) if form.purpose == purpose => {
                (form.text, form.error) = (path.display().to_string(), None);
            }
            Answer::Chosen(_) | Answer::Nothing => {}
            Answer::NoChooser => form.error = Some(NO_CHOOSER.into()),
        }
    }

    /// Saves a picture of the view, rendered again finely and without the panel.
    pub(super) fn take_picture(&mut self, now: Instant) -> Outcome {
        let (camera, mode) = (self.session.orbit.camera(), self.session.mode());
        let settings = &self.session.model.settings;
        let name = settings.scene.name.clone();
        let parts = self.halves().into_iter().map(|half| self.pixels(half)).zip(Side::BOTH);
        let parts = parts.map(|([_, _, width, height], side)| (side, [width, height])).collect::<Vec<_>>();
        if self.pictures.driver().is_none() {
            let snapshot = self.session.shown().clone();
            let sides =
                parts.into_iter().map(|(side, size)| (side, size, settings.of_side(side).look.clone()));
            let sides = sides.collect::<Vec<_>>();
            let proxy = self.proxy.clone();
            // The loop ends only after the window.
            std::thread::spawn(move || {
                let images = sides.iter().map(|(side, size, look)| {
                    let mut renderer = CpuRenderer::new();
                    renderer.set_quality(Quality::of_file(&camera));
                    let view = View { look, camera: &camera, cursor: None, mode };
                    Ok(renderer.render(of_side(&snapshot, *side), &view, *size, &|_| ())?)
                });
                drop(proxy.send_event(Message::Pictured(save_picture(&name, images))));
            });
            return Outcome::Nothing;
        }
        let renderers = [&mut self.pictures].into_iter().chain(&mut self.beside).filter_map(Pictures::driver);
        let images = parts.into_iter().zip(renderers).map(|((side, size), renderer)| {
            let view = View { look: &settings.of_side(side).look, camera: &camera, cursor: None, mode };
            renderer.set_quality(Quality::of_file(&camera));
            renderer.set_refine(true);
            if renderer.needs_upload(mode) {
                renderer.upload(of_side(self.session.shown(), side), mode)?;
            }
            screenshot::take(renderer, &self.display, size, &view)
        });
        let told = save_picture(&name, images);
        Outcome::DrawAgainBy(self.session.tell(told, now))
    }
}

/// Saves the pictures of all sides, side by side. Returns the notice.
fn save_picture(scene: &str, images: impl Iterator<Item = Result<Image, PictureError>>) -> String {
    let saved = images.collect::<Result<Vec<_>, _>>().and_then(|images| {
        let image = images.into_iter().reduce(|a, b| beside_each_other(&a, &b));
        let image = image.ok_or(RenderError::Gl("a picture", "nothing is shown".into()))?;
        screenshot::save(Path::new("."), scene, &image)
    });
    match saved {
        Ok(path) => format!("Saved {}", std::path::absolute(&path).unwrap_or(path).display()),
        Err(error) => format!("No picture: {error}"),
    }
}
