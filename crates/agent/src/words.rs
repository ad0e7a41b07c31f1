//! Words that the scheduler takes.
//!
//! For: whoever accepts reasons takes neither endless ones nor such as would upset a terminal, and refuses them whole.
//! Promises: what is printable and short enough stays as it is.
//! Never: cuts a letter in two.

/// The most bytes of a reason.
const LONGEST: usize = 4000;

/// The same words in one line that can be printed, cut where they get too long.
pub fn printable(words: &str) -> String {
    let clean = |letter: char| if letter.is_control() { ' ' } else { letter };
    let mut line: String = words.trim().chars().map(clean).collect();
    let end = (0..=LONGEST.min(line.len())).rev().find(|&end| line.is_char_boundary(end));
    line.truncate(end.unwrap_or(0));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_cleared_and_cut() {
        assert_eq!(printable("no such file: /tmp/\u{1b}[1m a\nb\n"), "no such file: /tmp/ [1m a b");
        assert_eq!(printable("\n\t"), "");
        let long = printable(&"\u{e9}".repeat(3000));
        assert_eq!((long.len(), long.chars().count()), (4000, 2000));
        assert_eq!(printable(&format!("x{long}")).len(), 3999);
    }
}
