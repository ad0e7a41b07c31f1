//! The end of one log that may be put aside and begun anew while it is read.
//!
//! Touches the disk, so it belongs on a thread that may wait. A job can put anything in the place of its log: a link to a
//! file that only we may read, a pipe that nobody writes to, a folder. So files are opened through
//! [`consort_agent::untrusted`], and anything but a regular file of the right user is named instead of read.

use crate::site::LogFile;
use consort_agent::untrusted::{self, Owners};
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::time::Duration;

/// Bytes read at once.
pub(super) const PIECE: usize = 256 << 10;
/// How often a folder is looked at again, while names in it change.
const LOOKS: usize = 5;
/// How often while a name is missing in between: a file is on its way from one to the next, which takes a moment, or has
/// been removed by hand, which is for good.
const PATIENT_LOOKS: usize = 50;
/// Between two looks.
const BLINK: Duration = Duration::from_millis(2);

/// Bytes of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Which file; 0 for words of ours.
    pub file: u64,
    /// Where in it.
    pub at: u64,
    pub bytes: Vec<u8>,
}

/// Where a log lies, and whose it has to be.
pub(super) struct Place {
    base: PathBuf,
    name: PathBuf,
    owners: Owners,
}

impl Place {
    pub fn of(file: LogFile, owners: Owners) -> Self {
        Self { base: file.base, name: file.name, owners }
    }

    /// What lies there, without following a link in its place.
    fn look(&self) -> Option<Metadata> {
        self.base.join(&self.name).symlink_metadata().ok()
    }
}

/// The end of one log.
pub(super) struct Tail {
    place: Place,
    open: Option<File>,
    /// Which file is read, and how far; kept while it is closed.
    reached: Option<(u64, u64)>,
    /// Bytes that are still wanted.
    left: u64,
    /// Files before the first line that is wanted, the youngest first: told without a byte of them.
    skipped: Vec<u64>,
    /// Why a file was not opened.
    refused: Option<String>,
    noted: bool,
}

impl Tail {
    /// Of the log at this place, from its beginning or from so many lines before its end. One that is not followed ends
    /// where it ends now.
    pub fn new(place: Place, follow: bool, lines: Option<u64>) -> Self {
        let (open, reached, refused) = (None, None, None);
        let mut tail = Self { place, open, reached, left: u64::MAX, skipped: vec![], refused, noted: false };
        let files = tail.files();
        let before = lines.map_or(0, |lines| tail.skip(&files, lines));
        if !follow {
            tail.left = files.iter().map(|(_, data)| data.len()).sum::<u64>() - before;
        }
        tail
    }

    /// Goes to where the last lines begin, without reading what is before them. How many bytes that is.
    fn skip(&mut self, files: &[(PathBuf, Metadata)], lines: u64) -> u64 {
        let mut ends = LineEnds { left: lines, at_end: true };
        for (index, (name, data)) in files.iter().enumerate().rev() {
            let Some(begin) = self.open(name, data.ino()).and_then(|file| ends.begin(&file, data.len()))
            else {
                continue;
            };
            self.reached = Some((data.ino(), begin));
            self.skipped = files[..index].iter().rev().map(|(_, data)| data.ino()).collect();
            return files[..index].iter().map(|(_, data)| data.len()).sum::<u64>() + begin;
        }
        0
    }

    /// Bytes that are still wanted.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Gives the descriptor back, and goes on from the same place when it is read again.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// The next bytes, as far as there are any.
    pub fn read(&mut self) -> Option<Piece> {
        if self.left == 0 && self.noted {
            return None;
        }
        if let Some(file) = self.skipped.pop() {
            return Some(Piece { file, at: 0, bytes: vec![] });
        }
        loop {
            if self.open.is_none() && !self.begin() {
                return self.note();
            }
            if let Some(piece) = self.take() {
                return Some(piece);
            }
            let (inode, _) = self.reached?;
            if self.left == 0 || self.place.look().is_some_and(|data| data.ino() == inode) {
                return None;
            }
            // It has been put aside. What was written to it before that may have come after our look.
            if let Some(piece) = self.take() {
                return Some(piece);
            }
            let (file, inode) = self.younger(inode)?;
            (self.open, self.reached) = (Some(file), Some((inode, 0)));
        }
    }

    /// Reads from the open file.
    fn take(&mut self) -> Option<Piece> {
        let (file, (inode, at)) = (self.open.as_mut()?, self.reached?);
        let mut bytes = vec![0; PIECE.min(usize::try_from(self.left).unwrap_or(PIECE))];
        let read = loop {
            match file.read(&mut bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other.unwrap_or(0),
            }
        };
        bytes.truncate(read);
        self.left -= read as u64;
        self.reached = Some((inode, at + read as u64));
        (read > 0).then_some(Piece { file: inode, at, bytes })
    }

    /// Opens the oldest file, or the one that was being read.
    fn begin(&mut self) -> bool {
        for _ in 0..LOOKS {
            let files = self.files();
            let known =
                self.reached.and_then(|(inode, _)| files.iter().find(|(_, data)| data.ino() == inode));
            let Some((name, data)) = known.or(files.first()) else { return false };
            if let Some(mut file) = self.open(name, data.ino()) {
                let at = known.and(self.reached).map_or(0, |(_, at)| at);
                if file.seek(SeekFrom::Start(at)).is_ok() {
                    (self.open, self.reached) = (Some(file), Some((data.ino(), at)));
                    return true;
                }
            }
            if self.refused.is_some() {
                return false;
            }
            std::thread::sleep(BLINK);
        }
        false
    }

