//! The agent's side of its log: a bounded spool in front of a pipe.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use plumb_model::{Event, EventSink, SinkError, Stamped};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, write};

use crate::log_line::{EVENTS_SCHEMA, LogLine, MOST_LINE};

/// So many bytes wait at most for a near end that does not read.
const MOST_WAITING: usize = 64 << 20;
/// So many readings of monitors fit one line: each has less than 50 bytes.
const MOST_READINGS: usize = MOST_LINE / 64;
/// How long the last lines may take.
const LAST_LINES: Duration = Duration::from_secs(30);

/// Writes the event log of an agent. Nothing here blocks the engine while it measures: what the pipe does not take waits in
/// memory, and it is written when the next event comes, which is never within a timed batch.
#[derive(Debug)]
pub struct EventSpool<F> {
    out: F,
    waiting: VecDeque<u8>,
    segment: u32,
    ordinal: u64,
}

impl<F: AsFd> EventSpool<F> {
    /// A log into `out` that begins with this nonce.
    ///
    /// # Errors
    /// When the near end is gone.
    pub fn begin(out: F, nonce: &str, plumb: &str) -> Result<Self, SinkError> {
        fcntl_getfl(&out)
            .and_then(|flags| fcntl_setfl(&out, flags | OFlags::NONBLOCK))
            .map_err(|error| gone(&error.to_string()))?;
        let mut spool = Self { out, waiting: VecDeque::new(), segment: 0, ordinal: 0 };
        spool.push(&LogLine::Begin {
            schema: EVENTS_SCHEMA.to_owned(),
            nonce: nonce.to_owned(),
            plumb: plumb.to_owned(),
        })?;
        Ok(spool)
    }

    /// Ends the log with this line.
    ///
    /// # Errors
    /// When the near end is gone, or does not read for half a minute.
    pub fn end(&mut self, line: &LogLine) -> Result<(), SinkError> {
        self.push(line)?;
        let deadline = Instant::now() + LAST_LINES;
        while !self.waiting.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(gone("it does not read"));
            }
            let within = Timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            };
            // A signal ends the wait early, and the loop looks at the time again.
            let _ = poll(&mut [PollFd::new(&self.out, PollFlags::OUT)], Some(&within));
            self.write_waiting()?;
        }
        Ok(())
    }

    fn push(&mut self, line: &LogLine) -> Result<(), SinkError> {
        let mut text = serde_json::to_vec(line).map_err(|error| SinkError(error.to_string()))?;
        if text.len() > MOST_LINE {
            return Err(SinkError(format!(
                "an event of {} bytes is longer than the limit of {MOST_LINE}",
                text.len()
            )));
        }
        text.push(b'\n');
        self.waiting.extend(text);
        self.write_waiting()?;
        if self.waiting.len() > MOST_WAITING {
            return Err(gone("it does not read"));
        }
        Ok(())
    }

    /// Writes as much as the pipe takes now.
    fn write_waiting(&mut self) -> Result<(), SinkError> {
        while !self.waiting.is_empty() {
            let (first, _) = self.waiting.as_slices();
            match write(&self.out, first) {
                Ok(written) => drop(self.waiting.drain(..written)),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(gone(&error.to_string())),
            }
        }
        Ok(())
    }
}

/// A log that several threads of an agent write to: the one that measures, and the one that answers requests for the time.
#[derive(Debug)]
pub struct SharedSpool<F>(Arc<Mutex<EventSpool<F>>>);

impl<F> Clone for SharedSpool<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F: AsFd> SharedSpool<F> {
    /// Shares a log.
    #[must_use]
    pub fn of(spool: EventSpool<F>) -> Self {
        Self(Arc::new(Mutex::new(spool)))
    }

    /// Writes a line that is no event and does not end the log.
    ///
    /// # Errors
    /// When the near end is gone.
    pub fn push(&self, line: &LogLine) -> Result<(), SinkError> {
        self.locked().push(line)
    }

    /// Ends the log with this line.
    ///
    /// # Errors
    /// When the near end is gone, or does not read for half a minute.
    pub fn end(&self, line: &LogLine) -> Result<(), SinkError> {
        self.locked().end(line)
    }

