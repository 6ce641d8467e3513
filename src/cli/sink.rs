//! Output of pictures: separate files, or one video.

use std::path::PathBuf;

use super::frames::Frames;
use super::painter::Painter;
use super::{CliError, tell};
use crate::output::exr::{self, Extra};
use crate::output::lock::{Lock, Share};
use crate::output::video::{self, Apng, Clip, Ffmpeg};
use crate::output::whole::{self, Existing};
use crate::output::{Pattern, png};
use crate::render::{Image, LinearImage};
use crate::scene::Scene;
use crate::snapshot::Snapshot;

/// Format according to the extension of `--out`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Png,
    Exr,
    Apng,
    Ffmpeg,
}

/// Output files of pictures, checked before rendering.
pub struct Target {
    out: Pattern,
    format: Format,
    frames: Frames,
    /// Whether pictures have layers.
    layers: bool,
}

impl Target {
    /// Makes the target for `frames` from `out`. If the format needs ffmpeg and there is none, it becomes
    /// PNGs of the same name. The first rank (`is_first`) reports this even with `--quiet`, because other
    /// files than expected are written.
    pub fn new(out: &Pattern, frames: Frames, is_first: bool) -> Result<Self, CliError> {
        let mut target = Self { out: out.clone(), format: format(out)?, frames, layers: false };
        target.check_numbering()?;
        if target.format != Format::Ffmpeg {
            return Ok(target);
        }
        let why = match video::ffmpeg_is_installed() {
            Ok(true) => return Ok(target),
            Ok(false) => format!("no ffmpeg here to write {}", target.name()),
            Err(error) => {
                format!("ffmpeg cannot be used: -version: {error}; {} is not written", target.name())
            }
        };
        let name = target.stem() + ".####.png";
        if is_first {
            tell(&format!("updraft: {why}; writing {name}"));
        }
        target.out = name.parse().map_err(|e| CliError::Request(format!("{e}")))?;
        target.format = Format::Png;
        Ok(target)
    }

    /// Sets whether the pictures have layers.
    pub fn with_layers(self, layers: bool) -> Result<Self, CliError> {
        if layers && self.format != Format::Exr {
            let message = format!("{}: only .exr has layers; leave --layers out", self.name());
            return Err(CliError::Request(message));
        }
        Ok(Self { layers, ..self })
    }

    fn check_numbering(&self) -> Result<(), CliError> {
        let (name, stem) = (self.name(), self.stem());
        match (self.format, self.out.is_numbered()) {
            (Format::Png | Format::Exr, false) if self.frames.count() > 1 => Err(CliError::Request(format!(
                "{} frames need a place for their number; write --out '{stem}.####.{}'",
                self.frames.count(),
                self.out.extension()
            ))),
            (Format::Apng | Format::Ffmpeg, true) => {
                Err(CliError::Request(format!("{name} is one file for all frames; leave the number out")))
            }
            _ => Ok(()),
        }
    }

    fn name(&self) -> String {
        self.out.path(self.frames.first).display().to_string()
    }

    fn stem(&self) -> String {
        self.out.path(0).with_extension("").display().to_string()
    }

    /// Returns whether pictures are linear, before background and tone map.
    pub fn is_linear(&self) -> bool {
        self.format == Format::Exr
    }

    /// Paths that will be written.
    pub fn paths(&self) -> Vec<PathBuf> {
        match self.format {
            Format::Png | Format::Exr => self.frames.iter().map(|frame| self.out.path(frame)).collect(),
            Format::Apng | Format::Ffmpeg => vec![self.out.path(0)],
        }
    }

    /// Returns whether the picture of `frame` exists already. An empty file does not count.
    pub fn has(&self, frame: u32) -> bool {
        self.out.path(frame).metadata().is_ok_and(|file| file.len() > 0)
    }

    /// Locks the files of this name, and removes what killed processes left of them. Processes that skip existing
    /// pictures may share the lock.
    pub fn lock(&self, share: bool) -> Result<Lock, CliError> {
        let paths = self.paths();
        let paths = || paths.iter().map(PathBuf::as_path);
        whole::check_names(paths()).map_err(CliError::Target)?;
        let first = self.out.path(0);
        let name = first.file_name().unwrap_or_default().to_string_lossy();
        let is_film = matches!(self.format, Format::Apng | Format::Ffmpeg);
        let share = if share && !is_film { Share::WithOthers } else { Share::Alone };
        let lock = first.with_file_name(format!(".{name}.lock"));
        Lock::take(&lock, share, || whole::clean_up(paths())).map_err(CliError::Target)
    }

