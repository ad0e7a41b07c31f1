//! A reason, as facts: which one it is and what it is made of. How it is worded is told beside it.

use consort_types::{AskId, Holder, Reason};
use serde_json::{Value, json};

pub fn facts(ask: AskId, reason: &Reason) -> Value {
    let (name, detail) = match reason {
        Reason::Running { since, devices, apart } => {
            ("running", json!({"since": since, "devices": devices, "apart": apart}))
        }
        Reason::Resizing { devices, from, to, in_place, after } => (
            "resizing",
            json!({
                "devices": devices, "from": from, "to": to, "in_place": in_place,
                "after": after.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }),
        ),
        Reason::Starting => ("starting", Value::Null),
        Reason::Next => ("next", Value::Null),
        Reason::Releasing => ("releasing", Value::Null),
        Reason::Done => ("done", Value::Null),
        Reason::Paused => ("paused", Value::Null),
        Reason::AfterJobs(jobs) => ("after-jobs", json!(jobs)),
        Reason::AfterStages(stages) => ("after-stages", json!(stages)),
        Reason::BackingOff { until, last } => ("backing-off", json!({"until": until, "words": last})),
        Reason::EarlierAttempt { attempt, node } => {
            ("earlier-attempt", json!({"attempt": attempt, "node": node}))
        }
        Reason::Ceiling { tenant, kind, ceiling, in_use, needs } => (
            "ceiling",
            json!({"tenant": tenant, "kind": kind, "ceiling": ceiling, "in_use": in_use, "needs": needs}),
        ),
        Reason::HostCeiling { tenant, pool, ceiling, in_use, needs } => (
            "host-ceiling",
            json!({
                "tenant": tenant, "pool": pool.name(), "ceiling": ceiling, "in_use": in_use, "needs": needs,
            }),
        ),
        Reason::Behind { head, name, queue } => {
            ("behind", json!({"head": head.to_string(), "name": name, "queue": queue}))
        }
        Reason::NoRoom {
            needs,
            free,
            closed,
            foreign,
            ill,
            scattered,
            hosted,
            nearest: _,
            holders,
            others,
            most: _,
        } => (
            "no-room",
            json!({
                "free": free, "closed": closed, "foreign": foreign, "ill": ill, "scattered": scattered,
                "hosted": hosted, "holders": holders.iter().map(holder).collect::<Vec<_>>(), "others": others,
                "words": needs,
            }),
        ),
        Reason::Promised(from) => {
            ("promised", json!(from.iter().map(ToString::to_string).collect::<Vec<_>>()))
        }
        Reason::Deferred { policy, why } => ("deferred", json!({"policy": policy, "words": why})),
        Reason::NotReached => ("not-reached", Value::Null),
    };
    json!({"ask": ask.to_string(), "reason": name, "detail": detail})
}

fn holder(holder: &Holder) -> Value {
    json!({"name": holder.name, "devices": holder.devices, "until": holder.until})
}
