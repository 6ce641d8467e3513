//! The accumulation buffer of the march: the mean of many frames with different offsets.

use crate::look::{Camera, Look};
use crate::render::{Mode, Quality};

/// Returns the greatest number of frames of `camera` that are averaged while nothing moves.
pub(super) fn most_passes(camera: &Camera) -> u32 {
    if camera.lens.aperture > 0.0 { Quality::LENS_PASSES } else { 32 }
}

/// Number of frames of the same view in the accumulation buffer.
#[derive(Default)]
pub(super) struct Accumulation {
    pub count: u32,
    pub of: Option<Subject>,
}

/// All inputs of the march.
#[derive(Clone, PartialEq)]
pub(super) struct Subject {
    pub look: Look,
    pub camera: Camera,
    pub mode: Mode,
    pub serial: u64,
    pub size: [u32; 2],
    pub quality: Quality,
}

/// One frame of an average: its offsets and its weight.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub number: u32,
    pub weight: f32,
}

impl Accumulation {
    /// Returns whether the average has all its frames.
    pub fn is_settled(&self) -> bool {
        self.of.as_ref().is_some_and(|subject| self.count >= most_passes(&subject.camera))
    }

    /// Returns the next frame of `subject`, or `None` if the average has all its frames or is not to be
    /// refined.
    pub fn next(&mut self, subject: Subject, refine: bool) -> Option<Frame> {
        if self.of.as_ref() == Some(&subject) {
            if self.is_settled() || !refine {
                return None;
            }
            self.count += 1;
        } else {
            self.of = Some(subject);
            self.count = 1;
        }
        Some(Frame { number: self.count - 1, weight: 1.0 / self.count as f32 })
    }
}
