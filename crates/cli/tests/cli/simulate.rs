//! `consort simulate`.

use super::*;

const RUN: &str = "simulate --cluster cluster.yaml --workload jobs.yaml --policy fifo";

/// The contract with scripts.
pub(super) const KEYS: [&str; 27] = [
    "policy",
    "seed",
    "jobs",
    "finished",
    "refused",
    "failed",
    "never_ended",
    "avg_jct_s",
    "p50_jct_s",
    "p99_jct_s",
    "avg_queue_s",
    "p99_queue_s",
    "p999_queue_s",
    "makespan_s",
    "device_hours",
    "utilization",
    "preemptions",
    "restarts",
    "deadlines_met_pct",
    "energy_kwh",
    "plan_calls",
    "plan_cpu_ms_p50",
    "plan_cpu_ms_p99",
    "events",
    "cpu_s",
    "peak_rss_mib",
    "state_hash",
];

#[test]
fn json_has_exactly_these_keys() {
    let folder = Folder::with_inputs();
    let ran = folder.run(&format!("{RUN} --seed 7 --json")).done();
    assert_eq!(ran.err, "");
    let text = ran.out.clone();
    let value = ran.json();
    assert_eq!(keys(&value, &text), KEYS);
    assert_eq!(value["policy"], "fifo");
    assert_eq!(value["seed"], 7);
    assert_eq!((&value["jobs"], &value["finished"]), (&3.into(), &3.into()));
    assert_eq!(value["makespan_s"], 10_800.0);
    assert!(value["energy_kwh"].is_null() && value["deadlines_met_pct"].is_null());
    let hash = value["state_hash"].as_str().unwrap();
    assert!(hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
}

#[test]
fn a_summary_for_people() {
    let ran = Folder::with_inputs().run(RUN).done();
    assert!(ran.out.contains("3 submitted, 3 finished"), "{}", ran.out);
    assert!(ran.out.contains("makespan         3h"), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}'), "colours in a pipe");
}

#[test]
fn a_report_is_four_files() {
    let folder = Folder::with_inputs();
    let ran = folder.run(&format!("{RUN} --report deep/er --json"));
    let (text, value) = (ran.out.clone(), ran.json());
    assert_eq!(folder.read("deep/er/report.json"), text);
    assert!(folder.read("deep/er/report.md").starts_with("# jobs under fifo\n"));
    let page = folder.read("deep/er/report.html");
    assert!(page.contains("<title>jobs under fifo</title>") && page.contains("id=\"where-0\""), "{page}");
    let table = folder.read("deep/er/jobs.csv");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "case,policy,job,submit_s,start_s,end_s,jct_s,queue_s,restarts,state");
    assert!(lines.contains(&"jobs,fifo,a,0,0,3600,3600,0,0,finished"), "{table}");
    assert!(lines.contains(&"jobs,fifo,b,600,3600,10800,10200,3000,0,finished"), "{table}");
    assert!(table.contains("\"c, d\""), "{table}");
    assert_eq!(lines.len() as u64, 1 + value["jobs"].as_u64().unwrap());
}

#[test]
fn circumstances_matter() {
    let folder = Folder::with_inputs();
    let hash = |more: &str| folder.run(&format!("{RUN} {more} --json")).json();
    let plain = hash("");
    let slow = hash("--start-delay 1m --stop-delay 5s");
    assert_eq!(slow["makespan_s"], 10_800.0 + 120.0);
    let unlucky = hash("--failed-starts 0.5 --seed 3");
    assert_ne!(unlucky["state_hash"], plain["state_hash"]);
    assert_eq!(unlucky["finished"], 3);
    assert_eq!(unlucky["state_hash"], hash("--failed-starts 0.5 --seed 3")["state_hash"]);
    assert_ne!(hash("--late-reports 0.9")["state_hash"], plain["state_hash"]);
    let late = |name: &str| hash(&format!("{name} 0.9"))["state_hash"].clone();
    assert_eq!(late("--late-news"), late("--late-reports"), "as it was called");
    assert_eq!(hash("--place best-fit")["finished"], 3);
    assert_eq!(hash("--crash-every 1")["state_hash"], plain["state_hash"]);
    assert!(hash("--crash-every 1")["plan_calls"].as_u64() > plain["plan_calls"].as_u64(), "it did crash");
    let run = "simulate --cluster cluster.yaml --workload jobs.yaml --policy shortest-remaining --json";
    folder.write(
        "jobs.yaml",
        "- {name: a, devices: 16, run: 9h, estimate: 9h}\n- {name: b, at: 1h, devices: 16, run: 1m, estimate: 1m}\n",
    );
    assert_eq!(folder.run(run).json()["preemptions"], 1);
    assert_eq!(folder.run(&format!("{run} --no-preemption")).json()["preemptions"], 0);
}

