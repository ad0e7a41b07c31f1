//! The circumstances of a simulated run: how long starts and stops take, what is allowed, what goes wrong.

use crate::names;
use clap::Args;
use consort_sched::stock::{self, Placing, Stock};
use consort_sim::run::Setup;
use consort_sim::workload::{Cluster, Workload};
use consort_sim::world::{Delays, Faults};
use consort_types::{Capabilities, Span};

/// Options that `simulate` and `compare` share.
#[derive(Args)]
#[command(next_help_heading = "The simulated world")]
pub struct Circumstances {
    /// Where jobs are put under policies whose name does not say so, as fifo/spread does; `consort policies` lists them
    #[arg(long, value_name = "NAME", default_value = stock::PLACES[0].name, value_parser = place)]
    place: &'static Placing,
    /// Time from a decision to start a job until it runs, as in 30s
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = span, allow_hyphen_values = true)]
    start_delay: Span,
    /// Time from a decision to stop a job until its devices are free
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = span, allow_hyphen_values = true)]
    stop_delay: Span,
    /// Running jobs are left alone, whatever the policy would like
    #[arg(long)]
    no_preemption: bool,
    /// Share of starts that go wrong and are tried again, from 0 to 0.9
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share, allow_hyphen_values = true)]
    failed_starts: f64,
    /// Share of news that reaches the scheduler up to a minute late, from 0 to 0.9
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share, allow_hyphen_values = true)]
    late_news: f64,
    /// Let the controller crash after every so many instants and recover from its journal; the outcome must not change
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    crash_every: Option<u64>,
}

impl Circumstances {
    /// What is not as kind as it could be, in words.
    pub fn words(&self) -> String {
        let mut words = vec![format!("placement {} unless a policy says otherwise", self.place.name)];
        let times = [(self.start_delay, "starts take"), (self.stop_delay, "stops take")];
        words.extend(
            times.iter().filter(|(span, _)| *span > Span::ZERO).map(|(span, what)| format!("{what} {span}")),
        );
        words.extend(self.no_preemption.then(|| "no preemption".to_string()));
        let shares = [(self.failed_starts, "of starts go wrong"), (self.late_news, "of news is late")];
        let shares = shares.iter().filter(|(share, _)| *share > 0.0);
        words.extend(shares.map(|(share, what)| format!("{} {what}", crate::numbers::percent(*share))));
        words.extend(
            self.crash_every.map(|every| format!("the controller crashes after every {every} instants")),
        );
        words.join("; ")
    }

    /// A run under these circumstances.
    pub fn setup(&self, cluster: &Cluster, workload: &Workload, stock: &Stock, seed: u64) -> Setup {
        let policy = stock.placed(self.place).seeded(seed);
        let capabilities = Capabilities { preempts: !self.no_preemption, ..Capabilities::default() };
        let delays = Delays { start: self.start_delay, stop: self.stop_delay, ..Delays::default() };
        let faults = Faults {
            refuse: self.failed_starts,
            late: self.late_news,
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
    found.ok_or_else(|| names::meant(name, &known, "the placements are"))
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
