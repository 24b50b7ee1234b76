//! On NFS: how many requests the client counted for the operations of a batch (/proc/self/mountstats), and what network
//! interfaces moved meanwhile (/proc/net/dev). Both are read before and after a batch, outside of what is timed.

use std::fs;
use std::path::Path;

use plumb_protocol::Failure;

use crate::engine::BlockOperation;

/// Of a filesystem: NFS (linux/magic.h).
const NFS: u64 = 0x6969;

const MOUNTSTATS: &str = "/proc/self/mountstats";
const INTERFACES: &str = "/proc/net/dev";

/// The account that the client keeps of one NFS mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NfsMount {
    /// Where it is mounted, as mountstats writes it.
    path: String,
    operation: BlockOperation,
}

/// The counts up to a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NfsCounts {
    /// Requests of the operation that were answered.
    requests: u64,
    traffic: Traffic,
}

/// What all network interfaces sent and received. What the loopback interface sends it also receives: it counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Traffic {
    bytes: u64,
    packets: u64,
}

impl NfsMount {
    /// The mount on which a folder lies; None if that is not NFS, or the kernel keeps no account of it.
    #[must_use]
    pub fn of(dir: &Path, operation: BlockOperation) -> Option<Self> {
        let kind = rustix::fs::statfs(dir).ok()?.f_type;
        if u64::try_from(kind) != Ok(NFS) {
            return None;
        }
        let dir = dir.canonicalize().ok()?;
        let path = mount_above(&fs::read_to_string(MOUNTSTATS).ok()?, &dir)?.to_owned();
        let mount = Self { path, operation };
        mount.counts().is_ok().then_some(mount)
    }

    /// The counts so far.
    ///
    /// # Errors
    /// When the kernel does not report (any more).
    pub fn counts(&self) -> Result<NfsCounts, Failure> {
        let mountstats = read(MOUNTSTATS)?;
        let traffic = traffic(&read(INTERFACES)?);
        let Some(requests) = requests(&mountstats, &self.path, self.operation) else {
            return Err(Failure(format!("{MOUNTSTATS} has no entry for {}", self.path)));
        };
        Ok(NfsCounts { requests, traffic })
    }
}

fn read(path: &str) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::io(path, &error))
}

impl NfsCounts {
    /// For each of so many operations since `before`: requests, then bytes and packets of interfaces.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub fn per_operation(self, before: Self, operations: u64) -> [f64; 3] {
        let each = |now: u64, then: u64| now.saturating_sub(then) as f64 / operations as f64;
        [
            each(self.requests, before.requests),
            each(self.traffic.bytes, before.traffic.bytes),
            each(self.traffic.packets, before.traffic.packets),
        ]
    }
}

/// Where NFS is mounted, when this line begins the account of an NFS mount.
fn mounted(line: &str) -> Option<&str> {
    let (_, rest) = line.strip_prefix("device ")?.split_once(" mounted on ")?;
    let (path, kind) = rest.split_once(" with fstype ")?;
    matches!(kind.split(' ').next()?, "nfs" | "nfs4").then_some(path)
}

/// The innermost NFS mount above a folder.
fn mount_above<'t>(mountstats: &'t str, dir: &Path) -> Option<&'t str> {
    // The kernel writes a space in a path as \\040. The longest path is the mount nearest to the folder.
    mountstats
        .lines()
        .filter_map(mounted)
        .filter(|path| dir.starts_with(path.replace("\\040", " ")))
        .max_by_key(|path| path.len())
}

/// Requests of an operation on the mount at `path` that were answered.
fn requests(mountstats: &str, path: &str, operation: BlockOperation) -> Option<u64> {
    let names: &[&str] = match operation {
        // NFS 4.2 may read with its own request.
        BlockOperation::Read => &["READ", "READ_PLUS"],
        BlockOperation::Write => &["WRITE"],
    };
    // The lines of a mount end where those of the next one begin.
    let lines = mountstats
        .lines()
        .skip_while(|line| mounted(line) != Some(path))
        .skip(1)
        .take_while(|line| !line.starts_with("device "));
    let count = |line: &str| -> Option<u64> {
        let (name, rest) = line.trim().split_once(": ")?;
        names.contains(&name).then(|| rest.split(' ').next()?.parse().ok())?
    };
    lines.filter_map(count).fold(None, |sum, operations| Some(sum.unwrap_or(0) + operations))
}

