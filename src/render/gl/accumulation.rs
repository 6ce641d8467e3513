//! The average of many pictures of the same thing, each with other offsets of the march.

use crate::look::{Camera, Look};
use crate::render::{Mode, Quality};

/// Most pictures that are averaged while nothing moves.
pub(super) const MOST_PASSES: u32 = 32;

/// How many pictures of the same thing the march has summed.
#[derive(Default)]
pub(super) struct Accumulation {
    pub count: u32,
    pub of: Option<Subject>,
}

/// Everything the march depends on.
#[derive(Clone, PartialEq)]
pub(super) struct Subject {
    pub look: Look,
    pub camera: Camera,
    pub mode: Mode,
    pub serial: u64,
    pub size: [u32; 2],
    pub quality: Quality,
}

/// One picture of an average: which offsets, and the share it gets.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub number: u32,
    pub weight: f32,
}

impl Accumulation {
    /// The frame to march for `subject`, or `None` when the average is good enough.
    pub fn next(&mut self, subject: Subject, refine: bool) -> Option<Frame> {
        if self.of.as_ref() == Some(&subject) {
            if self.count >= MOST_PASSES || !refine {
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
