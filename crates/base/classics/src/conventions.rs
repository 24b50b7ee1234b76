//! What classic tools print, in plumb's figures, and back: units and counting rules, as `docs/conventions.md` has them.

use std::fmt::Write as _;

/// A figure that a tool prints, beside plumb's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Convention {
    /// The tool, with the versions that it is true of.
    pub tool: &'static str,
    /// What it prints.
    pub prints: &'static str,
    /// In which unit.
    pub unit: &'static str,
    /// Plumb's workload, with the parameters that matter.
    pub ours: &'static str,
    /// Its metric, in an SI base unit.
    pub metric: &'static str,
    /// Times the tool's number gives plumb's.
    pub factor: f64,
    /// What is counted, and what to look out for.
    pub why: &'static str,
}

impl Convention {
    /// Plumb's figure, in its SI unit, for what the tool prints.
    #[must_use]
    pub fn to_ours(&self, theirs: f64) -> f64 {
        theirs * self.factor
    }

    /// What the tool would print for plumb's figure.
    #[must_use]
    pub fn to_theirs(&self, ours: f64) -> f64 {
        ours / self.factor
    }
}

/// A figure of a tool that nothing of plumb's should be compared with, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoConvention {
    /// The tool.
    pub tool: &'static str,
    /// What it prints.
    pub prints: &'static str,
    /// Why not.
    pub why: &'static str,
}

const MIB: f64 = 1_048_576.0;
const KIB: f64 = 1024.0;
const MEGA: f64 = 1e6;

