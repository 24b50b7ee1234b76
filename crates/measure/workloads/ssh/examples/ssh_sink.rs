//! Stands in for plumb at the far end of an SSH session, which runs `plumb ssh-sink` there.
#![expect(clippy::unwrap_used, reason = "it is a part of a test")]

fn main() {
    plumb_workload_ssh::ssh_sink().unwrap();
}
