//! Comparing two settings side by side: an equal copy of the simulation runs beside it, under one camera and one
//! clock.

use super::{LoadCause, Pending, Session};
use crate::app::orbit::Orbit;
use crate::app::settings::{Settings, Side, needs_load};
use crate::scene::memory;
use crate::snapshot::Snapshot;
use crate::worker::{Builder, Command, Simulation};

/// Returns the builder of the solver of a side.
pub(super) fn builder(settings: &Settings, side: Side) -> Builder {
    let scene = settings.of_side(side).as_scene();
    Box::new(move || Ok(Box::new(scene.solver()?) as Box<dyn Simulation>))
}

impl Session {
    /// Returns whether two settings are compared.
    pub fn is_comparing(&self) -> bool {
        self.model.settings.is_compared()
    }

    /// Returns the edited side.
    pub fn side(&self) -> Side {
        self.model.settings.side
    }

    /// Returns the shown snapshot of a side. Frames from before the comparison are those of both sides.
    pub fn shown_of(&self, side: Side) -> &Snapshot {
        of_side(self.shown(), side)
    }

    /// Begins a comparison, or ends it and keeps the edited side.
    pub(super) fn compare_or_end(&mut self) {
        if self.is_comparing() {
            self.end_comparison(self.side());
        } else {
            self.begin_comparison();
        }
    }

    /// Starts an equal copy beside the simulation.
    fn begin_comparison(&mut self) {
        let scene = &self.model.settings.scene;
        let (needed, limit) =
            (2 * memory::estimate(&scene.config, !scene.solids.is_empty()), memory::default_limit());
        if needed > limit {
            let [needed, limit] = [needed, limit].map(memory::human);
            return self
                .say(format!("Two of these take {needed}, over the limit of {limit}: lower the resolution"));
        }
        let settings = self.model.settings.compared();
        self.exchange_with_undo(settings, "compare", false);
        self.say("Two copies, A and B: X changes which one the panel edits, K ends".into());
    }

    /// Ends the comparison and keeps one side; undo brings both back.
    pub(super) fn end_comparison(&mut self, keep: Side) {
        if self.is_comparing() {
            let settings = self.model.settings.alone(keep);
            let what = format!("end of the comparison, {} kept", keep.letter());
            self.exchange_with_undo(settings, &what, keep == Side::B);
        }
    }

    /// Copies settings and smoke of a side to the other one.
    pub(super) fn copy_side(&mut self, from: Side) {
        if !self.is_comparing() {
            return;
        }
        let edited = self.side();
        let settings = self.model.settings.alone(from).compared().edited_on(edited);
        let what = format!("copy {} to {}", from.letter(), from.other().letter());
        self.exchange_with_undo(settings, &what, from == Side::B);
        self.say(format!("{} is now a copy of {}", from.other().letter(), from.letter()));
    }

    /// Edits the given side in the panel.
    pub(super) fn edit_side(&mut self, side: Side) {
        if self.is_comparing() && !self.is_loading() && side != self.side() {
            self.model.settings = self.model.settings.clone().edited_on(side);
            self.model.selected = None;
            self.moving = None;
            self.readout.forget_steps();
            self.readout.stats = self.shown_of(side).stats.clone();
        }
    }

    fn exchange_with_undo(&mut self, settings: Settings, what: &str, swap: bool) {
        if self.is_loading() || self.is_broken() {
            return;
        }
        self.worker.hold();
        self.go_on_from_here();
        let state = self.store();
        if swap {
            self.worker.send(Command::Swap);
        }
        self.exchange(settings, LoadCause::Opened(state, what.to_owned()), swap);
        self.worker.release();
    }

    /// Returns whether new settings only begin or end a comparison: then the simulation goes on.
    pub(super) fn only_compares(&self, settings: &Settings) -> bool {
        let now = &self.model.settings;
        now.is_compared() != settings.is_compared()
            && !needs_load(&now.of_side(Side::A).scene, &settings.of_side(Side::A).scene)
    }

    /// Requests the second simulation, or its end. `swapped` tells whether the two were exchanged before.
    pub(super) fn exchange(&mut self, settings: Settings, cause: LoadCause, swapped: bool) {
        let beside = settings.is_compared().then(|| builder(&settings, Side::B));
        self.worker.send(Command::Compare(beside));
        self.loads += 1;
        let present = if swapped { Side::B } else { Side::A };
        let old = self.sent.settings.of_side(present).clone();
        self.send_changes(Side::A, &old, settings.of_side(Side::A));
        self.model.loading = Some(format!("{} beside", settings.scene.name));
        self.pending = Some(Pending { load: self.loads, settings, cause, anew: false });
    }

    /// Sends the differences between old and new settings of a side.
    pub(super) fn send_changes(&self, side: Side, old: &Settings, new: &Settings) {
        let send = |command| match side {
            Side::A => self.worker.send(command),
            Side::B => self.worker.send(Command::Beside(Box::new(command))),
        };
        if new.scene.sources != old.scene.sources {
            send(Command::SetSources(new.scene.sources.clone()));
        }
        if new.scene.forces != old.scene.forces {
            send(Command::SetForces(new.scene.forces.clone()));
        }
        if new.scene.solids != old.scene.solids {
            send(Command::SetSolids(new.scene.solids.clone()));
        }
        if new.params != old.params {
            send(Command::SetParams(new.params.clone()));
        }
    }

    /// Returns whether the camera is that of the scene, apart from the fit to the view.
    pub(super) fn stands_as_opened(&self) -> bool {
        self.orbit == self.opened || self.orbit == Orbit::of(&self.model.settings.scene.camera)
    }
}

/// Returns the part of a snapshot that shows a side.
pub fn of_side(snapshot: &Snapshot, side: Side) -> &Snapshot {
    match (side, &snapshot.beside) {
        (Side::B, Some(beside)) => beside,
        _ => snapshot,
    }
}
