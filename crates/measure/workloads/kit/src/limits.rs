//! What a process may have of something.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets this process open as many files as it may: shells allow few by default.
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // Where that is refused, opening says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
