//! Pictures: light transport through the three smoke densities of a snapshot to a camera.
//!
//! The medium at a point is a mixture of the three colours c with density ρ_c: extinction
//! σ_t = e Σ ρ_c \[1/m\] (e is [`Look::extinction`]), the same for R, G and B, and albedo
//! α = Σ ρ_c a_c / Σ ρ_c (a_c is [`Look::colors`]), one number for each of R, G and B. Along a ray
//!
//! ```text
//! L = ∫ T(t) σ_t(t) J(t) dt + T(end) L_behind        T(t) = exp(−∫ σ_t)
//! J = α [ E p(cos θ) e^(−τ_sun) + M ] + glow
//! ```
//!
//! The optical depth τ and M, the light of the sky, the ground and what is scattered more often, come from the light volume
//! ([`light`]), whose solution does not depend on the camera. Each step
//! integrates exactly what a constant medium would give, so the picture of a uniform slab does not depend on
//! the step.
//!
//! [`CpuRenderer`] renders on the processor's threads, without OpenGL. With the feature `viewer`, `Renderer` and
//! `Offscreen` do the same in OpenGL. Both give linear radiance, then a tone map.

mod background;
mod bricks;
pub mod camera;
pub mod colormap;
mod cpu;
mod cursor;
mod denoise;
mod distance;
mod exp;
pub mod exposure;
mod floor;
mod floor_grid;
mod floor_nodes;
mod flow;
mod glossy;
mod irradiance;
mod lamp;
pub mod light;
mod lines;
mod lit_smoke;
pub mod medium;
pub mod noise;
mod preshaded;
pub mod procedural;
mod quantity;
mod sampled_volume;
mod scene;
mod slice;
mod smooth_mesh;
mod solid;
pub mod sprite;
mod stage;
mod surround;
mod tone;
mod trilinear;

#[cfg(feature = "viewer")]
mod gl;

/// The version of `glium` whose types [`Renderer`] takes: `glium::backend::Context`, `glium::Surface` and
/// others.
#[cfg(feature = "viewer")]
pub use glium;

#[cfg(feature = "viewer")]
pub use gl::{FinishedPicture, Offscreen, PictureRequest, PictureThread, Renderer, Timing, measure};

pub use cpu::CpuRenderer;
pub use quantity::{Quantity, Ranges};
pub use slice::Slice;

use thiserror::Error;

use crate::grid::Dims;
use crate::look::{Camera, InvalidLook, Look, Scattering};
use crate::snapshot::InvalidSnapshot;

/// A finished picture, sRGB-encoded, with straight alpha.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Red, green, blue, alpha of each pixel, rows from the top.
    pub rgba: Vec<u8>,
}

/// A picture before background and tone map: linear radiance of smoke, floor and lines.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearImage {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Linear red, green and blue, and alpha, of each pixel, rows from the top. The colours are
    /// premultiplied: composite them over a background as `rgb + (1 − alpha) behind`.
    pub rgba: Vec<[f32; 4]>,
    /// Distance from the eye to the first opaque surface, such as the floor \[m\]; 10⁶ without one.
    pub depth: Vec<f32>,
}

/// Settings of a picture of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Light, medium and tone.
    pub look: &'a Look,
    /// Camera.
    pub camera: &'a Camera,
    /// The 3D cursor, if it is shown.
    pub cursor: Option<Cursor>,
    /// Content of the picture.
    pub mode: Mode,
}

impl View<'_> {
    /// Returns the first invalid value, if any.
    pub fn problem(&self) -> Option<InvalidLook> {
        let slice = match self.mode {
            Mode::Slice(slice) => slice.problem(),
            _ => None,
        };
        let cursor = || self.cursor.as_ref().and_then(Cursor::problem);
        self.camera.problem().or_else(|| self.look.problem()).or(slice).or_else(cursor)
    }

    /// Fails for invalid values, and for pictures without a pixel or with a side of more than `most` pixels.
    fn check(&self, size: [u32; 2], most: u32) -> Result<(), RenderError> {
        if size.iter().any(|n| !(1..=most).contains(n)) {
            return Err(RenderError::Size(size[0], size[1], most));
        }
        self.problem().map_or(Ok(()), |problem| Err(problem.into()))
    }
}

