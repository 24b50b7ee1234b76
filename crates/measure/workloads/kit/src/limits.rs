//! Limits on the resources of a process.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plumb_protocol::StartError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets this process open as many files as it may: shells allow few by default.
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // Where that is refused, opening says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Lets this process open as many files as it may, and refuses if that is too few.
///
/// # Errors
/// Unsupported, naming `ulimit -n`.
pub fn room_for_files(files: u64) -> Result<(), StartError> {
    raise_open_files();
    let open = fs::read_dir("/proc/self/fd").map_or(0, |folder| folder.count() as u64);
    let needed = files + open;
    let limit = getrlimit(Resource::Nofile).current;
    if limit.is_none_or(|limit| needed <= limit) {
        return Ok(());
    }
    Err(StartError::unsupported(
        format!("needs {needed} open files, more than `ulimit -n` allows"),
        format!("run `ulimit -n {needed}`, or set fewer tasks"),
    ))
}

/// Refuses more processes and threads than this one may make.
///
/// # Errors
/// Unsupported, naming the limit: `ulimit -u`, or pids.max of a cgroup.
pub fn room_for_tasks(tasks: u64) -> Result<(), StartError> {
    let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = pids_folders(&cgroups).into_iter().filter_map(|folder| PidsLimit::read(&folder));
    let of_user = getrlimit(Resource::Nproc).current;
    check_tasks(tasks, of_user.map(|most| UserLimit { most, taken: tasks_of_user() }), limits)
}

/// Of a user: how many tasks may exist (`ulimit -u`), and do.
struct UserLimit {
    most: u64,
    taken: u64,
}

/// The processes and threads of this user, as far as /proc shows them; 0 of root, who has no limit.
fn tasks_of_user() -> u64 {
    let user = rustix::process::getuid();
    if user.is_root() {
        return 0;
    }
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = processes
        .filter(|process| process.metadata().is_ok_and(|metadata| metadata.uid() == user.as_raw()));
    own.filter_map(|process| Some(fs::read_dir(process.path().join("task")).ok()?.count() as u64))
        .sum()
}

/// Of a cgroup: how many tasks it may have, and has.
struct PidsLimit {
    folder: PathBuf,
    most: u64,
    taken: u64,
}

impl PidsLimit {
    /// None if there is no limit.
    fn read(folder: &Path) -> Option<Self> {
        // Without a limit the file holds `max`, which is no number.
        let most = number_in(&folder.join("pids.max"))?;
        let taken = number_in(&folder.join("pids.current")).unwrap_or(0);
        Some(Self { folder: folder.into(), most, taken })
    }
}

fn number_in(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The folders of this process's cgroups that may limit tasks, each before those around it; from /proc/self/cgroup.
fn pids_folders(cgroups: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in cgroups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let top = match controllers {
            "" => Path::new("/sys/fs/cgroup"),
            other if other.split(',').any(|controller| controller == "pids") => {
                Path::new("/sys/fs/cgroup/pids")
            }
            _ => continue,
        };
        let inner = Path::new(path.trim_start_matches('/'));
        folders.extend(inner.ancestors().map(|inner| top.join(inner)));
    }
    folders
}

fn check_tasks(
    tasks: u64,
    of_user: Option<UserLimit>,
    mut of_groups: impl Iterator<Item = PidsLimit>,
) -> Result<(), StartError> {
    if let Some(UserLimit { most, taken }) =
        of_user.filter(|limit| limit.taken + tasks > limit.most)
    {
        return Err(StartError::unsupported(
            format!(
                "needs {tasks} tasks, but `ulimit -u` allows {most}, and {taken} already exist"
            ),
            format!("run `ulimit -u {}`, or set fewer tasks", (taken + tasks) * 2),
        ));
    }
    match of_groups.find(|limit| limit.taken + tasks > limit.most) {
        None => Ok(()),
        Some(PidsLimit { folder, most, taken }) => {
            let file = folder.join("pids.max");
            Err(StartError::unsupported(
                format!(
                    "needs {tasks} tasks, but {} allows {most}, and {taken} already exist",
                    file.display()
                ),
                format!("raise {}, or set fewer tasks", file.display()),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PidsLimit, UserLimit, check_tasks, pids_folders};
    use plumb_protocol::StartError;

    #[test]
    fn cgroups_of_both_versions_are_found_with_those_around_them() {
        let folders = pids_folders("8:cpu,pids:/a/b\n7:memory:/x\n0::/c\n");
        let shown: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let wanted = ["pids/a/b", "pids/a", "pids/", "c", ""];
        assert_eq!(shown, wanted.map(|folder| format!("/sys/fs/cgroup/{folder}")));
    }

    #[test]
    fn more_tasks_than_a_limit_are_unsupported_and_the_limit_is_named() {
        let groups = || [PidsLimit { folder: "/g".into(), most: 100, taken: 20 }].into_iter();
        let user = |most| Some(UserLimit { most, taken: 5 });
        check_tasks(80, user(85), groups()).unwrap();
        for (tasks, limit, named) in [
            (80, user(84), "`ulimit -u` allows 84, and 5 already exist"),
            (81, None, "/g/pids.max allows 100"),
        ] {
            let Err(StartError::Unsupported { why, .. }) = check_tasks(tasks, limit, groups())
            else {
                panic!("{tasks}: {named}");
            };
            assert!(why.contains(named), "{why}");
        }
    }
}
