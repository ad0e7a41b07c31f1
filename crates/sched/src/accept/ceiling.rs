//! Whether a tenant's ceilings could ever let a submission run.

use super::{Verdict, refuse};
use crate::class::Class;
use crate::scheduler::Scheduler;
use consort_types::*;

impl Scheduler {
    /// Whether the stage keeps below the ceilings of its tenant, were it alone.
    pub(super) fn accept_ceiling(&self, spec: &JobSpec, stage: &StageSpec, who: &str) -> Verdict {
        let tenant = self.state.ledger.find(&spec.tenant).expect("just seen");
        if self.state.ledger.tenant(tenant).spec.quotas.is_empty() {
            return Ok(());
        }
        self.accept_host_ceiling(spec, stage, who, tenant)?;
        let needs = |role: &Role, shape: &Shape| {
            u64::from(role.count.min) * u64::from(shape.devices) * u64::from(shape.share)
        };
        for (index, role) in stage.roles.iter().enumerate() {
            // What the other roles take of a kind because they accept no other.
            let others = |kind: &str| -> u64 {
                let others = stage.roles.iter().enumerate().filter(|&(other, _)| other != index);
                let bound = others.filter(
                    |(_, role)| matches!(&role.shapes[..], [shape] if shape.kind.as_deref() == Some(kind)),
                );
                bound.map(|(_, role)| needs(role, &role.shapes[0])).sum()
            };
            let room = |shape: &Shape| {
                // Any kind: some may have no ceiling; the plan decides.
                let kind = self.state.cluster.kind_meant(shape.kind.as_ref()?)?;
                let ceiling = self.ceiling_of(tenant, kind)?;
                let room = ceiling.saturating_sub(others(shape.kind.as_ref()?));
                (needs(role, shape) > room).then_some((ceiling, room))
            };
            let Some(closed) = role.shapes.iter().map(room).collect::<Option<Vec<_>>>() else { continue };
            let (shape, (ceiling, room)) = (&role.shapes[0], closed[0]);
            let kind = shape.kind.as_deref().unwrap_or("devices");
            let shown = |thousandths: u64| thousandths as f64 / f64::from(WHOLE);
            let beside = match ceiling - room {
                0 => String::new(),
                others => format!(" beside {} in other roles", shown(others)),
            };
            let subject = format!(
                "{who} asks for {} {kind}{beside}, but the ceiling of tenant {} is {}",
                shown(needs(role, shape)),
                spec.tenant,
                shown(ceiling)
            );
            let each = u64::from(shape.devices) * u64::from(shape.share);
            let remedy = match room / each {
                0 => "raise the ceiling".into(),
                fits => format!("ask for {} or fewer, or raise the ceiling", shown(fits * each)),
            };
            return refuse(Rule::AboveCeiling, subject, remedy);
        }
        // Each role by itself may be below the ceiling, or have room on a kind that is closed to this tenant.
        let is_plain = |role: &Role| role.shapes.len() == 1 && role.shapes[0].kind.is_some();
        if stage.roles.len() == 1 && stage.roles.iter().all(is_plain) {
            return Ok(());
        }
        let class = Class::compile(&stage.roles, &self.state.cluster).expect("every name was looked at");
        if !self.fits_below_ceilings(&class, tenant) {
            let subject = format!(
                "{who} asks for more than the ceilings of tenant {} allow on this cluster",
                spec.tenant
            );
            return refuse(
                Rule::AboveCeiling,
                subject,
                "ask for fewer members or other kinds, or raise the ceiling",
            );
        }
        Ok(())
    }

    /// The most of a kind that a tenant may ever hold: of processors that are devices no more than of processors at all.
    pub(super) fn ceiling_of(&self, tenant: TenantId, kind: KindId) -> Option<u64> {
        let cluster = &self.state.cluster;
        let is_counted = self.capabilities.counts_hosts && cluster.is_processors(kind);
        let pool = cluster.pool_kind(Pool::Cpu).filter(|_| is_counted);
        let ceiling = |kind| self.state.ledger.account(tenant, kind).ceiling;
        [Some(kind), pool].into_iter().flatten().filter_map(ceiling).min()
    }

    /// Whether the devices of a shape can only be processors, and are counted as such.
    fn means_processors(&self, shape: &Shape) -> bool {
        let cluster = &self.state.cluster;
        let is_meant = match &shape.kind {
            Some(name) => cluster.kind_meant(name).is_some_and(|kind| cluster.is_processors(kind)),
            None => {
                let mut kinds = cluster.kind_ids().filter(|kind| !cluster.kinds[kind.index()].spec.by_name);
                kinds.all(|kind| cluster.is_processors(kind))
            }
        };
        is_meant && shape.devices > 0 && self.capabilities.counts_hosts
    }

    /// The same for what all roles at their least widths ask for of hosts, whatever shapes they get.
    fn accept_host_ceiling(&self, spec: &JobSpec, stage: &StageSpec, who: &str, tenant: TenantId) -> Verdict {
        for pool in Pool::ALL {
            let Some(kind) = self.state.cluster.pool_kind(pool) else { continue };
            let Some(ceiling) = self.state.ledger.account(tenant, kind).ceiling else { continue };
            let needs = |shape: &Shape| match pool {
                Pool::Cpu if self.means_processors(shape) => {
                    pool.of(&shape.host).max(u64::from(shape.devices) * u64::from(shape.share))
                }
                _ => pool.of(&shape.host),
            };
            let least = |role: &Role| {
                let each = role.shapes.iter().map(needs).min().unwrap_or(0);
                each.saturating_mul(u64::from(role.count.min))
            };
            let asked = stage.roles.iter().map(least).fold(0, u64::saturating_add);
            if asked > ceiling {
                let (asked, most) = (pool.words(asked), pool.words(ceiling));
                let subject =
                    format!("{who} asks for {asked}, but the ceiling of tenant {} is {most}", spec.tenant);
                let remedy = match ceiling {
                    0 => "leave it out, or raise the ceiling".into(),
                    _ => format!("ask for {most} or less, or raise the ceiling"),
                };
                return refuse(Rule::AboveCeiling, subject, remedy);
            }
        }
        Ok(())
    }
}
