//! The accounts of the tenants: what they are promised, what they hold, what they have used.
//!
//! Three running sums for each tenant and kind, in thousandths of a device. Processors and memory of hosts are kinds here
//! too, counted in thousandths of a processor and in bytes:
//! * `committed`: held, or promised and about to be held. Ceilings are kept against this.
//! * `leaving`: the part of it that has been told to go. Guarantees are judged by `committed - leaving`.
//! * `held`: what is in its hands now. Never above the ceiling, but for what was only counted of hosts.
//!
//! Usage is settled when devices come back, in whole milliseconds of a device, a processor or a byte. What a tenant held
//! lately is a decayed average beside it ([`Recent`]), which is what fair shares are made of.

mod recent;

use consort_types::{KindId, TenantId, TenantSpec, Time};
pub(crate) use recent::Decay;
use recent::Recent;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
pub(crate) struct Ledger {
    pub tenants: Vec<Tenant>,
    by_name: BTreeMap<String, TenantId>,
}

#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub(crate) struct Tenant {
    pub spec: TenantSpec,
    /// By kind; grows as kinds appear.
    pub accounts: Vec<Account>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Account {
    pub guarantee: u64,
    pub ceiling: Option<u64>,
    pub held: u64,
    pub committed: u64,
    pub leaving: u64,
    /// A byte for a year is more than 64 bits can count for a large cluster.
    pub usage_ms: u128,
    recent: Recent,
}

impl Account {
    /// More is in its hands from now on. Averages are of amounts shifted right by `coarseness`, which is always the same for
    /// one kind (`Cluster::coarseness`).
    pub fn hold(&mut self, decay: Decay, now: Time, amount: u64, coarseness: u32) {
        self.recent.pass(decay, self.held >> coarseness, now);
        self.held += amount;
    }

    /// Less is in its hands from now on.
    pub fn release(&mut self, decay: Decay, now: Time, amount: u64, coarseness: u32) {
        self.recent.pass(decay, self.held >> coarseness, now);
        self.held -= amount;
    }

    /// What it held lately: thousandths of a device or a processor, or mebibytes, shifted left by [`recent::POINT`].
    pub fn recent(&self, decay: Decay, now: Time, coarseness: u32) -> u64 {
        self.recent.at(decay, self.held >> coarseness, now)
    }
}

impl Ledger {
    pub fn find(&self, name: &str) -> Option<TenantId> {
        self.by_name.get(name).copied()
    }

    pub fn tenant(&self, id: TenantId) -> &Tenant {
        &self.tenants[id.index()]
    }

    pub fn account(&self, tenant: TenantId, kind: KindId) -> Account {
        self.tenant(tenant).accounts.get(kind.index()).copied().unwrap_or_default()
    }

    pub fn account_mut(&mut self, tenant: TenantId, kind: KindId) -> &mut Account {
        let accounts = &mut self.tenants[tenant.index()].accounts;
        if accounts.len() <= kind.index() {
            accounts.resize(kind.index() + 1, Account::default());
        }
        &mut accounts[kind.index()]
    }

    /// Declares a tenant, or replaces its quotas and keeps its accounts.
    /// `kind` finds what a quota is for, and how much one of its units is in the account.
    pub fn set(&mut self, spec: &TenantSpec, kind: impl Fn(&str) -> Option<(KindId, u64)>) {
        let id = self.find(&spec.name).unwrap_or_else(|| {
            let id = TenantId(self.tenants.len() as u32);
            self.tenants.push(Tenant { spec: spec.clone(), accounts: vec![] });
            self.by_name.insert(spec.name.clone(), id);
            id
        });
        self.tenants[id.index()].spec = spec.clone();
        for account in &mut self.tenants[id.index()].accounts {
            (account.guarantee, account.ceiling) = (0, None);
        }
        for quota in &spec.quotas {
            let (kind, unit) = kind(&quota.kind).expect("accept admits only known kinds");
            let account = self.account_mut(id, kind);
            account.guarantee = u64::from(quota.guarantee) * unit;
            account.ceiling = quota.ceiling.map(|ceiling| ceiling.saturating_mul(unit));
        }
    }
}