    /// The file that was begun after this one was put aside; none if there is none yet.
    fn younger(&mut self, inode: u64) -> Option<(File, u64)> {
        for look in 0..PATIENT_LOOKS {
            let files = self.files();
            let is_settled = self.is_whole(&files) || look + LOOKS >= PATIENT_LOOKS;
            let here = files.iter().position(|(_, data)| data.ino() == inode).filter(|_| is_settled);
            if let Some(here) = here {
                let (name, data) = files.get(here + 1)?;
                if let Some(file) = self.open(name, data.ino()) {
                    return Some((file, data.ino()));
                }
            }
            std::thread::sleep(BLINK);
        }
        // It has been dropped meanwhile: the oldest that is left goes on.
        let files = self.files();
        let (name, data) = files.first().filter(|_| files.iter().all(|(_, data)| data.ino() != inode))?;
        Some((self.open(name, data.ino())?, data.ino()))
    }

    /// The files there are: those put aside, oldest first, and the one being written. Names move while they are looked
    /// at, so what is seen counts once it is seen twice and no name is missing in between.
    fn files(&self) -> Vec<(PathBuf, Metadata)> {
        let mut seen = self.look();
        for _ in 0..LOOKS {
            let again = self.look();
            let is_same =
                seen.iter().map(|(_, data)| data.ino()).eq(again.iter().map(|(_, data)| data.ino()));
            seen = again;
            if is_same && self.is_whole(&seen) {
                break;
            }
            std::thread::sleep(BLINK / 4);
        }
        seen
    }

    /// Whether every name up to the oldest is there: `x.log.2`, `x.log.1`, `x.log`. While files are put aside one of
    /// them is on its way from name to name.
    fn is_whole(&self, files: &[(PathBuf, Metadata)]) -> bool {
        let number = |name: &PathBuf| name.extension()?.to_str()?.parse::<usize>().ok();
        let aside = files.len().saturating_sub(1);
        let in_order = files.iter().take(aside).zip((1..=aside).rev());
        files.last().is_none_or(|(name, _)| *name == self.place.name)
            && in_order.into_iter().all(|((name, _), wanted)| number(name) == Some(wanted))
    }

    fn look(&self) -> Vec<(PathBuf, Metadata)> {
        let (base, name) = (&self.place.base, &self.place.name);
        let Some(last) = name.file_name().and_then(|last| last.to_str()) else { return vec![] };
        let folder = base.join(name).parent().map_or_else(|| base.clone(), PathBuf::from);
        let is_file = |name: PathBuf| {
            let data = base.join(&name).symlink_metadata().ok().filter(Metadata::is_file)?;
            Some((name, data))
        };
        // Those put aside are numbered from 1, and while they are renamed there may be a gap: two in a row are the end.
        let mut aside: Vec<u32> = vec![];
        let entry = |number: u32| name.with_file_name(format!("{last}.{number}"));
        let has_any = [1, 2].iter().any(|&number| base.join(entry(number)).symlink_metadata().is_ok());
        if has_any {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let number = |entry: std::fs::DirEntry| {
                entry.file_name().to_str()?.strip_prefix(last)?.strip_prefix('.')?.parse::<u32>().ok()
            };
            aside = entries.filter_map(number).filter(|&number| number > 0).collect();
            aside.sort_unstable_by(|one, other| other.cmp(one));
        }
        aside.into_iter().map(entry).chain([name.clone()]).filter_map(is_file).collect()
    }

    /// What there is to say instead of bytes, once.
    fn note(&mut self) -> Option<Piece> {
        if self.noted {
            return None;
        }
        let shown = self.place.base.join(&self.place.name);
        let why = match self.refused.take() {
            Some(why) => why,
            None if self.place.look()?.is_file() => return None,
            None => format!("{} is not a regular file", shown.display()),
        };
        self.noted = true;
        Some(Piece { file: 0, at: 0, bytes: format!("consort: {why}, not read\n").into() })
    }

    /// Opens a file that is still the one that was meant, without following links or waiting for anybody at its other
    /// end. Keeps the reason if it must never be read.
    fn open(&mut self, name: &std::path::Path, inode: u64) -> Option<File> {
        match untrusted::open(&self.place.base, name, self.place.owners) {
            Ok(file) => file.metadata().is_ok_and(|data| data.ino() == inode).then_some(file),
            Err(error) => {
                if error.kind() == ErrorKind::InvalidData {
                    self.refused = Some(self.place.base.join(error.to_string()).display().to_string());
                }
                None
            }
        }
    }
}

/// Counts lines from the end of a log towards its beginning.
struct LineEnds {
    /// Lines that are still wanted.
    left: u64,
    /// Whether the next byte is the last of the log: a line may have no end yet, and the end of one is not another.
    at_end: bool,
}

impl LineEnds {
    /// Where in this file the lines begin that are wanted; none if they begin before it.
    fn begin(&mut self, file: &File, length: u64) -> Option<u64> {
        let mut bytes = vec![0; PIECE.min(usize::try_from(length).unwrap_or(PIECE))];
        let mut end = length;
        while end > 0 {
            let begin = end.saturating_sub(bytes.len() as u64);
            let piece = &mut bytes[..(end - begin) as usize];
            file.read_exact_at(piece, begin).ok()?;
            for (at, &byte) in piece.iter().enumerate().rev() {
                let ends_here = byte == b'\n' && !self.at_end;
                if self.left == 0 || (ends_here && self.left == 1) {
                    return Some(begin + at as u64 + 1);
                }
                self.left -= u64::from(ends_here);
                self.at_end = false;
            }
            end = begin;
        }
        None
    }
}

#[cfg(test)]
mod tests;
