//! Viscous and thermal boundary conditions at the surface of solids.
//!
//! Between two points of a line the surface is found by sphere tracing: steps as long as the signed distance
//! allows. So it is exact for plates of any thickness. At a no-slip surface the air has the solid's velocity;
//! at one with a temperature it has that temperature, see [`diffuse::Links`]. A free-slip surface has no
//! viscous stress. Smoke diffuses through no surface.
//!
//! A partly open face whose middle lies inside a no-slip solid gets the solid's velocity before the air
//! around it is diffused.
//!
//! Lines give a solid ν ∂u/∂n, while the stress on it is ν (∂u/∂n + ∇u·n). The second part has no resultant on a closed surface,
//! and no torque where the surface is at rest. On one that turns with the angular velocity Ω it is −ν Ω × n, with the torque
//!
//! ```text
//! −ν ∮ x × (Ω × n) dS = −2 ν V Ω
//! ```
//!
//! in which V is the solid's volume: air in rigid rotation exerts none.

use std::sync::{Mutex, PoisonError};

use super::faces::{BLOCK, Distances, FAR, LastSearch, Scene};
use super::frame::Frame;
use super::momentum::{Arms, Momentum};
use super::voxels::{SOLID, Voxels};
use super::{Slip, SolidPose};
use crate::grid::Faces;
use crate::solver::diffuse::{Link, Links};
use crate::solver::project::{Cut, cell_of};
use crate::solver::storage::ranks::Ranks;
use crate::solver::storage::row_passes::{PerThread, leave_room, refill};

/// A point with a surface between it and a neighbour: its index, the side of the surface (1 above, 0 below),
/// and, if the surface fixes the value of the air, its distance \[cells\] and solid.
type Stop = ([isize; 3], usize, Option<(f32, u16)>);

/// Index of the temperature among the scalars.
const HEAT: usize = 3;

/// Least distance of a surface from a point \[cells\]. A nearer one counts as this far: such a point moves
/// with it anyway.
const NEAREST: f32 = 0.01;

/// A partly open face of a no-slip solid.
#[derive(Clone, Copy, Debug)]
struct Partial {
    at: u32,
    open: f32,
    /// Velocity of the solid \[m/s\].
    velocity: f32,
    owner: u16,
    /// Whether the middle of the face lies inside the solid, so that the face moves with it.
    inside: bool,
    /// Velocity before diffusion \[m/s\].
    before: f32,
}

/// A partly open cell whose middle lies inside a solid with a fixed temperature.
#[derive(Clone, Copy, Debug)]
struct WarmCell {
    at: u32,
    temperature: f32,
    owner: u16,
}

/// The surface of solids as links: cuts of the lines along which velocity and scalars diffuse.
pub struct Drag {
    /// Links of each component, along each axis.
    pub velocity: [[Links<1>; 3]; 3],
    /// Links of the scalars, along each axis.
    pub scalars: [Links<4>; 3],
    /// Partly open faces of each component.
    partial: [Vec<Partial>; 3],
    /// For each no-slip solid, angular velocity times volume \[cells/s\].
    turning: Vec<[f64; 3]>,
    /// Partly open cells whose middle lies inside a solid of a temperature, in order.
    warm: Vec<WarmCell>,
    work: Work,
}

/// Memory for the search.
struct Work {
    last: LastSearch,
    /// Stops of the three components and of the temperature along each axis, in order.
    stops: [[Mutex<Vec<Stop>>; 3]; 4],
    touches: Vec<Touch>,
    scratch: PerThread<Scratch>,
}

/// Memory of one thread for the search through a block.
struct Scratch {
    /// The solids near it.
    near: Vec<u16>,
    distances: Distances,
    /// Its cut links along one axis.
    cuts: Vec<Crossing>,
}

