//! A request as people write it: a YAML file, or one device on a command line.
//!
//! ```yaml
//! batch: 256
//! accumulate: 4
//! devices:
//!   - {name: a100, fixed: 6.8ms, sample: 0.49ms, max: 128, count: 2, spread: 5%}
//!   - {name: t4, fixed: 4ms, sample: 2.1ms, memory: 16GiB, base: 3GiB, per-sample: 90MiB, efficient: 32}
//! ```

use super::{Device, Idle, MOST_DEVICES, Memory, Previous, Request};
use crate::fabric;
use consort_types::file::read_error::Place;
use consort_types::file::yaml::{self, Fields, Node, Value};
use consort_types::file::{ReadError, value};

const FIELDS: [&str; 11] =
    ["name", "fixed", "sample", "max", "count", "spread", "memory", "base", "per-sample", "efficient", "now"];

/// Reads a file. The name of the file is for the caller to fill in.
pub fn read(text: &str) -> Result<Request, ReadError> {
    let known = ["batch", "accumulate", "idle", "tail", "devices", "most-change", "least-gain"];
    let root = yaml::parse(text, "a batch and devices")?;
    let mut fields = root.fields("a split", &known)?;
    let place = fields.place;
    let batch = fields.take("batch").map_or(Ok(0), |node| node.read("batch", samples))?;
    let accumulate = take(&mut fields, "accumulate", times)?.unwrap_or(1);
    let idle = take(&mut fields, "idle", idle)?.unwrap_or_default();
    let tail = take(&mut fields, "tail", value::flag)?.unwrap_or(false);
    let most_change = take(&mut fields, "most-change", part)?.unwrap_or(0.1);
    let least_gain = take(&mut fields, "least-gain", part)?.unwrap_or(0.02);
    let Some(devices) = fields.take("devices") else {
        return Err(place.fail("`devices` is missing, expected a list of devices"));
    };
    let (mut found, mut now) = (vec![], vec![]);
    for node in devices.list("devices")? {
        let (devices, each) = device_of(node)?;
        now.extend(devices.iter().map(|_| each));
        found.extend(devices);
        if found.len() > MOST_DEVICES {
            return Err(place.fail(format!("has more than {MOST_DEVICES} devices")));
        }
    }
    let batches: Option<Vec<u64>> = now.into_iter().collect();
    let previous = batches.filter(|batches| !batches.is_empty()).map(|batches| Previous {
        batches,
        most_change,
        least_gain,
    });
    Ok(Request { batch, devices: found, idle, accumulate, tail, previous })
}

/// One device as it stands on a command line: `a100:fixed=6.8ms,sample=0.49ms,max=128,count=2`. As many as its count.
pub fn device(text: &str) -> Result<Vec<Device>, ReadError> {
    let place = Place::default();
    let fail = |message: &str| place.fail(format!("{} {message}", value::quoted(text)));
    let (name, rest) = text
        .split_once(':')
        .ok_or_else(|| fail("has no times, expected a name and times like a100:fixed=6.8ms,sample=0.49ms"))?;
    let scalar = |text: &str| Node { place, value: Value::Text(text.trim().into()) };
    let mut entries = vec![(scalar("name"), scalar(name))];
    for pair in rest.split(',') {
        let (key, value) =
            pair.split_once('=').ok_or_else(|| fail("has a part without `=`, expected KEY=VALUE"))?;
        if entries.iter().any(|(known, _)| known.text("key").is_ok_and(|known| known == key.trim())) {
            return Err(fail(&format!("has duplicate key {}", value::quoted(key))));
        }
        entries.push((scalar(key), scalar(value)));
    }
    device_of(Node { place, value: Value::Map(entries) }).map(|(devices, _)| devices)
}

