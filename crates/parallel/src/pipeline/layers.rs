//! A network as a profile tells it: layers with times and sizes, and what feeds what.

use consort_types::file::ReadError;

/// One layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// What the profile calls it: `node17`.
    pub id: String,
    /// What it is: `Conv2d(3, 64, ...)`.
    pub name: String,
    /// One minibatch forward.
    pub forward_s: f64,
    /// One minibatch backward.
    pub backward_s: f64,
    /// What it hands on.
    pub activation_bytes: f64,
    /// What it learns.
    pub parameter_bytes: f64,
}

/// A network: layers in the order of the file, and edges between their indices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layers {
    /// In the order of the file.
    pub layers: Vec<Layer>,
    /// From, to.
    pub edges: Vec<(usize, usize)>,
}

/// Reads a profile in PipeDream's form: `id -- name -- forward_compute_time=ms, backward_compute_time=ms,
/// activation_size=bytes, parameter_size=bytes`, then a tab and `id -- id` for every edge.
pub fn read(text: &str) -> Result<Layers, ReadError> {
    let mut found = Layers::default();
    let mut index = std::collections::BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let fail =
            |message: String| ReadError { file: String::new(), line: number as u64 + 1, column: 0, message };
        if line.trim().is_empty() {
            continue;
        }
        let parts: Vec<&str> = line.trim().split(" -- ").collect();
        match parts[..] {
            [from, to] => {
                let find = |id: &str| {
                    index.get(id).copied().ok_or_else(|| {
                        fail(format!("`{id}` is the end of an edge but no layer above, expected a layer"))
                    })
                };
                found.edges.push((find(from)?, find(to)?));
            }
            [id, name, figures] => {
                let layer = layer(id, name, figures).map_err(&fail)?;
                if index.insert(id.to_string(), found.layers.len()).is_some() {
                    return Err(fail(format!("duplicate id `{id}`")));
                }
                found.layers.push(layer);
            }
            _ => {
                return Err(fail(
                    "expected `id -- name -- forward_compute_time=..., ...` or `id -- id`".into(),
                ));
            }
        }
    }
    Ok(found)
}

fn layer(id: &str, name: &str, figures: &str) -> Result<Layer, String> {
    let figure = |wanted: &str| -> Result<f64, String> {
        let found = figures.split(", ").find_map(|part| part.strip_prefix(wanted)?.strip_prefix('='));
        let text = found.ok_or_else(|| format!("missing {wanted} of `{id}`"))?;
        // Several tensors are listed as `[a; b]`: what is handed on is their sum.
        let numbers = text.trim_matches(['[', ']']).split("; ").map(str::parse::<f64>);
        let sum = numbers.sum::<Result<f64, _>>().map_err(|_| ()).ok().filter(|sum| sum.is_finite());
        sum.filter(|&sum| sum >= 0.0)
            .ok_or_else(|| format!("{wanted} of `{id}` is `{text}`, expected a number that is not negative"))
    };
    Ok(Layer {
        id: id.into(),
        name: name.into(),
        forward_s: figure("forward_compute_time")? / 1000.0,
        backward_s: figure("backward_compute_time")? / 1000.0,
        activation_bytes: figure("activation_size")?,
        parameter_bytes: figure("parameter_size")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "node1 -- Input0 -- forward_compute_time=0.000, backward_compute_time=0.000, activation_size=8.0, parameter_size=0.000\n\
                       node2 -- Linear(4, 2) -- forward_compute_time=1.500, backward_compute_time=3.000, activation_size=[4.0; 2.0], parameter_size=40.000\n\
                       \tnode1 -- node2\n";

    #[test]
    fn times_are_seconds_and_several_tensors_add_up() {
        let layers = read(TWO).unwrap();
        assert_eq!(layers.edges, [(0, 1)]);
        assert_eq!(layers.layers[1].forward_s, 0.0015);
        assert_eq!(layers.layers[1].activation_bytes, 6.0);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let said = |text: &str| read(text).unwrap_err().to_string();
        assert!(said(&TWO.replace("\tnode1", "\tnode9")).contains("`node9` is the end of an edge"));
        assert!(said(&TWO.replace("1.500", "-1")).contains("forward_compute_time of `node2` is `-1`"));
        assert!(said(&TWO.replace("node2 --", "node1 --")).contains("duplicate"));
    }
}
