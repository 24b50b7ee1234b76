//! Stored runs side by side.

use std::convert::Infallible;
use std::sync::Arc;

use plumb_model::{Better, ENDED, Flag, FlagKind, Id, Impact, RunRecord, SeriesInRun, Verdict};

use crate::testing::{Builder, COPY, Spec, compared, compared_without_records};
use crate::{
    Asked, BaselineSource, ByRuns, CompareSettings, Comparison, ComparisonFinding, CounterMeans,
    CovariateChange, EarlierRuns, NoArmRanking, NoBaseline, NoVerdict, ParetoFront, RunQuestions,
    ShareOfBaseline, VerdictRemark, compare_sides, series_in_run, summarise, summarise_with,
};

fn noise(found: &Comparison) -> &ByRuns {
    found.by_runs().unwrap()
}

fn series(records: &[RunRecord]) -> Vec<SeriesInRun> {
    records.iter().flat_map(series_in_run).collect()
}

fn settings() -> CompareSettings {
    CompareSettings::default()
}

/// The record with this number: a run an hour.
fn numbered(mut record: RunRecord, number: u128) -> RunRecord {
    record.run = Id::from_u128(number);
    record.started_unix_ns = i64::try_from(number).unwrap() * 3_600_000_000_000;
    record
}

/// A run of one workload at so many times its usual level.
fn run(level: f64, id: u128, label: (&str, &str)) -> RunRecord {
    let spec = Spec { value: 1e9 * level, ..COPY };
    let mut record = numbered(Builder::new(Some("s")).measured(&spec).build(), id);
    record.plan.labels.insert(label.0.into(), label.1.into());
    record
}

#[test]
fn two_runs_alone_are_uncalibrated_and_say_how_much_noise_would_explain_them() {
    let finding =
        compared(&[run(1.0, 1, ("k", "a")), run(0.5, 2, ("k", "b"))], &[], None, &settings());
    assert_eq!(finding.arms, ["k=a", "k=b"]);
    let against = finding.results[0].against_first[0].as_ref().unwrap();
    // Half the bandwidth is twice the cost.
    assert!((against.ratio.as_ref().unwrap().value - 2.0).abs() < 0.1);
    assert!(against.verdict.is_err() && against.remarks == [VerdictRemark::Uncalibrated]);
    let sd = noise(against).break_even.unwrap();
    assert!((0.2..0.4).contains(&sd), "{sd}");
}

#[test]
fn six_pairs_of_earlier_runs_give_a_verdict_that_allows_for_their_noise() {
    let earlier: Vec<RunRecord> = [1.0, 1.02, 0.99, 1.01, 0.98, 1.0, 1.01]
        .iter()
        .zip(10..)
        .map(|(level, id)| run(*level, id, ("k", "h")))
        .collect();
    let against = |level| {
        let arms = [run(1.0, 1, ("k", "a")), run(level, 2, ("k", "b"))];
        let finding = compared(&arms, &series(&earlier), None, &settings());
        finding.results[0].against_first[0].clone().unwrap()
    };
    assert_eq!(against(0.5).verdict, Ok(Verdict::Slower));
    assert_eq!(against(2.0).verdict, Ok(Verdict::Faster));
    assert_eq!(against(0.97).verdict, Ok(Verdict::Inconclusive));
    assert!((0.01..0.02).contains(&noise(&against(0.97)).run_sd.unwrap()));
}

/// A run of eight workloads, of which the first has this many times its usual level.
fn run_of_eight(level: f64, id: u128) -> RunRecord {
    const IDS: [&str; 8] = ["t.a", "t.b", "t.c", "t.d", "t.e", "t.f", "t.g", "t.h"];
    let mut builder = Builder::new(Some("s"));
    for (index, workload) in IDS.into_iter().enumerate() {
        let value = if index == 0 { 1e9 * level } else { 1e9 };
        builder = builder.measured(&Spec { id: workload, value, ..COPY });
    }
    numbered(builder.build(), id)
}

/// What the first result of this run is of its baseline after these runs.
fn baseline_after(earlier: &[RunRecord], run: &RunRecord) -> Result<ShareOfBaseline, NoBaseline> {
    let mut all: Vec<Arc<[SeriesInRun]>> =
        earlier.iter().map(|record| series_in_run(record).into()).collect();
    let before = all.pop().unwrap();
    let earlier_runs = EarlierRuns { before, others: all };
    let earlier = |_: &[SeriesInRun]| Ok::<_, Infallible>(Some(earlier_runs.clone()));
    let questions = RunQuestions { counters: None, earlier: Some(&earlier) };
    summarise_with(run, &questions).unwrap().results.remove(0).of_baseline
}

