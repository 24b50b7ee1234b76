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

/// A workload with settings, and iterations that take long enough to be timed.
type SizedPoint = (&'static str, &'static [(&'static str, &'static str)], u64);

#[test]
fn every_workload_takes_twice_as_long_for_twice_the_work() {
    let _alone = alone();
    let points: &[SizedPoint] = &[
        ("crypto.aead", &[("direction", "open"), ("provider", "system"), ("aad", "13")], 200),
        ("crypto.hash", &[("provider", "rustcrypto"), ("hash", "sha3-256")], 50),
        ("crypto.mac", &[("provider", "system"), ("bytes", "1KiB")], 2000),
        ("crypto.xts", &[("direction", "decrypt")], 500),
        ("crypto.agree", &[("group", "ml-kem-768"), ("provider", "rustcrypto")], 20),
        ("crypto.agree", &[("group", "p-256")], 20),
        ("crypto.sign", &[("algorithm", "ed25519")], 50),
        ("crypto.random", &[], 2000),
        ("crypto.kdf", &[("rounds", "1000")], 10),
        ("crypto.kdf", &[("function", "argon2id"), ("memory", "1MiB")], 3),
    ];
    for (id, settings, count) in points {
        assert_doubles(id, &mut TestPoint::new(ALL, id, settings).started(), *count);
    }
}

#[test]
fn providers_are_named_and_what_they_lack_names_another() {
    let started = TestPoint::new(ALL, "crypto.hash", &[("provider", "system")]).started();
    assert!(started.ready.versions["libcrypto"].starts_with("3."), "{:?}", started.ready);
    let lacking = [("hash", "sha3-256")];
    let (why, fix) =
        unsupported("SHA-3 of ring", TestPoint::new(ALL, "crypto.hash", &lacking).try_start());
    assert!(why.contains("ring 0.17") && fix.contains("provider=rustcrypto"), "{why}; {fix}");
    for (library, words) in [("/nowhere.so", "can't be loaded"), ("libc.so.6", "no function")] {
        let settings = [("provider", "system"), ("library", library)];
        let (why, _) =
            unsupported("no libcrypto", TestPoint::new(ALL, "crypto.aead", &settings).try_start());
        assert!(why.contains(words), "{why}");
    }
    let (_, fix) = unsupported(
        "a library of ring",
        TestPoint::new(ALL, "crypto.aead", &[("library", "libcrypto.so.3")]).try_start(),
    );
    assert!(fix.contains("provider=system"), "{fix}");
}

#[test]
fn instructions_are_switched_off_only_if_that_changes_something() {
    for settings in [
        [("acceleration", "off"), ("provider", "ring")],
        [("acceleration", "off"), ("cipher", "chacha20-poly1305")],
    ] {
        let point = TestPoint::new(ALL, "crypto.aead", &settings);
        let (_, fix) = unsupported("instructions that stay on", point.try_start());
        assert!(fix.starts_with("set `"), "{fix}");
    }
}

#[test]
fn a_message_that_is_too_large_is_unsupported() {
    let point = TestPoint::new(ALL, "crypto.aead", &[("bytes", "2MiB")]);
    let (_, fix) = unsupported("2 MiB", point.try_start());
    assert!(fix.contains("`bytes` between"), "{fix}");
}
