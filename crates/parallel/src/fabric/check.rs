//! What a fabric must be before anything is planned on it.

use super::{Fabric, Link, MOST_DEVICES, MOST_HOSTS, MOST_MEASURED};
use consort_types::file::{ReadError, limits};
use std::collections::BTreeMap;
use std::fmt;

/// What is wrong with a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nobody is there.
    NoHosts,
    /// More than are planned for; how many there are, how many there may be.
    TooManyHosts(usize, usize),
    /// Nothing joins the hosts.
    NoLevels,
    /// More than anybody wires.
    TooManyLevels(usize),
    /// A level that is there twice.
    LevelTwice(String),
    /// A level that is spoken of and is not there, and those that are.
    NoSuchLevel(String, Vec<String>),
    /// A host that is there twice.
    HostTwice(String),
    /// A host that nobody declared.
    Unknown(String),
    /// A host without a domain at every level.
    Homeless {
        /// The host.
        host: String,
        /// The first level at which it has none, or which is no level.
        level: String,
    },
    /// A domain inside two others.
    Torn {
        /// The domain.
        domain: String,
        /// Its level.
        level: String,
        /// The two that both hold it.
        above: [String; 2],
        /// The level of those.
        above_level: String,
    },
    /// A host without devices, or with more than anybody builds.
    Devices(String, u32),
    /// A host with fewer devices than are asked for: host, what it has, what is asked for.
    Fewer(String, u32, u32),
    /// Devices that do not divide into islands: host, devices, island.
    Island(String, u32, u32),
    /// A speed that is nothing, negative, or no number. What it is of.
    Bandwidth(String),
    /// A delay that is negative or no number. What it is of.
    Latency(String),
    /// The table of measured speeds has not the size of the hosts.
    Table,
    /// Hosts that nothing joins to the first one: some of them, and how many there are.
    Apart(Vec<String>, usize),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::NoHosts => write!(f, "no hosts; name at least one"),
            Flaw::TooManyHosts(found, most) => write!(f, "there are {found} hosts; plan for at most {most}"),
            Flaw::NoLevels => write!(f, "no levels; name at least the one that joins all hosts"),
            Flaw::TooManyLevels(found) => {
                write!(f, "there are {found} levels; name at most {}", limits::LEVELS)
            }
            Flaw::LevelTwice(name) => write!(f, "duplicate level {name}; give each a unique name"),
            Flaw::NoSuchLevel(name, all) => {
                write!(f, "unknown level {name}; available: {}", all.join(", "))
            }
            Flaw::HostTwice(name) => write!(f, "duplicate host {name}; give each a unique name"),
            Flaw::Unknown(name) => write!(f, "unknown host {name}; name one that the topology declares"),
            Flaw::Homeless { host, level } => {
                write!(f, "host {host} has no domain at level {level}; name one for each level but the first")
            }
            Flaw::Torn { domain, level, above: [one, other], above_level } => write!(
                f,
                "{level} {domain} is in {above_level} {one} and in {above_level} {other}; give the two parts different names"
            ),
            Flaw::Devices(host, devices) => {
                write!(f, "host {host} has {devices} devices; give it 1 to {MOST_DEVICES}")
            }
            Flaw::Fewer(host, devices, asked) => {
                write!(f, "host {host} has {devices} devices and not {asked}; ask for fewer, or leave it out")
            }
            Flaw::Island(host, devices, island) => {
                write!(
                    f,
                    "islands of {island} do not divide the {devices} devices of host {host}; choose a size that does"
                )
            }
            Flaw::Bandwidth(what) => write!(f, "the bandwidth of {what} is not above zero; give one that is"),
            Flaw::Latency(what) => write!(f, "the latency of {what} is not a time; give 0 or more"),
            Flaw::Table => {
                write!(
                    f,
                    "the measured speeds are not one row and one column for each host; give all of them"
                )
            }
            Flaw::Apart(hosts, count) => {
                let more = if *count > hosts.len() { " and others" } else { "" };
                let hosts = hosts.join(", ");
                write!(f, "nothing joins {hosts}{more} to the other hosts; join them, or plan without them")
            }
        }
    }
}

impl std::error::Error for Flaw {}