/// Six runs that differ little, then one that is later than any other.
fn six_and_a_later_one() -> Vec<RunRecord> {
    let levels = [1.0, 1.02, 0.99, 1.01, 0.98, 1.0];
    let mut runs: Vec<RunRecord> =
        levels.iter().zip(10..).map(|(level, id)| run_of_eight(*level, id)).collect();
    runs.insert(0, run_of_eight(9.0, 99));
    runs
}

#[test]
fn without_another_baseline_a_result_is_compared_with_the_median_of_six_earlier_runs() {
    let earlier = six_and_a_later_one();
    let half = baseline_after(&earlier, &run_of_eight(0.5, 50)).unwrap();
    assert!((half.value / 1e9 - 1.0).abs() < 0.02, "{half:?}");
    assert!((half.share.value - 0.5).abs() < 0.02, "{half:?}");
    assert_eq!(half.verdict, None);
    let BaselineSource::EarlierRuns { runs, lowest, highest, .. } = half.source else {
        panic!("{half:?}")
    };
    assert_eq!(runs, 6);
    assert!(lowest < 0.99e9 && highest < 1.1e9, "{lowest} {highest}");
    assert_eq!(half.worst, lowest);
    // The sixth is missing.
    assert!(baseline_after(&earlier[..6], &run_of_eight(0.5, 50)).is_err());
    // A run of one point is not compared, whatever came before.
    let alone = run(0.5, 50, ("k", "h"));
    let of_one: Vec<RunRecord> = (10..16).map(|id| run(1.0, id, ("k", "h"))).collect();
    assert!(baseline_after(&of_one, &alone).is_err());
}

#[test]
fn runs_next_to_loads_or_prepared_otherwise_are_not_usual() {
    let plain = run_of_eight(1.0, 50);
    let mut loaded = six_and_a_later_one();
    for record in &mut loaded {
        record.plan.companions.push(plumb_model::Companion {
            role: plumb_model::Role::Load,
            point: record.plan.points[0].clone(),
            slot: plumb_model::PreparationSlot::Run,
            of_points: false,
        });
    }
    assert!(baseline_after(&loaded, &plain).is_err());
    let mut prepared = six_and_a_later_one();
    for record in &mut prepared {
        record.plan.preparation.push(plumb_model::Preparation {
            knob: "nice".to_owned(),
            value: "19".to_owned(),
            slot: plumb_model::PreparationSlot::Run,
            optional: false,
        });
    }
    assert!(baseline_after(&prepared, &plain).is_err());
    assert!(baseline_after(&six_and_a_later_one(), &plain).is_ok());
}

#[test]
fn stored_runs_with_busy_clients_are_never_equivalent() {
    let earlier: Vec<RunRecord> = [1.0, 1.02, 0.99, 1.01, 0.98, 1.0, 1.01]
        .iter()
        .zip(10..)
        .map(|(level, id)| run(*level, id, ("k", "h")))
        .collect();
    let verdict = |level: f64, is_busy: bool| {
        let mut later = run(level, 2, ("k", "b"));
        if is_busy {
            for invocation in &mut later.invocations {
                invocation.flags.push(Flag::new(FlagKind::GeneratorBusy, "busy"));
            }
        }
        let settings = CompareSettings { margin: 0.2, ..settings() };
        let arms = [run(1.0, 1, ("k", "a")), later];
        let finding = compared(&arms, &series(&earlier), None, &settings);
        finding.results[0].against_first[0].clone().unwrap().verdict
    };
    assert_eq!(verdict(1.0, false), Ok(Verdict::Equivalent));
    assert_eq!(verdict(1.0, true), Err(NoVerdict::GeneratorBusy));
    // What they do see is seen.
    assert_eq!(verdict(0.5, true), Ok(Verdict::Slower));
}

