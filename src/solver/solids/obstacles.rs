//! The solids of a running solver: their present poses, and their effect on the grid.

use super::drag::Drag;
use super::faces::Scene;
use super::frame::Frame;
use super::momentum::{Arms, Momentum};
use super::near::{Near, Shift, WalkInput, index_of};
use super::uncovered::Uncovered;
use super::voxels::{CutFaces, SOLID, Voxels};
use super::{Solid, SolidPose};
use crate::grid::Faces;
use crate::solver::Config;
use crate::solver::project::{Cut, Cuts};
use crate::solver::sides::GhostRules;
use crate::solver::storage::archive::{Archive, Saved, StateError};
use crate::solver::storage::ranks::Ranks;

/// Planes in which solids are looked for beyond the depth of the surroundings, because the flags of cells
/// follow from the faces around them.
const BESIDE: usize = 2;

/// Memory for surroundings is prepared for air that crosses up to this many cells in a substep.
const FASTEST: f32 = 8.0;

/// Depth of the surroundings of solids beyond the longest trace: interpolation reads up to two cells beyond a
/// departure point. In moving air the advecting velocity diverges in up to two cells of the velocity beside a
/// moving solid: in those that it cuts, and in those behind faces whose opening changes.
const CELLS_BESIDE: u32 = 2;

/// Depth of the surroundings of solids \[cells\] for traces over at most `most` cells.
fn depth(most: f32, beside: u32) -> u32 {
    (most.ceil() as u32).saturating_add(beside)
}

/// Solids at the present instant and at the beginning of the step.
pub struct Obstacles {
    solids: Vec<Solid>,
    frame: Frame,
    /// The ranks that share the box. Each finds the solids in its slab and up to `window` planes beside it.
    ranks: Ranks,
    window: usize,
    /// Cut faces of the other ranks, on the first rank; see [`bring_cuts`](Self::bring_cuts).
    brought: Cuts,
    /// The faces of each component that the flow decides.
    ranges: [[[isize; 2]; 3]; 3],
    /// Present poses.
    pub poses: Vec<SolidPose>,
    /// Present cut faces and flags.
    pub voxels: Voxels,
    /// Flags of the cells at the beginning of the step, if the solids have moved since.
    before: Vec<u8>,
    uncovered: Uncovered,
    /// Cells along a cell of the velocity.
    finer: u32,
    have_moved: bool,
    /// Whether one moved at the beginning of the step or has moved in it.
    stir_air: bool,
    /// Whether all rest from this step on.
    have_stopped: bool,
    near: Near,
    losses: Losses,
    /// By how much the scalars of the cells around a solid may change; scratch.
    pub rooms: Vec<f32>,
    /// Motion of each solid in this step.
    shifts: Vec<Shift>,
    /// Surface links of viscosity and diffusion; made on first use.
    drag: Option<Box<Drag>>,
    /// Momentum that each has gained from the air since [`clear_momentum`](Self::clear_momentum).
    momentum: Momentum,
    /// The part of the linear momentum that pressure has given.
    pressure_forces: Vec<[f64; 3]>,
    /// Heat that each has given to the air in the same time \[K cells\].
    heat: Vec<f64>,
}

/// Losses of each scalar around the solids.
struct Losses {
    /// Of each plane of cells, solid by solid.
    planes: Vec<[f64; 4]>,
    /// Of each solid.
    solids: Vec<[f64; 4]>,
    /// Numbers of the solids.
    all: Vec<u16>,
}

impl Losses {
    fn new(planes: usize, solids: usize) -> Self {
        let [planes, each] = [planes * solids, solids].map(|count| vec![[0.0; 4]; count]);
        Self { planes, solids: each, all: (0..solids as u16).collect() }
    }
}

/// Poses at one instant, and momentum gained from the air and heat given to it since the step began.
#[derive(Clone, Debug)]
pub struct Standing {
    poses: Vec<SolidPose>,
    momentum: Momentum,
    pressure_forces: Vec<[f64; 3]>,
    heat: Vec<f64>,
    /// Whether viscosity or diffusion have used `drag`. From then on, partly open faces inside solids move
    /// with them.
    dragged: bool,
}

