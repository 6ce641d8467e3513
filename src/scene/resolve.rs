//! From the document to the scene: what absent keys stand for, and the checks that need two keys at once.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use toml::Spanned;

use super::document::{self, Document, Vector};
use super::error::Problem;
use super::memory;
use super::shapes::Place;
use super::text::Text;
use super::value::{Number, Whole};
use super::{Origin, Scene, Time, forces, initial, probes, solids, sources};
use crate::grid::Dims;
use crate::look::{Camera, Look, Scattering};
use crate::solver::{
    Advection, Ambient, Config, Inflow, Integrator, Params, Projection, Side, Smoke, TOLERANCE, TimeControl,
    TraceOrder,
};

type Result<T> = std::result::Result<T, Box<Problem>>;

/// Cells of a scene that names none.
const CELLS: [usize; 3] = [96, 144, 96];
/// Edge of a cell where a scene names none \[m\].
const VOXEL: f32 = 0.01;
/// Pictures, where a scene does not say how large \[px\].
const SIZE: [u32; 2] = [640, 480];
/// Vertical field of view where a scene names none \[degrees\].
const FOV: f32 = 34.0;

/// The scene that the document of `text` describes, called `name`.
///
/// Files that it names are relative to `folder`, those of overrides to where the command runs.
pub fn scene(name: String, text: &Text, folder: &Path) -> Result<Scene> {
    let doc = text.read()?;
    let config = config(&doc, text)?;
    let extent = config.dims.array().map(|n| n as f32 * config.h);
    let place = Place { text, folder, config: &config };
    let size = doc.render.size.as_ref().map_or(SIZE, |size| size.get_ref().0.map(|n| n.get() as u32));
    check_picture(&doc, text, &config, size)?;
    let solids = solids::resolve(&doc, text, folder, extent, config.projection)?;
    Ok(Scene {
        name,
        params: params(&doc.fluid, &doc.smoke),
        sources: sources::resolve(doc.source.as_deref(), place)?,
        forces: forces::resolve(&doc.force, place)?,
        fills: sources::fills(&doc.initial.smoke, place)?,
        time: time(&doc.time, text)?,
        look: look(&doc, text)?,
        camera: camera(&doc.render.camera, text, extent, size)?,
        size,
        initial: initial::resolve(&doc.initial, text, folder, config.dims, config.h)?,
        probes: probes::resolve(&doc.probe, text, extent, solids.len())?,
        origin: Arc::new(Origin { text: text.merged()?, folder: folder.to_owned(), file: None }),
        solids,
        config,
    })
}

/// Overwrites `slot` where the file has a value.
fn set<T: Into<U>, U>(slot: &mut U, value: Option<T>) {
    if let Some(value) = value {
        *slot = value.into();
    }
}

fn config(doc: &Document, text: &Text) -> Result<Config> {
    let cells = doc.domain.cells.as_ref();
    let counts = cells.map_or(CELLS, |c| c.get_ref().0.map(|n| n.get() as usize));
    let span = cells.map_or(0..0, Spanned::span);
    let sides = sides(doc.domain.walls.as_ref(), text)?;
    let config = Config {
        dims: Dims::new(counts).map_err(|e| text.problem(span.clone(), format!("domain.cells: {e}")))?,
        h: doc.domain.voxel.map_or(VOXEL, Number::get),
        sides: sides.map(|axis| axis.map(|(side, _)| side)),
        held: sides.map(|axis| axis.map(|(_, held)| held)),
        advection: advection(&doc.solver),
        integrator: integrator(&doc.solver),
        trace: trace_order(&doc.solver),
        projection: projection(&doc.solver),
        tolerance: doc.solver.tolerance.map_or(TOLERANCE, Number::get),
        time: time_control(&doc.time, text)?,
        frozen: doc.solver.flow.as_ref().is_some_and(|flow| matches!(flow.get_ref(), document::Flow::Frozen)),
        threads: doc.solver.threads.map_or(0, |n| n.get() as usize),
    };
    let limit = doc.solver.memory_limit.map_or_else(memory::default_limit, |gib| gigabytes(gib.get()));
    check_memory(&config, !doc.solid.is_empty(), limit).map_err(|message| text.problem(span, message))?;
    let threads = doc.solver.threads.map_or(0, |threads| threads.get() as usize);
    memory::check_threads(threads)
        .map_err(|message| text.problem(0..0, format!("solver.threads: {message}")))?;
    Ok(config)
}

