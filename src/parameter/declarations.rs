//! The declarations: one entry for each key.

use std::ops::RangeInclusive;

use super::Effect::{ActsNow, LookOnly, Restarts};
use super::constructors::{color, number, plain, table, text, vector, whole, word};
use super::field_access::{Access, FieldAccess, Plain};
use super::words::{
    FluxKind, Frozen, IntervalKind, MEAN, PlaceKind, RegionKind, SideKind, SideName, SolidKind, Worded,
};
use super::{Kind, Parameter, Subject};
use crate::field::Field;
use crate::look::{CameraProjection, Scattering, ToneMap};
use crate::solver::{ActsOn, Advection, Integrator, MOST_DETAIL, MOST_THREADS, Motion, Projection, Slip};

/// Makes the access to a field of `Params`. In `params!(p, n => p.smoke[n].buoyancy)` n is the number of the
/// smoke.
macro_rules! params {
    ($($access:tt)*) => { FieldAccess::Params(access!($($access)*), 0) };
}

/// Makes the access to a field of `Look`.
macro_rules! look {
    ($($access:tt)*) => { FieldAccess::Look(access!($($access)*), 0) };
}

/// Makes the access to a field of the solver's `Config`.
macro_rules! config {
    ($($access:tt)*) => { FieldAccess::Config(access!($($access)*), 0) };
}

macro_rules! access {
    ($t:ident => $place:expr) => { access!($t, _n => $place) };
    ($t:ident, $n:ident => $place:expr) => {
        Access::new(
            |$t, $n| Plain::wrap($place),
            |$t, $n, value| if let Some(x) = Plain::unwrap(value) { $place = x },
        )
    };
}

mod render_keys;

use render_keys::{background, camera, environment, light, light_list, medium, render};

// Hard ranges are wide, because a scene may use other units (a convection cell with its Rayleigh number as
// buoyancy). The solver stays finite for all values in them (`wild_settings_stay_finite`).

/// Coordinates, velocities and similar values: far beyond any flow in metres and seconds, small enough for
/// products in f32.
const ANY: RangeInclusive<f32> = -1e6..=1e6;
/// Sizes that must not be 0.
const SIZE: RangeInclusive<f32> = 1e-6..=1e6;
/// Shares of a whole.
const SHARE: RangeInclusive<f32> = 0.0..=1.0;
/// Velocities given to the air \[m/s\].
const VELOCITY: RangeInclusive<f32> = -1e4..=1e4;
/// Accelerations \[m/s²\].
const ACCELERATION: RangeInclusive<f32> = -1e6..=1e6;
/// Temperature excess \[K\].
const HEAT: RangeInclusive<f32> = -1e4..=1e4;
/// Density given to a region \[-\].
const DENSITY: RangeInclusive<f32> = 0.0..=1e4;
/// Rates of change of a density \[1/s\].
const EMISSION: RangeInclusive<f32> = -1e6..=1e6;
/// Diffusion coefficients \[m²/s\].
const DIFFUSION: RangeInclusive<f32> = 0.0..=1e6;
/// Rates of decay \[1/s\].
const DECAY: RangeInclusive<f32> = 0.0..=1e6;
/// Instants \[s\].
const INSTANT: RangeInclusive<f32> = 0.0..=1e6;
/// Instants that may be infinite \[s\].
const LAST: RangeInclusive<f32> = 0.0..=f32::INFINITY;

/// Parameters of the velocity alone, without an effect on smoke in the flow of another run.
const AIR: &[Subject] = &[Subject::Air];
/// Parameters of the run and of pictures of it afterwards: both have solids, and an instant for each frame.
const SEEN: &[Subject] = &[Subject::Air, Subject::Smoke, Subject::Picture];
/// Parameters of threads and memory, which change no result.
const MACHINE: &[Subject] = &[Subject::Machine];

