//! A frame of the window: new snapshots, the panel, the pictures, and the time of the next frame.

use std::collections::BTreeMap;
use std::time::Instant;

use glium::Surface;

use super::{AIRBRUSH, CALM_HAND, Outcome, Screen};
use crate::app::action::Action;
use crate::app::bare_window::title;
use crate::app::gesture::Gesture;
use crate::app::panel::{self, theme};
use crate::app::settings::Side;
use crate::app::state::Seen;
use crate::app::view_pictures::{Drawn, Pictures, Subject};
use crate::app::{AppError, overlay};
use crate::render::RenderError;

impl Screen {
    /// Returns the parts of the view with a picture each.
    pub(super) fn halves(&self) -> Vec<egui::Rect> {
        panel::comparison_view::halves(self.view, self.session.is_comparing())
    }

    /// Hands the shown snapshot to the pictures of each side. `news` tells whether it is another one than
    /// before.
    pub(super) fn upload(&mut self, news: bool) -> Result<(), RenderError> {
        let mode = self.session.mode();
        self.pictures.upload(self.session.shown_of(Side::A), mode, news)?;
        if !self.session.is_comparing() {
            self.beside = None;
            return Ok(());
        }
        let is_new = self.beside.is_none();
        let beside = match self.beside.take() {
            Some(beside) => beside,
            None => Pictures::new(&self.display, super::news(&self.proxy))?,
        };
        self.beside.insert(beside).upload(self.session.shown_of(Side::B), mode, news || is_new)
    }

    pub(super) fn redraw(&mut self) -> Result<Outcome, AppError> {
        let begin = Instant::now();
        self.session.paint(begin);
        let news = self.session.absorb(begin).is_some() | self.session.advance_playback(begin);
        self.upload(news)?;
        self.session.follow_export(begin);
        let asked = self.pass(begin);
        if self.session.gesture().is_some() || self.egui.egui_ctx().is_using_pointer() {
            self.pace.moves(begin);
        }
        self.session.sync();
        if self.titled != self.session.model.title {
            self.titled.clone_from(&self.session.model.title);
            self.window.set_title(&title(&self.titled));
        }
        self.watch.follow(self.session.file());
        let found = self.rescue.search(begin);
        self.session.offer_recovered(&found);
        let copies = self.rescue.follow(begin, |folder| self.session.unsaved_texts(folder));
        if self.session.model.recent != self.remembered.recent {
            self.remember();
        }
        self.draw(begin)?;
        self.note(begin);
        let copies = copies.map_or(Outcome::Nothing, Outcome::DrawAgainBy);
        Ok(asked.or(self.next(begin)).or(copies))
    }

    /// Lays out the panel; the view gets the rest.
    pub(super) fn show_panel(&mut self) -> Vec<Action> {
        let mut out = panel::Out::default();
        let stretched = self.pictures.level().unwrap_or(self.level).shrink > 1;
        let (session, view, pictures) = (&mut self.session, &mut self.view, &self.pictures);
        let beside = self.beside.as_ref();
        self.egui.run(&self.window, |ctx| {
            out = panel::show(ctx, &mut session.model, &session.readout);
            *view = ctx.available_rect();
            let halves = panel::comparison_view::halves(*view, session.is_comparing());
            session.set_view(halves[0].width(), halves[0].height());
            let layer = egui::LayerId::new(egui::Order::Background, egui::Id::new("over the smoke"));
            for (side, half) in Side::BOTH.into_iter().zip(halves) {
                let painter = ctx.layer_painter(layer).with_clip_rect(half);
                let pictures = beside.filter(|_| side == Side::B).unwrap_or(pictures);
                overlay::show(&painter, half, (&*session, side), stretched, |quantity| {
                    pictures.range(quantity)
                });
            }
        });
        self.places = out.places;
        out.actions
    }

    pub(super) fn draw(&mut self, now: Instant) -> Result<(), AppError> {
        let interval = self.session.interval();
        let may_take_long = self.pictures.driver().is_none() && !self.hovers_at(now);
        self.pace.hurries(!may_take_long);
        self.level = self.pace.level(now, interval);
        let refine = interval.is_none() && !self.hovers_at(now);
        let mut frame = self.display.draw();
        let [r, g, b, _] = egui::Rgba::from(theme::GROUND).to_array();
        frame.clear_color_srgb(r, g, b, 1.0);
        let drawn = self.draw_smoke(&mut frame, refine);
        self.egui.paint(&self.display, &mut frame);
        let shown = self.sending.while_sending(|| frame.finish()).map_err(|e| AppError::Lost(e.to_string()));
        self.drawn = drawn?;
        shown?;
        // After a reset of the device a driver may send pictures without an error.
        match self.display.is_context_lost() {
            true => Err(AppError::Lost("the driver lost its context".into())),
            false => Ok(()),
        }
    }

