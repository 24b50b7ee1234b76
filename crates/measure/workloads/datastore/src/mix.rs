//! `datastore.mix`: reads and writes of single entities by several clients, as YCSB's workloads A to F mix them.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use plumb_model::{
    AuditClass, Better, CurveKind, Description, Flag, FlagKind, Metric, Parameter, Ready, Value,
};
use plumb_protocol::{
    ArrivalSchedule, Arrivals, Failure, Held, SplitMix64, Start, StartError, StartedWorkload,
    Workload, now_ns,
};
use plumb_units::whole_size;
use plumb_workload_ends::cpu_time::{self, CpuTimes};
use plumb_workload_ends::timed_threads::{SampleSums, ThreadJob, TimedResult, TimedThreads};
use plumb_workload_kit::declare::{
    self, between, bytes, choice, curve, distribution, headline, integer, rate, rate_or,
    reported_share, text, work, workload,
};
use plumb_workload_kit::filesystem::Filesystem;

use crate::client::{FIRST_GENERATION, MixClient, OpenedClients};
use crate::clients;
use crate::contents::{Contents, STAMP_BYTES, Stamp};
use crate::engine::{DIFFERENT, Durability, EngineKind, MISSING, PhaseError, STALE};
use crate::keys::{KeyChooser, KeyOrder};
use crate::server::{self, ServerAddress};

/// The most clients.
const MOST_CLIENTS: usize = 256;
/// The most entities that are loaded; as many more may be inserted.
const MOST_ENTITIES: usize = 5_000_000;
/// The longest scan; lengths are uniform from 1, as in YCSB.
const LONGEST_SCAN: usize = 100;
/// Room for the scans of all clients, whose entities are checked only when the scan has ended.
const MOST_SCANNED_BYTES: usize = 1 << 30;

/// The distributions of reads and of writes next to that of all operations.
const KINDS: [&str; 2] = ["read_latency", "write_latency"];

/// What is reported next to it, behind the CPU time of both ends.
const VALUES: [&str; 4] = [cpu_time::NAMES[0], cpu_time::NAMES[1], "all_waiting", "in_time"];

/// The workload `datastore.mix`: its parameters and metrics, and how it starts.
pub(super) struct Mixed;

