//! Every rule refuses, in pinned words, and the nearest good input passes.

use super::*;
use crate::stock;
use std::sync::Arc;

const NOW: Time = Time::seconds(100);

fn group(kind: &str, count: u32) -> DeviceGroup {
    DeviceGroup { kind: kind.into(), count, island: 2 }
}

fn node(name: &str, devices: Vec<DeviceGroup>) -> NodeSpec {
    NodeSpec { name: name.into(), domains: vec!["r0".into()], devices, features: vec![], host: Host::NONE }
}

fn kind(name: &str, memory_bytes: u64) -> KindSpec {
    KindSpec { memory_bytes, ..KindSpec::named(name) }
}

fn tenant(name: &str, quotas: &[(&str, u32, Option<u64>)]) -> TenantSpec {
    let quota = |&(kind, guarantee, ceiling): &(&str, u32, Option<u64>)| Quota {
        kind: kind.into(),
        guarantee,
        ceiling,
    };
    TenantSpec { name: name.into(), quotas: quotas.iter().map(quota).collect() }
}

fn queue(name: &str, tenants: &[&str]) -> QueueSpec {
    let tenants = tenants.iter().map(|tenant| (*tenant).into()).collect();
    QueueSpec { name: name.into(), priority: 0, strict: false, tenants }
}

fn levels(names: &[&str]) -> Settings {
    let level = |name: &&str| LevelSpec { name: (*name).into(), link: None };
    Settings { levels: names.iter().map(level).collect(), ..Settings::default() }
}

/// Two nodes of four `a`, one of two `b`; `red` may use three `a` and may alone use the queue `vip`.
fn house() -> Scheduler {
    let mut scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
    for input in [
        Input::Configure(levels(&["rack"])),
        Input::SetKind(kind("a", 80)),
        Input::SetKind(kind("b", 16)),
        Input::SetTenant(tenant("default", &[])),
        Input::SetTenant(tenant("red", &[("a", 1, Some(3))])),
        Input::SetQueue(queue("default", &[])),
        Input::SetQueue(queue("vip", &["red"])),
        Input::NodeJoined(node("n0", vec![group("a", 4)])),
        Input::NodeJoined(node("n1", vec![group("a", 4)])),
        Input::NodeJoined(node("n2", vec![group("b", 2)])),
    ] {
        say(&mut scheduler, input);
    }
    scheduler
}

fn say(scheduler: &mut Scheduler, input: Input) {
    let event = scheduler.accept(NOW, input).expect("the story is in order");
    scheduler.apply(&event);
}

fn no(scheduler: &Scheduler, input: Input, rule: Rule, subject: &str, remedy: &str) {
    assert_eq!(scheduler.accept(NOW, input).err(), Some(Refusal::new(rule, subject, remedy)));
}

fn yes(scheduler: &Scheduler, input: Input) {
    assert_eq!(scheduler.accept(NOW, input).err(), None);
}

fn gang(count: u32) -> JobSpec {
    JobSpec::gang("j", count, Shape::of("a"))
}

fn submit(spec: JobSpec) -> Input {
    Input::Submit(Arc::new(spec))
}

fn shaped(count: u32, shape: Shape) -> Input {
    submit(JobSpec::gang("j", count, shape))
}

fn changed(change: impl FnOnce(&mut JobSpec)) -> Input {
    let mut spec = gang(1);
    change(&mut spec);
    submit(spec)
}

/// A job that has been granted a device and is starting.
fn starting(scheduler: &mut Scheduler) -> AllocationId {
    say(scheduler, submit(gang(1)));
    let plan = scheduler.plan(NOW);
    scheduler.apply(&Event::new(NOW, Fact::Planned(plan)));
    let ask = scheduler.view().granted().last().expect("there is room");
    AllocationId { ask, attempt: 1 }
}

#[test]
fn time_never_goes_back() {
    let mut scheduler = house();
    for (clock, stamp) in
        [(Time::seconds(50), NOW), (Time(i64::MIN), NOW), (Time::seconds(101), Time::seconds(101))]
    {
        let event = scheduler.accept(clock, submit(gang(1))).expect("it is in order");
        assert_eq!(event.at, stamp);
        scheduler.apply(&event);
    }
}

