//! `consort squeue`: jobs in Slurm's columns and codes.

use super::row;
use crate::failure::Failure;
use crate::live::server::{Server, job_id};
use crate::live::wording;
use crate::screen::{print, print_json};
use consort_api::client::JobQuery;
use consort_api::shapes::{Device, Job, State};
use consort_types::Time;
use std::collections::{BTreeMap, BTreeSet};

const EXAMPLES: &str = "\
Examples:
  consort squeue
  consort squeue -u red -t PD,R
  consort squeue --me -l
  consort squeue -j 17,18 -h -o '%i %t %R'

-o takes %i %A job, %P queue, %j name, %u %a tenant, %t %T state, %M time, %D nodes,
%R nodes or reason, %N nodes, %r reason, %Q %p priority, %q class, %V %S times.";

/// List jobs, like Slurm's squeue
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, disable_help_flag = true)]
pub struct Args {
    /// Only jobs of these tenants
    #[arg(long = "user", short = 'u', value_delimiter = ',')]
    user: Vec<String>,
    /// Only jobs of these queues
    #[arg(long, short, value_delimiter = ',')]
    partition: Vec<String>,
    /// Only these jobs
    #[arg(long = "jobs", short, value_delimiter = ',', value_parser = job_id)]
    jobs: Vec<u64>,
    /// Only jobs in these states: PD, R, CG and so on
    #[arg(long = "states", short = 't', value_delimiter = ',', value_parser = code)]
    states: Vec<Codes>,
    /// Only jobs with this name
    #[arg(long, short)]
    name: Option<String>,
    /// Only your jobs: all of them, because a server has one user
    #[arg(long)]
    me: bool,
    /// The whole name of the state
    #[arg(long, short)]
    long: bool,
    /// Pending jobs and when they start; not known before they do
    #[arg(long, conflicts_with = "states")]
    start: bool,
    /// No header line
    #[arg(long, short = 'h')]
    noheader: bool,
    /// Columns, such as '%i %t %R'
    #[arg(long, short = 'o', value_name = "FORMAT")]
    format: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// What Slurm prints by default.
const PLAIN: &str = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";

/// With `--long`, less the time limit, which lists do not have.
const LONG: &str = "%.18i %.9P %.8j %.8u %.8T %.10M %.6D %R";
/// With `--start`.
const START: &str = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %R";

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let plain = match (args.start, args.long) {
        (true, _) => START,
        (false, true) => LONG,
        (false, false) => PLAIN,
    };
    let format = columns(args.format.as_deref().unwrap_or(plain))?;
    let client = args.server.client()?;
    let pending = Some(Codes(vec![State::Waiting])).filter(|_| args.start);
    let states: Vec<State> = args.states.iter().chain(&pending).flat_map(|codes| codes.0.clone()).collect();
    let query = JobQuery {
        all: states.iter().any(|state| state.has_ended()),
        states,
        limit: Some(1_000_000),
        name: args.name.clone(),
        ..JobQuery::default()
    };
    let (mut jobs, _) = client.jobs(&query)?;
    let among = |wanted: &[String], name: &str| wanted.is_empty() || wanted.iter().any(|one| one == name);
    jobs.retain(|job| {
        let user = job.user.as_deref().unwrap_or(&job.tenant);
        (among(&args.user, user) || among(&args.user, &job.tenant))
            && among(&args.partition, &job.queue)
            && (args.jobs.is_empty() || args.jobs.contains(&job.id))
    });
    if args.json {
        return print_json(&jobs);
    }
    let nodes = where_they_are(&client.devices()?);
    let now = wording::now();
    let mut text = String::new();
    if !args.noheader {
        let titles: Vec<(&str, i32)> = format.iter().map(|column| (column.title(), column.width)).collect();
        text += &row(&titles);
    }
    for job in &jobs {
        let cells: Vec<String> = format.iter().map(|column| column.cell(job, &nodes, now)).collect();
        let cells: Vec<(&str, i32)> =
            cells.iter().zip(&format).map(|(cell, column)| (cell.as_str(), column.width)).collect();
        text += &row(&cells);
    }
    print(&text)
}

/// The nodes on which each job holds something.
fn where_they_are(devices: &[Device]) -> BTreeMap<u64, BTreeSet<String>> {
    let mut nodes: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for device in devices {
        for &job in &device.jobs {
            nodes.entry(job).or_default().insert(device.node.clone());
        }
    }
    nodes
}

/// One column of a format.
struct Column {
    letter: char,
    /// Negative stands to the left; 0 is as wide as it is.
    width: i32,
}