#[test]
fn stored_runs_of_crashes_are_not_compared_with_successes() {
    let ended = |id: u128, code: f64| {
        let mut record = run(1.0, id, ("k", "v"));
        for invocation in &mut record.invocations {
            let samples = &mut invocation.samples;
            samples.values.insert(ENDED.to_owned(), vec![code; samples.len()]);
        }
        record
    };
    let against = |first: f64, later: f64| {
        let runs = [ended(1, first), ended(2, later)];
        compared(&runs, &[], None, &settings()).results[0].against_first[0].clone().unwrap()
    };
    let verdict = against(0.0, -11.0).verdict;
    assert!(matches!(verdict, Err(NoVerdict::EndedDifferently { .. })), "{verdict:?}");
    let alike = against(1.0, 1.0);
    assert!(matches!(alike.verdict, Err(NoVerdict::Uncalibrated { .. })), "{alike:?}");
    assert!(alike.remarks.contains(&VerdictRemark::OfFailures), "{alike:?}");
}

#[test]
fn labels_measured_on_different_days_have_no_verdict_and_in_turns_they_have_one() {
    // Four runs a label, each label's within .1 %, the labels 1.5 % apart.
    let levels = [1.0, 1.001, 0.9995, 1.0005];
    let imported = |label: &'static str, level: f64, from: u128, apart: u128| {
        let runs = (0..).zip(levels);
        runs.map(move |(number, own)| run(level * own, from + apart * number, ("k", label)))
    };
    let by = Some("k".to_owned());
    let verdict = |runs: &[RunRecord]| {
        let settings = CompareSettings { by: by.clone(), ..settings() };
        compared(runs, &[], None, &settings).results[0].against_first[0].clone().unwrap()
    };
    let days: Vec<RunRecord> =
        imported("a", 1.0, 1, 1).chain(imported("b", 0.985, 25, 1)).collect();
    assert_eq!(verdict(&days).verdict, Err(NoVerdict::Uncalibrated { blocks: 0 }));
    // Eight more blocks.
    let turns: Vec<RunRecord> = (0..4)
        .flat_map(|round| {
            imported("a", 1.0, 1 + 8 * round, 2).chain(imported("b", 0.985, 2 + 8 * round, 2))
        })
        .collect();
    let found = verdict(&turns);
    assert_eq!(found.verdict, Ok(Verdict::Slower), "{found:?}");
    assert!(found.by_runs().unwrap().blocks.unwrap() >= 8);
    let few = verdict(&turns[..16]);
    assert!(matches!(few.verdict, Err(NoVerdict::Uncalibrated { blocks: 7 })), "{few:?}");
    // What has no date never alternates.
    let mut undated = turns;
    undated[3].started_unix_ns = 0;
    assert_eq!(verdict(&undated).verdict, Err(NoVerdict::Uncalibrated { blocks: 0 }));
}

#[test]
fn a_harmless_change_leaves_earlier_runs_of_use_and_a_relevant_one_does_not() {
    let verdict = |field: &str| {
        let with = |id: u32| {
            let mut record = run(1.0 + f64::from(id) * 1e-3, id.into(), ("k", "h"));
            let facts = &mut record.targets[0].environment.facts;
            facts.insert(field.into(), format!("value {id}"));
            record
        };
        let earlier: Vec<RunRecord> = (10..17).map(with).collect();
        let arms = [run(1.0, 1, ("k", "a")), run(0.5, 2, ("k", "b"))];
        let finding = compared(&arms, &series(&earlier), None, &settings());
        finding.results[0].against_first[0].clone().unwrap().verdict
    };
    let harmless = plumb_model::FACTS.iter().find(|fact| fact.impact == Impact::Harmless);
    assert_eq!(verdict(harmless.unwrap().name), Ok(Verdict::Slower));
    assert!(verdict("kernel").is_err());
}

#[test]
fn a_run_of_a_program_against_itself_counts_once() {
    let twice = |level: f64, id| {
        let spec = Spec { value: 1e9 * level, ..COPY };
        numbered(Builder::new(Some("s")).measured(&spec).measured(&spec).build(), id)
    };
    let earlier: Vec<RunRecord> = (10..13).map(|id| twice(1.0, id)).collect();
    let arms = [run(1.0, 1, ("k", "a")), run(0.5, 2, ("k", "b"))];
    let finding = compared(&arms, &series(&earlier), None, &settings());
    let against = finding.results[0].against_first[0].as_ref().unwrap();
    // Three runs, not six: twice the same run says nothing of the noise between runs.
    assert_eq!(against.remarks, [VerdictRemark::Uncalibrated]);
    let finding = compared(&[twice(1.0, 1), twice(0.5, 2)], &[], None, &settings());
    assert_eq!(finding.results[0].arms[0].as_ref().unwrap().runs, 1);
}

