//! The operating system, and versions of libraries and tools.
//!
//! No program is started for that: ten `--version` would take longer than the rest of a run's set-up.
//! What the package manager knows is read. A workload that uses a tool asks it itself.

use crate::fingerprint::recorded::RecordedFacts;
use crate::root::Root;

/// Facts, and the packages that they are versions of: of Debian, of Alpine, of Arch.
const PACKAGES: [(&str, &[&str]); 8] = [
    ("libc", &["libc6", "musl", "glibc"]),
    ("openssl", &["libssl3t64", "libssl3", "libssl1.1", "openssl"]),
    ("openssh", &["openssh-client", "openssh-client-default", "openssh"]),
    ("gcc", &["gcc"]),
    ("clang", &["clang"]),
    ("rustc", &["rustc", "rust"]),
    ("go", &["golang-go", "go"]),
    ("python", &["python3", "python"]),
];

pub fn read(root: &Root, facts: &mut RecordedFacts) {
    facts.put("os", os_name(root));
    let packages = Packages::read(root);
    for (name, of) in PACKAGES {
        facts.put(name, of.iter().find_map(|package| packages.version(package)));
    }
    if !facts.0.contains_key("libc") {
        facts.put("libc", libc_itself(root));
    }
    facts.put("container", Some(container(root).unwrap_or_else(|| "none".into())));
}

fn os_name(root: &Root) -> Option<String> {
    let text = root.text("/etc/os-release")?;
    let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

/// The package managers, with their installed packages.
enum Packages {
    /// A file of stanzas, the fields for name and version in it.
    Stanzas(String, &'static str, &'static str),
    /// Names of folders, `NAME-VERSION-RELEASE`.
    Folders(Vec<String>),
}

impl Packages {
    fn read(root: &Root) -> Self {
        if let Some(text) = root.text("/var/lib/dpkg/status") {
            return Self::Stanzas(text, "Package: ", "Version: ");
        }
        match root.text("/lib/apk/db/installed") {
            Some(text) => Self::Stanzas(text, "P:", "V:"),
            None => Self::Folders(root.names("/var/lib/pacman/local")),
        }
    }

    fn version(&self, package: &str) -> Option<String> {
        match self {
            Self::Stanzas(text, name, version) => {
                let head = format!("{name}{package}\n");
                // Only at the beginning of a line: other fields may end with the same text.
                let (at, _) = text
                    .match_indices(&head)
                    .find(|(at, _)| *at == 0 || text.as_bytes()[at - 1] == b'\n')?;
                let stanza = text[at..].split("\n\n").next()?;
                // A package that was removed keeps its stanza as long as its configuration is there.
                let gone = stanza.lines().any(|line| line == "Status: deinstall ok config-files");
                let found = stanza.lines().find_map(|line| line.strip_prefix(version))?;
                (!gone).then(|| found.to_owned())
            }
            Self::Folders(names) => {
                let prefix = format!("{package}-");
                let mut rests = names.iter().filter_map(|name| name.strip_prefix(&prefix));
                // `gcc-libs-13` is not a `gcc`: what follows the name must be a version.
                let version = rests.find(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
                version.map(str::to_owned)
            }
        }
    }
}

/// What the C library says of itself, if no package manager that plumb can read does.
fn libc_itself(root: &Root) -> Option<String> {
    let files = ["/lib64/libc.so.6", "/usr/lib/libc.so.6"];
    // Read, not run as `ldd` would: the tree may be that of another machine.
    let bytes = files.iter().find_map(|file| std::fs::read(root.path(file)).ok())?;
    let head = b"GNU C Library ";
    let at = bytes.windows(head.len()).position(|window| window == head)?;
    let line = std::str::from_utf8(bytes[at..].split(|byte| *byte == b'\n').next()?).ok()?;
    let version = line.rsplit_once("version ").map_or(line, |(_, version)| version);
    Some(format!("GNU {}", version.trim_end_matches('.')))
}

/// The container around plumb, by the traces that its manager leaves.
#[must_use]
pub fn container(root: &Root) -> Option<String> {
    let traces = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    let found = traces.iter().find(|(trace, _)| root.path(trace).exists());
    found.map(|(_, manager)| (*manager).to_owned()).or_else(|| root.text("/run/systemd/container"))
}

#[cfg(test)]
mod tests {
    use super::{Packages, libc_itself};
    use crate::root::Root;

    #[test]
    fn versions_come_from_the_package_manager() {
        let text = "Package: gcc\nStatus: install ok installed\nVersion: 4:12.2\n\n\
                    Package: clang\nStatus: deinstall ok config-files\nVersion: 1:14\n\n\
                    Package: gcc-12\nVersion: 12.3";
        let dpkg = Packages::Stanzas(text.into(), "Package: ", "Version: ");
        assert_eq!(dpkg.version("gcc").as_deref(), Some("4:12.2"));
        assert_eq!((dpkg.version("clang"), dpkg.version("cc")), (None, None));
        let arch = Packages::Folders(vec!["gcc-libs-15.1-1".into(), "gcc-15.2-1".into()]);
        assert_eq!(arch.version("gcc").as_deref(), Some("15.2-1"));
    }

    #[test]
    fn a_library_tells_its_version_where_no_package_manager_does() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(tree.path().join("lib64")).unwrap();
        let text = b"\x7fELF\0GNU C Library (GNU libc) stable release version 2.34.\nCopyright\0";
        std::fs::write(tree.path().join("lib64/libc.so.6"), text).unwrap();
        assert_eq!(libc_itself(&Root::at(tree.path())).as_deref(), Some("GNU 2.34"));
    }
}
