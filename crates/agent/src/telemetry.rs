//! What devices are doing at this moment.
//!
//! For: power, heat, use and memory, by position, for whoever shows or learns from them.
//! Promises: what a device cannot tell is absent and costs nothing else; a sample never fails.
//! Never: changes a setting of a card, and never keeps a history.

use crate::discover::Inventory;
use crate::nvidia;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::{Device, Nvml};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What one device is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Its position in the inventory.
    pub device: u32,
    /// What it draws.
    pub power_mw: Option<u64>,
    /// How hot it is.
    pub temperature_c: Option<u32>,
    /// Percent of time in which it did something.
    pub utilisation_percent: Option<u32>,
    /// Memory in use on it.
    pub memory_used_bytes: Option<u64>,
    /// What it has drawn since its driver was loaded.
    pub energy_mj: Option<u64>,
    /// Why it runs slower than it could; empty when it does not, or cannot tell.
    pub throttle: Vec<String>,
}

/// A way to ask the devices of an inventory.
pub struct Telemetry {
    nvml: Option<Nvml>,
    /// Position and identity.
    nvidia: Vec<(u32, String)>,
}

impl Telemetry {
    /// Opens what has to be opened. Without a library there is nothing to ask, and samples are empty.
    pub fn open(inventory: &Inventory, library: Option<&Path>) -> Self {
        let nvidia = nvidia_devices(inventory);
        let nvml = if nvidia.is_empty() { None } else { nvidia::load(library).ok() };
        Self { nvml, nvidia }
    }

    /// What every device that can tell is doing, by position.
    pub fn sample(&self) -> Vec<Reading> {
        let Some(nvml) = &self.nvml else { return Vec::new() };
        let devices = self.nvidia.iter();
        devices
            .filter_map(|(position, uuid)| Some(read(*position, &nvml.device_by_uuid(uuid.as_str()).ok()?)))
            .collect()
    }
}

/// The devices that NVIDIA's library can be asked about: position and identity.
pub(crate) fn nvidia_devices(inventory: &Inventory) -> Vec<(u32, String)> {
    let devices = inventory.devices().iter().enumerate();
    // Those that were declared by hand have names of our own.
    let known = devices
        .filter(|(_, device)| device.identity.starts_with("GPU-") || device.identity.starts_with("MIG-"));
    known.map(|(position, device)| (position as u32, device.identity.clone())).collect()
}

fn read(position: u32, device: &Device<'_>) -> Reading {
    Reading {
        device: position,
        power_mw: device.power_usage().ok().map(u64::from),
        temperature_c: device.temperature(TemperatureSensor::Gpu).ok(),
        utilisation_percent: device.utilization_rates().ok().map(|rates| rates.gpu),
        memory_used_bytes: device.memory_info().ok().map(|memory| memory.used),
        energy_mj: device.total_energy_consumption().ok(),
        throttle: device.current_throttle_reasons().map(words).unwrap_or_default(),
    }
}

/// The reasons that are worth a word: an idle card, or one whose clocks somebody set, is not held back.
fn words(reasons: ThrottleReasons) -> Vec<String> {
    let all = [
        (ThrottleReasons::SW_POWER_CAP, "power cap"),
        (ThrottleReasons::HW_SLOWDOWN, "hardware slowdown"),
        (ThrottleReasons::SYNC_BOOST, "sync boost"),
        (ThrottleReasons::SW_THERMAL_SLOWDOWN, "heat"),
        (ThrottleReasons::HW_THERMAL_SLOWDOWN, "heat (hardware)"),
        (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power brake"),
    ];
    all.into_iter().filter(|(bit, _)| reasons.contains(*bit)).map(|(_, word)| word.to_owned()).collect()
}
