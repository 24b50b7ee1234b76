//! The trees of machines, and how their journals are made. The tests of this crate and those of the real binary use it.

use std::path::Path;
use std::process::Command;

/// Makes a journal of text in journald's export format.
const JOURNAL_MAKER: &str = "/usr/lib/systemd/systemd-journal-remote";

/// A laptop, written by hand: firmware that grows, two kernels.
pub const LAPTOP: &str = include_str!("laptop.tree");
/// A container, written by hand.
pub const CONTAINER: &str = include_str!("container.tree");
/// A guest with an initrd without systemd, captured.
pub const GUEST: &str = include_str!("guest.tree");
/// A guest with systemd in its initrd, captured.
pub const INITRD: &str = include_str!("initrd.tree");
/// A guest with BusyBox as init, captured.
pub const BUSYBOX: &str = include_str!("busybox.tree");

/// Makes the journal of a tree that was laid out below `folder`, if it has one.
pub fn make_journal(folder: &Path) {
    let export = folder.join("journal.export");
    let Ok(text) = std::fs::read_to_string(&export) else { return };
    // An entry ends with an empty line, the last one, too.
    std::fs::write(&export, text + "\n").unwrap();
    let journals = folder.join("var/log/journal");
    std::fs::create_dir_all(&journals).unwrap();
    let mut maker = Command::new(JOURNAL_MAKER);
    maker.args(["--compress=no", "-o"]).arg(journals.join("system.journal")).arg(export);
    let made = maker.output().unwrap_or_else(|error| panic!("{JOURNAL_MAKER}: {error}"));
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success() && !said.contains("lost"), "{JOURNAL_MAKER}: {said}");
}
