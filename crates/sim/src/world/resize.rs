//! Members join and leave while an allocation runs; and an account of the work that is really done meanwhile.
//!
//! New members count as alive from the moment the world hears of them, old ones until the resize is done. What was done
//! before is counted at the old width.

use super::{Happening, Live, Verdict, VirtualWorld};
use consort_types::*;
use std::collections::BTreeMap;

/// A resize in place that was asked for.
#[derive(Clone, Debug)]
pub(super) struct Resizing {
    pub generation: u32,
    grants: Vec<Grant>,
    members: u32,
    is_refused: bool,
}

impl VirtualWorld {
    /// An allocation that is there is desired with this placement.
    pub(super) fn resize(&mut self, now: Time, id: AllocationId, placement: &Placement, generation: u32) {
        let Some(live) = self.live.get(&id) else { return };
        if live.over.is_some() || live.leaving || live.running.is_none() {
            return;
        }
        if generation <= live.generation.max(live.refused) {
            return self.repeat_answer(now, id, generation);
        }
        if live.resizing.as_ref().is_some_and(|resizing| resizing.generation >= generation) {
            return; // told twice
        }
        let (has, grants) = (live.grants.clone(), placement.grants.clone());
        let by_chance = self.faults.refuse_resize > 0.0 && self.dice.chance(self.faults.refuse_resize);
        let is_refused = self.is_resize_refused(id.ask.job) || by_chance;
        let more = self.nodes.parts(&beyond(&grants, &has));
        self.workers.join(now, id, &more);
        let nodes = self.nodes.of(&grants);
        let live = self.live.get_mut(&id).expect("just seen");
        live.nodes.extend(nodes);
        live.nodes.sort_unstable();
        live.nodes.dedup();
        live.resizing = Some(Resizing { generation, grants, members: placement.members(), is_refused });
        self.later(now + self.delays.resize, Happening::Resized(id, generation));
    }

    /// Told once more of a resize whose answer was not said.
    fn repeat_answer(&mut self, now: Time, id: AllocationId, generation: u32) {
        let live = self.live.get_mut(&id).expect("just seen");
        if generation == live.generation && std::mem::take(&mut live.untold) {
            let number = self.nodes.keep(Input::Resized { allocation: id, generation });
            self.later(now, Happening::Heard(number));
        }
    }

    /// The members are where they were to be; or it turns out that they cannot be.
    pub(super) fn resized(&mut self, now: Time, id: AllocationId, generation: u32, inputs: &mut Vec<Input>) {
        let Some(live) = self.live.get_mut(&id) else { return };
        let is_heard = live.nodes.iter().all(|&node| !self.nodes.is_silent(node));
        let is_asked = live.resizing.as_ref().is_some_and(|resizing| resizing.generation == generation);
        if live.over.is_some() || live.leaving || !is_asked || !is_heard {
            return; // done when the node responds again, if it was asked for
        }
        let resizing = live.resizing.take().expect("just seen");
        let pace = self.pace(id.ask, &resizing.grants, resizing.members);
        let live = self.live.get_mut(&id).expect("just seen");
        if resizing.is_refused {
            live.refused = generation;
        } else {
            (live.generation, live.untold) = (generation, false);
            (live.pace, live.grants) = (pace, resizing.grants);
        }
        live.nodes = self.nodes.of(&live.grants);
        let parts = self.nodes.parts(&live.grants);
        self.workers.stay(id, parts);
        if resizing.is_refused {
            self.broken[3] += 1;
            let why = REFUSED.into();
            return self.say(now, Input::ResizeRefused { allocation: id, generation, why }, inputs);
        }
        self.change_width(now, id);
        if self.faults.unconfirmed > 0.0 && self.dice.chance(self.faults.unconfirmed) {
            self.broken[4] += 1;
            self.live.get_mut(&id).expect("it runs").untold = true;
            return;
        }
        self.say(now, Input::Resized { allocation: id, generation }, inputs);
    }

    /// From now on it runs at another width: what was done so far was done at the old one.
    fn change_width(&mut self, now: Time, id: AllocationId) {
        let live = self.live.get_mut(&id).expect("it is resized");
        let (since, part, whole) = live.running.expect("it runs");
        let done = (now - since).scaled(part, whole.max(1));
        live.running = Some((now, live.pace.0, live.pace.1));
        let ahead = live.ahead;
        self.effort.ran(id.ask, part, now - since);
        let left = self.work_left(id.ask);
        self.effort.cut_short(id.ask, done > left);
        self.left.insert(id.ask, (left - done).max(Span::ZERO));
        if let Some((work, verdict)) = ahead {
            self.set_ahead(now, id, ((work - done).max(Span::ZERO), verdict));
        }
    }

