//! Lines from and to a pipe, with a limit of length and a time limit.

use std::fmt;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, read, write};

/// Reads lines from a descriptor; remembers what it read beyond a line.
#[derive(Debug)]
pub struct LineReader<F> {
    source: F,
    buffer: Vec<u8>,
    scanned: usize,
    max_line: usize,
}

/// Why there is no line.
#[derive(Debug)]
pub enum LineError {
    /// The time limit passed.
    Timeout,
    /// A signal arrived; whoever handles signals decides whether to wait on.
    Interrupted,
    /// The other side closed the pipe; what was left without an end of line.
    Closed(String),
    /// The line is longer than the limit, in bytes.
    TooLong(usize),
    /// The line is not UTF-8; its beginning.
    NotText(String),
    /// The descriptor could not be read.
    Io(std::io::Error),
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => write!(f, "no line within the time limit"),
            Self::Interrupted => write!(f, "interrupted by a signal"),
            Self::Closed(rest) if rest.is_empty() => write!(f, "the pipe was closed"),
            Self::Closed(rest) => {
                write!(f, "the pipe was closed in the middle of a line, after `{rest}`")
            }
            Self::TooLong(limit) => write!(f, "a line is longer than {limit} bytes"),
            Self::NotText(start) => write!(f, "a line is not UTF-8: `{start}`"),
            Self::Io(error) => write!(f, "the pipe could not be read: {error}"),
        }
    }
}

impl std::error::Error for LineError {}

impl<F: AsFd> LineReader<F> {
    /// Reads from `source`; lines longer than `max_line` bytes are refused.
    pub fn new(source: F, max_line: usize) -> Self {
        Self { source, buffer: Vec::with_capacity(4096), scanned: 0, max_line }
    }

    /// The next line without its end.
    ///
    /// # Errors
    /// [`LineError::Timeout`] after `timeout` (None waits for ever), and the other reasons.
    pub fn next_line(&mut self, timeout: Option<Duration>) -> Result<String, LineError> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if let Some(line) = self.take_line()? {
                return Ok(line);
            }
            if self.buffer.len() > self.max_line {
                return Err(LineError::TooLong(self.max_line));
            }
            if !self.wait(deadline)? {
                return Err(LineError::Timeout);
            }
            if self.read_more()? == 0 {
                return Err(LineError::Closed(beginning(&self.buffer)));
            }
        }
    }

    /// Whether a line or the end can be read without waiting.
    pub fn is_ready(&mut self) -> bool {
        self.buffer.contains(&b'\n') || matches!(self.wait(Some(Instant::now())), Ok(true) | Err(_))
    }

    /// Waits until a line or the end can be read, at most so long; whether it can be.
    ///
    /// # Errors
    /// [`LineError::Interrupted`] and [`LineError::Io`].
    pub fn is_ready_within(&mut self, time: Duration) -> Result<bool, LineError> {
        if self.buffer.contains(&b'\n') {
            return Ok(true);
        }
        self.wait(Instant::now().checked_add(time))
    }

    fn take_line(&mut self) -> Result<Option<String>, LineError> {
        let Some(end) = self.buffer[self.scanned..].iter().position(|&b| b == b'\n') else {
            self.scanned = self.buffer.len();
            return Ok(None);
        };
        let rest = self.buffer.split_off(self.scanned + end + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        self.scanned = 0;
        line.pop();
        if line.len() > self.max_line {
            return Err(LineError::TooLong(self.max_line));
        }
        String::from_utf8(line).map(Some).map_err(|e| LineError::NotText(beginning(e.as_bytes())))
    }

    fn wait(&self, deadline: Option<Instant>) -> Result<bool, LineError> {
        wait(&self.source, PollFlags::IN, deadline)
    }

    fn read_more(&mut self) -> Result<usize, LineError> {
        let mut chunk = [0_u8; 65_536];
        loop {
            match read(&self.source, &mut chunk) {
                Ok(n) => {
                    self.buffer.extend_from_slice(&chunk[..n]);
                    return Ok(n);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(LineError::Io(error.into())),
            }
        }
    }
}

/// Writes lines to a pipe whose reader may have stopped reading.
#[derive(Debug)]
pub struct LineWriter<F> {
    sink: F,
}

impl<F: AsFd> LineWriter<F> {
    /// Writes to `sink`, which from now on never blocks.
    ///
    /// # Errors
    /// [`LineError::Io`] when the descriptor can't be made non-blocking.
    pub fn new(sink: F) -> Result<Self, LineError> {
        fcntl_getfl(&sink)
            .and_then(|flags| fcntl_setfl(&sink, flags | OFlags::NONBLOCK))
            .map_err(|error| LineError::Io(error.into()))?;
        Ok(Self { sink })
    }

    /// Writes all of `line`, which ends itself.
    ///
    /// # Errors
    /// [`LineError::Timeout`] when the other side leaves no room for `timeout`,
    /// [`LineError::Closed`] when it is gone, and the other reasons.
    pub fn write_line(&mut self, mut line: &[u8], timeout: Duration) -> Result<(), LineError> {
        let deadline = Instant::now().checked_add(timeout);
        while !line.is_empty() {
            if !wait(&self.sink, PollFlags::OUT, deadline)? {
                return Err(LineError::Timeout);
            }
            match write(&self.sink, line) {
                Ok(n) => line = &line[n..],
                // No room after all, or a signal: try again.
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::PIPE) => return Err(LineError::Closed(String::new())),
                Err(error) => return Err(LineError::Io(error.into())),
            }
        }
        Ok(())
    }
}

/// Whether the descriptor became ready before the deadline.
fn wait(
    descriptor: &impl AsFd,
    events: PollFlags,
    deadline: Option<Instant>,
) -> Result<bool, LineError> {
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let timeout = left.map(|left| Timespec {
        tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    });
    match poll(&mut [PollFd::new(descriptor, events)], timeout.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Err(LineError::Interrupted),
        Err(error) => Err(LineError::Io(error.into())),
    }
}

fn beginning(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{LineError, LineReader, LineWriter};
    use std::io::Write;
    use std::time::Duration;

    #[test]
    fn lines_come_whole_late_and_limited() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut lines = LineReader::new(reader, 10);
        let short = Some(Duration::from_millis(20));
        writer.write_all(b"one\ntw").unwrap();
        assert_eq!(lines.next_line(short).unwrap(), "one");
        assert!(matches!(lines.next_line(short), Err(LineError::Timeout)));
        writer.write_all(b"o\n12345678901\n").unwrap();
        assert_eq!(lines.next_line(short).unwrap(), "two");
        assert!(matches!(lines.next_line(short), Err(LineError::TooLong(10))));
        writer.write_all(b"\xff\xfe\n").unwrap();
        assert!(matches!(lines.next_line(short), Err(LineError::NotText(_))));
        drop(writer);
        assert!(matches!(lines.next_line(short), Err(LineError::Closed(_))));
    }

    #[test]
    fn a_reader_that_does_not_read_can_not_hold_the_writer_up() {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut lines = LineWriter::new(writer).unwrap();
        let short = Duration::from_millis(20);
        lines.write_line(b"one\n", short).unwrap();
        let long = vec![b'x'; 1 << 20];
        assert!(matches!(lines.write_line(&long, short), Err(LineError::Timeout)));
        drop(reader);
        assert!(matches!(lines.write_line(b"two\n", short), Err(LineError::Closed(_))));
    }
}
