//! Used space and inodes of filesystems, as `df` shows them.

use std::collections::BTreeSet;

use plumb_machine::Root;
use rustix::fs::statvfs;

use crate::counter_buffer::{CounterBuffer, CounterField};
use crate::monitor::{CounterSource, Monitor};

/// The monitor `space`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "space",
    summary: "bytes and inodes used on each mounted filesystem, as in df",
    manual: include_str!("space.md"),
    // On NFS a reading is a request to the server.
    default_hz: None,
    // A mount whose server is gone can hold a reader up.
    slow: true,
    parsers: &[],
    open: |root| match root.is_live() {
        true => Space::open(root),
        false => Err("a captured tree has no filesystems".to_owned()),
    },
};

struct Space {
    mounts: Vec<String>,
}

impl Space {
    fn open(root: &Root) -> Result<Box<dyn CounterSource>, String> {
        let path = "/proc/self/mountinfo";
        let table = root.text(path).ok_or_else(|| format!("{path} can't be read"))?;
        // Filesystems of the kernel itself (proc, sysfs, cgroup) have no blocks.
        let mut mounts: Vec<String> = mounts(&table).into_iter().collect();
        mounts.retain(|path| statvfs(path.as_str()).is_ok_and(|there| there.f_blocks > 0));
        match mounts.is_empty() {
            true => Err("no filesystem reports its size".to_owned()),
            false => Ok(Box::new(Self { mounts })),
        }
    }
}

impl CounterSource for Space {
    fn read(&mut self, buffer: &mut CounterBuffer) -> Result<(), String> {
        for path in &self.mounts {
            // One that was unmounted meanwhile is a gap.
            let Ok(there) = statvfs(path.as_str()) else { continue };
            // As df: f_bavail would count the blocks reserved for root as used.
            let used = there.f_blocks.saturating_sub(there.f_bfree) * there.f_frsize;
            buffer.put(CounterField::gauge("used", "B").of(path), used);
            let inodes = there.f_files.saturating_sub(there.f_ffree);
            buffer.put(CounterField::gauge("inodes", "").of(path), inodes);
        }
        Ok(())
    }
}

/// Where filesystems are mounted, each once, those of single files left out.
fn mounts(table: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut mounts = Vec::new();
    for line in table.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, _, device, root, path, ..] = fields[..] else { continue };
        // A bind mount shows another root of the same device: it would count that filesystem twice.
        if root == "/" && seen.insert(device.to_owned()) {
            mounts.push(unescaped(path));
        }
    }
    mounts
}

/// A path in which the kernel wrote spaces, tabs, ends of lines and backslashes as `\040`.
fn unescaped(path: &str) -> String {
    let pairs = [(r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", r"\")];
    pairs.into_iter().fold(path.to_owned(), |path, (from, to)| path.replace(from, to))
}

#[cfg(test)]
mod tests {
    use plumb_machine::Root;

    use super::{MONITOR, mounts};
    use crate::counter_buffer::CounterBuffer;

    #[test]
    fn a_filesystem_counts_once_and_a_part_of_one_does_not() {
        let table = "1 0 254:0 / / rw - ext4 /dev/vda rw\n\
                     2 1 254:0 / /again rw - ext4 /dev/vda rw\n\
                     3 1 254:1 /part /part rw - ext4 /dev/vdb rw\n\
                     garbage\n\
                     4 1 0:30 / /with\\040space rw - nfs4 h:/x rw\n";
        assert_eq!(mounts(table), ["/", "/with space"]);
    }

    #[test]
    fn a_file_of_a_mebibyte_is_seen() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let mut source = (MONITOR.open)(&Root::at("/")).unwrap();
        let mut used = || {
            let mut buffer = CounterBuffer::new("space");
            buffer.turn(1);
            source.read(&mut buffer).unwrap();
            let traces = buffer.finish().0;
            let of = traces.iter().find(|trace| {
                trace.counter.name.contains("/dev/shm") && trace.counter.name.contains("used")
            });
            of.unwrap().readings[0].value
        };
        // Others may use it meanwhile.
        let grew = (0..20).any(|number| {
            let before = used();
            std::fs::write(folder.path().join(number.to_string()), vec![1; 64 << 20]).unwrap();
            used() >= before + (48 << 20)
        });
        assert!(grew);
    }
}
