//! What is posted to make a job.
//!
//! Versions up to 0.0.39 take the options of `sbatch` under their own names; later ones take the fields that a job is
//! shown with.

use crate::submission::{Part, Submission};
use serde_json::{Map, Value, json};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The body of a request.
pub fn of(submission: &Submission, version: u32) -> String {
    let parts: Vec<Value> = submission.parts.iter().map(|part| job(submission, part, version)).collect();
    let mut body = Map::new();
    body.insert("script".into(), submission.text.clone().into());
    match parts.len() {
        1 => body.insert("job".into(), parts.into_iter().next().unwrap_or_default()),
        _ => body.insert("jobs".into(), parts.into()),
    };
    Value::Object(body).to_string()
}

fn job(submission: &Submission, part: &Part, version: u32) -> Value {
    let is_old = version < 39;
    let mut job = Map::new();
    let mut put = |name: &str, value: Value| job.insert(name.into(), value);
    put("name", submission.name.clone().into());
    put("comment", submission.tag.clone().into());
    put("partition", submission.partition.clone().into());
    put("current_working_directory", "/".into());
    put("standard_output", submission.output.display().to_string().into());
    put("tasks", part.all_tasks().into());
    put("tasks_per_node", part.tasks.into());
    put("cpus_per_task", part.cpus.into());
    let optional = [
        ("account", &submission.account),
        ("qos", &submission.qos),
        ("reservation", &submission.reservation),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            put(name, value.clone().into());
        }
    }
    let number = |value: u64| match is_old {
        true => Value::from(value),
        false => json!({"set": true, "infinite": false, "number": value}),
    };
    if let Some(minutes) = submission.minutes {
        put("time_limit", number(minutes));
    }
    if let Some(memory) = part.memory_mb {
        put("memory_per_node", number(memory));
    }
    let gres = part.gres();
    if is_old {
        // Any value of `requeue` means yes here.
        put("no_requeue", true.into());
        put("nodes", part.nodes.len().into());
        put("nodelist", part.nodelist().into());
        put("environment", json!({"PATH": PATH}));
        if !gres.is_empty() {
            put("gres", gres.into());
        }
    } else {
        put("requeue", false.into());
        put("nodes", part.nodes.len().to_string().into());
        put("required_nodes", json!(part.nodes));
        put("environment", json!([format!("PATH={PATH}")]));
        if !gres.is_empty() {
            let each: Vec<String> = gres.split(',').map(|one| format!("gres/{one}")).collect();
            put("tres_per_node", each.join(",").into());
        }
    }
    Value::Object(job)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_bodies() {
        let part = Part {
            nodes: vec!["n1".into(), "n2".into()],
            tasks: 2,
            cpus: 1,
            memory_mb: Some(100),
            gres: crate::gres::parse("gpu:a100:2"),
        };
        let submission = Submission {
            name: "\"\n".into(),
            tag: "t".into(),
            partition: "p".into(),
            account: None,
            qos: None,
            reservation: None,
            script: "/x".into(),
            text: "#!/bin/sh\n".into(),
            output: "/o".into(),
            minutes: Some(5),
            parts: vec![part.clone()],
        };
        let read = |version| serde_json::from_str::<Value>(&of(&submission, version)).unwrap();
        let old = read(38);
        assert_eq!(old["job"]["nodelist"], "n[1-2]");
        assert_eq!(
            (old["job"]["gres"].as_str(), old["job"]["time_limit"].as_u64()),
            (Some("gpu:a100:2"), Some(5))
        );
        let new = read(41);
        assert_eq!(new["job"]["required_nodes"], json!(["n1", "n2"]));
        assert_eq!(new["job"]["tres_per_node"], "gres/gpu:a100:2");
        assert_eq!(new["job"]["time_limit"]["number"], 5);
        let two = Submission { parts: vec![part.clone(), part], ..submission.clone() };
        assert_eq!(
            serde_json::from_str::<Value>(&of(&two, 38)).unwrap()["jobs"].as_array().unwrap().len(),
            2
        );
    }

    /// What was posted to real clusters and made a job there.
    #[test]
    fn bodies_say_what_worked() {
        for version in [36, 37, 38, 40, 41, 42, 43, 44, 45] {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/recorded");
            let text = std::fs::read_to_string(format!("{folder}/v0.0.{version}/submit-body.json")).unwrap();
            let recorded: Value = serde_json::from_str(&text).unwrap();
            let (node, kind) = if version < 39 { ("n2", "a100") } else { ("m2", "h100") };
            let submission = Submission {
                name: "later".into(),
                tag: "t".into(),
                partition: "main".into(),
                account: None,
                qos: None,
                reservation: None,
                script: "/x".into(),
                text: "#!/bin/sh\nsleep 1\n".into(),
                output: "/dev/null".into(),
                minutes: Some(5),
                parts: vec![Part {
                    nodes: vec![node.into()],
                    tasks: 1,
                    cpus: 1,
                    memory_mb: None,
                    gres: crate::gres::parse(&format!("gpu:{kind}:1")),
                }],
            };
            let ours: Value = serde_json::from_str(&of(&submission, version)).unwrap();
            assert_eq!(ours["script"], recorded["script"]);
            let ours = ours["job"].as_object().unwrap();
            for (name, value) in recorded["job"].as_object().unwrap() {
                let own = ["environment", "current_working_directory"].contains(&name.as_str());
                assert!(own || ours.get(name) == Some(value), "v0.0.{version} {name}: {:?}", ours.get(name));
            }
            // Beside these there is nothing but what every version takes.
            let others = ["comment", "tasks_per_node", "cpus_per_task"];
            let is_known =
                |name: &&String| recorded["job"].get(name).is_some() || others.contains(&name.as_str());
            assert_eq!(ours.keys().find(|name| !is_known(name)), None, "v0.0.{version}");
        }
    }
}
