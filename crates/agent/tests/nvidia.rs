//! NVIDIA devices, from a library that is made up.

use consort_agent::discover::{Declared, Inventory, Search, Sources, discover};
use consort_agent::health::HealthWatch;
use consort_agent::telemetry::Telemetry;
use consort_types::Illness;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// The stand-in, built if need be.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let folder = test.ancestors().nth(2).unwrap();
        let built = folder.join("libconsort_fake_nvml.so");
        // Always asked for: an old one would answer old questions. It costs nothing when it is fresh.
        let mut cargo = std::process::Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "-p", "consort-fake-nvml", "--target-dir"])
            .arg(folder.parent().unwrap());
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(cargo.status().unwrap().success() && built.exists(), "{}", built.display());
        built
    })
}

/// The script is found by a variable of the process, so that there is one machine at a time.
static TURN: Mutex<()> = Mutex::new(());

#[allow(unsafe_code)]
fn machine(test: impl FnOnce(&Path)) {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = std::env::temp_dir().join(format!("consort-nvidia-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let script = folder.join("script.json");
    // SAFETY: nobody else in this process reads or writes the environment while it is this test's turn.
    unsafe { std::env::set_var("CONSORT_FAKE_NVML", &script) };
    test(&script);
    let _ = std::fs::remove_dir_all(folder);
}

fn card(index: usize) -> Value {
    json!({
        "uuid": format!("GPU-{index}"), "name": "NVIDIA H200", "pci": format!("0000:{index}b:00.0"),
        "memory_bytes": 150_000_000_000u64, "used_bytes": 5u64 << 30, "power_mw": 350_000, "temperature_c": 61,
        "utilisation": 93, "energy_mj": 123_456u64, "throttle": 4, "links": ["0000:99:00.0"],
    })
}

fn write(script: &Path, cards: &[Value]) {
    // Put in place whole, so that nobody reads half of it.
    let beside = script.with_extension("new");
    std::fs::write(&beside, json!({"devices": cards}).to_string()).unwrap();
    std::fs::rename(beside, script).unwrap();
}

fn find() -> Inventory {
    let declared = Declared { searches: vec![Search::Nvidia], ..Declared::default() };
    discover(&Sources { nvidia_library: Some(library().into()), declared, ..Sources::default() })
}

#[test]
fn cards_are_found_with_what_they_tell() {
    machine(|script| {
        let mut poor = card(2);
        poor["unsupported"] = json!(["memory", "links"]);
        write(script, &[card(0), card(1), poor]);
        let inventory = find();
        assert_eq!(inventory.notes, Vec::<String>::new());
        let [plain, first, second] = inventory.devices() else { panic!("{inventory:?}") };
        assert_eq!(
            (first.kind.as_str(), first.memory_bytes, first.identity.as_str()),
            ("h200", 150_000_000_000, "GPU-0")
        );
        assert_eq!((first.island, second.island), (Some(0), Some(0)));
        assert_eq!(first.masks[0].value.as_deref(), Some("GPU-0"));
        assert_eq!((plain.identity.as_str(), plain.memory_bytes, plain.island), ("GPU-2", 0, None));
    });
}

#[test]
fn a_card_that_does_not_answer_is_a_note() {
    machine(|script| {
        let mut gone = card(1);
        gone["lost"] = json!(true);
        write(script, &[card(0), gone]);
        let inventory = find();
        assert_eq!(inventory.devices().len(), 1);
        assert!(inventory.notes[0].contains("skipped NVIDIA device 1"), "{:?}", inventory.notes);
    });
}

#[test]
fn a_machine_without_the_library_is_an_ordinary_machine() {
    let declared = Declared { searches: vec![Search::Nvidia], ..Declared::default() };
    let inventory = discover(&Sources {
        nvidia_library: Some("/no/such/library.so".into()),
        declared,
        ..Sources::default()
    });
    assert!(inventory.devices().is_empty());
    assert!(inventory.notes[0].contains("/no/such/library.so is not installed"), "{:?}", inventory.notes);
}

#[test]
fn readings_lack_only_what_is_not_known() {
    machine(|script| {
        let mut poor = card(1);
        poor["unsupported"] = json!(["power", "throttle"]);
        write(script, &[card(0), poor]);
        let telemetry = Telemetry::open(&find(), Some(library()));
        let readings = telemetry.sample();
        let [first, second] = &readings[..] else { panic!("{readings:?}") };
        assert_eq!(
            (first.power_mw, first.temperature_c, first.energy_mj),
            (Some(350_000), Some(61), Some(123_456))
        );
        assert_eq!((first.utilisation_percent, first.memory_used_bytes), (Some(93), Some(5 << 30)));
        assert_eq!(first.throttle, ["power cap"]);
        assert_eq!((second.power_mw, second.temperature_c), (None, Some(61)));
        assert!(second.throttle.is_empty());
        let mut gone = card(0);
        gone["lost"] = json!(true);
        write(script, &[gone, card(1)]);
        assert_eq!(telemetry.sample().len(), 1);
    });
}

type Ill = Vec<(u32, String)>;

fn next(reports: &Receiver<Ill>) -> Ill {
    reports.recv_timeout(Duration::from_secs(10)).expect("a change is reported")
}

#[test]
fn illness_and_recovery_are_reported() {
    machine(|script| {
        write(script, &[card(0), card(1)]);
        let (tell, reports) = channel();
        let watch = HealthWatch::start(
            &find(),
            Some(library().into()),
            Duration::from_millis(20),
            vec![],
            move |ill| {
                let _ =
                    tell.send(ill.into_iter().map(|one| (one.device, one.why.to_string())).collect::<Ill>());
            },
        )
        .unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let mut lost = card(1);
        lost["lost"] = json!(true);
        write(script, &[card(0), lost]);
        assert_eq!(next(&reports), [(1, "fell off the bus".to_owned())]);
        write(script, &[card(0), card(1)]);
        assert_eq!(next(&reports), []);
        std::thread::sleep(Duration::from_millis(100));
        // A program's own fault first: nobody hears of it.
        let mut broken = card(0);
        broken["xids"] = json!([31, 79]);
        write(script, &[broken.clone(), card(1)]);
        assert_eq!(next(&reports), [(0, "critical error (Xid 79)".to_owned())]);
        let mut worn = card(1);
        worn["ecc_uncorrected"] = json!(2);
        write(script, &[broken.clone(), worn]);
        assert_eq!(next(&reports).len(), 2);
        write(script, &[broken, card(1)]);
        assert_eq!(next(&reports).len(), 1);
        drop(watch);
    });
}

#[test]
fn what_an_earlier_watch_knew_is_not_forgotten() {
    machine(|script| {
        write(script, &[card(0), card(1)]);
        let ill = |device, why: &str| Illness { device, why: why.into() };
        let known = vec![ill(0, "critical error (Xid 79)"), ill(1, "fell off the bus")];
        let (tell, reports) = channel();
        let every = Duration::from_millis(20);
        let watch = HealthWatch::start(&find(), Some(library().into()), every, known, move |ill| {
            let _ = tell.send(ill);
        });
        let report = reports.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!(report, [ill(0, "critical error (Xid 79)")]);
        drop(watch);
    });
}
