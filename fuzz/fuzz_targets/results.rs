//! Results of other tools: any text, read as any format, is an error that says something, or runs
//! whose samples a store takes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_classics::{Format, events, read};
use plumb_model::Event;

fuzz_target!(|text: &str| {
    for format in Format::ALL.into_iter().map(Some).chain([None]) {
        match read(text, format, Some("1.2")) {
            Ok(found) => {
                for import in &found.imports {
                    for stamped in events(import, text.as_bytes(), &Default::default(), &|_| None) {
                        if let Event::Batch { samples, .. } = stamped.event {
                            samples.check().expect("a store takes them");
                        }
                    }
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
