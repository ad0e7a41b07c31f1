//! A hash that is the same on every machine, for comparing states and journals.
//!
//! It implements [`std::hash::Hasher`], so that `#[derive(Hash)]` says what belongs to a state. Lengths and
//! `usize` are written as 64 bits. It detects accidents (a plan that differs), not attacks; the audit chain of the
//! journal is where attacks are met.

use std::hash::Hasher;

/// Word-wise multiply and rotate, with a strong finish. Cheap enough to fold every event as it is applied: what is hashed most
/// is marked `inline`, since releases are built without link-time optimization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(u64);

impl Digest {
    /// Starts from a given value, so that digests can be chained.
    pub fn seeded(seed: u64) -> Self {
        Digest(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// The digest of one value.
    pub fn of<T: std::hash::Hash>(value: &T) -> u64 {
        let mut digest = Digest::seeded(0);
        value.hash(&mut digest);
        digest.finish()
    }
}

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(word));
        }
        self.write_u64(bytes.len() as u64);
    }
    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }
    #[inline]
    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }
    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }
    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
    #[inline]
    fn write_i32(&mut self, word: i32) {
        self.write_u64(word as u64);
    }
    #[inline]
    fn write_i64(&mut self, word: i64) {
        self.write_u64(word as u64);
    }
    #[inline]
    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_pinned() {
        // A change of these numbers means that state hashes of older journals can no longer be compared.
        assert_eq!(Digest::of(&(1u64, "consort")), 0xa1dd_91e6_619a_76bd);
        assert_ne!(Digest::of(&("ab", "c")), Digest::of(&("a", "bc")));
        assert_ne!(Digest::of(&[0u64; 3]), Digest::of(&[0u64; 4]));
    }
}
