//! `datastore.batch`: entities by key in a store, seconds per record for add, get, update, get, delete.

use std::path::Path;

use plumb_model::{AuditClass, Better, CurveKind, Description, Flag, FlagKind, Ready, Rung};
use plumb_protocol::{
    Batch, Failure, Held, Instance, Start, StartError, StartedWorkload, Workload, current_cpu,
    now_ns,
};
use plumb_units::whole_size;
use plumb_workload_kit::declare;
use plumb_workload_kit::filesystem::Filesystem;
use plumb_workload_kit::processes::{peak_memory, proportional_memory};

use crate::contents::{Contents, STAMP_BYTES};
use crate::cycles::{EntityCycles, PhaseTimes};
use crate::engine::{Durability, EngineKind};
use crate::engines;
use crate::server::{self, ServerAddress};

/// The values that come with each sample: the phases in the order of [`PhaseTimes`], the time to make contents, and the
/// memory of both ends.
const VALUES: [&str; 8] =
    ["add", "get", "update", "get_updated", "delete", "encode", "client_memory", "server_memory"];

/// Numbers of records.
const ENTITIES: std::ops::RangeInclusive<u64> = 1..=10_000_000;

/// Sizes of a record, and of an entity.
const SIZES: std::ops::RangeInclusive<u64> = STAMP_BYTES as u64..=1 << 20;

/// Bytes of a filesystem's block: a file takes up whole ones.
const BLOCK: u64 = 4096;

/// The most records of an entity.
const MOST_RECORDS: usize = 10_000;

/// The same work if no write waits for the disk, in a store that plumb makes.
fn without_waiting(durability: &str) -> Rung {
    let alone =
        declare::rung("no sync to disk", "datastore.batch", "time", &[("durability", "none")]);
    declare::rung_if(&[("durability", durability), ("url", "")], alone)
}

/// The workload `datastore.batch`: its parameters and metrics, and how it starts.
pub(super) struct BatchOfEntities;

