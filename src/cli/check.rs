//! `updraft check`: whether a scene is valid, its cost, and the consequences of its choices.

use super::frames::Frames;
use super::{CliError, Common, machine, say, say_json};
use crate::foreign::on_one_line;
use crate::parameter::{ForceKind, SideKind, SideName, Worded};
use crate::scene::{Scene, SceneError, Share, memory};
use crate::solver::{
    Advection, BoundaryCondition, BoundaryConditions, Force, Integrator, Projection, Shape, SideValues,
    Solid, Solver,
};

mod disk;
mod idle;
mod report;
pub mod slabs;

use disk::{Disk, Memory};
use slabs::Slabs;

/// Check a scene.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// A built-in scene or a scene file
    #[arg(value_name = "SCENE")]
    scene: String,
    /// Frames for which the space on the disk is estimated
    #[arg(long, value_name = "A-B[:STEP]", default_value = "1-120", allow_hyphen_values = true)]
    frames: Frames,
    /// Estimate the memory of each of N ranks, and what they send
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    ranks: Option<u16>,
    /// Print the report as JSON, with the value of every key; of an invalid scene the error and its place
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &CheckArgs, common: &Common) -> Result<(), CliError> {
    match scene(args, common) {
        Ok(scene) => {
            let slabs = args.ranks.map(|ranks| Slabs::of(&scene, ranks)).transpose();
            let slabs = slabs.map_err(|what| CliError::Request(format!("--ranks: {what}")))?;
            let mut lines = lines(&scene, args.frames).to_vec();
            if let Some(slabs) = &slabs {
                // The run is on other machines, so the memory of this one does not matter.
                lines.retain(|(what, _)| *what != "cost");
                lines.push(("cost", format!("about {} in one process", memory::human(scene.memory()))));
                lines.push(("ranks", slabs.line()));
            }
            let idle = idle::keys(&scene);
            if !idle.is_empty() {
                lines.push(("no effect", idle.join("; ")));
            }
            if !args.json {
                let lines: Vec<_> =
                    lines.iter().map(|(what, value)| format!("{what:10} {}\n", on_one_line(value))).collect();
                return say(&lines.concat());
            }
            let about = lines.into_iter().map(|(what, value)| (what.to_owned(), value.into()));
            let mut report = report::valid(&scene, args.frames, about.collect());
            if let Some(slabs) = slabs {
                report["ranks"] = slabs.json();
            }
            say_json(&report)
        }
        Err(error) => {
            if let (CliError::Scene(error), true) = (&error, args.json) {
                say_json(&report::invalid(&args.scene, error))?;
            }
            Err(error)
        }
    }
}

/// Loads the scene, and evaluates its initial fields once and its sides up to the last frame: a run would
/// fail on a NaN among them.
fn scene(args: &CheckArgs, common: &Common) -> Result<Scene, CliError> {
    let share = args.ranks.map_or(common.share, |ranks| Share::elsewhere(ranks.into()));
    let scene = Common { share, ..common.clone() }.scene(&args.scene, &[])?;
    scene.check_stored_fields().map_err(|error| CliError::Scene(SceneError::Initial(error)))?;
    let end = f64::from(args.frames.last) / f64::from(scene.time.frame_rate);
    scene.check_sides_until(end).map_err(CliError::Request)?;
    Ok(scene)
}