/// Returns all parameters, in the order of the reference.
pub(super) fn all() -> Vec<Parameter> {
    [
        domain(),
        side(),
        time(),
        fluid(),
        smoke(),
        turbulence(),
        solver(),
        render(),
        background(),
        medium(),
        light(),
        environment(),
        camera(),
    ]
    .into_iter()
    .chain([source(), shape(), noise(), force(), initial(), solid(), light_list(), probe(), window()])
    .flatten()
    .collect()
}

fn domain() -> Vec<Parameter> {
    vec![
        plain("domain.cells", Kind::Wholes(3), "-", 1.0..=65536.0, Restarts)
            .default("[96, 144, 96]")
            .says("Cells along x, y and z; an axis of one cell makes the run two-dimensional."),
        number("domain.voxel", "m", SIZE, Restarts).default("0.01").says("Edge of a cell."),
        whole("domain.detail", 1.0..=MOST_DETAIL as f32, Restarts).of(config!(c => c.detail)).says(
            "Cells of smoke and heat along each edge of a cell: 2 makes the smoke twice as fine as the velocity, at about a third of \
             the time of twice as many cells. Files and pictures have the finer smoke; an axis of one cell is divided too.",
        ),
        plain("domain.follow", Kind::Flag, "", SHARE, Restarts).of(config!(c => c.follow.on)).says(
            "Whether open sides move with the smoke: the box grows, shrinks and moves by bricks of 8 cells around smoke, heat, sources at \
             work and solids that move or hold a temperature, and `cells` is the box at the start. Other sides stay, and none sinks \
             below y = 0. Sources, forces and solids may lie wherever open sides can come to. At the edges of an inflow with smoke \
             or heat, or of a wall that heats the air, open sides follow only what exceeds the value of that side.",
        ),
        whole("domain.follow_margin", 4.0..=512.0, Restarts).of(config!(c => c.follow.margin)).says(
            "Least number of cells between smoke or heat and a side that moves. More cells let the flow differ less from that in a \
             large box.",
        ),
        number("domain.follow_threshold", "-", 0.0..=0.1, Restarts).of(config!(c => c.follow.threshold)).says(
            "Share of the greatest density in the box below which smoke counts as none, and may be left behind; of the temperature ten \
             times as much.",
        ),
        plain("domain.follow_free", Kind::Flag, "", SHARE, Restarts).of(config!(c => c.follow.free)).upon(AIR).says(
            "Whether open sides hold the pressure that endless air around the box would have, instead of 0, which pulls at smoke near \
             them. It needs an open side on each axis, and has no effect beside solids or with Gauss-Seidel sweeps.",
        ),
        number("domain.follow_limit", "MiB", 1.0..=1e8, Restarts).of(config!(c => c.follow.limit)).says(
            "Memory of the solver beyond which a box that follows grows no more; smoke then leaves through its open sides.",
        ),
        plain("domain.walls", Kind::WordOrTable(SideKind::WORDS), "", SHARE, Restarts)
            .default(r#"{ x = "closed", y_min = "closed", y_max = "open", z = "closed" }"#)
            .says(
                "Boundary conditions: one word for all six sides, or a table by axis and side, as described below.",
            ),
    ]
}

fn side() -> Vec<Parameter> {
    vec![
        number("side.closed.temperature", "K", HEAT, Restarts)
            .says("Temperature excess held at the wall; absent: insulated."),
        vector("side.no-slip.velocity", "m/s", VELOCITY, Restarts)
            .default("[0, 0, 0]")
            .says("Velocity of the wall, along itself; each number may be a formula in x, y, z and t, as \"sin(2 * t)\"."),
        number("side.no-slip.temperature", "K", HEAT, Restarts)
            .says("Temperature excess held at the wall; absent: insulated."),
        vector("side.inflow.velocity", "m/s", VELOCITY, Restarts)
            .default("[0, 0, 0]")
            .says("Velocity of the air that enters; each number may be a formula in x, y, z and t, as the smoke and the temperature of all sides."),
        number("side.inflow.red", "-", DENSITY, Restarts).default("0").says("Red smoke in it."),
        number("side.inflow.green", "-", DENSITY, Restarts).default("0").says("Green smoke in it."),
        number("side.inflow.blue", "-", DENSITY, Restarts).default("0").says("Blue smoke in it."),
        number("side.inflow.temperature", "K", HEAT, Restarts).default("0").says("Its temperature excess."),
    ]
}

fn time() -> Vec<Parameter> {
    vec![
        number("time.frame_rate", "1/s", 1e-3..=1e5, ActsNow)
            .default("24")
            .slider("Steps per second", 5.0..=120.0)
            .logarithmic()
            .upon(SEEN)
            .says("Frames per second; frame n is the state at n / frame_rate. A frame is one step, unless `step` is set."),
        number("time.step", "s", 1e-5..=1e3, ActsNow).says(
            "Longest step, instead of cfl and max_substeps; a frame has the least number of equal steps within it. Absent: a frame is one \
             step, divided into as many substeps as the flow needs.",
        ),
        number("time.cfl", "cells", 0.1..=100.0, Restarts)
            .of(config!(c => c.time.cfl))
            .says("Most cells that the air crosses in a substep, at its speed at the substep's beginning; a step is divided accordingly."),
        whole("time.max_substeps", 1.0..=1000.0, Restarts)
            .of(config!(c => c.time.max_substeps))
            .says("Most substeps of a step, regardless of cfl; `stats.csv` counts the missing ones, and the run ends with a warning."),
    ]
}

fn fluid() -> Vec<Parameter> {
    vec![
        vector("fluid.up", "-", ANY, ActsNow)
            .of(params!(p => p.up))
            .upon(AIR)
            .says("Direction in which heat and smoke rise, against gravity; its length scales the buoyancy."),
        number("fluid.heat_buoyancy", "m/(s² K)", -1e6..=1e6, ActsNow)
            .of(params!(p => p.heat_buoyancy))
            .slider("Lift by heat", -0.2..=0.2)
            .upon(AIR)
            .says("Acceleration along `up` per kelvin above the air around."),
        number("fluid.cooling", "1/s", DECAY, ActsNow)
            .of(params!(p => p.cooling))
            .slider("Cooling", 0.0..=5.0)
            .logarithmic()
            .says("Rate of heat loss: after 1/cooling seconds 37 % is left."),
        number("fluid.conduction", "m²/s", DIFFUSION, ActsNow)
            .of(params!(p => p.conduction))
            .slider("Heat diffusion", 0.0..=0.1)
            .logarithmic()
            .says("Diffusion coefficient of heat; air has 2e-5. Only conduction brings the temperature of a wall or solid to the air."),
        plain("fluid.ambient", Kind::NumberOr(MEAN), "K", HEAT, ActsNow)
            .of(params!(p => p.ambient))
            .labelled("Lift against the mean temperature")
            .upon(AIR)
            .says("Temperature excess without buoyancy, or \"mean\": that of all air in the box, as in a closed room that heats up."),
        number("fluid.vorticity", "1/s", 0.0..=100.0, ActsNow)
            .of(params!(p => p.vorticity))
            .slider("Vorticity", 0.0..=2.0)
            .upon(AIR)
            .says("Vorticity confinement ε of ε h (N × ω): feeds the small swirls that the grid damps. It is a rate: a flow twice as \
                 fast needs twice as much."),
        number("fluid.viscosity", "m²/s", DIFFUSION, ActsNow)
            .of(params!(p => p.viscosity))
            .slider("Viscosity", 0.0..=0.1)
            .logarithmic()
            .upon(AIR)
            .says("Kinematic viscosity; air has 1.5e-5. Any value is stable."),
        number("fluid.friction", "1/s", DECAY, ActsNow)
            .of(params!(p => p.friction))
            .slider("Friction", 0.0..=10.0)
            .logarithmic()
            .upon(AIR)
            .says("Decay rate of all motion: after 1/friction seconds 37 % is left."),
    ]
}

fn smoke() -> Vec<Parameter> {
    let of = |n: usize, name: &str, label: &'static str| {
        let path = |key: &str| format!("smoke.{name}.{key}");
        [
            number(&path("buoyancy"), "m/s²", ACCELERATION, ActsNow)
                .of(params!(p, n => p.smoke[n].buoyancy))
                .slider(label, -5.0..=5.0)
                .upon(AIR)
                .says("Upward acceleration per unit of density; below zero this smoke sinks."),
            number(&path("dissipation"), "1/s", -1e3..=1e6, ActsNow)
                .of(params!(p, n => p.smoke[n].dissipation))
                .slider(label, 0.0..=5.0)
                .logarithmic()
                .says(
                    "Decay rate of the density: after 1/dissipation seconds 37 % is left. Below zero it grows.",
                ),
            number(&path("diffusion"), "m²/s", DIFFUSION, ActsNow)
                .of(params!(p, n => p.smoke[n].diffusion))
                .slider(label, 0.0..=0.1)
                .logarithmic()
                .says("Diffusion coefficient of this smoke."),
            color(&path("color"), "-", SHARE, LookOnly).of(look!(l, n => l.colors[n])).says("Albedo."),
        ]
        .map(|parameter| parameter.at(n))
    };
    [of(0, "red", "Red"), of(1, "green", "Green"), of(2, "blue", "Blue")].into_iter().flatten().collect()
}