#[test]
fn names_are_printable_and_not_too_long() {
    let s = house();
    let named = |name: String| changed(|spec| spec.name = name);
    let what = "the name of the job";
    no(&s, named(String::new()), Rule::OutOfRange, &format!("{what} has 0 characters"), "use 1 to 256");
    no(&s, named("x".repeat(257)), Rule::OutOfRange, &format!("{what} has 257 characters"), "use 1 to 256");
    yes(&s, named("x".repeat(256)));
    yes(&s, named("訓".repeat(256)));
    let hidden = changed(|spec| spec.name = "a\u{200b}".into());
    let subject = "the name of the job \"a\\u{200b}\" contains control or invisible characters";
    no(&s, hidden, Rule::Malformed, subject, "use printable characters");
    let subject = "the name of the job \"a\\nb\" contains control or invisible characters";
    no(&s, named("a\nb".into()), Rule::Malformed, subject, "use printable characters");
    for (input, what) in [
        (Input::SetKind(kind("\0", 0)), "the name of a device kind"),
        (Input::SetTenant(tenant("\0", &[])), "the name of a tenant"),
        (Input::SetQueue(queue("\0", &[])), "the name of a queue"),
        (Input::NodeJoined(node("\0", vec![])), "the name of a node"),
        (
            Input::NodeJoined(NodeSpec { domains: vec!["\0".into()], ..node("n", vec![]) }),
            "the name of a domain",
        ),
        (changed(|spec| spec.stages[0].name = "\0".into()), "the name of a stage"),
        (changed(|spec| spec.stages[0].roles[0].name = "\0".into()), "the name of a role"),
    ] {
        let subject = format!("{what} \"\\0\" contains control or invisible characters");
        no(&s, input, Rule::Malformed, &subject, "use printable characters");
    }
    let empty = Scheduler::new(stock::standard().policy(), Capabilities::default());
    let subject = "the name of a topology level \"\\0\" contains control or invisible characters";
    no(&empty, Input::Configure(levels(&["\0"])), Rule::Malformed, subject, "use printable characters");
}

