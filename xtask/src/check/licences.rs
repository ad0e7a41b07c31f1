//! What the licences of our dependencies allow.
//!
//! For: anyone may use and ship Consort under Apache-2.0 without a second thought.
//! Promises: every package that could be built in, for any platform, states a licence that the list in deny.toml
//! allows; `OR` needs one side, `AND` needs both, and an exception must be listed with its licence.
//! Never: guesses: a package that states no licence fails, even when a file beside it would do.

mod expression;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::outside;
use crate::project::{Fault, Project};
use crate::run::Verdict;
use expression::Expression;

/// Judges all packages that `cargo metadata` knows.
pub fn look(project: &Project) -> Result<Verdict, Fault> {
    let Some(deny) = project.toml("deny.toml")? else {
        return Ok(Verdict::Fail(vec!["deny.toml is missing: it lists the licences we accept".into()]));
    };
    let allowed = allow_list(&deny);
    if allowed.is_empty() {
        return Ok(Verdict::Fail(vec!["deny.toml: [licenses] allow lists nothing".into()]));
    }
    let (packages, mut notes) = match project.packages(&["--all-features"]) {
        Ok(packages) => (packages, Vec::new()),
        // Packages of other platforms may not be on this disk, and the network may be away.
        Err(_) => {
            let host = host(project)?;
            let note = format!("judged for {host} only: packages of other platforms are not at hand");
            (project.packages(&["--all-features", "--filter-platform", &host])?, vec![note])
        }
    };
    notes.push(format!("{} packages", packages.len()));
    Ok(Verdict::of(packages.iter().filter_map(|package| judge(package, &allowed)).collect(), notes))
}

fn allow_list(deny: &toml::Table) -> Vec<String> {
    let list =
        deny.get("licenses").and_then(|licences| licences.get("allow")).and_then(toml::Value::as_array);
    list.into_iter().flatten().filter_map(|licence| Some(licence.as_str()?.to_owned())).collect()
}

fn host(project: &Project) -> Result<String, Fault> {
    let answer = outside::answer(outside::program(project, "rustc").arg("-vV"))?;
    let answer = String::from_utf8_lossy(&answer);
    let line = answer.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| Fault::new("asking rustc for the host", "it did not say"))
}

fn judge(package: &Value, allowed: &[String]) -> Option<String> {
    let name = format!(
        "{} {}",
        package["name"].as_str().unwrap_or("a package without a name"),
        package["version"].as_str().unwrap_or_default()
    );
    let Some(text) = package["license"].as_str() else {
        return Some(format!("{name} states no licence"));
    };
    let licence = match Expression::parse(text) {
        Ok(licence) => licence,
        Err(problem) => return Some(format!("{name}: cannot read the licence `{text}`: {problem}")),
    };
    if licence.is_allowed(allowed) {
        return None;
    }
    let refused: BTreeSet<String> = licence.refused(allowed).into_iter().collect();
    let refused = refused.into_iter().collect::<Vec<_>>().join(", ");
    Some(format!("{name}: `{text}` asks for {refused}, which deny.toml does not list"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Vec<String> {
        vec!["Apache-2.0".into(), "MIT".into()]
    }

    #[test]
    fn the_list_comes_from_deny_toml() {
        let deny = "[licenses]\nallow = [\"MIT\", \"ISC\"]\n[bans]\nallow = [\"GPL-3.0\"]".parse().unwrap();
        assert_eq!(allow_list(&deny), ["MIT", "ISC"]);
        assert!(allow_list(&toml::Table::new()).is_empty());
    }

    #[test]
    fn packages_are_judged_by_what_they_state() {
        let package =
            |licence: Value| serde_json::json!({"name": "x", "version": "1.0.0", "license": licence});
        assert_eq!(judge(&package("MIT OR GPL-3.0-only".into()), &list()), None);
        assert_eq!(judge(&package(Value::Null), &list()), Some("x 1.0.0 states no licence".into()));
        assert!(judge(&package("MIT OR".into()), &list()).unwrap().contains("cannot read"));
        assert_eq!(
            judge(&package("MIT AND GPL-3.0-only".into()), &list()),
            Some(
                "x 1.0.0: `MIT AND GPL-3.0-only` asks for GPL-3.0-only, which deny.toml does not list".into()
            )
        );
    }
}
