//! A submission: what is asked for, and the truth behind it.

use super::Reader;
use super::members::modifier;
use crate::scenario::words::Words;
use crate::truth::Speed;
use crate::workload::{DEFAULT, ReadError, Submission, Truth, limits, value};
use crate::world::Act;
use consort_types::*;
use std::sync::Arc;

/// What work takes when nothing is said.
const LENGTH: Span = Span::seconds(3600);

const CLAUSE: &str = "gang, bag, service, stage, tenant, queue, priority, best-effort, standard, guaranteed, \
                      share, memory, within, needs, runs, speed, scaling, apart, reports, estimate, no estimate, limit, \
                      retries, backoff, restart, fails, on failure continue, after or deadline";

impl Reader<'_> {
    /// `submit NAME: CLAUSE, CLAUSE, ...`
    pub(super) fn submit(&mut self, words: &mut Words<'_>) -> Result<(), ReadError> {
        let place = words.place();
        let name = words.read("a name for the job", value::name)?;
        if self.job_called(&name).is_ok() {
            return Err(place.fail(format!("there is already a job called {name}, expected another name")));
        }
        if name.contains(['#', '.', '[', ']']) {
            return Err(place.fail("a name with one of # . [ ] in it, expected one without"));
        }
        words.need(&[":"])?;
        let mut draft = Draft {
            spec: JobSpec { stages: vec![], ..JobSpec::gang(&name, 1, Shape::any()) },
            truth: Truth::default(),
            speed: Speed::default(),
            after: vec![],
            estimate: None,
        };
        (draft.spec.tenant, draft.spec.queue) = (DEFAULT.into(), DEFAULT.into());
        loop {
            self.clause(words, &mut draft)?;
            if !words.another()? {
                break;
            }
        }
        let Draft { mut spec, mut truth, after, estimate, speed } = draft;
        truth.speed = (speed != Speed::default()).then(|| Arc::new(speed));
        if spec.stages.is_empty() {
            return Err(words.fail("a clause that says what it consists of, like `gang of 8 h200`"));
        }
        // What a person would say of a job whose length they know: the truth. Stages have no single length.
        let known =
            || (truth.lengths.len() == 1 && truth.lengths[0] < Span::CENTURY).then(|| truth.lengths[0]);
        spec.estimate = estimate.unwrap_or_else(known);
        self.named.0.insert(spec.tenant.clone());
        self.named.1.insert(spec.queue.clone());
        let index = self.story.submissions.len() as u32;
        let spec = Arc::new(spec);
        self.story.submissions.push(Submission { label: name, at: self.now, spec, after, truth });
        self.story.acts.push((self.now, Act::Submit(index)));
        Ok(())
    }

    fn clause(&mut self, words: &mut Words<'_>, draft: &mut Draft) -> Result<(), ReadError> {
        let spec = &mut draft.spec;
        let stage_name = match words.take("stage") {
            true => Some(words.read("the name of a stage", value::name)?),
            false => None,
        };
        if stage_name.is_some() {
            words.need(&["is"])?;
        }
        if let Some((form, roles)) = self.form(words)? {
            let length = if matches!(form, Form::Service { .. }) { Truth::FOREVER } else { LENGTH };
            let name = stage_name.unwrap_or_else(|| "main".into());
            spec.stages.push(StageSpec::new(name, form, roles));
            draft.truth.lengths.push(length);
            return Ok(());
        }
        if stage_name.is_some() {
            return Err(words.fail("gang, bag or service"));
        }
        if spec.stages.last_mut().map_or(Ok(false), |stage| modifier(words, &mut stage.roles))? {
            return Ok(());
        }
        match words.word(CLAUSE)? {
            "tenant" => spec.tenant = words.read("the name of a tenant", value::name)?,
            "queue" => spec.queue = words.read("the name of a queue", value::name)?,
            "priority" => spec.priority = words.read("a priority", value::priority)?,
            "best-effort" => spec.qos = Qos::BestEffort,
            "standard" => spec.qos = Qos::Standard,
            "guaranteed" => spec.qos = Qos::Guaranteed,
            "runs" => {
                let length = words.read("a time", value::span)?;
                let Some(last) = draft.truth.lengths.last_mut() else {
                    return Err(words.fail("what runs before how long it runs: gang, bag or service"));
                };
                *last = length;
            }
            "speed" => {
                let speed = words.read("a speed, as 0.4", thousandths)?;
                words.need(&["on"])?;
                let kind = words.read("a kind of device", value::name)?;
                draft.speed.kinds.push((kind, speed));
            }
            "scaling" => draft.speed.scaling_milli = words.read("an exponent, as 0.7", thousandths)?,
            "apart" => draft.speed.apart_milli = words.read("a speed, as 0.8", thousandths)?,
            "reports" => {
                draft.speed.steps = Some(words.read("a number of steps", steps)?);
                words.need(&["steps", "step"])?;
            }
            "estimate" => draft.estimate = Some(Some(words.read("a time", value::span)?)),
            "no" => {
                words.need(&["estimate"])?;
                draft.estimate = Some(None);
            }
            "limit" => spec.time_limit = Some(words.read("a time", value::span)?),
            "retries" => spec.retries = words.read("a number", value::retries)?,
            "backoff" => spec.backoff = words.read("a time", value::span)?,
            "restart" => {
                words.need(&["costs"])?;
                spec.restart_cost = words.read("a time", value::span)?;
            }
            "fails" => draft.truth.failures = times(words)?,
            "on" => {
                words.need(&["failure"])?;
                words.need(&["continue"])?;
                match spec.stages.last_mut() {
                    Some(stage) if matches!(stage.form, Form::Bag { .. }) => {
                        stage.on_failure = OnFailure::Continue;
                    }
                    _ => return Err(words.fail("what goes on before `on failure continue`: a bag")),
                }
            }
            "after" => self.after(words, draft)?,
            "deadline" => spec.deadline = Some(words.read("a time", value::instant)?),
            _ => return Err(words.before(CLAUSE)),
        }
        Ok(())
    }

    /// `after a`, `after a failed`, `after a and b ended`, `after stage prepare`.
    fn after(&self, words: &mut Words<'_>, draft: &mut Draft) -> Result<(), ReadError> {
        if words.take("stage") {
            loop {
                let stages = &draft.spec.stages;
                let earlier = &stages[..stages.len().saturating_sub(1)];
                let before = words.read("the name of a stage", |name| {
                    let found = earlier.iter().position(|stage| stage.name == name);
                    found.ok_or_else(|| "the name of an earlier stage".into())
                })?;
                draft.spec.stages.last_mut().expect("it has an earlier one").after.push(before as u16);
                if !words.take("and") {
                    return Ok(());
                }
            }
        }
        loop {
            let job = self.job(words)? as usize;
            let when = match words.peek() {
                Some("failed" | "ended" | "succeeded") => words.read("an ending", value::condition)?,
                _ => Condition::Succeeded,
            };
            draft.after.push((job, when));
            if !words.take("and") {
                return Ok(());
            }
        }
    }
}

/// A number from 0 to 1000, in thousandths.
fn thousandths(text: &str) -> Result<u32, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=1000.0).contains(number));
    number.map(|number| (number * 1e3).round() as u32).ok_or_else(|| "a number from 0 to 1000".into())
}

fn steps(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000_000_000_000).contains(number));
    number.ok_or_else(|| "a number from 1 to 10^12".into())
}

struct Draft {
    spec: JobSpec,
    truth: Truth,
    speed: Speed,
    after: Vec<(usize, Condition)>,
    estimate: Option<Option<Span>>,
}

/// `once`, `twice`, `3 times`.
fn times(words: &mut Words<'_>) -> Result<u32, ReadError> {
    if words.take("once") {
        return Ok(1);
    }
    if words.take("twice") {
        return Ok(2);
    }
    let times =
        words.read("once, twice or a number of times", |text| value::count(text, 1, limits::RETRIES))?;
    words.need(&["times"])?;
    Ok(times)
}
