//! Sees every event and holds the scheduler to its promises, by means that the scheduler does not share.
//!
//! What `audit` counts again from the core's own allocations is asked for as well; everything else in here is
//! derived from the stream of events, from the specs as they were submitted, and from the read-only view.

mod resizes;

use super::words;
use crate::dice::Dice;
use consort_sched::{Doing, Ended, Scheduler, View, Watch};
use consort_types::*;
use resizes::Resizes;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// More plans than this at one instant mean that planning does not come to rest.
const PLANS_AT_ONCE: u32 = 1_000;

pub(super) struct Witness {
    /// Shared, so that it outlives a panic.
    pub journal: Rc<RefCell<Vec<Event>>>,
    pub wrong: Option<String>,
    pub plans: u64,
    pub preemptions: u64,
    pub refused: u64,
    pub ended: u64,
    pub resizes: Resizes,
    /// News that was believed, to be told again.
    pub news: Vec<Input>,
    /// How the state looked at some positions of the journal.
    pub marks: Vec<(usize, u64)>,
    dice: Dice,
    attempts: BTreeMap<AskId, u32>,
    plans_now: (Time, u32),
    /// Preemptions since anything last moved on.
    idle_preemptions: u64,
    usage: BTreeMap<(TenantId, KindId), Usage>,
    /// The same of what they hold of hosts: of processors in thousandths, of memory in bytes.
    host_usage: BTreeMap<(TenantId, Pool), Usage>,
    last_at: Time,
    /// Tenants that may stand above a ceiling, because it was lowered beneath them.
    lowered: BTreeSet<(TenantId, KindId)>,
    lowered_hosts: BTreeSet<(TenantId, Pool)>,
    gone: BTreeSet<JobId>,
}

/// Thousandths of a device times nanoseconds, as counted here; and how often the core had to round.
#[derive(Default)]
struct Usage {
    held: u64,
    area: u128,
    roundings: u64,
}

impl Usage {
    /// Time passed, and then so much is held.
    fn pass(&mut self, span: Span, held: u64) {
        self.area += u128::from(self.held) * span.0 as u128;
        self.roundings += u64::from(self.held != held) * 64;
        self.held = held;
    }

    /// What was counted here in milliseconds of a unit, where that is not what was settled once nothing is held.
    fn differs(&self, settled: u128, unit: u64) -> Option<u128> {
        let counted = self.area / (u128::from(unit) * 1_000_000);
        let is_wrong = settled > counted || settled + u128::from(self.roundings) < counted;
        (self.held == 0 && is_wrong).then_some(counted)
    }
}

/// What a tenant's jobs hold of a pool because they asked for it, going by their specs.
fn asked_of_hosts(view: &View<'_>, tenant: TenantId, pool: Pool) -> u64 {
    let asks = view.granted().filter_map(|id| view.ask(id));
    let holding = asks.filter(|ask| ask.tenant() == tenant && ask.doing() != Doing::Planned);
    let asked = holding.map(|ask| {
        let roles = ask.spec().stages[usize::from(ask.id().stage)].roles.iter().zip(ask.fills());
        let each = |(role, fill): (&Role, &Fill)| {
            pool.of(&role.shapes[usize::from(fill.shape)].host) * u64::from(fill.count)
        };
        let granted = ask.grants().iter().filter(|grant| view.pool_of(grant.device) == Some(pool));
        roles.map(each).sum::<u64>().min(granted.map(|grant| grant.memory_bytes).sum())
    });
    asked.sum()
}

impl Witness {
    pub fn new(journal: Rc<RefCell<Vec<Event>>>, seed: u64) -> Self {
        Witness {
            journal,
            wrong: None,
            plans: 0,
            preemptions: 0,
            refused: 0,
            ended: 0,
            resizes: Resizes::default(),
            news: vec![],
            marks: vec![],
            dice: Dice::new(seed),
            attempts: BTreeMap::new(),
            plans_now: (Time(i64::MIN), 0),
            idle_preemptions: 0,
            usage: BTreeMap::new(),
            host_usage: BTreeMap::new(),
            last_at: Time(i64::MIN),
            lowered: BTreeSet::new(),
            lowered_hosts: BTreeSet::new(),
            gone: BTreeSet::new(),
        }
    }

    pub fn fail(&mut self, what: String) {
        self.wrong.get_or_insert(what);
    }

