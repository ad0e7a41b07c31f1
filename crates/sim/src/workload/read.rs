//! Any file: chosen by its extension, and a table by its header.
//!
//! | extension | workload | cluster |
//! |---|---|---|
//! | `.yaml`, `.yml` | job list | cluster file |
//! | `.csv` | job table, or a public table that the header gives away | Tiresias' table |
//!
//! Each may be packed with gzip (`.gz`). The only module of the workload that touches the disk; it never writes.

use super::read_error::ReadError;
use super::{Cluster, Workload, cluster_file, helios, job_csv, job_list, limits, table, tiresias};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What the devices of a table are called that does not say what they are.
const DEVICE: &str = "device";

/// Reads a workload from a file.
pub fn read_workload(path: impl AsRef<Path>) -> Result<Workload, ReadError> {
    let (file, bytes) = bytes(path.as_ref())?;
    parse_workload(&file, &bytes)
}

/// Reads a cluster from a file.
pub fn read_cluster(path: impl AsRef<Path>) -> Result<Cluster, ReadError> {
    let (file, bytes) = bytes(path.as_ref())?;
    parse_cluster(&file, &bytes)
}

/// Reads a workload from what a file of this name holds. Jobs of public tables accept any kind of device.
pub fn parse_workload(file: &str, bytes: &[u8]) -> Result<Workload, ReadError> {
    match extension(file) {
        "yaml" | "yml" => job_list::parse(file, text(file, bytes)?),
        "csv" => {
            let header = table::header(bytes);
            if helios::is_job_table(&header) {
                Ok(helios::to_workload(&helios::parse_jobs(file, bytes)?, ""))
            } else if tiresias::is_job_table(&header) {
                Ok(tiresias::to_workload(&tiresias::parse_jobs(file, bytes)?, ""))
            } else {
                job_csv::parse(file, bytes)
            }
        }
        _ => Err(ReadError::whole(
            file,
            "has another extension, expected .yaml, .yml, .csv or one of these with .gz",
        )),
    }
}

/// Reads a cluster from what a file of this name holds.
pub fn parse_cluster(file: &str, bytes: &[u8]) -> Result<Cluster, ReadError> {
    match extension(file) {
        "yaml" | "yml" => cluster_file::parse(file, text(file, bytes)?),
        "csv" => tiresias::parse_cluster(file, bytes, DEVICE),
        _ => Err(ReadError::whole(
            file,
            "has another extension, expected .yaml, .yml, .csv or one of these with .gz",
        )),
    }
}

/// The name of a file and its bytes, unpacked if they are packed.
pub(super) fn bytes(path: &Path) -> Result<(String, Vec<u8>), ReadError> {
    let name = path.display().to_string();
    let fault = |error: std::io::Error| ReadError::whole(&name, format!("cannot be read: {error}"));
    let mut bytes = vec![];
    let file = File::open(path).map_err(fault)?;
    // One byte more than allowed tells "just fits" from "too long", also where a size is not known beforehand.
    file.take(limits::FILE_BYTES + 1).read_to_end(&mut bytes).map_err(fault)?;
    check_size(&name, &bytes)?;
    let bytes = unpack(&name, bytes)?;
    Ok((name, bytes))
}

/// The bytes themselves, or what they hold if they are packed with gzip.
fn unpack(file: &str, packed: Vec<u8>) -> Result<Vec<u8>, ReadError> {
    if !packed.starts_with(&[0x1f, 0x8b]) {
        return Ok(packed);
    }
    let mut bytes = vec![];
    let unpacked =
        MultiGzDecoder::new(packed.as_slice()).take(limits::FILE_BYTES + 1).read_to_end(&mut bytes);
    unpacked.map_err(|error| ReadError::whole(file, format!("cannot be unpacked: {error}")))?;
    check_size(file, &bytes)?;
    Ok(bytes)
}

fn check_size(file: &str, bytes: &[u8]) -> Result<(), ReadError> {
    match bytes.len() as u64 > limits::FILE_BYTES {
        true => Err(ReadError::whole(file, "is larger than 2 GiB, expected less")),
        false => Ok(()),
    }
}

fn extension(file: &str) -> &str {
    let name = file.strip_suffix(".gz").unwrap_or(file);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn text<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, ReadError> {
    let bytes = table::without_mark(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let line = before.matches('\n').count() as u64 + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() as u64 + 1;
        ReadError { line, column, ..ReadError::whole(file, "is not UTF-8, expected UTF-8") }
    })
}
