//! From text to a story. Says where and what was expected when it cannot.

mod act;
mod cluster;
mod members;
mod submit;

use super::story::{Block, Story, What};
use super::words::Words;
use crate::workload::read_error::Place;
use crate::workload::{Cluster, ReadError, value};
use crate::world::Delays;
use consort_sched::Registry;
use consort_sched::policy::NotFound;
use consort_types::*;
use std::collections::BTreeSet;

const KEYWORDS: [&str; 9] =
    ["cluster", "levels", "policy", "tenant", "queue", "world", "at", "expect", "finally"];
const STATEMENT: &str = "cluster, levels, policy, tenant, queue, world, at, expect or finally";

/// Reads a whole file, which may name these policies.
pub(super) fn read(text: &str, policies: &Registry) -> Result<Story, ReadError> {
    let lines: Vec<&str> = text.lines().collect();
    let mut reader = Reader {
        story: Story {
            cluster: Cluster::default(),
            policy: policies.standard().clone(),
            delays: Delays::default(),
            capabilities: Capabilities::default(),
            submissions: vec![],
            acts: vec![],
            crashes: vec![],
            blocks: vec![],
        },
        policies,
        now: Time::ZERO,
        named: (BTreeSet::new(), BTreeSet::new()),
    };
    let mut next = title(&lines)?;
    while next < lines.len() {
        if is_empty(lines[next]) {
            next += 1;
            continue;
        }
        let last = (next + 1..lines.len()).find(|&line| !continues(lines[line])).unwrap_or(lines.len());
        reader.statement(&lines, next..last)?;
        next = last;
    }
    reader.finish()
}

/// The first paragraph says what the story is about. Returns the line after it. A statement in it would be taken for
/// prose and never be played, so whatever looks like one is pointed at.
fn title(lines: &[&str]) -> Result<usize, ReadError> {
    let first = lines.iter().position(|line| !is_empty(line)).unwrap_or(lines.len());
    let word = lines.get(first).and_then(|line| line.split_whitespace().next());
    if word.is_none_or(|word| KEYWORDS.contains(&word)) {
        let place = Place { line: first as u64 + 1, column: 1 };
        return Err(place.fail("missing title, expected a paragraph that says what the scenario is about"));
    }
    let end = (first..lines.len()).find(|&line| lines[line].trim().is_empty()).unwrap_or(lines.len());
    match (first..end).find_map(|line| Some((line, keyword(lines[line])?))) {
        Some((line, keyword)) => {
            let place = Place { line: line as u64 + 1, column: 1 };
            Err(place.fail(format!("`{keyword}` is part of the title; put an empty line before it")))
        }
        None => Ok(end),
    }
}

/// The keyword of a line that looks like a statement. Prose may begin with such a word too: `at` is one only before a
/// time, and `tenant` and `queue` only where a colon or nothing follows the name.
fn keyword(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let keyword = words.next().filter(|word| line.starts_with(word) && KEYWORDS.contains(word))?;
    let (name, more) = (words.next(), words.next());
    let is_statement = match keyword {
        "at" => name.is_some_and(|time| value::instant(time).is_ok()),
        "tenant" | "queue" => {
            name.is_some_and(|name| name.ends_with(':') || more.is_none_or(|more| more == ":"))
        }
        _ => true,
    };
    is_statement.then_some(keyword)
}

fn is_empty(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

fn continues(line: &str) -> bool {
    line.starts_with(char::is_whitespace) && !is_empty(line)
}

struct Reader<'a> {
    story: Story,
    policies: &'a Registry,
    /// The time of the last `at`.
    now: Time,
    /// Tenants and queues that jobs name.
    named: (BTreeSet<String>, BTreeSet<String>),
}

