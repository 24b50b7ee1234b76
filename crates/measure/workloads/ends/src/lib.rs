//! The two ends of a workload over a network: hosts that users name, the authorities that vouch for them, servers of connections,
//! tokens by which they know their client, threads of clients, and the CPU time of both.

pub mod authorities;
pub mod cpu_time;
mod generator_busy;
pub mod host;
pub mod server;
pub mod timed_threads;
pub mod token;
