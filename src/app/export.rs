//! Export of the recorded frames to pictures, a film or volumes. A separate thread renders and writes; the
//! window shows its progress, and can pause or cancel it. Nothing is simulated again: the exported frames are
//! those that were shown.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::session::compare::of_side;
use super::settings::Side;
use crate::look::{Camera, Look};
use crate::output::video::{self, Apng, Clip, Ffmpeg};
use crate::output::whole::{self, Existing};
use crate::output::{OutputError, Pattern, png};
use crate::render::exposure::{self, exposed};
use crate::render::{CpuRenderer, Image, Mode, Quality, RenderError, View};
use crate::scene::CameraPath;
use crate::snapshot::Snapshot;
use crate::volume::{self, Up, VdbOptions};
use crate::worker::Frame;

/// Format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One picture of the present view.
    Picture,
    /// One picture per frame.
    Frames,
    /// A film.
    Video,
    /// An animated PNG: a film without ffmpeg.
    Animation,
    /// One OpenVDB file per frame.
    Volumes,
}

impl Format {
    /// All formats in the order of the panel.
    pub const ALL: [Self; 5] = [Self::Picture, Self::Frames, Self::Video, Self::Animation, Self::Volumes];

    /// Returns the default: a film in the best format that this machine can write.
    fn of_machine(folders: Option<OsString>) -> Self {
        let file = format!("ffmpeg{}", std::env::consts::EXE_SUFFIX);
        let installed =
            folders.is_some_and(|list| std::env::split_paths(&list).any(|at| at.join(&file).is_file()));
        if installed { Self::Video } else { Self::Animation }
    }

    /// Returns the name in the panel.
    pub fn name(self) -> &'static str {
        ["picture", "frames", "video", "apng", "volumes"][self as usize]
    }

    /// Returns the default file name for `scene`.
    fn file(self, scene: &str) -> String {
        match self {
            Self::Picture => format!("{scene}.png"),
            Self::Frames => format!("{scene}-frames/{scene}.####.png"),
            Self::Video => format!("{scene}.mp4"),
            Self::Animation => format!("{scene}.apng"),
            Self::Volumes => format!("{scene}-volumes/{scene}.####.vdb"),
        }
    }
}

/// Export settings of the panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// Format.
    pub format: Format,
    /// Size of pictures \[px\].
    pub size: [u32; 2],
    /// First and last frame; none: all.
    pub range: Option<[u64; 2]>,
    /// Typed path; otherwise a free name after the scene.
    pub path: Option<String>,
}

impl Default for Form {
    fn default() -> Self {
        let format = Format::of_machine(std::env::var_os("PATH"));
        Self { format, size: [1280, 720], range: None, path: None }
    }
}

impl Form {
    /// Returns the path of the export of `scene`: the typed one, or a free name.
    pub fn place(&self, scene: &str) -> String {
        if let Some(path) = &self.path {
            return path.clone();
        }
        let name = |n: u32| match n {
            1 => self.format.file(scene),
            n => self.format.file(&format!("{scene}-{n}")),
        };
        let is_taken = |name: &String| {
            let path = Path::new(name);
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            folder.unwrap_or(path).exists()
        };
        (1..1000).map(name).find(|name| !is_taken(name)).unwrap_or_else(|| name(1))
    }
}

/// Inputs of an export.
pub struct Job {
    /// Format.
    pub format: Format,
    /// A file, or a name with a placeholder for the number.
    pub path: String,
    /// Size of pictures \[px\].
    pub size: [u32; 2],
    /// Frames per second.
    pub rate: f32,
    /// Light, medium and tone; during a comparison of both sides.
    pub looks: Vec<Look>,
    /// The side whose volumes are written.
    pub side: Side,
    /// Camera.
    pub camera: Camera,
    /// Path of the camera over the frames; empty if all have the same camera.
    pub camera_path: CameraPath,
    /// Content of the pictures.
    pub mode: Mode,
    /// The shown snapshot, for a single picture.
    pub now: Option<Arc<Snapshot>>,
    /// The recorded frames.
    pub frames: Vec<Arc<Frame>>,
}