fn turbulence() -> Vec<Parameter> {
    vec![
        number("turbulence.strength", "-", 0.0..=100.0, ActsNow)
            .of(params!(p => p.turbulence.strength))
            .slider("Turbulence", 0.0..=4.0)
            .says(
                "Swirls that the velocity's cells are too coarse for, which move finer smoke: 1 continues the spectrum of the velocity, 0 is \
                 none, at no cost. It needs a `domain.detail` of 2 or more and conservative advection.",
            ),
        number("turbulence.size", "cells", 2.0..=16.0, ActsNow)
            .of(params!(p => p.turbulence.size))
            .slider("Swirl size", 2.0..=12.0)
            .says("Wavelength of the largest swirls, in cells of the velocity."),
        whole("turbulence.octaves", 1.0..=6.0, ActsNow)
            .of(params!(p => p.turbulence.octaves))
            .says("Number of bands of swirls, each half as large as the one before; those too fine for the cells of smoke are left out."),
        number("turbulence.spectrum", "-", -2.0..=6.0, ActsNow)
            .of(params!(p => p.turbulence.spectrum))
            .slider("Spectrum exponent", 0.0..=4.0)
            .says("Exponent p of the energy spectrum k^-p: 1.67 is Kolmogorov's, less makes the smallest ones stronger."),
        number("turbulence.stretch", "-", 1.2..=20.0, ActsNow)
            .of(params!(p => p.turbulence.stretch))
            .says("How far the flow may stretch swirls before they are replaced by new ones, which fade in."),
        whole("turbulence.seed", 0.0..=1e6, ActsNow)
            .of(params!(p => p.turbulence.seed))
            .says("Another seed gives other swirls."),
    ]
}

