//! Moving pictures: APNG by ourselves, MP4, WebM and GIF through ffmpeg where it is installed.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use super::OutputError;
use super::whole::Aside;
use crate::render::Image;

/// What pictures a video takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clip {
    /// Width and height \[px\].
    pub size: [u32; 2],
    /// Pictures per second.
    pub frame_rate: f32,
    /// How many pictures there will be.
    pub frames: u32,
}

/// An animated PNG that is being written.
pub struct Apng {
    writer: png::Writer<BufWriter<File>>,
    aside: Aside,
}

impl Apng {
    /// The first bytes of `path`.
    pub fn create(path: &Path, clip: Clip) -> Result<Self, OutputError> {
        let aside = Aside::of(path);
        let writer = Self::header(&aside, clip).map_err(|source| aside.error(source))?;
        Ok(Self { writer, aside })
    }

    fn header(aside: &Aside, clip: Clip) -> io::Result<png::Writer<BufWriter<File>>> {
        let file = BufWriter::new(File::create(aside.meanwhile())?);
        let mut encoder = png::Encoder::new(file, clip.size[0], clip.size[1]);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        encoder.set_animated(clip.frames, 0)?;
        // In thousandths, for rates such as 23.976.
        encoder.set_frame_delay(1000, (clip.frame_rate * 1000.0).round().clamp(1.0, 65535.0) as u16)?;
        Ok(encoder.write_header()?)
    }

    /// Adds a picture.
    pub fn picture(&mut self, image: &Image) -> Result<(), OutputError> {
        let written = self.writer.write_image_data(&super::png::without_alpha(&image.rgba));
        written.map_err(|error| self.aside.error(error.into()))
    }

    /// Closes the file and gives it its name.
    pub fn finish(self) -> Result<(), OutputError> {
        self.writer.finish().map_err(|error| self.aside.error(error.into()))?;
        self.aside.keep()
    }
}

/// Whether there is an ffmpeg to run.
pub fn ffmpeg_is_installed() -> bool {
    let mut command = Command::new("ffmpeg");
    command.arg("-version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A video that ffmpeg is encoding.
pub struct Ffmpeg {
    process: Child,
    pictures: Option<ChildStdin>,
    /// There until the video has its name.
    aside: Option<Aside>,
    path: PathBuf,
}

impl Ffmpeg {
    /// Starts ffmpeg on `path`, whose extension decides the format: mp4, webm or gif.
    pub fn start(path: &Path, clip: Clip) -> Result<Self, OutputError> {
        let aside = Aside::of(path);
        let mut process = command(&aside, clip).spawn().map_err(|source| aside.error(source))?;
        let pictures = process.stdin.take();
        Ok(Self { process, pictures, aside: Some(aside), path: path.to_owned() })
    }

    /// Adds a picture.
    pub fn picture(&mut self, image: &Image) -> Result<(), OutputError> {
        let Some(pipe) = &mut self.pictures else { return Err(self.failed()) };
        match pipe.write_all(&super::png::without_alpha(&image.rgba)) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.failed()),
        }
    }

    /// Waits for ffmpeg and gives the video its name.
    pub fn finish(mut self) -> Result<(), OutputError> {
        self.pictures = None;
        match (self.process.wait(), self.aside.take()) {
            (Ok(status), Some(aside)) if status.success() => aside.keep(),
            _ => Err(self.failed()),
        }
    }

    /// What ffmpeg said before it gave up.
    fn failed(&mut self) -> OutputError {
        self.pictures = None;
        let mut said = String::new();
        if let Some(errors) = &mut self.process.stderr {
            // Without its words there is still the fact.
            let _ = errors.read_to_string(&mut said);
        }
        let last = said.lines().last().unwrap_or("it ended early").trim().to_owned();
        let source = io::Error::other(format!("ffmpeg failed: {last}"));
        OutputError::Write { path: self.path.clone(), source }
    }
}

impl Drop for Ffmpeg {
    /// A run that stops takes its encoder with it.
    fn drop(&mut self) {
        self.pictures = None;
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(aside: &Aside, clip: Clip) -> Command {
    let [width, height] = clip.size;
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"]);
    command.args(["-s", &format!("{width}x{height}"), "-framerate", &clip.frame_rate.to_string(), "-i", "-"]);
    command.args(encoding(aside.meanwhile())).arg(aside.meanwhile());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    detach(&mut command);
    command
}

/// Ctrl-C on the terminal is for us alone: we end the encoder ourselves.
fn detach(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Good quality for smoke, whose soft gradients band early. Odd sizes get a black line more.
fn encoding(path: &Path) -> &'static [&'static str] {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("webm") => {
            &["-c:v", "libvpx-vp9", "-crf", "24", "-b:v", "0", "-row-mt", "1", "-pix_fmt", "yuv420p"]
        }
        Some("gif") => {
            &["-filter_complex", "split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=sierra2_4a"]
        }
        _ => &[
            "-c:v",
            "libx264",
            "-crf",
            "16",
            "-preset",
            "medium",
            "-pix_fmt",
            "yuv420p",
            "-vf",
            "pad=ceil(iw/2)*2:ceil(ih/2)*2",
            "-movflags",
            "+faststart",
        ],
    }
}