fn check_memory(config: &Config, solids: bool, limit: u64) -> std::result::Result<(), String> {
    let bytes = memory::estimate(config, solids);
    if bytes <= limit {
        return Ok(());
    }
    let (need, limit) = (memory::human(bytes), memory::human(limit));
    Err(format!(
        "domain.cells: {:?} cells need about {need}, over the limit of {limit}; \
         use fewer cells or raise solver.memory_limit",
        config.dims.array()
    ))
}

/// Whether there is room for a picture of `size` beside the fields.
fn check_picture(doc: &Document, text: &Text, config: &Config, size: [u32; 2]) -> Result<()> {
    let limit = doc.solver.memory_limit.map_or_else(memory::default_limit, |gib| gigabytes(gib.get()));
    let bytes = memory::picture(size);
    if memory::estimate(config, !doc.solid.is_empty()) + bytes <= limit {
        return Ok(());
    }
    let span = doc.render.size.as_ref().map_or(0..0, Spanned::span);
    let message = format!(
        "render.size: a picture of {} x {} pixels needs about {} beside the fields, over the limit of {}; \
         make it smaller or raise solver.memory_limit",
        size[0],
        size[1],
        memory::human(bytes),
        memory::human(limit)
    );
    Err(text.problem(span, message))
}

fn gigabytes(gib: f32) -> u64 {
    (f64::from(gib) * f64::from(1 << 30)) as u64
}

/// What a side does, and the temperature held there.
type Held = (Side, Option<f32>);

/// Closed all around but for the top, unless the file says otherwise.
fn sides(walls: Option<&Spanned<document::Walls>>, text: &Text) -> Result<[[Held; 2]; 3]> {
    let defaults = [[Side::Closed; 2], [Side::Closed, Side::Open], [Side::Closed; 2]];
    let sides = std::array::from_fn(|axis| {
        std::array::from_fn(|end| match walls.and_then(|w| w.get_ref().sides[axis][end]) {
            None => (defaults[axis][end], None),
            Some(read) => side(&read),
        })
    });
    check_sides(&sides).map_err(|message| {
        text.problem(walls.map_or(0..0, Spanned::span), format!("domain.walls: {message}"))
    })?;
    Ok(sides)
}

fn check_sides(sides: &[[Held; 2]; 3]) -> std::result::Result<(), String> {
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        let [low, high] = sides[axis].map(|(side, _)| side == Side::Periodic);
        if low != high {
            let (is, not) = if low { ("min", "max") } else { ("max", "min") };
            return Err(format!(
                "{name}_{is} is periodic and {name}_{not} is not; write {name} = \"periodic\""
            ));
        }
        for (end, (side, _)) in ["min", "max"].into_iter().zip(sides[axis]) {
            if matches!(side, Side::NoSlip(velocity) if velocity[axis] != 0.0) {
                return Err(format!(
                    "{name}_{end} cannot move across itself; its velocity along {name} must be 0"
                ));
            }
        }
    }
    Ok(())
}

fn side(read: &document::Side) -> Held {
    let vector = |v: Option<Vector>| v.map_or([0.0; 3], Vector::get);
    match read {
        document::Side::Closed(wall) => (Side::Closed, wall.temperature.map(Number::get)),
        document::Side::NoSlip(wall) => {
            (Side::NoSlip(vector(wall.velocity)), wall.temperature.map(Number::get))
        }
        document::Side::Open(_) => (Side::Open, None),
        document::Side::Periodic(_) => (Side::Periodic, None),
        document::Side::Inflow(air) => {
            let smoke = [air.red, air.green, air.blue].map(|x| x.map_or(0.0, Number::get));
            let scalars = [smoke[0], smoke[1], smoke[2], air.temperature.map_or(0.0, Number::get)];
            (Side::Inflow(Inflow { velocity: vector(air.velocity), scalars }), None)
        }
    }
}

fn advection(solver: &document::SolverTable) -> Advection {
    match solver.advection {
        None => Advection::default(),
        Some(document::Advection::SemiLagrangian) => Advection::SemiLagrangian,
        Some(document::Advection::Monotone) => Advection::Monotone,
        Some(document::Advection::Maccormack) => Advection::MacCormack,
        Some(document::Advection::Cubic) => Advection::Cubic,
        Some(document::Advection::Lagrange) => Advection::Lagrange,
        Some(document::Advection::Conservative) => Advection::Conservative,
    }
}

