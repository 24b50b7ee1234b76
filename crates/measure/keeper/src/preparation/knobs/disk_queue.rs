//! `--set disk-queue`: settings of the request queue of a disk.

use plumb_machine::Root;

use crate::preparation::files::choice;
use crate::preparation::knob::{Assignment, Knob, Lasts, Resolved, Suffix, Unusable};

/// Any setting in the folder `queue` of a disk, named after the dot with the disk.
pub const KNOB: Knob = Knob {
    name: "disk-queue",
    values: "disk-queue.DISK.NAME=VALUE",
    example: "disk-queue.sda.read_ahead_kb=128",
    summary: "scheduler, read-ahead and other settings of a disk's request queue",
    manual: include_str!("disk_queue.md"),
    lasts: Lasts::Undone,
    suffix: Suffix::Name,
    resolve: disk_queue,
    now: |_| None,
};

const SCHEDULER: &str = "scheduler";

fn disk_queue(root: &Root, name: &str, value: &str) -> Result<Resolved, Unusable> {
    let parts = name.rsplit_once('.');
    // A name must not lead out of the folder.
    let Some((disk, setting)) = parts.filter(|(disk, setting)| {
        [disk, setting].iter().all(|part| !part.is_empty() && **part != ".." && !part.contains('/'))
    }) else {
        return Err(Unusable::Usage(
            "give a disk and a setting, such as disk-queue.sda.read_ahead_kb=128".into(),
        ));
    };
    let path = format!("/sys/block/{disk}/queue/{setting}");
    if !root.path(&path).is_file() {
        let why = match root.path(&format!("/sys/block/{disk}")).is_dir() {
            true => format!("the disk {disk} has no setting `{setting}`"),
            false => format!("this machine has no disk `{disk}`"),
        };
        return Err(Unusable::unsupported(why, "ls /sys/block/*/queue lists disks and settings"));
    }
    match setting {
        SCHEDULER => choice(root, &path, value),
        _ => Ok(Resolved::Settings(vec![Assignment::file(path, value)])),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{settings, tree, why};

    #[test]
    fn settings_are_of_the_queue_of_one_disk() {
        let (_tree, root) = tree(&[
            ("sys/block/vda/queue/read_ahead_kb", "0\n"),
            ("sys/block/vda/queue/scheduler", "none [mq-deadline]\n"),
            ("sys/block/vda/size", "1\n"),
        ]);
        let folder = "/sys/block/vda/queue";
        assert_eq!(
            settings(&root, "disk-queue.vda.read_ahead_kb=128"),
            [format!("{folder}/read_ahead_kb=128")]
        );
        assert_eq!(
            settings(&root, "disk-queue.vda.scheduler=none"),
            [format!("{folder}/scheduler=none")]
        );
        assert!(why(&root, "disk-queue.vda.scheduler=cfq").contains("none, mq-deadline"));
        assert!(why(&root, "disk-queue.sdb.scheduler=none").contains("no disk `sdb`"));
        assert!(why(&root, "disk-queue.vda.depth=1").contains("no setting `depth`"));
        for outside in ["disk-queue.vda/../vda.size=1", "disk-queue.vda=1", "disk-queue..size=1"] {
            assert!(why(&root, outside).starts_with("usage: "), "{outside}");
        }
    }
}
