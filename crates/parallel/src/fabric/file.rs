//! The topology file: what a person writes to describe how hosts are joined.
//!
//! ```yaml
//! levels:                       # outermost first; the first joins all hosts
//!   - {name: spine, bandwidth: 100Gb/s, latency: 5us}
//!   - {name: leaf, bandwidth: 400Gb/s, latency: 2us, uplink: 1600Gb/s}
//! node: {bandwidth: 64GB/s, latency: 1us}
//! island: {bandwidth: 450GB/s, latency: 1us, devices: 8}
//! hosts:
//!   - {name: 'node{}', count: 16, from: 1, devices: 8, kind: h100, domains: {leaf: {name: 'l{}', every: 4}}}
//! measured:                     # pairs that were measured; the levels speak for the others
//!   - {between: [node1, node2], bandwidth: 380Gb/s}
//!   - {from: node1, to: node3, bandwidth: 40Gb/s}
//! ```
//! Only `hosts` must be there. Without `levels` there is one, `network`. A level may be a name alone. Defaults: at the
//! innermost level 50GB/s and 2us, at every level further out half the bandwidth and 2us more; no uplink to count;
//! `node` 64GB/s and 1us; `island` 450GB/s and 1us, all devices of a host; 8 devices on a host.

use super::hints::{DEVICES, ISLAND, NODE, class};
use super::{Fabric, Flaw, Host, Level, Link, MOST_DEVICES, MOST_HOSTS, MOST_MEASURED, bandwidth, latency};
use consort_types::file::read_error::{Place, ReadError};
use consort_types::file::yaml::{self, Fields, Node, Value};
use consort_types::file::{limits, value};
use std::collections::BTreeMap;

/// Reads a topology file.
pub fn read(text: &str) -> Result<Fabric, ReadError> {
    let known = ["levels", "node", "island", "hosts", "measured"];
    let mut fields = yaml::parse(text, "a topology")?.fields("a topology", &known)?;
    let levels = levels(&mut fields)?;
    let node = link(&mut fields, "node", "`node`", NODE, &["bandwidth", "latency"])?.0;
    let (island, size) =
        link(&mut fields, "island", "`island`", ISLAND, &["bandwidth", "latency", "devices"])?;
    let hosts = hosts(fields.need("hosts")?, &levels, size)?;
    let mut fabric = Fabric { levels, node, island, hosts, measured: None };
    fabric.check()?;
    if let Some(node) = fields.take("measured") {
        fabric.measured = Some(measured(node, &fabric)?);
        fabric.check()?;
    }
    Ok(fabric)
}

fn levels(fields: &mut Fields) -> Result<Vec<Level>, ReadError> {
    let Some(node) = fields.take("levels") else {
        return Ok(vec![Level { name: "network".into(), link: class(0), uplink: None }]);
    };
    let (place, items) = (node.place, node.list("levels")?);
    if items.is_empty() || items.len() > limits::LEVELS {
        return Err(place.fail(format!(
            "`levels` has {} of them, expected 1 to {}",
            items.len(),
            limits::LEVELS
        )));
    }
    let count = items.len();
    let level = |(at, node): (usize, Node)| {
        let usual = class(count - 1 - at);
        if let Value::Text(_) = node.value {
            return Ok(Level { name: node.read("levels", value::name)?, link: usual, uplink: None });
        }
        let mut fields = node.fields("a level", &["name", "bandwidth", "latency", "uplink"])?;
        let name = fields.need("name")?.read("name", value::name)?;
        if at == 0
            && let Some(place) = fields.given("uplink")
        {
            return Err(place.fail(format!(
                "level {name} joins all hosts, so that it has no uplink; name one at a level further in"
            )));
        }
        let uplink = fields.read("uplink", bandwidth)?;
        Ok(Level { name, link: speeds(&mut fields, usual)?, uplink })
    };
    items.into_iter().enumerate().map(level).collect()
}

fn speeds(fields: &mut Fields, usual: Link) -> Result<Link, ReadError> {
    Ok(Link {
        bandwidth: fields.read("bandwidth", bandwidth)?.unwrap_or(usual.bandwidth),
        latency_s: fields.read("latency", latency)?.unwrap_or(usual.latency_s),
    })
}

/// `node` or `island`, and how many devices it says.
fn link(
    fields: &mut Fields,
    name: &str,
    what: &'static str,
    usual: Link,
    known: &[&str],
) -> Result<(Link, Option<u32>), ReadError> {
    let Some(node) = fields.take(name) else { return Ok((usual, None)) };
    let mut fields = node.fields(what, known)?;
    let devices = fields.read("devices", |text| value::count(text, 1, MOST_DEVICES))?;
    Ok((speeds(&mut fields, usual)?, devices))
}

fn hosts(node: Node, levels: &[Level], island: Option<u32>) -> Result<Vec<Host>, ReadError> {
    let mut hosts = vec![];
    for node in node.list("hosts")? {
        let known = ["name", "names", "count", "from", "devices", "island", "kind", "domains"];
        let mut fields = node.fields("a group of hosts", &known)?;
        let names = names(&mut fields)?;
        if hosts.len() + names.len() > MOST_HOSTS {
            return Err(fields.place.fail("the hosts up to here are more than 131,072"));
        }
        let size = |text: &str| value::count(text, 1, MOST_DEVICES);
        let devices = fields.read("devices", size)?.unwrap_or(DEVICES);
        let own = fields.read("island", size)?;
        // A host with fewer devices than a usual island is one island.
        let island = own.or(island.map(|island| island.min(devices))).unwrap_or(devices);
        let kind = fields.read("kind", value::name)?.unwrap_or_default();
        let domains = domains(&mut fields, &levels[1..])?;
        for (at, name) in names.into_iter().enumerate() {
            let domains = domains.iter().map(|domain| domain.of(at)).collect();
            hosts.push(Host { name, domains, devices, island, kind: kind.clone() });
        }
    }
    Ok(hosts)
}

