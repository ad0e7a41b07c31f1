//! Layers from a file: a profile of a network, or a list of our own.
//!
//! The list has one layer in a line, in the order of the network: `conv1, 1.2ms, 9.4MB` is its name, backward, and the
//! bytes of its gradient. Lines that begin with `#` are notes.

use super::Gradient;
use crate::fabric::latency;
use crate::pipeline::layers;
use consort_types::file::{ReadError, value};

/// Reads either; a profile is told by the ` -- ` between its parts. Gradients of a profile are as large as parameters.
pub fn read(text: &str) -> Result<Vec<Gradient>, ReadError> {
    match text.contains(" -- ") {
        true => Ok(of_profile(&layers::read(text)?)),
        false => {
            let lines = text.lines().enumerate().map(|(index, line)| (index as u64 + 1, line.trim()));
            lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).map(of_line).collect()
        }
    }
}

/// Layers so that whatever feeds a layer comes before it; of several that could be next the first in the file.
fn of_profile(network: &layers::Layers) -> Vec<Gradient> {
    let count = network.layers.len();
    let (mut fed_by, mut feeds) = (vec![0u32; count], vec![vec![]; count]);
    for &(from, to) in &network.edges {
        fed_by[to] += 1;
        feeds[from].push(to);
    }
    let mut ready: std::collections::BTreeSet<usize> =
        (0..count).filter(|&layer| fed_by[layer] == 0).collect();
    let mut order = vec![];
    while let Some(layer) = ready.pop_first() {
        order.push(layer);
        for &next in &feeds[layer] {
            fed_by[next] -= 1;
            if fed_by[next] == 0 {
                ready.insert(next);
            }
        }
    }
    // A circle has no order; the file's own is as good as any.
    if order.len() < count {
        order = (0..count).collect();
    }
    let layer = |index: usize| {
        let layer = &network.layers[index];
        Gradient { name: layer.id.clone(), backward_s: layer.backward_s, bytes: layer.parameter_bytes }
    };
    order.into_iter().map(layer).collect()
}

fn of_line((number, line): (u64, &str)) -> Result<Gradient, ReadError> {
    let fail = |message: String| ReadError { file: String::new(), line: number, column: 0, message };
    let parts: Vec<&str> = line.split(',').map(str::trim).collect();
    let [name, backward, bytes] = parts[..] else {
        return Err(fail("expected a name, a time and a size like `conv1, 1.2ms, 9.4MB`".into()));
    };
    let complain = |what: &str, found: &str| {
        let what = what.to_string();
        let found = found.to_string();
        move |expected: String| fail(value::complaint(&what, &found, &expected))
    };
    Ok(Gradient {
        name: value::name(name).map_err(complain("name", name))?,
        backward_s: latency(backward).map_err(complain("backward", backward))?,
        bytes: value::memory(bytes).map_err(complain("gradient", bytes))? as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_a_layer_in_each_line() {
        let layers = read("# my network\nconv1, 1.2ms, 9.4MB\n\nhead,0,0\n").unwrap();
        assert_eq!(layers[0], Gradient { name: "conv1".into(), backward_s: 0.0012, bytes: 9.4e6 });
        assert_eq!(layers[1].bytes, 0.0);
    }

    #[test]
    fn a_profile_is_put_into_an_order_in_which_it_can_run() {
        let line = |id: &str, bytes: u32| {
            format!(
                "{id} -- x -- forward_compute_time=1, backward_compute_time=2, activation_size=8, parameter_size={bytes}\n"
            )
        };
        let text = line("b", 4) + &line("a", 8) + "\ta -- b\n";
        let names: Vec<String> = read(&text).unwrap().into_iter().map(|layer| layer.name).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let said = |text: &str| {
            let error = read(text).unwrap_err();
            (error.line, error.message)
        };
        assert_eq!(said("a, 1ms, 4MB\nb, 1ms\n").0, 2);
        assert!(said("a, 1 parsec, 4MB").1.contains("`backward` is `1 parsec`"));
        assert!(said("a, 1ms, 4").1.contains("a unit"));
    }
}
