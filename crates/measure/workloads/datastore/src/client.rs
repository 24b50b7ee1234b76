//! A client of a store that several threads use at once, one each: the operations of `datastore.mix`.

use plumb_protocol::Failure;

use crate::contents::Contents;
use crate::engine::PhaseError;

/// What gets each entity of a scan: its key and contents.
pub(super) type EachEntity<'e> = dyn FnMut(u64, &[u8]) -> Result<(), PhaseError> + 'e;

/// A client of one thread.
pub(super) trait MixClient: Send {
    /// Reads an entity into `found`; whether it is there.
    ///
    /// # Errors
    /// If the store refuses.
    fn read(&mut self, key: u64, found: &mut Vec<u8>) -> Result<bool, PhaseError>;

    /// Writes an entity, whether or not it is there.
    ///
    /// # Errors
    /// If the store refuses.
    fn write(&mut self, key: u64, body: &[u8]) -> Result<(), PhaseError>;

    /// Reads so many entities in the order of their keys from this one on; `each` gets each of them.
    ///
    /// # Errors
    /// If the store refuses, or `each` does.
    fn scan(&mut self, from: u64, count: u64, each: &mut EachEntity<'_>) -> Result<(), PhaseError>;

    /// Writes the first generation of entities from 1 on; untimed.
    ///
    /// # Errors
    /// If the store refuses.
    fn load(&mut self, entities: u64, contents: &mut Contents) -> Result<(), PhaseError> {
        for key in 1..=entities {
            self.write(key, contents.body(key.cast_signed(), FIRST_GENERATION))?;
        }
        Ok(())
    }
}

/// The generation of entities that were loaded.
pub(super) const FIRST_GENERATION: u64 = 1;

/// The clients of a store that is empty, and the version of the store by component.
pub(super) struct OpenedClients {
    pub(super) clients: Vec<Box<dyn MixClient>>,
    pub(super) component: &'static str,
    pub(super) version: String,
}

/// The error of an engine without an order of keys.
pub(super) fn no_scans(engine: &str) -> PhaseError {
    PhaseError::Engine(format!("{engine} has no scans"))
}

/// As a failure while clients are opened.
pub(super) fn while_opening(error: PhaseError) -> Failure {
    error.of_phase("datastore.mix", "open")
}

/// As a failure while entities are removed.
pub(super) fn while_clearing(error: PhaseError) -> Failure {
    error.of_phase("datastore", "clear")
}