#[test]
fn jobs_that_come_to_nothing_are_named() {
    let folder = Folder::with_inputs();
    folder.write(
        "jobs.yaml",
        "- {name: big, devices: 17, run: 1h}\n- {name: web, replicas: 2, devices: 1}\n- {name: a, run: 1h}\n",
    );
    for policy in ["priority", "fifo", "fair", "shortest", "qssf", "shortest-remaining", "las", "deadline"] {
        let line = format!("simulate --cluster cluster.yaml --workload jobs.yaml --policy {policy}");
        let ran = folder.run(&line).done();
        assert!(!ran.err.contains("refused"), "once is enough: {}", ran.err);
        assert!(ran.out.contains("3 submitted, 1 finished, 1 refused, 1 never ended"), "{}", ran.out);
        assert!(ran.out.contains("\nrefused          job big asks for"), "{}", ran.out);
        assert!(ran.out.contains("\nnever ended      services: web\n"), "{}", ran.out);
    }
    let ran = folder.run(&format!("{RUN} --json --report out"));
    assert!(ran.err.contains("1 job was refused: job big asks for"), "{}", ran.err);
    let value = ran.json();
    assert_eq!((&value["failed"], &value["never_ended"]), (&0.into(), &1.into()));
    assert!(folder.read("out/jobs.csv").contains("\njobs,fifo,big,,,,,,,refused\n"));
    let line = "compare --cluster cluster.yaml --workload jobs.yaml --policy las,fifo";
    let ran = folder.run(line).done();
    assert!(ran.out.contains("\nnever ended  services: web\n"), "{}", ran.out);
}

#[test]
fn a_run_in_which_every_job_is_refused_failed() {
    let folder = Folder::with_inputs();
    folder.write("jobs.yaml", "- {name: big, devices: 17, run: 1h}\n");
    let ran = folder.run(RUN);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.starts_with("consort: the only job was refused: job big asks for"), "{}", ran.err);
    assert!(ran.out.contains("completion time  -\n"), "{}", ran.out);
    let ran = folder.run(&format!("{RUN} --json"));
    let value: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(ran.code == 1 && value["avg_jct_s"].is_null() && value["p999_queue_s"].is_null(), "{value}");
    folder.write("jobs.yaml", "[]\n");
    assert!(folder.run(&format!("{RUN} --json")).json()["avg_jct_s"].is_null());
}

#[test]
fn bad_input_is_placed_and_nothing_is_written() {
    let folder = Folder::with_inputs();
    folder.write("wrong.yaml", "- {name: a, run: 1h}\n- {name: b, run: soon}\n");
    folder.write("wrong.csv", "name,at,run,devices\na,0s,1h,1\nb,0s,1h,many\n");
    folder.write("broken.yaml", "nodes:\n  - {name: [\n");
    folder.write("jobs.txt", "hello\n");
    let before = folder.names();
    let run = |cluster: &str, workload: &str| {
        folder.run(&format!("simulate --cluster {cluster} --workload {workload} --policy fifo --report out"))
    };
    run("cluster.yaml", "wrong.yaml").refused(2, &["wrong.yaml:2:18: ", "expected"]);
    run("cluster.yaml", "wrong.csv").refused(2, &["wrong.csv:3:", "expected"]);
    run("broken.yaml", "jobs.yaml").refused(2, &["broken.yaml:"]);
    run("jobs.yaml", "jobs.yaml").refused(2, &["jobs.yaml:1:1: ", "expected a map"]);
    run("missing.yaml", "jobs.yaml").refused(2, &["missing.yaml: no such file; check the path"]);
    run("cluster.yaml", "missing.csv").refused(2, &["missing.csv: no such file"]);
    run(".", "jobs.yaml").refused(2, &["is a folder; name a file"]);
    run("cluster.yaml", "jobs.txt").refused(2, &["jobs.txt: ", "expected .yaml"]);
    run("cluster.yaml/x", "jobs.yaml").refused(2, &["not a folder"]);
    let wrong = format!("{RUN}x --report out");
    folder.run(&wrong).refused(2, &["`fifox`", "did you mean `fifo`?", "shortest-remaining"]);
    assert_eq!(folder.names(), before);
}