impl Drag {
    /// Makes it for this many solids, without searching for surfaces yet.
    pub fn new(solids: usize) -> Self {
        let scratch = || Scratch {
            near: Vec::with_capacity(solids),
            distances: Distances::new(solids),
            cuts: Vec::with_capacity((BLOCK + 1) * BLOCK * BLOCK),
        };
        let scratch = PerThread::new(rayon::current_num_threads(), scratch);
        Self {
            velocity: Default::default(),
            scalars: Default::default(),
            partial: Default::default(),
            turning: vec![[0.0; 3]; solids],
            warm: vec![],
            work: Work { last: LastSearch::default(), stops: Default::default(), touches: vec![], scratch },
        }
    }

    /// Finds the surface of solids in `poses` with their `voxels`. `ranges` are the faces of each component
    /// that the flow decides.
    pub fn update(
        &mut self,
        frame: Frame,
        ranks: &Ranks,
        poses: &[SolidPose],
        voxels: &Voxels,
        ranges: [[[isize; 2]; 3]; 3],
    ) {
        let Self { velocity, scalars, partial, turning, warm, work } = self;
        let search = Search { scene: Scene { frame, poses }, ranks, voxels, ranges };
        work.last.begin(&search.scene);
        for component in 0..3 {
            search.velocity(component, work, &mut velocity[component]);
            refill(&mut partial[component], search.partial(component));
        }
        search.turning(turning);
        search.scalars(work, scalars);
        search.warm(work, warm);
    }

    /// Sets partly open faces inside no-slip solids to the solid's velocity. The advected value there does
    /// not count: advection brings values to places, not momentum into solids.
    pub fn rest(&self, velocity: &mut Faces) {
        for (partial, field) in self.partial.iter().zip(velocity) {
            partial
                .iter()
                .filter(|face| face.inside)
                .for_each(|face| field[face.at as usize] = face.velocity);
        }
    }

    /// Adds to `momentum`, for each solid, what partly open faces inside it have gained since
    /// [`rest`](Self::rest) gave them its velocity. Each counts as much as the air in the open part of a cell
    /// \[m/s\].
    pub fn count(&self, velocity: &Faces, arms: Arms, momentum: &mut Momentum) {
        self.each_inside(arms, momentum, |component, face| {
            face.open * (velocity[component][face.at as usize] - face.velocity)
        });
    }

    /// Adds what a reflection of `velocity` gives to partly open faces inside solids.
    pub fn count_reflected(&self, velocity: &Faces, reflected: &Faces, arms: Arms, momentum: &mut Momentum) {
        self.each_inside(arms, momentum, |component, face| {
            let at = face.at as usize;
            face.open * (reflected[component][at] - velocity[component][at])
        });
    }

    /// Adds to `momentum` the gain of partly open faces inside solids.
    fn each_inside(&self, arms: Arms, momentum: &mut Momentum, gained: impl Fn(usize, &Partial) -> f32) {
        for (component, partial) in self.partial.iter().enumerate() {
            momentum.add_in_turn(arms.ranks, None, |momentum, _| {
                for face in partial.iter().filter(|face| face.inside && arms.frame.is_own(face.at)) {
                    momentum.add(arms, face.owner, component, face.at, gained(component, face).into());
                }
            });
        }
    }

    /// Before the scalars diffuse: sets the cells inside solids with a temperature to that temperature. Adds
    /// to `heat` what each solid gives them \[K cells\].
    pub fn warm(&self, scalars: &mut [[f32; 4]], frame: &Frame, ranks: &Ranks, heat: &mut [f64]) {
        ranks.each_in_turn(heat, |heat| {
            for cell in self.warm.iter().filter(|cell| frame.is_own(cell.at)) {
                let gained = cell.temperature - scalars[cell.at as usize][HEAT];
                heat[usize::from(cell.owner)] += f64::from(gained);
            }
        });
        self.warm.iter().for_each(|cell| scalars[cell.at as usize][HEAT] = cell.temperature);
    }

