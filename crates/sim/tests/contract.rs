//! The contract of worlds, kept by the virtual one: prompt, and when everything takes its time.

use consort_contract::stage::WHILE;
use consort_contract::{Crew, Part, Stage};
use consort_sim::workload::{Cluster, Submission, Truth};
use consort_sim::world::{Act, Delays, VirtualWorld};
use consort_types::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

mod prompt {
    use super::*;
    consort_contract::contract!(Virtual::<NOT_AT_ALL>::new(Delays::default()));
}

mod slow {
    use super::*;
    consort_contract::contract!(Virtual::<NOT_AT_ALL>::new(SLOW));
}

mod resized_in_place {
    use super::*;
    consort_contract::contract!(Virtual::<IN_PLACE>::new(SLOW));
}

mod resized_by_restart {
    use super::*;
    consort_contract::contract!(Virtual::<BY_RESTART>::new(SLOW));
}

const SLOW: Delays = Delays {
    start: Span(20_000_000),
    stop: Span(30_000_000),
    ended: Span(5_000_000),
    resize: Span(25_000_000),
};

const NOT_AT_ALL: u8 = 0;
const IN_PLACE: u8 = 1;
const BY_RESTART: u8 = 2;

/// A world of two nodes that resizes like this, and the time there.
struct Virtual<const HOW: u8> {
    cluster: Cluster,
    outside: Rc<RefCell<Outside>>,
    now: Time,
}

/// The memory of a virtual world is the outside: it is there whoever comes and goes.
struct Outside {
    world: VirtualWorld,
    /// Those who were ever heard of, and whether they were at work when last seen.
    crews: BTreeMap<AllocationId, (Crew, bool)>,
}

/// What the controller has of it.
struct Window(Rc<RefCell<Outside>>);

impl<const HOW: u8> Virtual<HOW> {
    fn new(delays: Delays) -> Self {
        let node = |name: &str| NodeSpec {
            name: name.into(),
            domains: vec![],
            devices: vec![DeviceGroup { kind: "t4".into(), count: 2, island: 0 }],
            features: vec![],
            host: consort_types::Host::NONE,
        };
        let cluster = Cluster {
            kinds: vec![KindSpec::named("t4")],
            nodes: vec![node("n1"), node("n2")],
            ..Cluster::default()
        };
        let world = VirtualWorld::new(&cluster, Arc::from(vec![])).able(Self::CAPABILITIES).delayed(delays);
        let outside = Outside { world, crews: BTreeMap::new() };
        Virtual { cluster, outside: Rc::new(RefCell::new(outside)), now: Time::ZERO }
    }
}

impl<const HOW: u8> Stage for Virtual<HOW> {
    type World = Window;
    const CAPABILITIES: Capabilities = Capabilities {
        resize: match HOW {
            IN_PLACE => Resize::InPlace,
            BY_RESTART => Resize::Restart,
            _ => Resize::No,
        },
        ..Capabilities::ALL
    };
    const FAILURE: i32 = 1;

    fn cluster(&self) -> Vec<Input> {
        self.cluster.inputs()
    }

    fn open(&mut self, desired: &[AllocationId]) -> Window {
        let mut outside = self.outside.borrow_mut();
        outside.world.reopen(self.now, &desired.iter().copied().collect());
        outside.count();
        drop(outside);
        Window(self.outside.clone())
    }

    fn prepare(&mut self, job: JobId, spec: &Arc<JobSpec>, part: Part) {
        let outside = &mut *self.outside.borrow_mut();
        outside.crews.retain(|id, _| id.ask.job != job);
        let (length, failures) = match part {
            Part::Ends | Part::CannotStart => (WHILE, 0),
            Part::Fails(attempts) => (WHILE, attempts),
            Part::Runs | Part::Saves => (Span::seconds(86_400), 0),
        };
        let truth = Truth { failures, ..Truth::runs(length) };
        let label = format!("job {job}");
        outside
            .world
            .learn(job, Submission { label, at: self.now, spec: spec.clone(), after: vec![], truth });
        if part == Part::CannotStart {
            outside.world.act_at(self.now, Act::RefuseNext(job.index() as u32, 1));
        }
    }

    fn now(&self) -> Time {
        self.now
    }

    fn pass(&mut self, world: Option<&Window>, until: Time) {
        let next = world.and_then(|world| world.next_at()).map_or(until, |at| at.min(until));
        self.now = self.now.max(next);
    }

    fn crew(&self, allocation: AllocationId) -> Option<Crew> {
        Some(self.outside.borrow().crews.get(&allocation).map_or(Crew::default(), |seen| seen.0))
    }

    fn complaints(&mut self) -> Vec<String> {
        self.outside.borrow().world.overlaps().to_vec()
    }
}

impl Outside {
    fn count(&mut self) {
        for (id, (crew, worked)) in &mut self.crews {
            let works = self.world.is_working(*id);
            crew.up = self.world.workers_of(*id);
            crew.began += if works && !*worked { crew.up } else { 0 };
            *worked = works;
        }
    }
}

impl World for Window {
    fn capabilities(&self) -> Capabilities {
        self.0.borrow().world.capabilities()
    }

    fn desire(&mut self, now: Time, changes: &[Desired]) {
        let outside = &mut *self.0.borrow_mut();
        outside.world.desire(now, changes);
        for desired in changes {
            outside.crews.entry(desired.allocation).or_default();
        }
        outside.count();
    }

    fn next_at(&self) -> Option<Time> {
        self.0.borrow().world.next_at()
    }

    fn observe(&mut self, now: Time, inputs: &mut Vec<Input>) {
        let outside = &mut *self.0.borrow_mut();
        outside.world.observe(now, inputs);
        outside.count();
    }

    fn settled(&mut self, ended: &[AllocationId]) {
        self.0.borrow_mut().world.settled(ended);
    }

    fn refused(&mut self, now: Time, input: &Input, refusal: &Refusal) {
        self.0.borrow_mut().world.refused(now, input, refusal);
    }
}