fn solver() -> Vec<Parameter> {
    vec![
        word::<Advection>("solver.advection", Restarts)
            .of(config!(c => c.advection))
            .says("Advection scheme."),
        word::<Integrator>("solver.integrator", Restarts).of(config!(c => c.integrator)).upon(AIR).says(
            "Time integrator of the velocity; \"reflection\" is the choice for numbers, above all at high viscosity (VALIDATION.md).",
        ),
        whole("solver.trace_order", 2.0..=3.0, Restarts)
            .of(config!(c => c.trace))
            .says("Order of the back-trace: 2 (midpoint rule) or 3 (Ralston)."),
        word::<Projection>("solver.projection", Restarts)
            .of(config!(c => c.projection))
            .says("Method of the pressure projection."),
        word::<Frozen>("solver.flow", Restarts)
            .of(FieldAccess::Config(
                Access::new(
                    |c, _| Frozen(c.frozen).wrap(),
                    |c, _, value| {
                        if let Some(Frozen(frozen)) = Plain::unwrap(value) {
                            c.frozen = frozen;
                        }
                    },
                ),
                0,
            ))
            .says(
                "Whether the flow is computed. In a box that follows its smoke the new air of a frozen flow has the velocity of the \
                 nearest old air.",
            ),
        number("solver.tolerance", "-", 1e-6..=0.1, Restarts)
            .of(config!(c => c.tolerance))
            .says("Remaining divergence of multigrid: max abs(∇·u) h / max abs(u)."),
        whole("solver.threads", 0.0..=MOST_THREADS as f32, Restarts)
            .of(config!(c => c.threads))
            .upon(MACHINE)
            .says("Number of threads; 0: one for each processor. The result is the same for any number."),
        number("solver.memory_limit", "GiB", SIZE, Restarts)
            .upon(MACHINE)
            .says("Limit of memory, on each machine if ranks share the run; larger scenes are refused. Absent: three quarters of the machine's memory."),
    ]
}

