//! A task graph on unlike devices.
