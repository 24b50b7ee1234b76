//! The boots in a journal: for each the message with which systemd says how long it took, and its kernel.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use plumb_machine::Root;
use plumb_protocol::StartError;
use plumb_workload_kit::tool;
use serde::Deserialize;

use crate::recorded::{READABLE, run};
use crate::timespan;

/// The message that systemd logs once per boot, when all units of the default target have started.
const STARTUP_FINISHED: &str = "MESSAGE_ID=b07a249cd024414a82dd00cd181378ff";
/// The kernel logs its version as a notice (5).
const KERNEL_NOTICES: [&str; 2] = ["_TRANSPORT=kernel", "PRIORITY=5"];
const VERSION: &str = "Linux version ";

/// Where journals are, of which the first survives a restart.
const FOLDERS: [&str; 2] = ["/var/log/journal", "/run/log/journal"];

/// How long a boot took, in seconds per stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Boot {
    /// The release of its kernel; None if that message is not in the journal any more.
    pub kernel: Option<String>,
    /// Firmware, loader, kernel, initrd, user space; 0 of a stage that the boot did not have.
    pub stages_s: [f64; STAGES],
}

/// The stages of a boot.
pub const STAGES: usize = 5;

impl Boot {
    /// From the start of the kernel until systemd has started everything, in seconds.
    pub fn startup_s(&self) -> f64 {
        self.stages_s[2..].iter().sum()
    }
}

/// A field of a journal entry. What is not UTF-8 comes as bytes, and a field that is there twice as a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Field {
    Text(String),
    Other(serde::de::IgnoredAny),
}

type Entry = BTreeMap<String, Field>;

/// The boots in the journal of this machine, the oldest first.
///
/// # Errors
/// Unsupported, if there is no journal, it can't be read, or has no boot.
pub fn boots(root: &Root) -> Result<Vec<Boot>, StartError> {
    let folder = folder(root)?;
    let mut journal = journalctl(&folder);
    // The folder may have journals of other machines, too. (The journal of an initrd has an id that it has made up, so
    // the kernel's messages are found by their boot.)
    journal.args(root.text("/etc/machine-id").map(|id| format!("_MACHINE_ID={id}")));
    let messages = entries(&run(journal.arg(STARTUP_FINISHED))?);
    let kernels = kernels(&run(journalctl(&folder).args(KERNEL_NOTICES))?);
    let mut seen: Vec<&str> = Vec::new();
    let mut boots = Vec::new();
    for entry in &messages {
        // After `systemctl daemon-reexec` an old systemd says it again.
        let Some(id) = text(entry, "_BOOT_ID").filter(|id| !seen.contains(id)) else { continue };
        let Some(stages_s) = stages(entry) else { continue };
        seen.push(id);
        boots.push(Boot { kernel: kernels.get(id).cloned(), stages_s });
    }
    if boots.is_empty() {
        return Err(StartError::unsupported(
            format!("no boot in {} that systemd has logged as finished", folder.display()),
            format!(
                "{READABLE}; or wait until this boot has finished (systemctl is-system-running --wait)"
            ),
        ));
    }
    Ok(boots)
}

fn folder(root: &Root) -> Result<PathBuf, StartError> {
    let folders = FOLDERS.map(|folder| root.path(folder));
    folders.into_iter().find(|folder| folder.is_dir()).ok_or_else(|| {
        StartError::unsupported(
            "systemd keeps no journal on this machine",
            "mkdir -p /var/log/journal && systemctl restart systemd-journald",
        )
    })
}

/// It prints each entry of the journals in a folder as a line of JSON.
fn journalctl(folder: &Path) -> Command {
    let mut command = tool::tool("journalctl");
    command.args(["--quiet", "--no-pager", "-o", "json", "-D"]).arg(folder);
    command.arg("--output-fields=_BOOT_ID,MESSAGE,KERNEL_USEC,INITRD_USEC,USERSPACE_USEC");
    command
}

fn entries(lines: &str) -> Vec<Entry> {
    lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn text<'e>(entry: &'e Entry, name: &str) -> Option<&'e str> {
    match entry.get(name)? {
        Field::Text(text) => Some(text),
        Field::Other(_) => None,
    }
}