#[test]
fn what_a_log_leaves_out_is_told() {
    let folder = Folder::with_inputs();
    let (ran, never) =
        ("1 0 0 60 2 -1 -1 2 -1 -1 1 3 1 -1 1 -1 -1 -1", "2 5 0 -1 2 -1 -1 2 -1 -1 1 3 1 -1 1 -1 -1 -1");
    folder.write("log.swf", &format!("; MaxProcs: 4\n{ran}\n{never}\n"));
    let told = folder.run("simulate --cluster log.swf --workload log.swf --policy fifo --json").done();
    assert_eq!(told.err, "consort: log.swf: skipped 1 of 2 lines: no run time is known\n");
    assert_eq!(told.json()["finished"], 1);
}

#[test]
fn what_the_cluster_does_not_declare_is_a_slip() {
    let folder = Folder::with_inputs();
    let more = "tenants:\n  - {name: red}\n  - {name: blue}\nqueues:\n  - {name: night}\n";
    folder.write("strict.yaml", &format!("{CLUSTER}{more}"));
    folder.write("slip.yaml", "- {name: a, run: 1h}\n- {name: b, tenant: rde, run: 1h}\n");
    folder.write("queue.yaml", "- {name: a, tenant: blue, queue: day, run: 1h}\n");
    folder.write("good.yaml", "- {name: a, tenant: blue, queue: night, run: 1h}\n- {name: b, run: 1h}\n");
    let slip = "slip.yaml: job b uses tenant `rde`, which strict.yaml does not declare; did you mean `red`? \
                Declared: red, blue";
    folder.run("simulate --cluster strict.yaml --workload slip.yaml --policy fifo").refused(2, &[slip]);
    folder.run("compare --cluster strict.yaml --workload slip.yaml").refused(2, &[slip]);
    let queue = "job a uses queue `day`, which strict.yaml does not declare; declared: night";
    folder.run("simulate --cluster strict.yaml --workload queue.yaml").refused(2, &[queue]);
    // Where nothing is declared, any name will do; and without a policy, the standard one decides.
    folder.run("simulate --cluster cluster.yaml --workload slip.yaml").done();
    let ran = folder.run("simulate --cluster strict.yaml --workload good.yaml --json").json();
    assert_eq!((&ran["policy"], &ran["finished"]), (&"priority".into(), &2.into()));
}

#[test]
fn a_report_needs_a_folder() {
    let folder = Folder::with_inputs();
    folder.run(&format!("{RUN} --report jobs.yaml")).refused(2, &["jobs.yaml: is not a folder"]);
    assert_eq!(folder.read("jobs.yaml"), JOBS);
}

#[test]
fn the_files_in_the_help_are_good_ones() {
    let folder = Folder::new();
    let help = folder.run("simulate --help").done().out;
    let block = |title: &str| -> String {
        let lines = help.lines().skip_while(|line| !line.starts_with(title)).skip(1);
        lines.take_while(|line| line.starts_with("  ")).map(|line| format!("{}\n", &line[2..])).collect()
    };
    folder.write("cluster.yaml", &block("cluster.yaml:"));
    folder.write("jobs.yaml", &block("jobs.yaml"));
    assert_eq!(folder.run(&format!("{RUN} --json")).json()["finished"], 3);
}
