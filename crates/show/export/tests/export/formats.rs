//! The other formats, which must say the same as the scorecard.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use plumb_analysis::{summarise, testing};
use plumb_export::{EXPORTS, csv, samples_csv};
use plumb_model::InvocationRecord;
use plumb_report::{View, document, in_words, json, markdown};

#[test]
fn a_first_look_as_markdown() {
    let finding = summarise(&testing::first_look());
    assert_snapshot!(markdown(&View::new(&finding)), @r"
    ### plumb: first-look (complete)

    - Intel(R) Xeon(R) Processor @ 2.30GHz · 2 CPUs · 24 GiB · virtual machine (QEMU)
    - Linux 6.18.44 · Debian GNU/Linux 12 (bookworm)
    - /srv/bench/plumb-target: ext4 on /dev/vda
    - 2026-11-21 20:05 UTC · took 2 min 19 s · board=rev-c · plumb 0.1.0
    - goal: ±3 % within 2 min; reached by 17 of 24 measured points in this session, 2 without an interval
    - run 019aa821-51c0-7c3e-9d1f-4b6a22e08f57

    | point | metric | median | 95 % interval | unit | ± | n | CPU | flags |
    | :-- | :-- | --: | :-- | :-- | --: | --: | --: | :-- |
    | `cpu.sieve` | rate | 412 | [400, 426] | ops/s | 3.2 % | 13×20 | 99 % |  |
    | `cpu.sieve:threads=2` | rate | 800 | [774, 827] | ops/s | 3.4 % | 13×20 | 199 % |  |
    | `memory.copy`<br>86 % \[77, 96\] of this machine's ceiling (13.2 GB/s with method=nt) | bandwidth | 11.4 | [10.6, 12.1] | GB/s | 6.9 % | 13×20 | 99 % |  |
    | `memory.copy:method=loop`<br>74 % \[67, 80\] of this machine's ceiling (13.2 GB/s with method=nt) | bandwidth | 9.7 | [9.4, 10.0] | GB/s | 2.9 % | 13×20 | 99 % |  |
    | `memory.copy:method=block`<br>77 % \[67, 88\] of this machine's ceiling (13.2 GB/s with method=nt) | bandwidth | 10.1 | [9.1, 11.3] | GB/s | 11 % | 13×20 | 99 % |  |
    | `memory.copy:method=nt` | bandwidth | 13.2 | [12.1, 14.4] | GB/s | 8.9 % | 13×20 | 99 % |  |
    | `memory.latency:size=16KiB` | latency | 1.42 | [1.39, 1.46] | ns | 2.6 % | 13×20 | 99 % |  |
    | `memory.latency` | latency | 88 | [69, 112] | ns | 27 % | 13×20 | 99 % | capped |
    | `scheduler.messaging:groups=10` | time | 1.83 | [1.69, 2.00] | s | 9.7 % | 10×3 | 198 % |  |
    | `scheduler.pipe` | time | 4.1 | [3.4, 5.0] | µs | 22 % | 13×20 | 98 % |  |
    | `scheduler.pipe:placement=across`<br>19.7 µs in 62 % \[32, 84\] of the processes, 27.2 µs in the others | time | 19.7 or 27.2 | [18.9, 20.3] or none: too few processes: 5, needs 8 | µs | 4.2 % or none | 13×20 | 107 % | noisy, bimodal |
    | `process.fork` | time | 132 | [127, 137] | µs | 4.0 % | 13×20 | 99 % |  |
    | `process.command` | wall | 609 | (in 134 ms) | µs |  | 220×1 | 95 % |  |
    | `storage.sequential:operation=write` | bandwidth | 84.7 | (in 829 ms) | MB/s |  | 10×8 | 13 % | noisy |
    | `storage.random` | rate | 20.7 | (in 992 ms) | k ops/s |  | 10×10 | 35 % | cached, noisy |
    | `storage.random` | latency\_p99 | 160 | (in 992 ms) | µs |  | 10×10 | 35 % | cached |
    | `network.tcp` | throughput | 2.86 | (in 1.9 s) | GB/s |  | 1×240 | 127 % | single-process |
    | `crypto.aead` | throughput | 4.31 | [4.18, 4.45] | GB/s | 3.1 % | 13×20 | 99 % |  |
    | `crypto.aead:cipher=aes-128-gcm` | throughput | 5.12 | [4.95, 5.30] | GB/s | 3.4 % | 13×20 | 99 % |  |
    | `crypto.aead:cipher=chacha20-poly1305` | throughput | 1.87 | [1.82, 1.92] | GB/s | 2.7 % | 13×20 | 99 % |  |
    | `ssh.cipher` | throughput | 610 | none: too few processes: 4, needs 8 | MB/s |  | 4×3 | 180 % |  |
    | `ssh.cipher:cipher=chacha20-poly1305@openssh.com` | throughput | 331 | none: too few processes: 4, needs 8 | MB/s |  | 4×3 | 180 % |  |
    | `language.sieve` | wall | 4.92 | (in 153 ms) | ms |  | 31×1 | 99 % |  |
    | `language.sieve:language=javascript` | wall | 61.5 | (in 1.9 s) | ms |  | 31×1 | 99 % |  |
    | `language.sieve:language=python` | wall | 213 | [196, 231] | ms | 8.7 % | 31×1 | 99 % |  |

    ±: half-width of the interval; n: invocations × samples per invocation; CPU: user and system time over wall time.

    **Curves and rankings**

    - `cpu.sieve by threads`: threads=2: 1.939× threads=1, efficiency 97.0 % \[96.3, 97.6\]

    **Reasons to distrust**

    - **cached**: fewer bytes reached the device than the workload moved: this measures memory as well (storage.random: 3 % of the bytes reached the device)
    - **capped**: a size is smaller than recommended: caches may affect the result (memory.latency: 64 MiB where 4 × the last-level cache of 260 MiB is wanted)
    - **noisy**: the samples vary too much for the requested precision (scheduler.pipe:placement=across: ±32 % in this session, wanted ±3 %; 2 more)
    - **single-process**: another process may give a different result, however narrow the interval (network.tcp: one process: the variation between processes is unknown)
    - **bimodal**: there are two levels: a median between them describes neither (scheduler.pipe:placement=across: 38 % of the processes are 38 % above the others)

    **Not supported here**

    - `network.icmp`: raw sockets need CAP\_NET\_RAW and ping sockets are closed to this group; sysctl -w net.ipv4.ping\_group\_range='0 2147483647', or run as root

    **Failed**

    - `datastore.batch`: the database answered: disk I/O error (3 of 3 invocations)
    ");
}

#[test]
fn commands_as_markdown() {
    let finding = summarise(&testing::exec());
    assert_snapshot!(markdown(&View::new(&finding)), @r"
    ### plumb: exec 'gzip -1 corpus' 'zstd -1 corpus' 'pigz -1 corpus' (complete)

    - Intel(R) Xeon(R) Processor @ 2.30GHz · 2 CPUs · 24 GiB · virtual machine (QEMU)
    - Linux 6.18.44 · Debian GNU/Linux 12 (bookworm)
    - /srv/bench/plumb-target: ext4 on /dev/vda
    - 2026-11-21 20:05 UTC · took 22 s · plumb 0.1.0
    - goal: at least 20 invocations and 3 s, at most 1 min per point; 3 points measured
    - run 019aa821-51c0-7c3e-9d1f-4b6a22e08f57

    | point | metric | median | 95 % interval | unit | ± | n | CPU | flags |
    | :-- | :-- | --: | :-- | :-- | --: | --: | --: | :-- |
    | `gzip -1 corpus` | wall | 415 | [403, 427] | ms | 3.0 % | 20×1 | 98 % |  |
    | `zstd -1 corpus` | wall | 102 | [99, 106] | ms | 3.6 % | 20×1 | 98 % |  |
    | `pigz -1 corpus` | wall | 413 | [396, 430] | ms | 4.2 % | 20×1 | 98 % |  |

    ±: half-width of the interval; n: invocations × samples per invocation; CPU: user and system time over wall time.

    **Compared with `gzip -1 corpus`, 95 % confidence over all 3 verdicts**

    - `zstd -1 corpus`: **faster**, 0.2470× the cost \[0.2451, 0.2489\], 4.05× as fast, -312 \[-315, -310\] ms, -75.30 % \[-75.49, -75.11\], 20 pairs, beyond margin
    - `pigz -1 corpus`: **inconclusive**, 0.995× the cost \[0.986, 1.003\], -1.9 \[-5.6, 1.4\] ms, -0.47 % \[-1.36, 0.34\], 20 pairs, could have found 0.9 %, about 53 pairs would settle it; against zstd -1 corpus above: slower, 4.03× the cost \[3.99, 4.06\], +310 \[307, 313\] ms, +303 % \[299, 306\], 20 pairs, beyond margin
    ");
}

#[test]
fn a_first_look_in_words() {
    let finding = summarise(&testing::first_look());
    assert_snapshot!(in_words(&View::new(&finding)).join("\n"), @r"
    Prime sieve: 412 ops/s [400, 426].
    Prime sieve (2 threads): 800 ops/s [774, 827].
    Memory copies of 64 MiB (libc): 11.4 GB/s [10.6, 12.1]; 86 % [77, 96] of this machine's ceiling (13.2 GB/s with method=nt).
    Memory copies of 64 MiB (loop): 9.7 GB/s [9.4, 10.0]; 74 % [67, 80] of this machine's ceiling (13.2 GB/s with method=nt).
    Memory copies of 64 MiB (block): 10.1 GB/s [9.1, 11.3]; 77 % [67, 88] of this machine's ceiling (13.2 GB/s with method=nt).
    Memory copies of 64 MiB (nt): 13.2 GB/s [12.1, 14.4].
    Memory latency over 16 KiB: 1.42 ns [1.39, 1.46].
    Memory latency over 64 MiB: 88 ns [69, 112]. Flagged: capped.
    Messages between groups of tasks (groups 10): 1.83 s [1.69, 2.00].
    Round trips through a pipe (same): 4.1 µs [3.4, 5.0].
    Round trips through a pipe (across): 19.7 [18.9, 20.3] µs in 62 % [32, 84] of the processes, 27.2 µs in the others. Flagged: bimodal, noisy.
    process.fork: 132 µs [127, 137].
    process.command: 609 µs in these 134 ms.
    Sequential writes of 1 MiB (O_DIRECT): 84.7 MB/s in these 829 ms. Flagged: noisy.
    Random reads of 4 KiB (O_DIRECT): 20.7 k ops/s in these 992 ms. Flagged: cached, noisy.
    TCP throughput: 2.86 GB/s in these 1.9 s. Flagged: single-process.
    Encryption of 16 KiB with aes-256-gcm: 4.31 GB/s [4.18, 4.45].
    Encryption of 16 KiB with aes-128-gcm: 5.12 GB/s [4.95, 5.30].
    Encryption of 16 KiB with chacha20-poly1305: 1.87 GB/s [1.82, 1.92].
    An ssh session with aes256-gcm@openssh.com: 610 MB/s (no interval: too few processes: 4, needs 8).
    An ssh session with chacha20-poly1305@openssh.com: 331 MB/s (no interval: too few processes: 4, needs 8).
    Prime sieve in c: 4.92 ms in these 153 ms.
    Prime sieve in javascript: 61.5 ms in these 1.9 s.
    Prime sieve in python: 213 ms [196, 231].
    cpu.sieve by threads: threads=2: 1.939× threads=1, efficiency 97.0 % [96.3, 97.6]
    ");
}

#[test]
fn commands_in_words() {
    let finding = summarise(&testing::exec());
    assert_snapshot!(in_words(&View::new(&finding)).join("\n"), @r"
    gzip -1 corpus: 415 ms [403, 427].
    zstd -1 corpus: 102 ms [99, 106].
    pigz -1 corpus: 413 ms [396, 430].
    zstd -1 corpus against gzip -1 corpus: faster; 0.2470× the cost [0.2451, 0.2489], 4.05× as fast, -312 [-315, -310] ms, -75.30 % [-75.49, -75.11], 20 pairs, beyond margin
    pigz -1 corpus against gzip -1 corpus: inconclusive; 0.995× the cost [0.986, 1.003], -1.9 [-5.6, 1.4] ms, -0.47 % [-1.36, 0.34], 20 pairs, could have found 0.9 %, about 53 pairs would settle it
    pigz -1 corpus against zstd -1 corpus: slower; 4.03× the cost [3.99, 4.06], +310 [307, 313] ms, +303 % [299, 306], 20 pairs, beyond margin
    ");
}

#[test]
fn the_document_has_the_fields_of_the_contract() {
    let finding = summarise(&testing::first_look());
    let view = View::new(&finding);
    let value: serde_json::Value = serde_json::from_str(&json(&view).unwrap()).unwrap();
    assert_eq!(value["schema"], "plumb.run/1");
    let contract = [
        "series",
        "workload",
        "version",
        "point",
        "metric",
        "unit",
        "better",
        "statistic",
        "estimate",
        "low",
        "high",
        "no_interval",
        "confidence",
        "invocations",
        "samples",
        "n_eff",
        "warmup",
        "stop",
        "target",
        "cpu",
        "of_baseline",
        "flags",
    ];
    for result in value["results"].as_array().unwrap() {
        for field in contract {
            assert!(result.get(field).is_some(), "{field}");
        }
    }
    for field in ["id", "started", "ended", "status", "suite", "labels", "seed", "plumb"] {
        assert!(value["run"].get(field).is_some(), "{field}");
    }
    for field in ["workload", "point", "why", "fix"] {
        assert!(value["unsupported"][0].get(field).is_some(), "{field}");
    }
}

#[test]
fn documents_and_tables_hold_the_same_numbers() {
    let finding = summarise(&testing::first_look());
    let view = View::new(&finding);
    let document = document(&view);
    let table = csv(&view);
    let lines: Vec<&str> = table.split("\r\n").skip(1).filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), document.results.len());
    for (line, result) in lines.iter().zip(&document.results) {
        let numbers: Vec<f64> = line.split(',').filter_map(|field| field.parse().ok()).collect();
        let ends = [Some(result.estimate), result.low, result.high, result.n_eff, result.reached];
        for number in ends.into_iter().flatten() {
            assert!(numbers.contains(&number), "{number} in {line}");
        }
    }
}

#[test]
fn tables_have_the_baseline_of_a_result() {
    let mut record = testing::first_look();
    let last = record.plan.points.len() - 1;
    record.plan.points[last].is_ceiling = true;
    let finding = summarise(&record);
    let view = View::new(&finding);
    let table = csv(&view);
    let mut lines = table.split("\r\n").filter(|line| !line.is_empty());
    let names = "is_ceiling,baseline,of_baseline,of_baseline_low,of_baseline_high";
    assert!(lines.next().unwrap().ends_with(names), "{table}");
    let document = document(&view);
    let mut sources = BTreeSet::new();
    for (line, result) in lines.zip(&document.results) {
        let [high, low, share, source, is_ceiling] =
            line.rsplit(',').take(5).collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(is_ceiling == "yes", result.is_ceiling, "{line:?}");
        let baseline = result.baseline.as_ref();
        assert_eq!(source, baseline.map_or("", |of| of.source), "{line:?}");
        assert_eq!(share.parse().ok(), result.of_baseline, "{line:?}");
        assert_eq!(low.parse().ok(), baseline.and_then(|of| of.low), "{line:?}");
        assert_eq!(high.parse().ok(), baseline.and_then(|of| of.high), "{line:?}");
        sources.insert(source);
    }
    assert_eq!(sources.into_iter().collect::<Vec<_>>(), ["", "ceiling"]);
}

#[test]
fn samples_come_with_their_phase() {
    let record = testing::first_look();
    let mut out = Vec::new();
    samples_csv(&record, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    let rows = |i: &InvocationRecord| i.samples.len() * (1 + i.samples.values.len());
    let all: usize = record.invocations.iter().map(rows).sum();
    assert_eq!(lines.len(), all + 1);
    assert_snapshot!(lines[..4].join("\n"), @"
    run,series,workload,point,metric,invocation,round,sample,phase,start_ns,elapsed_ns,iterations,cpu,value
    019aa821-51c0-7c3e-9d1f-4b6a22e08f57,cpu.sieve/rate,cpu.sieve,,rate,00000000-0000-0000-f6d8-04ef2b57a3ef,0,0,warm-up,86402000000000,8082063,3,1,371.19235521920575
    019aa821-51c0-7c3e-9d1f-4b6a22e08f57,cpu.sieve/rate,cpu.sieve,,rate,00000000-0000-0000-f6d8-04ef2b57a3ef,0,1,warm-up,86402008083063,8058513,3,0,372.27711861977514
    019aa821-51c0-7c3e-9d1f-4b6a22e08f57,cpu.sieve/rate,cpu.sieve,,rate,00000000-0000-0000-f6d8-04ef2b57a3ef,0,2,steady,86402016142576,9477439,4,1,422.0549454340988
    ");
    assert_eq!(lines.iter().filter(|line| line.contains(",failed,")).count(), 12);
    assert!(lines.iter().skip(1).all(|line| line.split(',').count() == 14));
}

#[test]
fn the_page_about_exports_lists_them_all() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/exports.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.filter_map(|row| row.split(" |").next());
    let names = cells.flat_map(|cell| cell.split(',')).map(|name| name.trim_matches([' ', '`']));
    let mut listed: Vec<&str> = names.collect();
    let mut known: Vec<&str> = EXPORTS.iter().map(|export| export.name).collect();
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);
}
