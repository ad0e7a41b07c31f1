//! The least dominant share first; within a tenant the firmer class, then higher priority, then first come.
//!
//! Dominant resource fairness (DRF, NSDI'11) over kinds of devices, processors of hosts and their memory: of what a tenant
//! has of each, the largest part of the whole counts, and the tenant with the least goes next, one ask at a time. Where
//! processors are devices, the same processors are two resources, of which the larger part counts: nothing counts twice.
//! And Slurm's decayed fair share: what a tenant
//! held lately counts beside what it has now, so that whoever was away comes first for a while. Starting something raises
//! the share at once, so one plan divides what is free as a hundred plans would.
//!
//! Simplified: all tenants weigh the same; a kind counts whole whether or not its nodes are well; what was only counted of
//! hosts weighs as much as what was asked for; lately means up to the last event that was a reason to plan, so that time
//! alone changes no order and needs no plan. Nothing is taken back: a tenant that
//! fills an idle cluster keeps it until its work ends. Does badly with long work for that reason, and with one tenant who
//! cannot use what is scarce: its share of a kind that nobody else wants counts like any other.

use super::{Key, Order, Priority};
use crate::draft::Draft;
use crate::view::View;
use consort_types::{AskId, KindId, TenantId, Time, WHOLE};

/// Least dominant share first.
pub struct Fair;

impl Order for Fair {
    fn key(&self, view: &View<'_>, ask: AskId, now: Time) -> Key {
        Priority.key(view, ask, now)
    }

    fn shares(&self) -> bool {
        true
    }

    fn share(&self, draft: &Draft<'_>, tenant: TenantId) -> u64 {
        let view = draft.view();
        let part = |(kind, all, coarseness): (KindId, u64, u32)| {
            let (standing, all) = (draft.standing(tenant, kind) >> coarseness, all >> coarseness);
            let has = u128::from(view.recent(tenant, kind)) + (u128::from(standing) << 16);
            // In parts of 2^32 of all there is; what is there no longer counts as all.
            if all == 0 { 0 } else { u64::try_from((has << 16) / u128::from(all)).unwrap_or(u64::MAX) }
        };
        let kinds = view.kinds().map(|(kind, _)| (kind, view.devices_of(kind) * u64::from(WHOLE), 0));
        kinds.chain(view.pools()).map(part).max().unwrap_or(0)
    }
}
