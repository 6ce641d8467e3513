//! The solids of a running solver: where they stand now, and what that means for the grid.

use super::drag::Drag;
use super::faces::Scene;
use super::near::{Near, Shift, Way};
use super::voxels::{Frame, SOLID, Voxels};
use super::{Solid, SolidPose};
use crate::grid::Faces;
use crate::solver::Config;
use crate::solver::archive::{Archive, Saved, StateError};
use crate::solver::sides::{GhostRules, SampleBounds};

/// Air that crosses more cells than this in a substep finds no memory for its surroundings prepared.
const FASTEST: f32 = 8.0;

/// How deep the surroundings of solids are that traces over `most` cells could take through them: interpolation looks up to
/// two cells beyond a departure point.
fn depth(most: f32) -> u32 {
    most.ceil() as u32 + 2
}

/// Solids at one instant and at the beginning of the step.
pub struct Obstacles {
    solids: Vec<Solid>,
    frame: Frame,
    /// The faces of each component that the flow decides.
    ranges: [[[isize; 2]; 3]; 3],
    /// How they stand now.
    pub poses: Vec<SolidPose>,
    /// What they leave of the grid now.
    pub voxels: Voxels,
    /// The flags of its cells when the step began, if they have moved since.
    before: Vec<u8>,
    have_moved: bool,
    near: Near,
    /// How each has moved in this step.
    shifts: Vec<Shift>,
    /// What viscosity and diffusion meet, once they have asked.
    drag: Option<Box<Drag>>,
    /// What each has gained from the air since [`clear_momentum`](Self::clear_momentum), as velocity of one cell \[m/s\].
    momentum: Vec<[f64; 3]>,
    /// The part of the pressure in them.
    pressure_forces: Vec<[f64; 3]>,
}

/// How solids stand at one instant, and what the air has given them since the step began.
#[derive(Clone, Debug)]
pub struct Standing {
    poses: Vec<SolidPose>,
    momentum: Vec<[f64; 3]>,
    pressure_forces: Vec<[f64; 3]>,
    /// Viscosity or diffusion have met them: from then on faces inside them rest.
    dragged: bool,
}

impl Obstacles {
    /// `solids` as they stand at `time`, and as they move in the `dt` after it, in the box of `config`.
    pub fn new(walls: &GhostRules, config: &Config, solids: Vec<Solid>, [time, dt]: [f64; 2]) -> Self {
        let (layout, h) = (walls.layout(), config.h);
        let frame = Frame { layout, h, periodic: walls.periodic(), walls: walls.solid_sides() };
        let poses: Vec<SolidPose> = solids.iter().map(|solid| solid.pose(time, dt as f32)).collect();
        let voxels = Voxels::new(frame, &poses);
        let ranges = [0, 1, 2].map(|component| walls.face_ranges(component));
        let shifts = vec![Shift::default(); poses.len()];
        let momentum = vec![[0.0; 3]; poses.len()];
        // Once as deep as ever, so that there is room when the air is as fast.
        let mut near = Near::new(layout);
        near.find(&Scene { frame, poses: &poses }, &voxels, depth(config.time.cfl.min(FASTEST)));
        near.forget();
        Self {
            solids,
            frame,
            ranges,
            poses,
            voxels,
            before: vec![0; layout.size()],
            have_moved: false,
            near,
            shifts,
            drag: None,
            pressure_forces: momentum.clone(),
            momentum,
        }
    }

    /// The solids.
    pub fn solids(&self) -> &[Solid] {
        &self.solids
    }

    /// Lets the same solids take other ways.
    pub fn guide(&mut self, solids: Vec<Solid>) {
        assert_eq!(self.solids.len(), solids.len(), "other solids");
        self.solids = solids;
    }

    /// How they stand now.
    pub fn standing(&self) -> Standing {
        let Self { poses, momentum, pressure_forces, drag, .. } = self;
        let (poses, momentum, pressure_forces) = (poses.clone(), momentum.clone(), pressure_forces.clone());
        Standing { poses, momentum, pressure_forces, dragged: drag.is_some() }
    }

    /// Puts the same solids where they stood.
    pub fn stand(&mut self, standing: &Standing) {
        self.poses.clone_from(&standing.poses);
        self.momentum.clone_from(&standing.momentum);
        self.pressure_forces.clone_from(&standing.pressure_forces);
        self.have_moved = false;
        self.voxels.update(self.frame, &self.poses);
        self.near.forget();
        self.drag = None;
        if standing.dragged {
            self.drag();
        }
    }

