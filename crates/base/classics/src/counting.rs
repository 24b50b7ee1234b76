//! Which tool counts like which workload of plumb. This is the whole list: nothing is ever compared
//! that does not stand here as the same.

use CountingMatch::{Other, Same};

/// A test of a tool next to the workload of plumb that looks most like it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counting {
    /// The beginning of the imported workload's id.
    pub imported: &'static str,
    /// Id of the workload of plumb that it is compared with.
    pub ours: &'static str,
    /// Whether they count the same.
    pub rule: CountingMatch,
}

/// Whether two counting rules are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountingMatch {
    /// They are: the import becomes a series of plumb's workload, for this reason.
    Same(&'static str),
    /// They are not, for this reason.
    Other(&'static str),
}

const fn counting(imported: &'static str, ours: &'static str, rule: CountingMatch) -> Counting {
    Counting { imported, ours, rule }
}

/// Every import that has something alike in plumb.
pub const COUNTING: &[Counting] = &[
    counting(
        "mbw.copy",
        "memory.copy",
        Same("each copied byte counts once, and a pass copies the whole array once"),
    ),
    counting(
        "bonnie.pass",
        "storage.bonnie",
        Same("the phases make the same calls as bonnie++ 2.00a"),
    ),
    counting(
        "bonnie.write_block",
        "storage.sequential",
        Other("bonnie++ writes through the page cache, and its time includes fsync"),
    ),
    counting(
        "bonnie.read_block",
        "storage.sequential",
        Other("bonnie++ reads through the page cache, so reads may come from memory"),
    ),
    counting(
        "bonnie.seek",
        "storage.random",
        Other(
            "bonnie++ also rewrites every tenth block, from several processes, through the page cache",
        ),
    ),
    counting(
        "cloudwatch.",
        "storage.oneblock",
        Other("CloudWatch counts the requests of all clients of the service, over whole periods"),
    ),
    counting(
        "fio.rand",
        "storage.random",
        Other("fio counts requests on files, with its own depth and engine"),
    ),
    counting(
        "fio.",
        "storage.sequential",
        Other("fio counts requests, with its own depth and engine"),
    ),
    counting(
        "dd.copy",
        "storage.sequential",
        Other("the line does not show what was copied, or whether the page cache was used"),
    ),
    counting(
        "ioping.request",
        "storage.random",
        Other("the line does not show the requests, or how long ioping slept between them"),
    ),
    counting(
        "fs_mark.create",
        "storage.files",
        Other("fs_mark uses 40-byte names, and its time includes its own overhead"),
    ),
    counting(
        "iperf3.tcp",
        "network.tcp",
        Other("the file does not describe the network between iperf3's two hosts"),
    ),
    counting(
        "sockperf.pingpong",
        "network.rr",
        Other("the report does not give the size of the messages"),
    ),
    counting(
        "hyperfine.command",
        "process.command",
        Other(
            "hyperfine subtracts the time of an empty shell unless -N was given, which its file does not record",
        ),
    ),
    counting(
        "openssl.speed",
        "crypto.aead",
        Other(
            "openssl divides by CPU time unless -elapsed was given, and neither sets a nonce nor computes a tag per record",
        ),
    ),
    counting(
        "stream.loop",
        "memory.stream",
        Other("STREAM prints the best of its passes, and its threads share the arrays"),
    ),
    counting(
        "sysbench.memory",
        "memory.copy",
        Other(
            "sysbench fills one small block repeatedly, so it measures a cache and the cost per event",
        ),
    ),
    counting(
        "sysbench.fileio",
        "storage.random",
        Other("sysbench goes through the page cache, with fsync between requests"),
    ),
    counting("sysbench.cpu", "cpu.sieve", Other("sysbench uses trial division, plumb a sieve")),
    counting(
        "stressng.stressor",
        "cpu.sieve",
        Other(
            "bogus operations are not a defined amount of work, and the output does not name the method",
        ),
    ),
    counting(
        "hackbench.messaging",
        "scheduler.messaging",
        Other("the lines do not show whether messages went through sockets or pipes"),
    ),
    counting(
        "cyclictest.timer",
        "scheduler.timer",
        Other(
            "the histogram does not show the interval, the scheduling class, or which CPUs were kept \
               awake",
        ),
    ),
    counting(
        "perf.sched_pipe",
        "scheduler.pipe",
        Other("the lines do not show to which CPUs the two tasks were pinned"),
    ),
    counting(
        "ping.echo",
        "network.icmp",
        Other("the file does not describe the path to ping's host"),
    ),
];

/// What is said of an imported workload; None when plumb has nothing alike.
pub(crate) fn of(imported: &str) -> Option<&'static Counting> {
    COUNTING.iter().find(|counting| imported.starts_with(counting.imported))
}

impl Counting {
    /// The rule in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self.rule {
            Same(why) => format!("counts like {}: {why}", self.ours),
            Other(why) => format!("not comparable with {}: {why}", self.ours),
        }
    }
}