/// Shortest displacement that counts as a jump of a solid \[cells\]. Positions between keyframes are rounded.
const JUMP: f32 = 1e-3;

impl Obstacles {
    /// Makes the `solids` of the box of `config` with their poses at `time` and their motion in the `dt`
    /// after it. `known` are their cut faces, if a finer grid determines them. `finer` is 1, or the number of
    /// cells of smoke along a cell of the velocity if this is the finer grid. With several ranks the finer
    /// grid looks for solids as far beside the slab as the velocity's grid reads the cut faces.
    pub fn new(
        walls: &GhostRules,
        config: &Config,
        solids: Vec<Solid>,
        [time, dt]: [f64; 2],
        (known, finer): (Option<&CutFaces>, usize),
    ) -> Self {
        let deepest = depth(config.time.cfl.min(FASTEST), CELLS_BESIDE);
        let more = if finer > 1 { BESIDE } else { 0 };
        let window = finer * (deepest as usize + BESIDE + more);
        let frame = Frame::new(walls, config.h, window);
        let layout = frame.layout;
        let poses: Vec<SolidPose> = solids.iter().map(|solid| solid.pose(time, dt as f32)).collect();
        let voxels = Voxels::new(frame, &poses, known);
        let ranges = [0, 1, 2].map(|component| walls.face_ranges(component));
        let shifts = vec![Shift::default(); poses.len()];
        let losses = Losses::new(layout.dims.nz, poses.len());
        let momentum = Momentum::new(poses.len());
        // Searches once at the greatest depth, so that later searches have the memory for it.
        let mut near = Near::new(layout);
        near.find(&Scene { frame, poses: &poses }, &voxels, deepest);
        near.forget();
        Self {
            solids,
            frame,
            ranks: walls.ranks().clone(),
            window,
            brought: Cuts::default(),
            ranges,
            poses,
            voxels,
            before: vec![0; layout.size()],
            uncovered: Uncovered::default(),
            have_moved: false,
            stir_air: false,
            have_stopped: false,
            finer: finer as u32,
            near,
            losses,
            rooms: Vec::new(),
            shifts,
            drag: None,
            pressure_forces: momentum.linear.clone(),
            heat: vec![0.0; momentum.linear.len()],
            momentum,
        }
    }

