//! Names in the filters of lists. Asked about only when a list is empty: nothing can match a name that is unknown, and a
//! misspelled one should not look like an empty cluster.

use crate::failure::Failure;
use crate::names;
use consort_api::Client;

/// Refuses a queue that the server does not have.
pub fn queue(client: &Client, name: &str) -> Result<(), Failure> {
    known("queue", name, client.queues()?.into_iter().map(|queue| queue.name).collect())
}

/// Refuses a tenant that the server does not have.
pub fn tenant(client: &Client, name: &str) -> Result<(), Failure> {
    known("tenant", name, client.tenants()?.into_iter().map(|tenant| tenant.name).collect())
}

/// Refuses a node that the server does not have.
pub fn node(client: &Client, name: &str) -> Result<(), Failure> {
    known("node", name, client.nodes()?.into_iter().map(|node| node.name).collect())
}

/// Refuses a kind that no node has.
pub fn kind(client: &Client, name: &str) -> Result<(), Failure> {
    let kinds = client.nodes()?.into_iter().flat_map(|node| node.kinds.into_keys());
    let mut kinds: Vec<String> = kinds.collect();
    kinds.sort();
    kinds.dedup();
    known("kind", name, kinds)
}

fn known(what: &str, name: &str, all: Vec<String>) -> Result<(), Failure> {
    match all.iter().any(|one| one.eq_ignore_ascii_case(name)) {
        true => Ok(()),
        false => Err(names::unknown(what, name, all.iter().map(String::as_str))),
    }
}
