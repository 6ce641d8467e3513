//! The renderer in OpenGL 3.3, through glium: the same code in a window and without a display.
//!
//! A picture has these passes: **scene** (floor, solids), lines behind the smoke, **march** at full size or a
//! fraction, **composite** of the two, lines in front of the smoke, the **cursor**, and **present**
//! (background, tone map, bytes). All but the last use linear radiance in the renderer's own textures, so the
//! bytes do not depend on the driver's colour space of the window.

mod accumulation;
mod constants;
mod environment_texture;
mod floor_texture;
mod grid;
mod inputs;
mod lamp_textures;
mod mean;
mod mesh;
mod offscreen;
mod pass;
mod picture_thread;
mod programs;
mod smoke_texture;
mod solids;
#[cfg(not(target_vendor = "apple"))]
mod surfaceless;
mod targets;
mod timing;
mod volume_texture;

use std::collections::BTreeMap;
use std::rc::Rc;

use glium::backend::Context;
use glium::draw_parameters::{Blend, BlendingFunction, LinearBlendingFactor};
use glium::framebuffer::{MultiOutputFrameBuffer, SimpleFrameBuffer};
use glium::texture::{Texture2d, UncompressedFloatFormat};
use glium::uniforms::UniformValue;
use glium::{DrawParameters, Rect, Surface};
use half::f16;

use super::camera::{Axes, FAR};
use super::cpu::halves;
use super::flow::{self, Flow};
use super::lines::{self, Line};
use super::lit_smoke::LitSmoke;
use super::medium::Medium;
use super::quantity::{Quantity, THICKNESS};
use super::slice::{self, Slice};
use super::{Mode, Quality, RenderError, View, noise};
use crate::grid::Dims;
use crate::look::Look;
use crate::snapshot::{BRICK, Part, Snapshot};

use accumulation::{Accumulation, Frame, Subject};
use environment_texture::EnvironmentTexture;
use floor_texture::Floor;
use grid::Grid;
use inputs::Inputs;
use lamp_textures::Lamps;
use mesh::LineMesh;
pub use offscreen::Offscreen;

#[cfg(target_vendor = "apple")]
mod surfaceless {
    use std::rc::Rc;

    use glium::backend::Context;

    use crate::render::RenderError;

    /// Fails: Apple's systems have no EGL, and callers then render on CPU threads.
    pub fn surfaceless_context() -> Result<Rc<Context>, RenderError> {
        Err(RenderError::NoGl("this system has no OpenGL without a window".into()))
    }
}
use pass::{Timers, averaging, blend, paint, refused};
pub use picture_thread::{FinishedPicture, PictureRequest, PictureThread};
use programs::Programs;
use smoke_texture::Smoke;
use solids::Solids;
use targets::Targets;
pub use timing::{Timing, measure};
use volume_texture::Volume;

/// Renders snapshots. There is one for each GL context, on the thread of that context. [`PictureThread`] is
/// faster where the context [prefers threads](Self::prefers_threads).
pub struct Renderer {
    gl: Rc<Context>,
    programs: Programs,
    noise: Texture2d,
    lit: LitSmoke,
    smoke: Smoke,
    floor: Floor,
    light: Volume,
    /// The eye of `light`, and whether it is for splines; `None` if the light volume has changed since.
    light_for: Option<([f32; 3], bool)>,
    light_texels: Vec<[f16; 4]>,
    /// φ and J of red, green and blue, for solids.
    diffuse: [Volume; 3],
    within: [Volume; 3],
    /// Optical depth of the smoke towards the sun, for solids.
    depths: Volume,
    lamps: Lamps,
    environment: EnvironmentTexture,
    velocity: Volume,
    velocity_values: Vec<[f16; 4]>,
    solids: Solids,
    grid: Grid,
    targets: Option<Targets>,
    passes: Accumulation,
    /// Shift of the rays within their pixels, from the middle \[pixels\].
    shift: [f32; 2],
    quality: Quality,
    refine: bool,
    timers: Timers,
}

