//! Serves unmet guarantees before everything else: from what is free, and where that is not enough by preemption.
//!
//! Without this pass, a job that is ahead in the order is started on a free device, and another is stopped in the same plan
//! for a guarantee which that device would have met; the next device that becomes free goes the same way, and so on.
//!
//! An ask is served here only on kinds of which its tenant was promised what the ask needs at its least width, so a small
//! guarantee does not bring a wide gang, or one that also takes other kinds, to the front. Within a tenant the order
//! stands: an ask behind one of its own tenant that may preempt it and can start now waits for the ordinary pass. So does
//! an ask in a strict queue behind one without such a claim. Both may still preempt there.

use super::{Pipeline, Victims};
use crate::draft::Draft;
use crate::lines::Shut;
use crate::policy::Key;
use crate::view::AskView;
use consort_types::{AskId, TenantId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// What is served first: the queue's priority, then the level of the order.
type Rank = (Reverse<i32>, i64);

/// Asks that were met and have no claim, by tenant.
#[derive(Default)]
struct Ahead(BTreeMap<TenantId, Vec<(Rank, Key, AskId)>>);

impl Pipeline {
    pub(super) fn serve_guarantees(&self, draft: &mut Draft<'_>, victims: &mut Victims) {
        if !self.reclaim.iter().any(|rule| rule.serves_guarantees()) || !draft.has_unmet_guarantee() {
            return;
        }
        let (view, order) = (draft.view(), self.order.as_ref());
        draft.sync_lines(&self.order, &self.place);
        let mut walk = draft.walk(order, Shut::default());
        let (mut ahead, mut passed) = (Ahead::default(), BTreeSet::new());
        while let Some((key, id)) = draft.next(&mut walk, order) {
            let ask = view.ask(id).expect("it waits");
            if ask.not_before() > draft.now() || ask.earlier_attempt().is_some() || draft.starts(id) {
                continue;
            }
            let (queue, tenant) = (view.queue(ask.queue()), ask.tenant());
            let rank = (Reverse(queue.priority), key.level);
            if !passed.contains(&tenant) {
                if !draft.may_claim(&ask) {
                    ahead.0.entry(tenant).or_default().push((rank, key, id));
                } else if self.comes_first(draft, &mut ahead, (tenant, rank), victims) {
                    passed.insert(tenant);
                } else if self.claim(draft, &ask, key, victims) {
                    continue;
                }
            }
            walk.skip_group();
            if queue.strict {
                walk.block(ask.queue());
            }
        }
        draft.end(walk);
    }

    /// Starts an ask within its tenant's guarantee. Whether it did.
    fn claim(&self, draft: &mut Draft<'_>, ask: &AskView<'_>, key: Key, victims: &mut Victims) -> bool {
        draft.within_guarantees = true;
        let is_started = self.try_start(draft, ask, key, victims);
        draft.within_guarantees = false;
        is_started
    }

    /// Whether one of the same tenant is served before `rank` and can start now. Were it passed, it would preempt the one
    /// that passed it.
    fn comes_first(
        &self,
        draft: &mut Draft<'_>,
        ahead: &mut Ahead,
        (tenant, rank): (TenantId, Rank),
        victims: &mut Victims,
    ) -> bool {
        let Some(ahead) = ahead.0.get_mut(&tenant) else { return false };
        let view = draft.view();
        let better = ahead.extract_if(.., |(other, ..)| *other < rank);
        better.filter_map(|(_, key, id)| Some((key, view.ask(id)?))).any(|(key, ask)| {
            let mark = draft.mark();
            let can_start = self.try_start(draft, &ask, key, victims);
            draft.back_to(mark);
            can_start
        })
    }
}