    /// The solids in their present poses.
    pub fn scene(&self) -> Scene<'_> {
        Scene { frame: self.frame, poses: &self.poses }
    }

    /// Gives the same solids other motions. Returns whether any of them jumps to another pose at `time` \[s\].
    pub fn guide(&mut self, solids: Vec<Solid>, time: f64) -> bool {
        assert_eq!(self.solids.len(), solids.len(), "other solids");
        self.solids = solids;
        self.solids.iter().zip(&self.poses).any(|(solid, pose)| {
            let far = pose.bounding_radius() / self.frame.h;
            Shift::between(pose, &solid.stand(pose, time, [0.0; 2]), self.frame.h).most(far) > JUMP
        })
    }

    /// Present poses, momentum and heat.
    pub fn standing(&self) -> Standing {
        let Self { poses, momentum, pressure_forces, heat, drag, .. } = self;
        let (poses, momentum, pressure_forces) = (poses.clone(), momentum.clone(), pressure_forces.clone());
        Standing { poses, momentum, pressure_forces, heat: heat.clone(), dragged: drag.is_some() }
    }

    /// Restores the same solids to these poses.
    pub fn stand(&mut self, standing: &Standing, known: Option<&CutFaces>) {
        self.poses.clone_from(&standing.poses);
        self.momentum.clone_from(&standing.momentum);
        self.pressure_forces.clone_from(&standing.pressure_forces);
        self.heat.clone_from(&standing.heat);
        (self.have_moved, self.stir_air, self.have_stopped) = (false, false, false);
        self.voxels.update(self.frame, &self.poses, known);
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

    /// Moves the solids to their poses at `time`, with their mean velocity from `before` to `after` it \[s\].
    /// With `before` and `after` symmetric that is the velocity at `time`, to second order. Returns whether
    /// the closed faces have changed.
    pub fn advance(&mut self, time: f64, [before, after]: [f32; 2], known: Option<&CutFaces>) -> bool {
        let (mut moved, mut turned) = (false, false);
        let is_moving = |pose: &SolidPose| pose.velocity != [0.0; 3] || pose.spin != [0.0; 3];
        let was_moving = self.poses.iter().any(is_moving);
        for ((solid, pose), shift) in self.solids.iter().zip(&mut self.poses).zip(&mut self.shifts) {
            let now = solid.stand(pose, time, [before, after]);
            *shift = Shift::between(pose, &now, self.frame.h);
            let swerves = now.velocity != pose.velocity;
            // Faces of a spinning solid have individual velocities, which are found with the faces.
            moved |= shift.is_some() || swerves && now.turns();
            turned |= swerves;
            *pose = now;
        }
        self.have_moved = moved;
        self.stir_air = moved || was_moving;
        self.have_stopped = was_moving && !self.poses.iter().any(is_moving);
        if moved {
            std::mem::swap(&mut self.before, &mut self.voxels.flags);
            std::mem::swap(&mut self.uncovered.were_inside, &mut self.voxels.inside);
            self.voxels.update(self.frame, &self.poses, known);
            self.near.forget();
        } else {
            self.voxels.set_velocities(&self.poses);
        }
        if let Some(drag) = self.drag.as_mut().filter(|_| moved || turned) {
            drag.update(self.frame, &self.ranks, &self.poses, &self.voxels, self.ranges);
        }
        moved
    }

    /// Recomputes the values that follow from the poses, after the state was replaced.
    pub fn restored(&mut self, known: Option<&CutFaces>) {
        let Self { frame, ranks, poses, voxels, near, drag, ranges, .. } = self;
        voxels.update(*frame, poses, known);
        near.forget();
        if let Some(drag) = drag {
            drag.update(*frame, ranks, poses, voxels, *ranges);
        }
    }

    /// Returns the surface links, and the momentum of each solid with its lever arms, to be added to.
    pub fn drag(&mut self) -> (&mut Drag, Arms<'_>, &mut Momentum) {
        let Self { frame, ranks, poses, voxels, drag, momentum, ranges, .. } = self;
        let new = || {
            let mut drag = Box::new(Drag::new(poses.len()));
            drag.update(*frame, ranks, poses, voxels, *ranges);
            drag
        };
        (drag.get_or_insert_with(new), Arms { frame: *frame, ranks, poses }, momentum)
    }

    /// Returns the surface links as [`drag`](Self::drag) does, with the box, the ranks that share it, and the heat of each solid, to be
    /// added to.
    pub fn warmth(&mut self) -> (&mut Drag, Frame, &Ranks, &mut [f64]) {
        self.drag();
        let Self { frame, ranks, drag, heat, .. } = self;
        (drag.as_mut().expect("just made"), *frame, ranks, heat)
    }

    /// Heat that each solid has given to the air \[K cells\].
    pub fn heat(&self) -> &[f64] {
        &self.heat
    }

    /// Whether any solid holds a temperature, so that heat crosses its surface.
    pub fn hold_temperature(&self) -> bool {
        self.poses.iter().any(|pose| pose.temperature.is_some())
    }

    /// Brings the cut faces of the planes `ks` of all ranks to the first.
    pub fn bring_cuts(&mut self, ks: [isize; 2]) {
        if self.ranks.is_alone() {
            return;
        }
        let planes = self.frame.layout.span(ks);
        for component in 0..3 {
            let own = self.voxels.cuts.faces[component].iter();
            let own = own.filter(|cut| self.frame.is_own(cut.at) && planes.contains(&(cut.at as usize)));
            let mine: Vec<_> = own.map(|cut| [cut.at, cut.open.to_bits(), cut.velocity.to_bits()]).collect();
            let all = self.ranks.all_to_all(|rank| if rank == 0 { &mine } else { &[] });
            let cut = |[at, open, velocity]: [u32; 3]| Cut {
                at,
                open: f32::from_bits(open),
                velocity: f32::from_bits(velocity),
            };
            self.brought.refill(component, all.into_iter().map(cut));
        }
    }

    /// The cut faces of plane `k`: those of this rank, or what [`bring_cuts`](Self::bring_cuts) has brought.
    pub fn cuts_at(&self, k: isize) -> &Cuts {
        let cell = k.clamp(0, self.frame.layout.dims.nz as isize - 1) as usize;
        if self.frame.reaches([cell, cell + 1]) { &self.voxels.cuts } else { &self.brought }
    }

    /// Momentum that each solid has gained from the air.
    pub fn momentum(&self) -> &Momentum {
        &self.momentum
    }

    /// The part of the pressure in the linear [`momentum`](Self::momentum) \[m/s\].
    pub fn pressure_forces(&self) -> &[[f64; 3]] {
        &self.pressure_forces
    }

    /// Adds the pressure force on each solid. `difference(component, face)` is the undivided difference of
    /// pressure times Δt/h across a face, below minus above \[m/s\].
    pub fn add_pressure_forces(&mut self, difference: impl Fn(usize, u32) -> f32) {
        let Self { frame, ranks, poses, voxels, momentum, pressure_forces, .. } = self;
        let arms = Arms { frame: *frame, ranks, poses };
        for (component, (faces, owners)) in voxels.cuts.faces.iter().zip(&voxels.owners).enumerate() {
            momentum.add_in_turn(ranks, Some(&mut pressure_forces[..]), |momentum, forces| {
                for (cut, owner) in faces.iter().zip(owners).filter(|(cut, _)| frame.is_own(cut.at)) {
                    let closed = 1.0 - f64::from(cut.open);
                    let force = closed * f64::from(difference(component, cut.at));
                    momentum.add(arms, *owner, component, cut.at, force);
                    forces[usize::from(*owner)][component] += force;
                }
            });
        }
    }

    /// Adds the momentum that forces and pressure have given to partly open faces inside solids, in a
    /// `velocity` just projected.
    pub fn count(&mut self, velocity: &Faces) {
        let Self { frame, ranks, poses, drag, momentum, .. } = self;
        if let Some(drag) = drag {
            drag.count(velocity, Arms { frame: *frame, ranks, poses }, momentum);
        }
    }

    /// As [`count`](Self::count), for the reflection of `velocity`. Then gives the partly open faces inside
    /// solids in `reflected` the solid's velocity.
    pub fn rebound(&mut self, velocity: &Faces, reflected: &mut Faces) {
        self.count_change(velocity, reflected);
        self.rest(reflected);
    }

    /// As [`count`](Self::count), for a change of the velocity from `before` to `after`.
    pub fn count_change(&mut self, before: &Faces, after: &Faces) {
        let Self { frame, ranks, poses, drag, momentum, .. } = self;
        if let Some(drag) = drag {
            drag.count_reflected(before, after, Arms { frame: *frame, ranks, poses }, momentum);
        }
    }

    /// Gives partly open faces inside solids the solid's velocity, after advection.
    pub fn rest(&self, velocity: &mut Faces) {
        if let Some(drag) = &self.drag {
            drag.rest(velocity);
        }
    }

    /// Resets the momentum and the heat.
    pub fn clear_momentum(&mut self) {
        self.momentum.clear();
        self.pressure_forces.fill([0.0; 3]);
        self.heat.fill(0.0);
    }

    /// Whether a solid has moved in this step.
    pub fn have_moved(&self) -> bool {
        self.have_moved
    }

    /// Whether the advecting velocity of this step has the motion of a solid, so that it is not free of divergence beside it: also in the
    /// first step in which all rest.
    pub fn stir_air(&self) -> bool {
        self.stir_air
    }

    /// Whether all rest from this step on, and one moved at its beginning.
    pub fn have_stopped(&self) -> bool {
        self.have_stopped
    }

    /// After the solids have moved: gives the cells that they have left the mean of `field` around them.
    pub fn fill_uncovered(&mut self, field: &mut [f32]) {
        let Self { frame, ranks, voxels, before, uncovered, .. } = self;
        uncovered.fill(frame, ranks, before, &mut voxels.flags, field);
    }

    /// Advects the scalars of the cells near solids of the box of `walls` from `field`. Back-traces are `back`, at most `most` cells long
    /// along each axis. `known` are the cut faces, if a finer grid decides on them.
    pub fn advect(
        &mut self,
        walls: &GhostRules,
        back: &[[f32; 4]],
        most: f32,
        field: &mut [[f32; 4]],
        known: Option<&CutFaces>,
    ) {
        let cells = if self.stir_air { self.finer } else { 1 };
        let depth = depth(most, CELLS_BESIDE * cells);
        if self.near.depth() != depth {
            self.widen(walls, depth, known);
            self.near.find(&Scene { frame: self.frame, poses: &self.poses }, &self.voxels, depth);
        }
        self.exchange_for_walks(depth, field);
        let bounds = &walls.sample_bounds(None);
        let after = &self.voxels.flags;
        let before = if self.have_moved { &self.before } else { after };
        let input = WalkInput {
            bounds,
            before,
            after,
            poses: &self.poses,
            shifts: &self.shifts,
            h: self.frame.h,
            back,
        };
        self.near.advect(self.frame.layout, &input, field);
    }

    /// Looks for solids farther beside the slab, so that surroundings of this depth are found.
    fn widen(&mut self, walls: &GhostRules, depth: u32, known: Option<&CutFaces>) {
        let window = (depth as usize).min(self.frame.layout.dims.nz) + BESIDE;
        if window <= self.window || self.ranks.is_alone() {
            return;
        }
        self.window = window;
        self.frame = Frame::new(walls, self.frame.h, window);
        self.voxels.update(self.frame, &self.poses, known);
    }

    /// Brings the planes of `field` and of the flags that walks from cells of the slab reach. A walk is as
    /// long as its back-trace plus the motion of the solid. The values at its end are looked up farther away,
    /// by the motion of the solid again. Interpolation reads up to two cells beyond.
    fn exchange_for_walks(&mut self, depth: u32, field: &mut [[f32; 4]]) {
        let Self { frame, ranks, poses, voxels, before, have_moved, shifts, .. } = self;
        if ranks.is_alone() {
            return;
        }
        let far = |pose: &SolidPose| pose.bounding_radius() / frame.h + 4.0 * depth as f32;
        let moved = poses.iter().zip(&*shifts).map(|(pose, shift)| shift.most(far(pose))).fold(0.0, f32::max);
        let halo = [(depth as f32 + 2.0 * moved).ceil().min(frame.layout.dims.nz as f32) as usize + 2; 2];
        ranks.exchange(frame.layout, [field], halo);
        ranks.exchange(frame.layout, [&mut voxels.flags], halo);
        if *have_moved {
            ranks.exchange(frame.layout, [before], halo);
        }
    }

    /// Brings the flags of the planes beside the slab.
    pub fn exchange_flags(&mut self, halo: [usize; 2]) {
        self.ranks.exchange(self.frame.layout, [&mut self.voxels.flags], halo);
    }

    /// Writes the result of [`advect`](Self::advect) into `field`, times `decay`. Clears cells inside solids.
    pub fn put(&self, decay: &[f32; 4], field: &mut [[f32; 4]]) {
        self.near.put(decay, field);
        self.empty(field);
    }

    /// Sums, over the cells near each solid and those inside, the losses of each scalar by [`put`](Self::put).
    pub fn count_losses(&mut self, decay: &[f32; 4], field: &[[f32; 4]]) {
        let Self { losses: Losses { planes, solids, all }, frame, ranks, poses, near, voxels, .. } = self;
        let (layout, count) = (frame.layout, all.len());
        planes.fill([0.0; 4]);
        let mut add = |at: u32, solid: u16, after: [f32; 4]| {
            let plane = index_of(layout, at as usize)[2] as usize;
            let (sum, before) = (&mut planes[plane * count + usize::from(solid)], field[at as usize]);
            (0..4).for_each(|c| sum[c] += f64::from(before[c]) - f64::from(after[c]));
        };
        near.each_put(decay, &mut add);
        let scene = Scene { frame: *frame, poses };
        for &at in voxels.inside.iter().filter(|&&at| frame.is_own(at)) {
            if field[at as usize] != [0.0; 4] {
                let middle = index_of(layout, at as usize).map(|x| (x as f32 + 0.5) * frame.h);
                add(at, scene.nearest(all, middle).1, [0.0; 4]);
            }
        }
        ranks.gather(planes, count);
        for (solid, sum) in solids.iter_mut().enumerate() {
            let own = planes.iter().skip(solid).step_by(count);
            *sum = own.fold([0.0; 4], |sum, plane| [0, 1, 2, 3].map(|c| sum[c] + plane[c]));
        }
    }

    /// Losses around each solid, as last counted.
    pub fn losses(&self) -> &[[f64; 4]] {
        &self.losses.solids
    }

    /// Clears cells inside solids.
    pub fn empty(&self, field: &mut [[f32; 4]]) {
        self.voxels.inside.iter().for_each(|&at| field[at as usize] = [0.0; 4]);
    }

    /// Moves the contents of cells inside solids to the nearest cells outside. Nothing is lost if there is a
    /// cell outside.
    ///
    /// Layer by layer, each cell finds a neighbour nearer to the outside. With several ranks, each also moves
    /// the contents of the planes beside its slab, which may arrive in it. All ranks take part in every
    /// layer.
    pub fn move_contents_out(&mut self, field: &mut [[f32; 4]]) {
        let Self { frame, ranks, voxels, .. } = self;
        let (layout, strides) = (frame.layout, frame.layout.strides());
        let flags = &voxels.flags;
        let own = layout.own();
        let beside = own.start.saturating_sub(layout.plane)..own.end + layout.plane;
        let mut moves: Vec<(u32, u32)> = Vec::new();
        let mut layers = vec![0];
        let mut left: Vec<u32> =
            voxels.inside.iter().copied().filter(|&at| beside.contains(&(at as usize))).collect();
        let mut resolved = vec![0u8; field.len()];
        while ranks.any(!left.is_empty()) {
            let found = moves.len();
            left.retain(|&at| {
                let neighbours = (0..6).map(|side| {
                    let stride = strides[side / 2];
                    if side % 2 == 0 { at as usize - stride } else { at as usize + stride }
                });
                let out = neighbours
                    .filter(|&to| frame.holds(to))
                    .find(|&to| flags[to] & SOLID == 0 || resolved[to] != 0);
                moves.extend(out.map(|to| (at, to as u32)));
                out.is_none()
            });
            if !ranks.any(moves.len() > found) {
                break;
            }
            moves[found..].iter().for_each(|&(at, _)| resolved[at as usize] = 1);
            ranks.exchange(layout, [&mut resolved], [2; 2]);
            layers.push(moves.len());
        }
        for layer in layers.windows(2).rev() {
            ranks.exchange(layout, [&mut *field], [1; 2]);
            for &(from, to) in moves[layer[0]..layer[1]].iter().rev() {
                let moved = std::mem::take(&mut field[from as usize]);
                (0..4).for_each(|c| field[to as usize][c] += moved[c]);
            }
        }
        self.empty(field);
    }

    /// Extends the flow along solids to the faces inside them.
    pub fn extend(&self, velocity: &mut Faces) {
        self.voxels.extend(self.frame.layout, &self.ranks, velocity);
    }
}

impl Saved for Obstacles {
    fn state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError> {
        // `before`, what has moved and `shifts` belong to the finished step; the rest follows from the poses.
        let Self {
            solids: _,
            losses: _,
            rooms: _,
            frame: _,
            ranks: _,
            window: _,
            brought: _,
            ranges: _,
            poses,
            voxels: _,
            before: _,
            uncovered: _,
            finer: _,
            have_moved: _,
            stir_air: _,
            have_stopped: _,
            near: _,
            shifts: _,
            drag,
            momentum,
            pressure_forces,
            heat,
        } = self;
        for pose in &mut *poses {
            pose.state(archive)?;
        }
        let mut asked = drag.is_some();
        archive.flag("drag", &mut asked)?;
        if asked != drag.is_some() {
            *drag = asked.then(|| Box::new(Drag::new(poses.len())));
        }
        archive.values("momentum", &mut momentum.linear)?;
        archive.values("angular momentum", &mut momentum.angular)?;
        archive.values("pressure_forces", pressure_forces)?;
        archive.values("heat", heat)
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