impl Renderer {
    /// Compiles the passes.
    pub fn new(gl: &Rc<Context>) -> Result<Self, RenderError> {
        let one = Dims { nx: 1, ny: 1, nz: 1 };
        let volume = || Volume::new(gl, one);
        let mut renderer = Self {
            gl: gl.clone(),
            programs: Programs::new(gl)?,
            noise: noise_texture(gl)?,
            lit: LitSmoke::default(),
            smoke: Smoke::new(gl)?,
            floor: Floor::new(gl)?,
            light: volume()?,
            light_for: None,
            light_texels: Vec::new(),
            diffuse: [volume()?, volume()?, volume()?],
            within: [volume()?, volume()?, volume()?],
            depths: volume()?,
            lamps: Lamps::new(gl)?,
            environment: EnvironmentTexture::new(gl)?,
            velocity: volume()?,
            velocity_values: Vec::new(),
            solids: Solids::new(gl)?,
            grid: Grid::empty(),
            targets: None,
            passes: Accumulation::default(),
            shift: [0.0; 2],
            quality: Quality::default(),
            timers: Timers::new(gl),
            refine: true,
        };
        renderer.upload(&Snapshot::empty(one, 1.0), Mode::Smoke)?;
        Ok(renderer)
    }

    /// Sets the quality of future pictures.
    pub fn set_quality(&mut self, quality: Quality) {
        self.quality = Quality { divide: quality.divide.clamp(1, 8), ..quality };
    }

    /// Returns the quality of the pictures.
    pub fn quality(&self) -> Quality {
        self.quality
    }

    /// Times each pass by the driver from now on, if it supports that.
    pub fn time_passes(&mut self) {
        self.timers.run();
    }

