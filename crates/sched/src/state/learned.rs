//! What was learned about jobs from how they ended.
//!
//! Of jobs that ran out of device memory it is remembered, by tenant and name, in how much memory they did not fit. Bounded:
//! beyond `Constants::learned` the one that was last confirmed longest ago is forgotten.

use consort_types::TenantId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
pub(crate) struct Learned {
    /// Bytes of one device that were not enough, and the event that last said so.
    too_small: BTreeMap<(TenantId, String), (u64, u64)>,
}

impl Learned {
    /// A job of this name did not fit in so much memory of a device.
    pub fn does_not_fit(&mut self, (tenant, name): (TenantId, &str), bytes: u64, seen: u64, most: u32) {
        let fact = self.too_small.entry((tenant, name.to_owned())).or_default();
        *fact = (fact.0.max(bytes), seen);
        if self.too_small.len() > most as usize {
            let oldest = self.too_small.iter().min_by_key(|(_, fact)| fact.1).map(|(key, _)| key.clone());
            oldest.map(|key| self.too_small.remove(&key));
        }
    }

    /// A job of this name succeeded in so much: what was learned of an older one no longer holds.
    pub fn fits(&mut self, tenant: TenantId, name: &str, bytes: u64) {
        if !self.too_small.is_empty() && self.too_small(tenant, name) >= bytes {
            self.too_small.remove(&(tenant, name.to_owned()));
        }
    }

    /// In how much a job of this name did not fit; 0 when nothing is known.
    pub fn too_small(&self, tenant: TenantId, name: &str) -> u64 {
        self.too_small.get(&(tenant, name.to_owned())).map_or(0, |fact| fact.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_that_was_too_small_counts_until_something_fits() {
        let (mut learned, red) = (Learned::default(), TenantId(1));
        learned.does_not_fit((red, "train"), 40, 1, 10);
        learned.does_not_fit((red, "train"), 24, 2, 10);
        assert_eq!((learned.too_small(red, "train"), learned.too_small(TenantId(2), "train")), (40, 0));
        learned.fits(red, "train", 80);
        assert_eq!(learned.too_small(red, "train"), 40);
        learned.fits(red, "train", 40);
        assert_eq!(learned.too_small(red, "train"), 0);
    }

    #[test]
    fn what_was_confirmed_longest_ago_is_forgotten_first() {
        let (mut learned, red) = (Learned::default(), TenantId(1));
        for number in 0..=10 {
            learned.does_not_fit((red, &number.to_string()), 1, number, 10);
            learned.does_not_fit((red, "0"), 1, number, 10);
        }
        assert_eq!(learned.too_small.len(), 10);
        assert_eq!((learned.too_small(red, "0"), learned.too_small(red, "1")), (1, 0));
    }
}
