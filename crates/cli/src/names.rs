//! Names that people type: found, or refused with the nearest one and all there are.

use crate::failure::Failure;
use consort_sched::policy::{Entry, NotFound, Registry};
use consort_sched::stock;

/// A policy by name, with or without a placement: `fifo`, `fifo/spread`.
pub fn policy(policies: &Registry, name: &str) -> Result<Entry, Failure> {
    policies.find(name).map_err(|why| match &why {
        NotFound::Policy(name) => unknown("policy", name, policies.names()),
        NotFound::Placement(name) => unknown("placement", name, stock::PLACES.iter().map(|place| place.name)),
        NotFound::IsPlacement(name) => {
            Failure::request(&why, format!("put it behind a policy, as in fifo/{name}"))
        }
        NotFound::TakesNone { policy, .. } => Failure::request(&why, format!("use {policy} alone")),
    })
}

/// An unknown name, with the nearest one and all there are.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Failure {
    let known: Vec<&str> = known.into_iter().collect();
    let remedy = match known[..] {
        [] => "none is available".into(),
        _ => meant(name, &known, "available:"),
    };
    Failure::request(format_args!("unknown {what} `{name}`"), remedy)
}

/// The name that was probably meant, if one is near, and all there are after `lead`.
pub fn meant(name: &str, known: &[&str], lead: &str) -> String {
    let all = known.join(", ");
    match nearest(name, known) {
        Some(near) => {
            let (first, rest) = lead.split_at(1);
            format!("did you mean `{near}`? {}{rest} {all}", first.to_uppercase())
        }
        None => format!("{lead} {all}"),
    }
}

/// The name that was probably meant.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = name.to_lowercase();
    // More letters would make every comparison slow and no suggestion better.
    if name.is_empty() || name.len() > 100 {
        return None;
    }
    let whole =
        known.iter().find(|known| name.len() >= 3 && (known.contains(&name) || name.contains(**known)));
    let close = known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(&name, known), known))
        .filter(|(distance, known)| *distance <= (known.len().max(name.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance);
    close.map(|(_, known)| known).or(whole).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_meant() {
        let known = ["priority", "fifo", "shortest", "shortest-remaining", "las"];
        for (typed, meant) in [
            ("fifi", Some("fifo")),
            ("FIFO", Some("fifo")),
            ("shortes", Some("shortest")),
            ("remaining", Some("shortest-remaining")),
            ("lass", Some("las")),
            ("banana", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, &known), meant, "{typed}");
        }
    }
}
