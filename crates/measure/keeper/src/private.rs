//! Folders whose content may be believed: nobody else could have put it there.

use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A file mode: others may write.
const OTHERS_WRITE: u32 = 0o002;
/// A file mode: the group may write.
const GROUP_WRITES: u32 = 0o020;
/// A file mode of a folder in which only owners may rename and remove their files, such as /tmp.
const STICKY: u32 = 0o1000;

/// Why what lies in a folder is not believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotPrivate {
    /// The folder, or one above it.
    folder: PathBuf,
    /// Who else may change what lies there.
    why: String,
}

impl fmt::Display for NotPrivate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.folder.display(), self.why)
    }
}

impl std::error::Error for NotPrivate {}

/// Makes a folder that others can't enter, with those above it.
///
/// # Errors
/// When it can't be made, or it is there and others may change what lies in it.
pub fn make_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    check_private(folder).map_err(io::Error::other)
}

/// Checks that only root and the user of this process can have put files into a folder: it and all folders above belong to
/// one of the two, and others may not write there. A folder that is not there contains nothing.
///
/// # Errors
/// The first folder of which that is not true.
pub fn check_private(folder: &Path) -> Result<(), NotPrivate> {
    let Ok(whole) = fs::canonicalize(folder) else { return Ok(()) };
    for above in whole.ancestors() {
        let why = match fs::symlink_metadata(above) {
            Ok(metadata) => shared_with(&metadata, above == whole),
            Err(error) => Some(format!("can't be checked: {error}")),
        };
        if let Some(why) = why {
            return Err(NotPrivate { folder: above.to_owned(), why });
        }
    }
    Ok(())
}

/// Who else may change what lies in a folder. `is_last` is whether files are looked for in it: the sticky bit protects the
/// files of others there, but does not keep them from adding some.
fn shared_with(metadata: &Metadata, is_last: bool) -> Option<String> {
    let own_user = rustix::process::geteuid().as_raw();
    let own_group = rustix::process::getegid().as_raw();
    let mode = metadata.mode();
    let is_sticky = mode & STICKY != 0 && !is_last;
    // In a user namespace the owner of `/` may be root of the machine, which has no number there. Files are looked for in
    // folders of one's own alone.
    let may_be_root = metadata.uid() == 0 || (!is_last && is_unmapped(metadata.uid()));
    // A process without a number of its own can't tell its files from those of all other users without one.
    if metadata.uid() == own_user && is_unmapped(own_user) {
        return Some(
            "may belong to another user: this one has no number in the user namespace".into(),
        );
    }
    if metadata.uid() != own_user && !may_be_root {
        return Some(format!("belongs to another user (uid {})", metadata.uid()));
    }
    if mode & OTHERS_WRITE != 0 && !is_sticky {
        return Some("can be written by everybody".to_owned());
    }
    // Many systems give each user a group of their own, and let it write.
    if mode & GROUP_WRITES != 0 && !is_sticky && metadata.gid() != own_group && metadata.gid() != 0
    {
        return Some(format!("can be written by another group (gid {})", metadata.gid()));
    }
    None
}

/// Whether a user's number stands for all those that have none in this user namespace (user_namespaces(7)).
fn is_unmapped(user: u32) -> bool {
    let overflow = fs::read_to_string("/proc/sys/kernel/overflowuid").unwrap_or_default();
    let stands_for_many = overflow.trim().parse() == Ok(user);
    stands_for_many
        && fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !is_mapped(user, &map))
}

/// Whether a user's number is one of those in a map: `inside outside count` per line.
fn is_mapped(user: u32, map: &str) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u64> =
            line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [first, _, count] = numbers[..] else { return false };
        (first..first.saturating_add(count)).contains(&user.into())
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::{check_private, is_mapped, is_unmapped, make_private};

    #[test]
    fn the_owner_of_unmapped_files_is_told_from_a_user_with_this_number() {
        assert!(is_mapped(65534, "         0          0 4294967295\n"));
        assert!(!is_mapped(65534, "0 1000 1\n1 100000 65533\n"));
        assert!(is_mapped(65533, "0 1000 1\n1 100000 65533\n"));
        assert!(!is_mapped(65534, "") && !is_mapped(0, "0 0\n"));
        assert!(!is_unmapped(0));
    }

    #[test]
    fn a_folder_that_plumb_makes_is_private_and_stays_so() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("plumb/journals");
        assert_eq!(check_private(&folder), Ok(()), "it is not there");
        make_private(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(check_private(&folder), Ok(()));
    }

    #[test]
    fn what_others_may_write_is_not_believed() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("plumb/journals");
        make_private(&folder).unwrap();
        for shared in ["plumb/journals", "plumb"] {
            let path = place.path().join(shared);
            fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
            let found = check_private(&folder).unwrap_err().to_string();
            assert!(found.ends_with(&format!("{shared} can be written by everybody")), "{found}");
            assert!(make_private(&folder).is_err());
            fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        }
        // Sticky, as /tmp: safe above, but not where the files are.
        fs::set_permissions(place.path(), Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(check_private(&folder), Ok(()));
        fs::set_permissions(&folder, Permissions::from_mode(0o1777)).unwrap();
        assert!(check_private(&folder).is_err());
    }

    #[test]
    fn what_belongs_to_another_user_is_not_believed() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("plumb");
        make_private(&folder).unwrap();
        // Only root can give files away.
        if chown(&folder, Some(12_345), None).is_err() {
            return;
        }
        let found = check_private(&folder).unwrap_err().to_string();
        assert!(found.ends_with("belongs to another user (uid 12345)"), "{found}");
    }
}
