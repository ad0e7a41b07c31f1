//! Everything that is neither hardware nor a command: who, when, how long, and how workers are treated.

use super::{Around, DEFAULT, environment};
use crate::file::limits;
use crate::file::read_error::ReadError;
use crate::file::value;
use crate::file::yaml::{Fields, Node, Value};
use crate::id::JobId;
use crate::job::{Dependency, JobSpec};
use crate::time::{Span, Time, calendar};
use crate::work::{Grace, Limits, Output, Work};

/// Signals by name. The numbers are those of Linux.
pub const SIGNALS: [(&str, i32); 12] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ABRT", 6),
    ("KILL", 9),
    ("USR1", 10),
    ("USR2", 12),
    ("ALRM", 14),
    ("TERM", 15),
    ("CONT", 18),
    ("STOP", 19),
    ("WINCH", 28),
];

/// The number of a signal: `USR1`, `SIGUSR1` or `10`.
pub fn signal(text: &str) -> Result<i32, value::Expected> {
    let name = text.to_ascii_uppercase();
    let name = name.strip_prefix("SIG").unwrap_or(&name);
    let known = SIGNALS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    known
        .or_else(|| value::count(text, 1, 64).ok().map(|number| number as i32))
        .ok_or_else(|| "the name of a signal like TERM, INT or USR1, or its number from 1 to 64".into())
}

/// Who, when and how long.
pub(super) fn spec(fields: &mut Fields, spec: &mut JobSpec, around: &Around<'_>) -> Result<(), ReadError> {
    spec.tenant = fields.read("tenant", value::name)?.unwrap_or_else(|| DEFAULT.into());
    spec.queue = fields.read("queue", value::name)?.unwrap_or_else(|| DEFAULT.into());
    spec.priority = fields.read("priority", value::priority)?.unwrap_or(spec.priority);
    spec.qos = fields.read("qos", value::qos)?.unwrap_or(spec.qos);
    spec.after = fields.take("after").map_or(Ok(vec![]), dependencies)?;
    spec.deadline = fields.read("deadline", |text| deadline(text, around.now))?;
    spec.estimate = fields.read("estimate", value::span)?;
    spec.time_limit = fields.read("time_limit", some_span)?;
    spec.restart_cost = fields.read("restart_cost", value::span)?.unwrap_or(spec.restart_cost);
    spec.retries = fields.read("retries", value::retries)?.unwrap_or(spec.retries);
    spec.backoff = fields.read("backoff", value::span)?.unwrap_or(spec.backoff);
    Ok(())
}

/// How workers are treated; what they run comes later.
pub(super) fn work(fields: &mut Fields, around: &Around<'_>) -> Result<Work, ReadError> {
    Ok(Work {
        stages: vec![],
        workdir: fields
            .read("workdir", |text| workdir(text, around))?
            .unwrap_or_else(|| if around.workdir.is_empty() { "/" } else { around.workdir }.into()),
        image: fields.read("image", image)?,
        env: environment::take(fields, "env")?,
        inherited: environment::take(fields, "inherit")?,
        grace: fields.take("grace").map_or_else(|| Ok(Grace::default()), grace)?,
        limits: fields.take("limits").map_or_else(|| Ok(Limits::default()), self::limits)?,
        output: fields.take("output").map_or_else(|| Ok(Output::default()), output)?,
    })
}

/// A length of time that is not nothing.
pub(crate) fn some_span(text: &str) -> Result<Span, value::Expected> {
    match value::span(text)? {
        Span::ZERO => Err("a time longer than 0s".into()),
        span => Ok(span),
    }
}

/// `17`, or `[17, {job: 18, when: ended}]`.
fn dependencies(node: Node) -> Result<Vec<Dependency>, ReadError> {
    let items = match node.value {
        Value::Map(_) => vec![node],
        _ => node.one_or_more("after")?,
    };
    let mut after: Vec<Dependency> = vec![];
    for node in items {
        let place = node.place;
        let dependency = match node.value {
            Value::Map(_) => {
                let mut fields = node.fields("`after`", &["job", "when"])?;
                let job = fields.need("job")?.read("job", job)?;
                Dependency { job, when: fields.read("when", value::condition)?.unwrap_or_default() }
            }
            _ => Dependency { job: node.read("after", job)?, when: Default::default() },
        };
        if after.iter().any(|other| other.job == dependency.job) {
            return Err(place.fail(format!("`after` names job {} twice", dependency.job)));
        }
        after.push(dependency);
    }
    Ok(after)
}

/// The id of a job.
pub(crate) fn job(text: &str) -> Result<JobId, value::Expected> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).map(JobId).ok_or_else(|| "the id of a job like 17".into())
}

/// `+6h` from now, or an instant by the calendar.
pub fn deadline(text: &str, now: Time) -> Result<Time, value::Expected> {
    let expected = || "a time from now like +6h, or an instant like 2026-03-09T14:05:00Z".to_string();
    match text.strip_prefix('+') {
        Some(after) => value::span(after).map(|span| now + span).map_err(|_| expected()),
        None => match calendar::read(text) {
            Some(time) if time < now => Err("an instant in the future".into()),
            Some(time) => Ok(time),
            None => Err(expected()),
        },
    }
}

/// An absolute path, or one below the folder around, if there is one.
pub(crate) fn workdir(text: &str, around: &Around<'_>) -> Result<String, value::Expected> {
    let text = path(text)?;
    match text.trim_end_matches('/').trim_start_matches("./") {
        _ if text.starts_with('/') => Ok(text),
        _ if around.workdir.is_empty() => Err("an absolute path like /data/train".into()),
        "" | "." => Ok(around.workdir.into()),
        below => path(&format!("{}/{below}", around.workdir.trim_end_matches('/'))),
    }
}

