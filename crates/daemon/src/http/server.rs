//! The server itself: how it is, its figures, its document, its end.

use super::parts::{Asked, Whole};
use super::{Desk, Trouble};
use crate::rows::{self, Page};
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use consort_api::shapes::{Shutdown, Status, World, WorldLine};
use consort_api::{Moment, openapi};
use serde::Deserialize;
use std::fmt::Write;
use std::sync::{Arc, LazyLock};

/// What follows the question mark of the status.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Depth {
    /// The hash takes a pass over the whole state, so it is made on request only.
    state_hash: Option<String>,
}

pub(super) async fn status(
    State(desk): State<Arc<Desk>>,
    Asked(depth): Asked<Depth>,
) -> Result<Json<Status>, Trouble> {
    let ((gauges, excess), state_hash) = match super::jobs::flag(&depth.state_hash) {
        true => desk.look(|reading, _| (rows::figures(reading), Some(reading.state_hash()))).await?,
        false => (desk.figures().await?, None),
    };
    let mut notes = desk.notes.clone();
    notes.extend(excess);
    if desk.meters.is_full() {
        notes.push("the disk of the journal is full and nothing new is accepted until there is room".into());
    }
    let trouble = desk.site.trouble();
    notes.extend(trouble.clone());
    let (plans_rejected, rejections) = desk.meters.rejections();
    notes
        .extend(rejections.first().map(|last| rejection_note(&desk.about.policy, plans_rejected, &last.why)));
    Ok(Json(Status {
        version: env!("CARGO_PKG_VERSION").into(),
        world: desk.site.world().into(),
        data_dir: desk.about.data_dir.clone(),
        url: desk.about.url.clone(),
        socket: desk.about.socket.clone(),
        started: Moment(desk.about.started),
        state_hash: state_hash.map(|hash| format!("{hash:016x}")),
        position: gauges.position,
        policy: desk.about.policy.clone(),
        waiting: gauges.waiting,
        running: gauges.running,
        ended: gauges.ended,
        devices: gauges.devices.0,
        notes,
        trouble,
        plans_rejected,
        rejections,
    }))
}

fn rejection_note(policy: &str, count: u64, why: &str) -> String {
    format!("policy {policy} has a bug: {count} of its plans were rejected; the last: {why}")
}

/// Asks the world anew. It may take its time, so it is asked where nobody else waits.
pub(super) async fn world(State(desk): State<Arc<Desk>>) -> Result<Json<World>, Trouble> {
    let site = desk.site.clone();
    let said = tokio::task::spawn_blocking(move || site.probe()).await.map_err(|_| Trouble::busy())?;
    let lines = said.into_iter().map(|(what, says)| WorldLine { what, says }).collect();
    Ok(Json(World { world: desk.site.world().into(), lines }))
}

pub(super) async fn shutdown(State(desk): State<Arc<Desk>>, Whole(body): Whole) -> Result<Response, Trouble> {
    let Shutdown { workers } = super::cluster::parsed(&body)?;
    let answer = status(State(desk.clone()), Asked(Depth::default())).await?;
    let asked = desk.asked_to_go.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    if let Some(asked) = asked {
        let _ = asked.send(workers);
    }
    Ok((StatusCode::ACCEPTED, answer).into_response())
}

pub(super) async fn metrics(State(desk): State<Arc<Desk>>) -> Result<Response, Trouble> {
    let (gauges, devices) =
        desk.look(|reading, _| (rows::gauges(reading), rows::devices(reading, &Page::whole()))).await?;
    let devices = devices.map_or(vec![], |(devices, _)| devices);
    let mut text = desk.meters.text(&gauges, desk.site.trouble().is_none());
    type Part = fn(&crate::site::Reading) -> Option<f64>;
    let parts: [(&str, &str, Part); 4] = [
        ("consort_device_temperature_celsius", "How warm a device is.", |reading| reading.temperature_c),
        ("consort_device_power_watts", "What a device draws.", |reading| reading.power_w),
        ("consort_device_utilization_ratio", "How busy a device is.", |reading| {
            reading.utilization_percent.map(|percent| percent / 100.0)
        }),
        ("consort_device_memory_used_bytes", "Memory in use on a device.", |reading| {
            reading.memory_used_bytes.map(|bytes| bytes as f64)
        }),
    ];
    let readings: Vec<_> =
        devices.iter().map(|device| (device, desk.site.reading(&device.node, device.index))).collect();
    for (name, about, part) in parts {
        let told: Vec<_> =
            readings.iter().filter_map(|(device, reading)| Some((device, part(reading)?))).collect();
        if !told.is_empty() {
            let _ = writeln!(text, "# HELP {name} {about}\n# TYPE {name} gauge");
        }
        for (device, value) in told {
            let _ = writeln!(
                text,
                "{name}{{node=\"{}\",device=\"{}\",kind=\"{}\"}} {value}",
                label(&device.node),
                device.index,
                label(&device.kind)
            );
        }
    }
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, text).into_response())
}

fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

pub(super) async fn alive() -> &'static str {
    "alive\n"
}

/// Ready means that the loop takes turns and that there is room for what it accepts.
pub(super) async fn ready(State(desk): State<Arc<Desk>>) -> Result<&'static str, Trouble> {
    if desk.meters.is_full() {
        return Err(Trouble::full());
    }
    desk.turn().await?;
    Ok("ready\n")
}

/// Made once: anybody may ask for it, as often as they like.
pub(super) async fn document() -> Response {
    static DOCUMENT: LazyLock<Bytes> =
        LazyLock::new(|| serde_json::to_vec(&openapi::document()).expect("plain data").into());
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.clone()).into_response()
}
