//! Where one can stand in a network: everything up to a front of layers is done, the rest is not.
//!
//! A front is a set of layers of which none feeds another. The first holds the first layer; the next ones replace a
//! layer that still feeds something by what it feeds. Stages begin and end at fronts. In a chain there are as many as
//! layers; branches side by side multiply, hence the limit.
//!
//! Conventions of PipeDream's optimizer are kept: sources whose name begins with `Input` are left out, and so are layers
//! called `__getitem__` that feed nothing; what a front hands on is all of its layers plus those before it that have a
//! branch which is not done as seen from one of them. Where that optimizer takes the order of a hash table, the order of
//! the file is taken.

mod fronts;
mod web;

pub(super) use web::Web;

use super::Refusal;
use super::bits::{Bits, has, numbers};
use crate::pipeline::layers::Layers;
use fronts::Fronts;

/// Where one can stand in a network, so that whatever comes before is numbered lower.
#[derive(Clone, Debug)]
pub struct States {
    /// Forward and backward of all that is done, one minibatch.
    pub compute_s: Vec<f64>,
    /// Activations of all that is done.
    pub activation_bytes: Vec<f64>,
    /// Parameters of all that is done.
    pub parameter_bytes: Vec<f64>,
    /// What is handed on to the rest.
    pub handed_bytes: Vec<f64>,
    /// Layers that are no part of it and cost nothing, by what they are put beside: none for inputs.
    pub left_out: Vec<(usize, Option<usize>)>,
    before: Bits,
    done: Bits,
}

impl States {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.compute_s.len()
    }

    /// Never: a network without layers is refused.
    pub fn is_empty(&self) -> bool {
        self.compute_s.is_empty()
    }

    /// Whether one can get from the first to the second.
    pub fn is_before(&self, first: usize, second: usize) -> bool {
        self.before.has(second, first)
    }

    /// How many states can follow each other.
    pub fn longest(&self) -> usize {
        let mut longest: Vec<usize> = vec![];
        for state in 0..self.len() {
            let before = numbers(self.before.row(state)).map(|earlier| longest[earlier]).max();
            longest.push(before.unwrap_or(0) + 1);
        }
        longest.last().copied().unwrap_or(0)
    }

    /// Whether a layer is done in a state.
    pub fn has_done(&self, state: usize, layer: usize) -> bool {
        self.done.has(state, layer)
    }

    /// The layers that are done in a state, ascending.
    pub fn done(&self, state: usize) -> impl Iterator<Item = usize> + '_ {
        numbers(self.done.row(state))
    }
}

/// The states of a network.
pub fn states(layers: &Layers) -> Result<States, Refusal> {
    let web = Web::new(layers)?;
    let fronts = Fronts::find(&web)?;
    let order = fronts.sorted();
    let mut position = vec![0; order.len()];
    order.iter().enumerate().for_each(|(index, &front)| position[front] = index);

    let count = order.len();
    let sum = |set: &[u64], figure: &dyn Fn(usize) -> f64| numbers(set).map(figure).sum::<f64>();
    let layer = |index: usize| &layers.layers[index];
    let (mut done, mut before) = (Bits::new(count, layers.layers.len()), Bits::new(count, count));
    for (index, &front) in order.iter().enumerate() {
        for &member in &fronts.bare[front] {
            done.join_with(index, web.earlier.row(member));
            done.insert(index, member);
        }
        for next in fronts.next[front].iter().map(|&next| position[next]) {
            before.join(next, index);
            before.insert(next, index);
        }
    }
    let last = done.row(count - 1);
    if let Some(apart) = (0..layers.layers.len()).find(|&index| web.is_kept[index] && !has(last, index)) {
        return Err(Refusal::Apart { layer: layer(apart).id.clone(), first: layer(web.first).id.clone() });
    }
    let total =
        |figure: &dyn Fn(usize) -> f64| (0..count).map(|index| sum(done.row(index), figure)).collect();
    Ok(States {
        compute_s: total(&|index| layer(index).forward_s + layer(index).backward_s),
        activation_bytes: total(&|index| layer(index).activation_bytes),
        parameter_bytes: total(&|index| layer(index).parameter_bytes),
        handed_bytes: order
            .iter()
            .map(|&front| sum(fronts.whole.row(front), &|index| layer(index).activation_bytes))
            .collect(),
        left_out: web.left_out,
        before,
        done,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::layers::Layer;

    fn network(names: &[&str], edges: &[(usize, usize)]) -> Layers {
        let layer = |(index, name): (usize, &&str)| Layer {
            id: format!("n{index}"),
            name: name.to_string(),
            forward_s: 1.0,
            backward_s: 2.0,
            activation_bytes: 10.0,
            parameter_bytes: 100.0,
        };
        Layers { layers: names.iter().enumerate().map(layer).collect(), edges: edges.to_vec() }
    }

    #[test]
    fn two_branches_can_be_done_one_by_one_or_both() {
        let layers = network(&["a", "b", "c", "d"], &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        let states = states(&layers).unwrap();
        assert_eq!(states.compute_s, [3.0, 6.0, 6.0, 9.0, 12.0]);
        // As long as one branch is open, what it begins from is handed on too; as coded, also when both are done.
        assert_eq!(states.handed_bytes, [10.0, 20.0, 20.0, 30.0, 10.0]);
        assert!(states.is_before(0, 3) && states.is_before(1, 4) && !states.is_before(1, 2));
    }

    #[test]
    fn inputs_and_what_nobody_uses_are_left_out() {
        let layers = network(&["Input0", "a", "__getitem__(1)", "b"], &[(0, 1), (1, 2), (1, 3)]);
        let states = states(&layers).unwrap();
        assert_eq!(states.compute_s, [3.0, 6.0]);
        assert_eq!(states.left_out, [(0, None), (2, Some(1))]);
    }

    #[test]
    fn refusals_name_what_is_wrong() {
        let said = |names: &[&str], edges: &[(usize, usize)]| {
            states(&network(names, edges)).unwrap_err().to_string()
        };
        let circle = said(&["a", "b", "c", "d"], &[(0, 1), (1, 2), (2, 1), (2, 3)]);
        assert_eq!(circle, "the layers n1, n2, n1 form a cycle; break it");
        assert!(said(&["a", "b"], &[(0, 0)]).contains("n0, n0"));
        assert!(said(&["a", "b"], &[(0, 7)]).contains("leaves the network"));
        assert!(said(&["a", "b"], &[]).contains("layer n1 has no connection with layer n0"));
        assert!(said(&["Input0"], &[]).contains("no layers but inputs"));
        assert!(said(&[], &[]).contains("no layers but inputs"));
    }

    #[test]
    fn branches_without_end_are_refused_not_counted() {
        let names = vec!["x"; 42];
        let edges: Vec<(usize, usize)> = (1..41).flat_map(|middle| [(0, middle), (middle, 41)]).collect();
        let refused = states(&network(&names, &edges)).unwrap_err();
        assert!(refused.to_string().contains("group the layers"), "{refused}");
    }
}
