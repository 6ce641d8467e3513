//! The picture: light carried through the three smoke densities of a snapshot to a camera.
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
//! [`CpuRenderer`] renders on the processor's threads, with no OpenGL anywhere; with the feature `viewer`,
//! [`Renderer`] and [`Offscreen`] do the same in OpenGL. Both give linear radiance, then a tone map (AgX).

mod bricks;
pub mod camera;
pub mod colormap;
mod cpu;
mod cursor;
mod distance;
mod exp;
mod floor;
mod flow;
pub mod light;
mod lines;
pub mod medium;
pub mod noise;
mod preshaded;
pub mod procedural;
mod quantity;
mod scene;
mod slice;
mod solid;
mod tone;
mod trilinear;
mod volume;

#[cfg(feature = "viewer")]
mod gl;

/// The version whose types [`Renderer`] takes: `glium::backend::Context`, `glium::Surface` and the rest.
#[cfg(feature = "viewer")]
pub use glium;

#[cfg(feature = "viewer")]
pub use gl::{Offscreen, Renderer, Timing, measure};

pub use cpu::CpuRenderer;
pub use quantity::{Quantity, Ranges};
pub use slice::Slice;

use thiserror::Error;

use crate::look::{Camera, Look};

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
    /// Linear red, green and blue, and alpha, of each pixel, rows from the top. The colours are what the
    /// picture itself sends (premultiplied): put it over anything as `rgb + (1 − alpha) behind`.
    pub rgba: Vec<[f32; 4]>,
    /// Distance from the eye to what hides the smoke, the floor \[m\]; 10⁶ where nothing does.
    pub depth: Vec<f32>,
}

/// What to take a picture of a snapshot with.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Light, medium and tone.
    pub look: &'a Look,
    /// Where the picture is taken from.
    pub camera: &'a Camera,
    /// The 3D cursor, if it is shown.
    pub cursor: Option<Cursor>,
    /// What of the snapshot is shown.
    pub mode: Mode,
}

/// The ball that paints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cursor {
    /// Its middle \[m\].
    pub center: [f32; 3],
    /// Its radius \[m\].
    pub radius: f32,
    /// Its colour, linear.
    pub color: [f32; 3],
}

/// Which field of a snapshot is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Mode {
    /// The smoke, lit.
    #[default]
    Smoke,
    /// The smoke with arrows along the flow; needs a snapshot with velocity, as do those below.
    Velocity,
    /// The smoke with streamlines.
    Streamlines,
    /// Speed as a glowing volume.
    Speed,
    /// Vorticity magnitude as a glowing volume.
    Vorticity,
    /// A plane in the colours of one quantity, with a legend.
    Slice(Slice),
}

impl Mode {
    /// Whether the smoke itself is drawn.
    fn shows_smoke(self) -> bool {
        matches!(self, Self::Smoke | Self::Velocity | Self::Streamlines)
    }

    /// The quantity that is drawn as a glowing volume.
    fn glowing(self) -> Option<Quantity> {
        match self {
            Self::Speed => Some(Quantity::Speed),
            Self::Vorticity => Some(Quantity::Vorticity),
            _ => None,
        }
    }

    /// Share of the extinction that is drawn: smoke around lines is thin enough to see them.
    fn smoke_share(self) -> f32 {
        if self == Self::Smoke { 1.0 } else { 0.12 }
    }

    /// Whether it can be drawn only from a snapshot with velocity.
    pub fn needs_velocity(self) -> bool {
        match self {
            Self::Smoke => false,
            Self::Slice(slice) => slice.quantity.needs_velocity(),
            _ => true,
        }
    }
}

/// How much work goes into a picture. None of it changes what the picture shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// The march runs at the size of the picture divided by this: 1, 2 or 4.
    pub divide: u32,
    /// Samples per cell edge, as a factor on [`Look::samples`].
    pub samples: f32,
    /// Step over bricks in which nothing is.
    pub bricks: bool,
    /// The cubic B-spline between cells instead of trilinear interpolation: no creases in thin smoke, at two to
    /// three times the cost.
    pub cubic: bool,
    /// Pictures with different offsets that are averaged into one.
    pub passes: u32,
    /// Where there are solids, let those pictures also look through different places of each pixel: smooth edges.
    pub edges: bool,
    /// Where the light that the smoke sends is worked out.
    pub shading: Shading,
}

/// Where the light that the smoke sends is worked out. The pictures hardly differ; the work does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shading {
    /// Along each ray where there is a graphics processor, else at the cells.
    #[default]
    Fastest,
    /// At the cells, once for all rays, again for each new eye. The processor's threads render the whole picture.
    Cells,
    /// Along each ray, at each step: in shaders, or without OpenGL in plain code, which is slow.
    Rays,
}

impl Quality {
    /// Samples per cell edge for pictures of `look`.
    fn samples(&self, look: &Look) -> f32 {
        (look.samples * self.samples).clamp(0.05, 16.0)
    }

    /// For files of what has edges: the mean of nine pictures.
    pub const SMOOTH: Self = Self { passes: 9, edges: true, ..Self::FINAL };
    /// Full size.
    pub const FINAL: Self = Self {
        divide: 1,
        samples: 1.0,
        bricks: true,
        cubic: false,
        passes: 1,
        edges: false,
        shading: Shading::Fastest,
    };
    /// For a window in motion: half size.
    pub const INTERACTIVE: Self = Self { divide: 2, samples: 0.5, ..Self::FINAL };
}

impl Default for Quality {
    fn default() -> Self {
        Self::FINAL
    }
}

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RenderError {
    /// No OpenGL on this machine, and why.
    #[error("no OpenGL 3.3 here: {0}")]
    NoGl(String),
    /// The driver refused something; what, and what it said.
    #[error("OpenGL refused {0}: {1}")]
    Gl(&'static str, String),
    /// More cells along an axis than the driver has texels for.
    #[error("a grid of {0:?} cells does not fit a 3D texture here; the limit is {1} along an axis")]
    TooLarge([usize; 3], usize),
    /// A picture without pixels or with more than the driver can hold.
    #[error("a picture of {0}x{1} pixels cannot be drawn; each side must be 1 to {2}")]
    Size(u32, u32, u32),
}
