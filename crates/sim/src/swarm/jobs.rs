//! Submissions that use everything a job can express; some of them cannot be accepted, and that is meant.

use crate::dice::Dice;
use crate::truth::Speed;
use crate::workload::{Cluster, Submission, Truth};
use consort_types::*;
use std::sync::Arc;

/// So many submissions, spread over so many seconds.
pub(super) fn submissions(dice: &mut Dice, cluster: &Cluster, count: u32, over: f64) -> Vec<Submission> {
    // Few different requests, many jobs: so that jobs share classes, as they do in life.
    let roles: Vec<Vec<Role>> = (0..dice.whole(2, 10)).map(|_| some_roles(dice, cluster)).collect();
    let mut times: Vec<Time> = (0..count).map(|_| Time::ZERO + dice.seconds(0.0, over)).collect();
    times.sort_unstable();
    times.into_iter().enumerate().map(|(index, at)| submission(dice, cluster, &roles, index, at)).collect()
}

fn submission(dice: &mut Dice, cluster: &Cluster, roles: &[Vec<Role>], index: usize, at: Time) -> Submission {
    let stages: Vec<StageSpec> = stages(dice, roles);
    let lengths: Vec<Span> = stages.iter().map(|_| length(dice)).collect();
    let estimate = dice.chance(0.7).then(|| {
        let whole = lengths.iter().fold(Span::ZERO, |sum, &length| sum + length);
        if dice.chance(0.3) { dice.seconds(0.0, 4000.0) } else { whole }
    });
    let mut after: Vec<(usize, Condition)> = vec![];
    if index > 0 && dice.chance(0.15) {
        for _ in 0..dice.whole(1, 2) {
            let other = dice.below(index as u64) as usize;
            if after.iter().all(|&(seen, _)| seen != other) {
                after.push((
                    other,
                    *dice.one_of(&[Condition::Succeeded, Condition::Failed, Condition::Ended]),
                ));
            }
        }
    }
    let retries = dice.whole(0, 2);
    let spec = JobSpec {
        name: format!("j{index}"),
        tenant: dice.one_of(&cluster.tenants).name.clone(),
        queue: dice.one_of(&cluster.queues).name.clone(),
        priority: dice.whole(0, 4) as i32 - 2,
        qos: *dice.one_of(&[Qos::BestEffort, Qos::Standard, Qos::Standard, Qos::Guaranteed]),
        stages,
        after: vec![],
        deadline: dice.chance(0.4).then(|| at + dice.seconds(-100.0, 5000.0)),
        estimate,
        time_limit: dice.chance(0.25).then(|| dice.seconds(0.001, 2000.0)),
        restart_cost: if dice.chance(0.5) { Span::ZERO } else { dice.seconds(0.0, 30.0) },
        retries,
        backoff: if dice.chance(0.2) { Span::ZERO } else { dice.seconds(0.0, 60.0) },
    };
    let failures = if dice.chance(0.2) { dice.whole(1, 3) } else { 0 };
    Submission {
        label: spec.name.clone(),
        at,
        spec: Arc::new(spec),
        after,
        truth: Truth { lengths, failures, speed: speed(dice, cluster) },
    }
}

/// Most are as fast as everybody thinks.
fn speed(dice: &mut Dice, cluster: &Cluster) -> Option<Arc<Speed>> {
    dice.chance(0.3).then(|| {
        let kind = dice.one_of(&cluster.kinds).name.clone();
        Arc::new(Speed {
            kinds: vec![(kind, dice.whole(50, 3_000))],
            scaling_milli: dice.whole(0, 1_500),
            apart_milli: dice.whole(100, 1_000),
            steps: dice.chance(0.8).then(|| u64::from(dice.whole(1, 100_000))),
        })
    })
}

fn length(dice: &mut Dice) -> Span {
    let most = *dice.one_of(&[0.002, 10.0, 100.0, 100.0, 1000.0, 5000.0]);
    dice.seconds(0.0, most)
}

