use super::*;
use crate::file::mangled::example;
use crate::id::JobId;
use crate::job::{Condition, Dependency, Qos};
use crate::time::{Span, Time};
use crate::work::Grace;

const AROUND: Around<'_> = Around { now: Time::ZERO, workdir: "/lab/ada" };

fn parse(options: &str) -> Batch {
    read("train.sh", &format!("#!/bin/sh\n#SBATCH {options}\nrun\n"), &AROUND).unwrap()
}

fn hardware(options: &str) -> (u32, Option<String>, u32) {
    let role = parse(options).job.spec.stages[0].roles[0].clone();
    (role.count.max, role.shapes[0].kind.clone(), role.shapes[0].devices)
}

fn refusal(options: &str) -> String {
    read("train.sh", &format!("#!/bin/sh\n#SBATCH {options}\nrun\n"), &AROUND).unwrap_err().to_string()
}

#[test]
fn the_example_in_the_documentation_is_read_as_it_says() {
    let text = example(include_str!("../sbatch.rs"), "sh");
    let Batch { job, export, .. } = read("other.sh", &text, &AROUND).unwrap();
    assert_eq!((job.spec.name.as_str(), job.spec.time_limit), ("train", Some(Span::seconds(60 * 3_600))));
    assert_eq!(job.spec.stages[0].roles[0].shapes, [Shape { devices: 8, ..Shape::of("h100") }]);
    assert_eq!(job.spec.after, [Dependency { job: JobId(17), when: Condition::Succeeded }]);
    assert_eq!(job.work.stages[0].commands, [Command::Script { text, arguments: vec![] }]);
    assert_eq!((job.work.workdir.as_str(), export), ("/lab/ada", Export::All));
}

#[test]
fn a_job_without_a_name_is_called_after_its_script() {
    assert_eq!(read("a/b.sh", "#!/bin/sh\nx\n", &AROUND).unwrap().job.spec.name, "b");
}

#[test]
fn a_constraint_names_features_that_a_node_must_all_have() {
    let features = |options: &str| parse(options).job.spec.stages[0].roles[0].shapes[0].features.clone();
    assert_eq!(features("-G 1 --constraint=nvme&ib"), ["ib", "nvme"]);
    assert_eq!(features("-G 1 -C ib"), ["ib"]);
    assert!(features("-G 1").is_empty());
}

#[test]
fn gpus_are_counted_for_each_worker() {
    let h100 = || Some("h100".to_string());
    for (options, expected) in [
        ("-G 4", (1, None, 4)),
        ("--gpus=H100:8", (1, h100(), 8)),
        ("-G8 -N2", (2, None, 4)),
        ("--gpus-per-node h100:8 --nodes 4", (4, h100(), 8)),
        ("--gres=gpu:h100:2", (1, h100(), 2)),
        ("--gres=gpu", (1, None, 1)),
        ("--gpus-per-task=1 -n 8", (1, None, 8)),
        ("--gpus-per-task=1 -n 8 --ntasks-per-node=4", (2, None, 4)),
        ("-n 4 -c 2", (1, Some("cpu".into()), 8)),
    ] {
        assert_eq!(hardware(options), expected, "{options}");
    }
    assert_eq!(parse("-n 4 -c 2").job.work.limits.cpu_thousandths, Some(8_000));
    assert_eq!(parse("-N 2-4 --gres=gpu:1").job.spec.stages[0].roles[0].count, Count { min: 2, max: 4 });
}

#[test]
fn processors_and_memory_are_those_of_one_worker() {
    let asked = |options: &str| {
        let host = parse(options).job.spec.stages[0].roles[0].shapes[0].host;
        (host.cpu_milli, host.memory_bytes >> 30)
    };
    for (options, expected) in [
        ("-G 2 -c 8 --mem=64G", (8_000, 64)),
        ("-G 2 -n 4 -c 2 --mem-per-cpu=2G", (8_000, 16)),
        ("-G 2 --cpus-per-gpu=6 --mem-per-gpu=32G", (12_000, 64)),
        ("--gpus-per-task=1 -n 8 --ntasks-per-node=4 -c 3 --mem-per-gpu=1G", (12_000, 4)),
        ("-G 1 --mem-per-cpu=2G", (0, 2)),
        ("-G 1 --mem=0", (0, 0)),
        // Processors that are devices are counted as such.
        ("-n 4 -c 2 --mem-per-cpu=1G", (0, 8)),
    ] {
        assert_eq!(asked(options), expected, "{options}");
    }
    let limits = parse("-G 2 --cpus-per-gpu=6 --mem-per-gpu=32G").job.work.limits;
    assert_eq!((limits.cpu_thousandths, limits.memory_bytes), (Some(12_000), Some(64 << 30)));
}

