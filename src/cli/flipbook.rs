//! `updraft flipbook`: a scene as sheets of frames for game engines.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::folder::RunFolder;
use super::frames::{Frames, Size};
use super::painter::{Painter, dark};
use super::render_job::{Feed, Report, Supply};
use super::{CliError, Common, interrupt, json_text, say_line};
use crate::look::srgb::luminance;
use crate::look::{Camera, Look};
use crate::output::lock::{Lock, Share};
use crate::output::sheet::{Grid, Sheet};
use crate::output::whole::{self, Aside, Existing};
use crate::render::camera::Axes;
use crate::render::{LinearImage, sprite};
use crate::scene::Scene;
use crate::snapshot::Snapshot;

/// Largest width and height of a sheet \[px\], that of most graphics processors.
const LARGEST: u32 = 16384;

/// Field of view of the camera in front of the box \[degrees\]: so narrow that it hardly shows perspective.
const NARROW: f32 = 8.0;

/// Render a scene to sheets of frames for games: colour, motion and light maps, with a description as JSON.
#[derive(Debug, clap::Args)]
pub struct FlipbookArgs {
    /// A built-in scene or a scene file [default: plume]
    #[arg(value_name = "SCENE", conflicts_with = "from")]
    scene: Option<String>,
    /// Frames of the sheet: a range, or every STEPth of a range [default: 1-N, or those that --from has, as
    /// many as the sheet holds]
    #[arg(long, value_name = "A-B[:STEP]", allow_hyphen_values = true)]
    frames: Option<Frames>,
    /// Frames across and down
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "8x8")]
    grid: Size,
    /// Width and height of the sheet [px], powers of two
    #[arg(long, value_name = "WxH", default_value = "2048x2048")]
    sheet: Size,
    /// Sheets to write
    #[arg(long, value_name = "MAP", value_delimiter = ',', default_value = "color,motion")]
    maps: Vec<MapKind>,
    /// The sheet with the colours; the others are called NAME.motion.png and so on, the description NAME.json
    /// [default: updraft-frames/SCENE.flipbook.png]
    #[arg(long, value_name = "NAME.png")]
    out: Option<PathBuf>,
    /// The camera
    #[arg(long, value_name = "CAMERA", default_value = "front")]
    camera: View,
    /// Direction of the vertical axis of the motion: up for Unity, down for Unreal
    #[arg(long, value_name = "AXIS", default_value = "up")]
    motion_y: MotionY,
    /// Render the fields that `updraft simulate --format npz` or `vdb` wrote to DIR, instead of simulating
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Render on the CPU even if OpenGL is available
    #[arg(long)]
    cpu: bool,
}

/// A sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MapKind {
    /// The lit smoke in the scene's light, sRGB with straight alpha
    Color,
    /// Motion to the next frame of the sheet
    Motion,
    /// Light from six directions, in two sheets, for the engine's own lights
    SixWay,
}

/// A camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum View {
    /// Before the box, looking along -z, almost without perspective
    Front,
    /// That of the scene
    Scene,
}

/// Direction of the vertical axis of the motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MotionY {
    /// Green above one half means up
    Up,
    /// Green above one half means down
    Down,
}

/// Runs the command.
pub fn run(args: &FlipbookArgs, common: &Common) -> Result<(), CliError> {
    let grid = grid(args)?;
    refuse_idle(args, common)?;
    let (mut scene, supply) = match &args.from {
        None => (common.scene(args.scene.as_deref().unwrap_or("plume"), &[])?, Supply::Live),
        Some(path) => {
            let (folder, scene) = RunFolder::for_pictures(path, common, &[])?;
            (scene, Supply::Stored(folder))
        }
    };
    let frames = match (args.frames, &supply) {
        (Some(frames), _) => frames,
        (None, Supply::Live) => Frames { first: 1, last: grid.count(), step: 1 },
        (None, Supply::Stored(folder)) => folder.frames()?.at_most(grid.count()),
    };
    check_count(frames, grid)?;
    scene.size = grid.cell;
    if args.camera == View::Front {
        scene.camera = front(&scene);
    }
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| Path::new("updraft-frames").join(format!("{}.flipbook.png", scene.name)));
    let files = Files::of(&out, &args.maps)?;
    let book = Flipbook { args, scene: &scene, grid, frames, files };
    book.write(supply, common)
}

