//! A history, written in every form.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use plumb_analysis::testing::series::in_run;
use plumb_analysis::{
    Cycle, CycleFinding, Ends, Estimate, HistoryFinding, HistoryStep, OtherHosts, RecordedChange,
};
use plumb_model::{Better, Host, RunOfSeries, SeriesInRun};
use plumb_report::{history_card, history_json, history_markdown};
use plumb_text::Terminal;

fn estimate(value: f64, half: f64) -> Estimate {
    Estimate { value, interval: Ok(Ends { low: value - half, high: value + half }) }
}

fn run(number: u8, value: f64, half: f64) -> SeriesInRun {
    let interval = estimate(value, half);
    let few = Estimate { value, interval: Err("too few processes: 2, needs 6".into()) };
    let processes = if half > 0.0 { 12 } else { 2 };
    let made = in_run("memory.copy:method=libc/bandwidth", 1, &vec![vec![value]; processes]);
    let run = RunOfSeries {
        run: uuid::Uuid::from_bytes([number; 16]),
        started_unix_ns: 1_795_219_200_000_000_000 + i64::from(number) * 21_600_000_000_000,
        labels: BTreeMap::from([
            ("commit".into(), format!("c{number}")),
            ("schedule".into(), "6h".into()),
        ]),
        ..made.run.as_ref().clone()
    };
    SeriesInRun {
        run: run.into(),
        estimate: if half > 0.0 { interval } else { few },
        samples: 120,
        ..made
    }
}

fn finding() -> HistoryFinding {
    HistoryFinding {
        method: 1,
        series: "memory.copy:method=libc/bandwidth".into(),
        title: None,
        unit: "B/s".into(),
        better: Better::Higher,
        machines: vec!["fp1:4ba84f9cc220d61b".into()],
        host: Host::UNKNOWN,
        hosts: vec![Host::UNKNOWN],
        other_hosts: OtherHosts::default(),
        margin: 0.01,
        runs: vec![
            run(1, 9.81e9, 3e7),
            run(2, 9.84e9, 4e7),
            run(3, 9.79e9, 0.0),
            run(4, 9.42e9, 3e7),
            run(5, 9.44e9, 3e8),
        ],
        common: vec![0.0, 0.0, 0.031, 0.0, 0.0],
        splits: vec![RecordedChange {
            at: 3,
            changes: vec![
                (
                    "command_line".into(),
                    "root=/dev/sda1 quiet".into(),
                    "root=/dev/sda1 mitigations=off quiet".into(),
                ),
                ("kernel".into(), "6.1.0-28-amd64".into(), "6.12.9-amd64".into()),
            ],
        }],
        steps: Ok(vec![HistoryStep { at: 4, ratio: estimate(1.04, 0.01), certain: true }]),
        cycles: vec![CycleFinding {
            cycle: Cycle::Day,
            part: "18-24 h",
            ratio: estimate(1.021, 0.008),
            differs: true,
            moments: 12,
            others: 36,
        }],
        other_units: 0,
    }
}

#[test]
fn a_line_a_run_within_the_width() {
    let card = history_card(&finding(), None, &Terminal::plain(80));
    assert!(card.lines().all(|line| line.chars().count() <= 80), "{card}");
    assert_snapshot!(card, @"
    memory.copy:method=libc/bandwidth, 5 runs on fp1:4ba84f9cc220d61b
      ▇▇▆│▁│▁  lowest 9.42 GB/s, highest 9.84 GB/s
      UTC                   median  95 % interval     unit  9.38 GB/s      9.88 GB/s
      2026-11-21 06:00  c1    9.81  [9.78, 9.84]      GB/s                    ──●─
      2026-11-21 12:00  c2    9.84  [9.80, 9.88]      GB/s                     ──●──
      ── all series changed by +3.1 % in cost in this run: not counted as a step
      2026-11-21 18:00  c3    9.79  no interval, n=2  GB/s                     ●
      ── command_line …quiet → …mitigations=off quiet · kernel 6.1.0-28-amd64 →
         6.12.9-amd64
      2026-11-22 00:00  c4    9.42  [9.39, 9.45]      GB/s  ──●─
      ── slower from here: 1.040× [1.030, 1.050] the cost, certain
      2026-11-22 06:00  c5     9.4  [9.1, 9.7]        GB/s  ‹──●──────────────
    1 step, 1 certain (under 1 in 1000 by chance, and beyond the margin of 1 %)
    1 recorded change: plumb makes no comparison across a change
    time of day (UTC) matters: 18-24 h costs 1.021× [1.013, 1.029] as much as the
    rest, 12 of 48 moments
    ");
}

#[test]
fn a_label_of_choice_and_ascii() {
    let plain = Terminal { unicode: false, ..Terminal::plain(80) };
    let card = history_card(&finding(), Some("schedule"), &plain);
    assert!(card.is_ascii(), "{card}");
    assert!(card.lines().nth(3).unwrap().contains("  6h  "), "{card}");
}

#[test]
fn markdown_and_document_say_the_same() {
    let markdown = history_markdown(&finding(), None);
    let lines: Vec<&str> = markdown.lines().collect();
    assert!(
        lines.contains(
            &"| | | **slower from here: 1.040× \\[1.030, 1.050\\] the cost, certain** | | | |"
        ),
        "{markdown}"
    );
    assert_eq!(lines.iter().filter(|line| line.starts_with("| `")).count(), 5);
    let document: serde_json::Value =
        serde_json::from_str(&history_json(&finding()).unwrap()).unwrap();
    assert_eq!(document["schema"], "plumb.history/1");
    assert_eq!(document["runs"][2]["no_interval"], "too few processes: 2, needs 6");
    assert_eq!(document["splits"][0]["changes"][1]["to"], "6.12.9-amd64");
    assert_eq!(document["steps"][0]["at"], 4);
    assert_eq!(document["runs"][2]["common_shift"], 0.031);
    assert_eq!(document["cycles"][0]["differs"], true);
}

#[test]
fn hosts_that_are_mixed_or_left_out_are_said() {
    let web1: Host = "web1".parse().unwrap();
    let mut finding = finding();
    for series in finding.runs.iter_mut().skip(2) {
        let run = std::sync::Arc::make_mut(&mut series.run);
        run.place.as_mut().unwrap().host = web1.clone();
    }
    finding.hosts.push(web1.clone());
    finding.host = web1;
    finding.other_hosts = OtherHosts { hosts: 2, runs: 7 };
    let card = history_card(&finding, None, &Terminal::plain(200));
    assert!(card.contains("5 runs on host web1, fp1:4ba84f9cc220d61b"), "{card}");
    assert!(
        card.contains("2 runs on an unknown host: from an older version of plumb, or without"),
        "{card}"
    );
    let left_out = "left out: 7 runs on 2 other hosts of this kind; plumb history \
                    'memory.copy:method=libc/bandwidth' --by kind shows all";
    assert!(card.contains(left_out), "{card}");
    assert!(history_markdown(&finding, None).contains("left out: 7 runs"));
    let document: serde_json::Value =
        serde_json::from_str(&history_json(&finding).unwrap()).unwrap();
    assert_eq!(document["host"], "web1");
    assert_eq!(document["other_hosts"], serde_json::json!({"hosts": 2, "runs": 7}));
    assert_eq!(
        (&document["runs"][0]["host"], &document["runs"][4]["host"]),
        (&serde_json::Value::Null, &"web1".into())
    );
}
