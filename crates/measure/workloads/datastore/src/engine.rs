//! Stores of entities: what each does in a phase, and how durable it makes what was written.

use std::io;

use plumb_protocol::{Failure, Start, StartError};
use plumb_units::whole_size;
use plumb_workload_kit::installed_server::MEMCACHED_BYTES;

use crate::contents::Contents;

/// What a server needs per entity next to its body, at most: key, pointers, and the head of an item.
const HEAD_BYTES: u64 = 128;

/// When a commit is on the disk, and how much one commit holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// Never waited for; one commit a phase.
    None,
    /// Each phase is one commit, and the phase ends when it is on the disk.
    Batch,
    /// Each entity is one commit, and the next one waits until it is on the disk.
    Entity,
}

impl Durability {
    /// The durability of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Self::None,
            "batch" => Self::Batch,
            "entity" => Self::Entity,
            _ => return None,
        })
    }

    /// The word of the parameter `durability` for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Batch => "batch",
            Self::Entity => "entity",
        }
    }
}

/// The engines, as the parameter `engine` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EngineKind {
    /// SQLite, built in.
    Sqlite,
    /// redb, a B-tree that is built in.
    Redb,
    /// A file per entity.
    Files,
    /// One file to which everything is appended.
    Log,
    /// PostgreSQL, a server.
    Postgresql,
    /// etcd, a server.
    Etcd,
    /// Redis or Valkey, a server.
    Redis,
    /// memcached, a server that keeps nothing on a disk.
    Memcached,
}

impl EngineKind {
    /// The names, the default first.
    pub(super) const NAMES: [&str; 8] =
        ["sqlite", "redb", "files", "log", "postgresql", "etcd", "redis", "memcached"];
    /// All of them, in the order of their names.
    pub(super) const ALL: [Self; 8] = [
        Self::Sqlite,
        Self::Redb,
        Self::Files,
        Self::Log,
        Self::Postgresql,
        Self::Etcd,
        Self::Redis,
        Self::Memcached,
    ];

    /// The engine that the parameters name.
    ///
    /// # Errors
    /// Unsupported if it does not have the durability that they ask for.
    pub(super) fn of(start: &Start) -> Result<(Self, Durability), StartError> {
        let name = start.text("engine");
        let index = Self::NAMES.iter().position(|known| *known == name);
        let kind = index
            .map(|index| Self::ALL[index])
            .ok_or_else(|| StartError::Failed(format!("unknown engine `{name}`")))?;
        let word = start.text("durability");
        let durability = Durability::named(word)
            .ok_or_else(|| StartError::Failed(format!("unknown durability `{word}`")))?;
        let offered = kind.durabilities();
        if offered.contains(&durability) {
            return Ok((kind, durability));
        }
        let words: Vec<String> =
            offered.iter().map(|offered| format!("`durability={}`", offered.word())).collect();
        Err(StartError::unsupported(
            format!("{name} does not support `durability={word}`: {}", kind.why_not(durability)),
            format!("set {}", words.join(" or ")),
        ))
    }

    /// The word of the parameter `engine` for it.
    pub(super) fn name(self) -> &'static str {
        let index = Self::ALL.iter().position(|known| *known == self);
        index.map_or("", |index| Self::NAMES[index])
    }

    /// The durabilities that it has.
    pub(super) fn durabilities(self) -> &'static [Durability] {
        match self {
            Self::Sqlite | Self::Redb | Self::Files | Self::Log | Self::Postgresql => {
                &[Durability::None, Durability::Batch, Durability::Entity]
            }
            Self::Etcd => &[Durability::Entity],
            Self::Redis => &[Durability::None, Durability::Entity],
            Self::Memcached => &[Durability::None],
        }
    }

    fn why_not(self, durability: Durability) -> &'static str {
        match (self, durability) {
            (Self::Redis, Durability::Batch) => {
                "it syncs its log after every write, once per second or never; a client can't request a sync"
            }
            (Self::Etcd, _) => "it syncs every write before it replies",
            _ => "it keeps everything in memory",
        }
    }

    /// Whether entities lie on a disk, and not only in the memory of a server.
    pub(super) fn is_on_disk(self) -> bool {
        !matches!(self, Self::Redis | Self::Memcached)
    }

    /// Checks that entities fit into the memory of a server that plumb starts here.
    ///
    /// # Errors
    /// Unsupported if they take more than half of this machine's memory, or more than memcached may use.
    pub(super) fn check_memory(
        self,
        entities: u64,
        body_bytes: u64,
        memory_bytes: u64,
    ) -> Result<(), StartError> {
        let of_entity = body_bytes + HEAD_BYTES;
        let half = memory_bytes / 2;
        let (room, of_what) = match self {
            Self::Memcached if MEMCACHED_BYTES < half => (MEMCACHED_BYTES, "memcached's limit"),
            _ => (half, "half of the memory"),
        };
        // Allocators round sizes up, and memcached keeps sizes apart.
        let needed = entities.saturating_mul(of_entity).saturating_mul(3) / 2;
        if needed <= room {
            return Ok(());
        }
        let most = room / 3 * 2 / of_entity;
        Err(StartError::unsupported(
            format!(
                "the entities need about {} in {}, more than {of_what} ({})",
                whole_size(needed),
                self.name(),
                whole_size(room)
            ),
            format!("set entities={most} or less, or smaller `bytes`"),
        ))
    }

    /// Whether entities lie in files below the target directory, written by this process.
    pub(super) fn is_embedded(self) -> bool {
        !matches!(self, Self::Postgresql | Self::Etcd | Self::Redis | Self::Memcached)
    }
}

