//! The daemon of a Slurm cluster: nodes and their devices are read from Slurm, work is carried out by it.

mod mark;
mod reach;
mod site;

use super::{Assembly, Halt, Host, Options};
use crate::clock::Clock;
use crate::fault::Fault;
use crate::folder::Folder;
use crate::introduce::Introduction;
use crate::journal::Journal;
use crate::mail::mailbox;
use consort_agent::discover::Declared;
use consort_sched::Scheduler;
use consort_slurm::census::{Belief, OnDrain};
use consort_slurm::cluster::{self, Condition, Found, Reading};
use consort_slurm::engine::Trouble;
use consort_slurm::engine::rest::{Place, Token};
use consort_slurm::engine::tools;
use consort_slurm::layout::Portion;
use consort_slurm::topology::Topology;
use consort_slurm::{CAPABILITIES, Setup, SlurmWorld, Terms};
use consort_types::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What is particular to a Slurm cluster.
#[derive(Clone)]
pub struct Slurm {
    /// Where work goes.
    pub partition: String,
    /// Where slurmrestd is; the command-line tools are used when absent, or when it does not answer.
    pub rest: Option<Place>,
    /// Who we are to slurmrestd.
    pub token: Token,
    /// Where the tools are.
    pub tools: tools::Place,
    /// A folder that all nodes see under this path; `slurm` in the data directory when absent.
    pub shared: Option<PathBuf>,
    /// A topology.conf; what `scontrol` says when absent.
    pub topology: Option<PathBuf>,
    /// A file that says more of kinds of device than Slurm does: their memory, and what they compute in.
    pub devices: Option<PathBuf>,
    /// Whether processors can be asked for as devices.
    pub cpus: bool,
    /// What becomes of work on a node that is drained.
    pub on_drain: OnDrain,
    /// What every job says to Slurm.
    pub terms: Terms,
    /// What jobs get of a node beside their devices, when they do not say.
    pub portion: Portion,
    /// How often all nodes and jobs are looked at, at most.
    pub poll: Duration,
    /// How long Slurm may take to start a job on devices that are free.
    pub patience: Duration,
}

/// Slurm gives a node up itself; this is only for when it never does.
const LEASE: Span = Span::seconds(600);

/// Runs the daemon of a Slurm cluster until it is asked to go.
pub fn serve(options: &Options, slurm: &Slurm, host: Arc<dyn Host>) -> Result<(), Fault> {
    let folder = Folder::take(&options.data_dir)?;
    let listener = super::listen(options.listen)?;
    let mark = mark::Mark::read(&folder)?;
    let (mut engine, mut notes) = reach::reach(slurm, &folder)?;
    let topology = reach::topology(slurm, &mut *engine, &folder, &mut notes)?;
    reach::partition(slurm, &mut *engine)?;
    let (mut journal, mut recovered) =
        Journal::open(folder.path(), options.policy.clone(), CAPABILITIES, options.accept_loss)?;
    recovered.renew_snapshot(folder.path());
    let (mut scheduler, replayed) = (recovered.scheduler, recovered.replayed);
    notes.extend(recovered.notes);
    let view = scheduler.view();
    let is_busy = view.granted().next().is_some() || view.fenced_attempts().next().is_some();
    let mark = mark.settle(&folder, engine.about(), is_busy)?;
    let nodes = engine.nodes().map_err(|trouble| unanswered(&trouble))?;
    let topology = as_known(&scheduler, topology, &mut notes);
    let reading = Reading {
        partition: slurm.partition.clone(),
        cpus: slurm.cpus,
        topology,
        kinds: kinds(slurm.devices.as_deref())?,
    };
    let found = cluster::find(&nodes, &reading);
    notes.extend(cluster::notes(&nodes, &found));
    let clock = Clock::open(folder.path(), scheduler.view().now(), is_busy)?;
    introduce(&mut scheduler, clock, &mut journal, &reading, &found, &mut notes)?;
    let (mailbox, letters) = mailbox();
    let waker = mailbox.clone();
    let shared = match &slurm.shared {
        Some(shared) => shared.clone(),
        None => folder.inside("slurm")?,
    };
    reach::readable(&shared, slurm.shared.is_none(), engine.about())?;
    let setup = Setup {
        shared: shared.clone(),
        tag: mark.tag,
        reading,
        on_drain: slurm.on_drain,
        terms: slurm.terms.clone(),
        portion: slurm.portion,
        poll: slurm.poll,
        patience: slurm.patience,
        works: Arc::new(journal.shelf()?),
        wake: Arc::new(move || waker.news()),
        beliefs: beliefs(&scheduler, &found),
    };
    let world = SlurmWorld::open(engine, setup).map_err(|trouble| unanswered(&trouble))?;
    let mut world = world;
    world.clear_all_but(scheduler.all_desires().iter().map(|desired| desired.allocation));
    let site = Arc::new(site::SlurmSite {
        board: world.board(),
        log_dir: shared.join("logs"),
        slurm: slurm.clone(),
    });
    let assembly = Assembly {
        folder,
        listener,
        journal,
        scheduler,
        clock,
        world,
        site,
        mailbox,
        letters,
        notes,
        replayed,
    };
    super::serve(options, assembly, host)
}

