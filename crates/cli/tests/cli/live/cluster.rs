//! Nodes, devices, queues, tenants, events, and the page that shows them.

use super::*;

const DEVICES: &str = r#"[
    {"node": "n1", "index": 0, "kind": "h200", "vendor": "nvidia", "uuid": "GPU-1", "state": "used",
    "used_thousandths": 1000, "memory_bytes": 151397597184, "jobs": [17], "temperature_c": 61.0, "power_w": 512.5,
    "utilization_percent": 97.0, "memory_used_bytes": 75698798592, "why": null},
    {"node": "n1", "index": 1, "kind": "h200", "vendor": "nvidia", "uuid": null, "state": "unhealthy",
    "used_thousandths": 0, "memory_bytes": null, "jobs": [], "temperature_c": null, "power_w": null,
    "utilization_percent": null, "memory_used_bytes": null, "why": "fell off the bus"}]"#;
const NODE: &str = r#"{"name": "n1", "state": "draining", "devices": 8, "used": 1, "jobs": 1, "kinds": {"h200": 8},
    "note": ""}"#;
const STATUS: &str = r#"{"version": "1.0.0", "world": "local", "data_dir": "/d", "url": "http://x",
    "started": "2026-03-09T14:00:00Z", "state_hash": "ab", "position": 5, "policy": "priority", "waiting": 1,
    "running": 1, "ended": 0, "devices": 2, "notes": []}"#;

#[test]
fn devices_and_nodes_are_tables_and_json() {
    let (folder, server) = with(|line| match line {
        "GET /v1/devices" => Answer::json(200, DEVICES),
        "GET /v1/nodes" => Answer::json(200, &format!("[{NODE}]")),
        "POST /v1/nodes/n1/drain" | "POST /v1/nodes/n1/undrain" | "POST /v1/nodes/n1/remove" => {
            Answer::json(200, NODE)
        }
        _ => Answer::missing(),
    });
    let shown = folder.ask(&server, "devices").done().out;
    for part in ["n1[0]", "97%", "70.5 GiB of 141 GiB", "61 °C", "fell off the bus"] {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
    assert_eq!(folder.ask(&server, "devices --json").json()[1]["why"], "fell off the bus");
    assert!(folder.ask(&server, "nodes").done().out.contains("8 h200"));
    assert_eq!(folder.ask(&server, "nodes --json").json()[0]["state"], "draining");
    assert!(folder.ask(&server, "nodes drain n1").done().out.contains("draining"));
    assert_eq!(folder.ask(&server, "nodes undrain n1 --json").json()["name"], "n1");
    assert_eq!(folder.ask(&server, "nodes remove n1 --json").json()["name"], "n1");
    folder.ask(&server, "nodes drain n2").refused(2, &["there is no such thing"]);
}

#[test]
fn the_world_is_probed_and_told_in_lines() {
    let world = r#"{"world": "slurm", "lines": [{"what": "reached by", "says": "REST v0.0.38"},
        {"what": "Slurm", "says": "21.08\n.8"}]}"#;
    let (folder, server) = with(move |line| match line {
        "GET /v1/world" => Answer::json(200, world),
        _ => Answer::missing(),
    });
    let shown = folder.ask(&server, "nodes --probe").done().out;
    assert_eq!(shown, "reached by  REST v0.0.38\nSlurm       21.08 .8\n");
    assert_eq!(folder.ask(&server, "nodes --probe --json").json()["lines"][0]["what"], "reached by");
    folder.ask(&server, "nodes --probe drain n1").refused(2, &["--probe"]);
}

