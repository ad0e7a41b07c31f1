//! A plan for people: how long an iteration takes and beside what, then the stages.

use crate::numbers::{counted, decimal};
use crate::screen::Screen;
use crate::table::Table;
use consort_parallel::Answer;
use consort_parallel::pipeline::transformer;
use consort_parallel::pipeline::whole::{Plan, Stage};

/// Stages before the table is cut short.
const LINES: usize = 32;

/// The plan, and how it stands to its bound.
pub fn plan<P>(answer: &Answer<P>, plan: &Plan, screen: &Screen) -> String {
    let mut text = format!("{}\n", screen.bold(&headline(plan)));
    text += &screen.prose(&beside(answer, plan));
    text += &format!("\n{}\n", stages(plan, screen));
    text
}

/// The same for a transformer, with what else could be done.
pub fn sized(answer: &Answer<transformer::Plan>, screen: &Screen) -> String {
    let sized = &answer.plan;
    let best = &sized.best;
    let mut text = plan(answer, &sized.whole, screen);
    text += &screen.prose(&format!(
        "Data {} x tensor {} x pipeline {}, microbatches of {}; {} % of the speed reached is kept.",
        best.data,
        best.tensor,
        best.pipeline,
        counted(best.micro_batch.into(), "sequence"),
        decimal(100.0 * sized.efficiency, 1)
    ));
    if sized.pareto.len() > 1 {
        text += &format!("\n{}", front(&sized.pareto, screen));
        text += &screen.prose("Nothing else is both faster and smaller.");
    }
    text + "For a framework: --as megatron, torch-csv, deepspeed or mesh\n\n"
}

fn headline(plan: &Plan) -> String {
    let what = match (plan.stages.len(), plan.is_data_parallel) {
        (1, true) => format!("data parallel on {}", counted(plan.stages[0].devices.len() as u64, "device")),
        (1, false) => "one stage".into(),
        (many, _) => format!("{many} stages, {}", plan.schedule),
    };
    let rate = plan.samples_per_s.map_or(String::new(), |rate| format!(", {} samples/s", decimal(rate, 1)));
    let iteration = seconds(plan.iteration_s);
    format!("{iteration} an iteration{rate}: {what}, {}", counted(plan.microbatches as u64, "microbatch"))
        .replace("microbatchs", "microbatches")
}

fn beside<P>(answer: &Answer<P>, plan: &Plan) -> String {
    let mut advice = plan.advice.clone();
    if let Some(first) = advice.get(..1) {
        advice = first.to_uppercase() + &advice[1..];
    }
    let other = match plan.data_parallel_s {
        Some(other) if !plan.is_data_parallel => format!(" Data parallel takes {}.", seconds(other)),
        _ => String::new(),
    };
    format!(
        "{advice}.{other} One device alone would take {}, {} times as long. No plan can be faster than {} ({}): this \
         one is at most {} % above.",
        seconds(plan.one_device_s),
        decimal(plan.one_device_s / plan.iteration_s, 1),
        seconds(answer.bound),
        answer.bound_by,
        decimal(100.0 * answer.gap(), 1)
    )
}

fn stages(plan: &Plan, screen: &Screen) -> String {
    let shown = &plan.stages[..plan.stages.len().min(LINES)];
    let each = |show: &dyn Fn(&Stage) -> String| shown.iter().map(show).collect::<Vec<_>>();
    let mut table = Table::default();
    table.numbers("stage", 0, (0..shown.len()).map(|number| number.to_string()));
    table.numbers(
        "layers",
        0,
        each(&|stage| {
            let counts: Vec<String> = stage.parts.iter().map(|part| part.layers.len().to_string()).collect();
            counts.join("+")
        }),
    );
    table.long_text(
        "from",
        10,
        each(&|stage| stage.parts.first().map_or(String::new(), |it| it.first.clone())),
    );
    table.long_text("to", 10, each(&|stage| stage.parts.last().map_or(String::new(), |it| it.last.clone())));
    table.long_text("devices", 10, each(&|stage| devices(stage)));
    table.numbers("replicas", 0, each(&|stage| stage.replicas.to_string()));
    table.numbers("tensor", 1, each(&|stage| stage.tensor.to_string()));
    table.text("recompute", 1, each(&|stage| if stage.recompute { "yes" } else { "no" }.into()));
    table.numbers("compute", 0, each(&|stage| seconds(stage.compute_s)));
    table.numbers("sent", 2, each(&|stage| bytes(stage.sent_bytes)));
    table.numbers("exchange", 2, each(&|stage| seconds(stage.exchange_s)));
    table.numbers("memory", 0, each(&|stage| bytes(stage.memory_bytes)));
    table.numbers("of", 0, each(&|stage| stage.memory_of_bytes.map_or("-".into(), bytes)));
    let mut text = table.show(screen);
    if plan.stages.len() > LINES {
        let more = plan.stages.len() - LINES;
        text += &screen.dim(&screen.prose(&format!("{more} more; --json has all.")));
    }
    text
}

