//! The daemon of one machine: what it has is found, what it ran is found again.

use super::{Assembly, Halt, Host, Options};
use crate::clock::Clock;
use crate::fault::Fault;
use crate::folder::{self, Folder};
use crate::http::progress::channel;
use crate::introduce::Introduction;
use crate::journal::Journal;
use crate::mail::mailbox;
use crate::site::{Admits, LogFile, Reading, Site, log_files};
use consort_agent::containers::{Choice, Containers};
use consort_agent::discover::{Declared, FoundDevice, Inventory, Search, Sources, discover};
use consort_agent::launch::ShimProgram;
use consort_agent::progress::Faults;
use consort_agent::telemetry::{self, Telemetry};
use consort_local::{LocalWorld, Reporter, Setup};
use consort_types::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What is particular to one machine.
pub struct Local {
    /// How a shim is called.
    pub shim: ShimProgram,
    /// A file that declares devices; `devices.yaml` in the data directory, if it is there, when absent.
    pub devices: Option<PathBuf>,
    /// NVIDIA's management library; where the driver installs it when absent.
    pub nvidia_library: Option<PathBuf>,
    /// Which container runtime runs jobs that name an image.
    pub containers: Choice,
}

/// How often sensors are read, and devices asked how they are.
const SENSE: Duration = Duration::from_secs(2);