/// `%.10M`: a dot stands to the right, the number is the width.
fn columns(format: &str) -> Result<Vec<Column>, Failure> {
    let wrong = |what: &str| {
        Failure::request(
            format_args!("unknown column `{what}`"),
            "use some of %i %A %P %j %u %a %t %T %M %D %R %N %r %Q %p %q %V %S, with a width like %.10M",
        )
    };
    let (mut columns, mut letters) = (vec![], format.chars().peekable());
    while let Some(letter) = letters.next() {
        if letter.is_whitespace() {
            continue;
        }
        if letter != '%' {
            return Err(wrong(&letter.to_string()));
        }
        let right = letters.next_if_eq(&'.').is_some();
        let mut width = 0;
        while let Some(digit) = letters.next_if(char::is_ascii_digit) {
            width = (width * 10 + digit.to_digit(10).unwrap_or(0) as i32).min(1_000);
        }
        match letters.next() {
            Some(letter) if "iAPjuatTMDRNrQpqVS".contains(letter) => {
                columns.push(Column { letter, width: if right { width } else { -width } });
            }
            Some(letter) => return Err(wrong(&format!("%{letter}"))),
            None => return Err(wrong("%")),
        }
    }
    Ok(columns)
}

impl Column {
    fn title(&self) -> &'static str {
        match self.letter {
            'i' | 'A' => "JOBID",
            'P' => "PARTITION",
            'j' => "NAME",
            'u' => "USER",
            'a' => "ACCOUNT",
            't' => "ST",
            'T' => "STATE",
            'M' => "TIME",
            'D' => "NODES",
            'R' => "NODELIST(REASON)",
            'N' => "NODELIST",
            'r' => "REASON",
            'Q' | 'p' => "PRIORITY",
            'q' => "QOS",
            'V' => "SUBMIT_TIME",
            _ => "START_TIME",
        }
    }

    fn cell(&self, job: &Job, nodes: &BTreeMap<u64, BTreeSet<String>>, now: Time) -> String {
        let on = nodes.get(&job.id);
        let list = || on.map(|on| on.iter().cloned().collect::<Vec<_>>().join(",")).unwrap_or_default();
        let second =
            |moment: consort_api::Moment| moment.to_string().split('.').next().unwrap_or("").to_string();
        match self.letter {
            'i' | 'A' => job.id.to_string(),
            'P' => job.queue.clone(),
            'j' => job.name.clone(),
            'u' => job.user.clone().unwrap_or_else(|| job.tenant.clone()),
            'a' => job.tenant.clone(),
            't' => short(job.state).into(),
            'T' => long(job.state).into(),
            'M' => job.started.map_or("0:00".into(), |_| clock(wording::elapsed(job, now))),
            'D' => on.map_or(1, BTreeSet::len).to_string(),
            'R' => match on {
                Some(_) => list(),
                None => format!("({})", if job.reason.is_empty() { "None" } else { &job.reason }),
            },
            'N' => list(),
            'r' => if job.reason.is_empty() { "None" } else { &job.reason }.to_string(),
            'Q' | 'p' => job.priority.to_string(),
            'q' => job.qos.clone(),
            'V' => second(job.submitted),
            _ => job.started.map_or("N/A".into(), second),
        }
    }
}

/// `1-02:03:04`, `2:03:04` or `3:04`.
fn clock(seconds: f64) -> String {
    let seconds = seconds as u64;
    let (days, hours, minutes, seconds) =
        (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{seconds:02}"),
        (0, _) => format!("{hours}:{minutes:02}:{seconds:02}"),
        _ => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

fn short(state: State) -> &'static str {
    match state {
        State::Waiting | State::Held => "PD",
        State::Paused => "S",
        State::Starting => "CF",
        State::Running => "R",
        State::Stopping => "CG",
        State::Succeeded => "CD",
        State::Failed => "F",
        State::Cancelled => "CA",
    }
}

fn long(state: State) -> &'static str {
    match state {
        State::Waiting | State::Held => "PENDING",
        State::Paused => "SUSPENDED",
        State::Starting => "CONFIGURING",
        State::Running => "RUNNING",
        State::Stopping => "COMPLETING",
        State::Succeeded => "COMPLETED",
        State::Failed => "FAILED",
        State::Cancelled => "CANCELLED",
    }
}

/// The states that one code of Slurm stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codes(pub Vec<State>);

/// A code of Slurm, short or long, in any case; `all` is all of them.
pub fn code(text: &str) -> Result<Codes, String> {
    let upper = text.to_uppercase();
    let is = |state: &State| upper == "ALL" || short(*state) == upper || long(*state) == upper;
    let found: Vec<State> = State::ALL.into_iter().filter(is).collect();
    match found.is_empty() {
        true => Err("expected some of PD, R, S, CF, CG, CD, F and CA".into()),
        false => Ok(Codes(found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_codes_are_those_of_slurm() {
        assert_eq!([0.0, 61.9, 3_600.0, 93_784.0].map(clock), ["0:00", "1:01", "1:00:00", "1-02:03:04"]);
        assert_eq!(code("pd"), Ok(Codes(vec![State::Waiting, State::Held])));
        assert_eq!(code("RUNNING"), Ok(Codes(vec![State::Running])));
        assert!(code("X").is_err());
    }

    #[test]
    fn formats_are_read_or_refused() {
        let titles =
            |format| columns(format).unwrap().iter().map(|column| column.title()).collect::<Vec<_>>();
        assert_eq!(titles(PLAIN).join(" "), "JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)");
        assert_eq!(titles("%i%8t"), ["JOBID", "ST"]);
        for format in ["%", "%z", "i"] {
            assert!(columns(format).is_err(), "{format}");
        }
    }
}