#[test]
fn a_world_in_trouble_is_told_by_status_and_top() {
    let (folder, server) = with(|line| match line {
        "GET /v1/status" | "GET /v1/status?state_hash=true" => {
            let words = "Slurm has not answered for 35 s: no route";
            let told = format!(r#""notes": ["{words}"], "trouble": "{words}""#);
            Answer::json(200, &STATUS.replace(r#""notes": []"#, &told))
        }
        "GET /v1/devices" => Answer::json(200, DEVICES),
        _ => Answer::json(200, "[]"),
    });
    for command in ["status", "top"] {
        let shown = folder.ask(&server, command).done().out;
        assert_eq!(shown.matches("Slurm has not answered for 35 s: no route\n").count(), 1, "{shown}");
    }
}

#[test]
fn what_is_not_named_of_a_queue_or_tenant_stays_as_it_was() {
    let queue = r#"{"name": "urgent", "priority": 3, "strict": true, "tenants": ["red"], "waiting": 1, "running": 2}"#;
    let tenant = r#"{"name": "red", "quotas": [{"kind": "h200", "guarantee": 8, "ceiling": null},
        {"kind": "cpu", "guarantee": 1, "ceiling": 2}], "holds": {"h200": 1.5}, "usage_device_hours": {"h200": 10.0},
        "waiting": 0, "running": 1}"#;
    let (folder, server) = with(move |line| match line {
        "GET /v1/queues" => Answer::json(200, &format!("[{queue}]")),
        line if line.starts_with("PUT /v1/queues/") => Answer::json(200, queue),
        "GET /v1/tenants" => Answer::json(200, &format!("[{tenant}]")),
        line if line.starts_with("PUT /v1/tenants/") => Answer::json(200, tenant),
        _ => Answer::missing(),
    });
    assert!(folder.ask(&server, "queues").done().out.contains("urgent"));
    folder.ask(&server, "queues set urgent --priority -9").done();
    let sent = serde_json::json!({"priority": -9, "strict": true, "tenants": ["red"]});
    assert_eq!(server.body("PUT /v1/queues/urgent"), sent);
    folder.ask(&server, "queues set new --strict --tenants all").done();
    assert_eq!(
        server.body("PUT /v1/queues/new"),
        serde_json::json!({"priority": 0, "strict": true, "tenants": []})
    );
    let shown = folder.ask(&server, "tenants").done().out;
    assert!(shown.contains("1.5 h200") && shown.contains("1 cpu up to 2"), "{shown}");
    folder.ask(&server, "tenants set red --quota h200=4:16 --quota cpu=none").done();
    let sent = serde_json::json!({"quotas": [{"kind": "h200", "guarantee": 4, "ceiling": 16}]});
    assert_eq!(server.body("PUT /v1/tenants/red"), sent);
    folder.ask(&server, "tenants set red --quota h200=x").refused(2, &["`h200=x`", "KIND=GUARANTEE"]);
}

#[test]
fn events_are_lines_and_can_be_followed() {
    let event = |position: u64| {
        format!(
            r#"{{"position": {position}, "at": "2026-03-09T14:05:00Z", "kind": "started", "job": 17, "text": "on n1[0]"}}"#
        )
    };
    let (first, second) = (event(4), event(5));
    let (folder, server) = with(move |line| match line {
        "GET /v1/events?from=4&limit=1" => Answer::json(200, &format!("[{first}]")),
        "GET /v1/events?from=4&follow=true" => Answer::text(&format!("data: {first}\n\ndata: {second}\n\n")),
        _ => Answer::json(401, r#"{"error": "no longer"}"#),
    });
    let shown = folder.ask(&server, "events --from 4 --limit 1").done().out;
    assert_eq!(shown, "       4  2026-03-09 14:05:00  started       job 17    on n1[0]\n");
    assert_eq!(folder.ask(&server, "events --from 4 --limit 1 --json").json()[0]["position"], 4);
    let ran = folder.ask(&server, "events -f --from 4 --json");
    let positions = ran.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    assert_eq!(positions.map(|event| event["position"].as_u64().unwrap()).collect::<Vec<_>>(), [4, 5]);
    assert_eq!(ran.code, 3);
    assert!(server.was_asked("GET /v1/events?from=6&follow=true"), "{:?}", server.asked());
}

#[test]
fn top_prints_once_where_nobody_watches() {
    let (folder, server) = with(|line| match line {
        "GET /v1/status" => Answer::json(200, STATUS),
        "GET /v1/devices" => Answer::json(200, DEVICES),
        line if line.starts_with("GET /v1/jobs") => Answer::json(200, &format!("[{}]", job(17, "running"))),
        _ => Answer::missing(),
    });
    let shown = folder.ask(&server, "top").done().out;
    assert!(shown.starts_with("consort 1.0.0 (local): 2 devices, 2 in use; 1 running, 1 waiting"), "{shown}");
    assert!(shown.contains("n1[0]") && shown.contains("train") && !shown.contains('\u{1b}'), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 120), "{shown}");
}
