//! Why there is no room for an ask, and what is in the way: ceilings, holders, places out of reach.

use crate::class::ClassRole;
use crate::draft::{Choice, Draft, room};
use crate::holders::{Holders, Rank, of_each};
use crate::scheduler::Scheduler;
use crate::view::{AskView, View};
use consort_types::*;
use std::collections::{BTreeMap, BTreeSet};

/// Whether no choice of kinds for the roles keeps the tenant below its ceilings, were there room for all; then the first
/// kind or pool that is closed is the reason.
pub(crate) fn ceiling(draft: &Draft<'_>, ask: &AskView<'_>) -> Option<Reason> {
    if !draft.is_limited(ask.tenant()) {
        return None;
    }
    let view = draft.view();
    let mut closed = None;
    let mut over = |kind: KindId, needs: u64| {
        let in_use = draft.standing(ask.tenant(), kind);
        let ceiling = draft.ceiling_of(ask.tenant(), kind);
        // Whatever is held: a job is not kept from starting by a ceiling on what it does not ask for.
        let ceiling = ceiling.filter(|&ceiling| needs > 0 && in_use.saturating_add(needs) > ceiling);
        if let Some(ceiling) = ceiling {
            closed.get_or_insert((kind, ceiling, in_use, needs));
        }
        ceiling.is_some()
    };
    let roles = draft.choices(ask);
    if some_choice_is_open(&roles, &mut BTreeMap::new(), &mut over, &mut room::TRIES.clone()) {
        return None;
    }
    let tenant = ask.spec().tenant.clone();
    closed.map(|(kind, ceiling, in_use, needs)| match draft.state.cluster.pool_of(kind) {
        Some(pool) => Reason::HostCeiling { tenant, pool, ceiling, in_use, needs },
        None => {
            let (kind, ceiling) = (kind_name(&view, kind), (ceiling / 1000) as u32);
            Reason::Ceiling { tenant, kind, ceiling, in_use, needs }
        }
    })
}

/// Whether the roles can choose kinds such that none is over, given what is `taken` of each. Counts its tries; when they
/// run out the answer is yes, because then nobody has found a ceiling in the way.
fn some_choice_is_open(
    roles: &[Vec<Choice>],
    taken: &mut BTreeMap<KindId, u64>,
    over: &mut impl FnMut(KindId, u64) -> bool,
    tries: &mut u32,
) -> bool {
    let Some((options, rest)) = roles.split_first() else { return true };
    for choice in options {
        if *tries == 0 {
            return true;
        }
        *tries -= 1;
        let with = |(kind, needs): (KindId, u64)| {
            (kind, needs.saturating_add(taken.get(&kind).copied().unwrap_or(0)))
        };
        let with: Vec<(KindId, u64)> = choice.needs().map(with).collect();
        if with.iter().any(|&(kind, needs)| over(kind, needs)) {
            continue;
        }
        let before = taken.clone();
        taken.extend(with);
        if some_choice_is_open(rest, taken, over, tries) {
            return true;
        }
        *taken = before;
    }
    false
}

/// What the other roles take of a kind because they accept no other.
fn unavoidable(roles: &[Vec<(KindId, u64)>], but: usize, kind: KindId) -> u64 {
    let others = roles.iter().enumerate().filter(|&(role, _)| role != but);
    let only = |options: &Vec<(KindId, u64)>| match options[..] {
        [(only, needs)] if only == kind => needs,
        _ => 0,
    };
    others.map(|(_, options)| only(options)).sum()
}

fn kind_name(view: &View<'_>, kind: KindId) -> String {
    view.kinds().find(|(id, _)| *id == kind).map_or(String::new(), |(_, spec)| spec.name.clone())
}

/// What is missing, and who has it.
pub(crate) fn no_room<'a>(draft: &mut Draft<'a>, ask: &AskView<'a>) -> Reason {
    let (view, roles) = (draft.view(), draft.needs_by_role(ask));
    let kinds: BTreeSet<KindId> = roles.iter().flatten().map(|need| need.0).collect();
    let enough = draft.has_enough(ask, |role, kind| unavoidable(&roles, role, kind));
    let hosted = ask.class().shapes().any(|shape| !shape.host.is_none());
    let (ranks, count) = holders(draft, ask, hosted && enough);
    let named = ranks.iter().filter_map(|rank| {
        let (name, until) = (view.job(rank.job)?.spec().name.clone(), rank.until);
        let until = (!rank.is_unknown).then_some(until);
        Some(Holder { job: rank.job, name, devices: rank.devices, until })
    });
    let holders: Vec<Holder> = named.collect();
    let others = (count - holders.len()) as u32;
    let stage = &ask.spec().stages[usize::from(ask.id().stage)];
    let (closed, foreign, ill) = draft.out_of_reach(ask);
    Reason::NoRoom {
        needs: stage.roles.iter().zip(&ask.class().roles).map(in_words).collect::<Vec<_>>().join(" and "),
        free: kinds.iter().map(|&kind| (kind_name(&view, kind), draft.free_for(ask, kind))).collect(),
        closed,
        foreign,
        ill,
        scattered: enough,
        hosted,
        nearest: if hosted && enough { nearest_host(draft, ask) } else { None },
        holders,
        others,
        most: ask.class().roles.iter().find_map(|role| Scheduler::too_few(&draft.state.cluster, role)),
    }
}

