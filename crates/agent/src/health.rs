//! Which devices must not be used.
//!
//! For: work is moved away from a device that fell ill, and comes back to one that is well again.
//! Promises: every change is reported, and only changes; a report is the whole list.
//! Never: resets or repairs anything, and never calls a device ill because a program on it failed.

mod ward;

pub use ward::{Sign, Ward};

use crate::discover::Inventory;
use crate::{nvidia, telemetry};
use consort_types::Illness;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enum_wrappers::device::{EccCounter, MemoryError};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::event::EventSet;
use nvml_wrapper::struct_wrappers::event::EventData;
use nvml_wrapper::{Nvml, enums::event::XidError};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A thread that watches. Ends when it is dropped.
pub struct HealthWatch {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The longest wait for an event, so that the end is noticed.
const NAP: Duration = Duration::from_millis(100);

impl HealthWatch {
    /// Watches the devices of an inventory and asks each how it is once in a while. Absent where there is nothing that
    /// can be watched. `known` is what whoever is reported to believes at the start.
    pub fn start(
        inventory: &Inventory,
        library: Option<PathBuf>,
        every: Duration,
        known: Vec<Illness>,
        report: impl Fn(Vec<Illness>) + Send + 'static,
    ) -> Option<Self> {
        let devices = telemetry::nvidia_devices(inventory);
        if devices.is_empty() {
            return None;
        }
        let over = Arc::new(AtomicBool::new(false));
        let ended = over.clone();
        let thread = std::thread::Builder::new().name("health".into()).spawn(move || {
            if let Ok(nvml) = nvidia::load(library.as_deref()) {
                watch(&nvml, &devices, every, known, &ended, &report);
            }
        });
        Some(Self { over, thread: Some(thread.ok()?) })
    }
}

impl Drop for HealthWatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(
    nvml: &Nvml,
    devices: &[(u32, String)],
    every: Duration,
    known: Vec<Illness>,
    over: &AtomicBool,
    report: &dyn Fn(Vec<Illness>),
) {
    // Of a device that is not watched nothing would ever be heard again.
    let is_watched = |illness: &Illness| devices.iter().any(|(position, _)| *position == illness.device);
    let mut ward = Ward::knowing(&known.iter().filter(|one| is_watched(one)).cloned().collect::<Vec<_>>());
    let mut told = known;
    let mut events = register(nvml, devices);
    let mut next_round = Instant::now();
    while !over.load(Ordering::Relaxed) {
        if Instant::now() >= next_round {
            next_round = Instant::now() + every;
            let was_lost = ward.is_any_lost();
            devices.iter().for_each(|(position, uuid)| ward.take(*position, look(nvml, uuid)));
            if was_lost && !ward.is_any_lost() {
                // Whoever came back has to be listened to anew.
                events = register(nvml, devices);
            }
        }
        let nap = next_round.saturating_duration_since(Instant::now()).min(NAP);
        match events.as_ref().map(|events| events.wait(nap.as_millis() as u32)) {
            Some(Ok(event)) => {
                if let Some((position, sign)) = read(devices, &event) {
                    ward.take(position, sign);
                }
            }
            Some(Err(NvmlError::Timeout)) => {}
            Some(Err(_)) | None => std::thread::sleep(nap),
        }
        let ill = ward.ill();
        if ill != told {
            report(ill.clone());
            told = ill;
        }
    }
}

fn register<'a>(nvml: &'a Nvml, devices: &[(u32, String)]) -> Option<EventSet<'a>> {
    let mut set = nvml.create_event_set().ok()?;
    for (_, uuid) in devices {
        let Ok(device) = nvml.device_by_uuid(uuid.as_str()) else { continue };
        set = match device.register_events(EventTypes::CRITICAL_XID_ERROR, set) {
            Ok(set) => set,
            // It takes the set with it: without events the rounds still tell of lost devices and broken memory.
            Err(_) => return None,
        };
    }
    Some(set)
}

fn look(nvml: &Nvml, uuid: &str) -> Sign {
    // A handle is given out for a card that no longer answers; its name is not.
    let answer = nvml.device_by_uuid(uuid).and_then(|device| device.uuid().map(|_| device));
    match answer {
        Ok(device) => Sign::Answers {
            broken: device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile).unwrap_or(0),
        },
        Err(error) if nvidia::is_lost(&error) => Sign::Lost,
        Err(NvmlError::NotFound) => Sign::Lost,
        // Anything else is the library's trouble, not the card's.
        Err(_) => Sign::Nothing,
    }
}

fn read(devices: &[(u32, String)], event: &EventData<'_>) -> Option<(u32, Sign)> {
    let uuid = event.device.uuid().ok()?;
    let (position, _) = devices.iter().find(|(_, known)| *known == uuid)?;
    let code = match event.event_data.as_ref()? {
        XidError::Value(code) => *code,
        XidError::Unknown => 0,
    };
    Some((*position, Sign::Xid(code)))
}
