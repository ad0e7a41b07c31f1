//! Every example in README.md and in docs is run against a daemon, with cards that are made up, and what it prints is
//! compared with what the page says; `CONSORT_BLESS=1` writes what is printed into the page. Left out: the page about Slurm (its story is told by the tests beside a real Slurm)
//! and commands that do not end (`up`, `serve`).

use super::cards;
use super::daemon::House;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One command of a page, and the lines that the page shows below it.
#[derive(Debug)]
struct Example {
    command: String,
    shown: Vec<String>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn page(name: &str) -> String {
    fs::read_to_string(repository().join(name)).expect("a page")
}

/// The blocks of a page between fences, each with what stands behind its first fence.
pub fn blocks(text: &str) -> Vec<(String, Vec<String>)> {
    let mut blocks: Vec<(String, Vec<String>)> = vec![];
    let mut is_inside = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(kind) if !is_inside => {
                blocks.push((kind.into(), vec![]));
                is_inside = true;
            }
            Some(_) => is_inside = false,
            None if is_inside => blocks.last_mut().expect("one is open").1.push(line.into()),
            None => {}
        }
    }
    blocks
}

/// The commands of ours on a page.
fn examples(text: &str) -> Vec<Example> {
    let mut found: Vec<Example> = vec![];
    for (_, lines) in blocks(text) {
        let mut is_ours = false;
        for line in lines {
            if let Some(command) = line.strip_prefix("$ ") {
                is_ours = command.starts_with("consort ");
                if is_ours {
                    found.push(Example { command: command.into(), shown: vec![] });
                }
            } else if is_ours {
                found.last_mut().expect("one was found").shown.push(line);
            }
        }
    }
    found
}

/// A house in which the files lie that the examples name, and programs that say what they see.
fn furnished(cards: usize) -> House {
    let house = cards::house(cards);
    let tool = |name: &str, text: &str| {
        let path = house.path("bin").join(name);
        fs::create_dir_all(house.path("bin")).and_then(|()| fs::write(&path, text)).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("our own file");
    };
    symlink(env!("CARGO_BIN_EXE_consort"), {
        fs::create_dir_all(house.path("bin")).expect("a folder");
        house.path("bin/consort")
    })
    .expect("a link");
    tool("nvidia-smi", "#!/bin/sh\necho GPU: $CUDA_VISIBLE_DEVICES\n");
    tool("python", "#!/bin/sh\necho python $* sees ${CUDA_VISIBLE_DEVICES:-no device}\n");
    for name in ["docs", "scenarios"] {
        symlink(repository().join(name), house.path(name)).expect("a link");
    }
    let write = |name: &str, text: &str| fs::write(house.path(name), text).expect("a file");
    write("train.yaml", "{name: train, run: sleep 600}\n");
    write("eval.sh", "#!/bin/sh\npython eval.py\n");
    fs::create_dir_all(house.path("venv/bin")).expect("a folder");
    write("venv/bin/activate", "");
    write("times.csv", "a,b,c\n1,1,2\n1.1,1,2\n1,1.1,2.1\n");
    write(
        "topology.conf",
        "SwitchName=s1 Nodes=node[01-08]\nSwitchName=s2 Nodes=node[09-16]\nSwitchName=top Switches=s[1-2]\n",
    );
    let layer = |id: usize| {
        format!(
            "node{id} -- Conv2d -- forward_compute_time=2.0, backward_compute_time=4.0, activation_size=8000000.0, parameter_size=4000000.0\n"
        )
    };
    let chain = |id: usize| format!("\tnode{id} -- node{}\n", id + 1);
    write("vgg16.graph.txt", &(1..=16).map(layer).chain((1..16).map(chain)).collect::<String>());
    house
}

/// Runs it as a person would, from a shell.
fn play(house: &House, command: &str) -> String {
    let ours = house.command(&[]);
    let mut shell = Command::new("sh");
    // The one file that lies elsewhere on a machine with Slurm.
    shell.args(["-c", &command.replace("/etc/slurm/topology.conf", "topology.conf")]);
    shell.current_dir(ours.get_current_dir().expect("a folder"));
    for (name, value) in ours.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let path = std::env::var("PATH").unwrap_or_default();
    shell.env("PATH", format!("{}:{path}", house.path("bin").display()));
    let output = shell.output().expect("a shell runs");
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command} ended with {}: {said}{error}", output.status);
    said.into_owned()
}

/// Lines that tell how long something took, and so are never the same.
fn is_timing(line: &str) -> bool {
    line.starts_with("planning") || line.starts_with("simulation")
}

