//! The table: a line a pair of points.

use std::time::Duration;

/// A point of a classic tool and the point of plumb that should read the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedPoints {
    /// The classic's point; its parameters are matched to those of ours.
    pub classic: &'static str,
    /// The point of plumb that should read the same.
    pub ours: &'static str,
    /// The metric that both have, in the same unit.
    pub metric: &'static str,
    /// How far they may lie apart, relative: agreement is an interval of the ratio inside it. None if they do other work
    /// and are only shown, with why they differ.
    pub band: Option<f64>,
    /// A knob and its value that both use if that can be had: a medium in place of the target directory, say.
    pub set: Option<&'static str>,
    /// Why they differ, if that is known; empty if they should not.
    pub known: &'static str,
    /// Seconds that the fewest pairs of a verdict take, about.
    least_s: u64,
}

impl PairedPoints {
    /// The family that it is about; compressing is work of the CPU, and a remote disk is storage.
    #[must_use]
    pub fn family(&self) -> &'static str {
        match self.ours.split('.').next().unwrap_or_default() {
            "compression" => "cpu",
            "block" => "storage",
            family => family,
        }
    }

    /// The margin of the comparison; if both are only shown, it says how long they are compared.
    #[must_use]
    pub fn margin(&self) -> f64 {
        self.band.unwrap_or(0.10)
    }

    /// The most pairs of the comparison, more if the band is narrow: the fewer are allowed, the narrower is the interval at each
    /// look. Its time is what usually ends it.
    #[must_use]
    pub fn most_pairs(&self) -> usize {
        if self.margin() < 0.1 { 135 } else { 40 }
    }

    /// What this row may take of the time that is left, when these rows come after it: nearly twice its share, as most rows need
    /// less; but, if there is enough for all, nothing that others need for the fewest pairs of a verdict, and what it needs
    /// itself.
    #[must_use]
    pub fn share(&self, left: Duration, later: &[Self]) -> Duration {
        let rows = u32::try_from(later.len()).unwrap_or(u32::MAX);
        let share = (left * 2) / rows.saturating_add(2);
        let free = left.saturating_sub(later.iter().map(Self::least).sum());
        if free < self.least() { share } else { share.clamp(self.least(), free) }
    }

    fn least(&self) -> Duration {
        Duration::from_secs(self.least_s)
    }

    /// Whether the classic side needs a checkout that the user names: `--from`.
    #[must_use]
    pub fn needs_checkout(&self) -> bool {
        self.classic.starts_with("classic.langsperformance")
    }

    const fn on(self, knob: &'static str) -> Self {
        Self { set: Some(knob), ..self }
    }

    const fn takes(self, least_s: u64) -> Self {
        Self { least_s, ..self }
    }
}

/// Eight pairs of a second and a half on each side.
const LEAST_S: u64 = 20;

const fn row(
    classic: &'static str,
    ours: &'static str,
    metric: &'static str,
    band: f64,
    known: &'static str,
) -> PairedPoints {
    PairedPoints { classic, ours, metric, band: Some(band), known, set: None, least_s: LEAST_S }
}

const fn shown(
    classic: &'static str,
    ours: &'static str,
    metric: &'static str,
    known: &'static str,
) -> PairedPoints {
    PairedPoints { classic, ours, metric, band: None, known, set: None, least_s: LEAST_S }
}

/// Media for files that are created: what that costs on ext4 without a journal depends on how many were deleted before. In memory
/// stands, too, what takes a pass of ten seconds, of which too few fit where the disk differs from one to the next.
const ON_DISK: &str = "medium=loop+ext4";
const IN_MEMORY: &str = "medium=ram+ext4";

/// Of runtimes that compile while they run.
const WITH_FIRST_LOOP: &str =
    "langs-performance divides all CPU time by the loops, start-up and warm-up included";

/// For long requests: how quick they are depends on whether their buffers lie in one piece, which is chance otherwise.
const HUGE_PAGES: &str = "thp=always";

