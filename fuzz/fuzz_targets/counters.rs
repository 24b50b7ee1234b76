//! The kernel's files of counters: any text is read by every parser, which puts values or nothing, and
//! what a buffer makes of them is what a store takes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_monitors::interference;
use plumb_monitors::{CounterBuffer, parse_all};
use plumb_model::Readings;

fuzz_target!(|texts: (String, String)| {
    let mut buffer = CounterBuffer::new("fuzz");
    for (at_ns, text) in [(1, &texts.0), (1_000_000_001, &texts.1)] {
        buffer.turn(at_ns);
        parse_all(text, &mut |field, value| buffer.put(field, value));
    }
    let (traces, lines) = buffer.finish();
    for trace in &traces {
        assert!(trace.readings.is_sorted_by_key(|reading| reading.at_ns));
        let _ = (trace.amount(), trace.duration_ns());
    }
    let _ = interference::find(&Readings { traces, lines, gaps: Vec::new() });
});
