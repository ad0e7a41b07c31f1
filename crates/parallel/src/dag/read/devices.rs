//! The devices and the links between them, in YAML.

use super::amount;
use super::body;
use crate::dag::check;
use crate::dag::work::{Device, Work};
use crate::fabric::{self, Link};
use consort_types::file::ReadError;
use consort_types::file::value;
use consort_types::file::yaml::{Fields, Node};

/// Where work can run.
pub struct Site {
    /// In order.
    pub devices: Vec<Device>,
    /// How fast each is, beside the others.
    pub speed: Vec<f64>,
    /// By sender and receiver.
    pub links: Vec<Vec<Option<Link>>>,
    /// For data that no device holds.
    pub store: Option<Link>,
}

/// Takes `devices`, `link`, `links` and `store`.
pub fn site(fields: &mut Fields) -> Result<Site, ReadError> {
    let missing =
        fields.place.fail("missing field `devices`, expected devices here or in a file of their own");
    let (mut devices, mut speed) = (vec![], vec![]);
    for (key, node) in fields.take("devices").ok_or(missing)?.entries("devices")? {
        let name = key.read("the name of a device", value::name)?;
        device(&name, &key, node, &mut devices, &mut speed)?;
    }
    let one = fields.take("link").map(|node| link(node, "link")).transpose()?;
    let mut links = match one {
        Some(link) => Work::joined(devices.len(), link),
        None => vec![vec![None; devices.len()]; devices.len()],
    };
    let listed = fields.take("links");
    if one.is_none() && listed.is_none() && devices.len() > 1 {
        return Err(fields.place.fail(
            "missing field `link`, expected the link between devices, like {bandwidth: 25GB/s, latency: 5us}",
        ));
    }
    for node in listed.map_or(Ok(vec![]), |node| node.list("links"))? {
        join(node, &devices, &mut links)?;
    }
    let store = fields.take("store").map(|node| link(node, "store")).transpose()?;
    Ok(Site { devices, speed, links, store })
}

fn device(
    name: &str,
    key: &Node,
    node: Node,
    devices: &mut Vec<Device>,
    speed: &mut Vec<f64>,
) -> Result<(), ReadError> {
    let known = ["count", "kind", "speed", "memory", "host"];
    let (mut device, mut count, mut fast) = (Device { name: name.into(), ..Device::default() }, None, 1.0);
    if let Some(mut fields) = body(node, "a device", &known)? {
        count = fields.read("count", |text| value::count(text, 1, check::DEVICES as u32))?;
        device.kind = fields.read("kind", value::name)?.unwrap_or_default();
        device.host = fields.read("host", value::name)?.unwrap_or_default();
        device.memory_bytes = fields.read("memory", value::memory)?;
        fast = fields.read("speed", amount::speed)?.unwrap_or(1.0);
    }
    let names = match count {
        Some(count) => (0..count).map(|index| format!("{name}{index}")).collect(),
        None => vec![name.to_string()],
    };
    if devices.len() + names.len() > check::DEVICES {
        return Err(key.place.fail(format!("is beyond the limit of {} devices", check::DEVICES)));
    }
    for name in names {
        devices.push(Device { name, ..device.clone() });
        speed.push(fast);
    }
    Ok(())
}

const LINK: [&str; 2] = ["bandwidth", "latency"];

fn link(node: Node, what: &'static str) -> Result<Link, ReadError> {
    link_of(&mut node.fields(what, &LINK)?)
}

fn link_of(fields: &mut Fields) -> Result<Link, ReadError> {
    let bandwidth = fields.need("bandwidth")?.read("bandwidth", fabric::bandwidth)?;
    let latency_s = fields.read("latency", amount::seconds)?.unwrap_or(0.0);
    Ok(Link { bandwidth, latency_s })
}

/// `{between: [a, b], bandwidth, latency}`: names of devices, kinds or hosts; later ones replace earlier ones.
fn join(node: Node, devices: &[Device], links: &mut [Vec<Option<Link>>]) -> Result<(), ReadError> {
    let place = node.place;
    let mut fields = node.fields("a link", &["between", "bandwidth", "latency"])?;
    let mut ends = vec![];
    for end in fields.need("between")?.list("between")? {
        let name = end.text("between")?;
        let is = |device: &Device| [&device.name, &device.kind, &device.host].contains(&&name.to_string());
        let found: Vec<usize> = (0..devices.len()).filter(|&index| is(&devices[index])).collect();
        if found.is_empty() || name.is_empty() {
            let name = value::quoted(name);
            return Err(end
                .place
                .fail(format!("`between` names {name}, expected a device, a kind or a host")));
        }
        ends.push(found);
    }
    let [one, other] = &ends[..] else {
        return Err(place.fail(format!("`between` has {} entries, expected two", ends.len())));
    };
    let link = link_of(&mut fields)?;
    for &from in one {
        for &to in other {
            links[from][to] = Some(link);
            links[to][from] = Some(link);
        }
    }
    Ok(())
}