/// Fails if an option or override has no effect on the sheets.
fn refuse_idle(args: &FlipbookArgs, common: &Common) -> Result<(), CliError> {
    if args.motion_y == MotionY::Down && !args.maps.contains(&MapKind::Motion) {
        return Err(CliError::Request(
            "--motion-y has no effect here: no sheet of the motion is written; add motion to --maps, or leave it out".into(),
        ));
    }
    common.refuse_idle(|parameter| {
        let why = match parameter.path.as_str() {
            "render.size" => "--sheet and --grid say the size of a frame; leave it out",
            "render.floor"
            | "render.outline"
            | "render.background.top"
            | "render.background.bottom"
            | "render.environment.shown"
            | "solid.#.color"
            | "solid.#.roughness" => "a frame shows smoke alone; leave it out",
            path if path.starts_with("render.camera.keyframes") => {
                "the camera of a sheet stands still; leave it out"
            }
            path if path.starts_with("render.camera.") && args.camera == View::Front => {
                "the camera is in front of the box; leave it out, or add --camera scene"
            }
            _ => return None,
        };
        Some(why.into())
    })
}

/// Checks the sizes: whole frames, and a sheet that every engine can halve down to one pixel.
fn grid(args: &FlipbookArgs) -> Result<Grid, CliError> {
    let (Size(cells), Size(sheet)) = (args.grid, args.sheet);
    let refuse = |what: String| Err(CliError::Request(what));
    let shown = |[x, y]: [u32; 2]| format!("{x}x{y}");
    if !sheet.iter().all(|n| n.is_power_of_two() && *n <= LARGEST) {
        let near = sheet.map(|n| n.next_power_of_two().min(LARGEST));
        return refuse(format!(
            "--sheet {}: each side must be a power of two, at most {LARGEST}; for example {}",
            shown(sheet),
            shown(near)
        ));
    }
    if (0..2).any(|a| !sheet[a].is_multiple_of(cells[a])) {
        return refuse(format!(
            "--grid {}: it does not divide a sheet of {} into whole frames; take powers of two",
            shown(cells),
            shown(sheet)
        ));
    }
    Ok(Grid { cells, cell: [0, 1].map(|a| sheet[a] / cells[a]) })
}

/// Fails if there are more frames than the sheet has places.
fn check_count(frames: Frames, grid: Grid) -> Result<(), CliError> {
    let (wanted, places) = (frames.count(), grid.count());
    if wanted <= places {
        return Ok(());
    }
    let step = (frames.last - frames.first + 1).div_ceil(places);
    Err(CliError::Request(format!(
        "{wanted} frames do not fit into the {places} places of the sheet; write --frames {}-{}:{step}, or a larger --grid",
        frames.first, frames.last
    )))
}

/// Returns the camera in front of the middle of the box, which fills the picture.
fn front(scene: &Scene) -> Camera {
    let [width, height] = scene.size.map(|n| n as f32);
    let extent = scene.extent();
    // `frame` fits a square picture; a wider one takes a wider box.
    let seen = [extent[0] * height / width, extent[1], extent[2]];
    let mut camera = Camera::at([0.0, 0.0, 1.0], [0.0; 3], NARROW);
    camera.frame(seen);
    let shift = 0.5 * (extent[0] - seen[0]);
    camera.position[0] += shift;
    camera.target[0] += shift;
    camera
}

