//! What is chosen, how it is sorted, and what keys do.

use super::sample::Sample;
use consort_api::shapes::{Job, State};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::BTreeSet;

/// The page, between two drawings.
pub struct Page {
    pub sample: Sample,
    /// Why the last question was not answered.
    pub trouble: Option<String>,
    /// What became of the last act.
    pub said: Option<String>,
    /// The job that is chosen, by id: rows move, and the choice stays with the job.
    pub chosen: Option<u64>,
    /// A job that would be cancelled if the answer is yes.
    pub asking: Option<u64>,
    /// Jobs that were paused from here: while one is still stopping, the same key undoes it.
    pub paused: BTreeSet<u64>,
    pub sort: Sort,
}

/// In which order jobs are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// What runs first, then what waits, each by id.
    State,
    /// The newest first.
    Newest,
    /// The largest first.
    Devices,
    /// By tenant.
    Tenant,
}

impl Sort {
    /// For the line at the bottom.
    pub fn word(self) -> &'static str {
        match self {
            Sort::State => "state",
            Sort::Newest => "newest",
            Sort::Devices => "devices",
            Sort::Tenant => "tenant",
        }
    }

    fn next(self) -> Self {
        match self {
            Sort::State => Sort::Newest,
            Sort::Newest => Sort::Devices,
            Sort::Devices => Sort::Tenant,
            Sort::Tenant => Sort::State,
        }
    }
}

/// What is to be done to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Cancel(u64),
    Pause(u64),
    Resume(u64),
}

/// What a key asks of the loop that runs the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    Leave,
    Act(Act),
}

impl Page {
    /// With the first answer.
    pub fn new(sample: Sample) -> Self {
        let mut page = Self {
            sample,
            trouble: None,
            said: None,
            chosen: None,
            asking: None,
            paused: BTreeSet::new(),
            sort: Sort::State,
        };
        page.order();
        page
    }

    /// The next answer takes the place of the last.
    pub fn show(&mut self, sample: Sample) {
        self.sample = sample;
        self.trouble = None;
        self.order();
    }

    /// The position of the chosen job.
    pub fn position(&self) -> Option<usize> {
        self.sample.jobs.iter().position(|job| Some(job.id) == self.chosen)
    }

    fn order(&mut self) {
        let rank = |job: &Job| match job.state {
            State::Running => 0,
            State::Starting => 1,
            State::Stopping => 2,
            State::Waiting => 3,
            State::Held => 4,
            State::Paused => 5,
            State::Succeeded | State::Failed | State::Cancelled => 6,
        };
        let jobs = &mut self.sample.jobs;
        match self.sort {
            Sort::State => jobs.sort_by_key(|job| (rank(job), job.id)),
            Sort::Newest => jobs.sort_by_key(|job| std::cmp::Reverse(job.id)),
            Sort::Devices => jobs.sort_by_key(|job| (std::cmp::Reverse(job.devices), job.id)),
            Sort::Tenant => jobs.sort_by(|one, other| (&one.tenant, one.id).cmp(&(&other.tenant, other.id))),
        }
        if self.position().is_none() {
            self.chosen = self.sample.jobs.first().map(|job| job.id);
        }
        if self.asking.is_some_and(|id| !self.sample.jobs.iter().any(|job| job.id == id)) {
            self.asking = None;
        }
    }

    fn go(&mut self, steps: isize) {
        let Some(last) = self.sample.jobs.len().checked_sub(1) else { return };
        let position = self.position().unwrap_or(0).saturating_add_signed(steps).min(last);
        self.chosen = Some(self.sample.jobs[position].id);
    }

    /// What a key does.
    pub fn press(&mut self, key: KeyEvent) -> Option<Pressed> {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Some(Pressed::Leave);
        }
        if let Some(job) = self.asking.take() {
            return match key.code {
                KeyCode::Char('y' | 'Y') => Some(Pressed::Act(Act::Cancel(job))),
                _ => None,
            };
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Some(Pressed::Leave),
            KeyCode::Up | KeyCode::Char('k') => self.go(-1),
            KeyCode::Down | KeyCode::Char('j') => self.go(1),
            KeyCode::PageUp => self.go(-10),
            KeyCode::PageDown => self.go(10),
            KeyCode::Home => self.go(isize::MIN),
            KeyCode::End => self.go(isize::MAX),
            KeyCode::Char('s') => {
                self.sort = self.sort.next();
                self.order();
            }
            KeyCode::Char('c') => self.asking = self.position().and(self.chosen),
            KeyCode::Char('p') => {
                let job = self.sample.jobs.get(self.position()?)?;
                let is_pausing = self.paused.remove(&job.id) && job.state == State::Stopping;
                if is_pausing || job.state == State::Paused {
                    return Some(Pressed::Act(Act::Resume(job.id)));
                }
                self.paused.insert(job.id);
                return Some(Pressed::Act(Act::Pause(job.id)));
            }
            _ => {}
        }
        None
    }
}
