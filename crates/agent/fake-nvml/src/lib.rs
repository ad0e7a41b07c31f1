//! A library that answers like NVIDIA's management library, from a script.
//!
//! For: everything that talks to NVIDIA devices can be tried on machines that have none.
//! Promises: the same functions, numbers and structures, as far as the agent uses them; a device can be lost, can report
//! errors and can be throttled while somebody watches.
//! Never: is found by accident: whoever wants it names its path.

mod script;

use nvml_wrapper_sys::bindings::*;
use script::Device;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_uint, c_ulonglong};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const OK: c_uint = nvmlReturn_enum_NVML_SUCCESS;
const INVALID: c_uint = nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT;
const UNSUPPORTED: c_uint = nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED;
const NOT_FOUND: c_uint = nvmlReturn_enum_NVML_ERROR_NOT_FOUND;
const TOO_SMALL: c_uint = nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE;
const TIMEOUT: c_uint = nvmlReturn_enum_NVML_ERROR_TIMEOUT;
const LOST: c_uint = nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST;

/// Handles are indices, counted from 1, so that none is null.
fn handle(index: usize) -> nvmlDevice_t {
    (index + 1) as nvmlDevice_t
}

fn index(device: nvmlDevice_t) -> usize {
    (device as usize).wrapping_sub(1)
}

fn about(device: nvmlDevice_t, feature: &str, tell: impl FnOnce(&Device)) -> c_uint {
    let script = script::now();
    match script.devices.get(index(device)) {
        None => INVALID,
        Some(found) if found.lost => LOST,
        Some(found) if found.unsupported.iter().any(|one| one == feature) => UNSUPPORTED,
        Some(found) => {
            tell(found);
            OK
        }
    }
}

unsafe fn put_text(text: &str, place: *mut c_char, room: usize) -> c_uint {
    if text.len() >= room {
        return TOO_SMALL;
    }
    // SAFETY: the caller gives as much room as it says, and the text with its end fits.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), place, text.len());
        *place.add(text.len()) = 0;
    }
    OK
}

macro_rules! functions {
    ($($name:ident($($argument:ident: $kind:ty),*) $body:block)*) => {$(
        /// As in the library.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_uint {
            // SAFETY: every pointer is one that the library's own contract asks the caller for.
            #[allow(unused_unsafe)]
            unsafe { $body }
        }
    )*};
}

