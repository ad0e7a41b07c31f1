//! Any file: chosen by its extension, and a table by its header.
//!
//! | extension | workload | cluster |
//! |---|---|---|
//! | `.yaml`, `.yml` | job list | cluster file |
//! | `.csv` | job table, or a table of others, given away by its first line | tables of others likewise |
//! | `.swf` | Standard Workload Format | the machine in its comments |
//! | `.json`, or none and the name `cluster_job_log` | Philly's job log | |
//! | `.trace` | Gavel's and Shockwave's workloads | |
//! | none and the name `cluster_machine_list` | | the machines of Philly |
//!
//! Each may be packed with gzip (`.gz`). A folder stands for the one file in it that has a name as published. Some
//! formats need or like a second file, which is looked for beside the first. The only module of the workload that
//! touches the disk; it never writes.

use super::gavel::Throughputs;
use super::read_error::ReadError;
use super::{Cluster, Workload, cluster_file, limits, table, tiresias};
use super::{gavel, helios, helios_log, job_csv, job_list, openb, pai, philly, sia, swf};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What the devices of a table are called that does not say what they are.
const DEVICE: &str = "device";
/// Files that a folder may stand for.
const WORKLOADS: [&str; 4] =
    ["pai_task_table.csv", "cluster_log.csv", "cluster_job_log", "cluster_job_log.json"];
const CLUSTERS: [&str; 3] = ["pai_machine_spec.csv", "cluster_machine_list", "cluster_machine_list.csv"];

/// A file that was looked for beside another: its name and its bytes.
type Found = Option<(String, Vec<u8>)>;

/// Reads a workload from a file, or from a folder of published files.
pub fn read_workload(path: impl AsRef<Path>) -> Result<Workload, ReadError> {
    let path = file_in(path.as_ref(), &WORKLOADS)?;
    let (file, bytes) = bytes(&path)?;
    workload(&file, &bytes, &|name, up| beside(&path, name, up))
}

/// Reads a cluster from a file, or from a folder of published files.
pub fn read_cluster(path: impl AsRef<Path>) -> Result<Cluster, ReadError> {
    let (file, bytes) = bytes(&file_in(path.as_ref(), &CLUSTERS)?)?;
    parse_cluster(&file, &bytes)
}

/// Reads a workload from what a file of this name holds, with nothing beside it. Jobs of public tables accept any
/// kind of device, unless they name one.
pub fn parse_workload(file: &str, bytes: &[u8]) -> Result<Workload, ReadError> {
    workload(file, bytes, &|_, _| Ok(None))
}

fn workload(
    file: &str,
    bytes: &[u8],
    beside: &dyn Fn(&str, usize) -> Result<Found, ReadError>,
) -> Result<Workload, ReadError> {
    match extension(file) {
        "yaml" | "yml" => job_list::parse(file, text(file, bytes)?),
        "swf" => swf::parse(file, bytes),
        "json" => philly::parse(file, bytes),
        _ if is_named(file, "cluster_job_log") => philly::parse(file, bytes),
        "trace" => {
            let table = if gavel::needs_throughputs(bytes) { beside(gavel::TABLE, 2)? } else { None };
            let table = table.map(|(file, bytes)| Throughputs::parse(&file, &bytes)).transpose()?;
            gavel::parse(file, bytes, table.as_ref())
        }
        "csv" => {
            let header = table::header(bytes);
            if pai::is_task_table(&header) || is_named(file, "pai_task_table") {
                let jobs = beside("pai_job_table.csv", 0)?;
                let jobs = jobs.as_ref().map(|(file, bytes)| (file.as_str(), bytes.as_slice()));
                pai::parse((file, bytes), jobs)
            } else if pai::is_job_table(&header) {
                let message = "is PAI's table of jobs, which has no devices, expected its table of tasks";
                Err(ReadError::whole(file, message))
            } else {
                csv_workload(file, bytes, &header)
            }
        }
        _ => Err(other_extension(file, ".yaml, .yml, .csv, .json, .swf, .trace")),
    }
}

