//! An ask never runs twice, whatever happens to nodes: two living attempts of one job are two hands on one checkpoint.

use super::daemon::until;
use super::site::{Site, eventually};
use serde_json::json;
use std::time::{Duration, Instant};

/// The first attempt waits in Slurm for memory on n1 when Slurm gives that node up. The second one runs elsewhere. Then
/// the node returns, and Slurm would start the first one there.
#[test]
fn an_attempt_whose_node_was_given_up_does_not_start_when_the_node_returns() {
    let site = Site::up();
    let foreign = |words: &[&str]| {
        let rest = ["--parsable", "--no-requeue", "-o", "/dev/null", "--wrap", "sleep 300"];
        site.cluster.run("sbatch", &[words, &rest].concat()).trim().to_owned()
    };
    // n2 is taken by somebody else; n1 has free devices and no memory.
    let on_n2 = foreign(&["-w", "n2", "--gres=gpu:a100:4"]);
    let taken = || site.said(&["devices"]).matches("foreign").count();
    until("foreign use", || (taken() >= 4).then_some(()));
    let on_n1 = foreign(&["-w", "n1", "--mem=8000"]);
    let (ledger, go) = (site.path("ledger"), site.path("go"));
    let text = format!(
        "echo begin $CONSORT_ATTEMPT >> {0}; while [ ! -e {1} ]; do sleep 0.1; done; echo end $CONSORT_ATTEMPT >> {0}",
        ledger.display(),
        go.display()
    );
    let job = site.submit(json!({
        "kind": "a100", "devices": 4, "workdir": "/", "limits": {"memory": "1000MiB"}, "run": text,
    }));
    let state_of = |attempt: u32| {
        let is_it = |(_, name, _): &(u64, String, String)| *name == format!("{job}.0.0#{attempt}");
        site.tagged().into_iter().find(is_it).map(|(_, _, state)| state)
    };
    until("the first attempt", || (state_of(1)? == "PENDING").then_some(()));
    site.cluster.kill_node("n1");
    site.cluster.run("scontrol", &["update", "nodename=n1", "state=down", "reason=story"]);
    // Slurm may begin the job of somebody else anew: it is not to keep the node's memory.
    site.cluster.run("scancel", &[&on_n1, &on_n2]);
    eventually("the second attempt", || {
        let said = std::fs::read_to_string(&ledger).unwrap_or_default();
        assert!(!said.contains("begin 1"), "{said} {}", site.story());
        said.contains("begin 2").then_some(())
    });
    site.cluster.start_node("n1");
    // It takes work again once its daemon has registered.
    let returned = Instant::now();
    while returned.elapsed() < Duration::from_secs(15) {
        let said = std::fs::read_to_string(&ledger).unwrap_or_default();
        assert!(!said.contains("begin 1"), "two attempts run: {said} {}", site.story());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(!matches!(state_of(1).as_deref(), Some("PENDING" | "RUNNING")), "{:?}", site.tagged());
    // The node is free for others, and nothing of ours is in the way.
    let next = site.submit_sh("a100", 4, "true");
    site.until_state(next, &["succeeded"]);
    std::fs::write(&go, "").unwrap();
    let shown = site.until_state(job, &["succeeded"]);
    assert_eq!(shown["attempts"], 2, "{}", site.story());
    assert_eq!(std::fs::read_to_string(&ledger).unwrap(), "begin 2\nend 2\n");
}
