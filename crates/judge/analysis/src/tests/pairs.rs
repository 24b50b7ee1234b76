//! Points of one run in pairs.

use plumb_model::{ENDED, Flag, FlagKind, Goal, Interference, RunRecord, Verdict, VerdictGoal};

use crate::testing::{Builder, COPY, Spec, exec, fail};
use crate::{
    ByPairs, NoLayoutEffect, NoVerdict, OtherBuild, PointComparison, RunFinding, VerdictRemark,
    audit_layout, over_sessions, summarise,
};

fn pairs(found: &PointComparison) -> &ByPairs {
    found.found.by_pairs().unwrap()
}

#[test]
fn commands_are_compared_by_round() {
    let finding = summarise(&exec());
    let [faster, other] = finding.against_first.as_slice() else { panic!() };
    assert_eq!(faster.found.verdict, Ok(Verdict::Faster));
    assert_eq!((pairs(faster).pairs, faster.first.name.as_str()), (20, "gzip -1 corpus"));
    let ratio = faster.found.ratio.as_ref().unwrap();
    assert!(ratio.low().unwrap() < 0.25 && ratio.high().unwrap() > 0.247, "{ratio:?}");
    assert_eq!(other.found.verdict, Ok(Verdict::Inconclusive));
    assert!(pairs(other).pairs_needed.is_some());
}

#[test]
fn a_higher_rate_is_a_lower_cost() {
    let better = Spec { value: 2e10, ..COPY };
    let record = Builder::new(None)
        .measured(&COPY)
        .measured(&better)
        .with(|record| record.plan.against_first = true)
        .build();
    let comparison = &summarise(&record).against_first[0].found;
    assert_eq!(comparison.verdict, Ok(Verdict::Faster));
    assert!((comparison.ratio.as_ref().unwrap().value - 0.5).abs() < 0.01);
}

/// What a run of so many rounds finds whose point 1 has so many invocations with busy clients. It is faster than point 0,
/// or with its samples the same.
fn with_busy_clients(is_same: bool, flagged: usize, rounds: u32) -> RunFinding {
    let mut record = exec();
    record.invocations.retain(|invocation| invocation.round < rounds);
    let firsts: Vec<_> =
        record.invocations.iter().filter(|invocation| invocation.point == 0).cloned().collect();
    let laters = record.invocations.iter_mut().filter(|invocation| invocation.point == 1);
    for (index, later) in laters.enumerate() {
        let first = firsts.iter().find(|first| first.round == later.round).unwrap();
        if is_same {
            later.samples = first.samples.clone();
        }
        if index < flagged {
            later.flags.push(Flag::new(FlagKind::GeneratorBusy, "busy"));
        }
    }
    summarise(&record)
}

#[test]
fn sessions_with_busy_clients_are_never_equivalent() {
    // Each session is too short for a verdict of its own.
    let found = |is_same: bool, flagged: usize| {
        let sessions = vec![with_busy_clients(is_same, flagged, 5); 8];
        assert_eq!(sessions[0].against_first[0].found.verdict, Err(NoVerdict::FewPairs));
        let repeated = over_sessions(&sessions, &[]).comparisons.remove(0);
        (repeated.verdict, repeated.no_verdict)
    };
    assert_eq!(found(true, 0), (Some(Verdict::Equivalent), None));
    assert_eq!(found(true, 20), (None, Some(NoVerdict::GeneratorBusy)));
    assert_eq!(found(false, 20), (Some(Verdict::Faster), None));
}

#[test]
fn busy_clients_can_not_clear_a_regression() {
    let verdict = |is_same: bool, flagged: usize| {
        with_busy_clients(is_same, flagged, 20).against_first[0].found.verdict
    };
    assert_eq!(verdict(true, 0), Ok(Verdict::Equivalent));
    assert_eq!(verdict(true, 1), Ok(Verdict::Equivalent));
    assert_eq!(verdict(true, 20), Err(NoVerdict::GeneratorBusy));
    // What they do see is seen.
    assert_eq!(verdict(false, 20), Ok(Verdict::Faster));
}

