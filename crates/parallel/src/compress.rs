//! Gradients in fewer bytes.
