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
use consort_agent::discover::{Declared, FoundDevice, Inventory, Sources, discover};
use consort_agent::launch::ShimProgram;
use consort_agent::progress::Faults;
use consort_agent::telemetry::{self, Telemetry};
use consort_local::{LocalWorld, Reporter, Setup};
use consort_types::*;
use std::collections::BTreeMap;
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
    let machine = Machine::settle(folder.path(), found, is_busy, &mut notes)?;
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
    let is_missing = |illness: &Illness| *illness.why == *MISSING && !is_watched(illness.device);
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
    match std::fs::read_to_string(&path) {
        Ok(text) => Declared::parse(&path.display().to_string(), &text)
            .map_err(|error| Fault::request(error.to_string(), "fix that file")),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            Ok(Declared::default())
        }
        Err(error) => Err(Fault::at(&path, &error)),
    }
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
        is_busy: bool,
        notes: &mut Vec<String>,
    ) -> Result<Self, Fault> {
        let path = folder.join("inventory.json");
        let known: Option<Inventory> =
            std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let identities = |inventory: &Inventory| -> Vec<(String, String)> {
            let pair = |device: &FoundDevice| (device.kind.clone(), device.identity.clone());
            inventory.devices().iter().map(pair).collect()
        };
        let Some(known) = known else {
            return Ok(Machine { inventory: found, missing: vec![], changed: false, path });
        };
        if identities(&known) == identities(&found) {
            return Ok(Machine { inventory: found, missing: vec![], changed: false, path });
        }
        if !is_busy {
            notes.push("the devices of this machine have changed since the last start".into());
            return Ok(Machine { inventory: found, missing: vec![], changed: true, path });
        }
        let there = identities(&found);
        let missing: Vec<Illness> = (0..)
            .zip(identities(&known))
            .filter(|(_, device)| !there.contains(device))
            .map(|(device, _)| Illness { device, why: MISSING.into() })
            .collect();
        let before = identities(&known);
        let new = there.iter().filter(|device| !before.contains(device)).count();
        if new > 0 {
            notes.push(format!("{new} new devices are added at the next start while no job runs"));
        }
        if !missing.is_empty() {
            notes.push(format!("{} devices are missing", missing.len()));
        }
        Ok(Machine { inventory: known, missing, changed: false, path })
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
        ill.retain(|_, why| **why != *MISSING); // whether they are is found out anew
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
        if ill != self::ill(introduction.scheduler()) {
            let ill = ill.into_iter().map(|(device, why)| Illness { device, why }).collect();
            introduction.say(Input::DeviceHealth { node: NodeId(0), ill })?;
        }
        introduction.finish(journal)?;
        let bytes = serde_json::to_string_pretty(&self.inventory).expect("plain data");
        folder::write_private(&self.path, &bytes)?;
        Ok(NodeId(0))
    }
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
