//! The whole story: two tenants, priorities, a preemption, a device that falls ill, a restart in the middle.

use super::cards;
use super::daemon::{House, until};
use serde_json::{Value, json};
use std::fs;

fn shown(house: &House, id: u64) -> Value {
    house.json(&["show", &id.to_string(), "--json"])
}

#[test]
fn the_whole_story() {
    let mut house = cards::house(4);
    let script = cards::script(&house);
    let scripted = |ill| cards::write(&script, 4, ill);
    house.start();
    // Four cards, and processors for those who ask for them by name.
    let devices = house.json(&["devices", "--json"]);
    let cards: Vec<&Value> =
        devices.as_array().expect("a list").iter().filter(|device| device["kind"] == "h200").collect();
    assert_eq!(cards.len(), 4, "{devices}");
    until("the sensors", || {
        let devices = house.json(&["devices", "--json"]);
        let warm = devices.as_array()?.iter().any(|device| device["temperature_c"] == 43.0);
        warm.then_some(())
    });
    // Two tenants; red is promised three cards.
    house.said(&["tenants", "set", "red", "--quota", "h200=3"]);
    let said = house.said(&["tenants", "set", "blue", "--quota", "h200=2"]);
    assert!(said.contains("Note: the guarantees of h200 add up to 5, but there are 4"), "{said}");
    let notes = house.json(&["status", "--json"])["notes"].to_string();
    assert!(notes.contains("guarantees of h200"), "{notes}");
    let said = house.said(&["tenants", "set", "blue", "--quota", "h200=none"]);
    assert!(!said.contains("Note"), "{said}");
    let submit = |tenant: &str, words: &[&str], run: &str| -> u64 {
        let mut all = vec!["submit", "--json", "--tenant", tenant];
        all.extend(words);
        let file = house.path("job.yaml");
        fs::write(&file, json!({"run": run, "workdir": "/", "grace": "1s"}).to_string()).expect("a file");
        all.push(file.to_str().expect("a plain path"));
        house.json(&all)["id"].as_u64().expect("an id")
    };
    // Blue takes everything, with a gang of two and two single workers that never end by themselves.
    let gang = submit("blue", &["--workers", "2", "--name", "gang"], "echo $RANK of $WORLD_SIZE; sleep 300");
    let low = submit(
        "blue",
        &["--name", "low", "--qos", "best-effort"],
        "echo on $CUDA_VISIBLE_DEVICES; sleep 300",
    );
    let other = submit("blue", &["--name", "other", "--qos", "best-effort"], "sleep 300");
    for id in [gang, low, other] {
        house.until_state(id, &["running"]);
    }
    // Red wants a card: a best-effort job of blue gives way, and says to whom.
    let urgent = submit("red", &["--name", "urgent", "--priority", "5"], "sleep 300");
    house.until_state(urgent, &["running"]);
    let moved = until("somebody to give way", || {
        [low, other].into_iter().find(|&id| shown(&house, id)["preemptions"] == 1)
    });
    let reason = house.said(&["explain", &moved.to_string()]);
    assert!(reason.contains("needs 1 device") || reason.contains("0 free"), "{reason}");
    // The job that gave way is told for whom and by which rule, and so is whoever follows.
    let told = shown(&house, moved)["story"][0].clone();
    assert_eq!((&told["kind"], &told["by"]), (&json!("preempted"), &json!(urgent)), "{told}");
    let text = told["text"].as_str().expect("a sentence");
    assert!(text.contains(&format!("was preempted for job {urgent} (urgent, tenant red): ")), "{text}");
    assert!(reason.contains("was preempted for"), "{reason}");
    let events = house.json(&["events", "--json"]);
    let events = events.as_array().expect("a list");
    let mut stop = events.iter().flat_map(|event| event["changes"].as_array().expect("a list"));
    let stop = stop.rfind(|change| change["kind"] == "stop").expect("it was preempted");
    assert_eq!((&stop["job"], &stop["by"]), (&json!(moved), &json!(urgent)), "{stop}");
    for (kind, from) in [("submitted", "socket"), ("planned", "scheduler"), ("started", "world")] {
        let event = events.iter().find(|event| event["kind"] == kind).expect("it happened");
        assert_eq!(event["actor"]["from"], from, "{event}");
    }
    let kept = if moved == low { other } else { low };
    assert_eq!(shown(&house, kept)["state"], "running");
    // Higher priority goes first when there is room again.
    let later = submit("blue", &["--name", "later", "--priority", "1"], "sleep 300");
    house.until_state(later, &["waiting", "running"]);
    // A card falls ill: whoever was on it is moved, and nobody is put there.
    let held = shown(&house, gang)["asks"][0]["devices"].as_array().expect("a list").clone();
    let first = held[0].as_str().expect("a device").to_string();
    let position: usize =
        first.trim_end_matches(']').rsplit('[').next().expect("an index").parse().expect("a number");
    scripted(Some(position));
    until("the card to be unhealthy", || {
        let devices = house.json(&["devices", "--json"]);
        (devices[position]["state"] == "unhealthy").then_some(())
    });
    until("the gang to be taken off it", || {
        let gang = shown(&house, gang);
        let on = gang["asks"][0]["devices"].as_array().cloned().unwrap_or_default();
        (!on.contains(&json!(first))).then_some(())
    });
    assert!(house.said(&["devices"]).contains("unhealthy"));
    // Whoever follows is told of the node by its name, and so is Prometheus.
    let node = house.json(&["nodes", "--json"])[0]["name"].as_str().expect("a name").to_string();
    let said = house.said(&["events"]);
    let ill = said.lines().find(|line| line.contains("device-health")).expect("it happened");
    assert!(ill.contains(&format!("unhealthy in node {node}: device {position} ")), "{ill}");
    let metrics = house.client().expect("it is up").metrics().expect("figures");
    let label = format!("consort_device_power_watts{{node=\"{node}\",device=\"");
    assert!(metrics.contains(&label), "{metrics}");
    // In the middle of all this the daemon dies and comes back: those that run go on as they are.
    let before = (shown(&house, urgent)["attempts"].clone(), shown(&house, kept)["attempts"].clone());
    house.kill();
    house.start();
    house.until_state(urgent, &["running"]);
    assert_eq!((shown(&house, urgent)["attempts"].clone(), shown(&house, kept)["attempts"].clone()), before);
    // The card is well again and somebody is put there.
    scripted(None);
    until("the card to be well", || {
        let devices = house.json(&["devices", "--json"]);
        (devices[position]["state"] != "unhealthy").then_some(())
    });
    for id in [urgent, kept] {
        house.said(&["cancel", &id.to_string()]);
    }
    let gang_again = house.until_state(gang, &["running"]);
    assert!(gang_again["attempts"].as_u64() > Some(1), "{gang_again}");
    assert!(house.said(&["logs", &gang.to_string()]).contains("1 of 2"));
    // What is known of it all can be rebuilt from the journal.
    for id in [gang, moved, later] {
        let _ = house.run(&["cancel", &id.to_string()]);
    }
    until("everything to end", || {
        let status = house.client()?.status().ok()?;
        (status.waiting + status.running == 0).then_some(())
    });
    let live = house.client().expect("it is up").status_with_hash().expect("it answers");
    let replayed = house.json(&["replay", "--json", house.data().to_str().expect("a plain path")]);
    assert_eq!(replayed["state_hash"], live.state_hash.expect("it was asked for"));
}
