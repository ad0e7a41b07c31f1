//! One turn of the loop, and what must hold in it whatever the case.

use super::{Crashes, Moment, Play, Telling};
use crate::news::{News, Scribe};
use crate::stage::Stage;
use consort_types::*;

impl<S: Stage> Play<S> {
    /// One turn of the loop.
    pub(super) fn turn(&mut self, inputs: Vec<Input>) {
        self.open();
        let (now, asked) = (self.stage.now(), !inputs.is_empty());
        let rollout = self.rollout.as_mut().expect("just opened");
        let mut scribe = Scribe::default();
        for input in inputs {
            rollout.input(now, input, &mut scribe);
        }
        rollout.world.asked = false;
        rollout.settle(now, &mut scribe);
        assert!(scribe.refused.is_empty(), "{:?}", scribe.refused);
        assert!(rollout.scheduler.take_rejections().is_empty(), "the policy is sound");
        assert_eq!(rollout.scheduler.audit(), Vec::<String>::new());
        // Whoever asked must be answered, so that only news is lost.
        let dies = if asked { None } else { self.dies_at(&scribe) };
        self.hear(&scribe, dies != Some(Moment::BeforeCommit));
        if dies == Some(Moment::BeforeCommit) {
            return self.crash();
        }
        self.journal.append(&mut scribe.events);
        if dies == Some(Moment::BeforeDesires) {
            return self.crash();
        }
        self.tell();
        if dies == Some(Moment::BeforeSettled) {
            return self.crash();
        }
        self.rollout.as_mut().expect("it has not crashed").world.settle();
        self.count_workers();
    }

    fn dies_at(&mut self, scribe: &Scribe) -> Option<Moment> {
        match &mut self.crashes {
            Crashes::Never => None,
            Crashes::Once(moment, fits) => {
                let moment = scribe.news.iter().any(|(_, input, _)| fits(input)).then_some(*moment)?;
                self.crashes = Crashes::Never;
                Some(moment)
            }
            Crashes::Always(turns) => {
                // Old news brings nothing forward: dying of it again and again would lead nowhere.
                scribe.news.iter().any(|(_, _, refusal)| refusal.is_none()).then(|| {
                    *turns += 1;
                    [Moment::BeforeCommit, Moment::BeforeDesires, Moment::BeforeSettled][*turns % 3]
                })
            }
        }
    }

    /// What holds for every word of every world.
    fn hear(&mut self, scribe: &Scribe, written: bool) {
        for (allocation, input, refusal) in &scribe.news {
            let (allocation, opening) = (*allocation, self.openings);
            assert!(self.wide.contains_key(&allocation), "nobody ever spoke of it: {input:?}");
            if let Some(refusal) = refusal {
                assert_eq!(refusal.rule, Rule::Stale, "{refusal}");
            }
            let news = News { allocation, input: input.clone(), refusal: refusal.clone(), opening, written };
            if news.is_ending() {
                let crew = self.stage.crew(allocation).unwrap_or_default();
                assert_eq!(crew.up, 0, "somebody is left: {input:?}");
                let is_told = |other: &News| {
                    other.is_ending() && (other.allocation, other.opening) == (allocation, opening)
                };
                assert!(!self.news.iter().any(is_told), "told twice: {input:?}");
                self.over.insert(allocation);
            }
            self.news.push(news);
        }
    }

    pub(super) fn tell(&mut self) {
        let now = self.stage.now();
        let rollout = self.rollout.as_mut().expect("it has not crashed");
        let mut desires = std::mem::take(&mut rollout.world.desires);
        match self.telling {
            Telling::Once => {}
            Telling::Twice => desires = desires.iter().flat_map(|one| [one.clone(), one.clone()]).collect(),
            Telling::All => desires.extend(rollout.scheduler.all_desires()),
        }
        for Desired { allocation, wanted } in &desires {
            if let Wanted::Run { placement, .. } = wanted {
                // One that is made narrower has its old width until that is done.
                let wide = self.wide.entry(*allocation).or_default();
                *wide = (*wide).max(placement.members() as usize);
            } else {
                self.wide.entry(*allocation).or_default();
            }
        }
        if !desires.is_empty() {
            rollout.world.world.desire(now, &desires);
        }
        if self.telling == Telling::Twice && !desires.is_empty() {
            rollout.world.world.desire(now, &desires);
        }
    }

    pub(super) fn count_workers(&self) {
        let mut at_work: Option<AllocationId> = None;
        for (&allocation, &wide) in &self.wide {
            let Some(crew) = self.stage.crew(allocation) else { continue };
            assert!(crew.up <= wide && crew.began <= wide, "{allocation} is {wide} wide and has {crew:?}");
            assert!(
                crew.up == 0 || !self.over.contains(&allocation),
                "{allocation} is over and has {crew:?}"
            );
            if crew.up > 0 {
                // In order of ask and attempt.
                let other = at_work.replace(allocation).filter(|other| other.ask == allocation.ask);
                assert_eq!(other, None, "{allocation} has workers, and so has an earlier attempt");
            }
        }
    }
}
