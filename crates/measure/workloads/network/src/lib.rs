//! The family `network`: streams, datagrams, requests and echoes, opening connections, and files over HTTP.

use plumb_protocol::Workload;

mod batches;
mod connect;
mod echo;
mod flows;
mod http;
mod icmp;
mod ledger;
mod losses;
mod messages;
mod receiver;
mod requests;
mod rr;
mod stream;
mod tally;
mod tcp;
mod tcp_info;
mod tunnel;
mod udp;
mod web_stream;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] =
    &[&tcp::Tcp, &udp::Udp, &rr::Rr, &icmp::Icmp, &connect::Connect, &http::Http];
