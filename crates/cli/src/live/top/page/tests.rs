use super::*;
use crate::live::top::state::{Act, Pressed};
use consort_api::Moment;
use consort_api::shapes::Status;
use consort_types::Time;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

fn job(id: u64, state: State, devices: u64) -> Job {
    Job {
        id,
        name: format!("job-{id}"),
        user: None,
        tenant: "red".into(),
        queue: "default".into(),
        state,
        reason: if state == State::Waiting { "needs 8 h200, 1 free".into() } else { String::new() },
        devices,
        submitted: Moment(Time::ZERO),
        started: None,
        expected_start: None,
        ended: None,
        exit_code: None,
        priority: 0,
        qos: "standard".into(),
        attempts: 0,
        preemptions: 0,
        restarts: 0,
        used_cpu_ms: 0,
        used_memory_mib_ms: 0,
        asks_for: vec![],
    }
}

fn sample() -> Sample {
    let device = |index, state, used_thousandths| Device {
        node: "here".into(),
        index,
        kind: "h200".into(),
        vendor: "nvidia".into(),
        uuid: None,
        state,
        used_thousandths,
        memory_bytes: Some(100),
        jobs: vec![1],
        temperature_c: Some(60.0),
        power_w: None,
        utilization_percent: Some(50.0),
        memory_used_bytes: Some(25),
        why: (state == DeviceState::Unhealthy).then(|| "fell off the bus".into()),
    };
    let status = Status {
        version: "1.2.3".into(),
        world: "local".into(),
        data_dir: "/d".into(),
        url: "http://x".into(),
        socket: None,
        started: Moment(Time::ZERO),
        state_hash: None,
        position: 1,
        policy: "priority".into(),
        waiting: 1,
        running: 1,
        ended: 0,
        devices: 2,
        notes: vec![],
        trouble: None,
        plans_rejected: 0,
        rejections: vec![],
    };
    Sample {
        status,
        devices: vec![device(0, DeviceState::Used, 1000), device(1, DeviceState::Unhealthy, 0)],
        jobs: vec![job(1, State::Waiting, 8), job(2, State::Running, 1), job(3, State::Paused, 2)],
        more: false,
    }
}

fn seen(page: &Page, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, page)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol().to_string()).collect::<String>();
    (0..height).map(|y| line(y).trim_end().to_string() + "\n").collect()
}

fn press(page: &mut Page, code: KeyCode) -> Option<Pressed> {
    page.press(KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn the_page_shows_devices_with_bars_and_jobs_with_reasons() {
    let text = seen(&Page::new(sample()), 140, 20);
    assert!(
        text.starts_with(
            "consort 1.2.3 (local): 2 devices, 2 in use; 1 running, 1 waiting; policy priority\n"
        )
    );
    assert!(text.contains("here[0]") && text.contains("█████░░░░░ 50%") && text.contains("60°C"), "{text}");
    assert!(text.contains("fell off the bus") && text.contains("needs 8 h200, 1 free"), "{text}");
    assert!(text.contains("unhealthy "), "{text}");
    let running = text.find("job-2").unwrap();
    assert!(running < text.find("job-1").unwrap(), "what runs comes first: {text}");
    assert!(text.contains("q quit"), "{text}");
}

#[test]
fn a_world_in_trouble_is_told_below_the_headline() {
    let mut sample = sample();
    sample.status.trouble = Some("Slurm has not answered for 35 s: no route".into());
    let text = seen(&Page::new(sample), 140, 20);
    assert_eq!(text.lines().nth(1), Some("Slurm has not answered for 35 s: no route"), "{text}");
}

#[test]
fn a_small_window_does_no_harm() {
    for (width, height) in [(1, 1), (20, 3), (40, 8), (300, 5)] {
        seen(&Page::new(sample()), width, height);
    }
    let nothing = Sample { devices: vec![], jobs: vec![], ..sample() };
    let mut page = Page::new(nothing);
    for code in [KeyCode::Down, KeyCode::Char('c'), KeyCode::Char('p'), KeyCode::End] {
        assert_eq!(press(&mut page, code), None);
    }
    seen(&page, 80, 24);
}

#[test]
fn keys_choose_and_ask_before_they_cancel() {
    let mut page = Page::new(sample());
    assert_eq!(page.chosen, Some(2));
    press(&mut page, KeyCode::Down);
    assert_eq!(page.chosen, Some(1));
    assert_eq!(press(&mut page, KeyCode::Char('c')), None);
    assert!(seen(&page, 80, 24).contains("Cancel job 1?"));
    assert_eq!(press(&mut page, KeyCode::Char('n')), None);
    press(&mut page, KeyCode::Char('c'));
    assert_eq!(press(&mut page, KeyCode::Char('y')), Some(Pressed::Act(Act::Cancel(1))));
    press(&mut page, KeyCode::End);
    assert_eq!(press(&mut page, KeyCode::Char('p')), Some(Pressed::Act(Act::Resume(3))));
    press(&mut page, KeyCode::Home);
    assert_eq!(press(&mut page, KeyCode::Char('p')), Some(Pressed::Act(Act::Pause(2))));
    let stopping = page.sample.jobs.iter_mut().find(|job| job.id == 2).expect("it is shown");
    stopping.state = State::Stopping;
    assert_eq!(press(&mut page, KeyCode::Char('p')), Some(Pressed::Act(Act::Resume(2))), "undone in time");
    press(&mut page, KeyCode::Char('s'));
    assert_eq!(page.sample.jobs[0].id, 3, "the newest first");
    assert_eq!(page.chosen, Some(2), "the choice stays with the job");
    assert_eq!(press(&mut page, KeyCode::Char('q')), Some(Pressed::Leave));
}

#[test]
fn a_job_that_is_gone_is_no_longer_chosen_or_asked_about() {
    let mut page = Page::new(sample());
    press(&mut page, KeyCode::Char('c'));
    let jobs = vec![job(1, State::Running, 8)];
    page.show(Sample { jobs, ..sample() });
    assert_eq!((page.chosen, page.asking), (Some(1), None));
}
