//! Whether timed loops are what they say: the release assembly of every family, held against its kernels.toml.
//!
//! A compiler may make another loop of ours than we wrote: a call of memcpy of a copy by words, packed additions of a
//! scalar chain. Results stay right and numbers lie, so no test of results finds it. The assembly is made by the
//! profile and with the flags that a release has.

mod assembly;
mod rules;
mod symbol;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FAMILIES: &str = "crates/measure/workloads";
const RULES: &str = "kernels.toml";

/// Checks these families, or all that have rules.
pub fn run(wanted: &[String]) -> Result<(), String> {
    if cfg!(not(target_arch = "x86_64")) {
        return Err("kernels: the rules are written for x86-64".into());
    }
    let root = root();
    let mut all = families(&root)?;
    if let Some(unknown) = wanted.iter().find(|family| !all.contains_key(*family)) {
        return Err(format!("kernels: no family `{unknown}` has a {RULES}"));
    }
    all.retain(|family, _| wanted.is_empty() || wanted.contains(family));
    let mut checked = 0;
    let mut broken = Vec::new();
    for (family, file) in &all {
        let kernels = rules::read(file)?;
        let functions = assembly::functions(&assemble(&root, family)?);
        for kernel in &kernels {
            let found = kernel.broken(&functions)?;
            broken.extend(found.iter().map(|what| format!("{family}: {what}")));
        }
        checked += kernels.len();
    }
    if !broken.is_empty() {
        return Err(broken.join("\n"));
    }
    println!("{checked} rules of {} families hold", all.len());
    Ok(())
}

fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// The families that have rules, with the file.
fn families(root: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
    let folder = root.join(FAMILIES);
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let with_rules = entries.flatten().filter_map(|entry| {
        let file = entry.path().join(RULES);
        file.is_file().then(|| (entry.file_name().to_string_lossy().into_owned(), file))
    });
    Ok(with_rules.collect())
}

/// The assembly of a family, as a release has it.
fn assemble(root: &Path, family: &str) -> Result<String, String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    // Checkouts may share a target directory.
    let folder = root.join(target).join("kernels").join(root.file_name().unwrap_or_default());
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let file = folder.join(format!("{family}.s"));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(root)
        .args(["rustc", "--locked", "--quiet", "--release", "--lib", "--package"])
        .args([&format!("plumb-workload-{family}"), "--", "--emit"])
        .arg(format!("asm={}", file.display()))
        .status()
        .map_err(|error| format!("kernels: cargo rustc for {family}: {error}"))?;
    if !status.success() {
        return Err(format!("kernels: cargo rustc for {family}: {status}"));
    }
    fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::assembly::functions;
    use super::{families, root, rules};

    #[test]
    fn every_file_of_rules_can_be_read() {
        let families = families(&root()).unwrap();
        assert!(families.contains_key("cpu") && families.contains_key("memory"), "{families:?}");
        for file in families.values() {
            for kernel in rules::read(file).unwrap() {
                // Without functions there is one complaint, that of the missing symbol.
                let broken = kernel.broken(&[]).unwrap_or_else(|why| panic!("{why}"));
                assert_eq!(broken.len(), 1, "{broken:?}");
            }
        }
    }

    /// Two loops through the compiler: words one by one, and what it makes a call of memcpy.
    const LOOPS: &str = "
        #[inline(never)]
        pub fn word_by_word(from: &[u64], to: &mut [u64]) {
            for (to, from) in to.iter_mut().zip(from) {
                unsafe { std::ptr::write_volatile(to, *from) };
            }
        }
        #[inline(never)]
        pub fn broken_on_purpose(from: &[u64], to: &mut [u64]) {
            for (to, from) in to.iter_mut().zip(from) {
                *to = *from;
            }
        }";

    #[test]
    fn a_loop_that_is_broken_on_purpose_is_found_in_what_the_compiler_makes() {
        let folder = std::env::temp_dir().join(format!("plumb-kernels-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let place = |name: &str| folder.join(name);
        std::fs::write(place("loops.rs"), LOOPS).unwrap();
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let made = std::process::Command::new(rustc)
            .args(["-O", "--edition", "2024", "--crate-type", "lib", "--emit", "asm", "-o"])
            .args([place("loops.s"), place("loops.rs")])
            .status();
        assert!(made.unwrap().success());
        let functions = functions(&std::fs::read_to_string(place("loops.s")).unwrap());
        let broken = |symbol: &str| {
            let rule = "never = [\"mem(cpy|move)\"]\nwhy = \"a copy by words\"\n";
            let file = place("kernels.toml");
            std::fs::write(&file, format!("[[kernel]]\nsymbol = \"{symbol}\"\n{rule}")).unwrap();
            rules::read(&file).unwrap()[0].broken(&functions).unwrap()
        };
        assert_eq!(broken("word_by_word"), [""; 0]);
        let found = broken("broken_on_purpose");
        assert!(found[0].contains("must not have `mem(cpy|move)`: `"), "{found:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