    /// Whether the last thing that happened was a start.
    pub fn saw_a_start(&self) -> bool {
        let journal = self.journal.borrow();
        matches!(journal.last().map(|event| &event.fact), Some(Fact::Accepted(Input::Started(_))))
    }

    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.fail(what());
        }
    }

    fn see_plan(&mut self, plan: &Plan, view: &View<'_>) {
        for change in &plan.moves {
            match change {
                Move::Start { ask, placement, .. } => {
                    let attempts = self.attempts.entry(*ask).or_default();
                    *attempts += 1;
                    let attempts = *attempts;
                    let now = view.ask(*ask).map(|ask| ask.attempt());
                    self.expect(now == Some(attempts), || {
                        format!("{ask} has attempt {now:?}, not {attempts}")
                    });
                    let spec = view.job(ask.job).map(|job| job.spec().clone());
                    let whole = spec
                        .ok_or("of no job".into())
                        .and_then(|spec| whole(view, &spec, *ask, (placement, &[])));
                    if let Err(what) = whole {
                        self.fail(format!("{ask} was given something else than it asked for: {what}"));
                    }
                }
                Move::Stop { cause, .. } => {
                    if matches!(cause, StopCause::Preempted { .. }) {
                        self.preemptions += 1;
                        self.idle_preemptions += 1;
                    }
                }
                Move::Resize { allocation, placement, in_place, .. } => {
                    self.see_resize(*allocation, placement, *in_place, view);
                }
                Move::Fence { .. } => {}
            }
        }
        let asks: u64 = view.jobs().map(|job| job.asks().count() as u64).sum();
        let idle = self.idle_preemptions;
        self.expect(idle <= 50 * (asks + 4), || format!("{idle} preemptions, and nothing moved on"));
    }

    fn see_input(&mut self, input: &Input, view: &View<'_>) {
        match input {
            Input::Started(_) => self.news.push(input.clone()),
            Input::Resized { allocation, generation }
            | Input::ResizeRefused { allocation, generation, .. } => {
                self.news.push(input.clone());
                let is_done = matches!(input, Input::Resized { .. });
                self.see_answer(*allocation, *generation, is_done, view);
            }
            // What was stopped moved nothing on.
            Input::Ended { outcome: Outcome::Stopped, .. } => self.news.push(input.clone()),
            // Progress moves nothing on, and is believed of what runs alone.
            Input::Progress(reports) => {
                for Report { allocation, sample } in reports {
                    let runs = view.ask(allocation.ask).filter(|ask| ask.allocation() == *allocation);
                    let runs = runs.is_some_and(|ask| ask.running_since().is_some());
                    self.expect(runs && sample.batch < u64::MAX, || {
                        format!("{allocation} reported progress")
                    });
                }
            }
            Input::StartRefused { .. } | Input::Ended { .. } => {
                self.idle_preemptions = 0;
                self.news.push(input.clone());
            }
            Input::SetTenant(spec) => {
                let tenant = view.tenant(&spec.name).expect("just set");
                self.lowered.extend(view.kinds().map(|(kind, _)| (tenant, kind)));
                self.lowered_hosts.extend(Pool::ALL.map(|pool| (tenant, pool)));
            }
            _ => self.idle_preemptions = 0,
        }
    }

    /// Counts usage from grant to release, and keeps an eye on ceilings.
    fn see_accounts(&mut self, at: Time, view: &View<'_>) {
        let span = if self.last_at == Time(i64::MIN) { Span::ZERO } else { at - self.last_at };
        self.last_at = at;
        let planned: BTreeSet<TenantId> = view
            .granted()
            .filter_map(|id| view.ask(id))
            .filter(|ask| ask.doing() == Doing::Planned)
            .map(|ask| ask.tenant())
            .collect();
        for (tenant, _) in view.tenants() {
            for (kind, _) in view.kinds() {
                let account = view.account(tenant, kind);
                self.usage.entry((tenant, kind)).or_default().pass(span, account.held);
                let is_kept = account.ceiling.is_none_or(|ceiling| account.held <= ceiling);
                if is_kept && !planned.contains(&tenant) {
                    self.lowered.remove(&(tenant, kind));
                }
                if !is_kept && !self.lowered.contains(&(tenant, kind)) {
                    self.fail(format!("{tenant} holds {} of {kind}, above its ceiling", account.held));
                }
            }
            for pool in Pool::ALL {
                let account = view.pool_account(tenant, pool);
                self.host_usage.entry((tenant, pool)).or_default().pass(span, account.held);
                // What was only counted may be above it.
                let asked = asked_of_hosts(view, tenant, pool);
                let is_kept = account.ceiling.is_none_or(|ceiling| asked <= ceiling);
                if is_kept && !planned.contains(&tenant) {
                    self.lowered_hosts.remove(&(tenant, pool));
                }
                if !is_kept && !self.lowered_hosts.contains(&(tenant, pool)) {
                    self.fail(format!("{tenant} asked for {asked} of {}, above its ceiling", pool.name()));
                }
            }
        }
    }

    /// What the core settled is what was counted here, for every account that holds nothing now.
    pub fn settle(&mut self, view: &View<'_>) {
        let mut wrong = vec![];
        for (&(tenant, kind), usage) in &self.usage {
            let settled = u128::from(view.account(tenant, kind).usage_device_ms);
            if let Some(counted) = usage.differs(settled, u64::from(WHOLE)) {
                wrong
                    .push(format!("{tenant} used {counted} device-ms of {kind}, its account says {settled}"));
            }
        }
        for (&(tenant, pool), usage) in &self.host_usage {
            let (settled, name) = (view.pool_account(tenant, pool).usage_ms, pool.name());
            if let Some(counted) = usage.differs(settled, pool.unit()) {
                wrong.push(format!("{tenant} used {counted} ms of {name}, its account says {settled}"));
            }
        }
        wrong.into_iter().for_each(|what| self.fail(what));
    }

    fn see_limits(&mut self, at: Time, view: &View<'_>) {
        for id in view.granted() {
            let ask = view.ask(id).expect("it is granted");
            if let (Some(since), Some(limit)) = (ask.running_since(), ask.spec().time_limit) {
                self.expect(at <= since + limit, || format!("{id} runs on after its time limit"));
            }
        }
    }

    /// A plan with cold caches, and one asked for by a clock that jumped back, equal the plan that is due.
    fn see_caches(&mut self, at: Time, scheduler: &Scheduler) {
        let (mut warm, mut cold) = (scheduler.clone(), scheduler.clone());
        cold.drop_caches();
        let reading = warm.reading();
        for job in scheduler.view().jobs().step_by(7) {
            let _ = reading.explain(at, job.id());
        }
        let (plan, other) = (warm.plan(at), cold.plan(at + Span::seconds(-7)));
        self.expect(plan == other, || format!("cold caches give another plan: {plan:?} and {other:?}"));
        self.expect(warm.indexes_are_true(), || "a plan left the free index changed".into());
        let rejected = warm.take_rejections();
        self.expect(rejected.is_empty(), || format!("check threw a plan away: {rejected:?}"));
    }

    /// Every living job can be explained, and nobody was overlooked.
    pub fn see_reasons(&mut self, at: Time, scheduler: &Scheduler) {
        for job in scheduler.view().jobs() {
            let Some(explanation) = scheduler.explain(at, job.id()) else {
                return self.fail(format!("job {} lives and is not explained", job.id()));
            };
            for (ask, reason) in explanation.asks {
                let text = reason.to_string();
                let is_told = !text.is_empty() && reason != Reason::NotReached;
                self.expect(is_told, || format!("{ask} was not reached"));
                match reason {
                    Reason::AfterStages(stages) => {
                        self.expect(!stages.is_empty(), || format!("{ask} waits for no stage"))
                    }
                    Reason::Behind { head, .. } => {
                        let doing = scheduler.view().ask(head).map(|head| head.doing());
                        self.expect(doing == Some(Doing::Waiting) && head != ask, || {
                            format!("{ask} is said to be behind {head}, which does not wait")
                        });
                    }
                    _ => {}
                }
            }
        }
    }
}