    /// Largest velocity component of a point of a solid in the `dt` after `time` \[m/s\].
    pub fn speed(&self, time: f64, dt: f32) -> f32 {
        self.solids.iter().map(|solid| solid.fastest(time, dt)).fold(0.0, f32::max)
    }

    /// Moves them to where they stand at `time`, with their mean velocity from `before` to `after` it \[s\]: over as long on
    /// either side that is theirs at `time`, to second order. True if the faces they close have changed.
    pub fn advance(&mut self, time: f64, [before, after]: [f32; 2]) -> bool {
        let (mut moved, mut turned) = (false, false);
        for ((solid, pose), shift) in self.solids.iter().zip(&mut self.poses).zip(&mut self.shifts) {
            let now = solid.stand(pose, time, [before, after]);
            *shift = Shift::between(pose, &now, self.frame.h);
            let swerves = now.velocity != pose.velocity;
            // The faces of what turns have velocities of their own, which are found with them.
            moved |= shift.is_some() || swerves && now.turns();
            turned |= swerves;
            *pose = now;
        }
        self.have_moved = moved;
        if moved {
            std::mem::swap(&mut self.before, &mut self.voxels.flags);
            self.voxels.update(self.frame, &self.poses);
            self.near.forget();
        } else {
            self.voxels.set_velocities(&self.poses);
        }
        if let Some(drag) = self.drag.as_mut().filter(|_| moved || turned) {
            drag.update(self.frame, &self.poses, &self.voxels, self.ranges);
        }
        moved
    }

    /// After the state was replaced: works out anew what follows from how they stand.
    pub fn restored(&mut self) {
        let Self { frame, poses, voxels, near, drag, ranges, .. } = self;
        voxels.update(*frame, poses);
        near.forget();
        if let Some(drag) = drag {
            drag.update(*frame, poses, voxels, *ranges);
        }
    }

    /// What viscosity and diffusion meet, and the momentum of each solid, to be added to \[m/s\].
    pub fn drag(&mut self) -> (&mut Drag, &mut [[f64; 3]]) {
        let Self { frame, poses, voxels, drag, momentum, ranges, .. } = self;
        let new = || {
            let mut drag = Box::new(Drag::new(poses.len()));
            drag.update(*frame, poses, voxels, *ranges);
            drag
        };
        (drag.get_or_insert_with(new), momentum)
    }

    /// What each solid has gained from the air, as velocity of the air in one cell \[m/s\].
    pub fn momentum(&self) -> &[[f64; 3]] {
        &self.momentum
    }

    /// The part of the pressure in [`momentum`](Self::momentum).
    pub fn pressure_forces(&self) -> &[[f64; 3]] {
        &self.pressure_forces
    }

    /// Adds what the pressure has pushed each solid; `difference(component, face)` is the undivided difference of
    /// pressure times Δt/h across a face, below minus above \[m/s\].
    pub fn add_pressure_forces(&mut self, difference: impl Fn(usize, u32) -> f32) {
        for (component, (faces, owners)) in self.voxels.cuts.faces.iter().zip(&self.voxels.owners).enumerate()
        {
            for (cut, owner) in faces.iter().zip(owners) {
                let closed = 1.0 - f64::from(cut.open);
                let force = closed * f64::from(difference(component, cut.at));
                self.momentum[usize::from(*owner)][component] += force;
                self.pressure_forces[usize::from(*owner)][component] += force;
            }
        }
    }

    /// Adds what forces and the pressure have given to faces that solids hold, in a `velocity` just projected.
    pub fn count(&mut self, velocity: &Faces) {
        if let Some(drag) = &self.drag {
            drag.count(velocity, &mut self.momentum);
        }
    }

    /// As [`count`](Self::count), for the reflection of `velocity`; lets the faces that solids hold in it rest.
    pub fn rebound(&mut self, velocity: &Faces, reflected: &mut Faces) {
        if let Some(drag) = &self.drag {
            drag.count_reflected(velocity, reflected, &mut self.momentum);
            drag.rest(reflected);
        }
    }

    /// As [`count`](Self::count), for a velocity that was `before` and is `after` a change.
    pub fn count_change(&mut self, before: &Faces, after: &Faces) {
        if let Some(drag) = &self.drag {
            drag.count_reflected(before, after, &mut self.momentum);
        }
    }

