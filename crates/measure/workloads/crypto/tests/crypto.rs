//! The family `crypto`, driven as the engine drives it.

use plumb_workload_crypto::ALL;
use plumb_workload_testing::{
    TestPoint, alone, assert_doubles, assert_ratio, fastest_ns, unsupported,
};

#[test]
fn time_follows_the_text_and_the_messages() {
    let _alone = alone();
    let time = |bytes| {
        fastest_ns(&mut TestPoint::new(ALL, "crypto.aead", &[("bytes", bytes)]).started(), 3)
    };
    assert_ratio("four times the text", 3.0..5.0, || time("256KiB") / time("64KiB"));
    let small = [("bytes", "16"), ("cipher", "chacha20-poly1305")];
    assert_doubles(
        "small messages",
        &mut TestPoint::new(ALL, "crypto.aead", &small).started(),
        2000,
    );
}

#[test]
fn a_message_that_is_too_large_is_unsupported() {
    let point = TestPoint::new(ALL, "crypto.aead", &[("bytes", "2MiB")]);
    let (_, fix) = unsupported("2 MiB", point.try_start());
    assert!(fix.contains("`bytes` between"), "{fix}");
}
