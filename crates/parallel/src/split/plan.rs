//! From what is asked for to the answer: limits, the exact split, weights, and what was gained.

use super::exact::{self, Line};
use super::{Device, Idle, MOST_DEVICES, MOST_SAMPLES, MOST_VARYING, Previous, Refusal, Request, tail};
use crate::Answer;
use serde::Serialize;

/// Who takes how much.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Samples of one update, over all devices.
    pub batch: u64,
    /// The slowest device.
    pub step_s: f64,
    /// The expected time of whoever is slowest, where devices vary; the same as `step_s` where none does.
    pub expected_s: f64,
    /// In the order of the devices.
    pub parts: Vec<Part>,
    /// What the even split would be.
    pub even: Even,
    /// How much faster than the even split: 0.5 is half as fast again. `None` when the even split does not fit.
    pub gain: Option<f64>,
}

/// What one device does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What people call it.
    pub device: String,
    /// Its samples of one update.
    pub batch: u64,
    /// The most it could take without being slower than the slowest.
    pub most: u64,
    /// By what its mean loss is multiplied where gradients are averaged over all devices: `batch * devices / whole`.
    pub weight: f64,
    /// The same where gradients are added up: `batch / whole`.
    pub share: f64,
    /// Samples of its largest micro-batch.
    pub micro_batch: u64,
    /// How many micro-batches it takes.
    pub times: u64,
    /// What it takes in all.
    pub time_s: f64,
    /// How long it waits for the slowest.
    pub idle_s: f64,
}

/// The split that everybody starts with: the same for all, and the rest to the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Even {
    /// Its slowest device.
    pub step_s: f64,
    /// Whether it fits.
    pub fits: bool,
}

/// Splits a batch.
pub fn plan(request: &Request) -> Result<Answer<Plan>, Refusal> {
    check(request)?;
    let lines = lines(request)?;
    let mut assumed = vec!["the time of a device is its fixed part plus its time per sample".to_string()];
    let (free, mut tried) = exact::split(&lines, request.batch).ok_or_else(|| too_large(request, &lines))?;
    let bound = exact::relaxation(&lines, request.batch);
    let spreads: Vec<f64> = request.devices.iter().map(|device| device.spread).collect();
    let (mut taken, held) = match &request.previous {
        None => (free, lines.clone()),
        Some(previous) => near(&lines, free, previous, request.batch, &mut assumed),
    };
    let stays = request.previous.as_ref().is_some_and(|previous| previous.batches == taken);
    if request.tail && !stays {
        tried += tail::improve(&held, &spreads, &mut taken).1;
    }
    let expected = tail::expectation(&lines, &spreads, &taken);
    let plan = describe(request, &lines, &taken, expected);
    if spreads.iter().any(|spread| *spread > 0.0) {
        assumed.push("times vary normally, and independently of each other".into());
    }
    for part in plan.parts.iter().filter(|part| part.batch == 0) {
        assumed.push(format!("{} may stay without samples: the others are no slower for it", part.device));
    }
    let objective = if request.tail { plan.expected_s } else { plan.step_s };
    // The bound has given way to rounding: where samples divide evenly both are the same number.
    let bound = if bound > objective * (1.0 - 1e-11) { objective } else { bound };
    let bound_by = "samples that could be cut".to_string();
    Ok(Answer { plan, objective, unit: "s", bound, bound_by, assumed, tried })
}

fn check(request: &Request) -> Result<(), Refusal> {
    let devices = request.devices.len();
    match devices {
        0 => return Err(Refusal::NoDevices),
        _ if devices > MOST_DEVICES => return Err(Refusal::TooManyDevices { devices }),
        _ => {}
    }
    if request.batch == 0 || request.batch > MOST_SAMPLES {
        return Err(Refusal::Batch { batch: request.batch });
    }
    request.devices.iter().try_for_each(figures)?;
    if request.tail && devices > MOST_VARYING {
        return Err(Refusal::TooManyVary { devices });
    }
    if request.batch < devices as u64 && request.idle != Idle::Freely {
        return Err(Refusal::TooFewSamples { batch: request.batch, devices });
    }
    if let Some(previous) = &request.previous {
        if previous.batches.len() != devices {
            return Err(Refusal::Previous { parts: previous.batches.len(), devices });
        }
        for (what, value) in [("most change", previous.most_change), ("least gain", previous.least_gain)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(Refusal::Change { what, value });
            }
        }
    }
    Ok(())
}