impl Workload for BatchOfEntities {
    fn describe(&self) -> Description {
        let memory = |name, summary| declare::reported(name, "B", Better::Lower, summary);
        Description {
            parameters: vec![
                declare::curve(
                    CurveKind::Knee,
                    declare::integer(
                        "entities",
                        "entities",
                        1000,
                        "entities per cycle, or records with `pack`",
                    ),
                ),
                declare::bytes("bytes", 1024, "size of one entity or record, from 16 B to 1 MiB"),
                declare::choice(
                    "durability",
                    &["batch", "entity", "none"],
                    "batch: one synced commit per phase; entity: one per write; none: one unsynced \
                     commit per phase",
                ),
                declare::choice(
                    "engine",
                    &EngineKind::NAMES,
                    "store of the entities; files: one file per entity; log: one append-only file",
                ),
                declare::between(
                    1,
                    MOST_RECORDS,
                    declare::integer(
                        "pack",
                        "records",
                        1,
                        "records that are stored together as one entity",
                    ),
                ),
                declare::text(
                    "url",
                    "",
                    "server to use instead of a new one on loopback, such as redis://HOST:PORT",
                ),
            ],
            metrics: vec![
                declare::time("time", "time per entity or record, all five phases together"),
                declare::headline(declare::reported_time("add", "time to add an entity")),
                declare::headline(declare::reported_time(
                    "get",
                    "time to read an entity and compare it",
                )),
                declare::headline(declare::reported_time(
                    "update",
                    "time to replace an entity's contents",
                )),
                declare::headline(declare::reported_time(
                    "get_updated",
                    "time to read an updated entity and compare it",
                )),
                declare::headline(declare::reported_time("delete", "time to delete an entity")),
                declare::reported_time(
                    "encode",
                    "time to generate the contents of an entity or record; included in every phase except delete",
                ),
                memory("client_memory", "largest resident memory of the worker so far"),
                memory(
                    "server_memory",
                    "largest resident memory of the server so far; if it has several processes, the largest sum after \
                     a sample, in which shared pages count once",
                ),
            ],
            timeout_s: Some(declare::LONG_TIMEOUT_S),
            audit_class: Some(AuditClass::Scheduler),
            fixture: Some(["engine", "durability", "url"].map(str::to_owned).to_vec()),
            rungs: vec![without_waiting("batch"), without_waiting("entity")],
            ..declare::workload("datastore.batch", "adds, reads, updates and deletes entities")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("batch.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        server::prepare(start)
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let (kind, durability) = EngineKind::of(start)?;
        let server = ServerAddress::of(start, kind)?;
        let is_ours = server.as_ref().is_none_or(ServerAddress::is_ours);
        let sizes = Sizes::of(start)?;
        let filesystem = match is_ours && kind.is_on_disk() {
            true => Filesystem::of(Path::new(&start.dir)).ok(),
            false => None,
        };
        check_room(kind, &sizes, Path::new(&start.dir), filesystem)?;
        if is_ours && !kind.is_on_disk() {
            kind.check_memory(sizes.entities(), sizes.body_bytes as u64, start.facts.memory_bytes)?;
        }
        let started = engines::start(kind, start, server.as_ref(), sizes.body_bytes)?;
        let mut ready = ready(sizes.records, (kind, durability), filesystem);
        ready.versions.insert(started.component.to_owned(), started.version);
        // The process that serves this client is there by now.
        let processes = server.as_ref().map_or_else(Vec::new, ServerAddress::processes);
        let memory = ServerMemory::of(processes);
        if memory.is_unknown() {
            ready.without.push("server_memory".to_owned());
        }
        let contents = Contents::new(start.size("bytes"), sizes.pack, start.seed);
        let entities = u32::try_from(sizes.entities()).unwrap_or(u32::MAX);
        let foreign = server.filter(|_| !is_ours).map(|server| (kind, server));
        let cycles =
            EntityCycles::new(started.engine, contents, entities, durability, start.seed, foreign)?;
        let instance = BatchInstance { cycles, records: sizes.records, memory };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

/// How much a cycle holds.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    records: u64,
    /// Records of an entity.
    pack: u32,
    body_bytes: usize,
}

impl Sizes {
    fn of(start: &Start) -> Result<Self, StartError> {
        let records = start.integer("entities");
        let bytes = start.integer("bytes");
        check_sizes(records, bytes)?;
        let pack = u32::try_from(start.integer("pack")).unwrap_or(u32::MAX).max(1);
        if !records.is_multiple_of(u64::from(pack)) {
            return Err(StartError::unsupported(
                format!("entities={records} is not a multiple of pack={pack}"),
                format!("set `entities` to a multiple of {pack}"),
            ));
        }
        let body_bytes = Contents::body_bytes(start.size("bytes"), pack);
        if body_bytes as u64 > *SIZES.end() {
            let size = whole_size(body_bytes as u64);
            return Err(StartError::unsupported(
                format!("pack={pack} makes entities of {size}"),
                format!(
                    "set `pack` and `bytes` so that an entity has at most {}",
                    whole_size(*SIZES.end())
                ),
            ));
        }
        Ok(Self { records, pack, body_bytes })
    }

    fn entities(&self) -> u64 {
        self.records / u64::from(self.pack)
    }
}

fn check_sizes(entities: u64, bytes: u64) -> Result<(), StartError> {
    for (name, value, range) in [("entities", entities, ENTITIES), ("bytes", bytes, SIZES)] {
        if !range.contains(&value) {
            return Err(StartError::unsupported(
                format!("{name}={value} is outside the allowed range"),
                format!("set `{name}` between {} and {}", range.start(), range.end()),
            ));
        }
    }
    Ok(())
}

/// Room for the file and its journal, or for a file per entity.
fn check_room(
    kind: EngineKind,
    sizes: &Sizes,
    dir: &Path,
    filesystem: Option<Filesystem>,
) -> Result<(), StartError> {
    let entities = sizes.entities();
    let (of_entity, files) = match kind {
        EngineKind::Files => ((sizes.body_bytes as u64).next_multiple_of(BLOCK), entities + 2),
        _ => (sizes.body_bytes as u64 + 64, 2),
    };
    let needed = 3 * entities * of_entity + (1 << 20);
    let what = format!("a database of up to {}", whole_size(needed));
    let less = |room: u64| {
        format!("set entities={} or less", room / 3 / of_entity * u64::from(sizes.pack))
    };
    filesystem.map_or(Ok(()), |filesystem| filesystem.check_room(dir, &what, needed, files, &less))
}

fn ready(
    records: u64,
    (kind, durability): (EngineKind, Durability),
    filesystem: Option<Filesystem>,
) -> Ready {
    let mut ready = Ready { work: declare::work(&[("time", records)]), ..Ready::default() };
    ready.notes.push(note(kind, durability).to_owned());
    if filesystem.is_some_and(|filesystem| filesystem.in_memory) {
        let why = "the target directory is in memory, where syncs are free";
        ready.flags.push(Flag::new(FlagKind::Tmpfs, why));
    }
    ready
}

/// How the engine is set.
fn note(kind: EngineKind, durability: Durability) -> &'static str {
    match (kind, durability) {
        (EngineKind::Sqlite, Durability::None) => "journal_mode=DELETE, synchronous=OFF: no syncs",
        (EngineKind::Sqlite, Durability::Batch) => {
            "journal_mode=DELETE, synchronous=FULL: a commit per phase"
        }
        (EngineKind::Sqlite, Durability::Entity) => {
            "journal_mode=DELETE, synchronous=FULL: a commit per entity"
        }
        (EngineKind::Redb, Durability::None) => "Durability::None: a commit per phase, no syncs",
        (EngineKind::Redb, Durability::Batch) => "Durability::Immediate: a commit per phase",
        (EngineKind::Redb, Durability::Entity) => "Durability::Immediate: a commit per entity",
        (EngineKind::Files, Durability::None) => "a file per entity: no syncs",
        (EngineKind::Files, Durability::Batch) => "a file per entity: syncfs after each phase",
        (EngineKind::Files, Durability::Entity) => {
            "a file per entity: fsync of file and folder per entity"
        }
        (EngineKind::Log, Durability::None) => "an appended file: no syncs",
        (EngineKind::Log, Durability::Batch) => "an appended file: fdatasync after each phase",
        (EngineKind::Log, Durability::Entity) => "an appended file: fdatasync per entity",
        (EngineKind::Postgresql, Durability::None) => {
            "synchronous_commit=off: a commit per phase, up to 128 requests at a time"
        }
        (EngineKind::Postgresql, Durability::Batch) => {
            "synchronous_commit=on: a commit per phase, up to 128 requests at a time"
        }
        (EngineKind::Postgresql, Durability::Entity) => {
            "synchronous_commit=on: a commit per entity, one request at a time"
        }
        (EngineKind::Etcd, _) => "a commit on the disk per entity, one request at a time",
        (EngineKind::Redis, Durability::Entity) => {
            "appendonly=yes, appendfsync=always: a sync per entity, one request at a time"
        }
        (EngineKind::Redis, _) => "appendonly=no: no syncs, up to 128 requests at a time",
        (EngineKind::Memcached, _) => "in memory, up to 128 requests at a time",
    }
}

struct BatchInstance {
    cycles: EntityCycles,
    records: u64,
    memory: ServerMemory,
}

/// The memory of a server that plumb started.
struct ServerMemory {
    processes: Vec<u32>,
    /// The most that several processes had together, in bytes.
    most: u64,
}

impl ServerMemory {
    fn of(processes: Vec<u32>) -> Self {
        let mut memory = Self { processes, most: 0 };
        memory.read();
        memory
    }

    /// The largest so far, in bytes.
    fn read(&mut self) -> u64 {
        self.most = match self.processes.as_slice() {
            [] => 0,
            [one] => peak_memory(&one.to_string()),
            // Their peaks would count shared pages once per process.
            several => several.iter().filter_map(|pid| proportional_memory(*pid)).sum(),
        }
        .max(self.most);
        self.most
    }

    /// Whether there is no server, or the kernel does not report it.
    fn is_unknown(&self) -> bool {
        self.most == 0
    }
}

impl BatchInstance {
    /// What comes with a sample of so many cycles, in the order of [`VALUES`].
    #[expect(clippy::cast_precision_loss, reason = "times and counts stay far below 2^53")]
    fn values_of(&mut self, times: PhaseTimes, encode_ns: u64, cycles: u64) -> [f64; 8] {
        let records = (self.records * cycles) as f64;
        let [add, get, update, get_updated, delete] =
            times.map(|phase_ns| phase_ns as f64 * 1e-9 / records);
        let encode = encode_ns as f64 * 1e-9 / self.records as f64;
        let client = peak_memory("self") as f64;
        let server = self.memory.read();
        [add, get, update, get_updated, delete, encode, client, server as f64]
    }
}

impl Instance for BatchInstance {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let mut times = PhaseTimes::default();
        (0..iterations).try_for_each(|_| self.cycles.cycle(&mut times))
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch<'_>) -> Result<(), Failure> {
        for &count in iterations {
            let encode_ns = self.cycles.encode_ns();
            let mut times = PhaseTimes::default();
            let begun = now_ns();
            for _ in 0..count {
                self.cycles.cycle(&mut times)?;
            }
            let took = now_ns() - begun;
            batch.record(begun, took, count, current_cpu());
            let values = self.values_of(times, encode_ns, count);
            batch.record_values(&values[..self.value_names().len()]);
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.cycles.check()
    }

    fn value_names(&self) -> &'static [&'static str] {
        // The memory of a server is the last of them.
        if self.memory.is_unknown() { &VALUES[..VALUES.len() - 1] } else { &VALUES }
    }

    /// Contents are made once more in between.
    fn has_untimed_parts(&self) -> bool {
        true
    }

    fn helpers(&self) -> &[u32] {
        &self.memory.processes
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Durability, EngineKind, Filesystem, FlagKind, Path, Sizes, check_room, check_sizes, ready,
    };

    #[test]
    fn sizes_and_room_are_checked_before_anything_is_written() {
        check_sizes(1, 16).unwrap();
        assert!(check_sizes(0, 1024).is_err());
        assert!(check_sizes(1, 15).is_err());
        let small = Filesystem { in_memory: true, free_bytes: 4 << 20, free_files: None };
        let room = |records, of| {
            let sizes = Sizes { records, pack: 1, body_bytes: 1024 };
            check_room(EngineKind::Sqlite, &sizes, Path::new("/srv"), of)
        };
        room(100, Some(small)).unwrap();
        assert!(room(1000, Some(small)).is_err());
        room(1000, None).unwrap();
        let flags = |durability| ready(1, (EngineKind::Sqlite, durability), Some(small)).flags;
        assert_eq!(flags(Durability::Batch)[0].flag, FlagKind::Tmpfs);
    }
}
