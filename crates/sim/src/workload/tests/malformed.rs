//! Malformed input and the exact sentence that it earns.

use super::*;

mod published;

fn check(cases: &[(&str, &str)], read: impl Fn(&str) -> Option<ReadError>) {
    let mut wrong = 0;
    for (text, expected) in cases {
        let found = read(text).map_or("no error".to_string(), |error| error.to_string());
        if found != *expected {
            println!("--- {text}\n    expected {expected}\n    found    {found}");
            wrong += 1;
        }
    }
    assert_eq!(wrong, 0, "of {} cases", cases.len());
}

#[test]
fn job_lists() {
    let long = format!("[{{name: {}, run: 1s}}]", "x".repeat(257));
    let cases: &[(&str, &str)] = &[
        ("", "j.yaml: is empty, expected a list of jobs"),
        ("# nothing", "j.yaml: is empty, expected a list of jobs"),
        ("name: a", "j.yaml:1:1: is not a list, expected a list of jobs"),
        ("- a", "j.yaml:1:3: a job is `a`, expected a map"),
        ("- {run: 1h}", "j.yaml:1:3: missing field `name` of a job"),
        ("- {name: a}", "j.yaml:1:3: missing field `run` of a job"),
        (
            "- {name: a, run: 5 parsecs}",
            "j.yaml:1:18: `run` is `5 parsecs`, expected a time like 90s, 1h30m, 2d or 1.5s",
        ),
        ("- name: a\n  run: -3s", "j.yaml:2:8: `run` is `-3s`, expected a time from 0s to 100 years"),
        (
            "- {name: a, run: 101d, at: 40000d}",
            "j.yaml:1:28: `at` is `40000d`, expected a time from 0s to 100 years",
        ),
        (
            "- {name: '', run: 1s}",
            "j.yaml:1:10: `name` is empty, expected a name of 1 to 256 printable characters",
        ),
        (
            "- name:\n  run: 1s",
            "j.yaml:1:7: `name` is empty, expected a name of 1 to 256 printable characters",
        ),
        (
            "- {name: \"a\\tb\", run: 1s}",
            "j.yaml:1:10: `name` is `a\\tb`, expected a name of 1 to 256 printable characters",
        ),
        (
            &long,
            "j.yaml:1:9: `name` is `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...`, expected a name of 1 to 256 printable characters",
        ),
        ("- {name: a, run: 1s}\n- {name: a, run: 1s}", "j.yaml:2:10: duplicate job name `a`"),
        ("- {name: a, run: 1s, run: 2s}", "j.yaml:1:22: duplicate key `run`"),
        ("- {name: a, run: 1s, devises: 2}", "j.yaml:1:22: unknown field `devises`; did you mean `devices`?"),
        (
            "- {name: a, run: 1s, devices: 0}",
            "j.yaml:1:31: `devices` is `0`, expected a whole number from 1 to 1,000,000, or a range of them like 2-8",
        ),
        (
            "- {name: a, run: 1s, devices: 8-2}",
            "j.yaml:1:31: `devices` is `8-2`, expected a whole number from 1 to 1,000,000, or a range of them like 2-8",
        ),
        (
            "- {name: a, run: 1s, devices: 2000000}",
            "j.yaml:1:31: `devices` is `2000000`, expected a whole number from 1 to 1,000,000, or a range of them like 2-8",
        ),
        ("- {name: a, run: 1s, devices: [1, 2]}", "j.yaml:1:31: `devices` is a list, expected one value"),
        (
            "- {name: a, run: 1s, workers: 2000, devices_per_worker: 1000}",
            "j.yaml:1:3: asks for more than 1,000,000 devices at once",
        ),
        (
            "- {name: a, run: 1s, devices: 2, workers: 2}",
            "j.yaml:1:34: `workers` cannot be used with `devices`",
        ),
        (
            "- {name: a, run: 1s, tasks: 0}",
            "j.yaml:1:29: `tasks` is `0`, expected a whole number from 1 to 1,000,000",
        ),
        (
            "- {name: a, run: 1s, tasks: 1000001}",
            "j.yaml:1:29: `tasks` is `1000001`, expected a whole number from 1 to 1,000,000",
        ),
        (
            "- {name: a, run: 1s, tasks: 2, replicas: 2}",
            "j.yaml:1:32: `replicas` cannot be used with `tasks`",
        ),
        (
            "- {name: a, run: 1s, share: 1.5}",
            "j.yaml:1:29: `share` is `1.5`, expected a share of a device from 0.001 to 1",
        ),
        ("- {name: a, run: 1s, memory: 40}", "j.yaml:1:30: `memory` is `40`, expected a unit, like 40GiB"),
        ("- {name: a, run: 1s, memory: 0}", "no error"),
        ("- {name: a, run: 1s, memory: 40Gi}", "no error"),
        ("- {name: a, replicas: 2, run: 1s}", "j.yaml:1:26: `run` cannot be used with `replicas`"),
        (
            "- {name: a, run: 1s, after: b}\n- {name: b, run: 1s}",
            "j.yaml:1:29: `after` names `b`, expected a job listed above this one",
        ),
        (
            "- {name: b, run: 1s, at: 2s}\n- {name: a, run: 1s, after: b}",
            "j.yaml:2:29: `after` names `b`, expected a job submitted earlier",
        ),
        (
            "- {name: a, run: 1s, memory: 40gigs}",
            "j.yaml:1:30: `memory` is `40gigs`, expected an amount of memory like 40GiB, 512MiB or 1.5TB, at most 1PiB",
        ),
        (
            "- {name: a, run: 1s, qos: gold}",
            "j.yaml:1:27: `qos` is `gold`, expected best-effort, standard or guaranteed",
        ),
        (
            "- {name: a, run: 1s, priority: high}",
            "j.yaml:1:32: `priority` is `high`, expected a whole number; it may be negative",
        ),
        (
            "- {name: a, run: 1s, retries: -1}",
            "j.yaml:1:31: `retries` is `-1`, expected a whole number from 0 to 1,000,000",
        ),
        (
            "- {name: a, run: 1s, at: 1h, deadline: 30m}",
            "j.yaml:1:40: `deadline` is `30m`, expected a time after the submission at 1h, or one relative to it like +2h",
        ),
        (
            "- {name: a, run: 1s, after: b}",
            "j.yaml:1:29: `after` names `b`, expected the name of a job in this file",
        ),
        (
            "- {name: a, run: 1s}\n- {name: b, run: 1s,\n   after: [{job: a, when: happy}]}",
            "j.yaml:3:27: `when` is `happy`, expected succeeded, failed or ended",
        ),
        (
            "- {name: a, run: 1s}\n- {name: b, run: 1s, after: [a, a]}",
            "j.yaml:2:33: `after` names `a`, expected each job only once",
        ),
        ("- {name: a, stages: []}", "j.yaml:1:21: `stages` has 0 entries, expected 1 to 256"),
        (
            "- {name: a, run: 1s, stages: [{name: s, run: 1s}]}",
            "j.yaml:1:13: `run` cannot be used with `stages`",
        ),
        (
            "- {name: a, stages: [{name: s, run: 1s, after: t}, {name: t, run: 1s}]}",
            "j.yaml:1:48: `after` names `t`, expected an earlier stage",
        ),
        (
            "- {name: a, run: 1s, roles: [{name: w}], kind: x}",
            "j.yaml:1:42: `kind` cannot be used with `roles`",
        ),
        (
            "- {name: a, run: 1s, roles: [{name: w}, {name: w}]}",
            "j.yaml:1:48: a role called `w` already exists, expected another name",
        ),
        (
            "- {name: a, run: 1s, shapes: [{sort: x}]}",
            "j.yaml:1:32: unknown field `sort` of a shape, expected one of devices, kind, share, memory, within, prefer, features, cpus, host_memory, mem, precision, on_oom",
        ),
        (
            "- {name: a, run: 1s}\n- {name: b, run: [1s}",
            "j.yaml:2:21: is not YAML: while parsing a flow sequence, expected ',' or ']'",
        ),
        (
            "- {name: a, run: 1s}\n---\n- {name: b, run: 1s}",
            "j.yaml:2:1: is the start of a second document, expected a single one",
        ),
        (
            "- {name: é, run: 1s, ünder: 1}",
            "j.yaml:1:22: unknown field `ünder` of a job, expected one of name, at, tenant, queue, priority, qos, after, deadline, estimate, time_limit, restart_cost, retries, backoff, failures, stages, run, devices, workers, devices_per_worker, kind, share, memory, within, prefer, features, cpus, host_memory, mem, precision, on_oom, shapes, roles, tasks, replicas",
        ),
    ];
    check(cases, |text| job_list::parse("j.yaml", text).err());
}