impl Workload for Mixed {
    fn describe(&self) -> Description {
        Description {
            parameters: parameters(),
            metrics: metrics(),
            timeout_s: Some(declare::LONG_TIMEOUT_S),
            audit_class: Some(AuditClass::Scheduler),
            fixture: Some(["engine", "durability", "url"].map(str::to_owned).to_vec()),
            ..workload("datastore.mix", "reads and writes single entities, as YCSB mixes them")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("mix.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        server::prepare(start)
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let (kind, durability) = EngineKind::of(start)?;
        let mix = OperationMix::of(start, kind)?;
        let entities = start.integer("entities");
        let record_bytes = start.size("bytes");
        let server = ServerAddress::of(start, kind)?;
        let is_ours = server.as_ref().is_none_or(ServerAddress::is_ours);
        if is_ours {
            check_room(kind, start, entities)?;
        }
        let count = start.size("clients").max(1);
        if (count as u64) > entities {
            return Err(StartError::unsupported(
                format!(
                    "clients={count} is more than entities={entities}: each client needs at least one entity that only it \
                     writes"
                ),
                format!("set `entities` to {count} or more"),
            ));
        }
        let scanned_bytes = mix.check_scans(count, record_bytes)?;
        let opened = clients::open(
            (kind, durability),
            Path::new(&start.dir),
            server.as_ref(),
            count,
            record_bytes,
        )?;
        let OpenedClients { mut clients, component, version } = opened;
        let foreign = server.clone().filter(|_| !is_ours).map(|server| (kind, server));
        let state = Arc::new(MixState::new(entities, count, foreign));
        let mut contents = Contents::new(record_bytes, 1, start.seed);
        if let Some(first) = clients.first_mut() {
            let failed = |error: PhaseError| error.of_phase("datastore.mix", "load");
            first.load(entities, &mut contents).map_err(failed)?;
        }
        let chooser = KeyChooser::new(mix.order(start), entities);
        let jobs = clients.into_iter().zip(0..).map(|(client, number)| MixJob {
            client,
            number,
            mix,
            chooser: chooser.clone(),
            random: SplitMix64::new(start.seed ^ (number << 32)),
            contents: contents.clone(),
            found: Vec::with_capacity(scanned_bytes.max(2 * record_bytes)),
            scanned: Vec::with_capacity(LONGEST_SCAN),
            before: Vec::with_capacity(LONGEST_SCAN),
            state: Arc::clone(&state),
        });
        let waiting: Mutex<Vec<MixJob>> = Mutex::new(jobs.collect());
        let next = move || MixThread(waiting.lock().unwrap_or_else(PoisonError::into_inner).pop());
        // The first process is known; those of PostgreSQL that serve clients are there by now.
        let others = server.iter().flat_map(ServerAddress::processes).skip(1).collect();
        let mut cpus = CpuTimes::of(start).and_of(Vec::new(), others);
        let notes = [format!("keys: {}", mix.order(start).word()), mix.words().to_owned()];
        let in_memory = Filesystem::of(Path::new(&start.dir)).is_ok_and(|found| found.in_memory);
        let mut flags = Vec::new();
        if in_memory && is_ours && durability == Durability::Entity {
            let why = "the target directory is in memory, where syncs are free";
            flags.push(Flag::new(FlagKind::Tmpfs, why));
        }
        let ready = Ready {
            work: work(&[("rate", 1)]),
            flags,
            notes: notes.into_iter().chain(cpus.note()).collect(),
            versions: [(component.to_owned(), version)].into(),
            without: without(&cpus, mix),
            ..Ready::default()
        };
        let names = &VALUES[cpus.lacking()..];
        let threads = TimedThreads::start(count, start, next, cpus, (names, report))?
            .on_schedule(schedule(start)?)
            .with_kinds(&KINDS[..mix.kinds()], |one| usize::from(one[1] > 0));
        let threads = if kind.is_embedded() { threads.without_server() } else { threads };
        Ok(StartedWorkload { instance: Box::new(threads), ready })
    }
}

fn parameters() -> Vec<Parameter> {
    vec![
        choice(
            "mix",
            &["a", "b", "c", "d", "e", "f"],
            "a: half updates; b: 5 % updates; c: only reads; d: reads of recent entities, 5 % inserts; e: scans, 5 % \
             inserts; f: half reads, half read-modify-writes",
        ),
        choice(
            "keys",
            &["default", "zipf", "uniform", "latest"],
            "distribution of the keys; default: latest for mix d, zipf for all others",
        ),
        curve(
            CurveKind::Knee,
            between(1, MOST_CLIENTS, integer("clients", "clients", 1, "clients, one thread each")),
        ),
        rate_or(
            "rate",
            "operations",
            &["closed"],
            "operations due per second, such as 2000/s, made by all clients; closed: each client begins when its last \
             operation has ended",
        ),
        choice(
            "arrivals",
            &["poisson", "fixed"],
            "at a rate, due times are random (Poisson) or equally spaced",
        ),
        between(
            1,
            MOST_ENTITIES,
            integer("entities", "entities", 10_000, "entities that are there in the beginning"),
        ),
        between(STAMP_BYTES, 1 << 20, bytes("bytes", 1000, "size of one entity")),
        choice(
            "engine",
            &["sqlite", "redb", "postgresql", "etcd", "redis", "memcached"],
            "store of the entities; the last four are servers",
        ),
        choice(
            "durability",
            &["none", "entity"],
            "none: writes never wait for the disk; entity: each write is synced before it returns",
        ),
        text(
            "url",
            "",
            "server to use instead of a new one on loopback, such as redis://HOST:PORT",
        ),
    ]
}

fn metrics() -> Vec<Metric> {
    let mut all = vec![
        rate("rate", "ops/s", "operations per second, all clients together"),
        headline(distribution("latency", "time of an operation; at a rate, from when it was due")),
        distribution(KINDS[0], "time of a read or scan"),
        distribution(KINDS[1], "time of an update, insert or read-modify-write"),
        reported_share(
            VALUES[2],
            Better::Neither,
            "share of the time in which all clients waited for the store; a stall in this time delays no further requests",
        ),
        reported_share(
            VALUES[3],
            Better::Neither,
            "share of the operations begun within 100 µs of their due time; 1 in a closed loop",
        ),
    ];
    all.extend(cpu_time::metrics("operation"));
    all
}

/// Room for the entities, as many inserted ones, and a log of them.
fn check_room(kind: EngineKind, start: &Start, entities: u64) -> Result<(), StartError> {
    let bytes = start.integer("bytes");
    if !kind.is_on_disk() {
        return kind.check_memory(2 * entities, bytes, start.facts.memory_bytes);
    }
    let dir = Path::new(&start.dir);
    let Ok(filesystem) = Filesystem::of(dir) else { return Ok(()) };
    let of_entity = 6 * (bytes + 64);
    filesystem.check_room(dir, "a database", entities * of_entity + (1 << 20), 4, &|room| {
        format!("set entities={} or less", room / of_entity)
    })
}

/// The metrics that a run does not have.
fn without(cpus: &CpuTimes, mix: OperationMix) -> Vec<String> {
    let lacking = VALUES[..cpus.lacking()].iter().chain(&KINDS[mix.kinds()..]);
    lacking.map(|name| (*name).to_owned()).collect()
}

/// When operations are due; none in a closed loop.
fn schedule(start: &Start) -> Result<Option<ArrivalSchedule>, StartError> {
    let Some(per_second) = start.params.get("rate").and_then(Value::integer) else {
        return Ok(None);
    };
    let arrivals = match start.text("arrivals") {
        "fixed" => Arrivals::Fixed,
        _ => Arrivals::Poisson,
    };
    #[expect(clippy::cast_precision_loss, reason = "rates stay far below 2^53")]
    let per_second = per_second as f64;
    Ok(Some(ArrivalSchedule::new(arrivals, per_second, start.seed)?))
}

/// [`VALUES`] of a sample, behind those of the CPUs.
fn report(done: &SampleSums<3>, into: &mut [f64]) {
    let [_, _, all_waiting_ns] = done.sums;
    let share = if done.elapsed_ns > 0.0 { all_waiting_ns / done.elapsed_ns } else { 0.0 };
    into.iter_mut().zip([share.min(1.0), done.in_time]).for_each(|(into, value)| *into = value);
}

/// A mix of operations: YCSB's core workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OperationMix {
    A,
    B,
    C,
    D,
    E,
    F,
}

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

impl OperationMix {
    /// The mix that the parameters name.
    ///
    /// # Errors
    /// Unsupported if the engine has no scans and the mix needs them.
    fn of(start: &Start, kind: EngineKind) -> Result<Self, StartError> {
        let mix = match start.text("mix") {
            "b" => Self::B,
            "c" => Self::C,
            "d" => Self::D,
            "e" => Self::E,
            "f" => Self::F,
            _ => Self::A,
        };
        if mix == Self::E && matches!(kind, EngineKind::Redis | EngineKind::Memcached) {
            return Err(StartError::unsupported(
                format!("{} does not keep its keys in order, so it has no scans", kind.name()),
                "set another `mix`, or `engine=sqlite`",
            ));
        }
        Ok(mix)
    }

