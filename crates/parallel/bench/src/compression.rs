//! `compression`: compressed gradients, compared with exact vectors.
//!
//! The objective of a row is the largest difference from the vectors, and nothing above rounding will do; a row without
//! answers has none. Rounds follow each other from the first on, whatever was asked for: errors and directions carry over.

use crate::{Progress, Row, Scenario, data};
use consort_parallel::compress::wire::{self, Form};
use consort_parallel::compress::{self, Dgc, Feedback, Matrix, PowerSgd, Refusal};
use consort_types::file::ReadError;
use serde::Deserialize;
use std::path::Path;

/// The benchmark.
pub const SCENARIO: Scenario =
    Scenario { name: "compression", about: "compressed gradients, compared with exact vectors", cases, run };

/// What rounding may do.
const TOLERANCE: f64 = 1e-9;

type Rows = Vec<Vec<f64>>;

#[derive(Deserialize)]
struct File {
    powersgd: Option<Low>,
    #[serde(default)]
    vector: Vec<f64>,
    topk: Option<Top>,
    sign_ef: Option<Signs>,
    onebit_seide: Option<Bits>,
    qsgd: Option<Levels>,
    dgc: Option<Momentum>,
}

#[derive(Deserialize)]
struct Low {
    workers: usize,
    rank: usize,
    shape: (usize, usize),
    #[serde(rename = "Q0")]
    q0: Rows,
    steps: Vec<LowRound>,
}

#[derive(Deserialize)]
struct LowRound {
    grads: Vec<Rows>,
    #[serde(rename = "P")]
    p: Option<Rows>,
    #[serde(rename = "Q")]
    q: Option<Rows>,
    decompressed: Option<Rows>,
    err_fro: Option<Vec<f64>>,
    err_worker0: Option<Rows>,
}

#[derive(Deserialize)]
struct Top {
    k: usize,
    indices: Option<Vec<usize>>,
    residual_norm: Option<f64>,
}