    /// Creates the folders, and opens files that stay open.
    pub fn open(&self, size: [u32; 2], frame_rate: f32, force: bool) -> Result<Sink, CliError> {
        let paths = self.paths();
        whole::prepare(paths.iter().map(PathBuf::as_path), force).map_err(CliError::Target)?;
        let clip = Clip { size, frame_rate, frames: self.frames.count() };
        let existing = Existing::forced(force);
        Ok(match self.format {
            Format::Png => Sink::Pictures(self.out.clone(), existing),
            Format::Exr => Sink::Linear(self.out.clone(), existing, self.layers),
            Format::Apng => Sink::Apng(Apng::create(&paths[0], existing, clip)?),
            Format::Ffmpeg => Sink::Video(Ffmpeg::start(&paths[0], existing, clip)?),
        })
    }

    /// Describes the output in one line, with the number of pictures that existed already.
    pub fn summary(&self, kept: u32) -> String {
        let kept = match kept {
            0 => String::new(),
            kept if kept == self.frames.count() => ", all of them kept as they were".into(),
            kept => format!(", {kept} of them kept as they were"),
        };
        match self.paths().as_slice() {
            [one] if kept.is_empty() => one.display().to_string(),
            [one] => format!("{}, kept as it was", one.display()),
            [first, .., last] => {
                format!("{} pictures: {} to {}{kept}", self.frames.count(), first.display(), last.display())
            }
            [] => String::new(),
        }
    }
}

fn format(out: &Pattern) -> Result<Format, CliError> {
    match out.extension().as_str() {
        "png" => Ok(Format::Png),
        "exr" => Ok(Format::Exr),
        "apng" => Ok(Format::Apng),
        ending if video::ENDINGS.contains(&ending) => Ok(Format::Ffmpeg),
        _ => Err(CliError::Request(format!(
            "{}: pictures are written as .png or .exr, moving ones as .apng, .mp4, .webm or .gif",
            out.path(0).display()
        ))),
    }
}

/// Writes pictures one after the other.
pub enum Sink {
    /// One PNG each.
    Pictures(Pattern, Existing),
    /// One EXR each, with or without layers.
    Linear(Pattern, Existing, bool),
    /// An animated PNG.
    Apng(Apng),
    /// A video that ffmpeg encodes.
    Video(Ffmpeg),
}

impl Sink {
    /// Renders `frame` with `painter` and writes it.
    pub fn write(
        &mut self,
        frame: u32,
        snapshot: &Snapshot,
        scene: &Scene,
        painter: &mut Painter,
    ) -> Result<(), CliError> {
        if let Self::Linear(_, _, layers) = self {
            let image = painter.paint_linear(snapshot, scene)?;
            let extra = if *layers { painter.paint_layers(snapshot, scene)? } else { Vec::new() };
            return self.put_linear(frame, &image, &extra);
        }
        self.put(frame, &painter.paint(snapshot, scene)?)
    }

    /// Writes a finished picture of `frame`.
    pub fn put(&mut self, frame: u32, image: &Image) -> Result<(), CliError> {
        Ok(match self {
            Self::Pictures(out, existing) => png::write(&out.path(frame), *existing, image),
            Self::Apng(apng) => apng.picture(image),
            Self::Video(video) => video.picture(image),
            Self::Linear(..) => unreachable!("linear pictures go to `put_linear`"),
        }?)
    }

    /// Writes a linear picture of `frame`, and further layers.
    pub fn put_linear(&mut self, frame: u32, image: &LinearImage, extra: &[Extra]) -> Result<(), CliError> {
        match self {
            Self::Linear(out, existing, _) => Ok(exr::write(&out.path(frame), *existing, image, extra)?),
            _ => unreachable!("finished pictures go to `put`"),
        }
    }

    /// Closes open files. A video gets its final name only here.
    pub fn finish(self) -> Result<(), CliError> {
        Ok(match self {
            Self::Pictures(..) | Self::Linear(..) => Ok(()),
            Self::Apng(apng) => apng.finish(),
            Self::Video(video) => video.finish(),
        }?)
    }
}
