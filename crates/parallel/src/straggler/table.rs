//! Times of workers from a CSV table.
//!
//! Either a column for each worker and a row for each round, or a row for each worker and round with named columns:
//! `worker`, `own_s`, and where known `round`, `communication_s`, `temperature_c`, `clock`, `throttled`. An empty cell is a
//! value that nobody measured. Health is that of the last row that tells it. Quotation marks have no meaning here.

use super::{Health, MOST_VALUES, MOST_WORKERS, Worker};
use consort_types::file::{ReadError, value};
use std::collections::BTreeMap;

const COLUMNS: [&str; 7] =
    ["round", "worker", "own_s", "communication_s", "temperature_c", "clock", "throttled"];
/// Rounds are counted from 0 or 1; a larger number is a mistake, or another clock.
const MOST_ROUNDS: usize = 1_000_000;

/// Reads a table. What is wrong is said with its line; the name of the file is for the caller to fill in.
pub fn read(text: &str) -> Result<Vec<Worker>, ReadError> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((_, head)) = lines.next() else {
        return Err(ReadError::whole(
            "",
            "is empty, expected a table with the names of workers in its first line",
        ));
    };
    let names: Vec<&str> = head.trim_start_matches('\u{feff}').split(',').map(str::trim).collect();
    let rows = lines.map(|(number, line)| (number as u64 + 1, line.split(',').map(str::trim).collect()));
    let (workers, expected) = match names.contains(&"worker") {
        true => (long(&names, rows)?, "one for each worker and round"),
        false => (wide(&names, rows)?, "one for each round"),
    };
    if workers.iter().all(|worker| worker.own_s.is_empty()) {
        return Err(ReadError::whole("", format!("has no rows below its first line, expected {expected}")));
    }
    Ok(workers)
}

type Cells<'a> = (u64, Vec<&'a str>);

fn fail(line: u64, message: String) -> ReadError {
    ReadError { file: String::new(), line, column: 0, message }
}

/// A number that is not negative, or nothing.
fn number(line: u64, what: &str, text: &str) -> Result<Option<f64>, ReadError> {
    if text.is_empty() {
        return Ok(None);
    }
    match text.parse::<f64>() {
        Ok(number) if (0.0..1e12).contains(&number) => Ok(Some(number)),
        _ => Err(fail(
            line,
            value::complaint(what, text, "a number of seconds that is not negative, or nothing"),
        )),
    }
}

fn width<'a>(names: &[&str], (line, cells): &Cells<'a>) -> Result<(), ReadError> {
    if cells.len() == names.len() {
        return Ok(());
    }
    Err(fail(*line, format!("has {} cells, expected {} as in the first line", cells.len(), names.len())))
}

fn wide<'a>(names: &[&str], rows: impl Iterator<Item = Cells<'a>>) -> Result<Vec<Worker>, ReadError> {
    let mut workers = vec![];
    for name in names {
        let name =
            value::name(name).map_err(|expected| fail(1, value::complaint("worker", name, &expected)))?;
        if workers.iter().any(|worker: &Worker| worker.name == name) {
            return Err(fail(1, format!("duplicate column {}", value::quoted(&name))));
        }
        if workers.len() == MOST_WORKERS.min(4096) {
            return Err(fail(1, "has more than 4,096 columns; use a row for each worker".into()));
        }
        workers.push(Worker { name, ..Worker::default() });
    }
    let mut values = 0;
    for row in rows {
        width(names, &row)?;
        values += row.1.len();
        room(row.0, values)?;
        for (worker, cell) in workers.iter_mut().zip(&row.1) {
            worker.own_s.push(number(row.0, &worker.name, cell)?);
        }
    }
    Ok(workers)
}

fn room(line: u64, values: usize) -> Result<(), ReadError> {
    match values > MOST_VALUES {
        true => {
            Err(fail(line, format!("is beyond the {MOST_VALUES}th value, expected the latest rounds only")))
        }
        false => Ok(()),
    }
}

