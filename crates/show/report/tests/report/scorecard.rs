//! The scorecard as people see it.

use insta::assert_snapshot;
use plumb_analysis::testing::{Builder, COPY, Spec};
use plumb_analysis::{Estimate, RightAnswers, RunFinding, summarise, testing};
use plumb_model::{Flag, FlagKind, RunRecord, RunStatus};
use plumb_report::run::{
    ImplementationRow, ImplementationTable, best_quarter_text, both_intervals, right_answers_text,
};
use plumb_report::{
    FlagWeight, NextSteps, View, brief_scorecard, document, in_words, markdown, scorecard,
};
use plumb_text::{Colour, Terminal};

fn closing() -> NextSteps {
    NextSteps {
        stored: Some("~/.local/share/plumb/plumb.db".into()),
        next: vec![
            ("plumb show last --json".into(), "the same as a document".into()),
            ("plumb compare last~1 last".into(), "what changed since the run before".into()),
        ],
        store_option: String::new(),
    }
}

fn shown(finding: &RunFinding, terminal: &Terminal) -> String {
    scorecard(&View::new(finding), terminal, &closing())
}

#[test]
#[expect(clippy::too_many_lines, reason = "the snapshot is the whole card")]
fn a_first_look_in_80_columns() {
    let finding = summarise(&testing::first_look());
    assert_snapshot!(shown(&finding, &Terminal::plain(80)), @"
    plumb first-look                                     complete · run 019aa82151c0
    Intel(R) Xeon(R) Processor @ 2.30GHz · 2 CPUs · 24 GiB · virtual machine (QEMU)
    Linux 6.18.44 · Debian GNU/Linux 12 (bookworm)
    /srv/bench/plumb-target: ext4 on /dev/vda
    2026-11-21 20:05 UTC · took 2 min 19 s · board=rev-c · plumb 0.1.0
    goal: ±3 % within 2 min; reached by 17 of 24 measured points in this session, 2
    without an interval

                                median 95 % interval unit         n    CPU  shape
    cpu
      sieve 1 thread               412 [400, 426]    ops/s    13×20   99 %  ▂▂▅▇▇▆▄▃
      sieve 2 threads              800 [774, 827]    ops/s    13×20  199 %  ▃▅▅▇▇▇▅▃
    memory
      copy libc                   11.4 [10.6, 12.1]  GB/s     13×20   99 %  ▃▃▅▇▆▅▄▃
        86 % [77, 96] of this machine's ceiling (13.2 GB/s with method=nt)
      copy loop                    9.7 [9.4, 10.0]   GB/s     13×20   99 %  ▂▂▄▆▇▇▅▃
        74 % [67, 80] of this machine's ceiling (13.2 GB/s with method=nt)
      copy block                  10.1 [9.1, 11.3]   GB/s     13×20   99 %  ▂▃▄▆▇▅▃▂
        77 % [67, 88] of this machine's ceiling (13.2 GB/s with method=nt)
      copy nt                     13.2 [12.1, 14.4]  GB/s     13×20   99 %  ▃▄▅▇▇▄▂▃
      latency 16KiB               1.42 [1.39, 1.46]  ns       13×20   99 %  ▃▄▅▇▇▆▅▃
      latency 64MiB                 88 [69, 112]     ns       13×20   99 %  ▃▄▇▇▇▄▄▃
        ! capped
    scheduler
      messaging groups=10         1.83 [1.69, 2.00]  s         10×3  198 %  ▂▃▇▄▄▂▁▂
      pipe same                    4.1 [3.4, 5.0]    µs       13×20   98 %  ▃▅▅▇▆▅▄▃
      pipe across                 19.7 [18.9, 20.3]  µs       13×20  107 %  ▆▇▂▂▂▃▅▃
        or                        27.2 none          µs
        19.7 µs in 62 % [32, 84] of the processes, 27.2 µs in the others
        ! noisy, bimodal
    process
      fork                         132 [127, 137]    µs       13×20   99 %  ▃▄▆▇▇▆▃▃
      command                      609 (in 134 ms)   µs       220×1   95 %  ▃▃▆▇▇▆▄▂
    storage
      sequential write            84.7 (in 829 ms)   MB/s      10×8   13 %  ▃▄▄▆▇▆▇▃
        waits for I/O 71 % of the time
        ! noisy
      random                      20.7 (in 992 ms)   k ops/s  10×10   35 %  ▂▄▅▇▆▄▄▃
        waits for I/O 58 % of the time
        ! cached, noisy
    network
      tcp                         2.86 (in 1.9 s)    GB/s     1×240  127 %  ▂▃▆▆▇▄▃▂
        22.9 Gbit/s
        ! single-process
    crypto
      aead aes-256-gcm            4.31 [4.18, 4.45]  GB/s     13×20   99 %  ▄▄▇▆▇▄▃▃
      aead aes-128-gcm            5.12 [4.95, 5.30]  GB/s     13×20   99 %  ▂▄▆▇▆▆▄▃
      aead chacha20-poly1305      1.87 [1.82, 1.92]  GB/s     13×20   99 %  ▃▄▅▇▆▆▄▂
    ssh
      cipher                       610 none          MB/s       4×3  180 %  ▃▇▄▃▃▄▁▃
        aes256-gcm@openssh.com
        no interval: too few processes: 4, needs 8
      cipher                       331 none          MB/s       4×3  180 %  ▃▇▅▁▇▅▁▃
        chacha20-poly1305@
        openssh.com
        no interval: too few processes: 4, needs 8
    language
      sieve c                     4.92 (in 153 ms)   ms        31×1   99 %  ▇▇▃▃▇▃▃▅
      sieve javascript            61.5 (in 1.9 s)    ms        31×1   99 %  ▂▁▁▃▃▃▇▅
      sieve python                 213 [196, 231]    ms        31×1   99 %  ▂▃▃▇▃▄▃▄
    intervals describe this machine over ten minutes if sessions are long enough ·
    n: invocations × samples · CPU: share of wall time · shape: low to high
    no baseline (no figure is known: set one with --expect, or add a reference):
    cpu.sieve, cpu.sieve:threads=2, memory.latency:size=16KiB, memory.latency,
    scheduler.messaging:groups=10, scheduler.pipe, scheduler.pipe:placement=across,
    process.fork, process.command, network.tcp, crypto.aead,
    crypto.aead:cipher=aes-128-gcm, crypto.aead:cipher=chacha20-poly1305,
    ssh.cipher, ssh.cipher:cipher=chacha20-poly1305@openssh.com, language.sieve,
    language.sieve:language=javascript, language.sieve:language=python
    no baseline (no other method measured in this run was faster):
    memory.copy:method=nt
    no baseline (not measured: --ceilings measures other values of place):
    storage.sequential:operation=write, storage.random

    Curves and rankings
      cpu.sieve by threads  threads=2: 1.939× threads=1, efficiency 97.0 % [96.3,
                            97.6]

    Reasons to distrust
      cached          fewer bytes reached the device than the workload moved: this
                      measures memory as well (storage.random: 3 % of the bytes
                      reached the device)
      capped          a size is smaller than recommended: caches may affect the
                      result (memory.latency: 64 MiB where 4 × the last-level cache
                      of 260 MiB is wanted)
      noisy           the samples vary too much for the requested precision
                      (scheduler.pipe:placement=across: ±32 % in this session,
                      wanted ±3 %; 2 more)
      single-process  another process may give a different result, however narrow
                      the interval (network.tcp: one process: the variation between
                      processes is unknown)
      bimodal         there are two levels: a median between them describes neither
                      (scheduler.pipe:placement=across: 38 % of the processes are
                      38 % above the others)

    Not supported here
      network.icmp  raw sockets need CAP_NET_RAW and ping sockets are closed to this
                    group
        fix: sysctl -w net.ipv4.ping_group_range='0 2147483647', or run as root

    Failed
      datastore.batch  the database answered: disk I/O error (3 of 3 invocations)
        last output: disk I/O error (10)

    stored: ~/.local/share/plumb/plumb.db
    plumb show last --json     the same as a document
    plumb compare last~1 last  what changed since the run before
    ");
}

#[test]
fn a_first_look_in_160_columns() {
    let finding = summarise(&testing::first_look());
    assert_snapshot!(shown(&finding, &Terminal::plain(160)), @"
    plumb first-look                                                                                                                     complete · run 019aa82151c0
    Intel(R) Xeon(R) Processor @ 2.30GHz · 2 CPUs · 24 GiB · virtual machine (QEMU)
    Linux 6.18.44 · Debian GNU/Linux 12 (bookworm)
    /srv/bench/plumb-target: ext4 on /dev/vda
    2026-11-21 20:05 UTC · took 2 min 19 s · board=rev-c · plumb 0.1.0
    goal: ±3 % within 2 min; reached by 17 of 24 measured points in this session, 2 without an interval

                                   metric      median 95 % interval unit         ±      n   user  system  iowait    memory  shape         stopped by  flags
    cpu
      sieve 1 thread               rate           412 [400, 426]    ops/s    3.2 %  13×20   99 %     0 %     0 %  6.00 MiB  ▂▂▃▅▇▇▇▇▆▄▃▃  precision
      sieve 2 threads              rate           800 [774, 827]    ops/s    3.4 %  13×20  198 %     1 %     0 %  6.00 MiB  ▂▄▅▄▇▆▇▅▆▅▃▃  precision
    memory
      copy libc                    bandwidth     11.4 [10.6, 12.1]  GB/s     6.9 %  13×20   99 %     0 %     0 %   132 MiB  ▂▃▃▄▅▇▆▆▄▄▃▂  precision
        86 % [77, 96] of this machine's ceiling (13.2 GB/s with method=nt)
      copy loop                    bandwidth      9.7 [9.4, 10.0]   GB/s     2.9 %  13×20   99 %     0 %     0 %   132 MiB  ▂▂▂▃▅▅▆▇▅▄▃▂  precision
        74 % [67, 80] of this machine's ceiling (13.2 GB/s with method=nt)
      copy block                   bandwidth     10.1 [9.1, 11.3]   GB/s      11 %  13×20   99 %     0 %     0 %   132 MiB  ▂▃▃▄▅▆▇▆▄▄▂▂  precision
        77 % [67, 88] of this machine's ceiling (13.2 GB/s with method=nt)
      copy nt                      bandwidth     13.2 [12.1, 14.4]  GB/s     8.9 %  13×20   99 %     0 %     0 %   132 MiB  ▂▄▄▄▆▇▇▄▃▃▂▃  precision
      latency 16KiB                latency       1.42 [1.39, 1.46]  ns       2.6 %  13×20   99 %     0 %     0 %  68.0 MiB  ▃▃▄▅▆▇▇▆▆▅▃▃  precision
      latency 64MiB                latency         88 [69, 112]     ns        27 %  13×20   99 %     0 %     0 %  68.0 MiB  ▂▃▅▆▆▇▇▆▃▄▂▃  precision   capped
    scheduler
      messaging groups=10          time          1.83 [1.69, 2.00]  s        9.7 %   10×3   12 %   186 %     0 %  6.00 MiB  ▂▂▃▇▇▄▄▄▁▁▁▂  budget
      pipe same                    time           4.1 [3.4, 5.0]    µs        22 %  13×20   14 %    84 %     0 %  6.00 MiB  ▄▄▅▆▇▇▇▆▆▅▄▃  precision
      pipe across                  time          19.7 [18.9, 20.3]  µs       4.2 %  13×20   11 %    96 %     0 %  6.00 MiB  ▄▇▅▂▁▂▁▂▃▄▄▃  precision   noisy, bimodal
        or                                       27.2 none          µs
        19.7 µs in 62 % [32, 84] of the processes, 27.2 µs in the others
    process
      fork                         time           132 [127, 137]    µs       4.0 %  13×20    8 %    91 %     0 %  6.00 MiB  ▃▄▃▅▇▇▇▇▅▃▃▃  precision
      command                      wall           609 (in 134 ms)   µs              220×1   31 %    64 %     0 %  2.00 MiB  ▃▃▃▅▇▆▇▆▅▄▂▂  precision
    storage
      sequential write             bandwidth     84.7 (in 829 ms)   MB/s             10×8    1 %    12 %    71 %  7.00 MiB  ▃▃▃▄▄▆▇▅▄▆▄▂  budget      noisy
      random                       rate          20.7 (in 992 ms)   k ops/s         10×10    4 %    31 %    58 %  6.00 MiB  ▂▄▄▅▆▇▅▆▄▄▄▂  budget      cached, noisy
    network
      tcp                          throughput    2.86 (in 1.9 s)    GB/s            1×240    6 %   121 %     0 %  6.00 MiB  ▂▂▄▄▆▆▇▆▄▃▃▂  budget      single-process
        22.9 Gbit/s
    crypto
      aead aes-256-gcm             throughput    4.31 [4.18, 4.45]  GB/s     3.1 %  13×20   99 %     0 %     0 %  6.00 MiB  ▃▄▄▆▆▆▇▅▄▃▂▃  precision
      aead aes-128-gcm             throughput    5.12 [4.95, 5.30]  GB/s     3.4 %  13×20   99 %     0 %     0 %  6.00 MiB  ▂▃▄▆▆▇▆▆▅▅▃▃  precision
      aead chacha20-poly1305       throughput    1.87 [1.82, 1.92]  GB/s     2.7 %  13×20   99 %     0 %     0 %  6.00 MiB  ▂▃▄▄▅▇▆▆▄▄▂▃  precision
    ssh
      cipher                       throughput     610 none          MB/s              4×3  142 %    38 %     0 %  6.00 MiB  ▄▇▇▇▁▄▄▄▄▁▁▄  budget
        aes256-gcm@openssh.com
        no interval: too few processes: 4, needs 8
      cipher                       throughput     331 none          MB/s              4×3  142 %    38 %     0 %  6.00 MiB  ▃▁▆▃▃▁▃▇▁▁▁▃  budget
        chacha20-poly1305@
        openssh.com
        no interval: too few processes: 4, needs 8
    language
      sieve c                      wall          4.92 (in 153 ms)   ms               31×1   97 %     2 %     0 %  4.00 MiB  ▃▅▇▂▄▁▅▆▁▃▂▄  precision
      sieve javascript             wall          61.5 (in 1.9 s)    ms               31×1   97 %     2 %     0 %  71.0 MiB  ▂▂▁▁▂▃▃▃▃▇▄▄  precision
      sieve python                 wall           213 [196, 231]    ms       8.7 %   31×1   97 %     2 %     0 %  47.0 MiB  ▂▂▃▃▄▇▃▄▃▂▃▄  precision
    intervals describe this machine over ten minutes if sessions are long enough · ±: half-width of the interval · n: invocations × samples · user, system, iowait:
    share of wall time · shape: low to high
    no baseline (no figure is known: set one with --expect, or add a reference): cpu.sieve, cpu.sieve:threads=2, memory.latency:size=16KiB, memory.latency,
    scheduler.messaging:groups=10, scheduler.pipe, scheduler.pipe:placement=across, process.fork, process.command, network.tcp, crypto.aead,
    crypto.aead:cipher=aes-128-gcm, crypto.aead:cipher=chacha20-poly1305, ssh.cipher, ssh.cipher:cipher=chacha20-poly1305@openssh.com, language.sieve,
    language.sieve:language=javascript, language.sieve:language=python
    no baseline (no other method measured in this run was faster): memory.copy:method=nt
    no baseline (not measured: --ceilings measures other values of place): storage.sequential:operation=write, storage.random

    Curves and rankings
      cpu.sieve by threads  threads=2: 1.939× threads=1, efficiency 97.0 % [96.3, 97.6]

    Reasons to distrust
      cached          fewer bytes reached the device than the workload moved: this measures memory as well (storage.random: 3 % of the bytes reached the device)
      capped          a size is smaller than recommended: caches may affect the result (memory.latency: 64 MiB where 4 × the last-level cache of 260 MiB is wanted)
      noisy           the samples vary too much for the requested precision (scheduler.pipe:placement=across: ±32 % in this session, wanted ±3 %; 2 more)
      single-process  another process may give a different result, however narrow the interval (network.tcp: one process: the variation between processes is
                      unknown)
      bimodal         there are two levels: a median between them describes neither (scheduler.pipe:placement=across: 38 % of the processes are 38 % above the
                      others)

    Not supported here
      network.icmp  raw sockets need CAP_NET_RAW and ping sockets are closed to this group
        fix: sysctl -w net.ipv4.ping_group_range='0 2147483647', or run as root

    Failed
      datastore.batch  the database answered: disk I/O error (3 of 3 invocations)
        last output: disk I/O error (10)

    stored: ~/.local/share/plumb/plumb.db
    plumb show last --json     the same as a document
    plumb compare last~1 last  what changed since the run before
    ");
}

#[test]
fn commands_are_compared_with_the_first() {
    let finding = summarise(&testing::exec());
    assert_snapshot!(shown(&finding, &Terminal::plain(100)), @r"
    plumb exec 'gzip -1 corpus' 'zstd -1 corpus' 'pigz -1 corpus'            complete · run 019aa82151c0
    Intel(R) Xeon(R) Processor @ 2.30GHz · 2 CPUs · 24 GiB · virtual machine (QEMU)
    Linux 6.18.44 · Debian GNU/Linux 12 (bookworm)
    /srv/bench/plumb-target: ext4 on /dev/vda
    2026-11-21 20:05 UTC · took 22 s · plumb 0.1.0
    goal: at least 20 invocations and 3 s, at most 1 min per point; 3 points measured

                      median 95 % interval unit      ±     n   CPU  shape     flags
    process
      gzip -1 corpus     415 [403, 427]    ms    3.0 %  20×1  98 %  ▄▃▇▆▆▇▄▃
        ±0.7 % in this session of 8.3 s, ±3.0 % on this machine
      zstd -1 corpus     102 [99, 106]     ms    3.6 %  20×1  98 %  ▆▃▇▄▇▆▃▄
        ±0.5 % in this session of 2 s, ±3.6 % on this machine
      pigz -1 corpus     413 [396, 430]    ms    4.2 %  20×1  98 %  ▃▂▄▃▇▂▄▃
        ±0.9 % in this session of 8.2 s, ±4.2 % on this machine
    intervals describe this machine over ten minutes if sessions are long enough · ±: half-width of the
    interval · n: invocations × samples · CPU: share of wall time · shape: low to high

    Compared with gzip -1 corpus, margin 1 %, 95 % confidence over all 3 verdicts
      zstd -1 corpus  faster        0.2470× the cost [0.2451, 0.2489], 4.05× as fast, -312 [-315, -310]
                                    ms, -75.30 % [-75.49, -75.11], 20 pairs, beyond margin
      pigz -1 corpus  inconclusive  0.995× the cost [0.986, 1.003], -1.9 [-5.6, 1.4] ms, -0.47 % [-1.36,
                                    0.34], 20 pairs, could have found 0.9 %, about 53 pairs would settle
                                    it
        against zstd -1 corpus above: slower, 4.03× the cost [3.99, 4.06], +310 [307, 313] ms, +303 %
        [299, 306], 20 pairs, beyond margin

    stored: ~/.local/share/plumb/plumb.db
    plumb show last --json     the same as a document
    plumb compare last~1 last  what changed since the run before
    ");
}

#[test]
fn a_run_cut_off_says_what_it_did_not_reach() {
    let mut record = testing::first_look();
    record.status = RunStatus::Interrupted;
    record.ended_unix_ns = None;
    record.invocations.retain(|invocation| invocation.point < 2);
    record.plan.points.truncate(4);
    record.unsupported.clear();
    let finding = summarise(&record);
    assert_snapshot!(shown(&finding, &Terminal { unicode: false, ..Terminal::plain(72) }), @r"
    plumb first-look                          interrupted | run 019aa82151c0
    Intel(R) Xeon(R) Processor @ 2.30GHz | 2 CPUs | 24 GiB | virtual machine
    (QEMU)
    Linux 6.18.44 | Debian GNU/Linux 12 (bookworm)
    /srv/bench/plumb-target: ext4 on /dev/vda
    2026-11-21 20:05 UTC | board=rev-c | plumb 0.1.0
    goal: ~3 % within 2 min; reached by 2 of 2 measured points in this
    session

                       median 95 % interval unit       n    CPU  shape
    cpu
      sieve 1 thread      412 [400, 426]    ops/s  13x20   99 %  ..=##+-:
      sieve 2 threads     800 [774, 827]    ops/s  13x20  199 %  :==###=:
    intervals describe this machine over ten minutes if sessions are long
    enough | n: invocations x samples | CPU: share of wall time | shape: low
    to high

    Curves and rankings
      cpu.sieve by threads  threads=2: 1.939x threads=1, efficiency 97.0 %
                            [96.3, 97.6]

    Not reached
      memory.copy, memory.copy:method=loop

    stored: ~/.local/share/plumb/plumb.db
    plumb show last --json     the same as a document
    plumb compare last~1 last  what changed since the run before
    ");
}

#[test]
fn every_metric_and_every_target_has_a_row() {
    let mut record = testing::first_look();
    record.targets.push(record.targets[0].clone());
    record.targets[1].name = "far".into();
    record.invocations.retain(|i| record.plan.points[i.point].point.workload == "storage.random");
    for (i, invocation) in record.invocations.iter_mut().enumerate() {
        invocation.target = u32::from(i % 2 == 1);
    }
    let finding = summarise(&record);
    let text = shown(&finding, &Terminal { every_metric: true, ..Terminal::plain(100) });
    let rows: Vec<&str> = text.lines().skip_while(|line| *line != "storage").take(11).collect();
    assert_snapshot!(rows.join("\n"), @"
    storage
      random on local           22.2 none          k ops/s     5×10  35 %  ▄▆▇▆▇▄▄▃
        no interval: too few processes: 5, needs 8
        waits for I/O 58 % of the time
        method: io_uring, O_DIRECT
        latency_p99 on local     210 none          µs          5×10  35 %  ▅▁▁▁▁▁▁▇
        no interval: too few processes: 5, needs 8
      random on far             19.8 none          k ops/s     5×10  35 %  ▃▇▆▇▄▄▅▃
        no interval: too few processes: 5, needs 8
        waits for I/O 58 % of the time
        method: io_uring, O_DIRECT
    ");
}

#[test]
fn a_comparison_says_that_only_the_shares_of_two_levels_moved() {
    let spec = testing::Spec { processes: 40, ..testing::COPY };
    let slow = |some: fn(usize) -> bool| {
        move |index: usize, invocation: &mut plumb_model::InvocationRecord| {
            if some(index) {
                invocation.samples.elapsed_ns.iter_mut().for_each(|ns| *ns += *ns / 4);
            }
        }
    };
    let record = testing::Builder::new(None)
        .measured(&spec)
        .invocations(slow(|index| index * 7 % 10 < 3))
        .measured(&spec)
        .invocations(slow(|index| index * 3 % 10 < 8))
        .with(|record| record.plan.against_first = true)
        .build();
    let finding = summarise(&record);
    let text = plumb_report::comparison::levels_text(&finding.against_first[0].found).unwrap();
    assert_snapshot!(text, @"
    two levels: the faster costs 0.998× [0.994, 1.005] as much as on the first side, the slower 1.000× [0.995, 1.005]; on the slower level are 30 % [18, 46] of the first side's processes and 80 % [65, 90] of this side's: only the shares moved
    ");
    let words = plumb_report::in_words(&View::new(&finding));
    assert!(words[0].contains("GB/s in 70 % [54, 82] of the processes, 7.99 ["), "{words:?}");
    assert!(words[2].ends_with(&text), "{words:?}");
    let document = serde_json::to_value(plumb_report::document(&View::new(&finding))).unwrap();
    let levels = &document["results"][1]["levels"];
    assert_eq!((&levels["of"], &levels["upper"]["count"]), (&"processes".into(), &8.into()));
    assert_eq!(document["results"][1]["against_first"][0]["levels"]["moved"][0], "shares");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let finding = summarise(&testing::first_look());
    for width in [80, 99, 100, 120, 149, 150, 160, 200] {
        for line in shown(&finding, &Terminal::plain(width)).lines() {
            assert!(plumb_text::width(line) <= width, "{width}: {line}");
            assert_eq!(line, line.trim_end());
        }
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    let finding = summarise(&testing::first_look());
    let plain = shown(&finding, &Terminal::plain(100));
    let coloured = shown(&finding, &Terminal { colour: Colour::Ansi, ..Terminal::plain(100) });
    assert!(coloured.contains('\u{1b}'));
    let mut stripped = String::new();
    let mut inside = false;
    for c in coloured.chars() {
        match (inside, c) {
            (false, '\u{1b}') => inside = true,
            (false, c) => stripped.push(c),
            (true, c) => inside = c != 'm',
        }
    }
    assert_eq!(stripped, plain);
}

#[test]
fn where_there_is_room_intervals_are_drawn_beside_each_other() {
    let finding = summarise(&testing::first_look());
    let drawn = shown(&finding, &Terminal::plain(120));
    let rows = drawn.lines().filter(|line| line.trim_start().starts_with("copy"));
    let rows: Vec<&str> = rows.map(|line| line.split("GB/s").nth(1).unwrap()).collect();
    let place = |row: &str| row.chars().position(|c| c == '●').unwrap();
    // libc, loop, block and nt, of which the last is the fastest and the second the slowest.
    let [libc, first, block, nt] = [0, 1, 2, 3].map(|row| place(rows[row]));
    assert!(first < block && block < libc && libc < nt, "{drawn}");
    assert!(!shown(&finding, &Terminal::plain(100)).contains('●'));
    assert!(!shown(&finding, &Terminal::plain(160)).contains('●'));
}

#[test]
fn what_a_long_command_does_stands_below_it() {
    let long = "plumb --store bench.db run --budget 15m cpu.sieve storage.random:size=64MiB";
    let next =
        [(long, "estimated time to reach ±3 % at all points"), ("plumb show last", "the same")];
    let next = next.map(|(command, does)| (command.to_owned(), does.to_owned())).into();
    let finding = summarise(&testing::first_look());
    let closing = NextSteps { stored: None, next, store_option: String::new() };
    let shown = scorecard(&View::new(&finding), &Terminal::plain(80), &closing);
    let end = format!(
        "{long}\n    estimated time to reach ±3 % at all points\nplumb show last  the same\n"
    );
    assert!(shown.ends_with(&end), "{shown}");
}

#[test]
fn a_table_of_implementations_is_brief_only_if_the_run_is_about_them() {
    let finding = summarise(&testing::first_look());
    let mut view = View::new(&finding);
    let row = |value: &str| ImplementationRow { value: value.to_owned(), ..Default::default() };
    view.implementations = vec![ImplementationTable {
        title: "CPU time of 10 loops of language.sieve".to_owned(),
        parameter: "language".to_owned(),
        first: "c".to_owned(),
        unit: "ms".to_owned(),
        rows: ["c", "node", "python"].map(row).to_vec(),
        note: String::new(),
    }];
    let terminal = Terminal::plain(100);
    let card = brief_scorecard(&view, &terminal, &closing());
    assert!(!card.contains("CPU time of 10 loops"), "{card}");
    assert!(card.lines().count() <= 45, "{card}");
    assert!(scorecard(&view, &terminal, &closing()).contains("CPU time of 10 loops"));
    // A run of languages has little else.
    view.implementations[0].rows = vec![row("c"); view.rows.len()];
    assert!(brief_scorecard(&view, &terminal, &closing()).contains("CPU time of 10 loops"));
}

fn brief(finding: &RunFinding, width: usize) -> String {
    brief_scorecard(&View::new(finding), &Terminal::plain(width), &closing())
}

#[test]
fn a_first_look_fits_one_screen() {
    let finding = summarise(&testing::first_look());
    for width in [100, 120, 200] {
        let card = brief(&finding, width);
        let lines = card.lines().count();
        assert!(lines <= 45, "{lines} lines at {width} columns:\n{card}");
        assert!(card.lines().all(|line| plumb_text::width(line) <= width), "{width}:\n{card}");
    }
}

/// The rows of a scorecard, each with all that stands below it.
fn result_rows(card: &str) -> Vec<String> {
    let table = card.lines().skip_while(|line| !line.contains("95 % interval")).skip(1);
    let mut rows: Vec<String> = Vec::new();
    for line in table.take_while(|line| !line.is_empty()) {
        match rows.last_mut() {
            Some(row) if line.starts_with("    !") => row.push_str(line),
            _ => rows.push(line.to_owned()),
        }
    }
    rows
}

#[test]
fn no_flag_that_changes_how_a_figure_is_read_needs_the_whole_scorecard() {
    let mut finding = summarise(&testing::first_look());
    // As many as a result can have, of every weight.
    let all = [FlagKind::Noisy, FlagKind::Capped, FlagKind::Unsteady, FlagKind::SingleProcess];
    for (index, result) in
        finding.results.iter_mut().enumerate().filter(|(_, result)| result.primary)
    {
        result.flags.extend(all.iter().take(index % 5).map(|flag| Flag::new(flag.clone(), "so")));
    }
    let view = View::new(&finding);
    for columns in [80, 100, 120, 200] {
        let card = brief_scorecard(&view, &Terminal::plain(columns), &closing());
        let rows = result_rows(&card);
        let primary: Vec<_> = view.rows.iter().filter(|row| row.finding.primary).collect();
        assert!(rows.len() >= primary.len(), "{card}");
        // What all rows of a family share stands in its first row.
        let mut shared = String::new();
        for (row, shown) in primary.iter().zip(&rows) {
            if !shown.starts_with(' ') {
                shared = shown.split_once("all: ").map_or(String::new(), |(_, all)| all.to_owned());
            }
            let changes =
                row.own_flags.iter().filter(|flag| FlagWeight::of(flag).changes_reading());
            for flag in changes {
                let is_shown = shown.contains(flag.word())
                    || shared.contains(flag.word())
                    || (*flag == FlagKind::Bimodal && shown.contains("two levels"));
                assert!(is_shown, "{} of {shown}:\n{card}", flag.word());
            }
        }
        assert!(card.lines().all(|line| plumb_text::width(line) <= columns), "{card}");
    }
}

#[test]
fn what_a_family_shares_stands_once_and_hides_no_flag_of_a_row() {
    let mut finding = summarise(&testing::first_look());
    // Flags of all results together stand in no row.
    finding.results.iter_mut().for_each(|result| result.flags.clear());
    let memory =
        finding.results.iter_mut().filter(|result| result.point.workload.starts_with("memory."));
    for (index, result) in memory.enumerate() {
        let mut flags = vec![FlagKind::Noisy, FlagKind::Interference];
        if index == 0 {
            flags.push(FlagKind::Unsteady);
        }
        result.flags = flags.into_iter().map(|flag| Flag::new(flag, "so")).collect();
    }
    let rows = result_rows(&brief(&finding, 160));
    let first = rows.iter().position(|row| row.starts_with("memory")).unwrap();
    assert!(
        rows[first].ends_with("86 % of ceiling; unsteady; all: noisy, interference"),
        "{rows:#?}"
    );
    assert!(rows[first + 1..].iter().all(|row| !row.contains("noisy")), "{rows:#?}");
}

#[test]
fn why_intervals_are_missing_is_said_once_a_family() {
    let mut finding = summarise(&testing::first_look());
    for result in finding.results.iter_mut().filter(|result| result.primary) {
        let why = "too few processes: 6, needs 8".to_owned();
        result.estimate.interval = Err(why.clone());
        result.machine = None;
        // Neither has a share of something.
        if let Ok(of) = &mut result.of_baseline {
            of.share.interval = Err(why);
        }
    }
    let card = brief(&finding, 100);
    let rows = result_rows(&card);
    let first = rows.iter().position(|row| row.starts_with("memory")).unwrap();
    assert!(rows[first].ends_with("all: too few processes"), "{card}");
    assert!(rows[first + 1..first + 6].iter().all(|row| !row.contains("too few")), "{card}");
    assert!(card.lines().count() <= 45, "{card}");
}

#[test]
fn a_short_scorecard_names_every_kind_of_flag() {
    let finding = summarise(&testing::first_look());
    let view = View::new(&finding);
    let card = brief(&finding, 100);
    let (_, reasons) = card.split_once("Reasons to distrust").unwrap();
    for note in &view.flags {
        assert!(reasons.contains(note.flag.word()), "{}:\n{card}", note.flag.word());
    }
}

#[test]
fn the_answer_comes_first_and_next_steps_are_two() {
    let finding = summarise(&testing::first_look());
    assert_snapshot!(brief(&finding, 100), @"
    plumb first-look                                                         complete · run 019aa82151c0
    Intel(R) Xeon(R) Processor @ 2.30GHz · 2 CPUs · 24 GiB · virtual machine (QEMU)
    2026-11-21 20:05 UTC · took 2 min 19 s · board=rev-c · plumb 0.1.0
    No earlier comparable run. Furthest below its ceiling: memory.copy:method=loop reaches 74 % [67, 80]
    of the 13.2 GB/s measured with method=nt.
    Goal: ±3 % within 2 min; reached by 17 of 24 points in this session, 2 without an interval.
    Caution: flags affect the meaning of 4 of 24 results (cached, capped, single-process, bimodal).

                                             median 95 % interval unit         ±  flags
    cpu        sieve 1 thread                   412 [400, 426]    ops/s    3.2 %
               sieve 2 threads                  800 [774, 827]    ops/s    3.4 %
    memory     copy libc                       11.4 [10.6, 12.1]  GB/s     6.9 %  86 % of ceiling
               copy loop                        9.7 [9.4, 10.0]   GB/s     2.9 %  74 % of ceiling
               copy block                      10.1 [9.1, 11.3]   GB/s      11 %  77 % of ceiling
               copy nt                         13.2 [12.1, 14.4]  GB/s     8.9 %
               latency 16KiB                   1.42 [1.39, 1.46]  ns       2.6 %
               latency 64MiB                     88 [69, 112]     ns        27 %  capped
    scheduler  messaging groups=10             1.83 [1.69, 2.00]  s        9.7 %
               pipe same                        4.1 [3.4, 5.0]    µs        22 %
               pipe across             19.7 or 27.2 two levels    µs              noisy
    process    fork                             132 [127, 137]    µs       4.0 %
               command                          609 (in 134 ms)   µs
    storage    sequential write                84.7 (in 829 ms)   MB/s            all: noisy
               random                          20.7 (in 992 ms)   k ops/s         cached
    network    tcp                             2.86 (in 1.9 s)    GB/s            single-process
    crypto     aead aes-256-gcm                4.31 [4.18, 4.45]  GB/s     3.1 %
               aead aes-128-gcm                5.12 [4.95, 5.30]  GB/s     3.4 %
               aead chacha20-poly1305          1.87 [1.82, 1.92]  GB/s     2.7 %
    ssh        cipher aes256-gcm@ope…           610 none          MB/s            all: too few processes
               cipher chacha20-poly1…           331 none          MB/s
    language   sieve c                         4.92 (in 153 ms)   ms
               sieve javascript                61.5 (in 1.9 s)    ms
               sieve python                     213 [196, 231]    ms       8.7 %
      cpu.sieve by threads  threads=2: 1.939× threads=1, efficiency 97.0 % [96.3, 97.6]
    Failed: datastore.batch: the database answered: disk I/O error (3 of 3 invocations); last output:…
    Not supported here: network.icmp: raw sockets need CAP_NET_RAW and ping sockets are closed to this…

    Reasons to distrust
      cached          fewer bytes reached the device than the workload moved: this measures memory as…
      capped          a size is smaller than recommended: caches may affect the result (memory.latency)
      single-process  another process may give a different result, however narrow the interval…
      also: bimodal, noisy

    plumb show last --json          the same as a document
    plumb show 019aa82151c0 --full  every column, every flag with its evidence
    ");
}

/// Processes take longer because something else uses the CPU: by nothing to `worst` times.
fn disturbed(record: &mut RunRecord, worst: u64) {
    for (index, invocation) in record.invocations.iter_mut().enumerate() {
        // 17 and 41 have no factor in common, so processes differ, and neighbours are not alike.
        let slower = index as u64 * 17 % 41;
        invocation.samples.elapsed_ns.iter_mut().for_each(|ns| *ns += *ns * slower * worst / 40);
    }
}

#[test]
fn next_to_a_disturbed_median_stands_what_the_machine_does_at_its_best() {
    let copy = Spec { processes: 40, ..COPY };
    let finding =
        summarise(&Builder::new(None).measured(&copy).with(|record| disturbed(record, 1)).build());
    let view = View::new(&finding);
    let best = best_quarter_text(&finding.results[0]).unwrap();
    assert_snapshot!(best, @"its best quarter reaches 8.1 [7.2, 9.0] GB/s, so the median is 18 % below");
    for output in [
        scorecard(&view, &Terminal::plain(150), &closing()),
        brief_scorecard(&view, &Terminal::plain(150), &closing()),
        markdown(&view),
        in_words(&view).join("\n"),
    ] {
        // Markdown escapes the brackets of the interval.
        assert!(output.replace('\\', "").contains(&best), "{output}");
    }
}

#[test]
fn among_many_results_only_the_farthest_best_quarters_have_a_line() {
    let mut record = testing::first_look();
    // Among 13 processes, the interval of the best quarter reaches the median.
    let measured = record.invocations.clone();
    record.invocations.extend(measured.iter().cloned());
    record.invocations.extend(measured);
    disturbed(&mut record, 6);
    let finding = summarise(&record);
    let far = finding.results.iter().filter(|result| best_quarter_text(result).is_some()).count();
    assert!(far > 2, "{far}");
    let card = brief_scorecard(&View::new(&finding), &Terminal::plain(100), &closing());
    assert_eq!(card.matches("its best quarter reaches").count(), 2, "{card}");
    assert!(card.lines().count() <= 45, "{} lines:\n{card}", card.lines().count());
}

#[test]
fn a_machine_too_noisy_to_say_reads_the_same_everywhere() {
    let mut finding = summarise(&testing::exec());
    let why = "too noisy to say: 12.0 ms to 133 ms seen";
    finding.results[0].machine = Some(Err(why.to_owned()));
    finding.results[0].levels = None;
    let both = both_intervals(&finding.results[0]).unwrap();
    assert!(both.ends_with(&format!(", but on this machine {why}")), "{both}");
    let view = View::new(&finding);
    for card in [brief(&finding, 160), shown(&finding, &Terminal::plain(160))] {
        assert!(card.contains(why) && card.contains("none"), "{card}");
    }
    let table = markdown(&view);
    assert!(table.contains(&format!("none: {why}")), "{table}");
    let document: serde_json::Value = serde_json::to_value(document(&view)).unwrap();
    let result = &document["results"][0];
    assert_eq!(result["no_interval"], why);
    assert_eq!(result["shown_of"], "machine");
    for missing in ["shown_low", "shown_high", "shown_half_width", "machine_low", "machine_high"] {
        assert!(result[missing].is_null(), "{missing}: {result}");
    }
    // The session has its interval, which rules go by.
    assert!(result["low"].is_number() && result["high"].is_number(), "{result}");
}

#[test]
fn the_level_with_the_larger_share_comes_first_everywhere() {
    let mut finding = summarise(&testing::first_look());
    let result = finding.results.iter_mut().find(|result| result.levels.is_some()).unwrap();
    let levels = result.levels.as_mut().unwrap();
    // As two flows that two of nine processes send as one.
    levels.lower.estimate = Estimate { value: 496e-6, interval: Err("too few".to_owned()) };
    levels.lower.count = 2;
    levels.lower.share.value = 0.22;
    levels.upper.estimate = Estimate { value: 789e-6, interval: Err("too few".to_owned()) };
    levels.upper.count = 7;
    levels.upper.share = Estimate { value: 0.78, interval: Err("too few".to_owned()) };
    let view = View::new(&finding);
    let sentences = in_words(&view).join("\n");
    for text in [&brief(&finding, 100), &markdown(&view), &sentences] {
        let larger = text.find("789").unwrap();
        assert!(larger < text.find("496").unwrap(), "{text}");
    }
    let card = shown(&finding, &Terminal::plain(100));
    assert!(card.contains("789 µs in 78 % of the processes, 496 µs in the others"), "{card}");
    assert!(card.find("789 none").unwrap() < card.find("496 none").unwrap(), "{card}");
}

#[test]
fn right_answers_read_the_same_everywhere() {
    let mut finding = summarise(&testing::first_look());
    finding.right_answers = Some(RightAnswers { answers: 2.4e6, cpus: 2.0 });
    let text = right_answers_text(&finding).unwrap();
    assert_snapshot!(text, @"2.4e6 answers on 2 CPUs, none wrong: per CPU below 3 in 1.2e6 to these inputs (95 %).");
    let view = View::new(&finding);
    for output in [
        scorecard(&view, &Terminal::plain(150), &closing()),
        brief_scorecard(&view, &Terminal::plain(150), &closing()),
        markdown(&view),
        in_words(&view).join("\n"),
    ] {
        assert!(output.replace('\\', "").contains(&text), "{output}");
    }
    finding.right_answers = None;
    assert!(!markdown(&View::new(&finding)).contains("none wrong"));
}
