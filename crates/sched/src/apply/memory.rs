//! Attempts that ran out of device memory, and jobs that are known to.

use crate::class::{Class, ClassId};
use crate::lines::Lines;
use crate::scheduler::Scheduler;
use crate::state::State;
use crate::state::jobs::Why;
use consort_types::*;

impl Scheduler {
    /// Remembers what an attempt that ended had of device memory, if that says anything about others of its name.
    pub(super) fn learn(&mut self, id: AskId, had: u64, outcome: Outcome) {
        let Some(job) = self.state.jobs.get(id.job).filter(|_| had > 0) else { return };
        let (tenant, name, seen) = (job.tenant, &job.spec.name, self.state.seen);
        let most = self.state.constants().learned;
        match outcome {
            Outcome::Succeeded => self.state.learned.fits(tenant, name, had),
            Outcome::Failed { cause: Cause::DeviceMemory, .. } => {
                self.state.learned.does_not_fit((tenant, name), had, seen, most);
            }
            _ => {}
        }
    }

    /// The memory that each device of a placement brought with it: the least of them.
    pub(super) fn device_memory(&self, placement: &Placement) -> u64 {
        placement.devices().map(|grant| grant.memory_bytes).min().unwrap_or(0)
    }

    /// Lets the stage of an ask that ran out of `had` wait for devices with more, if it wants that. Otherwise, or where
    /// none has more, says what is to become of the ask.
    pub(super) fn wants_larger(&mut self, id: AskId, had: u64, outcome: Outcome) -> Larger {
        let is_full = matches!(outcome, Outcome::Failed { cause: Cause::DeviceMemory, .. });
        let job = self.state.jobs.get(id.job).expect("it is granted");
        let roles = &job.spec.stages[usize::from(id.stage)].roles;
        if !is_full || had == 0 || !roles.iter().flat_map(|role| &role.shapes).any(grows) {
            return Larger::NotWanted;
        }
        let Some(class) = enter_larger(&mut self.state, id, had) else {
            let most = memory_words(had);
            let words = format!("no kind of device that it accepts has more memory than {most}").into();
            return Larger::Nowhere(Why::Broke { ask: id, outcome, words: Some(words) });
        };
        let job = self.state.jobs.get_mut(id.job).expect("just seen");
        let before = std::mem::replace(&mut job.stages[usize::from(id.stage)].class, class);
        self.state.classes.leave(before);
        // Others of the stage may stand in the line of the class that it had.
        self.lines = Lines::default();
        Larger::Waits
    }
}

/// What becomes of an ask that failed.
pub(super) enum Larger {
    /// The same as of any other.
    NotWanted,
    /// It waits for more memory.
    Waits,
    /// There is no more memory anywhere: its job ends.
    Nowhere(Why),
}

/// Whether a shape is to get more memory where it ran out. Of a part of a device the part itself was too small.
fn grows(shape: &Shape) -> bool {
    shape.on_oom == OnOom::Larger && shape.share == WHOLE
}

fn enter_larger(state: &mut State, id: AskId, had: u64) -> Option<ClassId> {
    let spec = state.jobs.get(id.job)?.spec.clone();
    let roles = larger(state, &spec.stages[usize::from(id.stage)].roles, had)?;
    Some(state.classes.enter(&roles, &state.cluster))
}

