//! What work of ours holds, or held until just now: none of it is foreign use.
//!
//! Devices are positions, and one is ours or is not. Of processors and memory Slurm tells how much of a node is in use, ours
//! included; work that it may or may not have counted in its answer makes a range of that.

use consort_types::{DeviceId, Grant};
use std::collections::{BTreeMap, BTreeSet};

/// What work of ours holds.
#[derive(Clone, Debug, Default)]
pub struct Ours {
    devices: BTreeSet<DeviceId>,
    pools: BTreeMap<DeviceId, Amount>,
}

/// How much of a pool is ours.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    /// Of work that certainly runs: Slurm counts it.
    counted: u64,
    /// Of work that is about to begin, or ended just now.
    uncertain: u64,
}

impl Ours {
    /// What one attempt was granted; `runs` if Slurm certainly counts it.
    pub fn add(&mut self, grants: &[Grant], runs: bool) {
        for grant in grants {
            if !grant.is_of_host() {
                self.devices.insert(grant.device);
                continue;
            }
            let amount = self.pools.entry(grant.device).or_default();
            let part = if runs { &mut amount.counted } else { &mut amount.uncertain };
            *part = part.saturating_add(grant.memory_bytes);
        }
    }

    /// Whether a device is ours.
    pub fn has(&self, device: DeviceId) -> bool {
        self.devices.contains(&device)
    }

    /// Whether any of `count` devices, from the first on, is ours.
    pub fn has_any(&self, first: u32, count: u32) -> bool {
        self.devices.range(DeviceId(first)..DeviceId(first + count)).next().is_some()
    }

    /// How much of a pool is in foreign hands, of all that is `in_use`. What was believed before is kept as long as it may be
    /// true, so that work of ours that starts or ends is not reported as a change of others'.
    pub fn foreign_of(&self, pool: DeviceId, in_use: u64, believed: u64) -> u64 {
        let Amount { counted, uncertain } = self.pools.get(&pool).copied().unwrap_or_default();
        let most = in_use.saturating_sub(counted);
        believed.clamp(most.saturating_sub(uncertain), most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: DeviceId = DeviceId(6);

    fn ours(parts: &[(u64, bool)]) -> Ours {
        let mut ours = Ours::default();
        for &(memory_bytes, runs) in parts {
            ours.add(&[Grant { device: POOL, share: 0, memory_bytes }], runs);
        }
        ours
    }

    #[test]
    fn what_is_in_use_beyond_ours_is_foreign() {
        assert_eq!(ours(&[]).foreign_of(POOL, 10, 0), 10);
        assert_eq!(ours(&[(4, true)]).foreign_of(POOL, 10, 0), 6);
        assert_eq!(
            ours(&[(14, true)]).foreign_of(POOL, 10, 3),
            0,
            "Slurm was asked for less than is counted"
        );
        assert_eq!(ours(&[(4, true)]).foreign_of(DeviceId(7), 10, 0), 10, "of another pool");
    }

    #[test]
    fn what_begins_or_ends_just_now_is_no_news() {
        for in_use in [6, 10] {
            assert_eq!(ours(&[(4, false)]).foreign_of(POOL, in_use, 6), 6, "in use {in_use}");
        }
        assert_eq!(ours(&[(4, false)]).foreign_of(POOL, 12, 6), 8, "it cannot be less");
        assert_eq!(ours(&[(4, false)]).foreign_of(POOL, 5, 6), 5, "nor more");
    }
}