    /// Returns the driver times of the passes since the last call \[ms\], by name; waits for them. Empty if
    /// the driver did not time them.
    pub fn pass_times(&mut self) -> BTreeMap<&'static str, f64> {
        self.timers.take()
    }

    /// Restarts the average, as after a motion.
    pub fn forget_passes(&mut self) {
        self.passes.of = None;
    }

    /// Sets whether rendering the same view again improves the picture, or only reuses it. Without
    /// refinement, moving the cursor over smoke at rest needs no march.
    pub fn set_refine(&mut self, refine: bool) {
        self.refine = refine;
    }

    /// Returns whether the driver of a context has no graphics processor: CPU threads then render faster.
    pub fn prefers_threads(gl: &Context) -> bool {
        smoke_texture::draws_on_processor(gl.get_opengl_renderer_string())
    }

    /// Returns whether rendering the same view again would not improve the picture.
    pub fn is_settled(&self) -> bool {
        self.passes.is_settled()
    }

    /// Sets the nodes of the light volume per cell and axis, from the next upload on. [`Renderer::draw`] sets
    /// it from its look, so a change takes effect with the next snapshot. Callers that know the look before
    /// the upload can set it here.
    pub fn set_light_scale(&mut self, scale: f32) {
        self.lit.light.set_scale(scale);
    }

    /// Returns the ends of a slice's colour scale for the last uploaded snapshot, if its range is `None`.
    pub fn range(&self, quantity: Quantity) -> [f32; 2] {
        self.grid.ranges.range(quantity)
    }

    /// Returns whether the snapshot must be uploaded again before it can be rendered in `mode`: an upload
    /// omits data that its mode and quality do not need.
    pub fn needs_upload(&self, mode: Mode) -> bool {
        let other_light = mode.shows_smoke() && self.lit.light.is_fine() != self.quality.fine_light;
        self.smoke.needs_upload(mode) || other_light
    }

    /// Uploads a snapshot, for pictures in `mode` and of the present quality.
    ///
    /// # Errors
    /// If the snapshot's arrays do not fit its box, or if the driver refuses it. The values of its cells are
    /// not checked.
    pub fn upload(&mut self, snapshot: &Snapshot, mode: Mode) -> Result<(), RenderError> {
        snapshot.problem_of_shape().map_or(Ok(()), |problem| Err(RenderError::from(problem)))?;
        self.smoke.upload(snapshot, mode)?;
        self.velocity_values.clone_from(&snapshot.velocity);
        if !snapshot.velocity.is_empty() {
            self.velocity.fill(snapshot.dims, &snapshot.velocity)?;
        }
        self.grid = Grid::of(snapshot);
        self.lit.gather(&Part::of(snapshot), self.quality);
        self.solids.set(self.lit.light.solids())?;
        self.passes.of = None;
        Ok(())
    }

    /// Renders one frame of the snapshot into a part of `target`: `viewport` is left, bottom, width and
    /// height in pixels. While nothing changes, each frame improves the mean of all so far.
    pub fn draw(
        &mut self,
        target: &mut impl Surface,
        viewport: [u32; 4],
        view: &View,
    ) -> Result<(), RenderError> {
        view.problem().map_or(Ok(()), |problem| Err(RenderError::from(problem)))?;
        let stage = self.grid.stage;
        stage.localize(view, |view| {
            self.draw_linear([viewport[2], viewport[3]], view)?;
            self.present(target, viewport, view)
        })
    }

    /// Renders the number of frames of the quality into a part of `target`.
    pub fn draw_finished(
        &mut self,
        target: &mut impl Surface,
        viewport: [u32; 4],
        view: &View,
    ) -> Result<(), RenderError> {
        view.problem().map_or(Ok(()), |problem| Err(RenderError::from(problem)))?;
        let stage = self.grid.stage;
        stage.localize(view, |view| {
            self.draw_mean([viewport[2], viewport[3]], view)?;
            self.present(target, viewport, view)
        })
    }

    fn present(&self, target: &mut impl Surface, viewport: [u32; 4], view: &View) -> Result<(), RenderError> {
        let [left, bottom, width, height] = viewport;
        let parameters = DrawParameters {
            viewport: Some(Rect { left, bottom, width, height }),
            ..DrawParameters::default()
        };
        let targets = self.targets.as_ref().expect("made by draw_linear");
        let inputs = Inputs::default()
            .picture("scene", &targets.scene)
            .picture("noise", &self.noise)
            .vec3("background_top", view.look.background[0])
            .vec3("background_bottom", view.look.background[1])
            .vec2("corner", [left as f32, bottom as f32])
            .float("exposure", view.look.exposure.exp2())
            .with("tone_map", UniformValue::SignedInt(view.look.tone as i32));
        let inputs = self.environment.inputs(inputs, view, targets.size);
        self.timers.screen_pass(target, &self.programs.present, &inputs, &parameters, "present")
    }

    /// Renders linear radiance into the target of the scene, without the cursor. The march uses the offsets
    /// of `frame`; without a frame the last march is reused.
    fn draw_picture(&mut self, size: [u32; 2], view: &View, frame: Option<Frame>) -> Result<(), RenderError> {
        self.bake(view.look);
        self.upload_light(view)?;
        self.environment.upload(view.look)?;
        if view.mode.shows_smoke() {
            self.smoke.upload_shown(&mut self.lit, view.look, self.quality)?;
        }
        let axes = Axes::of(view.camera, size[0] as f32 / size[1] as f32)
            .through_lens(view.camera, frame.map_or(0, |frame| frame.number));
        let inputs = self.shared_inputs(view, &axes.shifted(self.shift, size));
        let window = self.window(view.mode, &axes, size);
        let targets = self.targets.as_ref().expect("made by fit");
        let [behind, before] = self.lines(view, &axes);
        self.draw_scene(targets, &inputs, view)?;
        let space = Space {
            clip: axes.clip_from_world().into(),
            edge: if axes.parallel { [1e-6; 2] } else { [axes.right.norm(), axes.up.norm()] },
        };
        self.draw_lines(targets, space, lines::WIDTH, &behind)?;
        if let Some(window) = window {
            if let Some(frame) = frame {
                self.draw_march(targets, &inputs, view, frame, window)?;
            }
            self.draw_composite(targets, window)?;
        }
        if let Mode::Slice(slice) = view.mode {
            self.draw_slice(targets, &inputs, slice)?;
        }
        if let Some(quantity) = view.mode.glowing().filter(|_| self.grid.has_velocity) {
            self.draw_legend(targets, self.grid.ranges.range(quantity), quantity)?;
        }
        let flow = Flow::new(self.grid.dims, self.grid.h, &self.velocity_values, &self.grid.ranges);
        for lines in [&flow::lines(&flow, view.mode, &axes, size), &before] {
            self.draw_lines(targets, space, lines::WIDTH, lines)?;
        }
        Ok(())
    }

    /// Reads radiance, alpha and distance of each pixel of the last picture, rows from the top.
    fn read_linear(&self, view: &View) -> (Vec<[f32; 4]>, Vec<f32>) {
        let targets = self.targets.as_ref().expect("something was drawn");
        let pixels = read_floats(&targets.scene).map(|[r, g, b, clear]| [r, g, b, 1.0 - clear]);
        // Parallel rays start behind the camera.
        let back = Axes::of(view.camera, 1.0).back;
        let depth = |t_max: f32| if t_max < FAR { t_max - back } else { FAR };
        let t_maxima = read_floats(&targets.t_maxima).map(|[t_max, ..]| depth(t_max));
        (pixels.collect(), t_maxima.collect())
    }

    fn subject(&self, size: [u32; 2], view: &View) -> Subject {
        Subject {
            look: view.look.clone(),
            camera: *view.camera,
            mode: view.mode,
            serial: self.grid.serial,
            size,
            quality: self.quality,
        }
    }

    /// Returns the part of the picture that the volume may cover \[pixels\]; `None` if it is empty.
    fn window(&self, mode: Mode, axes: &Axes, size: [u32; 2]) -> Option<Rect> {
        let bounds = self.bounds(mode);
        let missing = !mode.shows_smoke() && !self.grid.has_velocity;
        if missing || matches!(mode, Mode::Slice(_)) || bounds[0][0] > bounds[1][0] {
            return None;
        }
        let [lo, hi] = axes.window(bounds[0], bounds[1])?;
        let down = |uv: f32, n: u32| ((uv * n as f32) as u32).saturating_sub(1);
        let up = |uv: f32, n: u32| ((uv * n as f32).ceil() as u32 + 1).min(n);
        let (left, bottom) = (down(lo[0], size[0]), down(lo[1], size[1]));
        let (right, top) = (up(hi[0], size[0]), up(hi[1], size[1]));
        Some(Rect { left, bottom, width: right.saturating_sub(left), height: top.saturating_sub(bottom) })
    }

    /// Returns the bounding box of the volume \[m\].
    fn bounds(&self, mode: Mode) -> [[f32; 3]; 2] {
        if mode.shows_smoke() { self.smoke.bounds(self.quality) } else { [[0.0; 3], self.grid.extent()] }
    }

    /// Makes textures of the right size.
    fn fit(&mut self, size: [u32; 2]) -> Result<(), RenderError> {
        let divide = self.quality.divide;
        if self.targets.as_ref().is_none_or(|t| t.size != size || t.divide != divide) {
            self.targets = Some(Targets::new(&self.gl, size, divide)?);
            self.passes.of = None;
        }
        Ok(())
    }

    /// Updates the light volume.
    fn bake(&mut self, look: &Look) {
        self.set_light_scale(look.light_scale);
        if self.lit.illuminate(look) {
            self.light_for = None;
        }
    }

    /// Uploads the light volume towards the eye of a view.
    fn upload_light(&mut self, view: &View) -> Result<(), RenderError> {
        let eye = Axes::of(view.camera, 1.0).eye.into();
        let wanted = (eye, self.quality.splines);
        if self.light_for == Some(wanted) {
            return Ok(());
        }
        let (light, medium) = (&self.lit.light, Medium::of(view.look, self.grid.extent()));
        light.towards(eye, &medium, self.quality.splines, &mut self.light_texels);
        self.light.fill(light.points, &self.light_texels)?;
        if !self.solids.is_empty() {
            self.depths.fill(light.points, &light.depths())?;
            for (channel, volumes) in self.diffuse.iter_mut().zip(&mut self.within).enumerate() {
                for (volume, (dims, moments)) in
                    <[_; 2]>::from(volumes).into_iter().zip(light.moments(channel))
                {
                    volume.fill(dims, &moments)?;
                }
            }
        }
        self.floor.upload(&self.lit.floor, &medium)?;
        self.lamps.upload(light, &self.lit.floor, !self.solids.is_empty())?;
        self.light_for = Some(wanted);
        Ok(())
    }

    /// Returns the inputs of most passes.
    fn shared_inputs<'t>(&self, view: &View, axes: &Axes) -> Inputs<'t> {
        let grid = &self.grid;
        let medium = Medium::of(view.look, grid.extent());
        let cursor = view.cursor.map_or([0.0; 4], |c| [c.center[0], c.center[1], c.center[2], c.radius]);
        Inputs::default()
            .vec3("camera", axes.eye.into())
            .float("parallel", f32::from(u8::from(axes.parallel)))
            .vec3("forward", axes.forward.into())
            .vec3("right", axes.right.into())
            .vec3("up", axes.up.into())
            .vec3("extent", grid.extent())
            .vec3("stage", [grid.stage.middle()[0], grid.stage.middle()[1], grid.stage.side()])
            .vec3("light_nodes", self.light.dims().array().map(|n| n as f32))
            .float("light_spacing", self.lit.light.spacing)
            .vec3("sun_direction", medium.sun_direction)
            .vec3("sun", medium.sun)
            .vec3("sky", medium.sky)
            .vec3("ground", medium.ground)
            .float("extinction", medium.extinction)
            .with("colors", UniformValue::Mat3(medium.colors))
            .vec3("lobes", [medium.lobes[0], medium.lobes[1], medium.second_share])
            .float("glow", medium.glow[0])
            .float("fade", medium.fade)
            .float("dt", grid.h / self.quality.samples(view.look, self.grid.dims, self.grid.h))
            .vec4("cursor", cursor)
            .vec3("cursor_color", view.cursor.map_or([0.0; 3], |c| c.color))
            .vec3("floor_albedo", view.look.floor.unwrap_or([-1.0; 3]))
    }

    fn draw_scene(&self, targets: &Targets, inputs: &Inputs, view: &View) -> Result<(), RenderError> {
        let outputs = [("radiance", &targets.scene), ("t_max", &targets.t_maxima)];
        let mut surface =
            MultiOutputFrameBuffer::new(&self.gl, outputs).map_err(|e| refused("the scene's target", e))?;
        let (cubes, edge) = self.lit.light.surface_cubes();
        let inputs = inputs
            .clone()
            .volume("light", self.light.texture())
            .volume("diffuse_red", self.diffuse[0].texture())
            .volume("diffuse_green", self.diffuse[1].texture())
            .volume("diffuse_blue", self.diffuse[2].texture())
            .volume("within_red", self.within[0].texture())
            .volume("within_green", self.within[1].texture())
            .volume("within_blue", self.within[2].texture())
            .volume("depths", self.depths.texture())
            .vec3("sun_scale", self.lit.light.sun_scale())
            .float("diffuse_off", edge * super::light::OFF)
            .float("sun_radius", (0.5 * view.look.sun_size.clamp(0.0, 90.0)).to_radians())
            .vec3("diffuse_size", cubes.array().map(|n| n as f32 * edge));
        let inputs = self.solids.inputs(inputs, view.look);
        let inputs = self.floor.inputs(inputs, &self.lit.floor, view.mode.shows_smoke());
        let inputs = self.lamps.inputs(inputs, view.mode.shows_smoke()).picture("noise", &self.noise);
        let splines = self.quality.splines && !self.solids.is_empty();
        let variant = [!self.solids.is_empty(), !self.lamps.is_empty(), splines];
        let program = self.programs.scene(&self.gl, variant)?;
        self.timers.screen_pass(&mut surface, program, &inputs, &DrawParameters::default(), "scene")
    }

    /// Marches with the offsets of `frame` and averages with the earlier frames.
    fn draw_march(
        &self,
        targets: &Targets,
        inputs: &Inputs,
        view: &View,
        frame: Frame,
        window: Rect,
    ) -> Result<(), RenderError> {
        let inputs = inputs
            .clone()
            .picture("t_maxima", &targets.t_maxima)
            .vec2("marched_size", targets.marched_size())
            .picture("noise", &self.noise)
            .float("noise_shift", noise::frame_shift(frame.number));
        let (program, inputs) = match view.mode {
            mode if mode.shows_smoke() => {
                let (dims, h) = (self.grid.dims, self.grid.h);
                let halves = halves(self.quality.samples(view.look, dims, h), h, self.lit.light.spacing);
                let variant = [view.look.glow > 0.0, self.quality.splines, halves];
                (self.programs.march(&self.gl, variant)?, self.march_inputs(inputs, view))
            }
            _ => (&self.programs.field, self.field_inputs(inputs, view.mode)),
        };
        let step = targets.divide;
        // One texel more on all sides, for the interpolation of a march at a fraction of the size.
        let first = |n: u32| (n / step).saturating_sub(1);
        let count = |from: u32, n: u32| (from + n).div_ceil(step) + 1 - first(from);
        let scissor = Rect {
            left: first(window.left),
            bottom: first(window.bottom),
            width: count(window.left, window.width),
            height: count(window.bottom, window.height),
        };
        let parameters = DrawParameters {
            blend: averaging(frame.weight),
            scissor: Some(scissor),
            ..DrawParameters::default()
        };
        let mut surface = self.surface(&targets.marched)?;
        self.timers.screen_pass(&mut surface, program, &inputs, &parameters, "march")
    }

    fn march_inputs<'t>(&'t self, inputs: Inputs<'t>, view: &View) -> Inputs<'t> {
        let grid = &self.grid;
        let bounds = self.bounds(Mode::Smoke);
        let floor = if self.quality.bricks { 0.0 } else { -1.0 };
        inputs
            .float("march_extinction", view.mode.smoke_share() * view.look.extinction.max(0.0))
            .volume("smoke", self.smoke.texture().texture())
            .volume("bricks", self.smoke.bricks().texture())
            .volume("light", self.light.texture())
            .vec3("brick_size", [BRICK as f32 * grid.h; 3])
            .float("brick_floor", floor)
            .vec3("bounds_lo", bounds[0])
            .vec3("bounds_hi", bounds[1])
    }

    fn field_inputs<'t>(&'t self, inputs: Inputs<'t>, mode: Mode) -> Inputs<'t> {
        let grid = &self.grid;
        let vorticity = mode == Mode::Vorticity;
        let quantity = mode.glowing().unwrap_or(Quantity::Speed);
        let [_, top] = grid.ranges.range(quantity);
        let longest = grid.extent().into_iter().fold(0.0, f32::max);
        inputs
            .volume("velocity", self.velocity.texture())
            .float("vorticity", f32::from(u8::from(vorticity)))
            .float("top", top)
            .float("thickness", THICKNESS / longest)
    }

    fn draw_composite(&self, targets: &Targets, window: Rect) -> Result<(), RenderError> {
        // The floor is a side of the box: it ends no ray inside.
        let smooth = self.solids.is_empty();
        let inputs = Inputs::default()
            .picture("t_maxima", &targets.t_maxima)
            .vec2("marched_size", targets.marched_size());
        let inputs = match smooth {
            true => inputs.smooth_picture("marched", &targets.marched),
            false => inputs.picture("marched", &targets.marched),
        };
        let over = BlendingFunction::Addition {
            source: LinearBlendingFactor::One,
            destination: LinearBlendingFactor::SourceAlpha,
        };
        let clear = BlendingFunction::Addition {
            source: LinearBlendingFactor::Zero,
            destination: LinearBlendingFactor::SourceAlpha,
        };
        let blend = Blend { alpha: clear, ..blend(over) };
        let parameters = DrawParameters { blend, scissor: Some(window), ..DrawParameters::default() };
        let program = match (targets.divide, smooth) {
            (1, _) => &self.programs.overlay,
            (_, true) => &self.programs.smooth,
            (_, false) => &self.programs.composite,
        };
        let mut surface = self.surface(&targets.scene)?;
        self.timers.screen_pass(&mut surface, program, &inputs, &parameters, "composite")
    }

    /// Renders the plane of a slice and its legend.
    fn draw_slice(&self, targets: &Targets, inputs: &Inputs, slice: Slice) -> Result<(), RenderError> {
        let quantity = slice.quantity;
        if quantity.needs_velocity() && !self.grid.has_velocity {
            return Ok(());
        }
        let range = slice.range.unwrap_or_else(|| self.grid.ranges.range(quantity));
        let axis = slice.axis.min(2);
        let inputs = inputs
            .clone()
            .volume("smoke", self.smoke.texture().texture())
            .volume("velocity", self.velocity.texture())
            .picture("t_maxima", &targets.t_maxima)
            .vec4("of_smoke", quantity.of_smoke())
            .vec4("of_flow", quantity.of_flow())
            .float("of_speed", f32::from(u8::from(quantity == Quantity::Speed)))
            .vec2("range", range)
            .with("axis", UniformValue::SignedInt(axis as i32))
            .float("place", slice.position.clamp(0.0, 1.0) * self.grid.extent()[axis])
            .float("clear", slice::CLEAR);
        let parameters = DrawParameters { blend: paint(), ..DrawParameters::default() };
        let mut surface = self.surface(&targets.scene)?;
        self.timers.screen_pass(&mut surface, &self.programs.slice, &inputs, &parameters, "slice")?;
        self.draw_legend(targets, range, quantity)
    }

    /// Renders the colour scale of a quantity.
    fn draw_legend(&self, targets: &Targets, range: [f32; 2], quantity: Quantity) -> Result<(), RenderError> {
        let [bar, marks] = slice::legend(range, quantity.unit(), targets.size);
        let screen = Space { clip: nalgebra::Matrix4::identity().into(), edge: [0.0; 2] };
        self.draw_lines(targets, screen, slice::BAR, &bar)?;
        self.draw_lines(targets, screen, lines::WIDTH, &marks)
    }

    fn draw_lines(
        &self,
        targets: &Targets,
        space: Space,
        width: f32,
        lines: &[Line],
    ) -> Result<(), RenderError> {
        if lines.is_empty() {
            return Ok(());
        }
        let mesh = LineMesh::new(&self.gl, lines)?;
        let inputs = Inputs::default()
            .with("clip_from_world", UniformValue::Mat4(space.clip))
            .vec2("viewport", targets.size.map(|n| n as f32))
            .float("width", width)
            .vec2("edge", space.edge)
            .picture("t_maxima", &targets.t_maxima);
        let parameters = DrawParameters { blend: paint(), ..DrawParameters::default() };
        let mut surface = self.surface(&targets.scene)?;
        surface
            .draw(&mesh.vertices, &mesh.indices, &self.programs.line, &inputs, &parameters)
            .map_err(|e| refused("the lines", e))
    }

    /// Renders the cursor over the target of the scene.
    fn draw_cursor(&self, size: [u32; 2], view: &View) -> Result<(), RenderError> {
        if view.cursor.is_none() {
            return Ok(());
        }
        let targets = self.targets.as_ref().expect("something was drawn");
        let inputs = self.shared_inputs(view, &Axes::of(view.camera, size[0] as f32 / size[1] as f32));
        let inputs = inputs
            .clone()
            .volume("smoke", self.smoke.texture().texture())
            .picture("t_maxima", &targets.t_maxima);
        let parameters = DrawParameters { blend: paint(), ..DrawParameters::default() };
        let mut surface = self.surface(&targets.scene)?;
        self.timers.screen_pass(&mut surface, &self.programs.cursor, &inputs, &parameters, "cursor")
    }

    /// Returns the lines behind the smoke and those in front of it.
    fn lines(&self, view: &View, axes: &Axes) -> [Vec<Line>; 2] {
        if !view.look.outline {
            return [Vec::new(), Vec::new()];
        }
        lines::box_edges(self.grid.extent(), axes.eye.into(), lines::OUTLINE)
    }

    fn surface<'t>(&self, texture: &'t Texture2d) -> Result<SimpleFrameBuffer<'t>, RenderError> {
        SimpleFrameBuffer::new(&self.gl, texture).map_err(|e| refused("a texture to draw into", e))
    }
}

