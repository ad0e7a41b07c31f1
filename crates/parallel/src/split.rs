//! A global batch over unlike devices.
