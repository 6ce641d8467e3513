//! Making a scene of its document: defaults of absent keys, and checks that involve two keys.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use toml::Spanned;

use super::camera_path;
use super::checked_scene::{Scene, Time};
use super::document::{self, Document};
use super::field_values::FieldValues;
use super::memory;
use super::origin::Origin;
use super::scene_error::Problem;
use super::scene_text::{DIVISION, Text};
use super::shapes::SceneContext;
use super::share::Share;
use super::side_tables::{self, Sides};
use super::value::{Number, Vector, Word};
use super::{
    environment_file, force_tables, initial, light_tables, probes, read_document, solid_tables, source_tables,
};
use crate::grid::Dims;
use crate::look::{Camera, CameraProjection, Lens, Look, Sphere};
use crate::parameter::{Holder, normalized};
use crate::solver::{Advection, BoundaryCondition, Config, Params, Solver, TimeControl};

type Result<T> = std::result::Result<T, Box<Problem>>;

/// Default number of cells.
const CELLS: [usize; 3] = [96, 144, 96];
/// Default edge of a cell \[m\].
const VOXEL: f32 = 0.01;
/// Default size of pictures \[px\].
const SIZE: [u32; 2] = [640, 480];
/// Default vertical field of view \[degrees\].
const FOV: f32 = 34.0;

/// Resolves the document of `text` to the scene called `name`.
///
/// Files that the scene names are relative to `folder`, those of overrides to the working directory.
pub fn scene(name: String, text: &Text, folder: &Path) -> Result<Scene> {
    let (doc, values) = read_document::document(text)?;
    let sides = side_tables::resolve(doc.domain.walls.as_ref(), text)?;
    let config = config(&doc, &values, &sides, text)?;
    side_tables::check_values(doc.domain.walls.as_ref(), &sides.formulas, &config, text)?;
    let extent = config.dims.array().map(|n| n as f32 * config.h);
    let size = doc.render.size.as_ref().map_or(SIZE, |size| size.get_ref().0.map(|n| n.get() as u32));
    let mut params = Params::default();
    fill(&mut params, &values);
    let mut look = look(&doc, &values, text)?;
    check_picture(&doc, text, (&config, &params, &look), size)?;
    check_turbulence(&params, &config, &values, text)?;
    let budget = memory_budget(&doc, text, (&config, &params, &look), size);
    let context = SceneContext { text, folder, config: &config, budget: &budget };
    look.environment.sphere = environment(&doc.render.environment, context)?;
    let camera = camera(&doc.render.camera, text, extent, size)?;
    let keyframes = doc.render.camera.keyframes.as_ref();
    let solids = solid_tables::resolve(&doc, &values, text, folder, &config, &params)?;
    let sources = source_tables::resolve(doc.source.as_deref(), context)?;
    let fills = source_tables::fills(&doc.initial.smoke, context)?;
    let (initial, unused_names) = initial::resolve(&doc.initial, text, folder, &config)?;
    Ok(Scene {
        name,
        params,
        sources,
        forces: force_tables::resolve(&doc.force, context)?,
        fills,
        time: time(&doc.time, text)?,
        look,
        camera,
        camera_path: camera_path::resolve(keyframes, &camera, text, check_camera)?,
        size,
        initial,
        probes: probes::resolve(&doc.probe, text, &config, &solids)?,
        side_formulas: sides.formulas,
        origin: Arc::new(Origin { unused_names, ..text.origin(folder) }),
        solids,
        config,
    })
}

/// Sets the fields of `holder` that the scene sets.
fn fill(holder: &mut impl Holder, values: &FieldValues) {
    for (parameter, value) in values.iter() {
        parameter.field().into_iter().for_each(|field| holder.set_value(field, value));
    }
}

