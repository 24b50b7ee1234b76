//! Suite files: any text is a suite within the limits, or an error that says something; the same for ranges.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_suite::{MAX_POINTS, expanded, parse};

fuzz_target!(|text: &str| {
    match parse(text) {
        Ok(suite) => {
            assert!((1..=MAX_POINTS).contains(&suite.points().count()));
            assert_eq!(parse(text), Ok(suite));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(Some(values)) = expanded(text, 4) {
        assert!(!values.is_empty() && values.len() <= MAX_POINTS + 1);
    }
});
