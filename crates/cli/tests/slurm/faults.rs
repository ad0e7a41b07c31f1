//! Everything that happens to a cluster: each fault, and what the user is told about it.
