use super::*;
use crate::file::mangled::example;
use crate::id::JobId;
use crate::job::{Condition, Count, Dependency, Qos};
use crate::time::Span;
use crate::work::{Command, Grace, Limits};

const AROUND: Around<'_> = Around { now: Time::seconds(1_000), workdir: "/lab/ada" };

fn parse(text: &str) -> JobFile {
    read("train.yaml", text, &AROUND).unwrap()
}

fn refusal(text: &str) -> String {
    read("j.yaml", text, &AROUND).unwrap_err().to_string()
}

fn script(text: &str) -> Command {
    Command::Script { text: text.into(), arguments: vec![] }
}

#[test]
fn the_example_in_the_documentation_is_read_as_it_says() {
    let JobFile { spec, work, notes } = parse(&example(include_str!("../job.rs"), "yaml"));
    assert_eq!((spec.name.as_str(), spec.tenant.as_str(), spec.queue.as_str()), ("train", "red", "urgent"));
    assert_eq!((spec.priority, spec.qos, spec.retries), (5, Qos::Standard, 3));
    let after = [(17, Condition::Succeeded), (18, Condition::Ended)];
    assert_eq!(spec.after, after.map(|(job, when)| Dependency { job: JobId(job), when }));
    assert_eq!(spec.deadline, Some(Time::seconds(1_000 + 6 * 3_600)));
    assert_eq!(spec.time_limit, Some(Span::seconds(7_200)));
    let role = &spec.stages[0].roles[0];
    assert_eq!((role.count, role.shapes[0].devices, role.shapes.len()), (Count::exactly(1), 8, 2));
    assert_eq!(work.stages[0].commands, [script("source venv/bin/activate\npython train.py --resume\n")]);
    assert_eq!(work.workdir, "/data/train");
    assert_eq!(work.env, [("NCCL_DEBUG".to_string(), "INFO".to_string())]);
    assert_eq!(work.grace, Grace { signal: 10, span: Span::seconds(120) });
    let limits = Limits { memory_bytes: Some(64 << 30), cpu_thousandths: Some(8_000), ..Limits::default() };
    assert_eq!(work.limits, limits);
    assert_eq!(work.output.path.as_deref(), Some("logs/%j.txt"));
    assert!(notes.is_empty());
}

#[test]
fn what_a_worker_takes_of_its_host_stands_beside_its_devices() {
    let host = |text: &str| {
        let host = parse(text).spec.stages[0].roles[0].shapes[0].host;
        (host.cpu_milli, host.memory_bytes >> 30)
    };
    assert_eq!(host("{run: x, cpus: 2.5, mem: 8GiB}"), (2_500, 8));
    assert_eq!(host("{run: x, host_memory: 8GiB}"), (0, 8));
    assert_eq!(host("{run: x, roles: [{name: w, cpus: 4, mem: 1GiB}]}"), (4_000, 1));
    assert_eq!(host("{run: x, shapes: [{kind: a, cpus: 4}]}"), (4_000, 0));
    assert_eq!(host("{stages: [{name: s, run: x, mem: 2GiB}]}"), (0, 2));
    assert_eq!(host("{run: x, resources: {accelerators: H100:8}, cpus: 4}"), (4_000, 0));
    assert!(refusal("{run: x, mem: 8GiB, host_memory: 8GiB}").contains("`mem`"));
    assert!(refusal("{run: x, mem: 4}").contains("`mem`"), "it is called what the file calls it");
    assert!(refusal("{run: x, host_memory: 4}").contains("`host_memory`"));
    assert!(refusal("{run: x, cpus: 0}").contains("expected a number of processors"));
    // Limits are apart: what is asked for is the limit only where they say nothing.
    let JobFile { work, spec, .. } = parse("{run: x, cpus: 4, mem: 8GiB, limits: {memory: 9GiB}}");
    let limits = work.limits.or_asked(&spec.stages[0].roles[0].shapes[0].host);
    assert_eq!((limits.cpu_thousandths, limits.memory_bytes), (Some(4_000), Some(9 << 30)));
}

