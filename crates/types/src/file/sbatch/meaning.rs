//! What the values of Slurm's options mean: times, memory, GPUs, dependencies, patterns of file names.

use crate::file::value::{self, Expected};
use crate::file::{job, limits};
use crate::job::{Condition, Count, Dependency, Qos};
use crate::time::Span;
use crate::work::Grace;

/// `MINUTES`, `MINUTES:SECONDS`, `HOURS:MINUTES:SECONDS`, `DAYS-HOURS` and so on; nothing when unlimited.
pub(super) fn time(text: &str) -> Result<Option<Span>, Expected> {
    let expected = || "a time like 90, 1:30:00 or 2-12:00:00, or UNLIMITED".to_string();
    if ["UNLIMITED", "INFINITE", "-1", "0"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Ok(None);
    }
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(days), rest),
        None => (None, text),
    };
    let number = |text: &str| value::count(text, 0, 1_000_000_000).map(i64::from).map_err(|_| expected());
    let parts = rest.split(':').map(number).collect::<Result<Vec<_>, _>>()?;
    let seconds = match (days, parts[..].len()) {
        (None, 1) => parts[0] * 60,
        (None, 2) => parts[0] * 60 + parts[1],
        (None | Some(_), 3) => parts[0] * 3_600 + parts[1] * 60 + parts[2],
        (Some(_), 2) => parts[0] * 3_600 + parts[1] * 60,
        (Some(_), 1) => parts[0] * 3_600,
        _ => return Err(expected()),
    };
    let seconds = seconds + days.map(number).transpose()?.unwrap_or(0) * 86_400;
    match Span::seconds(seconds) {
        Span::ZERO => Ok(None),
        span if span > Span::CENTURY => Err("a time of at most 100 years".into()),
        span => Ok(Some(span)),
    }
}

/// Memory; a bare number counts mebibytes, and none means all there is.
pub(super) fn memory(text: &str) -> Result<Option<u64>, Expected> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let unit = match text[end..].to_ascii_uppercase().as_str() {
        "K" | "KB" => "KiB",
        "" | "M" | "MB" => "MiB",
        "G" | "GB" => "GiB",
        "T" | "TB" => "TiB",
        _ => "",
    };
    match value::memory(&format!("{}{unit}", &text[..end])) {
        Ok(0) if end > 0 => Ok(None),
        Ok(bytes) if !unit.is_empty() && bytes > 0 => Ok(Some(bytes)),
        _ => Err("an amount of memory like 64G or 4096M".into()),
    }
}

/// `8`, `h100:8` or `h100`: a kind, if one is named, and a number.
pub(super) fn devices(text: &str) -> Result<(Option<String>, u32), Expected> {
    let expected = || "a number of GPUs like 8 or h100:8".to_string();
    let (kind, number) = match text.rsplit_once(':') {
        Some((kind, number)) => (Some(kind), number),
        None if text.starts_with(|letter: char| letter.is_ascii_digit()) => (None, text),
        None => (Some(text), "1"),
    };
    let kind = kind.map(|kind| value::name(&kind.to_lowercase())).transpose().map_err(|_| expected())?;
    match kind.as_deref().is_some_and(|kind| kind.contains([',', ':'])) {
        true => Err("one kind of GPU".into()),
        false => Ok((kind, value::width(number).map_err(|_| expected())?)),
    }
}

/// `gpu:h100:8`, `gpu:8` or `gpu`.
pub(super) fn gres(text: &str) -> Result<(Option<String>, u32), Expected> {
    let rest = text.strip_prefix("gres/").or(text.strip_prefix("gres:")).unwrap_or(text);
    match rest.strip_prefix("gpu") {
        Some("") => Ok((None, 1)),
        Some(rest) if rest.starts_with(':') => {
            devices(&rest[1..]).map_err(|_| "gpu, gpu:8 or gpu:h100:8".into())
        }
        _ => Err("gpu, gpu:8 or gpu:h100:8; other resources are not supported".into()),
    }
}

/// `4`, or `2-4`.
pub(super) fn nodes(text: &str) -> Result<Count, Expected> {
    value::range(text).map_err(|_| "a number of nodes like 2, or a range like 2-4".into())
}

/// `afterok:1:2,afterany:3`.
pub(super) fn dependencies(text: &str) -> Result<Vec<Dependency>, Expected> {
    let expected =
        || "afterok, afterany or afternotok with ids of jobs, like afterok:17:18,afterany:19".to_string();
    let mut after: Vec<Dependency> = vec![];
    for part in text.split(',') {
        let mut words = part.split(':');
        let when = match words.next() {
            Some("afterok") => Condition::Succeeded,
            Some("afterany") => Condition::Ended,
            Some("afternotok") => Condition::Failed,
            _ => return Err(expected()),
        };
        let before = after.len();
        for word in words {
            let job = job::settings::job(word).map_err(|_| expected())?;
            if after.iter().any(|other| other.job == job) {
                return Err(format!("job {job} only once"));
            }
            after.push(Dependency { job, when });
        }
        if after.len() == before {
            return Err(expected());
        }
    }
    Ok(after)
}

/// A class of service; `normal` is what most sites call the plain one.
pub(super) fn qos(text: &str) -> Result<Qos, Expected> {
    if text == "normal" { Ok(Qos::Standard) } else { value::qos(text) }
}

/// `USR1@120`: which signal, and how long before the end.
pub(super) fn signal(text: &str) -> Result<Grace, Expected> {
    let text = text.trim_start_matches("B:").trim_start_matches("R:").trim_start_matches("B:");
    let (name, seconds) = text.split_once('@').unwrap_or((text, "60"));
    let expected = || "a signal and seconds like USR1@120".to_string();
    let seconds = value::count(seconds, 0, 65_535).map_err(|_| expected())?;
    Ok(Grace { signal: job::signal(name).map_err(|_| expected())?, span: Span::seconds(seconds.into()) })
}

/// A path in which `%j`, `%A`, `%x`, `%a` and `%t` stand for something.
pub(super) fn pattern(text: &str) -> Result<String, Expected> {
    let path = job::settings::path(text)?;
    let mut letters = path.chars();
    while let Some(letter) = letters.next() {
        if letter == '%' && !matches!(letters.next(), Some('j' | 'A' | 'x' | 'a' | 't' | '%')) {
            return Err("a path, in which only %j, %A, %x, %a and %t are replaced".into());
        }
    }
    Ok(path.replace("%A", "%j"))
}

/// So many processors of one task.
pub(super) fn cpus(text: &str) -> Result<u32, Expected> {
    value::count(text, 1, 100_000)
}

/// So many tasks.
pub(super) fn tasks(text: &str) -> Result<u32, Expected> {
    value::count(text, 1, limits::WIDTH)
}

/// `a` or `a&b`: features that a node must all have. Slurm knows more, such as one of several; here all of them count.
pub(super) fn features(text: &str) -> Result<Vec<String>, Expected> {
    let expected = || "names of features with & between them like ib&nvme".to_string();
    if text.contains(['|', '[', ']', '*', '(', ')', ',']) {
        return Err(expected());
    }
    let names = text.split('&').map(|name| value::name(name.trim()).map_err(|_| expected()));
    Ok(value::sorted(names.collect::<Result<_, _>>()?))
}
