//! Implementations of the same work in one run, ranked by CPU time: the table of language benchmarks
//! (docs/method.md, *Ranks*).

use std::collections::BTreeMap;

use plumb_model::{Ends, Estimate, PointFacts};
use plumb_stats::ranks::{NoRanking, Ranking};
use plumb_stats::{Interval, describe};

use crate::one_run::finding::{FailedInvocations, Finding, Unsupported};
use crate::one_run::point_data::PointData;
use crate::one_run::ranking::{
    Implementations, RankedVariant, UnmeasuredVariant, VariantCosts, VariantRanking,
    is_of_implementations,
};
use crate::one_run::rankings::{no_ranks_text, ranked, speed};

/// The parameters that choose an implementation.
const CHOOSERS: [&str; 2] = ["language", "tool"];
/// Times are those of so many loops, as in tables of langs-performance.
const LOOPS: u32 = 10;

/// What a run says of its points, apart from results.
pub(crate) struct PointsWithoutResult<'a> {
    /// Those that cannot be measured here.
    pub(crate) unsupported: &'a [Unsupported],
    /// Those that failed.
    pub(crate) failed: &'a [FailedInvocations],
}

/// A ranking for each group of points that do the same work on the same target.
pub(crate) fn rankings_of_implementations(
    results: &[Finding],
    data: &[PointData<'_>],
    without: &PointsWithoutResult<'_>,
) -> Vec<VariantRanking> {
    let mut groups: BTreeMap<(usize, String), Vec<&Finding>> = BTreeMap::new();
    for found in results {
        if found.metric == "cpu" && is_of_implementations(&found.point.workload) {
            let group = (found.target, found.point.without(&CHOOSERS));
            groups.entry(group).or_default().push(found);
        }
    }
    let mut all = Vec::new();
    for ((_, of), points) in groups {
        let unmeasured = unmeasured(&of, &points, without);
        if points.len() + unmeasured.len() > 1 {
            all.extend(ranking(of, &points, results, data, &unmeasured));
        }
    }
    all
}

/// None if a point has no CPU time, as with a clock that is too coarse.
fn ranking(
    of: String,
    points: &[&Finding],
    results: &[Finding],
    data: &[PointData<'_>],
    unmeasured: &[(&PointFacts, bool)],
) -> Option<VariantRanking> {
    let measured = points.iter().map(|found| &found.point);
    let names = differing(measured.chain(unmeasured.iter().map(|(point, _)| *point)));
    let mut order = Vec::with_capacity(points.len());
    for (index, found) in points.iter().enumerate() {
        order.push((index, speed(found, found.estimate.value)?));
    }
    order.sort_by(|one, other| other.1.total_cmp(&one.1));
    let fastest = order.first()?.1;
    let ranks = ranked(points);
    let mut variants: Vec<RankedVariant> = Vec::with_capacity(points.len());
    for (place, &(index, speed)) in order.iter().enumerate() {
        let found = points[index];
        let previous = place.checked_sub(1).map(|place| order[place].0);
        variants.push(RankedVariant {
            value: value(&found.point, &names),
            speed: speed / fastest,
            ranks: ranks.as_ref().ok().map(|ranking| ranking.sets[index]),
            costs: Some(VariantCosts {
                above_first: (index > 0).then(|| excess(points, &ranks, 0, index)),
                above_previous: previous.map(|previous| excess(points, &ranks, previous, index)),
                ..costs(found, results, data)
            }),
        });
    }
    Some(VariantRanking {
        of,
        workload: points[0].point.workload.clone(),
        parameter: names.join(" and "),
        metric: points[0].metric.clone(),
        variants,
        no_ranks: ranks.err().map(|why| no_ranks_text(&why, points)),
        implementations: Some(Implementations {
            loops: LOOPS,
            first: value(&points[0].point, &names),
            unmeasured: unmeasured
                .iter()
                .map(|(point, failed)| UnmeasuredVariant {
                    value: value(point, &names),
                    failed: *failed,
                })
                .collect(),
        }),
    })
}

/// The points of a group that have no result, in the plan's order, and whether each failed.
fn unmeasured<'a>(
    of: &str,
    points: &[&Finding],
    without: &PointsWithoutResult<'a>,
) -> Vec<(&'a PointFacts, bool)> {
    let unsupported = without.unsupported.iter().map(|missing| (&missing.point, false));
    let failed = without.failed.iter().map(|failure| (&failure.point, true));
    let mut all: Vec<(&PointFacts, bool)> =
        unsupported.chain(failed).filter(|(point, _)| is_of(point, of, points)).collect();
    all.sort_by_key(|(point, _)| point.index);
    // A point can fail in several ways.
    all.dedup_by_key(|(point, _)| point.index);
    all
}

/// Whether a point belongs to a group, but has no result in it.
fn is_of(point: &PointFacts, of: &str, points: &[&Finding]) -> bool {
    is_of_implementations(&point.workload)
        && point.without(&CHOOSERS) == of
        && points.iter().all(|found| found.point.index != point.index)
}

/// The parameters in which points differ: `language`, `tool`, or both.
fn differing<'p>(points: impl Iterator<Item = &'p PointFacts> + Clone) -> Vec<&'static str> {
    let mut names = CHOOSERS.to_vec();
    names.retain(|name| {
        let mut values = points.clone().map(|point| point.settings.get(*name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    });
    if names.is_empty() { vec![CHOOSERS[0]] } else { names }
}

/// The implementation of a point, by the parameters in which points differ: `python`, or `python /opt/bin/python3.14` if
/// some name a tool.
fn value(point: &PointFacts, names: &[&str]) -> String {
    if let Some(title) = point.title() {
        return title.to_owned();
    }
    let chosen = names.iter().filter_map(|name| {
        let parameter = point.parameters.iter().find(|parameter| parameter.name == *name)?;
        match parameter.value.as_str() {
            "" => (names.len() == 1).then_some("in PATH"),
            value => Some(value),
        }
    });
    chosen.collect::<Vec<_>>().join(" ")
}

/// By how much the CPU time of one point exceeds that of another, as a share. With ranks it is the difference inside
/// rounds and has an interval; without, the ratio of medians.
fn excess(
    points: &[&Finding],
    ranks: &Result<Ranking, NoRanking>,
    from: usize,
    to: usize,
) -> Estimate {
    match ranks {
        Ok(ranking) => excess_of(ranking.difference(from, to)),
        Err(why) => Estimate {
            value: points[to].estimate.value / points[from].estimate.value - 1.0,
            interval: Err(no_ranks_text(why, points)),
        },
    }
}

fn excess_of(logs: Interval) -> Estimate {
    Estimate {
        value: logs.estimate.exp_m1(),
        interval: Ok(Ends { low: logs.low.exp_m1(), high: logs.high.exp_m1() }),
    }
}

/// The costs of one point, without comparisons.
fn costs(found: &Finding, results: &[Finding], data: &[PointData<'_>]) -> VariantCosts {
    let loops = f64::from(LOOPS);
    let cpu_s = Estimate {
        value: found.estimate.value * loops,
        interval: found
            .shown()
            .interval
            .map(|ends| Ends { low: ends.low * loops, high: ends.high * loops }),
    };
    let split = data
        .iter()
        .find(|data| data.index == found.point.index && data.target == found.target)
        .and_then(share_in_user_mode);
    let memory = results.iter().find(|other| {
        other.point.index == found.point.index
            && other.target == found.target
            && other.metric == "peak_memory"
    });
    let versions: Vec<&str> = found.versions.values().map(String::as_str).collect();
    VariantCosts {
        user_s: split.map(|share| share * cpu_s.value),
        system_s: split.map(|share| (1.0 - share) * cpu_s.value),
        cpu_s,
        peak_memory_bytes: memory.map(|memory| memory.estimate.value),
        above_first: None,
        above_previous: None,
        version: versions.join(", "),
    }
}

/// The share of CPU time in user mode, over all loops: of single samples, ticks of 10 ms are too coarse.
fn share_in_user_mode(data: &PointData<'_>) -> Option<f64> {
    let user = mean_of_metric(data, "user")?;
    let both = user + mean_of_metric(data, "system")?;
    (both > 0.0).then_some(user / both)
}

fn mean_of_metric(data: &PointData<'_>, name: &str) -> Option<f64> {
    let metric = data.planned.description.metrics.iter().find(|metric| metric.name == name)?;
    describe::mean(&data.processes(metric)?.concat())
}

#[cfg(test)]
mod tests {
    use plumb_model::{Better, Metric, MetricSource, ParameterType, RunRecord};

    use crate::one_run::summarise::summarise;
    use crate::testing::{Builder, COPY, Spec};

    type Parameters = &'static [(&'static str, ParameterType, &'static str, &'static str)];

    const LIMIT: (&str, ParameterType, &str, &str) = ("limit", ParameterType::Text, "1000000", "");
    const CPP: Parameters = &[("language", ParameterType::Choice, "c", "cpp"), LIMIT];
    const RUST: Parameters = &[("language", ParameterType::Choice, "c", "rust"), LIMIT];
    const PERL: Parameters = &[("language", ParameterType::Choice, "c", "perl"), LIMIT];

    /// Adds a language of which a loop takes so many seconds of CPU time, a tenth of it in the kernel.
    fn with(builder: Builder, parameters: Parameters, cpu_s: f64) -> Builder {
        let spec = Spec {
            id: "language.loop",
            metric: "time",
            unit: "s",
            parameters,
            value: cpu_s,
            ..COPY
        };
        builder
            .measured(&spec)
            .last_point(|point| {
                for (name, unit) in
                    [("user", "s"), ("system", "s"), ("cpu", "s"), ("peak_memory", "B")]
                {
                    let metric = Metric::new(name, unit, Better::Lower, MetricSource::Value, name);
                    point.description.metrics.push(metric);
                }
            })
            .invocations(|_, invocation| {
                let samples = &mut invocation.samples;
                let times = samples.elapsed_ns.iter().zip(&samples.iterations);
                let cpu: Vec<f64> =
                    times.map(|(ns, loops)| *ns as f64 / 1e9 / *loops as f64).collect();
                // Most samples have no tick in the kernel, as short loops have not.
                let loops = cpu.len();
                let system = (0..loops).map(|index| if index % 10 == 0 { 1.0 } else { 0.0 });
                samples.values.insert("user".into(), vec![0.9; loops]);
                samples.values.insert("system".into(), system.collect());
                samples.values.insert("cpu".into(), cpu);
                samples.values.insert("peak_memory".into(), vec![4e6; loops]);
            })
    }

    fn languages() -> RunRecord {
        let cpp = with(Builder::new(Some("languages")), CPP, 0.1);
        let measured = with(with(cpp, PERL, 0.2), RUST, 0.1);
        let missing =
            Spec { id: "language.loop", metric: "time", unit: "s", parameters: PHP, ..COPY };
        measured
            .planned(&missing)
            .unsupported("`php` is not in PATH", "apt-get install php-cli")
            .build()
    }

    const PHP: Parameters = &[("language", ParameterType::Choice, "c", "php"), LIMIT];

    #[test]
    fn languages_are_ranked_by_cpu_time_and_those_alike_share_a_rank() {
        let finding = summarise(&languages());
        let [ranking] = &finding.rankings[..] else { panic!("{:?}", finding.rankings) };
        assert_eq!((ranking.parameter.as_str(), ranking.metric.as_str()), ("language", "cpu"));
        let shown: Vec<_> = ranking
            .variants
            .iter()
            .map(|variant| {
                let ranks = variant.ranks.unwrap();
                (variant.value.as_str(), ranks.best, ranks.worst)
            })
            .collect();
        assert_eq!(shown[2], ("perl", 3, 3));
        assert!(shown[..2].iter().all(|(_, best, worst)| (*best, *worst) == (1, 2)), "{shown:?}");
        let of = ranking.implementations.as_ref().unwrap();
        assert_eq!((of.loops, of.first.as_str()), (10, "cpp"));
        assert_eq!((of.unmeasured[0].value.as_str(), of.unmeasured[0].failed), ("php", false));
    }

    #[test]
    fn costs_are_of_ten_loops_and_excesses_have_intervals() {
        let finding = summarise(&languages());
        let perl = finding.rankings[0].variants[2].costs.clone().unwrap();
        assert!((perl.cpu_s.value - 2.0).abs() < 0.05, "{perl:?}");
        // The split is of all loops: the median of ticks in the kernel would be 0.
        let user = perl.user_s.unwrap();
        let system = perl.system_s.unwrap();
        assert!((user / perl.cpu_s.value - 0.9).abs() < 0.01, "{perl:?}");
        assert!((user + system - perl.cpu_s.value).abs() < 1e-9, "{perl:?}");
        assert_eq!(perl.peak_memory_bytes, Some(4e6));
        let excess = perl.above_first.unwrap();
        assert!((excess.value - 1.0).abs() < 0.02, "{excess:?}");
        let low = excess.low().unwrap();
        let high = excess.high().unwrap();
        assert!(low < excess.value && excess.value < high && high - low < 0.1, "{excess:?}");
        let first = &finding.rankings[0].variants;
        let cpp = first.iter().find(|variant| variant.value == "cpp").unwrap();
        assert!(cpp.costs.as_ref().unwrap().above_first.is_none());
        assert!(first[0].costs.as_ref().unwrap().above_previous.is_none());
    }

    #[test]
    fn with_few_rounds_there_are_no_intervals() {
        let mut record = languages();
        record.invocations.retain(|invocation| invocation.round < 5);
        let finding = summarise(&record);
        let ranking = &finding.rankings[0];
        let why = "5 rounds; ranks need --min-invocations 8";
        assert_eq!(ranking.no_ranks.as_deref(), Some(why));
        let excess = ranking.variants[2].costs.clone().unwrap().above_first.unwrap();
        assert_eq!(excess.interval, Err(why.to_owned()));
    }
}
