//! Progress over HTTP, for jobs that cannot write the file: one request, with a token that is good for one attempt alone.
//!
//! The token names the attempt and proves that this server gave it out: `12.0.0#1.` and an HMAC-SHA256 of that name under the
//! owner's token. So nothing has to be kept, tokens survive a restart, and a worker that shows its token to others gives
//! away nothing but its own progress. It opens no other door.

use super::parts::Whole;
use super::{Desk, Trouble};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use consort_agent::launch::{allocation_name, allocation_of};
use consort_agent::progress;
use consort_api::shapes::Reported;
use consort_types::AllocationId;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fmt::Write;
use std::sync::Arc;

/// Variables by which the workers of an attempt can report.
pub(crate) fn channel(url: &str, token: &str, allocation: AllocationId) -> Vec<(String, String)> {
    let name = allocation_name(allocation);
    let proof = proof(token, &name).finalize().into_bytes();
    let mut ticket = format!("{name}.");
    proof.iter().for_each(|byte| write!(ticket, "{byte:02x}").expect("text can be appended"));
    vec![
        ("CONSORT_PROGRESS_TOKEN".into(), ticket),
        ("CONSORT_PROGRESS_URL".into(), format!("{url}/v1/progress")),
    ]
}

fn proof(token: &str, name: &str) -> Hmac<Sha256> {
    let mut proof = Hmac::<Sha256>::new_from_slice(token.as_bytes()).expect("a key may have any length");
    proof.update(b"progress ");
    proof.update(name.as_bytes());
    proof
}

/// The attempt that a token was given to.
fn bearer_of(token: &str, ticket: &str) -> Option<AllocationId> {
    // Names of attempts have two points themselves.
    let (name, digits) = ticket.rsplit_once('.')?;
    let allocation = allocation_of(name)?;
    let digit = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let brought: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(digit).collect();
    proof(token, name).verify_slice(&brought?).ok()?; // compares in a time that tells nothing
    Some(allocation)
}

pub(super) async fn report(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Whole(body): Whole,
) -> Result<(StatusCode, Json<Reported>), Trouble> {
    let brought = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let brought = brought.and_then(|value| value.split_once(' '));
    let ticket =
        brought.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer")).map(|(_, ticket)| ticket);
    let Some(allocation) = ticket.and_then(|ticket| bearer_of(&desk.token, ticket.trim())) else {
        let error = "send the worker's own token: `Authorization: Bearer $CONSORT_PROGRESS_TOKEN`";
        return Err(Trouble::said(StatusCode::UNAUTHORIZED, error));
    };
    if body.len() as u64 > progress::LONGEST {
        let error = format!("the report is longer than {} KiB", progress::LONGEST >> 10);
        return Err(Trouble::said(StatusCode::PAYLOAD_TOO_LARGE, error));
    }
    let sample = progress::parse(&body).map_err(Trouble::unreadable)?;
    desk.site.report(allocation, sample);
    Ok((StatusCode::ACCEPTED, Json(Reported { attempt: allocation_name(allocation) })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_types::{AskId, JobId};

    #[test]
    fn a_token_is_good_for_its_own_attempt_alone() {
        let id = |attempt| AllocationId { ask: AskId { job: JobId(12), stage: 0, task: 3 }, attempt };
        let ticket = |attempt| channel("http://127.0.0.1:1", "secret", id(attempt))[0].1.clone();
        assert!(ticket(1).starts_with("12.0.3#1."));
        assert_eq!(bearer_of("secret", &ticket(1)), Some(id(1)));
        assert_eq!(bearer_of("other", &ticket(1)), None);
        let (_, proof) =
            ticket(1).rsplit_once('.').map(|(name, proof)| (name.to_owned(), proof.to_owned())).unwrap();
        for forged in [
            format!("12.0.3#2.{proof}"),
            format!("12.0.3#1.{}", &proof[2..]),
            format!("12.0.3#1.{proof}0"),
            "12.0.3#1.".into(),
            "12.0.3#1".into(),
            "secret".into(),
            format!("12.0.3#1.{}", "é".repeat(32)),
        ] {
            assert_eq!(bearer_of("secret", &forged), None, "{forged}");
        }
    }
}