    /// Bytes that a scan may give; 0 without scans.
    ///
    /// # Errors
    /// Unsupported if those of all clients take too much memory.
    fn check_scans(self, clients: usize, record_bytes: usize) -> Result<usize, StartError> {
        if self != Self::E {
            return Ok(0);
        }
        let of_scan = LONGEST_SCAN * record_bytes;
        if clients * of_scan > MOST_SCANNED_BYTES {
            let most = MOST_SCANNED_BYTES / LONGEST_SCAN / clients;
            return Err(StartError::unsupported(
                format!(
                    "the scans of {clients} clients need up to {}",
                    whole_size((clients * of_scan) as u64)
                ),
                format!("set bytes={most} or less, or fewer `clients`"),
            ));
        }
        Ok(of_scan)
    }

    /// The next operation.
    fn operation(self, random: &mut SplitMix64) -> Operation {
        let percent = random.below(100);
        match self {
            Self::A if percent < 50 => Operation::Update,
            Self::B if percent < 5 => Operation::Update,
            Self::D | Self::E if percent < 5 => Operation::Insert,
            Self::E => Operation::Scan,
            Self::F if percent < 50 => Operation::ReadModifyWrite,
            Self::A | Self::B | Self::C | Self::D | Self::F => Operation::Read,
        }
    }