impl From<Flaw> for ReadError {
    fn from(flaw: Flaw) -> Self {
        ReadError::whole("", flaw.to_string())
    }
}

impl Fabric {
    /// Whether everything fits together. Readers have asked already; whoever builds a fabric asks before planning.
    pub fn check(&self) -> Result<(), Flaw> {
        self.check_levels()?;
        self.check_hosts()?;
        self.check_domains()?;
        self.check_table()
    }

    fn check_levels(&self) -> Result<(), Flaw> {
        if self.levels.is_empty() {
            return Err(Flaw::NoLevels);
        }
        if self.levels.len() > limits::LEVELS {
            return Err(Flaw::TooManyLevels(self.levels.len()));
        }
        for (at, level) in self.levels.iter().enumerate() {
            if self.levels[..at].iter().any(|above| above.name == level.name) {
                return Err(Flaw::LevelTwice(level.name.clone()));
            }
            check_link(&level.link, || format!("level {}", level.name))?;
            if level.uplink.is_some_and(|uplink| !is_speed(uplink)) {
                return Err(Flaw::Bandwidth(format!("the uplink of level {}", level.name)));
            }
        }
        check_link(&self.node, || "the node".into())?;
        check_link(&self.island, || "the island".into())
    }

    fn check_hosts(&self) -> Result<(), Flaw> {
        if self.hosts.is_empty() {
            return Err(Flaw::NoHosts);
        }
        if self.hosts.len() > MOST_HOSTS {
            return Err(Flaw::TooManyHosts(self.hosts.len(), MOST_HOSTS));
        }
        let mut names: Vec<&str> = self.hosts.iter().map(|host| host.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Flaw::HostTwice(pair[0].into()));
        }
        for host in &self.hosts {
            if host.devices == 0 || host.devices > MOST_DEVICES {
                return Err(Flaw::Devices(host.name.clone(), host.devices));
            }
            if host.island == 0 || !host.devices.is_multiple_of(host.island) {
                return Err(Flaw::Island(host.name.clone(), host.devices, host.island));
            }
        }
        Ok(())
    }

    /// Every domain is inside one domain of the level above.
    fn check_domains(&self) -> Result<(), Flaw> {
        let mut above: BTreeMap<(usize, &str), &str> = BTreeMap::new();
        let inner = &self.levels[1..];
        for host in &self.hosts {
            if host.domains.len() != inner.len() {
                let level = inner.get(host.domains.len().min(inner.len().saturating_sub(1)));
                let level = level.unwrap_or(&self.levels[0]).name.clone();
                return Err(Flaw::Homeless { host: host.name.clone(), level });
            }
            for (at, pair) in host.domains.windows(2).enumerate() {
                let (outer, domain) = (pair[0].as_str(), pair[1].as_str());
                let known = *above.entry((at, domain)).or_insert(outer);
                if known != outer {
                    return Err(Flaw::Torn {
                        domain: domain.into(),
                        level: inner[at + 1].name.clone(),
                        above: [known.into(), outer.into()],
                        above_level: inner[at].name.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    fn check_table(&self) -> Result<(), Flaw> {
        let Some(table) = &self.measured else { return Ok(()) };
        let count = self.hosts.len();
        if count > MOST_MEASURED {
            return Err(Flaw::TooManyHosts(count, MOST_MEASURED));
        }
        if table.len() != count || table.iter().any(|row| row.len() != count) {
            return Err(Flaw::Table);
        }
        for (from, row) in table.iter().enumerate() {
            if let Some(to) = (0..count).find(|&to| to != from && !is_speed(row[to])) {
                let (from, to) = (&self.hosts[from].name, &self.hosts[to].name);
                return Err(Flaw::Bandwidth(format!("the pair {from}, {to}")));
            }
        }
        Ok(())
    }
}

fn is_speed(bandwidth: f64) -> bool {
    bandwidth.is_finite() && bandwidth > 0.0
}

fn check_link(link: &Link, what: impl Fn() -> String) -> Result<(), Flaw> {
    if !is_speed(link.bandwidth) {
        return Err(Flaw::Bandwidth(what()));
    }
    match link.latency_s.is_finite() && link.latency_s >= 0.0 {
        true => Ok(()),
        false => Err(Flaw::Latency(what())),
    }
}
