//! What a place opinion notes down between two plans; whatever it likes, as long as it follows from what is free.
//!
//! Never part of the state, and a copy begins without notes: dropping them changes no decision.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;

/// One note of any kind.
#[derive(Default)]
pub(crate) struct Notes(RefCell<Option<Box<dyn Any + Send>>>);

impl Notes {
    /// Reads and writes the note of this kind; there is one at a time.
    pub fn with<T: Any + Send + Default, R>(&self, read: impl FnOnce(&mut T) -> R) -> R {
        let mut note = self.0.borrow_mut();
        if note.as_ref().is_none_or(|note| !note.is::<T>()) {
            *note = Some(Box::new(T::default()));
        }
        read(note.as_mut().and_then(|note| note.downcast_mut()).expect("just put there"))
    }
}

impl Clone for Notes {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("notes")
    }
}

/// What is noted is no part of what is free.
impl PartialEq for Notes {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Notes {}
