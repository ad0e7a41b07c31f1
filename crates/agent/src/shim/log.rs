//! Output that is kept, within bounds.
//!
//! For: what a worker prints is there to be read, and cannot fill the disk.
//! Promises: a file that reaches its size is put aside (`x.log`, `x.log.1`, `x.log.2`, the oldest is dropped); bytes that
//! cannot be written are counted, and the log says how many were lost as soon as it can be written again; a file that
//! somebody removed is made again.
//! Never: blocks the worker or fails it because of a log. What is not a regular file (a pipe with a name, `/dev/null`, a
//! terminal) is written to and otherwise left alone: it has no size to bound, and it is not ours to move. A pipe that
//! nobody reads, or not fast enough, loses bytes.

use crate::launch::LogOrder;
use crate::oom;
use crate::status::Lost;
use crate::untrusted;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long after a failure it is tried again, so that a worker that prints a lot into nowhere costs little.
const PATIENCE: Duration = Duration::from_millis(200);

/// Where the output of one worker goes.
pub(super) struct Log<'a> {
    order: &'a LogOrder,
    file: Option<Grown>,
    lost: u64,
    all_lost: Option<Lost>,
    why: String,
    again: Option<Instant>,
    /// The end of what the worker printed, kept or not.
    tail: Vec<u8>,
}

/// What is open at the moment.
struct Grown {
    folder: OwnedFd,
    file: File,
    size: u64,
    /// Only what is regular can be put aside.
    regular: bool,
}

impl<'a> Log<'a> {
    /// Nothing is opened before there is something to write, unless somebody waits for a file of this name.
    pub fn new(order: &'a LogOrder) -> Self {
        let (why, tail) = (String::new(), vec![]);
        let mut log = Self { order, file: None, lost: 0, all_lost: None, why, again: None, tail };
        if order.named {
            log.write(b"");
        }
        log
    }

