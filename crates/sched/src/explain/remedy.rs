//! What would let a waiting job start now.
//!
//! Nothing is guessed. Each remedy is carried out on a copy of the scheduler, and is named only if the policy then starts
//! the job. That costs a plan for each remedy, so it is asked for single jobs and not for lists.

use super::Reading;
use crate::free::Free;
use crate::lines::Lines;
use crate::scheduler::Scheduler;
use crate::view::{AskView, Doing, View};
use consort_types::*;
use std::fmt;
use std::sync::Arc;

/// Something that helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Resume the job.
    Resume {
        /// The job.
        job: JobId,
        /// Whether it then starts at once.
        starts: bool,
    },
    /// Use a drained node again.
    Undrain {
        /// Its name.
        node: String,
    },
    /// Submit it again for another kind of device.
    Kind {
        /// The name of the kind.
        kind: String,
    },
    /// Submit it again with fewer workers.
    Workers {
        /// As it is.
        from: u32,
        /// With so many it starts.
        to: u32,
    },
    /// Submit it again with fewer devices for its worker.
    Devices {
        /// As it is.
        from: u32,
        /// With so many it starts.
        to: u32,
    },
    /// Submit it again with less of its node's processors or memory for each worker.
    Host {
        /// Of which.
        pool: Pool,
        /// As it is.
        from: u64,
        /// With so much it starts.
        to: u64,
    },
    /// Submit it again with a higher priority.
    Priority {
        /// As it is.
        from: i32,
        /// With this one it starts.
        to: i32,
        /// Whether other jobs are preempted for it.
        preempts: bool,
    },
}

/// Nodes, and kinds, that are tried.
const TRIED: usize = 8;
/// Steps in which less memory is tried.
const STEPS: u64 = 16;
/// Jobs with more tasks than this are not submitted again on trial: each copy would have all of them.
const LARGE: usize = 1_000;

impl Reading<'_> {
    /// What would let a job start now. Empty for jobs that need nothing, or that nothing of this would help.
    pub fn remedies(&self, now: Time, id: JobId) -> Vec<Remedy> {
        let Some(job) = self.view().job(id).filter(|job| job.ending().is_none()) else { return vec![] };
        let asks = || job.asks().filter_map(|ask| self.view().ask(ask));
        // Only time, or the end of an earlier attempt, helps those that are held up.
        let is_held_up = |ask: &AskView<'_>| ask.not_before() > now || ask.earlier_attempt().is_some();
        let is_ready = |ask: &AskView<'_>| ask.doing() == Doing::Waiting && !is_held_up(ask);
        if !asks().any(|ask| is_ready(&ask)) && !job.is_paused() {
            return vec![];
        }
        let mut trial = Trial { scheduler: self.copy(), now };
        if job.is_paused() {
            return vec![Remedy::Resume { job: id, starts: trial.starts_if(Input::Resume(id), id) }];
        }
        if trial.start_of(id).is_some() {
            return vec![]; // it starts without help
        }
        let mut remedies = trial.undrain(&self.view(), id);
        if asks().nth(LARGE).is_none()
            && asks().all(|ask| is_ready(&ask))
            && let [StageSpec { roles, .. }] = &job.spec().stages[..]
            && let [role] = &roles[..]
        {
            trial.tell(Input::Cancel(id));
            if trial.starts_as(job.spec().clone()).is_none() {
                remedies.extend(trial.other_kind(&self.view(), job.spec(), role));
                remedies.extend(trial.narrower(job.spec(), role));
                remedies.extend(Pool::ALL.into_iter().filter_map(|pool| trial.less(job.spec(), role, pool)));
                // A higher priority takes from others: it is named only where nothing else helps.
                if remedies.is_empty() {
                    remedies.extend(trial.priority(&self.view(), job.spec()));
                }
            }
        }
        remedies
    }

    /// A scheduler to try things on.
    fn copy(&self) -> Scheduler {
        let caches = self.caches.borrow();
        let (free, lines) = (Free::clone(caches.0), Lines::clone(caches.1));
        Scheduler {
            state: self.state.clone(),
            free,
            lines,
            ..Scheduler::new(self.policy.clone(), self.capabilities)
        }
    }
}

struct Trial {
    scheduler: Scheduler,
    now: Time,
}

impl Trial {
    /// Whether it was accepted.
    fn tell(&mut self, input: Input) -> bool {
        let Ok(event) = self.scheduler.accept(self.now, input) else { return false };
        self.scheduler.apply(&event);
        self.scheduler.forget_outboxes();
        true
    }

    /// Whether the next plan starts something of a job, and whether others must stop for it.
    fn start_of(&mut self, job: JobId) -> Option<bool> {
        let plan = self.scheduler.plan(self.now);
        plan.moves.iter().find_map(|change| match change {
            Move::Start { ask, after, .. } if ask.job == job => Some(!after.is_empty()),
            _ => None,
        })
    }

    fn starts_if(&mut self, input: Input, job: JobId) -> bool {
        self.tell(input) && self.start_of(job).is_some()
    }

    /// Whether the job would start if it were submitted anew like this.
    fn starts_as(&mut self, spec: JobSpec) -> Option<bool> {
        let job = self.scheduler.view().next_job();
        if !self.tell(Input::Submit(Arc::new(spec))) {
            return None;
        }
        let start = self.start_of(job);
        self.tell(Input::Cancel(job));
        start
    }