#[test]
fn all_series_together_have_no_interval_while_the_noise_between_runs_is_unknown() {
    let two = |level: f64, id| {
        let spec = Spec { value: 1e9 * level, ..COPY };
        let other = Spec { id: "memory.other", ..spec };
        numbered(Builder::new(Some("s")).measured(&spec).measured(&other).build(), id)
    };
    let arms = [two(1.0, 1), two(0.5, 2)];
    let overall = |earlier: &[RunRecord], every_metric| {
        let finding = compared(
            &arms,
            &series(earlier),
            None,
            &CompareSettings { every_metric, ..settings() },
        );
        finding.overall[0].clone()
    };
    let alone = overall(&[], false).unwrap();
    assert!((alone.value - 2.0).abs() < 0.1 && alone.interval.is_err(), "{alone:?}");
    let earlier: Vec<RunRecord> = (10..17).map(|id| two(1.0, id)).collect();
    assert!(overall(&earlier, false).unwrap().interval.is_ok());
    assert_eq!(overall(&earlier, true), None);
}

#[test]
fn what_one_run_did_not_read_is_no_difference_but_what_it_is_not_is_one() {
    let mut other = run(1.0, 2, ("k", "b"));
    let target = &mut other.targets[0];
    target.environment.facts.insert("caches".into(), "L1d 32 KiB".into());
    target.machine.facts.insert("product".into(), "m5.large".into());
    let finding = compared(&[run(1.0, 1, ("k", "a")), other], &[], None, &settings());
    let fields = finding
        .differences
        .iter()
        .map(|difference| (difference.field.as_str(), difference.values[0].as_str()));
    let fields: Vec<_> = fields.filter(|(field, _)| *field != "labels").collect();
    assert_eq!(fields, [("product", "none")]);
}

#[test]
fn ratios_are_divided_by_that_of_one_series_whose_versions_may_differ() {
    // The second machine has twice the power, and is four times as fast at the first series.
    let machine = |copy: f64, sieve: f64, id: u128, version: &str| {
        let copy = Spec { value: 1e9 * copy, ..COPY };
        let sieve = Spec { value: 1e6 * sieve, unit: "ops/s", metric: "rate", ..COPY };
        let sieve = Spec { id: "cpu.sieve", ..sieve };
        let builder = Builder::new(Some("s")).measured(&copy).measured(&sieve);
        let mut record = numbered(builder.build(), id);
        record.plan.labels.insert("k".into(), id.to_string());
        for invocation in &mut record.invocations {
            invocation.ready.versions.insert("library".into(), version.into());
        }
        record
    };
    let arms = [machine(1.0, 1.0, 1, "1.0"), machine(4.0, 2.0, 2, "2.0")];
    let by = |name: &str| CompareSettings { normalise_by: Some(name.into()), ..settings() };
    let finding = compared(&arms, &[], None, &by("cpu.sieve/rate"));
    let normalised = |series: &str, arm: usize| {
        let mut results = finding.results.iter();
        let result = results.find(|result| result.series == series).unwrap();
        result.arms[arm].as_ref().unwrap().normalised.clone()
    };
    let found = normalised("memory.copy/bandwidth", 1).unwrap();
    assert!((found.value - 0.5).abs() < 0.01, "{found:?}");
    assert!(found.low().unwrap() < 0.5 && found.high().unwrap() > 0.5, "{found:?}");
    assert_eq!(normalised("memory.copy/bandwidth", 0), None);
    assert_eq!(normalised("cpu.sieve/rate", 1), None);
    let changed = &finding.normalised_by.as_ref().unwrap().changed_versions;
    assert_eq!(changed, &["library: 1.0 | 2.0"]);
    assert_eq!(compared(&arms, &[], None, &by("cpu.nothing")).normalised_by, None);
}

#[test]
fn what_is_no_price_is_none() {
    for (price, currency) in [
        ("19.95", Some("")),
        ("19.95 USD", Some("USD")),
        ("$19.95/month", None),
        ("19.95 EUR/month", Some("EUR/month")),
        ("$19.95", Some("USD")),
        ("0", None),
        ("-1", None),
        ("inf", None),
        ("abc", None),
        ("5 of 6", None),
    ] {
        let mut first = run(1.0, 1, ("k", "a"));
        first.plan.labels.insert("price".into(), price.into());
        let finding = compared(&[first, run(1.0, 2, ("k", "b"))], &[], None, &settings());
        let arm = finding.results[0].arms[0].as_ref().unwrap();
        let found = arm.for_price.as_ref().map(|for_price| for_price.currency.as_str());
        assert_eq!(found, currency, "{price}");
    }
}