    /// Puts the pictures into the frame. Returns the one of the left side, if it is new.
    pub(super) fn draw_smoke(
        &mut self,
        frame: &mut glium::Frame,
        refine: bool,
    ) -> Result<Option<Drawn>, RenderError> {
        let parts = self.halves().into_iter().map(|half| self.pixels(half)).collect::<Vec<_>>();
        let session = &self.session;
        let mut first = None;
        let pictures = [&mut self.pictures].into_iter().chain(&mut self.beside);
        for ((side, viewport), pictures) in Side::BOTH.into_iter().zip(parts).zip(pictures) {
            if viewport[2] == 0 || viewport[3] == 0 {
                continue;
            }
            let subject = Subject {
                snapshot: session.shown(),
                side,
                look: &session.model.settings.of_side(side).look,
                camera: session.orbit.camera(),
                cursor: session.ball(),
                mode: session.mode(),
                level: self.level,
                refine,
            };
            let drawn = pictures.draw(&self.display, frame, viewport, &subject)?;
            first = first.or(drawn.filter(|_| side == Side::A));
        }
        Ok(first)
    }

    /// Returns whether the mouse has moved the ball of late: following it then has priority over refining the
    /// picture.
    pub(super) fn hovers_at(&self, now: Instant) -> bool {
        now < self.hovered + CALM_HAND
    }

    /// Returns the view in pixels: left, bottom, width, height.
    pub(super) fn viewport(&self) -> [u32; 4] {
        self.pixels(self.view)
    }

    /// Returns a part of the window in pixels: left, bottom, width, height.
    pub(super) fn pixels(&self, part: egui::Rect) -> [u32; 4] {
        let scale = self.egui.egui_ctx().pixels_per_point();
        let (width, height) = self.display.get_framebuffer_dimensions();
        let px = |pt: f32, most: u32| (pt.max(0.0) * scale).round().min(most as f32) as u32;
        let (left, right) = (px(part.min.x, width), px(part.max.x, width));
        let (top, bottom) = (px(part.min.y, height), px(part.max.y, height));
        [left, height - bottom, right.saturating_sub(left), bottom.saturating_sub(top)]
    }

    /// Records the time of the picture and writes the state.
    pub(super) fn note(&mut self, begin: Instant) {
        let end = Instant::now();
        self.frame += 1;
        if let Some(Drawn { level, ms }) = self.drawn.take() {
            let ms = ms.unwrap_or((end - begin).as_secs_f32() * 1e3);
            self.pace.drew(level, ms, end);
            self.session.readout.add_picture(ms);
        }
        self.session.readout.fps = self.pace.fps();
        let seen = Seen {
            frame: self.frame,
            viewport: self.viewport(),
            parts: self.halves().into_iter().map(|half| self.pixels(half)).collect(),
            divide: self.level.shrink * self.level.divide,
            places: self.places_in_pixels(),
        };
        if let Some(file) = &mut self.state_file {
            file.write(&self.session, seen);
        }
    }

    pub(super) fn places_in_pixels(&self) -> BTreeMap<&'static str, [f32; 4]> {
        let scale = self.egui.egui_ctx().pixels_per_point();
        let px = |r: &egui::Rect| [r.min.x, r.min.y, r.max.x, r.max.y].map(|x| (x * scale).round());
        self.places.iter().map(|(name, rect)| (*name, px(rect))).collect()
    }

    /// Returns the time of the next picture without an event.
    pub(super) fn next(&mut self, now: Instant) -> Outcome {
        let gone = self.session.notice_until().map_or(Outcome::Nothing, Outcome::DrawAgainBy);
        let page =
            self.session.frame_time().map_or(Outcome::Nothing, |time| Outcome::DrawAgainBy(now + time));
        gone.or(page).or(self.next_picture(now))
    }

    pub(super) fn next_picture(&mut self, now: Instant) -> Outcome {
        if self.session.gesture() == Some(Gesture::Paint) {
            return Outcome::DrawAgainBy(now + AIRBRUSH);
        }
        if let Some(calm) = self.pace.calm_at() {
            return Outcome::DrawAgainBy(calm);
        }
        let settled = self.pictures.is_settled() && self.beside.as_ref().is_none_or(Pictures::is_settled);
        if self.session.interval().is_some() {
            return Outcome::Nothing;
        }
        if self.hovers_at(now) {
            return Outcome::DrawAgainBy(self.hovered + CALM_HAND);
        }
        if let Some(fine) = self.pace.fine_at().filter(|fine| now < *fine) {
            return Outcome::DrawAgainBy(fine);
        }
        if settled {
            return Outcome::Nothing;
        }
        self.window.request_redraw();
        Outcome::Nothing
    }
}
