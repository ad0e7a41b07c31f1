use super::*;
use crate::fabric::{Host, Level};

const INSIDE: Link = Link { bandwidth: 200e9, latency_s: 3e-6 };
const BETWEEN: Link = Link { bandwidth: 25e9, latency_s: 12e-6 };

pub(crate) fn host(name: &str, domains: &[&str], devices: u32, island: u32) -> Host {
    let domains = domains.iter().map(|domain| domain.to_string()).collect();
    Host { name: name.into(), domains, devices, island, kind: String::new() }
}

fn level(name: &str, bandwidth: f64, uplink: Option<f64>) -> Level {
    Level { name: name.into(), link: Link { bandwidth, latency_s: 10e-6 }, uplink }
}

/// Two leaves of two hosts of eight devices each.
pub(crate) fn fabric() -> Fabric {
    let hosts = [("a", "l1"), ("b", "l1"), ("c", "l2"), ("d", "l2")];
    Fabric {
        levels: vec![level("spine", 50e9, None), level("leaf", 100e9, Some(60e9))],
        node: Link { bandwidth: 64e9, latency_s: 5e-6 },
        island: INSIDE,
        hosts: hosts.iter().map(|(name, leaf)| host(name, &[leaf], 8, 4)).collect(),
        measured: None,
    }
}

#[test]
fn two_tiers_are_as_in_the_formula() {
    let bytes = 1_048_576.0;
    let ring = |members: f64, link: Link, bytes: f64| {
        2.0 * (members - 1.0) * (link.latency_s + bytes / members / link.bandwidth)
    };
    let near = |one: f64, other: f64| assert!((one - other).abs() < 1e-15, "{one} {other}");
    let rail = Tiers::hosts(32, 8, INSIDE, BETWEEN, Exit::Rail).unwrap();
    let time = |tiers: &Tiers, algorithm| tiers.time(Operation::AllReduce, algorithm, bytes).unwrap();
    near(time(&rail, Algorithm::Hierarchical), ring(8.0, INSIDE, bytes) + ring(4.0, BETWEEN, bytes / 8.0));
    near(time(&rail, Algorithm::Ring), ring(32.0, BETWEEN, bytes));
    let shared = Tiers::hosts(32, 8, INSIDE, BETWEEN, Exit::Shared).unwrap();
    near(time(&shared, Algorithm::Hierarchical), ring(8.0, INSIDE, bytes) + ring(4.0, BETWEEN, bytes));
    near(time(&shared, Algorithm::Ring), ring(32.0, BETWEEN, bytes));
}

#[test]
fn a_fabric_has_a_tier_for_islands_hosts_leaves_and_the_spine() {
    let tiers = Tiers::of(&fabric()).unwrap();
    let seen: Vec<_> =
        tiers.tiers.iter().map(|tier| (tier.members, tier.link.bandwidth, tier.each)).collect();
    assert_eq!(seen, [(4, 200e9, 200e9), (2, 64e9, 64e9), (2, 100e9, 12.5e9), (2, 50e9, 3.75e9)]);
    assert_eq!(tiers.ranks(), 32);
}

#[test]
fn what_is_uneven_becomes_one_tier_at_the_slowest_speed() {
    let mut uneven = fabric();
    uneven.hosts[1].domains = vec!["l2".into()];
    let tiers = Tiers::of(&uneven).unwrap();
    assert_eq!(tiers.tiers.len(), 3);
    assert_eq!((tiers.tiers[2].members, tiers.tiers[2].each), (4, 60e9 / 24.0));
    uneven.hosts[1].devices = 4;
    let tiers = Tiers::of(&uneven).unwrap();
    assert_eq!((tiers.tiers.len(), tiers.ranks()), (1, 28));
    assert_eq!(tiers.time(Operation::AllReduce, Algorithm::Hierarchical, 1e6), None);
    assert!(tiers.assumed[0].contains("unequal"));
}

#[test]
fn measured_speeds_count_as_the_ring_crosses_them() {
    let mut measured = fabric();
    let mut speeds = vec![vec![40e9; 4]; 4];
    (speeds[0][2], speeds[1][2]) = (8e9, 30e9);
    measured.measured = Some(speeds);
    let tiers = Tiers::of(&measured).unwrap();
    assert_eq!((tiers.tiers[2].link.bandwidth, tiers.tiers[2].each), (30e9, 1e9));
}

#[test]
fn what_cannot_be_priced_is_refused() {
    let said = |refused: Result<Tiers, Refusal>| refused.unwrap_err().to_string();
    assert!(said(Tiers::flat(1, INSIDE)).contains("a single rank"));
    assert!(said(Tiers::flat(8, Link { bandwidth: 0.0, ..INSIDE })).contains("above zero"));
    assert!(said(Tiers::flat(8, Link { bandwidth: -1.0, ..INSIDE })).contains("-1"));
    assert!(said(Tiers::flat(8, Link { latency_s: f64::NAN, ..INSIDE })).contains("latency"));
    assert!(said(Tiers::flat(2_000_000, INSIDE)).contains("more than 65536"));
    assert!(said(Tiers::hosts(30, 8, INSIDE, BETWEEN, Exit::Rail)).contains("a multiple of 8"));
    assert!(said(Tiers::hosts(30, 0, INSIDE, BETWEEN, Exit::Rail)).contains("hosts of 0"));
    let nobody = Fabric { hosts: vec![], ..fabric() };
    assert!(said(Tiers::of(&nobody)).contains("a single rank"));
}
