//! Buckets of gradients, for people.

use super::malformed;
use super::sizes::size;
use crate::failure::Failure;
use crate::plan::shown::{Shown, read};
use crate::screen::Screen;
use crate::table::{Best, Table};
use consort_parallel::Answer;
use consort_parallel::collective::buckets::{self, Bucket, Gradient, Plan};
use consort_parallel::collective::{Ground, Operation};
use consort_report::numbers::{brief, counted, decimal};
use consort_report::picture::{Bar, Lane, Lanes, lanes};
use std::path::Path;

/// Plans buckets for the layers of a file and shows them.
pub fn run(ground: &Ground, path: &Path, shown: &Shown) -> Result<(), Failure> {
    let layers = buckets::read(&read(path)?).map_err(|error| malformed(path, error))?;
    let send = |bytes: f64| ground.tiers.best(Operation::AllReduce, bytes).1;
    let mut answer = buckets::plan(&layers, send).map_err(|refusal| Failure::Request(refusal.to_string()))?;
    answer.assumed.extend(ground.tiers.assumed.iter().cloned());
    shown.show("collective", &answer, |screen| text(&answer, &layers, screen), || picture(&answer))
}

fn text(answer: &Answer<Plan>, layers: &[Gradient], screen: &Screen) -> String {
    let plan = &answer.plan;
    let head = format!(
        "{} hide all but {} of the exchange behind {} of backward; {}% sooner than buckets of 25 MiB",
        counted(plan.buckets.len() as u64, "bucket"),
        brief(plan.exposed_s),
        brief(plan.backward_s),
        decimal(plan.gain_over_default_pct, 1)
    );
    let mut text = format!("{}\n", screen.bold(&head));
    text += &screen.prose(&format!(
        "bound     all is sent after {} at best: {}",
        brief(answer.bound),
        answer.bound_by
    ));
    text += "\n";
    text += &table(&plan.buckets, layers).show(screen);
    text += "\n";
    let mut fixed = Table::default();
    let named = plan.fixed.iter().map(|fixed| size(fixed.cap_bytes)).chain(["planned".into()]);
    fixed.text("closed at", 0, named);
    let counts = plan.fixed.iter().map(|fixed| fixed.buckets).chain([plan.buckets.len()]);
    fixed.numbers("buckets", 1, counts.map(|count| count.to_string()));
    let ends: Vec<f64> = plan.fixed.iter().map(|fixed| fixed.end_s).chain([answer.objective]).collect();
    fixed.contest("all sent after", 0, Best::Least, &ends, brief);
    let exposed = plan.fixed.iter().map(|fixed| fixed.exposed_s).chain([plan.exposed_s]);
    fixed.numbers("not hidden", 0, exposed.map(brief));
    text += &fixed.show(screen);
    text += "\n";
    text
}

fn table(buckets: &[Bucket], layers: &[Gradient]) -> Table {
    let mut table = Table::default();
    let name = |index: usize| layers.get(index).map_or_else(String::new, |layer| layer.name.clone());
    table.numbers("bucket", 0, (1..=buckets.len()).map(|number| number.to_string()));
    table.long_text("from layer", 8, buckets.iter().map(|bucket| name(bucket.last)));
    table.long_text("down to", 8, buckets.iter().map(|bucket| name(bucket.first)));
    table.numbers("size", 0, buckets.iter().map(|bucket| size(bucket.bytes as u64)));
    table.numbers("ready", 1, buckets.iter().map(|bucket| brief(bucket.ready_s)));
    table.numbers("sent from", 0, buckets.iter().map(|bucket| brief(bucket.start_s)));
    table.numbers("until", 0, buckets.iter().map(|bucket| brief(bucket.end_s)));
    table
}

fn picture(answer: &Answer<Plan>) -> String {
    let plan = &answer.plan;
    let mut before = 0.0;
    let mut backward = vec![];
    for (index, bucket) in plan.buckets.iter().enumerate() {
        let name = format!("layers {} to {}", bucket.last, bucket.first);
        backward.push(Bar { from_s: before, to_s: bucket.ready_s, name, group: index % 2 });
        before = bucket.ready_s;
    }
    let sent = |(index, bucket): (usize, &Bucket)| Bar {
        from_s: bucket.start_s,
        to_s: bucket.end_s,
        name: format!("bucket {}, {}", index + 1, size(bucket.bytes as u64)),
        group: index % 2,
    };
    lanes(&Lanes {
        title: "Gradients sent behind backward".into(),
        lanes: vec![
            Lane { name: "backward".into(), bars: backward },
            Lane { name: "network".into(), bars: plan.buckets.iter().enumerate().map(sent).collect() },
        ],
        groups: vec!["odd buckets".into(), "even buckets".into()],
        mark: Some((answer.bound, "bound".into())),
    })
}