#[test]
fn a_job_may_differ_by_kind() {
    let job = parse(
        "{run: a, kind: [h200, MI300X], env: {A: 1, B: 2}, image: base, variants: {mi300x: {run: [b, c], image: rocm, env: {B: 3}}, H200: {env: {C: 4}}}}",
    );
    let on = |kind: &str| job.work.on(0, kind).into_owned();
    assert_eq!(on("mi300x").stages[0].commands, [Command::Program(vec!["b".into(), "c".into()])]);
    let env =
        |kind: &str| on(kind).env.iter().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>();
    assert_eq!(env("mi300x"), ["A=1", "B=3"]);
    assert_eq!(
        (env("h200"), on("h200").stages[0].commands.clone()),
        (vec!["A=1".into(), "B=2".into(), "C=4".into()], vec![script("a")])
    );
    assert_eq!(on("a100"), job.work);
    assert_eq!((on("mi300x").image.as_deref(), on("h200").image.as_deref()), (Some("rocm"), Some("base")));
    assert_eq!(job.work.images().collect::<Vec<_>>(), ["base", "rocm"]);
    // Without `run` where every kind has its own.
    let job = parse("{kind: [h200, mi300x], variants: {h200: {run: a}, mi300x: {run: b}}}");
    assert_eq!(job.work.on(0, "mi300x").stages[0].commands, [script("b")]);
    // What is set up comes before every one of them.
    let job = parse("{setup: s, kind: h200, run: a, variants: {h200: {run: b}}}");
    assert_eq!(job.work.on(0, "h200").stages[0].commands, [script("s\nb")]);
}

#[test]
fn what_is_written_of_variants_and_precision_comes_back() {
    let text = "{kind: [h200, a100], workers: 2-4, precision: [fp8, bf16], cpus: 2, run: a, image: i:1, variants: {h200: {run: {script: b, arguments: [c]}, image: 'j@sha256:0', env: {X: y}}}}";
    let job = parse(text);
    let again = read_json("job.yaml", job.to_json().to_string().as_bytes(), &AROUND).unwrap();
    assert_eq!(again.spec.stages, job.spec.stages);
    assert_eq!(again.work, job.work);
}

#[test]
fn mistakes_in_variants_and_precision_are_told() {
    for (text, message) in [
        (
            "{run: a, kind: h200, variants: {a100: {run: b}}}",
            "there is a variant for `a100`, which the job does not accept, expected one of h200",
        ),
        (
            "{run: a, variants: {a100: {}}}",
            "the variant for `a100` is empty, expected `run`, `image` or `env`",
        ),
        ("{run: a, variants: {a100: {run: b}, A100: {run: c}}}", "`variants` names kind `A100` twice"),
        (
            "{kind: [h200, a100], variants: {h200: {run: b}}}",
            "missing field `run`, expected a script, or a program and its arguments",
        ),
        (
            "{run: a, precision: fp7}",
            "expected a number format: one of fp4, fp8, int8, fp16, bf16, tf32, fp32, fp64",
        ),
        ("{run: a, precision: []}", "`precision` is empty, expected a number format like bf16"),
        ("{run: a, precision: [fp8, FP8]}", "`precision` names fp8 twice"),
    ] {
        assert!(refusal(text).ends_with(message), "{}", refusal(text));
    }
    assert!(refusal("{variants: {a: {run: b}}, roles: [{name: w, run: a}]}").contains("`variants`"));
}

#[test]
fn features_stand_beside_the_kind() {
    let features = |text: &str| parse(text).spec.stages[0].roles[0].shapes[0].features.clone();
    assert_eq!(features("{run: x, features: ib}"), ["ib"]);
    assert_eq!(features("{run: x, kind: h100, features: [nvme, ib, nvme]}"), ["ib", "nvme"]);
    assert_eq!(features("{run: x, shapes: [{kind: h100, features: ib}]}"), ["ib"]);
    assert_eq!(features("{run: x, roles: [{name: w, features: ib}]}"), ["ib"]);
    assert_eq!(features("{run: x, resources: {accelerators: H100:8}, features: ib}"), ["ib"]);
    assert!(features("run: x").is_empty());
    assert!(
        refusal("{run: x, features: []}").ends_with("`features` is empty, expected the name of a feature")
    );
}