fn lines(scene: &Scene, frames: Frames) -> [(&'static str, String); 13] {
    [
        ("scene", format!("{}: valid", scene.name)),
        ("box", box_of(scene)),
        ("follow", follow(scene)),
        ("sides", sides(scene)),
        ("time", time(scene)),
        ("advection", advection(scene)),
        ("projection", projection(scene)),
        ("sources", sources(scene)),
        ("solids", solids(scene)),
        ("forces", forces(scene)),
        ("picture", picture(scene)),
        ("disk", disk(scene, frames)),
        ("cost", cost(scene)),
    ]
}

fn box_of(scene: &Scene) -> String {
    let [nx, ny, nz] = scene.config.dims.array();
    let [x, y, z] = scene.extent().map(rounded);
    let smoke = match scene.config.detail {
        1 => String::new(),
        _ => {
            let ([nx, ny, nz], h) = (scene.config.smoke_dims().array(), rounded(scene.config.smoke_h()));
            format!("; smoke on {nx} x {ny} x {nz} cells of {h} m")
        }
    };
    format!("{nx} x {ny} x {nz} cells of {} m: {x} x {y} x {z} m{smoke}", scene.config.h)
}

/// Rounds a product to the seven digits of an f32: 0.72, not 0.71999997.
fn rounded(x: f32) -> f64 {
    format!("{x:.6e}").parse().unwrap_or_else(|_| x.into())
}

/// Describes the rule of a box that follows its smoke, with the memory of the solver at the start and at most.
fn follow(scene: &Scene) -> String {
    let (config, follow) = (&scene.config, scene.config.follow);
    if !follow.on {
        return "no: the box stays".into();
    }
    let start = memory::human(Solver::memory(config, !scene.solids.is_empty()));
    let most = memory::human((f64::from(follow.limit) * f64::from(1 << 20)) as u64);
    format!("open sides, {} cells from the smoke; {start} at the start, at most {most}", follow.margin)
}

/// Returns text such as `closed: x, y_min, z; open: y_max`.
fn sides(scene: &Scene) -> String {
    let sides = &scene.config.sides;
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        let [lower, upper] = [0, 1].map(|end| describe(scene, axis, end));
        if lower == upper {
            join_group(&mut groups, lower, name.to_owned());
        } else {
            let [low, high] = SideName::ALL[axis].map(SideName::word);
            join_group(&mut groups, lower, low.to_owned());
            join_group(&mut groups, upper, high.to_owned());
        }
    }
    let mut said: Vec<String> =
        groups.iter().map(|(kind, names)| format!("{kind}: {}", names.join(", "))).collect();
    if scene.side_formulas.is_empty() {
        said.extend(surplus(sides, scene.config.dims.array()));
    } else {
        said.push("with formulas in place and time".into());
    }
    said.join("; ")
}

/// Reports the surplus of air if no side is open and the inflows do not cancel.
fn surplus(sides: &BoundaryConditions, n: [usize; 3]) -> Option<String> {
    let (mut net, mut gross) = (0.0, 0.0);
    for (axis, ends) in sides.iter().enumerate() {
        for (side, inwards) in ends.iter().zip([1.0, -1.0]) {
            match side {
                BoundaryCondition::Open => return None,
                BoundaryCondition::Inflow(inflow) => {
                    let area = (n.iter().product::<usize>() / n[axis]) as f64;
                    let flux = inwards * f64::from(inflow.velocity[axis]) * area;
                    net += flux;
                    gross += flux.abs();
                }
                _ => {}
            }
        }
    }
    let comes = if net > 0.0 { "enters than leaves" } else { "leaves than enters" };
    (net.abs() > 1e-5 * gross)
        .then(|| format!("more air {comes}, and no side is open: no flow can do that; open a side, or let the inflows balance"))
}

fn join_group(groups: &mut Vec<(String, Vec<String>)>, kind: String, name: String) {
    match groups.iter_mut().find(|(known, _)| *known == kind) {
        Some((_, names)) => names.push(name),
        None => groups.push((kind, vec![name])),
    }
}

/// Returns text such as `inflow at [formula, 0.0, 0.0] m/s`.
fn describe(scene: &Scene, axis: usize, end: usize) -> String {
    let (side, held) = (scene.config.sides[axis][end], scene.config.held[axis][end]);
    let formulas = scene.side_formulas.iter().find(|formulas| formulas.is_of(axis, end));
    let is_formula = |quantity: usize| formulas.is_some_and(|formulas| formulas.gives(quantity));
    let number = |quantity: usize, value: f32| match is_formula(quantity) {
        true => "formula".to_owned(),
        false => format!("{value:?}"),
    };
    let vector = |values: [f32; 3]| {
        let [u, v, w] = [0, 1, 2].map(|c| number(c, values[c]));
        format!("[{u}, {v}, {w}] m/s")
    };
    let kind = SideKind::of(&side).word();
    let kind = match side {
        BoundaryCondition::NoSlip(velocity) if velocity != [0.0; 3] || (0..3).any(is_formula) => {
            format!("{kind}, moving at {}", vector(velocity))
        }
        BoundaryCondition::Inflow(inflow) => format!("{kind} at {}", vector(inflow.velocity)),
        _ => kind.to_owned(),
    };
    match held {
        Some(_) if is_formula(6) => format!("{kind}, held at a formula"),
        Some(excess) => format!("{kind}, held at {excess} K"),
        None => kind,
    }
}

