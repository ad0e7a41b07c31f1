//! Who holds up the others, why, and what to do about it.
