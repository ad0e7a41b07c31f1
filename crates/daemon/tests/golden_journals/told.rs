//! What a scheduler knows, as lines of JSON: one for each thing, made from its public face only.
//!
//! Facts are numbers, names and choices; they must never change. Words are sentences for people, which may be put
//! better; they stand below `words` and can be blessed. A later version may add keys to a line and kinds of lines.

use crate::story::Story;
use crate::told_reason;
use consort_daemon::journal::history::Record;
use consort_sched::{AskView, Doing, JobView, Scheduler, View};
use consort_types::*;
use serde_json::{Map, Value, json};

/// One line.
#[derive(Clone)]
pub struct Told {
    /// The kind of thing: `job`, `tenant`.
    pub what: String,
    pub facts: Value,
}

impl Told {
    pub fn new(what: &str, facts: Value) -> Self {
        Self { what: what.into(), facts }
    }

    pub fn parse(line: &str) -> Self {
        let value: Map<String, Value> = serde_json::from_str(line).expect("a line of JSON");
        let (what, facts) = value.into_iter().next().expect("one thing in a line");
        Self { what, facts }
    }

    pub fn line(&self) -> String {
        json!({ &*self.what: self.facts }).to_string()
    }
}

/// Kinds together, and each in the order of its ids.
pub fn sort(told: &mut [Told]) {
    told.sort_by(|a, b| (&a.what, a.facts["id"].as_u64()).cmp(&(&b.what, b.facts["id"].as_u64())));
}

/// Everything but the jobs that ended.
pub fn scheduler(story: &Story, scheduler: &Scheduler) -> Vec<Told> {
    let view = scheduler.view();
    let mut told = vec![Told::new(
        "journal",
        json!({
            "position": view.seen(), "now": view.now(), "next_job": view.next_job(), "settings": view.settings(),
            "living": view.living_count(), "waiting": view.waiting().map(|ask| ask.to_string()).collect::<Vec<_>>(),
            "granted": view.granted().map(|ask| ask.to_string()).collect::<Vec<_>>(),
        }),
    )];
    told.extend(view.kinds().map(|(_, kind)| Told::new("kind", json!(kind))));
    told.extend(view.queues().map(|(_, queue)| Told::new("queue", json!(queue))));
    told.extend(view.tenants().map(|(id, spec)| tenant(&view, id, spec)));
    told.extend(view.nodes().map(|node| self::node(&view, &node)));
    told.extend(view.jobs().map(|job| self::job(story, scheduler, &job)));
    told
}

/// What a tenant is promised, holds and has used, kind by kind.
fn tenant(view: &View<'_>, id: TenantId, spec: &TenantSpec) -> Told {
    let account = |(kind, spec): (KindId, &KindSpec)| {
        let account = view.account(id, kind);
        json!({
            "kind": spec.name, "guarantee": account.guarantee, "ceiling": account.ceiling, "held": account.held,
            "usage_device_ms": account.usage_device_ms, "recent": view.recent(id, kind),
        })
    };
    let accounts: Vec<Value> = view.kinds().map(account).collect();
    let pool = |pool: Pool| {
        let account = view.pool_account(id, pool);
        json!({
            "pool": pool.name(), "ceiling": account.ceiling, "held": account.held,
            "usage_ms": account.usage_ms.to_string(),
        })
    };
    Told::new("tenant", json!({"spec": spec, "accounts": accounts, "pools": Pool::ALL.map(pool)}))
}

fn node(view: &View<'_>, node: &consort_sched::NodeView<'_>) -> Told {
    let device = |position: u32| {
        let device = view.device(DeviceId(node.first.0 + position));
        json!({"held": device.held, "foreign": device.foreign, "ill": device.ill})
    };
    let devices: Vec<Value> = (0..node.devices).map(device).collect();
    let facts = json!({
        "spec": node.spec, "usable": node.usable, "fenced": node.fenced, "suspect": node.suspect,
        "drained": node.drained, "devices": devices,
    });
    Told::new("node", facts)
}

/// One living job: what was submitted, what it runs, where each ask is, and why.
fn job(story: &Story, scheduler: &Scheduler, job: &JobView<'_>) -> Told {
    let view = scheduler.view();
    let now = view.now();
    let explained = scheduler.explain(now, job.id()).expect("it is alive");
    let asks: Vec<Value> = job.asks().map(|id| ask(&view, &view.ask(id).expect("its own"), now)).collect();
    let reasons: Vec<Value> =
        explained.asks.iter().map(|(ask, reason)| told_reason::facts(*ask, reason)).collect();
    let sentences: Vec<String> =
        explained.asks.iter().map(|(ask, reason)| format!("{ask} {reason}")).collect();
    let (spec, work) = story.shelf().work(job.id()).expect("it can be read").expect("it was submitted");
    assert_eq!(*spec, *job.spec(), "job {} is not what was submitted", job.id());
    let facts = json!({
        "id": job.id(), "spec": job.spec(), "work": *work, "submitted": job.submitted(), "paused": job.is_paused(),
        "ending": job.ending().map(consort_sched::Why::ending).map(|ending| format!("{ending:?}").to_lowercase()),
        "after": job.after().collect::<Vec<_>>(), "asks": asks, "reasons": reasons, "words": sentences,
    });
    Told::new("job", facts)
}

fn ask(view: &View<'_>, ask: &AskView<'_>, now: Time) -> Value {
    let phase = match ask.doing() {
        Doing::Blocked => "blocked",
        Doing::Waiting => "waiting",
        Doing::Planned => "planned",
        Doing::Starting => "starting",
        Doing::Running => "running",
        Doing::Releasing => "releasing",
        Doing::Done => "done",
    };
    let place = |grant: &Grant| {
        let (node, position) = view.locate(grant.device);
        let name = view.node_by_id(node).map(|node| node.spec.name.clone());
        json!({"node": name, "device": position, "share": grant.share, "memory_bytes": grant.memory_bytes})
    };
    json!({
        "ask": ask.id().to_string(), "phase": phase, "attempt": ask.attempt(), "fills": ask.fills(),
        "placement": ask.grants().iter().map(place).collect::<Vec<_>>(), "width": ask.width(),
        "first_started": ask.first_started(), "running_since": ask.running_since(), "queued": ask.queued(),
        "not_before": ask.not_before(), "turn": ask.turn(), "preemptions": ask.preemptions(),
        "restarts": ask.restarts(), "served": ask.served_until(now), "worked": ask.worked_until(now),
        "attained": ask.attained_until(now).to_string(), "last_spell": ask.last_spell(),
        "words": ask.last_words(now),
    })
}

/// One job that ended.
pub fn ended(record: &Record) -> Told {
    let row = record.row();
    let facts = json!({
        "id": record.job, "name": row.name, "tenant": row.tenant, "queue": row.queue, "state": row.state,
        "submitted": record.submitted, "started": record.started, "ended": record.ended, "exit_code": record.exit_code,
        "waited": record.waited, "served": record.served, "restarts": record.restarts, "devices": row.devices,
        "preemptions": record.preemptions, "attempts": record.attempts, "words": record.why,
    });
    Told::new("ended", facts)
}