#[test]
fn cluster_files() {
    let cases: &[(&str, &str)] = &[
        ("kinds: [x]", "c.yaml:1:1: missing field `nodes` of a cluster"),
        ("nodes: []", "c.yaml:1:8: `nodes` is empty, expected at least one node"),
        ("nodes: [{name: a}]", "c.yaml:1:9: missing field `devices` of a group of nodes"),
        (
            "nodes: [{name: a, devices: {}}]",
            "c.yaml:1:28: `devices` is empty, expected kinds and counts like {h200: 8}",
        ),
        (
            "nodes: [{name: a, devices: {x: 0}}]",
            "c.yaml:1:32: `devices` is `0`, expected a whole number from 1 to 1,000,000",
        ),
        (
            "nodes: [{name: a, devices: 8}]",
            "c.yaml:1:28: `devices` is `8`, expected kinds and counts like {h200: 8}",
        ),
        (
            "nodes: [{name: a, count: 2, devices: {x: 1}}]",
            "c.yaml:1:16: `name` is `a`, expected a pattern like n{} where `count` is more than 1",
        ),
        (
            "nodes: [{names: [a, a], devices: {x: 1}}]",
            "c.yaml:1:21: a node called `a` already exists, expected another name",
        ),
        ("nodes: [{names: [], devices: {x: 1}}]", "c.yaml:1:8: `nodes` is empty, expected at least one node"),
        (
            "nodes: [{names: [a], count: 2, devices: {x: 1}}]",
            "c.yaml:1:22: `count` cannot be used with `names`",
        ),
        (
            "nodes:\n  - {name: 'n{}', count: 1000000, devices: {x: 2}}",
            "c.yaml:2:5: the devices up to here are more than 1,000,000",
        ),
        (
            "kinds: [h200]\nnodes:\n  - name: a\n    devices:\n      h20: 8",
            "c.yaml:5:7: unknown kind `h20`, expected one of h200",
        ),
        (
            "kinds: [{name: x, memory: lots}]\nnodes: [{name: a, devices: {x: 1}}]",
            "c.yaml:1:27: `memory` is `lots`, expected an amount of memory like 40GiB, 512MiB or 1.5TB, at most 1PiB",
        ),
        (
            "kinds: [x, x]\nnodes: [{name: a, devices: {x: 1}}]",
            "c.yaml:1:12: a kind called `x` already exists, expected another name",
        ),
        (
            "levels: [node]\nnodes: [{name: a, devices: {x: 1}}]",
            "c.yaml:1:10: level `node` always exists, expected another name",
        ),
        (
            "levels: [rack]\nnodes: [{name: a, devices: {x: 1}}]",
            "c.yaml:2:9: missing domain at level `rack` of a group of nodes",
        ),
        (
            "levels: [rack]\nnodes: [{name: a, devices: {x: 1}, domains: {rock: r1}}]",
            "c.yaml:2:46: unknown level `rock`, expected one of rack; or declare it with levels: [rack, rock]",
        ),
        (
            "nodes: [{name: a, devices: {x: 1}, domains: {rack: r1}}]",
            "c.yaml:1:46: unknown level `rack`; declare it with levels: [rack]",
        ),
        (
            "kinds: [{name: x, memory: 141}]\nnodes: [{name: a, devices: {x: 1}}]",
            "c.yaml:1:27: `memory` is `141`, expected a unit, like 141GiB",
        ),
        (
            "levels: [rack]\nnodes: [{name: a, devices: {x: 1}, domains: {rack: {name: r, every: 2}}}]",
            "c.yaml:2:59: `name` is `r`, expected a pattern like r{}",
        ),
        (
            "nodes: [{name: a, devices: [{kind: x, count: 8, island: 3}]}]",
            "c.yaml:1:57: `island` is `3`, expected 0, or a number that divides 8",
        ),
        (
            "lease: soon\nnodes: [{name: a, devices: {x: 1}}]",
            "c.yaml:1:8: `lease` is `soon`, expected a time like 90s, 1h30m, 2d or 1.5s",
        ),
        (
            "nodes: [{name: a, devices: {x: 1}}]\ntenants: [{name: t, quotas: {y: 1}}]",
            "c.yaml:2:30: unknown kind `y`, expected one of x",
        ),
        (
            "nodes: [{name: a, devices: {x: 1}}]\ntenants: [{name: t, quotas: {x: {guarantee: 2, ceiling: 1}}}]",
            "c.yaml:2:33: the ceiling is below the guarantee, expected at least the guarantee",
        ),
        (
            "nodes: [{name: a, devices: {x: 1}}]\nqueues: [{name: q, tenants: [t]}]",
            "c.yaml:2:30: unknown tenant `t`, expected one of default",
        ),
        (
            "nodes: [{name: a, devices: {x: 1}}]\nqueues: [{name: q, strict: maybe}]",
            "c.yaml:2:28: `strict` is `maybe`, expected true or false",
        ),
    ];
    check(cases, |text| cluster_file::parse("c.yaml", text).err());
}

