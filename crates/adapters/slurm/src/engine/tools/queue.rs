//! What `squeue` prints about jobs of our user, row by row.
//!
//! `squeue --json` cannot be asked for less than everything; columns can. The last column is the comment, which is free
//! text: it may contain new lines, or what looks like the row of another job. So every row ends with a mark that is random
//! for each call, and rows are told apart by it and by nothing else. Columns before the comment have a fixed width in
//! bytes and are written by Slurm itself.

use crate::shapes::{Exit, Job};

/// Columns, and how wide they are.
const COLUMNS: [(&str, usize); 7] = [
    ("JobID", 20),
    ("HetJobID", 20),
    ("State", 24),
    ("exit_code", 16),
    ("RestartCnt", 12),
    ("Reason", 60),
    ("Comment", 200),
];

/// The format to ask for. Every row then ends with the mark.
pub fn format(mark: &str) -> String {
    let columns: Vec<String> = COLUMNS.iter().map(|(name, width)| format!("{name}:{width}")).collect();
    format!("{}{}", columns.join(","), ending(mark))
}

/// Not a digit first, which would belong to the width.
fn ending(mark: &str) -> String {
    format!("@{mark}@")
}

/// Jobs, and the rows that could not be read.
pub fn read(told: &[u8], mark: &str) -> (Vec<Job>, Vec<String>) {
    let ending = format!("{}\n", ending(mark)).into_bytes();
    let (mut jobs, mut unread) = (vec![], vec![]);
    for row in split(told, &ending).filter(|row| !row.iter().all(u8::is_ascii_whitespace)) {
        match job(row) {
            Some(job) => jobs.push(job),
            None => unread.push(String::from_utf8_lossy(row).into_owned()),
        }
    }
    (jobs, unread)
}

fn split<'a>(text: &'a [u8], ending: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        match text.windows(ending.len()).position(|part| part == ending) {
            Some(at) => {
                rest = Some(&text[at + ending.len()..]);
                Some(&text[..at])
            }
            None => {
                rest = None;
                Some(text)
            }
        }
    })
}

/// One row, without its mark.
fn job(row: &[u8]) -> Option<Job> {
    let mut rest = row;
    let mut next = |width: usize| {
        let (value, after) = rest.split_at(width.min(rest.len()));
        rest = after;
        String::from_utf8_lossy(value).trim().to_owned()
    };
    let [id, whole, state, exit, restarts, reason, comment] = COLUMNS.map(|(_, width)| next(width));
    let number = |text: &str| text.parse::<u64>().unwrap_or(0);
    let is_word = |letter: u8| letter.is_ascii_alphabetic() || letter == b'_' || letter == b'+';
    if state.is_empty() || !state.bytes().all(is_word) {
        return None;
    }
    let status = match exit.split_once(':') {
        Some((code, signal)) => (number(code) & 0xff) << 8 | number(signal) & 0x7f,
        None => number(&exit),
    };
    Some(Job {
        id: id.parse().ok().filter(|&id| id > 0)?,
        whole: number(&whole),
        state: state.to_uppercase().split('+').map(str::to_owned).collect(),
        reason,
        exit: Exit::of(status),
        restarts: number(&restarts),
        comment,
        ..Job::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, state: &str, exit: &str, comment: &str) -> String {
        format!(
            "{id:<20}{:<20}{state:<24}{exit:<16}{:<12}{:<60}{comment:<200}",
            "N/A", "0", "NonZeroExitCode"
        )
    }

    #[test]
    fn a_row_of_squeue() {
        let told = line("1260", "FAILED", "768", "consort:1f:12.0.0#1") + "@m@\n";
        let (jobs, unread) = read(told.as_bytes(), "m");
        let [job] = &jobs[..] else { panic!("{jobs:?}") };
        assert_eq!((job.id, job.whole, job.code(), job.restarts, unread.len()), (1260, 0, 3, 0, 0));
        assert!(job.is(&["FAILED"]));
        assert_eq!(job.comment, "consort:1f:12.0.0#1");
        let told = line("1260", "FAILED", "0:9", "") + "@m@\n";
        assert_eq!(read(told.as_bytes(), "m").0[0].code(), 137);
    }

    #[test]
    fn a_comment_cannot_pass_for_a_row() {
        let forged = format!("x\n{}\n{}@n@\n", line("7", "COMPLETED", "0", ""), line("8", "FAILED", "0", ""));
        let told = [
            line("1", "RUNNING", "0", "first\nsecond"),
            line("2", "RUNNING", "0", &forged),
            line("3", "PENDING", "0", "\u{1f600}"),
        ];
        let told: String = told.iter().map(|row| format!("{row}@m@\n")).collect();
        let (jobs, unread) = read(told.as_bytes(), "m");
        let seen: Vec<(u64, &str)> = jobs.iter().map(|job| (job.id, job.state[0].as_str())).collect();
        assert_eq!((seen, unread.len()), (vec![(1, "RUNNING"), (2, "RUNNING"), (3, "PENDING")], 0));
        assert_eq!(jobs[0].comment, "first\nsecond");
    }

    #[test]
    fn unreadable_rows_are_kept() {
        let told =
            format!("slurm_load_jobs error@m@\n{}@m@\n\n12@m@\nthe end", line("1", "RUNNING", "0", ""));
        let (jobs, unread) = read(told.as_bytes(), "m");
        assert_eq!(
            (jobs.len(), &unread[..]),
            (1, &["slurm_load_jobs error", "\n12", "the end"].map(String::from)[..])
        );
        assert_eq!(read(b"", "m"), (vec![], vec![]));
    }

    /// Rows that are damaged in any way harm no other row.
    #[test]
    fn random_damage_to_one_row_leaves_the_others() {
        let mut dice = crate::dice::Dice(11);
        for _ in 0..2_000 {
            let mut rows: Vec<Vec<u8>> = (1..=4)
                .map(|id| line(&id.to_string(), "RUNNING", "0", "consort:1f:1.0.0#1").into_bytes())
                .collect();
            let hit = dice.below(4);
            dice.damage(&mut rows[hit]);
            let told: Vec<u8> = rows.iter().flat_map(|row| [&row[..], b"@m4rk@\n"].concat()).collect();
            let (jobs, unread) = read(&told, "m4rk");
            assert!(
                jobs.len() + unread.len() <= 4 && jobs.len() >= 3,
                "{:?}",
                String::from_utf8_lossy(&told)
            );
            for id in (1..=4).filter(|&id| id != hit as u64 + 1) {
                assert!(jobs.iter().any(|job| job.id == id && job.comment == "consort:1f:1.0.0#1"), "{id}");
            }
        }
    }
}