/// Any path at all; whether it is there is for the worker to find out.
pub(crate) fn path(text: &str) -> Result<String, value::Expected> {
    let wrong = text.is_empty() || text.len() > limits::PATH_BYTES || text.chars().any(value::is_hidden);
    match wrong {
        true => Err("a path of at most 4,096 bytes without control or invisible characters".into()),
        false => Ok(text.into()),
    }
}

/// The name of a container image. It becomes an argument of a program, which must not take it for an option.
pub fn image(text: &str) -> Result<String, value::Expected> {
    let is_local = LOCAL_IMAGES.iter().any(|kind| text.starts_with(kind));
    let odd = |letter: char| letter.is_whitespace() || value::is_hidden(letter);
    match text.len() <= limits::PATH_BYTES && !text.chars().any(odd) && (is_local || is_reference(text)) {
        false => Err("the name of a container image like pytorch/pytorch:2.6.0, without spaces".into()),
        true => Ok(text.into()),
    }
}

/// Images that Podman finds elsewhere than in a registry; what stands behind is a path.
const LOCAL_IMAGES: [&str; 5] = ["oci:", "oci-archive:", "docker-archive:", "dir:", "containers-storage:"];

/// `[registry[:port]/]name[:tag][@digest]`, as container runtimes read it.
fn is_reference(text: &str) -> bool {
    let text = text.strip_prefix("docker://").unwrap_or(text);
    let (named, digest) = text.split_once('@').map_or((text, None), |(named, digest)| (named, Some(digest)));
    let is_word = |text: &str, more: &str| {
        let good = |letter: char| letter.is_ascii_alphanumeric() || more.contains(letter);
        !text.is_empty() && text.chars().all(good)
    };
    let is_digest = |digest: &str| {
        let hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        digest.split_once(':').is_some_and(|(kind, sum)| is_word(kind, "+._-") && hex(sum))
    };
    let (folders, last) =
        named.rsplit_once('/').map_or((None, named), |(folders, last)| (Some(folders), last));
    let (last, tag) = last.split_once(':').map_or((last, None), |(last, tag)| (last, Some(tag)));
    let is_tag = |tag: &str| is_word(tag, "_.-") && !tag.starts_with(['.', '-']) && tag.len() <= 128;
    let is_part = |part: &str| {
        let ends = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
        part.starts_with(ends)
            && part.ends_with(ends)
            && part.chars().all(|letter| ends(letter) || "._-".contains(letter))
    };
    let is_registry = |first: &str| {
        let (host, port) = first.rsplit_once(':').map_or((first, "0"), |(host, port)| (host, port));
        let is_address = host.starts_with('[') && host.ends_with(']');
        let is_host = is_word(host, ".-") && !host.starts_with(['.', '-']);
        (is_address || is_host) && port.parse::<u16>().is_ok()
    };
    let mut folders = folders.into_iter().flat_map(|folders| folders.split('/'));
    folders.next().is_none_or(|first| is_part(first) || is_registry(first))
        && folders.all(is_part)
        && is_part(last)
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest)
}

/// `30s`, or `{signal: USR1, span: 30s}`.
fn grace(node: Node) -> Result<Grace, ReadError> {
    let plain = Grace::default();
    if let Value::Text(_) = node.value {
        return Ok(Grace { span: node.read("grace", value::span)?, ..plain });
    }
    let mut fields = node.fields("`grace`", &["signal", "span"])?;
    Ok(Grace {
        signal: fields.read("signal", signal)?.unwrap_or(plain.signal),
        span: fields.read("span", value::span)?.unwrap_or(plain.span),
    })
}

fn limits(node: Node) -> Result<Limits, ReadError> {
    let mut fields = node.fields("`limits`", &["memory", "cpus", "processes", "open_files"])?;
    let number = |text: &str| value::count(text, 1, u32::MAX);
    Ok(Limits {
        memory_bytes: fields.read("memory", some_memory)?,
        cpu_thousandths: fields.read("cpus", cpus)?,
        processes: fields.read("processes", number)?,
        open_files: fields.read("open_files", number)?,
    })
}

/// Memory, and not none of it.
pub(crate) fn some_memory(text: &str) -> Result<u64, value::Expected> {
    match value::memory(text)? {
        0 => Err("some memory, like 8GiB".into()),
        bytes => Ok(bytes),
    }
}

/// Processors, in thousandths.
pub(crate) fn cpus(text: &str) -> Result<u32, value::Expected> {
    match value::thousandths(text) {
        Some(cpus @ 1..=1_000_000_000) => Ok(cpus as u32),
        _ => Err("a number of processors like 2 or 0.5, at most 1,000,000".into()),
    }
}

/// A path, or `{path, rotate, keep}`.
fn output(node: Node) -> Result<Output, ReadError> {
    let plain = Output::default();
    if let Value::Text(_) = node.value {
        return Ok(Output { path: Some(node.read("output", path)?), ..plain });
    }
    let mut fields = node.fields("`output`", &["path", "rotate", "keep"])?;
    let rotate = |text: &str| match value::memory(text)? {
        0..4096 => Err("at least 4KiB".into()),
        bytes => Ok(bytes),
    };
    Ok(Output {
        path: fields.read("path", path)?,
        rotate_bytes: fields.read("rotate", rotate)?.unwrap_or(plain.rotate_bytes),
        keep: fields.read("keep", |text| value::count(text, 0, 1_000))?.unwrap_or(plain.keep),
    })
}
