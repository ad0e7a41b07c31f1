//! How a plan of exchange is told: tables, guards, a picture.

use super::Both;
use crate::numbers::{counted, decimal, duration, percent};
use crate::screen::{Screen, wrapped};
use crate::table::{Best, Table};
use consort_parallel::Answer;
use consort_parallel::straggler::{Choice, Class, Finding};
use consort_parallel::sync::{self, LEAST_GAIN, Plan, Scored};
use consort_report::numbers::brief;
use consort_report::picture::{self, Stacks};

/// What stands above the words of a framework.
pub fn comment(plan: &Plan, option: Option<&Scored>) -> String {
    let Some(option) = option else { return String::new() };
    let times = decimal(1.0 + option.gain, 2);
    let lead = match plan.chosen.as_str() {
        "dense" => "# dense: nothing else is predicted to gain enough.".to_string(),
        name => format!("# {name}: predicted to be {times} times as fast as dense for the same progress."),
    };
    let watch = format!("# Watch {}.", option.guard.watch);
    let back = format!("# To go back: {}.", option.guard.roll_back);
    [lead, watch, back]
        .iter()
        .flat_map(|line| {
            let lines = wrapped(line.trim_start_matches("# "), 96);
            lines.into_iter().map(|line| format!("# {line}\n"))
        })
        .collect()
}

/// The plan for people.
pub fn text(screen: &Screen, both: &Answer<Both>, all: bool) -> String {
    let options = listed(&both.plan.plan, all);
    let mut table = Table::default();
    table.text("option", 0, options.iter().map(|option| option.option.clone()));
    table.numbers("compute", 3, options.iter().map(|option| brief(option.compute_s + option.coding_s)));
    table.numbers("exchange", 1, options.iter().map(|option| brief(option.exchange_s)));
    if options.iter().any(|option| option.wait_s != 0.0) {
        table.numbers("wait", 2, options.iter().map(|option| brief(option.wait_s)));
    }
    table.numbers("progress", 1, options.iter().map(|option| percent(option.progress)));
    let times: Vec<f64> = options.iter().map(|option| option.time_s).collect();
    table.contest("time", 0, Best::Least, &times, brief);
    table.numbers("gain", 0, options.iter().map(|option| percent(option.gain)));
    table.numbers("needed", 4, options.iter().map(|option| percent(option.needed)));
    table.text("verdict", 0, options.iter().map(|option| verdict(option).to_string()));
    let mut text = table.show(screen);
    text += &screen.prose(
        "Time is that of a round over its progress. Exchange is what backward does not hide. Needed is the progress at \
         which a way would gain 5%: a trial can show more than a formula promises.",
    );
    let left_out = both.plan.plan.options.len() - options.len();
    if left_out > 0 {
        text += &screen.prose(&format!("Of each kind the best is shown; --all shows {left_out} more."));
    }
    text.push('\n');
    text += &outcome(screen, both);
    if let Some(stragglers) = &both.plan.stragglers {
        text += &held_up(screen, stragglers);
    }
    text
}

/// All options, or the best of each kind.
fn listed(plan: &Plan, all: bool) -> Vec<&Scored> {
    let kind = |option: &Scored| match option.option.as_str() {
        "fp16" | "bf16" => "cast".to_string(),
        name => name.trim_end_matches(|letter: char| !letter.is_alphabetic()).to_string(),
    };
    let is_best = |option: &&Scored| {
        let alike = plan.options.iter().filter(|other| kind(other) == kind(option));
        let best = alike.min_by(|one, other| one.time_s.total_cmp(&other.time_s));
        best.is_some_and(|best| best.option == option.option)
    };
    plan.options.iter().filter(|option| all || option.option == plan.chosen || is_best(option)).collect()
}

fn verdict(option: &Scored) -> &'static str {
    match option.verdict {
        sync::Verdict::Chosen => "chosen",
        _ if option.option == "dense" => "the usual",
        sync::Verdict::Pays => "pays",
        sync::Verdict::TooLittle => "gains too little",
        sync::Verdict::Unsafe => "loses too much",
    }
}

/// A label and a sentence beside it, in as many lines as it takes.
fn labelled(screen: &Screen, label: &str, text: &str) -> String {
    let lines = wrapped(text, screen.width.min(120).saturating_sub(10).max(30));
    let lead = |index: usize| if index == 0 { format!("{label:<10}") } else { " ".repeat(10) };
    lines.iter().enumerate().map(|(index, line)| format!("{}{line}\n", lead(index))).collect()
}