#[derive(Deserialize)]
struct Signs {
    scale_mean_abs: Option<f64>,
    decompressed: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct Bits {
    mean_nonneg: Option<f64>,
    mean_neg: Option<f64>,
    decompressed: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct Levels {
    levels: u32,
    norm: Option<f64>,
    uniforms: Vec<f64>,
    decompressed: Option<Vec<f64>>,
    variance_bound_factor: Option<f64>,
}

#[derive(Deserialize)]
struct Momentum {
    momentum: f64,
    k: usize,
    steps: Vec<MomentumRound>,
}

#[derive(Deserialize)]
struct MomentumRound {
    grad: Vec<f64>,
    sent: Option<Vec<f64>>,
    u: Option<Vec<f64>>,
    v: Option<Vec<f64>>,
}

/// Differences of what was found from what was expected, as far as something was.
#[derive(Default)]
struct Differences {
    largest: Option<f64>,
}

impl Differences {
    fn add(&mut self, found: &[f64], expected: Option<&[f64]>) {
        let Some(expected) = expected else { return };
        let apart = match found.len() == expected.len() {
            true => found.iter().zip(expected).map(|(one, two)| (one - two).abs()).fold(0.0, worse),
            false => f64::INFINITY,
        };
        self.largest = Some(worse(self.largest.unwrap_or(0.0), apart));
    }
}

/// What is not a number is worst.
fn worse(one: f64, other: f64) -> f64 {
    if one.is_nan() || other.is_nan() { f64::INFINITY } else { one.max(other) }
}

/// What a round shows: differences, how much was lost, bytes of one worker.
type Shown = (Differences, f64, f64);

fn read(data: &Path) -> Result<File, ReadError> {
    data::json(&data.join("algorithms/gradient_compression/vectors.json"))
}

fn cases(data: &Path) -> Result<Vec<String>, ReadError> {
    let file = read(data)?;
    let rounds = |name: &str, count: usize| (1..=count).map(|round| format!("{name}-{round}")).collect();
    let mut names: Vec<String> = file.powersgd.map_or(vec![], |low| rounds("powersgd", low.steps.len()));
    let single = [
        ("topk", file.topk.is_some()),
        ("sign", file.sign_ef.is_some()),
        ("one-bit", file.onebit_seide.is_some()),
        ("qsgd", file.qsgd.is_some()),
    ];
    names.extend(single.iter().filter(|(_, there)| *there).map(|(name, _)| name.to_string()));
    names.extend(file.dgc.map_or(vec![], |dgc| rounds("dgc", dgc.steps.len())));
    Ok(names)
}

fn run(data: &Path, cases: &[String], hear: &mut Progress<'_>) -> Result<Vec<Row>, ReadError> {
    let file = read(data)?;
    let (low, dgc) = (low(&file), momentum(&file));
    let mut rows = vec![];
    for case in cases {
        hear(case, rows.len() as u64, cases.len() as u64);
        let round = |name: &str| case.strip_prefix(name)?.parse::<usize>().ok()?.checked_sub(1);
        let shown = match case.as_str() {
            "topk" => timed_row(case, || topk(&file)),
            "sign" => timed_row(case, || signs(&file)),
            "one-bit" => timed_row(case, || bits(&file)),
            "qsgd" => timed_row(case, || levels(&file)),
            _ => match (round("powersgd-"), round("dgc-")) {
                (Some(index), _) => picked(case, &low, index),
                (_, Some(index)) => picked(case, &dgc, index),
                _ => None,
            },
        };
        rows.extend(shown);
    }
    Ok(rows)
}

type Rounds = (Result<Vec<Shown>, Refusal>, f64);

/// One of several rounds; they were timed together.
fn picked(case: &str, (rounds, cpu_ms): &Rounds, index: usize) -> Option<Row> {
    match rounds {
        Ok(rounds) => rounds.get(index).map(|shown| row(case, shown, cpu_ms / rounds.len() as f64)),
        Err(refusal) => Some(refused(case, refusal)),
    }
}

fn timed_row(case: &str, work: impl FnOnce() -> Option<Result<Shown, Refusal>>) -> Option<Row> {
    let (shown, cpu_ms) = data::timed(work);
    match shown? {
        Ok(shown) => Some(row(case, &shown, cpu_ms)),
        Err(refusal) => Some(refused(case, &refusal)),
    }
}

fn refused(case: &str, refusal: &Refusal) -> Row {
    Row {
        case: case.into(),
        misses: vec![format!("was refused: {refusal}")],
        is_barred: true,
        ..Row::default()
    }
}

fn row(case: &str, (differences, lost, bytes): &Shown, cpu_ms: f64) -> Row {
    let mut figures = vec![];
    if let Some(largest) = differences.largest {
        figures.extend([("objective", largest), ("bound", 0.0), ("gap_pct", 100.0 * largest)]);
    }
    figures.extend([("cpu_ms", cpu_ms), ("lost", *lost), ("bytes", *bytes)]);
    let misses = match differences.largest {
        Some(largest) if largest > TOLERANCE => {
            vec![format!("differs from the vectors by {largest:e}, the bar is {TOLERANCE:e}")]
        }
        _ => vec![],
    };
    Row { case: case.into(), figures, misses, is_barred: differences.largest.is_some(), ..Row::default() }
}

fn low(file: &File) -> Rounds {
    let Some(low) = &file.powersgd else { return (Ok(vec![]), 0.0) };
    data::timed(|| {
        let mut state = PowerSgd::new(low.workers, low.shape.0, Matrix::from_rows(&low.q0)?)?;
        let shape = (low.shape.0 as u64, low.shape.1 as u64);
        let bytes = wire::bytes(Form::LowRank(low.rank as u32), &[shape]);
        low.steps.iter().map(|step| low_round(&mut state, step, bytes)).collect()
    })
}

fn low_round(state: &mut PowerSgd, step: &LowRound, bytes: f64) -> Result<Shown, Refusal> {
    let gradients: Vec<Matrix> =
        step.grads.iter().map(|rows| Matrix::from_rows(rows)).collect::<Result<_, _>>()?;
    let round = state.exchange(&gradients)?;
    let mut differences = Differences::default();
    let mut compare = |found: &Matrix, expected: &Option<Rows>| {
        differences.add(&found.entries, expected.as_ref().map(|rows| rows.concat()).as_deref());
    };
    compare(&round.p, &step.p);
    compare(&round.q, &step.q);
    compare(&round.decompressed, &step.decompressed);
    compare(&state.errors[0], &step.err_worker0);
    let lengths: Vec<f64> = state.errors.iter().map(|error| compress::length(&error.entries)).collect();
    differences.add(&lengths, step.err_fro.as_deref());
    Ok((differences, round.lost.iter().copied().fold(0.0, f64::max), bytes))
}

fn momentum(file: &File) -> Rounds {
    let Some(given) = &file.dgc else { return (Ok(vec![]), 0.0) };
    data::timed(|| {
        let entries = given.steps.first().map_or(0, |step| step.grad.len());
        let mut dgc = Dgc::new(entries, given.momentum, given.k);
        let mut rounds = vec![];
        for step in &given.steps {
            let sent = dgc.exchange(&step.grad)?;
            let mut differences = Differences::default();
            differences.add(&sent.entries.spread(entries), step.sent.as_deref());
            differences.add(&dgc.u, step.u.as_deref());
            differences.add(&dgc.v, step.v.as_deref());
            rounds.push((differences, sent.lost, 8.0 * sent.entries.indices.len() as f64));
        }
        Ok(rounds)
    })
}

fn topk(file: &File) -> Option<Result<Shown, Refusal>> {
    let given = file.topk.as_ref()?;
    let kept = compress::largest(&file.vector, given.k);
    let left_out = kept.left_out(&file.vector);
    let mut differences = Differences::default();
    let as_floats = |indices: &[usize]| indices.iter().map(|&index| index as f64).collect::<Vec<_>>();
    differences
        .add(&as_floats(&kept.indices), given.indices.as_ref().map(|indices| as_floats(indices)).as_deref());
    differences.add(&[left_out], given.residual_norm.as_ref().map(std::slice::from_ref));
    let part = given.k as f64 / file.vector.len().max(1) as f64;
    Some(Ok((differences, lost(file, left_out), bytes(file, Form::Largest(part)))))
}

fn signs(file: &File) -> Option<Result<Shown, Refusal>> {
    let given = file.sign_ef.as_ref()?;
    let mut feedback = Feedback::new(file.vector.len());
    Some(feedback.send(&file.vector, compress::sign).map(|(seen, lost)| {
        let mut differences = Differences::default();
        differences.add(&seen, given.decompressed.as_deref());
        let scale = seen.first().copied().unwrap_or(0.0).abs();
        differences.add(&[scale], given.scale_mean_abs.as_ref().map(std::slice::from_ref));
        (differences, lost, bytes(file, Form::Bit))
    }))
}

fn bits(file: &File) -> Option<Result<Shown, Refusal>> {
    let given = file.onebit_seide.as_ref()?;
    let found = compress::one_bit(&file.vector);
    let mut differences = Differences::default();
    differences.add(&[found.upper], given.mean_nonneg.as_ref().map(std::slice::from_ref));
    differences.add(&[found.lower], given.mean_neg.as_ref().map(std::slice::from_ref));
    differences.add(&found.decompressed, given.decompressed.as_deref());
    let rest = apart(&file.vector, &found.decompressed);
    Some(Ok((differences, lost(file, rest), bytes(file, Form::Bit))))
}

fn levels(file: &File) -> Option<Result<Shown, Refusal>> {
    let given = file.qsgd.as_ref()?;
    Some(compress::quantised(&file.vector, given.levels, &given.uniforms).map(|found| {
        let mut differences = Differences::default();
        differences.add(&[found.norm], given.norm.as_ref().map(std::slice::from_ref));
        differences.add(&[found.variance], given.variance_bound_factor.as_ref().map(std::slice::from_ref));
        differences.add(&found.decompressed, given.decompressed.as_deref());
        let rest = apart(&file.vector, &found.decompressed);
        (differences, lost(file, rest), bytes(file, Form::Levels(given.levels)))
    }))
}

fn apart(one: &[f64], other: &[f64]) -> f64 {
    compress::length(&one.iter().zip(other).map(|(one, other)| one - other).collect::<Vec<_>>())
}

fn lost(file: &File, rest: f64) -> f64 {
    rest / compress::length(&file.vector).max(f64::MIN_POSITIVE)
}

fn bytes(file: &File, form: Form) -> f64 {
    wire::bytes(form, &[(file.vector.len() as u64, 1)])
}