impl Reader<'_> {
    fn statement(&mut self, lines: &[&str], range: std::ops::Range<usize>) -> Result<(), ReadError> {
        let numbered: Vec<(u64, &str)> = range.clone().map(|line| (line as u64 + 1, lines[line])).collect();
        let mut words = Words::of(&numbered);
        match lines[range.start].split_whitespace().next() {
            Some("expect" | "finally") => return self.block(lines, range),
            _ if continues(lines[range.start]) => return Err(words.fail(STATEMENT)),
            _ => {}
        }
        if words.take("at") {
            let place = words.place();
            let at = words.read("a time", value::instant)?;
            if at < self.now {
                let message =
                    format!("{at} is before {}, expected the order in which things happen", self.now);
                return Err(place.fail(message));
            }
            self.now = at;
            return self.act(&mut words);
        }
        match words.peek() {
            Some("cluster") => self.cluster(&mut words),
            Some("levels") => self.levels(&mut words),
            Some("world") => self.world(&mut words),
            Some("tenant") => {
                let tenant = self.tenant(&mut words)?;
                self.story.cluster.tenants.push(tenant);
                Ok(())
            }
            Some("queue") => {
                let queue = self.queue(&mut words)?;
                self.story.cluster.queues.push(queue);
                Ok(())
            }
            Some("policy") => {
                words.need(&["policy"])?;
                let names = || self.policies.names().collect::<Vec<_>>().join(", ");
                self.story.policy = words.read("the name of a policy", |name| {
                    self.policies.find(name).map_err(|why| match why {
                        NotFound::TakesNone { policy, .. } => {
                            format!("`{policy}` alone: it chooses devices itself and takes no placement")
                        }
                        _ => format!("one of {}", names()),
                    })
                })?;
                words.done()
            }
            _ => Err(words.fail(STATEMENT)),
        }
    }

    /// `expect` and `finally`: what follows is prose that the tool itself writes.
    fn block(&mut self, lines: &[&str], range: std::ops::Range<usize>) -> Result<(), ReadError> {
        let (keyword, first) =
            lines[range.start].split_once(char::is_whitespace).unwrap_or((lines[range.start], ""));
        let what = match first.trim() {
            "tenants" => What::Tenants,
            "events" => What::Events,
            _ => What::Jobs,
        };
        let said = lines[range.start + 1..range.end].iter().map(|line| line.trim());
        let first = (what == What::Jobs).then_some(first.trim());
        let expected = first.into_iter().chain(said).filter(|line| !line.is_empty());
        self.story.blocks.push(Block {
            expected: expected.map(String::from).collect(),
            at: (keyword == "expect").then_some(self.now),
            lines: range,
            what,
        });
        Ok(())
    }

    /// Tenants and queues that are only named are declared, unless the story declares any itself.
    fn finish(mut self) -> Result<Story, ReadError> {
        let cluster = &mut self.story.cluster;
        if cluster.nodes.is_empty() {
            let whole = Place::default();
            return Err(whole.fail("missing cluster, expected a line like `cluster 2 nodes, each 8 h200`"));
        }
        if self.story.blocks.is_empty() {
            let message = "missing expectation, expected at least one line `expect` or `finally`";
            return Err(Place::default().fail(message));
        }
        if cluster.tenants.is_empty() {
            let tenants = self.named.0.into_iter();
            cluster.tenants = tenants.map(|name| TenantSpec { name, quotas: vec![] }).collect();
        }
        if cluster.queues.is_empty() {
            let queue = |name| QueueSpec { name, priority: 0, strict: false, tenants: vec![] };
            cluster.queues = self.named.1.into_iter().map(queue).collect();
        }
        Ok(self.story)
    }

    fn node(&self, words: &mut Words<'_>) -> Result<NodeId, ReadError> {
        let nodes = &self.story.cluster.nodes;
        words.read("the name of a node", |name| {
            let found = nodes.iter().position(|node| node.name == name);
            found.map(|index| NodeId(index as u32)).ok_or_else(|| {
                let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).take(12).collect();
                format!("a node of the cluster: {}", names.join(", "))
            })
        })
    }

    /// A job that was submitted before, by its position.
    fn job(&self, words: &mut Words<'_>) -> Result<u32, ReadError> {
        words.read("the name of a job", |name| self.job_called(name))
    }

    fn job_called(&self, name: &str) -> Result<u32, String> {
        let found = self.story.submissions.iter().position(|submission| submission.label == name);
        found.map(|index| index as u32).ok_or_else(|| "the name of a job submitted before".into())
    }
}
