//! The circumstances of a simulated run: how long starts and stops take, what is allowed, what goes wrong.

use crate::failure::Failure;
use crate::names;
use clap::Args;
use consort_sched::policy::{Entry, NotFound};
use consort_sched::stock::{self, Placing};
use consort_sim::run::Setup;
use consort_sim::workload::{Cluster, Workload};
use consort_sim::world::{Delays, Faults};
use consort_types::{Capabilities, Resize, Span};

/// Options that `simulate` and `compare` share.
#[derive(Args)]
#[command(next_help_heading = "Simulated world")]
pub struct Circumstances {
    /// Placement for policies whose name has none (fifo/spread has one); `consort policies` lists them
    /// [default: consolidated]
    #[arg(long, value_name = "NAME", value_parser = place)]
    place: Option<&'static Placing>,
    /// Time from the decision to start a job until it runs, such as 30s
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = span, allow_hyphen_values = true)]
    start_delay: Span,
    /// Time from the decision to stop a job until its devices are free
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = span, allow_hyphen_values = true)]
    stop_delay: Span,
    /// Never preempt running jobs, whatever the policy decides
    #[arg(long)]
    no_preemption: bool,
    /// How running elastic gangs get other widths: while they run, or by a restart [default: not at all]
    #[arg(long, value_name = "HOW", value_enum)]
    resize: Option<How>,
    /// Share of starts that fail and are retried, from 0 to 0.9
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share, allow_hyphen_values = true)]
    failed_starts: f64,
    /// Share of reports that reach the scheduler up to a minute late, from 0 to 0.9
    #[arg(
        long,
        alias = "late-news",
        value_name = "SHARE",
        default_value = "0",
        value_parser = share,
        allow_hyphen_values = true
    )]
    late_reports: f64,
    /// Crash the controller after every N instants and recover it from its journal; the outcome must not change
    #[arg(long, value_name = "N", value_parser = crate::live::number)]
    crash_every: Option<u64>,
}

/// How running work is resized.
#[derive(Clone, Copy, clap::ValueEnum)]
enum How {
    /// Members join and leave while it runs
    InPlace,
    /// The attempt ends, and the next one starts at another width
    Restart,
}

impl Circumstances {
    /// What is not as kind as it could be, in words.
    pub fn words(&self) -> String {
        let mut words = vec![format!("placement {} unless a policy says otherwise", self.place().name)];
        let times = [(self.start_delay, "starts take"), (self.stop_delay, "stops take")];
        words.extend(
            times.iter().filter(|(span, _)| *span > Span::ZERO).map(|(span, what)| format!("{what} {span}")),
        );
        words.extend(self.no_preemption.then(|| "no preemption".to_string()));
        words.extend(self.resize.map(|how| match how {
            How::InPlace => "elastic jobs are resized in place".to_string(),
            How::Restart => "elastic jobs are resized by a restart".to_string(),
        }));
        let shares = [(self.failed_starts, "of starts fail"), (self.late_reports, "of reports are late")];
        let shares = shares.iter().filter(|(share, _)| *share > 0.0);
        words.extend(shares.map(|(share, what)| format!("{} {what}", crate::numbers::percent(*share))));
        words.extend(
            self.crash_every.map(|every| format!("the controller crashes after every {every} instants")),
        );
        words.join("; ")
    }

    fn place(&self) -> &'static Placing {
        self.place.unwrap_or(&stock::PLACES[0])
    }

    /// Refuses a placement that was asked for by name where the only policy takes none.
    pub fn suits(&self, entry: &Entry) -> Result<(), Failure> {
        match self.place {
            Some(place) if !entry.takes_placement() => {
                let (policy, place) = (entry.name.to_string(), place.name.to_string());
                Err(Failure::request(NotFound::TakesNone { policy, place }, "leave out --place"))
            }
            _ => Ok(()),
        }
    }

    /// A run under these circumstances.
    pub fn setup(&self, cluster: &Cluster, workload: &Workload, entry: &Entry, seed: u64) -> Setup {
        let policy = entry.placed(self.place()).seeded(seed);
        let resize = match self.resize {
            None => Resize::No,
            Some(How::InPlace) => Resize::InPlace,
            Some(How::Restart) => Resize::Restart,
        };
        let capabilities = Capabilities { preempts: !self.no_preemption, resize, ..Capabilities::default() };
        let delays = Delays { start: self.start_delay, stop: self.stop_delay, ..Delays::default() };
        let faults = Faults {
            refuse: self.failed_starts,
            late: self.late_reports,
            late_seconds: 60,
            ..Faults::default()
        };
        let mut setup = Setup::new(cluster, workload, policy);
        setup.crash_every = self.crash_every;
        setup.world = setup.world.able(capabilities).delayed(delays).breaking(faults, seed);
        setup
    }
}

fn place(name: &str) -> Result<&'static Placing, String> {
    let known: Vec<&str> = stock::PLACES.iter().map(|place| place.name).collect();
    let found = stock::PLACES.iter().find(|place| place.name == name);
    found.ok_or_else(|| names::meant(name, &known, "available:"))
}

fn span(text: &str) -> Result<Span, String> {
    match text.parse::<Span>() {
        Ok(span) if span >= Span::ZERO && span <= Span::CENTURY => Ok(span),
        Ok(_) => Err("expected a time from 0s to a century".into()),
        Err(expected) => Err(format!("expected {expected}")),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=0.9).contains(&share) => Ok(share),
        _ => Err("expected a share from 0 to 0.9".into()),
    }
}
