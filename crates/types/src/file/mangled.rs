//! Any text at all: a value or an error, never a panic; and what is read is read again from what we write of it.
//! Seeded, so that a failure repeats.

use super::job::{self, Around, JobFile};
use super::{ReadError, sbatch};
use crate::time::Time;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::{Rng, SeedableRng};

const AROUND: Around<'_> = Around { now: Time(1_773_065_100_123_456_789), workdir: "/lab/ada" };

/// The example in a module's own documentation: what is documented is what is tested.
pub(super) fn example(source: &str, language: &str) -> String {
    let fence = format!("//! ```{language}");
    let lines =
        source.lines().skip_while(|line| *line != fence).skip(1).take_while(|line| *line != "//! ```");
    lines.map(|line| line.strip_prefix("//! ").unwrap_or("").to_string() + "\n").collect()
}

/// Full of everything a job file may hold.
const FULL: &str = "
name: full
tenant: red
queue: urgent
priority: -5
qos: guaranteed
after: [17, {job: 18, when: ended}, {job: 19, when: failed}]
deadline: 2026-03-10T00:00:00.5+01:00
estimate: 1.5s
time_limit: 100d
restart_cost: 30s
retries: 3
backoff: 1ms
setup: |
  module load x
stages:
  - {name: first, array: '1-3,7,10-20:5', devices: 2, share: 0.25, memory: 40GiB, run: [python, a.py, '']}
  - name: second
    after: first
    run: shared
    roles:
      - {name: worker, count: 2-8, kind: [a, b], devices: 3, within: nvlink, features: [ib, nvme]}
      - {name: server, shapes: [{kind: cpu, devices: 4}, {memory: 1GiB}], run: \"#!/bin/sh\\nserve\\n\"}
  - {name: third, after: [first, second], replicas: 3, run: {script: 'echo $1', arguments: [x, y]}}
env: {B: '1', A: 'two words', C: ''}
inherit: {PATH: /usr/bin, HOME: /lab/ada}
workdir: ./below/
grace: {signal: SIGUSR1, span: 30s}
limits: {memory: 8GiB, cpus: 2.5, processes: 100, open_files: 1024}
output: {path: logs/%j-%a.txt, rotate: 1MiB, keep: 0}
";

const TASK: &str = "
name: sky
num_nodes: 2
resources: {accelerators: [H100:8, 'A100:4', 'T4:0.5'], cpus: 4+, memory: 32+}
envs: {X: 1}
time: 90m
grace: 5s
output: out.txt
run: |
  torchrun train.py
";

const BATCH: &str = "#!/bin/bash
#SBATCH -J 'a job' -p urgent -A red -q normal # and more
#SBATCH --nodes=2 --ntasks-per-node 2 -c4 --gpus-per-node=h100:8
#SBATCH --mem 64G -t 1-12:30:00 -d afterok:1:2,afterany:3,afternotok:4
#SBATCH -a 0-9,12 -o logs/%A_%a.out -e x -D below --export=ALL,A=1
#SBATCH --requeue --signal=B:USR1@120 --nice=10 --mail-type=END --comment \"hello there\"

# a remark
srun x
#SBATCH --nonsense
";

type Reader = fn(&str) -> Result<JobFile, ReadError>;

fn readers() -> Vec<(Reader, Vec<String>)> {
    let written = job::read("full.yaml", FULL, &AROUND).unwrap().to_json().to_string();
    vec![
        (
            |text| job::read("job.yaml", text, &AROUND),
            vec![example(include_str!("job.rs"), "yaml"), FULL.into(), TASK.into()],
        ),
        (|text| job::read_json("job.json", text.as_bytes(), &AROUND), vec![written]),
        (
            |text| sbatch::read("job.sh", text, &AROUND).map(|batch| batch.job),
            vec![example(include_str!("sbatch.rs"), "sh"), BATCH.into()],
        ),
    ]
}

/// Reading what is written gives the same, in JSON and in YAML, whatever is around it then.
fn comes_back(job: &JobFile) {
    let later = Around { now: AROUND.now, workdir: "/elsewhere" };
    let tree = job.to_json();
    let again = job::read_json("again.json", tree.to_string().as_bytes(), &later).unwrap();
    assert_eq!((&again.spec, &again.work), (&job.spec, &job.work));
    let node = super::yaml::Node::from_json(&tree);
    assert_eq!(job::read_node("again", node, &later).unwrap(), again);
}

#[test]
fn every_reader_survives_mangled_input_and_what_is_read_comes_back() {
    let salt = [
        "\"",
        "'",
        ",",
        "\n",
        "\0",
        "{",
        "}",
        "[",
        "]",
        ": ",
        "- ",
        "&a ",
        "|\n",
        "#",
        "%",
        "-",
        "+",
        "0",
        "=",
        "99999999999999999999",
        "0.5",
        "\t",
        "é",
        "name",
        "run",
        "--",
        "\u{1b}",
        "@",
        "~",
        "null",
        "\\",
        "4G",
        " ",
    ];
    let mut dice = Pcg32::seed_from_u64(11);
    let mut below = |limit: usize| dice.next_u32() as usize % limit.max(1);
    let (mut good, mut bad) = (0, 0);
    for (reader, inputs) in readers() {
        for input in inputs {
            comes_back(&reader(&input).unwrap());
            for _ in 0..1_500 {
                let mut letters: Vec<char> = input.chars().collect();
                for _ in 0..=below(4) {
                    let at = below(letters.len() + 1);
                    let end = (at + below(12)).min(letters.len());
                    match below(5) {
                        0 => letters.insert(at, char::from(below(128) as u8)),
                        1 => drop(letters.drain(at..end)),
                        2 => drop(letters.splice(at..at, salt[below(salt.len())].chars())),
                        3 if below(4) == 0 => letters.truncate(at.max(1)),
                        _ => {
                            let piece = letters[at..end].to_vec();
                            let to = below(letters.len() + 1);
                            drop(letters.splice(to..to, piece));
                        }
                    }
                }
                let text: String = letters.into_iter().collect();
                match reader(&text) {
                    Ok(job) => {
                        good += 1;
                        comes_back(&job);
                    }
                    Err(error) => {
                        bad += 1;
                        assert!(!error.message.is_empty() && error.message.len() < 1_000, "{error}");
                    }
                }
            }
        }
    }
    assert!(good > 1_000 && bad > 3_000, "{good} good, {bad} bad");
}
