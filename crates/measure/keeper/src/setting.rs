//! Things of a machine that have a value, which can be read, changed and changed back.
//!
//! The journal knows nothing but these: whatever a knob does is made of them, so that the old value can
//! be written down before and put back by a process that knows no knobs.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use plumb_machine::Root;
use serde::{Deserialize, Serialize};

use crate::plugin::PluginPreparation;
use crate::unchanged::Unchanged;

/// What a unit or a swap area is when it runs or is used, and when not.
pub const ON: &str = "on";
/// The opposite of [`ON`].
pub const OFF: &str = "off";

/// Something with a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SystemSetting {
    /// A file of the kernel.
    File(String),
    /// A unit of systemd: `on` or `off`.
    Unit(String),
    /// A swap area: `on` with its priority (`on -2`), or `off`.
    Swap(String),
    /// A control group: `on` when the folder is there.
    Group(String),
    /// A compressed device in memory (`/dev/zramN`) of this number: `on` when it is there.
    Zram(u32),
    /// The longest wake-up that C-states may cost, in microseconds. It holds while a file is open, so
    /// that it ends with whoever asked for it.
    Latency,
    /// What a plug-in prepared: `on` from before it is made until it is undone.
    Plugin(PluginPreparation),
}

impl fmt::Display for SystemSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) | Self::Group(path) => f.write_str(path),
            Self::Unit(name) => write!(f, "unit {name}"),
            Self::Swap(area) => write!(f, "swap {area}"),
            Self::Zram(number) => write!(f, "/dev/zram{number}"),
            Self::Latency => f.write_str("/dev/cpu_dma_latency"),
            Self::Plugin(preparation) => write!(f, "plug-in {}", preparation.name),
        }
    }
}

impl SystemSetting {
    /// The value now, as it has to be written to have it back.
    ///
    /// # Errors
    /// When it can't be read, or is not a text.
    pub fn read(&self, root: &Root) -> io::Result<String> {
        match self {
            Self::File(path) => fs::read_to_string(root.path(path)).map(|text| chosen(&text)),
            Self::Unit(name) => systemctl("is-active", name).map(|active| on(active).to_owned()),
            Self::Swap(area) => Ok(swap(root, area)),
            Self::Group(path) => Ok(on(root.path(path).is_dir()).to_owned()),
            Self::Zram(number) => Ok(on(zram(root, *number).is_dir()).to_owned()),
            Self::Latency => Ok(String::new()),
            // Only the plug-in itself could tell; its undo is to be harmless if there is nothing to undo.
            Self::Plugin(_) => Ok(ON.to_owned()),
        }
    }

    /// Changes it.
    ///
    /// # Errors
    /// Why it stays as it was.
    pub fn write(&self, root: &Root, value: &str) -> io::Result<()> {
        match self {
            Self::File(path) => {
                let mut file =
                    OpenOptions::new().write(true).truncate(true).open(root.path(path))?;
                // The kernel takes a value in one call.
                file.write_all(value.as_bytes())
            }
            Self::Unit(name) => {
                let order = if value == ON { "start" } else { "stop" };
                succeeded(systemctl(order, name)?, &format!("systemctl {order} {name}"))
            }
            Self::Swap(area) => set_swap(area, value),
            Self::Group(path) if value == ON => fs::create_dir(root.path(path)),
            Self::Group(path) => fs::remove_dir(root.path(path)),
            Self::Zram(number) if value == ON => add_zram(root, *number),
            Self::Zram(number) => remove_zram(root, *number),
            Self::Latency => Err(io::Error::other("a latency limit lasts while its file is open")),
            Self::Plugin(preparation) if value == OFF => preparation.undo(),
            Self::Plugin(_) => Err(io::Error::other("a plug-in applies its own change")),
        }
    }

    /// Whether this user may change it; nothing is written.
    ///
    /// # Errors
    /// Why not.
    pub fn may_be_written(&self, root: &Root) -> Result<(), Unchanged> {
        let may = match self {
            Self::File(_) | Self::Latency => {
                let path = root.path(&self.to_string());
                rustix::fs::access(path, rustix::fs::Access::WRITE_OK).map_err(io::Error::from)
            }
            Self::Plugin(_) => Ok(()),
            Self::Group(folder) => {
                let parent = Path::new(folder).parent().unwrap_or(Path::new("/"));
                let path = root.path(&parent.to_string_lossy());
                rustix::fs::access(path, rustix::fs::Access::WRITE_OK).map_err(io::Error::from)
            }
            Self::Unit(_) | Self::Swap(_) | Self::Zram(_) => {
                match rustix::process::geteuid().is_root() {
                    true => Ok(()),
                    false => Err(io::ErrorKind::PermissionDenied.into()),
                }
            }
        };
        may.map_err(|error| refused(self, None, &error))
    }

    /// Whether two texts are the same value of it; how blanks stand does not matter.
    #[must_use]
    pub fn same(one: &str, other: &str) -> bool {
        one.split_whitespace().eq(other.split_whitespace())
    }
}

