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
            Self::Bonnie => "the CSV of bonnie++",
            Self::CloudWatch => "the JSON of CloudWatch",
            Self::Fio => "the JSON of fio",
            Self::Iperf3 => "the JSON of iperf3",
            Self::Hyperfine => "the JSON of hyperfine",
            Self::Mbw => "the lines of mbw",
            Self::Openssl => "the lines of `openssl speed -mr`",
            Self::Sysbench => "the report of sysbench",
            Self::Hackbench => "the lines of hackbench",
            Self::Perf => "the report of perf bench",
            Self::Ping => "the summary of ping",
            Self::Dd => "the line of dd",
            Self::Ioping => "the raw line of ioping",
            Self::FsMark => "the table of fs_mark",
            Self::Cyclictest => "the histogram of cyclictest",
            Self::StressNg => "the metrics of stress-ng",
            Self::Stream => "the table of STREAM",
            Self::Sockperf => "the report of `sockperf ping-pong`",
        }
    }
}
