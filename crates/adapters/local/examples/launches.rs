//! How many whole launches of `/bin/true` a second, and what one costs in processor time.
//!
//! `cargo run --release -p consort-local --example launches -- 2000` (needs the shim:
//! `cargo build --release -p consort-local`).

use consort_agent::discover::{FoundDevice, Inventory};
use consort_agent::launch::ShimProgram;
use consort_local::{LocalWorld, Setup};
use consort_types::{
    AllocationId, AskId, Command, Desired, DeviceId, Fill, Grant, Input, JobId, JobSpec, NodeId, Placement,
    Shape, Time, WHOLE, Wanted, Work, Works, World,
};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Instant;

struct Always(Arc<JobSpec>, Arc<Work>);

impl Works for Always {
    fn find(&self, _job: JobId) -> Result<(Arc<JobSpec>, Arc<Work>), String> {
        Ok((self.0.clone(), self.1.clone()))
    }
}

fn main() {
    let count: u64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(2000);
    let at_once: u64 = std::env::args().nth(2).and_then(|word| word.parse().ok()).unwrap_or(4);
    let folder = std::env::temp_dir().join(format!("consort-launches-{}", std::process::id()));
    let (ring, bell) = channel();
    let inherited = std::env::vars().collect();
    let work = Work { inherited, ..Work::of(Command::Program(vec!["/bin/true".into()]), "/") };
    let device = FoundDevice { kind: "slice".into(), ..FoundDevice::default() };
    let program = std::env::current_exe().unwrap().parent().unwrap().join("../consort-local-shim");
    let mut world = LocalWorld::open(Setup {
        run_dir: folder.join("run"),
        record_dir: folder.join("records"),
        begun: Default::default(),
        log_dir: folder.join("logs"),
        channel: Arc::new(|_| vec![]),
        shim: ShimProgram { program, arguments: vec![], forks: true },
        containers: Default::default(),
        inventory: Arc::new(Inventory::new("here", vec![device], vec![])),
        node: NodeId(0),
        first_device: 0,
        works: Arc::new(Always(Arc::new(JobSpec::gang("true", 1, Shape::any())), Arc::new(work))),
        wake: Arc::new(move || {
            let _ = ring.send(());
        }),
    })
    .unwrap();
    let grants = vec![Grant { device: DeviceId(0), share: WHOLE, memory_bytes: 0 }];
    let placement = Placement { fills: vec![Fill { shape: 0, count: 1 }], grants };
    let begin = Instant::now();
    let (mut next, mut ended) = (0, 0);
    let mut inputs = Vec::new();
    while ended < count {
        while next < count && next - ended < at_once {
            next += 1;
            let allocation = AllocationId { ask: AskId::whole(JobId(next)), attempt: 1 };
            world.desire(
                Time::ZERO,
                &[Desired {
                    allocation,
                    wanted: Wanted::Run { placement: placement.clone(), generation: 0 },
                }],
            );
        }
        let _ = bell.recv();
        world.observe(Time::ZERO, &mut inputs);
        for input in inputs.drain(..) {
            match input {
                Input::Ended { allocation, .. } => {
                    ended += 1;
                    world.settled(&[allocation]);
                }
                Input::Started(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }
    let wall = begin.elapsed();
    println!("{count} launches in {wall:.2?}: {:.0} a second", count as f64 / wall.as_secs_f64());
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<f64> =
        stat.rsplit_once(") ").unwrap().1.split(' ').map(|field| field.parse().unwrap_or(0.0)).collect();
    // Ticks of 10 ms: our own, and those of children that were reaped.
    let each = |ticks: f64| ticks * 10.0 / count as f64;
    let (own, theirs) = (each(fields[11] + fields[12]), each(fields[13] + fields[14]));
    println!("one launch: {own:.3} ms here, {theirs:.3} ms in its shim and worker");
    drop(world);
    let _ = std::fs::remove_dir_all(folder);
}
