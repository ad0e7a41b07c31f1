//! The devices that a plan is for: counted by kind, or as a topology file has them.

use crate::failure::Failure;
use crate::plan::shown::read;
use consort_parallel::fabric::{self, Fabric, Host, Level, Link};
use consort_parallel::pipeline::transformer::known;
use consort_parallel::pipeline::whole::Kind;
use consort_types::file::read_error::InFile;
use consort_types::file::value;
use std::path::PathBuf;

/// Which devices there are.
#[derive(clap::Args)]
pub struct Devices {
    /// How many of which kind, as in 8xh100 or 4xa100,4xv100
    #[arg(long, value_name = "NxKIND", value_parser = counted, value_delimiter = ',', required_unless_present = "topology")]
    devices: Vec<(u32, String)>,
    /// How hosts are joined, in place of --devices (.yaml)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["devices", "bandwidth", "inside", "per_host"])]
    topology: Option<PathBuf>,
    /// Devices of one host
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    per_host: u32,
    /// Memory of every device, as in 80GiB [default: known for common kinds]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    memory: Option<f64>,
    /// Between hosts; inside as well where --inside is not given
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    bandwidth: Option<f64>,
    /// Between the devices of a host [default: 450GB/s, or --bandwidth]
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    inside: Option<f64>,
    /// What a kind of device has, as in v100:speed=0.4,memory=32GiB,flops=125T; speed 1 is that of the profile
    #[arg(long, value_name = "NAME:...", value_parser = described)]
    kind: Vec<Described>,
}

/// What was given about a kind.
#[derive(Clone, Debug, PartialEq)]
struct Described {
    name: String,
    speed: Option<f64>,
    memory: Option<f64>,
    flops: Option<f64>,
}

/// Devices with what joins them.
pub struct Found {
    /// Hosts and links.
    pub fabric: Fabric,
    /// What the hosts' kinds are.
    pub kinds: Vec<Kind>,
    /// By kind: operations a second as printed, where given.
    pub flops: Vec<Option<f64>>,
    /// What was taken for granted.
    pub assumed: Vec<String>,
}

/// Devices of one kind in hosts of one size.
pub struct Alike {
    /// All of them.
    pub devices: u32,
    /// In a host.
    pub per_host: u32,
    /// Of each.
    pub memory_bytes: f64,
}

impl Devices {
    /// What the flags and files say.
    pub fn found(&self) -> Result<Found, Failure> {
        let mut fabric = match &self.topology {
            Some(path) => fabric::read(&read(path)?)
                .in_file(&path.display().to_string())
                .map_err(crate::inputs::malformed)?,
            None => self.counted()?,
        };
        for host in fabric.hosts.iter_mut().filter(|host| host.kind.is_empty()) {
            host.kind = "device".into();
        }
        let mut names: Vec<String> = vec![];
        for host in &fabric.hosts {
            if !names.contains(&host.kind) {
                names.push(host.kind.clone());
            }
        }
        if let Some(unused) = self.kind.iter().find(|kind| !names.contains(&kind.name)) {
            return Err(crate::names::unknown("kind", &unused.name, names.iter().map(String::as_str)));
        }
        if names.is_empty() {
            return Err(Failure::request("no devices to plan for", "name at least one"));
        }
        self.kinds(fabric, &names)
    }

    fn counted(&self) -> Result<Fabric, Failure> {
        let link = |bandwidth, latency_s| Link { bandwidth, latency_s };
        let between = link(self.bandwidth.unwrap_or(50e9), 2e-6);
        let inside = link(self.inside.or(self.bandwidth).unwrap_or(450e9), 1e-6);
        let mut hosts: Vec<Host> = vec![];
        let many: u64 = self.devices.iter().map(|(count, _)| u64::from(*count)).sum();
        if many > MOST {
            let said = format!("{many} devices are too many to plan for");
            return Err(Failure::request(said, format_args!("give at most {MOST}")));
        }
        for (count, kind) in &self.devices {
            let mut left = *count;
            while left > 0 {
                let devices = left.min(self.per_host);
                let name = format!("host{}", hosts.len());
                hosts.push(Host { name, domains: vec![], devices, island: devices, kind: kind.clone() });
                left -= devices;
            }
        }
        let level = Level { name: "network".into(), link: between, uplink: None };
        Ok(Fabric { levels: vec![level], node: inside, island: inside, hosts, measured: None })
    }

