//! Layers put together where a network has too many states: the remedy that the refusal names.
//!
//! First chains become one layer each: a layer that alone feeds another which nothing else feeds. A network of
//! branches loses most of its states by that and few of its good cuts. Where that is not enough, all layers at the same
//! distance from the beginning become one, and the network a chain. Cuts inside a group are lost, so a partition of
//! groups is a partition of the network, never a better one. What a group hands on is what its members hand to others;
//! what they hand to each other is not seen any more, and a limit on memory counts too little.

use super::states::Web;
use super::{Refusal, states};
use crate::pipeline::layers::{Layer, Layers};
use std::collections::{BTreeMap, BTreeSet};

/// A network of groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Grouped {
    /// The groups, as layers.
    pub layers: Layers,
    /// The layers of each group, ascending.
    pub members: Vec<Vec<usize>>,
}

impl Grouped {
    /// The layers of some groups, ascending.
    pub fn spread(&self, groups: &[usize]) -> Vec<usize> {
        let mut layers: Vec<usize> = groups.iter().flat_map(|&group| self.members[group].clone()).collect();
        layers.sort_unstable();
        layers
    }
}

/// The finest grouping of a network that has few enough states: each layer alone, chains, or distances.
pub fn grouped(layers: &Layers) -> Result<Grouped, Refusal> {
    let alone = || {
        Ok(Grouped {
            layers: layers.clone(),
            members: (0..layers.layers.len()).map(|index| vec![index]).collect(),
        })
    };
    let ways: [&dyn Fn() -> Result<Grouped, Refusal>; 3] =
        [&alone, &|| chains(layers), &|| distances(layers)];
    let mut refusal = Refusal::Empty;
    for way in ways {
        let found = way()?;
        match states(&found.layers) {
            Ok(_) => return Ok(found),
            Err(many @ Refusal::TooManyStates { .. }) => refusal = many,
            Err(other) => return Err(other),
        }
    }
    Err(refusal)
}

/// Chains as groups.
pub(super) fn chains(layers: &Layers) -> Result<Grouped, Refusal> {
    let web = Web::new(layers)?;
    let mut fed_by = vec![BTreeSet::new(); layers.layers.len()];
    for (from, feeds) in web.feeds.iter().enumerate() {
        feeds.iter().for_each(|&to| _ = fed_by[to].insert(from));
    }
    let mut group_of: Vec<usize> = (0..layers.layers.len()).collect();
    for &index in &web.order {
        let only = (fed_by[index].len() == 1).then(|| fed_by[index].first().copied()).flatten();
        if let Some(from) = only.filter(|&from| web.feeds[from].iter().all(|&to| to == index)) {
            group_of[index] = group_of[from];
        }
    }
    Ok(merged(layers, &group_of))
}

/// Chains, then all that is equally far from the beginning.
fn distances(layers: &Layers) -> Result<Grouped, Refusal> {
    let chains = chains(layers)?;
    let web = Web::new(&chains.layers)?;
    let mut distance = vec![0; chains.layers.layers.len()];
    for &index in &web.order {
        for &to in &web.feeds[index] {
            distance[to] = distance[to].max(distance[index] + 1);
        }
    }
    // What is left out stays alone: it is no part of any distance.
    let count = distance.len();
    let group_of: Vec<usize> =
        (0..count).map(|index| if web.is_kept[index] { distance[index] } else { count + index }).collect();
    let mut found = merged(&chains.layers, &group_of);
    found.members = found.members.iter().map(|groups| chains.spread(groups)).collect();
    Ok(found)
}

/// Layers with the same number become one, in the order of their first.
fn merged(layers: &Layers, group_of: &[usize]) -> Grouped {
    let mut place = BTreeMap::new();
    let mut members: Vec<Vec<usize>> = vec![];
    for (index, group) in group_of.iter().enumerate() {
        let place = *place.entry(group).or_insert(members.len());
        if place == members.len() {
            members.push(vec![]);
        }
        members[place].push(index);
    }
    let mut feeds = vec![false; group_of.len()];
    let mut feeds_others = vec![false; group_of.len()];
    let mut edges = BTreeSet::new();
    for &(from, to) in &layers.edges {
        feeds[from] = true;
        if group_of[from] != group_of[to] {
            feeds_others[from] = true;
            edges.insert((place[&group_of[from]], place[&group_of[to]]));
        }
    }
    let join = |members: &Vec<usize>| match members[..] {
        [alone] => layers.layers[alone].clone(),
        _ => {
            let sum = |figure: &dyn Fn(&Layer) -> f64| {
                members.iter().map(|&index| figure(&layers.layers[index])).sum()
            };
            let handing = members.iter().filter(|&&index| feeds_others[index] || !feeds[index]);
            Layer {
                id: layers.layers[members[0]].id.clone(),
                name: format!("{} layers", members.len()),
                forward_s: sum(&|layer| layer.forward_s),
                backward_s: sum(&|layer| layer.backward_s),
                activation_bytes: handing.map(|&index| layers.layers[index].activation_bytes).sum(),
                parameter_bytes: sum(&|layer| layer.parameter_bytes),
            }
        }
    };
    let layers = Layers { layers: members.iter().map(join).collect(), edges: edges.into_iter().collect() };
    Grouped { layers, members }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(count: usize, edges: Vec<(usize, usize)>) -> Layers {
        let layer = |index: usize| Layer {
            id: format!("n{index}"),
            name: "Linear".into(),
            forward_s: 1.0,
            backward_s: 2.0,
            activation_bytes: 10.0 + index as f64,
            parameter_bytes: 100.0,
        };
        Layers { layers: (0..count).map(layer).collect(), edges }
    }

    #[test]
    fn a_chain_becomes_one_layer_and_hands_on_what_its_end_does() {
        let layers = network(5, vec![(0, 1), (0, 2), (1, 3), (2, 4), (3, 4)]);
        let found = chains(&layers).unwrap();
        assert_eq!(found.members, [vec![0], vec![1, 3], vec![2], vec![4]]);
        assert_eq!(found.layers.edges, [(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(found.layers.layers[1].activation_bytes, 13.0);
        assert_eq!(found.layers.layers[1].forward_s, 2.0);
        assert_eq!(found.spread(&[1, 2]), [1, 2, 3]);
    }

    #[test]
    fn as_little_is_grouped_as_is_needed() {
        let few = network(3, vec![(0, 1), (1, 2)]);
        assert_eq!(grouped(&few).unwrap().layers, few);
        // Six branches of four layers: chains are enough. Forty branches: they are not.
        let branches = |count: usize| {
            let last = count * 4 + 1;
            let branch = |index: usize| (0..4).map(move |at| index * 4 + 1 + at);
            let edges = (0..count).flat_map(|index| {
                let ends = [(0, index * 4 + 1), (index * 4 + 4, last)];
                branch(index).zip(branch(index).skip(1)).chain(ends)
            });
            network(last + 1, edges.collect())
        };
        assert_eq!(grouped(&branches(6)).unwrap().layers.layers.len(), 8);
        let wide = grouped(&branches(40)).unwrap();
        assert_eq!(wide.layers.layers.len(), 3);
        assert_eq!(wide.spread(&[0, 1, 2]), (0..162).collect::<Vec<_>>());
    }

    #[test]
    fn a_circle_is_refused_here_too() {
        assert!(matches!(grouped(&network(2, vec![(0, 1), (1, 0)])), Err(Refusal::Cycle { .. })));
    }
}