fn long<'a>(names: &[&str], rows: impl Iterator<Item = Cells<'a>>) -> Result<Vec<Worker>, ReadError> {
    if let Some(name) = names.iter().find(|name| !COLUMNS.contains(name)) {
        let message =
            format!("unknown column {}, expected some of {}", value::quoted(name), COLUMNS.join(", "));
        return Err(fail(1, message));
    }
    if !names.contains(&"own_s") {
        return Err(fail(1, "missing column `own_s`, the seconds of own work".into()));
    }
    let mut workers: Vec<Worker> = vec![];
    let mut index = BTreeMap::new();
    let mut values = 0;
    for row in rows {
        width(names, &row)?;
        let cell = |name: &str| names.iter().position(|known| *known == name).map_or("", |at| row.1[at]);
        let name = value::name(cell("worker"))
            .map_err(|expected| fail(row.0, value::complaint("worker", cell("worker"), &expected)))?;
        let at = *index.entry(name.clone()).or_insert(workers.len());
        if at == workers.len() {
            workers.push(Worker { name, ..Worker::default() });
        }
        let worker = &mut workers[at];
        let round = match number(row.0, "round", cell("round"))? {
            Some(round) if round.fract() == 0.0 && round < MOST_ROUNDS as f64 => round as usize,
            Some(_) => {
                let expected = "a whole number below 1,000,000";
                return Err(fail(row.0, value::complaint("round", cell("round"), expected)));
            }
            None => worker.own_s.len(),
        };
        let grown = (round + 1).saturating_sub(worker.own_s.len()) * 2;
        values += grown;
        room(row.0, values)?;
        put(&mut worker.own_s, round, number(row.0, "own_s", cell("own_s"))?);
        let exchange = number(row.0, "communication_s", cell("communication_s"))?;
        if exchange.is_some() || !worker.communication_s.is_empty() {
            put(&mut worker.communication_s, round, exchange);
        }
        health(&mut worker.health, row.0, &cell)?;
    }
    Ok(workers)
}

fn put(series: &mut Vec<Option<f64>>, round: usize, value: Option<f64>) {
    if series.len() <= round {
        series.resize(round + 1, None);
    }
    series[round] = value;
}

fn health<'a>(health: &mut Health, line: u64, cell: &impl Fn(&str) -> &'a str) -> Result<(), ReadError> {
    health.temperature_c = number(line, "temperature_c", cell("temperature_c"))?.or(health.temperature_c);
    health.clock = number(line, "clock", cell("clock"))?.or(health.clock);
    health.throttled = match cell("throttled") {
        "" => health.throttled,
        "true" | "1" | "yes" => true,
        "false" | "0" | "no" => false,
        other => return Err(fail(line, value::complaint("throttled", other, "true or false"))),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_for_each_worker() {
        let workers = read("a, b\n1.0,2\n,3\n\n1.5,4\n").unwrap();
        assert_eq!(workers[0].own_s, [Some(1.0), None, Some(1.5)]);
        assert_eq!((workers[1].name.as_str(), workers[1].own_s.len()), ("b", 3));
    }

    #[test]
    fn a_row_for_each_worker_and_round() {
        let text = "worker,round,own_s,communication_s,clock,throttled\n\
                    a,0,1,0.1,1,\nb,0,2,,0.8,true\na,2,1.5,0.3,,\n";
        let workers = read(text).unwrap();
        assert_eq!(workers[0].own_s, [Some(1.0), None, Some(1.5)]);
        assert_eq!(workers[0].communication_s, [Some(0.1), None, Some(0.3)]);
        assert_eq!(workers[0].health, Health { clock: Some(1.0), ..Health::default() });
        assert!(workers[1].health.throttled && workers[1].communication_s.is_empty());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, said) in [
            ("", "is empty"),
            ("a,b\n\n", "has no rows below its first line, expected one for each round"),
            ("worker,own_s\n", "has no rows below its first line, expected one for each worker and round"),
            ("a,b\n1\n", ":2: has 1 cells, expected 2"),
            ("a,a\n1,1\n", ":1: duplicate column `a`"),
            ("a\nx\n", ":2: `a` is `x`, expected a number of seconds"),
            ("a\n-1\n", ":2: `a` is `-1`, expected"),
            ("worker,own\n", ":1: unknown column `own`"),
            ("worker,round\n", "missing column `own_s`"),
            ("worker,round,own_s\na,1.5,1\n", ":2: `round` is `1.5`"),
            ("worker,round,own_s\na,900000000,1\n", ":2: `round` is"),
            ("worker,own_s,throttled\na,1,maybe\n", "`throttled` is `maybe`"),
        ] {
            let found = read(text).unwrap_err().to_string();
            assert!(found.contains(said), "{text:?}: {found}");
        }
    }
}
