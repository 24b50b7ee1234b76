//! Options of the linker for the release binary.

use std::env;
use std::path::Path;
use std::process::Command;

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
        // Functions with the same machine code are kept once: 0.6 MB less. GNU ld does not know the option.
        if links_with_lld() {
            println!("cargo:rustc-link-arg-bin=plumb=-Wl,--icf=all");
        }
    }
}

/// Whether rustc links with its own LLD: the default for this target, in toolchains that include it. Those of distributions may
/// not.
fn links_with_lld() -> bool {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let Ok(output) = Command::new(rustc).args(["--print", "sysroot"]).output() else {
        return false;
    };
    let sysroot = String::from_utf8_lossy(&output.stdout);
    let lld = Path::new(sysroot.trim()).join(format!("lib/rustlib/{TARGET}/bin/gcc-ld/ld.lld"));
    env::var("TARGET").is_ok_and(|target| target == TARGET) && lld.exists()
}