    fn undrain(&mut self, view: &View<'_>, job: JobId) -> Vec<Remedy> {
        let drained = view.nodes().filter(|node| node.drained).take(TRIED);
        let helps = drained.filter(|node| {
            let starts = self.starts_if(Input::Undrain(node.id), job);
            self.tell(Input::Drain(node.id));
            starts
        });
        helps.map(|node| Remedy::Undrain { node: node.spec.name.clone() }).collect()
    }

    fn other_kind(&mut self, view: &View<'_>, spec: &JobSpec, role: &Role) -> Vec<Remedy> {
        let is_named = |name: &str| role.shapes.iter().any(|shape| shape.kind.as_deref() == Some(name));
        if role.shapes.iter().any(|shape| shape.kind.is_none()) {
            return vec![]; // any kind would do
        }
        // Who wants an accelerator is not helped by what is granted by name only, such as processors.
        let others = view.kinds().filter(|(_, kind)| !kind.by_name && !is_named(&kind.name));
        let others = others.map(|(_, kind)| kind.name.clone()).take(TRIED);
        let starts = others.filter(|kind| {
            let mut spec = spec.clone();
            let shapes = &mut spec.stages[0].roles[0].shapes;
            shapes.truncate(1);
            shapes[0].kind = Some(kind.clone());
            self.starts_as(spec).is_some()
        });
        starts.map(|kind| Remedy::Kind { kind }).collect()
    }

    /// The widest form that starts: fewer workers, or fewer devices for the only one.
    fn narrower(&mut self, spec: &JobSpec, role: &Role) -> Option<Remedy> {
        let is_single = role.count.min == 1;
        let from = if is_single { role.shapes.first()?.devices } else { role.count.min };
        let mut starts = |width: u32| {
            let mut spec = spec.clone();
            let role = &mut spec.stages[0].roles[0];
            match is_single {
                true => role.shapes.iter_mut().for_each(|shape| shape.devices = width.min(shape.devices)),
                false => role.count = Count::exactly(width),
            }
            self.starts_as(spec).is_some()
        };
        let (mut low, mut high) = (0, from.max(1)); // `low` starts or is nothing, `high` does not
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if starts(middle) { low = middle } else { high = middle }
        }
        match (low, is_single) {
            (0, _) => None,
            (to, true) => Some(Remedy::Devices { from, to }),
            (to, false) => Some(Remedy::Workers { from, to }),
        }
    }

    /// The most of a pool with which it starts: whole processors, or memory in steps of a sixteenth of what it asks for.
    fn less(&mut self, spec: &JobSpec, role: &Role, pool: Pool) -> Option<Remedy> {
        let from = role.shapes.iter().map(|shape| pool.of(&shape.host)).max().filter(|&from| from > 0)?;
        let step = match pool {
            Pool::Cpu => 1000,
            Pool::Memory => from.div_ceil(STEPS).next_multiple_of(if from >> 24 > 0 { 1 << 20 } else { 1 }),
        };
        let mut starts = |amount: u64| {
            let mut spec = spec.clone();
            for shape in &mut spec.stages[0].roles[0].shapes {
                let part = match pool {
                    Pool::Cpu => &mut shape.host.cpu_milli,
                    Pool::Memory => &mut shape.host.memory_bytes,
                };
                *part = amount.min(*part);
            }
            self.starts_as(spec).is_some()
        };
        let (mut low, mut high) = (0, from.div_ceil(step)); // `low` starts or is nothing, `high` does not
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if starts(middle * step) { low = middle } else { high = middle }
        }
        (low > 0).then_some(Remedy::Host { pool, from, to: low * step })
    }

    fn priority(&mut self, view: &View<'_>, spec: &JobSpec) -> Option<Remedy> {
        let highest = view.jobs().map(|job| job.spec().priority).max()?;
        let (from, to) = (spec.priority, highest.max(spec.priority).checked_add(1)?);
        let preempts = self.starts_as(JobSpec { priority: to, ..spec.clone() })?;
        Some(Remedy::Priority { from, to, preempts })
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::Resume { job, starts: true } => write!(f, "`consort resume {job}` starts it."),
            Remedy::Resume { job, starts: false } => {
                write!(f, "`consort resume {job}` puts it back in its queue.")
            }
            Remedy::Undrain { node } => write!(f, "`consort nodes undrain {node}` lets it start."),
            Remedy::Kind { kind } => write!(f, "Submitted again for kind {kind}, it would start."),
            Remedy::Workers { from, to } => {
                write!(f, "Submitted again with {to} instead of {from} workers, it would start.")
            }
            Remedy::Devices { from, to } => {
                write!(f, "Submitted again with {to} instead of {from} devices, it would start.")
            }
            Remedy::Host { pool, from, to } => {
                let (from, to) = (pool.words(*from), pool.words(*to));
                write!(f, "Submitted again with {to} instead of {from}, it would start.")
            }
            Remedy::Priority { from, to, preempts } => {
                let how = if *preempts { " once jobs that it preempts have stopped" } else { "" };
                write!(f, "Submitted again with priority {to} instead of {from}, it would start{how}.")
            }
        }
    }
}
