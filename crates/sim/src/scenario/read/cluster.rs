//! What is there before anything happens: levels, nodes, tenants, queues, and how quick the world is.

use super::Reader;
use crate::scenario::words::Words;
use crate::workload::read_error::Place;
use crate::workload::{ReadError, limits, value};
use consort_types::*;

impl Reader<'_> {
    /// `levels site rack`: outermost first.
    pub(super) fn levels(&mut self, words: &mut Words<'_>) -> Result<(), ReadError> {
        words.need(&["levels"])?;
        while words.peek().is_some() {
            let name = words.read("the name of a level", value::name)?;
            self.story.cluster.settings.levels.push(LevelSpec { name, link: None });
        }
        Ok(())
    }

    /// `cluster 2 nodes, each 8 h200 with 141GiB and 2 cpu, islands of 4, nvlink inside, rack r1, lease 30s`,
    /// `features ib and nvme`, `cpus 96, ram 512GiB`.
    pub(super) fn cluster(&mut self, words: &mut Words<'_>) -> Result<(), ReadError> {
        let place = words.place();
        words.need(&["cluster"])?;
        let (mut count, mut groups, mut island, mut features) = (0, vec![], None, vec![]);
        let mut host = Host::NONE;
        let levels: Vec<String> =
            self.story.cluster.settings.levels.iter().map(|level| level.name.clone()).collect();
        let mut domains: Vec<Option<String>> = vec![None; levels.len()];
        loop {
            let settings = &mut self.story.cluster.settings;
            if words.take("each") {
                groups = self.devices(words)?;
            } else if words.take("islands") {
                words.need(&["of"])?;
                island = Some(words.read("a number of devices", value::width)?);
            } else if words.take("features") {
                features.push(words.read("the name of a feature", value::name)?);
                while words.take("and") {
                    features.push(words.read("the name of a feature", value::name)?);
                }
            } else if words.take("cpus") {
                host.cpu_milli = words.read("a number of processors", value::processors)?;
            } else if words.take("ram") {
                host.memory_bytes = words.read("an amount of memory", value::memory)?;
            } else if words.take("lease") {
                settings.lease = words.read("a time", value::span)?;
            } else if words.take("margin") {
                settings.margin = words.read("a time", value::span)?;
            } else if let Some(level) = levels.iter().position(|level| words.take(level)) {
                domains[level] = Some(words.read("the name of a domain", value::name)?);
            } else if words.peek().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
                count = words.read("a number of nodes", value::width)?;
                words.need(&["nodes", "node"])?;
            } else {
                let link = words.read(
                    "nodes, each, islands, features, cpus, ram, a link, a level, lease or margin",
                    value::name,
                )?;
                match words.take("inside") {
                    true => settings.island_link = Some(link),
                    false => {
                        words.need(&["across", "inside"])?;
                        settings.node_link = Some(link);
                    }
                }
            }
            if !words.another()? {
                break;
            }
        }
        if count == 0 {
            return Ok(()); // a line of settings
        }
        let domains = domains.into_iter().zip(&levels).map(|(domain, level)| {
            domain
                .ok_or_else(|| place.fail(format!("missing {level} of these nodes, expected `{level} NAME`")))
        });
        let domains: Vec<String> = domains.collect::<Result<_, _>>()?;
        if groups.is_empty() {
            return Err(words.fail("what each node has, like `each 8 h200`"));
        }
        let linked = self.story.cluster.settings.island_link.is_some();
        for (_, size, joined) in &mut groups {
            *joined = island.unwrap_or(if linked { *size } else { 0 });
        }
        let features = value::sorted(features);
        let like = NodeSpec { domains, features, host, ..NodeSpec::default() };
        self.add_nodes(place, count, &groups, &like)
    }

    fn add_nodes(
        &mut self,
        place: Place,
        count: u32,
        groups: &[(String, u32, u32)],
        like: &NodeSpec,
    ) -> Result<(), ReadError> {
        let each: u64 = groups.iter().map(|group| u64::from(group.1)).sum();
        let cluster = &mut self.story.cluster;
        if cluster.devices() + each * u64::from(count) > limits::DEVICES {
            return Err(place.fail("the cluster is too large for a scenario, expected fewer devices"));
        }
        for _ in 0..count {
            let devices = groups.iter().map(|(kind, count, island)| DeviceGroup {
                kind: kind.clone(),
                count: *count,
                island: *island,
            });
            let name = format!("n{}", cluster.nodes.len() + 1);
            cluster.nodes.push(NodeSpec { name, devices: devices.collect(), ..like.clone() });
        }
        Ok(())
    }

    /// `8 h200 with 141GiB and 2 cpu`: kind, count, and an island size yet to come.
    fn devices(&mut self, words: &mut Words<'_>) -> Result<Vec<(String, u32, u32)>, ReadError> {
        let mut groups = vec![];
        loop {
            let count = words.read("a number of devices", value::width)?;
            let name = words.read("a kind of device", value::name)?;
            let memory =
                words.take("with").then(|| words.read("an amount of memory", value::memory)).transpose()?;
            let kinds = &mut self.story.cluster.kinds;
            match kinds.iter_mut().find(|kind| kind.name == name) {
                Some(kind) => kind.memory_bytes = memory.unwrap_or(kind.memory_bytes),
                None => {
                    let memory_bytes = memory.unwrap_or(0);
                    kinds.push(KindSpec { memory_bytes, ..KindSpec::named(name.clone()) });
                }
            }
            groups.push((name, count, 0));
            if !words.take("and") {
                return Ok(groups);
            }
        }
    }

    /// `tenant red: guarantee 8 h200, ceiling 12 h200, ceiling 64 cpus, ceiling 512GiB mem`.
    pub(super) fn tenant(&mut self, words: &mut Words<'_>) -> Result<TenantSpec, ReadError> {
        words.need(&["tenant"])?;
        let mut tenant =
            TenantSpec { name: words.read("the name of a tenant", value::name)?, quotas: vec![] };
        if words.take(":") {
            loop {
                let is_guarantee = words.take("guarantee");
                if !is_guarantee {
                    words.need(&["ceiling", "guarantee"])?;
                }
                let amount = |text: &str| match text.ends_with('B') {
                    true => value::memory(text),
                    false => value::count(text, 0, limits::DEVICES as u32).map(u64::from),
                };
                let is_memory = words.peek().is_some_and(|word| word.ends_with('B'));
                let amount = words.read("a number of devices", amount)?;
                let kind = match is_memory {
                    true => words.need(&[Pool::Memory.name()]).map(|()| Pool::Memory.name().to_string())?,
                    false => words.read("a kind of device", value::name)?,
                };
                if !tenant.quotas.iter().any(|quota| quota.kind == kind) {
                    tenant.quotas.push(Quota { kind: kind.clone(), guarantee: 0, ceiling: None });
                }
                let quota = tenant.quotas.iter_mut().find(|quota| quota.kind == kind).expect("just made");
                match is_guarantee {
                    true => quota.guarantee = u32::try_from(amount).unwrap_or(u32::MAX),
                    false => quota.ceiling = Some(amount),
                }
                if !words.another()? {
                    break;
                }
            }
        }
        words.done()?;
        Ok(tenant)
    }

    /// `queue urgent: priority 10, strict, for red and blue`.
    pub(super) fn queue(&mut self, words: &mut Words<'_>) -> Result<QueueSpec, ReadError> {
        words.need(&["queue"])?;
        let name = words.read("the name of a queue", value::name)?;
        let mut queue = QueueSpec { name, priority: 0, strict: false, tenants: vec![] };
        if words.take(":") {
            loop {
                if words.take("priority") {
                    queue.priority = words.read("a priority", value::priority)?;
                } else if words.take("strict") {
                    queue.strict = true;
                } else if words.take("for") {
                    queue.tenants.push(words.read("the name of a tenant", value::name)?);
                    while words.take("and") {
                        queue.tenants.push(words.read("the name of a tenant", value::name)?);
                    }
                } else {
                    return Err(words.fail("priority, strict or for"));
                }
                if !words.another()? {
                    break;
                }
            }
        }
        words.done()?;
        Ok(queue)
    }

    /// `world starts take 10s, stops take 30s, endings take 5s, resizes take 20s, cannot preempt, cannot share, cannot pick, counts hosts,
    /// resizes in place`, or `resizes by restart`.
    pub(super) fn world(&mut self, words: &mut Words<'_>) -> Result<(), ReadError> {
        words.need(&["world"])?;
        loop {
            if words.take("cannot") {
                let capabilities = &mut self.story.capabilities;
                if words.take("preempt") {
                    capabilities.preempts = false;
                } else if words.take("pick") {
                    capabilities.grain = Grain::Node;
                } else {
                    words.need(&["share", "preempt", "pick"])?;
                    capabilities.shares = false;
                }
            } else if words.take("counts") {
                words.need(&["hosts"])?;
                self.story.capabilities.counts_hosts = true;
            } else if words.take("resizes") {
                if words.take("in") {
                    words.need(&["place"])?;
                    self.story.capabilities.resize = Resize::InPlace;
                } else if words.take("take") {
                    self.story.delays.resize = words.read("a time", value::span)?;
                } else {
                    words.need(&["by", "in", "take"])?;
                    words.need(&["restart"])?;
                    self.story.capabilities.resize = Resize::Restart;
                }
            } else {
                const WHAT: &str = "starts, stops, endings, resizes, cannot or counts";
                let delays = &mut self.story.delays;
                let delay = match words.word(WHAT)? {
                    "starts" => &mut delays.start,
                    "stops" => &mut delays.stop,
                    "endings" => &mut delays.ended,
                    _ => return Err(words.before(WHAT)),
                };
                words.need(&["take"])?;
                *delay = words.read("a time", value::span)?;
            }
            if !words.another()? {
                return Ok(());
            }
        }
    }
}