/// Files of a flipbook; those of unwanted maps are `None`.
struct Files {
    color: Option<PathBuf>,
    motion: Option<PathBuf>,
    light: Option<[PathBuf; 2]>,
    about: PathBuf,
}

impl Files {
    fn of(out: &Path, maps: &[MapKind]) -> Result<Self, CliError> {
        let is_png = out.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png"));
        if !is_png {
            return Err(CliError::Request(format!("{}: sheets are written as .png", out.display())));
        }
        let has = |map: MapKind| maps.contains(&map);
        let other = |ending: &str| out.with_extension(ending);
        Ok(Self {
            color: has(MapKind::Color).then(|| out.to_owned()),
            motion: has(MapKind::Motion).then(|| other("motion.png")),
            light: has(MapKind::SixWay).then(|| [other("light-a.png"), other("light-b.png")]),
            about: other("json"),
        })
    }

    fn all(&self) -> impl Iterator<Item = &Path> {
        let sheets = self.color.iter().chain(&self.motion).chain(self.light.iter().flatten());
        sheets.chain([&self.about]).map(PathBuf::as_path)
    }
}

/// A flipbook to write.
struct Flipbook<'a> {
    args: &'a FlipbookArgs,
    scene: &'a Scene,
    grid: Grid,
    frames: Frames,
    files: Files,
}

/// Unfinished sheets.
struct Sheets {
    color: Option<Sheet>,
    motion: Option<Sheet>,
    /// Right, top, back and opacity; left, bottom, front and emission.
    light: Option<[Sheet; 2]>,
}

