//! The family `compression`, driven as the engine drives it.

use plumb_workload_compression::ALL;
use plumb_workload_testing::{TestPoint, samples};

#[test]
fn the_installed_seven_zip_is_driven_and_read() {
    let mut zip = TestPoint::new(ALL, "compression.7zip", &[("threads", "2")]).started();
    let version = zip.ready.versions["7zip"].clone();
    assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{version}");
    let samples = samples(&mut zip, &[1]);
    let value = |name: &str| samples.values[name][0];
    assert!(value("compress") > 1e5 && value("decompress") > value("compress"), "{samples:?}");
    assert!(value("rating") > 1e7 && value("cpu") > 0.0 && value("peak_memory") > 1e6);
}
