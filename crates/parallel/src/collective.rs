//! What collectives cost on a fabric, and which algorithm to choose.
