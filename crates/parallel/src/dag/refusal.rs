//! What is not planned, and what would help.

use std::fmt;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Nothing to do, or nobody to do it.
    Empty {
        /// `task` or `device`.
        what: &'static str,
    },
    /// More than the planner is made for.
    TooMany {
        /// `tasks`, `devices`, `edges`, `times`.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// More tasks than a job has stages.
    TooManyStages {
        /// How many there are.
        tasks: usize,
        /// How many stages a job may have.
        most: usize,
    },
    /// Two of a kind have one name.
    Twice {
        /// `task` or `device`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// An edge names a task by an index beyond the last.
    NoSuchTask {
        /// The index.
        index: usize,
        /// How many there are.
        tasks: usize,
    },
    /// A name that nobody bears.
    Unknown {
        /// `task`, or `device or host`.
        what: &'static str,
        /// The name.
        name: String,
        /// Who uses it.
        by: String,
    },
    /// The list of times or links has the wrong length.
    Missing {
        /// `times of preprocess`, `links`.
        what: String,
        /// How many are there.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A number that is negative, not a number, or not finite.
    BadNumber {
        /// `the time of preprocess on gpu0`.
        what: String,
        /// As it is.
        value: f64,
        /// `not negative`, `above zero`.
        expected: &'static str,
    },
    /// Tasks that wait for each other.
    Circle {
        /// Names in order; the first is there again at the end.
        tasks: Vec<String>,
    },
    /// A task that no device can run.
    NowhereToRun {
        /// The task.
        task: String,
    },
    /// A task that fits on none of the devices that could run it.
    TooLarge {
        /// The task.
        task: String,
        /// What it needs.
        needs: u64,
        /// What the largest device that could run it has.
        largest: u64,
        /// That device.
        device: String,
    },
    /// What stays in memory is more than all devices have.
    TooMuchHeld {
        /// In all.
        needs: u64,
        /// In all.
        room: u64,
    },
    /// Two tasks of which one feeds the other, and no way between the devices that could run them.
    Apart {
        /// Who feeds.
        from: String,
        /// One device that could run it.
        from_device: String,
        /// Who is fed.
        to: String,
        /// One device that could run it.
        to_device: String,
    },
    /// Data that a task cannot get at on any device that could run it.
    OutOfReach {
        /// The task.
        task: String,
        /// The data.
        data: String,
    },
    /// Every task fits somewhere, but no way was found to fit all of them.
    NoPlacement {
        /// The first task for which no device was left.
        task: String,
        /// Two devices that no link joins, where that is the likely cause.
        apart: Option<(String, String)>,
    },
    /// A quantile outside of what can be computed.
    BadQuantile {
        /// As it is.
        value: f64,
    },
    /// The old plan, or what is said about running tasks, does not suit the work.
    BadPast {
        /// The task.
        task: String,
        /// What is wrong: `has ended before its predecessor load`.
        why: PastMistake,
    },
}

/// What can be wrong with what is said about the past.
#[derive(Clone, Debug, PartialEq)]
pub enum PastMistake {
    /// It is said to have begun, but this one, which it waits for, has not ended.
    BeganTooEarly(String),
    /// It began after now, or its end is before its beginning.
    TimesDoNotFit,
    /// It is said twice.
    Twice,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Empty { what } => write!(f, "missing {what}; name at least one"),
            Refusal::TooMany { what, found, most } => {
                write!(f, "there are {found} {what} and at most {most} are planned; cut the work into parts")
            }
            Refusal::TooManyStages { tasks, most } => write!(
                f,
                "the plan has {tasks} tasks and a job at most {most} stages; plan a part of it with --want"
            ),
            Refusal::Twice { what, name } => {
                write!(f, "duplicate {what} {name}; give each a unique name")
            }
            Refusal::NoSuchTask { index, tasks } => {
                write!(f, "an edge names task number {index} of {tasks}; count from 0 to the last")
            }
            Refusal::Unknown { what, name, by } => {
                write!(f, "{by} names unknown {what} {name}; check the name")
            }
            Refusal::Missing { what, found, expected } => {
                write!(f, "there are {found} {what}, expected {expected}; give one for every device")
            }
            Refusal::BadNumber { what, value, expected } => {
                write!(f, "{what} is {value}; give a number that is {expected}")
            }
            Refusal::Circle { tasks } => {
                write!(f, "the tasks {} form a cycle; break it", tasks.join(", "))
            }
            Refusal::NowhereToRun { task } => {
                write!(f, "no device can run the task {task}; give it a time on at least one")
            }
            Refusal::TooLarge { task, needs, largest, device } => write!(
                f,
                "the task {task} needs {} of memory and the largest device that could run it, {device}, has {}; add \
                 a device with at least {}",
                Bytes(*needs),
                Bytes(*largest),
                Bytes(*needs)
            ),
            Refusal::TooMuchHeld { needs, room } => write!(
                f,
                "the tasks hold {} of memory and all devices have {}; add {}, or hold less",
                Bytes(*needs),
                Bytes(*room),
                Bytes(needs - room)
            ),
            Refusal::Apart { from, from_device, to, to_device } => write!(
                f,
                "{from} feeds {to}, and no link joins {from_device} and {to_device}, where they could run; add a \
                 link, or let both run on one device"
            ),
            Refusal::OutOfReach { task, data } => write!(
                f,
                "{task} reads {data}, which no device that could run it can reach; name a device or host that has \
                 it, or a store"
            ),
            Refusal::NoPlacement { task, apart: None } => write!(
                f,
                "no way was found to fit all tasks into memory, {task} was the first left over; add memory, or hold less"
            ),
            Refusal::NoPlacement { task, apart: Some((one, other)) } => write!(
                f,
                "no way was found to place all tasks, {task} was the first left over, and no link joins {one} and \
                 {other}; add a link or memory"
            ),
            Refusal::BadQuantile { value } => {
                write!(f, "the quantile is {value}; give a number above 0 and below 1, like 0.9")
            }
            Refusal::BadPast { task, why } => match why {
                PastMistake::BeganTooEarly(other) => {
                    write!(
                        f,
                        "{task} is reported as started, but {other} has not ended; report the end of {other}"
                    )
                }
                PastMistake::TimesDoNotFit => {
                    write!(f, "the times reported for {task} contradict each other; check begin, end and now")
                }
                PastMistake::Twice => write!(f, "{task} is reported twice; report it once"),
            },
        }
    }
}

impl std::error::Error for Refusal {}

/// Memory in the largest unit that needs no fraction.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match units.into_iter().find(|(unit, _)| self.0 >= *unit && self.0.is_multiple_of(*unit)) {
            Some((unit, name)) => write!(f, "{} {name}", self.0 / unit),
            None => write!(f, "{} bytes", self.0),
        }
    }
}