    /// How keys are drawn.
    fn order(self, start: &Start) -> KeyOrder {
        match start.text("keys") {
            "uniform" => KeyOrder::Uniform,
            "latest" => KeyOrder::Latest,
            "zipf" => KeyOrder::Zipf,
            _ if self == Self::D => KeyOrder::Latest,
            _ => KeyOrder::Zipf,
        }
    }

    /// How many of [`KINDS`] it has.
    fn kinds(self) -> usize {
        if self == Self::C { 1 } else { 2 }
    }

    fn words(self) -> &'static str {
        match self {
            Self::A => "YCSB A: 50 % reads, 50 % updates",
            Self::B => "YCSB B: 95 % reads, 5 % updates",
            Self::C => "YCSB C: only reads",
            Self::D => "YCSB D: 95 % reads of the latest, 5 % inserts",
            Self::E => "YCSB E: 95 % scans of 1 to 100 entities, 5 % inserts",
            Self::F => "YCSB F: 50 % reads, 50 % read-modify-writes",
        }
    }
}

/// What all clients know of the store.
struct MixState {
    /// Of each entity, by its key less one: the generation that was written last and confirmed; 0 if it is not there.
    confirmed: Vec<AtomicU32>,
    /// Keys from 1 to this one are there.
    newest: AtomicU64,
    /// Inserts so far, confirmed or not.
    inserts: AtomicU64,
    /// Of each entity behind those that were loaded: whether a client is inserting it.
    being_inserted: Vec<AtomicBool>,
    loaded: u64,
    clients: u64,
    /// Clients that wait for the store, and since when all of them do.
    waiting: AtomicU64,
    all_waiting_since_ns: AtomicU64,
    /// A server that is not plumb's, from which the last client removes all entities.
    foreign: Option<(EngineKind, ServerAddress)>,
}

impl Drop for MixState {
    fn drop(&mut self) {
        if let Some((kind, server)) = &self.foreign {
            let inserted = self.inserts.load(Ordering::Acquire).min(self.loaded);
            clients::clear(*kind, server, self.loaded + inserted);
        }
    }
}

impl MixState {
    fn new(entities: u64, clients: usize, foreign: Option<(EngineKind, ServerAddress)>) -> Self {
        let first = u32::try_from(FIRST_GENERATION).unwrap_or(1);
        let loaded = (0..entities).map(|_| AtomicU32::new(first));
        let room = (0..entities).map(|_| AtomicU32::new(0));
        Self {
            confirmed: loaded.chain(room).collect(),
            newest: AtomicU64::new(entities),
            inserts: AtomicU64::new(0),
            being_inserted: (0..entities).map(|_| AtomicBool::new(false)).collect(),
            loaded: entities,
            clients: clients as u64,
            waiting: AtomicU64::new(0),
            all_waiting_since_ns: AtomicU64::new(0),
            foreign,
        }
    }

    fn confirmed(&self, key: u64) -> u64 {
        let index = usize::try_from(key - 1).unwrap_or(usize::MAX);
        self.confirmed.get(index).map_or(0, |of_key| of_key.load(Ordering::Acquire)).into()
    }

