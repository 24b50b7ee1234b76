//! Curves: which points are one, and what is found in it.

use plumb_model::{CurveKind, Flag, FlagKind, ParameterType};

use crate::testing::{Builder, COPY, Spec, flag};
use crate::{Curve, CurveFound, summarise};

const SIZES: [&str; 6] = ["4096", "8192", "16384", "32768", "65536", "131072"];

/// A point at a size, with what a curve over it means.
fn sized(builder: Builder, size: &'static str, kind: CurveKind, spec: Spec) -> Builder {
    let parameters = vec![
        ("size", ParameterType::Bytes, "64", size),
        ("mode", ParameterType::Choice, "plain", ""),
    ];
    let spec = Spec { parameters: parameters.leak(), ..spec };
    // The values are declared before the point is made of them, so that the description may follow.
    builder
        .measured(&spec)
        .last_point(|planned| planned.description.parameters[0].curve = Some(kind))
}

fn over_sizes(kind: CurveKind, value: impl Fn(usize) -> Spec) -> Curve {
    let all = SIZES.iter().enumerate();
    let built =
        all.fold(Builder::new(None), |builder, (i, size)| sized(builder, size, kind, value(i)));
    let mut curves = summarise(&built.build()).curves;
    assert_eq!(curves.len(), 1, "{curves:?}");
    curves.remove(0)
}

const ONE: Spec = Spec { parameters: &[("threads", ParameterType::Threads, "1", "")], ..COPY };
const TWO: Spec =
    Spec { parameters: &[("threads", ParameterType::Threads, "1", "2")], value: 1.8e10, ..COPY };

#[test]
fn threads_have_an_efficiency_even_where_the_workload_does_not_say_so() {
    let finding = summarise(&Builder::new(None).measured(&TWO).measured(&ONE).build());
    let [curve] = finding.curves.as_slice() else { panic!("{:?}", finding.curves) };
    assert_eq!((curve.of.as_str(), curve.kind), ("memory.copy", CurveKind::Scaling));
    assert_eq!((curve.points[0].at, curve.points[0].result), (1, 1));
    let Ok(CurveFound::Scaling(found)) = &curve.found else { panic!("{:?}", curve.found) };
    let efficiency = &found[0].efficiency;
    assert!((efficiency.value - 0.9).abs() < 0.02, "{efficiency:?}");
    let half = efficiency.relative_half_width().unwrap();
    let of = |index: usize| finding.results[index].estimate.relative_half_width().unwrap();
    assert!(half > of(0).max(of(1)) && half < of(0) + of(1), "{half}");
}

#[test]
fn contention_and_coherency_are_found_from_six_numbers_of_threads_on() {
    const THREADS: [(&str, u32); 6] = [("1", 1), ("2", 2), ("3", 3), ("4", 4), ("6", 6), ("8", 8)];
    let law = |points: usize| {
        let of = |builder: Builder, &(word, n): &(&'static str, u32)| {
            let n = f64::from(n);
            let value = 1e9 * n / (1.0 + 0.1 * (n - 1.0) + 0.01 * n * (n - 1.0));
            let typed = if word == "1" { "" } else { word };
            let parameters = vec![("threads", ParameterType::Threads, "1", typed)];
            builder.measured(&Spec { parameters: parameters.leak(), value, ..COPY })
        };
        let built = THREADS[..points].iter().fold(Builder::new(None), of);
        summarise(&built.build()).curves.remove(0).law
    };
    assert_eq!(law(2), None);
    assert_eq!(law(5), Some(Err("too few points: 5, needs 6".into())));
    let Some(Ok(found)) = law(6) else { panic!() };
    let low = found.contention.low().unwrap();
    let high = found.contention.high().unwrap();
    assert!(low < 0.1 && 0.1 < high && high - low < 0.2, "{found:?}");
    assert!((found.coherency.value - 0.01).abs() < 0.01 && found.off < 0.05, "{found:?}");
    assert!(found.most_at.is_some_and(|most| (5.0..20.0).contains(&most)), "{found:?}");
}

#[test]
fn threads_without_a_cpu_and_times_have_no_efficiency() {
    let shared = Flag::new(FlagKind::Oversubscribed, "2 threads share 1 CPUs");
    let record = Builder::new(None)
        .measured(&ONE)
        .measured(&TWO)
        .invocations(|_, invocation| flag(invocation, shared.clone()))
        .build();
    assert_eq!(summarise(&record).curves, []);
    let time = |spec: Spec| Spec { unit: "s", value: 1e-3, ..spec };
    let record = Builder::new(None).measured(&time(ONE)).measured(&time(TWO)).build();
    assert_eq!(summarise(&record).curves, []);
}

#[test]
fn caches_have_heights_and_edges() {
    let curve = over_sizes(CurveKind::Plateaus, |index| Spec {
        unit: "s",
        value: if index < 3 { 1e-3 } else { 4e-3 },
        ..COPY
    });
    let Ok(CurveFound::Plateaus(found)) = curve.found else { panic!("{:?}", curve.found) };
    let edges: Vec<(f64, f64)> = found.iter().map(|plateau| (plateau.from, plateau.to)).collect();
    assert_eq!(edges, [(4096.0, 16384.0), (32768.0, 131_072.0)]);
    assert!(found[1].height.low().unwrap() < 4e-3 && found[1].height.high().unwrap() > 4e-3);
}

#[test]
fn a_knee_in_times_is_one_in_their_reciprocals() {
    let curve = over_sizes(CurveKind::Knee, |index| Spec {
        unit: "s",
        value: [8e-3, 4e-3, 2e-3, 1e-3, 1e-3, 1e-3][index],
        ..COPY
    });
    let Ok(CurveFound::Knee { at, level }) = curve.found else { panic!("{:?}", curve.found) };
    assert!((at.value / 32768.0 - 1.0).abs() < 0.1, "{at:?}");
    assert!(level.low().unwrap() < 1e-3 && level.high().unwrap() > 1e-3, "{level:?}");
}

#[test]
fn bandwidth_over_a_size_has_the_cost_of_a_call_and_of_a_byte() {
    let sizes = SIZES.map(|size| size.parse::<f64>().unwrap());
    let time = |index: usize| 2e-6 + 1e-10 * sizes[index];
    let curve =
        over_sizes(CurveKind::Line, |index| Spec { value: sizes[index] / time(index), ..COPY });
    let Ok(CurveFound::Line { fixed, each, off }) = curve.found else {
        panic!("{:?}", curve.found)
    };
    assert!(fixed.low().unwrap() < 2e-6 && fixed.high().unwrap() > 2e-6, "{fixed:?}");
    assert!(each.low().unwrap() < 1e-10 && each.high().unwrap() > 1e-10, "{each:?}");
    assert!(off < 0.02, "{off}");
}

#[test]
fn two_points_or_another_setting_make_no_curve() {
    let two = SIZES[..2]
        .iter()
        .fold(Builder::new(None), |builder, size| sized(builder, size, CurveKind::Plateaus, COPY));
    let third = sized(two, SIZES[2], CurveKind::Plateaus, COPY).last_point(|planned| {
        _ = planned.point.settings.insert("mode".into(), plumb_model::Value::Text("other".into()))
    });
    assert_eq!(summarise(&third.build()).curves, []);
}
