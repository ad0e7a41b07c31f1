//! Runs a list of steps and reports.
//!
//! For: one line per step with its result and its time, then a plain count that a person or a script can read.
//! Promises: a failing step does not hide the ones after it; a skipped step is printed by name with the reason; the
//! last line is `N passed, N failed, N skipped`, alone.
//! Never: decides what the steps are (`steps`) or what is wrong (`check/*`).

use std::io::{IsTerminal, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Ending;
use crate::outside;
use crate::project::{Fault, Project};
use crate::steps::{Needs, Step, Work};

/// What a step found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All is well; the notes are worth a glance.
    Pass(Vec<String>),
    /// These must be put right.
    Fail(Vec<String>),
    /// Could not be judged here, and why.
    Skip(String),
}

impl Verdict {
    /// Fails when there are findings; the notes are shown either way.
    pub fn of(findings: Vec<String>, notes: Vec<String>) -> Self {
        if findings.is_empty() { Self::Pass(notes) } else { Self::Fail([findings, notes].concat()) }
    }
}

/// What follows the last step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Summary {
    /// The count only.
    Line,
    /// A table of steps and times, then the count.
    Table,
}

/// One line of the summary.
struct Row {
    name: &'static str,
    verdict: Verdict,
    took: Duration,
}

/// Runs every step in order and says how it went.
pub fn all(project: &Project, steps: &[Step], summary: Summary) -> Ending {
    let mut rows = Vec::new();
    for step in steps {
        let started = Instant::now();
        let verdict = match unmet(step.needs) {
            Some(why) => Verdict::Skip(why),
            None => {
                announce(step);
                carry_out(project, step).unwrap_or_else(|fault| Verdict::Fail(vec![fault.to_string()]))
            }
        };
        let row = Row { name: step.name, verdict, took: started.elapsed() };
        print!("{}", report(&row));
        rows.push(row);
    }
    println!();
    if summary == Summary::Table {
        println!("{}", table(&rows));
    }
    println!("{}", count(&rows));
    if rows.iter().any(|row| matches!(row.verdict, Verdict::Fail(_))) { Ending::Failed } else { Ending::Done }
}

/// Why the step cannot run here; none when it can.
fn unmet(needs: Needs) -> Option<String> {
    match needs {
        Needs::Nothing => None,
        Needs::Variable(name) => {
            let empty = std::env::var_os(name).is_none_or(|value| value.is_empty());
            empty.then(|| format!("{name} is not set"))
        }
    }
}

fn carry_out(project: &Project, step: &Step) -> Result<Verdict, Fault> {
    match step.work {
        Work::Look(look) => look(project),
        Work::Quiet(arguments) => {
            let heard = outside::listen(outside::cargo(project).args(arguments))?;
            let lines = heard.text.lines().map(str::to_owned);
            Ok(if heard.success { Verdict::Pass(Vec::new()) } else { Verdict::Fail(lines.collect()) })
        }
        Work::Loud(arguments) => streamed(&mut outside::cargo(project), "cargo", arguments),
        Work::Consort(arguments) => {
            streamed(&mut outside::neighbour(project, "consort")?, "target/debug/consort", arguments)
        }
    }
}

fn streamed(command: &mut Command, name: &str, arguments: &[&str]) -> Result<Verdict, Fault> {
    let success = outside::stream(command.args(arguments))?;
    let again = || format!("to repeat: {name} {}", arguments.join(" "));
    Ok(if success { Verdict::Pass(Vec::new()) } else { Verdict::Fail(vec![again()]) })
}

/// A long silence looks like a hang: a streamed step gets a heading, and on a terminal a quiet one shows its name.
fn announce(step: &Step) {
    match step.work {
        Work::Loud(arguments) => println!("\nrun   {}: cargo {}", step.name, arguments.join(" ")),
        Work::Consort(arguments) => println!("\nrun   {}: consort {}", step.name, arguments.join(" ")),
        Work::Look(_) | Work::Quiet(_) if std::io::stdout().is_terminal() => print!("...   {}\r", step.name),
        Work::Look(_) | Work::Quiet(_) => {}
    }
    // Nothing is lost when the terminal has gone away: the report that follows would fail in the same way.
    let _ = std::io::stdout().flush();
}

