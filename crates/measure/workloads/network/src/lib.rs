//! The family `network`: streams and echoes, over loopback or paths made here.

use plumb_protocol::Workload;

mod batches;
mod connect;
mod cpu_time;
mod echo;
mod http;
mod icmp;
mod ledger;
mod messages;
mod receiver;
mod requests;
mod rr;
mod stream;
mod tally;
mod tcp;
mod tcp_info;
mod timed_threads;
mod udp;
mod web_stream;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] =
    &[&tcp::Tcp, &udp::Udp, &rr::Rr, &connect::Connect, &http::Http, &icmp::Icmp];