    /// After the scalars have diffused: adds to `heat` what each solid has given to the lines \[K cells\].
    pub fn collect_heat(&self, ranks: &Ranks, heat: &mut [f64]) {
        for links in &self.scalars {
            ranks.each_in_turn(heat, |heat| {
                links.wall_flux().for_each(|(owner, _, given)| heat[usize::from(owner)] -= f64::from(given));
            });
        }
    }

    /// Before the velocity diffuses: faces inside solids return to their solid what they have gained since
    /// they moved with it.
    pub fn begin(&mut self, velocity: &mut Faces, arms: Arms, momentum: &mut Momentum) {
        self.count(velocity, arms, momentum);
        self.rest(velocity);
        for (partial, field) in self.partial.iter_mut().zip(velocity) {
            partial.iter_mut().for_each(|face| face.before = field[face.at as usize]);
        }
    }

    /// After the velocity has diffused: adds to `momentum` what the lines have given to each solid. The lines
    /// count all faces as wholly open, so the loss of the closed part of a partly open face is subtracted.
    /// `number` is ν Δt/h².
    pub fn collect(&self, velocity: &Faces, number: f32, arms: Arms, momentum: &mut Momentum) {
        let area = f64::from(arms.frame.h).powi(2);
        for (gained, turning) in momentum.angular.iter_mut().zip(&self.turning) {
            (0..3).for_each(|a| gained[a] -= 2.0 * f64::from(number) * area * turning[a]);
        }
        for (component, axes) in self.velocity.iter().enumerate() {
            for links in axes {
                momentum.add_in_turn(arms.ranks, None, |momentum, _| {
                    for (owner, at, given) in links.wall_flux() {
                        momentum.add(arms, owner, component, at, given.into());
                    }
                });
            }
        }
        for (component, partial) in self.partial.iter().enumerate() {
            momentum.add_in_turn(arms.ranks, None, |momentum, _| {
                for face in partial.iter().filter(|face| !face.inside && arms.frame.is_own(face.at)) {
                    let lost = face.before - velocity[component][face.at as usize];
                    momentum.add(arms, face.owner, component, face.at, -f64::from((1.0 - face.open) * lost));
                }
            });
        }
    }
}

/// A link that a solid cuts: its lower point, and the surface that each end meets.
struct Crossing {
    below: [isize; 3],
    /// θ \[cells\] and the solid, for the points below and above; `None` where the solid does not fix their
    /// value.
    holds: [Option<(f32, u16)>; 2],
}

struct Search<'a> {
    scene: Scene<'a>,
    ranks: &'a Ranks,
    voxels: &'a Voxels,
    ranges: [[[isize; 2]; 3]; 3],
}