#[test]
fn groups_follow_a_label_and_prices_are_allowed_for() {
    let arms: Vec<RunRecord> = [("6.1", 1.0), ("6.12", 1.1), ("6.1", 1.0), ("6.18", 1.2)]
        .iter()
        .zip(1..)
        .map(|((kernel, level), id)| {
            let mut record = run(*level, id, ("kernel", kernel));
            record.plan.labels.insert("price".into(), "2.0".into());
            record
        })
        .collect();
    let by = Some("kernel".to_owned());
    let finding = compared(&arms, &[], None, &CompareSettings { by, ..settings() });
    assert_eq!(finding.arms, ["6.1", "6.12", "6.18"]);
    let result = &finding.results[0];
    let arm = result.arms[0].as_ref().unwrap();
    assert_eq!((arm.runs, result.against_previous.len()), (2, 2));
    let for_price = arm.for_price.as_ref().unwrap().value.value;
    assert!((for_price - arm.estimate.value / 2.0).abs() < 1e-9 * for_price);
}

/// A run on a host.
fn on(host: &str, id: u128, kernel: &str) -> RunRecord {
    let mut record = run(1.0 + 0.001 * (id % 7) as f64, id, ("kernel", kernel));
    // The beginning of an id is what people see.
    record.run = Id::from_u128(id << 96);
    record.targets[0].host = host.parse().unwrap();
    record
}

#[test]
fn arms_mix_hosts_only_by_kind() {
    let runs =
        [on("web1", 1, "6.1"), on("web2", 2, "6.1"), on("web1", 3, "6.12"), on("", 4, "6.12")];
    let arms = |by: &str| {
        let by = Some(by.to_owned());
        compared(&runs, &[], None, &CompareSettings { by, ..settings() }).arms
    };
    assert_eq!(arms("kernel"), ["6.1 on web1", "6.1 on web2", "6.12"]);
    assert_eq!(arms("kernel,kind"), ["6.1", "6.12"]);
    assert_eq!(arms("host"), ["web1", "web2", "unknown host"]);
    assert_eq!(arms("kind").len(), 1);
    assert_eq!(arms("run,kind").len(), 4);
}

#[test]
fn the_noise_between_runs_is_that_of_one_host_or_of_a_kind() {
    let earlier: Vec<RunRecord> = (10..18).map(|id| on("web2", id, "6.1")).collect();
    let two = [on("web1", 1, "6.1"), on("web1", 2, "6.12")];
    let verdict = |by: Option<&str>, earlier: &[RunRecord]| {
        let by = by.map(str::to_owned);
        let finding = compared(&two, &series(earlier), None, &CompareSettings { by, ..settings() });
        finding.results[0].against_first[0].as_ref().unwrap().verdict
    };
    assert_eq!(verdict(None, &earlier), Err(NoVerdict::Uncalibrated { blocks: 0 }));
    assert!(verdict(Some("run,kind"), &earlier).is_ok());
    let unknown: Vec<RunRecord> = (10..18).map(|id| on("", id, "6.1")).collect();
    assert!(verdict(None, &unknown).is_ok(), "a host that nobody knows mixes");
}

#[test]
fn another_host_of_the_same_kind_is_a_difference_and_an_unknown_one_is_none() {
    let differing = |other: &str| {
        let finding =
            compared(&[on("web1", 1, "6.1"), on(other, 2, "6.1")], &[], None, &settings());
        let host = finding.differences.into_iter().find(|difference| difference.field == "host");
        (
            finding.machines_differ,
            host.map(|difference| (difference.values.join(" "), difference.impact)),
        )
    };
    assert_eq!(differing("web2"), (true, Some(("web1 web2".into(), Impact::Relevant))));
    assert_eq!(differing(""), (false, None));
}

#[test]
fn differences_have_an_impact_and_strangers_are_listed() {
    let mut other = run(1.0, 2, ("k", "b"));
    other.targets[0].environment.facts.insert("kernel".into(), "9.9".into());
    other.targets[0].machine.fingerprint = "fp1:other".into();
    other.plan.points[0].description.version = 2;
    let finding = compared(&[run(1.0, 1, ("k", "a")), other], &[], None, &settings());
    assert!(finding.machines_differ);
    let kernel =
        finding.differences.iter().find(|difference| difference.field == "kernel").unwrap();
    assert_eq!(kernel.impact, Impact::Relevant);
    assert!(finding.results.is_empty(), "another version is another series");
    assert_eq!(finding.not_in_all.len(), 2);
}

