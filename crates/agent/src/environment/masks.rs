//! Which devices a worker sees.
//!
//! For: a worker cannot take by accident what was granted to somebody else.
//! Promises: every variable of every vendor present on this machine is set, to the devices of this worker in the order of
//! its grants; to nothing where it has none of that vendor.
//! In a container only what was granted is there at all, and runtimes count it from 0: masks by number are left out there.
//! Never: relies on numbers that change when the driver counts anew, where the vendor knows names.

use crate::environment::team::{Team, Worker};
use std::collections::BTreeMap;

/// What hides everything, where an empty list would show everything.
fn nothing(variable: &str) -> &'static str {
    match variable {
        "HIP_VISIBLE_DEVICES" => "-1",
        _ => "",
    }
}

pub(super) fn set(all: &mut BTreeMap<String, String>, team: &Team<'_>, worker: &Worker, in_container: bool) {
    let mut seen: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for mask in team.inventory.devices().iter().flat_map(|device| &device.masks) {
        seen.entry(&mask.variable).or_default();
    }
    for mask in team.devices(worker).flat_map(|device| &device.masks) {
        let list = seen.entry(&mask.variable).or_default();
        list.push(mask.value.clone().unwrap_or_else(|| list.len().to_string()));
    }
    for (variable, list) in seen {
        let is_counted = list.iter().all(|one| one.split(',').all(|word| word.parse::<u32>().is_ok()));
        if in_container && is_counted && !list.is_empty() {
            all.remove(variable);
            continue;
        }
        let value = if list.is_empty() { nothing(variable).to_owned() } else { list.join(",") };
        all.insert(variable.to_owned(), value);
    }
}