fn names(fields: &mut Fields) -> Result<Vec<String>, ReadError> {
    if let Some(names) = fields.take("names") {
        fields.refuse_beside("names", &["name", "count", "from"])?;
        return names.list("names")?.into_iter().map(|node| node.read("names", value::name)).collect();
    }
    let node = fields.need("name")?;
    let pattern = node.read("name", value::name)?;
    let count = fields.read("count", |text| value::count(text, 1, MOST_HOSTS as u32))?.unwrap_or(1);
    let from = fields.read("from", |text| value::count(text, 0, limits::WIDTH))?.unwrap_or(1);
    if count > 1 && !pattern.contains("{}") {
        let expected = "a pattern like n{} where `count` is more than 1";
        return Err(node.place.fail(value::complaint("name", &pattern, expected)));
    }
    Ok((from..from + count).map(|number| pattern.replace("{}", &number.to_string())).collect())
}

/// The domain of each host of a group: always the same, or a new one every so many hosts.
struct Domain {
    pattern: String,
    from: usize,
    every: Option<usize>,
}

impl Domain {
    fn of(&self, at: usize) -> String {
        match self.every {
            None => self.pattern.clone(),
            Some(every) => self.pattern.replace("{}", &(self.from + at / every).to_string()),
        }
    }
}

fn domains(fields: &mut Fields, levels: &[Level]) -> Result<Vec<Domain>, ReadError> {
    let names: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
    let place = fields.place;
    let missing = |place: Place, level: &str| {
        Err(place.fail(format!("missing domain at level `{level}` of a group of hosts")))
    };
    let Some(node) = fields.take("domains") else {
        return names.first().map_or(Ok(vec![]), |level| missing(place, level));
    };
    let place = node.place;
    if names.is_empty() {
        return Err(place.fail("`domains` needs a second level: the first joins all hosts and has none"));
    }
    let mut given = node.fields("`domains`", &names)?;
    let mut domains = vec![];
    for level in names {
        let Some(node) = given.take(level) else { return missing(place, level) };
        domains.push(match node.value {
            Value::Map(_) => {
                let mut fields = node.fields("a domain", &["name", "every", "from"])?;
                let name = fields.need("name")?;
                let pattern = name.read("name", value::name)?;
                if !pattern.contains("{}") {
                    return Err(name.place.fail(value::complaint("name", &pattern, "a pattern like r{}")));
                }
                let every = fields.need("every")?.read("every", value::width)? as usize;
                let from = fields.read("from", |text| value::count(text, 0, limits::WIDTH))?.unwrap_or(1);
                Domain { pattern, from: from as usize, every: Some(every) }
            }
            _ => Domain { pattern: node.read(level, value::name)?, from: 0, every: None },
        });
    }
    Ok(domains)
}

/// The speeds of all pairs: those measured, and what the levels say of the others.
fn measured(node: Node, fabric: &Fabric) -> Result<Vec<Vec<f64>>, ReadError> {
    let place = node.place;
    if fabric.hosts.len() > MOST_MEASURED {
        return Err(place.fail(Flaw::TooManyHosts(fabric.hosts.len(), MOST_MEASURED).to_string()));
    }
    let index: BTreeMap<&str, usize> =
        fabric.hosts.iter().enumerate().map(|(at, host)| (host.name.as_str(), at)).collect();
    let find = |node: &Node| {
        let name = node.text("a host")?;
        index.get(name).copied().ok_or_else(|| node.place.fail(Flaw::Unknown(name.into()).to_string()))
    };
    let (mut table, mut seen) = (fabric.matrix(), BTreeMap::new());
    for node in node.list("measured")? {
        let mut fields = node.fields("a measured pair", &["between", "from", "to", "bandwidth"])?;
        let place = fields.place;
        let speed = fields.need("bandwidth")?.read("bandwidth", bandwidth)?;
        let pairs = match fields.take("between") {
            Some(between) => {
                fields.refuse_beside("between", &["from", "to"])?;
                match &between.list("between")?[..] {
                    [one, other] => {
                        let (one, other) = (find(one)?, find(other)?);
                        vec![(one, other), (other, one)]
                    }
                    _ => return Err(place.fail("`between` is not a pair, expected two hosts")),
                }
            }
            None => vec![(find(&fields.need("from")?)?, find(&fields.need("to")?)?)],
        };
        for (from, to) in pairs {
            let (one, other) = (&fabric.hosts[from].name, &fabric.hosts[to].name);
            if from == to {
                return Err(place.fail(format!("a pair of {one} with itself, expected two hosts")));
            }
            if seen.insert((from, to), ()).is_some() {
                return Err(place.fail(format!("duplicate measurement from {one} to {other}")));
            }
            table[from][to] = speed;
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests;