/// The same roles with more memory on each device than `had`, if some kind has that.
pub(super) fn larger(state: &State, roles: &[Role], had: u64) -> Option<Vec<Role>> {
    if had == 0 || !roles.iter().flat_map(|role| &role.shapes).any(grows) {
        return None;
    }
    let mut roles = roles.to_vec();
    for shape in roles.iter_mut().flat_map(|role| &mut role.shapes).filter(|shape| grows(shape)) {
        shape.memory_bytes = shape.memory_bytes.max(had + 1);
    }
    let class = Class::compile(&roles, &state.cluster)?;
    let cluster = &state.cluster;
    let is_there = |kind: KindId| cluster.kinds[kind.index()].sizes.values().any(|&nodes| nodes > 0);
    let fits = class.roles.iter().all(|role| {
        let mut shapes = role.shapes.iter();
        shapes.any(|shape| shape.kinds(cluster).any(|kind| is_there(kind) && shape.might_suit(cluster, kind)))
    });
    fits.then_some(roles)
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

    /// A node with a small device, and one with a large one.
    fn house() -> Scheduler {
        let mut scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
        for (kind, gib) in [("small", 16), ("large", 80)] {
            say(
                &mut scheduler,
                Input::SetKind(KindSpec { memory_bytes: gib << 30, ..KindSpec::named(kind) }),
            );
        }
        say(&mut scheduler, Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }));
        let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
        say(&mut scheduler, Input::SetQueue(queue));
        for kind in ["small", "large"] {
            let devices = vec![DeviceGroup { kind: kind.into(), count: 1, island: 0 }];
            let node = NodeSpec { name: format!("with-{kind}"), devices, ..NodeSpec::default() };
            say(&mut scheduler, Input::NodeJoined(node));
        }
        scheduler
    }

    fn submit(scheduler: &mut Scheduler, name: &str, shape: Shape) {
        say(scheduler, Input::Submit(Arc::new(JobSpec::gang(name, 1, shape))));
        plan(scheduler);
    }

    fn plan(scheduler: &mut Scheduler) {
        let plan = scheduler.plan(Time::ZERO);
        assert!(scheduler.take_rejections().is_empty());
        scheduler.apply(&Event::new(Time::ZERO, Fact::Planned(plan)));
        assert_eq!(scheduler.audit(), Vec::<String>::new());
    }

    fn kind_of(scheduler: &Scheduler, job: u64) -> String {
        let view = scheduler.view();
        let device = view.ask(AskId::whole(JobId(job))).expect("it lives").grants()[0].device;
        let kind = view.kind_of(device);
        view.kinds().find(|(id, _)| *id == kind).expect("known").1.name.clone()
    }

    fn full(scheduler: &mut Scheduler, job: u64, attempt: u32) {
        let allocation = AllocationId { ask: AskId::whole(JobId(job)), attempt };
        let outcome = Outcome::Failed { code: 1, cause: Cause::DeviceMemory };
        say(scheduler, Input::over(allocation, outcome));
        plan(scheduler);
    }

    fn larger() -> Shape {
        Shape { on_oom: OnOom::Larger, ..Shape::any() }
    }

    #[test]
    fn what_did_not_fit_waits_for_more_and_the_next_of_its_name_starts_there() {
        let mut scheduler = house();
        submit(&mut scheduler, "train", larger());
        assert_eq!(kind_of(&scheduler, 1), "small");
        full(&mut scheduler, 1, 1);
        assert_eq!(kind_of(&scheduler, 1), "large", "without a retry to spare");
        let job = scheduler.view().job(JobId(1)).expect("it lives");
        let story: Vec<String> = job.story().entries().iter().map(|entry| entry.told(job.spec())).collect();
        let failed = "attempt 1 ran out of device memory: 16 GiB was not enough; attempt 2 is pending without a back-off";
        assert_eq!(story, [failed]);
        submit(&mut scheduler, "other", larger());
        assert_eq!(kind_of(&scheduler, 2), "small", "nothing was learned of it");
        submit(&mut scheduler, "train", larger());
        let reason = scheduler.explain(Time::ZERO, JobId(3)).expect("it lives").asks[0].1.to_string();
        assert_eq!(reason, "needs 1 device with more than 16 GiB, 0 free, 1 held by train");
    }

    #[test]
    fn what_fits_nowhere_fails() {
        let mut scheduler = house();
        submit(&mut scheduler, "train", Shape { kind: Some("large".into()), ..larger() });
        full(&mut scheduler, 1, 1);
        let ended = &scheduler.take_ended()[0];
        assert_eq!(ended.ending, Ending::Failed);
        let why =
            "it ran out of device memory: no kind of device that it accepts has more memory than 80 GiB";
        assert_eq!(ended.why.told(&ended.spec), why);
        // A later one is not kept from trying: it may have been changed.
        submit(&mut scheduler, "train", Shape { kind: Some("large".into()), ..larger() });
        assert_eq!(kind_of(&scheduler, 2), "large");
    }

    #[test]
    fn a_copy_that_learned_the_same_is_the_same() {
        let mut scheduler = house();
        submit(&mut scheduler, "train", larger());
        full(&mut scheduler, 1, 1);
        let saved = scheduler.save();
        let restored = Scheduler::restore(stock::standard().policy(), Capabilities::default(), saved);
        assert_eq!(restored.state_hash(), scheduler.state_hash());
        assert_eq!(kind_of(&restored, 1), "large");
    }
}