#[test]
fn a_task_of_skypilot_is_understood_where_the_shapes_coincide() {
    let job = parse(
        "{num_nodes: 2, envs: {A: 1}, resources: {accelerators: H100:8, cpus: 4+, memory: 32+}, run: x, setup: y}",
    );
    let role = &job.spec.stages[0].roles[0];
    assert_eq!(role.count, Count::exactly(2));
    assert_eq!(role.shapes, [Shape { devices: 8, ..Shape::of("h100") }]);
    assert_eq!(
        (job.work.limits.cpu_thousandths, job.work.limits.memory_bytes),
        (Some(4_000), Some(32 << 30))
    );
    assert_eq!(job.work.env, [("A".to_string(), "1".to_string())]);
    assert_eq!(job.work.stages[0].commands, [script("y\nx")]);
    let shapes = |text: &str| parse(text).spec.stages[0].roles[0].shapes.clone();
    let either = [Shape { devices: 2, ..Shape::of("h100") }, Shape { devices: 4, ..Shape::of("a100") }];
    assert_eq!(shapes("{resources: {accelerators: {H100: 2, A100: 4}}, run: x}"), either);
    assert_eq!(shapes("{resources: {accelerators: [H100:2, A100:4]}, run: x}"), either);
    assert_eq!(shapes("{resources: {accelerators: L4:0.5}, run: x}")[0].share, 500);
}

#[test]
fn a_job_without_a_name_is_called_after_what_it_runs() {
    for (file, text, name) in [
        ("train.yaml", "run: python x.py", "train"),
        ("a/b/train.v2.yaml", "run: python x.py", "train.v2"),
        ("train.yaml", "run: [/usr/bin/python3, x.py]", "python3"),
        ("stdin", "run: |\n  # first\n  /opt/tool --fast", "tool"),
        ("stdin", "run: '#only a remark'", "job"),
    ] {
        assert_eq!(read(file, text, &AROUND).unwrap().spec.name, name, "{text}");
    }
}

#[test]
fn what_is_set_up_comes_first() {
    let command = |text: &str| parse(text).work.stages[0].commands[0].clone();
    assert_eq!(
        command("{setup: a, run: [b, c]}"),
        Command::Script { text: "a\nexec \"$@\"\n".into(), arguments: vec!["b".into(), "c".into()] }
    );
    assert_eq!(command("setup: a\nrun: \"#!/bin/bash -e\\nb\\n\""), script("#!/bin/bash -e\na\nb\n"));
}

#[test]
fn each_role_may_run_something_of_its_own() {
    let job = parse("{run: work, roles: [{name: worker, count: 2-4}, {name: server, run: [serve]}]}");
    assert_eq!(job.work.stages[0].commands, [script("work"), Command::Program(vec!["serve".into()])]);
    let job = parse("{stages: [{name: a, array: '3,1', run: x}, {name: b, after: a, replicas: 2, run: y}]}");
    assert_eq!(job.work.stages[0].indices, [1, 3]);
    assert_eq!(job.spec.stages[1].form, Form::Service { replicas: 2 });
    assert_eq!(job.spec.stages[1].after, [0]);
}

#[test]
fn folders_are_found_from_where_the_submitter_stood() {
    for (text, workdir) in [
        ("{run: x}", "/lab/ada"),
        ("{run: x, workdir: .}", "/lab/ada"),
        ("{run: x, workdir: ./a/b/}", "/lab/ada/a/b"),
        ("{run: x, workdir: /data}", "/data"),
    ] {
        assert_eq!(parse(text).work.workdir, workdir, "{text}");
    }
}

