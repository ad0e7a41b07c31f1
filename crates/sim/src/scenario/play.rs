//! Runs a story through the real loop, and listens at the moments that somebody expects something of.

use super::chronicle::Chronicle;
use super::story::{Story, What};
use super::tell;
use crate::run::recover;
use crate::workload::ReadError;
use crate::workload::read_error::Place;
use crate::world::VirtualWorld;
use consort_sched::{Rollout, Scheduler, Watch};
use consort_types::*;
use std::sync::Arc;

/// When the controller crashes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Crashes {
    AsWritten,
    AfterEveryStep,
}

/// Something to do once everything up to its time has happened.
enum Pause {
    Crash,
    Tell(usize),
}

/// What is told for each block of the story.
pub(super) fn play(story: &Story, crashes: Crashes) -> Result<Vec<Vec<String>>, ReadError> {
    let policy = story.policy.policy();
    let mut chronicle = Chronicle::default();
    let mut rollout = begin(story, &mut chronicle)?;
    let mut told = vec![vec![]; story.blocks.len()];
    let mut pauses: Vec<(Time, Pause)> = story.crashes.iter().map(|&at| (at, Pause::Crash)).collect();
    for (index, block) in story.blocks.iter().enumerate() {
        pauses.push((block.at.unwrap_or(Time::NEVER), Pause::Tell(index)));
    }
    pauses.sort_by_key(|pause| pause.0);
    let (mut pauses, mut now, mut crashed) = (pauses.into_iter().peekable(), Time::ZERO, None);
    loop {
        let next = rollout.next_at();
        while let Some((at, pause)) = pauses.next_if(|(at, _)| next.is_none_or(|next| next > *at)) {
            let at = if at == Time::NEVER { now } else { at };
            match pause {
                Pause::Crash => rollout = crash(rollout, story, &chronicle)?,
                Pause::Tell(index) => {
                    told[index] = match story.blocks[index].what {
                        What::Jobs => tell::jobs(&rollout.scheduler, &chronicle, at),
                        What::Tenants => tell::tenants(&rollout.scheduler),
                        What::Events => std::mem::take(&mut chronicle.log),
                    }
                }
            }
        }
        let Some(at) = rollout.step(&mut chronicle) else { break };
        now = at;
        sound(&mut rollout.scheduler, policy.name(), at)?;
        // Whoever comes up makes a plan at once; crashing on that again and again would lead nowhere.
        if crashes == Crashes::AfterEveryStep && crashed.is_none_or(|last| at > last) {
            (rollout, crashed) = (crash(rollout, story, &chronicle)?, Some(at));
        }
    }
    Ok(told)
}

fn begin(story: &Story, chronicle: &mut Chronicle) -> Result<Rollout<VirtualWorld>, ReadError> {
    let world = VirtualWorld::new(&story.cluster, Arc::from(story.submissions.clone()))
        .able(story.capabilities)
        .delayed(story.delays)
        .scripted(story.acts.clone());
    let mut scheduler = Scheduler::new(story.policy.policy(), story.capabilities);
    for input in story.cluster.inputs() {
        let event = scheduler
            .accept(Time::ZERO, input)
            .map_err(|refusal| Place::default().fail(format!("the cluster was refused: {refusal}")))?;
        scheduler.apply(&event);
        chronicle.event(&event, &scheduler);
    }
    Ok(Rollout::new(scheduler, world))
}

/// The controller loses everything but its journal, caches included.
fn crash(
    rollout: Rollout<VirtualWorld>,
    story: &Story,
    chronicle: &Chronicle,
) -> Result<Rollout<VirtualWorld>, ReadError> {
    let recovered = recover(rollout, &story.policy.policy(), &chronicle.journal);
    let mut rollout = recovered.map_err(|difference| Place::default().fail(difference.to_string()))?;
    rollout.scheduler.drop_caches();
    Ok(rollout)
}

/// Whatever the story, no rule of the house may be broken on the way.
fn sound(scheduler: &mut Scheduler, policy: &str, at: Time) -> Result<(), ReadError> {
    let broken =
        |what: String| Err(Place::default().fail(format!("at {}, {what}; this is a bug", tell::exact(at))));
    if let Some(rejection) = scheduler.take_rejections().first() {
        return broken(format!("policy {policy} broke the rule {:?}", rejection.rule));
    }
    match scheduler.audit().first() {
        Some(wrong) => broken(wrong.clone()),
        None => Ok(()),
    }
}
