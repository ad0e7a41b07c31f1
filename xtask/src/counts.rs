//! How many instructions the parts of `plan-scale` take, beside what is on record.
//!
//! For: noticing that deciding has become dearer in the change that made it so. Time cannot say it on a machine that others
//! use as well; instructions can: the same program takes the same number of them, to within a fraction of a percent.
//! Promises: a part that grew by more than 5 % fails with one sentence that names it, both figures and the way out; one
//! that shrank as much is told, so that the gain can be put on record. Another compiler writes other instructions: then
//! that is said and 25 % are allowed. Another kind of machine cannot be compared at all and is skipped.
//! Never: changes the record unless `--bless` asks for it; counts what is outside the timed parts of the benchmark.

mod record;

use crate::outside;
use crate::project::{Fault, Project};
use crate::run::Verdict;
use record::{Part, Record, grouped};

const RECORD: &str = "bench/instructions.toml";
/// Stays there: `callgrind_annotate` shows from it where the instructions go.
const COUNTED: &str = "target/counts.callgrind";
const BLESS: &str = "`cargo xtask counts --bless`";

const MARGIN_PERCENT: f64 = 5.0;
const MARGIN_OF_ANOTHER_COMPILER_PERCENT: f64 = 25.0;

/// Callgrind counts inside the first of these functions and writes down what it has when the second is entered.
const RUNNER: &str = "target.'cfg(all())'.runner=['valgrind', '--quiet', '--tool=callgrind', '--combine-dumps=yes', \
    '--toggle-collect=consort_sim::bench::scale::counted*', '--dump-before=counts::over*', '--callgrind-out-file=";

/// What is asked for after `counts`: whether the figures go on record.
pub fn parse(rest: &[String]) -> Result<bool, String> {
    match rest {
        [] => Ok(false),
        [word] if word == "--bless" => Ok(true),
        [.., word] => Err(format!("`counts` takes only --bless, so `{word}` has no meaning here.")),
    }
}

/// Counts and compares.
pub fn look(project: &Project) -> Result<Verdict, Fault> {
    let text = project.text(RECORD)?.unwrap_or_default();
    let record = Record::read(&text).map_err(|why| Fault::new(format!("reading {RECORD}"), why))?;
    let here = Record { parts: vec![], ..of_this_machine(project)? };
    if here.host != record.host {
        return Ok(judge(&record, &here));
    }
    Ok(judge(&record, &Record { parts: count(project)?, ..here }))
}

/// Counts and puts it on record.
pub fn bless(project: &Project) -> Result<Verdict, Fault> {
    let found = Record { parts: count(project)?, ..of_this_machine(project)? };
    std::fs::write(project.root.join(RECORD), found.write())
        .map_err(|error| Fault::new(format!("writing {RECORD}"), error))?;
    let lines = found.parts.iter().map(|part| format!("{:<8} {:>13} each", part.name, grouped(part.each())));
    Ok(Verdict::Pass(lines.chain([format!("{RECORD} has them now; read the difference")]).collect()))
}

/// A record without figures: the compiler and the kind of machine.
fn of_this_machine(project: &Project) -> Result<Record, Fault> {
    let answer = outside::answer(outside::program(project, "rustc").arg("-vV"))?;
    let text = String::from_utf8_lossy(&answer);
    let line =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
    Ok(Record { rustc: line("release: "), host: line("host: "), parts: vec![] })
}

/// Runs the benchmark under callgrind.
fn count(project: &Project) -> Result<Vec<Part>, Fault> {
    let file = project.root.join(COUNTED);
    let broken = |error| Fault::new(format!("making room for {COUNTED}"), error);
    std::fs::create_dir_all(file.parent().expect("it is in a folder")).map_err(broken)?;
    match std::fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(broken(error)),
        _ => {}
    }
    let said = outside::answer(
        outside::cargo(project)
            .args(["run", "--quiet", "--release", "-p", "consort-sim", "--example", "counts", "--config"])
            .arg(format!("{RUNNER}{COUNTED}']")),
    )?;
    let dumps = project.text(COUNTED)?.unwrap_or_default();
    record::parts(&String::from_utf8_lossy(&said), &dumps).map_err(|why| Fault::new("counting", why))
}