#[test]
fn job_tables() {
    let cases: &[(&str, &str)] = &[
        ("", "j.csv: is empty, expected a header with name, at, run, devices"),
        ("name,at,run\na,0,1s\n", "j.csv:1:1: missing column `devices`"),
        (
            "name,at,run,devices,color\na,0,1s,1,red\n",
            "j.csv:1:21: column `color` is unknown, expected one of name, at, tenant, queue, priority, qos, after, deadline, estimate, time_limit, restart_cost, retries, failures, run, devices, devices_per_worker, kind, share, memory, within, prefer, cpus, host_memory, tasks, replicas",
        ),
        ("name,at,run,devices,at\na,0,1s,1,0\n", "j.csv:1:21: duplicate column `at`"),
        ("name,at,run,devices\na,0,1s\n", "j.csv:2:1: 3 fields, expected 4 as in the header"),
        (
            "name,at,run,devices\na,0,1s,1\n\n\nb,0,soon,1\n",
            "j.csv:5:5: `run` is `soon`, expected a time like 90s, 1h30m, 2d or 1.5s",
        ),
        (
            "name,at,run,devices\n\"a,b\", 0,1s, 0\n",
            "j.csv:2:14: `devices` is `0`, expected a whole number from 1 to 1,000,000, or a range of them like 2-8",
        ),
        (
            "name,at,run,devices\n,0,1s,1\n",
            "j.csv:2:1: `name` is empty, expected a name of 1 to 256 printable characters",
        ),
        (
            "name,at,run,devices\na,,1s,1\n",
            "j.csv:2:3: `at` is empty, expected a time like 90s, 1h30m, 2d or 1.5s",
        ),
        (
            "name,at,run,devices\r\na,0,1s,1\r\né,-1,1s,1\r\n",
            "j.csv:3:3: `at` is `-1`, expected a time from 0s to 100 years",
        ),
        ("name,at,run,devices\na,0,1s,1\na,0,1s,1\n", "j.csv:3:1: duplicate job name `a`"),
        (
            "name,at,run,devices,after\na,0,1s,1,\nb,0,1s,1,c\n",
            "j.csv:3:10: `after` names `c`, expected the name of a job in this file",
        ),
        (
            "name,at,run,devices,tasks,replicas\na,0,1s,1,2,3\n",
            "j.csv:2:12: `replicas` cannot be used with `tasks`",
        ),
        ("name,at,run,devices,replicas\na,0,1s,1,3\n", "j.csv:2:5: `run` cannot be used with `replicas`"),
        ("name,at,run,devices,replicas\na,0,,1,3\n", "no error"),
        (
            "name,at,run,devices,replicas\na,0,,1,\n",
            "j.csv:2:5: `run` is empty, expected a time like 90s, 1h30m, 2d or 1.5s",
        ),
        (
            "name,at,run,devices,kind\na,0,1s,1,x|y\n",
            "j.csv:2:10: `kind` is `x|y`, expected kinds with `;` between them, like h200;mi300x",
        ),
        (
            "name,at,run,devices,kind\na,0,1s,1,\"x,y\"\n",
            "j.csv:2:10: `kind` is `x,y`, expected kinds with `;` between them, like h200;mi300x",
        ),
        (
            "name,at,run,devices,memory\na,0,1s,1,40\n",
            "j.csv:2:10: `memory` is `40`, expected a unit, like 40GiB",
        ),
        (
            "name,at,run,devices,after\na,0,1s,1,b\nb,0,1s,1,\n",
            "j.csv:2:10: `after` names `b`, expected a job listed above this one",
        ),
        ("name,at,run,devices\na,0,1s,1\n\"b,0,1s,1\n", "j.csv:3:1: 1 fields, expected 4 as in the header"),
    ];
    check(cases, |text| job_csv::parse("j.csv", text.as_bytes()).err());
}

