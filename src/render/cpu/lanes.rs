//! The vector of a ray packet: one float for each ray.
//!
//! All methods are inlined into the functions that enable the instructions. They are unsafe to call where these are not
//! enabled. Operators are safe: only unsafe constructors create a vector. Closures are avoided: they do not inherit the
//! enabled instructions.

use std::ops::{Add, Div, Mul, Sub};

use half::f16;

/// One float for each ray.
#[allow(unsafe_code)]
pub(super) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Rays of a packet.
    const COUNT: usize;
    /// A boolean for each ray.
    type Mask: Copy;

    /// The same number for all rays.
    unsafe fn all(x: f32) -> Self;
    /// Loads the first numbers of a slice.
    unsafe fn load(from: &[f32]) -> Self;
    /// Stores four interleaved numbers for each ray.
    unsafe fn store(values: [Self; 4], to: &mut [[f32; 4]]);
    /// self · b + c, rounded once.
    unsafe fn times(self, b: Self, c: Self) -> Self;
    /// The lesser; `other` if self is NaN.
    unsafe fn least(self, other: Self) -> Self;
    /// The greater; `other` if self is NaN.
    unsafe fn greatest(self, other: Self) -> Self;
    /// Square root.
    unsafe fn root(self) -> Self;
    /// The greatest whole number at most self.
    unsafe fn floor(self) -> Self;
    /// 2 to the power of a whole number from −126 to 127.
    unsafe fn power(self) -> Self;
    /// Mask of the rays where self is less.
    unsafe fn less(self, than: Self) -> Self::Mask;
    /// Mask of the rays where both hold.
    unsafe fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Whether the mask holds for any ray.
    unsafe fn any(mask: Self::Mask) -> bool;
    /// `yes` where the mask holds, otherwise `no`.
    unsafe fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Entries of a non-empty table at whole numbers, clamped to its ends.
    unsafe fn look_up(table: &[f32], at: Self) -> Self;
    /// Trilinear sample of a volume; `at` is in texels along each axis, from the centre of the first.
    unsafe fn read(volume: &Texels, at: [Self; 3]) -> [Self; 4];

    /// e^x for x ≤ 0, as `exp` of the scalar code.
    #[inline(always)]
    unsafe fn exp(self) -> Self {
        // SAFETY: the caller has enabled the instructions, as for every method here.
        unsafe {
            let t = (self * Self::all(std::f32::consts::LOG2_E)).greatest(Self::all(-126.0));
            let whole = (t + Self::all(0.5)).floor();
            let f = t - whole;
            let p = f.times(Self::all(1.540_353e-4), Self::all(1.333_355_8e-3));
            let p = p.times(f, Self::all(9.618_129e-3)).times(f, Self::all(5.550_411e-2));
            let p = p.times(f, Self::all(0.240_226_5)).times(f, Self::all(std::f32::consts::LN_2));
            p.times(f, Self::all(1.0)) * whole.power()
        }
    }

    /// The cubic B-spline through the texels, as eight trilinear samples (Sigg and Hadwiger, GPU Gems 2,
    /// 2005).
    #[inline(always)]
    unsafe fn read_cubic(volume: &Texels, at: [Self; 3]) -> [Self; 4] {
        // SAFETY: the caller has enabled the instructions, as for every method here.
        unsafe {
            // For each axis the weight of the upper two of four texels, and sample points between the lower
            // two and between the upper two.
            let mut axes = [[at[0]; 3]; 3];
            for a in 0..3 {
                let base = at[a].floor();
                let f = at[a] - base;
                let g = Self::all(1.0) - f;
                let (first, last) = (g * g * g * Self::all(1.0 / 6.0), f * f * f * Self::all(1.0 / 6.0));
                let second = Self::all(2.0 / 3.0) - Self::all(0.5) * f * f * (Self::all(2.0) - f);
                let (low, high) = (first + second, Self::all(1.0) - first - second);
                axes[a] = [high, base - Self::all(1.0) + second / low, base + Self::all(1.0) + last / high];
            }
            let mut sum = [Self::all(0.0); 4];
            for n in 0..8_usize {
                let (mut weight, mut place) = (Self::all(1.0), at);
                for a in 0..3 {
                    let [high, ..] = axes[a];
                    let upper = n >> a & 1 == 1;
                    weight = weight * if upper { high } else { Self::all(1.0) - high };
                    place[a] = if upper { axes[a][2] } else { axes[a][1] };
                }
                let read = Self::read(volume, place);
                for c in 0..4 {
                    sum[c] = weight.times(read[c], sum[c]);
                }
            }
            sum
        }
    }

    /// Magnitude.
    #[inline(always)]
    unsafe fn magnitude(self) -> Self {
        // SAFETY: the caller has enabled the instructions, as for every method here.
        unsafe { self.greatest(Self::all(0.0) - self) }
    }

    /// The least whole number at least self.
    #[inline(always)]
    unsafe fn ceil(self) -> Self {
        // SAFETY: the caller has enabled the instructions, as for every method here.
        unsafe { Self::all(0.0) - (Self::all(0.0) - self).floor() }
    }
}

/// A volume of half floats, x fastest, at least two along each axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Texels<'a> {
    size: [usize; 3],
    values: &'a [[f16; 4]],
}

impl<'a> Texels<'a> {
    pub fn new(size: [usize; 3], values: &'a [[f16; 4]]) -> Self {
        assert!(size.iter().all(|&n| n >= 2) && size.iter().product::<usize>() == values.len(), "{size:?}");
        Self { size, values }
    }

    /// Largest index of the first of two neighbours, along an axis.
    pub fn last(&self, axis: usize) -> f32 {
        (self.size[axis] - 2) as f32
    }

    /// Distance between neighbouring texels along each axis.
    pub fn strides(&self) -> [usize; 3] {
        [1, self.size[0], self.size[0] * self.size[1]]
    }

    pub fn values(&self) -> &'a [[f16; 4]] {
        self.values
    }
}