    fn confirm(&self, key: u64, generation: u64) {
        let index = usize::try_from(key - 1).unwrap_or(usize::MAX);
        if let Some(of_key) = self.confirmed.get(index) {
            // A slow write may end after a later one.
            of_key.fetch_max(u32::try_from(generation).unwrap_or(u32::MAX), Ordering::AcqRel);
        }
    }

    /// The key of the next insert, by which no other client writes until [`Self::inserted`]. If there are twice as many
    /// entities as in the beginning, inserts begin again.
    fn next_insert(&self) -> u64 {
        loop {
            let number = self.inserts.fetch_add(1, Ordering::AcqRel) % self.loaded;
            let index = usize::try_from(number).unwrap_or(usize::MAX);
            // A write that is slower than all others may still be in progress when inserts begin again.
            if !self.being_inserted[index].swap(true, Ordering::AcqRel) {
                return self.loaded + 1 + number;
            }
        }
    }

    /// An insert was confirmed.
    fn inserted(&self, key: u64, generation: u64) {
        self.confirm(key, generation);
        self.advance();
        let index = usize::try_from(key - self.loaded - 1).unwrap_or(usize::MAX);
        self.being_inserted[index].store(false, Ordering::Release);
    }

    /// Counts inserted entities, as far as they are an unbroken row: inserts may end in another order than they began.
    fn advance(&self) {
        loop {
            let newest = self.newest.load(Ordering::Acquire);
            if newest == 2 * self.loaded || self.confirmed(newest + 1) == 0 {
                return;
            }
            // If another client was first, the next round sees it.
            let _ = self.newest.compare_exchange(
                newest,
                newest + 1,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
        }
    }

    /// A client begins an operation: when.
    fn begin(&self) -> u64 {
        self.wait();
        now_ns()
    }

    /// A client has ended an operation.
    fn end(&self, begun_ns: u64) -> OperationTimes {
        let ended_ns = now_ns();
        OperationTimes { begun_ns, ended_ns, all_waiting_ns: self.answered(ended_ns) }
    }

    /// A client begins to wait.
    fn wait(&self) {
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.clients {
            self.all_waiting_since_ns.store(now_ns(), Ordering::Release);
        }
    }

    /// A client has its answer: for how long all had waited, if it is the first.
    fn answered(&self, now_ns: u64) -> u64 {
        if self.waiting.fetch_sub(1, Ordering::AcqRel) != self.clients {
            return 0;
        }
        // 0 if the last one to wait has not written the time yet.
        match self.all_waiting_since_ns.swap(0, Ordering::AcqRel) {
            0 => 0,
            since_ns => now_ns.saturating_sub(since_ns),
        }
    }
}

/// When an operation began and ended, and for how long all clients had waited then.
struct OperationTimes {
    begun_ns: u64,
    ended_ns: u64,
    all_waiting_ns: u64,
}

/// A client on its thread.
struct MixJob {
    client: Box<dyn MixClient>,
    number: u64,
    mix: OperationMix,
    chooser: KeyChooser,
    random: SplitMix64,
    contents: Contents,
    /// Room for entities as they are read.
    found: Vec<u8>,
    /// The entities of a scan in `found`: their keys and where they end.
    scanned: Vec<(u64, usize)>,
    /// The generations of the entities of a scan that were confirmed when it began.
    before: Vec<u64>,
    state: Arc<MixState>,
}

/// A thread with its client; threads are as many as clients.
struct MixThread(Option<MixJob>);

impl ThreadJob<3> for MixThread {
    fn once(&mut self) -> Result<TimedResult<3>, Failure> {
        match &mut self.0 {
            Some(job) => job.once(),
            None => Err(Failure("a thread of datastore.mix has no client".to_owned())),
        }
    }
}

impl MixJob {
    /// One operation: its time, whether it writes, and for how long all clients had waited when it ended.
    fn once(&mut self) -> Result<TimedResult<3>, Failure> {
        let operation = self.mix.operation(&mut self.random);
        let newest = self.state.newest.load(Ordering::Acquire);
        let key = self.chooser.key(newest, &mut self.random);
        let (name, done) = match operation {
            Operation::Read => ("read", self.read(key)),
            Operation::Scan => ("scan", self.scan(key)),
            Operation::Insert => ("insert", self.insert()),
            Operation::Update => ("update", self.update(key, false)),
            Operation::ReadModifyWrite => ("read-modify-write", self.update(key, true)),
        };
        let is_write = !matches!(operation, Operation::Read | Operation::Scan);
        let times = done.map_err(|error| error.of_phase("datastore.mix", name))?;
        let took_ns = times.ended_ns - times.begun_ns;
        Ok(TimedResult {
            ended_ns: times.ended_ns,
            numbers: [took_ns, u64::from(is_write), times.all_waiting_ns],
        })
    }