fn figures(device: &Device) -> Result<(), Refusal> {
    let memory = device.memory.map(|memory| (memory.bytes, memory.base, memory.per_sample));
    let (bytes, base, per_sample) = memory.unwrap_or_default();
    let all = [
        ("fixed time", device.fixed_s),
        ("time per sample", device.sample_s),
        ("spread", device.spread),
        ("memory", bytes),
        ("memory before the first sample", base),
        ("memory per sample", per_sample),
    ];
    let wrong = all.into_iter().find(|(what, value)| {
        let sound = value.is_finite() && *value >= 0.0 && *value < 1e15;
        // A time per sample of zero has no best split: everything would go to one device.
        !sound || (*what == "time per sample" && *value < 1e-15)
    });
    match wrong {
        Some((what, value)) => Err(Refusal::Figure { device: device.name.clone(), what, value }),
        None => Ok(()),
    }
}

/// Devices as the search sees them.
fn lines(request: &Request) -> Result<Vec<Line>, Refusal> {
    let least = u64::from(request.idle == Idle::Never);
    let accumulate = request.accumulate.max(1);
    let line = |device: &Device| {
        let micro = device.micro(accumulate);
        if micro < least {
            return Err(Refusal::NoRoom { device: device.name.clone() });
        }
        let most = micro.saturating_mul(u64::from(accumulate)).min(request.batch);
        Ok(Line { fixed: device.fixed_s, sample: device.sample_s, micro, least, most })
    };
    request.devices.iter().map(line).collect()
}

fn too_large(request: &Request, lines: &[Line]) -> Refusal {
    let held = lines.iter().map(|line| line.most).fold(0, u64::saturating_add);
    let once = lines.iter().map(|line| line.micro).fold(0, u64::saturating_add);
    let accumulate = (once > 0).then(|| request.batch.div_ceil(once));
    Refusal::TooLarge { batch: request.batch, held, accumulate }
}

/// The split in force, where a better one is not worth the change; or the best one within reach of it. And the limits
/// that then hold.
fn near(
    lines: &[Line],
    free: Vec<u64>,
    previous: &Previous,
    batch: u64,
    assumed: &mut Vec<String>,
) -> (Vec<u64>, Vec<Line>) {
    let now = &previous.batches;
    let fits = now.iter().map(|now| u128::from(*now)).sum::<u128>() == u128::from(batch)
        && lines.iter().zip(now).all(|(line, now)| (line.least..=line.most).contains(now));
    if fits && slowest(lines, &free) >= slowest(lines, now) * (1.0 - previous.least_gain) {
        assumed.push("the split in force stays: a better one would not gain enough".into());
        return (now.clone(), lines.to_vec());
    }
    let bounded: Vec<Line> = lines
        .iter()
        .zip(now)
        .map(|(line, &now)| {
            let change = ((now as f64 * previous.most_change) as u64).max(1);
            let least = now.saturating_sub(change).clamp(line.least, line.most);
            Line { least, most: now.saturating_add(change).clamp(least, line.most), ..*line }
        })
        .collect();
    match exact::split(&bounded, batch) {
        Some((taken, _)) => {
            if taken != free {
                assumed.push("only a part of the way to the best split: one adjustment is bounded".into());
            }
            (taken, bounded)
        }
        None => {
            assumed.push("the split in force is too far off to be adjusted: this one starts anew".into());
            (free, lines.to_vec())
        }
    }
}

fn slowest(lines: &[Line], taken: &[u64]) -> f64 {
    lines.iter().zip(taken).map(|(line, &taken)| line.time(taken)).fold(0.0, f64::max)
}