#[test]
fn a_script_that_names_no_accelerator_is_plain() {
    for (options, is_plain) in [("-n 4 -c 2", true), ("-J x", true), ("-G 1", false), ("--gres=gpu:1", false)]
    {
        assert_eq!(parse(options).is_plain, is_plain, "{options}");
    }
}

#[test]
fn times_are_read_in_all_forms() {
    let limit = |text: &str| parse(&format!("-t {text}")).job.spec.time_limit.map(|span| span.as_seconds());
    for (text, seconds) in [
        ("90", Some(5_400.0)),
        ("90:30", Some(5_430.0)),
        ("1:30:00", Some(5_400.0)),
        ("2-12", Some(216_000.0)),
        ("2-12:30", Some(217_800.0)),
        ("2-12:30:15", Some(217_815.0)),
        ("UNLIMITED", None),
        ("0", None),
    ] {
        assert_eq!(limit(text), seconds, "{text}");
    }
    for text in ["1:2:3:4", "x", "-", "1-", "1.5"] {
        assert!(refusal(&format!("--time={text}")).contains("expected a time like"), "{text}");
    }
}

#[test]
fn the_rest_is_understood_too() {
    let Batch { job, .. } = parse(
        "-p urgent -A red -q best-effort -d afterok:1:2,afterany:3 -a 1-3 --mem=4096 -D sub --nice=5 -o x%A.out",
    );
    assert_eq!((job.spec.queue.as_str(), job.spec.tenant.as_str()), ("urgent", "red"));
    assert_eq!((job.spec.qos, job.spec.priority, job.spec.after.len()), (Qos::BestEffort, -5, 3));
    assert_eq!(job.spec.stages[0].form, Form::Bag { tasks: 3 });
    assert_eq!(job.work.stages[0].indices, [1, 2, 3]);
    assert_eq!(job.work.limits.memory_bytes, Some(4 << 30));
    assert_eq!(
        (job.work.workdir.as_str(), job.work.output.path.as_deref()),
        ("/lab/ada/sub", Some("x%j.out"))
    );
    let signal = parse("--signal=B:USR1@120 --mem=0").job.work;
    assert_eq!(
        (signal.grace, signal.limits.memory_bytes),
        (Grace { signal: 10, span: Span::seconds(120) }, None)
    );
    let Batch { job, export, .. } = parse("--export=A=1,HOME");
    assert_eq!((job.work.env, export), (vec![("A".into(), "1".into())], Export::Only(vec!["HOME".into()])));
    assert_eq!(parse("--export=NONE").export, Export::Only(vec![]));
    assert_eq!(parse("--mail-type=END --comment='a b'").job.notes.len(), 2);
}

#[test]
fn a_job_that_is_told_early_still_ends_at_its_limit() {
    let limit = |options: &str| parse(options).job.spec.time_limit.map(|span| span.as_seconds());
    assert_eq!(limit("--signal=USR1@120 -t 10"), Some(480.0));
    assert_eq!(limit("--signal=USR1 -t 10"), Some(540.0));
    assert_eq!(limit("--signal=USR1@120 -t 2"), Some(120.0));
    assert_eq!(limit("--signal=USR1@120"), None);
}

