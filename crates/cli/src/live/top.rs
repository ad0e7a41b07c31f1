//! `consort top`: devices and jobs, live.
//!
//! A thread asks the server, this one draws and listens to keys, so that a slow answer never makes the page deaf. What
//! a key does is decided in [`state`], what is seen in [`page`]; both know no terminal and are tested without one. Where
//! nobody watches, the same is printed once.

mod page;
mod sample;
mod state;

use super::server::{Server, span};
use super::{devices, jobs, wording};
use crate::failure::{Failure, one_line};
use crate::screen::{Screen, print};
use consort_types::Span;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use sample::Sample;
use state::{Act, Page};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  consort top
  consort top --every 5s
  consort top | cat                         print once, as plain text

Keys: arrows select a job, p pauses or resumes it, c cancels it after asking,
s changes the order, q quits.";

/// Watch devices and jobs, live
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Refresh interval
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = span)]
    every: Span,
    #[command(flatten)]
    server: Server,
}

/// What the thread that asks has to say.
enum News {
    Sample(Box<Result<Sample, String>>),
    Done(String),
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let client = args.server.client()?;
    // Before the page: a server that is not there is one sentence, not a page.
    let first = sample::take(&client)?;
    if !(std::io::stdout().is_terminal() && std::io::stdin().is_terminal()) {
        return print(&plain(&first));
    }
    let every = Duration::from_nanos(args.every.0.max(100_000_000) as u64);
    let (acts, orders) = channel();
    let (teller, news) = channel();
    std::thread::spawn(move || serve(&client, every, &orders, &teller));
    let mut terminal = ratatui::try_init().map_err(broken)?;
    let result = watch(&mut terminal, Page::new(first), &acts, &news);
    ratatui::restore();
    result
}

fn broken(error: std::io::Error) -> Failure {
    Failure::Outside(format!("the terminal cannot be used: {error}; `consort top | cat` prints once"))
}

/// Asks again and again, and does what it is told in between.
fn serve(client: &consort_api::Client, every: Duration, orders: &Receiver<Act>, teller: &Sender<News>) {
    loop {
        let said = match orders.recv_timeout(every) {
            Ok(Act::Cancel(job)) => Some(client.cancel(job)),
            Ok(Act::Pause(job)) => Some(client.pause(job)),
            Ok(Act::Resume(job)) => Some(client.resume(job)),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
        };
        if let Some(said) = said {
            let words = match said {
                Ok(job) => format!("{} is {}", wording::subject(&job), job.state),
                Err(error) => error.to_string(),
            };
            let _ = teller.send(News::Done(words));
        }
        let sample = sample::take(client).map_err(|error| error.to_string());
        if teller.send(News::Sample(Box::new(sample))).is_err() {
            return;
        }
    }
}

fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    mut page: Page,
    acts: &Sender<Act>,
    news: &Receiver<News>,
) -> Result<(), Failure> {
    loop {
        for news in news.try_iter() {
            match news {
                News::Sample(sample) => match *sample {
                    Ok(sample) => page.show(sample),
                    Err(sentence) => page.trouble = Some(one_line(&sentence)),
                },
                News::Done(words) => page.said = Some(one_line(&words)),
            }
        }
        terminal.draw(|frame| page::draw(frame, &page)).map_err(broken)?;
        if !event::poll(Duration::from_millis(100)).map_err(broken)? {
            continue;
        }
        if let Event::Key(key) = event::read().map_err(broken)?
            && key.kind == KeyEventKind::Press
        {
            match page.press(key) {
                Some(state::Pressed::Leave) => return Ok(()),
                // The other thread leaves only when this one does.
                Some(state::Pressed::Act(act)) => drop(acts.send(act)),
                None => {}
            }
        }
    }
}

/// The same once, for a pipe.
fn plain(sample: &Sample) -> String {
    let screen = Screen::for_list();
    let mut text = page::headline(sample) + "\n";
    if let Some(trouble) = &sample.status.trouble {
        text += &screen.prose(&one_line(trouble));
    }
    text += "\n";
    if !sample.devices.is_empty() {
        text += &devices::table(&sample.devices).show(&screen);
        text += "\n";
    }
    match sample.jobs.is_empty() {
        true => text += "No pending or running jobs.\n",
        false => text += &jobs::table(&sample.jobs).show(&screen),
    }
    text
}
