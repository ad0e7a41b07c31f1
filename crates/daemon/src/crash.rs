//! Points at which a test may end this process as `kill -9` would; see the agent's own.

pub(crate) use consort_agent::crash::point;
