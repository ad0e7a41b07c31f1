//! Operations and bytes of a transformer, by the usual arithmetic.
//!
//! For one sequence of length s, width h, inner width f and vocabulary V, forward: a layer takes `s (8 h^2 + 4 h f) + 4 s^2 h`
//! operations (projections, the two halves of the inner layer, attention itself), the head `2 s h V`, the embedding none that
//! count. Backward is twice that, and attention once more, since its matrix is not kept. A layer has `4 h^2 + 2 h f + 4 h`
//! parameters, embedding and head `h V` each. It keeps `34 s h` bytes of activations at 2 bytes each, the attention matrix
//! not among them; with recomputation only the `2 s h` that came in.

use super::super::layers::{Layer, Layers};

/// A transformer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Layers.
    pub layers: u32,
    /// Width.
    pub hidden: u64,
    /// Heads of attention.
    pub heads: u32,
    /// Length of a sequence.
    pub sequence: u64,
    /// Words.
    pub vocabulary: u64,
    /// Width inside a layer; four times the width where nobody says.
    pub inner: u64,
    /// Bytes of a number while training: 2 for bf16 and fp16, 4 for fp32.
    pub number_bytes: u32,
}

/// What one layer, the embedding or the head takes for one sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Operations forward.
    pub forward: f64,
    /// Operations backward.
    pub backward: f64,
    /// Numbers that are learned.
    pub parameters: f64,
    /// Bytes kept from forward to backward.
    pub kept_bytes: f64,
    /// Bytes handed on.
    pub handed_bytes: f64,
}

impl Shape {
    /// One layer.
    pub fn layer(&self) -> Figures {
        let (s, h, f) = (self.sequence as f64, self.hidden as f64, self.inner as f64);
        let attention = 4.0 * s * s * h;
        let forward = s * (8.0 * h * h + 4.0 * h * f) + attention;
        Figures {
            forward,
            backward: 2.0 * forward + attention,
            parameters: 4.0 * h * h + 2.0 * h * f + 4.0 * h,
            kept_bytes: 34.0 * s * h * f64::from(self.number_bytes) / 2.0,
            handed_bytes: self.handed_bytes(),
        }
    }

    /// What every layer hands on for one sequence.
    pub fn handed_bytes(&self) -> f64 {
        self.sequence as f64 * self.hidden as f64 * f64::from(self.number_bytes)
    }

    /// The embedding.
    pub fn embedding(&self) -> Figures {
        let parameters = self.hidden as f64 * self.vocabulary as f64;
        let handed_bytes = self.handed_bytes();
        Figures { parameters, kept_bytes: handed_bytes, handed_bytes, ..Figures::default() }
    }

    /// The head with its loss. Scores are kept in 4 bytes each.
    pub fn head(&self) -> Figures {
        let (s, h, v) = (self.sequence as f64, self.hidden as f64, self.vocabulary as f64);
        let forward = 2.0 * s * h * v;
        Figures {
            forward,
            backward: 2.0 * forward,
            parameters: h * v,
            kept_bytes: 4.0 * s * v,
            handed_bytes: 0.0,
        }
    }

    /// All parameters.
    pub fn parameters(&self) -> f64 {
        f64::from(self.layers) * self.layer().parameters
            + self.embedding().parameters
            + self.head().parameters
    }

    /// Operations of one sequence, forward and backward, nothing repeated.
    pub fn operations(&self) -> f64 {
        f64::from(self.layers) * (self.layer().forward + self.layer().backward)
            + self.head().forward
            + self.head().backward
    }

    /// As a network whose minibatch is one sequence, on a device with so many operations a second; what each layer keeps; and
    /// its letter in Megatron's layouts.
    pub fn network(&self, operations_per_s: f64) -> (Layers, Vec<f64>, Vec<char>) {
        let named = |id: String, figures: Figures| {
            let layer = Layer {
                name: id.clone(),
                id,
                forward_s: figures.forward / operations_per_s,
                backward_s: figures.backward / operations_per_s,
                activation_bytes: figures.handed_bytes,
                parameter_bytes: figures.parameters * f64::from(self.number_bytes),
            };
            (layer, figures.kept_bytes)
        };
        let mut all = vec![named("embedding".into(), self.embedding())];
        all.extend((1..=self.layers).map(|number| named(format!("layer{number}"), self.layer())));
        all.push(named("head".into(), self.head()));
        let edges = (1..all.len()).map(|to| (to - 1, to)).collect();
        let mut letters = vec!['t'; all.len()];
        (letters[0], letters[all.len() - 1]) = ('E', 'L');
        let (layers, kept) = all.into_iter().unzip();
        (Layers { layers, edges }, kept, letters)
    }
}

/// What is printed about a device: its name, 10^12 operations a second in bf16 or fp16 without sparsity, and GB of memory.
const KNOWN: &[(&str, f64, f64)] = &[
    ("b200", 2250.0, 180.0),
    ("h200", 989.0, 141.0),
    ("h100", 989.0, 80.0),
    ("h800", 989.0, 80.0),
    ("h20", 148.0, 96.0),
    ("a100", 312.0, 80.0),
    ("a100-40", 312.0, 40.0),
    ("a800", 312.0, 80.0),
    ("l40s", 362.0, 48.0),
    ("l40", 181.0, 48.0),
    ("a40", 150.0, 48.0),
    ("a30", 165.0, 24.0),
    ("a10", 125.0, 24.0),
    ("l4", 121.0, 24.0),
    ("v100", 125.0, 32.0),
    ("t4", 65.0, 16.0),
    ("a6000", 155.0, 48.0),
    ("rtx4090", 165.0, 24.0),
    ("rtx3090", 71.0, 24.0),
    ("mi300x", 1307.0, 192.0),
    ("mi250x", 383.0, 128.0),
    ("gaudi2", 432.0, 96.0),
    ("tpu-v4", 275.0, 32.0),
    ("tpu-v5e", 197.0, 16.0),
    ("tpu-v5p", 459.0, 95.0),
];

/// Operations a second as printed, and bytes of memory, of a device that is known here.
pub fn known(kind: &str) -> Option<(f64, f64)> {
    let kind = kind.to_lowercase();
    let found = KNOWN.iter().find(|(name, _, _)| *name == kind)?;
    Some((found.1 * 1e12, found.2 * 1e9))
}

/// All names that are known here.
pub fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|(name, _, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_network_has_its_known_size() {
        // GPT-3: 96 layers of 12288, 175 thousand million parameters.
        let shape = Shape {
            layers: 96,
            hidden: 12288,
            heads: 96,
            sequence: 2048,
            vocabulary: 50257,
            inner: 4 * 12288,
            number_bytes: 2,
        };
        assert!((shape.parameters() / 175e9 - 1.0).abs() < 0.01);
        // About six operations for each parameter and word, and somewhat more for attention.
        let usual = 6.0 * shape.parameters() * 2048.0;
        assert!((1.0..1.1).contains(&(shape.operations() / usual)));
        let (layers, kept, letters) = shape.network(1e12);
        assert_eq!((layers.layers.len(), kept.len(), letters.len()), (98, 98, 98));
    }
}
