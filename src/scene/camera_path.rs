//! The camera over time.

use std::ops::Range;

use toml::Spanned;

use super::document;
use super::scene_error::Problem;
use super::scene_text::Text;
use crate::look::Camera;

/// Keyframes of the camera. Position, target and field of view each follow the keyframes that set them, along
/// cubics with a continuous slope (Catmull and Rom 1974), each component within its values at the keyframes around (Fritsch and Carlson
/// 1980). Before the first and after the last keyframe the camera rests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CameraPath {
    position: Track<3>,
    target: Track<3>,
    fov: Track<1>,
}

/// A keyframe; values that it does not set are none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CameraKey {
    /// Instant \[s\].
    pub time: f32,
    /// Position of the eye \[m\].
    pub position: Option<[f32; 3]>,
    /// Point in the middle of the picture \[m\].
    pub target: Option<[f32; 3]>,
    /// Vertical field of view \[degrees\].
    pub fov: Option<f32>,
}

/// Increasing instants \[s\], with values.
#[derive(Clone, Debug, Default, PartialEq)]
struct Track<const N: usize>(Vec<(f32, [f32; N])>);

impl CameraPath {
    /// Returns whether the camera stands still.
    pub fn is_empty(&self) -> bool {
        self.position.0.is_empty() && self.target.0.is_empty() && self.fov.0.is_empty()
    }

    /// Returns the keyframes in the order of time.
    pub fn keys(&self) -> Vec<CameraKey> {
        let Self { position, target, fov } = self;
        let mut times: Vec<f32> = [position.times(), target.times(), fov.times()].concat();
        times.sort_by(f32::total_cmp);
        times.dedup();
        let key = |time| CameraKey {
            time,
            position: position.key(time),
            target: target.key(time),
            fov: fov.key(time).map(|[fov]| fov),
        };
        times.into_iter().map(key).collect()
    }

    /// Returns the camera at an instant \[s\]; values that no keyframe sets are those of `camera`.
    pub fn at(&self, t: f32, camera: &Camera) -> Camera {
        let [fov] = self.fov.at(t).unwrap_or([camera.fov]);
        Camera {
            position: self.position.at(t).unwrap_or(camera.position),
            target: self.target.at(t).unwrap_or(camera.target),
            fov: fov.clamp(1.0, 170.0),
            ..*camera
        }
    }
}

impl<const N: usize> Track<N> {
    fn times(&self) -> Vec<f32> {
        self.0.iter().map(|(time, _)| *time).collect()
    }

    /// Returns the value of the key at exactly this instant.
    fn key(&self, time: f32) -> Option<[f32; N]> {
        self.0.iter().find(|(of, _)| *of == time).map(|(_, value)| *value)
    }

    fn at(&self, t: f32) -> Option<[f32; N]> {
        let keys = &self.0;
        let (first, last) = (keys.first()?, keys.last()?);
        let next = keys.partition_point(|key| key.0 <= t);
        if next == 0 {
            return Some(first.1);
        }
        if next == keys.len() {
            return Some(last.1);
        }
        let ((from, a), (to, b)) = (keys[next - 1], keys[next]);
        let length = to - from;
        let x = (t - from) / length;
        // Hermite weights of both ends and both slopes.
        let (square, cube) = (x * x, x * x * x);
        let end = 3.0 * square - 2.0 * cube;
        let (leaving, entering) = (length * (cube - 2.0 * square + x), length * (cube - square));
        let slopes = [self.slope(next - 1), self.slope(next)];
        Some(std::array::from_fn(|n| {
            a[n] + end * (b[n] - a[n]) + leaving * slopes[0][n] + entering * slopes[1][n]
        }))
    }

    /// Returns the slope at a keyframe: that of the line between its neighbours, but no more than thrice that of the line to either; at
    /// the first and last keyframe, and where a component turns round or stands still on one side, 0.
    fn slope(&self, key: usize) -> [f32; N] {
        let Some((before, after)) =
            key.checked_sub(1).and_then(|n| Some((self.0.get(n)?, self.0.get(key + 1)?)))
        else {
            return [0.0; N];
        };
        let at = self.0[key];
        std::array::from_fn(|n| {
            let [arrives, leaves] =
                [(before, &at), (&at, after)].map(|(from, to)| (to.1[n] - from.1[n]) / (to.0 - from.0));
            if arrives * leaves <= 0.0 {
                return 0.0;
            }
            let most = 3.0 * arrives.abs().min(leaves.abs());
            ((after.1[n] - before.1[n]) / (after.0 - before.0)).clamp(-most, most)
        })
    }
}

