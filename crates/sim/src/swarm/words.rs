//! Events in one line each, for whoever reads the last moments of a history that failed.

use consort_types::*;

pub(super) fn event(event: &Event) -> String {
    let what = match &event.fact {
        Fact::Accepted(it) => input(it),
        Fact::Planned(plan) => {
            let moves: Vec<String> = plan.moves.iter().map(movement).collect();
            format!("plan: {}", moves.join("; "))
        }
    };
    format!("{:>12.3}s  {what}", event.at.as_seconds())
}

pub(super) fn input(input: &Input) -> String {
    match input {
        Input::Submit(spec) => {
            let stages: Vec<String> = spec.stages.iter().map(stage).collect();
            let after: Vec<String> = spec.after.iter().map(|d| format!("{:?} {}", d.when, d.job)).collect();
            format!(
                "submit {} ({}, {}, priority {}, {}, limit {:?}): {} after [{}]",
                spec.name,
                spec.tenant,
                spec.queue,
                spec.priority,
                spec.qos,
                spec.time_limit,
                stages.join(" + "),
                after.join(", ")
            )
        }
        Input::Started(id) => format!("started {id}"),
        Input::StartRefused { allocation, .. } => format!("start refused {allocation}"),
        Input::Ended { allocation, outcome, .. } => format!("ended {allocation}: {outcome}"),
        other => format!("{other:?}"),
    }
}

fn stage(stage: &StageSpec) -> String {
    let roles: Vec<String> = stage.roles.iter().map(role).collect();
    format!("{:?} [{}] after {:?}", stage.form, roles.join(", "), stage.after)
}

fn role(role: &Role) -> String {
    let shapes: Vec<String> = role
        .shapes
        .iter()
        .map(|shape| {
            format!(
                "{}x{}/{} mem {} within {}",
                shape.devices,
                shape.kind.as_deref().unwrap_or("any"),
                shape.share,
                shape.memory_bytes,
                shape.within.as_deref().unwrap_or("-")
            )
        })
        .collect();
    format!("{}-{} of {}", role.count.min, role.count.max, shapes.join(" or "))
}

fn movement(change: &Move) -> String {
    match change {
        Move::Start { ask, placement, after } => {
            let grants: Vec<String> =
                placement.grants.iter().map(|grant| format!("{}/{}", grant.device.0, grant.share)).collect();
            let after: Vec<String> = after.iter().map(ToString::to_string).collect();
            format!("start {ask} on {} after [{}]", grants.join(" "), after.join(", "))
        }
        Move::Stop { allocation, cause } => format!("stop {allocation} ({cause:?})"),
        Move::Fence { node } => format!("fence {node}"),
    }
}
