//! Pictures without a window: by OpenGL if a graphics processor is available, otherwise on the CPU.

use super::interrupt;
use crate::look::{Environment, Light, Look, Scattering};
use crate::output::exr::Extra;
use crate::render::{CpuRenderer, exposure, sprite};
use crate::render::{Image, LinearImage, Mode, Quality, RenderError, View};
use crate::scene::Scene;
use crate::snapshot::Snapshot;

/// Renders pictures of one size.
pub enum Painter {
    /// With OpenGL.
    #[cfg(feature = "viewer")]
    Gl(Box<crate::render::Offscreen>),
    /// On the CPU.
    Cpu(Box<CpuRenderer>),
}

impl Painter {
    /// Makes a renderer for pictures of `scene`. `cpu` forces the CPU renderer. Any other reason for the CPU
    /// renderer is reported on stderr unless `quiet`.
    pub fn new(scene: &Scene, cpu: bool, quiet: bool) -> Result<Self, RenderError> {
        if cpu || scene.look.scattering == Scattering::Traced {
            return Ok(Self::on_cpu());
        }
        match Self::with_gl(scene) {
            Err(RenderError::NoGl(why)) => {
                if !quiet {
                    super::tell(&format!("updraft: no OpenGL here ({why}); rendering on the CPU"));
                }
                Ok(Self::on_cpu())
            }
            other => other,
        }
    }

    fn on_cpu() -> Self {
        let mut cpu = CpuRenderer::new();
        cpu.set_cancel(interrupt::flag());
        Self::Cpu(Box::new(cpu))
    }

    #[cfg(feature = "viewer")]
    fn with_gl(scene: &Scene) -> Result<Self, RenderError> {
        let [width, height] = scene.size;
        let offscreen = crate::render::Offscreen::new(width, height)?;
        if offscreen.draws_on_processor() {
            // The shaders of a software driver would run on the same threads, and more slowly.
            return Ok(Self::on_cpu());
        }
        tracing::info!("drawing with {}", offscreen.driver());
        Ok(Self::Gl(Box::new(offscreen)))
    }

    #[cfg(not(feature = "viewer"))]
    fn with_gl(_scene: &Scene) -> Result<Self, RenderError> {
        Ok(Self::on_cpu())
    }

    fn set_quality(&mut self, quality: Quality) {
        match self {
            #[cfg(feature = "viewer")]
            Self::Gl(offscreen) => offscreen.set_quality(quality),
            Self::Cpu(cpu) => cpu.set_quality(quality),
        }
    }

    /// Renders `snapshot` with the look and camera of `scene`, exposed as long as its shutter is open.
    pub fn paint(&mut self, snapshot: &Snapshot, scene: &Scene) -> Result<Image, RenderError> {
        let exposure = scene.camera.lens.shutter / scene.time.frame_rate;
        // The lens blurs an environment too, which the shader of the background does not.
        let is_blurred = scene.camera.lens.aperture > 0.0 && scene.look.environment.sphere.is_some();
        if exposure > 0.0 || is_blurred {
            let cameras = exposure::cameras(snapshot, exposure, |time| scene.camera_at(time));
            return Ok(self.paint_linear(snapshot, scene)?.present_moved(&view(scene), &cameras));
        }
        self.set_quality(quality(snapshot, scene));
        match self {
            #[cfg(feature = "viewer")]
            Self::Gl(offscreen) => offscreen.render(snapshot, &view(scene)),
            Self::Cpu(cpu) => {
                let image = cpu.render(snapshot, &view(scene), scene.size, &|_| ())?;
                finished(cpu, scene, image)
            }
        }
    }

    /// Renders the layers of a picture: each light alone, the transmittance, and if the snapshot has its
    /// velocity, the motion of the smoke to the right and up from this frame to the next \[px\].
    pub fn paint_layers(&mut self, snapshot: &Snapshot, scene: &Scene) -> Result<Vec<Extra>, RenderError> {
        let mut layers = layers_of_lights(scene, |shown| self.paint_linear(snapshot, shown))?;
        let bare = Snapshot { solids: Vec::new(), ..snapshot.clone() };
        layers.push(transmittance(&self.paint_linear(&bare, &clear(scene))?));
        if !snapshot.velocity.is_empty() {
            let interval = 1.0 / scene.time.frame_rate;
            let motion = sprite::motion(snapshot, &scene.look, &scene.camera, scene.size, interval);
            layers.push(layer_of_motion(&motion, scene.size));
        }
        Ok(layers)
    }