functions! {
    nvmlInit_v2() { OK }
    nvmlShutdown() { OK }
    nvmlSystemGetDriverVersion(place: *mut c_char, room: c_uint) { put_text("550.54.15", place, room as usize) }
    nvmlDeviceGetCount_v2(count: *mut c_uint) {
        *count = script::now().devices.len() as c_uint;
        OK
    }
    nvmlDeviceGetHandleByIndex_v2(wanted: c_uint, device: *mut nvmlDevice_t) {
        match script::now().devices.get(wanted as usize) {
            None => INVALID,
            Some(found) if found.lost => LOST,
            Some(_) => { *device = handle(wanted as usize); OK }
        }
    }
    nvmlDeviceGetHandleByUUID(uuid: *const c_char, device: *mut nvmlDevice_t) {
        let wanted = std::ffi::CStr::from_ptr(uuid).to_string_lossy();
        let script = script::now();
        match script.devices.iter().position(|one| one.uuid == wanted) {
            None => NOT_FOUND,
            Some(found) if script.devices[found].lost => LOST,
            Some(found) => { *device = handle(found); OK }
        }
    }
    nvmlDeviceGetIndex(device: nvmlDevice_t, place: *mut c_uint) {
        about(device, "index", |_| *place = index(device) as c_uint)
    }
    nvmlDeviceGetMinorNumber(device: nvmlDevice_t, place: *mut c_uint) {
        about(device, "minor", |_| *place = index(device) as c_uint)
    }
    nvmlDeviceGetUUID(device: nvmlDevice_t, place: *mut c_char, room: c_uint) {
        let mut done = OK;
        match about(device, "uuid", |one| done = put_text(&one.uuid, place, room as usize)) { OK => done, other => other }
    }
    nvmlDeviceGetName(device: nvmlDevice_t, place: *mut c_char, room: c_uint) {
        let mut done = OK;
        match about(device, "name", |one| done = put_text(&one.name, place, room as usize)) { OK => done, other => other }
    }
    nvmlDeviceGetPciInfo_v3(device: nvmlDevice_t, info: *mut nvmlPciInfo_t) {
        about(device, "pci", |one| put_address(&one.pci, info))
    }
    nvmlDeviceGetMemoryInfo_v2(device: nvmlDevice_t, memory: *mut nvmlMemory_v2_t) {
        about(device, "memory", |one| {
            (*memory).total = one.memory_bytes;
            (*memory).used = one.used_bytes;
            (*memory).free = one.memory_bytes - one.used_bytes;
        })
    }
    nvmlDeviceGetPowerUsage(device: nvmlDevice_t, place: *mut c_uint) {
        about(device, "power", |one| *place = one.power_mw)
    }
    nvmlDeviceGetTemperature(device: nvmlDevice_t, _sensor: c_uint, place: *mut c_uint) {
        about(device, "temperature", |one| *place = one.temperature_c)
    }
    nvmlDeviceGetUtilizationRates(device: nvmlDevice_t, place: *mut nvmlUtilization_t) {
        about(device, "utilisation", |one| { (*place).gpu = one.utilisation; (*place).memory = 0; })
    }
    nvmlDeviceGetTotalEnergyConsumption(device: nvmlDevice_t, place: *mut c_ulonglong) {
        about(device, "energy", |one| *place = one.energy_mj)
    }
    nvmlDeviceGetCurrentClocksThrottleReasons(device: nvmlDevice_t, place: *mut c_ulonglong) {
        about(device, "throttle", |one| *place = one.throttle)
    }
    nvmlDeviceGetTotalEccErrors(device: nvmlDevice_t, kind: c_uint, _counter: c_uint, place: *mut c_ulonglong) {
        about(device, "ecc", |one| *place = if kind == 1 { one.ecc_uncorrected } else { 0 })
    }
    nvmlDeviceGetMigMode(device: nvmlDevice_t, current: *mut c_uint, pending: *mut c_uint) {
        about(device, "mig", |_| { *current = 0; *pending = 0; })
    }
    nvmlDeviceGetNvLinkState(device: nvmlDevice_t, link: c_uint, state: *mut c_uint) {
        let mut there = false;
        let told = about(device, "links", |one| there = (link as usize) < one.links.len());
        *state = c_uint::from(there);
        told
    }
    nvmlDeviceGetNvLinkRemotePciInfo_v2(device: nvmlDevice_t, link: c_uint, info: *mut nvmlPciInfo_t) {
        let mut there = false;
        let told = about(device, "links", |one| if let Some(address) = one.links.get(link as usize) {
            put_address(address, info);
            there = true;
        });
        if told == OK && !there { INVALID } else { told }
    }
    nvmlEventSetCreate(set: *mut nvmlEventSet_t) {
        *set = Box::into_raw(Box::new(Watch::default())).cast();
        OK
    }
    nvmlDeviceRegisterEvents(device: nvmlDevice_t, _types: c_ulonglong, set: nvmlEventSet_t) {
        let watch = &*set.cast::<Watch>();
        about(device, "events", |one| {
            watch.told.lock().unwrap().insert(index(device), one.xids.len());
        })
    }
    nvmlEventSetWait_v2(set: nvmlEventSet_t, data: *mut nvmlEventData_t, timeout_ms: c_uint) {
        (*set.cast::<Watch>()).wait(&mut *data, Duration::from_millis(timeout_ms.into()))
    }
    nvmlEventSetFree(set: nvmlEventSet_t) {
        drop(Box::from_raw(set.cast::<Watch>()));
        OK
    }
}

unsafe fn put_address(address: &str, info: *mut nvmlPciInfo_t) {
    // The library writes the domain with eight digits, the kernel with four.
    let text = format!("0000{}", address.to_uppercase());
    // SAFETY: the caller hands in a whole structure.
    unsafe {
        let info = &mut *info;
        put_text(&text, info.busId.as_mut_ptr(), info.busId.len());
        put_text(address, info.busIdLegacy.as_mut_ptr(), info.busIdLegacy.len());
    }
}

/// Who waits for events, and how many of each device it was told.
#[derive(Default)]
struct Watch {
    told: Mutex<BTreeMap<usize, usize>>,
}

impl Watch {
    fn wait(&self, data: &mut nvmlEventData_t, timeout: Duration) -> c_uint {
        let late = Instant::now() + timeout;
        loop {
            let script = script::now();
            for (device, told) in self.told.lock().unwrap().iter_mut() {
                let Some(found) = script.devices.get(*device) else { continue };
                if let Some(xid) = found.xids.get(*told) {
                    *told += 1;
                    data.device = handle(*device);
                    data.eventType = nvmlEventTypeXidCriticalError.into();
                    data.eventData = *xid;
                    return OK;
                }
            }
            if Instant::now() >= late {
                return TIMEOUT;
            }
            std::thread::sleep(Duration::from_millis(5).min(timeout));
        }
    }
}
