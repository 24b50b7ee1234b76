//! The family `network`: streams, datagrams, requests and echoes; what is about connections lies in the crate `web`.

use plumb_protocol::Workload;

mod batches;
mod echo;
mod flows;
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
mod udp;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&tcp::Tcp, &udp::Udp, &rr::Rr, &icmp::Icmp];