#[test]
fn few_rounds_give_a_ratio_and_no_verdict() {
    let few = |record: &mut RunRecord| record.invocations.retain(|invocation| invocation.round < 5);
    let mut record = exec();
    few(&mut record);
    let comparison = &summarise(&record).against_first[0].found;
    assert_eq!(comparison.verdict, Err(NoVerdict::FewPairs));
    assert_eq!(comparison.by_pairs().unwrap().pairs, 5);
    let ratio = comparison.ratio.as_ref().unwrap();
    assert!(ratio.interval.is_err() && (0.2..0.3).contains(&ratio.value));
}

#[test]
fn few_rounds_that_other_work_left_say_so() {
    let mut record = exec();
    for invocation in record.invocations.iter_mut().filter(|invocation| invocation.round >= 5) {
        invocation.excluded_by = Some("steal".to_owned());
    }
    let comparison = &summarise(&record).against_first[0].found;
    assert_eq!(comparison.verdict, Err(NoVerdict::Disturbed { excluded: 15, of: 20 }));
    // Half of twenty leaves enough, and a verdict.
    for invocation in record.invocations.iter_mut().filter(|invocation| invocation.round < 10) {
        invocation.excluded_by = None;
    }
    let comparison = &summarise(&record).against_first[0].found;
    assert_eq!(
        (comparison.verdict, comparison.by_pairs().unwrap().pairs),
        (Ok(Verdict::Faster), 10)
    );
}

/// Another process works in these rounds when the command of this index runs, and so the rounds are excluded.
fn with_foreign_work(record: &mut RunRecord, index: usize, rounds: &dyn Fn(u32) -> bool) {
    for invocation in &mut record.invocations {
        if !rounds(invocation.round) || invocation.point > 1 {
            continue;
        }
        invocation.excluded_by = Some("foreign-cpu".to_owned());
        if invocation.point == index {
            invocation.interference.push(Interference {
                rule: "foreign-cpu".to_owned(),
                first: 0,
                last: 0,
                evidence: "other processes used 90 % of one CPU".to_owned(),
            });
        }
    }
}

#[test]
fn work_that_a_side_causes_elsewhere_excludes_nothing_and_is_reported() {
    let mut record = exec();
    with_foreign_work(&mut record, 1, &|round| round % 4 != 0);
    let comparison = &summarise(&record).against_first[0].found;
    let by_pairs = comparison.by_pairs().unwrap();
    assert_eq!((comparison.verdict, by_pairs.pairs), (Ok(Verdict::Faster), 20));
    let [found] = by_pairs.side_effects.as_slice() else { panic!("{by_pairs:?}") };
    assert_eq!((found.rule.as_str(), found.first, found.later), ("foreign-cpu", 0, 15));
}

#[test]
fn a_neighbour_of_both_sides_stays_excluded() {
    let mut record = exec();
    with_foreign_work(&mut record, 1, &|round| round % 8 == 1);
    with_foreign_work(&mut record, 0, &|round| round % 8 == 5);
    let comparison = &summarise(&record).against_first[0].found;
    let by_pairs = comparison.by_pairs().unwrap();
    assert_eq!((by_pairs.pairs, by_pairs.side_effects.len()), (15, 0));
    assert_eq!(comparison.verdict, Ok(Verdict::Faster));
}

/// Two builds, of which the second has so many times the rate of the first.
fn two_builds(rate: f64, layout_effect: Option<f64>, other_files: Vec<usize>) -> RunRecord {
    let second = Spec { value: COPY.value * rate, ..COPY };
    let goal =
        VerdictGoal { other_files, layout_effect, ..VerdictGoal::new("bandwidth", 0.001, 40) };
    Builder::new(None)
        .measured(&COPY)
        .measured(&second)
        .with(|record| record.plan.goal = Goal::Verdict(goal))
        .build()
}

