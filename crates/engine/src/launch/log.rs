//! The stderr of a started program: drained by a thread that sleeps unless there is something, so that
//! a program can write as much as it likes without blocking; only the last bytes are kept.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// What is kept, in bytes.
const KEPT: usize = 8 * 1024;

/// The end of what a program wrote to stderr.
#[derive(Debug, Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
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
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&chunk[..n]);
            let excess = kept.len().saturating_sub(KEPT);
            kept.drain(..excess);
        }
    }

    /// What was written last.
    pub fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}