/// Progress of an export.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Frames written.
    pub done: u32,
    /// Frames to write.
    pub total: u32,
    /// Whether it is paused.
    pub paused: bool,
}

#[derive(Default)]
struct Shared {
    done: AtomicU32,
    cancel: AtomicBool,
    pause: AtomicBool,
    /// Path or error; none while writing.
    result: Mutex<Option<Result<String, String>>>,
}

/// A running export. Dropping it cancels it.
pub(super) struct Export {
    shared: Arc<Shared>,
    total: u32,
}

/// Interval at which a paused export checks for continuation.
const NAP: Duration = Duration::from_millis(50);

impl Export {
    /// Starts a thread that writes; `wake` is called after each frame and at the end.
    pub(super) fn start(job: Job, wake: impl Fn() + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let total = if job.now.is_some() { 1 } else { job.frames.len() as u32 };
        let inner = shared.clone();
        std::thread::spawn(move || {
            let result = write(&job, &inner, &wake);
            *inner.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            wake();
        });
        Self { shared, total }
    }

    pub(super) fn progress(&self) -> Progress {
        let Shared { done, pause, .. } = &*self.shared;
        Progress {
            done: done.load(Ordering::Relaxed),
            total: self.total,
            paused: pause.load(Ordering::Relaxed),
        }
    }

    /// Pauses or continues it.
    pub(super) fn pause(&self) {
        self.shared.pause.fetch_xor(true, Ordering::Relaxed);
    }

    /// Cancels it; incomplete files are removed.
    pub(super) fn cancel(&self) {
        self.shared.cancel.store(true, Ordering::Relaxed);
    }

    /// Returns whether it was cancelled; it ends soon.
    pub(super) fn is_cancelled(&self) -> bool {
        self.shared.cancel.load(Ordering::Relaxed)
    }