fn csv_workload(file: &str, bytes: &[u8], header: &[String]) -> Result<Workload, ReadError> {
    match header {
        _ if helios::is_job_table(header) => Ok(helios::to_workload(&helios::parse_jobs(file, bytes)?, "")),
        _ if helios_log::is_job_log(header) => helios_log::parse(file, bytes),
        _ if tiresias::is_job_table(header) => {
            Ok(tiresias::to_workload(&tiresias::parse_jobs(file, bytes)?, ""))
        }
        _ if sia::is_job_table(header) => sia::parse(file, bytes),
        _ if openb::is_pod_list(header) => openb::parse(file, bytes),
        _ if sia::is_pool(header) => sia::parse_pool(file, bytes),
        _ => job_csv::parse(file, bytes),
    }
}

/// Reads a cluster from what a file of this name holds.
pub fn parse_cluster(file: &str, bytes: &[u8]) -> Result<Cluster, ReadError> {
    let header = table::header(bytes);
    match extension(file) {
        "yaml" | "yml" => cluster_file::parse(file, text(file, bytes)?),
        "swf" => swf::parse_cluster(file, bytes),
        "csv" | "" if philly::is_machine_list(&header) || is_named(file, "cluster_machine_list") => {
            philly::parse_cluster(file, bytes)
        }
        "csv" if pai::is_machine_table(&header) || is_named(file, "pai_machine_spec") => {
            pai::parse_cluster(file, bytes)
        }
        "csv" if openb::is_node_list(&header) => Ok(openb::to_cluster(&openb::parse_nodes(file, bytes)?)),
        "csv" => tiresias::parse_cluster(file, bytes, DEVICE),
        _ => Err(other_extension(file, ".yaml, .yml, .csv, .swf")),
    }
}

fn other_extension(file: &str, known: &str) -> ReadError {
    match extension(file) {
        "tar" | "tgz" | "zip" => ReadError::whole(file, "is an archive; unpack it first"),
        _ => ReadError::whole(
            file,
            format!("has another extension, expected {known} or one of these with .gz"),
        ),
    }
}

/// The file itself, or the one that a folder stands for.
fn file_in(path: &Path, names: &[&str]) -> Result<PathBuf, ReadError> {
    if !path.is_dir() {
        return Ok(path.into());
    }
    let mut found: Vec<PathBuf> = names.iter().filter_map(|name| one_of(path, name)).collect();
    match (found.pop(), found.is_empty()) {
        (Some(file), true) => Ok(file),
        _ => {
            let names = names.join(", ");
            let message =
                format!("is a folder; name a file, or a folder in which one of {names} is expected");
            Err(ReadError::whole(&path.display().to_string(), message))
        }
    }
}

/// A file of this name in a folder, packed or not.
fn one_of(folder: &Path, name: &str) -> Option<PathBuf> {
    [folder.join(name), folder.join(format!("{name}.gz"))].into_iter().find(|path| path.is_file())
}

/// Looks for a file in the folder of another, and in so many folders above it.
fn beside(path: &Path, name: &str, up: usize) -> Result<Found, ReadError> {
    // A bare name has no folders in it. Links are not followed: beside means where the person put the file.
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let found = whole.ancestors().skip(1).take(up + 1).find_map(|folder| one_of(folder, name));
    found.map(|path| bytes(&path)).transpose()
}

/// The name of a file and its bytes, unpacked if they are packed.
pub(crate) fn bytes(path: &Path) -> Result<(String, Vec<u8>), ReadError> {
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
        true => Err(ReadError::whole(file, "is larger than 2 GiB")),
        false => Ok(()),
    }
}

fn extension(file: &str) -> &str {
    let name = last_part(file);
    let name = name.strip_suffix(".gz").unwrap_or(name);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Whether the name of a file, without folders and extensions, is this.
fn is_named(file: &str, name: &str) -> bool {
    last_part(file).split('.').next() == Some(name)
}

/// The name of a file without its folders.
fn last_part(file: &str) -> &str {
    file.rsplit(std::path::is_separator).next().unwrap_or(file)
}

fn text<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, ReadError> {
    let bytes = table::without_mark(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let line = before.matches('\n').count() as u64 + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() as u64 + 1;
        ReadError { line, column, ..ReadError::whole(file, "is not UTF-8") }
    })
}