impl Flipbook<'_> {
    fn write(&self, supply: Supply, common: &Common) -> Result<(), CliError> {
        let Self { scene, grid, frames, files, .. } = self;
        let about = &files.about;
        let name = about.file_name().unwrap_or_default().to_string_lossy();
        whole::check_names(files.all()).map_err(CliError::Target)?;
        let lock = about.with_file_name(format!(".{name}.lock"));
        let _lock =
            Lock::take(&lock, Share::Alone, || whole::clean_up(files.all())).map_err(CliError::Target)?;
        whole::prepare(files.all(), common.force).map_err(CliError::Target)?;
        // Until a simulation has begun, a signal ends the program at once.
        let mut feed = Feed::new(scene, supply, *frames, None, interrupt::flag())?;
        let stop = interrupt::catch();
        let sheet = |wanted: bool| wanted.then(|| Sheet::new(*grid)).transpose();
        let mut sheets = Sheets {
            color: sheet(files.color.is_some())?,
            motion: sheet(files.motion.is_some())?,
            light: match sheet(files.light.is_some())? {
                Some(first) => Some([first, Sheet::new(*grid)?]),
                None => None,
            },
        };
        let mut painter = Painter::new(scene, self.args.cpu || common.cpu, common.quiet)?;
        let mut report = Report::new(feed.total(*frames), frames.count(), common.quiet);
        let mut snapshot = Snapshot::empty(scene.config.smoke_dims(), scene.config.smoke_h());
        let velocity = sheets.motion.is_some() || scene.camera.lens.shutter > 0.0;
        for (n, frame) in (0..).zip(frames.iter()) {
            feed.load(frame, scene, &mut snapshot, velocity, &mut report)?;
            if stop.load(Ordering::Relaxed) {
                return Err(report.stopped());
            }
            let began = Instant::now();
            // A sprite shows smoke alone.
            snapshot.solids.clear();
            let put = self.put(n, &snapshot, &mut painter, &mut sheets);
            put.map_err(|error| report.explain(error))?;
            report.finished(began.elapsed());
        }
        drop(report);
        let (mut written, description) = self.fill_files(&sheets)?;
        written.push(whole::fill_aside(about, |file| {
            std::io::Write::write_all(file, json_text(&description).as_bytes())
        })?);
        // Sheets and description belong together: none replaces that of an earlier flipbook before all are written.
        written.into_iter().try_for_each(|file| file.keep(Existing::forced(common.force)))?;
        files.all().try_for_each(|path| say_line(&path.display().to_string()))
    }

    /// Returns the frames of the sheet per second. It is a quotient, because the inverse of the interval has
    /// rounding errors.
    fn rate(&self) -> f32 {
        self.scene.time.frame_rate / self.frames.step as f32
    }

    /// Returns the time between two frames of the sheet \[s\].
    fn interval(&self) -> f32 {
        self.frames.step as f32 / self.scene.time.frame_rate
    }

    /// Renders frame `n` of the sheets.
    fn put(
        &self,
        n: u32,
        snapshot: &Snapshot,
        painter: &mut Painter,
        sheets: &mut Sheets,
    ) -> Result<(), CliError> {
        let scene = self.scene;
        let mut paint = |look: Look| -> Result<LinearImage, CliError> {
            Ok(painter.paint_linear(snapshot, &Scene { look, ..scene.clone() })?)
        };
        let plain = Look { floor: None, outline: false, ..scene.look.clone() };
        if let Some(sheet) = &mut sheets.color {
            let bytes = paint(plain.clone())?.sprite(&scene.look);
            sheet.put(n, bytes.into_iter().map(|pixel| pixel.map(|byte| f32::from(byte) / 255.0)));
        }
        if let Some(sheet) = &mut sheets.motion {
            let motion = sprite::motion(snapshot, &scene.look, &scene.camera, scene.size, self.interval());
            let down = if self.args.motion_y == MotionY::Down { -1.0 } else { 1.0 };
            sheet.put(n, motion.into_iter().map(|[x, y]| [x, down * y, 0.0, 0.0]));
        }
        if let Some([first, second]) = &mut sheets.light {
            let axes = Axes::of(&scene.camera, 1.0);
            let [right, top, back] =
                [axes.right, axes.up, axes.forward].map(|axis| <[f32; 3]>::from(axis.normalize()));
            let mut lit = |from: [f32; 3]| paint(lit_from(&plain, from));
            let images = [lit(right)?, lit(top)?, lit(back)?];
            let opposite = [lit(right.map(|x| -x))?, lit(top.map(|x| -x))?, lit(back.map(|x| -x))?];
            let emission = match plain.glow > 0.0 {
                true => brightness(&paint(Look { glow: plain.glow, ..dark(&plain) })?),
                false => vec![0.0; images[0].rgba.len()],
            };
            first.put(n, merged(&images, &images[0].opacities()));
            second.put(n, merged(&opposite, &emission));
        }
        Ok(())
    }

    /// Writes the sheets under temporary names. Returns them, and their description.
    fn fill_files(&self, sheets: &Sheets) -> Result<(Vec<Aside>, Value), CliError> {
        let Self { args, scene, grid, frames, files } = self;
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (mut written, mut maps) = (Vec::new(), Map::new());
        if let (Some(sheet), Some(path)) = (&sheets.color, &files.color) {
            written.push(sheet.write(path, true, |pixel| pixel)?);
            maps.insert(
                "color".into(),
                json!({ "file": name(path), "color_space": "sRGB", "alpha": "straight" }),
            );
        }
        if let (Some(sheet), Some(path)) = (&sheets.motion, &files.motion) {
            let scale = sheet.greatest(0).max(sheet.greatest(1)).max(1e-6);
            written.push(
                sheet.write(path, false, |[x, y, ..]| {
                    [0.5 + 0.5 * x / scale, 0.5 + 0.5 * y / scale, 0.0, 1.0]
                })?,
            );
            maps.insert(
                "motion".into(),
                json!({
                    "file": name(path),
                    "color_space": "linear",
                    "scale": scale,
                    "y": if args.motion_y == MotionY::Up { "up" } else { "down" },
                    "meaning": "(2 * rg - 1) * scale: displacement to the next frame of the sheet, in widths and heights of a frame",
                }),
            );
        }
        if let (Some([first, second]), Some([a, b])) = (&sheets.light, &files.light) {
            let brightest =
                [first, second].map(|sheet| (0..3).map(|c| sheet.greatest(c)).fold(1e-6, f32::max));
            let scale = brightest[0].max(brightest[1]);
            let emission = second.greatest(3);
            let share = |x: f32, of: f32| if of > 0.0 { x / of } else { 0.0 };
            let lit =
                |[x, y, z, w]: [f32; 4], w_scale: f32| [x / scale, y / scale, z / scale, share(w, w_scale)];
            written.push(first.write(a, false, |pixel| lit(pixel, 1.0))?);
            written.push(second.write(b, false, |pixel| lit(pixel, emission))?);
            maps.insert(
                "light".into(),
                json!({
                    "files": [name(a), name(b)],
                    "color_space": "linear",
                    "alpha": "straight",
                    "channels": [["right", "top", "back", "opacity"], ["left", "bottom", "front", "emission"]],
                    "scale": scale,
                    "emission_scale": emission,
                    "meaning": "rgb * scale: radiance under a light from that side that would make a white surface facing it 1",
                }),
            );
        }
        let description = json!({
            "creator": concat!("updraft ", env!("CARGO_PKG_VERSION")),
            "scene": scene.name,
            "sheet": grid.size(),
            "grid": grid.cells,
            "frame_size": grid.cell,
            "order": "rows from the upper left",
            "frames": frames.iter().collect::<Vec<_>>(),
            "frame_count": frames.count(),
            "frames_per_second": self.rate(),
            "metres_across": self.metres(),
            "maps": maps,
        });
        Ok((written, description))
    }

    /// Returns width and height of a frame at the target of the camera \[m\].
    fn metres(&self) -> [f32; 2] {
        let camera = &self.scene.camera;
        let [width, height] = self.grid.cell.map(|n| n as f32);
        let axes = Axes::of(camera, width / height);
        let distance = (0..3).map(|a| (camera.target[a] - camera.position[a]).powi(2)).sum::<f32>().sqrt();
        let distance = if axes.parallel { 1.0 } else { distance };
        [axes.right, axes.up].map(|axis| 2.0 * axis.norm() * distance)
    }
}