/// A part of a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CyclePhase {
    /// Writes entities that are not there.
    Add,
    /// Reads all and compares them.
    Get,
    /// Replaces the contents of all.
    Update,
    /// Deletes all entities, which must be there.
    Delete,
}

/// The entities of a cycle.
pub(super) struct Entities<'e> {
    /// Keys from 1.
    pub(super) in_order: &'e [i64],
    /// The same keys in random order.
    pub(super) shuffled: &'e [i64],
    pub(super) contents: &'e mut Contents,
    pub(super) generation: u64,
}

impl<'e> Entities<'e> {
    /// What the entity of this key holds in this generation.
    pub(super) fn body(&mut self, key: i64) -> &[u8] {
        self.contents.body(key, self.generation)
    }

    /// The body that a request of this phase sends; empty if it sends none.
    pub(super) fn sent(&mut self, phase: CyclePhase, key: i64) -> &[u8] {
        match phase {
            CyclePhase::Add | CyclePhase::Update => self.body(key),
            CyclePhase::Get | CyclePhase::Delete => &[],
        }
    }

    /// The body that the reply in this phase must have; empty if it has none.
    pub(super) fn expected(&mut self, phase: CyclePhase, key: i64) -> &[u8] {
        match phase {
            CyclePhase::Get => self.body(key),
            CyclePhase::Add | CyclePhase::Update | CyclePhase::Delete => &[],
        }
    }

    /// The keys in the order of a phase: they are added as a program would that numbers them.
    pub(super) fn keys(&self, phase: CyclePhase) -> &'e [i64] {
        match phase {
            CyclePhase::Add => self.in_order,
            CyclePhase::Get | CyclePhase::Update | CyclePhase::Delete => self.shuffled,
        }
    }
}

/// A store of entities by key, as its only client sees it. It begins without durability.
pub(super) trait EntityEngine {
    /// Sets how durable everything is from now on.
    ///
    /// # Errors
    /// If the engine refuses, or is set to another one.
    fn set(&mut self, durability: Durability) -> Result<(), StartError>;

    /// Does a phase for all entities.
    ///
    /// # Errors
    /// If the engine refuses, or an entity is not as it should be: missing, different, or there already.
    fn phase(&mut self, phase: CyclePhase, entities: &mut Entities<'_>) -> Result<(), PhaseError>;

    /// Checks that no entity is left, and that the store is in order; untimed.
    ///
    /// # Errors
    /// If it is not.
    fn check(&mut self) -> Result<(), Failure>;
}

/// An engine with an empty store, and the name and version of the library or server behind it.
pub(super) struct StartedEngine {
    pub(super) engine: Box<dyn EntityEngine>,
    pub(super) component: &'static str,
    pub(super) version: String,
}

/// Errors of a phase.
#[derive(Debug)]
pub(super) enum PhaseError {
    /// The engine refuses.
    Engine(String),
    /// An entity, by its key, is not as it should be.
    Entity(i64, &'static str),
}

/// An entity that should be there is not.
pub(super) const MISSING: &str = "is missing";
/// An entity has other contents.
pub(super) const DIFFERENT: &str = "differs from the one written";
/// An entity is older than one whose write had been confirmed.
pub(super) const STALE: &str = "is stale: the store had already confirmed a newer write";
/// An entity that was to be added was there.
pub(super) const THERE: &str = "exists already";

impl PhaseError {
    /// As the failure of a workload in a phase or an operation with this name.
    pub(super) fn of_phase(self, workload: &str, name: &str) -> Failure {
        match self {
            Self::Engine(why) => Failure(format!("{workload}: {name}: {why}")),
            Self::Entity(key, what) => Failure(format!("{workload}: {name}: entity {key} {what}")),
        }
    }
}

impl From<io::Error> for PhaseError {
    fn from(error: io::Error) -> Self {
        Self::Engine(error.to_string())
    }
}

/// Refuses an entity of which nothing was changed.
pub(super) fn changed(key: i64, is_changed: bool) -> Result<(), PhaseError> {
    if is_changed { Ok(()) } else { Err(PhaseError::Entity(key, MISSING)) }
}

/// Compares an entity as it was found, if it was, with the one written.
pub(super) fn compared(key: i64, found: Option<&[u8]>, wanted: &[u8]) -> Result<(), PhaseError> {
    match found {
        None => Err(PhaseError::Entity(key, MISSING)),
        Some(found) if found == wanted => Ok(()),
        Some(_) => Err(PhaseError::Entity(key, DIFFERENT)),
    }
}