fn config(doc: &Document, values: &FieldValues, sides: &Sides, text: &Text) -> Result<Config> {
    let cells = doc.domain.cells.as_ref();
    let counts = cells.map_or(CELLS, |c| c.get_ref().0.map(|n| n.get() as usize));
    let span = cells.map_or(0..0, Spanned::span);
    let dims = Dims::new(counts).map_err(|e| text.problem(span.clone(), format!("domain.cells: {e}")))?;
    let mut config = Config {
        sides: sides.conditions,
        held: sides.held,
        ..Config::new(dims, doc.domain.voxel.map_or(VOXEL, Number::get))
    };
    fill(&mut config, values);
    Dims::new(dims.array().map(|n| n.saturating_mul(config.detail))).map_err(|e| {
        text.problem(values.span("domain.detail").unwrap_or(0..0), format!("domain.detail: {e}"))
    })?;
    if doc.time.step.is_some() {
        check_fixed_step(values, text)?;
        config.time = TimeControl { max_substeps: 1, ..TimeControl::default() };
        config.is_step_fixed = true;
    }
    let mut params = Params::default();
    fill(&mut params, values);
    let bytes = text.share.memory(&config, !doc.solid.is_empty(), &params);
    check_memory(&config, bytes, text.share, limit(doc, text))
        .map_err(|message| text.problem(span, message))?;
    check_follow(doc, (&config, &params), values, text)?;
    memory::check_threads(config.threads).map_err(|message| {
        text.problem(values.span("solver.threads").unwrap_or(0..0), format!("solver.threads: {message}"))
    })?;
    Ok(config)
}

/// Returns the memory limit of all ranks on one machine together \[bytes\].
fn limit(doc: &Document, text: &Text) -> Option<u64> {
    match doc.solver.memory_limit {
        Some(gib) => Some(gigabytes(gib.get())),
        None => text.share.here.map(|_| memory::default_limit()),
    }
}

fn check_memory(
    config: &Config,
    bytes: u64,
    share: Share,
    limit: Option<u64>,
) -> std::result::Result<(), String> {
    share.check(bytes, limit).map_err(|need| {
        format!(
            "domain.cells: {:?} cells{} need about {need}; {} or raise solver.memory_limit",
            config.dims.array(),
            match config.detail {
                1 => String::new(),
                detail => format!(" with a detail of {detail}"),
            },
            share.advice()
        )
    })
}

/// Checks that a box that follows its smoke has an open side, and begins within its limit.
fn check_follow(
    doc: &Document,
    (config, params): (&Config, &Params),
    values: &FieldValues,
    text: &Text,
) -> Result<()> {
    let is_open = |side: &BoundaryCondition| *side == BoundaryCondition::Open;
    let problem = |key: &str, message: String| text.problem(values.span(key).unwrap_or(0..0), message);
    if !config.follow.on {
        return Ok(());
    }
    if !config.sides.as_flattened().iter().any(is_open) {
        let message =
            "domain.follow: no side is open, so none can follow the smoke; open one in domain.walls";
        return Err(problem("domain.follow", message.into()));
    }
    let bytes =
        Solver::memory(config, !doc.solid.is_empty()) + Solver::turbulence_memory(config, &params.turbulence);
    let most = f64::from(config.follow.limit) * f64::from(1 << 20);
    if bytes as f64 > most {
        let message = format!(
            "domain.follow_limit: the box at the start needs {}, over the limit of {}; raise it or use fewer cells",
            memory::human(bytes),
            memory::human(most as u64)
        );
        return Err(problem("domain.follow_limit", message));
    }
    let is_given = values.span("domain.follow_limit").is_some() || doc.solver.memory_limit.is_some();
    match limit(doc, text) {
        Some(limit) if is_given && text.share.ranks == 1 && most > limit as f64 => {
            let message = format!(
                "domain.follow_limit: the box may grow to {}, over the limit of memory of {}; set it to {} or less, or raise \
                 solver.memory_limit",
                memory::human(most as u64),
                memory::human(limit),
                limit >> 20
            );
            Err(problem("domain.follow_limit", message))
        }
        _ => Ok(()),
    }
}

/// Checks that a picture of `size` fits into memory beside the fields.
fn check_picture(
    doc: &Document,
    text: &Text,
    (config, params, look): (&Config, &Params, &Look),
    size: [u32; 2],
) -> Result<()> {
    let [fields, picture] = fields_and_picture(doc, text, (config, params, look), size);
    text.share.check(fields + picture, limit(doc, text)).map_err(|need| {
        let span = doc.render.size.as_ref().map_or(0..0, Spanned::span);
        let message = format!(
            "render.size: a picture of {} x {} pixels needs about {} beside the fields, with them {need}; \
             {} or raise solver.memory_limit",
            size[0],
            size[1],
            memory::human(picture),
            match text.share.ranks {
                1 => "make it smaller",
                _ => "use fewer ranks on a machine, lower render.light.resolution",
            }
        );
        text.problem(span, message)
    })
}

