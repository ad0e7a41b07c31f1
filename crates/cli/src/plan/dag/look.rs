//! How a plan for a task graph looks: a table with a headline, and lanes.

use crate::numbers::{counted, decimal};
use crate::screen::Screen;
use crate::table::Table;
use consort_parallel::Answer;
use consort_parallel::dag::Plan;
use consort_report::picture::{Bar, Lane, Lanes, lanes};

/// Rows that a person reads; further ones are in the JSON.
const ROWS: usize = 200;

/// For people.
pub fn text(answer: &Answer<Plan>, screen: &Screen) -> String {
    let plan = &answer.plan;
    let time = Times::for_length(answer.objective);
    let mut text = headline(answer, &time);
    text.push('\n');
    let rows = &plan.tasks[..plan.tasks.len().min(ROWS)];
    let mut table = Table::default();
    table.long_text("task", 12, rows.iter().map(|placed| placed.task.clone()));
    table.long_text("device", 8, rows.iter().map(|placed| placed.device.clone()));
    table.numbers("from", 0, rows.iter().map(|placed| time.shown(placed.start_s)));
    table.numbers("to", 0, rows.iter().map(|placed| time.shown(placed.end_s)));
    text += &table.show(screen);
    if plan.tasks.len() > ROWS {
        let more = counted((plan.tasks.len() - ROWS) as u64, "task");
        text += &screen.dim(&format!("{more} more; --json has them.\n"));
    }
    text.push('\n');
    text
}

fn headline(answer: &Answer<Plan>, time: &Times) -> String {
    let plan = &answer.plan;
    let used = plan.devices.iter().filter(|device| device.tasks > 0).count() as u64;
    let tasks = counted(plan.tasks.len() as u64, "task");
    let mut text = format!(
        "makespan  {} for {tasks} on {}, found by {}\n",
        time.shown(answer.objective),
        counted(used, "device"),
        plan.found_by
    );
    if let Some(one) = &plan.one_device {
        text += &format!("alone     {} on {}, the best single device\n", time.shown(one.seconds), one.device);
    } else {
        text += "alone     no single device can run all tasks\n";
    }
    let gap = match answer.objective <= answer.bound {
        true => "the plan is optimal".to_string(),
        false => format!("the plan is at most {} % from the best", decimal(100.0 * answer.gap(), 2)),
    };
    text + &format!("bound     {} by {}; {gap}\n", time.shown(answer.bound), answer.bound_by)
}

/// One unit and one number of decimals for everything in a plan.
struct Times {
    factor: f64,
    decimals: usize,
    unit: &'static str,
}

impl Times {
    fn for_length(seconds: f64) -> Self {
        let (factor, unit) = match seconds {
            0.0 => (1.0, "s"),
            small if small < 1e-3 => (1e6, "us"),
            small if small < 1.0 => (1e3, "ms"),
            _ => (1.0, "s"),
        };
        let decimals = match seconds * factor {
            large if large >= 10_000.0 => 0,
            large if large >= 100.0 => 1,
            _ => 3,
        };
        Self { factor, decimals, unit }
    }

    fn shown(&self, seconds: f64) -> String {
        format!("{} {}", decimal(seconds * self.factor, self.decimals), self.unit)
    }
}

/// One lane for each device that does something.
pub fn picture(answer: &Answer<Plan>) -> String {
    let plan = &answer.plan;
    let lane = |device: &str| Lane {
        name: device.into(),
        bars: plan
            .tasks
            .iter()
            .filter(|placed| placed.device == device)
            .map(|placed| Bar {
                from_s: placed.start_s,
                to_s: placed.end_s,
                name: placed.task.clone(),
                group: 0,
            })
            .collect(),
    };
    let used = plan.devices.iter().filter(|device| device.tasks > 0);
    let time = Times::for_length(answer.objective);
    lanes(&Lanes {
        title: format!(
            "{} on {}, {}",
            counted(plan.tasks.len() as u64, "task"),
            counted(used.clone().count() as u64, "device"),
            time.shown(answer.objective)
        ),
        lanes: used.map(|device| lane(&device.device)).collect(),
        groups: vec!["task".into()],
        mark: Some((answer.bound, format!("bound, {}", answer.bound_by))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_one_unit_that_suits_its_length() {
        let shown = |length: f64, seconds: f64| Times::for_length(length).shown(seconds);
        assert_eq!(shown(0.68, 0.0151), "15.1 ms");
        assert_eq!(shown(623.5, 7.58), "7.6 s");
        assert_eq!(shown(2e-4, 5e-6), "5.0 us");
        assert_eq!(shown(86_400.0, 3_600.4), "3,600 s");
        assert_eq!(shown(0.0, 0.0), "0.000 s");
    }
}