/// The number in a column; 0 if the line is shorter.
fn column(numbers: &str, at: usize) -> u64 {
    numbers.split_whitespace().nth(at).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Of a table with two lines of titles, then `NAME: NUMBER…` with eight columns received and eight sent.
fn traffic(interfaces: &str) -> Traffic {
    let mut all = Traffic::default();
    for line in interfaces.lines().skip(2) {
        let Some((name, rest)) = line.rsplit_once(':') else { continue };
        // What goes through the loopback device is counted at both of its ends: only sent bytes count there.
        let received =
            if name.trim() == "lo" { (0, 0) } else { (column(rest, 0), column(rest, 1)) };
        all.bytes += received.0 + column(rest, 8);
        all.packets += received.1 + column(rest, 9);
    }
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{NfsCounts, NfsMount, Traffic, mount_above, requests, traffic};
    use crate::engine::BlockOperation;

    /// Lines of what Linux 6.1 wrote of a mount and of its own server, captured in a guest.
    const MOUNTSTATS: &str = "device tmpfs mounted on /run/guest with fstype tmpfs\n\
                              device nfsd mounted on /proc/fs/nfsd with fstype nfsd\n\
                              device 127.0.0.1:/ mounted on /run/guest/nfs with fstype nfs4 statvers=1.1\n\
                              \topts:\trw,vers=4.2,rsize=262144,wsize=262144,namlen=255,hard,proto=tcp\n\
                              \tper-op statistics\n\
                              \t        READ: 830 830 0 152720 985788 465 2221 3076 0\n\
                              \t       WRITE: 453 453 0 979032 50736 462 1287 1965 0\n";

    #[test]
    fn the_innermost_nfs_mount_is_found() {
        let above = |dir: &str| mount_above(MOUNTSTATS, Path::new(dir));
        assert_eq!(above("/run/guest/nfs/plumb-1"), Some("/run/guest/nfs"));
        assert_eq!(above("/run/guest/nfs"), Some("/run/guest/nfs"));
        assert_eq!((above("/run/guest/nfs2"), above("/proc/fs/nfsd")), (None, None));
        let inner = "device a:/ mounted on /a with fstype nfs statvers=1.1\n\
                     device b:/ mounted on /a/b\\040c with fstype nfs4 statvers=1.1\n";
        assert_eq!(mount_above(inner, Path::new("/a/b c/d")), Some("/a/b\\040c"));
        assert_eq!(mount_above(inner, Path::new("/a/b")), Some("/a"));
    }

    #[test]
    fn a_folder_elsewhere_has_no_mount() {
        assert_eq!(NfsMount::of(Path::new("/proc"), BlockOperation::Read), None);
        assert_eq!(NfsMount::of(Path::new("/no/such/folder"), BlockOperation::Read), None);
    }

    #[test]
    fn requests_and_traffic_are_counted_per_operation() {
        let of = |operation| requests(MOUNTSTATS, "/run/guest/nfs", operation);
        assert_eq!((of(BlockOperation::Read), of(BlockOperation::Write)), (Some(830), Some(453)));
        assert_eq!(requests(MOUNTSTATS, "/srv", BlockOperation::Read), None);
        let plus = "device a:/ mounted on /a with fstype nfs4\n\tREAD: 5 6 0\n\tREAD_PLUS: 2 2 0\n\
                    device b:/ mounted on /b with fstype nfs4\n\tREAD: 100 100 0\n";
        assert_eq!(requests(plus, "/a", BlockOperation::Read), Some(7));
        assert_eq!(requests(plus, "/a", BlockOperation::Write), None);
        let interfaces = "Inter-| Receive | Transmit\n face |bytes packets\n\
                          \x20   lo: 700 7 0 0 0 0 0 0 700 7 0 0 0 0 0 0\n\
                          \x20 eth0: 1000 10 0 0 0 0 0 0 200 2 0 0 0 0 0 0\n";
        let after = traffic(interfaces);
        assert_eq!(after, Traffic { bytes: 1900, packets: 19 });
        let before = NfsCounts { requests: 3, traffic: Traffic::default() };
        let after = NfsCounts { requests: 13, traffic: after };
        assert_eq!(after.per_operation(before, 10), [1.0, 190.0, 1.9]);
    }
}
