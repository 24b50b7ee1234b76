//! `datastore.batch`: entities by key in SQLite, seconds per entity for add, get, update, get,
//! delete.

use std::path::Path;

use plumb_model::{AuditClass, CurveKind, Description, Flag, FlagKind, Ready};
use plumb_protocol::{Failure, Instance, Start, StartError, StartedWorkload, Workload};

use crate::contents::{Contents, STAMP_BYTES};
use crate::file::FreshFile;
use crate::table::{Durability, EntityTable, PhaseTimes};
use plumb_units::whole_size;
use plumb_workload_kit::declare;
use plumb_workload_kit::filesystem::Filesystem;

/// Metrics of the phases, in the order of [`PhaseTimes`].
const PHASES: [&str; 5] = ["add", "get", "update", "get_updated", "delete"];

/// Numbers of entities.
const ENTITIES: std::ops::RangeInclusive<u64> = 1..=10_000_000;

/// Sizes of an entity.
const SIZES: std::ops::RangeInclusive<u64> = STAMP_BYTES as u64..=1 << 20;

/// The workload `datastore.batch`: its parameters and metrics, and how it starts.
pub(super) struct BatchOfEntities;

impl Workload for BatchOfEntities {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                declare::curve(
                    CurveKind::Knee,
                    declare::integer("entities", "entities", 1000, "entities per cycle"),
                ),
                declare::bytes("bytes", 1024, "size of one entity, from 16 B to 1 MiB"),
                declare::choice(
                    "durability",
                    &["batch", "entity", "none"],
                    "batch: one synced commit per phase; entity: one per write; none: one unsynced \
                     commit per phase",
                ),
            ],
            metrics: vec![
                declare::time("time", "time per entity, all five phases together"),
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
            ],
            timeout_s: Some(declare::LONG_TIMEOUT_S),
            audit_class: Some(AuditClass::Scheduler),
            ..declare::workload("datastore.batch", "adds, reads, updates and deletes entities")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("batch.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let entities = start.integer("entities");
        let bytes = start.integer("bytes");
        check_sizes(entities, bytes)?;
        let dir = Path::new(&start.dir);
        let filesystem = Filesystem::of(dir).ok();
        check_room(entities, bytes, dir, filesystem)?;
        let name = start.text("durability");
        let durability = Durability::named(name)
            .ok_or_else(|| StartError::Failed(format!("unknown durability `{name}`")))?;
        let contents = Contents::new(start.size("bytes"), start.seed);
        let count = u32::try_from(entities).unwrap_or(u32::MAX);
        let table =
            EntityTable::create(FreshFile::create(dir)?, count, contents, durability, start.seed)?;
        let instance =
            EntityCycles { table, times: PhaseTimes::default(), entities, iterations: 1 };
        let ready = ready(entities, durability, filesystem);
        Ok(StartedWorkload { instance: Box::new(instance), ready })
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

/// Room for the file and its journal.
fn check_room(
    entities: u64,
    bytes: u64,
    dir: &Path,
    filesystem: Option<Filesystem>,
) -> Result<(), StartError> {
    let needed = 3 * entities * (bytes + 64) + (1 << 20);
    let what = format!("a database of up to {}", whole_size(needed));
    let less = |room: u64| format!("set entities={} or less", room / 3 / (bytes + 64));
    filesystem.map_or(Ok(()), |filesystem| filesystem.check_room(dir, &what, needed, 2, &less))
}

fn ready(entities: u64, durability: Durability, filesystem: Option<Filesystem>) -> Ready {
    let mut ready = Ready { work: declare::work(&[("time", entities)]), ..Ready::default() };
    ready.versions.insert("sqlite".into(), rusqlite::version().into());
    ready.notes.push(
        match durability {
            Durability::None => "journal_mode=DELETE, synchronous=OFF: no syncs",
            Durability::Batch => "journal_mode=DELETE, synchronous=FULL: a commit per phase",
            Durability::Entity => "journal_mode=DELETE, synchronous=FULL: a commit per entity",
        }
        .into(),
    );
    if filesystem.is_some_and(|filesystem| filesystem.in_memory) {
        let why = "the target directory is in memory, where syncs are free";
        ready.flags.push(Flag::new(FlagKind::Tmpfs, why));
    }
    ready
}

struct EntityCycles {
    table: EntityTable,
    times: PhaseTimes,
    entities: u64,
    iterations: u64,
}

impl Instance for EntityCycles {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.times = PhaseTimes::default();
        self.iterations = iterations;
        (0..iterations).try_for_each(|_| self.table.cycle(&mut self.times))
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.table.check()
    }

    fn value_names(&self) -> &'static [&'static str] {
        &PHASES
    }

    #[expect(clippy::cast_precision_loss, reason = "times and counts stay far below 2^53")]
    fn values(&mut self, out: &mut [f64]) {
        let entities = (self.entities * self.iterations) as f64;
        for (out, ns) in out.iter_mut().zip(self.times) {
            *out = ns as f64 * 1e-9 / entities;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Durability, Filesystem, FlagKind, Path, check_room, check_sizes, ready};

    #[test]
    fn sizes_and_room_are_checked_before_anything_is_written() {
        check_sizes(1, 16).unwrap();
        assert!(check_sizes(0, 1024).is_err());
        assert!(check_sizes(1, 15).is_err());
        let small = Filesystem { in_memory: true, free_bytes: 4 << 20, free_files: None };
        let room = |entities, of| check_room(entities, 1024, Path::new("/srv"), of);
        room(100, Some(small)).unwrap();
        assert!(room(1000, Some(small)).is_err());
        room(1000, None).unwrap();
        let flags = ready(1, Durability::Batch, Some(small)).flags;
        assert_eq!(flags[0].flag, FlagKind::Tmpfs);
    }
}
