//! Operators of a network on accelerators and processors.
