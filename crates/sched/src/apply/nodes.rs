//! Nodes come, go silent, return, are fenced and drained.

use crate::scheduler::Scheduler;
use crate::state::cluster::Health;
use crate::state::jobs::{Last, Phase, Then};
use consort_types::*;

impl Scheduler {
    pub(super) fn join(&mut self, spec: &NodeSpec) {
        let node = self.state.cluster.join(spec);
        self.state.tombstones.clear_node(node);
        self.free.admit(&self.state.cluster, node);
    }

    /// A fenced node leaves for good. Nothing refers to it any more: what it held was released when it was fenced, and
    /// attempts that lost it name it in words.
    pub(super) fn forget_node(&mut self, node: NodeId) {
        self.state.cluster.leave(node);
        self.free.dismiss(node);
    }

    pub(super) fn set_drained(&mut self, node: NodeId, drained: bool) {
        self.state.cluster.nodes[node.index()].drained = drained;
        self.sync_node(node);
    }

    pub(super) fn suspect(&mut self, node: NodeId) {
        let cluster = &mut self.state.cluster;
        let fence_at = self.state.now + cluster.settings.lease + cluster.settings.margin;
        cluster.nodes[node.index()].health = Health::Suspect { fence_at };
        cluster.suspects.insert((fence_at, node));
        self.sync_node(node);
    }

    pub(super) fn unsuspect(&mut self, node: NodeId) {
        self.forget_suspicion(node);
        self.state.cluster.nodes[node.index()].health = Health::Up;
        self.sync_node(node);
    }

    fn forget_suspicion(&mut self, node: NodeId) {
        if let Health::Suspect { fence_at } = self.state.cluster.nodes[node.index()].health {
            self.state.cluster.suspects.remove(&(fence_at, node));
        }
    }

    /// The node is given up. What it held is released, and a gang that had a member there is over. The world is told
    /// to end what it may still have of these attempts, and nothing of theirs starts again before it has
    /// (`state/tombstones.rs`).
    pub(super) fn fence(&mut self, node: NodeId) {
        self.forget_suspicion(node);
        self.state.cluster.nodes[node.index()].health = Health::Fenced;
        self.sync_node(node);
        let touched: Vec<AllocationId> = self.allocations_on(node).collect();
        // Those that were only promised devices there come first: they must not be paid from what is lost.
        let is_planned = |scheduler: &Self, id| scheduler.phase(id) == Some(Phase::Planned);
        let (planned, live): (Vec<_>, Vec<_>) = touched.into_iter().partition(|&id| is_planned(self, id));
        for id in planned {
            self.withdraw(id, Last::NodeLost(self.node_name(node)));
        }
        // So do resizes that were going to use it, and of which no worker knows yet.
        let is_there = |scheduler: &Self, id: &AllocationId| {
            let found = scheduler.state.jobs.allocation(*id);
            found.is_some_and(|found| scheduler.is_on(&found.placement.grants, node))
        };
        let (live, reserved): (Vec<_>, Vec<_>) =
            live.into_iter().partition(|id| is_there(self, id) || !self.is_reserved_only(*id));
        for id in reserved.into_iter().filter(|id| !live.contains(id)) {
            if self.is_reserved_only(id) {
                self.loses_new_device(id, Last::NodeLost(self.node_name(node)));
            }
        }
        for id in live {
            self.set_last(id.ask, Last::NodeLost(self.node_name(node)));
            self.tell(id, Happened::NodeLost { node: self.node_name(node) });
            self.state.tombstones.set(id, node);
            self.stop(id, Then::Requeue);
            self.lose_grants_on(id, node);
        }
        for device in self.state.cluster.nodes[node.index()].devices().map(DeviceId) {
            let found = &mut self.state.cluster.devices[device.index()];
            (found.foreign, found.ill) = (0, None); // who knows; it will report when it joins
            self.sync_device(device);
        }
        self.set_foreign_host(node, &Host::NONE);
    }

