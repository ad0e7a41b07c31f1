//! A page about simulated runs: one HTML file with tables and pictures, to be looked at, printed or sent to somebody.
//!
//! Data in, text out: [`html`] takes what came out of the runs and returns the page; whoever calls it writes the file.
//! The page needs nothing else: no network, no script, no font. It follows the reader's choice of light or dark, fits
//! narrow screens, and prints.
//!
//! | read | for |
//! |---|---|
//! | [`Page`], [`Run`], [`Sheet`] | what the page is made of |
//! | `page` | how it is put together; `page/style.css` is how it looks |
//! | `chart/*` | one picture each |
//! | [`picture`] | pictures that stand alone, about a plan inside one job |
//! | `paper` | what the plotting crate draws on: shapes with class names, so that the style sheet has the last word on colours |
//! | `axis` | where the marks of an axis are, and what they say |
//! | `markup` | the one place where text becomes markup |
//! | [`numbers`] | numbers as people read them |
//!
//! **Invariants.** Whatever a user named (jobs, tenants, policies, files, devices) reaches the page through `markup` and
//! can never become markup. The same data gives the same bytes. Every picture has a title, a description and its values
//! in a table; nothing is told by colour alone.

mod axis;
mod chart;
mod markup;
pub mod numbers;
mod page;
mod paper;
pub mod picture;
mod sheet;

pub use page::html;
pub use sheet::{Cell, Sheet};

use consort_sim::course::Course;
use consort_sim::run::Outcome;
use consort_types::{DeviceId, JobId};
use std::collections::BTreeMap;

/// Everything the page shows.
pub struct Page<'a> {
    /// What it is about, in a few words.
    pub title: String,
    /// What was run: names and what is to be said of each.
    pub facts: Vec<(String, String)>,
    /// The command that makes the page again.
    pub again: String,
    /// Policies side by side, or the figures of the only one.
    pub figures: Sheet,
    /// Jobs that came to nothing, if any: names and what is to be said of each.
    pub lost: Vec<(String, String)>,
    /// The cluster's devices in order, as people call them.
    pub devices: Vec<Device>,
    /// One for each policy.
    pub runs: Vec<Run<'a>>,
}

/// One device, as people call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The node it is in.
    pub node: String,
    /// Its position there.
    pub position: u32,
    /// Its kind.
    pub kind: String,
}

/// One run under one policy.
pub struct Run<'a> {
    /// Who decided.
    pub policy: &'a str,
    /// What came out.
    pub outcome: &'a Outcome,
    /// What happened over time.
    pub course: &'a Course,
    /// What people call the jobs, and whose they are. Needed only while the course knows who was where.
    pub jobs: BTreeMap<JobId, (&'a str, &'a str)>,
}

impl<'a> Run<'a> {
    /// What people call a job, and whose it is.
    fn job(&self, id: JobId) -> (&'a str, &'a str) {
        self.jobs.get(&id).copied().unwrap_or(("a job", "unknown tenant"))
    }
}

impl Page<'_> {
    /// What people call a device.
    fn device(&self, id: DeviceId) -> String {
        match self.devices.get(id.index()) {
            Some(device) => format!("{} {}[{}]", device.kind, device.node, device.position),
            None => id.to_string(),
        }
    }
}