impl Watch for Witness {
    fn event(&mut self, event: &Event, scheduler: &Scheduler) {
        self.journal.borrow_mut().push(event.clone());
        let view = scheduler.view();
        self.expect(view.now() == event.at, || "the state has another time than its last event".into());
        match &event.fact {
            Fact::Planned(plan) => self.see_plan(plan, &view),
            Fact::Accepted(input) => self.see_input(input, &view),
        }
        self.see_restarts(&view);
        self.see_accounts(event.at, &view);
        self.see_limits(event.at, &view);
        let audit = scheduler.audit();
        self.expect(audit.is_empty(), || format!("audit: {}", audit.join("; ")));
        if self.dice.chance(0.5) {
            self.see_caches(event.at, scheduler);
        }
        if self.dice.chance(0.05) {
            self.see_reasons(event.at, scheduler);
        }
        if self.dice.chance(0.01) {
            self.marks.push((self.journal.borrow().len(), scheduler.state_hash()));
        }
    }

    fn refused(&mut self, _at: Time, _input: &Input, _refusal: &Refusal) {
        self.refused += 1;
    }

    fn planned(&mut self, _plan: &Plan) {
        self.plans += 1;
        self.plans_now = if self.plans_now.0 == self.last_at {
            (self.last_at, self.plans_now.1 + 1)
        } else {
            (self.last_at, 1)
        };
        // A loop that never ends cannot be reported politely: it would never return.
        assert!(self.plans_now.1 <= PLANS_AT_ONCE, "{PLANS_AT_ONCE} plans at one instant");
    }

