//! Input that a peer reads before a key is proven: no bytes prove it, end the peer, or hold it up.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use plumb_peer::{PeerKey, proves};

static KEY: LazyLock<PeerKey> = LazyLock::new(|| {
    let file = std::env::temp_dir().join(format!("plumb-fuzz-{}.key", std::process::id()));
    PeerKey::create(&file).expect("a key is written");
    let key = PeerKey::read(&file).expect("a key is read");
    std::fs::remove_file(&file).expect("a key is removed");
    key
});

fuzz_target!(|bytes: &[u8]| {
    assert!(!proves(&KEY, bytes));
});