#[test]
fn public_tables() {
    let helios: &[(&str, &str)] = &[
        ("job_id,submit_s,duration_s,gpus,est_s\n1,1,1,1,1\n", "p.csv:1:1: missing column `vc` or `cluster`"),
        (
            "job_id,submit_s,duration_s,gpus,vc,est_s\n1,1,-1,1,a,1\n",
            "p.csv:2:5: `duration_s` is `-1`, expected whole seconds, from 0 to 100 years",
        ),
        (
            "job_id,submit_s,duration_s,gpus,vc,est_s\n1,1,1,0,a,1\n",
            "p.csv:2:7: `gpus` is `0`, expected a whole number from 1 to 1,000,000",
        ),
        (
            "job_id,submit_s,duration_s,gpus,vc,est_s\n1,1,1,1,a,1\n1,1,1,1,a,1\n",
            "p.csv:3:1: `job_id` is `1`, expected a number that no earlier job has",
        ),
        (
            "job_id,submit_s,duration_s,gpus,vc,est_s\n1,99999999999,1,1,a,1\n",
            "p.csv:2:3: `submit_s` is `99999999999`, expected whole seconds, at most 100 years",
        ),
    ];
    check(helios, |text| helios::parse_jobs("p.csv", text.as_bytes()).err());
    let groups: &[(&str, &str)] = &[
        (
            "vc,nodes,gpus_per_node\na,1000,8\nb,200000,8\n",
            "v.csv:3:3: the devices up to here are more than 1,000,000",
        ),
        (
            "vc,nodes,gpus_per_node\na,1,8\na,1,8\n",
            "v.csv:3:1: `vc` is `a`, expected a name that no earlier group has",
        ),
    ];
    check(groups, |text| helios::parse_groups("v.csv", text.as_bytes()).err());
    let tiresias: &[(&str, &str)] = &[
        ("num_switch,num_node_p_switch,num_gpu_p_node\n", "t.csv:2:1: missing row after the header"),
        (
            "num_switch,num_node_p_switch,num_gpu_p_node\n1000,1000,2\n",
            "t.csv:2:11: the devices of the cluster are more than 1,000,000",
        ),
        (
            "num_switch,num_node_p_switch,num_gpu_p_node\n1,1,2\n1,1,2\n",
            "t.csv:3:1: is a second row, expected a single one",
        ),
    ];
    check(tiresias, |text| tiresias::parse_cluster("t.csv", text.as_bytes(), "x").err());
}

#[test]
fn files() {
    let cases: &[(&str, &str)] =
        &[("nowhere/jobs.yaml", "nowhere/jobs.yaml: cannot be read: No such file or directory (os error 2)")];
    check(cases, |name| read_workload(name).err());
    let error = read::parse_workload("j.yaml", b"- {name: a,\n run: \xff}").unwrap_err();
    assert_eq!(error.to_string(), "j.yaml:2:7: is not UTF-8");
    let error = read::parse_workload("jobs.txt", b"").unwrap_err();
    let expected = "jobs.txt: has another extension, expected .yaml, .yml, .csv, .json, .swf, .trace or one of these with .gz";
    assert_eq!(error.to_string(), expected);
}
