//! The family `compression`, driven as the engine drives it.

use plumb_workload_compression::ALL;
use plumb_workload_testing::{
    TestPoint, alone, assert_doubles, assert_ratio, samples, unsupported,
};

#[test]
fn the_installed_seven_zip_is_driven_and_read() {
    // It uses both CPUs.
    let _alone = alone();
    let mut zip = TestPoint::new(ALL, "compression.7zip", &[("threads", "2")]).started();
    let version = zip.ready.versions["7zip"].clone();
    assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{version}");
    let samples = samples(&mut zip, &[1]);
    let value = |name: &str| samples.values[name][0];
    assert!(value("compress") > 1e5 && value("decompress") > value("compress"), "{samples:?}");
    assert!(value("rating") > 1e7 && value("cpu") > 0.0 && value("peak_memory") > 1e6);
}

#[test]
fn a_block_is_packed_and_unpacked_at_rates_that_add_up() {
    let _alone = alone();
    let mut one = TestPoint::new(ALL, "compression.lz", &[("size", "256KiB")]).started();
    assert_doubles("compression.lz", &mut one, 2);
    let taken = samples(&mut one, &[4]);
    let value = |name: &str| taken.values[name][0];
    // Both halves together are the sample.
    let both = 4.0 * 262_144.0 * (1.0 / value("compress") + 1.0 / value("decompress"));
    assert!((0.9..1.01).contains(&(both * 1e9 / taken.elapsed_ns[0] as f64)), "{taken:?}");
    assert!((1.1..3.0).contains(&value("ratio")), "{taken:?}");
    let settings = [("size", "256KiB"), ("threads", "2")];
    let mut two = TestPoint::new(ALL, "compression.lz", &settings).started();
    assert_ratio("the rate of two threads over that of one", 0.9..2.3, || {
        samples(&mut two, &[20]).values["compress"][0]
            / samples(&mut one, &[20]).values["compress"][0]
    });
}

#[test]
fn blocks_that_are_too_small_or_do_not_fit_are_refused() {
    for (size, wanted) in [("0", "`size` between 1024"), ("512MiB", "smaller `size`")] {
        let point = TestPoint::new(ALL, "compression.lz", &[("size", size)]);
        let (why, fix) = unsupported("compression.lz", point.try_start());
        assert!(!why.is_empty() && fix.contains(wanted), "{why}; {fix}");
    }
}
