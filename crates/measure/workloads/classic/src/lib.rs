//! The family `classic`: well-known tools as workloads, for comparison with plumb's workloads.
//!
//! `plumb crosscheck` compares each with the workload that should give the same figure. Each tool is a file that says
//! how it is started, with its manual next to it; `classics` reads the output.

use plumb_protocol::Workload;

mod bonnie;
mod build;
mod cloop;
mod cyclictest;
mod dd;
mod fio;
mod fsmark;
mod hackbench;
mod ioping;
mod iperf3;
mod laid_out;
mod mbw;
mod named;
mod nbdkit;
mod openssl;
mod perf;
mod pgbench;
mod ping;
mod rated_program;
mod redisbenchmark;
mod runs;
mod servers;
mod sockperf;
mod sshdd;
mod stime;
mod stream;
mod stressng;
mod sysbench;
mod tool;
mod version;

use tool::Classic;

/// The name of this family, in front of the dot of an id.
pub const FAMILY: &str = "classic";

/// What holds for all workloads of this family: a section for the end of each manual.
pub const OF_ALL: &str = include_str!("of_all.md");

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[
    &Classic(mbw::Mbw),
    &Classic(hackbench::Hackbench),
    &Classic(perf::Perf::Pipe),
    &Classic(perf::Perf::Messaging),
    &Classic(cyclictest::Cyclictest),
    &Classic(cloop::CLoop::Fork),
    &Classic(cloop::CLoop::Wakeup),
    &Classic(cloop::CLoop::Triad),
    &Classic(stream::ClassicStream),
    &Classic(sysbench::Sysbench),
    &Classic(stressng::StressNg),
    &Classic(fio::Fio::Random),
    &Classic(fio::Fio::Sequential),
    &Classic(fio::Fio::OneBlock),
    &Classic(fio::Fio::Log),
    &Classic(dd::Dd),
    &Classic(ioping::Ioping),
    &Classic(fsmark::FsMark),
    &Classic(bonnie::ClassicBonnie::Blocks),
    &Classic(bonnie::ClassicBonnie::Files),
    &Classic(iperf3::Iperf3),
    &Classic(sockperf::Sockperf),
    &Classic(ping::Ping),
    &Classic(openssl::Openssl),
    &pgbench::Pgbench,
    &redisbenchmark::RedisBenchmark,
    &stime::STime,
    &sshdd::SshDd,
    &Classic(nbdkit::Nbdkit),
];