    fn allocations_on(&self, node: NodeId) -> impl Iterator<Item = AllocationId> + '_ {
        let cluster = &self.state.cluster;
        self.state.jobs.granted.iter().filter_map(move |&ask| {
            let found = self.state.jobs.ask(ask)?;
            let mut grants = found.allocation()?.granted();
            let here = grants.any(|grant| cluster.device(grant.device).node == node);
            here.then_some(AllocationId { ask, attempt: found.attempt })
        })
    }

    fn is_on(&self, grants: &[Grant], node: NodeId) -> bool {
        grants.iter().any(|grant| self.state.cluster.device(grant.device).node == node)
    }

    pub(super) fn set_foreign(&mut self, node: NodeId, shares: &[u16], host: &Host) {
        for (device, &share) in self.state.cluster.nodes[node.index()].devices().zip(shares) {
            self.state.cluster.devices[device as usize].foreign = share;
            self.sync_device(DeviceId(device));
        }
        self.set_foreign_host(node, host);
    }

    fn set_foreign_host(&mut self, node: NodeId, host: &Host) {
        for pool in Pool::ALL {
            let Some(device) = self.state.cluster.nodes[node.index()].pool(pool) else { continue };
            let found = &mut self.state.cluster.devices[device.index()];
            if found.foreign_amount != pool.of(host) {
                found.foreign_amount = pool.of(host);
                self.sync_device(device);
            }
        }
    }

    /// Work that holds a device which has fallen ill is moved; what was only promised one is withdrawn.
    pub(super) fn set_health(&mut self, node: NodeId, ill: &[Illness]) {
        let devices = self.state.cluster.nodes[node.index()].devices();
        for id in devices.clone().map(DeviceId) {
            let found = ill.iter().find(|illness| illness.device == id.0 - devices.start);
            self.state.cluster.devices[id.index()].ill = found.map(|illness| illness.why.clone());
            self.sync_device(id);
        }
        let is_ill = |grant: &Grant| self.state.cluster.device(grant.device).ill.is_some();
        let touched: Vec<AllocationId> = self
            .allocations_on(node)
            .filter(|&id| self.state.jobs.allocation(id).is_some_and(|found| found.granted().any(is_ill)))
            .collect();
        let (planned, live): (Vec<_>, Vec<_>) =
            touched.into_iter().partition(|&id| self.phase(id) == Some(Phase::Planned));
        for id in planned {
            self.withdraw(id, Last::DeviceIll(self.node_name(node)));
        }
        for id in live {
            if self.is_reserved_only(id) && self.is_new_one_ill(id) {
                self.loses_new_device(id, Last::DeviceIll(self.node_name(node)));
            }
            let Some(found) = self.state.jobs.allocation(id) else { continue };
            let is_hit = found.granted().any(|grant| self.state.cluster.device(grant.device).ill.is_some());
            if is_hit && !matches!(self.phase(id), Some(Phase::Releasing { .. })) {
                self.set_last(id.ask, Last::DeviceIll(self.node_name(node)));
                self.tell_unhealthy(id, node);
                self.stop(id, Then::Requeue);
            }
        }
    }

    /// Whether a device of the placement that an allocation is going to have is unhealthy.
    fn is_new_one_ill(&self, id: AllocationId) -> bool {
        let found = self.state.jobs.allocation(id).and_then(|found| found.width.resizing.as_deref());
        let is_ill = |grant: &Grant| self.state.cluster.device(grant.device).ill.is_some();
        found.is_some_and(|resizing| resizing.placement.grants.iter().any(is_ill))
    }

    fn sync_node(&mut self, node: NodeId) {
        let usable = self.state.cluster.nodes[node.index()].usable();
        self.free.set_usable(&self.state.cluster, node, usable);
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

    fn plan(scheduler: &mut Scheduler) {
        let plan = scheduler.plan(Time::ZERO);
        assert!(scheduler.take_rejections().is_empty());
        scheduler.apply(&Event::new(Time::ZERO, Fact::Planned(plan)));
    }

    fn node(name: &str) -> NodeSpec {
        let devices = vec![DeviceGroup { kind: "a".into(), count: 2, island: 0 }];
        NodeSpec { name: name.into(), devices, ..NodeSpec::default() }
    }

    /// Two nodes with two devices each, and a job of this width that runs.
    fn running(width: u32) -> (Scheduler, AllocationId) {
        let mut scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
        say(&mut scheduler, Input::SetKind(KindSpec::named("a")));
        say(&mut scheduler, Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }));
        let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
        say(&mut scheduler, Input::SetQueue(queue));
        say(&mut scheduler, Input::NodeJoined(node("n1")));
        say(&mut scheduler, Input::NodeJoined(node("n2")));
        let spec = JobSpec::gang("work", width, Shape::of("a"));
        say(&mut scheduler, Input::Submit(Arc::new(spec)));
        plan(&mut scheduler);
        let attempt = AllocationId { ask: AskId::whole(JobId(1)), attempt: 1 };
        say(&mut scheduler, Input::Started(attempt));
        scheduler.take_desires();
        (scheduler, attempt)
    }

    fn gone(allocation: AllocationId) -> Desired {
        Desired { allocation, wanted: Wanted::Gone }
    }

    fn reason(scheduler: &Scheduler) -> String {
        scheduler.explain(Time::ZERO, JobId(1)).expect("it lives").asks[0].1.to_string()
    }

    #[test]
    fn a_fenced_attempt_is_desired_gone_until_its_end_is_reported() {
        let (mut scheduler, first) = running(2);
        say(&mut scheduler, Input::NodeFenced(NodeId(0)));
        assert_eq!(scheduler.take_desires(), [gone(first)]);
        assert_eq!(scheduler.all_desires(), [gone(first)], "also for a world that has lost its memory");
        assert_eq!(scheduler.plan(Time::ZERO).moves, [], "n2 is free, and yet it does not start twice");
        assert_eq!(reason(&scheduler), "waits until attempt 1, lost with node n1, has ended");
        say(&mut scheduler, Input::over(first, Outcome::Stopped));
        assert_eq!(scheduler.all_desires(), []);
        assert_eq!(scheduler.plan(Time::ZERO).moves.len(), 1, "now it starts on n2");
    }

    #[test]
    fn a_node_that_joins_again_has_nothing_left_of_it() {
        let (mut scheduler, _) = running(2);
        say(&mut scheduler, Input::NodeFenced(NodeId(0)));
        say(&mut scheduler, Input::NodeJoined(node("n1")));
        assert_eq!(scheduler.all_desires(), []);
        assert_eq!(scheduler.plan(Time::ZERO).moves.len(), 1);
    }

    #[test]
    fn news_of_an_attempt_that_is_over_is_answered() {
        let (mut scheduler, first) = running(2);
        say(&mut scheduler, Input::NodeFenced(NodeId(0)));
        scheduler.take_desires();
        assert!(scheduler.accept(Time::ZERO, Input::Started(first)).is_err());
        assert_eq!(scheduler.answer_stale(&Input::Started(first)), None);
        assert_eq!(scheduler.take_desires(), [gone(first)], "it is told to go once more");
        say(&mut scheduler, Input::over(first, Outcome::Stopped));
        assert_eq!(scheduler.answer_stale(&Input::Started(first)), Some(first), "it is to be forgotten");
    }

    #[test]
    fn a_fenced_attempt_that_succeeded_all_the_same_is_not_run_again() {
        let (mut scheduler, first) = running(2);
        say(&mut scheduler, Input::NodeFenced(NodeId(0)));
        say(&mut scheduler, Input::over(first, Outcome::Succeeded));
        assert_eq!(scheduler.view().ending(JobId(1)), Some(Ending::Succeeded));
    }

    #[test]
    fn a_fenced_attempt_that_failed_by_itself_counts_as_failed() {
        let (mut scheduler, first) = running(2);
        say(&mut scheduler, Input::NodeFenced(NodeId(0)));
        say(&mut scheduler, Input::over(first, Outcome::Failed { code: 3, cause: Cause::Exit }));
        assert_eq!(scheduler.view().ending(JobId(1)), Some(Ending::Failed));
        assert_eq!(scheduler.take_ended()[0].why.exit_code(), Some(3));
    }

    /// That a world says so only if every worker succeeded, those on the lost node included, is its contract
    /// (`consort_types::World`): then all work was done before anything could be stopped.
    #[test]
    fn a_gang_that_lost_a_node_and_had_succeeded_by_then_is_done() {
        let (mut scheduler, first) = running(4);
        say(&mut scheduler, Input::NodeFenced(NodeId(0)));
        assert_eq!(scheduler.all_desires(), [gone(first)]);
        say(&mut scheduler, Input::over(first, Outcome::Succeeded));
        assert_eq!(scheduler.view().ending(JobId(1)), Some(Ending::Succeeded));
        assert_eq!(scheduler.all_desires(), []);
    }

    #[test]
    fn a_job_that_ends_leaves_its_fenced_attempt_to_be_ended() {
        let (mut scheduler, first) = running(2);
        say(&mut scheduler, Input::NodeFenced(NodeId(0)));
        say(&mut scheduler, Input::Cancel(JobId(1)));
        assert_eq!(scheduler.view().ending(JobId(1)), Some(Ending::Cancelled));
        assert_eq!(scheduler.all_desires(), [gone(first)]);
        say(&mut scheduler, Input::over(first, Outcome::Stopped));
        assert_eq!(scheduler.all_desires(), []);
    }

    #[test]
    fn ten_thousand_nodes_that_come_and_go_leave_nothing_behind() {
        let mut scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
        let levels = vec![LevelSpec { name: "rack".into(), link: None }];
        say(&mut scheduler, Input::Configure(Settings { levels, ..Settings::default() }));
        say(&mut scheduler, Input::SetKind(KindSpec::named("a")));
        for number in 0..10_000u32 {
            let devices = vec![DeviceGroup { kind: "a".into(), count: 1 + number % 3, island: 0 }];
            let (name, domains) = (format!("n{number}"), vec![format!("rack {number}")]);
            let host = Host { cpu_milli: 8_000, memory_bytes: 1 << 30 };
            say(
                &mut scheduler,
                Input::NodeJoined(NodeSpec { name, domains, devices, host, features: vec![] }),
            );
            if let Some(leaving) = number.checked_sub(5) {
                let id = scheduler.view().node(&format!("n{leaving}")).expect("it is still there");
                say(&mut scheduler, Input::NodeFenced(id));
                say(&mut scheduler, Input::NodeLeft(id));
            }
        }
        let cluster = &scheduler.state.cluster;
        assert_eq!(scheduler.view().nodes().count(), 5);
        let sizes = (cluster.nodes.len(), cluster.devices.len(), cluster.domains.len());
        assert!(sizes.0 <= 6 && sizes.1 <= 36 && sizes.2 <= 6, "nodes, devices, domains: {sizes:?}");
        assert!(scheduler.indexes_are_true());
    }

    #[test]
    fn a_node_leaves_once_the_end_of_what_ran_there_is_known() {
        let (mut scheduler, first) = running(4);
        let no = |scheduler: &Scheduler| scheduler.accept(Time::ZERO, Input::NodeLeft(NodeId(0))).map(drop);
        assert_eq!(no(&scheduler).unwrap_err().subject, "node n1 is still in the cluster");
        say(&mut scheduler, Input::NodeFenced(NodeId(0)));
        assert_eq!(no(&scheduler).unwrap_err().subject, "attempt 1#1 may still run on node n1");
        say(&mut scheduler, Input::over(first, Outcome::Stopped));
        say(&mut scheduler, Input::NodeLeft(NodeId(0)));
        assert_eq!(scheduler.view().node("n1"), None);
        assert_eq!(no(&scheduler).unwrap_err().rule, Rule::NotThere);
        assert_eq!(
            reason(&scheduler),
            "needs 4 a, 2 free; it can never start here: the whole cluster has room for 2"
        );
        say(&mut scheduler, Input::NodeJoined(node("n3")));
        assert_eq!(scheduler.view().node("n3"), Some(NodeId(0)), "its number is used again");
        assert_eq!(scheduler.plan(Time::ZERO).moves.len(), 1);
    }
}
