//! The part of the family `network` that is about connections: opening them, and files over HTTP.

use plumb_protocol::Workload;

mod connect;
mod http;
mod timed_threads;
mod web_stream;

/// The workloads of this crate.
pub const ALL: &[&dyn Workload] = &[&connect::Connect, &http::Http];
