//! What this machine has, what it is doing, and how it is: `cargo run -p consort-agent --example devices`.

use consort_agent::discover::{Sources, discover};
use consort_agent::health::HealthWatch;
use consort_agent::telemetry::Telemetry;
use std::time::{Duration, Instant};

fn main() {
    let begin = Instant::now();
    let inventory = discover(&Sources::default());
    println!("{:#?}", inventory.node_spec());
    println!("{:#?}", inventory.kinds());
    for device in inventory.devices().iter().filter(|device| device.kind != "cpu") {
        println!("{device:#?}");
    }
    println!("notes: {:?}; looked for {:?}", inventory.notes, begin.elapsed());
    let telemetry = Telemetry::open(&inventory, None);
    let begin = Instant::now();
    println!("{:#?} in {:?}", telemetry.sample(), begin.elapsed());
    let watch = HealthWatch::start(&inventory, None, Duration::from_millis(200), vec![], |ill| {
        println!("ill: {ill:?}")
    });
    std::thread::sleep(Duration::from_secs(2));
    println!("watched: {}", watch.is_some());
}
