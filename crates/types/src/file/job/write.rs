//! A job file written back: in full, and so that reading it gives the same again.

use super::JobFile;
use super::indices;
use crate::job::{Condition, Count, Dependency, Form, OnFailure, OnOom, Role, Shape, StageSpec};
use crate::time::{Span, Time, calendar};
use crate::work::{Command, StageWork, Variant};
use serde_json::{Map, Value, json};

impl JobFile {
    /// As JSON. Notes are not part of it.
    pub fn to_json(&self) -> Value {
        let (spec, work) = (&self.spec, &self.work);
        let mut job = json!({
            "name": spec.name,
            "tenant": spec.tenant,
            "queue": spec.queue,
            "priority": spec.priority,
            "qos": spec.qos.to_string(),
            "restart_cost": span(spec.restart_cost),
            "retries": spec.retries,
            "backoff": span(spec.backoff),
            "workdir": work.workdir,
            "grace": {"signal": work.grace.signal, "span": span(work.grace.span)},
            "limits": {
                "memory": work.limits.memory_bytes.map(bytes),
                "cpus": work.limits.cpu_thousandths.map(|cpus| thousandths(cpus.into())),
                "processes": work.limits.processes,
                "open_files": work.limits.open_files,
            },
            "output": {
                "path": work.output.path,
                "rotate": bytes(work.output.rotate_bytes),
                "keep": work.output.keep,
            },
        });
        let mut optional = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                job[name] = value.into();
            }
        };
        optional("deadline", spec.deadline.map(instant));
        optional("estimate", spec.estimate.map(span));
        optional("time_limit", spec.time_limit.map(span));
        optional("image", work.image.clone());
        if !spec.after.is_empty() {
            job["after"] = spec.after.iter().map(dependency).collect();
        }
        for (name, variables) in [("env", &work.env), ("inherit", &work.inherited)] {
            if !variables.is_empty() {
                let entry = |(name, text): &(String, String)| (name.clone(), Value::from(text.as_str()));
                job[name] = variables.iter().map(entry).collect::<Map<_, _>>().into();
            }
        }
        let stages = spec.stages.iter().zip(&work.stages);
        job["stages"] = stages.map(|(stage, work)| self::stage(stage, work, &spec.stages)).collect();
        job
    }
}

fn stage(stage: &StageSpec, work: &StageWork, all: &[StageSpec]) -> Value {
    let roles = stage.roles.iter().zip(&work.commands).map(|(role, command)| self::role(role, command));
    let mut written = json!({"name": stage.name, "roles": roles.collect::<Vec<_>>()});
    if !stage.after.is_empty() {
        written["after"] = stage.after.iter().map(|&other| all[usize::from(other)].name.as_str()).collect();
    }
    if !work.variants.is_empty() {
        // Beside one role; its short form, because `roles` excludes variants.
        let role = written["roles"][0].take();
        let Value::Object(ref mut fields) = written else { unreachable!("just made") };
        fields.remove("roles");
        fields.insert("workers".into(), role["count"].clone());
        fields.insert("shapes".into(), role["shapes"].clone());
        fields.insert("run".into(), role["run"].clone());
        fields.insert("variants".into(), work.variants.iter().map(variant).collect::<Map<_, _>>().into());
    }
    match stage.form {
        Form::Gang => {}
        Form::Bag { .. } if !work.indices.is_empty() => {
            written["array"] = indices::written(&work.indices).into();
        }
        Form::Bag { tasks } => written["tasks"] = tasks.into(),
        Form::Service { replicas } => written["replicas"] = replicas.into(),
    }
    if let Form::Bag { .. } = stage.form {
        let word = if stage.on_failure == OnFailure::Stop { "stop" } else { "continue" };
        written["on_failure"] = word.into();
    }
    written
}

fn run(command: &Command) -> Value {
    match command {
        Command::Program(words) => json!(words),
        Command::Script { text, arguments } if arguments.is_empty() => json!(text),
        Command::Script { text, arguments } => json!({"script": text, "arguments": arguments}),
    }
}

fn variant(variant: &Variant) -> (String, Value) {
    let mut written = Map::new();
    if let Some(command) = &variant.command {
        written.insert("run".into(), run(command));
    }
    if let Some(image) = &variant.image {
        written.insert("image".into(), image.as_str().into());
    }
    if !variant.env.is_empty() {
        let env = variant.env.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
        written.insert("env".into(), env.collect::<Map<_, _>>().into());
    }
    (variant.kind.clone(), written.into())
}

fn role(role: &Role, command: &Command) -> Value {
    let run = run(command);
    let count = match role.count {
        Count { min, max } if min == max => min.to_string(),
        Count { min, max } => format!("{min}-{max}"),
    };
    let shapes: Vec<Value> = role.shapes.iter().map(shape).collect();
    json!({"name": role.name, "count": count, "shapes": shapes, "run": run})
}

fn shape(shape: &Shape) -> Value {
    let mut written = json!({
        "kind": shape.kind,
        "devices": shape.devices,
        "share": thousandths(shape.share.into()),
        "memory": bytes(shape.memory_bytes),
        "within": shape.within,
    });
    if !shape.features.is_empty() {
        written["features"] = json!(shape.features);
    }
    if let Some(level) = &shape.prefer {
        written["prefer"] = json!(level);
    }
    if shape.host.cpu_milli > 0 {
        written["cpus"] = thousandths(shape.host.cpu_milli).into();
    }
    if shape.host.memory_bytes > 0 {
        written["host_memory"] = bytes(shape.host.memory_bytes).into();
    }
    if shape.on_oom == OnOom::Larger {
        written["on_oom"] = "larger".into();
    }
    if !shape.precisions.is_empty() {
        written["precision"] = shape.precisions.iter().map(|precision| precision.name()).collect();
    }
    written
}

fn dependency(dependency: &Dependency) -> Value {
    let when = match dependency.when {
        Condition::Succeeded => "succeeded",
        Condition::Failed => "failed",
        Condition::Ended => "ended",
    };
    json!({"job": dependency.job.0, "when": when})
}

/// To the nanosecond: what people are shown is rounded, what is read again is not.
fn span(span: Span) -> String {
    match (span.0 / 1_000_000_000, span.0 % 1_000_000_000) {
        (seconds, 0) => format!("{seconds}s"),
        (seconds, rest) => format!("{seconds}s{rest}ns"),
    }
}

fn instant(time: Time) -> String {
    let rest = time.0.rem_euclid(1_000_000_000);
    let written = calendar::written(time);
    let whole = written.split('.').next().unwrap_or_default();
    format!("{whole}.{rest:09}Z")
}

fn bytes(bytes: u64) -> String {
    format!("{bytes}B")
}

fn thousandths(number: u64) -> String {
    format!("{}.{:03}", number / 1000, number % 1000)
}
