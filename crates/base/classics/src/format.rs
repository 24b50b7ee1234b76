//! The formats of files that other tools write.

/// The tool that wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The CSV of bonnie++: 27 fields (1.03), 48 (1.96, 1.97) or 50 (1.98, 2.00).
    Bonnie,
    /// The JSON of `aws cloudwatch get-metric-statistics`.
    CloudWatch,
    /// fio's JSON (`--output-format=json`).
    Fio,
    /// iperf3's JSON (`-J`).
    Iperf3,
    /// hyperfine's JSON (`--export-json`).
    Hyperfine,
    /// The passes and averages that mbw prints.
    Mbw,
    /// `openssl speed -mr`.
    Openssl,
    /// The report of sysbench.
    Sysbench,
    /// The times that hackbench prints.
    Hackbench,
    /// `perf bench` in its default format.
    Perf,
    /// The summary of ping.
    Ping,
    /// The line of dd.
    Dd,
    /// The raw line of ioping (`-B`).
    Ioping,
    /// The table of fs_mark.
    FsMark,
    /// The histogram of cyclictest (`-h`).
    Cyclictest,
    /// The metrics of stress-ng.
    StressNg,
    /// The table of STREAM.
    Stream,
    /// The report of `sockperf ping-pong`.
    Sockperf,
}

impl Format {
    /// All formats, in the order in which a file is tried.
    pub const ALL: [Self; 18] = [
        Self::Fio,
        Self::Iperf3,
        Self::Hyperfine,
        Self::Sysbench,
        Self::Mbw,
        Self::Openssl,
        Self::Bonnie,
        Self::Hackbench,
        Self::Perf,
        Self::Ping,
        Self::CloudWatch,
        Self::Dd,
        Self::FsMark,
        Self::Ioping,
        Self::Cyclictest,
        Self::StressNg,
        Self::Stream,
        Self::Sockperf,
    ];

    /// The word that people type.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Bonnie => "bonnie",
            Self::CloudWatch => "cloudwatch",
            Self::Fio => "fio",
            Self::Iperf3 => "iperf3",
            Self::Hyperfine => "hyperfine",
            Self::Mbw => "mbw",
            Self::Openssl => "openssl",
            Self::Sysbench => "sysbench",
            Self::Hackbench => "hackbench",
            Self::Perf => "perf",
            Self::Ping => "ping",
            Self::Dd => "dd",
            Self::Ioping => "ioping",
            Self::FsMark => "fs_mark",
            Self::Cyclictest => "cyclictest",
            Self::StressNg => "stress-ng",
            Self::Stream => "stream",
            Self::Sockperf => "sockperf",
        }
    }

    /// Its name in sentences.
    #[must_use]
    pub fn described(self) -> &'static str {
        match self {
            Self::Bonnie => "bonnie++ CSV",
            Self::CloudWatch => "CloudWatch JSON",
            Self::Fio => "fio JSON",
            Self::Iperf3 => "iperf3 JSON",
            Self::Hyperfine => "hyperfine JSON",
            Self::Mbw => "mbw output",
            Self::Openssl => "`openssl speed -mr` output",
            Self::Sysbench => "sysbench output",
            Self::Hackbench => "hackbench output",
            Self::Perf => "perf bench output",
            Self::Ping => "ping output",
            Self::Dd => "dd output",
            Self::Ioping => "ioping -B output",
            Self::FsMark => "fs_mark output",
            Self::Cyclictest => "cyclictest histogram",
            Self::StressNg => "stress-ng metrics",
            Self::Stream => "STREAM output",
            Self::Sockperf => "`sockperf ping-pong` output",
        }
    }
}