    /// Renders a picture before background and tone map, exposed as long as its shutter is open.
    pub fn paint_linear(&mut self, snapshot: &Snapshot, scene: &Scene) -> Result<LinearImage, RenderError> {
        let quality = quality(snapshot, scene);
        let exposure = scene.camera.lens.shutter / scene.time.frame_rate;
        if exposure <= 0.0 {
            return self.paint_instant(snapshot, scene, quality);
        }
        let camera_at = |time: f32| scene.camera_at(time);
        exposure::exposed(snapshot, exposure, quality, camera_at, |snapshot, camera, quality| {
            self.paint_instant(snapshot, &Scene { camera: *camera, ..scene.clone() }, quality)
        })
    }

    fn paint_instant(
        &mut self,
        snapshot: &Snapshot,
        scene: &Scene,
        quality: Quality,
    ) -> Result<LinearImage, RenderError> {
        self.set_quality(quality);
        match self {
            #[cfg(feature = "viewer")]
            Self::Gl(offscreen) => offscreen.render_linear(snapshot, &view(scene)),
            Self::Cpu(cpu) => {
                let image = cpu.render_linear(snapshot, &view(scene), scene.size, &|_| ())?;
                finished(cpu, scene, image)
            }
        }
    }
}

/// Returns the layer of each light of `scene`, which `paint` renders with that light alone.
pub fn layers_of_lights<E>(
    scene: &Scene,
    mut paint: impl FnMut(&Scene) -> Result<LinearImage, E>,
) -> Result<Vec<Extra>, E> {
    let mut shown = scene.clone();
    let layers = lights(&scene.look).into_iter().map(|(name, look)| {
        shown.look = look;
        let image = paint(&shown)?;
        let channel = |c: usize| image.rgba.iter().map(|pixel| pixel[c]).collect();
        Ok(Extra { name, channels: vec![("R", channel(0)), ("G", channel(1)), ("B", channel(2))] })
    });
    layers.collect()
}

/// Returns `scene` without floor and outline. Without solids the alpha of its picture is then that of the
/// smoke alone.
pub fn clear(scene: &Scene) -> Scene {
    Scene { look: Look { floor: None, outline: false, ..scene.look.clone() }, ..scene.clone() }
}

/// Returns the layer of the transmittance of the smoke, from a picture of [`clear`] without solids.
pub fn transmittance(image: &LinearImage) -> Extra {
    let passes = image.rgba.iter().map(|pixel| 1.0 - pixel[3]).collect();
    Extra { name: "transmittance", channels: vec![("Y", passes)] }
}

/// Returns the layer of the motion from one frame to the next \[px\]; `motion` is in shares of a picture of
/// this size.
pub fn layer_of_motion(motion: &[[f32; 2]], size: [u32; 2]) -> Extra {
    let [width, height] = size.map(|n| n as f32);
    let across = motion.iter().map(|m| m[0] * width).collect();
    let upwards = motion.iter().map(|m| m[1] * height).collect();
    Extra { name: "motion", channels: vec![("X", across), ("Y", upwards)] }
}

/// Returns the `image` that `cpu` has rendered. Fails if it was traced and a signal came meanwhile, because
/// it may be unfinished.
fn finished<T>(cpu: &CpuRenderer, scene: &Scene, image: T) -> Result<T, RenderError> {
    let is_traced = scene.look.scattering == Scattering::Traced;
    if is_traced && cpu.is_cancelled() { Err(RenderError::Cancelled) } else { Ok(image) }
}

/// Returns `look` without any light.
pub fn dark(look: &Look) -> Look {
    let (lights, environment) = (Vec::new(), Environment::default());
    Look { sun: [0.0; 3], sky: [0.0; 3], ground: [0.0; 3], glow: 0.0, lights, environment, ..look.clone() }
}

/// Returns looks with one light each, by name. Their pictures add up to that of `look`.
fn lights(look: &Look) -> Vec<(&'static str, Look)> {
    // Smoke that glows is lit on other cubes than smoke that does not (docs/light.md). Hardly any glow leaves each light on those of the
    // whole picture.
    let glows = look.glow > 0.0 && look.scattering == Scattering::Multiple;
    let dark = Look { outline: false, glow: if glows { 1e-20 } else { 0.0 }, ..dark(look) };
    let mut lights = vec![
        ("sun", Look { sun: look.sun, ..dark.clone() }),
        (
            "sky",
            Look {
                sky: look.sky,
                ground: look.ground,
                environment: look.environment.clone(),
                ..dark.clone()
            },
        ),
    ];
    if look.glow > 0.0 {
        lights.push(("emission", Look { glow: look.glow, ..dark.clone() }));
    }
    const NAMES: [&str; Light::MOST] =
        ["light1", "light2", "light3", "light4", "light5", "light6", "light7", "light8"];
    for (name, light) in NAMES.into_iter().zip(&look.lights) {
        lights.push((name, Look { lights: vec![*light], ..dark.clone() }));
    }
    lights
}

