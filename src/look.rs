//! Camera, light, medium and tone of a picture, as plain data. A scene file sets them, a renderer reads them.
//! Light is linear; lengths are in metres. Values that no picture can have are refused by the renderers: `problem` names the first.

mod emitters;
mod environment;
mod environment_suns;
mod framing;
mod invalid_look;
pub(crate) mod light_points;
pub(crate) mod srgb;
mod texel_grid;

pub use emitters::{Emitter, Light};
pub use environment::{Environment, Moments, Sphere};
#[cfg(any(test, feature = "viewer"))]
pub(crate) use framing::corners;
#[cfg(feature = "viewer")]
pub(crate) use framing::tight_distance;
pub use invalid_look::InvalidLook;

/// Kind of a camera's projection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CameraProjection {
    /// Rays from the eye: distant objects are smaller.
    #[default]
    Perspective,
    /// Parallel rays: distant objects have the same size, and parallel edges stay parallel. The picture is as
    /// high as a perspective one of the same field of view at the target. Nothing before the eye is cut off.
    Orthographic,
}

/// A camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Position of the eye \[m\].
    pub position: [f32; 3],
    /// Point in the middle of the picture \[m\].
    pub target: [f32; 3],
    /// Up direction of the picture.
    pub up: [f32; 3],
    /// Vertical field of view \[degrees\].
    pub fov: f32,
    /// Perspective or orthographic.
    pub projection: CameraProjection,
    /// Blur by its lens and its shutter.
    pub lens: Lens,
}

impl Camera {
    /// Returns an upright perspective camera that shows everything sharply.
    pub const fn at(position: [f32; 3], target: [f32; 3], fov: f32) -> Self {
        Self {
            position,
            target,
            up: [0.0, 1.0, 0.0],
            fov,
            projection: CameraProjection::Perspective,
            lens: Lens { aperture: 0.0, focus: 0.0, shutter: 0.0 },
        }
    }
}

/// Blur by a lens of finite size, and by an exposure of finite time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lens {
    /// Diameter of the lens \[m\]. Points not at the distance of focus are blurred over a disc. 0: everything
    /// is sharp.
    pub aperture: f32,
    /// Distance at which the picture is sharp \[m\]; 0: that of the target.
    pub focus: f32,
    /// Share of a frame's time during which a picture of a file is exposed, its frame in the middle. 0: an instant. The window shows
    /// an instant.
    pub shutter: f32,
}

/// Model of the scattering of light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scattering {
    /// Single scattering.
    Single,
    /// Multiple scattering by discrete ordinates on a light volume.
    #[default]
    Multiple,
    /// Multiple scattering by path tracing, on the CPU, for stills. OpenGL renders it as `Multiple`.
    Traced,
}

/// Default irradiance of the sun.
const SUN: [f32; 3] = [10.5, 9.7, 8.6];

/// Tone map: the curve from linear radiance to the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToneMap {
    /// AgX with a little contrast and saturation: bright colours turn pale.
    #[default]
    AgX,
    /// The film curve of ACES in Stephen Hill's fit: more contrast.
    Aces,
    /// None: radiance above 1 is cut off.
    Plain,
}

