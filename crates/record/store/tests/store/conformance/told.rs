//! Tells a store events.

use plumb_model::Stamped;
use plumb_store::{Backend, Writer};

/// Stores events with its own writer.
pub fn write(backend: &dyn Backend, events: &[Stamped]) {
    take(backend.writer().unwrap().as_mut(), events);
}

/// Has a writer take events.
pub fn take(writer: &mut dyn Writer, events: &[Stamped]) {
    for event in events {
        writer.write(event).unwrap();
    }
}
