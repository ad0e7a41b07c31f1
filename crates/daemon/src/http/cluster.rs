//! Nodes, devices, queues, tenants.

use super::parts::{Asked, Named, Sender, Whole};
use super::{Desk, Trouble};
use crate::rows::{self, Page};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderName;
use consort_api::routes;
use consort_api::shapes::{Device, DeviceState, Node, NodeState, Queue, QueueChange, Tenant, TenantChange};
use consort_types::{Actor, Input, NodeId, QueueSpec, Quota, TenantSpec};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

type Answer<T> = Result<Json<T>, Trouble>;

/// A page of a list: whether there are more rows is in a header.
type Listed<T> = Result<([(HeaderName, &'static str); 1], Json<Vec<T>>), Trouble>;

fn listed<T>((rows, more): (Vec<T>, bool)) -> Listed<T> {
    let more = if more { "true" } else { "false" };
    Ok(([(HeaderName::from_static(routes::MORE), more)], Json(rows)))
}

fn no_such_start() -> Trouble {
    Trouble::unreadable("`after` is unknown, expected a node like n1, or a device like n1[3]")
}

pub(super) async fn nodes(
    State(desk): State<Arc<Desk>>,
    Asked(page): Asked<Page<NodeState>>,
) -> Listed<Node> {
    desk.look(move |reading, _| rows::nodes(reading, &page)).await?.ok_or_else(no_such_start).and_then(listed)
}

pub(super) async fn devices(
    State(desk): State<Arc<Desk>>,
    Asked(page): Asked<Page<DeviceState>>,
) -> Listed<Device> {
    let page = desk.look(move |reading, _| rows::devices(reading, &page)).await?;
    let (mut devices, more) = page.ok_or_else(no_such_start)?;
    for device in &mut devices {
        let reading = desk.site.reading(&device.node, device.index);
        device.uuid = reading.uuid;
        device.temperature_c = reading.temperature_c;
        device.power_w = reading.power_w;
        device.utilization_percent = reading.utilization_percent;
        device.memory_used_bytes = reading.memory_used_bytes;
    }
    listed((devices, more))
}

/// A part of a short list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    after: Option<String>,
    limit: Option<usize>,
}

impl Part {
    /// The rows behind the one that is named, and whether there are more; `None` if there is no such row.
    fn of<T>(&self, mut rows: Vec<T>, name: impl Fn(&T) -> &str) -> Option<(Vec<T>, bool)> {
        if let Some(after) = &self.after {
            let behind = rows.iter().position(|row| name(row) == after)? + 1;
            rows.drain(..behind);
        }
        let limit = self.limit.unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        rows.truncate(limit);
        Some((rows, more))
    }
}

pub(super) async fn queues(State(desk): State<Arc<Desk>>, Asked(part): Asked<Part>) -> Listed<Queue> {
    let all = desk.look(|reading, _| rows::queues(reading)).await?;
    let unknown = || Trouble::unreadable("after: unknown queue, expected the last of the page before");
    part.of(all, |queue| &queue.name).ok_or_else(unknown).and_then(listed)
}

pub(super) async fn tenants(State(desk): State<Arc<Desk>>, Asked(part): Asked<Part>) -> Listed<Tenant> {
    let all = desk.look(|reading, _| rows::tenants(reading)).await?;
    let unknown = || Trouble::unreadable("after: unknown tenant, expected the last of the page before");
    part.of(all, |tenant| &tenant.name).ok_or_else(unknown).and_then(listed)
}

async fn tend(desk: Arc<Desk>, actor: Actor, name: String, input: fn(NodeId) -> Input) -> Answer<Node> {
    let (id, _) = known(&desk, &name).await?;
    desk.put(actor, input(id), None).await?;
    known(&desk, &name).await.map(|(_, node)| Json(node))
}

/// The number and the row of a node.
async fn known(desk: &Desk, name: &str) -> Result<(NodeId, Node), Trouble> {
    let wanted = name.to_string();
    let found = desk.look(move |reading, _| {
        let (row, _) = rows::nodes(reading, &Page::of_node(&wanted))?;
        reading.view().node(&wanted).zip(row.into_iter().next())
    });
    let unknown = || Trouble::not_there(format!("unknown node {name}; `consort nodes` lists the nodes"));
    found.await?.ok_or_else(unknown)
}

pub(super) async fn remove(
    State(desk): State<Arc<Desk>>,
    Sender(actor): Sender,
    Named(name): Named,
) -> Answer<Node> {
    let (id, node) = known(&desk, &name).await?;
    desk.put(actor, Input::NodeLeft(id), None).await?;
    Ok(Json(node))
}

pub(super) async fn drain(
    State(desk): State<Arc<Desk>>,
    Sender(actor): Sender,
    Named(name): Named,
) -> Answer<Node> {
    tend(desk, actor, name, Input::Drain).await
}

pub(super) async fn undrain(
    State(desk): State<Arc<Desk>>,
    Sender(actor): Sender,
    Named(name): Named,
) -> Answer<Node> {
    tend(desk, actor, name, Input::Undrain).await
}

/// A body that is a shape.
pub(super) fn parsed<T: DeserializeOwned>(body: &Bytes) -> Result<T, Trouble> {
    serde_json::from_slice(body)
        .map_err(|error| Trouble::unreadable(format!("invalid request body: {error}")))
}

pub(super) async fn set_queue(
    State(desk): State<Arc<Desk>>,
    Sender(actor): Sender,
    Named(name): Named,
    Whole(body): Whole,
) -> Answer<Queue> {
    let change: QueueChange = parsed(&body)?;
    let (priority, strict, tenants) = (change.priority, change.strict, change.tenants);
    desk.put(actor, Input::SetQueue(QueueSpec { name: name.clone(), priority, strict, tenants }), None)
        .await?;
    let all = desk.look(|reading, _| rows::queues(reading)).await?;
    all.into_iter().find(|queue| queue.name == name).map(Json).ok_or_else(Trouble::busy)
}

pub(super) async fn set_tenant(
    State(desk): State<Arc<Desk>>,
    Sender(actor): Sender,
    Named(name): Named,
    Whole(body): Whole,
) -> Answer<Tenant> {
    let change: TenantChange = parsed(&body)?;
    let quota = |quota: consort_api::shapes::Quota| Quota {
        kind: quota.kind,
        guarantee: quota.guarantee,
        ceiling: quota.ceiling,
    };
    let quotas = change.quotas.into_iter().map(quota).collect();
    desk.put(actor, Input::SetTenant(TenantSpec { name: name.clone(), quotas }), None).await?;
    let all = desk.look(|reading, _| rows::tenants(reading)).await?;
    all.into_iter().find(|tenant| tenant.name == name).map(Json).ok_or_else(Trouble::busy)
}
