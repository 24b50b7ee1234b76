//! What every engine must do, in every durability that it has.

use std::path::Path;

use plumb_model::{Facts, Role, Settings, Value};
use plumb_protocol::{Held, Start};

use crate::contents::Contents;
use crate::engine::{
    CyclePhase, DIFFERENT, Durability, EngineKind, Entities, EntityEngine, MISSING, PhaseError,
    StartedEngine, THERE,
};
use crate::server::{self, ServerAddress};

const BODY_BYTES: usize = 100;

/// An engine in a folder of its own, with its server.
struct TriedEngine {
    engine: Box<dyn EntityEngine>,
    contents: Contents,
    // Dropped after the engine.
    _server: Box<dyn Held>,
    folder: tempfile::TempDir,
}

impl TriedEngine {
    fn start(kind: EngineKind, durability: Durability) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut start = start_in(folder.path(), kind, durability);
        let (ready, server) = server::prepare(&start).unwrap_or_else(|error| panic!("{error:?}"));
        start.endpoints = ready.endpoints;
        let server_address = ServerAddress::of(&start, kind).unwrap();
        let StartedEngine { mut engine, version, .. } =
            super::start(kind, &start, server_address.as_ref(), BODY_BYTES)
                .unwrap_or_else(|error| panic!("{error:?}"));
        assert!(!version.is_empty(), "{kind:?}");
        engine.set(durability).unwrap();
        Self { engine, contents: Contents::new(BODY_BYTES, 1, 1), _server: server, folder }
    }

    fn phase(
        &mut self,
        phase: CyclePhase,
        generation: u64,
        keys: &[i64],
    ) -> Result<(), PhaseError> {
        let mut entities =
            Entities { in_order: keys, shuffled: keys, contents: &mut self.contents, generation };
        self.engine.phase(phase, &mut entities)
    }
}

fn start_in(folder: &Path, kind: EngineKind, durability: Durability) -> Start {
    let settings = [("engine", kind.name()), ("durability", durability.word()), ("url", "")];
    let params: Settings =
        settings.map(|(name, word)| (name.to_owned(), Value::Text(word.to_owned()))).into();
    Start {
        role: Role::Workload,
        params,
        dir: folder.display().to_string(),
        scratch: String::new(),
        seed: 1,
        endpoints: [].into(),
        facts: Facts::default(),
        extra_work: None,
    }
}

/// Every engine in every durability that it has.
fn all() -> impl Iterator<Item = (EngineKind, Durability)> {
    EngineKind::ALL
        .into_iter()
        .flat_map(|kind| kind.durabilities().iter().map(move |durability| (kind, *durability)))
}

#[test]
fn entities_are_found_as_they_were_written_until_they_are_deleted() {
    // More than may be under way at once, in an order that is not theirs.
    let keys: Vec<i64> = (1..=300).rev().collect();
    for (kind, durability) in all() {
        let mut tried = TriedEngine::start(kind, durability);
        for generation in [1, 3] {
            let phases = [
                (CyclePhase::Add, generation),
                (CyclePhase::Get, generation),
                (CyclePhase::Update, generation + 1),
                (CyclePhase::Get, generation + 1),
                (CyclePhase::Delete, generation + 1),
            ];
            for (phase, generation) in phases {
                let done = tried.phase(phase, generation, &keys);
                assert!(done.is_ok(), "{kind:?} {durability:?} {phase:?}: {done:?}");
            }
            tried.engine.check().unwrap();
        }
        let TriedEngine { engine, _server, folder, .. } = tried;
        drop(engine);
        drop(_server);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "{kind:?}: something is left");
    }
}

#[test]
fn an_entity_that_is_not_as_it_should_be_is_named() {
    for kind in EngineKind::ALL {
        let durability = kind.durabilities()[0];
        let mut tried = TriedEngine::start(kind, durability);
        tried.phase(CyclePhase::Add, 1, &[1, 2, 3]).unwrap();
        assert!(tried.engine.check().is_err(), "{kind:?}: entities are left");
        let wrong = [
            (CyclePhase::Get, 2, 2, DIFFERENT),
            (CyclePhase::Get, 1, 4, MISSING),
            (CyclePhase::Update, 1, 4, MISSING),
            (CyclePhase::Delete, 1, 4, MISSING),
            (CyclePhase::Add, 1, 3, THERE),
        ];
        for (phase, generation, wanted, what) in wrong {
            let mut tried = TriedEngine::start(kind, durability);
            tried.phase(CyclePhase::Add, 1, &[1, 2, 3]).unwrap();
            match tried.phase(phase, generation, &[wanted]) {
                Err(PhaseError::Entity(key, found)) => {
                    assert_eq!((key, found), (wanted, what), "{kind:?} {phase:?}");
                }
                other => panic!("{kind:?} {phase:?}: {other:?}"),
            }
        }
    }
}
