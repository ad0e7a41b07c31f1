//! What running jobs report of themselves, and the pace at which work is counted.

use crate::scheduler::Scheduler;
use crate::state::State;
use crate::state::jobs::{Job, Progress};
use crate::state::observed::Setting;
use consort_types::*;

impl Scheduler {
    pub(super) fn progress(&mut self, reports: &[Report]) {
        reports.iter().for_each(|report| self.report(report));
        self.stirred |= self.policy.heeds_reports();
    }

    fn report(&mut self, Report { allocation: id, sample }: &Report) {
        let state = &mut self.state;
        let (at, seen, most) = (state.now, state.seen, state.constants().learned);
        let Some(setting) = state.jobs.allocation(*id).map(|found| setting(state, &found.placement, 0))
        else {
            return;
        };
        let job = state.jobs.get_mut(id.ask.job).expect("it holds devices");
        let index = job.index(id.ask).expect("it holds devices") as u32;
        let reported = job.reported.get_or_insert_default();
        let known = reported.progress.entry(index).or_default();
        known.sample.update(sample);
        (known.attempt, known.at) = (id.attempt, at);
        if sample.rate_nano > 0 {
            let setting = Setting { batch: known.sample.batch, ..setting };
            let unit = known.sample.unit.clone();
            reported.rates.report(setting, sample.rate_nano, seen);
            let name = (job.tenant, job.spec.name.as_str());
            state.observed.report(name, unit.as_ref(), (setting, sample.rate_nano), (seen, most));
        }
        self.holders.note(id.ask);
    }
}