/// Whether a data directory is that of a Slurm cluster.
pub(super) fn is_slurms(folder: &Folder) -> bool {
    mark::Mark::is_there(folder)
}

impl Halt for SlurmWorld {
    fn halt(&mut self) {
        SlurmWorld::halt(self);
    }
}

/// Slurm did not answer, or said no.
pub(super) fn unanswered(trouble: &Trouble) -> Fault {
    match trouble {
        Trouble::Refused(words) => Fault::new(words, "look at it with `sinfo`, then try again"),
        Trouble::Away(words) | Trouble::Unclear(words) => {
            Fault::new(words, "start the daemons of Slurm, or check how it is reached, then try again")
        }
    }
}

/// What the file about devices says of their kinds.
fn kinds(path: Option<&Path>) -> Result<Vec<KindSpec>, Fault> {
    let Some(path) = path else { return Ok(vec![]) };
    let text = crate::folder::read_named(path)?;
    let declared = Declared::parse(&path.display().to_string(), &text)
        .map_err(|error| Fault::request(error.to_string(), "mend that file"))?;
    match declared == (Declared { kinds: declared.kinds.clone(), ..Declared::default() }) {
        true => Ok(declared.kinds),
        false => Err(Fault::request(
            format!("{} says what devices there are, and Slurm says that itself", path.display()),
            "leave only `kinds` in that file",
        )),
    }
}

/// Levels are set before the first node joins, and stay.
fn as_known(scheduler: &Scheduler, topology: Topology, notes: &mut Vec<String>) -> Topology {
    let view = scheduler.view();
    if view.nodes().next().is_none() || view.settings().levels == topology.levels {
        return topology;
    }
    notes.push(
        "the levels of Slurm's topology have changed since this data directory was created; they are ignored until there is a new one"
            .into(),
    );
    Topology::apart(view.settings().levels.clone())
}

/// Tells the scheduler of kinds and nodes, durably. What has changed about nodes it knows is left to the world.
fn introduce(
    scheduler: &mut Scheduler,
    clock: Clock,
    journal: &mut Journal,
    reading: &Reading,
    found: &[Found],
    notes: &mut Vec<String>,
) -> Result<(), Fault> {
    let mut introduction = Introduction::to(scheduler, clock);
    let levels = reading.topology.levels.clone();
    introduction.settings(Settings { levels, lease: LEASE, ..Settings::today() })?;
    for kind in cluster::kinds(found) {
        introduction.kind(reading.declared(kind), notes)?;
    }
    introduction.defaults()?;
    for node in found.iter().filter(|node| node.condition != Condition::Down) {
        let view = introduction.scheduler().view();
        let is_new = match view.node(&node.spec.name) {
            // What ran there when it was given up must be known to have ended: the world joins it then.
            Some(id) if view.fenced_attempts().any(|(_, nodes)| nodes.contains(&id)) => false,
            Some(id) => view.node_by_id(id).is_some_and(|known| known.fenced),
            None => true,
        };
        if is_new {
            introduction.say(Input::NodeJoined(node.spec.clone()))?;
        }
    }
    introduction.finish(journal)
}

/// What the scheduler believes of each node, so that the world says only what is new.
fn beliefs(scheduler: &Scheduler, found: &[Found]) -> Vec<(String, Belief)> {
    let view = scheduler.view();
    let belief = |node: consort_sched::NodeView<'_>| {
        let devices: Vec<_> = (0..node.devices).map(|at| view.device(DeviceId(node.first.0 + at))).collect();
        let first = devices.first().and_then(|device| device.ill);
        let ill = first.filter(|why| devices.iter().all(|device| device.ill == Some(why)));
        // One that somebody drained through us is not Slurm's to open again.
        let is_closed = |found: &&Found| {
            found.spec.name == node.spec.name && matches!(found.condition, Condition::Closed(_))
        };
        let belief = Belief {
            fenced: node.fenced,
            silent: node.suspect,
            closed: node.drained && found.iter().any(|found| is_closed(&found)),
            ill: ill.map(Into::into),
            foreign: devices.iter().map(|device| device.foreign).collect(),
            foreign_host: view.host_foreign(node.id),
        };
        (node.spec.name.clone(), belief)
    };
    view.nodes().map(belief).collect()
}
