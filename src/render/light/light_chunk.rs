//! Values side by side along x, in arrays of one length, so that loops over them vectorise.

/// Points or cubes that are worked on at a time.
pub(super) const CHUNK: usize = 32;

/// One value of each.
pub(super) type Lane = [f32; CHUNK];
