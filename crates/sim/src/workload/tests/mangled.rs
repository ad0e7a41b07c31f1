//! Any bytes at all: a value or an error, never a panic. Seeded, so that a failure repeats.

use super::*;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::{Rng, SeedableRng};

type Reader = fn(&str, &[u8]) -> Result<(), ReadError>;

/// Each reader with inputs that it likes.
fn readers() -> Vec<(Reader, Vec<String>)> {
    fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(bytes)
    }
    vec![
        (
            |file, bytes| cluster_file::parse(file, &text(bytes)).map(drop),
            vec![example(include_str!("../cluster_file.rs"), "yaml")],
        ),
        (
            |file, bytes| job_list::parse(file, &text(bytes)).map(drop),
            vec![example(include_str!("../job_list.rs"), "yaml")],
        ),
        (
            |file, bytes| job_csv::parse(file, bytes).map(drop),
            vec![example(include_str!("../job_csv.rs"), "csv")],
        ),
        (
            |file, bytes| crate::scenario::read_only(file, &text(bytes)),
            vec![example(include_str!("../../scenario.rs"), "text")],
        ),
        (
            |file, bytes| helios::parse_jobs(file, bytes).map(|jobs| drop(helios::to_workload(&jobs, "x"))),
            vec![
                "job_id,submit_s,duration_s,gpus,vc,est_s\n0,-5,100,8,aa,-3\n1,7,50,1,bb,60\n".into(),
                "cluster,job_id,submit_s,duration_s,gpus,deadline_s,est_s\n1,0,5,9,64,50,20\n".into(),
            ],
        ),
        (
            |file, bytes| helios::parse_groups(file, bytes).map(drop),
            vec!["vc,nodes,gpus_per_node\na,64,8\nb,32,8\n".into()],
        ),
        (
            |file, bytes| {
                tiresias::parse_jobs(file, bytes).map(|jobs| drop(tiresias::to_workload(&jobs, "")))
            },
            vec![
                "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n0,1,0,606,v,164,30\n"
                    .into(),
            ],
        ),
        (
            |file, bytes| tiresias::parse_cluster(file, bytes, "x").map(drop),
            vec![
                "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n1,16,4,128,254\n"
                    .into(),
            ],
        ),
        (
            |file, bytes| swf::parse(file, bytes).and(swf::parse_cluster(file, bytes)).map(drop),
            vec![example(include_str!("../swf.rs"), "swf")],
        ),
        (
            |file, bytes| philly::parse(file, bytes).map(drop),
            vec![example(include_str!("../philly.rs"), "json")],
        ),
        (
            |file, bytes| philly::parse_cluster(file, bytes).map(drop),
            vec!["machineId, number of GPUs, single GPU mem\nm1,8, 24GB\n".into()],
        ),
        (
            |file, bytes| {
                pai::parse((file, bytes), Some((file, bytes)))
                    .map(drop)
                    .or_else(|_| pai::parse((file, bytes), None).map(drop))
            },
            vec![example(include_str!("../pai.rs"), "csv")],
        ),
        (|file, bytes| pai::parse_cluster(file, bytes).map(drop), vec!["82e5,T4,96,512,2\n".into()]),
        (
            |file, bytes| helios_log::parse(file, bytes).map(drop),
            vec![example(include_str!("../helios_log.rs"), "csv")],
        ),
        (
            |file, bytes| gavel::Throughputs::parse(file, bytes).map(drop),
            vec![example(include_str!("../gavel/throughputs.rs"), "json")],
        ),
        (
            |file, bytes| gavel::parse(file, bytes, Some(&throughputs())).map(drop),
            vec![
                "LM (batch size 10)\tc\tf\t-n\t1\t50\t1\t1\t-1.0\t0\n".into(),
                "LM (batch size 10)\tc\tf\t-n\t1\t50\t2\tgns\t1\t1.5\t9\t0\n".into(),
            ],
        ),
        (|file, bytes| sia::parse(file, bytes).map(drop), vec![example(include_str!("../sia.rs"), "csv")]),
        (
            |file, bytes| sia::parse_pool(file, bytes).map(drop),
            vec![
                "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
                    .into(),
            ],
        ),
        (
            |file, bytes| openb::parse(file, bytes).and(openb::parse_pods(file, bytes)).map(drop),
            vec![example(include_str!("../openb.rs"), "csv")],
        ),
        (
            |file, bytes| openb::parse_nodes(file, bytes).map(|nodes| drop(openb::to_cluster(&nodes))),
            vec!["sn,cpu_milli,memory_mib,gpu,model\na,32000,262144,2,P100\nb,32000,262144,0,\n".into()],
        ),
    ]
}

fn throughputs() -> gavel::Throughputs {
    let text = example(include_str!("../gavel/throughputs.rs"), "json");
    gavel::Throughputs::parse("t.json", text.as_bytes()).unwrap()
}

/// Bytes that mean something to at least one reader.
const SALT: &[&str] = &[
    "\"",
    "'",
    ",",
    ";",
    "\n",
    "\r\n",
    "\0",
    "\u{feff}",
    "{",
    "}",
    "[",
    "]",
    ": ",
    "- ",
    "? ",
    "&a ",
    "*a",
    "!!x ",
    "|\n",
    ">\n",
    "#",
    "%",
    "---\n",
    "...\n",
    "-",
    "+",
    "0",
    "9999999999999999999999",
    "1e999",
    "0.5",
    "{}",
    "\t",
    "é",
    "<<",
    "name",
    "after",
    "NaN",
    "-1",
    "\\x",
    "\u{85}",
    "\u{2028}",
];

#[test]
fn every_reader_survives_mangled_input() {
    let mut dice = Pcg32::seed_from_u64(7);
    let mut below = |limit: usize| dice.next_u32() as usize % limit.max(1);
    let (mut good, mut bad) = (0, 0);
    for (reader, inputs) in readers() {
        for input in inputs {
            reader("good", input.as_bytes()).unwrap();
            for _ in 0..1_500 {
                let mut bytes = input.clone().into_bytes();
                for _ in 0..=below(6) {
                    let at = below(bytes.len() + 1);
                    let end = (at + below(20)).min(bytes.len());
                    match below(5) {
                        0 => bytes.insert(at, below(256) as u8),
                        1 => drop(bytes.drain(at..end)),
                        2 => drop(bytes.splice(at..at, SALT[below(SALT.len())].bytes())),
                        3 => bytes.truncate(at.max(1)),
                        _ => {
                            let piece = bytes[at..end].to_vec();
                            let to = below(bytes.len() + 1);
                            drop(bytes.splice(to..to, piece));
                        }
                    }
                }
                match reader("mangled", &bytes) {
                    Ok(()) => good += 1,
                    Err(error) => {
                        bad += 1;
                        assert!(!error.message.is_empty() && error.message.len() < 1_000, "{error}");
                    }
                }
            }
        }
    }
    assert!(good > 100 && bad > 5_000, "{good} good, {bad} bad");
}
