//! What the made-up devices are like at this moment.
//!
//! For: tests that make a device fall ill while a daemon runs.
//! Promises: the file named by `CONSORT_FAKE_NVML` is read again whenever it has changed; a file that cannot be read is a
//! machine without devices.
//! Never: remembers anything but what the file says.

use serde::Deserialize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// The machine.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The devices, by index.
    pub devices: Vec<Device>,
}

/// One device.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Device {
    /// `GPU-...`
    pub uuid: String,
    /// `NVIDIA H200`
    pub name: String,
    /// `0000:3b:00.0`
    pub pci: String,
    /// All of it.
    pub memory_bytes: u64,
    /// What is in use.
    pub used_bytes: u64,
    /// Milliwatts.
    pub power_mw: u32,
    /// Degrees.
    pub temperature_c: u32,
    /// Percent of time.
    pub utilisation: u32,
    /// Millijoules since the driver was loaded.
    pub energy_mj: u64,
    /// Bits, as the library defines them.
    pub throttle: u64,
    /// Uncorrected memory errors since the driver was loaded.
    pub ecc_uncorrected: u64,
    /// It has fallen off the bus: every call about it fails.
    pub lost: bool,
    /// Critical errors so far; each that is added is an event.
    pub xids: Vec<u64>,
    /// What its links lead to: addresses of other devices, or of a switch.
    pub links: Vec<String>,
    /// Calls that this device does not know: `power`, `temperature`, `utilisation`, `energy`, `throttle`, `ecc`,
    /// `memory`, `events`.
    pub unsupported: Vec<String>,
}

static SEEN: Mutex<Option<(SystemTime, u64, Arc<Script>)>> = Mutex::new(None);

/// The script as it is now.
pub fn now() -> Arc<Script> {
    let path = std::env::var_os("CONSORT_FAKE_NVML").unwrap_or_default();
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let Ok(data) = std::fs::metadata(&path) else { return Arc::default() };
    let stamp = (data.modified().unwrap_or(SystemTime::UNIX_EPOCH), data.len());
    if let Some((modified, length, script)) = &*seen
        && (*modified, *length) == stamp
    {
        return script.clone();
    }
    let text = std::fs::read(&path).unwrap_or_default();
    match serde_json::from_slice::<Script>(&text) {
        Ok(script) => {
            let script = Arc::new(script);
            *seen = Some((stamp.0, stamp.1, script.clone()));
            script
        }
        // Half a file: somebody is writing it. What was known stays.
        Err(error) => match &*seen {
            Some((_, _, script)) => script.clone(),
            None => panic!("{} is no script of devices: {error}", path.display()),
        },
    }
}
