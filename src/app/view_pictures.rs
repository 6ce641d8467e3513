//! The pictures of one side of the view. The driver renders them or, where it has no graphics processor, a
//! separate thread. The window never waits long for a picture of that thread: it shows the last one
//! meanwhile.

use std::sync::Arc;
use std::time::Duration;

use glium::backend::Facade;
use glium::framebuffer::SimpleFrameBuffer;
use glium::texture::{ClientFormat, RawImage2d, Texture2d};
use glium::{Display, Frame, Rect};
use glutin::surface::WindowSurface;

use super::canvas::{blit, fit};
use super::pace::Level;
use super::priority::at_low_priority;
use super::settings::Side;
use crate::look::{Camera, Look};
use crate::render::{
    Cursor, FinishedPicture, Mode, PictureRequest, PictureThread, Quantity, Ranges, RenderError, Renderer,
    View,
};
use crate::snapshot::Snapshot;

/// Longest wait for a picture, so that a quick one appears together with its handles.
const BRIEF: Duration = Duration::from_millis(25);

/// The input of a picture.
pub(super) struct Subject<'a> {
    pub snapshot: &'a Arc<Snapshot>,
    pub side: Side,
    pub look: &'a Look,
    pub camera: Camera,
    pub cursor: Option<Cursor>,
    pub mode: Mode,
    pub level: Level,
    /// Whether the picture improves while nothing changes.
    pub refine: bool,
}

/// The pictures of one side.
pub(super) struct Pictures {
    backend: Backend,
    /// The last picture of the thread, or a small one of the driver, which is stretched.
    texture: Option<Texture2d>,
}

enum Backend {
    Driver(Box<Renderer>),
    Thread(Box<Thread>),
}

struct Thread {
    thread: PictureThread,
    /// The picture in the texture, without its bytes.
    last: Option<FinishedPicture>,
}

/// A picture that was finished for this frame of the window.
pub(super) struct Drawn {
    pub level: Level,
    /// Wall time it took \[ms\], if it is known before the frame is sent.
    pub ms: Option<f32>,
}

