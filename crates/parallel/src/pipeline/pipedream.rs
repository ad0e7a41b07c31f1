//! The partition of PipeDream's optimizer, exactly and fast.
