//! Events in one line each, for whoever reads the last moments of a history that failed.

use consort_types::narrate;
use consort_types::*;

/// The last few events of a history, with the names of what they are about.
pub(super) fn last(journal: &[Event], count: usize) -> Vec<String> {
    let (mut directory, first) = (Directory::default(), journal.len().saturating_sub(count));
    let mut lines = vec![];
    for (index, event) in journal.iter().enumerate() {
        directory.learn(event);
        if index >= first {
            lines.push(self::event(event, &directory));
        }
    }
    lines
}

fn event(event: &Event, directory: &Directory) -> String {
    let told = narrate::event(event, Some(directory.last_job()), directory);
    let what = match &event.fact {
        Fact::Accepted(it @ Input::Submit(_)) => format!("{} = {}", directory.last_job(), input(it)),
        Fact::Accepted(_) => told.text,
        Fact::Planned(_) => {
            let changes: Vec<String> = told.changes.into_iter().map(|change| change.text).collect();
            format!("plan: {}", changes.join("; "))
        }
    };
    format!("{:>12.3}s  {what}", event.at.as_seconds())
}

/// A request, with what it asks for.
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
        other => narrate::accepted(other, None, "", &Directory::default()).text,
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