/// What a page shows is what is printed.
fn same(name: &str, example: &Example, said: &str) {
    let kept = |lines: &[String]| -> Vec<String> {
        let kept = lines.iter().filter(|line| !is_timing(line) && !line.trim().is_empty());
        kept.map(|line| line.trim_end().to_string()).collect()
    };
    let said: Vec<String> = said.lines().map(|line| line.trim_end().to_string()).collect();
    if kept(&example.shown) == kept(&said) {
        return;
    }
    if std::env::var_os("CONSORT_BLESS").is_some() {
        let block = |lines: &[String]| format!("$ {}\n{}\n", example.command, lines.join("\n"));
        let text = page(name).replace(&block(&example.shown), &block(&said));
        fs::write(repository().join(name), text).expect("a page");
        return;
    }
    assert_eq!(
        kept(&example.shown),
        kept(&said),
        "{name}: {}; CONSORT_BLESS=1 writes it anew",
        example.command
    );
}

#[test]
fn the_tour_of_one_machine() {
    let mut house = furnished(1);
    house.start();
    let text = page("README.md");
    let tour: Vec<Example> = examples(text.split("## A tour of the simulator").next().expect("a tour"));
    assert_eq!(tour.len(), 6, "{tour:?}");
    for example in &tour {
        if example.command.starts_with("consort explain") {
            house.until_state(2, &["running"]);
        }
        let said = play(&house, &example.command);
        match example.command.split(' ').nth(1) {
            Some("run") => assert_eq!(said, format!("GPU: {}\n", cards::uuid(0))),
            // The figures are those of another machine.
            Some("devices") => assert!(said.contains("h200  used      100%  2"), "{said}"),
            _ => same("README.md", example, &said),
        }
    }
    // Those that wait see the card when it is their turn.
    house.said(&["cancel", "2"]);
    for (id, program) in [(3, "eval.py"), (4, "report.py")] {
        house.until_state(id, &["succeeded"]);
        let said = house.said(&["logs", &id.to_string()]);
        assert_eq!(said, format!("python {program} sees {}\n", cards::uuid(0)));
    }
}

#[test]
fn the_tour_of_the_simulator() {
    let house = furnished(0);
    let text = page("README.md");
    let rest = text.split("## A tour of the simulator").nth(1).expect("a tour");
    let found = examples(rest);
    assert_eq!(found.len(), 7, "{found:?}");
    for example in &found {
        let verb = example.command.split(' ').nth(1).unwrap_or_default();
        if verb == "bench" && std::env::var_os("CONSORT_BENCH_DATA").is_none() {
            continue; // `cargo xtask test` runs the benchmarks where the data is
        }
        let said = play(&house, &example.command);
        match verb {
            "bench" => assert!(said.contains("Every bar is met."), "{said}"),
            "scenario" => assert!(!said.contains("unreadable"), "{said}"),
            _ if example.shown.is_empty() => assert!(!said.is_empty(), "{}", example.command),
            _ => same("README.md", example, &said),
        }
    }
}

#[test]
fn job_files_and_scripts_of_the_pages() {
    let mut house = furnished(8);
    // The examples accept either of two kinds; both must be known here.
    let devices = "discover: [nvidia, cpu]\ndevices:\n  - {kind: mi300x, count: 1}\n";
    fs::write(house.data().join("devices.yaml"), devices).expect("a file");
    house.start();
    // One of them waits for job 17.
    house.said(&["submit", "--kind", "cpu", "--", "true"]);
    for id in 1..17 {
        house.said(&["submit", "--kind", "cpu", "--after", &format!("{id}:ended"), "--", "true"]);
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("PATH={}:{path}", house.path("bin").display());
    let mut played = 0;
    for name in ["README.md", "docs/files.md"] {
        for (kind, lines) in blocks(&page(name)) {
            let text = lines.join("\n") + "\n";
            let file = match kind.as_str() {
                "yaml" | "yml" if text.contains("\nrun: ") => "example.yaml",
                "sh" => "example.sh",
                _ => continue,
            };
            fs::write(house.path(file), &text).expect("a file");
            let job = house.json(&["submit", "--json", "--wait", "--env", &path, file]);
            assert_eq!(job["state"], "succeeded", "{text}{job}");
            let said = house.said(&["logs", &job["id"].to_string()]);
            assert!(said.contains("python train.py") && !said.contains("no device"), "{text}{said}");
            played += 1;
        }
    }
    assert_eq!(played, 4);
}

#[test]
fn plans_inside_one_job() {
    let mut house = furnished(0);
    // What the plan of a task graph asks for.
    let devices = "discover: [cpu]\ndevices:\n  - {kind: h200, count: 2}\n";
    fs::write(house.data().join("devices.yaml"), devices).expect("a file");
    house.start();
    let found = examples(&page("docs/book/plans.md"));
    assert!(found.len() >= 11, "{found:?}");
    for example in &found {
        play(&house, &example.command);
    }
}
