//! How many bytes a worker sends for one gradient, by form and number of workers.
//!
//! Forms that can be added up on the way travel by all-reduce: a worker sends `2 (n-1)/n` times their size. The others are
//! gathered: a worker sends `n-1` times its own part, so they are worse than dense from about `1/(2 density)` workers on.
//! Simplifies: no headers, and indices of four bytes.

use serde::Serialize;

/// How a gradient is sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As it is: four bytes for each entry.
    Dense,
    /// Two bytes for each entry, with five bits of exponent.
    Fp16,
    /// Two bytes for each entry, with the exponent of a whole float.
    Bf16,
    /// Two thin factors of this rank.
    LowRank(u32),
    /// This part of the entries, each with its index.
    Largest(f64),
    /// One bit for each entry, and a scale or two.
    Bit,
    /// So many levels to either side of zero.
    Levels(u32),
}

/// A matrix is worth cutting into factors only where they are below this part of it.
pub const WORTH: f64 = 0.5;

/// Bytes of one gradient in this form, of tensors of these shapes. Vectors, and matrices that are not worth it, stay
/// dense where the form is of low rank.
pub fn bytes(form: Form, shapes: &[(u64, u64)]) -> f64 {
    let entries = |&(rows, columns): &(u64, u64)| rows as f64 * columns as f64;
    let sum = |of: &dyn Fn(&(u64, u64)) -> f64| shapes.iter().map(of).sum::<f64>();
    match form {
        Form::Dense => sum(&|shape| 4.0 * entries(shape)),
        Form::Fp16 | Form::Bf16 => sum(&|shape| 2.0 * entries(shape)),
        Form::LowRank(rank) => sum(&|shape| match is_factored(rank, *shape) {
            true => 4.0 * f64::from(rank) * (shape.0 as f64 + shape.1 as f64),
            false => 4.0 * entries(shape),
        }),
        Form::Largest(part) => sum(&|shape| 8.0 * (part * entries(shape)).ceil().max(1.0)),
        Form::Bit => sum(&|shape| (entries(shape) / 8.0).ceil() + 8.0),
        Form::Levels(levels) => {
            // A sign and a level: as many bits as it takes to tell them apart.
            let bits = f64::from((2 * u64::from(levels) + 1).next_power_of_two().trailing_zeros());
            sum(&|shape| (bits * entries(shape) / 8.0).ceil() + 4.0)
        }
    }
}

/// Whether a tensor is worth two factors.
pub fn is_factored(rank: u32, (rows, columns): (u64, u64)) -> bool {
    (rows as f64 + columns as f64) * f64::from(rank) < rows as f64 * columns as f64 * WORTH
}

/// Whether it can be added up on the way.
pub fn is_summable(form: Form) -> bool {
    matches!(form, Form::Dense | Form::Fp16 | Form::Bf16 | Form::LowRank(_))
}

/// Bytes that each of so many workers sends for one gradient.
pub fn sent(form: Form, shapes: &[(u64, u64)], workers: u32) -> f64 {
    let others = f64::from(workers.saturating_sub(1));
    match is_summable(form) {
        true => 2.0 * others / f64::from(workers.max(1)) * bytes(form, shapes),
        false => others * bytes(form, shapes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [(u64, u64); 2] = [(1000, 1000), (1000, 1)];

    #[test]
    fn each_form_has_its_size() {
        assert_eq!(bytes(Form::Dense, &SHAPES), 4_004_000.0);
        assert_eq!(bytes(Form::Bf16, &SHAPES), 2_002_000.0);
        assert_eq!(bytes(Form::LowRank(4), &SHAPES), 4.0 * 4.0 * 2000.0 + 4000.0);
        assert_eq!(bytes(Form::LowRank(300), &SHAPES), 4_004_000.0);
        assert_eq!(bytes(Form::Largest(0.01), &SHAPES), 80_080.0);
        assert_eq!(bytes(Form::Bit, &SHAPES), 125_008.0 + 133.0);
        assert_eq!(bytes(Form::Levels(4), &[(2, 4)]), 8.0);
    }

    #[test]
    fn what_is_gathered_is_worse_than_dense_with_many_workers() {
        let dense = |workers| sent(Form::Dense, &SHAPES, workers);
        let largest = |workers| sent(Form::Largest(0.01), &SHAPES, workers);
        assert!(largest(16) < dense(16) && largest(128) > dense(128));
        assert_eq!(sent(Form::Bit, &SHAPES, 1), 0.0);
    }
}