/// The ball of the brush.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cursor {
    /// Centre \[m\].
    pub center: [f32; 3],
    /// Radius \[m\].
    pub radius: f32,
    /// Linear colour.
    pub color: [f32; 3],
}

impl Cursor {
    /// Returns the first invalid value, if any.
    pub fn problem(&self) -> Option<InvalidLook> {
        InvalidLook::unless_position("cursor", "centre", &self.center)
            .or_else(|| InvalidLook::unless_size("cursor", "radius", &[self.radius]))
            .or_else(|| InvalidLook::unless_light("cursor", "colour", &self.color))
    }
}

/// Content of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Mode {
    /// The lit smoke.
    #[default]
    Smoke,
    /// The smoke with arrows along the flow. Like the modes below it needs a snapshot with velocity.
    Velocity,
    /// The smoke with streamlines.
    Streamlines,
    /// Speed as an emissive volume.
    Speed,
    /// Vorticity magnitude as an emissive volume.
    Vorticity,
    /// A plane in the colours of one quantity, with a legend.
    Slice(Slice),
}

impl Mode {
    /// Returns whether the smoke itself is rendered.
    fn shows_smoke(self) -> bool {
        matches!(self, Self::Smoke | Self::Velocity | Self::Streamlines)
    }

    /// Returns the quantity rendered as an emissive volume.
    fn glowing(self) -> Option<Quantity> {
        match self {
            Self::Speed => Some(Quantity::Speed),
            Self::Vorticity => Some(Quantity::Vorticity),
            _ => None,
        }
    }

    /// Returns the factor on the extinction: smoke around lines is thinned to show them.
    fn smoke_share(self) -> f32 {
        if self == Self::Smoke { 1.0 } else { 0.12 }
    }

    /// Returns whether it needs a snapshot with velocity.
    pub fn needs_velocity(self) -> bool {
        match self {
            Self::Smoke => false,
            Self::Slice(slice) => slice.quantity.needs_velocity(),
            _ => true,
        }
    }
}

/// Quality of a picture. It does not change the content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// The march runs at the size of the picture divided by this: 1, 2 or 4.
    pub divide: u32,
    /// Samples per cell edge, as a factor on [`Look::samples`].
    pub samples: f32,
    /// Whether to skip empty bricks.
    pub bricks: bool,
    /// Whether to use quadratic B-splines of sharpened smoke and of light instead of trilinear interpolation:
    /// they show no creases and no steps of cells, at about twice the cost.
    pub splines: bool,
    /// Whether to use as many points of light as [`Look::light_scale`] sets in large boxes too. Light
    /// scattered more than once, and that of sky and ground, is then solved on 64 cubes along the longest
    /// side instead of 32, with more sweeps. It matters in dense smoke, and takes eight times the memory.
    pub fine_light: bool,
    /// Number of frames with different offsets that are averaged.
    pub passes: u32,
    /// Number of the first of these frames, and the number of all frames of the picture if these are only a part of them. Frame 0 is seen
    /// from the middles of lens and pixels.
    pub first: u32,
    /// See [`Quality::first`]; 0: [`Quality::passes`].
    pub all: u32,
    /// Whether to shift these frames within the pixel, for smooth edges.
    pub edges: bool,
}

/// Least number of samples along the longest side.
const FEWEST: f32 = 64.0;

