//! /dev/kmsg: what the kernel says while a workload runs.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;

use plumb_machine::Root;
use plumb_model::KernelLine;

use super::kernel_subject::is_own;
use crate::counter_buffer::{CounterBuffer, CounterField};
use crate::files::why;
use crate::interference::WARNING;
use crate::monitor::{CounterSource, Monitor, SLOW_HZ};

/// The monitor `kmsg`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "kmsg",
    summary: "new messages in the kernel log",
    manual: include_str!("kmsg.md"),
    default_hz: Some(SLOW_HZ),
    slow: true,
    parsers: &[|_, text, _| drop(parse(text))],
    open: |root| {
        let path = "/dev/kmsg";
        let mut options = std::fs::OpenOptions::new();
        let opened = options.read(true).custom_flags(libc::O_NONBLOCK).open(root.path(path));
        let mut file = opened.map_err(|error| why(path, &error))?;
        // The device replays the whole buffer otherwise: only what is logged from now on counts.
        file.seek(SeekFrom::End(0)).map_err(|error| why(path, &error))?;
        Ok(Box::new(Kmsg { file, lines: 0, root: root.clone() }))
    },
};

/// The longest record, in bytes.
const MAX_RECORD_BYTES: usize = 8192;
/// Records of one reading; what comes faster is counted at the next.
const MAX_RECORDS: usize = 200;

struct Kmsg {
    file: File,
    lines: u64,
    root: Root,
}

impl CounterSource for Kmsg {
    fn read(&mut self, buffer: &mut CounterBuffer) -> Result<(), String> {
        // One read gives one record, and fails with EINVAL if the record does not fit.
        let mut record = [0; MAX_RECORD_BYTES];
        for _ in 0..MAX_RECORDS {
            match self.file.read(&mut record) {
                Ok(0) => break,
                Ok(length) => {
                    self.lines += 1;
                    let text = String::from_utf8_lossy(&record[..length]);
                    let line = parse(&text).filter(|line| !self.is_of_no_interest(line));
                    line.into_iter().for_each(|line| buffer.line(line));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // Lines were overwritten before they were read.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
                Err(error) => return Err(why("/dev/kmsg", &error)),
            }
        }
        buffer.put(CounterField::counter("lines", ""), self.lines);
        Ok(())
    }
}

impl Kmsg {
    /// Whether a line is a warning about plumb's own devices and processes. Those are rare, so the look at the tree of
    /// processes that it takes is, too.
    fn is_of_no_interest(&self, line: &KernelLine) -> bool {
        line.level <= WARNING && is_own(&self.root, std::process::id(), &line.text)
    }
}

/// `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT`, then lines of properties.
pub fn parse(record: &str) -> Option<KernelLine> {
    let (head, text) = record.split_once(';')?;
    let mut head = head.split(',');
    let priority: u64 = head.next()?.parse().ok()?;
    let us: u64 = head.nth(1)?.parse().ok()?;
    let text = text.lines().next().unwrap_or_default().to_owned();
    Some(KernelLine { at_ns: us.saturating_mul(1000), level: (priority & 7) as u8, text })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_record_has_a_level_a_moment_and_a_text() {
        let line = parse("12,345,6789,-;oom-killer: a; b\n SUBSYSTEM=memory\n").unwrap();
        assert_eq!(
            (line.level, line.at_ns, line.text.as_str()),
            (4, 6_789_000, "oom-killer: a; b")
        );
        assert!(parse("no record").is_none() && parse("a,b,c;d").is_none());
    }
}