/// Runs the daemon of this machine until it is asked to go.
pub fn up(options: &Options, local: Local, host: Arc<dyn Host>) -> Result<(), Fault> {
    let folder = Folder::take(&options.data_dir)?;
    if super::slurm::is_slurms(&folder) {
        let what = format!("{} belongs to a Slurm cluster", folder.path().display());
        return Err(Fault::request(what, "use `consort serve --world slurm`, or give another --data-dir"));
    }
    let listener = super::listen(options.listen)?;
    let (mut journal, mut recovered) = Journal::open(
        folder.path(),
        options.policy.clone(),
        consort_local::CAPABILITIES,
        options.accept_loss,
    )?;
    recovered.renew_snapshot(folder.path());
    let (mut scheduler, mut notes, replayed) = (recovered.scheduler, recovered.notes, recovered.replayed);
    let sources = Sources {
        declared: declared(local.devices.as_deref(), folder.path())?,
        nvidia_library: local.nvidia_library.clone(),
        ..Sources::default()
    };
    let found = discover(&sources);
    notes.extend(found.notes.iter().cloned());
    notes.extend(consort_agent::shim::unenforced());
    let is_busy = scheduler.view().granted().next().is_some();
    let searches = &sources.declared.searches;
    let machine = Machine::settle(folder.path(), found, searches, is_busy, &mut notes)?;
    let clock = Clock::open(folder.path(), scheduler.view().now(), is_busy)?;
    let node = machine.introduce(&mut scheduler, clock, &mut journal, is_busy, &mut notes)?;
    let first_device = scheduler.view().node_by_id(node).map_or(0, |node| node.first.0);
    let (mailbox, letters) = mailbox();
    let (run_dir, log_dir) = (folder.inside("run")?, folder.inside("logs")?);
    let view = scheduler.view();
    let running = view.granted().filter_map(|ask| view.ask(ask)).filter(|ask| ask.running_since().is_some());
    let begun = running.map(|ask| ask.allocation()).collect();
    let waker = mailbox.clone();
    let inventory = Arc::new(machine.inventory);
    let containers = Arc::new(Containers::new(local.containers));
    let address = listener.local_addr().map_err(|error| Fault::new(error.to_string(), "try again"))?;
    let (url, token) = (format!("http://{address}"), folder::token(&options.token)?);
    let setup = Setup {
        run_dir,
        // Made by the world: whether it is there tells it whether an older version was the last.
        record_dir: folder.path().join("records"),
        begun,
        log_dir: log_dir.clone(),
        shim: local.shim,
        containers: containers.clone(),
        inventory: inventory.clone(),
        node,
        first_device,
        works: Arc::new(journal.shelf()?),
        channel: Arc::new(move |allocation| channel(&url, &token, allocation)),
        wake: Arc::new(move || waker.news()),
    };
    let world = LocalWorld::open(setup);
    let mut world = world.map_err(|error| Fault::new(error.to_string(), "give this user access to it"))?;
    world.clear_all_but(scheduler.all_desires().iter().map(|desired| desired.allocation));
    // What can be watched is well again once it answers; what cannot stays missing until the next start.
    let is_watched = |position: u32| {
        inventory.devices().get(position as usize).is_some_and(|device| device.vendor == "nvidia")
    };
    let is_missing = |illness: &Illness| {
        *illness.why == *UNDECLARED || (*illness.why == *MISSING && !is_watched(illness.device))
    };
    let known = ill(&scheduler).into_iter().map(|(device, why)| Illness { device, why });
    let (missing, known): (Vec<Illness>, Vec<Illness>) = known.partition(is_missing);
    world.keep_ill(missing);
    world.watch_health(&inventory, local.nvidia_library.clone(), SENSE, known);
    let site = Arc::new(LocalSite {
        log_dir,
        containers,
        reporter: world.reporter(),
        faults: world.faults(),
        readings: Sensors::start(&inventory, local.nvidia_library),
        inventory,
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

/// What is looked for, and what is declared.
fn declared(named: Option<&Path>, folder: &Path) -> Result<Declared, Fault> {
    let path = named.map_or_else(|| folder.join("devices.yaml"), Path::to_path_buf);
    let text = match named {
        Some(_) => folder::read_named(&path)?,
        None => match folder::read(&path)? {
            Some(bytes) => folder::text(&path, bytes)?,
            None => return Ok(Declared::default()),
        },
    };
    Declared::parse(&path.display().to_string(), &text)
        .map_err(|error| Fault::request(error.to_string(), "fix that file"))
}

impl Halt for LocalWorld {
    fn halt(&mut self) {
        LocalWorld::halt(self);
    }
}

/// The machine as the scheduler is going to know it.
struct Machine {
    inventory: Inventory,
    /// Devices that were there when the work that still runs was started, and are not any more.
    missing: Vec<Illness>,
    /// Positions of devices that are described no more, by `devices.yaml` or because it is not searched for them: that
    /// says nothing about the hardware, so work that holds them goes on, and nothing new starts there.
    undeclared: Vec<u32>,
    /// Whether the devices are others than last time.
    changed: bool,
    path: PathBuf,
}

impl Machine {
    /// Compares what was found with what was there last time. While work runs, positions keep their meaning: what is
    /// gone is ill, what is new waits.
    fn settle(
        folder: &Path,
        found: Inventory,
        searches: &[Search],
        is_busy: bool,
        notes: &mut Vec<String>,
    ) -> Result<Self, Fault> {
        let path = folder.join("inventory.json");
        let known: Option<Inventory> =
            folder::read(&path)?.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let identities = |inventory: &Inventory| -> Vec<(String, String)> {
            let pair = |device: &FoundDevice| (device.kind.clone(), device.identity.clone());
            inventory.devices().iter().map(pair).collect()
        };
        let (missing, undeclared) = (vec![], vec![]);
        let known = match known {
            Some(known) if identities(&known) != identities(&found) => known,
            _ => return Ok(Machine { inventory: found, missing, undeclared, changed: false, path }),
        };
        if !is_busy {
            notes.push("the devices of this machine have changed since the last start".into());
            return Ok(Machine { inventory: found, missing, undeclared, changed: true, path });
        }
        let there = identities(&found);
        let is_gone = |(position, _): &(u32, _)| !there.contains(&identities(&known)[*position as usize]);
        let is_described_away = |(_, device): &(u32, &FoundDevice)| device.is_described_away(searches);
        let (undeclared, missing): (Vec<_>, Vec<_>) =
            (0..).zip(known.devices()).filter(is_gone).partition(is_described_away);
        let undeclared = undeclared.into_iter().map(|(position, _)| position).collect();
        let ill = |(device, _): (u32, &FoundDevice)| Illness { device, why: MISSING.into() };
        let missing: Vec<Illness> = missing.into_iter().map(ill).collect();
        let before = identities(&known);
        let new = there.iter().filter(|device| !before.contains(device)).count();
        if new > 0 {
            notes.push(format!("{new} new devices are added at the next start while no job runs"));
        }
        if !missing.is_empty() {
            notes.push(format!("{} devices are missing", missing.len()));
        }
        Ok(Machine { inventory: known, missing, undeclared, changed: false, path })
    }

    /// Tells the scheduler, durably.
    fn introduce(
        &self,
        scheduler: &mut consort_sched::Scheduler,
        clock: Clock,
        journal: &mut Journal,
        is_busy: bool,
        notes: &mut Vec<String>,
    ) -> Result<NodeId, Fault> {
        let mut introduction = Introduction::to(scheduler, clock);
        let settings = Settings {
            island_link: Some("nvlink".into()),
            node_link: Some("pcie".into()),
            ..Settings::today()
        };
        introduction.settings(settings)?;
        let mut spec = self.inventory.node_spec();
        // There is one machine, whatever it calls itself today.
        let first = introduction.scheduler().view().nodes().next().map(|node| node.spec.clone());
        if let Some(first) = &first {
            spec.name.clone_from(&first.name);
            // A kernel keeps a little more or less for itself at every start.
            if spec.host.memory_bytes.abs_diff(first.host.memory_bytes) < first.host.memory_bytes / 50 {
                spec.host.memory_bytes = first.host.memory_bytes;
            }
        }
        let is_other = first.as_ref().is_some_and(|first| *first != spec);
        let mut ill = ill(introduction.scheduler());
        ill.retain(|_, why| ![MISSING, UNDECLARED].contains(&&**why)); // whether they are is found out anew
        match first {
            // Work that runs is not ended because somebody described the machine anew.
            Some(first) if is_busy && is_other => {
                notes.push("the description of this machine has changed; the change takes effect at the next start while no job runs".into());
                ill.extend(misfits(&first, &spec));
            }
            Some(_) if is_other || self.changed => {
                introduction.say(Input::NodeFenced(NodeId(0)))?;
                ill.clear();
            }
            _ => {}
        }
        for kind in self.inventory.kinds() {
            introduction.kind(kind, notes)?;
        }
        introduction.defaults()?;
        let fenced = introduction.scheduler().view().nodes().next().is_none_or(|node| node.fenced);
        if fenced {
            introduction.say(Input::NodeJoined(spec))?;
        }
        for missing in &self.missing {
            ill.insert(missing.device, missing.why.clone());
        }
        let shares = self.set_apart(introduction.scheduler(), &mut ill, notes);
        let (before, host) = foreign(introduction.scheduler());
        if shares != before {
            introduction.say(Input::ForeignUse { node: NodeId(0), shares, host })?;
        }
        if ill != self::ill(introduction.scheduler()) {
            let ill = ill.into_iter().map(|(device, why)| Illness { device, why }).collect();
            introduction.say(Input::DeviceHealth { node: NodeId(0), ill })?;
        }
        introduction.finish(journal)?;
        let bytes = serde_json::to_string_pretty(&self.inventory).expect("plain data");
        folder::write_private(&self.path, &bytes)?;
        Ok(NodeId(0))
    }

    /// Keeps new work from devices that are described no more: those that no job holds are unhealthy; of those that one
    /// holds the rest is in use by others, because an unhealthy device would end that job. Returns what is, by position.
    fn set_apart(
        &self,
        scheduler: &consort_sched::Scheduler,
        ill: &mut BTreeMap<u32, Arc<str>>,
        notes: &mut Vec<String>,
    ) -> Vec<u16> {
        let view = scheduler.view();
        let Some(node) = view.nodes().next() else { return vec![] };
        let mut shares = vec![0; node.devices as usize];
        let mut held = BTreeSet::new();
        for &position in &self.undeclared {
            let device = DeviceId(node.first.0 + position);
            if position >= node.devices {
                continue;
            } else if view.device(device).held > 0 {
                shares[position as usize] = WHOLE;
                held.insert(device);
            } else {
                ill.insert(position, UNDECLARED.into());
            }
        }
        if !self.undeclared.is_empty() {
            let are = if self.undeclared.len() == 1 { "device is" } else { "devices are" };
            let jobs = holders(scheduler, &held);
            let jobs = if jobs.is_empty() {
                jobs
            } else {
                format!("; {jobs} until the end, and no other job starts there")
            };
            notes.push(format!("{} {are} no longer declared{jobs}", self.undeclared.len()));
        }
        shares
    }
}

/// `job 3 (train) and 2 others keep theirs`, of jobs that hold any of these devices.
fn holders(scheduler: &consort_sched::Scheduler, devices: &BTreeSet<DeviceId>) -> String {
    let view = scheduler.view();
    let asks = view.granted().filter_map(|id| view.ask(id));
    let jobs: BTreeMap<JobId, String> = asks
        .filter(|ask| ask.grants().iter().any(|grant| devices.contains(&grant.device)))
        .map(|ask| (ask.id().job, ask.spec().name.clone()))
        .collect();
    let named: Vec<String> = jobs.iter().take(3).map(|(id, name)| format!("job {id} ({name})")).collect();
    let keep = if jobs.len() == 1 { "keeps its devices" } else { "keep their devices" };
    match (jobs.len(), jobs.len() - named.len()) {
        (0, _) => String::new(),
        (_, 0) => format!("{} {keep}", named.join(", ")),
        (_, more) => format!("{} and {more} more {keep}", named.join(", ")),
    }
}

/// What the scheduler knows to be in use by others, by position, and of the host.
fn foreign(scheduler: &consort_sched::Scheduler) -> (Vec<u16>, consort_types::Host) {
    let view = scheduler.view();
    let Some(node) = view.nodes().next() else { return (vec![], consort_types::Host::NONE) };
    let devices = (0..node.devices).map(|position| view.device(DeviceId(node.first.0 + position)));
    (devices.map(|device| device.foreign).collect(), view.host_foreign(node.id))
}

/// Devices that the scheduler knows to be ill, by position.
fn ill(scheduler: &consort_sched::Scheduler) -> BTreeMap<u32, Arc<str>> {
    let view = scheduler.view();
    let Some(node) = view.nodes().next() else { return BTreeMap::new() };
    let why = |position: u32| view.device(DeviceId(node.first.0 + position)).ill;
    (0..node.devices).filter_map(|position| Some((position, why(position)?.into()))).collect()
}

/// What is said of a device that was there and is not any more.
const MISSING: &str = "it is no longer there";

/// What is said of a device that nobody declares any more.
const UNDECLARED: &str = "it is no longer declared";

/// Positions at which the machine no longer has what it was said to have.
fn misfits(said: &NodeSpec, found: &NodeSpec) -> Vec<(u32, Arc<str>)> {
    let kinds = |spec: &NodeSpec| -> Vec<String> {
        spec.devices.iter().flat_map(|group| vec![group.kind.clone(); group.count as usize]).collect()
    };
    let found = kinds(found);
    let is_there = |(position, kind): &(u32, String)| found.get(*position as usize) == Some(kind);
    let missing = (0..).zip(kinds(said)).filter(|pair| !is_there(pair));
    missing.map(|(position, _)| (position, MISSING.into())).collect()
}

/// What this machine shows.
struct LocalSite {
    log_dir: PathBuf,
    containers: Arc<Containers>,
    inventory: Arc<Inventory>,
    readings: Sensors,
    reporter: Reporter,
    faults: Faults,
}

/// The last readings of all sensors, kept fresh by a thread where there are any.
struct Sensors(Arc<Mutex<BTreeMap<u32, telemetry::Reading>>>);

impl Sensors {
    fn start(inventory: &Inventory, library: Option<PathBuf>) -> Self {
        let readings = Arc::new(Mutex::new(BTreeMap::new()));
        let has_sensors = inventory.devices().iter().any(|device| device.vendor == "nvidia");
        if has_sensors {
            let (kept, inventory) = (Arc::downgrade(&readings), inventory.clone());
            let sense = move || {
                let telemetry = Telemetry::open(&inventory, library.as_deref());
                while let Some(kept) = kept.upgrade() {
                    let sample =
                        telemetry.sample().into_iter().map(|reading| (reading.device, reading)).collect();
                    *kept.lock().unwrap_or_else(PoisonError::into_inner) = sample;
                    drop(kept);
                    std::thread::sleep(SENSE);
                }
            };
            // Without it the sensors say nothing, which is what the readers then see.
            let _ = std::thread::Builder::new().name("sensors".into()).spawn(sense);
        }
        Self(readings)
    }
}

impl Site for LocalSite {
    fn world(&self) -> &'static str {
        "local"
    }

    fn reading(&self, _node: &str, position: u32) -> Reading {
        let device = self.inventory.devices().get(position as usize);
        let uuid = device.map(|device| device.identity.clone());
        let readings = self.readings.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(read) = readings.get(&position) else { return Reading { uuid, ..Reading::default() } };
        Reading {
            uuid,
            temperature_c: read.temperature_c.map(f64::from),
            power_w: read.power_mw.map(|power| power as f64 / 1000.0),
            utilization_percent: read.utilisation_percent.map(f64::from),
            memory_used_bytes: read.memory_used_bytes,
        }
    }

    fn logs(&self, job: JobId, spec: &JobSpec, work: &Work, wanted: &Admits<'_>) -> Vec<LogFile> {
        log_files(&self.log_dir, job, spec, work, wanted)
    }

    fn attempt(&self, allocation: AllocationId) -> Option<String> {
        self.faults.of(allocation)
    }

    fn report(&self, allocation: AllocationId, sample: Sample) {
        self.reporter.report(allocation, sample);
    }

    fn image_refusal(&self) -> Option<String> {
        self.containers.find().err().map(|why| format!("`image` cannot be run: {why}"))
    }

    fn probe(&self) -> Vec<(String, String)> {
        let mut lines = vec![("host".to_owned(), self.inventory.hostname.clone())];
        for kind in self.inventory.kinds() {
            let count = self.inventory.devices().iter().filter(|device| device.kind == kind.name).count();
            let vendor = if kind.vendor.is_empty() { String::new() } else { format!(" by {}", kind.vendor) };
            lines.push((kind.name, format!("{count}{vendor}")));
        }
        lines.push((
            "containers".to_owned(),
            self.containers.find().map_or_else(|why| why, |found| found.program.display().to_string()),
        ));
        lines.extend(self.inventory.notes.iter().map(|note| ("note".to_owned(), note.clone())));
        lines
    }
}