#[test]
fn the_sides_of_one_run_are_arms() {
    let better = Spec { value: 2e10, ..COPY };
    let record = Builder::new(None).measured(&COPY).measured(&better);
    let record = record.with(|record| record.plan.against_first = true).build();
    let finding = compare_sides(&record, &summarise(&record));
    assert!(finding.paired && finding.arms.len() == 2);
    let against = finding.results[0].against_first[0].as_ref().unwrap();
    assert_eq!(
        (against.verdict, against.by_pairs().unwrap().looks_taken()),
        (Ok(Verdict::Faster), 1)
    );
}

#[test]
fn where_no_direction_is_better_nothing_is_faster_or_slower() {
    let run = |value: f64, id: u128| {
        let mut record =
            numbered(Builder::new(Some("s")).measured(&Spec { value, ..COPY }).build(), id);
        record.plan.points[0].description.metrics[0].better = Better::Neither;
        record
    };
    let earlier: Vec<RunRecord> =
        (10..17_u32).map(|id| run(1e9 + 1e6 * f64::from(id), id.into())).collect();
    let finding = compared(&[run(1e9, 1), run(2e9, 2)], &series(&earlier), None, &settings());
    let against = finding.results[0].against_first[0].as_ref().unwrap();
    assert_eq!(against.verdict, Err(NoVerdict::NoDirection));
    assert!(against.ratio.is_some());
}

const SIEVE: Spec = Spec {
    id: "cpu.sieve",
    metric: "rate",
    unit: "ops/s",
    value: 500.0,
    between: 0.01,
    cpu: (90, 5, 0),
    ..COPY
};

#[test]
fn facts_of_stored_runs_go_before_rates() {
    let run = |value: f64, id: u128, kernel: &str| {
        let mut record = Builder::new(Some("s")).measured(&Spec { value, ..SIEVE }).build();
        record.run = Id::from_u128(id);
        let facts = &mut record.targets[0].environment.facts;
        facts.insert("kernel".into(), kernel.into());
        record
    };
    let records = [run(500.0, 1, "6.1"), run(100.0, 2, "6.18")];
    let settings = CompareSettings::default();
    let finding = compared(&records, &[], Some(&CounterMeans::new()), &settings);
    let against = finding.results[0].against_first[0].as_ref().unwrap();
    let first = against.covariates.items().first().unwrap();
    assert_eq!(first.what, "kernel");
    assert!(
        matches!(&first.how, CovariateChange::Fact { from, to, .. } if from == "6.1" && to == "6.18")
    );
    assert!(
        against
            .covariates
            .items()
            .iter()
            .any(|covariate| covariate.what == "user time per iteration")
    );
}

#[test]
fn verdicts_of_one_run_an_arm_take_no_record() {
    let earlier: Vec<RunRecord> =
        (10..18).map(|id| run(1.0 + 0.001 * (id % 3) as f64, id, ("k", "h"))).collect();
    let arms = [run(1.0, 1, ("k", "a")), run(0.5, 2, ("k", "b")), run(0.9, 3, ("k", "c"))];
    let alone = compared_without_records(&arms, &series(&earlier), &settings());
    let mut with = compared(&arms, &series(&earlier), None, &settings());
    for arm in with.results.iter_mut().flat_map(|result| &mut result.arms).flatten() {
        assert!(arm.samples.found().is_some_and(|samples| samples.sorted.len() > 100));
        arm.samples = Asked::NotAsked;
    }
    assert_eq!(alone, with);
    assert_eq!(
        alone.results[0].against_first[0].as_ref().unwrap().covariates,
        Asked::NotAsked,
        "without counters it is not asked what else changed"
    );
}

#[test]
fn a_run_that_measured_nothing_is_an_arm_without_series() {
    let mut nothing = run(1.0, 2, ("k", "b"));
    nothing.invocations.clear();
    nothing.status = plumb_model::RunStatus::Interrupted;
    let finding = compared(&[run(1.0, 1, ("k", "a")), nothing], &[], None, &settings());
    assert_eq!(finding.arms, ["k=a", "k=b"]);
    assert_eq!((finding.runs.len(), finding.results.len(), finding.not_in_all.len()), (2, 0, 1));
    let status = finding.differences.iter().find(|difference| difference.field == "status");
    assert_eq!(status.unwrap().values, ["complete", "interrupted"]);
}

