//! The data: files read and parsed, with the name of the file in every complaint; and the clock that times planners.

use consort_types::file::ReadError;
use cpu_time::ProcessTime;
use serde::de::DeserializeOwned;
use std::io::Read;
use std::path::Path;

/// A file as text, unpacked where its name ends in `.gz`.
pub fn text(path: &Path) -> Result<String, ReadError> {
    let name = path.display().to_string();
    let fail = |error: std::io::Error| ReadError::whole(&name, format!("cannot be read: {error}"));
    let bytes = std::fs::read(path).map_err(fail)?;
    let mut text = String::new();
    match path.extension().is_some_and(|end| end == "gz") {
        true => flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).map_err(fail)?,
        false => (&bytes[..]).read_to_string(&mut text).map_err(fail)?,
    };
    Ok(text)
}

/// A file of JSON.
pub fn json<T: DeserializeOwned>(path: &Path) -> Result<T, ReadError> {
    serde_json::from_str(&text(path)?)
        .map_err(|error| ReadError::whole(&path.display().to_string(), error.to_string()))
}

/// What a planner says, and the CPU time it took in milliseconds.
pub fn timed<T>(plan: impl FnOnce() -> T) -> (T, f64) {
    let began = ProcessTime::now();
    let answer = plan();
    (answer, began.elapsed().as_secs_f64() * 1000.0)
}