fn source() -> Vec<Parameter> {
    vec![
        table::<RegionKind>("source.#.shape", Restarts)
            .says("Region in which it emits; absent: a ball near the floor."),
        number("source.#.emit.red", "1/s", EMISSION, Restarts)
            .default("0")
            .says("Rate of red smoke; below 0 it takes smoke away, as far as there is any. Without `emit` a source emits red 4 and heat 60; with it, what is left out is 0."),
        number("source.#.emit.green", "1/s", EMISSION, Restarts).default("0").says("Green smoke."),
        number("source.#.emit.blue", "1/s", EMISSION, Restarts).default("0").says("Blue smoke."),
        number("source.#.emit.heat", "K/s", EMISSION, Restarts).default("0").says("Heat."),
        vector("source.#.velocity", "m/s", VELOCITY, Restarts)
            .upon(AIR)
            .says("Velocity given to the air in it; in a cell that it covers in part the air takes on that part of it in 1/24 s. Absent: the source does not move the air."),
        number("source.#.start", "s", INSTANT, Restarts).default("0").says("First instant of the emission."),
        number("source.#.stop", "s", LAST, Restarts).default("inf").says("Last instant."),
    ]
}

fn shape() -> Vec<Parameter> {
    let center = |path| vector(path, "m", ANY, Restarts).says("Centre.");
    let rotation = |path| {
        vector(path, "degrees", ANY, Restarts).default("[0, 0, 0]").says("Rotation around x, then y, then z.")
    };
    vec![
        center("shape.sphere.center"),
        number("shape.sphere.radius", "m", SIZE, Restarts).says("Radius."),
        center("shape.box.center"),
        vector("shape.box.size", "m", SIZE, Restarts).says("Edges."),
        rotation("shape.box.rotation"),
        center("shape.disc.center"),
        number("shape.disc.radius", "m", SIZE, Restarts).says("Radius."),
        plain("shape.disc.axis", Kind::Direction, "-", ANY, Restarts)
            .default("[0, 1, 0]")
            .says("Normal of the plate."),
        number("shape.disc.thickness", "m", SIZE, Restarts).says("Absent: one cell."),
        text("shape.mesh.file", Restarts).says("OBJ or STL, closed, relative to the scene file."),
        vector("shape.mesh.position", "m", ANY, Restarts).says("Position of the mesh's origin."),
        rotation("shape.mesh.rotation"),
        number("shape.mesh.scale", "-", SIZE, Restarts).default("1").says("Scale factor."),
        text("shape.text.string", Restarts).says("The text; it reads along x when seen from larger z."),
        center("shape.text.center"),
        number("shape.text.height", "m", SIZE, Restarts).says("Height of capitals."),
        number("shape.text.depth", "m", SIZE, Restarts).says("Depth of the letters."),
        rotation("shape.text.rotation"),
        text("shape.text.font", Restarts).says("A TTF file, relative to the scene file; absent: the bundled bold sans."),
        text("shape.image.file", Restarts).says(
            "PNG, relative to the scene file: its red, green and blue, times alpha, scale those of emit, their mean the heat.",
        ),
        center("shape.image.center"),
        number("shape.image.width", "m", SIZE, Restarts).says("Width of the picture."),
        number("shape.image.depth", "m", SIZE, Restarts).says("Thickness of the card."),
        rotation("shape.image.rotation"),
        text("shape.volume.file", Restarts).says(
            "OpenVDB, relative to the scene file: its `density`, at most 1, scales emit. It stands where it does in the file, in metres.",
        ),
        center("shape.volume.center").says("Centre of the box that the file is read into; absent: that of the domain."),
    ]
}

