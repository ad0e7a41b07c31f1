//! Other widths for what runs: the members that stay keep their devices and their ranks within their role.

use super::Draft;
use crate::class::ClassShape;
use crate::node_set::NodeSet;
use crate::policy::Place;
use crate::policy::place::About;
use crate::state::cluster::{Cluster, Level};
use crate::view::AskView;
use consort_types::*;

/// The grants of a placement, role by role and member by member.
type Members<'a> = Vec<Vec<&'a [Grant]>>;

impl<'a> AskView<'a> {
    /// Its placement with only the first members of each role; nothing where it has fewer, or where members have no devices
    /// by which one could be told from the next.
    pub fn narrower(&self, counts: &[u32]) -> Option<Placement> {
        let members = self.members()?;
        let mut narrower = Placement::default();
        for ((mine, fill), &count) in members.iter().zip(self.fills()).zip(counts) {
            let kept = mine.get(..count as usize)?;
            narrower.fills.push(Fill { count, ..*fill });
            narrower.grants.extend(kept.iter().flat_map(|member| member.iter().copied()));
        }
        Some(narrower)
    }

    fn members(&self) -> Option<Members<'a>> {
        let mut rest = self.grants();
        let roles = self.class().roles.iter().zip(self.fills());
        let members = roles.map(|(role, fill)| {
            let devices = role.shapes.get(usize::from(fill.shape))?.devices as usize;
            if devices == 0 {
                return None;
            }
            let each = (0..fill.count).map(|_| {
                let hosts = rest.get(devices..)?.iter().take_while(|grant| grant.is_of_host()).count();
                let (member, behind) = rest.split_at(devices + hosts);
                rest = behind;
                Some(member)
            });
            each.collect()
        });
        members.collect()
    }
}

impl Draft<'_> {
    /// The placement of a running ask with more members: at least as many of each role as it has, of the same shapes, on
    /// the same kinds and within the same domains. Writes nothing.
    ///
    /// Simplified: where a closer level is only preferred, new members are placed as if it were not.
    pub fn find_wider(&mut self, place: &dyn Place, ask: &AskView<'_>, counts: &[u32]) -> Option<Placement> {
        let mark = self.mark();
        let found = self.wider(place, ask, counts);
        self.back_to(mark);
        found
    }

    fn wider(&mut self, place: &dyn Place, ask: &AskView<'_>, counts: &[u32]) -> Option<Placement> {
        let members = ask.members()?;
        let mut wider = Placement::default();
        let roles = ask.class().roles.iter().zip(ask.fills()).zip(counts);
        for (mine, ((role, fill), &count)) in members.iter().zip(roles) {
            wider.grants.extend(mine.iter().flat_map(|member| member.iter().copied()));
            wider.fills.push(Fill { count, ..*fill });
            let more = count.checked_sub(fill.count)?;
            if more == 0 {
                continue;
            }
            let (shape, beside) = (&role.shapes[usize::from(fill.shape)], mine.first()?.first()?.device);
            let grants = self.room_beside(place, ask, shape, (beside, more))?;
            let is_free = grants.iter().all(|grant| self.try_take(grant));
            assert!(is_free, "place opinions choose from what is free");
            wider.grants.extend(grants);
        }
        Some(wider)
    }

    /// Room for more members of a role that already has a device here.
    fn room_beside(
        &self,
        place: &dyn Place,
        ask: &AskView<'_>,
        shape: &ClassShape,
        (beside, more): (DeviceId, u32),
    ) -> Option<Vec<Grant>> {
        let cluster = &self.state.cluster;
        let kind = cluster.device(beside).kind;
        if !shape.suits(cluster, kind) {
            return None; // what is known of the kind has changed
        }
        let mut need = shape.need(cluster, self.free, kind, more, None);
        if let Some(level) = shape.within {
            let mut near = nodes_around(cluster, level, beside);
            if let Some(only) = &need.only {
                near.keep(only);
            }
            need.only = Some(near);
        }
        need.about = Some(About { view: self.view(), now: self.now, ask: Some(*ask) });
        need.counts_hosts = self.capabilities.counts_hosts;
        need.salt = self.state.seen.wrapping_mul(1 << 20) + self.moves.len() as u64;
        let grants = need.placed_by(place)?;
        let domain = |device| crate::check::domain(cluster, shape.within.unwrap_or(Level::Node), device);
        let is_near = |grant: &Grant| grant.is_of_host() || domain(grant.device) == domain(beside);
        (shape.within.is_none() || grants.iter().all(is_near)).then_some(grants)
    }
}

/// The nodes of the domain that a device is in.
fn nodes_around(cluster: &Cluster, level: Level, device: DeviceId) -> NodeSet {
    let node = cluster.device(device).node;
    let mut nodes = NodeSet::default();
    match level {
        Level::Node | Level::Island => nodes.insert(node.0),
        Level::Domain(level) => {
            let domain = cluster.nodes[node.index()].domains.get(usize::from(level));
            let members = domain.map_or(&[][..], |&domain| &cluster.domains[domain as usize].nodes);
            members.iter().for_each(|member| nodes.insert(member.0));
        }
    }
    nodes
}
