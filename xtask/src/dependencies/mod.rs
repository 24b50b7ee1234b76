//! Dependencies: allowed by deny.toml, used, and named in THIRD-PARTY.md.
//!
//! cargo-deny and cargo-machete check the same; they take 246 and 104 their own crates, to plumb's hundred,
//! and some minutes to build each. This reads what `cargo metadata` says and takes a second.

mod metadata;
mod notices;
mod rules;
mod spdx;
mod unused;

use std::fs;

use metadata::Metadata;

const FILE: &str = "THIRD-PARTY.md";

/// Checks, and with `--write` writes THIRD-PARTY.md again.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let write = match arguments {
        [] => false,
        [flag] if flag == "--write" => true,
        other => return Err(format!("dependencies: no argument `{}`", other.join(" "))),
    };
    let metadata = Metadata::read()?;
    if write {
        let path = metadata.workspace_root.join(FILE);
        fs::write(&path, notices::notices(&metadata)?)
            .map_err(|error| format!("{FILE}: {error}"))?;
    }
    let wrong = wrong(&metadata)?;
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// What is not as it should be, a line each.
fn wrong(metadata: &Metadata) -> Result<Vec<String>, String> {
    let mut wrong = rules::broken(metadata)?;
    wrong.extend(unused::unused(metadata)?);
    let committed = fs::read_to_string(metadata.workspace_root.join(FILE)).unwrap_or_default();
    if committed != notices::notices(metadata)? {
        wrong.push(format!("{FILE} is stale: run `cargo xtask dependencies --write`"));
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::metadata::Metadata;
    use super::wrong;

    #[test]
    fn dependencies_are_allowed_used_and_named() {
        let metadata = Metadata::read().unwrap();
        assert_eq!(wrong(&metadata).unwrap(), Vec::<String>::new());
    }
}
