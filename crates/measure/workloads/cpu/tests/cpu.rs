//! The family `cpu`, driven as the engine drives it.

use plumb_workload_cpu::ALL;
use plumb_workload_testing::{TestPoint, alone, assert_ratio, fastest_ns, unsupported, values};

#[test]
fn larger_work_takes_longer() {
    let _alone = alone();
    let time =
        |id, name, value| fastest_ns(&mut TestPoint::new(ALL, id, &[(name, value)]).started(), 2);
    let ratio = |id, name, large, small| time(id, name, large) / time(id, name, small);
    assert_ratio("twice the limit", 1.5..3.0, || ratio("cpu.sieve", "limit", "100000", "50000"));
    assert_ratio("twice the equations", 5.0..12.0, || ratio("cpu.linpack", "order", "120", "60"));
}

#[test]
fn what_cannot_be_run_says_why_and_what_to_set() {
    for (id, name, value, wanted) in [
        ("cpu.sieve", "limit", "10", "`limit` between"),
        ("cpu.sieve", "limit", "1000000000", "smaller `limit`"),
        ("cpu.linpack", "order", "9", "`order` between"),
        ("cpu.linpack", "order", "8000", "smaller `order`"),
    ] {
        let (why, fix) = unsupported(id, TestPoint::new(ALL, id, &[(name, value)]).try_start());
        assert!(!why.is_empty() && fix.contains(wanted), "{id}: {why}; {fix}");
    }
}

#[test]
fn threads_share_nothing_but_the_clock() {
    let _alone = alone();
    let settings = [("limit", "20000"), ("threads", "2")];
    let mut two = TestPoint::new(ALL, "cpu.sieve", &settings).started();
    assert!((two.ready.work["rate"] - 2.0).abs() < 1e-12);
    let rate = ALL[0].describe().metrics[0].clone();
    assert!(values(&mut two, &rate, &[5, 5, 5]).iter().all(|rate| *rate > 100.0));
}

#[test]
fn the_legacy_benchmarks_count_in_the_units_of_old() {
    let _alone = alone();
    // So many iterations that a thread that waits for a CPU does not make the rate.
    for (id, unit, works, k) in [
        ("cpu.dhrystone", "dhrystones/s", &[("rate", 3.0), ("dmips", 3.0 / 1757.0)][..], 20_000),
        ("cpu.whetstone", "WIPS", &[("rate", 3e6)], 3),
        ("cpu.linpack", "FLOP/s", &[("rate", 3.0 * (2e6 / 3.0 + 2e4))], 3),
    ] {
        let described = ALL.iter().map(|workload| workload.describe()).find(|it| it.id == id);
        let metric = described.unwrap().metrics[0].clone();
        assert_eq!(metric.unit, unit);
        let mut three = TestPoint::new(ALL, id, &[("threads", "3")]).started();
        for &(name, work) in works {
            assert!((three.ready.work[name] / work - 1.0).abs() < 1e-12, "{id}: {name}");
        }
        assert_eq!(three.ready.flags[0].why, "3 threads share 2 CPUs");
        assert!(values(&mut three, &metric, &[k; 3]).iter().all(|rate| *rate > 1e4), "{id}");
    }
}
