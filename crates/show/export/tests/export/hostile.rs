//! Runs that are empty, degenerate or written by somebody who means harm.

use plumb_analysis::testing::{Builder, Spec};
use plumb_analysis::{summarise, testing};
use plumb_export::{csv, samples_csv};
use plumb_model::{ParameterType, RunRecord};
use plumb_report::{NextSteps, View, in_words, json, markdown, scorecard};
use plumb_text::Terminal;
use proptest::prelude::{ProptestConfig, Strategy, any, prop, proptest};

use crate::poison::poison;

const SPEC: Spec = Spec {
    id: "memory.copy",
    metric: "bandwidth",
    unit: "B/s",
    parameters: &[("method", ParameterType::Choice, "libc", "")],
    value: 1e9,
    within: 0.0,
    between: 0.0,
    processes: 1,
    samples: 1,
    cpu: (0, 0, 0),
    memory_mib: 0,
};

/// All that people may see of a record.
fn everything(record: &RunRecord, width: usize) -> [String; 4] {
    let finding = summarise(record);
    let view = View::new(&finding);
    let every = Terminal { every_metric: true, ..Terminal::plain(width) };
    assert!(json(&view).is_ok());
    [
        scorecard(&view, &every, &NextSteps::default()),
        markdown(&view),
        in_words(&view).join("\n"),
        csv(&view),
    ]
}

#[test]
fn nothing_at_all_is_said_plainly() {
    let record = Builder::new(None).build();
    let [scorecard, markdown, words, csv] = everything(&record, 80);
    assert!(scorecard.contains("Nothing was measured."));
    assert!(markdown.contains("Nothing was measured."));
    assert!(words.is_empty());
    assert_eq!(csv.matches("\r\n").count(), 1);
}

#[test]
fn one_sample_and_equal_samples_have_figures_and_reasons() {
    let [one, ..] = everything(&Builder::new(None).measured(&SPEC).build(), 80);
    assert!(one.contains("1.00 none"), "{one}");
    assert!(one.contains("no interval: too few processes: 1"), "{one}");
    let many = Spec { processes: 12, samples: 5, ..SPEC };
    let [equal, ..] = everything(&Builder::new(None).measured(&many).build(), 80);
    assert!(equal.contains("[1, 1]"), "{equal}");
}

#[test]
fn escape_sequences_and_markup_stay_text() {
    let mut record = testing::first_look();
    let text = "\u{1b}[2J\u{1b}]8;;http://x\u{7}|<script>@all\n# =1+1 [a](http://b) \u{202e}`x`";
    poison(&mut record, text);
    let [scorecard, markdown, words, csv] = everything(&record, 80);
    for shown in [&scorecard, &markdown, &words, &csv] {
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']));
    }
    let outside_code: String = markdown.replace("\\`", "").split('`').step_by(2).collect();
    assert!(!outside_code.replace("\\<", "").contains("<script") && !outside_code.contains("@all"));
    assert!(!outside_code.replace("\\]", "").contains("](") && !outside_code.contains("http://"));
    assert!(!markdown.contains("\n#  =1"));
}

/// Text with every kind of character that has ever caused trouble.
fn texts() -> impl Strategy<Value = String> {
    let trouble = prop::sample::select(vec![
        "\u{1b}[31m",
        "\r\n",
        "\t",
        ",",
        "\"",
        "=",
        "|",
        "`",
        "\u{9b}",
        "大小",
        "é",
        "e\u{301}",
        "\u{200b}",
        "<b>",
        "-",
        "@",
        "%",
        " ",
        "a",
        "\u{feff}",
        "👩‍👩‍👧",
    ]);
    prop::collection::vec(trouble, 0..80).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_shown_as_text(text in texts(), any_text in any::<String>(), width in 0_usize..220) {
        let mut record = Builder::new(None)
            .measured(&Spec { processes: 9, samples: 3, within: 0.05, ..SPEC })
            .planned(&SPEC)
            .unsupported("x", "y")
            .build();
        poison(&mut record, &text);
        record.plan.dir = any_text;
        let shown = everything(&record, width);
        assert!(shown.iter().all(|shown| !shown.contains(|c: char| c.is_control() && c != '\n' && c != '\r')));
        let mut samples = Vec::new();
        samples_csv(&record, &mut samples).unwrap();
        for record in [&shown[3], &String::from_utf8(samples).unwrap()] {
            let outside_quotes: String = record.split('"').step_by(2).collect();
            let columns: Vec<usize> = outside_quotes.split_terminator("\r\n").map(|l| l.split(',').count()).collect();
            assert!(columns.windows(2).all(|pair| pair[0] == pair[1]), "{columns:?}");
        }
    }

    #[test]
    fn any_numbers_are_shown(
        values in prop::collection::vec((1_u64.., 1_u64..), 0..12), work in any::<f64>(), processes in 0_usize..4,
        steady_start in 0_usize..20,
    ) {
        let spec = Spec { processes, ..SPEC };
        let record = Builder::new(None).measured(&spec).invocations(|_, invocation| {
            let samples = &mut invocation.samples;
            samples.elapsed_ns = values.iter().map(|value| value.0).collect();
            samples.iterations = values.iter().map(|value| value.1).collect();
            samples.start_ns = vec![0; values.len()];
            samples.cpu = vec![-1; values.len()];
            invocation.ready.work.insert("bandwidth".into(), work);
            if let Some(end) = &mut invocation.end {
                end.steady_start = steady_start;
            }
        });
        everything(&record.build(), 80);
    }
}
