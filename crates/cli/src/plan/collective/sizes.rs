//! Prices by size, for people.

use crate::failure::Failure;
use crate::plan::shown::Shown;
use crate::screen::Screen;
use crate::table::Table;
use consort_parallel::Answer;
use consort_parallel::collective::choose::{self, Plan, Priced, Range};
use consort_parallel::collective::{Algorithm, Ground, Operation};
use consort_report::numbers::{brief, decimal, speed, thousands};
use consort_report::picture::{Curves, curves};

/// Prices an operation and shows it.
pub fn run(ground: &Ground, operation: Operation, sizes: &[u64], shown: &Shown) -> Result<(), Failure> {
    let answer =
        choose::plan(ground, operation, sizes).map_err(|refusal| Failure::Request(refusal.to_string()))?;
    shown.show("collective", &answer, |screen| text(ground, &answer, screen), || picture(&answer.plan))
}

fn text(ground: &Ground, answer: &Answer<Plan>, screen: &Screen) -> String {
    let plan = &answer.plan;
    let largest = plan.sizes.iter().max_by_key(|priced| priced.bytes);
    let mut text = String::new();
    if let Some(priced) = largest {
        let (name, ranks) = (plan.operation.name(), thousands(u64::from(plan.ranks)));
        let head = format!(
            "{name} of {} among {ranks} ranks takes {} by {}, at best {}",
            size(priced.bytes),
            brief(priced.time_s),
            priced.best.name(),
            brief(priced.bound_s)
        );
        text += &format!("{}\n", screen.bold(&head));
        text += &screen.prose(&format!("bound     {}", priced.bound_by));
    }
    let narrowest = &ground.narrowest;
    let mut places: Vec<String> =
        narrowest.links.iter().map(|(from, to)| format!("{from} to {to}")).collect();
    if narrowest.more > 0 {
        places.push(format!("and {} more", thousands(narrowest.more as u64)));
    }
    text += &screen.prose(&format!(
        "narrowest {} of {} ranks behind {}: {}",
        thousands(narrowest.inside as u64),
        thousands(u64::from(plan.ranks)),
        speed(narrowest.out),
        places.join(", ")
    ));
    text += "\n";
    text += &table(plan).show(screen);
    text += "\n";
    text += &ranges(&plan.ranges).show(screen);
    text += "\n";
    text
}

fn table(plan: &Plan) -> Table {
    let mut table = Table::default();
    let rows = &plan.sizes;
    table.numbers("size", 0, rows.iter().map(|priced| size(priced.bytes)));
    let used: Vec<Algorithm> = rows
        .iter()
        .flat_map(|priced| &priced.algorithms)
        .map(|timed| timed.algorithm)
        .fold(vec![], |mut seen, algorithm| {
            if !seen.contains(&algorithm) {
                seen.push(algorithm);
            }
            seen
        });
    for algorithm in used {
        let time = |priced: &Priced| {
            let timed = priced.algorithms.iter().find(|timed| timed.algorithm == algorithm);
            timed.map_or_else(|| "-".into(), |timed| brief(timed.time_s))
        };
        let wins = rows.iter().any(|priced| priced.best == algorithm);
        table.numbers(algorithm.name(), if wins { 2 } else { 4 }, rows.iter().map(time));
    }
    table.text("best", 0, rows.iter().map(|priced| priced.best.name().into()));
    table.numbers("time", 0, rows.iter().map(|priced| brief(priced.time_s)));
    table.numbers("bound", 1, rows.iter().map(|priced| brief(priced.bound_s)));
    table.numbers("GB/s of bus", 1, rows.iter().map(|priced| decimal(priced.busbw / 1e9, 2)));
    if rows.iter().any(|priced| priced.nccl.is_some()) {
        let said = |priced: &Priced| {
            let pick = priced.nccl;
            pick.map_or_else(|| "-".into(), |pick| format!("{} {}", pick.layout.name(), pick.protocol.name()))
        };
        table.text("NCCL chooses", 3, rows.iter().map(said));
        let time = |priced: &Priced| priced.nccl.map_or_else(|| "-".into(), |pick| brief(pick.time_s));
        table.numbers("and predicts", 3, rows.iter().map(time));
    }
    table
}

fn ranges(ranges: &[Range]) -> Table {
    let mut table = Table::default();
    table.text("best from", 0, ranges.iter().map(|range| size(range.from_bytes)));
    let end = |range: &Range| range.to_bytes.map_or_else(|| "the largest".into(), size);
    table.text("to", 0, ranges.iter().map(end));
    table.text("algorithm", 0, ranges.iter().map(|range| range.algorithm.name().into()));
    table
}

fn picture(plan: &Plan) -> String {
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = vec![];
    let mut add = |name: &str, bytes: u64, time: f64| match lines.iter_mut().find(|line| line.0 == name) {
        Some(line) => line.1.push((bytes as f64, time)),
        None => lines.push((name.into(), vec![(bytes as f64, time)])),
    };
    let mut rows: Vec<&Priced> = plan.sizes.iter().collect();
    rows.sort_by_key(|priced| priced.bytes);
    for priced in rows {
        for timed in &priced.algorithms {
            add(timed.algorithm.name(), priced.bytes, timed.time_s);
        }
        add("bound", priced.bytes, priced.bound_s);
    }
    let title = format!("{} among {} ranks", plan.operation.name(), thousands(u64::from(plan.ranks)));
    curves(&Curves { title, lines })
}

/// `64 KiB`, `1.5 MiB`; odd sizes to about four digits.
pub fn size(bytes: u64) -> String {
    let units = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let text = format!("{:.2}", bytes as f64 / unit as f64);
            format!("{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(
            [0, 1, 1024, 1536, 1 << 30, 3_000_000].map(size),
            ["0 B", "1 B", "1 KiB", "1.5 KiB", "1 GiB", "2.86 MiB"]
        );
    }
}
