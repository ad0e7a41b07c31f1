//! The files of those workers of a job that are wanted, read one after the other.
//!
//! Touches the disk, so it belongs on a thread that may wait. Holds a descriptor for those who may still write, and for
//! one more; a bag of thousands of tasks costs no more than what runs of it.

use super::choice::{Choice, index};
use super::tail::{Piece, Place, Tail};
use crate::site::{LOOKED_FOR, LogFile, Site};
use consort_api::client::{Lines, Mark};
use consort_types::{JobId, JobSpec, Work};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// How much one worker may say before it is another one's turn, in pieces.
const TURN: u32 = 16;

/// Stage, task and attempt of what is running.
pub(super) type Living = BTreeSet<(u16, u32, u32)>;

/// The files of a job, on their way to a reader.
pub(super) struct Files {
    pub site: Arc<dyn Site>,
    pub id: JobId,
    pub spec: Arc<JobSpec>,
    pub work: Arc<Work>,
    pub choice: Choice,
    pub follow: bool,
    /// Whether pieces come behind marks, as they are, and not as lines.
    pub marks: bool,
    /// Bytes still to be left out at the beginning.
    pub skip: u64,
    /// Only so many lines of each file that is there at first.
    pub tail: Option<u64>,
    /// What runs; nothing of what is not in here writes any more.
    pub living: Living,
    /// The last attempt that was found, by stage, task and rank.
    pub known: BTreeMap<(u16, u32, u32), u32>,
    /// Those with something to say, or who may yet have.
    pub queue: VecDeque<Teller>,
    /// Those who may be started again and go on in the same file.
    pub asleep: Vec<Teller>,
    /// Whether files were looked for before.
    pub searched: bool,
    /// Whether there is more than is looked for.
    pub cut: bool,
}

/// One attempt of one worker.
pub(super) struct Teller {
    mark: Mark,
    tail: Tail,
    lines: Lines,
    turn: u32,
}

impl Files {
    /// Looks which files there are now.
    pub fn find(&mut self) {
        let files = self.listed(&self.choice);
        self.cut |= files.len() >= LOOKED_FOR;
        let mut last: BTreeMap<(u16, u32, u32), u32> = BTreeMap::new();
        for file in &files {
            let attempt = last.entry((file.stage, file.task, file.rank)).or_default();
            *attempt = file.attempt.max(*attempt);
        }
        let before = self.known.clone();
        for file in files {
            let worker = (file.stage, file.task, file.rank);
            // Of a worker that is new the last attempt, unless others are asked for; of others what came since.
            let first = match (before.get(&worker), self.choice.since) {
                (Some(known), _) => known + 1,
                (None, Some(since)) => since,
                (None, None) if self.searched => 0,
                (None, None) => last.get(&worker).copied().unwrap_or_default(),
            };
            if file.attempt < first {
                continue;
            }
            self.known.insert(worker, last.get(&worker).copied().unwrap_or_default());
            let LogFile { stage, task, rank, attempt, .. } = file;
            let lines = self.tail.filter(|_| !self.searched);
            let tail = Tail::new(Place::of(file, self.site.log_owners()), self.follow, lines);
            let name = self.choice.name(&self.spec, &self.work, stage, task, rank);
            let mark = Mark { stage, task, rank, attempt, name, ..Mark::default() };
            self.queue.push_back(Teller { mark, tail, lines: Lines::default(), turn: 0 });
        }
        self.searched = true;
        for at in (0..self.asleep.len()).rev() {
            if self.is_living(&self.asleep[at].mark) {
                let teller = self.asleep.swap_remove(at);
                self.queue.push_back(teller);
            }
        }
    }

    /// The files that a choice admits.
    pub fn listed(&self, choice: &Choice) -> Vec<LogFile> {
        let admits = |stage, task, rank, attempt| choice.admits(&self.work, stage, task, rank, attempt);
        self.site.logs(self.id, &self.spec, &self.work, &admits)
    }

    /// Bytes that there are, of one worker that is not followed.
    pub fn total(&self) -> u64 {
        self.queue.iter().map(|teller| teller.tail.left()).sum()
    }

    fn is_named(&self) -> bool {
        self.work.output.path.is_some()
    }

    fn is_living(&self, mark: &Mark) -> bool {
        match &self.work.output.path {
            None => self.living.contains(&(mark.stage, mark.task, mark.attempt)),
            // All attempts write to one file, and all tasks too if its name does not tell them apart.
            Some(path) if !path.contains("%a") => !self.living.is_empty(),
            Some(_) => {
                self.living.range((mark.stage, mark.task, 0)..=(mark.stage, mark.task, u32::MAX)).count() > 0
            }
        }
    }

    /// The next bytes, as far as there are any.
    pub fn piece(&mut self) -> Vec<u8> {
        let mut idle = 0;
        while idle < self.queue.len() {
            let Some(mut teller) = self.queue.pop_front() else { break };
            let told = match teller.tail.read() {
                Some(piece) => {
                    let told = self.told(&mut teller, piece);
                    teller.turn += 1;
                    match teller.turn % TURN {
                        0 => self.queue.push_back(teller),
                        _ => self.queue.push_front(teller),
                    }
                    idle = 0;
                    told
                }
                None if self.follow && self.is_living(&teller.mark) => {
                    self.queue.push_back(teller);
                    idle += 1;
                    continue;
                }
                None => {
                    let name = teller.mark.name.clone();
                    let rest = teller.lines.finish(&name);
                    if self.follow && self.is_named() {
                        teller.tail.close();
                        self.asleep.push(teller);
                    }
                    rest
                }
            };
            if !told.is_empty() {
                return told;
            }
        }
        match std::mem::take(&mut self.cut) && !self.follow && !self.marks {
            true => format!("consort: more than {LOOKED_FOR} log files; choose one with --task\n").into(),
            false => vec![],
        }
    }

    /// A piece as it is sent.
    fn told(&mut self, teller: &mut Teller, mut piece: Piece) -> Vec<u8> {
        if self.marks {
            let bytes = piece.bytes.len();
            let task = index(&self.work, teller.mark.stage, teller.mark.task);
            let mark = Mark { task, file: piece.file, at: piece.at, bytes, ..teller.mark.clone() };
            let mut told = serde_json::to_vec(&mark).expect("plain data");
            told.push(b'\n');
            told.append(&mut piece.bytes);
            return told;
        }
        if !teller.mark.name.is_empty() {
            return teller.lines.add(&teller.mark.name, &piece.bytes);
        }
        let skipped = self.skip.min(piece.bytes.len() as u64);
        piece.bytes.drain(..skipped as usize);
        self.skip -= skipped;
        piece.bytes
    }
}