#[test]
fn the_topology_is_set_once_and_makes_sense() {
    let s = house();
    let subject = "the topology cannot change while nodes are known";
    no(&s, Input::Configure(levels(&[])), Rule::InUse, subject, "set it before the first node joins");
    let s = Scheduler::new(stock::standard().policy(), Capabilities::default());
    let many: Vec<String> = (0..17).map(|number| format!("l{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    no(
        &s,
        Input::Configure(levels(&many)),
        Rule::OutOfRange,
        "17 topology levels were given",
        "use at most 16",
    );
    yes(&s, Input::Configure(levels(&many[..16])));
    let remedy = "give every level a name of its own; node and island exist already";
    for names in [&["node"][..], &["island"], &["rack", "rack"]] {
        let subject = format!("topology level {} is named twice", names[0]);
        no(&s, Input::Configure(levels(names)), Rule::Malformed, &subject, remedy);
    }
    let lease = |lease| Input::Configure(Settings { lease, ..Settings::default() });
    let margin = |margin| Input::Configure(Settings { margin, ..Settings::default() });
    no(&s, lease(Span(-1)), Rule::OutOfRange, "the lease is -1ns", "use 0s to 100 years");
    no(&s, margin(Span(i64::MAX)), Rule::OutOfRange, "the margin is 106751d 23h", "use 0s to 100 years");
    let constants =
        |constants| Input::Configure(Settings { constants: Some(constants), ..Settings::default() });
    let tick = |usage_tick| constants(Constants { usage_tick, ..Constants::FIRST });
    let backoff = |longest_backoff| constants(Constants { longest_backoff, ..Constants::FIRST });
    no(&s, tick(Span::ZERO), Rule::OutOfRange, "a tick of usage is 0s", "use 1s to 1 day");
    no(&s, backoff(Span(-1)), Rule::OutOfRange, "the longest backoff is -1ns", "use 0s to 100 years");
    yes(&s, tick(Span::seconds(3600)));
    yes(&s, lease(Span::ZERO));
    yes(&s, margin(Span::CENTURY));
}

#[test]
fn kinds_keep_what_nodes_rely_on() {
    let s = house();
    let remedy = "declare a kind under another name";
    no(&s, Input::SetKind(kind("a", 81)), Rule::InUse, "nodes have devices of kind a", remedy);
    yes(&s, Input::SetKind(kind("a", 80)));
    yes(&s, Input::SetKind(kind("c", i64::MAX as u64)));
    let subject = format!("kind c has {} bytes of memory", u64::MAX);
    no(&s, Input::SetKind(kind("c", u64::MAX)), Rule::OutOfRange, &subject, "give a real size");
}

#[test]
fn quotas_name_known_kinds_once_and_do_not_contradict_themselves() {
    let s = house();
    let set = |quotas: &[(&str, u32, Option<u64>)]| Input::SetTenant(tenant("blue", quotas));
    let who = "tenant blue, quota for";
    let there = "known kinds: a, b";
    no(&s, set(&[("x", 1, None)]), Rule::UnknownName, &format!("{who} x: unknown kind"), there);
    let twice = set(&[("a", 1, None), ("b", 1, None), ("a", 2, None)]);
    no(&s, twice, Rule::Malformed, &format!("{who} a is given twice"), "give one quota for each kind");
    let subject = format!("{who} a: the guarantee is above the ceiling");
    let remedy = "raise the ceiling or lower the guarantee";
    no(&s, set(&[("a", 3, Some(2))]), Rule::Malformed, &subject, remedy);
    yes(&s, set(&[("a", 2, Some(2)), ("b", u32::MAX, None)]));
    yes(&s, set(&[("cpus", 0, Some(64)), ("mem", 0, Some(1 << 50))]));
    let subject = format!("{who} cpus: processors and memory of hosts cannot be guaranteed");
    let remedy = "give a ceiling alone, or guarantee devices";
    no(&s, set(&[("cpus", 1, Some(64))]), Rule::Malformed, &subject, remedy);
    let empty = Scheduler::new(stock::standard().policy(), Capabilities::default());
    let subject = format!("{who} a: unknown kind");
    no(&empty, set(&[("a", 1, None)]), Rule::UnknownName, &subject, "declare a kind first");
}

#[test]
fn queues_and_owners_are_known() {
    let s = house();
    let subject = "queue q names unknown tenant green";
    no(
        &s,
        Input::SetQueue(queue("q", &["red", "green"])),
        Rule::UnknownName,
        subject,
        "declare the tenant first",
    );
    let owned =
        |tenant: &str, queue: &str| changed(|spec| (spec.tenant, spec.queue) = (tenant.into(), queue.into()));
    let remedy = "known tenants: default, red";
    no(&s, owned("green", "default"), Rule::UnknownName, "job j: unknown tenant green", remedy);
    let remedy = "known queues: default, vip";
    no(&s, owned("red", "slow"), Rule::UnknownName, "job j: unknown queue slow", remedy);
    let subject = "job j: tenant default may not use queue vip";
    no(&s, owned("default", "vip"), Rule::NotAllowed, subject, "allowed: red");
    yes(&s, owned("red", "vip"));
    let empty = Scheduler::new(stock::standard().policy(), Capabilities::default());
    let subject = "job j: unknown tenant default";
    no(&empty, submit(gang(1)), Rule::UnknownName, subject, "declare a tenant first");
    let mut empty = empty;
    say(&mut empty, Input::SetTenant(tenant("default", &[])));
    let subject = "job j: unknown queue default";
    no(&empty, submit(gang(1)), Rule::UnknownName, subject, "declare a queue first");
}

#[test]
fn times_are_neither_negative_nor_absurd() {
    let s = house();
    type Set = fn(&mut JobSpec, Span);
    let sets: [(&str, Set, &str, Span); 4] = [
        ("the estimate", |spec, span| spec.estimate = Some(span), "0s", Span::ZERO),
        ("the time limit", |spec, span| spec.time_limit = Some(span), "1ns", Span(1)),
        ("the restart cost", |spec, span| spec.restart_cost = span, "0s", Span::ZERO),
        ("the wait before a retry", |spec, span| spec.backoff = span, "0s", Span::ZERO),
    ];
    for (what, set, least, lowest) in sets {
        let remedy = format!("use {least} to 100 years");
        for bad in [Span(-1), Span(lowest.0 - 1), Span(Span::CENTURY.0 + 1), Span(i64::MIN)] {
            let subject = format!("{what} is {bad}");
            no(&s, changed(|spec| set(spec, bad)), Rule::OutOfRange, &subject, &remedy);
        }
        for good in [lowest, Span::CENTURY] {
            yes(&s, changed(|spec| set(spec, good)));
        }
    }
    let due = |deadline| changed(|spec| spec.deadline = Some(deadline));
    for bad in [Time(i64::MIN), Time::NEVER, Time((NOW + Span::CENTURY).0 + 1)] {
        let subject = format!("the deadline {bad} is out of range");
        no(&s, due(bad), Rule::OutOfRange, &subject, "use one within 100 years");
    }
    for good in [Time(-5), NOW + Span::CENTURY, NOW + Span(-Span::CENTURY.0)] {
        yes(&s, due(good));
    }
}

#[test]
fn dependencies_are_there_and_named_once() {
    let mut s = house();
    say(&mut s, submit(gang(1)));
    let on = |jobs: &[u64]| {
        let after = jobs.iter().map(|&job| Dependency { job: JobId(job + 1), when: Condition::Ended });
        changed(|spec| spec.after = after.collect())
    };
    yes(&s, on(&[0]));
    let subject = "job j waits for unknown job 2";
    no(&s, on(&[1]), Rule::NotThere, subject, "submit that job first");
    no(&s, on(&[0, 0]), Rule::Malformed, "job j waits for job 1 twice", "name it once");
    let many = vec![0; 1025];
    no(&s, on(&many), Rule::OutOfRange, "job j waits for 1025 jobs", "wait for at most 1024");
    no(&s, on(&many[..1024]), Rule::Malformed, "job j waits for job 1 twice", "name it once");
}

#[test]
fn stages_are_a_small_graph() {
    let s = house();
    no(&s, changed(|spec| spec.stages.clear()), Rule::OutOfRange, "job j has 0 stages", "use 1 to 256");
    let copies = |count: usize| changed(|spec| spec.stages = vec![spec.stages[0].clone(); count]);
    no(&s, copies(257), Rule::OutOfRange, "job j has 257 stages", "use 1 to 256");
    yes(&s, copies(256));
    let form = |form| changed(|spec| spec.stages[0].form = form);
    no(&s, form(Form::Bag { tasks: 0 }), Rule::OutOfRange, "job j has no tasks", "use at least one");
    no(&s, form(Form::Service { replicas: 0 }), Rule::OutOfRange, "job j has no tasks", "use at least one");
    let subject = "job j has 1000001 tasks";
    let remedy = "split it: the limit is 1000000";
    no(&s, form(Form::Bag { tasks: 1_000_001 }), Rule::OutOfRange, subject, remedy);
    yes(&s, form(Form::Bag { tasks: 1_000_000 }));
    let chain = |first: Form, after: Vec<u16>| {
        changed(|spec| {
            let mut next = spec.stages[0].clone();
            (next.name, next.after) = ("next".into(), after);
            spec.stages[0].form = first;
            spec.stages.push(next);
        })
    };
    yes(&s, chain(Form::Gang, vec![0]));
    let subject = "job j, stage next waits for itself or a later stage";
    let remedy = "list stages in the order in which they run";
    no(&s, chain(Form::Gang, vec![1]), Rule::Malformed, subject, remedy);
    no(&s, chain(Form::Gang, vec![0, 2]), Rule::Malformed, subject, remedy);
    let subject = "job j, stage next waits for the end of service main, which never ends";
    no(
        &s,
        chain(Form::Service { replicas: 1 }, vec![0]),
        Rule::Malformed,
        subject,
        "let them run side by side",
    );
}

#[test]
fn roles_and_shapes_are_within_bounds() {
    let s = house();
    let roles =
        |count: usize| changed(|spec| spec.stages[0].roles = vec![spec.stages[0].roles[0].clone(); count]);
    no(&s, roles(0), Rule::OutOfRange, "job j has 0 roles", "use 1 to 16");
    no(&s, roles(17), Rule::OutOfRange, "job j has 17 roles", "use 1 to 16");
    yes(&s, roles(8));
    let count = |min, max| changed(|spec| spec.stages[0].roles[0].count = Count { min, max });
    for (min, max) in [(0, 1), (2, 1), (1, 1_000_001)] {
        let subject = format!("job j asks for {min} to {max} members");
        no(&s, count(min, max), Rule::OutOfRange, &subject, "use a range within 1 to 1000000");
    }
    yes(&s, count(1, 1_000_000));
    let shapes = |count: usize| changed(|spec| spec.stages[0].roles[0].shapes = vec![Shape::of("a"); count]);
    no(&s, shapes(0), Rule::OutOfRange, "job j accepts 0 shapes", "use 1 to 16");
    no(&s, shapes(17), Rule::OutOfRange, "job j accepts 17 shapes", "use 1 to 16");
    yes(&s, shapes(16));
    for devices in [0, 1_000_001] {
        let subject = format!("job j asks for {devices} devices a member");
        no(
            &s,
            shaped(1, Shape { devices, ..Shape::of("a") }),
            Rule::OutOfRange,
            &subject,
            "use at least one",
        );
    }
    for share in [0, 1001] {
        let subject = format!("job j asks for {share} thousandths of a device");
        no(&s, shaped(1, Shape { share, ..Shape::of("a") }), Rule::OutOfRange, &subject, "use 1 to 1000");
    }
    for share in [1, 999, 1000] {
        yes(&s, shaped(1, Shape { share, ..Shape::of("a") }));
    }
    let subject = "job j asks for a share of several devices, or of devices close together";
    let remedy = "ask for a share of one device, or for whole devices";
    let half = Shape { share: 500, ..Shape::of("a") };
    no(&s, shaped(1, Shape { devices: 2, ..half.clone() }), Rule::Malformed, subject, remedy);
    let near = Shape { within: Some("rack".into()), ..half.clone() };
    no(&s, shaped(1, near), Rule::Malformed, subject, remedy);
    let mut s = s;
    s.capabilities.shares = false;
    let subject = "job j asks for a share of a device";
    no(&s, shaped(1, half), Rule::NeverFits, subject, "this world grants whole devices only");
    yes(&s, submit(gang(1)));
}

#[test]
fn kinds_and_levels_are_known() {
    let s = house();
    yes(&s, shaped(1, Shape::of("A"))); // kinds have no case
    let subject = "job j asks for unknown kind x";
    no(&s, shaped(1, Shape::of("x")), Rule::UnknownName, subject, "known kinds: a, b");
    let within = |level: &str| shaped(1, Shape { within: Some(level.into()), ..Shape::of("a") });
    let subject = "job j: unknown level or link pod in `within` or `prefer`";
    no(&s, within("pod"), Rule::UnknownName, subject, "known: rack, node, island");
    for level in ["rack", "node", "island"] {
        yes(&s, within(level));
    }
}

#[test]
fn nothing_closer_than_a_node_is_promised_where_somebody_else_picks_its_devices() {
    let mut s = house();
    s.capabilities.grain = Grain::Node;
    let within = |level: &str| shaped(1, Shape { within: Some(level.into()), ..Shape::of("a") });
    let subject =
        "job j must be within one island, but the cluster manager chooses the devices of a node itself";
    no(&s, within("island"), Rule::NeverFits, subject, "ask for node or a wider level");
    yes(&s, within("node"));
    yes(&s, within("rack"));
    let subject = "job j: unknown level or link pod in `within` or `prefer`";
    no(&s, within("pod"), Rule::UnknownName, subject, "known: rack, node");
}

fn with(features: &[&str]) -> Shape {
    Shape { features: features.iter().map(|name| (*name).into()).collect(), ..Shape::of("a") }
}

fn featured(name: &str, features: &[&str]) -> Input {
    Input::NodeJoined(NodeSpec { features: with(features).features, ..node(name, vec![group("a", 2)]) })
}

#[test]
fn features_of_nodes_are_short_in_order_and_printable() {
    let s = house();
    yes(&s, featured("n", &["ib", "nvme"]));
    let (subject, remedy) = ("node n names features twice or out of order", "name each once, in order");
    no(&s, featured("n", &["nvme", "ib"]), Rule::Malformed, subject, remedy);
    no(&s, featured("n", &["ib", "ib"]), Rule::Malformed, subject, remedy);
    let long = "x".repeat(65);
    no(
        &s,
        featured("n", &[&long]),
        Rule::OutOfRange,
        "the name of a feature has 65 characters",
        "use 1 to 64",
    );
    let subject = r#"the name of a feature "a\0" contains control or invisible characters"#;
    no(&s, featured("n", &["a\0"]), Rule::Malformed, subject, "use printable characters");
    let many: Vec<String> = (0..257).map(|number| format!("{number:03}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    no(&s, featured("n", &many), Rule::OutOfRange, "node n names 257 features", "use at most 256");
    yes(&s, featured("n", &many[1..]));
}

#[test]
fn a_job_insists_only_on_features_that_a_node_has() {
    let mut s = house();
    let subject = "job j asks for feature ib, which no node has";
    no(
        &s,
        shaped(1, with(&["ib"])),
        Rule::UnknownName,
        subject,
        "no node has features; leave `features` out",
    );
    say(&mut s, featured("n3", &["ib", "nvme"]));
    say(&mut s, featured("n4", &["ib"]));
    let subject = "job j asks for feature ia, which no node has";
    no(&s, shaped(1, with(&["ia"])), Rule::UnknownName, subject, "known features: ib, nvme");
    let subject = "job j names features twice or out of order";
    no(&s, shaped(1, with(&["nvme", "ib"])), Rule::Malformed, subject, "name each once, in order");
    for (most, features, text) in [(4, &["ib"][..], "ib"), (2, &["ib", "nvme"], "ib and nvme")] {
        yes(&s, shaped(most, with(features)));
        let subject = format!(
            "job j asks for a gang of {} on a on nodes with {text}, but the cluster can hold at most {most}",
            most + 1
        );
        let remedy = format!("ask for {most} or fewer");
        no(&s, shaped(most + 1, with(features)), Rule::NeverFits, &subject, &remedy);
    }
    let near = Shape { within: Some("rack".into()), ..with(&["ib"]) };
    yes(&s, shaped(4, near.clone()));
    let subject =
        "job j asks for a gang of 5 on a within rack on nodes with ib, but the cluster can hold at most 4";
    no(&s, shaped(5, near), Rule::NeverFits, subject, "ask for 4 or fewer");
}

#[test]
fn a_node_that_joins_again_may_have_other_features() {
    let mut s = house();
    say(&mut s, featured("n3", &["ib"]));
    say(&mut s, shaped(2, with(&["ib"])));
    let id = s.view().node("n3").expect("it joined");
    say(&mut s, Input::NodeFenced(id));
    yes(&s, shaped(2, with(&["ib"]))); // it may come back as it was
    say(&mut s, featured("n3", &["nvme"]));
    assert!(s.indexes_are_true());
    let subject = "job j asks for feature ib, which no node has";
    no(&s, shaped(2, with(&["ib"])), Rule::UnknownName, subject, "known features: nvme");
    assert!(s.plan(NOW).moves.is_empty(), "the one that waits has nowhere to go");
    let told = s.explain(NOW, JobId(1)).expect("it lives").asks[0].1.to_string();
    assert_eq!(told, "needs 2 a with ib, 0 free");
    say(&mut s, Input::NodeFenced(id));
    say(&mut s, featured("n3", &["ib", "nvme"]));
    assert_eq!(s.plan(NOW).moves.len(), 1);
}

#[test]
fn what_never_fits_is_refused_with_what_would() {
    let s = house();
    let within = |level: &str| Shape { within: Some(level.into()), ..Shape::of("a") };
    for (count, shape, text, most) in [
        (9, Shape::of("a"), "on a", 8),
        (5, within("node"), "on a within node", 4),
        (3, within("island"), "on a within island", 2),
        (9, within("rack"), "on a within rack", 8),
        (3, Shape { devices: 3, ..Shape::of("a") }, "on a with 3 devices each on one node", 2),
        (9, Shape { share: 500, ..Shape::of("a") }, "on a with 0.5 of a device each", 8),
        (9, Shape::any(), "on any kind", 8),
    ] {
        yes(&s, shaped(most, shape.clone()));
        let subject =
            format!("job j asks for a gang of {count} {text}, but the cluster can hold at most {most}");
        no(&s, shaped(count, shape), Rule::NeverFits, &subject, &format!("ask for {most} or fewer"));
    }
    let wide = Shape { devices: 5, ..Shape::of("a") };
    let subject = "job j asks for 5 devices of a on one node, but no node has that";
    let remedy = "the cluster has up to 4 a on a node, up to 2 b on a node";
    no(&s, shaped(1, wide), Rule::NeverFits, subject, remedy);
    let greedy = Shape { memory_bytes: 81, ..Shape::of("a") };
    let subject = "job j asks for 81 bytes of memory on each a";
    no(&s, shaped(1, greedy), Rule::NeverFits, subject, "a has 80 bytes");
    let role =
        |spec: &JobSpec, count| Role { count: Count::exactly(count), ..spec.stages[0].roles[0].clone() };
    let two = |count| changed(|spec| spec.stages[0].roles = vec![role(spec, 4), role(spec, count)]);
    yes(&s, two(4));
    let subject = "job j asks for roles that do not fit into this cluster together";
    let remedy = "ask for fewer members, or let roles use different kinds";
    no(&s, two(5), Rule::NeverFits, subject, remedy);
}

#[test]
fn memory_of_processors_is_that_of_their_host() {
    let mut s = house();
    say(&mut s, Input::SetKind(KindSpec { by_name: true, ..kind(CPU, 0) }));
    say(&mut s, Input::SetKind(kind("unknown", 0)));
    for name in [CPU, "unknown"] {
        say(&mut s, Input::NodeJoined(node(name, vec![group(name, 1)])));
    }
    let greedy = |kind: Option<&str>| {
        let shape = Shape { memory_bytes: 200 << 30, kind: kind.map(Into::into), ..Shape::any() };
        shaped(1, shape)
    };
    let subject =
        "job j asks for 200 GiB of device memory with kind cpu, and processors have none of their own";
    no(&s, greedy(Some("CPU")), Rule::NeverFits, subject, "use `mem` for memory of the host");
    let subject = "job j asks for 200 GiB of memory on each device";
    no(&s, greedy(None), Rule::NeverFits, subject, "a has 80 bytes");
    yes(&s, greedy(Some("unknown")));
}

#[test]
fn an_empty_cluster_says_so_and_a_gang_of_one_is_a_gang() {
    let mut s = Scheduler::new(stock::standard().policy(), Capabilities::default());
    say(&mut s, Input::SetKind(kind("a", 80)));
    say(&mut s, Input::SetTenant(tenant("default", &[])));
    say(&mut s, Input::SetQueue(queue("default", &[])));
    let subject = "job j asks for a device of a, but no node has that";
    no(&s, submit(gang(1)), Rule::NeverFits, subject, "add nodes first");
    say(&mut s, Input::NodeJoined(NodeSpec { domains: vec![], ..node("n", vec![group("a", 1)]) }));
    yes(&s, submit(gang(1)));
}

#[test]
fn what_fitted_once_is_looked_at_again_when_the_cluster_changes() {
    let mut s = house();
    say(&mut s, submit(gang(8)));
    yes(&s, submit(gang(8)));
    say(&mut s, Input::NodeFenced(NodeId(0)));
    say(&mut s, Input::NodeJoined(node("n0", vec![group("a", 1)])));
    let subject = "job j asks for a gang of 8 on a, but the cluster can hold at most 5";
    no(&s, submit(gang(8)), Rule::NeverFits, subject, "ask for 5 or fewer");
}

#[test]
fn ceilings_are_kept_at_the_door() {
    let s = house();
    let red = |change: fn(&mut JobSpec)| {
        changed(|spec| {
            spec.tenant = "red".into();
            change(spec);
        })
    };
    let count = |spec: &mut JobSpec, count| spec.stages[0].roles[0].count = Count::exactly(count);
    yes(&s, red(|spec| spec.stages[0].roles[0].count = Count { min: 3, max: 8 }));
    let four = changed(|spec| {
        spec.tenant = "red".into();
        count(spec, 4);
    });
    let subject = "job j asks for 4 a, but the ceiling of tenant red is 3";
    let remedy = "ask for 3 or fewer, or raise the ceiling";
    no(&s, four, Rule::AboveCeiling, subject, remedy);
    // Two members of two devices are four; the second shape would do, were there enough of it.
    let pairs = red(|spec| {
        spec.stages[0].roles[0].count = Count::exactly(2);
        spec.stages[0].roles[0].shapes = vec![Shape { devices: 2, ..Shape::of("a") }];
    });
    no(&s, pairs, Rule::AboveCeiling, subject, "ask for 2 or fewer, or raise the ceiling");
    let subject = "job j asks for more than the ceilings of tenant red allow on this cluster";
    let remedy = "ask for fewer members or other kinds, or raise the ceiling";
    let either = red(|spec| {
        spec.stages[0].roles[0].count = Count::exactly(4);
        spec.stages[0].roles[0].shapes = vec![Shape::of("a"), Shape::of("b")];
    });
    no(&s, either, Rule::AboveCeiling, subject, remedy);
    yes(
        &s,
        red(|spec| {
            spec.stages[0].roles[0].count = Count::exactly(2);
            spec.stages[0].roles[0].shapes = vec![Shape { devices: 2, ..Shape::of("a") }, Shape::of("b")];
        }),
    );
    let together = red(|spec| {
        let role = Role { count: Count::exactly(2), ..spec.stages[0].roles[0].clone() };
        spec.stages[0].roles = vec![role.clone(), role];
    });
    let beside = "job j asks for 2 a beside 2 in other roles, but the ceiling of tenant red is 3";
    no(&s, together, Rule::AboveCeiling, beside, "ask for 1 or fewer, or raise the ceiling");
    yes(&s, submit(gang(8)));
    // What the tenant holds now does not matter: it may give it back.
    let mut s = s;
    let mut spec = gang(3);
    spec.tenant = "red".into();
    say(&mut s, submit(spec.clone()));
    let plan = s.plan(NOW);
    s.apply(&Event::new(NOW, Fact::Planned(plan)));
    spec.stages[0].roles[0].shapes.push(Shape::of("b"));
    yes(&s, submit(spec));
}

#[test]
fn nodes_present_themselves_properly_and_once() {
    let mut s = house();
    let join = |name: &str, devices| Input::NodeJoined(node(name, devices));
    let subject = "node n0 has already joined";
    no(&s, join("n0", vec![group("a", 4)]), Rule::Stale, subject, "fence it before it joins again");
    say(&mut s, Input::NodeSilent(NodeId(0)));
    no(&s, join("n0", vec![group("a", 4)]), Rule::Stale, subject, "fence it before it joins again");
    say(&mut s, Input::NodeFenced(NodeId(0)));
    yes(&s, join("n0", vec![group("a", 4)]));
    let bare = Input::NodeJoined(NodeSpec { domains: vec![], ..node("n9", vec![]) });
    let subject = "node n9 names 0 domains, the topology has 1 levels";
    no(&s, bare, Rule::Malformed, subject, "name one domain for each of: rack");
    let subject = "node n9 has devices of unknown kind x";
    no(&s, join("n9", vec![group("x", 1)]), Rule::UnknownName, subject, "known kinds: a, b");
    let subject = "node n9 has 65537 devices";
    let crowd = vec![group("a", 65_536), group("b", 1)];
    no(&s, join("n9", crowd), Rule::OutOfRange, subject, "at most 65536 fit in a node");
    let absurd = vec![group("a", u32::MAX), group("b", 2)];
    let subject = format!("node n9 has {} devices", u32::MAX);
    no(&s, join("n9", absurd), Rule::OutOfRange, &subject, "at most 65536 fit in a node");
    yes(&s, join("n9", vec![group("a", 65_536)]));
    yes(&s, join("n9", vec![]));
}

#[test]
fn news_of_nodes_fits_their_state() {
    let mut s = house();
    let (known, nobody) = (NodeId(0), NodeId(3));
    let remedy = "let it join first";
    for input in [
        Input::Drain(nobody),
        Input::Undrain(nobody),
        Input::NodeSilent(nobody),
        Input::NodeReturned(nobody),
        Input::NodeFenced(nobody),
        Input::ForeignUse { node: nobody, shares: vec![], host: Host::NONE },
    ] {
        no(&s, input, Rule::NotThere, "unknown node 3", remedy);
    }
    let done = "no action is needed";
    let again = "no action is needed; a fenced node joins again";
    no(&s, Input::Undrain(known), Rule::Stale, "node n0 is not drained", done);
    say(&mut s, Input::Drain(known));
    no(&s, Input::Drain(known), Rule::Stale, "node n0 is already draining", done);
    no(&s, Input::NodeReturned(known), Rule::Stale, "node n0 is not suspect", again);
    say(&mut s, Input::NodeSilent(known));
    no(&s, Input::NodeSilent(known), Rule::Stale, "node n0 is not up", again);
    yes(&s, Input::NodeReturned(known));
    say(&mut s, Input::NodeFenced(known));
    no(&s, Input::NodeFenced(known), Rule::Stale, "node n0 is not up or suspect", again);
    no(&s, Input::NodeReturned(known), Rule::Stale, "node n0 is not suspect", again);
    let foreign = |shares| Input::ForeignUse { node: NodeId(1), shares, host: Host::NONE };
    let remedy = "report 4 numbers from 0 to 1000";
    let subject = "foreign use of node n1 was reported for";
    no(&s, foreign(vec![0; 3]), Rule::Malformed, &format!("{subject} 3 devices"), remedy);
    no(&s, foreign(vec![0, 0, 0, 1001]), Rule::Malformed, &format!("{subject} 4 devices"), remedy);
    yes(&s, foreign(vec![0, 1, 999, 1000]));
}

#[test]
fn news_of_allocations_is_fenced_by_the_attempt() {
    let mut s = house();
    let id = starting(&mut s);
    let ignored = "reports about it are ignored";
    let ended = |allocation| Input::over(allocation, Outcome::Succeeded);
    let refused = |allocation| Input::StartRefused { allocation, why: "no".into() };
    let all = |id| [Input::Started(id), ended(id), refused(id)];
    let of = |attempt| AllocationId { attempt, ..id };
    let nobody = AllocationId { ask: AskId::whole(JobId(77)), attempt: 1 };
    let no_task = AllocationId { ask: AskId { task: 1, ..id.ask }, attempt: 1 };
    for (stale, what) in
        [(of(0), "is over"), (of(2), "was never granted"), (nobody, "is over"), (no_task, "is over")]
    {
        for input in all(stale) {
            no(&s, input, Rule::Stale, &format!("allocation {stale} {what}"), ignored);
        }
    }
    all(id).into_iter().for_each(|input| yes(&s, input));
    let subject = "the reason has 4097 characters";
    let long = Input::StartRefused { allocation: id, why: "x".repeat(4097) };
    no(&s, long, Rule::OutOfRange, subject, "use 1 to 4096");
    say(&mut s, Input::Started(id));
    let subject = format!("allocation {id} is not starting");
    no(&s, Input::Started(id), Rule::Stale, &subject, ignored);
    no(&s, refused(id), Rule::Stale, &subject, ignored);
    say(&mut s, Input::Pause(id.ask.job));
    no(&s, Input::Started(id), Rule::Stale, &subject, ignored);
    no(&s, refused(id), Rule::Stale, &subject, ignored); // it did run
    say(&mut s, ended(id));
    no(&s, ended(id), Rule::Stale, &format!("allocation {id} is over"), ignored);
    // Stopped before it was up: the world may still say that it never started.
    let id = starting(&mut s);
    say(&mut s, Input::Pause(id.ask.job));
    yes(&s, refused(id));
    no(&s, Input::Started(id), Rule::Stale, &format!("allocation {id} is not starting"), ignored);
}

#[test]
fn the_world_has_no_news_of_what_it_was_never_told() {
    let mut s = house();
    let low = JobSpec { qos: Qos::BestEffort, ..gang(8) };
    say(&mut s, submit(low));
    let plan = s.plan(NOW);
    s.apply(&Event::new(NOW, Fact::Planned(plan)));
    let promised = starting(&mut s);
    let promised = AllocationId { ask: AskId::whole(JobId(2)), ..promised };
    let ended = Input::over(promised, Outcome::Stopped);
    let subject = format!("allocation {promised} is not started");
    no(&s, ended, Rule::Stale, &subject, "reports about it are ignored");
}

#[test]
fn jobs_are_cancelled_paused_and_resumed_in_the_right_state() {
    let mut s = house();
    let id = starting(&mut s);
    let job = id.ask.job;
    let list = "check the job id";
    for input in [Input::Cancel(JobId(9)), Input::Pause(JobId(9)), Input::Resume(JobId(9))] {
        no(&s, input, Rule::NotThere, "unknown job 9", list);
    }
    no(&s, Input::Resume(job), Rule::Stale, "job 1 is not paused", "pause it first");
    say(&mut s, Input::Pause(job));
    no(&s, Input::Pause(job), Rule::Stale, "job 1 is already paused", "resume it first");
    say(&mut s, Input::Resume(job));
    say(&mut s, Input::Cancel(job));
    let done = "no action is needed";
    no(&s, Input::Cancel(job), Rule::Stale, "job 1 is already ending", done);
    let again = "submit it again when it has ended";
    no(&s, Input::Pause(job), Rule::WrongState, "job 1 is ending", again);
    no(&s, Input::Resume(job), Rule::WrongState, "job 1 is ending", again);
    say(&mut s, Input::over(id, Outcome::Stopped));
    no(&s, Input::Cancel(job), Rule::NotThere, "job 1 has already ended", done);
}
