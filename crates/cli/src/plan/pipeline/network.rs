//! A transformer by its sizes, and how fast devices are in it.

use super::devices::Found;
use crate::failure::Failure;
use consort_parallel::pipeline::transformer::{Shape, known, names};

/// Sizes of a transformer.
#[derive(clap::Args)]
pub struct Sizes {
    /// Layers of a transformer, in place of a profile
    #[arg(long, value_name = "N", requires_all = ["hidden", "heads", "sequence"], help_heading = "Transformer")]
    layers: Option<u32>,
    /// Hidden size
    #[arg(long, value_name = "N", requires = "layers", help_heading = "Transformer")]
    hidden: Option<u64>,
    /// Attention heads
    #[arg(long, value_name = "N", requires = "layers", help_heading = "Transformer")]
    heads: Option<u32>,
    /// Tokens of one sequence
    #[arg(long, value_name = "N", requires = "layers", help_heading = "Transformer")]
    sequence: Option<u64>,
    /// Size of the vocabulary
    #[arg(long, value_name = "N", default_value_t = 32_000, help_heading = "Transformer")]
    vocabulary: u64,
    /// Size of the feed-forward layer, such as 11008, or 4h for four times the hidden size
    #[arg(long, value_name = "N", default_value = "4h", help_heading = "Transformer")]
    ffn: String,
    /// bf16, fp16 or fp32
    #[arg(long, value_name = "NAME", default_value = "bf16", value_parser = ["bf16", "fp16", "fp32"], help_heading = "Transformer")]
    precision: String,
    /// Operations a second of the first kind as printed, as in 989T [default: known for common kinds]
    #[arg(long, value_name = "N", value_parser = operations, help_heading = "Transformer")]
    flops: Option<f64>,
    /// The part of them that is reached, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 40.0, help_heading = "Transformer")]
    achieved: f64,
}

/// How fast devices are.
pub struct Speed {
    /// Of the first kind, as reached.
    pub operations_per_s: f64,
    /// What was taken for granted.
    pub assumed: Vec<String>,
}

impl Sizes {
    /// The transformer.
    pub fn shape(&self) -> Result<Shape, Failure> {
        let hidden = self.hidden.unwrap_or_default();
        let inner = match self.ffn.strip_suffix('h') {
            Some(times) => times.parse::<f64>().ok().map(|times| (times * hidden as f64) as u64),
            None => self.ffn.parse().ok(),
        };
        let inner = inner.ok_or_else(|| {
            Failure::request(format_args!("invalid width --ffn {}", self.ffn), "write it like 11008 or 4h")
        })?;
        Ok(Shape {
            layers: self.layers.unwrap_or_default(),
            hidden,
            heads: self.heads.unwrap_or_default(),
            sequence: self.sequence.unwrap_or_default(),
            vocabulary: self.vocabulary,
            inner,
            number_bytes: if self.precision == "fp32" { 4 } else { 2 },
        })
    }

    /// Of the first kind.
    pub fn speed(&self, found: &Found) -> Result<Speed, Failure> {
        let first = &found.kinds[0].name;
        let printed = self.flops.or(found.flops[0]).or_else(|| {
            // A number of four bytes takes at least twice as long.
            known(first).map(|(flops, _)| if self.precision == "fp32" { flops / 2.0 } else { flops })
        });
        let printed = printed.ok_or_else(|| {
            let all: Vec<&str> = names().collect();
            let remedy = format!("give it with --flops; known kinds: {}", all.join(", "));
            Failure::request(format_args!("unknown speed of `{first}`"), remedy)
        })?;
        if !(self.achieved > 0.0 && self.achieved <= 100.0) {
            return Err(Failure::request("--achieved must be a percentage", "give 1 to 100"));
        }
        let assumed = format!("{first} reaches {} % of {:.0} TFLOPS", self.achieved, printed / 1e12);
        Ok(Speed { operations_per_s: printed * self.achieved / 100.0, assumed: vec![assumed] })
    }
}

/// `989T`, `312e12`, `1.3P`.
pub fn operations(text: &str) -> Result<f64, String> {
    let lower = text.to_lowercase();
    let bare = lower.trim_end_matches("flops").trim_end_matches("flop/s");
    let (number, scale) = match bare.chars().last() {
        Some('p') => (&bare[..bare.len() - 1], 1e15),
        Some('t') => (&bare[..bare.len() - 1], 1e12),
        Some('g') => (&bare[..bare.len() - 1], 1e9),
        _ => (bare, 1.0),
    };
    let speed = number.trim().parse::<f64>().ok().map(|number| number * scale);
    speed
        .filter(|speed| (1e6..1e21).contains(speed))
        .ok_or_else(|| "expected operations a second like 989T or 312e12".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_read_as_people_write_them() {
        for (text, expected) in [("989T", 989e12), ("312e12", 312e12), ("1.3PFLOPS", 1.3e15), ("65t", 65e12)]
        {
            assert_eq!(operations(text), Ok(expected), "{text}");
        }
        assert!(operations("fast").is_err() && operations("-1T").is_err());
    }
}
