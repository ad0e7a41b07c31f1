//! The cases, as the data has them.

use crate::data;
use consort_parallel::Answer;
use consort_parallel::pipeline::layers::{Layers, read};
use consort_parallel::pipeline::pipedream::{Level, Partition};
use consort_types::file::ReadError;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Machines and bandwidths for which every profile is cut: flat, and in two levels.
const FURTHER: [&[(usize, f64)]; 3] = [&[(4, 1.25e9)], &[(8, 1.25e9)], &[(4, 12.5e9), (4, 1.25e9)]];

/// The part by which figures may differ that are the same: sums are in another order.
const SAME: f64 = 1e-9;

/// One case.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// `vgg16/4x2/12.5-1.25GBps/straight`.
    pub name: String,
    /// The network.
    pub profile: PathBuf,
    /// Innermost first.
    pub levels: Vec<Level>,
    /// No replicas.
    pub straight: bool,
    /// Of a machine.
    pub memory_bytes: Option<f64>,
    /// What activations are divided by.
    pub activation_ratio: Option<f64>,
    /// Idle machines are welcome.
    pub fewer_machines: bool,
    /// The reference's objective.
    pub expected_s: Option<f64>,
    /// How far from it is still the same.
    pub tolerance_s: f64,
    /// The reference's seconds per minibatch on one machine.
    pub expected_single_s: Option<f64>,
    /// How much faster than data parallelism it is by the reference.
    pub expected_speedup: Option<f64>,
}

