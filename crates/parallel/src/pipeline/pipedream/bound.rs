//! What no partition can beat, found without looking for one.
//!
//! Three arguments, of which the strongest counts. **Work**: all machines together compute for as long as the pace says,
//! and not less than all layers take. A layer that needs replicas to keep the pace also pays for exchanging its
//! gradients, and one that has very many parameters cannot keep it at all. **The slowest layer**: it is in one stage,
//! which takes no less than it does on the number of machines that suits it best. **The last cut**: what lies before it
//! is divided evenly among its machines at best, what lies behind it is one stage.

use super::{Request, States};

/// Seconds per minibatch that no partition can beat, and the argument.
pub fn bound(request: &Request, states: &States) -> (f64, &'static str) {
    let last = states.len() - 1;
    let machines: f64 = request.levels.iter().map(|level| level.machines as f64).product();
    let forms: Vec<Vec<Form>> = states.done(last).map(|layer| forms(request, layer)).collect();
    let slowest = forms.iter().map(|forms| fastest(forms)).fold(0.0, f64::max);
    let even = states.compute_s[last] / machines;
    let shared = shared(&forms, machines, even.max(slowest));
    let cut = last_cut(request, states);
    match shared.max(even) {
        work if cut > work => (cut, "the last cut"),
        work if slowest >= work => (slowest, "the slowest layer"),
        work if work > even => (work, "work and gradients over machines"),
        work => (work, "work over machines"),
    }
}

/// One way to replicate a layer over the levels.
#[derive(Clone, Copy)]
struct Form {
    /// The pace of a stage with nothing else in it.
    pace: f64,
    /// The seconds of all machines together that it takes up.
    load: f64,
}

/// The ways to replicate a layer, none of which is both slower and heavier than another: heavier ones are faster.
fn forms(request: &Request, layer: usize) -> Vec<Form> {
    let layer = &request.layers.layers[layer];
    let time = layer.forward_s + layer.backward_s;
    let mut forms = vec![Form { pace: time, load: time }];
    let (mut within, mut inside) = (1.0, 1.0);
    for level in &request.levels {
        let mut finer = vec![];
        for replicas in 1..=if request.straight { 1 } else { level.machines } {
            let copies = replicas as f64;
            let sync = 4.0 * (copies - 1.0) * layer.parameter_bytes / (level.bandwidth * copies) / within;
            finer.extend(
                forms
                    .iter()
                    .map(|form| Form { pace: (form.pace + sync) / copies, load: form.load + inside * sync }),
            );
        }
        finer.sort_by(|one, other| one.load.total_cmp(&other.load).then(one.pace.total_cmp(&other.pace)));
        let mut best = f64::INFINITY;
        finer.retain(|form| {
            form.pace < best && {
                best = form.pace;
                true
            }
        });
        forms = finer;
        within = level.machines as f64;
        inside *= level.machines as f64;
    }
    forms
}

fn fastest(forms: &[Form]) -> f64 {
    forms.last().map_or(0.0, |form| form.pace)
}

/// The least pace, not below `low`, at which the lightest forms that keep it are not too much for all machines.
fn shared(forms: &[Vec<Form>], machines: f64, low: f64) -> f64 {
    let pace_of = |pace: f64| {
        let lightest = |forms: &Vec<Form>| {
            let keeps = forms.partition_point(|form| form.pace > pace);
            forms.get(keeps).or(forms.last()).map_or(0.0, |form| form.load)
        };
        forms.iter().map(lightest).sum::<f64>() / machines
    };
    let (mut low, mut high) = (low, pace_of(low));
    // What is asked for below is always too fast, above it is not.
    for _ in 0..40 {
        if high - low <= 1e-9 * high {
            break;
        }
        let middle = low + (high - low) / 2.0;
        match pace_of(middle) > middle {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

/// The best last cut of the outermost level, or none, where whatever lies before it is divided evenly.
fn last_cut(request: &Request, states: &States) -> f64 {
    let last = states.len() - 1;
    let (below, Some(level)) = (request.levels.len() - 1, request.levels.last()) else {
        return 0.0;
    };
    let inside: f64 = request.levels[..below].iter().map(|level| level.machines as f64).product();
    let within = request.levels[..below].last().map_or(1.0, |level| level.machines as f64);
    let pace = |time: f64, learned: f64, replicas: usize| {
        let copies = replicas as f64;
        let sync = 4.0 * (copies - 1.0) * learned / (level.bandwidth * copies);
        (time / inside + sync) / copies
    };
    let (time, learned) = (&states.compute_s, &states.parameter_bytes);
    // With machines to spare the whole may be on fewer of them.
    let wholes = (1..=level.machines).filter(|&machines| {
        (request.fewer_machines || machines == level.machines) && (!request.straight || machines == 1)
    });
    let whole = wholes.map(|machines| pace(time[last], learned[last] / within, machines));
    let mut best = whole.fold(f64::INFINITY, f64::min);
    for cut in 0..last {
        for replicas in 1..level.machines.min(if request.straight { 2 } else { level.machines }) {
            let rest = (level.machines - replicas) as f64 * inside;
            let hands = request.activation_ratio.map_or(0.0, |ratio| {
                2.0 * states.handed_bytes[cut] / (level.bandwidth * replicas as f64) / ratio
            });
            let behind = pace(time[last] - time[cut], learned[last] - learned[cut], replicas);
            best = best.min(behind.max(time[cut] / rest).max(hands));
        }
    }
    best
}
