//! The least dominant share first; within a tenant the firmer class, then higher priority, then first come.
//!
//! Dominant resource fairness (DRF, NSDI'11) over kinds of devices: of what a tenant has of each kind, the largest part
//! of the whole counts, and whoever has least goes next, one ask at a time. And Slurm's decayed fair share: what a tenant
//! held lately counts beside what it has now, so that whoever was away comes first for a while. Starting something raises
//! the share at once, so one plan divides what is free as a hundred plans would.
//!
//! Simplified: all tenants weigh the same; parts of hosts count for nothing, so that whoever wants no device goes first; a kind counts whole whether or not its nodes are well; lately means up to the
//! last event that was a reason to plan, so that time alone changes no order and nobody need wake up for it. Nothing is taken back: a tenant that
//! fills an idle cluster keeps it until its work ends. Does badly with long work for that reason, and with one tenant who
//! cannot use what is scarce: its share of a kind that nobody else wants counts like any other.

use super::{Key, Order, Priority};
use crate::draft::Draft;
use crate::view::View;
use consort_types::{AskId, TenantId, Time, WHOLE};

/// Least dominant share first.
pub struct Fair;

impl Order for Fair {
    fn name(&self) -> &'static str {
        "fair"
    }

    fn key(&self, view: &View<'_>, ask: AskId, now: Time) -> Key {
        Priority.key(view, ask, now)
    }

    fn shares(&self) -> bool {
        true
    }

    fn share(&self, draft: &Draft<'_>, tenant: TenantId) -> u64 {
        let view = draft.view();
        let of_kind = |kind| {
            let has =
                u128::from(view.recent(tenant, kind)) + (u128::from(draft.standing(tenant, kind)) << 16);
            let all = view.devices_of(kind) * u64::from(WHOLE);
            // In parts of 2^32 of all there is; what is there no longer counts as all.
            if all == 0 { 0 } else { u64::try_from((has << 16) / u128::from(all)).unwrap_or(u64::MAX) }
        };
        view.kinds().map(|(kind, _)| of_kind(kind)).max().unwrap_or(0)
    }
}