impl Quality {
    /// Returns the samples per cell edge for pictures of `look` on a grid with cells of an edge `h` \[m\]. A factor
    /// below 1 is raised so that about [`FEWEST`] remain along the longest side, and one for each unit of optical
    /// depth in smoke of density 1: longer steps show as grain, on coarse grids and where light varies in dense smoke.
    /// Fine light takes up to two samples per cell edge, one for each unit of optical depth in smoke of density 1.
    /// Single scattering in fine light doubles the samples. Light that is scattered once varies within a step
    /// through dense smoke, and no light from other directions hides that: with one sample in each cell of
    /// 1.6 optical depths a slab was 0.95 of traced, with two 0.99.
    fn samples(&self, look: &Look, dims: Dims, h: f32) -> f32 {
        let longest = dims.array().into_iter().max().unwrap_or(1) as f32;
        let least = (FEWEST / longest).max(look.extinction * h / look.samples).min(2.0);
        let factor = if self.samples < 1.0 { self.samples.max(least) } else { self.samples };
        let fine = match (self.fine_light, look.scattering) {
            (false, _) => 1.0,
            (true, Scattering::Single) => 2.0,
            (true, _) => (look.extinction * h / look.samples).clamp(1.0, 2.0),
        };
        (look.samples * factor * fine).clamp(0.05, 16.0)
    }

    /// Returns the position within the pixel of a frame \[pixels\].
    fn shift(&self, number: u32) -> [f32; 2] {
        if self.edges { noise::sub_pixel(number, self.all.max(self.passes)) } else { [0.0; 2] }
    }

    /// Returns the numbers of the frames. The lowest comes last, whose depth is that of the picture.
    fn frames(&self) -> impl Iterator<Item = u32> + use<> {
        let (first, passes) = (self.first, self.passes.max(1));
        (0..passes).rev().map(move |n| first.wrapping_add(n))
    }

    /// Returns the quality for a file with `camera`: a picture of a lens needs many frames.
    pub fn of_file(camera: &Camera) -> Self {
        if camera.lens.aperture > 0.0 {
            Self { passes: Self::LENS_PASSES, ..Self::SMOOTH }
        } else {
            Self::SMOOTH
        }
    }

    /// Quality for files with hard edges: splines, fine light, and the mean of nine frames.
    pub const SMOOTH: Self = Self { splines: true, fine_light: true, passes: 9, edges: true, ..Self::FINAL };
    /// Full size, one frame.
    pub const FINAL: Self = Self {
        divide: 1,
        samples: 1.0,
        bricks: true,
        splines: false,
        fine_light: false,
        passes: 1,
        first: 0,
        all: 0,
        edges: false,
    };
    /// Number of frames whose mean is the picture of a lens. With fewer, points far out of focus show as
    /// copies.
    pub const LENS_PASSES: u32 = 96;
    /// Quality for a moving picture in a window: half size.
    pub const INTERACTIVE: Self = Self { divide: 2, samples: 0.5, ..Self::FINAL };
}

impl Default for Quality {
    fn default() -> Self {
        Self::FINAL
    }
}

/// Reason why there is no picture.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RenderError {
    /// This machine has no OpenGL, for this reason.
    #[error("no OpenGL 3.3 here: {0}")]
    NoGl(String),
    /// The driver refused an operation: its name, and the driver's message.
    #[error("OpenGL refused {0}: {1}")]
    Gl(&'static str, String),
    /// More cells along an axis than the driver's largest texture.
    #[error("a grid of {0:?} cells does not fit a 3D texture here; the limit is {1} along an axis")]
    TooLarge([usize; 3], usize),
    /// A look, a camera, a cursor or a slice with an invalid value.
    #[error(transparent)]
    Look(#[from] InvalidLook),
    /// A snapshot that cannot be rendered.
    #[error(transparent)]
    Snapshot(#[from] InvalidSnapshot),
    /// A picture with no pixels, or with more than the renderer's maximum.
    #[error("a picture of {0}x{1} pixels cannot be rendered; each side must be 1 to {2}")]
    Size(u32, u32, u32),
    /// A mode that needs the velocity, with a snapshot without it.
    #[error("a picture of the flow needs a snapshot with velocity; capture it with its velocity")]
    NoVelocity,
    /// A picture was cancelled, and a caller reports that as an error. [`CpuRenderer`] itself returns the
    /// unfinished picture; see [`CpuRenderer::set_cancel`].
    #[error("stopped before the picture was finished")]
    Cancelled,
}
