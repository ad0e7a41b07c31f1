//! Whose a data directory is: a file in it says which world it was made for, and under which tag its jobs are in Slurm.
//!
//! Work of one world is not found in another; so a directory keeps its world, and while jobs live, its user too.

use crate::fault::Fault;
use crate::folder::{self, Folder};
use consort_slurm::engine::About;
use serde::{Deserialize, Serialize};

const FILE: &str = "slurm.json";

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Begins the tag of every job.
    pub tag: String,
    /// Whose jobs these are.
    pub user: String,
}

impl Mark {
    /// Reads it, or makes a new one for a directory that nobody has used.
    pub fn read(folder: &Folder) -> Result<Self, Fault> {
        let path = folder.path().join(FILE);
        match folder::read(&path)? {
            Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                Fault::new(
                    format!("{}: {error}", path.display()),
                    "restore the previous one, or give another --data-dir",
                )
            }),
            None => {
                if folder.path().join("inventory.json").exists() {
                    return Err(Fault::request(
                        format!("{} belongs to `consort up`", folder.path().display()),
                        "give another --data-dir",
                    ));
                }
                Ok(Self { tag: format!("consort:{}", &folder::dice()?[..16]), user: String::new() })
            }
        }
    }

    /// Writes down whose jobs these are; not while jobs of somebody else are alive.
    pub fn settle(mut self, folder: &Folder, about: &About, is_busy: bool) -> Result<Self, Fault> {
        if is_busy && !self.user.is_empty() && self.user != about.user {
            return Err(Fault::new(
                format!(
                    "jobs of this data directory run in Slurm as {}, and {} acts as {}",
                    self.user, about.how, about.user
                ),
                "reach Slurm as before, or wait until those jobs have ended",
            ));
        }
        if self.user != about.user {
            self.user.clone_from(&about.user);
            let text = serde_json::to_string_pretty(&self).expect("plain data");
            folder::write_private(&folder.path().join(FILE), &text)?;
        }
        Ok(self)
    }

    /// Whether a directory is Slurm's, for other worlds that would use it.
    pub fn is_there(folder: &Folder) -> bool {
        folder.path().join(FILE).exists()
    }
}
