//! The fields of a job, listed once.
//!
//! What readers accept, which names they suggest for a misspelled one, what is written back and what docs/files.md
//! documents all follow from [`FIELDS`]: a field is added here, then read where its part of a job is read. Tests check
//! that every listed field is read, written and documented.

/// One field.
pub struct Field {
    /// What it is called.
    pub name: &'static str,
    /// The part of a job it belongs to: one of [`JOB`], [`RUN`], [`COUNT`], [`SHAPE`], [`SHAPES`], [`STAGE`].
    pub part: u8,
    /// The formats that take it, added up.
    pub formats: u8,
}

/// Job files.
pub const FILE: u8 = 1;
/// Job lists of the simulator.
pub const LIST: u8 = 2;
/// Job lists as tables.
pub const TABLE: u8 = 4;
/// [`JobFile::to_json`](super::JobFile::to_json); other names and short forms are not written back.
pub const WRITTEN: u8 = 8;

/// Of the whole job.
pub const JOB: u8 = 1;
/// What a stage runs.
pub const RUN: u8 = 2;
/// How many devices, in how many workers.
pub const COUNT: u8 = 4;
/// Of one shape, beside its devices.
pub const SHAPE: u8 = 8;
/// The list of shapes.
pub const SHAPES: u8 = 16;
/// Else of a stage, or of a job that has only one.
pub const STAGE: u8 = 32;

/// The fields about hardware; they exclude `roles`.
pub const HARDWARE: u8 = COUNT | SHAPE | SHAPES;
/// Everything that a stage may have, and a job that has only one.
pub const BODY: u8 = RUN | HARDWARE | STAGE;

const fn field(name: &'static str, part: u8, formats: u8) -> Field {
    Field { name, part, formats }
}

/// All of them, in the order in which errors list them.
pub const FIELDS: [Field; 50] = [
    field("name", JOB, FILE | LIST | TABLE | WRITTEN),
    field("at", JOB, LIST | TABLE),
    field("tenant", JOB, FILE | LIST | TABLE | WRITTEN),
    field("queue", JOB, FILE | LIST | TABLE | WRITTEN),
    field("priority", JOB, FILE | LIST | TABLE | WRITTEN),
    field("qos", JOB, FILE | LIST | TABLE | WRITTEN),
    field("after", JOB, FILE | LIST | TABLE | WRITTEN),
    field("deadline", JOB, FILE | LIST | TABLE | WRITTEN),
    field("estimate", JOB, FILE | LIST | TABLE | WRITTEN),
    field("time_limit", JOB, FILE | LIST | TABLE | WRITTEN),
    field("time", JOB, FILE),
    field("restart_cost", JOB, FILE | LIST | TABLE | WRITTEN),
    field("retries", JOB, FILE | LIST | TABLE | WRITTEN),
    field("backoff", JOB, FILE | LIST | WRITTEN),
    field("failures", JOB, LIST | TABLE),
    field("stages", JOB, FILE | LIST | WRITTEN),
    field("setup", JOB, FILE),
    field("env", JOB, FILE | WRITTEN),
    field("envs", JOB, FILE),
    field("inherit", JOB, FILE | WRITTEN),
    field("workdir", JOB, FILE | WRITTEN),
    field("image", JOB, FILE | WRITTEN),
    field("grace", JOB, FILE | WRITTEN),
    field("limits", JOB, FILE | WRITTEN),
    field("output", JOB, FILE | WRITTEN),
    field("resources", JOB, FILE),
    field("num_nodes", JOB, FILE),
    field("run", RUN, FILE | LIST | TABLE | WRITTEN),
    field("devices", COUNT, FILE | LIST | TABLE | WRITTEN),
    field("gpus", COUNT, FILE),
    field("workers", COUNT, FILE | LIST | WRITTEN),
    field("devices_per_worker", COUNT, FILE | LIST | TABLE),
    field("kind", SHAPE, FILE | LIST | TABLE | WRITTEN),
    field("share", SHAPE, FILE | LIST | TABLE | WRITTEN),
    field("memory", SHAPE, FILE | LIST | TABLE | WRITTEN),
    field("within", SHAPE, FILE | LIST | TABLE | WRITTEN),
    field("prefer", SHAPE, FILE | LIST | TABLE | WRITTEN),
    field("features", SHAPE, FILE | LIST | WRITTEN),
    field("cpus", SHAPE, FILE | LIST | TABLE | WRITTEN),
    field("host_memory", SHAPE, FILE | LIST | TABLE | WRITTEN),
    field("mem", SHAPE, FILE | LIST),
    field("precision", SHAPE, FILE | LIST | WRITTEN),
    field("on_oom", SHAPE, FILE | LIST | WRITTEN),
    field("variants", STAGE, FILE | WRITTEN),
    field("shapes", SHAPES, FILE | LIST | WRITTEN),
    field("roles", STAGE, FILE | LIST | WRITTEN),
    field("tasks", STAGE, FILE | LIST | TABLE | WRITTEN),
    field("array", STAGE, FILE | WRITTEN),
    field("on_failure", STAGE, FILE | WRITTEN),
    field("replicas", STAGE, FILE | LIST | TABLE | WRITTEN),
];

