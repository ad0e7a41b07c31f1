//! A daemon of one job, to be killed: `consort-local-daemon FOLDER SIZE SHIM COMMAND`.
//!
//! Wants the gang to run, waits for its end, and says how it ended. Started again, it wants the same thing again.

use consort_agent::discover::{FoundDevice, Inventory};
use consort_agent::launch::ShimProgram;
use consort_local::{LocalWorld, Setup};
use consort_types::{
    AllocationId, AskId, Command, Desired, DeviceId, Fill, Grant, Input, JobId, JobSpec, NodeId, Placement,
    Shape, Time, WHOLE, Wanted, Work, Works, World,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

struct Only(Arc<JobSpec>, Arc<Work>);

impl Works for Only {
    fn find(&self, _job: JobId) -> Result<(Arc<JobSpec>, Arc<Work>), String> {
        Ok((self.0.clone(), self.1.clone()))
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, size, shim, command] = &words[..] else { panic!("four words are needed") };
    let size: u32 = size.parse().unwrap();
    let work =
        Work::of(Command::Program(vec!["/bin/sh".into(), "-c".into(), command.clone()]), folder.clone());
    let spec = JobSpec::gang("only", size, Shape::any());
    let device = |index: u32| FoundDevice {
        identity: index.to_string(),
        index,
        kind: "slice".into(),
        ..Default::default()
    };
    let mut world = LocalWorld::open(Setup {
        run_dir: Path::new(folder).join("run"),
        record_dir: Path::new(folder).join("records"),
        begun: Default::default(),
        log_dir: Path::new(folder).join("logs"),
        channel: Arc::new(|_| vec![]),
        shim: ShimProgram { program: shim.into(), arguments: vec![], forks: true },
        containers: Default::default(),
        inventory: Arc::new(Inventory::new("here", (0..size).map(device).collect(), vec![])),
        node: NodeId(0),
        first_device: 0,
        works: Arc::new(Only(Arc::new(spec), Arc::new(work))),
        wake: Arc::new(|| {}),
    })
    .unwrap();
    let allocation = AllocationId { ask: AskId::whole(JobId(1)), attempt: 1 };
    let grant = |device| Grant { device: DeviceId(device), share: WHOLE, memory_bytes: 0 };
    let placement =
        Placement { fills: vec![Fill { shape: 0, count: size }], grants: (0..size).map(grant).collect() };
    world.desire(Time::ZERO, &[Desired { allocation, wanted: Wanted::Run { placement, generation: 0 } }]);
    let mut inputs = Vec::new();
    for _ in 0..20_000 {
        world.observe(Time::ZERO, &mut inputs);
        for input in inputs.drain(..) {
            match input {
                Input::Started(_) => {}
                Input::Ended { outcome, .. } => {
                    println!("{outcome}");
                    return;
                }
                other => panic!("{other:?}"),
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("it did not end");
}
