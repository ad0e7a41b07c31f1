use super::*;
use crate::{Cell, Device, Run, Sheet};
use consort_sched::stock;
use consort_sim::course::Course;
use consort_sim::run::{Outcome, Setup, run_with_course};
use consort_sim::workload::{Cluster, Submission, Truth, Workload};
use consort_types::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What somebody might call a thing who means harm.
const HOSTILE: &str =
    "</title></svg><script>document.title='owned'</script><img src=x onerror=alert(1)> \" ' &";

fn workload(jobs: i64, name: &str) -> Workload {
    let submission = |number: i64| {
        let mut spec = JobSpec::gang(name, 1 + (number % 3) as u32, Shape::of("h200"));
        spec.tenant = if number % 2 == 0 { name.into() } else { "plain".into() };
        Submission {
            label: format!("{name} {number}"),
            at: Time::seconds(number * 60),
            spec: Arc::new(spec),
            after: vec![],
            truth: Truth::runs(Span::seconds(100 + 37 * number)),
        }
    };
    let tenant = |name: &str| TenantSpec { name: name.into(), quotas: vec![] };
    Workload {
        submissions: (0..jobs).map(submission).collect(),
        tenants: vec![tenant(name), tenant("plain")],
        ..Workload::default()
    }
}

fn play(cluster: &Cluster, workload: &Workload) -> (Outcome, Course) {
    let setup = Setup::new(cluster, workload, stock::find("fifo/best-fit").unwrap().policy());
    run_with_course(setup, &mut |_| {}).unwrap()
}

fn page(name: &str, jobs: i64, nodes: u32, runs: usize) -> String {
    let (cluster, workload) = (Cluster::uniform("h200", nodes, 4), workload(jobs, name));
    let played: Vec<(Outcome, Course)> = (0..runs).map(|_| play(&cluster, &workload)).collect();
    let devices = (0..nodes * 4).map(|row| Device {
        node: format!("{name}{}", row / 4),
        position: row % 4,
        kind: name.into(),
    });
    let jobs = |outcome: &Outcome| -> BTreeMap<JobId, (&str, &str)> {
        let known = outcome.records.iter().filter_map(|record| {
            let submission = &workload.submissions[record.submission?];
            Some((record.job, (submission.label.as_str(), submission.spec.tenant.as_str())))
        });
        known.collect()
    };
    let runs =
        played.iter().map(|(outcome, course)| Run { policy: name, outcome, course, jobs: jobs(outcome) });
    html(&Page {
        title: name.into(),
        facts: vec![(name.into(), name.into())],
        again: name.into(),
        figures: Sheet {
            titles: vec![name.into(), name.into()],
            rows: vec![vec![Cell::words(name), Cell { text: name.into(), number: true, best: true }]],
        },
        lost: vec![(name.into(), name.into())],
        devices: devices.collect(),
        runs: runs.collect(),
    })
}

#[test]
fn a_hostile_name_stays_a_name() {
    for runs in [1, 2, 3] {
        let html = page(HOSTILE, 12, 2, runs);
        assert!(html.contains("&lt;script&gt;document.title=&#39;owned&#39;&lt;/script&gt;"));
        for markup in ["<script", "<img", "onerror=alert(1)>", "owned'"] {
            assert!(!html.contains(markup), "{markup} with {runs} runs");
        }
        assert_eq!(html.matches("</title>").count(), html.matches("<title").count());
        assert_eq!(html.matches("</svg>").count(), html.matches("<svg").count());
    }
}

#[test]
fn nothing_comes_from_elsewhere() {
    let html = page("plain", 12, 2, 3);
    for sign in ["http:", "https:", "url(", "@import", "src=", "href=", "javascript:", "<script", "<link"] {
        assert!(!html.contains(sign), "{sign}");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn every_picture_is_there_with_a_title_and_a_description() {
    let html = page("plain", 12, 2, 3);
    for id in ["completion-picture", "in-use-2", "waiting-2", "tenants-2", "where-2"] {
        assert!(html.contains(&format!("<figure class=\"picture\" id=\"{id}\">")), "{id}");
    }
    let drawn = html.matches("role=\"img\"").count();
    // Completion and who was where are drawn twice, for wide and narrow screens.
    assert_eq!(drawn, 2 + 3 + 3 + 3 + 3 * 2);
    assert_eq!(html.matches("<desc id=").count(), drawn);
    let ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let unique: std::collections::BTreeSet<&&str> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "an id is there twice");
    assert!(html.contains("class=\"n best\""));
    assert!(!html.contains("NaN") && !html.contains("inf"), "numbers are numbers");
}

#[test]
fn the_same_data_gives_the_same_page() {
    assert_eq!(page("plain", 12, 2, 2), page("plain", 12, 2, 2));
}

#[test]
fn what_is_left_out_says_why() {
    let html = page("plain", 201, 2, 1);
    assert!(
        html.contains("Left out, because there are more than 200 jobs.") && !html.contains("id=\"where-0\"")
    );
    let html = page("plain", 3, 17, 1);
    assert!(html.contains("Left out, because this cluster has 68 devices, and the chart shows up to 64."));
}

#[test]
fn nothing_at_all_is_a_page_too() {
    let html = page("plain", 0, 2, 2);
    assert!(html.contains("Nothing ran") && !html.contains("completion-picture"));
    assert!(!html.contains("NaN"));
}
