//! Seeded dice (SplitMix64): the same seed throws the same numbers on every machine. For faults, not for secrets.

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Starts a stream.
    pub fn new(seed: u64) -> Self {
        Dice(seed)
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `limit`, which is not zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.roll()) * u128::from(limit)) >> 64) as u64
    }

    /// True in so many of a thousand cases.
    pub fn permille(&mut self, permille: u32) -> bool {
        permille > 0 && self.below(1000) < u64::from(permille)
    }
}
