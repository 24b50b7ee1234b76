//! The stderr of a started program: drained by a thread that sleeps unless there is something, so that
//! a program can write as much as it likes without blocking; only the last bytes are kept.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::secrets::Secrets;

/// What is shown, in bytes.
const KEPT: usize = 8 * 1024;
/// What is kept before it, in bytes: a secret of which only the end is shown could not be struck out.
const BEFORE: usize = 4 * 1024;
/// A program that has ended may have children that hold its stderr: they are not waited for longer.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The end of what a program wrote to stderr.
#[derive(Debug, Clone, Default)]
pub struct StderrLog(Arc<SharedLog>);

#[derive(Debug, Default)]
struct SharedLog {
    kept: Mutex<LogTail>,
    secrets: Mutex<Secrets>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LogTail {
    bytes: Vec<u8>,
    ended: bool,
}

impl StderrLog {
    /// Drains `stderr` until it ends.
    pub fn drain(stderr: OwnedFd) -> Self {
        let log = Self::default();
        let kept = log.clone();
        let drain = std::thread::Builder::new().name("stderr".into()).stack_size(64 * 1024);
        // Without the thread the program's stderr has only the pipe's room: no reason to fail here.
        let _ = drain.spawn(move || kept.fill(File::from(stderr)));
        log
    }

    fn fill(&self, mut stderr: File) {
        let mut chunk = [0_u8; 4096];
        while let Ok(n @ 1..) = stderr.read(&mut chunk) {
            let mut kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.bytes.extend_from_slice(&chunk[..n]);
            let excess = kept.bytes.len().saturating_sub(BEFORE + KEPT);
            kept.bytes.drain(..excess);
        }
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        self.0.changed.notify_all();
    }

    /// Strikes these out of what was and will be written.
    pub fn hide(&self, secrets: Secrets) {
        *self.0.secrets.lock().unwrap_or_else(PoisonError::into_inner) = secrets;
    }

    /// What was written last.
    pub fn text(&self) -> String {
        let kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept.bytes).into_owned();
        // Struck out when it is read and not when it comes: a secret can be split between two reads.
        let text = self.0.secrets.lock().unwrap_or_else(PoisonError::into_inner).hide(text);
        let mut from = text.len().saturating_sub(KEPT);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        text[from..].to_owned()
    }

    /// The last output of a program that has ended, including the rest in the pipe.
    pub fn last_words(&self) -> String {
        let kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.changed.wait_timeout_while(kept, LAST_WORDS, |kept| !kept.ended);
        drop(waited);
        self.text()
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, StderrLog};
    use std::io::Write;

    #[test]
    fn the_end_is_kept_and_waited_for() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let log = StderrLog::drain(reader.into());
        let late = std::thread::spawn(move || {
            writer.write_all(&vec![b'x'; 3 * KEPT]).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
            writer.write_all(b"the end").unwrap();
        });
        assert!(log.last_words().ends_with("the end"));
        assert_eq!(log.text().len(), KEPT);
        late.join().unwrap();
    }
}