fn integrator(solver: &document::SolverTable) -> Integrator {
    match solver.integrator {
        None => Integrator::default(),
        Some(document::Integrator::Projection) => Integrator::Projection,
        Some(document::Integrator::Reflection) => Integrator::Reflection,
    }
}

fn trace_order(solver: &document::SolverTable) -> TraceOrder {
    match solver.trace_order.map(Whole::get) {
        None => TraceOrder::default(),
        Some(2) => TraceOrder::Second,
        Some(_) => TraceOrder::Third,
    }
}

/// Sweeps of the Gauss–Seidel projection, as many as Stam takes.
const SWEEPS: u32 = 20;

fn projection(solver: &document::SolverTable) -> Projection {
    match solver.projection.as_ref().map(Spanned::get_ref) {
        None | Some(document::Projection::Auto) => Projection::Auto,
        Some(document::Projection::Direct) => Projection::Direct,
        Some(document::Projection::Multigrid) => Projection::Multigrid,
        Some(document::Projection::GaussSeidel) => Projection::GaussSeidel { sweeps: SWEEPS },
    }
}

fn time_control(time: &document::Time, text: &Text) -> Result<TimeControl> {
    if time.step.is_some() {
        let other = [("cfl", time.cfl.as_ref().map(Spanned::span))];
        let other =
            other.into_iter().chain([("max_substeps", time.max_substeps.as_ref().map(Spanned::span))]);
        for (key, span) in other {
            if let Some(span) = span {
                let message = format!("time.{key}: a fixed time.step is never cut; remove one of the two");
                return Err(text.problem(span, message));
            }
        }
        return Ok(TimeControl { max_substeps: 1, ..TimeControl::default() });
    }
    let mut control = TimeControl::default();
    set(&mut control.cfl, time.cfl.as_ref().map(|x| *x.get_ref()));
    set(&mut control.max_substeps, time.max_substeps.as_ref().map(|n| n.get_ref().get() as u32));
    Ok(control)
}

fn time(time: &document::Time, text: &Text) -> Result<Time> {
    let frame_rate = time.frame_rate.map_or(Time::default().frame_rate, Number::get);
    let step = time.step.as_ref().map(|step| (step.get_ref().get(), step.span()));
    if let Some((step, span)) = &step
        && *step > 1.001 / frame_rate
    {
        let message = format!(
            "time.step: {step} s is longer than a frame (1/{frame_rate} s); lower it or the frame_rate"
        );
        return Err(text.problem(span.clone(), message));
    }
    Ok(Time { frame_rate, step: step.map(|(step, _)| step) })
}

fn params(fluid: &document::Fluid, smoke: &document::Smokes) -> Params {
    let mut params = Params::default();
    set(&mut params.heat_buoyancy, fluid.heat_buoyancy);
    set(&mut params.cooling, fluid.cooling);
    set(&mut params.vorticity, fluid.vorticity);
    set(&mut params.friction, fluid.friction);
    set(&mut params.viscosity, fluid.viscosity);
    set(&mut params.conduction, fluid.conduction);
    params.ambient = match fluid.ambient {
        None => params.ambient,
        Some(document::Ambient::Fixed(excess)) => Ambient::Fixed(excess.get()),
        Some(document::Ambient::Mean) => Ambient::Mean,
    };
    for (smoke, read) in params.smoke.iter_mut().zip([&smoke.red, &smoke.green, &smoke.blue]) {
        set_smoke(smoke, read);
    }
    params
}

fn set_smoke(smoke: &mut Smoke, read: &document::Smoke) {
    set(&mut smoke.buoyancy, read.buoyancy);
    set(&mut smoke.dissipation, read.dissipation);
    set(&mut smoke.diffusion, read.diffusion);
}

fn look(doc: &Document, text: &Text) -> Result<Look> {
    let read = &doc.render;
    let mut look = Look::default();
    for (slot, smoke) in look.colors.iter_mut().zip([&doc.smoke.red, &doc.smoke.green, &doc.smoke.blue]) {
        set(slot, smoke.color.map(|c| c.0));
    }
    look.solids = doc.solid.iter().map(|solid| solid.color.map_or(Look::SOLID, |c| c.0)).collect();
    set(&mut look.samples, read.samples);
    set(&mut look.exposure, read.exposure);
    set(&mut look.background[0], read.background.top.map(|c| c.0));
    set(&mut look.background[1], read.background.bottom.map(|c| c.0));
    set(&mut look.floor, read.floor.map(|floor| floor.0));
    set(&mut look.outline, read.outline);
    set_medium(&mut look, &read.medium);
    set_light(&mut look, &read.light, text)?;
    Ok(look)
}

