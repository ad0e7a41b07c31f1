//! One search over partition, replication, schedule and memory, for unlike devices.
