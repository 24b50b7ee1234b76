//! What another machine sends, and inventories: any line is refused or is an event that may be stored; any inventory gives machines,
//! or an error that says something.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_agent::{CheckedEvents, LogLine, read_inventory};
use plumb_model::Id;

fuzz_target!(|text: &str| {
    let mut events = CheckedEvents::of(Id::nil(), None);
    for line in text.lines() {
        if let Ok(LogLine::Event { segment, ordinal, stamped }) = serde_json::from_str(line) {
            if let Err(why) = events.accept(segment, ordinal, &stamped) {
                assert!(!why.is_empty());
            }
        }
    }
    match read_inventory(text) {
        Ok(inventory) => drop(inventory.machines(None)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
