//! A machine with NVIDIA cards: a library that answers like NVIDIA's, from a script.

use super::daemon::House;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A house whose machine has so many cards beside its processors; no daemon yet.
pub fn house(cards: usize) -> House {
    let mut house = House::empty("up");
    fs::write(house.data().join("devices.yaml"), "discover: [nvidia, cpu]\n").expect("a file");
    let script = script(&house);
    write(&script, cards, None);
    house.env = vec![
        ("CONSORT_NVIDIA_LIBRARY".into(), library().display().to_string()),
        ("CONSORT_FAKE_NVML".into(), script.display().to_string()),
    ];
    house
}

/// The file that says how the cards are.
pub fn script(house: &House) -> PathBuf {
    house.path("nvml.json")
}

/// What CUDA calls a card.
pub fn uuid(index: usize) -> String {
    format!("GPU-0000000{index}-aaaa-bbbb-cccc-000000000000")
}

/// Says how the cards are; one of them may be lost.
pub fn write(script: &Path, cards: usize, lost: Option<usize>) {
    let card = |index: usize| {
        json!({
            "name": "NVIDIA H200",
            "uuid": uuid(index),
            "pci": format!("00000000:{index:02X}:00.0"),
            "memory_bytes": 151_000_000_000u64,
            "used_bytes": 1_000_000_000u64,
            "temperature_c": 40 + index,
            "power_mw": 90_000,
            "lost": lost == Some(index),
        })
    };
    let text = json!({"devices": (0..cards).map(card).collect::<Vec<_>>()}).to_string();
    let beside = script.with_extension("new");
    fs::write(&beside, text).and_then(|()| fs::rename(&beside, script)).expect("a file");
}

/// The library, built if it is not there yet.
fn library() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "-p", "consort-fake-nvml", "--message-format=json"])
        .output()
        .expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let said = String::from_utf8_lossy(&built.stdout).into_owned();
    let files = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let files = files.flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default());
    let library = files.filter_map(|file| file.as_str().map(PathBuf::from));
    let is_it = |file: &PathBuf| {
        file.to_string_lossy().contains("fake_nvml") && file.extension().is_some_and(|end| end == "so")
    };
    { library }.find(is_it).expect("a library")
}