fn set_medium(look: &mut Look, read: &document::Medium) {
    set(&mut look.extinction, read.extinction);
    set(&mut look.anisotropy, read.anisotropy);
    set(&mut look.glow, read.glow);
    set(&mut look.glow_heat, read.glow_heat);
    set(&mut look.fade, read.fade);
    set(&mut look.second_lobe[0], read.second_lobe.anisotropy);
    set(&mut look.second_lobe[1], read.second_lobe.share);
    set(&mut look.paths, read.paths.map(|paths| paths.get() as u32));
    look.scattering = match read.scattering {
        None => look.scattering,
        Some(document::Scattering::Single) => Scattering::Single,
        Some(document::Scattering::Octaves) => Scattering::Octaves,
        Some(document::Scattering::Traced) => Scattering::Traced,
    };
}

fn set_light(look: &mut Look, read: &document::Lights, text: &Text) -> Result<()> {
    set(&mut look.sun_size, read.size);
    set(&mut look.sun, read.sun.map(|c| c.0));
    set(&mut look.sky, read.sky.map(|c| c.0));
    set(&mut look.ground, read.ground.map(|c| c.0));
    set(&mut look.light_scale, read.resolution);
    let wanted = read.direction.as_ref().map_or(look.sun_direction, |d| d.get_ref().get());
    let Some(unit) = normalized(wanted) else {
        let span = read.direction.as_ref().map_or(0..0, Spanned::span);
        return Err(text.problem(span, "render.light.direction: [0, 0, 0] points nowhere"));
    };
    look.sun_direction = unit;
    Ok(())
}

/// `v` at length one, unless it has none. What has that length already keeps its bits, so that it may be written and read.
pub(super) fn normalized(v: [f32; 3]) -> Option<[f32; 3]> {
    let length = v.iter().map(|x| x * x).sum::<f32>().sqrt();
    if (length - 1.0).abs() < 1e-6 {
        return Some(v);
    }
    (length > 1e-12).then(|| v.map(|x| x / length))
}

fn camera(read: &document::Camera, text: &Text, extent: [f32; 3], size: [u32; 2]) -> Result<Camera> {
    let fov = read.fov.map_or(FOV, Number::get);
    let mut camera = framing(extent, fov, size[0] as f32 / size[1] as f32);
    let vector = |value: &Option<Spanned<Vector>>| value.as_ref().map(|v| v.get_ref().get());
    set(&mut camera.position, vector(&read.position));
    set(&mut camera.target, vector(&read.target));
    set(&mut camera.up, vector(&read.up));
    let span = |value: &Option<Spanned<Vector>>| value.as_ref().map(Spanned::span);
    let spans = [span(&read.position), span(&read.target), span(&read.up)];
    check_camera(&camera).map_err(|message| {
        let span: Range<usize> = spans.into_iter().flatten().next().unwrap_or(0..0);
        text.problem(span, format!("render.camera: {message}"))
    })?;
    Ok(camera)
}

fn check_camera(camera: &Camera) -> std::result::Result<(), String> {
    let ahead = normalized(std::array::from_fn(|a| camera.target[a] - camera.position[a]));
    let Some(ahead) = ahead else {
        return Err(format!("position and target are both {:?}; move one of them", camera.target));
    };
    let along = normalized(camera.up).map(|up| (0..3).map(|a| up[a] * ahead[a]).sum::<f32>());
    match along {
        Some(cosine) if cosine.abs() < 0.9999 => Ok(()),
        _ => Err(format!("up {:?} must not point along the view; turn it", camera.up)),
    }
}

/// A camera a little above and aside that has the whole box in the picture.
fn framing(extent: [f32; 3], fov: f32, aspect: f32) -> Camera {
    let mut camera = Camera { fov, ..Camera::framing(extent) };
    camera.frame(extent);
    // `frame` fits a square; an upright picture needs more distance.
    let back = (1.0 / aspect).max(1.0);
    camera.position =
        std::array::from_fn(|a| camera.target[a] + back * (camera.position[a] - camera.target[a]));
    camera
}