/// Reads the keyframes; `check` fails for a camera without a view.
pub(super) fn resolve(
    read: Option<&Spanned<Vec<document::CameraKeyframe>>>,
    camera: &Camera,
    text: &Text,
    check: impl Fn(&Camera) -> std::result::Result<(), String>,
) -> std::result::Result<CameraPath, Box<Problem>> {
    let mut path = CameraPath::default();
    let Some(read) = read else { return Ok(path) };
    let problem = |message: String| {
        let span: Range<usize> = read.span();
        Err(text.problem(span, format!("render.camera.keyframes: {message}")))
    };
    let mut before: Option<f32> = None;
    for key in read.get_ref() {
        let time = key.time.get();
        if let Some(before) = before.filter(|before| time <= *before) {
            return problem(format!("{time} s comes after {before} s; times must rise"));
        }
        before = Some(time);
        path.position.0.extend(key.position.map(|position| (time, position.get())));
        path.target.0.extend(key.target.map(|target| (time, target.get())));
        path.fov.0.extend(key.fov.map(|fov| (time, [fov.get()])));
    }
    for key in read.get_ref() {
        let time = key.time.get();
        if let Err(message) = check(&path.at(time, camera)) {
            return problem(format!("at {time} s: {message}"));
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAMERA: Camera = Camera::at([0.0, 1.0, 5.0], [0.0; 3], 30.0);

    fn path(keys: &[(f32, f32)]) -> CameraPath {
        let position = Track(keys.iter().map(|&(t, x)| (t, [x, 1.0, 5.0])).collect());
        CameraPath { position, ..CameraPath::default() }
    }

    #[test]
    fn a_camera_without_keyframes_stands_still() {
        assert_eq!(CameraPath::default().at(7.0, &CAMERA), CAMERA);
    }

    /// It once rose and sank between two equal keyframes, and through the floor.
    #[test]
    fn a_camera_stays_between_its_keyframes() {
        let path = path(&[(0.0, 2.5), (1.0, 0.1), (2.0, 0.1), (3.0, 2.5), (3.2, 9.0), (6.0, 9.1)]);
        let mut before = 2.5;
        for n in 0..=600 {
            let t = 0.01 * n as f32;
            let x = path.at(t, &CAMERA).position[0];
            assert!((0.0999..9.1001).contains(&x), "{t} s: {x}");
            assert!(!(1.0..=2.0).contains(&t) || (x - 0.1).abs() < 1e-5, "{t} s: {x}");
            assert!(if t <= 1.0 { x <= before } else { x >= before - 1e-5 }, "{t} s: {x} after {before}");
            before = x;
        }
    }

    #[test]
    fn a_camera_passes_its_keyframes_without_a_jerk() {
        let path = path(&[(1.0, 0.0), (2.0, 3.0), (4.0, 4.0), (5.0, -1.0)]);
        let x = |t: f32| path.at(t, &CAMERA).position[0];
        for (t, want) in [(0.0, 0.0), (1.0, 0.0), (2.0, 3.0), (4.0, 4.0), (5.0, -1.0), (9.0, -1.0)] {
            assert!((x(t) - want).abs() < 1e-5, "{t} s: {}, not {want}", x(t));
        }
        // Its velocity is continuous.
        let speed = |t: f32| (x(t + 1e-3) - x(t - 1e-3)) / 2e-3;
        for n in 0..590 {
            let t = 0.02 + 0.01 * n as f32;
            assert!((speed(t + 0.01) - speed(t)).abs() < 0.5, "{t} s: {} to {}", speed(t), speed(t + 0.01));
        }
        assert!(speed(1.5) > 1.0 && path.at(3.0, &CAMERA).fov == 30.0);
    }
}
