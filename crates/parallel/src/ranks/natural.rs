//! Names as people count: `node2` before `node10`.

use std::cmp::Ordering;

/// Digits are compared as numbers, all else letter by letter; equal numbers by how they are written.
pub fn compare(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one.as_bytes(), other.as_bytes());
    while let (Some(first), Some(second)) = (left.first(), right.first()) {
        if first.is_ascii_digit() && second.is_ascii_digit() {
            let (a, rest_a) = number(left);
            let (b, rest_b) = number(right);
            // Without leading zeros, more digits are a larger number.
            let order = a.len().cmp(&b.len()).then(a.cmp(b));
            if order != Ordering::Equal {
                return order;
            }
            (left, right) = (rest_a, rest_b);
            continue;
        }
        if first != second {
            return first.cmp(second);
        }
        (left, right) = (&left[1..], &right[1..]);
    }
    left.len().cmp(&right.len()).then(one.cmp(other))
}

fn number(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let zeros = text[..end].iter().take_while(|&&byte| byte == b'0').count();
    (&text[zeros..end], &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted() {
        let mut names = ["node66", "node7", "node70", "node8", "node007", "a", "node"];
        names.sort_by(|one, other| compare(one, other));
        assert_eq!(names, ["a", "node", "node007", "node7", "node8", "node66", "node70"]);
    }
}