fn describe(request: &Request, lines: &[Line], taken: &[u64], expected_s: f64) -> Plan {
    let step_s = slowest(lines, taken);
    let (whole, ranks) = (request.batch as f64, lines.len() as f64);
    let part = |((device, line), &batch): ((&Device, &Line), &u64)| Part {
        device: device.name.clone(),
        batch,
        most: line.within(step_s),
        weight: batch as f64 * ranks / whole,
        share: batch as f64 / whole,
        micro_batch: batch.div_ceil(line.times(batch).max(1)),
        times: line.times(batch),
        time_s: line.time(batch),
        idle_s: step_s - line.time(batch),
    };
    let parts = request.devices.iter().zip(lines).zip(taken).map(part).collect();
    let even = even(request, lines);
    let gain = even.fits.then_some(even.step_s / step_s - 1.0);
    Plan { batch: request.batch, step_s, expected_s, parts, even, gain }
}

fn even(request: &Request, lines: &[Line]) -> Even {
    let (each, rest) = (request.batch / lines.len() as u64, request.batch % lines.len() as u64);
    let batches: Vec<u64> = (0..lines.len() as u64).map(|rank| each + u64::from(rank < rest)).collect();
    let fits = lines.iter().zip(&batches).all(|(line, batch)| *batch <= line.most);
    // What does not fit is told as if it did: how long it would take is of interest, and how to cut it up is not said.
    let told: Vec<Line> =
        lines.iter().map(|line| Line { micro: if fits { line.micro } else { u64::MAX }, ..*line }).collect();
    Even { step_s: slowest(&told, &batches), fits }
}

#[cfg(test)]
mod tests {
    use super::super::Memory;
    use super::*;

    fn request(batch: u64, devices: &[(f64, f64, u64)]) -> Request {
        let device = |(index, &(fixed, sample, most)): (usize, &(f64, f64, u64))| Device {
            max_batch: Some(most),
            ..Device::new(&format!("d{index}"), fixed, sample)
        };
        Request {
            batch,
            devices: devices.iter().enumerate().map(device).collect(),
            idle: Idle::WhenFaster,
            accumulate: 1,
            tail: false,
            previous: None,
        }
    }

    fn batches(request: &Request) -> Vec<u64> {
        plan(request).unwrap().plan.parts.iter().map(|part| part.batch).collect()
    }

    #[test]
    fn faster_devices_take_more_and_weights_make_the_mean_right() {
        let answer = plan(&request(30, &[(0.0, 1.0, 99), (0.0, 2.0, 99)])).unwrap();
        let parts = &answer.plan.parts;
        assert_eq!((parts[0].batch, parts[1].batch), (20, 10));
        assert_eq!((answer.objective, answer.bound), (20.0, 20.0));
        assert_eq!((parts[0].weight, parts[0].share), (20.0 * 2.0 / 30.0, 20.0 / 30.0));
        assert_eq!(answer.plan.gain, Some(0.5));
    }

    #[test]
    fn memory_caps_a_device_with_room_to_spare() {
        let memory = Memory { bytes: 100.0, base: 12.0, per_sample: 8.0 };
        let device = Device { memory: Some(memory), ..Device::new("a", 1.0, 1.0) };
        assert_eq!(device.largest(), 10);
        let full = Device { memory: Some(Memory { base: 93.0, ..memory }), ..device.clone() };
        assert_eq!(full.largest(), 0);
    }

