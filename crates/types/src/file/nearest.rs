//! The word that was probably meant.

/// The known word nearest to a typed one, if one is near enough to be worth a question.
pub(super) fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    // More letters would make every comparison slow and no suggestion better.
    if typed.is_empty() || typed.len() > 64 {
        return None;
    }
    let typed: Vec<char> = typed.to_lowercase().replace('-', "_").chars().collect();
    let near = known.iter().map(|known| (distance(&typed, known), *known));
    let near = near.filter(|(distance, known)| *distance <= (known.len().max(typed.len()) / 3).max(1));
    near.min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

/// How many letters must be changed, added, left out or swapped with their neighbour.
fn distance(typed: &[char], known: &str) -> usize {
    let known: Vec<char> = known.chars().collect();
    let (mut before, mut last) = (vec![], (0..=known.len()).collect::<Vec<usize>>());
    for (row, letter) in typed.iter().enumerate() {
        let mut this = vec![row + 1];
        for (column, other) in known.iter().enumerate() {
            let mut least =
                (last[column] + usize::from(letter != other)).min(last[column + 1] + 1).min(this[column] + 1);
            if row > 0 && column > 0 && typed[row - 1] == *other && *letter == known[column - 1] {
                least = least.min(before[column - 1] + 1);
            }
            this.push(least);
        }
        before = std::mem::replace(&mut last, this);
    }
    last[known.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["devices", "workers", "time_limit", "run"];
        for (typed, meant) in [
            ("devises", Some("devices")),
            ("Workers", Some("workers")),
            ("time-limit", Some("time_limit")),
            ("rnu", Some("run")),
            ("banana", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, &known), meant, "{typed}");
        }
    }
}
