//! How often to exchange gradients.
