//! Seeded damage for tests: the same seed gives the same bytes on every machine.

/// A small generator of numbers.
pub struct Dice(pub u64);

impl Dice {
    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }

    /// Changes, removes, repeats or inserts a few bytes.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        const ODD: &[u8] = b"\n\0\"\\{}[],: @\xff\xc3\x1b0-9";
        for _ in 0..=self.below(6) {
            let (at, odd) = (self.below(bytes.len()), ODD[self.below(ODD.len())]);
            match self.below(5) {
                0 => bytes.truncate(at),
                1 if at < bytes.len() => bytes[at] = odd,
                2 if at < bytes.len() => drop(bytes.remove(at)),
                3 => bytes.insert(at.min(bytes.len()), odd),
                _ => {
                    let end = (at + self.below(40)).min(bytes.len());
                    let part = bytes[at.min(end)..end].to_vec();
                    bytes.extend(part);
                }
            }
        }
    }
}
