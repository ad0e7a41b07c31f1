//! Orders as `torch.distributed.pipelining` reads them, in its form for computation only (`_load_csv`).
//!
//! One line for each rank, actions with commas between them, each the number of the stage, a letter and the number of
//! the microbatch: `F` forward, `B` backward as a whole, `I` gradient of the input, `W` gradient of the weights. An empty
//! place is a pause and is skipped. What the runtime there adds by itself, sending and receiving, is not written.

use super::{Action, Work};
use std::collections::BTreeSet;
use std::fmt;

/// Writes orders. A backward is written as `I` where the same orders have its `W`, and as `B` otherwise.
pub fn write(orders: &[Vec<Action>]) -> String {
    let mut text = String::new();
    for list in orders {
        // A part is on one device alone, so that the other half of a backward is in the same list.
        let split: BTreeSet<(usize, usize)> = list
            .iter()
            .filter(|action| action.work == Work::Weight)
            .map(|action| (action.part, action.microbatch))
            .collect();
        let words: Vec<String> = list
            .iter()
            .map(|&Action { work, part, microbatch }| {
                let letter = match work {
                    Work::Forward => 'F',
                    Work::Backward if split.contains(&(part, microbatch)) => 'I',
                    Work::Backward => 'B',
                    Work::Weight => 'W',
                };
                format!("{part}{letter}{microbatch}")
            })
            .collect();
        text.push_str(&words.join(","));
        text.push('\n');
    }
    text
}

/// What is no order in this form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misread {
    /// Not a stage, a letter and a microbatch.
    Word {
        /// The line, from 1.
        line: usize,
        /// The word.
        word: String,
    },
    /// `B` beside `W`, or `I` without it.
    Halves {
        /// The line, from 1.
        line: usize,
        /// The word.
        word: String,
    },
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misread::Word { line, word } => write!(
                f,
                "line {line} has `{word}`; give the stage, one of F, B, I and W, and the microbatch, as in 2F0"
            ),
            Misread::Halves { line, word } => write!(
                f,
                "line {line} has `{word}`; give a whole backward as B alone, and a split one as both I and W"
            ),
        }
    }
}

impl std::error::Error for Misread {}

/// Reads orders. Whether they can be played is for [`play`](super::play) to say.
pub fn read(text: &str) -> Result<Vec<Vec<Action>>, Misread> {
    text.lines().enumerate().map(|(number, line)| list(number + 1, line)).collect()
}

fn list(line: usize, text: &str) -> Result<Vec<Action>, Misread> {
    let mut actions = vec![];
    let (mut halves, mut weights) = (BTreeSet::new(), BTreeSet::new());
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let misread = || Misread::Word { line, word: word.to_string() };
        let at = word.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(misread)?;
        let (stage, rest) = word.split_at(at);
        let number = |digits: &str| match digits.bytes().all(|digit| digit.is_ascii_digit()) {
            true => digits.parse::<usize>().map_err(|_| misread()),
            false => Err(misread()),
        };
        let letter = rest.chars().next().ok_or_else(misread)?;
        let (part, microbatch) = (number(stage)?, number(&rest[letter.len_utf8()..])?);
        let work = match letter {
            'F' => Work::Forward,
            'B' => Work::Backward,
            'I' => {
                halves.insert((part, microbatch));
                Work::Backward
            }
            'W' => {
                weights.insert((part, microbatch));
                Work::Weight
            }
            _ => return Err(misread()),
        };
        actions.push(Action { work, part, microbatch });
    }
    match halves.symmetric_difference(&weights).next() {
        Some(&(part, microbatch)) => {
            let letter = if weights.contains(&(part, microbatch)) { 'W' } else { 'I' };
            Err(Misread::Halves { line, word: format!("{part}{letter}{microbatch}") })
        }
        None => Ok(actions),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Pipe, Schedule, Times, order};
    use super::*;

    const TIMES: Times = Times { forward_s: 1.0, backward_s: 1.0, weight_s: 1.0 };

    fn written(schedule: Schedule, devices: usize, microbatches: usize) -> (Vec<Vec<Action>>, String) {
        let orders =
            order(schedule, &Pipe::even(devices, microbatches, schedule.chunks(), TIMES, 0.0)).unwrap();
        let text = write(&orders);
        (orders, text)
    }

    #[test]
    fn looks_as_it_is_read_elsewhere() {
        assert_eq!(
            written(Schedule::OneForwardOneBackward, 2, 3).1,
            "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n"
        );
        assert_eq!(
            written(Schedule::ZeroBubbleH1, 2, 3).1,
            "0F0,0F1,0I0,0W0,0F2,0I1,0W1,0I2,0W2\n1F0,1I0,1F1,1I1,1W0,1F2,1I2,1W1,1W2\n"
        );
        assert_eq!(
            written(Schedule::Interleaved { chunks: 2 }, 2, 2).1,
            "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n1F0,1F1,3F0,3B0,3F1,3B1,1B0,1B1\n"
        );
    }

    #[test]
    fn what_is_written_is_read_again() {
        for schedule in [
            Schedule::GPipe,
            Schedule::OneForwardOneBackward,
            Schedule::Interleaved { chunks: 3 },
            Schedule::ZeroBubbleH1,
            Schedule::ZeroBubbleH2,
            Schedule::ZeroBubbleV,
        ] {
            let (orders, text) = written(schedule, 4, 12);
            assert_eq!(read(&text).as_ref(), Ok(&orders), "{schedule}");
        }
    }

    #[test]
    fn pauses_are_skipped_and_mistakes_named() {
        let forward = Action { work: Work::Forward, part: 0, microbatch: 0 };
        assert_eq!(read("0F0,, ,0B0\r\n").unwrap()[0].len(), 2);
        assert_eq!(read(" 0F0\n").unwrap(), [[forward]]);
        for word in ["F0", "0X0", "0F", "0", "0F0x", "é", "0é0", "99999999999999999999999F0", "0UNSHARD"] {
            assert_eq!(read(&format!("0F0\n{word}")), Err(Misread::Word { line: 2, word: word.to_string() }));
        }
        assert_eq!(read("0F0,0I0"), Err(Misread::Halves { line: 1, word: "0I0".to_string() }));
        assert_eq!(read("0F0,0B0,0W0"), Err(Misread::Halves { line: 1, word: "0W0".to_string() }));
        let told = read("0F0,0B0,0W0").unwrap_err().to_string();
        assert_eq!(
            told,
            "line 1 has `0W0`; give a whole backward as B alone, and a split one as both I and W"
        );
    }
}