/// Chooses the quality. Smoke without solids needs fewer passes: it has few hard edges to smooth, those of
/// the box.
pub fn quality(snapshot: &Snapshot, scene: &Scene) -> Quality {
    let quality = Quality::of_file(&scene.camera);
    let few = snapshot.solids.is_empty() && quality == Quality::SMOOTH;
    if few { Quality { passes: 4, ..quality } } else { quality }
}

/// Returns the view of the smoke by the camera of `scene`.
pub fn view(scene: &Scene) -> View<'_> {
    View { look: &scene.look, camera: &scene.camera, cursor: None, mode: Mode::Smoke }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::procedural::{Tint, plume};

    /// Sun, sky, emission and further lights alone add up to the whole picture.
    #[test]
    fn lights_of_layers_add_up_to_the_picture() {
        let light = "[[light]]\npoint = { position = [1.0, 0.6, 1.2] }\nstrength = 1\n";
        for (medium, light, third) in
            [("medium = { glow = 2, glow_heat = 100 }", "", "emission"), ("", light, "light1")]
        {
            add_up(medium, light, third);
        }
    }

    fn add_up(medium: &str, light: &str, third: &str) {
        let text = format!(
            "domain = {{ cells = [24, 32, 24] }}\n[render]\nsize = [32, 24]\noutline = false\n{medium}\n{light}"
        );
        let scene = Scene::parse("s", &text).unwrap();
        let snapshot = plume(scene.config.dims, scene.config.h, Tint::Sectors);
        let mut painter = Painter::on_cpu();
        let whole = painter.paint_linear(&snapshot, &scene).unwrap();
        let layers = painter.paint_layers(&snapshot, &scene).unwrap();
        let names: Vec<&str> = layers.iter().map(|layer| layer.name).collect();
        assert_eq!(names, ["sun", "sky", third, "transmittance", "motion"]);
        let (mut most, mut off) = (0.0_f32, 0.0_f32);
        for (n, pixel) in whole.rgba.iter().enumerate() {
            for c in 0..3 {
                let sum: f32 = layers[..3].iter().map(|layer| layer.channels[c].1[n]).sum();
                assert!(
                    (sum - pixel[c]).abs() < 0.02 * pixel[c] + 1e-3,
                    "{third}, {n}: {sum}, not {}",
                    pixel[c]
                );
                most = most.max(pixel[c]);
                off = off.max((sum - pixel[c]).abs());
            }
        }
        println!("{third}: off by {off} of {most}");
        let passes = &layers[3].channels[0].1;
        assert!(most > 0.1 && passes.iter().any(|&x| x > 0.99) && passes.iter().any(|&x| x < 0.7));
    }

    /// Half floats end at 65,504, suns and skies at 1e6.
    #[test]
    fn the_brightest_lights_leave_finite_pictures() {
        for light in ["sky", "sun"] {
            let text = format!(
                "domain = {{ cells = [24, 32, 24] }}\n[render]\nsize = [32, 24]\nlight.{light} = [1e6, 1e6, 1e6]\n"
            );
            let scene = Scene::parse("s", &text).unwrap();
            let snapshot = plume(scene.config.dims, scene.config.h, Tint::Sectors);
            let image = Painter::on_cpu().paint_linear(&snapshot, &scene).unwrap();
            assert!(image.rgba.as_flattened().iter().all(|x| x.is_finite()), "{light}");
        }
    }

    /// A picture of smoke at rest is the same with an open shutter, and with a lens that has all in focus.
    #[test]
    fn a_still_picture_has_no_motion_blur() {
        let text = "domain = { cells = [24, 32, 24] }\n[render]\nsize = [48, 36]\n";
        let scene = Scene::parse("s", text).unwrap();
        let mut snapshot = plume(scene.config.dims, scene.config.h, Tint::Sectors);
        let mut painter = Painter::on_cpu();
        let sharp = painter.paint(&snapshot, &scene).unwrap();
        let mut exposed = scene.clone();
        exposed.camera.lens.shutter = 0.5;
        let difference = |a: &Image, b: &Image| {
            let squares = a.rgba.iter().zip(&b.rgba).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
            (squares.sum::<f64>() / a.rgba.len() as f64).sqrt()
        };
        snapshot.velocity = vec![[half::f16::ZERO; 4]; snapshot.smoke.len()];
        let still = difference(&painter.paint(&snapshot, &exposed).unwrap(), &sharp);
        assert!(still < 0.5, "{still} levels");
        let fast = [0.0, 40.0 * snapshot.h * scene.time.frame_rate, 0.0, 0.0].map(half::f16::from_f32);
        snapshot.velocity.fill(fast);
        let blurred = difference(&painter.paint(&snapshot, &exposed).unwrap(), &sharp);
        assert!(blurred > 4.0, "{blurred} levels");
        let mut far = scene.clone();
        far.camera.lens.aperture = 0.4;
        let soft = difference(&painter.paint(&snapshot, &far).unwrap(), &sharp);
        assert!(soft > 4.0, "{soft} levels");
    }
}
