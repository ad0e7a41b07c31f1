//! What is known of the devices that fell ill.
//!
//! ```text
//! well ──lost──▶ lost ──answers──▶ well            a card that answers again was reset: all is forgotten
//!   └──critical error──▶ broken ──lost, then answers──▶ well
//!   └──memory errors──▶ worn ──none any more──▶ well
//! ```
//! For: signs come one by one; who must not be used is one list.
//! Promises: an error that a program caused does not make a device ill.
//! Somebody who was here before may have known more: what is handed over at the start is taken by its words. A critical
//! error stays as above; memory is counted anew; for anything else the device is well once it answers.
//! Never: asks anything itself.

use consort_types::Illness;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was seen of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// It cannot be reached.
    Lost,
    /// It answers, and tells how many memory errors it could not correct since it was last reset.
    Answers {
        /// How many.
        broken: u64,
    },
    /// The driver reports a critical error of this number.
    Xid(u64),
    /// Nothing can be told.
    Nothing,
}

/// Errors that programs cause: a fault of theirs in memory or in a computation, or their death. The device is well.
const OF_PROGRAMS: [u64; 6] = [13, 31, 43, 45, 68, 109];

const LOST: &str = "fell off the bus";
const WORN: &str = "memory errors that could not be corrected";
const XID: (&str, &str) = ("critical error (Xid ", ")");

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    lost: bool,
    /// In somebody else's words why it is lost.
    words: Option<Arc<str>>,
    xid: Option<u64>,
    broken: u64,
}

impl State {
    /// What these words meant when they were said.
    fn told(why: &Arc<str>) -> Self {
        let xid = why.strip_prefix(XID.0).and_then(|rest| rest.strip_suffix(XID.1)?.parse().ok());
        match (xid, &**why) {
            (Some(_), _) => Self { xid, ..Self::default() },
            (None, WORN) => Self { broken: 1, ..Self::default() },
            (None, LOST) => Self { lost: true, ..Self::default() },
            (None, _) => Self { lost: true, words: Some(why.clone()), ..Self::default() },
        }
    }

    fn why(&self) -> Option<Arc<str>> {
        match self {
            State { lost: true, words: Some(words), .. } => Some(words.clone()),
            State { lost: true, .. } => Some(LOST.into()),
            State { xid: Some(code), .. } => Some(format!("{}{code}{}", XID.0, XID.1).into()),
            // How many is not told: a count that moves would be news without a change.
            State { broken: 1.., .. } => Some(WORN.into()),
            _ => None,
        }
    }
}

/// The devices that are ill, or were.
#[derive(Clone, Debug, Default)]
pub struct Ward {
    states: BTreeMap<u32, State>,
}

impl Ward {
    /// A ward that begins with what is known already.
    pub fn knowing(known: &[Illness]) -> Self {
        let states = known.iter().map(|illness| (illness.device, State::told(&illness.why))).collect();
        Self { states }
    }

    /// Takes a sign of one device into account.
    pub fn take(&mut self, device: u32, sign: Sign) {
        let state = self.states.entry(device).or_default();
        match sign {
            Sign::Lost => state.lost = true,
            Sign::Answers { broken } => {
                if state.lost {
                    *state = State::default();
                }
                state.broken = broken;
            }
            Sign::Xid(code) if OF_PROGRAMS.contains(&code) => {}
            // The first one tells what happened; those that follow are its echoes.
            Sign::Xid(code) => state.xid = state.xid.or(Some(code)),
            Sign::Nothing => {}
        }
    }

    /// Whether a device cannot be reached.
    pub fn is_any_lost(&self) -> bool {
        self.states.values().any(|state| state.lost)
    }

    /// Who must not be used, by position.
    pub fn ill(&self) -> Vec<Illness> {
        let all = self.states.iter();
        all.filter_map(|(&device, state)| Some(Illness { device, why: state.why()? })).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ward(signs: &[Sign]) -> Option<String> {
        let mut ward = Ward::default();
        signs.iter().for_each(|sign| ward.take(3, *sign));
        let ill = ward.ill();
        assert!(ill.iter().all(|one| one.device == 3));
        ill.first().map(|one| one.why.to_string())
    }

    #[test]
    fn a_lost_device_that_answers_again_is_well() {
        assert_eq!(ward(&[Sign::Lost]), Some("fell off the bus".into()));
        assert_eq!(ward(&[Sign::Lost, Sign::Nothing]), Some("fell off the bus".into()));
        assert_eq!(ward(&[Sign::Xid(79), Sign::Lost, Sign::Answers { broken: 0 }]), None);
    }

    #[test]
    fn a_critical_error_stays_until_a_reset() {
        let told = Some("critical error (Xid 79)".into());
        assert_eq!(ward(&[Sign::Xid(79), Sign::Xid(48), Sign::Answers { broken: 0 }]), told);
    }

    #[test]
    fn what_was_known_before_is_not_forgotten() {
        let known = |why: &str| Ward::knowing(&[Illness { device: 3, why: why.into() }]);
        for why in ["critical error (Xid 79)", WORN, LOST, "is not here any more"] {
            let mut ward = known(why);
            ward.take(3, Sign::Nothing);
            assert_eq!(&*ward.ill()[0].why, why);
            ward.take(3, Sign::Answers { broken: 0 });
            assert_eq!(ward.ill().is_empty(), !why.contains("Xid"), "{why}");
        }
        let mut ward = known("critical error (Xid 79)");
        [Sign::Lost, Sign::Answers { broken: 0 }].into_iter().for_each(|sign| ward.take(3, sign));
        assert_eq!(ward.ill(), []);
    }

    #[test]
    fn errors_of_programs_are_no_illness() {
        assert!(OF_PROGRAMS.iter().all(|&code| ward(&[Sign::Xid(code)]).is_none()));
    }

    #[test]
    fn broken_memory_is_an_illness_while_it_is_counted() {
        assert!(ward(&[Sign::Answers { broken: 2 }]).unwrap().contains("memory"));
        assert_eq!(ward(&[Sign::Answers { broken: 2 }, Sign::Answers { broken: 0 }]), None);
    }
}
