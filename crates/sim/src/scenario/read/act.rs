//! What happens at a given time, submissions aside.

use super::Reader;
use crate::scenario::words::Words;
use crate::workload::{ReadError, limits, value};
use crate::world::{Act, Attempt, Request};
use consort_types::*;
use std::ops::RangeInclusive;
use std::sync::Arc;

const ACT: &str = "submit, pause, resume, cancel, node, new, others, unhealthy, healthy, started, refused, ended, silent, \
                   returned, fenced, joined, refuse, tenant, queue, crash or plan";

impl Reader<'_> {
    pub(super) fn act(&mut self, words: &mut Words<'_>) -> Result<(), ReadError> {
        if words.peek() == Some("tenant") {
            let tenant = self.tenant(words)?;
            return self.push(Act::Say(Input::SetTenant(tenant)), words);
        }
        if words.peek() == Some("queue") {
            let queue = self.queue(words)?;
            return self.push(Act::Say(Input::SetQueue(queue)), words);
        }
        let verb = words.word(ACT)?;
        let act = match verb {
            "submit" => return self.submit(words),
            "plan" => return words.done(),
            "crash" => {
                words.need(&["the"])?;
                words.need(&["controller"])?;
                self.story.crashes.push(self.now);
                return words.done();
            }
            "pause" => Act::Ask(self.job(words)?, Request::Pause),
            "resume" => Act::Ask(self.job(words)?, Request::Resume),
            "cancel" => Act::Ask(self.job(words)?, Request::Cancel),
            "node" => self.node_act(words)?,
            "new" => self.new_node(words)?,
            "others" => self.foreign(words)?,
            "unhealthy" => self.unhealthy(words)?,
            "healthy" => Act::Say(Input::DeviceHealth { node: self.node(words)?, ill: vec![] }),
            "started" => {
                let (job, attempt) = self.attempt(words)?;
                Act::Ask(job, Request::Started(attempt))
            }
            "refused" => {
                let (job, attempt) = self.attempt(words)?;
                Act::Ask(job, Request::Refused(attempt))
            }
            "ended" => {
                let (job, attempt) = self.attempt(words)?;
                let outcome = match words.peek() {
                    None => Outcome::Succeeded,
                    Some(_) if words.take("stopped") => Outcome::Stopped,
                    Some(_) if words.take("failed") => Outcome::Failed { code: 1, cause: Cause::Exit },
                    Some(_) if words.take("cancelled") => {
                        Outcome::Failed { code: 143, cause: Cause::Cancelled }
                    }
                    Some(_) if words.take("oom") => Outcome::Failed { code: 1, cause: Cause::DeviceMemory },
                    Some(_) => {
                        return Err(words.fail("failed, stopped, cancelled, oom or the end of the line"));
                    }
                };
                let why = match words.take(":") {
                    true => Some(words.rest("what the world has to say about it")?.into()),
                    false => None,
                };
                Act::Ask(job, Request::Ended(attempt, outcome, why))
            }
            "silent" => Act::Say(Input::NodeSilent(self.node(words)?)),
            "returned" => Act::Say(Input::NodeReturned(self.node(words)?)),
            "fenced" => Act::Say(Input::NodeFenced(self.node(words)?)),
            "joined" => {
                let node = self.node(words)?;
                Act::Say(Input::NodeJoined(self.story.cluster.nodes[node.index()].clone()))
            }
            "refuse" => self.refuse(words)?,
            _ => return Err(words.before(ACT)),
        };
        self.push(act, words)
    }

    fn push(&mut self, act: Act, words: &Words<'_>) -> Result<(), ReadError> {
        words.done()?;
        self.story.acts.push((self.now, act));
        Ok(())
    }

    /// `node n1 dies`, `node n1 is cut off for 20s`, `node n1 is given up for 5m`, `node n1 is adrift for 5m`,
    /// `node n1 comes back`, `node n1 leaves`, `node n1 drains`, `node n1 undrains`.
    fn node_act(&mut self, words: &mut Words<'_>) -> Result<Act, ReadError> {
        const WHAT: &str =
            "dies, is cut off for, is given up for, is adrift for, comes back, leaves, drains or undrains";
        let node = self.node(words)?;
        Ok(match words.word(WHAT)? {
            "dies" => Act::Die(node),
            "leaves" => Act::Leave(node),
            "drains" => Act::Say(Input::Drain(node)),
            "undrains" => Act::Say(Input::Undrain(node)),
            "comes" => {
                words.need(&["back"])?;
                Act::Repair(node)
            }
            "is" => {
                const HOW: &str = "cut off for, given up for or adrift for";
                let how = words.word(HOW)?;
                let rest: &[&str] = match how {
                    "cut" => &["off", "for"],
                    "given" => &["up", "for"],
                    "adrift" => &["for"],
                    _ => return Err(words.before(HOW)),
                };
                for word in rest {
                    words.need(&[word])?;
                }
                let span = words.read("a time", value::span)?;
                match how {
                    "cut" => Act::CutOff(node, span),
                    how => Act::Adrift { node, span, given_up: how == "given" },
                }
            }
            _ => return Err(words.before(WHAT)),
        })
    }

    /// `new node n9 like n1`.
    fn new_node(&mut self, words: &mut Words<'_>) -> Result<Act, ReadError> {
        words.need(&["node"])?;
        let name = words.word("the name of a node")?.to_string();
        words.need(&["like"])?;
        let like = self.node(words)?;
        Ok(Act::Arrive(NodeSpec { name, ..self.story.cluster.nodes[like.index()].clone() }))
    }

    /// `others use n1[0-3]`, `others use 0.5 of n1[0]`, `others use n1[0], cpus 8, ram 16GiB`, `others use n1, cpus 8`,
    /// `others leave n1`. Replaces what was said of the node before.
    fn foreign(&mut self, words: &mut Words<'_>) -> Result<Act, ReadError> {
        if words.take("leave") {
            let node = self.node(words)?;
            let shares = vec![0; self.device_count(node) as usize];
            return Ok(Act::Say(Input::ForeignUse { node, shares, host: Host::NONE }));
        }
        words.need(&["use", "leave"])?;
        let mut share = WHOLE;
        if words.peek().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
            share = words.read("a share", value::share)?;
            words.need(&["of"])?;
        }
        let is_node = words.peek().is_some_and(|word| !word.contains('['));
        let (node, devices) = match is_node {
            true => (self.node(words)?, None),
            false => self.places(words).map(|(node, devices)| (node, Some(devices)))?,
        };
        let is_used = |device: &u32| devices.as_ref().is_some_and(|devices| devices.contains(device));
        let shares = (0..self.device_count(node)).map(|device| if is_used(&device) { share } else { 0 });
        let (shares, mut host) = (shares.collect(), Host::NONE);
        while words.another()? {
            if words.take("cpus") {
                host.cpu_milli = words.read("a number of processors", value::processors)?;
            } else {
                words.need(&["ram", "cpus"])?;
                host.memory_bytes = words.read("an amount of memory", value::memory)?;
            }
        }
        Ok(Act::Say(Input::ForeignUse { node, shares, host }))
    }

    /// `unhealthy n1[2]: fell off the bus`. Replaces what was reported of the node before.
    fn unhealthy(&mut self, words: &mut Words<'_>) -> Result<Act, ReadError> {
        let (node, devices) = self.places(words)?;
        words.need(&[":"])?;
        let why: Arc<str> = words.rest("what is wrong with it")?.into();
        let ill = devices.map(|device| Illness { device, why: why.clone() }).collect();
        Ok(Act::Say(Input::DeviceHealth { node, ill }))
    }

    fn device_count(&self, node: NodeId) -> u32 {
        self.story.cluster.nodes[node.index()].devices.iter().map(|group| group.count).sum()
    }

    /// `n1[0-3]`, `n1[2]`.
    fn places(&self, words: &mut Words<'_>) -> Result<(NodeId, RangeInclusive<u32>), ReadError> {
        words.read("devices like n1[0-3]", |text| {
            let expected = || "devices of one node like n1[0-3]".to_string();
            let (name, rest) = text.split_once('[').ok_or_else(expected)?;
            let node = self.story.cluster.nodes.iter().position(|node| node.name == name);
            let node = NodeId(node.ok_or_else(expected)? as u32);
            let most = self.device_count(node).saturating_sub(1);
            let range = rest.strip_suffix(']').ok_or_else(expected)?;
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| value::count(text, 0, most);
            Ok((node, number(first)?..=number(last)?))
        })
    }

    /// `refuse the next start of a`, `refuse the next 3 starts of a`, `refuse the next resize of a`.
    fn refuse(&mut self, words: &mut Words<'_>) -> Result<Act, ReadError> {
        words.need(&["the"])?;
        words.need(&["next"])?;
        if words.take("resize") {
            words.need(&["of"])?;
            return Ok(Act::RefuseResize(self.job(words)?, 1));
        }
        let times = match words.take("start") {
            true => 1,
            false => {
                let times = words.read("start, resize or a number of starts", |text| {
                    value::count(text, 1, limits::RETRIES)
                })?;
                words.need(&["starts"])?;
                times
            }
        };
        words.need(&["of"])?;
        Ok(Act::RefuseNext(self.job(words)?, times))
    }

    /// `a#1`, `a[3]#1`, `a.train#2`, `a.work[3]#2`.
    fn attempt(&self, words: &mut Words<'_>) -> Result<(u32, Attempt), ReadError> {
        words.read("an attempt like a#1", |text| {
            let expected = || "an attempt like a#1, a[3]#1 or a.stage#1".to_string();
            let (ask, attempt) = text.split_once('#').ok_or_else(expected)?;
            let attempt = value::count(attempt, 1, u32::MAX)?;
            let (path, task) = match ask.split_once('[') {
                Some((path, task)) => {
                    (path, value::count(task.strip_suffix(']').ok_or_else(expected)?, 0, limits::TASKS)?)
                }
                None => (ask, 0),
            };
            let (job, stage) = path.split_once('.').map_or((path, None), |(job, stage)| (job, Some(stage)));
            let job = self.job_called(job)?;
            let stages = &self.story.submissions[job as usize].spec.stages;
            let stage = match stage {
                Some(name) => stages.iter().position(|stage| stage.name == name).ok_or_else(expected)?,
                None => 0,
            };
            Ok((job, Attempt { stage: stage as u16, task, attempt }))
        })
    }
}
