//! The page of `--report`, made by the shipped binary and opened in a real browser.
//!
//! `CONSORT_PICTURES=DIR cargo test -p consort --test page` also leaves pictures of every page there, to be looked at.

mod browser;

use browser::{Browser, Look};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What somebody might call a job who means harm.
const HOSTILE: &str = "</title></svg><script>document.title=1</script><img src=x onerror=alert(1)>";

/// What is on the page: how wide it is, what is drawn, how large text is, what it says.
const MEASURE: &str = r#"(() => {
  const box = element => element.getBoundingClientRect();
  const isShown = element => box(element).width > 0 && box(element).height > 0;
  const channel = value => { value /= 255; return value <= .04045 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4; };
  const light = colour => {
    const [red, green, blue] = colour.match(/[\d.]+/g).map(Number).map(channel);
    return .2126 * red + .7152 * green + .0722 * blue;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const contrast = colour => { const [a, b] = [light(colour), paper].sort((a, b) => b - a); return (a + .05) / (b + .05); };
  const pictures = [...document.querySelectorAll('figure.picture')].map(figure => {
    const shown = [...figure.querySelectorAll('svg')].filter(isShown);
    const shapes = shown.flatMap(svg => [...svg.querySelectorAll('[class*=" c"]')].filter(shape => box(shape).width > 0));
    return { id: figure.id, shown: shown.length, shapes: shapes.length };
  });
  const words = [...document.querySelectorAll('figure svg text')].filter(isShown).map(text => ({
    text: text.textContent,
    size: parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a,
    contrast: contrast(getComputedStyle(text).fill),
    inside: box(text).left >= box(text.ownerSVGElement).left - 1 && box(text).right <= box(text.ownerSVGElement).right + 1
      && box(text).top >= box(text.ownerSVGElement).top - 1 && box(text).bottom <= box(text.ownerSVGElement).bottom + 1,
  }));
  const prose = [...document.querySelectorAll('h1,h2,p,dt,dd,th,td,figcaption,summary,li')].filter(isShown);
  return {
    width: document.documentElement.scrollWidth, title: document.title, text: document.body.innerText,
    paper, pictures, words,
    prose: Math.min(...prose.map(element => parseFloat(getComputedStyle(element).fontSize))),
    proseContrast: Math.min(...prose.map(element => contrast(getComputedStyle(element).color))),
    scripts: document.scripts.length, images: document.images.length,
  };
})()"#;