/// Why the system did not let a setting be read or changed.
pub fn refused(setting: &SystemSetting, to: Option<&str>, error: &io::Error) -> Unchanged {
    match (error.kind(), to) {
        (io::ErrorKind::NotFound, _) => Unchanged::new(format!("this machine has no {setting}")),
        (io::ErrorKind::PermissionDenied, _) => {
            Unchanged { why: format!("{setting} needs root"), fix: "start plumb as root".into() }
        }
        (io::ErrorKind::ReadOnlyFilesystem, _) => {
            let fix = "start plumb outside the container".into();
            Unchanged { why: format!("{setting} is read-only here"), fix }
        }
        (_, Some(to)) => Unchanged::new(format!("{setting} rejected {to}: {error}")),
        (_, None) => Unchanged::new(format!("{setting} can't be read: {error}")),
    }
}

/// What removes compressed devices, and adds them.
const ZRAM_CONTROL: &str = "/sys/class/zram-control";
/// A device whose filesystem is just going may stay busy for so long.
const ZRAM_BUSY_TIMEOUT: Duration = Duration::from_secs(2);

fn zram(root: &Root, number: u32) -> PathBuf {
    root.path(&format!("/sys/block/zram{number}"))
}

/// Reading adds a device, and gives its number.
fn add_zram(root: &Root, number: u32) -> io::Result<()> {
    let control = root.path(ZRAM_CONTROL);
    let added = fs::read_to_string(control.join("hot_add"))?;
    if added.trim() == number.to_string() {
        return Ok(());
    }
    // The kernel picks the number: somebody else was faster, and this device would be left over.
    fs::write(control.join("hot_remove"), added.trim())?;
    Err(io::Error::other("another program added a device at the same time"))
}

fn remove_zram(root: &Root, number: u32) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        let reset = fs::write(zram(root, number).join("reset"), "1");
        let hot_remove = root.path(ZRAM_CONTROL).join("hot_remove");
        let removed = reset.and_then(|()| fs::write(hot_remove, number.to_string()));
        if removed.is_ok() || begun.elapsed() > ZRAM_BUSY_TIMEOUT {
            return removed;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn on(is: bool) -> &'static str {
    if is { ON } else { OFF }
}

/// What has to be written to have this again: of `always [madvise] never` the word in brackets, of
/// anything else all of it.
fn chosen(text: &str) -> String {
    let word = text.split_whitespace().find_map(|w| w.strip_prefix('[')?.strip_suffix(']'));
    word.unwrap_or(text).to_owned()
}

fn systemctl(order: &str, unit: &str) -> io::Result<bool> {
    let mut command = Command::new("systemctl");
    command.args(["--quiet", order, "--", unit]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.status()?.success())
}

fn succeeded(did: bool, what: &str) -> io::Result<()> {
    if did { Ok(()) } else { Err(io::Error::other(format!("{what} failed"))) }
}

/// `on PRIORITY` or `off`, from /proc/swaps.
fn swap(root: &Root, area: &str) -> String {
    let swaps = root.text("/proc/swaps").unwrap_or_default();
    let fields = swaps.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut used = fields.filter(|fields| fields.first() == Some(&area));
    let priority = used.find_map(|fields| fields.last().map(|word| (*word).to_owned()));
    priority.map_or_else(|| OFF.to_owned(), |priority| format!("{ON} {priority}"))
}

/// The kernel gives areas without a priority of their own negative ones, which can't be asked for.
fn set_swap(area: &str, value: &str) -> io::Result<()> {
    let mut command = match value.split_once(' ') {
        Some((ON, priority)) => {
            let mut command = Command::new("swapon");
            if !priority.starts_with('-') {
                command.args(["-p", priority]);
            }
            command
        }
        _ if value == ON => Command::new("swapon"),
        _ => Command::new("swapoff"),
    };
    let ended = command.args(["--", area]).stdin(Stdio::null()).output()?;
    let why = String::from_utf8_lossy(&ended.stderr);
    succeeded(ended.status.success(), &format!("swap {value} {area} ({})", why.trim()))
}

#[cfg(test)]
mod tests {
    use super::{SystemSetting, chosen, swap};
    use plumb_machine::Root;

    #[test]
    fn the_word_in_brackets_is_the_value_of_a_list() {
        assert_eq!(chosen("always [madvise] never\n"), "madvise");
        assert_eq!(chosen("4096\t131072\t6291456\n"), "4096\t131072\t6291456\n");
        assert!(SystemSetting::same("4096 131072", "4096\t131072\n"));
        assert!(!SystemSetting::same("4096", "4097"));
    }

    #[test]
    fn a_swap_area_is_on_with_its_priority() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir(tree.path().join("proc")).unwrap();
        let swaps = "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1048572 0 -2\n";
        std::fs::write(tree.path().join("proc/swaps"), swaps).unwrap();
        let root = Root::at(tree.path());
        assert_eq!(swap(&root, "/dev/sda2"), "on -2");
        assert_eq!(swap(&root, "/dev/sdb1"), "off");
    }

    #[test]
    fn a_missing_file_is_not_made() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let setting = SystemSetting::File("/sys/none".into());
        assert!(setting.read(&root).is_err() && setting.write(&root, "1").is_err());
        assert!(!tree.path().join("sys").exists());
    }
}