    /// Reads an entity and checks it.
    fn read(&mut self, key: u64) -> Result<OperationTimes, PhaseError> {
        let before = self.state.confirmed(key);
        let begun_ns = self.state.begin();
        let is_there = self.client.read(key, &mut self.found);
        let times = self.state.end(begun_ns);
        if !is_there? {
            return Err(PhaseError::Entity(key.cast_signed(), MISSING));
        }
        check(&self.state, &mut self.contents, key, &self.found, before)?;
        Ok(times)
    }

    /// Writes the next generation of an entity that no other client writes, the nearest to this key.
    fn update(&mut self, key: u64, reads_first: bool) -> Result<OperationTimes, PhaseError> {
        let key = self.own(key);
        let before = self.state.confirmed(key);
        let generation = before + 1;
        let body = self.contents.body(key.cast_signed(), generation);
        let begun_ns = self.state.begin();
        let mut is_there = Ok(true);
        if reads_first {
            is_there = self.client.read(key, &mut self.found);
        }
        let written = self.client.write(key, body);
        let times = self.state.end(begun_ns);
        if !is_there? {
            return Err(PhaseError::Entity(key.cast_signed(), MISSING));
        }
        written?;
        if reads_first {
            check(&self.state, &mut self.contents, key, &self.found, before)?;
        }
        self.state.confirm(key, generation);
        Ok(times)
    }

    /// Writes an entity that is not there, or that was inserted long ago.
    fn insert(&mut self) -> Result<OperationTimes, PhaseError> {
        let key = self.state.next_insert();
        let generation = self.state.confirmed(key) + 1;
        let body = self.contents.body(key.cast_signed(), generation);
        let begun_ns = self.state.begin();
        let written = self.client.write(key, body);
        let times = self.state.end(begun_ns);
        written?;
        self.state.inserted(key, generation);
        Ok(times)
    }

    /// Reads several entities in order, and checks each when all are there.
    fn scan(&mut self, from: u64) -> Result<OperationTimes, PhaseError> {
        let count = 1 + self.random.below(LONGEST_SCAN as u64);
        let last = self.state.newest.load(Ordering::Acquire);
        let wanted = from..=last.min(from + count - 1);
        self.before.clear();
        self.before.extend(wanted.clone().map(|key| self.state.confirmed(key)));
        self.found.clear();
        self.scanned.clear();
        let found = &mut self.found;
        let scanned = &mut self.scanned;
        let begun_ns = self.state.begin();
        let done = self.client.scan(from, wanted.clone().count() as u64, &mut |key, body| {
            found.extend_from_slice(body);
            scanned.push((key, found.len()));
            Ok(())
        });
        let times = self.state.end(begun_ns);
        done?;
        let mut begin = 0;
        for (index, key) in wanted.enumerate() {
            match self.scanned.get(index) {
                Some(&(scanned, end)) if scanned == key => {
                    let body = &self.found[begin..end];
                    check(&self.state, &mut self.contents, key, body, self.before[index])?;
                    begin = end;
                }
                _ => return Err(PhaseError::Entity(key.cast_signed(), MISSING)),
            }
        }
        // All were there, so a longer row has one of them twice or one that was not asked for.
        match self.scanned.get(self.before.len()) {
            Some((key, _)) => Err(PhaseError::Entity(key.cast_signed(), "was not asked for")),
            None => Ok(times),
        }
    }

