//! Which settings are lost with the events behind some position: tenants with their quotas, queues, drained nodes.
//!
//! A job that is lost is missed by whoever submitted it; a ceiling or a drained node is missed by nobody until it is too
//! late. So whatever can still be read names them: the rows behind the last event that is kept, and a snapshot that is ahead of it.
//! What neither of them knows is not named, and the note says that too.

use super::{bytes, tables};
use consort_sched::{Scheduler, View};
use consort_types::{Fact, Input};
use rusqlite::Connection;
use std::collections::BTreeSet;

/// Names that a note lists.
const LISTED: usize = 10;

/// What is known of the lost settings: `tenant red`, `queue batch`, `drain of node n1`.
pub(super) fn settings(
    kept: &Scheduler,
    behind: Option<&Connection>,
    ahead: Option<&Scheduler>,
) -> BTreeSet<String> {
    let mut lost = BTreeSet::new();
    let view = kept.view();
    let node = |id| view.node_by_id(id).map_or(String::new(), |node| node.spec.name.clone());
    let each = |body: &[u8]| match bytes::read(body).ok()?.fact {
        Fact::Accepted(Input::SetTenant(tenant)) => Some(format!("tenant {}", tenant.name)),
        Fact::Accepted(Input::SetQueue(queue)) => Some(format!("queue {}", queue.name)),
        Fact::Accepted(Input::Drain(id)) => Some(format!("drain of node {}", node(id))),
        Fact::Accepted(Input::Undrain(id)) => Some(format!("undrain of node {}", node(id))),
        _ => None,
    };
    if let Some(connection) = behind {
        // As far as it can be read.
        let _ = tables::each_body(connection, view.seen(), |body| lost.extend(each(body)));
    }
    if let Some(ahead) = ahead {
        let (before, known) = (told(&ahead.view()), told(&view));
        lost.extend(before.difference(&known).map(|(name, _)| name.clone()));
    }
    lost
}

/// Settings with their names, for comparing.
fn told(view: &View<'_>) -> BTreeSet<(String, String)> {
    let tenants =
        view.tenants().map(|(_, tenant)| (format!("tenant {}", tenant.name), format!("{tenant:?}")));
    let queues = view.queues().map(|(_, queue)| (format!("queue {}", queue.name), format!("{queue:?}")));
    let drained = view.nodes().filter(|node| node.drained);
    let drained = drained.map(|node| (format!("drain of node {}", node.spec.name), String::new()));
    tenants.chain(queues).chain(drained).collect()
}

/// What users should do about them.
pub(super) fn note(kept: u64, lost: &BTreeSet<String>) -> String {
    let named: Vec<&str> = lost.iter().take(LISTED).map(String::as_str).collect();
    let known = match (named.len(), lost.len() - named.len()) {
        (0, _) => String::new(),
        (_, 0) => format!(", among them: {}", named.join(", ")),
        (_, more) => format!(", among them: {} and {more} more", named.join(", ")),
    };
    format!(
        "tenants, quotas, queues and drained nodes that were set after event {kept} are lost{known}; check them with \
         `consort tenants`, `consort queues` and `consort nodes`"
    )
}
