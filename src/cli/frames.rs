//! Values on the command line: a range of frames, a size, numbers within limits.

use std::fmt;
use std::str::FromStr;

use crate::parameter;

/// Frames `first` to `last`, both included, `step` apart. Frame n is the state at n / frame_rate; frame 0 is the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    /// The first frame.
    pub first: u32,
    /// The last frame: a whole number of steps after the first.
    pub last: u32,
    /// Distance between frames.
    pub step: u32,
}

impl Frames {
    /// Returns the first `count` frames.
    pub fn at_most(self, count: u32) -> Self {
        let last = self.first + (self.count().min(count.max(1)) - 1) * self.step;
        Self { last, ..self }
    }

    /// Returns the number of frames.
    pub fn count(self) -> u32 {
        (self.last - self.first) / self.step + 1
    }

    /// Yields all frames in order.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (self.first..=self.last).step_by(self.step as usize)
    }

    /// Returns whether it contains a frame.
    pub fn contains(self, frame: u32) -> bool {
        (self.first..=self.last).contains(&frame) && (frame - self.first).is_multiple_of(self.step)
    }
}

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { first, last, step } = self;
        write!(f, "{first}-{last}")?;
        if *step > 1 { write!(f, ":{step}") } else { Ok(()) }
    }
}

impl FromStr for Frames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (range, step) = text.split_once(':').unwrap_or((text, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |part: &str| part.parse::<u32>().ok().filter(|&n| n <= 1_000_000);
        match (number(first), number(last), number(step).filter(|&step| step > 0)) {
            (Some(first), Some(last), Some(step)) if first <= last => {
                Ok(Self { first, last: last - (last - first) % step, step })
            }
            (Some(_), Some(_), Some(_)) => Err("the first frame is after the last".into()),
            _ => {
                Err("write frames as 1-240, as 1-240:10 for every tenth, or as 24 for one (at most 1000000)"
                    .into())
            }
        }
    }
}

/// Width and height of a picture in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub [u32; 2]);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| part.parse::<u32>().ok().filter(|n| (1..=16384).contains(n));
        let parts = text.split_once('x').map(|(width, height)| (number(width), number(height)));
        match parts {
            Some((Some(width), Some(height))) => Ok(Self([width, height])),
            _ => Err("write a size as 1280x720, each side from 1 to 16384 pixels".into()),
        }
    }
}

/// Reads the value of the parameter `path`, within its hard range.
pub fn value_of(path: &str, text: &str) -> Result<f32, String> {
    let number: f32 = text.parse().map_err(|_| "it is no number".to_owned())?;
    parameter::of(path).complaint(number.into()).map_or(Ok(number), Err)
}

/// Reads an instant from the start on \[s\].
pub fn instant(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds, such as 2.5".to_owned())?;
    let is_possible = seconds.is_finite() && seconds >= 0.0;
    if is_possible { Ok(seconds) } else { Err("an instant is a finite number of seconds, 0 or more".into()) }
}

/// Reads a share above zero.
pub fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "it is no number".to_owned())?;
    let is_possible = share.is_finite() && share > 0.0;
    if is_possible { Ok(share) } else { Err("a share is a finite number above 0, such as 0.01".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused() {
        for text in ["nan", "-1", "inf", "x", "-0.1"] {
            assert!(instant(text).is_err() && share(text).is_err(), "{text}");
            assert!(value_of("render.medium.noise", text).is_err(), "{text}");
        }
        assert!(share("0").is_err());
        assert_eq!((instant("0"), share("1e-3")), (Ok(0.0), Ok(1e-3)));
        assert_eq!(value_of("turbulence.strength", "1.5"), Ok(1.5));
    }

    #[test]
    fn ranges_and_sizes() {
        assert_eq!("1-240".parse(), Ok(Frames { first: 1, last: 240, step: 1 }));
        let tens: Frames = "5-240:10".parse().unwrap();
        for text in ["1-240", "5-235:10", "24-24"] {
            assert_eq!(text.parse::<Frames>().unwrap().to_string(), text);
        }
        assert_eq!((tens.last, tens.count(), tens.iter().nth(2)), (235, 24, Some(25)));
        assert!(tens.contains(15) && !tens.contains(16) && !tens.contains(245));
        assert_eq!("24".parse::<Frames>().map(Frames::count), Ok(1));
        assert_eq!("640x480".parse(), Ok(Size([640, 480])));
        for bad in ["", "5-1", "a-b", "-3", "1-", "1-99999999", "1-9:0", "1-9:", "1-9:x"] {
            assert!(bad.parse::<Frames>().is_err(), "{bad}");
        }
        for bad in ["", "640", "0x480", "640x99999", "x"] {
            assert!(bad.parse::<Size>().is_err(), "{bad}");
        }
    }
}