    fn kinds(&self, fabric: Fabric, names: &[String]) -> Result<Found, Failure> {
        let mut found = Found { fabric, kinds: vec![], flops: vec![], assumed: vec![] };
        let said = |name: &str| self.kind.iter().find(|kind| kind.name == name);
        let flops = |name: &str| said(name).and_then(|kind| kind.flops).or(known(name).map(|known| known.0));
        for name in names {
            let memory = said(name).and_then(|kind| kind.memory).or(self.memory);
            let memory = memory.or(known(name).map(|known| known.1)).unwrap_or_else(|| {
                found.assumed.push(format!("the memory of {name} is unknown and assumed to be unlimited"));
                f64::INFINITY
            });
            let speed = match (said(name).and_then(|kind| kind.speed), flops(name), flops(&names[0])) {
                (Some(speed), _, _) => speed,
                _ if *name == names[0] => 1.0,
                (None, Some(flops), Some(first)) => {
                    let speed = flops / first;
                    found.assumed.push(format!("{name} is {speed:.2} times as fast as {}", names[0]));
                    speed
                }
                _ => {
                    let remedy = format!("give it with --kind {name}:speed=...");
                    return Err(Failure::request(format!("unknown speed of `{name}`"), remedy));
                }
            };
            found.flops.push(said(name).and_then(|kind| kind.flops));
            found.kinds.push(Kind { name: name.clone(), speed, factors: vec![], memory_bytes: memory });
        }
        Ok(found)
    }
}

impl Found {
    /// Where all devices are of one kind in hosts of one size that one level joins.
    pub fn alike(&self) -> Option<Alike> {
        let (hosts, first) = (&self.fabric.hosts, self.fabric.hosts.first()?);
        let is_even = hosts.iter().all(|host| host.devices == first.devices && host.island == host.devices);
        let is_flat = self.fabric.levels.len() == 1 && self.fabric.measured.is_none();
        let is_plain = self.kinds.len() == 1 && self.kinds[0].speed == 1.0;
        (is_even && is_flat && is_plain).then(|| Alike {
            devices: first.devices * hosts.len() as u32,
            per_host: first.devices,
            memory_bytes: self.kinds[0].memory_bytes,
        })
    }
}

/// Devices that can be counted.
const MOST: u64 = 131_072;

/// `8xh100`
fn counted(text: &str) -> Result<(u32, String), String> {
    let expected = || "expected a number and a kind, like 8xh100".to_string();
    let (count, kind) = text.split_once(['x', 'X']).ok_or_else(expected)?;
    let count = count.trim().parse::<u32>().map_err(|_| expected())?;
    match count > 0 && u64::from(count) <= MOST && !kind.trim().is_empty() {
        true => Ok((count, kind.trim().to_lowercase())),
        false => Err(expected()),
    }
}

fn memory(text: &str) -> Result<f64, String> {
    let bytes = value::memory(text).map_err(|expected| format!("expected {expected}"))?;
    match bytes {
        0 => Err("expected some memory, like 80GiB".into()),
        bytes => Ok(bytes as f64),
    }
}

fn speed(text: &str) -> Result<f64, String> {
    fabric::bandwidth(text).map_err(|expected| format!("expected {expected}"))
}

/// `v100:speed=0.4,memory=32GiB,flops=125T`
fn described(text: &str) -> Result<Described, String> {
    let expected =
        || "expected a kind and its properties, like v100:speed=0.4,memory=32GiB,flops=125T".to_string();
    let (name, figures) = text.split_once(':').ok_or_else(expected)?;
    let mut kind = Described { name: name.to_lowercase(), speed: None, memory: None, flops: None };
    for figure in figures.split(',') {
        let (key, number) = figure.split_once('=').ok_or_else(expected)?;
        match key.trim() {
            "speed" => {
                let speed =
                    number.trim().parse::<f64>().ok().filter(|speed| *speed > 0.0 && speed.is_finite());
                kind.speed = Some(speed.ok_or("expected a speed above 0, like 0.4")?);
            }
            "memory" => kind.memory = Some(memory(number.trim())?),
            "flops" => kind.flops = Some(super::network::operations(number.trim())?),
            _ => return Err(expected()),
        }
    }
    Ok(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_kinds_are_read_as_people_write_them() {
        assert_eq!(counted("8xH100"), Ok((8, "h100".into())));
        assert!(["8", "xh100", "0xh100", "8x", "-1xa"].iter().all(|text| counted(text).is_err()));
        let kind = described("V100:speed=0.4,memory=32GiB").unwrap();
        assert_eq!((kind.name.as_str(), kind.speed, kind.flops), ("v100", Some(0.4), None));
        assert!(["v100", "v100:", "v100:speed=0", "v100:colour=red"].iter().all(|it| described(it).is_err()));
    }
}