/// Returns the memory of the fields of a rank and of its picture \[bytes\].
fn fields_and_picture(
    doc: &Document,
    text: &Text,
    (config, params, look): (&Config, &Params, &Look),
    size: [u32; 2],
) -> [u64; 2] {
    [text.share.memory(config, !doc.solid.is_empty(), params), text.share.picture(config, look, size)]
}

/// Returns the memory of each rank for shapes and the environment, beside fields and pictures.
fn memory_budget(
    doc: &Document,
    text: &Text,
    parts: (&Config, &Params, &Look),
    size: [u32; 2],
) -> memory::Budget {
    let limit = limit(doc, text).map_or(u64::MAX, |limit| limit / text.share.here.unwrap_or(1) as u64);
    memory::Budget::new(limit, fields_and_picture(doc, text, parts, size).iter().sum())
}

/// Fails if there is turbulence, but the scheme or the grid of the smoke does not allow it.
fn check_turbulence(params: &Params, config: &Config, values: &FieldValues, text: &Text) -> Result<()> {
    let missing = match config {
        _ if params.turbulence.strength == 0.0 => return Ok(()),
        Config { detail: 1, .. } => {
            "smoke on finer cells than the velocity's; set domain.detail to 2 or more"
        }
        Config { advection: Advection::Conservative, .. } => return Ok(()),
        _ => "conservative advection; remove solver.advection",
    };
    let span = values.span("turbulence.strength").unwrap_or(0..0);
    Err(text.problem(span, format!("turbulence.strength: turbulence needs {missing}")))
}

fn gigabytes(gib: f32) -> u64 {
    (f64::from(gib) * f64::from(1 << 30)) as u64
}

/// Checks that a fixed step is not combined with substeps: it is never divided.
fn check_fixed_step(values: &FieldValues, text: &Text) -> Result<()> {
    for key in DIVISION.map(|key| format!("time.{key}")) {
        if let Some(span) = values.span(&key) {
            let message = format!("{key}: a fixed time.step is never divided; remove one of the two");
            return Err(text.problem(span, message));
        }
    }
    Ok(())
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

/// Resolves the look without its environment map.
fn look(doc: &Document, values: &FieldValues, text: &Text) -> Result<Look> {
    let mut look = Look::default();
    fill(&mut look, values);
    look.solids = doc.solid.iter().map(|solid| solid.color.map_or(Look::SOLID, |c| c.0)).collect();
    look.roughness = doc.solid.iter().map(|solid| solid.roughness.map_or(1.0, Number::get)).collect();
    // The default direction is not a unit vector.
    look.sun_direction = normalized(look.sun_direction).unwrap_or(look.sun_direction);
    look.lights = light_tables::resolve(&doc.light, text)?;
    Ok(look)
}

/// Reads the environment map, if there is one.
fn environment(read: &document::Environment, context: SceneContext) -> Result<Option<Arc<Sphere>>> {
    let Some(file) = &read.file else { return Ok(None) };
    let (text, name) = (context.text, Path::new(file.get_ref()));
    let path = if text.is_override(&file.span()) { name.to_owned() } else { context.folder.join(name) };
    let wrong = |message: String| text.problem(file.span(), format!("render.environment.file: {message}"));
    let sphere = environment_file::read(&path)
        .map_err(|error| wrong(format!("cannot read {}: {error}", name.display())))?;
    context.budget.take(sphere.memory(), "the picture").map_err(wrong)?;
    Ok(Some(Arc::new(sphere)))
}

fn camera(read: &document::Camera, text: &Text, extent: [f32; 3], size: [u32; 2]) -> Result<Camera> {
    let fov = read.fov.map_or(FOV, Number::get);
    let mut camera = Camera::framing_in(extent, fov, size[0] as f32 / size[1] as f32);
    let or = |value: &Option<Spanned<Vector>>, framed| value.as_ref().map_or(framed, |v| v.get_ref().get());
    camera.position = or(&read.position, camera.position);
    camera.target = or(&read.target, camera.target);
    camera.up = or(&read.up, camera.up);
    camera.projection = read.projection.map_or(CameraProjection::default(), |Word(projection)| projection);
    let number = |value: Option<Number>| value.map_or(0.0, Number::get);
    camera.lens =
        Lens { aperture: number(read.aperture), focus: number(read.focus), shutter: number(read.shutter) };
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
