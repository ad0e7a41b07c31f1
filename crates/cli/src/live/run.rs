//! `consort run`: submits a command, shows its output and ends with its status.
//!
//! The output comes on a thread of its own; this one waits for it, for signals, and for answers of the person at the
//! terminal. An interrupt asks what is meant where somebody can answer, and cancels where nobody can: a script that is
//! interrupted must not leave work behind.

use super::flags::Flags;
use super::server::Server;
use super::sources::Source;
use super::{command, logs, wording};
use crate::failure::{Failure, note, one_line};
use crate::screen::print;
use consort_api::Client;
use consort_api::client::LogQuery;
use consort_api::shapes::{Job, State};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  consort run --devices 1 -- python train.py --epochs 3
  consort run --devices 8 --kind h200 --time 2h -- torchrun --nproc-per-node 8 train.py
  consort run --workers 4 --devices-per-worker 2 --env NCCL_DEBUG=INFO -- ./work.sh

With --json, every line of output is one JSON object, and the last one is the job.
The exit code is that of the command. Ctrl-C asks whether to cancel the job, to
detach from it, or to continue; pressed twice, it cancels.";

/// Run a command as a job: submit it, stream its output, exit with its status
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Command and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true)]
    command: Vec<String>,
    /// Print JSON: one object per line of output, then the job
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    server: Server,
}

/// What this thread waits for.
enum News {
    /// The job has ended, or can no longer be followed.
    Over(Box<Result<Job, Failure>>),
    /// A signal.
    Signal(i32),
    /// What the person at the terminal typed.
    Answer(String),
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut job = command::job(&args.command)?;
    args.flags.apply(&mut job, Source::File)?;
    let client = args.server.client()?;
    let (sender, news) = channel();
    // Before the job exists: an interrupt in between must not leave it behind.
    listen(sender.clone())?;
    let submitted = client.submit(&job.to_json())?;
    note(&format!("consort: job {} ({}) is submitted", submitted.id, one_line(&submitted.name)));
    let (follower, id, json) = (client.clone(), submitted.id, args.json);
    let teller = sender.clone();
    std::thread::spawn(move || {
        let over = logs::follow(&follower, id, LogQuery::default(), json);
        let over = over.and_then(|job| {
            if json {
                print(&(serde_json::to_string(&job).expect("plain data") + "\n"))?;
            }
            Ok(job)
        });
        let _ = teller.send(News::Over(Box::new(over)));
    });
    stay(&client, id, &sender, &news)
}

/// Signals become news.
fn listen(sender: Sender<News>) -> Result<(), Failure> {
    let signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]);
    let mut signals = signals
        .map_err(|error| Failure::Outside(format!("cannot listen for signals: {error}; try again")))?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if sender.send(News::Signal(signal)).is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// Until the job has ended, or the user detaches.
fn stay(client: &Client, id: u64, sender: &Sender<News>, news: &Receiver<News>) -> Result<(), Failure> {
    let somebody = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let (mut asking, mut cancelled) = (false, false);
    let mut waiting = Waiting::new(somebody);
    loop {
        let Some(news) = waiting.next(client, id, news) else {
            continue;
        };
        match news {
            News::Over(ended) => match *ended {
                Ok(job) => return over(&job),
                Err(Failure::ReaderLeft) => {
                    note(&format!("consort: output closed; job {id} keeps running"));
                    return Err(Failure::ReaderLeft);
                }
                Err(failure) => return Err(failure),
            },
            News::Signal(_) if cancelled => {
                note(&format!(
                    "consort: job {id} is being cancelled; `consort show {id}` shows when it has ended"
                ));
                return Err(Failure::Status(130));
            }
            News::Signal(SIGINT) if somebody && !asking => {
                asking = true;
                ask(id, sender.clone());
            }
            News::Signal(_) => {
                if asking {
                    // The question stands there without an end of line.
                    let _ = writeln!(std::io::stderr());
                }
                cancelled = true;
                cancel(client, id)?;
            }
            News::Answer(answer) => {
                asking = false;
                match answer.trim().to_lowercase().chars().next() {
                    Some('c') => {
                        cancelled = true;
                        cancel(client, id)?;
                    }
                    Some('d') => {
                        note(&format!(
                            "consort: job {id} keeps running; `consort logs -f {id}` shows its output"
                        ));
                        return Ok(());
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Tells a user at a terminal why nothing happens, until something does.
struct Waiting {
    /// There is no terminal, or the work has begun.
    over: bool,
    said: String,
}

/// How long a user waits before being told why.
const WONDER: Duration = Duration::from_secs(2);
/// States in which they do.
const WONDERED: [State; 4] = [State::Waiting, State::Held, State::Paused, State::Starting];

impl Waiting {
    fn new(somebody: bool) -> Self {
        Self { over: !somebody, said: String::new() }
    }

    fn next(&mut self, client: &Client, id: u64, news: &Receiver<News>) -> Option<News> {
        if self.over {
            return Some(news.recv().expect("the other side is held here too"));
        }
        if let Ok(news) = news.recv_timeout(WONDER) {
            return Some(news);
        }
        match client.wait(id, Duration::ZERO) {
            Ok(job) if WONDERED.contains(&job.state) => {
                // Numbers in a reason change all the time; what is said is the reason when the state changed.
                if self.said != job.state.word() {
                    self.said = job.state.word().into();
                    note(&format!("consort: job {id} {}", one_line(&job.reason)));
                }
            }
            _ => self.over = true,
        }
        None
    }
}

/// On a thread of its own, so that a second interrupt is still heard.
fn ask(id: u64, sender: Sender<News>) {
    let mut screen = std::io::stderr();
    let _ = write!(screen, "\nconsort: job {id}: [c]ancel, [d]etach and let it run, or [g]o on? ");
    let _ = screen.flush();
    std::thread::spawn(move || {
        let mut answer = String::new();
        // Whoever closes the terminal's input has gone, and the job is theirs to find again.
        let read = std::io::stdin().read_line(&mut answer);
        let answer = if matches!(read, Ok(1..)) { answer } else { "d".into() };
        let _ = sender.send(News::Answer(answer));
    });
}

fn cancel(client: &Client, id: u64) -> Result<(), Failure> {
    note(&format!("consort: cancelling job {id}"));
    match client.cancel(id) {
        // It may have ended in between: then its end is on its way here.
        Ok(_) | Err(consort_api::ClientError::Problem(404 | 409, _)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn over(job: &Job) -> Result<(), Failure> {
    match wording::status(job) {
        0 => Ok(()),
        status => {
            note(&format!("consort: {}", wording::ending(job)));
            Err(Failure::Status(status))
        }
    }
}
