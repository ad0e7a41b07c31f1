//! NVIDIA devices, as their library tells of them.
//!
//! For: cards, and the slices that a card was cut into, each a device with a name that survives a restart.
//! Promises: a field that the library cannot tell is empty, and the device is there all the same; a card that does not
//! answer is a note. Cards joined by NVLink, to each other or to one switch fabric, are an island.
//! Never: cuts a card or joins its slices: what the administrator made is what there is.

use crate::discover::inventory::{FoundDevice, Mask};
use crate::discover::pci;
use crate::nvidia;
use nvml_wrapper::Device;
use std::path::{Path, PathBuf};

/// What a device may have, as the library counts.
const LINKS: u32 = 18;

/// The devices of this machine.
pub(super) fn find(library: Option<&Path>, root: &Path, notes: &mut Vec<String>) -> Vec<FoundDevice> {
    let nvml = match nvidia::load(library) {
        Ok(nvml) => nvml,
        Err(why) => {
            notes.push(format!("no NVIDIA devices: {why}"));
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    let mut ends = Vec::new();
    for index in 0..nvml.device_count().unwrap_or(0) {
        match nvml.device_by_index(index).and_then(|device| Ok((device.uuid()?, device))) {
            Ok((uuid, device)) => {
                let address = device.pci_info().map(|info| nvidia::address(&info.bus_id)).unwrap_or_default();
                ends.push((address.clone(), links(&device)));
                let near = (address.as_str(), root);
                match slices(&device) {
                    slices if slices.is_empty() => {
                        found.push(describe(&device, uuid, index, ends.len(), near))
                    }
                    slices => {
                        let slices = slices.into_iter();
                        found.extend(slices.map(|(uuid, slice)| describe(&slice, uuid, index, 0, near)));
                    }
                }
            }
            Err(error) => {
                notes.push(format!("skipped NVIDIA device {index}, which does not answer: {error}"))
            }
        }
    }
    let islands = islands(&ends);
    for device in &mut found {
        // Until here it said which card it is; a slice is joined to nothing.
        device.island = device.island.and_then(|card| islands[card as usize]);
    }

    found
}

fn describe(
    device: &Device<'_>,
    uuid: String,
    index: u32,
    card: usize,
    (address, root): (&str, &Path),
) -> FoundDevice {
    let minor = device.minor_number().unwrap_or(index);
    FoundDevice {
        kind: device.name().map_or_else(|_| "nvidia".into(), |name| nvidia::kind(&name)),
        vendor: "nvidia".into(),
        memory_bytes: device.memory_info().map_or(0, |memory| memory.total),
        index,
        numa: pci::numa(root, address),
        masks: ["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"].map(|name| Mask::fixed(name, &uuid)).into(),
        paths: vec![PathBuf::from(format!("/dev/nvidia{minor}"))],
        cpus: pci::near(root, address),
        island: card.checked_sub(1).map(|card| card as u32),
        identity: uuid,
    }
}

/// The slices of a card that is cut; none if it is whole.
fn slices<'a>(device: &Device<'a>) -> Vec<(String, Device<'a>)> {
    if !device.mig_mode().is_ok_and(|mode| mode.current == 1) {
        return Vec::new();
    }
    let slices = (0..device.mig_device_count().unwrap_or(0)).filter_map(|slot| {
        let slice = device.mig_device_by_index(slot).ok()?;
        Some((slice.uuid().ok()?, slice))
    });
    slices.collect()
}

/// Where the links of a card lead to.
fn links(device: &Device<'_>) -> Vec<String> {
    let links = (0..LINKS).map(|link| device.link_wrapper_for(link));
    let up = links.filter(|link| link.is_active().unwrap_or(false));
    up.filter_map(|link| Some(nvidia::address(&link.remote_pci_info().ok()?.bus_id))).collect()
}

/// The island of each card: cards that are linked, or that are linked to anything that is no card (a switch).
fn islands(cards: &[(String, Vec<String>)]) -> Vec<Option<u32>> {
    // Each card points to the first card of its island.
    let mut first: Vec<usize> = (0..cards.len()).collect();
    let mut at_switch = None;
    for (card, (_, links)) in cards.iter().enumerate() {
        for link in links {
            let other = cards.iter().position(|(address, _)| address == link);
            let other = other.unwrap_or_else(|| *at_switch.get_or_insert(card));
            let (a, b) = (first[card], first[other]);
            first.iter_mut().filter(|one| **one == a || **one == b).for_each(|one| *one = a.min(b));
        }
    }
    let alone = |card: usize| first.iter().filter(|&&one| one == first[card]).count() == 1;
    (0..cards.len()).map(|card| (!alone(card)).then_some(first[card] as u32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(address: &str, links: &[&str]) -> (String, Vec<String>) {
        (address.into(), links.iter().map(|&link| link.into()).collect())
    }

    #[test]
    fn cards_that_are_linked_are_an_island() {
        let pairs =
            [card("a", &["b"]), card("c", &["d"]), card("b", &["a"]), card("d", &["c"]), card("e", &[])];
        assert_eq!(islands(&pairs), [Some(0), Some(1), Some(0), Some(1), None]);
    }

    #[test]
    fn those_at_one_switch_are_too() {
        let all = [card("a", &["s1", "s2"]), card("b", &["s2"]), card("c", &[]), card("d", &["s1"])];
        assert_eq!(islands(&all), [Some(0), Some(0), None, Some(0)]);
        assert_eq!(islands(&[]), Vec::<Option<u32>>::new());
    }
}
