//! `updraft check`: whether a scene is valid, its cost, and the consequences of its choices.

use super::{CliError, Common, machine, say};
use crate::scene::{Scene, memory};
use crate::solver::{
    Advection, BoundaryCondition, BoundaryConditions, Force, ForceField, Integrator, Projection,
};

/// Check a scene.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// A built-in scene or a scene file
    #[arg(value_name = "SCENE")]
    scene: String,
}

/// Runs the command.
pub fn run(args: &CheckArgs, common: &Common) -> Result<(), CliError> {
    let scene = common.scene(&args.scene, &[])?;
    let lines = lines(&scene).map(|(what, value)| format!("{what:10} {value}\n"));
    say(&lines.concat())
}

fn lines(scene: &Scene) -> [(&'static str, String); 10] {
    [
        ("scene", format!("{}: valid", scene.name)),
        ("box", box_of(scene)),
        ("sides", sides(scene)),
        ("time", time(scene)),
        ("advection", advection(scene)),
        ("projection", projection(scene)),
        ("sources", sources(scene)),
        ("forces", forces(scene)),
        ("picture", format!("{}x{} pixels", scene.size[0], scene.size[1])),
        ("cost", cost(scene)),
    ]
}

fn box_of(scene: &Scene) -> String {
    let [nx, ny, nz] = scene.config.dims.array();
    // Rounded to the digits that f32 keeps of a product.
    let [x, y, z] = scene.extent().map(|e| (e * 1e4).round() / 1e4);
    format!("{nx} x {ny} x {nz} cells of {} m: {x} x {y} x {z} m", scene.config.h)
}

/// `closed: x, y_min, z; open: y_max`.
fn sides(scene: &Scene) -> String {
    let (sides, held) = (&scene.config.sides, &scene.config.held);
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        let [lower, upper] = [0, 1].map(|end| describe(sides[axis][end], held[axis][end]));
        if lower == upper {
            join_group(&mut groups, lower, name.to_owned());
        } else {
            join_group(&mut groups, lower, format!("{name}_min"));
            join_group(&mut groups, upper, format!("{name}_max"));
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
        .then(|| format!("more air {comes}, and no side is open: a uniform divergence remains"))
}

fn join_group(groups: &mut Vec<(String, Vec<String>)>, kind: String, name: String) {
    match groups.iter_mut().find(|(known, _)| *known == kind) {
        Some((_, names)) => names.push(name),
        None => groups.push((kind, vec![name])),
    }
}

fn describe(side: BoundaryCondition, held: Option<f32>) -> String {
    let kind = match side {
        BoundaryCondition::Closed => "closed".to_owned(),
        BoundaryCondition::NoSlip([0.0, 0.0, 0.0]) => "no-slip".to_owned(),
        BoundaryCondition::NoSlip(velocity) => format!("no-slip, moving at {velocity:?} m/s"),
        BoundaryCondition::Open => "open".to_owned(),
        BoundaryCondition::Periodic => "periodic".to_owned(),
        BoundaryCondition::Inflow(inflow) => format!("inflow at {:?} m/s", inflow.velocity),
    };
    match held {
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
    let scheme = match scene.config.advection {
        Advection::SemiLagrangian => "semi-Lagrangian, first order",
        Advection::Monotone => "monotone Hermite interpolation",
        Advection::MacCormack => "MacCormack with limiter, second order",
        Advection::Cubic => "limited cubic interpolation (Catmull–Rom), third order in smooth flow",
        Advection::Lagrange => "limited cubic interpolation (Lagrange), third order in smooth flow",
        Advection::Conservative => {
            "conservative sweeps with piecewise parabolas for the smoke, limited cubic for the velocity"
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

/// Whether anything other than smoke moves the air, now or at the start.
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
        || scene
            .solids
            .iter()
            .any(|solid| solid.temperature.is_some() || solid.keyframes.len() > 1 || solid.spin != [0.0; 3])
}

fn sources(scene: &Scene) -> String {
    match (scene.sources.len(), scene.fills.len()) {
        (0, 0) if something_moves(scene) => "none".into(),
        (0, 0) => "none: the air rests until someone paints".into(),
        (n, 0) => n.to_string(),
        (n, fills) => format!("{n}, and {fills} filled at the start"),
    }
}

fn forces(scene: &Scene) -> String {
    let kind = |force: &Force| match force.field {
        ForceField::Wind(_) => "wind",
        ForceField::Custom(_) => "custom",
        ForceField::Point { .. } => "point",
        ForceField::Vortex { .. } => "vortex",
    };
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