#[test]
fn what_is_not_kept_is_said_in_a_note() {
    let job = parse("--mem=4G --mem=0").job;
    assert!(job.notes[0].starts_with("`--mem=0` is not followed"), "{:?}", job.notes);
    let job = parse("-a 0-9%2").job;
    assert_eq!(job.spec.stages[0].form, Form::Bag { tasks: 10 });
    assert!(job.notes[0].starts_with("`%2` in `--array` is ignored"), "{:?}", job.notes);
    let job = read("x.sh", "#!/bin/sh\nsrun python train.py\n", &AROUND).unwrap().job;
    assert!(job.notes[0].starts_with("srun is not available"), "{:?}", job.notes);
}

#[test]
fn the_command_line_wins() {
    let mut over = Options::default();
    let words: Vec<String> =
        ["-J", "mine", "--gpus=2", "--parsable", "job.sh", "-x"].map(String::from).to_vec();
    assert_eq!(over.take(&words).unwrap(), ["job.sh", "-x"]);
    let text = "#!/bin/sh\n#SBATCH -J theirs --gres=gpu:h100:8 -t 5\nrun\n";
    let Batch { job, .. } = read_with("job.sh", text, &AROUND, &over, &["-x".into()]).unwrap();
    assert_eq!((job.spec.name.as_str(), job.spec.time_limit), ("mine", Some(Span::seconds(300))));
    assert_eq!(job.spec.stages[0].roles[0].shapes, [Shape { devices: 2, ..Shape::any() }]);
    assert!(
        over.parsable
            && matches!(&job.work.stages[0].commands[0], Command::Script { arguments, .. } if arguments == &["-x"])
    );
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (options, message) in [
        ("--gpuss=4", "train.sh:2: unknown option `--gpuss`; did you mean `--gpus`?"),
        ("--reservation=x", "train.sh:2: unsupported option `--reservation`; leave it out"),
        ("-X", "train.sh:2: unsupported option `-X`; leave it out"),
        (
            "--mem=4G --mem-per-cpu=1G",
            "train.sh:2: `--mem-per-cpu` is `1G`, expected only one of --mem, --mem-per-cpu and --mem-per-gpu",
        ),
        ("-J", "train.sh:2: `-J` needs a value"),
        ("--requeue=1", "train.sh:2: `--requeue` has a value, expected none"),
        ("-n 4 more", "train.sh:2: `more` is not an option, expected one like --time=2:00:00"),
        ("-a 0-9%x", "train.sh:2: `-a` is `0-9%x`, expected indices like 0-9,12 or 0-9%4"),
        ("-G 3 -N 2", "train.sh: 3 GPUs do not divide evenly over 2 nodes, expected --gpus-per-node"),
        (
            "-G 1 --gres=gpu:1",
            "train.sh: --gpus and --gpus-per-node or --gres are both given, expected one of them",
        ),
        (
            "-d singleton",
            "train.sh:2: `-d` is `singleton`, expected afterok, afterany or afternotok with ids of jobs, like afterok:17:18,afterany:19",
        ),
        (
            "-o out.%N",
            "train.sh:2: `-o` is `out.%N`, expected a path, in which only %j, %A, %x, %a and %t are replaced",
        ),
        (
            "-C 'ib|nvme'",
            "train.sh:2: `-C` is `ib|nvme`, expected names of features with & between them like ib&nvme",
        ),
        (
            "--constraint='[a*2&b*4]'",
            "train.sh:2: `--constraint` is `[a*2&b*4]`, expected names of features with & between them like ib&nvme",
        ),
        (
            "-C a&&b",
            "train.sh:2: `-C` is `a&&b`, expected names of features with & between them like ib&nvme",
        ),
        (
            "-G 1 -c 2 --cpus-per-gpu=2",
            "train.sh: --cpus-per-task and --cpus-per-gpu are both given, expected one of them",
        ),
        ("--mem-per-gpu=4G", "train.sh: --mem-per-gpu is given without a GPU, expected --mem"),
        ("--cpus-per-gpu=4", "train.sh: --cpus-per-gpu is given without a GPU, expected --cpus-per-task"),
        ("-J 'x", "train.sh:2: missing closing quote"),
    ] {
        assert_eq!(refusal(options), message);
    }
    assert_eq!(read("e.sh", " \n", &AROUND).unwrap_err().to_string(), "e.sh: is empty, expected a script");
}