#[test]
fn what_is_wrong_is_said_at_its_place() {
    for (text, message) in [
        ("", "j.yaml: is empty, expected a job"),
        ("[]", "j.yaml:1:1: a job is a list, expected a map"),
        ("name: a", "j.yaml:1:1: missing field `run`, expected a script, or a program and its arguments"),
        ("run: x\ndevises: 8", "j.yaml:2:1: unknown field `devises`; did you mean `devices`?"),
        (
            "run: ''",
            "j.yaml:1:6: `run` is empty, expected a script, or a list of a program and its arguments",
        ),
        ("run: []", "j.yaml:1:6: `run` is an empty list, expected a program and its arguments"),
        (
            "{run: x, devices: 2-8}",
            "j.yaml:1:19: `devices` is `2-8`, expected one number; workers can be a range, as in `workers: 2-8`",
        ),
        ("{run: x, devices: 2, workers: 2}", "j.yaml:1:22: `workers` cannot be used with `devices`"),
        ("{run: x, time: 1h, time_limit: 1h}", "j.yaml:1:20: `time_limit` cannot be used with `time`"),
        (
            "{run: x, kind: a, resources: {accelerators: h100}}",
            "j.yaml:1:10: `kind` cannot be used with `accelerators`",
        ),
        (
            "{run: x, limits: {cpus: 1}, resources: {cpus: 2}}",
            "j.yaml:1:47: `cpus` cannot be given both here and in `limits`",
        ),
        (
            "{run: x, array: 0-9%4}",
            "j.yaml:1:17: `array` is `0-9%4`, expected indices without `%4`: the scheduler and quotas decide \
             how many tasks run at once",
        ),
        ("{run: x, array: '1,1'}", "j.yaml:1:17: `array` names index 1 twice"),
        (
            "{run: x, roles: [{name: a, run: y}]}",
            "j.yaml:1:2: `run` cannot be used when every role has its own",
        ),
        ("{run: x, after: me}", "j.yaml:1:17: `after` is `me`, expected the id of a job like 17"),
        ("{run: x, after: [3, 3]}", "j.yaml:1:21: `after` names job 3 twice"),
        (
            "{run: x, deadline: 6h}",
            "j.yaml:1:20: `deadline` is `6h`, expected a time from now like +6h, or an instant like \
             2026-03-09T14:05:00Z",
        ),
        (
            "{run: x, deadline: '1970-01-01T00:00:00Z'}",
            "j.yaml:1:20: `deadline` is `1970-01-01T00:00:00Z`, expected an instant in the future",
        ),
        (
            "{run: x, image: -v}",
            "j.yaml:1:17: `image` is `-v`, expected the name of a container image like pytorch/pytorch:2.6.0, \
             without spaces",
        ),
        ("{run: x, time: 0s}", "j.yaml:1:16: `time_limit` is `0s`, expected a time longer than 0s"),
        (
            "{run: x, env: {'a=b': 1}}",
            "j.yaml:1:16: `env` is `a=b`, expected the name of a variable, without `=`, control and invisible characters",
        ),
        ("{run: x, grace: {signl: 1}}", "j.yaml:1:18: unknown field `signl`; did you mean `signal`?"),
        (
            "{run: x, grace: {signal: NO}}",
            "j.yaml:1:26: `signal` is `NO`, expected the name of a signal like TERM, INT or USR1, or its number from \
             1 to 64",
        ),
        (
            "setup: a\nrun: \"#!/usr/bin/python3\\nb\"",
            "j.yaml:2:6: `setup` cannot be used with a `run` whose interpreter is not a shell",
        ),
        ("run: \"a\\0b\"", "j.yaml:1:6: `a\\0b` contains a NUL character"),
        (
            "{name: \"a\\nb\", run: x}",
            "j.yaml:1:8: `name` is `a\\nb`, expected a name of 1 to 256 printable characters",
        ),
        (
            "{devices: !!int 1, run: x}",
            "j.yaml:1:11: unexpected tag `tag:yaml.org,2002:!int`; tags are not supported",
        ),
        ("{run: !secret [x]}", "j.yaml:1:7: unexpected tag `!secret`; tags are not supported"),
        ("!job {run: x}", "j.yaml:1:1: unexpected tag `!job`; tags are not supported"),
    ] {
        assert_eq!(refusal(text), message);
    }
}

#[test]
fn sizes_are_bounded() {
    let long = "x".repeat(limits::COMMAND_BYTES + 1);
    assert!(refusal(&format!("run: {long}")).contains("larger than 1 MiB"));
    assert!(
        refusal(&format!("{{run: x, env: {{A: {}}}}}", &long[..limits::VARIABLE_BYTES])).contains("128 KiB")
    );
    let many: String = (0..=limits::VARIABLES).map(|number| format!("V{number}: 1, ")).collect();
    assert!(refusal(&format!("{{run: x, env: {{{many}}}}}")).contains("expected at most 4,096"));
    let wide: String = (0..9).map(|number| format!("V{number}: {}, ", &long[..120_000])).collect();
    assert!(refusal(&format!("{{run: x, env: {{{wide}}}}}")).contains("`env` is larger than 1 MiB"));
    assert!(
        refusal(&format!("{{run: x, name: {}}}", &long[..257])).contains("1 to 256 printable characters")
    );
    assert!(refusal(&format!("{{run: [{}]}}", [&long[..120_000]; 9].join(","))).contains("1 MiB"));
}

