//! The indices of an array: `0-9,12`, `0-100:10`, or a list of such texts.

use crate::file::limits;
use crate::file::read_error::ReadError;
use crate::file::value;
use crate::file::yaml::Node;

/// How many tasks there are, and their indices in order; none when they simply count from 0.
pub(super) fn read(node: Node) -> Result<(u32, Vec<u32>), ReadError> {
    let place = node.place;
    let mut indices = vec![];
    for node in node.one_or_more("array")? {
        node.read("array", |text| add(text, &mut indices))?;
    }
    finish(indices).map_err(|message| place.fail(format!("`array` {message}")))
}

/// The same from one text.
pub fn parse(text: &str) -> Result<(u32, Vec<u32>), value::Expected> {
    let mut indices = vec![];
    add(text, &mut indices)?;
    finish(indices).map_err(|_| "each index only once".into())
}

fn finish(mut indices: Vec<u32>) -> Result<(u32, Vec<u32>), String> {
    indices.sort_unstable();
    if let Some(pair) = indices.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("names index {} twice", pair[0]));
    }
    if indices.is_empty() {
        return Err("is empty, expected indices like 0-9,12".into());
    }
    let tasks = indices.len() as u32;
    if indices.iter().copied().eq(0..tasks) {
        indices.clear();
    }
    Ok((tasks, indices))
}

fn add(text: &str, indices: &mut Vec<u32>) -> Result<(), value::Expected> {
    if let Some((_, most)) = text.split_once('%') {
        return Err(format!(
            "indices without `%{most}`: the scheduler and quotas decide how many tasks run at once"
        ));
    }
    for part in text.split(',') {
        let expected = || "indices like 0-9,12 or 0-100:10, each at most 1,000,000,000".to_string();
        let (range, step) = part.trim().split_once(':').unwrap_or((part.trim(), "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| value::count(text, 0, 1_000_000_000).map_err(|_| expected());
        let (first, last, step) = (number(first)?, number(last)?, number(step)?);
        if first > last || step == 0 {
            return Err(expected());
        }
        let many = (last - first) / step + 1;
        if indices.len() as u64 + u64::from(many) > u64::from(limits::TASKS) {
            return Err("at most 1,000,000 indices".into());
        }
        indices.extend((first..=last).step_by(step as usize));
    }
    Ok(())
}

/// Indices in order, as they are written: `0-9,12`.
pub(super) fn written(indices: &[u32]) -> String {
    let mut parts: Vec<String> = vec![];
    let mut rest = indices;
    while let [first, ..] = rest {
        let run = rest.iter().zip(*first..).take_while(|(index, next)| *index == next).count();
        let last = rest[run - 1];
        parts.push(if run == 1 { first.to_string() } else { format!("{first}-{last}") });
        rest = &rest[run..];
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_read_as_slurm_writes_them() {
        assert_eq!(parse("0-3"), Ok((4, vec![])));
        assert_eq!(parse("1-3,7"), Ok((4, vec![1, 2, 3, 7])));
        assert_eq!(parse("9,0-8:4"), Ok((4, vec![0, 4, 8, 9])));
        assert_eq!(parse("5"), Ok((1, vec![5])));
        assert_eq!(written(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        for text in ["", "3-1", "a", "1,1", "0-9:0", "0-1000001", "-1", "1-", "0-9%4"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("0-9%4").unwrap_err().contains("indices without `%4`"));
    }
}
