//! The kernel's log since this boot: when it mounted the root file system and started the first program.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

use plumb_machine::Root;
use rustix::fs::OFlags;

const LOG: &str = "/dev/kmsg";
/// The longest record of the kernel, in bytes; a shorter buffer is refused.
const RECORD_BYTES: usize = 8192;

/// A message with its time, in microseconds since the kernel started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelMessage {
    pub at_us: u64,
    pub text: String,
}

/// All messages that the kernel still has, the oldest first; why there are none.
pub fn messages(root: &Root) -> Result<Vec<KernelMessage>, String> {
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    // Else reading would wait for the next message at the end of the log.
    let mut log =
        options.read(true).custom_flags(nonblocking).open(root.path(LOG)).map_err(unreadable)?;
    let mut text = String::new();
    let mut record = vec![0; RECORD_BYTES];
    loop {
        match log.read(&mut record) {
            Ok(0) => break,
            Ok(length) => text.push_str(&String::from_utf8_lossy(&record[..length])),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            // The record was overwritten while it was read: the next read goes on behind it.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
    Ok(text.lines().filter_map(message).collect())
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err passes it")]
fn unreadable(error: std::io::Error) -> String {
    format!("{LOG} can't be read: {error}")
}

/// A line `PRIORITY,NUMBER,MICROSECONDS,FLAGS;TEXT`. Lines that begin with a blank are fields of the one before.
fn message(line: &str) -> Option<KernelMessage> {
    let (head, text) = line.split_once(';')?;
    let at_us = head.split(',').nth(2)?.parse().ok()?;
    Some(KernelMessage { at_us, text: text.to_owned() })
}

/// When the kernel started the first program: that of the initrd, if there is one.
pub fn first_program_us(messages: &[KernelMessage]) -> Option<u64> {
    messages
        .iter()
        .find(|message| {
            message.text.starts_with("Run ") && message.text.ends_with(" as init process")
        })
        .map(|message| message.at_us)
}

/// Whether the kernel unpacked an initrd.
pub fn has_initrd(messages: &[KernelMessage]) -> bool {
    messages.iter().any(|message| {
        message.text.starts_with("Freeing initrd memory")
            || message.text.starts_with("Run /init as init process")
    })
}

/// When the first file system of a device was mounted, which is the root's: by the kernel itself, or by the initrd.
pub fn root_mounted_us(messages: &[KernelMessage]) -> Option<u64> {
    messages.iter().find(|message| is_mount(&message.text)).map(|message| message.at_us)
}

fn is_mount(text: &str) -> bool {
    let of_kernel = text.starts_with("VFS: Mounted root (");
    let of_ext4 = text.starts_with("EXT4-fs (") && text.contains("): mounted filesystem");
    let of_xfs = text.starts_with("XFS (") && text.ends_with("): Ending clean mount");
    let of_btrfs =
        text.starts_with("BTRFS info (device ") && text.contains("first mount of filesystem");
    of_kernel || of_ext4 || of_xfs || of_btrfs
}

#[cfg(test)]
mod tests {
    use super::{first_program_us, has_initrd, message, messages, root_mounted_us};
    use plumb_machine::Root;

    const LOG: &str = "5,0,0,-;Linux version 6.1.0 (x)\n\
        6,300,900000,-;Freeing initrd memory: 9000K\n SUBSYSTEM=x\n\
        6,301,1200000,-;Run /init as init process\n\
        6,302,2100000,-;EXT4-fs (vda): mounted filesystem with ordered data mode. Quota mode: none.\n\
        6,303,3100000,-;EXT4-fs (vdb): mounted filesystem with ordered data mode. Quota mode: none.\n";

    #[test]
    fn the_log_says_when_root_was_mounted() {
        let tree = tempfile::tempdir().unwrap();
        assert!(messages(&Root::at(tree.path())).unwrap_err().contains("/dev/kmsg can't be read"));
        std::fs::create_dir(tree.path().join("dev")).unwrap();
        std::fs::write(tree.path().join("dev/kmsg"), LOG).unwrap();
        let found = messages(&Root::at(tree.path())).unwrap();
        assert_eq!(found.len(), 5, "continued fields are no messages");
        assert_eq!(first_program_us(&found), Some(1_200_000));
        assert_eq!(root_mounted_us(&found), Some(2_100_000));
        assert!(has_initrd(&found) && !has_initrd(&found[3..]));
        assert_eq!(root_mounted_us(&found[..3]), None);
    }

    #[test]
    fn lines_that_are_no_records_are_skipped() {
        assert_eq!(message("6,1,5,-;a;b").unwrap().text, "a;b");
        for line in ["", "x", " DEVICE=+pci:0", "6,1,-;x", "6;x"] {
            assert_eq!(message(line), None, "{line}");
        }
    }
}
