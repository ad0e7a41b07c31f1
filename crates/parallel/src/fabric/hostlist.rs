//! Lists of hosts as Slurm and people write them: `n[1-3,07-10]x[0-1],login`.
//!
//! Leading zeros are kept, and the last bracket counts fastest. A list that would not end is refused before it is made.

use super::MOST_HOSTS;

/// Letters of a host's name: none has more.
const LONGEST: usize = 255;

/// All names of a list, in order. On failure, what was expected: the end of a sentence about the list.
pub fn expand(list: &str) -> Result<Vec<String>, String> {
    let mut names = vec![];
    let (mut start, mut inside) = (0, false);
    for (at, letter) in list.char_indices().chain([(list.len(), ',')]) {
        match (letter, inside) {
            ('[', false) => inside = true,
            (']', true) => inside = false,
            ('[', true) | (']', false) => return Err("every bracket opened once and closed once".into()),
            (',', false) => {
                pattern(list[start..at].trim(), &mut names)?;
                start = at + 1;
            }
            _ => {}
        }
    }
    match inside {
        true => Err("every bracket opened once and closed once".into()),
        false => Ok(names),
    }
}

/// Appends the names of one pattern; an empty one has none.
fn pattern(pattern: &str, names: &mut Vec<String>) -> Result<(), String> {
    if pattern.is_empty() {
        return Ok(());
    }
    if pattern.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        return Err("names between commas, without spaces in them".into());
    }
    let (mut made, mut rest) = (vec![String::new()], pattern);
    while let Some((before, (inside, after))) =
        rest.split_once('[').and_then(|(before, tail)| Some((before, tail.split_once(']')?)))
    {
        let numbers = numbers(inside)?;
        if names.len() + made.len().saturating_mul(numbers.len()) > MOST_HOSTS {
            return Err(endless());
        }
        let each = |name: &String| {
            numbers.iter().map(|number| format!("{name}{before}{number}")).collect::<Vec<_>>()
        };
        made = made.iter().flat_map(each).collect();
        rest = after;
        if made.iter().any(|name| name.len() > LONGEST) {
            return Err("names of 1 to 255 letters".into());
        }
    }
    made.iter_mut().for_each(|name| name.push_str(rest));
    if made.iter().any(|name| name.len() > LONGEST) {
        return Err("names of 1 to 255 letters".into());
    }
    names.append(&mut made);
    if names.len() > MOST_HOSTS { Err(endless()) } else { Ok(()) }
}

/// `1-3,07-10`: as wide as the first of each range is written.
fn numbers(inside: &str) -> Result<Vec<String>, String> {
    let mut all = vec![];
    for range in inside.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| {
            let plain = (1..=18).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| text.parse::<u64>().ok()).flatten()
        };
        let (Some(from), Some(to)) = (number(first), number(last)) else {
            return Err("numbers and ranges like 1-4,7 inside brackets".into());
        };
        if to < from {
            return Err("ranges that run upwards, like 1-4".into());
        }
        if (to - from) as usize + all.len() >= MOST_HOSTS {
            return Err(endless());
        }
        let width = first.len();
        all.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Ok(all)
}

fn endless() -> String {
    "at most 131,072 hosts".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_ranges_and_zeros() {
        assert_eq!(expand("n[1-2,07-08],login").unwrap(), ["n1", "n2", "n07", "n08", "login"]);
        assert_eq!(expand("r[1-2]x[0-1]s").unwrap(), ["r1x0s", "r1x1s", "r2x0s", "r2x1s"]);
        assert_eq!(expand("n[8-11]").unwrap(), ["n8", "n9", "n10", "n11"]);
        assert_eq!(expand(" a, b ,").unwrap(), ["a", "b"]);
        assert!(expand("").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_list_or_has_no_end_is_refused() {
        for list in ["n[1", "n1]", "n[[1]]", "n[3-1]", "n[a-b]", "n[1-999999999]", "n[]", "a b"] {
            assert!(expand(list).is_err(), "{list}");
        }
        assert!(expand("n[1-999][1-999]").is_err());
        assert!(expand(&"n[1-60000],".repeat(3)).is_err());
        assert!(expand(&"x".repeat(300)).is_err());
    }
}
