//! Judges a resize: what may be resized, to which placement, and on whose devices.

use super::{Breach, Touched, hold, is_kept};
use crate::state::State;
use crate::state::jobs::{Allocation, Phase};
use consort_types::*;
use std::collections::BTreeMap;

/// One such move.
pub(super) struct Resized<'a> {
    pub id: AllocationId,
    pub placement: &'a Placement,
    pub after: &'a [AllocationId],
    pub how: Resize,
}

pub(super) fn resize(
    state: &State,
    capabilities: Capabilities,
    touched: &mut Touched,
    &Resized { id, placement, after, how }: &Resized<'_>,
    now: Time,
) -> Result<(), Breach> {
    let allocation = state.jobs.allocation(id).ok_or(Breach::NotResizable)?;
    let job = state.jobs.get(id.ask.job).ok_or(Breach::NotResizable)?;
    let backs_off =
        state.jobs.ask(id.ask).is_none_or(|ask| ask.resizes.not_before.is_some_and(|at| at > now));
    let is_steady = matches!(allocation.phase, Phase::Running { .. }) && allocation.width.resizing.is_none();
    let is_stopped = touched.stopped.contains(&id);
    if !is_steady || backs_off || is_stopped || !touched.resized.insert(id) {
        return Err(Breach::NotResizable);
    }
    if how != capabilities.resize {
        return Err(Breach::CannotResize);
    }
    if how == Resize::Restart && !capabilities.preempts {
        return Err(Breach::CannotPreempt);
    }
    if !touched.gives(after) || after.contains(&id) {
        return Err(Breach::NotGiven);
    }
    let asked = is_kept(state, capabilities, job, id.ask, placement)?;
    let before = &allocation.placement;
    let is_narrower = placement.fills.iter().zip(&before.fills).any(|(new, old)| new.count < old.count);
    if job.spec.qos == Qos::Guaranteed && is_narrower {
        return Err(Breach::Guaranteed);
    }
    if placement == before {
        return Err(Breach::SamePlacement);
    }
    let (has, wants) = (sums(&before.grants), sums(&placement.grants));
    let asked_before = asked_of_pools(state, allocation, job.stages[usize::from(id.ask.stage)].class);
    let more_asked = [0, 1].map(|pool| asked[pool].saturating_sub(asked_before[pool]));
    hold(state, capabilities, touched, job.tenant, &beyond(&wants, &has), after, more_asked)?;
    touched.give(id, &beyond(&has, &wants));
    Ok(())
}

/// What its members ask for of each pool as it is placed now.
fn asked_of_pools(state: &State, allocation: &Allocation, class: crate::ClassId) -> [u64; 2] {
    let roles = state.classes.get(class).roles.iter().zip(&allocation.placement.fills);
    roles.fold([0; 2], |mut sums, (role, fill)| {
        let Some(shape) = role.shapes.get(usize::from(fill.shape)) else { return sums };
        for pool in Pool::ALL {
            let asked = pool.of(&shape.host).saturating_mul(u64::from(fill.count));
            sums[pool as usize] = asked.saturating_add(sums[pool as usize]);
        }
        sums
    })
}

/// Thousandths and memory of each device.
fn sums(grants: &[Grant]) -> BTreeMap<DeviceId, (u16, u64)> {
    let mut sums = BTreeMap::new();
    for grant in grants {
        let sum: &mut (u16, u64) = sums.entry(grant.device).or_default();
        *sum = (sum.0.saturating_add(grant.share), sum.1.saturating_add(grant.memory_bytes));
    }
    sums
}

/// What the first has beyond the second.
fn beyond(these: &BTreeMap<DeviceId, (u16, u64)>, those: &BTreeMap<DeviceId, (u16, u64)>) -> Vec<Grant> {
    let part = |(&device, &(share, memory)): (&DeviceId, &(u16, u64))| {
        let (less_share, less_memory) = those.get(&device).copied().unwrap_or_default();
        let (share, memory_bytes) = (share.saturating_sub(less_share), memory.saturating_sub(less_memory));
        Grant { device, share, memory_bytes }
    };
    these.iter().map(part).filter(|part| part.share > 0 || part.memory_bytes > 0).collect()
}