/// What is said of two builds, with the layout effect of this machine and the points that are other files.
fn of_two_builds(
    rate: f64,
    layout_effect: Option<f64>,
    other_files: Vec<usize>,
) -> (Verdict, Option<OtherBuild>) {
    let record = two_builds(rate, layout_effect, other_files);
    let comparison = summarise(&record).against_first.remove(0).found;
    (comparison.verdict.unwrap(), comparison.by_pairs().unwrap().other_build)
}

#[test]
fn a_small_difference_of_two_files_may_be_due_to_their_builds() {
    let measured = OtherBuild { layout_effect: Some(0.05) };
    let unknown = OtherBuild { layout_effect: None };
    assert_eq!(of_two_builds(0.97, Some(0.05), vec![1]), (Verdict::Slower, Some(measured)));
    assert_eq!(of_two_builds(1.03, Some(0.05), vec![1]), (Verdict::Faster, Some(measured)));
    assert_eq!(of_two_builds(0.97, None, vec![1]), (Verdict::Slower, Some(unknown)));
    // Beyond what relinked copies show, beyond what they commonly show, one file, and no difference.
    assert_eq!(of_two_builds(0.97, Some(0.02), vec![1]), (Verdict::Slower, None));
    assert_eq!(of_two_builds(0.9, None, vec![1]), (Verdict::Slower, None));
    assert_eq!(of_two_builds(0.97, Some(0.05), vec![]), (Verdict::Slower, None));
    assert_eq!(of_two_builds(1.0, Some(0.05), vec![1]).1, None);
}

#[test]
fn relinked_copies_give_a_bound_from_ten_on() {
    let mut rates = vec![1.0; 10];
    rates.extend([0.97, 1.02]);
    let records: Vec<RunRecord> =
        rates.iter().map(|rate| two_builds(*rate, None, vec![])).collect();
    let audit = audit_layout(&records);
    assert_eq!((audit.links, audit.told_apart), (12, 2));
    let largest = audit.largest.unwrap();
    assert!((largest - 1.0 / 0.97).abs() < 0.003, "{largest}");
    assert!(audit.ends.is_some_and(|ends| ends.low < largest && largest < ends.high));
    // Student's t of 12 values is 2.18, and the root of their mean square .0105; noise is far smaller.
    let effect = audit.effect.unwrap();
    assert!((0.021..0.025).contains(&effect), "{effect}");
    let few = audit_layout(&records[..9]);
    assert_eq!((few.links, few.told_apart, few.effect), (9, 0, None));
    assert_eq!(few.no_effect, Some(NoLayoutEffect::FewCopies));
    assert_eq!(audit_layout(&[]).largest, None);
}

#[test]
fn rounds_without_both_are_left_out() {
    let mut record = exec();
    record.invocations.retain(|invocation| invocation.point != 1 || invocation.round % 2 == 0);
    assert_eq!(summarise(&record).against_first[0].found.by_pairs().unwrap().pairs, 10);
}

/// The comparison where invocations of the rounds up to these fail, of the first command and of the second.
fn failing(first: u32, second: u32) -> PointComparison {
    let mut record = exec();
    for invocation in &mut record.invocations {
        if (invocation.point == 0 && invocation.round < first)
            || (invocation.point == 1 && invocation.round < second)
        {
            fail(invocation, "exit status 1", "");
        }
    }
    summarise(&record).against_first.remove(0)
}

#[test]
fn a_pair_with_a_failure_is_left_out_until_failures_are_what_differs() {
    for (first, second, left_out) in [(0, 1, 1), (2, 3, 3), (0, 4, 4)] {
        let found = failing(first, second);
        assert_eq!(found.found.verdict, Ok(Verdict::Faster), "{first} {second}");
        assert_eq!((pairs(&found).pairs, pairs(&found).left_out), (20 - left_out, left_out));
    }
    // 5 of 20 on both sides, in the same rounds: a quarter of the pairs.
    let Err(many @ NoVerdict::Failures { differ: false, .. }) = failing(5, 5).found.verdict else {
        panic!()
    };
    assert!(many.to_string().ends_with("too many to compare the times of the others"), "{many}");
    let Err(more @ NoVerdict::Failures { p, differ: true, .. }) = failing(0, 6).found.verdict
    else {
        panic!()
    };
    assert!(p < 0.05 && more.to_string().contains("it fails more often"), "{more}");
    let Err(less) = failing(6, 0).found.verdict else { panic!() };
    assert!(less.to_string().contains("it fails less often"), "{less}");
}

