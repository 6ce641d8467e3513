//! Pictures on a separate thread, for windows whose driver has no graphics processor. A window that requests
//! a picture does not wait, and shows the last one until the next is ready.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::accumulation::{Accumulation, Frame, Subject};
use crate::look::{Camera, Look};
use crate::render::cpu::{self, Contents, Integrator, Picture};
use crate::render::lit_smoke::LitSmoke;
use crate::render::preshaded::Cells;
use crate::render::stage::Stage;
use crate::render::{Cursor, Mode, Quality, Ranges, RenderError, View, noise};
use crate::simd::token;
use crate::snapshot::{Part, Snapshot};

/// All inputs of a picture.
#[derive(Clone, Debug)]
pub struct PictureRequest {
    /// The smoke.
    pub snapshot: Arc<Snapshot>,
    /// Whether to show the simulation beside it instead.
    pub beside: bool,
    /// Light, medium and tone.
    pub look: Look,
    /// Camera.
    pub camera: Camera,
    /// The 3D cursor, if it is shown.
    pub cursor: Option<Cursor>,
    /// Content of the picture.
    pub mode: Mode,
    /// Quality.
    pub quality: Quality,
    /// Width and height \[px\].
    pub size: [u32; 2],
    /// Whether the picture improves while it is not replaced.
    pub refine: bool,
    /// Tag that is returned with the picture.
    pub tag: [u32; 3],
}

impl PictureRequest {
    fn snapshot(&self) -> &Snapshot {
        match &self.snapshot.beside {
            Some(beside) if self.beside => beside,
            _ => &self.snapshot,
        }
    }

    fn check(&self) -> Result<(), RenderError> {
        let Self { look, camera, cursor, mode, .. } = self;
        View { look, camera, cursor: *cursor, mode: *mode }.check(self.size, cpu::MOST_PIXELS)?;
        self.snapshot().problem_of_shape().map_or(Ok(()), |problem| Err(problem.into()))
    }

    /// Returns whether both show the same instant of the same simulation.
    fn shows_same_smoke(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.snapshot, &other.snapshot)
            && self.snapshot.serial == other.snapshot.serial
            && self.beside == other.beside
    }

    fn is_same(&self, other: &Self) -> bool {
        self.shows_same_smoke(other)
            && (self.mode, self.quality, self.size) == (other.mode, other.quality, other.size)
            && (self.camera, self.cursor, self.refine, self.tag)
                == (other.camera, other.cursor, other.refine, other.tag)
            && self.look == other.look
    }
}

/// A finished picture.
#[derive(Clone, Debug)]
pub struct FinishedPicture {
    /// Red, green, blue and alpha of each pixel, sRGB-encoded, rows from the bottom.
    pub bytes: Vec<[u8; 4]>,
    /// Width and height \[px\].
    pub size: [u32; 2],
    /// Tag of its request.
    pub tag: [u32; 3],
    /// Ranges of the snapshot's quantities.
    pub ranges: Ranges,
    /// Wall time it took \[ms\].
    pub ms: f32,
}

/// Renders the newest request on a thread, and improves its picture while there is no other. Dropping it ends
/// a long picture, or waits for a quick one.
pub struct PictureThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<QueueState>,
    /// Signals a change of the state.
    changed: Condvar,
    /// Flag that ends the present picture.
    stop: Arc<AtomicBool>,
}

