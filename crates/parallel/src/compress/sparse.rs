//! Only the largest entries; and the form of it that keeps momentum right (Deep Gradient Compression, Lin and others).
//!
//! Indices differ from worker to worker, so the parts are gathered and not added up on the way: what is received grows
//! with the number of workers. Does badly with many workers, see [`wire`](super::wire).

use super::{Refusal, length, same};

/// Some entries of a vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse {
    /// Where they are, in order.
    pub indices: Vec<usize>,
    /// What they are.
    pub values: Vec<f64>,
}

impl Sparse {
    /// As a vector of so many entries, zero elsewhere.
    pub fn spread(&self, entries: usize) -> Vec<f64> {
        let mut whole = vec![0.0; entries];
        for (&index, &value) in self.indices.iter().zip(&self.values) {
            if let Some(entry) = whole.get_mut(index) {
                *entry = value;
            }
        }
        whole
    }

    /// The length of what was left out of a vector.
    pub fn left_out(&self, vector: &[f64]) -> f64 {
        let rest: Vec<f64> =
            vector.iter().zip(self.spread(vector.len())).map(|(whole, kept)| whole - kept).collect();
        length(&rest)
    }
}

/// The `count` entries of largest amount; of equal ones the first.
pub fn largest(vector: &[f64], count: usize) -> Sparse {
    let mut order: Vec<usize> = (0..vector.len()).collect();
    order.sort_by(|&one, &other| vector[other].abs().total_cmp(&vector[one].abs()).then(one.cmp(&other)));
    let mut indices: Vec<usize> = order.into_iter().take(count).collect();
    indices.sort_unstable();
    let values = indices.iter().map(|&index| vector[index]).collect();
    Sparse { indices, values }
}

/// Largest entries of accumulated momentum: what carries over from one round to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Dgc {
    /// How much of the velocity of last time stays.
    pub momentum: f64,
    /// How many entries are sent.
    pub count: usize,
    /// Velocity.
    pub u: Vec<f64>,
    /// Velocity that was not sent yet, added up.
    pub v: Vec<f64>,
}

/// What one round sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The entries.
    pub entries: Sparse,
    /// Length of what was kept back over length of the whole.
    pub lost: f64,
}

impl Dgc {
    /// Before the first round.
    pub fn new(entries: usize, momentum: f64, count: usize) -> Self {
        Self { momentum, count, u: vec![0.0; entries], v: vec![0.0; entries] }
    }

    /// One round. Where something was sent, velocity starts again from nothing, so that what is stale does not push.
    pub fn exchange(&mut self, gradient: &[f64]) -> Result<Sent, Refusal> {
        same(self.u.len(), gradient.len())?;
        for ((u, v), new) in self.u.iter_mut().zip(&mut self.v).zip(gradient) {
            *u = self.momentum * *u + new;
            *v += *u;
        }
        let whole = length(&self.v);
        let entries = largest(&self.v, self.count);
        for &index in &entries.indices {
            self.u[index] = 0.0;
            self.v[index] = 0.0;
        }
        Ok(Sent { entries, lost: length(&self.v) / whole.max(f64::MIN_POSITIVE) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_stay_and_the_first_of_equals() {
        let kept = largest(&[1.0, -3.0, 2.0, -2.0], 2);
        assert_eq!((kept.indices, kept.values), (vec![1, 2], vec![-3.0, 2.0]));
        assert_eq!(largest(&[1.0], 9).indices, [0]);
        assert_eq!(largest(&[3.0, 4.0], 0).left_out(&[3.0, 4.0]), 5.0);
    }

    #[test]
    fn momentum_gathers_until_it_is_sent() {
        let mut dgc = Dgc::new(2, 0.5, 1);
        assert_eq!(dgc.exchange(&[1.0, 4.0]).unwrap().entries.values, [4.0]);
        assert_eq!((dgc.u.clone(), dgc.v.clone()), (vec![1.0, 0.0], vec![1.0, 0.0]));
        let sent = dgc.exchange(&[1.0, 0.0]).unwrap();
        assert_eq!((sent.entries.indices, sent.entries.values), (vec![0], vec![2.5]));
        assert!(dgc.exchange(&[1.0]).is_err());
    }
}
