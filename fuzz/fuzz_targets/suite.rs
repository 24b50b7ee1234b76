//! Suite files: any text is a suite within the limits, or an error that says something.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_cli::suite::{MAX_POINTS, parse};

fuzz_target!(|text: &str| {
    match parse(text) {
        Ok(suite) => {
            assert!(!suite.points.is_empty() && suite.points.len() <= MAX_POINTS);
            assert_eq!(parse(text), Ok(suite));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