    /// Keeps these bytes, or counts them.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.again.is_some_and(|again| Instant::now() < again) {
            self.lose(bytes.len());
            return;
        }
        let mut written = 0;
        if let Err(error) = self.try_write(bytes, &mut written) {
            self.lose(bytes.len() - written);
            self.why = error.to_string();
            // Whoever reads slowly is no reason to make the reader believe that this was all.
            if error.kind() != io::ErrorKind::WouldBlock {
                self.file = None;
            }
            self.again = Some(Instant::now() + PATIENCE);
        } else {
            self.again = None;
        }
    }

    /// What the worker prints: kept like anything else, and its end is remembered.
    pub fn print(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(oom::TAIL)..]);
        if self.tail.len() > 2 * oom::TAIL {
            self.tail.drain(..self.tail.len() - oom::TAIL);
        }
        self.write(bytes);
    }

    /// The end of what the worker printed.
    pub fn tail(&self) -> &[u8] {
        &self.tail[self.tail.len().saturating_sub(oom::TAIL)..]
    }

    fn lose(&mut self, count: usize) {
        self.lost += count as u64;
        if count > 0 {
            let first = Lost { bytes: 0, since_ms: super::now_ms() };
            self.all_lost.get_or_insert(first).bytes += count as u64;
        }
    }

    /// What could not be kept so far, whether the log says so or not.
    pub fn all_lost(&self) -> Option<Lost> {
        self.all_lost
    }

    /// A sentence of ours among the output.
    pub fn say(&mut self, sentence: &str) {
        self.write(format!("consort: {sentence}\n").as_bytes());
    }

    /// The last chance to say what was lost.
    pub fn finish(&mut self) {
        if self.lost > 0 {
            self.again = None;
            self.write(b"");
        }
    }

    fn try_write(&mut self, bytes: &[u8], written: &mut usize) -> io::Result<()> {
        self.open()?;
        if self.lost > 0 {
            let sentence = format!("\nconsort: {} bytes of output were lost here: {}\n", self.lost, self.why);
            self.push(sentence.as_bytes())?;
            self.lost = 0;
        }
        while *written < bytes.len() {
            *written += self.push_some(&bytes[*written..])?;
        }
        Ok(())
    }

    fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            bytes = &bytes[self.push_some(bytes)?..];
        }
        Ok(())
    }

    /// As much as fits before the file has to be put aside.
    fn push_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let limit = self.order.rotate_bytes;
        if limit > 0 && self.file.as_ref().is_some_and(|grown| grown.regular && grown.size >= limit) {
            self.put_aside()?;
        }
        self.open()?;
        let Grown { file, size, regular, .. } = self.file.as_mut().expect("just opened");
        let bounded = limit > 0 && *regular;
        let room = if bounded { (limit - (*size).min(limit)).max(1) } else { u64::MAX };
        let end = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        match file.write(&bytes[..end])? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            count => {
                *size = size.saturating_add(count as u64);
                Ok(count)
            }
        }
    }

    fn open(&mut self) -> io::Result<()> {
        // Somebody may have removed the file, or the folder, under our hands: then it is made again.
        let is_gone = |grown: &Grown| grown.file.metadata().is_ok_and(|data| data.nlink() == 0);
        if self.file.as_ref().is_some_and(is_gone) {
            self.file = None;
        }
        if self.file.is_some() {
            return Ok(());
        }
        let (folder, name) = self.folder()?;
        // Not to wait for a reader, whom nobody may ever send; and a terminal is not to become ours.
        let mut flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
        flags |= OFlags::NONBLOCK | OFlags::NOCTTY;
        flags.set(OFlags::NOFOLLOW, self.order.within.is_some());
        let file = File::from(openat(&folder, name, flags, Mode::from_raw_mode(0o666))?);
        let data = file.metadata()?;
        self.file = Some(Grown { folder, file, size: data.len(), regular: data.is_file() });
        Ok(())
    }

    /// The folder of the file, which is made if need be, and the name of the file in it.
    fn folder(&self) -> io::Result<(OwnedFd, &'a Path)> {
        let LogOrder { path, within, .. } = self.order;
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{} is not a file", path.display()),
            ));
        };
        let folder = match within {
            Some(base) => {
                let inside = folder.strip_prefix(base).map_err(|_| {
                    let why = format!("{} is not inside {}", path.display(), base.display());
                    io::Error::new(io::ErrorKind::InvalidInput, why)
                })?;
                untrusted::open_folders(base, inside)?
            }
            None => {
                let open =
                    || openat(CWD, folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
                match open() {
                    Err(Errno::NOENT) => std::fs::create_dir_all(folder).and_then(|()| Ok(open()?))?,
                    opened => opened?,
                }
            }
        };
        Ok((folder, Path::new(name)))
    }

    fn put_aside(&mut self) -> io::Result<()> {
        let (Some(Grown { folder, .. }), Some(name)) = (self.file.take(), self.order.path.file_name()) else {
            return Ok(());
        };
        // Somebody may have put something else in its place since it was opened.
        let found = statat(&folder, name, AtFlags::empty());
        if found.is_ok_and(|data| FileType::from_raw_mode(data.st_mode) != FileType::RegularFile) {
            return Ok(());
        }
        if self.order.keep == 0 {
            return Ok(unlinkat(&folder, name, AtFlags::empty())?);
        }
        let aside = |number: u32| match number {
            0 => name.to_owned(),
            _ => OsString::from_iter([name, format!(".{number}").as_ref()]),
        };
        for number in (0..self.order.keep).rev() {
            match renameat(&folder, aside(number), &folder, aside(number + 1)) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::os::unix::fs::OpenOptionsExt;

    fn order(dir: &Path, rotate_bytes: u64, keep: u32) -> LogOrder {
        LogOrder { path: dir.join("sub/x.log"), rotate_bytes, keep, named: false, within: None }
    }

    #[test]
    fn what_must_stay_in_a_folder_does_not_leave_it_through_links() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let inside = || LogOrder { within: Some(dir.path().into()), ..order(dir.path(), 4, 1) };
        let order = inside();
        Log::new(&order).write(b"aaaab");
        assert_eq!(text(dir.path(), "x.log").as_deref(), Some("b"));
        assert_eq!(text(dir.path(), "x.log.1").as_deref(), Some("aaaa"));
        let lost = |order: &LogOrder| {
            let mut log = Log::new(order);
            log.write(b"123");
            log.lost
        };
        // The file is a link, or its folder is one.
        std::fs::remove_file(&order.path).unwrap();
        std::os::unix::fs::symlink(other.path().join("x.log"), &order.path).unwrap();
        assert_eq!(lost(&order), 3);
        std::fs::remove_dir_all(dir.path().join("sub")).unwrap();
        std::os::unix::fs::symlink(other.path(), dir.path().join("sub")).unwrap();
        assert_eq!(lost(&order), 3);
        for path in [other.path().join("x.log"), dir.path().join("../x.log")] {
            assert_eq!(lost(&LogOrder { path, ..inside() }), 3);
        }
        assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 0);
    }

    fn text(dir: &Path, name: &str) -> Option<String> {
        std::fs::read_to_string(dir.join("sub").join(name)).ok()
    }

    #[test]
    fn a_full_file_is_put_aside_and_the_oldest_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let order = order(dir.path(), 4, 2);
        let mut log = Log::new(&order);
        assert_eq!(text(dir.path(), "x.log"), None);
        log.write(b"aaaabbbbcc");
        log.write(b"ccdddde");
        assert_eq!(text(dir.path(), "x.log").as_deref(), Some("e"));
        assert_eq!(text(dir.path(), "x.log.1").as_deref(), Some("dddd"));
        assert_eq!(text(dir.path(), "x.log.2").as_deref(), Some("cccc"));
        assert_eq!(text(dir.path(), "x.log.3"), None);
    }

    #[test]
    fn nothing_is_kept_aside_when_nothing_is_to_be_kept() {
        let dir = tempfile::tempdir().unwrap();
        let order = order(dir.path(), 4, 0);
        Log::new(&order).write(b"aaaab");
        assert_eq!(text(dir.path(), "x.log").as_deref(), Some("b"));
        assert_eq!(text(dir.path(), "x.log.1"), None);
    }

    #[test]
    fn a_folder_that_vanished_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let order = order(dir.path(), 0, 0);
        let mut log = Log::new(&order);
        log.write(b"one");
        std::fs::remove_dir_all(dir.path().join("sub")).unwrap();
        log.write(b"two");
        assert_eq!(text(dir.path(), "x.log").as_deref(), Some("two"));
    }

    #[test]
    fn a_pipe_that_nobody_reads_loses_bytes_and_stays_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let order = LogOrder { named: true, ..order(dir.path(), 4, 0) };
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&order.path).status().unwrap().success());
        let mut log = Log::new(&order);
        log.write(b"12345");
        assert_eq!(log.lost, 5);
        let mut reader =
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&order.path).unwrap();
        log.again = None;
        log.write(b"678901234");
        let mut text = [0; 200];
        let length = io::Read::read(&mut reader, &mut text).unwrap();
        assert!(text[..length].ends_with(b"678901234"), "{}", String::from_utf8_lossy(&text));
        // It takes so much and no more, and the reader is not told that this was the end.
        log.write(&[b'x'; 1 << 20]);
        assert!(log.lost > 0 && log.file.is_some());
        assert!(!order.path.is_file() && order.path.exists());
    }

    #[test]
    fn what_is_no_regular_file_is_not_put_aside() {
        for keep in [0, 2] {
            let dir = tempfile::tempdir().unwrap();
            let order = order(dir.path(), 4, keep);
            std::fs::create_dir(dir.path().join("sub")).unwrap();
            std::os::unix::fs::symlink("/dev/null", &order.path).unwrap();
            let mut log = Log::new(&order);
            (0..3).for_each(|_| log.write(b"1234567"));
            assert_eq!(log.lost, 0);
            assert_eq!(std::fs::read_link(&order.path).unwrap(), Path::new("/dev/null"));
            assert_eq!(text(dir.path(), "x.log.1"), None);
        }
    }

    #[test]
    fn what_was_lost_is_counted_and_told() {
        let dir = tempfile::tempdir().unwrap();
        let order = order(dir.path(), 0, 0);
        // A file stands where the folder should be, so that nothing can be made there.
        std::fs::write(dir.path().join("sub"), "").unwrap();
        let mut log = Log::new(&order);
        log.write(b"12345");
        log.write(b"678");
        assert_eq!(log.lost, 8);
        std::fs::remove_file(dir.path().join("sub")).unwrap();
        log.finish();
        let said = text(dir.path(), "x.log").unwrap();
        assert!(said.contains("8 bytes of output were lost here"), "{said}");
        log.write(b"kept");
        assert_eq!(log.all_lost().map(|lost| lost.bytes), Some(8));
    }
}