/// Look of a picture, apart from the smoke and the camera.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Single-scattering albedo of the red, green and blue smoke, each as linear R, G, B in 0..1.
    pub colors: [[f32; 3]; 3],
    /// Albedo of each solid, linear R, G, B; solids beyond the list have [`Look::SOLID`].
    pub solids: Vec<[f32; 3]>,
    /// Roughness of each solid, 0..1: below 1 it has a glossy coat. Solids beyond the list are matte, 1.
    pub roughness: Vec<f32>,
    /// Extinction per unit of density \[1/m\].
    pub extinction: f32,
    /// Width over which smoke fades out towards the sides of the box, except the floor, as a share of the
    /// shortest side; no smoke then ends in a plane. 0: no fading.
    pub fade: f32,
    /// Henyey–Greenstein mean cosine g of the phase function, −0.95 (back) to 0.95 (forward).
    pub anisotropy: f32,
    /// Mean cosine of a second lobe, and its share of the scattered light, 0..1. Droplets and ash have a
    /// small backward one.
    pub second_lobe: [f32; 2],
    /// Single scattering, or more.
    pub scattering: Scattering,
    /// Light paths per pixel for [`Scattering::Traced`].
    pub paths: u32,
    /// Standard error at which a traced pixel needs no more paths, as a share of its radiance; 0: it takes all.
    pub noise: f32,
    /// Smooths the noise of a traced picture.
    pub denoise: bool,
    /// Unit vector from the scene towards the sun.
    pub sun_direction: [f32; 3],
    /// Angular diameter of the sun \[degrees\]; below 1 its shadows are as sharp as the light volume.
    pub sun_size: f32,
    /// Irradiance of the sun on a surface that faces it, linear R, G, B.
    pub sun: [f32; 3],
    /// Radiance of the sky straight up, linear R, G, B.
    pub sky: [f32; 3],
    /// Radiance from below the horizon, linear R, G, B.
    pub ground: [f32; 3],
    /// Light from all around in place of sky and ground, if it has a picture.
    pub environment: Environment,
    /// Further lights, at most [`Light::MOST`].
    pub lights: Vec<Light>,
    /// Luminance at 2000 K of opaque hot smoke, which radiates as a black body; 0: no emission.
    pub glow: f32,
    /// Temperature excess that radiates like 2000 K \[K\]; colour and brightness follow from it.
    pub glow_heat: f32,
    /// Exposure in stops: radiance is multiplied by 2^exposure before the tone map.
    pub exposure: f32,
    /// Tone map.
    pub tone: ToneMap,
    /// Background: linear R, G, B at the top and at the bottom of the picture.
    pub background: [[f32; 3]; 2],
    /// Albedo of the floor at y = 0; `None`: no floor.
    pub floor: Option<[f32; 3]>,
    /// Renders the edges of the domain.
    pub outline: bool,
    /// Ray-march samples per cell edge.
    pub samples: f32,
    /// Points of the light volume per cell and axis: 1, 1/2, 1/3 …, the nearest.
    pub light_scale: f32,
}

impl Look {
    /// Default albedo of a solid: light clay.
    pub const SOLID: [f32; 3] = [0.46, 0.43, 0.40];

    /// Largest albedo of a surface whose colour is given as it shows: that of white paint.
    const PALEST: f32 = 0.9;

    /// Returns the albedo of a surface that shows this colour, linear R, G, B as on a screen, where it faces
    /// a white sun of the default irradiance. If an albedo of 0.9 is not enough, the albedo has the same hue
    /// and is as bright as that allows. The tone map compresses luminance about as Y / (1 + 0.95 Y).
    pub fn albedo_shown(color: [f32; 3]) -> [f32; 3] {
        let scale = std::f32::consts::PI / SUN[1] / (1.0 - 0.95 * srgb::luminance(color).clamp(0.0, 1.0));
        let greatest = color.into_iter().fold(0.0, f32::max);
        let scale = scale.min(Self::PALEST / greatest.max(f32::MIN_POSITIVE));
        color.map(|x| (scale * x).max(0.0))
    }

    /// Returns the albedo of the `n`th solid.
    pub fn solid(&self, n: usize) -> [f32; 3] {
        self.solids.get(n).copied().unwrap_or(Self::SOLID)
    }

    /// Returns the roughness of the `n`th solid.
    pub fn roughness(&self, n: usize) -> f32 {
        self.roughness.get(n).copied().unwrap_or(1.0)
    }
}

impl Default for Look {
    fn default() -> Self {
        Self {
            colors: [[0.92, 0.22, 0.14], [0.22, 0.78, 0.30], [0.20, 0.36, 0.92]],
            solids: Vec::new(),
            roughness: Vec::new(),
            extinction: 40.0,
            fade: 0.05,
            anisotropy: 0.3,
            second_lobe: [-0.3, 0.0],
            scattering: Scattering::Multiple,
            paths: 64,
            noise: 0.0,
            denoise: false,
            sun_direction: [0.80, 0.58, 0.16],
            sun_size: 0.5,
            sun: SUN,
            sky: [0.16, 0.22, 0.32],
            ground: [0.07, 0.06, 0.05],
            environment: Environment::default(),
            lights: Vec::new(),
            glow: 0.0,
            glow_heat: 120.0,
            exposure: 0.0,
            tone: ToneMap::AgX,
            background: [[0.012, 0.016, 0.023], [0.055, 0.062, 0.070]],
            floor: Some([0.075, 0.075, 0.078]),
            outline: true,
            samples: 1.0,
            light_scale: 1.0,
        }
    }
}
