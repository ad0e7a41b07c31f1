//! The files that tell this user's clients where we are: the address, and the socket beside it.
//!
//! Another daemon of this user that is there and takes connections keeps them; ours are taken away again when we go. A
//! stranger who took the port of a daemon that is gone keeps nothing.

use crate::fault::Fault;
use crate::folder;
use consort_api::client::find::is_taken_by_us;
use std::path::{Path, PathBuf};

pub(super) struct Announced {
    files: Vec<(PathBuf, String)>,
    url: String,
    other: Option<String>,
}

impl Announced {
    /// Writes the address to one file and the socket, if there is one, to the other.
    pub fn new(address: &Path, url: &str, socket: Option<(&Path, Option<&str>)>) -> Result<Self, Fault> {
        let is_other = |said: &String| !said.is_empty() && said != url && is_taken_by_us(said);
        let other = Some(said(address)).filter(is_other);
        let mut files = vec![];
        if other.is_none() {
            files.push((address.to_path_buf(), url.to_string()));
            match socket {
                Some((path, Some(socket))) => files.push((path.to_path_buf(), socket.to_string())),
                // Clients believe this file first.
                Some((path, None)) => drop(std::fs::remove_file(path)),
                None => {}
            }
        }
        for (path, text) in &files {
            folder::write_private(path, &format!("{text}\n"))?;
        }
        Ok(Self { files, url: url.into(), other })
    }

    /// What the user should know.
    pub fn note(&self) -> Option<String> {
        let other = self.other.as_ref()?;
        Some(format!("by default, clients find the server at {other}; use --server {}", self.url))
    }
}

/// What such a file says; nothing where there is none that we would have written.
fn said(path: &Path) -> String {
    let bytes = folder::read(path).unwrap_or(None).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().into()
}

impl Drop for Announced {
    fn drop(&mut self) {
        for (path, text) in &self.files {
            if said(path) == *text {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}