fn noise() -> Vec<Parameter> {
    vec![
        number("noise.scale", "m", SIZE, Restarts).says("Size of the patches."),
        number("noise.strength", "-", SHARE, Restarts)
            .default("1")
            .says("Variation: 0 is even, 1 varies from zero to double; the mean is unchanged."),
        number("noise.speed", "1/s", DECAY, Restarts).default("1").says("Rate at which the patches change."),
        whole("noise.seed", 0.0..=1e9, Restarts).default("0").says("Seed of the patches."),
    ]
}

fn force() -> Vec<Parameter> {
    let rate = |path| {
        number(path, "1/s", DECAY, Restarts)
            .default("1")
            .says("Rate at which the air approaches that velocity.")
    };
    let all = vec![
        vector("force.#.wind.acceleration", "m/s²", ACCELERATION, Restarts)
            .says("Acceleration of the air; a wind has this or a velocity."),
        vector("force.#.wind.velocity", "m/s", VELOCITY, Restarts).says("Velocity that the air approaches."),
        rate("force.#.wind.rate"),
        vector("force.#.point.center", "m", ANY, Restarts).says("The attracting point."),
        number("force.#.point.radius", "m", SIZE, Restarts).says("Radius of the force."),
        number("force.#.point.acceleration", "m/s²", ACCELERATION, Restarts).says(
            "Acceleration at the centre, which falls as (1 - r / radius)^falloff; below zero it repels.",
        ),
        whole("force.#.point.falloff", 0.0..=16.0, Restarts).default("1").says("Exponent of that law."),
        vector("force.#.vortex.center", "m", ANY, Restarts).says("A point on its axis."),
        plain("force.#.vortex.axis", Kind::Direction, "-", ANY, Restarts)
            .default("[0, 1, 0]")
            .says("The axis; the air turns counter-clockwise when seen against it."),
        number("force.#.vortex.radius", "m", SIZE, Restarts).says("Radius of the maximum."),
        number("force.#.vortex.speed", "m/s", VELOCITY, Restarts)
            .says("Velocity at the radius, which the air approaches; a vortex has this or an acceleration."),
        rate("force.#.vortex.rate"),
        number("force.#.vortex.acceleration", "m/s²", ACCELERATION, Restarts)
            .says("Acceleration at the radius."),
        table::<RegionKind>("force.#.within", Restarts).says("Region in which it acts; absent: everywhere."),
        word::<ActsOn>("force.#.acts_on", Restarts).says("What it acts on: all air, or smoke."),
        number("force.#.start", "s", INSTANT, Restarts).default("0").says("First instant of the force."),
        number("force.#.stop", "s", LAST, Restarts).default("inf").says("Last instant."),
    ];
    all.into_iter().map(|parameter| parameter.upon(AIR)).collect()
}