/// Coordinate space of lines.
#[derive(Clone, Copy)]
struct Space {
    /// Matrix to clip space.
    clip: [[f32; 4]; 4],
    /// Extent of the picture to the right and up at distance 1, almost 0 if its rays are parallel; zeros if
    /// the lines are never hidden.
    edge: [f32; 2],
}

fn noise_texture(gl: &Rc<Context>) -> Result<Texture2d, RenderError> {
    let size = noise::TILE as u32;
    let texture = targets::new_texture(gl, UncompressedFloatFormat::F32, [size; 2])?;
    let image = glium::texture::RawImage2d {
        data: std::borrow::Cow::Borrowed(noise::tile().as_slice()),
        width: size,
        height: size,
        format: glium::texture::ClientFormat::F32,
    };
    texture.write(Rect { left: 0, bottom: 0, width: size, height: size }, image);
    Ok(texture)
}

/// Reads all texels as floats, rows from the top.
fn read_floats(texture: &Texture2d) -> impl Iterator<Item = [f32; 4]> {
    // SAFETY: the textures are RGBA16F or R32F, which GL converts to four floats for each texel, and a row of
    // those needs no padding.
    #[allow(unsafe_code)]
    let rows: Vec<Vec<(f32, f32, f32, f32)>> = unsafe { texture.unchecked_read() };
    rows.into_iter().rev().flatten().map(|(r, g, b, a)| [r, g, b, a])
}