    /// The entity nearest to this one that this client alone writes: each has every so many.
    fn own(&self, key: u64) -> u64 {
        let clients = self.state.clients;
        let key = key.min(self.state.loaded);
        let own = (key - 1) / clients * clients + 1 + self.number;
        // The last of them are too few for every client.
        if own <= self.state.loaded { own } else { own - clients }
    }
}

/// Checks an entity. Its generation must be at least `before`, the last one confirmed before the read began, and at most
/// one above the last one confirmed now, because that write may be in progress.
fn check(
    state: &MixState,
    contents: &mut Contents,
    key: u64,
    found: &[u8],
    before: u64,
) -> Result<(), PhaseError> {
    let wrong = |what| PhaseError::Entity(key.cast_signed(), what);
    let stamp = Stamp::of(found).ok_or_else(|| wrong(DIFFERENT))?;
    if stamp.generation < before {
        return Err(wrong(STALE));
    }
    let is_known =
        stamp.number == key.cast_signed() && stamp.generation <= state.confirmed(key) + 1;
    if !is_known || contents.body(stamp.number, stamp.generation) != found {
        return Err(wrong(DIFFERENT));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use plumb_workload_ends::timed_threads::SampleSums;

    use super::{Contents, FIRST_GENERATION, MixState, check, report};
    use crate::engine::{DIFFERENT, PhaseError, STALE};

    #[test]
    fn an_entity_is_as_old_as_its_last_write_and_no_younger_than_the_one_under_way() {
        let state = MixState::new(3, 1, None);
        let mut contents = Contents::new(64, 1, 1);
        let generation = FIRST_GENERATION + 4;
        state.confirm(2, generation);
        let mut wrong = |of_key: i64, generation: u64, before: u64| {
            let found = contents.body(of_key, generation).to_vec();
            match check(&state, &mut contents, 2, &found, before) {
                Ok(()) => None,
                Err(PhaseError::Entity(key, what)) => Some((key, what)),
                Err(PhaseError::Engine(why)) => panic!("{why}"),
            }
        };
        assert_eq!(wrong(2, generation, generation), None);
        assert_eq!(wrong(2, generation + 1, generation), None, "it is being written");
        assert_eq!(
            wrong(2, generation - 1, generation - 1),
            None,
            "it was read before that write ended"
        );
        assert_eq!(wrong(2, generation - 1, generation), Some((2, STALE)));
        assert_eq!(wrong(2, generation + 2, generation), Some((2, DIFFERENT)));
        assert_eq!(wrong(3, generation, generation), Some((2, DIFFERENT)));
        let mut altered = contents.body(2, generation).to_vec();
        altered[40] ^= 1;
        assert!(check(&state, &mut contents, 2, &altered, generation).is_err());
        assert!(check(&state, &mut contents, 2, &altered[..8], generation).is_err());
    }

    #[test]
    fn inserted_entities_are_read_once_those_before_them_are_there() {
        let state = MixState::new(2, 1, None);
        let newest = || {
            state.advance();
            state.newest.load(std::sync::atomic::Ordering::Acquire)
        };
        state.confirm(4, 1);
        assert_eq!(newest(), 2);
        state.confirm(3, 1);
        assert_eq!(newest(), 4);
    }

    #[test]
    fn clients_wait_together_from_the_last_one_to_the_first() {
        let state = MixState::new(2, 2, None);
        state.wait();
        assert_eq!(state.answered(u64::MAX), 0, "the other did not wait");
        state.wait();
        state.wait();
        let since = state.all_waiting_since_ns.load(std::sync::atomic::Ordering::Acquire);
        assert_eq!(state.answered(since + 7), 7);
        assert_eq!(state.answered(since + 9), 0);
    }

    #[test]
    fn waiting_is_a_share_of_the_time() {
        let mut values = [0.0; 2];
        let sums = [1e9, 0.0, 5e8];
        report(&SampleSums { sums, count: 4.0, elapsed_ns: 2e9, in_time: 0.5 }, &mut values);
        assert_eq!(values, [0.25, 0.5]);
    }
}
