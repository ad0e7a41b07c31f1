//! Small stories in plain text, with an expected ending.
