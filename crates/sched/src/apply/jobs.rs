//! Jobs are submitted, wait for each other, are paused, resumed and ended.

use super::memory::larger;
use crate::scheduler::{Ended, Scheduler};
use crate::state::jobs::{Ask, AskState, Ending, HostUse, Job, Last, Resizes, Rest, Stage, Then, Why};
use consort_types::*;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Scheduler {
    pub(super) fn submit(&mut self, spec: &Arc<JobSpec>) {
        let state = &mut self.state;
        let id = state.jobs.next_id();
        let tenant = state.ledger.find(&spec.tenant).expect("accept admits only known tenants");
        let too_small = state.learned.too_small(tenant, &spec.name);
        let mut first = 0;
        let stages: Vec<Stage> = spec
            .stages
            .iter()
            .map(|stage| {
                let grown = larger(state, &stage.roles, too_small);
                let roles = grown.as_deref().unwrap_or(&stage.roles);
                let class = state.classes.enter(roles, &state.cluster);
                let count = stage.form.asks();
                let entry = Stage { class, first, count, done: 0, failed: 0 };
                first += count;
                entry
            })
            .collect();
        let ask = Ask {
            state: AskState::Blocked,
            attempt: 0,
            failures: 0,
            refusals: 0,
            restarts: 0,
            preemptions: 0,
            first_started: None,
            waited: Span::ZERO,
            served: Span::ZERO,
            worked: Span::ZERO,
            attained: 0,
            queued: state.now,
            turn: 0,
            spell: Span::ZERO,
            not_before: Time(i64::MIN),
            last: Last::Nothing,
            resizes: Resizes::default(),
        };
        let after: Vec<Dependency> = spec
            .after
            .iter()
            .copied()
            .filter(|dependency| state.jobs.get(dependency.job).is_some())
            .collect();
        let hopeless = spec.after.iter().find(|dependency| {
            state.jobs.ending(dependency.job).is_some_and(|ending| !ending.satisfies(dependency.when))
        });
        let hopeless = hopeless.map(|dependency| Why::Hopeless { on: dependency.job });
        for dependency in &after {
            state.jobs.get_mut(dependency.job).expect("just seen").dependents.insert(id);
        }
        let queue = state.queues.find(&spec.queue).expect("accept admits only known queues");
        let (submitted, spec, asks) = (state.now, spec.clone(), vec![ask; first as usize]);
        let dependents = BTreeSet::new();
        state.jobs.insert(Job {
            id,
            spec,
            tenant,
            queue,
            submitted,
            paused: false,
            ending: None,
            stages,
            asks,
            after,
            dependents,
            story: Story::default(),
            hosts: HostUse::default(),
            reported: None,
        });
        match hopeless {
            Some(why) => self.end_job(id, why),
            None => self.unblock(id),
        }
    }

    /// Everything in the job that has nothing left to wait for begins to wait for devices.
    pub(super) fn unblock(&mut self, id: JobId) {
        let Some(job) = self.state.jobs.get(id) else { return };
        if job.paused || job.ending.is_some() || !job.after.is_empty() {
            return;
        }
        let stages = (0..job.stages.len()).filter(|&stage| job.stage_ready(stage));
        let asks = stages.flat_map(|stage| {
            let tasks = 0..job.stages[stage].count;
            tasks.map(move |task| AskId { job: id, stage: stage as u16, task })
        });
        let is_blocked =
            |ask: &AskId| job.ask(*ask).is_some_and(|ask| matches!(ask.state, AskState::Blocked));
        let ready: Vec<AskId> = asks.filter(is_blocked).collect();
        ready.into_iter().for_each(|ask| self.wait(ask));
    }

    /// The same for one ask that had begun before.
    pub(super) fn unblock_ask(&mut self, id: AskId) {
        let Some(job) = self.state.jobs.get(id.job) else { return };
        let is_held_up = job.paused || job.ending.is_some() || !job.after.is_empty();
        if !is_held_up && job.stage_ready(usize::from(id.stage)) {
            self.wait(id);
        }
    }

    fn wait(&mut self, id: AskId) {
        let (now, turn) = (self.state.now, self.state.jobs.next_turn());
        let ask = self.state.jobs.get_mut(id.job).and_then(|job| job.ask_mut(id)).expect("it lives");
        (ask.state, ask.queued, ask.turn) = (AskState::Waiting, now, turn);
        self.state.jobs.waiting.insert(id);
        self.lines.arrive(id);
    }

    pub(super) fn take_turn(&mut self, id: AskId) {
        let turn = self.state.jobs.next_turn();
        self.state.jobs.get_mut(id.job).and_then(|job| job.ask_mut(id)).expect("it lives").turn = turn;
    }

    /// Waits no longer: it starts, is held back or is over.
    pub(super) fn unwait(&mut self, id: AskId, into: AskState) {
        let now = self.state.now;
        self.state.jobs.waiting.remove(&id);
        let ask = self.state.jobs.get_mut(id.job).and_then(|job| job.ask_mut(id)).expect("it waits");
        if matches!(ask.state, AskState::Waiting) {
            ask.spell = (now - ask.queued.max(ask.not_before)).max(Span::ZERO); // backing off is not waiting
            ask.waited = ask.waited + ask.spell;
        }
        ask.state = into;
    }

    fn asks_of(&self, id: JobId) -> Vec<AskId> {
        self.state
            .jobs
            .get(id)
            .map_or(vec![], |job| (0..job.asks.len()).map(|index| job.ask_id(index)).collect())
    }

    pub(super) fn pause(&mut self, id: JobId) {
        self.state.jobs.get_mut(id).expect("accept saw it").paused = true;
        self.tell_job(id, Happened::Paused);
        for ask in self.asks_of(id) {
            self.set_aside(ask, Then::Requeue);
        }
    }

    pub(super) fn resume(&mut self, id: JobId) {
        self.state.jobs.get_mut(id).expect("accept saw it").paused = false;
        self.tell_job(id, Happened::Resumed);
        self.unblock(id);
    }

    /// Takes an ask out of whatever it is doing.
    fn set_aside(&mut self, id: AskId, then: Then) {
        let rest = if then == Then::JobEnds { AskState::Done } else { AskState::Blocked };
        let Some(ask) = self.state.jobs.ask(id) else { return };
        match &ask.state {
            AskState::Done => {}
            AskState::Blocked | AskState::Waiting => self.unwait(id, rest),
            AskState::Granted(_) => {
                let allocation = AllocationId { ask: id, attempt: ask.attempt };
                self.stop(allocation, then);
            }
        }
    }

    /// The job is going to end this way. It leaves the state once it holds nothing any more.
    pub(super) fn end_job(&mut self, id: JobId, why: Why) {
        if self.condemn(id, why) {
            self.leave_if_over(id);
        }
    }

    /// The same, but it does not leave yet. Returns whether this is news.
    fn condemn(&mut self, id: JobId, why: Why) -> bool {
        let Some(job) = self.state.jobs.get_mut(id) else { return false };
        if job.ending.is_some() {
            return false; // the first verdict stands
        }
        job.ending = Some(why);
        for ask in self.asks_of(id) {
            self.set_aside(ask, Then::JobEnds);
        }
        true
    }

    /// An ask has done what it was for.
    pub(super) fn ask_done(&mut self, id: AskId) {
        let job = self.state.jobs.get_mut(id.job).expect("it holds an allocation");
        let index = job.index(id).expect("it holds an allocation");
        job.asks[index].state = AskState::Done;
        if let Some(reported) = &mut job.reported {
            reported.progress.remove(&(index as u32));
        }
        if job.ending.is_some() {
            return self.leave_if_over(id.job);
        }
        job.asks[index].last = Last::Nothing; // an earlier attempt may have failed
        job.stages[usize::from(id.stage)].done += 1;
        self.stage_moved(id);
    }

    /// A task has failed for good. The others of its bag go on.
    pub(super) fn task_failed(&mut self, id: AskId) {
        let job = self.state.jobs.get_mut(id.job).expect("it lives");
        let index = job.index(id).expect("it lives");
        job.asks[index].state = AskState::Done;
        if job.ending.is_some() {
            return self.leave_if_over(id.job);
        }
        job.stages[usize::from(id.stage)].failed += 1;
        self.stage_moved(id);
    }

    /// One ask less to wait for in a stage. Once all are over, others may begin, or the job ends.
    fn stage_moved(&mut self, id: AskId) {
        let job = self.state.jobs.get(id.job).expect("it lives");
        let stage = &job.stages[usize::from(id.stage)];
        if stage.done + stage.failed < stage.count {
            return;
        }
        match job.rest() {
            Rest::Open => self.unblock(id.job),
            Rest::Done => self.end_job(id.job, Why::Done),
            Rest::Failed => self.end_job(id.job, job.tasks_failed()),
        }
    }

    /// Whether the failure of an ask leaves the others of its stage alone.
    pub(crate) fn others_go_on(&self, id: AskId) -> bool {
        let job = self.state.jobs.get(id.job).expect("it lives");
        let stage = &job.spec.stages[usize::from(id.stage)];
        stage.on_failure == OnFailure::Continue && matches!(stage.form, Form::Bag { .. })
    }

    /// Removes a job whose end is decided and that holds nothing, and tells those that waited for it; some of them
    /// may have to end for that, and so on. A loop and not a recursion: chains of jobs can be long.
    pub(super) fn leave_if_over(&mut self, id: JobId) {
        let mut untold = self.leave(id);
        while let Some((dependent, on, ending)) = untold.pop() {
            if self.settle_dependency(dependent, on, ending) {
                untold.extend(self.leave(dependent));
            }
        }
    }

    /// Removes one such job. Returns who must be told of whose end, the first one last.
    fn leave(&mut self, id: JobId) -> Vec<(JobId, JobId, Ending)> {
        let Some(job) = self.state.jobs.get(id) else { return vec![] };
        let Some(why) = job.ending.clone() else { return vec![] };
        let ending = why.ending();
        if job.asks.iter().any(|ask| !matches!(ask.state, AskState::Done)) {
            return vec![]; // it holds something, or is still being taken apart
        }
        let job = self.state.jobs.remove(id, ending);
        for stage in &job.stages {
            self.state.classes.leave(stage.class);
        }
        let mut story = job.story;
        if matches!(why, Why::Asked) {
            // Not in the state: journals of versions that had no such entry must keep their meaning.
            let (at, ask) = (self.state.now, AskId::whole(id));
            story.push(StoryEntry { at, ask, attempt: 0, what: Happened::Cancelled });
        }
        let sum = |part: fn(&Ask) -> Span| job.asks.iter().map(part).sum::<Total>();
        self.ended.push(Ended {
            job: id,
            submitted: job.submitted,
            started: job.asks.iter().filter_map(|ask| ask.first_started).min(),
            ended: self.state.now,
            ending,
            why,
            waited: sum(|ask| ask.waited).mean(job.asks.len() as u64),
            served: sum(|ask| ask.served),
            used: job.asks.iter().map(|ask| ask.attained.max(0) as u128).sum(),
            restarts: job.asks.iter().map(|ask| ask.restarts).sum(),
            preemptions: job.asks.iter().map(|ask| ask.preemptions).sum(),
            attempts: job.asks.iter().map(|ask| ask.attempt).sum(),
            hosts: job.hosts,
            story,
            last: self.lasts.remove(&id),
            spec: job.spec,
        });
        for dependency in &job.after {
            if let Some(other) = self.state.jobs.get_mut(dependency.job) {
                other.dependents.remove(&id);
            }
        }
        job.dependents.into_iter().rev().map(|dependent| (dependent, id, ending)).collect()
    }

    /// Returns whether the dependent job has to end for this.
    fn settle_dependency(&mut self, dependent: JobId, on: JobId, ending: Ending) -> bool {
        let Some(job) = self.state.jobs.get_mut(dependent) else { return false };
        let hopeless =
            job.after.iter().any(|dependency| dependency.job == on && !ending.satisfies(dependency.when));
        job.after.retain(|dependency| dependency.job != on);
        if !hopeless {
            self.unblock(dependent);
        }
        hopeless && self.condemn(dependent, Why::Hopeless { on })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Ending, Scheduler, stock};
    use consort_types::*;
    use std::sync::Arc;

    fn say(scheduler: &mut Scheduler, input: Input) {
        let event = scheduler.accept(Time::ZERO, input).expect("the story is in order");
        scheduler.apply(&event);
    }

    #[test]
    fn a_long_chain_of_jobs_falls_without_overflowing() {
        let mut scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
        say(&mut scheduler, Input::SetKind(KindSpec::named("a")));
        say(&mut scheduler, Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }));
        let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
        say(&mut scheduler, Input::SetQueue(queue));
        let devices = vec![DeviceGroup { kind: "a".into(), count: 1, island: 0 }];
        say(&mut scheduler, Input::NodeJoined(NodeSpec { name: "n".into(), devices, ..NodeSpec::default() }));
        for number in 1..=50_000u64 {
            let mut spec = JobSpec::gang("link", 1, Shape::of("a"));
            if number > 1 {
                spec.after = vec![Dependency { job: JobId(number - 1), when: Condition::Succeeded }];
            }
            say(&mut scheduler, Input::Submit(Arc::new(spec)));
        }
        say(&mut scheduler, Input::Cancel(JobId(1)));
        let ended = scheduler.take_ended();
        assert!(ended.iter().map(|job| job.job.0).eq(1..=50_000));
        assert!(ended.iter().all(|job| job.ending == Ending::Cancelled));
    }

    /// A house with a node of two devices, and these jobs started.
    fn running(specs: Vec<JobSpec>) -> Scheduler {
        let mut scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
        say(&mut scheduler, Input::SetKind(KindSpec::named("a")));
        say(&mut scheduler, Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }));
        let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
        say(&mut scheduler, Input::SetQueue(queue));
        let devices = vec![DeviceGroup { kind: "a".into(), count: 2, island: 0 }];
        say(&mut scheduler, Input::NodeJoined(NodeSpec { name: "n".into(), devices, ..NodeSpec::default() }));
        specs.into_iter().for_each(|spec| say(&mut scheduler, Input::Submit(Arc::new(spec))));
        let plan = scheduler.plan(Time::ZERO);
        scheduler.apply(&Event::new(Time::ZERO, Fact::Planned(plan)));
        scheduler
    }

    fn over(task: u32, cause: Cause, why: Option<&str>) -> Input {
        let ask = AskId { job: JobId(1), stage: 0, task };
        let outcome = Outcome::Failed { code: 143, cause };
        Input::Ended { allocation: AllocationId { ask, attempt: 1 }, outcome, why: why.map(Into::into) }
    }

    #[test]
    fn a_gang_that_was_cancelled_where_it_ran_was_cancelled() {
        let spec = JobSpec { retries: 9, ..JobSpec::gang("one", 1, Shape::of("a")) };
        let mut scheduler = running(vec![spec]);
        say(&mut scheduler, over(0, Cause::Cancelled, Some("by uid 0")));
        let ended = &scheduler.take_ended()[0];
        assert_eq!((ended.ending, ended.why.exit_code()), (Ending::Cancelled, None));
        assert_eq!(ended.why.told(&ended.spec), "it was cancelled outside Consort: by uid 0");
    }

    #[test]
    fn a_bag_that_lost_a_task_to_a_cancel_has_failed() {
        let mut spec = JobSpec { retries: 9, ..JobSpec::gang("bag", 1, Shape::of("a")) };
        spec.stages[0].form = Form::Bag { tasks: 2 };
        let mut scheduler = running(vec![spec]);
        say(&mut scheduler, over(1, Cause::Cancelled, None));
        let rest = AllocationId { ask: AskId::whole(JobId(1)), attempt: 1 };
        say(&mut scheduler, Input::over(rest, Outcome::Stopped));
        let ended = &scheduler.take_ended()[0];
        assert_eq!((ended.ending, ended.why.exit_code()), (Ending::Failed, Some(143)));
        assert_eq!(ended.why.told(&ended.spec), "task 1 was cancelled outside Consort");
    }

    /// Two tasks, 10 and 20, of which the second fails and the first ends like this.
    fn array(first: Outcome) -> String {
        let mut spec = JobSpec::gang("bag", 1, Shape::of("a"));
        spec.stages[0].form = Form::Bag { tasks: 2 };
        (spec.stages[0].on_failure, spec.stages[0].indices) = (OnFailure::Continue, vec![10, 20]);
        let mut scheduler = running(vec![spec]);
        say(&mut scheduler, over(1, Cause::Exit, None));
        assert!(scheduler.take_ended().is_empty(), "the other task goes on");
        say(&mut scheduler, Input::over(AllocationId { ask: AskId::whole(JobId(1)), attempt: 1 }, first));
        let ended = &scheduler.take_ended()[0];
        assert_eq!(ended.ending, Ending::Failed);
        format!("{}, exit code {:?}", ended.why.told(&ended.spec), ended.why.exit_code())
    }

    #[test]
    fn tasks_that_do_not_stop_each_other_are_named_by_their_index_when_they_fail() {
        let told = "1 of 2 tasks failed: task 20 failed with status 143, exit code Some(143)";
        assert_eq!(array(Outcome::Succeeded), told);
        let told = "2 of 2 tasks failed: 10 and 20; task 10 was killed by signal 9, exit code Some(143)";
        assert_eq!(array(Outcome::Failed { code: 137, cause: Cause::Signal }), told);
    }

    #[test]
    fn times_of_a_large_bag_are_added_up_without_saturating() {
        let mut spec = JobSpec::gang("bag", 1, Shape::of("a"));
        spec.stages[0].form = Form::Bag { tasks: 2_000 };
        let mut scheduler = running(vec![spec]);
        // Both tasks that run take a year; the other 1,998 wait for that long, and are then cancelled.
        let year = Time::ZERO + Span::seconds(365 * 86_400);
        let event = scheduler.accept(year, Input::Cancel(JobId(1))).expect("it lives");
        scheduler.apply(&event);
        for task in 0..2 {
            let ask = AskId { job: JobId(1), stage: 0, task };
            let over = Input::over(AllocationId { ask, attempt: 1 }, Outcome::Stopped);
            let event = scheduler.accept(year, over).expect("it holds devices");
            scheduler.apply(&event);
        }
        let ended = &scheduler.take_ended()[0];
        assert_eq!(
            ended.waited,
            Span(Span::seconds(365 * 86_400).0 / 2_000 * 1_998),
            "the mean, over 1,998 years"
        );
    }

    #[test]
    fn the_words_of_the_world_are_part_of_why_a_job_failed() {
        let mut scheduler = running(vec![JobSpec::gang("one", 1, Shape::of("a"))]);
        say(&mut scheduler, over(0, Cause::TimeLimit, Some("partition short allows 1h")));
        let why = {
            let ended = &scheduler.take_ended()[0];
            ended.why.told(&ended.spec)
        };
        assert_eq!(why, "it exceeded a time limit of the cluster: partition short allows 1h");
    }
}
