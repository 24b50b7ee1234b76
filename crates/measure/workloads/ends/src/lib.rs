//! The two ends of a workload over a network: hosts that users name, servers of connections, tokens by which they know their client, and
//! the CPU time of both.

pub mod cpu_time;
pub mod host;
pub mod server;
pub mod token;