/// Boot → the release of its kernel.
fn kernels(lines: &str) -> BTreeMap<String, String> {
    let mut kernels = BTreeMap::new();
    for entry in entries(lines) {
        let release = text(&entry, "MESSAGE").and_then(kernel_release);
        if let (Some(release), Some(boot)) = (release, text(&entry, "_BOOT_ID")) {
            kernels.entry(boot.to_owned()).or_insert_with(|| release.to_owned());
        }
    }
    kernels
}

/// The release in `Linux version 6.1.0-47-amd64 (debian…`.
pub fn kernel_release(message: &str) -> Option<&str> {
    message.strip_prefix(VERSION)?.split_whitespace().next()
}

/// The seconds of each stage. None of a container and of a soft reboot, which start no kernel.
fn stages(entry: &Entry) -> Option<[f64; STAGES]> {
    let message = text(entry, "MESSAGE").unwrap_or_default();
    Some([
        stage_in_text(message, "(firmware)"),
        stage_in_text(message, "(loader)"),
        stage_in_field(entry, "KERNEL_USEC")?,
        stage_in_field(entry, "INITRD_USEC").unwrap_or(0.0),
        stage_in_field(entry, "USERSPACE_USEC")?,
    ])
}

/// The seconds in a field, which counts microseconds.
fn stage_in_field(entry: &Entry, name: &str) -> Option<f64> {
    let us: u64 = text(entry, name)?.parse().ok()?;
    Some(std::time::Duration::from_micros(us).as_secs_f64())
}

/// The seconds before this word in `Startup finished in 9.1s (firmware) + 2s (loader) + …`; 0 if it is not there.
fn stage_in_text(message: &str, stage: &str) -> f64 {
    let stages = message.trim_start_matches("Startup finished in ").split(" + ");
    let found = stages.filter_map(|part| part.trim().strip_suffix(stage)).next();
    found.and_then(timespan::seconds).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::{entries, kernel_release, kernels, stages};

    fn stages_of(line: &str) -> Option<[f64; 5]> {
        stages(&entries(line)[0])
    }

    #[test]
    fn stages_come_from_fields_and_from_the_text() {
        let whole = stages_of(
            r#"{"MESSAGE":"Startup finished in 1min 9.5s (firmware) + 250ms (loader) + 1.2s (kernel) + 2s (initrd) + 8s (userspace) = 1min 20.950s.","KERNEL_USEC":"1200000","INITRD_USEC":"2000000","USERSPACE_USEC":"8000000"}"#,
        );
        assert_eq!(whole, Some([69.5, 0.25, 1.2, 2.0, 8.0]));
        let virtual_machine = stages_of(
            r#"{"MESSAGE":"Startup finished in 500ms (kernel) + 2s (userspace) = 2.5s.","KERNEL_USEC":"500000","USERSPACE_USEC":"2000000"}"#,
        );
        assert_eq!(virtual_machine, Some([0.0, 0.0, 0.5, 0.0, 2.0]));
        let soft = r#"{"MESSAGE":"Soft-reboot finished in 2s, counter is now at 1.","USERSPACE_USEC":"2000000"}"#;
        assert_eq!(stages_of(soft), None);
        assert_eq!(stages_of(r#"{"KERNEL_USEC":[1,2],"USERSPACE_USEC":"1"}"#), None);
    }

    #[test]
    fn the_kernel_of_a_boot_is_the_first_that_it_names() {
        assert_eq!(kernel_release("Linux version 6.1.0-47-amd64 (x@y)"), Some("6.1.0-47-amd64"));
        assert_eq!(kernel_release("Kernel command line: Linux version"), None);
        let lines = "{\"_BOOT_ID\":\"a\",\"MESSAGE\":\"Linux version 6.1.0 (x)\"}\n\
                     {\"_BOOT_ID\":\"a\",\"MESSAGE\":\"Linux version 9 (x)\"}\n\
                     not json\n{\"MESSAGE\":\"Linux version 7 (x)\"}\n";
        let found = kernels(lines);
        assert_eq!(found.len(), 1);
        assert_eq!(found["a"], "6.1.0");
    }
}