    /// Lets faces that solids hold rest, after air was advected.
    pub fn rest(&self, velocity: &mut Faces) {
        if let Some(drag) = &self.drag {
            drag.rest(velocity);
        }
    }

    /// Starts counting anew.
    pub fn clear_momentum(&mut self) {
        self.momentum.fill([0.0; 3]);
        self.pressure_forces.fill([0.0; 3]);
    }

    /// Whether a solid has moved in this step.
    pub fn have_moved(&self) -> bool {
        self.have_moved
    }

    /// Carries the scalars of the cells near solids from `field`, whose air has come `back` cells, at most `most`.
    pub fn advect(&mut self, bounds: &SampleBounds, back: &[[f32; 4]], most: f32, field: &[[f32; 4]]) {
        let depth = depth(most);
        if self.near.depth() < depth {
            self.near.find(&Scene { frame: self.frame, poses: &self.poses }, &self.voxels, depth);
        }
        let after = &self.voxels.flags;
        let before = if self.have_moved { &self.before } else { after };
        let way =
            Way { bounds, before, after, poses: &self.poses, shifts: &self.shifts, h: self.frame.h, back };
        self.near.advect(self.frame.layout, &way, field);
    }

    /// Puts what [`advect`](Self::advect) found into `field`, times `decay`; nothing is left inside solids.
    pub fn put(&self, decay: &[f32; 4], field: &mut [[f32; 4]]) {
        self.near.put(decay, field);
        self.empty(field);
    }

    /// Takes out what is inside solids.
    pub fn empty(&self, field: &mut [[f32; 4]]) {
        self.voxels.inside.iter().for_each(|&at| field[at as usize] = [0.0; 4]);
    }

    /// Moves what is inside solids to the nearest cells outside; nothing is lost, unless there is no cell outside.
    pub fn push_out(&self, field: &mut [[f32; 4]]) {
        let strides = self.frame.layout.strides();
        let flags = &self.voxels.flags;
        let mut way: Vec<(u32, u32)> = Vec::new();
        let mut left: Vec<u32> = self.voxels.inside.clone();
        let mut projected = vec![false; field.len()];
        while !left.is_empty() {
            let found = way.len();
            left.retain(|&at| {
                let neighbours = (0..6).map(|side| {
                    let stride = strides[side / 2];
                    if side % 2 == 0 { at as usize - stride } else { at as usize + stride }
                });
                let out = neighbours
                    .filter(|&to| self.frame.holds(to))
                    .find(|&to| flags[to] & SOLID == 0 || projected[to]);
                way.extend(out.map(|to| (at, to as u32)));
                out.is_none()
            });
            if way.len() == found {
                break;
            }
            way[found..].iter().for_each(|&(at, _)| projected[at as usize] = true);
        }
        for &(from, to) in way.iter().rev() {
            let moved = std::mem::take(&mut field[from as usize]);
            (0..4).for_each(|c| field[to as usize][c] += moved[c]);
        }
        self.empty(field);
    }

    /// Lets the faces inside solids repeat the flow along them.
    pub fn extend(&self, velocity: &mut Faces) {
        self.voxels.extend(self.frame.layout, velocity);
    }
}

impl Saved for Obstacles {
    fn state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError> {
        // `before`, `have_moved` and `shifts` are of the step that is over; the rest follows from how the solids stand.
        let Self {
            solids: _,
            frame: _,
            ranges: _,
            poses,
            voxels: _,
            before: _,
            have_moved: _,
            near: _,
            shifts: _,
            drag,
            momentum,
            pressure_forces,
        } = self;
        for pose in poses {
            pose.state(archive)?;
        }
        let mut asked = drag.is_some();
        archive.flag("drag", &mut asked)?;
        if asked != drag.is_some() {
            *drag = asked.then(|| Box::new(Drag::new(momentum.len())));
        }
        archive.values("momentum", momentum)?;
        archive.values("pressure_forces", pressure_forces)
    }
}

impl Saved for SolidPose {
    fn state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError> {
        let Self {
            shape: _,
            position,
            rotation,
            scale: _,
            velocity,
            spin,
            surface_velocity,
            slip: _,
            temperature: _,
        } = self;
        archive.value("position", position)?;
        archive.value("rotation", rotation)?;
        archive.value("velocity", velocity)?;
        archive.value("spin", spin)?;
        archive.value("surface_velocity", surface_velocity)
    }
}
