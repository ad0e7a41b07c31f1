//! The most that can flow between two vertices, in whole numbers: Dinic (1970), without recursion.
//!
//! Links come in pairs, the second is the way back. Afterwards the side of the source is the smallest narrowest cut.

/// Vertices, and links with room.
#[derive(Clone, Debug, Default)]
pub struct Net {
    /// For each vertex the indices of the links that leave it.
    leaving: Vec<Vec<usize>>,
    /// Where each link leads.
    to: Vec<usize>,
    /// How much more it can take. A link and its way back are neighbours: `link ^ 1`.
    room: Vec<u128>,
    level: Vec<usize>,
    next: Vec<usize>,
}

const NOWHERE: usize = usize::MAX;

impl Net {
    /// So many vertices, no links.
    pub fn new(vertices: usize) -> Self {
        Self { leaving: vec![vec![]; vertices], ..Self::default() }
    }

    /// Adds a link; its room is set later.
    pub fn link(&mut self, from: usize, to: usize) {
        self.leaving[from].push(self.to.len());
        self.leaving[to].push(self.to.len() + 1);
        self.to.extend([to, from]);
        self.room.extend([0, 0]);
    }

    /// The room of the links, in the order in which they were added. Forgets what flowed.
    pub fn fill(&mut self, rooms: impl Iterator<Item = u128>) {
        for (index, room) in rooms.enumerate() {
            self.room[2 * index] = room;
            self.room[2 * index + 1] = 0;
        }
    }

    /// How much flows.
    pub fn flow(&mut self, source: usize, sink: usize) -> u128 {
        let mut total = 0;
        while self.reach(source, sink) {
            self.next.clear();
            self.next.resize(self.leaving.len(), 0);
            total += self.push(source, sink);
        }
        total
    }

    /// The vertices that can still be reached from the source, after [`Self::flow`].
    pub fn side(&self) -> Vec<bool> {
        self.level.iter().map(|&level| level != NOWHERE).collect()
    }

    /// Distances from the source over links with room; whether the sink is reached.
    fn reach(&mut self, source: usize, sink: usize) -> bool {
        self.level.clear();
        self.level.resize(self.leaving.len(), NOWHERE);
        self.level[source] = 0;
        let mut waiting = vec![source];
        let mut first = 0;
        while let Some(&vertex) = waiting.get(first) {
            first += 1;
            for &link in &self.leaving[vertex] {
                let to = self.to[link];
                if self.room[link] > 0 && self.level[to] == NOWHERE {
                    self.level[to] = self.level[vertex] + 1;
                    waiting.push(to);
                }
            }
        }
        self.level[sink] != NOWHERE
    }

    /// Fills every shortest path.
    fn push(&mut self, source: usize, sink: usize) -> u128 {
        let (mut path, mut total): (Vec<usize>, u128) = (vec![], 0);
        loop {
            let vertex = path.last().map_or(source, |&link| self.to[link]);
            if vertex == sink {
                let least = path.iter().map(|&link| self.room[link]).min().unwrap_or(0);
                for &link in &path {
                    self.room[link] -= least;
                    self.room[link ^ 1] += least;
                }
                total += least;
                let full = path.iter().position(|&link| self.room[link] == 0).unwrap_or(0);
                path.truncate(full);
                continue;
            }
            match self.leaving[vertex].get(self.next[vertex]) {
                Some(&link) if self.room[link] > 0 && self.level[self.to[link]] == self.level[vertex] + 1 => {
                    path.push(link);
                }
                Some(_) => self.next[vertex] += 1,
                None => {
                    // Nothing more gets through here: whoever leads here looks elsewhere.
                    let Some(link) = path.pop() else { return total };
                    self.next[self.to[link ^ 1]] += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flow_is_the_narrowest_cut() {
        // Two ways of 3 and 2, and a bridge between them that lets one more through.
        let mut net = Net::new(4);
        let links = [(0, 1, 3), (0, 2, 2), (1, 2, 5), (1, 3, 2), (2, 3, 3)];
        links.iter().for_each(|&(from, to, _)| net.link(from, to));
        net.fill(links.iter().map(|link| link.2));
        assert_eq!(net.flow(0, 3), 5);
        net.fill([3, 1, 5, 2, 3].into_iter());
        assert_eq!(net.flow(0, 3), 4);
        assert_eq!(net.side(), [true, false, false, false]);
    }
}