    #[test]
    fn micro_batches_stay_within_the_cap_and_pay_the_fixed_part_each_time() {
        let mut asked = request(100, &[(1.0, 0.1, 16), (1.0, 0.1, 64)]);
        let refusal = plan(&asked).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "the devices hold 80 samples and the batch has 100; accumulate over at least 2 micro-batches, or \
             lower the batch"
        );
        asked.accumulate = 4;
        let answer = plan(&asked).unwrap();
        let part = &answer.plan.parts[0];
        assert!(part.micro_batch <= 16 && part.times > 1 && part.micro_batch * part.times >= part.batch);
        assert!((part.time_s - (part.times as f64 + 0.1 * part.batch as f64)).abs() < 1e-12);
    }

    #[test]
    fn idle_devices_are_allowed_or_not() {
        let mut asked = request(8, &[(0.0, 1.0, 99), (50.0, 1.0, 99)]);
        assert_eq!(batches(&asked), [8, 0]);
        asked.idle = Idle::Never;
        assert_eq!(batches(&asked), [7, 1]);
        let mut few = request(1, &[(0.0, 1.0, 99), (50.0, 1.0, 99)]);
        assert_eq!(plan(&few), Err(Refusal::TooFewSamples { batch: 1, devices: 2 }));
        few.idle = Idle::Freely;
        assert_eq!(batches(&few), [1, 0]);
    }

    #[test]
    fn an_adjustment_goes_part_of_the_way_and_only_where_it_pays() {
        let mut asked = request(100, &[(0.0, 1.0, 100), (0.0, 3.0, 100)]);
        let previous = Previous { batches: vec![50, 50], most_change: 0.1, least_gain: 0.02 };
        asked.previous = Some(previous.clone());
        assert_eq!(batches(&asked), [55, 45]);
        asked.previous = Some(Previous { batches: vec![74, 26], least_gain: 0.04, ..previous.clone() });
        assert_eq!(batches(&asked), [74, 26]);
        asked.previous = Some(Previous { batches: vec![1, 1], ..previous });
        assert_eq!(batches(&asked), [75, 25]);
    }

    #[test]
    fn who_varies_gets_less_where_the_tail_counts() {
        let mut asked = request(400, &[(0.0, 1.0, 400); 4]);
        asked.devices.iter_mut().for_each(|device| device.spread = 0.02);
        asked.devices[1].spread = 0.2;
        let plain = plan(&asked).unwrap();
        asked.tail = true;
        let aware = plan(&asked).unwrap();
        assert!(aware.plan.parts[1].batch < 100);
        assert!(aware.objective < plain.plan.expected_s && aware.bound <= aware.objective);
    }

    #[test]
    fn many_devices_are_split_as_exactly_and_always_alike() {
        let mut dice = crate::dice::Dice::new(6);
        let devices: Vec<(f64, f64, u64)> =
            (0..2_000).map(|_| (dice.unit(), 0.01 + dice.unit(), 700)).collect();
        let answer = plan(&request(100_000, &devices)).unwrap();
        assert!(answer.gap() < 0.02 && answer.bound <= answer.objective);
        assert_eq!(answer.plan.parts.iter().map(|part| part.batch).sum::<u64>(), 100_000);
        let told = |answer: &Answer<Plan>| serde_json::to_string(answer).unwrap();
        assert_eq!(told(&answer), told(&plan(&request(100_000, &devices)).unwrap()));
        // No sample can move to anybody who would not then be as late.
        let room = answer.plan.parts.iter().filter(|part| part.most > part.batch).count();
        assert!(room < answer.plan.parts.iter().filter(|part| part.idle_s == 0.0).count() + 1);
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (fixed, sample, what) in [
            (-1.0, 1.0, "the fixed time of d0 is -1"),
            (f64::NAN, 1.0, "the fixed time of d0 is NaN"),
            (1.0, 0.0, "the time per sample of d0 is 0"),
            (1.0, f64::INFINITY, "the time per sample of d0 is inf"),
        ] {
            let said = plan(&request(8, &[(fixed, sample, 9)])).unwrap_err().to_string();
            assert!(said.starts_with(what), "{said}");
        }
        assert_eq!(plan(&request(0, &[(1.0, 1.0, 9)])), Err(Refusal::Batch { batch: 0 }));
        assert_eq!(plan(&request(1, &[])), Err(Refusal::NoDevices));
        let mut many = request(9_999, &[(1.0, 1.0, 9); 2_000]);
        many.tail = true;
        assert_eq!(plan(&many), Err(Refusal::TooManyVary { devices: 2_000 }));
        let mut wild = request(9, &[(1.0, 1.0, 9); 2]);
        wild.previous = Some(Previous { batches: vec![u64::MAX; 2], most_change: 1.0, least_gain: 0.0 });
        assert_eq!(batches(&wild), [5, 4]);
        let none = plan(&request(8, &[(1.0, 1.0, 0)])).unwrap_err();
        assert!(none.to_string().starts_with("no device has room"), "{none}");
    }
}