const fn rate(
    tool: &'static str,
    [prints, unit]: [&'static str; 2],
    ours: &'static str,
    factor: f64,
    why: &'static str,
) -> Convention {
    Convention { tool, prints, unit, ours, metric: "bandwidth", factor, why }
}

const fn of(
    tool: &'static str,
    [prints, unit]: [&'static str; 2],
    [ours, metric]: [&'static str; 2],
    factor: f64,
    why: &'static str,
) -> Convention {
    Convention { tool, prints, unit, ours, metric, factor, why }
}

const SWAPPED: &str =
    "up to 1.3 the labels MEMCPY and DUMB are swapped; each byte copied counts once";
const ONCE: &str = "each byte copied counts once";
const STREAM: &str = "bytes that the kernel reads and writes; the line that an ordinary store reads first does not count";

/// All figures that have an equal.
pub const CONVENTIONS: &[Convention] = &[
    rate("mbw ≥ 1.4", ["MEMCPY", "MiB/s"], "memory.copy:method=libc", MIB, ONCE),
    rate("mbw ≥ 1.4", ["DUMB", "MiB/s"], "memory.copy:method=loop", MIB, ONCE),
    rate("mbw ≥ 1.3", ["MCBLOCK", "MiB/s"], "memory.copy:method=block", MIB, ONCE),
    rate("mbw ≤ 1.3", ["DUMB", "MiB/s"], "memory.copy:method=libc", MIB, SWAPPED),
    rate("mbw ≤ 1.3", ["MEMCPY", "MiB/s"], "memory.copy:method=loop", MIB, SWAPPED),
    rate("STREAM 5.10", ["Copy", "MB/s"], "memory.stream:kernel=copy", MEGA, STREAM),
    rate("STREAM 5.10", ["Scale", "MB/s"], "memory.stream:kernel=scale", MEGA, STREAM),
    rate("STREAM 5.10", ["Add", "MB/s"], "memory.stream:kernel=add", MEGA, STREAM),
    rate("STREAM 5.10", ["Triad", "MB/s"], "memory.stream:kernel=triad", MEGA, STREAM),
    rate(
        "STREAM 5.10",
        ["Copy", "MB/s"],
        "memory.copy:method=loop",
        MEGA / 2.0,
        "STREAM counts a byte that is copied twice, read and written; a compiler may have made memcpy of its loop",
    ),
    rate(
        "lmbench bw_mem",
        ["bcopy", "MB/s"],
        "memory.copy:method=libc",
        MEGA,
        "each byte copied counts once; bw_mem prints millions, whatever it calls them",
    ),
    rate(
        "lmbench bw_mem",
        ["rd", "MB/s"],
        "memory.read",
        MEGA,
        "bytes read; bw_mem loads every fourth word of 4 bytes",
    ),
    rate(
        "lmbench bw_mem",
        ["wr", "MB/s"],
        "memory.write",
        MEGA,
        "bytes written; bw_mem stores every fourth word of 4 bytes",
    ),
    of(
        "lmbench lat_mem_rd -t",
        ["latency", "ns"],
        ["memory.latency", "latency"],
        1e-9,
        "a random cycle; without -t its stride is regular, and prefetchers hide the latency",
    ),
    of("lmbench lat_proc", ["fork", "µs"], ["process.fork", "time"], 1e-6, "fork, exit and wait"),
    of(
        "cbench fork-bench",
        ["loops", "in 30 s"],
        ["process.fork:threads=16,end=exit", "rate"],
        1.0 / 30.0,
        "forks of all 16 threads",
    ),
    of(
        "cbench yield-bench",
        ["loops", "in 30 s"],
        ["scheduler.yield:threads=16", "rate"],
        1.0 / 30.0,
        "yields of all 16 threads",
    ),
    of(
        "hackbench",
        ["Time", "s"],
        ["scheduler.messaging", "time"],
        1.0,
        "with the start of no task, and the end of all",
    ),
    of(
        "perf bench sched pipe",
        ["usecs/op", "µs"],
        ["scheduler.pipe", "time"],
        1e-6,
        "a round trip: two messages, at least two switches",
    ),
    of(
        "cyclictest",
        ["Avg", "µs"],
        ["scheduler.timer", "latency"],
        1e-6,
        "how late a sleep until a fixed time ends",
    ),
    of(
        "7z b",
        ["Speed", "KiB/s"],
        ["compression.7zip", "compress"],
        KIB,
        "bytes of the original, compressed; MIPS are nominal instructions, and no figure of the CPU",
    ),
    of(
        "openssl speed",
        ["16384 bytes", "k"],
        ["crypto.aead:bytes=16384", "throughput"],
        1e3,
        "k is 1,000 bytes a second; by CPU time unless -elapsed",
    ),
    of(
        "sockperf ping-pong",
        ["Latency", "µs"],
        ["network.rr:transport=udp", "latency"],
        2e-6,
        "half of a round trip, unless --full-rtt was given; the line is a mean, percentiles stand below it",
    ),
    of(
        "iperf3",
        ["Bitrate, receiver", "bit/s"],
        ["network.tcp", "throughput"],
        0.125,
        "what the receiver counted, without heads",
    ),
];

/// Figures that have none.
pub const NONE: &[NoConvention] = &[
    NoConvention {
        tool: "mbw < 1.3",
        prints: "MCBLOCK",
        why: "it reads one block again and again, so it shows the writing of memory and the reading of a cache",
    },
    NoConvention {
        tool: "sysbench memory",
        prints: "MiB/s",
        why: "blocks of 1 KiB in one buffer: a cache, and the cost of each event",
    },
    NoConvention {
        tool: "sysbench cpu",
        prints: "events/s",
        why: "divisions by trial up to 10,000: the speed of one divider, and of no program",
    },
    NoConvention {
        tool: "/proc/cpuinfo",
        prints: "BogoMIPS",
        why: "twice the frequency of a counter: nothing is measured",
    },
];

/// `docs/conventions.md`.
#[must_use]
pub fn page() -> String {
    let mut page = "# Figures of classic tools in plumb's, and back\n\n\
         Written from the code (`UPDATE_DOCS=1 cargo test -p plumb-cli --test reference`); do not edit. plumb stores and exports SI\n\
         base units: B/s, s, operations a second. Multiply what a tool prints by the fourth column to get plumb's figure, and\n\
         plumb's figure by the fifth to get the tool's. `plumb import` does the first by itself, where it reads the tool.\n\n\
         | tool | prints | plumb | plumb = tool × | tool = plumb × | what counts |\n\
         | --- | --- | --- | --: | --: | --- |\n"
        .to_owned();
    for it in CONVENTIONS {
        let Convention { tool, prints, unit, ours, metric, factor, why } = it;
        let _ = writeln!(
            page,
            "| {tool} | {prints}, {unit} | `{ours}`, {metric} | {} | {} | {why} |",
            number(*factor),
            number(1.0 / factor)
        );
    }
    page.push_str("\nThese have no equal, and plumb compares nothing with them:\n\n| tool | prints | why |\n| --- | --- | --- |\n");
    for NoConvention { tool, prints, why } in NONE {
        let _ = writeln!(page, "| {tool} | {prints} | {why} |");
    }
    page
}

/// A factor as people write it.
fn number(value: f64) -> String {
    let is_short = (1e-3..1e7).contains(&value);
    if is_short && (value.fract() == 0.0 || value > 0.01) {
        let text = format!("{value:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        let text = format!("{value:.4e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        if power == "0" { digits.to_owned() } else { format!("{digits}e{power}") }
    }
}

#[cfg(test)]
mod tests {
    use super::{CONVENTIONS, number};

    #[test]
    fn what_goes_there_comes_back() {
        for it in CONVENTIONS {
            let there = it.to_ours(123.0);
            assert!((it.to_theirs(there) / 123.0 - 1.0).abs() < 1e-12, "{it:?}");
        }
        let find = |tool: &str, prints: &str| {
            *CONVENTIONS.iter().find(|it| it.tool == tool && it.prints == prints).unwrap()
        };
        // The notes of a small board have these of mbw 1.1.1, whose labels are swapped.
        let (loops, libc) = (find("mbw ≤ 1.3", "MEMCPY"), find("mbw ≤ 1.3", "DUMB"));
        assert_eq!((loops.ours, libc.ours), ("memory.copy:method=loop", "memory.copy:method=libc"));
        assert_eq!(libc.to_ours(60.502).round(), 63_440_945.0);
    }

    #[test]
    fn factors_are_short() {
        let all = [1.0, 1_048_576.0, 1e6, 5e5, 0.125, 1e-9, 1.0 / 30.0, 8.0, 1.0 / 1_048_576.0];
        let shown = all.map(number);
        assert_eq!(
            shown,
            ["1", "1048576", "1000000", "500000", "0.125", "1e-9", "0.0333", "8", "9.5367e-7"]
        );
    }
}