impl Search<'_> {
    /// The links of a component along the three axes.
    fn velocity(&self, component: usize, work: &mut Work, links: &mut [Links<1>; 3]) {
        self.find_stops(Some(component), work);
        for (axis, links) in links.iter_mut().enumerate() {
            let whole = unlocked(&mut work.stops[component][axis]).chunk_by(|a, b| a.0 == b.0);
            let whole = whole.map(|sides| (sides[0].0, self.link(component, axis, sides)));
            links.set(self.scene.frame.layout, self.ranks, axis, self.ranges[component], whole);
        }
    }

    /// Finds the points whose lines a surface cuts along the three axes, in order. `quantity` is a component, or
    /// none for the temperature.
    fn find_stops(&self, quantity: Option<usize>, work: &mut Work) {
        let Work { last, stops, scratch, .. } = work;
        let stops = &mut stops[quantity.unwrap_or(3)];
        for (axis, stops) in stops.iter_mut().enumerate() {
            unlocked(stops).retain(|stop| !last.is_stale(&self.scene, self.below(stop, quantity, axis)));
        }
        last.each_stale(&self.scene, |block| {
            let mut mine = scratch.mine();
            let Scratch { near, distances, cuts } = &mut *mine;
            if !self.scene.near_surface(block, near) {
                return;
            }
            let [low, high] = self.scene.range(block, self.range(quantity));
            let offset = [0, 1, 2].map(|a| if quantity == Some(a) { 0.0 } else { 0.5 });
            self.scene.sample(near, [low, high.map(|x| x + 1)], offset, distances);
            for axis in 0..3 {
                self.block((near, distances), block, quantity, axis, cuts);
                let ends =
                    cuts.iter().flat_map(|cut| [0, 1].map(|high| self.stop(cut, quantity, axis, high)));
                stops[axis].lock().unwrap_or_else(PoisonError::into_inner).extend(ends);
            }
        });
        for stops in stops {
            leave_room(unlocked(stops));
            unlocked(stops).sort_unstable_by_key(|(at, side, _)| sort_key(at, *side));
        }
    }

    /// Stop of the lower (`high` = 0) or upper point of a cut link.
    fn stop(&self, cut: &Crossing, quantity: Option<usize>, axis: usize, high: usize) -> Stop {
        (self.end(cut, quantity, axis, high), 1 - high, cut.holds[high])
    }

    /// The points of a component, or the cells.
    fn range(&self, quantity: Option<usize>) -> [[isize; 2]; 3] {
        let cells = self.scene.frame.layout.dims.array().map(|n| [0, n as isize]);
        quantity.map_or(cells, |component| self.ranges[component])
    }

    /// The lower (`high` = 0) or upper point of a cut link.
    fn end(&self, cut: &Crossing, quantity: Option<usize>, axis: usize, high: usize) -> [isize; 3] {
        let mut at = cut.below;
        if high == 1 {
            let [from, to] = self.range(quantity)[axis];
            at[axis] = if at[axis] + 1 == to { from } else { at[axis] + 1 };
        }
        at
    }

    /// The cell of the lower point of a cut link, or the cell above it if the point is a face, from one of
    /// its stops.
    fn below(&self, &(mut at, side, _): &Stop, quantity: Option<usize>, axis: usize) -> [usize; 3] {
        if side == 0 {
            let [from, to] = self.range(quantity)[axis];
            at[axis] = if at[axis] == from { to } else { at[axis] } - 1;
        }
        at.map(|x| x as usize)
    }

    /// One point with one or two cut links beside it: side 1 is that above it.
    fn link(&self, component: usize, axis: usize, sides: &[Stop]) -> Link<1> {
        let mut link = Link::FREE;
        for &(at, side, held) in sides {
            link.strength[side] = [0.0];
            if let Some((theta, owner)) = held {
                let mut place = [0, 1, 2].map(|a| at[a] as f32 + if a == component { 0.0 } else { 0.5 });
                place[axis] += if side == 1 { theta } else { -theta };
                let velocity =
                    self.scene.surface_velocity(owner, place.map(|x| x * self.scene.frame.h))[component];
                link.hold(0, side, theta, velocity, owner);
            }
        }
        link
    }

    /// Finds the cut links of one block along an axis, each with its lower point in the block, and writes
    /// them to `cuts`.
    fn block(
        &self,
        (near, distances): (&[u16], &Distances),
        block: [usize; 3],
        quantity: Option<usize>,
        axis: usize,
        cuts: &mut Vec<Crossing>,
    ) {
        cuts.clear();
        let range = self.range(quantity);
        let [low, high] = self.scene.range(block, range);
        let last = range[axis][1] - 1;
        for at in points(low, high) {
            let mut next = at;
            next[axis] += 1;
            let mut place = next;
            if at[axis] == last {
                if !self.scene.frame.periodic[axis] || range[axis][0] == last {
                    continue;
                }
                place[axis] = range[axis][0];
            }
            if [at, next].iter().all(|&at| distances.at(at) >= FAR * self.scene.frame.h) {
                continue;
            }
            let points = [(at, at), (next, place)]
                .map(|(at, place)| self.point((near, distances.at(at)), quantity, at, place));
            cuts.extend(self.cut(near, quantity, axis, points).map(|holds| Crossing { below: at, holds }));
        }
    }

    /// Returns the face or cell stored at `place`, at index position `at`.
    fn point(
        &self,
        (near, distance): (&[u16], f32),
        quantity: Option<usize>,
        at: [isize; 3],
        place: [isize; 3],
    ) -> Point {
        let h = self.scene.frame.h;
        let middle = [0, 1, 2].map(|a| (at[a] as f32 + if quantity == Some(a) { 0.0 } else { 0.5 }) * h);
        let layout = self.scene.frame.layout;
        let is_open = match quantity {
            Some(component) => self.voxels.open(layout, component, place) > 0.0,
            None => self.voxels.flags[layout.at(place[0], place[1], place[2])] & SOLID == 0,
        };
        let is_held = || self.holds(quantity, self.scene.nearest(near, middle).1);
        let is_air = is_open && (distance > 0.0 || !is_held());
        Point { middle, distance, is_air, is_solid: distance <= 0.0 }
    }

    fn sticks(&self, owner: u16) -> bool {
        self.scene.poses[usize::from(owner)].slip == Slip::None
    }

    /// Whether a solid fixes the velocity, or the temperature, of the air at its surface.
    fn holds(&self, quantity: Option<usize>, owner: u16) -> bool {
        quantity.map_or(self.temperature(owner).is_some(), |_| self.sticks(owner))
    }

    fn temperature(&self, owner: u16) -> Option<f32> {
        self.scene.poses[usize::from(owner)].temperature
    }

    /// Returns the crossing between two points, if a surface lies there.
    fn cut(
        &self,
        near: &[u16],
        quantity: Option<usize>,
        axis: usize,
        ends: [Point; 2],
    ) -> Option<[Option<(f32, u16)>; 2]> {
        let h = self.scene.frame.h;
        let shut = ends.iter().any(|end| !end.is_air);
        // The balls of these radii around the points hold no surface and together cover the segment.
        let clear = ends[0].distance + ends[1].distance >= h && ends.iter().all(|end| end.distance > 0.0);
        if clear && !shut || ends.iter().all(|end| !end.is_air) {
            return None;
        }
        let seen = [0, 1].map(|end| {
            let mut way = [0.0; 3];
            way[axis] = if end == 0 { h } else { -h };
            (ends[end].distance > 0.0).then(|| self.scene.meet(near, ends[end].middle, way)).flatten()
        });
        let partly = ends.iter().any(|end| end.is_solid && end.is_air);
        if !shut && (partly || seen.iter().all(Option::is_none)) {
            return None;
        }
        Some([0, 1].map(|end| {
            // A closed face without a surface before it is itself the wall.
            let (theta, owner) =
                seen[end].unwrap_or_else(|| (1.0, self.scene.nearest(near, ends[1 - end].middle).1));
            (ends[end].is_air && self.holds(quantity, owner)).then_some((theta.max(NEAREST), owner))
        }))
    }

    /// Finds the links of the scalars along the three axes. Their strength is the open fraction of the face,
    /// except for the heat of solids with a temperature.
    fn scalars(&self, work: &mut Work, links: &mut [Links<4>; 3]) {
        if self.hold_temperature() {
            self.find_stops(None, work);
        } else {
            work.stops[3].iter_mut().for_each(|stops| unlocked(stops).clear());
        }
        for (axis, links) in links.iter_mut().enumerate() {
            let Work { stops, touches, .. } = &mut *work;
            let held = unlocked(&mut stops[3][axis]).iter().filter_map(|&(at, side, held)| {
                Some(Touch { at, side, order: u32::MAX, meets: Meets::Wall(held?) })
            });
            refill(
                touches,
                self.cells_beside_cut_faces(axis).chain(self.solid_cells_at_sides(axis)).chain(held),
            );
            touches.sort_unstable_by_key(|touch| (sort_key(&touch.at, touch.side), touch.order));
            let whole = touches.chunk_by(|a, b| a.at == b.at);
            let whole = whole.map(|sides| (sides[0].at, self.warm_link(sides)));
            links.set(self.scene.frame.layout, self.ranks, axis, self.range(None), whole);
        }
    }

    /// Whether any solid holds a temperature.
    fn hold_temperature(&self) -> bool {
        self.scene.poses.iter().any(|pose| pose.temperature.is_some())
    }

    /// Yields the cells beside faces that are not wholly open, with their side and open fraction.
    fn cells_beside_cut_faces(&self, axis: usize) -> impl Iterator<Item = Touch> {
        let Frame { layout, periodic, .. } = self.scene.frame;
        let n = layout.dims.array()[axis] as isize;
        self.voxels.cuts.faces[axis].iter().flat_map(move |cut| {
            let above = cell_of(layout, cut.at).map(|x| x as isize);
            [0, 1].map(|side| {
                let mut at = above;
                at[axis] -= side as isize;
                if periodic[axis] {
                    at[axis] = at[axis].rem_euclid(n);
                }
                Touch { at, side, order: cut.at, meets: Meets::Face(cut.open) }
            })
        })
    }

    /// Yields the cells inside solids next to a side of the box across `axis`, closed towards that side.
    /// Otherwise they would take heat from a wall or an inflow: it would be counted in the budget and in the heat
    /// flux of the side, and then cleared with these cells.
    fn solid_cells_at_sides(&self, axis: usize) -> impl Iterator<Item = Touch> {
        let Frame { layout, periodic, .. } = self.scene.frame;
        let ends = if periodic[axis] { 0..0 } else { 0..2 };
        ends.flat_map(move |side| {
            let mut layer = self.range(None);
            layer[axis] = if side == 0 { [0, 1] } else { [layer[axis][1] - 1, layer[axis][1]] };
            let within = points(layer.map(|[first, _]| first), layer.map(|[_, end]| end));
            let solid = move |at: &[isize; 3]| self.voxels.flags[layout.at(at[0], at[1], at[2])] & SOLID != 0;
            let closed = move |at| Touch { at, side, order: u32::MAX, meets: Meets::Face(0.0) };
            within.filter(solid).map(closed)
        })
    }

    /// Returns the link of one cell with the surfaces on either side: faces first.
    fn warm_link(&self, sides: &[Touch]) -> Link<4> {
        let mut link = Link::FREE;
        for &Touch { side, meets, .. } in sides {
            match meets {
                Meets::Face(open) => link.strength[side] = [open; 4],
                Meets::Wall((theta, owner)) => {
                    link.hold(HEAT, side, theta, self.temperature(owner).unwrap_or_default(), owner);
                }
            }
        }
        link
    }

    /// Collects into `warm` the partly open cells inside solids with a temperature.
    fn warm(&self, work: &mut Work, warm: &mut Vec<WarmCell>) {
        let layout = self.scene.frame.layout;
        warm.retain(|cell| !work.last.is_stale(&self.scene, cell_of(layout, cell.at)));
        if !self.hold_temperature() {
            return;
        }
        let found = Mutex::new(&mut *warm);
        work.last.each_stale(&self.scene, |block| {
            let mut mine = work.scratch.mine();
            let near = &mut mine.near;
            if !self.scene.near_surface(block, near) {
                return;
            }
            let [low, high] = self.scene.range(block, self.range(None));
            let cells = points(low, high).filter_map(|at| self.warm_cell(near, at));
            found.lock().unwrap_or_else(PoisonError::into_inner).extend(cells);
        });
        warm.sort_unstable_by_key(|cell| cell.at);
    }

    /// Returns a partly open cell whose middle lies inside a solid with a temperature.
    fn warm_cell(&self, near: &[u16], at: [isize; 3]) -> Option<WarmCell> {
        let place = self.scene.frame.layout.at(at[0], at[1], at[2]);
        let middle = at.map(|x| (x as f32 + 0.5) * self.scene.frame.h);
        let (distance, owner) = self.scene.inside_or_out(near, middle);
        let partly = distance <= 0.0 && self.voxels.flags[place] & SOLID == 0;
        let temperature = partly.then(|| self.temperature(owner)).flatten()?;
        Some(WarmCell { at: place as u32, temperature, owner })
    }

    /// For each no-slip solid, angular velocity of its surface times its volume \[cells/s\]. The volume is
    /// the mean of two sums of the closed areas of its faces, one for each axis across the largest component
    /// of the angular velocity. Along that component the solid may be as long as the box.
    fn turning(&self, turning: &mut [[f64; 3]]) {
        let rates = |solid: usize| {
            let pose = &self.scene.poses[solid];
            let rate = [0, 1, 2].map(|a| f64::from(pose.spin[a]) + f64::from(pose.surface_velocity[a]));
            (rate != [0.0; 3] && self.sticks(solid as u16)).then_some(rate)
        };
        // First the closed areas, then the result.
        turning.fill([0.0; 3]);
        let any_turns = (0..turning.len()).any(|solid| rates(solid).is_some());
        for a in (0..3).filter(|_| any_turns) {
            self.ranks.each_in_turn(turning, |closed| {
                for (cut, owner) in self.voxels.cuts.faces[a].iter().zip(&self.voxels.owners[a]) {
                    if self.scene.frame.is_own(cut.at) {
                        closed[usize::from(*owner)][a] += f64::from(1.0 - cut.open);
                    }
                }
            });
        }
        for (solid, turning) in turning.iter_mut().enumerate() {
            let Some(rate) = rates(solid) else {
                *turning = [0.0; 3];
                continue;
            };
            let axis = (0..3).fold(0, |most, a| if rate[a].abs() > rate[most].abs() { a } else { most });
            let volume = 0.5 * (turning[(axis + 1) % 3] + turning[(axis + 2) % 3]);
            *turning = rate.map(|rate| rate * volume);
        }
    }

    /// Yields the partly open faces of a component at no-slip solids.
    fn partial(&self, component: usize) -> impl Iterator<Item = Partial> {
        let faces = self.voxels.cuts.faces[component].iter().zip(&self.voxels.owners[component]);
        let stuck = faces.filter(move |(cut, owner)| cut.open > 0.0 && self.sticks(**owner));
        let partial = move |(cut, owner): (&Cut, &u16)| {
            let middle = self.scene.middle_of_face(component, cut.at);
            Partial {
                at: cut.at,
                open: cut.open,
                velocity: self.scene.surface_velocity(*owner, middle)[component],
                owner: *owner,
                inside: self.scene.inside_or_out(&[*owner], middle).0 <= 0.0,
                before: 0.0,
            }
        };
        stuck.map(partial)
    }
}

