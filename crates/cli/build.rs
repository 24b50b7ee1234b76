//! Options of the linker for the release binary.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=no-unwinding.ld");
    // Tests are built to unwind, and need the tables.
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    if is_release {
        let script = Path::new(&folder).join("no-unwinding.ld");
        println!("cargo:rustc-link-arg-bin=plumb=-Wl,-T,{}", script.display());
    }
}
