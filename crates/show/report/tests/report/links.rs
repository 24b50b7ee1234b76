//! Points behind a link, as people and programs see them.

use insta::assert_snapshot;
use plumb_analysis::{RunFinding, summarise, testing};
use plumb_report::{NextSteps, View, document, in_words, markdown, scorecard};
use plumb_text::Terminal;

fn finding() -> RunFinding {
    summarise(&testing::remote_disk())
}

#[test]
fn what_binds_stands_below_the_results() {
    let finding = finding();
    let card = scorecard(&View::new(&finding), &Terminal::plain(80), &NextSteps::default());
    let (_, curves) = card.split_once("Curves and rankings\n").unwrap();
    assert_snapshot!(curves, @"
    block.mkfs:scale=100 by up and rtt
      time = bytes / bandwidth + operations × round trip / depth + rest: depth at
      least 6.98; rest 208 [173, 243] ms
      up=1Mbit/s,rtt=75ms: bandwidth 95 % [95, 95], round trips 0 % [0, 1], rest
      5 % [4, 6]: bandwidth is the bottleneck
      up=1Mbit/s,rtt=37.5ms: bandwidth 95 % [95, 95], round trips 0 % [0, 1], rest
      5 % [4, 6]: bandwidth is the bottleneck
      up=3Mbit/s,rtt=75ms: bandwidth 86 % [85, 87], round trips 0 % [0, 3], rest
      14 % [11, 16]: bandwidth is the bottleneck
      up=3Mbit/s,rtt=37.5ms: bandwidth 86 % [85, 87], round trips 0 % [0, 1], rest
      14 % [12, 16]: bandwidth is the bottleneck
      the others predict each point to within 1 %
    block.mkfs:zeroes=small,scale=100 by up and rtt
      time = bytes / bandwidth + operations × round trip / depth + rest: depth
      0.99 [0.95, 1.04]; rest 185 [114, 256] ms
      up=1Mbit/s,rtt=75ms: bandwidth 14 % [14, 14], round trips 79 % [77, 82],
      rest 6 % [4, 9]: the round trip is the bottleneck
      up=1Mbit/s,rtt=37.5ms: bandwidth 23 % [23, 24], round trips 66 % [62, 70],
      rest 11 % [7, 15]: the round trip is the bottleneck
      up=3Mbit/s,rtt=75ms: bandwidth 5 % [5, 5], round trips 88 % [85, 91], rest
      7 % [4, 10]: the round trip is the bottleneck
      up=3Mbit/s,rtt=37.5ms: bandwidth 9 % [9, 9], round trips 78 % [73, 83], rest
      13 % [8, 17]: the round trip is the bottleneck
      the others predict each point to within 1 %
    ");
}

#[test]
fn sentences_and_markdown_say_the_same() {
    let finding = finding();
    let view = View::new(&finding);
    let small = view.curves[1].lines.join("; ");
    assert!(in_words(&view).iter().any(|sentence| sentence.ends_with(&small)), "{small}");
    let first = "`block.mkfs:scale=100 by up and rtt`: time = bytes / bandwidth +";
    assert!(markdown(&view).contains(first));
}

#[test]
fn one_round_trip_is_said_to_tell_nothing() {
    let mut record = testing::remote_disk();
    record.plan.points.iter_mut().for_each(|planned| {
        planned.point.settings.insert("rtt".into(), plumb_model::Value::Integer(75_000_000));
        let wide = planned.point.name().contains("37500us");
        if wide {
            planned.point.settings.insert("up".into(), plumb_model::Value::Integer(500_000));
        }
    });
    let finding = summarise(&record);
    let view = View::new(&finding);
    let lines: Vec<&String> = view.curves.iter().flat_map(|curve| &curve.lines).collect();
    assert_eq!(
        lines,
        ["round trips cannot be distinguished: all points have the same round-trip time"; 2]
    );
    let document = serde_json::to_value(document(&view)).unwrap();
    assert_eq!(document["links"][0]["no_figures"], "all points have the same round-trip time");
}

#[test]
fn the_document_has_the_figures() {
    let finding = finding();
    let document = serde_json::to_value(document(&View::new(&finding))).unwrap();
    let large = &document["links"][0];
    let small = &document["links"][1];
    assert_eq!(small["of"], "block.mkfs:zeroes=small,scale=100");
    assert_eq!((&small["by"][0], &small["by"][1]), (&"up".into(), &"rtt".into()));
    assert_eq!(small["points"][0]["shares"]["binds"], "round-trips");
    assert_eq!(large["points"][0]["shares"]["binds"], "bandwidth");
    assert!(small["depth_high"].as_f64().unwrap() < 1.2, "{small}");
    assert!(small["points"][0]["shares"]["left_out"].as_f64().unwrap() < 0.05, "{small}");
    let first = small["points"][0]["series"].as_str().unwrap();
    assert!(first.starts_with("block.mkfs:zeroes=small,up=125kB/s,rtt=75ms"), "{first}");
}
