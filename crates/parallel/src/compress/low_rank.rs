//! PowerSGD: a gradient matrix as the product of two thin ones (Vogels and others, 2019).
//!
//! Each worker adds what it lost last time; one step of subspace iteration from the directions of last time gives the
//! thin factors, which are averaged over workers. Linear, so it works with all-reduce. Does badly on matrices without a
//! few strong directions, and on fast links: two exchanges follow each other, with arithmetic between them.

use super::{Matrix, Refusal, length};

/// What carries over from one round to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerSgd {
    /// The directions of last time: as many rows as a gradient has columns, as many columns as the rank.
    pub q: Matrix,
    /// What each worker has not sent so far.
    pub errors: Vec<Matrix>,
}

/// What one round gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The orthonormal factor: as many rows as a gradient.
    pub p: Matrix,
    /// The other factor: as many rows as a gradient has columns.
    pub q: Matrix,
    /// What every worker sees as the mean gradient.
    pub decompressed: Matrix,
    /// For each worker: the length of its error over the length of what it wanted to send.
    pub lost: Vec<f64>,
}

impl PowerSgd {
    /// Before the first round; `q` holds the first directions, for gradients of so many rows.
    pub fn new(workers: usize, rows: usize, q: Matrix) -> Result<Self, Refusal> {
        let most = rows.min(q.rows);
        if q.columns == 0 || q.columns > most {
            return Err(Refusal::Rank { rank: q.columns, most });
        }
        if workers == 0 {
            return Err(Refusal::Workers { expected: 1, found: 0 });
        }
        let errors = vec![Matrix::zero(rows, q.rows); workers];
        Ok(Self { q, errors })
    }

    /// One round: a gradient of each worker.
    pub fn exchange(&mut self, gradients: &[Matrix]) -> Result<Round, Refusal> {
        if gradients.len() != self.errors.len() {
            return Err(Refusal::Workers { expected: self.errors.len(), found: gradients.len() });
        }
        for (gradient, error) in gradients.iter().zip(&self.errors) {
            super::same(error.rows, gradient.rows)?;
            super::same(error.columns, gradient.columns)?;
            super::same(error.entries.len(), gradient.entries.len())?;
        }
        let whole: Vec<Matrix> = gradients
            .iter()
            .zip(&self.errors)
            .map(|(new, error)| new.with(error, |new, old| new + old))
            .collect();
        let mean = |parts: Vec<Matrix>| Matrix::mean(&parts).expect("there is a worker");
        let mut p = mean(whole.iter().map(|whole| whole.times(&self.q)).collect());
        p.orthonormalise();
        let q = mean(whole.iter().map(|whole| whole.turned().times(&p)).collect());
        let decompressed = p.times(&q.turned());
        self.errors =
            whole.iter().map(|whole| whole.with(&decompressed, |whole, seen| whole - seen)).collect();
        let lost = self
            .errors
            .iter()
            .zip(&whole)
            .map(|(error, whole)| length(&error.entries) / length(&whole.entries).max(f64::MIN_POSITIVE))
            .collect();
        self.q = q.clone();
        Ok(Round { p, q, decompressed, lost })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    fn random(dice: &mut Dice, rows: usize, columns: usize) -> Matrix {
        let entries = (0..rows * columns).map(|_| dice.unit() - 0.5).collect();
        Matrix { rows, columns, entries }
    }

    #[test]
    fn a_gradient_of_that_rank_is_found_whole() {
        let mut dice = Dice::new(3);
        let gradient = random(&mut dice, 6, 2).times(&random(&mut dice, 2, 5));
        let mut powersgd = PowerSgd::new(1, 6, random(&mut dice, 5, 2)).unwrap();
        let round = powersgd.exchange(std::slice::from_ref(&gradient)).unwrap();
        assert!(round.lost[0] < 1e-12, "{:?}", round.lost);
    }

    #[test]
    fn nothing_is_lost_for_good() {
        let mut dice = Dice::new(4);
        let mut powersgd = PowerSgd::new(3, 6, random(&mut dice, 5, 2)).unwrap();
        let (mut given, mut seen) = (Matrix::zero(6, 5), Matrix::zero(6, 5));
        for _ in 0..9 {
            let gradients: Vec<Matrix> = (0..3).map(|_| random(&mut dice, 6, 5)).collect();
            given = given.with(&Matrix::mean(&gradients).unwrap(), |sum, new| sum + new);
            let round = powersgd.exchange(&gradients).unwrap();
            seen = seen.with(&round.decompressed, |sum, new| sum + new);
        }
        let error = Matrix::mean(&powersgd.errors).unwrap();
        let rest = given.with(&seen, |given, seen| given - seen).with(&error, |rest, error| rest - error);
        assert!(length(&rest.entries) < 1e-12);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(PowerSgd::new(2, 6, Matrix::zero(5, 6)).is_err());
        let mut powersgd = PowerSgd::new(2, 6, Matrix::zero(5, 2)).unwrap();
        assert!(powersgd.exchange(&[Matrix::zero(6, 5)]).is_err());
        assert!(powersgd.exchange(&[Matrix::zero(6, 5), Matrix::zero(5, 6)]).is_err());
        assert!(powersgd.exchange(&[Matrix::zero(6, 5), Matrix::zero(6, 5)]).is_ok());
    }
}