impl Pictures {
    /// Makes renderer or thread. `wake` is called from another thread when the window can show a new picture.
    pub fn new(
        display: &Display<WindowSurface>,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, RenderError> {
        let gl = display.get_context();
        let backend = match Renderer::prefers_threads(gl) {
            true => Backend::Thread(Box::new(Thread {
                thread: at_low_priority(|| PictureThread::start(wake))?,
                last: None,
            })),
            false => Backend::Driver(Box::new(Renderer::new(gl)?)),
        };
        Ok(Self { backend, texture: None })
    }

    /// Returns the driver's renderer, if it has a graphics processor.
    pub fn driver(&mut self) -> Option<&mut Renderer> {
        match &mut self.backend {
            Backend::Driver(renderer) => Some(renderer),
            Backend::Thread(_) => None,
        }
    }

    /// Hands a snapshot to the driver. `news` tells whether it differs from that of the last call.
    pub fn upload(&mut self, snapshot: &Snapshot, mode: Mode, news: bool) -> Result<(), RenderError> {
        match &mut self.backend {
            Backend::Driver(renderer) if news || renderer.needs_upload(mode) => {
                renderer.upload(snapshot, mode)
            }
            _ => Ok(()),
        }
    }

    /// Returns the level of the shown picture of the thread.
    pub fn level(&self) -> Option<Level> {
        match &self.backend {
            Backend::Driver(_) => None,
            Backend::Thread(thread) => thread.last.as_ref().map(level_of),
        }
    }

    /// Returns the range of the colour scale for the shown snapshot.
    pub fn range(&self, quantity: Quantity) -> [f32; 2] {
        match &self.backend {
            Backend::Driver(renderer) => renderer.range(quantity),
            Backend::Thread(thread) => thread.ranges().range(quantity),
        }
    }

    /// Returns whether the picture needs no further frames of the window to improve.
    pub fn is_settled(&self) -> bool {
        match &self.backend {
            Backend::Driver(renderer) => renderer.is_settled(),
            // The thread improves its picture by itself, and wakes the window.
            Backend::Thread(_) => true,
        }
    }

    /// Puts the newest picture into a part of the window: left, bottom, width and height in pixels. Returns
    /// `None` if it was shown before.
    pub fn draw(
        &mut self,
        display: &Display<WindowSurface>,
        frame: &mut Frame,
        viewport: [u32; 4],
        subject: &Subject,
    ) -> Result<Option<Drawn>, RenderError> {
        let level = subject.level;
        // Stretched lines would be thick: the overlay draws them instead.
        let look = Look { outline: subject.look.outline && level.shrink == 1, ..subject.look.clone() };
        match &mut self.backend {
            Backend::Driver(renderer) => {
                renderer.set_quality(level.quality());
                renderer.set_refine(subject.refine);
                let Subject { camera, cursor, mode, .. } = subject;
                let view = View { look: &look, camera, cursor: *cursor, mode: *mode };
                if level.shrink == 1 {
                    renderer.draw(frame, viewport, &view)?;
                } else {
                    let small = [viewport[2], viewport[3]].map(|n| n.div_ceil(level.shrink));
                    let texture = fit(&mut self.texture, display, small, "a texture for the small view")?;
                    let mut surface = SimpleFrameBuffer::new(display, texture)
                        .map_err(|e| RenderError::Gl("the small view", e.to_string()))?;
                    renderer.draw(&mut surface, [0, 0, small[0], small[1]], &view)?;
                    blit(&surface, small, frame, viewport);
                }
                Ok(Some(Drawn { level, ms: None }))
            }
            Backend::Thread(thread) => {
                let size = [viewport[2], viewport[3]].map(|n| n.div_ceil(level.shrink));
                let picture = thread.newest(look, subject, size)?;
                let drawn =
                    picture.as_ref().map(|picture| Drawn { level: level_of(picture), ms: Some(picture.ms) });
                if let Some(picture) = picture {
                    let texture = fit(&mut self.texture, display, picture.size, "a texture for the picture")?;
                    thread.upload(texture, picture);
                }
                if let Some(texture) = &self.texture {
                    let surface = SimpleFrameBuffer::new(display, texture)
                        .map_err(|e| RenderError::Gl("the picture", e.to_string()))?;
                    blit(&surface, texture.dimensions().into(), frame, viewport);
                }
                Ok(drawn)
            }
        }
    }
}

impl Thread {
    fn ranges(&self) -> Ranges {
        self.last.as_ref().map_or_else(Ranges::default, |picture| picture.ranges)
    }

    /// Requests a picture and waits briefly for it. Returns one that has not been shown yet.
    fn newest(
        &self,
        look: Look,
        subject: &Subject,
        size: [u32; 2],
    ) -> Result<Option<FinishedPicture>, RenderError> {
        let is_new = self.thread.request(PictureRequest {
            snapshot: subject.snapshot.clone(),
            beside: subject.side == Side::B,
            look,
            camera: subject.camera,
            cursor: subject.cursor,
            mode: subject.mode,
            quality: subject.level.quality(),
            size,
            refine: subject.refine,
            tag: [subject.level.shrink, subject.level.divide, u32::from(subject.level.splines)],
        })?;
        if is_new {
            self.thread.wait(BRIEF);
        }
        self.thread.take()
    }

    fn upload(&mut self, texture: &Texture2d, picture: FinishedPicture) {
        let [width, height] = picture.size;
        let data = picture.bytes.as_flattened().into();
        let whole = Rect { left: 0, bottom: 0, width, height };
        texture.write(whole, RawImage2d { data, width, height, format: ClientFormat::U8U8U8U8 });
        self.last = Some(FinishedPicture { bytes: Vec::new(), ..picture });
    }
}

fn level_of(picture: &FinishedPicture) -> Level {
    let [shrink, divide, splines] = picture.tag;
    Level { shrink, divide, splines: splines != 0 }
}
