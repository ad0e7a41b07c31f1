//! One JSON object of progress, as a job writes it.

use consort_types::Sample;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Fields of the object.
const FIELDS: [&str; 9] =
    ["done", "total", "rate", "batch", "saved", "unit", "memory_bytes", "power_watts", "stats"];

/// The sample in these bytes, or what is wrong with them.
pub fn parse(bytes: &[u8]) -> Result<Sample, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| format!("expected JSON, {error}"))?;
    let Value::Object(fields) = value else {
        return Err("expected an object, like {\"done\": 1200, \"total\": 5000}".into());
    };
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        let shown: String = unknown.chars().filter(|letter| !letter.is_control()).take(32).collect();
        return Err(format!("unknown field `{shown}`, expected one of {}", FIELDS.join(", ")));
    }
    let sample = Sample {
        done_milli: number(&fields, "done", 1e3)?,
        total_milli: number(&fields, "total", 1e3)?,
        rate_nano: number(&fields, "rate", 1e9)?,
        batch: number(&fields, "batch", 1.0)?,
        saved_milli: number(&fields, "saved", 1e3)?,
        memory_bytes: number(&fields, "memory_bytes", 1.0)?,
        power_mw: number(&fields, "power_watts", 1e3)?,
        unit: match fields.get("unit") {
            None | Some(Value::Null) => None,
            Some(Value::String(unit)) => Some(unit.as_str().into()),
            Some(_) => return Err("`unit` must be text, like \"step\"".into()),
        },
        stats: stats(&fields)?,
    };
    match sample.is_sane() {
        true => Ok(sample),
        false => Err(format!(
            "names must have 1 to {} printable bytes, and there may be {} statistics",
            Sample::NAME,
            Sample::STATS
        )),
    }
}

/// A number that is not negative, in parts of a unit.
fn number(fields: &Map<String, Value>, name: &str, parts: f64) -> Result<u64, String> {
    let value = match fields.get(name) {
        None | Some(Value::Null) => return Ok(0),
        Some(value) => value.as_f64().ok_or_else(|| format!("`{name}` must be a number"))?,
    };
    let scaled = value * parts;
    if !(0.0..=Sample::MOST as f64).contains(&scaled) {
        return Err(format!("`{name}` is {value}, expected 0 to {:e}", Sample::MOST as f64 / parts));
    }
    Ok(scaled.round() as u64)
}

fn stats(fields: &Map<String, Value>) -> Result<Vec<(Arc<str>, i64)>, String> {
    let stats = match fields.get("stats") {
        None | Some(Value::Null) => return Ok(vec![]),
        Some(Value::Object(stats)) => stats,
        Some(_) => return Err("`stats` must be an object of numbers".into()),
    };
    let stat = |(name, value): (&String, &Value)| {
        let value = value.as_f64().filter(|value| value.abs() < 1e15);
        let value = value.ok_or("`stats` must be numbers between -1e15 and 1e15")?;
        Ok((Arc::from(name.as_str()), (value * 1e3).round() as i64))
    };
    let mut stats: Vec<(Arc<str>, i64)> = stats.iter().map(stat).collect::<Result<_, String>>()?;
    stats.sort_unstable();
    Ok(stats)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_kinds_are_read() {
        let text = br#"{"done": 1200.5, "total": 5000, "rate": 0.0000277, "unit": "step", "batch": 256, "saved": 1000,
            "memory_bytes": 68719476736, "power_watts": 650.25, "stats": {"loss": -0.5, "gradient_noise": 12}}"#;
        let sample = parse(text).unwrap();
        assert_eq!(
            (sample.done_milli, sample.total_milli, sample.saved_milli),
            (1_200_500, 5_000_000, 1_000_000)
        );
        assert_eq!((sample.rate_nano, sample.batch, sample.power_mw), (27_700, 256, 650_250));
        assert_eq!(sample.memory_bytes, 64 << 30);
        assert_eq!(sample.stats, [("gradient_noise".into(), 12_000), ("loss".into(), -500)]);
        assert_eq!(parse(b"{}").unwrap(), Sample::default());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, why) in [
            ("", "expected JSON"),
            ("1200", "expected an object"),
            (r#"{"step": 3}"#, "unknown field `step`, expected one of done, total"),
            (r#"{"done": -1}"#, "`done` is -1, expected 0 to"),
            (r#"{"rate": 1e300}"#, "`rate` is"),
            (r#"{"done": "12"}"#, "`done` must be a number"),
            (r#"{"unit": 3}"#, "`unit` must be text"),
            (r#"{"unit": "st\u0007ep"}"#, "printable"),
            (r#"{"stats": {"a": "b"}}"#, "`stats` must be numbers"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
