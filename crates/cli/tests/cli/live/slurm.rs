//! The commands for Slurm hands.

use super::*;

const DEVICES: &str = r#"[{"node": "n1", "index": 0, "kind": "h200", "vendor": "", "uuid": null, "state": "used",
    "used_thousandths": 1000, "memory_bytes": null, "jobs": [17], "temperature_c": null, "power_w": null,
    "utilization_percent": null, "memory_used_bytes": null, "why": null}]"#;

#[test]
fn sbatch_reads_the_script_and_lets_flags_win() {
    let (folder, server) = with(|_| Answer::json(201, r#"{"id": 17, "name": "x"}"#));
    folder.write(
        "train.sh",
        "#!/bin/sh\n#SBATCH -J theirs -t 10 --gres=gpu:h200:8 --export=NONE\nwork \"$@\"\n",
    );
    let ran = folder.ask(&server, "sbatch -J mine --gpus=2 train.sh --lr 3").done();
    assert_eq!(ran.out, "Submitted batch job 17\n");
    let body = server.body("POST /v1/jobs");
    let role = &body["stages"][0]["roles"][0];
    assert_eq!((&body["name"], &body["time_limit"]), (&"mine".into(), &"600s".into()));
    assert_eq!(role["shapes"][0]["devices"], 2);
    assert_eq!(role["run"]["arguments"], serde_json::json!(["--lr", "3"]));
    assert!(body.get("inherit").is_none());
    assert_eq!(folder.ask(&server, "sbatch --parsable --wrap=hostname").done().out, "17\n");
    folder.ask(&server, "sbatch --frob train.sh").refused(2, &["`--frob`"]);
    folder.ask(&server, "sbatch").refused(2, &["missing script"]);
    folder.write("plain.txt", "hello\n");
    folder.ask(&server, "sbatch plain.txt").refused(2, &["not a script", "#!/bin/sh"]);
}

#[test]
fn squeue_has_the_columns_of_slurm() {
    let (folder, server) = with(|line| match line {
        "GET /v1/devices" => Answer::json(200, DEVICES),
        line if line.starts_with("GET /v1/jobs") => {
            Answer::json(200, &format!("[{}, {}]", job(17, "running"), job(18, "waiting")))
        }
        _ => Answer::missing(),
    });
    let shown = folder.ask(&server, "squeue").done().out;
    let lines: Vec<&str> = shown.lines().collect();
    let title = "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)";
    assert_eq!(lines[0], title);
    assert!(lines[1].ends_with("n1") && lines[1].contains(" R "), "{shown}");
    assert!(lines[2].ends_with("PD       0:00      1 (needs 8 h200, 2 free)"), "{shown}");
    let mut command = folder.asking(&server, "squeue -h -j 18 -o");
    let ran = Ran::of(command.arg("%i %t %R").output().unwrap()).done();
    assert_eq!(ran.out, "18 PD (needs 8 h200, 2 free)\n");
    assert_eq!(folder.ask(&server, "squeue -h -u blue").done().out, "");
    folder.ask(&server, "squeue -t pd,R,S").done();
    assert!(server.was_asked("GET /v1/jobs?limit=1000000&state=waiting,held,running,paused"));
    assert_eq!(folder.ask(&server, "squeue --json").json()[0]["id"], 17);
    folder.ask(&server, "squeue -t X").refused(2, &["expected some of PD"]);
    folder.ask(&server, "squeue -o %z").refused(2, &["unknown column `%z`"]);
}

#[test]
fn scancel_is_silent_and_needs_to_know_what() {
    let (folder, server) = with(|line| match line {
        "POST /v1/jobs/cancel" => Answer::json(200, &format!("[{}]", acted(&job(17, "stopping")))),
        line if line.starts_with("GET /v1/jobs") => Answer::json(200, &format!("[{}]", job(18, "waiting"))),
        _ => Answer::missing(),
    });
    assert_eq!(folder.ask(&server, "scancel 17").done().out, "");
    folder.ask(&server, "scancel -u red -t PD").done();
    assert!(
        server.was_asked("GET /v1/jobs?limit=1000000&state=waiting,held&tenant=red"),
        "{:?}",
        server.asked()
    );
    assert_eq!(server.asked().iter().filter(|line| line.starts_with("POST /v1/jobs/cancel")).count(), 2);
    folder.ask(&server, "scancel").refused(2, &["<JOB>"]);
}

#[test]
fn sinfo_groups_nodes_by_state() {
    let (folder, server) = with(|line| match line {
        "GET /v1/nodes" => Answer::json(
            200,
            r#"[{"name": "n1", "state": "up", "devices": 8, "used": 0, "jobs": 0, "kinds": {}, "note": ""},
            {"name": "n2", "state": "up", "devices": 8, "used": 3, "jobs": 1, "kinds": {}, "note": ""}]"#,
        ),
        "GET /v1/queues" => Answer::json(
            200,
            r#"[{"name": "default", "priority": 0, "strict": false, "tenants": [], "waiting": 0, "running": 0}]"#,
        ),
        _ => Answer::missing(),
    });
    let shown = folder.ask(&server, "sinfo").done().out;
    let expected = "\
PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
default*  up      infinite      1   idle n1
default*  up      infinite      1    mix n2
";
    assert_eq!(shown, expected);
    assert_eq!(folder.ask(&server, "sinfo -h -p none").done().out, "");
}