fn time(scene: &Scene) -> String {
    let rate = scene.time.frame_rate;
    let (steps, dt) = scene.time.steps_per_frame();
    let control = scene.config.time;
    match scene.time.step {
        Some(_) => format!("{rate} frames/s, {steps} fixed steps of {dt} s each"),
        None => format!(
            "{rate} frames/s, substeps of CFL {} or less, at most {}",
            control.cfl, control.max_substeps
        ),
    }
}

fn advection(scene: &Scene) -> String {
    let is_finer = scene.config.detail > 1;
    let scheme = match scene.config.advection {
        Advection::SemiLagrangian => "semi-Lagrangian, first order",
        Advection::Monotone => "monotone Hermite interpolation",
        Advection::MacCormack => "MacCormack with limiter, second order",
        Advection::Cubic => "limited cubic interpolation (Catmull–Rom), third order in smooth flow",
        Advection::Lagrange if is_finer => {
            "limited cubic interpolation (Lagrange) for the smoke, through six points along each axis for the velocity"
        }
        Advection::Lagrange => "limited cubic interpolation (Lagrange), third order in smooth flow",
        Advection::Conservative if is_finer => {
            "conservative sweeps with piecewise parabolas for the smoke, limited interpolation (Lagrange) through six points along each axis for the velocity"
        }
        Advection::Conservative => {
            "conservative sweeps with piecewise parabolas for the smoke, limited cubic interpolation (Lagrange) for the velocity"
        }
    };
    match scene.config.integrator {
        Integrator::Projection => scheme.into(),
        Integrator::Reflection => format!("{scheme}; with reflection, second order in time"),
        Integrator::Trapezoid => format!("{scheme}; trapezoidal rule, second order in time"),
    }
}

/// Describes the chosen projection.
fn projection(scene: &Scene) -> String {
    let direct = "direct: transforms along two axes, a tridiagonal sweep along the third";
    let multigrid = format!("multigrid-preconditioned conjugate gradients, to {}", scene.config.tolerance);
    match scene.config.projection {
        Projection::Auto if scene.solids.is_empty() => direct.into(),
        Projection::Auto | Projection::Multigrid => multigrid,
        Projection::Direct => direct.into(),
        Projection::GaussSeidel { sweeps } => format!("{sweeps} Gauss-Seidel sweeps, for comparison"),
    }
}

/// Returns whether anything other than smoke moves the air, now or at the start.
fn something_moves(scene: &Scene) -> bool {
    let drives = |side: &BoundaryCondition| match side {
        BoundaryCondition::NoSlip(velocity) => *velocity != [0.0; 3],
        BoundaryCondition::Inflow(_) => true,
        _ => false,
    };
    !scene.initial.is_empty()
        || !scene.forces.is_empty()
        || !scene.side_formulas.is_empty()
        || scene.config.sides.as_flattened().iter().any(drives)
        || scene.config.held.as_flattened().iter().any(Option::is_some)
        || scene.solids.iter().any(|solid| solid.temperature.is_some() || is_moving(solid))
}

fn sources(scene: &Scene) -> String {
    let count = match (scene.sources.len(), scene.fills.len()) {
        (0, 0) if something_moves(scene) => "none".into(),
        (0, 0) => "none: the air rests until someone paints".into(),
        (n, 0) => n.to_string(),
        (n, fills) => format!("{n}, and {fills} filled at the start"),
    };
    let buried = scene.buried_shapes().into_iter();
    count
        + &buried
            .map(|shape| format!("; {shape} lies inside a solid, where nothing comes out"))
            .collect::<String>()
}

/// Returns text such as `2: ball at [0.5, 1, 0.5] m, moving; box …`.
fn solids(scene: &Scene) -> String {
    if scene.solids.is_empty() {
        return "none".into();
    }
    let all: Vec<String> = scene.solids.iter().map(solid).collect();
    let no_air = if scene.has_no_air() { "; they fill the box: no air is left" } else { "" };
    let unresolved = scene.unresolved_solids().into_iter();
    let unresolved: String = unresolved
        .map(|solid| format!("; {solid} is thinner than a cell along two axes: the air may flow through it"))
        .collect();
    format!("{}: {}{no_air}{unresolved}", all.len(), all.join("; "))
}

