//! A plan as a picture: one lane for each stage, over the time of one iteration.

use consort_parallel::pipeline::schedule::Work;
use consort_parallel::pipeline::whole::Plan;
use consort_report::picture::{self, Bar, Lane, Lanes};

/// Draws it.
pub fn drawn(plan: &Plan, bound: f64) -> String {
    let lane = |(number, spans): (usize, &Vec<_>)| {
        let stage = &plan.stages[number];
        let bar = |span: &consort_parallel::pipeline::schedule::Span| {
            let group = match span.action.work {
                Work::Forward => 0,
                Work::Backward => 1,
                Work::Weight => 2,
            };
            let name = match plan.chunks {
                1 => span.action.microbatch.to_string(),
                _ => format!("{}/{}", span.action.microbatch, span.action.part),
            };
            Bar { from_s: span.from_s, to_s: span.to_s, name, group }
        };
        let mut bars: Vec<Bar> = spans.iter().map(bar).collect();
        let end = bars.last().map_or(0.0, |bar| bar.to_s);
        if stage.exchange_s > 0.0 {
            let name = "gradients".to_string();
            bars.push(Bar { from_s: end, to_s: end + stage.exchange_s, name, group: 3 });
        }
        Lane { name: format!("stage {number}"), bars }
    };
    picture::lanes(&Lanes {
        title: format!("One iteration: {} stages, {} microbatches", plan.stages.len(), plan.microbatches),
        lanes: plan.spans.iter().enumerate().map(lane).collect(),
        groups: ["forward", "backward", "gradients of weights", "exchange of gradients"]
            .map(String::from)
            .to_vec(),
        mark: Some((bound, "bound".into())),
    })
}
