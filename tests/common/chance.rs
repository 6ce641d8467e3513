//! Pseudo-random numbers for tests, the same each time.
#![allow(dead_code)]

/// Xorshift of Marsaglia, good enough for choices. Its state is not 0.
pub struct Chance(pub u64);

impl Chance {
    /// 64 random bits.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `n`, which is less than 2³¹.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n.max(1)
    }

    /// One of a list.
    pub fn one<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.below(of.len())]
    }
}
