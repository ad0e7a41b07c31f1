//! Lists of node names as Slurm prints them and people write them: `n[1-3,07-10]x[0-1],login`.
//!
//! For: reading them, and writing them as short as Slurm does.
//! Promises: leading zeros are kept; the order is Slurm's, the last bracket counts fastest. What is not such a list is
//! told in a sentence; a list that would not end is refused before it is made.
//! Never: looks a name up.

use std::collections::BTreeMap;

/// More names than any cluster has.
pub const MOST: usize = 1 << 17;
/// Letters of a name: no host has more.
const LONGEST: usize = 255;
/// Digits of a number.
const DIGITS: usize = 18;

/// All names of a list, in order.
pub fn expand(list: &str) -> Result<Vec<String>, String> {
    let mut names = vec![];
    for pattern in parts(list)? {
        names.extend(expand_one(list, pattern)?);
        if names.len() > MOST {
            return Err(endless(list));
        }
    }
    Ok(names)
}

/// The patterns between commas that are not inside brackets.
fn parts(list: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut from, mut inside) = (vec![], 0, false);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' if inside => return Err(unreadable(list, "a bracket inside a bracket")),
            ']' if !inside => return Err(unreadable(list, "a closing bracket without an opening one")),
            '[' => inside = true,
            ']' => inside = false,
            ',' if !inside => {
                parts.push(list[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err(unreadable(list, "missing closing bracket"));
    }
    parts.push(list[from..].trim());
    parts.retain(|part| !part.is_empty());
    match parts.iter().any(|part| part.contains(|letter: char| letter.is_whitespace() || letter.is_control()))
    {
        true => Err(unreadable(list, "a name contains a space")),
        false => Ok(parts),
    }
}

fn expand_one(list: &str, pattern: &str) -> Result<Vec<String>, String> {
    let mut names = vec![String::new()];
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('[') {
        let (inside, tail) =
            after.split_once(']').ok_or_else(|| unreadable(list, "missing closing bracket"))?;
        let numbers = numbers(list, inside)?;
        if names.len().saturating_mul(numbers.len()) > MOST {
            return Err(endless(list));
        }
        let longest = |all: &[String]| all.iter().map(String::len).max().unwrap_or(0);
        if longest(&names) + before.len() + longest(&numbers) > LONGEST {
            return Err(unreadable(list, "a name is too long"));
        }
        let each = |name: &String| {
            let name = format!("{name}{before}");
            numbers.iter().map(|number| format!("{name}{number}")).collect::<Vec<_>>()
        };
        names = names.iter().flat_map(each).collect();
        rest = tail;
    }
    if names[0].len() + rest.len() > LONGEST {
        return Err(unreadable(list, "a name is too long"));
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

/// `1-3,07-10`: all numbers, as wide as the first of each range is written.
fn numbers(list: &str, inside: &str) -> Result<Vec<String>, String> {
    let mut all = vec![];
    for range in inside.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| {
            let is_plain =
                (1..=DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            let bad = || unreadable(list, &format!("{range:?} is not a range of numbers"));
            is_plain.then(|| text.parse::<u64>().ok()).flatten().ok_or_else(bad)
        };
        let (from, to) = (number(first)?, number(last)?);
        if to < from || to - from >= MOST as u64 {
            return Err(unreadable(list, &format!("the range {range} is descending or too large")));
        }
        if all.len() + (to - from) as usize >= MOST {
            return Err(endless(list));
        }
        let width = first.len();
        all.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Ok(all)
}

fn endless(list: &str) -> String {
    format!("the node list {} is too long", shortened(list))
}

fn unreadable(list: &str, why: &str) -> String {
    format!("the node list {} cannot be parsed: {why}", shortened(list))
}

fn shortened(list: &str) -> String {
    let short: String = list.chars().take(60).collect();
    if short.len() < list.len() { format!("{short}...") } else { short }
}

/// The same names as one list, in the order in which their stems first appear.
pub fn compress<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    // By stem and width: `n07` and `n7` are different nodes.
    let mut stems: Vec<(&str, usize)> = vec![];
    let mut numbers: BTreeMap<(&str, usize), Vec<u64>> = BTreeMap::new();
    let mut plain: Vec<&str> = vec![];
    for name in names {
        let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let digits = &name[stem.len()..];
        match digits.parse::<u64>() {
            Ok(number) if digits.len() <= DIGITS => {
                // A number without leading zeros goes with others of any length.
                let width = if digits.starts_with('0') && digits.len() > 1 { digits.len() } else { 0 };
                let key = (stem, width);
                if !numbers.contains_key(&key) {
                    stems.push(key);
                }
                numbers.entry(key).or_default().push(number);
            }
            _ => plain.push(name),
        }
    }
    let mut lists: Vec<String> = vec![];
    for key in stems {
        let (stem, width) = key;
        let mut all = numbers.remove(&key).unwrap_or_default();
        all.sort_unstable();
        all.dedup();
        let ranges = ranges(&all, width);
        lists.push(match (&ranges[..], all.len()) {
            ([only], 1) => format!("{stem}{only}"),
            _ => format!("{stem}[{}]", ranges.join(",")),
        });
    }
    lists.extend(plain.into_iter().map(str::to_owned));
    lists.join(",")
}

fn ranges(all: &[u64], width: usize) -> Vec<String> {
    let mut ranges = vec![];
    let mut at = 0;
    while at < all.len() {
        let mut end = at;
        // Numbers of one range are all written equally wide.
        let fits = |next: u64| width == 0 || next.to_string().len() <= width;
        while end + 1 < all.len() && all[end + 1] == all[end] + 1 && fits(all[end + 1]) {
            end += 1;
        }
        let (first, last) = (all[at], all[end]);
        ranges.push(match first == last {
            true => format!("{first:0width$}"),
            false => format!("{first:0width$}-{last:0width$}"),
        });
        at = end + 1;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(list: &str) -> String {
        expand(list).unwrap().join(" ")
    }

    #[test]
    fn every_form_that_slurm_prints() {
        assert_eq!(expanded(""), "");
        assert_eq!(expanded("login"), "login");
        assert_eq!(expanded("a,b"), "a b");
        assert_eq!(expanded(" a, b ,"), "a b");
        assert_eq!(expanded("n[1-3]"), "n1 n2 n3");
        assert_eq!(expanded("n[1,3,5-6]"), "n1 n3 n5 n6");
        assert_eq!(expanded("n[08-11]"), "n08 n09 n10 n11");
        assert_eq!(expanded("n[1-2,07-08]x[0-1]"), "n1x0 n1x1 n2x0 n2x1 n07x0 n07x1 n08x0 n08x1");
        assert_eq!(
            expanded("rack[1-2]node[01-02]-ib,gpu-[3]"),
            "rack1node01-ib rack1node02-ib rack2node01-ib rack2node02-ib gpu-3"
        );
        assert_eq!(expanded("n[1-3,07-10]x[0-1]").split(' ').count(), 14);
        assert_eq!(expanded("n[099-101]"), "n099 n100 n101");
        assert_eq!(expanded("n[9-11].cluster.local"), "n9.cluster.local n10.cluster.local n11.cluster.local");
    }

    #[test]
    fn what_is_no_list_is_told() {
        for bad in [
            "a b",
            "n[1-",
            "n1]",
            "n[[1]]",
            "n[a-b]",
            "n[3-1]",
            "n[]",
            "n[1-2-3]",
            "n[-1]",
            "n[0-99999999999]",
            "n[0-9999][0-9999]",
            "n[0-99999,0-99999]",
            "n[0-99999],m[0-99999]",
            "n[0000000000000000000000001]",
        ] {
            let told = expand(bad).unwrap_err();
            assert!(told.starts_with("the node list "), "{bad}: {told}");
        }
        for long in
            [format!("{}[1-9]", "n".repeat(300)), format!("n[1-9]{}", "n".repeat(300)), "n".repeat(300)]
        {
            assert!(expand(&long).unwrap_err().ends_with("a name is too long"));
        }
    }

    #[test]
    fn compressed_lists_say_the_same() {
        let shortest = |names: &[&str]| compress(names.iter().copied());
        assert_eq!(shortest(&["n1", "n2", "n3"]), "n[1-3]");
        assert_eq!(shortest(&["n3", "n1"]), "n[1,3]");
        assert_eq!(shortest(&["n1"]), "n1");
        assert_eq!(shortest(&["n07", "n7", "n08", "n10"]), "n[07-08],n[7,10]");
        assert_eq!(shortest(&["login", "n1", "a2b"]), "n1,login,a2b");
        assert_eq!(shortest(&["n9", "n10", "n11"]), "n[9-11]");
        for list in ["n[1-3,07-10]x[0-1]", "a,b,n[001-130]", "n[099-101]"] {
            let mut names = expand(list).unwrap();
            let mut again = expand(&compress(names.iter().map(String::as_str))).unwrap();
            names.sort();
            again.sort();
            assert_eq!(names, again, "{list}");
        }
    }
}