/// One entry: as many devices as its count, and the samples that each has now.
fn device_of(node: Node) -> Result<(Vec<Device>, Option<u64>), ReadError> {
    let mut fields = node.fields("a device", &FIELDS)?;
    let place = fields.place;
    let missing =
        |what: &str, like: &str| place.fail(format!("`{what}` of a device is missing, expected {like}"));
    let name = take(&mut fields, "name", value::name)?.ok_or_else(|| missing("name", "what it is called"))?;
    let fixed_s = take(&mut fields, "fixed", fabric::latency)?.unwrap_or(0.0);
    let sample_s = take(&mut fields, "sample", fabric::latency)?
        .ok_or_else(|| missing("sample", "the time that each sample adds, like 0.49ms"))?;
    let count = take(&mut fields, "count", |text| value::count(text, 1, MOST_DEVICES as u32))?.unwrap_or(1);
    let bytes = |text: &str| value::memory(text).map(|bytes| bytes as f64);
    let memory = take(&mut fields, "memory", bytes)?;
    let (base, per_sample) = (take(&mut fields, "base", bytes)?, take(&mut fields, "per-sample", bytes)?);
    let memory = match (memory, per_sample) {
        (Some(bytes), Some(per_sample)) => Some(Memory { bytes, base: base.unwrap_or(0.0), per_sample }),
        (None, None) if base.is_none() => None,
        _ => {
            return Err(missing(
                "memory",
                "memory, base and per-sample together, like 40GiB, 6GiB and 90MiB",
            ));
        }
    };
    let device = Device {
        name: name.clone(),
        fixed_s,
        sample_s,
        max_batch: take(&mut fields, "max", samples)?,
        efficient: take(&mut fields, "efficient", samples)?,
        memory,
        spread: take(&mut fields, "spread", part)?.unwrap_or(0.0),
    };
    let now = take(&mut fields, "now", samples)?;
    let numbered = |number| Device { name: format!("{name}-{number}"), ..device.clone() };
    let all = match count {
        1 => vec![device.clone()],
        _ => (0..count).map(numbered).collect(),
    };
    Ok((all, now))
}

fn take<T>(
    fields: &mut Fields,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, ReadError> {
    fields.take(name).map(|node| node.read(name, parse)).transpose()
}

fn samples(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(samples) if samples <= super::MOST_SAMPLES => Ok(samples),
        _ => Err("a whole number of samples".into()),
    }
}

fn times(text: &str) -> Result<u32, String> {
    value::count(text, 1, 1_000_000)
}

fn idle(text: &str) -> Result<Idle, String> {
    match text {
        "never" => Ok(Idle::Never),
        "faster" => Ok(Idle::WhenFaster),
        "allowed" => Ok(Idle::Freely),
        _ => Err("never, faster or allowed".into()),
    }
}

/// `0.05` or `5%`.
fn part(text: &str) -> Result<f64, String> {
    let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim(), 100.0));
    let found = number.parse::<f64>().ok().map(|number| number / whole);
    found.filter(|part| (0.0..=10.0).contains(part)).ok_or_else(|| "a part like 0.05 or 5%".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_read_with_its_units() {
        let found = device("a100:fixed=6.8ms,sample=0.49ms,max=128,count=2,spread=5%").unwrap();
        let names: Vec<&str> = found.iter().map(|device| &*device.name).collect();
        assert_eq!(names, ["a100-0", "a100-1"]);
        assert_eq!((found[0].fixed_s, found[0].sample_s, found[0].spread), (0.0068, 0.00049, 0.05));
        assert_eq!(found[1].max_batch, Some(128));
    }

    #[test]
    fn a_file_is_read_whole() {
        let text = "batch: 256\naccumulate: 4\nidle: never\ntail: true\ndevices:\n  \
                    - {name: a, fixed: 1ms, sample: 1ms, now: 100, memory: 16GiB, base: 2GiB, per-sample: 90MiB}\n  \
                    - {name: b, sample: 2ms, count: 2, now: 78, efficient: 32}\n";
        let request = read(text).unwrap();
        assert_eq!((request.batch, request.accumulate, request.idle), (256, 4, Idle::Never));
        assert_eq!(request.devices.len(), 3);
        assert_eq!(request.previous.unwrap().batches, [100, 78, 78]);
        assert!(super::super::plan(&read(text).unwrap()).is_ok());
    }

    #[test]
    fn what_is_wrong_is_said_where_it_is() {
        for (text, said) in [
            ("a100", "`a100` has no times"),
            ("a100:fixed", "has a part without `=`"),
            ("a100:fixed=1ms", "`sample` of a device is missing"),
            ("a100:sample=1ms,sample=2ms", "has duplicate key `sample`"),
            ("a100:sampel=1ms", "did you mean `sample`?"),
            ("a100:sample=fast", "`sample` is `fast`, expected a delay like 5us"),
            ("a100:sample=1ms,memory=40GiB", "`memory` of a device is missing"),
            ("a100:sample=1ms,max=-3", "`max` is `-3`, expected a whole number"),
            ("a100:sample=1ms,spread=x", "`spread` is `x`, expected a part"),
        ] {
            let found = device(text).unwrap_err().to_string();
            assert!(found.contains(said), "{text}: {found}");
        }
        assert!(read("batch: 3\n").unwrap_err().message.contains("`devices` is missing"));
        assert_eq!(read("batch: 3\ndevices:\n  - {name: a, sample: 1}\n").unwrap_err().line, 3);
    }
}
