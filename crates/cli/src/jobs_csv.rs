//! The table of jobs that reports and benchmarks write: one line for each job that ended or was refused.

use consort_sim::report::Record;
use consort_types::{Span, Time};

const COLUMNS: usize = 10;
const HEADER: [&str; COLUMNS] =
    ["case", "policy", "job", "submit_s", "start_s", "end_s", "jct_s", "queue_s", "restarts", "state"];

/// The table, growing.
pub struct JobsCsv(csv::Writer<Vec<u8>>);

impl JobsCsv {
    /// Only its header.
    pub fn new() -> Self {
        let mut table = JobsCsv(csv::Writer::from_writer(vec![]));
        table.line(HEADER.map(String::from));
        table
    }

    /// A job, by the name it has in its source.
    pub fn add(&mut self, case: &str, policy: &str, job: &str, record: &Record) {
        self.line([
            case.into(),
            policy.into(),
            job.into(),
            instant(record.submitted),
            record.started.map(instant).unwrap_or_default(),
            instant(record.ended),
            span(record.jct()),
            span(record.waited),
            record.restarts.to_string(),
            if record.succeeded { "finished" } else { "failed" }.into(),
        ]);
    }

    /// A job that was refused: it has a name and no times.
    pub fn add_refused(&mut self, case: &str, policy: &str, job: &str) {
        let mut cells: [String; COLUMNS] = Default::default();
        for (cell, text) in [(0, case), (1, policy), (2, job), (COLUMNS - 1, "refused")] {
            cells[cell] = text.into();
        }
        self.line(cells);
    }

    fn line(&mut self, cells: [String; COLUMNS]) {
        self.0.write_record(cells).expect("memory takes lines of one length");
    }

    /// The whole text.
    pub fn bytes(self) -> Vec<u8> {
        self.0.into_inner().expect("memory can be flushed")
    }
}

fn instant(time: Time) -> String {
    span(Span(time.0))
}

/// Exact, without needless zeros: `90`, `0.25`.
fn span(span: Span) -> String {
    let (sign, ns) = (if span.0 < 0 { "-" } else { "" }, span.0.unsigned_abs());
    let text = format!("{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact() {
        let texts = [0, 90_000_000_000, 250_000_000, -1_500_000_000, 1].map(|ns| span(Span(ns)));
        assert_eq!(texts, ["0", "90", "0.25", "-1.5", "0.000000001"]);
    }
}