/// The commands of a run end with these codes; from round 10 on, the third ends with the other one.
fn ended(codes: [f64; 3], third_then: f64) -> RunRecord {
    let mut record = exec();
    for invocation in &mut record.invocations {
        let is_other = invocation.point == 2 && invocation.round >= 10;
        let code = if is_other { third_then } else { codes[invocation.point] };
        let samples = &mut invocation.samples;
        samples.values.insert(ENDED.to_owned(), vec![code; samples.len()]);
    }
    record
}

#[test]
fn a_crash_is_not_compared_with_a_success() {
    let finding = summarise(&ended([0.0, -11.0, 0.0], 1.0));
    let [crashed, mixed] = finding.against_first.as_slice() else { panic!() };
    let why = crashed.found.verdict.unwrap_err().to_string();
    assert!(
        why.ends_with("SIGSEGV in 20 of 20 runs, compared with exit status 0 in 20 of 20 runs"),
        "{why}"
    );
    assert!(matches!(mixed.found.verdict, Err(NoVerdict::EndedDifferently { .. })), "{mixed:?}");
    let told: Vec<String> =
        finding.accepted_failures.iter().map(|accepted| accepted.ends.to_string()).collect();
    assert_eq!(told, ["all 20 runs ended with SIGSEGV", "10 of 20 runs ended with exit status 1"]);
    assert!(crashed.found.ratio.is_some(), "times are shown all the same");
}

#[test]
fn sides_that_fail_alike_are_compared_with_a_remark() {
    let finding = summarise(&ended([1.0, 1.0, 1.0], 1.0));
    let faster = &finding.against_first[0].found;
    assert_eq!(faster.verdict, Ok(Verdict::Faster));
    assert!(faster.remarks.contains(&VerdictRemark::OfFailures), "{faster:?}");
    let without = summarise(&ended([0.0; 3], 0.0));
    assert!(without.accepted_failures.is_empty());
    assert!(!without.against_first[0].found.remarks.contains(&VerdictRemark::OfFailures));
}

#[test]
fn the_difference_is_of_pairs_and_in_the_unit_of_the_metric() {
    let better = Spec { value: 2e10, ..COPY };
    let record = Builder::new(None)
        .measured(&COPY)
        .measured(&better)
        .with(|record| record.plan.against_first = true)
        .build();
    let finding = summarise(&record);
    let [compared] = finding.against_first.as_slice() else { panic!() };
    let difference = compared.difference.as_ref().unwrap();
    let medians: Vec<f64> = finding.results.iter().map(|result| result.estimate.value).collect();
    let by_medians = medians[1] - medians[0];
    assert_eq!(compared.unit, finding.results[0].unit);
    assert!((difference.value / by_medians - 1.0).abs() < 0.05, "{difference:?} {by_medians}");
    assert!(difference.low().unwrap() < by_medians && by_medians < difference.high().unwrap());
    assert!(finding.against_above.is_empty(), "the second row has the first above it");
}

#[test]
fn rows_are_compared_with_the_measured_one_above() {
    let finding = summarise(&exec());
    let [above] = finding.against_above.as_slice() else { panic!() };
    assert_eq!((above.first.index, above.point.index), (1, 2));
    let log = |of: &PointComparison| of.found.ratio.as_ref().unwrap().value.ln();
    let [second, third] = finding.against_first.as_slice() else { panic!() };
    assert!((log(above) - (log(third) - log(second))).abs() < 0.05);
    let size = |of: &PointComparison| of.difference.as_ref().unwrap().value;
    assert!((size(above) / (size(third) - size(second)) - 1.0).abs() < 0.05);
    let mut record = exec();
    record.invocations.retain(|invocation| invocation.point != 1);
    assert!(summarise(&record).against_above.is_empty(), "above the third is the first");
}