/// Obstacle on one side of a cell: a partly closed face, or the surface of a solid with a temperature.
#[derive(Clone, Copy)]
enum Meets {
    Face(f32),
    Wall((f32, u16)),
}

/// A cell with an obstacle on one side. Obstacles of the same side are sorted by `order`.
#[derive(Clone, Copy)]
struct Touch {
    at: [isize; 3],
    side: usize,
    order: u32,
    meets: Meets,
}

/// Sort key: planes, then rows, then cells; below comes before above.
fn sort_key(at: &[isize; 3], side: usize) -> (isize, isize, isize, usize) {
    (at[2], at[1], at[0], side)
}

/// Returns a list that no other thread uses at this moment.
fn unlocked<T>(list: &mut Mutex<T>) -> &mut T {
    list.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// A face or cell as an end of a link.
#[derive(Clone, Copy)]
struct Point {
    middle: [f32; 3],
    distance: f32,
    /// Whether its value is that of air, not of a solid.
    is_air: bool,
    is_solid: bool,
}

fn points(low: [isize; 3], high: [isize; 3]) -> impl Iterator<Item = [isize; 3]> {
    let rows = (low[2]..high[2]).flat_map(move |k| (low[1]..high[1]).map(move |j| (j, k)));
    rows.flat_map(move |(j, k)| (low[0]..high[0]).map(move |i| [i, j, k]))
}
