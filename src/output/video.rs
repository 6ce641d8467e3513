//! Writes videos: APNG natively, MP4, WebM and GIF by ffmpeg if it is installed.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use super::child::{self, Guarded, Patience};
use super::whole::{Aside, Existing};
use super::{OutputError, film};
use crate::render::Image;

/// Endings of the videos that ffmpeg writes.
pub const ENDINGS: [&str; 3] = ["mp4", "webm", "gif"];

/// Format of a video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clip {
    /// Width and height \[px\].
    pub size: [u32; 2],
    /// Pictures per second.
    pub frame_rate: f32,
    /// Number of pictures.
    pub frames: u32,
}

/// An animated PNG being written.
pub struct Apng {
    writer: png::Writer<BufWriter<File>>,
    aside: Aside,
    existing: Existing,
}

impl Apng {
    /// Creates `path` and writes its header.
    pub fn create(path: &Path, existing: Existing, clip: Clip) -> Result<Self, OutputError> {
        let aside = Aside::of(path);
        let writer = Self::header(&aside, clip).map_err(|source| aside.error(source))?;
        Ok(Self { writer, aside, existing })
    }

    fn header(aside: &Aside, clip: Clip) -> io::Result<png::Writer<BufWriter<File>>> {
        let file = BufWriter::new(File::create(aside.meanwhile())?);
        let mut encoder = png::Encoder::new(file, clip.size[0], clip.size[1]);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        encoder.set_animated(clip.frames, 0)?;
        // The rate is in thousandths, for rates such as 23.976.
        encoder.set_frame_delay(1000, (clip.frame_rate * 1000.0).round().clamp(1.0, 65535.0) as u16)?;
        Ok(encoder.write_header()?)
    }

    /// Adds a picture.
    pub fn picture(&mut self, image: &Image) -> Result<(), OutputError> {
        let written = self.writer.write_image_data(&super::png::without_alpha(&image.rgba));
        written.map_err(|error| self.aside.error(error.into()))
    }

    /// Finishes the file and gives it its name.
    pub fn finish(self) -> Result<(), OutputError> {
        self.writer.finish().map_err(|error| self.aside.error(error.into()))?;
        self.aside.keep(self.existing)
    }
}

/// Longest time for ffmpeg to report its version.
const ANSWER: Duration = Duration::from_secs(5);

/// Returns whether ffmpeg is installed.
///
/// # Errors
/// If it is installed but does not answer, or fails.
pub fn ffmpeg_is_installed() -> io::Result<bool> {
    let mut command = Command::new("ffmpeg");
    command.arg("-version");
    detach(&mut command);
    match child::succeeds(command, Patience(ANSWER.min(Patience::usual().0))) {
        Ok(false) => Err(io::Error::other("it ended with an error")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        found => found,
    }
}

/// A video that ffmpeg is encoding. On any failure an existing file of that name is untouched.
pub struct Ffmpeg {
    process: Guarded,
    aside: Aside,
    existing: Existing,
}

impl Ffmpeg {
    /// Starts ffmpeg for `path`, whose extension decides the format: mp4, webm or gif.
    pub fn start(path: &Path, existing: Existing, clip: Clip) -> Result<Self, OutputError> {
        let aside = Aside::of(path);
        let process = Guarded::start(command(&aside, clip), Patience::usual());
        let process = process.map_err(|source| aside.error(source))?;
        Ok(Self { process, aside, existing })
    }

    /// Adds a picture.
    pub fn picture(&mut self, image: &Image) -> Result<(), OutputError> {
        let fed = self.process.feed(super::png::without_alpha(&image.rgba));
        fed.map_err(|error| self.aside.error(failed(&error)))
    }

    /// Waits for ffmpeg, checks that the film is complete, and gives it its name.
    ///
    /// # Errors
    /// If ffmpeg fails, or reports success with an incomplete film, for example on a full disk.
    pub fn finish(self) -> Result<(), OutputError> {
        let Self { process, aside, existing } = self;
        let progress = || stamp(aside.meanwhile());
        process.finish(progress).map_err(|error| aside.error(failed(&error)))?;
        film::check(aside.meanwhile()).map_err(|error| aside.error(error))?;
        aside.keep(existing)
    }
}

/// Returns the version of ffmpeg in its own words, such as `5.1.9-0+deb12u1`, or `None` if it is not installed.
///
/// # Errors
/// If it is installed but does not answer, or fails.
pub fn ffmpeg_version() -> io::Result<Option<String>> {
    let mut command = Command::new("ffmpeg");
    command.arg("-version");
    detach(&mut command);
    let text = match child::answer(command, Patience(ANSWER.min(Patience::usual().0)))? {
        // ffmpeg is absent or broken.
        None => return ffmpeg_is_installed().map(|_| None),
        text => text,
    };
    Ok(text.and_then(|text| {
        let words = text.strip_prefix("ffmpeg version ").unwrap_or(&text);
        words.split_whitespace().next().map(str::to_owned)
    }))
}

fn failed(error: &io::Error) -> io::Error {
    io::Error::other(format!("ffmpeg failed: {error}"))
}

/// Returns a number that changes when the file does.
fn stamp(path: &Path) -> u64 {
    let Ok(about) = path.metadata() else { return 0 };
    let time = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    about.len() ^ time.map_or(0, |time| time.as_nanos() as u64)
}

fn command(aside: &Aside, clip: Clip) -> Command {
    let [width, height] = clip.size;
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"]);
    command.args(["-s", &format!("{width}x{height}"), "-framerate", &clip.frame_rate.to_string(), "-i", "-"]);
    // The prefix is needed because `a:b.mp4` would be a protocol `a`.
    let mut file = OsString::from("file:");
    file.push(aside.meanwhile());
    command.args(encoding(aside.meanwhile(), clip.size)).arg(file);
    detach(&mut command);
    command
}

/// Keeps Ctrl-C of the terminal from the encoder: updraft ends it.
fn detach(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Returns encoder options of good quality for smoke, whose soft gradients show bands early.
///
/// Films have the colours of BT.709 and are tagged so. By default ffmpeg converts by the matrix of BT.601 and writes no tags, but players
/// take untagged films for BT.709. H.264 of odd sizes repeats the last column or row.
fn encoding(path: &Path, size: [u32; 2]) -> Vec<String> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let codec = match path.extension().and_then(|extension| extension.to_str()) {
        Some("gif") => {
            return words("-filter_complex split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=sierra2_4a");
        }
        Some("webm") => "-c:v libvpx-vp9 -crf 24 -b:v 0 -row-mt 1",
        _ => "-c:v libx264 -crf 16 -preset medium -movflags +faststart",
    };
    let mut filter =
        String::from("scale=out_color_matrix=bt709:out_range=tv:flags=accurate_rnd+full_chroma_int");
    let more = size.map(|n| n % 2);
    if more != [0; 2] && !codec.contains("vp9") {
        let [width, height] = [0, 1].map(|a| size[a] + more[a]);
        let [right, bottom] = more;
        filter =
            format!("pad={width}:{height},fillborders=right={right}:bottom={bottom}:mode=smear,{filter}");
    }
    let tags = "-color_range tv -colorspace bt709 -color_primaries bt709 -color_trc bt709";
    let mut all = words(&format!("{codec} -pix_fmt yuv420p {tags}"));
    all.extend(["-vf".into(), filter]);
    all
}
