//! The order of ranks for people: what names would give, what is planned, what no order can beat.

use crate::numbers::{counted, decimal, thousands};
use crate::screen::Screen;
use crate::table::Table;
use consort_parallel::Answer;
use consort_parallel::fabric::{Fabric, shown};
use consort_parallel::ranks::{Figures, Plan, Seat};

/// Lines of the order before it is cut short.
const LINES: usize = 24;

/// The plan.
pub fn text(answer: &Answer<Plan>, fabric: &Fabric, screen: &Screen) -> String {
    let plan = &answer.plan;
    let mut text = head(plan);
    text += &format!("\n{}", rings(answer, fabric, screen));
    if !plan.groups.is_empty() {
        text += &format!("\n{}", groups(plan, screen));
    }
    text += &format!("\n{}\n", order(plan, screen));
    text += &screen.prose(&verdict(answer));
    text += &screen.prose("By name is the default order of launchers: node10 before node2.");
    text += "For a launcher: --as hostfile, rankfile, slurm or torchrun\n\n";
    text
}

fn head(plan: &Plan) -> String {
    let sizes = &plan.sizes;
    let kinds = [
        ("pipeline", sizes.pipeline),
        ("data", sizes.data),
        ("expert", sizes.expert),
        ("tensor", sizes.tensor),
    ];
    let said: Vec<String> =
        kinds.iter().filter(|(_, size)| *size > 1).map(|(kind, size)| format!("{kind} {size}")).collect();
    let hosts = counted(plan.hosts.len() as u64, "host");
    format!("{hosts}, {}: {}\n", counted(plan.ranks.len() as u64, "rank"), said.join(" x "))
}

/// The ring of hosts: by name, as planned, and at best.
fn rings(answer: &Answer<Plan>, fabric: &Fabric, screen: &Screen) -> String {
    let plan = &answer.plan;
    let count = plan.hosts.len() as f64;
    let mean = |around: f64| shown(count / around);
    let figures = |figures: &Figures| vec![shown(figures.bottleneck), mean(figures.around_s)];
    let (mut by_name, mut planned) = (figures(&plan.by_name), figures(&plan.planned));
    let best = [shown(answer.bound), mean(plan.around_bound_s)];
    let mut rows = vec!["slowest link".to_string(), "mean link".into()];
    if plan.hosts.len() > 1 && fabric.levels.len() > 1 {
        let mut names: Vec<&Seat> = plan.hosts.iter().collect();
        names.sort_by(|one, other| one.host.cmp(&other.host));
        for (at, level) in fabric.levels.iter().enumerate() {
            rows.push(format!("links meeting at {}", level.name));
            by_name.push(thousands(meeting(&names, at)));
            planned.push(thousands(meeting(&plan.hosts.iter().collect::<Vec<_>>(), at)));
        }
    }
    let mut table = Table::default();
    table.text("ring of hosts", 0, rows);
    table.numbers("by name", 0, by_name);
    table.numbers("planned", 0, planned);
    table.numbers("at best", 1, best);
    table.show(screen)
}

/// How many neighbours of a ring meet at a level.
fn meeting(ring: &[&Seat], level: usize) -> u64 {
    let next = ring.iter().cycle().skip(1);
    let meet = |(one, other): &(&&Seat, &&Seat)| {
        one.domains.iter().zip(&other.domains).take_while(|(one, other)| one == other).count() == level
    };
    ring.iter().zip(next).filter(meet).count() as u64
}

/// What every kind of group crosses.
fn groups(plan: &Plan, screen: &Screen) -> String {
    let mut columns: [Vec<String>; 8] = Default::default();
    for group in &plan.groups {
        for (at, crossing) in group.crossings.iter().enumerate() {
            let first = |text: String| if at == 0 { text } else { String::new() };
            let cells = [
                first(group.kind.into()),
                first(thousands(group.size)),
                first(thousands(group.count)),
                crossing.level.clone(),
                thousands(crossing.by_name),
                thousands(crossing.planned),
                first(shown(group.slowest_by_name)),
                first(shown(group.slowest)),
            ];
            columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
        }
    }
    let [kinds, sizes, counts, levels, by_name, planned, slow_by_name, slow] = columns;
    let mut table = Table::default();
    table.text("group", 0, kinds);
    table.numbers("members", 1, sizes);
    table.numbers("groups", 1, counts);
    table.text("links meet at", 0, levels);
    table.numbers("by name", 0, by_name);
    table.numbers("planned", 0, planned);
    table.numbers("slowest by name", 3, slow_by_name);
    table.numbers("slowest planned", 2, slow);
    table.show(screen)
}

/// Hosts in order, those of one domain in one line.
fn order(plan: &Plan, screen: &Screen) -> String {
    let runs: Vec<&[Seat]> =
        plan.hosts.chunk_by(|one, other| !one.domains.is_empty() && one.domains == other.domains).collect();
    // Where there are no domains, a few hosts to a line.
    let runs: Vec<&[Seat]> = match plan.hosts.iter().all(|seat| seat.domains.is_empty()) {
        true => plan.hosts.chunks(8).collect(),
        false => runs,
    };
    let kept = &runs[..runs.len().min(LINES)];
    let mut table = Table::default();
    let range = |run: &&[Seat]| match run {
        [one] => one.node_rank.to_string(),
        [first, .., last] => format!("{}-{}", first.node_rank, last.node_rank),
        [] => String::new(),
    };
    table.text("node rank", 0, kept.iter().map(range));
    if runs.iter().any(|run| !run[0].domains.is_empty()) {
        table.text("in", 1, kept.iter().map(|run| run[0].domains.join("/")));
    }
    let names = |run: &&[Seat]| run.iter().map(|seat| seat.host.as_str()).collect::<Vec<_>>().join(" ");
    table.long_text("hosts", 20, kept.iter().map(names));
    let mut text = table.show(screen);
    if runs.len() > LINES {
        let left: usize = runs[LINES..].iter().map(|run| run.len()).sum();
        text += &format!("and {} more; --as hostfile has all\n", thousands(left as u64));
    }
    text
}

/// How good it is, in sentences.
fn verdict(answer: &Answer<Plan>) -> String {
    let plan = &answer.plan;
    let slowest = match answer.gap() == 0.0 {
        true => format!("No ring has a faster slowest link: {}.", answer.bound_by),
        false => format!(
            "The slowest link is within {}% of a bound: {}.",
            decimal(100.0 * answer.gap(), 1),
            answer.bound_by
        ),
    };
    let excess = plan.planned.around_s / plan.around_bound_s - 1.0;
    let around = match excess < 1e-9 {
        true => "Nor are the links of any such ring faster in all.".to_string(),
        false => {
            format!("In all, its links take at most {}% longer than they must.", decimal(100.0 * excess, 1))
        }
    };
    let times = plan.by_name.around_s / plan.planned.around_s;
    let gain = match (plan.by_name.bottleneck < plan.planned.bottleneck, times > 1.0 + 1e-9) {
        (false, false) => "Hosts by name are as good: nothing to gain here.".to_string(),
        (true, _) => format!(
            "By name, the slowest link is {} times as slow.",
            decimal(plan.planned.bottleneck / plan.by_name.bottleneck, 1)
        ),
        (false, true) => format!("By name, a byte takes {} times as long around.", decimal(times, 1)),
    };
    format!("{slowest} {around} {gain}")
}