/// The setting that a placement amounts to.
pub(crate) fn setting(state: &State, placement: &Placement, batch: u64) -> Setting {
    let cluster = &state.cluster;
    let first = placement.devices().next().or(placement.grants.first());
    let kind = first.map_or(KindId::default(), |grant| cluster.device(grant.device).kind);
    let mut nodes: Vec<NodeId> =
        placement.grants.iter().map(|grant| cluster.device(grant.device).node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let width = placement.fills.iter().map(|fill| fill.count).sum();
    Setting { kind, width, nodes: nodes.len() as u32, batch }
}

/// How fast a placement is against the full width, as a fraction. As it was observed, where reports are known both of such
/// a placement and of the full width; in proportion to the width otherwise.
pub(crate) fn pace(state: &State, job: &Job, placement: &Placement, most: u32) -> (u64, u64) {
    let members: u32 = placement.fills.iter().map(|fill| fill.count).sum();
    observed_pace(state, job, placement, most).unwrap_or((members.into(), most.into()))
}

fn observed_pace(state: &State, job: &Job, placement: &Placement, most: u32) -> Option<(u64, u64)> {
    let of_name = state.observed.of(job.tenant, &job.spec.name)?;
    let setting = setting(state, placement, 0);
    let own = job.reported.as_ref().map(|reported| &reported.rates);
    let full = own.and_then(|own| own.fastest(most)).or_else(|| of_name.fastest(most))?.rate_nano;
    let here = own.and_then(|own| own.rate(&setting)).or_else(|| of_name.rate(&setting))?.rate_nano;
    (full > 0).then_some((here, full))
}

impl Progress {
    /// Part of the work that is done, in thousandths, where the job says how much there is.
    pub fn thousandths(&self) -> Option<u16> {
        let Sample { done_milli: done, total_milli: total, .. } = self.sample;
        (total > 0).then(|| (u128::from(done.min(total)) * 1000 / u128::from(total)) as u16)
    }
}

#[cfg(test)]
mod tests {
    use crate::belief::{length, speed};
    use crate::{Scheduler, stock};
    use consort_types::*;
    use std::sync::Arc;

    const SECOND: u64 = 1_000_000_000;

    fn say(scheduler: &mut Scheduler, at: i64, input: Input) -> Result<(), Refusal> {
        let event = scheduler.accept(Time(Span::seconds(at).0), input)?;
        scheduler.apply(&event);
        Ok(())
    }

    /// A node with four devices.
    fn house() -> Scheduler {
        let mut scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
        let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
        let devices = vec![DeviceGroup { kind: "a".into(), count: 4, island: 0 }];
        for input in [
            Input::SetKind(KindSpec::named("a")),
            Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }),
            Input::SetQueue(queue),
            Input::NodeJoined(NodeSpec { name: "n".into(), devices, ..NodeSpec::default() }),
        ] {
            say(&mut scheduler, 0, input).expect("in order");
        }
        scheduler
    }

    /// Submits an elastic job and lets it run. Its first attempt.
    fn run(scheduler: &mut Scheduler, at: i64, name: &str, min: u32, max: u32) -> AllocationId {
        let mut spec =
            JobSpec { estimate: Some(Span::seconds(3600)), ..JobSpec::gang(name, max, Shape::of("a")) };
        spec.stages[0].roles[0].count = Count { min, max };
        let id = AllocationId { ask: AskId::whole(scheduler.view().next_job()), attempt: 1 };
        say(scheduler, at, Input::Submit(Arc::new(spec))).expect("in order");
        let plan = scheduler.plan(Time(Span::seconds(at).0));
        scheduler.apply(&Event::new(Time(Span::seconds(at).0), Fact::Planned(plan)));
        say(scheduler, at, Input::Started(id)).expect("it was granted");
        id
    }

    fn report(allocation: AllocationId, done: u64, rate_nano: u64) -> Report {
        let sample = Sample {
            done_milli: done * 1_000,
            total_milli: 100_000,
            rate_nano,
            unit: Some("step".into()),
            ..Sample::default()
        };
        Report { allocation, sample }
    }

    #[test]
    fn what_a_job_reports_replaces_what_it_declared() {
        let mut scheduler = house();
        let id = run(&mut scheduler, 0, "train", 2, 2);
        let left = |scheduler: &Scheduler, at: i64| {
            length::time_left(&scheduler.view(), id.ask, Time(Span::seconds(at).0))
                .expect("it has an estimate")
        };
        assert_eq!(left(&scheduler, 10), Span::seconds(3590));
        let nothing = scheduler.plan(Time(Span::seconds(10).0));
        assert!(nothing.is_empty() && !scheduler.is_stirred());
        say(&mut scheduler, 10, Input::Progress(vec![report(id, 20, 2 * SECOND)])).expect("it runs");
        assert_eq!(left(&scheduler, 10), Span::seconds(40), "80 steps at 2 a second");
        assert_eq!(left(&scheduler, 30), Span::seconds(20), "it goes on between reports");
        assert!(!scheduler.is_stirred(), "a report is no reason to plan for a policy that does not heed it");
        assert_eq!(scheduler.audit(), Vec::<String>::new());
        let saved = scheduler.save();
        let restored = Scheduler::restore(stock::standard().policy(), Capabilities::default(), saved);
        assert_eq!((restored.state_hash(), left(&restored, 30)), (scheduler.state_hash(), Span::seconds(20)));
    }

    #[test]
    fn a_change_of_speed_reaches_the_belief_within_a_minute() {
        let mut scheduler = house();
        let id = run(&mut scheduler, 0, "train", 2, 2);
        for at in 1..=30 {
            say(&mut scheduler, 10 * at, Input::Progress(vec![report(id, 1, SECOND)])).expect("it runs");
        }
        for at in 31..=36 {
            say(&mut scheduler, 10 * at, Input::Progress(vec![report(id, 1, 2 * SECOND)])).expect("it runs");
        }
        let view = scheduler.view();
        let ask = view.ask(id.ask).expect("it runs");
        let belief = speed::rate(&ask, &ask.setting().expect("it runs")).expect("it reported");
        assert!(belief.value > SECOND * 18 / 10 && belief.spread > 0 && belief.count == 36, "{belief:?}");
    }

    #[test]
    fn reports_that_are_stale_or_absurd_are_refused_and_the_others_are_taken() {
        let mut scheduler = house();
        let id = run(&mut scheduler, 0, "train", 2, 2);
        let refused = |scheduler: &mut Scheduler, reports: Vec<Report>| {
            say(scheduler, 1, Input::Progress(reports)).expect_err("it is wrong").rule
        };
        let later = AllocationId { attempt: 2, ..id };
        let unknown = AllocationId { ask: AskId::whole(JobId(9)), attempt: 1 };
        let absurd =
            Report { sample: Sample { done_milli: u64::MAX, ..Sample::default() }, ..report(id, 1, 1) };
        assert_eq!(refused(&mut scheduler, vec![report(later, 1, 1)]), Rule::Stale);
        assert_eq!(refused(&mut scheduler, vec![report(unknown, 1, 1)]), Rule::Stale);
        assert_eq!(refused(&mut scheduler, vec![absurd.clone()]), Rule::OutOfRange);
        assert_eq!(refused(&mut scheduler, vec![]), Rule::Malformed);
        let mixed = vec![report(later, 1, 1), report(id, 7, SECOND), absurd];
        let event = scheduler.accept(Time::ZERO, Input::Progress(mixed)).expect("one is right");
        assert_eq!(event.fact, Fact::Accepted(Input::Progress(vec![report(id, 7, SECOND)])));
        scheduler.apply(&event);
        // Back to an earlier save: the work is less, and that is no speed.
        say(&mut scheduler, 2, Input::Progress(vec![report(id, 5, 0)])).expect("it runs");
        let view = scheduler.view();
        let progress = view.ask(id.ask).and_then(|ask| ask.progress()).expect("it reported");
        assert_eq!((progress.sample.done_milli, progress.sample.rate_nano), (5_000, SECOND));
        assert_eq!(progress.thousandths(), Some(50));
    }

    #[test]
    fn what_one_job_taught_is_known_of_the_next_of_its_name() {
        let mut scheduler = house();
        let first = run(&mut scheduler, 0, "train", 2, 2);
        say(&mut scheduler, 10, Input::Progress(vec![report(first, 1, 3 * SECOND)])).expect("it runs");
        say(&mut scheduler, 20, Input::over(first, Outcome::Succeeded)).expect("it runs");
        let second = run(&mut scheduler, 30, "train", 2, 3);
        let other = run(&mut scheduler, 40, "other", 1, 1);
        let view = scheduler.view();
        let of = |id: AllocationId, width| {
            let ask = view.ask(id.ask)?;
            speed::rate(&ask, &speed::Setting { width, ..ask.setting()? })
        };
        assert_eq!(of(second, 2).map(|belief| (belief.value, belief.count)), Some((3 * SECOND, 1)));
        let wider = of(second, 4).expect("concluded from two members");
        assert!(
            wider.value.abs_diff(6 * SECOND) < 100 && wider.spread > SECOND && wider.count == 0,
            "{wider:?}"
        );
        assert_eq!(of(other, 1), None);
    }

    #[test]
    fn work_is_counted_by_the_rate_that_was_observed() {
        // Four members are no faster than two here, which nobody declared.
        let mut scheduler = house();
        let wide = run(&mut scheduler, 0, "train", 1, 4);
        say(&mut scheduler, 10, Input::Progress(vec![report(wide, 1, SECOND)])).expect("it runs");
        say(&mut scheduler, 100, Input::over(wide, Outcome::Succeeded)).expect("it runs");
        run(&mut scheduler, 100, "other", 2, 2);
        let narrow = run(&mut scheduler, 100, "train", 1, 4);
        let worked = |scheduler: &Scheduler, at: i64| {
            let view = scheduler.view();
            view.ask(narrow.ask).expect("it runs").worked_until(Time(Span::seconds(at).0))
        };
        assert_eq!(worked(&scheduler, 200), Span::seconds(50), "half the width, as far as is known");
        say(&mut scheduler, 200, Input::Progress(vec![report(narrow, 1, SECOND)])).expect("it runs");
        assert_eq!(
            worked(&scheduler, 200),
            Span::seconds(100),
            "what an earlier job told of four members counts"
        );
    }
}