    /// It comes to this end after so much work, unless something happens before.
    pub(super) fn set_ahead(&mut self, now: Time, id: AllocationId, (work, verdict): (Span, Verdict)) {
        let live = self.live.get_mut(&id).expect("it runs");
        live.ahead = Some((work, verdict));
        let ((part, whole), generation) = (live.pace, live.generation);
        self.later(now + work.scaled(whole, part.max(1)), Happening::Over(id, verdict, generation));
    }

    /// All work of an ask is done: its members did as much as there was to do.
    pub(super) fn note_done(&mut self, now: Time, id: AllocationId) {
        let Some((since, part, whole)) = self.live.get(&id).and_then(|live| live.running) else { return };
        self.effort.ran(id.ask, part, now - since);
        let length =
            self.truth(id.ask).and_then(|truth| truth.truth.lengths.get(usize::from(id.ask.stage)).copied());
        self.effort.done(id.ask, length.unwrap_or(Span::ZERO), whole);
    }
}

impl Live {
    /// What was said last about resizes, and may not have been written down.
    pub(super) fn last_answers(&self, allocation: AllocationId) -> Vec<Input> {
        let done = (self.generation > 0).then_some(self.generation);
        let done = done.map(|generation| Input::Resized { allocation, generation });
        let refused = (self.refused > 0).then_some(self.refused);
        let refused =
            refused.map(|generation| Input::ResizeRefused { allocation, generation, why: REFUSED.into() });
        done.into_iter().chain(refused).collect()
    }
}

const REFUSED: &str = "the application cannot have another width now";

/// Devices of the first that go beyond the second, device by device.
fn beyond(these: &[Grant], those: &[Grant]) -> Vec<Grant> {
    let mut sums: BTreeMap<DeviceId, i32> = BTreeMap::new();
    these.iter().for_each(|grant| *sums.entry(grant.device).or_default() += i32::from(grant.share));
    those.iter().for_each(|grant| *sums.entry(grant.device).or_default() -= i32::from(grant.share));
    let more = sums.into_iter().filter(|(_, share)| *share > 0);
    more.map(|(device, share)| Grant { device, share: share as u16, memory_bytes: 0 }).collect()
}

/// What members really did: time multiplied by their pace, added up over every spell at one width. Counted beside what is left
/// to do, so that one error cannot hide in both.
#[derive(Default)]
pub(super) struct Effort {
    of: BTreeMap<AskId, Done>,
    miscounts: Vec<String>,
}

#[derive(Default)]
struct Done {
    /// Pace, in parts of the full one, multiplied by nanoseconds.
    area: i128,
    /// Work that restarts added.
    added: Span,
    /// Spells at one pace, each rounded to a nanosecond of work and to one of time.
    spells: i128,
    /// The paces of these spells, added up.
    paces: i128,
    /// It ran for longer than it had to at some point, for instance because the news of its end was lost with a node.
    is_longer: bool,
}

impl Effort {
    /// It ran for so long at this pace.
    pub fn ran(&mut self, ask: AskId, part: u64, ran: Span) {
        let done = self.of.entry(ask).or_default();
        done.area += i128::from(part) * i128::from(ran.0);
        (done.spells, done.paces) = (done.spells + 1, done.paces + i128::from(part));
    }

    /// It was interrupted, and has so much more to do for that.
    pub fn interrupted(&mut self, ask: AskId, cost: Span, is_longer: bool) {
        let done = self.of.entry(ask).or_default();
        done.added = done.added + cost;
        done.is_longer |= is_longer;
    }

    /// It got another width.
    pub fn cut_short(&mut self, ask: AskId, is_longer: bool) {
        self.of.entry(ask).or_default().is_longer |= is_longer;
    }

    /// It has done its work, which takes this long at the full pace.
    pub fn done(&mut self, ask: AskId, length: Span, whole: u64) {
        let Some(done) = self.of.get_mut(&ask) else { return };
        let wanted = i128::from((length + done.added).0) * i128::from(whole);
        // A nanosecond of work is `whole` parts, one of time as many as the pace.
        let rounded = 2 * (done.spells * i128::from(whole) + done.paces);
        if !done.is_longer && (done.area - wanted).abs() > rounded {
            self.miscounts.push(format!("{ask} did {} of {wanted} parts", done.area));
        }
        done.is_longer = true; // should it not be believed, it is done once more
    }

    /// Its name may be given again.
    pub fn forget(&mut self, ask: AskId) {
        self.of.remove(&ask);
    }

    pub fn miscounts(&self) -> &[String] {
        &self.miscounts
    }
}
