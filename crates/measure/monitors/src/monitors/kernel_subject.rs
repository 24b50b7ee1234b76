//! Whom a line of the kernel's log is about: plumb's own devices and processes, or others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use plumb_machine::Root;

use super::tree;

/// What the kernel writes instead of lines that came too fast. It does not say whose they were.
const SUPPRESSED: &str = "callbacks suppressed";
/// Kinds of block devices that plumb sets up: a loop device, a mapped one, compressed memory.
const DEVICES: [&str; 3] = ["loop", "dm-", "zram"];
/// Devices may lie on others this many times.
const MOST_LAYERS: usize = 8;

/// Whether a line is about plumb's own devices or processes, or about no one in particular.
///
/// It is asked about few lines, so each question looks at the whole tree of processes anew.
pub fn is_own(root: &Root, plumb: u32, text: &str) -> bool {
    if text.contains(SUPPRESSED) {
        return true;
    }
    let devices = devices(text);
    let processes = tree::processes(root, plumb);
    if devices.is_empty() {
        return processes.iter().any(|pid| names_process(root, *pid, text));
    }
    let opened = open_devices(root, &processes);
    devices.iter().all(|device| is_own_device(root, device, &opened, MOST_LAYERS))
}

/// The block devices that a line names: `loop0` in `JBD2: I/O error when updating journal superblock for loop0-8`.
fn devices(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let named = words.filter_map(|word| {
        let kind = DEVICES.into_iter().find(|kind| word.starts_with(kind))?;
        let number: String = word[kind.len()..].chars().take_while(char::is_ascii_digit).collect();
        (!number.is_empty()).then(|| format!("{kind}{number}"))
    });
    named.collect()
}

/// The devices that these processes have open.
fn open_devices(root: &Root, processes: &[u32]) -> BTreeSet<String> {
    let files =
        processes.iter().filter_map(|pid| fs::read_dir(root.path(&format!("/proc/{pid}/fd"))).ok());
    let targets = files.flatten().flatten().filter_map(|file| fs::read_link(file.path()).ok());
    targets.filter_map(|target| block_device(&target)).collect()
}

fn block_device(path: &Path) -> Option<String> {
    let name = path.strip_prefix("/dev").ok()?.to_str()?;
    DEVICES.iter().any(|kind| name.starts_with(kind)).then(|| name.to_owned())
}

/// Whether plumb has set a device up. Of a device that is gone nobody knows: plumb's workloads take theirs down within a
/// sample, and other people's rarely come and go next to a measurement.
fn is_own_device(root: &Root, device: &str, opened: &BTreeSet<String>, layers: usize) -> bool {
    if opened.contains(device) {
        return true;
    }
    let below = root.names(&format!("/sys/block/{device}/slaves"));
    if !below.is_empty() {
        return layers > 0
            && below.iter().all(|device| is_own_device(root, device, opened, layers - 1));
    }
    device.starts_with("loop")
        && root.text(&format!("/sys/block/{device}/loop/backing_file")).is_none()
}

/// Whether a line names a process by its number and its name, as in `Killed process 1234 (plumb)`.
fn names_process(root: &Root, pid: u32, text: &str) -> bool {
    let number = pid.to_string();
    text.split(|c: char| !c.is_ascii_digit()).any(|word| word == number)
        && root
            .text(&format!("/proc/{pid}/comm"))
            .is_some_and(|name| !name.is_empty() && text.contains(name.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::{devices, is_own};
    use plumb_machine::Root;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// plumb has process 10, which started 11; 11 has loop3 open, on which dm-1 lies. Somebody else has loop4.
    fn machine() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            ("/proc/10/task/10/children", "11"),
            ("/proc/11/task/11/children", ""),
            ("/proc/10/comm", "plumb\n"),
            ("/proc/11/comm", "burner\n"),
            ("/proc/99/comm", "postgres\n"),
            ("/proc/11/fd/none", ""),
            ("/sys/block/loop3/loop/backing_file", "/work/medium (deleted)\n"),
            ("/sys/block/loop4/loop/backing_file", "/home/disk.img\n"),
            ("/sys/block/dm-1/slaves/loop3/size", "8"),
            ("/sys/block/dm-2/slaves/loop4/size", "8"),
        ];
        for (path, text) in files {
            let path = folder.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink("/dev/loop3", folder.path().join("proc/11/fd/4")).unwrap();
        fs::create_dir_all(folder.path().join("sys/block/loop5")).unwrap();
        let root = Root::at(folder.path());
        (folder, root)
    }

    #[test]
    fn devices_and_processes_of_plumb_are_its_own_and_others_are_not() {
        let (_folder, root) = machine();
        let own = [
            "I/O error, dev loop3, sector 0 op 0x1:(WRITE) flags 0x800",
            "Aborting journal on device loop3-8.",
            "EXT4-fs warning (device dm-1): ext4_end_bio:343: I/O error 10",
            // Taken down again before the line was read.
            "EXT4-fs (loop5): I/O error while writing superblock",
            "Memory cgroup out of memory: Killed process 11 (burner)",
            "blk_print_req_error: 5 callbacks suppressed",
        ];
        for line in own {
            assert!(is_own(&root, 10, line), "{line}");
        }
        let of_others = [
            "I/O error, dev loop4, sector 0 op 0x1:(WRITE) flags 0x800",
            "EXT4-fs warning (device dm-2): ext4_end_bio:343: I/O error 10",
            "I/O error, dev loop3 and loop4",
            "I/O error, dev sda, sector 0",
            "Memory cgroup out of memory: Killed process 99 (postgres)",
            // The number is in it, the name is not.
            "nvme nvme0: I/O 11 QID 3 timeout",
            "ext4: Unknown parameter 'nonsense'",
        ];
        for line in of_others {
            assert!(!is_own(&root, 10, line), "{line}");
        }
    }

    #[test]
    fn devices_are_found_by_their_names() {
        let found = |text| devices(text).into_iter().collect::<Vec<_>>();
        assert_eq!(found("for loop0-8, dm-12 and zram1p2"), ["dm-12", "loop0", "zram1"]);
        assert_eq!(found("loop: module loaded; eth0 looped"), [""; 0]);
    }
}