/// Every pair, by family.
#[rustfmt::skip]
pub const ROWS: &[PairedPoints] = &[
    shown("classic.sysbench", "cpu.integer:operation=div,chain=independent", "rate",
        "sysbench divides smaller numbers, with a loop, a comparison and a branch around each division"),
    shown("classic.stressng:method=sieve", "cpu.sieve", "rate",
        "stress-ng sieves 104,730 numbers as bits in the L1 cache; plumb sieves a million in an array that grows"),
    shown("compression.7zip", "compression.lz", "compress",
        "7-Zip searches for the best matches and uses a range coder; plumb's LZ takes the first match and writes bytes"),
    row("classic.mbw:method=libc,size=64MiB,passes=80,settle=100ms", "memory.copy:method=libc,size=64MiB", "bandwidth", 0.05, ""),
    row("classic.mbw:method=loop,size=64MiB,passes=80,settle=100ms", "memory.copy:method=loop,size=64MiB", "bandwidth", 0.05,
        "mbw's arrays begin 16 bytes after a page boundary; plumb's begin on one").takes(60),
    row("classic.triadloop:settle=100ms", "memory.stream", "bandwidth", 0.05, ""),
    row("classic.triadloop:threads=all,settle=100ms", "memory.stream:threads=all", "bandwidth", 0.05, ""),
    row("classic.hackbench:loops=1000", "scheduler.messaging:loops=1000", "time", 0.10, ""),
    row("classic.hackbench:loops=1000,transport=pipe", "scheduler.messaging:loops=1000,transport=pipe", "time", 0.10, ""),
    row("classic.hackbench:loops=1000,mode=thread", "scheduler.messaging:loops=1000,mode=thread", "time", 0.10, ""),
    row("classic.hackbench:loops=1000,transport=pipe,mode=thread", "scheduler.messaging:loops=1000,transport=pipe,mode=thread", "time", 0.10, ""),
    row("classic.perfmessaging:loops=1000", "scheduler.messaging:loops=1000", "time", 0.10, ""),
    row("classic.cyclictest", "scheduler.timer", "latency_p50", 0.10, ""),
    row("classic.wakeuploop:rate=4000,placement=same-cpu", "scheduler.wakeup:rate=4000,placement=same-cpu", "latency_p50", 0.10, ""),
    row("classic.perfpipe:placement=same-cpu,loops=100000", "scheduler.pipe:placement=same-cpu", "time", 0.10,
        "plumb reads the clock once per round trip, 20 to 60 ns"),
    row("classic.forkloop:resident=64MiB,forks=100", "process.fork:resident=64MiB", "time", 0.10,
        "plumb's worker uses about 10 MB of memory, and its page tables are copied for each child"),
    // What takes its time, as a pass of bonnie++ sleeps for three seconds; then what is soon known, as rows leave time for those
    // behind them; last, what a shared disk does least evenly.
    row("classic.bonniefiles:files=65536", "storage.bonnie:size=1MiB,byte_size=0,seeks=0,files=65536", "create_sequential", 0.10, "").on(IN_MEMORY).takes(80),
    row("classic.bonnie:size=1GiB", "storage.bonnie:size=1GiB,byte_size=0,seeks=0,files=0", "write_block", 0.10, "").on(IN_MEMORY).takes(60),
    row("classic.nbdkit", "block.remote:rtt=5ms", "rate", 0.10, ""),
    row("classic.nbdkit:depth=16,operation=write", "block.remote:rtt=5ms,depth=16,operation=write", "rate", 0.10, ""),
    shown("classic.dd:sync=sample", "storage.sequential:operation=write,direct=no,sync=sample,engine=psync,depth=1,size=256MiB",
        "bandwidth", "dd also reads its zeroes from the kernel, about a sixth of its time; plumb stamps each sector"),
    row("classic.fiosequential:size=256MiB,depth=1,pages=huge,time=600ms", "storage.sequential:size=256MiB,depth=1,direct=yes,pages=huge",
        "bandwidth", 0.10, "").on(HUGE_PAGES),
    row("classic.fiosequential:size=256MiB,depth=32,pages=huge,time=600ms", "storage.sequential:size=256MiB,depth=32,direct=yes,pages=huge",
        "bandwidth", 0.10, "").on(HUGE_PAGES),
    row("classic.fiosequential:size=256MiB,depth=1,operation=write,pages=huge,time=600ms",
        "storage.sequential:size=256MiB,depth=1,operation=write,direct=yes,pages=huge", "bandwidth", 0.10, "").on(HUGE_PAGES),
    row("classic.fiosequential:size=256MiB,depth=32,operation=write,pages=huge,time=600ms",
        "storage.sequential:size=256MiB,depth=32,operation=write,direct=yes,pages=huge", "bandwidth", 0.10, "").on(HUGE_PAGES),
    row("classic.ioping", "storage.random:engine=psync,direct=yes,size=256MiB", "rate", 0.10, ""),
    row("classic.dd:operation=read", "storage.sequential:direct=no,engine=psync,depth=1,size=256MiB", "bandwidth", 0.10, ""),
    row("classic.fio:engine=io_uring,depth=32,size=256MiB,time=600ms", "storage.random:engine=io_uring,depth=32,direct=yes,size=256MiB", "rate", 0.10,
        "fio reads the clock more often per block"),
    row("classic.fio:engine=io_uring,depth=32,operation=write,size=256MiB,time=600ms",
        "storage.random:engine=io_uring,depth=32,operation=write,direct=yes,size=256MiB", "rate", 0.10,
        "fio reads the clock more often per block"),
    row("classic.dd:operation=read,direct=yes,block=128KiB", "storage.sequential:direct=yes,engine=psync,depth=1,size=256MiB,block=128KiB", "bandwidth", 0.10, ""),
    row("classic.fsmark", "storage.files:sync=fsync,files=250", "rate", 0.10, "fs_mark also tries to create its folder \
                before each file").on(ON_DISK),
    row("classic.fio:engine=psync,operation=write,size=256MiB,block=16KiB,time=600ms",
        "storage.random:engine=psync,operation=write,direct=yes,size=256MiB,block=16KiB", "rate", 0.10,
        "fio reads the clock more often per block").takes(30),
    row("classic.fio:engine=psync,size=256MiB,block=16KiB,time=600ms", "storage.random:engine=psync,direct=yes,size=256MiB,block=16KiB",
        "rate", 0.10, "fio reads the clock more often per block").takes(30),
    row("classic.fiooneblock:time=600ms", "storage.oneblock:direct=yes", "rate", 0.10, "").takes(30),
    row("classic.fiolog:time=600ms", "storage.log:file=overwrite", "rate", 0.10, "").takes(30),
    row("classic.fiooneblock:workers=4,time=600ms", "storage.oneblock:workers=4,direct=yes", "rate", 0.10, "").takes(30),
    // With buffers that the kernel sizes, the ratio moves by a fifth from hour to hour (docs/crosscheck.md).
    row("classic.iperf3:placement=cross-cpu,buffer=208KiB", "network.tcp:cork=yes,placement=cross-cpu,buffer=208KiB", "throughput", 0.10,
        "iperf3 calls select for every send"),
    row("classic.iperf3:placement=cross-cpu,direction=down,buffer=208KiB", "network.tcp:cork=yes,placement=cross-cpu,direction=down,buffer=208KiB",
        "throughput", 0.10, "iperf3 calls select for every receive"),
    shown("classic.iperf3:streams=4", "network.tcp:cork=yes,streams=4", "throughput",
        "iperf3 before 3.16 drives all streams from one thread; plumb uses a thread per stream"),
    shown("classic.iperf3:transport=udp,block=1400", "network.udp", "throughput", "plumb sends many datagrams per call; iperf3 sends one"),
    row("classic.sockperf", "network.rr", "rate", 0.10, ""),
    row("classic.sockperf:transport=udp", "network.rr:transport=udp", "rate", 0.10, ""),
    shown("classic.ping:count=100000", "network.icmp", "rate",
        "for every packet, ping also looks up the route, takes timestamps and yields the CPU"),
    row("classic.openssl:cipher=chacha20-poly1305,instructions=no-avx512", "crypto.aead:cipher=chacha20-poly1305", "throughput", 0.10, ""),
    row("classic.openssl:bytes=16,aead=yes", "crypto.aead:bytes=16,provider=system,aad=13,rekey=yes", "throughput", 0.05, ""),
    row("classic.openssl:bytes=1KiB,aead=yes", "crypto.aead:bytes=1KiB,provider=system,aad=13,rekey=yes", "throughput", 0.05, ""),
    row("classic.openssl:aead=yes", "crypto.aead:provider=system,aad=13,rekey=yes", "throughput", 0.05, ""),
    row("classic.openssl:cipher=aes-256-gcm,bytes=16,aead=yes", "crypto.aead:cipher=aes-256-gcm,bytes=16,provider=system,aad=13,rekey=yes", "throughput", 0.05, ""),
    row("classic.openssl:cipher=aes-256-gcm,bytes=1KiB,aead=yes", "crypto.aead:cipher=aes-256-gcm,bytes=1KiB,provider=system,aad=13,rekey=yes", "throughput", 0.05, ""),
    row("classic.openssl:cipher=aes-256-gcm,aead=yes", "crypto.aead:cipher=aes-256-gcm,provider=system,aad=13,rekey=yes", "throughput", 0.05, ""),
    shown("classic.openssl:cipher=chacha20-poly1305,bytes=16,aead=yes", "crypto.aead:cipher=chacha20-poly1305,bytes=16,provider=system,aad=13", "throughput",
        "openssl speed encrypts one endless message, also with -aead: no nonce, no key of Poly1305 and no tag per message"),
    shown("classic.openssl:cipher=chacha20-poly1305,bytes=1KiB,aead=yes", "crypto.aead:cipher=chacha20-poly1305,bytes=1KiB,provider=system,aad=13", "throughput",
        "openssl speed encrypts one endless message, also with -aead: no nonce, no key of Poly1305 and no tag per message"),
    shown("classic.openssl:cipher=chacha20-poly1305,aead=yes", "crypto.aead:cipher=chacha20-poly1305,provider=system,aad=13", "throughput",
        "openssl speed encrypts one endless message, also with -aead: no nonce, no key of Poly1305 and no tag per message"),
    row("classic.langsperformance:language=cpp,time=5s", "language.loop:language=cpp,limit=10000000", "cpu", 0.10, "").takes(90),
    row("classic.langsperformance:language=rust,time=5s", "language.loop:language=rust,limit=10000000", "cpu", 0.10, "").takes(90),
    row("classic.langsperformance:language=java", "language.loop:language=java,limit=10000000", "cpu", 0.10, WITH_FIRST_LOOP).takes(150),
    row("classic.langsperformance:language=go,time=5s", "language.loop:language=go,limit=10000000", "cpu", 0.10, "").takes(90),
    row("classic.langsperformance:language=node", "language.loop:language=node,limit=10000000", "cpu", 0.10, WITH_FIRST_LOOP).takes(150),
    row("classic.langsperformance:language=python", "language.loop:language=python,limit=10000000", "cpu", 0.10, "").takes(150),
    row("classic.langsperformance:language=perl", "language.loop:language=perl,limit=10000000", "cpu", 0.10, "").takes(150),
    row("classic.pgbench", "datastore.mix:mix=c,keys=uniform,engine=postgresql,bytes=16", "rate", 0.10, "").takes(60),
    shown("classic.redisbenchmark", "datastore.mix:mix=c,keys=uniform,engine=redis", "rate",
        "for every request, redis-benchmark also calls epoll_ctl five times and epoll_wait twice").takes(60),
    shown("classic.redisbenchmark:clients=4", "datastore.mix:mix=c,keys=uniform,engine=redis,clients=4", "rate",
        "redis-benchmark drives all connections from one thread").takes(60),
    row("classic.stime", "tls.handshake:client=openssl,server=openssl", "rate", 0.10, "").takes(60),
    shown("classic.stime", "tls.handshake", "rate", "plumb's own ends use rustls with ring").takes(60),
    shown("classic.stime:mode=resumed", "tls.handshake:mode=resumed", "rate",
        "plumb's own ends use rustls with ring; s_time also requests a page").takes(60),
    row("classic.sshdd:size=512MiB", "ssh.cipher", "throughput", 0.10, "").takes(60),
    row("classic.sshdd:size=512MiB,cipher=aes256-ctr", "ssh.cipher:cipher=aes256-ctr", "throughput", 0.10, "").takes(60),
];