/// Returns `look` with one distant light from the direction `from`, and grey smoke as bright as the brightest
/// channel of its colour: the engine colours it. The irradiance π gives a white diffuse surface the radiance
/// 1.
fn lit_from(look: &Look, from: [f32; 3]) -> Look {
    let colors = look.colors.map(|color| [color.into_iter().fold(0.0, f32::max); 3]);
    Look { sun: [std::f32::consts::PI; 3], sun_direction: from, colors, ..dark(look) }
}

/// Returns the luminance of each pixel, with straight alpha.
fn brightness(image: &LinearImage) -> Vec<f32> {
    image.straight_radiance().into_iter().map(luminance).collect()
}

/// Merges three grey pictures to the channels of one, with `last` as the fourth channel.
fn merged<'a>(images: &[LinearImage; 3], last: &'a [f32]) -> impl Iterator<Item = [f32; 4]> + 'a {
    let grey = |image: &LinearImage| image.straight_radiance().into_iter().map(|pixel| pixel[1]);
    let [x, y, z] = images.each_ref().map(|image| grey(image).collect::<Vec<_>>());
    last.iter().enumerate().map(move |(n, &last)| [x[n], y[n], z[n], last])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_frames_are_refused_with_a_step_that_fits() {
        let grid = Grid { cells: [4, 4], cell: [8, 8] };
        let frames = Frames { first: 1, last: 120, step: 1 };
        let message = check_count(frames, grid).unwrap_err().to_string();
        assert!(message.contains("--frames 1-120:8"), "{message}");
        check_count("1-120:8".parse().unwrap(), grid).unwrap();
        check_count(Frames { first: 1, last: 16, step: 1 }, grid).unwrap();
    }
}