    /// Returns the path or the error of the export, once it has ended.
    pub(super) fn result(&self) -> Option<Result<String, String>> {
        self.shared.result.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// Writes everything. Returns the path or an error.
fn write(job: &Job, shared: &Shared, wake: &impl Fn()) -> Result<String, String> {
    let mut sink = Sink::open(job)?;
    let mut renderer = CpuRenderer::new();
    if let Some(now) = &job.now {
        sink.write(job, &mut renderer, now, 0)?;
        shared.done.store(1, Ordering::Relaxed);
        return sink.finish();
    }
    let Some(first) = job.frames.first() else {
        return Err("there are no recorded frames; let it run first".into());
    };
    let mut snapshot = Snapshot::empty(first.dims(), first.voxel());
    for frame in &job.frames {
        while shared.pause.load(Ordering::Relaxed) && !shared.cancel.load(Ordering::Relaxed) {
            std::thread::sleep(NAP);
        }
        if shared.cancel.load(Ordering::Relaxed) {
            return Err(format!("cancelled after {} frames", shared.done.load(Ordering::Relaxed)));
        }
        let unreadable = |error| format!("frame {} cannot be read from the disk: {error}", frame.number);
        frame.show(&mut snapshot).map_err(unreadable)?;
        sink.write(job, &mut renderer, &snapshot, frame.number as u32)?;
        shared.done.fetch_add(1, Ordering::Relaxed);
        wake();
    }
    sink.finish()
}

/// Destination of the frames.
enum Sink {
    Files(Pattern),
    Film(Box<Ffmpeg>, PathBuf),
    Animation(Box<Apng>, PathBuf),
}

impl Sink {
    fn open(job: &Job) -> Result<Self, String> {
        let pattern = Pattern::from_str(job.path.trim()).map_err(|error| error.to_string())?;
        let is_film = matches!(job.format, Format::Video | Format::Animation);
        let mut first = pattern.path(0);
        let mut ending = pattern.extension();
        if is_film && ending.is_empty() {
            ending = if job.format == Format::Video { "mp4" } else { "apng" }.into();
            first.set_extension(&ending);
        }
        if is_film && ending != "apng" && !video::ENDINGS.contains(&ending.as_str()) {
            return Err(format!("{}: films are written as .apng, .mp4, .webm or .gif", first.display()));
        }
        if let Some(folder) = first.parent().filter(|folder| *folder != Path::new("")) {
            std::fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
        }
        if is_film && ending == "apng" {
            let clip = Clip { size: job.size, frame_rate: job.rate, frames: job.frames.len() as u32 };
            let film = Apng::create(&first, Existing::Keep, clip).map_err(|error| error.to_string())?;
            return Ok(Self::Animation(Box::new(film), first));
        }
        if job.format == Format::Animation {
            return Err(format!("{}: the name of an animated PNG ends in .apng", first.display()));
        }
        if is_film {
            let installed = video::ffmpeg_is_installed().map_err(|error| error.to_string())?;
            if !installed {
                return Err(
                    "a video needs ffmpeg, which is not installed; choose apng, which needs none".into()
                );
            }
            let size = job.size.map(|n| n.next_multiple_of(2));
            let clip = Clip { size, frame_rate: job.rate, frames: job.frames.len() as u32 };
            let film = Ffmpeg::start(&first, Existing::Keep, clip).map_err(|error| error.to_string())?;
            return Ok(Self::Film(Box::new(film), first));
        }
        if job.frames.len() > 1 && !pattern.is_numbered() {
            return Err(format!("{} needs a place for the number, as in smoke.####.png", job.path));
        }
        Ok(Self::Files(pattern))
    }

    fn write(
        &mut self,
        job: &Job,
        renderer: &mut CpuRenderer,
        snapshot: &Snapshot,
        number: u32,
    ) -> Result<(), String> {
        let done = match self {
            Self::Film(film, _) => {
                let size = job.size.map(|n| n.next_multiple_of(2));
                film.picture(&picture(job, renderer, snapshot, size)?)
            }
            Self::Animation(film, _) => film.picture(&picture(job, renderer, snapshot, job.size)?),
            Self::Files(pattern) if job.format == Format::Volumes => {
                let frame = volume::Frame { number, rate: job.rate };
                let plain = Look::default();
                let look = job.looks.get(job.side as usize).unwrap_or(&plain);
                let options = VdbOptions::of(look, Up::Y, true);
                let snapshot = of_side(snapshot, job.side);
                whole::write_over(&pattern.path(number), Existing::Keep, |file| {
                    volume::write_vdb_snapshot(file, snapshot, frame, options)
                })
            }
            Self::Files(pattern) => {
                let image = picture(job, renderer, snapshot, job.size)?;
                png::write(&pattern.path(number), Existing::Keep, &image)
            }
        };
        done.map_err(|error| message(&error))
    }

    fn finish(self) -> Result<String, String> {
        let path = match self {
            Self::Film(film, path) => film.finish().map(|()| path).map_err(|error| message(&error))?,
            Self::Animation(film, path) => film.finish().map(|()| path).map_err(|error| message(&error))?,
            Self::Files(pattern) if pattern.is_numbered() => {
                pattern.path(0).parent().unwrap_or(Path::new("")).to_owned()
            }
            Self::Files(pattern) => pattern.path(0),
        };
        Ok(std::path::absolute(&path).unwrap_or(path).display().to_string())
    }
}

/// Formats an error without the options of the command line.
fn message(error: &OutputError) -> String {
    match error {
        OutputError::Exists(path) => format!("{} already exists; choose another name", path.display()),
        other => other.to_string(),
    }
}

fn picture(
    job: &Job,
    renderer: &mut CpuRenderer,
    snapshot: &Snapshot,
    size: [u32; 2],
) -> Result<Image, String> {
    // The snapshot of a single picture may lack the velocity.
    let mode = if job.mode.needs_velocity() && snapshot.velocity.is_empty() { Mode::Smoke } else { job.mode };
    let camera = match job.camera_path.is_empty() {
        true => job.camera,
        false => job.camera_path.at(snapshot.time as f32, &job.camera),
    };
    let quality = Quality::of_file(&camera);
    let exposure = if mode == Mode::Smoke { camera.lens.shutter / job.rate } else { 0.0 };
    let mut of = |side: Side, look: &Look, size: [u32; 2]| {
        let view = View { look, camera: &camera, cursor: None, mode };
        if exposure <= 0.0 {
            renderer.set_quality(quality);
            return renderer.render(of_side(snapshot, side), &view, size, &|_| ());
        }
        let camera_at = |time: f32| match job.camera_path.is_empty() {
            true => job.camera,
            false => job.camera_path.at(time, &job.camera),
        };
        let exposed =
            exposed(of_side(snapshot, side), exposure, quality, camera_at, |instant, camera, quality| {
                renderer.set_quality(quality);
                renderer.render_linear(instant, &View { camera, ..view }, size, &|_| ())
            });
        let cameras = exposure::cameras(of_side(snapshot, side), exposure, camera_at);
        Ok(exposed?.present_moved(&view, &cameras))
    };
    let image = match job.looks.as_slice() {
        [a, b] => {
            let left = size[0] / 2;
            let a = of(Side::A, a, [left, size[1]]);
            a.and_then(|a| Ok(beside_each_other(&a, &of(Side::B, b, [size[0] - left, size[1]])?)))
        }
        all => of(Side::A, all.first().unwrap_or(&Look::default()), size),
    };
    image.map_err(|error: RenderError| error.to_string())
}

/// Joins two pictures of equal height side by side.
pub(super) fn beside_each_other(a: &Image, b: &Image) -> Image {
    let rows = |image: &Image| {
        image.rgba.chunks_exact(4 * image.width.max(1) as usize).map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let rgba = rows(a).into_iter().zip(rows(b)).flat_map(|(a, b)| a.into_iter().chain(b)).collect();
    Image { width: a.width + b.width, height: a.height.min(b.height), rgba }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::app::action::Action;
    use crate::app::session::Session;
    use crate::scene::Scene;

    /// Returns a session with a few recorded frames.
    fn recorded() -> Session {
        let scene = Scene::parse("tiny", "[domain]\ncells = [16, 24, 16]\nvoxel = 0.06\n").unwrap();
        let mut session = Session::new(scene, || ()).unwrap();
        session.set_view(320.0, 240.0);
        for _ in 0..3 {
            session.act(Action::Step);
        }
        until(&mut session, |s| s.model.playback.range[1] >= 3);
        session
    }

    fn until(session: &mut Session, holds: impl Fn(&Session) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !holds(session) {
            assert!(Instant::now() < deadline, "never happened");
            session.absorb(Instant::now());
            session.advance_playback(Instant::now());
            session.follow_export(Instant::now());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_compared_clip_shows_both_sides() {
        let folder = tempfile::tempdir().unwrap();
        let mut s = recorded();
        s.act(Action::Compare);
        until(&mut s, |s| !s.is_loading());
        s.model.settings.look.exposure = -8.0;
        assert_eq!(s.model.settings.differences().len(), 1);
        let path = folder.path().join("both.png").display().to_string();
        s.model.export =
            Form { format: Format::Picture, size: [65, 48], range: None, path: Some(path.clone()) };
        s.act(Action::Export);
        until(&mut s, |s| s.model.exporting.is_none());
        let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
        let mut reader = ::png::Decoder::new(file).read_info().unwrap();
        let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut rgb).unwrap();
        assert_eq!(rgb.len(), 3 * 65 * 48);
        let light = |columns: std::ops::Range<usize>| {
            let row = |row: &[u8]| {
                row[3 * columns.start..3 * columns.end].iter().map(|p| u64::from(*p)).sum::<u64>()
            };
            rgb.chunks_exact(3 * 65).map(row).sum::<u64>()
        };
        assert!(light(32..65) > light(0..32) + 10_000, "A is dark, B is not");
    }

    #[test]
    fn recorded_frames_become_pictures_volumes_and_a_picture_of_any_size() {
        let folder = tempfile::tempdir().unwrap();
        let mut s = recorded();
        for (format, name, bytes) in [
            (Format::Frames, "a/s.####.png", b"\x89PNG".as_slice()),
            (Format::Volumes, "b/s.####.vdb", b" BDV".as_slice()),
            (Format::Picture, "one.png", b"\x89PNG".as_slice()),
            (Format::Animation, "film.apng", b"\x89PNG".as_slice()),
        ] {
            let path = folder.path().join(name).display().to_string();
            s.model.export = Form { format, size: [64, 48], range: Some([1, 2]), path: Some(path.clone()) };
            s.act(Action::Export);
            until(&mut s, |s| s.model.exporting.is_none());
            let notice = s.readout.notice.clone().unwrap();
            assert!(notice.starts_with("Written to "), "{notice}");
            let is_one = matches!(format, Format::Picture | Format::Animation);
            let numbers = if is_one { vec![0] } else { vec![1, 2] };
            for number in numbers {
                let file = Pattern::from_str(&path).unwrap().path(number);
                assert!(std::fs::read(&file).unwrap().starts_with(bytes), "{}", file.display());
            }
            s.act(Action::Export);
            until(&mut s, |s| s.model.exporting.is_none());
            let notice = s.readout.notice.clone().unwrap();
            assert!(notice.starts_with("Not exported: "), "nothing is written over: {notice}");
        }
    }

    #[test]
    fn a_film_has_all_frames_also_where_ffmpeg_is_absent() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Format::of_machine(None), Format::Animation);
        assert_eq!(Format::of_machine(Some(folder.path().into())), Format::Animation);
        std::fs::write(folder.path().join(format!("ffmpeg{}", std::env::consts::EXE_SUFFIX)), "").unwrap();
        assert_eq!(Format::of_machine(Some(folder.path().into())), Format::Video);
        let mut s = recorded();
        let path = folder.path().join("film.apng");
        let typed = Some(path.display().to_string());
        s.model.export = Form { format: Format::Animation, size: [33, 24], range: None, path: typed };
        s.act(Action::Export);
        until(&mut s, |s| s.model.exporting.is_none());
        let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
        let reader = ::png::Decoder::new(file).read_info().unwrap();
        assert_eq!(reader.info().animation_control().unwrap().num_frames, 4);
        assert_eq!((reader.info().width, reader.info().height), (33, 24));
        // A video whose typed name says so is one, too.
        let typed = Some(folder.path().join("other.apng").display().to_string());
        s.model.export = Form { format: Format::Video, size: [33, 24], range: None, path: typed };
        s.act(Action::Export);
        until(&mut s, |s| s.model.exporting.is_none());
        assert!(s.readout.notice.as_deref().unwrap().starts_with("Written to "), "{:?}", s.readout.notice);
    }

    #[test]
    fn a_film_of_an_unknown_ending_is_refused_and_one_without_gets_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let mut s = recorded();
        let mut export = |format, name: &str| {
            let path = Some(folder.path().join(name).display().to_string());
            s.model.export = Form { format, size: [32, 24], range: None, path };
            s.act(Action::Export);
            until(&mut s, |s| s.model.exporting.is_none());
            s.readout.notice.clone().unwrap()
        };
        let notice = export(Format::Video, "film.txt");
        assert!(notice.ends_with("film.txt: films are written as .apng, .mp4, .webm or .gif"), "{notice}");
        let notice = export(Format::Animation, "film");
        assert!(notice.starts_with("Written to ") && notice.ends_with("film.apng"), "{notice}");
    }

    #[test]
    fn an_export_can_be_held_and_cancelled_and_leaves_no_half_of_a_film() {
        let folder = tempfile::tempdir().unwrap();
        let mut s = recorded();
        let path = folder.path().join("film.mp4");
        let path = Some(path.display().to_string());
        s.model.export = Form { format: Format::Video, size: [64, 48], path, ..Form::default() };
        s.act(Action::Export);
        s.act(Action::HoldExport);
        s.act(Action::CancelExport);
        until(&mut s, |s| s.model.exporting.is_none());
        assert!(s.readout.notice.as_deref().unwrap().starts_with("Not exported: "));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