/// The rows of a family; of all without one.
#[must_use]
pub fn rows_of(family: Option<&str>) -> Vec<PairedPoints> {
    ROWS.iter().filter(|row| family.is_none_or(|family| row.family() == family)).copied().collect()
}

/// The families of these rows, whose rows stand together.
#[must_use]
pub fn families(rows: &[PairedPoints]) -> Vec<&'static str> {
    let mut families: Vec<&str> = rows.iter().map(PairedPoints::family).collect();
    families.dedup();
    families
}

/// Time for these rows if the user states none: two minutes for each, but not more than ten for a family.
#[must_use]
pub fn usual_budget(rows: &[PairedPoints]) -> Duration {
    let minutes = (2 * rows.len()).min(10 * families(rows).len());
    Duration::from_secs(60 * minutes as u64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{PairedPoints, ROWS, families, row, rows_of, usual_budget};

    #[test]
    fn rows_of_memory_leave_out_the_first_passes_of_both_sides() {
        // The engine leaves out the first 100 ms of ours. In them, a machine may be half as fast.
        for row in rows_of(Some("memory")) {
            assert!(row.classic.contains("settle=100ms"), "{}", row.classic);
        }
    }

    #[test]
    fn a_family_takes_ten_minutes_at_most() {
        let minutes = |rows: &[PairedPoints]| usual_budget(rows).as_secs() / 60;
        let of = |family| rows_of(Some(family));
        assert_eq!((minutes(&of("memory")), minutes(&of("storage"))), (8, 10));
        assert!(minutes(ROWS) > 20);
    }

    #[test]
    fn a_row_may_take_nearly_twice_its_share_and_leaves_to_others_what_they_need() {
        let quick = row("classic.mbw", "memory.copy", "bandwidth", 0.05, "");
        let seconds = |row: PairedPoints, left, later: &[PairedPoints]| {
            row.share(Duration::from_secs(left), later).as_secs()
        };
        // Of many rows twice the mean, of few what the others leave, and the last what there is.
        assert_eq!(seconds(quick, 600, &[quick; 8]), 120);
        assert_eq!([2, 1, 0].map(|later| seconds(quick, 90, &[quick; 2][..later])), [45, 60, 90]);
        assert_eq!(seconds(quick, 90, &[quick.takes(60)]), 30);
        assert_eq!(seconds(quick.takes(75), 600, &[quick; 19]), 75);
        // Where it is not enough for all, each has its share.
        assert_eq!(seconds(quick.takes(75), 100, &[quick; 8]), 20);
    }

    #[test]
    fn rows_are_of_classics_and_families_that_stand_together() {
        let mut families = families(ROWS);
        assert!(ROWS.iter().all(|row| row.band.map_or(!row.known.is_empty(), |band| band > 0.0)));
        let count = families.len();
        families.sort_unstable();
        families.dedup();
        assert_eq!(families.len(), count, "the rows of a family stand together");
    }
}