/// Makes a report and returns where its page is.
fn report(folder: &Path, arguments: &[&str]) -> PathBuf {
    let output = Command::new(env!("CARGO_BIN_EXE_consort"))
        .args(arguments)
        .args(["--report", "out"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("out/report.html")
}

/// Opens a page in every way it can be looked at and holds it to what a reader needs.
fn read_everywhere(name: &str, page: &Path, pictures: &[&str]) -> Value {
    let mut browser = Browser::start();
    let mut last = Value::Null;
    for (width, look) in
        [(1280, Look::Light), (1280, Look::Dark), (400, Look::Light), (400, Look::Dark), (720, Look::Paper)]
    {
        let at = format!("{name} at {width}, {look:?}");
        browser.open(page, width, look);
        let found = browser.measure(MEASURE);
        let complaints: Vec<&Value> = browser.events.iter().filter(|event| is_complaint(event)).collect();
        assert!(complaints.is_empty(), "{at}: {complaints:?}");
        assert!(found["width"].as_f64().unwrap() <= f64::from(width), "{at}: the page scrolls sideways");
        assert_eq!((&found["scripts"], &found["images"]), (&0.into(), &0.into()), "{at}");
        let drawn = found["pictures"].as_array().unwrap();
        let ids: Vec<&str> = drawn.iter().map(|picture| picture["id"].as_str().unwrap()).collect();
        assert_eq!(ids, pictures, "{at}");
        for picture in drawn {
            assert_eq!(picture["shown"], 1, "{at}: {picture}");
            assert!(picture["shapes"].as_u64() > Some(0), "{at}: {picture}");
        }
        for word in found["words"].as_array().unwrap() {
            let (size, contrast) = (word["size"].as_f64().unwrap(), word["contrast"].as_f64().unwrap());
            assert!(size >= 8.99, "{at}: too small: {word}");
            assert!(contrast >= 4.5, "{at}: too pale: {word}");
            assert_eq!(word["inside"], true, "{at}: cut off: {word}");
        }
        assert!(found["prose"].as_f64() >= Some(9.0), "{at}: {}", found["prose"]);
        assert!(found["proseContrast"].as_f64() >= Some(4.5), "{at}: {}", found["proseContrast"]);
        assert_eq!(found["paper"].as_f64() < Some(0.1), look == Look::Dark, "{at}: {}", found["paper"]);
        if let Some(folder) = std::env::var_os("CONSORT_PICTURES") {
            keep(Path::new(&folder), &format!("{name}-{width}-{look:?}.png"), &browser.picture(width));
        }
        last = found;
    }
    last
}

/// A script that failed, something that was not allowed, or anything asked for but the page itself.
fn is_complaint(event: &Value) -> bool {
    match event["method"].as_str() {
        Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded") => true,
        Some("Network.requestWillBeSent") => event["params"]["type"] != "Document",
        _ => false,
    }
}

fn keep(folder: &Path, name: &str, base64: &str) {
    std::fs::create_dir_all(folder).unwrap();
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (vec![], 0u32, 0);
    for letter in base64.bytes().filter(|letter| *letter != b'=') {
        let value = letters.iter().position(|known| *known == letter).unwrap() as u32;
        (bits, held) = (bits << 6 | value, held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    std::fs::write(folder.join(name), bytes).unwrap();
}

#[test]
fn many_policies_on_a_large_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let page = report(
        folder.path(),
        &["compare", "--jobs", "300", "--policy", "fifo,shortest,las,deadline,priority"],
    );
    let of_each = ["in-use", "waiting", "tenants"];
    let each = of_each.iter().flat_map(|name| (0..5).map(move |index| format!("{name}-{index}")));
    let ids: Vec<String> = ["completion-picture".to_string()].into_iter().chain(each).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let found = read_everywhere("large", &page, &ids);
    let text = found["text"].as_str().unwrap();
    assert!(text.contains("Left out, because this cluster has 192 devices"), "{text}");
    assert!(text.contains("24 nodes, 80 h200, 48 l4, 64 mi300x"), "{text}");
}

#[test]
fn two_policies_on_a_small_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let tour = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tour");
    let (cluster, jobs) = (tour.join("cluster.yaml"), tour.join("jobs.yaml"));
    let files = ["--cluster", cluster.to_str().unwrap(), "--workload", jobs.to_str().unwrap()];
    let page = report(folder.path(), &[&["compare", "--policy", "priority,las"], &files[..]].concat());
    let ids = [
        "completion-picture",
        "in-use-0",
        "in-use-1",
        "waiting-0",
        "waiting-1",
        "tenants-0",
        "tenants-1",
        "where-0",
        "where-1",
    ];
    read_everywhere("small", &page, &ids);
}

#[test]
fn one_policy_and_names_that_mean_harm() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("cluster.yaml"),
        format!("nodes:\n  - {{name: \"<b>n\", count: 1, devices: {{h200: 4}}}}\ntenants:\n  - {{name: \"{HOSTILE}\"}}\n"),
    )
    .unwrap();
    let job = |number: u32| {
        format!(
            "- {{name: \"{HOSTILE}{number}\", tenant: \"{HOSTILE}\", at: {number}m, devices: 2, run: 7m}}\n"
        )
    };
    std::fs::write(folder.path().join("jobs.yaml"), (0..9).map(job).collect::<String>()).unwrap();
    let page = report(folder.path(), &["simulate", "--cluster", "cluster.yaml", "--workload", "jobs.yaml"]);
    // The browser's own door is left open: what is held to be text must be text without it.
    let html = std::fs::read_to_string(&page).unwrap();
    let begin = html.find("<meta http-equiv=\"Content-Security-Policy\"").unwrap();
    let end = begin + html[begin..].find('>').unwrap() + 1;
    std::fs::write(&page, format!("{}{}", &html[..begin], &html[end..])).unwrap();
    let ids = ["completion-picture", "in-use-0", "waiting-0", "tenants-0", "where-0"];
    let found = read_everywhere("hostile", &page, &ids);
    assert!(found["title"].as_str().unwrap().starts_with("jobs under "), "{}", found["title"]);
    assert!(found["text"].as_str().unwrap().contains("</title></svg><script>"));
}
