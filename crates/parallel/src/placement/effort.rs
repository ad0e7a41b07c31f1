//! How much a plan may cost, in candidates.

/// Limits of the search. Larger ones find better plans, later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Ideals counted before all of them are given up for some orders.
    pub ideals: usize,
    /// Pairs of ideals looked at.
    pub pairs: u64,
    /// Orders cut into rows.
    pub orders: usize,
    /// Proposals in annealing.
    pub proposals: u64,
    /// Another seed, another course of the search.
    pub seed: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { ideals: 60_000, pairs: 40_000_000, orders: 8, proposals: 8_000_000, seed: 1 }
    }
}
