//! Which tool counts like which workload of plumb. This is the whole list: nothing is ever compared
//! that does not stand here as the same.

use Rule::{Other, Same};

/// A test of a tool next to the workload of plumb that looks most like it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counting {
    /// The beginning of the imported workload's id.
    pub imported: &'static str,
    /// Id of the workload of plumb that it is compared with.
    pub ours: &'static str,
    /// Whether they count the same.
    pub rule: Rule,
}

/// Whether two counting rules are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// They are: the import becomes a series of plumb's workload, for this reason.
    Same(&'static str),
    /// They are not, for this reason.
    Other(&'static str),
}

const fn counting(imported: &'static str, ours: &'static str, rule: Rule) -> Counting {
    Counting { imported, ours, rule }
}

/// Every import that has something alike in plumb.
pub const COUNTING: &[Counting] = &[
    counting(
        "mbw.copy",
        "memory.copy",
        Same("each byte copied counts once, and a pass copies the whole array once"),
    ),
    counting(
        "bonnie.pass",
        "storage.bonnie",
        Same("the phases are those of bonnie++ 2.00a, call by call"),
    ),
    counting(
        "bonnie.write_block",
        "storage.sequential",
        Other("bonnie++ writes through the page cache and has fsync inside its time"),
    ),
    counting(
        "bonnie.read_block",
        "storage.sequential",
        Other("bonnie++ reads through the page cache, and memory may answer"),
    ),
    counting(
        "bonnie.seek",
        "storage.random",
        Other(
            "bonnie++ writes every tenth block back, from several processes, through the page cache",
        ),
    ),
    counting(
        "cloudwatch.metric",
        "storage.oneblock",
        Other("CloudWatch counts what all clients of the service asked for, over whole periods"),
    ),
    counting(
        "fio.rand",
        "storage.random",
        Other("fio counts requests on files, at a depth and through an engine of its own"),
    ),
    counting(
        "fio.",
        "storage.sequential",
        Other("fio counts what was asked for, at a depth and through an engine of its own"),
    ),
    counting(
        "dd.copy",
        "storage.sequential",
        Other("the line does not say what was copied, nor whether the page cache took part"),
    ),
    counting(
        "ioping.request",
        "storage.random",
        Other(
            "the line does not say what was asked for, nor how long ioping slept between requests",
        ),
    ),
    counting(
        "fs_mark.create",
        "storage.files",
        Other("names of fs_mark have 40 bytes, and its own work lies inside the time"),
    ),
    counting(
        "iperf3.tcp",
        "network.tcp",
        Other("the file does not say what lies between the two hosts of iperf3"),
    ),
    counting(
        "sockperf.pingpong",
        "network.rr",
        Other("the report does not say how large the messages were"),
    ),
    counting(
        "hyperfine.command",
        "process.command",
        Other(
            "hyperfine subtracts the time of an empty shell unless -N was given, and its file does not say",
        ),
    ),
    counting(
        "openssl.speed",
        "crypto.aead",
        Other(
            "openssl divides by CPU time unless -elapsed was given, and leaves out nonce and tag of records",
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
        Other("sysbench fills one small block again and again: a cache and the cost of an event"),
    ),
    counting(
        "sysbench.fileio",
        "storage.random",
        Other("sysbench goes through the page cache, with fsync between requests"),
    ),
    counting("sysbench.cpu", "cpu.sieve", Other("sysbench divides, plumb sieves")),
    counting(
        "stressng.stressor",
        "cpu.sieve",
        Other("bogus operations are of no known work: the output does not say the method"),
    ),
    counting(
        "hackbench.messaging",
        "scheduler.messaging",
        Other("the lines do not say whether messages went through sockets or pipes"),
    ),
    counting(
        "cyclictest.timer",
        "scheduler.timer",
        Other("the histogram does not say the interval, the class, nor which CPUs were kept awake"),
    ),
    counting(
        "perf.sched_pipe",
        "scheduler.pipe",
        Other("the lines do not say which CPUs the two tasks were kept to"),
    ),
    counting(
        "ping.echo",
        "network.icmp",
        Other("the file does not say what lies on the way to the host of ping"),
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
            Other(why) => format!("not compared with {}: {why}", self.ours),
        }
    }
}
