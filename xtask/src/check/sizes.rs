//! How long a file is.
//!
//! For: files that a person can hold in the head.
//! Promises: over 800 lines fails, over 400 is noted, and the median is printed so that a drift is seen early.
//! Never: counts anything but lines of `.rs` files: other text is as long as it has to be.

use crate::project::{Fault, Project};
use crate::run::Verdict;

const TOO_LONG: usize = 800;
const WORTH_A_LOOK: usize = 400;

/// Counts the lines of every `.rs` file.
pub fn look(project: &Project) -> Result<Verdict, Fault> {
    let mut sizes = Vec::new();
    for file in project.files()?.into_iter().filter(|file| file.ends_with(".rs")) {
        let lines = project.text(&file)?.unwrap_or_default().lines().count();
        sizes.push((file, lines));
    }
    Ok(judge(&sizes))
}

fn judge(sizes: &[(String, usize)]) -> Verdict {
    let mut findings = Vec::new();
    let mut notes = vec![match median(sizes.iter().map(|(_, lines)| *lines).collect()) {
        Some(lines) => format!("median {lines} lines of {} files", sizes.len()),
        None => "there are no .rs files".into(),
    }];
    for (file, lines) in sizes {
        if *lines > TOO_LONG {
            findings.push(format!("{file}: {lines} lines, over {TOO_LONG}; it holds more than one idea"));
        } else if *lines > WORTH_A_LOOK {
            notes.push(format!("{file}: {lines} lines, over {WORTH_A_LOOK}"));
        }
    }
    Verdict::of(findings, notes)
}

/// The middle one; of an even number, the lower of the two in the middle.
fn median(mut numbers: Vec<usize>) -> Option<usize> {
    numbers.sort_unstable();
    numbers.get(numbers.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(lines: &[usize]) -> Vec<(String, usize)> {
        lines.iter().map(|&lines| (format!("{lines}.rs"), lines)).collect()
    }

    #[test]
    fn the_limits_are_where_they_are_said_to_be() {
        assert_eq!(judge(&sizes(&[400])), Verdict::Pass(vec!["median 400 lines of 1 files".into()]));
        let Verdict::Pass(notes) = judge(&sizes(&[401, 800])) else { panic!("800 lines pass") };
        assert_eq!(notes.len(), 3);
        let Verdict::Fail(findings) = judge(&sizes(&[10, 801])) else { panic!("801 lines fail") };
        assert!(findings[0].starts_with("801.rs: 801 lines"));
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![9, 1, 5]), Some(5));
        assert_eq!(median(vec![4, 1, 3, 2]), Some(2));
    }
}