impl Case {
    /// What differs from the reference, in words.
    pub fn differs(&self, answer: &Answer<Partition>) -> Vec<String> {
        let plan = &answer.plan;
        let differs = |found: f64, expected: Option<f64>, tolerance: Option<f64>, what: &str| {
            let expected = expected?;
            let is_same = (found - expected).abs() <= tolerance.unwrap_or(expected * SAME);
            (!is_same).then(|| format!("{found} {what}, expected {expected}"))
        };
        let speedup = plan.data_parallel_s / answer.objective;
        [
            differs(answer.objective, self.expected_s, Some(self.tolerance_s), "s per minibatch"),
            differs(plan.single_s, self.expected_single_s, None, "s on one machine"),
            differs(speedup, self.expected_speedup, None, "times faster than data parallelism"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn named(mut self, prefix: &str, model: &str) -> Self {
        let join = |each: &dyn Fn(&Level) -> String, by: &str| {
            self.levels.iter().map(each).collect::<Vec<_>>().join(by)
        };
        let machines = join(&|level| level.machines.to_string(), "x");
        let speeds = join(&|level| (level.bandwidth / 1e9).to_string(), "-");
        self.name = format!("{prefix}{model}/{machines}/{speeds}GBps");
        if self.straight {
            self.name += "/straight";
        }
        if let Some(bytes) = self.memory_bytes {
            self.name += &format!("/memory{}GB", bytes / 1e9);
        }
        if let Some(ratio) = self.activation_ratio {
            self.name += &format!("/activations{ratio}");
        }
        if self.fewer_machines {
            self.name += "/fewer";
        }
        self
    }
}

/// A network.
pub fn layers(profile: &Path) -> Result<Layers, ReadError> {
    let text = data::text(profile)?;
    read(&text).map_err(|error| ReadError { file: profile.display().to_string(), ..error })
}

/// All cases: the full known answers, the rounded ones, and those without any.
pub fn cases(data: &Path) -> Result<Vec<Case>, ReadError> {
    let mut found = expected(&data.join("algorithms/pipedream"))?;
    found.extend(rounded(&data.join("pipeline-profiles"))?);
    found.extend(further(&data.join("pipeline-profiles"))?);
    let mut names = BTreeSet::new();
    found.retain(|case| names.insert(case.name.clone()));
    Ok(found)
}

#[derive(Deserialize)]
struct Entry {
    model: String,
    all_num_machines: Vec<usize>,
    bandwidths: Vec<f64>,
    #[serde(default)]
    flags: Vec<String>,
    time_per_stage_s: Option<f64>,
    single_stage_time_s: Option<f64>,
    speedup_vs_dp: Option<f64>,
}

fn expected(folder: &Path) -> Result<Vec<Case>, ReadError> {
    let path = folder.join("expected.json");
    let entries: Vec<Entry> = data::json(&path)?;
    entries.into_iter().map(|entry| flagged(folder, &path, entry)).collect()
}

fn flagged(folder: &Path, path: &Path, entry: Entry) -> Result<Case, ReadError> {
    let fail = |message: String| ReadError::whole(&path.display().to_string(), message);
    let pairs = entry.all_num_machines.iter().zip(&entry.bandwidths);
    let mut case = Case {
        profile: folder.join(format!("{}.graph.txt", entry.model)),
        levels: pairs.map(|(&machines, &bandwidth)| Level { machines, bandwidth }).collect(),
        expected_s: entry.time_per_stage_s,
        tolerance_s: entry.time_per_stage_s.unwrap_or_default() * SAME,
        expected_single_s: entry.single_stage_time_s,
        expected_speedup: entry.speedup_vs_dp,
        ..Case::default()
    };
    let mut flags = entry.flags.iter();
    while let Some(flag) = flags.next() {
        let mut number = || {
            let value = flags.next().and_then(|text| text.parse::<f64>().ok());
            value.ok_or_else(|| fail(format!("`{flag}` of {} has no number, expected one", entry.model)))
        };
        match flag.as_str() {
            "--straight_pipeline" => case.straight = true,
            // Without a size the reference takes 16 GB; the size follows as a flag of its own.
            "--use_memory_constraint" => case.memory_bytes = case.memory_bytes.or(Some(16e9)),
            "-s" | "--memory_size" => case.memory_bytes = Some(number()?),
            "--activation_compression_ratio" => case.activation_ratio = Some(number()?),
            "--use_fewer_machines" => case.fewer_machines = true,
            _ => {
                return Err(fail(format!(
                    "`{flag}` of {} is not known, expected a flag of the optimizer",
                    entry.model
                )));
            }
        }
    }
    if !entry.flags.iter().any(|flag| flag == "--use_memory_constraint") {
        case.memory_bytes = None;
    }
    Ok(case.named("", &entry.model))
}

/// The table beside the profiles: milliseconds with as many decimals as it happens to have.
fn rounded(folder: &Path) -> Result<Vec<Case>, ReadError> {
    let path = folder.join("reference/pipedream_optimizer.csv");
    let text = data::text(&path)?;
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let mut found = vec![];
    for (number, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split(',').collect();
        let fail = |wanted: &str| ReadError {
            file: path.display().to_string(),
            line: number as u64 + 2,
            column: 0,
            message: format!("no {wanted}, expected one"),
        };
        let field = |wanted: &str| {
            let column = head.iter().position(|name| *name == wanted);
            column.and_then(|column| fields.get(column)).copied().ok_or_else(|| fail(wanted))
        };
        let workers = field("workers")?.split('x').map(str::parse::<usize>);
        let speeds = field("bandwidth_bytes_s")?.split('/').map(str::parse::<f64>);
        let mut levels = vec![];
        for (machines, bandwidth) in workers.zip(speeds) {
            let machines = machines.map_err(|_| fail("workers"))?;
            levels.push(Level { machines, bandwidth: bandwidth.map_err(|_| fail("bandwidth_bytes_s"))? });
        }
        let shown = field("pipeline_ms_per_minibatch")?;
        let decimals = shown.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        // A cut-off 0 at the end is not seen: the table has four decimals or fewer.
        let unit = (0..decimals.max(4)).fold(1e-3, |unit, _| unit / 10.0);
        let model = field("model")?;
        let case = Case {
            profile: folder.join(format!("{model}.graph.txt.gz")),
            levels,
            expected_s: shown.parse::<f64>().ok().map(|ms| ms / 1000.0),
            tolerance_s: unit * 0.5000001,
            ..Case::default()
        };
        found.push(case.named("profiles/", model));
    }
    Ok(found)
}

/// Every profile, for machines for which there may be no known answer.
fn further(folder: &Path) -> Result<Vec<Case>, ReadError> {
    let fail = |error: std::io::Error| {
        ReadError::whole(&folder.display().to_string(), format!("cannot be read: {error}"))
    };
    let mut models = vec![];
    for file in std::fs::read_dir(folder).map_err(fail)? {
        let name = file.map_err(fail)?.file_name().to_string_lossy().into_owned();
        models.extend(name.strip_suffix(".graph.txt.gz").map(str::to_string));
    }
    models.sort();
    let cut = |model: &String, levels: &[(usize, f64)]| {
        let levels = levels.iter().map(|&(machines, bandwidth)| Level { machines, bandwidth });
        let profile = folder.join(format!("{model}.graph.txt.gz"));
        Case { profile, levels: levels.collect(), ..Case::default() }.named("", model)
    };
    Ok(models.iter().flat_map(|model| FURTHER.iter().map(move |levels| cut(model, levels))).collect())
}