/// How many fields of these parts a format takes.
pub const fn count(parts: u8, format: u8) -> usize {
    let (mut count, mut index) = (0, 0);
    while index < FIELDS.len() {
        if is_one(&FIELDS[index], parts, format) {
            count += 1;
        }
        index += 1;
    }
    count
}

/// The names of the fields of these parts that a format takes. `N` is their [`count`].
pub const fn names<const N: usize>(parts: u8, format: u8) -> [&'static str; N] {
    let (mut names, mut count, mut index) = ([""; N], 0, 0);
    while index < FIELDS.len() {
        if is_one(&FIELDS[index], parts, format) {
            names[count] = FIELDS[index].name;
            count += 1;
        }
        index += 1;
    }
    assert!(count == N, "the length is the count");
    names
}

const fn is_one(field: &Field, parts: u8, format: u8) -> bool {
    field.part & parts != 0 && field.formats & format != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Around, job};
    use crate::time::Time;
    use serde_json::Value;
    use std::collections::BTreeSet;

    const AROUND: Around<'_> = Around { now: Time::ZERO, workdir: "/" };

    fn all(parts: u8, format: u8) -> BTreeSet<&'static str> {
        let ours = FIELDS.iter().filter(|field| is_one(field, parts, format));
        ours.map(|field| field.name).collect()
    }

    #[test]
    fn every_field_of_a_job_file_is_read() {
        for name in all(u8::MAX, FILE) {
            let text = if name == "run" { "{run: [[]]}".into() } else { format!("{{run: x, {name}: [[]]}}") };
            let error = job::read("j.yaml", &text, &AROUND).expect_err(name).to_string();
            assert!(!error.contains("unknown field"), "{error}");
        }
    }

    fn keys<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
        for (name, value) in value.as_object().into_iter().flatten() {
            found.insert(name);
            if ["stages", "roles", "shapes"].contains(&name.as_str()) {
                value.as_array().into_iter().flatten().for_each(|value| keys(value, found));
            }
        }
    }

    #[test]
    fn what_is_written_back_is_what_the_list_says() {
        let texts = [
            "{run: x, image: a, after: 1, deadline: +1h, estimate: 1s, time_limit: 1h, env: {A: 1}, inherit: {B: 1},
              features: ib, prefer: node, cpus: 1, mem: 1GiB, on_oom: larger, precision: bf16, array: 3}",
            "{run: x, variants: {a: {run: y}}, tasks: 3}",
            "{run: x, replicas: 3}",
        ];
        let written: Vec<Value> =
            texts.iter().map(|text| job::read("j.yaml", text, &AROUND).unwrap().to_json()).collect();
        let mut found = BTreeSet::new();
        written.iter().for_each(|value| keys(value, &mut found));
        assert!(found.remove("count"), "of a role");
        assert_eq!(found, all(u8::MAX, WRITTEN));
    }

    /// The words between backticks in the first cells of the first table after this heading.
    fn documented(heading: &str) -> BTreeSet<&'static str> {
        let text = include_str!("../../../../docs/files.md");
        let part = text.split(heading).nth(1).expect(heading);
        let rows = part.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
        let rows = rows.take_while(|line| line.starts_with('|'));
        let cells = rows.map(|row| row.split('|').nth(1).expect("a cell"));
        cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
    }

    #[test]
    fn the_reference_documents_exactly_these_fields() {
        assert_eq!(documented("\n## Job file\n"), all(u8::MAX, FILE));
        assert_eq!(documented("\nFields of a **job**:\n"), all(JOB, LIST));
        assert_eq!(documented("\nFields of a **stage**, or"), all(BODY, LIST));
        let text = include_str!("../../../../docs/files.md");
        let missing = text.split("These fields have no column: ").nth(1).expect("a sentence");
        let missing = missing.split(".\n").next().expect("its end").split('`').skip(1).step_by(2).collect();
        let (list, table) = (all(u8::MAX, LIST), all(u8::MAX, TABLE));
        assert_eq!(list.difference(&table).copied().collect::<BTreeSet<_>>(), missing);
        assert!(table.is_subset(&list));
    }
}