fn judge(record: &Record, found: &Record) -> Verdict {
    if record.host != found.host {
        return Verdict::Skip(format!("{RECORD} is of {}, and this is {}", record.host, found.host));
    }
    let (mut findings, mut notes) = (vec![], vec![]);
    let is_same = record.rustc == found.rustc;
    let margin = if is_same { MARGIN_PERCENT } else { MARGIN_OF_ANOTHER_COMPILER_PERCENT };
    if !is_same {
        notes.push(format!(
            "{RECORD} is of rustc {}, and this is {}: {margin} % more are allowed until {BLESS} records it anew",
            record.rustc, found.rustc
        ));
    }
    for new in &found.parts {
        let Some(old) = record.part(&new.name) else {
            findings.push(format!("{}: not in {RECORD}; {BLESS} puts it there", new.name));
            continue;
        };
        // Of each, not of all: a policy that fills the cluster with fewer jobs has not become cheaper.
        let (before, now) = (old.each(), new.each());
        let percent = 100.0 * (now as f64 - before as f64) / before as f64;
        let (name, before, now) = (&new.name, grouped(before), grouped(now));
        if percent > margin {
            findings.push(format!(
                "{name}: {now} instructions each, {percent:.1} % more than the {before} on record; \
                 `callgrind_annotate {COUNTED}` shows where they go, and {BLESS} accepts them on purpose"
            ));
        } else if percent < -margin {
            let less = -percent;
            notes.push(format!(
                "{name}: {now} instructions each, {less:.1} % fewer than the {before} on record; {BLESS} keeps the gain"
            ));
        } else {
            notes.push(format!("{name:<8} {now:>13} instructions each, {percent:+.1} %"));
        }
    }
    let gone = record.parts.iter().filter(|old| found.part(&old.name).is_none());
    findings.extend(gone.map(|old| format!("{}: on record but not counted; {BLESS} forgets it", old.name)));
    Verdict::of(findings, notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(parts: &[(&str, u64, u64)]) -> Record {
        let part =
            |&(name, instructions, times): &(&str, u64, u64)| Part { name: name.into(), instructions, times };
        Record {
            rustc: "1.95.0".into(),
            host: "x86_64-unknown-linux-gnu".into(),
            parts: parts.iter().map(part).collect(),
        }
    }

    #[test]
    fn more_than_a_twentieth_fails_with_both_figures_and_the_way_out() {
        let old = record(&[("pairs", 1_000_000, 10), ("cold", 1000, 1)]);
        let new = record(&[("pairs", 1_200_000, 10), ("cold", 1050, 1)]);
        let Verdict::Fail(lines) = judge(&old, &new) else { panic!("a fifth more passes") };
        assert!(
            lines[0].starts_with("pairs: 120_000 instructions each, 20.0 % more than the 100_000 on record")
        );
        assert!(lines[0].contains("`cargo xtask counts --bless`"));
        assert!(lines[1].ends_with("+5.0 %"), "{lines:?}");
    }

    #[test]
    fn less_is_told_and_passes() {
        let Verdict::Pass(lines) = judge(&record(&[("cold", 1000, 1)]), &record(&[("cold", 800, 1)])) else {
            panic!("less is no failure")
        };
        assert!(lines[0].contains("20.0 % fewer than the 1_000"), "{lines:?}");
    }

    #[test]
    fn each_counts_and_not_all() {
        let verdict = judge(&record(&[("queue", 1000, 10)]), &record(&[("queue", 2000, 20)]));
        assert!(matches!(verdict, Verdict::Pass(_)), "{verdict:?}");
    }

    #[test]
    fn another_compiler_has_a_wider_margin_and_another_machine_none() {
        let old = record(&[("cold", 1000, 1)]);
        let mut new = Record { rustc: "1.96.0".into(), ..record(&[("cold", 1240, 1)]) };
        let Verdict::Pass(lines) = judge(&old, &new) else { panic!("24 % are allowed") };
        assert!(lines[0].contains("of rustc 1.95.0, and this is 1.96.0"));
        new.parts[0].instructions = 1260;
        assert!(matches!(judge(&old, &new), Verdict::Fail(_)));
        new.host = "aarch64-unknown-linux-gnu".into();
        assert!(matches!(judge(&old, &new), Verdict::Skip(_)));
    }

    #[test]
    fn parts_that_come_and_go_are_named() {
        let Verdict::Fail(lines) = judge(&record(&[("old", 1, 1)]), &record(&[("new", 1, 1)])) else {
            panic!("the record is not of these parts")
        };
        assert!(lines[0].starts_with("new: not in ") && lines[1].starts_with("old: on record"), "{lines:?}");
    }

    #[test]
    fn only_bless_is_understood() {
        let parse = |line: &str| parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!((parse(""), parse("--bless")), (Ok(false), Ok(true)));
        assert!(parse("--blss").unwrap_err().contains("`--blss`"));
    }
}