    fn locked(&self) -> MutexGuard<'_, EventSpool<F>> {
        // No half of a line is left behind: lines are complete before they are written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: AsFd> EventSink for SharedSpool<F> {
    fn take(&mut self, event: &Stamped) -> Result<(), SinkError> {
        self.locked().take(event)
    }
}

impl<F: AsFd> EventSink for EventSpool<F> {
    fn take(&mut self, event: &Stamped) -> Result<(), SinkError> {
        if let Event::SegmentStarted { segment, .. } = &event.event {
            self.segment = *segment;
        }
        let stamped = fitting(event.clone());
        let line = LogLine::Event { segment: self.segment, ordinal: self.ordinal, stamped };
        self.ordinal += 1;
        self.push(&line)
    }
}

/// The event, with fewer readings of the monitors if a long invocation has more than fit one line.
fn fitting(mut stamped: Stamped) -> Stamped {
    if let Event::Monitored { readings, .. } = &mut stamped.event {
        let all: usize = readings.traces.iter().map(|trace| trace.readings.len()).sum();
        let step = all.div_ceil(MOST_READINGS);
        for trace in readings.traces.iter_mut().filter(|_| step > 1) {
            let last = trace.readings.len().saturating_sub(1);
            let mut index = 0;
            // The amount of a counter is that from the first reading to the last.
            trace.readings.retain(|_| {
                let is_kept = index % step == 0 || index == last;
                index += 1;
                is_kept
            });
        }
    }
    stamped
}

fn gone(why: &str) -> SinkError {
    SinkError(format!("the machine that started this run does not take its results: {why}"))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, pipe};
    use std::thread;

    use plumb_model::{Event, EventSink, Stamped};

    use super::{EventSpool, MOST_WAITING};
    use crate::log_line::{AgentEnd, LogLine};

    fn log(text: String) -> Stamped {
        Stamped { at_ns: 7, event: Event::Log { text } }
    }

    #[test]
    fn a_full_pipe_does_not_block_and_nothing_is_lost() {
        let (near, far) = pipe().unwrap();
        let mut spool = EventSpool::begin(far, "abc", "1").unwrap();
        // More than a pipe holds.
        for n in 0..300 {
            spool.take(&log(format!("{n} {}", "x".repeat(1000)))).unwrap();
        }
        let reader = thread::spawn(move || BufReader::new(near).lines().collect::<Vec<_>>());
        spool.end(&LogLine::Ended(AgentEnd::default())).unwrap();
        drop(spool);
        let lines = reader.join().unwrap();
        let lines: Vec<LogLine> = lines
            .iter()
            .map(|line| serde_json::from_str(line.as_ref().unwrap()).unwrap())
            .collect();
        assert!(matches!(&lines[0], LogLine::Begin { nonce, .. } if nonce == "abc"));
        for (n, line) in lines[1..301].iter().enumerate() {
            let LogLine::Event { ordinal, stamped, .. } = line else { panic!("{line:?}") };
            assert_eq!(*ordinal, n as u64);
            let Event::Log { text } = &stamped.event else { panic!("{line:?}") };
            assert!(text.starts_with(&format!("{n} ")));
        }
        assert_eq!(lines.len(), 302);
    }

    #[test]
    fn a_near_end_that_never_reads_or_is_gone_ends_the_run() {
        let (near, far) = pipe().unwrap();
        let mut spool = EventSpool::begin(far, "abc", "1").unwrap();
        let large = log("x".repeat(1 << 20));
        let taken = (0..MOST_WAITING >> 19).map(|_| spool.take(&large)).take_while(Result::is_ok);
        let taken = taken.count();
        assert!((50..70).contains(&taken), "{taken}");
        let (mut other, far) = pipe().unwrap();
        let mut spool = EventSpool::begin(far, "abc", "1").unwrap();
        let mut first = [0; 8];
        other.read_exact(&mut first).unwrap();
        drop(other);
        let error = spool.take(&large).unwrap_err();
        assert!(error.0.contains("does not take its results"), "{error}");
        drop(near);
    }
}
