//! What holds for all readers: exact words for malformed input, and no harm from mangled input.

use super::*;
use std::path::PathBuf;

/// The example in a module's own documentation: what is documented is what is tested.
pub(super) fn example(source: &str, language: &str) -> String {
    let fence = format!("//! ```{language}");
    let lines =
        source.lines().skip_while(|line| *line != fence).skip(1).take_while(|line| *line != "//! ```");
    lines.map(|line| line.strip_prefix("//! ").unwrap_or("").to_string() + "\n").collect()
}

/// Where the public data is, if it is given.
pub(super) fn bench_data(test: &str) -> Option<PathBuf> {
    let data = std::env::var_os("CONSORT_BENCH_DATA").map(PathBuf::from);
    if data.is_none() {
        use std::io::Write;
        // Past the test runner, which shows what passing tests print to nobody.
        let _ = writeln!(std::io::stderr(), "skipped: {test} (CONSORT_BENCH_DATA is not set)");
    }
    data
}

mod malformed;
mod mangled;

#[test]
fn a_cluster_becomes_inputs_in_an_acceptable_order() {
    let cluster = Cluster::uniform("x", 2, 4);
    let words: Vec<String> = cluster.inputs().iter().map(|input| format!("{input:?}")).collect();
    let starts = ["Configure", "SetKind", "SetTenant", "SetQueue", "NodeJoined", "NodeJoined"];
    assert_eq!(words.len(), starts.len());
    assert!(words.iter().zip(starts).all(|(word, start)| word.starts_with(start)), "{words:?}");
    assert_eq!(cluster.devices(), 8);

    let declared =
        Cluster { tenants: vec![plain_tenant(DEFAULT)], queues: vec![plain_queue(DEFAULT)], ..cluster };
    assert_eq!(declared.inputs().len(), starts.len());
}

#[test]
fn only_what_the_cluster_lacks_is_declared_for_a_workload() {
    let text = "[{name: a, run: 1s}, {name: b, run: 1s, tenant: red, queue: fast}, {name: c, run: 1s, tenant: blue}]";
    let workload = job_list::parse("jobs.yaml", text).unwrap();
    let cluster = Cluster { tenants: vec![plain_tenant("red")], ..Cluster::default() };
    let expected = [Input::SetTenant(plain_tenant("blue")), Input::SetQueue(plain_queue("fast"))];
    assert_eq!(workload.undeclared(&cluster), expected);
}

#[test]
fn tables_are_told_apart_by_their_header_and_unpacked() {
    use std::io::Write;
    let philly = "job_id,submit_s,duration_s,gpus,vc,est_s\n0,5,100,8,aa,90\n";
    let tiresias = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n7,2,30,1,vgg,9,1\n";
    let ours = "name,at,run,devices\na,0,1h,2\n";
    for (text, label) in [(philly, "0"), (tiresias, "7"), (ours, "a")] {
        let workload = read::parse_workload("jobs.csv", text.as_bytes()).unwrap();
        assert_eq!(workload.submissions[0].label, label);
        let mut packer = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        let path = std::env::temp_dir().join(format!("consort-{}-{label}.csv.gz", std::process::id()));
        std::fs::write(&path, packer.finish().unwrap()).unwrap();
        assert_eq!(read_workload(&path), Ok(workload));
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn what_lies_beside_a_file_is_found_and_a_folder_stands_for_its_files() {
    let folder = std::env::temp_dir().join(format!("consort-{}-beside", std::process::id()));
    let traces = folder.join("traces");
    std::fs::create_dir_all(&traces).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let error = read_workload(&folder).unwrap_err();
    assert!(error.message.starts_with("is a folder; name a file, or a folder"), "{error}");
    write("pai_task_table.csv", "a,worker,1.0,Terminated,5.0,9.0,600.0,2.5,100.0,T4\n");
    write("pai_job_table.csv", "a,i,alice,Terminated,3.0,9.0\n");
    write("pai_machine_spec.csv", "m,T4,96,512,2\n");
    assert_eq!(read_workload(&folder).unwrap().submissions[0].spec.tenant, "alice");
    assert_eq!(read_cluster(&folder).unwrap().devices_of("T4"), 2);
    write("cluster_log.csv", "");
    assert!(read_workload(&folder).is_err(), "which of the two is not for us to say");

    write("traces/jobs.trace", "LM\tc\tf\t-n\t1\t50\t1\t1\t-1\t0\n");
    assert!(read_workload(traces.join("jobs.trace")).is_err());
    write("simulation_throughputs.json", r#"{"v100": {"('LM', 1)": {"null": 5.0}}}"#);
    let workload = read_workload(traces.join("jobs.trace")).unwrap();
    assert_eq!(workload.submissions[0].truth, Truth::runs(Span::seconds(10)));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_examples_in_the_reference_can_be_read() {
    let text = include_str!("../../../../docs/files.md");
    let examples = |language: &str| -> Vec<String> {
        let fence = format!("```{language}\n");
        let parts = text.split(&fence).skip(1);
        parts.map(|part| part.split("```").next().unwrap_or_default().into()).collect()
    };
    let [cluster, jobs] = &examples("yaml")[..] else { panic!("a cluster file and a job list are expected") };
    assert_eq!(cluster_file::parse("files.md", cluster).unwrap().nodes.len(), 7);
    assert_eq!(job_list::parse("files.md", jobs).unwrap().submissions.len(), 5);
    assert_eq!(job_csv::parse("files.md", examples("csv")[0].as_bytes()).unwrap().submissions.len(), 3);
    let story = crate::scenario::play("files.md", &examples("text")[0]).unwrap();
    assert_eq!(story.expected, story.actual);
}
