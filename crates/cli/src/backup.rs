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

The copy is one file. It holds every event that was acknowledged before the
command began, what the jobs run, and the jobs that ended; not their output.
The daemon goes on meanwhile. `consort restore` brings it back.";

const RESTORE: &str = "\
Examples:
  consort restore /backup/consort-monday.db --data-dir /srv/consort-new
  consort up --data-dir /srv/consort-new

The data directory must be empty or new. Jobs that had not ended at the last
event of the backup are paused, because they may have ended since; `consort
status` names them. Resume those that should run again, cancel the others.";

/// Copy the journal of a daemon into a file, while it runs
#[derive(clap::Args)]
#[command(after_help = BACKUP)]
pub struct BackupArgs {
    /// The file to write; it must not exist yet
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The data directory to copy [default: that of the server]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

/// Fill an empty data directory from a backup
#[derive(clap::Args)]
#[command(after_help = RESTORE)]
pub struct RestoreArgs {
    /// The file that `consort backup` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where the journal goes [default: consort in the user's data directory]
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
        let what = format!("{}: there is no such file", args.file.display());
        return Err(Failure::request(what, "give a file that `consort backup` wrote"));
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
