//! Seeded chance for searches: small, fast and the same on every machine (SplitMix64).

/// A seeded generator.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The same seed gives the same sequence.
    pub fn new(seed: u64) -> Self {
        Dice(seed)
    }

    /// Any number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// At least 0 and less than `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.draw()) * limit as u128) >> 64) as usize
    }

    /// At least 0 and less than 1.
    pub fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_below_its_limit_and_reaches_everything() {
        let mut dice = Dice::new(7);
        let mut seen = [false; 6];
        (0..200).for_each(|_| seen[dice.below(6)] = true);
        assert_eq!(seen, [true; 6]);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&dice.unit())));
    }
}