fn outcome(screen: &Screen, both: &Answer<Both>) -> String {
    let plan = &both.plan.plan;
    let Some(option) = plan.options.iter().find(|option| option.option == plan.chosen) else {
        return String::new();
    };
    let chosen = match plan.chosen.as_str() {
        "dense" => format!(
            "dense, in every round: nothing else gains more than {}",
            decimal(100.0 * LEAST_GAIN, 0) + "%"
        ),
        name => {
            format!("{name}: {} times as fast as dense for the same progress", decimal(1.0 + option.gain, 2))
        }
    };
    let mut text = labelled(screen, "choose", &chosen);
    let bound = format!(
        "{} for a round's progress; no less than {}: {}",
        brief(both.objective),
        brief(both.bound),
        both.bound_by
    );
    text += &labelled(screen, "time", &bound);
    if let Some(error) = option.guard.error {
        let known = if option.guard.measured { "measured" } else { "predicted, not measured" };
        let loses = format!(
            "{} of a gradient's length, {known}; at most {}",
            percent(error),
            percent(sync::ERROR_BOUND)
        );
        text += &labelled(screen, "loses", &loses);
    }
    text += &labelled(screen, "watch", &option.guard.watch);
    text + &labelled(screen, "go back", &option.guard.roll_back)
}

fn held_up(screen: &Screen, answer: &Answer<consort_parallel::straggler::Verdict>) -> String {
    let verdict = &answer.plan;
    let found: Vec<&Finding> = verdict.findings.iter().filter(|found| found.class != Class::None).collect();
    let mut text = String::from("\n");
    if found.is_empty() {
        return text + &labelled(screen, "workers", "no stragglers");
    }
    let mut table = Table::default();
    table.long_text("worker", 8, found.iter().map(|found| found.worker.clone()));
    table.text("finding", 0, found.iter().map(|found| class(found).to_string()));
    table.numbers("own time", 1, found.iter().map(|found| found.own_s.map_or("-".into(), brief)));
    table.numbers("above usual", 0, found.iter().map(|found| percent(found.excess)));
    table.numbers("z", 1, found.iter().map(|found| decimal(found.z.max(found.communication_z), 1)));
    text += &table.show(screen);
    text.push('\n');
    let mut table = Table::default();
    let choices = &verdict.choices;
    let name = |choice: &Choice| serde_json::to_value(choice.action).ok()?.as_str().map(String::from);
    table.text("action", 0, choices.iter().map(|choice| name(choice).unwrap_or_default()));
    table.numbers("costs", 1, choices.iter().map(|choice| duration(choice.cost_s)));
    table.numbers("round", 1, choices.iter().map(|choice| brief(choice.round_s)));
    let values: Vec<f64> = choices.iter().map(|choice| choice.value_s).collect();
    table.contest("worth", 0, Best::Most, &values, duration);
    table.long_text("about", 20, choices.iter().map(|choice| choice.about.clone()));
    text += &table.show(screen);
    let best = choices.iter().find(|choice| choice.action == verdict.best);
    let said = best.map_or(String::new(), |best| match best.value_s > 0.0 {
        true => format!("{}: worth {} until the end", best.about, duration(best.value_s)),
        false => "nothing: no action is worth its cost".into(),
    });
    text + &labelled(screen, "do", &said)
}

fn class(found: &Finding) -> String {
    match (found.class, found.since) {
        (Class::None, _) => "none".into(),
        (Class::Transient, _) => format!("transient, {} stood out", counted(found.spikes as u64, "round")),
        (Class::Persistent, None) => "persistent".into(),
        (Class::Persistent, Some(since)) => format!("persistent since round {since}"),
        (Class::Communication, _) => "communication".into(),
        (Class::Thermal, None) => "thermal".into(),
        (Class::Thermal, Some(since)) => format!("thermal since round {since}"),
    }
}

/// What each way spends its time on.
pub fn drawn(both: &Answer<Both>, all: bool) -> String {
    let bar = |option: &Scored| {
        // Whoever does not wait for the slowest may be done before an average round is.
        let compute = option.compute_s + option.wait_s.min(0.0);
        let parts = [compute, option.coding_s, option.exchange_s, option.wait_s.max(0.0)];
        let lost = option.time_s - option.round_s;
        let parts = parts.into_iter().chain([lost.max(0.0)]).enumerate().collect();
        (option.option.clone(), parts)
    };
    // A way that takes many times as long would leave the others no width.
    let dense_s = both.plan.plan.options.first().map_or(0.0, |option| option.time_s);
    let widest_s = if all { f64::INFINITY } else { 3.0 * dense_s };
    picture::stacks(&Stacks {
        title: "Time for a round's progress, by way of exchange".into(),
        bars: listed(&both.plan.plan, all)
            .into_iter()
            .filter(|option| option.time_s < widest_s)
            .map(bar)
            .collect(),
        groups: ["compute", "coding", "exchange", "waiting", "less progress"].map(String::from).to_vec(),
        mark: Some((both.bound, "bound".into())),
    })
}
