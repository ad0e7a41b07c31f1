//! Whoever makes trouble: users who change their minds, administrators, faults, and news that is not true any more.
//!
//! Every act is chosen by dice and by what there is just now, so that most acts hit something.

use super::setting;
use super::witness::Witness;
use crate::dice::Dice;
use crate::workload::Cluster;
use crate::world::{Act, VirtualWorld};
use consort_sched::Rollout;
use consort_types::*;
use std::collections::BTreeMap;

pub(super) struct Trouble {
    pub dice: Dice,
    pub cluster: Cluster,
    pub counts: BTreeMap<&'static str, u64>,
    /// The hardware of a node changed, or a node left: what was accepted may never fit again.
    pub refitted: bool,
    /// New nodes so far.
    arrived: u32,
    foreign: bool,
    ill: bool,
    /// Whether quotas change in this history: one in which they do not ends under its own ceilings.
    requotes: bool,
}

impl Trouble {
    pub fn new(mut dice: Dice, cluster: Cluster) -> Self {
        let requotes = dice.chance(0.5);
        Trouble {
            dice,
            cluster,
            counts: BTreeMap::new(),
            refitted: false,
            arrived: 0,
            foreign: false,
            ill: false,
            requotes,
        }
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// One random act.
    pub fn strike(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>, witness: &mut Witness) {
        match self.dice.below(29) {
            0..4 => self.ask_something(now, rollout, witness),
            4..6 => self.change_quota(now, rollout, witness),
            6..8 => self.drain(now, rollout, witness),
            8..11 => self.cut_off(now, rollout),
            11..13 => self.die(now, rollout),
            13..15 => self.repair(now, rollout),
            15..17 => self.foreign_use(now, rollout, witness),
            17 => self.illness(now, rollout, witness),
            18..20 => self.lie_about_attempts(now, rollout, witness),
            20..22 => self.repeat_news(now, rollout, witness),
            22 => self.repeat_orders(now, rollout),
            23..25 => self.set_adrift(now, rollout),
            25..27 => self.leave(now, rollout),
            27 => self.report_nonsense(now, rollout, witness),
            _ => self.talk_nonsense(now, rollout, witness),
        }
    }

    fn node(&mut self) -> NodeId {
        NodeId(self.dice.below(self.cluster.nodes.len() as u64) as u32)
    }

    /// Says it with a clock that may have jumped back; a plan is due at once.
    fn say(
        &mut self,
        now: Time,
        rollout: &mut Rollout<VirtualWorld>,
        witness: &mut Witness,
        input: Input,
    ) -> bool {
        let mut at = now;
        if self.dice.chance(0.2) {
            self.count("clock jumped back");
            at = Time(now.0 - self.dice.seconds(0.0, 1000.0).0);
        }
        let before = witness.refused;
        rollout.input(at, input, witness);
        rollout.wake_at = Some(rollout.wake_at.map_or(now, |at| at.min(now)));
        witness.refused == before
    }

    fn ask_something(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>, witness: &mut Witness) {
        let living: Vec<JobId> = rollout.scheduler.view().jobs().map(|job| job.id()).collect();
        if living.is_empty() {
            return;
        }
        let job = *self.dice.one_of(&living);
        let input = match self.dice.below(8) {
            0 => Input::Cancel(job),
            1..5 => Input::Pause(job),
            _ => Input::Resume(job),
        };
        self.count("user act");
        self.say(now, rollout, witness, input);
        // Whoever was paused is more interesting when it is resumed.
        let paused = rollout.scheduler.view().jobs().find(|job| job.is_paused()).map(|job| job.id());
        if let Some(job) = paused.filter(|_| self.dice.chance(0.5)) {
            self.say(now, rollout, witness, Input::Resume(job));
        }
    }

    fn change_quota(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>, witness: &mut Witness) {
        if !self.requotes {
            return;
        }
        let name = self.dice.one_of(&self.cluster.tenants).name.clone();
        let tenant = if self.dice.chance(0.5) {
            setting::tenant(&mut self.dice, &name, &self.cluster.kinds, &self.cluster.nodes)
        } else {
            self.cluster.tenants.iter().find(|tenant| tenant.name == name).expect("one of them").clone()
        };
        self.count("quota change");
        self.say(now, rollout, witness, Input::SetTenant(tenant));
    }

    fn drain(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>, witness: &mut Witness) {
        let node = self.node();
        let drain = self.dice.chance(0.4);
        self.count("drain or undrain");
        self.say(now, rollout, witness, if drain { Input::Drain(node) } else { Input::Undrain(node) });
    }

    fn cut_off(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>) {
        let lease = self.cluster.settings.lease.as_seconds();
        let span = self.dice.seconds(0.0, 2.0 * lease);
        let node = self.node();
        self.count(if span <= self.cluster.settings.lease {
            "cut off, back in time"
        } else {
            "cut off too long"
        });
        rollout.world.act_at(now, Act::CutOff(node, span));
    }

    /// A node of a cluster manager: its work outlives a fence, by the manager or by our lease.
    fn set_adrift(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>) {
        let settings = &self.cluster.settings;
        let fenced_after = (settings.lease + settings.margin).as_seconds();
        let span = self.dice.seconds(0.0, 2.0 * fenced_after + 1.0);
        let (node, given_up) = (self.node(), self.dice.chance(0.5));
        self.count(if given_up { "given up with its work" } else { "silent with its work" });
        rollout.world.act_at(now, Act::Adrift { node, span, given_up });
    }

    fn die(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>) {
        let node = self.node();
        self.count("node died");
        rollout.world.act_at(now, Act::Die(node));
        if self.dice.chance(0.7) {
            let later = now + self.dice.seconds(0.0, 200.0);
            self.count("node repaired");
            rollout.world.act_at(later, Act::Repair(node));
        }
    }

    fn repair(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>) {
        let silent = rollout.world.silent_nodes();
        if silent.is_empty() {
            return;
        }
        let node = *self.dice.one_of(&silent);
        let act = if self.dice.chance(0.2) {
            self.refitted = true;
            self.count("node came back with other devices");
            let devices = setting::devices(&mut self.dice, self.cluster.kinds.len());
            let has_any = self.cluster.nodes.iter().any(|node| !node.features.is_empty());
            Act::Refit(node, devices, setting::features(&mut self.dice, has_any))
        } else {
            self.count("node repaired");
            Act::Repair(node)
        };
        rollout.world.act_at(now, act);
    }

    /// A node leaves for good; mostly another one comes, with a name and devices of its own.
    fn leave(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>) {
        let node = self.node();
        self.refitted = true;
        self.count("node left for good");
        rollout.world.act_at(now, Act::Leave(node));
        if self.dice.chance(0.8) {
            self.arrived += 1;
            let like = self.cluster.nodes[node.index()].clone();
            let devices = match self.dice.chance(0.5) {
                true => like.devices.clone(),
                false => setting::devices(&mut self.dice, self.cluster.kinds.len()),
            };
            // The name of a node that left may be used again.
            let name = if self.dice.chance(0.2) { like.name.clone() } else { format!("new{}", self.arrived) };
            let later = now + self.dice.seconds(0.0, 200.0);
            self.count("new node");
            rollout.world.act_at(later, Act::Arrive(NodeSpec { name, devices, ..like }));
        }
    }

    fn foreign_use(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>, witness: &mut Witness) {
        let node = self.node();
        let count = rollout.scheduler.view().node_by_id(node).map_or(0, |node| node.devices);
        let shares = (0..count)
            .map(|_| if self.dice.chance(0.5) { 0 } else { *self.dice.one_of(&[1, 300, 500, 1000]) })
            .collect();
        self.count("foreign use");
        self.foreign = true;
        let shares = if self.dice.chance(0.3) { vec![0; count as usize] } else { shares };
        let has = self.cluster.nodes[node.index()].host;
        let part = |of: u64, dice: &mut Dice| if of > 0 { dice.below(of + 1) } else { 0 };
        let (cpu_milli, memory_bytes) =
            (part(has.cpu_milli, &mut self.dice), part(has.memory_bytes, &mut self.dice));
        let host = if self.dice.chance(0.5) { Host::NONE } else { Host { cpu_milli, memory_bytes } };
        self.say(now, rollout, witness, Input::ForeignUse { node, shares, host });
    }

    fn illness(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>, witness: &mut Witness) {
        let node = self.node();
        let count = rollout.scheduler.view().node_by_id(node).map_or(0, |node| node.devices);
        let ill = (0..count).filter(|_| self.dice.chance(0.3));
        let ill = ill.map(|device| Illness { device, why: "a scripted fault".into() }).collect();
        self.count("ill devices");
        self.ill = true;
        self.say(now, rollout, witness, Input::DeviceHealth { node, ill });
    }

    /// News about attempts that are over or were never made: all of it must be refused.
    fn lie_about_attempts(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>, witness: &mut Witness) {
        let view = rollout.scheduler.view();
        let asks: Vec<AllocationId> = view
            .jobs()
            .flat_map(|job| job.asks())
            .filter_map(|ask| view.ask(ask))
            .map(|ask| ask.allocation())
            .collect();
        if asks.is_empty() {
            return;
        }
        let mut allocation = *self.dice.one_of(&asks);
        let off = self.dice.whole(1, 3);
        allocation.attempt = if self.dice.chance(0.5) {
            allocation.attempt + off
        } else {
            match allocation.attempt.checked_sub(off) {
                Some(attempt) => attempt,
                None => return,
            }
        };
        let input = match self.dice.below(4) {
            0 => Input::Started(allocation),
            1 => Input::Progress(vec![Report { allocation, sample: self.some_sample() }]),
            2 => Input::StartRefused { allocation, why: "a lie".into() },
            _ => Input::over(allocation, Outcome::Succeeded),
        };
        if view.fenced_attempts().any(|(fenced, _)| fenced == allocation) {
            return; // its end is awaited
        }
        self.count("news of a wrong attempt");
        let shown = super::words::input(&input);
        if self.say(now, rollout, witness, input) {
            witness.fail(format!("news of a wrong attempt was believed: {shown}"));
        }
    }

    /// Progress that no job would make.
    fn some_sample(&mut self) -> Sample {
        let number = |dice: &mut Dice| dice.below(Sample::MOST) + 1;
        let (done_milli, total_milli) = (number(&mut self.dice), number(&mut self.dice));
        Sample { done_milli, total_milli, rate_nano: number(&mut self.dice), ..Sample::default() }
    }

    /// A job that runs reports whatever it likes, and something else that it cannot.
    fn report_nonsense(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>, witness: &mut Witness) {
        let view = rollout.scheduler.view();
        let running =
            view.granted().filter_map(|id| view.ask(id)).filter(|ask| ask.running_since().is_some());
        let running: Vec<AllocationId> = running.map(|ask| ask.allocation()).collect();
        if running.is_empty() {
            return;
        }
        let allocation = *self.dice.one_of(&running);
        self.count("progress out of the air");
        let sane = Report { allocation, sample: self.some_sample() };
        let insane = Report { allocation, sample: Sample { batch: u64::MAX, ..sane.sample.clone() } };
        if self.say(now, rollout, witness, Input::Progress(vec![insane.clone()])) {
            witness.fail(format!("absurd progress of {allocation} was believed"));
        }
        if !self.say(now, rollout, witness, Input::Progress(vec![insane, sane])) {
            witness.fail(format!("progress of {allocation} was refused"));
        }
    }

    /// What was believed once must not be believed again.
    fn repeat_news(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>, witness: &mut Witness) {
        if witness.news.is_empty() {
            return;
        }
        let input = self.dice.one_of(&witness.news).clone();
        self.count("news told twice");
        let shown = super::words::input(&input);
        if self.say(now, rollout, witness, input) {
            witness.fail(format!("old news was believed: {shown}"));
        }
    }

    /// The world is told everything desired once more, out of turn.
    fn repeat_orders(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>) {
        self.count("orders told twice");
        if rollout.scheduler.has_desires() {
            return; // those come first
        }
        let desires = rollout.scheduler.all_desires();
        rollout.world.desire(now, &desires);
    }

    /// Claims about things that do not exist: refused, every one.
    fn talk_nonsense(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>, witness: &mut Witness) {
        let nobody = AllocationId { ask: AskId { job: JobId(1 << 40), stage: 7, task: 9 }, attempt: 1 };
        let node = NodeId(4_000_000_000);
        let input = match self.dice.below(8) {
            0 => Input::Cancel(JobId(u64::MAX)),
            1 => Input::Pause(JobId(1 << 50)),
            2 => Input::NodeSilent(node),
            3 => Input::NodeFenced(node),
            4 => Input::ForeignUse { node, shares: vec![], host: Host::NONE },
            5 => Input::ForeignUse { node: NodeId(0), shares: vec![1001; 3], host: Host::NONE },
            6 => Input::over(nobody, Outcome::Failed { code: i32::MIN, cause: Cause::Exit }),
            _ if rollout.scheduler.view().nodes().next().is_none() => return, // a topology may be set now
            _ => Input::Configure(Settings::default()),
        };
        self.count("nonsense");
        let shown = super::words::input(&input);
        if self.say(now, rollout, witness, input) {
            witness.fail(format!("nonsense was believed: {shown}"));
        }
    }

    /// Faults stop, all nodes return, nobody holds anything back any more.
    pub fn make_peace(&mut self, now: Time, rollout: &mut Rollout<VirtualWorld>, witness: &mut Witness) {
        rollout.world.calm();
        for node in rollout.world.silent_nodes() {
            rollout.world.act_at(now, Act::Repair(node));
        }
        let nodes: Vec<(NodeId, u32)> =
            rollout.scheduler.view().nodes().map(|node| (node.id, node.devices)).collect();
        for (node, count) in nodes {
            rollout.input(now, Input::Undrain(node), witness);
            if self.ill {
                rollout.input(now, Input::DeviceHealth { node, ill: vec![] }, witness);
            }
            if self.foreign {
                let shares = vec![0; count as usize];
                rollout.input(now, Input::ForeignUse { node, shares, host: Host::NONE }, witness);
            }
        }
        // What was accepted under other quotas may not fit the first ones; without ceilings everything does.
        let requoted = self.counts.contains_key("quota change");
        for mut tenant in self.cluster.tenants.clone() {
            if requoted {
                tenant.quotas.iter_mut().for_each(|quota| quota.ceiling = None);
            }
            rollout.input(now, Input::SetTenant(tenant), witness);
        }
        let paused: Vec<JobId> =
            rollout.scheduler.view().jobs().filter(|job| job.is_paused()).map(|job| job.id()).collect();
        for job in paused {
            rollout.input(now, Input::Resume(job), witness);
        }
        rollout.wake_at = Some(now);
    }

    /// Ends what never ends by itself. Returns whether there was anything.
    pub fn end_services(
        &mut self,
        now: Time,
        rollout: &mut Rollout<VirtualWorld>,
        witness: &mut Witness,
    ) -> bool {
        let is_service = |stage: &StageSpec| matches!(stage.form, Form::Service { .. });
        let view = rollout.scheduler.view();
        let endless: Vec<JobId> =
            view.jobs().filter(|job| job.spec().stages.iter().any(is_service)).map(|job| job.id()).collect();
        for &job in &endless {
            rollout.input(now, Input::Cancel(job), witness);
        }
        rollout.wake_at = Some(now);
        !endless.is_empty()
    }
}