#[derive(Default)]
struct QueueState {
    request: Option<PictureRequest>,
    /// Number of the request.
    number: u64,
    finished: Option<FinishedPicture>,
    /// Number of the newest finished request.
    finished_number: u64,
    /// Whether the present picture may take long: another request then ends it.
    is_interruptible: bool,
    ended: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PictureThread {
    /// Starts the thread and its helpers. It calls `wake` after each picture.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(wake: impl Fn() + Send + 'static) -> Result<Self, RenderError> {
        let shared = Arc::<Shared>::default();
        let thread_shared = shared.clone();
        let lacks =
            |error: &dyn std::fmt::Display| RenderError::Gl("a thread for pictures", error.to_string());
        let helpers = rayon::ThreadPoolBuilder::new().thread_name(|n| format!("picture {n}"));
        let pool =
            helpers.num_threads(rayon::current_num_threads()).build().map_err(|error| lacks(&error))?;
        let work = move || {
            let mut painter = Painter::default();
            painter.picture.set_stop(thread_shared.stop.clone());
            while let Some((request, number)) = next(&thread_shared, painter.is_settled()) {
                let began = Instant::now();
                pool.install(|| painter.render(&request));
                let mut state = thread_shared.state();
                state.is_interruptible = false;
                if thread_shared.stop.swap(false, Ordering::Relaxed) {
                    painter.forget_average();
                    continue;
                }
                state.finished_number = number;
                let mut bytes = state.finished.take().map(|old| old.bytes).unwrap_or_default();
                painter.picture.bytes().clone_into(&mut bytes);
                painter.picture.times();
                state.finished = Some(FinishedPicture {
                    bytes,
                    size: request.size,
                    tag: request.tag,
                    ranges: painter.ranges,
                    ms: began.elapsed().as_secs_f32() * 1e3,
                });
                drop(state);
                thread_shared.changed.notify_all();
                wake();
            }
        };
        let thread =
            std::thread::Builder::new().name("pictures".into()).spawn(work).map_err(|error| lacks(&error))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Requests a picture in place of the last one. Returns whether the two differ.
    ///
    /// # Errors
    /// If the view or the size of the picture is invalid, or if the snapshot's arrays do not fit its box. The
    /// last request is then kept.
    pub fn request(&self, request: PictureRequest) -> Result<bool, RenderError> {
        request.check()?;
        let mut state = self.shared.state();
        if state.request.as_ref().is_some_and(|last| last.is_same(&request)) {
            return Ok(false);
        }
        state.number += 1;
        state.request = Some(request);
        if state.is_interruptible {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        drop(state);
        self.shared.changed.notify_all();
        Ok(true)
    }

    /// Waits for a picture of the newest request, for `most` at most.
    pub fn wait(&self, most: Duration) {
        let begin = Instant::now();
        let mut state = self.shared.state();
        while state.finished_number < state.number {
            let Some(rest) = most.checked_sub(begin.elapsed()).filter(|rest| !rest.is_zero()) else { return };
            state = self.shared.changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the newest picture, if there is one since the last call.
    ///
    /// # Errors
    /// If the thread has ended.
    pub fn take(&self) -> Result<Option<FinishedPicture>, RenderError> {
        if self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
            return Err(RenderError::Gl("a picture", "its thread has ended".into()));
        }
        Ok(self.shared.state().finished.take())
    }
}

impl Drop for PictureThread {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.ended = true;
        self.shared.stop.store(state.is_interruptible, Ordering::Relaxed);
        drop(state);
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the pictures ended in a panic");
        }
    }
}

/// Waits for a picture to render: a new one, or a better one of the last request. `None` at the end.
fn next(shared: &Shared, settled: bool) -> Option<(PictureRequest, u64)> {
    let mut state = shared.state();
    loop {
        if state.ended {
            return None;
        }
        let is_new = state.finished_number < state.number;
        if let Some(request) = state.request.as_ref().filter(|request| is_new || request.refine && !settled) {
            let request = request.clone();
            // Quick pictures are always finished: those of a moving view must appear, although the next is
            // already requested.
            state.is_interruptible = request.quality.splines;
            return Some((request, state.number));
        }
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Renders the pictures of the thread.
pub(super) struct Painter {
    last: Option<PictureRequest>,
    lit: LitSmoke,
    ranges: Ranges,
    pub picture: Picture,
    passes: Accumulation,
}

impl Default for Painter {
    fn default() -> Self {
        Self {
            last: None,
            lit: LitSmoke::default(),
            ranges: Ranges::default(),
            picture: Picture::new(token()),
            passes: Accumulation::default(),
        }
    }
}

impl Painter {
    fn is_settled(&self) -> bool {
        self.passes.is_settled()
    }

    /// Drops an average with an unfinished frame.
    pub fn forget_average(&mut self) {
        self.passes.of = None;
    }

    /// Takes over the smoke of a request.
    pub fn gather(&mut self, request: &PictureRequest) {
        self.lit.gather(&Part::of(request.snapshot()), request.quality);
        self.ranges = Ranges::of(request.snapshot());
        self.picture.invalidate();
        self.passes.of = None;
        self.last = Some(request.clone());
    }

    /// Renders the next frame of the request's average, and its bytes.
    pub fn render(&mut self, request: &PictureRequest) {
        let same = |last: &PictureRequest| {
            last.shows_same_smoke(request) && last.quality.fine_light == request.quality.fine_light
        };
        if !self.last.as_ref().is_some_and(same) {
            self.gather(request);
        }
        self.last = Some(request.clone());
        let PictureRequest { look, camera, cursor, mode, .. } = request;
        let view = View { look, camera, cursor: *cursor, mode: *mode };
        Stage::of(request.snapshot()).localize(&view, |view| self.render_local(request, view));
    }

    fn render_local(&mut self, request: &PictureRequest, view: &View) {
        let (snapshot, look, quality, size) = (request.snapshot(), view.look, request.quality, request.size);
        self.lit.light.set_scale(look.light_scale);
        let picture = &mut self.picture;
        let shade = |cells: &Cells| {
            if view.mode.shows_smoke() && !quality.splines {
                picture.shade_ahead(cells, look);
            }
        };
        if self.lit.illuminate_beside(look, shade) {
            self.picture.invalidate_light();
        }
        let subject = Subject {
            look: look.clone(),
            camera: *view.camera,
            mode: view.mode,
            serial: snapshot.serial,
            size,
            quality,
        };
        let contents = Contents::of(&Part::of(snapshot), &mut self.lit, quality, self.ranges);
        if let Some(Frame { number, weight }) = self.passes.next(subject, request.refine) {
            let shift = if number == 0 { [0.0; 2] } else { noise::spread(number) };
            let frame = cpu::Frame { number, weight, shift };
            self.picture.render_frame(&contents, view, quality, size, frame, Integrator::Packets);
        }
        self.picture.present(&contents, view, quality);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::grid::Dims;
    use crate::render::CpuRenderer;
    use crate::render::gl::accumulation::most_passes;
    use crate::render::procedural::{Tint, plume};

    fn request(density: f32) -> PictureRequest {
        let dims = Dims::new([16; 3]).unwrap();
        let mut snapshot = Snapshot::empty(dims, 0.1);
        snapshot.smoke.fill([density; 4].map(half::f16::from_f32));
        snapshot.bricks.update(dims, &snapshot.smoke);
        PictureRequest {
            snapshot: Arc::new(snapshot),
            beside: false,
            look: Look::default(),
            camera: Camera::framing([1.6; 3]),
            cursor: None,
            mode: Mode::Smoke,
            quality: Quality::FINAL,
            size: [40, 30],
            refine: false,
            tag: [3, 4, 0],
        }
    }

    #[test]
    fn a_picture_by_splines_is_ended_by_another_request() {
        let count = Arc::new(AtomicU64::new(0));
        let counter = count.clone();
        let wake = move || _ = counter.fetch_add(1, Ordering::Relaxed);
        let thread = PictureThread::start(wake).unwrap();
        let mut long = request(0.5);
        long.quality.splines = true;
        long.size = [4000, 3000];
        thread.request(long).unwrap();
        while !thread.shared.state().is_interruptible {
            std::thread::yield_now();
        }
        thread.request(request(0.5)).unwrap();
        assert_eq!(picture(&thread).size, [40, 30]);
        while count.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(count.load(Ordering::Relaxed), 1, "the long one was never finished");
        // The next long picture is complete.
        let mut long = request(0.5);
        long.quality.splines = true;
        thread.request(long.clone()).unwrap();
        let whole = picture(&thread);
        let plain = PictureThread::start(|| ()).unwrap();
        plain.request(long).unwrap();
        assert_eq!(whole.bytes, picture(&plain).bytes);
    }

    fn picture(thread: &PictureThread) -> FinishedPicture {
        thread.wait(Duration::from_secs(20));
        thread.take().unwrap().expect("a picture in time")
    }

    /// Returns the bytes of a picture, rows from the top.
    fn from_top(picture: &FinishedPicture) -> Vec<u8> {
        picture.bytes.chunks(picture.size[0] as usize).rev().flatten().flatten().copied().collect()
    }

    fn without_window(request: &PictureRequest, quality: Quality) -> Vec<u8> {
        let mut renderer = CpuRenderer::new();
        renderer.set_quality(quality);
        let PictureRequest { look, camera, mode, size, .. } = request;
        let view = View { look, camera, cursor: None, mode: *mode };
        renderer.render(&request.snapshot, &view, *size, &|_| ()).unwrap().rgba
    }

    #[test]
    fn the_picture_is_that_of_the_renderer_without_a_window() {
        let thread = PictureThread::start(|| ()).unwrap();
        let snapshot = Arc::new(plume(Dims::new([16; 3]).unwrap(), 0.1, Tint::Sectors));
        for splines in [false, true] {
            let quality = Quality { splines, ..Quality::FINAL };
            let request = PictureRequest { snapshot: snapshot.clone(), quality, ..request(3.0) };
            assert!(thread.request(request.clone()).unwrap());
            let shown = picture(&thread);
            assert_eq!((shown.tag, shown.size), ([3, 4, 0], [40, 30]));
            assert_eq!(from_top(&shown), without_window(&request, quality), "splines {splines}");
        }
    }

    #[test]
    fn the_same_request_is_rendered_once_and_a_new_one_replaces_it() {
        let thread = PictureThread::start(|| ()).unwrap();
        let first = request(3.0);
        assert!(thread.request(first.clone()).unwrap());
        let shown = picture(&thread);
        assert!(!thread.request(first).unwrap() && thread.request(request(0.0)).unwrap());
        assert_ne!(picture(&thread).bytes, shown.bytes);
    }

    #[test]
    fn a_picture_improves_by_itself_so_many_times() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = PictureThread::start(move || _ = sender.send(())).unwrap();
        let with = |passes| Quality { passes, edges: passes > 1, ..Quality::FINAL };
        let [first, smooth] = [1, 64].map(|passes| without_window(&request(3.0), with(passes)));
        thread.request(PictureRequest { refine: true, ..request(3.0) }).unwrap();
        let most = most_passes(&request(3.0).camera);
        let wakes = (0..most).filter(|_| receiver.recv_timeout(Duration::from_secs(20)).is_ok());
        assert_eq!(wakes.count(), most as usize);
        assert!(receiver.recv_timeout(Duration::from_millis(200)).is_err());
        let off =
            |bytes: &[u8]| -> u32 { bytes.iter().zip(&smooth).map(|(a, b)| u32::from(a.abs_diff(*b))).sum() };
        let last = off(&from_top(&picture(&thread)));
        assert!(last < off(&first) / 2, "{last} at last, {} at first", off(&first));
    }
}