/// Of the nodes that have the devices of one member, the one whose host lacks least of what the member asks for, and what
/// is left there of what is short.
fn nearest_host(draft: &Draft<'_>, ask: &AskView<'_>) -> Option<(String, String)> {
    let cluster = &draft.state.cluster;
    let shape = ask.class().shapes().find(|shape| shape.devices > 0 && !shape.host.is_none())?;
    let needs = shape.kinds(cluster).map(|kind| shape.need(cluster, draft.free, kind, 1, None));
    let nodes = needs.flat_map(|need| {
        let room = |node: &NodeId| need.has_devices(*node);
        need.nodes().filter(room).map(|node| (node, need.host_left(node))).collect::<Vec<_>>()
    });
    let short = |node: NodeId, left: Host| {
        let has = move |pool: &Pool| cluster.nodes[node.index()].pool(*pool).is_some();
        let is_short = move |pool: &Pool| has(pool) && pool.of(&left) < pool.of(&shape.host);
        Pool::ALL.into_iter().filter(is_short)
    };
    let lacking = |node: NodeId, left: Host| {
        let part = |pool: Pool| u128::from(pool.of(&left)) * 1000 / u128::from(pool.of(&shape.host));
        short(node, left).map(part).fold((0, 0), |(pools, lacks), part| (pools + 1, lacks + 1000 - part))
    };
    let (node, left) = nodes.min_by_key(|&(node, left)| (lacking(node, left), node))?;
    let words = short(node, left).map(|pool| pool.words(pool.of(&left))).collect::<Vec<_>>().join(" and ");
    (!words.is_empty()).then(|| (cluster.nodes[node.index()].spec.name.clone(), words))
}

/// Who holds what an ask could use, and how many there are in all. Where devices are not what is short, those count that
/// hold a part of a host. A request that insists on features is compared with every device by itself.
fn holders<'a>(draft: &mut Draft<'a>, ask: &AskView<'a>, of_hosts: bool) -> (Vec<Rank>, usize) {
    let (view, now, state) = (draft.view(), draft.now(), draft.state);
    if !of_hosts && draft.is_picky(ask) {
        let mut ranks = of_each(&view, view.granted(), now, draft.usable_by(ask));
        ranks.sort_unstable();
        let count = ranks.len();
        ranks.truncate(TOLD);
        return (ranks, count);
    }
    let usable = draft.usable_kinds(ask);
    let is_wanted =
        |kind: KindId| if of_hosts { state.cluster.pool_of(kind).is_some() } else { usable[kind.index()] };
    match &mut draft.holders {
        Some(holders) => holders.of(state, now, is_wanted, TOLD),
        None => Holders::default().of(state, now, is_wanted, TOLD),
    }
}

/// So many holders are told by name.
const TOLD: usize = 8;

/// `16 h200`, `2 x 8 h200 within nvlink`, `4 h200 with ib and nvme`, `0.5 of a t4`, `4 to 8 a100 or 8 v100`.
/// Memory is that of the class, which may ask for more than the job did: what it ran out of.
fn in_words((role, class): (&Role, &ClassRole)) -> String {
    let count = match role.count {
        Count { min, max } if min == max => min.to_string(),
        Count { min, max } => format!("{min} to {max}"),
    };
    let shapes = role.shapes.iter().zip(&class.shapes).map(|(shape, class)| {
        let any = if count == "1" && shape.devices == 1 { "device" } else { "devices" };
        let kind = shape.kind.as_deref().unwrap_or(any);
        let what = match (shape.devices, shape.share, count.as_str()) {
            (0, _, "1") => "1 seat".into(),
            (0, ..) => format!("{count} workers"),
            (1, WHOLE, _) => format!("{count} {kind}"),
            (1, share, "1") => format!("{} of a {kind}", f64::from(share) / f64::from(WHOLE)),
            (1, share, _) => format!("{count} x {} of a {kind}", f64::from(share) / f64::from(WHOLE)),
            (devices, ..) => format!("{count} x {devices} {kind}"),
        };
        let memory = match class.memory_bytes {
            0 => None,
            bytes if bytes > shape.memory_bytes => Some(format!("more than {}", memory_words(bytes - 1))),
            bytes => Some(memory_words(bytes)),
        };
        let host = (!shape.host.is_none()).then(|| shape.host.to_string());
        let more: Vec<String> =
            memory.into_iter().chain(host).chain(shape.features.iter().cloned()).collect();
        let more = if more.is_empty() { String::new() } else { format!(" with {}", more.join(" and ")) };
        let formats: Vec<&str> = shape.precisions.iter().map(|precision| precision.name()).collect();
        let formats = if formats.is_empty() {
            String::new()
        } else {
            format!(" that supports {}", formats.join(" or "))
        };
        let within = shape.within.as_ref().map(|within| format!(" within {within}")).unwrap_or_default();
        format!("{what}{more}{formats}{within}")
    });
    shapes.collect::<Vec<_>>().join(" or ")
}
