//! Benchmarks of planners: one row for each case, beside what others found.

use super::outcome::{Beside, Line, Metrics, Outcome};
use super::{Args, data};
use crate::failure::Failure;
use crate::numbers::decimal;
use crate::progress::Progress;
use crate::table::Table;
use crate::{inputs, names};
use consort_parallel_bench::{Row, Scenario};

/// Who answers: planners have one default, and no policies to choose from.
const POLICY: &str = "consort";

/// Runs it.
pub fn run(args: &Args, scenario: &'static Scenario) -> Result<Outcome, Failure> {
    let name = scenario.name;
    for (flag, given) in [
        ("--policy", !args.policies.is_empty()),
        ("--seed", !args.seeds.is_empty()),
        ("--jobs-csv", args.jobs_csv.is_some()),
    ] {
        // `all` passes its flags on to everybody.
        if given && args.scenario.as_deref() == Some(name) {
            return Err(Failure::request(
                format_args!("{flag} cannot be used with {name}, a benchmark of planners"),
                "leave it out",
            ));
        }
    }
    let data = data(args)?;
    let all = (scenario.cases)(data).map_err(inputs::malformed)?;
    if let Some(case) = args.cases.iter().find(|case| !all.contains(case)) {
        return Err(names::unknown(&format!("case of {name}"), case, all.iter().map(String::as_str)));
    }
    let cases = if args.cases.is_empty() { &all } else { &args.cases };
    let progress = Progress::counting("rows");
    let rows = scenario
        .run(data, cases, &mut |what, done, of| progress.at(what, done, of))
        .map_err(inputs::malformed)?;
    Ok(Outcome {
        scenario: name,
        about: scenario.about,
        table: table(&rows),
        rows: rows.into_iter().map(line).collect(),
        jobs: None,
    })
}

fn line(row: Row) -> Line {
    let checked = row.anchor.is_some() || row.is_barred || missed(&row);
    let anchor = row.anchor.map(|anchor| Beside {
        who: anchor.who.into(),
        metric: anchor.metric.into(),
        value: anchor.value,
    });
    Line {
        checked,
        case: row.case,
        policy: POLICY.into(),
        seed: 0,
        metrics: Metrics { figures: None, more: row.figures.into_iter().collect() },
        anchor,
        misses: row.misses.into_iter().chain(row.late).collect(),
    }
}

fn missed(row: &Row) -> bool {
    !row.misses.is_empty() || !row.late.is_empty()
}

/// One column for each figure that some row has, in the order of the rows.
fn table(rows: &[Row]) -> Table {
    let mut names: Vec<&'static str> = vec![];
    for (name, _) in rows.iter().flat_map(|row| &row.figures) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let mut table = Table::default();
    table.text("case", 0, rows.iter().map(|row| row.case.clone()));
    for name in names {
        let of = |row: &Row| row.figures.iter().find(|(known, _)| *known == name).map(|&(_, value)| value);
        table.numbers(name, 2, rows.iter().map(|row| of(row).map_or(String::new(), figure)));
    }
    if rows.iter().any(|row| row.anchor.is_some()) {
        let named = |row: &Row| {
            row.anchor
                .as_ref()
                .map(|anchor| format!("{} {} {}", anchor.who, anchor.metric, figure(anchor.value)))
        };
        table.text("anchor", 1, rows.iter().map(|row| named(row).unwrap_or_default()));
    }
    let verdict = |row: &Row| if missed(row) { "missed" } else { "" }.to_string();
    if rows.iter().any(missed) {
        table.text("", 0, rows.iter().map(verdict));
    }
    table
}

/// About five digits, whatever the size: seconds of collectives and gigabytes per second stand in one column.
fn figure(value: f64) -> String {
    let size = value.abs();
    match value {
        _ if value == 0.0 => "0".into(),
        _ if !(1e-4..1e9).contains(&size) => format!("{value:.4e}"),
        _ if size >= 1000.0 => decimal(value, 0),
        _ if size >= 10.0 => decimal(value, 2),
        _ => decimal(value, 5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_every_size_stay_readable() {
        let shown: Vec<String> = [0.0, 1.016384e-5, 0.0174, 80.0, 12345.6, 1.25e10].map(figure).into();
        assert_eq!(shown, ["0", "1.0164e-5", "0.01740", "80.00", "12,346", "1.2500e10"]);
    }
}