fn stages(dice: &mut Dice, roles: &[Vec<Role>]) -> Vec<StageSpec> {
    let count = if dice.chance(0.2) { dice.whole(2, 4) } else { 1 };
    let mut stages: Vec<StageSpec> = vec![];
    for index in 0..count as u16 {
        let form = match dice.below(20) {
            0..12 => Form::Gang,
            12..19 => Form::Bag { tasks: dice.whole(1, 5) },
            _ => Form::Service { replicas: dice.whole(1, 3) },
        };
        let ends = |stage: &u16| !matches!(stages[usize::from(*stage)].form, Form::Service { .. });
        let after = (0..index).filter(ends).filter(|_| dice.chance(0.5)).collect();
        // By the number of tasks and not by dice, so that older seeds roll the same cluster and jobs.
        let on_failure = match form {
            Form::Bag { tasks } if tasks % 2 == 1 => OnFailure::Continue,
            _ => OnFailure::Stop,
        };
        let stage = StageSpec::new(format!("s{index}"), form, dice.one_of(roles).clone());
        stages.push(StageSpec { after, on_failure, ..stage });
    }
    stages
}

fn some_roles(dice: &mut Dice, cluster: &Cluster) -> Vec<Role> {
    let count = if dice.chance(0.25) { dice.whole(2, 3) } else { 1 };
    (0..count)
        .map(|index| {
            let min = *dice.one_of(&[1, 1, 1, 2, 2, 3, 4, 8]);
            let max = if dice.chance(0.3) { min + dice.whole(1, 6) } else { min };
            let shapes = if dice.chance(0.25) { 2 } else { 1 };
            let shapes = (0..shapes).map(|_| shape(dice, cluster)).collect();
            Role { name: format!("role{index}"), count: Count { min, max }, shapes }
        })
        .collect()
}

fn shape(dice: &mut Dice, cluster: &Cluster) -> Shape {
    let kind = dice.chance(0.75).then(|| dice.one_of(&cluster.kinds).name.clone());
    // Without a kind, only those whose memory is known would do, and many jobs would be refused.
    let needs_memory = kind.is_some() || dice.chance(0.3);
    let memory = |amount: u64| if needs_memory { amount } else { 0 };
    if dice.chance(0.3) {
        let share = *dice.one_of(&[100, 250, 333, 500, 500, 700, 999]);
        return Shape {
            kind,
            share,
            memory_bytes: memory(*dice.one_of(&[0, 0, 4, 12, 40])),
            features: wanted_features(dice, cluster),
            host: host(dice, cluster),
            ..Shape::any()
        };
    }
    let host = host(dice, cluster);
    if !host.is_none() && dice.chance(0.2) {
        return Shape { devices: 0, features: wanted_features(dice, cluster), host, ..Shape::any() };
    }
    let within = match dice.below(6) {
        0 => Some("island"),
        1 => Some("node"),
        2 if !cluster.settings.levels.is_empty() => Some(*dice.one_of(&["rack", "fabric"])),
        3 if cluster.settings.island_link.is_some() => Some("nvlink"),
        _ => None,
    };
    let devices = *dice.one_of(&[1, 1, 1, 1, 2, 2, 4]);
    let memory_bytes = memory(*dice.one_of(&[0, 0, 0, 16, 80, 90]));
    let features = wanted_features(dice, cluster);
    let prefer = ["island", "node", "rack"].into_iter().find(|_| dice.chance(0.1));
    let prefer = prefer.filter(|&level| level != "rack" || !cluster.settings.levels.is_empty());
    let (within, prefer) = (within.map(Into::into), prefer.map(Into::into));
    Shape { kind, devices, memory_bytes, within, features, prefer, host, ..Shape::any() }
}

/// Now and then a part of a host, where hosts are accounted for.
fn host(dice: &mut Dice, cluster: &Cluster) -> Host {
    if cluster.nodes.iter().all(|node| node.host.is_none()) || dice.chance(0.4) {
        return Host::NONE;
    }
    Host { cpu_milli: *dice.one_of(&[500, 1_000, 3_300]), memory_bytes: *dice.one_of(&[0, 0, 20]) }
}

/// Now and then some of those that a node has.
fn wanted_features(dice: &mut Dice, cluster: &Cluster) -> Vec<String> {
    let is_there = |name: &&str| cluster.nodes.iter().any(|node| node.features.iter().any(|has| has == name));
    let there = super::setting::FEATURES.into_iter().filter(is_there);
    there.filter(|_| dice.chance(0.25)).map(Into::into).collect()
}
