//! Whether the file of the journal was cut short.
//!
//! SQLite notices that a page is missing when it reads that page, which may be years later: events before the snapshot
//! are not read at the start. So the extent is compared here: each page that the database has lies in the file, or in
//! the write-ahead log because the file was not extended yet.

use super::salvage::with_suffix;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of the log's header, and of the header of each frame.
const LOG_HEAD: u64 = 32;
const FRAME_HEAD: u64 = 24;

/// The first page that lies in neither file, of a database of so many pages.
pub(super) fn missing_page(path: &Path, pages: u64, page_bytes: u64) -> io::Result<Option<u64>> {
    let in_file = std::fs::metadata(path)?.len() / page_bytes;
    if in_file >= pages {
        return Ok(None);
    }
    let logged = logged_pages(&with_suffix(path, "-wal"), page_bytes)?;
    Ok((in_file + 1..=pages).find(|page| !logged.contains(page)))
}

/// The pages of which the log has a frame written since the log last began anew.
fn logged_pages(log: &Path, page_bytes: u64) -> io::Result<BTreeSet<u64>> {
    let mut pages = BTreeSet::new();
    let file = match File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(pages),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    if length < LOG_HEAD {
        return Ok(pages);
    }
    let mut head = [0; LOG_HEAD as usize];
    file.read_exact_at(&mut head, 0)?;
    let salts = &head[16..24];
    let mut frame = [0; FRAME_HEAD as usize];
    for at in (LOG_HEAD..length.saturating_sub(FRAME_HEAD)).step_by((FRAME_HEAD + page_bytes) as usize) {
        file.read_exact_at(&mut frame, at)?;
        if &frame[8..16] == salts {
            pages.insert(u64::from(u32::from_be_bytes(frame[..4].try_into().expect("four bytes"))));
        }
    }
    Ok(pages)
}