fn solid(solid: &Solid) -> String {
    let scale = solid.scale;
    let shape = match &solid.shape {
        Shape::Sphere { radius } => format!("ball of radius {} m", rounded(radius * scale)),
        Shape::Box { size } => format!("box of {:?} m", size.map(|edge| rounded(edge * scale))),
        Shape::Cylinder { radius, height } => {
            let [radius, height] = [radius, height].map(|length| rounded(length * scale));
            format!("cylinder of radius {radius} m and height {height} m")
        }
        Shape::Mesh(mesh) => format!("mesh of {} triangles", mesh.triangles().len()),
    };
    let moving = if is_moving(solid) { ", moving" } else { "" };
    let warm = solid.temperature.map(|excess| format!(", held at {excess} K")).unwrap_or_default();
    format!("{shape} at {:?} m{moving}{warm}", solid.position_at(0.0))
}

/// Returns whether a solid changes its position or its surface moves.
fn is_moving(solid: &Solid) -> bool {
    solid.keyframes.len() > 1 || solid.spin != [0.0; 3]
}

fn picture(scene: &Scene) -> String {
    let [width, height] = scene.size;
    let memory = memory::human(Memory::of(scene).picture);
    format!("{width}x{height} pixels, {memory} of memory while it is rendered")
}

/// Returns text such as `120 frames about: png 35 MiB, …`.
fn disk(scene: &Scene, frames: Frames) -> String {
    let disk = Disk::of(scene);
    let full = memory::human(disk.vdb_full * u64::from(frames.count()));
    let files = disk.of_frames(frames).map(|(name, bytes)| match name {
        "vdb" => format!("vdb {} (up to {full} where smoke fills the box)", memory::human(bytes)),
        _ => format!("{name} {}", memory::human(bytes)),
    });
    let checkpoint = memory::human(disk.checkpoint);
    let grows = if scene.config.follow.on { " of the box at the start, which may grow" } else { "" };
    let (count, files) = (frames.count(), files.join(", "));
    format!("about, for {count} frames{grows}: {files}; a checkpoint {checkpoint}")
}

fn forces(scene: &Scene) -> String {
    let kind = |force: &Force| ForceKind::of(&force.field).map_or("custom", ForceKind::word);
    match scene.forces.as_slice() {
        [] => "none".into(),
        forces => forces.iter().map(kind).collect::<Vec<_>>().join(", "),
    }
}

/// Reports memory and threads.
fn cost(scene: &Scene) -> String {
    let threads = match scene.config.threads {
        0 => machine::processors(),
        n => n,
    };
    let of = memory::machine().map(|all| format!(" of {}", memory::human(all))).unwrap_or_default();
    format!("about {}{of}, {threads} threads", memory::human(scene.memory()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solids_that_leave_no_air_are_told() {
        let told = |solids: &str| {
            let text = format!("[domain]\ncells = [16, 16, 16]\nvoxel = 0.1\n{solids}");
            super::solids(&Scene::parse("s.toml", &text).unwrap())
        };
        let half = |x: f32, width: f32| {
            format!(
                "[[solid]]\nshape = {{ box = {{ size = [{width}, 1.6, 1.6] }} }}\nposition = [{x}, 0.8, 0.8]\n"
            )
        };
        let no_air = "no air is left";
        assert!(told(&half(0.8, 1.6)).contains(no_air), "{}", told(&half(0.8, 1.6)));
        assert!(told(&(half(0.4, 0.8) + &half(1.2, 0.8))).contains(no_air), "two that fill it together");
        assert!(!told(&half(0.4, 0.8)).contains(no_air));
        assert!(!told("").contains(no_air));
    }

    /// A rod between the corners and centres of the cells was there in the picture alone.
    #[test]
    fn solids_that_the_grid_does_not_resolve_are_told() {
        let told = |size: [f32; 3], more: &str| {
            let text = format!(
                "[domain]\ncells = [16, 16, 16]\nvoxel = 0.1\n{more}\n\
                 [[solid]]\nshape.sphere.radius = 0.3\nposition = [0.8, 0.8, 0.8]\n\
                 [[solid]]\nshape.box.size = {size:?}\nposition = [0.8, 0.33, 0.33]\n"
            );
            super::solids(&Scene::parse("s.toml", &text).unwrap())
        };
        let thin = "; solid.1 is thinner than a cell along two axes: the air may flow through it";
        let rod = [1.2, 0.04, 0.06];
        assert!(told(rod, "").ends_with(thin), "{}", told(rod, ""));
        assert!(told([0.09; 3], "").ends_with(thin));
        assert!(!told([1.2, 0.001, 0.4], "").contains("thinner"), "a plate closes faces");
        assert!(!told([1.2, 0.1, 0.1], "").contains("thinner"));
        assert!(!told(rod, "detail = 2").contains("thinner"), "the finer cells see it");
    }
}
