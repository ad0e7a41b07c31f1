//! The order of ranks that suits a fabric.