    fn ended(&mut self, ended: Ended) {
        self.ended += 1;
        self.idle_preemptions = 0;
        let first = self.gone.insert(ended.job);
        self.expect(first, || format!("job {} ended twice", ended.job));
        self.expect(ended.ended >= ended.submitted, || format!("job {} ended before it began", ended.job));
    }
}

/// Whether a placement is what was asked for, going by the names in the spec and in the nodes. What it has already may be
/// on a node that takes no new work.
fn whole(
    view: &View<'_>,
    spec: &JobSpec,
    ask: AskId,
    (placement, has): (&Placement, &[Grant]),
) -> Result<(), String> {
    let stage = &spec.stages[usize::from(ask.stage)];
    let mut rest = placement.devices();
    let seated =
        placement.fills.iter().zip(&stage.roles).any(|(fill, role)| {
            role.shapes.get(usize::from(fill.shape)).is_some_and(|shape| shape.devices == 0)
        });
    if seated && placement.grants.is_empty() {
        return Err("members without devices sit nowhere".into());
    }
    let node_of = |grant: &Grant| view.node_by_id(view.locate(grant.device).0).expect("a known node");
    let kinds: Vec<(KindId, &KindSpec)> = view.kinds().collect();
    if stage.roles.len() != placement.fills.len() {
        return Err("not every role is filled".into());
    }
    for (role, fill) in stage.roles.iter().zip(&placement.fills) {
        let shape = role.shapes.get(usize::from(fill.shape)).ok_or("there is no such shape")?;
        if fill.count < role.count.min || fill.count > role.count.max {
            return Err(format!("{} members", fill.count));
        }
        let mine: Vec<Grant> = rest.by_ref().take((fill.count * shape.devices) as usize).copied().collect();
        if mine.len() != (fill.count * shape.devices) as usize {
            return Err("too few devices".into());
        }
        for grant in &mine {
            let kind =
                kinds.iter().find(|(id, _)| *id == view.kind_of(grant.device)).expect("a known kind").1;
            if shape.kind.as_ref().is_some_and(|wanted| *wanted != kind.name) {
                return Err(format!("a {}", kind.name));
            }
            // Memory that nobody knows is enough for who names the kind.
            let is_short = match (kind.memory_bytes, &shape.kind) {
                (0, Some(_)) => false,
                (memory, _) => shape.memory_bytes > memory,
            };
            if grant.share != shape.share || is_short {
                return Err(format!("{} thousandths of a {}", grant.share, kind.name));
            }
            let is_new = has.iter().all(|held| held.device != grant.device);
            if is_new && !node_of(grant).usable {
                return Err("on a node that takes no work".into());
            }
        }
        if shape.devices == 0 {
            continue;
        }
        for member in mine.chunks(shape.devices as usize) {
            if member.iter().any(|grant| node_of(grant).id != node_of(&member[0]).id) {
                return Err("a member on two nodes".into());
            }
        }
        if let Some(within) = &shape.within {
            let place = |grant: &Grant| domain(&node_of(grant), view.locate(grant.device).1, within);
            let first = place(&mine[0]);
            if first.is_none() || mine.iter().any(|grant| place(grant) != first) {
                return Err(format!("not within one {within}"));
            }
        }
    }
    if rest.next().is_some() { Err("too many devices".into()) } else { Ok(()) }
}

/// The name of the domain in which a device lies, as a person would write it.
fn domain(node: &consort_sched::NodeView<'_>, position: u32, within: &str) -> Option<String> {
    match within {
        "rack" | "fabric" => Some(node.spec.domains.join("/")),
        "node" | "pcie" => Some(node.spec.name.clone()),
        _ => {
            let mut first = 0;
            for (number, group) in node.spec.devices.iter().enumerate() {
                if position < first + group.count {
                    let island = (position - first).checked_div(group.island)?;
                    return Some(format!("{}/{number}/{island}", node.spec.name));
                }
                first += group.count;
            }
            None
        }
    }
}

/// The last few events, for people.
pub(super) fn last_words(journal: &[Event], count: usize) -> Vec<String> {
    words::last(journal, count)
}
