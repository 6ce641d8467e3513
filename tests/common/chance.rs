//! Pseudo-random numbers for tests, the same each time.
#![allow(dead_code)]

/// Marsaglia's xorshift, good enough for choices. Its state must not be 0.
pub struct Chance(pub u64);

impl Chance {
    /// Returns 64 random bits.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below `n`, which must be less than 2³¹.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n.max(1)
    }

    /// Returns an element of a list.
    pub fn one<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.below(of.len())]
    }
}