fn initial() -> Vec<Parameter> {
    let formula = |path, unit, hard| plain(path, Kind::Formula, unit, hard, Restarts);
    let velocity = |path, says| formula(path, "m/s", ANY).upon(AIR).says(says);
    let scalar = |path, unit, says| formula(path, unit, -6e4..=6e4).says(says);
    vec![
        text("initial.fields", Restarts).says(
            "NPZ file with any of u v w temperature red green blue, relative to the scene file; absent: empty air at rest.",
        ),
        velocity("initial.u", "Velocity along x; this and the next six override the file."),
        velocity("initial.v", "Velocity along y."),
        velocity("initial.w", "Velocity along z."),
        scalar("initial.temperature", "K", "Temperature excess."),
        scalar("initial.red", "-", "Density of the red smoke."),
        scalar("initial.green", "-", "Density of the green smoke."),
        scalar("initial.blue", "-", "Density of the blue smoke."),
        plain("initial.let", Kind::List, "", SHARE, Restarts)
            .says("Table of names for use in these formulas, each a formula or a number."),
        table::<RegionKind>("initial.smoke.#.shape", Restarts).says("Region to fill."),
        number("initial.smoke.#.red", "-", DENSITY, Restarts).says("Red density to fill in; absent: unchanged."),
        number("initial.smoke.#.green", "-", DENSITY, Restarts).says("Green density to fill in."),
        number("initial.smoke.#.blue", "-", DENSITY, Restarts).says("Blue density to fill in."),
        number("initial.smoke.#.temperature", "K", HEAT, Restarts).says("Temperature excess to fill in."),
        vector("initial.smoke.#.velocity", "m/s", VELOCITY, Restarts).upon(AIR).says("Velocity to fill in."),
    ]
}

fn solid() -> Vec<Parameter> {
    vec![
        table::<SolidKind>("solid.#.shape", Restarts).upon(SEEN).says("Shape around its own origin."),
        number("solid.#.shape.sphere.radius", "m", SIZE, Restarts).upon(SEEN).says("Radius."),
        vector("solid.#.shape.box.size", "m", SIZE, Restarts).upon(SEEN).says("Edges."),
        number("solid.#.shape.cylinder.radius", "m", SIZE, Restarts).upon(SEEN).says("Radius; the axis is y."),
        number("solid.#.shape.cylinder.height", "m", SIZE, Restarts).upon(SEEN).says("Height."),
        text("solid.#.shape.mesh", Restarts)
            .upon(SEEN)
            .says("OBJ or STL, closed, relative to the scene file; or \"knot\", which comes with updraft."),
        vector("solid.#.position", "m", ANY, Restarts)
            .upon(SEEN)
            .says("Position of the shape's origin; absent: the middle of the box."),
        vector("solid.#.rotation", "degrees", ANY, Restarts)
            .default("[0, 0, 0]")
            .upon(SEEN)
            .says("Rotation around x, then y, then z."),
        number("solid.#.scale", "-", SIZE, Restarts).default("1").upon(SEEN).says("Scale factor."),
        plain("solid.#.keyframes", Kind::List, "s, m", ANY, Restarts).upon(SEEN).says(
            "List of [time, [x, y, z]] that it passes through; before the first and after the last it rests. Absent: it stands still.",
        ),
        word::<Motion>("solid.#.motion", Restarts)
            .default("\"linear\"")
            .upon(SEEN)
            .says("How it moves from one keyframe to the next."),
        vector("solid.#.spin", "degrees/s", ANY, Restarts)
            .default("[0, 0, 0]")
            .upon(SEEN)
            .says("Angular velocity around x, y and z through the position."),
        word::<Slip>("solid.#.slip", Restarts)
            .default("\"free\"")
            .says("Boundary condition of the air at the surface."),
        number("solid.#.temperature", "K", HEAT, Restarts)
            .says("Temperature excess at the surface, which conduction brings to the air; absent: insulated."),
        color("solid.#.color", "-", SHARE, LookOnly).default("[0.46, 0.43, 0.4]").says("Albedo."),
        number("solid.#.roughness", "-", 0.05..=1.0, LookOnly)
            .default("1")
            .says("Roughness of the surface: lights and surroundings are reflected, the sharper the smaller it is. 1: matte."),
    ]
}