/// `host0:0-3 host1:0-3`, and the shares where they are unlike.
fn devices(stage: &Stage) -> String {
    let named = runs(&stage.devices);
    match stage.shares.len() {
        0 | 1 => named,
        _ => {
            let mut shares: Vec<String> =
                stage.shares.iter().map(|share| decimal(100.0 * share, 1) + "%").collect();
            shares.dedup();
            format!("{named} ({})", shares.join(", "))
        }
    }
}

/// Neighbours on a host as one: `host0:0-3 host1:5`, `rank0-31`.
fn runs(devices: &[String]) -> String {
    let parted = |name: &str| {
        let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
        (name[..digits].to_string(), name[digits..].parse::<u64>().ok())
    };
    let mut runs: Vec<(String, Option<u64>, Option<u64>)> = vec![];
    for device in devices {
        let (head, number) = parted(device);
        match runs.last_mut() {
            Some((known, _, last))
                if *known == head && number.is_some() && last.map(|it| it + 1) == number =>
            {
                *last = number;
            }
            _ => runs.push((head, number, number)),
        }
    }
    let run = |(head, first, last): &(String, Option<u64>, Option<u64>)| match (first, last) {
        (Some(first), Some(last)) if first != last => format!("{head}{first}-{last}"),
        (Some(first), _) => format!("{head}{first}"),
        _ => head.clone(),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(" ")
}

fn front(points: &[transformer::Point], screen: &Screen) -> String {
    let shown = &points[..points.len().min(LINES)];
    let each = |show: &dyn Fn(&transformer::Point) -> String| shown.iter().map(show).collect::<Vec<_>>();
    let mut table = Table::default();
    table.numbers("iteration", 0, each(&|point| seconds(point.iteration_s)));
    table.numbers("memory", 0, each(&|point| bytes(point.memory_bytes)));
    table.numbers("data", 0, each(&|point| point.data.to_string()));
    table.numbers("tensor", 0, each(&|point| point.tensor.to_string()));
    table.numbers("pipeline", 0, each(&|point| point.pipeline.to_string()));
    table.numbers("chunks", 0, each(&|point| point.chunks.to_string()));
    table.numbers("micro batch", 0, each(&|point| point.micro_batch.to_string()));
    table.text("recompute", 0, each(&|point| if point.recompute { "yes" } else { "no" }.into()));
    table.show(screen)
}

/// `1.234 s`, `12.3 ms`, `0 s`.
fn seconds(seconds: f64) -> String {
    match seconds {
        none if none <= 0.0 => "0 s".into(),
        long if long >= 100.0 => decimal(long, 1) + " s",
        long if long >= 1.0 => decimal(long, 3) + " s",
        short if short >= 1e-3 => decimal(short * 1e3, 2) + " ms",
        short => decimal(short * 1e6, 1) + " us",
    }
}

/// `64.5 GiB`.
fn bytes(bytes: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut amount, mut unit) = (bytes, 0);
    while amount >= 1024.0 && unit + 1 < units.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{} {}", decimal(amount, usize::from(unit > 0)), units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_named_as_one() {
        let names = |list: &[&str]| runs(&list.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        assert_eq!(names(&["h0:0", "h0:1", "h0:2", "h1:0"]), "h0:0-2 h1:0");
        assert_eq!(names(&["rank7", "rank8"]), "rank7-8");
        assert_eq!(names(&["h0:3", "h0:1", "alone"]), "h0:3 h0:1 alone");
    }

    #[test]
    fn times_and_sizes_are_short() {
        assert_eq!(
            [0.0, 2e-5, 0.0123, 1.5, 120.0].map(seconds),
            ["0 s", "20.0 us", "12.30 ms", "1.500 s", "120.0 s"]
        );
        assert_eq!([0.0, 2048.0].map(bytes), ["0 B", "2.0 KiB"]);
    }
}
