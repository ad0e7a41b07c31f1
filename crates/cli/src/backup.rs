//! `consort backup` and `consort restore`: a copy of the journal, and the way back.

use crate::failure::Failure;
use crate::live::server::Server;
use crate::numbers::thousands;
use crate::progress::Progress;
use crate::screen::{print, print_json};
use crate::up::{data_dir, outside};
use consort_daemon::folder::Folder;
use consort_daemon::journal::backup;
use serde_json::json;
use std::path::PathBuf;

const BACKUP: &str = "\
Examples:
  consort backup /backup/consort-monday.db
  consort backup --data-dir /srv/consort today.db    also while no daemon runs

A backup is one file: every event acknowledged before the command started, what
jobs run, and the jobs that ended; not their output. The daemon keeps running.
`consort restore` restores it.";

const RESTORE: &str = "\
Examples:
  consort restore /backup/consort-monday.db --data-dir /srv/consort-new
  consort up --data-dir /srv/consort-new

The data directory must be empty or new. Jobs that had not ended at the last
event of the backup are paused, because they may have ended since; `consort
status` lists them. Resume those that should run again, cancel the others.";

/// Back up the journal of a running daemon to a file
#[derive(clap::Args)]
#[command(after_help = BACKUP)]
pub struct BackupArgs {
    /// File to write; must not exist yet
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Data directory to back up [default: that of the server]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

/// Restore a backup into an empty data directory
#[derive(clap::Args)]
#[command(after_help = RESTORE)]
pub struct RestoreArgs {
    /// File written by `consort backup`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Data directory to create [default: consort in the user's data directory]
    #[arg(long, value_name = "DIR", env = "CONSORT_DATA_DIR")]
    data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `consort backup`.
pub fn back_up(args: &BackupArgs) -> Result<(), Failure> {
    let folder = match &args.data_dir {
        Some(folder) => folder.clone(),
        None => args.server.client()?.status()?.data_dir.into(),
    };
    let progress = Progress::counting("events");
    let written = backup::backup(&folder, &args.file, &mut |position, of| {
        if position.is_multiple_of(1024) {
            progress.at("checking", position, of);
        }
    });
    drop(progress);
    let written = written.map_err(outside)?;
    if args.json {
        return print_json(&json!({
            "file": args.file, "data_dir": folder, "position": written.position, "bytes": written.bytes,
        }));
    }
    print(&format!(
        "{}: {} events of {}, {} bytes\n",
        args.file.display(),
        thousands(written.position),
        folder.display(),
        thousands(written.bytes)
    ))
}

/// `consort restore`.
pub fn restore(args: &RestoreArgs) -> Result<(), Failure> {
    let path = args.data_dir.clone().map_or_else(data_dir, Ok)?;
    if !args.file.exists() {
        let what = format!("{}: no such file", args.file.display());
        return Err(Failure::request(what, "give a file written by `consort backup`"));
    }
    let folder = Folder::take(&path).map_err(outside)?;
    let progress = Progress::counting("events");
    let restored = backup::restore(&args.file, &folder, &mut |position, of| {
        if position.is_multiple_of(1024) {
            progress.at("checking", position, of);
        }
    });
    drop(progress);
    let restored = restored.map_err(outside)?;
    if args.json {
        return print_json(&json!({
            "file": args.file, "data_dir": folder.path(), "position": restored.position,
            "paused": restored.living, "notes": restored.notes,
        }));
    }
    let (path, position) = (folder.path().display(), thousands(restored.position));
    let mut text = format!("{path}: restored to event {position}\n");
    for note in &restored.notes {
        text += &format!("note: {note}\n");
    }
    print(&text)
}
