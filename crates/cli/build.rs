//! Options of the linker for the release binary.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=no-unwinding.ld");
    // Debug builds unwind in tests, and need the tables.
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    // Another linker may not know the script, which saves room and nothing else.
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let has_own_linker = env::var_os("RUSTC_LINKER").is_some()
        || flags.contains("linker")
        || flags.contains("link-arg")
        || flags.contains("fuse-ld");
    if is_release && !has_own_linker {
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        let script = Path::new(&folder).join("no-unwinding.ld");
        println!("cargo:rustc-link-arg-bin=plumb=-Wl,-T,{}", script.display());
        // Functions with the same machine code are kept once: 0.6 MB less. For this target, rustc links with LLD, which can.
        if env::var("TARGET").is_ok_and(|target| target == "x86_64-unknown-linux-gnu") {
            println!("cargo:rustc-link-arg-bin=plumb=-Wl,--icf=all");
        }
    }
}
