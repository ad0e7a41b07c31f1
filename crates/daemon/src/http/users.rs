//! What users of this machine are called, by `/etc/passwd`.
//!
//! Only for people who read the journal; nothing is decided by a name. Users of other directories have a number only.

use consort_types::actor::User;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Looked up once each: requests come by the thousand.
static KNOWN: Mutex<BTreeMap<u32, Option<Arc<str>>>> = Mutex::new(BTreeMap::new());

/// A user by number.
pub(super) fn user(uid: u32) -> User {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let name = known.entry(uid).or_insert_with(|| {
        let passwd = std::fs::read("/etc/passwd").unwrap_or_default();
        name_in(&String::from_utf8_lossy(&passwd), uid).map(Into::into)
    });
    User { uid, name: name.clone() }
}

fn name_in(passwd: &str, uid: u32) -> Option<&str> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(uid) && !name.is_empty()).then_some(name)
    })
}

#[test]
fn names_are_found_by_number() {
    let passwd = "root:x:0:0:root:/:/bin/sh\nbroken\nada:x:1000:1000::/srv/ada:/bin/sh\n";
    assert_eq!([0, 1000, 7].map(|uid| name_in(passwd, uid)), [Some("root"), Some("ada"), None]);
}