fn probe() -> Vec<Parameter> {
    let place = |path, says| number(path, "m", ANY, Restarts).says(says);
    vec![
        text("probe.#.name", Restarts).says("Its file is probe-NAME.csv."),
        plain("probe.#.fields", Kind::Words(&[Field::WORDS, FluxKind::WORDS]), "", SHARE, Restarts)
            .says("Fields, or products of them such as \"v*temperature\"; each of the last five belongs to one kind of place."),
        table::<PlaceKind>("probe.#.at", Restarts).says("Place of the measurement."),
        vector("probe.#.at.point", "m", ANY, Restarts).says("A point."),
        vector("probe.#.at.line.from", "m", ANY, Restarts).says("Where a line begins."),
        vector("probe.#.at.line.to", "m", ANY, Restarts).says("Where it ends."),
        whole("probe.#.at.line.points", 2.0..=1e6, Restarts).says("How many points it has."),
        place("probe.#.at.plane.x", "The mean over a plane across x."),
        place("probe.#.at.plane.y", "The same across y."),
        place("probe.#.at.plane.z", "The same across z."),
        vector("probe.#.at.box.center", "m", ANY, Restarts).says("The mean over the cells in a box: its middle."),
        vector("probe.#.at.box.size", "m", SIZE, Restarts).says("Its edges."),
        word::<SideName>("probe.#.at.side", Restarts).says("The mean over a side of the domain."),
        whole("probe.#.at.solid", 0.0..=65_535.0, Restarts).says("A solid, counted from 0."),
        table::<IntervalKind>("probe.#.every", Restarts)
            .says("Interval of the measurements. Absent: after each step, along a line after each frame."),
        whole("probe.#.every.steps", 1.0..=1e9, Restarts)
            .says("Measure after so many steps."),
        number("probe.#.every.seconds", "s", SIZE, Restarts)
            .says("Measure after the step with which another span of this length is full."),
        number("probe.#.mean_from", "s", INSTANT, Restarts)
            .says("Measure the mean over time from this instant to now. Absent: the values of now."),
    ]
}

/// Sliders of the window that are not keys of a scene.
fn window() -> Vec<Parameter> {
    let share = |path, label| {
        number(path, "-", SHARE, ActsNow)
            .slider(label, SHARE)
            .says("Amount of this smoke in one dab of white.")
    };
    vec![
        share("brush.white.red", "Share of red"),
        share("brush.white.green", "Share of green"),
        share("brush.white.blue", "Share of blue"),
        number("brush.radius", "m", SIZE, ActsNow)
            .slider("Ball radius", 0.01..=0.3)
            .logarithmic()
            .says("Radius of the brush."),
        number("brush.density", "-", -1000.0..=1000.0, ActsNow)
            .slider("Smoke", 0.01..=5.0)
            .logarithmic()
            .says("Density at the centre of one dab."),
        number("brush.heat", "K", HEAT, ActsNow)
            .slider("Heat", -100.0..=200.0)
            .says("Temperature at the centre of one dab, above the surroundings; below zero it cools."),
        number("brush.force", "1/s", -1000.0..=1000.0, ActsNow)
            .slider("Push", 0.0..=40.0)
            .says("Velocity given to the air per metre of the brush's motion."),
        number("sun.azimuth", "degrees", -180.0..=180.0, LookOnly)
            .slider("Sun direction", -180.0..=180.0)
            .says("Azimuth of the sun around the vertical; 0 is behind the front view."),
        number("sun.height", "degrees", -90.0..=90.0, LookOnly)
            .slider("Sun elevation", -5.0..=90.0)
            .says("Elevation of the sun above the horizon."),
        number("slice.position", "share of the box", SHARE, LookOnly)
            .slider("Slice position", SHARE)
            .says("Position of the plane along its axis."),
    ]
}
