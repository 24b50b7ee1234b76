//! Lines that a worker reads: any bytes are a request or an error, and a request says the same again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_protocol::{Request, RequestLine};

fuzz_target!(|line: &str| {
    let Ok(parsed) = serde_json::from_str::<RequestLine>(line) else { return };
    let written = serde_json::to_string(&parsed).expect("a request is written as JSON");
    let again: RequestLine = serde_json::from_str(&written).expect("what was written is read");
    assert_eq!(parsed, again);
    if let Request::Start(start) | Request::Prepare(start) = &parsed.request {
        for name in start.params.keys() {
            let _ = (start.integer(name), start.size(name), start.text(name), start.is_on(name));
        }
    }
});
