//! Files that we write: whole or not at all.

use crate::failure::Failure;
use std::fs;
use std::path::Path;

/// Puts a whole file in place of whatever was there: written beside it, then renamed over it, so that a reader never
/// sees half of it and a full disk leaves the old one alone.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    // A link stays a link: what it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let fault = |error: std::io::Error| Failure::file(path, "written", &error);
    let kept = fs::metadata(&target).ok();
    // A pipe or a device cannot be replaced by a file, only written to.
    if let Some(kept) = &kept
        && !kept.is_file()
        && !kept.is_dir()
    {
        return fs::write(&target, bytes).map_err(fault);
    }
    if kept.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(Failure::request(format_args!("{}: is a folder", path.display()), "name a file"));
    }
    let Some(name) = target.file_name() else {
        return Err(Failure::request(format_args!("{}: not a file name", path.display()), "name a file"));
    };
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = target.with_file_name(temporary);
    let written = fs::write(&temporary, bytes).and_then(|()| {
        if let Some(kept) = kept {
            fs::set_permissions(&temporary, kept.permissions())?;
        }
        fs::rename(&temporary, &target)
    });
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        fault(error)
    })
}

/// Makes a folder ready for a report, before the work that fills it: hours of work are worth nothing if there is
/// nowhere to put the result.
pub fn folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::NotADirectory => Failure::request(
            format_args!("{}: is not a folder", path.display()),
            "name a folder for the report",
        ),
        std::io::ErrorKind::NotFound => Failure::request(
            format_args!("{}: no folder can be created here", path.display()),
            "choose another place for the report",
        ),
        _ => Failure::file(path, "created", &error),
    })
}

/// Whether the folder that a file is to be written to is there, before the work.
pub fn folder_of(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.is_dir() && !path.is_dir() {
        true => Ok(()),
        false if path.is_dir() => {
            Err(Failure::request(format_args!("{}: is a folder", path.display()), "name a file"))
        }
        false => Err(Failure::request(
            format_args!("{}: no such folder: {}", path.display(), folder.display()),
            "create it first",
        )),
    }
}