/// Eight runs at this level and price, so many nanoseconds apart, that vary by half a percent.
fn eight_runs(
    name: &str,
    level: f64,
    price: &str,
    first_id: u128,
    apart_ns: i64,
) -> Vec<RunRecord> {
    let mut runs = Vec::new();
    for (number, error) in [0.0, 4.0, -3.0, 1.0, -5.0, 2.0, 3.0, -2.0].iter().enumerate() {
        let id = first_id + number as u128;
        let mut record = run(level * (1.0 + error / 1000.0), id, ("provider", name));
        record.started_unix_ns = 3_600_000_000_000 + number as i64 * apart_ns;
        record.plan.labels.insert("price".into(), price.into());
        runs.push(record);
    }
    runs
}

/// Three providers: `b` is 30 % faster than `a` and five times as dear; `c` is slower than `a` and dearer.
fn three_providers(apart_ns: i64, last_price: &str) -> ComparisonFinding {
    let mut runs = eight_runs("a", 1.0, "10 EUR", 100, apart_ns);
    runs.extend(eight_runs("b", 1.3, "50 EUR", 200, apart_ns));
    runs.extend(eight_runs("c", 0.9, last_price, 300, apart_ns));
    let by = Some("provider".to_owned());
    compared(&runs, &[], None, &CompareSettings { by, ..settings() })
}

const HOUR_NS: i64 = 3_600_000_000_000;

#[test]
fn three_sides_have_ranks_by_cost_and_by_price() {
    let finding = three_providers(HOUR_NS, "11 EUR");
    let ranking = finding.results[0].ranking.as_ref().unwrap().as_ref().unwrap();
    let ranks: Vec<(usize, usize)> =
        ranking.arms.iter().flatten().map(|arm| (arm.ranks.best, arm.ranks.worst)).collect();
    // A bandwidth: more is better.
    assert_eq!(ranks, [(2, 2), (1, 1), (3, 3)]);
    let by_price: Vec<(usize, ParetoFront)> = ranking
        .arms
        .iter()
        .flatten()
        .map(|arm| arm.by_price.unwrap())
        .map(|by_price| (by_price.ranks.best, by_price.front))
        .collect();
    let off = ParetoFront::Off { because_of: 0 };
    assert_eq!(by_price, [(1, ParetoFront::On), (3, ParetoFront::On), (2, off)]);
    let for_price = &finding.results[0].arms[0].as_ref().unwrap().for_price.as_ref().unwrap().value;
    assert!(
        for_price.low().unwrap() < for_price.value && for_price.value < for_price.high().unwrap()
    );
}

#[test]
fn prices_in_several_currencies_do_not_rank() {
    let finding = three_providers(HOUR_NS, "11 USD");
    let ranking = finding.results[0].ranking.as_ref().unwrap().as_ref().unwrap();
    assert!(ranking.arms.iter().flatten().all(|arm| arm.by_price.is_none()));
}

#[test]
fn runs_within_an_hour_are_one_value_of_a_ranking() {
    // Ten minutes apart: eight runs are two sessions.
    let finding = three_providers(HOUR_NS / 6, "11 EUR");
    let why = finding.results[0].ranking.as_ref().unwrap().as_ref().unwrap_err();
    assert_eq!(*why, NoArmRanking::TooFewValues { arm: 0, have: 2 });
    assert!(
        why.text(&finding.arms).ends_with("of each arm; a has 2"),
        "{}",
        why.text(&finding.arms)
    );
    // Without a date, nothing says that the runs are apart.
    let mut undated = eight_runs("a", 1.0, "1", 100, HOUR_NS);
    undated.iter_mut().for_each(|record| record.started_unix_ns = 0);
    undated.extend(eight_runs("b", 1.0, "1", 200, HOUR_NS));
    let by = Some("provider".to_owned());
    let finding = compared(&undated, &[], None, &CompareSettings { by, ..settings() });
    let why = finding.results[0].ranking.as_ref().unwrap().as_ref().unwrap_err();
    assert_eq!(*why, NoArmRanking::TooFewValues { arm: 0, have: 1 });
}