#[test]
fn the_examples_in_the_reference_can_be_read() {
    let text = include_str!("../../../../../docs/files.md");
    let example = |language: &str| -> &str {
        let part = text.split(&format!("```{language}\n")).nth(1).unwrap();
        part.split("```").next().unwrap()
    };
    assert_eq!(parse(example("yml")).spec.stages[0].roles[0].shapes[0].devices, 8);
    let batch = crate::file::sbatch::read("train.sh", example("sh"), &AROUND).unwrap();
    assert_eq!(batch.job.spec.time_limit, Some(Span::seconds(12 * 3_600)));
}

#[test]
fn the_example_with_images_in_the_reference_can_be_read() {
    let text = include_str!("../../../../../docs/files.md");
    let example = text.split("```image.yaml\n").nth(1).and_then(|part| part.split("```").next()).unwrap();
    let job = read("files.md", example, &AROUND).unwrap();
    let image = |kind: &str| job.work.on(0, kind).image.clone().unwrap();
    assert!(image("h200").contains("nvidia") && image("mi300x").contains("rocm"));
}

#[test]
fn tasks_of_an_array_do_not_stop_each_other_unless_the_file_says_so() {
    let stage = |text: &str| {
        let job = read("j.yaml", text, &AROUND);
        job.map(|job| job.spec.stages[0].clone()).map_err(|error| error.to_string())
    };
    let array = stage("{run: x, array: '10,20'}").unwrap();
    assert_eq!((array.on_failure, array.index(1)), (OnFailure::Continue, 20));
    assert_eq!(stage("{run: x, tasks: 2, on_failure: stop}").unwrap().on_failure, OnFailure::Stop);
    assert_eq!(stage("{run: x}").unwrap().on_failure, OnFailure::Stop);
    assert!(stage("{run: x, on_failure: stop}").unwrap_err().contains("needs `array` or `tasks`"));
    assert!(stage("{run: x, tasks: 2, on_failure: go}").unwrap_err().contains("continue or stop"));
}

#[test]
fn images_are_references() {
    for good in [
        "pytorch/pytorch:2.6.0",
        "nvcr.io/nvidia/pytorch:25.01-py3",
        "localhost:5000/a/b_c:Tag_1",
        "[::1]:5000/a",
        "ubuntu",
        "a@sha256:0123abc",
        "docker://quay.io/x/y",
        "oci:/images/Mine:latest",
    ] {
        let job = parse(&format!("{{run: x, image: '{good}'}}"));
        assert_eq!(job.work.images().collect::<Vec<_>>(), [good]);
    }
    for bad in [
        "Ubuntu",
        "a//b",
        "/a",
        "a/",
        "a:",
        "a:b:c",
        "a@b",
        "a@sha256:xyz",
        "a:-b",
        "x/../y",
        "a b",
        "ubuntu;ls",
    ] {
        assert!(
            refusal(&format!("{{run: x, image: '{bad}'}}")).contains("the name of a container image"),
            "{bad}"
        );
    }
}

#[test]
fn workdirs_can_be_seen_and_found() {
    let said = refusal("{run: x, workdir: '/a\u{202e}b'}");
    assert!(said.contains("without control or invisible characters"), "{said}");
    // A request comes from no folder.
    let nowhere = Around { now: Time::ZERO, workdir: "" };
    let read = |text: &str| crate::file::job::read("job", text, &nowhere);
    let said = read("{run: x, workdir: data}").unwrap_err().to_string();
    assert!(said.contains("`workdir` is `data`, expected an absolute path"), "{said}");
    assert_eq!(read("run: x").unwrap().work.workdir, "/");
    assert_eq!(read("{run: x, workdir: /data}").unwrap().work.workdir, "/data");
}
