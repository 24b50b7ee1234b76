//! `--set timers`: timers of the distribution that start work by themselves.

use plumb_machine::Root;

use crate::preparation::knob::{Knob, Lasts, Resolved, Suffix, Unusable};
use crate::preparation::units::{require_systemd, stopped};
use crate::setting::OFF;

/// The distribution's timers that start work, all stopped at once.
pub const KNOB: Knob = Knob {
    name: "timers",
    values: "off",
    example: "timers=off",
    summary: "distribution timers that start background work",
    manual: include_str!("timers.md"),
    lasts: Lasts::Undone,
    suffix: Suffix::None,
    resolve: |root, _, value| timers(root, value),
    now: |_| None,
};

/// Timers of the distributions that start disk or network work whenever they like.
const TIMERS: [&str; 12] = [
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dnf-makecache.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "fstrim.timer",
    "fwupd-refresh.timer",
    "logrotate.timer",
    "man-db.timer",
    "plocate-updatedb.timer",
    "systemd-tmpfiles-clean.timer",
    "unattended-upgrades.timer",
];

fn timers(root: &Root, value: &str) -> Result<Resolved, Unusable> {
    if value != OFF {
        return Err(Unusable::not_taken(value, OFF));
    }
    require_systemd(root)?;
    Ok(Resolved::Settings(TIMERS.iter().map(|unit| stopped(unit, true)).collect()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{tree, why};

    #[test]
    fn without_systemd_there_are_no_timers() {
        let (_tree, root) = tree(&[]);
        assert!(why(&root, "timers=off").contains("systemd is not running"));
    }
}