/// The line of one step, with what it found below it.
fn report(row: &Row) -> String {
    let (word, lines) = match &row.verdict {
        Verdict::Skip(why) => return format!("skipped: {} ({why})\n", row.name),
        Verdict::Pass(lines) => ("pass", lines),
        Verdict::Fail(lines) => ("FAIL", lines),
    };
    let mut text = format!("{word}  {:<18} {:>9}\n", row.name, seconds(row.took));
    for line in lines {
        text.push_str("      ");
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn table(rows: &[Row]) -> String {
    let mut text = format!("{:<18} {:<8} {:>9}\n", "step", "result", "time");
    for row in rows {
        let word = match row.verdict {
            Verdict::Pass(_) => "pass",
            Verdict::Fail(_) => "FAIL",
            Verdict::Skip(_) => "skipped",
        };
        text.push_str(&format!("{:<18} {:<8} {:>9}\n", row.name, word, seconds(row.took)));
    }
    text
}

fn count(rows: &[Row]) -> String {
    let number = |wanted: fn(&Verdict) -> bool| rows.iter().filter(|row| wanted(&row.verdict)).count();
    let passed = number(|verdict| matches!(verdict, Verdict::Pass(_)));
    let failed = number(|verdict| matches!(verdict, Verdict::Fail(_)));
    let skipped = number(|verdict| matches!(verdict, Verdict::Skip(_)));
    format!("{passed} passed, {failed} failed, {skipped} skipped")
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &'static str, verdict: Verdict) -> Row {
        Row { name, verdict, took: Duration::from_millis(1250) }
    }

    fn three() -> Vec<Row> {
        vec![
            row("sizes", Verdict::Pass(vec!["median 90 lines".into()])),
            row("links", Verdict::Fail(vec!["README.md:3: no such file".into()])),
            row("bench tiresias", Verdict::Skip("CONSORT_BENCH_DATA is not set".into())),
        ]
    }

    #[test]
    fn findings_decide() {
        assert_eq!(Verdict::of(vec![], vec!["n".into()]), Verdict::Pass(vec!["n".into()]));
        assert_eq!(
            Verdict::of(vec!["f".into()], vec!["n".into()]),
            Verdict::Fail(vec!["f".into(), "n".into()])
        );
    }

    #[test]
    fn the_count_is_of_steps() {
        assert_eq!(count(&three()), "1 passed, 1 failed, 1 skipped");
        assert_eq!(count(&[]), "0 passed, 0 failed, 0 skipped");
    }

    #[test]
    fn a_skip_is_said_by_name() {
        assert_eq!(report(&three()[2]), "skipped: bench tiresias (CONSORT_BENCH_DATA is not set)\n");
    }

    #[test]
    fn needs_are_met_or_named() {
        assert_eq!(unmet(Needs::Nothing), None);
        // Cargo sets this one for every test it runs.
        assert_eq!(unmet(Needs::Variable("CARGO_MANIFEST_DIR")), None);
        let why = unmet(Needs::Variable("XTASK_TEST_NOBODY_SETS_THIS"));
        assert_eq!(why, Some("XTASK_TEST_NOBODY_SETS_THIS is not set".into()));
    }

    #[test]
    fn findings_are_shown_below_their_step() {
        let text = report(&three()[1]);
        assert!(text.starts_with("FAIL  links"));
        assert!(text.lines().nth(1).unwrap().ends_with("README.md:3: no such file"));
    }

    #[test]
    fn the_table_has_a_line_for_each_step_and_its_time() {
        let text = table(&three());
        assert_eq!(text.lines().count(), 4);
        assert!(text.lines().skip(1).all(|line| line.ends_with("1.2 s")), "{text}");
    }
}
